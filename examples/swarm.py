#!/usr/bin/env python3
"""swarm: hundreds of mixes over one corpus, as proxy runs of RegMix, DoReMi or OLMix need them, and what they cost.

    make build && scripts/venv
    build/venv/bin/python examples/swarm.py [--mixes 200] [--steps 64] [--seed 1] [--batches copied] [--out build/swarm]
    build/venv/bin/python examples/swarm.py --config run.json --weights swarm.tsv --keep

Each mix is the base configuration with weights of its own: a line of --weights, "name<TAB>0.3<TAB>0.7", below a line with the
names of the domains. Where that file is missing it is made: from --seed, by a Dirichlet distribution of --alpha. One `riffle mix`
runs all of them, --at-once at a time, and ends each at --steps; then one reader reads one after the other. With --batches copied,derived
the swarm runs once in each form, and every step must be the same.

Printed for each form: bytes of records that the mixes have in the broker, memory (PSS of all mixers together, at most), and
seconds. --wait S: instead of all that, mixes that wait for trainers who never come, for S seconds: processor time and memory.

Without --config a corpus of seven domains of seeded words is made, and deleted in the end. $RIFFLE_BOOTSTRAP names a broker of
yours; else scripts/kafka starts one. --logs: the broker's folder, where the bytes are counted; that of scripts/kafka by default.
Topics of the mixes are deleted but with --keep.
"""

import argparse
import base64
import concurrent.futures
import hashlib
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = (ROOT / os.environ.get("B", "build")).resolve()
os.environ.setdefault("RIFFLE_LIBRARY", str(BUILD / "libriffle.so.0"))
sys.path.insert(0, str(ROOT / "python"))

DOMAINS = {"arxiv": 0.9, "books": 1.1, "code": 1.3, "forum": 1.0, "news": 1.2, "web": 0.8, "wiki": 1.4}  # and Zipf's exponent
LENGTH, BATCH, WORDS = 512, 16, 4000
TOPICS_AT_ONCE = 4
LOOK_S = 0.25


def say(text):
    print(f"swarm: {text}", flush=True)


def run(*words, **more):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, **more)
    if done.returncode != 0:
        sys.exit(f"swarm: {' '.join(map(str, words[:6]))}: exit {done.returncode}\n{done.stderr[-2000:]}")
    return done


# ---- corpus, weights, configurations ----

def make_corpus(a):
    """Seven domains of words with other frequencies, and a tokenizer of bytes; the base configuration."""
    lines = [f"{base64.b64encode(bytes([i])).decode()} {i}" for i in range(256)] + [f"{base64.b64encode(b'<eos>').decode()} 256"]
    (a.out / "bytes.tiktoken").write_text("\n".join(lines) + "\n")
    wanted = (a.steps + 16) * BATCH * LENGTH  # tokens: as many as a mix draws, were it of this domain alone
    for number, (domain, exponent) in enumerate(DOMAINS.items()):
        rng = random.Random(1000 * a.seed + number)
        words = ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(2, 9))) for _ in range(WORDS)]
        frequencies, written = [1 / (k + 1) ** exponent for k in range(WORDS)], 0
        with open(a.out / f"{domain}.jsonl", "w") as out:
            while written < wanted:
                text = " ".join(rng.choices(words, frequencies, k=400))
                out.write(json.dumps({"text": text}) + "\n")
                written += len(text) + 1
    base = {
        "corpus": f"swarm-{os.urandom(4).hex()}", "sequence_length": LENGTH, "split": "1,0,0",
        "tokenizer": {"file": str(a.out / "bytes.tiktoken"), "pattern": "gpt2", "eos": "<eos>"},
        "domains": {domain: {"train": [str(a.out / f"{domain}.jsonl")]} for domain in DOMAINS},
        "mix": {"name": "base", "seed": a.seed, "global_batch": BATCH, "lanes": 1, "max_lead_steps": 0, "memory": "64MB"},
        "kafka": {"bootstrap.servers": a.bootstrap}}
    path = a.out / "base.yml"
    path.write_text(json.dumps(base, indent=1))
    run(a.riffle, "topics", "-c", path, "--create", "-s", f"mix.name={base['corpus']}-none")
    run(a.riffle, "produce", "-c", path)
    run(a.riffle, "topics", "-c", path, "--delete", "--mix", "--yes", "-s", f"mix.name={base['corpus']}-none")
    return path


def domains_of(a):
    """Of the base configuration, as riffle sees them."""
    done = run(a.riffle, "plan", "-c", a.config, "--json", "--steps", 1, "-s", "mix.weights=uniform")
    return [d["name"] for d in json.loads(done.stdout)["domains"]]


def make_weights(path, domains, a):
    rng = random.Random(a.seed)
    with open(path, "w") as out:
        out.write("\t".join(["mix", *domains]) + "\n")
        for i in range(a.mixes):
            drawn = [rng.gammavariate(a.alpha, 1) for _ in domains]
            out.write("\t".join([f"m{i:03}", *(f"{w / sum(drawn):.6f}" for w in drawn)]) + "\n")


