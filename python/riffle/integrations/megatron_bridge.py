"""riffle in Megatron-Bridge: a DatasetProvider, whose iterators are those of riffle.integrations.megatron, and a callback.

    config.dataset = DatasetProvider(mix="pretrain", bootstrap="kafka:9092", run="big", seq_length=4096)
    pretrain(config, config.dataset.forward_step(forward_step), callbacks=[RiffleCallback()])

An iteration is a step of the mix: train.global_batch_size is the mix's global_batch. The position is consumed_train_samples of the
train state, which Bridge keeps in its checkpoints.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, Callable, Dict, List, Optional, Tuple

from .._optional import needs

with needs(__name__, "megatron-bridge"):
    from megatron.bridge.training.callbacks import Callback

    try:
        from megatron.bridge.data.base import DatasetProvider as Base
    except ImportError:  # before August 2026
        from megatron.bridge.training.config import DatasetProvider as Base

from ..errors import UsageError
from ..validation import Validation
from .megatron import DataIterators

__all__ = ["DatasetProvider", "RiffleCallback"]


@dataclass
class DatasetProvider(Base):
    """The data of a configuration. Bridge reads on all tensor-parallel ranks, on first and last pipeline stage: they read the
    same lanes, and one of them commits and reports.

    reset_position_ids, reset_attention_mask, eod_mask_loss: as of :class:`riffle.integrations.megatron.Masks`; with
    skip_getting_attention_mask_from_dataset=False items have an attention_mask. valid: held-out sets, "CORPUS.DOMAIN" each.
    options: more of :class:`riffle.integrations.megatron.DataIterators`.
    """

    mix: str = ""
    bootstrap: Optional[str] = None
    run: str = "trainers"
    seq_length: int = 0
    reset_position_ids: bool = False
    reset_attention_mask: bool = False
    eod_mask_loss: bool = False
    skip_getting_attention_mask_from_dataset: bool = True
    valid: List[str] = field(default_factory=list)
    options: Dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.dataloader_type not in (None, "external"):
            raise UsageError(f"dataloader_type is {self.dataloader_type}; it must be external, or Bridge deals the data out itself")
        self.dataloader_type = "external"
        sets = [Validation(*name.split(".", 1), self.bootstrap) for name in self.valid]
        self._data, self._chunks = DataIterators(self.mix, self.bootstrap, run=self.run, valid=sets, **self.options), 0

    @property
    def data(self) -> DataIterators:
        """What the iterators are of."""
        return self._data

    def forward_step(self, forward: Callable[..., Any]) -> Callable[..., Any]:
        """Bridge's forward step, whose losses of the tokens are added up by domain."""
        return self._data.forward_step(forward)

    def build_datasets(self, context: Any) -> Tuple[Any, Any, Any]:
        """Called once for each chunk of the model; where the checkpoint is, the callback says."""
        from megatron.core import num_microbatches_calculator as sizes
        from megatron.core import parallel_state as groups
        chunks = groups.get_virtual_pipeline_model_parallel_world_size() or 1
        args = SimpleNamespace(
            global_batch_size=sizes.get_current_global_batch_size(), micro_batch_size=sizes.get_micro_batch_size(),
            seq_length=self.seq_length or None, reset_position_ids=self.reset_position_ids,
            reset_attention_mask=self.reset_attention_mask, eod_mask_loss=self.eod_mask_loss,
            create_attention_mask_in_dataloader=not self.skip_getting_attention_mask_from_dataset)
        self._chunks += 1
        return self._data.iterators(args, self._chunks - 1 if chunks > 1 else None)


class RiffleCallback(Callback):
    """Begins where the checkpoint is; lr_scale inside of the optimiser's step; what was trained behind it."""

    def on_train_start(self, context: Any) -> None:
        config, state, data = context.state.cfg, context.state.train_state, context.state.cfg.dataset.data
        data.refuse(config.train)
        data.begin(state.consumed_train_samples, getattr(state, "consumed_valid_samples", 0))
        data.scale(context.optimizer)

    def on_train_step_end(self, context: Any) -> None:
        context.state.cfg.dataset.data.trained()

    def on_train_end(self, context: Any) -> None:
        context.state.cfg.dataset.data.close()
