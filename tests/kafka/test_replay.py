"""riffle replay on a real broker: what it finds equal, what it finds wrong and whom it blames, what it republishes."""

import collections
import io
import json
import pathlib
import random
import re
import signal
import subprocess
import threading

import fastavro
import pytest

from conftest import both_forms
from wire_proxy import FETCH, Fate, Proxy

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
WEIGHTS = {"a": 0.6, "b": 0.4}
ENVELOPE = 10


def name_of(config):
    return json.loads(pathlib.Path(config).read_text())["mix"]["name"]


def steps_of(first, end):
    return ["--steps", f"{first}..{end}"]


@pytest.fixture
def replay(riffle):
    def run(config, first, end, *more, check=True, **others):
        return riffle("replay", "-c", config, *steps_of(first, end), *more, check=check, **others)
    return run


@pytest.fixture
def agreed(form):
    """What is said of the steps [0, n) of a mix, all compared: their lanes, or where it has no copies the ledger alone."""
    return lambda n: f": {8 * n} records, " if form == "copied" else ", which has no copies: the ledger agrees with each\n"


@pytest.fixture
def mixed(riffle, fill, configure):
    """60 steps, several transactions, several epochs of short domains with two partitions."""
    fill("a", "b", sequences=120, partitions=2)
    config = configure(WEIGHTS, partitions=2)
    riffle("mix", "-c", config, "--until-step", 60)
    return config


class Topic:
    """The visible records of a topic, changed and written again."""

    def __init__(self, tools, bootstrap, name):
        self.program, self.env, self.name = tools / "topic", {"RIFFLE_BOOTSTRAP": bootstrap}, name
        out = subprocess.run([self.program, "read", name], env=self.env, check=True, capture_output=True, text=True)
        self.records = collections.defaultdict(list)
        for line in out.stdout.splitlines():
            partition, _, text = line.split("\t")
            self.records[int(partition)].append(bytes.fromhex(text))

    def write(self, partitions):
        lines = "".join(f"{p}\t0\t{r.hex()}\n" for p in sorted(self.records) for r in self.records[p])
        subprocess.run([self.program, "write", self.name, str(partitions)], env=self.env, check=True, input=lines,
                       text=True)

    def append(self, lines):
        subprocess.run([self.program, "append", self.name], env=self.env, check=True, text=True,
                       input="".join(f"{p}\t0\t{r.hex()}\n" for p, r in lines))

    def flip(self, partition, index, at, bits=1):
        record = bytearray(self.records[partition][index])
        record[at] ^= bits
        self.records[partition][index] = bytes(record)


@pytest.fixture
def topic(tools, bootstrap):
    return lambda name: Topic(tools, bootstrap, name)


def control_record(**fields):
    """A request as `riffle weights` and others write it."""
    out = io.BytesIO()
    value = {"kind": "WEIGHTS", "at_step": -1, "weights": [], "temperature": 0.0, "lr_scale": 0.0, "domain": "",
             "partition": 0, "first": 0, "end": 0, "who": "test", **fields}
    schema = fastavro.parse_schema(json.loads((ROOT / "schemas/Control.avsc").read_text()))
    fastavro.schemaless_writer(out, schema, value)
    prints = dict(line.split("\t") for line in (ROOT / "tests/vectors/fingerprints.tsv").read_text().splitlines()[1:])
    return b"\xc3\x01" + int(prints["Control"], 16).to_bytes(8, "little") + out.getvalue()


def weights(**values):
    return [{"domain": d, "weight": float(w)} for d, w in values.items()]


def decode_ledger(record):
    schema = fastavro.parse_schema(json.loads((ROOT / "schemas/Ledger.avsc").read_text()))
    body = io.BytesIO(record[ENVELOPE:])
    value = fastavro.schemaless_reader(body, schema)
    assert body.read() == b""
    return value


# --- what is equal


