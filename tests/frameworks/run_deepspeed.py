"""examples/frameworks/train_deepspeed.py with what a test must see: FOLDER MIX BOOTSTRAP STEPS."""

import sys

import job
import riffle.torch

sys.path.append(sys.argv[1])
import train_deepspeed  # noqa: E402


class Seen(riffle.torch.Dataset):
    def __iter__(self):
        for item in job.timed(super().__iter__()):
            job.saw(item["step"], item["input_ids"], item["labels"], item["position_ids"], item["document_ids"])
            yield item

    def trained(self, step, losses):
        super().trained(step, losses)
        job.trained(step, sum(loss for loss, _, _ in losses.values()))


riffle.torch.Dataset = Seen
train_deepspeed.main(*sys.argv[2:], run=job.folder().name)
