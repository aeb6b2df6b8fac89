"""riffle produce --append on a real broker: a sealed domain goes on behind its End.

What is expected is packed naively: an appended run begins a stream of its own, so that its first sequence shares no
token with the one before, and what the former End dropped stays dropped.
"""

import gzip
import json
import signal

import pytest

from late import past_late
from test_produce import (LENGTH, Corpus, corpus, decode, encoding, lines, ordinal, pack, texts, tokens,  # noqa: F401
                          values, which)


def partition(found):
    """Sequences without duplicates, and every End with how many sequences stood before it, in the order of the log."""
    sequences, ends = [], []
    for value in found:
        if which(value) == "End":
            if not ends or ends[-1][1] != value:
                ends.append((len(sequences), value))
        elif ordinal(value) < len(sequences):
            assert sequences[ordinal(value)] == value
        else:
            assert ordinal(value) == len(sequences)
            sequences.append(value)
    return sequences, ends


def check(c, encoding, runs, suffix="a", lane=0):
    """runs: the documents of each run up to its End."""
    sequences, ends = partition(c.values(suffix, lane))
    expected, total, dropped, documents, before = [], 0, 0, 0, 0
    assert len(ends) == len(runs)
    for run, (stood, value) in zip(runs, ends):
        found, spans, left = pack(run, encoding)
        expected += found
        total += len(found) * LENGTH + 1 if found else 0
        dropped += left
        documents += len(run)
        end = decode(value)
        assert stood == len(expected)
        assert (end["sequences"], end["tokens"], end["dropped"], end["documents"]) == (
            len(expected), total, dropped, documents)
        assert end["record_bytes"] == sum(len(v) for v in sequences[:stood])
        for i in range(before, stood):
            assert decode(sequences[i])["position"]["sealed"] == (before if before else -1)
        before = stood
    assert [tokens(decode(v)) for v in sequences] == expected
    numbers = [d["document"] for v in sequences for d in decode(v)["payload"]["documents"]]
    assert numbers == sorted(numbers)


def test_an_append_goes_on_behind_the_end_and_the_last_end_counts(corpus, encoding):
    one, two, three = texts(60, 1), texts(50, 2), texts(40, 3)
    (corpus.folder / "a.1.jsonl").write_text(lines(one))
    corpus.config["domains"] = {"a": {"train": ["a.*.jsonl"]}}
    corpus.create().produce()
    check(corpus, encoding, [one])
    (corpus.folder / "a.2.jsonl").write_text(lines(two))
    corpus.produce()  # without --append a sealed domain is complete
    check(corpus, encoding, [one])
    corpus.produce("--append")
    check(corpus, encoding, [one, two])
    (corpus.folder / "a.3.jsonl.gz").write_bytes(gzip.compress(lines(three).encode()))
    corpus.config["domains"]["a"]["train"].append("a.*.gz")
    corpus.write()
    corpus.produce("--append")
    check(corpus, encoding, [one, two, three])
    n = len(corpus.values("a"))
    done = corpus.produce("--append")  # nothing has come: no End that says the same again
    assert "a has nothing new: its End stays" in done.stderr
    assert len(corpus.values("a")) == n


def test_an_append_takes_the_lines_that_the_last_file_has_grown_by(corpus, encoding):
    one, two, three = texts(30, 1), texts(30, 2), texts(30, 3)
    (corpus.folder / "a.jsonl").write_text(lines(one))
    corpus.config["domains"] = {"a": {"train": ["*.jsonl"]}}
    corpus.create().produce()
    with open(corpus.folder / "a.jsonl", "a") as out:
        out.write(lines(two))
    (corpus.folder / "b.jsonl").write_text(lines(three))
    corpus.produce("--append")
    check(corpus, encoding, [one, two + three])


