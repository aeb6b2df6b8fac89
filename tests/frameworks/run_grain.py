"""examples/frameworks/train_grain.py with what a test must see: EXAMPLES MIX BOOTSTRAP STEPS process|thread|none."""

import importlib.util
import sys

import grain

import job

AHEAD = {
    "process": lambda d: d.mp_prefetch(grain.MultiprocessingOptions(num_workers=1)),
    "processes": lambda d: d.mp_prefetch(grain.MultiprocessingOptions(num_workers=2)),
    "thread": lambda d: grain.experimental.ThreadPrefetchIterDataset(d, prefetch_buffer_size=3),
    "none": lambda d: d,
}


def saw(step, loss, item):
    job.saw(step, *(item[name] for name in sorted(item)))
    job.trained(step, loss)


if __name__ == "__main__":
    examples, mix, bootstrap, steps, ahead = sys.argv[1:]
    spec = importlib.util.spec_from_file_location("example", f"{examples}/train_grain.py")
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    example.main(mix, bootstrap, steps, AHEAD[ahead], job.timed, saw, run=job.folder().name, timeout=120)
