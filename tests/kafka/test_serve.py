"""riffle serve on a real broker: the same figures everywhere, changes, brokers that die, clients that are hostile."""

import concurrent.futures
import http.client
import json
import os
import re
import resource
import signal
import socket
import ssl
import subprocess
import threading
import time

import pytest

from conftest import SANITIZED, both_forms, wait_until
from prometheus_text import promtool_finds_nothing
from wire_proxy import Fate, Proxy, pass_all

WEIGHTS = {"books": 0.2, "code": 0.5, "web": 0.3}
TOKEN = "0123456789abcdefghij-token"
JSON = {"Content-Type": "application/json", "X-Riffle": "1"}


class Server:
    """A `riffle serve`, and its clients."""

    def __init__(self, riffle, config, log, *words, secure=None, **process):
        self.log, self.secure = log, secure
        with open(log, "w") as to:
            at = () if "--listen" in words else ("--listen", "127.0.0.1:0")
            self.process = riffle.popen("serve", "-c", config, *at, *words, stderr=to, **process)
        wait_until(lambda: "address=" in self.said() or self.process.poll() is not None, "riffle serve")
        assert self.process.poll() is None, self.said()
        self.host, self.port = re.search(r"address=https?://([\d.]+):(\d+)/", self.said()).groups()

    def said(self):
        return open(self.log).read()

    def connect(self):
        if self.secure:
            return http.client.HTTPSConnection(self.host, int(self.port), timeout=30, context=self.secure)
        return http.client.HTTPConnection(self.host, int(self.port), timeout=30)

    def ask(self, path, method="GET", body=None, **headers):
        c = self.connect()
        try:
            c.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
            answer = c.getresponse()
            return answer.status, answer.headers, answer.read().decode()
        finally:
            c.close()

    def get(self, path, **headers):
        """JSON of an answer that is 200."""
        status, _, text = self.ask(path, **headers)
        assert status == 200, text
        return json.loads(text)

    def status(self, **headers):
        return self.get("/api/v1/status", **headers)

    def ready(self):
        return self.ask("/readyz")[0] == 200

    def wait(self):
        """Until it has read for the first time."""
        wait_until(self.ready, "an answer of the broker")
        return self

    def requests(self, **headers):
        wait_until(lambda: self.ask("/api/v1/requests", **headers)[0] == 200, "the requests")
        return self.get("/api/v1/requests", **headers)

    def memory_mb(self, which="VmRSS"):
        text = open(f"/proc/{self.process.pid}/status").read()
        return int(re.search(which + r":\s+(\d+) kB", text)[1]) / 1000

    def processor_s(self):
        fields = open(f"/proc/{self.process.pid}/stat").read().rpartition(")")[2].split()
        return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


@pytest.fixture
def serve(riffle, tmp_path):
    started = []

    def run(config, *words, **more):
        started.append(Server(riffle, config, tmp_path / f"serve{len(started)}.log", *words, **more))
        return started[-1]
    return run


@pytest.fixture
def mixed(configure, fill, riffle):
    """mixed(steps, name="mix") -> path of a mix that has so many steps."""
    def run(steps, **keys):
        config = configure(WEIGHTS, **keys)
        if steps:
            riffle("mix", "-c", config, "--until-step", steps)
        return config
    fill(*WEIGHTS, sequences=300)
    return run


@pytest.fixture
def token(tmp_path):
    path = tmp_path / "token"
    path.write_text(TOKEN + "\n")
    return path


def metrics_of(text):
    """{(name, labels): value}; checks the format on the way."""
    found, typed = {}, {}
    for line in text.splitlines():
        if line.startswith("# HELP "):
            assert line.split(" ", 3)[2] not in typed, line
        elif line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            typed[name] = kind
        else:
            name, labels, value = re.fullmatch(r"(\w+)(?:\{(.*)\})? (\S+)", line).groups()
            assert name in typed, line
            found[name, labels or ""] = float(value)
    return found


# --- the figures


