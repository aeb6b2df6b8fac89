"""riffle in verl: prompts for its RL trainers, by `custom_cls`, and sequences for its SFT trainer.

    data.custom_cls.path=pkg://riffle.integrations.verl data.custom_cls.name=Prompts
    data.train_files=riffle:pretrain data.shuffle=false data.train_batch_size=16      # the mix's global_batch
    +data.riffle.bootstrap=kafka:9092 +data.riffle.steps=1000

Files that do not begin with `riffle:` (those of data.val_files) are read by verl's own data set. Item i is sequence i of the mix,
in step i // B at place i % B; verl's checkpoint (data.pt) holds how many batches were taken. A domain is a prompt's
`data_source`, and what its configuration keeps of a document (`keep`) are its reward fields.
"""

from __future__ import annotations

import functools
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence

import torch
from torch.utils.data import DistributedSampler

from ..errors import UsageError
from ..torch import MapDataset

__all__ = ["Prompts", "Conversations", "SFTMixin"]

PREFIX = "riffle:"
_PROMPT, _ANSWER = "prompt", "answer"


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


class Prompts(_Items):
    """For RL: data.custom_cls. An item has raw_prompt, data_source, reward_model and extra_info, as verl's RLHFDataset gives
    them.

    data.riffle: options of riffle.torch.MapDataset; prompt: the kept field that is the prompt, text or a list of messages
    ("prompt"; where it is not kept, the tokens are decoded); answer: the kept field that is reward_model.ground_truth
    ("answer"). What is kept is in extra_info, with index, step, phase and lr_scale.

    on_batch_end(), which verl's trainer calls after each update, commits all steps whose prompts have been used up. Trainers
    that refill groups take prompts of later steps for that: then an update is no step of the mix, and lr_scale does not map.
    """

    def __new__(cls, data_files: Any = None, *words: Any, **more: Any) -> Any:
        if cls is Prompts and data_files is not None and _mix_of(data_files) is None:
            from verl.utils.dataset.rl_dataset import RLHFDataset
            return RLHFDataset(data_files, *words, **more)
        return super().__new__(cls)

    def __init__(self, data_files: Any, tokenizer: Any, config: Mapping[str, Any], processor: Any = None,
                 max_samples: int = -1):
        options = _options_of(config, max_samples)
        self.tokenizer = tokenizer
        self._prompt, self._answer = options.pop("prompt", _PROMPT), options.pop("answer", _ANSWER)
        super().__init__(str(_mix_of(data_files)), options, config, max_samples, (
            "input_ids", "labels", "position_ids", "used", "domains", "step", "lr_scale", "phase", "keep"))

    def _row(self, item: Dict[str, Any], index: int) -> Dict[str, Any]:
        self._whole(item, index)
        kept = item["keep"][0]
        prompt = kept.get(self._prompt)
        if prompt is None:
            prompt = self.tokenizer.decode(item["input_ids"][:int(item["used"])].tolist(), skip_special_tokens=True)
        about = {name: item[name] for name in ("step", "phase", "lr_scale")}
        return {
            "raw_prompt": prompt if isinstance(prompt, list) else [{"role": "user", "content": prompt}],
            "data_source": item["domains"], "reward_model": {"style": "rule", "ground_truth": kept.get(self._answer)},
            "extra_info": {**kept, **about, "index": index}, "index": index, "tools_kwargs": {}, "interaction_kwargs": {},
            "dummy_tensor": torch.tensor([0], dtype=torch.uint8)}  # or DataProto has an empty batch

    def on_batch_end(self, batch: Any) -> None:
        """All steps below the furthest prompt of an update are trained, that of the prompt, too, where it is its last."""
        whole = (max(int(index) for index in batch.non_tensor_batch["index"]) + 1) // self.batch
        if whole > self.state_dict()["step"]:
            self.trained(whole - 1)


class Conversations(_Items):
    """For SFT: data.custom_cls. Items of input_ids, position_ids and loss_mask (1: the token is a target), and attention_mask
    where data.pad_mode is "right"."""

    def __new__(cls, parquet_files: Any = None, *words: Any, **more: Any) -> Any:
        if cls is Conversations and parquet_files is not None and _mix_of(parquet_files) is None:
            from verl.utils.dataset.multiturn_sft_dataset import MultiTurnSFTDataset
            return MultiTurnSFTDataset(parquet_files, *words, **more)
        return super().__new__(cls)

    def __init__(self, parquet_files: Any, tokenizer: Any, config: Mapping[str, Any], processor: Any = None,
                 max_samples: int = -1):
        self._pads, self._length = str(config.get("pad_mode", "no_padding")), int(config.get("max_length", 0))
        if self._pads not in ("right", "no_padding"):
            raise UsageError(f"data.pad_mode is {self._pads}; a mix has sequences that are padded right, or not")
        super().__init__(str(_mix_of(parquet_files)), _options_of(config, max_samples), config, max_samples, (
            "input_ids", "labels", "position_ids", "used", "domains"))

    def _row(self, item: Dict[str, Any], index: int) -> Dict[str, Any]:
        self._whole(item, index)
        ids, labels = item["input_ids"], item["labels"]
        used = min(int(item["used"]), len(ids))
        targets = torch.zeros(len(ids), dtype=torch.int64)
        targets[1:] = labels[:-1] != -100  # verl's loss moves the mask back by one
        if self._pads == "no_padding":
            return {"input_ids": ids[:used], "position_ids": item["position_ids"][:used], "loss_mask": targets[:used]}
        more = self._length - len(ids)
        if more < 0:
            raise UsageError(f"data.max_length is {self._length}, and sequences of mix {self.mix} have {len(ids)} tokens")
        rows = {"input_ids": ids, "position_ids": item["position_ids"], "loss_mask": targets,
                "attention_mask": (torch.arange(len(ids)) < used).long()}
        return {name: torch.nn.functional.pad(row, (0, more)) for name, row in rows.items()}


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
    gives each data-parallel rank its lanes, a step of the mix for each of the trainer's, and what was trained is committed."""

    def _build_dataloader(self) -> None:
        super()._build_dataloader()  # type: ignore[misc]
        data = self.train_dataset  # type: ignore[attr-defined]
        if not isinstance(data, Conversations):
            return
        loader, sampler = self.train_dataloader, self.train_sampler  # type: ignore[attr-defined,has-type]
        data.take_rank(sampler.rank, sampler.num_replicas)
        self.train_sampler = InOrder(data, sampler.num_replicas, sampler.rank)
        self.train_dataloader = _told(type(loader))(
            dataset=data, batch_size=len(data.places), sampler=self.train_sampler, collate_fn=self.collate_fn,  # type: ignore[attr-defined]
            num_workers=loader.num_workers, drop_last=True)
        self.train_dataloader.trainer = self


@functools.lru_cache(maxsize=None)
def _told(kind: type) -> type:
    """A loader of which a batch is trained once the one behind it is asked for, as SFTTrainer's loop does."""

    class Told(kind):  # type: ignore[misc,valid-type]
        trainer: Any = None

        def __iter__(self) -> Iterator[Any]:
            step = int(getattr(self.trainer, "resume_global_step", 0) or 0)
            for batch in super().__iter__():
                yield batch
                self.dataset.trained(step)
                step += 1

    return Told
