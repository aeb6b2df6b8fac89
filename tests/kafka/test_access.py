"""A broker with TLS, SASL/SCRAM and ACLs: what each command needs, and what it says where it lacks it.

The broker is this module's own (scripts/kafka --secure), in a folder of its own. Each command runs without each of the rights that
`riffle acls` lists for it, then with exactly these. Most of them reach the broker by its port without TLS, because a connection with TLS
and SCRAM costs 30 ms of the client's processor time and more of the broker's. Rights are the same there.
"""

import contextlib
import json
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

import pytest

from acl_client import AclClient
from conftest import ROOT, Package, Riffle, wait_until

sys.path.append(str(pathlib.Path(__file__).parents[1] / "chaos"))

from cluster import command_of_kafka  # noqa: E402
from log_tail import batches, cut  # noqa: E402

VERSION = os.environ.get("KAFKA", "3.9")
WORKER = "User:worker"
WORDS = (ROOT / "docs/GUIDE.md").read_text().split()


def read_properties(path):
    return dict(line.split("=", 1) for line in path.read_text().splitlines())


class Broker:
    def __init__(self, folder, up):
        self.up = up
        up()
        self.users = next(folder.glob("*/users"))
        self.tls = self.users.parent / "tls"
        self.acls = AclClient(self.properties("admin.plain"))

    def lose(self, *partitions):
        """It is killed, and its disk has not kept the last transaction of these: TOPIC-PARTITION."""
        home, logs = self.users.parent, [self.users.parent / "broker1.data" / name for name in partitions]
        wait_until(lambda: all(batches(log)[-1].marker for log in logs), "the marker of the last transaction")
        os.kill(int((home / "broker1.pid").read_text()), signal.SIGKILL)
        for log in logs:
            markers = [b for b in batches(log) if b.marker]
            cut(log, markers[-2].last + 1)
        self.up()
        self.acls.close()
        self.acls.connect()

    def properties(self, user):
        return read_properties(self.users / f"{user}.properties")


@pytest.fixture(scope="module")
def broker(build):
    folder = build / "kafka-secure"
    env = {**{k: v for k, v in os.environ.items() if k != "RIFFLE_BOOTSTRAP"}, "RIFFLE_KAFKA_DIR": str(folder), "RIFFLE_KAFKA_PLAIN": "1"}
    words = ["--version", VERSION, "--secure", "worker"]
    subprocess.run([ROOT / "scripts/kafka", "down", "--yes", *words], env=env, check=True, timeout=600)
    b = Broker(folder, lambda: subprocess.run([ROOT / "scripts/kafka", "up", *words], env=env, check=True, timeout=600))
    yield b
    b.acls.close()
    subprocess.run([ROOT / "scripts/kafka", "down", "--yes", *words], env=env, check=True, timeout=600)
    shutil.rmtree(folder)


def documents(seed, n):
    draw = random.Random(seed)
    return "".join(json.dumps({"text": " ".join(draw.choices(WORDS, k=120))}) + "\n" for _ in range(n))


