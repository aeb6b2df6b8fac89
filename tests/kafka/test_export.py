"""riffle export on a real broker: a domain comes back as token files, read by numpy and struct.

What went in, by tiktoken's ids or by files of the independent writer, is what must come out, whatever the packing.
"""

import os
import random
import re
import signal
import subprocess
import time

import numpy
import pytest

import token_files
from conftest import wait_until
from test_produce import EOS, LENGTH, Corpus, corpus, encoding, lines, pack, texts, tokens  # noqa: F401

FORMATS = ["megatron", "ds", "npy", "llmc"]
ENDINGS = {"megatron": [".bin", ".idx"], "ds": [".ds", ".ds.index", ".ds.metadata"], "npy": [".npy"], "llmc": [".bin"]}


def export(c, form, prefix="out", *words, name="a", **more):
    return c.riffle("export", "-c", c.path, name, "--format", form, "--out", c.folder / prefix, *words, **more)


def flat(c, form, prefix="out", width=2):
    """All tokens of the file."""
    path = c.folder / (prefix + ENDINGS[form][0])
    if form == "llmc":
        return token_files.read_llmc(path)
    return numpy.fromfile(path, "<u2" if width == 2 else "<u4").tolist()


def documents_of(c, form, prefix="out", width=2):
    """The documents of the file, without eos."""
    if form == "megatron":
        found = token_files.read_megatron(c.folder / prefix)
    elif form == "ds":
        found = token_files.read_ds(c.folder / f"{prefix}.ds")
    else:
        ids, found, at = flat(c, form, prefix, width), [], 0
        if form == "llmc":
            assert ids[:1] in ([], [EOS])
            ids = ids[1:] + ids[:1]
        while at < len(ids):
            end = ids.index(EOS, at)
            found.append(ids[at:end + 1])
            at = end + 1
    assert all(d[-1] == EOS for d in found)
    return [d[:-1] for d in found]


def whole(documents):
    """Documents in front of the last whole sequence's end, as concat keeps them; ids without eos."""
    total = sum(len(d) + 1 for d in documents)
    kept = (total - 1) // LENGTH * LENGTH + 1 if total > LENGTH else 0
    found, at = [], 0
    for d in documents:
        at += len(d) + 1
        if at > kept:
            break
        found.append(d)
    return found


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("packing", ["concat", "none", "best_fit"])
def test_documents_come_out_as_they_went_in(corpus, encoding, form, packing):
    """Long ones, empty ones, and one that is exactly a sequence or two."""
    documents = texts(120, 1) + [" a" * n for n in (LENGTH - 1, LENGTH, LENGTH + 1, 2 * LENGTH, 2 * LENGTH + 1, 500)]
    random.Random(3).shuffle(documents)
    (corpus.folder / "a.jsonl").write_text(lines(documents))
    corpus.config["domains"] = {"a": {"train": ["a.jsonl"], "packing": packing}}
    corpus.create().produce()
    ids = [encoding.encode_ordinary(d) for d in documents]
    expected = whole(ids) if packing == "concat" else ids
    done = export(corpus, form)
    assert documents_of(corpus, form) == expected
    assert f"documents={len(expected)} " in done.stderr
    assert f"left_out={1 if packing == 'concat' and len(expected) < len(ids) else 0} " in done.stderr
    assert sorted(p.name for p in corpus.folder.glob("out*")) == sorted("out" + e for e in ENDINGS[form])


