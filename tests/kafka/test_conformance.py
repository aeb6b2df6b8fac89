"""The simulation of Kafka is no kinder than Kafka: the same scenarios (tests/conformance) with equal outcomes."""

import difflib
import os
import subprocess

import pytest

from conftest import ROOT

JOBS = 12  # scenarios at a time: the slow ones wait until the broker ends a transaction
BROKEN = 1  # exit code: the scenery failed, as on a machine that stood still for long; it says nothing
TRIES = 3
SEEDS = (1, 2, 3, 4, 5)


def outcome(program, *options, **environment):
    for _ in range(TRIES):
        done = subprocess.run([program, *map(str, options)], env={**os.environ, **environment}, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=240)
        if done.returncode != BROKEN:
            break
    assert done.returncode == 0, f"exit {done.returncode}\n{done.stdout}\n{done.stderr[-4000:]}"
    return done.stdout


def differences(a, b, *names):
    lines = (text.splitlines(keepends=True) for text in (a, b))
    return "".join(difflib.unified_diff(*lines, *names, n=8))


@pytest.fixture(scope="module")
def real(build, bootstrap):
    """What came of the scenarios on the broker."""
    return outcome(build / "conformance/real", "--jobs", JOBS, RIFFLE_BOOTSTRAP=bootstrap)


def test_the_broker_does_what_is_written_down(real):
    written = (ROOT / "tests/conformance/outcome.txt").read_text()
    assert not differences(written, real, "outcome.txt", "broker")


def test_there_are_at_least_forty_scenarios(real):
    assert sum(not line.startswith(" ") for line in real.splitlines()) >= 40


@pytest.mark.parametrize("seed", SEEDS)
def test_the_simulation_does_what_the_broker_does(build, real, seed):
    simulated = outcome(build / "conformance/sim", "--seed", seed)
    assert not differences(real, simulated, "broker", f"simulation, seed {seed}")
