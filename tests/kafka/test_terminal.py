"""What commands show on a terminal: bars that fit it, colours that NO_COLOR and TERM=dumb turn off."""

import concurrent.futures
import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import termios

import pytest

from test_feedback import report  # noqa: F401: a fixture

BAR = re.compile(r"\r\x1b\[K([^\r\n]+)(?=\r\x1b\[K)")  # each is cleared by what comes next


@pytest.fixture
def terminal(riffle):
    """terminal(words, columns=80, **environment) -> (exit code, what the terminal got of stdout and stderr)."""
    def run(*words, columns=80, stop_at=None, **env):
        here, there = pty.openpty()
        fcntl.ioctl(there, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        process = subprocess.Popen([riffle.path, *map(str, words)], stdin=subprocess.DEVNULL, stdout=there, stderr=there,
                                   env={**os.environ, "TERM": "xterm", **env})
        os.close(there)
        got = b""
        try:
            while True:
                try:
                    some = os.read(here, 65536)
                except OSError:  # EIO: nobody has it open any more
                    break
                got += some
                if stop_at and stop_at in got:
                    process.send_signal(signal.SIGINT)
                    stop_at = None
        finally:
            os.close(here)
            code = process.wait(timeout=60)
        return code, got.decode()
    return run


@pytest.fixture
def mixed(riffle, fill, configure):
    fill("a", "b", sequences=400)
    config = configure({"a": 1, "b": 1})
    riffle("mix", "-c", config, "--until-step", 40)
    return config


@pytest.mark.parametrize("columns, bar", [
    (80, r"replay  \[#*-*\]  [ \d]\d\d?%(  ETA \d+:\d\d)?  \d+ of 40 steps"), (12, r"re?p?l?a?y?  [ \d]\d\d?%")])
def test_a_replay_has_a_bar_that_fits_the_terminal_and_is_cleared(terminal, mixed, columns, bar):
    code, text = terminal("replay", "-c", mixed, "--steps", "0..40", columns=columns)
    assert code == 0, text
    bars = BAR.findall(text)
    assert bars and all(re.fullmatch(bar, b) and len(b) < columns for b in bars), bars
    assert re.search(r"\r\x1b\[Kreplayed steps 0\.\.40 of mix", text)


def test_a_log_of_json_has_neither_bars_nor_colours(terminal, mixed):
    """Of a terminal as of a file: every line on stderr is an object, also the one that ends the command."""
    code, text = terminal("replay", "-c", mixed, "--steps", "0..40", "--log", "json")
    assert code == 0 and "\x1b" not in text and "replayed steps 0..40" in text
    code, text = terminal("replay", "-c", mixed, "--steps", "40..80", RIFFLE_LOG="json")
    assert code == 1 and "\x1b" not in text
    assert json.loads(text.splitlines()[-1])["level"] == "error"


def test_retain_shows_how_many_partitions_are_cut(terminal, mixed):
    code, text = terminal("retain", "-c", mixed, "--from-step", 10)
    assert code == 0 and BAR.findall(text) == ["retain  [------------------------]    0%  0 of 8 partitions"], text


def test_reweight_shows_how_many_reports_it_has_read(terminal, mixed, report, tmp_path):  # noqa: F811
    report([f"trainers {step} 0 1 a:1:1:1 b:2:1:1" for step in range(40)])
    code, text = terminal("reweight", "-c", mixed, "--method", "doremi", "--out", tmp_path / "w.json")
    bars = BAR.findall(text)
    assert code == 0 and bars and all(re.fullmatch(r"reweight  \[#*-*\]  .*\d+ of \d+ records", b) for b in bars), text


def test_producer_and_export_show_one_line_each(terminal, vocab, bootstrap, unique, tmp_path, write_config):
    line = json.dumps({"text": "word " * 500})
    (tmp_path / "more.sh").write_text(f"while :; do echo '{line}'; sleep 0.05; done\n")
    (tmp_path / "a.jsonl").write_text((line + "\n") * 50)
    config = write_config({
        "corpus": unique, "sequence_length": 64, "split": "1,0,0",
        "tokenizer": {"file": str(vocab / "r50k_base.tiktoken"), "pattern": "gpt2", "eos": "<|endoftext|>"},
        "domains": {"a": {"train": [str(tmp_path / "a.jsonl")]}, "endless": {"exec": f"sh {tmp_path}/more.sh"}},
        "kafka": {"bootstrap.servers": bootstrap}})
    assert terminal("topics", "-c", config, "--create")[0] == 0
    code, text = terminal("produce", "-c", config, "endless", columns=30, stop_at=b" MB")
    bars = BAR.findall(text)
    assert code == 0 and bars, text
    assert all(len(b) < 30 and re.fullmatch(r"endless  \d+\.\d MB(  \d+\.\d\d M tokens/s)?", b) for b in bars), bars
    assert terminal("produce", "-c", config, "a")[0] == 0
    code, text = terminal("export", "-c", config, "a", "--format", "npy", "--out", tmp_path / "out")
    bars = BAR.findall(text)
    assert code == 0 and bars, text
    assert all(re.fullmatch(rf"export {unique}\.a 0/1  \[#*-*\]  .*", b) and len(b) < 80 for b in bars), bars


WANTS = [({}, True), ({"NO_COLOR": "1"}, False), ({"NO_COLOR": ""}, True), ({"TERM": "dumb"}, False)]
COLOURS = {True: ("\x1b[31m", "\x1b[33m", "\x1b[0m"), False: ("", "", "")}


@pytest.mark.parametrize("env, colours", WANTS, ids=str)
def test_errors_and_problems_have_colours_on_a_terminal_that_wants_them(terminal, riffle, mixed, env, colours):
    red, yellow, plain = COLOURS[colours]
    code, text = terminal("mxi", **env)
    assert code == 2 and text.startswith(f"{red}riffle:{plain} unknown command mxi")
    changed = json.loads(mixed.read_text())
    changed["mix"]["seed"] += 1
    other = mixed.parent / "changed.yml"
    other.write_text(json.dumps(changed))
    code, text = terminal("status", "-c", other, **env)
    assert code == 0 and f"\n{yellow}! STATUS-CONFIG{plain} riffle mix would not start" in text
    assert "\x1b" not in riffle("status", "-c", other, env=env).stdout  # a pipe
    assert "\x1b" not in riffle("mxi", check=False, env=env).stderr


def test_warnings_have_colours_on_a_terminal_that_wants_them(terminal, configure):
    """All at once: each waits some seconds for a broker."""
    config = configure({"a": 1}, create=False)
    with concurrent.futures.ThreadPoolExecutor(len(WANTS)) as pool:
        said = [pool.submit(terminal, "status", "-c", config, "-X", "bootstrap.servers=127.0.0.1:1", **env) for env, _ in WANTS]
    for one, (env, colours) in zip(said, WANTS):
        red, yellow, plain = COLOURS[colours]
        code, text = one.result()
        assert code == 1 and f"Z {yellow}warning{plain} kafka: KAFKA-WAIT" in text, (env, text)
        assert f"\n{red}riffle status:{plain} no broker" in text, (env, text)
