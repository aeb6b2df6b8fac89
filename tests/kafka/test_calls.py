"""What a program may do wrong with the Python package: threads, closes, forks and ends in the middle of calls, and arguments
that C would cut or wrap. Each is an error of riffle or nothing, and never the end of the process."""

import copy
import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

STEPS = 6


@pytest.fixture
def riffle_module(package):
    return package.riffle


@pytest.fixture
def mix(fill, configure, riffle, unique):
    """The name of a mix of STEPS steps, that has not ended."""
    fill("a", "b")
    riffle("mix", "-c", configure({"a": 1, "b": 3}), "--until-step", STEPS)
    return f"{unique}-mix"


@pytest.fixture
def open_reader(riffle_module, mix, bootstrap):
    opened = []

    def run(**options):
        opened.append(riffle_module.Reader(mix, bootstrap, **options))
        return opened[-1]
    yield run
    for reader in opened:
        reader.close()


def wait_until_in_a_call(reader):
    until = time.monotonic() + 60
    while not reader._handle._calls:
        assert time.monotonic() < until
        time.sleep(0.001)


class Waiter:
    """A thread that waits for the step behind the last one."""

    def __init__(self, reader):
        self.why = None
        self.thread = threading.Thread(target=self._run, args=(reader,), daemon=True)
        self.thread.start()
        wait_until_in_a_call(reader)

    def _run(self, reader):
        try:
            reader.next()
        except Exception as why:
            self.why = why

    def end(self):
        self.thread.join(60)
        assert not self.thread.is_alive()
        return self.why


# ---- threads ----


def test_a_second_threads_call_is_a_usage_error(open_reader, riffle_module):
    reader = open_reader(step=STEPS)
    state = reader.state_dict(step=2)
    assert "choices" in state
    waiter = Waiter(reader)
    for call in (reader.next, lambda: reader.next_into(np.empty(9, np.uint32)), lambda: reader.info, lambda: reader.place,
                 reader.commit, lambda: reader.seek(0), lambda: reader.load_state_dict(state)):
        with pytest.raises(riffle_module.UsageError, match="another thread's call on this reader is in progress"):
            call()
    assert reader.position == reader.committed == STEPS
    assert reader.state_dict()["step"] == STEPS and reader.state_dict(step=2) == state
    assert "riffle_reader_step" in reader.metrics()
    reader.close()
    assert isinstance(waiter.end(), riffle_module.UsageError)


def test_close_ends_the_wait_of_another_thread(open_reader, riffle_module):
    reader = open_reader(step=STEPS)
    waiter = Waiter(reader)
    begun = time.monotonic()
    reader.close()
    assert time.monotonic() - begun < 20  # it waited forever
    why = waiter.end()
    assert isinstance(why, riffle_module.UsageError) and str(why) == f"this reader of mix {reader.mix} was closed: open a new riffle.Reader"


def test_what_was_read_ahead_is_trained_and_reported_while_a_thread_waits(open_reader):
    reader = open_reader(step=0)
    for _ in range(STEPS):
        reader.next(60)
    waiter = Waiter(reader)
    for step in range(STEPS):
        reader.trained(step)
        reader.report(step, {"a": (1.0, 0.0, 5)})
    reader.flush()
    assert reader.committed == STEPS
    reader.close()
    waiter.end()


def test_sequences_are_closed_while_a_thread_waits(riffle_module, mix, bootstrap):
    sequences = riffle_module.Sequences(mix, bootstrap, steps=10**6)
    failed = []

    def read():
        try:
            for i in range(10**6):
                sequences[i]
        except riffle_module.UsageError as why:
            failed.append(str(why))

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    until = time.monotonic() + 60
    while sequences._stream is None or sequences._stream.position < STEPS:
        assert time.monotonic() < until
        time.sleep(0.01)
    sequences.close()
    thread.join(60)
    assert not thread.is_alive() and failed == [f"this reader of mix {mix} was closed: open a new riffle.Reader"]


