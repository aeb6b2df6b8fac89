"""Fixtures for mixes over synthetic domains (tests/tools/fill.c: topics as the producer leaves them)."""

import importlib.util
import os
import pathlib
import subprocess
import sys
import time

import pytest

# `from conftest import ROOT, Riffle` in a test of this folder means this file; they are made one folder up.
_spec = importlib.util.spec_from_file_location("conftest_above", pathlib.Path(__file__).parents[1] / "conftest.py")
_above = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_above)
ROOT, Riffle, Package, configs_in, draws = _above.ROOT, _above.Riffle, _above.Package, _above.configs_in, _above.draws
sys.path.append(str(ROOT / "tests/chaos"))

from cluster import lagging, running  # noqa: E402

LENGTH = 64
both_forms = pytest.mark.parametrize("form", ["copied", "derived"])  # of a test whose mixes may be without copies
# A sanitizer's own memory and time are no figures of the program (scripts/test-sanitized).
SANITIZED = "RIFFLE_SANITIZED" in os.environ


def fills(tools, bootstrap, unique):
    """Returns what the fixture `fill` is. For fixtures that live longer than a test."""
    def run(*domains, sequences=200, length=LENGTH, partitions=1, corpus=None, **more):
        words = ["--bootstrap", bootstrap, "--corpus", corpus or unique, "--domain", ",".join(domains), "--sequences",
                 sequences, "--length", length, "--partitions", partitions, "--distinct", 50]
        for name, value in more.items():
            words += ["--" + name.replace("_", "-")] + ([] if value is True else [value])
        subprocess.run([tools / "fill", *map(str, words)], check=True, timeout=300)
    return run


@pytest.fixture
def fill(tools, bootstrap, unique):
    """fill("a", "b", sequences=100) makes domain topics of the corpus `unique`."""
    return fills(tools, bootstrap, unique)


@pytest.fixture
def form():
    return "copied"


@pytest.fixture
def commits(form):
    """The part of the name of a mix's topic that runs commit to."""
    return "batches" if form == "copied" else "lanes"


def configures(write_config, bootstrap, unique, riffle, form="copied"):
    """Returns what the fixture `configure` is. For fixtures that live longer than a test."""
    def make(weights, /, name="mix", create=True, partitions=1, domains=None, corpus=None, shared=None, replication=1,
             length=LENGTH, **keys):
        if form != "copied":
            keys = {"batches": form, **keys}
        if shared:  # lanes in so many partitions of the batch topic
            keys["partitions"] = shared
        config = {
            "corpus": corpus or unique,
            "tokenizer": {"file": "unused.tiktoken", "pattern": "gpt2", "eos": "<|endoftext|>"},
            "sequence_length": length,
            "domains": {d: {"train": [f"unused.{d}.jsonl"], "partitions": partitions, **(domains or {}).get(d, {})}
                        for d in weights},
            "mix": {"name": f"{unique}-{name}", "seed": 7, "global_batch": 16, "lanes": 8, "max_lead_steps": 0,
                    "transaction_bytes": 20000, "weights": weights, **keys},
            "kafka": {"bootstrap.servers": bootstrap},
        }
        if replication > 1:
            config["topics"] = {"replication": replication, "min_insync_replicas": replication - 1}
        path = write_config(config, f"{name}.yml")
        if create:
            make_topics(riffle, path)
        return path
    return make


def make_topics(riffle, path):
    """Several brokers hear of new topics one after the other, and the command ends with 1 if one has not yet."""
    for last in (False, False, False, True):
        done = riffle("topics", "-c", path, "--create", check=last)
        if done.returncode == 0:
            return
        assert "Unknown topic or partition" in done.stderr, done.stderr


@pytest.fixture
def configure(write_config, bootstrap, unique, riffle, form):
    """configure(weights, mix=..., domains=..., shared=..., replication=..., **mix keys) -> path, with the mix's topics made."""
    return configures(write_config, bootstrap, unique, riffle, form)


def reads(riffle):
    """Returns what the fixture `read` is. For fixtures that live longer than a test."""
    def run(config, steps, first=0, rank=0, world=1, form="steps", run=None, commit_every=None):
        more = (["--run", run] if run else []) + (["--commit-every", commit_every] if commit_every else [])
        start = [] if commit_every else ["--from-step", first]
        more += ["--uneven"] if 8 % world else []
        return riffle("read", "-c", config, "--rank", rank, "--world", world, *start, "--steps", steps,
                      "--format", form, "--timeout", 60, *more).stdout.splitlines()
    return run


@pytest.fixture
def read(riffle):
    """All lanes of steps first..end, as the lines of --format steps."""
    return reads(riffle)


def wait_until(condition, what, seconds=60):
    """Polls until `condition` is true, and fails after `seconds`. Pauses for as long as the last look took, because a
    `riffle status` costs the broker more than the work that the test waits for."""
    deadline = time.monotonic() + seconds
    while True:
        began = time.monotonic()
        if condition():
            return
        now = time.monotonic()
        assert now < deadline, f"{what} did not happen within {seconds} s"
        time.sleep(min(max(0.02, now - began), 0.5))


@pytest.fixture
def wait_for():
    return wait_until


@pytest.fixture(scope="session")
def struck(request, build, tools, package, vocab, tmp_path_factory):
    """struck(item) raises what a test has raised that shares the kill of a broker (one_kill.py)."""
    from one_kill import played  # which imports this file
    with played(request.session.items, build, tmp_path_factory.mktemp("struck"), tools, package, vocab) as outcome:
        yield outcome


def drop_topics(tools, broker, unique):
    subprocess.run([tools / "topic", "drop"], input=f"{unique}\n", text=True, check=True, timeout=60,
                   env={**os.environ, "RIFFLE_BOOTSTRAP": broker.bootstrap})


@pytest.fixture(scope="session")
def single_broker(build):
    """One broker, for tests that need it to themselves and run one after the other. It takes short sessions of mixers."""
    with running(build / f"kafka-own-{os.getpid()}", properties={"group.min.session.timeout.ms": 1000}) as c:
        yield c


@pytest.fixture
def own_broker(single_broker, tools, unique):
    """The single broker, which runs and has no topic of another test."""
    single_broker.up()
    yield single_broker
    drop_topics(tools, single_broker, unique)


@pytest.fixture(scope="session")
def broker_pair(build):
    """Two brokers in two racks, for tests in which one of several dies, is stopped, or is the nearer one."""
    # A follower that does not know a new topic yet asks again soon.
    with running(build / f"kafka-two-{os.getpid()}", brokers=2, properties={"replica.fetch.backoff.ms": 100}) as c:
        yield c


@pytest.fixture
def two_brokers(broker_pair, tools, unique):
    """The pair. Both brokers run and have all records."""
    broker_pair.up()
    wait_until(broker_pair.in_sync, "all replicas having all records")
    yield broker_pair
    drop_topics(tools, broker_pair, unique)


@pytest.fixture(scope="session")
def lagging_brokers(build):
    """Three brokers whose followers learn up to four seconds late how far a log is committed."""
    with running(build / f"kafka-lagging-{os.getpid()}", brokers=3, properties=lagging(4000)) as c:
        yield c