@both_forms
def test_every_byte_is_equal_over_any_range(mixed, replay, agreed, form):
    done = replay(mixed, 0, 60)
    equal = r": 480 records, \d+ bytes, all equal" if form == "copied" else ", which has no copies: the ledger agrees with each"
    assert re.fullmatch(r"replayed steps 0\.\.60 of mix [\w-]+" + equal + "\n", done.stdout)
    rng = random.Random(7)
    for first, end in [(0, 1), (59, 60), (17, 18)] + [sorted(rng.sample(range(61), 2)) for _ in range(6)]:
        assert agreed(end - first) in replay(mixed, first, end).stdout


@pytest.mark.parametrize("point", ["mix.before_begin:3", "mix.mid_produce:77", "mix.after_flush:2", "mix.after_offsets:2",
                                   "mix.after_commit:2", "mix.after_commit:1"])
def test_after_a_kill_9_every_byte_is_equal(riffle, fill, configure, replay, point):
    fill("a", "b", sequences=100)
    config = configure(WEIGHTS)
    died = riffle("mix", "-c", config, "--until-step", 60, env={"RIFFLE_FAULT": point}, check=False)
    assert died.returncode == -signal.SIGKILL
    riffle("mix", "-c", config, "--until-step", 60)
    replay(config, 0, 60)
    replay(config, 31, 47)


def test_schedules_phases_and_orders_are_replayed(riffle, fill, configure, replay):
    fill("a", "b", "c", sequences=70)
    weights = {"a": 5, "b": 3, "c": 0.01}
    phases = [{"name": "late", "start_step": 21, "weights": {"c": 4}, "lr_scale": 0.5},
              {"name": "end", "start_step": 40, "weights": {"a": 1, "b": 1, "c": 1}, "temperature": 2}]
    variants = {
        "plain": {"phases": phases},
        "greedy": {"schedule": "greedy", "phases": phases},
        "random": {"schedule": "random", "phases": phases},
        "bare": {"permute": False, "lane_order": "strided"},
        "rounds": {"epoch_size": 100, "window": 2},
        "tokens": {"weights_unit": "tokens", "phases": phases},
        "drop": {"domains": {"a": {"on_end": "drop"}}, "temperature": 3},
        "size": {"weights": "size"},
        "full": {"shuffle": "full", "phases": phases},
        "none": {"shuffle": "none", "domains": {"a": {"shuffle": "full"}}},
    }
    for name, keys in variants.items():
        config = configure({**weights}, name, **keys)
        riffle("mix", "-c", config, "--until-step", 60)
        assert ": 480 records, " in replay(config, 0, 60).stdout, name


@both_forms
def test_a_mix_that_has_ended_is_replayed_to_its_end(riffle, fill, configure, replay):
    fill("a", "b", sequences=80)
    config = configure(WEIGHTS, domains={"a": {"on_end": "stop"}})
    riffle("mix", "-c", config)
    replay(config, 0, 8)
    done = replay(config, 0, 9, check=False)
    assert done.returncode == 1 and "has ended before step 8: --steps 0..8\n" in done.stderr


def test_an_accepted_configuration_is_replayed_by_the_ledger_alone(riffle, fill, configure, replay):
    fill("a", "b", "c", sequences=90)
    riffle("mix", "-c", configure(WEIGHTS), "--until-step", 20)
    second = configure({"a": 0.1, "b": 0.2, "c": 0.7}, max_lead_steps=0, temperature=2)
    riffle("mix", "-c", second, "--until-step", 40, "--accept-config", "--yes")
    third = configure({"b": 1, "c": 1})
    riffle("mix", "-c", third, "--until-step", 60, "--accept-config", "--yes")
    first = configure({"a": 1})
    for config in (first, third):
        replay(config, 0, 60)
    for first, end in ((19, 21), (20, 40), (39, 60), (25, 30)):
        replay(third, first, end)


