"""The loader of a data-parallel rank, which adapters for trainers are made of (riffle.integrations.loader)."""

import importlib
import itertools
import json
import multiprocessing
import os
import socket
import subprocess

import pytest
import torch

LANES, EACH, STEPS = 8, 2, 12  # 16 sequences a step


@pytest.fixture
def loader(unique, tools, bootstrap, package):
    """loader(**options) of a mix with 12 steps; all are closed with the test."""
    assert package.riffle
    adapter = importlib.import_module("riffle.integrations.loader")
    subprocess.run([tools / "fill_batches", "--mix", unique, "--lanes", str(LANES), "--sequences-per-lane", str(EACH),
                    "--steps", str(STEPS), "--end"], check=True, env={**os.environ, "RIFFLE_BOOTSTRAP": bootstrap})
    made = []

    def make(**options):
        made.append(adapter.RankLoader(unique, bootstrap, **{"rank": 0, "world": 1, "micro_batch": 4, "timeout": 60, **options}))
        return made[-1]
    yield make
    for each in made:
        each.close()


def train(loader, accumulate, steps=STEPS):
    """Yields the step of each optimiser step."""
    for i, _ in enumerate(loader):
        if (i + 1) % accumulate == 0:
            loader.trained()
            yield loader.step
            if loader.step + 1 == steps:
                return


def test_an_optimiser_step_is_a_step_of_the_mix(loader, package, bootstrap):
    first = loader(run="a")
    assert first.state_dict()["step"] == 0
    assert list(train(first, 4, 5)) == list(range(5))
    assert first.state_dict() == {"mix": first.dataset.mix, "run": "a", "step": 5}
    first.flush()
    assert package.riffle.committed_step(first.dataset.mix, bootstrap, run="a") == 5
    resumed = loader(run="b", micro_batch=8)
    resumed.load_state_dict({**first.state_dict(), "run": "b", "step": 3})  # the checkpoint wins over the commits
    assert list(train(resumed, 2)) == list(range(3, STEPS)) and resumed.state_dict()["step"] == STEPS


@pytest.mark.parametrize("accumulate", [1, 2, 3, 5, 8])
def test_another_accumulation_is_refused(loader, package, accumulate):
    with pytest.raises(package.riffle.UsageError, match=r"a micro-batch \(4\) x accumulation x data-parallel ranks \(1\) must be"):
        list(train(loader(step=0), accumulate))


def test_losses_are_those_of_micro_batches_in_the_order_in_which_they_were_given(loader, package):
    mine = loader(step=0, item=lambda item: item)
    items = list(itertools.islice(mine, 4))
    reported = []
    mine.dataset.trained = lambda step: reported.append((step, dict(mine.dataset._sums)))
    for i, item in enumerate(items):
        mine.add(torch.full_like(item["labels"], 1 + i, dtype=torch.bfloat16).flatten(), item["labels"].flatten())
    with pytest.raises(package.riffle.UsageError, match="the losses of all micro-batches that were given are known"):
        mine.add(torch.ones(4, 4), torch.ones(4, 4))
    mine.trained()
    [(step, losses)] = reported
    expected = {}
    for i, item in enumerate(items):
        for domain, row in zip(item["domains"], item["labels"]):
            total, _, tokens = expected.get(domain, (0.0, 0.0, 0))
            n = int((row != -100).sum())
            expected[domain] = total + (1 + i) * n, 0.0, tokens + n
    assert step == 0 and len(expected) > 1 and losses == expected


def peer(make, rank, port, out):
    """Process `rank` of 4: two data-parallel ranks of two tensor-parallel peers."""
    torch.set_num_threads(1)  # threads of OpenMP do not outlive a fork
    torch.distributed.init_process_group("gloo", f"tcp://127.0.0.1:{port}", rank=rank, world_size=4)
    mine = make(rank=rank // 2, world=2, run="peers")
    rows = [int(row.sum()) for item in itertools.islice(mine, 2) for row in item["input_ids"]]
    mine.trained()
    mine.flush()
    out.put(json.dumps([rank, rows, mine.dataset.committed, mine.dataset.state_dict()["step"]]))
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


def test_peers_read_the_same_lanes_and_one_of_them_commits(loader, package, bootstrap):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    context = multiprocessing.get_context("fork")
    out = context.Queue()
    processes = [context.Process(target=peer, args=(loader, rank, port, out), daemon=True) for rank in range(4)]
    try:
        for process in processes:
            process.start()
        found = sorted(json.loads(out.get(timeout=120)) for _ in processes)
        for process in processes:
            process.join(120)
            assert process.exitcode == 0
    finally:
        for process in processes:
            process.kill()  # of those that still wait for each other
    rows = {rank: rows for rank, rows, *_ in found}
    assert rows[0] == rows[1] and rows[2] == rows[3] and rows[0] != rows[2]
    assert [committed for *_, committed, _ in found] == [1, 0, 1, 0]
    assert [step for *_, step in found] == [1] * 4  # all know what was trained
    assert package.riffle.committed_step(loader().dataset.mix, bootstrap, run="peers") == 1
