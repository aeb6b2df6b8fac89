"""riffle mix when nobody knows how a commit ended: a new producer, and the state from Kafka, not from memory."""

import signal
import struct
import time

import pytest

from wire_proxy import END_TRANSACTION, INIT_PRODUCER, PRODUCE, Fate, Proxy

INVALID_EPOCH, FENCED = 47, 90
HIT = 8  # the transaction whose end is hit
STEPS = 120


class Plan:
    """Decides the fate of requests: the HIT-th EndTxn has `fate`, all others pass."""

    def __init__(self, fate):
        self.fate = fate
        self.ends = self.produced_since = 0
        self.late_answer = None
        self.proxy = None

    def __call__(self, api_key):
        if api_key == PRODUCE and self.proxy.held:
            # The first Produce of the next transaction has passed: now the late end arrives, in the middle of it.
            self.produced_since += 1
            if self.produced_since == 2:
                self.late_answer = self.proxy.release()
        if api_key != END_TRANSACTION:
            return Fate.PASS
        self.ends += 1
        return self.fate if self.ends == HIT else Fate.PASS


@pytest.fixture
def through(bootstrap):
    """through(fate) -> the plan and its proxy."""
    proxies = []

    def make(fate):
        plan = Plan(fate)
        plan.proxy = Proxy(bootstrap, plan)
        proxies.append(plan.proxy)
        return plan
    yield make
    for proxy in proxies:
        proxy.close()


@pytest.fixture
def mixed(riffle, fill, configure, read):
    """Mixes through a proxy, and compares with an undisturbed mix; gives the mixer's log."""
    def run(plan):
        fill("a", "b")
        weights = {"a": 0.7, "b": 0.3}
        hit, calm = configure(weights, "hit", transaction_bytes=4096), configure(weights, "calm")
        done = riffle("mix", "-c", hit, "--until-step", STEPS, env={"RIFFLE_BOOTSTRAP": plan.proxy.address})
        riffle("mix", "-c", calm, "--until-step", STEPS)
        lines = read(hit, STEPS)
        assert lines == read(calm, STEPS)
        assert [int(line.split("\t")[0]) for line in lines] == [s for s in range(STEPS) for _ in range(8)]
        riffle("replay", "-c", hit, "--steps", f"0..{STEPS}")
        assert plan.ends > HIT, "the fault came too late to matter"
        return done.stderr
    return run


def attached(log):
    """How often the mixer took over. Requests for a producer are no measure: a cold coordinator has them repeated."""
    return log.count(" mixer=")


def test_the_answer_to_a_commit_is_lost(mixed, through):
    plan = through(Fate.LOSE_ANSWER)
    log = mixed(plan)
    assert "MIX-RECOVER" in log and "never answered" in log
    assert attached(log) == 2, "one producer before the fault, one after it"


def test_a_commit_is_never_answered(mixed, through):
    plan = through(Fate.SILENCE)
    log = mixed(plan)
    assert "MIX-RECOVER" in log and "committing a transaction" in log
    assert attached(log) == 2


def test_a_commit_that_arrives_in_the_middle_of_the_next_transaction_is_refused(mixed, through):
    plan = through(Fate.HOLD)
    log = mixed(plan)
    assert "MIX-RECOVER" in log and "never answered" in log
    assert attached(log) == 2
    throttle, error = struct.unpack(">ih", plan.late_answer[:6])
    assert error in (INVALID_EPOCH, FENCED), "the late end has ended a transaction that was not its own"


def test_a_mixer_that_is_overtaken_while_it_takes_over_again_exits_3(riffle, fill, configure, read, through):
    """Another mixer begins after the look at the ledger and before the new producer: it is the newer one."""
    plan = through(Fate.LOSE_ANSWER)
    fill("a", "b")
    config = configure({"a": 0.7, "b": 0.3}, transaction_bytes=4096)
    rivals = []

    def decide(api_key):
        if api_key == INIT_PRODUCER and plan.ends >= HIT and not rivals:
            rivals.append(riffle("mix", "-c", config, "--until-step", STEPS, check=False))
        return plan(api_key)
    plan.proxy.decide = decide
    overtaken = riffle("mix", "-c", config, "--until-step", STEPS, check=False,
                       env={"RIFFLE_BOOTSTRAP": plan.proxy.address})
    assert [rival.returncode for rival in rivals] == [0]
    assert overtaken.returncode == 3 and "another mixer has taken over" in overtaken.stderr, overtaken.stderr
    steps = [int(line.split("\t")[0]) for line in read(config, STEPS)]
    assert steps == [step for step in range(STEPS) for _ in range(8)]
    riffle("replay", "-c", config, "--steps", f"0..{STEPS}")


class SlowStart:
    """The first transaction, which says that a mixer begins, takes longer than one may: both halves are held up."""

    STALL_S, LIMIT_MS = 3.5, 4000

    def __init__(self):
        self.inits, self.stalls = 0, {PRODUCE: self.STALL_S, END_TRANSACTION: self.STALL_S}

    def __call__(self, api_key):
        self.inits += api_key == INIT_PRODUCER
        time.sleep(self.stalls.pop(api_key, 0))  # the fault itself
        return Fate.PASS


def test_a_first_transaction_that_times_out_is_no_fencing_where_nobody_else_is(riffle, fill, configure, read, bootstrap):
    fill("a")
    config, plan = configure({"a": 1.0}, "slow"), SlowStart()
    limits = [f"-X{name}={plan.LIMIT_MS}" for name in ("transaction.timeout.ms", "message.timeout.ms", "socket.timeout.ms")]
    proxy = Proxy(bootstrap, plan)
    try:
        done = riffle("mix", "-c", config, "--until-step", 20, *limits, env={"RIFFLE_BOOTSTRAP": proxy.address})
    finally:
        proxy.close()
    assert "MIX-RECOVER" in done.stderr and plan.inits == 2
    assert [int(line.split("\t")[0]) for line in read(config, 20)] == [s for s in range(20) for _ in range(8)]


class SlowSuccessor:
    """Takes the transactional id at once, and is slow to say in the ledger that it has begun."""

    STALL_S = 3

    def __init__(self):
        self.stall_s = self.STALL_S

    def __call__(self, api_key):
        if api_key == PRODUCE:
            stall_s, self.stall_s = self.stall_s, 0
            time.sleep(stall_s)  # the fault itself
        return Fate.PASS


def test_a_fenced_mixer_waits_for_the_start_of_the_one_that_fenced_it(riffle, fill, configure, read, bootstrap, wait_for):
    """One that took its place again at once would fence the newer one before that has begun."""
    fill("a", "b")
    config = configure({"a": 0.5, "b": 0.5}, transaction_ms=20)
    older = riffle.popen("mix", "-c", config)
    wait_for(lambda: len(read(config, 1)) == 8, "the first step")
    proxy = Proxy(bootstrap, SlowSuccessor())
    try:
        newer = riffle.popen("mix", "-c", config, env={"RIFFLE_BOOTSTRAP": proxy.address})
        said = older.communicate(timeout=120)[1]
        newer.send_signal(signal.SIGTERM)
        newer_said = newer.communicate(timeout=60)[1]
    finally:
        proxy.close()
    assert newer.returncode == 0 and "MIX-RECOVER" not in newer_said, newer_said
    assert older.returncode == 3 and "another mixer has taken over" in said, said
