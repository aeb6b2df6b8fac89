"""--metrics of the commands that work, and riffle_metrics(): what is counted, and who may ask."""

import concurrent.futures
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import urllib.parse

import pytest
from prometheus_text import check, fetch, promtool_finds_nothing, url_of, value

from conftest import LENGTH, ROOT, wait_until
from test_produce import LENGTH as SEQUENCE
from test_produce import corpus, lines  # noqa: F401
from test_replay import topic  # noqa: F401
from wire_proxy import END_TRANSACTION, OFFSET_FETCH, PRODUCE, Fate, Proxy, pass_all

FAST = ("-X", "statistics.interval.ms=200")
# What a listener of this machine alone takes as its name.
HOSTS = {"localhost": True, "localhost:1": True, "LOCALHOST:8640": True, "127.0.0.1": True, "127.0.0.1:": True, "[::1]:8640": True,
         "10.1.2.3:1": True, "evil.example": False, "localhost.evil.example": False, "127.0.0.1.evil.example": False,
         "127.0.0.1:8640@evil.example": False, "127.0.0.1@evil.example": False, "[::1]evil.example": False, "[::1": False,
         "": False, ":80": False, "[]": False, "localhost:x": False}


@pytest.fixture
def start(riffle, tmp_path):
    """start("mix", ...) -> (process, url), with --metrics on a free port and a log of JSON."""
    def run(*words, metrics="0", env=None):
        log = tmp_path / f"{words[0]}.{len(riffle.running)}.log"
        with log.open("w") as to:
            process = riffle.popen(*words, "--metrics", metrics, "--log", "json", stderr=to, env=env,
                                   stdout=to if words[0] != "read" else None)
        process.log = log
        return process, url_of(log)
    return run


@pytest.fixture
def proxy(bootstrap):
    """Passes all on, until it leaves."""
    made = Proxy(bootstrap, pass_all)
    yield made
    made.close()


def ask(url, path="/metrics", method="GET", body=None, **headers):
    """(status, text)"""
    at = urllib.parse.urlsplit(url)
    c = http.client.HTTPConnection(at.hostname, at.port, timeout=30)
    c.request(method, path, body, headers)
    answer = c.getresponse()
    return answer.status, answer.read().decode()


def test_a_mixer_counts_what_it_publishes_and_for_whom_it_waits(start, fill, configure, riffle, read):
    fill("a", "b")
    config = configure({"a": 0.7, "b": 0.3}, max_lead_steps=20)
    mix = json.loads(config.read_text())["mix"]["name"]
    # Twenty steps take less than that: librdkafka's figures come while the mixer waits, or never.
    mixer, url = start("mix", "-c", config, "-X", "statistics.interval.ms=3000")
    found = {}

    def look(name, at_least, **labels):
        found.clear()
        found.update(check(fetch(url), "mix"))
        return (value(found, name, mix=mix, **labels) or 0) >= at_least
    wait_until(lambda: look("riffle_mixer_blocked_seconds_total", 0.05, run="trainers"), "a wait for the trainers")
    wait_until(lambda: look("riffle_kafka_sent_bytes_total", 1), "librdkafka's figures")

    def now(name, **labels):
        return value(found, name, mix=mix, **labels)
    assert now("riffle_mixer_attached") == 1
    assert now("riffle_mixer_next_step") == now("riffle_mixer_steps_total") == 20
    assert now("riffle_mixer_lead_steps", run="trainers") == 20
    assert now("riffle_mixer_sequences_total") == 20 * 16
    assert now("riffle_mixer_tokens_total") == 20 * 16 * LENGTH
    assert now("riffle_mixer_bytes_total") > 20 * 16 * 8
    committed = now("riffle_mixer_transactions_committed_total")
    assert committed == now("riffle_mixer_transaction_seconds_count") == now("riffle_mixer_transaction_seconds_bucket", le="+Inf") > 1
    assert now("riffle_mixer_transactions_aborted_total") == now("riffle_mixer_transactions_in_doubt_total") == 0
    assert now("riffle_mixer_recoveries_total") == now("riffle_mixer_fencings_total") == 0
    assert "riffle_mixer_dry_seconds_total" not in found, "of live domains alone"
    assert now("riffle_mixer_weights_version") == json.loads(riffle("status", "-c", config, "--json").stdout)["mix"]["weights"]["version"]
    assert now("riffle_kafka_round_trip_seconds") > 0
    promtool_finds_nothing(fetch(url))

    blocked = now("riffle_mixer_blocked_seconds_total", run="trainers")
    read(config, 5, commit_every=1)
    wait_until(lambda: look("riffle_mixer_steps_total", 25), "more steps")
    assert now("riffle_mixer_lead_steps", run="trainers") == 20
    assert now("riffle_mixer_blocked_seconds_total", run="trainers") >= blocked
    mixer.send_signal(signal.SIGTERM)
    assert mixer.wait(timeout=60) == 0
    assert all(json.loads(line)["time"] for line in mixer.log.read_text().splitlines())


