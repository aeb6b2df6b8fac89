"""A whole riffle under supervision: producers, an active and a standby mixer, trainers that commit.

Beside it may run a second mix without copies over the same corpus, with mixers and trainers of its own: Pipeline.derived().
"""

import copy
import json
import os
import pathlib
import re
import signal
import struct
import subprocess
import sys

from cluster import ROOT
from corpus import LIVE, SEALED, WEIGHTS
from job import Job, Supervisor
from trainer import Trainer

sys.path.append(str(ROOT / "tests/kafka"))

from late import LATE, TRIES  # noqa: E402

BUILD = (ROOT / os.environ.get("B", "build")).resolve()
RIFFLE = pathlib.Path(os.environ.get("RIFFLE_BIN", BUILD / "riffle"))
TRANSACTION_S = 9  # the mixers' transaction time-out: the shortest that leaves a broker time to be slow
SHORT = ["-X", f"transaction.timeout.ms={TRANSACTION_S * 1000}", "-X", f"message.timeout.ms={(TRANSACTION_S - 1) * 1000}",
         "-X", f"socket.timeout.ms={(TRANSACTION_S - 1) * 1000}"]
WORLD, LANES, COMMIT_EVERY, LEAD = 4, 8, 5, 32
DERIVED_WORLD = 2  # each of them reads nearly all blocks of the domains
ATTACHED = re.compile(r"^.*mix: mix=\S+ step=\d+ version=\d+ mixer=", re.M)


