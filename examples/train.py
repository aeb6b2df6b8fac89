#!/usr/bin/env python3
"""train: a real training on a mix, killed and resumed, with the loss curve of an undisturbed run, bit for bit.

    make build && scripts/venv torch
    build/venv-torch/bin/python examples/train.py [--steps 300] [--out build/train]
    build/venv-torch/bin/python examples/train.py --chat [--steps 300] [--out build/chat]

A small transformer learns the demo's four domains (scripts/demo: prose, C++ headers, a command line's manual,
Python) on one thread of the CPU, from a mix with a phase that changes weights and lr_scale. It reports its loss for
each domain; `riffle status` shows them. The mix is trained on twice: left alone, and killed by SIGKILL half-way and
resumed from its last checkpoint. All losses of both must be the same doubles. As a control the resumed run is repeated
with one step skipped: its losses must differ. Leaves curve.jsonl of each run, status.txt and train.png in --out.

With --chat the model learns the answers of chats: rows of messages become tokens by a chat template (riffle-source), and
the loss is of what the assistant says alone. Chats, tokenizer and template are made here; chat.yml in --out shows how yours
would stand there.

$RIFFLE_BOOTSTRAP names a broker of yours; else scripts/kafka starts one. --riffle: the built program.
"""

import argparse
import base64
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import random
import shlex
import shutil
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = (ROOT / os.environ.get("B", "build")).resolve()
os.environ.setdefault("RIFFLE_LIBRARY", str(BUILD / "libriffle.so.0"))
sys.path.insert(0, str(ROOT / "python"))

VOCABULARY, LENGTH, BATCH, LANES = 4096, 64, 16, 4
WIDTH, HEADS, LAYERS, RATE = 64, 4, 2, 3e-3
CHECKPOINT_EVERY = 20
WEIGHTS = {"code": 0.25, "headers": 0.25, "manual": 0.25, "prose": 0.25}
ANNEAL = {"code": 0.7, "headers": 0.1, "manual": 0.1, "prose": 0.1}
CHATS, CHAT_END = 600, "<|end|>"
CHAT_TEMPLATE = """{%- for m in messages -%}
<|{{ m.role }}|>{% if m.role == "assistant" %}{% generation %}{{ m.content }}<|end|>{% endgeneration %}
{%- else %}{{ m.content }}<|end|>{% endif -%}
{%- endfor -%}"""


def say(text):
    print(f"train: {text}", flush=True)


# ---- corpus and mix ----

def demo():
    """scripts/demo as a module: it fetches and prepares the texts."""
    loader = importlib.machinery.SourceFileLoader("demo", str(ROOT / "scripts/demo"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("demo", loader))
    loader.exec_module(module)
    return module


def vocabulary(folder):
    """The first entries of r50k_base are a byte-pair vocabulary themselves: a small one for a small model."""
    subprocess.run([ROOT / "scripts/vocab"], check=True)
    lines = (ROOT / "build/vocab/r50k_base.tiktoken").read_text().splitlines()
    lines = sorted(lines, key=lambda line: int(line.split()[1]))[:VOCABULARY - 1]
    lines.append(f"{base64.b64encode(b'<|endoftext|>').decode()} {VOCABULARY - 1}")
    (folder / "small.tiktoken").write_text("\n".join(lines) + "\n")


def texts(folder):
    """What scripts/demo prepares, as files beside the configuration."""
    d = demo()
    d.HOME.mkdir(parents=True, exist_ok=True)
    d.prepare()
    if not (folder / "data").exists():
        (folder / "data").symlink_to(d.HOME / "data")


def write(path, bootstrap, mix, corpus):
    """`mix` and `corpus` are keys of the configuration."""
    path.write_text(json.dumps({
        "sequence_length": LENGTH, **corpus,
        "mix": {"seed": 1234, "global_batch": BATCH, "lanes": LANES, **mix},
        "kafka": {"bootstrap.servers": bootstrap},
    }, indent=1))
    return path


def prepare(folder):
    vocabulary(folder)
    texts(folder)


def configure(folder, corpus, mix, bootstrap, weights=WEIGHTS, **more):
    return write(folder / f"{mix}.yml", bootstrap, {"name": mix, "weights": weights, **more}, {
        "corpus": corpus,
        "tokenizer": {"file": "small.tiktoken", "pattern": "gpt2", "eos": "<|endoftext|>"},
        "split": "98,1,1",
        "domains": {
            "prose": {"train": ["data/prose.jsonl.zst"]},
            "headers": {"train": ["data/headers.{1..2}.jsonl.gz"]},
            "manual": {"train": ["data/manual/*[0-4].txt.gz"]},
            "code": {"exec": demo().CODE},
        },
    })


# ---- chats ----

def chats(folder):
    """What a user brings: a tokenizer whose template marks what the assistant says, and rows of messages."""
    import tokenizers
    import transformers

    letters = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    made = tokenizers.Tokenizer(tokenizers.models.BPE(vocab={c: i for i, c in enumerate(letters)}, merges=[]))
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    made.decoder = tokenizers.decoders.ByteLevel()
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=made, eos_token=CHAT_END, extra_special_tokens=[
        "<|user|>", "<|assistant|>"])
    fast.chat_template = CHAT_TEMPLATE
    fast.save_pretrained(folder / "tokenizer")
    draw = random.Random(1)
    with open(folder / "chats.jsonl", "w") as out:
        for i in range(CHATS):
            messages = []
            for _ in range(draw.choice((1, 1, 2))):
                x, y = draw.randrange(10), draw.randrange(10)
                messages += [{"role": "user", "content": f"{x} + {y}"}, {"role": "assistant", "content": f"{x + y}"}]
            out.write(json.dumps({"id": i, "messages": messages}) + "\n")


