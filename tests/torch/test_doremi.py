"""examples/doremi.py, short: two rounds of DoReMi and a live ODM; what was learned is what the next is trained on."""

import json
import os
import pathlib
import re
import statistics
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = (ROOT / os.environ.get("B", "build")).resolve()
STEPS = 40


def example(*words, bootstrap=""):
    return subprocess.run([sys.executable, ROOT / "examples/doremi.py", *words], text=True, capture_output=True, timeout=900,
                          env={**os.environ, "RIFFLE_BOOTSTRAP": bootstrap, "B": str(BUILD)})


@pytest.fixture
def doremi(bootstrap, tmp_path):
    def run(*words):
        done = example("--steps", str(STEPS), "--seeds", "5", "--out", tmp_path, *words, bootstrap=bootstrap)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout, json.loads((tmp_path / "results.json").read_text())["5"]
    return run


def test_each_round_learns_from_the_model_before_and_trains_the_next_on_it(doremi, tmp_path):
    printed, found = doremi("--rounds", "2")
    assert list(found) == ["size", "uniform", "proxy 1", "main 1", "proxy 2", "main 2", "odm"]
    domains = sorted(found["uniform"]["weights"])
    assert found["uniform"]["weights"] == pytest.approx(dict.fromkeys(domains, 1 / 6))
    assert min(found["size"]["weights"].values()) < 0.03
    assert all(len(run["curve"]) == STEPS for run in found.values())
    for k in ("1", "2"):
        learned, history = found[f"proxy {k}"]["weights"], [step["weights"] for step in found[f"proxy {k}"]["curve"]]
        assert learned == pytest.approx({d: statistics.mean(w[d] for w in history) for d in domains}, rel=1e-9)
        assert found[f"main {k}"]["weights"] == pytest.approx(learned, abs=1e-6)
    first, second = ([sum(excess for _, excess, _ in step["sums"].values()) for step in found[name]["curve"]]
                     for name in ("proxy 1", "proxy 2"))
    assert min(first) > 0 and first != second  # another reference: the same model on the same sequences
    assert len(set(found["odm"]["weights"].values())) == 6
    for row in ("cs", "mean", "worst"):
        assert any(line.startswith(row + " ") for line in printed.splitlines())
    assert (tmp_path / "doremi.png").stat().st_size > 10000
    both = example("--table", tmp_path / "results.json", tmp_path / "results.json").stdout
    assert "mean and standard deviation of 2 seeds" in both and "±0.000" in both


def test_a_live_proxy_draws_what_its_learner_requests(doremi, tmp_path):
    _, found = doremi("--rounds", "1", "--live", "--live-eta", "0.05")
    learned = found["proxy 1"]["weights"]
    assert sum(learned.values()) == pytest.approx(1) and max(learned.values()) > 0.2
    log = next(tmp_path.glob("*-proxy1-5.reweight.log")).read_text()
    asked = [0, *map(int, re.findall(r"learned_steps=(\d+) id=\S+ effective_step=", log))]
    assert len(asked) > 2 and asked[-1] <= STEPS and "REWEIGHT-NO-ANSWER" not in log
    assert min(after - before for before, after in zip(asked, asked[1:])) >= 10  # reports that come together are learned together
    drawn = [{d: n for d, (_, _, n) in step["sums"].items()} for step in found["proxy 1"]["curve"]]
    most = max(learned, key=learned.get)
    share = [sum(step.get(most, 0) for step in part) / sum(sum(step.values()) for step in part)
             for part in (drawn[:10], drawn[-5:])]
    assert share[0] == pytest.approx(1 / 6, abs=0.03) and share[1] > share[0] + 0.02
