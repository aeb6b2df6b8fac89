"""The data set of a data-parallel rank, as the adapters have it: where a training begins, who commits, losses by domain.

**Where a training begins.** A checkpoint of the framework wins. Without one the model is new and has trained nothing, so the
data begin at step 0, or at the `step` that is given, whatever the run has committed: a training that was killed before its
first checkpoint begins where it began, and the steps that it had committed are read again, with a warning. `resume` chooses:
"start" is the same without the warning, "error" an error, "commits" begins where the run has committed.

**Who commits.** Tensor, pipeline and context parallel peers read the same lanes. One of them commits and reports, the one
whose `commits` is true; the others only note what was trained.
"""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Sequence

from .._optional import needs

with needs(__name__):
    import torch

from ..doremi import Sums, add_sums, domain_sums
from ..errors import UsageError
from ..progress import Losses
from ..torch import Dataset

__all__ = ["RankDataset", "is_first_of_peers", "refuse"]

GROUP = ("rank", "world", "micro_batch", "fields")  # what every framework knows itself
ALL = GROUP + ("step", "skip_to", "mask_boundaries", "cu_seqlens", "padding_side", "uneven", "resume")  # and some


class RankDataset(Dataset):
    """A :class:`riffle.torch.Dataset` with these rules; `options` are its own.

    step: where a training without a checkpoint begins. resume: as above; without it a training begins as with "start", and
    warns if the run has commits. skip_to: steps below it are passed over, also where a checkpoint says
    an earlier one: the `resume` of a :class:`riffle.Spike`, with the checkpoint of the framework that it names. Later
    checkpoints are beyond it, so that it may stay. commits: of the processes that read the same lanes, this one commits.
    """

    def __init__(self, mix: str, bootstrap: Optional[str] = None, *, step: Optional[int] = None, skip_to: int = 0,
                 commits: bool = True, resume: Optional[str] = None, **options: Any):
        begins = step is not None or skip_to > 0 or resume not in ("commits", "start")
        super().__init__(mix, bootstrap, step=max(step or 0, skip_to) if begins else None, resume=resume, **options)
        self.commits, self.skip_to = commits, skip_to
        self._sums: Dict[str, Any] = {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        if isinstance(state, Mapping) and int(state.get("step", self.skip_to)) < self.skip_to:
            state = {"samples": 0, **state, "step": self.skip_to}  # Composer's count of samples does not go forward
        super().load_state_dict(state)

    def _warn_of_commits(self, begin: int) -> None:
        if self.rank == 0 and self.commits:
            super()._warn_of_commits(begin)

    def _again(self, begin: int, committed: int) -> str:
        return (f"READ-AGAIN run {self.run} of mix {self.mix} has committed all steps below {committed}, and the framework has "
                f"loaded no checkpoint: a new model begins at step {begin}, and reads them again. To continue, load the "
                f"checkpoint; for another training name another run, or set this one back: riffle runs --reset {self.run} --to {begin}")

    # ---- losses by domain ----

    def add(self, losses: torch.Tensor, domains: Sequence[str], mask: torch.Tensor) -> None:
        """Adds the losses of the tokens of a micro-batch, [n, S], to those of the step."""
        self.add_sums(domain_sums(losses, domains, mask=mask))

    def add_sums(self, sums: Sums) -> None:
        """The same for what domain_sums() gives."""
        add_sums(self._sums, sums)

    # ---- what was trained ----

    def trained(self, step: Optional[int] = None, losses: Optional[Losses] = None) -> None:
        """As of Dataset; `losses`: None: those of add() since the last call."""
        sums, self._sums = self._sums, {}
        super().trained(step, losses or sums or None)


def refuse(options: Mapping[str, Any], whose: str, names: Sequence[str] = GROUP) -> None:
    """What the framework knows is no option."""
    for name in names:
        if name in options:
            raise UsageError(f"{name} is {whose}: leave it out")


def processes() -> int:
    """Of torch.distributed."""
    group = torch.distributed.is_available() and torch.distributed.is_initialized()
    return torch.distributed.get_world_size() if group else 1


def is_first_of_peers(rank: int, world: int) -> bool:
    """Whether this process is the first of those with the data-parallel rank `rank` of `world`. Collective where some share
    one."""
    if processes() in (1, world):
        return True
    ranks: List[Any] = [None] * processes()
    torch.distributed.all_gather_object(ranks, rank)
    return ranks.index(rank) == torch.distributed.get_rank()
