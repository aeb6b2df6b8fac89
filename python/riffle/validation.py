"""riffle.Validation: a domain's held-out set."""

from __future__ import annotations

import ctypes
import weakref
from typing import Any, Dict, Iterator, Mapping, Optional

import numpy as np

from . import _library as c
from ._arguments import mapping, milliseconds, seconds, text, whole
from ._handle import wait_for
from .errors import error_of
from .reader import bootstrap_of, ends_with, handle_of, properties_of, token_dtype
from .step import Step


class Validation:
    """Reads one set of one domain once, in order of (partition, ordinal), never mixed.

    Parameters
    ----------
    corpus, domain: whose set it is.
    bootstrap: "host:port,..."; None: $RIFFLE_BOOTSTRAP or localhost:9092.
    set: "valid", "test" or "train".
    batch: sequences of a :class:`Step`; the last one may have fewer.
    dtype: of the tokens: uint16, uint32 or int64.
    timeout: seconds that iterating waits for a step; None: forever. A wait of ten seconds is warned of, and again each minute
        (READ-WAITING).

    Iterating again reads it again from its beginning, as long as it is then. A set that is empty yields nothing.

    ``with riffle.Validation(...) as held_out:`` closes every pass that was begun inside the block when the block ends. A pass
    that was not read to its end otherwise keeps its connections until Python deletes its iterator.
    """

    _passes: Optional["weakref.WeakSet[_Reading]"] = None  # those of the `with` block

    def __init__(self, corpus: str, domain: str, bootstrap: Optional[str] = None, *, set: str = "valid",
                 batch: int = 64, dtype: Any = np.uint32, timeout: Optional[float] = None,
                 properties: Optional[Mapping[str, Any]] = None, open_timeout: float = 10.0):
        self.corpus, self.domain, self.set, self.batch = corpus, domain, set, whole("batch", batch, 1, 65536)
        self.bootstrap, self.properties = bootstrap, mapping("properties", properties)
        self.dtype, self.timeout, self.open_timeout = token_dtype(dtype), timeout, open_timeout
        seconds("timeout", timeout)
        _options_of(self)  # an error is raised here

    def __enter__(self) -> "Validation":
        self._passes = weakref.WeakSet()
        return self

    def __exit__(self, *unused: object) -> None:
        passes, self._passes = self._passes, None
        for reading in list(passes or ()):
            reading.close()

    def __iter__(self) -> Iterator[Step]:
        reading = _Reading(self)
        if self._passes is not None:
            self._passes.add(reading)
        try:
            names: Dict[int, str] = {}
            while True:
                step = reading.next(names)
                if step is None:
                    return
                yield step
        finally:
            reading.close()

    def __len__(self) -> int:
        """Number of sequences at the moment (asks the broker)."""
        return self.info().sequences

    def info(self) -> "c.InfoOfValidation":
        """sequences, partitions, sequence_length (0: empty) and tokenizer, at the moment (asks the broker)."""
        reading = _Reading(self)
        try:
            found = c.InfoOfValidation()
            with reading.handle as raw:
                c.lib.riffle_validation_get_info(raw, ctypes.byref(found))
            return found
        finally:
            reading.close()


def _options_of(v: Validation) -> c.ValidationOptions:
    given = properties_of(v.properties)
    return c.ValidationOptions(
        corpus=text("corpus", v.corpus), domain=text("domain", v.domain), set=text("set", v.set),
        bootstrap=bootstrap_of(v.bootstrap, v.properties), properties=given, properties_n=len(given),
        token_bytes=v.dtype.itemsize, sequences=v.batch, open_timeout_ms=milliseconds("open_timeout", v.open_timeout))


class _Reading:
    """One pass."""

    def __init__(self, v: Validation):
        self.dtype, self.timeout = v.dtype, v.timeout
        self.error = c.ErrorText()
        self.handle = handle_of("validation set", c.lib.riffle_validation_open, c.lib.riffle_validation_close, _options_of(v),
                                self.error, f"this pass over the {v.set} set of domain {v.domain} was closed: iterate over the "
                                            "riffle.Validation again")
        ends_with(self, self.handle)
        self.close = self.handle.close

    def next(self, names: Dict[int, str]) -> Optional[Step]:
        pointer, error = ctypes.POINTER(c.StepOfReader)(), ctypes.byref(self.error)
        wait = seconds("timeout", self.timeout)
        with self.handle as raw:
            code = wait_for(lambda ms: c.lib.riffle_validation_next(raw, ms, ctypes.byref(pointer), error), self.handle, wait)
            if code == c.END:
                return None
            if code == c.OK:
                code = c.lib.riffle_validation_keep(raw, pointer, error)
            if code != c.OK:
                raise error_of(code, self.error)
            return Step(pointer, self.dtype, names)
