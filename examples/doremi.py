#!/usr/bin/env python3
"""doremi: weights of domains learned by DoReMi (arXiv 2305.10429) on a small model, and what they are worth.

    make build && scripts/venv torch
    build/venv-torch/bin/python examples/doremi.py [--steps 200] [--out build/doremi]

Three trainings of the model of examples/train.py on the demo's four domains, of --steps each:
  reference  on a uniform mix
  proxy      on the same mix, its loss weighted in every step by riffle.DoReMi, from its excess over the reference
  tuned      on a mix whose weights are what `riffle reweight` learned from the proxy's reports, off line
`riffle reweight` and the proxy's own riffle.DoReMi must give the same numbers. Then reference and tuned are measured on
each domain's held-out set. Leaves weights.json, results.json and doremi.png in --out.
"""

import json
import pathlib
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import train as t  # noqa: E402: the model, the corpus, the broker
from evaluate import evaluate  # noqa: E402

PARTS = 2  # micro-batches of a step
ETA = 0.1  # the paper's 1 is for 200,000 steps; in some hundred it ends in a corner
MEASURED = 40  # steps of 16 sequences of each held-out set


def say(text):
    print(f"doremi: {text}", flush=True)


def items(a, mix, run, steps, micro_batch=None):
    """The dataset of a run, and its items for so many steps."""
    import riffle.torch
    dataset = riffle.torch.Dataset(mix, a.bootstrap, run=run, step=0, commit_every=8, timeout=120,
                                   micro_batch=micro_batch)

    def some():
        for item in dataset:
            if item["step"] == steps:
                break
            yield item
    return dataset, some()


def learn(model, optimizer, item):
    """One plain step; the token losses and what counts of them."""
    losses, counted = model(item), item["labels"] != -100
    optimizer.zero_grad()
    (losses.sum() / counted.sum()).backward()
    t.set_rate(optimizer, item["step"], item["lr_scale"])
    optimizer.step()
    return losses.detach(), counted


def means(sums):
    return {d: loss / n for d, (loss, _, n) in sums.items()}


def train_plainly(a, mix, run):
    """A model and the losses of its steps for each domain."""
    import riffle
    model, curve = t.make_model(), []
    optimizer = t.make_optimizer(model)
    dataset, steps = items(a, mix, run, a.steps)
    for item in steps:
        losses, counted = learn(model, optimizer, item)
        sums = riffle.domain_sums(losses, item["domains"], mask=counted)
        dataset.trained(item["step"], sums)
        curve.append(means(sums))
    return model, curve


