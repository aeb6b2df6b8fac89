"""What administrators do to topics, and what riffle says of it: what happened, and the way out."""

import json
import os
import signal
import subprocess

import pytest

from conftest import ROOT

LANES, STEPS, LEAD = 8, 20, 8


class Mix:
    """A mix whose run `trainers` has committed step STEPS; the mixer has stopped at STEPS + LEAD."""

    def __init__(self, riffle, config, tools, bootstrap, name):
        self.riffle, self.config, self.tools, self.name = riffle, config, tools, name
        self.env = {**os.environ, "RIFFLE_BOOTSTRAP": bootstrap}

    def tool(self, *words, input=None):
        return subprocess.run([self.tools / words[0], *map(str, words[1:])], env=self.env, check=True, timeout=60, text=True,
                              stdout=subprocess.PIPE, input=input).stdout

    def read(self, *words):
        """A trainer that fails; what it says."""
        done = self.riffle("read", "--mix", self.name, "-X", f"bootstrap.servers={self.env['RIFFLE_BOOTSTRAP']}",
                           "--format", "none", "--steps", 1, "--timeout", 5, *words, check=False)
        assert done.returncode == 1, done.stderr
        return done.stderr

    def problems(self):
        return json.loads(self.riffle("status", "-c", self.config, "--json").stdout)["problems"]

    def empty_ledger(self):
        end = self.tool("broker", "watermarks", f"{self.name}.ledger", 1).split()[1]
        self.tool("trim", f"{self.name}.ledger", 0, end)


@pytest.fixture
def mix(riffle, fill, configure, read, tools, bootstrap, unique):
    fill("a", "b")
    config = configure({"a": 0.5, "b": 0.5}, max_lead_steps=LEAD)
    mixer = riffle.popen("mix", "-c", config, "--until-step", STEPS + LEAD)
    read(config, STEPS, commit_every=1)
    assert mixer.wait(timeout=60) == 0
    return Mix(riffle, config, tools, bootstrap, f"{unique}-mix")


def test_a_batch_topic_that_was_created_again_is_said_to_be_that(mix):
    """Its deletion took the run's commits away, too; nothing has expired."""
    mix.tool("topic", "write", f"{mix.name}.batches", LANES, input="")
    said = f"topic {mix.name}.batches was deleted and created again: lane 0 never held a record, and the ledger says that steps below "
    for words in ([], ["--from-step", 5], ["--rank", 1, "--world", 2]):
        stderr = mix.read(*words)
        assert said.replace("lane 0", "lane 4" if "--rank" in words else "lane 0") in stderr
        assert "`riffle repair" in stderr and "expired" not in stderr


def test_a_run_that_has_committed_nothing_does_not_hold_repair_back(mix, riffle):
    """It was in mix.runs for a while, and the ledger knows it at step 0 ever since."""
    config, end = json.loads(mix.config.read_text()), STEPS + LEAD + 2
    for runs, until in ((["trainers", "other"], end - 1), (["trainers"], end)):
        config["mix"] |= {"runs": runs, "max_lead_steps": 0}
        mix.config.write_text(json.dumps(config))
        riffle("mix", "-c", mix.config, "--accept-config", "--yes", "--until-step", until)
    mix.tool("topic", "write", f"{mix.name}.batches", LANES, input="")
    refused = riffle("repair", "-c", mix.config, "--from-step", STEPS + 1, check=False)
    assert refused.returncode == 1 and f"run trainers is at step {STEPS} by the ledger" in refused.stderr
    repaired = riffle("repair", "-c", mix.config, "--from-step", STEPS)
    assert "REPAIR-UNCOMMITTED run=other" in repaired.stderr and f"{STEPS}..{end}" in repaired.stdout


def test_the_runs_of_a_batch_topic_that_was_created_again_are_reset_once_it_is_repaired(mix, riffle):
    """The whole way out."""
    before = riffle("read", "-c", mix.config, "--from-step", 12, "--steps", 8).stdout
    mix.tool("topic", "write", f"{mix.name}.batches", LANES, input="")
    reset = ["runs", "-c", mix.config, "--reset", "trainers", "--to", 12, "--idle", 0, "--timeout", 1]
    refused = riffle(*reset, check=False)
    assert refused.returncode == 1 and "was deleted and created again" in refused.stderr
    assert not [p for p in mix.problems() if "riffle runs" in p], "a reset is no way out yet"
    riffle("repair", "-c", mix.config)
    riffle(*reset, check=False)  # no mixer answers yet
    riffle("mix", "-c", mix.config, "--until-step", STEPS)
    assert riffle("read", "-c", mix.config, "--commit-every", 1, "--steps", 8).stdout == before
    assert not mix.problems()


