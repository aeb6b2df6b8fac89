"""What is given, trained, committed and kept in a training process: the decisions of the Python package, without a broker."""

import datetime
import http.client
import importlib
import json
import math
import os
import random
import re
import socket
import statistics
import types
import warnings

import numpy as np
import pytest


@pytest.fixture
def part(package):
    """part(NAME): that module of the package."""
    return lambda name: importlib.import_module(f"{package.riffle.__name__}.{name}")


@pytest.fixture
def places_of(part):
    """places_of(words): the Places of an array of that many words, begun at step 0."""

    def make(words=9 + 5 * 4, step=0):
        places = part("progress").Places(np.zeros(words, np.int64))
        places.begin(step)
        return places

    return make


@pytest.fixture
def place(part):
    """place(step): a place with two lanes, of a mix with a lead of 8."""
    return lambda step, lead=8: part("progress").Place(step, lead, np.array([10 * step, 10 * step + 1]))


# ---- places


def test_the_last_places_are_known_and_earlier_ones_are_not(places_of, place):
    places = places_of()  # room for four places of two lanes
    places.reads(place(0))
    for step in range(1, 10):
        places.put(place(step), batch=4)
    for step in (6, 7, 8, 9):
        assert places.place(step).step == step and places.place(step).offsets.tolist() == [10 * step, 10 * step + 1]
    assert [places.place(step) for step in (0, 5, 10)] == [None] * 3
    assert places.given == 9 and places.lead == 8 and places.reader == os.getpid()


def test_a_beginning_and_other_lanes_leave_nothing_of_what_was_there(part, places_of, place):
    """Of the same calls each place of a used array equals that of a fresh one."""
    def used():
        places = places_of()
        places.reads(place(0))
        for step, batch in ((1, 4), (2, 8), (3, 8)):
            places.put(place(step), batch)
        places.note_trained(place(2))
        places.end()
        return places

    names = ("start", "given", "trained", "reader", "ended", "batch", "mixed", "known", "is_trained")
    fresh, places = places_of(), used()
    for one in (fresh, places):
        one.begin(5)
    assert [getattr(places, name) for name in names] == [getattr(fresh, name) for name in names]
    assert used().ended == 1 and used().mixed == 1 and used().trained == 2
    places = used()
    places.reads(place(3))
    assert (places.ended, places.given) == (0, 3)
    places = used()
    places.reads_from(3, place(3))
    assert places.ended == 0
    three, fresh, places = part("progress").Place(4, 8, np.arange(3)), places_of(), used()
    for one in (fresh, places):
        one.put(three)
    head = part("progress")._HEAD
    assert places.words[head:].tolist() == fresh.words[head:].tolist()


def test_a_number_of_samples_behind_a_place_that_is_not_known_is_not_known(places_of, place):
    places = places_of()
    places.reads(place(5))  # what steps 0 to 4 had is not known
    for step, batch in ((6, 8), (7, 4)):
        places.put(place(step), batch)
    assert places.mixed and [places.steps_of(samples) for samples in range(1, 14)] == [None] * 13


def test_what_a_progress_refuses_was_not_trained(part, places_of, place, package):
    places = places_of()
    places.reads(place(0))
    places.put(place(1), 4)
    calls = []

    class Progress:
        def trained(self, at, losses):
            calls.append((at.step, losses))
            if len(calls) == 1:
                raise package.riffle.UsageError("no")

        def close(self):
            calls.append("closed")

    training = part("progress").Training(places, Progress)
    with pytest.raises(package.riffle.UsageError):
        training.trained(None, {"a": 1})
    assert not places.is_trained
    training.trained(0, None)
    assert places.known == 1 and calls == [(1, {"a": 1}), (1, None)]
    training.begin(7)
    assert calls[-1] == "closed" and training.progress is None and not places.is_trained and places.known == 7


def test_half_of_a_place_is_none(places_of, place):
    places = places_of()
    places.reads(place(0))
    places.put(place(3), batch=4)
    whole = places.words.copy()
    for word in range(4):
        places.words[:] = whole
        places.words[9 + 3 * 5 + word] += 1
        assert places.place(3) is None
    places.words[:] = whole
    assert places.place(3) is not None


@pytest.mark.parametrize("batches, samples, steps", [
    ([4, 4, 4], 8, 2), ([4, 4, 4], 0, 0), ([4, 4, 4], 6, None), ([4, 4, 4], 400, 100),
    ([4, 8, 8], 12, 2), ([4, 8, 8], 20, 3), ([4, 8, 8], 0, 0), ([4, 8, 8], 8, None), ([4, 8, 8], 24, None), ([], 4, None),
])
def test_a_number_of_samples_is_a_number_of_steps(places_of, place, batches, samples, steps):
    places = places_of()
    places.reads(place(0))
    for step, batch in enumerate(batches, 1):
        places.put(place(step), batch=batch)
    assert places.mixed == (len(set(batches)) > 1)
    assert places.steps_of(samples) == steps


def test_a_step_is_trained_once_in_order_and_only_if_it_was_given(places_of, place, package):
    places, error = places_of(step=2), package.riffle.UsageError
    with pytest.raises(error, match="no step was given yet"):
        places.next_trained(None)
    places.reads(place(2))
    for step in (3, 4, 5):
        places.put(place(step), batch=4)
    assert not places.is_trained and places.known == 2
    for bad, says in ((1, "step 1 was not given, because reading began at step 2. Pass the number of the step"), (5, "step 5 was not given whole yet; all below 5 were")):
        with pytest.raises(error, match=says):
            places.next_trained(bad)
    found = places.next_trained(None)
    assert found.step == 3
    places.note_trained(found)
    assert places.is_trained and places.known == 3
    with pytest.raises(error, match="step 2 is trained already, step 3 is next"):
        places.next_trained(2)
    places.note_trained(places.next_trained(4))
    assert places.known == 5


def test_a_step_that_is_too_far_behind_what_is_read_is_named(places_of, place, package):
    places = places_of()
    places.reads(place(0))
    for step in range(1, 10):
        places.put(place(step), batch=4)
    with pytest.raises(package.riffle.UsageError, match="step 9 was read meanwhile, .* where step 4 ends: call trained"):
        places.next_trained(4)
    assert places.next_trained(5).step == 6


