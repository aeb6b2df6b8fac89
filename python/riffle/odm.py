"""ODM in the training process: weights of domains from their losses alone (Albalak and others, arXiv 2312.02406).

A bandit whose reward is the loss; consumer/reweight/odm.h states the algorithm. The weights say from which domains to draw:
`riffle reweight --method odm --live` asks a mix for them, a lead later; here they are for trainers that ask themselves.
"""

from __future__ import annotations

import math
from typing import Any, Dict, Iterable, Mapping, Optional

from .doremi import StepSums, Sums, _sum, mean_of
from .errors import DataError, UsageError

__all__ = ["ODM"]


class ODM(StepSums):
    """Weights of domains by ODM, in process; the same numbers as `riffle reweight --method odm`.

    Parameters
    ----------
    domains: their names; sorted here.
    memory: the part of the smoothed loss that the next step keeps.
    eta: what losses are multiplied by: differences count for more.
    """

    def __init__(self, domains: Iterable[str], *, memory: float = 0.9, eta: float = 1.0):
        super().__init__(domains)
        if not 0 <= memory < 1 or not 0 < eta < math.inf:
            raise UsageError(f"memory is {memory} and eta {eta}: at least 0 and below 1, and above 0")
        self.memory, self.eta, self.steps = memory, eta, 0
        #: {domain: weight} after the last update(); they sum to 1
        self.weights: Dict[str, float] = dict.fromkeys(self.domains, 1 / len(self.domains))
        #: {domain: smoothed loss times eta}
        self.reward: Dict[str, float] = dict.fromkeys(self.domains, 0.0)

    def _exploration(self, steps: int) -> float:
        n = len(self.domains)
        return 1 / n if steps == 0 else min(1 / n, math.sqrt(math.log(n) / (n * steps)))

    def update(self, sums: Optional[Sums] = None, *, group: Any = None) -> Dict[str, float]:
        """Ends a step, as :meth:`riffle.DoReMi.update` does, and returns the weights after it."""
        if sums is not None:
            self.add(sums)
        before, now = self._exploration(self.steps), self._exploration(self.steps + 1)
        for d, (loss, _, tokens) in self._take(group).items():
            if tokens > 0:
                self.reward[d] = self.memory * self.reward[d] + (1 - self.memory) * self.eta * mean_of(loss, tokens)
        highest = max(self.reward.values())
        grown = {d: math.exp(before * (r - highest)) for d, r in self.reward.items()}
        total, n = _sum(grown.values()), len(self.domains)
        self.weights = {d: (1 - n * now) * g / total + now for d, g in grown.items()}
        self.steps += 1
        return dict(self.weights)

    def state_dict(self) -> Dict[str, Any]:
        """For the checkpoint, between two steps."""
        return {"domains": list(self.domains), "memory": self.memory, "eta": self.eta, "steps": self.steps,
                "weights": dict(self.weights), "reward": dict(self.reward), "dropped": self.dropped}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes on from a checkpoint. DataError where it is of other domains."""
        if list(state["domains"]) != self.domains:
            raise DataError(f"the checkpoint is of domains {', '.join(state['domains'])}, not {', '.join(self.domains)}")
        self.memory, self.eta, self.steps = state["memory"], state["eta"], int(state["steps"])
        self.weights, self.reward = dict(state["weights"]), dict(state["reward"])
        self.dropped, self._sums = int(state["dropped"]), {}
