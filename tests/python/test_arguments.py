"""What the Python package makes of arguments, errors, times and words for the program, without a broker."""

import datetime
import importlib
import logging
import math
import os
import threading
import time

import pytest

TIMEOUT = 2  # of libriffle


@pytest.fixture
def part(package):
    """part(NAME): that module of the package."""
    return lambda name: importlib.import_module(f"{package.riffle.__name__}.{name}")


@pytest.mark.parametrize("value, least, most, says", [
    (3, 3, 5, None), (5, 3, 5, None), (2, 3, 5, "must be at least 3"), (6, 3, 5, "must be at most 5"), ("3", 0, 5, "must be a whole number"),
    (3.0, 0, 5, "must be a whole number"), (True, 0, 5, None),
    (slice(3), 0, 5, r"must be a whole number\. Pass its \.step$"),
])
def test_a_whole_number_is_from_least_to_most(part, package, value, least, most, says):
    if says is None:
        assert part("_arguments").whole("n", value, least, most) == value
        return
    with pytest.raises(package.riffle.UsageError, match=f"^n is .*: {says}"):
        part("_arguments").whole("n", value, least, most)


def test_seconds_wait_forever_for_none_and_infinity(part, package):
    a = part("_arguments")
    assert [a.seconds("t", value) for value in (None, math.inf, 0, 1.5)] == [None, None, 0.0, 1.5]
    for bad in (-0.001, math.nan, "1", b"1", object()):
        with pytest.raises(package.riffle.UsageError, match="^t is "):
            a.seconds("t", bad)


def test_milliseconds_for_c_end_and_are_at_least_one(part, package):
    a = part("_arguments")
    most = 2**31 // 1000
    assert [a.milliseconds("t", value) for value in (0, 0.0004, 1.5, most)] == [1, 1, 1500, most * 1000]
    for bad in (-0.001, most + 1, math.inf, math.nan, None):
        with pytest.raises(package.riffle.UsageError, match=r"^t is .*: must be (from 0 to 2,147,483|a number of) seconds"):
            a.milliseconds("t", bad)


def test_a_text_has_no_nul_and_no_half_of_a_pair(part, package):
    a = part("_arguments")
    assert a.text("n", "näme") == "näme".encode()
    for bad, says in ((b"x", "must be text"), ("a\0b", "NUL"), ("\ud83d", "surrogate")):
        with pytest.raises(package.riffle.UsageError, match=says):
            a.text("n", bad)


@pytest.mark.parametrize("code, kind", [("ERROR_USAGE", "UsageError"), ("ERROR_BROKER", "BrokerError"), ("ERROR_DATA", "DataError"),
                                        ("ERROR_EXPIRED", "ExpiredError"), ("ERROR_LOST", "LostError"), ("TIMEOUT", "StepTimeout")])
def test_each_code_of_the_library_is_an_error_of_its_own(part, package, code, kind):
    c = part("_library")
    error = c.ErrorText(text=b"why: \xff")
    found = part("errors").error_of(getattr(c, code), error)
    assert type(found) is getattr(package.riffle, kind) and str(found) == "why: \ufffd"
    assert type(part("errors").error_of(c.ERROR_MEMORY, error)) is MemoryError


def test_a_time_is_text_in_utc(part, package):
    text = part("times")._text
    east = datetime.timezone(datetime.timedelta(hours=2))
    assert text(datetime.datetime(2026, 1, 2, 3, 4, 5, 6000, tzinfo=east)) == "2026-01-02T01:04:05.006000Z"
    assert text(1.5) == "1.500" and text(7) == "7.000" and text("2026-01-02T03:04:05Z") == "2026-01-02T03:04:05Z"
    for bad, says in ((datetime.datetime(2026, 1, 2), "no time zone"), (math.nan, "must be seconds"), (math.inf, "must be seconds"),
                      ("a\0", "NUL")):
        with pytest.raises(package.riffle.UsageError, match=says):
            text(bad)


