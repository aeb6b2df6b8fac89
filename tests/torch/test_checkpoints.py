"""A checkpoint of a mix that was deleted and created again, in the data sets of PyTorch and what adapters are made of."""

import importlib
import itertools
import json

import pytest

WEIGHTS = {"a": 0.6, "b": 0.4}


@pytest.fixture
def again(fill, configure, riffle, unique):
    """again(**keys) deletes the mix and creates it with 30 steps (begin=False: with none yet); its name."""
    fill("a", "b")
    made = []

    def make(weights=WEIGHTS, begin=True, **keys):
        if made:
            riffle("topics", "-c", made[-1], "--delete", "--mix", "--yes")
        made.append(configure(weights, **keys))
        if begin:
            make.begin()
        return f"{unique}-mix"

    make.begin = lambda: riffle("mix", "-c", made[-1], "--until-step", 30)
    return make


@pytest.fixture
def opened(bootstrap, package):
    """opened(kind, mix) -> a data set, or a loader, of rank 0 of 1; closed with the test."""
    assert package.riffle
    made = []

    def make(kind, mix):
        module, name = kind.rsplit(".", 1)
        more = {"rank": 0, "world": 1} if name == "RankLoader" else {}
        made.append(getattr(importlib.import_module(module), name)(mix, bootstrap, timeout=60, **more))
        return made[-1]
    yield make
    for each in made:
        each.close()


@pytest.mark.parametrize("kind", ["riffle.torch.Dataset", "riffle.torch.MapDataset", "riffle.integrations.dataset.RankDataset",
                                  "riffle.integrations.loader.RankLoader"])
def test_a_mix_of_another_order_is_refused_and_the_same_one_is_accepted(again, opened, package, kind):
    mix = again()
    one = opened("riffle.torch.Dataset", mix)
    for item in itertools.islice(one, 20):
        one.trained(item["step"])
    state = json.loads(json.dumps(one.state_dict()))
    assert state["step"] == 20 and 0 < state["choices_step"] <= 20
    again(transaction_bytes=14000)
    same = opened(kind, mix)
    same.load_state_dict(state)
    if kind != "riffle.torch.MapDataset":  # which index comes next the framework says
        assert same.state_dict()["step"] == 20
        next(iter(same))
    for keys, says in (({"seed": 8}, "its schedule is"), ({"weights": {"a": 0.5, "b": 0.5}}, "the hash of its choices below step")):
        again(**keys)
        with pytest.raises(package.riffle.DataError, match=f"is not the mix of this checkpoint: {says}"):
            opened(kind, mix).load_state_dict(state)


@pytest.mark.parametrize("weights, refused", [(WEIGHTS, False), ({"a": 0.5, "b": 0.5}, True)])
def test_a_mix_that_has_not_come_so_far_is_compared_before_its_first_item(again, opened, package, weights, refused):
    mix = again()
    state = opened("riffle.torch.Dataset", mix).state_dict(step=20)
    again(weights, begin=False)
    data = opened("riffle.torch.Dataset", mix)
    data.load_state_dict(state)
    again.begin()
    if refused:
        with pytest.raises(package.riffle.DataError, match="the hash of its choices below step"):
            next(iter(data))
    else:
        assert next(iter(data))["step"] == 20
