"""What the tests of tests/kafka have, for those that need Prometheus (make test-metrics)."""

import importlib.util
import pathlib
import sys

_here = pathlib.Path(__file__).parent
sys.path.insert(0, str(_here.parent / "kafka"))  # prometheus_text.py, test_metrics.py
_spec = importlib.util.spec_from_file_location("conftest_kafka", _here.parent / "kafka" / "conftest.py")
_kafka = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_kafka)
fill, form, configure, read, wait_for = _kafka.fill, _kafka.form, _kafka.configure, _kafka.read, _kafka.wait_for
ROOT, LENGTH, Riffle, Package, wait_until = _kafka.ROOT, _kafka.LENGTH, _kafka.Riffle, _kafka.Package, _kafka.wait_until
