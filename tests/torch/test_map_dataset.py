"""The sequences of a mix by index: the same as by step, in order, out of order, in workers, on some ranks; lengths, ends,
commits."""

import json
import pickle
import random
import subprocess
import sys
import warnings

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, DistributedSampler
from torchdata.stateful_dataloader import StatefulDataLoader

LANES, B, LENGTH, STEPS = 8, 16, 64, 24


@pytest.fixture
def mix(fill, configure, riffle, unique):
    """mix(steps) -> its name; steps=None: to its end."""
    def make(steps=STEPS, sequences=200, **keys):
        fill("a", "b", sequences=sequences)
        config = configure({"a": 1, "b": 2}, **keys)
        riffle("mix", "-c", config, *(["--until-step", steps] if steps else []))
        return f"{unique}-mix"
    return make


@pytest.fixture
def opened(riffle_torch, bootstrap):
    made = []

    def make(mix, kind="MapDataset", **options):
        made.append(getattr(riffle_torch, kind)(mix, bootstrap, **{"timeout": 60, **options}))
        return made[-1]
    yield make
    for d in made:
        d.close()


def rows_of(opened, mix, steps=STEPS):
    """Every sequence of the mix as the plain data set gives it, by index."""
    rows = []
    for item in opened(mix, "Dataset", step=0, fields=None):
        for i in range(B):
            rows.append({name: value[i] if name not in ("step", "lr_scale", "phase") else value
                         for name, value in item.items()})
        if len(rows) == steps * B:
            return rows


def same(a, b):
    return set(a) == set(b) and all(torch.equal(a[k], b[k]) if torch.is_tensor(a[k]) else a[k] == b[k] for k in a)


def test_an_index_is_a_sequence_of_a_step_in_any_order(mix, opened):
    name = mix()
    rows = rows_of(opened, name)
    d = opened(name, steps=STEPS)
    assert len(d) == STEPS * B and d.batch == B and d.places == range(B)
    assert same(d[0], rows[0]) and same(d[-1], rows[-1]) and same(d[np.int64(37)], rows[37])
    order = random.Random(3).sample(range(STEPS * B), 40)
    assert all(same(d[i], rows[i]) for i in order)
    assert all(same(a, rows[i]) for a, i in zip(d.__getitems__(order), order))
    with pytest.raises(IndexError, match=f"index {STEPS * B} of {STEPS * B} sequences"):
        d[STEPS * B]
    with pytest.raises(IndexError):
        d[-STEPS * B - 1]


@pytest.mark.parametrize("workers", [0, 1, 3])
@pytest.mark.parametrize("size", [B, 10, 3 * B])
def test_a_loader_gives_the_steps_in_order(mix, opened, workers, size):
    name = mix()
    rows = rows_of(opened, name)
    d = opened(name, steps=STEPS, fields="tensors", keep=4)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="riffle")
        batches = list(DataLoader(d, batch_size=size, num_workers=workers))
    for field in ("input_ids", "labels", "position_ids", "document_ids", "domain_index"):
        assert torch.equal(torch.cat([batch[field] for batch in batches]), torch.stack([row[field] for row in rows]))


def test_what_is_asked_for_in_order_seeks_nowhere(mix, opened, monkeypatch):
    name = mix()
    d = opened(name, steps=STEPS)
    d[0]
    monkeypatch.setattr(d._stream, "seek", lambda step: pytest.fail(f"seek to {step}"))
    for i in range(STEPS * B):
        assert d[i]["step"] == i // B
    for i in (STEPS * B - 1, STEPS * B - B - 1):  # kept: the step at hand and the one before
        d[i]
    monkeypatch.undo()
    assert d[5 * B]["step"] == 5


def test_an_order_of_jumps_is_warned_of_once(mix, opened):
    d = opened(mix(), steps=STEPS)
    with pytest.warns(RuntimeWarning, match="32 indexes in a row were not those of the next steps.*shuffle=False") as seen:
        for i in range(80):
            d[(i % 2 * 20 + i % 3) * B]
    assert len(seen) == 1


