"""lagging: live domains on three brokers whose followers learn late how far a log is committed, read by clients of every rack.

    lagging.py [--kafka 3.9] [--runs 200] [--seed N] [--jobs 3] [--run K]

In each run a producer is started several times. Files arrive between the starts and during them, some starts are killed, and each
has a `client.rack` of its own or none. The last starts have `live: false` in the configuration. Then the domain logs must hold the
documents of the files: equal, each exactly once, those of a file in its order. Some runs also mix, and read what was mixed.

A run follows from the seed and its number alone. How many have passed is in $B/lagging/state.json: interrupted, the same command
continues there. --seed begins again; --run repeats one run of the state's seed and keeps its folder. Exit 1 if a run has failed.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
import traceback

from cluster import ROOT, Cluster, lagging
from pipeline import BUILD, RIFFLE

sys.path.append(str(ROOT / "tests/kafka"))

from late import LATE, TRIES  # noqa: E402
from test_append import partition  # noqa: E402
from test_produce import decode, encoding_of, tokens, values  # noqa: E402

LAG_MS = 1500
LENGTH, LANES, STEPS = 16, 2, 5
DOCUMENTS_MIN = 8  # of a domain: one without a whole sequence is not closed
CREATE_TRIES = 5  # brokers hear of new topics one after the other; `riffle topics --create` ends with 1 if one has not yet
RACKS = (None, "rack1", "rack2", "rack3")
COMMAND_S = 120  # more is a run that hangs


class Interrupted(Exception):
    pass


class Failed(Exception):
    pass


class Commands:
    """Every riffle that runs, so that an interrupt ends them all."""

    def __init__(self):
        self.lock, self.running, self.over = threading.Lock(), set(), False

    def start(self, words, log):
        with self.lock:
            if self.over:
                raise Interrupted
            process = subprocess.Popen([str(w) for w in words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True)
            self.running.add(process)
            return process

    def finish(self, process, seconds=COMMAND_S):
        """Returns stdout; None: it was still running after that many seconds, and was killed."""
        try:
            out = process.communicate(timeout=seconds)[0]
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            out = None
        with self.lock:
            self.running.discard(process)
            if self.over:
                raise Interrupted
        return out

    def end(self):
        with self.lock:
            self.over = True
            for process in self.running:
                process.kill()


class Run:
    def __init__(self, folder, bootstrap, commands, seed, number):
        self.folder, self.bootstrap, self.commands = folder, bootstrap, commands
        self.rng = random.Random(f"{seed} {number}")
        self.name = f"lagging-{seed}-{number}"
        self.packing = self.rng.choice(["concat", "none"])
        self.domains = ["news", "mail"][:self.rng.randint(1, 2)]
        self.files = {d: {} for d in self.domains}  # name -> the texts of its documents
        self.live, self.was_killed, self.log = True, False, folder / "log"
        for d in self.domains:
            (folder / d).mkdir(parents=True)
        self.write_config()

    def write_config(self):
        config = {
            "corpus": self.name,
            "tokenizer": {"file": str(ROOT / "build/vocab/r50k_base.tiktoken"), "pattern": "gpt2", "eos": "<|endoftext|>"},
            "sequence_length": LENGTH, "split": "1,0,0",
            "domains": {d: {"train": [f"{d}/*.jsonl"], "packing": self.packing, "live": self.live} for d in self.domains},
            "topics": {"replication": 3, "min_insync_replicas": 2},
            "mix": {"name": f"{self.name}-mix", "seed": 7, "global_batch": 4, "lanes": LANES, "max_lead_steps": 0,
                    "weights": {d: 1 / len(self.domains) for d in self.domains}},
            "kafka": {"bootstrap.servers": self.bootstrap},
        }
        (self.folder / "run.yml").write_text(json.dumps(config, indent=1))

    # ---- commands ----

    def words(self, *words):
        """The command line, for a reader in some rack."""
        rack = self.rng.choice(RACKS)
        near = ["-X", f"client.rack={rack}"] if rack else []
        line = [RIFFLE, *map(str, words), "-c", self.folder / "run.yml", *near]
        with open(self.log, "a") as log:
            print(time.strftime("%H:%M:%S"), *line, file=log)
        return line

    def riffle(self, *words):
        with open(self.log, "a") as log:
            process = self.commands.start(self.words(*words), log)
        out = self.commands.finish(process)
        if out is None:
            raise Failed(f"{' '.join(map(str, words))}: still running after {COMMAND_S} s")
        if process.returncode != 0:
            raise Failed(f"{' '.join(map(str, words))}: exit {process.returncode}: {self.last_line()}")
        return out

    def create(self):
        for tries_left in range(CREATE_TRIES - 1, -1, -1):
            try:
                return self.riffle("topics", "--create")
            except Failed as e:
                if tries_left == 0 or "Unknown topic or partition" not in str(e):
                    raise

    def last_line(self):
        return self.log.read_text().splitlines()[-1]

    def produce(self, *words, kill_after=None, arrive=0):
        """One start of the producer, killed after `kill_after` seconds if given; `arrive` files come meanwhile. Returns its exit code."""
        with open(self.log, "a") as log:
            process = self.commands.start(self.words("produce", "--workers", 1, *words), log)
        for _ in range(arrive):
            time.sleep(self.rng.uniform(0.1, 0.8))  # whenever they come, it must not matter
            self.arrive()
        if kill_after is None and "--follow" in words:
            time.sleep(self.rng.uniform(0.1, 2))
            process.send_signal(signal.SIGTERM)
        out = self.commands.finish(process, kill_after or COMMAND_S)
        if out is None and kill_after is None:
            raise Failed(f"produce: still running after {COMMAND_S} s")
        return process.returncode

    def settle(self, *words):
        """A start that is not killed. It must end with 0; if it meets late records of a killed one, it is started again."""
        for _ in range(TRIES if self.was_killed else 1):
            code = self.produce(*words)
            if code != 1 or LATE not in self.last_line():
                break
        if code != 0:
            raise Failed(f"produce: exit {code}: {self.last_line()}")
        self.was_killed = False

    # ---- what happens ----

    def arrive(self):
        """A new file, whose name may sort before all others, or more lines of an old file."""
        domain = self.rng.choice(self.domains)
        files = self.files[domain]
        if files and self.rng.random() < 0.4:
            name = self.rng.choice(sorted(files))
        else:
            name = f"{self.rng.choice('abcdefghijklmnopqrstuvwxyz')}{len(files)}.jsonl"
        first = sum(map(len, files.values()))
        texts = [f"document {i} of {domain} " + "words " * self.rng.randint(0, 12) for i in range(first, first + self.rng.randint(1, 8))]
        files.setdefault(name, []).extend(texts)
        with open(self.folder / domain / name, "a") as out:
            out.write("".join(json.dumps({"text": t}) + "\n" for t in texts))

    def turn(self):
        for _ in range(self.rng.randint(1, 3)):
            self.arrive()
        kind = self.rng.choice(["whole", "killed", "follow", "follow killed"])
        if kind == "whole":
            self.settle()
            return
        words = ["--follow"] if "follow" in kind else []
        code = self.produce(*words, arrive=self.rng.randint(1, 2) if words else 0,
                            kill_after=self.rng.uniform(0.1, 3) if "killed" in kind else None)
        late = code == 1 and self.was_killed and LATE in self.last_line()
        if code not in (0, -signal.SIGKILL) and not late:
            raise Failed(f"produce {kind}: exit {code}: {self.last_line()}")
        self.was_killed = self.was_killed or code == -signal.SIGKILL

    def go(self, encoding):
        self.create()
        self.turn()
        for _ in range(self.rng.randint(1, 2)):
            self.turn()
        while any(sum(map(len, self.files[d].values())) < DOCUMENTS_MIN for d in self.domains):
            self.arrive()
        if self.rng.random() < 0.5:
            self.arrive()
        self.live = False
        self.write_config()
        if self.rng.random() < 0.4:
            self.was_killed = self.produce(kill_after=self.rng.uniform(0.1, 3)) == -signal.SIGKILL or self.was_killed
        self.settle()
        for domain in self.domains:
            self.check(domain, encoding)
        self.check_status()
        if self.rng.random() < 0.25:
            self.mix()

    # ---- what must hold ----

    def check(self, domain, encoding):
        """The domain's log against its files, by kcat, which reads from the leaders."""
        sequences, ends = partition(values(self.bootstrap, f"{self.name}.{domain}"))
        if len(ends) != 1 or ends[0][0] != len(sequences):
            raise Failed(f"{domain}: {len(sequences)} sequences, Ends after {[n for n, _ in ends]}")
        stream = []
        for i, value in enumerate(sequences):
            record = decode(value)
            ids = tokens(record)[:record["payload"]["used"]]
            stream += ids[1:] if self.packing == "concat" and i > 0 else ids
        given = {text: (name, i) for name, texts in self.files[domain].items() for i, text in enumerate(texts)}
        found = encoding.decode(stream).split("<|endoftext|>")
        cut = found.pop()
        twice = [t for i, t in enumerate(found) if t in found[:i]]
        foreign = [t for t in found if t not in given]
        left = [t for t in given if t not in found]
        if twice or foreign:
            raise Failed(f"{domain}: {len(twice)} documents twice, {len(foreign)} that no file has: {(twice + foreign)[0]!r}")
        # Packing concat drops what fills no sequence before the End.
        lost = sum(len(encoding.encode_ordinary(t)) + 1 for t in left) - len(encoding.encode_ordinary(cut))
        if lost > (LENGTH if self.packing == "concat" else 0) or cut and not any(t.startswith(cut) for t in left):
            raise Failed(f"{domain}: {len(left)} of {len(given)} documents are missing, the first is {left[0]!r}; the End is after {cut!r}")
        for name in self.files[domain]:
            order = [given[t][1] for t in found if given[t][0] == name]
            if order != sorted(order):
                raise Failed(f"{domain}: the documents of {name} come in the order {order}")

    def check_status(self):
        for d in json.loads(self.riffle("status", "--json"))["domains"]:
            if d["sealed_length"] != d["sequences"]:
                raise Failed(f"status: domain {d['name']} has {d['sequences']} sequences, and is sealed at {d['sealed_length']}")

    def mix(self):
        self.riffle("mix", "--until-step", STEPS)
        one, other = (self.riffle("read", "--from-step", 0, "--steps", STEPS, "--format", "steps", "--timeout", 60) for _ in "12")
        if one != other or len(one.splitlines()) != STEPS * LANES:
            raise Failed("read: readers of two racks have read different steps")
        shown = json.loads(self.riffle("inspect", STEPS - 1, "--json"))["sequences"]
        d = next(d for s in shown for d in s["documents"] if d["line_exact"])
        found = json.loads(self.riffle("inspect", "--document", f"{pathlib.Path(d['source']).name}:{d['line']}", "--json"))
        if not any(draw["step"] == STEPS - 1 for s in found["sequences"] for draw in s["draws"]):
            raise Failed(f"inspect --document: {d['source']} line {d['line']} was drawn in step {STEPS - 1}, and is not found there")


