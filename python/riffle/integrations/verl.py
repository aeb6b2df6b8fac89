"""riffle in verl: prompts for its RL trainers, by `custom_cls`, and sequences for its SFT trainer.

    data.custom_cls.path=pkg://riffle.integrations.verl data.custom_cls.name=RLDataset
    data.train_files=riffle:pretrain data.shuffle=false data.train_batch_size=16      # the mix's global_batch
    +data.riffle.bootstrap=kafka:9092 +data.riffle.steps=1000

Files that do not begin with `riffle:` (those of data.val_files) are read by verl's own data set. Item i is sequence i of the mix,
in step i // B at place i % B; verl's checkpoint (data.pt) holds how many batches were taken. What the configuration keeps of a
document (`keep`) is the row that verl would have read from its file.
"""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence

from .._optional import needs

with needs(__name__):
    import torch
    from torch.utils.data import DistributedSampler

from ..doremi import Sums, add_sums
from ..errors import DataError, UsageError
from ..torch import LrScale, MapDataset

__all__ = ["RLDataset", "SFTDataset", "SFTMixin"]

PREFIX = "riffle:"
_SCALE, _DOMAIN = "riffle_lr_scale", "riffle_domain"  # in items for SFT: float32 [1], and a name


def _mix_of(files: Any) -> Optional[str]:
    """The mix that a list of files names; None: they are files."""
    names = [files] if isinstance(files, str) else list(files or [])
    if not any(str(name).startswith(PREFIX) for name in names):
        return None
    if len(names) != 1:
        raise UsageError(f"data files {', '.join(map(str, names))}: a mix is one name, riffle:MIX, and mixes its sources itself")
    return str(names[0])[len(PREFIX):]


def _options_of(config: Mapping[str, Any], max_samples: int) -> Dict[str, Any]:
    """data.riffle of verl's configuration: options of riffle.torch.MapDataset, and the names of kept fields."""
    options = dict(config.get("riffle") or {})
    if max_samples > 0 and "steps" in options:
        raise UsageError("train_max_samples and data.riffle.steps both say how much there is: give one")
    return options


class _Items(MapDataset):
    """What both have: one document a sequence, without padding."""

    def __init__(self, mix: str, options: Dict[str, Any], config: Mapping[str, Any], max_samples: int, fields: Sequence[str]):
        super().__init__(mix, options.pop("bootstrap", None), fields=fields, **options)
        given = config.get("train_batch_size")
        if given is not None and int(given) != self.batch:
            raise UsageError(f"data.train_batch_size is {given}, and a step of mix {mix} has {self.batch} sequences: they must "
                             "be the same")
        if max_samples > 0:
            self.steps = max_samples // self.batch
        if config.get("shuffle"):
            raise UsageError(f"data.shuffle is true, and mix {mix} is shuffled already: each prompt would be a seek. Set "
                             "data.shuffle=false")

    def __getitem__(self, index: int) -> Dict[str, Any]:
        return self._row(super().__getitem__(index), int(index))

    def __getitems__(self, indexes: Sequence[int]) -> List[Dict[str, Any]]:
        return [self._row(item, int(index)) for item, index in zip(super().__getitems__(indexes), indexes)]

    def _row(self, item: Dict[str, Any], index: int) -> Dict[str, Any]:
        """What verl takes of an item of MapDataset."""
        raise NotImplementedError

    def _whole(self, item: Mapping[str, Any], index: int) -> None:
        if int((item["position_ids"][:int(item["used"])] == 0).sum()) != 1:
            raise UsageError(f"sequence {index} of mix {self.mix} holds several documents, or a piece of one, and verl takes one a "
                             f"row: give domain {item['domains']} `packing: none`")


