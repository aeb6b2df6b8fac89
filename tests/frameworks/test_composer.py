"""Composer's Trainer, whose checkpoints ask the data set for the state of a number of samples."""

import pathlib

import composer
import pytest

import job

PROGRAM = pathlib.Path(__file__).with_name("run_composer.py")


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_killed_training_sees_what_an_undisturbed_one_sees(mix, package, examples, row, tmp_path, ranks):
    m = mix(steps=16)
    calm, stormy = job.killed_and_resumed(tmp_path, {**package.env, "NODE_RANK": "0"}, PROGRAM, examples, m.name, m.bootstrap, 16,
                                          kill=9, world=ranks)
    assert stormy.resumed == [8] and [len(micros) for micros in calm.parts[0].values()] == [4] * 16
    assert m.loss_of("a") > 0 and m.loss_of("b") > 0
    assert [calm.rates(r) for r in range(ranks)] == [{s: 0.1 if s < 5 else 0.05 for s in range(16)}] * ranks  # lr_scale
    row(version=composer.__version__, model="embedding and linear, 33 k", calm=calm, stormy=stormy, ranks=str(ranks),
        name=f"{ranks} ranks", missing="llm-foundry, which asks for an older PyTorch")
