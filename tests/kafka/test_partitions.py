"""Lanes that share partitions (mix.partitions below mix.lanes): what readers see, and what ranks commit."""

import json
import os
import re
import subprocess

import pytest

WEIGHTS = {"a": 0.7, "b": 0.3}
STEPS = 40


@pytest.fixture
def mixed(riffle, fill, configure):
    """mixed(P) -> the configuration of a mix with 40 published steps on 8 lanes in P partitions."""
    fill("a", "b", sequences=100)

    def make(partitions, name=None, steps=STEPS, **keys):
        config = configure(WEIGHTS, name or f"p{partitions}", shared=partitions, **keys)
        riffle("mix", "-c", config, "--until-step", steps)
        return config
    return make


@pytest.mark.parametrize("partitions", [1, 3, 7])
def test_every_world_reads_what_it_reads_of_lanes_in_partitions_of_their_own(mixed, read, partitions):
    alone, shared = mixed(8), mixed(partitions)
    expected = read(alone, STEPS)
    assert len(expected) == 8 * STEPS
    for world in (1, 2, 3, 5, 8):
        lines = [line for rank in range(world) for line in read(shared, STEPS, rank=rank, world=world)]
        assert sorted(lines) == sorted(expected)


def test_a_reader_starts_at_any_step(mixed, read):
    shared = mixed(3, steps=200, transaction_bytes=3000)
    for first in (1, 57, 199):
        for rank in range(4):
            lines = read(shared, 1, first=first, rank=rank, world=4)
            assert [tuple(map(int, line.split("\t")[:2])) for line in lines] == [(first, 2 * rank), (first, 2 * rank + 1)]


def position(riffle, config):
    """The step at which run trainers stands, by the lowest commit of all lanes."""
    return int(re.search(r"trainers\D+(\d+)", riffle("status", "-c", config).stdout)[1])


def resumed(read, config, rank, world):
    return int(read(config, 1, rank=rank, world=world, commit_every=1000)[0].split("\t")[0])


@pytest.mark.parametrize("partitions", [1, 3, 8])
def test_no_rank_hides_what_another_one_has_committed(mixed, riffle, read, partitions):
    """Eight ranks, some of them in one partition: the slowest decides, whoever commits last."""
    config = mixed(partitions)
    order = [(3, 9), (0, 5), (7, 12), (1, 7), (2, 7), (4, 30), (6, 11), (5, 8)]
    for rank, steps in order:
        read(config, steps, rank=rank, world=8, commit_every=1)
    assert position(riffle, config) == 5
    assert resumed(read, config, 3, 8) == 5  # it commits what it read; rank 0 stands at 5 all the same
    assert resumed(read, config, 0, 1) == 5


def test_the_lead_counts_the_slowest_of_ranks_that_share_a_partition(mixed, riffle, read):
    config = mixed(2, steps=10, max_lead_steps=10)
    for rank in range(8):
        read(config, 4 if rank == 5 else 10, rank=rank, world=8, commit_every=2)
    riffle("mix", "-c", config, "--until-step", 14)
    done = riffle("read", "-c", config, "--from-step", 13, "--steps", 1, "--format", "steps")
    assert len(done.stdout.splitlines()) == 8


def test_retain_cuts_between_steps(mixed, riffle, read):
    config = mixed(3)
    before = read(config, 20, first=20)
    done = riffle("retain", "-c", config, "--from-step", 20)
    assert "deleted steps 0..20" in done.stdout and "8 lanes; the earliest retained step is 20" in done.stdout
    assert read(config, 20, first=20) == before
    refused = riffle("read", "-c", config, "--from-step", 19, "--steps", 1, "--format", "none", check=False)
    assert "earliest retained step is 20" in refused.stderr


def test_replay_status_and_inspect_follow(mixed, riffle, unique):
    config = mixed(3)
    assert riffle("replay", "-c", config, "--steps", f"0..{STEPS}").returncode == 0
    assert riffle("replay", "-c", config, "--steps", f"0..{STEPS}", "--republish", f"{unique}-again").returncode == 0
    for first in (7, 23, 38):
        assert riffle("replay", "-c", config, "--steps", f"{first}..{STEPS}").returncode == 0
    assert riffle("status", "-c", config).returncode == 0
    assert riffle("inspect", "-c", config, 7, 5).returncode == 0


def test_partitions_of_a_mix_that_has_begun_cannot_be_changed(mixed, configure, riffle):
    mixed(3, name="same")
    for shared, what in ((2, "mix.partitions"), (None, "mix.lanes")):
        other = configure(WEIGHTS, "same", shared=shared, create=False)
        refused = riffle("mix", "-c", other, "--until-step", STEPS + 1, check=False)
        assert refused.returncode in (1, 2) and what in refused.stderr


@pytest.fixture
def widen(tools, bootstrap, unique):
    def run(topic, partitions):
        subprocess.run([tools / "broker", "widen", f"{unique}-{topic}", str(partitions)], check=True, timeout=60,
                       env={**os.environ, "RIFFLE_BOOTSTRAP": bootstrap})
    return run


@pytest.mark.parametrize("topic,n,said,way", [
    ("batches", 5, "has 5 partitions, and the mix has 8 lanes in 3 partitions: partitions were added", "`riffle repair -c"),
    ("batches", 8, "has 8 partitions, and the mix has 8 lanes in 3 partitions: partitions were added", "`riffle repair -c"),
    ("lanes", 12, "has 12 partitions, and the mix has 8 lanes: partitions were added", "`riffle runs -c"),
])
def test_partitions_that_were_added_are_said_to_be_that(mixed, read, riffle, bootstrap, unique, widen, topic, n, said, way):
    config = mixed(3, max_lead_steps=STEPS)
    read(config, 10, commit_every=1)
    widen(f"p3.{topic}", n)
    refused = riffle("mix", "-c", config, "--until-step", STEPS + 1, check=False)
    assert refused.returncode == 2 and "partitions were added" in refused.stderr and way in refused.stderr
    refused = riffle("repair", "-c", config, check=False)
    assert refused.returncode != 0 and said in refused.stderr and way in refused.stderr
    refused = riffle("read", "--mix", f"{unique}-p3", "-X", f"bootstrap.servers={bootstrap}", "--format", "none", "--steps", 1,
                     "--timeout", 5, "--run", "another", check=False)
    assert refused.returncode == 1, "a lane is read from the partition of another"
    refused = riffle("read", "--mix", f"{unique}-p3", "-X", f"bootstrap.servers={bootstrap}", "--format", "none", "--steps", 1,
                     "--timeout", 5, "--from-step", 5, check=False)
    assert refused.returncode == 1 and re.search("partitions were added|were partitions added|some were added", refused.stderr)
    problem, = json.loads(riffle("status", "-c", config, "--json").stdout)["problems"]
    assert "partitions were added" in problem and way in problem


def test_runs_are_listed_and_taken_back(mixed, read, riffle):
    config = mixed(3, max_lead_steps=STEPS)
    read(config, 20, commit_every=1)
    riffle("runs", "-c", config, "--reset", "trainers", "--to", 7, "--idle", 0, check=False)
    riffle("mix", "-c", config, "--until-step", STEPS + 1)
    assert position(riffle, config) == 7
    assert resumed(read, config, 5, 8) == 7
