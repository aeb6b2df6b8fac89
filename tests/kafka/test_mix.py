"""riffle mix on a real broker: determinism, kill -9 at every fault point, fencing, shares, epochs.

Domains are synthetic (tests/tools/fill.c): whole topics as the producer leaves them.
"""

import collections
import json
import os
import pathlib
import re
import signal
import struct
import subprocess
import time

import pytest

from conftest import SANITIZED, wait_until
from wire_proxy import FETCH, Fate, Proxy


def counts(lines):
    total = collections.Counter()
    for line in lines:
        for part in line.split("\t")[3].split(","):
            domain, count = part.split(":")
            total[domain] += int(count)
    return total


def test_two_mixes_of_one_corpus_and_seed_are_equal(riffle, fill, configure, read):
    fill("a", "b", "c", sequences=150)
    weights = {"a": 0.5, "b": 0.3, "c": 0.2}
    one, two = configure(weights, "one"), configure(weights, "two", transaction_bytes=100000, transaction_ms=5)
    for config in (one, two):
        riffle("mix", "-c", config, "--until-step", 60)
    assert read(one, 60) == read(two, 60)
    other = configure(weights, "other", seed=8)
    riffle("mix", "-c", other, "--until-step", 60)
    assert read(one, 60) != read(other, 60)


@pytest.mark.parametrize("point", ["mix.before_begin:3", "mix.mid_produce:77", "mix.after_flush:2", "mix.after_offsets:2",
                                   "mix.after_commit:2", "mix.before_begin:1", "mix.after_commit:1"])
def test_kill_9_at_a_fault_point_leaves_the_undisturbed_steps(riffle, fill, configure, read, point):
    fill("a", "b", sequences=100)
    weights = {"a": 0.7, "b": 0.3}
    calm, stormy = configure(weights, "calm"), configure(weights, "stormy")
    riffle("mix", "-c", calm, "--until-step", 30)
    died = riffle("mix", "-c", stormy, "--until-step", 30, env={"RIFFLE_FAULT": point}, check=False)
    assert died.returncode == -signal.SIGKILL
    assert f"fault: {point.split(':')[0]} reached" in died.stderr
    riffle("mix", "-c", stormy, "--until-step", 30)
    assert read(calm, 30) == read(stormy, 30)


def test_a_second_mixer_fences_the_first_which_exits_3(riffle, fill, configure, read):
    fill("a", "b")
    config = configure({"a": 0.5, "b": 0.5}, max_lead_steps=1000000, runs=["trainers"], transaction_ms=20)
    first = riffle.popen("mix", "-c", config, "--until-step", 1000000, stderr=subprocess.PIPE)
    wait_until(lambda: len(read(config, 1)) == 8, "the first step")
    idle = riffle("mix", "-c", config, "--until-step", 1, timeout=60)
    assert "--until-step 1 is reached, and another mixer is active" in idle.stderr and first.poll() is None
    step = lambda: json.loads(riffle("status", "-c", config, "--json").stdout)["mix"]["step_next"]
    before = step()
    wait_until(lambda: step() > before, "a step of the first")
    second = riffle.popen("mix", "-c", config)
    assert first.wait(timeout=60) == 3
    said = first.stderr.read()
    assert "another mixer has taken over" in said and "kafka: KAFKA-" not in said, said
    second.send_signal(signal.SIGTERM)
    assert second.wait(timeout=60) == 0


def test_nothing_to_do_is_said_at_once_although_a_domain_is_not_sealed(riffle, fill, configure, read, bootstrap, unique):
    fill("a", "b")
    config = configure({"a": 0.5, "b": 0.5}, max_lead_steps=8, runs=["trainers"])
    first = riffle.popen("mix", "-c", config)
    wait_until(lambda: len(read(config, 1)) == 8, "the first step")
    subprocess.run(["kcat", "-P", "-b", bootstrap, "-t", f"{unique}.a", "-p", "0"], input=b"garbage\n", check=True)
    idle = riffle("mix", "-c", config, "--until-step", 1, timeout=60)
    assert "--until-step 1 is reached, and another mixer is active" in idle.stderr and "MIX-UNSEALED" not in idle.stderr
    first.send_signal(signal.SIGTERM)
    assert first.wait(timeout=60) == 0


def test_any_world_sees_the_same_lanes(riffle, fill, configure, read):
    fill("a", "b")
    config = configure({"a": 0.5, "b": 0.5})
    riffle("mix", "-c", config, "--until-step", 40)
    everything = sorted(read(config, 40))
    for world in (2, 4, 8):
        parts = [line for rank in range(world) for line in read(config, 40, rank=rank, world=world)]
        assert sorted(parts) == everything