def test_a_batch_topic_that_was_created_again_and_written_on_is_said_to_be_that(mix, riffle, tools):
    """The steps from 12 on alone, in a topic that begins at offset 0."""
    records = [line.split("\t") for line in mix.tool("topic", "read", f"{mix.name}.batches").splitlines()]
    later = ["\t".join(r) for lane in range(LANES) for r in [r for r in records if int(r[0]) == lane][12:]]
    mix.tool("topic", "write", f"{mix.name}.batches", LANES, input="\n".join(later) + "\n")
    stderr = mix.read("--from-step", 5)
    assert "step 5 is due, but step 12 comes first, at offset 0 of the log: the topic was deleted and created again" in stderr
    assert "not kept any more" not in stderr


def test_a_search_in_a_topic_that_was_created_again_does_not_blame_retention(mix):
    """So far from the beginning that the log is searched, not read through."""
    name = f"{mix.name}-long"
    mix.tool("fill_batches", "--mix", name, "--lanes", 1, "--steps", 1000)
    lines = mix.tool("topic", "read", f"{name}.batches").splitlines()
    mix.tool("topic", "write", f"{name}.batches", 1, input="\n".join(lines[600:]) + "\n")
    mix.name = name
    stderr = mix.read("--from-step", 400)
    assert "step 400 is due, but step 600 comes first, at offset 0 of the log: the topic was deleted and created again" in stderr
    assert "not kept any more" not in stderr


def test_partitions_that_were_added_are_said_to_be_that(mix, riffle):
    mix.tool("broker", "widen", f"{mix.name}.batches", LANES + 4)
    said = (f"topic {mix.name}.batches has 12 partitions, and the mix has 8 lanes: partitions were added, and Kafka takes none "
            "away. Delete the topic: `riffle topics ")
    assert said in mix.read()  # from its commits
    assert said in mix.read("--from-step", 5, "--rank", 3, "--world", 4)  # new partitions only: nothing ever comes
    assert said in mix.read("--from-step", 5, "--rank", 3, "--world", 8)  # which divides the lanes, and not 12
    assert "says that the mix has 8 lanes, the topic has 12 partitions: some were added" in mix.read("--from-step", 5)
    mixer = riffle("mix", "-c", mix.config, check=False)
    assert mixer.returncode == 2 and "where partitions were added, which Kafka does not take away" in mixer.stderr
    repair = riffle("repair", "-c", mix.config, check=False)
    assert repair.returncode != 0 and "partitions were added" in repair.stderr
    problems = mix.problems()  # the run's commits are good: they are those of the lanes
    assert "where partitions were added, which Kafka does not take away" in problems[0]
    assert all("no mixer runs, and one would wait at step" in p for p in problems[1:]), problems  # some of its lanes may be read, but not that far


def test_a_ledger_that_was_emptied_is_said_to_be_that(mix, riffle):
    """Nobody takes it for a mix that has not begun."""
    mix.empty_ledger()
    problem, = mix.problems()
    assert f"topic {mix.name}.ledger holds no record any more: its records were deleted" in problem
    mixer = riffle("mix", "-c", mix.config, check=False)
    assert mixer.returncode == 1 and "the ledger was deleted" in mixer.stderr
    assert f"topic {mix.name}.ledger holds no record any more" in mix.read("--from-step", STEPS + LEAD)
    mix.tool("broker", "forget", f"{mix.name}.trainers")
    assert f"the records of topic {mix.name}.ledger, which say where runs stand, were deleted" in mix.read()


def test_a_ledger_that_is_emptied_under_a_mixer_is_said_to_be_that(mix, riffle):
    mixer = riffle.popen("mix", "-c", mix.config)
    assert "mixer=" in mixer.stderr.readline()  # attached; it waits for its trainers
    mix.empty_ledger()
    mixer.send_signal(signal.SIGTERM)
    said = mixer.communicate(timeout=60)[1]
    assert mixer.returncode == 1
    assert f"topic {mix.name}.ledger holds no record any more: its records were deleted while this mixer ran" in said
    assert "markers" not in said


