"""Calls of the Python package in random order from many threads (stress_calls.py), for a few seconds; `make stress-python`
repeats it for as long as it is given, under both sanitizers."""

import os
import subprocess
import sys

from conftest import ROOT


def test_no_use_from_python_ends_the_process(fill, configure, riffle, unique, package, bootstrap):
    fill("a", "b")
    fill("a.valid", sequences=40)
    riffle("mix", "-c", configure({"a": 1, "b": 3}), "--until-step", 20)
    seconds, seed = os.environ.get("RIFFLE_STRESS_SECONDS", "8"), os.environ.get("RIFFLE_STRESS_SEED")
    words = ["--mix", f"{unique}-mix", "--corpus", unique, "--domain", "a", "--bootstrap", bootstrap, "--seconds", seconds]
    done = subprocess.run([sys.executable, ROOT / "tests/kafka/stress_calls.py", *words, *(["--seed", seed] if seed else [])],
                          env=package.env, stdout=subprocess.PIPE, text=True, timeout=float(seconds) + 600)
    print(done.stdout)
    assert done.returncode == 0, done.stdout[-20000:]
