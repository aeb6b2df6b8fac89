"""riffle produce and riffle mix where the configuration is not that of the log: each key is named, nothing is taken
silently.
"""

import gzip
import json
import signal
import subprocess

import re

import pytest

from conftest import wait_until
from test_produce import Corpus, corpus, encoding, lines, texts, which  # noqa: F401


def headers(bootstrap, topic):
    """The headers of each record, by kcat."""
    out = subprocess.run(["kcat", "-C", "-q", "-e", "-b", bootstrap, "-t", topic, "-o", "beginning", "-f", "%h\n"],
                         check=True, capture_output=True, text=True, timeout=60).stdout
    return out.splitlines()


@pytest.fixture
def sealed(corpus):
    """Domain a, of one file, produced to its End."""
    (corpus.folder / "a.jsonl").write_text(lines(texts(60, 1)))
    corpus.config["domains"] = {"a": {"train": ["*.jsonl"]}}
    corpus.create().produce()
    return corpus


def test_the_recipe_stands_on_the_first_record_and_on_each_end(sealed):
    found = headers(sealed.bootstrap, f"{sealed.name}.a")
    assert [i for i, h in enumerate(found) if "riffle.recipe" in h] == [0, len(found) - 1]
    recipe, _ = json.JSONDecoder().raw_decode(found[0].removeprefix("riffle.recipe="))
    assert recipe["split"] == "1,0,0" and recipe["train"] == ["*.jsonl"] and recipe["text"] == "text"
    (sealed.folder / "b.jsonl").write_text(lines(texts(60, 2)))
    sealed.produce("--append")
    more = headers(sealed.bootstrap, f"{sealed.name}.a")
    assert [i for i, h in enumerate(more) if "riffle.recipe" in h] == [0, len(found) - 1, len(found), len(more) - 1]


def change(c, key, value):
    at = c.config if key in ("split", "utf8", "max_document_bytes", "sequence_length") else c.config["domains"]["a"]
    if key == "eos":
        at = c.config["tokenizer"] = dict(c.config["tokenizer"])
    at[key] = value
    c.write()


CHANGES = [
    ("split", "98,1,1", 'split: "1,0,0" in the log, "98,1,1" in the file'),
    ("utf8", "strict", 'utf8: "replace" in the log, "strict" in the file'),
    ("text", "body", 'text: "text" in the log, "body" in the file'),
    ("where", {"field": "lang", "equals": "c"}, 'where.field: nothing in the log, "lang" in the file'),
    ("max_document_bytes", 1000, 'max_document_bytes: "64MiB" in the log, "1KB" in the file'),
    ("packing", "none", "begun with packing concat, the configuration has none"),
    ("sequence_length", 16, "begun with sequence_length 32, the configuration has 16"),
]


@pytest.mark.parametrize("key, value, words", CHANGES)
@pytest.mark.parametrize("how", [[], ["--append"]], ids=["produce", "append"])
def test_a_changed_key_is_named_and_refused(sealed, key, value, words, how):
    before = sealed.values("a")
    (sealed.folder / "b.jsonl").write_text(lines(texts(60, 2)))
    change(sealed, key, value)
    if key == "split":
        sealed.riffle("topics", "-c", sealed.path, "--create")
    refused = sealed.produce(*how, check=False)
    assert refused.returncode == 2, refused.stderr
    assert words in refused.stderr
    assert sealed.values("a") == before


def test_a_part_that_was_broken_off_is_bound_too(corpus):
    (corpus.folder / "a.jsonl").write_text(lines(texts(300, 1)))
    corpus.config["domains"] = {"a": {"train": ["*.jsonl"]}}
    corpus.create()
    corpus.produce(env={"RIFFLE_FAULT": "produce.before_end"}, check=False)
    before = corpus.values("a")
    assert before
    change(corpus, "text", "body")
    refused = corpus.produce(check=False)
    assert refused.returncode == 2 and 'text: "text" in the log, "body" in the file' in refused.stderr
    assert corpus.values("a") == before
    change(corpus, "text", "text")
    corpus.produce()