def test_a_ledger_that_is_emptied_before_the_first_step_is_not_begun_again(mix, riffle, configure, unique):
    """Its answers to requests would be given again, to another result."""
    config = configure({"a": 0.5, "b": 0.5}, "young")
    riffle("mix", "-c", config, "--until-step", 0)
    mix.name = f"{unique}-young"
    mix.empty_ledger()
    mixer = riffle("mix", "-c", config, "--until-step", 1, check=False)
    assert mixer.returncode == 1
    assert f"topic {mix.name}.ledger holds no record any more" in mixer.stderr and "ask again" in mixer.stderr


def test_a_ledger_that_loses_its_end_under_a_mixer_stops_it(mix, riffle, read):
    """Its next record would stand behind a hole, and the steps of the lost ones come twice after a restart."""
    mixer = riffle.popen("mix", "-c", mix.config)
    assert "mixer=" in mixer.stderr.readline()  # attached; it waits for its trainers
    ledger = f"{mix.name}.ledger"
    records = mix.tool("topic", "read", ledger).splitlines(True)
    mix.tool("topic", "delete", ledger)
    riffle("topics", "-c", mix.config, "--create")
    mix.tool("topic", "append", ledger, input="".join(records[:-2]))
    riffle("read", "-c", mix.config, "--steps", 2, "--commit-every", 1, "--timeout", 20, check=False)
    said = mixer.communicate(timeout=60)[1]
    assert mixer.returncode == 1
    went_back = f"topic {ledger}: a record was delivered at offset" in said and "the ledger ended at" in said
    assert went_back or f"MIX-RECOVER topic {ledger}: asking" in said  # it looked while there was no ledger
    assert f"topic {ledger} has lost its end" in said and "`riffle repair -c" in said
    assert "ledger: steps " in riffle("repair", "-c", mix.config).stdout
    riffle("mix", "-c", mix.config, "--until-step", STEPS + LEAD + 1)


def create_again(mix, kind):
    """With Kafka's tools, and the settings that it is to have."""
    mix.tool("topic", "delete", f"{mix.name}.{kind}")
    mix.riffle("topics", "-c", mix.config, "--create")


def codes(mix):
    return [p["code"] for p in json.loads(mix.riffle("status", "-c", mix.config, "--json").stdout)["problem_list"]]


@pytest.mark.parametrize("kept", [True, False])
def test_a_ledger_that_was_created_again_is_said_to_be_that(mix, riffle, kept):
    """Also where retention, or `riffle retain`, has deleted all steps: no mixer starts there."""
    create_again(mix, "ledger")
    if not kept:
        ends = mix.tool("broker", "watermarks", f"{mix.name}.batches", LANES).splitlines()
        for lane, end in enumerate(ends):
            mix.tool("trim", f"{mix.name}.batches", lane, end.split()[1])
    assert codes(mix) == ["STATUS-LEDGER-EMPTY"]
    mixer = riffle("mix", "-c", mix.config, check=False)
    assert mixer.returncode == 1 and "`riffle topics -c" in mixer.stderr and "the ledger was deleted" in mixer.stderr


def request(mix, *words):
    mix.riffle("weights", "-c", mix.config, *words, "--timeout", 1, check=False)  # the next mixer answers


def test_a_repair_does_not_take_a_new_control_topic_for_one_that_was_answered(mix, riffle, read):
    """Steps that ledger and lanes have lost may be of a request whose offset the lost topic had, too."""
    for share in (0.2, 0.3, 0.4):
        request(mix, f"a={share}")
    riffle("mix", "-c", mix.config, "--until-step", STEPS + LEAD)
    ledger = mix.tool("topic", "read", f"{mix.name}.ledger").splitlines(True)
    create_again(mix, "control")
    request(mix, "a=0.6")
    mixer = riffle.popen("mix", "-c", mix.config, "--until-step", STEPS + LEAD + 4)
    read(mix.config, 6, commit_every=1)
    assert mixer.wait(timeout=60) == 0
    mix.tool("topic", "write", f"{mix.name}.ledger", 1, input="".join(ledger))
    lanes = mix.tool("topic", "read", f"{mix.name}.batches").splitlines(True)
    last = max(i for i, line in enumerate(lanes) if line.startswith("3\t"))
    mix.tool("topic", "write", f"{mix.name}.batches", LANES, input="".join(lanes[:last] + lanes[last + 1:]))
    repair = riffle("repair", "-c", mix.config, check=False)
    assert repair.returncode == 1
    assert f"a request in {mix.name}.control, at offset 0, may have changed them" in repair.stderr


