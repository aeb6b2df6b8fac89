"""riffle.Reader: one rank of a training run."""

from __future__ import annotations

import ctypes
import operator
import os
import threading
import time
import weakref
from typing import Any, Callable, Dict, Iterator, Mapping, NamedTuple, Optional, Tuple

import numpy as np

from . import _library as c
from .checkpoint import Checkpoints, log_step, raw_of, step_of_state
from .errors import UsageError, error_of
from .metrics import add_reader
from .progress import WORDS, Losses, Place, Places, Progress, Training, losses_of, place_of
from .spikes import Spikes
from .step import Step
from .times import Moment, step_at_time

_SLICE_MS = 100  # a wait returns to Python so often, for signals
_StepPointer = ctypes.POINTER(c.StepOfReader)
_DTYPES = {"u2": "uint16", "u4": "uint32", "i8": "int64"}
_GROWTH = 512  # bytes by which metrics may grow between two calls
_END_S = 1.0  # that the end of the program waits for a call in another thread


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
    found = np.dtype(dtype)
    if f"{found.kind}{found.itemsize}" not in _DTYPES:
        raise UsageError(f"dtype is {found}; it is uint16, uint32 or int64")
    return found.newbyteorder("=")


def properties_of(properties: Optional[Mapping[str, Any]]) -> "ctypes.Array":
    items = list((properties or {}).items())
    return (c.Property * len(items))(*[(str(k).encode(), str(v).encode()) for k, v in items])


def bootstrap_of(bootstrap: Optional[str], properties: Optional[Mapping[str, Any]]) -> Optional[bytes]:
    if bootstrap is None and "bootstrap.servers" not in (properties or {}):
        bootstrap = os.environ.get("RIFFLE_BOOTSTRAP", "localhost:9092")
    return None if bootstrap is None else bootstrap.encode()


def uninterrupted(call: Callable[[], int], late: Callable[[], None]) -> int:
    """Runs a call that may wait, in a thread, so that KeyboardInterrupt comes through; then `late` runs when it ends.
    """
    result: list = []
    state = {"left": False}
    lock = threading.Lock()

    def run() -> None:
        code = call()
        with lock:
            result.append(code)
            if state["left"]:
                late()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        while thread.is_alive():
            thread.join(_SLICE_MS / 1000)
    except BaseException:
        with lock:
            state["left"] = True
            if result:
                late()
        raise
    return result[0]


def handle_of(opens: Callable[..., int], closes: Callable[..., None], options: ctypes.Structure,
              error: c.ErrorText) -> int:
    """The handle that opens(&handle, &options, &error) gives; one that comes after KeyboardInterrupt is closed."""
    handle = c.c_void_p()
    code = uninterrupted(lambda: opens(ctypes.byref(handle), ctypes.byref(options), ctypes.byref(error)),
                         lambda: closes(handle))
    if code != c.OK:
        raise error_of(code, error)
    return handle.value


def next_step(call: Callable[[int], int], error: c.ErrorText, timeout: Optional[float]) -> int:
    """Repeats call(timeout_ms) in slices until it says something else than TIMEOUT, or time is up."""
    deadline = None if timeout is None else time.monotonic() + timeout
    while True:
        left = _SLICE_MS if deadline is None else int(max(0, deadline - time.monotonic()) * 1000)
        code = call(min(left, _SLICE_MS))
        if code != c.TIMEOUT or left <= _SLICE_MS and deadline is not None and time.monotonic() >= deadline:
            return code


