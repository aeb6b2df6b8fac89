"""KempnerForge's scripts/train.py with the branch that docs/TRAINERS.md shows, on a CPU: FOLDER MIX STEPS.

FOLDER is its source. Its two calls of CUDA for one process are replaced; whatever else a CPU lacks, it does without.
"""

import pathlib
import re
import sys

import torch

import job

folder, mix, steps = sys.argv[1:]
sys.path.insert(0, folder)
torch.set_num_threads(1)
torch.use_deterministic_algorithms(True)
torch.cuda.set_device = lambda device: None

source = (pathlib.Path(folder) / "scripts/train.py").read_text()
docs = (pathlib.Path(__file__).parents[2] / "docs/TRAINERS.md").read_text()
branches = re.findall(r"```python\n# scripts/train\.py, (in front of|behind) `([^`\n]*)`:\n(.*?)```", docs, re.S)
assert len(branches) == 3
for side, line, branch in branches:
    line += "\n"
    assert source.count(line) == 1, f"scripts/train.py has no line of its own {line!r}"
    source = source.replace(line, branch + line if side == "in front of" else line + branch)

from kempnerforge.model.transformer import Transformer  # noqa: E402
from riffle.integrations.loader import RankLoader  # noqa: E402

items, trained = RankLoader.__iter__, RankLoader.trained


class Items:
    def __init__(self, loader):
        self.loader = loader

    def __iter__(self):
        return items(self.loader)


def seen(loader):
    job.follow_rate(loader._scales[0].optimizer)
    for batch in job.timed(Items(loader)):
        job.saw(loader.step, batch["input_ids"], batch["labels"], batch["doc_ids"])
        yield batch


def told(loader):
    loss = sum(total[0] for total in loader.dataset._sums.values())
    trained(loader)
    job.trained(loader.step, loss)


forward = Transformer.forward
compared = []


def watched(model, *words, **more):
    """The first logits are compared with those of a model that sees no documents."""
    logits = forward(model, *words, **more)
    if not compared:
        with torch.no_grad():
            compared.append((logits - forward(model, *words, **{**more, "doc_ids": None})).abs().max().item())
        print("masks change logits by", compared[0], flush=True)
    return logits


RankLoader.__iter__, RankLoader.trained, Transformer.forward = seen, told, watched
(job.folder() / "config.toml").write_text(f"""
[model]
dim = 32
n_layers = 2
n_heads = 2
n_kv_heads = 2
vocab_size = 512
max_seq_len = 64
[train]
batch_size = 4
seq_len = 64
max_steps = {steps}
grad_accum_steps = 4
mixed_precision = "fp32"
compile_model = false
[optimizer]
lr = 1e-3
[scheduler]
warmup_steps = 4
[data]
dataset_path = "riffle:{mix}/{job.folder().name}"
[checkpoint]
dir = "checkpoints"
interval = 4
[metrics]
enable_wandb = false
enable_tensorboard = false
""")
sys.argv = ["train.py", str(job.folder() / "config.toml")]
exec(compile(source, "scripts/train.py", "exec"), {"__name__": "__main__"})
