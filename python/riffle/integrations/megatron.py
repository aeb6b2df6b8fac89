"""riffle in Megatron-LM, Megatron-core and Megatron-Bridge: the iterators of --dataloader-type external.

    held_out = riffle.Validation("corpus", "web", "kafka:9092")
    data = riffle.integrations.megatron.DataIterators("pretrain", "kafka:9092", valid=held_out)
    training.train_step = data.train_step(training.train_step)   # megatron.training.training
    pretrain(data.provider, model_provider, ModelType.encoder_or_decoder, data.forward_step(forward_step))

An iteration is a step of the mix, and its micro-batches are slices of the rank's lanes: --global-batch-size is the mix's
global_batch. The position is consumed_train_samples / global_batch_size, which Megatron keeps in its checkpoints, so that a run
continues with any number of data-parallel ranks. Tensor-parallel rank 0 alone reads, as Megatron has it; where the first and the
last pipeline stage both read, they read the same lanes, and the last one commits and reports.
"""

from __future__ import annotations

import functools
from typing import Any, Callable, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from .._optional import needs

with needs(__name__):
    import torch

from ..doremi import all_reduced, domain_sums
from ..errors import RiffleError, UsageError
from ..torch import LrScale, batch_of
from ..validation import Validation
from .dataset import ALL, RankDataset, refuse

__all__ = ["Masks", "DataIterators", "TrainIterator", "ValidIterator"]

_FIELDS = ("input_ids", "labels", "position_ids", "document_ids", "domains", "step", "lr_scale", "phase")
_ABOUT = ("domains", "step", "lr_scale", "phase")


class Masks(NamedTuple):
    """What an item says of documents, named as Megatron's options."""

    reset_position_ids: bool = False  #: positions begin at 0 in each document
    reset_attention_mask: bool = False  #: attention_mask has no attention to other documents
    create_attention_mask_in_dataloader: bool = False  #: items have attention_mask, bool [n, 1, S, S], true: hidden
    eod_mask_loss: bool = False  #: no loss for the first token of another document
    dataloader_inter_document_masking: bool = False  #: items have cu_seqlens, int32 [n, S + 1], and max_seqlen, int32 [n]

    def item_of(self, item: Mapping[str, Any]) -> Dict[str, Any]:
        """An item of :class:`riffle.torch.Dataset` as Megatron takes it."""
        labels, documents = item["labels"], item["document_ids"]
        n, length = labels.shape
        kept, resets = labels != -100, self.reset_position_ids or self.dataloader_inter_document_masking
        # Labels without a loss are 0: the loss is computed for all, and multiplied by the mask.
        found = {"tokens": item["input_ids"], "labels": torch.where(kept, labels, 0), "loss_mask": kept.float(),
                 "position_ids": item["position_ids"] if resets else torch.arange(length).repeat(n, 1)}
        if self.create_attention_mask_in_dataloader:
            hidden = torch.ones(length, length, dtype=torch.bool).triu(1).repeat(n, 1, 1)
            if self.reset_attention_mask:
                hidden |= documents[:, :, None] != documents[:, None, :]
            found["attention_mask"] = hidden[:, None]
        if self.dataloader_inter_document_masking:
            ends = torch.full((n, length + 1), length, dtype=torch.int32)
            for row, positions in zip(ends, item["position_ids"]):
                begins = (positions == 0).nonzero()[:, 0]
                row[:len(begins)] = begins
            found.update(cu_seqlens=ends, max_seqlen=ends.diff(dim=1).max(dim=1).values)
        return {**found, **{name: item[name] for name in _ABOUT if name in item}}


