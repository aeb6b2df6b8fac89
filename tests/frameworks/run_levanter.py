"""examples/frameworks/train_levanter.py with what a test must see: EXAMPLES MIX BOOTSTRAP STEPS."""

import importlib.util
import os
import sys

import numpy as np

import job

examples, mix, bootstrap, steps = sys.argv[1:]
spec = importlib.util.spec_from_file_location("example", f"{examples}/train_levanter.py")
example = importlib.util.module_from_spec(spec)
spec.loader.exec_module(example)


def timed(loader):
    """Each batch as train_step() takes it; the first one is that of the step at which training continues."""
    step = loader._start_from_batch or 0
    for item in job.timed(loader):
        segments = item.attn_mask.segment_ids
        segments = segments[0] if isinstance(segments, tuple) else segments
        weights = getattr(item, "loss_mask", None)
        job.saw(step, *(np.asarray(x.array) for x in (item.tokens, item.loss_weight if weights is None else weights, segments)))
        yield item
        step += 1


def told(info, seen=set()):
    """Hooks run once more behind the last step."""
    if info.step not in seen:
        job.trained(info.step, info.loss)
    seen.add(info.step)


example.main(mix, bootstrap, steps, timed, told, run=job.folder().name, timeout=120)
os._exit(0)  # threads of its own trackers and loaders do not end
