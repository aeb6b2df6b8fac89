"""An administrator deletes what belongs to a mix: its batch topic, steps in the middle of a lane, or its ledger."""

import re
import subprocess

import pytest
from one_kill import Scene
from test_tail_loss import LANES, STEPS, check_whole, mixed

from conftest import wait_until


@pytest.fixture
def s(bootstrap, tools, riffle, fill, configure, read):
    return Scene(bootstrap, tools, riffle, fill, configure, read)


@pytest.mark.parametrize("commits", [LANES, 0])
def test_a_batch_topic_that_is_recreated_under_a_running_mixer_stops_it_and_is_filled(s, tmp_path, commits):
    """A mixer that continues notices it when it writes. Without commits, which go with the topic, it would wait forever."""
    m = mixed(s, "again", STEPS - 10, max_lead_steps=STEPS)
    topic = f"{m.name}.batches"
    log = tmp_path / "mix.log"

    def commit(lanes):
        for lane in range(lanes):
            subprocess.run([s.tools / "broker", "commit", f"{m.name}.trainers", topic, str(lane), "1", "step=30"], env=s.env,
                           check=True, capture_output=True)
    with log.open("w") as out:
        mixer = s.riffle.popen("mix", "-c", m.config, stderr=out)
        wait_until(lambda: m.status()["mix"]["step_next"] == STEPS, "the mixer waiting for its trainers")
        subprocess.run([s.tools / "topic", "write", topic, str(LANES)], env=s.env, check=True, input="", text=True)
        commit(commits)
        assert mixer.wait(60) == 1
    assert re.search(r"ended at \d+ before", log.read_text()), log.read_text()
    assert "holds no record" in log.read_text() and "riffle repair" in log.read_text()
    assert f"lane 3: steps 0..{STEPS}" in m.repair()
    commit(LANES)
    check_whole(s, m)


def lose_in_the_middle(s, m, lane, steps):
    """Records are numbered from 0 in a lane."""
    def tool(command, *words, **more):
        return subprocess.run([s.tools / "topic", command, f"{m.name}.batches", *words], env=s.env, check=True, capture_output=True,
                              text=True, **more).stdout
    lines = tool("read").splitlines(True)
    of_lane = [line for line in lines if line.startswith(f"{lane}\t")]
    tool("write", str(LANES), input="".join(line for line in lines if line not in of_lane[steps]))


@pytest.mark.parametrize("more", [[], ["--from-step", 32], ["--from-step", 0], ["--from-step", 22]])
def test_steps_that_are_missing_in_the_middle_are_named_and_go_to_another_mix(s, more):
    """The search for steps starts before the hole. Whatever it looks for, what it passes on the way is named as it is."""
    m = mixed(s, "hole")
    lose_in_the_middle(s, m, 2, slice(20, 25))
    text = m.refused("lane 2: steps 20..25 are missing in its middle", command=("repair", *more))
    command = re.search(r"`riffle (replay .*)`", text)[1].replace("NAME", f"{m.name}-rest").split()
    assert "wrote 5 steps" in s.riffle(*command).stdout


def test_a_step_after_a_hole_is_the_one_that_is_shown_kept_and_replayed(s):
    """The hole of five steps does not move a later step to its place."""
    m = mixed(s, "after-hole")
    whole = s.read(m.config, 4, first=32)
    shown = s.riffle("inspect", "-c", m.config, 32).stdout
    lose_in_the_middle(s, m, 2, slice(20, 25))
    assert s.riffle("inspect", "-c", m.config, 32).stdout == shown
    m.refused("lane 2, offset 20: step 20 was expected, but this is step 25 of lane 2. `riffle repair", command=("inspect", 20))
    m.refused("lane 2, offset 20: step 24 is missing: step 25 comes first", command=("inspect", 24))
    s.riffle("replay", "-c", m.config, "--steps", "32..40")
    s.riffle("retain", "-c", m.config, "--from-step", 32)
    assert s.read(m.config, 4, first=32) == whole


@pytest.mark.parametrize("place", ["end", "middle"])
def test_a_record_of_another_program_goes_with_the_topic_and_all_batches_are_derived_again(s, place):
    m = mixed(s, f"foreign-{place}")
    topic = f"{m.name}.batches"

    def tool(command, *words, **more):
        return subprocess.run([s.tools / "topic", command, *words], env=s.env, check=True, capture_output=True, text=True, **more).stdout
    lines, foreign = tool("read", topic).splitlines(True), "2\t0\t676172626167650a\n"
    if place == "end":
        tool("append", topic, input=foreign)
        m.refused(f"topic {topic}, lane 2, offset \\d+: .*`riffle repair")
    else:
        at = lines.index([line for line in lines if line.startswith("2\t")][20])
        tool("write", topic, str(LANES), input="".join([*lines[:at], foreign, *lines[at:]]))
    text = m.refused(f"topic {topic}, lane 2, offset \\d+: .*not a riffle record", command=("repair",))
    assert re.search(r"kafka-topics.sh --delete --topic (\S+)\)", text)[1] == topic
    tool("delete", topic)
    for command in re.findall(r"`riffle ([^`]*)`", text):
        s.riffle(*command.split())
    check_whole(s, m)


def test_a_ledger_that_is_gone_is_no_reason_to_begin_again(s):
    m = mixed(s, "gone")
    subprocess.run([s.tools / "topic", "delete", f"{m.name}.ledger"], env=s.env, check=True)
    s.riffle("topics", "-c", m.config, "--create")
    m.refused("ledger was deleted")
    m.refused("the ledger was deleted", command=("repair",))
