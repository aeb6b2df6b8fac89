"""The batch changes at an exact step: riffle weights --global-batch and phases, on a real broker."""

import collections
import json
import re
import subprocess

import pytest

from paced_trainer import Trainer

LANES = 8


@pytest.fixture
def ask(riffle):
    """riffle weights ... --json, its answer as a dict."""
    return lambda config, *words: json.loads(riffle("weights", "-c", config, *words, "--json").stdout)


@pytest.fixture
def status(riffle):
    return lambda config: json.loads(riffle("status", "-c", config, "--json").stdout)["mix"]


def plan(riffle, config, *words):
    return json.loads(riffle("plan", "-c", config, *words, "--json").stdout)


def batches(lines):
    """{step: sequences over all lanes} of the lines of --format steps."""
    found = collections.Counter()
    for line in lines:
        step, _, _, counts = line.split("\t")
        found[int(step)] += sum(int(c.split(":")[1]) for c in counts.split(","))
    return dict(found)


def test_a_batch_raised_twice_under_trainers_that_are_killed_at_the_changes(
        riffle, fill, configure, ask, status, read, wait_for):
    """64 -> 128 -> 256; a trainer dies at each change. Replayed, planned and republished it is the same."""
    fill("a", "b", "c", sequences=4000)
    weights = {"a": 0.6, "b": 0.3, "c": 0.1}
    config = configure(weights, global_batch=64, max_lead_steps=12)
    mixer = riffle.popen("mix", "-c", config, stderr=subprocess.DEVNULL)
    end = 60
    trainers = [Trainer(riffle, config, rank, 2, end, 1, "steps") for rank in range(2)]
    lines = []

    def read_all_until(step):
        for trainer in trainers:
            trainer.read_until(step)

    read_all_until(8)
    dry = riffle("weights", "-c", config, "--global-batch", 128, "--dry-run").stdout
    assert "global_batch 128 (was 64)" in dry
    first = ask(config, "--global-batch", 128, "--id", "twice")["step"]
    second = ask(config, "--global-batch", 256, "a=0.2", "--lr-scale", 0.5, "--at-step", first + 15)["step"]
    assert 8 < first <= 8 + 2 * 12 and second == first + 15
    for step, rank in ((first, 0), (second, 1)):
        for before in range(9, step, 8):
            read_all_until(min(before, step - 1))
        trainers[rank].read_until(step)
        trainers[rank].kill()
        lines += trainers[rank].taken
        trainers[rank] = Trainer(riffle, config, rank, 2, end, 1, "steps")
    for step in range(second, end, 4):
        read_all_until(step)
    # One that resumes ends `end` steps later than it began: behind this, and the mixer waits for its commits.
    read_all_until(end - 1)
    for trainer in trainers:
        trainer.kill()
        lines += trainer.taken
    wait_for(lambda: status(config)["step_next"] >= end, "the steps")
    whole = read(config, end)
    assert {line for line in lines if int(line.split("\t")[0]) < end} == set(whole)
    sizes = {step: 64 if step < first else 128 if step < second else 256 for step in range(end)}
    assert batches(whole) == sizes
    mixer.terminate()
    assert mixer.wait(timeout=60) == 0

    # What a step held is the ledger's and the records' alike.
    seen = status(config)
    published = seen["step_next"]
    assert seen["global_batch"] == 256
    assert seen["draws"] == sum(sizes.values()) + 256 * (published - end)
    assert "replayed" in riffle("replay", "-c", config, "--steps", f"0..{published}").stdout
    shown = json.loads(riffle("weights", "-c", config, "--json").stdout)
    assert shown["global_batch"] == 256
    assert [(v["step"], v["global_batch"]) for v in shown["history"]] == [(second, 256), (first, 128), (0, 64)]

    assert plan(riffle, config, "--steps", 3)["draws"] == 3 * 256  # with what is in force

    # A mix whose phases say the same is the same mix; its plan is what was published.
    phases = [{"name": "p1", "start_step": first, "global_batch": 128},
              {"name": "p2", "start_step": second, "global_batch": 256, "weights": {"a": 0.2}, "lr_scale": 0.5}]
    again = configure(weights, "again", global_batch=64, phases=phases)
    planned = plan(riffle, again, "--steps", published)
    assert planned["draws"] == seen["draws"]
    assert [(p["first_step"], p["global_batch"]) for p in planned["phases"]] == [(0, 64), (first, 128), (second, 256)]
    riffle("mix", "-c", again, "--until-step", published)
    assert read(again, end) == whole
    assert status(again)["draws"] == planned["draws"]
    taken = {d["name"]: d["taken"] for d in json.loads(riffle("status", "-c", config, "--json").stdout)["domains"]}
    assert taken == {d["name"]: d["taken"] for d in planned["domains"]}


