#!/usr/bin/env python3
"""doremi: weights of domains that DoReMi (arXiv 2305.10429) and ODM (arXiv 2312.02406) learn, and their worth.

    make build && scripts/venv torch
    build/venv-torch/bin/python examples/doremi.py [--seeds 1,2,3] [--rounds 2] [--steps 400] [--out build/doremi]

With each seed a small model is trained from its beginning, every time on as many tokens of one corpus:
  size, uniform   the baselines: weights by the domains' sizes, and all equal
  proxy 1, 2, ..  on equal weights, its loss weighted in every step by riffle.DoReMi, from its excess over the
                  reference: the model of size (--reference) at first, then main of the round before
  main 1, 2, ..   on what `riffle reweight` learned from the proxy's reports
  odm             on a mix whose weights `riffle reweight --live` changes below it
Then all but the proxies are measured on every domain's held-out set. With --live the proxy's loss is the plain
one, and its mix draws by what is learned. The domains are texts of Debian 12's packages, the largest of 28 times
the smallest. Leaves the weights of every round, results.json and doremi.png in --out; docs/WEIGHTS.md has a table.

    build/venv-torch/bin/python examples/doremi.py --table one/results.json two/results.json

prints the table of seeds that ran side by side, each with an --out of its own.
"""

import argparse
import gzip
import json
import math
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import train as t  # noqa: E402: the model, the broker
from evaluate import evaluate  # noqa: E402

DOMAINS = {  # a Debian package, and its texts
    "charmaps": ("locales", "usr/share/i18n/charmaps/*.gz"),
    "code": ("libpython3.11-stdlib", "usr/lib/python3*/**/*.py"),
    "cs": ("manpages-cs", "usr/share/man/cs/man*/*.gz"),
    "es": ("manpages-es", "usr/share/man/es/man*/*.gz"),
    "headers": ("libstdc++-12-dev", "usr/include/**/*"),
    "icons": ("tango-icon-theme", "usr/share/icons/**/*.svg"),
}
LIVE_EVERY, LIVE_LEAD, LIVE_FLOOR = 10, 8, 0.02  # steps between two requests, and of the mix ahead of its trainer
MEASURED = 40  # steps of 16 sequences of each held-out set
t.VOCABULARY, t.WIDTH, t.LAYERS, t.RATE = 1024, 48, 1, 5e-3  # a small model: many steps in little time


def say(text):
    print(f"doremi: {text}", flush=True)


# ---- corpus and mixes ----

def fetch(tree):
    """Downloads and unpacks the packages once."""
    if (tree / ".done").exists():
        return
    shutil.rmtree(tree, ignore_errors=True)
    tree.mkdir(parents=True)
    packages = sorted({package for package, _ in DOMAINS.values()})
    say(f"fetching {' '.join(packages)}")
    subprocess.run(["apt-get", "download", "-qq", *packages], cwd=tree, check=True)
    for deb in tree.glob("*.deb"):
        subprocess.run(["dpkg-deb", "-x", deb, tree], check=True)
    (tree / ".done").touch()


def texts(tree, pattern):
    for path in sorted(tree.glob(pattern)):
        if path.is_file() and not path.is_symlink():
            try:
                yield gzip.open(path, "rt").read() if path.suffix == ".gz" else path.read_text()
            except UnicodeDecodeError:
                continue


def prepare(folder):
    """The vocabulary, and a file of documents for each domain."""
    t.vocabulary(folder)
    tree = t.BUILD / "doremi-packages"
    fetch(tree)
    for domain, (_, pattern) in DOMAINS.items():
        with open(folder / f"{domain}.jsonl", "w") as out:
            out.writelines(json.dumps({"text": text}) + "\n" for text in texts(tree, pattern))


def configure(a, mix, **more):
    return t.write(a.out / f"{mix}.yml", a.bootstrap, {"name": mix, **more}, {
        "corpus": a.corpus,
        "tokenizer": {"file": "small.tiktoken", "pattern": "gpt2", "eos": "<|endoftext|>"},
        "split": "95,5,0",
        "domains": {domain: {"train": [f"{domain}.jsonl"]} for domain in DOMAINS},
    })


class Mix:
    """A mix, while it is needed; more: keys of the configuration."""

    def __init__(self, a, name, seed, **more):
        self.a, self.name, self.others = a, f"{a.corpus}-{name}-{seed}", []
        self.config = configure(a, self.name, seed=seed, **more)

    def __enter__(self):
        t.riffle_command(self.a, "topics", "-c", self.config, "--create", stdout=subprocess.DEVNULL)
        self.start("mix")
        return self

    def start(self, command, *words):
        """A riffle command that runs beside the training."""
        with open(self.a.out / f"{self.name}.{command}.log", "w") as log:
            self.others.append(subprocess.Popen([self.a.riffle, command, "-c", self.config, *map(str, words)],
                                                stdout=log, stderr=log))
        return self.others[-1]

    def __exit__(self, *_):
        for other in self.others:
            other.terminate()
            other.wait()
        subprocess.run([self.a.riffle, "topics", "-c", self.config, "--delete", "--mix", "--yes"], capture_output=True)


