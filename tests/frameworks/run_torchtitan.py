"""examples/frameworks/train_torchtitan.py with what a test must see, on a CPU: EXAMPLES MIX BOOTSTRAP STEPS.

torchtitan is made for accelerators: here stand its calls of CUDA that a CPU lacks, and an attention whose backward a CPU has.
"""

import dataclasses
import importlib.util
import os
import sys
import types

import torch
import torchtitan.tools.utils as utils

import job


class Cpu:
    """torch.cpu with what is asked of torch.cuda."""

    def __getattr__(self, name):
        return getattr(torch.cpu, name)

    def get_device_name(self, device=None):
        return "cpu"

    def get_device_properties(self, device=None):
        return types.SimpleNamespace(total_memory=1 << 33)

    def memory_stats(self, device=None):
        return {}

    def reset_peak_memory_stats(self, device=None):
        pass

    def empty_cache(self):
        pass

    def device_count(self):
        return 1

    def current_device(self):
        return 0


utils.device_type, utils.device_module = "cpu", Cpu()
utils.get_local_device = lambda: torch.device("cpu")
for name, value in {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1"}.items():
    os.environ.setdefault(name, value)
torch.set_num_threads(1)
torch.use_deterministic_algorithms(True)

from torch.distributed.fsdp import FSDPModule  # noqa: E402
from torchtitan.models.common.attention import VarlenAttention  # noqa: E402
from torchtitan.models.llama3 import model_registry  # noqa: E402

examples, mix, bootstrap, steps = sys.argv[1:]
spec = importlib.util.spec_from_file_location("example", f"{examples}/train_torchtitan.py")
example = importlib.util.module_from_spec(spec)
spec.loader.exec_module(example)


def attend(q, k, v, masks, scale):
    """Causal attention inside of each document, one after the other."""
    rows = [x.reshape(-1, *x.shape[-2:]) for x in (q, k, v)]
    ends = masks.cu_seq_q.tolist()
    parts = [torch.nn.functional.scaled_dot_product_attention(
        *(x[begin:end].transpose(0, 1) for x in rows), is_causal=True, scale=scale, enable_gqa=True).transpose(0, 1)
        for begin, end in zip(ends, ends[1:])]
    return torch.cat(parts).reshape(q.shape)


# torchtitan looks the names of the arguments up.
if example.FLAT:
    def forward(self, q_TNH, k_TNH, v_TNH, *, attention_masks, scale=None, **more):
        return attend(q_TNH, k_TNH, v_TNH, attention_masks, scale)
else:
    def forward(self, q_BLNH, k_BLNH, v_BLNH, *, attention_masks, scale=None, **more):
        return attend(q_BLNH, k_BLNH, v_BLNH, attention_masks, scale)
VarlenAttention.forward = forward


set_factor = FSDPModule.set_gradient_divide_factor


def set_factor_by_sums(module, factor):
    """gloo has sums alone."""
    set_factor(module, factor)
    module.set_force_sum_reduction_for_comms(True)


FSDPModule.set_gradient_divide_factor = set_factor_by_sums


class Trainer(example.Trainer):
    @dataclasses.dataclass(kw_only=True, slots=True)
    class Config(example.Trainer.Config):
        pass

    def __init__(self, config):
        super().__init__(config)
        job.follow_rate(self.optimizers.optimizers[0])

    def batch_generator(self, data):
        return super().batch_generator(job.timed(data))

    def _forward_backward_body(self, inputs, labels, tokens, more):
        loader = self.dataloader.loader
        job.saw(loader.step, *(t.reshape(-1, example.LENGTH) for t in (inputs, labels, more["positions"])))
        if not hasattr(self, "loss"):
            self.compare(inputs, more)
        self.loss = super()._forward_backward_body(inputs, labels, tokens, more).detach()
        return self.loss

    @torch.no_grad()
    def compare(self, inputs, more):
        """The first logits with those of a model that sees no documents."""
        [model] = self.model_parts
        whole = torch.arange(example.LENGTH).repeat(example.MICRO).reshape(more["positions"].shape)
        plain = {**more, "attention_masks": model.get_attention_masks(positions=whole)}
        print("masks change logits by", (model(inputs, **more) - model(inputs, **plain)).abs().max().item(), flush=True)

    def train_step(self, data_iterator):
        super().train_step(data_iterator)
        job.trained(self.dataloader.loader.step, self.loss)


def small():
    made = model_registry("debugmodel", attn_backend="varlen")
    made.model.layers = made.model.layers[:1]
    return made


if __name__ == "__main__":
    example.main(mix, bootstrap, steps, model=small(), trainer=Trainer, run=job.folder().name, options={"timeout": 120})
