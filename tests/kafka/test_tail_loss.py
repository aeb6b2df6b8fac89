"""A broker is killed, and its disk has not kept what it acknowledged: the end of a lane's log, or of the ledger's, is
cut off before the broker starts again. Nothing may be published twice or left out; riffle repair completes what it can."""

import json
import os
import pathlib
import re
import shutil
import signal
import sys

import pytest

from conftest import wait_until

sys.path.append(str(pathlib.Path(__file__).parents[1] / "chaos"))

from cluster import Cluster  # noqa: E402
from log_tail import batches, cut  # noqa: E402

LANES, STEPS, LATER = 4, 40, 60
WEIGHTS = {"a": 0.6, "b": 0.4}


@pytest.fixture(scope="module")
def broker(build):
    """One of these tests' own: it is killed again and again."""
    c = Cluster(build / f"kafka-tail-{os.getpid()}", os.environ.get("KAFKA", "3.9"), 1)
    c.up()
    yield c
    c.down()
    shutil.rmtree(c.folder)


@pytest.fixture
def bootstrap(broker):
    return broker.bootstrap


def name_of(config):
    return json.loads(pathlib.Path(config).read_text())["mix"]["name"]


class Mix:
    def __init__(self, riffle, config):
        self.riffle, self.config, self.name = riffle, config, name_of(config)

    def mix(self, until, **more):
        return self.riffle("mix", "-c", self.config, "--until-step", until, **more)

    def refused(self, *texts, command=("mix", "--until-step", LATER)):
        done = self.riffle(command[0], "-c", self.config, *command[1:], check=False)
        assert done.returncode == 1, done.stderr
        for text in texts:
            assert re.search(text, done.stderr), f"{text} is not in: {done.stderr}"
        return done.stderr

    def repair(self, *words):
        return self.riffle("repair", "-c", self.config, *words).stdout

    def status(self):
        return json.loads(self.riffle("status", "-c", self.config, "--json").stdout)


@pytest.fixture
def lose(broker):
    """lose((mix, topic, partition, n, what), ...): kills the broker, and cuts the last n transactions off each log;
    what="marker": the last one keeps its records and loses its marker alone."""
    def run(*tails):
        broker.end(1, signal.SIGKILL)
        for m, topic, partition, n, what in tails:
            log = broker.home() / "broker1.data" / f"{m.name}.{topic}-{partition}"
            markers = [b for b in batches(log) if b.marker]
            cut(log, markers[-n].first if what == "marker" else markers[-n - 1].last + 1)
        broker.up()
    return run


@pytest.fixture
def mixed(riffle, fill, configure):
    """mixed(name): a mix of 40 steps in several transactions."""
    def make(name, steps=STEPS, **keys):
        m = Mix(riffle, configure(WEIGHTS, name, lanes=LANES, **{"transaction_bytes": 10000, **keys}))
        m.mix(steps)
        return m
    fill("a", "b")
    return make


@pytest.fixture
def calm(mixed, read):
    m = mixed("calm", LATER)
    return read(m.config, LATER)


@pytest.fixture
def whole(riffle, read, calm):
    """whole(m): the mix goes on, and each step is there once, with the bytes of a mix that nothing happened to."""
    def check(m):
        m.mix(LATER)
        assert [int(line.split("\t")[0]) for line in calm] == [s for s in range(LATER) for _ in range(LANES)]
        assert read(m.config, LATER) == calm
        assert f"replayed steps 0..{LATER}" in riffle("replay", "-c", m.config, "--steps", f"0..{LATER}").stdout
    return check


# What is lost of which log; what the mixer says; which lanes and steps repair names.
LOSSES = {
    "lane": ([("batches", 2, 2, "")], ["lane 2 ends before step", "ledger before step 40"], ["lane 2: "]),
    "lanes": ([("batches", 0, 1, ""), ("batches", 3, 4, "")], [r"lane 0 \(and 1 more\)"], ["lane 0: ", "lane 3: "]),
    "ledger": ([("ledger", 0, 2, "")], [r"ledger has lost its end", r"lane 0 \(and 3 more\)", "a second time"],
               ["ledger: steps "]),
    "both": ([("ledger", 0, 2, ""), ("batches", 1, 1, ""), ("batches", 2, 3, "")], ["ledger has lost its end"],
             ["lane 1: ", "lane 2: ", "ledger: steps "]),
    "marker": ([("batches", 1, 1, "marker")], ["lane 1 ends before step"], ["aborted a transaction", "lane 1: "]),
}


def test_what_a_broker_lost_stops_the_mixer_and_is_completed(mixed, lose, whole):
    mixes = {name: mixed(name) for name in LOSSES}
    lose(*[(mixes[name], *tail) for name, (tails, _, _) in LOSSES.items() for tail in tails])
    for name, (tails, said, repaired) in LOSSES.items():
        m = mixes[name]
        text = m.refused(*said, "riffle repair -c")
        assert "MIX-LANE-END" in text
        status = m.status()
        assert any("has lost its end" in p for p in status["problems"]), name
        lanes = {lane["lane"] for lane in status["mix"]["lanes_behind"]}
        # A marker that is missing looks to readers as if the record were not there.
        assert lanes == {p for topic, p, _, _ in tails if topic == "batches"} - ({1} if name == "both" else set())
        assert bool(status["mix"]["lanes_ahead"]) == (("ledger", 0) in {t[:2] for t in tails})
        assert "would write" in m.repair("--dry-run")
        m.refused(*said)
        done = m.repair()
        for words in repaired:
            assert words in done, f"{name}: {done}"
        assert "nothing to repair" in m.repair()
        status = m.status()["mix"]
        assert status["lanes_behind"] == status["lanes_ahead"] == []
        whole(m)
