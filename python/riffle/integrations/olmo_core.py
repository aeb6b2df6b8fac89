"""riffle in OLMo-core: a data loader for its Trainer, and a callback that knows what was trained.

    data = DataLoader("pretrain", "kafka:9092", work_dir=work, dp_process_group=module.dp_process_group)
    trainer = TrainerConfig(...).with_callback("riffle", RiffleCallback()).build(module, data)
    trainer.fit()

A step of the Trainer is a step of the mix, whole; the Trainer cuts it by rank_microbatch_size. Sizes are the mix's.
"""

from __future__ import annotations

import dataclasses
import time
from typing import Any, Dict, Iterator, Mapping, Optional

from .._optional import needs

with needs(__name__, "ai2-olmo-core"):
    import torch
    from olmo_core.data.data_loader import DataLoaderBase
    from olmo_core.distributed.utils import get_rank, get_world_size
    from olmo_core.exceptions import OLMoConfigurationError
    from olmo_core.optim.scheduler import ConstantScheduler, Scheduler
    from olmo_core.train.callbacks import Callback

from ..errors import StepTimeout
from ..reader import Extent, find_extent
from .dataset import refuse
from .loader import RankLoader

__all__ = ["DataLoader", "RiffleCallback", "document_lengths"]

_SHAPE_S, _POLL_S = 60.0, 0.5  # that a mixer may take to begin the mix; between two looks


class DataLoader(DataLoaderBase):
    """The steps of a mix for Trainer.fit().

    mix, bootstrap and `options` are as of :class:`riffle.torch.Dataset`; rank and world are those of dp_process_group
    (None: of the default group). documents: items have doc_lens and max_doc_lens, by which attention stays inside of
    documents: that needs a backend of OLMo-core which does so, flash attention; its others refuse it. vocabulary: token
    ids of the batch with which the Trainer runs dry are below it.

    Its state, part of each checkpoint, is the step that comes next, at any number of ranks.
    """

    def __init__(self, mix: str, bootstrap: Optional[str] = None, *, work_dir: Any, dp_process_group: Any = None,
                 documents: bool = True, vocabulary: int = 2, **options: Any):
        refuse(options, "OLMo-core's")
        rank, world = get_rank(dp_process_group), get_world_size(dp_process_group)
        self._shape = _shape_of(mix, bootstrap, options)
        super().__init__(work_dir=work_dir, global_batch_size=self._shape.global_batch * self._shape.sequence_length,
                         dp_world_size=world, dp_rank=rank)
        self.documents, self.vocabulary = documents, vocabulary
        self.loader = RankLoader(mix, bootstrap, rank=rank, world=world, item=self._batch_of, **options)

    def _batch_of(self, item: Dict[str, Any]) -> Dict[str, Any]:
        self._tokens = item["input_ids"].numel() * self.dp_world_size
        batch = {"input_ids": item["input_ids"], "labels": item["labels"]}
        if self.documents:
            batch["doc_lens"] = document_lengths(item["position_ids"])
            batch["max_doc_lens"] = batch["doc_lens"].amax(1).tolist()
        return batch

    def _iter_batches(self) -> Iterator[Dict[str, Any]]:
        return iter(self.loader)

    @property
    def global_batch_size(self) -> int:
        return self._global_batch_size

    @global_batch_size.setter
    def global_batch_size(self, tokens: int) -> None:
        if tokens != self._global_batch_size:
            raise OLMoConfigurationError(
                f"riffle: a batch of {tokens} tokens, and that of mix {self.loader.dataset.mix} has {self._global_batch_size}: "
                "leave BatchSizeSchedulerCallback out. A mix changes its own with phases: [{global_batch: ...}]")

    def global_num_tokens_in_batch(self, batch: Dict[str, Any]) -> int:
        return self._tokens  # the mix may change it

    @property
    def total_batches(self) -> Optional[int]:
        return None

    def reshuffle(self, epoch: Optional[int] = None, **unused: Any) -> None:
        self._epoch = 1 if epoch is None else epoch  # the order is the mix's

    def get_mock_batch(self) -> Dict[str, Any]:
        shape = self._shape.global_batch // self.dp_world_size, self._shape.sequence_length
        ids = torch.randint(0, self.vocabulary, shape, generator=torch.Generator().manual_seed(self.dp_rank))
        positions = torch.arange(shape[1]).expand(shape)
        return self._batch_of({"input_ids": ids, "labels": ids.clone(), "position_ids": positions})

    def state_dict(self) -> Dict[str, Any]:
        return {**self.loader.state_dict(), "batches_processed": self.batches_processed, "epoch": self._epoch}

    def load_state_dict(self, state_dict: Dict[str, Any]) -> None:
        if "mix" not in state_dict:
            raise OLMoConfigurationError(
                "riffle: the checkpoint is of another data loader. To continue from its weights alone, load it with "
                "load_trainer_state=False")
        own = {name: state_dict[name] for name in ("batches_processed", "epoch")}
        self.loader.load_state_dict({name: value for name, value in state_dict.items() if name not in own})
        self.batches_processed, self._epoch = own["batches_processed"], own["epoch"]


