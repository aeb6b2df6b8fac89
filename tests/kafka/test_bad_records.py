"""
Records that are not what they must be, in every topic that is read: named, passed over or refused, counted, and judged
the same by a replay. What each row must give stands in docs/TESTING.md.
"""

import io
import json
import re
import struct
import subprocess

import fastavro
import pytest
import xxhash
import zstandard

from test_replay import ROOT, Topic, name_of

ENVELOPE = 10
MARK = b"\xc3\x01"


def schema(name):
    return fastavro.parse_schema(json.loads((ROOT / f"schemas/{name}.avsc").read_text()))


def fingerprint(name):
    prints = dict(line.split("\t") for line in (ROOT / "tests/vectors/fingerprints.tsv").read_text().splitlines()
                  if not line.startswith("#"))
    return int(prints[name], 16).to_bytes(8, "little")


def decode(record, name):
    return fastavro.schemaless_reader(io.BytesIO(record[ENVELOPE:]), schema(name))


def encode(value, name):
    out = io.BytesIO()
    fastavro.schemaless_writer(out, schema(name), value)
    return MARK + fingerprint(name) + out.getvalue()


def zigzag(n):
    n, out = (n << 1) ^ (n >> 63), b""
    while n >= 128:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


@pytest.fixture
def topic(tools, bootstrap):
    return lambda name: Topic(tools, bootstrap, name)


@pytest.fixture
def letters(bootstrap, unique):
    """Dead letters of the corpus: headers without "riffle.error." and the value under "value", as text."""
    def read():
        out = subprocess.run(["kcat", "-C", "-q", "-e", "-b", bootstrap, "-t", f"{unique}.rejects", "-f", "%S %h\n",
                              "-X", "isolation.level=read_committed"], check=True, capture_output=True, timeout=60).stdout
        found = []
        for line in out.decode(errors="replace").splitlines():
            size, _, headers = line.partition(" ")
            parts = re.findall(r"riffle\.error\.(\w+)=(.*?)(?=,riffle\.error\.|$)", headers)
            found.append({**dict(parts), "size": int(size)})
        return found
    return read


# ---- records of a domain ----


def changed(record, payload=None, **fields):
    value = decode(record, "Sequence")
    value.update(fields)
    value["payload"].update(payload or {})
    return encode(value, "Sequence")


def with_length(record, length):
    """The record with another length in front of its frame, which is the last of its fields."""
    frame = decode(record, "Sequence")["payload"]["frame"]
    at = len(record) - len(frame) - len(zigzag(len(frame)))
    assert record[at:] == zigzag(len(frame)) + frame
    return record[:at] + zigzag(length) + frame


def spans(record, change):
    value = decode(record, "Sequence")
    change(value["payload"])
    return encode(value, "Sequence")