# ---- training ----

def set_rate(a, optimizer, item):
    """Falls along a cosine to a tenth."""
    t.set_rate(optimizer, item["step"], item["lr_scale"] * (0.55 + 0.45 * math.cos(math.pi * item["step"] / a.steps)))


def train(a, mix, seed, reference=None, doremi=None):
    """The model after --steps of a mix, and the losses of its steps. With a reference: a proxy, weighted by doremi."""
    import riffle
    import riffle.torch
    import torch

    model, curve = t.make_model(seed), []
    optimizer = t.make_optimizer(model)
    dataset = riffle.torch.Dataset(mix.name, a.bootstrap, step=0, commit_every=2, timeout=120)
    for item in dataset:
        losses, counted = model(item), item["labels"] != -100
        with torch.no_grad():
            sums = riffle.domain_sums(losses, item["domains"], mask=counted, reference=reference and reference(item))
        if doremi is None:
            loss = losses.sum() / counted.sum()
        else:
            doremi.update(sums)
            weight = torch.from_numpy(doremi.loss_weights(item["domains"])).float()[:, None]
            loss = (losses * counted * weight).sum()
        optimizer.zero_grad()
        loss.backward()
        set_rate(a, optimizer, item)
        optimizer.step()
        dataset.trained(item["step"], sums)
        curve.append({"sums": sums, "weights": doremi and dict(doremi.weights)})
        if item["step"] + 1 == a.steps:
            dataset.flush()
            return model, curve


def measure(a, what, model):
    """The mean loss of each domain's held-out set."""
    found = evaluate(model, a.corpus, DOMAINS, a.bootstrap, sets=["valid"], batch=t.BATCH, batches=MEASURED)
    losses = {domain: row["loss"] for domain, row in found["valid"].items()}
    say(f"{what}: mean {statistics.mean(losses.values()):.3f}, worst {max(losses.values()):.3f} nats a token")
    return losses


def plain(a, name, seed, weights):
    with Mix(a, name, seed, weights=weights) as mix:
        model, curve = train(a, mix, seed)
        shown = json.loads(t.riffle_command(a, "weights", "-c", mix.config, "--json", capture_output=True).stdout)
    raw = {domain["name"]: domain["weight"] for domain in shown["domains"]}
    weights = {domain: weight / sum(raw.values()) for domain, weight in raw.items()}
    return model, {"weights": weights, "held_out": measure(a, f"seed {seed}: {name}", model), "curve": curve}


def live(a, mix, method, eta, out):
    """A learner that follows the trainer's reports, and requests its weights of the mix."""
    return mix.start("reweight", "--method", method, "--live", "--eta", eta, "--every", LIVE_EVERY, "--interval", 0,
                     "--floor", LIVE_FLOOR, "--until-step", a.steps, "--out", out, "--anew")


def ended(a, learner, out):
    if learner.wait() != 0:
        sys.exit(f"doremi: riffle reweight ended with {learner.returncode}; see {a.out}/*.reweight.log")
    return json.loads(out.read_text())


def proxy(a, name, seed, reference):
    """What DoReMi learned, and the file of it."""
    import riffle

    out = a.out / f"{name}-{seed}.json"
    if a.live:
        with Mix(a, name, seed, weights="uniform", max_lead_steps=LIVE_LEAD) as mix:
            learner = live(a, mix, "doremi", a.live_eta, out)
            _, curve = train(a, mix, seed, reference)
            learned = ended(a, learner, out)
    else:
        doremi = riffle.DoReMi(DOMAINS, eta=a.eta)
        with Mix(a, name, seed, weights="uniform") as mix:
            _, curve = train(a, mix, seed, reference, doremi)
            t.riffle_command(a, "reweight", "-c", mix.config, "--method", "doremi", "--eta", a.eta, "--out", out,
                             "--anew", stdout=subprocess.DEVNULL)
        learned = json.loads(out.read_text())
        if learned != doremi.average:
            sys.exit(f"doremi: riffle reweight learned {learned}, the training process {doremi.average}")
    say(f"seed {seed}: {name} learned " + ", ".join(f"{domain} {weight:.3f}" for domain, weight in learned.items()))
    return out, {"weights": learned, "curve": curve}


def odm(a, seed):
    """The weights change below the model that is measured."""
    out = a.out / f"odm-{seed}.json"
    with Mix(a, "odm", seed, weights="uniform", max_lead_steps=LIVE_LEAD) as mix:
        learner = live(a, mix, "odm", a.odm_eta, out)
        model, curve = train(a, mix, seed)
        learned = ended(a, learner, out)
    return {"weights": learned, "held_out": measure(a, f"seed {seed}: odm", model), "curve": curve}


