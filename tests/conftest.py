"""Fixtures of all Python tests: the built program, its tools, configurations, a real broker.

$B is the build folder (default build). The broker is $RIFFLE_TEST_BOOTSTRAP or, where that is not
set, what `scripts/kafka up` gives.
"""

import contextlib
import importlib
import json
import os
import pathlib
import re
import secrets
import signal
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = (ROOT / os.environ.get("B", "build")).resolve()


def draws(n):
    """How many random cases a test takes: `n`, or as many times `n` as $RIFFLE_TEST_DRAWS says."""
    return n * int(os.environ.get("RIFFLE_TEST_DRAWS", 1))


# Files that take longest, the longest first: several workers (scripts/test) then end at about the same time.
LONGEST = ["access", "weights", "replay", "tail_loss", "tokenizer_json", "rack", "held_follower", "coordinator_leaves",
           "lagging", "chaos", "produce", "import", "inspect", "serve", "follow", "mix", "administrators", "reader",
           "compat", "read", "metrics", "status", "standby", "package", "cli", "broker", "packing", "tokenizer", "append",
           "scarcity", "partitions", "repair", "doubt", "plan", "checkpoints", "bad_records", "no_target", "conformance",
           "runs", "changed_keys", "elastic", "derived", "topics", "export", "batch"]

# Session fixtures that start brokers. All tests that use one of them go to the same worker, so that it is started once.
BROKERS = {"struck", "single_broker", "broker_pair", "lagging_brokers"}

# Bytecode is written even if the environment forbids it. Otherwise each worker rewrites the assertions of all files again, and
# each Python that a test starts compiles the package again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# A broker that a test starts ends before the JVM's optimising compiler has returned what it costs.
os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1")


def children():
    """Pids of the processes that this one has started."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(path.read_text().rpartition(")")[2].split()[1])
        except (FileNotFoundError, ProcessLookupError):  # ended meanwhile
            continue
        if parent == os.getpid():
            found.append(int(path.parent.name))
    return found


def pytest_configure(config):
    config.addinivalue_line("markers", "long(FILE::TEST): takes more than 15 s; that test of `make test` sees the same behavior. "
                            "Only `make test-all` has it")
    has_workers = config.getoption("numprocesses", None) and "PYTEST_XDIST_WORKER" not in os.environ

    def interrupt(number, frame):
        """Ends the tests with their fixtures: once, and also where SIGINT was ignored, as in the background."""
        for one in (signal.SIGINT, signal.SIGTERM):
            signal.signal(one, signal.SIG_IGN)
        for worker in children() if has_workers else []:
            os.kill(worker, signal.SIGTERM)
        raise KeyboardInterrupt

    for one in (signal.SIGINT, signal.SIGTERM):
        signal.signal(one, interrupt)


def check_covered(item, covered):
    """The test that sees what a long one sees is there, and is not long itself."""
    path, _, name = covered.partition("::")
    found = re.search(rf"((?:^@.*\n(?:[ )].*\n)*)*)^def {name}\(", (ROOT / path).read_text(), re.M)
    if found is None or re.search(r"^@pytest\.mark\.long", found[1], re.M):
        raise pytest.UsageError(f"{item.nodeid}: {covered}, which is to see the same, is {'long, too' if found else 'not there'}")


@pytest.hookimpl(tryfirst=True)  # before xdist looks at the groups
def pytest_collection_modifyitems(items):
    """Tests that share a broker of their own run one after the other. So do tests of a file that share a mix or a vocabulary. All
    others go to any worker."""
    rank = {f"test_{name}.py": n for n, name in enumerate(LONGEST)}
    items.sort(key=lambda item: rank.get(item.path.name, len(rank)))
    for item in items:
        for mark in item.iter_markers("long"):
            check_covered(item, mark.args[0])
        fixtures = item._fixtureinfo.name2fixturedefs
        broker = BROKERS & fixtures.keys()
        if broker:
            item.add_marker(pytest.mark.xdist_group(broker.pop()))
        elif any(f.scope in ("module", "class") for defs in fixtures.values() for f in defs):
            item.add_marker(pytest.mark.xdist_group(item.path.name))


@pytest.fixture(scope="session")
def build():
    """The build folder."""
    return BUILD


@pytest.fixture(scope="session")
def tools():
    """Folder of the tests' own programs."""
    return BUILD / "tests" / "tools"


