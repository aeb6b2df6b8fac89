"""riffle.torch and adapters over a stand-in for torch: numpy arrays for tensors, a made-up group, no broker. tests/torch has torch."""

import importlib
import itertools
import sys
import types
import warnings

import numpy as np
import pytest

pytestmark = pytest.mark.filterwarnings("ignore:.*READ-CHECKPOINT-UNBOUND")  # no state here has hashes


class Optimizer:
    def __init__(self, *rates):
        self.param_groups, self.before, self.after, self.used = [{"lr": rate} for rate in rates], [], [], []

    def register_step_pre_hook(self, hook):
        return self._registered(self.before, hook)

    def register_step_post_hook(self, hook):
        return self._registered(self.after, hook)

    @staticmethod
    def _registered(hooks, hook):
        hooks.append(hook)
        return types.SimpleNamespace(remove=lambda: hooks.remove(hook))

    def step(self):
        for hook in self.before:
            hook(self, (), {})
        self.used = [group["lr"] for group in self.param_groups]
        for hook in self.after:
            hook(self, (), {})


@pytest.fixture
def stand_in(package, monkeypatch):
    """The stand-in; .part(NAME) is a module of the package that was imported over it, .group the (rank, world) of a process group,
    .worker what get_worker_info() gives."""
    package.riffle
    torch, distributed, utils, data, optim = (types.ModuleType(name) for name in (
        "torch", "torch.distributed", "torch.utils", "torch.utils.data", "torch.optim"))
    torch.group = torch.worker = None

    class Shared(np.ndarray):
        share_memory_ = numpy = lambda self: self

    torch.int64, torch.Tensor, torch.from_numpy = np.int64, np.ndarray, lambda array: array
    torch.zeros = lambda n, dtype: np.zeros(n, dtype).view(Shared)
    torch.is_tensor = lambda value: isinstance(value, np.ndarray)
    optim.Optimizer = Optimizer
    distributed.is_available = lambda: True
    distributed.is_initialized = lambda: torch.group is not None
    distributed.get_rank, distributed.get_world_size = lambda: torch.group[0], lambda: torch.group[1]
    for name in ("IterableDataset", "Dataset", "DataLoader"):
        setattr(data, name, type(name, (), {}))
    data.default_collate, data.get_worker_info = object(), lambda: torch.worker
    torch.distributed, torch.utils, utils.data, torch.optim = distributed, utils, data, optim
    for module in (torch, distributed, utils, data, optim):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    before = set(sys.modules)
    torch.part = lambda name: importlib.import_module(f"riffle.{name}")
    for name in ("RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    yield torch
    for name in set(sys.modules) - before:
        if name.startswith("riffle."):
            del sys.modules[name]
            owner, _, last = name.rpartition(".")
            if hasattr(sys.modules.get(owner), last):
                delattr(sys.modules[owner], last)


class FakeStep:
    """Sequences of four tokens: [10 i, ...], of which `used` come before the padding."""

    domains_all, epoch_all = ["a", "b", "a", "c"], [0, 5, 1, 2]

    def __init__(self, step=3, n=4, used=(5, 5, 3, 1)):
        self.step, self.lr_scale, self.phase, self.round = step, 0.5, "warm", 7
        self.used, self.domains, self.epoch = np.array(used[:n], np.uint32), self.domains_all[:n], np.array(self.epoch_all[:n], np.uint64)
        self.domain_index, self.calls = np.array([4, 9, 4, 2][:n], np.uint32), []

    def __len__(self):
        return len(self.used)

    def targets(self, ignored=-100, mask_boundaries=False):
        from riffle.step import Targets
        self.calls.append(mask_boundaries)
        rows = np.arange(4)[None, :] + 10 * np.arange(len(self))[:, None]
        padding = np.arange(4)[None, :] >= self.used[:, None].astype(np.int64)
        return Targets(rows, np.where(padding, ignored, rows + 1), np.where(padding, np.arange(4) - self.used[:, None].astype(np.int64),
                                                                           np.arange(4)[None, :] % 2).astype(np.int32),
                       padding.astype(np.int32))

    def spans(self, i):
        return [types.SimpleNamespace(kept=lambda: {"row": i})]


ALL = ["attention_mask", "cu_seqlens", "document_ids", "domain_index", "domains", "epoch", "input_ids", "keep", "labels", "lr_scale", "max_seqlen",
       "phase", "position_ids", "round", "step", "used"]
TENSORS = ["document_ids", "domain_index", "input_ids", "labels", "position_ids"]


@pytest.mark.parametrize("fields, packed, names", [
    (None, False, TENSORS + ["domains", "lr_scale", "phase", "step"]),
    (None, True, TENSORS + ["domains", "lr_scale", "phase", "step", "cu_seqlens", "max_seqlen"]),
    ("tensors", False, TENSORS), ("tensors", True, TENSORS + ["cu_seqlens"]),
    ("keep", True, ["keep"]), (["used", "epoch"], False, ["used", "epoch"]), (ALL, False, ALL),
])
def test_an_item_has_the_fields_that_are_wanted(stand_in, fields, packed, names):
    step = FakeStep()
    item = stand_in.part("torch").batch_of(step, fields=fields, with_cu_seqlens=packed)
    assert sorted(item) == sorted(names)


@pytest.mark.parametrize("fields", [[], "moon", ["used", "moon"], ()])
def test_unknown_fields_are_refused(stand_in, package, fields):
    with pytest.raises(package.riffle.UsageError, match="known are input_ids"):
        stand_in.part("torch").batch_of(FakeStep(), fields=fields)


def test_a_part_of_a_step_is_that_of_all_fields(stand_in):
    batch_of = stand_in.part("torch").batch_of
    whole = batch_of(FakeStep(), fields=ALL)
    of_step = {"step": 3, "lr_scale": 0.5, "phase": "warm", "round": 7}
    assert {name: whole[name] for name in of_step} == of_step and whole["keep"] == [[{"row": i}] for i in range(4)]
    assert whole["domains"] == FakeStep.domains_all and whole["epoch"].tolist() == FakeStep.epoch_all
    assert whole["used"].tolist() == [5, 5, 3, 1] and whole["domain_index"].tolist() == [4, 9, 4, 2]
    assert whole["attention_mask"].tolist() == [[1] * 4, [1] * 4, [1, 1, 1, 0], [1, 0, 0, 0]]
    assert whole["labels"].tolist() == [[1, 2, 3, 4], [11, 12, 13, 14], [21, 22, 23, -100], [31, -100, -100, -100]]
    for first, end in itertools.combinations(range(5), 2):
        part = batch_of(FakeStep(), first, end, fields=ALL)
        for name in set(ALL) - set(of_step) - {"cu_seqlens", "max_seqlen"}:
            assert list(map(repr, part[name])) == list(map(repr, whole[name]))[first:end], name
        flat = part["position_ids"].reshape(-1).tolist()
        starts = [i for i, at in enumerate(flat) if at == 0] + [len(flat)]
        assert part["cu_seqlens"].tolist() == starts and part["max_seqlen"] == max(b - a for a, b in zip(starts, starts[1:]))
    for mask in (False, True):
        step = FakeStep()
        batch_of(step, mask_boundaries=mask)
        assert step.calls == [mask]


def test_padding_on_the_left_is_that_of_the_right_in_front(stand_in, package):
    batch_of = stand_in.part("torch").batch_of
    right = batch_of(FakeStep(), fields=TENSORS + ["attention_mask"])
    left = batch_of(FakeStep(), fields=TENSORS + ["attention_mask"], padding_side="left")
    for name in ("input_ids", "labels", "position_ids", "document_ids", "attention_mask"):
        for row, used in enumerate([4, 4, 3, 1]):
            r = right[name][row].tolist()
            assert left[name][row].tolist() == r[used:] + r[:used], name
    with pytest.raises(package.riffle.UsageError, match='must be "left" or "right"'):
        batch_of(FakeStep(), padding_side="both")


# ---- a data set


@pytest.fixture
def dataset(stand_in, monkeypatch):
    """dataset(**options): one of 8 steps of 4 sequences, from a fake reader; .of.committed is what the run has committed or why that is
    not known, .of.asked how it was asked for."""
    module, Place = stand_in.part("torch"), stand_in.part("progress").Place
    made = types.SimpleNamespace(committed=0, asked=[], end=8)

    class Reader:
        info = types.SimpleNamespace(global_batch=4)

        def __init__(self, step):
            self.position = step

        __enter__, __exit__ = lambda self: self, lambda *_: None
        place = property(lambda self: Place(self.position, 0, np.zeros(1, np.int64)))

        def next(self, timeout=None):
            if self.position >= made.end:
                return None
            self.position += 1
            return FakeStep(self.position - 1)

    def committed(self, starts):
        made.asked.append(starts)
        if isinstance(made.committed, Exception):
            raise made.committed
        return made.committed

    def make(kind=module.Dataset, run="r", **options):
        monkeypatch.setattr(module.Dataset, "_committed", committed)
        found = kind("m", "b:1", run=run, **options)
        monkeypatch.setattr(found, "_read_from", Reader)
        monkeypatch.setattr(found._checkpoints, "_ask", lambda step: None)
        found._training._opens = lambda: types.SimpleNamespace(trained=lambda place, losses: None, close=lambda: None)
        return found

    make.of, make.module = made, module
    return make


def warned(call):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = call()
    return found, [str(one.message) for one in said]


@pytest.mark.parametrize("options, committed, begin, says", [
    ({}, 0, 0, None), ({}, 5, 5, "READ-RESUME run r of mix m has committed all steps below 5"), ({"resume": "commits"}, 5, 5, None),
    ({"resume": "start"}, 5, 0, None), ({"step": 2}, 5, 2, "READ-AGAIN run r of mix m has trained all steps below 5, and begins at step 2"),
    ({"step": 5}, 5, 5, None), ({"step": 6}, 5, 6, None), ({"resume": "error"}, 0, 0, None), ({"resume": "error", "step": 3}, 0, 3, None),
])
def test_where_training_begins_without_a_checkpoint(dataset, options, committed, begin, says):
    dataset.of.committed = committed
    found, said = warned(lambda: next(iter(dataset(**options))))
    assert found["step"] == begin
    assert [message.startswith(f"riffle: {says}") for message in said] == ([True] if says else [])


@pytest.mark.parametrize("options, says", [
    ({"resume": "moon"}, "resume is 'moon'"), ({"resume": "start", "step": 0}, "both say where"), ({"resume": "commits", "step": 0}, "both say where"),
    ({"step": -1}, "step is -1"), ({"until": -1}, "until is -1"), ({"micro_batch": -1}, "micro_batch is -1"), ({"fields": "moon"}, "fields: moon"),
])
def test_options_that_cannot_be_are_refused(dataset, package, options, says):
    with pytest.raises(package.riffle.UsageError, match=says):
        dataset(**options)


def test_a_run_with_commits_and_no_checkpoint_is_an_error_where_that_is_asked_for(dataset, package):
    dataset.of.committed = 5
    for step in (None, 3, 5, 7):
        found = dataset(resume="error", step=step)
        for call in (lambda: next(iter(found)), found.state_dict):
            with pytest.raises(package.riffle.UsageError, match="has committed all steps below 5, and no checkpoint was loaded"):
                call()
        found.load_state_dict({"mix": "m", "run": "r", "step": 0})
        assert next(iter(found))["step"] == 0


def test_a_number_of_steps_alone_is_a_checkpoint_too(dataset):
    dataset.of.committed = 5
    found = dataset(step=2)
    found.load_state_dict({"mix": "m", "run": "r", "step": 3, "samples": 7, "origin": 1})
    found._go_to(4)
    items = iter(found)
    (item, said), _ = warned(lambda: next(items)), next(items)
    assert item["step"] == 4 and said == [], "whoever loads a checkpoint is not warned of the run's commits"
    assert found.state_dict(4 * 6) == {"mix": "m", "run": "r", "step": 6, "samples": 24}


@pytest.mark.parametrize("micro_batch, items", [(None, 1), (4, 1), (2, 2), (1, 4)])
def test_a_step_is_given_whole_with_its_last_micro_batch(dataset, micro_batch, items):
    found = dataset(micro_batch=micro_batch, fields=["step", "used"])
    for number, item in enumerate(found):
        assert item["step"] == number // items and len(item["used"]) == 4 // items
        assert found._places.given == (number + 1) // items
    assert number == 8 * items - 1 and found._places.ended == 1


def test_a_micro_batch_that_does_not_divide_the_step_is_refused(dataset, package):
    with pytest.raises(package.riffle.UsageError, match="micro_batch 3 does not divide the 4 sequences that step 0 has"):
        next(iter(dataset(micro_batch=3)))


@pytest.mark.parametrize("until, steps", [(None, 8), (0, 0), (1, 1), (7, 7), (8, 8), (9, 8)])
def test_an_iteration_ends_in_front_of_until_and_another_one_begins_there(dataset, until, steps):
    found = dataset(until=until)
    assert [item["step"] for item in found] == list(range(steps))
    assert found._places.ended == (until is None or until > 8)
    found.until = None
    assert [item["step"] for item in found] == list(range(steps, 8))


def test_the_state_is_what_was_trained_else_what_was_given_with_a_warning(dataset, package):
    found = dataset()
    assert warned(found.state_dict) == ({"mix": "m", "run": "r", "step": 0}, [])
    items = iter(found)
    for _ in range(3):
        next(items)
    state, said = warned(found.state_dict)
    assert state["step"] == 3 and len(said) == 1 and "step 3 comes next" in said[0]
    assert warned(lambda: found.state_dict(step=2)) == ({"mix": "m", "run": "r", "step": 2}, [])
    found.trained(0)
    assert warned(found.state_dict)[0]["step"] == 1
    found.trained()
    assert warned(found.state_dict) == ({"mix": "m", "run": "r", "step": 2}, [])
    assert next(iter(found))["step"] == 2, "an iteration begins after what was trained"


@pytest.mark.parametrize("samples, from_beginning, step", [(0, True, 0), (4, True, 1), (8, True, 2), (12, False, 3), (0, False, 0), (6, True, None)])
def test_a_number_of_samples_is_a_state(dataset, package, samples, from_beginning, step):
    found = dataset()
    items = iter(found)
    for _ in range(3):
        next(items)
    if step is None:
        with pytest.raises(package.riffle.UsageError, match="6 sequences are no whole number of steps of 4 sequences"):
            found.state_dict(samples, from_beginning)
        return
    state = found.state_dict(samples, from_beginning)
    assert state["step"] == step and state.get("samples", 0) == samples


def test_samples_count_on_behind_a_state(dataset):
    first = dataset()
    items = iter(first)
    for _ in range(3):
        next(items)
    state = first.state_dict(8)
    assert state["samples"] == 8 and "origin" not in state
    second = dataset()
    second.load_state_dict(state)
    items = iter(second)
    assert next(items)["step"] == 2 and next(items)["step"] == 3
    assert second.state_dict(4, False)["samples"] == 12 and second.state_dict(4, False)["step"] == 3
    assert second.state_dict(16) == {"mix": "m", "run": "r", "step": 4, "samples": 16}
    later = dataset(step=5)
    next(iter(later))
    assert later.state_dict(4) == {"mix": "m", "run": "r", "step": 6, "origin": 5, "samples": 4}
    assert later.state_dict(0)["step"] == 5


def test_a_worker_reads_and_others_do_not(dataset, stand_in, package):
    found = dataset()
    stand_in.worker = types.SimpleNamespace(id=1)
    assert list(found) == []
    found.load_state_dict({"mix": "m", "run": "r", "step": 7})
    assert found._places.start == 0, "it reads nothing"
    with pytest.raises(package.riffle.UsageError, match="trained\\(\\) is for the process that trains"):
        found.trained(0)
    stand_in.worker = types.SimpleNamespace(id=0)
    assert next(iter(found))["step"] == 0
    stand_in.worker = None
    found.trained(0)
    stand_in.worker = types.SimpleNamespace(id=0)
    with pytest.raises(package.riffle.UsageError, match="StatefulDataLoader saves what its worker has given"):
        found.state_dict()


def test_nobody_knows_what_was_trained_of_what_another_process_has_read(dataset, package):
    found = dataset()
    items = iter(found)
    next(items), next(items)
    found._places.words[3] = 1  # the process that reads
    for call in (found.state_dict, lambda: next(iter(found))):
        with pytest.raises(package.riffle.UsageError, match="a worker has read all steps below 2"):
            call()
    assert found.state_dict(step=1)["step"] == 1
    found.load_state_dict({"mix": "m", "run": "r", "step": 1})
    assert next(iter(found))["step"] == 1


def test_nothing_committed_is_warned_of_after_so_many_steps(dataset):
    dataset.of.end = 40
    for every, steps in ((0, None), (3, 16), (20, 20)):
        found, said = dataset(commit_every=every), []
        for item in range(30):
            items = iter(found) if item == 0 else items
            said.append(len(warned(lambda: next(items))[1]))
        assert said.index(1) + 1 == steps if steps else 1 not in said
        assert sum(said) == (steps is not None)


def test_a_loader_that_would_stack_batches_is_refused(dataset, stand_in, package):
    fetcher = type("Fetcher", (), {"fetch": lambda self, data: iter(data)})()
    fetcher.auto_collation, fetcher.collate_fn = True, stand_in.utils.data.default_collate
    with pytest.raises(package.riffle.UsageError, match="give it batch_size=None"):
        fetcher.fetch(dataset())
    for collation, collate in ((False, fetcher.collate_fn), (True, object())):
        fetcher.auto_collation, fetcher.collate_fn = collation, collate
        assert next(fetcher.fetch(dataset()))["step"] == 0


@pytest.mark.parametrize("group, env, given, found", [
    (None, {}, {}, (0, 1)), ((1, 4), {}, {}, (1, 4)), ((1, 4), {}, {"rank": 2, "world": 3}, (2, 3)), (None, {"RANK": "0", "WORLD_SIZE": "1"}, {}, (0, 1)),
    (None, {"RANK": "1", "WORLD_SIZE": "2"}, {}, "RANK is 1 and WORLD_SIZE 2"), ((1, 2), {"RANK": "1", "WORLD_SIZE": "2"}, {}, (1, 2)),
    (None, {"RANK": "1", "WORLD_SIZE": "2"}, {"rank": 0, "world": 1}, (0, 1)), (None, {"RANK": "", "WORLD_SIZE": "2"}, {}, (0, 1)),
    (None, {}, {"rank": 1}, "give both rank and world"),
])
def test_the_rank_is_what_is_given_else_that_of_the_group(stand_in, package, monkeypatch, group, env, given, found):
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    stand_in.group = group
    rank_of = stand_in.part("torch")._rank_of
    if isinstance(found, str):
        with pytest.raises(package.riffle.UsageError, match=found):
            rank_of(given.get("rank"), given.get("world"))
    else:
        assert rank_of(given.get("rank"), given.get("world")) == found


# ---- rounds, held-out sets, learning rates


@pytest.mark.parametrize("begin, steps", [(0, [0, 1, 2]), (2, [2]), (3, [3, 4, 5]), (7, [7])])
def test_an_iteration_over_rounds_ends_with_the_round(dataset, stand_in, begin, steps):
    found = dataset(kind=stand_in.part("torch").RoundDataset, step=begin)
    found._found = stand_in.part("reader").Rounds(12, 3, 4, 4)
    assert found.round == begin // 3
    assert [item["step"] for item in found] == steps
    assert found.round == (begin // 3 + 1 if begin < 6 else 2)


@pytest.mark.parametrize("lanes, rank, world, micro_batch, items", [(4, 0, 1, None, 3), (4, 0, 1, 2, 6), (4, 1, 2, 1, 6), (4, 3, 4, None, 3),
                                                                  (8, 2, 3, None, 3), (8, 0, 3, 1, 9),
                                                                  (10, 1, 4, 1, 6), (10, 0, 4, 1, 9), (10, 2, 4, 1, 9)])
def test_a_round_has_so_many_items_on_a_rank(dataset, stand_in, lanes, rank, world, micro_batch, items):
    found = dataset(kind=stand_in.part("torch").RoundDataset, rank=rank, world=world, micro_batch=micro_batch, uneven=True)
    found._found = stand_in.part("reader").Rounds(3 * lanes, 3, lanes, lanes)
    assert len(found) == items


@pytest.mark.parametrize("rounds, says", [((0, 0, 4, 4), "has no rounds"), ((10, 0, 4, 4), "rounds of 10 draws are no whole number of steps of 4")])
def test_rounds_that_are_no_steps_are_refused(dataset, stand_in, package, monkeypatch, rounds, says):
    found = dataset(kind=stand_in.part("torch").RoundDataset)
    monkeypatch.setattr(stand_in.part("torch"), "find_rounds", lambda *_, **__: stand_in.part("reader").Rounds(*rounds))
    for _ in range(2):
        with pytest.raises(package.riffle.UsageError, match=says):
            len(found)


def test_batches_of_a_held_out_set_are_dealt_to_the_ranks(stand_in):
    steps, seen = [FakeStep(step) for step in range(7)], []
    for rank in range(3):
        found = stand_in.part("torch").ValidationDataset(steps, rank=rank, world=3, fields="step")
        seen.append([item["step"] for item in found])
    assert seen == [[0, 3, 6], [1, 4], [2, 5]]
    stand_in.worker = types.SimpleNamespace(id=1)
    assert list(found) == []
    stand_in.worker = None
    for mask in (False, True):
        step = FakeStep()
        item = next(iter(stand_in.part("torch").ValidationDataset([step], mask_boundaries=mask, cu_seqlens=mask)))
        assert step.calls == [mask] and ("cu_seqlens" in item) == mask


def test_learning_rates_are_scaled_inside_of_the_step_alone(stand_in, package):
    scale_of, tensor = stand_in.part("torch").LrScale, np.array([8.0]).view(type("Tensor", (np.ndarray,), {
        "clone": lambda self: self.copy(), "mul_": lambda self, by: self.__imul__(by), "copy_": lambda self, new: self.__setitem__(slice(None), new)}))
    optimizer = Optimizer(0.5, tensor)
    scale = scale_of(types.SimpleNamespace(optimizer=optimizer))  # as a framework wraps it
    for factor, used in ((1.0, [0.5, 8.0]), (0.25, [0.125, 2.0]), (2.0, [1.0, 16.0]), (1.0, [0.5, 8.0])):
        scale.factor = factor
        seen = []
        optimizer.before.append(lambda *_: seen.extend(float(np.asarray(g["lr"]).reshape(-1)[0]) for g in optimizer.param_groups))
        optimizer.step()
        optimizer.before.pop()
        assert seen == used
        assert optimizer.param_groups[0]["lr"] == 0.5 and float(tensor[0]) == 8.0 and optimizer.param_groups[1]["lr"] is tensor
    for rate in (0.75, 0.5):  # as a scheduler changes it between two steps
        scale.factor, optimizer.param_groups[0]["lr"] = 2.0, rate
        optimizer.step()
        assert optimizer.used[0] == 2 * rate and optimizer.param_groups[0]["lr"] == rate
    scale.factor = 9.0
    scale.close()
    optimizer.step()
    assert optimizer.used[0] == 0.5 and optimizer.before == optimizer.after == []
    with pytest.raises(package.riffle.UsageError, match="SimpleNamespace is no optimiser"):
        scale_of(types.SimpleNamespace())


# ---- the data set of the adapters


@pytest.fixture
def rank_dataset(dataset, stand_in):
    return lambda **options: dataset(kind=stand_in.part("integrations.dataset").RankDataset, **options)


@pytest.mark.parametrize("options, committed, begin, says", [
    ({}, 0, 0, None), ({}, 5, 0, "READ-AGAIN run r of mix m has committed all steps below 5"), ({"resume": "start"}, 5, 0, None),
    ({"resume": "commits"}, 5, 5, None), ({"step": 3}, 5, 3, "READ-AGAIN"), ({"skip_to": 6}, 5, 6, None), ({"step": 7, "skip_to": 6}, 5, 7, None),
    ({"step": 2, "skip_to": 6}, 0, 6, None), ({"commits": False}, 5, 0, None),
])
def test_where_the_training_of_an_adapter_begins(dataset, rank_dataset, options, committed, begin, says):
    dataset.of.committed = committed
    found, said = warned(lambda: next(iter(rank_dataset(**options))))
    assert found["step"] == begin
    assert [says in message for message in said] == ([True] if says else [])


@pytest.mark.parametrize("step, skip_to, begin, samples", [(2, 0, 2, 8), (2, 2, 2, 8), (2, 5, 5, 8), (6, 5, 6, 24)])
def test_steps_are_passed_over_also_behind_a_checkpoint(rank_dataset, step, skip_to, begin, samples):
    found = rank_dataset(skip_to=skip_to)
    found.load_state_dict({"mix": "m", "run": "r", "step": step, "samples": samples})
    assert next(iter(found))["step"] == begin and found._before == samples


def test_losses_of_micro_batches_are_reported_with_their_step(rank_dataset, monkeypatch, stand_in):
    found, reported = rank_dataset(), []
    monkeypatch.setattr(stand_in.part("rank").Rank, "trained", lambda self, step, losses: reported.append((step, losses)))
    losses = np.array([[1.0, 2.0], [3.0, 4.0]])
    found.add(losses, ["a", "b"], np.array([[1, 1], [1, 0]]))
    found.add_sums({"a": (1.0, 0.5, 1)})
    found.trained(0)
    found.trained(1)
    found.add(losses, ["a", "a"], np.ones((2, 2)))
    found.trained(2, {"z": (1.0, 0.0, 1)})
    found.trained(3)
    assert reported == [(0, {"a": (4.0, 0.5, 3), "b": (3.0, 0.0, 1)}), (1, None), (2, {"z": (1.0, 0.0, 1)}), (3, None)]


def test_an_item_of_a_loader_is_followed_by_its_losses_and_its_step(dataset, stand_in, package, monkeypatch):
    module = stand_in.part("integrations.loader")
    monkeypatch.setattr(module, "RankDataset", lambda mix, bootstrap, **options: dataset(
        kind=stand_in.part("integrations.dataset").RankDataset, **options))
    loader, optimizer = module.RankLoader("m", rank=0, world=1, micro_batch=2, item=lambda item: item["domain_index"]), Optimizer(1.0)
    loader.scales(optimizer)
    items, labels = iter(loader), np.zeros((2, 4))
    values = itertools.count(1.5)
    losses = types.SimpleNamespace(detach=lambda: types.SimpleNamespace(float=lambda: labels + next(values)))
    assert next(items).tolist() == [4, 9] and (loader.step, loader.lr_scale, loader.phase, loader.waiting) == (0, 0.5, "warm", 1)
    with pytest.raises(package.riffle.UsageError, match="an optimiser step of the trainer is not a step of mix m \\(step 0\\)"):
        loader.trained()  # half of it
    next(items)
    loader.add(losses, labels)
    loader.add(losses, labels)
    with pytest.raises(package.riffle.UsageError, match="are known already"):
        loader.add(losses, labels)
    assert loader.dataset._sums == {"a": (16.0, 0.0, 8), "b": (6.0, 0.0, 4), "c": (10.0, 0.0, 4)}
    optimizer.step()
    assert optimizer.used == [0.5]
    loader.trained()
    assert loader.state_dict()["step"] == 1
    next(items), next(items)
    loader.trained()  # without its losses
    next(items)
    assert loader.waiting == 1
    next(items)
    with pytest.raises(package.riffle.UsageError, match="not a step of mix m \\(step 2\\)"):
        next(items)
    loader.load_state_dict({})
    loader.load_state_dict({"mix": "m", "run": "trainers", "step": 4})
    assert next(iter(loader)).tolist() == [4, 9] and loader.step == 4
    loader.close()
    assert optimizer.before == []
    with pytest.raises(package.riffle.UsageError, match="the loader needs all"):
        module.RankLoader("m", rank=0, world=1, fields="used")


@pytest.mark.parametrize("first", [True, False])
def test_an_optimiser_that_comes_later_has_the_rate_of_the_step_and_the_first_of_peers_commits(dataset, stand_in, monkeypatch, first):
    module = stand_in.part("integrations.loader")
    monkeypatch.setattr(module, "is_first_of_peers", lambda rank, world: first and (rank, world) == (1, 2))
    monkeypatch.setattr(module, "RankDataset", lambda mix, bootstrap, **options: dataset(
        kind=stand_in.part("integrations.dataset").RankDataset, **options))
    loader, optimizer = module.RankLoader("m", rank=1, world=2), Optimizer(1.0)
    assert loader.dataset.commits == first
    item = next(iter(loader))
    loader.scales(optimizer)
    optimizer.step()
    assert optimizer.used == [0.5] and item["step"] == 0
    loader.trained()
    items = iter(loader)
    next(items)
    loader.load_state_dict({"mix": "m", "run": "r", "step": 5})
    assert loader.waiting == 0 and next(iter(loader))["step"] == 5, "what was given before is forgotten"


def test_a_rank_alone_warns_of_commits_for_all(dataset):
    dataset.of.committed = 5
    assert [len(warned(lambda: next(iter(dataset(rank=rank, world=2))))[1]) for rank in (0, 1)] == [1, 0]
    found = dataset(step=2)
    list(found)
    assert found.state_dict(8, step=3)["step"] == 3
