"""A broker is killed, and its disk has not kept what it acknowledged: the end of a lane's log, or of the ledger's, is
cut off before the broker starts again. Nothing may be published twice or left out; riffle repair completes what it can."""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys

import pytest

from conftest import wait_until

sys.path.append(str(pathlib.Path(__file__).parents[1] / "chaos"))

from cluster import running  # noqa: E402
from log_tail import batches, cut  # noqa: E402

LANES, STEPS, LATER = 4, 40, 60
WEIGHTS = {"a": 0.6, "b": 0.4}


@pytest.fixture(scope="module")
def broker(build):
    """One of these tests' own: it is killed again and again."""
    with running(build / f"kafka-tail-{os.getpid()}") as c:
        yield c


@pytest.fixture
def bootstrap(broker):
    return broker.bootstrap


def name_of(config):
    return json.loads(pathlib.Path(config).read_text())["mix"]["name"]


class Mix:
    def __init__(self, riffle, config):
        self.riffle, self.config, self.name = riffle, config, name_of(config)

    def mix(self, until, **more):
        return self.riffle("mix", "-c", self.config, "--until-step", until, **more)

    def settle(self, until):
        """Ends the transaction of a mixer that was killed, once it does not count as active any more."""
        wait_until(lambda: "another mixer is active" not in self.mix(until).stderr, "the end of the killed one's session")

    def refused(self, *texts, command=("mix", "--until-step", LATER)):
        done = self.riffle(command[0], "-c", self.config, *command[1:], check=False)
        assert done.returncode == 1, done.stderr
        for text in texts:
            assert re.search(text, done.stderr), f"{text} is not in: {done.stderr}"
        return done.stderr

    def repair(self, *words):
        return self.riffle("repair", "-c", self.config, *words).stdout

    def status(self):
        return json.loads(self.riffle("status", "-c", self.config, "--json").stdout)


@pytest.fixture
def lose(broker):
    """lose((mix, topic, partition, n, what), ...): kills the broker, and cuts the last n transactions off each log;
    what="marker": the last one keeps its records and loses its marker alone."""
    def run(*tails):
        broker.end(1, signal.SIGKILL)
        for m, topic, partition, n, what in tails:
            log = broker.home() / "broker1.data" / f"{m.name}.{topic}-{partition}"
            markers = [b for b in batches(log) if b.marker]
            cut(log, markers[-n].first if what == "marker" else markers[-n - 1].last + 1)
        broker.up()
    return run


@pytest.fixture
def mixed(riffle, fill, configure):
    """mixed(name): a mix of 40 steps in several transactions."""
    def make(name, steps=STEPS, **keys):
        m = Mix(riffle, configure(WEIGHTS, name, lanes=LANES, **{"transaction_bytes": 10000, **keys}))
        m.mix(steps)
        return m
    fill("a", "b")
    return make


@pytest.fixture
def calm(mixed, read):
    m = mixed("calm", LATER)
    return read(m.config, LATER)


@pytest.fixture
def whole(riffle, read, calm):
    """whole(m): the mix goes on, and each step is there once, with the bytes of a mix that nothing happened to."""
    def check(m):
        m.mix(LATER)
        assert [int(line.split("\t")[0]) for line in calm] == [s for s in range(LATER) for _ in range(LANES)]
        assert read(m.config, LATER) == calm
        assert f"replayed steps 0..{LATER}" in riffle("replay", "-c", m.config, "--steps", f"0..{LATER}").stdout
    return check


# What is lost of which log; what the mixer says; which lanes and steps repair names.
LOSSES = {
    "lane": ([("batches", 2, 2, "")], ["lane 2 ends before step", "ledger before step 40"], ["lane 2: "]),
    "lanes": ([("batches", 0, 1, ""), ("batches", 3, 4, "")], [r"lane 0 \(and 1 more\)"], ["lane 0: ", "lane 3: "]),
    "ledger": ([("ledger", 0, 2, "")], [r"ledger has lost its end", r"lane 0 \(and 3 more\)", "a second time"],
               ["ledger: steps "]),
    "both": ([("ledger", 0, 2, ""), ("batches", 1, 1, ""), ("batches", 2, 3, "")], ["ledger has lost its end"],
             ["lane 1: ", "lane 2: ", "ledger: steps "]),
    "marker": ([("batches", 1, 1, "marker")], ["lane 1 ends before step"], ["lane 1: "]),
}


