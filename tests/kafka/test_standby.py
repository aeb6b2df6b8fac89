"""riffle mix --standby on the real broker: who takes over, when, and that nothing is lost or twice."""

import json
import os
import re
import signal
import subprocess
import threading
import time

import pytest

from conftest import both_forms, wait_until

# A mixer that dies is replaced after its session of 10 s, and one that ends in half a second. A busy machine adds seconds to both.
# librdkafka's own session would last 45 s, and one that ended without leaving would be replaced after its session.
SESSION_SECONDS = 10
TAKE_OVER_SECONDS = 30
HAND_OVER_SECONDS = 8
SHORT = ("-X", "session.timeout.ms=6000")  # the least that brokers take by default
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

    def ends(self, code, seconds=60):
        got = self.process.wait(timeout=seconds)
        self.reader.join(timeout=10)
        assert got == code, self.log()


@pytest.fixture
def mixer(riffle):
    return lambda config, *words: Mixer(riffle, config, *words)


@pytest.fixture
def position(riffle):
    def step_next(config):
        done = riffle("status", "-c", config, "--json", check=False)  # a busy broker may not answer in time
        return json.loads(done.stdout)["mix"].get("step_next") or 0 if done.returncode == 0 else 0
    return step_next


@pytest.fixture
def roles(riffle):
    """Of each member of the group whether it is a standby."""
    return lambda config: [m["standby"] for m in json.loads(riffle("status", "-c", config, "--json").stdout)["mix"]["mixers"]]


@pytest.fixture
def pair(fill, configure):
    """Two configurations of one seed over the same domains: the one to be hit, and an undisturbed one."""
    fill(*WEIGHTS, sequences=400)
    return configure(WEIGHTS, "hit", **SLOW), configure(WEIGHTS, "calm", transaction_bytes=1000000)


@pytest.fixture
def same(riffle, read, position):
    """All steps of the mix that was hit are there once, in order, and those of an undisturbed run."""
    def check(hit, calm):
        steps = position(hit)
        riffle("mix", "-c", calm, "--until-step", steps)
        lines = read(hit, steps)
        assert lines == read(calm, steps)
        numbers = [int(line.split("\t")[0]) for line in lines]
        assert numbers == [step for step in range(steps) for _ in range(8)]
    return check


def measured(what, seconds, limit):
    print(f"{what}: {seconds:.1f} s")
    assert seconds < limit


@both_forms
def test_after_kill_9_a_standby_takes_over_and_hands_over_to_another_at_sigterm(
        pair, mixer, position, same, riffle, roles, form):
    hit, calm = pair
    session = () if form == "copied" else SHORT
    first = mixer(hit, *session)
    first.leads()
    standbys = [mixer(hit, "--standby", *session), mixer(hit, "--standby", *session)]
    for standby in standbys:
        standby.waits()
    wait_until(lambda: position(hit) > 20, "some steps")
    assert roles(hit) == [False, True, True]
    assert "mixers   active 127.0.0.1; standby 127.0.0.1, 127.0.0.1\n" in riffle("status", "-c", hit).stdout
    began = time.monotonic()
    first.signal(signal.SIGKILL)
    wait_until(lambda: any(s.says("version=.* mixer=") for s in standbys), "a take-over")
    measured("take-over after kill -9", time.monotonic() - began, TAKE_OVER_SECONDS)
    second, third = sorted(standbys, key=lambda s: not s.says("MIX-TAKEOVER"))
    before = position(hit)
    wait_until(lambda: position(hit) > before + 20, "steps of the second")
    assert not third.says("MIX-TAKEOVER")
    wait_until(lambda: roles(hit) == [False, True], "the second is a member as the active one")
    second.signal(signal.SIGTERM)
    second.ends(0)
    began = time.monotonic()
    third.leads()
    measured("hand-over after SIGTERM", time.monotonic() - began, HAND_OVER_SECONDS)
    before = position(hit)
    wait_until(lambda: position(hit) > before, "a step of the third")
    third.signal(signal.SIGTERM)
    third.ends(0)
    same(hit, calm)


def test_one_stopped_past_its_session_is_fenced_and_nothing_of_it_is_seen(pair, mixer, position, same):
    hit, calm = pair
    first = mixer(hit, *SHORT)
    first.leads()
    standby = mixer(hit, "--standby", *SHORT)
    standby.waits()
    wait_until(lambda: position(hit) > 20, "some steps")
    began = time.monotonic()
    first.signal(signal.SIGSTOP)
    standby.leads()
    measured("take-over after SIGSTOP", time.monotonic() - began, TAKE_OVER_SECONDS)
    before = position(hit)
    wait_until(lambda: position(hit) > before, "a step of the standby")
    first.signal(signal.SIGCONT)
    first.ends(3)
    assert "another mixer has taken over" in first.log()
    before = position(hit)
    wait_until(lambda: position(hit) > before, "a step after the other woke up")
    standby.signal(signal.SIGTERM)
    standby.ends(0)
    same(hit, calm)


