"""What all adapters have (riffle.integrations.dataset): where a training begins, who commits, losses by domain."""

import importlib
import importlib.util
import itertools
import json
import os
import pathlib
import re
import subprocess
import warnings

import pytest
import torch

LANES, EACH, STEPS = 8, 2, 12  # 16 sequences a step


@pytest.fixture
def mix(unique, tools, bootstrap, package):
    """mix(*words) fills a mix of 12 steps; its name, and a run that has committed `steps` of them."""
    assert package.riffle

    class Mix:
        name = unique
        broker = bootstrap

        def __init__(self, *words):
            subprocess.run([tools / "fill_batches", "--mix", unique, "--lanes", str(LANES), "--sequences-per-lane", str(EACH),
                            "--steps", str(STEPS), *map(str, words)], check=True, env={**os.environ, "RIFFLE_BOOTSTRAP": bootstrap})

        def commit(self, steps, run="trainers"):
            torch_ = importlib.import_module("riffle.torch")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                data = torch_.Dataset(unique, bootstrap, run=run, timeout=60)
                for item in itertools.islice(data, steps):
                    data.trained(item["step"])
            data.flush()
            data.close()

        def committed(self, run="trainers"):
            return package.riffle.committed_step(unique, bootstrap, run=run)
    return Mix


@pytest.fixture
def dataset(mix):
    """dataset(m, **options) -> RankDataset; closed with the test."""
    adapter, made = importlib.import_module("riffle.integrations.dataset"), []

    def make(m, **options):
        made.append(adapter.RankDataset(m.name, m.broker, **{"timeout": 60, **options}))
        return made[-1]
    yield make
    for each in made:
        each.close()


def first(data):
    return next(iter(data))["step"]


# --- where a training begins


def test_a_training_killed_before_its_first_checkpoint_begins_at_step_0_again_and_says_so(mix, dataset):
    m = mix("--end")
    m.commit(5)
    data = dataset(m)
    with pytest.warns(RuntimeWarning, match=(
            "run trainers of mix .* has committed all steps below 5, and the framework has loaded no checkpoint: a new model begins "
            "at step 0, and reads them again.*name another run, or set this one back: riffle runs --reset trainers --to 0")):
        items = list(itertools.islice(data, 7))
    assert [item["step"] for item in items] == list(range(7))
    for item in items:
        data.trained(item["step"])  # trained again, as another one's first
    data.flush()
    assert m.committed() == 7


def test_a_run_without_commits_begins_without_a_word(mix, dataset):
    m = mix("--end")
    m.commit(5, run="other")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert first(dataset(m)) == 0


def test_a_training_without_a_checkpoint_begins_at_the_step_that_is_given(mix, dataset):
    m = mix("--end")
    m.commit(5)
    with pytest.warns(RuntimeWarning, match="a new model begins at step 3"):
        assert first(dataset(m, step=3)) == 3
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert first(dataset(m, step=5)) == 5


def test_a_checkpoint_wins_over_commits_and_over_the_step_that_is_given(mix, dataset):
    m = mix("--end")
    m.commit(7)
    for options in ({}, {"step": 1}):
        data = dataset(m, **options)
        data.load_state_dict({"mix": m.name, "run": "trainers", "step": 4})
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert first(data) == 4


def test_every_loader_begins_there(mix):
    loader = importlib.import_module("riffle.integrations.loader")
    m = mix("--end")
    m.commit(5)
    data = loader.RankLoader(m.name, m.broker, rank=0, world=1, micro_batch=16, timeout=60)
    with pytest.warns(RuntimeWarning, match="a new model begins at step 0"):
        next(iter(data))
    assert data.step == 0 and data.state_dict("whatever", True)["step"] == 1
    data.close()


def test_lightning_begins_there(mix, tmp_path):
    import pytorch_lightning as pl
    adapter = importlib.import_module("riffle.integrations.lightning")
    m, seen = mix("--end"), []
    m.commit(5)

    class Model(pl.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(1, 1)

        def training_step(self, item, number):
            seen.append(item["step"])
            return self.layer(torch.ones(1)).sum()

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1)

    trainer = pl.Trainer(max_steps=3, accelerator="cpu", logger=False, enable_progress_bar=False, enable_checkpointing=False,
                         enable_model_summary=False, default_root_dir=tmp_path)
    with pytest.warns(RuntimeWarning, match="a new model begins at step 0"):
        trainer.fit(Model(), adapter.DataModule(m.name, m.broker, timeout=60))
    assert seen == [0, 1, 2] and m.committed() == 3


def test_megatron_begins_there(mix):
    adapter = importlib.import_module("riffle.integrations.megatron")
    m = mix("--end")
    m.commit(5)
    train = adapter.TrainIterator(m.name, m.broker, global_batch=16, micro_batch=16, timeout=60)
    with pytest.warns(RuntimeWarning, match="a new model begins at step 0"):
        assert next(train)["step"] == 0
    train.close()