@both_forms
def test_status_json_api_and_metrics_are_equal_at_one_ledger_offset(mixed, serve, riffle, unique, tools, bootstrap, commits):
    config = mixed(40)
    for lane in range(8):
        subprocess.run([tools / "broker", "commit", f"{unique}-mix.trainers", f"{unique}-mix.{commits}", str(lane), "25",
                        "step=25"], check=True, env={**os.environ, "RIFFLE_BOOTSTRAP": bootstrap})
    server = serve(config).wait()
    wait_until(lambda: server.status()["mix"]["runs"][0]["step"] == 25, "the run's commit")
    theirs = json.loads(riffle("status", "-c", config, "--json").stdout)
    up = re.compile(r"^riffle_up\S* 1$", re.M)  # a broker that is busy may be silent for a moment
    wait_until(lambda: server.status()["server"]["error"] is None and up.search(server.ask("/metrics")[2]), "an answer of the broker")
    ours = server.status()
    extra = ours.pop("server")
    assert 0 <= extra["age_ms"] < 60000 and not extra["changes"]
    assert ours["mix"]["ledger_offset"] == theirs["mix"]["ledger_offset"] >= 2
    for one in (ours, theirs):
        one.pop("now_ms")
        one["mix"].pop("age_ms")
        for run in one["mix"]["runs"]:
            run.pop("seen_ms")
    assert ours == theirs

    text = server.ask("/metrics")[2]
    promtool_finds_nothing(text)
    m = metrics_of(text)
    mix = theirs["mix"]
    label = f'mix="{mix["name"]}"'
    for name, value in {"riffle_mix_steps_total": 40, "riffle_mix_sequences_total": mix["draws"],
                        "riffle_mix_tokens_total": sum(d["tokens"] for d in theirs["domains"]),
                        "riffle_ledger_offset": mix["ledger_offset"],
                        "riffle_ledger_written_timestamp_seconds": mix["written_ms"] / 1000,
                        "riffle_mix_weights_version": mix["weights"]["version"],
                        "riffle_mix_lr_scale_ratio": mix["weights"]["lr_scale"],
                        "riffle_problems": len(theirs["problems"]), "riffle_rejects_records": theirs["rejects"]}.items():
        assert m[name, label] == value, name
    for d in theirs["domains"]:
        of = f'{label},domain="{d["name"]}"'
        for name, value in {"riffle_domain_sequences_total": d["taken"], "riffle_domain_tokens_total": d["tokens"],
                            "riffle_domain_share_intended_ratio": d["intended"],
                            "riffle_domain_share_target_ratio": d["target"],
                            "riffle_domain_share_realised_ratio": d["realised"],
                            "riffle_domain_deviation_sequences": d["deviation"], "riffle_domain_epoch": d["epoch"],
                            "riffle_domain_remaining_sequences": d["sealed_length"] - d["position"]}.items():
            assert m[name, of] == value, name  # doubles, to the last bit
    assert m["riffle_mix_info", f'{label},schedule="deficit"'] == 1
    assert m["riffle_run_step", f'{label},run="trainers"'] == 25
    assert m["riffle_run_lag_steps", f'{label},run="trainers"'] == 15


def test_what_is_left_of_a_domain_is_there_where_its_end_changes_the_mix(mixed, serve):
    """By on_end and max_epochs; not of one that is repeated without end."""
    ends = {"books": {"on_end": "drop", "max_epochs": 3}, "code": {"on_end": "stop"}, "web": {"on_end": "repeat"}}
    config = mixed(30, domains=ends)
    server = serve(config).wait()
    m, domains = metrics_of(server.ask("/metrics")[2]), {d["name"]: d for d in server.status()["domains"]}
    left = {re.search(r'domain="(\w+)"', labels)[1]: n for (name, labels), n in m.items() if name == "riffle_domain_until_end_sequences"}
    taken = {name: d["taken"] for name, d in domains.items()}
    assert left == {"books": 3 * 300 - taken["books"], "code": 300 - taken["code"]}


@both_forms
def test_a_change_shows_soon_and_stands_at_its_step(mixed, serve, riffle, unique, record_property):
    """Soon: the report of the run has by how much. On a machine that has time for it, two seconds."""
    config = mixed(40)
    server = serve(config).wait()
    before = server.status()["mix"]["ledger_offset"]
    mixer = riffle.popen("mix", "-c", config, "--until-step", 60, stderr=subprocess.DEVNULL)
    assert mixer.wait(60) == 0
    wait_until(lambda: server.status()["mix"]["step_next"] == 60, "step 60")
    said = f"a change shows after at most {time.time() - server.status()['mix']['written_ms'] / 1000:.2f} s"
    print(said)
    record_property("latency", said)
    assert server.status()["mix"]["ledger_offset"] > before
    wait_until(lambda: server.get("/api/v1/history")["complete"], "the history")
    history = server.get("/api/v1/history")
    assert history["mix"] == f"{unique}-mix"
    assert history["step"][-1] == history["step_next"] == 60 and history["step_first"] == 0
    assert history["step"] == sorted(set(history["step"]))
    status = server.status()
    assert history["ledger_offset"] == status["mix"]["ledger_offset"]
    n = len(history["step"])
    assert [len(history[k]) for k in ("time_ms", "draws", "version")] == [n] * 3
    for d, of in zip(history["domains"], status["domains"]):
        assert d["name"] == of["name"]
        assert d["taken"][-1] == of["taken"] and d["tokens"][-1] == of["tokens"]
        assert d["intended"][-1] == pytest.approx(of["intended"], rel=1e-6)
        assert d["deviation"][-1] == pytest.approx(of["deviation"], rel=1e-6, abs=1e-6)
    assert [v["version"] for v in history["versions"]] == [1]
    assert history["versions"][0]["shares"] == {d["name"]: d["intended"] for d in status["domains"]}
    few = server.get("/api/v1/history?points=2&from=40&to=60")["step"]
    assert few[-1] == 60 and len(few) == 2 and few[0] >= 40
    assert server.get("/api/v1/history?from=61")["step"] == []


