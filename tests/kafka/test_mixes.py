"""Several mixes by one command: each has its own ledger, end and failure, and one that waits holds up no other."""

import json
import os
import pathlib
import re
import signal
import socket
import threading
import urllib.parse

import prometheus_text as prometheus
import pytest

WEIGHTS = {"a": 0.5, "b": 0.3, "c": 0.2}


@pytest.fixture
def several(fill, configure):
    """several(n, **keys) -> n configurations of mixes over one corpus, each with weights of its own."""
    def make(n, **keys):
        fill("a", "b", "c")
        return [configure({**WEIGHTS, "a": 0.5 + i}, name=f"mix{i}", **keys) for i in range(n)]
    return make


def configs(paths):
    return [word for path in paths for word in ("-c", path)]


def name_of(path):
    return re.search(r'"name": "([^"]+)"', path.read_text())[1]


class Log:
    """The stderr of a process, followed by a thread: so that a pipe that is full holds up nobody."""

    def __init__(self, process):
        self.lines = []
        self.thread = threading.Thread(target=lambda: self.lines.extend(process.stderr), daemon=True)
        self.thread.start()

    def has(self, *words):
        return any(all(w in line for w in words) for line in list(self.lines))

    def end(self, process, seconds=120):
        code = process.wait(timeout=seconds)
        self.thread.join(60)
        return code


def test_each_of_several_publishes_what_it_publishes_alone(several, riffle, read):
    paths = several(4)
    done = riffle("mix", "-c", paths[0], *paths[1:3], "--end-at-step", 8)
    riffle("mix", "-c", paths[3], "--end-at-step", 8)
    for path in paths[:3]:
        assert f"mix={name_of(path)} ended before step=8" in done.stderr
    same = riffle("replay", "-c", paths[1], "--steps", "0..8")
    assert same.returncode == 0
    lines = [[line.split("\t")[2] for line in read(path, 8)] for path in paths]
    assert all(len(one) == 64 for one in lines)
    assert len({tuple(one) for one in lines}) == 4, "each has its own weights"


def test_one_that_fails_is_named_and_ends_no_other(several, riffle, read, unique):
    paths = several(3)
    riffle("mix", "-c", paths[1], "--until-step", 2)
    paths[1].write_text(paths[1].read_text().replace('"seed": 7', '"seed": 8'))
    done = riffle("mix", *configs(paths), "--until-step", 6, check=False)
    assert done.returncode == 2
    assert f"riffle mix: mix {unique}-mix1: " in done.stderr
    assert f"1 of 3 mixes failed: {unique}-mix1 (exit 2)" in done.stderr.splitlines()[-1]
    assert len(read(paths[0], 6)) == len(read(paths[2], 6)) == 48


def test_a_mix_that_waits_for_trainers_holds_up_no_other(several, riffle, wait_for):
    paths = several(3, max_lead_steps=4)
    process = riffle.popen("mix", *configs(paths), "--at-once", 1)
    log = Log(process)
    for path in paths:
        wait_for(lambda: log.has("MIX-LEAD", f"mix={name_of(path)}"), f"a wait of {path}")
    process.send_signal(signal.SIGTERM)
    assert log.end(process) == 0, log.lines
    for path in paths:
        assert log.has(f"mix={name_of(path)} stopped before step=4", f": `riffle mix -c {path}` continues at step 4"), log.lines
    lines = [line for line in log.lines if "mixes=3 failed=0" not in line]
    assert all(sum(f"mix={name_of(path)}" in line for path in paths) == 1 for line in lines), "each line says which mix"


def test_a_stop_at_any_time_ends_all(several, riffle):
    """Also those that have not begun."""
    paths = several(2, max_lead_steps=4)
    process = riffle.popen("mix", *configs(paths), "--at-once", 1)
    log = Log(process)
    process.send_signal(signal.SIGTERM)
    code = log.end(process)
    assert code in (0, -signal.SIGTERM), log.lines  # the signal may come before its handler is there


def test_a_killed_parent_leaves_no_mixer_behind(several, riffle, wait_for):
    paths = several(2, max_lead_steps=4)
    process = riffle.popen("mix", *configs(paths))
    log = Log(process)
    wait_for(lambda: all(log.has("step=0", name_of(path)) for path in paths), "the start of both")
    children = [int(pid) for pid in
                pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]
    assert len(children) == 2
    process.kill()
    process.wait()
    wait_for(lambda: not any(pathlib.Path(f"/proc/{pid}").exists() and
                             ") Z " not in pathlib.Path(f"/proc/{pid}/stat").read_text() for pid in children),
             "the end of both")