def read_weights(path):
    """[(name of the mix, {domain: weight})]."""
    rows = [line.rstrip("\n").split("\t") for line in open(path) if line.strip()]
    return [(row[0], dict(zip(rows[0][1:], map(float, row[1:])))) for row in rows[1:]]


def configure(a, weights, form, **keys):
    """A configuration for each mix, and its topics; [(name, path)]."""
    folder = a.out / "mixes" / form
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.yml"):
        old.unlink()
    base, made = json.loads(a.config.read_text()), []
    for name, of in weights:
        mix = {**base["mix"], "name": f"{base['corpus']}-{form}-{name}", "weights": of, **keys}
        if form != "copied":
            mix["batches"] = form
        files = {"tokenizer": {**base["tokenizer"], "file": str(a.config.parent / base["tokenizer"]["file"])},
                 "domains": {d: {**v, "train": [str(a.config.parent / f) for f in v["train"]]} if "train" in v else v
                             for d, v in base["domains"].items()}}
        path = folder / f"{name}.yml"
        path.write_text(json.dumps({**base, **files, "mix": mix}, indent=1))
        made.append((mix["name"], path))
    return made


def topics(a, mixes, *words):
    with concurrent.futures.ThreadPoolExecutor(TOPICS_AT_ONCE) as pool:
        list(pool.map(lambda mix: run(a.riffle, "topics", "-c", mix[1], *words), mixes))


# ---- what it costs ----

def tree(pid):
    """A process and all below it."""
    found = [pid]
    for one in found:
        try:
            found += map(int, pathlib.Path(f"/proc/{one}/task/{one}/children").read_text().split())
        except (FileNotFoundError, ProcessLookupError):
            pass
    return found


def memory_mb(pids):
    """PSS: what processes share is counted once."""
    total = 0
    for pid in pids:
        try:
            text = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
        found = re.search(r"Pss:\s+(\d+)", text)
        total += int(found[1]) if found else 0
    return total * 1024 / 1e6


def cpu_s(pids):
    total = 0
    for pid in pids:
        try:
            fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        total += int(fields[11]) + int(fields[12])
    return total / os.sysconf("SC_CLK_TCK")


def written_mb(a, mixes, kind):
    """Bytes of the records of all topics `mix.kind`, in the logs of the broker's folder; "-": they are elsewhere."""
    names = {f"{name}.{kind}" for name, _ in mixes}
    # walk(): other topics may be deleted meanwhile.
    files = [pathlib.Path(folder, file) for folder, _, files in os.walk(a.logs) for file in files
             if file.endswith(".log") and os.path.basename(folder).rpartition("-")[0] in names]
    return sum(path.stat().st_size for path in files) / 1e6 if files else "-"


class Watch:
    """The most memory that a process and its children have had."""

    def __init__(self, pid):
        self.peak_mb, self.pid, self.over = 0, pid, threading.Event()
        self.thread = threading.Thread(target=self.look, daemon=True)
        self.thread.start()

    def look(self):
        while not self.over.wait(LOOK_S):
            self.peak_mb = max(self.peak_mb, memory_mb(tree(self.pid)))

    def close(self):
        self.over.set()
        self.thread.join()


def mix_command(a, mixes, *words):
    files = [str(path) for _, path in mixes]
    return [str(a.riffle), "mix", "-c", *files, "--at-once", str(a.at_once), *map(str, words)]


def read(a, mixes):
    """Reads each mix from its first step to its end; {name without form: hash of all its tokens}, tokens."""
    import riffle

    hashes, tokens = {}, 0
    for name, path in mixes:
        sha, steps = hashlib.sha256(), 0
        with riffle.Reader(name, a.bootstrap, 0, 1, step=0, timeout=120) as reader:
            for step in reader:
                sha.update(step.tokens.tobytes())
                tokens += step.tokens.size
                steps += 1
        if steps != a.steps:
            sys.exit(f"swarm: mix {name} has {steps} steps, not {a.steps}")
        hashes[path.stem] = sha.hexdigest()
    return hashes, tokens


def swarm(a, weights, form):
    """One form of the swarm: figures, and the hash of each mix."""
    began, row = time.monotonic(), {"form": form}
    mixes = configure(a, weights, form)
    try:
        topics(a, mixes, "--create")
        row["topics s"] = time.monotonic() - began
        with open(a.out / f"{form}.log", "w") as log:
            began = time.monotonic()
            process = subprocess.Popen(mix_command(a, mixes, "--end-at-step", a.steps), stderr=log)
            watch = Watch(process.pid)
            code = process.wait()
            row["mix s"] = time.monotonic() - began
            watch.close()
        if code != 0:
            sys.exit(f"swarm: riffle mix: exit {code}, see {log.name}")
        began = time.monotonic()
        hashes, tokens = read(a, mixes)
        row["read s"] = time.monotonic() - began
        row["M tokens"] = tokens / 1e6
        for kind in ("batches", "ledger", "control"):
            row[f"{kind} MB"] = written_mb(a, mixes, kind)
        row["mixers MB"] = watch.peak_mb
        row["reader MB"] = memory_mb([os.getpid()])
        return row, hashes
    finally:
        if not a.keep:
            topics(a, mixes, "--delete", "--mix", "--yes")


