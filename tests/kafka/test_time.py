"""From a time to the first step that holds what a live domain got from then on."""

import datetime
import json
import os
import subprocess
import time

import pytest


@pytest.fixture
def pour(tools, bootstrap, unique, fill):
    """pour("live", 0, n): n more records of partition 0, as its producer would write them."""
    env, source, done = {**os.environ, "RIFFLE_BOOTSTRAP": bootstrap}, {}, {}

    def run(domain, partition, n):
        if domain not in source:
            fill(domain, sequences=600, partitions=2, corpus=f"{unique}-source", live=True)
            source[domain] = subprocess.run([tools / "topic", "read", f"{unique}-source.{domain}"], env=env, check=True,
                                            stdout=subprocess.PIPE, text=True).stdout.splitlines(keepends=True)
        first = done.get((domain, partition), 0)
        done[domain, partition] = first + n
        rows = [row for row in source[domain] if row.startswith(f"{partition}\t")]
        subprocess.run([tools / "topic", "append", f"{unique}.{domain}"], env=env, check=True, text=True,
                       input="".join(rows[first:first + n]))
    return run


def moment(wait_for):
    """A time in ms that is after all that was published before, and not after what is published now."""
    now = int(time.time() * 1000)
    wait_for(lambda: time.time() * 1000 > now + 5, "a few milliseconds")
    return now + 3


@pytest.fixture(params=["copied", "derived"])
def mixed(request, riffle, fill, configure, pour, wait_for):
    """A mix of that form; 40 sequences in each partition of `live`, a time, 40 more in each; 8 of a step's 16 are of `live`."""
    fill("a", sequences=900)
    config = configure({"a": 0.5, "live": 0.5}, domains={"live": {"live": True, "partitions": 2}}, transaction_bytes=10**5,
                       batches=request.param)
    for p in (0, 1):
        pour("live", p, 40)
    riffle("mix", "-c", config, "--until-step", 7)
    at = moment(wait_for)
    for p in (0, 1):
        pour("live", p, 40)
    return config, at


def asked(riffle, config, ms, *words):
    return json.loads(riffle("inspect", "-c", config, "--from-time", f"{ms / 1000:.3f}", "--json", *words).stdout)


def held(read, config, end):
    """{(partition, ordinal): (step, lane)} of `live`."""
    return {(d["partition"], d["ordinal"]): (d["step"], d["lane"]) for d in map(
        json.loads, read(config, end, form="jsonl")) if d["domain"] == "live"}


def test_the_first_step_of_a_time_is_calculated_and_read_from(riffle, mixed, read, package, unique, bootstrap, monkeypatch):
    config, at = mixed
    early = asked(riffle, config, at)
    assert (early["step"], early["published"], early["ordinal"]) == (7, False, None), "nothing of it is drawn yet"
    # The first one of partition 1 is kept out: another stands for it.
    riffle("skip", "-c", config, "live/1", "40..42", check=False)
    riffle("mix", "-c", config, "--until-step", 18)
    where = held(read, config, 18)
    expected = min(step for (_, ordinal), (step, _) in where.items() if ordinal >= 40)
    assert expected == 10 and (1, 41) not in where
    found = asked(riffle, config, at, "--domain", "live")
    assert (found["step"], found["published"], found["ordinal"] >= 40) == (expected, True, True)
    assert where[found["partition"], found["ordinal"]] == (expected, found["lane"])
    assert asked(riffle, config, 0)["step"] == 0
    assert asked(riffle, config, at + 10**9)["step"] == 18
    # What inspect shows of each sequence is the same time.
    shown = [s for step in range(6, 14) for s in json.loads(
        riffle("inspect", "-c", config, step, "--json").stdout)["sequences"] if s["domain"] == "live"]
    iso = datetime.datetime.fromtimestamp(at / 1000, datetime.timezone.utc).isoformat(timespec="milliseconds")
    for s in shown:
        assert s["time"].endswith("Z") and (s["time"] >= iso.replace("+00:00", "Z")) == (s["ordinal"] >= 40), s
    assert {s["ordinal"] >= 40 for s in shown} == {True, False}
    # The command and Python's reader start there.
    lines = riffle("read", "-c", config, "--from-time", iso, "--steps", 1).stdout.splitlines()
    assert lines == read(config, 1, first=expected)
    monkeypatch.setenv("RIFFLE_PROGRAM", riffle.path)
    mix = unique + "-mix"
    for given in (at / 1000, iso, datetime.datetime.fromtimestamp(at / 1000, datetime.timezone.utc)):
        assert package.riffle.step_at_time(mix, given, bootstrap) == expected
    with package.riffle.Reader(mix, bootstrap, from_time=iso, from_domain="live", timeout=30) as reader:
        assert next(reader).step == expected
    for wrong, why in ((dict(step=1, from_time=0), "not both"), (dict(from_domain="live"), "goes with from_time"),
                       (dict(from_time=0, from_domain="a"), "no live domain a: it has live"),
                       (dict(from_time="noon"), "is no time"), (dict(from_time=datetime.datetime.now()), "no time zone")):
        with pytest.raises(package.riffle.UsageError, match=why):
            package.riffle.Reader(mix, bootstrap, **wrong)


def test_what_has_no_step_by_time_is_said(riffle, fill, configure, pour):
    fill("a", "b", sequences=300)
    config = configure({"a": 1, "b": 1})
    assert "has not started" in riffle("inspect", "-c", config, "--from-time", "0", check=False).stderr
    riffle("mix", "-c", config, "--until-step", 3)
    rows = [("inspect", ["--from-time", "0"], "has no live domain: the sequences of others come in an order of their own"),
            ("read", ["--from-time", "0"], "has no live domain"),
            ("read", ["--from-time", "0", "--from-step", 1], "--from-step or --from-time, not both"),
            ("read", ["--from-time", "31.1.2026"], '"31.1.2026" is no time: 2026-01-31T10:30:00Z, a date'),
            ("inspect", ["--from-time", "0", 3], "--from-time: goes without STEP"),
            ("inspect", ["--domain", "a", 3], "--domain: only with --from-time")]
    for command, words, why in rows:
        done = riffle(command, "-c", config, *words, check=False)
        assert done.returncode == 2 and why in done.stderr, (words, done.stderr)
    two = configure({"x": 1, "y": 1}, name="two", partitions=2, domains={"x": {"live": True}, "y": {"live": True}})
    for domain in "xy":
        for p in (0, 1):
            pour(domain, p, 20)
    riffle("mix", "-c", two, "--until-step", 1)
    done = riffle("read", "-c", two, "--from-time", "0", check=False)
    assert done.returncode == 2 and "has several live domains, each with times of its own: name one of x, y" in done.stderr
    assert asked(riffle, two, 0, "--domain", "y")["step"] == 0