def test_processes_that_read_some_steps_each_begin_at_the_lowest(places_of, place):
    places = places_of()
    places.reads_from(7, place(7))
    assert (places.start, places.given) == (7, 7)
    places.reads_from(5, place(5))
    assert (places.start, places.given) == (5, 7)
    places.reads_from(9, place(9))
    assert (places.start, places.given) == (5, 9)
    places.note_trained(place(6))
    places.start_by(2)
    assert places.start == 5


def test_a_place_for_c_is_one_that_a_reader_gave(part, package, place):
    raw, offsets = part("progress")._raw_of(place(3))
    assert (raw.step, raw.lead, raw.lanes) == (3, 8, 2) and offsets.tolist() == [30, 31]
    for bad in (None, 3, part("progress").Place(3, 8, np.zeros((1, 2), np.int64)), part("progress").Place(3, 8, "x")):
        with pytest.raises(package.riffle.UsageError, match="must be what Reader.place gave"):
            part("progress")._raw_of(bad)
    with pytest.raises(package.riffle.UsageError, match="^step is -1"):
        part("progress")._raw_of(part("progress").Place(-1, 8, np.zeros(2, np.int64)))


@pytest.mark.parametrize("sums, says", [(3, "must be \\(loss_sum"), ((1, 2), "must be \\(loss_sum"), ((1, "x", 3), "two numbers"),
                                        ((1, 2, math.nan), "two numbers"), ((1, 2, 2**63), "at most")])
def test_losses_are_three_numbers_for_each_domain(part, package, sums, says):
    assert [(one.domain, one.loss_sum, one.excess_sum, one.tokens) for one in part("progress").losses_of({"a": (1, 2.5, 3)})] == [
        (b"a", 1.0, 2.5, 3)]
    assert len(part("progress").losses_of(None)) == 0
    with pytest.raises(package.riffle.UsageError, match=says):
        part("progress").losses_of({"a": sums})


def test_words_are_shared_with_copies_of_this_machine_while_their_owner_lives(part):
    shared = part("progress").SharedWords()
    path, inode = shared.__getstate__()
    copied, other, gone = (part("progress").SharedWords.__new__(part("progress").SharedWords) for _ in range(3))
    copied.__setstate__((path, inode))
    other.__setstate__((path, inode + 1))  # another file has that number meanwhile
    gone.__setstate__(("/proc/0/fd/0", inode))
    shared.words[5] = 7
    assert [int(one.words[5]) for one in (copied, other, gone)] == [7, 0, 0]
    assert len(other.words) == len(gone.words) == part("progress").WORDS


# ---- a rank that waits


@pytest.fixture
def rank(part):
    """A rank that has its places at step 0, and no broker."""
    return part("rank").Rank("m", "127.0.0.1:1", None, None, run="r", commit_every=0, timeout=None, ahead_bytes=0, threads=0,
                             properties=None, open_timeout=1.0, uneven=False)


@pytest.mark.parametrize("lead, position, trained, says", [
    (0, 100, None, ""), (8, 7, None, ""), (8, 8, None, "step 8 cannot come before step 0 is trained: .* trained\\(\\) was never called"),
    (8, 10, 3, ""), (8, 11, 3, "step 11 cannot come before step 3 is trained: .* 8 steps were fetched ahead"),
])
def test_the_lead_holds_a_step_up_from_its_first_step_on(rank, place, lead, position, trained, says):
    rank._places.begin(0)
    rank._places.reads(place(0, lead))
    if trained is not None:
        rank._places.note_trained(place(trained))
    said = rank._held_up(types.SimpleNamespace(position=position))
    assert said == "" if says == "" else re.match(says, said), said


def test_a_rank_that_does_not_commit_notes_what_was_trained(rank, place):
    opened = []
    rank._training._opens = lambda: opened.append(1) or types.SimpleNamespace(trained=lambda *given: opened.append(given))
    rank._places.begin(0)
    rank._places.reads(place(0))
    for step in (1, 2):
        rank._places.put(place(step), batch=4)
    rank.commits = False
    rank.trained()
    assert rank._places.known == 1 and opened == []
    rank.commits = True
    rank.trained(1, {"a": (1, 0, 1)})
    assert rank._places.known == 2 and opened[0] == 1 and opened[1][0].step == 2 and opened[1][1] == {"a": (1, 0, 1)}


def test_a_warning_comes_once_for_each_reason(rank):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for key in ("a", "b", "a"):
            rank._warn(key, f"about {key}")
    assert [str(one.message) for one in said] == ["riffle: about a", "riffle: about b"]


@pytest.fixture
def waiting(rank, part, place, package, monkeypatch):
    """waiting.next(comes): rank._next() for a step that comes after `comes` seconds, by a clock that passes only in waits. `.waits`
    has each wait, `.placed` the steps whose place was committed, `.said` the warnings."""
    module, found = part("rank"), types.SimpleNamespace(now=0.0, waits=[], placed=[], said=[], committed=0, rank=rank)
    monkeypatch.setattr(module.time, "monotonic", lambda: found.now)
    monkeypatch.setattr(rank, "_warn", lambda key, text: found.said.append((len(found.waits), key)))
    rank._places.begin(3)
    rank._places.reads(place(3, 8))

    def committed(starts):
        assert not starts
        if isinstance(found.committed, Exception):
            raise found.committed
        return found.committed

    class Progress:
        __enter__, __exit__ = lambda self: self, lambda *_: None
        trained = lambda self, place: found.placed.append((len(found.waits), place.step))

    monkeypatch.setattr(rank, "_committed", committed)
    monkeypatch.setattr(rank, "_open_progress", Progress)

    def run(comes, position=3):
        class Reader:
            def next(self, seconds):
                found.waits.append(seconds)
                assert len(found.waits) < 100
                if found.now + seconds < comes:
                    found.now += seconds
                    raise package.riffle.StepTimeout("step 3 did not come")
                found.now = comes
                return "step"

        reader = Reader()
        reader.position, reader.place = position, place(position)
        return rank._next(reader, 3)

    found.next = run
    return found


