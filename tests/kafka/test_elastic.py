"""Ranks that are killed, and other numbers of ranks that go on, on a real broker: every step once and in order."""

import json
import os
import pathlib
import signal
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).parent
LANES = 8


@pytest.fixture
def train(package, mix, bootstrap, tmp_path):
    """train(world, code, {rank: {key: value}}) runs ranks of rank.py together; each must end with the code."""
    def run(world, code, ranks):
        words = [",".join([str(rank), *(f"{k}={v}" for k, v in options.items())]) for rank, options in ranks.items()]
        process = subprocess.Popen([sys.executable, HERE / "rank.py", mix.name, bootstrap, tmp_path, str(world), *words],
                                   env=package.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
        try:
            out, said = process.communicate(timeout=120)
        finally:
            if process.returncode is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
        assert process.returncode == 0 and json.loads(out) == [code] * len(ranks), (out, said)
    return run


@pytest.fixture
def mix(unique, tools, bootstrap):
    def fill(*words):
        done = subprocess.run([tools / "fill_batches", "--mix", unique, "--lanes", str(LANES), "--print", *map(str, words)],
                              env={**os.environ, "RIFFLE_BOOTSTRAP": bootstrap}, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()
    fill.name = unique
    return fill


def key(line):
    step, lane = line.split("\t")[:2]
    return int(step), int(lane)


def log(folder, rank, world, before=None):
    """Lines of a rank's log; those of steps below `before`."""
    found = (folder / f"log.{rank}-of-{world}").read_text().splitlines()
    assert found == sorted(found, key=key)  # in order
    return [line for line in found if before is None or key(line)[0] < before]


def common_checkpoint(folder, world):
    """The highest step of which every rank has a checkpoint."""
    steps = [{int(path.name.split(".")[1]) for path in folder.glob(f"checkpoint.*.{rank}-of-{world}")}
             for rank in range(world)]
    return max(set.intersection(*steps))


@pytest.mark.parametrize("after", [1, 2, 4])
def test_8_ranks_killed_at_different_steps_go_on_as_fewer_at_the_last_common_checkpoint(mix, train, tmp_path, after):
    expected = mix("--steps", 60, "--abort-every", 4, "--end")
    # Killed after 23 to 44 steps; odd ranks have committed far ahead of the checkpoint that they share.
    train(8, -signal.SIGKILL, {rank: {"every": 10, "kill": 23 + 3 * rank, "commit": 7 if rank % 2 else 0} for rank in range(8)})
    step = common_checkpoint(tmp_path, 8)
    assert step == 20
    state = tmp_path / f"checkpoint.{step}.0-of-8"
    assert json.loads(state.read_text()) == {"mix": mix.name, "run": "trainers", "step": step}
    train(after, 0, {rank: {"from": state} for rank in range(after)})
    trained = [line for rank in range(8) for line in log(tmp_path, rank, 8, before=step)]
    trained += [line for rank in range(after) for line in log(tmp_path, rank, after)]
    assert len(trained) == len({key(line) for line in trained}) == 60 * LANES  # each once
    assert sorted(trained, key=key) == expected
    again = [line for rank in range(8) for line in log(tmp_path, rank, 8) if key(line)[0] >= step]
    assert again and set(again) <= set(expected)  # what was lost with the ranks was the same


@pytest.mark.parametrize("before, after", [(1, 8), (2, 4), (4, 2), (3, 5), (8, 3)])
def test_a_run_grows_and_shrinks_at_a_step(mix, train, tmp_path, before, after):
    expected = mix("--steps", 30, "--end")
    train(before, -signal.SIGKILL, {rank: {"every": 13, "kill": 13} for rank in range(before)})
    state = tmp_path / f"checkpoint.13.0-of-{before}"
    train(after, 0, {rank: {"from": state} for rank in range(after)})
    trained = [line for world in (before, after) for rank in range(world) for line in log(tmp_path, rank, world)]
    assert sorted(trained, key=key) == expected


def test_without_a_checkpoint_the_lowest_commit_over_all_lanes_counts(mix, train, package, bootstrap):
    mix("--steps", 60, "--end")
    train(8, -signal.SIGKILL, {rank: {"kill": 30 + rank, "commit": 9 if rank == 5 else 10} for rank in range(8)})
    riffle = package.riffle
    assert riffle.committed_step(mix.name, bootstrap) == 27
    for world in (1, 2, 4, 8):
        for rank in range(world):
            with riffle.Reader(mix.name, bootstrap, rank, world) as reader:
                assert reader.position == 27
                assert next(reader).step == 27


def test_a_checkpoint_wins_over_commits(mix, package, bootstrap):
    mix("--steps", 20, "--end")
    riffle = package.riffle
    with riffle.Reader(mix.name, bootstrap, step=0) as reader:
        for _ in range(12):
            next(reader)
        reader.commit()
    assert riffle.committed_step(mix.name, bootstrap) == 12
    with riffle.Reader(mix.name, bootstrap) as reader:
        assert reader.position == 12
        reader.load_state_dict({"mix": mix.name, "run": "trainers", "step": 4})
        assert next(reader).step == 4
