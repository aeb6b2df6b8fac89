"""Adapters of frameworks over stand-ins for torch and for the frameworks: which step comes next, who commits, what is refused. tests/torch
and tests/frameworks have the real ones."""

import sys
import types

import numpy as np
import pytest

from test_stand_in_torch import ALL, FakeStep, Optimizer, dataset, stand_in, warned  # noqa: F401

pytestmark = pytest.mark.filterwarnings("ignore:.*READ-CHECKPOINT-UNBOUND")  # no state here has hashes
STATE = {"mix": "m", "run": "r", "step": 5}


def module_of(monkeypatch, name, **more):
    made = types.ModuleType(name)
    vars(made).update(more)
    monkeypatch.setitem(sys.modules, name, made)
    return made


# ---- a group of processes


@pytest.fixture
def group(stand_in):
    """group(rank, world): this process is one of those; .said has what it told the others, .heard what rank 0 tells it."""
    def join(rank, world):
        stand_in.group = (rank, world)

    def broadcast(values, src):
        join.said.append((list(values), src))
        if stand_in.group[0] != src:
            values[:] = join.heard

    join.said, join.heard = [], [None]
    stand_in.distributed.broadcast_object_list = broadcast
    return join


@pytest.mark.parametrize("rank, world, given, asks, tells", [
    (0, 1, {}, True, False), (0, 2, {}, True, True), (1, 2, {}, False, True), (0, 2, {"rank": 0, "world": 1}, True, False),
    (1, 2, {"rank": 0, "world": 4}, True, False), (1, 2, {"step": 3}, False, False), (1, 2, {"resume": "start"}, False, False),
    (1, 2, {"resume": "error", "step": 3}, False, True),
])
def test_one_rank_of_a_group_asks_where_training_begins_and_tells_the_others(dataset, group, rank, world, given, asks, tells):
    group(rank, world)
    group.heard, dataset.of.committed = [4], 0 if given.get("resume") == "error" else 2
    found = dataset(**given)
    assert dataset.of.asked == ([given.get("resume") != "error"] if asks else [])
    assert [src for _, src in group.said] == ([0] if tells else [])
    assert found._places.start == given.get("step", 4 if tells and rank > 0 else 2 if asks else 0)


def test_an_error_of_the_rank_that_asks_is_one_of_all_unless_a_checkpoint_is_loaded(dataset, group, package):
    group(1, 2)
    group.heard = [package.riffle.BrokerError("away")]
    found = dataset()
    for call in (found.state_dict, lambda: next(iter(found))):
        with pytest.raises(package.riffle.BrokerError, match="away"):
            call()
    found.load_state_dict(STATE)
    assert next(iter(found))["step"] == 5
    found = dataset()
    found._go_to(6)
    assert found.state_dict()["step"] == 6 and next(iter(found))["step"] == 6


@pytest.mark.parametrize("error", ["BrokerError", "LostError"])
def test_commits_that_are_not_known_are_an_error_of_the_first_step_unless_it_is_named(dataset, package, error):
    dataset.of.committed = getattr(package.riffle, error)("away")
    found = dataset()
    with pytest.raises(getattr(package.riffle, error), match="away"):
        next(iter(found))
    assert next(iter(dataset(step=3)))["step"] == 3 and dataset.of.asked == [True, False]


def test_a_reader_is_there_while_an_iteration_runs(dataset):
    found = dataset()
    assert found.reader is None
    items = iter(found)
    next(items)
    assert found.reader.position == 1
    items.close()
    assert found.reader is None


@pytest.mark.parametrize("processes, mine, world, ranks, first", [
    (1, 0, 1, [0], True), (4, 3, 4, [0, 1, 2, 3], True), (4, 0, 2, [0, 0, 1, 1], True), (4, 1, 2, [0, 0, 1, 1], False),
    (4, 2, 2, [0, 0, 1, 1], True), (4, 3, 2, [0, 0, 1, 1], False), (4, 1, 2, [0, 1, 0, 1], True), (4, 2, 2, [0, 1, 0, 1], False),
    (4, 0, 1, [0] * 4, True), (4, 3, 1, [0] * 4, False),
])
def test_the_first_of_those_that_read_the_same_lanes_commits(stand_in, processes, mine, world, ranks, first):
    gathered = []
    stand_in.group = (mine, processes) if processes > 1 else None

    def gather(found, rank):
        gathered.append(rank)
        found[:] = ranks

    stand_in.distributed.all_gather_object = gather
    assert stand_in.part("integrations.dataset").is_first_of_peers(ranks[mine], world) == first
    assert gathered == ([] if processes in (1, world) else [ranks[mine]])


