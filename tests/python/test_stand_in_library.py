"""Reader, Progress, Reporter, Validation, Step and Rank over a stand-in for libriffle: what they ask of it, and what they make of its
answers. tests/kafka has the library."""

import contextlib
import copy
import ctypes
import gc
import importlib
import os
import pickle
import types

import numpy as np
import pytest

BATCH, EACH, LANES = 4, 6, 2  # sequences of a step, tokens of each, lanes
DOMAINS = ["web", "code"]


class Library:
    """libriffle, with one mix of 20 steps. calls: names of what was asked of it and what was given. codes: what a function
    returns instead of OK. opened: the options of each function that takes some. waits: milliseconds of each wait."""

    def __init__(self, c, real, clock):
        self.c, self.real, self.clock = c, real, clock
        self.calls, self.codes, self.opened, self.waits, self.freed, self.closed = [], {}, [], [], [], []
        self.position, self.end, self.lead, self.epoch_size, self.committed, self.ready = 0, 20, 0, 3, 7, True
        self._memory = []

    def __getattr__(self, name):
        """A function that answers OK, or as `codes` says."""
        if not name.startswith("riffle_"):
            raise AttributeError(name)
        return lambda *given: self._answer(name, given[1:])

    def _answer(self, name, given=()):
        self.calls.append((name.removeprefix("riffle_"), *(one for one in given if isinstance(one, (int, float)))))
        code = self.codes.get(name.removeprefix("riffle_"), self.c.OK)
        if code not in (self.c.OK, self.c.END):
            for one in given:
                error = getattr(one, "_obj", None)
                if isinstance(error, self.c.ErrorText):
                    error.text = f"{name} failed".encode()
        return code

    def _open(self, name, raw, options, error):
        given = options._obj
        found = {field: getattr(given, field) for field, _ in given._fields_}
        assert found.pop("size") == ctypes.sizeof(given)
        found["properties"] = [(one.name, one.value) for one in given.properties[:found.pop("properties_n")]]
        if "checkpoint" in found:
            found["checkpoint"] = found["checkpoint"].contents.choices if found["checkpoint"] else None
        self.opened.append(found)
        if raw is not None:
            raw._obj.value = 40 + len(self.opened)
        return self._answer(name, (error,))

    def riffle_open(self, raw, options, error):
        code = self._open("open", raw, options, error)
        given = self.opened[-1]
        self.position = given["step"] if given["start"] == self.c.START_STEP else self.committed
        return code

    def riffle_progress_open(self, *given):
        return self._open("progress_open", *given)

    def riffle_reporter_open(self, *given):
        return self._open("reporter_open", *given)

    def riffle_validation_open(self, *given):
        self.position = 0
        return self._open("validation_open", *given)

    def riffle_find_committed(self, options, step, error):
        step._obj.value = self.committed
        return self._open("find_committed", None, options, error)

    def riffle_find_rounds(self, options, found, error):
        found._obj.draws, found._obj.steps, found._obj.global_batch, found._obj.lanes = 12, 3, 4, 2
        return self._open("find_rounds", None, options, error)

    def riffle_find_extent(self, options, found, error):
        for field, value in (("steps", 20), ("global_batch", 4), ("lanes", 2), ("sequence_length", 5), ("ended", 1), ("uniform", 0)):
            setattr(found._obj, field, value)
        return self._open("find_extent", None, options, error)

    def riffle_find_checkpoint(self, options, step, found, error):
        found._obj.step, found._obj.schedule, found._obj.choices_step, found._obj.choices = step, 2**64 - 1, step, 100 + step
        return self._open("find_checkpoint", None, options, error)

    def riffle_check_checkpoint(self, options, error):
        return self._open("check_checkpoint", None, options, error)

    def _close(self, raw):
        self.closed.append(raw)

    riffle_close = riffle_progress_close = riffle_reporter_close = riffle_validation_close = _close

    def _pass(self, ms):
        """A call takes some time, even if it waits for nothing."""
        assert len(self.waits) < 2000  # it waits without an end
        self.clock.now += max(ms, 0.5) / 1000

    # ---- steps

    def step_of(self, number, tokens=None):
        """A step in C: sequence i has token 1000 * step + 10 * i + place at each place, and two documents. The last one is padded."""
        c = self.c
        if tokens is None:
            tokens = np.empty((BATCH, EACH), np.uint32)
        tokens[:] = 1000 * number + 10 * np.arange(BATCH)[:, None] + np.arange(EACH)
        spans = (c.SpanOfSequence * (2 * BATCH))(*[
            (0 if part == 0 else 2, f"file{i}".encode(), 5 + part, 90 * part, None, 0) for i in range(BATCH) for part in range(2)])
        keep = ctypes.create_string_buffer(b'{"url": "x"}more')
        spans[2].keep, spans[2].keep_n = ctypes.addressof(keep), 12
        masked = (c.Range * 1)((1, 3))
        names = [ctypes.create_string_buffer(name.encode()) for name in DOMAINS]
        sequences = (c.Sequence * BATCH)(*[
            (ctypes.addressof(names[i % 2]), 3 + i % 2, i, 20 + i, 100 * number + i, 7 * (i == 2), EACH - 2 * (i == 3),
             ctypes.addressof(spans[2 * i]), 2, ctypes.addressof(masked) if i == 0 else None, 1 if i == 0 else 0) for i in range(BATCH)])
        made = c.StepOfReader(number, BATCH, EACH, tokens.ctypes.data, ctypes.addressof(sequences), 0.5, b"warm", 9)
        self._memory.append((tokens, spans, keep, masked, names, sequences, made))
        return made

    def _next(self, name, ms, pointer, error, tokens=None):
        self.waits.append(ms)
        code = self._answer(name, (error,))
        if code == self.c.TIMEOUT or not self.ready:
            self._pass(ms)
            error._obj.text = b"it did not come"
            return self.c.TIMEOUT
        if code == self.c.OK and self.position >= self.end:
            return self.c.END
        if code == self.c.OK:
            pointer._obj.contents = self.step_of(self.position, tokens)
            self.position += 1
        return code

    def riffle_next(self, raw, ms, pointer, error):
        return self._next("next", ms, pointer, error)

    def riffle_next_into(self, raw, ms, address, room, pointer, error):
        assert room >= BATCH * EACH * 4
        tokens = np.frombuffer((ctypes.c_ubyte * (BATCH * EACH * 4)).from_address(address), np.uint32).reshape(BATCH, EACH)
        return self._next("next_into", ms, pointer, error, tokens)

    def riffle_validation_next(self, raw, ms, pointer, error):
        return self._next("validation_next", ms, pointer, error)

    def riffle_free_step(self, pointer):
        self.freed.append(pointer.contents.step)

    def riffle_step_targets(self, pointer, token_bytes, targets):
        return self.real.riffle_step_targets(pointer, token_bytes, targets)

    def riffle_get_round(self, raw, step, found, error):
        found._obj.epoch_size, found._obj.round, found._obj.draws = self.epoch_size, step // 3, 12
        return self._answer("get_round", (step, error))

    # ---- state

    def riffle_place(self, raw, place):
        offsets = np.array([self.position * 10, self.position * 10 + 1], np.int64)
        self._memory.append(offsets)
        given = place._obj
        given.step, given.lead, given.lanes, given.offset_next = self.position, self.lead, LANES, offsets.ctypes.data
        return self._answer("place")

    def riffle_position(self, raw):
        return self.position

    def riffle_committed(self, raw):
        return 2**40 + raw

    riffle_progress_committed = riffle_committed

    def riffle_seek(self, raw, step, error):
        self.position = step
        return self._answer("seek", (step, error))

    def riffle_seek_checkpoint(self, raw, checkpoint, error):
        given = checkpoint._obj
        self.position = given.step
        return self._answer("seek_checkpoint", (given.step, given.schedule, given.choices_step, given.choices, error))

    def riffle_wait_info(self, raw, ms, found, error):
        self.waits.append(ms)
        for n, (field, _) in enumerate(found._obj._fields_[1:]):
            setattr(found._obj, field, 10 + n)
        code = self._answer("wait_info", (error,))
        if code == self.c.TIMEOUT:
            self._pass(ms)
        return code

    def riffle_metrics(self, raw, found, room):
        """It grows from call to call."""
        self.metrics_asked = getattr(self, "metrics_asked", 0) + 1
        text = b"# HELP a_total a\n# TYPE a_total counter\na_total 1\n" + b"#" * (100 * self.metrics_asked) + b"\n"
        if found is not None:
            found.value = text[:room - 1]
        return len(text) + 1

    @staticmethod
    def _losses(given, n):
        return [(one.domain, one.loss_sum, one.excess_sum, one.tokens) for one in given[:n]]

    def riffle_report(self, raw, step, given, n, error):
        self.calls.append(("losses", step, self._losses(given, n)))
        return self._answer("report", (error,))

    def riffle_reporter_report(self, raw, step, given, n, error):
        self.calls.append(("losses", step, self._losses(given, n)))
        return self._answer("reporter_report", (error,))

    def riffle_progress_trained(self, raw, place, given, n, error):
        at = place._obj
        offsets = list((ctypes.c_int64 * at.lanes).from_address(at.offset_next))
        self.calls.append(("place", at.step, at.lead, offsets, self._losses(given, n)))
        return self._answer("progress_trained", (error,))

    def _wait(self, name, ms, error):
        self.waits.append(ms)
        code = self._answer(name, (error,))
        if code == self.c.TIMEOUT:
            self._pass(ms)
        return code

    def riffle_flush(self, raw, ms, error):
        return self._wait("flush", ms, error)

    def riffle_progress_flush(self, raw, ms, error):
        return self._wait("progress_flush", ms, error)

    def riffle_reporter_flush(self, raw, ms, error):
        return self._wait("reporter_flush", ms, error)

    def riffle_validation_get_info(self, raw, found):
        found._obj.sequences, found._obj.partitions, found._obj.sequence_length = 77, 2, 5
        return self._answer("validation_get_info")

    def names(self, *wanted):
        """The calls of these functions, or of all others than those that ask for a place."""
        return [call[0] for call in self.calls if call[0] in wanted or not wanted and call[0] not in ("place", "losses")]


