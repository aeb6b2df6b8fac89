"""examples/frameworks/train_grain.py with what a test must see: EXAMPLES MIX BOOTSTRAP STEPS process|thread|none. Two processes
are two hosts of JAX: each reads its lanes, and all train one model."""

import importlib.util
import os
import pathlib
import sys

import grain
import jax
import numpy as np

import job

AHEAD = {
    "process": lambda d: d.mp_prefetch(grain.MultiprocessingOptions(num_workers=1)),
    "processes": lambda d: d.mp_prefetch(grain.MultiprocessingOptions(num_workers=2)),
    "thread": lambda d: grain.experimental.ThreadPrefetchIterDataset(d, prefetch_buffer_size=3),
    "none": lambda d: d,
}


def saw(step, loss, item):
    job.saw(step, *(item[name] for name in sorted(item)))
    job.trained(step, loss, rate=update.rate)


def update(model, item, rate):
    """The example's, whose rate is noted."""
    update.rate = round(float(rate), 6)
    return update.example(model, item, rate)


def together(model, item, rate):
    """A step of all hosts: each gives its part of the batch, and has the same model behind it."""
    mesh = jax.sharding.Mesh(jax.devices(), ("host",))
    parts, whole = (jax.NamedSharding(mesh, jax.P(*axes)) for axes in (["host"], []))
    batch = {name: jax.make_array_from_process_local_data(parts, value) for name, value in item.items()}
    model = jax.tree.map(lambda value: jax.make_array_from_process_local_data(whole, np.asarray(value)), model)
    model, loss, each = jax.jit(together.example, out_shardings=(whole, whole, parts))(model, batch, rate)
    return model, loss, each.addressable_data(0)


if __name__ == "__main__":
    examples, mix, bootstrap, steps, ahead = sys.argv[1:]
    spec = importlib.util.spec_from_file_location("example", f"{examples}/train_grain.py")
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    hosts = int(os.environ.get("WORLD_SIZE", "1"))
    if hosts > 1:
        jax.config.update("jax_cpu_collectives_implementation", "gloo")
        jax.distributed.initialize(f"{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}", hosts, job.rank())
        together.example, example.update = example.update, together
        place = pathlib.Path(f"host-{job.rank()}")  # each has a checkpoint of its own
        place.mkdir(exist_ok=True)
        os.chdir(place)
    update.example, example.update = example.update, update
    example.main(mix, bootstrap, steps, AHEAD[ahead], job.timed, saw, run=job.folder().name, timeout=120,
                 rank=job.rank(), world=hosts)
