"""docs/KAFKA.md: its Java, compiled with Avro's and Kafka's own libraries, reads our records (make test-java)."""

import json
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/KAFKA.md").read_text()
JARS = ROOT / "build/jars/readers"
COORDINATES = ["org.apache.avro:avro:1.12.0", "org.apache.kafka:kafka-clients:3.9.1", "org.slf4j:slf4j-nop:2.0.13"]


@pytest.fixture(scope="session")
def java():
    """java(WORDS...) runs the program of the page, which is compiled by that."""
    subprocess.run([ROOT / "scripts/maven-jars", JARS, *COORDINATES], check=True, timeout=600)
    source = ROOT / "build/jars/ReadRecords.java"
    source.write_text(re.search(r"^```java\n(.*?)^```$", PAGE, re.M | re.S)[1])

    def run(*words):
        done = subprocess.run(["java", "-cp", f"{JARS}/*", source, *map(str, words)], cwd=ROOT, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        return [json.loads(line, strict=False) for line in done.stdout.splitlines()]
    return run


def test_java_reads_batches_and_the_ledger(java, riffle, tools, bootstrap, unique, write_config):
    corpus = ["--bootstrap", bootstrap, "--corpus", unique, "--domain", "a", "--sequences", "40", "--length", "64"]
    subprocess.run([tools / "fill", *corpus], check=True, timeout=300)
    config = write_config({
        "corpus": unique, "sequence_length": 64,
        "tokenizer": {"file": "unused.tiktoken", "pattern": "gpt2", "eos": "<|endoftext|>"},
        "domains": {"a": {"train": ["unused.jsonl"]}},
        "mix": {"name": f"{unique}-mix", "seed": 7, "global_batch": 4, "lanes": 2, "weights": {"a": 1}},
        "kafka": {"bootstrap.servers": bootstrap}})
    riffle("topics", "-c", config, "--create")
    riffle("mix", "-c", config, "--until-step", 4)
    for lane in range(2):
        batches = java(bootstrap, f"{unique}-mix.batches", lane, "Batch")
        assert [(b["mix"], b["step"], b["lane"]) for b in batches] == [(f"{unique}-mix", s, lane) for s in range(4)]
    ledger = java(bootstrap, f"{unique}-mix.ledger", 0, "Ledger")
    assert ledger[-1]["step_next"] == 4


def test_java_reads_a_request_of_a_former_schema_with_the_defaults_of_the_present_one(java, tools, bootstrap, unique):
    value = "".join((ROOT / "tests/vectors/control.hex").read_text().split())  # by schemas/earlier/Control.1.avsc
    subprocess.run([tools / "topic", "write", unique, "1"], check=True, text=True, timeout=60, input=f"0\t0\t{value}\n",
                   env={"RIFFLE_BOOTSTRAP": bootstrap})
    request, = java(bootstrap, unique, 0, "Control")
    assert (request["id"], request["kind"], request["at_step"]) == ("r-9", "SKIP", -1)
    assert (request["run"], request["to_step"], request["global_batch"]) == ("", 0, 0)
