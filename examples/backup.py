#!/usr/bin/env python3
"""Keeps the committed records of topics in a file, and puts them into empty topics of the same names: docs/OPERATIONS.md.

    examples/backup.py save pretrain.backup localhost:9092 pretrain.ledger pretrain.control
    examples/backup.py restore pretrain.backup localhost:9092

Needs confluent-kafka. -X name=value: any property of librdkafka; file:PATH or env:NAME in place of a password. A record is a line of JSON, in gzip.
"""

import argparse
import base64
import gzip
import json
import os
import sys

try:
    from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Producer, TopicPartition
except ModuleNotFoundError:
    sys.exit("backup.py needs confluent-kafka: pip install confluent-kafka")

GROUP = "riffle-backup"  # commits nothing; a broker wants the right to READ it all the same
TIMEOUT = 60  # seconds without an answer of the broker


def text_of(raw):
    return None if raw is None else base64.b64encode(raw).decode()


def bytes_of(text):
    return None if text is None else base64.b64decode(text)


def partitions_of(consumer, topic):
    found = consumer.list_topics(topic, timeout=TIMEOUT).topics[topic]
    if found.error is not None:
        sys.exit(f"topic {topic}: {found.error}")
    return [TopicPartition(topic, n, OFFSET_BEGINNING) for n in sorted(found.partitions)]


def end_of(consumer, partition):
    """Where the leader says that the partition ends."""
    return consumer.get_watermark_offsets(partition, timeout=TIMEOUT)[1]


def secret_of(value):
    """The value of a property, as riffle takes it: file:PATH and env:NAME stand for a text that the command line does not show."""
    kind, _, name = value.partition(":")
    if kind == "file":
        with open(name) as file:
            return file.read().rstrip("\n")
    return os.environ[name] if kind == "env" else value


def counts_of(file):
    """Records that a file has of each topic; none where it is not there."""
    counts = {}
    if os.path.exists(file):
        with gzip.open(file, "rt") as lines:
            for line in lines:
                topic = json.loads(line)[0]
                counts[topic] = counts.get(topic, 0) + 1
    return counts


def consumer_of(properties):
    return Consumer({"group.id": GROUP, "enable.auto.commit": False, "isolation.level": "read_committed",
                     "enable.partition.eof": True, "auto.offset.reset": "error", **properties})


def save(file, properties, topics):
    consumer, counts = consumer_of(properties), dict.fromkeys(topics, 0)
    open_ends = [p for topic in topics for p in partitions_of(consumer, topic)]
    consumer.assign(open_ends)
    open_ends = {(p.topic, p.partition): end_of(consumer, p) for p in open_ends}
    with gzip.open(file + ".new", "wt") as out:
        while open_ends:
            m = consumer.poll(TIMEOUT)
            if m is None:
                sys.exit(f"the broker has given nothing for {TIMEOUT} s; without their end: {sorted(open_ends)}")
            if m.error() is None:
                counts[m.topic()] += 1
                headers = [[name, text_of(value)] for name, value in m.headers() or []]
                print(json.dumps([m.topic(), m.partition(), m.offset(), m.timestamp()[1], text_of(m.key()), text_of(m.value()),
                                  headers]), file=out)
            elif m.error().code() == KafkaError._PARTITION_EOF:
                if m.offset() >= open_ends.get((m.topic(), m.partition()), 0):  # a follower that lags reports an earlier end
                    open_ends.pop((m.topic(), m.partition()), None)
            else:
                sys.exit(f"{m.topic() or 'group ' + GROUP}: {m.error()}")
    before = counts_of(file)
    for topic, n in counts.items():
        if n < before.get(topic, topic.endswith(".ledger")):
            os.remove(file + ".new")
            sys.exit(f"topic {topic} has {n} records, and {file} had {before.get(topic, 0)}: nothing is written. Was the topic deleted?")
    os.replace(file + ".new", file)
    consumer.close()
    for topic, n in counts.items():
        print(f"{topic}: {n} records")


def restore(file, properties):
    failures, moved, counts = [], set(), {}
    consumer = consumer_of(properties)
    producer = Producer({"enable.idempotence": True, "message.max.bytes": 100_000_000, "compression.type": "none", **properties})

    def delivered(was):
        def note(error, m):
            if error is not None:
                failures.append(f"topic {m.topic()}: {error}")
            elif m.offset() != was:
                moved.add(m.topic())
        return note

    with gzip.open(file, "rt") as lines:
        for line in lines:
            topic, partition, offset, time_ms, key, value, headers = json.loads(line)
            if topic not in counts:
                for p in partitions_of(consumer, topic):
                    if end_of(consumer, p) > 0:
                        sys.exit(f"topic {topic} is not empty: nothing is written over it")
            counts[topic] = counts.get(topic, 0) + 1
            while True:
                try:
                    producer.produce(topic, bytes_of(value), bytes_of(key), partition, on_delivery=delivered(offset),
                                     timestamp=time_ms, headers=[(name, bytes_of(v)) for name, v in headers])
                    break
                except BufferError:
                    producer.poll(1)
            producer.poll(0)
    left = producer.flush(TIMEOUT)
    if failures or left:
        sys.exit(failures[0] if failures else f"{left} records were not acknowledged within {TIMEOUT} s")
    for topic, n in counts.items():
        print(f"{topic}: {n} records, {'at other offsets' if topic in moved else 'at their offsets'}")
    if control := [topic for topic in moved if topic.endswith(".control")]:
        sys.exit(f"{control[0]}: a mixer would look for requests at the offsets of before. Bring it back without this topic")


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("what", choices=("save", "restore"))
    p.add_argument("file")
    p.add_argument("bootstrap")
    p.add_argument("topics", nargs="*")
    p.add_argument("-X", action="append", default=[], metavar="NAME=VALUE")
    o = p.parse_args()
    properties = {"bootstrap.servers": o.bootstrap, **{name: secret_of(value) for name, value in (x.split("=", 1) for x in o.X)}}
    if o.what == "restore":
        restore(o.file, properties)
    elif o.topics:
        save(o.file, properties, o.topics)
    else:
        p.error("save which topics?")


if __name__ == "__main__":
    main()
