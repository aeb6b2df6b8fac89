"""A broker is killed, and its disk has not kept what it acknowledged: the end of a lane's log, or of the ledger's, is
cut off before the broker starts again. Nothing may be published twice or left out; riffle repair completes what it can."""

import json
import pathlib
import re
import signal

import pytest
from log_tail import batches, cut
from one_kill import SESSION_MS, one_kill

from conftest import wait_until

LANES, STEPS, LATER = 4, 40, 60
WEIGHTS = {"a": 0.6, "b": 0.4}


def name_of(config):
    return json.loads(pathlib.Path(config).read_text())["mix"]["name"]


class Mix:
    def __init__(self, riffle, config):
        self.riffle, self.config, self.name = riffle, config, name_of(config)

    def mix(self, until, *words, **more):
        return self.riffle("mix", "-c", self.config, "--until-step", until, *words, **more)

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

    def check_repaired(self):
        """On a busy broker the end of the last repair's transaction may come late. This repair then takes it for a mixer's."""
        def looked():
            done.append(self.riffle("repair", "-c", self.config, check=False))
            return "a mixer is publishing" not in done[-1].stderr
        done = []
        wait_until(looked, "the repair being seen")
        assert "nothing to repair" in done[-1].stdout, done[-1].stderr

    def status(self):
        return json.loads(self.riffle("status", "-c", self.config, "--json").stdout)


def lose(s, m, topic, partition, n, what=""):
    """Cuts the last n transactions off a log; what="marker": the last one keeps its records and loses its marker alone."""
    log = s.broker.home() / "broker1.data" / f"{m.name}.{topic}-{partition}"
    markers = [b for b in batches(log) if b.marker]
    cut(log, markers[-n].first if what == "marker" else markers[-n - 1].last + 1)


def mixed(s, name, steps=STEPS, **keys):
    """A mix of 40 steps in several transactions."""
    s.once(domains)
    m = Mix(s.riffle, s.configure(WEIGHTS, name, lanes=LANES, **{"transaction_bytes": 10000, **keys}))
    m.mix(steps)
    return m


def domains(s):
    s.fill("a", "b")


def calm(s):
    """The steps of a mix that nothing happened to."""
    lines = s.read(mixed(s, "calm", LATER).config, LATER)
    assert [int(line.split("\t")[0]) for line in lines] == [step for step in range(LATER) for _ in range(LANES)]
    return lines


def check_whole(s, m):
    """The mix goes on, and each step is there once, with the bytes of a mix that nothing happened to."""
    m.mix(LATER)
    assert s.read(m.config, LATER) == s.once(calm)
    assert f"replayed steps 0..{LATER}" in s.riffle("replay", "-c", m.config, "--steps", f"0..{LATER}").stdout


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


@pytest.mark.parametrize("name", LOSSES)
@one_kill()
def test_what_a_broker_lost_stops_the_mixer_and_is_completed(s, name):
    tails, said, repaired = LOSSES[name]
    m = mixed(s, name)
    yield
    for tail in tails:
        lose(s, m, *tail)
    yield
    text = m.refused(*said, "riffle repair -c")
    assert "MIX-LANE-END" in text and ("MIX-HANGING" in text) == (name == "marker")
    status = m.status()
    assert any("has lost its end" in p for p in status["problems"])
    lanes = {lane["lane"] for lane in status["mix"]["lanes_behind"]}
    # A marker that is missing looks to readers as if the record were not there.
    assert lanes == {p for topic, p, _, _ in tails if topic == "batches"} - ({1} if name == "both" else set())
    assert bool(status["mix"]["lanes_ahead"]) == (("ledger", 0) in {t[:2] for t in tails})
    assert "would write" in m.repair("--dry-run")
    m.refused(*said)
    done = m.repair()
    for words in repaired:
        assert words in done
    m.check_repaired()
    status = m.status()["mix"]
    assert status["lanes_behind"] == status["lanes_ahead"] == []
    check_whole(s, m)


# The same with two lanes in each partition, which are lost together.
SHARED = {
    "ends": ([("batches", 1, 2, "")], [r"lane 2 \(and 1 more\) ends before step"], ["lane 2: ", "lane 3: "]),
    "two": ([("ledger", 0, 3, ""), ("batches", 0, 1, ""), ("batches", 1, 2, "")], ["ledger has lost its end"],
            ["lane 2: ", "lane 3: ", "ledger: steps "]),
    "markers": ([("batches", 0, 1, "marker")], [r"MIX-HANGING \S+ lanes=2", r"lane 0 \(and 1 more\) ends before step"],
                ["lane 0: ", "lane 1: "]),
}