class World:
    """One corpus and one mix on the broker, made by admin. Each user has a configuration, USER.yml. That of secure-USER reaches the
    broker with TLS and SCRAM."""

    def __init__(self, broker, folder, vocab, tools):
        self.broker, self.folder, self.tools = broker, folder, tools
        self.riffle = Riffle()
        self.appended = self.step = self.retained = self.withdrawn = 0
        self.whole = True  # the mix of repair()
        for domain in ("code", "web"):
            (folder / f"{domain}.jsonl").write_text(documents(domain, 60))
        for user in ("secure-admin", "secure-worker", "admin", "worker"):
            config = {
                "corpus": "acc", "sequence_length": 64, "split": "1,1,0",
                "tokenizer": {"file": str(vocab / "r50k_base.tiktoken"), "pattern": "gpt2", "eos": "<|endoftext|>"},
                "domains": {d: {"train": [f"{d}.jsonl"]} for d in ("code", "web")},
                "mix": {"name": "accmix", "seed": 1, "global_batch": 8, "lanes": 4, "max_lead_steps": 0, "runs": ["trainers", "fresh"],
                        "weights": {"code": 0.5, "web": 0.5}},
                "kafka": broker.properties(user.removeprefix("secure-") if "-" in user else f"{user}.plain"),
            }
            (folder / f"{user}.yml").write_text(json.dumps(config))
            # Another corpus and mix, for topics that come and go.
            other = {**config, "corpus": "other", "mix": {**config["mix"], "name": "othermix"}}
            (folder / f"other-{user}.yml").write_text(json.dumps(other))
            # A mix that loses its end.
            lossy = {**config, "mix": {**config["mix"], "name": "lossmix"}}
            (folder / f"lossy-{user}.yml").write_text(json.dumps(lossy))
            derived = {**config, "mix": {**config["mix"], "name": "derivedmix", "batches": "derived"}}
            (folder / f"derived-{user}.yml").write_text(json.dumps(derived))

    def run(self, user, command, *words, check=True, **more):
        return self.riffle(command, "-c", self.folder / f"{user}.yml", *words, check=check, **more)

    def rights(self, command, config="admin"):
        table = self.run(config, "acls", command, "--table").stdout
        return [tuple(line.split("\t")) for line in table.splitlines()]


@pytest.fixture(scope="module")
def world(broker, tmp_path_factory, vocab, tools):
    w = World(broker, tmp_path_factory.mktemp("access"), vocab, tools)
    w.run("secure-admin", "topics", "--create")
    w.run("secure-admin", "produce")
    w.run("secure-admin", "mix", "--until-step", 8)
    w.run("lossy-admin", "topics", "--create")
    w.run("derived-admin", "topics", "--create")
    w.run("derived-admin", "mix", "--until-step", 8)
    for step in (2, 3):
        w.run("lossy-admin", "mix", "--until-step", step)
    w.run("secure-admin", "read", "--from-step", 0, "--steps", 1, "--format", "none")
    assert report(w, "secure-admin").returncode == 0
    yield w
    w.riffle.close()


def produce(world, user):
    # What cannot be used goes to rejects, so that all that a producer writes is written each time.
    world.appended += 1
    for domain in ("code", "web"):
        with (world.folder / f"{domain}.jsonl").open("a") as file:
            file.write(documents(f"{domain}{world.appended}", 20) + "no JSON\n")
    yield world.run(user, "produce", "--append", check=False)


def mix(world, user):
    world.step += 1
    yield world.run(user, "mix", "--until-step", 8 + world.step, check=False)


REPORT = """
import json, sys, riffle
options = json.load(sys.stdin)
with riffle.Reader(sys.argv[1], run="fresh", step=0, properties=options) as reader:
    next(iter(reader))
    reader.report(0, {"code": (1.0, 0.5, 10)})
"""


def report(world, user, mix="accmix"):
    return subprocess.run([sys.executable, "-c", REPORT, mix], env=Package.env, capture_output=True, text=True, timeout=60,
                          input=json.dumps(json.loads((world.folder / f"{user}.yml").read_text())["kafka"]))


def read(world, user, prefix="", mix="accmix"):
    # `fresh` has committed nothing, so that the ledger is asked where it stands.
    user = prefix + user
    if prefix:  # Its group is missed when it asks for its commits. A refused commit ends 5 s later, and is seen without a prefix.
        yield world.run(user, "read", "--steps", 1, "--format", "none", check=False)
    yield world.run(user, "read", "--from-step", 0, "--steps", 2, "--commit-every", 1, "--format", "none", check=False)
    yield world.run(user, "read", "--run", "fresh", "--steps", 1, "--format", "none", check=False)
    for domain in ("code", "web"):
        yield world.run(user, "read", "--set", "valid", "--domain", domain, "--format", "none", check=False)
    yield report(world, user.removeprefix(prefix), mix)


