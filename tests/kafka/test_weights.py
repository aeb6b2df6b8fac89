"""Changes at run time on a real broker: riffle weights, riffle skip, phases, domains that join, leave, grow, run dry."""

import collections
import io
import json
import os
import pathlib
import re
import signal
import subprocess
import time

import fastavro
import pytest

from conftest import ROOT, both_forms
from paced_trainer import Trainer

LEDGER = fastavro.schema.load_schema(ROOT / "schemas/Ledger.avsc")
CONTROL = fastavro.schema.load_schema(ROOT / "schemas/Control.avsc")


def messages(bootstrap, topic, partition=0):
    """The records of a partition that are committed, as bytes."""
    done = subprocess.run(["kcat", "-C", "-q", "-e", "-b", bootstrap, "-t", topic, "-p", str(partition), "-o", "beginning",
                           "-X", "isolation.level=read_committed", "-f", "%S\n%s"], capture_output=True, timeout=60, check=True)
    rest, out = done.stdout, []
    while rest:
        size, rest = rest.split(b"\n", 1)
        out.append(rest[:int(size)])
        rest = rest[int(size):]
    return out


@pytest.fixture
def ledger(bootstrap, unique):
    """All ledger records of a mix, decoded by another implementation."""
    def read(name="mix"):
        return [fastavro.schemaless_reader(io.BytesIO(m[10:]), LEDGER)
                for m in messages(bootstrap, f"{unique}-{name}.ledger")]
    return read


