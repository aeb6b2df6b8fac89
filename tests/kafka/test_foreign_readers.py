"""docs/KAFKA.md: what kcat and fastavro read of our records, by the commands and lines of that page."""

import re
import subprocess
import sys

import pytest

from conftest import ROOT

PAGE = (ROOT / "docs/KAFKA.md").read_text()


def block(kind):
    return re.search(rf"^```{kind}\n(.*?)^```$", PAGE, re.M | re.S)[1]


@pytest.fixture
def config(fill, configure, riffle):
    """Two transactions of two steps on two lanes each, one domain."""
    fill("a", sequences=40)
    path = configure({"a": 1}, lanes=2, global_batch=4)
    for end in (2, 4):
        riffle("mix", "-c", path, "--until-step", end)
    return path


def test_kcat_and_fastavro_read_batches_and_the_ledger(config, bootstrap, unique, tmp_path):
    read = {}
    for topic in (f"{unique}-mix.batches", f"{unique}-mix.ledger"):
        done = subprocess.run(["bash", "-euc", block("sh")], capture_output=True, text=True, timeout=120, env={
            "PATH": "/usr/local/bin:/usr/bin:/bin", "RIFFLE_BOOTSTRAP": bootstrap, "TOPIC": topic, "FILE": str(tmp_path / topic)})
        assert done.returncode == 0, done.stderr
        lines = subprocess.run([sys.executable, "-c", block("python"), tmp_path / topic], cwd=ROOT, check=True, timeout=120,
                               capture_output=True, text=True).stdout.splitlines()
        assert len(done.stdout.splitlines()) == len(lines)
        read[topic.rpartition(".")[2]] = [eval(line) for line in lines]
    assert sorted((r["step"], r["lane"]) for r in read["batches"]) == [(s, lane) for s in range(4) for lane in range(2)]
    assert {r["mix"] for r in read["batches"] + read["ledger"]} == {f"{unique}-mix"}
    assert max(r["step_next"] for r in read["ledger"]) == 4
