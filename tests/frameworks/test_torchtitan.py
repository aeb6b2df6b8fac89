"""torchtitan's Trainer with riffle's loader: 0.3.0, and main where $RIFFLE_TORCHTITAN names a folder of its source, which is in
no package index."""

import importlib.metadata
import os
import pathlib
import re
import subprocess

import pytest

import job

PROGRAM = pathlib.Path(__file__).with_name("run_torchtitan.py")
MAIN = os.environ.get("RIFFLE_TORCHTITAN")


@pytest.mark.parametrize("source", [None] + ([MAIN] if MAIN else []), ids=["0.3.0", "main"][:2 if MAIN else 1])
def test_a_killed_training_sees_what_an_undisturbed_one_sees(mix, package, examples, row, tmp_path, source):
    m = mix(steps=12)
    env = dict(package.env)
    if source:
        env["PYTHONPATH"] = f"{source}:{env.get('PYTHONPATH', '')}"
    calm, stormy = job.killed_and_resumed(tmp_path, env, PROGRAM, examples, m.name, m.bootstrap, 12, kill=7)
    assert stormy.resumed == [4] and [len(micros) for micros in calm.parts[0].values()] == [4] * 12
    assert m.loss_of("a") > 0 and m.loss_of("b") > 0
    said = (calm.path / "log.txt").read_text()
    assert float(re.search(r"masks change logits by (\S+)", said)[1]) > 1e-3
    rates = dict(re.findall(r"^rate (\d+) (\S+)$", said, re.M))
    assert float(rates["5"]) == pytest.approx(float(rates["4"]) / 2, rel=0.2)
    version = "main " + subprocess.run(["git", "-C", source, "rev-parse", "--short", "HEAD"], capture_output=True,
                                       text=True).stdout.strip() if source else importlib.metadata.version("torchtitan")
    row(version=version, model="Llama 3, 1 layer, width 256", calm=calm, stormy=stormy, name="main" if source else "0.3.0",
        missing="two ranks: FSDP needs an operation that gloo lacks; flex attention" + (
            "" if MAIN else "; main: RIFFLE_TORCHTITAN=FOLDER names its source"))
