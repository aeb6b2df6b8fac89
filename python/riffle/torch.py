"""riffle for PyTorch: data sets over a mix, by step and by index, and over a held-out set."""

from __future__ import annotations

import os
import sys
from types import FrameType
from typing import Any, Callable, Dict, FrozenSet, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

import numpy as np

from ._optional import needs

with needs(__name__):
    import torch
    import torch.distributed
    import torch.utils.data

from ._arguments import whole
from .checkpoint import log_step
from .errors import RiffleError, UsageError
from .progress import WORDS, Losses
from .rank import Rank
from .reader import Reader, Rounds, find_rounds, rank_of
from .sequences import Sequences
from .step import Step, Targets, cu_seqlens
from .validation import Validation

__all__ = ["Dataset", "LrScale", "MapDataset", "RoundDataset", "ValidationDataset", "batch_of"]

TENSORS = ("input_ids", "labels", "position_ids", "document_ids", "domain_index")
_OTHERS = ("domains", "step", "lr_scale", "phase")
_PACKED = ("cu_seqlens", "max_seqlen")
_WANTED = ("attention_mask", "used", "epoch", "keep", "round")  # only where `fields` names them
_OF_STEP = frozenset(("step", "lr_scale", "phase", "round") + _PACKED)  # fields that are no list of one a sequence
_RESUMES = ("commits", "start", "error")
_UNTRAINED = 16  # steps that are given, before it is said that trained() was not called

Fields = Union[None, str, Sequence[str]]


def _fields_of(fields: Fields, with_cu_seqlens: bool) -> FrozenSet[str]:
    """Names of the fields of an item."""
    if fields is None:
        return frozenset(TENSORS + _OTHERS + (_PACKED if with_cu_seqlens else ()))
    if fields == "tensors":
        return frozenset(TENSORS + (_PACKED[:1] if with_cu_seqlens else ()))
    known = TENSORS + _OTHERS + _PACKED + _WANTED
    names = frozenset([fields] if isinstance(fields, str) else fields)
    if names - set(known) or not names:
        raise UsageError(f"fields: {', '.join(sorted(names - set(known))) or 'none'}; known are {', '.join(known)}, or "
                         "\"tensors\" for all that are tensors")
    return names


def _side_of(padding_side: str) -> str:
    if padding_side not in ("left", "right"):
        raise UsageError(f"padding_side is {padding_side!r}; it must be \"left\" or \"right\"")
    return padding_side


def batch_of(step: Step, first: int = 0, end: Optional[int] = None, *, mask_boundaries: bool = False,
             with_cu_seqlens: bool = False, fields: Fields = None, padding_side: str = "right") -> Dict[str, Any]:
    """Sequences [first, end) of a step as what a model takes; n = end - first, S tokens each.

    input_ids: int64 [n, S]; labels: int64 [n, S], -100 where there is no loss; position_ids: int64 [n, S], from 0 in
    each stretch of a document; document_ids: int32 [n, S], stretches of the sequence from 0; domain_index: int64 [n];
    domains: list of n names; step: int; lr_scale: float; phase: str. With cu_seqlens also cu_seqlens: int32 [k + 1]
    over the flattened n * S tokens, and max_seqlen: int. `fields`: names of those that are wanted, or "tensors": the
    tensors alone. Only by name: attention_mask: int64 [n, S], 0 in the padding; used: int64 [n], tokens of S + 1 before
    the padding; epoch: int64 [n]; round: int, of the mix (None: it has none); keep: list of n lists, what is kept of
    each stretch of a document, parsed.

    padding_side "left" moves the padding of each sequence in front of its tokens, as sampling from prompts needs it.
    """
    ready = _Ready(step, mask_boundaries, _side_of(padding_side))
    return _slice(ready, slice(first, len(step) if end is None else end), _fields_of(fields, with_cu_seqlens))