class RLDataset(_Items):
    """For RL: data.custom_cls. An item is what verl's RLHFDataset makes of a row, and the row is what the mix keeps of the
    document: `prompt` (data.prompt_key; a list of messages, or the text of one) and `reward_model`, both needed, and whatever
    else rewards and agents take: `extra_info`, `ability`, `agent_name`... `data_source` is the domain where it is not kept.
    All documents of a mix keep the same fields, as columns of verl's files are the same in all rows.

    data.riffle: options of riffle.torch.MapDataset; answer: a kept field that is reward_model.ground_truth, where no
    reward_model is kept. extra_info also has index, step, phase and lr_scale.

    on_batch_end(), which verl's trainer calls after each update but the last, commits all steps whose prompts have been used
    up. Trainers that refill groups take prompts of later steps for that: then an update is no step of the mix, and lr_scale
    does not map.
    """

    def __new__(cls, data_files: Any = None, *words: Any, **more: Any) -> Any:
        if cls is RLDataset and data_files is not None and _mix_of(data_files) is None:
            from verl.utils.dataset.rl_dataset import RLHFDataset
            return RLHFDataset(data_files, *words, **more)
        return super().__new__(cls)

    def __init__(self, data_files: Any, tokenizer: Any, config: Mapping[str, Any], processor: Any = None,
                 max_samples: int = -1):
        options = _options_of(config, max_samples)
        self._prompt, self._answer = str(config.get("prompt_key") or "prompt"), options.pop("answer", None)
        super().__init__(str(_mix_of(data_files)), options, config, max_samples, (
            "input_ids", "labels", "position_ids", "used", "domains", "step", "lr_scale", "phase", "keep"))

    def _row(self, item: Dict[str, Any], index: int) -> Dict[str, Any]:
        self._whole(item, index)
        row = dict(item["keep"][0])
        prompt, reward = self._kept(row, self._prompt, item, index), self._reward(row, item, index)
        extra = {**(row.get("extra_info") or {}), **{name: item[name] for name in ("step", "phase", "lr_scale")}, "index": index}
        return {
            "data_source": item["domains"], **row, "reward_model": reward, "extra_info": extra, "index": index,
            "raw_prompt": prompt if isinstance(prompt, list) else [{"role": "user", "content": prompt}],
            "tools_kwargs": extra.get("tools_kwargs", {}), "interaction_kwargs": extra.get("interaction_kwargs", {}),
            "dummy_tensor": torch.tensor([0], dtype=torch.uint8)}  # or DataProto has an empty batch

    def _reward(self, row: Mapping[str, Any], item: Mapping[str, Any], index: int) -> Any:
        if self._answer is not None and row.get("reward_model") is None:
            return {"style": "rule", "ground_truth": self._kept(row, self._answer, item, index)}
        return self._kept(row, "reward_model", item, index)

    def _kept(self, row: Mapping[str, Any], name: str, item: Mapping[str, Any], index: int) -> Any:
        if row.get(name) is None:
            raise DataError(f"sequence {index} of mix {self.mix} (domain {item['domains']}) keeps no {name}, which verl needs; it "
                            f"keeps {', '.join(sorted(row)) or 'nothing'}: add it to what the domain keeps (riffle-source --keep, "
                            "or the field `keep` of its records)")
        return row[name]

    def on_batch_end(self, batch: Any) -> None:
        """All steps below the furthest prompt of an update are trained, that of the prompt, too, where it is its last."""
        indexes = [int(index) for index in batch.non_tensor_batch["index"]]
        whole, trained = (max(indexes) + 1) // self.batch, self._places.known
        if min(indexes) == 0 and trained > 1:
            raise UsageError(f"verl begins again at the first prompt of mix {self.mix}, of which {trained} steps are trained: a mix "
                             "has no epochs. Set trainer.total_epochs=1, and data.riffle.steps to all that is wanted")
        if whole > trained:
            self.trained(whole - 1)


class SFTDataset(_Items):
    """For SFT: data.custom_cls. Items of input_ids, position_ids and loss_mask (1: the token is a target), and attention_mask
    where data.pad_mode is "right"; besides them what SFTMixin takes out again."""

    def __new__(cls, parquet_files: Any = None, *words: Any, **more: Any) -> Any:
        if cls is SFTDataset and parquet_files is not None and _mix_of(parquet_files) is None:
            from verl.utils.dataset.multiturn_sft_dataset import MultiTurnSFTDataset
            return MultiTurnSFTDataset(parquet_files, *words, **more)
        return super().__new__(cls)

    def __init__(self, parquet_files: Any, tokenizer: Any, config: Mapping[str, Any], processor: Any = None,
                 max_samples: int = -1):
        self._pads, self._length = str(config.get("pad_mode", "no_padding")), int(config.get("max_length", 0))
        if self._pads not in ("right", "no_padding"):
            raise UsageError(f"data.pad_mode is {self._pads}; a mix has sequences that are padded right, or not")
        super().__init__(str(_mix_of(parquet_files)), _options_of(config, max_samples), config, max_samples, (
            "input_ids", "labels", "position_ids", "used", "domains", "lr_scale"))

    def _row(self, item: Dict[str, Any], index: int) -> Dict[str, Any]:
        self._whole(item, index)
        ids, labels = item["input_ids"], item["labels"]
        used = min(int(item["used"]), len(ids))
        targets = torch.zeros(len(ids), dtype=torch.int64)
        targets[1:] = labels[:-1] != -100  # verl's loss moves the mask back by one
        about = {_SCALE: torch.tensor([item["lr_scale"]], dtype=torch.float32), _DOMAIN: item["domains"]}
        if self._pads == "no_padding":
            return {"input_ids": ids[:used], "position_ids": item["position_ids"][:used], "loss_mask": targets[:used], **about}
        more = self._length - len(ids)
        if more < 0:
            raise UsageError(f"data.max_length is {self._length}, and sequences of mix {self.mix} have {len(ids)} tokens")
        rows = {"input_ids": ids, "position_ids": item["position_ids"], "loss_mask": targets,
                "attention_mask": (torch.arange(len(ids)) < used).long()}
        return {**{name: torch.nn.functional.pad(row, (0, more)) for name, row in rows.items()}, **about}


