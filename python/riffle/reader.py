"""riffle.Reader: one rank of a training run."""

from __future__ import annotations

import ctypes
import os
import weakref
from typing import Any, Callable, Dict, Iterator, Mapping, NamedTuple, Optional, Tuple

import numpy as np

from . import _library as c
from . import log
from ._arguments import MOST, mapping, milliseconds, seconds, text, whole
from ._handle import Handle, uninterrupted, wait_for
from .checkpoint import Checkpoints, log_step, raw_of, step_of_state
from .errors import UsageError, error_of
from .metrics import add_reader
from .progress import WORDS, Losses, Place, Places, Progress, Training, losses_of, place_of
from .spikes import Spikes
from .step import Step
from .times import Moment, step_at_time

_StepPointer = ctypes.POINTER(c.StepOfReader)
_DTYPES = {"u2": "uint16", "u4": "uint32", "i8": "int64"}
_UNTRAINED = 10  # steps that are given, before it is said that none was trained
_GROWTH = 512  # bytes by which metrics may grow between two calls


class Info(NamedTuple):
    """Shape of the mix. All but lanes and lanes_mine are 0 until the first step was read."""

    lanes: int  #: L
    lanes_mine: int  #: L / world; with uneven=True one more for some ranks
    global_batch: int  #: B of the last step; before the first one, of the mix's newest. A mix may change it between steps
    sequence_length: int  #: S
    schedule: int  #: hash of what fixes the order
    tokenizer: int  #: fingerprint
    lead: int = 0  #: max_lead_steps, by the last step; 0: no limit


def token_dtype(dtype: Any) -> np.dtype:
    try:
        found = np.dtype(dtype)
    except (TypeError, ValueError):
        raise UsageError(f"dtype is {dtype!r}; it is uint16, uint32 or int64") from None
    if f"{found.kind}{found.itemsize}" not in _DTYPES:
        raise UsageError(f"dtype is {found}; it is uint16, uint32 or int64")
    return found.newbyteorder("=")


def properties_of(properties: Optional[Mapping[str, Any]]) -> "ctypes.Array":
    items = [(text("a property's name", name), _property_value(name, value))
             for name, value in mapping("properties", properties).items()]
    return (c.Property * len(items))(*items)


def _property_value(name: str, value: Any) -> bytes:
    """As text(), but an error does not show the value, which may be a secret."""
    if isinstance(value, bytes):
        raise UsageError(f"property {name} is bytes: must be text")
    try:
        return text(name, str(value))
    except UsageError:
        raise UsageError(f"property {name}: its value must not contain a NUL character or half of a surrogate pair") from None


def bootstrap_of(bootstrap: Optional[str], properties: Optional[Mapping[str, Any]]) -> Optional[bytes]:
    if bootstrap is None and "bootstrap.servers" not in (properties or {}):
        bootstrap = os.environ.get("RIFFLE_BOOTSTRAP") or None  # libriffle has the default, and reports that nobody named it
    if bootstrap is None:
        return None
    if isinstance(bootstrap, str) and not bootstrap.strip(" ,"):
        raise UsageError("bootstrap is empty: must be \"host:port\" of a broker; None takes it from $RIFFLE_BOOTSTRAP")
    return text("bootstrap", bootstrap)


def handle_of(what: str, opens: Callable[..., int], closes: Callable[..., None], options: ctypes.Structure,
              error: c.ErrorText, closed: str) -> Handle:
    """The handle that opens(&handle, &options, &error) gives; one that comes after KeyboardInterrupt is closed. `closed` is what
    a call after its end is told."""
    raw = c.c_void_p()
    code = uninterrupted(lambda: opens(ctypes.byref(raw), ctypes.byref(options), ctypes.byref(error)),
                         lambda: closes(raw))
    if code != c.OK:
        raise error_of(code, error)
    return Handle(what, raw.value, closes, closed)


def ends_with(owner: Any, handle: Handle) -> None:
    """The handle is closed when nobody has its owner any more."""
    weakref.finalize(owner, handle.close).atexit = False  # the end of the program closes all handles together


def _round_of(reader: "Reader") -> Callable[[int], Optional[int]]:
    """What a step asks, which does not keep the reader open."""
    ref = weakref.ref(reader)

    def find(step: int) -> Optional[int]:
        reader = ref()
        if reader is None:
            raise UsageError("this reader is closed")
        return reader._find_round(step)

    return find


