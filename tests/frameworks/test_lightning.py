"""Lightning's Trainer with riffle's DataModule."""

import pathlib

import pytest
import pytorch_lightning as pl

import job

PROGRAM = pathlib.Path(__file__).with_name("run_lightning.py")


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_killed_training_sees_what_an_undisturbed_one_sees(mix, package, examples, row, tmp_path, ranks):
    m = mix(steps=24)
    calm, stormy = job.killed_and_resumed(tmp_path, package.env, PROGRAM, examples, m.name, m.bootstrap, 24, ranks, kill=13,
                                          world=ranks)
    assert stormy.resumed == [12] and [len(micros) for micros in calm.parts[0].values()] == [2 * ranks] * 24
    assert m.loss_of("a") > 0 and m.loss_of("b") > 0
    assert [calm.rates(r) for r in range(ranks)] == [{s: 1e-3 if s < 5 else 5e-4 for s in range(24)}] * ranks  # lr_scale
    row(version=pl.__version__, model="2 layers, 33 k", calm=calm, stormy=stormy, ranks=str(ranks), name=f"{ranks} ranks")


def test_a_training_that_is_killed_before_its_first_checkpoint_leaves_no_step_out(mix, package, examples, tmp_path):
    m = mix(steps=8)
    job.killed_before_a_checkpoint(tmp_path / "early", package.env, PROGRAM, examples, m.name, m.bootstrap, 8, 1, kill=3)
