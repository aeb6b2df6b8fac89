"""Composer's Trainer, whose checkpoints ask the data set for the state of a number of samples."""

import pathlib

import composer

import job

PROGRAM = pathlib.Path(__file__).with_name("run_composer.py")


def test_a_killed_training_sees_what_an_undisturbed_one_sees(mix, package, examples, row, tmp_path):
    m = mix(steps=16)
    calm, stormy = job.killed_and_resumed(tmp_path, package.env, PROGRAM, examples, m.name, m.bootstrap, 16, kill=9)
    assert stormy.resumed == [8] and [len(micros) for micros in calm.parts[0].values()] == [4] * 16
    row(version=composer.__version__, model="embedding and linear, 33 k", calm=calm, stormy=stormy, wait_ms="not measured")