@pytest.fixture
def running(riffle, fill, configure, wait_for, status):
    """A mix of a and b, steps of 16 on 8 lanes, that waits at step 10 for a trainer."""
    fill("a", "b", sequences=400)
    config = configure({"a": 0.5, "b": 0.5}, max_lead_steps=10)
    mixer = riffle.popen("mix", "-c", config, stderr=subprocess.DEVNULL)
    wait_for(lambda: status(config)["step_next"] == 10, "ten steps")
    return config, mixer


def test_steps_of_a_batch_that_was_raised_are_republished_to_topics_of_their_size(
        riffle, fill, configure, ask, status, read, wait_for, unique):
    """A lane's record of the large steps is more than a topic takes that is made for the batch of the file."""
    fill("a", "b", sequences=400, length=1024)
    weights, large, mix = {"a": 0.5, "b": 0.5}, 1024, {"lanes": 1, "max_lead_steps": 10, "length": 1024}
    configure(weights, global_batch=large, **mix)
    config = configure(weights, global_batch=16, **mix)  # the topics stay as they were made
    mixer = riffle.popen("mix", "-c", config, stderr=subprocess.DEVNULL)
    wait_for(lambda: status(config)["step_next"] == 10, "ten steps")
    assert ask(config, "--global-batch", large, "--at-step", 10)["step"] == 10
    read(config, 4, commit_every=1)
    wait_for(lambda: status(config)["step_next"] >= 13, "three large ones")
    mixer.terminate()
    assert mixer.wait(timeout=60) == 0
    done = riffle("replay", "-c", config, "--steps", "8..13", "--republish", f"{unique}-again")
    assert f"replayed steps 8..13 of mix {unique}-mix" in done.stdout
    assert read(configure(weights, "again", create=False, **mix), 5, 8) == read(config, 5, 8)


REFUSED = [
    (100, "a multiple of the mix's 8 lanes, not 100: the nearest are 96 and 104"),
    (7, "a multiple of the mix's 8 lanes, not 7: the nearest is 8"),
    (1 << 20, "max.message.bytes is 1048576, must be 83886080 or more: run `kafka-configs.sh --bootstrap-server "),
]


def test_a_batch_that_cannot_be_is_refused_and_changes_nothing(riffle, running, ask, status):
    config, _ = running
    for batch, why in REFUSED:
        for more in ([], ["--dry-run"]):  # the same answer
            done = riffle("weights", "-c", config, "--global-batch", batch, *more, check=False)
            assert done.returncode == 1 and why in done.stderr, (batch, more, done.stderr)
    for batch in (0, (1 << 20) + 1, "many"):
        done = riffle("weights", "-c", config, "--global-batch", batch, check=False)
        assert done.returncode == 2 and "--global-batch" in done.stderr
    shown = json.loads(riffle("weights", "-c", config, "--json").stdout)
    assert shown["version"] == 1 and shown["pending"] == [] and shown["global_batch"] == 16


