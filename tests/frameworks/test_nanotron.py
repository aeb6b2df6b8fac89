"""Nanotron's collator, metadata and loop around riffle's DataLoader. Its trainer needs a GPU."""

import pathlib

import pytest

import job
import nanotron_tree

PROGRAM = pathlib.Path(__file__).with_name("run_nanotron.py")
LENGTH, BATCH = 64, 16
pytestmark = pytest.mark.source("nanotron")


@pytest.fixture(scope="session")
def nanotron():
    nanotron_tree.use()
    import torch
    torch.distributed.init_process_group("gloo", init_method="tcp://127.0.0.1:0", rank=0, world_size=1)
    yield nanotron_tree
    torch.distributed.destroy_process_group()


@pytest.fixture
def loader(package, nanotron):
    """loader(mix, trainer, **options) -> DataLoader; closed with the test."""
    assert package.riffle
    from riffle.integrations.nanotron import DataLoader
    made = []

    def make(mix, trainer, **options):
        made.append(DataLoader(trainer, mix.name, mix.bootstrap, **{"timeout": 60, **options}))
        return made[-1]
    yield make
    for one in made:
        one.close()


@pytest.mark.parametrize("world, then", [(1, 1), (1, 2), (2, 2)])
def test_a_killed_run_sees_what_an_undisturbed_one_sees(mix, package, row, tmp_path, world, then):
    m = mix(steps=12)
    calm, stormy = job.killed_and_resumed(tmp_path, package.env, PROGRAM, m.name, m.bootstrap, 12, kill=7, world=world, then=then)
    assert stormy.resumed == [4] and [len(micros) for micros in calm.parts[0].values()] == [4] * 12
    row(version=job.version_of(job.source("nanotron")), model="none: data and metadata", calm=calm, stormy=stormy,
        missing="its trainer, which needs a GPU",
        ranks=str(world) if then == world else f"{world}, then {then}", name=f"{world}-{then}")


def test_items_are_those_of_its_collator(mix, package, nanotron, loader):
    import numpy as np
    import torch
    from nanotron.data.clm_collator import DataCollatorForCLM, DataCollatorForCLMWithPositionIds
    m, trainer = mix(steps=2), nanotron.trainer_of()
    words = {"sequence_length": LENGTH, "input_pp_rank": 0, "output_pp_rank": 0, "parallel_context": trainer.parallel_context}
    with package.riffle.Reader(m.name, m.bootstrap, step=0) as reader:
        step = next(reader)
    rows = []
    for i, tokens in enumerate(step.tokens.astype(np.int64)):
        begins = set(step.starts(i).tolist())
        positions, at = np.zeros(LENGTH + 1, np.int64), 0
        for k in range(LENGTH + 1):
            at = 0 if k in begins else at
            positions[k], at = at, at + 1
        rows.append({"input_ids": tokens, "positions": positions})
    for collator, names, options in (
            (DataCollatorForCLMWithPositionIds(**words), ("input_ids", "position_ids", "label_mask"), {}),
            (DataCollatorForCLM(**words), ("input_ids", "input_mask", "label_mask"), {"position_ids": False})):
        items = iter(loader(m, trainer, run=names[1], **options))
        for first in range(0, BATCH, 4):
            item = next(items)
            part = rows[first:first + 4]
            expected = collator(part if "position_ids" in names else [{"input_ids": row["input_ids"]} for row in part])
            assert set(item) == set(expected)
            for name in names:
                assert item[name].dtype == torch.from_numpy(expected[name]).dtype and (
                    item[name].numpy() == expected[name]).all(), name
            kept = expected["label_mask"]
            assert (item["label_ids"].numpy()[kept] == expected["label_ids"][kept]).all()


def test_its_metadata_add_up_behind_a_resume(mix, package, nanotron, loader, tmp_path):
    from collections import Counter
    from nanotron.serialize.metadata import load_meta, save_meta
    m, trainer, expected = mix(steps=12), nanotron.trainer_of(), Counter()
    with package.riffle.Reader(m.name, m.bootstrap, step=0) as reader:
        for _ in range(12):
            expected.update(next(reader).domains)
    for begin, end in (0, 7), (7, 12):
        items = iter(loader(m, trainer))
        for step in range(begin, end):
            for _ in range(4):
                next(items)
            assert trainer.riffle.step == step
            nanotron.behind_step(trainer, trainer.riffle)
        trainer.riffle.mix_dataset.flush()
        assert package.riffle.committed_step(m.name, m.bootstrap) == end
        save_meta(trainer.parallel_context, tmp_path / "checkpoint", trainer.metadata)
        metadata = load_meta(trainer.parallel_context, tmp_path / "checkpoint").metas  # which asserts that the tokens add up
        trainer = nanotron.trainer_of(metadata)
    assert metadata.last_train_step == 12
    assert metadata.current_stage.consumed_tokens_per_dataset_folder == {d: n * LENGTH for d, n in expected.items()}


def test_a_stage_of_the_pipeline_without_data_points_to_those_that_have_it(nanotron, loader, mix):
    from nanotron.parallel.pipeline_parallel.tensor_pointer import TensorPointer
    from types import SimpleNamespace
    trainer = nanotron.trainer_of(model=SimpleNamespace(input_pp_rank=1, output_pp_rank=2))
    item = next(iter(loader(mix(steps=1), trainer)))
    assert item == {"input_ids": TensorPointer(1), "position_ids": TensorPointer(1), "label_ids": TensorPointer(2),
                    "label_mask": TensorPointer(2)}


def test_lr_scale_is_in_the_optimisers_step_alone_and_once_where_a_stage_follows(nanotron, loader, mix):
    import torch
    weight, m = torch.nn.Parameter(torch.zeros(1)), mix(steps=8)
    trainer = nanotron.trainer_of(optimizer=torch.optim.SGD([weight], lr=1.0))
    moved = []
    for begin, end in (0, 6), (6, 8):
        trainer.metadata.last_train_step = begin
        items = iter(loader(m, trainer))
        for step in range(begin, end):
            for _ in range(4):
                next(items)
            assert trainer.riffle.step == step
            weight.grad, before = torch.ones(1), weight.item()
            trainer.optimizer.step()
            moved.append(before - weight.item())
            assert trainer.optimizer.param_groups[0]["lr"] == 1.0
    assert moved == [1.0] * 5 + [0.5] * 3


@pytest.mark.parametrize("more, message", [
    ({"global_batch_size": 32}, "step 0 of mix .* has 16 sequences, and Nanotron's batch is 32"),
    ({"sequence_length": 128}, "have 64 tokens, and tokens.sequence_length is 128"),
])
def test_another_shape_is_refused_by_name(nanotron, loader, mix, package, more, message):
    with pytest.raises(package.riffle.UsageError, match=message):
        next(iter(loader(mix(steps=1), nanotron.trainer_of(**more))))


def test_a_mix_that_ends_says_how_many_steps_it_has(nanotron, loader, mix, package):
    items = iter(loader(mix(steps=2, end=True), nanotron.trainer_of()))
    for _ in range(8):
        next(items)
    with pytest.raises(package.riffle.RiffleError, match="has ended: it has 2 steps, .*: set tokens.train_steps to 2"):
        next(items)
