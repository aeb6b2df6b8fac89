"""Grain's prefetching with riffle's IterDataset, and MaxText's keys."""

import json
import pathlib

import absl.flags
import grain
import numpy as np
import pytest

import job
import run_grain

PROGRAM = pathlib.Path(__file__).with_name("run_grain.py")
B, LENGTH = 16, 64


@pytest.fixture
def opened(package):
    assert package.riffle  # from here on it can be imported
    from riffle.integrations.grain import IterDataset
    made = []

    def make(mix, **options):
        made.append(IterDataset(mix.name, mix.bootstrap, **{"timeout": 60, **options}))
        return made[-1]
    yield make
    for d in made:
        d.close()


@pytest.mark.parametrize("ahead, hosts", [("process", 1), ("thread", 1), ("process", 2)])
def test_a_killed_training_sees_what_an_undisturbed_one_sees(mix, package, examples, row, tmp_path, ahead, hosts):
    m = mix(steps=24)
    calm, stormy = job.killed_and_resumed(tmp_path, package.env, PROGRAM, examples, m.name, m.bootstrap, 24, ahead, kill=13,
                                          world=hosts)
    assert stormy.resumed == [12]
    assert [calm.rates(r) for r in range(hosts)] == [{s: 0.1 if s < 5 else 0.05 for s in range(24)}] * hosts  # lr_scale
    assert package.riffle.committed_step(m.name, m.bootstrap, run="calm") == 24
    row(version=grain.__version__, model="attention in JAX, 16 k", calm=calm, stormy=stormy, name=f"{ahead}-{hosts}",
        part=f", {ahead}", ranks=str(hosts),
        missing="MaxText's trainer, which needs Python 3.12")


@pytest.mark.parametrize("ahead", sorted(run_grain.AHEAD))
def test_a_state_is_exact_whatever_is_fetched_ahead(mix, opened, ahead):
    absl.flags.FLAGS.mark_as_parsed()
    m = mix(steps=16)
    expected = list(opened(m, steps=16))
    items = iter(run_grain.AHEAD[ahead](opened(m, steps=16)))
    for _ in range(5):
        next(items)
    state = items.get_state()
    assert ahead != "none" or json.loads(json.dumps(state)).items() >= {"mix": m.name, "run": "trainers", "step": 5}.items()
    again = iter(run_grain.AHEAD[ahead](opened(m, steps=16)))
    again.set_state(state)
    for expect, item in zip(expected[5:], again, strict=True):
        assert all(np.array_equal(expect[name], item[name]) for name in expect)


def test_elements_have_maxtexts_keys(mix, package, opened):
    from riffle.integrations.grain import maxtext
    m = mix(steps=2)
    item = next(iter(opened(m, element=maxtext)))
    assert {name: (value.dtype, value.shape) for name, value in item.items()} == {
        name: (np.dtype(np.int32), (B, LENGTH)) for name in (
            "inputs", "inputs_position", "inputs_segmentation", "targets", "targets_position", "targets_segmentation")}
    with package.riffle.Reader(m.name, m.bootstrap, step=0) as reader:
        step = next(reader)
        t = step.targets()
        assert (item["inputs"] == step.tokens[:, :-1]).all() and (item["inputs_position"] == t.position_ids).all()
        assert (item["inputs_segmentation"] == t.document_ids + 1).all()
        assert ((item["targets_segmentation"] != 0) == (t.labels != -100)).all()


def test_ranks_have_their_lanes_and_a_mix_that_has_ended_ends(mix, opened):
    m = mix(steps=6, end=True)
    whole = list(opened(m))
    assert len(whole) == 6
    halves = [list(opened(m, rank=rank, world=2)) for rank in range(2)]
    for step, *parts in zip(whole, *halves, strict=True):
        assert np.array_equal(step["input_ids"], np.concatenate([part["input_ids"] for part in parts]))
