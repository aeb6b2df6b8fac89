"""examples/frameworks/train_verl.py with what a test must see: EXAMPLES MIX BOOTSTRAP STEPS."""

import importlib.util
import json
import sys

import numpy as np

import job

examples, mix, bootstrap, steps = sys.argv[1:]
spec = importlib.util.spec_from_file_location("example", f"{examples}/train_verl.py")
example = importlib.util.module_from_spec(spec)
spec.loader.exec_module(example)


def saw(batch):
    step = batch["extra_info"][0]["step"]
    rows = [json.dumps({name: batch[name][i] for name in ("raw_prompt", "data_source", "reward_model", "extra_info")})
            for i in range(len(batch["index"]))]
    job.saw(step, np.array([list(row.encode().ljust(4096)) for row in rows], np.uint8))
    job.trained(step)


if __name__ == "__main__":
    example.main(mix, bootstrap, steps, job.timed, saw, run=job.folder().name, timeout=120, answer="answer")
