"""The brokers of a run, through scripts/kafka: started, killed, found out about."""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import time
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
UP_TRIES = 4
INTERNAL_PARTITIONS = 3  # of __transaction_state and __consumer_offsets, as scripts/kafka configures


def java_hash(text):
    """String.hashCode() without its sign, as Kafka's coordinators use it."""
    value = 0
    for c in text.encode():
        value = (31 * value + c) & 0xFFFFFFFF
    return value & 0x7FFFFFFF


def command_of_kafka(version, name):
    """The words that run a command of Kafka without its shell: a class of its core, which moves to kafka-tools from 4.0 on."""
    java = pathlib.Path(os.environ["JAVA_HOME"]) / "bin/java" if "JAVA_HOME" in os.environ else "java"
    jars, main = [ROOT / f"build/jars/kafka-{version}"], f"kafka.admin.{name}"
    if not version.startswith("3."):
        jars.append(ROOT / f"build/jars/kafka-tools-{version}")
        subprocess.run([ROOT / "scripts/maven-jars", jars[1], f"org.apache.kafka:kafka-tools:{version}"], check=True)
        with zipfile.ZipFile(jars[1] / f"kafka-tools-{version}.jar") as jar:
            if f"org/apache/kafka/tools/{name}.class" in jar.namelist():
                main = f"org.apache.kafka.tools.{name}"
    archive = [f"-XX:SharedArchiveFile={file}" for file in jars[0].glob("classes-*.jsa")]  # of scripts/kafka, which makes at most one
    return [java, "-XX:TieredStopAtLevel=1", *archive, "-Xlog:cds*=off", "-cp", ":".join(f"{j}/*" for j in jars), main]


def set_topic(broker, topic, setting):
    """Sets "name=value" of a topic by an IncrementalAlterConfigs request (44) in version 0. Kafka's own command would need two seconds
    of a processor."""
    def text(value):
        return struct.pack(">h", len(value)) + value.encode()
    name, _, value = setting.partition("=")
    body = struct.pack(">ib", 1, 2) + text(topic) + struct.pack(">i", 1) + text(name) + b"\0" + text(value) + b"\0"
    request = struct.pack(">hhi", 44, 0, 1) + text("tests") + body
    host, _, port = broker.rpartition(":")
    with socket.create_connection((host, int(port)), 30) as s, s.makefile("rb") as answers:
        s.sendall(struct.pack(">i", len(request)) + request)
        answer = answers.read(struct.unpack(">i", answers.read(4))[0])
    error, length = struct.unpack(">hh", answer[12:16])  # after the number, the throttle time and the count, 1
    if error != 0:
        raise RuntimeError(f"topic {topic}: setting {setting}: error {error} {answer[16:16 + max(length, 0)].decode()}")


def lagging(ms):
    """Properties of brokers whose followers learn up to `ms` late how far a log is committed. A follower that has all records
    waits that long for more, and the leader's answer is what tells it."""
    return {"replica.fetch.wait.max.ms": ms, "replica.fetch.min.bytes": 1_000_000, "replica.lag.time.max.ms": 40_000,
            "offsets.topic.replication.factor": 1, "transaction.state.log.replication.factor": 1,
            "transaction.state.log.min.isr": 1}