class InOrder(DistributedSampler):
    """Indexes of the lanes of one data-parallel rank, step by step."""

    def __init__(self, dataset: MapDataset, num_replicas: int, rank: int):
        super().__init__(dataset, num_replicas, rank, shuffle=False, drop_last=True)

    def __iter__(self) -> Iterator[int]:
        return iter(self.dataset.indexes())

    def __len__(self) -> int:
        return len(self.dataset) // self.dataset.batch * len(self.dataset.places)


class SFTMixin:
    """In front of verl's SFTTrainer, whose sampler shuffles and has no switch: class Trainer(SFTMixin, SFTTrainer). The loader
    gives each data-parallel rank its lanes, a step of the mix for each of the trainer's. Around each training step: lr_scale
    inside of the optimiser's step (of engines whose `optimizer` is of torch, as FSDP's), behind it what was trained, with
    losses by domain, by one process of those that read the same lanes."""

    def _build_dataloader(self) -> None:
        super()._build_dataloader()  # type: ignore[misc]
        data = self.train_dataset  # type: ignore[attr-defined]
        if not isinstance(data, SFTDataset):
            return
        epochs = self.config.trainer.total_epochs  # type: ignore[attr-defined]
        if epochs != 1:
            raise UsageError(f"trainer.total_epochs is {epochs}, and mix {data.mix} has no epochs: set 1, and data.riffle.steps to all "
                             "that is wanted")
        loader, sampler = self.train_dataloader, self.train_sampler  # type: ignore[attr-defined,has-type]
        data.take_rank(sampler.rank, sampler.num_replicas)
        data.commits = self.engine.is_mp_src_rank_with_outputs()  # type: ignore[attr-defined]
        self.train_sampler = InOrder(data, sampler.num_replicas, sampler.rank)
        self.train_dataloader = type(loader)(
            dataset=data, batch_size=len(data.places), sampler=self.train_sampler, collate_fn=self.collate_fn,  # type: ignore[attr-defined]
            num_workers=loader.num_workers, drop_last=True)
        _Follow(self, data)


class _Follow:
    """Follows the steps of an SFTTrainer, between it and its worker."""

    def __init__(self, trainer: Any, data: SFTDataset):
        self._trainer, self._data = trainer, data
        self._scale: Optional[LrScale] = None
        self._step: Optional[int] = None
        self._sums: Dict[str, Any] = {}
        client = trainer.training_client
        self._train, self._loss = client.train_batch, client.loss_fn
        client.train_batch = self.train_batch
        client.set_loss_fn(loss_fn=self.loss)

    def train_batch(self, data: Any) -> Any:
        if self._step is None:
            self._step = int(self._trainer.resume_global_step or 0)  # what is known once the checkpoint is loaded
        scales = data.pop(_SCALE)
        factor = float((scales.values() if scales.is_nested else scales).flatten()[0])
        if factor != 1.0 and self._scale is None:  # an engine whose optimiser is not of torch cannot have another one
            self._scale = LrScale(self._trainer.engine.optimizer)
        if self._scale is not None:
            self._scale.factor = factor
        output = self._train(data=data)
        sums, self._sums = self._sums, {}
        self._data.trained(self._step, sums or None)
        self._step += 1
        return output

    def loss(self, model_output: Any = None, data: Any = None, dp_group: Any = None, **more: Any) -> Any:
        """verl's loss function, and the losses of its micro-batch by domain, while it trains."""
        if torch.is_grad_enabled() and self._data.commits and _DOMAIN in data.keys():
            add_sums(self._sums, sums_of(model_output["log_probs"].detach(), data))
        return self._loss(model_output=model_output, data=data, dp_group=dp_group, **more)


def sums_of(log_probs: torch.Tensor, data: Any) -> Sums:
    """The losses of a micro-batch by domain, as verl's sft_loss sums them; none where rows are padded."""
    sums: Dict[str, Any] = {}
    if log_probs.is_nested:
        for domain, row, mask in zip(data[_DOMAIN], log_probs.unbind(), data["loss_mask"].unbind()):
            kept = torch.roll(mask, -1).bool()  # the first of a row is no target
            add_sums(sums, {str(domain): (-row[kept].double().sum(), 0.0, kept.sum())} if kept.any() else {})
    return sums
