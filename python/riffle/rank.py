"""One rank of a run, without its items: its options, what it was given and has trained, and how it waits for a step.

riffle.torch.Dataset is one that gives steps in order, riffle.Sequences one whose sequences have an index.
"""

from __future__ import annotations

import time
import warnings
from typing import Any, Dict, Mapping, Optional

import numpy as np

from ._arguments import mapping, milliseconds, seconds, text, whole
from .checkpoint import Checkpoints
from .errors import RiffleError, StepTimeout
from .progress import WORDS, Losses, Places, Progress, Training
from .reader import Reader, Reporter, committed_step, rank_of
from .spikes import Spikes
from .step import Step

_PLACE_S = 1.0  # for the first step, before the place where reading begins is committed
_STALL_S = 5.0  # for a step, before it is said that training holds it up


class Rank:
    """Options are those of riffle.Reader, but for `commit_every`, which is that of riffle.Progress. It can be sent to a
    process that reads; what a process has of its own is opened there.

    commits: of the processes that read the same lanes (tensor, pipeline, context parallel) one commits and reports; the
    others set it to False, and their trained() notes the step."""

    commits = True

    def __init__(self, mix: str, bootstrap: Optional[str], rank: Optional[int], world: Optional[int], *, run: str,
                 commit_every: int, timeout: Optional[float], ahead_bytes: int, threads: int,
                 properties: Optional[Mapping[str, Any]], open_timeout: float, uneven: bool):
        for name, value in (("mix", mix), ("run", run)):
            text(name, value)
        for name, value in (("ahead_bytes", ahead_bytes), ("threads", threads)):
            whole(name, value)
        seconds("timeout", timeout)
        milliseconds("open_timeout", open_timeout)
        self.mix, self.bootstrap, self.run, self.properties = mix, bootstrap, run, mapping("properties", properties)
        self.rank, self.world = rank_of(rank, world)
        self.commit_every, self.timeout, self.open_timeout = whole("commit_every", commit_every), timeout, open_timeout
        self.ahead_bytes, self.threads, self.uneven = ahead_bytes, threads, uneven
        self.spikes = Spikes()  #: the rule of skip_on_spike(), where it is given none
        self._checkpoints = Checkpoints(mix, bootstrap, run, properties, open_timeout)
        self._warned: set = set()
        self._open_here()

    def _words(self) -> np.ndarray:
        """The array of Places; in memory that is shared where one process reads and another one trains."""
        return np.zeros(WORDS, np.int64)

    def _open_here(self) -> None:
        """What a process has of its own."""
        self._places = Places(self._words())
        self._training = Training(self._places, self._open_progress)
        self._reader: Optional[Reader] = None
        self._reporter: Optional[Reporter] = None

    def __getstate__(self) -> Dict[str, Any]:
        state = dict(self.__dict__)
        for name in ("_places", "_training", "_reader", "_reporter"):
            del state[name]
        return state

    def __setstate__(self, state: Dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._open_here()

    def _warn(self, key: str, text: str) -> None:
        if key not in self._warned:
            self._warned.add(key)
            warnings.warn(f"riffle: {text}", RuntimeWarning, stacklevel=3)

    def _open_progress(self) -> Progress:
        return Progress(self.mix, self.bootstrap, self.rank, self.world, run=self.run, commit_every=self.commit_every,
                        properties=self.properties, open_timeout=self.open_timeout, uneven=self.uneven)

    def _committed(self, starts: bool) -> int:
        return committed_step(self.mix, self.bootstrap, run=self.run, properties=self.properties,
                              open_timeout=self.open_timeout, starts=starts)

    # ---- steps ----

    def _read_from(self, step: int) -> Reader:
        reader = Reader(self.mix, self.bootstrap, self.rank, self.world, run=self.run, step=step, timeout=self.timeout,
                        ahead_bytes=self.ahead_bytes, threads=self.threads, properties=self.properties,
                        open_timeout=self.open_timeout, uneven=self.uneven, checkpoint=self._checkpoints.pending)
        reader._trained_places = self._places
        return reader

    def _next(self, reader: Reader, begin: int) -> Optional[Step]:
        """The next step. Says what training has to do with one that does not come."""
        places, waits, timeout = self._places, _STALL_S, seconds("timeout", self.timeout)
        deadline = None if timeout is None else time.monotonic() + timeout
        if self.commit_every > 0 and reader.position == begin and not places.is_trained:
            waits = _PLACE_S
        while True:
            left = waits if deadline is None else min(waits, max(0.0, deadline - time.monotonic()))
            try:
                return reader.next(left)
            except StepTimeout as why:
                if waits == _PLACE_S:
                    self._commit_place(reader)
                held = self._held_up(reader)
                if deadline is not None and time.monotonic() >= deadline:
                    raise StepTimeout(f"{why}{'; ' if held else ''}{held}") from None
                if held and waits == _STALL_S:
                    self._warn("held", held)
                waits = _STALL_S

    def _commit_place(self, reader: Reader) -> None:
        """Commits where reading began, for which the mixer may be waiting; not where that would take the run back."""
        try:
            if self._committed(False) >= reader.position:
                return
        except RiffleError:
            pass  # the run has lost its commits, or cannot know them
        with self._open_progress() as progress:
            progress.trained(reader.place)

    def _held_up(self, reader: Reader) -> str:
        """Why the next step cannot come before more is trained, or "": the mixer waits for the run's commits."""
        places, step = self._places, reader.position
        if places.lead == 0 or step < places.known + places.lead:
            return ""
        text = (f"step {step} cannot come before step {step - places.lead} is trained: the mix's max_lead_steps is "
                f"{places.lead}, and ")
        if not places.is_trained:
            return text + "trained() was never called: it commits"
        return text + (f"{step - places.trained} steps were fetched ahead of training. Where nothing trains meanwhile, this "
                       "stalls for ever: let the framework fetch less ahead, or make max_lead_steps twice as much")

    # ---- what was trained ----

    def trained(self, step: Optional[int] = None, losses: Optional[Losses] = None) -> None:
        """All steps up to `step` (None: the one after the last) are trained. Commits that, as commit_every says; reports
        `losses` of `step` as report() does; moves the state. For the process that trains; returns at once; what fails is
        raised by a later trained() or flush(), once, and that call does nothing else."""
        if self.commits:
            self._training.trained(step, losses)
        else:
            self._training.note(step)

    def flush(self, timeout: float = 30.0) -> None:
        """Commits all that is trained, and waits until it and its reports are confirmed. StepTimeout: not in time."""
        progress, reporter = self._training.progress, self._reporter
        if progress is not None:
            progress.flush(timeout)
        if reporter is not None:
            reporter.flush(timeout)

    @property
    def committed(self) -> int:
        """All steps below it are committed by this process' trained(), as the broker has confirmed; 0: none."""
        progress = self._training.progress
        return 0 if progress is None else progress.committed

    def close(self) -> None:
        """Gives what trained() and report() have sent two seconds to arrive. The end of the program does the same."""
        self._training.close()
        reporter, self._reporter = self._reporter, None
        if reporter is not None:
            reporter.close()

    def report(self, step: int, losses: Losses) -> None:
        """Reports losses of a step, as riffle.Reader.report; works in the main process, wherever the reader is."""
        reader, reporter = self._reader, self._reporter
        if reader is not None:
            reader.report(step, losses)
            return
        if reporter is None:
            reporter = self._reporter = Reporter(self.mix, self.bootstrap, self.rank, self.world, run=self.run,
                                                 properties=self.properties, open_timeout=self.open_timeout)
        reporter.report(step, losses)