class TrainIterator:
    """An endless iterator over a rank's micro-batches, as RerunDataIterator takes it: tokens, labels, position_ids of int64,
    loss_mask of float32, all [micro_batch, S], and what `masks` says. `step`, `phase`, `lr_scale` are those of the last item.

    consumed: consumed_train_samples, where it begins. `options`: further ones of :class:`RankDataset`.

    A step is trained once the first micro-batch of the next one is asked for: Megatron fetches nothing ahead. Whoever knows
    earlier calls trained().
    """

    def __init__(self, mix: str, bootstrap: Optional[str] = None, *, global_batch: int, micro_batch: int, consumed: int = 0,
                 rank: Optional[int] = None, world: Optional[int] = None, masks: Masks = Masks(), length: Optional[int] = None,
                 **options: Any):
        self.global_batch, self.micro_batch, self.masks, self.length = global_batch, micro_batch, masks, length
        self.step, self.lr_scale, self.phase = -1, 1.0, ""
        self.dataset = RankDataset(mix, bootstrap, rank=rank, world=world, micro_batch=micro_batch, fields=_FIELDS,
                                   mask_boundaries=masks.eod_mask_loss, **options)
        if global_batch % (micro_batch * self.dataset.world) != 0:
            raise UsageError(f"--global-batch-size {global_batch} is no multiple of micro-batch-size {micro_batch} x "
                             f"{self.dataset.world} data-parallel ranks")
        self.micro_batches = global_batch // micro_batch // self.dataset.world
        self._items: Optional[Iterator[Dict[str, Any]]] = None
        self._next = self._given = 0  # the step that comes next; micro-batches of this one
        self._trained = False  # the last step that was given whole
        self._sums: Dict[int, Dict[str, Tuple[float, float, int]]] = {}
        self.begin(consumed)

    def begin(self, consumed: int) -> None:
        """Reads from where so many samples are consumed; a checkpoint says it, before anything was read."""
        if self._items is not None:
            raise UsageError("begin(): the iterator has given micro-batches already")
        if consumed % self.global_batch != 0:
            raise UsageError(f"consumed_train_samples {consumed} is no whole number of steps of {self.global_batch} sequences: the "
                             "checkpoint was written with another --global-batch-size")
        if consumed > 0 or self._next > 0:
            self.dataset._go_to(consumed // self.global_batch)
        self._next = consumed // self.global_batch

    def __iter__(self) -> "TrainIterator":
        return self

    def __next__(self) -> Dict[str, Any]:
        if self._items is None:
            self._items = iter(self.dataset)
        if self._given == self.micro_batches:
            self.trained()
            self._given, self._trained = 0, False
        item = next(self._items, None)
        if item is None:
            raise RiffleError(f"mix {self.dataset.mix} has ended: it has {self._next} steps of {self.global_batch} sequences, and "
                              f"Megatron wants more: set --train-iters {self._next}")
        if self._given == 0:
            self._check(item)
            self.step, self.lr_scale, self.phase = int(item["step"]), float(item["lr_scale"]), item["phase"]
        self._given += 1
        self._next = self.step + (self._given == self.micro_batches)
        return {**self.masks.item_of(item), "micro_batch": self._given - 1}

    def _check(self, item: Mapping[str, Any]) -> None:
        found = self.dataset.reader.info.global_batch
        if found != self.global_batch:
            raise UsageError(f"step {item['step']} of mix {self.dataset.mix} has {found} sequences, and --global-batch-size is "
                             f"{self.global_batch}: Megatron's position is a number of samples, so a mix that changes its batch "
                             "cannot be trained by it")
        length = item["input_ids"].shape[1]
        if self.length not in (None, length):
            raise UsageError(f"sequences of mix {self.dataset.mix} have {length} tokens, and --seq-length is {self.length}")

    def add(self, item: Mapping[str, Any], losses: torch.Tensor) -> None:
        """The losses of the tokens of an item, for the sums by domain; a micro-batch that Megatron runs again counts once."""
        mask = item["loss_mask"]
        if not self.dataset.commits or item.get("micro_batch") is None:
            return  # of a held-out set
        if losses.numel() != mask.numel():
            raise UsageError(f"losses are {list(losses.shape)}, and the micro-batch is {list(mask.shape)}: losses by domain need "
                             "whole sequences, which context parallelism splits: use forward_step() without it")
        self._sums[item["micro_batch"]] = domain_sums(losses.detach().float().view(mask.shape), item["domains"], mask=mask != 0)

    def trained(self) -> None:
        """The step that was given last is trained: commits that, and reports its losses by domain. Again: nothing."""
        if self._given < self.micro_batches or self._trained:
            return
        for sums in self._sums.values():
            self.dataset.add_sums(sums)
        self._sums, self._trained = {}, True
        self.dataset.trained(self.step)

    def close(self) -> None:
        """Gives what was said of training two seconds to arrive. The end of the program does the same."""
        self.dataset.close()


class ValidIterator:
    """An endless iterator over a rank's micro-batches of held-out sets, one after the other, then from the beginning: items as
    of :class:`TrainIterator`. consumed: consumed_valid_samples, where it begins."""

    def __init__(self, sets: Sequence[Validation], *, micro_batch: int, consumed: int = 0, rank: int = 0, world: int = 1,
                 masks: Masks = Masks(), length: Optional[int] = None):
        self.sets, self.micro_batch, self.masks, self.length = list(sets), micro_batch, masks, length
        self.rank, self.world, self._at = rank, world, consumed
        self._rows: Optional[Iterator[Dict[str, Any]]] = None

    def begin(self, consumed: int) -> None:
        """Begins behind so many samples, before anything was read."""
        if self._rows is not None:
            raise UsageError("begin(): the iterator has given micro-batches already")
        self._at = consumed

    def __iter__(self) -> "ValidIterator":
        return self

    def _mine(self) -> Iterator[Dict[str, Any]]:
        """The rank's sequences: every world-th block of micro_batch is its own."""
        sizes = [len(one) for one in self.sets]
        if sum(sizes) == 0:
            raise UsageError(f"held-out sets {', '.join(f'{v.domain} ({v.set})' for v in self.sets)} of corpus "
                             f"{self.sets[0].corpus} are empty: leave them out, or set --eval-iters 0")
        at, skip = self._at, self._at % sum(sizes)
        while True:
            for one, size in zip(self.sets, sizes):
                if skip >= size:
                    skip -= size
                    continue
                seen = 0
                for step in one:
                    for row in range(min(len(step), size - seen)):  # a set that grows counts as it was
                        seen += 1
                        if seen <= skip:
                            continue
                        if at // self.micro_batch % self.world == self.rank:
                            yield batch_of(step, row, row + 1, mask_boundaries=self.masks.eod_mask_loss, fields=_FIELDS)
                        at += 1
                skip = 0

    def __next__(self) -> Dict[str, Any]:
        if self._rows is None:
            self._rows = self._mine()
        rows = [next(self._rows) for _ in range(self.micro_batch)]
        length = rows[0]["input_ids"].shape[1]
        if self.length not in (None, length):
            raise UsageError(f"held-out sequences have {length} tokens, and --seq-length is {self.length}")
        item = {name: torch.cat([row[name] for row in rows]) for name in _FIELDS[:4]}
        return self.masks.item_of({**item, "domains": [row["domains"][0] for row in rows]})


class DataIterators:
    """A mix for Megatron's trainer: the iterators of each process, by its arguments and its place in the groups.

    mix, bootstrap and `options` (run, commit_every, timeout, ahead_bytes, threads, properties...) are as of
    :class:`riffle.torch.Dataset`. valid, test: held-out sets. `train` is the process's own :class:`TrainIterator`, None where it
    reads nothing.
    """

    def __init__(self, mix: str, bootstrap: Optional[str] = None, *, valid: Union[None, Validation, Sequence[Validation]] = None,
                 test: Union[None, Validation, Sequence[Validation]] = None, **options: Any):
        refuse(options, "by Megatron's arguments", ALL)
        self.mix, self.bootstrap, self.options = mix, bootstrap, options
        self.valid, self.test = ([one] if isinstance(one, Validation) else list(one or ()) for one in (valid, test))
        self.train: Optional[TrainIterator] = None
        self._all: List[Union[TrainIterator, ValidIterator]] = []  # with virtual stages several
        self._leads = False  # this process gives its model-parallel peers the step's lr_scale
        self._scales: List[LrScale] = []
        self._scaled: Any = None

    # ---- iterators ----

    def provider(self, train_val_test_num_samples: Any = None, vp_stage: Optional[int] = None) -> Tuple[Any, Any, Any]:
        """Megatron-LM's train_valid_test_datasets_provider."""
        from megatron.training import get_args
        return self.iterators(get_args(), vp_stage)

    def iterators(self, args: Any, vp_stage: Optional[int] = None
                  ) -> Tuple[TrainIterator, Optional[ValidIterator], Optional[ValidIterator]]:
        """(train, valid, test) by Megatron's arguments: those of Megatron-LM, or what has their names."""
        from megatron.core import parallel_state as groups
        self.refuse(args)
        rank, world = groups.get_data_parallel_rank(), groups.get_data_parallel_world_size()
        last = groups.is_pipeline_last_stage(ignore_virtual=True)
        stages = groups.get_virtual_pipeline_model_parallel_world_size() or 1
        masks = Masks(*[bool(getattr(args, name, default)) for name, default in Masks._field_defaults.items()])
        shape = {"masks": masks, "length": getattr(args, "seq_length", None), "rank": rank, "world": world}
        leads = last and groups.get_tensor_model_parallel_rank() == 0 and vp_stage in (None, stages - 1)
        train = TrainIterator(
            self.mix, self.bootstrap, global_batch=args.global_batch_size, micro_batch=args.micro_batch_size,
            consumed=getattr(args, "consumed_train_samples", 0) or 0, commits=leads and groups.get_context_parallel_rank() == 0,
            **shape, **self.options)
        if vp_stage in (None, 0) or leads:
            self.train, self._leads = train, leads
        micro = getattr(args, "eval_micro_batch_size", None) or args.micro_batch_size
        valid = ValidIterator(self.valid, micro_batch=micro, consumed=getattr(args, "consumed_valid_samples", 0) or 0, **shape)
        test = ValidIterator(self.test, micro_batch=micro, **shape)
        self._all += [train, valid]
        return train, valid if self.valid else None, test if self.test else None

    def begin(self, consumed: int, consumed_valid: int = 0) -> None:
        """Where a checkpoint is loaded behind the iterators: so many samples are consumed. Before anything was read."""
        for one in self._all:
            one.begin(consumed if isinstance(one, TrainIterator) else consumed_valid)

    def refuse(self, args: Any) -> None:
        """What Megatron offers and a mix cannot have, by its name."""
        for name, why in (
                ("rampup_batch_size", "changes the batch, and a step of the mix is an iteration of a fixed --global-batch-size"),
                ("step_batch_size_schedule", "changes the batch, and a step of the mix is an iteration of a fixed "
                                             "--global-batch-size"),
                ("decrease_batch_size_if_needed", "changes the batch, and a step of the mix is an iteration of a fixed "
                                                  "--global-batch-size"),
                ("full_validation", "needs to know how long each rank's part is; --eval-iters says how much is evaluated"),
                ("hybrid_context_parallel", "wants whole global batches on each rank"),
                ("dataloader_save", "saves what nothing reads: the position is consumed_train_samples, which is in each "
                                    "checkpoint")):
            if getattr(args, name, None):
                raise UsageError(f"--{name.replace('_', '-')} {why}: leave it out")
        if getattr(args, "dataloader_type", "external") != "external":
            raise UsageError(f"--dataloader-type is {args.dataloader_type}; it must be external, or Megatron deals the data out "
                             "itself")

    # ---- the training step ----

    def forward_step(self, forward: Callable[..., Any]) -> Callable[..., Any]:
        """`forward` (Megatron's forward_step: data_iterator, model -> output_tensor, loss_func) whose losses of the tokens,
        [n, S], as the model gives them, are added up by domain; `riffle status` shows their means."""
        @functools.wraps(forward)
        def wrapped(*words: Any, **more: Any) -> Tuple[Any, Any]:
            seen: List[_Seen] = []
            output, loss = forward(*[_Seen.of(word, seen) for word in words],
                                   **{name: _Seen.of(word, seen) for name, word in more.items()})

            def summed(output_tensor: Any, *rest: Any, **others: Any) -> Any:
                train = self.train
                if train is not None and seen and seen[0].item is not None:
                    train.add(seen[0].item, output_tensor)
                return loss(output_tensor, *rest, **others)
            return output, summed
        return wrapped

    def train_step(self, train_step: Callable[..., Any]) -> Callable[..., Any]:
        """`train_step` of megatron.training.training with the learning rates of a step multiplied by its lr_scale, and what
        was trained said as soon as it was."""
        @functools.wraps(train_step)
        def wrapped(*words: Any, **more: Any) -> Any:
            optimizer = more.get("optimizer", words[3] if len(words) > 3 else None)
            if optimizer is not None:
                self.scale(optimizer)
            result = train_step(*words, **more)
            self.trained()
            return result
        return wrapped

    def trained(self) -> None:
        """The step is trained, by the optimiser."""
        if self.train is not None:
            self.train.trained()

    def close(self) -> None:
        """Gives what was said of training two seconds to arrive. The end of the program does the same."""
        for one in self._all:
            if isinstance(one, TrainIterator):
                one.close()

    def scale(self, optimizer: Any) -> None:
        """Multiplies the optimiser's learning rates by each step's lr_scale, inside its step() alone. Again: nothing."""
        if self._scaled is optimizer:
            return
        for scale in self._scales:
            scale.close()
        self._scales = [LrScale(one) for one in getattr(optimizer, "chained_optimizers", [optimizer])
                        if not getattr(one, "is_stub_optimizer", False)]
        self._scaled, step = optimizer, optimizer.step

        @functools.wraps(step)
        def scaled(*words: Any, **more: Any) -> Any:
            factor = self._factor()
            for scale in self._scales:
                scale.factor = factor
            return step(*words, **more)
        optimizer.step = scaled

    def _factor(self) -> float:
        """lr_scale of the step, which one rank of the model-parallel group says."""
        from megatron.core import parallel_state as groups
        mine = self.train.lr_scale if self.train is not None and self._leads else 0.0
        return all_reduced([mine], groups.get_model_parallel_group())[0]


class _Seen:
    """A data iterator, with what it gave last: also where Megatron gives a micro-batch a second time."""

    def __init__(self, iterator: Iterator[Dict[str, Any]]):
        self._iterator, self.item = iterator, None

    @classmethod
    def of(cls, word: Any, found: List["_Seen"]) -> Any:
        if not hasattr(word, "__next__"):
            return word
        found.append(cls(word))
        return found[-1]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._iterator, name)

    def __iter__(self) -> "_Seen":
        return self

    def __next__(self) -> Dict[str, Any]:
        item = next(self._iterator)
        self.item = {name: item.get(name) for name in ("loss_mask", "domains", "step", "micro_batch")}
        return item