@pytest.mark.parametrize("name", SHARED)
@one_kill()
def test_lanes_that_share_a_partition_are_completed_as_well(s, name):
    tails, said, repaired = SHARED[name]
    m = mixed(s, f"shared-{name}", shared=2)
    yield
    for tail in tails:
        lose(s, m, *tail)
    yield
    m.refused(*said, "riffle repair -c")
    behind = {lane["lane"] for lane in m.status()["mix"]["lanes_behind"]}
    assert behind == {"ends": {2, 3}, "two": set(), "markers": {0, 1}}[name]
    done = m.repair()
    for words in repaired:
        assert words in done
    m.check_repaired()
    check_whole(s, m)


@one_kill()
def test_the_end_of_a_mix_is_written_where_it_is_lost_and_nowhere_else(s):
    s.once(domains)
    m = Mix(s.riffle, s.configure(WEIGHTS, "ended", lanes=LANES, transaction_bytes=10000,
                                  domains={d: {"on_end": "stop"} for d in WEIGHTS}))
    s.riffle("mix", "-c", m.config)
    steps = m.status()["mix"]["step_next"]
    before = s.read(m.config, steps)
    yield
    lose(s, m, "batches", 2, 2)  # the end may have a transaction of its own
    yield
    m.refused("lane 2 ends before step", "with the end of the mix")
    done = m.repair()
    assert re.search(r"lane 2: steps \d+\.\.\d+\n", done) and "lane 0" not in done
    first = int(re.search(r"lane 2: steps (\d+)", done)[1])
    assert f"wrote {steps - first + 1} records of lanes" in done  # and the end
    m.check_repaired()
    assert s.read(m.config, steps + 1) == before  # it ends there


@one_kill()
def test_an_end_that_was_asked_for_is_known_by_the_lanes_where_the_ledger_lost_it(s):
    """By the ledger alone the mix would continue there."""
    m = mixed(s, "asked")
    s.riffle("mix", "-c", m.config, "--end-at-step", STEPS + 4)
    before = s.read(m.config, STEPS + 4)
    yield
    lose(s, m, "ledger", 0, 1)
    yield
    m.refused("ledger", "riffle repair -c")
    m.repair()
    m.check_repaired()
    assert m.status()["mix"]["state"] == "ended" and m.status()["mix"]["step_next"] == STEPS + 4
    assert s.read(m.config, LATER) == before
    assert f"replayed steps 0..{STEPS + 4}" in s.riffle("replay", "-c", m.config, "--steps", f"0..{STEPS + 4}").stdout


@one_kill()
def test_a_trainer_under_whom_a_lane_was_filled_again_says_so_and_the_next_one_goes_on(s):
    m = mixed(s, "under", STEPS - 4)
    assert m.mix(STEPS, env={"RIFFLE_FAULT": "mix.after_flush:2"}, check=False).returncode == -signal.SIGKILL
    m.mix(STEPS)
    out, log = s.folder / "under.tsv", s.folder / "under.log"
    with out.open("w") as steps, log.open("w") as said:
        trainer = s.riffle.popen("read", "-c", m.config, "--commit-every", 1, "--timeout", 0, stdout=steps, stderr=said)
    wait_until(lambda: len(out.read_text().splitlines()) == STEPS * LANES, "all steps at the trainer")
    wait_until(lambda: m.status()["mix"]["runs"][0]["step"] == STEPS, "its last commit")
    trainer.send_signal(signal.SIGSTOP)
    yield
    lose(s, m, "batches", 2, 6)
    yield
    m.repair()  # without the records that were aborted: what follows lies at other offsets
    m.mix(LATER)
    trainer.send_signal(signal.SIGCONT)
    wait_until(lambda: trainer.poll() is not None or len(out.read_text().splitlines()) == LATER * LANES, "the trainer's end")
    if trainer.poll() is None:  # it asked where the epoch of its last record ends (KIP-320), and went back there
        trainer.send_signal(signal.SIGTERM)
        assert trainer.wait(timeout=60) == 0 and out.read_text().splitlines() == s.once(calm), log.read_text()[-3000:]
        return
    assert trainer.poll() == 1, log.read_text()[-3000:]
    assert re.search(rf"lane 2, offset \d+: gap: step \d+, where step {STEPS} is due: .*\(riffle repair\)", log.read_text())
    again = s.riffle("read", "-c", m.config, "--commit-every", 1, "--steps", LATER - STEPS).stdout.splitlines()
    assert out.read_text().splitlines() + again == s.once(calm)


