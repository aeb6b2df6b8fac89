"""riffle in TRL: supervised fine-tuning over a mix, whose sequences are packed, and whose prompts are masked, already.

    trainer = riffle.integrations.trl.SFTTrainer(model, args, riffle={"mix": "chats"}, processing_class=tokenizer)

All else is as of :class:`riffle.integrations.transformers.RiffleMixin`, which other trainers of TRL take in the same way.
"""

from __future__ import annotations

from typing import Any

from .._optional import needs

with needs(__name__):
    import datasets
    import trl

from ..errors import UsageError
from .transformers import RiffleMixin

__all__ = ["SFTTrainer"]


class SFTTrainer(RiffleMixin, trl.SFTTrainer):
    """trl.SFTTrainer over a mix. packing, padding_free and assistant_only_loss are the mix's own: leave them out."""

    def __init__(self, model: Any, args: trl.SFTConfig, *words: Any, **more: Any):
        for name in ("packing", "padding_free", "assistant_only_loss"):
            if getattr(args, name, False):
                raise UsageError(f"{name}: sequences of a mix are packed, and prompts masked, when they are produced: leave it out")
        args.dataset_kwargs = {**(args.dataset_kwargs or {}), "skip_prepare_dataset": True}
        # TRL looks at the first row of a data set, and never reads it: the loader is the mixin's.
        more["train_dataset"] = datasets.Dataset.from_list([{"input_ids": [0], "labels": [0]}])
        super().__init__(model, args, *words, **more)
