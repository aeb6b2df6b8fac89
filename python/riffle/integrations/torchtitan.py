"""riffle in torchtitan: a data loader, and a Trainer that knows what was trained. For both interfaces of a loader: that of
0.3.0, whose items are [b, S], and that of main since August 2026, whose items are b * S tokens in a row.

    config = Trainer.Config(..., dataloader=DataLoader.Config(mix="pretrain", bootstrap="kafka:9092"))
    trainer = config.build()
    trainer.train()

A training step is a step of the mix: local_batch_size x accumulation x data-parallel ranks is its global_batch.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, Dict, Iterator, List, Optional, Tuple

from .._optional import needs

with needs(__name__):
    import torch
    import tyro
    from torchtitan.components.tokenizer import BaseTokenizer
    from torchtitan import trainer as titan

    try:
        from torchtitan.components.data.loader import BaseDataLoader
        FLAT = True
    except ImportError:
        from torchtitan.components.dataloader import BaseDataLoader
        FLAT = False

from ..errors import UsageError
from .dataset import refuse
from .loader import RankLoader

__all__ = ["NoTokenizer", "DataLoader", "Trainer"]


class NoTokenizer(BaseTokenizer):
    """What a Trainer builds where none is needed: a mix is of tokens already."""

    @dataclass(kw_only=True, slots=True)
    class Config(BaseTokenizer.Config):
        pass

    def __init__(self, config: Config, **unused: Any):
        super().__init__()

    def encode(self, *words: Any, **more: Any) -> List[int]:
        raise UsageError("the mix has no text: set `tokenizer` for what needs one")

    decode = get_vocab_size = encode


class DataLoader(BaseDataLoader):
    """The steps of a mix, as micro-batches of the trainer's size. Its state is the step that comes next, at any number of
    ranks; positions begin at 0 in each document, which torchtitan makes masks of."""

    @dataclass(kw_only=True, slots=True)
    class Config(BaseDataLoader.Config):
        mix: str = ""
        """Name of the mix."""
        bootstrap: Optional[str] = None
        """host:port of a broker; without it $RIFFLE_BOOTSTRAP or localhost:9092."""
        run: str = "trainers"
        """Name of the training run, by which it commits."""
        options: Annotated[Dict[str, Any], tyro.conf.Suppress] = field(default_factory=dict)
        """More of riffle.torch.Dataset, step= and skip_to= (riffle.integrations.dataset)."""

    def __init__(self, config: Config, *, dp_rank: int, dp_world_size: int, seq_len: int = 0, local_batch_size: int = 0,
                 max_context_length: int = 0, num_tokens_per_batch: int = 0, **unused: Any):
        refuse(config.options, "torchtitan's")
        self._length = max_context_length if FLAT else seq_len
        if FLAT and num_tokens_per_batch % self._length != 0:
            raise UsageError(f"a micro-batch of {num_tokens_per_batch} tokens is no number of sequences of max_context_length "
                             f"({self._length})")
        self.loader = RankLoader(config.mix, config.bootstrap, rank=dp_rank, world=dp_world_size, run=config.run,
                             micro_batch=num_tokens_per_batch // self._length if FLAT else local_batch_size,
                             item=self._batch_of, **config.options)

    def _batch_of(self, item: Dict[str, Any]) -> Tuple[Dict[str, torch.Tensor], torch.Tensor]:
        ids, positions, labels = item["input_ids"], item["position_ids"], item["labels"]
        if ids.shape[1] != self._length:
            raise UsageError(f"mix {self.loader.dataset.mix} has sequences of {ids.shape[1]} tokens: set training."
                             f"{'max_context_length' if FLAT else 'seq_len'} to that; it is {self._length}")
        if FLAT:
            ids, positions, labels = ids.flatten(), positions.flatten(), labels.flatten()
        return {"input": ids, "positions": positions}, labels

    def __iter__(self) -> Iterator[Tuple[Dict[str, torch.Tensor], torch.Tensor]]:
        return iter(self.loader)

    def state_dict(self) -> Dict[str, Any]:
        return self.loader.state_dict()

    def load_state_dict(self, state_dict: Dict[str, Any]) -> None:
        self.loader.load_state_dict(state_dict)

    def close(self) -> None:
        self.loader.close()


class Trainer(titan.Trainer):
    """A Trainer whose steps are those of a mix: lr_scale inside of the optimisers' step, commits behind it, and losses by
    domain, from a second look at the logits. (losses=False where there are none: loss functions in chunks, pipelines,
    CUDA graphs. They are left out there.)"""

    @dataclass(kw_only=True, slots=True)
    class Config(titan.Trainer.Config):
        tokenizer: BaseTokenizer.Config = field(default_factory=NoTokenizer.Config)
        riffle_losses: bool = True
        """Report losses by domain."""
        riffle_lr_scale: bool = True
        """Multiply the learning rates of a step by what its phase says."""

    def __init__(self, config: Config):
        super().__init__(config)
        if not isinstance(self.dataloader, DataLoader):
            raise UsageError("Trainer is for the loader of DataLoader.Config")
        if config.riffle_lr_scale:
            self.dataloader.loader.scales(*self.optimizers.optimizers)
        whole = not hasattr(self.loss_fn, "set_lm_head") and config.training.disable_cuda_graphs
        if config.riffle_losses and whole and not self.parallel_dims.pp_enabled:
            self.loss_fn = _ByDomain(self.loss_fn, self.dataloader.loader)

    def train_step(self, data_iterator: Iterator[Any]) -> None:
        super().train_step(data_iterator)
        self.dataloader.loader.trained()

    def close(self) -> None:
        if hasattr(self, "dataloader"):
            self.dataloader.close()
        super().close()


class _ByDomain:
    """A loss function that also passes the losses of tokens on."""

    def __init__(self, function: Any, loader: RankLoader):
        self._function, self._loader = function, loader

    def __getattr__(self, name: str) -> Any:
        return getattr(self._function, name)

    def __call__(self, logits: torch.Tensor, labels: torch.Tensor, *words: Any, **more: Any) -> Any:
        found = self._function(logits, labels, *words, **more)
        rows = logits.detach().reshape(-1, logits.shape[-1])
        if rows.shape[0] == labels.numel() and self._loader.waiting:  # not where tensor parallelism cuts them
            with torch.no_grad():
                losses = torch.nn.functional.cross_entropy(rows.float(), labels.reshape(-1), reduction="none")
            self._loader.add(losses, labels)
        return found
