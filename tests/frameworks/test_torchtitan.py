"""torchtitan's Trainer with riffle's loader: 0.3.0, and main, which has another interface."""

import importlib.metadata
import pathlib
import re

import pytest

import job

PROGRAM = pathlib.Path(__file__).with_name("run_torchtitan.py")
MAIN = job.source("torchtitan")


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("source", [None, pytest.param(MAIN, marks=pytest.mark.source("torchtitan"))], ids=["0.3.0", "main"])
def test_a_killed_training_sees_what_an_undisturbed_one_sees(mix, package, examples, row, tmp_path, source, ranks):
    m = mix(steps=12)
    env = dict(package.env)
    if source:
        env["PYTHONPATH"] = f"{source}:{env.get('PYTHONPATH', '')}"
    calm, stormy = job.killed_and_resumed(tmp_path, env, PROGRAM, examples, m.name, m.bootstrap, 12, kill=7, world=ranks)
    assert stormy.resumed == [4] and [len(micros) for micros in calm.parts[0].values()] == [4] * 12
    assert m.loss_of("a") > 0 and m.loss_of("b") > 0
    said = (calm.path / "log.txt").read_text()
    assert max(map(float, re.findall(r"masks change logits by (\S+)", said))) > 1e-3
    for rates in (calm.rates(r) for r in range(ranks)):
        assert rates[5] == pytest.approx(rates[4] / 2, rel=0.2)  # lr_scale
    version = job.version_of(source) if source else importlib.metadata.version("torchtitan")
    row(version=version, model="Llama 3, 1 layer, width 256", calm=calm, stormy=stormy, ranks=str(ranks),
        name=f"{'main' if source else '0.3.0'}-{ranks}", missing="flex attention")