def test_a_signal_handler_may_commit_and_close_in_the_middle_of_a_wait(open_reader, riffle_module, caplog):
    reader = open_reader(step=0)
    reader.next(60)
    reader.seek(STEPS)
    committed = []

    def stop(number, frame):
        reader.commit()
        committed.append(reader.committed)
        reader.close()

    before = signal.signal(signal.SIGUSR1, stop)
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGUSR1)).start()
    try:
        with pytest.raises(riffle_module.UsageError, match="this reader of mix .* was closed"):
            reader.next()
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert committed == [STEPS] and "has not returned" not in caplog.text  # close() waits for no call of its own thread


def test_a_closed_reader_goes_to_no_checkpoint(open_reader, riffle_module):
    reader = open_reader(step=1)
    state = reader.state_dict()
    reader.load_state_dict(state)
    assert reader.next(60).step == 1
    reader.close()
    for call in (reader.state_dict, lambda: reader.load_state_dict(state)):
        with pytest.raises(riffle_module.UsageError, match="this reader of mix .* was closed"):
            call()


def test_states_of_threads_that_ask_at_once_are_those_of_their_steps(open_reader):
    reader = open_reader(step=0)
    expected = {step: reader.state_dict(step=step) for step in range(1, STEPS)}
    wrong = []

    def ask(step):
        for i in range(20):
            found = reader.state_dict(step=1 + (step + i) % (STEPS - 1))
            if found != expected[found["step"]]:
                wrong.append(found)

    threads = [threading.Thread(target=ask, args=(step,)) for step in range(1, STEPS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not wrong


# ---- the end of the program ----

ENDS = {  # program, exit code, the last line of stderr
    "a daemon thread waits for a step": ("""
r = riffle.Reader(mix, bootstrap, step=STEPS)
wait(threading.Thread(target=r.next, daemon=True), lambda: r._handle._calls)
""", 0, ""),
    "a daemon thread waits for a sequence": ("""
q = riffle.Sequences(mix, bootstrap, steps=10**6)
wait(threading.Thread(target=lambda: [q[i] for i in range(10**6)], daemon=True), lambda: q._stream and q._stream._handle._calls)
""", 0, ""),
    "an exception inside of with": ("""
with riffle.Reader(mix, bootstrap, step=STEPS) as r:
    def read():
        try:
            r.next()
        except riffle.UsageError:
            pass
    wait(threading.Thread(target=read, daemon=True), lambda: r._handle._calls)
    raise RuntimeError("the message that a person needs")
""", 1, "RuntimeError: the message that a person needs"),
    "a later call at the end": ("""
import atexit, riffle as again
atexit._clear()
atexit.register(lambda: late())
riffle._handle.start()
r = riffle.Reader(mix, bootstrap, step=0)
def late():
    for call in (lambda: r.seek(1), r.commit):
        try:
            call()
        except riffle.UsageError as why:
            print(why, file=sys.stderr)
""", 0, "this reader of mix {mix} was closed: open a new riffle.Reader"),
    "the child of a fork": ("""
r = riffle.Reader(mix, bootstrap, step=STEPS)
wait(threading.Thread(target=r.next, daemon=True), lambda: r._handle._calls)
child = os.fork()
if child == 0:
    for call in (lambda: r.position, lambda: r.info, lambda: r.place, lambda: r.committed, r.metrics, r.next, r.commit):
        try:
            call()
        except riffle.UsageError as why:
            assert "do not survive a fork" in str(why)
        else:
            os._exit(5)
    r.close()
    sys.exit(7)
assert os.waitpid(child, 0)[1] == 7 << 8
r.close()
""", 0, None),
}


@pytest.mark.parametrize("how", ENDS)
def test_a_program_ends_as_it_wants_to(mix, package, bootstrap, how):
    program, code, says = ENDS[how]
    head = f"""
import os, sys, threading, time, riffle
mix, bootstrap, STEPS = {mix!r}, {bootstrap!r}, {STEPS}
def wait(thread, condition):
    thread.start()
    until = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.001)
"""
    done = subprocess.run([sys.executable, "-c", head + program], env=package.env, capture_output=True, text=True, timeout=120)
    assert done.returncode == code, done.stderr
    if says is not None:
        assert (done.stderr.splitlines() or [""])[-1] == says.format(mix=mix), done.stderr


# ---- arguments ----

NAN, INF = float("nan"), float("inf")
OPTIONS = [
    (dict(mix="a\0b"), "mix is 'a\\\\x00b': must not contain a NUL character"),
    (dict(mix=None), "mix is None: must be text"),
    (dict(run="a\0b"), "run is 'a\\\\x00b': must not contain a NUL"),
    (dict(run="\ud800"), "run is .* half of a surrogate pair"),
    (dict(bootstrap="h\0:1"), "bootstrap is .* NUL"),
    (dict(properties={"client.id": "a\0b"}), "property client.id: its value must not contain a NUL"),
    (dict(properties={"client\0.id": "a"}), "a property's name is .* NUL"),
    (dict(properties=["client.id"]), "properties is a list: must be a dict"),
    (dict(bootstrap=""), "bootstrap is empty: must be .host:port. of a broker"),
    (dict(open_timeout=NAN), "open_timeout is nan: must be from 0 to 2,147,483 seconds"),
    (dict(open_timeout=INF), "open_timeout is inf: must be from 0"),
    (dict(open_timeout=-1), "open_timeout is -1: must be from 0"),
    (dict(open_timeout="10"), "open_timeout is '10': must be a number of seconds"),
    (dict(rank=-1, world=1), "rank is -1: must be at least 0"),
    (dict(rank=0, world=2**32), "world is 4294967296: must be at most 4294967295"),
    (dict(rank=0.5, world=1), "rank is 0.5: must be a whole number"),
]
OF_READERS = [
    (dict(timeout=NAN), "timeout is nan: must be 0 seconds or more, or None to wait forever"),
    (dict(timeout=-1), "timeout is -1: must be 0 seconds or more"),
    (dict(ahead_bytes=-1), "ahead_bytes is -1: must be at least 0"),
    (dict(threads=NAN), "threads is nan: must be a whole number"),
]


def calls_of(riffle):
    for kind in (riffle.Reader, riffle.Progress, riffle.Reporter, riffle.committed_step, riffle.find_extent, riffle.find_rounds):
        for options, says in OPTIONS:
            known = {"rank", "world", "run"} if kind in (riffle.find_extent, riffle.find_rounds) else (
                {"rank", "world"} if kind is riffle.committed_step else set())
            if not known & set(options):
                yield kind, options, says
    for kind in (riffle.Reader, riffle.Sequences):
        for options, says in OF_READERS + [(dict(commit_every=-1), "commit_every is -1: must be at least 0")]:
            yield kind, options, says
    yield riffle.Reader, dict(step=-1), "step is -1: must be at least 0"
    yield riffle.Reader, dict(step=1.5), "step is 1.5: must be a whole number"
    yield riffle.Reader, dict(schedule=2**64), "schedule is 18446744073709551616: must be at most"
    yield riffle.Reader, dict(dtype="text"), "dtype is 'text'; it is uint16, uint32 or int64"
    yield riffle.Sequences, dict(keep=0), "keep is 0: must be at least 1"
    yield riffle.Sequences, dict(steps=NAN), "steps is nan: must be a whole number"
    yield riffle.Sequences, dict(mix="a\0b"), "mix is .* NUL"
    for name in ("corpus", "domain", "set"):
        yield riffle.Validation, {"corpus": "c", "domain": "d", name: "a\0b"}, f"{name} is .* NUL"
    yield riffle.Validation, dict(corpus="c", domain="d", batch=NAN), "batch is nan: must be a whole number"
    yield riffle.step_at_time, dict(time=NAN), "time is nan: must be seconds since 1970"
    yield riffle.step_at_time, dict(time=1, domain="a\0b"), "domain is .* NUL"
    yield riffle.serve_metrics, dict(addr="a\0b:1"), "addr is .* NUL"
    yield riffle.Spikes, dict(window=NAN), "window is nan: must be a whole number"
    yield riffle.Spikes, dict(sigmas=INF), "sigmas is inf"
    yield riffle.DoReMi, dict(domains=["a"], eta=INF), "eta is inf"
    yield riffle.ODM, dict(domains=["a"], eta=INF), "memory is 0.9 and eta inf"


def test_an_argument_that_cannot_be_is_refused_by_name(riffle_module):
    for kind, options, says in calls_of(riffle_module):
        if kind not in (riffle_module.Validation, riffle_module.serve_metrics, riffle_module.Spikes, riffle_module.DoReMi,
                        riffle_module.ODM):
            options = {"mix": "m", "bootstrap": "127.0.0.1:1", **options}
        with pytest.raises(riffle_module.UsageError, match=says):
            kind(**options)


def test_a_wait_of_0_seconds_is_not_the_default_of_the_library(riffle_module):
    started = time.monotonic()
    with pytest.raises(riffle_module.BrokerError):
        riffle_module.Reader("m", "127.0.0.1:1", open_timeout=0)
    assert time.monotonic() - started < 5


def test_an_argument_of_a_call_is_refused_by_name(open_reader, riffle_module):
    reader = open_reader(step=0)
    step, state = reader.next(60), reader.state_dict()
    calls = [
        (lambda: reader.next(NAN), "timeout is nan: must be 0 seconds or more"),
        (lambda: reader.next(-1), "timeout is -1: must be 0 seconds or more"),
        (lambda: reader.next("1"), "timeout is '1': must be a number of seconds"),
        (lambda: reader.next_into([0]), "tokens must be a writeable C-contiguous array"),
        (lambda: reader.flush(NAN), "timeout is nan"),
        (lambda: reader.commit(timeout=NAN), "timeout is nan"),
        (lambda: reader.seek(NAN), "step is nan: must be a whole number"),
        (lambda: reader.trained(NAN), "step is nan: must be a whole number"),
        (lambda: reader.report(-1, {}), "step is -1: must be at least 0"),
        (lambda: reader.report(0, {"a\0b": (1, 0, 1)}), "a domain of losses is .* NUL"),
        (lambda: reader.report(0, {"a": (1, 0, NAN)}), "losses of domain a are .* whole number of tokens"),
        (lambda: reader.report(0, {"a": ("x", 0, 1)}), "losses of domain a are .* two numbers"),
        (lambda: reader.report(0, {"a": (1, 0, 2**64)}), "the number of tokens of domain a is .* at most"),
        (lambda: reader.report(0, {"a": (1, 0, -3)}), "the number of tokens of domain a is -3: must be at least 0"),
        (lambda: reader.trained(step), r"step is <riffle\.Step 0: .*>: must be a whole number\. Pass its \.step"),
        (lambda: reader.report(0, ["a"]), "losses is a list: must be a dict"),
        (lambda: step.targets(ignored=0.5), "ignored is 0.5: must be a whole number"),
        (lambda: reader.state_dict(step=-1), "step is -1: must be at least 0"),
        (lambda: reader.state_dict(step=NAN), "step is nan: must be a whole number"),
        (lambda: reader.load_state_dict({**state, "step": -1}), "the checkpoint's step is -1: must be at least 0"),
        (lambda: reader.load_state_dict({**state, "step": 2**62}), "the checkpoint's step is .* at most"),
        (lambda: reader.load_state_dict({**state, "choices_step": 0.5}), "the checkpoint's choices_step is 0.5: must be a whole"),
        (lambda: reader.load_state_dict({**state, "choices": state["choices"] + 2**64}), "the checkpoint's choices is .* at most"),
        (lambda: reader.load_state_dict({**state, "schedule": -1}), "the checkpoint's schedule is -1: must be at least 0"),
        (lambda: reader.load_state_dict(["step"]), r"the checkpoint is \['step'\]: must be what state_dict\(\) gave"),
    ]
    for call, says in calls:
        with pytest.raises(riffle_module.UsageError, match=says):
            call()
    assert reader.next(INF).step == 1


@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy, pickle.dumps])
def test_what_is_of_one_process_is_not_copied(open_reader, riffle_module, mix, bootstrap, how):
    reader = open_reader(step=0)
    step = reader.next(60)
    with pytest.raises(TypeError, match="a Step cannot be pickled or copied, .* send what is needed of it"):
        how(step)
    with pytest.raises(TypeError, match="a Reader cannot be copied or sent to another process: open one there"):
        how(reader)
    assert (pickle.loads(pickle.dumps(step.tokens)) == step.tokens).all()
    sequences = riffle_module.Sequences(mix, bootstrap, steps=STEPS)
    found = how(sequences)  # opens nothing before it is asked for a sequence
    found = pickle.loads(found) if isinstance(found, bytes) else found
    assert found[0][0].step == 0
    found.close()
