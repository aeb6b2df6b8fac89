"""riffle config --init: a first run.yml of a folder of data; what it prints is run as it stands."""

import gzip
import json
import random
import re

import pytest
import yaml
import zstandard

from conftest import ROOT
from token_files import megatron

WORDS = (ROOT / "docs/GUIDE.md").read_text().split()


def record(draw, n=60, **more):
    return {"id": draw.randrange(10**6), **more, "text": " ".join(draw.choices(WORDS, k=n))}


def lines(records):
    return "".join(json.dumps(r) + "\n" for r in records)


def some(seed, n=120, **more):
    draw = random.Random(seed)
    return [record(draw, **more) for _ in range(n)]


def renamed(records, name):
    return [{**{k: v for k, v in r.items() if k != "text"}, name: r["text"]} for r in records]


@pytest.fixture
def init(riffle, tmp_path):
    """init(words...) -> what is printed, and the same as YAML."""
    def run(*words, code=0):
        done = riffle("config", "--init", *words, cwd=tmp_path, check=False)
        assert done.returncode == code, done.stderr
        return done.stdout, yaml.safe_load(done.stdout) if done.stdout else done.stderr
    return run


def test_sub_folders_are_domains_and_the_whole_runs(init, riffle, tmp_path, vocab, bootstrap, unique):
    data = tmp_path / unique
    for d in ("code", "web/2024", "books", ".git"):
        (data / d).mkdir(parents=True)
    (data / "code/a.jsonl").write_text(lines(some(1)))
    (data / "code/b.jsonl").write_text(lines(some(2)))
    (data / "web/2024/x.jsonl.gz").write_bytes(gzip.compress(lines(renamed(some(3), "content")).encode()))
    (data / "web/y.jsonl.zst").write_bytes(zstandard.compress(lines(renamed(some(4), "content")).encode()))
    for i in range(20):
        (data / f"books/{i}.txt").write_text(record(random.Random(i), 200)["text"])
    (data / ".git/a.jsonl").write_text("{}")
    (data / "README.md").write_text("words\n")
    out, config = init(unique, "--tokenizer", vocab / "r50k_base.tiktoken")
    assert config["corpus"] == unique
    assert config["domains"] == {
        "books": {"train": [f"{unique}/books/*.txt"]},
        "code": {"train": [f"{unique}/code/*.jsonl"], "text": "text"},
        "web": {"train": [f"{unique}/web/**/*.jsonl.gz", f"{unique}/web/**/*.jsonl.zst"], "text": "content"},
    }
    assert config["tokenizer"]["pattern"] == "gpt2" and config["mix"]["weights"] == "size"
    assert re.search(rf"^#\s+{unique}/README.md: ", out, re.M)
    path = tmp_path / "run.yml"
    path.write_text(out)
    riffle("config", "--check", "-c", path)
    more = ["-c", path, "-X", f"bootstrap.servers={bootstrap}"]
    riffle("topics", *more, "--create")
    riffle("produce", *more)
    riffle("mix", *more, "--until-step", 3)
    assert len(riffle("read", *more, "--steps", 3).stdout.splitlines()) == 3 * config["mix"]["lanes"]


def test_a_flat_folder_is_one_domain_for_each_kind_and_field(init, riffle, tmp_path, vocab):
    data = tmp_path / "my data"
    data.mkdir()
    for i in range(3):
        (data / f"part{i}.jsonl").write_text(lines(some(i)))
    (data / "odd[1].jsonl").write_text(lines(renamed(some(9), "body")))
    (data / "bad.jsonl").write_text("no JSON\n" * 5)
    (data / "valid.jsonl").write_text(lines(some(7)))
    (data / "table.parquet").write_bytes(b"PAR1")
    megatron(data, "old", [[1, 2, 3], [4, 5]])
    (data / "chat.jsonl").write_text(lines([{"tokens": [1, 2, 3], "no_loss": [[0, 1]]}] * 5))
    out, config = init("my data", "--tokenizer", vocab / "r50k_base.tiktoken")
    assert config["corpus"] == "my-data"
    assert config["domains"] == {
        "my-data": {"train": [f"my data/part{i}.jsonl" for i in range(3)], "valid": ["my data/valid.jsonl"], "text": "text"},
        "my-data-body": {"train": ["my data/odd\\[1\\].jsonl"], "text": "body"},
        "my-data-jsonl": {"train": ["my data/chat.jsonl"], "tokens": "jsonl"},
        "my-data-megatron": {"train": ["my data/*.bin"], "tokens": "megatron"},
    }
    for name, why in (("bad.jsonl", "none of its first 5 records"), ("table.parquet", "exec")):
        assert re.search(rf"^#\s+my data/{name}: .*{why}", out, re.M), out
    (tmp_path / "run.yml").write_text(out)
    riffle("config", "--check", "-c", tmp_path / "run.yml")


