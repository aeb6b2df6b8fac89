"""Lightning fetches an item ahead where there is no length: a run that is stopped and resumed trains every step once, with
the losses of one that was left alone."""

import importlib
import os
import subprocess
import warnings

import pytest
import pytorch_lightning as pl
import torch
from torch.utils.data import DataLoader
from torchdata.stateful_dataloader import StatefulDataLoader

LANES, STEPS, HALF, VOCABULARY = 8, 12, 5, 50257


class Model(pl.LightningModule):
    """Losses that depend on every step before, in order."""

    def __init__(self, dataset, tells):
        super().__init__()
        torch.manual_seed(1)
        self.layer, self.dataset, self.tells = torch.nn.Linear(8, 1).double(), dataset, tells
        self.losses = {}

    def training_step(self, item, number):
        loss = (self.layer(item["input_ids"][:, :8].double() / VOCABULARY) - item["labels"][:, :1] / VOCABULARY).square().mean()
        self.losses[int(item["step"])] = loss.item().hex()
        return loss

    def on_train_batch_end(self, outputs, item, number):
        if self.tells:
            self.dataset.trained(int(item["step"]))

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=0.1)

    def on_save_checkpoint(self, checkpoint):
        checkpoint["riffle"] = self.dataset.state_dict() if self.tells else self.dataset.state_dict(
            step=self.trainer.global_step)

    def on_load_checkpoint(self, checkpoint):
        self.dataset.load_state_dict(checkpoint["riffle"])


@pytest.fixture
def fit(package, unique, tools, bootstrap, tmp_path):
    """fit(run, steps, workers, kind, tells, checkpoint) -> the losses by step, and the checkpoint."""
    assert package.riffle
    riffle_torch = importlib.import_module("riffle.torch")
    subprocess.run([tools / "fill_batches", "--mix", unique, "--lanes", str(LANES), "--steps", "40", "--end"], check=True,
                   env={**os.environ, "RIFFLE_BOOTSTRAP": bootstrap})

    def run(name, steps, workers, kind=DataLoader, tells=True, checkpoint=None):
        dataset = riffle_torch.Dataset(unique, bootstrap, run=name, timeout=60)
        model = Model(dataset, tells)
        trainer = pl.Trainer(max_steps=steps, accelerator="cpu", logger=False, enable_progress_bar=False,
                             enable_checkpointing=False, enable_model_summary=False, default_root_dir=tmp_path)
        trainer.fit(model, kind(dataset, batch_size=None, num_workers=workers), ckpt_path=checkpoint, weights_only=False)
        path = tmp_path / f"{name}-{steps}.ckpt"
        trainer.save_checkpoint(path)
        dataset.close()
        return model.losses, path, package.riffle.committed_step(unique, bootstrap, run=name)
    return run


@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize("tells", [True, False])
def test_a_run_that_was_stopped_trains_each_step_once_with_the_same_losses(fit, workers, tells):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole, _, committed = fit("calm", STEPS, workers, tells=tells)
        assert list(whole) == list(range(STEPS)) and committed == (STEPS if tells else 0)
        first, path, committed = fit("stopped", HALF, workers, tells=tells)
        assert committed == (HALF if tells else 0)  # though step HALF was fetched
        assert torch.load(path, weights_only=False)["riffle"]["step"] == HALF
        rest, _, _ = fit("stopped", STEPS, workers, tells=tells, checkpoint=path)
    assert list(first) == list(range(HALF)) and list(rest) == list(range(HALF, STEPS))
    assert {**first, **rest} == whole


def test_a_stateful_loader_that_reads_in_this_process_saves_what_was_trained(fit):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole, _, _ = fit("calm", STEPS, 0)
        first, path, _ = fit("stopped", HALF, 0, StatefulDataLoader)
        rest, _, _ = fit("stopped", STEPS, 0, StatefulDataLoader, checkpoint=path)
    assert {**first, **rest} == whole and len(first) + len(rest) == STEPS
