"""riffle read on a real broker: lanes, starts, commits, what is wrong in a topic, kill -9.

The topics are synthetic (tests/tools/fill_batches.c), which also prints what must be read.
"""

import json
import os
import re
import select
import signal
import struct
import subprocess
import time

import pytest

LANES = 8


@pytest.fixture
def tool(tools, bootstrap):
    def run(name, *words):
        done = subprocess.run(
            [os.path.join(tools, name), *map(str, words)],
            env={**os.environ, "RIFFLE_BOOTSTRAP": bootstrap},
            capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout
    return run


@pytest.fixture
def mix(unique, tool):
    """Fills a batch topic; gives the lines that a reader of all lanes must print."""
    def fill(*words, name=unique, lanes=LANES):
        return tool("fill_batches", "--mix", name, "--lanes", lanes, "--print", *words).splitlines()
    fill.name = unique
    return fill


@pytest.fixture
def read(riffle, bootstrap, unique):
    def run(*words, mix=unique, code=0, env=None, timeout=60):
        done = riffle("read", "--mix", mix, "-X", f"bootstrap.servers={bootstrap}",
                      *map(str, words), env=env or {}, timeout=timeout, check=False)
        assert done.returncode == code, done.stderr
        return done
    return run


def lines(done):
    return done.stdout.splitlines()


def step_of(line):
    return int(line.split("\t")[0])


def steps(done):
    return sorted({step_of(line) for line in lines(done)})


def in_order(these):
    """Lines of several ranks as one reader of all lanes prints them."""
    return sorted(these, key=lambda line: tuple(map(int, line.split("\t")[:2])))


# --- what is read


@pytest.mark.parametrize("world", [1, 2, 3, 4, 5, 7, 8])
def test_every_world_sees_the_same_lanes(mix, read, world):
    expected = mix("--steps", 12, "--end", "--abort-every", 3)
    seen = []
    for rank in range(world):
        mine = lines(read("--rank", rank, "--world", world, *(["--uneven"] if LANES % world else [])))
        assert {int(line.split("\t")[1]) * world // LANES for line in mine} == {rank}
        assert mine == in_order(mine)
        seen += mine
    assert in_order(seen) == expected


def test_tokens_of_three_bytes_are_read(mix, read):
    expected = mix("--steps", 5, "--width", 3, "--length", 500, "--end")
    assert lines(read()) == expected


def test_jsonl_and_tokens_show_what_the_hashes_are_of(mix, read):
    expected = mix("--steps", 3, "--length", 16, "--end")
    objects = [json.loads(line) for line in lines(read("--format", "jsonl"))]
    assert len(objects) == 3 * LANES * 2
    assert list(objects[0]) == ["step", "lane", "domain", "partition", "ordinal", "epoch",
                                "source", "used", "no_loss", "spans", "phase", "lr_scale", "version", "tokens"]
    for o in objects:
        assert [s["source"] for s in o["spans"]][:1] == [o["source"]] and o["spans"][0]["start"] == 0
        assert all(list(s) == ["start", "source", "document", "offset"] for s in o["spans"])
        assert (o["phase"], o["lr_scale"]) == ("", 1)
    for line in expected:
        step, lane, _, counts = line.split("\t")
        mine = [o for o in objects if (o["step"], o["lane"]) == (int(step), int(lane))]
        found = {}
        for o in mine:
            found[o["domain"]] = found.get(o["domain"], 0) + 1
        assert ",".join(f"{d}:{n}" for d, n in sorted(found.items())) == counts
        assert all(o["source"].startswith("made.") and o["ordinal"] == o["step"] for o in mine)
        assert all(len(o["tokens"]) == 17 for o in mine)


def test_the_format_tokens_is_the_tokens_and_nothing_else(mix, read, riffle, bootstrap, tmp_path):
    mix("--steps", 3, "--length", 16, "--end")
    objects = [json.loads(line) for line in lines(read("--format", "jsonl"))]
    expected = [t for o in objects for t in o["tokens"]]
    out = tmp_path / "tokens"
    with open(out, "wb") as to:
        process = riffle.popen("read", "--mix", mix.name, "-X", f"bootstrap.servers={bootstrap}",
                               "--format", "tokens", stdout=to)
        assert process.wait(timeout=60) == 0
    raw = out.read_bytes()
    assert list(struct.unpack(f"<{len(raw) // 4}I", raw)) == expected


def test_the_format_none_prints_a_rate_and_no_data(mix, read):
    mix("--steps", 7, "--length", 16, "--end")
    done = read("--format", "none")
    assert done.stdout == ""
    assert f"steps=7 sequences={7 * LANES * 2} tokens={7 * LANES * 2 * 16} " in done.stderr
    assert "tokens_per_s=" in done.stderr


def test_a_configuration_names_the_mix_and_its_lanes(mix, riffle, bootstrap, write_config):
    expected = mix("--steps", 2, "--end")
    text = (f"corpus: {mix.name}\ntokenizer: {{file: none.tiktoken, pattern: cl100k}}\n"
            "sequence_length: 32\ndomains:\n  code: {train: [none.jsonl]}\n"
            f"mix:\n  name: {mix.name}\n  seed: 1\n  global_batch: 16\n  lanes: LANES\n"
            f"  weights: uniform\nkafka:\n  bootstrap.servers: {bootstrap}\n")
    right = write_config(text.replace("LANES", "8"))
    assert lines(riffle("read", "-c", right)) == expected
    wrong = write_config(text.replace("LANES", "4"))
    done = riffle("read", "-c", wrong, check=False)
    assert done.returncode == 2
    assert ("has 8 partitions, the configuration wants 4 (mix.lanes): set it back to 8, or give mix.name another name; if partitions "
            "were added, `riffle topics -c ") in done.stderr
    wrong = write_config(text.replace("LANES", "16"))
    done = riffle("read", "-c", wrong, check=False)
    assert done.returncode == 2
    assert done.stderr.endswith("wants 16 (mix.lanes): set it back to 8, or give mix.name another name\n")


# --- where it starts


@pytest.mark.parametrize("first", [0, 1, 37, 198, 199])
def test_a_reader_starts_at_the_step_it_is_told(mix, read, first):
    expected = mix("--steps", 200, "--abort-every", 5, "--steps-per-transaction", 3, "--end")
    assert lines(read("--from-step", first)) == [x for x in expected if step_of(x) >= first]


def test_steps_bounds_what_is_read(mix, read):
    expected = mix("--steps", 20, "--end")
    assert lines(read("--from-step", 5, "--steps", 3)) == expected[5 * LANES:8 * LANES]
    assert lines(read("--from-step", 5, "--steps", 0)) == []


def test_a_start_at_the_end_reads_nothing(mix, read):
    mix("--steps", 20, "--end")
    assert lines(read("--from-step", 20)) == []


@pytest.mark.parametrize("first", [21, 10**6, 10**15])
def test_a_start_behind_the_end_is_refused(mix, read, first):
    mix("--steps", 20, "--end")
    assert f"ended before step 20, so that no step {first} comes" in read("--from-step", first, code=2).stderr


def test_a_step_that_is_not_published_is_waited_for(mix, riffle, bootstrap):
    before = mix("--steps", 4)
    process = riffle.popen("read", "--mix", mix.name, "-X", f"bootstrap.servers={bootstrap}",
                           "--from-step", 2, stdout=subprocess.PIPE)
    first = [process.stdout.readline().rstrip("\n") for _ in range(2 * LANES)]
    assert first == before[2 * LANES:]
    after = mix("--first-step", 4, "--steps", 3, "--keep-topic", "--end")
    rest, _ = process.communicate(timeout=60)
    assert rest.splitlines() == after
    assert process.returncode == 0


def test_a_start_behind_what_is_published_waits_for_that_step(mix, riffle, bootstrap):
    mix("--steps", 4)
    process = riffle.popen("read", "--mix", mix.name, "-X", f"bootstrap.servers={bootstrap}",
                           "--from-step", 6, stdout=subprocess.PIPE)
    after = mix("--first-step", 4, "--steps", 6, "--keep-topic", "--end")
    rest, _ = process.communicate(timeout=60)
    assert rest.splitlines() == after[2 * LANES:]


def test_a_step_that_does_not_come_in_time_is_an_error_that_says_which(mix, read):
    expected = mix("--steps", 4)
    done = read("--timeout", 1, code=1)
    assert lines(done) == expected
    assert re.search(r": step 4 of mix \S+ did not come within [12] s: ", done.stderr), done.stderr


def test_an_expired_step_names_the_earliest_that_is_kept(mix, read, tool):
    expected = mix("--steps", 100, "--steps-per-transaction", 1, "--end")
    words = [w for lane in range(LANES) for w in (lane, 2 * 60)]  # two offsets a step
    tool("trim", f"{mix.name}.batches", *words)
    done = read("--from-step", 59, code=1)
    assert lines(done) == []
    assert "step 59 of mix" in done.stderr
    assert "the earliest retained step is 60" in done.stderr
    assert lines(read("--from-step", 60)) == expected[60 * LANES:]
    assert lines(read("--from-step", 99)) == expected[99 * LANES:]


def test_an_expired_commit_names_the_earliest_that_is_kept(mix, read, tool):
    mix("--steps", 100, "--steps-per-transaction", 1, "--end")
    read("--steps", 10, "--commit-every", 10)
    tool("trim", f"{mix.name}.batches", *[w for lane in range(LANES) for w in (lane, 60)])
    done = read(code=1)
    assert "step 10 of mix" in done.stderr
    assert "the earliest retained step is 30" in done.stderr


# --- commits


def test_a_run_goes_on_where_it_has_committed(mix, read):
    expected = mix("--steps", 20, "--end")
    first = read("--steps", 6, "--commit-every", 3)
    assert "has committed nothing: it starts at step 0" in first.stderr
    assert lines(first) == expected[:6 * LANES]
    assert lines(read("--commit-every", 3)) == expected[6 * LANES:]
    assert lines(read("--commit-every", 3)) == []  # the end was committed too


def test_the_end_of_the_reading_is_committed(mix, read):
    expected = mix("--steps", 20, "--end")
    assert lines(read("--steps", 8, "--commit-every", 5)) == expected[:8 * LANES]
    assert lines(read()) == expected[8 * LANES:]


def test_a_signal_ends_a_reader_whose_pipe_nobody_empties_with_0(mix, read, riffle, bootstrap, wait_for):
    mix("--steps", 400, "--end")
    process = riffle.popen("read", "--mix", mix.name, "-X", f"bootstrap.servers={bootstrap}", "--format", "jsonl",
                           "--commit-every", 1000, stdout=subprocess.PIPE)
    writes = os.open(f"/proc/{process.pid}/fd/1", os.O_WRONLY)
    wait_for(lambda: select.select([], [writes], [], 0)[1] == [], "a full pipe")
    os.close(writes)
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=60) == 0
    seen = [json.loads(line)["step"] for line in process.stdout.read().splitlines()[:-1]]
    assert steps(read())[0] <= seen[-1], "a step that is not out was committed"


def test_without_commit_every_nothing_is_committed(mix, read):
    expected = mix("--steps", 5, "--end")
    assert lines(read()) == expected
    again = read()
    assert lines(again) == expected
    assert "has committed nothing" in again.stderr


def test_runs_do_not_share_their_positions(mix, read):
    expected = mix("--steps", 10, "--end")
    read("--run", "one", "--steps", 4, "--commit-every", 1)
    assert lines(read("--run", "two", "--steps", 2)) == expected[:2 * LANES]
    assert lines(read("--run", "one")) == expected[4 * LANES:]


@pytest.mark.parametrize("world", [1, 2, 4, 8])
def test_the_lowest_lane_decides_at_any_world_size(mix, read, world):
    expected = mix("--steps", 20, "--abort-every", 4, "--end")
    read("--rank", 0, "--world", 2, "--steps", 11, "--commit-every", 11)
    read("--rank", 1, "--world", 2, "--steps", 3, "--commit-every", 3)
    seen = []
    for rank in range(world):
        seen += lines(read("--rank", rank, "--world", world))
    assert in_order(seen) == expected[3 * LANES:]


def test_a_lane_without_a_commit_stands_at_step_0(mix, read):
    expected = mix("--steps", 10, "--end")
    read("--rank", 0, "--world", 2, "--steps", 4, "--commit-every", 1)
    done = read()
    assert lines(done) == expected
    assert "has no commit of lane 4: it starts at step 0" in done.stderr


def test_a_run_whose_commits_are_gone_does_not_begin_again(mix, read):
    expected = mix("--steps", 10, "--ledger-step", 7, "--end")
    done = read(code=1)
    assert f"run trainers of mix {mix.name} was at step 7, as the ledger says" in done.stderr
    assert lines(read("--from-step", 7, "--steps", 1, "--commit-every", 1)) == \
        expected[7 * LANES:8 * LANES]
    assert steps(read()) == [8, 9]  # it has commits again
    assert steps(read("--run", "new", "--steps", 1)) == [0]  # the ledger does not know it


def test_a_commit_by_hand_is_no_position(mix, read, tool):
    mix("--steps", 10, "--end")
    for lane in range(LANES):
        tool("broker", "commit", f"{mix.name}.trainers", f"{mix.name}.batches", lane, 5, "hand")
    done = read(code=1)
    assert "lane 0: the commit's metadata is \"hand\", not step=N" in done.stderr
    assert steps(read("--from-step", 9)) == [9]  # a checkpoint wins


@pytest.mark.parametrize("offset", [0, 4, 14, 10**9])
def test_a_commit_whose_offset_is_not_its_step_is_searched_for(mix, read, tool, offset):
    expected = mix("--steps", 10, "--steps-per-transaction", 1, "--end")
    for lane in range(LANES):
        tool("broker", "commit", f"{mix.name}.trainers", f"{mix.name}.batches", lane, offset,
             "step=5")
    assert lines(read()) == expected[5 * LANES:]


def test_the_lead_of_the_mix_makes_a_reader_commit_in_time(mix, read):
    mix("--steps", 10, "--lead", 8, "--end")
    # A quarter of the lead: every 2 steps. The second commit is not sent before the first is answered.
    read("--commit-every", 1000, code=-signal.SIGKILL, env={"RIFFLE_FAULT": "read.before_commit:2"})
    assert steps(read())[0] == 2


@pytest.mark.parametrize("point", ["read.before_commit", "read.after_commit"])
@pytest.mark.parametrize("world", [1, 2])
def test_after_kill_9_each_step_is_read_and_read_again_equal(mix, read, point, world):
    expected = mix("--steps", 20, "--abort-every", 4, "--end")
    committed = 6 if point == "read.before_commit" else 9
    seen = []
    for rank in range(world):
        killed = read("--rank", rank, "--world", world, "--commit-every", 3, code=-signal.SIGKILL,
                      env={"RIFFLE_FAULT": f"{point}:3"})
        assert f"fault: {point} reached" in killed.stderr
        assert steps(killed) == list(range(9))  # what was read before the commit is out
        seen += lines(killed)
    again = []
    for rank in range(world):
        again += lines(read("--rank", rank, "--world", world, "--commit-every", 3))
    assert in_order(seen) == expected[:9 * LANES]
    assert in_order(again) == expected[committed * LANES:]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_waiting_reader_with_0(mix, riffle, bootstrap, number):
    expected = mix("--steps", 3)
    process = riffle.popen("read", "--mix", mix.name, "-X", f"bootstrap.servers={bootstrap}",
                           stdout=subprocess.PIPE)
    seen = [process.stdout.readline().rstrip("\n") for _ in range(3 * LANES)]
    process.send_signal(number)
    rest, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert seen + rest.splitlines() == expected


# --- what is wrong


BAD = {
    "garbage": "not a riffle record",
    "fingerprint": "fingerprint",
    "truncated": "record of kind Batch",
    "mix": "belongs to mix somebody, not to",
    "lane": "says lane 3",
    "schedule": "another mix has written to this topic",
    "tokenizer": "tokenizer 0000000000005679",
    "torn": "step 5 is torn: its lanes do not agree on the version of the weights",
    "duplicate": "duplicate: step 4 again, where step 5 is due",
    "gap": "gap: step 6, where step 5 is due",
    "domain": "names domain 3, which is not among its domains",
    "hash": "hash",
    "frame": "riffle skip",
    "short": "riffle skip",
    "length": "32 tokens, where earlier sequences have 33",
}


@pytest.mark.parametrize("kind", BAD)
def test_a_wrong_record_stops_the_reader_at_its_step(mix, read, kind):
    expected = mix("--steps", 10, "--bad", kind, "--bad-step", 5, "--bad-lane", 2, "--end")
    done = read(code=1)
    assert lines(done) == expected[:5 * LANES]  # whole steps only
    assert BAD[kind] in done.stderr
    assert f"topic {mix.name}.batches, lane 2, offset " in done.stderr


@pytest.mark.parametrize("kind", ["hash", "frame", "short", "length"])
def test_a_wrong_sequence_is_named(mix, read, kind):
    mix("--steps", 10, "--bad", kind, "--bad-step", 5, "--bad-lane", 2, "--end")
    jsonl = [json.loads(x) for x in lines(read("--format", "jsonl", "--steps", 5))]
    done = read("--from-step", 5, code=1)
    assert any(f"domain {d}, partition " in done.stderr for d in {o["domain"] for o in jsonl})
    assert "ordinal 5: " in done.stderr
    if kind in ("frame", "short"):
        assert any(f"riffle skip {d}/{p} 5..6" in done.stderr
                   for d in ("code", "prose", "web") for p in (0, 1))


def test_memory_is_not_laid_out_by_what_a_record_claims(mix, read):
    mix("--steps", 3, "--bad", "claim", "--bad-step", 0, "--bad-lane", 0, "--end")
    assert "more items than there are bytes left" in read(code=1).stderr


def test_a_missing_topic_is_a_configuration_error(read, unique):
    done = read(mix=f"{unique}-none", code=2)
    assert f"topic {unique}-none.batches does not exist" in done.stderr


def test_a_broker_that_does_not_answer_is_one_clear_sentence(riffle):
    begun = time.monotonic()
    done = riffle("read", "--mix", "m", "-X", "bootstrap.servers=127.0.0.1:1", check=False)
    assert done.returncode == 1
    assert "no broker answers at 127.0.0.1:1" in done.stderr
    assert time.monotonic() - begun < 30


USAGE = {
    "a world without a rank": (["--world", 2], "--world 2: which of them is this? give --rank"),
    "a rank without a world": (["--rank", 1], "--rank 1: of how many? give --world"),
    "a world that does not divide the lanes": (["--rank", 0, "--world", 3], "does not divide the 8 lanes of topic"),
    "more ranks than lanes": (["--rank", 0, "--world", 16], "larger than the 8 lanes"),
    "a rank beyond the world": (["--rank", 2, "--world", 2], "--rank: out of range: 2"),
    "a run with a name of the mixer's": (["--run", "mixer"], "\"mixer\" is not a name of a run"),
    "an unknown format": (["--format", "xml"], "--format"),
    "an unknown property": (["-X", "no.such=1"], "no.such"),
}


@pytest.mark.parametrize("what", USAGE)
def test_what_does_not_fit_is_refused(mix, read, what):
    mix("--steps", 1)
    words, says = USAGE[what]
    assert says in read(*words, code=2).stderr


def test_without_a_mix_there_is_nothing_to_read(riffle):
    done = riffle("read", check=False)
    assert done.returncode == 2
    assert "which mix? give -c FILE with a mix section, or a broker" in done.stderr


def test_output_that_cannot_be_written_is_an_error(mix, riffle, bootstrap):
    mix("--steps", 3, "--end")
    with open("/dev/full", "w") as full:
        process = riffle.popen("read", "--mix", mix.name, "-X", f"bootstrap.servers={bootstrap}",
                               "--commit-every", 1, stdout=full, stderr=subprocess.PIPE)
        _, stderr = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "writing step 0: No space left on device" in stderr
    done = riffle("read", "--mix", mix.name, "-X", f"bootstrap.servers={bootstrap}")
    assert steps(done)[0] == 0  # nothing was committed


# --- speed of a resume


def first_step_ms(done):
    return int(done.stderr.split("first_step_ms=")[1].split()[0])


def test_a_resume_at_step_100_000_is_as_quick_as_at_step_100(mix, read, tool):
    tool("fill_batches", "--mix", mix.name, "--lanes", LANES, "--steps", 100_200,
         "--sequences-per-lane", 1, "--length", 8, "--steps-per-transaction", 250,
         "--abort-every", 50)
    words = ["--steps", 1, "--format", "none"]
    took = {}
    for step in (100, 100_000):
        runs = sorted(first_step_ms(read("--from-step", step, *words)) for _ in range(5))
        took[step] = runs[2]
        read("--run", f"at-{step}", "--from-step", step - 1, "--steps", 1, "--commit-every", 1)
        runs = sorted(first_step_ms(read("--run", f"at-{step}", *words)) for _ in range(5))
        took[step, "committed"] = runs[2]
    assert max(took.values()) < 1000, took
    assert took[100_000] <= took[100] + 200, took
    assert took[100_000, "committed"] <= took[100, "committed"] + 200, took
