"""riffle for PyTorch: an IterableDataset over a mix, and one over a held-out set."""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Mapping, Optional, Tuple

import numpy as np
import torch
import torch.distributed
import torch.utils.data

from .errors import UsageError
from .reader import Reader, Reporter, committed_step, step_of_state, token_dtype
from .step import Step, cu_seqlens
from .validation import Validation

__all__ = ["Dataset", "ValidationDataset", "batch_of"]


def batch_of(step: Step, first: int = 0, end: Optional[int] = None, *, mask_boundaries: bool = False,
             with_cu_seqlens: bool = False) -> Dict[str, Any]:
    """Sequences [first, end) of a step as what a model takes; n = end - first, S tokens each.

    input_ids: int64 [n, S]; labels: int64 [n, S], -100 where there is no loss; position_ids: int32 [n, S], from 0 in
    each stretch of a document; document_ids: int32 [n, S], stretches of the sequence from 0; domain_index: int64 [n];
    domains: list of n names; step: int; lr_scale: float; phase: str. With cu_seqlens also cu_seqlens: int32 [k + 1]
    over the flattened n * S tokens, and max_seqlen: int.
    """
    return _slice(_Ready(step, mask_boundaries), first, len(step) if end is None else end, with_cu_seqlens)


class _Ready:
    """A step with its targets, which are computed once for all of its micro-batches."""

    def __init__(self, step: Step, mask_boundaries: bool):
        self.step = step
        self.targets = step.targets(mask_boundaries=mask_boundaries)


def _slice(ready: _Ready, first: int, end: int, with_cu_seqlens: bool) -> Dict[str, Any]:
    step, t = ready.step, ready.targets
    item: Dict[str, Any] = {
        "input_ids": torch.from_numpy(t.input_ids[first:end]),
        "labels": torch.from_numpy(t.labels[first:end]),
        "position_ids": torch.from_numpy(t.position_ids[first:end]),
        "document_ids": torch.from_numpy(t.document_ids[first:end]),
        "domain_index": torch.from_numpy(step.domain_index[first:end].astype(np.int64)),
        "domains": step.domains[first:end],
        "step": step.step,
        "lr_scale": step.lr_scale,
        "phase": step.phase,
    }
    if with_cu_seqlens:
        cumulative = cu_seqlens(t.position_ids[first:end])
        item["cu_seqlens"] = torch.from_numpy(cumulative)
        item["max_seqlen"] = int(np.diff(cumulative).max())
    return item


def _distributed() -> Tuple[int, int]:
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        return torch.distributed.get_rank(), torch.distributed.get_world_size()
    return 0, 1


