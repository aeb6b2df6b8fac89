"""Followers that learn late how far a log is committed. A command near one (client.rack) reads to the end that the leader gives."""

import json
import subprocess

import pytest

from test_follow import Writer, check_exactly_once, live, sequences  # noqa: F401
from test_produce import corpus, encoding, lines, texts  # noqa: F401

TRIES = 6
RACKS = ["rack1", "rack2", "rack3"]
COPIED = {"replication": 3, "min_insync_replicas": 2}


@pytest.fixture
def bootstrap(lagging_brokers):
    return lagging_brokers.bootstrap


def shown(bootstrap, topic):
    """The number of records that a topic shows: at its leader, and in each rack."""
    asked = [subprocess.Popen(["kcat", "-C", "-q", "-e", "-b", bootstrap, "-t", topic, "-p", "0", "-o", "beginning", "-f", "%o\n",
                               *(["-X", f"client.rack={rack}"] if rack else [])], stdout=subprocess.PIPE, text=True)
             for rack in [None, *RACKS]]
    return [len(one.communicate(timeout=60)[0].splitlines()) for one in asked]


def rack_that_lags(write, topic):
    """Writes until a follower shows less of the topic than the leader does; the rack of that follower.

    Of two followers one hears at once that both have a record, the other up to four seconds later, or, if the two ask at nearly the
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
