"""examples/train.py, short: killed and resumed, the same losses bit for bit; a skipped step differs."""

import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = (ROOT / os.environ.get("B", "build")).resolve()


def test_a_killed_training_has_the_losses_of_an_undisturbed_one_bit_for_bit(bootstrap, tmp_path):
    done = subprocess.run([sys.executable, ROOT / "examples/train.py", "--steps", "60", "--out", tmp_path], text=True,
                          capture_output=True, timeout=900, env={**os.environ, "RIFFLE_BOOTSTRAP": bootstrap, "B": str(BUILD)})
    assert done.returncode == 0, done.stdout + done.stderr
    assert "are the same doubles" in done.stdout and "WRONG" not in done.stdout
    assert (tmp_path / "train.png").stat().st_size > 10000
    for domain in ("code", "headers", "manual", "perl"):
        line = next(line for line in (tmp_path / "status.txt").read_text().splitlines() if line.startswith(domain + " "))
        assert 1 < float(line.split()[-1]) < 9  # riffle status shows its loss
