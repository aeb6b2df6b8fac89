"""riffle topics on a real broker: shown, made, checked, deleted."""

import os
import pty
import re
import subprocess
import time

import pytest

from conftest import wait_until


@pytest.fixture
def broker(tools, bootstrap):
    def run(*words):
        done = subprocess.run(
            [os.path.join(tools, "broker"), *map(str, words)],
            env={**os.environ, "RIFFLE_BOOTSTRAP": bootstrap},
            capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return done.stdout
    return run


@pytest.fixture
def config(unique, bootstrap, write_config):
    """Writes a configuration of two domains and a mix; `change` edits it first."""
    def write(change=lambda c: None, name="run.yml"):
        c = {
            "corpus": f"{unique}c",
            "tokenizer": {"file": "cl100k_base.tiktoken", "pattern": "cl100k",
                          "eos": "<|endoftext|>"},
            "sequence_length": 2048,
            "split": "949,50,1",
            "domains": {
                "code": {"train": ["code.jsonl"]},
                "web": {"train": ["web.jsonl"], "valid": ["web.val.jsonl"], "partitions": 3},
            },
            "mix": {"name": f"{unique}m", "seed": 1, "global_batch": 64, "lanes": 8,
                    "weights": {"code": 0.5, "web": 0.5}},
            "kafka": {"bootstrap.servers": bootstrap},
        }
        change(c)
        return write_config(c, name)
    return write


def planned(unique):
    """Name -> partitions."""
    c, m = f"{unique}c", f"{unique}m"
    return {f"{c}.code": 1, f"{c}.code.valid": 1, f"{c}.code.test": 1, f"{c}.web": 3,
            f"{c}.web.valid": 3, f"{c}.rejects": 1, f"{m}.batches": 8, f"{m}.ledger": 1,
            f"{m}.control": 1, f"{m}.feedback": 1}


def table(done):
    """Name -> (partitions, state)."""
    rows = {}
    for line in done.stdout.splitlines()[1:]:
        if not line:
            break
        name, partitions, _, state = line.split(None, 3)
        rows[name] = (int(partitions), state)
    return rows


def described(broker, topic):
    partitions, *settings = broker("describe", topic).splitlines()
    return int(partitions), dict(line.split("=", 1) for line in settings)


def test_missing_topics_are_shown_and_are_exit_2(riffle, config, unique):
    done = riffle("topics", "-c", config(), check=False)
    assert done.returncode == 2
    assert table(done) == {name: (n, "missing") for name, n in planned(unique).items()}
    assert "10 of 10 topics are missing" in done.stderr
    assert "--create" in done.stderr


def test_create_makes_every_topic_as_planned_and_again_changes_nothing(
        riffle, config, unique, broker):
    path = config()
    for state in ["created", "present"]:
        done = riffle("topics", "-c", path, "--create")
        assert table(done) == {name: (n, state) for name, n in planned(unique).items()}
        assert [line for line in done.stderr.splitlines() if "TOPICS-FLUSH" not in line] == []
    for name, n in planned(unique).items():
        partitions, settings = described(broker, name)
        assert partitions == n
        assert settings["retention.ms"] == "-1"
        assert settings["retention.bytes"] == "-1"
        assert settings["cleanup.policy"] == "delete"
        assert settings["compression.type"] == "producer"
        assert settings["message.timestamp.type"] == "CreateTime"
        assert settings["min.insync.replicas"] == "1"
        assert int(settings["max.message.bytes"]) >= 1 << 20
        assert int(settings["segment.bytes"]) >= int(settings["max.message.bytes"])


def test_a_lane_of_sixty_megabytes_fits_its_topic(riffle, config, unique, broker):
    def change(c):
        c["sequence_length"] = 1 << 20
        c["mix"].update(global_batch=19, lanes=1)
    riffle("topics", "-c", config(change), "--create")
    _, settings = described(broker, f"{unique}m.batches")
    lane = ((1 << 20) + 1) * 3 * 19
    assert lane + (1 << 20) < int(settings["max.message.bytes"])
    assert lane + (1 << 20) < int(settings["segment.bytes"])


def test_another_number_of_partitions_is_exit_2_and_named(riffle, config, unique, broker):
    path = config()
    broker("make", f"{unique}c.code", 2)
    broker("make", f"{unique}m.batches", 4)
    done = riffle("topics", "-c", path, "--create", check=False)
    assert done.returncode == 2
    assert "2 of 10 topics are not as the configuration wants" in done.stderr
    rows = table(done)
    assert "has 2 partitions, the configuration wants 1 (domains.code.partitions): set it back to 2, or publish the domain under " in \
        rows[f"{unique}c.code"][1]
    assert "has 4 partitions, the configuration wants 8 (mix.lanes): set it back to 4, or give mix.name another name, because " in \
        rows[f"{unique}m.batches"][1]
    assert sum(state == "created" for _, state in rows.values()) == 8  # the others


@pytest.mark.parametrize("setting,says", [
    ("retention.ms=1000000", "retention.ms is 1000000, must be -1"),
    ("retention.bytes=1000000", "retention.bytes is 1000000, must be -1"),
    ("cleanup.policy=compact", "cleanup.policy is compact, must be delete"),
    ("compression.type=gzip", "compression.type is gzip, must be producer"),
    ("message.timestamp.type=LogAppendTime", "message.timestamp.type is LogAppendTime"),
    ("max.message.bytes=1048575", "max.message.bytes is 1048575, must be 1048576 or more"),
])
def test_a_setting_that_loses_records_is_named(riffle, config, unique, broker, setting, says):
    path = config(lambda c: c.pop("mix"))
    broker("make", f"{unique}c.code", 1, setting)
    done = riffle("topics", "-c", path, check=False)
    assert done.returncode == 2
    assert says in table(done)[f"{unique}c.code"][1]


def test_a_single_replica_that_is_not_flushed_is_warned_of(riffle, config, unique, broker):
    path = config(lambda c: c.pop("mix"))
    broker("make", f"{unique}c.code", 1, "flush.messages=1", "retention.ms=-1", "max.message.bytes=9000000")
    done = riffle("topics", "-c", path, "--create")
    assert f"TOPICS-FLUSH {len(table(done)) - 1} topics" in done.stderr
    assert "TOPICS-UNCLEAN" not in done.stderr and "TOPICS-MIN-INSYNC" not in done.stderr


def test_settings_under_which_three_replicas_lose_records_are_warned_of(riffle, config, unique, lagging_brokers):
    def change(c):
        c.pop("mix")
        c["topics"] = {"replication": 3, "min_insync_replicas": 1}
        c["kafka"]["bootstrap.servers"] = lagging_brokers.bootstrap
    path = config(change)
    made = riffle("topics", "-c", path, "--create").stderr
    assert "TOPICS-MIN-INSYNC 6 topics, the first: " in made and "topics.min_insync_replicas: 2" in made
    assert "TOPICS-UNCLEAN" not in made and "TOPICS-FLUSH" not in made
    lagging_brokers.configure(f"{unique}c.web", "unclean.leader.election.enable=true")
    lagging_brokers.configure(f"{unique}c.web", "min.insync.replicas=2")
    said = lambda: riffle("topics", "-c", path, check=False).stderr
    wait_until(lambda: f"TOPICS-UNCLEAN 1 topic, the first: {unique}c.web: " in said(), "the brokers' new setting")
    wait_until(lambda: "TOPICS-MIN-INSYNC 5 topics" in said(), "the other one")


def test_a_segment_smaller_than_the_largest_record_is_named(riffle, config, unique, broker):
    path = config()
    broker("make", f"{unique}m.ledger", 1, "segment.bytes=20000000")
    state = table(riffle("topics", "-c", path, check=False))[f"{unique}m.ledger"][1]
    assert re.search("segment.bytes is 20000000, must be [0-9]{8} or more", state)


def test_greater_limits_than_planned_are_right(riffle, config, unique, broker):
    path = config(lambda c: c.pop("mix"))
    broker("make", f"{unique}c.code", 1, "retention.ms=-1", "max.message.bytes=9000000",
           "segment.bytes=900000000")
    done = riffle("topics", "-c", path, "--create")
    assert table(done)[f"{unique}c.code"] == (1, "present")


def test_more_replicas_than_brokers_is_told(riffle, config):
    def change(c):
        c["topics"] = {"replication": 9}
    done = riffle("topics", "-c", config(change), "--create", check=False)
    assert done.returncode == 1
    assert "replication factor" in done.stderr.lower()
    assert len(done.stderr.splitlines()) == 1


def test_delete_asks_for_yes_where_there_is_no_terminal(riffle, config, unique):
    path = config()
    riffle("topics", "-c", path, "--create")
    done = riffle("topics", "-c", path, "--delete", check=False, input="yes\n")
    assert done.returncode == 2
    assert "--yes" in done.stderr
    assert len(table(riffle("topics", "-c", path))) == 10  # all are still there
    done = riffle("topics", "-c", path, "--delete", "--yes")
    assert {state for _, state in table(done).values()} == {"deleted"}
    done = riffle("topics", "-c", path, "--delete", "--yes")  # nothing is left: that is no failure
    assert {state for _, state in table(done).values()} == {"missing"}


def test_delete_beside_mixes_that_others_delete(riffle, config, unique, tmp_path):
    def others(k):
        def of_others(c):
            c["corpus"] = f"{unique}c{k}"
            c["domains"] = {"d": {"train": ["d.jsonl"]}}
            c["mix"] |= {"name": f"{unique}m{k}", "weights": {"d": 1}}
        return config(of_others, f"others{k}.yml")
    loop = ('for i in 1 2 3 4 5 6; do "$1" topics -c "$2" --create '
            '&& "$1" topics -c "$2" --delete --mix --yes || exit; done')
    said = [tmp_path / f"others{k}.log" for k in range(5)]
    loops = [subprocess.Popen(["sh", "-c", loop, "sh", riffle.path, others(k)], stdout=out, stderr=out)
             for k, out in enumerate(path.open("w") for path in said)]
    ours = config(lambda c: c.pop("mix"))
    answers = []
    while any(p.poll() is None for p in loops):
        answers.append(riffle("topics", "-c", ours, "--delete", "--yes", check=False))
    for process, log in zip(loops, said):
        assert process.wait() == 0, log.read_text()
    assert [a.stderr for a in answers if a.returncode] == []


def test_topics_that_were_just_created_are_not_asked_for_their_offsets(riffle, config):
    """Of several brokers the one that is asked may not know them yet: the command failed although all was created."""
    def asks(*words):
        return "ListOffsets" in riffle("topics", "-c", path, "-v", "-X", "debug=protocol", *words).stderr
    path = config()
    assert not asks("--create")
    assert asks("--create")


@pytest.mark.parametrize("answer,gone", [("yes\n", True), ("no\n", False), ("y\n", False)])
def test_delete_asks_on_a_terminal(riffle, config, answer, gone):
    path = config(lambda c: c.pop("mix"))
    riffle("topics", "-c", path, "--create")
    ours, theirs = pty.openpty()
    process = riffle.popen("topics", "-c", path, "--delete", stdin=theirs)
    os.write(ours, answer.encode())
    _, stderr = process.communicate(timeout=60)
    os.close(ours)
    os.close(theirs)
    assert "Type yes" in stderr
    assert (riffle("topics", "-c", path, check=False).returncode == 2) == gone


def test_delete_and_create_recreates_them(riffle, config, unique, tools, bootstrap, broker):
    path = config()
    riffle("topics", "-c", path, "--create")
    subprocess.run([os.path.join(tools, "transactions"), f"{unique}m.ledger", "plain:3"],
                   env={**os.environ, "RIFFLE_BOOTSTRAP": bootstrap}, check=True, timeout=60)
    assert broker("watermarks", f"{unique}m.ledger", 1) == "0 3\n"
    done = riffle("topics", "-c", path, "--delete", "--create", "--yes")
    assert {state for _, state in table(done).values()} == {"created"}
    assert broker("watermarks", f"{unique}m.ledger", 1) == "0 0\n"


def test_no_broker_is_one_sentence_and_exit_1_within_ten_seconds(riffle, config):
    def change(c):
        c["kafka"]["bootstrap.servers"] = "127.0.0.1:1"
    begin = time.monotonic()
    done = riffle("topics", "-c", config(change), check=False)
    assert time.monotonic() - begin < 10
    assert done.returncode == 1
    said = [line for line in done.stderr.splitlines() if "KAFKA-WAIT" not in line]  # while it waits for a broker
    assert len(said) == 1
    assert "no broker answers at 127.0.0.1:1 (bootstrap.servers)" in said[0]
    assert "onnection refused" in done.stderr


def test_a_wrong_property_is_exit_2(riffle, config):
    for words, says in [(("-X", "no.such=1"), "librdkafka has no such property"),
                        (("-X", "security.protocol=tls"), "security.protocol")]:
        done = riffle("topics", "-c", config(), *words, check=False)
        assert done.returncode == 2
        assert says in done.stderr
