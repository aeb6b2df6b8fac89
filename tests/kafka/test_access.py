"""A broker with TLS, SASL/SCRAM and ACLs: what each command needs, and what it says where it lacks it.

The broker is this module's own (scripts/kafka --secure), in a folder of its own. Each command runs as a
user with exactly the rights that `riffle acls` lists for it, then once without each of them.
"""

import json
import os
import pathlib
import random
import shutil
import subprocess
import sys

import pytest

from acl_client import AclClient
from conftest import ROOT, Package, Riffle

VERSION = os.environ.get("KAFKA", "3.9")
WORKER = "User:worker"
WORDS = (ROOT / "README.md").read_text().split()


def read_properties(path):
    return dict(line.split("=", 1) for line in path.read_text().splitlines())


class Broker:
    def __init__(self, folder):
        self.users = next(folder.glob("*/users"))
        self.tls = self.users.parent / "tls"
        self.acls = AclClient(self.properties("admin"))

    def properties(self, user):
        return read_properties(self.users / f"{user}.properties")


@pytest.fixture(scope="module")
def broker(build):
    folder = build / "kafka-secure"
    env = {**{k: v for k, v in os.environ.items() if k != "RIFFLE_BOOTSTRAP"}, "RIFFLE_KAFKA_DIR": str(folder)}
    words = ["--version", VERSION, "--secure", "worker"]
    subprocess.run([ROOT / "scripts/kafka", "down", *words], env=env, check=True, timeout=60)
    subprocess.run([ROOT / "scripts/kafka", "up", *words], env=env, check=True, timeout=120)
    b = Broker(folder)
    yield b
    b.acls.close()
    subprocess.run([ROOT / "scripts/kafka", "down", *words], env=env, check=True, timeout=60)
    shutil.rmtree(folder)


def documents(seed, n):
    draw = random.Random(seed)
    return "".join(json.dumps({"text": " ".join(draw.choices(WORDS, k=120))}) + "\n" for _ in range(n))


class World:
    """One corpus and one mix on the broker, made by admin; as(user) is a configuration of that user."""

    def __init__(self, broker, folder, vocab, tools):
        self.broker, self.folder, self.tools = broker, folder, tools
        self.riffle = Riffle()
        self.appended = self.step = self.retained = 0
        for domain in ("code", "web"):
            (folder / f"{domain}.jsonl").write_text(documents(domain, 60))
        for user in ("admin", "worker"):
            config = {
                "corpus": "acc", "sequence_length": 64, "split": "1,1,0",
                "tokenizer": {"file": str(vocab / "r50k_base.tiktoken"), "pattern": "gpt2", "eos": "<|endoftext|>"},
                "domains": {d: {"train": [f"{d}.jsonl"]} for d in ("code", "web")},
                "mix": {"name": "accmix", "seed": 1, "global_batch": 8, "lanes": 4, "max_lead_steps": 0, "runs": ["trainers", "fresh"],
                        "weights": {"code": 0.5, "web": 0.5}},
                "kafka": broker.properties(user),
            }
            (folder / f"{user}.yml").write_text(json.dumps(config))

    def run(self, user, command, *words, check=True, **more):
        return self.riffle(command, "-c", self.folder / f"{user}.yml", *words, check=check, **more)

    def rights(self, command, *words):
        table = self.run("admin", "acls", command, "--table", *words).stdout
        return [tuple(line.split("\t")) for line in table.splitlines()]


@pytest.fixture(scope="module")
def world(broker, tmp_path_factory, vocab, tools):
    w = World(broker, tmp_path_factory.mktemp("access"), vocab, tools)
    w.run("admin", "topics", "--create")
    w.run("admin", "produce")
    w.run("admin", "mix", "--until-step", 8)
    assert report(w, "admin").returncode == 0
    yield w
    w.riffle.close()


def produce(world, user):
    # What cannot be used goes to rejects, so that all that a producer writes is written each time.
    world.appended += 1
    for domain in ("code", "web"):
        with (world.folder / f"{domain}.jsonl").open("a") as file:
            file.write(documents(f"{domain}{world.appended}", 20) + "no JSON\n")
    return [world.run(user, "produce", "--append", check=False)]


def mix(world, user):
    world.step += 1
    return [world.run(user, "mix", "--until-step", 8 + world.step, check=False)]


REPORT = """
import json, sys, riffle
options = json.load(sys.stdin)
with riffle.Reader("accmix", run="fresh", step=0, properties=options) as reader:
    next(iter(reader))
    reader.report(0, {"code": (1.0, 0.5, 10)})
"""


def report(world, user):
    python = subprocess.run([sys.executable, "-c", REPORT], env=Package.env, capture_output=True, text=True, timeout=60,
                            input=json.dumps(world.broker.properties(user)))
    return python


def read(world, user):
    # `fresh` has committed nothing, so that the ledger is asked where it stands.
    return [world.run(user, "read", "--from-step", 0, "--steps", 2, "--commit-every", 1, "--format", "none", check=False),
            world.run(user, "read", "--run", "fresh", "--steps", 1, "--format", "none", check=False),
            *(world.run(user, "read", "--set", "valid", "--domain", d, "--format", "none", check=False)
              for d in ("code", "web")),
            report(world, user)]


def ask(*words):
    """A request waits for a mixer's answer; steps go on until it has one."""
    def run(world, user):
        asking = world.riffle.popen(words[0], "-c", world.folder / f"{user}.yml", *words[1:])
        while asking.poll() is None:
            mix(world, "admin")
        out, err = asking.communicate()
        return [subprocess.CompletedProcess(words, asking.returncode, out, err)]
    return run


def retain(world, user):
    mix(world, "admin")
    world.retained += 1
    return [world.run(user, "retain", "--from-step", world.retained, check=False)]


def simple(*words):
    return lambda world, user: [world.run(user, *words, check=False)]


def export(world, user):
    return [world.run(user, "export", d, "--format", "megatron", "--force", "--out", world.folder / d, check=False)
            for d in ("code", "web")]


COMMANDS = {
    "topics": simple("topics"),
    "produce": produce,
    "mix": mix,
    "read": read,
    "weights": ask("weights", "code=0.4"),
    "skip": ask("skip", "--step", "6"),
    "reweight": simple("reweight", "--method", "doremi", "--run", "fresh", "--out", "weights.json"),
    "status": simple("status"),
    "inspect": simple("inspect", 7),
    "replay": simple("replay", "--steps", "6..8"),
    "export": export,
    "retain": retain,
}