@pytest.fixture
def part(package):
    """part(NAME): that module of the package."""
    return lambda name: importlib.import_module(f"{package.riffle.__name__}.{name}")


@pytest.fixture
def library(part, monkeypatch):
    c, clock = part("_library"), types.SimpleNamespace(now=0.0)
    made = Library(c, c.lib, clock)
    monkeypatch.setattr(c, "lib", made)
    monkeypatch.setattr(part("_handle").time, "monotonic", lambda: clock.now)
    monkeypatch.delenv("RIFFLE_BOOTSTRAP", raising=False)
    return made


@pytest.fixture
def logged(part, monkeypatch):
    """Lines that the package has logged."""
    lines = []
    monkeypatch.setattr(part("log"), "write", lambda level, line: lines.append(line))
    return lines


OPTIONS = {"mix": b"m", "bootstrap": b"b:1", "run": b"trainers", "rank": 0, "world": 1, "start": 0, "step": 0, "token_bytes": 4,
           "properties": [], "commit_every": 0, "open_timeout_ms": 10000, "ahead_bytes": 0, "threads": 0, "schedule": 0, "uneven": 0,
           "checkpoint": None}
SHARED = [
    ({}, {}), ({"rank": 1, "world": 3}, {"rank": 1, "world": 3}), ({"run": "r"}, {"run": b"r"}),
    ({"open_timeout": 2.5}, {"open_timeout_ms": 2500}), ({"properties": {"a": 1, "b": "x"}}, {"properties": [(b"a", b"1"), (b"b", b"x")]}),
]
READER = SHARED + [
    ({"step": 0}, {"start": 1}), ({"step": 9}, {"start": 1, "step": 9}), ({"dtype": "uint16"}, {"token_bytes": 2}),
    ({"dtype": ">i8"}, {"token_bytes": 8}), ({"commit_every": 5}, {"commit_every": 5}), ({"ahead_bytes": 2**40}, {"ahead_bytes": 2**40}),
    ({"threads": 3}, {"threads": 3}), ({"schedule": 2**64 - 1}, {"schedule": 2**64 - 1}), ({"uneven": True}, {"uneven": 1}),
    ({"checkpoint": "state"}, {"start": 1, "step": 6, "checkpoint": 33}),
    ({"checkpoint": "state", "step": 8}, {"start": 1, "step": 8, "checkpoint": 33}),
]
STATE = {"mix": "m", "run": "trainers", "step": 6, "schedule": 2**64 - 1, "choices_step": 5, "choices": 33}


