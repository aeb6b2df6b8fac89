"""verl's data path with riffle's data sets: custom_cls, sampler, collate, StatefulDataLoader; its trainers need GPUs."""

import importlib.metadata
import json
import pathlib
import random

import pytest
import torch
from omegaconf import OmegaConf
from verl.trainer.ppo.utils import create_rl_dataset
from verl.utils.dataset.dataset_utils import SFTTensorCollator

import job

PROGRAM = pathlib.Path(__file__).with_name("run_verl.py")
LENGTH, EOS, B = 24, 50256, 16


class Mix:
    def __init__(self, name, bootstrap, records):
        self.name, self.bootstrap, self.records = name, bootstrap, records


@pytest.fixture
def prompts(package, tmp_path, riffle, bootstrap, unique, vocab, write_config):
    """prompts(steps, packing) -> Mix of records with `keep`, of domains math and code."""
    assert package.riffle  # from here on it can be imported

    def make(steps=24, packing="none"):
        draw, records = random.Random(1), {}
        for domain in ("math", "code"):
            rows = []
            for i in range(B * steps):
                ids = [draw.randrange(1000) for _ in range(draw.randrange(4, LENGTH))]
                end = draw.randrange(1, len(ids))
                rows.append({"tokens": ids, "no_loss": [[0, end]],
                             "keep": {"id": f"{domain}-{i}", "answer": f"é{i}", "prompt": f"What is {i}?"}})
                records[f"{domain}-{i}"] = rows[-1]
            (tmp_path / f"{domain}.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
        config = write_config({
            "corpus": unique, "sequence_length": LENGTH, "split": "1,0,0",
            "tokenizer": {"file": str(vocab / "r50k_base.tiktoken"), "pattern": "gpt2"},
            "domains": {d: {"train": [f"{d}.jsonl"], "tokens": "jsonl", "packing": packing} for d in ("math", "code")},
            "mix": {"name": f"{unique}-mix", "global_batch": B, "lanes": 8, "max_lead_steps": 0,
                    "weights": {"math": 3, "code": 1},
                    "phases": [{"name": "anneal", "start_step": 5, "lr_scale": 0.5}]},
            "kafka": {"bootstrap.servers": bootstrap}})
        riffle("topics", "-c", config, "--create")
        riffle("import", "-c", config)
        riffle("mix", "-c", config, "--until-step", steps)
        return Mix(f"{unique}-mix", bootstrap, records)
    return make


def config_of(mix, name="Prompts", riffle=None, **keys):
    return OmegaConf.create({
        "custom_cls": {"path": "pkg://riffle.integrations.verl", "name": name}, "shuffle": False, "train_batch_size": B,
        "riffle": {"bootstrap": mix.bootstrap, "steps": 8, "timeout": 60, **(riffle or {})}, **keys})


def test_a_killed_loop_sees_what_an_undisturbed_one_sees(prompts, package, examples, row, tmp_path):
    m = prompts()
    calm, stormy = job.killed_and_resumed(tmp_path, package.env, PROGRAM, examples, m.name, m.bootstrap, 24, kill=13, losses=False)
    assert stormy.resumed == [12]
    assert package.riffle.committed_step(m.name, m.bootstrap, run="calm") == 24
    row(version=importlib.metadata.version("verl"), model="none: data only", calm=calm, stormy=stormy,
        missing="trainers and rollouts, which need GPUs")


def test_a_prompt_has_its_source_and_reward_fields(prompts, package):
    m = prompts(8)
    data = create_rl_dataset(f"riffle:{m.name}", config_of(m), None, None)
    assert len(data) == 8 * B
    with package.riffle.Reader(m.name, m.bootstrap, step=0) as reader:
        steps = [next(reader) for _ in range(8)]
    for i in (0, 37, 6 * B + 5):
        item, step = data[i], steps[i // B]
        kept = step.spans(i % B)[0].kept()
        assert item["data_source"] == step.domains[i % B] == kept["id"].split("-")[0]
        assert item["reward_model"] == {"style": "rule", "ground_truth": kept["answer"]}
        assert item["raw_prompt"] == [{"role": "user", "content": kept["prompt"]}]
        assert item["extra_info"] == {**kept, "index": i, "step": i // B, "phase": step.phase, "lr_scale": step.lr_scale}
    assert {data[i]["extra_info"]["lr_scale"] for i in (0, 6 * B)} == {1.0, 0.5}


@pytest.mark.parametrize("wrong, said", [
    ({"shuffle": True}, "data.shuffle is true, and mix .* is shuffled already"),
    ({"train_batch_size": 8}, "data.train_batch_size is 8, and a step of mix .* has 16 sequences"),
])
def test_what_does_not_fit_a_mix_is_refused(prompts, package, wrong, said):
    m = prompts(2)
    with pytest.raises(package.riffle.UsageError, match=said):
        create_rl_dataset(f"riffle:{m.name}", config_of(m, **wrong), None, None)


def test_several_documents_a_sequence_are_refused(prompts, package):
    m = prompts(2, packing="concat")
    with pytest.raises(package.riffle.UsageError, match="holds several documents.*packing: none"):
        create_rl_dataset(f"riffle:{m.name}", config_of(m), None, None)[0]


@pytest.mark.parametrize("pads", ["no_padding", "right"])
def test_a_conversation_has_its_targets_marked(prompts, package, pads):
    from riffle.integrations.verl import Conversations
    m = prompts(8)
    data = Conversations(f"riffle:{m.name}", None, config_of(m, "Conversations", pad_mode=pads, max_length=LENGTH + 2))
    items = [data[i] for i in range(B)]
    with package.riffle.Reader(m.name, m.bootstrap, step=0) as reader:
        step = next(reader)
    for i, item in enumerate(items):
        record = m.records[step.spans(i)[0].kept()["id"]]
        ids, start = record["tokens"], record["no_loss"][0][1]
        n = min(len(ids), LENGTH)
        assert item["input_ids"][:n].tolist() == ids[:n]
        assert item["loss_mask"][:n].tolist() == [0] * start + [1] * (n - start)
        assert len(item["input_ids"]) == (LENGTH + 2 if pads == "right" else min(int(step.used[i]), LENGTH))
        if pads == "right":
            assert int(item["attention_mask"].sum()) == min(int(step.used[i]), LENGTH)
    batch = SFTTensorCollator(pads)(items)
    assert batch["input_ids"].is_nested == (pads == "no_padding") and len(batch["input_ids"].unbind()) == B


def test_the_sft_loader_gives_each_rank_its_lanes_in_order(prompts, package):
    """The trainer's _build_dataloader() as it is in verl, on two ranks of which this process is each in turn."""
    from riffle.integrations.verl import Conversations, SFTMixin
    from torch.utils.data import DistributedSampler
    from torchdata.stateful_dataloader import StatefulDataLoader
    m = prompts(8)
    with package.riffle.Reader(m.name, m.bootstrap, step=0) as reader:
        steps = [next(reader) for _ in range(8)]
    for rank in range(2):
        class Verls:
            resume_global_step = 2
            collate_fn = staticmethod(SFTTensorCollator("right"))

            def _build_dataloader(self):
                self.train_dataset = Conversations(f"riffle:{m.name}", None, config_of(
                    m, "Conversations", pad_mode="right", max_length=LENGTH, riffle={"run": f"sft-{rank}"}))
                self.train_sampler = DistributedSampler(self.train_dataset, 2, rank, shuffle=True, drop_last=True)
                self.train_dataloader = StatefulDataLoader(
                    self.train_dataset, B // 2, sampler=self.train_sampler, collate_fn=self.collate_fn, drop_last=True)

        class Trainer(SFTMixin, Verls):
            pass

        trainer = Trainer()
        trainer._build_dataloader()
        loader = trainer.train_dataloader
        assert len(loader) == 8
        trainer.resume_global_step = 0
        for step, batch in enumerate(loader):
            rows = steps[step].tokens[rank * B // 2:(rank + 1) * B // 2, :-1].astype("i8")
            assert torch.equal(batch["input_ids"], torch.from_numpy(rows))
        trainer.train_dataset.flush()
        assert trainer.train_dataset.committed == 8
        trainer.train_dataset.close()
