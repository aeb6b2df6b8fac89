"""riffle inspect on a real broker: what it prints is what a trainer reads, and what the domains hold."""

import collections
import json

import pytest

from conftest import both_forms

WEIGHTS = {"a": 0.7, "b": 0.3}
COLUMNS = ["lane", "slot", "domain", "partition", "ordinal", "epoch", "start", "tokens", "source", "document", "offset", "line",
           "keep"]


@pytest.fixture
def mixed(riffle, fill, configure):
    fill("a", "b", sequences=100, partitions=2)
    config = configure(WEIGHTS, partitions=2)
    riffle("mix", "-c", config, "--until-step", 40)
    return config


def inspect(riffle, config, *words, **more):
    return riffle("inspect", "-c", config, *words, **more)


@both_forms
def test_the_sequences_are_those_that_a_trainer_reads(riffle, mixed, read):
    for step in (0, 17, 39):
        seen = [json.loads(line) for line in read(mixed, 1, first=step, form="jsonl")]
        shown = json.loads(inspect(riffle, mixed, step, "--json").stdout)
        assert shown["step"] == step and shown["version"] == 1
        keys = ["lane", "domain", "partition", "ordinal", "epoch"]
        assert [[s[k] for k in keys] for s in shown["sequences"]] == [[s[k] for k in keys] for s in seen]
        assert [s["documents"][0]["source"] for s in shown["sequences"]] == [s["source"] for s in seen]


def test_documents_fill_each_sequence_and_follow_each_other(riffle, mixed):
    """Across ordinals of one partition each document goes on at the token where the last sequence left it."""
    places = {}
    for step in range(12):
        for s in json.loads(inspect(riffle, mixed, step, "--json").stdout)["sequences"]:
            documents = s["documents"]
            assert documents[0]["start"] == 0 and sum(d["tokens"] for d in documents) == s["used"] == s["count"] == 65
            assert all(d["offset"] == 0 for d in documents[1:])
            places[s["domain"], s["partition"], s["ordinal"]] = documents
    followed = 0
    for (domain, partition, ordinal), documents in places.items():
        before = places.get((domain, partition, ordinal - 1))
        if before is None or documents[0]["document"] != before[-1]["document"]:
            continue
        followed += 1
        assert documents[0]["offset"] == before[-1]["offset"] + before[-1]["tokens"] - 1
    assert followed > 20


def test_text_and_json_say_the_same(riffle, mixed):
    lines = inspect(riffle, mixed, 5).stdout.splitlines()
    assert lines[0].split("\t") == COLUMNS
    rows = [dict(zip(COLUMNS, line.split("\t"))) for line in lines[1:]]
    shown = json.loads(inspect(riffle, mixed, 5, "--json").stdout)
    flat = [{**s, **d} for s in shown["sequences"] for d in s["documents"]]
    for f in flat:
        f["line"] = ("" if f["line_exact"] else "~") + str(f["line"]) if f["line"] else "-"
        f["keep"] = f["keep"] or "-"
    assert rows == [{k: str(f[k]) for k in COLUMNS} for f in flat]


def test_what_is_kept_of_a_document_is_shown_as_a_reader_has_it(riffle, write_config, vocab, unique, bootstrap, tmp_path, read, package):
    """So also a time that records have of their own."""
    records = [{"tokens": [i, i + 1, i + 2], "keep": {"time": f"2026-01-{1 + i % 28:02}T00:00:00Z", "a": [i, "\t"]}} for i in range(64)]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(r) + "\n" for r in records))
    config = write_config({
        "corpus": unique, "sequence_length": 8, "split": "1,0,0", "domains": {"a": {
            "train": ["a.jsonl"], "tokens": "jsonl", "packing": "none"}},
        "tokenizer": {"file": str(vocab / "r50k_base.tiktoken"), "pattern": "gpt2"},
        "mix": {"name": f"{unique}-mix", "global_batch": 8, "lanes": 4, "max_lead_steps": 0, "weights": {"a": 1}},
        "kafka": {"bootstrap.servers": bootstrap}})
    for words in (["topics", "--create"], ["import"], ["mix", "--until-step", 4]):
        riffle(words[0], "-c", config, *words[1:])
    shown = json.loads(inspect(riffle, config, 2, "--json").stdout)["sequences"]
    kept = [s["documents"][0]["keep"] for s in shown]
    assert kept == [json.loads(line)["keep"] for line in read(config, 1, first=2, form="jsonl")][:len(kept)]
    with package.riffle.Reader(f"{unique}-mix", bootstrap, step=2) as reader:
        step = next(reader)
        assert [step.spans(i)[0].kept() for i in range(8)] == kept and all(k["time"].startswith("2026-01-") for k in kept)
    rows = [dict(zip(COLUMNS, line.split("\t"))) for line in inspect(riffle, config, 2).stdout.splitlines()[1:]]
    assert [json.loads(row["keep"]) for row in rows] == kept


