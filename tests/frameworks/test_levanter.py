"""Levanter's Trainer with riffle's AsyncDataset."""

import asyncio
import importlib.metadata
import pathlib

import haliax as hax
import jax
import numpy as np
import pytest
from levanter.models.gpt2 import Gpt2Config
from levanter.schedule import ScheduleStep
from levanter.trainer import TrainerConfig

import job

PROGRAM = pathlib.Path(__file__).with_name("run_levanter.py")
B, LENGTH = 16, 64


@pytest.fixture
def examples_of(package):
    assert package.riffle  # from here on it can be imported
    from riffle.integrations.levanter import AsyncDataset
    made = []

    def make(mix, length=LENGTH + 1, steps=8, batch=B, **options):
        trainer = TrainerConfig(num_train_steps=steps, train_batch_size=batch)
        made.append(AsyncDataset(mix.name, mix.bootstrap, Pos=hax.Axis("position", length), trainer=trainer, timeout=60, **options))
        return made[-1]
    yield make
    for e in made:
        e.close()


def arrays(example):
    segments = example.attn_mask.segment_ids
    segments = segments[0] if isinstance(segments, tuple) else segments
    weights = example.loss_weight if hasattr(example, "loss_weight") else example.loss_mask
    return tuple(np.asarray(x.array) for x in (example.tokens, weights, segments))


@pytest.mark.parametrize("processes", [1, 2])
def test_a_killed_training_sees_what_an_undisturbed_one_sees(mix, package, examples, row, tmp_path, processes):
    m = mix(steps=24)
    calm, stormy = job.killed_and_resumed(tmp_path, package.env, PROGRAM, examples, m.name, m.bootstrap, 24, kill=15,
                                          world=processes)
    assert stormy.resumed[0] in (5, 9, 13)  # behind steps 4, 8, 12: checkpoints are written asynchronously
    assert package.riffle.committed_step(m.name, m.bootstrap, run="calm") == 24
    assert calm.rates() == {s: 1 if s < 5 else 0.5 for s in range(24)}  # lr_scale
    row(version=importlib.metadata.version("marin-levanter"), model="GPT-2, 2 layers", calm=calm, stormy=stormy,
        ranks=str(processes), name=f"{processes} processes")


def test_an_example_is_a_sequence_with_its_documents_and_losses(mix, package, examples_of):
    m = mix(steps=8)
    data, short = examples_of(m), examples_of(m, LENGTH)
    got = asyncio.run(data.get_batch([37, 2, 5 * B + 1]))
    cut = asyncio.run(short.get_batch([37]))
    with package.riffle.Reader(m.name, m.bootstrap, step=0) as reader:
        steps = [next(reader) for _ in range(8)]
    for i, example in zip([37, 2, 5 * B + 1], got):
        tokens, weights, segments = arrays(example)
        step, place = steps[i // B], i % B
        assert (tokens == step.tokens[place]).all() and weights[-1] == 0
        assert (weights[:-1] == (step.targets().labels[place] != -100)).all()
        assert (segments[:-1] == step.targets().document_ids[place]).all()
    assert max(arrays(example)[2].max() for example in got) > 0
    assert all((a[:LENGTH - 1] == b[:LENGTH - 1]).all() for a, b in zip(arrays(cut[0]), arrays(got[0])))
    assert arrays(cut[0])[1][-1] == 0  # nothing behind it to predict: that target is lost
    assert asyncio.run(data.async_len()) == 8 * B


def test_a_batch_that_is_no_step_of_the_mix_is_refused(mix, package, examples_of):
    m = mix(steps=2)
    with pytest.raises(package.riffle.UsageError, match="train_batch_size is 8, and the global_batch of mix .* is 16"):
        asyncio.run(examples_of(m, batch=8).current_len())
    with pytest.raises(package.riffle.UsageError, match="train_batch_size is a schedule"):
        examples_of(m, batch=[ScheduleStep(start=0, value=B), ScheduleStep(start=4, value=2 * B)])


def test_item_0_for_shapes_is_answered_without_reading(mix, examples_of):
    data = examples_of(mix(steps=8))
    shape = arrays(asyncio.run(data.getitem_async(0)))
    assert data.sequences._stream is None and not any(x.any() for x in shape)
    real = arrays(asyncio.run(data.getitem_async(0)))
    assert real[0].any() and [(x.shape, x.dtype) for x in real] == [(x.shape, x.dtype) for x in shape]


def test_segments_have_an_effect_on_the_model(mix, examples_of):
    data = examples_of(mix(steps=2), steps=2)
    [example] = asyncio.run(data.get_batch([3]))
    model = Gpt2Config(max_seq_len=LENGTH + 1, hidden_dim=32, num_layers=2, num_heads=2).build(
        hax.Axis("vocab", 512), key=jax.random.PRNGKey(0))
    with_mask = model(example.tokens, example.attn_mask, key=None).array
    without = model(example.tokens, type(example.attn_mask).causal(), key=None).array
    assert float(abs(with_mask - without).max()) > 1e-3


def test_a_rank_asked_for_places_of_another_is_told(mix, package, examples_of):
    data = examples_of(mix(steps=2), steps=2, rank=1, world=2)
    asyncio.run(data.get_batch(range(8, 16)))
    with pytest.raises(package.riffle.UsageError, match="index 3 is place 3 of step 0, and rank 1 of 2 has places 8 to 15"):
        asyncio.run(data.get_batch([3]))


def test_updates_are_multiplied_by_lr_scale(mix, examples_of):
    data = examples_of(mix(steps=8))
    asyncio.run(data.get_batch(range(8 * B)))
    scale = data.lr_scale()
    state, seen = scale.init({"w": np.ones(2)}), []
    for _ in range(8):
        updates, state = jax.jit(scale.update)({"w": np.ones(2, np.float32)}, state)
        seen.append(float(updates["w"][0]))
    assert seen == [1.0] * 5 + [0.5] * 3
