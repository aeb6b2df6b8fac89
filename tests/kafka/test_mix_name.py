"""Which mix is meant: by --mix, by the configuration, and, where neither says it, by the topics of the broker."""

import json
import pathlib

import pytest


@pytest.fixture
def bootstrap(own_broker):
    """Of a broker that has no other mix."""
    return own_broker.bootstrap


def test_the_only_mix_of_a_broker_needs_no_name_and_several_are_listed(riffle, fill, configure, bootstrap, unique, write_config):
    here = {"RIFFLE_BOOTSTRAP": bootstrap, "RIFFLE_CONFIG": ""}
    none = riffle("weights", env=here, check=False)
    assert none.returncode == 2 and "which mix? the broker has none" in none.stderr
    fill("a", "b", sequences=400)
    config = configure({"a": 1, "b": 1})
    riffle("mix", "-c", config, "--until-step", 20)
    mix = f"{unique}-mix"
    without = json.loads(pathlib.Path(config).read_text())
    del without["mix"]
    corpus = write_config(without, "without.yml")
    for words, env in (([], here), (["-c", corpus], {}), (["--mix", mix], here)):
        assert f"mix      {mix}, next step 20" in riffle("weights", *words, env=env).stdout
        assert len(riffle("read", *words, "--steps", 1, env=env).stdout.splitlines()) == 8
        assert "request" in riffle("requests", *words, env=env).stdout.lower()
        assert f"replayed steps 0..20 of mix {mix}: " in riffle("replay", *words, "--steps", "0..20", env=env).stdout
        assert f"would delete steps 0..5 of mix {mix}, 8 lanes" in riffle(
            "retain", *words, "--from-step", 5, "--dry-run", "--force", env=env).stdout
    configure({"a": 1}, name="other")
    several = riffle("replay", "--steps", "0..20", env=here, check=False)
    assert several.returncode == 2
    names = ", ".join(sorted([mix, f"{unique}-other"]))
    assert f"which mix? the broker has 2: {names}: give --mix NAME" in several.stderr
    several = riffle("read", "-c", corpus, check=False)
    assert several.returncode == 2
    assert f"{corpus} has no mix section: which mix? the broker has 2: {names}: give --mix NAME" in several.stderr
    assert f"of mix {mix}: " in riffle("replay", "-c", pathlib.Path(config).with_name("other.yml"), "--mix", mix,
                                       "--steps", "0..20").stdout
    for command in ("status", "runs", "repair", "plan"):
        done = riffle(command, "-c", pathlib.Path(config).with_name("other.yml"), "--mix", mix, "-s", "mix.weights={a: 1, b: 1}",
                      "-s", "domains.b.train=unused.jsonl")
        assert command == "runs" or f"mix      {mix}, " in done.stdout or f"mix {mix}" in done.stdout, done.stdout
    assert riffle("mix", "-c", config, "--mix", "no/name", check=False).returncode == 2
    done = riffle("replay", "--mix", mix, "--steps", "0..2", "--republish", "x", env=here, check=False)
    assert done.returncode == 2 and "--republish: needs the configuration" in done.stderr


def test_without_a_broker_the_name_alone_says_nothing(riffle):
    done = riffle("retain", "--from-step", 1, env={"RIFFLE_BOOTSTRAP": "", "RIFFLE_CONFIG": ""}, check=False)
    assert done.returncode == 2 and "which mix? give -c FILE with a mix section, or a broker (RIFFLE_BOOTSTRAP" in done.stderr