@both_forms
def test_sequences_that_were_quarantined_are_passed_over_again(riffle, fill, configure, replay, topic, unique):
    fill("a", "b", sequences=60)
    log = topic(f"{unique}.a")
    for index in (3, 4, 41):
        log.flip(0, index, -3)
    log.write(1)
    config = configure(WEIGHTS)
    mixing = riffle("mix", "-c", config, "--until-step", 60)
    assert mixing.stderr.count("MIX-QUARANTINE") == 3
    replay(config, 0, 60)
    replay(config, 5, 9)


@both_forms
def test_requests_are_replayed_from_their_answers(riffle, fill, configure, replay, read, topic, unique, agreed):
    """Weights twice, a skip, a leaving and a joining domain, some at a step of their own, over two runs of the mixer."""
    fill("a", "b", "c", "d", sequences=90)
    config = configure({"a": 5, "b": 3, "c": 1})
    riffle("mix", "-c", config, "--until-step", 20)
    control = topic(f"{name_of(config)}.control")
    asked = [
        dict(id="1", weights=weights(a=1, b=1), lr_scale=0.5),
        dict(id="2", at_step=27, weights=weights(a=9), temperature=2.0),
        dict(id="3", at_step=24, kind="SKIP", domain="b", first=3, end=40),
        dict(id="4", at_step=33, kind="LEAVE", domain="c"),
        dict(id="5", at_step=30, kind="JOIN", domain="d", weights=weights(d=4)),
        dict(id="6", weights=weights(nobody=1)),
        dict(id="1", weights=weights(a=100)),
    ]
    control.append([(0, control_record(**fields)) for fields in asked])
    riffle("mix", "-c", config, "--until-step", 45)
    control.append([(0, control_record(id="7", weights=weights(d=0.5)))])
    riffle("mix", "-c", config, "--until-step", 60)
    answers = [a for r in topic(f"{name_of(config)}.ledger").records[0] for a in decode_ledger(r)["answers"]]
    assert [(a["id"], a["accepted"], a["step"]) for a in answers] == [
        ("1", True, 20), ("2", True, 27), ("3", True, 24), ("4", True, 33), ("5", True, 30), ("6", False, -1), ("7", True, 45)]
    assert agreed(60) in replay(config, 0, 60).stdout
    for first, end in ((20, 21), (19, 28), (30, 34), (44, 46), (50, 60)):
        replay(config, first, end)
    replay(config, 15, 50, "--republish", f"{unique}-again")
    again = configure({"a": 5, "b": 3, "c": 1}, "again", create=False)
    assert tokens(read, again, 15, 50) == tokens(read, config, 15, 50)
    replay(again, 15, 50)


def length_known(ledger):
    records = ledger.records[0]
    return decode_ledger(records[-1])["domains"][1]["partitions"][0]["sequences"] if records else -1


@pytest.mark.parametrize("on_dry", ["lend", "wait"])
@both_forms
def test_a_live_domain_is_replayed_as_it_was_then(riffle, fill, configure, replay, read, topic, unique, on_dry, wait_for, agreed):
    """It runs dry, grows, and is closed: each decision to wait or to lend was made with the lengths of its time."""
    fill("a", sequences=150)
    fill("a", "b", sequences=200, corpus=f"{unique}x")
    source = topic(f"{unique}x.b").records[0]
    config = configure({"a": 1, "b": 1}, domains={"b": {"live": True, "on_dry": on_dry}}, transaction_ms=20)
    live, ledger = topic(f"{unique}.b"), f"{name_of(config)}.ledger"
    parts = [(0, 30, 15), (30, 50, 25), (50, 110, 40), (110, len(source), 60)]
    if on_dry == "lend":  # it goes on whatever comes, so that each part gets a run of the mixer
        for first, end, step in parts:
            live.append([(0, r) for r in source[first:end]])
            riffle("mix", "-c", config, "--until-step", step)
    else:
        mixing = riffle.popen("mix", "-c", config, "--until-step", 60)
        for first, end, _ in parts:
            live.append([(0, r) for r in source[first:end]])
            wait_for(lambda: length_known(topic(ledger)) >= min(end, 200) or mixing.poll() is not None, "the new length")
        assert mixing.wait(timeout=60) == 0
    lengths = {decode_ledger(r)["domains"][1]["partitions"][0]["sequences"] for r in topic(ledger).records[0]}
    assert {30, 50, 110, 200} <= lengths
    assert agreed(60) in replay(config, 0, 60).stdout
    for first, end in ((3, 5), (30, 60), (59, 60)):
        replay(config, first, end)
    replay(config, 2, 58, "--republish", f"{unique}-again")
    again = configure({"a": 1, "b": 1}, "again", create=False)
    assert tokens(read, again, 2, 58) == tokens(read, config, 2, 58)
    replay(again, 2, 58)