def ask(*words):
    """A request waits for a mixer's answer; steps go on until it has one. If it is refused, it mostly ends before that."""
    def run(world, user):
        asking = world.riffle.popen(words[0], "-c", world.folder / f"{user}.yml", *words[1:], "--timeout", 30)
        with contextlib.suppress(subprocess.TimeoutExpired):
            asking.wait(0.5)
        while asking.poll() is None:
            assert next(mix(world, "admin")).returncode == 0
        out, err = asking.communicate()
        yield subprocess.CompletedProcess(words, asking.returncode, out, err)
    return run


def requests(world, user):
    world.withdrawn += 1
    slip = f"slip{world.withdrawn}"
    world.run("admin", "weights", "code=0.3", "--at-step", 10 ** 9, "--id", slip, "--timeout", 1, check=False)
    yield from ask("requests", "--cancel", slip)(world, user)


def runs(world, user):
    """Both runs have commits, of the test before or of this."""
    world.run("admin", "read", "--from-step", 2, "--steps", 2, "--commit-every", 1, "--format", "none")
    world.run("admin", "read", "--run", "fresh", "--from-step", 2, "--steps", 2, "--commit-every", 1, "--format", "none")
    yield world.run(user, "runs", check=False)
    for run in ("trainers", "fresh"):
        yield from ask("runs", "--reset", run, "--to", 4, "--idle", 0)(world, user)


def forget(world, user):
    world.run("admin", "read", "--run", "typo", "--from-step", 2, "--steps", 1, "--commit-every", 1, "--format", "none")
    yield world.run(user, "runs", "--forget", "typo", check=False)


def retain(world, user):
    next(mix(world, "admin"))
    world.run("admin", "runs", "--forget", "typo", check=False)  # whose step would be deleted
    world.run("admin", "read", "--steps", 1, "--commit-every", 1, "--format", "none")
    done = world.run(user, "retain", "--from-step", world.retained + 1, check=False)
    world.retained += done.returncode == 0
    yield done


def repair(world, user):
    """A lane has lost a step, and the ledger too: that it is repaired needs every right."""
    if world.whole:
        world.broker.lose("lossmix.ledger-0", "lossmix.batches-1")
    done = world.run(f"lossy-{user}", "repair", check=False)
    world.whole = done.returncode == 0
    assert not world.whole or "wrote 1 records of lanes of mix lossmix, and the ledger's" in done.stdout
    yield done


def simple(*words):
    def run(world, user):
        yield world.run(user, *words, check=False)
    return run


def reweight(world, user):
    out = world.folder / "learned.json"
    yield world.run(user, "reweight", "--method", "doremi", "--run", "fresh", "--out", out, check=False)


def export(world, user):
    for d in ("code", "web"):
        yield world.run(user, "export", d, "--format", "megatron", "--force", "--out", world.folder / d, check=False)


def serve(change):
    """What clients get of a server with these rights."""
    def run(world, user):
        token = world.folder / "token"
        token.write_text("0123456789abcdef\n")
        process = world.riffle.popen("serve", "-c", world.folder / f"{user}.yml", "--listen", "127.0.0.1:0",
                                     *(["--token-file", token, "--allow-changes"] if change else []))
        said = ""
        while "address=" not in said:
            line = process.stderr.readline()
            assert line, said
            said += line
        address = re.search(r"address=(http://\S+)", said)[1]

        def ask(path, body=None):
            headers = {"Authorization": "Bearer 0123456789abcdef", "X-Riffle": "1", "Content-Type": "application/json"}
            try:
                with urllib.request.urlopen(urllib.request.Request(address + path, body, headers), timeout=60) as answer:
                    return answer.status, answer.read().decode()
            except urllib.error.HTTPError as error:
                return error.code, error.read().decode()

        wait_until(lambda: ask("readyz")[0] == 200 or "denied" in ask("api/v1/status")[1], "an answer of the broker")
        if ask("readyz")[0] == 200:  # requests are read a moment later
            wait_until(lambda: "not been read yet" not in ask("api/v1/requests")[1], "the requests")
        answers = [ask("api/v1/status"), ask("api/v1/requests"), ask("api/v1/steps/7"), ask("api/v1/history")]
        if change:
            world.withdrawn += 1
            answers.append(ask("api/v1/weights", json.dumps({"weights": {"code": 0.4}, "who": "ann"}).encode()))
            assert next(mix(world, "admin")).returncode == 0
        process.terminate()
        said += process.stderr.read()
        good = process.wait(30) == 0 and all(status in (200, 202) for status, _ in answers)
        yield subprocess.CompletedProcess("serve", 0 if good else 1, "", said + "\n".join(text for _, text in answers))
    return run


