"""Packing none and best_fit on a real broker: what riffle produce publishes, also after kill -9, and what a trainer gets.

The sequences are compared with naive packers over tiktoken's tokens, written here from the rules in producer/pack/pack.h.
"""

import gzip
import json
import random
import signal

import pytest

from test_produce import EOS, LENGTH, SCHEMAS, Corpus, corpus, decode, encoding, set_of, tokens  # noqa: F401

COUNT = LENGTH + 1
END = next(crc for crc, (name, _) in SCHEMAS.items() if name == "End")
WINDOW = 4096


def records(n, seed=1):
    """Documents with prompt, response and things to keep; some too long for a sequence."""
    r = random.Random(seed)
    words = ["the", "Wolf's", "été", "数据", "🙂", "\n\n", "1234", "x=", "don't", "\t", "<|endoftext|>"]

    def text(lengths):
        return "".join(r.choice(words) + r.choice([" ", ""]) for _ in range(r.choice(lengths)))

    return [{"q": text([0, 1, 3, 8, 30]), "a": {"text": text([0, 1, 4, 40]) or "x"}, "id": i,
             "meta": {"tags": ["a b", {"x": [1.50, None]}], "n": r.randrange(99)}} for i in range(n)]


def encode(encoding, record, response=True):
    """(tokens, how many are of the prompt): each text by itself."""
    prompt = encoding.encode_ordinary(record["q"])
    answer = encoding.encode_ordinary(record["a"]["text"]) if response else []
    return prompt + answer + [EOS], len(prompt) + (0 if response else 1)


def ranges(mask):
    found = []
    for i, m in enumerate(mask):
        if m and i and mask[i - 1]:
            found[-1][1] = i + 1
        elif m:
            found.append([i, i + 1])
    return found


def sequence(pieces):
    """pieces: (document, offset, tokens, how many of these are of the prompt)."""
    flat, mask, spans = [], [], []
    for document, offset, part, prompt in pieces:
        spans.append((len(flat), document, offset))
        mask += [i < prompt for i in range(len(part))]
        flat += part
    pad = COUNT - len(flat)
    return {"tokens": flat + [EOS] * pad, "used": len(flat), "no_loss": ranges(mask + [True] * pad), "spans": spans}


def pack_none(documents, over_long="split"):
    """documents: (index, tokens, prompt)."""
    found = []
    for index, all_tokens, prompt in documents:
        for at in range(0, len(all_tokens), COUNT):
            if at and over_long != "split" or over_long == "reject" and len(all_tokens) > COUNT:
                break
            found.append(sequence([(index, at, all_tokens[at:at + COUNT], prompt - at)]))
    return found


def pack_best_fit(documents):
    found = []
    for first in range(0, len(documents), WINDOW):
        rests = []
        for index, all_tokens, prompt in documents[first:first + WINDOW]:
            at = 0
            while len(all_tokens) - at >= COUNT:
                found.append(sequence([(index, at, all_tokens[at:at + COUNT], prompt - at)]))
                at += COUNT
            if at < len(all_tokens):
                rests.append((index, at, all_tokens[at:], prompt - at))
        bins = []  # [room, since, pieces]
        for time, rest in enumerate(sorted(rests, key=lambda r: (-len(r[2]), r[0]))):
            fitting = [b for b in bins if b[0] >= len(rest[2])]
            best = min(fitting, key=lambda b: (b[0], -b[1])) if fitting else None
            if best is None:
                best = [COUNT, 0, []]
                bins.append(best)
            best[0] -= len(rest[2])
            best[1] = time
            best[2].append(rest)
        found += [sequence(sorted(b[2])) for b in bins]
    return found


def seen(found):
    return [{"tokens": tokens(s), "used": s["payload"]["used"],
             "no_loss": [[r["start"], r["end"]] for r in s["payload"]["no_loss"]],
             "spans": [(d["start"], d["document"], d["offset"]) for d in s["payload"]["documents"]]} for s in found]


def check_totals(sequences, end, documents, dropped=0, rejects=0):
    """Padding is in no total; the positions run up to the End."""
    used = 0
    for s in sequences:
        used += s["payload"]["used"]
        assert s["position"]["tokens"] == used
    assert (end["sequences"], end["tokens"], end["dropped"], end["documents"], end["rejects"]) == (
        len(sequences), used, dropped, documents, rejects)


def write(corpus, name, found):
    text = "".join(json.dumps(r, ensure_ascii=i % 2 == 0) + "\n" for i, r in enumerate(found))
    (corpus.folder / name).write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())


PAIR = {"packing": "none", "prompt": "q", "response": "a.text", "keep": ["meta.tags", "id", "absent"]}