def test_a_long_ledger_is_shown_coarse_at_once_and_then_whole(mixed, serve, tools, bootstrap, riffle):
    config = mixed(10)
    for i, change in enumerate((["web=0.25"], ["--global-batch", 3], ["web=0.3"])):
        riffle("weights", "-c", config, *change, "--id", f"r{i}", "--at-step", 10**6, check=False)  # no mixer answers yet
    riffle("mix", "-c", config, "--until-step", 20)
    requests = json.loads(riffle("requests", "-c", config, "--json").stdout)
    assert [(r["id"], r["state"]) for r in requests] == [("r0", "accepted"), ("r1", "refused"), ("r2", "accepted")]
    mix = json.loads(config.read_text())["mix"]["name"]
    subprocess.run([tools / "fill_ledger", "--mix", mix, "--steps", "200000", "--each", "10", "--changes", "3"], check=True,
                   env={**os.environ, "RIFFLE_BOOTSTRAP": bootstrap}, timeout=300)
    server = serve(config)
    wait_until(lambda: len(server.get("/api/v1/history")["step"]) >= 8, "a coarse history")
    wait_until(lambda: server.get("/api/v1/history")["complete"], "the history", 120)
    history = server.get("/api/v1/history?points=4096")
    step, last = history["step"], 200020
    assert 256 <= len(step) <= 2048 and step[0] <= 20 and step[-1] == last
    assert max(b - a for a, b in zip(step, step[1:])) <= last / 512 + 20
    # Exact, wherever the points are.
    assert [(v["version"], v["reason_id"]) for v in history["versions"]] == \
        [(1, ""), (2, "change-1"), (3, "change-2"), (4, "change-3")]
    assert [v["step"] for v in history["versions"]][1:] == [50020, 100020, 150020]
    assert all(v["step"] in (0, 50020, 100020, 150020) for v in history["versions"])
    at = server.get("/api/v1/history?from=60000&to=90000")
    assert [v["version"] for v in at["versions"]] == [2] and 60000 <= at["step"][0] and at["step"][-1] <= 90000
    assert server.requests() == requests, "their answers are found far behind"
    # A range is looked into, until two offsets lie between two points (of a mixer's ledger one record, and a marker) or it has 128.
    for first, end, least, apart in ((last - 1000, "", 51, 20), (100000, "&to=101000", 50, 20), (120000, "&to=140000", 128, 160)):
        path = f"/api/v1/history?from={first}{end}&points=512"
        wait_until(lambda: server.get(path)["complete"], "the range")
        step = server.get(path)["step"]
        assert len(step) >= least and 0 <= step[0] - first <= apart and max(b - a for a, b in zip(step, step[1:])) <= apart, step
        assert step[-1] == last if not end else 0 <= int(end[4:]) - step[-1] <= apart
    few = server.get(f"/api/v1/history?from={last - 500}&points=32")
    assert few["complete"] and len(few["step"]) <= 2, "who wants few points gets what is known"
    for i in range(6):  # of more ranges than are known at one time the last ones wait
        answer = server.get(f"/api/v1/history?from={10000 + 1000 * i}&to={10500 + 1000 * i}&points=240")
        assert i < 4 or not answer["complete"]
    assert server.get("/api/v1/history?points=4096")["step"] == history["step"], "the whole is as it was"
    assert SANITIZED or server.memory_mb() < 100


def test_losses_of_before_it_began_are_there_over_all_steps(mixed, serve, tools, bootstrap, riffle):
    """More reports than a status reads: 60 steps of 20 ranks; a second server, which begins later, shows them as well."""
    config = mixed(60)
    mix = json.loads(config.read_text())["mix"]["name"]
    lines = [f"trainers {step} {rank} 20 web:{10 + 0.1 * step}:0:1 code:{10 * step}:0:10" for step in range(60) for rank in range(20)]
    subprocess.run([tools / "report", mix], input="\n".join(lines) + "\n", text=True, check=True,
                   env={**os.environ, "RIFFLE_BOOTSTRAP": bootstrap})
    for _ in range(2):
        server = serve(config).wait()
        wait_until(lambda: server.get("/api/v1/history")["losses"] and server.get("/api/v1/history")["complete"], "the losses")
        run, = server.get("/api/v1/history")["losses"]
        assert run["run"] == "trainers" and run["step"] == sorted(set(run["step"]))
        assert run["step"][0] <= 2 and run["step"][-1] == 59 and len(run["step"]) >= 10
        assert max(b - a for a, b in zip(run["step"], run["step"][1:])) <= 12
        for step, web, code in zip(run["step"][:-1], run["domains"]["web"], run["domains"]["code"]):
            assert abs(code - step) <= 3 and abs(web - 10 - 0.1 * step) <= 0.3, "the mean of the last steps"
        assert run["domains"]["books"] == [None] * len(run["step"])