class State:
    """Which runs of which seed have passed, in a file."""

    def __init__(self, path, seed):
        self.path, self.lock = path, threading.Lock()
        old = json.loads(path.read_text()) if path.exists() else None
        if old is None or seed not in (None, old["seed"]):
            old = {"seed": random.randrange(1 << 31) if seed is None else seed, "passed": {}, "failed": {}}
        self.seed, self.passed, self.failed = old["seed"], old["passed"], old["failed"]

    def note(self, number, problem, seconds):
        with self.lock:
            if problem:
                self.failed[str(number)] = problem
            else:
                self.passed[str(number)] = round(seconds, 1)
            new = self.path.with_suffix(".new")
            new.write_text(json.dumps({"seed": self.seed, "passed": self.passed, "failed": self.failed}, indent=1))
            new.replace(self.path)

    def is_done(self, number):
        return str(number) in self.passed or str(number) in self.failed


def say(text):
    print(f"lagging: {text}", flush=True)


def one_run(folder, cluster, commands, seed, number, encoding):
    """Returns what is wrong, or "", and the seconds that it took."""
    began = time.monotonic()
    shutil.rmtree(folder, ignore_errors=True)
    try:
        run = Run(folder, cluster.bootstrap, commands, seed, number)
        run.go(encoding)
        subprocess.run([BUILD / "tests/tools/topic", "drop"], input=f"{run.name}\n", text=True, check=True, timeout=COMMAND_S,
                       env={**os.environ, "RIFFLE_BOOTSTRAP": cluster.bootstrap}, capture_output=True)
        problem = ""
    except Interrupted:
        raise
    except Failed as e:
        problem = str(e)
    except Exception:
        problem = traceback.format_exc()
    return problem, time.monotonic() - began


