"""What the tests of adapters have: mixes on a real broker, a training that is killed and resumed (job.py), the table."""

import importlib.util
import json
import pathlib
import sys

import pytest

_here = pathlib.Path(__file__).parent
sys.path.insert(0, str(_here))  # job.py, also where a test is named alone
sys.path[:] = [path for path in sys.path if path != str(_here.parent)]  # where the folder torch would be a package of that name
_spec = importlib.util.spec_from_file_location("conftest_kafka", _here.parent / "kafka" / "conftest.py")
_kafka = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_kafka)
globals().update({name: value for name, value in vars(_kafka).items() if not name.startswith("_")})
VOCABULARY = 512

import job  # noqa: E402

_left_out = False


def pytest_configure(config):
    config.addinivalue_line("markers", "source(name): needs a framework's source, which is in no package index: job.source(name)")


def pytest_collection_modifyitems(config, items):
    """Without its source a framework's tests are left out, and a row of the table says so."""
    global _left_out
    absent = {}
    for item in items:
        mark = item.get_closest_marker("source")
        if mark is not None and job.source(mark.args[0]) is None:
            absent.setdefault((item.path.stem.removeprefix("test_"), mark.args[0]), []).append(item)
    for (framework, name), found in absent.items():
        _left_out = True
        job.write_not_run(_kafka._above.BUILD, framework, f"CLONES has no folder {name}: tests left out: {len(found)}")
        config.hook.pytest_deselected(items=found)
        items[:] = [item for item in items if item not in found]


def pytest_sessionfinish(session, exitstatus):
    if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and _left_out:
        session.exitstatus = pytest.ExitCode.OK


class Mix:
    """A mix that nobody mixes any more: 16 sequences of 64 tokens a step in 8 lanes, of domains a and b."""

    def __init__(self, name, bootstrap, config, riffle):
        self.name, self.bootstrap, self.config, self._riffle = name, bootstrap, config, riffle

    def status(self):
        return json.loads(self._riffle("status", "-c", self.config, "--json").stdout)

    def loss_of(self, domain):
        """What `riffle status` says of a domain's loss; None: nothing."""
        return next(d["loss"] for d in self.status()["domains"] if d["name"] == domain)


@pytest.fixture
def mix(fill, configure, riffle, unique, bootstrap):
    """mix(steps=24, end=False, **keys of mix) -> Mix of so many steps, with a phase of lr_scale 0.5 from step 5. A framework
    that fetches more than it trains needs more of them, or end=True: behind the last one the mix ends."""
    def make(steps=24, end=False, **keys):
        fill("a", "b", sequences=400, vocabulary=VOCABULARY)
        keys = {"phases": [{"name": "anneal", "start_step": 5, "lr_scale": 0.5}], **keys}
        config = configure({"a": 3, "b": 1}, **keys)
        riffle("mix", "-c", config, "--end-at-step" if end else "--until-step", steps)
        return Mix(f"{unique}-mix", bootstrap, config, riffle)
    return make


@pytest.fixture
def examples():
    """Folder of the examples that the tests run as they are."""
    return ROOT / "examples" / "frameworks"


@pytest.fixture
def row(build, request):
    """row(version=, model=, calm=, stormy=, ranks="1", missing="") writes a row of the table; `name` where a framework has
    more than one, in the order of names; `part` follows its name in the table. Behind all that the test asserts: a row is of
    a test that passed."""
    framework = request.path.stem.removeprefix("test_")

    def write(version, model, calm, stormy, ranks="1", missing="", name="all", part=""):
        job.write_row(build, framework, name, dict(zip(job.COLUMNS, (
            job.NAMES.get(framework, framework) + part, version, model, ranks, len(calm.steps), stormy.killed,
            stormy.resumed[-1], "yes" if stormy.steps == calm.steps else "NO", calm.wait_ms, missing))))
    return write