@pytest.mark.parametrize("over_long", ["split", "truncate", "reject"])
def test_none_makes_a_sequence_of_each_document_and_says_where_its_prompt_is(corpus, encoding, over_long):
    found = records(300)
    write(corpus, "a.jsonl", found)
    corpus.config["max_rejects"] = 1
    corpus.config["domains"] = {"a": {"train": ["a.jsonl"], **PAIR, "over_long": over_long}}
    said = corpus.create().produce().stderr
    documents = [(i, *encode(encoding, r)) for i, r in enumerate(found)]
    sequences, end = corpus.read("a")
    # A prompt that fills the sequence leaves no room for the response, so the document is left out.
    cut = [d for d in documents if d[2] >= COUNT] if over_long == "truncate" else []
    documents = [d for d in documents if d not in cut]
    assert seen(sequences) == pack_none(documents, over_long)
    long = [len(t) for _, t, _ in documents if len(t) > COUNT]
    assert len(long) > 20
    rejects = len(long) if over_long == "reject" else 0
    dropped = sum(long) - COUNT * len(long) if over_long == "truncate" else 0
    check_totals(sequences, end, 300 - len(cut) - rejects, dropped, rejects)
    targets = sum(s["payload"]["used"] - 1 for s in sequences)
    assert f"partition=0 sequences={len(sequences)} tokens={targets} " in said
    for s in sequences:
        for d in s["payload"]["documents"]:
            record = found[d["document"]]
            assert d["keep"].decode() == json.dumps({"meta.tags": record["meta"]["tags"], "id": record["id"]},
                                                    separators=(",", ":"))
    if rejects:
        said = corpus.rejects()
        assert len(said) == rejects and all("tokens with eos, more than the 33 of a sequence" in r["reason"] for r in said)


def test_a_prompt_alone_has_no_targets(corpus, encoding):
    found = records(40)
    write(corpus, "a.jsonl", found)
    corpus.config["domains"] = {"a": {"train": ["a.jsonl"], "packing": "none", "prompt": "q"}}
    corpus.create().produce()
    documents = [(i, *encode(encoding, r, response=False)) for i, r in enumerate(found)]
    sequences, _ = corpus.read("a")
    assert seen(sequences) == pack_none(documents)
    assert all(s["payload"]["no_loss"] == [{"start": 0, "end": COUNT}] for s in sequences)


def test_the_split_is_by_prompt_and_response_together(corpus, encoding):
    found = records(200)
    write(corpus, "a.jsonl", found)
    corpus.config["split"] = "3,1,0"
    corpus.config["domains"] = {"a": {"train": ["a.jsonl"], **PAIR}}
    corpus.create().produce()
    for k, suffix in enumerate(("a", "a.valid")):
        mine = [(i, *encode(encoding, r)) for i, r in enumerate(found)
                if set_of(r["q"] + r["a"]["text"], (3, 1, 0)) == k]
        assert seen(corpus.read(suffix)[0]) == pack_none(mine)


def test_best_fit_packs_windows_of_4096_documents(corpus, encoding):
    found = [{"text": r["q"] + r["a"]["text"]} for r in records(WINDOW + 900, 5)]
    write(corpus, "a.jsonl", found)
    corpus.config["domains"] = {"a": {"train": ["a.jsonl"], "packing": "best_fit"}}
    corpus.create().produce()
    documents = [(i, encoding.encode_ordinary(r["text"]) + [EOS], 0) for i, r in enumerate(found)]
    sequences, end = corpus.read("a")
    assert seen(sequences) == pack_best_fit(documents)
    check_totals(sequences, end, len(found))
    windows = [s["position"]["window"] for s in sequences]
    second = windows.index(1, 1)
    assert windows == [*range(1, second + 1), *range(1, len(windows) - second + 1)]
    assert {s["position"]["document"] for s in sequences[:second]} == {0}
    assert {s["position"]["document"] for s in sequences[second:]} == {WINDOW}
    full = sum(s["payload"]["used"] for s in sequences) / (COUNT * len(sequences))
    assert full > 0.97  # what packing is for


# ---- after every kind of end ----


