"""DoReMi in the training process: weights of domains, from a proxy model's loss over a reference model's.

The algorithm is that of Xie and others, arXiv 2305.10429, algorithm 1; consumer/reweight/doremi.h states it. A proxy is
trained on the loss sum_i weight_i * (mean loss of domain i over the whole step), and the weights of a step come from
the losses of that same step:

    doremi = riffle.DoReMi(["code", "web"])
    for step in reader:
        with torch.no_grad():                     # 1. what this step's losses are, over all micro-batches
            for part in parts(step):
                doremi.add(riffle.domain_sums(token_loss(proxy, part), part.domains, mask=part.mask,
                                              reference=token_loss(reference, part)))
        sums = doremi.sums                        #    (what reader.report() takes)
        doremi.update()                           # 2. the weights, over all ranks
        for part in parts(step):                  # 3. gradients, all under these weights
            weight = torch.from_numpy(doremi.loss_weights(part.domains))[:, None]
            (token_loss(proxy, part) * part.mask * weight).sum().backward()
        optimizer.step()

With a single micro-batch one forward pass does: take domain_sums() of the losses with their graph, update(), weigh
them, backward(). With several, computing the weights after each would train all but the last on weights that are
those of the step before; add() does not change any weight, and loss_weights() before update() is an error.
"""

from __future__ import annotations

import math
import sys
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple

import numpy as np

from .errors import DataError, UsageError

__all__ = ["DoReMi", "add_sums", "domain_sums", "all_reduced"]

Sums = Mapping[str, Tuple[float, float, int]]

_MEAN_MAX = 1e6  # nats a token; what is above counts as so much (LOSSES_MEAN_MAX)


def _numpy(values: Any) -> np.ndarray:
    """A numpy array of what may be a tensor, on any device and of any float type."""
    if hasattr(values, "detach"):
        values = values.detach()
        if values.dtype.is_floating_point:
            values = values.double()
        return values.cpu().numpy()
    return np.asarray(values)


def _real(name: str, values: Any) -> np.ndarray:
    """The same as float64."""
    try:
        found = _numpy(values)
        if found.dtype.kind in "cSU":  # of which numpy makes float64
            raise UsageError(f"{name} are {found.dtype}: must be real numbers")
        return found.astype(np.float64, copy=False)
    except UsageError:
        raise
    except (TypeError, ValueError) as why:  # rows of several lengths
        raise UsageError(f"{name} are not an array of numbers, [n, S]: {why}") from None


def domain_sums(losses: Any, domains: Sequence[str], *, mask: Any = None, reference: Any = None
                ) -> Dict[str, Tuple[float, float, int]]:
    """Sums for :meth:`riffle.Reader.report` and :meth:`DoReMi.add`: {domain: (loss_sum, excess_sum, tokens)}.

    losses: [n, S], numpy or torch: the loss of each token, in nats. domains: the n names of the sequences' domains.
    mask: [n, S], true (not 0) where there is a loss; None: everywhere. reference: [n, S]: the reference model's
    losses of the same tokens; the excess max(0, loss - reference) is clipped a token. None: excess_sum is 0.
    Sums are float64 whatever the losses are; masked tokens count for nothing, also where they are no numbers.
    Domains without a token that counts are left out.
    """
    loss = _real("losses", losses)
    if loss.ndim != 2 or loss.shape[0] != len(domains):
        raise UsageError(f"losses are {list(loss.shape)}, and there are {len(domains)} domains: they are [n, S] and n")
    kept = np.ones(loss.shape, bool) if mask is None else _numpy(mask)
    if kept.dtype != bool and not np.isin(kept, (0, 1)).all():
        raise UsageError("mask has other values than 0 and 1; of labels it is labels != -100")
    kept = kept != 0
    if kept.shape != loss.shape:
        raise UsageError(f"losses are {list(loss.shape)}, and the mask has {list(kept.shape)}: must be one loss for each label")
    excess = np.zeros_like(loss)
    if reference is not None:
        other = _real("reference losses", reference)
        if other.shape != loss.shape:
            raise UsageError(f"reference losses are {list(other.shape)}, losses are {list(loss.shape)}")
        excess = np.where(kept, loss - other, 0)
        excess = np.where(excess < 0, 0.0, excess)  # not np.maximum: NaN stays, so that it is seen and dropped
    rows = np.where(kept, loss, 0).sum(axis=1), excess.sum(axis=1), kept.sum(axis=1)
    sums: Dict[str, Tuple[float, float, int]] = {}
    for i, domain in enumerate(domains):
        if rows[2][i] > 0:
            add_sums(sums, {domain: (rows[0][i], rows[1][i], rows[2][i])})
    return sums


