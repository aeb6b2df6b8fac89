"""Features that meet on a real broker and not in the simulation (tests/features.tsv): several runs, and mixes without copies."""

import json
import signal

import pytest

RANKS = 3  # of 8 lanes


@pytest.fixture
def step_next(riffle):
    return lambda config: json.loads(riffle("status", "-c", config, "--json").stdout)["mix"].get("step_next", 0)


@pytest.mark.parametrize("batches", ["copied", "derived"])
def test_the_slowest_of_two_runs_holds_the_mixer_under_its_lead_and_under_another(
        riffle, fill, configure, read, step_next, wait_for, batches):
    """The ranks of both runs do not divide the lanes."""
    fill("a")
    config = configure({"a": 1}, batches=batches, runs=["trainers", "other"], max_lead_steps=6)

    def train(run, steps):
        return [line for rank in range(RANKS) for line in read(config, steps, rank=rank, world=RANKS, run=run, commit_every=1)]

    def publish(*options, to):
        mixer = riffle.popen("mix", "-c", config, *options)
        wait_for(lambda: step_next(config) == to or mixer.poll() is not None, f"step {to}")
        return mixer

    def end(mixer, at):
        mixer.send_signal(signal.SIGTERM)
        assert mixer.wait(timeout=60) == 0, mixer.communicate()[1]
        assert step_next(config) == at

    mixer = publish(to=6)
    trained = train("trainers", 5)
    other = train("other", 2)
    wait_for(lambda: step_next(config) == 8, "step 8")
    end(mixer, 8)  # six steps ahead of the other run

    less = ("-s", "mix.max_lead_steps=3")
    refused = riffle("mix", "-c", config, *less, check=False)
    assert refused.returncode == 2 and "max_lead_steps" in refused.stderr, refused.stderr
    mixer = publish(*less, "--accept-config", "--yes", to=8)
    other += train("other", 4)
    trained += train("trainers", 3)
    wait_for(lambda: step_next(config) == 9, "step 9")
    end(mixer, 9)  # three steps ahead of it

    steps = sorted(trained, key=lambda line: tuple(map(int, line.split("\t")[:2])))
    assert len(steps) == len(set(steps)) == 8 * 8
    assert sorted(other, key=lambda line: tuple(map(int, line.split("\t")[:2]))) == steps[:6 * 8]


def test_a_mix_without_copies_is_neither_cut_nor_repaired(riffle, fill, configure, read, step_next, unique):
    fill("a")
    config = configure({"a": 1}, batches="derived")
    riffle("mix", "-c", config, "--until-step", 4)
    before = read(config, 4)
    cut = riffle("retain", "-c", config, "--from-step", 2, check=False)
    assert cut.returncode == 2 and "has no copies of its steps (mix.batches: derived)" in cut.stderr, cut.stderr
    said = f"nothing to repair: mix {unique}-mix has no copies of its steps (mix.batches: derived), and its ledger ends before step 4\n"
    assert riffle("repair", "-c", config).stdout == said
    assert read(config, 4) == before and step_next(config) == 4