def configure_chats(folder, corpus, mix, bootstrap):
    source = shlex.join([sys.executable, str(ROOT / "python/riffle_source.py")])  # riffle-source, where it is installed
    return write(folder / "chat.yml", bootstrap, {"name": mix}, {
        "corpus": corpus,
        "tokenizer": {"file": "tokenizer/tokenizer.json", "eos": CHAT_END},
        "domains": {"chats": {"exec": f"{source} chats.jsonl --chat tokenizer --keep id", "exec_name": "chats",
                              "tokens": "jsonl", "packing": "best_fit"}},
    })


# ---- the model ----

def make_model(seed=1):
    """A decoder-only transformer whose sequences attend within their own document."""
    import torch
    from torch import nn
    from torch.nn import functional

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.before, self.after = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
            self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
            self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

        def forward(self, x, mask):
            n, s, _ = x.shape
            q, k, v = self.qkv(self.before(x)).view(n, s, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
            y = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
            x = x + self.out(y.transpose(1, 2).reshape(n, s, WIDTH))
            return x + self.down(functional.gelu(self.up(self.after(x))))

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.token, self.place = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(LENGTH, WIDTH)
            self.blocks, self.last = nn.ModuleList(Block() for _ in range(LAYERS)), nn.LayerNorm(WIDTH)
            for p in (self.token.weight, self.place.weight):
                nn.init.normal_(p, std=0.02)

        def forward(self, item):
            """The loss of each token, [n, S]; 0 where there is none."""
            ids, documents = item["input_ids"], item["document_ids"]
            causal = torch.ones(LENGTH, LENGTH, dtype=torch.bool).tril()
            mask = ((documents[:, :, None] == documents[:, None, :]) & causal)[:, None]
            x = self.token(ids) + self.place(item["position_ids"])
            for block in self.blocks:
                x = block(x, mask)
            logits = self.last(x) @ self.token.weight.T
            return functional.cross_entropy(
                logits.flatten(0, 1), item["labels"].flatten(), ignore_index=-100, reduction="none").view_as(ids)

    torch.manual_seed(seed)
    return Model()


def deterministic():
    import torch
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)


def make_optimizer(model):
    import torch
    return torch.optim.AdamW(model.parameters(), lr=RATE, betas=(0.9, 0.95), weight_decay=0.1)


def set_rate(optimizer, step, lr_scale):
    for group in optimizer.param_groups:
        group["lr"] = RATE * min(1.0, (step + 1) / 20) * lr_scale
    return optimizer.param_groups[0]["lr"]


# ---- one training process ----

def save(path, **parts):
    """Whole or not at all, whenever the process dies."""
    import torch
    fresh = path.with_suffix(".new")
    torch.save(parts, fresh)
    os.replace(fresh, path)


