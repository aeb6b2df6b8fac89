"""A mix in DeepSpeed: [torchrun --nproc-per-node 2] train_deepspeed.py MIX BOOTSTRAP [STEPS]. Continues from its checkpoint."""
import sys

import deepspeed
import torch
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader

from riffle.integrations.dataset import RankDataset
from riffle.torch import LrScale

CONFIG = {"train_batch_size": 16, "train_micro_batch_size_per_gpu": 4, "zero_optimization": {"stage": 1},
          "optimizer": {"type": "AdamW", "params": {"lr": 1e-3, "torch_adam": True}}}  # train_batch_size is the mix's global_batch


def main(mix, bootstrap, steps=24, run="trainers", data=RankDataset):
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Embedding(512, 32), torch.nn.Linear(32, 512))
    engine, *_ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config=CONFIG)
    dataset = data(mix, bootstrap, run=run, micro_batch=4, until=int(steps), timeout=120)
    path, state = engine.load_checkpoint("checkpoints")
    if path is not None:
        dataset.load_state_dict(state["riffle"])
    scale = LrScale(engine.optimizer)
    for item in DataLoader(dataset, batch_size=None):
        labels = item["labels"]  # -100: no loss
        losses = cross_entropy(engine(item["input_ids"]).flatten(0, 1), labels.flatten(), reduction="none").view_as(labels)
        dataset.add(losses, item["domains"], labels != -100)
        scale.factor, last = item["lr_scale"], engine.is_gradient_accumulation_boundary()
        engine.backward(losses.sum() / (labels != -100).sum().clamp(min=1))
        engine.step()
        if last:
            dataset.trained(item["step"])
            if (item["step"] + 1) % 4 == 0:
                engine.save_checkpoint("checkpoints", client_state={"riffle": dataset.state_dict()})
    dataset.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
