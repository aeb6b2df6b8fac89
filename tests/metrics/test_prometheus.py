"""A real Prometheus scrapes every program of a mix while it runs, and answers queries; promtool judges what they give."""

import json
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

import pytest
from conftest import ROOT, wait_until
from prometheus_text import check, fetch, promtool_finds_nothing
from test_metrics import FAST, corpus, lines, start  # noqa: F401 (fixtures)


class Server:
    """A Prometheus of its own, asked by HTTP."""

    def __init__(self, folder, targets):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        self.address = f"http://127.0.0.1:{port}"
        config = {
            "global": {"scrape_interval": "500ms", "scrape_timeout": "500ms", "evaluation_interval": "1s"},
            "rule_files": [str(ROOT / "examples/alerts.yml")],
            "scrape_configs": [{"job_name": job, "static_configs": [{"targets": [urllib.parse.urlsplit(url).netloc]}]}
                               for job, url in targets.items()],
        }
        (folder / "prometheus.yml").write_text(json.dumps(config))  # JSON is YAML
        self.log = folder / "prometheus.log"
        with self.log.open("w") as to:
            self.process = subprocess.Popen(
                ["prometheus", "--config.file", folder / "prometheus.yml", "--storage.tsdb.path", folder / "tsdb",
                 "--web.listen-address", f"127.0.0.1:{port}"], stdout=to, stderr=to)
        wait_until(self.ready, "Prometheus")

    def ready(self):
        assert self.process.poll() is None, self.log.read_text()
        try:
            with urllib.request.urlopen(self.address + "/-/ready", timeout=10) as answer:
                return answer.status == 200
        except (urllib.error.URLError, OSError):
            return False

    def ask(self, path, **arguments):
        url = f"{self.address}/api/v1/{path}?{urllib.parse.urlencode(arguments)}"
        with urllib.request.urlopen(url, timeout=30) as answer:
            said = json.load(answer)
        assert said["status"] == "success", said
        return said["data"]

    def query(self, expression):
        """[(labels, value)]"""
        return [(o["metric"], float(o["value"][1])) for o in self.ask("query", query=expression)["result"]]

    def close(self):
        self.process.terminate()
        self.process.wait(timeout=60)


@pytest.fixture
def running(start, fill, configure, corpus, riffle, package, bootstrap, tmp_path):  # noqa: F811
    """{job: url} of a mix, its trainer, a reader in Python, a producer and serve; all of them at work."""
    fill("a", "b", sequences=400)
    config = configure({"a": 0.7, "b": 0.3}, max_lead_steps=40)
    mix = json.loads(config.read_text())["mix"]["name"]
    (corpus.folder / "in").mkdir()
    (corpus.folder / "in" / "1.jsonl").write_text(lines(f"document {i} one two three" for i in range(200)) + "not JSON\n")
    corpus.config["domains"] = {"live": {"train": ["in/*"], "live": True}}
    corpus.config["max_rejects"] = 1
    corpus.create()
    urls = {"mix": start("mix", "-c", config, *FAST)[1]}
    reader, urls["read"] = start("read", "-c", config, "--world", 1, "--commit-every", 2, "--format", "none", *FAST)
    urls["produce"] = start("produce", "-c", corpus.path, "--follow", *FAST)[1]
    log = tmp_path / "serve.log"
    with log.open("w") as to:
        riffle.popen("serve", "-c", config, "--listen", "127.0.0.1:0", "--log", "json", stderr=to)

    def address():
        said = [json.loads(line).get("fields", {}).get("address") for line in log.read_text().splitlines()]
        return next(filter(None, said), None)
    wait_until(address, "riffle serve")
    urls["serve"] = urllib.parse.urljoin(address(), "metrics")
    with package.riffle.Reader(mix, bootstrap, run="python", step=0, timeout=60) as trainer, package.riffle.serve_metrics() as server:
        urls["libriffle"] = server.url
        trainer.next()
        yield mix, urls, reader, trainer


def test_prometheus_scrapes_a_mix_and_answers_queries(running, tmp_path):
    mix, urls, reader, trainer = running
    server = Server(tmp_path, urls)
    try:
        wait_until(lambda: len(server.query("up == 1")) == len(urls), "a scrape of all")
        wait_until(lambda: server.query("riffle_mixer_steps_total > 0"), "steps")
        for _ in range(30):
            trainer.next()
        wait_until(lambda: server.query("increase(riffle_reader_steps_total{job='libriffle'}[1m]) > 0"), "the reader's steps")
        wait_until(lambda: server.query("rate(riffle_kafka_sent_bytes_total{job='mix'}[1m]) > 0"), "librdkafka's bytes")
        wait_until(lambda: server.query("riffle_producer_rejects_total == 1"), "the producer's reject")
        reader.send_signal(signal.SIGTERM)
        assert reader.wait(timeout=60) == 0
        # The mixer now stops at the end of the lead, and what it says of itself is what serve says of the mix.
        wait_until(lambda: server.query("riffle_mixer_lead_steps == on (mix) group_left riffle_mix_max_lead_steps"), "the end of the lead")
        wait_until(lambda: server.query("riffle_mixer_next_step == on (mix) riffle_mix_steps_total"), "equal steps")
        wait_until(lambda: server.query("riffle_mixer_sequences_total == on (mix) riffle_mix_sequences_total"), "equal sequences")
        wait_until(lambda: server.query("riffle_mixer_tokens_total == on (mix) riffle_mix_tokens_total"), "equal tokens")
        assert server.query("riffle_mixer_steps_total")[0][0] == {
            "__name__": "riffle_mixer_steps_total", "mix": mix, "job": "mix", "instance": urllib.parse.urlsplit(urls["mix"]).netloc}
        assert server.query("histogram_quantile(0.5, sum by (le) (riffle_mixer_transaction_seconds_bucket))")[0][1] > 0
        assert server.ask("metadata", metric="riffle_mixer_transaction_seconds")["riffle_mixer_transaction_seconds"][0]["type"] == "histogram"

        rules = [r for g in server.ask("rules")["groups"] for r in g["rules"]]
        wait_until(lambda: all(r["health"] == "ok" for g in server.ask("rules")["groups"] for r in g["rules"]), "rules that evaluate")
        assert len(rules) >= 12

        expressions = [t["expr"] for p in json.loads((ROOT / "examples/grafana.json").read_text())["panels"] for t in p.get("targets", [])]
        # As a panel asks: of the last minute. A handle that is idle has no round trip, for instance.
        now = time.time()
        empty = [e for e in expressions if not server.ask(
            "query_range", query=e.replace("$mix", mix).replace("$__rate_interval", "1m").replace("[30m]", "[1m]"),
            start=now - 60, end=now, step=1)["result"]]
        # Nobody reports a loss, and no domain is live.
        assert all(any(word in e for word in ("loss", "remaining", "standby", "dry", "lent", "owed")) for e in empty), empty
    finally:
        server.close()


def test_promtool_finds_nothing_wrong_with_what_the_programs_give(running):
    _, urls, _, _ = running
    for job, url in urls.items():
        text = fetch(url)
        check(text, job)
        promtool_finds_nothing(text)