def test_a_reject_of_an_append_has_its_line_in_the_whole_file(corpus):
    before = lines(texts(30, 1))
    (corpus.folder / "a.jsonl").write_text(before)
    corpus.config["max_rejects"] = 0.5
    corpus.config["domains"] = {"a": {"train": ["a.jsonl"]}}
    corpus.create().produce()
    with open(corpus.folder / "a.jsonl", "a") as out:
        out.write("bad\n" + lines(texts(30, 2)))
    corpus.produce("--append")
    [reject] = corpus.rejects()
    assert (reject["file"], reject["line"], reject["byte"]) == ("a.jsonl", "31", str(len(before.encode())))


@pytest.mark.parametrize("what", ["gz", "exec"])
def test_an_append_to_a_compressed_file_or_a_program_skips_what_was_read(corpus, encoding, what):
    one, two = texts(50, 1), texts(50, 2)
    name = {"gz": "a.jsonl.gz", "exec": "a.gz"}[what]
    (corpus.folder / name).write_bytes(gzip.compress(lines(one).encode()))
    corpus.config["domains"] = {"a": {"train": [name]} if what == "gz" else {"exec": f"zcat {name}"}}
    corpus.create().produce()
    corpus.produce("--append")
    check(corpus, encoding, [one])
    with open(corpus.folder / name, "ab") as out:
        out.write(gzip.compress(lines(two).encode()))
    corpus.produce("--append")
    check(corpus, encoding, [one, two])


def test_a_file_without_a_last_end_of_line_is_done_until_it_grows(corpus, encoding):
    one = texts(30, 1)
    (corpus.folder / "a.jsonl").write_text(lines(one).rstrip("\n"))
    corpus.config["domains"] = {"a": {"train": ["*.jsonl"]}}
    corpus.create().produce()
    (corpus.folder / "b.jsonl").write_text(lines(one))
    corpus.produce("--append")
    check(corpus, encoding, [one, one])
    (corpus.folder / "b.jsonl").write_text(lines(one).rstrip("\n"))
    refused = corpus.produce("--append", check=False)
    assert refused.returncode == 1 and "b.jsonl" in refused.stderr


@pytest.mark.parametrize("change, word", [
    (lambda f: (f / "a.0.jsonl").write_text(lines(["new"])), "not the first of the list now"),
    (lambda f: (f / "a.1.jsonl").unlink(), "not the first of the list now"),
    (lambda f: (f / "a.2.jsonl").write_text(""), "has only 0 bytes"),
    (lambda f: (f / "a.2.jsonl").write_text("x" * 100000), "no line starts at byte"),
])
def test_an_append_to_other_data_is_refused_with_what_to_do(corpus, change, word):
    for i in (1, 2):
        (corpus.folder / f"a.{i}.jsonl").write_text(lines(texts(30, i)))
    corpus.config["domains"] = {"a": {"train": ["a.*.jsonl"]}}
    corpus.create().produce()
    n = len(corpus.values("a"))
    change(corpus.folder)
    refused = corpus.produce("--append", check=False)
    assert refused.returncode in (1, 2) and word in refused.stderr, refused.stderr
    assert len(corpus.values("a")) == n


