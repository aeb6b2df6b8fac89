"""What the tests of tests/kafka have, for those that need Prometheus (make test-metrics)."""

import importlib.util
import pathlib
import sys

_here = pathlib.Path(__file__).parent
sys.path.insert(0, str(_here.parent / "kafka"))  # prometheus_text.py, test_metrics.py
_spec = importlib.util.spec_from_file_location("conftest_kafka", _here.parent / "kafka" / "conftest.py")
_kafka = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_kafka)
# All of it: tests/kafka/test_metrics.py, whose fixtures are used here, imports from it by this file's name.
globals().update({name: value for name, value in vars(_kafka).items() if not name.startswith("_")})