def test_train_and_valid_folders_are_sets_of_one_domain(init, tmp_path):
    for d in ("train", "valid"):
        (tmp_path / "c4" / d).mkdir(parents=True)
        (tmp_path / "c4" / d / "a.jsonl").write_text(lines(some(d)))
    assert init("c4")[1]["domains"] == {
        "c4": {"train": ["c4/train/*.jsonl"], "valid": ["c4/valid/*.jsonl"], "text": "text"}}


def test_a_tokenizer_that_does_not_open_is_warned_of(riffle, tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data/a.jsonl").write_text(lines(some(1)))
    done = riffle("config", "--init", "data", "--tokenizer", "data", cwd=tmp_path)
    assert "INIT-TOKENIZER data cannot be used as it is: " in done.stderr
    assert "\n# tokenizer:\n" in done.stdout


def test_each_of_several_folders_is_a_domain_and_a_tokenizer_is_asked_for(init, riffle, tmp_path, vocab):
    for d in ("code", "prose"):
        (tmp_path / "in" / d).mkdir(parents=True)
        (tmp_path / "in" / d / "a.jsonl").write_text(lines(some(d)))
    out, config = init("in/code", tmp_path / "in/prose/")
    assert {n: d["train"] for n, d in config["domains"].items()} == {
        "code": ["in/code/*.jsonl"], "prose": [f"{tmp_path}/in/prose/*.jsonl"]}
    assert "tokenizer" not in config and re.search(r"^# tokenizer:\n#   file: ", out, re.M)
    (tmp_path / "run.yml").write_text(out)
    words = ["config", "--check", "-c", tmp_path / "run.yml"]
    assert "tokenizer.file" in riffle(*words, check=False).stderr
    riffle(*words, "-s", f"tokenizer.file={vocab / 'r50k_base.tiktoken'}", "-s", "tokenizer.pattern=gpt2")


def test_a_field_that_is_not_clear_is_named_with_the_others(init, tmp_path):
    (tmp_path / "d").mkdir()
    (tmp_path / "d/a.jsonl").write_text(lines({"title": r["text"], "summary": r["text"] + "."} for r in some(1)))
    out, config = init("d")
    assert config["domains"]["d"]["text"] == "summary"
    assert re.search(r"not clear.*`title`", out)


def test_what_has_no_text_is_named(init, tmp_path):
    (tmp_path / "d").mkdir()
    (tmp_path / "d/chat.jsonl").write_text(lines([{"messages": [{"role": "user", "content": "x"}]}] * 3))
    _, err = init("d", code=1)
    assert "d/chat.jsonl" in err and "messages" in err


@pytest.mark.parametrize("words, said", [
    ([], "--init: name a folder"), (["nothing"], "reading folder nothing: No such file or directory\n"),
    (["dta"], "reading folder dta: No such file or directory (did you mean data?)\n"),
    (["file"], "reading folder file: Not a directory: name its folder: `riffle config --init .`\n"),
    (["data/file"], "reading folder data/file: Not a directory: name its folder: `riffle config --init data`\n")])
def test_what_is_no_folder_is_named(riffle, tmp_path, words, said):
    (tmp_path / "file").write_text("")
    (tmp_path / "data").mkdir()
    (tmp_path / "data/file").write_text("")
    done = riffle("config", "--init", *words, cwd=tmp_path, check=False)
    assert done.returncode in (1, 2) and said in done.stderr and done.stdout == ""


SPECIAL = ["$h", "~home", "a~b$c", "$", "[D]", "x{1,2}", "q?*", "back\\slash", 'quo"te', "it's", "tab\there", "line\nend", "esc\x1b[31m",
           "\x9b\u202e", "#hash", "!bang", "%per", "key: value", "&a", "@at", "`tick", "é漢", " "]


@pytest.mark.parametrize("name", SPECIAL)
def test_names_that_mean_something_elsewhere_are_written_so_that_check_takes_them(init, riffle, tmp_path, vocab, name):
    for folder in (name, f"data/{name}", f"data/plain/{name}"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / f"{name}.jsonl").write_text(lines(some(1)))
    (tmp_path / folder / "other.jsonl").write_text("no JSON\n")  # so that each file is named
    for given in (name, "data"):
        out, _ = init(given, "--tokenizer", vocab / "r50k_base.tiktoken")
        assert "[" in out
        (tmp_path / "run.yml").write_text(out)
        riffle("config", "--check", "-c", tmp_path / "run.yml")