class _Ready:
    """A step with its targets, which are computed once for all of its micro-batches."""

    def __init__(self, step: Step, mask_boundaries: bool, padding_side: str):
        self.step = step
        self.targets = step.targets(mask_boundaries=mask_boundaries)
        self.left = padding_side == "left"
        if self.left:
            self.targets = Targets(*map(self._padded_left, self.targets))

    def _padded_left(self, rows: np.ndarray) -> np.ndarray:
        """[n, S], with what stands behind `used` moved to the front of each row."""
        length = rows.shape[1]
        used = np.minimum(self.step.used.astype(np.int64), length)
        return np.take_along_axis(rows, (np.arange(length) + used[:, None]) % length, axis=1)

    def mask(self) -> np.ndarray:
        """int64 [n, S]: 1 where there is no padding."""
        length = self.targets.input_ids.shape[1]
        rows = (np.arange(length) < self.step.used[:, None]).astype(np.int64)
        return self._padded_left(rows) if self.left else rows


_FIELDS: Dict[str, Callable[[_Ready, slice], Any]] = {
    "input_ids": lambda r, s: torch.from_numpy(r.targets.input_ids[s]),
    "labels": lambda r, s: torch.from_numpy(r.targets.labels[s]),
    "position_ids": lambda r, s: torch.from_numpy(r.targets.position_ids[s].astype(np.int64)),
    "document_ids": lambda r, s: torch.from_numpy(r.targets.document_ids[s]),
    "domain_index": lambda r, s: torch.from_numpy(r.step.domain_index[s].astype(np.int64)),
    "domains": lambda r, s: r.step.domains[s],
    "step": lambda r, s: r.step.step,
    "lr_scale": lambda r, s: r.step.lr_scale,
    "phase": lambda r, s: r.step.phase,
    "cu_seqlens": lambda r, s: torch.from_numpy(cu_seqlens(r.targets.position_ids[s])),
    "max_seqlen": lambda r, s: int(np.diff(cu_seqlens(r.targets.position_ids[s])).max()),
    "attention_mask": lambda r, s: torch.from_numpy(r.mask()[s]),
    "used": lambda r, s: torch.from_numpy(r.step.used[s].astype(np.int64)),
    "epoch": lambda r, s: torch.from_numpy(r.step.epoch[s].astype(np.int64)),
    "round": lambda r, s: r.step.round,
    "keep": lambda r, s: [[span.kept() for span in r.step.spans(i)] for i in range(s.start, s.stop)],
}


def _slice(ready: _Ready, rows: slice, names: FrozenSet[str]) -> Dict[str, Any]:
    return {name: make(ready, rows) for name, make in _FIELDS.items() if name in names}


def _distributed() -> Tuple[int, int]:
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        return torch.distributed.get_rank(), torch.distributed.get_world_size()
    return 0, 1


def _rank_of(rank: Optional[int], world: Optional[int]) -> Tuple[int, int]:
    if rank is not None or world is not None:
        return rank_of(rank, world)
    group = torch.distributed.is_available() and torch.distributed.is_initialized()
    torchrun = os.environ.get("RANK", ""), os.environ.get("WORLD_SIZE", "")
    if not group and torchrun[0].isdigit() and torchrun[1].isdigit() and int(torchrun[1]) > 1:
        raise UsageError(f"RANK is {torchrun[0]} and WORLD_SIZE {torchrun[1]} in the environment, and torch.distributed is "
                         "not initialised: make the dataset after init_process_group(), or give rank and world")
    return _distributed()


def _check_loader(caller: FrameType) -> None:
    """An item is a batch already. A DataLoader that would stack items is refused: its fetcher is who begins to iterate."""
    fetcher = caller.f_locals.get("self")
    if getattr(fetcher, "auto_collation", False) and getattr(fetcher, "collate_fn", None) is torch.utils.data.default_collate:
        raise UsageError("an item is a batch already (a step, or a micro-batch of it), and this DataLoader would stack them: "
                         "give it batch_size=None. micro_batch says how many sequences an item has")


def _check_no_worker() -> None:
    if torch.utils.data.get_worker_info() is not None:
        raise UsageError("trained() is for the process that trains, and this is a worker of a DataLoader")