@pytest.mark.parametrize("lanes", [1, 2])
def test_a_list_is_published_in_its_own_order_where_the_domain_asks_for_it(corpus, encoding, lanes):
    """file_order: listed. Names sorted would begin with books, and would have 10 before 9."""
    listed = ["web", "books", "9", "10", "11", "2"]
    documents = {name: texts(40, i) for i, name in enumerate(listed)}
    for name in listed:
        (corpus.folder / f"{name}.jsonl").write_text(lines(documents[name]))
    corpus.config["domains"] = {"a": {"train": ["web.jsonl", "books.jsonl", "{9..11}.jsonl"], "file_order": "listed", "partitions": lanes}}
    corpus.create().produce(check=False, env={"RIFFLE_FAULT": "produce.before_end"})

    def expect(*names):
        for lane in range(lanes):
            check(corpus, encoding, [[d for name in run[lane::lanes] for d in documents[name]] for run in names], lane=lane)

    def refused(words, *args, **keys):
        before = [corpus.values("a", lane) for lane in range(lanes)]
        corpus.config["domains"]["a"] |= keys
        corpus.write()
        done = corpus.produce(*args, check=False)
        assert done.returncode == 2 and all(word in done.stderr for word in words), done.stderr
        assert before == [corpus.values("a", lane) for lane in range(lanes)]

    refused(["file_order: \"listed\" in the log, nothing in the file"], file_order="name")
    corpus.config["domains"]["a"]["file_order"] = "listed"
    corpus.write()
    corpus.finish()
    expect(listed[:5])
    refused(["the list no longer begins with the ", ".jsonl, the last of them, and add new files after that one"], "--append",
            train=["2.jsonl", "web.jsonl", "books.jsonl", "{9..11}.jsonl"])
    corpus.config["domains"]["a"]["train"] = ["web.jsonl", "books.jsonl", "{9..11}.jsonl", "2.jsonl"]
    corpus.write()
    assert "PRODUCE-NEW" in corpus.produce().stderr
    corpus.produce("--append")
    lane = 5 % lanes
    check(corpus, encoding, [[d for name in listed[:5][lane::lanes] for d in documents[name]], documents["2"]], lane=lane)


def test_documents_of_the_dropped_remainder_stay_dropped(corpus, encoding):
    """The last files of the former run were too short for a sequence: nothing of them comes again."""
    first, tail, new = texts(30, 1), ["few words"], texts(30, 2)
    for name, documents in (("1", first), ("2", tail), ("3", ["more"])):
        (corpus.folder / f"{name}.jsonl").write_text(lines(documents))
    corpus.config["domains"] = {"a": {"train": ["*.jsonl"]}}
    corpus.create().produce()
    (corpus.folder / "4.jsonl").write_text(lines(new))
    corpus.produce("--append")
    check(corpus, encoding, [first + tail + ["more"], new])


def append_all(corpus, **more):
    past_late(lambda: corpus.produce("--append", check=False, **more))


@pytest.mark.parametrize("point", [
    "produce.before_publish:1", "produce.after_publish:9", "produce.before_end:1", "produce.after_publish:40",
    "produce.after_end:1"])
@pytest.mark.parametrize("rerun", [["--append"], []])
def test_kill_9_in_an_append_leaves_the_undisturbed_log(corpus, point, rerun):
    """Of several sets and lanes; also where the append is resumed by a run without --append, then with it."""
    def grow(c, part):
        for k in range(2):
            (c.folder / f"{part}.{k}.jsonl").write_text(lines(texts(90, 10 * part + k)))

    corpus.config["split"] = "7,2,1"
    corpus.config["domains"] = {"a": {"train": ["*.*.jsonl"], "partitions": 2}}
    grow(corpus, 1)
    calm, stormy = corpus.copy(), corpus.copy()
    calm.produce()
    stormy.produce()
    grow(corpus, 2)
    calm.produce("--append")
    died = stormy.produce("--append", check=False, env={"RIFFLE_FAULT": point})
    assert died.returncode == -signal.SIGKILL
    if not rerun:
        stormy.finish()
    append_all(stormy)
    for suffix in ("a", "a.valid", "a.test"):
        for lane in range(2):
            a, b = partition(calm.values(suffix, lane)), partition(stormy.values(suffix, lane))
            assert a[0] == b[0], (suffix, lane)
            assert a[1] == b[1], (suffix, lane)