def test_a_mixer_answers_while_its_broker_is_away_and_counts_that_it_attached_again(start, fill, configure, proxy):
    fill("a")
    config = configure({"a": 1})
    mix = json.loads(config.read_text())["mix"]["name"]
    mixer, url = start("mix", "-c", config, *FAST, "-X", "transaction.timeout.ms=6000", env={"RIFFLE_BOOTSTRAP": proxy.address})

    def now(name):
        return value(check(fetch(url), "mix"), name, mix=mix)
    wait_until(lambda: (now("riffle_mixer_steps_total") or 0) > 0, "the first step")
    proxy.leave()
    wait_until(lambda: now("riffle_mixer_attached") == 0, "a mixer that attaches again", seconds=180)
    before = check(fetch(url), "mix")
    assert value(before, "riffle_mixer_recoveries_total", mix=mix) >= 1
    assert value(before, "riffle_mixer_transactions_in_doubt_total", mix=mix) + \
        value(before, "riffle_mixer_transactions_aborted_total", mix=mix) <= 1
    assert "riffle_mixer_next_step" not in before
    proxy.come_back()
    steps = value(before, "riffle_mixer_steps_total", mix=mix)
    wait_until(lambda: now("riffle_mixer_attached") == 1 and now("riffle_mixer_steps_total") > steps, "steps", seconds=90)
    mixer.send_signal(signal.SIGTERM)
    assert mixer.wait(timeout=60) == 0


def test_a_mixer_counts_how_long_a_domain_was_dry_and_what_is_owed(start, fill, configure):
    fill("a", sequences=500)
    fill("live", sequences=40, live=True)
    config = configure({"a": 0.5, "live": 0.5}, domains={"live": {"live": True, "on_dry": "wait"}})
    mix = json.loads(config.read_text())["mix"]["name"]
    _, url = start("mix", "-c", config)

    def now(name, **labels):
        return value(check(fetch(url), "mix"), name, mix=mix, **labels) or 0
    wait_until(lambda: now("riffle_mixer_dry_seconds_total", domain="live") > 0.3, "a wait for the domain")
    assert now("riffle_mixer_owed_sequences", domain="live") == now("riffle_mixer_lent_draws_total", domain="live") == 0
    assert now("riffle_mixer_blocked_seconds_total", run="trainers") == 0


def test_only_get_of_metrics_is_answered_and_only_by_an_address(start, fill, configure):
    fill("a")
    mixer, url = start("mix", "-c", configure({"a": 1}, max_lead_steps=4))
    status, text = ask(url)
    assert status == 200 and "riffle_mixer_attached" in text
    assert ask(url, method="HEAD") == (200, "")
    for host in HOSTS:
        assert (ask(url, Host=host)[0] == 200) == HOSTS[host], host
    assert ask(url, "/")[0] == ask(url, "/metrics/x")[0] == 404
    for method in ("POST", "PUT", "DELETE"):
        assert ask(url, method=method, body="x" * 100000)[0] == 405
    at = urllib.parse.urlsplit(url)
    for garbage in (b"\0\xff\n\n", b"GET /metrics", b"GET /" + b"a" * 100000 + b" HTTP/1.1\r\n\r\n",
                    b"GET /metrics HTTP/1.1\r\n" + b"X: " + b"y" * 100000):
        with socket.create_connection((at.hostname, at.port), timeout=30) as s:
            s.sendall(garbage)
    waiting = [socket.create_connection((at.hostname, at.port), timeout=30) for _ in range(200)]
    for s in waiting:  # more than there are places
        try:
            s.send(b"GET /metrics HTTP/1.1\r\nX: ")
        except OSError:
            pass
    for _ in range(20):
        assert ask(url)[0] == 200
    for s in waiting:
        s.close()
    assert mixer.poll() is None


