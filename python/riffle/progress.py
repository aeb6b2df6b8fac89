"""What was trained: commits and reports of the process that trains, and the places that a reader passes on to it."""

from __future__ import annotations

import ctypes
import mmap
import os
import weakref
from typing import TYPE_CHECKING, Any, Callable, Mapping, NamedTuple, Optional, Tuple

import numpy as np

from . import _library as c
from ._arguments import MOST, mapping, seconds, text, whole
from ._handle import Handle, wait_for
from .errors import UsageError, error_of
from .metrics import add_progress

if TYPE_CHECKING:
    from .reader import Reader

Losses = Mapping[str, Tuple[float, float, int]]


class Place(NamedTuple):
    """Where a step begins; :attr:`riffle.Reader.place` gives it, :meth:`Progress.trained` takes it."""

    step: int  #: all steps below it come before the place
    lead: int  #: max_lead_steps of the mix; 0: no limit, or not known yet
    offsets: np.ndarray  #: int64 [lanes of the rank]


def place_of(handle: int) -> Place:
    raw = c.PlaceOfReader()
    if c.lib.riffle_place(handle, ctypes.byref(raw)) != c.OK:
        raise UsageError("another thread's call on this reader is in progress")
    offsets = np.empty(raw.lanes, np.int64)
    ctypes.memmove(offsets.ctypes.data, raw.offset_next, offsets.nbytes)
    return Place(raw.step, raw.lead, offsets)


def losses_of(losses: Optional[Losses]) -> "ctypes.Array":
    given = mapping("losses", losses)
    return (c.LossOfDomain * len(given))(*[_loss_of(domain, sums) for domain, sums in given.items()])


def _loss_of(domain: str, sums: Any) -> Tuple[bytes, float, float, int]:
    name = text("a domain of losses", domain)
    if not isinstance(sums, (tuple, list)) or len(sums) != 3:
        raise UsageError(f"losses of domain {domain} are {sums!r}: must be (loss_sum, excess_sum, tokens)")
    try:
        if any(isinstance(value, (str, bytes)) or np.iscomplexobj(value) for value in sums):
            raise TypeError
        loss, excess, tokens = float(sums[0]), float(sums[1]), int(sums[2])
    except (TypeError, ValueError, OverflowError):
        raise UsageError(f"losses of domain {domain} are {sums!r}: must be two numbers and a whole number of tokens") from None
    return name, loss, excess, whole(f"the number of tokens of domain {domain}", tokens)


class Progress:
    """Reports and commits what was trained, for a rank whose reader is elsewhere: in a worker, or ahead of training.

    Parameters are those of :class:`riffle.Reader`. `commit_every`: steps between two commits, fewer where a quarter of
    the mix's lead is less; 0: each step. The first trained() commits in any case. A thread of the library sends
    reports and commits; a commit is sent once the reports up to it are delivered.
    """

    def __init__(self, mix: str, bootstrap: Optional[str] = None, rank: Optional[int] = None, world: Optional[int] = None, *,
                 run: str = "trainers", commit_every: int = 0, properties: Optional[Mapping[str, Any]] = None,
                 open_timeout: float = 10.0, uneven: bool = False):
        from .reader import ends_with, handle_of, options_of
        self._handle: Optional[Handle] = None
        self.mix, self.run, self._known = mix, run, 0
        options = options_of(mix, bootstrap, rank, world, run, None, 4, properties, open_timeout)
        options.commit_every, options.uneven = whole("commit_every", commit_every), bool(uneven)
        self._handle = handle_of("progress", c.lib.riffle_progress_open, c.lib.riffle_progress_close, options, c.ErrorText(),
                                 f"this progress of mix {mix} was closed: open a new riffle.Progress")
        ends_with(self, self._handle)
        add_progress(self)

    def _open(self) -> Handle:
        if self._handle is None:
            raise UsageError("this progress is closed")
        return self._handle

    def trained(self, place: Place, losses: Optional[Losses] = None) -> None:
        """All steps below place.step are trained; `losses` are those of step place.step - 1. Returns at once; a report
        or commit that failed is raised by a later call, once, which then does nothing else."""
        of_step, error = losses_of(losses), c.ErrorText()
        given, offsets = _raw_of(place)
        with self._open().shared() as raw:
            code = c.lib.riffle_progress_trained(raw, ctypes.byref(given), of_step, len(of_step), ctypes.byref(error))
        del offsets  # into which `given` has a pointer
        if code != c.OK:
            raise error_of(code, error)

    def flush(self, timeout: float = 30.0) -> None:
        """Commits all that is trained, and waits until it and the reports are confirmed. StepTimeout: not in time."""
        handle, error, wait = self._open(), c.ErrorText(), seconds("timeout", timeout)
        with handle.shared() as raw:
            code = wait_for(lambda ms: c.lib.riffle_progress_flush(raw, ms, ctypes.byref(error)), handle, wait)
        if code != c.OK:
            raise error_of(code, error)

    @property
    def committed(self) -> int:
        """All steps below it are committed by this process, as far as the broker has confirmed; 0: none."""
        with self._open().shared() as raw:
            return c.lib.riffle_progress_committed(raw)

    @property
    def known(self) -> int:
        """The same from any thread, and after the end."""
        try:
            self._known = self.committed
        except UsageError:  # closed, or of another process
            pass
        return self._known

    def close(self) -> None:
        """The same as flush() for two seconds, then the end."""
        if self._handle is not None:
            self.known
            self._handle.close()

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *unused: object) -> None:
        self.close()

    def __getstate__(self) -> None:
        raise TypeError("a Progress cannot be copied or sent to another process: open one there")