# ---- sequences by index


@pytest.fixture
def by_index(stand_in, monkeypatch):
    """by_index(kind=MapDataset, **options): one of 5 steps of 4 sequences."""
    extent = stand_in.part("reader").Extent(5, 4, 2, 4, True, True)
    module, Place = stand_in.part("sequences"), stand_in.part("progress").Place
    monkeypatch.setattr(module, "find_extent", lambda *_, **__: extent)

    class Reader:
        info = types.SimpleNamespace(global_batch=4)
        place = property(lambda self: Place(self.position, 0, np.zeros(2, np.int64)))
        close = lambda self: None

        def __init__(self, step):
            self.position = step

        def seek(self, step):
            self.position = step

        def next(self, timeout):
            if self.position >= 5:
                return None
            self.position += 1
            return FakeStep(self.position - 1)

    def make(kind=None, **options):
        monkeypatch.setattr(module.Sequences, "_read_from", lambda self, step: Reader(step))
        found = (kind or stand_in.part("torch").MapDataset)("m", "b:1", run="r", **options)
        monkeypatch.setattr(found._checkpoints, "_ask", lambda step: None)
        found._training._opens = lambda: types.SimpleNamespace(trained=lambda place, losses: None, close=lambda: None)
        return found

    make.Reader = Reader
    return make


def test_an_item_by_index_is_one_sequence_of_a_batch(by_index, stand_in):
    found, whole = by_index(fields=ALL), stand_in.part("torch").batch_of(FakeStep(1), fields=ALL)
    item = found[6]
    assert (item["step"], item["lr_scale"], item["phase"], item["round"], item["domains"]) == (1, 0.5, "warm", 7, "a")
    for name in set(ALL) - {"step", "lr_scale", "phase", "round", "domains", "cu_seqlens", "max_seqlen"}:
        assert repr(item[name]) == repr(whole[name][2]), name
    items = found.__getitems__([9, 2, 8, 3])
    assert [(item["step"], int(item["input_ids"][0])) for item in items] == [(2, 10), (0, 20), (2, 0), (0, 30)]
    left, masked = by_index(fields=["input_ids"], padding_side="left")[2], by_index(mask_boundaries=True)
    assert left["input_ids"].tolist() == [23, 20, 21, 22]
    masked[0]
    assert masked._held[0].step.calls == [True]


def test_an_index_that_is_trained_is_so_for_the_process_that_trains(by_index, stand_in, package):
    found = by_index()
    found[8]
    stand_in.worker = types.SimpleNamespace(id=0)
    with pytest.raises(package.riffle.UsageError, match="trained\\(\\) is for the process that trains"):
        found.trained(2)
    stand_in.worker = None
    found.trained(2)
    assert found.state_dict()["step"] == 3 and found.state_dict(step=1)["step"] == 1
    with pytest.raises(package.riffle.UsageError, match="sequences by index cannot begin behind a number of samples"):
        found.state_dict(8)
    assert found.state_dict(8, step=2)["step"] == 2


def test_what_a_rank_cannot_have_by_index_is_refused(by_index, package, monkeypatch, stand_in):
    found, error = by_index(), package.riffle.UsageError
    found[0]
    with pytest.raises(error, match="take_rank\\(\\) after something was read"):
        found.take_rank(0, 1)
    module, extent = stand_in.part("sequences"), stand_in.part("reader").Extent
    by_index.Reader.info = types.SimpleNamespace(global_batch=8)
    with pytest.raises(package.riffle.DataError, match="step 1 of mix m has 8 sequences, and indexes count steps of 4"):
        found[4]
    monkeypatch.setattr(module, "find_extent", lambda *_, **__: extent(5, 4, 2, 4, True, False))
    with pytest.raises(error, match="has changed its global_batch"):
        by_index().batch
    monkeypatch.setattr(module, "find_extent", lambda *_, **__: extent(5, 4, 2, 4, False, True))
    with pytest.raises(error, match="has no end yet"):
        len(by_index())
    monkeypatch.setattr(module, "find_extent", lambda *_, **__: extent(5, 2, 2, 4, True, True))
    assert [list(by_index(rank=rank, world=2).places) for rank in (0, 1)] == [[0], [1]]


