"""The Python package on a real broker: steps, positions, commits, losses, held-out sets, signals, forks."""

import gc
import io
import json
import logging
import os
import re
import signal
import subprocess
import sys
import threading
import time

import fastavro
import numpy as np
import pytest
from rank import lines_of

from conftest import ROOT

LANES = 8


@pytest.fixture(scope="session")
def riffle_module(package):
    return package.riffle


@pytest.fixture
def tool(tools, bootstrap):
    def run(name, *words):
        done = subprocess.run([tools / name, *map(str, words)], env={**os.environ, "RIFFLE_BOOTSTRAP": bootstrap},
                              capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout
    return run


@pytest.fixture
def mix(unique, tool):
    def fill(*words):
        return tool("fill_batches", "--mix", unique, "--lanes", LANES, "--print", *words).splitlines()
    fill.name = unique
    return fill


@pytest.fixture
def open_reader(riffle_module, mix, bootstrap):
    """open_reader(**options) of the mix; all are closed with the test."""
    opened = []

    def run(rank=0, world=1, **options):
        opened.append(riffle_module.Reader(mix.name, bootstrap, rank, world, **{"timeout": 60, **options}))
        return opened[-1]
    yield run
    for reader in opened:
        reader.close()


def lines(steps):
    return [line for step in steps for line in lines_of(step)]


# --- steps


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("dtype", ["uint16", "uint32", "int64"])
def test_steps_are_those_that_were_published(mix, open_reader, dtype, threads):
    expected = mix("--steps", 40, "--abort-every", 5, "--end")
    reader = open_reader(step=0, dtype=dtype, threads=threads)
    seen = list(reader)  # held, all of them
    assert [step.step for step in seen] == list(range(40))
    assert all(step.tokens.dtype == np.dtype(dtype) for step in seen)
    assert lines(seen) == expected
    assert list(reader) == []  # ended is ended


def test_what_a_step_says_is_what_the_command_line_says(mix, open_reader, riffle, bootstrap):
    mix("--steps", 3, "--length", 16, "--end")
    printed = [json.loads(line) for line in riffle(
        "read", "--mix", mix.name, "-X", f"bootstrap.servers={bootstrap}", "--format", "jsonl").stdout.splitlines()]
    shown = []
    for step in open_reader(step=0):
        assert step.domain_names == dict(zip(step.domain_index.tolist(), step.domains))
        for i in range(len(step)):
            spans = step.spans(i)
            assert step.starts(i).tolist() == [span.start for span in spans]
            assert (spans[0].start, spans[0].keep, spans[0].kept()) == (0, None, {})
            assert step.no_loss(i).shape == (0, 2)
            shown.append({"step": step.step, "lane": int(step.lane[i]), "domain": step.domains[i],
                          "partition": int(step.partition[i]), "ordinal": int(step.ordinal[i]),
                          "epoch": int(step.epoch[i]), "source": spans[0].source, "tokens": step.tokens[i].tolist()})
            assert step.used[i] == len(step.tokens[i])
    assert shown == [{key: o[key] for key in shown[0]} for o in printed]


def test_a_step_says_how_often_each_domain_was_passed_over(fill, configure, riffle, riffle_module, bootstrap):
    """12 and 4 of 16 sequences a step, of 20 each."""
    fill("a", "b", sequences=20)
    config = configure({"a": 0.75, "b": 0.25})
    riffle("mix", "-c", config, "--until-step", 12)
    with riffle_module.Reader(json.loads(config.read_text())["mix"]["name"], bootstrap, 0, 1, step=0, timeout=60) as reader:
        seen = [reader.next(60).epochs for _ in range(12)]
    assert seen == [{"a": (12 * s + 11) // 20, "b": (4 * s + 3) // 20} for s in range(12)]


def test_steps_stay_as_they_are_when_the_reader_has_gone_on_and_is_closed(mix, open_reader):
    expected = mix("--steps", 200, "--end")
    reader = open_reader(step=0, ahead_bytes=1)
    kept = [step for step in reader if step.step % 7 == 0]
    rows = [step.tokens[3] for step in kept]
    reader.close()
    assert lines(kept) == [line for line in expected if int(line.split("\t")[0]) % 7 == 0]
    before = [row.copy() for row in rows]
    del kept, reader
    gc.collect()
    assert all((row == was).all() for row, was in zip(rows, before))  # an array holds its step


def test_a_step_that_nobody_holds_is_used_again(mix, open_reader):
    mix("--steps", 300, "--end")
    reader = open_reader(step=0, ahead_bytes=1, threads=1)
    assert len({step.tokens.ctypes.data for step in reader}) <= 4


def test_steps_that_are_decoded_ahead_fit_ahead_bytes(mix, open_reader, wait_for):
    mix("--steps", 100, "--length", 1024, "--end")
    waiting = lambda reader: int(re.search(r"^riffle_reader_queue_steps\{.*\} (\d+)$", reader.metrics(), re.M)[1])
    small = open_reader(step=0, ahead_bytes=1 << 20)
    step = small.next(60)
    large = open_reader(step=0)
    large.next(60)
    wait_for(lambda: waiting(large) > 50 and waiting(small) > 2, "as many steps as there may be")
    assert waiting(small) < (1 << 20) / step.tokens.nbytes < 20  # it has had more time than the other one


def test_tokens_are_written_into_the_callers_array(mix, open_reader, riffle_module):
    expected = mix("--steps", 5, "--length", 16, "--end")
    reader = open_reader(step=0)
    small, large = np.zeros(LANES * 2 * 17 - 1, np.uint32), np.zeros(LANES * 2 * 17 + 5, np.uint32)
    with pytest.raises(riffle_module.UsageError, match="step 0 takes 1088 bytes .* the buffer has 1084"):
        reader.next_into(small)
    with pytest.raises(riffle_module.UsageError, match="array of uint32"):
        reader.next_into(large.astype(np.int64))
    seen = []
    while (step := reader.next_into(large, timeout=30)) is not None:
        assert np.shares_memory(step.tokens, large)
        assert (step.tokens.reshape(-1) == large[:-5]).all()
        seen += lines([step])
    assert seen == expected


def test_targets_are_a_shift_with_positions_and_documents(mix, open_reader, riffle_module):
    mix("--steps", 2, "--length", 16, "--end")
    step = next(open_reader(step=0))
    t = step.targets(mask_boundaries=True)
    assert (t.input_ids == step.tokens[:, :-1]).all()
    for i in range(len(step)):
        first, second = step.starts(i)
        labels = step.tokens[i, 1:].astype(np.int64)
        assert (step.targets().labels[i] == labels).all()
        labels[second - 1] = -100
        assert (t.labels[i] == labels).all()
        assert t.position_ids[i].tolist() == [*range(second), *range(16 - second)]
        assert t.document_ids[i].tolist() == [0] * second + [1] * (16 - second)
    ends = riffle_module.cu_seqlens(t.position_ids)
    assert ends.dtype == np.int32 and ends[0] == 0 and ends[-1] == len(step) * 16
    assert np.diff(ends).tolist() == [8, 8] * len(step)


def test_the_shape_of_the_mix_is_known_before_the_first_step(mix, open_reader):
    mix("--steps", 2, "--length", 16, "--end")
    reader = open_reader(1, 4, step=0)
    info = reader.info
    assert info[:4] == (LANES, 2, 16, 16) and info.schedule and info.tokenizer
    assert reader.position == 0
    step = next(reader)
    assert step.step == 0 and reader.info[:6] == info[:6]
    assert step.tokens.shape == (4, 17) and set(step.lane.tolist()) == {2, 3}


@pytest.mark.parametrize("where", ["before its first step", "behind its last step"])
def test_the_shape_of_a_mix_is_known_where_no_step_comes(
        where, fill, configure, riffle, bootstrap, riffle_module):
    """Before: a mixer has begun, and waits. Behind: a reader that resumes at the end."""
    fill("a")
    config = configure({"a": 1}, domains={"a": {"on_end": "stop"}})
    name = json.loads(config.read_text())["mix"]["name"]
    riffle("mix", "-c", config, *(["--until-step", 0] if where == "before its first step" else []))
    end = json.loads(riffle("status", "-c", config, "--json").stdout)["mix"].get("step_next") or 0
    with riffle_module.Reader(name, bootstrap, step=end, timeout=30) as reader:
        info = reader.info
        assert info[:4] == (8, 8, 16, 64) and info.schedule and info.tokenizer
        assert reader.position == end


def test_the_shape_of_a_mix_that_nobody_has_begun_is_waited_for(configure, fill, riffle, bootstrap, riffle_module):
    fill("a")
    config = configure({"a": 1})
    name = json.loads(config.read_text())["mix"]["name"]
    with riffle_module.Reader(name, bootstrap, step=0, timeout=1) as reader:
        with pytest.raises(riffle_module.StepTimeout, match="step 0 of mix .* did not come within"):
            reader.info
        riffle("mix", "-c", config, "--until-step", 2)
        assert reader.info[:4] == (8, 8, 16, 64)
        assert [reader.next(timeout=30).step for _ in range(2)] == [0, 1]


@pytest.mark.parametrize("bad, says", [
    ("gap", "gap: step 6, where step 5 is due"),
    ("duplicate", "duplicate: step 4 again, where step 5 is due"),
    ("schedule", "another mix has written to this topic"),
    ("mix", "belongs to mix somebody, not to"),
    ("hash", "hash"),
    ("length", "32 tokens, where earlier sequences have 33"),
])
@pytest.mark.parametrize("world", [1, 8])
def test_what_is_wrong_in_the_log_stops_the_reader_at_its_step(mix, open_reader, riffle_module, bad, says, world):
    expected = mix("--steps", 10, "--bad", bad, "--bad-step", 5, "--bad-lane", 2, "--end")
    reader = open_reader(2 if world == 8 else 0, world, step=0)
    seen = []
    for again in range(2):  # the failure stays
        with pytest.raises(riffle_module.DataError, match=says):
            for step in reader:
                seen += lines([step])
        assert reader.position == 5
    mine = [line for line in expected if world == 1 or line.split("\t")[1] == "2"]
    assert seen == mine[:5 * len(mine) // 10]


def test_a_step_of_another_length_is_refused_at_each_call(mix, open_reader, riffle_module):
    expected = mix("--steps", 5)
    mix("--keep", "--first", 5, "--steps", 5, "--length", 16, "--end")
    reader = open_reader(step=0)
    seen = []
    for again in range(3):
        with pytest.raises(riffle_module.DataError, match="step 5: .*17 tokens, where earlier sequences have 33"):
            for step in reader:
                seen += lines([step])
        assert reader.position == 5
    assert seen == expected


# --- positions


def test_seek_goes_forth_and_back(mix, open_reader):
    expected = mix("--steps", 300, "--abort-every", 7, "--end")
    reader = open_reader(step=0)
    for to in (250, 3, 3, 299, 0, 120):
        reader.seek(to)
        assert reader.position == to
        assert lines([next(reader)]) == expected[to * LANES:(to + 1) * LANES]
    reader.seek(300)
    assert reader.next(30) is None  # behind the end
    reader.seek(298)
    assert lines(reader) == expected[298 * LANES:]


def test_seek_to_an_expired_step_names_the_earliest_and_changes_nothing(mix, open_reader, riffle_module, tool):
    mix("--steps", 100, "--steps-per-transaction", 1, "--end")
    reader = open_reader(step=70)
    assert next(reader).step == 70
    tool("trim", f"{mix.name}.batches", *[w for lane in range(LANES) for w in (lane, 2 * 60)])
    with pytest.raises(riffle_module.ExpiredError, match="the earliest retained step is 60"):
        reader.seek(59)
    assert reader.position == 71
    assert next(reader).step == 71
    with pytest.raises(riffle_module.ExpiredError, match="step 3 of mix .* the earliest retained step is 60"):
        open_reader(step=3)


def test_the_state_of_a_mix_without_a_ledger_is_mix_run_and_step(mix, open_reader, riffle_module):
    mix("--steps", 9, "--end")
    reader = open_reader(step=0, run="r")
    next(reader), next(reader)
    state = json.loads(json.dumps(reader.state_dict()))
    assert state == {"mix": mix.name, "run": "r", "step": 2}
    other = open_reader(3, 8, step=0, run="r")
    other.load_state_dict(state)
    assert next(other).step == 2
    with pytest.raises(riffle_module.DataError, match="the checkpoint is of mix other, this reader is of mix"):
        reader.load_state_dict({**state, "mix": "other"})
    with pytest.raises(riffle_module.DataError, match="has no run, step"):
        reader.load_state_dict({"mix": mix.name})


def test_a_state_of_another_run_is_taken_with_a_warning(mix, open_reader, recwarn):
    mix("--steps", 9, "--end")
    reader = open_reader(step=0, run="fork")
    reader.load_state_dict({"mix": mix.name, "run": "fork", "step": 0})
    assert not recwarn.list
    with pytest.warns(RuntimeWarning, match="the checkpoint is of run trainers; run fork continues from its step 3"):
        reader.load_state_dict({"mix": mix.name, "run": "trainers", "step": 3})
    assert next(reader).step == 3


def test_a_mix_recreated_under_its_name_is_another_one(mix, open_reader, riffle_module):
    mix("--steps", 3, "--end")
    reader = open_reader(step=0)
    next(reader)
    schedule = reader.info.schedule
    assert next(open_reader(step=0, schedule=schedule)).step == 0
    with pytest.raises(riffle_module.DataError, match="the checkpoint was made with .* is another one than then"):
        next(open_reader(step=0, schedule=schedule ^ 1))


def test_a_reader_whose_topics_were_recreated_while_it_waits_names_that(mix, open_reader, riffle_module, tool):
    """Its place is searched once. A second time, the log is wrong: how often it takes depends on when it looks."""
    mix("--steps", 9)
    reader = open_reader(step=0, timeout=3)
    assert [next(reader).step for _ in range(9)] == list(range(9))
    why = "nothing"
    for steps in (6, 3) * 5:
        for name in ("ledger", "batches"):
            tool("topic", "delete", f"{mix.name}.{name}")
        mix("--steps", steps)
        try:
            pytest.fail(f"step {next(reader).step} came")
        except riffle_module.StepTimeout:
            continue
        except riffle_module.DataError as e:
            why = str(e)
            break
    assert "step 9 is due, but this offset is not in the log: the topics of the mix were deleted or recreated since this reader " \
        "began, or retention cut them: start it again" in why


@pytest.mark.parametrize("options, says", [
    (dict(rank=2, world=2), "rank 2 is not in a world of 2"),
    (dict(rank=0, world=3), "does not divide the 8 lanes"),
    (dict(run="mixer"), "not a name of a run"),
    (dict(dtype="uint8"), "dtype is uint8"),
    (dict(dtype="float32"), "dtype is float32"),
    (dict(threads=65), "threads is 65"),
    (dict(rank=-1, world=1), "rank is -1"),
    (dict(rank="0", world=1), "rank is '0': must be a whole number"),
    (dict(run=None), "run is None: must be text"),
    (dict(rank=0, world=2.0), "world is 2.0: must be a whole number"),
    (dict(commit_every=None), "commit_every is None: must be a whole number"),
    (dict(step=2**62), "out of range"),
])
def test_what_does_not_fit_is_refused(mix, open_reader, riffle_module, options, says):
    mix("--steps", 1)
    with pytest.raises(riffle_module.UsageError, match=says):
        open_reader(**options)


@pytest.mark.parametrize("options", [dict(rank=1), dict(world=2)])
def test_a_rank_alone_or_a_world_alone_is_refused(riffle_module, bootstrap, options):
    with pytest.raises(riffle_module.UsageError, match="give both rank and world, or neither"):
        riffle_module.Reader("m", bootstrap, **options)


# --- commits and losses


def test_commits_with_and_without_waiting(mix, open_reader, riffle_module, bootstrap):
    mix("--steps", 50, "--end")
    reader = open_reader()
    assert (reader.position, reader.committed) == (0, 0)
    for _ in range(4):
        next(reader)
    reader.commit()
    assert reader.committed == 4
    for _ in range(30):
        next(reader)
        reader.commit(wait=False)
    assert reader.committed <= 34
    reader.flush()
    assert reader.committed == 34
    assert riffle_module.committed_step(mix.name, bootstrap) == 34
    assert riffle_module.committed_step(mix.name, bootstrap, run="other") == 0
    next(reader)
    reader.commit(wait=False)
    reader.close()  # gives what is on its way a moment
    assert open_reader().position == 35


def test_a_reader_that_commits_by_itself(mix, open_reader):
    mix("--steps", 21, "--lead", 8, "--end")
    reader = open_reader(commit_every=1000)  # a quarter of the lead: every 2 steps
    for _ in range(7):
        next(reader)
    reader.flush()
    assert reader.committed == 6
    assert list(reader)[-1].step == 20
    assert reader.committed == 21  # the end too, which is no second step


def test_a_run_whose_commits_are_gone_is_lost(mix, riffle_module, bootstrap, open_reader):
    mix("--steps", 10, "--ledger-step", 7, "--end")
    for call in (open_reader, lambda: riffle_module.committed_step(mix.name, bootstrap)):
        with pytest.raises(riffle_module.LostError, match="was at step 7, as the ledger says"):
            call()
    assert next(open_reader(step=7)).step == 7




@pytest.fixture
def with_feedback(mix, configure, fill, unique, riffle):
    """A real mix, so that its topics are there."""
    fill("a", "b")
    path = configure({"a": 1, "b": 3})
    riffle("mix", "-c", path, "--until-step", 5)
    return f"{unique}-mix"


@pytest.mark.parametrize("alone", [False, True])
def test_losses_are_reported(with_feedback, riffle_module, bootstrap, alone):
    kind = riffle_module.Reporter if alone else riffle_module.Reader
    with kind(with_feedback, bootstrap, 1, 4, run="r") as reporter:
        reporter.report(3, {"b": (2.5, 0.5, 7), "a": (float("nan"), 0, 1), "none": (0, 0, 0)})
        reporter.flush()
        for losses, says in [({"a": (1, 0, -1)}, "tokens of domain a is -1: must be at least 0"), ({"a/b": (1, 0, 1)}, "not a name")]:
            with pytest.raises(riffle_module.UsageError, match=says):
                reporter.report(3, losses)
    out = subprocess.run(["kcat", "-C", "-q", "-e", "-b", bootstrap, "-t", f"{with_feedback}.feedback", "-f", "%s"],
                         capture_output=True, timeout=60).stdout
    schema = fastavro.parse_schema(json.loads((ROOT / "schemas/Feedback.avsc").read_text()))
    body = io.BytesIO(out[10:])
    record = fastavro.schemaless_reader(body, schema)
    assert body.read() == b""  # one record
    assert [record[key] for key in ("mix", "run", "step", "rank", "world")] == [with_feedback, "r", 3, 1, 4]
    assert [loss["domain"] for loss in record["losses"]] == ["a", "b"]
    assert record["losses"][1] == {"domain": "b", "loss_sum": 2.5, "excess_sum": 0.5, "tokens": 7}
    assert record["losses"][0]["loss_sum"] != record["losses"][0]["loss_sum"]


def test_a_mix_without_a_topic_for_losses_says_so(mix, open_reader, riffle_module):
    mix("--steps", 1)
    with pytest.raises(riffle_module.UsageError, match="feedback does not exist on .*: `riffle topics --create` creates it"):
        open_reader().report(0, {"a": (1, 0, 1)})


# --- what was trained


def test_what_was_trained_is_committed_and_is_the_state(mix, open_reader, riffle_module, bootstrap):
    mix("--steps", 20, "--end")
    reader = open_reader()
    for _ in range(9):
        next(reader)
    assert (reader.position, reader.state_dict()["step"]) == (9, 9)  # as far as anybody has said
    reader.trained(3)
    reader.flush()
    assert reader.committed == riffle_module.committed_step(mix.name, bootstrap) == 4
    assert (reader.position, reader.state_dict()["step"], reader.state_dict(step=7)["step"]) == (9, 4, 7)
    reader.trained()
    with pytest.raises(riffle_module.UsageError, match=r"step 2 is trained already, step 5 is next"):
        reader.trained(2)
    with pytest.raises(riffle_module.UsageError, match=r"step 9 was not given whole yet; all below 9 were. Pass the number of"):
        reader.trained(9)
    with pytest.raises(riffle_module.UsageError, match="use one of them"):
        reader.commit()
    reader.close()  # sends what is on its way
    assert next(open_reader()).step == 5


def test_a_seek_begins_to_train_elsewhere(mix, open_reader, riffle_module, bootstrap):
    mix("--steps", 20, "--end")
    reader = open_reader()
    next(reader)
    reader.trained(0)
    reader.load_state_dict(reader.state_dict(step=10))
    with pytest.raises(riffle_module.UsageError, match="step 0 was not given, because reading began at step 10"):
        reader.trained(0)
    next(reader)
    reader.trained()
    reader.flush()
    assert riffle_module.committed_step(mix.name, bootstrap) == 11


def test_a_reader_that_commits_what_it_gives_is_not_told_what_was_trained(mix, open_reader, riffle_module):
    mix("--steps", 2, "--end")
    reader = open_reader(commit_every=1)
    next(reader)
    with pytest.raises(riffle_module.UsageError, match="commits by itself what it has given"):
        reader.trained(0)


@pytest.mark.parametrize("rank", [0, 1])
def test_places_go_from_the_process_that_reads_to_the_one_that_trains(mix, open_reader, riffle_module, bootstrap, rank):
    mix("--steps", 20, "--abort-every", 3, "--end")
    reader = open_reader(rank, 2, step=0)
    places = {reader.place.step: reader.place}
    for step in reader:
        places[step.step + 1] = reader.place
    assert list(places) == list(range(21)) and len(places[0].offsets) == LANES // 2
    with riffle_module.Progress(mix.name, bootstrap, rank, 2, commit_every=5) as progress:
        progress.trained(places[3])
        progress.flush()
        assert progress.committed == 3
        with pytest.raises(riffle_module.UsageError, match="all steps below 3 are trained already, this says below 2"):
            progress.trained(places[2])
        with pytest.raises(riffle_module.UsageError, match="a place of 3 lanes, where rank . of 2 has 4"):
            progress.trained(places[4]._replace(offsets=places[4].offsets[1:]))
        progress.trained(places[14])
    other = riffle_module.Reader(mix.name, bootstrap, 1 - rank, 2, step=0, timeout=60)
    while other.position < 14:
        next(other)
    other.commit()
    other.close()
    resumed = open_reader(rank, 2)
    assert resumed.position == 14  # exact offsets: it reads on without a search
    assert next(resumed).step == 14


def test_a_last_commit_is_repeated_unless_the_run_stands_higher(mix, open_reader, riffle_module, bootstrap, wait_for,
                                                                caplog):
    """A late commit of a process that is dead takes the run back; one of a newer process does not."""
    mix("--steps", 20, "--end")
    reader = open_reader()
    places = [reader.place]
    for step in reader:
        places.append(reader.place)
    late, mended, newer = (riffle_module.Progress(mix.name, bootstrap, run=run) for run in ("late", "late", "newer"))
    with late, mended, newer, riffle_module.Progress(mix.name, bootstrap, run="newer") as hung:
        mended.trained(places[9])
        mended.flush()
        hung.trained(places[5])
        hung.flush()
        newer.trained(places[12])
        newer.flush()
        late.trained(places[4])
        late.flush()
        assert riffle_module.committed_step(mix.name, bootstrap, run="late") == 4
        wait_for(lambda: riffle_module.committed_step(mix.name, bootstrap, run="late", starts=False) == 9,
                 "the last commit is repeated")
        wait_for(lambda: f"READ-RUN-TWICE run newer of mix {mix.name} has committed more than step 5" in caplog.text,
                 "the process that hung comes by")
        assert riffle_module.committed_step(mix.name, bootstrap, run="newer") == 12


def test_two_that_commit_the_same_lanes_warn_of_each_other_within_ten_seconds(mix, open_reader, riffle_module, bootstrap, caplog):
    mix("--steps", 300, "--end")
    reader, begun = open_reader(), time.monotonic()
    with riffle_module.Progress(mix.name, bootstrap) as one, riffle_module.Progress(mix.name, bootstrap) as two:
        said = []
        while len(said) < 2:
            next(reader)
            for progress in (one, two):
                progress.trained(reader.place)
                progress.flush()
            time.sleep(0.05)
            said = [line for line in caplog.text.splitlines() if "READ-RUN-TWICE" in line and "commits the same lanes" in line]
            assert time.monotonic() < begun + 10
    assert len({re.search(r"same lanes, (\S+) .host", line)[1] for line in said}) == 1  # both are of this process


def test_a_peer_that_trains_the_same_lanes_without_committing_is_not_warned_of(mix, open_reader, caplog):
    mix("--steps", 300, "--end")
    reader, peer = open_reader(), open_reader()
    begun = time.monotonic()
    while time.monotonic() < begun + 6:  # four looks
        step = next(reader)
        next(peer)
        peer._training.note(step.step)  # what trained() of a data set does where `commits` is False
        reader.trained(step.step)
        reader.flush()
        time.sleep(0.05)
    assert "READ-RUN-TWICE" not in caplog.text


# --- waiting


def test_a_wait_says_that_the_ledger_is_gone(mix, open_reader, riffle_module):
    mix("--steps", 2)
    reader = open_reader(step=0)
    next(reader), next(reader)
    with pytest.raises(riffle_module.StepTimeout, match="step 2 .* the ledger was deleted"):
        reader.next(3)
    assert reader.position == 2
    mix("--first-step", 2, "--steps", 1, "--keep-topic")
    assert reader.next(30).step == 2


def test_a_wait_says_that_the_mixer_is_behind(with_feedback, riffle_module, bootstrap):
    with riffle_module.Reader(with_feedback, bootstrap, step=5) as reader:
        with pytest.raises(riffle_module.StepTimeout,
                           match="^step 5 of mix .* did not come within [34] s: no mixer runs; step 5 is next: start `riffle mix`$"):
            reader.next(3)


def test_a_checkpoint_beyond_the_mix_waits_for_a_named_step_and_is_refused_once_the_mix_has_ended(
        fill, configure, riffle, unique, riffle_module, bootstrap):
    """The mix may come to the step of the checkpoint, so a reader waits for it until it knows that it never comes."""
    fill("a")
    path, mix = configure({"a": 1}), f"{unique}-mix"
    riffle("mix", "-c", path, "--until-step", 10)
    with riffle_module.Reader(mix, bootstrap, step=0) as reader:
        state = {**reader.state_dict(), "step": 99}
        reader.load_state_dict(state)
        with pytest.raises(riffle_module.StepTimeout,
                           match=f"^step 99 of mix {mix} did not come within 3 s: no mixer runs; step 10 is next: start `riffle mix`$"):
            reader.next(3)
        riffle("mix", "-c", path, "--end-at-step", 20)
        with pytest.raises(riffle_module.UsageError, match=f"mix {mix} ended before step 20, so that no step 99 comes"):
            reader.next(30)
        reader.load_state_dict({**state, "step": 19})
        assert reader.next(30).step == 19


def test_a_wait_says_for_which_run_the_mixer_waits(fill, configure, riffle, unique, riffle_module, bootstrap, wait_for):
    fill("a")
    path = configure({"a": 1}, max_lead_steps=4, runs=["r"])
    mixer = riffle.popen("mix", "-c", path)
    with riffle_module.Reader(f"{unique}-mix", bootstrap, run="r") as reader:
        assert [next(reader).step for _ in range(4)] == [0, 1, 2, 3]
        with pytest.raises(riffle_module.StepTimeout, match="at most 4 steps ahead and waits for run r, which has committed step "
                                                            "0. This reader was given steps 0 to 3, and none of them is"):
            reader.next(3)
        reader.commit()
        assert reader.next(30).step == 4
        mixer.terminate()
        mixer.wait()
        assert [reader.next(30).step for _ in range(3)] == [5, 6, 7]
        reader.commit()  # which no mixer has heard

        def reason():
            with pytest.raises(riffle_module.StepTimeout) as why:
                reader.next(3)
            return str(why.value)

        expected = f"step 8 of mix {unique}-mix did not come within \\d+ s: no mixer runs; run r has committed step 8: start `riffle mix`"
        wait_for(lambda: re.fullmatch(expected, reason()), "the end of the mixer, as the election knows it")


def test_a_wait_without_an_end_is_warned_of(mix, open_reader, riffle_module, riffle, bootstrap, caplog, wait_for):
    """A reader, sequences by index, and `riffle read` wait at the same time; each says the same, once."""
    mix("--steps", 2)
    command = riffle.popen("read", "--mix", mix.name, "-X", f"bootstrap.servers={bootstrap}", "--from-step", 2,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    sequences = riffle_module.Sequences(mix.name, bootstrap, run="by-index", steps=9)
    sequences._extent, sequences._places_mine = riffle_module.Extent(2, LANES, LANES, 16, False, True), range(LANES)
    reader = open_reader(step=2, timeout=None)
    threads = [threading.Thread(target=lambda wait=wait: pytest.raises(riffle_module.UsageError, wait), daemon=True)
               for wait in (lambda: next(reader), lambda: sequences.step(2))]
    for thread in threads:
        thread.start()
    said = f"step 2 of mix {mix.name} does not come: topic {mix.name}.ledger is missing, and {mix.name}.batches has held steps"
    warned = lambda: [r for r in caplog.records if r.levelname == "WARNING" and "READ-WAITING seconds=10: " in r.getMessage()]
    wait_for(lambda: len(warned()) == 2, "the warnings of two readers")
    assert all(r.getMessage().startswith(f"riffle: READ-WAITING seconds=10: {said}") for r in warned()), caplog.text
    reader.close()
    sequences.close()
    for thread in threads:
        thread.join(60)
    line = command.stderr.readline()
    while "READ-WAITING" not in line:
        line = command.stderr.readline()
        assert line, "riffle read has ended"
    command.terminate()
    assert f"READ-WAITING seconds=10: {said}" in line and "READ-WAITING" not in command.communicate(timeout=60)[1]


def take(reader, n):
    return [next(reader).step for _ in range(n)]


def test_steps_that_nobody_trains_are_warned_of_at_the_tenth_and_at_the_end(mix, open_reader, caplog):
    mix("--steps", 12, "--lead", 64)
    reader = open_reader()
    take(reader, 9)
    assert "READ-NOT-TRAINED" not in caplog.text
    take(reader, 1)
    assert (f"READ-NOT-TRAINED 10 steps of mix {mix.name} were given and none was trained: call reader.trained(step) after each, "
            "or a restart reads them again, and the mixer waits when it is 64 steps ahead") in caplog.text
    take(reader, 2)
    assert caplog.text.count("READ-NOT-TRAINED") == 1
    reader.close()
    reader.close()
    assert caplog.text.count("READ-NOT-TRAINED") == 2 and "READ-NOT-TRAINED 12 steps" in caplog.text
    with open_reader() as reader:
        take(reader, 1)
    assert "READ-NOT-TRAINED 1 step of mix" in caplog.text


def fails_in_its_first_step(reader):
    with pytest.raises(KeyError), reader:
        take(reader, 1)
        raise KeyError("loss")


@pytest.mark.parametrize("options, loop", [
    ({}, lambda r: (take(r, 1), r.trained(0), take(r, 11))),
    ({}, lambda r: (take(r, 3), r.commit(wait=False), take(r, 9))),
    ({}, lambda r: (take(r, 3), r.state_dict(), take(r, 9))),
    ({}, lambda r: (take(r, 3), r.place, take(r, 9))),
    ({}, lambda r: (r.seek(1), take(r, 11))),
    ({}, lambda r: (r.load_state_dict({"mix": r.mix, "run": r.run, "step": 0}), take(r, 12))),
    ({}, lambda r: r.info),
    ({}, fails_in_its_first_step),
    ({"commit_every": 5}, lambda r: take(r, 12)),
    ({"step": 0}, lambda r: take(r, 12)),
], ids=["trained", "commit", "state_dict", "place", "seek", "load_state_dict", "info", "exception", "commit_every", "step"])
def test_a_program_that_trains_in_another_way_is_not_warned(mix, open_reader, caplog, options, loop):
    mix("--steps", 12, "--lead", 64)
    reader = open_reader(**options)
    loop(reader)
    reader.close()
    assert "READ-NOT-TRAINED" not in caplog.text


@pytest.mark.parametrize("commits", ["trained", "commit"])
def test_a_mistyped_run_is_warned_of(with_feedback, riffle_module, bootstrap, caplog, commits):
    for run in ("trainers", "trainer"):
        with riffle_module.Reader(with_feedback, bootstrap, run=run) as reader:
            for step in take(reader, 2):
                reader.trained(step) if commits == "trained" else reader.commit()
            reader.flush()
        assert caplog.text.count("READ-RUN-UNKNOWN") == (run == "trainer")
    assert "READ-RUN-UNKNOWN run trainer is not in mix.runs (trainers): the mixer does not wait for it" in caplog.text


def test_a_broker_that_does_not_answer_is_one_clear_sentence(riffle_module):
    begun = time.monotonic()
    for call in (lambda: riffle_module.Reader("m", "127.0.0.1:1", open_timeout=1),
                 lambda: riffle_module.committed_step("m", "127.0.0.1:1", open_timeout=1),
                 lambda: list(riffle_module.Validation("c", "d", "127.0.0.1:1", open_timeout=1))):
        with pytest.raises(riffle_module.BrokerError, match="no broker answers at 127.0.0.1:1"):
            call()
    assert time.monotonic() - begun < 20


def test_a_broker_that_nobody_named_is_left_to_the_library(riffle_module, monkeypatch):
    """It has the default, and its message says that the address is one."""
    monkeypatch.delenv("RIFFLE_BOOTSTRAP", raising=False)
    assert riffle_module.reader.bootstrap_of(None, None) is None
    monkeypatch.setenv("RIFFLE_BOOTSTRAP", "")
    assert riffle_module.reader.bootstrap_of(None, {"acks": "all"}) is None
    monkeypatch.setenv("RIFFLE_BOOTSTRAP", "h:1")
    assert riffle_module.reader.bootstrap_of(None, None) == b"h:1"
    assert riffle_module.reader.bootstrap_of(None, {"bootstrap.servers": "h:2"}) is None


WAITS = {
    "next": "r = riffle.Reader(mix, bootstrap, step=0); print('waits', flush=True); next(r)",
    "open": "print('waits', flush=True); riffle.Reader(mix, '127.0.0.1:1', open_timeout=60)",
    "validation": "print('waits', flush=True); list(riffle.Validation('c', 'd', '127.0.0.1:1', open_timeout=60))",
}


@pytest.mark.parametrize("what", WAITS)
def test_keyboard_interrupt_ends_a_wait(mix, package, bootstrap, what):
    mix("--steps", 0)
    # A parent that was itself started in the background has its children ignore SIGINT.
    program = "import signal, riffle\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n" \
              f"mix, bootstrap = {mix.name!r}, {bootstrap!r}\ntry:\n {WAITS[what]}\n" \
              "except KeyboardInterrupt:\n print('interrupted', flush=True)\n"
    process = subprocess.Popen([sys.executable, "-c", program], env=package.env, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "waits\n"
    time.sleep(0.2)  # it may be on its way into the wait: both are to be ended
    begun = time.monotonic()
    process.send_signal(signal.SIGINT)
    assert process.stdout.readline() == "interrupted\n"
    assert time.monotonic() - begun < 30  # it would go on for a minute at least
    process.communicate(timeout=90)


# --- processes


def test_a_fork_is_detected_and_harms_nobody(mix, open_reader, riffle_module):
    expected = mix("--steps", 20, "--end")
    reader = open_reader(step=0)
    first = next(reader)
    out, into = os.pipe()
    child = os.fork()
    if child == 0:
        says = []
        for call in (reader.next, reader.commit, lambda: reader.seek(3), lambda: reader.report(0, {}), reader.flush,
                     lambda: reader.trained(0)):
            try:
                call()
                says.append("nothing")
            except riffle_module.UsageError as why:
                says.append(str(why))
        tokens = int(first.tokens[0, 0])  # memory is there, as a copy
        first = None
        reader.close()
        os.write(into, json.dumps([says, tokens]).encode())
        os._exit(0)
    os.close(into)
    with os.fdopen(out) as answer:
        says, tokens = json.loads(answer.read())
    assert os.waitpid(child, 0)[1] == 0
    assert tokens == first.tokens[0, 0]
    assert len(says) == 6 and all("do not survive a fork" in s and str(os.getpid()) in s for s in says)
    assert lines([first, *reader]) == expected


def test_a_closed_reader_says_so(mix, open_reader, riffle_module):
    mix("--steps", 1)
    reader = open_reader()
    reader.close()
    reader.close()
    with pytest.raises(riffle_module.UsageError, match=f"^this reader of mix {mix.name} was closed: open a new riffle.Reader$"):
        next(reader)


# --- held-out sets


@pytest.mark.parametrize("partitions", [1, 3])
def test_a_held_out_set_is_read_once_in_order(fill, unique, riffle_module, bootstrap, configure, riffle, partitions):
    fill("d.valid", sequences=150 * partitions, partitions=partitions)
    seen = list(riffle_module.Validation(unique, "d", bootstrap, batch=40))
    places = [(int(p), int(o)) for step in seen for p, o in zip(step.partition, step.ordinal)]
    assert places == sorted(places) and len(set(places)) == len(places) == 150 * partitions
    assert [len(step) for step in seen[:-1]] == [40] * (len(seen) - 1) and 0 < len(seen[-1]) <= 40
    assert [step.step for step in seen] == list(range(len(seen)))
    assert {name for step in seen for name in step.domains} == {"d"}
    assert {(step.lr_scale, step.phase) for step in seen} == {(1.0, "")}
    v = riffle_module.Validation(unique, "d", bootstrap, batch=40, dtype="int64")
    assert len(v) == 150 * partitions
    assert all((a.tokens == b.tokens).all() for a, b in zip(seen, v))
    assert (v.info().partitions, v.info().sequence_length) == (partitions, 64)
    # the command line reads the same
    path = configure({"d": 1}, create=False)
    printed = [json.loads(x) for x in riffle("read", "-c", path, "--set", "valid", "--domain", "d", "--format",
                                             "jsonl").stdout.splitlines()]
    assert [(o["partition"], o["ordinal"]) for o in printed] == places
    assert [o["tokens"] for o in printed] == [row.tolist() for step in seen for row in step.tokens]
    assert len(riffle("read", "-c", path, "--set", "valid", "--domain", "d").stdout.splitlines()) == -(
        -150 * partitions // 64)


def test_the_passes_of_a_with_block_are_closed_at_its_end(fill, unique, riffle_module, bootstrap):
    fill("d.valid", sequences=50)
    with riffle_module.Validation(unique, "d", bootstrap, batch=10) as v:
        begun, other = iter(v), iter(v)
        assert [next(begun).step, next(begun).step, next(other).step] == [0, 1, 0]
        assert len(list(v)) == 5
    for left in (begun, other):
        with pytest.raises(riffle_module.UsageError, match="this pass over the valid set of domain .* was closed: iterate"):
            next(left)
    assert len(list(v)) == 5  # it can be read again, and entered again
    with v:
        assert len(v) == 50


def test_a_set_without_an_end_is_read_as_far_as_it_is(fill, unique, riffle_module, bootstrap):
    fill("d.valid", sequences=10, live=True)
    assert sum(len(step) for step in riffle_module.Validation(unique, "d", bootstrap)) == 10


def test_an_empty_set_yields_nothing(fill, unique, riffle_module, bootstrap):
    fill("d.test", sequences=0)
    v = riffle_module.Validation(unique, "d", bootstrap, set="test")
    assert (list(v), len(v)) == ([], 0)


def test_a_set_that_does_not_fit_is_refused(fill, unique, riffle_module, bootstrap):
    fill("d")
    for options, says in [(dict(), f"topic {unique}.d.valid does not exist"), (dict(set="dev"), "\"dev\" is not a set"),
                          (dict(batch=0), "batch is 0"), (dict(dtype="float64"), "dtype is float64")]:
        with pytest.raises(riffle_module.UsageError, match=says):
            list(riffle_module.Validation(unique, "d", bootstrap, **options))
    assert sum(len(step) for step in riffle_module.Validation(unique, "d", bootstrap, set="train")) == 200


def test_a_set_whose_beginning_was_deleted_is_an_error(fill, unique, riffle_module, bootstrap, tool):
    fill("d.valid", sequences=50)
    tool("trim", f"{unique}.d.valid", 0, 5)
    with pytest.raises(riffle_module.DataError, match="ordinal 5, where 0 is due: the beginning of the topic was"):
        list(riffle_module.Validation(unique, "d", bootstrap))


@pytest.mark.parametrize("words, says", [
    (["--set", "valid"], "which domain"),
    (["--domain", "d"], "--domain is for --set"),
    (["--set", "valid", "--domain", "d", "--world", 2], "--world is for a mix"),
    (["--set", "valid", "--domain", "x"], "has no domain x"),
])
def test_read_refuses_what_does_not_belong_to_a_set(configure, riffle, words, says):
    done = riffle("read", "-c", configure({"d": 1}, create=False), *words, check=False)
    assert done.returncode == 2 and says in done.stderr


def test_what_the_library_logs_goes_to_pythons_logging(open_reader, mix, caplog):
    mix("--steps", 3)
    with caplog.at_level(logging.INFO, logger="riffle"):
        open_reader()
    said = [(r.name, r.levelname) for r in caplog.records if "step 0" in r.getMessage()]
    assert said == [("riffle", "INFO")] or said == [("riffle", "WARNING")], caplog.text


def test_without_a_handler_its_lines_go_to_stderr(package, mix, bootstrap):
    mix("--steps", 3)
    program = f"import riffle; riffle.Reader({mix.name!r}, {bootstrap!r}, 0, 1, timeout=60).close()"
    done = subprocess.run([sys.executable, "-c", program], env=package.env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and re.search(r"^\d{4}-\d\d-\d\dT\S+Z (info|warning) .*step 0", done.stderr, re.M), done.stderr
