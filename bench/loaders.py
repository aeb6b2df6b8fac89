"""The loaders that scripts/bench-trainers compares: each gives batches of [batch, length + 1] uint16 of the same rows.

A loader is a class with
    modules                      what it imports, which is not part of any time
    prepare(home, rows)          writes what it reads, once; rows: {domain: uint16 [n, length + 1]}
    __init__(home, plan)         plan: weights, batch, steps (of the planned run), length
    batches(state, step)         iterates from a state of its own, or from the start; `step` says which it is
    state()                      what a checkpoint would hold, picklable
Each is used as its documents say for a resumable, weighted mix of local data, without worker processes.
"""

import os

import numpy as np

SEED = 7


class Plan:
    def __init__(self, weights, batch, steps, length):
        self.weights, self.batch, self.steps, self.length = weights, batch, steps, length

    @property
    def shares(self):
        total = sum(self.weights.values())
        return [self.weights[d] / total for d in sorted(self.weights)]


def maps(home):
    """{domain: the rows as a memory map}."""
    return {p.stem: np.load(p, mmap_mode="r") for p in sorted((home / "rows").glob("*.npy"))}


class MemoryMap:
    """A blend as anyone writes it: draws of the whole run in one index, rows gathered from memory maps."""

    modules = ()

    def __init__(self, home, plan):
        self.maps, self.plan, self.at = list(maps(home).values()), plan, 0

    @staticmethod
    def prepare(home, rows):
        pass  # the .npy files are there

    def index(self):
        draws = np.random.default_rng(SEED).choice(
            len(self.maps), size=self.plan.steps * self.plan.batch, p=self.plan.shares).astype(np.int8)
        places = np.empty(draws.size, np.int64)
        for d, rows in enumerate(self.maps):
            mine = np.flatnonzero(draws == d)
            places[mine] = np.arange(mine.size) % len(rows)
        return draws, places

    def batches(self, state, step):
        draws, places = self.index()
        n = self.plan.batch
        for at in range(step, self.plan.steps):
            self.at = at + 1
            out = np.empty((n, self.plan.length + 1), np.uint16)
            for i in range(n):
                k = at * n + i
                out[i] = self.maps[draws[k]][places[k]]
            yield out

    def state(self):
        return self.at


class TorchData:
    """torchdata.nodes: MultiNodeWeightedSampler over nodes that walk memory maps."""

    modules = ("torchdata.nodes",)

    def __init__(self, home, plan):
        from torchdata.nodes import BaseNode, Batcher, Loader, MultiNodeWeightedSampler

        class Rows(BaseNode):
            def __init__(self, rows):
                super().__init__()
                self.rows, self.place = rows, 0

            def reset(self, initial_state=None):
                super().reset(initial_state)
                self.place = initial_state["place"] if initial_state else 0

            def next(self):
                if self.place == len(self.rows):
                    raise StopIteration
                self.place += 1
                return self.rows[self.place - 1]

            def get_state(self):
                return {"place": self.place}

        nodes = {d: Rows(rows) for d, rows in maps(home).items()}
        weights = dict(zip(sorted(plan.weights), plan.shares))
        mixed = MultiNodeWeightedSampler(nodes, weights, stop_criteria="CYCLE_FOREVER", rank=0, world_size=1, seed=SEED)
        self.loader = Loader(Batcher(mixed, plan.batch))

    prepare = MemoryMap.prepare

    def batches(self, state, step):
        if state is not None:
            self.loader.load_state_dict(state)
        for rows in self.loader:
            yield np.stack(rows)

    def state(self):
        return self.loader.state_dict()


