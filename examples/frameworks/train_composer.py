"""A mix in Composer: train_composer.py MIX BOOTSTRAP [STEPS]. A run that was killed continues from its last checkpoint."""
import sys

import torch
from composer import Callback, ComposerModel, DataSpec, Trainer

import riffle.torch


class Model(ComposerModel):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Embedding(512, 32), torch.nn.Linear(32, 512))

    def forward(self, batch):
        return self.layers(batch["input_ids"])

    def loss(self, outputs, batch):
        return torch.nn.functional.cross_entropy(outputs.flatten(0, 1), batch["labels"].flatten())


class Follow(Callback):
    def batch_start(self, state, logger):
        self.scale = getattr(self, "scale", None) or riffle.torch.LrScale(state.optimizers[0])
        self.scale.factor = state.batch["lr_scale"]

    def batch_end(self, state, logger):
        state.dataloader.dataset.trained(int(state.timestamp.batch) - 1)


def main(mix, bootstrap, steps=24, run="trainers", model=Model, follow=Follow):
    torch.manual_seed(1)
    data = riffle.torch.Dataset(mix, bootstrap, run=run, timeout=120, until=int(steps))  # an item is a rank's whole step
    spec = DataSpec(torch.utils.data.DataLoader(data, batch_size=None), get_num_samples_in_batch=lambda item: len(item["input_ids"]))
    Trainer(model=model(), train_dataloader=spec, max_duration=f"{steps}ba", device="cpu", device_train_microbatch_size=4,
            callbacks=[follow()], run_name=run, save_folder="checkpoints", save_interval="4ba", autoresume=True).fit()


if __name__ == "__main__":
    main(*sys.argv[1:])
