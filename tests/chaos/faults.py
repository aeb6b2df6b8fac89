"""The faults: each a function of the run and a seeded generator, bounded in time.

A fault returns when what it broke is whole again (a killed process is its supervisor's affair), with a
note for the table, or None. It raises AssertionError where the system did not do what it promises.

`run.pipelines` are the mix with copies and, beside it, the one without, each with mixers and trainers of its own. What strikes
mixers, trainers or commits strikes both; brokers, network, clocks and the producer are common to them.
"""

import os
import pathlib
import signal
import subprocess
import sys
import time

import log_tail
from pipeline import ATTACHED, BUILD, LANES, LEAD, TRANSACTION_S

sys.path.append(str(pathlib.Path(__file__).parents[1] / "kafka"))

from wire_proxy import Forger, proxies_of  # noqa: E402

FAULTS = {}
COMMIT_POINTS = ["mix.before_begin", "mix.mid_produce", "mix.after_flush", "mix.after_offsets", "mix.after_commit"]


def fault(name):
    def add(function):
        FAULTS[name] = function
        return function
    return add


def wait_active(p):
    p.wait(p.active, "a mixer becoming active", 60)
    return p.active()


def wait_standby(p):
    p.wait(p.standby, "a mixer standing by", 60)
    return p.standby()


# ---- processes ----

@fault("mixer-kill")
def mixer_kill(run, rng):
    """SIGKILL of the active mixer at any moment; the standby goes on."""
    for p in run.pipelines:
        wait_standby(p)
    time.sleep(rng.uniform(0, 1))
    run.strike()
    for p in run.pipelines:
        wait_active(p).signal(signal.SIGKILL)


@fault("mixer-commit")
def mixer_commit(run, rng):
    """The standby takes over and dies at a named point of its transaction; the next one goes on."""
    return ", ".join([die_at(run, p, f"{rng.choice(COMMIT_POINTS)}:{rng.randint(1, 6)}") for p in run.pipelines])


def die_at(run, p, point):
    victim, active = wait_standby(p), wait_active(p)
    runs = victim.runs
    victim.next_env = {"RIFFLE_FAULT": point}
    victim.signal(signal.SIGKILL)
    p.wait(lambda: victim.runs > runs and p.standby() is victim, "the armed mixer standing by", 60)
    run.strike()
    active.stop()  # it does not come back before the other one has died: the election may choose either
    try:
        p.wait(lambda: victim.runs > runs + 1, f"the death of the mixer at {point}", 60)
    finally:
        active.start()
    assert f"fault: {point.split(':')[0]} reached" in victim.text(runs + 1), f"{victim.name} did not die at {point}"
    return point


@fault("mixer-pause")
def mixer_pause(run, rng):
    """SIGSTOP of the active mixer past its transaction's time-out; it wakes fenced and exits 3."""
    for p in run.pipelines:
        wait_standby(p)
    old = [(p, wait_active(p)) for p in run.pipelines]
    runs = [m.runs for _, m in old]
    time.sleep(rng.uniform(0, 1))
    run.strike()
    for _, m in old:
        m.signal(signal.SIGSTOP)
    try:
        time.sleep(TRANSACTION_S + rng.uniform(2, 4))
        for p, m in old:
            p.wait(lambda: attached(p, m), "the standby taking over", 30)
    finally:
        for _, m in old:
            m.signal(signal.SIGCONT)
    for (p, m), n in zip(old, runs):
        p.wait(lambda: m.ends and m.ends[-1][0] >= n, "the end of the mixer that was stopped", 30)
        code = next(code for run_n, code, _ in m.ends if run_n == n)
        assert code == 3, f"{m.name}, which was stopped, ended with {code}, not 3"
    return "those that were stopped exited 3"


def attached(p, but):
    return [m for m in p.mixers if m is not but and m.process.poll() is None and ATTACHED.search(m.text())]


@fault("producer-kill")
def producer_kill(run, rng):
    """SIGKILL of the live domain's producer, three times."""
    for _ in range(3):
        time.sleep(rng.uniform(0.2, 1.5))
        runs = run.p.producer.runs
        run.strike()
        run.p.producer.signal(signal.SIGKILL)
        run.p.wait(lambda: run.p.producer.runs > runs, "the producer's restart", 10)


@fault("trainer-kill")
def trainer_kill(run, rng):
    """SIGKILL of one rank with a checkpoint and of one with commits only."""
    for checkpoint in True, False:
        time.sleep(rng.uniform(0, 1))
        run.strike()
        for p in run.pipelines:
            rng.choice([t for t in p.trainers if t.checkpoint == checkpoint]).kill()


@fault("everything-kill")
def everything_kill(run, rng):
    """SIGKILL of all clients at once."""
    time.sleep(rng.uniform(0, 1))
    run.strike()
    for job in [run.p.producer, *(job for p in run.pipelines for job in p.mixers + p.trainers)]:
        job.signal(signal.SIGKILL)