def test_its_length_is_that_of_a_mix_that_has_ended(mix, opened, package):
    name = mix(None, 40, domains={"a": {"on_end": "stop"}})
    d = opened(name)
    total = len(d)
    assert total % B == 0 and d.extent.ended and d.extent.steps == total // B > 2
    assert d[total - 1]["step"] == total // B - 1
    longer = opened(name, steps=total // B + 1)
    with pytest.raises(IndexError, match=f"mix {name} has ended after {total // B} steps, and step {total // B} is wanted: "
                                         f"steps={total // B + 1} is more than it has"):
        longer[total]


def test_a_mix_without_an_end_wants_to_be_told_how_long_it_is(mix, opened, package):
    d = opened(mix())
    with pytest.raises(package.riffle.UsageError, match="has no end yet.*steps="):
        len(d)
    assert d[B]["step"] == 1


@pytest.mark.parametrize("world", [2, 4])
def test_a_rank_has_its_places_and_names_whose_the_others_are(mix, opened, package, world):
    name = mix()
    rows = rows_of(opened, name)
    seen = []
    for rank in range(world):
        d = opened(name, steps=STEPS, rank=rank, world=world)
        assert len(d) == STEPS * B and len(d.places) == B // world
        for step in range(0, STEPS, 5):
            for place in d.places:
                assert same(d[step * B + place], rows[step * B + place])
                seen.append((step, place))
        other = (d.places.stop) % B
        with pytest.raises(package.riffle.UsageError, match=f"index {B + other} is place {other} of step 1, and rank {rank} of "
                                                            f"{world} has places {d.places.start} to {d.places.stop - 1}"):
            d[B + other]
    assert sorted(seen) == [(s, p) for s in range(0, STEPS, 5) for p in range(B)]


def test_ranks_of_a_sampler_read_all_and_take_theirs(mix, opened):
    name = mix()
    rows = rows_of(opened, name)
    found = {}
    for rank in range(2):
        d = opened(name, steps=STEPS)
        sampler = DistributedSampler(d, 2, rank, shuffle=False)
        for i, item in zip(sampler, DataLoader(d, batch_size=None, sampler=sampler)):
            found[i] = item
    assert sorted(found) == list(range(STEPS * B)) and all(same(found[i], rows[i]) for i in found)


@pytest.mark.parametrize("workers", [0, 2])
def test_a_stateful_loader_resumes_behind_its_batches(mix, opened, workers):
    name = mix()
    rows = rows_of(opened, name)
    loader = StatefulDataLoader(opened(name, steps=STEPS, fields="tensors"), batch_size=B, num_workers=workers)
    items = iter(loader)
    for step in range(5):
        next(items)
    state = loader.state_dict()
    del items
    loader = StatefulDataLoader(opened(name, steps=STEPS, fields="tensors"), batch_size=B, num_workers=workers)
    loader.load_state_dict(state)
    rest = torch.cat([item["input_ids"] for item in loader])
    assert torch.equal(rest, torch.stack([row["input_ids"] for row in rows[5 * B:]]))


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_what_was_trained_is_committed_wherever_it_was_read(mix, opened, package, bootstrap, workers):
    name = mix()
    d = opened(name, steps=STEPS)
    assert package.riffle.committed_step(name, bootstrap) == 0
    for n, item in enumerate(DataLoader(d, batch_size=B, num_workers=workers)):
        assert item["step"].tolist() == [n] * B
        if n < 20:
            d.trained(n)
    d.flush()
    assert d.committed == package.riffle.committed_step(name, bootstrap) == 20
    assert d.state_dict().items() >= {"mix": name, "run": "trainers", "step": 20}.items()
    again = opened(name, steps=STEPS)
    again.load_state_dict(json.loads(json.dumps(d.state_dict())))
    assert again[20 * B]["step"] == 20
    again.trained(20)
    again.flush()
    assert package.riffle.committed_step(name, bootstrap) == 21


def test_a_state_is_of_what_was_trained_and_of_its_mix(mix, opened, package):
    d = opened(mix(), steps=STEPS)
    assert d.state_dict()["step"] == 0
    d[5 * B], d[6 * B], d[3 * B]
    assert d.state_dict()["step"] == 5  # where reading began
    d.trained(3)
    assert d.state_dict()["step"] == 4 and d.state_dict(step=9)["step"] == 9
    with pytest.raises(package.riffle.UsageError, match="step 2 is trained already"):
        d.trained(2)
    with pytest.raises(package.riffle.UsageError, match="step 7 was not given whole yet"):
        d.trained(7)
    with pytest.raises(package.riffle.DataError, match="is of mix other"):
        d.load_state_dict({"mix": "other", "run": "trainers", "step": 1})


PROGRAM = """
import pickle, sys
d = pickle.load(open(sys.argv[1], "rb"))
for step in range(3):
    assert d[step * d.batch][0].step == step
"""


def test_another_process_reads_what_this_one_trains_however_it_was_sent(mix, package, bootstrap, tmp_path):
    name = mix()
    d = package.riffle.Sequences(name, bootstrap, steps=STEPS, timeout=60)
    (tmp_path / "d").write_bytes(pickle.dumps(d))
    subprocess.run([sys.executable, "-c", PROGRAM, tmp_path / "d"], check=True, timeout=300, env=package.env)
    d.trained(2)
    d.flush()
    assert package.riffle.committed_step(name, bootstrap) == 3
    program = "import pickle, sys; sys.stdout.buffer.write(pickle.dumps(__import__('riffle').Sequences('m', steps=1)))"
    sent = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, timeout=300, env=package.env)
    alone = pickle.loads(sent.stdout)  # whose process has ended: it shares with nobody
    with pytest.raises(package.riffle.UsageError, match="no step was given yet"):
        alone.trained(0)