@pytest.fixture(scope="module")
def calm(tmp_path_factory, bootstrap, vocab):
    """Each packing beside the others, with rejects, sets, lanes, a compressed file; two windows of best_fit and a bit."""
    made = Corpus(tmp_path_factory.mktemp("packing"), bootstrap, vocab)
    found = records(2 * WINDOW + 500, 7)
    write(made, "big.jsonl.gz", [{"text": r["q"] + r["a"]["text"]} for r in found])
    for name in ("split", "cut", "less"):
        write(made, f"{name}.jsonl", [r if i % 97 else {} for i, r in enumerate(found[:900])])
    for i in range(2):
        write(made, f"lane.{i}.jsonl", [{"text": r["a"]["text"]} for r in found[i * 300:i * 300 + 300]])
    made.config.update(split="8,2,0", max_rejects=1)
    made.config["domains"] = {
        "fit": {"train": ["big.jsonl.gz"], "packing": "best_fit"},
        "lane": {"train": ["lane.*.jsonl"], "packing": "best_fit", "partitions": 2},
        "split": {"train": ["split.jsonl"], **PAIR},
        "cut": {"train": ["cut.jsonl"], **PAIR, "over_long": "truncate"},
        "less": {"train": ["less.jsonl"], **PAIR, "over_long": "reject"},
    }
    made.create().produce()
    made.logs = logs_of(made)
    assert all(end is not None and kept for kept, end in made.logs.values())
    return made


def logs_of(corpus):
    """What a reader sees of every partition, without the test sets, which have no share of the split."""
    return {(domain, lane, part): corpus.log(domain + part, lane)
            for domain, d in corpus.config["domains"].items() for lane in range(d.get("partitions", 1))
            for part in ("", ".valid")}


@pytest.mark.parametrize("point", [
    "produce.before_publish:1", "produce.after_publish:1", "produce.after_publish:333", "produce.after_publish:1500",
    "produce.after_publish:2900", "produce.before_end:1", "produce.before_end:3", "produce.after_end:1",
    "produce.after_end:4"])
def test_kill_9_at_a_fault_point_leaves_the_undisturbed_log(calm, point):
    stormy = calm.copy()
    died = stormy.produce(check=False, env={"RIFFLE_FAULT": point})
    assert died.returncode == -signal.SIGKILL
    stormy.finish()
    assert logs_of(stormy) == calm.logs


def wait_settled(corpus, domain):
    """Sequences sent by a process that was killed have landed."""
    before = None
    while before != (before := len(corpus.values(domain))):
        pass


@pytest.mark.parametrize("domain", ["fit", "split", "cut", "less"])
def test_kill_9_again_and_again_leaves_the_undisturbed_log(calm, domain):
    """Every run gets a little further: the resume of a resume, also within one window."""
    stormy = calm.copy()
    for passes in (40, 7, 160, 25, 1, 300, 3):
        assert stormy.produce(domain, check=False, env={"RIFFLE_FAULT": f"produce.after_publish:{passes}"}).returncode in (
            -signal.SIGKILL, 1)
        wait_settled(stormy, domain)
    stormy.finish()
    assert logs_of(stormy) == calm.logs


@pytest.fixture
def interrupted(corpus):
    """Killed in the middle of the second window, and of a document that is split."""
    corpus.found = [{"text": r["q"] + r["a"]["text"]} for r in records(WINDOW + 900, 9)]
    for domain in "ab":
        write(corpus, f"{domain}.jsonl", corpus.found)
    corpus.config["domains"] = {"a": {"train": ["a.jsonl"], "packing": "best_fit"},
                                "b": {"train": ["b.jsonl"], "packing": "none"}}
    corpus.create()
    for domain in "ab":
        died = corpus.produce(domain, check=False, env={"RIFFLE_FAULT": "produce.before_end:1"})
        assert died.returncode == -signal.SIGKILL
    assert decode(corpus.values("a")[-1])["position"]["document"] == WINDOW
    return corpus


def test_another_packing_on_a_rerun_is_refused(interrupted):
    for domain, other, words in (("a", "none", "begun with packing best_fit, the configuration has none"),
                                 ("a", "concat", "begun with packing best_fit, the configuration has concat"),
                                 ("b", "concat", "begun with packing none, the configuration has concat"),
                                 ("b", "best_fit", "begun with packing none, the configuration has best_fit")):
        interrupted.config["domains"][domain]["packing"] = other
        interrupted.write()
        refused = interrupted.produce(domain, check=False)
        assert refused.returncode == 2 and words in refused.stderr
        interrupted.config["domains"][domain]["packing"] = {"a": "best_fit", "b": "none"}[domain]
    interrupted.write()
    interrupted.finish()
    sealed = interrupted.copy()
    sealed.produce()
    for domain in "ab":
        assert interrupted.log(domain) == sealed.log(domain)


@pytest.mark.parametrize("name, change", [
    ("a document of the last sequence", lambda t, last: t[:last] + [json.dumps({"text": "other"}) + "\n"] + t[last + 1:]),
    ("fewer documents", lambda t, last: t[:WINDOW + 20]),
    ("the window is gone", lambda t, last: t[:WINDOW]),
])
def test_a_window_that_has_changed_is_refused(interrupted, name, change):
    before = interrupted.values("a")
    last = decode(before[-1])["payload"]["documents"][-1]["document"]
    with open(interrupted.folder / "a.jsonl") as text:
        changed = change(text.readlines(), last)
    (interrupted.folder / "a.jsonl").write_text("".join(changed))
    refused = interrupted.produce("a", check=False)
    assert refused.returncode == 1, refused.stderr
    assert "changed since" in refused.stderr or "last run ended" in refused.stderr
    assert interrupted.values("a") == before