class Dataset(Rank, torch.utils.data.IterableDataset):
    """The steps of one rank of a mix, in order. An item is a whole step, or a micro-batch of it: give it to a
    DataLoader with batch_size=None. Items are as :func:`batch_of` says.

        for item in DataLoader(dataset, batch_size=None, num_workers=1):
            train(item)
            dataset.trained(item["step"])               # commits; the last micro-batch of the step says it
            torch.save({"riffle": dataset.state_dict(), ...})

    Parameters
    ----------
    mix, bootstrap, run, properties, timeout, ahead_bytes, threads: as of riffle.Reader.
    commit_every: steps that are trained between two commits, fewer where a quarter of the mix's lead is less; 0: each.
        Nothing is committed because it was read. k > 0 also commits the place of a checkpoint where no step comes from
        there within a second, since the mixer may be waiting for that.
    rank, world: None: of torch.distributed where it is initialised when this is made, else 0 and 1.
    uneven: as of riffle.Reader: world need not divide the lanes of the mix, and ranks have different numbers of sequences.
    resume: where training begins if neither `step` nor a checkpoint says so. "commits", the default: at the run's last commit;
        under torch.distributed rank 0 asks the broker and tells all others (so making a Dataset is then collective), before
        anyone commits. "start": at step 0, for a model that is new. "error": iterating and state_dict() raise a UsageError if
        the run has committed anything. If it is not given and the run has commits, iterating warns (READ-RESUME).
    step: first step, in place of resume="commits" or "start". A checkpoint wins over both.
    micro_batch: sequences of an item; divides those of a step. None: the whole step. Where the mix changes its
        global_batch, a step has more items, or fewer, of the same size.
    mask_boundaries: labels that are the first token of another document are -100 too.
    cu_seqlens: items have them.
    fields: names of the fields that items have, or "tensors": those that are tensors alone. None: all but
        attention_mask, used, epoch and keep, which come only by name.
    padding_side: "left" moves padding in front of the tokens; see batch_of().
    until: iteration ends in front of this step. For a training of so many steps in a framework that fetches ahead: what it
        does not train need not be there. None: the end of the mix.

    The state is {"mix", "run", "step", ...}: `step` is the first one that was not trained, as trained() says. Where
    trained() is not called it is the first one that was not given whole, with a warning, since a framework may fetch
    ahead of training; and an error in a process that cannot know that either, because a worker reads. state_dict(step=n)
    is the state after n steps, for whoever counts them. It is understood at any world size.

    Workers: worker 0 of a DataLoader reads, others have nothing to give; one is enough, for the library reads ahead
    in threads of its own. Nothing is connected before iteration begins in the process that reads, so that neither
    fork nor spawn harm. Every iteration begins behind what was trained; or behind what was given, or at what
    load_state_dict() says; an error where a worker has read ahead and nobody knows how much of that was trained.
    """

    def __init__(self, mix: str, bootstrap: Optional[str] = None, *, run: str = "trainers",
                 rank: Optional[int] = None, world: Optional[int] = None, step: Optional[int] = None,
                 micro_batch: Optional[int] = None, mask_boundaries: bool = False, cu_seqlens: bool = False,
                 fields: Fields = None, commit_every: int = 0, timeout: Optional[float] = None, ahead_bytes: int = 0,
                 threads: int = 0, properties: Optional[Mapping[str, Any]] = None, open_timeout: float = 10.0,
                 uneven: bool = False, padding_side: str = "right", until: Optional[int] = None,
                 resume: Optional[str] = None):
        if resume is not None and resume not in _RESUMES:
            raise UsageError(f"resume is {resume!r}; it must be \"commits\", \"start\" or \"error\"")
        if step is not None and resume in ("commits", "start"):
            raise UsageError(f"step={step} and resume=\"{resume}\" both say where training begins: leave one out")
        for name, value, least in (("micro_batch", micro_batch or None, 1), ("step", step, 0), ("until", until, 0)):
            if value is not None:
                whole(name, value, least, 2**62 - 1)
        self.micro_batch, self.mask_boundaries, self.cu_seqlens = micro_batch, mask_boundaries, cu_seqlens
        self.fields, self.padding_side, self.until = fields, _side_of(padding_side), until
        self._names = _fields_of(fields, cu_seqlens)
        self._shared = torch.zeros(WORDS, dtype=torch.int64).share_memory_()
        rank, world = _rank_of(rank, world)
        super().__init__(mix, bootstrap, rank, world, run=run, commit_every=commit_every, timeout=timeout,
                         ahead_bytes=ahead_bytes, threads=threads, properties=properties, open_timeout=open_timeout,
                         uneven=uneven)
        self._given_step, self._loaded, self._origin = step, False, 0
        self._resume = resume
        self._before: Optional[int] = 0  # sequences from _origin to where it begins; None: all steps were alike
        self._why: Optional[Exception] = None  # the run's position could not be found
        if resume == "start" or (step is not None and resume != "error"):
            self._training.begin(step or 0)
        else:
            self._find_start()
        self._origin = self._places.start

    def _words(self) -> np.ndarray:
        return self._shared.numpy()

    def _find_start(self) -> None:
        found: List[Any] = [None]
        if not self._is_distributed() or self.rank == 0:
            try:
                found[0] = self._committed(self._resume != "error")
                if self._resume == "error" and found[0] > 0:
                    found[0] = UsageError(
                        f"run {self.run} of mix {self.mix} has committed all steps below {found[0]}, and no checkpoint was loaded "
                        "(resume=\"error\"): call load_state_dict(), name another run, or give resume=\"commits\" or "
                        "resume=\"start\"")
            except Exception as why:  # not needed where a checkpoint is loaded
                found[0] = why
        if self._is_distributed():
            torch.distributed.broadcast_object_list(found, src=0)
        if isinstance(found[0], Exception):
            self._why = found[0]
        else:
            self._training.begin(found[0] if self._given_step is None else self._given_step)

    def _is_distributed(self) -> bool:
        return (self.rank, self.world) == _distributed() and self.world > 1

    # ---- state ----

    def state_dict(self, num_samples: Optional[int] = None, from_beginning: bool = True, *,
                   step: Optional[int] = None) -> Dict[str, Any]:
        """{"mix", "run", "step", ...} (riffle.checkpoint). `step`: the number of steps that are trained, where the caller
        counts them. num_samples (as Composer asks): the sequences that are trained over all ranks, since the run began, or
        since this process did; whole steps of them."""
        if num_samples is not None and step is None:
            return self._state_of_samples(num_samples, from_beginning)
        worker = torch.utils.data.get_worker_info()  # a StatefulDataLoader asks it for each item
        return self._checkpoints.state(self._step_of_state() if step is None else step, often=worker is not None)

    def _step_of_state(self) -> int:
        places, worker = self._places, torch.utils.data.get_worker_info()
        if self._why is not None:
            raise self._why
        if places.is_trained and worker is not None and worker.id == 0:
            raise UsageError(
                "a StatefulDataLoader saves what its worker has given, and trained() says what was trained, which may be "
                "less: use torch.utils.data.DataLoader, and save dataset.state_dict() of the process that trains")
        if places.is_trained:
            return places.trained
        if places.given == places.start or places.ended or (worker is not None and worker.id > 0):
            return places.given
        if places.reader != os.getpid():
            raise UsageError(
                f"nobody knows what was trained: a worker has read all steps below {places.given}, ahead of training. Call "
                "trained(step) after each step, or name the step: state_dict(step=n) after n steps")
        self._warn("state", f"the state is of what was given: step {places.given} comes next. Where a framework fetches "
                            "ahead of training (Lightning does), that is too far: call trained(step) after each step, or "
                            "state_dict(step=n) after n steps")
        return places.given

    def _state_of_samples(self, num_samples: int, from_beginning: bool) -> Dict[str, Any]:
        places, origin = self._places, self._origin
        before = self._before if self._before is not None else (places.start - origin) * places.batch
        steps = places.steps_of(num_samples - before if from_beginning else num_samples)
        if self._before is None and places.mixed and places.start > origin:
            steps = None  # what came before `start` is not known
        if num_samples == 0 and from_beginning:
            steps = origin - places.start
        if steps is None:
            raise UsageError(f"{num_samples} sequences are no whole number of steps" + (
                ": the mix has changed its batch" if places.mixed else
                f" of {places.batch} sequences" if places.batch else ", and no step was read yet"))
        state = self._checkpoints.state(places.start + steps)
        samples = num_samples if from_beginning else before + num_samples
        return {**state, **({"origin": origin} if origin > 0 else {}), **({"samples": samples} if samples > 0 else {})}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Iteration resumes at the step of the checkpoint. DataError if it is of another mix, also one of the same name; a
        warning if it is of another run."""
        worker = torch.utils.data.get_worker_info()
        if worker is not None and worker.id > 0:
            return  # it reads nothing
        self._begin_at(self._checkpoints.step_of(state))
        self._origin = whole("the checkpoint's origin", state.get("origin", 0))
        self._before = whole("the checkpoint's samples", state["samples"]) if "samples" in state else None

    def _go_to(self, step: int) -> None:
        """The same for a framework whose checkpoint has the number of steps alone."""
        self._begin_at(step)
        self._origin, self._before = 0, None
        log_step(step, self.mix, self.run)

    def _begin_at(self, step: int) -> None:
        self._training.begin(step)
        self._why, self._loaded = None, True

    # ---- steps ----

    def __iter__(self) -> Iterator[Dict[str, Any]]:
        worker = torch.utils.data.get_worker_info()
        if worker is not None and worker.id > 0:
            return iter(())
        _check_loader(sys._getframe(1))
        return self._items()

    def _begin(self) -> int:
        """The step at which an iteration begins."""
        places = self._places
        if self._why is not None:
            raise self._why
        if places.is_trained:
            return places.trained
        here = torch.utils.data.get_worker_info() is None and places.reader == os.getpid()
        if places.given > places.start and not places.ended and not here:
            raise UsageError(
                f"iterating again: a worker has read all steps below {places.given}, and nobody knows how many were "
                "trained. Call trained(step) after each step, or load_state_dict() with the state to resume from")
        if not self._loaded and places.reader == 0:
            if self._given_step is not None:
                self._warn_of_commits(places.start)
            elif self._resume is None and places.start > 0 and self.rank == 0:
                self._warn("resume", f"READ-RESUME run {self.run} of mix {self.mix} has committed all steps below {places.start}, "
                                     "and no checkpoint was loaded: training begins there, also if the model is new. Give "
                                     "resume=\"commits\" if that is right, resume=\"start\" to begin at step 0")
        return places.given

    def _warn_of_commits(self, begin: int) -> None:
        try:
            committed = self._committed(False)
        except RiffleError:
            return  # whoever names a step needs no commits
        if committed > begin:
            self._warn("again", self._again(begin, committed))

    def _again(self, begin: int, committed: int) -> str:
        return (f"READ-AGAIN run {self.run} of mix {self.mix} has trained all steps below {committed}, and begins at step {begin}, "
                f"as step={begin} says, not at a checkpoint: they are trained again. Leave `step` out to continue where the run "
                "stands, call load_state_dict(), or name another run")

    def _items(self) -> Iterator[Dict[str, Any]]:
        begin = self._begin()
        if self.until is not None and begin >= self.until:
            return
        with self._read_from(begin) as reader:
            self._reader = reader
            self._places.reads(reader.place)
            try:
                while (step := self._next(reader, begin)) is not None:
                    yield from self._items_of(step, reader)
                    if self._ends(step.step):
                        return
                self._places.end()
            finally:
                self._reader = None

    def _ends(self, step: int) -> bool:
        """An iteration ends behind this step, where the mix does not."""
        return self.until is not None and step + 1 >= self.until

    def _items_of(self, step: Step, reader: Reader) -> Iterator[Dict[str, Any]]:
        n = len(step)
        each = self.micro_batch or n
        if n % each != 0:
            raise UsageError(f"micro_batch {each} does not divide the {n} sequences that step {step.step} has on this rank")
        ready = _Ready(step, self.mask_boundaries, self.padding_side)
        for first in range(0, n, each):
            if first + each == n:
                self._places.put(reader.place, reader.info.global_batch)
                self._expect_trained()
            yield _slice(ready, slice(first, first + each), self._names)

    def _expect_trained(self) -> None:
        places = self._places
        if self.commit_every > 0 and not places.is_trained and places.given - places.start == max(
                self.commit_every, _UNTRAINED):
            self._warn("commits", f"commit_every is {self.commit_every}, and nothing is committed: trained() was not called, "
                                  f"and {places.given - places.start} steps were given. Reading commits nothing")

    # ---- what was trained ----

    def trained(self, step: Optional[int] = None, losses: Optional[Losses] = None) -> None:
        """All steps up to `step` (None: the one after the last) are trained. Commits that, as commit_every says; reports
        `losses` of `step` as report() does; moves the state. For the process that trains, wherever the reader is; once
        a step, after its last micro-batch. Returns at once; what fails is raised by a later trained() or flush(), once,
        and that call does nothing else.

        Every rank that reads lanes of its own calls it. Of several processes that read the same lanes (tensor, pipeline
        or context parallel) one does; the others set `commits` to False, or use state_dict(step=n)."""
        _check_no_worker()
        super().trained(step, losses)

    @property
    def reader(self) -> Optional[Reader]:
        """The reader, while an iteration runs in this process (num_workers 0). Its commit() commits what was given."""
        return self._reader


class RoundDataset(Dataset):
    """A Dataset of which each iteration is one round of the mix (mix.epoch_size), and len() the items of a round: an epoch,
    as frameworks count them. An iteration that begins inside a round, behind a checkpoint, is what is left of it.

        for epoch in range(3):
            for item in DataLoader(dataset, batch_size=None): ...

    For mixes whose rounds are whole steps, of the same number of sequences: UsageError where they are not.
    """

    _found: Optional[Rounds] = None

    @property
    def rounds(self) -> Rounds:
        """What the ledger says of them; StepTimeout where no mixer has begun the mix."""
        if self._found is None:
            found = find_rounds(self.mix, self.bootstrap, properties=self.properties, open_timeout=self.open_timeout)
            if found.draws == 0:
                raise UsageError(f"mix {self.mix} has no rounds: set mix.epoch_size, or use riffle.torch.Dataset")
            if found.steps == 0:
                raise UsageError(f"rounds of {found.draws} draws are no whole number of steps of {found.global_batch}, or the "
                                 f"global_batch of mix {self.mix} has changed: use riffle.torch.Dataset")
            self._found = found
        return self._found

    @property
    def round(self) -> int:
        """The round of the step that comes next, from 0."""
        places = self._places
        return (places.trained if places.is_trained else places.given) // self.rounds.steps

    def __len__(self) -> int:
        r = self.rounds
        mine = sum(lane * self.world // r.lanes == self.rank for lane in range(r.lanes))
        n = r.global_batch // r.lanes * mine
        return r.steps * (n // (self.micro_batch or n))

    def _ends(self, step: int) -> bool:
        return super()._ends(step) or (step + 1) % self.rounds.steps == 0


class MapDataset(Sequences, torch.utils.data.Dataset):
    """The sequences of a mix by index, for frameworks that want a map-style data set: number i is in step i // B, at place
    i % B. An item is one sequence, with the fields of :func:`batch_of` without their first dimension (`domains` is a
    name, `keep` the list of its stretches), so that default_collate makes batches of them.

        loader = DataLoader(dataset, batch_size=dataset.batch, shuffle=False, num_workers=1)

    Parameters are those of riffle.Sequences and, for the items, of riffle.torch.Dataset; rank and world are 0 of 1 where
    they are not given, since whoever hands out indexes divides them among the ranks. With DataLoader's shuffle each index is
    a seek; a mix is shuffled already. `keep` is at least the steps of a batch, where batches are larger than steps.
    """

    def __init__(self, mix: str, bootstrap: Optional[str] = None, rank: Optional[int] = None, world: Optional[int] = None, *,
                 mask_boundaries: bool = False, fields: Fields = None, padding_side: str = "right", **options: Any):
        self.mask_boundaries, self.fields, self.padding_side = mask_boundaries, fields, _side_of(padding_side)
        self._names = _fields_of(fields, False)
        super().__init__(mix, bootstrap, rank, world, **options)

    def _prepared(self, step: Step) -> Any:
        return _Ready(step, self.mask_boundaries, self.padding_side)

    def __getitem__(self, index: int) -> Dict[str, Any]:
        return self._item(*super().__getitem__(index))

    def __getitems__(self, indexes: Sequence[int]) -> List[Dict[str, Any]]:
        return [self._item(ready, row) for ready, row in self.find(indexes)]

    def _item(self, ready: _Ready, row: int) -> Dict[str, Any]:
        found = _slice(ready, slice(row, row + 1), self._names)
        return {name: value if name in _OF_STEP else value[0] for name, value in found.items()}

    def trained(self, step: Optional[int] = None, losses: Optional[Losses] = None) -> None:
        _check_no_worker()
        super().trained(step, losses)


class ValidationDataset(torch.utils.data.IterableDataset):
    """A held-out set as :class:`riffle.Validation` reads it; items as :func:`batch_of` says, the last one shorter.

    With rank and world (None: of torch.distributed) each rank gets the batches whose number is its own modulo world:
    sums of losses and tokens over all ranks are those of the whole set.
    """

    def __init__(self, validation: Validation, *, rank: Optional[int] = None, world: Optional[int] = None,
                 mask_boundaries: bool = False, cu_seqlens: bool = False, fields: Fields = None):
        super().__init__()
        _fields_of(fields, cu_seqlens)
        self.fields = fields
        self.validation = validation
        self.rank, self.world = _rank_of(rank, world)
        self.mask_boundaries, self.cu_seqlens = mask_boundaries, cu_seqlens

    def __iter__(self) -> Iterator[Dict[str, Any]]:
        worker = torch.utils.data.get_worker_info()
        if worker is not None and worker.id > 0:
            return
        _check_loader(sys._getframe(1))
        for step in self.validation:
            if step.step % self.world == self.rank:
                yield batch_of(step, mask_boundaries=self.mask_boundaries, with_cu_seqlens=self.cu_seqlens,
                               fields=self.fields)


class LrScale:
    """Multiplies the learning rates of an optimiser by `factor`, inside its step() alone: schedulers and checkpoints, which
    see them before and after, have their own.

        scale = riffle.torch.LrScale(optimizer)
        ...
        scale.factor = item["lr_scale"]
        optimizer.step()

    optimizer: of torch, or what a framework has wrapped one in as its `optimizer`.
    """

    def __init__(self, optimizer: Any, factor: float = 1.0):
        while not isinstance(optimizer, torch.optim.Optimizer) or "optimizer" in vars(optimizer):
            if getattr(optimizer, "optimizer", None) is None:
                raise UsageError(f"lr_scale: {type(optimizer).__name__} is no optimiser of torch, nor does it wrap one")
            optimizer = optimizer.optimizer
        self.optimizer, self.factor = optimizer, factor
        self._rates: List[Any] = []
        self._hooks = [optimizer.register_step_pre_hook(self._before), optimizer.register_step_post_hook(self._after)]

    def _before(self, *unused: Any) -> None:
        if self.factor == 1.0:
            return
        for group in self.optimizer.param_groups:
            rate = group["lr"]
            self._rates.append(rate.clone() if torch.is_tensor(rate) else rate)
            if torch.is_tensor(rate):
                rate.mul_(self.factor)  # a compiled step holds this very tensor
            else:
                group["lr"] = rate * self.factor

    def _after(self, *unused: Any) -> None:
        for group, rate in zip(self.optimizer.param_groups, self._rates):
            if torch.is_tensor(rate):
                group["lr"].copy_(rate)
            else:
                group["lr"] = rate
        self._rates.clear()

    def close(self) -> None:
        """The optimiser is as before."""
        for hook in self._hooks:
            hook.remove()