def other_text(mix, fill, unique, sequences=230):
    """Domain a, deleted with Kafka's tools and published again from other text, with more sequences."""
    mix.tool("topic", "delete", f"{unique}.a")
    fill("a", seed=2, sequences=sequences)


OTHER = "is not the one that the mix has drawn: the topic was recreated and holds other text"


def test_a_domain_that_was_created_again_from_other_text_stops_the_mix(mix, riffle, fill, configure, read, unique):
    other_text(mix, fill, unique)
    configure({"a": 0.5, "b": 0.5}, max_lead_steps=LEAD)
    problems = json.loads(riffle("status", "-c", mix.config, "--json").stdout)["problem_list"]
    assert "STATUS-DOMAIN-REPLACED" in [p["code"] for p in problems]
    mixer = riffle("mix", "-c", mix.config, "--until-step", STEPS + LEAD + 4, check=False)
    assert mixer.returncode == 1
    for said in (problems[0]["text"], mixer.stderr):
        assert "domain a: sequence " in said and f"of topic {unique}.a partition 0 {OTHER}" in said
        assert "as a domain of another name" in said and "--accept-config" in said
    without = configure({"b": 1}, max_lead_steps=LEAD)  # the way out: domain a leaves
    mixer = riffle.popen("mix", "-c", without, "--accept-config", "--yes", "--until-step", STEPS + LEAD + 1)
    read(without, 4, commit_every=1)
    assert mixer.wait(timeout=60) == 0
    problems = json.loads(riffle("status", "-c", without, "--json").stdout)["problem_list"]
    assert "STATUS-DOMAIN-REPLACED" not in [p["code"] for p in problems]


def test_a_domain_that_was_created_again_from_the_same_text_is_the_same(mix, riffle, fill, read, unique):
    mix.tool("topic", "delete", f"{unique}.a")
    fill("a")
    assert not mix.problems()
    mixer = riffle.popen("mix", "-c", mix.config, "--until-step", STEPS + LEAD + 4)
    read(mix.config, 8, commit_every=1)
    assert mixer.wait(timeout=60) == 0
    riffle("replay", "-c", mix.config, "--steps", f"0..{STEPS + LEAD + 4}")


def test_a_domain_that_is_created_again_under_a_mixer_that_waits_stops_it(mix, riffle, fill, unique):
    """With the length that it had: no length tells."""
    mixer = riffle.popen("mix", "-c", mix.config)
    assert "mixer=" in mixer.stderr.readline()  # attached; it waits for its trainers
    while "MIX-LEAD" not in mixer.stderr.readline():  # for ten seconds now
        assert mixer.poll() is None
    other_text(mix, fill, unique, sequences=200)
    riffle("read", "-c", mix.config, "--steps", 4, "--commit-every", 1, "--timeout", 20, check=False)
    said = mixer.communicate(timeout=60)[1]
    assert mixer.returncode == 1 and OTHER in said, said


def test_a_domain_of_which_the_first_records_were_deleted_is_said_to_be_that(riffle, fill, configure, tools, bootstrap, unique):
    """Retention, on a topic that is to be kept for ever."""
    fill("a")
    config = configure({"a": 1})
    mix = Mix(riffle, config, tools, bootstrap, f"{unique}-mix")
    riffle("mix", "-c", config, "--until-step", 1)
    mix.tool("trim", f"{unique}.a", 0, 50)
    out = f"`riffle skip -c {config} a/0 0..50`"
    problem, = [p for p in mix.problems() if "were deleted" in p]
    assert "domain a: the first 50 records of partition 0 were deleted (retention, or DeleteRecords; " in problem
    assert out in problem
    topics = riffle("topics", "-c", config)
    assert f"TOPICS-CUT topic {unique}.a: its first 50 records" in topics.stderr
    mixer = riffle("mix", "-c", config, "--until-step", 20, check=False)
    assert mixer.returncode == 1
    assert "its first records were deleted (retention, or DeleteRecords), and ordinals 0..50 with them" in mixer.stderr
    assert f"{out} leaves them out" in mixer.stderr
    riffle("skip", "-c", config, "a/0", "0..50", "--timeout", 1, check=False)  # no mixer answers yet
    riffle("mix", "-c", config, "--until-step", 20)
    assert not [p for p in mix.problems() if "were deleted" in p]


