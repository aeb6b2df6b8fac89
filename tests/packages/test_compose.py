"""docker-compose.yml, as far as it can be tried without an engine: its schema, and its broker's settings on Kafka's own jars."""

import random
import re
import signal
import subprocess
import time

import pytest
import yaml

from machine import ROOT, run

TEXT = (ROOT / "docker-compose.yml").read_text()
COMPOSE = yaml.safe_load(TEXT)
BROKER = COMPOSE["services"]["kafka"]


def test_it_fits_its_schema(tmp_path):
    check = ROOT / "build/venv-packages/bin/check-jsonschema"
    run(check, "--builtin-schema", "vendor.compose-spec", ROOT / "docker-compose.yml")
    wrong = tmp_path / "docker-compose.yml"
    wrong.write_text(TEXT.replace("healthcheck", "healthchecks"))
    with pytest.raises(AssertionError, match="healthchecks"):
        run(check, "--builtin-schema", "vendor.compose-spec", wrong)


def test_the_settings_are_those_of_scripts_kafka_and_the_topics_are_in_the_volume():
    settings = {name[6:].lower().replace("_", "."): str(value) for name, value in BROKER["environment"].items()}
    script = (ROOT / "scripts/kafka").read_text()
    for name in ("offsets.retention.minutes", "message.max.bytes", "replica.fetch.max.bytes", "log.segment.bytes",
                 "transaction.abort.timed.out.transaction.cleanup.interval.ms", "auto.create.topics.enable"):
        assert f"\t{name}={settings[name]}\n" in script
    assert BROKER["volumes"] == [f"kafka-data:{settings['log.dirs']}"] and "kafka-data" in COMPOSE["volumes"]


def test_both_of_its_addresses_answer(tmp_path):
    """Its environment as the image makes properties of it; containers' names are this machine here."""
    for _ in range(3):  # a port may be taken
        ports = random.sample(range(20000, 32000), 3)
        text = "".join(f"{name[6:].lower().replace('_', '.')}={value}\n" for name, value in BROKER["environment"].items()
                       if name not in ("KAFKA_HEAP_OPTS", "KAFKA_LOG_DIRS"))
        text = text.replace("${RIFFLE_KAFKA_PORT:-9092}", str(ports[0])).replace("19092", str(ports[1])).replace("19999", str(ports[2]))
        (tmp_path / "broker.properties").write_text(text.replace("//kafka:", "//127.0.0.1:") + f"log.dirs={tmp_path}/data\n")
        jars = max(path for path in (ROOT / "build/jars").glob("kafka-3.9.*") if path.is_dir())
        java = ["java", "-Xmx512m", "-cp", f"{jars}/*"]
        run(*java, "kafka.tools.StorageTool", "format", "-t", "MkU3OEVBNTcwNTJENDM2Qk", "-c", tmp_path / "broker.properties",
            "--ignore-formatted")
        with open(tmp_path / "log", "w") as log:
            broker = subprocess.Popen([*java, "kafka.Kafka", tmp_path / "broker.properties"], stdout=log, stderr=subprocess.STDOUT)
        try:
            end, said = time.monotonic() + 180, {}
            while time.monotonic() < end and broker.poll() is None and len(said) < 2:
                for port in ports[:2]:
                    done = subprocess.run(["kcat", "-b", f"127.0.0.1:{port}", "-m", "10", "-L"], capture_output=True, text=True)
                    if done.returncode == 0:
                        said[port] = re.findall(r"broker 1 at (\S+)", done.stdout)
            if broker.poll() is None:
                break
        finally:
            broker.send_signal(signal.SIGTERM)
            broker.wait(timeout=120)
    assert said == {port: [f"127.0.0.1:{port}"] for port in ports[:2]}, (tmp_path / "log").read_text()[-3000:]
