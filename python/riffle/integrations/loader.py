"""The loader of a data-parallel rank, for trainers that keep a loader, save its state_dict(), and count their own steps.
OLMo-core's and torchtitan's adapters are made of it; KempnerForge, or a loop of your own, takes it as it is.

    loader = RankLoader("pretrain", "kafka:9092", rank=dp_rank, world=dp_size, micro_batch=4)
    loader.scales(optimizer)                  # lr_scale of the step, inside of each optimizer.step()
    for item in loader:                       # a micro-batch, as riffle.torch.batch_of() says
        losses = model(item)                  # of its tokens, [n, S]
        loader.add(losses, item["labels"])    # for the means by domain
        ...
        optimizer.step()                      # behind the last micro-batch of the step
        loader.trained()                      # commits, and reports the losses
        save(loader.state_dict())
"""

from __future__ import annotations

from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional

from .._optional import needs

with needs(__name__):
    import torch

from ..errors import UsageError
from ..torch import LrScale
from .dataset import RankDataset, is_first_of_peers

__all__ = ["RankLoader"]


class RankLoader:
    """The steps of a data-parallel rank, cut into micro-batches.

    mix, bootstrap, micro_batch and `options` are as of :class:`RankDataset`. rank, world: of the data-parallel group; tensor,
    pipeline and context parallel peers have the same ones, read the same lanes, and the first of them commits and reports.
    Where torch.distributed has more processes than `world`, making a RankLoader is collective. item: what the trainer takes,
    made of an item of the data set.

    For trainers that fetch nothing ahead: the state is behind the last step that was given whole.

    step, phase and lr_scale are those of the item that was given last.
    """

    def __init__(self, mix: str, bootstrap: Optional[str] = None, *, rank: int, world: int, micro_batch: Optional[int] = None,
                 item: Optional[Callable[[Dict[str, Any]], Any]] = None, **options: Any):
        if "fields" in options:
            raise UsageError("fields: the loader needs all; `item` makes what the trainer takes of them")
        self.dataset = RankDataset(mix, bootstrap, rank=rank, world=world, micro_batch=micro_batch,
                                   commits=is_first_of_peers(rank, world), **options)
        self._item = item or (lambda given: given)
        self.step: Optional[int] = None
        self.phase, self.lr_scale = "", 1.0
        self._scales: List[LrScale] = []
        self._begin()

    def _begin(self) -> None:
        self._steps, self._follows = 0, False  # given since trained(); whether that was ever called
        self._waiting: List[List[str]] = []  # the domains of micro-batches whose losses did not come yet

    # ---- items ----

    def __iter__(self) -> Iterator[Any]:
        for item in self.dataset:
            if item["step"] != self.step or self._steps == 0:
                self._start(item)
            self._waiting.append(item["domains"])
            yield self._item(item)

    def _start(self, item: Mapping[str, Any]) -> None:
        if self._follows and self._steps > 0:
            raise self._no_step()
        self.step, self.phase, self.lr_scale = item["step"], item["phase"], item["lr_scale"]
        self._steps += 1
        self._waiting = []
        for scale in self._scales:
            scale.factor = self.lr_scale

    def _no_step(self) -> UsageError:
        each = self.dataset.micro_batch
        return UsageError(
            f"an optimiser step of the trainer is not a step of mix {self.dataset.mix} (step {self.step}): "
            f"sequences of a micro-batch{f' ({each})' if each else ''} x accumulation x data-parallel ranks "
            f"({self.dataset.world}) must be the global_batch of the mix")

    # ---- around the optimiser's step ----

    def scales(self, *optimizers: Any) -> None:
        """From now on their learning rates are multiplied by lr_scale, inside of step() alone."""
        for optimizer in optimizers:
            self._scales.append(LrScale(optimizer, self.lr_scale))

    def add(self, losses: torch.Tensor, labels: torch.Tensor) -> None:
        """The losses of the tokens of a micro-batch, n x S of them in any shape; micro-batches in the order in which they
        were given."""
        if not self._waiting:
            raise UsageError("add(): the losses of all micro-batches that were given are known already")
        domains = self._waiting.pop(0)
        shape = len(domains), -1
        self.dataset.add(losses.detach().float().reshape(shape), domains, labels.reshape(shape) != -100)

    def trained(self) -> None:
        """The optimiser has made its step, of all that was given since the call before."""
        if self._steps != 1 or self.dataset._places.given != self.step + 1:
            raise self._no_step()
        self._steps, self._follows = 0, True
        self.dataset.trained(self.step)

    @property
    def waiting(self) -> int:
        """Micro-batches whose losses did not come yet."""
        return len(self._waiting)

    # ---- state ----

    def state_dict(self, *unused: Any) -> Dict[str, Any]:
        """The step that comes next, and what tells its mix from others, at any number of ranks, whatever a trainer says."""
        return self.dataset.state_dict(step=self.dataset._places.given)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        if state:
            self.dataset.load_state_dict(state)
            self._begin()

    def flush(self) -> None:
        """Waits until commits and reports are confirmed."""
        self.dataset.flush()

    def close(self) -> None:
        for scale in self._scales:
            scale.close()
        self._scales = []
        self.dataset.close()

