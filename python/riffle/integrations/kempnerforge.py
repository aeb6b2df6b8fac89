"""riffle in KempnerForge: the loader of a data-parallel rank, for a branch of its scripts/train.py (docs/TRAINERS.md shows it).

    elif config.data.dataset_path.startswith("riffle:"):
        dataloader = make_loader(config, optimizer, rank=dp_rank, world=dp_size)

data.dataset_path is riffle:MIX or riffle:MIX/RUN, and $RIFFLE_BOOTSTRAP names the broker.
"""

from __future__ import annotations

from typing import Any, Dict

from .._optional import needs

with needs(__name__):
    import torch

from ..errors import UsageError
from .dataset import refuse
from .loader import RankLoader

__all__ = ["make_loader"]

PREFIX = "riffle:"


def make_loader(config: Any, optimizer: Any, *, rank: int, world: int, **options: Any) -> RankLoader:
    """The steps of the mix, in micro-batches of train.batch_size. The learning rates of a step are multiplied by lr_scale of
    its phase, inside of optimizer.step(). Behind that the training calls trained(). `options` are those of
    :class:`RankDataset`."""
    refuse(options, "KempnerForge's")
    mix, _, run = config.data.dataset_path[len(PREFIX):].partition("/")
    if not config.data.dataset_path.startswith(PREFIX) or not mix:
        raise UsageError(f"data.dataset_path is {config.data.dataset_path!r}: must be {PREFIX}MIX or {PREFIX}MIX/RUN")
    if config.data.phases or config.data.anneal_start_step > 0:
        raise UsageError("data.phases and data.anneal_start_step are KempnerForge's own: a mix has mix.phases, with lr_scale")
    length = config.train.seq_len

    def batch_of(item: Dict[str, Any]) -> Dict[str, torch.Tensor]:
        if item["input_ids"].shape[1] != length:
            raise UsageError(f"mix {mix} has sequences of {item['input_ids'].shape[1]} tokens, and train.seq_len is {length}")
        return {"input_ids": item["input_ids"], "labels": item["labels"], "doc_ids": item["document_ids"].long()}

    loader = RankLoader(mix, rank=rank, world=world, run=run or "trainers", micro_batch=config.train.batch_size, item=batch_of,
                    **options)
    loader.scales(optimizer)
    return loader
