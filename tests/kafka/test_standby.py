"""riffle mix --standby on the real broker: who takes over, when, and that nothing is lost or twice."""

import json
import os
import re
import signal
import threading
import time

import pytest

from conftest import wait_until

TAKE_OVER_SECONDS = 15
HAND_OVER_SECONDS = 3
WEIGHTS = {"a": 0.5, "b": 0.3, "c": 0.2}
# Seconds of mixing: a mixer stands in the middle of its work whenever it is hit.
SLOW = {"transaction_bytes": 4096, "transaction_ms": 20}


class Mixer:
    """A mixer in the background, whose log can be waited for."""

    def __init__(self, riffle, config, *words):
        self.process = riffle.popen("mix", "-c", config, *words, start_new_session=True)
        self.lines = []
        self.reader = threading.Thread(target=self.follow, daemon=True)
        self.reader.start()

    def follow(self):
        for line in self.process.stderr:
            self.lines.append(line)

    def log(self):
        return "".join(self.lines)

    def says(self, pattern):
        return re.search(pattern, self.log())

    def wait_says(self, pattern, seconds=60):
        wait_until(lambda: self.says(pattern) or self.process.poll() is not None, f"the line {pattern!r}", seconds)
        assert self.says(pattern), f"exit {self.process.poll()}\n{self.log()}"

    def waits(self):
        self.wait_says("standby mix=")

    def leads(self, seconds=60):
        self.wait_says(r"mix: mix=\S+ step=\d+ version=\d+ mixer=", seconds)

    def signal(self, number):
        self.process.send_signal(number)

    def ends(self, code, seconds=30):
        got = self.process.wait(timeout=seconds)
        self.reader.join(timeout=10)
        assert got == code, self.log()


@pytest.fixture
def mixer(riffle):
    return lambda config, *words: Mixer(riffle, config, *words)


@pytest.fixture
def position(riffle):
    def step_next(config):
        return json.loads(riffle("status", "-c", config, "--json").stdout)["mix"].get("step_next") or 0
    return step_next


@pytest.fixture
def pair(fill, configure):
    """Two configurations of one seed over the same domains: the one to be hit, and an undisturbed one."""
    fill(*WEIGHTS, sequences=400)
    return configure(WEIGHTS, "hit", **SLOW), configure(WEIGHTS, "calm", **SLOW)


@pytest.fixture
def same(riffle, read):
    """All steps of the mix that was hit are there once, in order, and those of an undisturbed run."""
    def check(hit, calm, steps):
        riffle("mix", "-c", calm, "--until-step", steps)
        lines = read(hit, steps)
        assert lines == read(calm, steps)
        numbers = [int(line.split("\t")[0]) for line in lines]
        assert numbers == [step for step in range(steps) for _ in range(8)]
        riffle("replay", "-c", hit, "--steps", f"0..{steps}")
    return check


def measured(what, seconds, limit):
    print(f"{what}: {seconds:.1f} s")
    assert seconds < limit


def test_after_kill_9_a_standby_takes_over_within_15_s(pair, mixer, position, same):
    hit, calm = pair
    first = mixer(hit)
    first.leads()
    standby = mixer(hit, "--standby")
    standby.waits()
    wait_until(lambda: position(hit) > 20, "some steps")
    began = time.monotonic()
    first.signal(signal.SIGKILL)
    standby.wait_says("MIX-TAKEOVER")
    standby.leads()
    measured("take-over after kill -9", time.monotonic() - began, TAKE_OVER_SECONDS)
    before = position(hit)
    wait_until(lambda: position(hit) > before, "a step of the standby")
    standby.signal(signal.SIGTERM)
    standby.ends(0)
    same(hit, calm, min(position(hit), 300))