@pytest.mark.parametrize("name", ["sasl.password", "SASL.PASSWORD", "client_secret", "ssl.key.location", "ssl.ca.pem", "Sasl.JAAS.config",
                                  "oauth.token"])
def test_a_property_that_may_be_a_secret_stands_on_no_command_line(part, package, name):
    words = part("_program").mix_words
    with pytest.raises(package.riffle.UsageError, match=f"^property {name} would show in the list of processes"):
        words("m", None, {"a": 1, name: "x"})
    assert words("m", "run.yml", {name: "x"}) == ["-c", "run.yml", "--mix", "m"]
    assert words("m", None, {"a": 1, "keyring": 2}) == ["--mix", "m", "-X", "a=1", "-X", "keyring=2"]


def test_the_program_is_that_of_the_environment_then_of_the_package_then_of_the_path(part, package, monkeypatch, tmp_path):
    p = part("_program")
    for folder in ("inside", "path"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "riffle").write_text(f"#!/bin/sh\necho {folder} $RIFFLE_BOOTSTRAP \"$@\"\n")
        (tmp_path / folder / "riffle").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/path:{os.environ['PATH']}")
    monkeypatch.delenv("RIFFLE_PROGRAM", raising=False)
    monkeypatch.delenv("RIFFLE_BOOTSTRAP", raising=False)
    monkeypatch.setattr(p, "INSIDE", tmp_path / "inside/none")
    assert p.program() == f"{tmp_path}/path/riffle"
    monkeypatch.setattr(p, "INSIDE", tmp_path / "inside/riffle")
    assert p.run(["mix", "x"], "b:1").stdout == "inside b:1 mix x\n"
    monkeypatch.setenv("RIFFLE_PROGRAM", f"{tmp_path}/path/riffle")
    assert p.run(["mix"]).stdout == "path mix\n"
    monkeypatch.setenv("RIFFLE_PROGRAM", "/none/riffle")
    with pytest.raises(package.riffle.UsageError, match=r"^/none/riffle \(RIFFLE_PROGRAM\) is no program$"):
        p.program()


def test_lines_go_to_the_handlers_of_any_logger_above_else_to_stderr(part, package, capsys, caplog):
    log, root = part("log"), logging.getLogger()
    with caplog.at_level(logging.INFO, "riffle"):
        log.write(1, "one")
    assert caplog.record_tuples == [("riffle", logging.WARNING, "one")] and "one" not in capsys.readouterr().err
    handlers, root.handlers = root.handlers, []
    try:
        log.write(2, "two")
    finally:
        root.handlers = handlers
    assert capsys.readouterr().err.endswith("Z info two\n")


def test_the_child_of_a_fork_leaves_the_log_of_the_library_alone(part, monkeypatch):
    log, calls = part("log"), []
    monkeypatch.setattr(log.c, "lib", type("Library", (), {"riffle_set_log": staticmethod(lambda *given: calls.append(given))}))
    log._stop(os.getpid() + 1)
    assert calls == []
    log._stop(os.getpid())
    assert len(calls) == 1


# ---- handles


class Clock:
    """Time that passes only while a call waits."""

    def __init__(self, monkeypatch, module):
        self.now, self.waits = 0.0, []
        monkeypatch.setattr(module.time, "monotonic", lambda: self.now)

    def call(self, ms):
        self.waits.append(ms)
        assert len(self.waits) < 20000  # it waits without an end
        self.now += ms / 1000
        return TIMEOUT


@pytest.mark.parametrize("timeout, waits", [(0, [0]), (0.05, [50]), (0.25, [100, 100, 50])])
def test_a_wait_is_cut_in_slices_and_lasts_as_long_as_it_is_asked_to(part, monkeypatch, timeout, waits):
    h = part("_handle")
    handle, clock = h.Handle("thing", 1, lambda raw: None, "this thing is closed"), Clock(monkeypatch, h)
    assert h.wait_for(clock.call, handle, timeout) == TIMEOUT
    assert [round(ms / 10) * 10 for ms in clock.waits if ms > 0 or timeout == 0][:len(waits)] == waits
    assert timeout <= clock.now < timeout + 0.01
    handle.close()


