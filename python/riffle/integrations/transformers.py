"""riffle in transformers' Trainer, and in trainers that derive from it (TRL's): a mixin.

    trainer = riffle.integrations.transformers.Trainer(model=model, args=args, riffle={"mix": "pretrain", "run": "big"})
    trainer.train(resume_from_checkpoint=found)

    class SFT(RiffleMixin, trl.SFTTrainer): ...

A training step is a step of the mix: per_device_train_batch_size x gradient_accumulation_steps x data-parallel ranks is the
mix's global_batch; where it is not, training stops at the first step. The loader is a bare DataLoader of this rank's own
micro-batches: accelerate's, which would deal them out again, never sees it.
"""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Tuple

from .._optional import needs

with needs(__name__):
    import torch
    import transformers
    from torch.utils.data import DataLoader
    from transformers.trainer_callback import ExportableState, TrainerCallback

from ..errors import UsageError
from ..torch import LrScale
from .dataset import RankDataset, refuse

__all__ = ["RiffleMixin", "Trainer"]

_FIELDS = ("input_ids", "labels", "position_ids", "domains", "step", "lr_scale", "phase")
_PIECE = 1024  # tokens whose losses are computed at a time, for the sums by domain
_LOOKS = 16  # micro-batches in which it is looked at how the model shifts labels


def inputs_of(item: Mapping[str, Any]) -> Dict[str, Any]:
    """What a causal model takes of an item. Labels are shifted already, which `shift_labels` says; positions that begin at 0
    in each document, without an attention_mask, are the mask between documents."""
    about = {name: item[name] for name in ("domains", "step", "lr_scale", "phase")}
    return {"input_ids": item["input_ids"], "position_ids": item["position_ids"], "labels": item["labels"],
            "shift_labels": item["labels"], "riffle": about}


def _losses_of(outputs: List[Any], labels: torch.Tensor) -> torch.Tensor:
    """[n, S]: the loss of each token, of outputs with logits (a second pass over them) or, as of TRL, log_probs."""
    for found in reversed(outputs):
        if getattr(found, "logits", None) is not None:
            logits, wanted = found.logits.flatten(0, 1), labels.flatten()
            return torch.cat([torch.nn.functional.cross_entropy(part.float(), label, reduction="none")
                              for part, label in zip(logits.split(_PIECE), wanted.split(_PIECE))]).view_as(labels)
        if getattr(found, "log_probs", None) is not None and found.log_probs.shape == labels.shape:
            return -found.log_probs.float()
    raise UsageError("the model's outputs have no logits to take losses by domain from: riffle={..., \"losses\": False}")


