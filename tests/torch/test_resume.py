"""Where a training without a checkpoint begins: resume= of riffle.torch.Dataset and of the adapters' data set."""

import importlib
import itertools
import os
import subprocess
import warnings

import pytest

STEPS, TRAINED = 12, 5


@pytest.fixture
def make(unique, tools, bootstrap, package):
    """make(kind, **options): "Dataset" or "RankDataset" over a mix of 12 steps; `make.state` is a checkpoint at step 3."""
    assert package.riffle
    subprocess.run([tools / "fill_batches", "--mix", unique, "--lanes", "8", "--steps", str(STEPS), "--end"], check=True,
                   env={**os.environ, "RIFFLE_BOOTSTRAP": bootstrap}, stdout=subprocess.DEVNULL)
    modules = {"Dataset": "riffle.torch", "RankDataset": "riffle.integrations.dataset"}
    made = []

    def dataset(kind, **options):
        made.append(getattr(importlib.import_module(modules[kind]), kind)(unique, bootstrap, **{"timeout": 60, **options}))
        return made[-1]

    dataset.state = {"mix": unique, "run": "trainers", "step": 3}
    yield dataset
    for each in made:
        each.close()


@pytest.fixture
def trained(make):
    """The same, of a run that has trained and committed 5 steps."""
    data = make("Dataset", resume="error")  # the run is new
    for item in itertools.islice(data, TRAINED):
        data.trained(item["step"])
    data.flush()
    return make


def first(data):
    return next(iter(data))["step"]


@pytest.mark.parametrize("kind, options, begins, says", [
    ("Dataset", {}, TRAINED, "READ-RESUME"),
    ("Dataset", {"resume": "commits"}, TRAINED, None),
    ("Dataset", {"resume": "start"}, 0, None),
    ("Dataset", {"step": 2}, 2, "READ-AGAIN"),
    ("RankDataset", {}, 0, "READ-AGAIN"),
    ("RankDataset", {"resume": "commits"}, TRAINED, None),
    ("RankDataset", {"resume": "start"}, 0, None),
])
def test_a_training_begins_where_resume_says_and_warns_if_nobody_chose(trained, kind, options, begins, says):
    data = trained(kind, **options)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        assert first(data) == begins
        assert first(data) in (begins, begins + 1)  # again: nothing is said twice
    found = [str(w.message) for w in seen if "READ-" in str(w.message)]
    assert [f"riffle: {says} " in text for text in found] == ([True] if says else [])
    if says == "READ-RESUME":
        assert "run trainers of mix" in found[0] and "has committed all steps below 5" in found[0]
        assert 'resume="commits"' in found[0] and 'resume="start"' in found[0]


@pytest.mark.parametrize("kind", ["Dataset", "RankDataset"])
def test_error_is_for_a_run_that_has_commits_and_no_checkpoint(trained, package, kind):
    data = trained(kind, resume="error")
    for call in (lambda: first(data), data.state_dict):
        with pytest.raises(package.riffle.UsageError, match="has committed all steps below 5, and no checkpoint was loaded"):
            call()
    data.load_state_dict(trained.state)
    assert first(data) == 3
    assert first(trained(kind, resume="error", run="new")) == 0


@pytest.mark.parametrize("resume", [None, "commits", "start", "error"])
@pytest.mark.parametrize("kind", ["Dataset", "RankDataset"])
def test_a_checkpoint_wins_over_resume(trained, kind, resume):
    data = trained(kind, resume=resume)
    data.load_state_dict(trained.state)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert first(data) == 3


@pytest.mark.parametrize("kind", ["Dataset", "RankDataset"])
def test_a_run_without_commits_begins_at_step_0_without_a_word(make, kind):
    for resume in (None, "commits", "start", "error"):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert first(make(kind, resume=resume)) == 0


@pytest.mark.parametrize("kind", ["Dataset", "RankDataset"])
def test_what_contradicts_itself_is_refused(make, package, kind):
    with pytest.raises(package.riffle.UsageError, match='resume is \'begin\'; it must be "commits", "start" or "error"'):
        make(kind, resume="begin")
    with pytest.raises(package.riffle.UsageError, match='step=3 and resume="start" both say where training begins'):
        make(kind, step=3, resume="start")
    assert first(make(kind, step=3, resume="error")) == 3