def test_a_process_that_was_forked_has_a_reader_of_its_own(by_index, monkeypatch):
    found = by_index()
    found[0]
    first = found._stream
    monkeypatch.setattr("os.getpid", lambda: -1)
    found.close()
    assert found._stream is first, "it is the parent's"
    assert found[4]["step"] == 1 and found._stream is not first and found._process == -1
    found.close()
    assert found._stream is None and not found._held


def test_a_seek_is_where_a_reader_begins_anew(by_index, stand_in, monkeypatch):
    monkeypatch.setattr(stand_in.part("sequences"), "_ON", 0)
    begins = []
    found = by_index(keep=1)
    real = found._next
    monkeypatch.setattr(found, "_next", lambda reader, begin: begins.append(begin) or real(reader, begin))
    for number in (1, 4, 2):
        found.step(number)
    assert begins == [1, 4, 2]


# ---- Grain


@pytest.fixture
def grain(stand_in, monkeypatch, by_index):
    module_of(monkeypatch, "grain", IterDataset=type("IterDataset", (), {}), DatasetIterator=type("DatasetIterator", (), {}))
    module = stand_in.part("integrations.grain")

    def make(**options):
        found = module.IterDataset("m", "b:1", run="r", **{"element": lambda step: step.step, **options})
        monkeypatch.setattr(found.sequences._checkpoints, "_ask", lambda step: None)
        return found

    by_index()  # the stand-in of the reader
    make.module = module
    return make


@pytest.mark.parametrize("options, slices, found", [
    ({}, [], [0, 1, 2, 3, 4]), ({"steps": 3}, [], [0, 1, 2]), ({"step": 3}, [], [3, 4]), ({"step": 5}, [], []), ({"step": 3, "steps": 3}, [], []),
    ({}, [slice(0, None, 2)], [0, 2, 4]), ({}, [slice(1, None, 2)], [1, 3]), ({"step": 1}, [slice(1, None, 2)], [2, 4]),
    ({}, [slice(1, None, 2), slice(1, None, 2)], [3]), ({"steps": 4}, [slice(1, None, 3)], [1]),
])
def test_an_iterator_of_grain_gives_every_kth_step_of_its_slice(grain, options, slices, found):
    dataset = grain(**options)
    for one in slices:
        dataset.set_slice(one)
    assert [next(iter(dataset)) for _ in found] == found[:1] * len(found), "each iterator begins anew"
    items = iter(dataset)
    items.__class__.__iter__ = lambda self: self
    assert list(items) == found


def test_a_state_of_grain_is_the_step_that_comes_next(grain, package):
    items = iter(grain(step=1))
    next(items)
    assert items.get_state() == {"mix": "m", "run": "r", "step": 2}
    items.set_state({"mix": "m", "run": "r", "step": 4})
    assert next(items) == 4 and items.get_state()["step"] == 5
    for call, says in ((lambda: grain(step=-1), "step is -1"), (lambda: grain().set_slice(slice(0, None), True), "sequential_slice")):
        with pytest.raises(package.riffle.UsageError, match=says):
            call()
    with pytest.raises(IndexError, match="steps=9 is more than it has"):
        next(iter(grain(step=5, steps=9)))


def test_elements_of_grain_are_arrays_of_a_step(grain):
    found = grain.module.arrays(FakeStep())
    assert {name: (value.dtype, value.shape) for name, value in found.items()} == {
        **{name: (np.int32, (4, 4)) for name in ("input_ids", "labels", "position_ids", "document_ids")}, "domain_index": (np.int32, (4,))}
    assert found["labels"][3].tolist() == [31, -100, -100, -100]
    text = grain.module.maxtext(FakeStep())
    assert text["inputs_segmentation"].tolist() == [[1] * 4, [1] * 4, [1, 1, 1, 0], [1, 0, 0, 0]]
    assert text["targets"].tolist() == [[1, 2, 3, 4], [11, 12, 13, 14], [21, 22, 23, 0], [31, 0, 0, 0]]
    assert text["targets_segmentation"].tolist() == text["inputs_segmentation"].tolist()
    assert text["inputs"].tolist() == [[10 * i + k for k in range(4)] for i in range(4)]


