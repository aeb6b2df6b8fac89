"""A mix in Lightning: python train_lightning.py MIX BOOTSTRAP [STEPS]. A run that was killed continues where its checkpoint is."""

import sys

import pytorch_lightning as pl
import torch
from pytorch_lightning.callbacks import ModelCheckpoint

from riffle.integrations.lightning import DataModule


class Model(pl.LightningModule):
    def __init__(self, vocabulary=512, width=32):
        super().__init__()
        torch.manual_seed(1)
        self.model = torch.nn.Sequential(torch.nn.Embedding(vocabulary, width), torch.nn.Linear(width, vocabulary))

    def training_step(self, item, number):
        logits = self.model(item["input_ids"])
        losses = torch.nn.functional.cross_entropy(logits.flatten(0, 1), item["labels"].flatten(), reduction="none")
        self.trainer.datamodule.losses(item, losses.view_as(item["labels"]))
        return losses.sum() / (item["labels"] != -100).sum()

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-3)


def main(mix, bootstrap, steps=24, model=Model, data=DataModule, **more):
    torch.use_deterministic_algorithms(True)
    trainer = pl.Trainer(max_steps=int(steps), accelerator="cpu", accumulate_grad_batches=2, logger=False, **{
        "enable_progress_bar": False, "callbacks": [ModelCheckpoint("checkpoints", save_last=True, every_n_train_steps=4)], **more})
    ranks = trainer.world_size
    trainer.fit(model(), data(mix, bootstrap, micro_batch=8 // ranks), ckpt_path="last")
    return trainer


if __name__ == "__main__":
    main(*sys.argv[1:])