def test_a_window_larger_than_the_lead_is_named(mix, opened, package):
    name = mix(4, max_lead_steps=4)
    d = opened(name, steps=STEPS, timeout=2)
    with pytest.raises(package.riffle.StepTimeout, match="step 4 cannot come before step 0 is trained: the mix's max_lead_steps "
                                                         "is 4, and trained.. was never called"):
        d.__getitems__(range(6 * B))


def test_a_mix_whose_batch_has_changed_has_no_index(mix, opened, riffle, package, tmp_path):
    name = mix(6, phases=[{"name": "large", "start_step": 6, "global_batch": 32}])
    d = opened(name, steps=8)
    assert d[5 * B]["step"] == 5
    riffle("mix", "-c", tmp_path / "mix.yml", "--until-step", 8)
    with pytest.raises(package.riffle.DataError, match=f"step 6 of mix {name} has 32 sequences, and indexes count steps of 16"):
        d[6 * B]
    with pytest.raises(package.riffle.UsageError, match=f"mix {name} has changed its global_batch"):
        opened(name)[0]


def test_without_torch_an_index_gives_a_step_and_a_row(mix, package, bootstrap):
    name = mix()
    with package.riffle.Reader(name, bootstrap, step=0) as reader:
        steps = [next(reader).tokens.copy() for _ in range(STEPS)]
    s = package.riffle.Sequences(name, bootstrap, steps=STEPS, timeout=60)
    for i in (0, 17, 5 * B + 3, 2):
        step, row = s[i]
        assert (step.step, row) == divmod(i, B) and np.array_equal(step.tokens[row], steps[i // B][i % B])
    assert [int(step.step) for step, _ in s.find([40, 3, 20])] == [2, 0, 1]
    s.trained(0)
    s.close()