class Pipeline:
    def __init__(self, folder, name, corpus, bootstrap, prefix=(), replication=1, jumps=False, length=64, batch=16,
                 on_dry="wait", lead=LEAD):
        self.folder, self.name, self.corpus, self.prefix = folder, name, corpus, list(prefix)
        self.label, self.world = "", WORLD  # before the names of its jobs; ranks
        self.config = folder / f"{name}.yml"
        domains = corpus.domains()
        domains[LIVE]["on_dry"] = on_dry
        self.config.write_text(json.dumps({
            "corpus": f"{name}-corpus",
            "tokenizer": {"file": str(ROOT / "build/vocab/r50k_base.tiktoken"), "pattern": "gpt2", "eos": "<|endoftext|>"},
            "sequence_length": length, "split": "98,1,1", "domains": domains,
            "topics": {"replication": replication, "min_insync_replicas": max(1, replication - 1)},
            "mix": {"name": name, "seed": 7, "global_batch": batch, "lanes": LANES, "weights": WEIGHTS,
                    "max_lead_steps": lead},
            "kafka": {"bootstrap.servers": bootstrap}}, indent=1))
        self.clock = folder / f"{name}.clock"
        self.jump(0)
        shim = BUILD / "tests/chaos/clock_jump.so"
        self.env = {"LD_PRELOAD": str(shim), "RIFFLE_CLOCK_FILE": str(self.clock)} if jumps else {}
        self.supervisor = Supervisor()
        self.mixers, self.trainers, self.producer = [], [], None

    def derived(self):
        """The same mix without copies, over the same corpus and under the same supervisor: its steps are the same."""
        twin = copy.copy(self)
        twin.name, twin.folder, twin.label, twin.world = f"{self.name}-derived", self.folder / "derived", "derived-", DERIVED_WORLD
        twin.folder.mkdir(exist_ok=True)
        twin.config = twin.folder / f"{twin.name}.yml"
        config = json.loads(self.config.read_text())
        config["mix"] |= {"name": twin.name, "batches": "derived"}
        twin.config.write_text(json.dumps(config, indent=1))
        twin.mixers, twin.trainers, twin.producer = [], [], None
        return twin

    # ---- commands that end ----

    def riffle(self, *words, timeout=120, check=True):
        done = subprocess.run([*self.prefix, RIFFLE, *map(str, words)], capture_output=True, text=True, timeout=timeout)
        if check and done.returncode != 0:
            raise RuntimeError(f"riffle {' '.join(map(str, words))}: exit {done.returncode}\n{done.stderr}")
        return done

    def status(self, timeout=30):
        """What `riffle status --json` says, or None where the brokers cannot tell."""
        try:
            done = self.riffle("status", "-c", self.config, "--json", timeout=timeout, check=False)
            return json.loads(done.stdout) if done.returncode == 0 else None
        except subprocess.TimeoutExpired:
            return None

    def step_next(self):
        st = self.status()
        return st["mix"]["step_next"] if st else None

    def committed(self):
        st = self.status()
        return next((r["step"] for r in st["mix"]["runs"] if r["name"] == "trainers"), 0) if st else 0

    # ---- what runs all the time ----

    def job(self, name, *words):
        return Job(self.label + name, [RIFFLE, *words, "-c", self.config], self.folder, self.prefix, self.env)

    def start_producer(self):
        self.producer = self.job("producer", "produce", LIVE, "--follow", "--workers", 1)
        self.launch(self.producer)

    def start_mixers(self, n=2, *words):
        for i in range(n):
            self.mixers.append(self.job(f"mixer{i + 1}", "mix", "--standby", *SHORT, *words))
            self.launch(self.mixers[-1])

    def start_trainers(self):
        for rank in range(self.world):
            words = [RIFFLE, "read", "-c", self.config, "--rank", rank, "--world", self.world, "--commit-every", COMMIT_EVERY,
                     "--format", "steps", "--timeout", 0]
            t = Trainer(rank, self.world, LANES, words, self.folder, self.prefix, self.env, checkpoint=rank % 2 == 0)
            t.committed, t.name = self.committed, self.label + t.name
            self.trainers.append(t)
            self.launch(t)

    def launch(self, job):
        job.start()
        self.supervisor.jobs.append(job)

    def jump(self, seconds):
        """Moves the clocks of all clients by so much, from the true time."""
        with open(self.clock, "r+b" if self.clock.exists() else "wb") as f:
            f.write(struct.pack("<q", seconds * 10**9))

    # ---- where it stands ----

    def active(self):
        """The mixer that has written its START and runs; None: there is none."""
        found = [m for m in self.mixers if m.process.poll() is None and ATTACHED.search(m.text())]
        return found[-1] if found else None

    def standby(self):
        """The mixer that runs and is not the active one, once it says that it waits."""
        return next((m for m in self.mixers if m.process.poll() is None and not ATTACHED.search(m.text())
                     and "standby mix=" in m.text()), None)

    def slowest(self):
        return min(t.step for t in self.trainers)

    def wait(self, condition, what, seconds=120):
        return self.supervisor.wait_for(condition, what, seconds)

    def beyond(self):
        """A step that is surely not published yet: no mixer goes further than the lead."""
        return self.slowest() + 1 + LEAD

    # ---- end ----

    def settle(self, seconds=120):
        """The mixers end, and the trainers read what there is. Returns the number of steps and what did not end well."""
        self.corpus.end_live()
        bad = [(m.name, code) for m, code in [(m, m.stop()) for m in self.mixers] if code != 0]
        steps = self.step_next()
        self.wait(lambda: self.slowest() + 1 == steps, f"the trainers reading all {steps} steps", seconds)
        return steps, bad

    def stop(self):
        """Returns what did not end well: (name, exit code)."""
        jobs = [*self.trainers, self.producer]
        return [(j.name, code) for j, code in [(j, j.stop()) for j in jobs if j] if code not in (0, None)]


def produce_sealed(p, rng, kills):
    """The sealed domains, by a producer that is killed so many times on its way. Returns the exit codes.

    As under a supervisor: one that meets late records of a killed one ends, and the next one continues."""
    ends, words = [], [*p.prefix, RIFFLE, "produce", *SEALED, "-c", p.config, "--workers", "1"]
    for n in range(kills + TRIES):
        with open(p.folder / f"{p.name}.produce.{n}.log", "w") as log:
            process = subprocess.Popen([str(w) for w in words], stderr=log)
        try:
            process.wait(rng.uniform(0.4, 0.9) if n < kills else 120)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
        ends.append(process.wait())
        if n >= kills and (ends[-1] != 1 or LATE not in pathlib.Path(log.name).read_text()):
            break
    if ends[-1] != 0:
        raise RuntimeError(f"riffle produce: exit {ends[-1]}; see {log.name}")
    return ends
