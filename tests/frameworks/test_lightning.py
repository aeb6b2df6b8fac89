"""Lightning's Trainer with riffle's DataModule."""

import pathlib

import pytorch_lightning as pl

import job

PROGRAM = pathlib.Path(__file__).with_name("run_lightning.py")


def test_a_killed_training_sees_what_an_undisturbed_one_sees(mix, package, examples, row, tmp_path):
    m = mix(steps=24)
    calm, stormy = job.killed_and_resumed(tmp_path, package.env, PROGRAM, examples, m.name, m.bootstrap, 24, 1, kill=13)
    assert stormy.resumed == [12] and [len(micros) for micros in calm.parts[0].values()] == [2] * 24
    assert m.loss_of("a") > 0 and m.loss_of("b") > 0
    row(version=pl.__version__, model="2 layers, 33 k", calm=calm, stormy=stormy)
