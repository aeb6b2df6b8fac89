"""Megatron: riffle's iterators in Megatron-core's own classes and schedules. megatron.training, which needs CUDA, is not run."""

import importlib.metadata
import json
import pathlib
import shutil
import warnings
from types import SimpleNamespace

import pytest

import job

PROGRAM = pathlib.Path(__file__).with_name("run_megatron.py")
STEPS, LENGTH, BATCH = 12, 64, 16
VERSION = importlib.metadata.version("megatron-core")
RATES = {s: 1e-3 if s < 5 else 5e-4 for s in range(STEPS)}  # lr_scale 0.5 from step 5
MISSING = "Megatron-LM's and Bridge's trainers, which need CUDA"


@pytest.fixture(scope="session")
def adapter(package):
    assert package.riffle
    import riffle.integrations.megatron
    return riffle.integrations.megatron


@pytest.fixture(scope="session")
def core():
    """Megatron-core with groups of one process."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import megatron.core.datasets.gpt_dataset
        import megatron.core.rerun_state_machine
        from megatron.core import parallel_state
    import torch
    torch.distributed.init_process_group("gloo", init_method="tcp://127.0.0.1:0", rank=0, world_size=1)
    parallel_state.initialize_model_parallel()
    yield megatron.core
    parallel_state.destroy_model_parallel()
    torch.distributed.destroy_process_group()


def arguments(**more):
    return SimpleNamespace(**{"global_batch_size": BATCH, "micro_batch_size": 4, "seq_length": LENGTH, "dataloader_type": "external",
                              "consumed_train_samples": 0, "consumed_valid_samples": 0, "rampup_batch_size": None, **more})


# --- whole trainings


def test_a_killed_training_sees_what_an_undisturbed_one_sees_at_any_number_of_ranks(mix, package, row, tmp_path):
    m = mix(steps=STEPS)
    words = PROGRAM, m.name, m.bootstrap, STEPS, 1, 1
    calm, one, elastic = (job.Run(tmp_path / name, package.env) for name in ("calm", "one", "elastic"))
    calm(*words)
    assert list(calm.steps) == list(range(STEPS)) and {len(micros) for micros in calm.parts[0].values()} == {4}
    assert calm.rates() == RATES
    assert json.loads((calm.path / "masked.json").read_text()) > 1e-3
    assert m.loss_of("a") > 0 and m.loss_of("b") > 0
    assert package.riffle.committed_step(m.name, m.bootstrap, run="calm") == STEPS
    one(*words, kill=7)
    shutil.copytree(one.path, elastic.path, dirs_exist_ok=True)
    elastic.killed = 7
    one(*words)
    elastic(*words, world=2)
    for name, run, ranks in (("1", one, "1"), ("1-2", elastic, "1, then 2 (data-parallel)")):
        assert run.steps == calm.steps and run.resumed == [4]
        row(version=VERSION, model="GPTModel, 2 layers", calm=calm, stormy=run, ranks=ranks, name=name, missing=MISSING)
    assert one.losses == calm.losses


@pytest.mark.parametrize("tensor, pipeline, kind", [(2, 1, "tensor-parallel"), (1, 2, "pipeline-parallel")])
def test_model_parallel_ranks_see_the_same_lanes_and_have_the_same_scale(mix, package, row, tmp_path, tensor, pipeline, kind):
    m = mix(steps=STEPS)
    calm, stormy = job.killed_and_resumed(tmp_path, package.env, PROGRAM, m.name, m.bootstrap, STEPS, tensor, pipeline, kill=7,
                                          world=2, where=any if pipeline > 1 else all)
    assert stormy.resumed == [4]
    for micros in calm.parts[0].values():
        assert len(micros) == 8 and micros[:4] == micros[4:]
    assert [calm.rates(r) for r in (0, 1)] == [RATES] * 2
    assert m.loss_of("a") > 0 and m.loss_of("b") > 0
    assert package.riffle.committed_step(m.name, m.bootstrap, run="calm") == STEPS
    row(version=VERSION, model="GPTModel, 2 layers", calm=calm, stormy=stormy, ranks=f"2 ({kind})", name=kind, missing=MISSING)


# --- items


@pytest.mark.parametrize("reset_position_ids, reset_attention_mask, eod_mask_loss", [
    (False, False, False), (True, True, True), (True, False, True), (False, True, False)])
def test_items_are_those_of_megatrons_own_dataset(mix, core, adapter, reset_position_ids, reset_attention_mask, eod_mask_loss):
    import torch
    m = mix(steps=3)
    words = {"reset_position_ids": reset_position_ids, "reset_attention_mask": reset_attention_mask, "eod_mask_loss": eod_mask_loss}
    train, _, _ = adapter.DataIterators(m.name, m.bootstrap, timeout=60).iterators(
        arguments(**words, create_attention_mask_in_dataloader=True))
    documents = 0
    for _ in range(12):
        item = next(train)
        assert {item[name].dtype for name in ("tokens", "labels", "position_ids")} == {torch.int64}
        assert item["loss_mask"].dtype == torch.float32 and item["attention_mask"].dtype == torch.bool
        assert item["tokens"].shape == (4, LENGTH) and item["attention_mask"].shape == (4, 1, LENGTH, LENGTH)
        for i, tokens in enumerate(item["tokens"]):
            mask, loss, positions = core.datasets.gpt_dataset._get_ltor_masks_and_position_ids(tokens, 511, *words.values(), True)
            assert (item["attention_mask"][i] == mask).all() and (item["position_ids"][i] == positions).all()
            assert (item["loss_mask"][i] == loss).all()
            documents += int((tokens == 511).sum())
        assert (item["labels"][:, :-1] == item["tokens"][:, 1:])[item["loss_mask"][:, :-1] == 1].all()
        assert (item["labels"] >= 0).all()
    assert documents > 12
    train.close()


def test_lengths_of_documents_are_rows_of_cu_seqlens(mix, core, adapter):
    import torch
    m = mix(steps=2)
    train, _, _ = adapter.DataIterators(m.name, m.bootstrap, timeout=60).iterators(arguments(dataloader_inter_document_masking=True))
    item = next(train)
    assert item["cu_seqlens"].dtype == item["max_seqlen"].dtype == torch.int32
    assert item["cu_seqlens"].shape == (4, LENGTH + 1) and item["max_seqlen"].shape == (4,)
    for tokens, positions, ends, longest in zip(item["tokens"], item["position_ids"], item["cu_seqlens"], item["max_seqlen"]):
        expected = [0] + [i + 1 for i in (tokens[:-1] == 511).nonzero()[:, 0].tolist()]
        assert ends.tolist() == expected + [LENGTH] * (LENGTH + 1 - len(expected))
        lengths = [b - a for a, b in zip(expected, expected[1:] + [LENGTH])]
        assert positions.tolist() == [i for n in lengths for i in range(n)] and longest == max(lengths)
    train.close()


# --- Megatron's iterator


def test_what_megatron_runs_again_is_given_again_and_counted_once(mix, core, adapter, package):
    import torch
    machine = core.rerun_state_machine
    machine.destroy_rerun_state_machine()
    machine.initialize_rerun_state_machine(mode=machine.RerunMode.VALIDATE_RESULTS)
    m = mix(steps=3)
    data = adapter.DataIterators(m.name, m.bootstrap, timeout=60, run="again")
    iterator = machine.RerunDataIterator(data.iterators(arguments())[0])
    forward = data.forward_step(lambda iterator, model: (next(iterator), lambda losses: losses.mean()))

    def step():
        items = []
        for _ in range(4):
            item, loss_func = forward(iterator, None)
            loss_func(torch.full((4, LENGTH), 2.0))
            items.append(item)
        return items

    first = step()
    iterator.rewind()
    again = step()
    iterator.advance()
    assert all((a["tokens"] == b["tokens"]).all() for a, b in zip(first, again))
    tokens = sum(values[2] for sums in data.train._sums.values() for values in sums.values())
    assert tokens == BATCH * LENGTH
    data.trained()
    second = step()  # the next step, and not yet trained
    assert [item["step"] for item in first + second] == [0] * 4 + [1] * 4
    data.train.dataset.flush()
    assert package.riffle.committed_step(m.name, m.bootstrap, run="again") == 1
    data.train.close()
    assert m.loss_of("a") == pytest.approx(2.0) and m.loss_of("b") == pytest.approx(2.0)
    machine.destroy_rerun_state_machine()


def test_a_step_is_trained_once_the_next_one_is_asked_for(mix, core, adapter, package):
    m = mix(steps=4)
    train, _, _ = adapter.DataIterators(m.name, m.bootstrap, timeout=60).iterators(arguments(consumed_train_samples=BATCH))
    for n in range(9):
        assert next(train)["step"] == 1 + n // 4
    train.dataset.flush()
    assert package.riffle.committed_step(m.name, m.bootstrap) == 3
    train.close()


def test_its_train_step_has_the_scale_of_the_step_and_says_what_was_trained(mix, core, adapter, package):
    import torch
    m = mix(steps=7)
    data = adapter.DataIterators(m.name, m.bootstrap, timeout=60)
    iterator = core.rerun_state_machine.RerunDataIterator(data.iterators(arguments())[0])
    weight = torch.nn.Parameter(torch.zeros(1))
    optimizer, moved = torch.optim.SGD([weight], lr=1.0), []

    def train_step(forward_step_func, data_iterator, model, optimizer, opt_param_scheduler):
        for _ in range(4):
            forward_step_func(data_iterator, model)
        weight.grad, before = torch.ones(1), weight.item()
        optimizer.step()
        moved.append(before - weight.item())

    step = data.train_step(train_step)
    for n in range(7):
        step(data.forward_step(lambda iterator, model: (next(iterator), None)), iterator, None, optimizer, None)
        assert optimizer.param_groups[0]["lr"] == 1.0
    assert moved == [1.0] * 5 + [0.5] * 2
    data.train.dataset.flush()
    assert package.riffle.committed_step(m.name, m.bootstrap) == 7
    data.train.close()


def test_peers_that_do_not_commit_read_on_beside_the_one_that_does(mix, core, adapter, package):
    m = mix(steps=4)
    peer = adapter.TrainIterator(m.name, m.bootstrap, global_batch=BATCH, micro_batch=4, rank=0, world=2, commits=False, timeout=60)
    for n in range(5):
        assert next(peer)["step"] == n // 2
    assert package.riffle.committed_step(m.name, m.bootstrap) == 0
    peer.close()


# --- held-out sets


def test_held_out_sets_are_endless_and_each_rank_has_its_part(fill, mix, core, adapter, package, unique):
    import torch
    m = mix(steps=2)
    fill("v", sequences=10, vocabulary=512), fill("w", sequences=3, vocabulary=512)
    sets = [package.riffle.Validation(unique, d, m.bootstrap, set="train", batch=4) for d in "vw"]
    rows = [row for one in sets for step in one for row in torch.from_numpy(step.tokens[:, :-1].astype("int64"))]

    def tokens(n, **more):
        iterator = adapter.ValidIterator(sets, micro_batch=2, length=LENGTH, **more)
        return torch.cat([next(iterator)["tokens"] for _ in range(n)])

    whole = tokens(2 * len(rows))
    assert len(whole) == 4 * len(rows) and (whole == torch.stack(rows * 4)).all()
    parts = [tokens(len(rows), rank=r, world=2).unflatten(0, (-1, 2)) for r in (0, 1)]
    assert (torch.stack(parts, 1).flatten(0, 2) == whole).all()
    assert (tokens(4, consumed=3 * len(rows) + 4) == torch.stack((rows * 2)[4:12])).all()


def test_an_empty_held_out_set_is_named(mix, core, adapter, package, unique):
    m = mix(steps=2, domains={"a": {"valid": ["unused.v.jsonl"]}})
    _, valid, test = adapter.DataIterators(m.name, m.bootstrap, valid=package.riffle.Validation(unique, "a", m.bootstrap)).iterators(
        arguments())
    assert test is None
    with pytest.raises(package.riffle.UsageError, match=r"a \(valid\) of corpus .* are empty: leave them out"):
        next(valid)


# --- what is refused


@pytest.mark.parametrize("words, message", [
    ({"rampup_batch_size": ["4", "4", "64"]}, "--rampup-batch-size changes the batch"),
    ({"step_batch_size_schedule": "0:16 1B:32"}, "--step-batch-size-schedule changes the batch"),
    ({"decrease_batch_size_if_needed": True}, "--decrease-batch-size-if-needed changes the batch"),
    ({"full_validation": True}, "--full-validation needs to know"),
    ({"hybrid_context_parallel": True}, "--hybrid-context-parallel wants"),
    ({"dataloader_save": "states"}, "--dataloader-save saves what nothing reads"),
    ({"dataloader_type": "single"}, "--dataloader-type is single; it must be external"),
    ({"consumed_train_samples": 24}, "consumed_train_samples 24 is no whole number of steps of 16"),
    ({"micro_batch_size": 3}, "--global-batch-size 16 is no multiple of micro-batch-size 3 x 1"),
])
def test_what_a_mix_cannot_have_is_refused_by_name(core, adapter, package, words, message):
    with pytest.raises(package.riffle.UsageError, match=message):
        adapter.DataIterators("nothing", "127.0.0.1:9").iterators(arguments(**words))


def test_a_step_of_another_shape_is_refused_by_name(mix, core, adapter, package):
    m = mix(steps=4, end=True, phases=[{"name": "large", "start_step": 2, "global_batch": 32}])
    data = adapter.DataIterators(m.name, m.bootstrap, timeout=60)
    train, _, _ = data.iterators(arguments())
    for _ in range(8):
        next(train)
    with pytest.raises(package.riffle.UsageError, match="step 2 .* has 32 sequences, and --global-batch-size is 16"):
        next(train)
    with pytest.raises(package.riffle.UsageError, match="have 64 tokens, and --seq-length is 128"):
        next(data.iterators(arguments(seq_length=128))[0])


def test_a_mix_that_ends_says_how_many_iterations_it_has(mix, core, adapter, package):
    m = mix(steps=2, end=True)
    train, _, _ = adapter.DataIterators(m.name, m.bootstrap, timeout=60).iterators(arguments())
    for _ in range(8):
        next(train)
    with pytest.raises(package.riffle.RiffleError, match="has ended: it has 2 steps .*: set --train-iters 2"):
        next(train)
    train.close()
