"""Live domains on a real broker: riffle produce --follow, files that arrive and grow, kill -9, --seal.

No sequence may hold a document twice or leave one out, whatever the names of the files and whenever the producer died.
The documents are told apart by a number in their text; what a topic must hold is packed naively from the documents in
the order in which the producer read them, which the records name.
"""

import gzip
import json
import os
import random
import re
import signal
import subprocess
import time

import pytest

from conftest import wait_until
from late import LATE, past_late
from test_append import partition
from test_produce import (Corpus, corpus, decode, encoding, lines, ordinal, pack, tokens, values,  # noqa: F401
                          which)


class Writer:
    """Makes documents of a few words with a number, and remembers them."""

    def __init__(self, folder, seed=0):
        self.folder, self.random, self.all = folder, random.Random(seed), []

    def documents(self, n):
        made = []
        for _ in range(n):
            words = " ".join(self.random.choice(["one", "two", "three"]) for _ in range(self.random.randrange(1, 40)))
            made.append(f"document {len(self.all) + len(made)} {words}")
        self.all += made
        return made

    def lines(self, n):
        return lines(self.documents(n))

    def append(self, name, n):
        with open(self.folder / name, "a") as out:
            out.write(self.lines(n))

    def rename(self, name, content):
        (self.folder / ".new").write_bytes(content)
        (self.folder / ".new").rename(self.folder / name)


@pytest.fixture
def live(corpus):
    corpus.config["domains"] = {"a": {"train": ["in/*"], "live": True}}
    (corpus.folder / "in").mkdir()
    corpus.writer = Writer(corpus.folder / "in")
    return corpus


def sequences(c, suffix="a", lane=0):
    return partition(c.values(suffix, lane))[0]


def text_of(c, encoding, found):
    """The documents of a topic in their order, without the last one, which may go on."""
    stream = []
    for i, value in enumerate(found):
        stream += tokens(decode(value))[i > 0:]
    return encoding.decode(stream).split("<|endoftext|>")


def end_of(process):
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    return err


def whole(writer, encoding):
    return sum(len(encoding.encode_ordinary(t)) + 1 for t in writer.all)


