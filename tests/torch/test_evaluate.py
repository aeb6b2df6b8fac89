"""examples/evaluate.py: the loss of each held-out set by itself, over one process and over ranks."""

import importlib
import json
import math
import os
import pathlib
import subprocess
import sys

import pytest
import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
VOCABULARY = 50257  # of what fill makes up


@pytest.fixture(scope="module")
def example(package):
    assert package.riffle
    sys.path.insert(0, str(ROOT / "examples"))
    return importlib.import_module("evaluate")


def by_label(item):
    """A loss that depends on the token only, so that it can be known beforehand."""
    return item["labels"].clamp(min=0).double() / VOCABULARY


def known(package, corpus, domain, which, bootstrap):
    labels = [s.tokens[:, 1:].astype("float64") for s in package.riffle.Validation(corpus, domain, bootstrap, set=which)]
    return (sum(a.sum() for a in labels) / VOCABULARY / sum(a.size for a in labels), sum(a.size for a in labels),
            sum(map(len, labels)))


def test_each_set_has_the_mean_loss_of_its_own_tokens(fill, unique, example, package, bootstrap):
    fill("a.valid", sequences=70)
    fill("a.test", sequences=130)
    fill("b.valid", sequences=1, seed=9)
    fill("b.test", sequences=0)
    found = example.evaluate(by_label, unique, ["b", "a"], bootstrap, batch=64)
    for which, domain in [("valid", "a"), ("test", "a"), ("valid", "b")]:
        loss, tokens, sequences = known(package, unique, domain, which, bootstrap)
        row = found[which][domain]
        assert math.isclose(row["loss"], loss, rel_tol=1e-12)
        assert (row["tokens"], row["sequences"]) == (tokens, sequences)
    assert found["test"]["b"] == {"loss": None, "tokens": 0, "sequences": 0}
    assert found["valid"]["a"]["sequences"] == 70 and list(found["valid"]) == ["a", "b"]
    first = example.evaluate(by_label, unique, ["a"], bootstrap, sets=["test"], batch=64, batches=1)
    assert first["test"]["a"]["sequences"] == 64


RANK = """
import json, sys, torch, torch.distributed as dist
sys.path.insert(0, sys.argv[1])
import evaluate
corpus, bootstrap, store, rank, world = sys.argv[2:]
dist.init_process_group("gloo", init_method=f"file://{store}", rank=int(rank), world_size=int(world))
print(json.dumps(evaluate.evaluate(lambda item: item["labels"].clamp(min=0).double() / 50257, corpus, ["a"], bootstrap,
                                   sets=["valid"], batch=16)))
dist.destroy_process_group()
"""


def test_ranks_share_a_set_and_all_get_its_loss(fill, unique, example, package, bootstrap, tmp_path):
    fill("a.valid", sequences=70)
    ranks = [subprocess.Popen([sys.executable, "-c", RANK, ROOT / "examples", unique, bootstrap, tmp_path / "store", str(rank),
                               "2"], env=package.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
             for rank in range(2)]
    loss, tokens, sequences = known(package, unique, "a", "valid", bootstrap)
    for process in ranks:
        out, stderr = process.communicate(timeout=120)
        assert process.returncode == 0, stderr
        row = json.loads(out)["valid"]["a"]
        assert math.isclose(row["loss"], loss, rel_tol=1e-12) and (row["tokens"], row["sequences"]) == (tokens, sequences)


def test_a_training_lowers_the_loss_of_every_set(bootstrap, tmp_path):
    env = {**os.environ, "RIFFLE_BOOTSTRAP": bootstrap}
    done = subprocess.run([sys.executable, ROOT / "examples/evaluate.py", "--steps", "30", "--batches", "3", "--out", tmp_path],
                          text=True, capture_output=True, timeout=580, env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    results = json.loads((tmp_path / "results.json").read_text())
    for which in ("valid", "test"):
        assert sorted(results["after"][which]) == ["code", "headers", "manual", "prose"]
        for domain, after in results["after"][which].items():
            before = results["before"][which][domain]
            assert before["tokens"] == after["tokens"] > 0
            assert abs(before["loss"] - math.log(4096)) < 0.5 and after["loss"] < before["loss"] - 0.5
    model = torch.load(tmp_path / "model.pt", weights_only=True)["model"]
    assert all(v.isfinite().all() for v in model.values())
