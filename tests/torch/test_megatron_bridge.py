"""riffle.integrations.megatron_bridge beside Megatron-core. Of Megatron-Bridge, which needs CUDA, its two base classes stand here,
with the fields and the hooks that riffle takes from them."""

import dataclasses
import importlib
import os
import socket
import subprocess
import sys
import types
import warnings
from types import SimpleNamespace
from typing import Optional

import pytest
import torch

STEPS = 6


@pytest.fixture(scope="module")
def core():
    """Megatron-core with groups of one process, and Bridge's sizes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from megatron.core import num_microbatches_calculator as sizes
        from megatron.core import parallel_state
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    torch.distributed.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=0, world_size=1)
    parallel_state.initialize_model_parallel()
    sizes.init_num_microbatches_calculator(0, None, 16, 4, 1)
    yield
    sizes.destroy_num_microbatches_calculator()
    parallel_state.destroy_model_parallel()
    torch.distributed.destroy_process_group()


@pytest.fixture
def adapter(package, core, monkeypatch):
    assert package.riffle

    @dataclasses.dataclass(kw_only=True)
    class DataloaderConfig:
        dataloader_type: Optional[str] = None
        num_workers: int = 2

    @dataclasses.dataclass
    class DatasetProvider(DataloaderConfig):
        pass

    class Callback:
        pass

    for name, more in (("megatron.bridge", {}), ("megatron.bridge.data", {}), ("megatron.bridge.training", {}),
                       ("megatron.bridge.data.base", {"DatasetProvider": DatasetProvider}),
                       ("megatron.bridge.training.callbacks", {"Callback": Callback})):
        module = types.ModuleType(name)
        module.__dict__.update(more, __path__=[])
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.delitem(sys.modules, "riffle.integrations.megatron_bridge", raising=False)
    return importlib.import_module("riffle.integrations.megatron_bridge")


@pytest.fixture
def mix(unique, tools, bootstrap):
    subprocess.run([tools / "fill_batches", "--mix", unique, "--lanes", "8", "--sequences-per-lane", "2", "--steps", str(STEPS),
                    "--end"], check=True, env={**os.environ, "RIFFLE_BOOTSTRAP": bootstrap})
    return unique


def train(adapter, mix, bootstrap, consumed, steps):
    """What Bridge's loop does, in its order: data behind the checkpoint, callbacks, micro-batches."""
    dataset = adapter.DatasetProvider(mix=mix, bootstrap=bootstrap, run="bridge", reset_position_ids=True,
                                      skip_getting_attention_mask_from_dataset=False, options={"timeout": 60})
    state = SimpleNamespace(consumed_train_samples=consumed, consumed_valid_samples=0)
    weight = torch.nn.Parameter(torch.zeros(1))
    context = SimpleNamespace(state=SimpleNamespace(cfg=SimpleNamespace(dataset=dataset, train=SimpleNamespace(
        rampup_batch_size=None)), train_state=state), optimizer=torch.optim.SGD([weight], lr=1.0))
    iterator, valid, test = dataset.build_datasets(SimpleNamespace(train_samples=1, valid_samples=0, test_samples=0))
    assert valid is None and test is None
    callback, seen = adapter.RiffleCallback(), []
    forward = dataset.forward_step(lambda state, iterator, model: (next(iterator), lambda losses: losses.mean()))
    callback.on_train_start(context)
    for _ in range(steps):
        for _ in range(4):
            item, _ = forward(None, iterator, None)
        assert item["attention_mask"].dtype == torch.bool
        seen.append(item["step"])
        weight.grad = torch.ones(1)
        context.optimizer.step()
        callback.on_train_step_end(context)
    dataset.data.train.dataset.flush()
    callback.on_train_end(context)
    return seen


def test_it_begins_where_the_checkpoint_is_and_commits_each_step(adapter, mix, package, bootstrap):
    assert train(adapter, mix, bootstrap, 0, 3) == [0, 1, 2]
    assert package.riffle.committed_step(mix, bootstrap, run="bridge") == 3
    assert train(adapter, mix, bootstrap, 32, 4) == [2, 3, 4, 5]  # the checkpoint wins
    assert package.riffle.committed_step(mix, bootstrap, run="bridge") == 6


def test_what_a_mix_cannot_have_is_refused(adapter, mix, package, bootstrap):
    with pytest.raises(package.riffle.UsageError, match="dataloader_type is single; it must be external"):
        adapter.DatasetProvider(mix=mix, dataloader_type="single")
    dataset = adapter.DatasetProvider(mix=mix, bootstrap=bootstrap)
    context = SimpleNamespace(state=SimpleNamespace(cfg=SimpleNamespace(dataset=dataset, train=SimpleNamespace(
        rampup_batch_size=[4, 4, 64])), train_state=SimpleNamespace(consumed_train_samples=0)))
    with pytest.raises(package.riffle.UsageError, match="rampup-batch-size changes the batch"):
        adapter.RiffleCallback().on_train_start(context)