def test_what_a_broker_lost_stops_the_mixer_and_is_completed(mixed, lose, whole):
    mixes = {name: mixed(name) for name in LOSSES}
    lose(*[(mixes[name], *tail) for name, (tails, _, _) in LOSSES.items() for tail in tails])
    for name, (tails, said, repaired) in LOSSES.items():
        m = mixes[name]
        text = m.refused(*said, "riffle repair -c")
        assert "MIX-LANE-END" in text and ("MIX-HANGING" in text) == (name == "marker")
        status = m.status()
        assert any("has lost its end" in p for p in status["problems"]), name
        lanes = {lane["lane"] for lane in status["mix"]["lanes_behind"]}
        # A marker that is missing looks to readers as if the record were not there.
        assert lanes == {p for topic, p, _, _ in tails if topic == "batches"} - ({1} if name == "both" else set())
        assert bool(status["mix"]["lanes_ahead"]) == (("ledger", 0) in {t[:2] for t in tails})
        assert "would write" in m.repair("--dry-run")
        m.refused(*said)
        done = m.repair()
        for words in repaired:
            assert words in done, f"{name}: {done}"
        assert "nothing to repair" in m.repair()
        status = m.status()["mix"]
        assert status["lanes_behind"] == status["lanes_ahead"] == []
        whole(m)


# The same with two lanes in each partition, which are lost together.
SHARED = {
    "ends": ([("batches", 1, 2, "")], [r"lane 2 \(and 1 more\) ends before step"], ["lane 2: ", "lane 3: "]),
    "two": ([("ledger", 0, 3, ""), ("batches", 0, 1, ""), ("batches", 1, 2, "")], ["ledger has lost its end"],
            ["lane 2: ", "lane 3: ", "ledger: steps "]),
    "markers": ([("batches", 0, 1, "marker")], [r"MIX-HANGING \S+ lanes=2", r"lane 0 \(and 1 more\) ends before step"],
                ["lane 0: ", "lane 1: "]),
}


def test_lanes_that_share_a_partition_are_completed_as_well(mixed, lose, whole):
    mixes = {name: mixed(f"shared-{name}", shared=2) for name in SHARED}
    lose(*[(mixes[name], *tail) for name, (tails, _, _) in SHARED.items() for tail in tails])
    for name, (_, said, repaired) in SHARED.items():
        m = mixes[name]
        m.refused(*said, "riffle repair -c")
        behind = {lane["lane"] for lane in m.status()["mix"]["lanes_behind"]}
        assert behind == {"ends": {2, 3}, "two": set(), "markers": {0, 1}}[name]
        done = m.repair()
        for words in repaired:
            assert words in done, f"{name}: {done}"
        assert "nothing to repair" in m.repair()
        whole(m)


def test_the_end_of_a_mix_is_written_where_it_is_lost_and_nowhere_else(mixed, lose, riffle, read, configure):
    m = Mix(riffle, configure(WEIGHTS, "ended", lanes=LANES, transaction_bytes=10000,
                              domains={d: {"on_end": "stop"} for d in WEIGHTS}))
    riffle("mix", "-c", m.config)
    steps = m.status()["mix"]["step_next"]
    before = read(m.config, steps)
    lose((m, "batches", 2, 2, ""))  # the end may have a transaction of its own
    m.refused("lane 2 ends before step", "with the end of the mix")
    done = m.repair()
    assert re.search(r"lane 2: steps \d+\.\.\d+\n", done) and "lane 0" not in done
    first = int(re.search(r"lane 2: steps (\d+)", done)[1])
    assert f"wrote {steps - first + 1} records of lanes" in done  # and the end
    assert "nothing to repair" in m.repair()
    assert read(m.config, steps + 1) == before  # it ends there


def test_an_end_that_was_asked_for_is_known_by_the_lanes_where_the_ledger_lost_it(mixed, lose, riffle, read):
    """By the ledger alone the mix would continue there."""
    m = mixed("asked")
    riffle("mix", "-c", m.config, "--end-at-step", STEPS + 4)
    before = read(m.config, STEPS + 4)
    lose((m, "ledger", 0, 1, ""))
    m.refused("ledger", "riffle repair -c")
    m.repair()
    assert "nothing to repair" in m.repair()
    assert m.status()["mix"]["state"] == "ended" and m.status()["mix"]["step_next"] == STEPS + 4
    assert read(m.config, LATER) == before
    assert f"replayed steps 0..{STEPS + 4}" in riffle("replay", "-c", m.config, "--steps", f"0..{STEPS + 4}").stdout


