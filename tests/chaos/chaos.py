"""chaos: a whole riffle on three brokers under every fault, compared with an undisturbed run.

    chaos.py [--kafka 3.9] [--seed N] [--faults a,b,...]

Ends with a table; exit 1 where a step was lost, repeated or different, or something did not recover.
"""

import argparse
import os
import pathlib
import random
import shutil
import sys
import time

import namespace
from cluster import Cluster
from corpus import Corpus
from faults import FAULTS
from pipeline import BUILD, LANES, Pipeline, produce_sealed
from report import Row, lanes_of, print_table

RECOVER_S = 240  # more is a fault that the system did not recover from
LIVE_DOCUMENTS_S = 10
SEALED_DOCUMENTS = 2000
SMALL_MB = 3072


def say(text):
    print(f"chaos: {text}", flush=True)


class Run:
    """Everything of one run: brokers, network, the disturbed pipeline, and the rows of the table."""

    def __init__(self, folder, version, seed):
        self.folder, self.seed, self.rows, self.ends = folder, seed, [], {}
        self.rng = random.Random(seed)
        self.network = namespace.Network()
        self.cluster = Cluster(folder / "kafka", version, 3, namespace.SERVER)
        self.small_node = 3
        self.p = None

    def begin(self):
        self.cluster.up()
        self.cluster.end(self.small_node, 15)
        self.cluster.move_to_memory(self.small_node, SMALL_MB)
        self.cluster.up()
        say(f"Kafka {self.cluster.version} answers at {self.cluster.bootstrap}")
        self.corpus = Corpus(self.folder / "data", self.seed)
        self.corpus.write_sealed(SEALED_DOCUMENTS)
        self.p = self.pipeline("stormy", jumps=True)
        self.p.riffle("topics", "-c", self.p.config, "--create")

    def pipeline(self, name, **more):
        return Pipeline(self.folder, name, self.corpus, self.cluster.bootstrap, self.network.prefix, replication=3, **more)

    def start(self):
        """All at once, as after a power cut; the sealed domains come by a producer that is killed."""
        self.p.start_producer()
        self.p.start_mixers()
        self.p.start_trainers()
        self.p.supervisor.chores.append(self.corpus.feed)
        self.p.supervisor.start()
        row = self.open_row("producer-kill-sealed", 0)
        began = time.monotonic()
        ends = produce_sealed(self.p, self.rng, 3)
        row.lasted, row.note = time.monotonic() - began, f"killed {ends.count(-9)} times" + f", exit 1 {ends.count(1)} times" * (1 in ends)
        self.corpus.begin_live(LIVE_DOCUMENTS_S)
        self.p.wait(lambda: self.p.slowest() >= 0, "the first step", RECOVER_S)
        row.recovered = time.monotonic() - began
        say(f"{row.name}: first step after {row.recovered:.1f} s")

    def in_sync(self):
        try:
            return self.cluster.in_sync()
        except RuntimeError:
            return False

    def open_row(self, name, first):
        if self.rows:
            self.rows[-1].end = first
        self.rows.append(Row(name, first))
        return self.rows[-1]

    def calm_down(self):
        """Before a fault all is whole."""
        self.p.wait(self.in_sync, "all replicas in sync", RECOVER_S)
        self.p.wait(lambda: self.p.active() and self.p.standby(), "an active mixer and a standby", RECOVER_S)

    def disturb(self, name):
        """One fault and its row. False: it was not recovered from."""
        row = self.open_row(name, max(t.step for t in self.p.trainers) + 1)
        before = self.exits()
        try:
            self.calm_down()
            self.inflict(row, FAULTS[name])
        except (AssertionError, TimeoutError, RuntimeError) as e:
            row.problem = str(e)
        ended = [f"{n} exit {c}" for n, codes in self.exits().items() for c in codes[len(before.get(n, [])):]
                 if c not in (-9, 3)]
        row.note = "; ".join(x for x in (row.note, ", ".join(ended)) if x)
        say(f"{name}: lasted {row.lasted or -1:.1f} s, recovered in {row.recovered or -1:.1f} s {row.note} {row.problem}")
        return not row.problem

    def strike(self):
        """Called by a fault right before it breaks something: from here on the recovery counts.

        Recovered: every rank has a step that cannot have been published before."""
        self.target, self.struck, self.passed = self.p.beyond(), time.monotonic(), None

    def watch(self):
        if self.passed is None and self.p.slowest() >= self.target:
            self.passed = time.monotonic()

    def inflict(self, row, fault):
        self.strike()
        began = self.struck
        self.p.supervisor.chores.append(self.watch)
        try:
            row.note = fault(self, self.rng) or ""
            row.lasted = time.monotonic() - began
            self.p.wait(lambda: self.passed, "new steps at all ranks", RECOVER_S)
            row.recovered = self.passed - self.struck
        finally:
            self.p.supervisor.chores.remove(self.watch)

    def exits(self):
        return {j.name: [code for _, code, _ in j.ends] for j in self.p.supervisor.jobs}

    def finish(self):
        """Stops the disturbed run and makes the undisturbed one. True: all is as it must be."""
        steps, bad = self.p.settle()
        self.rows[-1].end = steps
        bad += self.p.stop()
        self.p.supervisor.end()
        for t in self.p.trainers:
            t.read()
        say(f"{steps} steps; now the same without faults")
        audit = lanes_of(self.p.riffle("read", "-c", self.p.config, "--from-step", 0, "--steps", steps, "--run", "audit",
                                       "--timeout", 60, timeout=300).stdout)
        replay = self.p.riffle("replay", "-c", self.p.config, "--steps", f"0..{steps}", timeout=300, check=False)
        calm = self.calm(steps)
        good = print_table(self.rows, steps, LANES, calm, audit, self.p.trainers)
        gaps = [f"{t.name} step {s}" for t in self.p.trainers for s in t.gaps]
        for text in [f"{n} ended with {code} at SIGTERM" for n, code in bad] + [f"a gap before {g}" for g in gaps]:
            print(f"WRONG: {text}")
            good = False
        if replay.returncode != 0:
            print(f"WRONG: replay: {replay.stderr}")
            good = False
        else:
            print(f"replay of all steps from domain logs and ledger: {replay.stdout.strip().splitlines()[-1]}")
        return good

    def calm(self, steps):
        p = self.pipeline("calm", lead=0)
        p.riffle("topics", "-c", p.config, "--create")
        p.riffle("produce", "-c", p.config, timeout=300)
        p.riffle("mix", "-c", p.config, "--until-step", steps, "-q", timeout=300)
        return lanes_of(p.riffle("read", "-c", p.config, "--from-step", 0, "--steps", steps, "--run", "audit", timeout=300).stdout)

    def end(self):
        if self.p:
            self.p.supervisor.end()
        self.cluster.down()


