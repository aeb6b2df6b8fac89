"""scripts/kafka: starts, finds, ends a broker; a crash; a pid that is another's by now.

The broker is one of these tests' own, in a folder of its own; the run's shared one is left alone.
"""

import os
import pathlib
import pty
import select
import shutil
import signal
import socket
import subprocess

import pytest

from conftest import wait_until

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
VERSION = os.environ.get("KAFKA", "3.9")


class Cluster:
    def __init__(self, folder):
        self.folder = folder

    def __call__(self, command, *words, code=0, version=VERSION, pass_fds=(), stdin=subprocess.DEVNULL, **env):
        clean = {k: v for k, v in os.environ.items() if k != "RIFFLE_BOOTSTRAP"}
        done = subprocess.run(
            [ROOT / "scripts/kafka", command, "--version", version, *words],
            env={**clean, "RIFFLE_KAFKA_DIR": str(self.folder), "RIFFLE_KAFKA_JVM": "1", **env},
            capture_output=True, text=True, timeout=600, pass_fds=pass_fds, stdin=stdin)
        assert done.returncode == code, done.stderr
        return done

    def pid_file(self):
        return next(self.folder.glob("*/broker1.pid"), None)

    def pid(self):
        return int(self.pid_file().read_text())


@pytest.fixture
def cluster(build, unique):
    c = Cluster(build / f"kafka-{unique}")
    yield c
    c("down")
    shutil.rmtree(c.folder)


def records(address, topic):
    read = subprocess.run(["kcat", "-b", address, "-C", "-t", topic, "-e", "-q", "-f", "%s\n"],
                          capture_output=True, text=True, timeout=60)
    assert read.returncode == 0, read.stderr
    return read.stdout.split()


def is_gone(pid):
    # A zombie that nobody waits for is gone too.
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def wait_gone(pid):
    wait_until(lambda: is_gone(pid), f"the end of process {pid}")


def test_status_of_nothing_is_exit_1_and_a_sentence(cluster):
    done = cluster("status", code=1)
    assert done.stdout == ""
    assert "is not running" in done.stderr


def test_a_broker_lives_crashes_comes_back_and_ends(cluster, tools):
    reads, writes = os.pipe()
    address = cluster("up", pass_fds=[writes]).stdout.strip()
    os.close(writes)
    assert select.select([reads], [], [], 10)[0] and os.read(reads, 1) == b"", "a broker holds no pipe of whoever started it"
    os.close(reads)
    first = cluster.pid()
    assert cluster("status").stdout.strip() == address
    assert cluster("up").stdout.strip() == address, "up is idempotent"
    assert cluster.pid() == first, "up is idempotent"
    folder = cluster.pid_file().parent
    jars = ROOT / "build/jars" / f"kafka-{folder.name.removesuffix('-1')}"
    wait_until(lambda: any(jars.glob("classes-*.jsa")), "the archive that the first broker of these jars leaves to later ones")
    ours, kept = (dict(line.partition("=")[::2] for line in file.read_text().splitlines() if line[0] != "#")
                  for file in (folder / "broker1.data/meta.properties", jars / "storage-broker,controller/meta"))
    formatted = "Formatting" in (folder / "broker1.log").read_text()  # then the kept storage may be this one
    assert formatted or ours.pop("directory.id") != kept.pop("directory.id")
    assert ours == kept

    subprocess.run([tools / "transactions", "crash.log", "commit:3"], check=True, timeout=60,
                   env={**os.environ, "RIFFLE_BOOTSTRAP": address})
    assert records(address, "crash.log") == ["0", "1", "2"]

    os.kill(first, signal.SIGKILL)
    wait_gone(first)
    assert "is not running" in cluster("status", code=1).stderr
    done = cluster("up")
    assert done.stdout.strip() == address, "it comes back where its clients look for it"
    assert cluster.pid() != first
    assert records(address, "crash.log") == ["0", "1", "2"], "it comes back with its data"

    second = cluster.pid()
    archive, = jars.glob("classes-*.jsa")
    assert str(archive) in pathlib.Path(f"/proc/{second}/maps").read_text(), "it maps the archive"
    assert f"starts it again with them, at {address}" in cluster("stop").stderr
    wait_gone(second)
    assert "is not running" in cluster("status", code=1).stderr
    assert cluster("up").stdout.strip() == address, "what was stopped comes back where it was"
    assert records(address, "crash.log") == ["0", "1", "2"], "with its topics"

    asked, terminal = pty.openpty()  # of a person at a terminal
    os.write(asked, b"no\n")
    assert "`scripts/kafka stop` keeps them" in (refused := cluster("down", code=1, stdin=terminal).stderr)
    assert "nothing was done" in refused
    assert cluster("status").stdout.strip() == address

    second = cluster.pid()
    assert cluster("status", RIFFLE_BOOTSTRAP=address).stdout == f"{address}\n"
    down = cluster("down", RIFFLE_BOOTSTRAP=address)  # as where what `up` printed was exported
    assert f"ended {address} and deleted all its topics" in down.stderr
    wait_gone(second)
    assert not folder.exists()
    cluster("status", code=1)
    cluster("down")  # once more is no error


def test_a_recorded_pid_that_is_another_program_by_now_is_left_alone(cluster):
    other = subprocess.Popen(["sleep", "600"])
    try:
        folder = cluster.folder / "3.9.1-1"
        folder.mkdir(parents=True)
        (folder / "broker1.properties").write_text("")
        (folder / "broker1.pid").write_text(str(other.pid))
        (folder / "bootstrap").write_text("127.0.0.1:1\n")
        cluster("status", version="3.9.1", code=1)
        cluster("down", version="3.9.1")
        assert other.poll() is None, "down has killed a stranger"
        assert not folder.exists()
    finally:
        other.kill()
        other.wait()


def test_a_bootstrap_of_ones_own_is_used_and_nothing_is_started(cluster):
    with socket.create_server(("127.0.0.1", 0)) as broker:
        port = broker.getsockname()[1]
        for address in (f"127.0.0.1:{port}", f"nowhere.invalid:1,SASL_SSL://127.0.0.1:{port}"):
            for command in ("up", "status"):
                assert cluster(command, RIFFLE_BOOTSTRAP=address).stdout == f"{address}\n"
    for command in ("up", "status"):  # the port is closed now
        done = cluster(command, RIFFLE_BOOTSTRAP=address, code=1)
        assert done.stdout == ""
        assert done.stderr == f"kafka: RIFFLE_BOOTSTRAP is set, and nobody listens at {address}\n"
    assert "nothing is ended" in cluster("down", RIFFLE_BOOTSTRAP=address).stderr
    assert cluster.pid_file() is None


@pytest.mark.parametrize("words, said", [
    (("up", "--brokers", "0"), "--brokers: 0"),
    (("up", "--brokers", "10"), "--brokers: 10"),
    (("up", "--brokers"), "--brokers needs a value"),
    (("up", "--version", "nine"), "--version: nine"),
    (("up", "--loud"), "unknown option --loud"),
    (("sideways",), "up|stop|down|status|logs"),
])
def test_a_wrong_word_is_exit_2_and_says_which(cluster, words, said):
    assert said in cluster(*words, code=2).stderr