@both_forms
def test_a_step_a_plan_and_requests_are_those_of_their_commands(mixed, serve, riffle):
    config = mixed(20)
    server = serve(config).wait()
    assert server.get("/api/v1/steps/3") == json.loads(riffle("inspect", "-c", config, "3", "--json").stdout)
    assert server.get("/api/v1/plan?steps=50") == json.loads(riffle("plan", "-c", config, "--steps", 50, "--json").stdout)
    assert server.requests() == json.loads(riffle("requests", "-c", config, "--json").stdout) == []
    status, _, text = server.ask("/api/v1/steps/1000")
    assert status == 404 and "is not published yet" in json.loads(text)["error"], text


def test_before_the_mix_has_begun_it_says_so(mixed, serve):
    config = mixed(0)
    server = serve(config).wait()
    status = server.status()
    assert status["mix"]["state"] == "not started" and status["mix"]["ledger_offset"] is None
    history = server.get("/api/v1/history")
    assert history["step"] == [] and history["versions"] == [] and history["ledger_offset"] is None
    assert "riffle_mix_steps_total" not in server.ask("/metrics")[2]


# --- changes


def test_a_change_is_previewed_then_made_and_carries_who(mixed, serve, riffle, token):
    config = mixed(20)
    server = serve(config, "--token-file", token, "--allow-changes").wait()
    auth = {"Authorization": f"Bearer {TOKEN}"}

    def post(change, **more):
        status, _, text = server.ask("/api/v1/weights", "POST", json.dumps(change), **auth, **JSON, **more)
        return status, json.loads(text)

    status, preview = post({"weights": {"web": 3.0}, "who": "ann", "dry_run": True, "at_step": 30})
    assert status == 200 and preview["accepted"] and preview["dry_run"] and preview["step"] == 30
    assert {d["name"]: d["share"] for d in preview["effect"]["domains"]}["web"] == pytest.approx(3 / 3.7)
    assert json.loads(riffle("requests", "-c", config, "--json").stdout) == []
    status, said = post({"weights": {"web": 3.0}, "who": "ann", "at_step": 30, "id": "more-web"})
    assert status == 202 and "is open: no mixer runs" in said["error"]
    riffle("mix", "-c", config, "--until-step", 40)
    status, said = post({"weights": {"web": 3.0}, "who": "ann", "at_step": 30, "id": "more-web"})
    assert (status, said["accepted"], said["step"], said["answered_before"]) == (200, True, 30, True)
    asked, = json.loads(riffle("requests", "-c", config, "--json").stdout)
    assert (asked["id"], asked["who"], asked["state"], asked["step"]) == ("more-web", "ann", "in force", 30)
    wait_until(lambda: [v["version"] for v in server.get("/api/v1/history", **auth)["versions"]] == [1, 2], "version 2")
    version = server.get("/api/v1/history", **auth)["versions"][1]
    assert (version["step"], version["reason"], version["reason_id"], version["who"]) == (30, "request", "more-web", "ann")
    status, said = post({"weights": {"web": -1.0}, "who": "ann", "dry_run": True})
    assert status == 400 and "-1" in said["error"]
    status, said = post({"weights": {"nobody": 1.0}, "who": "ann"})
    assert status == 400 and "the mix has no domain nobody" in said["error"]
    status, said = post({"weights": {"web": 1.0}})
    assert status == 400 and said["error"].startswith("who: is needed")