def decoder(folder):
    """What of an item is trained on, as text: the targets of each sequence. None: nothing is to be shown."""
    if folder is None:
        return lambda item: {}
    import tokenizers
    made = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    return lambda item: {"targets": [made.decode(row[row != -100].tolist(), skip_special_tokens=False)
                                     for row in item["labels"]]}


def worker(a):
    """Trains until --steps, from the checkpoint where there is one; a line of curve.jsonl a step."""
    import torch
    import riffle
    import riffle.torch

    deterministic()
    model = make_model()
    optimizer = make_optimizer(model)
    decode = decoder(a.tokenizer)
    checkpoint = a.out / "checkpoint.pt"
    log = None
    dataset = riffle.torch.Dataset(a.mix, a.bootstrap, run=a.run, step=0, commit_every=8, timeout=120)
    if checkpoint.exists():
        state = torch.load(checkpoint, weights_only=True)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        dataset.load_state_dict({**state["riffle"], "step": state["riffle"]["step"] + a.skip})
    with open(a.out / "curve.jsonl", "a") as curve:
        for item in dataset:
            losses = model(item)
            counted = item["labels"] != -100
            loss = losses.sum() / counted.sum()
            optimizer.zero_grad()
            loss.backward()
            rate = set_rate(optimizer, item["step"], item["lr_scale"])
            optimizer.step()
            sums = riffle.domain_sums(losses, item["domains"], mask=counted)
            dataset.trained(item["step"], sums)
            if a.tensorboard:
                import writers
                log = log or writers.TensorBoard(a.tensorboard, purge_step=item["step"])
                log.write(item["step"], writers.values_of(item, sums))
            curve.write(json.dumps({
                "step": item["step"], "loss": loss.item().hex(), "rate": rate, "phase": item["phase"], **decode(item),
                "domains": {d: [total / n, item["domains"].count(d)] for d, (total, _, n) in sums.items()}}) + "\n")
            curve.flush()
            done = item["step"] + 1
            if done % CHECKPOINT_EVERY == 0 or done == a.steps:
                save(checkpoint, model=model.state_dict(), optimizer=optimizer.state_dict(),
                     riffle=dataset.state_dict())
            if done == a.steps:
                dataset.flush()
                break
    if log:
        log.close()


# ---- the whole ----

class Run:
    """A training run in a process of its own."""

    def __init__(self, a, name, mix, steps):
        self.a, self.name, self.mix, self.steps = a, name, mix, steps
        self.out = a.out / name
        shutil.rmtree(self.out, ignore_errors=True)
        self.out.mkdir(parents=True)

    def start(self, *more):
        more += ("--tensorboard", self.a.tensorboard / self.name) if self.a.tensorboard else ()
        with open(self.out / "log.txt", "a") as log:
            self.process = subprocess.Popen(
                [sys.executable, __file__, "--worker", "--mix", self.mix, "--run", self.name, "--out", self.out,
                 "--bootstrap", self.a.bootstrap, "--steps", str(self.steps), *map(str, more)], stdout=log, stderr=log)

    def finish(self):
        if self.process.wait() != 0:
            sys.exit(f"train: {self.name} ended with {self.process.returncode}; see {self.out}/log.txt")

    def curve(self):
        """Whole lines, in the order in which they were written."""
        path = self.out / "curve.jsonl"
        return [json.loads(line) for line in path.read_text().split("\n")[:-1]] if path.exists() else []

    def kill_at(self, step):
        deadline = time.monotonic() + 1200
        while not (self.curve() and self.curve()[-1]["step"] >= step):
            if self.process.poll() is not None or time.monotonic() > deadline:
                sys.exit(f"train: {self.name} did not come to step {step}; see {self.out}/log.txt")
            time.sleep(0.05)
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        path = self.out / "curve.jsonl"
        path.write_text(path.read_text()[:path.read_text().rfind("\n") + 1])  # half a line is none


def riffle_command(a, *words, **more):
    done = subprocess.run([a.riffle, *map(str, words)], **more)
    if done.returncode != 0:
        sys.exit(f"train: riffle {' '.join(map(str, words))}: exit {done.returncode}")
    return done