@pytest.mark.parametrize("given, changed", READER)
def test_a_reader_is_opened_with_the_options_that_are_given(package, library, given, changed):
    given = {**given, "checkpoint": STATE} if "checkpoint" in given else given
    with package.riffle.Reader("m", "b:1", **given) as reader:
        assert library.opened[0] == {**OPTIONS, **changed}
        assert reader.dtype.isnative and (reader.rank, reader.world) == (given.get("rank", 0), given.get("world", 1))


@pytest.mark.parametrize("given, changed", SHARED + [({"commit_every": 5}, {"commit_every": 5}), ({"uneven": True}, {"uneven": 1})])
def test_a_progress_is_opened_with_the_options_that_are_given(package, library, given, changed):
    package.riffle.Progress("m", "b:1", **given).close()
    assert library.opened == [{**OPTIONS, **changed}] and library.closed == [41]


@pytest.mark.parametrize("given, changed", SHARED)
def test_a_reporter_is_opened_with_the_options_that_are_given(package, library, given, changed):
    package.riffle.Reporter("m", "b:1", **given).close()
    assert library.opened == [{**OPTIONS, **changed}] and library.closed == [41]


def test_what_asks_about_a_mix_reads_it_as_a_whole_and_where_it_is_told_to(package, library):
    r, more = package.riffle, {"properties": {"a": 1}, "open_timeout": 2}
    changed = {"properties": [(b"a", b"1")], "open_timeout_ms": 2000}
    assert r.committed_step("m", "b:1", run="r", **more) == 7 and r.committed_step("m", "b:1", starts=False) == 7
    assert r.find_rounds("m", "b:1", **more) == (12, 3, 4, 2)
    assert r.find_extent("m", "b:1", **more) == (20, 4, 2, 5, True, False)
    assert library.opened == [{**OPTIONS, **changed, "run": b"r"}, {**OPTIONS, "start": 1}, {**OPTIONS, **changed, "start": 1},
                              {**OPTIONS, **changed, "start": 1}]


@pytest.mark.parametrize("bootstrap, properties, environment, found", [
    ("b:1", {}, "e:1", b"b:1"), (None, {}, "e:1", b"e:1"), (None, {}, "", None), (None, {}, None, None),
    (None, {"bootstrap.servers": "p:1"}, "e:1", None), ("b:1", {"bootstrap.servers": "p:1"}, "e:1", b"b:1"), (" ,", {}, None, "is empty"),
])
def test_the_broker_is_what_is_given_else_of_the_environment_unless_a_property_names_it(package, library, monkeypatch, bootstrap,
                                                                                          properties, environment, found):
    if environment is not None:
        monkeypatch.setenv("RIFFLE_BOOTSTRAP", environment)
    if isinstance(found, str):
        with pytest.raises(package.riffle.UsageError, match=found):
            package.riffle.committed_step("m", bootstrap, properties=properties)
        return
    package.riffle.committed_step("m", bootstrap, properties=properties)
    assert library.opened[0]["bootstrap"] == found