def end_reader(busy: threading.Lock, measured: threading.Lock, handle: int) -> None:
    """Closes a reader, unless a call in another thread does not end: then the end of the process closes it."""
    if busy.acquire(timeout=_END_S):
        try:
            with measured:
                c.lib.riffle_close(handle)
        finally:
            busy.release()


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
    timeout: seconds that iterating waits for a step; None: for ever.
    ahead_bytes: memory for steps that are decoded ahead (0: 64 MiB; at least two steps), and as much again for records
        that are fetched and not decoded yet (at least 1 MiB a lane).
    threads: that decompress (0: 2).
    properties: further librdkafka properties.
    checkpoint: a state of state_dict(): reading begins at its step where `step` is None; a mix that is not the one it was made
        from is a DataError.
    schedule: the same of `info.schedule` alone. 0: any.
    open_timeout: seconds to wait for the broker.

    A reader belongs to the process that opened it, and is used by one thread at a time.
    """

    def __init__(self, mix: str, bootstrap: Optional[str] = None, rank: Optional[int] = None, world: Optional[int] = None, *,
                 run: str = "trainers", step: Optional[int] = None, dtype: Any = np.uint32, commit_every: int = 0,
                 timeout: Optional[float] = None, ahead_bytes: int = 0, threads: int = 0,
                 properties: Optional[Mapping[str, Any]] = None, schedule: int = 0, open_timeout: float = 10.0,
                 uneven: bool = False, from_time: Optional[Moment] = None, from_domain: Optional[str] = None,
                 checkpoint: Optional[Mapping[str, Any]] = None):
        self._handle: Optional[int] = None
        if from_time is not None:
            if step is not None:
                raise UsageError("step or from_time, not both")
            step = step_at_time(mix, from_time, bootstrap, domain=from_domain, properties=properties)
        elif from_domain is not None:
            raise UsageError("from_domain goes with from_time")
        if checkpoint is not None and step is None:
            step = step_of_state(checkpoint, mix, run)
        self.mix, self.run, self.bootstrap, self.properties = mix, run, bootstrap, dict(properties or {})
        self.rank, self.world = rank, world = rank_of(rank, world)
        self.dtype = token_dtype(dtype)
        self.timeout = timeout
        self.commit_every = commit_every
        self._error = c.ErrorText()
        self._names: Dict[int, str] = {}
        self._busy, self._measured = threading.Lock(), threading.Lock()
        self._step = _StepPointer()
        self._round, self._with_rounds, self._without_rounds = c.RoundOfStep(), False, False
        self._round_of = _round_of(self)
        self._checkpoints = Checkpoints(mix, bootstrap, run, properties, open_timeout)
        self._training = Training(Places(np.zeros(WORDS, np.int64)), lambda: Progress(
            mix, bootstrap, rank, world, run=run, properties=properties, open_timeout=open_timeout, uneven=uneven))
        self._trained_places = self._training.places
        self.spikes = Spikes()  #: the rule of skip_on_spike(), where it is given none
        for name, value in (("rank", rank), ("world", world), ("step", step or 0), ("commit_every", commit_every),
                            ("ahead_bytes", ahead_bytes), ("threads", threads)):
            if not 0 <= whole(name, value) < 2**63:
                raise UsageError(f"{name} is {value}")
        options = options_of(mix, bootstrap, rank, world, run, step, self.dtype.itemsize, properties, open_timeout)
        options.commit_every, options.ahead_bytes = commit_every, ahead_bytes
        options.threads, options.schedule, options.uneven = threads, schedule, uneven
        raw = None if checkpoint is None else raw_of(checkpoint)
        if raw is not None:
            options.checkpoint = ctypes.pointer(raw)
        self._handle = handle_of(c.lib.riffle_open, c.lib.riffle_close, options, self._error)
        # Also where the program ends with an open reader, while the modules that this needs are still there.
        self._ends = weakref.finalize(self, end_reader, self._busy, self._measured, self._handle)
        self._begin()
        add_reader(self)

    # ---- life ----

    def close(self) -> None:
        """Ends the reader. Steps that somebody still holds stay valid. Commits nothing but what trained() has said."""
        if self._handle is None:
            return
        with self._busy, self._measured:
            self._handle = None
        self._training.close()
        self._ends()

    def __enter__(self) -> "Reader":
        return self

    def __exit__(self, *unused: object) -> None:
        self.close()

    def __getstate__(self) -> None:
        raise TypeError("a Reader cannot be sent to another process: open one there")

    def _open(self) -> int:
        if self._handle is None:
            raise UsageError("this reader is closed")
        return self._handle

    def _check(self, code: int) -> None:
        if code != c.OK:
            raise error_of(code, self._error)

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
        handle, error, out = self._open(), ctypes.byref(self._error), ctypes.byref(self._step)
        code = c.lib.riffle_next(handle, 0, out, error)  # mostly there already
        if code == c.TIMEOUT:
            code = next_step(lambda ms: c.lib.riffle_next(handle, ms, out, error), self._error, timeout)
        return self._take(code, None)

    def next_into(self, tokens: np.ndarray, timeout: Optional[float] = None) -> Optional[Step]:
        """The same with the tokens written into `tokens`: C-contiguous, of the reader's dtype, with room for
        [n, S + 1]; the step's `tokens` is a view of its beginning."""
        if tokens.dtype != self.dtype or not tokens.flags.c_contiguous or not tokens.flags.writeable:
            raise UsageError(f"tokens must be a writeable C-contiguous array of {self.dtype}")
        handle, error = self._open(), ctypes.byref(self._error)
        code = next_step(
            lambda ms: c.lib.riffle_next_into(handle, ms, tokens.ctypes.data, tokens.nbytes,
                                              ctypes.byref(self._step), error), self._error, timeout)
        return self._take(code, tokens)

    def _take(self, code: int, tokens: Optional[np.ndarray]) -> Optional[Step]:
        if code == c.END:
            return None
        self._check(code)
        pointer = self._step
        self._check(c.lib.riffle_keep(self._open(), pointer, ctypes.byref(self._error)))
        if tokens is not None:
            raw = pointer.contents
            tokens = tokens.reshape(-1)[:raw.sequences * raw.tokens_each].reshape(raw.sequences, raw.tokens_each)
        self._step = _StepPointer()
        self._training.places.put(place_of(self._open()))
        step = Step(pointer, self.dtype, self._names, tokens, self._round_of)
        if self._with_rounds and c.lib.riffle_get_round(
                self._open(), step.step, ctypes.byref(self._round), ctypes.byref(self._error)) == c.OK:
            step._round = self._round.round  # now it costs nothing, and at a later step a request
        return step

    def _find_round(self, step: int) -> Optional[int]:
        if self._without_rounds:
            return None
        handle, found = self._open(), c.RoundOfStep()

        def call() -> int:
            with self._busy:
                return c.lib.riffle_get_round(handle, step, ctypes.byref(found), ctypes.byref(self._error))

        self._check(uninterrupted(call, lambda: None))
        self._with_rounds, self._without_rounds = found.epoch_size > 0, found.epoch_size == 0
        return found.round if found.epoch_size > 0 else None

    def seek(self, step: int) -> None:
        """The next step will be `step`. ExpiredError where it is not retained; the reader then stays where it was."""
        self._seek(step, None)

    def _seek(self, step: int, checkpoint: Optional[c.Checkpoint]) -> None:
        if not 0 <= step < 2**62:
            raise UsageError(f"step {step} is out of range")
        handle, error = self._open(), ctypes.byref(self._error)

        def call() -> int:
            with self._busy:
                if checkpoint is not None:
                    return c.lib.riffle_seek_checkpoint(handle, ctypes.byref(checkpoint), error)
                return c.lib.riffle_seek(handle, step, error)

        self._check(uninterrupted(call, lambda: None))
        self._begin()

    def _begin(self) -> None:
        place = self.place
        self._training.begin(place.step)
        self._training.places.reads(place)

    @property
    def position(self) -> int:
        """The step that comes next."""
        return c.lib.riffle_position(self._open())

    @property
    def place(self) -> Place:
        """Where `position` is, for the Progress of the process that trains."""
        return place_of(self._open())

    @property
    def info(self) -> Info:
        """Shape of the mix, also before the first step. Where no mixer has begun it yet, waits for that as for a step:
        StepTimeout after `timeout` seconds. `lead` is by the step that was given last, 0 before."""
        raw, handle, error = c.InfoOfReader(), self._open(), ctypes.byref(self._error)
        self._check(next_step(
            lambda ms: c.lib.riffle_wait_info(handle, ms, ctypes.byref(raw), error), self._error, self.timeout))
        return Info(*(getattr(raw, name) for name, _ in c.InfoOfReader._fields_[1:]))

    def metrics(self) -> str:
        """What the reader has counted so far, in the text format of Prometheus; docs/METRICS.md has the names. May be
        called by any thread. Of librdkafka there are figures where `properties` have statistics.interval.ms."""
        with self._measured:  # or it might be closed meanwhile
            room = c.lib.riffle_metrics(self._open(), None, 0) + _GROWTH
            text = ctypes.create_string_buffer(room)
            c.lib.riffle_metrics(self._handle, text, room)
        return text.value.decode()

    # ---- checkpoints, commits, losses ----

    def state_dict(self, step: Optional[int] = None) -> Dict[str, Any]:
        """{"mix", "run", "step", ...}, understood at any world size: `step` comes next, and the rest tells the mix from another
        one of its name (riffle.checkpoint). None: the step after the last that trained() was called for; `position`, where it
        never was."""
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
        self._open()
        if self.commit_every > 0:
            raise UsageError("this reader commits by itself what it has given (commit_every): open it without, and "
                             "trained() commits what was trained")
        self._training.trained(step, losses)

    def commit(self, wait: bool = True, timeout: float = 30.0) -> None:
        """Commits that all steps below `position` are trained: progress for the mixer's lead and for resuming without a
        checkpoint. wait=False: returns at once; what fails is raised by a later commit() or flush()."""
        handle, error = self._open(), ctypes.byref(self._error)
        if self._trained_places.is_trained:
            raise UsageError("commit() commits what was given, and trained() says what was trained: use one of them "
                             "(flush() waits for the commits of trained())")
        self._check(c.lib.riffle_commit_async(handle, error))
        if wait:
            self.flush(timeout)

    @property
    def committed(self) -> int:
        """The last known good: the broker has confirmed that all steps below it are committed by this reader."""
        if self._training.progress is not None:
            return self._training.progress.committed
        return c.lib.riffle_committed(self._open())

    def report(self, step: int, losses: Losses) -> None:
        """Reports losses of a step to "<mix>.feedback": {domain: (loss_sum, excess_sum, tokens)}, sums over this
        rank's tokens of the domain, in nats; excess_sum is of max(0, loss - reference) a token, 0 without one.
        Returns at once; a report that the broker did not take is raised by a later report() or flush()."""
        raw = losses_of(losses)
        self._check(c.lib.riffle_report(self._open(), step, raw, len(raw), ctypes.byref(self._error)))

    def flush(self, timeout: float = 30.0) -> None:
        """Waits until reports are delivered and commits confirmed. StepTimeout where not all are, in time."""
        handle, error = self._open(), ctypes.byref(self._error)
        self._check(next_step(lambda ms: c.lib.riffle_flush(handle, ms, error), self._error, timeout))
        if self._training.progress is not None:
            self._training.progress.flush(timeout)