@pytest.mark.parametrize(("topic", "lanes"), [("batches", LANES), ("ledger", 1)])
@pytest.mark.parametrize("by", ["mixer", "repair"])
@one_kill()
def test_records_of_an_aborted_transaction_whose_marker_is_lost_stay_unseen(s, by, topic, lanes):
    """The mixer's next transaction would end them with its own marker: its steps would be there twice, and the ledger's
    record be the state to resume from. So the mixer ends them first; `riffle repair` does, too."""
    m = mixed(s, f"aborted-{topic}-{by}")
    died = m.mix(LATER, "-X", f"session.timeout.ms={SESSION_MS}", env={"RIFFLE_FAULT": "mix.after_flush:2"}, check=False)
    assert died.returncode == -signal.SIGKILL
    m.settle(STEPS)
    yield
    for lane in range(lanes):
        lose(s, m, topic, lane, 1, "marker")
    yield
    open_lanes = LANES if topic == "batches" else 0
    if by == "mixer":
        assert f"MIX-HANGING mix={m.name} lanes={open_lanes} " in m.mix(STEPS + 1).stderr
    else:
        kept = f"on {open_lanes} lanes" + (" and in the ledger" if topic == "ledger" else "")
        assert f"aborted a transaction that nobody ended, {kept}\n" in m.repair()
    check_whole(s, m)


class Live:
    """A live domain with its producer, and a mix of it alone, which draws in the order of ordinals."""

    def __init__(self, s):
        self.riffle, self.input, self.corpus, self.documents = s.riffle, s.folder / "in.jsonl", f"{s.unique}-live", 0
        self.config = s.write_config({
            "corpus": self.corpus, "sequence_length": 32, "split": "1,0,0",
            "tokenizer": {"file": str(s.vocab / "r50k_base.tiktoken"), "pattern": "gpt2", "eos": "<|endoftext|>"},
            "domains": {"a": {"train": [str(self.input)], "live": True, "on_dry": "wait"}},
            "mix": {"name": f"{self.corpus}-mix", "seed": 7, "global_batch": 4, "lanes": 4, "max_lead_steps": 0, "weights": {"a": 1}},
            "kafka": {"bootstrap.servers": s.bootstrap}})
        self.input.write_text("")
        s.riffle("topics", "-c", self.config, "--create")

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


@one_kill()
def test_a_domain_that_lost_its_end_under_a_running_producer_has_a_hole_and_a_way_round_it(s):
    d = Live(s)
    log = s.broker.home() / "broker1.data" / f"{d.corpus}.a-0"
    first = d.start()
    kept = d.write(60, 40)
    first.send_signal(signal.SIGTERM)
    assert first.wait(60) == 0
    second = d.start()  # of which nothing is kept: the broker does not know it when it comes back
    lost = d.write(60, kept + 40)
    yield
    cut(log, kept)
    yield
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
    refused = s.riffle("mix", "-c", d.config, "--until-step", steps, check=False)
    assert refused.returncode == 1, refused.stderr
    assert f"topic {d.corpus}.a partition 0: ordinals {kept}..{lost} are missing" in refused.stderr
    advice = re.search(r"`riffle skip -c \S+ (a/0 (\d+\.\.\d+))`", refused.stderr)
    assert advice[2] == f"{kept}..{lost}"
    s.riffle("skip", "-c", d.config, *advice[1].split(), "--timeout", 1, check=False)
    s.riffle("mix", "-c", d.config, "--until-step", steps)
    drawn = [json.loads(line)["ordinal"] for line in
             s.riffle("read", "-c", d.config, "--from-step", 0, "--steps", steps, "--format", "jsonl").stdout.splitlines()]
    assert sorted(drawn) == [i for i in range(total) if not kept <= i < lost][:4 * steps]
    assert "all equal" in s.riffle("replay", "-c", d.config, "--steps", f"0..{steps}").stdout