# ---- brokers ----

def bounce(run, rng, node, how=signal.SIGKILL):
    run.strike()
    run.cluster.end(node, how)
    if how == signal.SIGKILL:
        time.sleep(rng.uniform(3, 8))
    run.cluster.up()
    run.p.wait(run.in_sync, f"broker {node} having all records again", 120)
    return f"broker {node}"


@fault("broker-restart")
def broker_restart(run, rng):
    """A clean restart of each broker in turn."""
    for node in rng.sample(range(1, run.cluster.brokers + 1), run.cluster.brokers):
        bounce(run, rng, node, signal.SIGTERM)
    return "all, in turn"


@fault("leader-kill")
def leader_kill(run, rng):
    """kill -9 of the leader of a batch partition."""
    return bounce(run, rng, run.cluster.leader(f"{run.p.name}.batches", rng.randrange(8)))


@fault("transaction-coordinator-kill")
def transaction_coordinator_kill(run, rng):
    """kill -9 of the coordinator of the mixers' transactions."""
    return bounce(run, rng, run.cluster.transaction_coordinator(f"{run.p.name}.mixer"))


@fault("group-coordinator-kill")
def group_coordinator_kill(run, rng):
    """kill -9 of the coordinator of the trainers' group."""
    return bounce(run, rng, run.cluster.group_coordinator(f"{run.p.name}.trainers"))


@fault("election-coordinator-kill")
def election_coordinator_kill(run, rng):
    """kill -9 of the coordinator of the mixers' election."""
    return bounce(run, rng, run.cluster.group_coordinator(f"{run.p.name}.election"))


def restart_clients(run, env):
    jobs = run.p.supervisor.jobs
    runs = [job.runs for job in jobs]
    for job in jobs:
        job.env |= env
        job.signal(signal.SIGKILL)
    run.p.wait(lambda: all(job.runs > n for job, n in zip(jobs, runs)), "the restart of all clients", 60)


@fault("metadata-empty")
def metadata_empty(run, rng):
    """All connections break, and for a while answers with metadata name no broker, which librdkafka from 2.13 on takes at its word."""
    proxies = proxies_of(run.cluster.bootstrap)
    try:
        targets = [p.beyond() for p in run.pipelines]
        restart_clients(run, {"RIFFLE_BOOTSTRAP": ",".join(proxy.address for proxy in proxies)})
        for p, target in zip(run.pipelines, targets):
            p.wait(lambda: p.slowest() >= target, "new steps by way of the proxies", 120)
            wait_standby(p)
        runs = {job.name: job.runs for job in run.p.supervisor.jobs}
        run.strike()
        forger = Forger(rng.uniform(6, 12))
        for proxy in proxies:
            proxy.decide = forger
        for proxy in proxies:
            proxy.disconnect()
        run.p.wait(lambda: len(run.passed) == len(run.pipelines), "new steps at all ranks of both mixes", 240)
        again = [job for job in run.p.supervisor.jobs if "connecting to bootstrap.servers again" in job.text(runs[job.name])]
    finally:
        restart_clients(run, {"RIFFLE_BOOTSTRAP": run.cluster.bootstrap})
        for proxy in proxies:
            proxy.close()
    return f"{forger.forged} answers; {len(again)} clients connected again"


# ---- logs that lose what was acknowledged ----
# Of the mix with copies alone: the other one has no batch topic that could lose something, and goes on beside it.

def said(p, words):
    return [m for m in p.mixers if any(words in m.text(n) for n in range(max(1, m.runs - 1), m.runs + 1))]


def wait_said(p, words):
    p.wait(lambda: said(p, words), f"a mixer saying: {words}", 120)


def wait_stopped(run, words):
    """A mixer has ended with a sentence that names the loss; both are held, as by whoever reads it."""
    run.p.wait(lambda: said(run.p, words) and said(run.p, "riffle repair"), f"a mixer saying: {words}", 120)
    for m in run.p.mixers:
        m.stop()


def repair(run):
    done = run.p.riffle("repair", "-c", run.p.config, timeout=240)
    for m in run.p.mixers:
        m.start()
    return done.stdout.strip().splitlines()[-1]


@fault("tail-loss")
def tail_loss(run, rng):
    """All brokers die, and on no disk is the end of one lane, up to four transactions; riffle repair completes it."""
    lane, lost = rng.randrange(LANES), rng.randint(1, 4)
    folders = [run.cluster.home() / f"broker{n}.data/{run.p.name}.batches-{lane}" for n in range(1, run.cluster.brokers + 1)]
    run.p.wait(lambda: run.p.slowest() >= 2 * LEAD, "steps that can be lost", 120)
    run.strike()
    for node in range(1, run.cluster.brokers + 1):
        run.cluster.end(node, signal.SIGKILL)
    ends = [[b.last + 1 for b in log_tail.batches(f) if b.marker] for f in folders]
    kept = min(len(e) for e in ends) - 1
    assert kept > 0, "too few transactions to lose one"
    at = min(e[-min(lost, kept) - 1] for e in ends)
    for folder, end in zip(folders, ends):
        if end[-1] > at:
            log_tail.cut(folder, at)
    run.cluster.up()
    run.p.wait(run.in_sync, "all replicas in sync", 120)
    wait_stopped(run, f"lane {lane} ")
    return f"lane {lane}: {repair(run)}"


