"""KempnerForge's scripts/train.py with the branches of docs/TRAINERS.md."""

import pathlib
import re

import pytest

import job

PROGRAM = pathlib.Path(__file__).with_name("run_kempnerforge.py")
SOURCE = job.source("KempnerForge")
pytestmark = pytest.mark.source("KempnerForge")


def test_a_killed_training_sees_what_an_undisturbed_one_sees(mix, package, row, tmp_path):
    m = mix(steps=24)
    calm, stormy = job.killed_and_resumed(tmp_path, {**package.env, "RIFFLE_BOOTSTRAP": m.bootstrap}, PROGRAM, SOURCE,
                                          m.name, 24, kill=13)
    assert stormy.resumed == [12] and [len(micros) for micros in calm.parts[0].values()] == [4] * 24
    assert m.loss_of("a") > 0 and m.loss_of("b") > 0
    said = (calm.path / "log.txt").read_text()
    assert float(re.search(r"masks change logits by (\S+)", said)[1]) > 1e-3
    # lr_scale of step 5. trained() stands in front of the update, so that it writes the rate of the one before.
    assert calm.rates()[6] == pytest.approx(calm.rates()[5] / 2, rel=0.1)
    row(version=job.version_of(SOURCE), model="2 layers, width 32", calm=calm, stormy=stormy,
        missing="several ranks: its device mesh is of CUDA")