COMMANDS = {
    "topics": simple("topics"),
    "produce": produce,
    "mix": mix,
    "read": read,
    "read, of a mix without copies": lambda world, user: read(world, user, "derived-", "derivedmix"),
    "weights": ask("weights", "code=0.4"),
    "skip": ask("skip", "--step", "6"),
    "requests": requests,
    "runs": runs,
    "runs-forget": forget,
    "reweight": reweight,
    "status": simple("status"),
    "serve": serve(False),
    "serve-changes": serve(True),
    "rejects": simple("rejects", "--count"),
    "inspect": lambda world, user: simple("inspect", 7)(world, f"secure-{user}"),
    "replay": simple("replay", "--steps", "6..8"),
    "repair": repair,
    "export": export,
    "retain": retain,
}


def is_warned(command, right):
    """Whether the command works without, and warns: that it compares nothing, knows no mixers, or no lines of documents."""
    if command == "inspect" and right[3] != "accmix.batches" and right[0] == "READ":
        return True
    return right[0] == "DESCRIBE_CONFIGS" or (command != "mix" and right[3] == "accmix.election")


def runs_until_named(world, command, name):
    """Runs the parts of a command until one of them names what is missing; all that they said."""
    said = []
    for done in COMMANDS[command](world, "worker"):
        said.append((done.returncode, done.stderr))
        if name in done.stderr:
            break
    return said


THESE = "tests/kafka/test_access.py::test_a_command_works_with_its_rights_and_names_each_one_that_is_missing"  # serve, and weights


@pytest.mark.parametrize("command", [pytest.param(c, marks=pytest.mark.long(THESE)) if c == "serve-changes" else c for c in COMMANDS])
def test_a_command_works_with_its_rights_and_names_each_one_that_is_missing(world, command):
    config = "lossy-admin" if command == "repair" else "derived-admin" if "without copies" in command else "admin"
    acls, rights = world.broker.acls, world.rights(command.partition(",")[0], config)
    acls.give(WORKER, rights)
    try:
        wrong = []
        for right in rights:
            operation, kind, pattern, resource = right
            if command == "serve" and resource == "accmix.control":
                operation = "DESCRIBE"  # what status needs of it, and the first that is missed
            if command in ("runs", "runs-forget") and kind == "group":
                operation = "DESCRIBE"  # first it asks for the commits, for which DESCRIBE is enough; READ and DELETE give it
            name = f"user worker lacks {operation} on {kind.replace('-', ' ')} {resource}" + " " * (pattern == "literal")
            acls.take(WORKER, [right])
            said = runs_until_named(world, command, name)
            acls.give(WORKER, [right])
            if name not in said[-1][1] or said[-1][0] != (0 if is_warned(command, right) else 1):
                wrong.append((name, said))
        assert not wrong
        for done in COMMANDS[command](world, "worker"):  # last, because repair needs a restart of the broker once it has succeeded
            assert done.returncode == 0, done.stderr
            assert "lacks" not in done.stderr
    finally:
        acls.take(WORKER, rights)


DENIED = """
import json, resource, sys, time, riffle
begun = time.monotonic()
try:
    with riffle.Reader("accmix", step=int(sys.argv[1]), commit_every=1, properties=json.load(sys.stdin)) as reader:
        for step in reader:
            pass
finally:
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(time.monotonic() - begun, used.ru_utime + used.ru_stime)
"""


