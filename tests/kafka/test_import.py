"""riffle import on a real broker: token files made by numpy and struct become the domain that their text becomes.

The documents are tokenised by tiktoken; what riffle produce makes of the same text is what import must make of the
tokens, frame by frame.
"""

import json
import re
import signal
import struct

import numpy
import pytest

import token_files
from late import past_late
from test_produce import (EOS, LENGTH, Corpus, corpus, decode, encoding, lines, pack, texts, tokens)  # noqa: F401

SETS = ("a", "a.valid", "a.test")


def ids_of(encoding, documents):
    return [encoding.encode_ordinary(d) for d in documents]


def write(form, folder, name, ids, width=2):
    """A file in one of the ways of its format; gives its name and the domain's further keys."""
    kind, _, way = form.partition("-")
    if kind == "jsonl":  # an eos at the end is the document's own
        own = {"eos": [EOS], "": []}[way]
        (folder / f"{name}.jsonl").write_text("".join(json.dumps({"tokens": i + own}) + "\n" for i in ids))
        return f"{name}.jsonl", {}
    if kind == "megatron":
        more = {"eod": {"eos": EOS}, "sentences": {"sequences": 3}, "": {}}[way]
        return token_files.megatron(folder, name, ids, width, **more), {}
    if kind == "ds":
        more = {"eos": {"eos": EOS}, "bare": {"eos": EOS, "index": False, "metadata": False}, "": {}}[way]
        return token_files.ds(folder, name, ids, width, **more), {"token_bytes": width} if way == "bare" else {}
    if kind == "npy":
        more = {"header": {"header": True}, "open": {"last_eos": False}, "": {}}[way]
        return token_files.npy(folder, name, ids, width, EOS, **more), {} if way == "header" else {"token_bytes": width}
    return token_files.llmc(folder, name, ids, width, EOS), {}


FORMS = ["megatron", "megatron-eod", "megatron-sentences", "ds", "ds-eos", "ds-bare", "npy", "npy-header", "npy-open",
         "llmc", "jsonl", "jsonl-eos"]


def domain(form, names, more, **keys):
    return {"train": names, "tokens": form.partition("-")[0], **more, **keys}


def run(c, *words, **more):
    return c.riffle("import", "-c", c.path, *words, **more)


def finish(c, *words, **more):
    """To its end after a kill: what the killed one had sent can still land behind where the next one began."""
    past_late(lambda: run(c, *words, check=False, **more))


def frames(c, suffix, lane=0):
    """What does not name files: tokens and documents of every sequence, and the End's counts."""
    sequences, end = c.read(suffix, lane)
    return ([(s["ordinal"], s["tokenizer"], s["payload"]["frame"], s["payload"]["used"], s["payload"]["no_loss"],
              [(d["start"], d["document"], d["offset"]) for d in s["payload"]["documents"]]) for s in sequences],
            {k: end[k] for k in ("sequences", "tokens", "dropped", "documents", "rejects", "tokenizer")})


@pytest.fixture(scope="module")
def produced(tmp_path_factory, bootstrap, vocab):
    """Documents, some of them empty, and the frames of the three sets that their text becomes."""
    documents = texts(70, 1) + [""] + texts(30, 2) + ["", ""] + texts(40, 3)
    c = Corpus(tmp_path_factory.mktemp("produced"), bootstrap, vocab)
    c.config.update(split="6,3,1", domains={"a": {"train": ["a.jsonl"]}})
    (c.folder / "a.jsonl").write_text(lines(documents))
    c.create().produce()
    return documents, {suffix: frames(c, suffix) for suffix in SETS}


@pytest.mark.parametrize("width", [2, 4])
@pytest.mark.parametrize("form", FORMS)
def test_every_format_becomes_what_its_text_becomes(corpus, encoding, produced, form, width):
    """Two files, empty documents among them, split into three sets, which depends on the text alone."""
    documents, expected = produced
    ids = ids_of(encoding, documents)
    corpus.config["split"] = "6,3,1"
    names = [write(form, corpus.folder, f"t{i}", part, width) for i, part in enumerate((ids[:100], ids[100:]))]
    corpus.config["domains"] = {"a": domain(form, [n for n, _ in names], names[0][1])}
    corpus.create()
    for _ in range(2):  # the second time it is complete
        run(corpus)
        for suffix in SETS:
            assert frames(corpus, suffix) == expected[suffix], suffix