def test_a_trainer_under_whom_a_lane_was_filled_again_says_so_and_the_next_one_goes_on(
        mixed, lose, riffle, calm, tmp_path):
    m = mixed("under", STEPS - 4)
    assert m.mix(STEPS, env={"RIFFLE_FAULT": "mix.after_flush:2"}, check=False).returncode == -signal.SIGKILL
    m.mix(STEPS)
    out, log = tmp_path / "under.tsv", tmp_path / "under.log"
    with out.open("w") as steps, log.open("w") as said:
        trainer = riffle.popen("read", "-c", m.config, "--commit-every", 1, "--timeout", 0, stdout=steps, stderr=said)
    wait_until(lambda: len(out.read_text().splitlines()) == STEPS * LANES, "all steps at the trainer")
    wait_until(lambda: m.status()["mix"]["runs"][0]["step"] == STEPS, "its last commit")
    trainer.send_signal(signal.SIGSTOP)
    lose((m, "batches", 2, 6, ""))
    m.repair()  # without the records that were aborted: what follows lies at other offsets
    m.mix(LATER)
    trainer.send_signal(signal.SIGCONT)
    wait_until(lambda: trainer.poll() is not None or len(out.read_text().splitlines()) == LATER * LANES, "the trainer's end")
    if trainer.poll() is None:  # it asked where the epoch of its last record ends (KIP-320), and went back there
        trainer.send_signal(signal.SIGTERM)
        assert trainer.wait(timeout=60) == 0 and out.read_text().splitlines() == calm, log.read_text()[-3000:]
        return
    assert trainer.poll() == 1, log.read_text()[-3000:]
    assert re.search(rf"lane 2, offset \d+: gap: step \d+, where step {STEPS} is due: .*\(riffle repair\)", log.read_text())
    again = riffle("read", "-c", m.config, "--commit-every", 1, "--steps", LATER - STEPS).stdout.splitlines()
    assert out.read_text().splitlines() + again == calm


LOST = "tests/kafka/test_tail_loss.py::test_what_a_broker_lost_stops_the_mixer_and_is_completed"  # a marker among the rest


@pytest.mark.parametrize(("topic", "lanes"), [pytest.param("batches", LANES, marks=pytest.mark.long(LOST)), ("ledger", 1)])
def test_records_of_an_aborted_transaction_whose_marker_is_lost_stay_unseen(mixed, lose, whole, topic, lanes):
    """The mixer's next transaction would end them with its own marker: its steps would be there twice, and the ledger's
    record be the state to resume from. So the mixer ends them first; `riffle repair` does, too."""
    mixer, repair = mixed(f"aborted-{topic}"), mixed(f"repaired-{topic}")
    for m in (mixer, repair):
        assert m.mix(LATER, env={"RIFFLE_FAULT": "mix.after_flush:2"}, check=False).returncode == -signal.SIGKILL
        m.settle(STEPS)
    lose(*[(m, topic, lane, 1, "marker") for m in (mixer, repair) for lane in range(lanes)])
    kept = f"on {LANES if topic == 'batches' else 0} lanes" + (" and in the ledger" if topic == "ledger" else "")
    assert f"aborted a transaction that nobody ended, {kept}\n" in repair.repair()
    assert f"MIX-HANGING mix={mixer.name} lanes={LANES if topic == 'batches' else 0} " in mixer.mix(STEPS + 1).stderr
    whole(mixer)
    whole(repair)


@pytest.mark.parametrize("commits", [LANES, 0])
def test_a_batch_topic_that_is_recreated_under_a_running_mixer_stops_it_and_is_filled(
        mixed, whole, riffle, tools, bootstrap, tmp_path, commits):
    """One that goes on meets it when it writes. The commits go with the topic: without new ones it would wait for ever."""
    m = mixed("again", STEPS - 10, max_lead_steps=STEPS)
    env, topic = {**os.environ, "RIFFLE_BOOTSTRAP": bootstrap}, f"{m.name}.batches"
    log = tmp_path / "mix.log"

    def commit(lanes):
        for lane in range(lanes):
            subprocess.run([tools / "broker", "commit", f"{m.name}.trainers", topic, str(lane), "1", "step=30"], env=env,
                           check=True, capture_output=True)
    with log.open("w") as out:
        mixer = riffle.popen("mix", "-c", m.config, stderr=out)
        wait_until(lambda: m.status()["mix"]["step_next"] == STEPS, "the mixer waiting for its trainers")
        subprocess.run([tools / "topic", "write", topic, str(LANES)], env=env, check=True, input="", text=True)
        commit(commits)
        assert mixer.wait(60) == 1
    assert re.search(r"ended at \d+ before", log.read_text()), log.read_text()
    assert "holds no record" in log.read_text() and "riffle repair" in log.read_text()
    assert f"lane 3: steps 0..{STEPS}" in m.repair()
    commit(LANES)
    whole(m)