def test_a_trainer_without_rights_on_its_group_ends_soon_and_does_not_spin(world):
    """Its commit is never sent, and librdkafka keeps it while the reader is closed."""
    rights = [right for right in world.rights("read") if right[1] == "topic"]
    world.broker.acls.give(WORKER, rights)
    try:
        done = subprocess.run([sys.executable, "-c", DENIED, str(world.retained)], env=Package.env, capture_output=True, text=True,
                              timeout=60, input=json.dumps(json.loads((world.folder / "worker.yml").read_text())["kafka"]))
    finally:
        world.broker.acls.take(WORKER, rights)
    assert done.returncode == 1 and "user worker lacks READ on group accmix.trainers" in done.stderr, done.stderr
    wall, cpu = map(float, done.stdout.split())
    assert wall < 4 and cpu < 1 and "KAFKA-CLOSE" not in done.stderr, (done.stdout, done.stderr)


def test_status_without_read_on_the_arrivals_says_that_it_cannot_tell_and_shows_the_rest(world, tmp_path):
    (tmp_path / "code.jsonl").write_text(documents("live", 20))
    for user in ("admin", "worker"):
        config = json.loads((world.folder / f"{user}.yml").read_text())
        config.update(corpus="alive", domains={"code": {"train": [str(tmp_path / "code.jsonl")], "live": True}})
        config["mix"] = {**config["mix"], "name": "livemix", "weights": {"code": 1}}
        (world.folder / f"live-{user}.yml").write_text(json.dumps(config))
    for words in (["topics", "--create"], ["produce"]):
        world.run("live-admin", *words)
    acls, rights = world.broker.acls, world.rights("status", "live-admin")
    hidden, seen = ("READ", "topic", "literal", "alive.arrivals"), ("DESCRIBE", "topic", "literal", "alive.arrivals")
    acls.give(WORKER, rights)
    try:
        allowed = world.run("live-worker", "status", "--json")
        acls.give(WORKER, [seen])
        acls.take(WORKER, [hidden])
        denied = world.run("live-worker", "status", "--json")
    finally:
        acls.take(WORKER, [*rights, seen])
    assert "STATUS-ARRIVALS-HIDDEN" not in allowed.stderr
    warned, = (line for line in denied.stderr.splitlines() if "STATUS-ARRIVALS-HIDDEN" in line)
    assert "user worker lacks READ on topic alive.arrivals " in warned and "cannot tell whether another program has written there" in warned
    can, cannot = json.loads(allowed.stdout), json.loads(denied.stdout)
    assert (can.pop("arrivals_foreign"), cannot.pop("arrivals_foreign")) == (0, None)
    assert can["domains"] == cannot["domains"] and can["problem_list"] == cannot["problem_list"]


@pytest.mark.parametrize("flag, operation", [("--create", "CREATE"), ("--delete", "DELETE")])
def test_topics_are_made_and_deleted_with_their_rights_and_each_one_missing_is_named(world, flag, operation):
    command = f"topics-{flag[2:]}"
    words = [flag] if flag == "--create" else [flag, "--yes"]
    back = ["--delete", "--yes"] if flag == "--create" else ["--create"]
    acls, rights = world.broker.acls, world.rights(command, config="other-admin")
    world.run("other-admin", "topics", *(["--delete", "--yes"] if flag == "--create" else ["--create"]), check=False)
    acls.give(WORKER, rights)
    try:
        assert world.run("other-worker", "topics", *words, check=False).returncode == 0
        for right in (r for r in rights if r[0] == operation):
            world.run("other-admin", "topics", *back, check=False)
            acls.take(WORKER, [right])
            done = world.run("other-worker", "topics", *words, check=False)
            acls.give(WORKER, [right])
            assert f"user worker lacks {operation} on topic {right[3]} " in done.stderr, done.stderr
            assert done.returncode == 1
    finally:
        acls.take(WORKER, rights)
        world.run("other-admin", "topics", "--delete", "--yes", check=False)