def test_a_wait_without_an_end_continues_until_something_comes_or_the_handle_is_closed(part, package, monkeypatch):
    h = part("_handle")
    handle, clock = h.Handle("thing", 1, lambda raw: None, "this thing is closed"), Clock(monkeypatch, h)
    assert h.wait_for(lambda ms: clock.call(ms) if clock.now < 1000 else 0, handle, None) == 0
    assert clock.now >= 1000 and set(clock.waits) == {100}
    handle.stop()
    with pytest.raises(package.riffle.UsageError, match="^this thing is closed$"):
        h.wait_for(clock.call, handle, None)
    handle.close()


def test_a_handle_is_freed_once_after_the_last_call_in_it(part, package):
    h, ended = part("_handle"), []
    handle = h.Handle("thing", 7, ended.append, "this thing is closed")
    with handle as raw, handle.shared():
        assert raw == 7
        handle.close()  # of this thread, which must not wait for itself
        assert ended == []
    assert ended == [7]
    handle.close()
    assert ended == [7]
    with pytest.raises(package.riffle.UsageError, match="is closed"):
        with handle:
            pass


def test_close_waits_for_the_call_of_another_thread(part, package):
    h, ended, inside, leave = part("_handle"), [], threading.Event(), threading.Event()
    handle = h.Handle("thing", 7, ended.append, "this thing is closed")

    def call():
        with handle:
            inside.set()
            leave.wait(20)

    thread = threading.Thread(target=call)
    thread.start()
    assert inside.wait(20)
    with pytest.raises(package.riffle.UsageError, match="another thread's call on this thing is in progress"):
        with handle:
            pass
    with handle.shared():
        pass
    closer = threading.Thread(target=handle.close)
    closer.start()
    begun = time.monotonic()
    while not handle._closing and time.monotonic() < begun + 20:
        time.sleep(0.001)
    assert ended == [] and closer.is_alive()
    leave.set()
    closer.join(20)
    thread.join(20)
    assert ended == [7] and not closer.is_alive()


def test_a_handle_of_another_process_is_refused_and_not_freed(part, package, monkeypatch):
    h, ended = part("_handle"), []
    handle = h.Handle("thing", 7, ended.append, "this thing is closed")
    handle._process += 1
    with pytest.raises(package.riffle.UsageError, match="do not survive a fork"):
        handle.check()
    handle.close()
    assert ended == []
    handle._process -= 1
    handle.close()
    assert ended == [7]