# ---- Lightning


@pytest.fixture
def lightning(dataset, stand_in, monkeypatch):
    """lightning(**options): a DataModule and its trainer, whose steps the test makes."""
    pl = module_of(monkeypatch, "lightning.pytorch", LightningDataModule=object, Callback=object)
    module_of(monkeypatch, "lightning", pytorch=pl).__path__ = []
    module = stand_in.part("integrations.lightning")
    monkeypatch.setattr(module, "RankDataset", lambda mix, bootstrap, **options: dataset(
        kind=stand_in.part("integrations.dataset").RankDataset, **options))
    monkeypatch.setattr(module, "DataLoader", lambda given, **_: given)

    def make(callbacks=(), mesh=None, group=None, max_steps=6, **options):
        data = module.DataModule("m", "b:1", **options)
        data.trainer = types.SimpleNamespace(
            callbacks=list(callbacks), global_step=0, max_steps=max_steps, optimizers=[Optimizer(1.0)], accumulate_grad_batches=2,
            strategy=types.SimpleNamespace(device_mesh=mesh), distributed_sampler_kwargs=group)
        return data, data.trainer

    return make


def test_a_step_of_lightning_is_one_of_the_mix(lightning, package):
    last = object()
    data, trainer = lightning([last], micro_batch=2)
    data.setup("validate")
    assert data.dataset is None and data.state_dict() == {}
    data.setup("fit")
    follow = trainer.callbacks[0]
    assert trainer.callbacks == [follow, last], "before those that save"
    data.setup("fit")
    assert len(trainer.callbacks) == 2
    data.load_state_dict({}), data.load_state_dict({"mix": "m", "run": "r", "step": 2})
    trainer.global_step = 1
    items = iter(data.train_dataloader())
    assert data.dataset.until == 2 + 6 - 1
    follow.on_train_start(trainer, None)
    trained = []
    data.dataset._training._opens = lambda: types.SimpleNamespace(trained=lambda place, losses: trained.append(place.step),
                                                                  flush=lambda timeout: None, close=lambda: None)
    assert data.state_dict()["step"] == 2
    for half in range(4):
        item = next(items)
        follow.on_train_batch_start(trainer, None, item, half)
        if half % 2:
            trainer.optimizers[0].step()
            assert trainer.optimizers[0].used == [0.5]
            trainer.global_step += 1
        follow.on_train_batch_end(trainer, None, None, item, half)
        assert data.state_dict()["step"] == 2 + (half + 1) // 2
    assert trained == [3, 4]
    trainer.global_step += 1
    with pytest.raises(package.riffle.UsageError, match="step 4 of mix m comes where the optimiser's step is 5: micro_batch \\(2\\)"):
        follow.on_train_batch_start(trainer, None, next(items), 4)
    follow.on_train_end(trainer, None)
    assert trainer.optimizers[0].before == []
    data.teardown("validate")
    assert data.dataset is not None
    data.teardown("fit")
    assert data.dataset is None and data._first is None and trainer.callbacks == [last]


@pytest.mark.parametrize("mesh, commits", [(None, True), (0, True), (1, False)])
def test_a_rank_of_lightning_is_that_of_the_sampler_and_one_of_a_tensor_group_commits(lightning, mesh, commits, stand_in):
    tensor = mesh if mesh is None else {"tensor_parallel": types.SimpleNamespace(get_local_rank=lambda: mesh)}
    data, _ = lightning(mesh=tensor, group={"rank": 1, "num_replicas": 3}, lr_scale=False, max_steps=-1)
    data.setup("fit")
    assert (data.dataset.rank, data.dataset.world, data.dataset.commits) == (1, 3, commits)
    data.train_dataloader()
    assert data.dataset.until is None


def test_what_changes_the_batch_of_lightning_is_refused(lightning, package):
    for name in ("GradientAccumulationScheduler", "BatchSizeFinder"):
        with pytest.raises(package.riffle.UsageError, match=f"{name} changes the batch"):
            lightning([type(name, (), {})()])[0].setup("fit")
    for name in ("rank", "world"):
        with pytest.raises(package.riffle.UsageError, match=f"{name} is that of Lightning's strategy"):
            lightning(**{name: 1})