def test_the_printed_lines_give_and_take_the_rights(world, tmp_path):
    admin = world.broker.properties("admin.plain")
    login = "org.apache.kafka.common.security.plain.PlainLoginModule required"
    (tmp_path / "admin.properties").write_text(
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n"
        f"sasl.jaas.config={login} username=\"admin\" password=\"{admin['sasl.password']}\";\n")
    java = [*command_of_kafka(world.broker.users.parent.name.split("-")[0], "AclCommand"), "--bootstrap-server", admin["bootstrap.servers"], "--command-config",
            str(tmp_path / "admin.properties")]
    # A prefix of groups, a transactional id, several topics: one line each, for each is a JVM.
    lines = [line for command in ("retain", "mix")
             for line in world.run("admin", "acls", command, "--principal", WORKER).stdout.splitlines()
             if "prefixed" in line or "--transactional-id" in line or "DescribeConfigs" in line]
    rights = [r for command in ("retain", "mix") for r in world.rights(command)
              if r[2] == "prefixed" or r[1] == "transactional-id" or r[0] == "DESCRIBE_CONFIGS"]
    subprocess.run(["sh", "-s", *java], input="\n".join(lines), text=True, check=True, timeout=120, capture_output=True)
    for right in rights:
        assert world.broker.acls.is_given(WORKER, right), right
    world.broker.acls.take(WORKER, rights)


def test_removing_prints_the_same_lines_with_remove(world):
    give = world.run("admin", "acls", "mix", "--principal", WORKER).stdout
    take = world.run("admin", "acls", "mix", "--principal", WORKER, "--remove").stdout
    assert take == give.replace("--add", "--remove --force")