@pytest.mark.parametrize("packing", ["none", "best_fit"])
@pytest.mark.parametrize("form", ["megatron", "npy", "llmc"])
def test_packing_is_the_domains(corpus, encoding, packing, form):
    documents = texts(80, 4)
    (corpus.folder / "a.jsonl").write_text(lines(documents))
    corpus.config["domains"] = {"a": {"train": ["a.jsonl"], "packing": packing}}
    corpus.create().produce()
    other = corpus.copy()
    name, more = write(form, corpus.folder, "t", ids_of(encoding, documents))
    other.config["domains"] = {"a": domain(form, [name], more, packing=packing)}
    other.write()
    run(other)
    assert frames(other, "a") == frames(corpus, "a")


def test_held_out_files_and_lanes(corpus, encoding):
    parts = [texts(30, i) for i in range(5)]
    names = [write("ds-eos", corpus.folder, f"t{i}", ids_of(encoding, p))[0] for i, p in enumerate(parts)]
    corpus.config["domains"] = {"a": {"train": ["t[0-3].ds"], "valid": [names[4]], "tokens": "ds", "partitions": 2}}
    corpus.create()
    run(corpus, "a", "--partition", "1/2")
    run(corpus, "a", "--lane", "0/2")
    for lane in range(2):
        expected = pack(parts[lane] + parts[lane + 2], encoding)[0]
        assert [tokens(s) for s in corpus.read("a", lane)[0]] == expected
    # Files of a lane are every n-th: the one file for validation is lane 0's.
    assert [tokens(s) for s in corpus.read("a.valid", 0)[0]] == pack(parts[4], encoding)[0]
    assert corpus.read("a.valid", 1)[0] == []


POINTS = ["produce.after_publish:1", "produce.after_publish:17", "produce.before_end:1"]  # at which the reader of a format resumes
OTHER_POINTS = ["produce.before_publish:1", "produce.after_publish:60", "produce.after_end:1"]  # which are the same for all formats


@pytest.mark.parametrize("form, packing", [(f, "concat") for f in FORMS if f != "npy-open"] + [("megatron", "best_fit"),
                                                                                                 ("llmc", "none")])
def test_kill_9_leaves_the_undisturbed_log(corpus, encoding, form, packing):
    documents = texts(90, 5) + ["", ""] + texts(90, 6)
    ids = ids_of(encoding, documents)
    names = [write(form, corpus.folder, f"t{i}", ids[i * 61:i * 61 + 61]) for i in range(3)]
    corpus.config["split"] = "7,2,1"
    corpus.config["domains"] = {"a": domain(form, [n for n, _ in names], names[0][1], packing=packing)}
    corpus.create()
    run(corpus)
    stormy = corpus.copy()
    for point in POINTS + (OTHER_POINTS if form == "megatron" else []):
        died = run(stormy, check=False, env={"RIFFLE_FAULT": point})
        assert died.returncode in (-signal.SIGKILL, 0) or "another producer" in died.stderr
    finish(stormy)
    for suffix in SETS:
        assert stormy.log(suffix) == corpus.log(suffix), suffix


@pytest.mark.parametrize("form", FORMS)
def test_appended_files_go_behind_the_end(corpus, encoding, form):
    one, two = texts(40, 7), texts(40, 8)
    name, more = write(form, corpus.folder, "t1", ids_of(encoding, one))
    pattern = f"t*.{name.rsplit('.', 1)[1]}"
    corpus.config["domains"] = {"a": domain(form, [pattern], more)}
    corpus.create()
    run(corpus)
    write(form, corpus.folder, "t2", ids_of(encoding, two))
    run(corpus)
    assert corpus.read("a")[1]["documents"] == 40
    run(corpus, "--append")
    values = [decode(v) for v in corpus.values("a")]
    sequences = [v for v in values if "payload" in v]
    assert [tokens(s) for s in sequences] == pack(one, encoding)[0] + pack(two, encoding)[0]
    assert values[-1]["documents"] == 80 and values[-1]["input"]["files"] == 2
    corpus.config["sequence_length"] += 1
    corpus.write()
    refused = run(corpus, "--append", check=False)
    assert refused.returncode == 2 and f"`riffle import -c {corpus.path} a --restart`" in refused.stderr, refused.stderr


