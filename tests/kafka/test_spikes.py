"""PaLM's remedy for spikes of the loss: the model goes back, the data go forward, and the mix is asked to keep sequences out."""

import json
import logging
import math
import random
import subprocess
import sys

import pytest

from conftest import ROOT, both_forms

KEEP = dict(window=40, back=10, ahead=12)
SPIKE = 60


def calm(step):
    return 3 + 0.1 * random.Random(step).random()


# ---- the rule ----

def test_a_loss_is_a_spike_above_six_sigma_and_half_a_window(package):
    spikes = package.riffle.Spikes()
    for step in range(63):
        assert spikes.add(step, calm(step)) is None
    assert spikes.add(63, 1000.0) is None, "half a window of losses is needed: 64"
    spikes = package.riffle.Spikes()
    losses = [calm(step) for step in range(128)]
    for step, loss in enumerate(losses):
        assert spikes.add(step, loss) is None
    mean = sum(losses) / 128
    sigma = math.sqrt(sum((x - mean) ** 2 for x in losses) / 127)
    near = package.riffle.Spikes()
    near.load_state_dict(spikes.state_dict())
    assert near.add(128, mean + 5.99 * sigma) is None
    assert spikes.add(128, mean - 100) is None, "a loss that falls is no spike"
    found = near.add(129, 100.0, [0, 20, 29, 30, 100])
    assert found[0:2] == (129, 100.0) and found.checkpoint == 29 and found.resume == 230 and found.kept_out == (128, 130)
    assert [near.passes(s) for s in (129, 229, 230)] == [True, True, False]


def test_what_is_not_finite_is_a_spike_at_once_and_losses_of_lost_steps_are_forgotten(package):
    spikes = package.riffle.Spikes(**KEEP)
    for step in range(25):
        spikes.add(step, calm(step))
    found = spikes.add(25, math.nan, checkpoints=[4, 14, 24])
    assert found.checkpoint == 14 and math.isfinite(found.mean)
    assert [step for step, _ in spikes.state_dict()["losses"]] == list(range(14))
    assert spikes.add(38, 50.0) is None, "fewer than 20 losses are left"
    with pytest.raises(package.riffle.UsageError, match="comes after"):
        spikes.add(38, 3.0)
    assert package.riffle.Spikes().add(0, math.inf).checkpoint is None
    near = package.riffle.Spikes(back=100)
    assert near.add(30, math.nan, checkpoints=[10, 20]).checkpoint == 10, "none is early enough: the earliest"


# ---- a run on a broker ----

class Job:
    """The ranks of a run, one step after the other; the model is the list of steps that it was trained on."""

    def __init__(self, riffle, mix, bootstrap, world, **more):
        self.ranks = [riffle.Reader(mix, bootstrap, rank, world, timeout=60, **more) for rank in range(world)]
        self.spikes = [riffle.Spikes(**KEEP) for _ in range(world)]
        self.skip = riffle.skip_on_spike
        self.model, self.kept, self.seen = [], {}, []

    def train(self, end, loss_of):
        while self.ranks[0].position < end:
            found = []
            for reader, spikes in zip(self.ranks, self.spikes):
                step = next(reader)
                if not spikes.passes(step.step):
                    found.append(self.skip(reader, loss_of(step.step), spikes, checkpoints=self.kept))
                reader.trained(step.step)
            if not found:
                continue
            assert len({f and f._replace(answers=()) for f in found}) == 1, "all ranks see the same"
            self.model.append(step.step)
            if found[0]:
                self.seen.append(found)
                self.model = list(self.kept[found[0].checkpoint])
                self.kept[step.step + 1] = list(self.model)
            elif self.ranks[0].position % 10 == 0:
                self.kept[self.ranks[0].position] = list(self.model)
        for reader in self.ranks:
            reader.flush()

    def close(self):
        for reader in self.ranks:
            reader.close()


@pytest.fixture
def job(package, unique, bootstrap, riffle, monkeypatch):
    monkeypatch.setenv("RIFFLE_PROGRAM", riffle.path)
    made = []

    def make(world=2, **more):
        made.append(Job(package.riffle, unique + "-mix", bootstrap, world, **more))
        return made[-1]
    yield make
    for one in made:
        one.close()


@pytest.fixture
def sequences(read):
    return lambda config, first, end: {(d["domain"], d["partition"], d["ordinal"]) for d in map(
        json.loads, read(config, end - first, first=first, form="jsonl"))}