def test_a_stopped_one_that_waits_for_trainers_ends_soon_after_it_wakes_up(fill, configure, mixer, position):
    fill("a")
    config = configure({"a": 1}, max_lead_steps=8)
    first = mixer(config, *SHORT)
    wait_until(lambda: position(config) == 8, "the last step that the trainers allow")
    standby = mixer(config, "--standby", *SHORT)
    standby.waits()
    first.signal(signal.SIGSTOP)
    standby.leads()
    first.signal(signal.SIGCONT)
    first.ends(3, seconds=10)
    standby.signal(signal.SIGTERM)
    standby.ends(0)


@both_forms
def test_a_second_active_one_fences_the_first_and_the_standby_goes_on_waiting(pair, mixer, position, same, roles):
    hit, calm = pair
    first = mixer(hit)
    first.leads()
    standby = mixer(hit, "--standby")
    standby.waits()
    # If the first left the group before the second is a member, it would be the standby's turn.
    first.signal(signal.SIGSTOP)
    began = time.monotonic()
    second = mixer(hit)
    second.leads()
    wait_until(lambda: roles(hit).count(False) == 2 or time.monotonic() - began > SESSION_SECONDS, "the group knowing the second")
    first.signal(signal.SIGCONT)
    first.ends(3)
    before = position(hit)
    wait_until(lambda: position(hit) > before + 20, "steps of the second")
    assert not standby.says("MIX-TAKEOVER")
    second.signal(signal.SIGTERM)
    second.ends(0)
    standby.leads(HAND_OVER_SECONDS)
    standby.signal(signal.SIGTERM)
    standby.ends(0)
    same(hit, calm)


def test_of_mixers_that_wait_for_trainers_the_newest_stays_and_each_older_one_ends(fill, configure, mixer, position):
    """None of them writes, so that no broker tells them; the election may leave its partition to any of them."""
    fill("a")
    config = configure({"a": 1}, max_lead_steps=8)
    older = mixer(config)
    wait_until(lambda: position(config) == 8, "the last step that the trainers allow")
    for _ in range(4):
        newer = mixer(config)
        newer.leads()
        older.ends(3, seconds=20)
        assert older.says("another mixer has taken over")
        older = newer
    older.signal(signal.SIGTERM)
    older.ends(0)


def test_with_the_end_of_the_mix_the_standby_ends(fill, configure, mixer):
    fill("a", sequences=100)
    config = configure({"a": 1}, domains={"a": {"on_end": "stop"}}, max_lead_steps=0, **SLOW)
    standby = mixer(config, "--standby")
    standby.leads()  # nobody else is there: its turn comes at once
    standby.ends(0)
    late = mixer(config, "--standby")
    late.ends(0)
    assert "ended before step=6" in late.log()


def test_a_standby_that_could_not_take_over_is_refused_at_once(pair, configure, mixer):
    hit, _ = pair
    first = mixer(hit)
    first.leads()
    other = configure(WEIGHTS, "hit", create=False, seed=8)
    standby = mixer(other, "--standby")
    standby.ends(2)
    assert "seed" in standby.log()
    assert first.process.poll() is None
    first.signal(signal.SIGTERM)
    first.ends(0)


def test_of_several_active_members_status_says_that_one_works_at_most(pair, riffle, tools, bootstrap, unique):
    """So mixers look that could not leave: killed ones, and those that were refused right behind."""
    hit, _ = pair
    words = [tools / "broker", "member", f"{unique}-hit.election", f"{unique}-hit.control", "mix-active"]
    members = [subprocess.Popen(words, stdin=subprocess.PIPE, env={**os.environ, "RIFFLE_BOOTSTRAP": bootstrap}) for _ in range(2)]
    wait_until(lambda: re.search(r"^mixers   active 127.0.0.1, 127.0.0.1 \(one works at most: those that died, or were refused "
                                 r"after one died, are listed for up to 10 s\)$", riffle("status", "-c", hit).stdout, re.M),
               "two members that no standby is")
    for member in members:
        member.communicate(timeout=60)


def test_a_standby_that_waits_ends_with_sigterm(pair, mixer):
    hit, _ = pair
    first = mixer(hit)
    first.leads()
    standby = mixer(hit, "--standby")
    standby.waits()
    standby.signal(signal.SIGTERM)
    standby.ends(0)
    first.signal(signal.SIGTERM)
    first.ends(0)


def test_a_mixer_after_one_that_was_killed_ends_without_waiting_for_its_session(pair, mixer, position):
    """Its join is answered when the dead one's session is over; it has long ended by then, or the join is answered."""
    hit, _ = pair
    first = mixer(hit)
    first.leads()
    wait_until(lambda: position(hit) > 0, "a step")
    first.signal(signal.SIGKILL)
    first.ends(-signal.SIGKILL)
    second = mixer(hit, "--until-step", position(hit) + 1)
    second.ends(0)
    assert "paused before step" in second.log()
    assert "KAFKA-CLOSE" not in second.log()