def add_sums(total: Dict[str, Tuple[float, float, int]], sums: Sums) -> None:
    """Adds the sums of a micro-batch, as of domain_sums(), to those of its step."""
    for domain, (loss, excess, tokens) in sums.items():
        before = total.get(domain, (0.0, 0.0, 0))
        total[domain] = (before[0] + float(loss), before[1] + float(excess), before[2] + int(tokens))


def all_reduced(values: Sequence[float], group: Any = None) -> List[float]:
    """The sums of `values` over all ranks of torch.distributed, in float64; where it is not initialised, or torch is
    not imported, the values themselves."""
    torch = sys.modules.get("torch")
    distributed = getattr(torch, "distributed", None)
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return list(values)
    device = "cuda" if distributed.get_backend(group) == "nccl" else "cpu"
    tensor = torch.tensor(list(values), dtype=torch.float64, device=device)
    distributed.all_reduce(tensor, group=group)
    return tensor.tolist()


class StepSums:
    """Sums of one step over micro-batches and ranks; what DoReMi and ODM share."""

    def __init__(self, domains: Iterable[str]):
        self.domains: List[str] = sorted(domains)
        if not self.domains or len(set(self.domains)) != len(self.domains):
            raise UsageError(f"domains must be distinct names, at least one: {self.domains}")
        self.dropped = 0  #: losses that were no finite numbers
        self._sums: Dict[str, Tuple[float, float, int]] = {}

    @property
    def sums(self) -> Dict[str, Tuple[float, float, int]]:
        """What add() has gathered on this rank since the last update()."""
        return dict(self._sums)

    def add(self, sums: Sums) -> None:
        """Adds the sums of a micro-batch to the step's. Changes no weight."""
        unknown = set(sums) - set(self.domains)
        if unknown:
            raise UsageError(f"unknown domains {', '.join(sorted(unknown))}; known are {', '.join(self.domains)}")
        add_sums(self._sums, sums)

    def _take(self, group: Any) -> Dict[str, Tuple[float, float, int]]:
        """The step's sums over all ranks; those of domains whose losses are numbers on every rank that has them."""
        flat: List[float] = []
        for domain in self.domains:
            loss, excess, tokens = self._sums.get(domain, (0.0, 0.0, 0))
            good = math.isfinite(loss) and math.isfinite(excess) and excess >= 0 and tokens >= 0
            self.dropped += not good
            flat += (loss, excess, tokens) if good else (0.0, 0.0, 0)
        self._sums = {}
        flat = all_reduced(flat, group)
        return {d: (flat[3 * i], flat[3 * i + 1], round(flat[3 * i + 2])) for i, d in enumerate(self.domains)}


def mean_of(total: float, tokens: int) -> float:
    return min(max(total / tokens, -_MEAN_MAX), _MEAN_MAX)