@fault("topic-recreate")
def topic_recreate(run, rng):
    """The batch topic is deleted and made again under all that use it; riffle repair fills it from its first step."""
    run.strike()
    subprocess.run([*run.p.prefix, BUILD / "tests/tools/topic", "delete", f"{run.p.name}.batches"], check=True, timeout=120,
                   env={**os.environ, "RIFFLE_BOOTSTRAP": run.cluster.bootstrap})
    run.p.riffle("topics", "-c", run.p.config, "--create")
    wait_stopped(run, "has lost its end")
    return repair(run)


# ---- commits that are gone ----

def forget_commits(run, p):
    """What the broker does when offsets expire: tombstones for every commit of the trainers' group."""
    subprocess.run([*p.prefix, BUILD / "tests/tools/broker", "forget", f"{p.name}.trainers"], check=True, timeout=120,
                   env={**os.environ, "RIFFLE_BOOTSTRAP": run.cluster.bootstrap})


@fault("commits-lost")
def commits_lost(run, rng):
    """The commits of the run are deleted while its trainers work; the mixer warns, and the next commits are there."""
    for p in run.pipelines:
        p.wait(lambda: p.slowest() >= LEAD, "commits that can be lost", 120)
    time.sleep(rng.uniform(0, 1))
    run.strike()
    for p in run.pipelines:
        forget_commits(run, p)


@fault("commits-expire")
def commits_expire(run, rng):
    """They expire while no trainer runs, and the active mixer dies: mixers and trainers stop and name it; a reset."""
    return "mixer and trainers named it; reset to step " + " and ".join(str(expire(run, p)) for p in run.pipelines)


def expire(run, p):
    p.wait(lambda: p.slowest() >= LEAD and p.committed() > 0, "commits that can be lost", 120)
    wait_standby(p)
    by_commits = [t for t in p.trainers if not t.checkpoint]
    for t in p.trainers:
        t.stop()
    run.strike()
    forget_commits(run, p)
    wait_active(p).signal(signal.SIGKILL)
    wait_said(p, "--reset trainers --to")
    for t in by_commits:
        t.start()
    p.wait(lambda: all(any("--reset trainers --to" in t.text(n) for n in (t.runs - 1, t.runs)) for t in by_commits),
           "trainers saying that their commits are gone", 60)
    for t in p.trainers:
        t.stop()
        t.read()
    to = p.slowest() + 1
    p.riffle("runs", "-c", p.config, "--reset", "trainers", "--to", to, "--idle", 0, "--timeout", 120, timeout=240)
    for t in p.trainers:
        t.floor = to
        t.start()
    return to


# ---- network, disk, clock ----

@fault("network-cut")
def network_cut(run, rng):
    """No packet between clients and brokers, for longer than a transaction may last."""
    run.strike()
    run.network.cut()
    try:
        time.sleep(TRANSACTION_S + rng.uniform(2, 8))
    finally:
        run.network.heal()


@fault("network-blip")
def network_blip(run, rng):
    """The same for less than a transaction may last."""
    run.strike()
    run.network.cut()
    try:
        time.sleep(rng.uniform(2, 6))
    finally:
        run.network.heal()


@fault("disk-full")
def disk_full(run, rng):
    """The log directory of one broker fills up; the broker gives up; space is made, it comes back."""
    node, at = run.small_node, run.cluster.mounted
    run.strike()
    pad = at / "pad"
    with open(pad, "wb") as f:
        try:
            while True:
                f.write(bytes(1 << 20))
                f.flush()
        except OSError:
            pass  # it is full
    try:
        run.cluster.wait_ended(node, 60)
    finally:
        pad.unlink()
    time.sleep(rng.uniform(1, 3))
    run.cluster.up()
    run.p.wait(run.in_sync, f"broker {node} having all records again", 120)
    return f"broker {node} gave up by itself"


@fault("clock-forward")
def clock_forward(run, rng):
    """The clients' clocks go an hour ahead, and after a while back again."""
    run.strike()
    run.p.jump(3600)
    time.sleep(rng.uniform(3, 6))
    run.p.jump(0)


@fault("clock-back")
def clock_back(run, rng):
    """The clients' clocks go an hour back, and after a while forward again."""
    run.strike()
    run.p.jump(-3600)
    time.sleep(rng.uniform(8, 12))
    run.p.jump(0)
