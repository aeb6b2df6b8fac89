#!/usr/bin/env python3
"""evaluate: the loss of a model on each domain's held-out sets, each by itself.

    make build && scripts/venv torch
    build/venv-torch/bin/python examples/evaluate.py [--steps 100] [--out build/evaluate]

Trains the model of examples/train.py for --steps on the demo's four domains, and measures it before and after on every
domain's valid and test set: mean loss of a token in nats and perplexity. A set is read once, in order, and is never
mixed with another, so that its figure does not depend on the weights of the mix. Leaves results.json and model.pt in
--out, and the corpus is deleted.

    build/venv-torch/bin/python examples/evaluate.py --checkpoint model.pt --corpus demo --domains code,perl --sets valid

measures a model that was saved, on a corpus that is there. `evaluate()` does it in a training of yours; with
torch.distributed each rank reads its share of the batches and all ranks get the result.
"""

import argparse
import json
import math
import os
import pathlib
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import train as t  # noqa: E402: the model, the corpus, the broker

SETS = ("valid", "test")


def say(text):
    print(f"evaluate: {text}", flush=True)


def evaluate_set(losses_of, corpus, domain, bootstrap, *, which="valid", batch=64, batches=None):
    """(sum of losses in nats, tokens, sequences) of one set over all ranks; `batches`: at most so many of a rank."""
    import riffle
    import riffle.torch
    import torch

    dataset = riffle.torch.ValidationDataset(riffle.Validation(corpus, domain, bootstrap, set=which, batch=batch))
    sums = torch.zeros(3, dtype=torch.float64)
    with torch.no_grad():
        for k, item in enumerate(dataset):
            if k == batches:
                break
            counted = item["labels"] != -100
            sums += torch.tensor([(losses_of(item).double() * counted).sum(), counted.sum(), len(item["domains"])])
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        torch.distributed.all_reduce(sums)
    total, tokens, sequences = sums.tolist()
    return total, int(tokens), int(sequences)


def evaluate(losses_of, corpus, domains, bootstrap=None, *, sets=SETS, batch=64, batches=None):
    """{set: {domain: {"loss", "tokens", "sequences"}}}; loss is the mean of a token, None where the set is empty.

    losses_of(item) gives the loss of each token, [n, S], of an item as riffle.torch.batch_of() says.
    """
    found = {}
    for which in sets:
        found[which] = {}
        for domain in sorted(domains):
            total, tokens, sequences = evaluate_set(losses_of, corpus, domain, bootstrap, which=which, batch=batch,
                                                    batches=batches)
            found[which][domain] = {"loss": total / tokens if tokens else None, "tokens": tokens, "sequences": sequences}
    return found


def show(title, found):
    print(f"\n{title}\n{'set':<8}{'domain':<12}{'sequences':>10}{'tokens':>12}{'loss':>10}{'perplexity':>12}")
    for which, domains in found.items():
        for domain, row in domains.items():
            loss = row["loss"]
            cells = f"{'empty':>10}" if loss is None else f"{loss:>10.4f}{math.exp(min(loss, 700)):>12.1f}"
            print(f"{which:<8}{domain:<12}{row['sequences']:>10}{row['tokens']:>12}{cells}")


def measure(a, model, corpus, domains):
    began = time.monotonic()
    found = evaluate(model, corpus, domains, a.bootstrap, sets=a.sets, batches=a.batches)
    tokens = sum(row["tokens"] for rows in found.values() for row in rows.values())
    say(f"{tokens} tokens of {len(a.sets) * len(domains)} sets in {time.monotonic() - began:.1f} s")
    return found


def learn(a, model, mix):
    """Trains for --steps."""
    import riffle.torch

    optimizer = t.make_optimizer(model)
    dataset = riffle.torch.Dataset(mix, a.bootstrap, step=0, commit_every=8, timeout=120)
    for item in dataset:
        losses, counted = model(item), item["labels"] != -100
        optimizer.zero_grad()
        (losses.sum() / counted.sum()).backward()
        t.set_rate(optimizer, item["step"], item["lr_scale"])
        optimizer.step()
        dataset.trained(item["step"])
        if item["step"] + 1 == a.steps:
            return


def train_between(a):
    """Measures, trains, measures."""
    t.deterministic()
    corpus = f"evaluate{int(time.time())}"
    mix = f"{corpus}-mix"
    config, model = t.configure(a.out, corpus, mix, a.bootstrap), t.make_model()
    t.riffle_command(a, "topics", "-c", config, "--create", stdout=subprocess.DEVNULL)
    mixer = None
    try:
        t.riffle_command(a, "produce", "-c", config, stderr=open(a.out / "produce.log", "w"))
        before = measure(a, model, corpus, t.WEIGHTS)
        show("before any training", before)
        mixer = subprocess.Popen([a.riffle, "mix", "-c", config, "--until-step", str(a.steps)],
                                 stderr=open(a.out / "mix.log", "w"))
        learn(a, model, mix)
        after = measure(a, model, corpus, t.WEIGHTS)
    finally:
        if mixer is not None:
            mixer.terminate()
            mixer.wait()
        subprocess.run([a.riffle, "topics", "-c", config, "--delete", "--yes"], capture_output=True)
    show(f"after {a.steps} steps", after)
    t.save(a.out / "model.pt", model=model.state_dict())
    (a.out / "results.json").write_text(json.dumps({"before": before, "after": after}, indent=1))


def saved(a):
    """Measures a model that was saved, by this program or by examples/train.py."""
    import torch

    model = t.make_model()
    model.load_state_dict(torch.load(a.checkpoint, weights_only=True)["model"])
    found = measure(a, model, a.corpus, a.domains.split(","))
    show(f"{a.checkpoint} on {a.corpus}", found)
    a.out.mkdir(parents=True, exist_ok=True)
    (a.out / "results.json").write_text(json.dumps(found, indent=1))


def parse():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--steps", type=int, default=100)
    p.add_argument("--out", type=pathlib.Path, default=t.BUILD / "evaluate")
    p.add_argument("--sets", default=",".join(SETS), help="valid, test or train, commas between")
    p.add_argument("--batches", type=int, help="at most so many batches of 64 sequences of a set; all")
    p.add_argument("--checkpoint", type=pathlib.Path)
    p.add_argument("--corpus")
    p.add_argument("--domains", default=",".join(sorted(t.WEIGHTS)))
    p.add_argument("--riffle", type=pathlib.Path, default=t.BUILD / "riffle")
    p.add_argument("--bootstrap", default=os.environ.get("RIFFLE_BOOTSTRAP"))
    a = p.parse_args()
    a.sets = a.sets.split(",")
    if (a.checkpoint is None) != (a.corpus is None):
        p.error("--checkpoint and --corpus go together")
    return a


def main():
    a = parse()
    if a.checkpoint is not None:
        saved(a)
    else:
        t.with_broker(a, train_between)


if __name__ == "__main__":
    main()