def train_proxy(a, mix, run, reference):
    """The proxy's losses for each domain, and DoReMi's weights in every step."""
    import riffle
    import torch
    doremi = riffle.DoReMi(t.WEIGHTS, eta=ETA)
    model, curve, weights, excess, parts = t.make_model(), [], [], [], []
    optimizer = t.make_optimizer(model)
    dataset, steps = items(a, mix, run, a.steps, t.BATCH // PARTS)
    for item in steps:
        parts.append(item)
        if len(parts) < PARTS:
            continue
        optimizer.zero_grad()
        for part in parts:  # what the losses of the whole step are, before any gradient
            with torch.no_grad():
                doremi.add(riffle.domain_sums(model(part), part["domains"], mask=part["labels"] != -100,
                                              reference=reference(part)))
        sums = doremi.sums
        weights.append(doremi.update())
        excess.append(dict(doremi.excess))
        for part in parts:  # gradients of all micro-batches under this step's weights
            weight = torch.from_numpy(doremi.loss_weights(part["domains"])).float()[:, None]
            (model(part) * (part["labels"] != -100) * weight).sum().backward()
        t.set_rate(optimizer, item["step"], item["lr_scale"])
        optimizer.step()
        dataset.trained(item["step"], sums)
        curve.append(means(sums))
        parts = []
    return doremi, curve, weights, excess


def measure(a, corpus, model):
    """The mean loss of each domain's held-out set, by itself."""
    found = evaluate(model, corpus, t.WEIGHTS, a.bootstrap, sets=["valid"], batch=t.BATCH, batches=MEASURED)
    return {domain: row["loss"] for domain, row in found["valid"].items()}


def start_mix(a, config, steps, log):
    return subprocess.Popen([a.riffle, "mix", "-c", config, "--until-step", str(steps)], stderr=open(a.out / log, "w"))


def run(a):
    began = time.monotonic()
    t.deterministic()
    corpus = f"doremi{int(time.time())}"
    uniform, tuned = f"{corpus}-uniform", f"{corpus}-tuned"
    weights = a.out / "weights.json"
    for old in (weights, a.out / "weights.json.state"):
        old.unlink(missing_ok=True)
    # No bound on the lead: the second run begins when the first has ended.
    configs, mixers = [t.configure(a.out, corpus, uniform, a.bootstrap, max_lead_steps=0)], []
    t.riffle_command(a, "topics", "-c", configs[0], "--create", stdout=subprocess.DEVNULL)
    try:
        t.riffle_command(a, "produce", "-c", configs[0], stderr=open(a.out / "produce.log", "w"))
        mixers.append(start_mix(a, configs[0], a.steps + 1, "mix.log"))
        say(f"reference: {a.steps} steps on uniform weights")
        reference, reference_curve = train_plainly(a, uniform, "reference")
        say(f"proxy: {a.steps} steps of {PARTS} micro-batches, weighted by its excess over the reference")
        doremi, proxy_curve, history, excess = train_proxy(a, uniform, "proxy", reference)
        t.riffle_command(a, "reweight", "-c", configs[0], "--method", "doremi", "--run", "proxy", "--eta", ETA,
                         "--out", weights)
        learned = json.loads(weights.read_text())
        if learned != doremi.average:
            sys.exit(f"doremi: riffle reweight learned {learned}, the training process {doremi.average}")
        configs.append(t.configure(a.out, corpus, tuned, a.bootstrap, weights=str(weights.resolve())))
        t.riffle_command(a, "topics", "-c", configs[1], "--create", stdout=subprocess.DEVNULL)
        mixers.append(start_mix(a, configs[1], a.steps + 1, "tuned.log"))
        say(f"tuned: {a.steps} steps on what was learned")
        model, tuned_curve = train_plainly(a, tuned, "trainers")
        held_out = {"reference": measure(a, corpus, reference), "tuned": measure(a, corpus, model)}
    finally:
        for m in mixers:
            m.terminate()
            m.wait()
        for config in configs:
            subprocess.run([a.riffle, "topics", "-c", config, "--delete", "--yes"], capture_output=True)
    (a.out / "results.json").write_text(json.dumps(
        {"weights": learned, "held_out": held_out, "reference": reference_curve, "proxy": proxy_curve,
         "tuned": tuned_curve, "history": history, "excess": excess}, indent=1))
    draw(a, history, excess, reference_curve, tuned_curve)
    print(f"\n{'domain':<10}{'weight':>10}{'reference':>12}{'tuned':>10}   (loss of the held-out set, nats a token)")
    for d in sorted(learned):
        print(f"{d:<10}{learned[d]:>10.4f}{held_out['reference'][d]:>12.4f}{held_out['tuned'][d]:>10.4f}")
    worst = {k: max(v.values()) for k, v in held_out.items()}
    print(f"{'worst':<10}{'':>10}{worst['reference']:>12.4f}{worst['tuned']:>10.4f}")
    say(f"riffle reweight and riffle.DoReMi gave the same doubles; picture: {a.out / 'doremi.png'}; took "
        f"{time.monotonic() - began:.0f} s")


def draw(a, history, excess, reference, tuned):
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(3, 1, sharex=True, figsize=(9, 9))
    for domain in sorted(t.WEIGHTS):
        line, = axes[0].plot([h[domain] for h in history], label=domain)
        axes[1].plot(t.smooth([e[domain] for e in excess]), color=line.get_color())
        for curve, style in ((reference, ":"), (tuned, "-")):
            known = [(i, e[domain]) for i, e in enumerate(curve) if domain in e]
            axes[2].plot([i for i, _ in known], t.smooth([v for _, v in known]), style, color=line.get_color())
    axes[0].set_ylabel("DoReMi's weight in the step")
    axes[0].legend(fontsize="small")
    axes[1].set_ylabel("proxy's excess, nats a token")
    axes[2].set_ylabel("loss: reference dotted, tuned drawn")
    axes[2].set_xlabel("step")
    figure.tight_layout()
    figure.savefig(a.out / "doremi.png", dpi=110)


def main():
    argv = sys.argv[1:]
    if not any(word.startswith("--out") for word in argv):
        argv += ["--out", str(t.BUILD / "doremi")]
    if not any(word.startswith("--steps") for word in argv):
        argv += ["--steps", "200"]
    if "-h" in argv or "--help" in argv:
        print(__doc__)
        return
    t.with_broker(t.parse(argv), run)


if __name__ == "__main__":
    main()
