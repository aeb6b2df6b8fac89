"""What counts is what was trained: a run is stopped between fetching and training, and continues with the next untrained
step, from its checkpoint as from its commits. On a real broker, with and without a worker, with frameworks that fetch
ahead."""

import json
import os
import signal
import subprocess
import sys
import time
import warnings

import pytest
import torch
from torch.utils.data import DataLoader
from torchdata.stateful_dataloader import StatefulDataLoader

LANES, STEPS = 8, 24
WORKERS = pytest.mark.parametrize("workers", [0, 1])


@pytest.fixture
def mix(unique, tools, bootstrap):
    """Fills a batch topic; step -> hash of its tokens."""
    def fill(*words):
        done = subprocess.run([tools / "fill_batches", "--mix", unique, "--lanes", str(LANES), *map(str, words)],
                              env={**os.environ, "RIFFLE_BOOTSTRAP": bootstrap}, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    fill.name = unique
    return fill


@pytest.fixture
def dataset(riffle_torch, mix, bootstrap):
    """dataset(**options) of the mix, as a process that begins makes it; all are closed with the test."""
    made = []

    def make(**options):
        made.append(riffle_torch.Dataset(mix.name, bootstrap, **{"timeout": 60, **options}))
        return made[-1]
    yield make
    for d in made:
        d.close()


@pytest.fixture
def committed(package, mix, bootstrap):
    return lambda run="trainers": package.riffle.committed_step(mix.name, bootstrap, run=run)


def load(dataset, workers, kind=DataLoader, **more):
    return kind(dataset, batch_size=None, num_workers=workers, **more)


def fetching_ahead(items, n=1):
    """As Lightning and others iterate: the next items are fetched before one is handed out."""
    ahead = []
    for item in items:
        ahead.append(item)
        if len(ahead) > n:
            yield ahead.pop(0)
    yield from ahead


def steps_of(items):
    return [int(item["step"]) for item in items]


# --- commits


@WORKERS
@pytest.mark.parametrize("commit_every", [0, 1])
def test_only_what_was_trained_is_committed(mix, dataset, committed, workers, commit_every):
    mix("--steps", STEPS, "--end")
    d = dataset(commit_every=commit_every)
    items = iter(load(d, workers))
    for step in range(3):
        assert next(items)["step"] == step
        if step < 2:
            d.trained(step)
    d.flush()
    assert d.committed == committed() == 2
    assert d.state_dict() == {"mix": mix.name, "run": "trainers", "step": 2}
    del items  # the worker ends, and gives what it has sent time to arrive
    assert committed() == 2
    assert steps_of(load(dataset(commit_every=commit_every), workers)) == list(range(2, STEPS))


@WORKERS
def test_what_is_not_trained_is_not_committed(mix, dataset, committed, workers):
    mix("--steps", STEPS, "--end")
    with pytest.warns(RuntimeWarning, match="nothing is committed: trained.. was not called") if workers == 0 else (
            warnings.catch_warnings()):
        assert steps_of(load(dataset(commit_every=1), workers)) == list(range(STEPS))
    assert committed() == 0


@WORKERS
def test_the_last_steps_are_committed_though_the_worker_has_ended(mix, dataset, committed, workers):
    mix("--steps", 5, "--end")
    d = dataset(commit_every=100)
    for item in fetching_ahead(load(d, workers), 3):
        d.trained(item["step"])
    d.close()
    assert committed() == 5


def test_the_step_after_the_last_is_trained_where_items_have_no_number(mix, dataset, committed):
    mix("--steps", 4, "--end")
    d = dataset(fields="tensors")
    for item in load(d, 1):
        assert all(torch.is_tensor(value) for value in item.values())
        d.trained()
    d.flush()
    assert committed() == 4


@WORKERS
def test_each_step_is_reported_once(fill, configure, riffle, unique, riffle_torch, bootstrap, workers):
    fill("a", "b")
    riffle("mix", "-c", configure({"a": 1, "b": 1}), "--until-step", 6)
    d = riffle_torch.Dataset(f"{unique}-mix", bootstrap, timeout=30)
    for item in fetching_ahead(load(d, workers)):
        d.trained(item["step"], {"a": (1.0, 0.0, 5)})
        if item["step"] == 3:
            break
    d.flush()
    d.close()
    ends = subprocess.run(["kcat", "-Q", "-b", bootstrap, "-t", f"{unique}-mix.feedback:0:-1"], capture_output=True,
                          text=True).stdout
    assert "offset 4" in ends


# --- killed between fetching and training


TRAINER = """
import json, os, signal, sys, xxhash, torch
from torch.utils.data import DataLoader
import riffle.torch
mix, bootstrap, folder, run, workers, resume, flush, kill = sys.argv[1:]
d = riffle.torch.Dataset(mix, bootstrap, timeout=60, run=run)
if resume == "state" and os.path.exists(f"{folder}/state"):
    d.load_state_dict(json.load(open(f"{folder}/state")))
log, ahead = open(f"{folder}/log", "a"), []
def train(item):
    rows = torch.cat([item["input_ids"], item["labels"][:, -1:]], dim=1).numpy()
    log.write(f"{item['step']} {xxhash.xxh64(rows.tobytes()).hexdigest()}\\n")
    log.flush()
    d.trained(item["step"])
    if resume == "state":
        json.dump(d.state_dict(), open(f"{folder}/part", "w"))
        os.replace(f"{folder}/part", f"{folder}/state")
    if flush == "flush":
        d.flush()
for item in DataLoader(d, batch_size=None, num_workers=int(workers)):
    ahead.append(item)
    if item["step"] == int(kill):
        os.kill(os.getpid(), signal.SIGKILL)
    if len(ahead) > 2:
        train(ahead.pop(0))
for item in ahead:
    train(item)
d.close()
"""


@pytest.fixture
def train(package, mix, bootstrap, tmp_path):
    """train(run, workers, resume, flush, kill) -> [(step, hash)] of all that the run has trained so far, in order."""
    def go(run, workers, resume, flush, kill=-1):
        folder = tmp_path / run
        folder.mkdir(exist_ok=True)
        words = [mix.name, bootstrap, folder, run, workers, resume, flush, kill]
        done = subprocess.run([sys.executable, "-c", TRAINER, *map(str, words)], env=package.env, capture_output=True,
                              text=True, timeout=120)
        assert done.returncode == (0 if kill < 0 else -signal.SIGKILL), done.stderr
        return [tuple(line.split()) for line in (folder / "log").read_text().splitlines()]
    return go


@WORKERS
@pytest.mark.parametrize("resume, flush", [("state", "later"), ("commits", "flush"), ("commits", "later")])
def test_a_run_that_is_killed_between_fetching_and_training_goes_on_with_the_next_untrained_step(
        mix, train, workers, resume, flush):
    mix("--steps", STEPS, "--end")
    expected = train("calm", workers, "state", "later")
    assert [int(step) for step, _ in expected] == list(range(STEPS))
    first = train("stormy", workers, resume, flush, kill=9)
    assert [int(step) for step, _ in first] == list(range(7))  # 7 and 8 were fetched, and are not trained
    train("stormy", workers, resume, flush, kill=15)
    found = train("stormy", workers, resume, flush)
    if (resume, flush) != ("commits", "later"):
        assert found == expected  # none is skipped, none trained twice
    else:  # a commit was on its way when it died: steps after the last that arrived are trained again, the same
        assert dict(found) == dict(expected)
        assert all(int(b) <= int(a) + 1 for (a, _), (b, _) in zip(found, found[1:]))


# --- states


@WORKERS
@pytest.mark.parametrize("ahead", [0, 1, 3])
def test_the_state_follows_training_whatever_is_fetched_ahead(mix, dataset, workers, ahead):
    mix("--steps", STEPS, "--end")
    d = dataset()
    for item in fetching_ahead(load(d, workers), ahead):
        d.trained(item["step"])
        assert d.state_dict()["step"] == item["step"] + 1
        if item["step"] == 5:
            break
    other = dataset(run="other")
    other.load_state_dict(json.loads(json.dumps(d.state_dict())))
    assert steps_of(load(other, workers)) == list(range(6, STEPS))


def test_a_stateful_loader_that_reads_in_this_process_saves_what_was_trained(mix, dataset):
    mix("--steps", STEPS, "--end")
    d = dataset()
    loader = load(d, 0, StatefulDataLoader)
    for item in fetching_ahead(loader):
        d.trained(item["step"])
        if item["step"] == 2:
            break
    state = loader.state_dict()
    other = load(dataset(run="other"), 0, StatefulDataLoader)
    other.load_state_dict(state)
    assert steps_of(other) == list(range(3, STEPS))


def test_a_stateful_loader_whose_worker_cannot_know_what_was_trained_says_so(mix, dataset, package):
    mix("--steps", STEPS, "--end")
    d = dataset()
    with pytest.raises(package.riffle.UsageError, match="saves what its worker has given.*use torch.utils.data.DataLoader"):
        for item in load(d, 1, StatefulDataLoader):
            d.trained(item["step"])
            time.sleep(0.01)


def test_a_state_that_nobody_can_know_is_refused(mix, dataset, package):
    mix("--steps", STEPS, "--end")
    d = dataset(step=4)
    assert d.state_dict()["step"] == 4
    items = iter(load(d, 1))
    next(items)
    with pytest.raises(package.riffle.UsageError, match="nobody knows what was trained: a worker has read all steps below"):
        d.state_dict()
    assert d.state_dict(step=5) == {"mix": mix.name, "run": "trainers", "step": 5}
    d.trained(4)
    assert d.state_dict()["step"] == 5


def test_a_state_of_what_was_given_comes_with_a_warning(mix, dataset):
    mix("--steps", STEPS, "--end")
    d = dataset()
    items = iter(d)
    next(items)
    with pytest.warns(RuntimeWarning, match="of what was given: step 1 comes next"):
        assert d.state_dict()["step"] == 1


@pytest.mark.parametrize("persistent", [False, True])
def test_iterating_again_goes_on_behind_what_was_trained(mix, dataset, package, persistent):
    mix("--steps", STEPS, "--end")
    d = dataset()
    loader = load(d, 1, persistent_workers=persistent)
    for item in loader:
        d.trained(item["step"])
        if item["step"] == 3:
            break
    assert steps_of(loader) == list(range(4, STEPS))
    e = dataset(run="other")
    loader = load(e, 1, persistent_workers=persistent)
    next(iter(loader))
    with pytest.raises(package.riffle.UsageError, match="iterating again: a worker has read all steps below"):
        list(loader)
    e.load_state_dict(e.state_dict(step=1))
    assert steps_of(load(e, 1)) == list(range(1, STEPS))


@pytest.mark.parametrize("context, workers", [("spawn", 1), ("forkserver", 1), ("fork", 2)])
def test_places_come_from_any_worker(mix, dataset, package, committed, monkeypatch, context, workers):
    monkeypatch.setenv("PYTHONPATH", package.env["PYTHONPATH"])
    mix("--steps", STEPS, "--end")
    d = dataset()
    for item in fetching_ahead(load(d, workers, multiprocessing_context=context), 3):
        d.trained(item["step"])
        if item["step"] == 6:
            break
    d.flush()
    assert committed() == d.state_dict()["step"] == 7
    assert steps_of(load(d, workers, multiprocessing_context=context)) == list(range(7, STEPS))


def test_a_worker_that_dies_takes_no_trained_step_with_it(mix, dataset, committed):
    mix("--steps", 400, "--end")
    d = dataset()
    with pytest.raises(RuntimeError, match="killed by signal"):
        for item in load(d, 1):
            d.trained(item["step"])
            if item["step"] == 5:
                os.kill(d._places.reader, signal.SIGKILL)
                # Its sockets close before SIGCHLD, whose handler raises this, comes: a queue read in between has another error.
                os.waitid(os.P_PID, d._places.reader, os.WEXITED | os.WNOWAIT)
    d.flush()
    trained = d.state_dict()["step"]
    assert 6 <= trained == committed() < 400
    assert steps_of(load(d, 1)) == list(range(trained, 400))


def test_what_was_given_is_not_committed_beside_what_was_trained(mix, dataset, package):
    mix("--steps", STEPS, "--end")
    d = dataset()
    items = iter(d)
    next(items), next(items)
    d.trained(0)
    with pytest.raises(package.riffle.UsageError, match="commit.. commits what was given"):
        d.reader.commit()


@WORKERS
def test_what_cannot_have_been_trained_is_refused(mix, dataset, package, workers):
    mix("--steps", STEPS, "--end")
    d = dataset(micro_batch=4)
    with pytest.raises(package.riffle.UsageError, match="no step was given yet"):
        d.trained(0)
    items = iter(load(d, workers))
    next(items)
    with pytest.raises(package.riffle.UsageError, match=r"step 20 was not given whole yet; all below \d were"):
        d.trained(20)
    if workers == 0:
        with pytest.raises(package.riffle.UsageError, match="step 0 was not given whole yet; all below 0 were"):
            d.trained(0)
    for _ in range(3):
        next(items)
    d.trained(0)
    with pytest.raises(package.riffle.UsageError, match="step 0 is trained already, step 1 is next"):
        d.trained(0)
    assert d.state_dict()["step"] == 1


def test_a_step_given_by_hand_below_the_runs_commits_is_warned_of(mix, dataset):
    mix("--steps", STEPS, "--end")
    d = dataset()
    for item in d:
        d.trained(item["step"])
        if item["step"] == 6:
            break
    d.flush()
    with pytest.warns(RuntimeWarning, match="has trained all steps below 7, and begins at step 0, as step=0 says"):
        next(iter(dataset(step=0)))
    fresh = dataset(step=0)
    fresh.load_state_dict({"mix": mix.name, "run": "trainers", "step": 2})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert next(iter(fresh))["step"] == 2


def test_composer_asks_for_the_state_of_a_number_of_samples(mix, dataset, package):
    """composer/core/state.py: dataset.state_dict(num_samples, True), of all ranks."""
    mix("--steps", STEPS, "--end")
    d = dataset(rank=0, world=2)
    assert d.state_dict(0, True) == {"mix": mix.name, "run": "trainers", "step": 0}
    with pytest.raises(package.riffle.UsageError, match="no step was read yet"):
        d.state_dict(16, True)
    items = iter(load(d, 1))
    next(items)
    assert d.state_dict(3 * 16, True)["step"] == 3
    with pytest.raises(package.riffle.UsageError, match="40 sequences are no whole number of steps of 16"):
        d.state_dict(40, True)
    del items
    e = dataset(step=5, run="other")  # begins at step 5: its count of samples does so, too
    items = iter(load(e, 0))
    next(items)
    state = e.state_dict(16, True)
    assert (state["step"], e.state_dict(16, False)["step"]) == (6, 6)
    f = dataset(run="other")
    f.load_state_dict(state)
    items = iter(load(f, 0))
    next(items)
    assert (f.state_dict(32, True)["step"], f.state_dict(16, False)["step"]) == (7, 7)


# --- items


@pytest.mark.parametrize("fields, expected", [
    ("tensors", {"input_ids", "labels", "position_ids", "document_ids", "domain_index"}),
    (["input_ids", "labels", "step"], {"input_ids", "labels", "step"}),
    (["input_ids", "cu_seqlens"], {"input_ids", "cu_seqlens"}),
    ("labels", {"labels"}),
])
def test_items_have_the_fields_that_are_wanted(mix, dataset, fields, expected):
    mix("--steps", 2, "--end")
    item = next(iter(dataset(fields=fields)))
    assert set(item) == expected
    assert fields != "tensors" or item["position_ids"].dtype == torch.int64


def test_a_field_that_does_not_exist_is_named(mix, dataset, package):
    mix("--steps", 2, "--end")
    with pytest.raises(package.riffle.UsageError, match="fields: mask; known are input_ids, .*, or \"tensors\""):
        dataset(fields=["input_ids", "mask"])


# --- lead, and the end


def test_a_lead_below_what_is_fetched_ahead_is_named(mix, dataset, package):
    mix("--steps", 4, "--lead", 3)
    with pytest.raises(package.riffle.StepTimeout, match="step 4 cannot come before step 1 is trained: the mix's "
                                                         "max_lead_steps is 3, and trained.. was never called"):
        list(dataset(timeout=3))
    d = dataset(timeout=8, run="other")
    items = iter(d)
    next(items)
    d.trained(0)
    with pytest.warns(RuntimeWarning, match="3 steps were fetched ahead of training"), pytest.raises(
            package.riffle.StepTimeout, match="make max_lead_steps twice as much"):
        list(items)


def test_a_loader_with_a_worker_goes_on_beyond_the_lead(fill, configure, riffle, unique, riffle_torch, bootstrap):
    """The mixer publishes 4 steps beyond what is committed, so the training has to carry it to the 40th."""
    fill("a", "b")
    riffle.popen("mix", "-c", configure({"a": 1, "b": 1}, max_lead_steps=6), "--until-step", 40)
    d = riffle_torch.Dataset(f"{unique}-mix", bootstrap, timeout=60, commit_every=100)
    seen = []
    for item in load(d, 1):
        seen.append(int(item["step"]))
        d.trained()
        if len(seen) == 40:
            break
    assert seen == list(range(40))
    d.flush()
    assert d.committed == 40
    d.close()


def test_the_place_of_a_checkpoint_is_committed_where_no_step_comes(mix, dataset, committed):
    mix("--steps", 4, "--lead", 4)
    d = dataset(commit_every=1, timeout=3)
    d.load_state_dict({"mix": mix.name, "run": "trainers", "step": 4})
    with pytest.raises(TimeoutError):
        next(iter(d))
    assert committed() == 4
    d = dataset(commit_every=1, timeout=3)
    d.load_state_dict({"mix": mix.name, "run": "trainers", "step": 3})
    next(items := iter(d))
    with pytest.raises(TimeoutError):
        next(items)
    assert committed() == 4  # reading commits nothing


@WORKERS
def test_a_program_that_ends_with_an_open_iterator_says_nothing(mix, package, bootstrap, workers):
    mix("--steps", STEPS, "--end")
    program = (f"import riffle, riffle.torch\nfrom torch.utils.data import DataLoader\n"
               f"d = riffle.torch.Dataset({mix.name!r}, {bootstrap!r}, step=0)\n"
               f"items = iter(DataLoader(d, batch_size=None, num_workers={workers}))\nnext(items)\n"
               f"d.trained(0)\ne = riffle.torch.Dataset({mix.name!r}, {bootstrap!r}, run='other')\nmore = iter(e)\nnext(more)\n"
               f"reader = riffle.Reader({mix.name!r}, {bootstrap!r}, step=0)\nsteps = iter(reader)\nnext(steps)\n")
    done = subprocess.run([sys.executable, "-c", program], env=package.env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0
    assert [line for line in done.stderr.splitlines() if " info riffle: run other of mix" not in line] == []
    assert package.riffle.committed_step(mix.name, bootstrap) == 1  # what was trained is committed as it ends
