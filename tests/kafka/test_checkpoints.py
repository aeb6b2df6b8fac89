"""Checkpoints and their mix: a mix that was created again is accepted only if it makes the same choices."""

import json
import os
import random
import subprocess

import pytest

from conftest import both_forms
from test_produce import corpus  # noqa: F401
from test_replay import Topic, decode_ledger

WEIGHTS = {"a": 0.6, "b": 0.3, "c": 0.1}
END = 40


@pytest.fixture
def riffle_module(package):
    return package.riffle


class Mix:
    """A mix that can be deleted and created again, and what a trainer has of it."""

    def __init__(self, riffle, configure, module, bootstrap, tools):
        self.riffle, self.configure, self.module, self.bootstrap = riffle, configure, module, bootstrap
        self.tools, self.opened = tools, []

    def make(self, weights=WEIGHTS, until=END, begin=True, **keys):
        self.path = self.configure(weights, **keys)
        if begin:
            self.riffle("mix", "-c", self.path, "--until-step", until)
        return self

    def again(self, **keys):
        """Deletes the mix and creates another one of the same name; the domains stay."""
        self.delete()
        return self.make(**keys)

    def delete(self):
        self.riffle("topics", "-c", self.path, "--delete", "--mix", "--yes")

    def open(self, **options):
        self.opened.append(self.module.Reader(f"{self.name}-mix", self.bootstrap, timeout=60, **options))
        return self.opened[-1]

    def state(self, step):
        """Of a checkpoint from which this step comes next."""
        with self.open(step=step) as reader:
            return json.loads(json.dumps(reader.state_dict()))

    def boundaries(self):
        """The steps at which the ledger's transactions end."""
        ledger = Topic(self.tools, self.bootstrap, f"{self.name}-mix.ledger")
        return {decode_ledger(record)["step_next"] for record in ledger.records[0]}


@pytest.fixture
def mix(riffle, configure, riffle_module, bootstrap, unique, fill, tools):
    fill("a", "b", "c")
    made = Mix(riffle, configure, riffle_module, bootstrap, tools)
    made.name = unique
    yield made
    for reader in made.opened:
        reader.close()


@both_forms
def test_a_state_names_the_schedule_and_the_hash_of_all_choices_below_its_step(mix):
    mix.make()
    ledger = [decode_ledger(record) for record in Topic(mix.tools, mix.bootstrap, f"{mix.name}-mix.ledger").records[0]]
    with mix.open(step=0) as reader:
        states = [reader.state_dict(step=step) for step in range(END + 1)]
        schedule = reader.info.schedule
    for step, state in enumerate(states):
        assert state == {"mix": f"{mix.name}-mix", "run": "trainers", "step": step, "schedule": schedule, "choices_step": step,
                         "choices": state["choices"]}
    assert len({state["choices"] for state in states}) == END + 1
    for record in ledger:
        assert states[record["step_next"]]["choices"] == int.from_bytes(record["choices"], "little")
    assert len(ledger) > 4
    often = [reader._checkpoints.state(step, often=True)["choices_step"] for step in range(END + 1)]
    assert set(often) == {0}  # it does not ask again so soon
    ahead = reader.state_dict(step=END + 7)  # nothing says what that step will be
    assert (ahead["step"], ahead["choices_step"], ahead["choices"]) == (END + 7, END, states[END]["choices"])


@both_forms
def test_a_mix_created_again_with_another_seed_is_refused(mix, riffle_module):
    state = mix.make().state(20)
    mix.again(seed=8)
    with mix.open(step=0) as reader:
        with pytest.raises(riffle_module.DataError, match="is not the mix of this checkpoint: its schedule is .*"
                                                          "another seed.* Create it again with the original"):
            reader.load_state_dict(state)
        assert reader.position == 0
    with pytest.raises(riffle_module.DataError, match="its schedule is"):
        mix.open(checkpoint=state)
    rank = riffle_module.Sequences(state["mix"], mix.bootstrap)
    with pytest.raises(riffle_module.DataError, match="its schedule is"):
        rank.load_state_dict(state)


@both_forms
def test_a_mix_created_again_with_other_weights_is_refused(mix, riffle_module):
    state = mix.make().state(20)
    mix.again(weights={**WEIGHTS, "c": 0.2})
    with pytest.raises(riffle_module.DataError, match=r"the hash of its choices below step \d+ is .*other weights, domains, data"):
        mix.open(checkpoint=state)


@both_forms
def test_a_mix_created_again_alike_is_accepted_wherever_its_transactions_end(mix):
    mix.make()
    before = mix.boundaries()
    states = [mix.state(step) for step in (1, 13, 20, 27, END)]
    mix.again(transaction_bytes=14000)
    assert len(before ^ mix.boundaries()) > 4
    with mix.open(step=0) as reader:
        for state in states:
            reader.load_state_dict(state)
            assert reader.position == state["step"]
    assert next(mix.open(checkpoint=states[2])).step == 20


def test_a_difference_inside_of_a_transaction_is_found(mix, riffle_module):
    """Two mixes that differ from step 10 on, and of whose ledgers the second has no record there."""
    def late(weight):
        return [{"name": "late", "start_step": 10, "weights": {"c": weight}}]

    mix.make(phases=late(0.5), transaction_bytes=15000)
    state = mix.state(13)
    mix.again(phases=late(0.6), transaction_bytes=1000000, transaction_ms=30000)
    assert not mix.boundaries() & set(range(1, END))
    with pytest.raises(riffle_module.DataError, match="the hash of its choices below step"):
        mix.open(checkpoint=state)
    mix.again(phases=late(0.5), transaction_bytes=1000000, transaction_ms=30000)
    assert next(mix.open(checkpoint=state)).step == state["step"]