@both_forms
def test_a_spike_takes_the_model_back_and_the_data_on_and_the_mix_draws_them_no_more(riffle, fill, configure, job, sequences, caplog):
    fill("a", "b", sequences=400)
    config = configure({"a": 0.7, "b": 0.3}, max_lead_steps=8)
    riffle.popen("mix", "-c", config)
    run = job()
    with caplog.at_level(logging.WARNING, "riffle"):
        run.train(110, lambda step: 9.0 if step == SPIKE else calm(step))
    (first, second), = run.seen
    assert (first.step, first.checkpoint, first.resume, first.kept_out) == (SPIKE, 50, 73, (59, 61))
    assert run.model == [*range(50), *range(73, 110)], "what the spike's model had from step 50 on is gone"
    assert "run=trainers step=60 loss=9" in caplog.text
    # One rank asked; who, why and the exact step stand in the ledger.
    assert second.answers == () and first.answers and all(a["accepted"] for a in first.answers)
    asked = {r["id"]: r for r in json.loads(riffle("requests", "-c", config, "--json").stdout)}
    assert set(asked) == {f"spike-trainers-60-{i}" for i in range(len(first.answers))}
    assert {"@" in r["who"] for r in asked.values()} == {True} and {r["state"] for r in asked.values()} == {"in force"}
    out = sequences(config, 59, 61)
    listed = json.loads(riffle("skip", "-c", config, "--list", "--json").stdout)["skipped"]
    assert {(r["domain"], r["partition"], o) for r in listed for o in range(r["first"], r["end"])} == out
    assert json.loads(riffle("status", "-c", config, "--json").stdout)["mix"]["skips"] == len(listed)
    # Exactly: not drawn from that step on, in two more epochs; the batches are those of a replay.
    steps = {a["step"] for a in first.answers}
    assert max(steps) <= SPIKE + 10, "at most the lead behind the spike"
    drawn = sequences(config, max(steps), 110)
    assert not out & drawn and drawn
    riffle("replay", "-c", config, "--steps", "0..110")
    # A job that was killed before it saved goes back to the same checkpoint, meets the same spike, and hears the same answer.
    again = job(1, step=50)
    again.spikes[0].load_state_dict({"resume": 0, "losses": [[s, calm(s)] for s in range(50)]})
    again.kept = {50: list(range(50))}
    again.train(110, lambda step: 9.0 if step == SPIKE else calm(step))
    (told,), = again.seen
    assert again.model == run.model and told.resume == 73
    assert [(a["id"], a["step"], a["answered_before"]) for a in told.answers] == [
        (a["id"], a["step"], True) for a in first.answers]


def test_a_mix_that_cannot_be_asked_is_warned_of_and_training_continues(riffle, fill, configure, job, caplog, monkeypatch):
    fill("a", sequences=4000)
    config = configure({"a": 1})
    riffle("mix", "-c", config, "--until-step", 90)
    run = job(1)
    monkeypatch.setenv("RIFFLE_PROGRAM", "/nowhere/riffle")
    with caplog.at_level(logging.WARNING, "riffle"):
        run.train(80, lambda step: math.inf if step == SPIKE else calm(step))
    assert run.model == [*range(50), *range(73, 80)] and run.seen[0][0].answers == ()
    assert "was not asked to keep out steps=59..61: /nowhere/riffle (RIFFLE_PROGRAM) is no program" in caplog.text
    assert json.loads(riffle("requests", "-c", config, "--json").stdout) == []
    # A secret is not put on a command line.
    monkeypatch.setenv("RIFFLE_PROGRAM", riffle.path)
    run.ranks[0].properties["sasl.password"] = "x"
    run.spikes[0].resume = 0
    with caplog.at_level(logging.WARNING, "riffle"):
        assert run.skip(run.ranks[0], math.nan, run.spikes[0], step=85) is not None
    assert "property sasl.password would show in the list of processes" in caplog.text
    # Nobody mixes: the request waits for the next mixer, as that of `riffle skip` does.
    del run.ranks[0].properties["sasl.password"]
    assert run.skip(run.ranks[0], math.nan, run.spikes[0], step=86, timeout=1) is not None
    assert "the mix does not keep out steps=85..87 (exit 1)" in caplog.text
    assert {r["state"] for r in json.loads(riffle("requests", "-c", config, "--json").stdout)} == {"open"}


@both_forms
def test_skip_takes_the_steps_of_a_range_in_one_command(riffle, fill, configure, sequences):
    fill("a", "b", sequences=400)
    config = configure({"a": 0.7, "b": 0.3})
    riffle("mix", "-c", config, "--until-step", 12)
    for words, why in ((["--step", 1, "--steps", "1..2"], "--step or --steps, not both"),
                       (["--steps", "3..3"], "3..3 holds no step"), (["--steps", "10..14"], "is not published yet")):
        done = riffle("skip", "-c", config, *words, check=False)
        assert done.returncode in (1, 2) and why in done.stderr, done.stderr
    riffle("skip", "-c", config, "--steps", "3..7", "--at-step", 20, check=False)
    riffle("mix", "-c", config, "--until-step", 60)
    listed = json.loads(riffle("skip", "-c", config, "--list", "--json").stdout)["skipped"]
    out = {(r["domain"], r["partition"], o) for r in listed for o in range(r["first"], r["end"])}
    assert out == sequences(config, 3, 7)
    assert not out & sequences(config, 20, 60)
    # Ranges are of the steps together: neighbours of two steps are one.
    assert len(listed) == len([o for o in out if (o[0], o[1], o[2] - 1) not in out])
    riffle("skip", "-c", config, "--undo", "--steps", "3..7", check=False)
    riffle("mix", "-c", config, "--until-step", 61)
    assert json.loads(riffle("skip", "-c", config, "--list", "--json").stdout)["skipped"] == []


def test_the_example_trains_what_a_spike_leaves(riffle, fill, configure, package, unique, bootstrap):
    fill("a", sequences=9000)
    config = configure({"a": 1})
    riffle("mix", "-c", config, "--until-step", 460)
    done = subprocess.run([sys.executable, ROOT / "examples/spikes.py", unique + "-mix", bootstrap, "--steps", "450", "--spike-at",
                           "260", "--config", config], env={**package.env, "RIFFLE_PROGRAM": riffle.path}, text=True,
                          capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["spike at step 260: back to the model of step 100, on from 361",
                                        "trained on 189 steps of 450"], done.stdout