def test_a_time_is_where_reading_begins(package, part, library, monkeypatch):
    asked, error = [], package.riffle.UsageError
    monkeypatch.setattr(part("reader"), "step_at_time", lambda *given, **more: asked.append((given, more)) or 12)
    package.riffle.Reader("m", "b:1", from_time=1.5, from_domain="web", properties={"a": 1}).close()
    assert (library.opened[0]["start"], library.opened[0]["step"]) == (1, 12)
    assert asked == [(("m", 1.5, "b:1"), {"domain": "web", "properties": {"a": 1}})]
    for options, says in (({"from_time": 1, "step": 0}, "not both"), ({"from_domain": "web"}, "goes with from_time")):
        with pytest.raises(error, match=says):
            package.riffle.Reader("m", "b:1", **options)


# ---- errors

CALLS = {
    "open": lambda r, made: r.Reader("m"), "next": lambda r, made: made.reader.next(), "keep": lambda r, made: made.reader.next(),
    "next_into": lambda r, made: made.reader.next_into(np.zeros((BATCH, EACH), np.uint32)), "seek": lambda r, made: made.reader.seek(3),
    "seek_checkpoint": lambda r, made: made.reader.load_state_dict(STATE), "wait_info": lambda r, made: made.reader.info,
    "commit_async": lambda r, made: made.reader.commit(wait=False), "flush": lambda r, made: made.reader.commit(),
    "report": lambda r, made: made.reader.report(1, {}), "get_round": lambda r, made: made.step.round,
    "find_committed": lambda r, made: r.committed_step("m"), "find_rounds": lambda r, made: r.find_rounds("m"),
    "find_extent": lambda r, made: r.find_extent("m"), "progress_open": lambda r, made: made.reader.trained(),
    "progress_trained": lambda r, made: made.progress.trained(made.place), "progress_flush": lambda r, made: made.progress.flush(),
    "reporter_open": lambda r, made: r.Reporter("m"), "reporter_report": lambda r, made: made.reporter.report(1, {}),
    "reporter_flush": lambda r, made: made.reporter.flush(), "validation_open": lambda r, made: next(iter(made.validation)),
    "validation_next": lambda r, made: next(iter(made.validation)), "validation_keep": lambda r, made: next(iter(made.validation)),
    "check_checkpoint": lambda r, made: made.checkpoints.step_of(STATE),
}


@pytest.mark.parametrize("kind, code", [("DataError", "ERROR_DATA"), ("ExpiredError", "ERROR_EXPIRED"), ("BrokerError", "ERROR_BROKER")])
@pytest.mark.parametrize("name", CALLS)
def test_what_the_library_refuses_is_raised_with_its_words(package, part, library, logged, name, kind, code):
    r = package.riffle
    made = types.SimpleNamespace(reader=r.Reader("m"), progress=r.Progress("m"), reporter=r.Reporter("m"), validation=r.Validation("c", "d"),
                                 checkpoints=part("checkpoint").Checkpoints("m", None, "trainers", None, 1.0))
    made.step, made.place = made.reader.next(), made.reader.place
    library.codes[name] = getattr(library.c, code)
    with pytest.raises(getattr(r, kind), match=f"^(riffle_)?{name} failed$"):
        CALLS[name](r, made)
    if name not in ("open", "find_committed", "find_rounds", "find_extent"):
        library.codes.clear()
        if name != "progress_open":
            CALLS[name](r, made)  # it works again
    for one in (made.reader, made.progress, made.reporter):
        one.close()


def test_a_reader_that_is_refused_is_closed_by_nobody(package, library):
    library.codes["open"] = library.c.ERROR_USAGE
    with pytest.raises(package.riffle.UsageError):
        package.riffle.Reader("m")
    gc.collect()
    assert library.closed == []


# ---- waits


@pytest.mark.parametrize("given", [0, 0.35, 7])
@pytest.mark.parametrize("name, call", [
    ("next", lambda r, s: r.next(s)), ("next_into", lambda r, s: r.next_into(np.zeros((BATCH, EACH), np.uint32), s)),
    ("flush", lambda r, s: r.flush(s)), ("flush", lambda r, s: r.commit(timeout=s)), ("progress_flush", lambda r, s: r.flush(s)),
])
def test_a_call_that_waits_does_so_as_long_as_it_is_told_to(package, library, logged, given, name, call):
    with package.riffle.Reader("m") as reader:
        if name == "progress_flush":
            reader.next()
            reader.trained()
        library.codes[name] = library.c.TIMEOUT
        library.clock.now = 0.0
        with pytest.raises(package.riffle.StepTimeout):
            call(reader, given)
        assert given <= library.clock.now < given + 0.02
        library.codes.clear()
        call(reader, given)


def test_iterating_waits_as_the_reader_says_and_so_does_its_shape(package, library):
    for timeout in (0, 2.5):
        with package.riffle.Reader("m", timeout=timeout) as reader:
            assert reader.info == (10, 11, 12, 13, 14, 15, 16)
            for name, call in (("next", lambda: next(reader)), ("wait_info", lambda: reader.info)):
                library.codes, library.clock.now = {name: library.c.TIMEOUT}, 0.0
                with pytest.raises(package.riffle.StepTimeout):
                    call()
                assert timeout <= library.clock.now < timeout + 0.02
            library.codes = {}
            assert next(reader).step == 7
    with package.riffle.Reader("m") as reader:
        library.position = 20
        assert list(reader) == [] and reader.next() is None


# ---- steps


