"""examples/frameworks/train_composer.py with what a test must see: FOLDER MIX BOOTSTRAP STEPS."""

import sys

import job
import riffle.torch
from riffle.integrations.dataset import RankDataset

sys.path.append(sys.argv[1])
import train_composer  # noqa: E402


class Model(train_composer.Model):
    def forward(self, batch):
        job.saw(batch["step"], batch["input_ids"], batch["labels"], batch["position_ids"], batch["document_ids"])
        return super().forward(batch)


class Scale(riffle.torch.LrScale):
    def __init__(self, optimizer):
        super().__init__(optimizer)
        job.follow_rate(self.optimizer)


class Timed(RankDataset):
    def __iter__(self):
        return iter(job.timed(super().__iter__()))


class Follow(train_composer.Follow):
    def batch_end(self, state, logger):
        super().batch_end(state, logger)
        job.trained(int(state.timestamp.batch) - 1, state.total_loss_dict["loss/train/total"])


train_composer.RankDataset, riffle.torch.LrScale = Timed, Scale
train_composer.main(*sys.argv[2:], run=job.folder().name, model=Model, follow=Follow)