class Datasets:
    """datasets.interleave_datasets over Arrow files, map style: resumed by index."""

    modules = ("datasets", "pyarrow")

    def __init__(self, home, plan):
        self.home, self.plan, self.at = home, plan, 0

    @staticmethod
    def prepare(home, rows):
        import datasets
        import pyarrow
        for d, values in rows.items():
            each = values.shape[1]
            column = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(values.reshape(-1)), each)
            table = pyarrow.table({"tokens": column})
            datasets.Dataset(datasets.table.InMemoryTable(table)).save_to_disk(home / "datasets" / d)

    def batches(self, state, step):
        import datasets
        sources = [datasets.load_from_disk(self.home / "datasets" / d) for d in sorted(self.plan.weights)]
        passes = -(-self.plan.steps * self.plan.batch // sum(map(len, sources))) + 1
        mixed = datasets.interleave_datasets([s.repeat(passes) for s in sources], probabilities=self.plan.shares,
                                             seed=SEED, stopping_strategy="first_exhausted").with_format("numpy", dtype=np.uint16)
        n = self.plan.batch
        for at in range(step, self.plan.steps):
            self.at = at + 1
            yield np.stack(mixed[at * n:(at + 1) * n]["tokens"])

    def state(self):
        return self.at


class DatasetsIterable(Datasets):
    """The same as an IterableDataset, resumed by its state_dict."""

    def batches(self, state, step):
        import datasets
        sources = [datasets.load_from_disk(self.home / "datasets" / d).with_format("numpy").to_iterable_dataset().repeat(None)
                   for d in sorted(self.plan.weights)]
        self.mixed = datasets.interleave_datasets(sources, probabilities=self.plan.shares, seed=SEED).with_format("numpy")
        if state is not None:
            self.mixed.load_state_dict(state)
        for batch in self.mixed.iter(self.plan.batch):
            yield np.stack(batch["tokens"]).astype(np.uint16)

    def state(self):
        return self.mixed.state_dict()


class Grain:
    """grain.MapDataset.mix over memory maps, batched, as an iterator with a state."""

    modules = ("grain",)

    def __init__(self, home, plan):
        import grain
        sources = [grain.MapDataset.source(rows).repeat() for rows in maps(home).values()]
        self.mixed = grain.MapDataset.mix(sources, weights=plan.shares).batch(plan.batch)
        self.iterator = None

    prepare = MemoryMap.prepare

    def batches(self, state, step):
        import grain
        self.iterator = iter(self.mixed.to_iter_dataset(grain.ReadOptions(num_threads=0, prefetch_buffer_size=0)))
        if state is not None:
            self.iterator.set_state(state)
        yield from self.iterator

    def state(self):
        return self.iterator.get_state()


class LitData:
    """litdata.CombinedStreamingDataset over optimised chunks of tokens."""

    modules = ("litdata",)

    def __init__(self, home, plan):
        import litdata
        from litdata.streaming.item_loader import TokensLoader
        parts = [litdata.StreamingDataset(str(home / "litdata" / d), shuffle=True, drop_last=True, seed=SEED,
                                          item_loader=TokensLoader(block_size=plan.length + 1))
                 for d in sorted(plan.weights)]
        mixed = litdata.CombinedStreamingDataset(parts, weights=plan.shares, iterate_over_all=False, seed=SEED)
        self.loader = litdata.StreamingDataLoader(mixed, batch_size=plan.batch, num_workers=0, drop_last=True)
        self.size = plan.batch

    @staticmethod
    def prepare(home, rows):
        import litdata
        from litdata.streaming.item_loader import TokensLoader
        for d, values in rows.items():
            np.save(home / f"litdata.{d}.npy", values)
            litdata.optimize(fn=_RowsOf(home / f"litdata.{d}.npy"), inputs=list(range(0, len(values), 500)),
                             output_dir=str(home / "litdata" / d), num_workers=1, chunk_bytes="64MB",
                             item_loader=TokensLoader(block_size=values.shape[1]))

    def batches(self, state, step):
        if state is not None:
            self.loader.load_state_dict(state)
        while True:  # an epoch ends with its first domain
            for batch in self.loader:
                if len(batch) == self.size:  # the last of an epoch is not, whatever drop_last says
                    yield np.asarray(batch)

    def state(self):
        return self.loader.state_dict()


class _RowsOf:
    """What litdata.optimize() calls in a process of its own."""

    def __init__(self, path):
        self.path = path

    def __call__(self, first):
        import torch
        for row in np.load(self.path, mmap_mode="r")[first:first + 500]:
            yield torch.from_numpy(row.astype(np.uint16))


class Streaming:
    """mosaicml-streaming: StreamingDataset with a stream a domain."""

    modules = ("streaming", "torch")

    def __init__(self, home, plan):
        import streaming
        streaming.base.util.clean_stale_shared_memory()
        streams = [streaming.Stream(local=str(home / "streaming" / d), proportion=p)
                   for d, p in zip(sorted(plan.weights), plan.shares)]
        data = streaming.StreamingDataset(streams=streams, batch_size=plan.batch, shuffle=True, shuffle_seed=SEED,
                                          epoch_size=plan.steps * plan.batch, num_canonical_nodes=1)
        self.loader = streaming.StreamingDataLoader(data, batch_size=plan.batch, num_workers=0)

    @staticmethod
    def prepare(home, rows):
        import streaming
        for d, values in rows.items():
            with streaming.MDSWriter(out=str(home / "streaming" / d), columns={"tokens": f"ndarray:uint16:{values.shape[1]}"},
                                     size_limit=1 << 26) as out:
                for row in values:
                    out.write({"tokens": row})

    def batches(self, state, step):
        if state is not None:
            self.loader.load_state_dict(state)
        for batch in self.loader:
            yield np.asarray(batch["tokens"])

    def state(self):
        return self.loader.state_dict()


class Megatron:
    """megatron-core: BlendedDataset over GPTDatasets, indices cached on disk; rows are documents of their own length.

    Its state is how many samples were consumed, as Megatron's samplers count them.
    """

    modules = ("megatron.core.datasets.blended_megatron_dataset_builder", "megatron.core.datasets.gpt_dataset")

    class Tokenizer:
        """What GPTDataset asks of one: ids that the rows do not have."""

        vocab_size, eod, pad, unique_identifiers = 1 << 16, -2, -3, {"class": "rows"}

    def __init__(self, home, plan):
        from megatron.core.datasets.blended_megatron_dataset_builder import BlendedMegatronDatasetBuilder
        from megatron.core.datasets.gpt_dataset import GPTDataset, GPTDatasetConfig
        from torch import distributed

        if not distributed.is_initialized():  # its cache of indices is written by rank 0
            distributed.init_process_group("gloo", store=distributed.HashStore(), rank=0, world_size=1)
        prefixes = [str(home / "megatron" / d) for d in sorted(plan.weights)]
        # With one extra token its samples would overlap by one, which rows that are documents do not.
        config = GPTDatasetConfig(
            random_seed=SEED, sequence_length=plan.length + 1, blend=(prefixes, plan.shares), split="1,0,0",
            path_to_cache=str(home / "megatron" / "cache"), tokenizer=self.Tokenizer(), add_extra_token_to_sequence=False,
            reset_position_ids=False, reset_attention_mask=False, eod_mask_loss=False, create_attention_mask=False)
        self.data = BlendedMegatronDatasetBuilder(
            GPTDataset, [plan.steps * plan.batch, 0, 0], lambda: True, config).build()[0]
        self.plan, self.consumed = plan, 0

    @staticmethod
    def prepare(home, rows):
        import torch
        from megatron.core.datasets.indexed_dataset import IndexedDatasetBuilder
        (home / "megatron").mkdir()
        for d, values in rows.items():
            out = IndexedDatasetBuilder(str(home / "megatron" / f"{d}.bin"), dtype=np.uint16)
            for row in values:
                out.add_document(torch.from_numpy(row.astype(np.int32)), [len(row)])
            out.finalize(str(home / "megatron" / f"{d}.idx"))

    def batches(self, state, step):
        n = self.plan.batch
        for at in range(state or 0, self.plan.steps * n, n):
            self.consumed = at + n
            yield np.stack([self.data[i]["tokens"].numpy() for i in range(at, at + n)]).astype(np.uint16)

    def state(self):
        return self.consumed


class Riffle:
    """riffle.Reader, from the broker."""

    modules = ("riffle",)

    def __init__(self, home, plan):
        import riffle
        self.riffle, self.mix, self.reader = riffle, os.environ["BENCH_MIX"], None

    @staticmethod
    def prepare(home, rows):
        pass  # scripts/bench-trainers mixes

    def batches(self, state, step):
        self.reader = self.riffle.Reader(self.mix, step=0 if state is None else state["step"], dtype=np.uint16,
                                         commit_every=4, timeout=60)
        for s in self.reader:
            yield s.tokens

    def state(self):
        return self.reader.state_dict()


LOADERS = {
    "riffle (Python)": Riffle,
    "memory map": MemoryMap,
    "torchdata": TorchData,
    "litdata": LitData,
    "grain": Grain,
    "datasets": Datasets,
    "datasets iterable": DatasetsIterable,
    "mosaicml-streaming": Streaming,
    "megatron-core": Megatron,
}