@pytest.mark.parametrize("commit_every, position, trained, comes, waits, placed", [
    (0, 3, None, 12, [5, 5, 5], []), (10, 3, None, 0.5, [1], []), (10, 3, None, 12, [1, 5, 5, 5], [(1, 3)]), (10, 4, None, 12, [5, 5, 5], []),
    (10, 3, 3, 12, [5, 5, 5], []),
])
def test_the_place_of_a_first_step_is_committed_once_after_a_short_wait(waiting, place, commit_every, position, trained, comes, waits, placed):
    waiting.rank.commit_every = commit_every
    if trained is not None:
        waiting.rank._places.note_trained(place(trained))
    assert waiting.next(comes, position) == "step"
    assert (waiting.waits, waiting.placed) == (waits, placed)


@pytest.mark.parametrize("timeout, commit_every, waits", [(0, 0, [0]), (7, 0, [5, 2]), (5, 0, [5]), (7, 1, [1, 5, 1]), (0.5, 1, [0.5]), (0, 1, [0])])
def test_a_wait_for_a_step_lasts_as_long_as_the_timeout_and_says_what_holds_it_up(waiting, package, timeout, commit_every, waits):
    waiting.rank.timeout, waiting.rank.commit_every = timeout, commit_every
    with pytest.raises(package.riffle.StepTimeout, match="^step 3 did not come$"):
        waiting.next(1000)
    assert waiting.waits == waits and waiting.now == timeout and waiting.said == []
    waiting.now = 0.0
    with pytest.raises(package.riffle.StepTimeout, match="^step 3 did not come; step 11 cannot come before step 3 is trained"):
        waiting.next(1000, 11)
    assert waiting.now == timeout


@pytest.mark.parametrize("commit_every, begins, said", [(0, 8, 1), (10, 0, 2)])
def test_a_step_that_training_holds_up_is_warned_of_after_a_long_wait_alone(waiting, place, commit_every, begins, said):
    waiting.rank.commit_every = commit_every
    if begins == 0:  # the first step is held up, as one of a reader that begins far ahead of what is trained
        waiting.rank._places.begin(-5)
    waiting.next(22, 3 + begins)
    assert waiting.said[0] == (said, "held")
    waiting.rank._places.reads(place(3, 0))  # a mix without a lead holds nothing up
    waiting.said.clear()
    waiting.next(waiting.now + 22, 3 + begins)
    assert waiting.said == []


@pytest.mark.parametrize("committed, placed", [(0, [3]), (2, [3]), (3, []), (4, []), ("unknown", [3])])
def test_a_place_is_not_committed_where_it_would_take_the_run_back(waiting, package, committed, placed):
    waiting.committed = package.riffle.LostError("no commits") if committed == "unknown" else committed
    waiting.rank.commit_every = 1
    waiting.next(2)
    assert [step for _, step in waiting.placed] == placed


# ---- states


FULL = {"mix": "m", "run": "r", "step": 5, "schedule": 2**64 - 1, "choices_step": 4, "choices": 1}


@pytest.mark.parametrize("change, kind, says", [
    ({"mix": "x"}, "DataError", "is of mix x, this reader is of mix m"), ({"step": -1}, "UsageError", "the checkpoint's step is -1"),
    ({"step": 2**62}, "UsageError", "the checkpoint's step is"), ({"schedule": 2**64}, "UsageError", "the checkpoint's schedule"),
    ({"choices": None}, "UsageError", "the checkpoint's choices"), ({"run": None}, None, None),
])
def test_a_state_of_another_mix_or_of_none_is_refused(part, package, change, kind, says):
    state = {**FULL, **change}
    if kind is None:
        state.pop("run")
        kind, says = "DataError", "the checkpoint has no run"
    with pytest.raises(getattr(package.riffle, kind), match=says):
        part("checkpoint").step_of_state(state, "m", "r")
    with pytest.raises(package.riffle.UsageError, match="must be what state_dict"):
        part("checkpoint").step_of_state([1], "m", "r")


@pytest.mark.parametrize("drop, run, step, warns", [
    ((), "r", 5, None), ((), "other", 5, "is of run r; run other continues from its step 5"), (("choices",), "r", 5, "READ-CHECKPOINT-UNBOUND"),
    (("schedule",), "r", 1, "READ-CHECKPOINT-UNBOUND"), (("choices_step",), "r", 0, None),
])
def test_a_state_that_may_be_the_wrong_one_is_warned_of(part, drop, run, step, warns):
    state = {name: value for name, value in {**FULL, "step": step, "choices_step": 0}.items() if name not in drop}
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        assert part("checkpoint").step_of_state(state, "m", run) == step
    assert [warns in str(one.message) for one in said] == ([True] if warns else [])


@pytest.fixture
def states(part, monkeypatch):
    """Checkpoints whose ledger answers as `states.answers` says, by a clock that is set; `states.asked` has for which steps."""
    checkpoint = part("checkpoint")
    found = checkpoint.Checkpoints("m", None, "r", None, 1.0)
    found.asked, found.now, found.answers = [], 1000.0, True
    monkeypatch.setattr(checkpoint.time, "monotonic", lambda: found.now)

    def ask(call, mix, bootstrap, properties, open_timeout, out):
        found.asked.append(mix)
        if isinstance(found.answers, Exception):
            raise found.answers
        return (0, 11, 22, 33)

    monkeypatch.setattr(part("reader"), "ask_of_mix", ask)
    return found


def test_a_state_has_the_hashes_of_its_step_or_of_an_earlier_one(states):
    mark = {"schedule": 11, "choices_step": 22, "choices": 33}
    assert states.state(5) == {"mix": "m", "run": "r", "step": 5, **mark}
    assert states.state(5) == {"mix": "m", "run": "r", "step": 5, **mark} and len(states.asked) == 1
    assert states.state(6, often=True)["choices"] == 33 and len(states.asked) == 1  # of some seconds ago
    states.now += 10
    states.state(6, often=True)
    assert len(states.asked) == 2
    states.state(4, often=True)  # below the step that was asked for: another question
    assert len(states.asked) == 3
    states.state(5)
    assert len(states.asked) == 4


