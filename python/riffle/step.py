"""A step in memory: numpy arrays over what libriffle has decoded, without copies."""

from __future__ import annotations

import ctypes
import functools
import json
from typing import Callable, Dict, List, NamedTuple, Optional, Tuple, Union

import numpy as np

from . import _library as c
from ._arguments import MOST, whole

_SEQUENCE = np.dtype({
    "names": [name for name, _ in c.Sequence._fields_],
    "formats": [f"u{ctypes.sizeof(kind)}" for _, kind in c.Sequence._fields_],
    "offsets": [getattr(c.Sequence, name).offset for name, _ in c.Sequence._fields_],
    "itemsize": ctypes.sizeof(c.Sequence),
})
_SPAN_BYTES = ctypes.sizeof(c.SpanOfSequence)


class Span(NamedTuple):
    """A stretch of one document inside a sequence; it ends where the next begins, the last at `used`."""

    start: int  #: index in the sequence of its first token
    source: str  #: file or program it came from
    document: int  #: index in its input
    offset: int  #: index of that token in the document
    keep: Optional[bytes]  #: JSON object of what the configuration keeps of the document; None: nothing

    def kept(self) -> dict:
        """What is kept, parsed; {} where there is nothing."""
        return json.loads(self.keep) if self.keep else {}


class _Held:
    """A step that is kept until nobody looks at it any more."""

    __slots__ = ("pointer", "free")

    def __init__(self, pointer: "ctypes._Pointer"):
        self.pointer = pointer
        self.free = c.lib.riffle_free_step  # names of a module may be gone when it is needed

    def __del__(self) -> None:
        self.free(self.pointer)


class _Memory:
    """Memory of a held step as numpy wants to see it; the array that is made of it holds it."""

    __slots__ = ("held", "__array_interface__")

    def __init__(self, held: object, address: int, shape: Tuple[int, ...], typestr: str):
        self.held = held
        self.__array_interface__ = {"data": (address, False), "shape": shape, "typestr": typestr, "version": 3}


@functools.lru_cache(maxsize=64)
def _memory_of(size: int) -> type:
    """A type whose instances are `size` bytes in place, and can hold what keeps them there."""
    return type("Tokens", (ctypes.c_ubyte * size,), {})


class Targets(NamedTuple):
    """What a model takes of a step; n sequences of S tokens (see :meth:`Step.targets`)."""

    input_ids: np.ndarray  #: int64 [n, S]
    labels: np.ndarray  #: int64 [n, S]; `ignored` where there is no loss
    position_ids: np.ndarray  #: int32 [n, S]; from 0 in each stretch of a document, and in the padding
    document_ids: np.ndarray  #: int32 [n, S]; stretch of the sequence, from 0; padding: one more than the last