def test_an_id_outside_the_vocabulary_is_an_error_with_its_place(corpus, encoding):
    for width, bad in ((2, 50257), (4, 50257), (4, 1 << 20)):
        for form in ("megatron", "ds", "npy", "llmc"):
            name, more = write(form, corpus.folder, "bad", [[1, 2, 3], [4, bad, 5]], width)
            at = {"megatron": 4, "ds": 4, "npy": 5, "llmc": 6}[form]
            byte = at * width + (1024 if form == "llmc" else 0)
            corpus.config["domains"] = {"a": domain(form, [name], more)}
            corpus.create()
            done = run(corpus, check=False)
            assert done.returncode == 1
            assert f"{name}: token {at} (byte {byte}) is {bad}" in done.stderr, done.stderr


def test_a_negative_id_is_an_error(corpus):
    token_files.megatron(corpus.folder, "bad", [[1, 2], [3, -7]], 4)
    corpus.config["domains"] = {"a": {"train": ["bad.bin"], "tokens": "megatron"}}
    corpus.create()
    done = run(corpus, check=False)
    assert done.returncode == 1 and "bad.bin: token 3 (byte 12) is -7" in done.stderr


def test_a_document_that_is_too_long_is_a_reject_with_its_place(corpus, encoding):
    corpus.config.update(max_document_bytes=200, max_rejects=0.5)
    for form in ("megatron", "npy", "llmc"):
        name, more = write(form, corpus.folder, "long", [[1] * 50, list(range(101)), [2] * 100, [3] * 5000, [4] * 70])
        corpus.config["domains"] = {"a": domain(form, [name], more)}
        corpus = corpus.copy()
        run(corpus)
        rejects = corpus.rejects()
        assert [r["line"] for r in rejects] == ["2", "4"]
        assert "a document of 101 tokens is longer than max_document_bytes, 200" in rejects[0]["reason"]
        assert rejects[0]["value"] == numpy.arange(101, dtype="<u4").tobytes()
        sequences, end = corpus.read("a")
        assert end["documents"] == 3 and end["rejects"] == 2
        kept = [1] * 50 + [EOS] + [2] * 100 + [EOS] + [4] * 70 + [EOS]
        assert [tokens(s) for s in sequences] == [kept[i:i + LENGTH + 1] for i in range(0, len(kept) - LENGTH, LENGTH)]


def cut(path, n):
    path.write_bytes(path.read_bytes()[:n])


def patch(path, at, new):
    old = path.read_bytes()
    path.write_bytes(old[:at] + new + old[at + len(new):])


def patch_end(path, more):
    path.write_bytes(path.read_bytes() + more)


@pytest.fixture(scope="module")
def topics(tmp_path_factory, bootstrap, vocab):
    """A corpus with one domain, in which nothing is ever published."""
    c = Corpus(tmp_path_factory.mktemp("topics"), bootstrap, vocab)
    c.config["domains"] = {"a": {"train": ["t"]}}
    return c.create()


