"""The short form of `make chaos`: a whole riffle on one broker of its own, killed part by part, and all of it compared
with an undisturbed run."""

import random
import signal
import time

import pytest
from corpus import Corpus
from pipeline import LANES, Pipeline, produce_sealed
from report import Row, judge, lanes_of

SHORT = ("-X", "session.timeout.ms=3000")  # until the mixer that stands by takes over


@pytest.fixture
def stormy(own_broker, tmp_path, unique):
    corpus = Corpus(tmp_path / "data", 7)
    corpus.write_sealed(400)
    p = Pipeline(tmp_path, f"{unique}-stormy", corpus, own_broker.bootstrap)
    p.riffle("topics", "-c", p.config, "--create")
    yield p
    p.supervisor.end()


def start(p, rng):
    p.start_producer()
    p.start_mixers(2, *SHORT)
    p.start_trainers()
    p.supervisor.chores.append(p.corpus.feed)
    p.supervisor.start()
    produce_sealed(p, rng, kills=1)
    p.corpus.begin_live(20)
    p.wait(lambda: p.slowest() >= 5 and p.active() and p.standby(), "step 5, a mixer and its standby")


def calm_lanes(p, bootstrap, tmp_path, steps):
    calm = Pipeline(tmp_path, f"{p.name}-calm", p.corpus, bootstrap, lead=0)
    calm.riffle("topics", "-c", calm.config, "--create")
    calm.riffle("produce", "-c", calm.config)
    calm.riffle("mix", "-c", calm.config, "--until-step", steps)
    return read_all(calm, steps)


def read_all(p, steps):
    return lanes_of(p.riffle("read", "-c", p.config, "--from-step", 0, "--steps", steps, "--run", "audit", "--timeout",
                             30).stdout)


def test_mixer_producer_trainers_and_broker_are_killed_and_no_step_is_lost_repeated_or_different(
        own_broker, stormy, tmp_path):
    seed = int(time.time())
    print(f"seed {seed}")
    p, rng = stormy, random.Random(seed)
    start(p, rng)

    target = p.beyond()
    p.active().signal(signal.SIGKILL)
    for victim in (p.producer, p.trainers[0], p.trainers[1]):
        time.sleep(rng.uniform(0, 1))
        victim.signal(signal.SIGKILL)
    p.wait(lambda: p.slowest() >= target, "a step of the mixer that stood by")

    target = p.beyond()
    own_broker.end(1, signal.SIGKILL)
    own_broker.up()
    p.wait(lambda: p.slowest() >= target, "a step after the broker came back")

    steps, bad = p.settle()
    # 3: while the broker was away the group may have handed over, and the other mixer fenced this one.
    assert [end for end in bad + p.stop() if not (end[0].startswith("mixer") and end[1] == 3)] == []
    p.supervisor.end()
    for t in p.trainers:
        t.read()
        assert t.gaps == []
    row = Row("all", 0)
    row.end = steps
    lost, repeated, _, differing = judge(row, steps, LANES, calm_lanes(p, own_broker.bootstrap, tmp_path, steps), read_all(p, steps),
                                         p.trainers)
    assert (lost, repeated, differing) == (0, 0, 0)
    assert f"of mix {p.name}" in p.riffle("replay", "-c", p.config, "--steps", f"0..{steps}").stdout
