"""stuck: a trainer that stalls, then a broker that is dead.

    stuck.py [--kafka 3.9] [--slow 600] [--dead 60]

All the while memory must be bounded, nobody may spin, and `riffle status` must say what is wrong. After
each everything must go on by itself. Ends with a table; exit 1 where one of these is not so.
"""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import namespace
from cluster import Cluster
from corpus import Corpus
from pipeline import BUILD, LEAD, RIFFLE, WORLD, Pipeline, produce_sealed
from sample import Sampler, cpu_percent

CPU_PERCENT_MAX = 5.0
GROWN_MB_MAX = 32.0  # librdkafka's handles of a mixer that attaches again included
STATUS_EVERY_S = 10
LIVE_DOCUMENTS_S = 20
SLOW_RANK = 3


class Stuck:
    def __init__(self, folder, version):
        self.network = namespace.Network()
        self.cluster = Cluster(folder / "kafka", version, 1, namespace.SERVER)
        self.cluster.up()
        self.corpus = Corpus(folder / "data", 3)
        self.corpus.write_sealed(1000)
        self.p = Pipeline(folder, "stuck", self.corpus, self.cluster.bootstrap, self.network.prefix)
        self.wrong = []

    def start(self):
        p = self.p
        p.riffle("topics", "-c", p.config, "--create")
        produce_sealed(p, None, 0)
        p.start_producer()
        p.start_mixers(2)
        p.start_trainers()
        p.supervisor.chores.append(self.corpus.feed)
        p.supervisor.start()
        self.corpus.begin_live(LIVE_DOCUMENTS_S)
        p.wait(lambda: p.slowest() >= 20 and p.standby(), "step 20 and a standby", 240)

    def status(self):
        """What a person would see."""
        words = [*self.p.prefix, RIFFLE, "status", "-c", self.p.config]
        done = subprocess.run([str(w) for w in words], capture_output=True, text=True, timeout=60)
        return done.stdout + done.stderr

    def watch(self, name, seconds, pattern):
        """Samples and asks for the status until the time is over; judges and prints."""
        sampler = Sampler([*self.p.mixers, self.p.producer, *self.p.trainers])
        self.p.supervisor.chores.append(sampler)
        end, answers, before = time.monotonic() + seconds, [], {j.name: len(j.ends) for j in sampler.jobs}
        while time.monotonic() < end:
            asked = time.monotonic()
            text = self.status()
            answers.append(re.search(pattern, text))
            if not answers[-1]:
                self.wrong.append(f"{name}: riffle status does not say /{pattern}/ but: {text[-600:]}")
            time.sleep(max(0, min(asked + STATUS_EVERY_S, end) - time.monotonic()))
        self.p.supervisor.chores.remove(sampler)
        said = sum(bool(a) for a in answers)
        print(f"\n{name}, {seconds} s; riffle status, asked {len(answers)} times, said it {said} times:")
        print(f"    {next((a.group(0) for a in answers if a), '-')}")
        self.table(name, sampler, before)

    def table(self, name, sampler, before):
        print(f"{'process':<10} {'CPU %':>6} {'RSS MB first':>13} {'max':>7} {'last':>7} {'descriptors':>12} {'ended':>6}")
        for job in sampler.jobs:
            s = sampler.samples[job.name]
            cpu, rss, fds = cpu_percent(s), [x.rss_mb for x in s] or [0], [x.fds for x in s] or [0]
            ended = len(job.ends) - before[job.name]
            print(f"{job.name:<10} {cpu:>6.2f} {rss[0]:>13.1f} {max(rss):>7.1f} {rss[-1]:>7.1f} "
                  f"{f'{fds[0]} to {max(fds)}':>12} {ended:>6}")
            if cpu >= CPU_PERCENT_MAX:
                self.wrong.append(f"{name}: {job.name} took {cpu:.1f} % of a core")
            if max(rss) - rss[0] > GROWN_MB_MAX:
                self.wrong.append(f"{name}: {job.name} grew from {rss[0]:.0f} to {max(rss):.0f} MB")

    def recover(self, name, began):
        self.corpus.begin_live(LIVE_DOCUMENTS_S)
        target = self.p.beyond()
        try:
            self.p.wait(lambda: self.p.slowest() >= target, "new steps at all ranks", 240)
            print(f"recovered {time.monotonic() - began:.1f} s after it was over, by itself")
        except TimeoutError as e:
            self.wrong.append(f"{name}: {e}")

    def slow(self, seconds):
        """One rank stalls; the others read until the lead is used up, then the mixer waits for it."""
        p, victim = self.p, self.p.trainers[SLOW_RANK]
        p.wait(lambda: p.committed() > 0, "the first commits", 60)
        victim.signal(signal.SIGSTOP)
        said = rf"the mixer waits at step \d+ for run trainers, which has committed .* and (nothing on )?lanes? [{2 * SLOW_RANK}-7]"
        p.wait(lambda: re.search(said, self.status()), f"riffle status saying /{said}/", 120)
        ahead = max(t.step for t in p.trainers) - victim.step
        if ahead > 2 * LEAD:
            self.wrong.append(f"slow: the others are {ahead} steps ahead, the lead is {LEAD}")
        self.corpus.end_live()
        self.watch("a trainer stalls", seconds, said)
        victim.signal(signal.SIGCONT)
        self.recover("slow", time.monotonic())

    def dead(self, seconds):
        self.corpus.end_live()
        self.cluster.end(1, signal.SIGKILL)
        self.watch("the broker is dead", seconds, r"no broker answers at \S+ \(bootstrap.servers\)")
        self.cluster.up()
        self.recover("dead", time.monotonic())

    def end(self):
        self.corpus.end_live()
        for t in self.p.trainers:
            if t.gaps or t.repeated or t.differing:
                self.wrong.append(f"{t.name}: gaps {t.gaps}, repeated {t.repeated[:3]}, differing {t.differing[:3]}")
        self.p.supervisor.end()


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--kafka", default=os.environ.get("KAFKA", "3.9"))
    a.add_argument("--slow", type=int, default=600)
    a.add_argument("--dead", type=int, default=60)
    given = a.parse_args()
    namespace.enter()
    folder = BUILD / f"stuck-{os.getppid()}-{int(time.time())}"
    folder.mkdir(parents=True)
    stuck = Stuck(folder, given.kafka)
    try:
        stuck.start()
        stuck.slow(given.slow)
        stuck.dead(given.dead)
    finally:
        stuck.end()
        stuck.cluster.down()
    for text in stuck.wrong:
        print(f"WRONG: {text}")
    if not stuck.wrong:
        shutil.rmtree(folder)
    sys.exit(1 if stuck.wrong else 0)


if __name__ == "__main__":
    assert WORLD > SLOW_RANK
    main()