def compare(calm, stormy, steps):
    """Problems, and how many steps were computed twice."""
    expected = {e["step"]: e for e in calm.curve()}
    problems = [] if sorted(expected) == list(range(steps)) else ["the undisturbed run lacks steps"]
    seen = [e["step"] for e in stormy.curve()]
    if sorted(set(seen)) != list(range(steps)):
        problems.append("the resumed run lacks steps")
    for e in stormy.curve():
        if e != expected.get(e["step"]):
            problems.append(f"step {e['step']} differs: {e['loss']} and {expected[e['step']]['loss']}")
    return problems, len(seen) - len(set(seen))


def train(a):
    """The three runs; returns them with what was found."""
    began = time.monotonic()
    steps, half = a.steps, a.steps // 2 + CHECKPOINT_EVERY // 2
    corpus = f"train{int(time.time())}"
    phase = {"name": "anneal", "start_step": steps * 2 // 3, "weights": ANNEAL, "lr_scale": 0.3}
    mix = f"{corpus}-mix"
    config = configure(a.out, corpus, mix, a.bootstrap, phases=[phase], runs=["calm", "stormy"])
    riffle_command(a, "topics", "-c", config, "--create", stdout=subprocess.DEVNULL)
    mixer = None
    try:
        riffle_command(a, "produce", "-c", config, stderr=open(a.out / "produce.log", "w"))
        mixer = subprocess.Popen([a.riffle, "mix", "-c", config, "--until-step", str(steps)],
                                 stderr=open(a.out / "mix.log", "w"))
        say(f"{steps} steps of {BATCH} x {LENGTH} tokens, undisturbed and with a kill, side by side")
        calm, stormy = Run(a, "calm", mix, steps), Run(a, "stormy", mix, steps)
        calm.start()
        stormy.start()
        stormy.kill_at(half)
        killed = stormy.curve()[-1]["step"]
        control = Run(a, "control", mix, min(steps, killed + 10))
        shutil.copy(stormy.out / "checkpoint.pt", control.out)
        say(f"killed by SIGKILL after step {killed}; resuming from the checkpoint, and a control that skips a step")
        stormy.start()
        control.start("--skip", 1)
        for run in (calm, stormy, control):
            run.finish()
        status = riffle_command(a, "status", "-c", config, capture_output=True, text=True).stdout
        (a.out / "status.txt").write_text(status)
        if mixer.wait() != 0:
            sys.exit(f"train: the mixer ended with {mixer.returncode}; see {a.out}/mix.log")
    finally:
        if mixer is not None and mixer.poll() is None:
            mixer.terminate()
            mixer.wait()
        subprocess.run([a.riffle, "topics", "-c", config, "--delete", "--yes"], capture_output=True)
    problems, twice = compare(calm, stormy, steps)
    expected = {e["step"]: e["loss"] for e in calm.curve()}
    different = [e["step"] for e in control.curve() if e["loss"] != expected[e["step"]]]
    if len(different) < len(control.curve()) or not different:
        problems.append(f"the control skipped a step and {len(control.curve()) - len(different)} losses are equal")
    picture = save_picture(a.out / "train.png", draw, calm, killed, phase["start_step"])
    print(status)
    for problem in problems[:10]:
        print(f"WRONG: {problem}")
    if not problems:
        first, last = (float.fromhex(calm.curve()[i]["loss"]) for i in (0, -1))
        say(f"{steps} losses from {first:.3f} to {last:.3f}; those of the run that was killed after step {killed} are "
            f"the same doubles, {twice} steps computed twice included;\ntrain: skipping one step changed all "
            f"{len(different)} losses of the control; {picture}; took "
            f"{time.monotonic() - began:.0f} s")
    return problems


def train_chats(a):
    """One run on the chats; returns problems, as train()."""
    corpus = f"chat{int(time.time())}"
    mix = f"{corpus}-mix"
    config = configure_chats(a.out, corpus, mix, a.bootstrap)
    riffle_command(a, "topics", "-c", config, "--create", stdout=subprocess.DEVNULL)
    try:
        riffle_command(a, "import", "-c", config, stderr=open(a.out / "import.log", "w"))
        run = Run(a, "trainers", mix, a.steps)
        run.start("--tokenizer", a.out / "tokenizer")
        riffle_command(a, "mix", "-c", config, "--until-step", str(a.steps), stderr=open(a.out / "mix.log", "w"))
        run.finish()
    finally:
        subprocess.run([a.riffle, "topics", "-c", config, "--delete", "--yes"], capture_output=True)
    first, last = (float.fromhex(run.curve()[i]["loss"]) for i in (0, -1))
    say(f"{a.steps} steps of {BATCH} x {LENGTH} tokens: loss of the answers alone from {first:.3f} to {last:.3f};\n"
        f"train: the targets of the first sequence, of several chats: {run.curve()[0]['targets'][0]}")
    return [] if last < first else ["the loss did not fall"]


def smooth(values, width=15):
    return [sum(values[max(0, i - width + 1):i + 1]) / len(values[max(0, i - width + 1):i + 1])
            for i in range(len(values))]


def save_picture(path, draw, *words):
    """Saves the figure that draw(pyplot, *words) makes. Returns what to print about it."""
    try:
        import matplotlib
    except ImportError:
        return "no picture, because matplotlib is missing (pip install matplotlib)"
    matplotlib.use("Agg")
    from matplotlib import pyplot

    draw(pyplot, *words).savefig(path, dpi=110)
    return f"picture: {path}"


def draw(pyplot, run, killed, phase_step):
    curve = run.curve()
    steps = [e["step"] for e in curve]
    figure, (top, bottom) = pyplot.subplots(2, 1, sharex=True, figsize=(9, 7))
    for domain in sorted(WEIGHTS):
        known = [(e["step"], e["domains"][domain][0]) for e in curve if domain in e["domains"]]
        top.plot([s for s, _ in known], smooth([v for _, v in known]), label=domain)
        counts = [e["domains"].get(domain, [0, 0])[1] / BATCH for e in curve]
        line, = bottom.plot(steps, smooth(counts), label=domain)
        bottom.step([0, phase_step, steps[-1]], [WEIGHTS[domain], ANNEAL[domain], ANNEAL[domain]], where="post",
                    color=line.get_color(), alpha=0.3)
    for axes in (top, bottom):
        axes.axvline(killed, color="grey", linestyle=":", label="killed and resumed")
        axes.axvline(phase_step, color="black", linestyle="--", label="phase anneal")
    top.set_ylabel("loss, nats a token (mean of 15 steps)")
    top.legend(fontsize="small")
    bottom.set_ylabel("share of the batch (pale: weight)")
    bottom.set_xlabel("step")
    figure.tight_layout()
    return figure


def parse(argv=None):
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--steps", type=int, default=300)
    p.add_argument("--out", type=pathlib.Path, default=BUILD / "train")
    p.add_argument("--riffle", type=pathlib.Path, default=BUILD / "riffle")
    p.add_argument("--bootstrap", default=os.environ.get("RIFFLE_BOOTSTRAP"))
    p.add_argument("--tensorboard", type=pathlib.Path, metavar="FOLDER",
                   help="losses and shares of each run as event files below FOLDER (writers.py; needs tensorboard)")
    p.add_argument("--chat", action="store_true", help="learn the answers of chats, by a chat template and a loss mask")
    p.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    p.add_argument("--mix", help=argparse.SUPPRESS)
    p.add_argument("--run", help=argparse.SUPPRESS)
    p.add_argument("--tokenizer", type=pathlib.Path, help=argparse.SUPPRESS)
    p.add_argument("--skip", type=int, default=0, help=argparse.SUPPRESS)
    return p.parse_args(argv)


def with_broker(a, body, prepare=prepare):
    """body(a), with a broker that is started where none is named, and stopped if it was."""
    kafka, started = ROOT / "scripts/kafka", False
    if a.bootstrap is None:
        started = subprocess.run([kafka, "status"], capture_output=True).returncode != 0
        a.bootstrap = subprocess.run([kafka, "up"], capture_output=True, text=True, check=True).stdout.strip()
    try:
        a.out.mkdir(parents=True, exist_ok=True)
        prepare(a.out)
        return body(a)
    finally:
        if started:
            subprocess.run([kafka, "down", "--yes"])


def main():
    a = parse()
    if a.worker:
        return worker(a)
    if a.steps < 3 * CHECKPOINT_EVERY:
        sys.exit(f"train: --steps: at least {3 * CHECKPOINT_EVERY}")
    sys.exit(1 if (with_broker(a, train_chats, chats) if a.chat else with_broker(a, train)) else 0)


if __name__ == "__main__":
    main()
