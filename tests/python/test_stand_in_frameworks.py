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
    assert [next(iter(dataset)) for _ in found] == found[:1] * len(found), "each iterator begins at the first step"
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
    assert trainer.callbacks == [follow, last], "before any callback that saves"
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


# ---- Megatron


class Tensor(np.ndarray):
    """What adapters ask of a tensor."""

    float = lambda self: self.astype(np.float32)
    long = lambda self: self.astype(np.int64)
    repeat = lambda self, *times: np.tile(np.asarray(self), times).view(Tensor)
    triu = lambda self, above: np.triu(np.asarray(self), above).view(Tensor)
    nonzero = lambda self: np.argwhere(np.asarray(self))
    diff = lambda self, dim: np.diff(np.asarray(self), axis=dim).view(Tensor)
    max = lambda self, dim: types.SimpleNamespace(values=np.asarray(self).max(axis=dim))
    numel = lambda self: self.size
    contiguous = lambda self: self


@pytest.fixture
def megatron(dataset, stand_in, monkeypatch):
    """The adapter; .groups is what its parallel_state says, of a process that is alone."""
    stand_in.from_numpy = lambda array: array.view(Tensor)
    stand_in.int32, stand_in.bool = np.int32, bool
    stand_in.where = lambda *given: np.where(*given).view(Tensor)
    stand_in.arange = lambda n: np.arange(n).view(Tensor)
    stand_in.ones = lambda *shape, dtype: np.ones(shape, dtype).view(Tensor)
    stand_in.full = lambda shape, value, dtype: np.full(shape, value, dtype).view(Tensor)
    stand_in.cat = lambda parts: np.concatenate(parts).view(Tensor)
    module = stand_in.part("integrations.megatron")
    monkeypatch.setattr(module, "RankDataset", lambda mix, bootstrap, **options: dataset(
        kind=stand_in.part("integrations.dataset").RankDataset, **options))
    groups = types.SimpleNamespace(
        rank=0, world=1, last=True, stages=None, tensor=0, context=0, get_data_parallel_rank=lambda: groups.rank,
        get_data_parallel_world_size=lambda: groups.world, is_pipeline_last_stage=lambda ignore_virtual: ignore_virtual and groups.last,
        get_virtual_pipeline_model_parallel_world_size=lambda: groups.stages, get_tensor_model_parallel_rank=lambda: groups.tensor,
        get_context_parallel_rank=lambda: groups.context, get_model_parallel_group=lambda: "model")
    module_of(monkeypatch, "megatron.core", parallel_state=groups)
    module_of(monkeypatch, "megatron").__path__ = []
    monkeypatch.setattr(module, "groups", groups, raising=False)
    return module


def losses_of(value, rows=2):
    array = np.full((rows, 4), float(value))
    plain = types.SimpleNamespace(float=lambda: types.SimpleNamespace(view=lambda shape: array))
    return types.SimpleNamespace(numel=lambda: array.size, shape=array.shape, detach=lambda: plain)


@pytest.fixture
def train(megatron, monkeypatch, stand_in):
    """train(**options): an iterator; .trained has what it said of training."""
    def make(**options):
        found = megatron.TrainIterator("m", "b:1", **{"global_batch": 4, "micro_batch": 2, **options})
        monkeypatch.setattr(stand_in.part("rank").Rank, "trained", lambda self, step, losses: make.trained.append((step, losses)))
        return found

    make.trained = []
    return make