def test_each_transaction_ends_when_it_holds_transaction_bytes_and_not_before(riffle, fill, configure, tools, bootstrap, unique):
    fill("a")
    config = configure({"a": 1}, transaction_bytes=20000, transaction_ms=30000)
    riffle("mix", "-c", config, "--until-step", 60)
    env = {**os.environ, "RIFFLE_BOOTSTRAP": bootstrap}
    read = lambda topic: subprocess.run([tools / "topic", "read", f"{unique}-mix.{topic}"], env=env, check=True, capture_output=True,
                                        text=True).stdout.splitlines()
    lanes = sum(len(line.split("\t")[-1]) // 2 for line in read("batches"))
    transactions = len(read("ledger")) - 1  # a START
    assert 60 > transactions > 2
    assert (transactions - 1) * 20000 <= lanes < (transactions + 1) * 20000 * 1.5


@pytest.mark.parametrize("domains", [3, 35, 200])
def test_realised_counts_keep_to_the_weights(riffle, fill, configure, read, domains):
    """No domain is a whole sequence ahead or two behind at any step boundary, however small its weight."""
    names = [f"d{i:03}" for i in range(domains)]
    raw = [1.0 / (i + 1) ** (1.2 if domains < 100 else 3.5) for i in range(domains)]
    weights = {name: w / sum(raw) for name, w in zip(names, raw)}
    if domains == 200:
        weights[names[-1]] = 3e-7
    fill(*names, sequences=40)
    config = configure(weights, transaction_bytes=1000000, global_batch=64)
    riffle("mix", "-c", config, "--until-step", 100)
    done = collections.Counter()
    by_step = collections.defaultdict(list)
    for line in read(config, 100):
        by_step[int(line.split("\t")[0])].append(line)
    total = sum(weights.values())
    for step in range(100):
        done += counts(by_step[step])
        for name in names:
            behind = (step + 1) * 64 * weights[name] / total - done[name]
            assert -1 < behind < 2, f"step {step} domain {name}: {behind} behind"


def test_an_exhausted_domain_wraps_with_another_order_each_epoch(riffle, fill, configure, read):
    fill("small", sequences=50, partitions=1)
    config = configure({"small": 1})
    riffle("mix", "-c", config, "--until-step", 13)
    drawn = [json.loads(line) for line in read(config, 13, form="jsonl")]
    epochs = collections.defaultdict(list)
    for d in drawn:
        epochs[d["epoch"]].append(d["ordinal"])
    assert sorted(epochs) == [0, 1, 2, 3, 4]
    for epoch in range(4):
        assert sorted(epochs[epoch]) == list(range(50))


def test_orders_of_epochs_differ(riffle, fill, configure, read):
    """Without the permutation inside the batch the order of an epoch is visible."""
    fill("small", sequences=48)
    config = configure({"small": 1}, permute=False)
    riffle("mix", "-c", config, "--until-step", 9)
    ordinals = [json.loads(line)["ordinal"] for line in read(config, 9, form="jsonl")]
    orders = [tuple(ordinals[at:at + 48]) for at in range(0, 144, 48)]
    assert len(set(orders)) == 3
    assert all(sorted(o) == list(range(48)) for o in orders)


def test_several_partitions_are_all_drawn_once_an_epoch(riffle, fill, configure, read):
    fill("wide", sequences=320, partitions=4)
    config = configure({"wide": 1}, partitions=4)
    riffle("mix", "-c", config, "--until-step", 20)
    drawn = [json.loads(line) for line in read(config, 20, form="jsonl")]
    places = {(d["partition"], d["ordinal"]) for d in drawn}
    assert len(places) == 320 and all(d["epoch"] == 0 for d in drawn)


def test_the_offsets_of_the_mixers_group_are_what_was_taken_of_each_partition(riffle, fill, configure, read, tools, bootstrap,
                                                                              unique):
    """Lag tools show them; riffle itself does not read them back."""
    fill("wide", sequences=320, partitions=4)
    config = configure({"wide": 1}, partitions=4)
    riffle("mix", "-c", config, "--until-step", 7)
    drawn = [json.loads(line)["partition"] for line in read(config, 7, form="jsonl")]
    taken = [drawn.count(partition) for partition in range(4)]
    assert len(set(taken)) > 1, "equal numbers would not show a partition's offset at another one"
    group = subprocess.run([tools / "broker", "group", f"{unique}-mix.mixer", f"{unique}.wide", "4"], check=True, text=True,
                           capture_output=True, timeout=60, env={**os.environ, "RIFFLE_BOOTSTRAP": bootstrap}).stdout
    assert [int(line.split()[0]) for line in group.splitlines()] == taken


def test_the_lead_bounds_the_mixer_and_a_commit_frees_it(riffle, fill, configure, bootstrap, unique):
    fill("a")
    config = configure({"a": 1}, max_lead_steps=10)
    mixer = riffle.popen("mix", "-c", config)
    status = lambda: json.loads(riffle("status", "-c", config, "--json").stdout)
    wait_until(lambda: status()["mix"]["step_next"] == 10, "ten steps")
    riffle("read", "-c", config, "--rank", 0, "--world", 1, "--steps", 4, "--commit-every", 4, "--format", "none")
    wait_until(lambda: status()["mix"]["step_next"] == 14, "fourteen steps")
    began = time.monotonic()
    mixer.send_signal(signal.SIGTERM)
    assert mixer.wait(timeout=60) == 0
    assert time.monotonic() - began < 30


@pytest.fixture
def forget(tools, bootstrap):
    """Deletes a group with its commits."""
    return lambda group: subprocess.run([tools / "broker", "forget", group], check=True, timeout=60,
                                        env={**os.environ, "RIFFLE_BOOTSTRAP": bootstrap})


def test_a_position_that_the_broker_lost_stays_in_the_ledger(riffle, fill, configure, forget, unique, tmp_path):
    """Records that come after the loss must not say step 0, or the next trainer would restart there."""
    fill("a", "b")
    config = configure({"a": 0.5, "b": 0.5}, max_lead_steps=8)
    log = tmp_path / "mix.log"
    mixer = riffle.popen("mix", "-c", config, stderr=open(log, "w"))
    trainer = ["read", "-c", config, "--commit-every", 1, "--format", "none"]
    riffle(*trainer, "--steps", 40)
    status = lambda: json.loads(riffle("status", "-c", config, "--json").stdout)
    wait_until(lambda: status()["mix"]["step_next"] == 48, "the lead behind the commits")
    forget(f"{unique}-mix.trainers")
    wait_until(lambda: "MIX-RUN-LOST" in log.read_text(), "a warning of the loss")
    for answered in range(2):
        if answered:
            riffle("weights", "-c", config, "a=0.4", "b=0.6")
        refused = riffle(*trainer, "--steps", 1, check=False)
        assert refused.returncode == 1 and "was at step 40, as the ledger says" in refused.stderr
        assert [p for p in status()["problems"] if "run trainers is at step 40 in the ledger" in p]
    mixer.send_signal(signal.SIGTERM)
    assert mixer.wait(timeout=60) == 0
    assert "was at step 40 by the ledger" in riffle("mix", "-c", config, check=False).stderr
    # Taken out of mix.runs, the run is known all the same.
    other = configure({"a": 0.4, "b": 0.6}, create=False, max_lead_steps=0, runs=["others"])
    riffle("mix", "-c", other, "--accept-config", "--yes", "--until-step", 60)
    riffle("weights", "-c", other, "--id", "later", "a=0.5", check=False)
    riffle("mix", "-c", other, "--until-step", 62)
    refused = riffle(*trainer, "--steps", 1, check=False)
    assert refused.returncode == 1 and "was at step 40, as the ledger says" in refused.stderr


def test_a_run_that_goes_back_is_named_and_the_ledger_keeps_its_highest_step(riffle, fill, configure, read, forget, unique,
                                                                             tmp_path):
    fill("a")
    config = configure({"a": 1}, max_lead_steps=8)
    log = tmp_path / "mix.log"
    mixer = riffle.popen("mix", "-c", config, stderr=open(log, "w"))
    read(config, 20, commit_every=1)
    wait_until(lambda: json.loads(riffle("status", "-c", config, "--json").stdout)["mix"]["step_next"] == 28, "the lead")
    riffle("read", "-c", config, "--from-step", 5, "--steps", 1, "--commit-every", 1, "--format", "none")
    wait_until(lambda: re.search(r"MIX-RUN-BACK .*run=trainers: it went back from step=20 to step=6", log.read_text()), "a warning")
    mixer.send_signal(signal.SIGTERM)
    assert mixer.wait(timeout=60) == 0
    riffle("mix", "-c", config, "--until-step", 14)  # a record more: START
    forget(f"{unique}-mix.trainers")
    assert "was at step 20 by the ledger" in riffle("mix", "-c", config, check=False).stderr


def test_a_domain_that_stops_ends_the_mix_on_every_lane(riffle, fill, configure, read):
    fill("a", sequences=100)
    config = configure({"a": 1}, domains={"a": {"on_end": "stop"}})
    done = riffle("mix", "-c", config)
    assert "ended before step=6" in done.stderr
    for rank in range(8):
        lines = riffle("read", "-c", config, "--rank", rank, "--world", 8, "--from-step", 0, "--format", "steps",
                       "--timeout", 20).stdout.splitlines()
        assert len(lines) == 6
    again = riffle("mix", "-c", config)
    assert "ended before step=6" in again.stderr


def test_a_changed_configuration_is_refused_by_name_and_accepted_when_told(riffle, fill, configure, read):
    fill("a", "b")
    config = configure({"a": 0.5, "b": 0.5})
    riffle("mix", "-c", config, "--until-step", 10)
    changed = configure({"a": 0.9, "b": 0.1}, create=False)
    refused = riffle("mix", "-c", changed, "--until-step", 20, check=False)
    assert refused.returncode == 2
    assert "mix.domains.a.weight: 0.5 in the ledger, 0.9 in the file" in refused.stderr
    assert "--accept-config" in refused.stderr
    problems = lambda: json.loads(riffle("status", "-c", changed, "--json").stdout)["problems"]
    assert [p for p in problems() if "riffle mix would not start with this file" in p and "0.5 in the ledger, 0.9" in p]
    riffle("mix", "-c", changed, "--until-step", 110, "--accept-config", "--yes")
    assert not [p for p in problems() if "riffle mix would not start" in p]
    after = counts(read(config, 100, first=10))
    assert abs(after["a"] - 1440) < 3
    fixed = configure({"a": 0.9, "b": 0.1}, create=False, seed=8)
    refused = riffle("mix", "-c", fixed, "--accept-config", "--yes", check=False)
    assert refused.returncode == 2 and "mix.seed: \"7\" in the ledger, \"8\" in the file" in refused.stderr
    # Told before the topics that it would need, which are of no use.
    for key, said in {"batches=derived": 'mix.batches: "copied" in the ledger, "derived" in the file; set it back',
                      "partitions=2": "mix.partitions: mix.lanes in the ledger, 2 in the file; set it back"}.items():
        refused = riffle("mix", "-c", changed, "-s", f"mix.{key}", check=False)
        assert refused.returncode == 2 and said in refused.stderr, refused.stderr


def test_accepting_a_file_says_all_that_changes_and_keeps_what_was_changed_at_run_time(riffle, fill, configure):
    """The weight of a and lr_scale were changed by a request, then the file changes the weight of b alone."""
    fill("a", "b", "c", sequences=400)
    config = configure({"a": 0.4, "b": 0.3, "c": 0.3})
    riffle("mix", "-c", config, "--until-step", 5)
    riffle("weights", "-c", config, "a=0.8", "--lr-scale", 0.5, check=False)
    riffle("mix", "-c", config, "--until-step", 10)

    def state():
        s = json.loads(riffle("weights", "-c", config, "--json").stdout)
        return {d["name"]: d["weight"] for d in s["domains"]}, s["lr_scale"], s["version"]

    assert state() == ({"a": 0.8, "b": 0.3, "c": 0.3}, 0.5, 2)
    changed = configure({"a": 0.4, "b": 0.6, "c": 0.3}, create=False)
    ask = riffle("mix", "-c", changed, "--until-step", 20, "--accept-config", check=False, input="")
    assert ask.returncode == 2 and "add --yes" in ask.stderr
    for part in ("from step 10 on, in force -> will be:", "mix.domains.b.weight: 0.3", "lr_scale: 0.5 ->"):
        assert (part in ask.stderr) == ("lr_scale" not in part), ask.stderr
    assert "  a: weight 0.8, share 57.1429 % -> weight 0.8, share 47.0588 %" in ask.stderr
    assert "  b: weight 0.3, share 21.4286 % -> weight 0.6, share 35.2941 %" in ask.stderr
    for until in (10, 3):
        none = riffle("mix", "-c", changed, "--until-step", until, "--accept-config", "--yes", check=False)
        assert none.returncode == 2 and "no step follows, and the changed configuration is not accepted" in none.stderr
    assert state() == ({"a": 0.8, "b": 0.3, "c": 0.3}, 0.5, 2)
    riffle("mix", "-c", changed, "--until-step", 20, "--accept-config", "--yes")
    assert state() == ({"a": 0.8, "b": 0.6, "c": 0.3}, 0.5, 3)
    both = configure({"a": 0.1, "b": 0.6, "c": 0.3}, create=False)
    riffle("mix", "-c", both, "--until-step", 30, "--accept-config", "--yes")
    assert state() == ({"a": 0.1, "b": 0.6, "c": 0.3}, 0.5, 4)
    riffle("replay", "-c", both, "--steps", "0..30")


def test_a_changed_file_is_asked_about_on_a_terminal(riffle, fill, configure):
    fill("a", "b")
    riffle("mix", "-c", configure({"a": 0.5, "b": 0.5}), "--until-step", 5)
    changed = configure({"a": 0.9, "b": 0.1}, create=False)
    for answer, code in ((b"no\n", 2), (b"yes\n", 0)):
        ours, theirs = os.openpty()
        os.write(ours, answer)
        mixer = riffle.popen("mix", "-c", changed, "--until-step", 8, "--accept-config", stdin=theirs)
        os.close(theirs)
        _, said = mixer.communicate(timeout=60)
        os.close(ours)
        assert mixer.returncode == code, said
        assert "Accept this configuration? Type yes: " in said
        assert ("was not accepted: nothing was done" in said) == (code == 2)
        steps = json.loads(riffle("status", "-c", changed, "--json").stdout)["mix"]["step_next"]
        assert steps == (5 if code == 2 else 8)


def test_a_mixer_that_is_refused_leaves_the_running_one_alone(riffle, fill, configure):
    fill("a", "b")
    config = configure({"a": 0.5, "b": 0.5}, max_lead_steps=64)
    mixer = riffle.popen("mix", "-c", config)

    def steps():
        return json.loads(riffle("status", "-c", config, "--json").stdout)["mix"]["step_next"]

    wait_until(lambda: steps() == 64, "the mixer at its lead")
    refused = riffle("mix", "-c", configure({"a": 0.9, "b": 0.1}, create=False, max_lead_steps=64), check=False)
    assert refused.returncode == 2 and "--accept-config" in refused.stderr
    read = riffle("read", "-c", config, "--steps", 60, "--commit-every", 20, "--format", "none", check=False)
    assert read.returncode == 0
    wait_until(lambda: steps() > 64, "the next step of the mixer")
    mixer.send_signal(signal.SIGTERM)
    assert "MIX-RECOVER" not in mixer.communicate(timeout=60)[1]
    assert mixer.returncode == 0


def test_two_tokenizers_in_one_mix_are_refused(riffle, fill, configure):
    fill("a", tokenizer_fingerprint="0000000000000001")
    fill("b", tokenizer_fingerprint="0000000000000002")
    done = riffle("mix", "-c", configure({"a": 0.5, "b": 0.5}), check=False)
    assert done.returncode == 2 and "one mix cannot hold two tokenizers" in done.stderr
    assert re.search(r"`riffle produce -c \S+ [ab] --restart`", done.stderr), done.stderr


def test_a_domain_without_an_end_is_waited_for_by_name(riffle, configure, fill):
    fill("a")
    config = configure({"a": 0.5, "b": 0.5})
    mixer = riffle.popen("mix", "-c", config, "--until-step", 5)
    line = mixer.stderr.readline()
    assert "MIX-UNSEALED" in line and "domain=b" in line and f"`riffle produce -c {config} b` publishes it" in line
    mixer.send_signal(signal.SIGTERM)
    assert mixer.wait(timeout=60) == 0


def test_a_log_that_is_gone_is_told_with_both_numbers(riffle, configure, fill, unique):
    fill("a")
    fill("b", sequences=90)
    config = configure({"a": 0.5, "b": 0.5})
    riffle("mix", "-c", config, "--until-step", 5)
    riffle("topics", "-c", config, "--delete", "--create", "--domain", "b", "--force", "--yes")
    mixer = riffle.popen("mix", "-c", config, "--until-step", 9)
    line = mixer.stderr.readline()
    assert "MIX-UNSEALED" in line and f"topic {unique}.b holds 0 sequences, and the mix counts with 90" in line, line
    told = {p["code"]: p["text"] for p in json.loads(riffle("status", "-c", config, "--json").stdout)["problem_list"]}
    assert "its topic holds 0 sequences, and the mix counts with 90: its log is gone" in told["STATUS-NOT-PRODUCED"]
    fill("b", sequences=90)  # the same again: what waits goes on
    assert mixer.wait(timeout=60) == 0, mixer.stderr.read()


def test_a_domain_recreated_with_other_data_is_told_with_what_to_do(riffle, configure, fill, unique):
    fill("b", sequences=600)
    config = configure({"b": 1}, seed=2)  # draws a block that is gone first
    riffle("mix", "-c", config, "--until-step", 5)
    empty = ["topics", "-c", config, "--delete", "--create", "--domain", "b", "--force", "--yes"]
    riffle(*empty)
    fill("b", sequences=475)
    way = f"`riffle status -c {config}` says how to publish the same files again; or begin a mix of another name"
    done = riffle("mix", "-c", config, "--until-step", 9, check=False)
    assert done.returncode == 1 and (
        f"topic {unique}.b: domain b partition 0: the mix counts with 600 sequences, the topic holds 475: it was recreated or cut. {way}"
        in done.stderr), done.stderr
    done = riffle("replay", "-c", config, "--steps", "0..5", check=False)
    assert done.returncode == 1 and f"the log has lost its end, or the topic was recreated. {way}" in done.stderr, done.stderr
    told = {p["code"]: p["text"] for p in json.loads(riffle("status", "-c", config, "--json").stdout)["problem_list"]}
    assert "its topic holds 475 sequences, and the mix counts with 600: it was recreated with other data. " \
        f"`riffle {' '.join(map(str, empty[:-1]))}` empties it" in told["STATUS-NOT-PRODUCED"]
    riffle(*empty)
    fill("b", sequences=599)  # which ends within a block
    done = riffle("replay", "-c", config, "--steps", "0..5", check=False)
    assert done.returncode == 1 and done.stderr.endswith(
        "step 0: domain b partition 0: the mix counts with 600 sequences, the topic holds 599: it was recreated or cut. "
        f"{way}\n"), done.stderr
    riffle(*empty)
    fill("b", sequences=600)
    riffle("mix", "-c", config, "--until-step", 9)


def test_missing_topics_and_a_wrong_number_of_partitions_are_said(riffle, fill, configure, bootstrap, unique):
    config = configure({"a": 1}, create=False)
    done = riffle("mix", "-c", config, check=False)
    assert done.returncode == 1 and done.stderr.count("\n") == 1  # somebody may create them yet
    assert f"mix {unique}-mix has no topics on {bootstrap}: 5 of 5 topics are missing, the first: {unique}.a: run `riffle topics -c " \
        in done.stderr
    fill("a", partitions=2)
    done = riffle("mix", "-c", config, check=False)
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert "2 partitions, the configuration wants 1" in done.stderr


def test_garbage_in_a_domain_topic_is_read_over_or_quarantined(riffle, fill, configure, read, bootstrap, unique):
    """Foreign records between sequences do not move a draw; lost ordinals are quarantined, the same on a replay."""
    fill("a", sequences=60)
    config = configure({"a": 1})
    calm = configure({"a": 1}, "calm")
    riffle("mix", "-c", calm, "--until-step", 12)
    subprocess.run(["kcat", "-P", "-b", bootstrap, "-t", f"{unique}.a", "-p", "0"], input=b"garbage\nmore garbage\n",
                   check=True)
    # The topic no longer ends with its End: the mixer must not take the garbage for a seal.
    mixer = riffle.popen("mix", "-c", config, "--until-step", 12)
    assert "MIX-TAIL" in mixer.stderr.readline()
    assert "MIX-UNSEALED" in mixer.stderr.readline()
    mixer.send_signal(signal.SIGTERM)
    assert mixer.wait(timeout=60) == 0


def test_no_broker_is_one_sentence_and_exit_1(riffle, configure):
    config = configure({"a": 1}, create=False)
    done = riffle("mix", "-c", config, "-X", "bootstrap.servers=127.0.0.1:1", check=False, env={"RIFFLE_BOOTSTRAP": ""})
    assert done.returncode == 1
    said = [line for line in done.stderr.splitlines() if "KAFKA-WAIT" not in line]  # while it waits for a broker
    assert len(said) == 1 and "127.0.0.1:1" in said[0]


def test_too_little_memory_is_refused_with_what_would_do(riffle, fill, configure):
    fill("a")
    done = riffle("mix", "-c", configure({"a": 1}, memory="1MB"), check=False)
    assert done.returncode == 2 and "mix.memory" in done.stderr and "allow" in done.stderr


def test_an_accepted_domain_without_sequences_is_refused_and_the_mix_goes_on(riffle, fill, configure, read):
    fill("a")
    fill("none", sequences=0)
    riffle("mix", "-c", configure({"a": 1}), "--until-step", 5)
    refused = riffle("mix", "-c", configure({"a": 1, "none": 1}), "--accept-config", "--yes", check=False)
    assert refused.returncode == 2 and "domain none has weight 1 and not one sequence" in refused.stderr
    riffle("mix", "-c", configure({"a": 1}), "--until-step", 10)
    assert len(read(configure({"a": 1}), 10)) == 80


def records_of(bootstrap, topic):
    """The raw records of partition 0."""
    read = lambda form: subprocess.run(["kcat", "-C", "-b", bootstrap, "-t", topic, "-p", "0", "-e", "-q", "-f", form],
                                       stdout=subprocess.PIPE, check=True, timeout=60).stdout
    values, at, out = read("%s"), 0, []
    for size in map(int, read("%S\n").split()):
        out.append(values[at:at + size])
        at += size
    return out


def put_records(bootstrap, topic, records, folder):
    """kcat makes a record of each file."""
    files = [folder / f"record{i}" for i in range(len(records))]
    for file, record in zip(files, records):
        file.write_bytes(record)
    subprocess.run(["kcat", "-P", "-b", bootstrap, "-t", topic, "-p", "0", *map(str, files)], check=True, timeout=60)


def test_damage_inside_a_domain_is_quarantined_with_dead_letters_the_same_twice(
        riffle, fill, configure, read, bootstrap, unique, tmp_path):
    fill("whole", sequences=64)
    whole = records_of(bootstrap, f"{unique}.whole")
    assert len(whole) == 65
    torn = whole[10][:-4] + bytes(b ^ 0xff for b in whole[10][-4:])
    damaged = (whole[:10] + [torn] + whole[11:20] + [b"garbage"] + whole[21:31] + [b"foreign"] + whole[31:45]
               + whole[40:45] + whole[45:])
    one, two = configure({"hurt": 1}, "one"), configure({"hurt": 1}, "two", transaction_ms=5)
    put_records(bootstrap, f"{unique}.hurt", damaged, tmp_path)
    for config in (one, two):
        riffle("mix", "-c", config, "--until-step", 8)
    assert read(one, 8) == read(two, 8)
    drawn = [json.loads(line) for line in read(one, 8, form="jsonl")]
    first = sorted(d["ordinal"] for d in drawn if d["epoch"] == 0)
    assert first == [i for i in range(64) if i not in (10, 20)]
    letters = subprocess.run(["kcat", "-C", "-b", bootstrap, "-t", f"{unique}.rejects", "-e", "-q", "-f", "%h %S\n",
                              "-X", "isolation.level=read_committed"], capture_output=True, text=True, check=True)
    lines = letters.stdout.splitlines()
    assert len(lines) == 4
    for ordinal, size in ((10, len(torn)), (20, len(b"garbage"))):
        assert sum(f"riffle.error.ordinal={ordinal}," in line and line.endswith(f" {size}") for line in lines) == 2


def trim(tools, bootstrap, topic, offset):
    subprocess.run([tools / "trim", topic, "0", str(offset)], env={**os.environ, "RIFFLE_BOOTSTRAP": bootstrap},
                   check=True, timeout=60)


def test_a_ledger_that_was_deleted_does_not_begin_the_mix_again(riffle, fill, configure, tools, bootstrap, unique):
    fill("a")
    config = configure({"a": 1})
    riffle("mix", "-c", config, "--until-step", 5)
    trim(tools, bootstrap, f"{unique}-mix.ledger", -1)
    refused = riffle("mix", "-c", config, check=False)
    assert refused.returncode == 1 and "the ledger was deleted" in refused.stderr
    assert f"riffle topics -c {config} --delete --mix --create" in refused.stderr


def test_a_domain_that_was_cut_ends_the_mixer_with_the_topic_and_ordinal(
        riffle, fill, configure, tools, bootstrap, unique):
    fill("a", sequences=2000)
    trim(tools, bootstrap, f"{unique}.a", 1500)
    failed = riffle("mix", "-c", configure({"a": 1}), "--until-step", 100, check=False, timeout=60)
    assert failed.returncode == 1
    assert f"topic {unique}.a partition 0" in failed.stderr and "MIX-RECOVER" not in failed.stderr


def test_a_foreign_record_at_the_end_of_the_ledger_is_named(riffle, fill, configure, bootstrap, unique):
    fill("a")
    config = configure({"a": 1})
    riffle("mix", "-c", config, "--until-step", 5)
    subprocess.run(["kcat", "-P", "-b", bootstrap, "-t", f"{unique}-mix.ledger", "-p", "0"], input=b"hello", check=True)
    failed = riffle("mix", "-c", config, check=False)
    assert failed.returncode == 1 and f"topic {unique}-mix.ledger offset " in failed.stderr


@pytest.mark.parametrize("second", [False, True], ids=["past the time-out", "while another took over"])
def test_a_mixer_that_was_stopped(riffle, fill, configure, read, second, tmp_path):
    """Alone it takes its place again; where another has taken it, it exits 3. The steps are those of a calm mix."""
    log = tmp_path / "held.log"
    fill("a", "b")
    weights = {"a": 0.7, "b": 0.3}
    keys = {"max_lead_steps": 1000000, "transaction_ms": 1000, "transaction_bytes": 1 << 20}
    calm, held = configure(weights, "calm", **keys), configure(weights, "held", **keys)
    limits = [word for name in ("transaction", "message", "socket") for word in ("-X", f"{name}.timeout.ms=2000")]
    with log.open("w") as said:
        mixer = riffle.popen("mix", "-c", held, "--until-step", 20000, *limits, stderr=said)
    status = lambda: json.loads(riffle("status", "-c", held, "--json").stdout)["mix"]["step_next"]
    wait_until(lambda: status() > 0, "the first step")
    if second:
        mixer.send_signal(signal.SIGSTOP)
        steps = status() + 50
        riffle("mix", "-c", held, "--until-step", steps)
        mixer.send_signal(signal.SIGCONT)
        assert mixer.wait(timeout=60) == 3
    else:
        for _ in range(6):  # between two transactions there is nothing to time out
            mixer.send_signal(signal.SIGSTOP)
            stopped_at, began = status(), time.monotonic()
            wait_until(lambda: time.monotonic() - began > 4, "the transaction's time-out")  # a broker looks every second
            mixer.send_signal(signal.SIGCONT)
            wait_until(lambda: status() > stopped_at, "a step after the time-out")
            if "MIX-RECOVER" in log.read_text():
                break
        mixer.send_signal(signal.SIGTERM)
        assert mixer.wait(timeout=60) == 0
        assert "MIX-RECOVER" in log.read_text()
        steps = status()
    riffle("mix", "-c", calm, "--until-step", steps)
    assert read(calm, steps) == read(held, steps)


def test_a_mixer_that_starts_again_looks_at_its_last_request_without_a_wait(riffle, fill, configure, bootstrap, unique):
    """Its first fetch of the control topic begins at a request that it has answered. If it began at the topic's end, the broker
    would hold it for half a second, and the next fetch would have to wait."""
    fill("a", "b")
    config = configure({"a": 0.5, "b": 0.5})
    riffle("mix", "-c", config, "--until-step", 2)
    riffle("weights", "-c", config, "a=0.7", check=False)  # the next mixer answers
    riffle("mix", "-c", config, "--until-step", 4)
    name, fetched = f"{unique}-mix.control".encode(), []

    def decide(key):
        at = proxy.request.find(name) + len(name)
        if key == FETCH and name in proxy.request:  # then: how many partitions, which one, its epoch, the offset
            fetched.append(struct.unpack(">iiiq", proxy.request[at:at + 20])[3])
        return Fate.PASS
    proxy = Proxy(bootstrap, decide)
    try:
        riffle("mix", "-c", config, "--until-step", 6, "-X", f"bootstrap.servers={proxy.address}")
    finally:
        proxy.close()
    assert fetched[0] == 0, fetched


def test_the_first_records_of_many_domains_do_not_stay_in_memory(configure, fill, riffle):
    """The first record of a domain is read if its last one has no recipe. By default a fetch brings 1 MB more of each; then it was 53 MB."""
    domains = [f"d{i:03}" for i in range(100)]
    fill(*domains, sequences=400, length=2048)
    config = configure({d: int(d == "d000") for d in domains}, length=2048, max_lead_steps=2)
    mixer = riffle.popen("mix", "-c", config)
    wait_until(lambda: json.loads(riffle("status", "-c", config, "--json").stdout)["mix"]["step_next"] == 2, "two steps")
    peak = int(re.search(r"VmHWM:\s+(\d+) kB", pathlib.Path(f"/proc/{mixer.pid}/status").read_text())[1]) / 1000
    mixer.terminate()
    assert mixer.wait(30) == 0
    assert peak < 35 or SANITIZED, f"{peak} MB"