@both_forms
def test_one_lane_is_its_part_of_the_step(riffle, mixed):
    everything = inspect(riffle, mixed, 9).stdout.splitlines()
    by_lane = collections.defaultdict(list)
    for line in everything[1:]:
        by_lane[int(line.split("\t")[0])].append(line)
    for lane in range(8):
        assert inspect(riffle, mixed, 9, lane).stdout.splitlines() == everything[:1] + by_lane[lane]


@pytest.mark.parametrize("words, code, said", [
    (["40"], 1, "is not published yet: the mix is at step 40"),
    (["1000000"], 1, "is not published yet: the mix is at step 40"),
    (["3", "8"], 2, "LANE: out of range: 8 (mix "),
    (["-1"], 2, "unknown option -1"),
    (["x"], 2, "STEP: not a step: x"),
    (["1", "x"], 2, "LANE: not a lane: x"),
    ([], 2, "which STEP? or --document FILE[:LINE]"),
])
def test_what_cannot_be_shown_is_told(riffle, mixed, words, code, said):
    done = inspect(riffle, mixed, *words, check=False)
    assert done.returncode == code and said in done.stderr and done.stdout == ""


@pytest.mark.parametrize("keys", [{}, {"weights_unit": "tokens"}])
def test_a_step_that_was_deleted_is_derived_by_inspect_skip_and_replay(riffle, fill, configure, bootstrap, keys):
    fill("a", "b", sequences=100, partitions=2)
    mixed = configure(WEIGHTS, partitions=2, **keys)
    riffle("mix", "-c", mixed, "--until-step", 40)
    name = json.loads(mixed.read_text())["mix"]["name"]
    before = [inspect(riffle, mixed, step).stdout for step in range(16)]
    skipped = riffle("skip", "-c", mixed, "--step", 14, "--dry-run").stdout
    riffle("retain", "-c", mixed, "--from-step", 15)
    for step in (0, 7, 14):
        done = inspect(riffle, mixed, step)
        assert done.stdout == before[step]
        assert f"REPLAY-NOT-KEPT step {step} is not in the batch topic any more: it is derived from ledger and domain" in done.stderr
    assert riffle("inspect", "--mix", name, "-X", f"bootstrap.servers={bootstrap}", 14).stdout == before[14]
    kept = inspect(riffle, mixed, 15)
    assert kept.stdout == before[15] and "NOT-KEPT" not in kept.stderr
    assert riffle("skip", "-c", mixed, "--step", 14, "--dry-run").stdout == skipped
    done = riffle("replay", "-c", mixed, "--steps", "10..20")
    assert "of 10 steps 5 are not in the batch topic any more: derived, not compared but with the ledger" in done.stdout
    done = riffle("replay", "-c", mixed, "--steps", "3..9")
    assert done.stdout.startswith(f"replayed steps 3..9 of mix {name}: the ledger agrees with each\n")
    done = inspect(riffle, mixed, 41, check=False)
    assert done.returncode == 1 and "is not published yet: the mix is at step 40" in done.stderr


@both_forms
def test_after_the_end_there_is_no_step(riffle, fill, configure):
    fill("a", sequences=64)
    config = configure({"a": 1}, domains={"a": {"on_end": "stop"}})
    riffle("mix", "-c", config)
    for step in (4, 5, 500):
        done = inspect(riffle, config, step, check=False)
        assert done.returncode == 1 and "has ended before step 4" in done.stderr


@both_forms
def test_a_mix_is_found_by_its_name_alone(riffle, mixed, bootstrap):
    name = json.loads(mixed.read_text())["mix"]["name"]
    done = riffle("inspect", "--mix", name, "-X", f"bootstrap.servers={bootstrap}", 3)
    assert done.stdout == inspect(riffle, mixed, 3).stdout
    done = riffle("inspect", "--mix", name + "-not", "-X", f"bootstrap.servers={bootstrap}", 3, check=False)
    assert done.returncode == 2 and "does not exist" in done.stderr


# ---- the other way: where a sequence was drawn ----

def drawn_by_batches(read, config, steps):
    """(domain, partition, ordinal) -> [(step, lane, slot, epoch)], of all steps as trainers read them."""
    found, slots = collections.defaultdict(list), collections.Counter()
    for line in read(config, steps, form="jsonl"):
        s = json.loads(line)
        found[s["domain"], s["partition"], s["ordinal"]].append((s["step"], s["lane"], slots[s["step"], s["lane"]], s["epoch"]))
        slots[s["step"], s["lane"]] += 1
    return found


def document(riffle, config, what, *words):
    return json.loads(riffle("inspect", "-c", config, "--document", what, "--json", *words).stdout)


def draws(shown):
    [sequence] = shown["sequences"]
    return [(d["step"], d["lane"], d["slot"], d["epoch"]) for d in sequence["draws"]]


