"""riffle in Levanter: an AsyncDataset of the sequences of a mix.

    data = riffle.integrations.levanter.AsyncDataset("pretrain", "kafka:9092", Pos=model.Pos, trainer=config)
    optimizer = optax.chain(optax.adamw(1e-3), data.lr_scale())
    ...
    trainer.add_hook(data.on_step, every=1)   # commits
    trainer.train(state, trainer.data_loader(data).iter_from_step(state.step))

Sequence i is in step i // B, at place i % B, and Levanter's step n asks for those of the mix's step n: its train_batch_size is
the mix's global_batch. Its own checkpoints hold the position, which is the step alone.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import inspect
from typing import Any, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from .._optional import needs

with needs(__name__, "--pre marin-levanter"):
    import equinox as eqx
    import haliax as hax
    import jax
    import jax.numpy as jnp
    import optax
    from levanter.data import dataset as levanter_data
    from levanter.models.lm_model import LmExample
    from levanter.trainer import TrainerConfig
    from levanter.utils.jax_utils import local_cpu_mesh

from ..errors import UsageError
from ..sequences import Sequences
from ..step import Step

__all__ = ["AsyncDataset"]

_SCALES = 4096  # steps whose lr_scale is known after they were read
_WEIGHT = "loss_weight" if "loss_weight" in inspect.signature(LmExample.causal).parameters else "loss_mask"
_NUMBER = np.float32 if _WEIGHT == "loss_weight" else np.int32  # of the older releases, which combine masks bit by bit


class AsyncDataset(levanter_data.AsyncDataset[LmExample]):
    """LmAsyncDataset of a mix, with its document masks as segment ids and its masks of prompts and padding as loss weights.

    Pos: S + 1 tokens, S the mix's sequence_length; or S of them, and then the last target of each sequence is lost, for
    Levanter predicts nothing at the last position. mask_boundaries: no loss where the first token of another document is
    the target. rank, world: None: those of the JAX processes, which divide the batch among them in order; give them where
    processes hold parts of the model and the same part of the batch, and commits=True to one of these, False to the others.
    trainer: the TrainerConfig, of which the number of steps
    is, and a batch that must be the mix's. Other options are those of riffle.Sequences. The Trainer asks for 32 steps at a
    time and buffers 128: a mix whose lead is limited must have one above their sum.
    """

    def __init__(self, mix: str, bootstrap: Optional[str] = None, *, Pos: Any, trainer: TrainerConfig,
                 rank: Optional[int] = None, world: Optional[int] = None, commits: bool = True, mask_boundaries: bool = False,
                 **options: Any):
        super().__init__()
        if not isinstance(trainer.train_batch_size, int):
            raise UsageError(f"train_batch_size is a schedule, {trainer.train_batch_size}, and an index counts steps of one size: "
                             "give it one number, the global_batch of the mix")
        if rank is None and world is None:
            rank, world = jax.process_index(), jax.process_count()
        self.sequences = Sequences(mix, bootstrap, rank, world, prepare=self._prepare,
                                   steps=trainer.num_train_steps, **options)
        self.sequences.commits = commits
        self._batch = trainer.train_batch_size
        self.Pos, self._mask_boundaries = Pos, mask_boundaries
        self._scales: dict = {}
        self._shaped, self._trained = False, -1
        # one thread, so that requests are served in their order
        self._thread = concurrent.futures.ThreadPoolExecutor(1, "riffle")

    # ---- what Levanter calls ----

    async def async_len(self) -> int:
        return await self._run(self._len)

    async def final_length_is_known(self) -> bool:
        return True

    def is_finite(self) -> bool:
        return True

    async def current_len(self) -> Optional[int]:
        return await self.async_len()

    async def getitem_async(self, index: int) -> LmExample:
        """The loader asks for item 0 as it is made, for shapes alone, wherever training resumes: that step may have expired, and
        is not read."""
        if index == 0 and not self._shaped:
            self._shaped = True
            zeros = np.zeros(self.Pos.size, np.int32)
            return _example(self.Pos, zeros, zeros.astype(_NUMBER), zeros)
        return (await self.get_batch([index]))[0]

    async def get_batch(self, indices: Sequence[int]) -> List[LmExample]:
        return await self._run(self._read, list(indices))

    async def _run(self, call: Any, *words: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._thread, call, *words)

    def _len(self) -> int:
        """Asked for by the loader before it reads."""
        if self.sequences.batch != self._batch:
            raise UsageError(f"train_batch_size is {self._batch}, and the global_batch of mix {self.sequences.mix} is "
                             f"{self.sequences.batch}: they must be the same")
        return len(self.sequences)

    # ---- examples ----

    def _read(self, indexes: List[int]) -> List[LmExample]:
        found = []
        by_step = sorted(range(len(indexes)), key=lambda i: indexes[i])
        rows: dict = {}
        for i in by_step:
            rows[i] = self._arrays(*self.sequences[indexes[i]])
        with local_cpu_mesh():
            for i in range(len(indexes)):
                found.append(_example(self.Pos, *rows[i]))
        return found

    def _prepare(self, step: Step) -> "_Rows":
        if self.Pos.size not in (step.tokens.shape[1], step.tokens.shape[1] - 1):
            raise UsageError(f"Pos has {self.Pos.size} positions, and sequences of mix {self.sequences.mix} have "
                             f"{step.tokens.shape[1]} tokens: Pos must have as many, or one less")
        self._scales[step.step] = step.lr_scale
        while len(self._scales) > _SCALES:
            del self._scales[next(iter(self._scales))]
        return _Rows(step, step.targets(mask_boundaries=self._mask_boundaries).labels)

    def _arrays(self, rows: "_Rows", row: int) -> Tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Tokens, weights of the loss at each position, segments."""
        step, n = rows.step, self.Pos.size
        at = np.arange(n)
        segments = np.searchsorted(step.starts(row), at, side="right") - 1
        weights = np.zeros(n, _NUMBER)
        each = rows.labels.shape[1]
        weights[:min(n, each)] = rows.labels[row, :min(n, each)] != -100
        weights[-1] = 0
        return (step.tokens[row, :n].astype(np.int32), weights,
                np.where(at < step.used[row], segments, -1).astype(np.int32))

    # ---- around the step ----

    def on_step(self, info: Any) -> None:
        """For trainer.add_hook(): the step that Levanter has completed is trained; commits. Levanter runs its hooks once more
        behind the last step."""
        if info.step != self._trained:
            self._trained = info.step
            self.sequences.trained(info.step)

    def scale_of(self, step: int) -> float:
        """lr_scale of a step, one of the last 4,096 that this process has read."""
        if int(step) not in self._scales:
            raise UsageError(f"lr_scale of step {int(step)} of mix {self.sequences.mix} is not known: it is none of the last "
                             f"{_SCALES} steps that this process has read. data.lr_scale() counts as Levanter does: begin both at "
                             "0, or load the optimiser's state with the checkpoint")
        return self._scales[int(step)]

    def lr_scale(self) -> optax.GradientTransformation:
        """Multiplies the updates of each step by what its phase says: optax.chain(optimizer, data.lr_scale()). The step is
        counted in the optimiser's state, and so is in the checkpoint."""
        def init(params: Any) -> "_Count":
            return _Count(jnp.zeros([], jnp.int32))

        def update(updates: Any, state: "_Count", params: Any = None) -> Tuple[Any, "_Count"]:
            scale = jax.pure_callback(lambda n: np.float32(self.scale_of(n)), jax.ShapeDtypeStruct((), jnp.float32), state.step)
            return jax.tree.map(lambda u: u * scale.astype(u.dtype), updates), _Count(state.step + 1)

        return optax.GradientTransformation(init, update)

    def close(self) -> None:
        self._thread.shutdown()
        self.sequences.close()


class _Rows(NamedTuple):
    step: Step
    labels: np.ndarray


class _Count(NamedTuple):
    step: jax.Array


@eqx.filter_jit
def _example(Pos: Any, tokens: Any, weights: Any, segments: Any) -> LmExample:
    return LmExample.causal(hax.named(tokens, Pos), segment_ids=hax.named(segments, Pos), **{_WEIGHT: hax.named(weights, Pos)})
