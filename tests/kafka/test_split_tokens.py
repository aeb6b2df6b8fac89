"""split_unit: tokens on a real broker: which tokens each set gets, after every kind of end, and when data grow.

What the sets must hold is made here from the rule in producer/document/split.h, with tiktoken's tokens.
"""

import json
import random
import signal
from fractions import Fraction

import pytest
import xxhash

from test_packing import logs_of, wait_settled
from test_produce import EOS, LENGTH, Corpus, corpus, encoding, set_of, tokens  # noqa: F401

PIECE = 40
PARTS = (7, 2, 1)
SETS = ("", ".valid", ".test")


def long_texts(n, seed):
    """Mostly short, some of up to a thousand tokens, one of half of all."""
    r = random.Random(seed)
    words = ["the ", "Wolf's ", "été ", "数据", "\n\n", "1234 ", "x = ", "don't "]
    sizes = [r.choice([1, 3, 20, 39, 60, 300, 900]) for _ in range(n)] + [n * 100]
    r.shuffle(sizes)
    return ["".join(r.choice(words) for _ in range(size)) for size in sizes]


def pieces(text, n, piece=PIECE, parts=PARTS):
    """[(set, first, end)] of its n tokens, window by window."""
    k, found = max(1, -(-n // piece)), []
    for j in range(k):
        place = Fraction((xxhash.xxh64(text.encode()).intdigest() + (j << 64) // k) % 2**64, 2**64) * sum(parts)
        found.append((next(i for i in range(3) if place < sum(parts[:i + 1])), j * n // k, (j + 1) * n // k))
    return found


def expected(documents, encoding, which, **rule):
    """(sequences, spans) of a set: its tokens of all documents end to end."""
    stream, where = [], []
    for i, text in enumerate(documents):
        ids = encoding.encode_ordinary(text) + [EOS]
        for of, first, end in pieces(text, len(ids), **rule):
            stream += ids[first:end] if of == which else []
            where += [(i, t) for t in range(first, end)] if of == which else []
    sequences, spans = [], []
    for j in range((len(stream) - 1) // LENGTH):
        at = range(j * LENGTH, j * LENGTH + LENGTH + 1)
        sequences.append([stream[t] for t in at])
        spans.append([(t - at[0], *where[t]) for t in at if t == at[0] or where[t] != (where[t - 1][0], where[t - 1][1] + 1)])
    return sequences, spans


def lines(documents):
    return "".join(json.dumps({"text": t}) + "\n" for t in documents)


def seen(corpus, suffix):
    kept, end = corpus.read(suffix)
    return ([tokens(s) for s in kept],
            [[(d["start"], d["document"], d["offset"]) for d in s["payload"]["documents"]] for s in kept]), end


def test_each_set_has_its_pieces_and_what_is_packed_whole_stays_whole(corpus, encoding):
    documents = long_texts(150, 1)
    (corpus.folder / "a.jsonl").write_text(lines(documents))
    (corpus.folder / "ids.jsonl").write_text("".join(
        json.dumps({"tokens": encoding.encode_ordinary(t)}) + "\n" for t in documents))
    (corpus.folder / "b.jsonl").write_text(lines(documents))
    corpus.config.update(split="7,2,1", split_unit="tokens", split_piece=PIECE)
    corpus.config["domains"] = {"a": {"train": ["a.jsonl"]}, "ids": {"train": ["ids.jsonl"], "tokens": "jsonl"},
                                "b": {"train": ["b.jsonl"], "packing": "none"}}
    corpus.create().produce("a", "b")
    corpus.riffle("import", "-c", corpus.path)
    total = sum(len(encoding.encode_ordinary(t)) + 1 for t in documents)
    both = 0
    for which, suffix in enumerate(SETS):
        found, end = seen(corpus, "a" + suffix)
        assert found == expected(documents, encoding, which)
        assert seen(corpus, "ids" + suffix)[0] == found, "text and tokens of one document go one way"
        mine = [t for t in documents if any(p[0] == which for p in pieces(t, len(encoding.encode_ordinary(t)) + 1))]
        assert end["documents"] == len(mine)
        share = PARTS[which] / sum(PARTS)
        assert abs(end["tokens"] + end["dropped"] - share * total) < 3 * (share * (1 - share) * PIECE * total) ** 0.5
        both += len(mine)
        whole = {d["document"] for s in corpus.read("b" + suffix)[0] for d in s["payload"]["documents"]}
        assert whole == {i for i, t in enumerate(documents) if set_of(t, PARTS) == which}
    assert both > len(documents) + 20, "no document was divided"


def test_growth_moves_no_token(corpus, encoding):
    """Appended, or put in front of a corpus that is produced again: every document is dealt as before."""
    old, new = long_texts(60, 2), long_texts(60, 3)
    (corpus.folder / "b.jsonl").write_text(lines(old))
    corpus.config.update(split="7,2,1", split_unit="tokens", split_piece=PIECE)
    corpus.config["domains"] = {"a": {"train": ["*.jsonl"]}}
    corpus.create().produce()
    before = [corpus.log("a" + suffix)[0] for suffix in SETS]
    (corpus.folder / "c.jsonl").write_text(lines(new))
    corpus.produce("--append")
    for which, suffix in enumerate(SETS):
        kept, _ = first_of_append(corpus, "a" + suffix)
        assert kept[:len(before[which])] == before[which] and len(kept) > len(before[which])
    (corpus.folder / "c.jsonl").rename(corpus.folder / "a.jsonl")
    again = corpus.copy()
    again.produce()
    for which, suffix in enumerate(SETS):
        assert seen(again, "a" + suffix)[0] == expected(new + old, encoding, which)


def first_of_append(corpus, suffix):
    """The sequences before and behind an End."""
    found = corpus.values(suffix)
    kept = [v for v in found if v[2:10] != found[-1][2:10]]
    return kept, found[-1]


def test_another_unit_or_piece_is_refused_by_name(corpus):
    (corpus.folder / "a.jsonl").write_text(lines(long_texts(20, 4)))
    corpus.config.update(split="7,2,1", split_unit="tokens", split_piece=PIECE)
    corpus.config["domains"] = {"a": {"train": ["a.jsonl"]}}
    corpus.create().produce()
    for change, words in (({"split_piece": 41}, 'split_piece: "40" in the log, "41" in the file'),
                          ({"split_unit": "documents", "split_piece": None}, 'split_unit: "tokens" in the log')):
        corpus.config = {k: v for k, v in {**corpus.config, "split_unit": "tokens", **change}.items() if v is not None}
        corpus.write()
        refused = corpus.produce(check=False)
        assert refused.returncode == 2 and words in refused.stderr, refused.stderr


@pytest.fixture(scope="module")
def calm(tmp_path_factory, bootstrap, vocab):
    """Produced undisturbed: lanes, rejects, a document of tens of pieces in each file."""
    made = Corpus(tmp_path_factory.mktemp("pieces"), bootstrap, vocab)
    for i in range(2):
        (made.folder / f"a.{i}.jsonl").write_text(lines(long_texts(80, 5 + i)) + "no json\n" + lines(long_texts(40, 7 + i)))
    (made.folder / "b.jsonl").write_text(lines(long_texts(120, 9)))
    made.config.update(split="7,2,1", split_unit="tokens", split_piece=PIECE, max_rejects=1)
    made.config["domains"] = {"a": {"train": ["a.*.jsonl"], "partitions": 2}, "b": {"train": ["b.jsonl"]}}
    made.create().produce()
    made.logs = {**logs_of(made), "test": made.log("b.test")}
    assert all(end is not None and kept for kept, end in made.logs.values())
    return made


def undisturbed(stormy, calm):
    return {**logs_of(stormy), "test": stormy.log("b.test")} == calm.logs


@pytest.mark.parametrize("point", ["produce.after_publish:1", "produce.after_publish:150", "produce.after_publish:700",
                                   "produce.before_end:2", "produce.after_end:1"])
def test_kill_9_at_a_fault_point_leaves_the_undisturbed_log(calm, point):
    stormy = calm.copy()
    died = stormy.produce(check=False, env={"RIFFLE_FAULT": point})
    assert died.returncode == -signal.SIGKILL
    stormy.finish()
    assert undisturbed(stormy, calm)


def test_kill_9_again_and_again_leaves_the_undisturbed_log(calm):
    """Every run gets a little further: ends in the middle of documents, between two pieces of one set."""
    stormy = calm.copy()
    for passes in (40, 7, 60, 25, 90, 3, 120, 11, 33):
        assert stormy.produce(check=False, env={"RIFFLE_FAULT": f"produce.after_publish:{passes}"}).returncode in (
            -signal.SIGKILL, 1)
        wait_settled(stormy, "b")
    stormy.finish()
    assert undisturbed(stormy, calm)