def test_new_files_and_grown_files_behind_an_end_are_named(sealed):
    assert "a is complete: nothing to do" in sealed.produce().stderr
    (sealed.folder / "b.jsonl").write_text(lines(texts(10, 2)))
    (sealed.folder / "c.jsonl").write_text(lines(texts(10, 3)))
    new = sealed.produce()
    assert "2 new files, from b.jsonl on: `--append` publishes them" in new.stderr
    (sealed.folder / "b.jsonl").unlink()
    (sealed.folder / "c.jsonl").unlink()
    with open(sealed.folder / "a.jsonl", "a") as out:
        out.write(lines(texts(1, 4)))
    assert "a.jsonl has grown by" in sealed.produce().stderr


def test_files_that_are_not_those_of_the_end_are_named(sealed):
    before = sealed.values("a")
    (sealed.folder / "a.jsonl").write_text(lines(texts(3, 1)))
    assert "PRODUCE-CHANGED a is complete, but the files up to a.jsonl had" in sealed.produce().stderr
    (sealed.folder / "a.jsonl").rename(sealed.folder / "0.jsonl")
    said = sealed.produce().stderr
    assert "it was made of 1 file, the last one a.jsonl, and the 1 that" in said and " a --restart`" in said
    (sealed.folder / "0.jsonl").unlink()
    assert "PRODUCE-CHANGED" in sealed.produce().stderr
    assert sealed.values("a") == before


def test_an_append_refuses_a_file_that_changed_and_is_not_the_last(sealed):
    (sealed.folder / "b.jsonl").write_text(lines(texts(30, 2)))
    sealed.produce("--append")
    before = sealed.values("a")
    with open(sealed.folder / "a.jsonl", "a") as out:
        out.write(lines(texts(30, 3)))
    (sealed.folder / "c.jsonl").write_text(lines(texts(30, 4)))
    refused = sealed.produce("--append", check=False)
    assert refused.returncode == 2 and "the files before b.jsonl, the last of the run before, had" in refused.stderr
    assert sealed.values("a") == before


# ---- a domain that yields nothing, or mostly rejects ----


def test_a_field_that_is_not_there_seals_nothing_and_can_be_corrected(corpus):
    (corpus.folder / "a.jsonl").write_text(lines(texts(60, 1)))
    corpus.config["domains"] = {"a": {"train": ["*.jsonl"], "text": "body"}}
    refused = corpus.create().produce(check=False)
    assert refused.returncode == 1, refused.stderr
    assert "all 60 records were rejected" in refused.stderr and "a.jsonl:1: " in refused.stderr
    assert "--check` shows the fields of its first record; the first reject" in refused.stderr
    assert corpus.values("a") == []
    again = corpus.produce(check=False)
    assert again.returncode == 1 and corpus.values("a") == []
    change(corpus, "text", "text")
    corpus.produce()
    assert corpus.log("a")[1] is not None


def npy(*ids):
    header = f"{{'descr': '<u4', 'fortran_order': False, 'shape': ({len(ids)},), }}".encode()
    header += b" " * (53 - len(header)) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + b"".join(i.to_bytes(4, "little") for i in ids)


@pytest.mark.parametrize("domain, command, says", [
    ({"train": ["a.jsonl"]}, "produce", "a.jsonl:1: invalid JSON at byte 0: a value is missing; it looks like no text: is it the right "
                                        "file, or compressed without .gz or .zst?; "),
    ({"exec": "printf 'hel\\033lo'"}, "produce", "; it looks like no text: "),
    ({"exec": "echo hello"}, "produce", "a value is missing; the program printed `hello`: it must print one JSON object per line; "),
    ({"train": ["t.npy"], "tokens": "npy"}, "import", "the first reject of this run: t.npy:1: a document of 250 tokens is longer than max_document_bytes"),
])
def test_records_that_are_all_rejected_name_the_command_and_what_they_are(corpus, domain, command, says):
    (corpus.folder / "a.jsonl").write_bytes(b"\x7fELF\x02\x01\nabc\n")
    (corpus.folder / "t.npy").write_bytes(npy(*range(5, 255)))
    corpus.config.update(domains={"a": domain}, max_document_bytes=512)
    corpus.create()
    refused = corpus.riffle(command, "-c", corpus.path, check=False)
    assert refused.returncode == 1, refused.stderr
    last = refused.stderr.splitlines()[-1]
    assert f"rejected, and the domain is not closed: correct domains.a or its input, then run `riffle {command}" in last, last
    assert says in last and "the fields" not in last, last


