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
# A broker that forgets what rests: EXPIRY_MS of tests/conformance/sequences.c is more than twice this.
EXPIRING = ("transactional.id.expiration.ms=4000 transaction.remove.expired.transaction.cleanup.interval.ms=500 "
            "producer.id.expiration.ms=4000 producer.id.expiration.check.interval.ms=500")


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


@pytest.fixture(scope="module")
def expiring(build, tmp_path_factory):
    """What came of the scenarios of a broker of their own."""
    env = {**os.environ, "RIFFLE_KAFKA_DIR": str(tmp_path_factory.mktemp("expiring")), "RIFFLE_KAFKA_JVM": "1",
           "RIFFLE_KAFKA_PROPERTIES": EXPIRING}
    env.pop("RIFFLE_BOOTSTRAP", None)
    words = ["--version", os.environ.get("KAFKA", "3.9")]
    up = subprocess.run([ROOT / "scripts/kafka", "up", *words], env=env, stdout=subprocess.PIPE, text=True, check=True)
    try:
        yield outcome(build / "conformance/real", "--jobs", JOBS, "--expiring", RIFFLE_BOOTSTRAP=up.stdout.strip())
    finally:
        subprocess.run([ROOT / "scripts/kafka", "down", "--yes", *words], env=env, check=True)


def test_a_broker_that_forgets_does_what_is_written_down(expiring):
    written = (ROOT / "tests/conformance/outcome_expiring.txt").read_text()
    assert not differences(written, expiring, "outcome_expiring.txt", "broker")


@pytest.mark.parametrize("seed", SEEDS)
def test_the_simulation_forgets_as_the_broker_does(build, expiring, seed):
    simulated = outcome(build / "conformance/sim", "--seed", seed, "--expiring")
    assert not differences(expiring, simulated, "broker", f"simulation, seed {seed}")


def test_there_are_at_least_forty_scenarios(real):
    assert sum(not line.startswith(" ") for line in real.splitlines()) >= 40


@pytest.mark.parametrize("seed", SEEDS)
def test_the_simulation_does_what_the_broker_does(build, real, seed):
    simulated = outcome(build / "conformance/sim", "--seed", seed)
    assert not differences(real, simulated, "broker", f"simulation, seed {seed}")
