"""riffle plan: what it says is what a run on a real broker then shows; without a broker where sizes are given."""

import json
import re
import time

import pytest

from conftest import both_forms

WEIGHTS = {"a": 0.5, "b": 0.3, "c": 0.002}


def plan(riffle, config, *words, **more):
    return json.loads(riffle("plan", "-c", config, *words, "--json", **more).stdout)


def by_name(domains):
    return {d["name"]: d for d in domains}


PHASES = [{"name": "late", "start_step": 17, "weights": {"c": 1}, "lr_scale": 0.5},
          {"name": "end", "start_step": 31, "weights": {"a": 1, "b": 1, "c": 1}, "temperature": 2}]
BATCHES = [{"name": "large", "start_step": 9, "global_batch": 48}, {"name": "small", "start_step": 21, "global_batch": 8},
           {"name": "usual", "start_step": 50, "weights": {"c": 1}}]


def test_what_keep_adds_is_named_and_not_claimed(riffle, write_config):
    """64 KiB for every sequence was 500 times what went through Kafka."""
    config = {
        "corpus": "c", "tokenizer": {"file": "v.tiktoken", "pattern": "gpt2"}, "sequence_length": 64,
        "domains": {"a": {"train": ["a.jsonl"]}, "b": {"train": ["b.jsonl"], "packing": "none", "keep": ["id"]}},
        "mix": {"name": "m", "global_batch": 16, "lanes": 4, "weights": {"a": 0.75, "b": 0.25}},
    }
    words = ["--sizes", "a=1000,b=1000", "--steps", 10]
    path = write_config(config)
    p = plan(riffle, path, *words)
    assert p["batch_bytes"] == 160 * (65 * 3 + 64) and p["kafka_bytes"] == 3 * p["batch_bytes"]
    assert p["batch_bytes_max"] == p["batch_bytes"] + 40 * 65536
    shown = riffle("plan", "-c", path, *words).stdout.splitlines()
    assert shown[1].startswith("through Kafka at most 0.1 MB")
    assert shown[2] == "not counted: what `keep` puts beside documents of b (at most 64 KiB a document)"
    del config["domains"]["b"]["keep"]
    p = plan(riffle, write_config(config), *words)
    assert p["batch_bytes_max"] == p["batch_bytes"]


@pytest.mark.parametrize("keys", [
    {}, {"phases": PHASES}, {"phases": BATCHES}, {"phases": BATCHES, "epoch_size": 150},
    {"schedule": "greedy", "phases": PHASES}, {"schedule": "random"}, {"temperature": 3},
    {"epoch_size": 150}, {"epoch_size": "largest"}, {"weights": "size"}, {"weights_unit": "tokens"},
    {"domains": {"a": {"on_end": "drop"}}}, {"domains": {"a": {"on_end": "stop"}}},
    {"domains": {"a": {"max_epochs": 2}}}, {"permute": False},
], ids=str)
def test_a_run_shows_the_planned_numbers(riffle, fill, configure, read, keys):
    fill("a", "b", "c", sequences=90, partitions=2)
    config = configure(WEIGHTS, partitions=2, **keys)
    asked = plan(riffle, config, "--steps", 60)
    given = plan(riffle, config, "--steps", 60, "--sizes", "c=90,a=90,b=90", "-X", "bootstrap.servers=127.0.0.1:1",
                 env={"RIFFLE_BOOTSTRAP": ""})
    assert asked == given
    riffle("mix", "-c", config, "--until-step", 60)
    status = json.loads(riffle("status", "-c", config, "--json").stdout)
    planned, shown = by_name(asked["domains"]), by_name(status["domains"])
    assert asked["steps"] == status["mix"]["step_next"]
    assert asked["draws"] == status["mix"]["draws"]
    assert asked["ended"] == (status["mix"]["state"] == "ended")
    for name in WEIGHTS:
        for key in ("taken", "tokens", "epoch", "position", "realised", "intended"):
            assert planned[name][key] == pytest.approx(shown[name][key], abs=1e-12), (name, key)
    assert all(d["tokens"] == d["taken"] * 64 for d in shown.values())
    assert sum(d["sequences"] for p in asked["phases"] for d in p["domains"]) == asked["draws"]
    seen = {}
    for line in read(config, asked["steps"]):
        step, _, _, counts = line.split("\t")
        for part in counts.split(","):
            seen.setdefault(part.split(":")[0], int(step))
    assert {n: d["first_step"] for n, d in planned.items() if d["first_step"] is not None} == seen


