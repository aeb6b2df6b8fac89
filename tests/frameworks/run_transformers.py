"""examples/frameworks/train_transformers.py, or train_trl.py, with what a test must see: FOLDER EXAMPLE MIX BOOTSTRAP STEPS."""

import importlib
import sys

from transformers import TrainerCallback

import job

folder, name, mix, bootstrap, steps = sys.argv[1:]
sys.path.append(folder)
example = importlib.import_module(name)


class Trained(TrainerCallback):
    def __init__(self, trainer):
        self.trainer = trainer

    def on_train_begin(self, args, state, control, optimizer=None, **more):
        job.follow_rate(optimizer.optimizer)

    def on_step_end(self, args, state, control, optimizer=None, **more):
        about = self.trainer.riffle_step
        job.trained(about["step"], self.trainer.loss, phase=about["phase"])


class Seen(example.Trainer):
    def __init__(self, *words, **more):
        super().__init__(*words, **more)
        self.add_callback(Trained(self))

    def get_train_dataloader(self):
        return job.timed(super().get_train_dataloader())

    def training_step(self, model, inputs, *words, **more):
        self.loss = super().training_step(model, inputs, *words, **more)
        return self.loss

    def compute_loss(self, model, inputs, *words, **more):
        job.saw(inputs["riffle"]["step"], inputs["input_ids"], inputs["shift_labels"], inputs["position_ids"])
        return super().compute_loss(model, inputs, *words, **more)


example.main(mix, bootstrap, steps, Seen, job.folder().name)