def test_works_while_the_mix_is_running_and_for_several_mixes_of_one_corpus(riffle, fill, configure, replay, wait_for):
    fill("a", "b")
    configs = [configure(WEIGHTS, name, seed=seed, transaction_ms=20) for name, seed in (("one", 1), ("two", 2))]
    running = [riffle.popen("mix", "-c", c, "--until-step", 1000000) for c in configs]
    for config in configs:
        wait_for(lambda: replay(config, 100, 200, check=False).returncode == 0, "200 steps that are equal")
    assert all(r.poll() is None for r in running)


# --- what cannot be replayed


@pytest.mark.parametrize("words, code, said", [
    ([], 2, "--steps A..B is needed"),
    (["--steps", "5..5"], 2, "holds no step"),
    (["--steps", "50..61"], 1, "are not all published: mix "),
    (["--steps", "0..5", "--republish", "not a name"], 2, "is not a name of a mix"),
])
def test_mistakes_are_told(riffle, mixed, words, code, said):
    done = riffle("replay", "-c", mixed, *words, check=False)
    assert done.returncode == code and said in done.stderr and done.stdout == ""


def test_a_mix_that_has_not_begun_is_no_mix_at_step_0(riffle, fill, configure, replay):
    fill("a", "b")
    config = configure(WEIGHTS)
    done = replay(config, 0, 2, check=False)
    assert done.returncode == 1
    assert done.stderr.endswith(f"mix {name_of(config)} has not begun: `riffle mix -c {config}` starts it\n")


def test_ctrl_c_ends_with_0_and_says_how_far_all_is_equal(riffle, mixed, bootstrap):
    """The broker answers no further request for batches."""
    silent, left = threading.Event(), iter(range(30))

    def decide(api_key):
        if api_key != FETCH or f"{name_of(mixed)}.batches".encode() not in proxy.request or next(left, None) is not None:
            return Fate.PASS
        silent.set()
        return Fate.SILENCE

    proxy = Proxy(bootstrap, decide)
    process = riffle.popen("replay", "-c", mixed, *steps_of(0, 60), "-X", f"bootstrap.servers={proxy.address}",
                           "-X", "fetch.message.max.bytes=1")
    assert silent.wait(60)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 0 and out == ""
    assert re.search(r"replay: stopped (before step 0|at step \d+: all steps so far are equal)\n", err), err
    proxy.close()


def test_steps_that_were_deleted_are_compared_with_the_ledger_alone(riffle, mixed, replay, topic):
    riffle("retain", "-c", mixed, "--from-step", 30)
    done = replay(mixed, 29, 40)
    assert "of 11 steps 1 are not in the batch topic any more: derived, not compared but with the ledger" in done.stdout
    assert "REPLAY-NOT-KEPT" not in replay(mixed, 30, 60).stderr
    log = topic(name_of(mixed) + ".ledger")
    index = next(i for i, r in enumerate(log.records[0]) if decode_ledger(r)["step_next"] > 10)
    log.flip(0, index, *ledger_changes(log.records[0][index])["choices"])
    log.write(1)
    said = blamed(replay(mixed, 0, 30, check=False))
    assert "choices" in said and "the ledger is the one that differs" in said


