"""Items of chats and prompts: masks, what is kept, and padding on either side, from lines of tokens to a model's input."""

import itertools
import json
import random

import pytest
import torch

LENGTH, EOS, B = 24, 50256, 8


@pytest.fixture
def chats(tmp_path, riffle, bootstrap, unique, vocab, write_config):
    """The records of a domain with `tokens: jsonl`, imported and mixed: 6 steps."""
    draw = random.Random(1)
    records = []
    for i in range(B * 6):
        ids = [draw.randrange(1000) for _ in range(draw.randrange(2, LENGTH + 1))]
        end = draw.randrange(1, len(ids))
        records.append({"tokens": ids, "no_loss": [[0, end]], "keep": {"id": i, "answer": f"é{i}"}, "eos": i % 2 == 0})
    (tmp_path / "chats.jsonl").write_text("".join(json.dumps(r) + "\n" for r in records))
    config = write_config({
        "corpus": unique, "sequence_length": LENGTH, "split": "1,0,0",
        "tokenizer": {"file": str(vocab / "r50k_base.tiktoken"), "pattern": "gpt2"},
        "domains": {"chats": {"train": ["chats.jsonl"], "tokens": "jsonl", "packing": "none"}},
        "mix": {"name": f"{unique}-mix", "global_batch": B, "lanes": 4, "max_lead_steps": 0},
        "kafka": {"bootstrap.servers": bootstrap}})
    riffle("topics", "-c", config, "--create")
    riffle("import", "-c", config)
    riffle("mix", "-c", config, "--until-step", 6)
    return f"{unique}-mix", records


@pytest.mark.parametrize("side", ["right", "left"])
def test_a_chat_is_an_item_with_its_mask_and_what_is_kept(chats, riffle_torch, bootstrap, side):
    mix, records = chats
    fields = ("input_ids", "labels", "position_ids", "attention_mask", "used", "epoch", "keep")
    seen = set()
    dataset = riffle_torch.Dataset(mix, bootstrap, step=0, timeout=30, fields=fields, padding_side=side)
    for item in itertools.islice(dataset, 6):
        assert set(item) == set(fields)
        for row, keep in enumerate(item["keep"]):
            [kept] = keep
            record = records[kept["id"]]
            assert kept == record["keep"]
            ids = record["tokens"] + ([EOS] if record["eos"] else [])
            n = min(len(ids), LENGTH)
            at = slice(0, n) if side == "right" else slice(LENGTH - n, LENGTH)
            mask = torch.zeros(LENGTH, dtype=torch.int64)
            mask[at] = 1
            assert item["attention_mask"][row].equal(mask)
            assert item["used"][row] == len(ids) and item["epoch"][row] == 0
            assert item["input_ids"][row][at].tolist() == ids[:n]
            assert (item["input_ids"][row][mask == 0] == EOS).all()
            assert item["position_ids"][row][at].tolist() == list(range(n))
            first = record["no_loss"][0][1]
            targets = [ids[i + 1] if i + 1 < len(ids) and i + 1 >= first else -100 for i in range(n)]
            assert item["labels"][row][at].tolist() == targets
            assert (item["labels"][row][mask == 0] == -100).all()
            seen.add(kept["id"])
    assert seen == set(range(len(records)))


def test_a_side_that_is_none_is_refused(riffle_torch, bootstrap, package):
    with pytest.raises(package.riffle.UsageError, match="padding_side is 'up'"):
        riffle_torch.Dataset("m", bootstrap, step=0, padding_side="up")


def test_a_process_of_several_without_a_group_is_refused(riffle_torch, bootstrap, package, monkeypatch):
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(package.riffle.UsageError, match="RANK is 1 and WORLD_SIZE 2 in the environment, and torch.dist"):
        riffle_torch.Dataset("m", bootstrap, step=0)
    assert riffle_torch.Dataset("m", bootstrap, step=0, rank=0, world=2).rank == 0
    monkeypatch.setenv("WORLD_SIZE", "1")
    assert riffle_torch.Dataset("m", bootstrap, step=0).world == 1