def test_a_step_has_what_the_library_has_decoded(package, library):
    with package.riffle.Reader("m", step=3) as reader:
        step = reader.next()
        assert (step.step, step.lr_scale, step.phase, step.version, len(step)) == (3, 0.5, "warm", 9, BATCH)
        assert repr(step) == "<riffle.Step 3: 4 sequences of 6 tokens>"
        assert step.tokens.tolist() == [[3000 + 10 * i + k for k in range(EACH)] for i in range(BATCH)] and step.tokens.dtype == np.uint32
        assert step.domain_names == {3: "web", 4: "code"} and step.domains == ["web", "code"] * 2
        assert [getattr(step, name).tolist() for name in ("domain_index", "lane", "partition", "ordinal", "epoch", "used")] == [
            [3, 4, 3, 4], [0, 1, 2, 3], [20, 21, 22, 23], [300, 301, 302, 303], [0, 0, 7, 0], [6, 6, 6, 4]]
        assert step.epochs == {"web": 7, "code": 0}
        assert [step.starts(i).tolist() for i in (0, 3)] == [[0, 2]] * 2
        assert step.spans(1) == [(0, "file1", 5, 0, b'{"url": "x"}'), (2, "file1", 6, 90, None)]
        assert [span.kept() for span in step.spans(1)] == [{"url": "x"}, {}]
        assert step.no_loss(0).tolist() == [[1, 3]] and step.no_loss(1).shape == (0, 2)
        step._sequence["spans_n"][2] = 0
        assert step.starts(2).tolist() == [] and step.spans(2) == []


def test_targets_are_those_of_the_library_with_the_masks_that_are_asked_for(package, library):
    with package.riffle.Reader("m", step=0) as reader:
        step = reader.next()
        plain, masked = step.targets(), step.targets(-1, True)
        assert plain.input_ids[1].tolist() == [10, 11, 12, 13, 14] and plain.labels[1].tolist() == [11, 12, 13, 14, 15]
        assert plain.labels[0].tolist() == [-100, -100, 3, 4, 5], "tokens 1 and 2 are no targets"
        assert masked.labels[1].tolist() == [11, -1, 13, 14, 15], "token 2 begins another document"
        assert plain.position_ids[1].tolist() == [0, 1, 0, 1, 2] and plain.document_ids[1].tolist() == [0, 0, 1, 1, 1]
        with pytest.raises(package.riffle.UsageError, match="^ignored is "):
            step.targets(ignored=0.5)


def test_names_of_domains_are_those_of_all_steps_that_were_looked_at(package, library):
    with package.riffle.Reader("m") as reader:
        first, second = reader.next(), reader.next()
        assert second.domains == ["web", "code"] * 2
        first._sequence["domain"][:] = 0  # are known, and not read again
        assert first.domains == ["web", "code"] * 2 and first.domain_names is not second.domain_names
        first.domain_names.clear()
        assert first.domain_names == {3: "web", 4: "code"}


@pytest.mark.parametrize("view", [lambda s: s, lambda s: s.tokens, lambda s: s.tokens[1:, 2], lambda s: s.used, lambda s: s.epoch[:1],
                                  lambda s: s.starts(1), lambda s: s.no_loss(0)])
def test_a_step_is_freed_once_nobody_looks_at_it_whatever_the_reader_does(package, library, view):
    reader = package.riffle.Reader("m", step=5)
    step = reader.next()
    seen = view(step)
    del step
    reader.close()
    gc.collect()
    assert library.freed == []
    del seen
    gc.collect()
    assert library.freed == [5]


def test_a_step_with_numbers_alone_is_freed(package, library):
    with package.riffle.Reader("m") as reader:
        step = reader.next()
        kept = step.domains, step.targets(), step.spans(0), step.epochs
        del step
        gc.collect()
        assert library.freed == [7] and kept


def test_nothing_that_is_of_a_process_is_sent_to_another(package, library):
    r = package.riffle
    with r.Reader("m") as reader, r.Progress("m") as progress, r.Reporter("m") as reporter:
        for one in (reader, progress, reporter, reader.next()):
            for copied in (pickle.dumps, copy.copy, copy.deepcopy):
                with pytest.raises(TypeError, match="cannot be (pickled or )?copied"):
                    copied(one)


def test_tokens_are_written_where_they_are_wanted(package, library):
    with package.riffle.Reader("m", step=2) as reader:
        room = np.full((BATCH + 1, EACH), 77, np.uint32)
        step = reader.next_into(room)
        assert step.tokens.shape == (BATCH, EACH) and np.shares_memory(step.tokens, room)
        assert step.tokens.tolist() == [[2000 + 10 * i + k for k in range(EACH)] for i in range(BATCH)] and set(room[-1]) == {77}
        assert reader.position == 3 and reader._training.places.given == 3
        frozen = np.zeros((BATCH, EACH), np.uint32)
        frozen.flags.writeable = False
        for bad in (np.zeros((BATCH, EACH), np.int64), np.zeros((BATCH, 2 * EACH), np.uint32)[:, ::2], frozen, [0] * 24):
            with pytest.raises(package.riffle.UsageError, match="must be a writeable C-contiguous array of uint32"):
                reader.next_into(bad)
        library.position = 20
        assert reader.next_into(room) is None


def test_the_first_step_is_taken_without_a_wait_if_it_is_there(package, library):
    with package.riffle.Reader("m") as reader:
        reader.next()
        assert library.waits == [0]
        library.ready = False
        with pytest.raises(package.riffle.StepTimeout, match="^it did not come$"):
            reader.next(0.2)
        assert library.waits[:3] == [0, 0, 100]


