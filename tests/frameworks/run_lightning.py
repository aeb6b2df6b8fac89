"""examples/frameworks/train_lightning.py with what a test must see: MIX BOOTSTRAP STEPS RANKS RUN."""

import importlib.util
import sys

import pytorch_lightning as pl

import job
from riffle.integrations.lightning import DataModule

examples, mix, bootstrap, steps, ranks = sys.argv[1:]
spec = importlib.util.spec_from_file_location("example", f"{examples}/train_lightning.py")
example = importlib.util.module_from_spec(spec)
spec.loader.exec_module(example)


class Model(example.Model):
    def training_step(self, item, number):
        job.saw(item["step"], item["input_ids"], item["labels"], item["position_ids"], item["document_ids"])
        self.loss = super().training_step(item, number)
        return self.loss

    def on_train_start(self):
        job.follow_rate(self.trainer.optimizers[0])
        self.before = self.trainer.global_step

    def on_train_batch_end(self, outputs, item, number):
        if self.trainer.global_step > self.before:
            job.trained(item["step"], self.loss.detach())
        self.before = self.trainer.global_step


class Data(DataModule):
    def __init__(self, *words, **options):
        super().__init__(*words, **options, run=job.folder().name, timeout=120)

    def train_dataloader(self):
        return job.timed(super().train_dataloader())


example.main(mix, bootstrap, steps, Model, Data, devices=int(ranks), strategy="ddp" if int(ranks) > 1 else "auto")
