"""TRL's SFTTrainer with riffle's mixin, whose losses by token are those that TRL computes."""

import pathlib

import pytest
import trl

import job

PROGRAM = pathlib.Path(__file__).with_name("run_transformers.py")


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_killed_training_sees_what_an_undisturbed_one_sees(mix, package, examples, row, tmp_path, ranks):
    m = mix(steps=16)
    calm, stormy = job.killed_and_resumed(tmp_path, package.env, PROGRAM, examples, "train_trl", m.name, m.bootstrap, 16, kill=9,
                                          world=ranks)
    assert stormy.resumed == [8] and [len(micros) for micros in calm.parts[0].values()] == [4] * 16
    assert m.loss_of("a") > 0 and m.loss_of("b") > 0
    expected = {s: 2e-5 * (16 - s) / 16 * (0.5 if s >= 5 else 1) for s in range(16)}  # its own schedule falls to 0
    assert [calm.rates(r) for r in range(ranks)] == [pytest.approx(expected)] * ranks
    row(version=trl.__version__, model="Llama, 2 layers, 49 k", calm=calm, stormy=stormy, ranks=str(ranks), name=f"{ranks} ranks")
