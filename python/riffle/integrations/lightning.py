"""riffle in Lightning: a DataModule whose loader gives the steps of a mix, and which knows what was trained.

    data = riffle.integrations.lightning.DataModule("pretrain", "kafka:9092", micro_batch=4)
    trainer = Trainer(max_steps=10000, accumulate_grad_batches=2)
    trainer.fit(model, data, ckpt_path="last")

An item is a micro-batch as :func:`riffle.torch.batch_of` says, and an optimiser step is a step of the mix: micro_batch x
accumulate_grad_batches x data-parallel ranks is the mix's global_batch, and where it is not, training stops at the first step.
"""

from __future__ import annotations

import sys
from typing import Any, Dict, List, Mapping, Optional

from .._optional import needs

with needs(__name__):
    import torch
    from torch.utils.data import DataLoader

from ..errors import UsageError
from ..torch import LrScale
from .dataset import RankDataset, refuse

# The two packages have classes of their own, which do not mix: that of the program is taken.
with needs(__name__, "pytorch-lightning"):
    if "pytorch_lightning" in sys.modules and "lightning.pytorch" not in sys.modules:
        import pytorch_lightning as pl
    else:
        try:
            import lightning.pytorch as pl
        except ImportError:
            import pytorch_lightning as pl

__all__ = ["DataModule"]


class DataModule(pl.LightningDataModule):
    """The steps of a mix for Trainer.fit().

    mix, bootstrap, micro_batch and `options` are as of :class:`RankDataset`; rank and world are of the strategy's
    data-parallel group. num_workers: 1 prepares items in a process of its own. lr_scale: the learning rates of a step are
    multiplied by what its phase says, inside of the optimiser's step alone.

    Its state, part of each checkpoint, is the step that comes next, at any number of ranks. For losses by domain, in
    training_step(): `self.trainer.datamodule.losses(item, losses)`, with the losses of the tokens, [n, S].
    """

    def __init__(self, mix: str, bootstrap: Optional[str] = None, *, micro_batch: Optional[int] = None, num_workers: int = 0,
                 lr_scale: bool = True, **options: Any):
        super().__init__()
        refuse(options, "that of Lightning's strategy", ("rank", "world"))
        self.mix, self.bootstrap = mix, bootstrap
        self.micro_batch, self.num_workers, self.lr_scale, self.options = micro_batch, num_workers, lr_scale, options
        self.dataset: Optional[RankDataset] = None
        self._follows: Optional[_Follow] = None
        self._first: Optional[int] = None  # the mix's step minus the trainer's

    # ---- what Lightning calls ----

    def setup(self, stage: str) -> None:
        if stage != "fit" or self.dataset is not None:
            return
        for callback in self.trainer.callbacks:
            if type(callback).__name__ in ("GradientAccumulationScheduler", "BatchSizeFinder"):
                raise UsageError(f"{type(callback).__name__} changes the batch, and a step of mix {self.mix} is one optimiser "
                                 "step: leave it out. A mix changes its own with phases: [{global_batch: ...}]")
        group = self.trainer.distributed_sampler_kwargs or {"rank": 0, "num_replicas": 1}
        mesh = getattr(self.trainer.strategy, "device_mesh", None)
        self.dataset = RankDataset(
            self.mix, self.bootstrap, rank=group["rank"], world=group["num_replicas"], micro_batch=self.micro_batch,
            commits=mesh is None or mesh["tensor_parallel"].get_local_rank() == 0, **self.options)
        self._follows = _Follow(self)
        self.trainer.callbacks.insert(0, self._follows)  # before those that save

    def train_dataloader(self) -> DataLoader:
        if self.trainer.max_steps > 0:  # Lightning fetches one ahead
            self.dataset.until = self.dataset._step_of_state() + self.trainer.max_steps - self.trainer.global_step
        return DataLoader(self.dataset, batch_size=None, num_workers=self.num_workers)

    def teardown(self, stage: str) -> None:
        if self.dataset is not None and stage == "fit":
            self.dataset.close()
            self.trainer.callbacks.remove(self._follows)
            self.dataset = self._follows = self._first = None

    def state_dict(self) -> Dict[str, Any]:
        if self.dataset is None:
            return {}
        if self._first is None:  # nothing was trained
            return self.dataset.state_dict()
        return self.dataset.state_dict(step=self.trainer.global_step + self._first)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        if self.dataset is not None and state:
            self.dataset.load_state_dict(state)

    # ---- what training says ----

    def losses(self, item: Mapping[str, Any], losses: torch.Tensor) -> None:
        """The losses of the tokens of a micro-batch, [n, S]; `riffle status` has their means by domain."""
        self.dataset.add(losses, item["domains"], item["labels"] != -100)


class _Follow(pl.Callback):
    """Follows the optimiser's steps."""

    def __init__(self, data: DataModule):
        self.data = data
        self._scales: List[LrScale] = []

    def on_train_start(self, trainer: Any, module: Any) -> None:
        if self.data.lr_scale:
            self._scales = [LrScale(optimizer) for optimizer in trainer.optimizers]

    def on_train_batch_start(self, trainer: Any, module: Any, item: Mapping[str, Any], number: int) -> None:
        data, step = self.data, int(item["step"])
        if data._first is None:
            data._first = step - trainer.global_step
        if step != trainer.global_step + data._first:
            raise UsageError(
                f"step {step} of mix {data.mix} comes where the optimiser's step is {trainer.global_step + data._first}: "
                f"micro_batch ({len(item['input_ids'])}) x accumulate_grad_batches ({trainer.accumulate_grad_batches}) x "
                f"data-parallel ranks ({data.dataset.world}) must be the global_batch of the mix")
        self._before = trainer.global_step
        for scale in self._scales:
            scale.factor = item["lr_scale"]

    def on_train_batch_end(self, trainer: Any, module: Any, outputs: Any, item: Mapping[str, Any], number: int) -> None:
        if trainer.global_step == self._before:
            return
        self.data.dataset.trained(int(item["step"]))

    def on_train_end(self, trainer: Any, module: Any) -> None:
        for scale in self._scales:
            scale.close()
        self._scales = []
        self.data.dataset.flush()
