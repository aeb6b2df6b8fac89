"""Which round of the mix (mix.epoch_size) a step is of, as a trainer sees it: also where the batch changes."""

import random

import pytest

SIZE, END = 50, 40
CHANGES = {0: 16, 7: 24, 9: 40, 10: 8, 21: 32}  # several in one transaction


def expected():
    draws, found, batch = 0, [], 0
    for step in range(END):
        batch = CHANGES.get(step, batch)
        found.append(draws // SIZE)
        draws += batch
    return found


@pytest.fixture
def mixed(riffle, fill, configure):
    """A mix with rounds; steps below 12 in transactions of one run, the others in that of the next."""
    fill("a", "b", sequences=4000)
    config = configure({"a": 0.7, "b": 0.3}, global_batch=CHANGES[0], epoch_size=SIZE, transaction_bytes=10**6, phases=[
        {"name": f"p{step}", "start_step": step, "global_batch": batch, "weights": {"a": 1 + step % 3}}
        for step, batch in CHANGES.items() if step > 0])
    riffle("mix", "-c", config, "--until-step", 12)
    riffle("mix", "-c", config, "--until-step", END)
    return config


def test_each_step_says_its_round(mixed, package, unique, bootstrap):
    with package.riffle.Reader(unique + "-mix", bootstrap, 0, 2, step=0, timeout=30) as reader:
        assert [next(reader).round for _ in range(END)] == expected()
        order = list(range(END))
        random.Random(3).shuffle(order)
        for step in order[:15]:  # by the ledger, one by one
            reader.seek(step)
            assert next(reader).round == expected()[step], step
        reader.seek(5)
        held = [next(reader) for _ in range(30)]
        assert [s.round for s in held] == expected()[5:35]
        late = next(reader)
    assert late.round == expected()[35], "steps of a reader that has asked carry it"
    with package.riffle.Reader(unique + "-mix", bootstrap, 0, 2, step=0, timeout=30) as reader:
        held = [next(reader) for _ in range(END)]
        for step in (0, END - 1, 1):  # the reader knows that of the last one from then on
            assert held[step].round == expected()[step], "the round of one step is not that of another"


def test_a_mix_without_rounds_has_none(riffle, fill, configure, package, unique, bootstrap):
    fill("a", sequences=400)
    config = configure({"a": 1})
    riffle("mix", "-c", config, "--until-step", 5)
    with package.riffle.Reader(unique + "-mix", bootstrap, step=0, timeout=30) as reader:
        assert [next(reader).round for _ in range(5)] == [None] * 5
        last = next(package.riffle.Reader(unique + "-mix", bootstrap, step=3, timeout=30))
    with pytest.raises(package.riffle.UsageError, match="closed"):
        last.round