def test_a_batch_that_memory_has_no_room_for_is_refused_and_one_that_was_granted_is_looked_at_again(
        riffle, fill, configure, ask, wait_for, status):
    fill("a", "b", sequences=4000)
    weights, large = {"a": 0.5, "b": 0.5}, 9600

    def memory_for(config):
        done = riffle("mix", "-c", config, "--until-step", 1, check=False)
        assert done.returncode == 2, done.stderr
        return int(re.search(r"allow (\d+) MB", done.stderr).group(1))

    least = memory_for(configure(weights, memory="1MB", max_lead_steps=10))
    config = configure(weights, memory=f"{least}MB", max_lead_steps=10)
    mixer = riffle.popen("mix", "-c", config, stderr=subprocess.DEVNULL)
    wait_for(lambda: status(config)["step_next"] == 10, "ten steps")
    done = riffle("weights", "-c", config, "--global-batch", large, check=False)
    assert done.returncode == 1
    found = re.search(rf"mix.memory: {least} MB are not enough: one step of {large} sequences .* allow (\d+) MB", done.stderr)
    assert found, done.stderr
    mixer.terminate()
    mixer.wait(timeout=60)
    # With what it said the same is granted; with less again the mixer says so, and does not begin.
    roomy = configure(weights, memory=f"{found.group(1)}MB", max_lead_steps=10)
    mixer = riffle.popen("mix", "-c", roomy, stderr=subprocess.DEVNULL)
    assert ask(roomy, "--global-batch", large, "--timeout", 60)["accepted"]
    mixer.terminate()
    mixer.wait(timeout=60)
    assert memory_for(configure(weights, memory=f"{least}MB", max_lead_steps=10)) == int(found.group(1))


def test_a_mixer_that_is_killed_goes_on_with_the_batch_in_force(riffle, running, ask, status, read, wait_for):
    config, mixer = running
    assert ask(config, "--global-batch", 40, "--at-step", 14)["step"] == 14
    mixer.kill()
    mixer.wait()
    riffle.popen("mix", "-c", config, stderr=subprocess.DEVNULL)
    lines = read(config, 22, run="trainers", commit_every=1)
    assert batches(lines) == {step: 16 if step < 14 else 40 for step in range(22)}
    wait_for(lambda: status(config)["step_next"] == 32, "the lead")
    assert status(config)["draws"] == 14 * 16 + 18 * 40
    riffle("replay", "-c", config, "--steps", "0..22")


def test_a_changed_batch_of_the_file_is_refused_with_the_line_that_changes_it(riffle, fill, configure):
    fill("a", "b", sequences=400)
    riffle("mix", "-c", configure({"a": 1, "b": 1}), "--until-step", 3)
    changed = configure({"a": 1, "b": 1}, global_batch=32, create=False)
    for more in ([], ["--accept-config", "--yes"]):
        done = riffle("mix", "-c", changed, "--until-step", 5, *more, check=False)
        assert done.returncode == 2
        assert "mix.global_batch: 16 in the ledger, 32 in the file" in done.stderr
        assert "--global-batch 32` changes that one from a step on" in done.stderr
        assert "start a mix of another name" not in done.stderr


def test_phases_with_another_batch_are_accepted_and_checked(riffle, fill, configure, read, status):
    fill("a", "b", sequences=400)
    riffle("mix", "-c", configure({"a": 1, "b": 1}), "--until-step", 3)
    changed = configure({"a": 1, "b": 1}, phases=[{"start_step": 5, "global_batch": 48}], create=False)
    riffle("mix", "-c", changed, "--until-step", 8, "--accept-config", "--yes")
    assert batches(read(changed, 8)) == {step: 16 if step < 5 else 48 for step in range(8)}
    assert status(changed)["global_batch"] == 48
    riffle("replay", "-c", changed, "--steps", "0..8")
    wrong = configure({"a": 1, "b": 1}, phases=[{"start_step": 5, "global_batch": 20}], create=False)
    done = riffle("config", "-c", wrong, "--check", check=False)
    assert done.returncode == 2
    assert "mix.phases[0].global_batch: is no multiple of mix.lanes, 8: 20 (24 is the next one)" in done.stderr
