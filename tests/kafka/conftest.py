"""Fixtures for mixes over synthetic domains (tests/tools/fill.c: topics as the producer leaves them)."""

import importlib.util
import os
import pathlib
import subprocess
import time

import pytest

# `from conftest import ROOT, Riffle` in a test of this folder means this file; they are made one folder up.
_spec = importlib.util.spec_from_file_location("conftest_above", pathlib.Path(__file__).parents[1] / "conftest.py")
_above = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_above)
ROOT, Riffle, Package = _above.ROOT, _above.Riffle, _above.Package

LENGTH = 64
both_forms = pytest.mark.parametrize("form", ["copied", "derived"])  # of a test whose mixes may be without copies
# A sanitizer's own memory and time are no figures of the program (scripts/test-sanitized).
SANITIZED = "RIFFLE_SANITIZED" in os.environ


@pytest.fixture
def fill(tools, bootstrap, unique):
    """fill("a", "b", sequences=100) makes domain topics of the corpus `unique`."""
    def run(*domains, sequences=200, length=LENGTH, partitions=1, corpus=None, **more):
        words = ["--bootstrap", bootstrap, "--corpus", corpus or unique, "--domain", ",".join(domains), "--sequences",
                 sequences, "--length", length, "--partitions", partitions, "--distinct", 50]
        for name, value in more.items():
            words += ["--" + name.replace("_", "-")] + ([] if value is True else [value])
        subprocess.run([tools / "fill", *map(str, words)], check=True, timeout=300)
    return run


@pytest.fixture
def form():
    return "copied"


@pytest.fixture
def commits(form):
    """The part of the name of a mix's topic that runs commit to."""
    return "batches" if form == "copied" else "lanes"


@pytest.fixture
def configure(write_config, bootstrap, unique, riffle, form):
    """configure(weights, mix=..., domains=..., shared=..., replication=..., **mix keys) -> path, with the mix's topics made."""
    def make(weights, /, name="mix", create=True, partitions=1, domains=None, corpus=None, shared=None, replication=1,
             length=LENGTH, **keys):
        if form != "copied":
            keys = {"batches": form, **keys}
        if shared:  # lanes in so many partitions of the batch topic
            keys["partitions"] = shared
        config = {
            "corpus": corpus or unique,
            "tokenizer": {"file": "unused.tiktoken", "pattern": "gpt2", "eos": "<|endoftext|>"},
            "sequence_length": length,
            "domains": {d: {"train": [f"unused.{d}.jsonl"], "partitions": partitions, **(domains or {}).get(d, {})}
                        for d in weights},
            "mix": {"name": f"{unique}-{name}", "seed": 7, "global_batch": 16, "lanes": 8, "max_lead_steps": 0,
                    "transaction_bytes": 20000, "weights": weights, **keys},
            "kafka": {"bootstrap.servers": bootstrap},
        }
        if replication > 1:
            config["topics"] = {"replication": replication, "min_insync_replicas": replication - 1}
        path = write_config(config, f"{name}.yml")
        if create:
            riffle("topics", "-c", path, "--create")
        return path
    return make


@pytest.fixture
def read(riffle):
    """All lanes of steps first..end, as the lines of --format steps."""
    def run(config, steps, first=0, rank=0, world=1, form="steps", run=None, commit_every=None):
        more = (["--run", run] if run else []) + (["--commit-every", commit_every] if commit_every else [])
        start = [] if commit_every else ["--from-step", first]
        more += ["--uneven"] if 8 % world else []
        return riffle("read", "-c", config, "--rank", rank, "--world", world, *start, "--steps", steps,
                      "--format", form, "--timeout", 60, *more).stdout.splitlines()
    return run


def wait_until(condition, what, seconds=60):
    """Polls until `condition` is true, and fails after `seconds`. Pauses for as long as the last look took, because a
    `riffle status` costs the broker more than the work that the test waits for."""
    deadline = time.monotonic() + seconds
    while True:
        began = time.monotonic()
        if condition():
            return
        now = time.monotonic()
        assert now < deadline, f"{what} did not happen within {seconds} s"
        time.sleep(min(max(0.02, now - began), 0.5))


@pytest.fixture
def wait_for():
    return wait_until
