"""riffle in Grain: an IterDataset of the steps of a mix, also for MaxText.

    dataset = riffle.integrations.grain.IterDataset("pretrain", "kafka:9092", rank=jax.process_index(), world=jax.process_count())
    items = iter(dataset.mp_prefetch(grain.MultiprocessingOptions(num_workers=1)))
    for step, item in enumerate(items, first):
        state = train(state, item)            # {"inputs": int32 [n, S], ...}
        dataset.trained(step)                 # commits
        items.get_state()                     # exact, whatever is fetched ahead

An element is this rank's part of a whole step; `map` cuts it if need be. get_state() names the step that comes next, and is
understood at any world size; that of mp_prefetch is one of each worker, which Grain understands at the same number of workers.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, Optional

import numpy as np

from .._optional import needs

with needs(__name__):
    import grain

from ..errors import UsageError
from ..progress import Losses
from ..sequences import Sequences
from ..step import Step

__all__ = ["IterDataset", "maxtext"]

IGNORED = -100


def arrays(step: Step) -> Dict[str, np.ndarray]:
    """input_ids, labels (-100: no loss), position_ids, document_ids, domain_index, all int32 [n, S] but the last, [n]."""
    t = step.targets(ignored=IGNORED)
    return {"input_ids": t.input_ids.astype(np.int32), "labels": t.labels.astype(np.int32), "position_ids": t.position_ids,
            "document_ids": t.document_ids, "domain_index": step.domain_index.astype(np.int32)}


def maxtext(step: Step) -> Dict[str, np.ndarray]:
    """MaxText's keys, int32 [n, S]: inputs, targets, and position and segmentation of each. Segments are documents, from 1 in
    each sequence; 0: padding, and of targets no loss."""
    t = step.targets(ignored=IGNORED)
    real = np.arange(t.input_ids.shape[1]) < step.used.astype(np.int64)[:, None]
    segments = np.where(real, t.document_ids + 1, 0).astype(np.int32)
    wanted = t.labels != IGNORED
    return {"inputs": t.input_ids.astype(np.int32), "inputs_position": t.position_ids, "inputs_segmentation": segments,
            "targets": np.where(wanted, t.labels, 0).astype(np.int32), "targets_position": t.position_ids,
            "targets_segmentation": np.where(wanted, segments, 0)}


class IterDataset(grain.IterDataset):
    """The steps of one rank of a mix. `element` makes an element of a riffle.Step; `options` are those of riffle.Sequences:
    steps= is where it ends. step: the first one, where no state is set.

    With several workers of mp_prefetch each gives every k-th step, and Grain puts them in order again.
    """

    def __init__(self, mix: str, bootstrap: Optional[str] = None, *, step: int = 0,
                 element: Callable[[Step], Any] = arrays, **options: Any):
        super().__init__()
        if step < 0:
            raise UsageError(f"step is {step}")
        self.sequences = Sequences(mix, bootstrap, prepare=element, keep=1, **options)
        self.first, self.stride = step, 1

    def set_slice(self, sl: slice, sequential_slice: bool = False) -> None:
        """For workers: every k-th step."""
        if sequential_slice:
            raise UsageError("sequential_slice: a mix has no end to cut it by; leave it out, and workers give every k-th step")
        self.first, self.stride = self.first + (sl.start or 0) * self.stride, self.stride * (sl.step or 1)

    def __iter__(self) -> "StepIterator":
        return StepIterator(self)

    def trained(self, step: Optional[int] = None, losses: Optional[Losses] = None) -> None:
        """As of riffle.Sequences; in the process that trains, wherever the reader is."""
        self.sequences.trained(step, losses)

    def close(self) -> None:
        self.sequences.close()

    def __str__(self) -> str:
        return f"riffle.IterDataset(mix={self.sequences.mix})"


class StepIterator(grain.DatasetIterator):
    def __init__(self, dataset: IterDataset):
        super().__init__()
        self._dataset, self._next = dataset, dataset.first

    def __next__(self) -> Any:
        s = self._dataset.sequences
        if s.steps is not None and self._next >= s.steps:
            raise StopIteration
        try:
            found = s.step(self._next)
        except IndexError:
            if s.steps is not None:
                raise
            raise StopIteration from None
        self._next += self._dataset.stride
        return found

    def get_state(self) -> Dict[str, Any]:
        return self._dataset.sequences.state_dict(step=self._next)

    def set_state(self, state: Dict[str, Any]) -> None:
        self._next = self._dataset.sequences._checkpoints.step_of(state)