class RiffleMixin:
    """In front of a Trainer: class MyTrainer(RiffleMixin, transformers.Trainer).

    riffle: options of :class:`RankDataset`, `mix` at least; rank, world and micro_batch are the Trainer's. Besides
    them losses=False: none are reported by domain, for models whose outputs have no logits; lr_scale=False: the learning
    rate is not multiplied by what a step's phase says.

    `trainer.riffle` is the Dataset, once training has begun; `trainer.riffle_step` what is known of the step in training: its
    "step", "phase", "lr_scale" and the "domains" of the micro-batch.
    """

    def __init__(self, *words: Any, riffle: Mapping[str, Any], **more: Any):
        self._riffle_options = dict(riffle)
        self._riffle_losses = self._riffle_options.pop("losses", True)
        self._riffle_scales = self._riffle_options.pop("lr_scale", True)
        refuse(self._riffle_options, "the Trainer's")
        self.riffle: Optional[RankDataset] = None
        self.riffle_step: Dict[str, Any] = {}
        super().__init__(*words, **more)
        if self.args.max_steps <= 0:
            raise UsageError("a mix has no epochs, so the Trainer needs max_steps")
        if self.args.auto_find_batch_size:
            raise UsageError("auto_find_batch_size changes the batch, and a step of the mix is one training step: leave it out")
        self.args.ignore_data_skip = True  # the loader begins at the step of the checkpoint
        self._riffle_follows = RiffleCallback(self)
        self.add_callback(self._riffle_follows)

    # ---- what the Trainer calls ----

    def get_train_dataloader(self) -> DataLoader:
        if self.riffle is None:
            peers = self.get_tp_size() * self.get_cp_size() * self.get_sp_size()
            self.riffle = RankDataset(
                rank=self.args.process_index // peers, world=self.args.world_size // peers, fields=_FIELDS,
                micro_batch=self._train_batch_size, commits=self.args.process_index % peers == 0, **self._riffle_options)
        return DataLoader(self.riffle, batch_size=None, collate_fn=inputs_of,
                          num_workers=min(1, self.args.dataloader_num_workers),
                          pin_memory=self.args.dataloader_pin_memory and torch.cuda.is_available(),
                          # Without one it draws from torch's own, behind what the Trainer has restored: other dropout.
                          generator=torch.Generator())

    def _init_training_state(self, *words: Any, **more: Any) -> Tuple[int, int]:
        found = super()._init_training_state(*words, **more)
        saved = self.state.stateful_callbacks.setdefault(RiffleCallback.__name__, self._riffle_follows.state())
        saved = saved[-1] if isinstance(saved, list) else saved
        self._riffle_follows.resume(saved["attributes"].get("riffle"), self.state.global_step)
        return found

    def _load_callback_state(self) -> None:
        """Puts callbacks of the checkpoint in place of ours; this one belongs to its Trainer."""
        callbacks = self.callback_handler.callbacks
        place = callbacks.index(self._riffle_follows)
        callbacks.remove(self._riffle_follows)
        try:
            super()._load_callback_state()
        finally:
            callbacks.insert(place, self._riffle_follows)

    def compute_loss(self, model: Any, inputs: Dict[str, Any], *words: Any, num_items_in_batch: Any = None, **more: Any) -> Any:
        about = inputs.pop("riffle", None)
        if about is None:
            return super().compute_loss(model, inputs, *words, num_items_in_batch=num_items_in_batch, **more)
        self._riffle_follows.begin(about, len(inputs["input_ids"]))
        labels, found = inputs["shift_labels"], []
        # Not by return_outputs, for which TRL makes another forward pass.
        hook = model.register_forward_hook(lambda module, given, outputs: found.append(outputs))
        try:
            result = super().compute_loss(model, inputs, *words, num_items_in_batch=num_items_in_batch, **more)
        finally:
            hook.remove()
        if self._riffle_losses:
            loss = (result[0] if isinstance(result, tuple) else result).detach()
            summed = num_items_in_batch is not None and self.model_accepts_loss_kwargs
            if summed:
                shared = self.args.average_tokens_across_devices
                loss = loss * num_items_in_batch / (self.accelerator.num_processes // self.get_tp_size() if shared else 1)
            self._riffle_follows.add(found, labels, about["domains"], loss, summed)
        return result


class RiffleCallback(TrainerCallback, ExportableState):
    """Follows the optimiser's steps: lr_scale around each, what was trained behind it. Its state is in trainer_state.json."""

    def __init__(self, trainer: Any):
        self._trainer = trainer
        self._first = 0  # the mix's step minus global_step
        self._rows: List[Tuple[List[str], torch.Tensor, torch.Tensor]] = []
        self._scale: Optional[LrScale] = None
        self._unsure = _LOOKS
        self._sequences = 0

    def state(self) -> Dict[str, Any]:
        dataset = self._trainer.riffle
        known = {} if dataset is None else {
            "riffle": dataset.state_dict(step=self._trainer.state.global_step + self._first)}
        return {"args": {}, "attributes": known}

    def resume(self, saved: Optional[Mapping[str, Any]], global_step: int) -> None:
        dataset = self._trainer.riffle
        if saved and global_step > 0:
            dataset.load_state_dict(saved)
        self._first = dataset._step_of_state() - global_step
        dataset.until = self._first + self._trainer.args.max_steps  # a worker reads ahead

    # ---- a micro-batch ----

    def begin(self, about: Mapping[str, Any], sequences: int) -> None:
        trainer, step = self._trainer, int(about["step"])
        if step != trainer.state.global_step + self._first:
            raise self._mismatch(f"step {step} comes where training is at step {trainer.state.global_step + self._first}")
        self._sequences += sequences
        trainer.riffle_step = dict(about)
        if self._scale is not None:
            self._scale.factor = about["lr_scale"]

    def _mismatch(self, what: str) -> UsageError:
        args, dataset = self._trainer.args, self._trainer.riffle
        return UsageError(
            f"mix {dataset.mix}: {what}: per_device_train_batch_size ({self._trainer._train_batch_size}) x "
            f"gradient_accumulation_steps ({args.gradient_accumulation_steps}) x data-parallel ranks ({dataset.world}) must be "
            "the global_batch of the mix")

    @torch.no_grad()
    def add(self, outputs: List[Any], labels: torch.Tensor, domains: List[str], loss: torch.Tensor,
            summed: bool) -> None:
        """The losses of the tokens, summed by sequence. `loss`: their mean, or sum, as the Trainer has it."""
        rows = _losses_of(outputs, labels)
        counted = labels != -100
        self._rows.append((domains, rows.double().sum(1), counted.sum(1)))
        if self._unsure > 0:
            self._check_shift(rows.sum() / (1 if summed else counted.sum()), outputs[-1], labels, loss, summed)

    def _check_shift(self, once: torch.Tensor, outputs: Any, labels: torch.Tensor, loss: torch.Tensor, summed: bool) -> None:
        """A model that does not take `shift_labels` shifts the labels a second time, silently. Looks until the two losses
        can be told apart."""
        self._unsure -= 1
        if getattr(outputs, "logits", None) is None:
            return
        twice = torch.nn.functional.cross_entropy(outputs.logits[:, :-1].float().flatten(0, 1), labels[:, 1:].flatten(),
                                                  reduction="sum" if summed else "mean")
        if abs(twice - once) > 1e-3 * once:
            self._unsure = 0
            if abs(loss - twice) < 1e-4 * twice and abs(loss - once) > 4 * abs(loss - twice):
                raise UsageError(
                    f"{type(self._trainer.model).__name__} does not take `shift_labels`: it shifts the labels, which are shifted "
                    "already, a second time. Override compute_loss(), or give it a loss_function that takes them")

    def _add_rows(self) -> None:
        """The losses of the step by domain, which wait on their device until it ends."""
        for domains, losses, counts in self._rows:
            for domain, loss, count in zip(domains, losses.tolist(), counts.tolist()):
                if count > 0:
                    self._trainer.riffle.add_sums({domain: (loss, 0.0, count)})
        self._rows = []

    # ---- what the Trainer calls ----

    def on_train_begin(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        if self._trainer._riffle_scales:
            self._scale = LrScale(self._trainer.optimizer)

    def on_step_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        trained, dataset = self._sequences * self._trainer.riffle.world, self._trainer.riffle
        self._add_rows()
        self._sequences = 0
        if trained != dataset._places.batch:
            raise self._mismatch(
                f"a training step had {trained} sequences, a step of the mix has {dataset._places.batch or 'more'}")
        dataset.trained(int(self._trainer.riffle_step["step"]))

    def on_train_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        if self._scale is not None:
            self._scale.close()
        self._trainer.riffle.flush()


class Trainer(RiffleMixin, transformers.Trainer):
    """transformers.Trainer over a mix."""