# ---- rounds


@pytest.mark.parametrize("epoch_size, rounds", [(12, [0, 0, 1, 1, 1, 2]), (0, [None] * 6)])
def test_a_round_is_asked_for_once_and_known_for_the_steps_that_follow(package, library, epoch_size, rounds):
    library.epoch_size = epoch_size
    reader = package.riffle.Reader("m", step=1)
    early = reader.next()
    assert library.names("get_round") == []  # nobody has asked
    assert early.round == rounds[0] and early.round == rounds[0]
    assert library.names("get_round") == ["get_round"]
    later = [reader.next() for _ in rounds[1:]]
    asked = len(library.names("get_round"))
    reader.close()
    assert [step.round for step in later] == rounds[1:] and len(library.names("get_round")) == asked == (6 if epoch_size else 1)


def test_a_round_that_is_not_known_needs_the_reader(package, library):
    reader = package.riffle.Reader("m")
    step = reader.next()
    reader.close()
    with pytest.raises(package.riffle.UsageError, match="was closed"):
        step.round
    del reader
    gc.collect()
    with pytest.raises(package.riffle.UsageError, match="this reader is closed"):
        step.round


# ---- what was trained

ACTIONS = {
    "next": lambda r: r.next(), "trained": lambda r: r.trained(), "seek": lambda r: r.seek(0), "state": lambda r: r.state_dict(),
    "place": lambda r: r.place, "commit": lambda r: r.commit(), "position": lambda r: r.position, "info": lambda r: r.info,
    "load": lambda r: r.load_state_dict(STATE), "report": lambda r: r.report(1, {}), "flush": lambda r: r.flush(),
}


@pytest.mark.parametrize("options, actions, steps", [
    ({}, "", None), ({}, "next", "1 step"), ({}, "next next", "2 steps"), ({}, "next trained", None), ({}, "next trained next", None),
    ({}, "seek next", None), ({}, "next state", None), ({}, "place next", None), ({}, "next commit", None), ({}, "load next", None),
    ({}, "next position info report flush", "1 step"), ({"step": 0}, "next", None), ({"commit_every": 1}, "next", None),
])
def test_steps_that_were_given_and_not_trained_are_told_at_the_end_unless_somebody_knows(package, library, logged, options, actions, steps):
    with package.riffle.Reader("m", **options) as reader:
        for action in actions.split():
            ACTIONS[action](reader)
        logged.clear()
    reader.close()
    said = [line for line in logged if "READ-NOT-TRAINED" in line]
    assert len(said) == (steps is not None) and all(f"READ-NOT-TRAINED {steps} of mix m w" in line for line in said)


def test_an_error_in_a_step_is_no_step_that_was_forgotten(package, library, logged):
    with contextlib.suppress(ZeroDivisionError), package.riffle.Reader("m") as reader:
        reader.next()
        1 / 0
    assert logged == []


@pytest.mark.parametrize("lead, said", [(0, 0), (8, 1)])
def test_a_mixer_that_will_wait_is_told_once_after_ten_steps(package, library, logged, lead, said):
    library.lead, library.end = lead, 100
    with package.riffle.Reader("m", step=None) as reader:
        for number in range(1, 31):
            reader.next()
            assert len(logged) == (said if number >= 10 else 0)
        assert all("10 steps of mix m were given" in line and f"the mixer waits when it is {lead} steps ahead" in line for line in logged)
        reader.trained()


def test_what_was_trained_is_committed_with_its_place_and_moves_the_state(package, library, logged):
    library.lead = 8
    reader = package.riffle.Reader("m", "b:1", 1, 2, step=3, run="r", properties={"a": 1}, open_timeout=3, uneven=True)
    for _ in range(4):
        reader.next()
    assert reader.state_dict()["step"] == 7 and reader.committed == 2**40 + 41
    reader.trained(losses={"web": (1.5, 0.5, 3)})
    assert library.opened[-1] == {**OPTIONS, "run": b"r", "rank": 1, "world": 2, "properties": [(b"a", b"1")], "open_timeout_ms": 3000,
                                  "uneven": 1}
    assert reader.state_dict()["step"] == 4 and reader.state_dict(6)["step"] == 6
    reader.trained(5)
    assert [call for call in library.calls if call[0] == "place" and len(call) > 1] == [
        ("place", 4, 8, [40, 41], [(b"web", 1.5, 0.5, 3)]), ("place", 6, 8, [60, 61], [])]
    assert library.names("progress_open") == ["progress_open"] and reader.committed == 2**40 + 43
    with pytest.raises(package.riffle.UsageError, match="use one of them"):
        reader.commit()
    reader.flush(2)
    assert library.names("flush", "progress_flush") == ["flush", "progress_flush"]
    reader.close()
    assert sorted(library.closed) == [41, 43] and reader._training.progress is None


def test_a_reader_that_commits_by_itself_takes_no_trained(package, library):
    with package.riffle.Reader("m", commit_every=2) as reader:
        reader.next()
        with pytest.raises(package.riffle.UsageError, match="commits by itself"):
            reader.trained()


def test_a_commit_waits_if_it_is_asked_to(package, library):
    with package.riffle.Reader("m") as reader:
        reader.commit(wait=False)
        assert library.names("commit_async", "flush") == ["commit_async"]
        reader.commit()
        assert library.names("commit_async", "flush") == ["commit_async", "commit_async", "flush"]