@pytest.mark.parametrize("form", FORMATS)
def test_a_round_trip_gives_the_file_byte_for_byte(corpus, form):
    """Random ids, of files whose documents fill their last sequence, so that no End cuts one off."""
    r = random.Random(form)
    ids = [[r.randrange(50256) for _ in range(r.choice([0, 1, 5, 31, 32, 33, 700]))] for _ in range(200)]
    left = (sum(len(d) + 1 for d in ids) - 1) % LENGTH
    ids.append([7] * (LENGTH - left - 1 + LENGTH))
    made = {"megatron": lambda: token_files.megatron(corpus.folder, "in", ids, 2, EOS),
            "ds": lambda: token_files.ds(corpus.folder, "in", ids, 2, EOS),
            "npy": lambda: token_files.npy(corpus.folder, "in", ids, 2, EOS),
            "llmc": lambda: token_files.llmc(corpus.folder, "in", ids, 2, EOS)}[form]()
    corpus.config["domains"] = {"a": {"train": [made], "tokens": form, "no_target": "keep",
                                      **({"token_bytes": 2} if form == "npy" else {})}}
    corpus.create()
    corpus.riffle("import", "-c", corpus.path)
    export(corpus, form)
    for ending in ENDINGS[form]:
        if ending != ".ds.metadata":  # names the tokenizer
            assert (corpus.folder / f"out{ending}").read_bytes() == (corpus.folder / f"in{ending}").read_bytes()
    assert documents_of(corpus, form) == ids


@pytest.mark.parametrize("form", FORMATS)
def test_a_vocabulary_over_65536_has_four_bytes_a_token(corpus, vocab, form):
    documents = [" hello \u4e2d\u6587 world"] * 40
    (corpus.folder / "a.jsonl").write_text(lines(documents))
    corpus.config["tokenizer"] = {"file": str(vocab / "cl100k_base.tiktoken"), "pattern": "cl100k"}
    corpus.config["domains"] = {"a": {"train": ["a.jsonl"], "packing": "none"}}
    corpus.create().produce()
    export(corpus, form)
    found = flat(corpus, form, width=4)
    assert found.count(100257) == 40 and len(set(found)) > 3
    if form in ("megatron", "ds"):
        reader = {"megatron": lambda: token_files.read_megatron(corpus.folder / "out"),
                  "ds": lambda: token_files.read_ds(corpus.folder / "out.ds")}[form]
        assert len(reader()) == 40


def test_sets_and_partitions_one_after_the_other(corpus, encoding):
    parts = [texts(40, i) for i in range(3)]
    for i, part in enumerate(parts):
        (corpus.folder / f"a{i}.jsonl").write_text(lines(part))
    corpus.config["split"] = "2,1,1"
    corpus.config["domains"] = {"a": {"train": ["a*.jsonl"], "packing": "none", "partitions": 3}}
    corpus.create().produce()
    ids = [encoding.encode_ordinary(d) for part in parts for d in part]
    found = []
    for name in ("train", "valid", "test"):
        export(corpus, "megatron", name, "--set", name)
        some = documents_of(corpus, "megatron", name)
        assert some and some == [d for d in ids if d in some]  # in the order of the files
        found += some
    assert sorted(found) == sorted(ids)


