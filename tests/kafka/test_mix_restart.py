"""riffle mix while its broker is away: the broker is killed in the middle of a mix and comes back.

The broker is this test's own; the run's shared one is left alone.
"""

import json
import os
import signal

import pytest

from conftest import wait_until
from test_broker import cluster, wait_gone  # noqa: F401 (a fixture)

TRIES = 10  # of a question to a broker that is busy, or has only just come back


@pytest.fixture
def bootstrap(cluster):  # noqa: F811
    return cluster("up").stdout.strip()


def test_a_mixer_outlives_its_broker_and_the_steps_are_those_of_a_calm_mix(
        riffle, fill, configure, read, cluster, bootstrap):  # noqa: F811
    fill("a", "b")
    weights = {"a": 0.7, "b": 0.3}
    calm, hit = configure(weights, "calm"), configure(weights, "hit")
    mixer = riffle.popen("mix", "-c", hit, "--until-step", 1000000)

    def position():
        for _ in range(TRIES):
            done = riffle("status", "-c", hit, "--json", check=False)
            if done.returncode == 0:
                break
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["mix"]["step_next"]

    wait_until(lambda: position() > 0, "the first step")
    pid = cluster.pid()
    os.kill(pid, signal.SIGKILL)
    wait_gone(pid)
    assert cluster("up").stdout.strip() == bootstrap
    before = position()
    wait_until(lambda: position() > before, "a step after the broker came back", seconds=90)
    mixer.send_signal(signal.SIGTERM)
    assert mixer.wait(timeout=60) == 0
    steps = min(position(), 300)
    assert steps > before or before >= 300
    riffle("mix", "-c", calm, "--until-step", steps)
    assert read(calm, steps) == read(hit, steps)