def test_a_flush_keeps_other_calls_out_only_once_the_reader_commits(package, library):
    for commits in (False, True):
        with package.riffle.Reader("m", commit_every=int(commits)) as reader:
            inside = []
            library.riffle_flush = lambda *_: inside.append(reader._handle._owner != 0) or 0
            reader.flush()
            reader.commit(wait=False)
            reader.flush()
            assert inside == [commits, True]


@pytest.mark.parametrize("go, call", [
    (lambda r: r.seek(4), ("seek", 4)), (lambda r: r.load_state_dict({**STATE, "step": 4}), ("seek_checkpoint", 4, 2**64 - 1, 5, 33)),
    (lambda r: r.load_state_dict({"mix": "m", "run": "trainers", "step": 4}), ("seek", 4)),
])
@pytest.mark.filterwarnings("ignore:.*READ-CHECKPOINT-UNBOUND")
def test_a_seek_forgets_what_was_given_and_trained(package, library, logged, go, call):
    with package.riffle.Reader("m") as reader:
        reader.next(), reader.next(), reader.trained()
        go(reader)
        assert call in library.calls and reader.position == 4
        places = reader._training.places
        assert (places.start, places.given, places.is_trained, places.reader) == (4, 4, False, os.getpid())
        assert reader.state_dict()["step"] == 4 and reader._training.progress is None
        with pytest.raises(package.riffle.UsageError, match="step 4 was not given whole yet"):
            reader.trained()
        assert reader.next().step == 4
        reader.trained()
        for bad in (-1, 2**62):
            with pytest.raises(package.riffle.UsageError, match=f"step {bad} is out of range"):
                reader.seek(bad)


def test_a_state_has_the_hashes_that_the_ledger_has_for_its_step(package, library, logged):
    with package.riffle.Reader("m", "b:1", step=3, run="r", open_timeout=2) as reader:
        assert reader.state_dict() == {"mix": "m", "run": "r", "step": 3, "schedule": 2**64 - 1, "choices_step": 3, "choices": 103}
        assert library.opened[-1] == {**OPTIONS, "start": 1, "open_timeout_ms": 2000}
        with pytest.raises(package.riffle.DataError, match="is of mix x"):
            reader.load_state_dict({**STATE, "mix": "x"})


def test_losses_are_reported_as_they_are(package, library):
    with package.riffle.Reader("m") as reader, package.riffle.Reporter("m") as reporter:
        for one in (reader, reporter):
            one.report(2**33, {"web": (1, 2.5, 3), "code": (0, 0, 0)})
            with pytest.raises(package.riffle.UsageError, match="^step is -1"):
                one.report(-1, {})
    assert [call for call in library.calls if call[0] == "losses"] == [
        ("losses", 2**33, [(b"web", 1.0, 2.5, 3), (b"code", 0.0, 0.0, 0)])] * 2


def test_what_a_progress_has_committed_is_known_after_its_end(package, library):
    progress = package.riffle.Progress("m")
    assert progress.known == 2**40 + 41
    progress.close()
    assert progress.known == 2**40 + 41
    for call in (lambda: progress.committed, progress.flush, lambda: progress.trained(package.riffle.Place(1, 0, np.zeros(2, np.int64)))):
        with pytest.raises(package.riffle.UsageError, match="this progress of mix m was closed: open a new riffle.Progress"):
            call()
    unasked = package.riffle.Progress("m")
    unasked.close()
    assert unasked.known == 2**40 + 42


def test_what_is_closed_says_so_and_is_closed_once(package, library):
    reader, reporter = package.riffle.Reader("m"), package.riffle.Reporter("m")
    for one in (reader, reporter):
        one.close()
        one.close()
    assert library.closed == [41, 42]
    for call in (reader.next, reader.commit, reader.trained, reader.metrics, reader.flush, lambda: reader.info, lambda: reader.seek(1),
                 lambda: reader.report(1, {})):
        with pytest.raises(package.riffle.UsageError, match="this reader of mix m was closed: open a new riffle.Reader"):
            call()
    for call in (lambda: reporter.report(1, {}), reporter.flush):
        with pytest.raises(package.riffle.UsageError, match="this reporter of mix m was closed"):
            call()
    package.riffle.Reader("m")
    gc.collect()
    assert library.closed == [41, 42, 43], "nobody has it any more"


# ---- metrics


def test_metrics_are_as_long_as_they_have_grown_and_those_of_open_readers_alone(package, part, library, monkeypatch):
    metrics, readers = part("metrics"), [package.riffle.Reader("m") for _ in range(3)]
    for n in range(1, 4):
        assert readers[0].metrics().endswith("#" * (200 * n) + "\n"), "it has grown since its length was asked for"
    readers[1].close()
    monkeypatch.setattr(metrics, "_readers", readers)
    assert metrics.metrics().startswith("# HELP a_total a\n# TYPE a_total counter\n")
    assert metrics.metrics().endswith("a_total 2\n")
    for reader in readers:
        reader.close()


# ---- held-out sets

HELD_OUT = {"corpus": b"c", "domain": b"d", "set": b"valid", "bootstrap": None, "properties": [], "token_bytes": 4, "sequences": 64,
            "open_timeout_ms": 10000}


