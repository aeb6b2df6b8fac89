"""Mixes without copies (mix.batches: derived): readers derive the steps of a mix with copies, on a real broker."""

import json
import os
import subprocess
import sys

import pytest

from paced_trainer import Trainer
from test_replay import Topic, decode_ledger
from wire_proxy import Fate, Proxy

WEIGHTS = {"a": 0.6, "b": 0.3, "c": 0.1}
STEPS = int(os.environ.get("DERIVED_STEPS", 60))  # make test-derived: 2,000


@pytest.fixture
def twins(configure):
    """The configurations of one mix with copies, and of one without."""
    def make(weights=WEIGHTS, **keys):
        return [configure(weights, form, batches=form, **keys) for form in ("copied", "derived")]
    return make


@pytest.fixture
def status(riffle):
    return lambda config: json.loads(riffle("status", "-c", config, "--json").stdout)


def world(read, config, steps, size):
    """The lines of all ranks, in the order of those of one."""
    lines = [line for rank in range(size) for line in read(config, steps, rank=rank, world=size)]
    return sorted(lines, key=lambda line: tuple(map(int, line.split("\t")[:2])))


def test_steps_are_those_of_a_mix_with_copies(
        riffle, fill, twins, read, status, wait_for, tools, bootstrap, unique):
    """Weights changed twice, a skip, bad records, a phase, two epochs; worlds of 1, 2 and 8; replay and inspect."""
    lead = STEPS * 3 // 20
    fill("a", sequences=STEPS * 3)
    fill("b", "c", sequences=STEPS * 3 // 2)
    log = Topic(tools, bootstrap, f"{unique}.b")
    for at in STEPS // 20, STEPS * 17 // 20:
        log.flip(0, at, -3)
    log.write(1)
    phases = [{"name": "late", "start_step": STEPS * 3 // 4, "weights": {"c": 0.5}, "lr_scale": 0.5}]
    configs = twins(max_lead_steps=lead, phases=phases, transaction_bytes=1000 * STEPS)
    for config in configs:
        mixer = riffle.popen("mix", "-c", config, "--until-step", STEPS)
        wait_for(lambda: status(config)["mix"].get("step_next", 0) >= lead or mixer.poll() is not None,
                 "the lead is used up", 300)
        riffle("weights", "-c", config, "a=1", "--at-step", STEPS // 5)
        riffle("skip", "-c", config, "a", f"0..{STEPS // 2}", "--at-step", STEPS * 3 // 10)
        riffle("weights", "-c", config, "c=1", "--at-step", STEPS * 9 // 20)
        read(config, STEPS, commit_every=max(1, lead // 4))
        said = mixer.communicate(timeout=300)[1]
        assert mixer.returncode == 0, said
    copied, derived = configs
    whole = read(copied, STEPS)
    assert len(whole) == STEPS * 8
    for size in 1, 2, 8:
        assert world(read, derived, STEPS, size) == whole, size
    seen = [status(config) for config in configs]
    for key in "step_next", "draws", "weights", "quarantined":
        assert seen[0]["mix"][key] == seen[1]["mix"][key], key
    assert seen[1]["mix"]["weights"]["version"] >= 4 and seen[1]["mix"]["quarantined"] == 2, seen[1]["mix"]
    assert min(d["epoch"] for d in seen[1]["domains"]) >= 1
    assert "replayed" in riffle("replay", "-c", derived, "--steps", f"0..{STEPS}").stdout
    shown = [riffle("inspect", "-c", config, STEPS * 3 // 5).stdout.replace(form, "x").splitlines()[1:]
             for config, form in zip(configs, ("copied", "derived"))]
    assert shown[0] == shown[1]


def test_a_mix_without_copies_has_no_batch_topic_and_no_record_for_a_lane(riffle, fill, twins, unique, status):
    fill(*WEIGHTS)
    copied, derived = twins()
    riffle("mix", "-c", derived, "--until-step", 20)
    topics = riffle("topics", "-c", derived).stdout
    assert f"{unique}-derived.batches" not in topics and f"{unique}-derived.lanes" in topics
    assert status(derived)["mix"]["step_next"] == 20
    refused = riffle("retain", "-c", derived, "--from-step", 10, check=False)
    assert refused.returncode == 2 and "no copies" in refused.stderr
    assert riffle("repair", "-c", derived).returncode == 0


def test_mixer_and_readers_killed_in_the_middle_resume_at_the_same_steps(
        riffle, fill, twins, read, status, wait_for):
    fill(*WEIGHTS, sequences=400)
    copied, derived = twins(max_lead_steps=20)
    end = 120
    riffle("mix", "-c", copied, "-s", "mix.max_lead_steps=0", "--until-step", end)
    mixer = riffle.popen("mix", "-c", derived, "--until-step", end, stderr=subprocess.DEVNULL)
    lines, trainers = [], [Trainer(riffle, derived, rank, 2, end, 1, "steps") for rank in range(2)]
    for step in range(10, 80, 10):
        for trainer in trainers:
            trainer.read_until(step)
        if step == 40:
            mixer.kill()
            mixer.wait()
            mixer = riffle.popen("mix", "-c", derived, "--until-step", end, stderr=subprocess.DEVNULL)
        if step in (30, 50, 60):
            rank = step // 10 % 2
            trainers[rank].kill()
            lines += trainers[rank].taken
            trainers[rank] = Trainer(riffle, derived, rank, 2, end, 1, "steps")
    for trainer in trainers:
        trainer.read_until(79)
    for trainer in trainers:
        trainer.kill()
        lines += trainer.taken
    whole = read(copied, 80)
    assert {line for line in lines if int(line.split("\t")[0]) < 80} == set(whole)
    # The run goes on where it stood, and to the end that the mixer has published meanwhile.
    at = status(derived)["mix"]["runs"][0]["step"]
    assert 60 <= at <= 100
    rest = read(derived, end - at, commit_every=5)
    assert rest == read(copied, end - at, first=at)
    assert mixer.wait(timeout=60) == 0


def test_batches_of_a_running_mix_stay_what_they_are(riffle, fill, configure):
    fill("a")
    config = configure({"a": 1}, batches="derived")
    riffle("mix", "-c", config, "--until-step", 3)
    done = riffle("mix", "-c", config, "-s", "mix.batches=copied", "--until-step", 6, check=False)
    assert done.returncode == 2 and 'mix.batches: "derived" in the ledger, "copied" in the file' in done.stderr, done.stderr
    configure({"a": 1}, batches="copied")  # with the topic
    done = riffle("mix", "-c", config, "--until-step", 6, check=False)
    assert done.returncode == 2 and "mix.batches" in done.stderr, done.stderr
    wrong = riffle("config", "-c", config, "-s", "mix.batches=derived", "-s", "mix.partitions=4", check=False)
    assert wrong.returncode == 2


def test_a_domain_that_was_created_again_from_other_text_is_not_derived_from(
        riffle, fill, configure, read, tools, bootstrap, unique):
    fill("a", "b")
    config = configure({"a": 0.5, "b": 0.5}, batches="derived")
    riffle("mix", "-c", config, "--until-step", 4)
    before = read(config, 4)
    subprocess.run([tools / "topic", "delete", f"{unique}.a"], env={"RIFFLE_BOOTSTRAP": bootstrap}, check=True)
    fill("a", seed=2, sequences=230)
    other = riffle("read", "-c", config, "--from-step", 0, "--steps", 4, check=False)
    said = f"of topic {unique}.a partition 0 is not the one that the mix has drawn"
    assert other.returncode == 1 and said in other.stderr, other.stderr
    subprocess.run([tools / "topic", "delete", f"{unique}.a"], env={"RIFFLE_BOOTSTRAP": bootstrap}, check=True)
    fill("a")
    assert read(config, 4) == before


# --- what a reader reads, and what it keeps of it

LONG, MANY = 2048, 4096  # tokens of a sequence, sequences of a domain: 8 blocks of some 1.5 MB


@pytest.fixture
def large(riffle, fill, configure):
    """A mix of one epoch of two domains, which are much larger than what a reader may keep; it has ended."""
    fill("a", "b", sequences=MANY, length=LONG)
    config = configure({"a": 0.5, "b": 0.5}, batches="derived", length=LONG, transaction_bytes=1 << 24,
                       domains={"a": {"on_end": "stop"}, "b": {"on_end": "stop"}})
    riffle("mix", "-c", config)
    return config


def test_a_reader_fetches_less_than_twice_the_blocks_of_its_steps(riffle, large, bootstrap, unique):
    """Fetches are as large as a block. By an estimate of its bytes they brought two."""
    stored = sum(sum(map(int, subprocess.run(
        ["kcat", "-C", "-q", "-e", "-b", bootstrap, "-t", f"{unique}.{domain}", "-o", "beginning", "-f", "%S\n"],
        check=True, capture_output=True, timeout=60).stdout.split())) for domain in "ab")
    proxy = Proxy(bootstrap, lambda key: Fate.PASS)
    try:
        riffle("read", "-c", large, "-X", f"bootstrap.servers={proxy.address}", "--from-step", 0,
               "--world", 8, "--rank", 3, "--format", "none")
    finally:
        proxy.close()
    # Each block is read once, and nothing behind the end. A fetch brings a sixteenth and a quarter of a MiB of neighbours,
    # and what the reader looked at before its first step comes on top: 1.3 to 1.5 times in all.
    assert proxy.answered_bytes < 1.8 * stored, (proxy.answered_bytes, stored)


def test_what_a_reader_keeps_of_domains_is_bounded_by_ahead_bytes(large, package, unique, bootstrap):
    program = (
        "import sys, riffle\n"
        "def anon():\n"
        "    return next(int(l.split()[1]) for l in open('/proc/self/status') if l.startswith('RssAnon')) / 1024\n"
        "mix, bootstrap = sys.argv[1:]\n"
        "before, most = anon(), 0\n"
        "with riffle.Reader(mix, bootstrap, 3, 8, step=0, timeout=60, ahead_bytes=1) as r:\n"
        "    for _ in range(200):\n"
        "        next(r)\n"
        "        most = max(most, anon() - before)\n"
        "print(most)\n")
    done = subprocess.run([sys.executable, "-c", program, f"{unique}-mix", bootstrap], env=package.env, capture_output=True,
                          text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    # One lane: 1 MiB ahead, hence 4 MiB of blocks; and past that what one step needs, a fetch on its way for each domain.
    assert float(done.stdout) < 24, done.stdout


# --- what does not fit the ledger


def test_a_sequence_that_was_damaged_since_it_was_drawn_stops_the_reader(riffle, fill, configure, read, tools, bootstrap, unique):
    """Quarantine is the mixer's decision: what the ledger does not name was whole."""
    fill("a", "b")
    config = configure({"a": 0.5, "b": 0.5}, batches="derived")
    riffle("mix", "-c", config, "--until-step", 20)
    drawn = [d for d in map(json.loads, read(config, 20, form="jsonl")) if d["domain"] == "a" and d["step"] == 7][0]
    log = Topic(tools, bootstrap, f"{unique}.a")
    log.flip(0, drawn["ordinal"], -3)
    log.write(1)
    assert len(read(config, 7)) == 7 * 8
    done = riffle("read", "-c", config, "--from-step", 0, "--steps", 20, "--format", "steps", check=False)
    assert done.returncode == 1 and len(done.stdout.splitlines()) == 7 * 8, done.stderr
    said = f"step 7: domain a, partition 0, ordinal {drawn['ordinal']}: the frame does not have the hash that its record states"
    assert said in done.stderr and "the mixer has drawn it, so that it was whole" in done.stderr, done.stderr


def test_choices_that_are_not_those_of_the_ledger_stop_the_reader(riffle, fill, configure, read, tools, bootstrap, unique):
    fill("a", "b")
    config = configure({"a": 0.5, "b": 0.5}, batches="derived")
    for end in 10, 20:
        riffle("mix", "-c", config, "--until-step", end)
    log = Topic(tools, bootstrap, f"{unique}-mix.ledger")
    records = log.records[0]
    index = next(i for i, r in enumerate(records) if decode_ledger(r)["step_next"] > 10)
    log.flip(0, index, records[index].index(decode_ledger(records[index])["choices"]))
    log.write(1)
    first, end = (decode_ledger(records[index])[key] for key in ("step_first", "step_next"))
    done = riffle("read", "-c", config, "--from-step", 0, "--steps", 20, "--format", "steps", check=False)
    said = f"steps {first}..{end} of mix {unique}-mix are not derived as the ledger has them: `riffle replay -c "
    assert done.returncode == 1 and said in done.stderr, done.stderr