def arguments():
    a = argparse.ArgumentParser()
    a.add_argument("--kafka", default=os.environ.get("KAFKA", "3.9"))
    a.add_argument("--seed", type=int, default=int(time.time()))
    a.add_argument("--faults", help=f"of {', '.join(FAULTS)}")
    given = a.parse_args()
    wanted = given.faults.split(",") if given.faults else list(FAULTS)
    for name in wanted:
        if name not in FAULTS:
            a.error(f"--faults: {name} is none of {', '.join(FAULTS)}")
    return given, wanted


def main():
    given, wanted = arguments()
    namespace.enter()
    folder = BUILD / f"chaos-{os.getppid()}-{given.seed}"
    folder.mkdir(parents=True, exist_ok=True)
    run = Run(folder, given.kafka, given.seed)
    say(f"seed {given.seed}; logs in {folder}")
    if not given.faults:
        run.rng.shuffle(wanted)
    good = False
    try:
        run.begin()
        run.start()
        whole = True
        for name in wanted:
            recovered = run.disturb(name)
            if not (recovered or whole):
                break  # two in a row: the rest would say nothing
            whole = recovered
        good = run.finish()
    finally:
        run.end()
    if good:
        shutil.rmtree(folder)
    print(f"chaos: {'all as in the undisturbed run' if good else 'WRONG'}; Kafka {given.kafka}, seed {given.seed}", flush=True)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