def test_a_state_is_made_without_hashes_if_the_broker_does_not_answer_and_it_is_asked_again_later(states, package):
    states.answers = package.riffle.BrokerError("away")
    with pytest.warns(RuntimeWarning, match="READ-CHECKPOINT-UNBOUND the ledger of mix m cannot be asked .* step 5: away"):
        assert states.state(5) == {"mix": "m", "run": "r", "step": 5}
    states.answers = True
    states.now += 59
    assert states.state(6) == {"mix": "m", "run": "r", "step": 6} and len(states.asked) == 1
    states.now += 1
    assert states.state(6)["choices"] == 33
    states.answers = package.riffle.StepTimeout("not begun")
    assert states.state(7)["choices"] == 33  # of step 6
    assert "choices" not in states.state(3)  # of a later step: not of this one


# ---- sequences by index


def test_a_state_that_the_ledger_has_not_come_to_is_pending_until_another_one_is_loaded(states, part, monkeypatch):
    checkpoint, answers = part("checkpoint"), []
    monkeypatch.setattr(checkpoint, "uninterrupted", lambda _: answers.pop(0))
    monkeypatch.setattr(part("reader"), "options_of", lambda *_: types.SimpleNamespace())
    monkeypatch.setattr(checkpoint.log, "write", lambda *_: None)
    timeout, ok = checkpoint.c.TIMEOUT, checkpoint.c.OK
    given = {"mix": "m", "run": "r", "step": 9, "schedule": 11, "choices_step": 9, "choices": 33}

    answers[:] = [timeout, ok, timeout]
    state = dict(given)
    assert states.step_of(state) == 9
    state["step"] = 0  # of the caller
    assert states.pending == given
    states.step_of(given)
    assert states.pending is None
    states.step_of(given)
    states.step_of({"mix": "m", "run": "r", "step": 0})  # has no hashes: there is nothing to wait for
    assert states.pending is None and answers == []


@pytest.fixture
def sequences(part, monkeypatch):
    """sequences(...): riffle.Sequences of a mix with 4 lanes and 8 sequences in each of 5 steps, which a fake reader gives."""
    module = part("sequences")
    extent = part("reader").Extent(5, 8, 4, 16, True, True)
    monkeypatch.setattr(module, "find_extent", lambda *_, **__: extent)

    class Reader:
        def __init__(self, step):
            self.position, self.seeks = step, []

        place = property(lambda self: part("progress").Place(self.position, 0, np.zeros(4, np.int64)))
        info = types.SimpleNamespace(global_batch=8)

        def seek(self, step):
            self.seeks.append(step)
            self.position = step

        def next(self, timeout):
            if self.position >= 5:
                return None
            self.position += 1
            return types.SimpleNamespace(step=self.position - 1)

        def close(self):
            pass

    def make(**options):
        found = module.Sequences("m", "127.0.0.1:1", **options)
        monkeypatch.setattr(found, "_read_from", Reader)
        return found

    return make


def test_an_index_is_a_place_of_a_step_and_counts_from_the_end_if_it_is_negative(sequences, package):
    s = sequences()
    assert len(s) == 40
    assert [(s[i][0].step, s[i][1]) for i in (0, 7, 8, 39, -1, -40)] == [(0, 0), (0, 7), (1, 0), (4, 7), (4, 7), (0, 0)]
    for bad in (40, -41):
        with pytest.raises(IndexError, match=f"index {bad} of 40|has ended after 5 steps"):
            s[bad]
    assert len(sequences(steps=3)) == 24
    with pytest.raises(IndexError, match="index 24 of 24"):
        sequences(steps=3)[24]
    with pytest.raises(IndexError, match="has ended after 5 steps, and step 5 is wanted: steps=9 is more than it has"):
        sequences(steps=9)[40]


@pytest.mark.parametrize("rank, world, places", [(0, 1, (0, 8)), (0, 2, (0, 4)), (1, 2, (4, 8)), (2, 4, (4, 6))])
def test_a_rank_has_places_of_its_own(sequences, package, rank, world, places):
    s = sequences(rank=rank, world=world)
    assert (s.places.start, s.places.stop) == places
    assert list(s.indexes(3)) == [8 * step + i for step in (3, 4) for i in range(*places)]
    assert s[8 + places[0]][1] == 0
    for other in {0, 7} - set(range(*places)):
        with pytest.raises(package.riffle.UsageError, match=f"has places {places[0]} to {places[1] - 1} of each step"):
            s[other]


def test_steps_that_are_near_are_read_through_and_others_are_sought(sequences, part, monkeypatch):
    monkeypatch.setattr(part("sequences"), "_ON", 2)
    s = sequences(keep=1)
    s.step(0)
    s.step(3)  # position 1: two steps on
    assert s._stream.seeks == []
    s.step(3)  # is kept
    s.step(0)
    assert s._stream.seeks == [0]
    s.step(4)  # position 1: three steps on
    assert s._stream.seeks == [0, 4]


def test_the_steps_that_were_asked_for_last_are_kept(sequences):
    s = sequences(keep=2)
    for number in (0, 1, 0, 2):
        s.step(number)
    assert list(s._held) == [0, 2]
    assert [step.step for step, _ in s.find([33, 0, 17])] == [4, 0, 2]


def test_a_mix_that_ends_later_has_a_length_then_and_what_was_given_stays_so(sequences, part, monkeypatch):
    s = sequences()
    extents = [part("reader").Extent(2, 8, 4, 16, False, True), part("reader").Extent(5, 8, 4, 16, True, True)]
    monkeypatch.setattr(part("sequences"), "find_extent", lambda *_, **__: extents.pop(0))
    assert s.batch == 8 and len(s) == 40 and len(s) == 40 and extents == []
    s = sequences(keep=1)
    monkeypatch.setattr(part("sequences"), "find_extent", lambda *_, **__: part("reader").Extent(5, 8, 4, 16, True, True))
    assert s.places == range(0, 8)
    s.take_rank(1, 2)
    assert s.places == range(4, 8)
    assert s[36][0].step == 4 and s._places.given == 5
    assert s[4][0].step == 0 and s._places.given == 5