class Dataset(torch.utils.data.IterableDataset):
    """The steps of one rank of a mix, in order. An item is a whole step, or a micro-batch of it: give it to a
    DataLoader (or torchdata's StatefulDataLoader) with batch_size=None. Items are as :func:`batch_of` says.

    Parameters
    ----------
    mix, bootstrap, run, properties, commit_every, timeout, ahead_bytes, threads: as of riffle.Reader.
    rank, world: None: of torch.distributed where it is initialised when this is made, else 0 and 1.
    step: first step. None: where the run has committed; under torch.distributed rank 0 asks the broker and tells all
        others (so making a Dataset is then collective), before anyone commits. A checkpoint wins over both.
    micro_batch: sequences of an item; divides those of a step. None: the whole step.
    mask_boundaries: labels that are the first token of another document are -100 too.
    cu_seqlens: items have them.

    The state is {"mix", "run", "step"}, `step` the first one that was not given whole: a checkpoint between two
    micro-batches of a step begins that step again. It is understood at any world size.

    Workers: worker 0 of a DataLoader reads, others have nothing to give; one is enough, for the library reads ahead
    in threads of its own. Nothing is connected before iteration begins in the process that reads, so that neither
    fork nor spawn harm. Every iteration goes on where the last one, or load_state_dict(), stands.
    """

    def __init__(self, mix: str, bootstrap: Optional[str] = None, *, run: str = "trainers",
                 rank: Optional[int] = None, world: Optional[int] = None, step: Optional[int] = None,
                 micro_batch: Optional[int] = None, mask_boundaries: bool = False, cu_seqlens: bool = False,
                 commit_every: int = 0, timeout: Optional[float] = None, ahead_bytes: int = 0, threads: int = 0,
                 properties: Optional[Mapping[str, Any]] = None, open_timeout: float = 10.0):
        super().__init__()
        if (rank is None) != (world is None):
            raise UsageError("give both rank and world, or neither")
        if micro_batch is not None and micro_batch < 1:
            raise UsageError(f"micro_batch is {micro_batch}")
        self.mix, self.bootstrap, self.run, self.properties = mix, bootstrap, run, dict(properties or {})
        self.rank, self.world = _distributed() if rank is None or world is None else (rank, world)
        self.micro_batch, self.mask_boundaries, self.cu_seqlens = micro_batch, mask_boundaries, cu_seqlens
        self.commit_every, self.timeout, self.open_timeout = commit_every, timeout, open_timeout
        self.ahead_bytes, self.threads = ahead_bytes, threads
        self._dtype = token_dtype(np.uint32)
        self._step = step
        self._why: Optional[Exception] = None  # the run's position could not be found
        self._reader: Optional[Reader] = None
        self._reporter: Optional[Reporter] = None
        if step is None:
            self._find_start()

    def _find_start(self) -> None:
        found: List[Any] = [None]
        if not self._shared() or self.rank == 0:
            try:
                found[0] = committed_step(self.mix, self.bootstrap, run=self.run, properties=self.properties,
                                          open_timeout=self.open_timeout)
            except Exception as why:  # not needed where a checkpoint is loaded
                found[0] = why
        if self._shared():
            torch.distributed.broadcast_object_list(found, src=0)
        if isinstance(found[0], Exception):
            self._why = found[0]
        else:
            self._step = found[0]

    def _shared(self) -> bool:
        return (self.rank, self.world) == _distributed() and self.world > 1

    def __getstate__(self) -> Dict[str, Any]:
        return {**self.__dict__, "_reader": None, "_reporter": None}

    # ---- state ----

    def state_dict(self) -> Dict[str, Any]:
        """{"mix", "run", "step"}."""
        if self._step is None and self._why is not None:
            raise self._why
        return {"mix": self.mix, "run": self.run, "step": self._step}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Iteration goes on at the step of the checkpoint. DataError where it is of another mix."""
        self._step = step_of_state(state, self.mix)
        self._why = None

    # ---- steps ----

    def __iter__(self) -> Iterator[Dict[str, Any]]:
        worker = torch.utils.data.get_worker_info()
        if worker is not None and worker.id > 0:
            return iter(())
        return self._items()

    def _items(self) -> Iterator[Dict[str, Any]]:
        if self._step is None and self._why is not None:
            raise self._why
        with Reader(self.mix, self.bootstrap, self.rank, self.world, run=self.run, step=self._step,
                    dtype=self._dtype, commit_every=self.commit_every, timeout=self.timeout,
                    ahead_bytes=self.ahead_bytes, threads=self.threads, properties=self.properties,
                    open_timeout=self.open_timeout) as reader:
            self._reader = reader
            try:
                for step in reader:
                    yield from self._items_of(step)
            finally:
                self._reader = None

    def _items_of(self, step: Step) -> Iterator[Dict[str, Any]]:
        n = len(step)
        each = self.micro_batch or n
        if n % each != 0:
            raise UsageError(f"micro_batch {each} does not divide the {n} sequences of a step of this rank")
        ready = _Ready(step, self.mask_boundaries)
        for first in range(0, n, each):
            if first + each == n:
                self._step = step.step + 1
            yield _slice(ready, first, first + each, self.cu_seqlens)

    # ---- back to the mix ----

    @property
    def reader(self) -> Optional[Reader]:
        """The reader, while an iteration goes on in this process (num_workers 0)."""
        return self._reader

    def report(self, step: int, losses: Mapping[str, Tuple[float, float, int]]) -> None:
        """Reports losses of a step, as riffle.Reader.report; works in the main process, wherever the reader is."""
        if self._reader is not None:
            self._reader.report(step, losses)
            return
        if self._reporter is None:
            self._reporter = Reporter(self.mix, self.bootstrap, self.rank, self.world, run=self.run,
                                      properties=self.properties, open_timeout=self.open_timeout)
        self._reporter.report(step, losses)


class ValidationDataset(torch.utils.data.IterableDataset):
    """A held-out set as :class:`riffle.Validation` reads it; items as :func:`batch_of` says, the last one shorter.

    With rank and world (None: of torch.distributed) each rank gets the batches whose number is its own modulo world:
    sums of losses and tokens over all ranks are those of the whole set.
    """

    def __init__(self, validation: Validation, *, rank: Optional[int] = None, world: Optional[int] = None,
                 mask_boundaries: bool = False, cu_seqlens: bool = False):
        super().__init__()
        if (rank is None) != (world is None):
            raise UsageError("give both rank and world, or neither")
        self.validation = validation
        self.rank, self.world = _distributed() if rank is None or world is None else (rank, world)
        self.mask_boundaries, self.cu_seqlens = mask_boundaries, cu_seqlens

    def __iter__(self) -> Iterator[Dict[str, Any]]:
        worker = torch.utils.data.get_worker_info()
        if worker is not None and worker.id > 0:
            return
        for step in self.validation:
            if step.step % self.world == self.rank:
                yield batch_of(step, mask_boundaries=self.mask_boundaries, with_cu_seqlens=self.cu_seqlens)
