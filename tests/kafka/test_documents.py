"""Which document a step held and where a document was drawn, on a real broker, with files that a producer has read."""

import collections
import json
import signal
import threading

import pytest

from wire_proxy import FETCH, Fate, Proxy
from test_produce import EOS, LENGTH, Corpus, corpus, encoding, texts  # noqa: F401


@pytest.fixture
def trained(corpus):
    """trained(packing, steps, n): two files of a domain with n documents, a blank line and a reject in the second; a mix of
    so many steps.

    -> {(file, line): text} of all documents."""
    def make(packing="concat", steps=12, n=160, **domain):
        documents, text = texts(n, 5), {}
        first, second = documents[:-50], documents[-50:]
        (corpus.folder / "one.jsonl").write_text("".join(json.dumps({"text": t}) + "\n" for t in first))
        rows = [json.dumps({"text": t}) for t in second]
        rows[20:20] = [""]
        rows[40:40] = ["no JSON"]
        (corpus.folder / "two.jsonl").write_text("\n".join(rows) + "\n")
        for name, file in (("one.jsonl", first), ("two.jsonl", None)):
            for i, row in enumerate((corpus.folder / name).read_text().split("\n")):
                if row and row != "no JSON":
                    text[name, i + 1] = json.loads(row)["text"]
        corpus.config["domains"] = {"a": {"train": ["one.jsonl", "two.jsonl"], "packing": packing, **domain}}
        corpus.config["mix"] = {"name": f"{corpus.name}-mix", "seed": 3, "global_batch": 8, "lanes": 4, "max_lead_steps": 0,
                                "weights": {"a": 1}}
        corpus.create()
        corpus.produce()
        corpus.riffle("mix", "-c", corpus.path, "--until-step", steps)
        return text
    return make


def shown(c, step, *words):
    return json.loads(c.riffle("inspect", "-c", c.path, step, "--json", *words).stdout)


def name(path):
    return path.rsplit("/", 1)[-1]


@pytest.mark.parametrize("packing", ["concat", "none", "best_fit"])
def test_lines_text_and_tokens_are_those_of_the_files(corpus, encoding, trained, packing):
    text = trained(packing)
    exact = collections.Counter()
    for step in range(12):
        for s in shown(corpus, step, "--text", "--tokens")["sequences"]:
            for d in s["documents"]:
                exact[d["line_exact"]] += 1
                if not d["line_exact"]:
                    continue
                ids = encoding.encode_ordinary(text[name(d["source"]), d["line"]]) + [EOS]
                assert d["ids"] == ids[d["offset"]:d["offset"] + d["tokens"]]
                raw = b"".join(encoding.decode_single_token_bytes(i) for i in d["ids"])
                assert d["text"] == raw.decode(errors="replace")
    # Packed in windows a record knows one document of its window: the others' lines are not certain.
    assert sum(exact.values()) >= 96 and (packing == "best_fit" or exact[True] > 9 * exact[False])


def test_the_table_has_the_same_and_a_wrong_tokenizer_is_refused(corpus, trained):
    trained()
    rows = [dict(zip(lines[0], line)) for lines in [[line.split("\t") for line in corpus.riffle(
        "inspect", "-c", corpus.path, 3, "--text", "--tokens").stdout.splitlines()]] for line in lines[1:]]
    flat = [d for s in shown(corpus, 3, "--text", "--tokens")["sequences"] for d in s["documents"]]
    assert [int(r["line"].lstrip("~")) for r in rows] == [d["line"] for d in flat]
    assert [r["line"].startswith("~") for r in rows] == [not d["line_exact"] for d in flat]
    assert [json.loads(r["text"]) for r in rows] == [d["text"] for d in flat]
    assert [[int(i) for i in r["ids"].split()] for r in rows] == [d["ids"] for d in flat]
    corpus.riffle("retain", "-c", corpus.path, "--from-step", 6)
    assert [d for s in shown(corpus, 3, "--text", "--tokens")["sequences"] for d in s["documents"]] == flat
    done = corpus.riffle("inspect", "--mix", f"{corpus.name}-mix", "-X", f"bootstrap.servers={corpus.bootstrap}", 3, "--text",
                         check=False)
    assert done.returncode == 2 and "the configuration names the tokenizer: add -c FILE" in done.stderr
    file = corpus.config["tokenizer"]["file"].replace("r50k", "cl100k")
    done = corpus.riffle("inspect", "-c", corpus.path, "-s", f"tokenizer.file={file}", "-s", "tokenizer.pattern=cl100k", 3, "--text",
                         check=False)
    assert done.returncode == 2 and "--text needs the one it was made with" in done.stderr


def test_ctrl_c_in_the_search_for_a_document_is_no_answer(corpus, trained):
    """The broker answers no request for records of the domain."""
    trained(steps=2)
    silent = threading.Event()

    def decide(api_key):
        if api_key != FETCH or f"{corpus.name}.a".encode() not in proxy.request:
            return Fate.PASS
        silent.set()
        return Fate.SILENCE

    proxy = Proxy(corpus.bootstrap, decide)
    process = corpus.riffle.popen(
        "inspect", "-c", corpus.path, "-X", f"bootstrap.servers={proxy.address}", "--document", "one.jsonl:1")
    assert silent.wait(60)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 0 and out == "" and err.endswith("inspect: stopped\n"), err
    proxy.close()


@pytest.mark.parametrize("packing", ["concat", "none"])
def test_every_step_that_held_a_document_is_found_by_its_file_and_line(corpus, trained, packing):
    """Over several epochs, against what inspect shows of each step; the steps are then deleted."""
    trained(packing, steps=20, n=70)
    held = collections.defaultdict(list)
    for step in range(20):
        for s in shown(corpus, step)["sequences"]:
            for d in s["documents"]:
                held[name(d["source"]), d["line"], d["line_exact"]].append((step, s["lane"], s["slot"], s["epoch"], d["start"]))
    corpus.riffle("retain", "-c", corpus.path, "--from-step", 16)
    some = [k for k in sorted(held, key=str) if k[2]][::6]
    assert len(some) > 8 and max(len(held[k]) for k in some) > 1
    for file, line, _ in some:
        document = json.loads(corpus.riffle("inspect", "-c", corpus.path, "--document", f"{file}:{line}", "--json").stdout)
        found = [(d["step"], d["lane"], d["slot"], d["epoch"], x["start"]) for s in document["sequences"] for d in s["draws"]
                 for x in s["documents"]]
        assert sorted(found) == sorted(held[file, line, True] + held.get((file, line, False), [])), (file, line)
        assert {(x["line"], name(x["source"])) for s in document["sequences"] for x in s["documents"]} == {(line, file)}
    rows = [r.split("\t") for r in corpus.riffle("inspect", "-c", corpus.path, "--document", "two.jsonl").stdout.splitlines()]
    assert rows[0][8:] == ["start", "tokens", "source", "document", "offset", "line"]
    assert len(rows) - 1 == sum(len(v) for k, v in held.items() if k[0] == "two.jsonl")
    done = corpus.riffle("inspect", "-c", corpus.path, "--document", "two.jsonl:41", check=False)  # the reject
    assert done.returncode == 1 and "` lists what was not used" in done.stderr
    for typo, line in (("tow.jsonl", ":41"), ("tow.jsonl", ""), ("elsewhere/two.jsonl", "")):
        done = corpus.riffle("inspect", "-c", corpus.path, "--document", typo + line, check=False)
        assert done.returncode == 2 and f"is from a file {typo} (did you mean two.jsonl{line}?)" in done.stderr