@pytest.mark.parametrize("form", FORMATS)
def test_as_a_stream_all_tokens_of_the_sequences_come(corpus, encoding, form):
    documents = texts(100, 5)
    (corpus.folder / "a.jsonl").write_text(lines(documents))
    corpus.config["domains"] = {"a": {"train": ["a.jsonl"]}}
    corpus.create().produce()
    export(corpus, form, "out", "--stream")
    stream = [i for d in documents for i in encoding.encode_ordinary(d) + [EOS]]
    assert flat(corpus, form) == stream[:(len(stream) - 1) // LENGTH * LENGTH + 1]
    if form == "megatron":
        assert sum(token_files.read_megatron(corpus.folder / "out"), []) == flat(corpus, form)


@pytest.mark.parametrize("packing", ["concat", "best_fit"])
def test_a_domain_that_was_appended_to_has_no_document_across_its_ends(corpus, encoding, packing):
    one, two = texts(50, 6), texts(50, 7)
    (corpus.folder / "1.jsonl").write_text(lines(one))
    corpus.config["domains"] = {"a": {"train": ["*.jsonl"], "packing": packing}}
    corpus.create().produce()
    (corpus.folder / "2.jsonl").write_text(lines(two))
    corpus.produce("--append")
    export(corpus, "ds")
    ids = [[encoding.encode_ordinary(d) for d in part] for part in (one, two)]
    assert documents_of(corpus, "ds") == (whole(ids[0]) + whole(ids[1]) if packing == "concat" else ids[0] + ids[1])


def test_duplicates_of_a_killed_producer_come_once(corpus, encoding):
    documents = texts(150, 8)
    (corpus.folder / "a.jsonl").write_text(lines(documents))
    corpus.config["domains"] = {"a": {"train": ["a.jsonl"]}}
    corpus.create()
    for n in (1, 40, 90):
        corpus.produce(check=False, env={"RIFFLE_FAULT": f"produce.after_publish:{n}"})
    corpus.finish()
    export(corpus, "npy")
    assert documents_of(corpus, "npy") == whole([encoding.encode_ordinary(d) for d in documents])


@pytest.mark.parametrize("form", FORMATS)
def test_a_file_that_is_there_stays_without_force(corpus, encoding, form):
    (corpus.folder / "a.jsonl").write_text(lines(texts(50, 9)))
    corpus.config["domains"] = {"a": {"train": ["a.jsonl"]}}
    corpus.create().produce()
    for ending in ENDINGS[form]:
        path = corpus.folder / f"out{ending}"
        path.write_text("precious")
        done = export(corpus, form, check=False)
        assert done.returncode == 1 and f"{path} is there already" in done.stderr
        assert path.read_text() == "precious"
        path.unlink()
        assert not list(corpus.folder.glob("out*"))
    (corpus.folder / f"out{ENDINGS[form][-1]}").write_text("old")
    export(corpus, form, "out", "--force")
    first = {e: (corpus.folder / f"out{e}").read_bytes() for e in ENDINGS[form]}
    assert export(corpus, form, check=False).returncode == 1
    export(corpus, form, "out", "--force")
    assert first == {e: (corpus.folder / f"out{e}").read_bytes() for e in ENDINGS[form]}


def test_an_empty_set_makes_empty_files(corpus):
    (corpus.folder / "a.jsonl").write_text(lines(["few words"]))
    corpus.config["domains"] = {"a": {"train": ["a.jsonl"], "partitions": 2}}
    corpus.create().produce()
    for form in FORMATS:
        export(corpus, form, form)
        assert documents_of(corpus, form, form) == []


def test_what_cannot_be_exported_is_said(corpus, encoding, vocab):
    (corpus.folder / "a.jsonl").write_text(lines(texts(30, 10)))
    corpus.config["domains"] = {"a": {"train": ["a.jsonl"]}}
    corpus.create()
    for change, words, code, why in [
        ({}, [], 1, "holds nothing yet"),
        (None, [], 1, "has no End yet"),
        ({}, ["--set", "valid"], 2, f"topic {corpus.name}.a.valid does not exist: domain a has no valid set in {corpus.path}\n"),
        ({"tokenizer": {**corpus.config["tokenizer"], "file": str(vocab / "cl100k_base.tiktoken"),
                        "pattern": "cl100k"}}, [], 2, "was made with tokenizer"),
    ]:
        if change is None:
            corpus.produce(check=False, env={"RIFFLE_FAULT": "produce.before_end"})
        if "tokenizer" in (change or {}):
            corpus.finish()
            corpus.config.update(change)
            corpus.write()
        done = export(corpus, "npy", "out", *words, check=False)
        assert done.returncode == code and why in done.stderr, done.stderr
        assert not list(corpus.folder.glob("out*"))
    assert export(corpus, "npy", name="b", check=False).returncode == 2
    assert "give --format" in corpus.riffle("export", "-c", corpus.path, "a", "--out", "x", check=False).stderr
    for out, why in (("x.npy", "--out x;"), (".", "is a folder"), ("sub/", "is a folder"), ("..", "is a folder")):
        refused = corpus.riffle("export", "-c", corpus.path, "a", "--format", "npy", "--out", out, check=False)
        assert refused.returncode == 2 and why in refused.stderr, refused.stderr
    assert "give --out" in corpus.riffle("export", "-c", corpus.path, "a", "--format", "ds", check=False).stderr


def test_kill_9_leaves_no_file_under_its_name(corpus, encoding):
    """The process is stopped as soon as a .partial file is there, then killed; the next run replaces it."""
    documents = [" word" * 2000] * 400
    (corpus.folder / "a.jsonl").write_text(lines(documents))
    corpus.config["domains"] = {"a": {"train": ["a.jsonl"]}}
    corpus.create().produce()
    partial = corpus.folder / "out.bin.partial"
    process = corpus.riffle.popen("export", "-c", corpus.path, "a", "--format", "megatron",
                                  "--out", corpus.folder / "out")
    deadline = time.monotonic() + 60
    while not partial.exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    process.wait()
    if process.returncode == -signal.SIGKILL:
        assert not (corpus.folder / "out.idx").exists()
    export(corpus, "megatron", "out", "--force")
    assert documents_of(corpus, "megatron") == whole([encoding.encode_ordinary(d) for d in documents])
    assert sorted(os.listdir(corpus.folder)) == sorted(
        ["a.jsonl", "out.bin", "out.idx", corpus.path.name])


def test_a_signal_leaves_no_file_and_exits_with_1(corpus):
    """Exit code 0 would tell a script that the files are there. The reader gets a record at a time, so that it takes long."""
    (corpus.folder / "a.jsonl").write_text(lines([" word" * 2000] * 400))
    corpus.config["domains"] = {"a": {"train": ["a.jsonl"]}}
    corpus.create().produce()
    process = corpus.riffle.popen("export", "-c", corpus.path, "a", "--format", "megatron", "--out", corpus.folder / "out",
                                  "-X", "fetch.message.max.bytes=1")
    wait_until((corpus.folder / "out.bin.partial").exists, "the first file")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 1 and out == ""
    assert re.search(r"^riffle export: stopped after \d+ sequences; no file was written, and the same command begins again$", err, re.M), err
    assert sorted(os.listdir(corpus.folder)) == sorted(["a.jsonl", corpus.path.name])


def test_a_link_under_the_name_of_a_partial_file_is_not_followed(corpus, encoding):
    """Who may write to the folder must not choose what export overwrites."""
    documents = ["of all the words"] * 20
    (corpus.folder / "a.jsonl").write_text(lines(documents))
    corpus.config["domains"] = {"a": {"train": ["a.jsonl"]}}
    corpus.create().produce()
    target = corpus.folder / "target"
    target.write_text("precious")
    for name in ("out.bin.partial", "out.idx.partial"):
        (corpus.folder / name).symlink_to(target)
    export(corpus, "megatron", "out")
    assert target.read_text() == "precious"
    assert documents_of(corpus, "megatron") == whole([encoding.encode_ordinary(d) for d in documents])
    for name in ("out.bin", "out.idx"):
        assert not (corpus.folder / name).is_symlink()
        assert (corpus.folder / name).stat().st_mode & 0o777 == 0o644


def test_a_full_disk_is_said_and_leaves_nothing(corpus, encoding):
    (corpus.folder / "a.jsonl").write_text(lines([" word" * 3000] * 50))
    corpus.config["domains"] = {"a": {"train": ["a.jsonl"]}}
    corpus.create().produce()
    limit = f'ulimit -f 100; exec "{corpus.riffle.path}" export -c "{corpus.path}" a --format npy --out "{corpus.folder}/out"'
    done = subprocess.run(["sh", "-c", "trap '' XFSZ; " + limit], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "writing" in done.stderr and "File too large" in done.stderr, done.stderr
    assert not list(corpus.folder.glob("out*"))
