"""Validation and test sets with inputs of their own on a real broker: files and programs, as those of train."""

import json
import re
import signal
import sys

import pyarrow
import pyarrow.parquet
import pytest
import xxhash

from conftest import ROOT
from test_produce import Corpus, corpus, decode, encoding, lines, pack, texts, tokens  # noqa: F401

SETS = ("", ".valid", ".test")


def program(corpus, name, command):
    return f"exec:{name}#{xxhash.xxh64_hexdigest(command)}"


def held_out(made):
    """Train, valid and test of three kinds: a file, riffle-source on Parquet, a program with a reject."""
    documents = {"": texts(300, 1), ".valid": texts(200, 2), ".test": texts(150, 3)}
    (made.folder / "train.jsonl").write_text(lines(documents[""]))
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist([{"text": t} for t in documents[".valid"]]),
                                made.folder / "v.parquet", row_group_size=7)
    (made.folder / "test.jsonl").write_text("no json\n" + lines(documents[".test"]))
    source = f"{sys.executable} {ROOT}/python/riffle_source.py v.parquet --columns text"
    made.config["split"] = "1,1,1"
    made.config["domains"] = {
        "a": {"train": ["train.jsonl"], "valid": {"exec": source}, "test": {"exec": "cat test.jsonl # hunter2"}},
        "b": {"exec": "cat train.jsonl", "exec_name": "dump", "test": ["test.jsonl"]}}
    return documents


def log_of(corpus):
    return {(domain, suffix): corpus.log(domain + suffix)
            for domain, suffixes in (("a", SETS), ("b", ("", ".test"))) for suffix in suffixes}


def test_programs_and_files_fill_the_sets_and_train_is_not_split(corpus, encoding):
    documents = held_out(corpus)
    topics = corpus.create().riffle("topics", "-c", corpus.path).stdout
    assert f"{corpus.name}.b.test" in topics and f"{corpus.name}.b.valid" not in topics
    none = corpus.riffle("read", "-c", corpus.path, "--set", "valid", "--domain", "b", check=False)
    assert none.returncode == 2
    assert f"with a valid set; domain b has no valid set in {corpus.path}" in none.stderr
    for name, topic in (("train", "a"), ("valid", "a.valid")):
        early = corpus.riffle("read", "-c", corpus.path, "--set", name, "--domain", "a", check=False)
        assert early.returncode == 1
        assert early.stderr.endswith(
            f"topic {corpus.name}.{topic} holds nothing yet: `riffle produce -c {corpus.path} a` publishes it\n")
    corpus.produce()
    for domain, suffixes in (("a", SETS), ("b", ("", ".test"))):
        for suffix in suffixes:
            sequences, end = corpus.read(domain + suffix)
            assert [tokens(s) for s in sequences] == pack(documents[suffix], encoding)[0]
            assert end["documents"] == len(documents[suffix]) and end["rejects"] == (suffix == ".test")
    commands = {s: corpus.config["domains"]["a"][s]["exec"] for s in ("valid", "test")}
    for which, command in commands.items():
        sequences, _ = corpus.read(f"a.{which}")
        assert sequences[0]["payload"]["sources"] == [program(corpus, "a", command)]
    found = {(r["domain"], r["file"], r["line"], r["value"]) for r in corpus.rejects()}
    assert found == {("a", program(corpus, "a", commands["test"]), "1", b"no json"), ("b", "test.jsonl", "1", b"no json")}
    assert b"hunter2" not in b"".join(corpus.values("a.test"))
    again = corpus.produce()
    assert "a.test is complete" in again.stderr
    corpus.riffle("read", "-c", corpus.path, "--set", "valid", "--domain", "a")


def test_ctrl_c_tells_a_part_of_a_set_from_all_of_it(corpus):
    """The output is larger than a pipe holds, and nobody reads on."""
    (corpus.folder / "a.jsonl").write_text(lines(texts(4000, 1)))
    corpus.config["domains"] = {"a": {"train": ["a.jsonl"]}}
    corpus.create().produce()
    process = corpus.riffle.popen("read", "-c", corpus.path, "--set", "train", "--domain", "a", "--format", "jsonl")
    assert process.stdout.readline()
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 0
    assert re.search(r"read: stopped after \d+ sequences of the set\n$", process.stderr.read())


@pytest.fixture(scope="module")
def calm(tmp_path_factory, bootstrap, vocab):
    made = Corpus(tmp_path_factory.mktemp("held_out"), bootstrap, vocab)
    held_out(made)
    made.create().produce()
    made.logs = log_of(made)
    return made


@pytest.mark.parametrize("point", ["produce.after_publish:450", "produce.after_publish:620", "produce.before_end:2",
                                   "produce.before_end:3", "produce.after_end:2"])
def test_kill_9_in_a_program_of_a_set_leaves_the_undisturbed_log(calm, point):
    stormy = calm.copy()
    died = stormy.produce("a", check=False, env={"RIFFLE_FAULT": point})
    assert died.returncode == -signal.SIGKILL, died.stderr
    stormy.finish()
    assert log_of(stormy) == calm.logs


def test_a_program_of_a_set_that_fails_leaves_the_set_open_until_it_is_mended(corpus, encoding):
    (corpus.folder / "train.jsonl").write_text(lines(texts(50, 4)))
    (corpus.folder / "v.jsonl").write_text(lines(texts(50, 5)))
    corpus.config["domains"] = {"a": {"train": ["train.jsonl"], "valid": {"exec": "cat v.jsonl; test -e whole"}}}
    corpus.create()
    failed = corpus.produce(check=False)
    assert failed.returncode == 1 and "exit status 1" in failed.stderr and "Fix the program" in failed.stderr
    assert "a.valid" in failed.stderr and corpus.log("a")[1] is not None and corpus.log("a.valid")[1] is None
    (corpus.folder / "whole").touch()
    assert "a.valid resumes at document=" in corpus.produce().stderr
    assert [tokens(s) for s in corpus.read("a.valid")[0]] == pack(texts(50, 5), encoding)[0]


def test_another_program_of_a_set_is_named(corpus):
    (corpus.folder / "train.jsonl").write_text(lines(texts(50, 4)))
    for name, seed in (("v", 5), ("w", 6)):
        (corpus.folder / f"{name}.jsonl").write_text(lines(texts(300, seed)))
    domain = {"train": ["train.jsonl"], "valid": {"exec": "cat v.jsonl"}}
    corpus.config["domains"] = {"a": domain}
    corpus.create()
    died = corpus.produce(check=False, env={"RIFFLE_FAULT": "produce.before_end:2"})
    assert died.returncode == -signal.SIGKILL
    at = decode(corpus.values("a.valid")[-1])["position"]
    assert at["document"] > 0
    domain["valid"] = {"exec": "cat w.jsonl"}
    corpus.write()
    refused = corpus.produce(check=False)
    assert refused.returncode == 2 and "a.valid" in refused.stderr and "another command" in refused.stderr
    domain["valid"] = {"exec": "cat v.jsonl"}
    corpus.write()
    corpus.produce()
    domain["valid"] = {"exec": "cat w.jsonl"}
    corpus.write()
    assert "PRODUCE-CHANGED" in (done := corpus.produce().stderr) and "valid.exec" in done
    domain["valid"] = ["v.jsonl"]
    corpus.write()
    assert "valid.exec" in corpus.produce().stderr
    del domain["valid"]
    corpus.config["split"] = "8,2,0"
    corpus.write()
    refused = corpus.produce(check=False)
    assert refused.returncode == 2 and "valid.exec" in refused.stderr and "split counts again" in refused.stderr