def test_a_change_needs_everything_that_a_page_of_another_origin_has_not(mixed, serve, riffle, token):
    config = mixed(20)
    server = serve(config, "--token-file", token, "--allow-changes").wait()
    body = json.dumps({"lr_scale": 0.5, "who": "eve"})
    _, headers, _ = server.ask(f"/?token={TOKEN}")
    cookie = headers["Set-Cookie"].partition(";")[0]
    assert re.search(r"; HttpOnly; SameSite=Strict; Path=/$", headers["Set-Cookie"])
    own = {"Cookie": cookie, "Origin": f"http://127.0.0.1:{server.port}"}
    bearer = {"Authorization": f"Bearer {TOKEN}"}
    for code, sent in ((403, {**own, "Content-Type": "application/json"}),
                       (403, {**own, **JSON, "Origin": "http://evil.example"}),
                       (403, {"Cookie": cookie, **JSON}),
                       (415, {**own, "X-Riffle": "1", "Content-Type": "text/plain"}),
                       (401, {**JSON, "Origin": own["Origin"]}),
                       (421, {**own, **JSON, "Host": "evil.example"}),
                       (403, {**bearer, "Content-Type": "application/json"})):
        status, _, text = server.ask("/api/v1/weights", "POST", body, **sent)
        assert (status, list(json.loads(text))) == (code, ["error"])
    assert server.ask("/api/v1/weights", **bearer)[0] == 405
    status, _, text = server.ask("/api/v1/weights", "POST", "x" * 300000, **bearer, **JSON)
    assert status == 413, text
    assert json.loads(riffle("requests", "-c", config, "--json").stdout) == []
    status, _, text = server.ask("/api/v1/weights", "POST", body, **own, **JSON)
    assert status == 202, text
    reading = serve(config, "--token-file", token).wait()
    assert reading.ask("/api/v1/weights", "POST", body, **bearer, **JSON)[0] == 403


# --- who may read


def test_tokens_hosts_methods_and_headers(mixed, serve, token):
    config = mixed(5)
    server = serve(config, "--token-file", token, "--host", "riffle.example").wait()
    bearer = {"Authorization": f"Bearer {TOKEN}"}
    for path in ("/", "/metrics", "/api/v1/status", "/api/v1/history", "/api/v1/plan", "/api/v1/steps/1"):
        status, headers, _ = server.ask(path)
        assert status == 401 and headers["WWW-Authenticate"] == "Bearer", path
        assert server.ask(path, Authorization="Bearer " + TOKEN[:-1] + "x")[0] == 401
        assert server.ask(path, **bearer, Host="evil.example")[0] == 421
        status, headers, _ = server.ask(path, "DELETE", **bearer)
        assert status == 405 and headers["Allow"] == "GET, HEAD"
        status, headers, text = server.ask(path, **bearer, Host="riffle.example:80")
        assert status == 200, text
        assert headers["Content-Security-Policy"].startswith("default-src 'none'; ")
        assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
        assert (headers["X-Content-Type-Options"], headers["Referrer-Policy"], headers["Cache-Control"]) == \
            ("nosniff", "no-referrer", "no-store")
        status, headers, text = server.ask(path, "HEAD", **bearer)
        assert (status, text) == (200, "") and int(headers["Content-Length"]) > 0
    for path in ("/healthz", "/readyz"):
        assert server.ask(path, Host="10.0.0.7.pod")[0] == 200
    status, headers, _ = server.ask(f"/?token={TOKEN}")
    assert (status, headers["Location"]) == (303, "/")
    assert server.ask("/", Cookie=headers["Set-Cookie"].partition(";")[0])[0] == 200
    assert server.ask("/?token=wrong-wrong-wrong-wrong")[0] == 401
    assert TOKEN not in server.said()
    assert server.ask("/api/v1/history?steps=3", **bearer)[0] == 400
    assert server.ask("/nothing", **bearer)[0] == 404


def test_the_page_has_one_script_and_one_style_and_the_policy_allows_these_alone(mixed, serve):
    import base64
    import hashlib

    server = serve(mixed(5)).wait()
    _, headers, page = server.ask("/")
    policy = headers["Content-Security-Policy"]
    for tag in ("style", "script"):
        inside, = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.S)
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}';" in policy
    assert "unsafe" not in policy and "http" not in policy


def test_what_is_not_of_this_machine_needs_a_token(mixed, riffle, token, tmp_path):
    config = mixed(0)
    for words, said in (
            (["--listen", "0.0.0.0:0"], "--listen: 0.0.0.0:0 is not of this machine alone: --token-file is needed"),
            (["--listen", "[::]:0"], "--token-file is needed"),
            (["--allow-changes"], "--allow-changes needs --token-file"),
            (["--listen", "x"], "--listen: x: is no address: PORT, or HOST:PORT, with a port of 0 to 65535"),
            (["--listen", "::1:8640"], "--listen: ::1:8640: an IPv6 address needs brackets: [::1]:8640"),
            (["--tls-cert", "x"], "--tls-cert and --tls-key go together"),
            (["--token-file", tmp_path / "none"], "--token-file: opening")):
        done = riffle("serve", "-c", config, *words, check=False, timeout=60)
        assert done.returncode == 2 and said in done.stderr, done.stderr
    short = tmp_path / "short"
    short.write_text("0123456789abcde\n")
    done = riffle("serve", "-c", config, "--token-file", short, check=False, timeout=60)
    assert done.returncode == 2 and "not a token: one line of 16 to 512" in done.stderr
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = riffle("serve", "-c", config, "--listen", f"127.0.0.1:{taken.getsockname()[1]}", check=False, timeout=60)
        assert done.returncode == 1 and "Address already in use" in done.stderr


