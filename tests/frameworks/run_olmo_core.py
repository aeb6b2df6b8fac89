"""examples/frameworks/train_olmo_core.py with what a test must see: EXAMPLES MIX BOOTSTRAP STEPS."""

import importlib.util
import sys

import job
from riffle.integrations.olmo_core import DataLoader

examples, mix, bootstrap, steps = sys.argv[1:]
spec = importlib.util.spec_from_file_location("example", f"{examples}/train_olmo_core.py")
example = importlib.util.module_from_spec(spec)
spec.loader.exec_module(example)


class Data(DataLoader):
    def _iter_batches(self):
        return iter(job.timed(super()._iter_batches()))


def watched(module):
    """What each forward of training sees, and the rates and losses of each step."""
    forward, step = module.model_forward, module.optim_step

    def run(input_ids, labels=None, **more):
        found = forward(input_ids, labels=labels, **more)
        loader = module.trainer.data_loader.loader
        if loader.step is not None:  # not the dry run
            job.saw(loader.step, input_ids, labels)
            module.loss = found.loss.detach().sum().item()
        return found

    def optim_step():
        step()
        job.trained(module.trainer.data_loader.loader.step, module.loss, rate=module.optim.param_groups[0]["lr"])
    module.model_forward, module.optim_step = run, optim_step
    return module


example.main(mix, bootstrap, steps, Data, watched, run=job.folder().name, timeout=120)