def _raw_of(place: Place) -> Tuple[c.PlaceOfReader, np.ndarray]:
    """A place for C, and the array that it points into."""
    try:
        step, lead, offsets = place.step, place.lead, np.ascontiguousarray(place.offsets, np.int64)
    except (AttributeError, TypeError, ValueError, OverflowError):
        raise UsageError(f"the place is {place!r}: must be what Reader.place gave") from None
    if offsets.ndim != 1:
        raise UsageError(f"the place is {place!r}: must be what Reader.place gave")
    return c.PlaceOfReader(whole("step", step), whole("lead", lead), len(offsets), offsets.ctypes.data), offsets


# Words of Places.
_START, _GIVEN, _TRAINED, _READER, _ENDED, _BATCH, _MIXED, _LEAD, _LANES, _HEAD = range(10)
_NOBODY, _NEVER = 0, -1
_PASS = "Pass the number of the step that was trained, such as the .step of a riffle.Step"
WORDS = 1 << 19  #: 4 MiB: the places of 52,000 steps at 8 lanes a rank, of 127 at 4,096


class SharedWords:
    """The array of Places in memory that copies share which are sent to other processes of this machine, however they are
    pickled, while the process lives that made it. Elsewhere a copy has an array of its own."""

    def __init__(self) -> None:
        self._open(os.memfd_create("riffle", os.MFD_CLOEXEC))
        os.ftruncate(self._file, WORDS * 8)
        self._map()

    def _open(self, file: int) -> None:
        self._file, self._owner = file, os.getpid()
        weakref.finalize(self, os.close, file)

    def _map(self) -> None:
        self.words = np.frombuffer(mmap.mmap(self._file, WORDS * 8), np.int64)

    def __getstate__(self) -> Tuple[str, int]:
        return f"/proc/{self._owner}/fd/{self._file}", os.fstat(self._file).st_ino

    def __setstate__(self, state: Tuple[str, int]) -> None:
        path, inode = state
        try:
            self._open(os.open(path, os.O_RDWR | os.O_CLOEXEC))
            if os.fstat(self._file).st_ino != inode:  # of a process that has ended, whose number another one has
                self.__init__()  # type: ignore[misc]
            self._map()
        except OSError:
            self.__init__()  # type: ignore[misc]