def test_tls_with_a_certificate_of_ones_own(mixed, serve, token, tmp_path):
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", cert, "-days", "2",
                    "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
    trust = ssl.create_default_context(cafile=cert)
    server = serve(mixed(5), "--tls-cert", cert, "--tls-key", key, "--token-file", token, secure=trust)
    wait_until(server.ready, "an answer of the broker")
    assert server.status(Authorization=f"Bearer {TOKEN}")["mix"]["step_next"] == 5
    assert "; Secure" in server.ask(f"/?token={TOKEN}")[1]["Set-Cookie"]
    with socket.create_connection((server.host, int(server.port)), timeout=10) as plain:
        plain.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b"200" not in plain.recv(100)


# --- what dies


def test_a_broker_that_dies_and_returns(mixed, riffle, serve, unique, token, bootstrap):
    config = mixed(20)
    broker = Proxy(bootstrap, pass_all)
    there = {"env": {"RIFFLE_BOOTSTRAP": broker.address}}
    server, changing = serve(config, **there).wait(), serve(config, "--token-file", token, "--allow-changes", **there).wait()
    broker.leave()
    wait_until(lambda: not server.ready(), "the broker's silence", 60)
    assert server.ask("/healthz")[0] == 200
    said = server.status()
    assert said["mix"]["step_next"] == 20 and said["server"]["age_ms"] > 1000, "what was known is shown"
    assert said["server"]["error"]
    m = metrics_of(server.ask("/metrics")[2])
    assert m["riffle_up", f'mix="{unique}-mix"'] == 0 and m["riffle_mix_steps_total", f'mix="{unique}-mix"'] == 20
    assert server.get("/api/v1/history")["step"][-1] == 20
    asked = changing.ask("/api/v1/weights", "POST", json.dumps({"lr_scale": 0.5, "who": "ann"}), Authorization=f"Bearer {TOKEN}", **JSON)
    assert asked[0] == 503, "nothing was sent"
    late = serve(config, **there)  # one that begins meanwhile
    assert late.ask("/healthz")[0] == 200 and late.ask("/readyz")[0] == 503
    assert late.ask("/api/v1/status")[0] == 503
    broker.come_back()
    wait_until(server.ready, "the broker's return", 120)
    wait_until(late.ready, "the broker's return", 120)
    riffle("mix", "-c", config, "--until-step", 30)
    wait_until(lambda: server.status()["mix"]["step_next"] == 30, "step 30", 120)
    assert server.status()["server"]["error"] is None
    broker.leave()
    wait_until(lambda: not server.ready(), "the broker's silence", 60)
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(30) == 0, "it ends while the broker is away"
    broker.close()


def test_killed_and_started_again_it_shows_the_same_and_a_signal_ends_it(mixed, serve, riffle):
    config = mixed(30)
    server = serve(config).wait()
    wait_until(lambda: server.get("/api/v1/history")["complete"], "the history")
    before = server.get("/api/v1/history")
    server.process.kill()
    server.process.wait()
    server = serve(config, "--listen", f"127.0.0.1:{server.port}").wait()
    wait_until(lambda: server.get("/api/v1/history")["complete"], "the history")
    after = server.get("/api/v1/history")
    assert (after["step"], after["versions"]) == (before["step"], before["versions"])
    for number in (signal.SIGTERM, signal.SIGINT):
        server.process.send_signal(number)
        assert server.process.wait(30) == 0
        assert "ended by a signal" in server.said()
        server = serve(config).wait()


def test_it_ends_while_clients_ask(mixed, serve, token):
    """Each gets an answer or the end of its connection; under a sanitizer none finds memory that was freed."""
    config = mixed(30)
    auth = {"Authorization": f"Bearer {TOKEN}"}
    for _ in range(3):
        server = serve(config, "--token-file", token).wait()
        seen = []

        def ask(path):
            while server.process.poll() is None:
                try:
                    status, _, text = server.ask(path, **auth)
                    seen.append((status, text != ""))
                except (OSError, http.client.HTTPException):
                    pass
        clients = [threading.Thread(target=ask, args=(path,)) for path in
                   ("/api/v1/steps/3", "/api/v1/plan?steps=9", "/api/v1/history", "/api/v1/status", "/metrics", "/api/v1/requests") * 3]
        for c in clients:
            c.start()
        wait_until(lambda: len(seen) > 100, "answers")
        server.process.send_signal(signal.SIGTERM)
        for c in clients:
            c.join()
        assert server.process.wait(30) == 0, server.said()
        assert {status for status, _ in seen} <= {200, 429, 503} and all(text for _, text in seen)


