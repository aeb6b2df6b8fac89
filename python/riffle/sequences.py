"""The sequences of a mix by their index, for frameworks that ask for numbers: sequence i is in step i // B, at place i % B.

    sequences = riffle.Sequences("pretrain", "localhost:9092", steps=10000)
    step, row = sequences[37]             # riffle.Step, and which of its sequences
    step.tokens[row]                      # uint32 [S + 1]
    sequences.trained(2)                  # as of riffle.Reader: commits, reports

Whoever asks in order is served from the stream, which the library reads ahead; any other index is a seek, which can cost
a tenth of a second (docs/BENCHMARKS.md). A mix is shuffled already: a sampler that shuffles once more makes every index a seek.
"""

from __future__ import annotations

import collections
import itertools
import os
import threading
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

import numpy as np

from ._arguments import MOST, whole
from .errors import DataError, UsageError
from .progress import Losses, SharedWords
from .rank import Rank
from .reader import Extent, Reader, find_extent, rank_of
from .step import Step

_ON = 8  # steps that are read through rather than passed over by a seek
_JUMPS = 32  # seeks in a row, before they are warned of


class Sequences(Rank):
    """The sequences of a mix, by index, for any rank of a run.

    Parameters
    ----------
    mix, bootstrap, rank, world, run, properties, timeout, ahead_bytes, threads, uneven: as of riffle.Reader. Where there
        are several ranks, indexes are still those of the whole mix, and a rank has its own places of each step only
        (`places`).
    steps: how many there are; what comes behind them is an IndexError. None: those of the mix, once it has ended.
    keep: steps that are kept, the one at hand included: their indexes may come in any order without a seek.
    commit_every: steps that are trained between two commits, fewer where a quarter of the mix's lead is less; 0: each.
    prepare: called once for each step that is wanted; what it returns takes the place of the step.

    All steps of the mix have the same number of sequences: UsageError where it has changed its global_batch. Nothing is
    connected before the first index is asked for, in the process that asks; trained() may be called in another one of this
    machine, from which it was sent. Threads may ask: one at a time reads.
    """

    def __init__(self, mix: str, bootstrap: Optional[str] = None, rank: Optional[int] = None, world: Optional[int] = None, *,
                 run: str = "trainers", steps: Optional[int] = None, keep: int = 2, commit_every: int = 0,
                 timeout: Optional[float] = None, ahead_bytes: int = 0, threads: int = 0,
                 properties: Optional[Mapping[str, Any]] = None, open_timeout: float = 10.0, uneven: bool = False,
                 prepare: Optional[Callable[[Step], Any]] = None):
        self.steps = None if steps is None else whole("steps", steps, 1, 2**31 - 1)
        self.keep, self.prepare = whole("keep", keep, 1, 2**31 - 1), prepare
        self._shared = SharedWords()
        self._extent: Optional[Extent] = None
        self._places_mine = range(0)
        super().__init__(mix, bootstrap, rank, world, run=run, commit_every=commit_every, timeout=timeout,
                         ahead_bytes=ahead_bytes, threads=threads, properties=properties, open_timeout=open_timeout,
                         uneven=uneven)
        self._training.begin(0)

    def _words(self) -> np.ndarray:
        return self._shared.words

    def _open_here(self) -> None:
        super()._open_here()
        self._held: "collections.OrderedDict[int, Any]" = collections.OrderedDict()
        self._stream: Optional[Reader] = None  # not _reader, of which report() might make use while a thread reads
        self._lock, self._process, self._jumps, self._begin = threading.RLock(), os.getpid(), 0, 0

    def __getstate__(self) -> Dict[str, Any]:
        state = super().__getstate__()
        for name in ("_held", "_stream", "_lock", "_process", "_jumps", "_begin"):
            del state[name]
        return state

    # ---- shape ----

    @property
    def extent(self) -> Extent:
        """What the ledger says of the mix; asked once more only while it has not ended and its end is wanted."""
        if self._extent is None:
            self._find_extent()
        return self._extent

    def _find_extent(self) -> Extent:
        found = find_extent(self.mix, self.bootstrap, properties=self.properties, open_timeout=self.open_timeout)
        if not found.uniform:
            raise UsageError(f"mix {self.mix} has changed its global_batch, and an index counts steps of one size: use "
                             "riffle.Reader, or riffle.torch.Dataset")
        lanes, each = found.lanes, found.global_batch // found.lanes
        mine = [lane for lane in range(lanes) if lane * self.world // lanes == self.rank]
        self._extent, self._places_mine = found, range(mine[0] * each, (mine[-1] + 1) * each) if mine else range(0)
        return found

    @property
    def batch(self) -> int:
        """B: sequences of a step, over all ranks."""
        return self.extent.global_batch

    @property
    def places(self) -> range:
        """Those of each step that this rank has."""
        assert self.extent  # which finds them
        return self._places_mine

    def __len__(self) -> int:
        if self.steps is not None:
            return self.steps * self.batch
        if not (self.extent.ended or self._find_extent().ended):
            raise UsageError(f"mix {self.mix} has no end yet, so its sequences have no number: say how many steps are wanted, "
                             "steps=")
        return self.extent.steps * self.batch

    def indexes(self, first: int = 0) -> Iterator[int]:
        """Those of this rank's places, in order, from step `first` on; without an end where the mix has none."""
        numbers = itertools.count(first) if self.steps is None and not self.extent.ended else range(
            first, len(self) // self.batch)
        return (number * self.batch + place for number in numbers for place in self.places)

    def take_rank(self, rank: int, world: int) -> None:
        """The rank, where it is known later than the mix, and before anything was read."""
        if self._stream is not None:
            raise UsageError("take_rank() after something was read: it was read for another rank")
        self.rank, self.world = rank_of(rank, world)
        self._extent = None

    # ---- sequences ----

    def __getitem__(self, index: int) -> Tuple[Any, int]:
        """The step of a sequence (or what `prepare` makes of it), and the sequence's row in it."""
        number, place = self._find(index)
        return self.step(number), place - self.places.start

    def find(self, indexes: Sequence[int]) -> List[Tuple[Any, int]]:
        """The same for several, which are read in order of their steps, whatever order they have."""
        places, first = [self._find(index) for index in indexes], self.places.start
        steps = {number: self.step(number) for number in sorted({number for number, _ in places})}
        return [(steps[number], place - first) for number, place in places]

    def _find(self, index: int) -> Tuple[int, int]:
        """Step and place of an index."""
        index = whole("an index", index, -MOST)
        at = index + len(self) if index < 0 else index
        number, place = divmod(at, self.batch)
        if at < 0 or (self.steps is not None and number >= self.steps):
            raise IndexError(f"index {index} of {len(self)} sequences of mix {self.mix}")
        if place not in self.places:
            raise UsageError(f"index {index} is place {place} of step {number}, and rank {self.rank} of {self.world} has places "
                             f"{self.places.start} to {self.places.stop - 1} of each step: let each rank ask for its own, or "
                             "open the mix as rank 0 of 1, which reads all")
        return number, place

    def step(self, number: int) -> Any:
        """A step, or what `prepare` makes of it. IndexError behind the end of the mix."""
        if self._process != os.getpid():  # after a fork; the reader there is another process'
            self._open_here()
        with self._lock:
            if number in self._held:
                self._held.move_to_end(number)
                return self._held[number]
            reader = self._reader_at(number)
            while (step := self._next(reader, self._begin)) is not None:
                self._note(step, reader)
                if step.step == number:
                    return self._keep(step)
            ended = reader.position
        raise IndexError(f"mix {self.mix} has ended after {ended} steps, and step {number} is wanted" + (
            f": steps={self.steps} is more than it has" if self.steps is not None else ""))

    def _reader_at(self, number: int) -> Reader:
        """The reader, which will come to a step soon."""
        if self._stream is None:
            self._stream = self._read_from(number)
            self._begin = number
            self._places.reads_from(number, self._stream.place)
        elif not 0 <= number - self._stream.position <= _ON:
            self._stream.seek(number)
            self._begin = number
            self._jumps += 1
            if self._jumps == _JUMPS:
                self._warn("jumps", f"{_JUMPS} indexes in a row were not those of the next steps, and each costs a seek: ask in "
                                    "order (shuffle=False: the mix is shuffled already), or keep more steps (keep=)")
        else:
            self._jumps = 0
        return self._stream

    def _prepared(self, step: Step) -> Any:
        return step if self.prepare is None else self.prepare(step)

    def _note(self, step: Step, reader: Reader) -> None:
        if reader.info.global_batch != self.batch:
            raise DataError(f"step {step.step} of mix {self.mix} has {reader.info.global_batch} sequences, and indexes count "
                            f"steps of {self.batch}: use riffle.Reader, or riffle.torch.Dataset, from there on")
        self._places.put(reader.place, self.batch, least=self._places.given)

    def _keep(self, step: Step) -> Any:
        made = self._prepared(step)
        while len(self._held) >= self.keep:
            self._held.popitem(last=False)
        self._held[step.step] = made
        return made

    # ---- what was trained ----

    def trained(self, step: Optional[int] = None, losses: Optional[Losses] = None) -> None:
        if step is not None:
            self._places.start_by(step)
        super().trained(step, losses)

    def state_dict(self, num_samples: Optional[int] = None, from_beginning: bool = True, *,
                   step: Optional[int] = None) -> Dict[str, Any]:
        """As of riffle.Reader, beside the framework's own position. `step`: the number of steps that
        are trained; None: as trained() has said, or where reading began. num_samples (as Composer asks): refused, since a
        framework that asks so wants to be begun behind them, and here its sampler says which index comes next."""
        if num_samples is not None and step is None:
            raise UsageError(f"state_dict({num_samples}): sequences by index cannot begin behind a number of samples, as the sampler "
                             "says where they begin: use riffle.torch.Dataset")
        return self._checkpoints.state(self._places.known if step is None else step)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Sees that a checkpoint is of this mix and run. Which index comes next the framework says."""
        self._checkpoints.step_of(state)

    def close(self) -> None:
        super().close()
        if self._process != os.getpid():
            return  # a thread of the parent may have held the lock
        stream = self._stream
        if stream is not None:
            stream.close()  # a thread that waits in it has the lock
        with self._lock:
            reader, self._stream = self._stream, None
            self._held.clear()
        if reader is not None:
            reader.close()
