"""Followers that learn late how far a log is committed. A command near one (client.rack) reads to the end that the leader gives."""

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys

import pytest

from conftest import wait_until
from test_follow import Writer, check_exactly_once, live, sequences  # noqa: F401
from test_produce import corpus, encoding, lines, texts  # noqa: F401

sys.path.append(str(pathlib.Path(__file__).parents[1] / "chaos"))

from cluster import lagging, running  # noqa: E402

LAG_MS, TRIES = 4000, 6
RACKS = ["rack1", "rack2", "rack3"]
COPIED = {"replication": 3, "min_insync_replicas": 2}


@pytest.fixture(scope="module")
def cluster(build):
    with running(build / "kafka-lagging", brokers=3, properties=lagging(LAG_MS)) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def bootstrap(cluster):
    return cluster.bootstrap


def shown(bootstrap, topic):
    """The number of records that a topic shows: at its leader, and in each rack."""
    asked = [subprocess.Popen(["kcat", "-C", "-q", "-e", "-b", bootstrap, "-t", topic, "-p", "0", "-o", "beginning", "-f", "%o\n",
                               *(["-X", f"client.rack={rack}"] if rack else [])], stdout=subprocess.PIPE, text=True)
             for rack in [None, *RACKS]]
    return [len(one.communicate(timeout=60)[0].splitlines()) for one in asked]


def rack_that_lags(write, topic):
    """Writes until a follower shows less of the topic than the leader does; the rack of that follower.

    Of two followers one hears at once that both have a record, the other up to LAG_MS later, or, if the two ask at nearly the
    same time, hardly later: then the next write has another chance."""
    for _ in range(TRIES):
        c = write()
        leader, *others = shown(c.bootstrap, f"{c.name}.{topic}")
        late = [rack for rack, n in zip(RACKS, others) if n < leader]
        if late:
            return c, late[0]
    raise AssertionError(f"no follower lagged after {TRIES} writes")


def test_a_live_domain_that_is_closed_near_a_follower_that_lags_has_every_document_once(live, encoding):  # noqa: F811
    def write():
        live.writer.append(f"m{len(live.writer.all)}.jsonl", 20)
        live.produce()
        return live

    one = live.config  # of the domain there is one copy, so that its writes take none of the time in which the follower lags
    live.config = {**one, "domains": {"other": {"train": ["other/*"], "live": True}}, "topics": COPIED}
    live.create()
    live.config = one
    live.create()
    _, rack = rack_that_lags(write, "arrivals")
    live.writer.append("a.jsonl", 20)  # sorts before what was read first
    live.config["domains"]["a"].pop("live")
    live.write()
    live.produce("-X", f"client.rack={rack}")
    check_exactly_once(live, encoding, sequences(live))


def test_status_near_a_follower_that_lags_knows_that_a_domain_is_sealed(corpus):  # noqa: F811
    (corpus.folder / "a.jsonl").write_text(lines(texts(60)))
    corpus.config |= {"domains": {"a": {"train": ["a.jsonl"]}}, "topics": COPIED}

    def write():
        c = corpus.copy()
        c.produce()
        return c

    c, rack = rack_that_lags(write, "a")
    domain, = json.loads(c.riffle("status", "-c", c.path, "--json", "-X", f"client.rack={rack}").stdout)["domains"]
    assert domain["sealed_length"] == domain["sequences"] > 0


@contextlib.contextmanager
def held(cluster, nodes):
    """Brokers that do nothing."""
    for node in nodes:
        os.kill(cluster.pid(node), signal.SIGSTOP)
    try:
        yield
    finally:
        for node in nodes:
            os.kill(cluster.pid(node), signal.SIGCONT)


def test_a_producer_that_is_stopped_leaves_nothing_on_its_way(live, cluster):  # noqa: F811
    live.config["topics"] = COPIED
    live.create()
    live.writer.append("a.jsonl", 20)
    live.produce()
    leader = cluster.leader(f"{live.name}.arrivals", 0)
    order = next((cluster.home() / f"broker{leader}.data").rglob(f"{live.name}.arrivals-0/00000000000000000000.log"))
    known = len(live.values("arrivals"))
    first = live.start("--follow")
    wait_until(lambda: len(live.values("arrivals")) > known, "the producer has taken over")
    with held(cluster, {1, 2, 3} - {leader}):
        before = order.stat().st_size
        live.writer.append("b.jsonl", 20)
        wait_until(lambda: order.stat().st_size > before, "the order of the new file is on its way")
        first.send_signal(signal.SIGTERM)
        with pytest.raises(subprocess.TimeoutExpired):
            first.wait(2)
    _, said = first.communicate(timeout=60)
    assert first.returncode == 0, said
    assert "PRODUCE-RETRY" not in live.produce().stderr