# --- what was changed


def blamed(done):
    assert done.returncode == 1 and done.stdout == ""
    return done.stderr


def test_a_byte_of_the_batch_topic_is_found_wherever_it_is(mixed, replay, topic):
    """In each third of a record: head, draws, payload. The step, the lane and the batch topic are named."""
    log = topic(name_of(mixed) + ".batches")
    whole = {lane: list(records) for lane, records in log.records.items()}
    rng = random.Random(11)
    size = len(whole[0][0])
    for lane, step, at in [(2, 7, 40), (0, 33, size // 2), (7, 59, size - 4)] + [
            (rng.randrange(8), rng.randrange(60), None) for _ in range(5)]:
        log.records = {k: list(v) for k, v in whole.items()}
        at = at if at is not None else rng.randrange(ENVELOPE, len(whole[lane][step]) - 1)
        log.flip(lane, step, at, 1 << rng.randrange(8))
        log.write(8)
        said = blamed(replay(mixed, 0, 60, check=False))
        assert f"step {step}, lane {lane}" in said, (lane, step, at)
        assert "the batch topic is the one that differs" in said or "both sequences are whole" in said, (lane, step, at)
        first = max(0, step - 3)
        assert f"step {step}, lane {lane}" in blamed(replay(mixed, first, step + 1, check=False))


def test_a_damaged_frame_in_the_batch_topic_names_its_sequence(riffle, mixed, replay, topic):
    shown = json.loads(riffle("inspect", "-c", mixed, 12, 3, "--json").stdout)["sequences"]
    log = topic(name_of(mixed) + ".batches")
    log.flip(3, 12, -3)
    log.write(8)
    said = blamed(replay(mixed, 0, 60, check=False))
    last = shown[-1]
    assert (f"step 12, lane 3, sequence {last['slot']} (domain {last['domain']}, partition {last['partition']}, "
            f"ordinal {last['ordinal']}, epoch {last['epoch']}): frame: differs at byte ") in said
    assert "the batch topic is the one that differs: its sequence is damaged, the domain log's is whole" in said


def test_a_lane_that_lacks_a_step_is_found(mixed, replay, topic):
    log = topic(name_of(mixed) + ".batches")
    del log.records[5][20]
    log.write(8)
    said = blamed(replay(mixed, 0, 60, check=False))
    assert "lane 5" in said and ("step: 21 in the record, 20 derived" in said or "step 20 is missing" in said)


def test_a_byte_of_a_domain_log_is_found_and_named(riffle, mixed, replay, topic, unique):
    """A frame's byte: the partition and the ordinal are named, and that the batch topic holds it whole."""
    shown = json.loads(riffle("inspect", "-c", mixed, 23, 6, "--json").stdout)["sequences"][0]
    log = topic(f"{unique}.{shown['domain']}")
    log.flip(shown["partition"], shown["ordinal"], -3)
    log.write(2)
    said = blamed(replay(mixed, 20, 60, check=False))
    found = re.search(r"step (\d+), lane (\d+), sequence (\d+) \(domain (\w+), partition (\d+), ordinal (\d+)\)", said)
    assert [found[4], int(found[5]), int(found[6])] == [shown["domain"], shown["partition"], shown["ordinal"]]
    assert int(found[1]) <= 23
    assert "the domain log is the one that differs: the batch topic holds this sequence" in said


def test_a_sequence_that_was_written_again_is_known_from_a_damaged_one(riffle, mixed, replay, topic, unique):
    """A source's name changed and nothing else: both are whole, and replay says that it cannot tell."""
    shown = json.loads(riffle("inspect", "-c", mixed, 0, 0, "--json").stdout)["sequences"][0]
    log = topic(f"{unique}.{shown['domain']}")
    record = log.records[shown["partition"]][shown["ordinal"]]
    log.flip(shown["partition"], shown["ordinal"], record.rindex(shown["documents"][0]["source"].encode()) + 2)
    log.write(2)
    said = blamed(replay(mixed, 0, 60, check=False))
    assert "step 0, lane 0, sequence 0 " in said and "sources: differs" in said
    assert "both sequences are whole: either the batch topic or the domain log was changed" in said


def test_a_domain_topic_that_was_deleted_is_named_at_once(mixed, replay, tools, bootstrap, unique):
    subprocess.run([tools / "topic", "delete", f"{unique}.a"], env={"RIFFLE_BOOTSTRAP": bootstrap}, check=True)
    missing = replay(mixed, 0, 3, check=False)
    assert missing.returncode == 1 and f"topic {unique}.a does not exist any more" in missing.stderr


def test_records_missing_from_a_domain_log_are_named(mixed, replay, topic, unique):
    log = topic(f"{unique}.a")
    log.records[1] = log.records[1][:30] + log.records[1][31:]
    log.write(2)
    said = blamed(replay(mixed, 0, 60, check=False))
    assert f"topic {unique}.a partition 1" in said and "ordinals 30..31 are missing" in said


def ledger_changes(record):
    """Places of one byte in a ledger record: field -> (at, bits), each decoding to a record that differs there."""
    value = decode_ledger(record)
    found = {}
    for at in range(ENVELOPE, len(record)):
        for bits in (1, 2, 4, 32):
            changed = bytearray(record)
            changed[at] ^= bits
            try:
                other = decode_ledger(bytes(changed))
            except Exception:
                found.setdefault("undecodable", (at, bits))
                continue
            for key in value:
                if other[key] != value[key]:
                    part = key
                    if key == "domains" and len(other[key]) == len(value[key]):
                        part = "domains." + next(k for d, e in zip(value[key], other[key]) for k in d if d[k] != e[k])
                    found.setdefault(part, (at, bits))
                    break
    return found


def test_a_byte_of_the_ledger_is_found_in_every_field_that_decides(mixed, replay, topic):
    log = topic(name_of(mixed) + ".ledger")
    whole = list(log.records[0])
    at_step = next(i for i, r in enumerate(whole) if decode_ledger(r)["step_next"] > 25)
    index = at_step
    changes = ledger_changes(whole[index])
    assert {"mix", "schedule", "config", "tokenizer", "choices", "version", "domains.credit", "domains.taken",
            "domains.position", "domains.weight"} <= set(changes)
    for field in ("runs", "domains.state", "kind"):
        changes.pop(field, None)
    for field, (at, bits) in changes.items():
        log.records[0] = list(whole)
        log.flip(0, index, at, bits)
        log.write(1)
        said = blamed(replay(mixed, 20, 40, check=False))
        assert "ledger is the one that differs" in said, (field, said)
        assert f"{name_of(mixed)}.ledger, offset {index}" in said or "the one before it, at offset" in said, (field, said)


def test_a_ledger_that_forgets_a_quarantined_sequence_is_told_from_a_damaged_domain(
        riffle, fill, configure, replay, topic, unique):
    fill("a", "b", sequences=60)
    domain = topic(f"{unique}.a")
    domain.flip(0, 17, -3)
    domain.write(1)
    config = configure(WEIGHTS)
    riffle("mix", "-c", config, "--until-step", 20)
    log = topic(name_of(config) + ".ledger")
    index = next(i for i, r in enumerate(log.records[0]) if decode_ledger(r)["quarantined"])
    record = log.records[0][index]
    at = next(at for at in range(ENVELOPE, len(record))
              if (lambda v: v and v["quarantined"] and v["quarantined"][0]["ordinal"] == 16)(changed(record, at, 2)))
    log.flip(0, index, at, 2)
    log.write(1)
    said = blamed(replay(config, 0, 20, check=False))
    assert "domain a, partition 0, ordinal 17" in said
    assert "the ledger is the one that differs: the batch topic passes over this sequence too" in said


def changed(record, at, bits):
    other = bytearray(record)
    other[at] ^= bits
    try:
        return decode_ledger(bytes(other))
    except Exception:
        return None


# --- another mix


def tokens(read, config, first, end):
    return read(config, end - first, first=first)


@both_forms
def test_steps_are_republished_for_trainers(riffle, mixed, replay, read, configure, unique, form):
    other = f"{unique}-again"
    done = replay(mixed, 13, 41, "--republish", other)
    assert f"wrote 28 steps to mix {other}, and its end at step 41" in done.stdout
    config = configure(WEIGHTS, "again", partitions=2, create=False)
    assert tokens(read, config, 13, 41) == tokens(read, mixed, 13, 41)
    early = riffle("read", "-c", config, "--steps", 1, "--run", "early", "--timeout", 30, check=False)
    said = "step 0 is due, but step 13 comes first" if form == "copied" else "the earliest retained step is 13"
    assert early.returncode == 1 and said in early.stderr
    trained = riffle("read", "-c", config, "--from-step", 13, "--commit-every", 4, "--format", "steps", "--timeout", 30)
    assert len(trained.stdout.splitlines()) == 28 * 8
    again = replay(mixed, 13, 41, "--republish", other)
    assert again.stdout == f"mix {other} holds steps 13..41 already: nothing was written\n"
    replay(config, 13, 41)
    replay(config, 20, 30)
    refused = replay(mixed, 13, 42, "--republish", other, check=False)
    assert refused.returncode == 1 and f"mix {other} holds steps 13..41 and has ended" in refused.stderr


@pytest.mark.parametrize("point", ["replay.before_commit:1", "replay.after_commit:1", "replay.before_commit:3",
                                   "replay.after_commit:2", "replay.before_commit:4"])
def test_a_republishing_that_was_killed_goes_on(mixed, replay, read, configure, unique, point):
    other = f"{unique}-again"
    died = replay(mixed, 5, 55, "--republish", other, check=False, env={"RIFFLE_FAULT": point})
    assert died.returncode == -signal.SIGKILL
    replay(mixed, 5, 55, "--republish", other)
    config = configure(WEIGHTS, "again", partitions=2, create=False)
    assert tokens(read, config, 5, 55) == tokens(read, mixed, 5, 55)
    replay(config, 5, 55)


def test_steps_that_are_not_kept_are_republished_from_the_domain_logs(riffle, mixed, replay, read, configure, unique):
    before = tokens(read, mixed, 10, 50)
    riffle("retain", "-c", mixed, "--from-step", 30)
    done = replay(mixed, 10, 50, "--republish", f"{unique}-again")
    assert "of 40 steps 20 are not in the batch topic any more" in done.stdout and "REPLAY-NOT-KEPT" in done.stderr
    assert tokens(read, configure(WEIGHTS, "again", partitions=2, create=False), 10, 50) == before


def test_steps_that_differ_are_not_republished(mixed, replay, topic, riffle, configure, unique):
    log = topic(name_of(mixed) + ".batches")
    log.flip(3, 30, -3)
    log.write(8)
    done = replay(mixed, 0, 60, "--republish", f"{unique}-again", check=False)
    assert done.returncode == 1 and "step 30, lane 3" in done.stderr
    config = configure(WEIGHTS, "again", partitions=2, create=False)
    assert riffle("inspect", "-c", config, 30, check=False).returncode == 1
    assert "is the mix itself" in replay(mixed, 0, 5, "--republish", name_of(mixed), check=False).stderr


def test_a_mix_of_other_steps_is_not_written_over(riffle, mixed, replay, configure, unique):
    other = configure(WEIGHTS, "other", partitions=2, seed=9)
    riffle("mix", "-c", other, "--until-step", 10)
    done = replay(mixed, 0, 20, "--republish", f"{unique}-other", check=False)
    assert done.returncode == 1 and "holds other steps" in done.stderr
