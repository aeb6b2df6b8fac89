"""riffle retain on a real broker: what it deletes, what it refuses, what it leaves alone."""

import re
import subprocess

import pytest

WEIGHTS = {"a": 0.7, "b": 0.3}


@pytest.fixture
def mixed(riffle, fill, configure):
    """A mix of 60 published steps on 8 lanes, many transactions."""
    fill("a", "b", sequences=100)
    config = configure(WEIGHTS)
    riffle("mix", "-c", config, "--until-step", 60)
    return config


def retain(riffle, config, step, *more):
    return riffle("retain", "-c", config, "--from-step", step, *more, check=False)


def first_kept(riffle, config):
    """The earliest retained step, as a reader that asks for step 0 is told."""
    done = riffle("read", "-c", config, "--from-step", 0, "--steps", 1, "--format", "none", check=False)
    return int(re.search(r"earliest retained step is (\d+)", done.stderr)[1]) if done.returncode else 0


def test_it_deletes_below_the_step_and_nothing_else(riffle, mixed, read):
    before = read(mixed, 40, first=20)
    done = retain(riffle, mixed, 20)
    assert (done.returncode, done.stderr.count("RETAIN-UNCOMMITTED")) == (0, 1)
    name = re.search(r"mix (\S+),", done.stdout)[1]
    assert done.stdout == (f"deleted steps 0..20 of mix {name}, 8 lanes; the earliest retained step is 20\n")
    assert read(mixed, 40, first=20) == before
    assert first_kept(riffle, mixed) == 20
    told = "run trainers has committed nothing and would begin at step 0, and the first step that is kept is 20: " \
        f"`riffle runs -c {mixed} --reset trainers --to 20`"
    assert told in riffle("status", "-c", mixed).stdout
    riffle("runs", "-c", mixed, "--reset", "trainers", "--to", 20, check=False)  # no mixer answers yet
    assert "STATUS-RUN-NOT-KEPT" not in riffle("status", "-c", mixed, "--json").stdout


def test_the_ledger_stays_and_the_mix_goes_on(riffle, mixed, read, configure):
    retain(riffle, mixed, 59)
    riffle("mix", "-c", mixed, "--until-step", 70)
    calm = configure(WEIGHTS, "calm")
    riffle("mix", "-c", calm, "--until-step", 70)
    assert read(mixed, 11, first=59) == read(calm, 11, first=59)


def test_a_second_time_there_is_nothing_to_delete(riffle, mixed):
    retain(riffle, mixed, 30)
    for step in (30, 7):
        done = retain(riffle, mixed, step)
        assert done.returncode == 0
        assert done.stdout.startswith("nothing to delete: ") and "below 30" in done.stdout


def test_a_dry_run_deletes_nothing(riffle, mixed):
    done = retain(riffle, mixed, 30, "--dry-run")
    assert done.stdout.startswith("would delete steps 0..30 of mix ")
    assert first_kept(riffle, mixed) == 0


@pytest.mark.parametrize("run, runs", [("trainers", ["trainers"]), ("other", ["trainers"])])
def test_a_committed_position_holds_it_back_also_of_a_run_that_nothing_names(riffle, mixed, read, run, runs):
    read(mixed, 20, run=run, commit_every=20)
    refused = retain(riffle, mixed, 21)
    assert refused.returncode == 1
    assert f"run {run} is at step 20 and has not read the steps from there to 21; --force" in refused.stderr
    assert ("--forget other`" in refused.stderr) == (run != "trainers"), refused.stderr
    assert refused.stdout == "" and first_kept(riffle, mixed) == 0
    allowed = retain(riffle, mixed, 20)
    assert allowed.returncode == 0 and first_kept(riffle, mixed) == 20
    late = riffle("read", "-c", mixed, "--run", "late", check=False)
    assert late.returncode == 1
    name = re.search(r"step 0 of mix (\S+) is", late.stderr)[1]
    assert (f"retained step is 20; `riffle replay -c {mixed} --mix {name} --steps 0..20 --republish NEWMIX` publishes "
            "the steps before it again; `--from-step 20` starts there\n") in late.stderr
    forced = retain(riffle, mixed, 33, "--force")
    assert forced.returncode == 0 and "steps 20..33" in forced.stdout
    assert first_kept(riffle, mixed) == 33


def test_the_slowest_lane_of_a_run_counts(riffle, mixed, read):
    for rank, steps in ((0, 40), (1, 12)):
        read(mixed, steps, rank=rank, world=2, run="two", commit_every=steps)
    refused = retain(riffle, mixed, 13)
    assert refused.returncode == 1 and "run two is at step 12 " in refused.stderr
    assert retain(riffle, mixed, 12).returncode == 0


def test_what_is_not_published_cannot_be_kept(riffle, mixed):
    for step in (60, 61, 10**9):
        done = retain(riffle, mixed, step)
        assert done.returncode == 1
        assert f"step {step} is not published" in done.stderr and "is at step 60" in done.stderr
    assert first_kept(riffle, mixed) == 0
    assert retain(riffle, mixed, 59).returncode == 0


def test_of_a_mix_that_has_ended_all_steps_may_go(riffle, fill, configure):
    fill("a", sequences=64)
    config = configure({"a": 1}, domains={"a": {"on_end": "stop"}})
    riffle("mix", "-c", config)
    assert retain(riffle, config, 5).returncode == 1
    assert "steps 0..4" in retain(riffle, config, 4).stdout
    done = riffle("read", "-c", config, "--from-step", 4, "--format", "steps")
    assert done.stdout == ""


def test_lanes_that_were_cut_unequally_are_levelled(riffle, mixed, tools, bootstrap):
    import json
    topic = json.loads(mixed.read_text())["mix"]["name"] + ".batches"
    subprocess.run([tools / "trim", topic, "3", "30"], env={"RIFFLE_BOOTSTRAP": bootstrap}, check=True)
    done = retain(riffle, mixed, 1)
    assert done.returncode == 0
    kept = int(re.search(r"deleted steps 0\.\.(\d+) of", done.stdout)[1])
    assert kept > 1
    assert first_kept(riffle, mixed) == kept


def test_works_while_the_mix_is_running(riffle, fill, configure, read, wait_for):
    fill("a", "b")
    config = configure(WEIGHTS, transaction_ms=20)
    running = riffle.popen("mix", "-c", config, "--until-step", 100000)
    wait_for(lambda: retain(riffle, config, 50).returncode == 0, "50 steps")
    assert first_kept(riffle, config) == 50
    assert running.poll() is None


@pytest.mark.parametrize("words, code, said", [
    ([], 2, "--from-step S is needed"),
    (["--from-step", "x"], 2, "not a whole number"),
    (["--from-step", "3"], 1, "has not begun"),
])
def test_mistakes_are_told(riffle, fill, configure, words, code, said):
    fill("a", "b", sequences=20)
    done = riffle("retain", "-c", configure(WEIGHTS), *words, check=False)
    assert done.returncode == code and said in done.stderr
