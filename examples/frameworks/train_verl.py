"""What verl's RL trainers do with data, and a loop in their place: train_verl.py MIX BOOTSTRAP STEPS. The trainers themselves need
GPUs, and this configuration: trainer.total_epochs=1 data.custom_cls.path=pkg://riffle.integrations.verl data.custom_cls.name=RLDataset
data.train_files=riffle:MIX data.shuffle=false data.train_batch_size=16 +data.riffle.bootstrap=HOST +data.riffle.steps=1000"""

import os
import pathlib
import sys

import torch
from omegaconf import OmegaConf
from torchdata.stateful_dataloader import StatefulDataLoader
from verl import DataProto
from verl.trainer.ppo.utils import create_rl_dataset, create_rl_sampler
from verl.utils.dataset.rl_dataset import collate_fn


def main(mix, bootstrap, steps, timed=iter, saw=print, **riffle):
    config = OmegaConf.create({
        "custom_cls": {"path": "pkg://riffle.integrations.verl", "name": "RLDataset"}, "shuffle": False, "train_batch_size": 16,
        "riffle": {"bootstrap": bootstrap, "steps": int(steps), **riffle}})
    data = create_rl_dataset(f"riffle:{mix}", config, None, None)
    loader = StatefulDataLoader(dataset=data, batch_size=16, num_workers=1, drop_last=True, collate_fn=collate_fn,
                                sampler=create_rl_sampler(config, data))
    saved = pathlib.Path("data.pt")  # as verl names it, in its checkpoint's folder
    if saved.exists():
        loader.load_state_dict(torch.load(saved, weights_only=False))
    for batch in timed(loader):
        batch = DataProto.from_single_dict(batch)
        saw(batch.non_tensor_batch)
        data.on_batch_end(batch)  # as the trainer does; commits
        if batch.non_tensor_batch["extra_info"][0]["step"] % 4 == 3:
            torch.save(loader.state_dict(), "part")
            os.replace("part", saved)
    data.flush()
    data.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