def test_a_live_window_waits_until_it_is_full(corpus, encoding):
    found = [{"text": r["a"]["text"]} for r in records(WINDOW + 50, 3)]
    write(corpus, "a.jsonl", found[:200])
    corpus.config["domains"] = {"a": {"train": ["a.jsonl"], "packing": "best_fit", "live": True}}
    corpus.create().produce()
    documents = [(i, encoding.encode_ordinary(r["text"]) + [EOS], 0) for i, r in enumerate(found)]
    full = [s for s in pack_best_fit(documents[:200]) if len(s["spans"]) == 1 and s["used"] == COUNT]
    kept, end = corpus.log("a")
    assert end is None and seen(decode(v) for v in kept) == full[:len(kept)] and len(kept) > 10
    write(corpus, "a.jsonl", found)
    corpus.produce()
    kept, end = corpus.log("a")
    expected = pack_best_fit(documents[:WINDOW])
    assert end is None and seen(decode(v) for v in kept)[:len(expected)] == expected


def test_append_begins_a_window_of_its_own(corpus, encoding):
    found = [{"text": r["a"]["text"]} for r in records(500, 4)]
    documents = [(i, encoding.encode_ordinary(r["text"]) + [EOS], 0) for i, r in enumerate(found)]
    for domain in "ab":
        write(corpus, f"{domain}.jsonl", found[:300])
    corpus.config["domains"] = {"a": {"train": ["a.jsonl"], "packing": "best_fit"},
                                "b": {"train": ["b.jsonl"], "packing": "none"}}
    corpus.create().produce()
    for domain in "ab":
        write(corpus, f"{domain}.jsonl", found)
    corpus.produce("--append", check=False, env={"RIFFLE_FAULT": "produce.after_publish:70"})
    corpus.produce("--append", check=False)
    corpus.produce("--append")
    for domain, packed in (("a", pack_best_fit), ("b", pack_none)):
        everything = [v for v in dict.fromkeys(corpus.values(domain)) if v[2:10] != END]
        assert seen(decode(v) for v in everything) == packed(documents[:300]) + packed(documents[300:])
        end = decode(corpus.values(domain)[-1])
        assert (end["tokens"], end["dropped"]) == (sum(len(t) for _, t, _ in documents), 0)


# ---- the trainer ----


def test_a_trainer_gets_lengths_masks_and_what_is_kept(corpus, encoding):
    found = records(200)
    write(corpus, "a.jsonl", found)
    for domain in "bc":
        write(corpus, f"{domain}.jsonl", [{"text": r["a"]["text"]} for r in found])
    corpus.config["domains"] = {"a": {"train": ["a.jsonl"], **PAIR}, "b": {"train": ["b.jsonl"], "packing": "best_fit"},
                                "c": {"train": ["c.jsonl"]}}
    corpus.config["mix"] = {"name": corpus.name + "-mix", "seed": 3, "global_batch": 8, "lanes": 2, "max_lead_steps": 0,
                            "weights": {"a": 1, "b": 1, "c": 1}}
    corpus.create().produce()
    corpus.riffle("mix", "-c", corpus.path, "--until-step", 12)
    expected = {"a": pack_none([(i, *encode(encoding, r)) for i, r in enumerate(found)]),
                "b": pack_best_fit([(i, encode(encoding, {**r, "q": ""})[0], 0) for i, r in enumerate(found)])}

    def read(form, **more):
        return corpus.riffle("read", "-c", corpus.path, "--rank", 0, "--world", 1, "--from-step", 0, "--steps", 12,
                             "--format", form, "--timeout", 30, **more).stdout

    rows = [json.loads(line) for line in read("jsonl").splitlines()]
    assert len(rows) == 96 and {r["domain"] for r in rows} == {"a", "b", "c"}
    for row in rows:
        if row["domain"] == "c":
            assert (row["used"], row["no_loss"]) == (COUNT, []) and "keep" not in row
            continue
        want = expected[row["domain"]][row["ordinal"]]
        assert {k: row[k] for k in ("tokens", "used", "no_loss")} == {k: want[k] for k in ("tokens", "used", "no_loss")}
        if row["domain"] == "b":
            assert "keep" not in row
        else:
            record = found[want["spans"][0][1]]
            assert row["keep"] == {"meta.tags": record["meta"]["tags"], "id": record["id"]}