def wait_for_all(c, encoding, suffix="a", lane=0):
    """Everything that the writer wrote, up to less than a sequence, is there."""
    n = max(0, (whole(c.writer, encoding) - 1) // 32)
    wait_until(lambda: len(sequences(c, suffix, lane)) >= n, f"{n} sequences in {suffix}")
    found = sequences(c, suffix, lane)
    assert len(found) == n
    return found


def check_exactly_once(c, encoding, found):
    """The documents of the log are the writer's, each once, in any order; only at the end some are missing."""
    got = text_of(c, encoding, found)
    head, last = got[:-1], got[-1]
    assert len(set(head)) == len(head), "a document twice"
    left = set(c.writer.all) - set(head)
    assert set(head) <= set(c.writer.all)
    if last:
        assert any(t.startswith(last) for t in left), "the last document is none of those left"
    room = sum(len(encoding.encode_ordinary(t)) + 1 for t in left)
    assert room <= 33 + len(encoding.encode_ordinary(last)) + max(len(encoding.encode_ordinary(t)) for t in left | {""})


def test_files_that_come_grow_and_are_renamed_are_followed(live, encoding):
    w = live.writer
    w.append("m.jsonl", 30)
    process = live.create().start("--follow")
    check_exactly_once(live, encoding, wait_for_all(live, encoding))
    for i in range(5):  # two files grow in turn, and others come before, between and behind them
        w.append("m.jsonl", 7)
        w.append("c.jsonl", 7)
        w.rename(f"{'azkqb'[i]}.jsonl.gz", gzip.compress(w.lines(9).encode()))
        check_exactly_once(live, encoding, wait_for_all(live, encoding))
    w.rename("b.txt", w.documents(1)[0].encode())
    w.append("a.jsonl", 30)
    found = wait_for_all(live, encoding)
    assert partition(live.values("a"))[1] == []
    check_exactly_once(live, encoding, found)
    end_of(process)


def test_of_a_line_that_is_being_written_nothing_is_taken(live, encoding):
    w = live.writer
    w.append("a.jsonl", 20)
    text = w.lines(1)
    process = live.create().start("--follow")
    with open(live.folder / "in" / "a.jsonl", "a") as out:
        for i in range(0, len(text), 5):
            out.write(text[i:i + 5])
            out.flush()
            time.sleep(0.02)  # the time between two writes of somebody else
    w.append("b.jsonl", 20)
    check_exactly_once(live, encoding, wait_for_all(live, encoding))
    end_of(process)
    assert live.rejects() == []


def test_folders_and_files_that_are_not_there_yet_are_waited_for(live, encoding):
    live.config["domains"]["a"]["train"] = ["later/*/x.jsonl", "in/one.jsonl", "**/deep.jsonl"]
    process = live.create().start("--follow")
    w = live.writer
    for name in ("later/1/x.jsonl", "in/one.jsonl", "in/x/y/deep.jsonl", "later/0/x.jsonl"):
        (live.folder / name).parent.mkdir(parents=True, exist_ok=True)
        with open(live.folder / name, "w") as out:
            out.write(w.lines(20))
    check_exactly_once(live, encoding, wait_for_all(live, encoding))
    end_of(process)


def test_without_follow_a_live_domain_takes_what_is_there_and_stays_open(live, encoding):
    w = live.writer
    live.create().produce()
    assert live.values("a") == []
    for name in ("m", "a", "z", "b"):
        w.append(f"{name}.jsonl", 20)
        live.produce()
        check_exactly_once(live, encoding, wait_for_all(live, encoding))
    assert partition(live.values("a"))[1] == []
    problems = json.loads(live.riffle("status", "-c", live.path, "--json").stdout)["problems"]
    assert not any("sealed" in p or "a has" in p for p in map(str, problems)), problems


@pytest.mark.parametrize("by", ["--seal", "live: false"])
def test_a_live_domain_is_sealed_when_told_and_goes_on_when_told(live, encoding, by):
    w = live.writer
    w.append("m.jsonl", 20)
    live.create().produce()
    w.append("a.jsonl", 20)
    w.append("m.jsonl", 10)
    with open(live.folder / "in" / "m.jsonl", "a") as out:
        out.write(json.dumps({"text": w.documents(1)[0]}))  # a last line without its end is taken with the seal
    if by == "live: false":
        live.config["domains"]["a"]["live"] = False
        live.write()
        live.produce()
    else:
        live.produce("--seal")
    found, ends = partition(live.values("a"))
    assert len(ends) == 1
    end = decode(ends[0][1])
    assert end["sequences"] == len(found) and end["documents"] == len(w.all)
    assert end["tokens"] + end["dropped"] == whole(w, encoding)
    check_exactly_once(live, encoding, found)
    n = len(live.values("a"))
    w.append("b.jsonl", 30)  # sorts before what was read
    assert "nothing to do" in live.produce().stderr
    assert len(live.values("a")) == n
    live.produce("--append", *(["--seal"] if by == "--seal" else []))
    more, ends = partition(live.values("a"))
    assert len(ends) == 2 and decode(ends[1][1])["documents"] == len(w.all)
    stream = [t for i, v in enumerate(more[len(found):]) for t in tokens(decode(v))[i > 0:]]
    expected = [t for text in w.all[-30:] for t in encoding.encode_ordinary(text) + [50256]]
    assert stream == expected[:len(stream)] and len(expected) - len(stream) < 32


def test_following_goes_on_behind_an_end_and_seals_no_more(live, encoding):
    w = live.writer
    w.append("m.jsonl", 30)
    live.create().produce("--seal")
    process = live.start("--follow")
    assert "--append continues behind its End" in end_of_itself(process)
    process = live.start("--follow", "--append")
    n = len(sequences(live))
    w.append("a.jsonl", 40)
    wait_until(lambda: len(sequences(live)) > n, "sequences behind the End")
    end_of(process)
    assert f"live: its End is at {n}, and what follows does not count before the next one" in live.produce("--append").stderr
    domain = json.loads(live.riffle("status", "-c", live.path, "--json").stdout)["domains"][0]
    assert domain["sealed_length"] == n < domain["sequences"]
    assert "reopened" in live.riffle("status", "-c", live.path).stdout
    live.produce("--append", "--seal")
    assert "reopened" not in live.riffle("status", "-c", live.path).stdout


def end_of_itself(process):
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0
    return err


@pytest.mark.parametrize("spoil, word", [
    (lambda p: p.write_text(""), "has shrunk to 0 bytes"),
    (lambda p: (p.parent / ".n").write_text(p.read_text() * 2) and (p.parent / ".n").rename(p), "was replaced by another"),
])
def test_a_file_that_shrinks_or_is_replaced_ends_the_run_and_says_so(live, encoding, spoil, word):
    live.writer.append("m.jsonl", 30)
    process = live.create().start("--follow")
    wait_for_all(live, encoding)
    spoil(live.folder / "in" / "m.jsonl")
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1 and word in err and "in/m.jsonl" in err


@pytest.mark.parametrize("spoil, word", [
    (lambda p: p.write_text(p.read_text()[:-40]), "has shrunk"),
    (lambda p: p.write_text("x" * 200000 + "\n"), "has other bytes"),
    (lambda p: p.unlink(), "is gone, and has to be read again"),
])
def test_a_file_that_has_changed_while_nobody_followed_is_found(live, encoding, spoil, word):
    live.writer.append("m.jsonl", 30)
    live.create().produce()
    spoil(live.folder / "in" / "m.jsonl")
    refused = live.produce(check=False)
    assert refused.returncode == 1 and word in refused.stderr and "in/m.jsonl" in refused.stderr


def test_a_file_that_was_read_may_go_once_all_of_it_is_published(live, encoding):
    w = live.writer
    w.append("m.jsonl", 30)
    w.append("n.jsonl", 30)
    process = live.create().start("--follow")
    wait_for_all(live, encoding)
    (live.folder / "in" / "m.jsonl").unlink()
    w.append("o.jsonl", 30)
    wait_for_all(live, encoding)
    end_of(process)
    w.append("a.jsonl", 10)
    live.produce()
    check_exactly_once(live, encoding, wait_for_all(live, encoding))


@pytest.mark.parametrize("followed", [True, False])
def test_a_file_that_is_renamed_is_published_once(live, encoding, followed):
    """By mv, and as logs are rotated; with all of it published, and with a part that has to be read again."""
    w, folder, process = live.writer, live.folder / "in", None

    def produce():
        if followed:
            check_exactly_once(live, encoding, wait_for_all(live, encoding))
        else:
            said.append(live.produce().stderr)

    said = []
    w.append("a1.jsonl", 120)
    w.rename("t.jsonl.gz", gzip.compress(w.lines(20).encode()))
    live.create()
    if followed:
        process = live.start("--follow")
    produce()
    for old, new in (("a1.jsonl", "zz.jsonl"), ("t.jsonl.gz", "b.jsonl.gz"), ("zz.jsonl", "zz.jsonl.1"),
                     ("zz.jsonl.1", "a1.jsonl")):
        (folder / old).rename(folder / new)
        w.append(new if new.startswith("a") else "other.jsonl", 9)
        produce()
        if new.startswith("z"):
            w.append(new, 9)
            produce()
    said = end_of(process) if followed else "".join(said)
    assert "INPUT-RENAMED file in/a1.jsonl is in/zz.jsonl now" in said
    (live.produce("--seal") if followed else live.produce("--seal", "--skip-missing"))
    found, ends = partition(live.values("a"))
    assert decode(ends[0][1])["documents"] == len(w.all)
    check_exactly_once(live, encoding, found)


def test_a_file_whose_name_another_one_got_is_refused_by_name(live, encoding):
    """What logrotate does with `create`: a.jsonl becomes a.jsonl.1, and a new a.jsonl comes."""
    w, folder = live.writer, live.folder / "in"
    w.append("a.jsonl", 40)
    live.create().produce()
    (folder / "a.jsonl").rename(folder / "a.jsonl.1")
    w.append("a.jsonl", 60)
    refused = live.produce(check=False)
    assert refused.returncode == 1
    assert "file in/a.jsonl: was renamed to in/a.jsonl.1 after it was read" in refused.stderr
    (folder / "a.jsonl").rename(folder / "a.jsonl-2")
    live.produce()
    check_exactly_once(live, encoding, wait_for_all(live, encoding))


def test_a_file_that_is_renamed_into_another_partition_is_reported(live, encoding):
    live.config["domains"]["a"]["partitions"] = 2
    w, folder = live.writer, live.folder / "in"
    for i in range(8):
        w.append(f"{i}.jsonl", 20)
    live.create().produce()
    for i in range(8):
        (folder / f"{i}.jsonl").rename(folder / f"new{i}.jsonl")
    said = live.produce(check=False).stderr
    assert "which is another partition's: it is published again there" in said


def stream_of(c, suffix="a"):
    """The tokens of a topic end to end."""
    return [t for i, v in enumerate(sequences(c, suffix)) for t in tokens(decode(v))[i > 0:]]


def test_a_file_that_is_gone_for_good_is_given_up_when_told(live, encoding):
    w, folder = live.writer, live.folder / "in"
    w.append("m.jsonl", 30)
    live.create().produce()
    before = stream_of(live)
    (folder / "m.jsonl").unlink()
    refused = live.produce(check=False)
    assert refused.returncode == 1 and " a --skip-missing`" in refused.stderr
    given_up = live.produce("--skip-missing")
    assert "PRODUCE-LOST a: file in/m.jsonl is gone" in given_up.stderr
    w.all = []
    w.append("a.jsonl", 30)
    live.produce()
    expected = before + ([] if before[-1] == 50256 else [50256])
    for text in w.all:
        expected += encoding.encode_ordinary(text) + [50256]
    found = stream_of(live)
    assert len(found) > len(before) and found == expected[:len(found)] and len(expected) - len(found) < 32
    w.append("m.jsonl", 3)
    refused = live.produce(check=False)
    assert refused.returncode == 1 and "in/m.jsonl: was given up (--skip-missing), and is there again" in refused.stderr
    (folder / "m.jsonl").rename(folder / "o.jsonl")
    live.produce("--seal")
    assert decode(partition(live.values("a"))[1][-1][1])["documents"] == 30 + 30 + 3


@pytest.mark.parametrize("seed", range(4))
def test_what_is_left_of_an_input_with_losses_is_published_once_in_all_sets(live, encoding, seed):
    """Train, valid and test stand at different documents, of files of which some are deleted again and again."""
    live.config["split"] = "6,3,1"
    live.create()
    w, r, kept, said = live.writer, random.Random(seed), {}, ""
    for i in range(6):
        for _ in range(5):
            at = len(w.all)
            name = f"{r.choice('abcdefgh')}{i}{r.choice(['.jsonl', '.jsonl.gz'])}"
            if (live.folder / "in" / name).exists():
                continue
            content = w.lines(r.randrange(1, 25)).encode()
            w.rename(name, gzip.compress(content) if name.endswith("gz") else content)
            kept[name] = w.all[at:]
        said += live.produce("--skip-missing").stderr
        for name in r.sample(sorted(kept), min(len(kept), 3)):
            (live.folder / "in" / name).unlink()
            del kept[name]
    said += live.produce("--skip-missing", "--seal").stderr
    assert said.count("PRODUCE-LOST") > 2
    got, room = [], 0
    for suffix in ("a", "a.valid", "a.test"):
        got += text_of(live, encoding, sequences(live, suffix))
        room += decode(partition(live.values(suffix))[1][-1][1])["dropped"]
    living = {t for texts in kept.values() for t in texts}
    assert len([t for t in got if t in living]) == len({t for t in got if t in living}), "a document twice"
    missing = living - set(got)  # the last ones of each set, which do not fill a sequence
    assert sum(len(encoding.encode_ordinary(t)) + 1 for t in missing) <= room + 3 * 45, (seed, len(missing), room)
    for suffix in ("a", "a.valid", "a.test"):
        numbers = [d["document"] for v in sequences(live, suffix) for d in decode(v)["payload"]["documents"]]
        assert numbers == sorted(numbers)


def test_a_lost_file_of_one_domain_stops_no_other(live, encoding):
    w = live.writer
    (live.folder / "in2").mkdir()
    live.config["domains"]["b"] = {"train": ["in2/*"], "live": True}
    other = Writer(live.folder / "in2", 9)
    w.append("m.jsonl", 30)
    live.create().produce("a")
    (live.folder / "in" / "m.jsonl").unlink()
    other.append("y.jsonl", 30)
    failed = live.produce(check=False)
    assert failed.returncode == 1 and "in/m.jsonl: is gone" in failed.stderr
    assert "PRODUCE-FAILED a: " in failed.stderr
    n = (whole(other, encoding) - 1) // 32
    assert len(sequences(live, "b")) == n
    process = live.start("--follow")
    other.append("z.jsonl", 30)
    n = (whole(other, encoding) - 1) // 32
    wait_until(lambda: len(sequences(live, "b")) == n, "the other domain, which is followed")
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1 and "PRODUCE-FAILED a: " in err


@pytest.mark.parametrize("words, domains, says", [
    (["--skip-missing"], {"a": {"train": ["in/*"]}}, "no domain of"),
    (["a", "--skip-missing"], {"a": {"train": ["in/*"]}, "b": {"train": ["x"], "live": True}}, "domain a is not live"),
])
def test_giving_up_is_for_live_domains(live, words, domains, says):
    live.config["domains"] = domains
    refused = live.create().produce(*words, check=False)
    assert refused.returncode == 2 and says in refused.stderr and "--skip-missing" in refused.stderr


def test_domains_packed_in_windows_cannot_do_without_a_file(live, encoding):
    live.config["domains"]["a"]["packing"] = "best_fit"
    live.writer.append("m.jsonl", 5000)
    live.create().produce()
    assert live.values("a")
    (live.folder / "in" / "m.jsonl").unlink()
    refused = live.produce("--skip-missing", check=False)
    assert refused.returncode == 1 and "best_fit cannot continue without" in refused.stderr
    assert " a --restart`" in refused.stderr


def churn(live, r):
    """One thing that others do to the folder."""
    w = live.writer
    name = r.choice("abcdefgh")
    kind = r.randrange(4)
    if kind == 0:
        w.rename(f"{name}{len(w.all)}.jsonl.gz", gzip.compress(w.lines(r.randrange(1, 20)).encode()))
    elif kind == 1:
        w.rename(f"{name}{len(w.all)}.txt", w.documents(1)[0].encode())
    else:
        w.append(f"{name}.jsonl", r.randrange(1, 20))


@pytest.mark.parametrize("lanes", [1, 2])
def test_kill_9_again_and_again_skips_and_repeats_nothing(live, encoding, lanes):
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    r = random.Random(seed)
    live.config["domains"]["a"]["partitions"] = lanes
    live.create()
    stood = set()

    def there():
        return sum(len(values(live.bootstrap, f"{live.name}.a", lane)) for lane in range(lanes))

    for _ in range(8):
        for _ in range(r.randrange(4)):  # while nobody follows
            churn(live, r)
        before, written = there(), len(live.writer.all)
        point = f"produce.{r.choice(['before_publish', 'after_publish'])}:{r.randrange(1, 90)}"
        process = live.start("--follow", env={"RIFFLE_FAULT": point} if r.random() < 0.3 else {})
        more = r.randrange(1, 12)
        while len(live.writer.all) < written + 60:
            churn(live, r)
            time.sleep(r.random() * 0.05)  # others write at their own pace
        wait_until(lambda: process.poll() is not None or there() >= before + more, "some sequences")
        for _ in range(r.randrange(3)):
            churn(live, r)
        if process.poll() is None and r.random() < 0.3:
            process.send_signal(signal.SIGTERM)
        elif process.poll() is None:
            process.kill()
        _, err = process.communicate(timeout=60)
        assert process.returncode in (0, -signal.SIGKILL) or LATE in err, f"seed {seed}: {err}"
        stood.add(there())
    assert len(stood) > 3, f"seed {seed}: the runs did not get anywhere: {stood}"
    past_late(lambda: live.produce("--seal", check=False))
    got, dropped = [], 0
    for lane in range(lanes):
        found, ends = partition(live.values("a", lane))
        got += text_of(live, encoding, found)[:-1]
        dropped += decode(ends[-1][1])["dropped"]
        assert decode(ends[-1][1])["tokens"] == (len(found) * 32 + 1 if found else 0)
    assert len(set(got)) == len(got), f"seed {seed}: a document twice"
    assert set(got) <= set(live.writer.all)
    left = set(live.writer.all) - set(got)
    assert len(left) <= dropped + lanes, f"seed {seed}: {len(left)} documents are missing"
    documents = sum(decode(partition(live.values("a", lane))[1][-1][1])["documents"] for lane in range(lanes))
    assert documents == len(live.writer.all), f"seed {seed}"


def test_all_sets_follow_one_order_through_kills(live, encoding):
    """Train, valid and test stand at different documents when the producer dies; each gets every document of its own."""
    live.config["split"] = "6,3,1"
    live.create()
    r = random.Random(5)
    for i in range(6):
        for _ in range(5):
            churn(live, r)
        live.produce(check=False, env={"RIFFLE_FAULT": f"produce.after_publish:{5 + 7 * i}"})
    for _ in range(4):
        done = live.produce("--seal", check=False)
        if done.returncode == 0:
            break
    assert done.returncode == 0, done.stderr
    got, documents = [], 0
    for suffix in ("a", "a.valid", "a.test"):
        found, ends = partition(live.values(suffix))
        documents += decode(ends[-1][1])["documents"]
        got += text_of(live, encoding, found)[:-1]
    assert documents == len(live.writer.all) and len(set(got)) == len(got)


def test_a_program_that_is_followed_is_told_where_to_begin(live, encoding):
    """It prints what is in a file, from the document it is told, and blocks for more."""
    w = live.writer
    w.append("log", 40)
    live.config["domains"]["a"] = {"exec": "echo from $RIFFLE_RESUME >> told; tail -n +$((RIFFLE_RESUME + 1)) -f in/log",
                                   "live": True}
    process = live.create().start("--follow")
    wait_for_all(live, encoding)
    w.append("log", 40)
    wait_for_all(live, encoding)
    end_of(process)
    w.append("log", 40)
    process = live.start("--follow")
    check_exactly_once(live, encoding, wait_for_all(live, encoding))
    process.kill()
    process.communicate()
    told = (live.folder / "told").read_text().split()[1::2]
    assert told[0] == "0" and 70 < int(told[1]) < 80


def test_a_program_that_prints_all_again_is_noticed(live, encoding):
    w = live.writer
    w.append("log", 40)
    live.config["domains"]["a"] = {"exec": "tail -n +1 -f in/log", "live": True}
    process = live.create().start("--follow")
    wait_for_all(live, encoding)
    process.kill()
    process.communicate()
    w.append("log", 40)
    process = live.start("--follow")
    check_exactly_once(live, encoding, wait_for_all(live, encoding))
    assert "prints all again" in end_of(process)


def test_without_follow_a_program_is_told_nothing(live, encoding):
    (live.folder / "in" / "log").write_text(live.writer.lines(60))
    live.config["domains"]["a"] = {"exec": "echo ${RIFFLE_RESUME-nothing} >> told; cat in/log"}
    died = live.create().produce(check=False, env={"RIFFLE_FAULT": "produce.after_publish:20"})
    assert died.returncode == -signal.SIGKILL
    live.finish()
    assert set((live.folder / "told").read_text().split()) == {"nothing"}
    check_exactly_once(live, encoding, sequences(live))


def test_live_domains_are_followed_at_once_and_the_others_are_sealed_beside(live, encoding):
    w = live.writer
    (live.folder / "in2").mkdir()
    (live.folder / "s.jsonl").write_text(lines(["words of a sealed domain " * 40] * 9))
    live.config["domains"].update({"b": {"train": ["in2/*.jsonl"], "live": True}, "s": {"train": ["s.jsonl"]}})
    process = live.create().start("--follow")
    wait_until(lambda: partition(live.values("s"))[1], "the End of the sealed domain")
    other = Writer(live.folder / "in2", 9)
    w.append("x.jsonl", 30)
    other.append("y.jsonl", 30)
    wait_for_all(live, encoding)
    wait_until(lambda: len(sequences(live, "b")) == (whole(other, encoding) - 1) // 32, "the second live domain")
    end_of(process)


@pytest.mark.parametrize("words, says", [
    (["s", "--follow"], "domain s is not live"),
    (["a", "--follow", "--seal"], "exclude each other"),
])
def test_follow_is_for_live_domains(live, words, says):
    live.config["domains"]["s"] = {"train": ["in/x.jsonl"]}
    refused = live.create().produce(*words, check=False)
    assert refused.returncode == 2 and says in refused.stderr


def test_what_was_begun_sealed_does_not_become_live(live, encoding):
    live.writer.append("m.jsonl", 40)
    live.config["domains"]["a"]["live"] = False
    live.create().produce()
    live.config["domains"]["a"]["live"] = True
    live.create()
    refused = live.produce("--append", check=False)
    assert refused.returncode == 2 and "cannot become live" in refused.stderr


def test_an_order_stands_while_its_files_are_there(live, encoding):
    """Nothing is visible of a producer that was killed, but what it sent may still land: its successor must make the same."""
    w = live.writer
    w.append("m.jsonl", 40)
    killed = live.create().produce(check=False, env={"RIFFLE_FAULT": "produce.before_publish"})
    assert killed.returncode == -signal.SIGKILL
    w.append("a.jsonl", 40)
    live.config["domains"]["a"]["live"] = False
    live.write()
    live.produce()
    assert text_of(live, encoding, sequences(live))[:70] == w.all[:70]


@pytest.fixture
def topic(tools):
    """topic(corpus, "read" or "append", records) of its arrivals."""
    return lambda c, what, records=None: subprocess.run(
        [tools / "topic", what, f"{c.name}.arrivals"], input=records, capture_output=True, text=True, check=True,
        env={**os.environ, "RIFFLE_BOOTSTRAP": c.bootstrap}, timeout=60).stdout


def test_an_order_that_lands_after_a_domain_was_closed_is_void(live, encoding, topic):
    """A producer was killed while its first portions were on their way; the next one has read the files by name."""
    w = live.writer
    w.append("m.jsonl", 40)
    other = live.create().copy()
    other.produce()
    taken, portions = topic(other, "read").splitlines(keepends=True)
    topic(live, "append", taken)
    w.append("a.jsonl", 40)
    live.config["domains"]["a"]["live"] = False
    live.write()
    killed = live.produce(check=False, env={"RIFFLE_FAULT": "produce.before_end"})
    assert killed.returncode == -signal.SIGKILL
    topic(live, "append", portions)
    live.produce()
    assert text_of(live, encoding, sequences(live))[:70] == (w.all[40:] + w.all[:40])[:70]


def test_records_that_other_programs_wrote_into_the_order_are_passed_over(live, encoding, topic):
    """Before, between and after the producer's own: garbage, nothing at all, and a record with a schema that nobody knows."""
    w = live.writer
    foreign = ["0\t0\t676172626167650a\n", "0\t0\t\n", f"0\t0\tc301{'5a' * 20}\n"]
    live.create()
    topic(live, "append", foreign[0])
    w.append("m.jsonl", 40)
    assert "PRODUCE-ARRIVALS" in live.produce().stderr
    topic(live, "append", "".join(foreign[1:]))
    w.append("a.jsonl", 40)
    assert re.search(r"PRODUCE-ARRIVALS topic=\S+arrivals records=3 .* offset=0: ", live.produce().stderr)
    status = live.riffle("status", "-c", live.path, "--json")
    told = json.loads(status.stdout)
    assert told["arrivals_foreign"] == 3 and "STATUS-ARRIVALS" in [p["code"] for p in told["problem_list"]]
    checked = live.riffle("status", "-c", live.path, "--check", check=False)
    assert checked.returncode == 1 and "holds 3 records of other programs" in checked.stderr, checked.stderr
    live.produce("--seal")
    check_exactly_once(live, encoding, sequences(live))


def test_an_order_of_which_a_record_is_damaged_is_not_continued(live, topic):
    """The producer cannot know which files came next, so the order that follows fits nowhere."""
    w = live.writer
    w.append("m.jsonl", 40)
    other = live.create().copy()
    other.produce()
    w.append("a.jsonl", 40)
    other.produce()
    records = topic(other, "read").splitlines(keepends=True)
    records[1] = records[1][:-3] + "\n"
    topic(live, "append", "".join(records))
    refused = live.produce(check=False)
    assert refused.returncode == 1 and "stands where 0 belongs" in refused.stderr


def test_an_order_that_lands_after_all_lanes_were_closed_makes_none_of_them_live(live, topic):
    w = live.writer
    w.append("a.jsonl", 40)
    w.append("b.jsonl", 40)
    live.config["domains"]["a"]["partitions"] = 2
    other = live.create().copy()
    other.produce()
    records = topic(other, "read").splitlines(keepends=True)
    live.config["domains"]["a"]["live"] = False
    live.write()
    live.produce()
    topic(live, "append", records[0])
    w.append("c.jsonl", 40)
    w.append("d.jsonl", 40)
    live.produce("--append")
    for lane in range(2):
        assert [decode(end)["documents"] for _, end in partition(live.values("a", lane))[1]] == [40, 80]


def test_all_lanes_keep_to_an_order_that_one_of_them_has_begun(live, topic):
    """The last record is of another input. If one lane read its files by name, some would come twice and others never."""
    w = live.writer
    for name in "abcdef":
        w.append(f"{name}.jsonl", 20)
    (live.folder / "in2").mkdir()
    Writer(live.folder / "in2").append("x.jsonl", 20)
    live.config["domains"]["a"]["partitions"] = 2
    live.config["domains"]["b"] = {"train": ["in2/*"], "live": True}
    other = live.create().copy()
    other.produce()
    records = topic(other, "read").splitlines(keepends=True)
    topic(live, "append", "".join(r for name in ("a/1/2", "b/0/1") for r in records if name.encode().hex() in r))
    live.config["domains"]["a"]["live"] = False
    live.write()
    live.produce("a")
    ends = [decode(partition(c.values("a", lane))[0][-1])["payload"] for c in (live, other) for lane in range(2)]
    assert ends[:2] == ends[2:]


def test_a_producer_that_meets_a_take_over_of_its_input_reads_the_order_again(live, encoding, topic):
    w = live.writer
    w.append("m.jsonl", 40)
    other = live.create().copy()
    other.produce()
    process = live.start("--follow")
    wait_for_all(live, encoding)
    topic(live, "append", topic(other, "read").splitlines(keepends=True)[0])
    w.append("m.jsonl", 40)
    check_exactly_once(live, encoding, wait_for_all(live, encoding))
    said = [line for line in end_of(process).splitlines() if "another producer has taken over input a/0/1" in line]
    assert len(said) == 1 and "PRODUCE-RETRY attempt=1" in said[0]


def test_a_second_producer_that_follows_waits_and_takes_over_when_the_first_is_killed(live, encoding):
    w = live.writer
    w.append("m.jsonl", 40)
    one = live.create().start("--follow")
    wait_for_all(live, encoding)
    two = live.start("--follow")
    wait_until(lambda: "PRODUCE-TURN" in two.stderr.readline(), "the second saying that it waits")
    w.append("n.jsonl", 40)
    wait_for_all(live, encoding)
    one.kill()
    w.append("o.jsonl", 40)
    wait_for_all(live, encoding)
    two.send_signal(signal.SIGTERM)
    assert two.wait(timeout=60) == 0


def test_lines_go_out_within_a_second_of_being_written(live, encoding):
    """Two of six times are enough, because a busy machine may need longer. If no event told of the lines, each would take five
    seconds."""
    w = live.writer
    w.append("m.jsonl", 30)
    process = live.create().start("--follow")
    wait_for_all(live, encoding)
    took = []
    while len(took) < 6 and sum(t < 1.5 for t in took) < 2:
        n = len(sequences(live))
        w.append("m.jsonl", 10)
        began = time.monotonic()
        wait_until(lambda: len(sequences(live)) > n, "a sequence more")
        took.append(time.monotonic() - began)
    assert sum(t < 1.5 for t in took) == 2, took
    end_of(process)


def test_a_topic_that_was_deleted_restarts(live, encoding):
    w = live.writer
    w.append("m.jsonl", 40)
    live.create().produce()
    live.riffle("topics", "-c", live.path, "--delete", "--yes")
    os.unlink(live.folder / "in" / "m.jsonl")
    w.all = []
    w.append("b.jsonl", 40)
    live.create().produce()
    check_exactly_once(live, encoding, wait_for_all(live, encoding))


def test_domains_that_share_one_live_input_keep_one_order(live, encoding):
    """One of two is produced alone, then the other, then both; files come before those that were read."""
    w, folder = live.writer, live.folder / "in"
    where = [{"train": ["in/*"], "live": True, "where": {"field": "is", "equals": name}} for name in "ab"]
    live.config["domains"] = {"a": where[0], "b": where[1]}
    live.create()
    kept = {"a": [], "b": []}

    def come(name):
        with open(folder / name, "a") as out:
            for text in w.documents(60):
                kind = w.random.choice("ab")
                kept[kind].append(text)
                out.write(lines([text], **{"is": kind}))

    for name, words in (("m", ["a"]), ("k", ["b"]), ("p", []), ("c", ["b"]), ("m", ["a"]), ("a", ["a", "b", "--seal"])):
        come(f"{name}.jsonl")
        live.produce(*words)
    for name in "ab":
        found, ends = partition(live.values(name))
        got = text_of(live, encoding, found)[:-1]
        end = decode(ends[-1][1])
        assert end["documents"] == len(kept[name])
        assert len(set(got)) == len(got) and set(got) <= set(kept[name])
        assert len(kept[name]) - len(got) <= end["dropped"] + 1
