"""examples/frameworks/train_levanter.py with what a test must see: EXAMPLES MIX BOOTSTRAP STEPS. Two processes are those of
jax.distributed."""

import importlib.util
import os
import sys

import jax
import jax.numpy as jnp
import numpy as np
import optax

import job
from riffle.integrations.levanter import AsyncDataset

examples, mix, bootstrap, steps = sys.argv[1:]
spec = importlib.util.spec_from_file_location("example", f"{examples}/train_levanter.py")
example = importlib.util.module_from_spec(spec)
spec.loader.exec_module(example)
rates = {}


def noted(data):
    """lr_scale(), and what it makes of each step's updates."""
    inner = lr_scale(data)

    def update(updates, state, params=None):
        found, behind = inner.update(updates, state, params)
        before, after = (sum(jnp.abs(x).sum() for x in jax.tree.leaves(tree)) for tree in (updates, found))
        jax.debug.callback(lambda n, rate: rates.update({int(n): round(float(rate), 4)}), state.step, after / before)
        return found, behind
    return optax.GradientTransformation(inner.init, update)


lr_scale, AsyncDataset.lr_scale = AsyncDataset.lr_scale, noted
if "WORLD_SIZE" in os.environ:
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(
        f"{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}", int(os.environ["WORLD_SIZE"]), job.rank())


def timed(loader):
    """Each batch as train_step() takes it; the first one is that of the step at which training continues."""
    step = loader._start_from_batch or 0
    for item in job.timed(loader):
        segments = item.attn_mask.segment_ids
        segments = segments[0] if isinstance(segments, tuple) else segments
        weights = getattr(item, "loss_mask", None)
        rows = item.tokens, item.loss_weight if weights is None else weights, segments
        job.saw(step, *(np.asarray(x.array.addressable_data(0)) for x in rows))
        yield item
        step += 1


def told(info, seen=set()):
    """Hooks run once more behind the last step."""
    if info.step not in seen:
        jax.effects_barrier()
        job.trained(info.step, info.loss, rate=rates.get(info.step))  # the callback runs in one process
    seen.add(info.step)


example.main(mix, bootstrap, steps, timed, told, run=job.folder().name, timeout=120)
os._exit(0)  # threads of its own trackers and loaders do not end