class Step:
    """One step of one rank: n = global_batch / world sequences of S + 1 tokens, in lane order. A mix may change
    global_batch from one step to the next.

    Arrays are views of memory that lives as long as any of them, also when the reader is at a later step or is closed.
    """

    __slots__ = ("step", "tokens", "lr_scale", "phase", "version", "_held", "_sequences", "_domains", "_names",
                 "_token_bytes", "_round")

    step: int  #: number of the step, from 0
    tokens: np.ndarray  #: [n, S + 1] of the reader's dtype
    lr_scale: float  #: by which the learning rate of this step is to be multiplied
    phase: str  #: name of the phase; "" where there is none
    version: int  #: of the weights in force

    def __init__(self, pointer: "ctypes._Pointer", dtype: np.dtype, names: Dict[int, str],
                 tokens: Optional[np.ndarray] = None, round_of: Optional[Callable[[int], Optional[int]]] = None):
        raw = pointer.contents  # the caller waits: as little as can be is done here
        self._held = held = _Held(pointer)
        self.step, self.lr_scale, self.version = raw.step, raw.lr_scale, raw.version
        self.phase = raw.phase.decode()
        if tokens is None:
            n, each = raw.sequences, raw.tokens_each
            memory = _memory_of(n * each * dtype.itemsize).from_address(raw.tokens or 0)
            memory.held = held
            tokens = np.ndarray((n, each), dtype, memory)
        self.tokens = tokens
        self._token_bytes = dtype.itemsize
        self._round: Union[None, int, Callable[[int], Optional[int]]] = round_of
        self._sequences: Optional[np.ndarray] = None
        self._domains: Optional[List[str]] = None
        self._names = names

    def __reduce__(self) -> str:
        raise TypeError("a Step cannot be pickled or copied, because it is memory of the reader: send what is needed of it, "
                        "such as step.step and step.tokens, or step.targets(), which are plain numbers and arrays")

    def __len__(self) -> int:
        """Number of sequences, n."""
        return len(self.tokens)

    def __repr__(self) -> str:
        return f"<riffle.Step {self.step}: {len(self)} sequences of {self.tokens.shape[1]} tokens>"

    @property
    def _sequence(self) -> np.ndarray:
        """The library's records of the sequences; made when first asked for, as the caller waits for a step."""
        if self._sequences is None:
            raw = self._held.pointer.contents
            self._sequences = np.asarray(
                _Memory(self._held, raw.sequence or 0, (raw.sequences,), f"|V{_SEQUENCE.itemsize}")).view(_SEQUENCE)
        return self._sequences

    @property
    def domain_index(self) -> np.ndarray:
        """uint32 [n]: the domain of each sequence, as the mix counts them."""
        return self._sequence["domain_index"]

    @property
    def lane(self) -> np.ndarray:
        """uint32 [n]."""
        return self._sequence["lane"]

    @property
    def partition(self) -> np.ndarray:
        """uint32 [n]: of the domain's topic."""
        return self._sequence["partition"]

    @property
    def ordinal(self) -> np.ndarray:
        """uint64 [n]: number of the sequence in its partition."""
        return self._sequence["ordinal"]

    @property
    def epoch(self) -> np.ndarray:
        """uint64 [n]: complete passes over the domain before it."""
        return self._sequence["epoch"]

    @property
    def epochs(self) -> Dict[str, int]:
        """Of each domain in this step, by name: complete passes over it before the furthest of its sequences here."""
        found: Dict[str, int] = {}
        for name, epoch in zip(self.domains, self.epoch.tolist()):
            found[name] = max(found.get(name, 0), epoch)
        return found

    @property
    def round(self) -> Optional[int]:
        """The round of the mix (mix.epoch_size) that the step's first sequence is of, from 0; None where it has none. The
        first that is read asks the ledger, so that the reader must be open then; those of the steps that follow do not."""
        if callable(self._round):
            self._round = self._round(self.step)
        return self._round

    @property
    def used(self) -> np.ndarray:
        """uint32 [n]: tokens before the padding; S + 1 but for packing none and best_fit."""
        return self._sequence["used"]

    @property
    def domain_names(self) -> Dict[int, str]:
        """Names of the domains met so far by this reader, by index."""
        self.domains
        return dict(self._names)

    @property
    def domains(self) -> List[str]:
        """Name of the domain of each sequence, [n]."""
        if self._domains is None:
            names, self._domains = self._names, []
            for index, at in zip(self._sequence["domain_index"].tolist(), self._sequence["domain"].tolist()):
                if index not in names:
                    names[index] = ctypes.string_at(at).decode()
                self._domains.append(names[index])
        return self._domains

    def starts(self, i: int) -> np.ndarray:
        """uint32 [k]: where the stretches of documents begin in sequence i; the first is 0."""
        row = self._sequence[i]
        n, at = int(row["spans_n"]), int(row["spans"])
        if n == 0:
            return np.zeros(0, np.uint32)
        return np.ndarray((n,), np.uint32, np.asarray(_Memory(self._held, at, (n * _SPAN_BYTES,), "|u1")), 0,
                          (_SPAN_BYTES,))

    def spans(self, i: int) -> List[Span]:
        """The stretches of documents in sequence i, ascending by start."""
        row = self._sequence[i]
        raw = (c.SpanOfSequence * int(row["spans_n"])).from_address(int(row["spans"]))
        return [Span(s.start, s.source.decode("utf-8", "replace"), s.document, s.offset,
                     ctypes.string_at(s.keep, s.keep_n) if s.keep_n else None) for s in raw]

    def no_loss(self, i: int) -> np.ndarray:
        """uint32 [k, 2]: half open ranges of tokens of sequence i that are no targets (prompts, padding)."""
        row = self._sequence[i]
        n = int(row["no_loss_n"])
        if n == 0:
            return np.zeros((0, 2), np.uint32)
        return np.asarray(_Memory(self._held, int(row["no_loss"]), (n, 2), "<u4" if _LITTLE else ">u4"))

    def targets(self, ignored: int = -100, mask_boundaries: bool = False) -> Targets:
        """What a model takes: inputs token[:, :-1], labels token[:, 1:] masked, positions, documents.

        `labels` is `ignored` where no_loss says so and, with mask_boundaries, where the label is the first token
        of another document. New arrays, filled in one call of the library.
        """
        ignored = whole("ignored", ignored, -MOST - 1)
        n, each = self.tokens.shape
        out = Targets(np.empty((n, each - 1), np.int64), np.empty((n, each - 1), np.int64),
                      np.empty((n, each - 1), np.int32), np.empty((n, each - 1), np.int32))
        raw = c.Targets(out.input_ids.ctypes.data, out.labels.ctypes.data, out.position_ids.ctypes.data,
                        out.document_ids.ctypes.data, ignored, 1 if mask_boundaries else 0)
        c.lib.riffle_step_targets(self._held.pointer, self._token_bytes, ctypes.byref(raw))
        return out


_LITTLE = np.dtype("<u4").isnative


def cu_seqlens(position_ids: np.ndarray) -> np.ndarray:
    """int32 [k + 1]: cumulative lengths of the stretches of a flattened [n, S] batch, as variable-length attention
    takes them: 0, ..., n * S. `position_ids` as :meth:`Step.targets` gives them."""
    flat = position_ids.reshape(-1)
    return np.append(np.flatnonzero(flat == 0), flat.size).astype(np.int32)