TOKEN = "0123456789abcdefghij-token"


@pytest.fixture
def token(tmp_path):
    path = tmp_path / "token"
    path.write_text(TOKEN + "\n")
    return path


class Faults:
    """What the broker's requests meet: `fate` of those of one kind, as long as it is set."""

    def __init__(self, bootstrap):
        self.kind = self.fate = None
        self.proxy = Proxy(bootstrap, self)

    def __call__(self, api_key):
        return self.fate if api_key == self.kind and self.fate else Fate.PASS


@pytest.fixture
def faults(bootstrap):
    made = Faults(bootstrap)
    yield made
    made.proxy.close()


@pytest.mark.parametrize("kind, fate", [(PRODUCE, Fate.SILENCE), (END_TRANSACTION, Fate.LOSE_ANSWER)])
def test_transactions_in_doubt_are_counted(start, fill, configure, faults, kind, fate):
    """Of records or of a commit that nobody answers the mixer does not know, until it has looked."""
    fill("a")
    config = configure({"a": 1}, transaction_bytes=4096)
    mix = json.loads(config.read_text())["mix"]["name"]
    limits = [f"-X{name}=3000" for name in ("message.timeout.ms", "socket.timeout.ms")]
    _, url = start("mix", "-c", config, *limits, env={"RIFFLE_BOOTSTRAP": faults.proxy.address})

    def now(name):
        return value(check(fetch(url), "mix"), name, mix=mix) or 0
    wait_until(lambda: now("riffle_mixer_steps_total") > 0, "the first step")
    faults.kind, faults.fate = kind, fate
    wait_until(lambda: now("riffle_mixer_transactions_in_doubt_total") > 0, "the count")
    faults.fate = None
    wait_until(lambda: now("riffle_mixer_attached") == 1, "a mixer that has attached again")
    steps = now("riffle_mixer_steps_total")
    wait_until(lambda: now("riffle_mixer_steps_total") > steps, "more steps")
    assert now("riffle_mixer_recoveries_total") > 0 and now("riffle_mixer_transactions_committed_total") > 0


def test_transactions_that_are_aborted_are_counted(start, fill, configure, faults, read):
    """The broker does not say where trainers stand while a transaction is open, of which nothing has failed."""
    fill("a")
    config = configure({"a": 1}, max_lead_steps=1000000, transaction_ms=2000, transaction_bytes=10**9)
    mix = json.loads(config.read_text())["mix"]["name"]
    mixer, url = start("mix", "-c", config, env={"RIFFLE_BOOTSTRAP": faults.proxy.address})
    found = {}

    def now(name):
        found.clear()
        found.update(check(fetch(url), "mix"))
        return value(found, name, mix=mix) or 0

    def aborted():
        """Once more where the question came just between two transactions."""
        recoveries = now("riffle_mixer_recoveries_total")
        faults.kind, faults.fate = OFFSET_FETCH, Fate.SILENCE
        wait_until(lambda: now("riffle_mixer_recoveries_total") > recoveries, "a failure")
        faults.fate = None
        wait_until(lambda: now("riffle_mixer_attached") == 1, "a mixer that has attached again")
        return now("riffle_mixer_transactions_aborted_total") > 0
    wait_until(lambda: now("riffle_mixer_transactions_committed_total") > 0, "the first transaction")
    wait_until(aborted, "the count", seconds=180)
    assert now("riffle_mixer_transactions_in_doubt_total") == 0
    steps = now("riffle_mixer_steps_total")
    wait_until(lambda: now("riffle_mixer_steps_total") > steps, "more steps")
    mixer.send_signal(signal.SIGTERM)
    assert mixer.wait(timeout=60) == 0
    assert len(read(config, 40)) == 40 * 8, "each step is there once"