def _shape_of(mix: str, bootstrap: Optional[str], options: Mapping[str, Any]) -> Extent:
    """By the mix's ledger, wherever training begins; waits for a mixer to begin it."""
    known = {name: options[name] for name in ("properties", "open_timeout") if name in options}
    deadline = time.monotonic() + (options.get("timeout") or _SHAPE_S)
    while True:
        try:
            return find_extent(mix, bootstrap, **known)
        except StepTimeout:
            if time.monotonic() >= deadline:
                raise
            time.sleep(_POLL_S)


def document_lengths(position_ids: torch.Tensor) -> torch.Tensor:
    """int32 [n, k]: the lengths of each sequence's documents, padded with 0; position_ids begin at 0 in each."""
    length = position_ids.shape[1]
    starts = [torch.nonzero(row == 0).flatten() for row in position_ids]
    ends = [torch.cat((s[1:], s.new_tensor([length]))) for s in starts]
    return torch.nn.utils.rnn.pad_sequence([e - s for s, e in zip(starts, ends)], batch_first=True).to(torch.int32)


@dataclasses.dataclass
class _Scaled(Scheduler):
    """The rates of a scheduler, times the lr_scale of the step in training."""

    inner: Scheduler = dataclasses.field(default_factory=ConstantScheduler)
    loader: Any = None

    def get_lr(self, initial_lr: Any, current: int, t_max: int) -> Any:
        return self.inner.get_lr(initial_lr, current, t_max)

    def set_lr(self, group: Dict[str, Any], trainer: Any) -> Any:
        rate = self.inner.set_lr(group, trainer) * self.loader.lr_scale
        held = group[self.inner.lr_field]
        if torch.is_tensor(held):
            held.fill_(rate)
        else:
            group[self.inner.lr_field] = rate
        return rate


@dataclasses.dataclass
class RiffleCallback(Callback):
    """Says what was trained: commits, and reports losses by domain. losses: from the model's losses of tokens, which it then
    computes with loss_reduction="none". lr_scale: the learning rates of a step are multiplied by what its phase says."""

    losses: bool = True
    lr_scale: bool = True

    def pre_train(self) -> None:
        module, loader = self.trainer.train_module, self._loader
        if self.lr_scale:
            module.scheduler = _Scaled(inner=module.scheduler or ConstantScheduler(), loader=loader)
        if self.losses and hasattr(module, "model_forward"):
            module.model_forward = _with_losses(module.model_forward, loader)

    @property
    def _loader(self) -> RankLoader:
        if not isinstance(self.trainer.data_loader, DataLoader):
            raise OLMoConfigurationError("RiffleCallback is for riffle's DataLoader")
        return self.trainer.data_loader.loader

    def post_train_batch(self) -> None:
        self._loader.trained()

    def post_train(self) -> None:
        self._loader.flush()

    def close(self) -> None:
        self._loader.close()


def _with_losses(forward: Any, loader: RankLoader) -> Any:
    """model_forward() of a train module, which passes the losses of tokens on."""
    def run(input_ids: torch.Tensor, labels: Optional[torch.Tensor] = None, **more: Any) -> Any:
        if labels is None or more.get("loss_reduction") != "sum" or not loader.waiting:
            return forward(input_ids, labels=labels, **more)
        found = forward(input_ids, labels=labels, **{**more, "loss_reduction": "none"})
        if found.ce_loss.numel() == labels.numel():  # not where a sequence is cut (tensor, context parallel)
            parts = more.get("loss_div_factor")
            loader.add(found.ce_loss if parts is None else found.ce_loss * parts, labels)
        return found._replace(**{name: value.sum() for name, value in found._asdict().items()
                                 if name != "logits" and value is not None})
    return run
