"""DeepSpeed's engine, ZeRO stage 1, over riffle.torch.Dataset."""

import pathlib

import deepspeed
import pytest

import job

PROGRAM = pathlib.Path(__file__).with_name("run_deepspeed.py")


@pytest.mark.parametrize("world", [1, 2])
def test_a_killed_training_sees_what_an_undisturbed_one_sees(mix, package, examples, row, tmp_path, world):
    m = mix(steps=16)
    env = {**package.env, "DS_ACCELERATOR": "cpu", "RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1"}
    calm, stormy = job.killed_and_resumed(tmp_path, env, PROGRAM, examples, m.name, m.bootstrap, 16, kill=9, world=world)
    assert stormy.resumed == [8] and [len(micros) for micros in calm.parts[0].values()] == [4] * 16
    assert m.loss_of("a") > 0 and m.loss_of("b") > 0
    assert [calm.rates(r) for r in range(world)] == [{s: 1e-3 if s < 5 else 5e-4 for s in range(16)}] * world  # lr_scale
    row(version=deepspeed.__version__, model="embedding and linear, 33 k, ZeRO-1", calm=calm, stormy=stormy, ranks=str(world),
        name=f"{world} ranks")