def test_a_mixer_that_is_fenced_counts_it(start, riffle, fill, configure, faults):
    """The one that fences it is slow to say that it has begun, and so the older one is still there to be asked."""
    fill("a")
    config = configure({"a": 1}, transaction_ms=20)
    mix = json.loads(config.read_text())["mix"]["name"]
    _, url = start("mix", "-c", config)

    def now(name):
        return value(check(fetch(url), "mix"), name, mix=mix) or 0
    wait_until(lambda: now("riffle_mixer_steps_total") > 0, "the first step")
    assert now("riffle_mixer_fencings_total") == 0
    faults.kind, faults.fate = PRODUCE, Fate.SILENCE
    riffle.popen("mix", "-c", config, env={"RIFFLE_BOOTSTRAP": faults.proxy.address})
    wait_until(lambda: now("riffle_mixer_fencings_total") == 1, "the fencing")
    assert now("riffle_mixer_recoveries_total") >= 1


def test_sequences_that_are_quarantined_are_counted(start, riffle, fill, configure, topic, unique):  # noqa: F811
    fill("a", sequences=128)
    log = topic(f"{unique}.a")
    for at in (3, 70):
        log.records[0][at] = log.records[0][at][:-1]
    log.write(1)
    config = configure({"a": 1}, max_lead_steps=8)  # of 16 sequences: each is drawn once, but for the two
    mix = json.loads(config.read_text())["mix"]["name"]
    mixer, url = start("mix", "-c", config)
    wait_until(lambda: value(check(fetch(url), "mix"), "riffle_mixer_next_step", mix=mix) == 8, "eight steps")
    assert value(check(fetch(url), "mix"), "riffle_mixer_quarantined_sequences_total", mix=mix) == 2
    assert json.loads(riffle("status", "-c", config, "--json").stdout)["mix"]["quarantined"] == 2


def test_draws_that_are_lent_are_counted_and_owed(start, fill, configure):
    fill("a", sequences=2000)
    fill("live", sequences=16, live=True)
    config = configure({"a": 0.5, "live": 0.5}, domains={"live": {"live": True, "on_dry": "lend"}}, max_lead_steps=12)
    mix = json.loads(config.read_text())["mix"]["name"]
    _, url = start("mix", "-c", config)

    def now(name, **labels):
        return value(check(fetch(url), "mix"), name, mix=mix, **labels) or 0
    wait_until(lambda: now("riffle_mixer_next_step") == 12, "twelve steps")
    lent = 12 * 8 - 16
    assert now("riffle_mixer_owed_sequences", domain="live") == now("riffle_mixer_lent_draws_total", domain="live") == lent
    text = fetch(url)
    assert 'domain="a"' not in text, "a domain that is not live lends nothing"
    promtool_finds_nothing(text)


def test_what_other_machines_reach_needs_a_token(start, riffle, fill, configure, token, tmp_path):
    fill("a")
    config = configure({"a": 1}, max_lead_steps=4)
    for word in ("0.0.0.0:0", "[::]:0"):
        done = riffle("mix", "-c", config, "--metrics", word, check=False)
        assert (done.returncode, done.stderr) == (2, f"riffle mix: --metrics: {word} is not of this machine alone: --metrics-token-file "
                                                     "is needed, so that not everyone reads the mix; see riffle mix --help\n")
    (tmp_path / "short").write_text("short\n")
    done = riffle("mix", "-c", config, "--metrics", "0.0.0.0:0", "--metrics-token-file", tmp_path / "short", check=False)
    assert done.returncode == 2 and "--metrics-token-file: " in done.stderr and "not a token: one line of 16 to 512" in done.stderr
    mixer, url = start("mix", "-c", config, "--metrics-token-file", token, metrics="0.0.0.0:0")
    url = url.replace("0.0.0.0", "127.0.0.1")
    assert ask(url) == ask(url, Authorization="Bearer " + TOKEN[:-1]) == (401, "send Authorization: Bearer TOKEN\n")
    status, text = ask(url, Authorization=f"Bearer {TOKEN}", Host="mixer-1.example:9640")
    assert status == 200 and "riffle_mixer_attached" in text
    mixer.send_signal(signal.SIGTERM)
    assert mixer.wait(timeout=60) == 0
    assert TOKEN not in mixer.log.read_text()