class Places:
    """The last places that a reader has given, and what was trained of them, in one array of int64.

    The array may be in memory that processes share: the one that reads writes start and places, the one that trains
    writes `trained`. A place is written between two changes of its number, with a sum, so that half of one is none.
    """

    def __init__(self, words: np.ndarray):
        assert words.dtype == np.int64 and words.ndim == 1
        self.words = words

    def begin(self, step: int) -> None:
        """Nothing was given nor trained: `step` is the first one, by whoever knows (a checkpoint, the run's commits)."""
        self.words[_GIVEN] = self.words[_START] = step
        self.words[_TRAINED], self.words[_READER], self.words[_ENDED] = _NEVER, _NOBODY, 0
        self.words[_BATCH] = self.words[_MIXED] = 0

    def reads(self, place: Place) -> None:
        """This process begins to read at a place."""
        self.words[_READER], self.words[_ENDED] = os.getpid(), 0
        self.put(place)

    def reads_from(self, step: int, place: Place) -> None:
        """The same for one of several processes, each of which reads some of the steps, in any order."""
        if self.reader == _NOBODY and not self.is_trained and self.start == 0:
            self.words[_START] = self.words[_GIVEN] = step
        self.words[_READER], self.words[_ENDED] = os.getpid(), 0
        self.start_by(step)
        self.put(place, least=self.given)

    def start_by(self, step: int) -> None:
        """A step that is read, or was trained, though another process began at a later one."""
        if not self.is_trained and step < self.start:
            self.words[_START] = step

    def put(self, place: Place, batch: int = 0, least: int = 0) -> None:
        """All steps below place.step are given, and all below `least`; the last of them had `batch` sequences over all
        ranks, 0: reading begins here."""
        w, lanes = self.words, len(place.offsets)
        if w[_LANES] != lanes:
            w[_HEAD:] = 0
            w[_LANES] = lanes
        samples = self._samples(place.step - (1 if batch else 0))
        at = self._at(place.step)
        w[at] = 0
        w[at + 1:at + 1 + lanes] = place.offsets
        w[at + 1 + lanes] = place.step + int(place.offsets.sum())
        w[at + 2 + lanes] = samples + batch if samples >= 0 else -1
        w[at] = place.step + 1  # 0: none
        w[_LEAD] = place.lead
        if batch:
            w[_MIXED] = int(w[_MIXED] or w[_BATCH] not in (0, batch))
            w[_BATCH] = batch
        w[_GIVEN] = max(place.step, least)

    def _at(self, step: int) -> int:
        each = int(self.words[_LANES]) + 3
        return _HEAD + step % ((len(self.words) - _HEAD) // each) * each

    def place(self, step: int) -> Optional[Place]:
        """Where a step begins, if that is still known."""
        w, lanes = self.words, int(self.words[_LANES])
        if lanes == 0:
            return None
        at = self._at(step)
        found, offsets, total = int(w[at]), w[at + 1:at + 1 + lanes].copy(), int(w[at + 1 + lanes])
        if found != step + 1 or total != step + int(offsets.sum()):
            return None
        return Place(step, int(w[_LEAD]), offsets)

    def _samples(self, step: int) -> int:
        """Sequences of the steps from `start` to below `step`, over all ranks; -1: not known any more."""
        at = self._at(step)
        return 0 if step == self.start else int(self.words[at + 2 + self.lanes]) if self.words[at] == step + 1 else -1

    def steps_of(self, samples: int) -> Optional[int]:
        """How many steps from `start` on have so many sequences over all ranks; None: no number of them, or it is not
        known any more."""
        if samples == 0:
            return 0
        if not self.mixed:
            return samples // self.batch if self.batch and samples % self.batch == 0 else None
        step = self.given
        while step > self.start and self._samples(step) > samples:
            step -= 1
        return step - self.start if self._samples(step) == samples else None

    def end(self) -> None:
        """The mix has ended: all steps were given."""
        self.words[_ENDED] = 1

    def __getattr__(self, name: str) -> int:
        try:
            return int(self.words[_NAMES[name]])
        except KeyError:
            raise AttributeError(name) from None

    @property
    def is_trained(self) -> bool:
        """trained() was called since begin()."""
        return self.trained != _NEVER

    @property
    def known(self) -> int:
        """All steps below are trained, as far as anybody has said."""
        return self.trained if self.is_trained else self.start

    def next_trained(self, step: Optional[int]) -> Place:
        """The place behind `step`, which was trained; None: behind the next one. UsageError where that cannot be."""
        step = self.known if step is None else whole("step", step, -MOST)
        if step < self.known and not self.is_trained:
            raise UsageError(f"trained({step}): step {step} was not given, because reading began at step {self.start}. {_PASS}")
        if step < self.known:
            raise UsageError(f"trained({step}): step {step} is trained already, step {self.known} is next")
        if self.reader == _NOBODY:
            raise UsageError(
                f"trained({step}): no step was given yet. The reader must be of this very object, or of the worker of a "
                "DataLoader that has it: a copy that was pickled otherwise shares nothing with it")
        if step >= self.given:
            raise UsageError(f"trained({step}): step {step} was not given whole yet; all below {self.given} were. {_PASS}")
        found = self.place(step + 1)
        if found is None:
            raise UsageError(
                f"trained({step}): step {self.given} was read meanwhile, which is too far ahead to know where step {step} "
                "ends: call trained() more often")
        return found

    def note_trained(self, place: Place) -> None:
        self.words[_TRAINED] = place.step


_NAMES = {"start": _START, "given": _GIVEN, "trained": _TRAINED, "reader": _READER, "ended": _ENDED, "batch": _BATCH,
          "mixed": _MIXED, "lead": _LEAD, "lanes": _LANES}


class Training:
    """The end that trains of a reader or a data set: its Places, and the Progress that is opened when it is needed."""

    def __init__(self, places: Places, opens: Callable[[], Progress]):
        self.places, self._opens = places, opens
        self.progress: Optional[Progress] = None

    def note(self, step: Optional[int]) -> None:
        """What trained() does for a process that does not commit: a peer that reads the same lanes does."""
        self.places.note_trained(self.places.next_trained(step))

    def trained(self, step: Optional[int], losses: Optional[Losses]) -> None:
        place, progress = self.places.next_trained(step), self.progress
        if progress is None:
            progress = self.progress = self._opens()
        progress.trained(place, losses)
        self.places.note_trained(place)

    def begin(self, step: int) -> None:
        self.close()
        self.places.begin(step)

    def close(self) -> None:
        progress, self.progress = self.progress, None
        if progress is not None:
            progress.close()