def test_two_appends_by_way_of_json_status(corpus):
    """A partition with sequences behind its End has the old length until its new End."""
    (corpus.folder / "1.jsonl").write_text(lines(texts(60, 1)))
    corpus.config["domains"] = {"a": {"train": ["*.jsonl"]}}
    corpus.create().produce()

    def domain():
        return json.loads(corpus.riffle("status", "-c", corpus.path, "--json").stdout)["domains"][0]

    before = domain()
    assert before["sealed_length"] == before["sequences"] > 0
    (corpus.folder / "2.jsonl").write_text(lines(texts(60, 2)))
    died = corpus.produce("--append", check=False, env={"RIFFLE_FAULT": "produce.before_end"})
    assert died.returncode == -signal.SIGKILL
    halfway = domain()
    assert halfway["sealed_length"] == before["sealed_length"] < halfway["sequences"]
    append_all(corpus)
    after = domain()
    assert after["sealed_length"] == after["sequences"] == halfway["sequences"]


@pytest.mark.parametrize("shuffle", ["block", "full", "none"])
def test_a_mix_draws_every_sequence_around_ends_in_the_middle(corpus, shuffle):
    """An End takes an offset, so that ordinals and offsets drift apart: the mixer reads past it in any order."""
    for i in range(4):
        (corpus.folder / f"{i}.jsonl").write_text(lines(texts(150, i)))
    corpus.config["domains"] = {"a": {"train": ["0.jsonl"], "on_end": "stop"}}
    corpus.config["mix"] = {"name": corpus.name + "m", "seed": 3, "global_batch": 1, "lanes": 1, "weights": {"a": 1},
                            "max_lead_steps": 0, "shuffle": shuffle}
    corpus.create().produce()
    for i in range(1, 4):
        corpus.config["domains"]["a"]["train"] = [f"{{0..{i}}}.jsonl"]
        corpus.write()
        corpus.produce("--append")
    kept, ends = partition(corpus.values("a"))
    assert len(ends) == 4 and len(kept) > 500
    corpus.riffle("mix", "-c", corpus.path)
    out = corpus.riffle("read", "-c", corpus.path, "--format", "jsonl", "--from-step", 0).stdout
    drawn = {q["ordinal"]: q["tokens"] for q in map(json.loads, out.splitlines())}
    assert sorted(drawn) == list(range(len(kept)))
    assert all(drawn[i] == tokens(decode(v)) for i, v in enumerate(kept))


@pytest.mark.parametrize("shuffle", ["block", "full", "none"])
def test_a_domain_that_has_grown_is_in_order_from_its_next_epoch_on(corpus, shuffle):
    """Half of the first pass is drawn before the domain grows, which then ends as it began: the second has all, in one order."""
    (corpus.folder / "0.jsonl").write_text(lines(texts(150, 0)))
    corpus.config["domains"] = {"a": {"train": ["0.jsonl"], "max_epochs": 2, "shuffle": shuffle}}
    corpus.config["mix"] = {"name": corpus.name + "m", "seed": 3, "global_batch": 1, "lanes": 1, "weights": {"a": 1},
                            "max_lead_steps": 0}
    corpus.create().produce()
    first = len(partition(corpus.values("a"))[0])
    corpus.riffle("mix", "-c", corpus.path, "--until-step", first // 2)
    (corpus.folder / "1.jsonl").write_text(lines(texts(150, 1)))
    corpus.config["domains"]["a"]["train"] = ["{0..1}.jsonl"]
    corpus.write()
    corpus.produce("--append")
    length = len(partition(corpus.values("a"))[0])
    assert length > first
    corpus.riffle("mix", "-c", corpus.path)
    out = corpus.riffle("read", "-c", corpus.path, "--format", "jsonl", "--from-step", 0).stdout
    drawn = [(q["epoch"], q["ordinal"]) for q in map(json.loads, out.splitlines())]
    assert [e for e, _ in drawn] == [0] * first + [1] * length
    for ordinals in ([o for _, o in drawn[:first]], [o for _, o in drawn[first:]]):
        assert sorted(ordinals) == list(range(len(ordinals)))
        assert (ordinals == sorted(ordinals)) == (shuffle == "none")
    corpus.riffle("replay", "-c", corpus.path, "--steps", f"0..{first + length}")