@pytest.mark.parametrize("words, said", [
    (["mix"], "--principal"),
    (["mix", "--principal", "mixer"], "has no type"),
    (["dance", "--table"], "there are: topics, "),
    ([], "an argument is missing"),
])
def test_a_wrong_question_about_rights_is_exit_2(world, words, said):
    done = world.run("admin", "acls", *words, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


# ---- secrets ----

SECRET = "s3cr3t-of-nobody"


def with_password(world, password):
    config = json.loads((world.folder / "secure-admin.yml").read_text())
    config["kafka"]["sasl.password"] = password
    (world.folder / "password.yml").write_text(json.dumps(config))
    return "password"


def test_a_password_comes_from_a_file_or_the_environment(world):
    password = world.broker.properties("admin")["sasl.password"]
    (world.folder / "password.txt").write_text(password + "\n")
    assert world.run(with_password(world, {"file": "password.txt"}), "topics").returncode == 0
    assert world.run(with_password(world, {"env": "KAFKA_PW"}), "topics", env={"KAFKA_PW": password}).returncode == 0
    config = with_password(world, "wrong")
    assert world.run(config, "topics", "-X", "sasl.password=env:KAFKA_PW", env={"KAFKA_PW": password}).returncode == 0
    assert world.run(config, "topics", "-X", f"sasl.password=file:{world.folder / 'password.txt'}").returncode == 0


@pytest.mark.parametrize("password, said", [
    ({"file": "nowhere.txt"}, "nowhere.txt"),
    ({"file": "empty.txt"}, "is empty"),
    ({"env": "KAFKA_NOTHING"}, "KAFKA_NOTHING is not set"),
    ({"shell": "pass kafka"}, "{file: PATH}"),
    ({}, "{file: PATH}"),
    (["a"], "{file: PATH}"),
])
def test_a_password_that_is_not_there_is_exit_2_and_says_where_it_was_looked_for(world, password, said):
    (world.folder / "empty.txt").write_text("\n")
    done = world.run(with_password(world, password), "config", "--check", check=False)
    assert done.returncode == 2
    assert "kafka.sasl.password" in done.stderr and said in done.stderr


@pytest.mark.parametrize("name", ["sasl.password", "ssl.key.password", "ssl.keystore.password", "ssl.key.pem",
                                  "sasl.oauthbearer.client.secret"])
def test_a_secret_on_the_command_line_is_refused(world, name):
    done = world.run("secure-admin", "topics", "-X", f"{name}={SECRET}", check=False)
    assert done.returncode == 2
    assert f"-X {name}=file:PATH" in done.stderr
    assert SECRET not in done.stdout + done.stderr


def test_no_output_and_no_command_line_shows_a_secret(world):
    password = world.broker.properties("admin")["sasl.password"]
    process = world.riffle.popen("mix", "-c", world.folder / "secure-admin.yml", "-v", "-X", "debug=all", "--until-step", 60)
    assert password not in pathlib.Path(f"/proc/{process.pid}/cmdline").read_text()
    said = "".join(process.communicate(timeout=60))
    assert process.returncode == 0 and "SASL" in said.upper()
    assert password not in said
    world.step = max(world.step, 52)
    for done in (world.run("secure-admin", "config", "--check"), world.run("secure-admin", "status", "--json"),
                 world.run("secure-admin", "topics"), world.run("secure-admin", "replay", "--steps", "50..52")):
        assert password not in done.stdout + done.stderr
    dump = subprocess.run(["kcat", "-F", world.broker.users / "kcat.properties", "-C", "-t", "accmix.ledger", "-e", "-q"],
                          capture_output=True, timeout=60, check=True)
    assert password.encode() not in dump.stdout


def test_a_secret_that_librdkafka_refuses_is_not_shown(world):
    done = world.run("secure-admin", "topics", "-X", "ssl.key.pem=env:KEY", env={"KEY": SECRET}, check=False)
    assert done.returncode != 0
    assert SECRET not in done.stdout + done.stderr


# ---- who does not get in ----

def refused(world, config, words, seconds, *more):
    began = time.monotonic()
    done = world.run(config, *words, *more, check=False)
    assert done.returncode in (1, 2), done.stderr
    assert time.monotonic() - began < seconds, "it took too long to say so"
    assert "no broker answers" in done.stderr
    return done.stderr


EACH = [["topics"], ["produce"], ["mix"], ["read", "--steps", 1, "--format", "none"], ["status"], ["weights", "code=1"]]


@pytest.mark.parametrize("words", EACH, ids=lambda w: w[0])
def test_a_wrong_password_is_told_within_seconds(world, words):
    said = refused(world, with_password(world, SECRET), words, 8)
    plain = world.broker.properties("admin")["sasl.mechanism"] == "PLAIN"
    assert ("Invalid username or password" if plain else "invalid credentials") in said
    assert "sasl.*" in said
    assert SECRET not in said


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    """Another authority, and a certificate of it that has expired."""
    folder = tmp_path_factory.mktemp("certificates")

    def openssl(*words):
        subprocess.run(["openssl", *map(str, words)], cwd=folder, check=True, capture_output=True, timeout=30)
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    openssl("req", "-x509", *key, "-days", 2, "-subj", "/CN=another", "-keyout", "ca.key", "-out", "ca.pem")
    openssl("req", *key, "-subj", "/CN=127.0.0.1", "-keyout", "old.key", "-out", "old.csr")
    (folder / "san").write_text("subjectAltName=IP:127.0.0.1\n")
    openssl("x509", "-req", "-in", "old.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", -1,
            "-extfile", "san", "-out", "old.crt")
    return folder


def test_an_unknown_authority_is_told_within_seconds(world, certificates):
    said = refused(world, "secure-admin", ["mix"], 8, "-X", f"ssl.ca.location={certificates / 'ca.pem'}")
    assert "certificate verify failed: the authority that signed it is not known (ssl.ca.location)" in said


def test_an_expired_certificate_is_told_within_seconds(world, certificates):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates / "old.crt", certificates / "old.key")
    listener = socket.create_server(("127.0.0.1", 0))

    def serve():
        while True:
            try:
                context.wrap_socket(listener.accept()[0], server_side=True)
            except ssl.SSLError:
                pass  # the client hangs up
            except OSError:
                return
    thread = threading.Thread(target=serve)
    thread.start()
    try:
        said = refused(world, "secure-admin", ["mix"], 8, "-X", f"ssl.ca.location={certificates / 'ca.pem'}",
                       "-X", f"bootstrap.servers=127.0.0.1:{listener.getsockname()[1]}")
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()
    assert "certificate verify failed: it has expired" in said