def test_an_address_that_is_none_or_taken_ends_the_command_before_it_works(riffle, fill, configure):
    fill("a")
    config = configure({"a": 1})
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = riffle("mix", "-c", config, "--metrics", port, check=False)
    assert (done.returncode, done.stderr) == (
            1, f"riffle mix: --metrics: listening on 127.0.0.1, port {port}: Address already in use: give another port, or 0 for any "
            "that is free\n")
    no_address = "is no address: PORT, or HOST:PORT, with a port of 0 to 65535"
    for word, why in (("x", no_address), ("127.0.0.1:65536", no_address), ("h:", no_address),
                      ("::1:80", "an IPv6 address needs brackets: [::1]:80")):
        done = riffle("mix", "-c", config, "--metrics", word, check=False)
        assert (done.returncode, done.stderr) == (2, f"riffle mix: --metrics: {word}: {why}; see riffle mix --help\n")
    assert json.loads(riffle("status", "-c", config, "--json").stdout)["mix"]["step_next"] == 0


def test_riffle_read_counts_what_it_gave_and_waited_for(start, fill, configure, riffle):
    fill("a")
    config = configure({"a": 1})
    mix = json.loads(config.read_text())["mix"]["name"]
    riffle("mix", "-c", config, "--until-step", 30)
    reader, url = start("read", "-c", config, "--rank", 0, "--world", 2, "--run", "r", "--commit-every", 10, "--format", "none", *FAST)
    found = {}

    def look(name, at_least):
        found.clear()
        found.update(check(fetch(url), "read"))
        return (value(found, name, mix=mix, run="r") or 0) >= at_least
    wait_until(lambda: look("riffle_reader_wait_seconds_total", 0.3), "a wait")
    wait_until(lambda: look("riffle_kafka_received_bytes_total", 1), "librdkafka's figures")

    def now(name):
        return value(found, name, mix=mix, run="r")
    assert now("riffle_reader_next_step") == now("riffle_reader_committed_step") == now("riffle_reader_steps_total") == 30
    assert now("riffle_reader_sequences_total") == 30 * 8
    assert now("riffle_reader_tokens_total") == 30 * 8 * LENGTH
    assert now("riffle_reader_queue_steps") == 0
    promtool_finds_nothing(fetch(url))
    reader.send_signal(signal.SIGTERM)
    assert reader.wait(timeout=60) == 0


def test_a_set_has_no_metrics(riffle, configure):
    done = riffle("read", "-c", configure({"a": 1}), "--set", "valid", "--domain", "a", "--metrics", 0, check=False)
    assert (done.returncode, done.stderr) == (2, "riffle read: --metrics is for a mix, not for a --set; see riffle read --help\n")


def test_a_producer_counts_documents_of_each_domain_and_rejects_by_their_reasons(start, corpus):  # noqa: F811
    for domain in "ab":
        (corpus.folder / domain).mkdir()
    (corpus.folder / "a" / "1.jsonl").write_text(lines(f"document {i} one two three" for i in range(50)))
    (corpus.folder / "b" / "1.jsonl").write_text("not JSON\n" + '{"no": "text"}\n' * 3)
    corpus.config["domains"] = {"a": {"train": ["a/*"], "live": True}, "b": {"train": ["b/*"], "live": True}}
    corpus.config["max_rejects"] = 1
    corpus.create()
    process, url = start("produce", "-c", corpus.path, "--follow", *FAST)
    found = {}

    def look(name, at_least, **labels):
        found.clear()
        found.update(check(fetch(url), "produce"))
        return (value(found, name, **labels) or 0) >= at_least
    wait_until(lambda: look("riffle_producer_documents_total", 50, domain="a"), "the documents")
    wait_until(lambda: look("", 0) and sum(found.get("riffle_producer_rejects_total", {}).values()) == 4, "the rejects")
    with (corpus.folder / "a" / "1.jsonl").open("a") as out:
        out.write(lines(f"document {i} one two three" for i in range(50, 90)))
    wait_until(lambda: look("riffle_producer_documents_total", 90, domain="a"), "what was appended")
    wait_until(lambda: look("riffle_kafka_round_trip_seconds", 0), "librdkafka's figures")
    sequences = value(found, "riffle_producer_sequences_total", domain="a")
    assert sequences > 0 and value(found, "riffle_producer_tokens_total", domain="a") == sequences * SEQUENCE
    assert value(found, "riffle_producer_bytes_total", domain="a") > sequences * 16
    assert value(found, "riffle_producer_documents_total", domain="b") == value(found, "riffle_producer_sequences_total", domain="b") == 0
    assert value(found, "riffle_producer_input_bytes_total", input="a") == (corpus.folder / "a" / "1.jsonl").stat().st_size
    assert value(found, "riffle_producer_parts") == 2
    rejects = found["riffle_producer_rejects_total"]
    assert sorted(rejects.values()) == [1, 3] and all(dict(labels)["input"] == "b" for labels in rejects)
    promtool_finds_nothing(fetch(url))
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=60) == 0


