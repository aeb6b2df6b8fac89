"""Documents without a target (no_target): new domains leave them out and list them; logs that have begun keep their rule."""

import json
import random
import signal
import subprocess

import pytest

import token_files
from test_late import append
from test_packing import COUNT, END, pack_best_fit, pack_none, seen, wait_settled
from test_produce import EOS, LENGTH, Corpus, corpus, decode, encoding, lines, pack, set_of, tokens  # noqa: F401

EMPTY = "no target: the document has no token of its own"
MASKED = "no target: no loss is taken at any of the document's tokens"
PACKINGS = ["concat", "none", "best_fit"]


def documents_of(n, seed=1):
    """Texts of 1 to some dozen tokens, and about as many empty ones."""
    r = random.Random(seed)
    return [" ".join(r.choice(["a", "wolf", "été", "12"]) for _ in range(r.choice([0, 0, 1, 5, 40]))) for _ in range(n)]


def packed(packing, texts, encoding):
    """Tokens of the sequences that a simple packer makes of all texts but the empty ones."""
    kept = [(i, encoding.encode_ordinary(t) + [EOS], 0) for i, t in enumerate(texts) if t]
    if packing == "concat":
        return pack([t for t in texts if t], encoding)[0]
    return [s["tokens"] for s in (pack_none if packing == "none" else pack_best_fit)(kept)]


def spans(sequences, texts):
    """The numbers of the documents: the ones left out keep theirs."""
    found = {d["document"] for s in sequences for d in s["payload"]["documents"]}
    assert all(texts[i] for i in found)
    return found


def reasons(corpus):
    return [(r["domain"], int(r["line"]), r["reason"]) for r in corpus.rejects()]


def recipe_of(corpus, topic):
    """On the last record of the log."""
    out = subprocess.run(["kcat", "-C", "-q", "-e", "-b", corpus.bootstrap, "-t", f"{corpus.name}.{topic}", "-o", "-1",
                          "-f", "%h\n"], check=True, capture_output=True, timeout=60).stdout.decode(errors="replace")
    return json.JSONDecoder().raw_decode(out[out.index("riffle.recipe=") + len("riffle.recipe="):])[0]


@pytest.mark.parametrize("packing", PACKINGS)
def test_an_empty_text_is_left_out_and_listed_and_stops_no_run(corpus, encoding, packing):
    texts = documents_of(300)
    (corpus.folder / "a.jsonl").write_text(lines(texts))
    corpus.config.update(max_rejects=0, on_reject="stop")
    corpus.config["domains"] = {"file": {"train": ["a.jsonl"], "packing": packing},
                                "program": {"exec": "cat a.jsonl", "packing": packing}}
    said = corpus.create().produce().stderr
    empty = [i for i, t in enumerate(texts) if not t]
    assert len(empty) > 80
    for domain in ("file", "program"):
        sequences, end = corpus.read(domain)
        assert [tokens(s) for s in sequences] == packed(packing, texts, encoding)
        assert max(spans(sequences, texts)) > 290
        assert (end["documents"], end["rejects"], end["input"]["records"]) == (300 - len(empty), 0, 300)
        assert f"PRODUCE-NO-TARGET {domain}: left out {len(empty)} documents without a target, first " in said
    assert sorted(reasons(corpus)) == [(d, i + 1, EMPTY) for d in ("file", "program") for i in empty]
    assert f"rejects  {2 * len(empty)} at most" in corpus.riffle("status", "-c", corpus.path).stdout
    counted = corpus.riffle("rejects", "-c", corpus.path, "--reason", "no target", "--count").stdout
    assert f"file: {len(empty)} {EMPTY}" in counted
    assert recipe_of(corpus, "file")["no_target"] == "skip"


