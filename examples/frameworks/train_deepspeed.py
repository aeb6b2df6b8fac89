"""A mix in DeepSpeed: [torchrun --nproc-per-node 2] train_deepspeed.py MIX BOOTSTRAP [STEPS]. Continues from its checkpoint."""
import sys

import deepspeed
import torch
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader

import riffle.torch

CONFIG = {"train_batch_size": 16, "train_micro_batch_size_per_gpu": 4, "zero_optimization": {"stage": 1},
          "optimizer": {"type": "AdamW", "params": {"lr": 1e-3, "torch_adam": True}}}  # train_batch_size is the mix's global_batch


def main(mix, bootstrap, steps=24, run="trainers"):
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Embedding(512, 32), torch.nn.Linear(32, 512))
    engine, *_ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config=CONFIG)
    dataset = riffle.torch.Dataset(mix, bootstrap, run=run, micro_batch=4, until=int(steps), timeout=120)
    path, state = engine.load_checkpoint("checkpoints")
    if path is not None:
        dataset.load_state_dict(state["riffle"])
    scale, sums = riffle.torch.LrScale(engine.optimizer), {}
    for item in DataLoader(dataset, batch_size=None):
        losses = cross_entropy(engine(item["input_ids"]).flatten(0, 1), item["labels"].flatten(), reduction="none")
        for domain, (loss, _, n) in riffle.domain_sums(losses.view_as(item["labels"]), item["domains"]).items():
            sums[domain] = (sums.get(domain, (0,))[0] + loss, 0.0, sums.get(domain, (0, 0, 0))[2] + n)
        scale.factor, last = item["lr_scale"], engine.is_gradient_accumulation_boundary()
        engine.backward(losses.mean())
        engine.step()
        if last:
            dataset.trained(item["step"], sums)
            sums = {}
            if (item["step"] + 1) % 4 == 0:
                engine.save_checkpoint("checkpoints", client_state={"riffle": dataset.state_dict()})
    dataset.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
