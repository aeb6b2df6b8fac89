"""KempnerForge's scripts/train.py with the branches of docs/TRAINERS.md. It is in no package index: $RIFFLE_KEMPNERFORGE names a
folder of its source, and without one a row of the table says that nothing was run."""

import os
import pathlib
import re
import subprocess

import job

PROGRAM = pathlib.Path(__file__).with_name("run_kempnerforge.py")
SOURCE = os.environ.get("RIFFLE_KEMPNERFORGE")

if SOURCE:
    def test_a_killed_training_sees_what_an_undisturbed_one_sees(mix, package, row, tmp_path):
        m = mix(steps=24)
        calm, stormy = job.killed_and_resumed(tmp_path, {**package.env, "RIFFLE_BOOTSTRAP": m.bootstrap}, PROGRAM, SOURCE,
                                              m.name, 24, kill=13)
        assert stormy.resumed == [12] and [len(micros) for micros in calm.parts[0].values()] == [4] * 24
        assert m.loss_of("a") > 0 and m.loss_of("b") > 0
        said = (calm.path / "log.txt").read_text()
        assert float(re.search(r"masks change logits by (\S+)", said)[1]) > 1e-3
        assert re.search(r"^rate 5 \S+ 0.5$", said, re.M)
        version = subprocess.run(["git", "-C", SOURCE, "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout
        row(version=version.strip() or "source", model="2 layers, width 32", calm=calm, stormy=stormy,
            missing="several ranks: its device mesh is of CUDA")
else:
    def test_the_table_says_that_nothing_was_run(build):
        job.write_row(build, "kempnerforge", "all", dict(zip(job.COLUMNS, (
            "KempnerForge", "", "", "", "", "", "", "", "", "in no package index: RIFFLE_KEMPNERFORGE=FOLDER names its source"))))