@pytest.mark.parametrize("form, change, code, why", [
    ("megatron", lambda d: (d / "t.idx").unlink(), 1, "t.idx: cannot be opened"),
    ("megatron", lambda d: cut(d / "t.idx", 20), 1, "t.idx: is truncated"),
    ("megatron", lambda d: cut(d / "t.idx", 60), 1, "do not fit its 60 bytes"),
    ("megatron", lambda d: patch(d / "t.idx", 0, b"X"), 1, "does not begin with MMIDIDX"),
    ("megatron", lambda d: patch(d / "t.idx", 9, b"\x02"), 1, "version 2 is not known"),
    ("megatron", lambda d: patch(d / "t.idx", 17, b"\x07"), 1, "type 7 of its tokens"),
    ("megatron", lambda d: patch(d / "t.idx", 17, b"\x63"), 1, "type 99 of its tokens"),
    ("megatron", lambda d: patch(d / "t.idx", 18, b"\xff" * 8), 1, "do not fit"),
    ("megatron", lambda d: patch(d / "t.idx", 26, b"\x00" * 8), 1, "do not fit"),
    ("megatron", lambda d: patch(d / "t.idx", 34, b"\xff\xff\xff\xff"), 1,
     "t.idx: its sequences have 4294967301 tokens, and t.bin has 9 of 2 bytes"),
    ("megatron", lambda d: patch(d / "t.idx", 34, b"\x02"), 1, "t.idx: its sequences have 8 tokens, and t.bin has 9"),
    ("megatron", lambda d: patch(d / "t.idx", 17, b"\x04"), 1, "no multiple of 4"),
    ("megatron", lambda d: token_files.megatron(d, "t", [[1, 2], [3]]) and patch_end(d / "t.bin", b"\4\0\5\0\6\0"), 1,
     "t.idx: its sequences have 3 tokens, and t.bin has 6 of 2 bytes: the index is not of this file; make both again"),
    ("megatron", lambda d: (d / "t.idx").write_bytes(b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, 8, 0, 1) + bytes(8)), 1,
     "t.idx: its sequences have 0 tokens, and t.bin has 9 of 2 bytes"),
    ("megatron", lambda d: patch(d / "t.idx", 34 + 12, b"\xff" * 8), 1, "a sequence that does not lie in the file"),
    ("megatron", lambda d: patch(d / "t.idx", 34 + 36 + 8, b"\x63"), 1, "has no range of sequences"),
    ("megatron", lambda d: patch(d / "t.idx", 34 + 36 + 24, b"\x63"), 1, "its documents are sequences 0 to 99"),
    ("megatron", lambda d: (d / "t.idx").write_bytes((d / "t.idx").read_bytes() + b"\0\0\0"), 1, "multimodal"),
    ("megatron", lambda d: (d / "t.idx").write_bytes((d / "t.idx").read_bytes() + b"\0"), 1, "bytes of tables"),
    ("megatron", lambda d: cut(d / "t.bin", 9), 1, "no multiple of 2"),
    ("megatron", lambda d: cut(d / "t.bin", 8), 1, "t.idx: its sequences have 9 tokens, and t.bin has 4 of 2 bytes"),
    ("ds", lambda d: cut(d / "t.ds.index", 20), 1, "no multiple of 8"),
    ("ds", lambda d: patch(d / "t.ds.index", 16, b"\x01"), 1, "its last document ends at token 1"),
    ("ds", lambda d: patch(d / "t.ds.index", 8, b"\x01"), 1, "ends before it begins"),
    ("ds", lambda d: patch(d / "t.ds.index", 8, b"\xff" * 8), 1, "or behind the file"),
    ("ds", lambda d: cut(d / "t.ds", 7), 1, "no multiple of 2"),
    ("ds", lambda d: (d / "t.ds.metadata").unlink(), 2, "give the domain token_bytes"),
    ("npy-header", lambda d: patch(d / "t.npy", 6, b"\x09"), 1, "version 9 of NumPy's format"),
    ("npy-header", lambda d: patch(d / "t.npy", 8, b"\xff\xff"), 1, "too long"),
    ("npy-header", lambda d: cut(d / "t.npy", 140), 1, "its header says"),
    ("npy-header", lambda d: numpy.save(d / "t.npy", numpy.zeros(4, dtype=">u2")), 1, "says another type"),
    ("npy-header", lambda d: numpy.save(d / "t.npy", numpy.zeros(4, dtype="f4")), 1, "says another type"),
    ("npy-header", lambda d: numpy.save(d / "t.npy", numpy.zeros((2, 2), dtype="u2")), 1, "says another shape"),
    ("npy-header", lambda d: numpy.save(d / "t.npy", numpy.uint16(7)), 1, "says another shape"),
    ("llmc", lambda d: cut(d / "t.bin", 1000), 1, "t.bin: is truncated"),
    ("llmc", lambda d: patch(d / "t.bin", 0, b"\x00"), 1, "is no file of llm.c's tokens"),
    ("llmc", lambda d: patch(d / "t.bin", 4, b"\x07"), 1, "is no file of llm.c's tokens"),
    ("llmc", lambda d: patch(d / "t.bin", 8, struct.pack("<i", 99)), 1, "its header says 99 tokens"),
])
def test_damaged_files_are_refused_with_what_is_wrong(topics, tmp_path, form, change, code, why):
    name, more = write(form, tmp_path, "t", [[1, 2, 3], [4, 5], [6, 7, 8, 9]])
    change(tmp_path)
    topics.folder, topics.path = tmp_path, tmp_path / "run.yml"
    topics.config["domains"] = {"a": domain(form, [name], more)}
    topics.write()
    done = run(topics, check=False)
    assert done.returncode == code and why in done.stderr, done.stderr


IDS = [[100 + i, 40000 - i, 7] for i in range(40)]  # none is 0


