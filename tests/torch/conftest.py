"""What the tests of tests/kafka have, for those that need PyTorch (make test-torch)."""

import importlib.util
import pathlib
import sys

import pytest

_here = pathlib.Path(__file__).parent
sys.path.insert(0, str(_here.parent / "kafka"))  # rank.py
_spec = importlib.util.spec_from_file_location("conftest_kafka", _here.parent / "kafka" / "conftest.py")
_kafka = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_kafka)
globals().update({name: value for name, value in vars(_kafka).items() if not name.startswith("_")})


@pytest.fixture(scope="session")
def riffle_torch(package):
    assert package.riffle
    return importlib.import_module("riffle.torch")