def interrupt(number, frame):
    for one in (signal.SIGINT, signal.SIGTERM):
        signal.signal(one, signal.SIG_IGN)
    raise KeyboardInterrupt


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--kafka", default=os.environ.get("KAFKA", "3.9"))
    a.add_argument("--runs", type=int, default=200)
    a.add_argument("--jobs", type=int, default=3)
    a.add_argument("--seed", type=int)
    a.add_argument("--run", type=int)
    given = a.parse_args()
    folder = BUILD / "lagging"
    folder.mkdir(parents=True, exist_ok=True)
    state = State(folder / "state.json", given.seed)
    numbers = [n for n in range(given.runs) if not state.is_done(n)] if given.run is None else [given.run]
    say(f"seed {state.seed}: {len(state.passed)} passed, {len(state.failed)} failed before, {len(numbers)} to go")
    for one in (signal.SIGINT, signal.SIGTERM):
        signal.signal(one, interrupt)
    commands, began = Commands(), time.monotonic()
    cluster = Cluster(folder / "kafka", given.kafka, 3, properties=lagging(LAG_MS))
    pool = concurrent.futures.ThreadPoolExecutor(given.jobs)
    try:
        if numbers:
            cluster.up()
        encoding = encoding_of(ROOT / "build/vocab")
        tasks = {pool.submit(one_run, folder / f"run-{n}", cluster, commands, state.seed, n, encoding): n for n in numbers}
        for task in concurrent.futures.as_completed(tasks):
            number, (problem, seconds) = tasks[task], task.result()
            state.note(number, problem, seconds)
            if not problem and given.run is None:
                shutil.rmtree(folder / f"run-{number}")
            say(f"run {number}: {problem or 'passed'} ({seconds:.1f} s)")
    except KeyboardInterrupt:
        say("interrupted; the same command continues")
        sys.exit(130)
    finally:
        commands.end()
        pool.shutdown(cancel_futures=True)
        cluster.down()
        shutil.rmtree(cluster.folder, ignore_errors=True)
    if numbers:
        say(f"{(time.monotonic() - began) / len(numbers):.1f} s per run, {given.jobs} at a time")
    for number, problem in state.failed.items():
        say(f"run {number} failed: {problem}; its files and its log are in {folder / f'run-{number}'}")
    print(f"{len(state.passed)} passed, {len(state.failed)} failed")
    sys.exit(1 if state.failed else 0)


if __name__ == "__main__":
    main()