def test_clients_that_ask_for_requests_ask_nothing_of_the_broker(mixed, serve, riffle, bootstrap):
    """The control topic is read when something has moved, whoever asks and however often."""
    config = mixed(20)
    connections = []  # API versions are the first request of each

    def decide(api_key):
        connections.append(api_key == 18)
        return Fate.PASS
    proxy = Proxy(bootstrap, decide)
    try:
        server = serve(config, "-X", f"bootstrap.servers={proxy.address}").wait()
        assert server.requests() == []
        wait_until(lambda: server.get("/api/v1/history")["complete"], "the history")
        riffle("weights", "-c", config, "web=0.4", "--id", "one", check=False, timeout=60)
        wait_until(lambda: [(r["id"], r["state"]) for r in server.requests()] == [("one", "open")], "the request")
        riffle("mix", "-c", config, "--until-step", 30)
        wait_until(lambda: [r["state"] for r in server.requests()] == ["in force"], "its answer")
        assert server.requests() == json.loads(riffle("requests", "-c", config, "--json").stdout)
        wait_until(lambda: len(server.get("/api/v1/history")["versions"]) == 2 and server.get("/api/v1/history")["complete"], "version 2")
        before = sum(connections)
        for _ in range(300):
            server.requests()
        assert sum(connections) <= before + 2, "handles are opened for clients"
    finally:
        proxy.close()


def test_a_ledger_that_was_recreated_while_nobody_looked_is_another_one(mixed, serve, riffle, unique, tools, bootstrap):
    """Also one that has as many records as the one before."""
    config = mixed(10)
    server = serve(config).wait()
    wait_until(lambda: server.get("/api/v1/history")["complete"], "the history")
    before = server.get("/api/v1/history")
    server.process.send_signal(signal.SIGSTOP)
    for kind in ("ledger", "batches", "control"):
        subprocess.run([tools / "topic", "delete", f"{unique}-mix.{kind}"], env={**os.environ, "RIFFLE_BOOTSTRAP": bootstrap}, check=True)
    riffle("topics", "-c", config, "--create")
    for step in (5, 10, 40):
        riffle("mix", "-c", config, "--until-step", step)
    server.process.send_signal(signal.SIGCONT)
    wait_until(lambda: server.get("/api/v1/history")["step_next"] == 40 and server.get("/api/v1/history")["complete"], "the new ledger", 120)
    after = server.get("/api/v1/history")
    assert after["ledger_offset"] > before["ledger_offset"]
    assert min(after["time_ms"]) > max(before["time_ms"]) and after["step"][-1] == 40


def test_two_servers_of_one_host_have_cookies_of_their_own(mixed, serve, token):
    config = mixed(5)
    one, other = (serve(config, "--token-file", token).wait() for _ in range(2))
    cookies = [s.ask(f"/?token={TOKEN}")[1]["Set-Cookie"].partition(";")[0] for s in (one, other)]
    assert cookies[0].startswith(f"riffle.{one.status(Cookie=cookies[0])['mix']['name']}.{one.port}=")
    assert other.status(Cookie="; ".join(cookies))["mix"]["step_next"] == 5, "the second login leaves the first as it is"
    assert one.status(Cookie="; ".join(cookies))["mix"]["step_next"] == 5
    assert other.ask("/", Cookie=cookies[0])[0] == 401


def test_two_mixes_of_one_broker_and_two_servers_of_one_mix(mixed, serve, unique):
    one, other = mixed(10, name="one"), mixed(20, name="other")
    servers = [serve(one).wait(), serve(one).wait(), serve(other).wait(), serve(one, "--mix", f"{unique}-other").wait()]
    seen = [(s.status()["mix"]["name"], s.status()["mix"]["step_next"]) for s in servers]
    assert seen == [(f"{unique}-one", 10)] * 2 + [(f"{unique}-other", 20)] * 2


# --- clients that are hostile