@both_forms
def test_a_mix_that_has_not_come_so_far_is_compared_before_its_first_step_is_given(mix, riffle, riffle_module):
    state = mix.make().state(20)
    for weights, refused in ((WEIGHTS, False), ({**WEIGHTS, "c": 0.2}, True)):
        mix.again(weights=weights, begin=False)
        loaded = mix.open(step=0)
        loaded.load_state_dict(state)
        opened, elsewhere = mix.open(checkpoint=state), mix.open(checkpoint=state)
        elsewhere.seek(0)
        riffle("mix", "-c", mix.path, "--until-step", END)
        assert elsewhere.next(60).step == 0  # no step of the checkpoint
        for reader in (opened, loaded):
            if refused:
                for _ in range(2):
                    with pytest.raises(riffle_module.DataError, match="the hash of its choices below step"):
                        reader.next(60)
            else:
                assert reader.next(60).step == 20
            reader.close()


def test_a_checkpoint_of_0_1_0_is_taken_with_a_warning(mix, recwarn):
    mix.make()
    reader = mix.open(step=0)
    old = {"mix": f"{mix.name}-mix", "run": "trainers", "step": 20}
    with pytest.warns(RuntimeWarning, match="READ-CHECKPOINT-UNBOUND the checkpoint has step 20 of mix"):
        reader.load_state_dict(old)
    assert next(reader).step == 20
    recwarn.clear()
    reader.load_state_dict(reader.state_dict())
    reader.load_state_dict({**old, "step": 0})  # nothing was trained
    assert not recwarn.list


def test_a_mix_whose_draws_depend_on_lengths_is_derived_with_its_sequences(corpus, riffle_module, bootstrap):  # noqa: F811
    """weights_unit tokens, and sequences with padding: which domain is drawn next follows from what is in the domain logs."""
    r = random.Random(3)
    for domain, most in (("a", 60), ("b", 12)):
        (corpus.folder / f"{domain}.jsonl").write_text("".join(
            json.dumps({"text": "word " * r.randrange(1, most)}) + "\n" for _ in range(300)))
    corpus.config["domains"] = {name: {"train": [f"{name}.jsonl"], "packing": "none"} for name in "ab"}
    name = f"{corpus.name}-mix"
    corpus.config["mix"] = {"name": name, "seed": 3, "global_batch": 8, "lanes": 2, "max_lead_steps": 0, "weights_unit": "tokens",
                            "transaction_bytes": 3000, "weights": {"a": 1, "b": 1}}
    corpus.create().produce()

    def mix(**keys):
        corpus.config["mix"].update(keys)
        corpus.write()
        corpus.riffle("topics", "-c", corpus.path, "--create")
        corpus.riffle("mix", "-c", corpus.path, "--until-step", 20)
        with riffle_module.Reader(name, bootstrap, step=0) as reader:
            return [reader.state_dict(step=step) for step in range(21)]

    before = mix()
    corpus.riffle("topics", "-c", corpus.path, "--delete", "--mix", "--yes")
    after = mix(transaction_bytes=1000000, transaction_ms=30000)
    state = next(s for s in before if 0 < s["choices_step"] not in {t["choices_step"] for t in after})
    with riffle_module.Reader(name, bootstrap, checkpoint=state) as reader:
        assert next(reader).step == state["step"]
    with pytest.raises(riffle_module.DataError, match="the hash of its choices below step"):
        riffle_module.Reader(name, bootstrap, checkpoint={**state, "choices": state["choices"] ^ 1})


def test_a_ledger_that_was_cut_is_a_warning_and_another_schedule_an_error(mix, tools, bootstrap, riffle_module, caplog):
    state = mix.make().state(13)
    topic = f"{mix.name}-mix.ledger"

    def cut():
        with mix.open(step=0):
            subprocess.run([tools / "trim", topic, "0", str(12)], env={**os.environ, "RIFFLE_BOOTSTRAP": bootstrap}, check=True)

    cut()
    assert next(mix.open(checkpoint=state)).step == 13
    assert f"READ-CHECKPOINT-UNCHECKED cannot tell whether mix {mix.name}-mix is the mix of this checkpoint" in caplog.text
    assert "its ledger begins at step" in caplog.text
    assert set(mix.state(1)) == {"mix", "run", "step"}
    mix.again(seed=8)
    cut()
    with pytest.raises(riffle_module.DataError, match="its schedule is"):
        mix.open(checkpoint=state)


def test_a_state_is_made_without_a_broker_and_says_that_it_is_unbound(mix, riffle_module, recwarn):
    """The broker is away; what was learned before is kept."""
    mix.make()
    reader = mix.open(step=0)
    known = reader.state_dict(step=3)
    reader._checkpoints._broker = "127.0.0.1:1", None, 1.0
    away = reader.state_dict(step=30)
    assert away == {**known, "step": 30}
    assert ["READ-CHECKPOINT-UNBOUND the ledger of mix" in str(w.message) for w in recwarn.list] == [True]
    assert reader.state_dict(step=31)["step"] == 31 and len(recwarn.list) == 1  # asked once a minute
    assert set(reader.state_dict(step=2)) == {"mix", "run", "step"}  # what is known is the hash below a later step