@pytest.mark.parametrize("given, changed", [
    ({}, {}), ({"set": "test"}, {"set": b"test"}), ({"batch": 65536}, {"sequences": 65536}), ({"dtype": "int64"}, {"token_bytes": 8}),
    ({"bootstrap": "b:1"}, {"bootstrap": b"b:1"}), ({"properties": {"a": 1}}, {"properties": [(b"a", b"1")]}),
    ({"open_timeout": 2}, {"open_timeout_ms": 2000}),
])
def test_a_pass_over_a_held_out_set_has_the_options_that_are_given(package, library, given, changed):
    held_out = package.riffle.Validation("c", "d", **given)
    library.end = 3
    assert library.opened == [], "nothing is connected before it is read"
    for _ in range(2):
        assert [step.step for step in held_out] == [0, 1, 2]
    assert library.opened == [{**HELD_OUT, **changed}] * 2 and library.closed == [41, 42]
    assert len(held_out) == 77 and held_out.info().partitions == 2 and library.closed == [41, 42, 43, 44]


def test_a_pass_ends_where_it_is_left_and_the_end_of_a_block_ends_all(package, library):
    held_out = package.riffle.Validation("c", "d", timeout=0.5)
    for step in held_out:
        assert step.domains == ["web", "code"] * 2
        break
    gc.collect()
    assert library.closed == [41]
    with held_out:
        first, second = iter(held_out), iter(held_out)
        next(first), next(second)
        assert library.closed == [41]
    assert sorted(library.closed) == [41, 42, 43]
    with pytest.raises(package.riffle.UsageError, match="this pass over the valid set of domain d was closed"):
        next(first)
    library.codes["validation_next"] = library.c.TIMEOUT
    library.clock.now = 0.0
    with pytest.raises(package.riffle.StepTimeout):
        next(iter(held_out))
    assert 0.5 <= library.clock.now < 0.52


# ---- ranks without a reader of their own


@pytest.fixture
def rank(part, library):
    """A rank with all its options."""
    return part("rank").Rank("m", "b:1", 1, 2, run="r", commit_every=5, timeout=7.5, ahead_bytes=2**30, threads=3, properties={"a": 1},
                             open_timeout=2.5, uneven=True)


OF_RANK = {**OPTIONS, "run": b"r", "rank": 1, "world": 2, "properties": [(b"a", b"1")], "open_timeout_ms": 2500}


def test_what_a_rank_opens_has_its_options(package, library, rank, part):
    rank._checkpoints.pending = STATE
    with rank._read_from(9) as reader:
        assert library.opened[-1] == {**OF_RANK, "start": 1, "step": 9, "ahead_bytes": 2**30, "threads": 3, "uneven": 1, "checkpoint": 33}
        assert reader.timeout == 7.5
        with rank._open_progress():
            assert library.opened[-1] == {**OF_RANK, "commit_every": 5, "uneven": 1}
        assert rank._committed(False) == 7 and library.opened[-1] == {**OPTIONS, "start": 1, "run": b"r", "properties": [(b"a", b"1")],
                                                                     "open_timeout_ms": 2500}
        rank._places.begin(9)
        rank._places.reads(reader.place)
        rank._places.note_trained(reader.place)
        with pytest.raises(package.riffle.UsageError, match="use one of them"):
            reader.commit()  # what the rank has trained counts for its reader


def test_a_rank_reports_by_its_reader_or_by_itself_and_waits_for_both_kinds(package, library, rank):
    reader = rank._reader = rank._read_from(3)
    rank.report(1, {})
    assert library.names("report", "reporter_report") == ["report"]
    rank._reader = None
    rank.report(1, {}), rank.report(2, {})
    assert library.names("report", "reporter_report", "reporter_open") == ["report", "reporter_open", "reporter_report", "reporter_report"]
    assert library.opened[-1] == OF_RANK
    assert rank.committed == 0
    rank.flush()
    assert library.names("flush", "progress_flush", "reporter_flush") == ["reporter_flush"]
    rank._places.begin(3)
    rank._places.reads(reader.place)
    reader.next()
    rank._places.put(reader.place, BATCH)
    rank.trained()
    assert rank.committed == 2**40 + 40 + len(library.opened)
    library.calls.clear()
    rank.flush()
    assert library.names("flush", "progress_flush", "reporter_flush") == ["progress_flush", "reporter_flush"]
    for name in ("progress_flush", "reporter_flush"):
        library.codes, library.clock.now = {name: library.c.TIMEOUT}, 0.0
        with pytest.raises(package.riffle.StepTimeout):
            rank.flush(0.25)
        assert 0.25 <= library.clock.now < 0.27
    rank.close()
    assert len(library.closed) == 2 and rank.committed == 0
    rank.report(3, {})
    assert library.names("reporter_report") == ["reporter_report"], "after close() another one is opened"
    reader.close(), rank.close()


def test_a_rank_is_sent_without_what_is_of_its_process(package, library, rank):
    rank.report(1, {})
    rank._reader = reader = rank._read_from(3)
    sent = pickle.loads(pickle.dumps(rank))
    assert sent._reader is None and sent._reporter is None and sent._training.progress is None and sent._places is not rank._places
    assert [getattr(sent, name) for name in ("mix", "rank", "world", "run", "commit_every", "timeout")] == ["m", 1, 2, "r", 5, 7.5]
    reader.close(), rank.close()
