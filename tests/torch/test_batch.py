"""A mix whose batch changes: micro-batches follow it, and so does the state that Composer asks for by samples."""

import collections
import itertools

import pytest

FIRST, SECOND, END = 3, 6, 9  # steps of 16, 32, 8 sequences


@pytest.fixture
def mix(riffle, fill, configure, unique):
    fill("a", "b", sequences=200)
    config = configure({"a": 1, "b": 1}, phases=[{"start_step": FIRST, "global_batch": 32},
                                                 {"start_step": SECOND, "global_batch": 8}])
    riffle("mix", "-c", config, "--until-step", END)
    return f"{unique}-mix"


@pytest.fixture
def dataset(riffle_torch, mix, bootstrap):
    return lambda **more: riffle_torch.Dataset(mix, bootstrap, rank=0, world=2, timeout=30, **more)


def of_step(step):
    """The sequences of a rank of two."""
    return (16 if step < FIRST else 32 if step < SECOND else 8) // 2


def test_a_step_has_as_many_micro_batches_as_its_batch_gives(dataset):
    items = collections.Counter()
    d = dataset(micro_batch=4, step=0)
    for item in itertools.islice(d, sum(of_step(s) for s in range(END)) // 4):
        assert len(item["input_ids"]) == 4
        items[int(item["step"])] += 1
    assert items == {step: of_step(step) // 4 for step in range(END)}


def test_a_micro_batch_that_does_not_divide_a_later_step_is_named(dataset, package):
    d = dataset(micro_batch=8, step=0)
    items = iter(d)
    for _ in range(FIRST + 2 * (SECOND - FIRST)):
        next(items)
    with pytest.raises(package.riffle.UsageError,
                       match=f"micro_batch 8 does not divide the 4 sequences that step {SECOND} has on this rank"):
        next(items)


def test_samples_are_counted_through_a_change(dataset, package):
    samples = [sum(2 * of_step(s) for s in range(step)) for step in range(END + 1)]
    d = dataset(step=0)
    for step, _ in enumerate(itertools.islice(d, END)):
        for before in range(step + 1):
            assert d.state_dict(samples[before + 1], True)["step"] == before + 1
    with pytest.raises(package.riffle.UsageError, match="the mix has changed its batch"):
        d.state_dict(samples[FIRST] + 16, True)
    # A run that goes on counts from where it began, whatever a step had then.
    state = d.state_dict(samples[FIRST + 1], True)
    e = dataset()
    e.load_state_dict(state)
    for step, _ in enumerate(itertools.islice(e, END - FIRST - 1), FIRST + 1):
        assert e.state_dict(samples[step + 1], True)["step"] == step + 1
        assert e.state_dict(samples[step + 1] - samples[FIRST + 1], False)["step"] == step + 1