@both_forms
def test_a_mix_under_requested_weights_is_planned_with_these(riffle, fill, configure):
    fill("a", "b", sequences=400)
    config = configure({"a": 0.3, "b": 0.7})
    riffle("mix", "-c", config, "--until-step", 4)
    assert "PLAN-VERSION" not in riffle("plan", "-c", config, "--steps", 5).stderr
    riffle("weights", "-c", config, "a=0.7", "b=0.3", "--id", "more-a", check=False)  # the next mixer answers
    riffle("mix", "-c", config, "--until-step", 8)
    done = riffle("plan", "-c", config, "--steps", 5, "--json")
    assert re.search(r"PLAN-VERSION planned from step 0 with the weights in force, version 2 since step \d+ by request more-a,",
                     done.stderr)
    assert {d["name"]: d["intended"] for d in json.loads(done.stdout)["domains"]} == pytest.approx({"a": 0.7, "b": 0.3})


def test_draws_are_a_line_each_before_the_permutation(riffle, write_config):
    """The published index of the greedy schedule for .1 .5 .3 .1, and its sample numbers."""
    config = {
        "corpus": "c", "tokenizer": {"file": "v.tiktoken", "pattern": "gpt2"}, "sequence_length": 64,
        "domains": {d: {"train": [f"{d}.jsonl"]} for d in "abcd"},
        "mix": {"name": "m", "global_batch": 16, "lanes": 4, "schedule": "greedy",
                "weights": {"a": 0.1, "b": 0.5, "c": 0.3, "d": 0.1}},
        "kafka": {"bootstrap.servers": "127.0.0.1:1"},
    }
    path = write_config(config)
    lines = [line.split("\t") for line in riffle("plan", "-c", path, "--draws", 20).stdout.splitlines()]
    assert [int(n) for n, _, _ in lines] == list(range(20))
    assert ["abcd".index(d) for _, d, _ in lines] == [1, 2, 0, 1, 3, 1, 2, 1, 2, 1, 0, 1, 2, 1, 3, 1, 2, 1, 2, 1]
    assert [int(i) for _, _, i in lines] == [0, 0, 0, 1, 0, 2, 1, 3, 2, 4, 1, 5, 3, 6, 1, 7, 4, 8, 5, 9]
    for n in (0, 1, 16, 17):
        assert len(riffle("plan", "-c", path, "--draws", n).stdout.splitlines()) == n
    table = riffle("plan", "-c", path, "--sizes", "a=10,b=20,c=30,d=40", "--steps", 10).stdout
    assert "mix m: 10 steps of 16 sequences on 4 lanes: 160 sequences, 10240 tokens; the mix continues" in table


@pytest.mark.parametrize("words, code, said", [
    (["--sizes", "a=1"], 2, "--sizes: domain b is missing"),
    (["--sizes", "a=1,b=2,x=3"], 2, "has no domain x; it has a, b"),
    (["--sizes", "a=1,a=2,b=3"], 2, "domain a is named twice"),
    (["--sizes", "a=1,b"], 2, "not a domain and its sequences: b"),
    (["--sizes", "a=1,b=-2"], 2, "not a domain and its sequences: b=-2"),
    (["--sizes", "a=1,b=0"], 2, "domain b has weight 0.3 and not one sequence"),
    (["--steps", "0"], 2, "--steps: out of range"),
    (["--draws", "5", "--json"], 2, "--draws cannot go with"),
    ([], 1, "no broker answers"),
])
def test_mistakes_are_told(riffle, write_config, words, code, said):
    config = {
        "corpus": "c", "tokenizer": {"file": "v.tiktoken", "pattern": "gpt2"}, "sequence_length": 64,
        "domains": {d: {"train": [f"{d}.jsonl"]} for d in "ab"},
        "mix": {"name": "m", "global_batch": 16, "lanes": 4, "weights": {"a": 0.7, "b": 0.3}},
        "kafka": {"bootstrap.servers": "127.0.0.1:1"},
    }
    done = riffle("plan", "-c", write_config(config), *words, check=False, env={"RIFFLE_BOOTSTRAP": ""})
    assert done.returncode == code and said in done.stderr


def test_a_domain_that_is_not_sealed_has_no_length(riffle, fill, configure):
    fill("a", sequences=50)
    fill("b", sequences=50, live=True)
    done = riffle("plan", "-c", configure({"a": 1, "b": 1}), check=False)
    assert done.returncode == 2 and "domain b is not sealed" in done.stderr and "--sizes" in done.stderr


def test_a_domain_without_a_topic_is_told_how_it_gets_one(riffle, configure, unique):
    done = riffle("plan", "-c", configure({"a": 1}, create=False), check=False)
    assert done.returncode == 2
    assert f"domain a: topic {unique}.a does not exist: `riffle topics -c" in done.stderr and "--sizes" in done.stderr


def test_a_hundred_thousand_steps_are_planned_in_bounded_memory(riffle, configure, write_config):
    config = configure({"a": 0.7, "b": 0.3}, create=False, global_batch=16)
    begun = time.monotonic()
    few, many = (plan(riffle, config, "--sizes", "a=100000,b=50", "--steps", n) for n in (100, 100000))
    assert time.monotonic() - begun < 60
    assert [d["taken"] for d in many["domains"]] == [1120000, 480000]
    assert few["domains"][1]["taken"] == 480