class DoReMi(StepSums):
    """Weights of domains by DoReMi, in process; the same numbers as `riffle reweight --method doremi`.

    Parameters
    ----------
    domains: their names; sorted here.
    reference: {domain: weight} that the reference model was trained with, where the weights start: the last round's
        result. None: uniform.
    eta, smoothing: step size, and the part of each step's weights that is uniform (the paper's 1 and 1e-3).
    """

    def __init__(self, domains: Iterable[str], *, reference: Optional[Mapping[str, float]] = None, eta: float = 1.0,
                 smoothing: float = 1e-3):
        super().__init__(domains)
        if not 0 < eta < math.inf or not 0 <= smoothing < 1:
            raise UsageError(f"eta is {eta} and smoothing {smoothing}: eta must be above 0, and smoothing at least 0 and below 1")
        start = {d: 1.0 if reference is None else float(reference.get(d, 0)) for d in self.domains}
        if any(not w > 0 or not math.isfinite(w) for w in start.values()):
            raise UsageError("every domain needs a reference weight above 0: DoReMi multiplies weights")
        self.eta, self.smoothing, self.steps = eta, smoothing, 0
        total = _sum(start.values())
        #: {domain: weight} after the last update(); they sum to 1
        self.weights: Dict[str, float] = {d: w / total for d, w in start.items()}
        #: the result: the average of `weights` over all updates
        self.average: Dict[str, float] = dict(self.weights)
        #: {domain: mean excess} that the last step which had the domain gave
        self.excess: Dict[str, float] = dict.fromkeys(self.domains, 0.0)
        self._tokens: Optional[Dict[str, int]] = None  # of the step that was updated last, over all ranks

    def add(self, sums: Sums) -> None:
        super().add(sums)
        self._tokens = None

    def update(self, sums: Optional[Sums] = None, *, group: Any = None) -> Dict[str, float]:
        """Ends a step: adds `sums` (None: all came by add()), sums up over all ranks of torch.distributed where it is
        initialised (then every rank calls this), and returns the weights for this same step. A loss that is no finite
        number is dropped and counted; a domain without tokens keeps the excess that it had."""
        if sums is not None:
            self.add(sums)
        step = self._take(group)
        for d, (_, excess, tokens) in step.items():
            if tokens > 0:
                self.excess[d] = max(mean_of(excess, tokens), 0.0)
        highest = max(0.0, *self.excess.values())
        grown = {d: self.weights[d] * math.exp(self.eta * (self.excess[d] - highest)) for d in self.domains}
        total, n = _sum(grown.values()), len(self.domains)
        self.steps += 1
        for d in self.domains:
            share = grown[d] / total if total > 0 else 1 / n
            self.weights[d] = (1 - self.smoothing) * share + self.smoothing / n
            before = self.average[d] if self.steps > 1 else self.weights[d]
            self.average[d] = before + (self.weights[d] - before) / self.steps
        self._tokens = {d: tokens for d, (_, _, tokens) in step.items()}
        return dict(self.weights)

    def loss_weights(self, domains: Sequence[str], world: int = 1) -> np.ndarray:
        """float64 [n]: by what the token losses of sequences of these domains are to be multiplied so that their sum,
        over all micro-batches and ranks, is sum_i weight_i * (mean loss of domain i in this step). `world`: the
        number of ranks where gradients are averaged over them, as DistributedDataParallel does; 1 where they are
        summed. An error between add() and update(): the weights would be those of the step before."""
        if self._tokens is None:
            raise UsageError("loss_weights() before update(): the weights of this step are not known yet")
        factor = {d: world * self.weights[d] / n if n > 0 else 0.0 for d, n in self._tokens.items()}
        return np.array([factor[d] for d in domains], np.float64)

    def state_dict(self) -> Dict[str, Any]:
        """For the checkpoint, between two steps."""
        if self._sums:
            raise UsageError("state_dict() between add() and update(): a checkpoint stands between two steps")
        return {"domains": list(self.domains), "eta": self.eta, "smoothing": self.smoothing, "steps": self.steps,
                "weights": dict(self.weights), "average": dict(self.average), "excess": dict(self.excess),
                "dropped": self.dropped}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes on from a checkpoint. DataError where it is of other domains."""
        if list(state["domains"]) != self.domains:
            raise DataError(f"the checkpoint is of domains {', '.join(state['domains'])}, not {', '.join(self.domains)}")
        self.eta, self.smoothing, self.steps = state["eta"], state["smoothing"], int(state["steps"])
        self.weights, self.average = dict(state["weights"]), dict(state["average"])
        self.excess, self.dropped = dict(state["excess"]), int(state["dropped"])
        self._sums, self._tokens = {}, None


def _sum(values: Iterable[float]) -> float:
    """In order, as C adds; sum() of newer Pythons compensates."""
    total = 0.0
    for value in values:
        total += value
    return total