@pytest.fixture
def short_transactions(tmp_path):
    """A broker of its own that allows transactions of 5 s."""
    env = {**os.environ, "RIFFLE_KAFKA_DIR": str(tmp_path / "short"), "RIFFLE_KAFKA_JVM": "1",
           "RIFFLE_KAFKA_PROPERTIES": "transaction.max.timeout.ms=5000"}
    env.pop("RIFFLE_BOOTSTRAP", None)
    words = [ROOT / "scripts/kafka", "{}", "--version", os.environ.get("KAFKA", "3.9")]
    yield subprocess.run([words[0], "up", *words[2:]], env=env, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    subprocess.run([words[0], "down", "--yes", *words[2:]], env=env, check=True)


class TestShortTransactions:
    @pytest.fixture
    def bootstrap(self, short_transactions):
        return short_transactions

    def test_a_low_limit_of_transactions_is_one_error_and_one_property(self, riffle, fill, configure, read):
        fill("a")
        config = configure({"a": 1})
        refused = riffle("mix", "-c", config, "--until-step", 5, check=False)
        assert refused.returncode == 2
        assert ("the broker allows no transaction of 15000 ms (transaction.timeout.ms): raise its transaction.max.timeout.ms, "
                "or set transaction.timeout.ms under `kafka:` to that") in refused.stderr
        riffle("mix", "-c", config, "--until-step", 5, "-X", "transaction.timeout.ms=5000")
        assert len(read(config, 5)) == 5 * LANES


def test_requests_of_a_control_topic_that_was_created_again_are_all_answered_and_replayed(mix, riffle):
    """The ledger has answered up to an offset of the old topic: what stands in the new one below it is no less asked for."""
    topic = f"{mix.name}.control"

    def ask(name, weight):
        riffle("weights", "-c", mix.config, f"a={weight}", "--id", name, check=False)

    def run_to(step):
        return riffle("mix", "-c", mix.config, "-s", "mix.max_lead_steps=0", "--accept-config", "--yes",
                      "--until-step", STEPS + LEAD + step).stderr

    for name in ("1", "2", "3"):
        ask(name, 2)
    run_to(2)
    mix.tool("topic", "write", topic, 1, input="")
    assert "MIX-CONTROL" in run_to(4)
    for name in ("4", "5", "6", "7"):
        ask(name, 3)
    run_to(6)
    states = {r["id"]: r["state"] for r in json.loads(riffle("requests", "-c", mix.config, "--json").stdout)}
    assert {name: states[name] for name in "4567"} == {name: "in force" for name in "4567"}
    riffle("replay", "-c", mix.config, "--steps", f"0..{STEPS + LEAD + 6}")
    mix.tool("topic", "write", f"{mix.name}.batches", LANES, input="")
    riffle("repair", "-c", mix.config)
    riffle("replay", "-c", mix.config, "--steps", f"0..{STEPS + LEAD + 6}")


def test_requests_of_a_control_topic_that_was_created_again_and_filled_beyond_the_old_one_are_all_answered(mix, riffle):
    """No mixer saw it empty: by its offsets alone the new topic would be the old one."""
    topic = f"{mix.name}.control"

    def ask(name, weight):
        riffle("weights", "-c", mix.config, f"a={weight}", "--id", name, check=False)

    def run_to(step):
        return riffle("mix", "-c", mix.config, "-s", "mix.max_lead_steps=0", "--accept-config", "--yes",
                      "--until-step", STEPS + LEAD + step).stderr

    for name in ("1", "2"):
        ask(name, 2)
    assert "MIX-CONTROL" not in run_to(2)
    assert "MIX-CONTROL" not in run_to(3)
    mix.tool("topic", "write", topic, 1, input="")
    for name in ("3", "4", "5"):
        ask(name, 3)
    said = run_to(4)
    assert f"MIX-CONTROL topic={topic}: the record at offset=1 is none that the ledger has answered" in said
    states = {r["id"]: r["state"] for r in json.loads(riffle("requests", "-c", mix.config, "--json").stdout)}
    assert {name: states[name] for name in "345"} == {name: "in force" for name in "345"}
    assert "MIX-CONTROL" not in run_to(5)
    riffle("replay", "-c", mix.config, "--steps", f"0..{STEPS + LEAD + 5}")