def some(found, n=6):
    """Places from all domains and partitions."""
    return sorted(found)[::max(1, len(found) // n)]


@pytest.mark.parametrize("form, keys", [("derived", {})] + [("copied", keys) for keys in (
    {}, {"schedule": "greedy", "lane_order": "strided"}, {"weights_unit": "tokens"}, {"shuffle": "full"},
    {"shuffle": "none", "domains": {"b": {"shuffle": "full"}}},
    {"phases": [{"name": "late", "start_step": 30, "weights": {"a": 0.1}}], "block": 4},
    {"epoch_size": 50, "schedule": "deficit"})])
def test_every_draw_of_a_sequence_is_calculated_from_the_ledger(riffle, fill, configure, read, keys, form):
    """Weights change, sequences are skipped and come back, mixers restart, the batch topic is trimmed."""
    fill("a", "b", sequences=30, partitions=2)
    config = configure(WEIGHTS, partitions=2, **{k: v for k, v in keys.items() if k != "block"})
    ask = lambda *words: riffle(*words[:1], "-c", config, *words[1:], "--timeout", 1, check=False)
    riffle("mix", "-c", config, "--until-step", 11)
    ask("weights", "a=0.2", "--at-step", 20)
    ask("skip", "a/1", "3..9", "--at-step", 15)
    riffle("mix", "-c", config, "--until-step", 31)
    ask("skip", "--undo", "a/1", "4..6", "--at-step", 40)
    planned = {p: draws(document(riffle, config, "/".join(map(str, p)), "--plan", "--steps", "0..31"))
               for p in [("b", 0, 7)]}
    riffle("mix", "-c", config, "--until-step", 60)
    found = drawn_by_batches(read, config, 60)
    if form == "copied":
        riffle("retain", "-c", config, "--from-step", 50)
    for place in [*some(found), ("a", 1, 5), ("a", 1, 8)]:
        shown = document(riffle, config, "/".join(map(str, place)))
        assert draws(shown) == sorted(found[place]), place
        assert shown["published"] == 60 and shown["planned_end"] is None
    assert planned["b", 0, 7] == [d for d in sorted(found["b", 0, 7]) if d[0] < 31]
    place = ("b", 1, 3)
    within = draws(document(riffle, config, "b/1/3", "--steps", "20..45"))
    assert within == [d for d in sorted(found[place]) if 20 <= d[0] < 45]


@both_forms
def test_what_will_be_drawn_is_what_then_is(riffle, fill, configure, read):
    fill("a", "b", sequences=40, partitions=2)
    config = configure(WEIGHTS, partitions=2, phases=[{"name": "late", "start_step": 40, "weights": {"b": 0.7}}])
    riffle("mix", "-c", config, "--until-step", 8)
    riffle("weights", "-c", config, "a=0.5", "--at-step", 20, "--timeout", 1, check=False)
    riffle("mix", "-c", config, "--until-step", 10)
    places = [("a", 0, 0), ("a", 0, 11), ("a", 1, 19), ("b", 0, 11), ("b", 1, 0), ("b", 1, 19)]
    planned = {p: document(riffle, config, "/".join(map(str, p)), "--plan", "--steps", "0..60") for p in places}
    soon = {p: document(riffle, config, "/".join(map(str, p)), "--plan") for p in places}
    riffle("mix", "-c", config, "--until-step", 60)
    found = drawn_by_batches(read, config, 60)
    for p in places:
        assert draws(planned[p]) == sorted(found[p])
        assert [d["planned"] for d in planned[p]["sequences"][0]["draws"]] == [d[0] >= 10 for d in sorted(found[p])]
        assert planned[p]["planned_end"] == 60
        first = next(d for d in sorted(found[p]) if d[0] >= 10)
        assert draws(soon[p]) == [d for d in sorted(found[p]) if d <= first] and soon[p]["planned_end"] == first[0] + 1


def test_sequences_that_there_are_not_are_named(riffle, mixed):
    for what, code, said in [("a/2/0", 1, "domain a has no partition 2 (0 to 1)"), ("a/1/100", 1, "a/1 has the ordinals 0..50 as far as mix"),
                             ("c/0/0", 2, "no file ends in c/0/0, and mix"), ("c/0/0", 2, "has no domain c; it has a, b"),
                             ("none.jsonl:3", 2, "is from a file none.jsonl; `riffle inspect -c")]:
        done = riffle("inspect", "-c", mixed, "--document", what, check=False)
        assert done.returncode == code and said in done.stderr, (what, done.stderr)
    for words, said in [(["--plan", "3"], "--plan: only with --document"), (["--document", "a/0/0", "3"], "goes without STEP"),
                        (["--steps", "3..4", "7"], "--steps: only with --document")]:
        done = riffle("inspect", "-c", mixed, *words, check=False)
        assert done.returncode == 2 and said in done.stderr
    lines = riffle("inspect", "-c", mixed, "--document", "a/0/5").stdout.splitlines()
    assert lines[0].split("\t") == ["step", "lane", "slot", "epoch", "domain", "partition", "ordinal", "state"]
    assert lines[1].split("\t")[4:] == ["a", "0", "5", "published"]
