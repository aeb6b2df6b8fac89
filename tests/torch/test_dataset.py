"""riffle.torch on a real broker: items, checkpoints, workers, world sizes, torch.distributed."""

import collections
import itertools
import json
import os
import socket
import subprocess
import sys

import pytest
import torch
import xxhash
from torch.utils.data import DataLoader
from torchdata.stateful_dataloader import StatefulDataLoader

LANES, STEPS = 8, 24


@pytest.fixture
def mix(unique, tools, bootstrap):
    """Fills a batch topic; (step, lane) -> hash of its tokens."""
    def fill(*words):
        done = subprocess.run([tools / "fill_batches", "--mix", unique, "--lanes", str(LANES), "--print", *map(str, words)],
                              env={**os.environ, "RIFFLE_BOOTSTRAP": bootstrap}, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        cells = [line.split("\t") for line in done.stdout.splitlines()]
        return {(int(step), int(lane)): hashed for step, lane, hashed, _ in cells}
    fill.name = unique
    return fill


@pytest.fixture
def dataset(riffle_torch, mix, bootstrap):
    def make(**options):
        return riffle_torch.Dataset(mix.name, bootstrap, **{"step": 0, "timeout": 30, **options})
    return make


def hashes(items, rank=0, world=1):
    """(step, lane) -> hash, put together again from inputs and labels, which are a shift."""
    found = {}
    for item in items:
        rows = torch.cat([item["input_ids"], item["labels"][:, -1:]], dim=1).numpy().astype("<u4")
        assert (item["input_ids"][:, 1:] == item["labels"][:, :-1]).all()
        lanes = [lane for lane in range(LANES) if lane * world // LANES == rank]
        for lane, mine in zip(lanes, rows.reshape(len(lanes), -1)):
            key = int(item["step"]), lane
            assert key not in found
            found[key] = xxhash.xxh64(mine.tobytes()).hexdigest()
    return found


def test_items_are_what_a_model_takes(mix, dataset):
    expected = mix("--steps", 3, "--length", 16, "--end")
    items = list(DataLoader(dataset(cu_seqlens=True), batch_size=None))
    assert hashes(items) == expected
    item = items[1]
    n = 2 * LANES
    assert item["step"] == 1 and item["lr_scale"] == 1.0 and isinstance(item["phase"], str)
    assert {k: (v.dtype, tuple(v.shape)) for k, v in item.items() if torch.is_tensor(v)} == {
        "input_ids": (torch.int64, (n, 16)), "labels": (torch.int64, (n, 16)),
        "position_ids": (torch.int64, (n, 16)), "document_ids": (torch.int32, (n, 16)),
        "domain_index": (torch.int64, (n,)), "cu_seqlens": (torch.int32, (2 * n + 1,))}
    assert item["max_seqlen"] == 8
    assert item["position_ids"][0].tolist() == [*range(8), *range(8)]
    assert item["document_ids"][0].tolist() == [0] * 8 + [1] * 8
    assert set(item["domains"]) <= {"code", "prose", "web"} and len(item["domains"]) == n


def test_labels_are_masked_where_there_is_no_loss(fill, unique, riffle_torch, package, bootstrap):
    fill("d.valid", sequences=10)
    v = package.riffle.Validation(unique, "d", bootstrap)
    masked = next(iter(riffle_torch.ValidationDataset(v, mask_boundaries=True)))
    plain = next(iter(riffle_torch.ValidationDataset(v)))
    first = masked["position_ids"][:, 1:] == 0  # the token there begins a document, so the label before is masked
    assert first.any()
    assert (masked["labels"][:, :-1][first] == -100).all()
    assert (masked["labels"][:, :-1][~first] == plain["labels"][:, :-1][~first]).all()
    assert (plain["labels"] != -100).all()


@pytest.mark.parametrize("workers", [0, 1, 2])
@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_any_number_of_workers_gives_the_same(mix, dataset, package, workers, context):
    if context == "spawn":
        os.environ.update(PYTHONPATH=package.env["PYTHONPATH"])
    expected = mix("--steps", STEPS, "--end")
    loader = DataLoader(dataset(), batch_size=None, num_workers=workers,
                        multiprocessing_context=context if workers else None)
    items = list(loader)
    assert [int(item["step"]) for item in items] == list(range(STEPS))
    assert hashes(items) == expected


@pytest.mark.parametrize("workers", [0, 1])
def test_an_iteration_ends_where_it_is_asked_to_though_nothing_comes_behind(mix, dataset, workers):
    mix("--steps", 5)
    d = dataset(until=5)
    assert [int(item["step"]) for item in DataLoader(d, batch_size=None, num_workers=workers)] == [0, 1, 2, 3, 4]
    d.load_state_dict(d.state_dict(step=5))
    assert list(DataLoader(d, batch_size=None, num_workers=workers)) == []


@pytest.mark.parametrize("world", [1, 2, 3, 5, 8])
def test_every_world_sees_the_same(mix, dataset, world):
    expected = mix("--steps", 5, "--end")
    found = {}
    for rank in range(world):
        mine = dataset(rank=rank, world=world, uneven=LANES % world > 0)
        found.update(hashes(DataLoader(mine, batch_size=None), rank, world))
    assert found == expected


@pytest.mark.parametrize("before, after", [(0, 0), (1, 1), (2, 2)])
@pytest.mark.parametrize("at", [0, 1, 7, STEPS])
def test_a_stateful_loader_goes_on_where_it_was(mix, dataset, before, after, at):
    expected = mix("--steps", STEPS, "--end")
    loader = StatefulDataLoader(dataset(), batch_size=None, num_workers=before)
    first, items = [], iter(loader)
    for _ in range(at):
        first.append(next(items))
    state = loader.state_dict()
    del items
    other = StatefulDataLoader(dataset(step=3), batch_size=None, num_workers=after)
    other.load_state_dict(state)
    rest = list(other)
    assert [int(item["step"]) for item in first + rest] == list(range(STEPS))
    assert {**hashes(first), **hashes(rest)} == expected


def test_the_state_is_mix_run_and_step_at_any_world_size(mix, dataset):
    expected = mix("--steps", STEPS, "--end")
    states = []
    for rank in range(4):
        d = dataset(rank=rank, world=4)
        items = iter(d)
        for _ in range(9):
            next(items)
        states.append(json.dumps(d.state_dict()))
    assert {s for s in states} == {json.dumps({"mix": mix.name, "run": "trainers", "step": 9})}
    found = {}
    for rank in range(2):
        d = dataset(rank=rank, world=2)
        d.load_state_dict(json.loads(states[0]))
        found.update(hashes(d, rank, 2))
    assert found == {key: value for key, value in expected.items() if key[0] >= 9}


def test_a_state_between_micro_batches_begins_the_step_again(mix, dataset):
    mix("--steps", 4, "--end")
    d = dataset(micro_batch=4)
    items = iter(d)
    seen = [next(items) for _ in range(4)]
    assert [int(i["step"]) for i in seen] == [0] * 4 and d.state_dict()["step"] == 1
    next(items)
    assert d.state_dict()["step"] == 1  # step 1 was not given whole
    again = dataset(micro_batch=4)
    again.load_state_dict(d.state_dict())
    assert next(iter(again))["step"] == 1
    whole = next(iter(dataset()))
    assert (torch.cat([i["input_ids"] for i in seen]) == whole["input_ids"]).all()
    assert sum((i["domains"] for i in seen), []) == whole["domains"]
    with pytest.raises(ValueError, match="micro_batch 3 does not divide the 16 sequences"):
        next(iter(dataset(micro_batch=3)))


def test_iterating_again_goes_on(mix, dataset):
    mix("--steps", 10, "--end")
    d = dataset()
    items = iter(d)
    assert [next(items)["step"] for _ in range(4)] == [0, 1, 2, 3]
    items.close()
    assert [item["step"] for item in d] == [4, 5, 6, 7, 8, 9]


@pytest.mark.parametrize("more", [{}, {"batch_size": 4}, {"num_workers": 1}])
def test_a_loader_that_would_stack_items_is_refused(mix, dataset, package, more):
    mix("--steps", 2, "--end")
    with pytest.raises(package.riffle.UsageError, match="give it batch_size=None"):
        next(iter(DataLoader(dataset(), **more)))
    own = DataLoader(dataset(), batch_size=1, collate_fn=lambda items: items[0])
    assert [item["step"] for item in own] == [0, 1]


def test_a_state_of_another_mix_is_refused(mix, dataset, package):
    mix("--steps", 1)
    with pytest.raises(package.riffle.DataError, match="the checkpoint is of mix other"):
        dataset().load_state_dict({"mix": "other", "run": "trainers", "step": 0})


def test_a_lost_position_is_an_error_unless_a_checkpoint_is_loaded(mix, dataset, package):
    mix("--steps", 10, "--ledger-step", 7, "--end")
    d = dataset(step=None)
    with pytest.raises(package.riffle.LostError, match="was at step 7"):
        next(iter(d))
    d.load_state_dict({"mix": mix.name, "run": "trainers", "step": 7})
    assert next(iter(d))["step"] == 7


def test_losses_are_reported_from_the_main_process(fill, configure, riffle, unique, riffle_torch, bootstrap):
    fill("a", "b")
    riffle("mix", "-c", configure({"a": 1, "b": 1}), "--until-step", 3)
    d = riffle_torch.Dataset(f"{unique}-mix", bootstrap, step=0, timeout=30)
    for item in DataLoader(d, batch_size=None, num_workers=1):
        d.report(int(item["step"]), {"a": (1.0, 0.0, 5)})
        if item["step"] == 2:
            break
    d._reporter.flush()
    ends = subprocess.run(["kcat", "-Q", "-b", bootstrap, "-t", f"{unique}-mix.feedback:0:-1"], capture_output=True,
                          text=True).stdout
    assert "offset 3" in ends


RANK = """
import json, sys, torch, torch.distributed as dist
import riffle.torch
mix, bootstrap, rank, world, port, out = sys.argv[1:]
dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=int(rank), world_size=int(world))
d = riffle.torch.Dataset(mix, bootstrap, timeout=30)
items = iter(d)
steps = [next(items)["step"] for _ in range(2)]
d.reader.commit()  # a rank that were late would find another position
dist.barrier()
json.dump([d.rank, d.world, steps], open(f"{out}/{rank}", "w"))
dist.destroy_process_group()
"""


def test_ranks_of_torch_distributed_begin_at_the_commit_that_rank_0_has_read(mix, package, bootstrap, tmp_path):
    mix("--steps", 20, "--end")
    riffle = package.riffle
    for rank, step in [(0, 7), (1, 5)]:
        with riffle.Reader(mix.name, bootstrap, rank, 2, step=step) as reader:
            reader.commit()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    ranks = [subprocess.Popen([sys.executable, "-c", RANK, mix.name, bootstrap, str(rank), "2", str(port), tmp_path],
                              env=package.env, stderr=subprocess.PIPE, text=True) for rank in range(2)]
    for process in ranks:
        _, stderr = process.communicate(timeout=120)
        assert process.returncode == 0, stderr
    for rank in range(2):
        assert json.loads((tmp_path / str(rank)).read_text()) == [rank, 2, [5, 6]]


@pytest.mark.parametrize("workers", [0, 1])
def test_an_item_says_the_round_of_its_step_where_it_is_asked(fill, configure, riffle, unique, riffle_torch, bootstrap, workers):
    fill("a", "b", sequences=100)
    riffle("mix", "-c", configure({"a": 0.75, "b": 0.25}, epoch_size=40), "--until-step", 10)
    dataset = riffle_torch.Dataset(f"{unique}-mix", bootstrap, step=0, timeout=60, fields=["step", "round"])
    items = itertools.islice(DataLoader(dataset, batch_size=None, num_workers=workers), 10)
    assert [item["round"] for item in items] == [16 * step // 40 for step in range(10)]


@pytest.mark.parametrize("workers", [0, 1])
def test_an_iteration_is_a_round_and_its_length_is_known(fill, configure, riffle, unique, riffle_torch, package, bootstrap, workers):
    """Of 80 draws, 5 steps: in each every domain comes exactly its share, as its cursor goes on."""
    fill("a", "b", sequences=100)
    riffle("mix", "-c", configure({"a": 0.75, "b": 0.25}, epoch_size=80, permute=False), "--until-step", 15)
    name = f"{unique}-mix"
    assert package.riffle.find_rounds(name, bootstrap) == (80, 5, 16, 8)
    dataset = riffle_torch.RoundDataset(name, bootstrap, step=0, timeout=60)
    loader = DataLoader(dataset, batch_size=None, num_workers=workers)
    assert len(dataset) == len(loader) == 5
    for number in range(3):
        assert dataset.round == number
        seen = []
        for item in loader:
            seen.append(item)
            dataset.trained(int(item["step"]))
        assert [int(item["step"]) for item in seen] == list(range(5 * number, 5 * number + 5))
        assert collections.Counter(d for item in seen for d in item["domains"]) == {"a": 60, "b": 20}
    dataset.close()
    resumed = riffle_torch.RoundDataset(name, bootstrap, step=7, timeout=60, micro_batch=4)
    assert [item["step"] for item in resumed] == [s for s in (7, 8, 9) for _ in range(4)] and len(resumed) == 20
    assert [len(riffle_torch.RoundDataset(name, bootstrap, step=0, rank=r, world=3, uneven=True, micro_batch=2)) for r in range(3)] == [
        15, 15, 10]


@pytest.mark.parametrize("keys, said", [
    ({}, "has no rounds: set mix.epoch_size"),
    ({"epoch_size": 90}, "rounds of 90 draws are no whole number of steps of 16"),
    ({"epoch_size": 96, "phases": [{"name": "large", "start_step": 4, "global_batch": 32}]}, "has changed"),
])
def test_rounds_that_no_loader_can_count_are_refused(fill, configure, riffle, unique, riffle_torch, package, bootstrap, keys, said):
    fill("a", "b", sequences=100)
    config = configure({"a": 0.75, "b": 0.25}, **keys)
    dataset = riffle_torch.RoundDataset(f"{unique}-mix", bootstrap, step=0)
    with pytest.raises(package.riffle.StepTimeout, match="no mixer has begun"):
        len(dataset)
    riffle("mix", "-c", config, "--until-step", 6)
    with pytest.raises(package.riffle.UsageError, match=said):
        len(dataset)
