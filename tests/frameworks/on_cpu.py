"""Megatron's calls of CUDA on a machine without one: tensors are made on the CPU, .cuda() gives the tensor itself, and the state of
CUDA's random numbers is one that nothing draws from. For programs of tests alone; import it first."""

import torch
from torch.overrides import TorchFunctionMode


class _OnCpu(TorchFunctionMode):
    def __torch_function__(self, function, types, words=(), more=None):
        more = dict(more or {})
        if function is torch.Tensor.cuda:
            return words[0]
        if str(more.get("device", "")).startswith("cuda") or isinstance(more.get("device"), int):
            more["device"] = "cpu"
        return function(*words, **more)


_OnCpu().__enter__()
torch.cuda.current_device = lambda: "cpu"
torch.cuda.set_device = lambda device: None
torch.cuda.synchronize = lambda *unused: None
torch.cuda.empty_cache = lambda: None
torch.cuda.get_rng_state = torch.cuda.random.get_rng_state = lambda *unused, **more: torch.zeros(16, dtype=torch.uint8)
torch.cuda.set_rng_state = lambda *unused, **more: None
torch.cuda.manual_seed = lambda seed: None
torch.nn.Module.cuda = lambda self, *unused: self