def one_seed(a, seed):
    """{name: what was found}, in the order of the table."""
    baselines = {name: plain(a, name, seed, name) for name in ("size", "uniform")}
    reference, found = baselines[a.reference][0], {name: what for name, (_, what) in baselines.items()}
    for k in range(1, a.rounds + 1):
        weights, found[f"proxy {k}"] = proxy(a, f"proxy{k}", seed, reference)
        reference, found[f"main {k}"] = plain(a, f"main{k}", seed, str(weights.resolve()))
    found["odm"] = odm(a, seed)
    return found


def run(a):
    began = time.monotonic()
    t.deterministic()
    a.corpus = f"doremi{int(time.time())}"
    config = configure(a, f"{a.corpus}-none")
    t.riffle_command(a, "topics", "-c", config, "--create", stdout=subprocess.DEVNULL)
    results = {}
    try:
        t.riffle_command(a, "produce", "-c", config, stderr=open(a.out / "produce.log", "w"))
        for seed in a.seeds:
            results[seed] = one_seed(a, seed)
            (a.out / "results.json").write_text(json.dumps(results))
    finally:
        subprocess.run([a.riffle, "topics", "-c", config, "--delete", "--yes"], capture_output=True)
    show(list(results.values()))
    picture = t.save_picture(a.out / "doremi.png", draw, results)
    say(f"riffle reweight and riffle.DoReMi gave the same doubles; {picture}; took "
        f"{time.monotonic() - began:.0f} s, {time.process_time():.0f} s of them this process' own of a processor")


# ---- what came out ----

def spread(values, digits):
    return f"{statistics.mean(values):.{digits}f}" + (
        f" ±{statistics.stdev(values):.{digits}f}" if len(values) > 1 else "")


def table(title, columns, rows, digits=3):
    """rows: {name: [values of the seeds, for each column]}; mean and standard deviation over the seeds."""
    print(f"\n{title}\n{'':<10}" + "".join(f"{c:>15}" for c in columns))
    for name, cells in rows.items():
        print(f"{name:<10}" + "".join(f"{spread(values, digits):>15}" for values in cells))


def show(runs):
    names = [name for name in runs[0] if "held_out" in runs[0][name]]
    losses = {name: [run[name]["held_out"] for run in runs] for name in names}
    rows = {d: [[held[d] for held in losses[name]] for name in names] for d in DOMAINS}
    rows["mean"] = [[statistics.mean(held.values()) for held in losses[name]] for name in names]
    rows["worst"] = [[max(held.values()) for held in losses[name]] for name in names]
    table(f"loss of the held-out sets, nats a token: mean and standard deviation of {len(runs)} seeds", names, rows)
    table("perplexity", names, {row: [[math.exp(v) for v in values] for values in rows[row]] for row in rows}, digits=1)
    for base, column in (("size", 0), ("uniform", 1)):
        table(f"less than {base}, with the same seed", names, {
            row: [[b - v for b, v in zip(rows[row][column], values)] for values in rows[row]]
            for row in ("mean", "worst")})
    table("weights", names, {d: [[run[name]["weights"][d] for run in runs] for name in names] for d in DOMAINS})


def draw(pyplot, results):
    first = next(iter(results.values()))
    proxies = [name for name in first if name.startswith("proxy")]
    figure, axes = pyplot.subplots(len(proxies), 1, sharex=True, squeeze=False, figsize=(9, 3 * len(proxies)))
    for (axis,), name in zip(axes, proxies):
        for domain in DOMAINS:
            excess = [step["sums"][domain] for step in first[name]["curve"] if domain in step["sums"]]
            axis.plot(t.smooth([over / n for _, over, n in excess]), label=domain)
        axis.set_ylabel(f"{name}: excess, nats a token")
    axes[0][0].legend(fontsize="small")
    axes[-1][0].set_xlabel("step")
    figure.tight_layout()
    return figure


def parse():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--seeds", default="1,2,3")
    p.add_argument("--rounds", type=int, default=2)
    p.add_argument("--reference", choices=("size", "uniform"), default="size", help="the first round's")
    p.add_argument("--steps", type=int, default=400)
    p.add_argument("--eta", type=float, default=0.01, help="step size of DoReMi; its paper's 1 is for 200,000 steps")
    p.add_argument("--live", action="store_true", help="the proxy's mix draws by the weights; its loss is plain")
    p.add_argument("--live-eta", type=float, default=0.02, help="the step size then: weights take effect a lead later")
    p.add_argument("--odm-eta", type=float, default=t.BATCH, help="what ODM multiplies losses by: the draws of a step")
    p.add_argument("--table", type=pathlib.Path, nargs="+", metavar="FILE", help="results.json of former runs")
    p.add_argument("--out", type=pathlib.Path, default=t.BUILD / "doremi")
    p.add_argument("--riffle", type=pathlib.Path, default=t.BUILD / "riffle")
    p.add_argument("--bootstrap", default=os.environ.get("RIFFLE_BOOTSTRAP"))
    a = p.parse_args()
    a.seeds = [int(seed) for seed in a.seeds.split(",")]
    return a


def main():
    a = parse()
    if a.table:
        show([run for path in a.table for run in json.loads(path.read_text()).values()])
    else:
        t.with_broker(a, run, prepare)


if __name__ == "__main__":
    main()
