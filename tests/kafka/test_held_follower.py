"""A follower does nothing while a producer is stopped. The producer waits for the record that the follower has not acknowledged."""

import contextlib
import os
import signal
import subprocess

import pytest

from conftest import wait_until
from test_follow import live  # noqa: F401
from test_produce import corpus  # noqa: F401


@pytest.fixture
def bootstrap(two_brokers):
    return two_brokers.bootstrap


@contextlib.contextmanager
def held(cluster, node):
    """Stops a broker for a while."""
    os.kill(cluster.pid(node), signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(cluster.pid(node), signal.SIGCONT)


def test_a_producer_that_is_stopped_leaves_nothing_on_its_way(live, two_brokers):  # noqa: F811
    live.config["topics"] = {"replication": 2, "min_insync_replicas": 1}
    live.create()
    live.writer.append("a.jsonl", 20)
    live.produce()
    leader = two_brokers.leader(f"{live.name}.arrivals", 0)
    order = next((two_brokers.home() / f"broker{leader}.data").rglob(f"{live.name}.arrivals-0/00000000000000000000.log"))
    known = len(live.values("arrivals"))
    first = live.start("--follow")
    wait_until(lambda: len(live.values("arrivals")) > known, "the producer has taken over")
    with held(two_brokers, 3 - leader):
        before = order.stat().st_size
        live.writer.append("b.jsonl", 20)
        wait_until(lambda: order.stat().st_size > before, "the order of the new file is on its way")
        first.send_signal(signal.SIGTERM)
        with pytest.raises(subprocess.TimeoutExpired):
            first.wait(2)
    _, said = first.communicate(timeout=60)
    assert first.returncode == 0, said
    assert "PRODUCE-RETRY" not in live.produce().stderr