def test_a_killed_mix_is_named_and_the_others_continue(several, riffle, read, wait_for):
    paths = several(2, max_lead_steps=4)
    process = riffle.popen("mix", *configs(paths))
    log = Log(process)
    wait_for(lambda: all(log.has("step=0", name_of(path)) for path in paths), "the start of both")
    first = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()[0]
    os.kill(int(first), signal.SIGKILL)
    wait_for(lambda: log.has(f"mix={name_of(paths[0])}", "signal 9"), "a word on it")
    assert process.poll() is None
    assert len(read(paths[1], 4)) == 4 * 8
    process.send_signal(signal.SIGTERM)
    assert log.end(process) == 1, log.lines
    assert log.has(f"1 of 2 mixes failed: {name_of(paths[0])} (exit 137)"), log.lines
    assert log.has(f"mix={name_of(paths[1])} stopped before step=4"), log.lines


def test_what_cannot_be_said_of_several(several, riffle, write_config):
    paths = several(2, create=False)
    for words, said in [
            ([*configs(paths), "--mix", "x"], "--mix names one mix, and there are 2"),
            ([*configs(paths), "--accept-config"], "--accept-config asks, and there are 2 mixes: add --yes"),
            ([*configs([paths[0], paths[0]])], "both configure mix"),
            ([*configs(paths[:1]), "1000"], "unexpected argument: 1000"),
            ([*configs(paths), "--metrics", "65535"], "--metrics: 65535: each of 2 listens on a port of its own"),
            ([*configs(paths), "--at-once", 0], "--at-once: out of range")]:
        done = riffle("mix", *words, check=False)
        assert done.returncode == 2 and said in done.stderr, done.stderr


def test_each_gives_its_metrics_at_an_address_of_its_own(several, riffle, wait_for, tmp_path):
    paths = several(3, max_lead_steps=4)
    names = [name_of(path) for path in paths]
    said = tmp_path / "said"

    def start(address):
        with said.open("w") as log:
            return riffle.popen("mix", *configs(paths), "--metrics", address, "--log", "json", stderr=log)

    def listeners():
        """{mix: port} of those that have said where they listen."""
        found = [json.loads(line).get("fields", {}) for line in said.read_text().splitlines()]
        return {f["mix"]: urllib.parse.urlsplit(f["url"]).port for f in found if "url" in f}

    process = start("0")
    wait_for(lambda: len(listeners()) == 3, "three listeners")
    ports = listeners()
    assert sorted(ports) == sorted(names) and len(set(ports.values())) == 3
    for name, port in ports.items():
        def text():
            return prometheus.check(prometheus.fetch(f"http://127.0.0.1:{port}/metrics"), "mix")
        wait_for(lambda: prometheus.value(text(), "riffle_mixer_steps_total", mix=name) == 4, f"four steps of {name}")
        assert {labels["mix"] for samples in text().values() for labels in map(dict, samples)} == {name}
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=60) == 0

    with socket.create_server(("127.0.0.1", 0)) as free:
        first = free.getsockname()[1]
    process = start(first)  # where another program has taken one of them meanwhile, that mix says so
    wait_for(lambda: len(listeners()) + said.read_text().count("Address already in use") >= 3, "three listeners")
    assert all(port == first + names.index(name) for name, port in listeners().items())


def test_what_was_read_ahead_is_given_back_in_a_long_wait_and_read_once_more(fill, configure, riffle, read, wait_for, tmp_path):
    fill("a", "b", "c")
    waits, calm = (configure(WEIGHTS, name=name, max_lead_steps=lead) for name, lead in (("waits", 4), ("calm", 0)))
    riffle("mix", "-c", calm, "--until-step", 24)
    said = tmp_path / "said"
    with open(said, "w") as log:
        process = riffle.popen("mix", "-c", waits, "--metrics", "0", "--log", "json", stderr=log)
    url, found = prometheus.url_of(said), []

    def block_bytes():
        found.append(prometheus.value(prometheus.check(prometheus.fetch(url), "mix"), "riffle_mixer_block_bytes",
                                      mix=name_of(waits)))
        return found[-1]
    wait_for(block_bytes, "blocks that are read ahead")
    wait_for(lambda: block_bytes() == 0, "an end of them")
    lines = [line.split("\t")[2:] for line in read(waits, 24, commit_every=1)]
    assert lines == [line.split("\t")[2:] for line in read(calm, 24)]
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=60) == 0
