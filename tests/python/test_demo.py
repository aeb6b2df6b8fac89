"""scripts/demo: where a step of it fails, it shows why."""

import os
import subprocess

from conftest import ROOT


def test_a_broker_that_does_not_start_is_shown_with_the_reason(tmp_path):
    env = {key: value for key, value in os.environ.items() if key != "RIFFLE_BOOTSTRAP"}
    env |= {"B": str(tmp_path), "RIFFLE_KAFKA_DIR": str(tmp_path / "kafka"), "RIFFLE_KAFKA_JVM": "1",
            "JAVA_HOME": str(tmp_path / "none")}
    done = subprocess.run([ROOT / "scripts/demo"], env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "scripts/kafka up: exit 1; its last lines:" in done.stderr
    assert f"kafka: missing to start Kafka 3.9.2: {tmp_path}/none/bin/java" in done.stderr
