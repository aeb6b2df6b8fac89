"""examples/frameworks/train_deepspeed.py with what a test must see: FOLDER MIX BOOTSTRAP STEPS."""

import sys

import job
from riffle.integrations.dataset import RankDataset
from riffle.torch import LrScale

sys.path.append(sys.argv[1])
import train_deepspeed  # noqa: E402


class Seen(RankDataset):
    def __iter__(self):
        for item in job.timed(super().__iter__()):
            job.saw(item["step"], item["input_ids"], item["labels"], item["position_ids"], item["document_ids"])
            yield item

    def trained(self, step):
        loss = sum(loss for loss, _, _ in self._sums.values())
        super().trained(step)
        job.trained(step, loss)


class Scale(LrScale):
    def __init__(self, optimizer):
        super().__init__(optimizer)
        job.follow_rate(self.optimizer)


train_deepspeed.LrScale = Scale
train_deepspeed.main(*sys.argv[2:], run=job.folder().name, data=Seen)
