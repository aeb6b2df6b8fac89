"""Names and texts from outside forge no line and command no terminal, and a reader of JSON gets them exactly."""

import json
import re

import pytest

from test_produce import Corpus, corpus  # noqa: F401

NAME = "x\x1b[31m\nFAKE warning mix: MIX-FAKE\t\x9b2J\u202e\u2028.jsonl"
SHOWN = r"x\x1b[31m\nFAKE warning mix: MIX-FAKE\t\u009b2J\u202e\u2028.jsonl"
TEXT = "red \x9b31m turn \u202e break \u2028 end"
ALIVE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


@pytest.fixture
def named(corpus):
    rows = "".join(json.dumps({"text": f"{TEXT} {i} " * 20}) + "\n" for i in range(64))
    (corpus.folder / NAME).write_text("no JSON\n" + rows)
    corpus.config["domains"] = {"a": {"train": ["x*"], "packing": "none"}}
    corpus.config["max_rejects"] = 0.5
    corpus.config["mix"] = {"name": f"{corpus.name}-mix", "seed": 3, "global_batch": 8, "lanes": 2, "max_lead_steps": 0,
                            "weights": {"a": 1}}
    return corpus.create()


def dead(done):
    """What it printed, which must hold nothing that a terminal obeys and no forged line."""
    out = done.stdout + done.stderr
    assert not ALIVE.search(out)
    assert not any(line.startswith("FAKE") for line in out.splitlines())
    return out


def test_the_log_shows_a_file_name_escaped_and_json_has_it_exactly(named):
    out = dead(named.produce())
    assert f'PRODUCE-REJECT file="{SHOWN}" line=1 byte=0: ' in out
    other = named.copy()
    lines = [json.loads(x) for x in other.produce("--log", "json").stderr.splitlines()]
    reject, = [x for x in lines if x.get("id") == "PRODUCE-REJECT"]
    assert reject["fields"] == {"file": NAME, "line": 1, "byte": 0}


def test_tables_show_a_file_name_escaped_and_json_has_it_exactly(named):
    named.produce()
    named.riffle("mix", "-c", named.path, "--until-step", 1)
    assert f"a\t{SHOWN}:1\t" in dead(named.riffle("rejects", "-c", named.path))
    listed = named.riffle("rejects", "-c", named.path, "--json").stdout.split("\n")
    assert json.loads(listed[0])["file"] == NAME
    out = dead(named.riffle("inspect", "-c", named.path, 0, "--text"))
    row = out.splitlines()[1].split("\t")
    assert row[8] == SHOWN and TEXT in json.loads(row[-1])
    step = json.loads(named.riffle("inspect", "-c", named.path, 0, "--text", "--json").stdout)
    document = step["sequences"][0]["documents"][0]
    assert document["source"] == NAME and TEXT in document["text"]
    assert f"\t{SHOWN}\t" in dead(named.riffle("inspect", "-c", named.path, "--document", f"{NAME}:2", "--plan"))


def test_a_failure_shows_a_file_name_escaped(named):
    named.config["on_reject"] = "stop"
    named.write()
    done = named.produce(check=False)
    assert done.returncode == 1
    assert f"riffle produce: a: {SHOWN}:1: " in dead(done)


def test_the_id_of_a_request_is_shown_escaped(named):
    named.produce()
    named.riffle("mix", "-c", named.path, "--until-step", 1)
    named.riffle("weights", "-c", named.path, "a=2", "--id", NAME, check=False)
    assert f"  {SHOWN}  " in dead(named.riffle("requests", "-c", named.path))