@pytest.fixture
def ask(riffle):
    """riffle weights ... --json, its answer as a dict."""
    def run(config, *words, check=True, command="weights"):
        done = riffle(command, "-c", config, *words, "--json", check=check)
        return [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"id"')]
    return run


@pytest.fixture
def state(riffle):
    return lambda config: json.loads(riffle("weights", "-c", config, "--json").stdout)


@pytest.fixture
def status(riffle):
    return lambda config: json.loads(riffle("status", "-c", config, "--json").stdout)


@pytest.fixture
def inspect(riffle):
    return lambda config, step: json.loads(riffle("inspect", "-c", config, step, "--json").stdout)


def places(lines):
    return [(d["domain"], d["partition"], d["epoch"], d["ordinal"]) for d in map(json.loads, lines)]


def stop(mixer):
    mixer.send_signal(signal.SIGTERM)
    assert mixer.wait(timeout=60) == 0


def answers_in(records):
    return {a["id"]: (a["accepted"], a["step"]) for r in records for a in r["answers"]}


# ---- weights while trainers read ----

@both_forms
def test_three_changes_under_two_trainers_repeat_nothing_and_all_agree_on_the_steps(
        riffle, fill, configure, ask, state, status, inspect, ledger, wait_for, tmp_path):
    """Every sequence of the epoch comes once at most, across three changes, two of them at the next step."""
    fill("a", "b", "c", sequences=6000)
    lead = 30
    config = configure({"a": 0.6, "b": 0.3, "c": 0.1}, max_lead_steps=lead)
    riffle.popen("mix", "-c", config, stderr=open(tmp_path / "mix.log", "w"))
    trainers = [Trainer(riffle, config, rank, 2, 240, 2, "jsonl") for rank in range(2)]
    lowest = lambda: min(r["step"] for r in status(config)["mix"]["runs"])
    asked, read = [], 0
    for n, (at, words) in enumerate([(20, ["a=0.1", "b=0.8"]), (60, ["c=0.7", "--lr-scale", 0.5]),
                                     (100, ["a=1", "b=1", "c=1", "--temperature", 2, "--at-step", 150])]):
        for read in range(read, at + 1, 10):
            for trainer in trainers:
                trainer.read_until(read)
        [answer] = ask(config, *words, "--id", f"change{n}")
        assert answer["accepted"] and answer["id"] == f"change{n}"
        if "--at-step" not in words:
            assert answer["step"] <= lowest() + lead
        asked.append(answer["step"])
    assert asked[2] == 150 and asked == sorted(asked)
    for step in range(100, 240, 10):
        for trainer in trainers:
            trainer.read_until(step)
    for trainer in trainers:
        trainer.end()
    drawn = trainers[0].taken + trainers[1].taken
    assert len(drawn) == 240 * 16
    assert len({(d["domain"], d["ordinal"]) for d in drawn}) == 240 * 16
    records = ledger()
    for n, step in enumerate(asked):
        assert answers_in(records)[f"change{n}"] == (True, step)
        before, after = inspect(config, step - 1), inspect(config, step)
        assert (before["version"], after["version"]) == (n + 1, n + 2)
    assert inspect(config, asked[0])["lr_scale"] == 1 and inspect(config, asked[1])["lr_scale"] == 0.5
    wait_for(lambda: state(config)["version"] == 4, "the last version")
    shown, seen = state(config), status(config)["mix"]["weights"]
    assert seen["version"] == 4 and seen["since_step"] == shown["since_step"] == asked[2]
    assert seen["reason"] == "request" and seen["reason_id"] == "change2" and seen["temperature"] == 2
    history = [(v["version"], v["step"], v["reason_id"]) for v in shown["history"]]
    assert history == [(4, asked[2], "change2"), (3, asked[1], "change1"), (2, asked[0], "change0"), (1, 0, "")]
    # And the shares are those that were asked for, from exactly there on.
    for first, end, weights in [(0, asked[0], (.6, .3, .1)), (asked[0], asked[1], (.1, .8, .1)),
                                (asked[1], asked[2], (.1, .8, .7))]:
        counts = collections.Counter(d["domain"] for d in drawn if first <= d["step"] < end)
        for domain, weight in zip("abc", weights):
            share = weight / sum(weights) * (end - first) * 16
            assert abs(counts[domain] - share) < 3


def test_a_change_costs_no_step_and_is_the_same_in_another_mix_at_that_step(riffle, fill, configure, ask, read, wait_for,
                                                                               bootstrap, unique):
    """A request for step N while mixing equals one that was there before the mixer started."""
    fill("a", "b", sequences=500)
    early, late = configure({"a": 1, "b": 1}, "early"), configure({"a": 1, "b": 1}, "late", max_lead_steps=10)
    asked = riffle.popen("weights", "-c", early, "a=9", "--at-step", 25, "--id", "x", "--json", "--timeout", 60)
    wait_for(lambda: messages(bootstrap, f"{unique}-early.control"), "the request")
    mixer = riffle.popen("mix", "-c", late)
    [answer] = ask(late, "a=9", "--at-step", 25, "--id", "x", "--timeout", 60)
    assert answer["step"] == 25
    riffle("read", "-c", late, "--rank", 0, "--world", 1, "--steps", 40, "--commit-every", 1, "--format", "none")
    stop(mixer)
    riffle("mix", "-c", early, "--until-step", 40)
    out, _ = asked.communicate(timeout=60)
    assert json.loads(out)["step"] == 25
    assert read(early, 40) == read(late, 40)


# ---- answers ----

@pytest.fixture
def running(riffle, fill, configure, wait_for, status):
    """A mix of a and b that waits at step 10 for a trainer."""
    fill("a", "b", sequences=200)
    config = configure({"a": 0.5, "b": 0.5}, max_lead_steps=10)
    riffle.popen("mix", "-c", config, stderr=subprocess.DEVNULL)
    wait_for(lambda: status(config)["mix"]["step_next"] == 10, "ten steps")
    return config


REFUSED = [
    (["zebra=1"], "the mix has no domain zebra"),
    (["a=0", "b=0"], "no domain would have a weight: at least one must be positive"),
    (["--leave", "zebra"], "the mix has no domain zebra"),
    (["--join", "a=1"], "domain a is in the mix already"),
    (["--join", "zebra=1"], "zebra` fills it, once the configuration has domains.zebra"),
]


def test_a_refused_request_says_why_and_changes_nothing(riffle, running, bootstrap, unique, state, ledger):
    before = state(running)
    for words, why in REFUSED:
        done = riffle("weights", "-c", running, *words, check=False)
        code = 2 if "has no domain" in why else 1
        assert done.returncode == code and why in done.stderr and done.stderr.count("\n") == 1, words
        dry = riffle("weights", "-c", running, *words, "--dry-run", check=False)
        assert dry.returncode == code and why in dry.stderr, words
    for words, why in [(["a"], "is not DOMAIN=WEIGHT"), (["0.5=a"], "write a=0.5"), (["a=nan"], "is not a weight"), (["a=-1"], "is not a weight"),
                       (["a=1", "a=2"], "domain a has two weights"),
                       (["--lr-scale", 0], "more than 0"),
                       (["a=1", "--temperature", -1], "more than 0"), (["--at-step", 5], "no change is given"),
                       (["--join", "x=1", "--leave", "a"], "one domain")]:
        done = riffle("weights", "-c", running, *words, check=False)
        assert done.returncode == 2 and why in done.stderr, words
    for words, why in [(["zebra", "1..2"], "the mix has no domain zebra"), (["a/1", "1..2"], "has no partition 1"),
                       (["a", "190..201"], "a/0 has the ordinals 0..200, and no more"),
                       (["a", "0..200"], "not one sequence of domain a would be left")]:
        done = riffle("skip", "-c", running, *words, check=False)
        assert done.returncode == (2 if "has no domain" in why else 1) and why in done.stderr, words
    for words, why in [(["a"], "which sequences"), (["a", "5..5"], "empty range"), (["a", "x..5"], "not a range"), (["1..2", "a"], "DOMAIN comes first"),
                       (["--lane", 1, "a", "1..2"], "goes with --step"), (["--step", 3, "--lane", 8], "out of range")]:
        done = riffle("skip", "-c", running, *words, check=False)
        assert done.returncode == 2 and why in done.stderr, words
    done = riffle("weights", "--mix", f"{unique}-mik", "-X", f"bootstrap.servers={bootstrap}", check=False)
    assert done.returncode == 2 and f"topic {unique}-mik.ledger does not exist" in done.stderr
    assert f"(did you mean {unique}-mix?); the broker has the mixes " in done.stderr
    mixes = done.stderr.strip().rpartition("the broker has the mixes ")[2].split(", ")
    whole = mixes[:-1] if mixes[-1].endswith("...") else mixes  # on a broker that many tests share, the list is cut
    assert whole == sorted(whole)
    after = state(running)
    assert after["domains"] == before["domains"] and after["version"] == 1 and after["pending"] == []
    assert all(not accepted for accepted, _ in answers_in(ledger()).values())


def test_the_same_id_again_gets_the_earlier_answer_and_changes_nothing(riffle, running, ask, state):
    [first] = ask(running, "a=3", "--id", "once")
    [again] = ask(running, "a=3", "--id", "once")
    other = riffle("weights", "-c", running, "a=7", "b=1", "--id", "once", check=False)
    assert other.returncode == 2 and "asks for weights a=3, not for weights a=7 b=1" in other.stderr
    [alone] = ask(running, "--id", "once")
    assert first["step"] == again["step"] == alone["step"] == 10
    assert (first["answered_before"], again["answered_before"], alone["answered_before"]) == (False, True, True)
    assert [p["weights"] for p in state(running)["pending"]] == [{"a": 3.0}]
    nobody = riffle("weights", "-c", running, "--id", "nobody", check=False)
    assert nobody.returncode == 1 and "has answered no request nobody" in nobody.stderr


def test_the_same_id_written_twice_is_answered_once(riffle, running, bootstrap, unique, ask, ledger, wait_for):
    """Two that race with one id: the record comes twice."""
    record = {"id": "twin", "kind": "WEIGHTS", "at_step": -1, "weights": [{"domain": "a", "weight": 4}], "temperature": 0,
              "lr_scale": 0, "domain": "", "partition": -1, "first": 0, "end": 0, "who": "test"}
    body = io.BytesIO()
    fastavro.schemaless_writer(body, CONTROL, record)
    riffle("weights", "-c", running, "b=1", "--id", "other")
    envelope = messages(bootstrap, f"{unique}-mix.control")[0][:10]
    path = pathlib.Path(str(running) + ".record")
    path.write_bytes(envelope + body.getvalue())
    subprocess.run(["kcat", "-P", "-b", bootstrap, "-t", f"{unique}-mix.control", "-p", "0", path, path], check=True)
    ask(running, "b=2", "--id", "last")
    assert [a["id"] for r in ledger() for a in r["answers"]] == ["other", "twin", "last"]


def test_garbage_on_the_control_topic_is_a_dead_letter_and_passed_over(riffle, running, bootstrap, unique, ask, ledger):
    subprocess.run(["kcat", "-P", "-b", bootstrap, "-t", f"{unique}-mix.control", "-p", "0"],
                   input=b"weights please\n", check=True)
    assert ask(running, "a=2", "--id", "good")[0]["accepted"]
    assert ledger()[-1]["control_next"] == 2
    letters = subprocess.run(["kcat", "-C", "-q", "-e", "-b", bootstrap, "-t", f"{unique}.rejects", "-f", "%h %s\n"],
                             capture_output=True, text=True, check=True).stdout
    assert f"riffle.error.topic={unique}-mix.control" in letters and "riffle.error.offset=0" in letters
    assert "not a riffle record" in letters and letters.endswith("weights please\n")


def put_requests(bootstrap, unique, folder, requests):
    """Control records by another implementation."""
    schema = fastavro.schema.to_parsing_canonical_form(json.loads((ROOT / "schemas/Control.avsc").read_text()))
    head = b"\xc3\x01" + bytes.fromhex(fastavro.schema.fingerprint(schema, "CRC-64-AVRO"))
    paths = []
    for request in requests:
        body = io.BytesIO()
        fastavro.schemaless_writer(body, CONTROL, {
            "kind": "WEIGHTS", "at_step": -1, "weights": [], "temperature": 0, "lr_scale": 0, "domain": "",
            "partition": -1, "first": 0, "end": 0, "who": "test", **request})
        paths.append(folder / f"request{len(paths)}")
        paths[-1].write_bytes(head + body.getvalue())
    subprocess.run(["kcat", "-P", "-b", bootstrap, "-t", f"{unique}-mix.control", "-p", "0", *paths], check=True)


def test_requests_that_would_burst_the_ledger_are_refused_and_the_mix_goes_on(riffle, fill, configure, read, bootstrap, unique,
                                                                              ledger, tmp_path, state):
    """Accepted ones stand in every record until their step: no number of them may stop the mixer."""
    fill("a", "b")
    config = configure({"a": 1, "b": 1})
    weights = [{"domain": "a", "weight": 2}]
    put_requests(bootstrap, unique, tmp_path,
                 [{"id": f"large{n:02}", "at_step": 1000 + n, "weights": weights, "who": "w" * 600000} for n in range(12)])
    riffle("mix", "-c", config, "--until-step", 5)
    answers = [a for r in ledger() for a in r["answers"]]
    assert [a["accepted"] for a in answers] == [True] * 6 + [False] * 6
    assert all("larger than 4 MB" in a["text"] for a in answers[6:])
    riffle("mix", "-c", config, "--until-step", 10)
    assert len(read(config, 10)) == 80 and len(state(config)["pending"]) == 6


def test_a_storm_of_a_thousand_requests_is_answered_one_by_one_and_the_mix_goes_on(riffle, fill, configure, read, bootstrap,
                                                                                 unique, ledger, tmp_path, state):
    fill("a", "b")
    config = configure({"a": 1, "b": 1})
    weights = [[{"domain": "a", "weight": 1 + n % 7}] for n in range(1000)]
    put_requests(bootstrap, unique, tmp_path,
                 [{"id": f"storm{n % 900}", "at_step": 3 + n % 5, "weights": w} for n, w in enumerate(weights)])
    done = riffle("mix", "-c", config, "--until-step", 10)
    answers = [a for r in ledger() for a in r["answers"]]
    assert [a["id"] for a in answers] == [f"storm{n}" for n in range(900)]
    assert all(a["accepted"] for a in answers) and done.stderr.count(" accepted step=") == 900
    assert len(read(config, 10)) == 80 and not state(config)["pending"]


def test_odd_requests_are_refused_with_reasons(riffle, fill, configure, bootstrap, unique, ledger, tmp_path):
    fill("a", "b")
    config = configure({"a": 1, "b": 1})
    weights = [{"domain": "a", "weight": 2}]
    odd = [({"id": "", "weights": weights}, "needs an id"), ({"id": "i" * 200, "weights": weights}, "needs an id"),
           ({"id": "minus", "weights": [{"domain": "a", "weight": -1}]}, "must be a finite number of at least 0"),
           ({"id": "idle"}, "asks for nothing"),
           ({"id": "lr", "lr_scale": -1}, "lr_scale must be"),
           ({"id": "nowhere", "kind": "SKIP", "end": 1}, "names no domain"), ({"id": "leaver", "kind": "LEAVE"}, "names no domain"),
           ({"id": "joiner", "kind": "JOIN"}, "is not a name of a domain"),
           ({"id": "slash", "kind": "JOIN", "domain": "../x"}, "is not a name of a domain"),
           ({"id": "back", "kind": "SKIP", "domain": "a", "partition": 0, "first": 9, "end": 3}, "is no range"),
           ({"id": "never", "at_step": 2**63 - 1, "weights": weights}, None)]
    nonsense = [{"id": "nan", "temperature": float("nan")}, {"id": "inf", "weights": [{"domain": "a", "weight": float("inf")}]},
                {"id": "below", "at_step": -2, "weights": weights}]
    put_requests(bootstrap, unique, tmp_path, [request for request, _ in odd] + nonsense)
    riffle("mix", "-c", config, "--until-step", 5)
    letters = subprocess.run(["kcat", "-C", "-q", "-e", "-b", bootstrap, "-t", f"{unique}.rejects", "-f", "%h\n"],
                             capture_output=True, text=True, check=True).stdout.splitlines()
    for letter, field in zip(letters, ("temperature", "weight", "at_step"), strict=True):
        assert field in letter and f"riffle.error.topic={unique}-mix.control" in letter
    answers = [a for r in ledger() for a in r["answers"]]
    assert len(answers) == len(odd)
    for answer, (request, why) in zip(answers, odd):
        assert answer["accepted"] == (why is None), request
        assert why is None or why in answer["text"], request
    riffle("mix", "-c", config, "--until-step", 6)


def test_weights_by_size_stay_what_they_were_when_a_domain_is_extended(riffle, fill, configure, read, tools, bootstrap, unique,
                                                                       state):
    fill("a", "b", sequences=100)
    fill("b", sequences=500, corpus=f"{unique}-long")
    config = configure({"a": 1, "b": 1}, weights="size")
    riffle("mix", "-c", config, "--until-step", 3)
    env = {**os.environ, "RIFFLE_BOOTSTRAP": bootstrap}
    records = subprocess.run([tools / "topic", "read", f"{unique}-long.b"], env=env, check=True, text=True,
                             stdout=subprocess.PIPE).stdout.splitlines(keepends=True)
    subprocess.run([tools / "topic", "append", f"{unique}.b"], env=env, check=True, text=True, input="".join(records[100:]))
    riffle("mix", "-c", config, "--until-step", 6)
    assert [d["share"] for d in state(config)["domains"]] == [0.5, 0.5]


def test_without_a_mixer_the_request_stays_and_is_answered_by_the_next_one(riffle, fill, configure, ask, wait_for, inspect):
    fill("a", "b")
    config = configure({"a": 0.5, "b": 0.5})
    none = riffle("weights", "-c", config, check=False)
    assert none.returncode == 1 and "has not started" in none.stderr
    riffle("mix", "-c", config, "--until-step", 5)
    late = riffle("weights", "-c", config, "a=3", "--id", "late", "--timeout", 1, check=False)
    assert late.returncode == 1 and "is a mixer running" in late.stderr and "--id late" in late.stderr
    riffle("mix", "-c", config, "--until-step", 10)
    [answer] = ask(config, "--id", "late")
    assert answer["accepted"] and answer["step"] == 5
    assert [inspect(config, s)["version"] for s in (4, 5)] == [1, 2]


def test_a_mix_that_has_ended_takes_no_requests(riffle, fill, configure):
    fill("a", sequences=50)
    config = configure({"a": 1}, domains={"a": {"on_end": "stop"}})
    riffle("mix", "-c", config)
    done = riffle("weights", "-c", config, "a=2", check=False)
    assert done.returncode == 1 and "ended before step 3" in done.stderr


def test_a_dry_run_says_what_the_mixer_says_and_asks_nobody(riffle, running, ask, state, bootstrap, unique):
    words = ["a=3", "--at-step", 12, "--lr-scale", 0.5]
    [dry] = ask(running, *words, "--dry-run")
    assert messages(bootstrap, f"{unique}-mix.control") == [] and state(running)["pending"] == []
    [wet] = ask(running, *words)
    assert (dry["accepted"], dry["step"], dry["text"]) == (wet["accepted"], wet["step"], wet["text"])
    assert dry["dry_run"] and not wet["dry_run"]
    effect = dry["effect"]
    assert (effect["lr_scale_before"], effect["lr_scale"], effect["temperature"]) == (1, 0.5, 1)
    lines = {line.split(":")[0]: line for line in dry["text"].splitlines() if "%" in line}
    assert [d["name"] for d in effect["domains"]] == list(lines) and len(lines) > 1
    for d in effect["domains"]:
        assert f"{d['name']}: {100 * d['share']:.5g}% (was {100 * d['share_before']:.5g}%)" in lines[d["name"]]
        assert f"epoch {d['epoch']} ends about step {d['epoch_end_step']} (was {d['epoch_end_step_before']})" in lines[d["name"]]
    [skip] = map(json.loads, riffle("skip", "-c", running, "a", "3..5", "--dry-run", "--json").stdout.splitlines())
    assert skip["effect"]["excluded"] == 2 and f"2 of {skip['effect']['sequences']} " in skip["text"]


# ---- crashes ----

@pytest.mark.parametrize("point", ["mix.before_answer", "mix.mid_answer", "mix.after_answer"])
def test_a_request_racing_a_kill_9_has_one_effective_step(riffle, fill, configure, read, ask, ledger, inspect, point):
    """The mixer dies around the commit that answers; whatever became of it, there is one answer, and it holds."""
    fill("a", "b", sequences=300)
    calm, stormy = configure({"a": 1, "b": 1}, "calm"), configure({"a": 1, "b": 1}, "stormy")
    for config in (calm, stormy):
        riffle("mix", "-c", config, "--until-step", 7)
        riffle("weights", "-c", config, "a=5", "--id", "x", "--timeout", 1, check=False)
    died = riffle("mix", "-c", stormy, "--until-step", 20, env={"RIFFLE_FAULT": point}, check=False)
    assert died.returncode == -signal.SIGKILL and f"fault: {point} reached" in died.stderr
    for config in (calm, stormy):
        riffle("mix", "-c", config, "--until-step", 20)
    assert [a["id"] for r in ledger("stormy") for a in r["answers"]] == ["x"]
    assert answers_in(ledger("stormy")) == {"x": (True, 7)}
    assert [inspect(stormy, s)["version"] for s in (6, 7)] == [1, 2]
    assert read(calm, 20) == read(stormy, 20)


def test_requests_under_storms_of_kills_have_one_step_each_before_their_own(riffle, fill, configure, ask, ledger, inspect):
    """Every answer stands in a record whose steps lie before the step that it names."""
    fill("a", "b", sequences=2000)
    config = configure({"a": 1, "b": 1}, max_lead_steps=0)
    points = ["mix.after_commit:3", "mix.mid_answer:2", "mix.after_flush:4", "mix.before_answer", "mix.mid_produce:60"]
    for n, point in enumerate(points):
        riffle("weights", "-c", config, f"a={n + 2}", "--id", f"r{n}", "--timeout", 1, check=False)
        riffle("mix", "-c", config, "--until-step", 20 * (n + 1), env={"RIFFLE_FAULT": point}, check=False)
    riffle("mix", "-c", config, "--until-step", 120)
    records = ledger()
    answers = answers_in(records)
    assert sorted(answers) == [f"r{n}" for n in range(len(points))]
    assert sum(len(r["answers"]) for r in records) == len(points)
    for record in records:
        for answer in record["answers"]:
            assert record["step_first"] == record["step_next"] <= answer["step"]
    last = records[-1]
    assert last["version"] == 1 + len(points) and last["reason_id"] == f"r{len(points) - 1}"
    for n in range(len(points)):
        step = answers[f"r{n}"][1]
        assert inspect(config, step)["version"] >= n + 2 and (step == 0 or inspect(config, step - 1)["version"] <= n + 1)


# ---- phases ----

PHASES = [{"name": "warm", "start_step": 5, "weights": {"a": 0.9}, "lr_scale": 0.5},
          {"name": "cool", "start_step": 12, "weights": {"b": 0.9}, "lr_scale": 0.25, "temperature": 2}]


def test_phases_begin_at_exactly_their_step_also_after_a_resume_and_batches_say_so(riffle, fill, configure, read, inspect, status):
    fill("a", "b", sequences=300)
    straight, cut = (configure({"a": 0.5, "b": 0.5}, name, phases=PHASES) for name in ("straight", "cut"))
    riffle("mix", "-c", straight, "--until-step", 20)
    for step in (3, 5, 6, 12, 13, 20):
        riffle("mix", "-c", cut, "--until-step", step)
    assert read(straight, 20) == read(cut, 20)
    facts = [(d["version"], d["phase"], d["lr_scale"]) for d in (inspect(cut, s) for s in (0, 4, 5, 11, 12, 19))]
    assert facts == [(1, "", 1), (1, "", 1), (2, "warm", 0.5), (2, "warm", 0.5), (3, "cool", 0.25), (3, "cool", 0.25)]
    weights = status(cut)["mix"]["weights"]
    assert (weights["phase"], weights["reason"], weights["since_step"], weights["temperature"]) == ("cool", "phase", 12, 2)


def test_a_phase_replaces_a_request_and_the_answer_warns_of_it(riffle, fill, configure, ask, inspect, state):
    fill("a", "b", sequences=300)
    config = configure({"a": 0.5, "b": 0.5}, phases=PHASES)
    riffle("mix", "-c", config, "--until-step", 2)
    riffle("weights", "-c", config, "a=0.1", "--id", "x", "--timeout", 1, check=False)
    riffle("mix", "-c", config, "--until-step", 8)
    [answer] = ask(config, "--id", "x")
    assert "phase warm at step 5 will replace" in answer["text"]
    assert [inspect(config, s)["phase"] for s in (2, 4, 5)] == ["", "", "warm"]
    assert {d["name"]: d["weight"] for d in state(config)["domains"]} == {"a": 0.9, "b": 0.5}
    assert [v["reason"] for v in state(config)["history"]] == ["phase", "request", "config"]


def test_changed_phases_need_accept_config_and_begin_where_they_say(riffle, fill, configure, inspect):
    fill("a", "b", sequences=300)
    riffle("mix", "-c", configure({"a": 0.5, "b": 0.5}), "--until-step", 4)
    config = configure({"a": 0.5, "b": 0.5}, phases=PHASES, create=False)
    refused = riffle("mix", "-c", config, "--until-step", 8, check=False)
    assert refused.returncode == 2 and "phase warm: in the file, and not in the mix" in refused.stderr and "--accept-config" in refused.stderr
    riffle("mix", "-c", config, "--until-step", 8, "--accept-config", "--yes")
    assert [inspect(config, s)["phase"] for s in (4, 5)] == ["", "warm"]
    shuffled = configure({"a": 0.5, "b": 0.5}, phases=PHASES, create=False, seed=8)
    never = riffle("mix", "-c", shuffled, "--accept-config", "--yes", check=False)
    assert never.returncode == 2 and "seed" in never.stderr and "cannot change" in never.stderr


# ---- requests that wait ----

def test_a_request_without_a_mixer_is_said_listed_and_can_be_withdrawn(riffle, fill, configure, read, ask, ledger):
    """Two mixes of one corpus: in one a request is sent while no mixer runs and withdrawn; both draw the same."""
    fill("a", "b", sequences=400)
    config, plain = configure({"a": 1, "b": 1}), configure({"a": 1, "b": 1}, name="plain")
    requests = lambda: {r["id"]: r for r in json.loads(riffle("requests", "-c", config, "--json").stdout)}
    for c in (config, plain):
        riffle("mix", "-c", c, "--until-step", 4)
    for words in (["weights", "aa=1"], ["skip", "aa", "0..1"]):
        done = riffle(words[0], "-c", config, *words[1:], check=False)
        assert done.returncode == 2 and "no domain aa (did you mean a?); it has a, b" in done.stderr
    assert requests() == {}
    for words in (["weights", "a=9", "--id", "slip"], ["skip", "a", "3..5", "--id", "kept"]):
        done = riffle(words[0], "-c", config, *words[1:], check=False)
        assert done.returncode == 1 and "REQUEST-NO-MIXER no mixer of mix" in done.stderr
        assert f"request {words[-1]} is open: no mixer runs" in done.stderr
        assert f" --cancel {words[-1]}` withdraws it" in done.stderr
    assert {i: (r["state"], r["step"], r["kind"]) for i, r in requests().items()} == {
        "slip": ("open", None, "weights"), "kept": ("open", None, "skip")}
    assert requests()["slip"]["weights"] == {"a": 9} and "@" in requests()["slip"]["who"]
    done = riffle("requests", "-c", config, "--cancel", "nobody", check=False)
    assert done.returncode == 1 and "has no request nobody" in done.stderr
    riffle("requests", "-c", config, "--cancel", "slip", "--id", "no", "--timeout", 1, check=False)
    riffle("requests", "-c", config, "--cancel", "kept", "--id", "no2", "--timeout", 1, check=False)
    for c in (config, plain):
        riffle("mix", "-c", c, "--until-step", 12)
    assert {i: (r["state"], r["step"]) for i, r in requests().items()} == {
        "slip": ("cancelled", 4), "kept": ("cancelled", 4), "no": ("in force", 4), "no2": ("in force", 4)}
    assert answers_in(ledger()) == {"slip": (True, 4), "kept": (True, 4), "no": (True, 4), "no2": (True, 4)}
    assert [places(read(c, 12, form="jsonl")) for c in (config,)] == [places(read(plain, 12, form="jsonl"))]
    riffle("replay", "-c", config, "--steps", "0..12")
    for words in ([], ["a=9"]):
        done = riffle("weights", "-c", config, *words, "--id", "slip", check=False)
        assert done.returncode == 1 and "request slip was cancelled" in done.stderr and not done.stdout
    done = riffle("requests", "-c", config, "--cancel", "slip", check=False)
    assert done.returncode == 1 and "request slip is cancelled: there is nothing to cancel" in done.stderr


def test_an_accepted_request_is_withdrawn_before_its_step(riffle, running, ask, state):
    [answer] = ask(running, "a=7", "--at-step", 1000, "--id", "later")
    assert answer["accepted"] and [p["id"] for p in state(running)["pending"]] == ["later"]
    table = riffle("requests", "-c", running).stdout
    assert any(line.split()[:4] == ["accepted", "1000", "weights", "later"] for line in table.splitlines())
    [gone] = ask(running, "--cancel", "later", command="requests")
    assert gone["accepted"] and "request later is cancelled: it would have taken effect at step 1000" in gone["text"]
    assert state(running)["pending"] == [] and state(running)["version"] == 1
    assert "REQUEST-NO-MIXER" not in riffle("weights", "-c", running, "a=nope", check=False).stderr


# ---- join, leave, skip ----

@both_forms
def test_a_domain_joins_a_running_mix_and_leaves_it_again(riffle, fill, running, ask, read, inspect, status, state, wait_for,
                                                          configure, unique):
    fill("new", sequences=100)
    fill("alien", sequences=100, tokenizer_fingerprint="00ff00ff00ff00ff")
    fill("open", sequences=100, live=True)
    for words, why in [(["--join", "alien=1"], "one mix cannot hold two tokenizers"),
                       (["--join", "open=1"], "domain open is not sealed")]:
        done = riffle("weights", "-c", running, *words, check=False)
        assert done.returncode == 1 and why in done.stderr
    # Named in the configuration, a weight is enough.
    config = configure({"a": 0.5, "b": 0.5, "new": 0.1}, "mix", create=False, max_lead_steps=10)
    [joined] = ask(config, "new=0.5", "--id", "in")
    assert joined["accepted"] and joined["step"] == 10
    [left] = ask(config, "--leave", "a", "--at-step", 14)
    assert left["step"] == 14
    riffle("read", "-c", config, "--rank", 0, "--world", 1, "--steps", 12, "--commit-every", 1, "--format", "none")
    wait_for(lambda: status(config)["mix"]["step_next"] == 22, "step 22")
    drawn = [json.loads(line) for line in read(config, 20, form="jsonl")]
    counts = lambda first, end: collections.Counter(d["domain"] for d in drawn if first <= d["step"] < end)
    assert "new" not in counts(0, 10) and sum(counts(10, 14).values()) == 64
    assert all(abs(counts(10, 14)[d] - 64 / 3) < 2 for d in ("a", "b", "new"))
    assert "a" not in counts(14, 20) and abs(counts(14, 20)["new"] - 48) < 2
    domains = {d["name"]: d for d in state(config)["domains"]}
    assert [domains[d]["index"] for d in ("a", "b", "new")] == [0, 1, 2]
    assert domains["a"]["state"] == "left" and domains["new"]["joined"]


def test_a_domain_that_memory_has_no_room_for_is_refused_each_time_that_it_asks(riffle, fill, configure, status, wait_for):
    fill("a")
    fill("large", sequences=8000)
    few = riffle("mix", "-c", configure({"a": 1}, memory="1MB"), check=False).stderr
    config = configure({"a": 1}, create=False, memory=re.search(r"allow (\d+) MB", few)[1] + "MB", max_lead_steps=10)
    riffle.popen("mix", "-c", config, stderr=subprocess.DEVNULL)
    wait_for(lambda: status(config)["mix"]["step_next"] == 10, "ten steps")
    for _ in range(2):
        done = riffle("weights", "-c", config, "--join", "large=1", check=False)
        assert done.returncode == 1 and re.search(r"mix.memory: \d+ MB are not enough", done.stderr), done.stderr


def test_a_domain_that_joined_is_there_after_a_kill_9(riffle, fill, configure, read, ask):
    fill("a", "new", sequences=200)
    calm, stormy = configure({"a": 1}, "calm"), configure({"a": 1}, "stormy")
    for config in (calm, stormy):
        riffle("mix", "-c", config, "--until-step", 3)
        riffle("weights", "-c", config, "--join", "new=1", "--id", "x", "--timeout", 1, check=False)
    riffle("mix", "-c", stormy, "--until-step", 30, env={"RIFFLE_FAULT": "mix.after_commit:4"}, check=False)
    for config in (calm, stormy):
        riffle("mix", "-c", config, "--until-step", 30)
    assert read(calm, 30) == read(stormy, 30)
    assert any("new:" in line for line in read(calm, 30))


@both_forms
def test_skipped_sequences_are_not_drawn_again(riffle, fill, configure, read, ask, inspect):
    fill("a", sequences=64)
    config = configure({"a": 1})
    riffle("mix", "-c", config, "--until-step", 2)
    held = {(s["partition"], s["ordinal"]) for s in inspect(config, 1)["sequences"]}
    lane = {(s["partition"], s["ordinal"]) for s in inspect(config, 0)["sequences"] if s["lane"] == 3}
    for words in (["--step", 1], ["--step", 0, "--lane", 3], ["a/0", "10..14"]):
        riffle("skip", "-c", config, *words, "--timeout", 1, check=False)
    riffle("mix", "-c", config, "--until-step", 12)
    drawn = collections.Counter((p, o) for _, p, _, o in places(read(config, 10, first=2, form="jsonl")))
    out = held | lane | {(0, o) for o in range(10, 14)}
    listed = json.loads(riffle("skip", "-c", config, "--list", "--json").stdout)
    assert {(r["partition"], o) for r in listed["skipped"] for o in range(r["first"], r["end"])} == out
    assert {r["domain"] for r in listed["skipped"]} == {"a"} and listed["pending"] == listed["quarantined"] == []
    assert "a/0                                    10..14  in force" in riffle("skip", "-c", config, "--list").stdout
    assert not out & set(drawn)
    assert set(drawn) == {(0, o) for o in range(64)} - out


@both_forms
def test_a_skip_is_taken_back_in_part_at_an_exact_step_and_replayed(riffle, fill, configure, read, ask):
    """Skipped 10..20 at step 2, 12..15 of it taken back at step 6; the rest of the epoch's places decides which come at once."""
    fill("a", sequences=64)
    config = configure({"a": 1})
    riffle("mix", "-c", config, "--until-step", 2)
    done = riffle("skip", "-c", config, "--undo", "a", "10..20", "--dry-run", check=False)
    assert done.returncode == 1 and "no sequence of a/0 in 10..20 is skipped: `riffle skip -c" in done.stderr
    riffle("skip", "-c", config, "a", "10..20", "--timeout", 1, check=False)
    riffle("skip", "-c", config, "--undo", "a/0", "12..15", "--at-step", 6, "--id", "back", "--timeout", 1, check=False)
    listed = lambda: json.loads(riffle("skip", "-c", config, "--list", "--json").stdout)
    ranges = lambda rows: [(r["first"], r["end"]) for r in rows]
    riffle("mix", "-c", config, "--until-step", 4)
    assert ranges(listed()["skipped"]) == [(10, 20)]
    assert [(r["kind"], r["step"], r["id"]) for r in listed()["pending"]] == [("undo", 6, "back")] and "@" in listed()["pending"][0]["who"]
    table = riffle("skip", "-c", config, "--list").stdout
    assert "taken back from step 6 (request back by " in table
    assert "7 sequences are skipped once these have taken effect" in table
    shown = {r["id"]: r for r in json.loads(riffle("requests", "-c", config, "--json").stdout)}["back"]
    assert (shown["kind"], shown["state"], shown["step"], shown["first"]) == ("undo", "accepted", 6, 12) and "@" in shown["who"]
    riffle("mix", "-c", config, "--until-step", 14)
    assert ranges(listed()["skipped"]) == [(10, 12), (15, 20)] and listed()["pending"] == []
    steps = [{o for _, _, _, o in places(read(config, 1, first=s, form="jsonl"))} for s in range(14)]
    assert not set.union(*steps[2:6]) & set(range(10, 20))
    assert not set.union(*steps[6:]) & {10, 11, 15, 16, 17, 18, 19} and set.union(*steps[6:]) >= {12, 13, 14}
    assert "of 12..15 3 are drawn again" in {r["id"]: r for r in json.loads(riffle("requests", "-c", config, "--json").stdout)}["back"]["text"]
    riffle("replay", "-c", config, "--steps", "0..14")
    # All of a step that was skipped comes back by the same words.
    riffle("skip", "-c", config, "--step", 13, "--timeout", 1, check=False)
    riffle("mix", "-c", config, "--until-step", 15)
    assert set.union(*map(lambda r: set(range(*r)), ranges(listed()["skipped"]))) >= steps[13]
    riffle("skip", "-c", config, "--undo", "--step", 13, "--timeout", 1, check=False)
    riffle("mix", "-c", config, "--until-step", 16)
    assert ranges(listed()["skipped"]) == [(10, 12), (15, 20)]
    riffle("replay", "-c", config, "--steps", "0..16")


# ---- domains that grow ----

@pytest.fixture
def pour(tools, bootstrap, unique, fill):
    """pour("a", n): n more records of the live domain a, as its producer would write them."""
    env = {**os.environ, "RIFFLE_BOOTSTRAP": bootstrap}
    source, done = {}, collections.Counter()

    def run(domain, n):
        if domain not in source:
            fill(domain, sequences=2000, corpus=f"{unique}-source", live=True)
            source[domain] = subprocess.run([tools / "topic", "read", f"{unique}-source.{domain}"], env=env, check=True,
                                            stdout=subprocess.PIPE, text=True).stdout.splitlines(keepends=True)
        first = done[domain]
        done[domain] += n
        subprocess.run([tools / "topic", "append", f"{unique}.{domain}"], env=env, check=True, text=True,
                       input="".join(source[domain][first:first + n]))
    return run


def live_config(configure, max_lead_steps=0, **more):
    return configure({"a": 0.5, "live": 0.5}, domains={"live": {"live": True, **more}}, transaction_ms=50,
                     max_lead_steps=max_lead_steps)


def step_of(status, config):
    return status(config)["mix"]["step_next"]


@both_forms
def test_a_mix_waits_for_a_dry_live_domain_and_goes_on_when_it_has_more(riffle, fill, configure, pour, status, wait_for, read,
                                                                        tmp_path, ask):
    fill("a", sequences=500)
    config = live_config(configure)
    pour("live", 20)
    log = open(tmp_path / "log", "w")
    mixer = riffle.popen("mix", "-c", config, stderr=log)
    wait_for(lambda: status(config)["mix"]["step_next"] == 2, "two steps")
    wait_for(lambda: {d["name"]: d["dry"] for d in status(config)["domains"]} == {"a": False, "live": False}, "the status")
    # Four of its sequences are left, eight are needed: it waits, and answers requests meanwhile.
    wait_for(lambda: any("domain live is live and has 4 sequences left" in p for p in status(config)["problems"]), "the reason")
    assert ask(config, "a=0.5", "--at-step", 1000)[0]["accepted"]
    pour("live", 4)
    wait_for(lambda: step_of(status, config) == 3, "the third step")
    wait_for(lambda: {d["name"]: d["dry"] for d in status(config)["domains"]}["live"], "that it is dry")
    pour("live", 40)
    wait_for(lambda: step_of(status, config) == 8, "the eighth step")
    wait_for(lambda: "MIX-DRY waiting for domain=live partition=0 ordinal=64" in (tmp_path / "log").read_text(), "the warning")
    stop(mixer)
    drawn = places(read(config, 8, form="jsonl"))
    assert sorted(o for d, _, _, o in drawn if d == "live") == list(range(64))


@pytest.mark.parametrize("on_dry", ["wait", "lend"])
def test_the_draws_of_a_live_domain_are_calculated_while_it_grows_and_after(riffle, fill, configure, pour, read, on_dry):
    fill("a", sequences=100)
    config = live_config(configure, on_dry=on_dry)
    until = 0
    for _ in range(4):
        pour("live", 24)
        until += 3
        riffle("mix", "-c", config, "--until-step", until)
    found, slots = collections.defaultdict(list), collections.Counter()
    for s in map(json.loads, read(config, until, form="jsonl")):
        found[s["domain"], s["ordinal"]].append((s["step"], s["lane"], slots[s["step"], s["lane"]], s["epoch"]))
        slots[s["step"], s["lane"]] += 1
    drawn = lambda *words: [(d["step"], d["lane"], d["slot"], d["epoch"]) for d in json.loads(riffle(
        "inspect", "-c", config, "--document", *words, "--json").stdout)["sequences"][0]["draws"]]
    for ordinal in (0, 23, 24, 60, 95):
        assert drawn(f"live/0/{ordinal}") == found["live", ordinal] != []
    for ordinal in (0, 50, 99):
        assert drawn(f"a/0/{ordinal}") == found["a", ordinal]
    shown = json.loads(riffle("inspect", "-c", config, "--document", "live/0/95", "--plan", "--json").stdout)
    assert shown["dry"] == ("live" if on_dry == "wait" else None)


@both_forms
def test_lent_draws_are_paid_back_and_a_resume_keeps_the_debt(riffle, fill, configure, pour, status, wait_for, read):
    fill("a", sequences=2000)
    config = live_config(configure, on_dry="lend", catch_up=2)
    pour("live", 16)
    domain = lambda: {d["name"]: d for d in status(config)["domains"]}["live"]
    riffle("mix", "-c", config, "--until-step", 12)
    assert domain()["taken"] == 16 and domain()["owed"] == 12 * 8 - 16 and domain()["dry"]
    pour("live", 600)
    riffle("mix", "-c", config, "--until-step", 16)
    owed, taken = domain()["owed"], domain()["taken"]
    # Paid back at its share once more, which is all of the draws here: never faster.
    assert 80 - 4 * 8 <= owed < 80 and taken <= 16 + 4 * 16
    riffle("mix", "-c", config, "--until-step", 40)
    assert domain()["owed"] == 0 and domain()["taken"] == 40 * 8
    drawn = places(read(config, 40, form="jsonl"))
    assert [sorted(o for d, _, _, o in drawn if d == "live")] == [list(range(320))]


@pytest.mark.parametrize("on_dry", ["wait", "lend"])
def test_waits_lends_and_requests_among_them_are_repeated_by_a_replay(riffle, fill, configure, pour, ask, status, wait_for,
                                                                      on_dry):
    fill("a", sequences=2000)
    fill("later", sequences=100)
    config = live_config(configure, on_dry=on_dry, max_lead_steps=10)
    pour("live", 5)
    mixer = riffle.popen("mix", "-c", config, stderr=None)
    for n, words in enumerate([["a=0.4"], ["--join", "later=0.1"], ["a=0.5", "live=0.6"], ["--leave", "later"], ["live=0.3"]]):
        assert ask(config, *words, "--timeout", 60)[0]["accepted"]  # the mixer may just be starting
        trainer = riffle.popen("read", "-c", config, "--rank", 0, "--world", 1, "--steps", 10, "--commit-every", 1,
                               "--format", "none", "--timeout", 60)
        if n == 2:
            riffle("skip", "-c", config, "live", "20..40")
            dry = riffle("skip", "-c", config, "live", "20..4000", "--dry-run").stdout
            assert "the domain is live" in dry and "are published later" in dry
        for more in (1, 30, 100):
            pour("live", more)
        assert trainer.wait(timeout=60) == 0
    if on_dry == "lend":
        wait_for(lambda: step_of(status, config) == 60, "the lead")
    stop(mixer)
    riffle("replay", "-c", config, "--steps", f"0..{step_of(status, config)}")


@pytest.fixture
def run_topic(tools, bootstrap):
    """Runs the tool `topic`, and returns what it prints."""
    env = {**os.environ, "RIFFLE_BOOTSTRAP": bootstrap}
    return lambda *words, **more: subprocess.run([tools / "topic", *words], env=env, check=True, text=True,
                                                 stdout=subprocess.PIPE, **more).stdout


def test_a_mixer_that_runs_takes_the_new_length_of_a_sealed_domain(riffle, fill, configure, read, run_topic, unique, status,
                                                                  wait_for):
    """It asks for the lengths of all domains every five seconds; nobody starts it again."""
    fill("a", sequences=48, corpus=f"{unique}-long")
    fill("a", sequences=16)
    config = configure({"a": 1}, max_lead_steps=4)
    mixer = riffle.popen("mix", "-c", config, stderr=subprocess.DEVNULL)
    wait_for(lambda: step_of(status, config) == 4, "four steps, each of them an epoch")
    run_topic("append", f"{unique}.a", input="".join(run_topic("read", f"{unique}-long.a").splitlines(keepends=True)[16:]))
    epochs = collections.defaultdict(list)

    def has_drawn_all():
        for _, _, epoch, ordinal in places(read(config, 4, form="jsonl", commit_every=4)):
            epochs[epoch].append(ordinal)
        return len(epochs[max(epochs) - 1]) == 48
    wait_for(has_drawn_all, "an epoch of the new length")
    stop(mixer)
    whole = [sorted(epochs[epoch]) for epoch in sorted(epochs)[:-1]]
    assert whole == sorted(whole, key=len) and all(o in (list(range(16)), list(range(48))) for o in whole)


def test_an_extended_domain_has_its_new_length_from_the_next_epoch_on(riffle, fill, configure, read, run_topic, unique, status,
                                                                      wait_for):
    """The topic of a sealed domain gets more sequences and another End while the mix runs."""
    fill("a", sequences=100, corpus=f"{unique}-long")
    fill("a", sequences=40)
    config = configure({"a": 1}, max_lead_steps=4)
    mixer = riffle.popen("mix", "-c", config, stderr=subprocess.DEVNULL)
    wait_for(lambda: step_of(status, config) == 4, "four steps: 64 sequences, in the second epoch")
    records = run_topic("read", f"{unique}-long.a").splitlines(keepends=True)
    run_topic("append", f"{unique}.a", input="".join(records[40:]))
    wait_for(lambda: {d["name"]: d for d in status(config)["domains"]}["a"]["sealed_length"] == 100, "the new End")
    stop(mixer)
    config = configure({"a": 1}, max_lead_steps=0)
    riffle("mix", "-c", config, "--until-step", 15, "--accept-config", "--yes")
    epochs = collections.defaultdict(list)
    for _, _, epoch, ordinal in places(read(config, 15, form="jsonl")):
        epochs[epoch].append(ordinal)
    assert sorted(epochs[0]) == sorted(epochs[1]) == list(range(40))
    assert sorted(epochs[2]) == list(range(100))
    riffle("replay", "-c", config, "--steps", "0..15")
