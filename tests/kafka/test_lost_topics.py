"""Topics that are missing, or were deleted and created again: what riffle says of them on each command."""

import json
import os
import re
import signal
import subprocess

import pytest

STEPS = 20


@pytest.fixture
def tool(tools, bootstrap):
    def run(*words, input=None):
        subprocess.run([tools / words[0], *map(str, words[1:])], env={**os.environ, "RIFFLE_BOOTSTRAP": bootstrap}, check=True,
                       timeout=60, text=True, input=input, stdout=subprocess.DEVNULL)
    return run


@pytest.fixture
def mixed(fill, configure, riffle):
    fill("a", "b")
    config = configure({"a": 0.5, "b": 0.5})
    riffle("mix", "-c", config, "--until-step", STEPS)
    return config


@pytest.fixture
def says(riffle):
    """The last line of a command that fails, and its exit code."""
    def run(code, *words):
        done = riffle(*words, check=False)
        assert done.returncode == code, (words, done.stderr)
        return done.stderr.splitlines()[-1]
    return run


def test_without_topics_every_command_names_the_mix_and_the_command(configure, says, riffle, bootstrap, unique):
    config = configure({"a": 1}, create=False)
    said = f"mix {unique}-mix has no topics on {bootstrap}: 5 of 5 topics are missing, the first: {unique}.a: " \
        f"run `riffle topics -c {config} --create`"
    assert said in says(1, "mix", "-c", config)
    assert "topics are missing, the first: " in says(2, "topics", "-c", config)
    assert f"mix {unique}-mix has no topics on {bootstrap}: " in says(2, "runs", "-c", config)
    assert says(2, "weights", "-c", config).startswith(f"riffle weights: topic {unique}-mix.ledger does not exist on {bootstrap}: ")
    problem, = [p["text"] for p in json.loads(riffle("status", "-c", config, "--json").stdout)["problem_list"]
                if p["code"] == "STATUS-TOPICS-MISSING"]
    assert f"mix {unique}-mix has no topics on {bootstrap}: " in problem and f"riffle topics -c {config} --create" in problem


def test_a_name_that_the_file_does_not_have_is_asked_about(configure, says, fill, unique):
    """`riffle topics --create` with the file alone would create the topics of another mix."""
    fill("a")
    config = configure({"a": 1})
    said = says(1, "mix", "-c", config, "--mix", f"{unique}-mixx")
    assert f"{config} has mix.name {unique}-mix; did you mean that? " in said
    assert f"run `riffle topics -c {config} -s mix.name={unique}-mixx --create`" in said
    for words in (["weights", "a=1"], ["skip", "--list"], ["requests"]):
        for other in (["-s", f"mix.name={unique}-mixx"], ["--mix", f"{unique}-mixx"]):
            said = says(2, *words, "-c", config, *other)
            assert f"{config} has mix.name {unique}-mix; did you mean that? Otherwise: topic {unique}-mixx.ledger does not exist" in said
            assert f"`riffle topics -c {config} -s mix.name={unique}-mixx --create`" in said


@pytest.mark.parametrize("how", ["missing", "empty"])
def test_a_ledger_that_is_gone_is_not_a_mix_that_has_not_begun(mixed, says, tool, riffle, unique, how):
    tool("topic", "delete", f"{unique}-mix.ledger")
    if how == "empty":
        tool("topic", "write", f"{unique}-mix.ledger", 1, input="")
    lost = f"topic {unique}-mix.ledger is {how}, and {unique}-mix.batches has held steps: the ledger was deleted"
    for words in (["mix"], ["weights"], ["weights", "a=0.6"], ["read", "--from-step", STEPS, "--timeout", 3, "--format", "none"]):
        assert lost in says(1, *words, "-c", mixed), words
    assert lost in riffle("status", "-c", mixed).stdout


def test_a_batch_topic_that_is_empty_is_said_to_be_that_although_one_transaction_held_all_steps(mixed, says, tool, unique):
    tool("topic", "write", f"{unique}-mix.batches", 8, input="")
    said = says(1, "read", "-c", mixed, "--timeout", 20, "--format", "none")
    assert f"topic {unique}-mix.batches was deleted and created again: lane 0 never held a record" in said
    assert re.search("`riffle repair[^`]*` fills it", said), said


def test_a_topic_with_other_settings_is_told_with_the_whole_command(mixed, says, tool, unique):
    tool("topic", "delete", f"{unique}-mix.batches")
    tool("broker", "make", f"{unique}-mix.batches", 8, "retention.ms=604800000")
    said = says(2, "topics", "-c", mixed)
    assert "retention.ms is 604800000, must be -1" in said
    assert re.search(r"`kafka-configs.sh --bootstrap-server \S+ --alter --entity-type topics --entity-name "
                     rf"{unique}-mix.batches --add-config \S*retention.ms=-1\S*`", said)


