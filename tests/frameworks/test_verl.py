"""verl's data path with riffle's data sets: custom_cls, sampler, collate, StatefulDataLoader; its trainers need GPUs."""

import importlib.metadata
import json
import pathlib
import random
from functools import partial
from types import SimpleNamespace

import pytest
import torch
from omegaconf import OmegaConf
from torch.utils.data import DistributedSampler
from torchdata.stateful_dataloader import StatefulDataLoader
from verl.trainer.ppo.utils import create_rl_dataset
from verl.utils import tensordict_utils as tu
from verl.utils.dataset.dataset_utils import SFTTensorCollator
from verl.workers.engine.utils import prepare_micro_batches
from verl.workers.utils.losses import sft_loss

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

    def make(steps=24, packing="none", keep=None):
        draw, records = random.Random(1), {}
        for domain in ("math", "code"):
            rows = []
            for i in range(B * steps):
                ids = [draw.randrange(1000) for _ in range(draw.randrange(4, LENGTH))]
                end = draw.randrange(1, len(ids))
                rows.append({"tokens": ids, "no_loss": [[0, end]],
                             "keep": {"id": f"{domain}-{i}", **(keep(domain, i) if keep else {
                                 "answer": f"é{i}", "prompt": f"What is {i}?"})}})
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


def config_of(mix, name="RLDataset", riffle=None, **keys):
    return OmegaConf.create({
        "custom_cls": {"path": "pkg://riffle.integrations.verl", "name": name}, "shuffle": False, "train_batch_size": B,
        "riffle": {"bootstrap": mix.bootstrap, "steps": 8, "timeout": 60, **({"answer": "answer"} if name == "RLDataset" else {}),
                   **(riffle or {})}, **keys})


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
        assert item["extra_info"] == {"index": i, "step": i // B, "phase": step.phase, "lr_scale": step.lr_scale}
        assert item["id"] == kept["id"]
    assert {data[i]["extra_info"]["lr_scale"] for i in (0, 6 * B)} == {1.0, 0.5}


def test_a_row_is_what_verl_reads_from_its_own_file(prompts, package, tmp_path):
    """RLHFDataset, on a file of the very rows that the mix keeps."""
    import datasets
    from verl.utils.dataset.rl_dataset import RLHFDataset
    rows = {}

    def keep(domain, i):
        rows[f"{domain}-{i}"] = {
            "data_source": f"openai/{domain}", "prompt": [{"role": "system", "content": "Think."}, {"role": "user", "content": f"{i}?"}],
            "ability": "math", "reward_model": {"style": "rule", "ground_truth": str(i)},
            "extra_info": {"split": "train", "index": i, "tools_kwargs": {"n": i}}}
        return rows[f"{domain}-{i}"]

    m = prompts(2, keep=keep)
    data = create_rl_dataset(f"riffle:{m.name}", config_of(m, riffle={"answer": None}), None, None)
    for i in (0, B + 3):
        item = data[i]
        row = {"id": item["id"], **rows[item["id"]]}
        datasets.Dataset.from_list([row]).to_parquet(str(tmp_path / f"{i}.parquet"))
        [expected] = RLHFDataset(str(tmp_path / f"{i}.parquet"), None, OmegaConf.create({"filter_overlong_prompts": False}))
        about = ("index", "step", "phase", "lr_scale")
        item["extra_info"] = {name: value for name, value in item["extra_info"].items() if name not in about}
        del expected["extra_info"]["index"], expected["index"], item["index"]
        assert item.pop("dummy_tensor") == expected.pop("dummy_tensor") and item == expected


@pytest.mark.parametrize("kept, missing", [({"answer": "4"}, "keeps no prompt"), ({"prompt": "2 + 2?"}, "keeps no answer"),
                                           ({"prompt": "2 + 2?", "reward_model": None, "answer": None}, "keeps no answer")])
def test_a_missing_prompt_or_answer_is_an_error(prompts, package, kept, missing):
    m = prompts(2, keep=lambda domain, i: kept)
    with pytest.raises(package.riffle.DataError, match=f"sequence 3 of mix .* {missing}, which verl needs; it keeps .*id"):
        create_rl_dataset(f"riffle:{m.name}", config_of(m), None, None)[3]


def test_a_second_epoch_is_refused(prompts, package):
    m = prompts(4)
    data = create_rl_dataset(f"riffle:{m.name}", config_of(m), None, None)
    for step in range(3):
        data[step * B]
        data.on_batch_end(SimpleNamespace(non_tensor_batch={"index": range(step * B, (step + 1) * B)}))
    with pytest.raises(package.riffle.UsageError, match="Set trainer.total_epochs=1"):
        data.on_batch_end(SimpleNamespace(non_tensor_batch={"index": range(B)}))
    data.close()


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
    from riffle.integrations.verl import SFTDataset
    m = prompts(8)
    data = SFTDataset(f"riffle:{m.name}", None, config_of(m, "SFTDataset", pad_mode=pads, max_length=LENGTH + 2))
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


class Verls:
    """What verl's SFTTrainer has when it builds its loader: its engine needs a GPU."""

    collate_fn = staticmethod(SFTTensorCollator("no_padding"))
    resume_global_step = 0

    def __init__(self, mix, rank, run, epochs=1, world=2, first=True):
        self.mix, self.rank, self.run, self.world, self.rates = mix, rank, run, world, []
        weight = torch.nn.Parameter(torch.zeros(1))
        weight.grad = torch.ones(1)
        self.config = SimpleNamespace(trainer=SimpleNamespace(total_epochs=epochs))
        self.engine = SimpleNamespace(is_mp_src_rank_with_outputs=lambda: first, optimizer=torch.optim.SGD([weight], lr=1.0))
        self.training_client = SimpleNamespace(loss_fn=partial(sft_loss, config=None), train_batch=self.train_batch)
        self.training_client.set_loss_fn = lambda loss_fn: setattr(self.training_client, "loss_fn", loss_fn)
        self._build_dataloader()

    def _build_dataloader(self):
        from riffle.integrations.verl import SFTDataset
        self.train_dataset = SFTDataset(f"riffle:{self.mix.name}", None, config_of(
            self.mix, "SFTDataset", pad_mode="no_padding", riffle={"run": self.run}))
        self.train_sampler = DistributedSampler(self.train_dataset, self.world, self.rank, shuffle=True, drop_last=True)
        self.train_dataloader = StatefulDataLoader(
            self.train_dataset, B // self.world, sampler=self.train_sampler, collate_fn=self.collate_fn, drop_last=True)

    def train_batch(self, data):
        """As the engine: micro-batches by its own functions, losses of tokens, one step of the optimiser."""
        tu.assign_non_tensor(data, dp_size=1, batch_num_tokens=int(data["loss_mask"].values().sum()))
        for micro in prepare_micro_batches(data)[0]:
            losses = torch.nested.nested_tensor_from_jagged(
                micro["input_ids"].values() / -1000, offsets=micro["input_ids"].offsets())
            assert self.training_client.loss_fn(model_output={"log_probs": losses}, data=micro)[0] >= 0
        before = self.engine.optimizer.param_groups[0]["params"][0].item()
        self.engine.optimizer.step()
        self.rates.append(before - self.engine.optimizer.param_groups[0]["params"][0].item())

    def fit(self, steps):
        """Its loop: returns inside of it, behind the last step."""
        for n, data in enumerate(self.train_dataloader, 1):
            data = tu.get_tensordict(tensor_dict=data, non_tensor_dict={
                "use_dynamic_bsz": False, "micro_batch_size_per_gpu": 2, "pad_mode": "no_padding"})
            yield data["input_ids"].unbind()
            self.training_client.train_batch(data=data)
            if n == steps:
                return


def trainer_of(*words, **more):
    from riffle.integrations.verl import SFTMixin
    return type("Trainer", (SFTMixin, Verls), {})(*words, **more)


def test_the_sft_trainer_gives_each_rank_its_lanes_in_order_and_commits_each_step(prompts, package):
    m = prompts(8)
    with package.riffle.Reader(m.name, m.bootstrap, step=0) as reader:
        steps = [next(reader) for _ in range(8)]
    for rank in range(2):
        trainer = trainer_of(m, rank, f"sft-{rank}")
        assert len(trainer.train_dataloader) == 8
        sums = []
        trained = trainer.train_dataset.trained
        trainer.train_dataset.trained = lambda step, losses: (sums.append(losses), trained(step, losses))
        for rows, step in zip(trainer.fit(8), steps):  # the last step is trained when the next row is asked for
            mine = range(rank * B // 2, (rank + 1) * B // 2)
            for i, row in zip(mine, rows, strict=True):
                assert torch.equal(row, torch.from_numpy(step.tokens[i, :min(int(step.used[i]), LENGTH)].astype("i8")))
        assert trainer.rates == [1.0] * 5 + [0.5] * 3
        for step, found in zip(steps, sums, strict=True):
            expected = {}
            for i in mine:
                record = m.records[step.spans(i)[0].kept()["id"]]
                start, end = record["no_loss"][0][1], min(int(step.used[i]), LENGTH)
                loss, _, n = expected.get(step.domains[i], (0.0, 0.0, 0))
                # verl's loss of a target is at the place before it
                expected[step.domains[i]] = loss + sum(record["tokens"][start - 1:end - 1]) / 1000, 0.0, n + max(0, end - start)
            assert {d: (pytest.approx(v[0], rel=1e-4), *v[1:]) for d, v in expected.items() if v[2]} == found
        trainer.train_dataset.flush()
        assert trainer.train_dataset.committed == 8  # the last one, too
        trainer.train_dataset.close()


def test_a_resumed_sft_trainer_counts_from_its_step_and_a_peer_commits_nothing(prompts, package):
    m = prompts(4)
    trainer = trainer_of(m, 0, "resumed", world=1)
    trainer.resume_global_step = 2
    trainer.train_sampler.__class__ = type("Later", (type(trainer.train_sampler),), {
        "__iter__": lambda self: iter(self.dataset.indexes(2))})
    list(trainer.fit(2))
    trainer.train_dataset.flush()
    assert trainer.train_dataset.committed == 4
    peer = trainer_of(m, 0, "peer", world=1, first=False)
    list(peer.fit(4))
    assert peer.train_dataset.state_dict()["step"] == 4 and package.riffle.committed_step(m.name, m.bootstrap, run="peer") == 0
    for one in (trainer, peer):
        one.train_dataset.close()


def test_an_sft_trainer_of_several_epochs_is_refused(prompts, package):
    m = prompts(2)
    with pytest.raises(package.riffle.UsageError, match="trainer.total_epochs is 4, and mix .* has no epochs: set 1"):
        trainer_of(m, 0, "epochs", epochs=4)
