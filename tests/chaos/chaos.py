"""chaos: a whole riffle on three brokers under every fault, compared with an undisturbed run.

Two mixes over one corpus: one with copies, and one without (mix.batches: derived). After each fault their trainers must have
read the same.

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

    DERIVED = True  # beside the mix with copies runs one without

    def __init__(self, folder, version, seed):
        self.folder, self.seed, self.rows, self.ends = folder, seed, [], {}
        self.rng = random.Random(seed)
        self.network = namespace.Network()
        self.cluster = Cluster(folder / "kafka", version, 3, namespace.SERVER)
        self.small_node = 3
        self.p, self.pipelines = None, []  # the first of them; all

    def begin(self):
        self.cluster.up()
        self.cluster.end(self.small_node, 15)
        self.cluster.move_to_memory(self.small_node, SMALL_MB)
        self.cluster.up()
        say(f"Kafka {self.cluster.version} answers at {self.cluster.bootstrap}")
        self.corpus = Corpus(self.folder / "data", self.seed)
        self.corpus.write_sealed(SEALED_DOCUMENTS)
        self.p = self.pipeline("stormy", jumps=True)
        self.pipelines = [self.p] + [self.p.derived()] * self.DERIVED
        for p in self.pipelines:
            p.riffle("topics", "-c", p.config, "--create")

    def pipeline(self, name, **more):
        return Pipeline(self.folder, name, self.corpus, self.cluster.bootstrap, self.network.prefix, replication=3, **more)

    def start(self):
        """All at once, as after a power cut; the sealed domains come by a producer that is killed."""
        self.p.start_producer()
        for p in self.pipelines:
            p.start_mixers()
            p.start_trainers()
        self.p.supervisor.chores.append(self.corpus.feed)
        self.p.supervisor.start()
        row = self.open_row("producer-kill-sealed", 0)
        began = time.monotonic()
        ends = produce_sealed(self.p, self.rng, 3)
        row.lasted, row.note = time.monotonic() - began, f"killed {ends.count(-9)} times" + f", exit 1 {ends.count(1)} times" * (1 in ends)
        self.corpus.begin_live(LIVE_DOCUMENTS_S)
        for p in self.pipelines:
            p.wait(lambda: p.slowest() >= 0, "the first step", RECOVER_S)
            row.recovered.append(time.monotonic() - began)
        say(f"{row.name}: first step after {row.seconds()} s")

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
        for p in self.pipelines:
            p.wait(lambda: p.active() and p.standby(), "an active mixer and a standby", RECOVER_S)

    def disturb(self, name):
        """One fault and its row. False: it was not recovered from."""
        row = self.open_row(name, max(t.step for t in self.p.trainers) + 1)
        before = self.exits()
        try:
            self.calm_down()
            self.inflict(row, FAULTS[name])
            row.compared = self.compare()
        except (AssertionError, TimeoutError, RuntimeError) as e:
            row.problem = str(e)
        ended = [f"{n} exit {c}" for n, codes in self.exits().items() for c in codes[len(before.get(n, [])):]
                 if c not in (-9, 3)]
        row.note = "; ".join(x for x in (row.note, ", ".join(ended)) if x)
        say(f"{name}: lasted {row.lasted or -1:.1f} s, recovered in {row.seconds()} s; {row.compared} steps without copies the same; {row.note} {row.problem}")
        return not row.problem

    def strike(self):
        """Called by a fault right before it breaks something: from here on the recovery counts.

        Recovered: every rank has a step that cannot have been published before."""
        self.targets, self.struck, self.passed = [p.beyond() for p in self.pipelines], time.monotonic(), {}

    def watch(self):
        for i, p in enumerate(self.pipelines):
            if i not in self.passed and p.slowest() >= self.targets[i]:
                self.passed[i] = time.monotonic()

    def inflict(self, row, fault):
        self.strike()
        began = self.struck
        self.p.supervisor.chores.append(self.watch)
        try:
            row.note = fault(self, self.rng) or ""
            row.lasted = time.monotonic() - began
            self.p.wait(lambda: len(self.passed) == len(self.pipelines), "new steps at all ranks of both mixes", RECOVER_S)
            row.recovered = [self.passed[i] - self.struck for i in range(len(self.pipelines))]
        finally:
            self.p.supervisor.chores.remove(self.watch)

    def compare(self):
        """What trainers were given of the mix without copies, against the other one's. Returns the number of steps, or None."""
        if not self.DERIVED:
            return None
        copied, derived = ({k: v for t in p.trainers for k, v in list(t.seen.items())} for p in self.pipelines)
        keys = copied.keys() & derived.keys()
        differing = sorted(k for k in keys if copied[k] != derived[k])
        assert not differing, f"{len(differing)} lanes of steps differ without copies, the first is (step, lane) {differing[0]}"
        return len(keys) // LANES

    def exits(self):
        return {j.name: [code for _, code, _ in j.ends] for j in self.p.supervisor.jobs}

    def finish(self):
        """Stops the disturbed run and makes the undisturbed one. True: all is as it must be."""
        ends = [p.settle() for p in self.pipelines]
        steps, bad = [steps for steps, _ in ends], [end for _, bad in ends for end in bad]
        self.rows[-1].end = steps[0]
        for p in self.pipelines:
            bad += p.stop()
        self.p.supervisor.end()
        for p in self.pipelines:
            for t in p.trainers:
                t.read()
        say(f"{' and '.join(map(str, steps))} steps; now the same without faults")
        audits = [self.read(p, n, "--timeout", 60) for p, n in zip(self.pipelines, steps)]
        replays = [p.riffle("replay", "-c", p.config, "--steps", f"0..{n}", timeout=300, check=False)
                   for p, n in zip(self.pipelines, steps)]
        calm = self.calm(max(steps))
        good = print_table(self.rows, LANES, calm, list(zip(self.pipelines, steps, audits)))
        gaps = [f"{t.name} step {s}" for p in self.pipelines for t in p.trainers for s in t.gaps]
        for text in [f"{n} ended with {code} at SIGTERM" for n, code in bad] + [f"a gap before {g}" for g in gaps]:
            print(f"WRONG: {text}")
            good = False
        for p, replay in zip(self.pipelines, replays):
            if replay.returncode != 0:
                print(f"WRONG: replay of {p.name}: {replay.stderr}")
                good = False
            else:
                print(f"replay of all steps of {p.name} from domain logs and ledger: {replay.stdout.strip().splitlines()[-1]}")
        return good

    def read(self, p, steps, *words):
        return lanes_of(p.riffle("read", "-c", p.config, "--from-step", 0, "--steps", steps, "--run", "audit", *words,
                                 timeout=300).stdout)

    def calm(self, steps):
        p = self.pipeline("calm", lead=0)
        p.riffle("topics", "-c", p.config, "--create")
        p.riffle("produce", "-c", p.config, timeout=300)
        p.riffle("mix", "-c", p.config, "--until-step", steps, "-q", timeout=300)
        return self.read(p, steps)

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