def test_a_domain_that_is_empty_is_named_by_replay_and_inspect(mixed, says, tool, riffle, fill, unique):
    tool("topic", "write", f"{unique}.a", 1, input="")
    said = says(1, "replay", "-c", mixed, "--steps", "0..5")
    assert f"topic {unique}.a is empty, and the mix has drawn from domain a: the topic was recreated. " \
        f"Run `riffle produce -c {mixed} a` to publish it again" in said
    shown = riffle("inspect", "-c", mixed, 0)
    assert f"INSPECT-NO-LINES topic {unique}.a no longer holds sequence " in shown.stderr and f"{unique}.b" not in shown.stderr
    tool("topic", "delete", f"{unique}.a")
    fill("a", seed=2)
    assert "is not the one that the mix has drawn: the topic was recreated and holds other text" in \
        says(1, "replay", "-c", mixed, "--steps", "0..5")


def test_a_step_before_the_mix_has_begun_is_told_with_the_command_and_its_options(fill, configure, says, unique, monkeypatch):
    fill("a")
    config = configure({"a": 1})
    told = f"step 0 of mix {unique}-mix is not published yet: the mix has not begun: run `riffle mix"
    assert f"{told} -c {config}`" in says(1, "inspect", "-c", config, 0)
    override = "mix.max_lead_steps=7"
    assert f"{told} -c {config} -s {override}`" in says(1, "inspect", "-c", config, 0, "-s", override)
    monkeypatch.setenv("RIFFLE_CONFIG", str(config))
    assert f"{told}`" in says(1, "inspect", 0)
    assert f"{told} -s {override} -s mix.name={unique}-mix`" in says(1, "inspect", 0, "-s", override, "--mix", f"{unique}-mix")


def test_a_mixer_whose_batch_topic_is_deleted_names_the_topic_and_no_other_mix(fill, configure, riffle, tool, bootstrap,
                                                                                 unique):
    fill("a")
    config = configure({"a": 1}, max_lead_steps=4)
    mixer = riffle.popen("mix", "-c", config)
    try:
        while "MIX-LEAD" not in (line := mixer.stderr.readline()):
            assert line, "the mixer has ended"
        tool("topic", "delete", f"{unique}-mix.batches")
        said = mixer.communicate(timeout=60)[1]
    finally:
        mixer.kill()
    assert mixer.returncode in (1, 2) and f"topic {unique}-mix.batches does not exist on {bootstrap}: `riffle topics" in said, said
    assert "did you mean" not in said


def test_a_mixer_whose_ledger_is_deleted_says_so_once_and_not_at_each_try(fill, configure, riffle, unique):
    fill("a")
    config = configure({"a": 1}, max_lead_steps=4)
    mixer = riffle.popen("mix", "-c", config)
    try:
        while "MIX-LEAD" not in (line := mixer.stderr.readline()):
            assert line, "the mixer has ended"
        deleted = riffle("topics", "-c", config, "--delete", "--mix", "--yes").stderr
        assert f"TOPICS-MIXER a mixer of mix {unique}-mix is active on " in deleted, deleted
        while "Unknown partition" not in (line := mixer.stderr.readline()):
            assert line, "the mixer has ended"
        with pytest.raises(subprocess.TimeoutExpired):
            mixer.wait(4)  # it tries twice a second
        mixer.terminate()
        said = mixer.communicate(timeout=60)[1]
    finally:
        mixer.kill()
    assert mixer.returncode == 0 and "MIX-RECOVER" in line and "MIX-RECOVER" not in said, said


def test_a_second_mixer_says_that_it_takes_over_and_a_killed_one_is_no_reason_to_say_nothing(fill, configure, says, riffle, unique):
    fill("a", "b")
    config = configure({"a": 0.5, "b": 0.5}, max_lead_steps=8)
    first = riffle.popen("mix", "-c", config)
    mixer = re.search("mixer=([0-9a-f]{16})", first.stderr.readline())[1]
    second = riffle.popen("mix", "-c", config)
    line = second.stderr.readline()
    assert f"MIX-TAKEOVER mix={unique}-mix: took over from mixer {mixer} on " in line and " --standby` waits" in line
    said = first.communicate(timeout=60)[1]
    assert first.returncode == 3 and " --standby` waits for its turn instead" in said
    riffle("weights", "-c", config, "a=0.6")
    while "accepted" not in line:
        line = second.stderr.readline()
    assert 'what="takes effect at step' in line and "; a: " in line and "?" not in line
    second.send_signal(signal.SIGKILL)
    second.communicate()
    idle = riffle("mix", "-c", config, "--until-step", 1)
    assert "another mixer is active on " in idle.stderr and "or was within the last 10 s: nothing to do" in idle.stderr
    assert "the configuration differs from the ledger's" in \
        says(2, "mix", "-c", config, "--until-step", 1, "-s", "mix.weights.a=0.9")
    waits = riffle("weights", "-c", config, "a=0.7", "--timeout", 3, check=False)
    assert waits.returncode == 1 and "REQUEST-WAIT a mixer is registered on " in waits.stderr
    late = says(2, "mix", "-c", config, "--until-step", 8, "--accept-config", "--yes", "-s", "mix.weights.a=0.9")
    assert "the changed configuration is not accepted: give --until-step 9 or more" in late