class Reader:
    """Reads the lanes of one rank of a mix, whole steps in order, each the previous one plus 1.

    Parameters
    ----------
    mix: name of the mix.
    bootstrap: "host:port,..."; None: $RIFFLE_BOOTSTRAP or localhost:9092.
    rank, world: this reader and how many there are, 0 of 1 where neither is given; world divides the lanes of the mix.
    uneven: world need only not be larger than the lanes; ranks then differ by one lane, B / L sequences a step.
    run: name of the training run; commits go to the group "<mix>.<run>".
    step: first step, from a checkpoint. None: where the run has committed (the lowest step over all lanes), or 0.
    from_time, from_domain: in place of it, the first step that holds what a live domain got at that time or later; see
        :func:`riffle.step_at_time`.
    dtype: of the tokens: uint16 (an error where a token is above 65,535), uint32 or int64.
    commit_every: where the next step is asked for, commit every k steps (or more often where the lead of the mix asks
        for it) that all steps given so far are trained. Only for a loop that asks for a step once it has trained the one
        before; 0: never. Whoever fetches ahead calls trained() instead.
    timeout: seconds that iterating waits for a step; None: forever. A wait of ten seconds is warned of, and again each minute
        (READ-WAITING); the warning says why the step does not come.
    ahead_bytes: memory for steps that are decoded ahead (0: 64 MiB; at least two steps), and as much again for records
        that are fetched and not decoded yet (at least 1 MiB a lane).
    threads: that decompress (0: 2).
    properties: further librdkafka properties.
    checkpoint: a state of state_dict(): reading begins at its step where `step` is None; a mix that is not the one it was made
        from is a DataError.
    schedule: the same of `info.schedule` alone. 0: any.
    open_timeout: seconds to wait for the broker.

    A reader belongs to the process that opened it, and takes one call at a time: what a second thread calls is a UsageError.
    While one thread waits for a step, any other may call trained(), report(), metrics(), close(), and flush() unless
    commits are asked for with commit() or commit_every; `position`, `committed` and a step's `round` are there, too.
    """

    def __init__(self, mix: str, bootstrap: Optional[str] = None, rank: Optional[int] = None, world: Optional[int] = None, *,
                 run: str = "trainers", step: Optional[int] = None, dtype: Any = np.uint32, commit_every: int = 0,
                 timeout: Optional[float] = None, ahead_bytes: int = 0, threads: int = 0,
                 properties: Optional[Mapping[str, Any]] = None, schedule: int = 0, open_timeout: float = 10.0,
                 uneven: bool = False, from_time: Optional[Moment] = None, from_domain: Optional[str] = None,
                 checkpoint: Optional[Mapping[str, Any]] = None):
        self._handle: Optional[Handle] = None
        if from_time is not None:
            if step is not None:
                raise UsageError("step or from_time, not both")
            step = step_at_time(mix, from_time, bootstrap, domain=from_domain, properties=properties)
        elif from_domain is not None:
            raise UsageError("from_domain goes with from_time")
        if checkpoint is not None and step is None:
            step = step_of_state(checkpoint, mix, run)
        self.mix, self.run, self.bootstrap, self.properties = mix, run, bootstrap, mapping("properties", properties)
        self.rank, self.world = rank, world = rank_of(rank, world)
        self.dtype = token_dtype(dtype)
        self.timeout = timeout
        seconds("timeout", timeout)
        self.commit_every = whole("commit_every", commit_every)
        self._commits = commit_every > 0  # the library is asked for commits of what was given
        # Nothing but trained() moves the place where a restart begins, as far as the caller has shown by now.
        self._expects_trained = step is None and commit_every == 0
        self._steps_given = 0
        self._error = c.ErrorText()
        self._names: Dict[int, str] = {}
        self._round, self._with_rounds, self._without_rounds = c.RoundOfStep(), False, False
        self._round_of = _round_of(self)
        self._checkpoints = Checkpoints(mix, bootstrap, run, properties, open_timeout)
        self._training = Training(Places(np.zeros(WORDS, np.int64)), lambda: Progress(
            mix, bootstrap, rank, world, run=run, properties=properties, open_timeout=open_timeout, uneven=uneven))
        self._trained_places = self._training.places
        self.spikes = Spikes()  #: the rule of skip_on_spike(), where it is given none
        options = options_of(mix, bootstrap, rank, world, run, step, self.dtype.itemsize, properties, open_timeout)
        options.commit_every, options.ahead_bytes = commit_every, whole("ahead_bytes", ahead_bytes)
        options.threads, options.uneven = whole("threads", threads, most=2**32 - 1), bool(uneven)
        options.schedule = whole("schedule", schedule, most=2**64 - 1)
        raw = None if checkpoint is None else raw_of(checkpoint)
        if raw is not None:
            options.checkpoint = ctypes.pointer(raw)
        self._handle = handle_of("reader", c.lib.riffle_open, c.lib.riffle_close, options, self._error,
                                 f"this reader of mix {mix} was closed: open a new riffle.Reader")
        ends_with(self, self._handle)
        self._begin()
        add_reader(self)

    # ---- life ----

    def close(self) -> None:
        """Ends the reader. Steps that somebody still holds stay valid. Commits nothing but what trained() has said. Another
        thread's call that waits returns within a tenth of a second, with a UsageError; close() waits for it."""
        if self._handle is None:
            return
        if self._steps_given > 0:
            self._warn_untrained("")
        self._expects_trained = False
        self._handle.stop()
        self._training.close()
        self._handle.close()

    def __enter__(self) -> "Reader":
        return self

    def __exit__(self, kind: object, *unused: object) -> None:
        if kind is not None:
            self._expects_trained = False  # the step that failed was not trained, rightly
        self.close()

    def __getstate__(self) -> None:
        raise TypeError("a Reader cannot be copied or sent to another process: open one there")

    def _open(self) -> Handle:
        if self._handle is None:
            raise UsageError("this reader is closed")
        return self._handle

    def _check(self, code: int) -> None:
        if code != c.OK:
            raise error_of(code, self._error)

    def _warn_untrained(self, more: str) -> None:
        if self._expects_trained:
            n = self._steps_given
            log.write(c.LOG_WARNING, f"riffle: READ-NOT-TRAINED {n} {'step' if n == 1 else 'steps'} of mix {self.mix} "
                                     f"{'was' if n == 1 else 'were'} given and none was trained: call reader.trained(step) after "
                                     f"each, or a restart reads them again{more}")

    # ---- steps ----

    def __iter__(self) -> Iterator[Step]:
        return self

    def __next__(self) -> Step:
        step = self.next(self.timeout)
        if step is None:
            raise StopIteration
        return step

    def next(self, timeout: Optional[float] = None) -> Optional[Step]:
        """The next step; None at the end of the mix. StepTimeout after `timeout` seconds (None: waits for ever)."""
        handle, wait = self._open(), seconds("timeout", timeout)
        with handle as raw:
            pointer, error = _StepPointer(), ctypes.byref(self._error)
            code = c.lib.riffle_next(raw, 0, ctypes.byref(pointer), error)  # mostly there already
            if code == c.TIMEOUT:
                code = wait_for(lambda ms: c.lib.riffle_next(raw, ms, ctypes.byref(pointer), error), handle, wait)
            return self._take(raw, code, pointer, None)

    def next_into(self, tokens: np.ndarray, timeout: Optional[float] = None) -> Optional[Step]:
        """The same with the tokens written into `tokens`: C-contiguous, of the reader's dtype, with room for
        [n, S + 1]; the step's `tokens` is a view of its beginning."""
        if not isinstance(tokens, np.ndarray) or tokens.dtype != self.dtype or not tokens.flags.c_contiguous or (
                not tokens.flags.writeable):
            raise UsageError(f"tokens must be a writeable C-contiguous array of {self.dtype}")
        handle, wait = self._open(), seconds("timeout", timeout)
        with handle as raw:
            pointer, error = _StepPointer(), ctypes.byref(self._error)
            code = wait_for(lambda ms: c.lib.riffle_next_into(raw, ms, tokens.ctypes.data, tokens.nbytes,
                                                              ctypes.byref(pointer), error), handle, wait)
            return self._take(raw, code, pointer, tokens)

    def _take(self, raw: int, code: int, pointer: "ctypes._Pointer", tokens: Optional[np.ndarray]) -> Optional[Step]:
        if code == c.END:
            return None
        self._check(code)
        self._check(c.lib.riffle_keep(raw, pointer, ctypes.byref(self._error)))
        if tokens is not None:
            given = pointer.contents
            tokens = tokens.reshape(-1)[:given.sequences * given.tokens_each].reshape(given.sequences, given.tokens_each)
        step = Step(pointer, self.dtype, self._names, tokens, self._round_of)
        self._training.places.put(place_of(raw))
        self._steps_given += 1
        if self._steps_given == _UNTRAINED and self._training.places.lead > 0:
            self._warn_untrained(f", and the mixer waits when it is {self._training.places.lead} steps ahead of what is trained")
        if self._with_rounds and c.lib.riffle_get_round(
                raw, step.step, ctypes.byref(self._round), ctypes.byref(self._error)) == c.OK:
            step._round = self._round.round  # now it costs nothing, and at a later step a request
        return step

    def _find_round(self, step: int) -> Optional[int]:
        if self._without_rounds:
            return None
        handle, found, error = self._open(), c.RoundOfStep(), c.ErrorText()
        handle.check()

        def call() -> int:
            with handle.shared() as raw:
                return c.lib.riffle_get_round(raw, step, ctypes.byref(found), ctypes.byref(error))

        code = uninterrupted(call)
        if code != c.OK:
            raise error_of(code, error)
        self._with_rounds, self._without_rounds = found.epoch_size > 0, found.epoch_size == 0
        return found.round if found.epoch_size > 0 else None

    def seek(self, step: int) -> None:
        """The next step will be `step`. ExpiredError where it is not retained; the reader then stays where it was."""
        self._seek(step, None)

    def _seek(self, step: int, checkpoint: Optional[c.Checkpoint]) -> None:
        if not 0 <= whole("step", step, -MOST) < 2**62:
            raise UsageError(f"step {step} is out of range")
        handle, error = self._open(), ctypes.byref(self._error)
        handle.check()
        self._expects_trained = False  # the caller says where reading begins

        def call() -> int:
            with handle as raw:
                if checkpoint is not None:
                    return c.lib.riffle_seek_checkpoint(raw, ctypes.byref(checkpoint), error)
                return c.lib.riffle_seek(raw, step, error)

        self._check(uninterrupted(call))
        self._begin()

    def _begin(self) -> None:
        place = self._place()
        self._training.begin(place.step)
        self._training.places.reads(place)

    @property
    def position(self) -> int:
        """The step that comes next."""
        with self._open().shared() as raw:
            return c.lib.riffle_position(raw)

    @property
    def place(self) -> Place:
        """Where `position` is, for the Progress of the process that trains."""
        self._expects_trained = False  # of this reader
        return self._place()

    def _place(self) -> Place:
        with self._open() as raw:
            return place_of(raw)

    @property
    def info(self) -> Info:
        """Shape of the mix, also before the first step. Where no mixer has begun it yet, waits for that as for a step:
        StepTimeout after `timeout` seconds. `lead` is by the step that was given last, 0 before."""
        found, handle, error = c.InfoOfReader(), self._open(), ctypes.byref(self._error)
        wait = seconds("timeout", self.timeout)
        with handle as raw:
            self._check(wait_for(lambda ms: c.lib.riffle_wait_info(raw, ms, ctypes.byref(found), error), handle, wait))
        return Info(*(getattr(found, name) for name, _ in c.InfoOfReader._fields_[1:]))

    def metrics(self) -> str:
        """What the reader has counted so far, in the text format of Prometheus; docs/METRICS.md has the names. May be
        called by any thread. Of librdkafka there are figures where `properties` have statistics.interval.ms."""
        with self._open().shared() as raw:
            room = c.lib.riffle_metrics(raw, None, 0) + _GROWTH
            found = ctypes.create_string_buffer(room)
            c.lib.riffle_metrics(raw, found, room)
        return found.value.decode()

    # ---- checkpoints, commits, losses ----

    def state_dict(self, step: Optional[int] = None) -> Dict[str, Any]:
        """{"mix", "run", "step", ...}, understood at any world size: `step` comes next, and the rest tells the mix from another
        one of its name (riffle.checkpoint). None: the step after the last that trained() was called for. If it was never called,
        `position`: right for a loop that asks for a step once it has trained the one before."""
        self._expects_trained = False
        if step is None:
            places = self._training.places
            step = places.trained if places.is_trained else self.position
        return self._checkpoints.state(step)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes to the step of a checkpoint. DataError if it is of another mix, also one of the same name; a warning if it is of
        another run."""
        step = step_of_state(state, self.mix, self.run)
        self._seek(step, raw_of(state))
        log_step(step, self.mix, self.run)

    def trained(self, step: Optional[int] = None, losses: Optional[Losses] = None) -> None:
        """All steps up to `step` (None: the one after the last) are trained: commits that, reports `losses` of `step`
        as report() does, and moves the state. Returns at once; what fails is raised by a later trained() or flush(),
        once, and that call does nothing else. Steps may be read ahead of training."""
        self._open().check()
        if self.commit_every > 0:
            raise UsageError("this reader commits by itself what it has given (commit_every): open it without, and "
                             "trained() commits what was trained")
        self._training.trained(step, losses)
        self._expects_trained = False

    def commit(self, wait: bool = True, timeout: float = 30.0) -> None:
        """Commits that all steps below `position` are trained: progress for the mixer's lead and for resuming without a
        checkpoint. wait=False: returns at once; what fails is raised by a later commit() or flush()."""
        handle, _ = self._open(), seconds("timeout", timeout)
        self._expects_trained = False
        if self._trained_places.is_trained:
            raise UsageError("commit() commits what was given, and trained() says what was trained: use one of them "
                             "(flush() waits for the commits of trained())")
        with handle as raw:
            self._commits = True
            self._check(c.lib.riffle_commit_async(raw, ctypes.byref(self._error)))
            if wait:
                self.flush(timeout)

    @property
    def committed(self) -> int:
        """The last known good: the broker has confirmed that all steps below it are committed by this reader."""
        progress = self._training.progress
        if progress is not None:
            return progress.committed
        with self._open().shared() as raw:
            return c.lib.riffle_committed(raw)

    def report(self, step: int, losses: Losses) -> None:
        """Reports losses of a step to "<mix>.feedback": {domain: (loss_sum, excess_sum, tokens)}, sums over this
        rank's tokens of the domain, in nats; excess_sum is of max(0, loss - reference) a token, 0 without one.
        Returns at once; a report that the broker did not take is raised by a later report() or flush()."""
        given, error = losses_of(losses), c.ErrorText()
        with self._open().shared() as raw:
            code = c.lib.riffle_report(raw, whole("step", step), given, len(given), ctypes.byref(error))
        if code != c.OK:
            raise error_of(code, error)

    def flush(self, timeout: float = 30.0) -> None:
        """Waits until reports are delivered and commits confirmed. StepTimeout where not all are, in time."""
        handle, error, wait = self._open(), c.ErrorText(), seconds("timeout", timeout)
        with handle if self._commits else handle.shared() as raw:  # a thread may read on while reports are waited for
            code = wait_for(lambda ms: c.lib.riffle_flush(raw, ms, ctypes.byref(error)), handle, wait)
        if code != c.OK:
            raise error_of(code, error)
        progress = self._training.progress
        if progress is not None:
            progress.flush(timeout)


class Reporter:
    """Reports losses as :meth:`Reader.report` does, for a process whose reader is in another one (a worker)."""

    def __init__(self, mix: str, bootstrap: Optional[str] = None, rank: Optional[int] = None, world: Optional[int] = None, *,
                 run: str = "trainers", properties: Optional[Mapping[str, Any]] = None, open_timeout: float = 10.0):
        self._handle: Optional[Handle] = None
        self._error = c.ErrorText()
        options = options_of(mix, bootstrap, rank, world, run, None, 4, properties, open_timeout)
        self._handle = handle_of("reporter", c.lib.riffle_reporter_open, c.lib.riffle_reporter_close, options, self._error,
                                 f"this reporter of mix {mix} was closed: open a new riffle.Reporter")
        ends_with(self, self._handle)

    def _open(self) -> Handle:
        if self._handle is None:
            raise UsageError("this reporter is closed")
        return self._handle

    def report(self, step: int, losses: Losses) -> None:
        """As :meth:`Reader.report`."""
        given = losses_of(losses)
        with self._open() as raw:
            code = c.lib.riffle_reporter_report(raw, whole("step", step), given, len(given), ctypes.byref(self._error))
            if code != c.OK:
                raise error_of(code, self._error)

    def flush(self, timeout: float = 30.0) -> None:
        """Waits until reports are delivered. StepTimeout where not all are, in time."""
        handle, error, wait = self._open(), ctypes.byref(self._error), seconds("timeout", timeout)
        with handle as raw:
            code = wait_for(lambda ms: c.lib.riffle_reporter_flush(raw, ms, error), handle, wait)
            if code != c.OK:
                raise error_of(code, self._error)

    def close(self) -> None:
        """Ends it; what is on its way gets two seconds."""
        if self._handle is not None:
            self._handle.close()

    def __enter__(self) -> "Reporter":
        return self

    def __exit__(self, *unused: object) -> None:
        self.close()

    def __getstate__(self) -> None:
        raise TypeError("a Reporter cannot be copied or sent to another process: open one there")


def rank_of(rank: Optional[int], world: Optional[int]) -> Tuple[int, int]:
    """Rank and world, 0 of 1 where neither is given: a rank alone, or a world, would read what others read."""
    if (rank is None) != (world is None):
        raise UsageError("give both rank and world, or neither")
    return (0, 1) if rank is None or world is None else (
        whole("rank", rank, most=2**32 - 1), whole("world", world, most=2**32 - 1))


def options_of(mix: str, bootstrap: Optional[str], rank: Optional[int], world: Optional[int], run: str, step: Optional[int],
               token_bytes: int, properties: Optional[Mapping[str, Any]], open_timeout: float) -> c.Options:
    given = properties_of(properties)
    rank, world = rank_of(rank, world)
    return c.Options(
        mix=text("mix", mix), bootstrap=bootstrap_of(bootstrap, properties), run=text("run", run), rank=rank, world=world,
        start=c.START_COMMITTED if step is None else c.START_STEP, step=whole("step", 0 if step is None else step),
        token_bytes=token_bytes, properties=given, properties_n=len(given),
        open_timeout_ms=milliseconds("open_timeout", open_timeout))


def committed_step(mix: str, bootstrap: Optional[str] = None, *, run: str = "trainers",
                   properties: Optional[Mapping[str, Any]] = None, open_timeout: float = 10.0,
                   starts: bool = True) -> int:
    """Where a run stands by its commits: the lowest step over all lanes of the mix; 0 where it has none. `starts`: the
    library logs that the run starts there.

    Ranks that must agree let one of them ask, before anyone commits, and start at the answer.
    """
    options = options_of(mix, bootstrap, 0, 1, run, None if starts else 0, 4, properties, open_timeout)
    step, error = c.c_uint64(), c.ErrorText()
    code = uninterrupted(
        lambda: c.lib.riffle_find_committed(ctypes.byref(options), ctypes.byref(step), ctypes.byref(error)))
    if code != c.OK:
        raise error_of(code, error)
    return step.value


def ask_of_mix(call: Callable[..., int], mix: str, bootstrap: Optional[str], properties: Optional[Mapping[str, Any]],
               open_timeout: float, found: ctypes.Structure) -> Tuple[Any, ...]:
    """What call(&options, &found, &error) finds out about a mix, field by field."""
    options, error = options_of(mix, bootstrap, 0, 1, "trainers", 0, 4, properties, open_timeout), c.ErrorText()
    code = uninterrupted(lambda: call(ctypes.byref(options), ctypes.byref(found), ctypes.byref(error)))
    if code != c.OK:
        raise error_of(code, error)
    return tuple(getattr(found, name) for name, _ in found._fields_[1:])


class Rounds(NamedTuple):
    """Rounds of a mix (mix.epoch_size): step s is of round s // steps."""

    draws: int  #: of a round; 0: the mix has none
    steps: int  #: of a round; 0: it is no whole number of steps, or global_batch has changed since step 0
    global_batch: int
    lanes: int


def find_rounds(mix: str, bootstrap: Optional[str] = None, *, properties: Optional[Mapping[str, Any]] = None,
                open_timeout: float = 10.0) -> Rounds:
    """The rounds of a mix, by its ledger. StepTimeout where no mixer has begun it."""
    return Rounds(*ask_of_mix(c.lib.riffle_find_rounds, mix, bootstrap, properties, open_timeout, c.RoundsOfMix()))


class Extent(NamedTuple):
    """How far a mix has come: sequence i is in step i // global_batch."""

    steps: int  #: that are published
    global_batch: int
    lanes: int
    sequence_length: int
    ended: bool  #: there will be no more
    uniform: bool  #: no step had another global_batch


def find_extent(mix: str, bootstrap: Optional[str] = None, *, properties: Optional[Mapping[str, Any]] = None,
                open_timeout: float = 10.0) -> Extent:
    """The extent of a mix, by its ledger. StepTimeout where no mixer has begun it."""
    *sizes, ended, uniform = ask_of_mix(c.lib.riffle_find_extent, mix, bootstrap, properties, open_timeout, c.ExtentOfMix())
    return Extent(*sizes, bool(ended), bool(uniform))