def test_prompts_and_responses(corpus, encoding):
    """An empty response is one: to say nothing. What a prompt leaves no room for has no target."""
    rows = [{"q": "Say hi", "a": "hi"}, {"q": "", "a": ""}, {"q": "Say nothing", "a": ""}, {"q": "", "a": "hi"},
            {"q": "a " * COUNT, "a": "hi"}, {"q": "a" + " a" * (COUNT - 2), "a": "hi"}]
    pair = {"packing": "none", "prompt": "q", "response": "a"}
    corpus.config["domains"] = {"cut": {**pair, "over_long": "truncate"}, "split": pair,
                                "prompt": {"packing": "none", "prompt": "q"}}
    for name, domain in corpus.config["domains"].items():
        (corpus.folder / f"{name}.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
        domain["train"] = [f"{name}.jsonl"]
    corpus.create().produce()
    for domain, kept in (("cut", {0, 2, 3, 5}), ("split", {0, 2, 3, 4, 5}), ("prompt", {0, 1, 2, 3, 4, 5})):
        assert {d["document"] for s in corpus.read(domain)[0] for d in s["payload"]["documents"]} == kept, domain
    assert sorted(reasons(corpus)) == [("cut", 2, EMPTY), ("cut", 5, MASKED), ("split", 2, EMPTY)]
    assert "no_target" not in recipe_of(corpus, "prompt")


@pytest.mark.parametrize("packing", PACKINGS)
def test_records_of_tokens(corpus, packing):
    """A prompt that is to be continued, without an eos, is kept: that is what its record is for."""
    rows = [{"tokens": [11, 12, 13], "no_loss": [[0, 2]]}, {"tokens": []}, {"tokens": [EOS]},
            {"tokens": [21, 22], "no_loss": [[0, 2]]}, {"tokens": [31, 32, EOS], "no_loss": [[0, 2]]},
            {"tokens": [41, 42], "no_loss": [[0, 2]], "eos": False}, {"tokens": [51], "eos": False},
            {"tokens": [61, 62], "no_loss": [[0, 1]]}] * 40
    (corpus.folder / "a.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    corpus.config["domains"] = {"a": {"train": ["a.jsonl"], "tokens": "jsonl", "packing": packing}}
    corpus.create().riffle("import", "-c", corpus.path)
    without = {1: EMPTY, 2: EMPTY, 3: MASKED, **({} if packing == "concat" else {6: MASKED})}
    sequences, end = corpus.read("a")
    found = {d["document"] % 8 for s in sequences for d in s["payload"]["documents"]}
    assert found == set(range(8)) - set(without) and end["documents"] == 40 * len(found)
    assert reasons(corpus) == [("a", i + 1, without[i % 8]) for i in range(320) if i % 8 in without]


@pytest.mark.parametrize("form", ["megatron", "ds", "npy", "llmc"])
def test_files_of_tokens(corpus, encoding, form):
    texts = documents_of(200)
    ids = [encoding.encode_ordinary(t) for t in texts]
    name, more = {
        "megatron": lambda: (token_files.megatron(corpus.folder, "t", ids, 2), {}),
        "ds": lambda: (token_files.ds(corpus.folder, "t", ids, 2), {}),
        "npy": lambda: (token_files.npy(corpus.folder, "t", ids, 2, EOS), {"token_bytes": 2}),
        "llmc": lambda: (token_files.llmc(corpus.folder, "t", ids, 2, EOS), {})}[form]()
    corpus.config["max_rejects"] = 0
    corpus.config["domains"] = {"a": {"train": [name], "tokens": form, **more}}
    corpus.create().riffle("import", "-c", corpus.path)
    sequences, end = corpus.read("a")
    assert [tokens(s) for s in sequences] == packed("concat", texts, encoding)
    assert spans(sequences, texts) and end["rejects"] == 0
    assert len(corpus.rejects()) == sum(not t for t in texts)


def test_sets_and_domains_of_one_input_each_have_their_own(corpus, encoding):
    """Two domains share an input: only the published one lists its documents. Held-out sets follow the same rule."""
    texts = documents_of(400, 3)
    rows = [{"text": t, "kind": "xy"[i % 2]} for i, t in enumerate(texts)]
    (corpus.folder / "a.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    corpus.config["split"] = "8,2,0"
    corpus.config["domains"] = {k: {"train": ["a.jsonl"], "where": {"field": "kind", "equals": k}} for k in "xy"}
    corpus.create().produce("x")
    empty = [("x", i + 1, EMPTY) for i in range(0, 400, 2) if not texts[i]]
    assert reasons(corpus) == empty
    corpus.produce()
    assert reasons(corpus) == empty + [("y", i + 1, EMPTY) for i in range(1, 400, 2) if not texts[i]]
    for k in range(2):
        for part, suffix in enumerate(("", ".valid")):
            mine = [t for t in texts[k::2] if t and set_of(t, (8, 2, 0)) == part]
            assert [tokens(s) for s in corpus.read("xy"[k] + suffix)[0]] == pack(mine, encoding)[0]


def test_a_domain_of_nothing_else_is_not_closed(corpus):
    (corpus.folder / "a.jsonl").write_text(lines([""] * 9))
    corpus.config["domains"] = {"a": {"train": ["a.jsonl"]}}
    failed = corpus.create().produce(check=False)
    assert failed.returncode == 1 and "only documents without a target, 9, which are left out" in failed.stderr
    corpus.config["domains"]["a"]["no_target"] = "keep"
    corpus.config["sequence_length"] = 4
    corpus.write()
    corpus.produce()
    assert [tokens(s) for s in corpus.read("a")[0]] == [[EOS] * 5] * 2


def logs_of(c):
    return {(d, part): c.log(d + part) for d in c.config["domains"] for part in ("", ".valid")}


@pytest.fixture(scope="module")
def calm(tmp_path_factory, bootstrap, vocab):
    made = Corpus(tmp_path_factory.mktemp("no_target"), bootstrap, vocab)
    made.texts = documents_of(1500, 5)
    for p in PACKINGS:
        (made.folder / f"{p}.jsonl").write_text(lines(made.texts))
    made.config.update(split="8,2,0", max_rejects=0)
    made.config["domains"] = {p: {"train": [f"{p}.jsonl"], "packing": p} for p in PACKINGS}
    made.create().produce()
    made.logs = logs_of(made)
    return made


@pytest.mark.parametrize("packing", PACKINGS)
def test_kill_9_again_and_again_leaves_the_undisturbed_log_and_loses_no_reject(calm, packing):
    stormy = calm.copy()
    for passes in (3, 40, 1, 90, 7):
        died = stormy.produce(packing, check=False, env={"RIFFLE_FAULT": f"produce.after_publish:{passes}"})
        assert died.returncode in (-signal.SIGKILL, 1)
        wait_settled(stormy, packing)
    died = stormy.produce(packing, check=False, env={"RIFFLE_FAULT": "produce.before_end:1"})
    assert died.returncode in (-signal.SIGKILL, 0)
    stormy.finish()
    assert logs_of(stormy) == calm.logs
    listed = [line for domain, line, reason in reasons(stormy) if domain == packing and reason == EMPTY]
    assert set(listed) == {i + 1 for i, t in enumerate(calm.texts) if not t}


def test_a_document_that_is_left_out_is_listed_before_a_sequence_after_it(corpus):
    """A resume after that sequence does not read the document again, and only the topic of rejects knows of it."""
    (corpus.folder / "a.jsonl").write_text(lines([""] * 400 + ["word " * 500]))
    corpus.config["domains"] = {"a": {"train": ["a.jsonl"]}}
    died = corpus.create().produce(check=False, env={"RIFFLE_FAULT": "produce.after_publish:1"})
    assert died.returncode == -signal.SIGKILL
    assert len(corpus.rejects()) == 400
    corpus.produce()
    assert {line for _, line, _ in reasons(corpus)} == set(range(1, 401))


@pytest.mark.parametrize("packing", PACKINGS)
def test_a_live_domain_leaves_them_out_as_they_arrive(corpus, encoding, packing):
    texts = documents_of(600, 8)
    (corpus.folder / "a.jsonl").write_text(lines(texts[:300]))
    corpus.config["domains"] = {"a": {"train": ["a.jsonl"], "packing": packing, "live": True}}
    corpus.create().produce()
    (corpus.folder / "a.jsonl").write_text(lines(texts))
    corpus.produce("--seal")
    sequences, _ = corpus.read("a")
    assert [tokens(s) for s in sequences] == packed(packing, texts, encoding)
    assert {line for _, line, _ in reasons(corpus)} == {i + 1 for i, t in enumerate(texts) if not t}


def kept(packing, texts, encoding):
    """As a log that keeps such documents has them."""
    everything = [(i, encoding.encode_ordinary(t) + [EOS], 0) for i, t in enumerate(texts)]
    if packing == "concat":
        return pack(texts, encoding)[0]
    return [s["tokens"] for s in (pack_none if packing == "none" else pack_best_fit)(everything)]


@pytest.mark.parametrize("packing", PACKINGS)
def test_a_log_that_keeps_them_continues_so_without_the_key(corpus, encoding, packing):
    """The recipe of a log begun with `keep` lacks the key, like those of releases before the key."""
    texts = documents_of(300, 6)
    begun = texts if packing == "best_fit" else texts[:150]  # a window must be whole
    (corpus.folder / "a.jsonl").write_text(lines(begun))
    corpus.config["domains"] = {"a": {"train": ["a.jsonl"], "packing": packing, "no_target": "keep"}}
    died = corpus.create().produce(check=False, env={"RIFFLE_FAULT": "produce.before_end:1"})
    assert died.returncode == -signal.SIGKILL and corpus.log("a")[1] is None
    (corpus.folder / "a.jsonl").write_text(lines(texts))
    corpus.config["domains"]["a"]["no_target"] = "skip"
    corpus.write()
    refused = corpus.produce(check=False)
    assert refused.returncode == 2 and 'no_target: nothing in the log, "skip" in the file' in refused.stderr
    del corpus.config["domains"]["a"]["no_target"]
    corpus.write()
    said = corpus.produce().stderr
    assert "PRODUCE-NO-TARGET" not in said and corpus.rejects() == []
    assert [tokens(s) for s in corpus.read("a")[0]] == kept(packing, texts, encoding)
    assert "no_target" not in recipe_of(corpus, "a")
    (corpus.folder / "b.jsonl").write_text(lines(texts[:100]))
    corpus.config["domains"]["a"]["train"].append("b.jsonl")
    corpus.write()
    corpus.produce("--append")
    found = [s for s in map(decode, (v for v in corpus.values("a") if v[2:10] != END))]
    assert [tokens(s) for s in found] == kept(packing, texts, encoding) + kept(packing, texts[:100], encoding)
    assert corpus.rejects() == []


def test_a_log_without_a_recipe_keeps_them(corpus, encoding, tools):
    texts = documents_of(300, 8)
    (corpus.folder / "a.jsonl").write_text(lines(texts[:150]))
    corpus.config["domains"] = {"a": {"train": ["a.jsonl"], "no_target": "keep"}}
    died = corpus.create().produce(check=False, env={"RIFFLE_FAULT": "produce.before_end:1"})
    assert died.returncode == -signal.SIGKILL
    values = corpus.values("a")
    del corpus.config["domains"]["a"]["no_target"]
    (corpus.folder / "a.jsonl").write_text(lines(texts))
    bare = corpus.copy()
    append(bare, tools, values)
    said = bare.produce().stderr
    assert len(values) > 20 and "PRODUCE-NO-TARGET" not in said and bare.rejects() == []
    assert [tokens(s) for s in bare.read("a")[0]] == kept("concat", texts, encoding)


def test_an_append_continues_by_the_rule_of_its_log(corpus, encoding):
    texts = documents_of(300, 7)
    (corpus.folder / "a.jsonl").write_text(lines(texts))
    corpus.config["domains"] = {"a": {"train": ["*.jsonl"]}}
    corpus.create().produce()
    (corpus.folder / "b.jsonl").write_text(lines(texts))
    corpus.produce("--append")
    found = [decode(v) for v in corpus.values("a") if v[2:10] != END]
    assert [tokens(s) for s in found] == 2 * packed("concat", texts, encoding)
    assert len(corpus.rejects()) == 2 * sum(not t for t in texts)
    corpus.config["domains"]["a"]["no_target"] = "keep"
    corpus.write()
    refused = corpus.produce("--append", check=False)
    assert refused.returncode == 2 and 'no_target: "skip" in the log, "keep" in the file' in refused.stderr
    assert "no_target" in corpus.riffle("status", "-c", corpus.path, check=False).stdout
