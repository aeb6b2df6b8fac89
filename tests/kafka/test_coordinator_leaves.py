"""The broker that coordinates the mixer's group dies and stays away: librdkafka from 2.10 on forgets it, and a request that waits
for it would wait for ten minutes, whatever its time-out is (its issues 5456 and 5511)."""

import pathlib
import signal
import sys

import pytest

from rank import lines_of

sys.path.append(str(pathlib.Path(__file__).parents[1] / "chaos"))

from cluster import running  # noqa: E402

FIRST, STEPS, LEAD = 20, 400, 8


@pytest.fixture(scope="module")
def cluster(build):
    with running(build / "kafka-coordinator", brokers=3) as c:
        yield c


@pytest.fixture
def bootstrap(cluster):
    return cluster.bootstrap


def test_a_mixer_continues_without_the_coordinator_of_its_group(
        riffle, fill, configure, package, cluster, bootstrap, wait_for, unique):
    config = configure({"a": 0.7, "b": 0.3}, max_lead_steps=LEAD, runs=["trainers"], replication=3)
    fill("a", "b", sequences=16 * STEPS)
    mixer = riffle.popen("mix", "-c", config, "--until-step", STEPS)
    with package.riffle.Reader(f"{unique}-mix", bootstrap, step=0, timeout=120) as reader:
        for step in range(STEPS):
            if step == FIRST:
                wait_for(cluster.in_sync, "all replicas having all records")
                cluster.end(cluster.group_coordinator(f"{unique}-mix.mixer"), signal.SIGKILL)
            assert lines_of(next(reader))
            reader.commit()
    assert mixer.wait(timeout=60) == 0, mixer.communicate()[1]