class Reporter:
    """Reports losses as :meth:`Reader.report` does, for a process whose reader is in another one (a worker)."""

    def __init__(self, mix: str, bootstrap: Optional[str] = None, rank: Optional[int] = None, world: Optional[int] = None, *,
                 run: str = "trainers", properties: Optional[Mapping[str, Any]] = None, open_timeout: float = 10.0):
        self._handle: Optional[int] = None
        self._error = c.ErrorText()
        options = options_of(mix, bootstrap, rank, world, run, None, 4, properties, open_timeout)
        self._handle = handle_of(c.lib.riffle_reporter_open, c.lib.riffle_reporter_close, options, self._error)
        self._ends = weakref.finalize(self, c.lib.riffle_reporter_close, self._handle)

    def _open(self) -> int:
        if self._handle is None:
            raise UsageError("this reporter is closed")
        return self._handle

    def report(self, step: int, losses: Losses) -> None:
        """As :meth:`Reader.report`."""
        raw = losses_of(losses)
        code = c.lib.riffle_reporter_report(self._open(), step, raw, len(raw), ctypes.byref(self._error))
        if code != c.OK:
            raise error_of(code, self._error)

    def flush(self, timeout: float = 30.0) -> None:
        """Waits until reports are delivered. StepTimeout where not all are, in time."""
        handle, error = self._open(), ctypes.byref(self._error)
        code = next_step(lambda ms: c.lib.riffle_reporter_flush(handle, ms, error), self._error, timeout)
        if code != c.OK:
            raise error_of(code, self._error)

    def close(self) -> None:
        """Ends it; what is on its way gets two seconds."""
        self._handle = None
        if hasattr(self, "_ends"):
            self._ends()

    def __enter__(self) -> "Reporter":
        return self

    def __exit__(self, *unused: object) -> None:
        self.close()

    def __getstate__(self) -> None:
        raise TypeError("a Reporter cannot be sent to another process: open one there")