def test_a_call_in_a_thread_gives_its_result_or_raises(part):
    h = part("_handle")
    assert h.uninterrupted(lambda: 5) == 5
    with pytest.raises(ZeroDivisionError):
        h.uninterrupted(lambda: 1 // 0)


def test_a_thread_that_is_in_two_calls_has_the_handle_until_it_has_left_both(part):
    handle, others = part("_handle").Handle("thing", 7, lambda raw: None, "this thing is closed"), []

    def call():
        try:
            with handle:
                others.append("in")
        except ValueError:
            others.append("refused")

    def in_another_thread():
        thread = threading.Thread(target=call)
        thread.start()
        thread.join(20)

    with handle:
        with handle:
            in_another_thread()
        in_another_thread()
    in_another_thread()
    assert others == ["refused", "refused", "in"]
    handle.close()


def test_the_end_of_the_program_stops_all_handles_and_then_ends_the_latest_first(part, package, monkeypatch):
    h, ended = part("_handle"), []
    monkeypatch.setattr(h, "_open", {})
    monkeypatch.setattr(h, "_ending", False)
    handles = []
    for raw in range(3):
        handles.append(h.Handle("thing", raw, lambda raw: ended.append((raw, [one._closing for one in handles])), "this thing is closed"))
    handles[1].close()
    assert list(h._open.values()) == [handles[0], handles[2]]
    ended.clear()
    h._end_all()
    assert ended == [(2, [True] * 3), (0, [True] * 3)] and h._open == {}
    with pytest.raises(package.riffle.UsageError):
        h.Handle("thing", 9, lambda raw: ended.append(raw), "this thing is closed")
    assert ended[-1] == 9, "one that comes later is ended at once"
    h._open[1] = None
    h._forget_all()
    assert h._open == {}


@pytest.mark.parametrize("finished", [False, True])
def test_what_an_interrupted_call_opens_later_is_closed_once(part, monkeypatch, finished):
    h, leave, left, late = part("_handle"), threading.Event(), threading.Event(), []

    class Thread(threading.Thread):
        def join(self, timeout=None):
            if finished:
                leave.set()
                super().join(20)
            raise KeyboardInterrupt

    monkeypatch.setattr(h.threading, "Thread", Thread)
    with pytest.raises(KeyboardInterrupt):
        h.uninterrupted(lambda: leave.wait(20) and 5, lambda: (late.append(1), left.set()))
    assert late == [1] * finished
    leave.set()
    assert left.wait(20) and late == [1]


def test_a_code_that_is_not_known_is_an_error_of_the_package(part, package):
    assert type(part("errors").error_of(99, part("_library").ErrorText(text=b"new"))) is package.riffle.RiffleError


def test_a_line_has_the_level_of_the_library_and_its_signs_as_they_are(part, capsys, caplog, monkeypatch):
    log, root = part("log"), logging.getLogger()
    with caplog.at_level(logging.DEBUG, "riffle"):
        for level in range(4):
            log.write(level, "100 %s of %d")
        log._pass_on(None, 2, b"in\xffside")
    assert [(level, line) for _, level, line in caplog.record_tuples] == [
        (level, "100 %s of %d") for level in (logging.ERROR, logging.WARNING, logging.INFO, logging.DEBUG)] + [(logging.INFO, "in\ufffdside")]
    monkeypatch.setattr(root, "handlers", [])
    for level, name in enumerate(("error", "warning", "info", "debug")):
        log.write(level, "x")
        assert capsys.readouterr().err.endswith(f"Z {name} x\n")
    monkeypatch.setattr("sys.stderr", None)  # as of a program without a console
    log.write(0, "x")


def test_a_mapping_that_is_given_stays_the_callers(part, package):
    given = {"a": 1}
    copied = part("_arguments").mapping("m", given)
    copied["b"] = 2
    assert given == {"a": 1} and part("_arguments").mapping("m", None) == {}
    with pytest.raises(package.riffle.UsageError, match="^m is a list: must be a dict"):
        part("_arguments").mapping("m", [])


def test_the_program_has_the_environment_and_no_input(part, package, monkeypatch, tmp_path):
    p = part("_program")
    (tmp_path / "riffle").write_text("#!/bin/sh\necho $KEPT $RIFFLE_BOOTSTRAP \"$@\"; cat; echo why >&2; exit 3\n")
    (tmp_path / "riffle").chmod(0o755)
    for name, value in (("RIFFLE_PROGRAM", f"{tmp_path}/riffle"), ("KEPT", "kept"), ("RIFFLE_BOOTSTRAP", "e:1")):
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(p, "INSIDE", tmp_path / "riffle")
    reading, writing = os.pipe()
    os.write(writing, b"of the caller\n")
    os.close(writing)
    before = os.dup(0)
    os.dup2(reading, 0)
    try:
        for bootstrap, shown in ((None, "e:1"), ("b:1", "b:1")):
            done = p.run(["mix"], bootstrap)
            assert (done.stdout, done.stderr, done.returncode) == (f"kept {shown} mix\n", "why\n", 3)
    finally:
        os.dup2(before, 0)
        os.close(before)
        os.close(reading)
    with pytest.raises(package.riffle.UsageError, match="NUL"):
        p.run(["a\0b"])
    monkeypatch.setenv("RIFFLE_PROGRAM", "/none/riffle")
    with pytest.raises(package.riffle.UsageError, match="is no program"):
        p.program()  # though the package has one inside
