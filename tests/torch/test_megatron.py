"""What riffle takes over from Megatron-LM, against the real package: its blending index, its files, its loader."""

import importlib
import pathlib
import sys

import numpy as np
import pytest
import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
LENGTH, BATCH, STEPS = 32, 16, 40
R50K = "acb8a08fb8cca3aa"  # fingerprint of r50k_base.tiktoken with the pattern gpt2


@pytest.fixture(scope="module")
def loaders():
    sys.path.insert(0, str(ROOT / "bench"))
    yield importlib.import_module("loaders")
    if torch.distributed.is_initialized():  # by the loader, for one process; others of this one have groups of their own
        torch.distributed.destroy_process_group()


@pytest.mark.parametrize("weights", [[0.3, 0.7], [0.1, 0.5, 0.3, 0.1], [0.4, 0.3, 0.2, 0.1], [1 / 7] * 7, [0.997, 0.002, 0.001]])
def test_the_draws_of_greedy_are_megatrons_blending_index(weights, configure, riffle):
    from megatron.core.datasets import helpers_cpp
    draws = 20000
    chosen, places = np.zeros(draws, np.int16), np.zeros(draws, np.int64)
    helpers_cpp.build_blending_indices(chosen, places, np.array(weights), len(weights), draws, False)
    names = [chr(ord("a") + i) for i in range(len(weights))]
    config = configure(dict(zip(names, weights)), create=False, schedule="greedy")
    lines = riffle("plan", "-c", config, "--draws", draws, "--sizes", ",".join(f"{n}={10 * draws}" for n in names)).stdout
    assert lines.splitlines() == [f"{k}\t{names[d]}\t{i}" for k, (d, i) in enumerate(zip(chosen.tolist(), places.tolist()))]


def test_megatron_reads_what_export_writes(fill, configure, riffle, unique, package, bootstrap, vocab, tmp_path):
    from megatron.core.datasets.indexed_dataset import IndexedDataset
    (tmp_path / "unused.tiktoken").symlink_to(vocab / "r50k_base.tiktoken")  # its eos is the last id, as fill's is
    fill("a", sequences=50, tokenizer_fingerprint=R50K)
    riffle("export", "-c", configure({"a": 1}, create=False), "a", "--format", "megatron", "--out", tmp_path / "a")
    rows = np.concatenate([s.tokens for s in package.riffle.Validation(unique, "a", bootstrap, set="train", dtype=np.uint16)])
    stream = np.append(rows[:, :-1].reshape(-1), rows[-1, -1])  # neighbours share a token
    read = IndexedDataset(str(tmp_path / "a"))
    assert len(read) > 10 and read.document_indices.tolist() == list(range(len(read) + 1))
    exported = np.concatenate([read[i] for i in range(len(read))])
    assert exported.dtype == np.uint16
    assert (exported == stream[:len(exported)]).all() and len(stream) - len(exported) < 4 * rows.shape[1]


def test_the_loader_of_the_comparison_gives_each_row_whole_and_resumes(loaders, tmp_path):
    random = np.random.default_rng(3)
    rows = {d: random.integers(0, 1 << 16, (60, LENGTH + 1), dtype=np.uint16) for d in "abcd"}
    domain_of = {row.tobytes(): d for d, values in rows.items() for row in values}
    plan = loaders.Plan({"a": 0.4, "b": 0.3, "c": 0.2, "d": 0.1}, BATCH, STEPS, LENGTH)
    loaders.Megatron.prepare(tmp_path, rows)
    loader = loaders.Megatron(tmp_path, plan)
    batches = loader.batches(None, 0)
    seen = [next(batches) for _ in range(15)]
    state = loader.state()
    seen += list(batches)
    assert len(seen) == STEPS
    counts = dict.fromkeys("abcd", 0)
    for batch in seen:
        assert batch.shape == (BATCH, LENGTH + 1) and batch.dtype == np.uint16
        for row in batch:
            counts[domain_of[row.tobytes()]] += 1  # every row is one that was written, all of it
    assert {d: round(n / (STEPS * BATCH), 2) for d, n in counts.items()} == plan.weights
    again = list(loaders.Megatron(tmp_path, plan).batches(state, 15))
    assert len(again) == STEPS - 15 and all((x == y).all() for x, y in zip(again, seen[15:]))
