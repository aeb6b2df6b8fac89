"""A mix in Composer: [composer -n 2] train_composer.py MIX BOOTSTRAP [STEPS]. A killed run continues from its checkpoint."""
import sys

import torch
from composer import Callback, ComposerModel, DataSpec, Trainer
from composer.utils import dist

import riffle.torch
from riffle.integrations.dataset import RankDataset

class Model(ComposerModel):
    def __init__(self, data):
        super().__init__()
        self.data, self.layers = data, torch.nn.Sequential(torch.nn.Embedding(512, 32), torch.nn.Linear(32, 512))

    def forward(self, batch):
        return self.layers(batch["input_ids"])

    def loss(self, outputs, batch):
        losses = torch.nn.functional.cross_entropy(outputs.transpose(1, 2), batch["labels"], reduction="none")
        self.data.add(losses, batch["domains"], batch["labels"] != -100)  # for the means by domain
        return losses.sum() / (batch["labels"] != -100).sum().clamp(min=1)

class Follow(Callback):
    def batch_start(self, state, logger):
        self.scale = getattr(self, "scale", None) or riffle.torch.LrScale(state.optimizers[0])
        self.scale.factor, self.step = state.batch["lr_scale"], state.batch["step"]

    def batch_end(self, state, logger):
        state.dataloader.dataset.trained(self.step)  # commits

def main(mix, bootstrap, steps=24, run="trainers", model=Model, follow=Follow):
    torch.manual_seed(1)
    dist.initialize_dist("cpu")  # before the data set, which has its rank and world from it; an item is a rank's whole step
    data = RankDataset(mix, bootstrap, run=run, timeout=120, until=int(steps))
    spec = DataSpec(torch.utils.data.DataLoader(data, batch_size=None), get_num_samples_in_batch=lambda item: len(item["input_ids"]))
    Trainer(model=model(data), train_dataloader=spec, max_duration=f"{steps}ba", device="cpu", device_train_microbatch_size=4,
            callbacks=[follow()], run_name=run, save_folder="checkpoints", save_interval="4ba", autoresume=True).fit()
if __name__ == "__main__":
    main(*sys.argv[1:])