@pytest.fixture(scope="session")
def vocab():
    """Folder of r50k_base.tiktoken, cl100k_base.tiktoken and o200k_base.tiktoken."""
    subprocess.run([ROOT / "scripts/vocab"], check=True)
    return ROOT / "build/vocab"


@pytest.fixture(scope="session")
def bootstrap():
    """host:port of the one broker of the run."""
    given = os.environ.get("RIFFLE_TEST_BOOTSTRAP")
    if given:
        return given
    up = subprocess.run(
        [ROOT / "scripts/kafka", "up", "--version", os.environ.get("KAFKA", "3.9")],
        stdout=subprocess.PIPE, text=True)
    if up.returncode != 0:
        pytest.exit("scripts/kafka up failed: no broker, no tests", returncode=1)
    return up.stdout.strip()


@pytest.fixture(scope="session")
def dropped(tools):
    """dropped(prefix) asks a process, one for each worker, to delete the topics whose names begin with it. No test waits for that
    process, and topics that it fails to delete do no harm."""
    broker = os.environ.get("RIFFLE_TEST_BOOTSTRAP")
    if not broker or not (tools / "topic").exists():
        yield lambda prefix: None
        return
    deleter = subprocess.Popen([tools / "topic", "drop"], env={**os.environ, "RIFFLE_BOOTSTRAP": broker}, stdin=subprocess.PIPE,
                               text=True)

    def drop(prefix):
        with contextlib.suppress(BrokenPipeError):
            deleter.stdin.write(f"{prefix}\n")
            deleter.stdin.flush()

    yield drop
    with contextlib.suppress(BrokenPipeError):
        deleter.stdin.close()
    deleter.wait(120)


@pytest.fixture
def unique(dropped):
    """A fresh prefix for names of corpora and mixes. Their topics are deleted after the test, because every `riffle topics` asks for
    all topics of a broker, and a whole run leaves eleven thousand partitions."""
    prefix = "t" + secrets.token_hex(5)
    yield prefix
    dropped(prefix)


class Riffle:
    """Runs the built program: riffle("mix", "-c", path) -> CompletedProcess with text."""

    def __init__(self):
        self.path = os.environ.get("RIFFLE_BIN", str(BUILD / "riffle"))
        self.running = []

    def __call__(self, *arguments, env=None, timeout=300, check=True, input=None, cwd=None):
        done = subprocess.run(
            [self.path, *map(str, arguments)],
            env={**os.environ, **(env or {})},
            timeout=timeout,
            input=input,
            capture_output=True,
            text=True,
            cwd=cwd,
        )
        if check and done.returncode != 0:
            raise AssertionError(
                f"riffle {' '.join(map(str, arguments))}: exit {done.returncode}\n{done.stderr}"
            )
        return done

    def popen(self, *arguments, env=None, **more):
        """Starts it in the background, stdout and stderr as text pipes; ended with the test."""
        more.setdefault("stdout", subprocess.PIPE)
        more.setdefault("stderr", subprocess.PIPE)
        process = subprocess.Popen(
            [self.path, *map(str, arguments)],
            env={**os.environ, **(env or {})},
            text=True,
            **more,
        )
        self.running.append(process)
        return process

    def close(self):
        for process in self.running:
            if process.poll() is None:
                process.kill()
            process.wait()
            for stream in (process.stdout, process.stderr):
                if stream:
                    stream.close()


@pytest.fixture
def riffle():
    runner = Riffle()
    yield runner
    runner.close()


def configs_in(folder):
    """Returns what the fixture `write_config` is. For fixtures that live longer than a test."""

    def write(content, name="run.yml"):
        path = folder / name
        path.write_text(content if isinstance(content, str) else json.dumps(content, indent=1))
        return path

    return write


@pytest.fixture
def write_config(tmp_path):
    """write_config(text or dict, name="run.yml") -> path; a dict is written as JSON, which is YAML."""
    return configs_in(tmp_path)


class Package:
    """The Python package over the library that was built; .riffle is imported on first use."""

    env = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "RIFFLE_LIBRARY": str(BUILD / "libriffle.so.0")}

    @property
    def riffle(self):
        os.environ["RIFFLE_LIBRARY"] = self.env["RIFFLE_LIBRARY"]
        if self.env["PYTHONPATH"] not in sys.path:
            sys.path.insert(0, self.env["PYTHONPATH"])
        return importlib.import_module("riffle")


@pytest.fixture(scope="session")
def package():
    return Package()