def test_jumps_in_a_row_are_warned_of_once(sequences, part, monkeypatch):
    monkeypatch.setattr(part("sequences"), "_JUMPS", 3)
    monkeypatch.setattr(part("sequences"), "_ON", 0)
    s = sequences(keep=1)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for number in (0, 2, 0, 1, 3, 0):
            s.step(number)
        assert said == []  # 0, 1 was in order
        for number in (2, 4, 0, 2, 0):
            s.step(number)
    assert len(said) == 1 and "3 indexes in a row" in str(said[0].message)


# ---- steps


def test_lengths_of_stretches_begin_at_0_and_end_at_the_last_token(package):
    assert package.riffle.cu_seqlens(np.array([[0, 1, 0, 1, 2], [0, 1, 2, 3, 0]])).tolist() == [0, 2, 5, 9, 10]
    assert package.riffle.cu_seqlens(np.zeros((1, 1), np.int32)).tolist() == [0, 1]


def test_a_domain_has_the_epoch_of_the_furthest_of_its_sequences(part):
    step = part("step").Step.__new__(part("step").Step)
    step._domains, step._held = ["a", "b", "a", "a"], types.SimpleNamespace(free=None, pointer=None)
    step._sequences = np.zeros(4, part("step")._SEQUENCE)
    step._sequences["epoch"] = [1, 5, 3, 2]
    assert step.epochs == {"a": 3, "b": 5}


# ---- spikes


def test_half_a_window_of_losses_but_at_least_20_come_before_the_first_spike(package):
    for window, enough in ((128, 64), (30, 20), (4, 4)):
        spikes = package.riffle.Spikes(window=window)
        for step in range(enough - 1):
            assert spikes.add(step, 1.0 + 0.001 * (step % 2)) is None
        assert spikes.add(enough - 1, 1.0) is None
        assert spikes.add(enough, 9.0) is not None
        early = package.riffle.Spikes(window=window)
        for step in range(enough - 1):
            early.add(step, 1.0 + 0.001 * (step % 2))
        assert early.add(enough - 1, 9.0) is None