def is_gone(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


class Cluster:
    def __init__(self, folder, version, brokers=3, host="127.0.0.1", properties=None):
        self.folder, self.version, self.brokers = pathlib.Path(folder), version, brokers
        self.env = {k: v for k, v in os.environ.items() if k != "RIFFLE_BOOTSTRAP"}
        self.env |= {"RIFFLE_KAFKA_DIR": str(self.folder), "RIFFLE_KAFKA_JVM": "1", "RIFFLE_KAFKA_HOST": host,
                     "RIFFLE_KAFKA_KEEP": "1"}
        if properties:
            self.env["RIFFLE_KAFKA_PROPERTIES"] = " ".join(f"{name}={value}" for name, value in properties.items())
        self.bootstrap = None
        self.mounted = None

    def script(self, command):
        done = subprocess.run([ROOT / "scripts/kafka", command, "--version", self.version, "--brokers", str(self.brokers)],
                              env=self.env, capture_output=True, text=True, timeout=600)
        if done.returncode != 0:
            raise RuntimeError(f"scripts/kafka {command}: {done.stderr.strip()}")
        return done.stdout.strip()

    def up(self):
        """Starts what is not running, with its data; a cluster that restarted empty would have other ports.

        On a machine that is busy the brokers may need longer than the script waits: it is asked again."""
        for patience in range(UP_TRIES):
            try:
                found = self.script("up")
                break
            except RuntimeError as e:
                if "no answer within" not in str(e) or patience == UP_TRIES - 1:
                    raise
        if self.bootstrap not in (None, found):
            raise RuntimeError("the brokers did not come back with their data")
        self.bootstrap = found

    def down(self):
        if self.mounted:
            for node in range(1, self.brokers + 1):
                self.end(node, signal.SIGKILL)
            subprocess.run(["umount", "-l", self.mounted], check=False)
        self.script("down")

    # ---- one broker ----

    def home(self):
        return next(self.folder.glob(f"*-{self.brokers}"))

    def pid(self, node):
        return int((self.home() / f"broker{node}.pid").read_text())

    def end(self, node, how, seconds=60):
        """SIGKILL, or SIGTERM for a clean end, which is waited for."""
        pid = self.pid(node)
        try:
            os.kill(pid, how)
        except ProcessLookupError:
            return
        self.wait_ended(node, seconds)

    def wait_ended(self, node, seconds):
        pid, deadline = self.pid(node), time.monotonic() + seconds
        while not is_gone(pid):
            if time.monotonic() > deadline:
                raise RuntimeError(f"broker {node} did not end within {seconds} s")
            time.sleep(0.02)

    def move_to_memory(self, node, megabytes):
        """The broker's log directory on a file system of a size of its own. The broker is not running."""
        at = self.home() / f"broker{node}.data"
        shutil.move(at, f"{at}.disk")
        at.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "none", at], check=True)
        shutil.copytree(f"{at}.disk", at, dirs_exist_ok=True)
        shutil.rmtree(f"{at}.disk")
        self.mounted = at
        return at

    def configure(self, topic, setting):
        set_topic(self.bootstrap.split(",")[0], topic, setting)

    # ---- who does what ----

    def topics(self):
        """topic -> [partition as kcat describes it, ...]"""
        done = subprocess.run(["kcat", "-b", self.bootstrap, "-L", "-J"], capture_output=True, text=True, timeout=30)
        if done.returncode != 0:
            raise RuntimeError(f"kcat -L: {done.stderr.strip()}")
        return {t["topic"]: t["partitions"] for t in json.loads(done.stdout)["topics"]}

    def leader(self, topic, partition):
        return next(p["leader"] for p in self.topics()[topic] if p["partition"] == partition)

    def transaction_coordinator(self, transactional_id):
        return self.leader("__transaction_state", java_hash(transactional_id) % INTERNAL_PARTITIONS)

    def group_coordinator(self, group):
        return self.leader("__consumer_offsets", java_hash(group) % INTERNAL_PARTITIONS)

    def in_sync(self):
        """Every replica of every partition is there and has all records."""
        return all(p["leader"] > 0 and len(p["isrs"]) == len(p["replicas"])
                   for partitions in self.topics().values() for p in partitions)


@contextlib.contextmanager
def running(folder, version=None, brokers=1, properties=None):
    """A cluster of its own, which is gone with its data afterwards."""
    c = Cluster(folder, version or os.environ.get("KAFKA", "3.9"), brokers, properties=properties)
    try:
        c.up()
        yield c
    finally:
        c.down()
        shutil.rmtree(c.folder)
