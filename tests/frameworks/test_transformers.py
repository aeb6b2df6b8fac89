"""transformers' Trainer with riffle's mixin: killed and resumed, also from one process to two."""

import pathlib
import subprocess
import sys

import pytest
import torch
import transformers
from transformers import LlamaConfig, LlamaForCausalLM, TrainingArguments

import job

PROGRAM = pathlib.Path(__file__).with_name("run_transformers.py")
MODEL = "Llama, 2 layers, 49 k"


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_killed_training_sees_what_an_undisturbed_one_sees(mix, package, examples, row, tmp_path, ranks):
    m = mix(steps=24)
    calm, stormy = job.killed_and_resumed(tmp_path, package.env, PROGRAM, examples, "train_transformers", m.name, m.bootstrap, 24,
                                          kill=13, world=ranks)
    assert stormy.resumed == [12] and [len(micros) for micros in calm.parts[0].values()] == [4] * 24
    assert m.loss_of("a") > 0 and m.loss_of("b") > 0
    expected = {s: 5e-5 * (24 - s) / 24 * (0.5 if s >= 5 else 1) for s in range(24)}  # its own schedule falls to 0
    assert [calm.rates(r) for r in range(ranks)] == [pytest.approx(expected)] * ranks
    assert {line["phase"] for line in calm.lines(0) if line.get("trained", 0) >= 5} == {"anneal"}
    row(version=transformers.__version__, model=MODEL, calm=calm, stormy=stormy, ranks=str(ranks), name=f"{ranks} ranks")


def test_a_checkpoint_of_one_rank_continues_with_two(mix, package, examples, row, tmp_path):
    m = mix(steps=16)
    calm, stormy = job.killed_and_resumed(tmp_path, package.env, PROGRAM, examples, "train_transformers", m.name, m.bootstrap, 16,
                                          kill=9, then=2)
    assert stormy.resumed == [8] and len(stormy.parts[-1]) == 8
    row(version=transformers.__version__, model=MODEL, calm=calm, stormy=stormy, ranks="1, then 2", name="more ranks")


def test_a_training_that_is_killed_before_its_first_checkpoint_leaves_no_step_out(mix, package, examples, tmp_path):
    m = mix(steps=8)
    job.killed_before_a_checkpoint(tmp_path / "early", package.env, PROGRAM, examples, "train_transformers", m.name, m.bootstrap, 8,
                                   kill=3)


@pytest.fixture
def trainer(mix, package, tmp_path):
    """trainer(steps, model, riffle options, **arguments) -> Trainer in this process."""
    assert package.riffle
    from riffle.integrations.transformers import Trainer

    def make(steps=4, kind=LlamaForCausalLM, riffle=None, sequences=4, **more):
        m = mix(steps=steps)
        torch.manual_seed(1)
        model = kind(LlamaConfig(vocab_size=512, hidden_size=32, intermediate_size=64, num_hidden_layers=1, num_attention_heads=2))
        return Trainer(model=model, riffle={"mix": m.name, "bootstrap": m.bootstrap, "timeout": 60, **(riffle or {})},
                       args=TrainingArguments(output_dir=str(tmp_path / "out"), report_to=[], disable_tqdm=True, use_cpu=True, **{
                           "max_steps": steps, "per_device_train_batch_size": sequences, "gradient_accumulation_steps": 4, **more}))
    return make


def test_a_batch_that_is_no_step_of_the_mix_is_refused(trainer, package):
    with pytest.raises(package.riffle.UsageError, match=r"per_device_train_batch_size \(2\) x gradient_accumulation_steps \(4\) x "
                                                        r"data-parallel ranks \(1\) must be the global_batch"):
        trainer(sequences=2).train()


@pytest.mark.parametrize("arguments, said", [({"auto_find_batch_size": True}, "auto_find_batch_size changes the batch"),
                                             ({"max_steps": -1}, "needs max_steps")])
def test_what_changes_the_batch_or_has_no_end_is_refused(trainer, package, arguments, said):
    with pytest.raises(package.riffle.UsageError, match=said):
        trainer(**arguments)


class ShiftsAgain(LlamaForCausalLM):
    """As models are that compute their loss themselves."""

    def forward(self, *words, labels=None, shift_labels=None, **more):
        return super().forward(*words, labels=labels, **more)


def test_a_model_that_shifts_labels_again_is_refused(trainer, package):
    with pytest.raises(package.riffle.UsageError, match="ShiftsAgain does not take `shift_labels`: it shifts"):
        trainer(kind=ShiftsAgain).train()


def test_positions_are_the_mask_between_documents(trainer):
    """The logits of a document are those that it has alone."""
    t = trainer(sequences=16)
    item = next(iter(t.get_train_dataloader()))
    row = next(i for i, p in enumerate(item["position_ids"]) if (p[1:] == 0).any())
    ids, places = item["input_ids"][row:row + 1], item["position_ids"][row:row + 1]
    begins = 1 + (places[0, 1:] == 0).nonzero()[0].item()
    t.model.eval()
    with torch.no_grad():
        packed = t.model(input_ids=ids, position_ids=places).logits[0, begins:]
        alone = t.model(input_ids=ids[:, begins:], position_ids=places[:, begins:]).logits[0]
        blurred = t.model(input_ids=ids).logits[0, begins:]
    assert torch.allclose(packed, alone, atol=1e-5) and not torch.allclose(packed, blurred, atol=1e-3)


def test_a_training_ends_without_a_word_of_riffle(package, mix, tmp_path):
    """Also where its iterator is left open."""
    m = mix(steps=8)
    program = ("import sys; sys.path.insert(0, sys.argv[1]); import train_transformers as e\n"
               "t = e.main(sys.argv[2], sys.argv[3], 4)\nitems = iter(t.get_train_dataloader())\nt.riffle.until = 8\nnext(items)\n")
    examples = pathlib.Path(__file__).resolve().parents[2] / "examples/frameworks"
    done = subprocess.run([sys.executable, "-c", program, examples, m.name, m.bootstrap], cwd=tmp_path, capture_output=True,
                          text=True, timeout=job.DEADLINE_S, env={**package.env, "CUDA_VISIBLE_DEVICES": ""})
    assert done.returncode == 0, done.stderr
    assert not any(noise in done.stderr for noise in (*job.NOISE, "Traceback")), done.stderr