def rule(losses, window, sigmas):
    """Which of the losses is the first spike, by the definition."""
    for n, loss in enumerate(losses):
        before = losses[max(0, n - window):n]
        if not math.isfinite(loss):
            return n
        if len(before) >= min(window, max(20, window // 2)) and len(before) > 1 and (
                loss > statistics.mean(before) + sigmas * statistics.stdev(before)):
            return n
    return None


@pytest.mark.parametrize("window", [2, 3, 10, 19, 20, 21, 39, 40, 41, 42, 60])
def test_the_first_spike_is_that_of_the_definition(package, window):
    print("seed", window)
    chosen, found = random.Random(window), []
    for _ in range(60):
        losses = [3 + chosen.random() + chosen.choice([0, 0, 0, 0, 4]) * (n % 9 == 8) for n in range(70)]
        sigmas = chosen.choice([1.5, 2.0, 3.0])
        spikes = package.riffle.Spikes(window=window, sigmas=sigmas)
        if chosen.random() < 0.5:  # the same behind a state
            other = package.riffle.Spikes(window=window, sigmas=sigmas)
            other.load_state_dict(spikes.state_dict())
            spikes = other
        found.append(next((n for n, loss in enumerate(losses) if spikes.add(n, loss)), None))
        assert found[-1] == rule(losses, window, sigmas)
    assert len(set(found)) > 3


def test_steps_that_the_model_has_lost_are_forgotten_from_the_checkpoint_on(package):
    spikes = package.riffle.Spikes(back=2)
    for step in range(10):
        spikes.add(step, 3.0)
    for again in (9, 8):
        with pytest.raises(package.riffle.UsageError, match=f"step {again} comes after that of step 9"):
            spikes.add(again, 3.0)
    assert spikes.add(10, math.inf, [4, 10, 11]).checkpoint == 4
    assert [step for step, _ in spikes.state_dict()["losses"]] == [0, 1, 2, 3]
    assert spikes.add(11, math.inf, [11]).checkpoint == 11, "none is early enough: the first, also of the very step"
    assert len(spikes.spikes) == 2


def test_what_is_passed_over_is_so_after_a_checkpoint(package):
    spikes, later = package.riffle.Spikes(ahead=5), package.riffle.Spikes(ahead=5)
    spikes.add(3, 1.5), spikes.add(4, math.nan)
    later.load_state_dict(spikes.state_dict())
    assert later.resume == 10 and later.passes(9) and not later.passes(10) and later.state_dict() == spikes.state_dict()


@pytest.fixture
def asked(part, monkeypatch):
    """The commands that skip_on_spike() would have run, and a reader of each rank."""
    calls = []

    def run(words, bootstrap, timeout):
        calls.append((words, bootstrap, timeout))
        return types.SimpleNamespace(returncode=0, stdout='said\n{"id": 1}\n', stderr="")

    monkeypatch.setattr(part("_program"), "run", run)
    calls_and = types.SimpleNamespace(calls=calls)
    calls_and.reader = lambda rank: types.SimpleNamespace(rank=rank, run="r", mix="m", bootstrap="b:1", properties={}, position=8,
                                                          spikes=part("spikes").Spikes(back=1, keep_out=3))
    return calls_and


@pytest.mark.parametrize("timeout, words, patience", [(None, [], 90), (0, ["--timeout", "1"], 90), (0.5, ["--timeout", "1"], 60.5),
                                                      (7, ["--timeout", "7"], 67)])
def test_rank_0_asks_the_mix_to_keep_a_spike_out(package, asked, timeout, words, patience):
    for rank in (0, 1):
        reader = asked.reader(rank)
        assert package.riffle.skip_on_spike(reader, 1.0, timeout=timeout) is None and reader.spikes.state_dict()["losses"] == [[7, 1.0]]
        reader.position += 1
        found = package.riffle.skip_on_spike(reader, math.nan, timeout=timeout, checkpoints=[2, 7])
        assert (found.step, found.checkpoint, found.kept_out) == (8, 7, (6, 9))
        assert found.answers == (({"id": 1},) if rank == 0 else ()) and reader.spikes.spikes == [found]
    assert asked.calls == [(["skip", "--steps", "6..9", "--id", "spike-r-8", "--json", *words, "--mix", "m"], "b:1", patience)]
    none = package.riffle.Spikes(keep_out=0)
    package.riffle.skip_on_spike(asked.reader(0), math.nan, none, step=3)
    assert len(asked.calls) == 1 and none.spikes[0].step == 3


def test_a_request_that_fails_is_warned_of(package, part, asked, monkeypatch, caplog):
    reader = asked.reader(0)
    monkeypatch.setattr(part("_program"), "run", lambda *_: types.SimpleNamespace(returncode=1, stdout="", stderr="no mix\n"))
    assert package.riffle.skip_on_spike(reader, math.nan).answers == ()
    assert "the mix does not keep out steps=5..8 (exit 1): no mix" in caplog.text

    def fail(*_):
        raise OSError("no program")

    monkeypatch.setattr(part("_program"), "run", fail)
    assert package.riffle.skip_on_spike(asked.reader(0), math.nan).answers == ()
    assert "the mix was not asked to keep out steps=5..8: no program" in caplog.text
    with pytest.raises(package.riffle.UsageError, match="give step="):
        package.riffle.skip_on_spike(types.SimpleNamespace(spikes=reader.spikes), math.nan)


# ---- a time


@pytest.mark.parametrize("time, words", [
    (1769855430, "1769855430.000"), (1769855430.5, "1769855430.500"), (0.0004, "0.000"), (-1, "-1.000"), ("2026-01-31", "2026-01-31"),
    (datetime.datetime(2026, 1, 31, 12, 30, 30, 5, datetime.timezone(datetime.timedelta(hours=2))), "2026-01-31T10:30:30.000005Z"),
])
def test_a_time_is_a_word_of_the_command_line(package, part, monkeypatch, time, words):
    calls = []

    def run(words, bootstrap=None):
        calls.append((words, bootstrap))
        return types.SimpleNamespace(returncode=0, stdout='{"step": 12}', stderr="")

    monkeypatch.setattr(part("_program"), "run", run)
    assert package.riffle.step_at_time("m", time, "b:1", domain="d", config="c.yml") == 12
    assert package.riffle.step_at_time("m", time, properties={"client.id": "x"}) == 12
    assert calls == [(["inspect", f"--from-time={words}", "--json", "--domain=d", "-c", "c.yml", "--mix", "m"], "b:1"),
                     (["inspect", f"--from-time={words}", "--json", "--mix", "m", "-X", "client.id=x"], None)]


@pytest.mark.parametrize("code, kind", [(2, "UsageError"), (1, "RiffleError"), (3, "RiffleError")])
def test_a_time_without_a_step_is_the_error_of_the_program(package, part, monkeypatch, code, kind):
    for said, shown in (("no such domain\n", "no such domain"), ("", f"riffle inspect ended with {code}")):
        monkeypatch.setattr(part("_program"), "run", lambda *_: types.SimpleNamespace(returncode=code, stdout="", stderr=said))
        with pytest.raises(package.riffle.RiffleError, match=shown) as why:
            package.riffle.step_at_time("m", 1)
        assert type(why.value).__name__ == kind


@pytest.mark.parametrize("checkpoints, chosen", [([], None), ([10, 50, 100, 150], 50), ([10, 51], 10), ([60, 90], 60), ([200], None),
                                                 ([50], 50)])
def test_a_checkpoint_is_the_last_that_is_far_enough_before_the_spike_else_the_first(package, checkpoints, chosen):
    spikes = package.riffle.Spikes(back=100, ahead=7, keep_out=2)
    found = spikes.add(150, math.nan, checkpoints)
    assert (found.checkpoint, found.resume, found.kept_out) == (chosen, 158, (149, 151))
    assert [spikes.passes(step) for step in (157, 158)] == [True, False]


# ---- the listener for Prometheus


def text(counter, gauge):
    return (f"# HELP riffle_a_total what\n# TYPE riffle_a_total counter\nriffle_a_total{{run=\"r\"}} {counter}\n"
            f"# HELP riffle_b how\n# TYPE riffle_b gauge\nriffle_b {gauge}\n")


def test_counters_of_readers_are_added_and_of_other_figures_the_lowest_is_shown(part):
    merged = part("metrics").merged
    assert merged([text(3, 7), text(4, 5), text(1, 9)]) == text(8, 5)
    committed = "# HELP riffle_reader_committed_step s\n# TYPE riffle_reader_committed_step gauge\nriffle_reader_committed_step{mix=\"m\"} "
    for read, trained, shown in ((5, 7, 7), (7, 5, 7)):
        assert merged([f"{committed}{read}\n"], {'riffle_reader_committed_step{mix="m"}': trained}) == f"{committed}{shown}\n"
    assert merged([], {'riffle_reader_committed_step{mix="m"}': 5}) == ""


def test_of_ranks_that_train_in_one_process_the_lowest_step_is_shown(part, monkeypatch):
    ranks = [types.SimpleNamespace(known=known, mix="m", run=run) for known, run in ((7, "r"), (5, "r"), (0, "r"), (3, "s"))]
    monkeypatch.setattr(part("metrics"), "_progresses", ranks)
    assert part("metrics")._trained() == {'riffle_reader_committed_step{mix="m",run="r"}': 5,
                                          'riffle_reader_committed_step{mix="m",run="s"}': 3}


@pytest.mark.parametrize("addr, found", [
    (9100, ("127.0.0.1", 9100)), ("9100", ("127.0.0.1", 9100)), (":9100", ("127.0.0.1", 9100)), ("host:0", ("host", 0)),
    ("[::1]:65535", ("::1", 65535)), ("::1:9100", None), ("host:65536", None), ("host", None), ("", None), ("host:", None), ("host:-1", None),
    ("host:٣", None), ("a\0:1", None),
])
def test_an_address_is_a_port_or_a_host_and_a_port(part, package, addr, found):
    if found:
        assert part("metrics")._address(addr) == found
        return
    with pytest.raises(package.riffle.UsageError):
        part("metrics")._address(addr)


@pytest.mark.parametrize("header, host, known", [
    ("localhost", "localhost", True), ("LOCALHOST:9100", "LOCALHOST", True), ("127.0.0.1:9100", "127.0.0.1", True), ("[::1]:9100", "::1", True),
    ("[::1]", "::1", True), ("localhost.evil.org", "localhost.evil.org", False), ("evil-localhost:1", "evil-localhost", False),
    ("127.0.0.1.evil.org", "127.0.0.1.evil.org", False), ("localhost:9100@evil.org", "", False), ("user@localhost", "user@localhost", False),
    ("::1", "", False), ("[::1", "", False), ("localhost:9100:1", "", False), ("", "", False), ("localhost:x", "", False),
])
def test_a_host_header_names_an_address_or_localhost(part, header, host, known):
    metrics = part("metrics")
    assert metrics._host_of(header) == host and metrics._is_address(metrics._host_of(header)) == known


def test_a_token_is_compared_whole(part):
    has = part("metrics")._has_token
    assert [has(given, "secret") for given in ("Bearer secret", "bearer secret", "Bearer secretx", "Bearer secre", "Basic secret", "secret", "",
                                              "Bearer  secret", "Bearer")] == [True, True] + [False] * 7


@pytest.mark.parametrize("addr, token, says", [("0.0.0.0:0", None, "a token is needed"), ("127.0.0.1:0", "short", "not a token"),
                                               ("127.0.0.1:0", "x" * 513, "not a token"), ("127.0.0.1:0", "a b" * 8, "not a token")])
def test_what_other_machines_reach_needs_a_token(package, addr, token, says):
    with pytest.raises(package.riffle.UsageError, match=says):
        package.riffle.serve_metrics(addr, token)


def answer(url, **headers):
    found = http.client.HTTPConnection(url.split("/")[2], timeout=20)
    try:
        found.request("GET", "/" + url.split("/", 3)[3], headers=headers)
        return found.getresponse().status
    finally:
        found.close()


def test_a_listener_of_this_machine_answers_those_who_call_it_by_an_address(package):
    with package.riffle.serve_metrics(0) as server:
        for host, status in (("127.0.0.1:1", 200), ("localhost", 200), ("[::1]:9", 200), ("evil.example", 421), ("localhost.evil.example", 421)):
            assert answer(server.url, Host=host) == status
        assert answer(server.url + "x") == 404
    token = "0123456789abcdef"
    with package.riffle.serve_metrics("127.0.0.1:0", token) as server:
        for given, status in ((f"Bearer {token}", 200), ("Bearer 0123456789abcdeg", 401), ("", 401)):
            assert answer(server.url, Authorization=given) == status
    with pytest.raises(ConnectionRefusedError):
        answer(server.url)  # it has ended
    with package.riffle.serve_metrics("0.0.0.0:0", token) as server:  # others may call it by its name
        url = server.url.replace("0.0.0.0", "127.0.0.1")
        assert answer(url, Host="metrics.example", Authorization=f"Bearer {token}") == 200
        assert answer(url, Host="metrics.example") == 401


@pytest.mark.parametrize("method, path, status, has_body", [
    ("GET", "/metrics", 200, True), ("HEAD", "/metrics", 200, False), ("GET", "/metrics?x=/", 200, True), ("GET", "/", 404, True),
    ("GET", "/metrics/", 404, True), ("HEAD", "/x", 404, False), ("POST", "/metrics", 405, True), ("PUT", "/metrics", 405, True),
    ("DELETE", "/metrics", 405, True), ("POST", "/x", 404, True)])
def test_metrics_are_read_at_their_path_and_by_no_other_method(package, method, path, status, has_body):
    with package.riffle.serve_metrics(0) as server, socket.create_connection(
            ("127.0.0.1", int(server.url.split(":")[2].split("/")[0])), timeout=20) as found:
        found.sendall(f"{method} {path} HTTP/1.0\r\nHost: localhost\r\n\r\n".encode())
        head, _, body = b"".join(iter(lambda: found.recv(1 << 16), b"")).decode().partition("\r\n\r\n")
        assert head.split()[1] == str(status) and ("Allow: GET, HEAD" in head) == (status == 405)
        length = int(head.split("Content-Length: ")[1].split()[0])
        assert len(body) == (length if has_body else 0)


def test_few_connections_are_open_at_a_time_and_one_that_has_ended_makes_room(part, monkeypatch):
    metrics, taken, cut = part("metrics"), [], []
    monkeypatch.setattr(metrics.ThreadingHTTPServer, "process_request", lambda self, request, _: taken.append(request))
    monkeypatch.setattr(metrics.ThreadingHTTPServer, "shutdown_request", lambda self, request: cut.append(request))
    server = object.__new__(metrics._Server)
    server._until = {}
    for request in range(9):
        server.process_request(request, None)
    assert (taken, cut) == (list(range(8)), [8])
    for request in range(9, 30):
        server.shutdown_request(request - 9 if request < 17 else request - 8)
        server.process_request(request, None)
        assert taken[-1] == request and len(server._until) == 8


def test_a_figure_keeps_all_its_digits_and_is_a_counter_by_its_metric(part):
    merged = part("metrics").merged
    assert merged([text(2**53 - 1, 0.1)]) == text(2**53 - 1, "0.10000000000000001")
    gauge = '# HELP riffle_b how\n# TYPE riffle_b gauge\nriffle_b{of="riffle_a_total"} '
    assert merged([f"{gauge}7\n", f"{gauge}5\n"]) == f"{gauge}5\n"


# ---- the text of a step


def test_a_rank_reads_its_lanes_and_each_lane_has_one_rank(part):
    is_mine = part("peek").is_mine
    assert [[lane for lane in range(8) if is_mine(lane, rank, 2, 8)] for rank in (0, 1)] == [[0, 1, 2, 3], [4, 5, 6, 7]]
    for world in range(1, 8):
        assert [sum(is_mine(lane, rank, world, 7) for rank in range(world)) for lane in range(7)] == [1] * 7


def test_a_document_is_cut_behind_its_width_and_no_control_character_is_printed(part):
    peek = part("peek")
    step = {"step": 3, "mix": "m", "version": 1, "phase": ""}
    document = {"source": "a\x1b\n", "line": 7, "line_exact": False, "tokens": 5, "offset": 2, "text": "12345\n7"}
    sequence = {"domain": "a", "partition": 0, "ordinal": 9, "lane": 1, "slot": 2, "epoch": 0, "documents": [document]}
    for width, shown in ((7, ["  | 12345", "  | 7"]), (6, ["  | 12345", "  | \N{HORIZONTAL ELLIPSIS}"]), (0, ["  | 12345", "  | 7"])):
        lines = list(peek.lines_of(step, [sequence], False, width))
        assert lines[:4] == ["step 3 of m, version 1: 1 sequences   a 1", "", "lane 1 slot 2   a/0 9   epoch 0",
                             "  a\\x1b\\n:~7   5 tokens, from token 2"]
        assert lines[4:] == shown
    foreign = {**sequence, "documents": [{**document, "text": "a\tb\n\x1b[1m\x9b\u202e"}]}
    assert list(peek.lines_of(step, [foreign], False, 0))[4:] == ["  | a\tb", "  | \\x1b[1m\\u009b\\u202e"]
    assert next(peek.lines_of({**step, "phase": "warm"}, [sequence], True, 0)) == (
        "step 3 of m, version 1, phase warm: 1 sequences   \x1b[1;36ma 1\x1b[0m")


def test_domains_have_colours_in_the_order_of_their_names_and_again_from_the_first(part):
    peek, names = part("peek"), [f"d{i:02}" for i in range(26)]
    sequences = [{"domain": name, "partition": 0, "ordinal": 0, "lane": 0, "slot": 0, "epoch": 0, "documents": []}
                 for name in reversed(names)]
    first = next(peek.lines_of({"step": 0, "mix": "m", "version": 0, "phase": ""}, sequences, True, 0))
    assert re.findall(r"1;(\d+)m(\w+)", first) == [(str(peek._COLOURS[i % 12]), name) for i, name in enumerate(names)]


@pytest.mark.parametrize("words, fits", [([], True), (["--rank", "0", "--world", "1"], True), (["--rank", "1", "--world", "2"], True),
                                         (["--rank", "1", "--world", "1"], False), (["--rank", "-1", "--world", "1"], False),
                                         (["--rank", "0"], False), (["--world", "1"], False), (["--width", "-1"], False)])
def test_a_rank_is_given_with_its_world_and_below_it(part, words, fits, capsys):
    if fits:
        assert part("peek")._arguments(["-c", "x.yml", "3", *words]).step == 3
    else:
        with pytest.raises(SystemExit):
            part("peek")._arguments(["-c", "x.yml", "3", *words])


@pytest.mark.parametrize("tty, environ, colours", [(True, {"TERM": "xterm"}, True), (False, {"TERM": "xterm"}, False), (True, {}, False),
                                                   (True, {"TERM": "dumb"}, False), (True, {"TERM": "xterm", "NO_COLOR": "1"}, False),
                                                   (True, {"TERM": "xterm", "NO_COLOR": ""}, True)])
def test_a_terminal_gets_colours_unless_it_says_otherwise(part, tty, environ, colours):
    assert part("peek").colours_of(types.SimpleNamespace(isatty=lambda: tty), environ) == colours


@pytest.fixture
def peek(part, monkeypatch):
    """peek(*words): exit code of the program for a step of three lanes, one sequence each; .calls has what it ran, .code how that ends."""
    calls, module = [], part("peek")
    sequences = [{"domain": f"d{lane}", "partition": 0, "ordinal": 0, "lane": lane, "slot": 0, "epoch": 0, "documents": []} for lane in range(3)]
    said = json.dumps({"step": 7, "mix": "m", "version": 1, "phase": "", "sequences": sequences})

    def run(*words):
        return module.main(["-c", "run.yml", "7", *words])

    def answer(words):
        calls.append(words)
        if isinstance(run.code, Exception):
            raise run.code
        return types.SimpleNamespace(returncode=run.code, stdout=said, stderr="about it\n")

    monkeypatch.setattr(part("_program"), "run", answer)
    run.calls, run.code, run.said = calls, 0, said
    return run


@pytest.mark.parametrize("words, code, lanes", [([], 0, [0, 1, 2]), (["--rank", "0", "--world", "1"], 0, [0, 1, 2]),
                                                (["--rank", "1", "--world", "3"], 0, [1]), (["--rank", "0", "--world", "2"], 0, [0, 1]),
                                                (["--rank", "0", "--world", "4"], 2, [])])
def test_a_step_is_shown_as_a_rank_has_it(peek, capsys, words, code, lanes):
    assert peek(*words) == code
    out, err = capsys.readouterr()
    assert [int(lane) for lane in re.findall(r"^lane (\d)", out, re.M)] == lanes and err.startswith("about it\n")
    assert ("--world 4: mix m has 3 lanes" in err) == (code != 0)
    assert peek.calls == [["inspect", "-c", "run.yml", "7", "--text", "--json"]]


def test_what_the_program_says_is_passed_on_with_its_exit_code(peek, package, capsys):
    assert peek("--json", "--mix", "other") == 0 and capsys.readouterr() == (peek.said, "about it\n")
    assert peek.calls == [["inspect", "-c", "run.yml", "7", "--text", "--json", "--mix", "other"]]
    peek.code = 3
    assert peek() == 3 and capsys.readouterr() == ("", "about it\n")
    for why in (package.riffle.UsageError("no program"), OSError("no program")):
        peek.code = why
        assert peek() == 2 and capsys.readouterr() == ("", "riffle.peek: no program\n")


# ---- held-out sets


def test_the_end_of_a_with_block_closes_its_passes_and_later_ones_stay_open(package):
    held_out, closed = package.riffle.Validation("c", "d", "127.0.0.1:1"), []
    with held_out:
        reading = type("Reading", (), {"close": lambda self: closed.append(1)})()
        held_out._passes.add(reading)
    assert closed == [1] and held_out._passes is None


@pytest.mark.parametrize("options, says", [({"batch": 0}, "batch"), ({"batch": 65537}, "batch"), ({"dtype": "int8"}, "dtype is int8"),
                                           ({"dtype": "float32"}, "dtype is float32"), ({"timeout": -1}, "timeout"), ({"open_timeout": -1}, "open_timeout")])
def test_what_a_held_out_set_cannot_have_is_refused(package, options, says):
    with pytest.raises(package.riffle.UsageError, match=says):
        package.riffle.Validation("c", "d", **options)