def half(n):
    """Every second line is no JSON."""
    return "".join(line + "\n" + ("{" if i % 2 else "") + "\n"
                   for i, line in enumerate(lines(texts(n, 1)).splitlines()))


def test_more_rejects_than_max_rejects_do_not_seal(corpus):
    (corpus.folder / "a.jsonl").write_text(half(60))
    corpus.config["domains"] = {"a": {"train": ["*.jsonl"]}}
    refused = corpus.create().produce(check=False)
    assert refused.returncode == 1, refused.stderr
    assert "30 of 90 records were rejected (33.3 %), more than max_rejects allows (10 %)" in refused.stderr
    assert "a.jsonl:" in refused.stderr and "` lists them all" in refused.stderr
    assert corpus.log("a")[1] is None
    assert [r["line"] for r in corpus.rejects()] == [str(i) for i in range(4, 124, 4)]  # all that the user must mend
    corpus.config["max_rejects"] = 0.5
    corpus.write()
    corpus.produce()
    assert corpus.log("a")[1] is not None


def test_an_input_that_breaks_off_is_not_sealed_and_goes_on_when_it_is_whole(corpus):
    """Nobody knows how many records are lost: no share of rejects allows that, but max_rejects: 1."""
    whole = {name: gzip.compress(lines(texts(200, i)).encode(), 6) for i, name in enumerate("abc")}
    for name, content in whole.items():
        (corpus.folder / f"{name}.gz").write_bytes(content[:2 * len(content) // 3] if name == "b" else content)
    (corpus.folder / "e.jsonl").write_text(lines(texts(200, 7)))
    program = {"exec": "cat e.jsonl; test -e whole"}
    corpus.config["domains"] = {"a": {"train": ["*.gz"]}, "e": program}
    corpus.create()
    for domain, name, cause in (("a", "b.gz", "in the middle of a member"), ("e", "exec:e", "exit status 1")):
        refused = corpus.produce(domain, check=False)
        assert refused.returncode == 1 and "the domain is not closed" in refused.stderr, refused.stderr
        assert name in refused.stderr and cause in refused.stderr and "max_rejects: 1" in refused.stderr
        assert corpus.log(domain)[1] is None
    assert len(corpus.values("a")) > 0  # what came before is there
    (corpus.folder / "b.gz").write_bytes(whole["b"])
    (corpus.folder / "whole").touch()
    corpus.produce()
    assert [(corpus.read(d)[1]["documents"], corpus.read(d)[1]["rejects"]) for d in "ae"] == [(600, 0), (200, 0)]


def test_a_file_that_is_no_text_from_its_first_byte_is_not_said_to_break_off(corpus):
    """Nothing before it means that nothing can be published; behind another file the domain can be closed without it."""
    (corpus.folder / "a.jsonl").write_text(lines(texts(200, 1)))
    for name in ("b.jsonl", "c.jsonl"):
        (corpus.folder / name).write_text(lines(texts(200, 2)), encoding="utf-16")
    corpus.config["domains"] = {"a": {"train": ["a.jsonl", "b.jsonl"]}, "c": {"train": ["c.jsonl"]}}
    corpus.create()
    said = ".jsonl: the file is UTF-16: convert it: iconv -f UTF-16 -t UTF-8 FILE > NEW. Nothing of this file is published, and the " \
           f"domain is not closed. Put a file that can be read in its place, then run `riffle produce -c {corpus.path}` again"
    for domain, more in ("a", "; it continues there. To close the domain without this file, set max_rejects: 1\n"), ("c", "\n"):
        refused = corpus.produce(domain, check=False)
        assert refused.returncode == 1 and said + more in refused.stderr, refused.stderr


def test_an_append_that_is_mostly_rejects_does_not_seal(sealed):
    (sealed.folder / "b.jsonl").write_text(half(4))
    ends = len(sealed.values("a"))
    refused = sealed.produce("--append", check=False)
    assert refused.returncode == 1 and "2 of 6 records were rejected (33.3 %)" in refused.stderr
    assert which(sealed.values("a")[-1]) == "Sequence" or len(sealed.values("a")) == ends


def test_a_domain_without_a_sequence_is_not_sealed(corpus):
    (corpus.folder / "a.jsonl").write_text(lines(["short"]))
    (corpus.folder / "b.jsonl").write_text("")
    corpus.config["domains"] = {"a": {"train": ["a.jsonl"]}}
    refused = corpus.create().produce(check=False)
    assert refused.returncode == 1 and "yields no sequence: 1 document" in refused.stderr, refused.stderr
    corpus.config["domains"] = {"a": {"train": ["b.jsonl"]}}
    corpus.write()
    refused = corpus.produce(check=False)
    assert refused.returncode == 1 and "yields no sequence: its input has no record" in refused.stderr, refused.stderr
    assert corpus.values("a") == []


def test_a_where_that_matches_nothing_is_not_sealed(corpus):
    (corpus.folder / "a.jsonl").write_text(lines(texts(60, 1)))
    corpus.config["domains"] = {"a": {"train": ["*.jsonl"], "where": {"field": "lang", "equals": "c"}}}
    refused = corpus.create().produce(check=False)
    assert refused.returncode == 1 and "yields no sequence: none of the 60 records" in refused.stderr, refused.stderr
    assert corpus.values("a") == []


def test_an_empty_domain_of_weight_0_is_closed_and_keeps_that_weight(corpus):
    (corpus.folder / "a.jsonl").write_text(lines(texts(60, 1)))
    (corpus.folder / "b.jsonl").write_text("")
    corpus.config["domains"] = {"a": {"train": ["a.jsonl"]}, "b": {"train": ["b.jsonl"]}}
    mix = corpus.config["mix"] = {"name": corpus.name + "-mix", "global_batch": 4, "lanes": 2, "max_lead_steps": 0,
                                  "weights": {"a": 1, "b": 1}}
    mixer = lambda *more: corpus.riffle("mix", "-c", corpus.path, *more, check=False)
    refused = corpus.create().produce(check=False)
    assert refused.returncode == 1 and "mix.weights" in refused.stderr and corpus.values("b") == [], refused.stderr
    mix["weights"]["b"] = 0
    corpus.write()
    assert "PRODUCE-EMPTY domain b yields no sequence: its input has no record" in corpus.produce().stderr
    assert [which(value) for value in corpus.values("b")] == ["End"]
    assert "b is complete" in corpus.produce("b").stderr
    assert mixer("--until-step", 2).returncode == 0
    assert corpus.riffle("plan", "-c", corpus.path, "--steps", 2, check=False).returncode == 0
    status = corpus.riffle("status", "-c", corpus.path, "--json").stdout
    assert not {"STATUS-EMPTY", "STATUS-UNSEALED", "STATUS-NOT-PRODUCED"} & {p["code"] for p in json.loads(status)["problem_list"]}
    mix["weights"]["b"] = 1
    corpus.write()
    refused = mixer("--accept-config", "--yes", "--until-step", 4)
    assert refused.returncode == 2 and "domain b has weight 1 and not one sequence" in refused.stderr, refused.stderr
    (corpus.folder / "b.jsonl").write_text(lines(texts(60, 2)))  # too late for this mix: its order of b is that of none
    corpus.produce("b", "--append")
    refused = mixer("--accept-config", "--yes", "--until-step", 4)
    assert refused.returncode == 2 and "domain b has weight 1, but it was empty" in refused.stderr, refused.stderr
    mix["name"] += "-2"
    corpus.create()
    assert mixer("--until-step", 4).returncode == 0


# ---- mix and status ----


def test_mix_and_status_name_what_differs(sealed):
    sealed.config["mix"] = {"name": sealed.name + "-mix", "global_batch": 8, "lanes": 2, "weights": "uniform",
                            "max_lead_steps": 0}
    sealed.write()
    sealed.riffle("topics", "-c", sealed.path, "--create")
    change(sealed, "text", "body")
    words = 'domain a was published with another configuration: text: "text" in the log, "body" in the file'
    refused = sealed.riffle("mix", "-c", sealed.path, "--until-step", 2, check=False)
    again = f"; set it back, or, if no mix draws from it yet, run `riffle produce -c {sealed.path} a --restart`"
    assert refused.returncode == 2 and words + again in refused.stderr
    assert words + again in sealed.riffle("status", "-c", sealed.path, check=False).stdout
    change(sealed, "text", "text")
    change(sealed, "train", ["*.jsonl", "*.json"])
    words = "domain a was published from another source: train: "
    assert words in sealed.riffle("status", "-c", sealed.path, check=False).stdout
    mixed = sealed.riffle("mix", "-c", sealed.path, "--until-step", 2)
    assert "MIX-SOURCE domain=a was published from another source: train: " in mixed.stderr


# ---- one domain again ----


def mixed(c, name):
    """A mix of the corpus, in a file of its own, that has published a step."""
    path = c.folder / f"{name}.yml"
    path.write_text(json.dumps({**c.config, "mix": {"name": name, "global_batch": 8, "lanes": 2, "weights": "uniform",
                                                    "max_lead_steps": 0}}))
    c.riffle("topics", "-c", path, "--create")
    c.riffle("mix", "-c", path, "--until-step", 1)
    return path


def test_restart_publishes_a_domain_again_where_no_mix_has_drawn_from_it(sealed):
    (sealed.folder / "b.jsonl").write_text(lines(texts(40, 9)))
    sealed.config["domains"] = {"a": {"train": ["a.jsonl"]}, "b": {"train": ["b.jsonl"]}}
    sealed.write()
    sealed.riffle("topics", "-c", sealed.path, "--create")
    sealed.produce("b")
    b, a = sealed.values("b"), sealed.values("a")
    (sealed.folder / "a.jsonl").write_text(lines(texts(50, 5)))
    asked = sealed.produce("a", "--restart", check=False)
    assert asked.returncode == 2 and "add --yes" in asked.stderr
    assert sealed.produce("--restart", "--yes", check=False).returncode == 2
    sealed.config["domains"]["a"]["text"] = "txet"  # what cannot be published again is not deleted
    sealed.write()
    wrong = sealed.produce("a", "--restart", "--yes", check=False)
    assert wrong.returncode == 2 and "no field `txet`" in wrong.stderr
    del sealed.config["domains"]["a"]["text"]
    assert sealed.values("a") == a
    sealed.config["utf8"] = "strict"
    sealed.write()
    sealed.produce("a", "--restart", "--yes")
    assert sealed.values("a") != a and sealed.read("a")[1]["documents"] == 50
    assert sealed.values("b") == b
    name = sealed.name + "-mix"
    sealed.config["utf8"] = "replace"
    sealed.write()
    sealed.produce("a", "--restart", "--yes")
    stopped = sealed.start("a", "--restart", "--yes")
    assert stopped.stderr.readline() == f"{sealed.name}.a\n"  # which it is about to delete
    stopped.send_signal(signal.SIGINT)
    err = stopped.communicate(timeout=60)[1]
    assert stopped.returncode == 0 and sealed.values("a") == []
    assert (f"produce: a stopped before its first document; its topic is empty: run `riffle produce -c {sealed.path} a`\n") in err
    sealed.produce("a")
    mixed(sealed, name)
    now = sealed.values("a")
    refused = sealed.produce("a", "--restart", "--yes", check=False)
    assert refused.returncode == 2 and f"mix {name} draws from domain a, and has published 1 step:" in refused.stderr
    assert sealed.values("a") == now


def test_a_split_with_a_new_set_is_named_and_no_topic_to_create(sealed):
    sealed.config["split"] = "90,5,5"  # a.valid and a.test are missing now
    sealed.write()
    refused = sealed.produce(check=False)
    assert refused.returncode == 2 and 'split: "1,0,0" in the log, "90,5,5" in the file' in refused.stderr
    assert "is missing" not in refused.stderr
    sealed.config["domains"]["b"] = {"train": ["b.jsonl"]}
    sealed.config["split"] = "1,0,0"
    (sealed.folder / "b.jsonl").write_text(lines(texts(40, 9)))
    sealed.config["domains"]["a"]["train"] = ["a.jsonl"]
    sealed.write()
    refused = sealed.produce(check=False)
    assert refused.returncode == 1 and f"1 of 3 topics are missing, the first: {sealed.name}.b: run `riffle topics" in refused.stderr
    sealed.config["corpus"] = f"{sealed.name}x"
    sealed.write()
    bootstrap = sealed.config["kafka"]["bootstrap.servers"]
    assert f"corpus {sealed.name}x has no topics on {bootstrap}: 3 of 3 topics are missing, the first: " in sealed.produce(check=False).stderr


def test_a_file_that_two_inputs_take_is_refused_before_anything_is_published(corpus):
    (corpus.folder / "a.jsonl").write_text(lines(texts(60, 1)))
    (corpus.folder / "b.jsonl").write_text(lines(texts(60, 2)))
    corpus.config["domains"] = {"a": {"train": ["a.jsonl"]}, "b": {"train": ["*.jsonl"]}, "c": {"train": ["c.jsonl"]}}
    corpus.create()
    for words in ([], ["b"]):
        refused = corpus.produce(*words, check=False)
        assert refused.returncode == 2 and "domains.b.train: a.jsonl is a file of domain a (train), too" in refused.stderr
    assert corpus.values("a") == corpus.values("b") == []
    assert re.search(rf"riffle produce: c: {corpus.path}:\d+: domains.c.train: pattern c.jsonl: matches no file",
                     corpus.produce("c", check=False).stderr)


def test_restart_does_not_delete_what_a_producer_writes(sealed):
    (sealed.folder / "live").mkdir()
    (sealed.folder / "live" / "b.jsonl").write_text(lines(texts(40, 9)))
    sealed.config["domains"]["a"]["train"] = ["a.jsonl"]
    sealed.config["domains"]["b"] = {"train": ["live/*"], "live": True}
    sealed.create()
    process = sealed.start("b", "--follow")
    wait_until(lambda: sealed.values("b"), "what the producer writes")
    before = sealed.values("b")
    refused = sealed.produce("b", "--restart", "--yes", check=False)
    assert refused.returncode == 1 and "b: another producer writes it: process " in refused.stderr
    assert f"process {process.pid} on " in refused.stderr and "End it first" in refused.stderr
    # The producer goes on meanwhile: what was there is still in front.
    assert sealed.values("b")[: len(before)] == before
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 0
    sealed.produce("b", "--restart", "--yes")


def test_delete_takes_what_is_named_and_asks_for_mixes_of_others(sealed):
    name = sealed.name + "-mix"
    path = mixed(sealed, name)
    before = sealed.values("a")
    for words in ([], ["--corpus"], ["--domain", "a"]):
        refused = sealed.riffle("topics", "-c", sealed.path, "--delete", *words, "--yes", check=False)
        assert refused.returncode == 2 and f"mix {name} draws from domain a" in refused.stderr
        assert "Delete the mix first (`riffle topics -c ITS_FILE --delete --mix`)" in refused.stderr
        assert sealed.values("a") == before
    assert sealed.riffle("topics", "-c", sealed.path, "--delete", "--domain", "x", "--yes", check=False).returncode == 2
    for words in (["topics", "--delete", "--domain"], ["produce", "--restart"]):
        refused = sealed.riffle(*words, "a", "-c", path, "--yes", check=False)
        assert refused.returncode == 2 and f"mix {name} draws from domain a" in refused.stderr
        assert f"Delete the mix first (`riffle topics -c {path} --delete --mix`)" in refused.stderr
    sealed.riffle("topics", "-c", path, "--delete", "--mix", "--yes")
    assert sealed.values("a") == before
    sealed.riffle("topics", "-c", path, "--create")
    sealed.riffle("mix", "-c", path, "--until-step", 1)
    forced = sealed.riffle("topics", "-c", sealed.path, "--delete", "--domain", "a", "--yes", "--force")
    assert f"TOPICS-MIX mix {name} draws from domain a" in forced.stderr
    assert "missing" in sealed.riffle("topics", "-c", sealed.path, check=False).stdout


def test_a_mix_of_domains_too_small_for_a_step_is_an_error(sealed):
    """Of a live domain that was sealed empty it ended before step 0 with exit 0."""
    few = len(sealed.read("a")[0])
    name = sealed.name + "-mix"
    sealed.config["domains"]["a"]["on_end"] = "stop"
    sealed.config["mix"] = {"name": name, "global_batch": 2 * few, "lanes": 2, "weights": "uniform", "max_lead_steps": 0}
    sealed.write()
    sealed.riffle("topics", "-c", sealed.path, "--create")
    refused = sealed.riffle("mix", "-c", sealed.path, check=False)
    assert refused.returncode == 1
    assert f"mix {name} would end before its first step, which takes {2 * few} sequences" in refused.stderr
    assert f"its domains have {few}, domain a {few}" in refused.stderr
    (sealed.folder / "b.jsonl").write_text(lines(texts(100, 7)))
    sealed.produce("--append")
    sealed.riffle("topics", "-c", sealed.path, "--delete", "--mix", "--create", "--yes")
    sealed.riffle("mix", "-c", sealed.path, "--until-step", 1)


def test_a_changed_tokenizer_is_seen_by_mix_status_and_plan(sealed, vocab):
    """A mixer needs no tokenizer; where its file can be read, it is that of the logs."""
    path = mixed(sealed, sealed.name + "-mix")
    began = path.read_text()
    assert "PLAN-CONFIG" not in sealed.riffle("plan", "-c", path).stderr
    other = json.loads(began)
    other["tokenizer"] = {"file": str(vocab / "cl100k_base.tiktoken"), "pattern": "cl100k", "eos": "<|endoftext|>"}
    path.write_text(json.dumps(other))
    refused = sealed.riffle("mix", "-c", path, "--until-step", 2, check=False)
    assert refused.returncode == 2, refused.stderr
    status = sealed.riffle("status", "-c", path, check=False).stdout
    for said in (refused.stderr, status, sealed.riffle("plan", "-c", path).stderr):
        assert 'tokenizer: "' in said and "cl100k_base.tiktoken)" in said, said
    produced = sealed.riffle("produce", "-c", path, check=False).stderr
    assert "that of " in produced and "cl100k_base.tiktoken is " in produced
    assert "set it back" in produced and "if no mix draws from it yet, again from its start (`riffle produce" in produced
    path.write_text(json.dumps({**json.loads(began), "sequence_length": 16}))
    assert "PLAN-CONFIG" in sealed.riffle("plan", "-c", path, check=False).stderr
    other["tokenizer"]["file"] = "is/not/there.tiktoken"
    path.write_text(json.dumps(other))
    assert "TOKENIZER" not in sealed.riffle("mix", "-c", path, "--until-step", 2).stderr
    other["tokenizer"]["file"] = str(vocab / "o200k_base.tiktoken")  # which the pattern does not go with
    path.write_text(json.dumps(other))
    for command, code in ((("mix", "--until-step", 2), 2), (("plan",), 0), (("status", "--check"), 1)):
        said = sealed.riffle(command[0], "-c", path, *command[1:], check=False)
        told = said.stdout + said.stderr
        assert said.returncode == code and "o200k_base.tiktoken: eos" in told and "pattern: o200k" in told, told
        assert command[0] == "mix" or "riffle mix would not start with this file: tokenizer" in told, told