def wait(a, weights, form):
    """Mixes that wait for trainers: what each takes while it does nothing."""
    mixes = configure(a, weights, form, max_lead_steps=a.steps)
    try:
        topics(a, mixes, "--create")
        with open(a.out / "wait.log", "w") as log:
            process = subprocess.Popen(mix_command(a, mixes), stderr=log)
        waiting = set()
        while len(waiting) < len(mixes):
            if process.poll() is not None:
                sys.exit(f"swarm: riffle mix: exit {process.returncode}, see {log.name}")
            time.sleep(1)
            text = pathlib.Path(log.name).read_text()
            waiting = set(re.findall(r"MIX-LEAD .* mix=(\S+)", text))
            failed = re.search(r"^riffle mix: (mix .*)", text, re.M)
            if failed:
                process.terminate()
                sys.exit(f"swarm: {failed[1]} (and {process.wait()} of the command), see {log.name}")
        time.sleep(15)  # those that came last give back what they had read ahead
        pids, began = tree(process.pid), time.monotonic()
        before = cpu_s(pids)
        time.sleep(a.wait)
        used, mb = cpu_s(pids) - before, memory_mb(pids)
        threads = sum(len(os.listdir(f"/proc/{pid}/task")) for pid in pids)
        files = sum(len(os.listdir(f"/proc/{pid}/fd")) for pid in pids)
        seconds, began = time.monotonic() - began, time.monotonic()
        process.terminate()
        code = process.wait()
        return {"form": form, "mixes": len(mixes), "for s": seconds, "of a core": used / seconds,
                "of a core each": used / seconds / len(mixes), "MB": mb, "MB each": mb / len(mixes), "threads": threads,
                "descriptors": files, "stopped in s": time.monotonic() - began, "exit": code}
    finally:
        if not a.keep:
            topics(a, mixes, "--delete", "--mix", "--yes")


def show(rows):
    print("| " + " | ".join(rows[0]) + " |\n|" + "---|" * len(rows[0]))
    for row in rows:
        print("| " + " | ".join(f"{v:,.0f}" if isinstance(v, float) and v >= 100 else f"{v:.4g}" if isinstance(v, float)
                                else str(v) for v in row.values()) + " |", flush=True)


def parse(argv=None):
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--mixes", type=int, default=200)
    p.add_argument("--steps", type=int, default=64)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--alpha", type=float, default=1.0, help="of the Dirichlet distribution: small ones make lopsided mixes")
    p.add_argument("--batches", default="copied", metavar="FORM[,FORM]", help="copied, derived, or both, one after the other")
    p.add_argument("--at-once", type=int, default=4)
    p.add_argument("--wait", type=float, default=0, metavar="S")
    p.add_argument("--config", type=pathlib.Path, help="the base configuration, as JSON (which is YAML)")
    p.add_argument("--weights", type=pathlib.Path)
    p.add_argument("--keep", action="store_true", help="leave the topics of the mixes")
    p.add_argument("--out", type=pathlib.Path, default=BUILD / "swarm")
    p.add_argument("--riffle", type=pathlib.Path, default=BUILD / "riffle")
    p.add_argument("--bootstrap", default=os.environ.get("RIFFLE_BOOTSTRAP"))
    p.add_argument("--logs", type=pathlib.Path, default=pathlib.Path(os.environ.get("RIFFLE_KAFKA_DIR", ROOT / "build/kafka")))
    a = p.parse_args(argv)
    a.out = a.out.resolve()
    return a


def body(a):
    own = a.config is None
    if own:
        a.config = make_corpus(a)
    a.config = a.config.resolve()
    try:
        if a.weights is None:
            a.weights = a.out / "weights.tsv"
            make_weights(a.weights, domains_of(a), a)
        weights = read_weights(a.weights)[:a.mixes]
        say(f"{len(weights)} mixes of {len(weights[0][1])} domains, {a.steps} steps each; {a.at_once} at once")
        forms = a.batches.split(",")
        if a.wait:
            return show([wait(a, weights, form) for form in forms])
        rows, hashes = zip(*(swarm(a, weights, form) for form in forms))
        if any(h != hashes[0] for h in hashes):
            sys.exit("swarm: the forms do not have the same steps")
        show(rows)
        say(f"all {len(weights) * a.steps} steps read" + (", the same in each form" if len(forms) > 1 else ""))
    finally:
        if own:
            run(a.riffle, "topics", "-c", a.config, "--delete", "--corpus", "--force", "--yes")  # deleted mixes may still show


def main(argv=None):
    a, kafka, started = parse(argv), ROOT / "scripts/kafka", False
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("swarm: stopped"))  # deletes its topics first
    a.out.mkdir(parents=True, exist_ok=True)
    if a.bootstrap is None:
        started = subprocess.run([kafka, "status"], capture_output=True).returncode != 0
        a.bootstrap = run(kafka, "up").stdout.strip()
    try:
        body(a)
    finally:
        if started:
            subprocess.run([kafka, "down", "--yes"])


if __name__ == "__main__":
    main()