def test_steps_that_are_missing_in_the_middle_are_named_and_go_to_another_mix(mixed, riffle, tools, bootstrap):
    m = mixed("hole")
    env, topic = {**os.environ, "RIFFLE_BOOTSTRAP": bootstrap}, f"{m.name}.batches"

    def tool(command, *words, **more):
        return subprocess.run([tools / "topic", command, topic, *words], env=env, check=True, capture_output=True, text=True,
                              **more).stdout
    lines = tool("read").splitlines(True)
    of_lane = [line for line in lines if line.startswith("2\t")]
    tool("write", str(LANES), input="".join(line for line in lines if line not in of_lane[20:25]))
    text = m.refused("lane 2: steps 20..25 are missing in its middle", command=("repair",))
    command = re.search(r"`riffle (replay .*)`", text)[1].replace("NAME", f"{m.name}-rest").split()
    assert "wrote 5 steps" in riffle(*command).stdout


def test_a_ledger_that_is_gone_is_no_reason_to_begin_again(mixed, riffle, tools, bootstrap):
    m = mixed("gone")
    subprocess.run([tools / "topic", "delete", f"{m.name}.ledger"], env={**os.environ, "RIFFLE_BOOTSTRAP": bootstrap},
                   check=True)
    riffle("topics", "-c", m.config, "--create")
    m.refused("ledger was deleted")
    m.refused("nothing can be derived", command=("repair",))


class Live:
    """A live domain with its producer, and a mix of it alone, which draws in the order of ordinals."""

    def __init__(self, riffle, vocab, write_config, bootstrap, unique, folder):
        self.riffle, self.input, self.corpus, self.documents = riffle, folder / "in.jsonl", unique, 0
        self.config = write_config({
            "corpus": unique, "sequence_length": 32, "split": "1,0,0",
            "tokenizer": {"file": str(vocab / "r50k_base.tiktoken"), "pattern": "gpt2", "eos": "<|endoftext|>"},
            "domains": {"a": {"train": [str(self.input)], "live": True, "on_dry": "wait"}},
            "mix": {"name": f"{unique}-mix", "seed": 7, "global_batch": 4, "lanes": 4, "max_lead_steps": 0, "weights": {"a": 1}},
            "kafka": {"bootstrap.servers": bootstrap}})
        self.input.write_text("")
        riffle("topics", "-c", self.config, "--create")

    def start(self):
        return self.riffle.popen("produce", "-c", self.config, "--follow")

    def write(self, n, sequences):
        """Documents of about a sequence each, until the topic holds so many."""
        with self.input.open("a") as out:
            out.writelines(json.dumps({"text": f"document {self.documents + i}" + " and so on" * 10}) + "\n" for i in range(n))
        self.documents += n
        wait_until(lambda: self.sequences() >= sequences, f"{sequences} sequences")
        return self.sequences()

    def sequences(self):
        return json.loads(self.riffle("status", "-c", self.config, "--json").stdout)["domains"][0]["sequences"]


def test_a_domain_that_lost_its_end_under_a_running_producer_has_a_hole_and_a_way_round_it(
        riffle, vocab, write_config, broker, bootstrap, unique, tmp_path):
    d = Live(riffle, vocab, write_config, bootstrap, unique, tmp_path)
    log = broker.home() / "broker1.data" / f"{d.corpus}.a-0"
    first = d.start()
    kept = d.write(60, 40)
    first.send_signal(signal.SIGTERM)
    assert first.wait(60) == 0
    second = d.start()  # of which nothing is kept: the broker does not know it when it comes back
    lost = d.write(60, kept + 40)
    broker.end(1, signal.SIGKILL)
    cut(log, kept)
    broker.up()
    with d.input.open("a") as out:
        out.writelines(json.dumps({"text": "later"}) + "\n" for _ in range(400))
    _, said = second.communicate(timeout=120)
    assert second.returncode == 1
    assert f"a record landed at offset {kept} and not at {lost}: the partition has lost its end" in said
    third = d.start()  # goes on behind the hole
    total = d.write(300, lost + 200)
    third.send_signal(signal.SIGTERM)
    assert third.wait(60) == 0

    steps = (total - (lost - kept)) // 4 - 1
    refused = riffle("mix", "-c", d.config, "--until-step", steps, check=False)
    assert refused.returncode == 1, refused.stderr
    assert f"topic {d.corpus}.a partition 0: ordinals {kept}..{lost} are missing" in refused.stderr
    advice = re.search(r"`riffle (skip a/0 (\d+\.\.\d+))`", refused.stderr)
    assert advice[2] == f"{kept}..{lost}"
    riffle("skip", "-c", d.config, *advice[1].split()[1:], "--timeout", 1, check=False)
    riffle("mix", "-c", d.config, "--until-step", steps)
    drawn = [json.loads(line)["ordinal"] for line in
             riffle("read", "-c", d.config, "--from-step", 0, "--steps", steps, "--format", "jsonl").stdout.splitlines()]
    assert sorted(drawn) == [i for i in range(total) if not kept <= i < lost][:4 * steps]
    assert "all equal" in riffle("replay", "-c", d.config, "--steps", f"0..{steps}").stdout
