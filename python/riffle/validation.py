"""riffle.Validation: a domain's held-out set."""

from __future__ import annotations

import ctypes
import weakref
from typing import Any, Dict, Iterator, Mapping, Optional

import numpy as np

from . import _library as c
from .errors import UsageError, error_of
from .reader import bootstrap_of, handle_of, next_step, properties_of, token_dtype
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
    timeout: seconds that iterating waits for a step; None: for ever.

    Iterating again reads it again from its beginning, as long as it is then. A set that is empty yields nothing.
    """

    def __init__(self, corpus: str, domain: str, bootstrap: Optional[str] = None, *, set: str = "valid",
                 batch: int = 64, dtype: Any = np.uint32, timeout: Optional[float] = None,
                 properties: Optional[Mapping[str, Any]] = None, open_timeout: float = 10.0):
        self.corpus, self.domain, self.set, self.batch = corpus, domain, set, batch
        self.bootstrap, self.properties = bootstrap, dict(properties or {})
        self.dtype, self.timeout, self.open_timeout = token_dtype(dtype), timeout, open_timeout
        if not 1 <= batch <= 65536:
            raise UsageError(f"batch is {batch}; it is 1 to 65,536")

    def __iter__(self) -> Iterator[Step]:
        reading = _Reading(self)
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
            raw = c.InfoOfValidation()
            c.lib.riffle_validation_get_info(reading.handle, ctypes.byref(raw))
            return raw
        finally:
            reading.close()


class _Reading:
    """One pass."""

    def __init__(self, v: Validation):
        self.dtype, self.timeout = v.dtype, v.timeout
        self.error = c.ErrorText()
        given = properties_of(v.properties)
        options = c.ValidationOptions(
            corpus=v.corpus.encode(), domain=v.domain.encode(), set=v.set.encode(),
            bootstrap=bootstrap_of(v.bootstrap, v.properties), properties=given, properties_n=len(given),
            token_bytes=v.dtype.itemsize, sequences=v.batch, open_timeout_ms=max(1, int(v.open_timeout * 1000)))
        self.handle = handle_of(c.lib.riffle_validation_open, c.lib.riffle_validation_close, options, self.error)
        self.close = weakref.finalize(self, c.lib.riffle_validation_close, self.handle)  # also as the program ends

    def next(self, names: Dict[int, str]) -> Optional[Step]:
        pointer, error = ctypes.POINTER(c.StepOfReader)(), ctypes.byref(self.error)
        code = next_step(lambda ms: c.lib.riffle_validation_next(self.handle, ms, ctypes.byref(pointer), error),
                         self.error, self.timeout)
        if code == c.END:
            return None
        if code == c.OK:
            code = c.lib.riffle_validation_keep(self.handle, pointer, error)
        if code != c.OK:
            raise error_of(code, self.error)
        return Step(pointer, self.dtype, names)
