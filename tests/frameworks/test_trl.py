"""TRL's SFTTrainer with riffle's mixin, whose losses by token are those that TRL computes."""

import pathlib

import trl

import job

PROGRAM = pathlib.Path(__file__).with_name("run_transformers.py")


def test_a_killed_training_sees_what_an_undisturbed_one_sees(mix, package, examples, row, tmp_path):
    m = mix(steps=16)
    calm, stormy = job.killed_and_resumed(tmp_path, package.env, PROGRAM, examples, "train_trl", m.name, m.bootstrap, 16, kill=9)
    assert stormy.resumed == [8] and [len(micros) for micros in calm.parts[0].values()] == [4] * 16
    assert m.loss_of("a") > 0 and m.loss_of("b") > 0
    row(version=trl.__version__, model="Llama, 2 layers, 49 k", calm=calm, stormy=stormy)