def as_array(width, ids=IDS):
    return numpy.array([i for d in ids for i in d + [EOS]], dtype=f"<u{width}")


@pytest.mark.parametrize("array, keys, says", [
    (as_array(4), {"token_bytes": 2}, "has 2 bytes a token, and every second of its tokens is 0: they may have 4 bytes"),
    (as_array(8), {"token_bytes": 4}, "has 4 bytes a token, and every second of its tokens is 0: they may have 8 bytes"),
    (as_array(8), {"token_bytes": 2}, "has 2 bytes a token, and every second of its tokens is 0: they may have 4 bytes"),
    (as_array(4).astype(">u4"), {"token_bytes": 2}, "has 2 bytes a token, and every second"),
    (as_array(4, IDS * 3 + [[0] * 20]), {"token_bytes": 2}, "has 2 bytes a token, and every second"),
    (as_array(4, [[5] * 7 + [EOS] * 8]), {"token_bytes": 2}, "has 2 bytes a token, and every second"),  # 32 tokens
    (as_array(4, [[5] * 7 + [EOS] * 7]), {"token_bytes": 2}, None),                               # 30
    (as_array(2), {"token_bytes": 2}, None),
    (as_array(4), {"token_bytes": 4}, None),
    (as_array(2, IDS + [[0] * 1000]), {"token_bytes": 2}, None),
    (as_array(2, [[0] * 4000]), {"token_bytes": 2}, None),
    (as_array(2, [[i % 5 // 2, 0, 9] for i in range(40)]), {"token_bytes": 2}, None),
])
def test_tokens_that_seem_to_be_of_another_width_are_warned_of(corpus, array, keys, says):
    array.tofile(corpus.folder / "t.npy")
    corpus.config["domains"] = {"a": {"train": ["t.npy"], "tokens": "npy", **keys}}
    corpus.create()
    for command in (("config", "--check"), ("import",), ("import", "a", "--restart", "--yes")):
        done = corpus.riffle(*command, "-c", corpus.path, check=False)  # a byte-swapped id may be none of the vocabulary
        warned = [line for line in done.stderr.splitlines() if "INPUT-TOKEN-WIDTH" in line]
        assert len(warned) == (says is not None), done.stderr
        assert says is None or "file=t.npy " + says in warned[0]


def test_tokens_of_too_few_bytes_for_the_vocabulary_are_warned_of(corpus):
    """16-bit tokens under an index that says 8: each byte is an id, and eos is never among them."""
    token_files.megatron(corpus.folder, "t", [list(numpy.array(d, dtype="<u2").tobytes()) for d in IDS], 1)
    corpus.config["domains"] = {"a": {"train": ["t.bin"], "tokens": "megatron"}}
    corpus.create()
    assert "INPUT-TOKEN-WIDTH file=t.bin has 1 byte a token, too few for the 50257 ids of the vocabulary" in run(corpus).stderr


@pytest.mark.parametrize("entries, warned", [(256, False), (257, True)])
def test_a_vocabulary_may_have_an_id_for_each_value_of_a_token(corpus, entries, warned):
    eos = {"id": entries - 1, "content": "<|endoftext|>", "single_word": False, "lstrip": False, "rstrip": False,
           "normalized": False, "special": True}
    (corpus.folder / "t.json").write_text(json.dumps({
        "added_tokens": [eos], "normalizer": None, "pre_tokenizer": None, "post_processor": None, "decoder": None,
        "model": {"type": "BPE", "vocab": {chr(0x4E00 + i): i for i in range(entries - 1)}, "merges": []}}))
    corpus.config["tokenizer"] = {"file": "t.json", "eos": "<|endoftext|>"}
    token_files.megatron(corpus.folder, "t", [list(range(100))], 1)
    corpus.config["domains"] = {"a": {"train": ["t.bin"], "tokens": "megatron"}}
    corpus.create()
    assert ("INPUT-TOKEN-WIDTH" in run(corpus).stderr) == warned


@pytest.mark.parametrize("form", ["megatron", "ds-eos", "npy", "llmc"])
def test_other_data_than_the_run_began_with_are_refused(corpus, encoding, form):
    ids = ids_of(encoding, texts(60, 9))
    name, more = write(form, corpus.folder, "t", ids)
    corpus.config["domains"] = {"a": domain(form, [name], more)}
    corpus.create()
    died = run(corpus, check=False, env={"RIFFLE_FAULT": "produce.before_end"})  # all but the End is delivered
    assert died.returncode == -signal.SIGKILL
    write(form, corpus.folder, "t", ids[1:])
    done = run(corpus, check=False)
    assert done.returncode == 1 and ("begin at byte" in done.stderr or "has changed since" in done.stderr), done.stderr
    write(form, corpus.folder, "t", ids)
    finish(corpus)
    assert corpus.read("a")[1]["documents"] == 60


@pytest.mark.parametrize("keys, why", [
    ({"tokens": "megatron", "exec": "true"}, "exec: cannot be given beside tokens"),
    ({"tokens": "megatron", "train": ["x"], "where": {"field": "a", "equals": "b"}}, "which have no fields"),
    ({"tokens": "ds", "train": ["x"], "text": "body"}, "which are there already"),
    ({"tokens": "jsonl", "train": ["x"], "packing": "none", "prompt": "q"}, "tokens: jsonl has its field no_loss"),
    ({"tokens": "jsonl", "train": ["x"], "packing": "none", "keep": ["id"]}, "tokens: jsonl has its field keep"),
    ({"tokens": "ds", "train": ["x"], "live": True}, "their files are complete"),
    ({"tokens": "jsonl", "train": ["x"], "live": True}, "their files are complete"),
    ({"tokens": "llmc", "train": ["x"], "token_bytes": 2}, "has no effect without tokens: npy or ds"),
    ({"train": ["x"], "token_bytes": 2}, "has no effect without tokens: npy or ds"),
    ({"tokens": "bin", "train": ["x"]}, "domains.a.tokens"),
    ({"tokens": "npy", "train": ["x"], "token_bytes": 3}, "domains.a.token_bytes"),
])
def test_keys_that_do_not_go_together(corpus, keys, why):
    corpus.config["domains"] = {"a": keys}
    corpus.write()
    done = corpus.riffle("config", "--check", "-c", corpus.path, check=False)
    assert done.returncode == 2 and why in done.stderr, done.stderr


def test_produce_and_import_share_a_configuration(corpus, encoding):
    documents = texts(40, 10)
    (corpus.folder / "a.jsonl").write_text(lines(documents))
    token_files.npy(corpus.folder, "b", ids_of(encoding, documents), 2, EOS)
    corpus.config["domains"] = {"a": {"train": ["a.jsonl"]},
                                "b": {"train": ["b.npy"], "tokens": "npy", "token_bytes": 2}}
    corpus.create()
    assert "domain=b holds tokens" in corpus.produce().stderr
    assert f"domain b has no sequences yet: run `riffle import -c {corpus.path} b`" in corpus.riffle("status", "-c", corpus.path).stdout
    run(corpus)
    assert frames(corpus, "a") == frames(corpus, "b")
    for command, name, other in (("produce", "b", "import"), ("import", "a", "produce")):
        done = corpus.riffle(command, "-c", corpus.path, name, check=False)
        assert done.returncode == 2 and f"`riffle {other} -c {corpus.path} {name}` publishes it" in done.stderr
    del corpus.config["domains"]["b"]
    corpus.write()
    done = run(corpus, check=False)
    assert done.returncode == 2 and "nothing to import" in done.stderr


def test_token_bytes_must_not_contradict_the_file(corpus):
    token_files.ds(corpus.folder, "t", [[1, 2]], 2)
    token_files.npy(corpus.folder, "u", [[1, 2]], 2, header=True)
    for kind, name in (("ds", "t.ds"), ("npy", "u.npy")):
        corpus.config["domains"] = {"a": {"train": [name], "tokens": kind, "token_bytes": 4}}
        corpus.create()
        done = run(corpus, check=False)
        assert done.returncode == 2 and "says 2 bytes a token" in done.stderr, done.stderr


def test_what_tokenize_prints_is_what_import_reads(corpus):
    documents = texts(60, 4)
    (corpus.folder / "a.jsonl").write_text(lines(documents))
    tokenizer = corpus.config["tokenizer"]
    printed = corpus.riffle("tokenize", "--tokenizer", tokenizer["file"], "--pattern", tokenizer["pattern"],
                            corpus.folder / "a.jsonl").stdout
    (corpus.folder / "t.jsonl").write_text(printed)
    corpus.config["domains"] = {"a": {"train": ["a.jsonl"]}, "b": {"train": ["t.jsonl"], "tokens": "jsonl"}}
    corpus.create().produce()
    run(corpus)
    assert frames(corpus, "a") == frames(corpus, "b")


@pytest.mark.parametrize("packing", ["concat", "none", "best_fit"])
def test_masks_and_kept_objects_come_with_the_tokens(corpus, packing):
    """Two turns of a chat; a document that is all prompt, with and without an eos of its own; one without a mask."""
    records = [
        {"tokens": [11, 12, 13, 14, 15, 16], "no_loss": [[0, 2], [4, 5]], "keep": {"id": 7, "x": ["a", " b"]}},
        {"no_loss": [[0, 3]], "tokens": [21, 22, 23]},
        {"tokens": [31, 32, EOS], "no_loss": [[1, 2], [0, 1], [2, 3]], "keep": None},
        {"tokens": [41, 42], "no_loss": None, "keep": {"id": 8}},
        {"tokens": [], "keep": {}, "eos": True},
        {"tokens": [51, 52], "no_loss": [[0, 2]], "eos": False},
    ] * 20
    (corpus.folder / "a.jsonl").write_text("".join(json.dumps(r) + "\n" for r in records))
    corpus.config["domains"] = {"a": domain("jsonl", ["a.jsonl"], {}, packing=packing, no_target="keep")}
    corpus.config["split"] = "1,0,0"
    corpus.create()
    run(corpus)
    masked = [{0, 1, 4}, {0, 1, 2, 3}, {0, 1, 2}, set(), set(), {0, 1}]
    ids = [r["tokens"] + ([] if r["tokens"][-1:] == [EOS] or r.get("eos") is False else [EOS]) for r in records]
    kept = ['{"id":7,"x":["a"," b"]}', "", "", '{"id":8}', "{}", ""]
    seen = 0
    for s in corpus.read("a")[0]:
        p = s["payload"]
        no_loss = {i for r in p["no_loss"] for i in range(r["start"], r["end"])}
        starts = [d["start"] for d in p["documents"]] + [p["used"]]
        for d, end in zip(p["documents"], starts[1:]):
            for at in range(d["start"], end):
                place = d["offset"] + at - d["start"]
                assert tokens(s)[at] == ids[d["document"]][place]
                assert (at in no_loss) == (place in masked[d["document"] % 6]), (d, at)
                seen += 1
            assert d["keep"] == kept[d["document"] % 6].encode()
        assert set(range(p["used"], LENGTH + 1)) <= no_loss
    assert seen > len(records)


def test_records_that_cannot_be_used_are_rejects_with_their_place(corpus):
    bad = [
        ({"text": "x"}, "no field `tokens`"),
        ({"tokens": "1 2"}, "field `tokens` is not a list of ids"),
        ({"tokens": [1, -2]}, r"tokens\[1\] is not an id"),
        ({"tokens": [1, 2, 999999999]}, r"tokens\[2\] is id 999999999, which the tokenizer does not have"),
        ({"tokens": [1, 2], "no_loss": [[0, 3]]}, r"no_loss\[0\], \[0, 3\], is no range of the 2 tokens"),
        ({"tokens": [1, 2], "no_loss": [[0, 1], [1, 1]]}, r"no_loss\[1\], \[1, 1\], is no range"),
        ({"tokens": [1, 2], "no_loss": [0, 1]}, r"no_loss\[0\] is not a range"),
        ({"tokens": [1, 2], "keep": 3}, "field `keep` is not an object"),
        ({"tokens": [1, 2], "labels": [-100, 2]}, "unknown field `labels`"),
        ({"tokens": [1, 2], "eos": "no"}, "field `eos` is not true or false"),
        ({"tokens": [], "eos": False}, "there is no token"),
    ]
    good = [{"tokens": list(range(100))}] * 50
    (corpus.folder / "a.jsonl").write_text("".join(json.dumps(r) + "\n" for r in [b for b, _ in bad] + good))
    corpus.config["domains"] = {"a": domain("jsonl", ["a.jsonl"], {})}
    corpus.config["max_rejects"] = 0.5
    corpus.create()
    run(corpus)
    rejects = corpus.rejects()
    assert len(rejects) == len(bad)
    for i, (reject, (_, why)) in enumerate(zip(rejects, bad)):
        assert reject["line"] == str(i + 1) and re.search(why, reject["reason"]), (reject, why)
