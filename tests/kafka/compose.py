"""docker-compose.yml without an engine: the services of its profile `pipeline`, started in the order that depends_on asks for."""

import json
import pathlib
import random
import re
import socket
import time

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES = {name: s for name, s in COMPOSE["services"].items() if "pipeline" in s.get("profiles", [])}
# A service without a healthcheck of its own has the image's.
HEALTH = json.loads(re.search(r"^HEALTHCHECK .*CMD (\[.*\])$", (ROOT / "Dockerfile").read_text(), re.M)[1])


def free_port():
    for _ in range(100):
        with socket.socket() as s:
            try:
                s.bind(("127.0.0.1", port := random.randrange(20000, 32000)))
                return port
            except OSError:
                continue
    raise AssertionError("no port is free")


def data(folder, unique, vocab):
    """Makes the folder of the page: examples/compose/run.yml with the name of its corpus replaced, and what it names."""
    config = (ROOT / "examples/compose/run.yml").read_text().replace("texts", unique)
    for domain in yaml.safe_load(config)["domains"]:
        (folder / domain).mkdir(parents=True)
        for part in range(2):
            (folder / domain / f"{part}.jsonl").write_text("".join(
                json.dumps({"text": f"{domain} {part} {n} " + f"words of text {n} " * 60}) + "\n" for n in range(600)))
    (folder / "run.yml").write_text(config)
    (folder / "cl100k_base.tiktoken").write_bytes((vocab / "cl100k_base.tiktoken").read_bytes())
    (folder / "token").write_text("a-token-of-sixteen\n")
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)


FENCED = 3


class Pipeline:
    """start(name, words) -> Popen runs a command of riffle as a service does; ask(name, words) -> whether its healthcheck is
    content. Where all services share one machine each gets ports of its own; nothing else of a command is changed."""

    def __init__(self, start, ask):
        self._start, self._ask, self.running = start, ask, {}
        self._ports = {(name, port): str(free_port()) for name in SERVICES for port in ("9640", "8640")}

    def words(self, name, words):
        return [re.sub(r"\b(9640|8640)\b", lambda m: self._ports[name, m[1]], word) for word in words]

    def healthy(self, name):
        test = SERVICES[name].get("healthcheck", {}).get("test")
        return self._ask(name, self.words(name, test[1:] if test else HEALTH))

    def _may_start(self, name):
        for other, how in SERVICES[name]["depends_on"].items():
            if other == "kafka":
                continue  # it runs already
            if other not in self.running:
                return False
            code = self.running[other].poll()
            if how["condition"] == "service_completed_successfully":
                assert code in (None, 0), f"{other} ended with {code}"
                if code is None:
                    return False
            else:
                assert how["condition"] == "service_healthy" and code is None
                if not self.healthy(other):
                    return False
        return True

    def play(self, seconds=240):
        """Starts each service once it may be, waits until all but the page have ended with 0. -> the order of the starts."""
        end, seen_healthy = time.monotonic() + seconds, set()
        while True:
            assert time.monotonic() < end, {name: process.poll() for name, process in self.running.items()}
            for name in SERVICES:
                if name not in self.running and self._may_start(name):
                    self.running[name] = self._start(name, self.words(name, SERVICES[name]["command"]))
            for name in self.running:
                if name not in seen_healthy and "test" in SERVICES[name].get("healthcheck", {}) and self.healthy(name):
                    seen_healthy.add(name)
            for name, process in self.running.items():
                # Of two mixers that begin at once one may fence the other (consumer/publish/election.h).
                if process.poll() == FENCED and SERVICES[name].get("restart", "").startswith("on-failure"):
                    self.running[name] = self._start(name, self.words(name, SERVICES[name]["command"]))
            codes = {name: process.poll() for name, process in self.running.items()}
            assert set(codes.values()) <= {None, 0}, codes
            if len(codes) == len(SERVICES) and [name for name, code in codes.items() if code is None] == ["page"] and "page" in seen_healthy:
                return list(self.running), seen_healthy
            time.sleep(0.02)