def test_slow_many_long_and_meaningless_requests_leave_it_as_it_was(mixed, serve):
    server = serve(mixed(20)).wait()
    wait_until(lambda: server.get("/api/v1/history")["complete"], "the history")
    before = server.memory_mb()
    slow = [socket.create_connection((server.host, int(server.port)), timeout=60) for _ in range(400)]
    ended = threading.Event()

    def drip():
        while not ended.wait(0.5):
            for s in slow:
                try:
                    s.send(b"X")
                except OSError:
                    pass

    for s in slow:
        try:
            s.send(b"GET /api/v1/status HTTP/1.1\r\nX-A: ")
        except OSError:
            pass
    dripping = threading.Thread(target=drip)
    dripping.start()
    try:
        for _ in range(100):  # others are answered meanwhile
            assert server.status()["mix"]["step_next"] == 20
    finally:
        ended.set()
        dripping.join()
        for s in slow:
            s.close()

    def send(junk):
        with socket.create_connection((server.host, int(server.port)), timeout=60) as s:
            try:
                s.sendall(junk)
                s.shutdown(socket.SHUT_WR)
                while s.recv(65536):
                    pass
            except OSError:
                pass  # it has closed the connection
        assert server.ask("/healthz")[0] == 200

    # All at once, because the server waits ten seconds for a body that does not come.
    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        sent = [pool.submit(send, junk) for junk in (
            b"\x00" * 5000, os.urandom(20000), b"GET " + b"/" * 100000, b"\r\n" * 5000, b"GET / HTTP/9.9\r\n\r\n",
            b"GET /?" + b"a=b&" * 3000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"y" * 200000 + b"\r\n\r\n",
            b"GET / HTTP/1.1\r\n" + b"".join(b"H%d: v\r\n" % i for i in range(5000)) + b"\r\n",
            b"POST /api/v1/weights HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n",
            b"POST /api/v1/weights HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nZZZ\r\n",
            b"GET /api/v1/status HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n",
            b"GET /%00%ff/../ HTTP/1.1\r\nHost: localhost\r\n\r\n")]
        for n in (9, 200, 400, 2000):
            status, _, text = server.ask("/api/v1/status?" + "&".join(f"a{i}=1" for i in range(n)))
            assert status == 400 and "error" in json.loads(text), (n, status, text)
        for path in ("/%00", "/api/v1/status%00x", "/metrics%00"):
            assert server.ask(path)[0] == 404, path

        c = server.connect()
        for i in range(4000):
            c.request("GET", ("/healthz", "/api/v1/status", "/metrics", "/nothing")[i % 4])
            answer = c.getresponse()
            answer.read()
            assert answer.status == (404 if i % 4 == 3 else 200)
        c.close()
        for one in sent:
            one.result()
    assert server.process.poll() is None
    assert server.status()["mix"]["step_next"] == 20
    assert SANITIZED or server.memory_mb() < before + 8
    descriptors = f"/proc/{server.process.pid}/fd"
    wait_until(lambda: len(os.listdir(descriptors)) < 100, "the end of connections")


def test_with_64_descriptors_idle_clients_shut_nobody_out_and_the_broker_stays(mixed, serve):
    server = serve(mixed(20), preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))).wait()
    idle = [socket.create_connection((server.host, int(server.port)), timeout=60) for _ in range(200)]
    for _ in range(20):
        assert server.status()["mix"]["step_next"] == 20
    for s in idle:
        s.close()
    assert "Too many open files" not in server.said()


def test_steps_for_many_clients_are_taken_one_by_one_and_the_rest_refused(mixed, serve):
    server = serve(mixed(20)).wait()
    seen = []

    def ask():
        status, _, text = server.ask("/api/v1/steps/7")
        seen.append(status if status != 200 else json.loads(text)["step"])

    clients = [threading.Thread(target=ask) for _ in range(40)]
    for c in clients:
        c.start()
    for c in clients:
        c.join()
    assert len(seen) == 40 and set(seen) <= {7, 429} and seen.count(7) >= 8
    assert server.get("/api/v1/steps/7")["step"] == 7


def test_beside_a_mix_at_full_rate_with_ten_clients_it_costs_little(configure, fill, serve, riffle, record_property):
    """Two percent of a core are what it is built for; a busy machine is granted more. Never more than 50 MB, also while it
    reads for the first time. Processor time for each second's questions, however long a busy machine takes for them."""
    weights = {f"d{i:03d}": 1 + i % 7 for i in range(200)}
    fill(*weights, sequences=100)
    config = configure(weights, global_batch=64)
    mixer = riffle.popen("mix", "-c", config, stderr=subprocess.DEVNULL)
    server = serve(config).wait()
    wait_until(lambda: server.get("/api/v1/history")["complete"], "the history", 120)
    clients = [server.connect() for _ in range(10)]
    began, used = time.monotonic(), server.processor_s()
    next_step = turn = 0
    while turn < 6:
        for c in clients:
            for path, each in (("/api/v1/requests", 4), ("/api/v1/status", 1), (f"/api/v1/history?from={next_step}&points=40", 2)):
                if turn % each == 0:
                    c.request("GET", path)
                    body = json.loads(c.getresponse().read())
        next_step, turn = body["step_next"] if turn % 2 == 0 else next_step, turn + 1
        time.sleep(max(0, began + turn - time.monotonic()))
    part = (server.processor_s() - used) / turn
    peak = server.memory_mb("VmHWM")
    said = f"serve: {100 * part:.1f} % of a core, {server.memory_mb():.0f} MB, at most {peak:.0f} MB"
    print(said)
    record_property("cost", said)  # in the report of the run, build/pytest.xml
    assert mixer.poll() is None
    mixer.terminate()
    assert SANITIZED or (part < 0.2 and peak < 50)
