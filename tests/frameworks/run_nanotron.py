"""Nanotron's loop around riffle's DataLoader, with its own metadata as the checkpoint, and no model: MIX BOOTSTRAP STEPS."""

import os
import sys

import nanotron_tree
nanotron_tree.use()

import torch  # noqa: E402
from nanotron.serialize.metadata import load_meta, save_meta  # noqa: E402

import job  # noqa: E402
from riffle.integrations.nanotron import DataLoader  # noqa: E402

mix, bootstrap, steps = sys.argv[1:]
for name, value in (("RANK", "0"), ("WORLD_SIZE", "1")):
    os.environ.setdefault(name, value)
torch.distributed.init_process_group("gloo")
world = torch.distributed.group.WORLD
checkpoint = job.folder() / "checkpoint"
trainer = nanotron_tree.trainer_of(dp=world)
if checkpoint.exists():
    trainer.metadata = load_meta(trainer.parallel_context, checkpoint).metas
loader = DataLoader(trainer, mix, bootstrap, run=job.folder().name, timeout=120)
items = iter(job.timed(loader))
for step in range(trainer.metadata.last_train_step, int(steps)):
    for _ in range(trainer.n_micro_batches_per_batch):
        item = next(items)
        job.saw(step, item["input_ids"], item["position_ids"], item["label_ids"], item["label_mask"])
    nanotron_tree.behind_step(trainer, loader)
    job.trained(step)
    if (step + 1) % 4 == 0:
        torch.distributed.barrier()
        save_meta(trainer.parallel_context, checkpoint, trainer.metadata)
        torch.distributed.barrier()
loader.close()
