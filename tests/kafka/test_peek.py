"""python -m riffle.peek: the text of a step on a terminal and in a pipe."""

import json
import os
import pty
import re
import subprocess
import sys

import pytest

from conftest import both_forms
from test_produce import Corpus, corpus  # noqa: F401

COLOUR = re.compile(r"\x1b\[[\d;]*m")
ESCAPE = "red \x1b[31m bell \x07 \u202e end"


@pytest.fixture
def mixed(corpus, form):
    for name in "ab":
        rows = [{"text": f"{name} has line {i}\nand a second one; {ESCAPE if i % 2 else 'é ü 漢字'}"} for i in range(64)]
        (corpus.folder / f"{name}.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    corpus.config["domains"] = {d: {"train": [f"{d}.jsonl"], "packing": "none"} for d in "ab"}
    corpus.config["mix"] = {"name": f"{corpus.name}-mix", "seed": 3, "global_batch": 8, "lanes": 4, "max_lead_steps": 0,
                            "weights": {"a": 1, "b": 1}, "batches": form}
    corpus.create()
    corpus.produce()
    corpus.riffle("mix", "-c", corpus.path, "--until-step", 6)
    return corpus


@pytest.fixture
def peek(package, riffle):
    """peek(words, terminal=False, **environment) -> (exit code, stdout, stderr); a terminal has both."""
    def run(*words, terminal=False, **env):
        command = [sys.executable, "-m", "riffle.peek", *map(str, words)]
        env = {**package.env, "RIFFLE_PROGRAM": riffle.path, "TERM": "xterm", "PYTHONIOENCODING": "utf-8", **env}
        if not terminal:
            done = subprocess.run(command, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
            return done.returncode, done.stdout, done.stderr
        here, there = pty.openpty()
        process = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=there, stderr=there)
        os.close(there)
        got = b""
        try:
            while True:
                try:
                    got += os.read(here, 65536)
                except OSError:  # EIO: nobody has it open any more
                    break
        finally:
            os.close(here)
            code = process.wait(timeout=60)
        return code, got.decode().replace("\r\n", "\n"), ""
    return run


@both_forms
def test_the_text_of_a_step_is_shown_and_on_a_terminal_each_domain_has_its_colour(mixed, peek):
    shown = json.loads(mixed.riffle("inspect", "-c", mixed.path, 2, "--text", "--json").stdout)
    code, plain, _ = peek("-c", mixed.path, 2)
    assert code == 0 and "\x1b" not in plain
    assert plain.splitlines()[0].startswith(f"step 2 of {mixed.name}-mix, version 1: 8 sequences   a 4  b 4")
    for s in shown["sequences"]:
        assert f"lane {s['lane']} slot {s['slot']}   {s['domain']}/0 {s['ordinal']}   epoch 0\n" in plain
        for d in s["documents"]:
            assert f"a.jsonl:{d['line']}   {d['tokens']} tokens" in plain or f"b.jsonl:{d['line']}   " in plain
            first = d["text"].split("\n")[0]
            assert f"\n  | {first}\n  | and a second one; " in plain
    assert "é ü 漢字" in plain and r"red \x1b[31m bell \x07 " in plain and "\u202e" not in plain
    code, coloured, _ = peek("-c", mixed.path, 2, terminal=True)
    assert code == 0 and COLOUR.sub("", coloured) == plain
    by_domain = {name: set(re.findall(rf"\x1b\[(\d+)m  \| {name} has line", coloured)) for name in "ab"}
    assert [len(c) for c in by_domain.values()] == [1, 1] and by_domain["a"] != by_domain["b"]
    for env in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        assert peek("-c", mixed.path, 2, terminal=True, **env)[1] == plain


def test_a_rank_sees_its_lanes_and_what_cannot_be_shown_is_said(mixed, peek):
    lanes = lambda text: {int(n) for n in re.findall(r"^lane (\d+) ", text, re.M)}
    assert lanes(peek("-c", mixed.path, 1, "--rank", 1, "--world", 2)[1]) == {2, 3}
    assert [lanes(peek("-c", mixed.path, 1, "--rank", r, "--world", 3)[1]) for r in range(3)] == [{0, 1}, {2}, {3}], "uneven"
    short = peek("-c", mixed.path, 1, "--width", 5, RIFFLE_CONFIG="nowhere.yml")[1]
    assert set(re.findall(r"^  \| (.*)$", short, re.M)) == {"a has\N{HORIZONTAL ELLIPSIS}", "b has\N{HORIZONTAL ELLIPSIS}"}
    assert json.loads(peek(1, "--json", RIFFLE_CONFIG=str(mixed.path))[1])["step"] == 1
    code, out, err = peek("-c", mixed.path, 99)
    assert (code, out) == (1, "") and "is not published yet" in err
    code, out, err = peek("-c", mixed.path, 1, "--rank", 0, "--world", 5)
    assert code == 2 and "has 4 lanes" in err
    assert peek(1)[0] == 2 and peek("-c", mixed.path, 1, RIFFLE_PROGRAM="/nowhere")[0] == 2