# Each makes a bad record of a good one; and what the mixer says about it.
POISONED = {
    "nothing": (lambda r: b"", "empty"),
    "garbage": (lambda r: b"{\"text\": \"no\"}", "not a riffle record"),
    "the mark": (lambda r: b"\xc3\x02" + r[2:], "not a riffle record"),
    "the fingerprint": (lambda r: MARK + b"\x01" * 8 + r[ENVELOPE:], "fingerprint"),
    "another kind": (lambda r: encode({"mix": "m", "run": "r", "step": 0, "rank": 0, "world": 1, "losses": []}, "Feedback"),
                     "another riffle record"),
    "cut in the envelope": (lambda r: r[:7], "bytes"),
    "cut behind the envelope": (lambda r: r[:ENVELOPE], "byte"),
    "cut in the middle": (lambda r: r[:len(r) // 2], "byte"),
    "cut by a byte": (lambda r: r[:-1], "byte"),
    "longer by a byte": (lambda r: r + b"\0", "trailing"),
    "a negative length": (lambda r: with_length(r, -5), "byte"),
    "a huge length": (lambda r: with_length(r, 1 << 40), "byte"),
    "the greatest length": (lambda r: with_length(r, (1 << 63) - 1), "byte"),
    "a negative ordinal": (lambda r: changed(r, ordinal=-1), "out of range"),
    "no tokens": (lambda r: changed(r, {"count": 0}), "out of range"),
    "too many tokens": (lambda r: changed(r, {"count": (1 << 20) + 2}), "out of range"),
    "a width of 4": (lambda r: changed(r, {"width": 4}), "out of range"),
    "more used than there": (lambda r: changed(r, {"used": 66}), "out of range"),
    "a source that is none": (lambda r: spans(r, lambda p: p["documents"][0].update(source=9)), "out of range|source"),
    "spans that do not begin": (lambda r: spans(r, lambda p: p["documents"][0].update(start=3)), "span|start|out of range"),
    "the hash": (lambda r: changed(r, {"frame_hash": b"12345678"}), "hash"),
    "a bit of the frame": (lambda r: r[:-2] + bytes([r[-2] ^ 4]) + r[-1:], "hash"),
    "a bomb in place of the frame": (
        lambda r: changed(r, {"frame": zstandard.ZstdCompressor(level=19).compress(bytes(64 << 20))}), "hash"),
}


def test_each_poisoned_record_of_a_domain_is_a_dead_letter_and_a_replay_passes_it_over_too(
        riffle, fill, configure, read, topic, unique, letters, bootstrap):
    fill("a", sequences=128)
    log = topic(f"{unique}.a")
    bad = {4 * i + 2: name for i, name in enumerate(POISONED)}
    good = list(log.records[0])
    for at, name in bad.items():
        log.records[0][at] = POISONED[name][0](good[at])
        assert log.records[0][at] != good[at]
    log.write(1)
    config = configure({"a": 1}, seed=11)
    done = riffle("mix", "-c", config, "--until-step", 24)
    assert done.stderr.count("MIX-QUARANTINE") == len(bad)

    # every one is in the topic of rejects, with its place and reason, and is a reason of the log, too
    found = {int(x["ordinal"]): x for x in letters()}
    assert sorted(found) == sorted(bad)
    for at, name in bad.items():
        x = found[at]
        assert (x["stage"], x["topic"], x["partition"], x["domain"]) == ("mix", f"{unique}.a", "0", "a")
        assert x["offset"] == str(at) and x["size"] == len(log.records[0][at]), (name, x)
        assert re.search(POISONED[name][1], x["reason"]), (name, x)
        assert f"ordinal={at}: " in done.stderr

    # listed and counted: records, not offsets, among which are the marks of transactions
    listed = [json.loads(x) for x in riffle("rejects", "-c", config, "--json").stdout.splitlines()]
    counts = listed.pop()
    assert sorted((r["ordinal"], r["offset"], r["topic"]) for r in listed) == sorted((at, at, f"{unique}.a") for at in bad)
    assert counts["records"] == len(bad)

    # counted, drawn around, and so again by a replay
    status = json.loads(riffle("status", "-c", config, "--json").stdout)
    assert status["mix"]["quarantined"] == len(bad)
    assert any(f"{len(bad)} sequences failed the mixer's check" in p for p in status["problems"]), status["problems"]
    drawn = [json.loads(x) for x in read(config, 24, form="jsonl")]
    assert not {d["ordinal"] for d in drawn} & set(bad)
    assert sorted(d["ordinal"] for d in drawn if d["epoch"] == 0) == [i for i in range(128) if i not in bad]
    assert "all equal" in riffle("replay", "-c", config, "--steps", "0..24").stdout
    again = configure({"a": 1}, "again", seed=11, transaction_ms=5)
    riffle("mix", "-c", again, "--until-step", 24)
    assert read(again, 24) == read(config, 24)


def test_an_ordinal_from_nowhere_ends_the_mixer_with_its_topic(riffle, fill, configure, topic, unique):
    """Records are missing, or another program writes there: no decision that a replay could repeat."""
    fill("a", sequences=60)
    log = topic(f"{unique}.a")
    log.records[0][20] = changed(log.records[0][20], ordinal=1 << 50)
    log.write(1)
    failed = riffle("mix", "-c", configure({"a": 1}), "--until-step", 10, check=False, timeout=60)
    assert failed.returncode == 1
    last = failed.stderr.splitlines()[-1]
    assert f"topic {unique}.a partition 0: " in last and "are missing" in last and "another program writes here" in last


def test_a_second_record_of_an_ordinal_that_differs_is_reported_and_the_first_one_counts(
        riffle, fill, configure, read, topic, unique):
    """As two producers leave them that read different inputs. An equal record is a duplicate without a word."""
    fill("a", sequences=60)
    riffle("mix", "-c", configure({"a": 1}, "before"), "--until-step", 10)
    log = topic(f"{unique}.a")
    good = list(log.records[0])
    for record, ordinal, said in [(good[12], 12, 0), (changed(good[13], ordinal=12), 12, 1), (changed(good[13], ordinal=0), 0, 1)]:
        log.records[0] = good[:20] + [record] + good[20:]
        log.write(1)
        name = f"after{ordinal}{said}"
        done = riffle("mix", "-c", configure({"a": 1}, name), "--until-step", 10)
        twice = f"MIX-TWICE topic={unique}.a partition=0 offsets {ordinal} and 20 both hold sequence {ordinal},"
        assert done.stderr.count(twice) == said, done.stderr
        assert done.stderr.count("MIX-TWICE") == said
        assert read(configure({"a": 1}, name), 10) == read(configure({"a": 1}, "before"), 10)


def test_an_ordinal_that_is_repeated_in_the_place_of_another_is_a_missing_one(riffle, fill, configure, topic, unique):
    fill("a", sequences=60)
    log = topic(f"{unique}.a")
    log.records[0][20] = changed(log.records[0][20], ordinal=19)
    log.write(1)
    failed = riffle("mix", "-c", configure({"a": 1}), "--until-step", 10, check=False, timeout=60)
    assert failed.returncode == 1 and "ordinals 20..21 are missing" in failed.stderr.splitlines()[-1]


def test_another_tokenizer_in_the_midst_of_a_domain_ends_the_mixer_with_its_ordinal(riffle, fill, configure, topic, unique):
    fill("a", sequences=60)
    log = topic(f"{unique}.a")
    log.records[0][20] = changed(log.records[0][20], tokenizer=b"\x42" * 8)
    log.write(1)
    failed = riffle("mix", "-c", configure({"a": 1}), "--until-step", 10, check=False, timeout=60)
    assert failed.returncode == 2
    assert f"topic {unique}.a partition 0 ordinal 20 has tokenizer 4242424242424242" in failed.stderr


def squeezed(tokens):
    return zstandard.ZstdCompressor(level=19).compress(struct.pack(f"<{len(tokens)}H", *tokens))


# Frames with a right hash and wrong tokens: the mixer copies what it does not open.
UNREADABLE = {
    "a bomb of a gigabyte": zstandard.ZstdCompressor(level=19).compress(bytes(1 << 30)),
    "two frames": squeezed([1] * 32) + squeezed([1] * 33),
}


@pytest.mark.parametrize("kind", UNREADABLE)
def test_a_frame_with_a_right_hash_and_wrong_tokens_stops_the_reader_which_says_how_to_skip_it(
        riffle, fill, configure, topic, unique, wait_for, kind):
    fill("a", sequences=32)
    log = topic(f"{unique}.a")
    frame = UNREADABLE[kind]
    log.records[0][7] = changed(log.records[0][7], {
        "frame": frame, "frame_hash": xxhash.xxh64(frame).intdigest().to_bytes(8, "little")})
    log.write(1)
    config = configure({"a": 1})
    riffle("mix", "-c", config, "--until-step", 2)
    done = subprocess.run(["bash", "-c", f"ulimit -v 4000000; exec {riffle.path} read -c {config} --rank 0 --world 1 "
                           "--from-step 0 --steps 2"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert "domain a, partition 0, ordinal 7: " in last and f"`riffle skip -c {config} a/0 7..8`" in last
    # the line that it says helps: in the next pass the sequence is not drawn
    ask = riffle.popen("skip", "-c", config, "a/0", "7..8", "--id", "x", "--timeout", 60)
    wait_for(lambda: topic(f"{unique}-mix.control").records[0], "the request")
    riffle("mix", "-c", config, "--until-step", 6)
    assert ask.wait(timeout=60) == 0
    out = riffle("read", "-c", config, "--rank", "0", "--world", "1", "--from-step", "2", "--steps", "4", "--format", "jsonl")
    assert 7 not in {json.loads(x)["ordinal"] for x in out.stdout.splitlines()}
    assert "all equal" in riffle("replay", "-c", config, "--steps", "0..6").stdout


# ---- control ----


def request(**fields):
    return {"id": "x", "kind": "WEIGHTS", "at_step": -1, "weights": [], "temperature": 0.0, "lr_scale": 0.0, "domain": "",
            "partition": -1, "first": 0, "end": 0, "who": "test", **fields}


def test_each_record_that_is_no_request_is_a_dead_letter_and_the_next_one_is_heard(
        riffle, fill, configure, topic, unique, letters):
    fill("a", "b")
    config = configure({"a": 1, "b": 1})
    good = encode(request(weights=[{"domain": "a", "weight": 2.0}]), "Control")
    at = good.index(b"\x02a", ENVELOPE)  # the length of the domain's name, and the name
    bad = {
        "": "empty", "not a request": "not a riffle record", b"\xc3\x02" + good[2:]: "not a riffle record",
        MARK + b"\x01" * 8 + good[ENVELOPE:]: "fingerprint", good[:7]: "bytes", good[:-2]: "who|byte|end",
        good + b"\0": "trailing|behind|byte", good[:at] + b"\x01" + good[at + 1:]: "length|byte",
        good[:at] + zigzag(1 << 40) + good[at + 1:]: "length|byte|long",
        good[:ENVELOPE + 2] + b"\x0e" + good[ENVELOPE + 3:]: "kind",
        encode({"mix": "m", "run": "r", "step": 0, "rank": 0, "world": 1, "losses": []}, "Feedback"): "Feedback",
    }
    records = [r if isinstance(r, bytes) else r.encode() for r in bad]
    control = topic(f"{unique}-mix.control")
    riffle("mix", "-c", config, "--until-step", 3)
    control.append([(0, r) for r in records] + [(0, good)])
    done = riffle("mix", "-c", config, "--until-step", 9)
    assert done.stderr.count("MIX-CONTROL") == len(bad)
    found = {int(x["offset"]): x for x in letters()}
    assert sorted(found) == list(range(len(bad)))
    for offset, (record, reason) in enumerate(zip(records, bad.values())):
        x = found[offset]
        assert (x["stage"], x["topic"], x["partition"]) == ("mix", f"{unique}-mix.control", "0")
        assert x["size"] == len(record) and re.search(reason, x["reason"]), (record, x)
    ledger = [decode(r, "Ledger") for r in topic(f"{unique}-mix.ledger").records[0]]
    assert [(a["id"], a["accepted"]) for r in ledger for a in r["answers"]] == [("x", True)]
    assert ledger[-1]["control_next"] == len(bad) + 1
    assert "all equal" in riffle("replay", "-c", config, "--steps", "0..9").stdout


# ---- the ledger ----


LEDGERS = {
    "garbage": (lambda r: b"hello", "not a riffle record"),
    "cut": (lambda r: r[:-3], "byte|end"),
    "a config that is no JSON": (lambda r: encode({**decode(r, "Ledger"), "config": "{"}, "Ledger"), "not JSON"),
    "another mix": (lambda r: encode({**decode(r, "Ledger"), "mix": "other"}, "Ledger"), "other"),
    "a schedule of its own": (lambda r: encode({**decode(r, "Ledger"), "schedule": b"12345678"}, "Ledger"), "schedule|hash"),
    "domains that are none": (lambda r: encode({**decode(r, "Ledger"), "domains": []}, "Ledger"), "domain"),
    "a negative count": (lambda r: encode({**decode(r, "Ledger"), "draws": -4}, "Ledger"), "draws"),
}


@pytest.mark.parametrize("kind", LEDGERS)
def test_a_ledger_that_ends_with_what_cannot_be_gone_on_from_is_refused_by_mixer_replay_and_status(
        riffle, fill, configure, topic, unique, kind):
    make, reason = LEDGERS[kind]
    fill("a")
    config = configure({"a": 1})
    riffle("mix", "-c", config, "--until-step", 5)
    ledger = topic(f"{unique}-mix.ledger")
    offset = len(ledger.records[0])
    ledger.append([(0, make(ledger.records[0][-1]))])
    before = topic(f"{unique}-mix.batches").records
    failed = riffle("mix", "-c", config, "--until-step", 9, check=False, timeout=60)
    assert failed.returncode in (1, 2)
    last = failed.stderr.splitlines()[-1]
    assert f"{unique}-mix.ledger" in last and re.search(reason, last), last
    assert topic(f"{unique}-mix.batches").records == before
    status = riffle("status", "-c", config, check=False)
    assert status.returncode in (0, 1, 2) and len(status.stdout + status.stderr) > 0
    assert offset > 0


# ---- feedback ----


def test_each_record_that_is_no_report_is_counted_and_the_others_are_heard(riffle, fill, configure, topic, unique):
    fill("a")
    config = configure({"a": 1})
    riffle("mix", "-c", config, "--until-step", 5)
    mix = name_of(config)
    good = [encode({"mix": mix, "run": "trainers", "step": s, "rank": 0, "world": 1,
                    "losses": [{"domain": "a", "loss_sum": 8.0, "excess_sum": 0.0, "tokens": 4}]}, "Feedback")
            for s in range(5)]
    at = good[0].index(b"\x02a", ENVELOPE)
    bad = [b"", b"what?", b"\xc3\x02" + good[0][2:], MARK + b"\x01" * 8 + good[0][ENVELOPE:], good[0][:-3],
           good[0] + b"\0", good[0][:at] + b"\x01" + good[0][at + 1:], good[0][:at] + zigzag(1 << 40) + good[0][at + 1:],
           encode({"mix": mix, "run": "trainers", "step": 3, "rank": 7, "world": 2, "losses": []}, "Feedback"),
           encode({"mix": mix, "run": "trainers", "step": 3, "rank": 0, "world": 0, "losses": []}, "Feedback"),
           encode({"mix": "another", "run": "trainers", "step": 3, "rank": 0, "world": 1, "losses": []}, "Feedback"),
           encode(request(), "Control")]
    mingled = [r for pair in zip(bad, good * 3) for r in pair]
    topic(f"{mix}.feedback").append([(0, r) for r in mingled])
    losses = json.loads(riffle("status", "-c", config, "--json").stdout)["mix"]["losses"]
    losses = losses[0] if isinstance(losses, list) else losses
    assert losses["dropped"]["malformed"] == len(bad)
    assert losses["steps"] == 5 and losses["domains"]["a"]["loss"] == pytest.approx(2)


# ---- batches and commits: what a reader says of each kind is in test_read.py ----


BATCHES = {
    "cut": lambda r: r[:-5],
    "longer": lambda r: r + b"\0",
    "a step below 0": lambda r: encode({**decode(r, "Batch"), "step": -1}, "Batch"),
}


@pytest.mark.parametrize("kind", BATCHES)
def test_a_batch_that_is_none_is_named_by_trainer_and_replay(riffle, fill, configure, topic, unique, kind):
    fill("a")
    config = configure({"a": 1})
    riffle("mix", "-c", config, "--until-step", 6)
    name = f"{name_of(config)}.batches"
    batches = topic(name)
    batches.records[2][3] = BATCHES[kind](batches.records[2][3])
    batches.write(8)
    reader = riffle("read", "-c", config, "--rank", "0", "--world", "1", "--from-step", "0", "--steps", "6",
                    "--timeout", "10", check=False, timeout=60)
    assert reader.returncode == 1 and len(reader.stdout.splitlines()) == 3 * 8
    assert f"topic {name}, lane 2, offset 3" in reader.stderr.splitlines()[-1], reader.stderr
    replay = riffle("replay", "-c", config, "--steps", "0..6", check=False, timeout=60)
    assert replay.returncode == 1 and "step 3" in replay.stdout + replay.stderr, replay.stdout + replay.stderr


COMMITS = ["step=-1", "x" * 3000]


def test_a_commit_whose_text_is_no_step_is_named_by_reader_mixer_and_status(
        riffle, fill, configure, tools, bootstrap):
    """Nobody takes it for a position: the reader says so, the mixer waits for the run, status tells of it."""
    fill("a")
    config = configure({"a": 1}, max_lead_steps=4)
    riffle("mix", "-c", config, "--until-step", 4)
    mix = name_of(config)
    for text in COMMITS:
        for lane in range(8):
            subprocess.run([tools / "broker", "commit", f"{mix}.trainers", f"{mix}.batches", str(lane), "3", text],
                           env={"RIFFLE_BOOTSTRAP": bootstrap}, check=True, capture_output=True, timeout=30)
        reader = riffle("read", "-c", config, "--rank", "0", "--world", "1", "--run", "trainers", "--steps", "1",
                        "--timeout", "3", check=False, timeout=60)
        assert reader.returncode == 1 and "not step=N" in reader.stderr.splitlines()[-1], reader.stderr
        assert f"group {mix}.trainers" in reader.stderr.splitlines()[-1], reader.stderr
        status = json.loads(riffle("status", "-c", config, "--json").stdout)
        assert any("trainers" in p and "step=N" in p for p in status["problems"]), status["problems"]
    mixer = riffle.popen("mix", "-c", config, "--until-step", "8")
    assert any("trainers" in line for line in mixer.stderr)
