"""riffle in Nanotron: the data loader of a stage.

    trainer = DistributedTrainer(config_file)
    stages = {stage.name: lambda: DataLoader(trainer, "pretrain", "kafka:9092") for stage in trainer.config.data_stages}
    trainer.train(stages)

An iteration is a step of the mix, of all stages the same mix: micro_batch_size x batch_accumulation_per_replica x data-parallel
ranks is its global_batch. The position is metadata.last_train_step, which Nanotron keeps in its checkpoints.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, Iterator, Optional

import numpy as np

from .._optional import needs

with needs(__name__):
    import torch

from ..doremi import all_reduced
from ..errors import RiffleError, UsageError
from ..torch import LrScale
from .dataset import ALL, RankDataset, refuse

__all__ = ["DataLoader"]

_DOMAINS = 4096  # at most, of a mix (LIMIT_DOMAINS)
_FIELDS = ("input_ids", "labels", "position_ids", "domain_index", "domains", "step", "lr_scale", "phase")


class DataLoader:
    """Endless micro-batches as Nanotron's collators give them: input_ids, label_ids of int64, label_mask of bool, and position_ids
    of int64 or, without them, input_mask of bool; [micro_batch_size, S], a context-parallel rank's part of S. What a pipeline
    stage does not need is a TensorPointer to the one that has it.

    trainer: the DistributedTrainer. position_ids: from 0 in each document, which the model takes as the mask between
    documents; then labels that are the first token of another document have no loss, as Nanotron has it. lr_scale: the
    learning rates of a step are multiplied by what its phase says. `options` (run, timeout, properties...) are as of
    :class:`riffle.torch.Dataset`.

    Make it when its stage begins (in a function without arguments, as above): it begins at metadata.last_train_step, and the
    loader of the stage before is closed. `trainer.riffle` is the loader; its `step`, `phase` and `lr_scale` are those of the
    last micro-batch.
    """

    def __init__(self, trainer: Any, mix: str, bootstrap: Optional[str] = None, *, position_ids: bool = True, lr_scale: bool = True,
                 **options: Any):
        from nanotron.parallel.pipeline_parallel.tensor_pointer import TensorPointer
        from nanotron.parallel.pipeline_parallel.utils import get_input_output_pp_ranks
        refuse(options, "by Nanotron's configuration", ALL)
        context, rank = trainer.parallel_context, torch.distributed.get_rank
        self.trainer, self.position_ids = trainer, position_ids
        self.step, self.lr_scale, self.phase = -1, 1.0, ""
        self._dp, self._pp, self._pp_rank = context.dp_pg, context.pp_pg, rank(context.pp_pg)
        self._input, self._output = get_input_output_pp_ranks(model=trainer.model)
        self._pointer = TensorPointer
        cp, cp_n = rank(context.cp_pg), torch.distributed.get_world_size(context.cp_pg)
        self._part = slice(cp * trainer.sequence_length // cp_n, (cp + 1) * trainer.sequence_length // cp_n)
        self._reads = self._pp_rank in (self._input, self._output)
        self.micro_batches = trainer.n_micro_batches_per_batch
        self.mix_dataset = RankDataset(
            mix, bootstrap, rank=rank(context.dp_pg), world=torch.distributed.get_world_size(context.dp_pg), fields=_FIELDS,
            micro_batch=trainer.micro_batch_size, mask_boundaries=position_ids,
            commits=self._pp_rank == self._output and rank(context.tp_pg) == 0 and cp == 0, **options)
        begin = trainer.metadata.last_train_step
        if begin > 0:
            self.mix_dataset._go_to(begin)
        self._given = 0  # micro-batches of the step
        self._counted = True  # the tokens of the step that was given whole
        self._tokens = np.zeros(_DOMAINS)  # of the step, by domain
        self._names: Dict[int, str] = {}
        self._known: set = set()  # domains whose name all ranks know
        self._stats: Optional[Dict[str, Dict[str, int]]] = None
        self._scale: Optional[LrScale] = None
        if getattr(trainer, "riffle", None) is not None:
            trainer.riffle.close()
        trainer.riffle = self
        if lr_scale and getattr(trainer, "optimizer", None) is not None:
            self._scale = _Agreed(trainer.optimizer, self._agreed)

    # ---- micro-batches ----

    @property
    def dataset(self) -> "DataLoader":
        """What has get_consumption_stats(); Nanotron asks it behind each step, and cannot resume without."""
        return self

    def __iter__(self) -> Iterator[Dict[str, Any]]:
        if not self._reads:
            while True:
                yield self._item(None)
        for item in self.mix_dataset:
            if self._given == self.micro_batches:
                self._given = 0
            if self._given == 0:
                self._check(item)
                self.step, self.lr_scale, self.phase = int(item["step"]), float(item["lr_scale"]), item["phase"]
            self._given += 1
            self._counted = False
            length = item["input_ids"].shape[1]
            for number, name in zip(item["domain_index"].tolist(), item["domains"]):
                self._tokens[number] += length
                self._names[number] = name
            yield self._item(item)
        raise RiffleError(f"mix {self.mix_dataset.mix} has ended: it has {self.step + 1} steps, and Nanotron wants more: set "
                          f"tokens.train_steps to {self.step + 1}")

    def _item(self, item: Optional[Dict[str, Any]]) -> Dict[str, Any]:
        names = ("input_ids", "position_ids" if self.position_ids else "input_mask"), ("label_ids", "label_mask")
        found: Dict[str, Any] = {name: self._pointer(group_rank=at) for part, at in zip(names, (self._input, self._output))
                                 for name in part}
        if item is not None and self._pp_rank == self._input:
            found["input_ids"] = item["input_ids"][:, self._part].contiguous()
            if self.position_ids:
                found["position_ids"] = item["position_ids"]  # whole ones, also where the rest is cut
            else:
                found["input_mask"] = torch.ones_like(found["input_ids"], dtype=torch.bool)
        if item is not None and self._pp_rank == self._output:
            labels = item["labels"][:, self._part]
            found["label_mask"] = labels != -100
            found["label_ids"] = torch.where(found["label_mask"], labels, 0)
        return found

    def _check(self, item: Dict[str, Any]) -> None:
        batch, length = self.mix_dataset.reader.info.global_batch, item["input_ids"].shape[1]
        if batch != self.trainer.global_batch_size:
            raise UsageError(f"step {item['step']} of mix {self.mix_dataset.mix} has {batch} sequences, and Nanotron's batch is "
                             f"{self.trainer.global_batch_size}: tokens.micro_batch_size x tokens.batch_accumulation_per_replica x "
                             "data-parallel ranks must be the mix's global_batch, in all its steps")
        if length != self.trainer.sequence_length:
            raise UsageError(f"sequences of mix {self.mix_dataset.mix} have {length} tokens, and tokens.sequence_length is "
                             f"{self.trainer.sequence_length}")

    # ---- what Nanotron asks behind a step ----

    def get_consumption_stats(self) -> Dict[str, Dict[str, int]]:
        """{domain: {"tokens": n}} of all data-parallel ranks in this stage, those of a checkpoint included; says that the step
        is trained. All ranks of a data-parallel group call it behind the same steps."""
        if self._stats is None:
            stage = self.trainer.metadata.data_stages[self.trainer.metadata.last_stage_idx]
            self._stats = {domain: {"tokens": n} for domain, n in stage.consumed_tokens_per_dataset_folder.items()}
        if self._given == self.micro_batches and not self._counted:
            self._counted = True
            tokens = all_reduced(self._tokens.tolist(), self._dp)
            self._tokens[:] = 0
            self._learn({number for number, n in enumerate(tokens) if n > 0})
            for number, n in enumerate(tokens):
                if n > 0:
                    total = self._stats.setdefault(self._names[number], {"tokens": 0})
                    total["tokens"] += int(n)
            self.mix_dataset.trained(self.step)
        return self._stats

    def _learn(self, numbers: set) -> None:
        """The names of domains that others have read. All ranks see the same numbers, so all of them do this, or none."""
        if numbers <= self._known:
            return
        self._known |= numbers
        if torch.distributed.get_world_size(self._dp) > 1:
            found: list = [None] * torch.distributed.get_world_size(self._dp)
            torch.distributed.all_gather_object(found, self._names, group=self._dp)
            for names in found:
                self._names.update(names)

    def _agreed(self) -> float:
        """lr_scale of the step, which the last pipeline stage says to the others."""
        return all_reduced([self.lr_scale if self._pp_rank == self._output else 0.0], self._pp)[0]

    def close(self) -> None:
        """Gives what was said of training two seconds to arrive. The end of the program does the same."""
        if self._scale is not None:
            self._scale.close()
        self.mix_dataset.close()


class _Agreed(LrScale):
    """An LrScale whose factor is asked for in each step."""

    def __init__(self, optimizer: Any, agreed: Callable[[], float]):
        self._agreed = agreed
        super().__init__(optimizer)

    def _before(self, *unused: Any) -> None:
        self.factor = self._agreed()
        super()._before()