def whole(name: str, value: Any) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise UsageError(f"{name} is {value!r}: must be a whole number") from None


def rank_of(rank: Optional[int], world: Optional[int]) -> Tuple[int, int]:
    """Rank and world, 0 of 1 where neither is given: a rank alone, or a world, would read what others read."""
    if (rank is None) != (world is None):
        raise UsageError("give both rank and world, or neither")
    return (0, 1) if rank is None or world is None else (whole("rank", rank), whole("world", world))


def options_of(mix: str, bootstrap: Optional[str], rank: Optional[int], world: Optional[int], run: str, step: Optional[int],
               token_bytes: int, properties: Optional[Mapping[str, Any]], open_timeout: float) -> c.Options:
    given = properties_of(properties)
    rank, world = rank_of(rank, world)
    for name, value in (("mix", mix), ("run", run)):
        if not isinstance(value, str):
            raise UsageError(f"{name} is {value!r}: must be text")
    return c.Options(
        mix=mix.encode(), bootstrap=bootstrap_of(bootstrap, properties), run=run.encode(), rank=rank, world=world,
        start=c.START_COMMITTED if step is None else c.START_STEP, step=step or 0, token_bytes=token_bytes,
        properties=given, properties_n=len(given), open_timeout_ms=max(1, int(open_timeout * 1000)))


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
        lambda: c.lib.riffle_find_committed(ctypes.byref(options), ctypes.byref(step), ctypes.byref(error)),
        lambda: None)
    if code != c.OK:
        raise error_of(code, error)
    return step.value


def ask_of_mix(call: Callable[..., int], mix: str, bootstrap: Optional[str], properties: Optional[Mapping[str, Any]],
               open_timeout: float, found: ctypes.Structure) -> Tuple[Any, ...]:
    """What call(&options, &found, &error) finds out about a mix, field by field."""
    options, error = options_of(mix, bootstrap, 0, 1, "trainers", 0, 4, properties, open_timeout), c.ErrorText()
    code = uninterrupted(lambda: call(ctypes.byref(options), ctypes.byref(found), ctypes.byref(error)), lambda: None)
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
