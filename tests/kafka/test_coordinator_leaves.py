"""The broker that coordinates the mixer's group dies and stays away: librdkafka from 2.10 on forgets it, and a request that waits
for it would wait for ten minutes, whatever its time-out is (its issues 5456 and 5511)."""

import signal

import pytest
from rank import lines_of

FIRST, STEPS, LEAD = 20, 100, 8


@pytest.fixture
def bootstrap(two_brokers):
    return two_brokers.bootstrap


def test_a_mixer_continues_without_the_coordinator_of_its_group(
        riffle, fill, configure, package, two_brokers, bootstrap, wait_for, unique):
    config = configure({"a": 0.7, "b": 0.3}, max_lead_steps=LEAD, runs=["trainers"], replication=2)
    fill("a", "b", sequences=16 * STEPS)
    mixer = riffle.popen("mix", "-c", config, "--until-step", STEPS, "-X", "transaction.timeout.ms=6000")
    with package.riffle.Reader(f"{unique}-mix", bootstrap, step=0, timeout=120) as reader:
        for step in range(STEPS):
            if step == FIRST:
                wait_for(two_brokers.in_sync, "all replicas having all records")
                two_brokers.end(two_brokers.group_coordinator(f"{unique}-mix.mixer"), signal.SIGKILL)
            assert lines_of(next(reader))
            reader.commit()
    assert mixer.wait(timeout=60) == 0, mixer.communicate()[1]