@pytest.mark.parametrize("consumed, micro_batch, steps", [(0, 2, [0, 0, 1, 1, 2]), (8, 2, [2, 2, 3]), (0, 4, [0, 1, 2]), (4, 1, [1, 1, 1, 1, 2])])
def test_an_iteration_of_megatron_is_a_step_of_the_mix(train, consumed, micro_batch, steps):
    found = train(consumed=consumed, micro_batch=micro_batch)
    each, said = 4 // micro_batch, []
    for number, step in enumerate(steps):
        item = next(found)
        assert (item["step"], found.step, item["micro_batch"], len(item["tokens"])) == (step, step, number % each, micro_batch)
        said.append(len(train.trained))
    assert said == [number // each for number in range(len(steps))], "a step is trained once the next one is asked for"
    assert train.trained == [(consumed // 4 + n, None) for n in range(said[-1])]


def test_a_step_of_megatron_is_trained_once_with_each_micro_batch_once(train, package):
    found = train()
    first = next(found)
    found.add(first, losses_of(1))
    found.trained()
    assert train.trained == [], "half of it"
    second = next(found)
    for value in (9, 2):  # Megatron runs a micro-batch again
        found.add(second, losses_of(value))
    with pytest.raises(package.riffle.UsageError, match="context parallelism splits"):
        found.add(second, losses_of(1, 1))
    found.add({**second, "micro_batch": None}, losses_of(100))  # of a held-out set
    found.trained(), found.trained()
    assert train.trained == [(0, {"a": (4.0 + 6.0, 0.0, 7), "b": (4.0, 0.0, 4), "c": (2.0, 0.0, 1)})]
    next(found), next(found), found.trained()
    assert train.trained[1:] == [(1, None)]
    quiet = train(commits=False)
    item = next(quiet)
    quiet.add(item, losses_of(1))
    assert quiet._sums == {}


def test_what_does_not_fit_the_mix_stops_megatron(train, package, dataset):
    error = package.riffle.UsageError
    for options, says in (({"global_batch": 6, "micro_batch": 4}, "no multiple of micro-batch-size 4 x 1"), ({"consumed": 6}, "no whole number of steps")):
        with pytest.raises(error, match=says):
            train(**options)
    with pytest.raises(error, match="--seq-length is 5"):
        next(train(length=5))
    with pytest.raises(error, match="has 4 sequences, and --global-batch-size is 8"):
        next(train(global_batch=8))
    found = train(length=4)
    found.begin(12), found.begin(0)
    assert next(found)["step"] == 0
    found = train(length=4)
    found.begin(12), found.begin(4)
    assert next(found)["step"] == 1
    with pytest.raises(error, match="has given micro-batches already"):
        found.begin(0)
    dataset.of.end = 2
    next(found)
    with pytest.raises(package.riffle.RiffleError, match="has ended: it has 2 steps of 4 sequences.*set --train-iters 2"):
        next(found)


def test_items_of_megatron_have_the_masks_that_are_asked_for(train, megatron):
    plain = next(train(micro_batch=4))
    assert plain["loss_mask"].tolist() == [[1] * 4, [1] * 4, [1, 1, 1, 0], [1, 0, 0, 0]] and plain["labels"][2].tolist() == [21, 22, 23, 0]
    assert plain["position_ids"].tolist() == [[0, 1, 2, 3]] * 4 and "attention_mask" not in plain and "cu_seqlens" not in plain
    reset = next(train(micro_batch=4, masks=megatron.Masks(reset_position_ids=True)))
    assert reset["position_ids"][0].tolist() == [0, 1, 0, 1]
    for resets, row in ((False, [False] * 4), (True, [False, False, False, True])):
        item = next(train(micro_batch=4, masks=megatron.Masks(reset_attention_mask=resets, create_attention_mask_in_dataloader=True)))
        assert item["attention_mask"].shape == (4, 1, 4, 4) and item["attention_mask"][2, 0, 3].tolist() == [resets] * 3 + [False]
        assert item["attention_mask"][0, 0, 1].tolist() == [False, False, True, True]
    packed = next(train(micro_batch=4, masks=megatron.Masks(dataloader_inter_document_masking=True)))
    assert packed["cu_seqlens"][0].tolist() == [0, 2, 4, 4, 4] and packed["max_seqlen"].tolist()[0] == 2


class HeldOut:
    """A set of n sequences, in batches of 4."""

    corpus, set = "c", "valid"

    def __init__(self, domain, n):
        self.domain, self.n = domain, n

    def __len__(self):
        return self.n

    def __iter__(self):
        for first in range(0, self.n, 4):
            step = FakeStep(first // 4, n=min(4, self.n - first))
            step.domains = [f"{self.domain}{first + i}" for i in range(len(step))]
            yield step


@pytest.mark.parametrize("consumed", [0, 2, 5, 6, 13, 20, 27])
@pytest.mark.parametrize("rank, world, micro", [(0, 1, 2), (0, 1, 3), (1, 2, 1), (0, 2, 2), (2, 3, 1)])
def test_held_out_sets_are_dealt_out_in_blocks_from_where_they_were_left(megatron, consumed, rank, world, micro):
    names = [f"x{i}" for i in range(5)] + [f"y{i}" for i in range(8)]
    found = megatron.ValidIterator([HeldOut("x", 5), HeldOut("e", 0), HeldOut("y", 8)], micro_batch=micro, consumed=consumed, rank=rank, world=world)
    wanted = [names[at % 13] for at in range(consumed, consumed + 200) if at // micro % world == rank]
    given = [next(found)["domains"] for _ in range(12)]
    assert [name for item in given for name in item] == wanted[:12 * micro]


def test_what_a_held_out_set_cannot_be_for_megatron(megatron, package):
    for sets, options, says in (([HeldOut("x", 0)], {}, "held-out sets x \\(valid\\) of corpus c are empty"), ([HeldOut("x", 3)], {"length": 5}, "--seq-length is 5")):
        with pytest.raises(package.riffle.UsageError, match=says):
            next(megatron.ValidIterator(sets, micro_batch=1, **options))
    found = megatron.ValidIterator([HeldOut("x", 3)], micro_batch=1)
    found.begin(2)
    assert next(found)["domains"] == ["x2"]
    with pytest.raises(package.riffle.UsageError, match="has given micro-batches already"):
        found.begin(0)


@pytest.mark.parametrize("place, stage, leads, commits, kept", [
    ({}, None, True, True, True), ({"tensor": 1}, None, False, False, True), ({"context": 1}, None, True, False, True),
    ({"last": False}, None, False, False, True), ({"stages": 2}, 0, False, False, True), ({"stages": 2}, 1, True, True, True),
    ({"stages": 3}, 1, False, False, False), ({"stages": 2, "last": False}, 1, False, False, False),
])
def test_one_process_of_a_model_commits_and_one_says_its_learning_rate(megatron, package, monkeypatch, place, stage, leads, commits, kept):
    vars(megatron.groups).update(place)
    data = megatron.DataIterators("m", "b:1", run="r")
    args = types.SimpleNamespace(global_batch_size=4, micro_batch_size=2, consumed_train_samples=8, seq_length=4)
    train, valid, test = data.iterators(args, stage)
    assert (train.dataset.commits, data.train is train, valid, test) == (commits, kept, None, None)
    reduced = []
    monkeypatch.setattr(megatron, "all_reduced", lambda values, group: reduced.append((values, group)) or values)
    train.lr_scale = 0.25
    assert data._factor() == (0.25 if leads else 0.0) and reduced == [([0.25 if leads else 0.0], "model")]
    assert next(train)["step"] == 2
    with pytest.raises(package.riffle.UsageError, match="--full-validation needs to know"):
        data.iterators(types.SimpleNamespace(**vars(args), full_validation=True))


def test_learning_rates_of_megatron_are_those_of_the_step(megatron, monkeypatch, train):
    data, first = megatron.DataIterators("m", "b:1"), Optimizer(1.0)
    monkeypatch.setattr(data, "_factor", lambda: 0.5)
    data.train = found = train(micro_batch=4)

    def step(iterator, model, config, optimizer):
        next(found)
        optimizer.step()
        return "done"

    assert data.train_step(step)(None, None, None, first) == "done" and first.used == [0.5] and train.trained == [(0, None)]
    data.train_step(step)(None, None, None, optimizer=first)
    assert first.used == [0.5] and len(first.before) == 1 and train.trained == [(0, None), (1, None)]
    data.scale(types.SimpleNamespace(chained_optimizers=[Optimizer(1.0), types.SimpleNamespace(is_stub_optimizer=True)], step=lambda: None))
    assert first.before == [] and len(data._scales) == 1


# ---- transformers


@pytest.fixture
def follows(dataset, stand_in, monkeypatch):
    """follows(global_step, **options): the callback of a trainer with micro-batches of 2 sequences, and that trainer."""
    stand_in.no_grad = lambda: lambda call: call
    for name in ("TrainerCallback", "ExportableState"):
        monkeypatch.setattr(stand_in, name, type(name, (), {}), raising=False)
    module_of(monkeypatch, "transformers.trainer_callback", TrainerCallback=stand_in.TrainerCallback, ExportableState=stand_in.ExportableState)
    module_of(monkeypatch, "transformers", Trainer=type("Trainer", (), {})).__path__ = []
    module = stand_in.part("integrations.transformers")

    def make(global_step=0, max_steps=9, **options):
        data = dataset(kind=stand_in.part("integrations.dataset").RankDataset, micro_batch=2, **options)
        make.trained = []
        data._training._opens = lambda: types.SimpleNamespace(trained=lambda place, losses: make.trained.append((place.step, losses)),
                                                              close=lambda: None)
        trainer = types.SimpleNamespace(
            riffle=data, riffle_step={}, state=types.SimpleNamespace(global_step=global_step), _train_batch_size=2, _riffle_scales=True,
            args=types.SimpleNamespace(max_steps=max_steps, gradient_accumulation_steps=2), optimizer=Optimizer(1.0))
        return module.RiffleCallback(trainer), trainer

    return make


@pytest.mark.parametrize("saved, global_step, step, begin", [(None, 0, None, 0), (None, 0, 3, 3), ({**STATE, "step": 4}, 4, None, 4), (STATE, 2, None, 5),
                                                             ({**STATE, "step": 4}, 0, None, 0), (None, 2, 3, 3)])
def test_a_step_of_transformers_is_one_of_the_mix(follows, package, saved, global_step, step, begin):
    callback, trainer = follows(global_step, step=step)
    callback.resume(saved, global_step)
    assert trainer.riffle.until == begin + 9 - global_step and callback._first == begin - global_step
    callback.on_train_begin(None, None, None)
    items = iter(trainer.riffle)
    for n in range(2):
        for _ in range(2):
            item = next(items)
            callback.begin({name: item[name] for name in ("step", "lr_scale", "phase", "domains")}, 2)
        callback._rows = [(["a", "b"], np.array([1.5, 0.0]), np.array([3, 0]))]
        trainer.optimizer.step()
        assert trainer.optimizer.used == [0.5]
        trainer.state.global_step += 1
        callback.on_step_end(None, None, None)
        assert callback.state()["attributes"]["riffle"]["step"] == begin + n + 1
    assert follows.trained == [(begin + n + 1, {"a": (1.5, 0.0, 3)}) for n in range(2)] and callback._rows == []
    item = next(items)
    callback.begin({**item}, 2)
    with pytest.raises(package.riffle.UsageError, match="a training step had 2 sequences, a step of the mix has 4"):
        callback.on_step_end(None, None, None)
    trainer.state.global_step += 1
    with pytest.raises(package.riffle.UsageError, match=f"step {begin + 2} comes where training is at step {begin + 3}"):
        callback.begin({**item}, 2)


# ---- KempnerForge, TRL


@pytest.fixture
def kempnerforge(stand_in, dataset, monkeypatch):
    """kempnerforge(path, length=4, phases=(), anneal=0, **options): its loader; .run is the run's name."""
    module = stand_in.part("integrations.kempnerforge")

    def made(mix, bootstrap, **options):
        make.mix, make.run = mix, options.pop("run")
        return dataset(kind=stand_in.part("integrations.dataset").RankDataset, **options)

    def make(path, length=4, phases=(), anneal=0, **options):
        config = types.SimpleNamespace(data=types.SimpleNamespace(dataset_path=path, phases=list(phases), anneal_start_step=anneal),
                                       train=types.SimpleNamespace(seq_len=length, batch_size=2))
        return module.make_loader(config, make.optimizer, rank=0, world=1, **options)

    make.optimizer = Optimizer(1.0)
    monkeypatch.setattr(stand_in.part("integrations.loader"), "RankDataset", made)
    return make


@pytest.mark.parametrize("path, mix, run", [("riffle:m", "m", "trainers"), ("riffle:m/big", "m", "big"), ("riffle:m/", "m", "trainers")])
def test_a_path_of_kempnerforge_is_a_mix_and_a_run(kempnerforge, path, mix, run, monkeypatch, stand_in):
    stand_in.from_numpy = lambda array: array.view(Tensor)
    loader = kempnerforge(path)
    assert (kempnerforge.mix, kempnerforge.run) == (mix, run)
    items = iter(loader)
    item = next(items)
    assert sorted(item) == ["doc_ids", "input_ids", "labels"] and item["doc_ids"].dtype == np.int64 and len(item["labels"]) == 2
    kempnerforge.optimizer.step()
    assert kempnerforge.optimizer.used == [0.5]


@pytest.mark.parametrize("path, options, says", [
    ("m", {}, "must be riffle:MIX"), ("riffle:", {}, "must be riffle:MIX"), ("riffle:/r", {}, "must be riffle:MIX"),
    ("riffle:m", {"phases": [1]}, "a mix has mix.phases"), ("riffle:m", {"anneal": 1}, "a mix has mix.phases"),
    ("riffle:m", {"fields": "step"}, "fields is KempnerForge's"), ("riffle:m", {"length": 5}, "train.seq_len is 5"),
])
def test_what_kempnerforge_cannot_have_is_refused(kempnerforge, package, path, options, says):
    with pytest.raises(package.riffle.UsageError, match=says):
        next(iter(kempnerforge(path, **options)))


def test_a_trainer_of_trl_keeps_its_arguments_and_refuses_what_the_mix_has_done(follows, stand_in, package, monkeypatch):
    seen = []

    class SFTTrainer:
        def __init__(self, *words, **more):
            seen.append((words, more))
            self.args = words[1]

        add_callback = lambda self, callback: seen.append(callback)

    module_of(monkeypatch, "trl", SFTTrainer=SFTTrainer, SFTConfig=object)
    module_of(monkeypatch, "datasets", Dataset=types.SimpleNamespace(from_list=lambda rows: rows))
    kind = stand_in.part("integrations.trl").SFTTrainer
    args = types.SimpleNamespace(dataset_kwargs={"a": 1}, max_steps=5, auto_find_batch_size=False, packing=False)
    trainer = kind("model", args, riffle={"mix": "m", "losses": False}, processing_class="p")
    words, more = seen[0]
    assert words == ("model", args) and more == {"processing_class": "p", "train_dataset": [{"input_ids": [0], "labels": [0]}]}
    assert args.dataset_kwargs == {"a": 1, "skip_prepare_dataset": True} and args.ignore_data_skip
    assert (trainer._riffle_losses, trainer._riffle_scales, trainer._riffle_options) == (False, True, {"mix": "m"}) and len(seen) == 2
    for change, says in (({"packing": True}, "packing: sequences of a mix are packed"), ({"padding_free": True}, "padding_free"),
                         ({"assistant_only_loss": True}, "assistant_only_loss"), ({"max_steps": 0}, "needs max_steps"),
                         ({"auto_find_batch_size": True}, "changes the batch")):
        with pytest.raises(package.riffle.UsageError, match=says):
            kind("model", types.SimpleNamespace(**{**vars(args), **change}), riffle={"mix": "m"})
    with pytest.raises(package.riffle.UsageError, match="micro_batch is the Trainer's"):
        kind("model", args, riffle={"mix": "m", "micro_batch": 2})


# ---- verl


@pytest.fixture
def verl(by_index, stand_in):
    """verl(**config): prompts of the mix m, and the steps that were said to be trained."""
    stand_in.utils.data.DistributedSampler = object
    module = stand_in.part("integrations.verl")

    def make(max_samples=-1, riffle=(), **config):
        found = by_index(kind=lambda *_, **__: module.RLDataset("riffle:m", None, {"riffle": dict(riffle), **config}, max_samples=max_samples))
        trained = []
        found._training._opens = lambda: types.SimpleNamespace(trained=lambda place, losses: trained.append(place.step), close=lambda: None)
        return found, trained

    make.module = module
    return make


@pytest.mark.parametrize("batches, trained", [([[0, 1, 2, 3], [4, 5, 6, 7]], [1, 2]), ([[0, 1, 2]], []), ([[0, 1, 2], [3, 4]], [1]),
                                              ([[3, 0, 2, 1], [11, 8]], [1, 3]), ([[4, 5], [6, 7]], [2])])
def test_steps_of_verl_are_trained_once_all_their_prompts_are_used_up(verl, stand_in, batches, trained):
    data, said = verl(train_batch_size=4)
    for batch in batches:
        for index in batch:
            stand_in.part("torch").MapDataset.__getitem__(data, index)
        data.on_batch_end(types.SimpleNamespace(non_tensor_batch={"index": np.array(batch)}))
    assert said == trained


def test_a_mix_of_verl_has_no_epochs_and_one_size_of_steps(verl, stand_in, package):
    error, end = package.riffle.UsageError, lambda *index: types.SimpleNamespace(non_tensor_batch={"index": np.array(index)})
    data, _ = verl()
    for index in range(0, 12, 4):
        stand_in.part("torch").MapDataset.__getitem__(data, index)
    data.on_batch_end(end(7))
    with pytest.raises(error, match="of which 2 steps are trained: a mix has no epochs"):
        data.on_batch_end(end(0, 1))
    assert len(verl(max_samples=9)[0]) == 8
    for options, says in (({"train_batch_size": 8}, "train_batch_size is 8, and a step of mix m has 4"), ({"shuffle": True}, "shuffled already"),
                          ({"max_samples": 8, "riffle": {"steps": 2}}, "both say how much there is")):
        with pytest.raises(error, match=says):
            verl(**options)
    with pytest.raises(error, match="sequence 1 of mix m holds several documents"):
        data[1]
    mix_of = verl.module._mix_of
    assert [mix_of(files) for files in ("riffle:m", ["riffle:m"], "a.parquet", ["a", "b"], None)] == ["m", "m", None, None, None]
    with pytest.raises(error, match="a mix is one name"):
        mix_of(["riffle:m", "a.parquet"])