# --- spikes


def test_skip_to_passes_over_steps_behind_an_earlier_checkpoint_and_is_done_behind_a_later_one(mix, dataset):
    m = mix("--end")
    for state, begins in ((None, 6), (2, 6), (9, 9)):
        data = dataset(m, skip_to=6, run=f"run-{state}")
        if state is not None:
            data.load_state_dict({"mix": m.name, "run": f"run-{state}", "step": state})
        assert first(data) == begins == data.state_dict(step=begins)["step"]


def test_a_spike_in_a_data_set_needs_the_step_and_has_a_rule_of_its_own(mix, dataset, package):
    skip = package.riffle.skip_on_spike
    data = dataset(mix("--end"))
    with pytest.raises(package.riffle.UsageError, match="give step=, the number of the step that was trained"):
        skip(data, 1.0)
    data.spikes.keep_out = 0  # no mixer is asked here
    for step in range(70):
        assert skip(data, 2.0 + step % 3 / 100, step=step, checkpoints=[0]) is None
    found = skip(data, 50.0, step=70, checkpoints=[0])
    assert (found.step, found.checkpoint, found.resume) == (70, 0, 171) and data.spikes.passes(170)


# --- sequences by index


def test_sequences_by_index_cannot_begin_behind_a_number_of_samples(mix, package):
    m = mix("--end")
    data = importlib.import_module("riffle.torch").MapDataset(m.name, m.broker, timeout=60)
    assert data.state_dict()["step"] == 0
    with pytest.raises(package.riffle.UsageError, match="use riffle.torch.Dataset"):
        data.state_dict(16, True)
    data.close()


def test_nanotrons_loader_counts_as_many_domains_as_a_mix_may_have():
    root = pathlib.Path(__file__).resolve().parents[2]
    limit = re.search(r"LIMIT_DOMAINS = (\d+)", (root / "common/base/limits.h").read_text())[1]
    assert f"_DOMAINS = {limit} " in (root / "python/riffle/integrations/nanotron.py").read_text()


# --- who commits


def test_a_peer_that_does_not_commit_knows_what_was_trained(mix, dataset, package):
    m = mix("--lead", 4)
    data = dataset(m, commits=False, timeout=4)
    items = iter(data)
    for step in range(2):
        next(items)
        data.trained(step)
    data.flush()  # of commits that are on their way
    assert data.state_dict()["step"] == 2 and m.committed() == 0
    with pytest.raises(package.riffle.StepTimeout) as why:
        list(items)
    assert "never called" not in str(why.value)
    with pytest.raises(package.riffle.UsageError, match="step 1 is trained already"):
        data.trained(1)


# --- losses by domain


def test_losses_of_micro_batches_are_reported_with_their_step(mix, dataset, monkeypatch):
    riffle_torch = importlib.import_module("riffle.torch")
    m, reported = mix("--end"), []
    monkeypatch.setattr(riffle_torch.Dataset, "trained", lambda self, step, losses: reported.append((step, losses)))
    data, expected = dataset(m, micro_batch=4), {}
    for i, item in enumerate(itertools.islice(data, 8)):
        mask = item["labels"] != -100
        mask[0, :3] = False
        data.add(torch.full(mask.shape, 1.0 + i), item["domains"], mask)
        for domain, row in zip(item["domains"], mask):
            loss, _, tokens = expected.get(domain, (0.0, 0.0, 0))
            expected[domain] = loss + (1 + i) * int(row.sum()), 0.0, tokens + int(row.sum())
        if i % 4 == 3:
            data.trained(item["step"])
            assert json.loads(json.dumps(reported.pop())) == [item["step"], {d: list(s) for d, s in expected.items()}]
            expected = {}
    data.trained(2)
    assert reported == [(2, None)]  # nothing was added


def test_what_a_framework_knows_is_no_option(package):
    adapter = importlib.import_module("riffle.integrations.dataset")
    adapter.refuse({"run": "a", "step": 3}, "the Trainer's")
    for name in ("rank", "world", "micro_batch", "fields"):
        with pytest.raises(package.riffle.UsageError, match=f"{name} is the Trainer's: leave it out"):
            adapter.refuse({name: None}, "the Trainer's")


def test_kempnerforges_branches_on_the_page_are_those_of_the_example():
    root = pathlib.Path(__file__).resolve().parents[2]
    spec = importlib.util.spec_from_file_location("example", root / "examples/frameworks/train_kempnerforge.py")
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    page = re.findall(r"```python\n# scripts/train\.py, (in front of|behind) `([^`\n]*)`:\n(.*?)```",
                      (root / "docs/TRAINERS.md").read_text(), re.S)
    assert tuple((line + "\n", "{}" + branch if side == "behind" else branch + "{}") for side, line, branch in page) == example.BRANCHES
