"""soak: the whole of riffle at full rate for a while, with a fault a minute.

    soak.py [--kafka 3.9] [--minutes 30] [--seed N]

Samples memory and descriptors of every process once a second. Ends with a table of the faults and one of
the processes; exit 1 where memory or descriptors grew, or a step was lost, repeated or different.
"""

import argparse
import os
import sys
import time

import namespace
from chaos import Run, say
from pipeline import BUILD, LANES
from sample import Sampler, grown, slope_per_hour

# Faults that leave at least one process of each kind alive, so that there is something to see grow.
SOAK_FAULTS = ["leader-kill", "network-blip", "group-coordinator-kill", "clock-forward", "transaction-coordinator-kill",
               "network-cut", "broker-restart", "disk-full", "trainer-kill", "election-coordinator-kill"]
WARM_S = 60
GROWN_MB_MAX, GROWN_FDS_MAX = 16.0, 8.0
KEPT_STEPS = 2000  # behind the slowest rank; older ones are deleted, so that the disk stays as it is
SEGMENT_BYTES = 16 << 20  # of each lane; a broker deletes whole segments, of a GiB as riffle makes topics
REPLAYED_STEPS = 500
LIVE_DOCUMENTS_S = 10


class Soak(Run):
    DERIVED = False  # a domain that lends makes draws rest on when things happen: two mixes do not have the same steps

    def begin(self):
        super().begin()
        self.cluster.configure("stormy.batches", f"segment.bytes={SEGMENT_BYTES}")

    def pipeline(self, name, **more):
        # Nothing to wait for: full rate means what mixer, brokers and trainers can do.
        return super().pipeline(name, length=512, batch=64, on_dry="lend", **more)

    def trim(self):
        for t in self.p.trainers:
            with t.lock:
                for key in [k for k in t.seen if k[0] < t.step - 4 * KEPT_STEPS]:
                    del t.seen[key]
        first = self.p.slowest() - KEPT_STEPS
        if first > 0:
            done = self.p.riffle("retain", "-c", self.p.config, "--from-step", first, check=False)
            if done.returncode != 0:
                say(f"retain: {done.stderr.strip()}")

    def soak(self, minutes):
        end, minute = time.monotonic() + 60 * minutes, 0
        while time.monotonic() < end:
            began = time.monotonic()
            self.disturb(SOAK_FAULTS[minute % len(SOAK_FAULTS)])
            self.trim()
            minute += 1
            self.p.wait(lambda: time.monotonic() - began >= 60 or time.monotonic() >= end, "the minute", 61)

    def finish(self):
        """Returns what is wrong."""
        steps, bad = self.p.settle(300)
        bad += self.p.stop()
        self.p.supervisor.end()
        wrong = [f"{n} ended with {code} at SIGTERM" for n, code in bad]
        for t in self.p.trainers:
            t.read()
            wrong += [f"{t.name}: {what} {found[:3]}" for what, found in
                      [("gap before step", t.gaps), ("repeated", t.repeated), ("differing", t.differing)] if found]
            if t.step + 1 != steps:
                wrong.append(f"{t.name} ended at step {t.step}, not {steps - 1}")
        wrong += [f"{r.name}: {r.problem}" for r in self.rows if r.problem]
        first = max(0, steps - REPLAYED_STEPS)
        replay = self.p.riffle("replay", "-c", self.p.config, "--steps", f"{first}..{steps}", timeout=600, check=False)
        print(replay.stdout.strip() or replay.stderr.strip())
        if replay.returncode != 0:
            wrong.append("replay")
        return steps, wrong


def print_faults(rows):
    print(f"\n{'fault':<30} {'lasted s':>9} {'recovered s':>12}")
    for r in rows:
        print(f"{r.name:<30} {r.lasted or 0:>9.1f} {r.seconds():>12}  {r.note}{' WRONG: ' + r.problem if r.problem else ''}")


def print_processes(sampler, wrong):
    print(f"\n{'process':<10} {'alive s':>8} {'RSS MB':>8} {'max':>7} {'MB/hour':>8} {'grown':>7} {'descr.':>7} {'max':>5} "
          f"{'/hour':>7} {'grown':>6}")
    for name in sampler.samples:
        s = [x for x in sampler.longest(name)]
        s = [x for x in s if x.at - s[0].at >= WARM_S]
        if not s:
            print(f"{name:<10} no process of it lived longer than {WARM_S} s")
            continue
        mb, fds = grown(s, "rss_mb"), grown(s, "fds")
        print(f"{name:<10} {s[-1].at - s[0].at + WARM_S:>8.0f} {s[0].rss_mb:>8.1f} {max(x.rss_mb for x in s):>7.1f} "
              f"{slope_per_hour(s, 'rss_mb'):>+8.1f} {mb:>+7.1f} {s[0].fds:>7} {max(x.fds for x in s):>5} "
              f"{slope_per_hour(s, 'fds'):>+7.1f} {fds:>+6.1f}")
        if mb > GROWN_MB_MAX or fds > GROWN_FDS_MAX:
            wrong.append(f"{name} grew by {mb:.0f} MB and {fds:.0f} descriptors")


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--kafka", default=os.environ.get("KAFKA", "3.9"))
    a.add_argument("--minutes", type=float, default=30)
    a.add_argument("--seed", type=int, default=int(time.time()))
    given = a.parse_args()
    namespace.enter()
    folder = BUILD / f"soak-{os.getppid()}-{given.seed}"
    folder.mkdir(parents=True, exist_ok=True)
    say(f"seed {given.seed}; logs in {folder}")
    run = Soak(folder, given.kafka, given.seed)
    try:
        run.begin()
        run.start()
        sampler = Sampler(list(run.p.supervisor.jobs))
        run.p.supervisor.chores.append(sampler)
        began = time.monotonic()
        run.soak(given.minutes)
        seconds = time.monotonic() - began
        steps, wrong = run.finish()
    finally:
        run.end()
    print_faults(run.rows)
    print_processes(sampler, wrong)
    print(f"\n{steps} steps of {LANES} lanes, 64 x 512 tokens each, in {seconds:.0f} s with the faults: "
          f"{steps * 64 * 512 / seconds / 1e6:.1f} M tokens/s; every rank had each step, in order")
    for text in wrong:
        print(f"WRONG: {text}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
