"""examples/swarm.py, small: what it prints, and that it leaves no topic behind."""

import json
import os
import re
import subprocess
import sys

import pytest
from conftest import ROOT


def test_a_small_swarm_is_mixed_read_and_deleted_in_both_forms(bootstrap, package, riffle, tmp_path):
    done = subprocess.run(
        [sys.executable, ROOT / "examples/swarm.py", "--mixes", "6", "--steps", "8", "--batches", "copied,derived",
         "--out", tmp_path, "--riffle", riffle.path],
        env={**package.env, "RIFFLE_BOOTSTRAP": bootstrap}, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    for form in "copied", "derived":
        row = re.search(rf"^\| {form} \|(.*)\|$", done.stdout, re.M)[1].split(" | ")
        assert float(row[3]) == pytest.approx(6 * 8 * 16 * 513 / 1e6, rel=1e-3)
        batches, ledger = row[4].strip(), row[5].strip()
        if ledger != "-":  # the broker may be on another machine
            assert float(ledger) > 0 and (batches == "-" if form == "derived" else float(batches) > 0.1), (form, row)
    assert "all 48 steps read, the same in each form" in done.stdout
    lines = (tmp_path / "weights.tsv").read_text().splitlines()
    assert len(lines) == 7 and all(abs(sum(map(float, line.split("\t")[1:])) - 1) < 1e-5 for line in lines[1:])
    for form, topic in ("copied", "batches"), ("derived", "lanes"):
        one = next((tmp_path / "mixes" / form).glob("*.yml"))
        shown = riffle("topics", "-c", one, check=False, env=dict(os.environ))
        assert shown.returncode == 2 and f"{json.loads(one.read_text())['mix']['name']}.{topic}" in shown.stdout