# --- libriffle and Python


def test_a_c_program_gives_its_text(package, build, fill, configure, riffle, bootstrap, tmp_path):
    """tests/kafka/metrics_of.c, with buffers that are too small, and from a second thread while the first one reads."""
    fill("a")
    config = configure({"a": 1})
    mix = json.loads(config.read_text())["mix"]["name"]
    riffle("mix", "-c", config, "--until-step", 40)
    program = tmp_path / "metrics_of"
    subprocess.run(["cc", "-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-pthread", "-I", ROOT, "-o", program,
                    ROOT / "tests/kafka/metrics_of.c", build / "libriffle.so.0", f"-Wl,-rpath,{build}"], check=True, timeout=120)
    done = subprocess.run([program, bootstrap, mix, "40"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    texts = done.stdout.split("--\n")
    promtool_finds_nothing(texts[1])
    before, after = (check(text, "libriffle") for text in texts)
    labels = {"mix": mix, "run": "c"}
    assert value(before, "riffle_reader_steps_total", **labels) == 0
    assert value(after, "riffle_reader_steps_total", **labels) == value(after, "riffle_reader_next_step", **labels) == 40
    assert value(after, "riffle_reader_tokens_total", **labels) == 40 * 16 * LENGTH
    assert value(after, "riffle_reader_committed_step", **labels) == 40
    assert value(after, "riffle_kafka_received_bytes_total", **labels) > 0


@pytest.fixture
def reader(package, fill, configure, riffle, bootstrap):
    fill("a")
    config = configure({"a": 1}, "py")
    mix = json.loads(config.read_text())["mix"]["name"]
    riffle("mix", "-c", config, "--until-step", 40)
    with package.riffle.Reader(mix, bootstrap, step=5, timeout=60) as opened:
        yield opened


def test_a_reader_in_python_gives_its_text(reader, package):
    """And `wait_seconds` counts what the trainer waited, not what it computed."""
    labels = {"mix": reader.mix, "run": "trainers"}
    found = check(reader.metrics(), "libriffle")
    assert value(found, "riffle_reader_next_step", **labels) == 5
    assert value(found, "riffle_reader_steps_total", **labels) == 0
    for _ in range(3):
        reader.next()
    reader.commit()
    found = check(reader.metrics(), "libriffle")
    assert value(found, "riffle_reader_next_step", **labels) == value(found, "riffle_reader_committed_step", **labels) == 8
    assert value(found, "riffle_reader_steps_total", **labels) == 3
    assert value(found, "riffle_reader_sequences_total", **labels) == 48
    assert value(found, "riffle_reader_tokens_total", **labels) == 48 * LENGTH
    before = value(found, "riffle_reader_wait_seconds_total", **labels)
    reader.seek(40)
    with pytest.raises(package.riffle.StepTimeout):
        reader.next(timeout=0.5)
    assert value(check(reader.metrics(), "libriffle"), "riffle_reader_wait_seconds_total", **labels) >= before + 0.4
    reader.close()
    with pytest.raises(package.riffle.UsageError):
        reader.metrics()


def test_the_committed_step_is_that_of_trained(reader, package):
    """trained() commits by a handle of its own, which no call of the reader passes."""
    def committed():
        return value(check(package.riffle.metrics(), "libriffle"), "riffle_reader_committed_step", mix=reader.mix, run="trainers")
    for _ in range(3):
        reader.next()
    assert committed() == 5, "what is read is not trained"
    reader.trained()
    wait_until(lambda: committed() == 6, "the commit")
    reader.trained(7)
    reader.flush()
    assert committed() == 8


def test_a_listener_serves_all_readers_while_they_read(reader, package, bootstrap):
    """From its own threads, while another thread reads and at last closes."""
    riffle = package.riffle
    labels = {"mix": reader.mix, "run": "trainers"}
    with riffle.serve_metrics() as server, riffle.Reader(reader.mix, bootstrap, step=0, timeout=60) as second:
        for host in HOSTS:
            assert (ask(server.url, Host=host)[0] == 200) == HOSTS[host], host
        assert ask(server.url, "/")[0] == 404
        for method in ("POST", "PUT", "DELETE"):
            assert ask(server.url, method=method, body="x") == (405, "GET only\n")
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            scrapes = [pool.submit(fetch, server.url) for _ in range(100)]
            steps = [second.next() for _ in range(40)]
            assert len(steps) == 40
            for scrape in scrapes:
                check(scrape.result(), "libriffle")
            found = check(fetch(server.url), "libriffle")
            assert value(found, "riffle_reader_steps_total", **labels) == 40
            assert value(found, "riffle_reader_next_step", **labels) == 5
            scrapes = [pool.submit(fetch, server.url) for _ in range(50)]
            second.close()
            for scrape in scrapes:
                scrape.result()
        with pytest.raises(OSError):
            riffle.serve_metrics(urllib.parse.urlsplit(server.url).netloc)
    for wrong in ("x", "1.2.3.4:", "h:99999", "::1:80"):
        with pytest.raises(riffle.UsageError, match="no address|needs brackets"):
            riffle.serve_metrics(wrong)
    for address in ("0.0.0.0:0", "[::]:0"):
        with pytest.raises(riffle.UsageError, match="not of this machine alone: a token is needed"):
            riffle.serve_metrics(address)
    with pytest.raises(riffle.UsageError, match="not a token"):
        riffle.serve_metrics(0, token="short")
    with riffle.serve_metrics("0.0.0.0:0", token=TOKEN) as server:
        url = server.url.replace("0.0.0.0", "127.0.0.1")
        assert ask(url)[0] == ask(url, Authorization="Bearer x")[0] == 401
        assert ask(url, Authorization=f"Bearer {TOKEN}", Host="gpu1:9642")[0] == 200


def test_a_listener_in_a_trainer_costs_it_few_threads_for_a_short_while(package, monkeypatch):
    """Of clients without a token: some that are silent, and one that sends a byte now and then and never ends."""
    riffle, limits = package.riffle, sys.modules[package.riffle.serve_metrics.__module__]
    monkeypatch.setattr(limits._Handler, "timeout", 600)
    before = set(threading.enumerate())  # some of them may end meanwhile
    with riffle.serve_metrics(0, TOKEN) as server:
        def handlers():
            return len(set(threading.enumerate()) - before) - 1  # less the listener's own

        at = urllib.parse.urlsplit(server.url)

        def connect():
            return socket.create_connection((at.hostname, at.port), timeout=30)
        slow = connect()
        slow.sendall(b"GET /metrics HTTP/1.1\r\nX: ")
        silent = [connect() for _ in range(limits._CONNECTIONS - 1)]
        wait_until(lambda: handlers() == limits._CONNECTIONS, "a thread for each")
        with connect() as above:
            above.settimeout(limits._CONNECTION_S / 2)
            assert above.recv(1) == b"", "one above the limit is closed"
        assert handlers() <= limits._CONNECTIONS

        def is_cut():
            try:
                slow.sendall(b"x")
                return False
            except OSError:
                return True
        wait_until(is_cut, "the end of the slow one")
        wait_until(lambda: handlers() == 0, "the end of all their threads")
        assert ask(server.url, Authorization=f"Bearer {TOKEN}")[0] == 200
        for s in (slow, *silent):
            s.close()
