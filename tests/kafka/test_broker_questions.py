"""The questions of common/kafka/kafka.h on a real broker: last visible record, watermarks, commits."""

import os
import subprocess
import time

import pytest


@pytest.fixture
def tool(tools, bootstrap):
    def run(name, *words):
        done = subprocess.run(
            [os.path.join(tools, name), *map(str, words)],
            env={**os.environ, "RIFFLE_BOOTSTRAP": bootstrap},
            capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return done.stdout
    return run


# What is written, one run of the tool a line; then the value of the last visible record. Each
# transaction's end takes an offset of its own, and aborted records stay in the log, unseen.
SCRIPTS = {
    "nothing was ever written": ([[]], None),
    "one committed record": ([["commit:1"]], "0"),
    "only aborted records": ([["abort:1"]], None),
    "many aborted transactions": ([["abort:5", "abort:3", "abort:1", "abort:40"]], None),
    "committed, then aborted": ([["commit:3", "abort:1"]], "2"),
    "committed, then an aborted one far longer": ([["commit:3", "abort:1000"]], "2"),
    "aborted, then committed": ([["abort:100", "commit:2"]], "101"),
    "empty transactions at the end": ([["commit:2", "commit:0", "abort:0"]], "1"),
    "no transaction at all": ([["plain:7"]], "6"),
    "plain behind aborted": ([["abort:3", "plain:1"]], "3"),
    "an open transaction hides itself": ([["commit:4", "open:9"]], "3"),
    "the next writer ends the open one": ([["commit:4", "open:9"], ["commit:1"]], "0"),
    "and its records stay unseen": ([["commit:4", "open:9"], ["abort:2"]], "3"),
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_last_visible_record_is_found_whatever_stands_behind_it(tool, unique, name):
    runs, value = SCRIPTS[name]
    topic = f"{unique}.log"
    for words in runs:
        tool("transactions", topic, *words)
    # A commit is answered before its markers are in the partitions: what it shows comes a little later.
    end = time.monotonic() + 60
    while True:
        answer = tool("broker", "last", topic, 0).strip()
        found = None if answer == "none" else answer.split()[1]
        if found == value or time.monotonic() > end:
            break
    assert found == value


def test_the_end_of_a_partition_is_where_an_open_transaction_begins(tool, unique):
    topic = f"{unique}.log"
    tool("transactions", topic, "commit:4", "open:9")  # 4 records and the commit's marker
    assert tool("broker", "watermarks", topic, 1) == "0 5\n"


def test_commits_come_back_with_their_text(tool, unique):
    topic, group = f"{unique}.log", f"{unique}.trainers"
    tool("transactions", topic, "plain:1")
    assert tool("broker", "group", group, topic, 1) == "-1 -\n"
    tool("broker", "commit", group, topic, 0, 41, "step=20")
    assert tool("broker", "group", group, topic, 1) == "41 step=20\n"
