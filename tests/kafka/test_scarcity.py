"""
Descriptors and threads that run out, system calls that are interrupted a thousand times a second, disks that fill, lines and files
that unfold to a gigabyte: a sentence and an exit code, or the same bytes as ever; never a half-written file for a whole.
"""

import gzip
import json
import os
import resource
import signal
import subprocess
import time

import pytest
import zstandard

from test_produce import Corpus, lines, texts
from test_replay import ROOT


@pytest.fixture
def corpus(tmp_path, bootstrap, vocab):
    made = Corpus(tmp_path, bootstrap, vocab)
    yield made
    made.riffle.close()


def start(riffle, limit, number, *words):
    """The program under a resource limit."""
    return riffle.popen(*words, preexec_fn=lambda: resource.setrlimit(limit, (number, number)))


def said_at_the_end(process, *words, code=1, timeout=120):
    out, said = process.communicate(timeout=timeout)
    last = said.splitlines()[-1]
    assert process.returncode == code and out == "", (process.returncode, said)
    assert last.startswith("riffle ") and all(w in last for w in words), said


# ---- descriptors ----


STEPS = ["--rank", 0, "--world", 1, "--from-step", 0, "--steps", 6, "--timeout", 20]
same_sentence = pytest.mark.long("tests/kafka/test_scarcity.py::test_without_descriptors_there_is_a_sentence")


@pytest.fixture
def many_files(corpus):
    """A corpus of one domain in 120 files."""
    documents = texts(240)
    (corpus.folder / "a").mkdir()
    for i in range(120):
        (corpus.folder / "a" / f"{i:03}.jsonl").write_text(lines(documents[2 * i:2 * i + 2]))
    corpus.config["domains"] = {"a": {"train": ["a/*.jsonl"]}}
    return corpus.create()


@pytest.mark.parametrize("command", ["read", "status", pytest.param("mix", marks=same_sentence), pytest.param("produce", marks=same_sentence)])
def test_without_descriptors_there_is_a_sentence(riffle, request, fill, configure, command):
    """The command waits for the broker, fails, and reports why it could not reach it."""
    fill("b", "c")
    mix = configure({"b": 1, "c": 1})
    riffle("mix", "-c", mix, "--until-step", 6)
    read = ["read", "-c", mix, *STEPS]
    expected = riffle(*read).stdout
    words = {"read": read, "status": ["status", "-c", mix], "mix": ["mix", "-c", mix, "--until-step", 12],
             "produce": ["produce", "-c"]}[command]
    if command == "produce":
        words.append(request.getfixturevalue("many_files").path)
    process = start(riffle, resource.RLIMIT_NOFILE, 4, *words)
    out, said = process.communicate(timeout=300)
    if process.returncode == 0:  # one descriptor after the other may just do
        assert command != "read" or out == expected
        return
    assert process.returncode == 1 and out == "", said
    last = said.splitlines()[-1]
    assert last.startswith(f"riffle {command}: ") and "Too many open files" in last, said
    assert "this process may have 4; `ulimit -n` raises it" in last, said


@pytest.mark.parametrize("command", ["mix", "produce"])
def test_too_few_descriptors_end_a_command_at_once(many_files, riffle, fill, configure, command):
    """The first connections take what there is. The command does not wait for the next one, nor does it try again."""
    fill("b", "c")
    mix = configure({"b": 1, "c": 1})
    words = ["mix", "-c", mix, "--until-step", 6] if command == "mix" else ["produce", "-c", many_files.path]
    process = start(riffle, resource.RLIMIT_NOFILE, 16, *words)
    begun = time.monotonic()
    said_at_the_end(process, "connecting to Kafka takes 8 more open files: Too many open files", "`ulimit -n` raises it", timeout=60)
    assert time.monotonic() - begun < 30


def test_a_few_descriptors_are_enough_for_many_files(many_files, riffle, fill, configure):
    """With 64 of them, a producer of 120 files, a mixer and a reader do what they always do."""
    few = many_files.copy()
    many_files.produce()
    fill("b", "c")
    mix, calm = configure({"b": 1, "c": 1}, "few"), configure({"b": 1, "c": 1}, "calm")
    riffle("mix", "-c", calm, "--until-step", 6)
    expected = riffle("read", "-c", calm, *STEPS).stdout
    for words in (["produce", "-c", few.path], ["mix", "-c", mix, "--until-step", 6], ["read", "-c", calm, *STEPS]):
        process = start(riffle, resource.RLIMIT_NOFILE, 64, *words)
        out, said = process.communicate(timeout=300)
        assert process.returncode == 0, said
    assert out == expected and riffle("read", "-c", mix, *STEPS).stdout == expected
    assert few.values("a") == many_files.values("a")


# ---- threads ----

THREADS = "which the system does not give this process; raise the limit on processes (`ulimit -u`"


@pytest.fixture(scope="module")
def few_threads(tmp_path_factory):
    """few_threads(ALIVE=n, TOTAL=n) -> environment in which the system refuses a program more threads."""
    library = tmp_path_factory.mktemp("threads") / "threads.so"
    subprocess.run(["cc", "-std=c11", "-D_GNU_SOURCE", "-shared", "-fPIC", "-pthread", "-o", library,
                    ROOT / "tests/preload/threads.c", "-ldl"], check=True)
    return lambda **most: {"LD_PRELOAD": str(library), **{f"THREADS_{name}": str(n) for name, n in most.items()}}


def test_without_threads_there_is_a_sentence_and_with_enough_all_is_well(riffle, fill, configure, few_threads):
    """From no thread at all to as many as every command needs: it works, or ends soon with the sentence; never a hang."""
    fill("a", "b")
    mix = configure({"a": 1, "b": 1})
    riffle("mix", "-c", mix, "--until-step", 6)
    commands = [["mix", "--until-step", 6], ["read", *STEPS], ["status"], ["topics"], ["runs"], ["inspect", 2]]
    for command, *words in commands:
        worked = []
        for alive in (0, 1, 4, 8, 16, 24, 40, 60):
            process = riffle.popen(command, "-c", mix, *words, env=few_threads(ALIVE=alive))
            said = process.communicate(timeout=60)[1]
            worked.append(process.returncode == 0)
            if not worked[-1]:
                assert process.returncode == 1 and THREADS in said.splitlines()[-1], (command, alive, said)
        assert worked == sorted(worked) and worked[-1] and not worked[0], (command, worked)


def test_a_connection_asks_for_two_threads_for_each_address(corpus, few_threads):
    """One for the address itself and one for a broker, in addition to four for the client."""
    corpus.config["domains"] = {"a": {"train": ["a.jsonl"]}}
    for addresses in (1, 3):
        corpus.config["kafka"]["bootstrap.servers"] = ",".join(f"127.0.0.1:{1 + i}" for i in range(addresses))
        corpus.write()
        process = corpus.riffle.popen("topics", "-c", corpus.path, env=few_threads(ALIVE=0))
        said_at_the_end(process, f"connecting to Kafka takes {4 + 2 * addresses} more threads")


def test_a_signal_ends_a_program_whose_threads_were_taken_by_others(riffle, fill, configure, few_threads):
    """After riffle has found that there are enough, another process takes them: librdkafka hangs as it starts, or aborts."""
    fill("a", "b")
    mix = configure({"a": 1, "b": 1})
    hung = 0
    for total in range(6, 18):
        process = riffle.popen("mix", "-c", mix, "--until-step", 6, env=few_threads(TOTAL=total))
        try:
            process.wait(timeout=1)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGTERM)
            said = process.communicate(timeout=10)[1]
            hung += process.returncode == 1 and "starting a connection to Kafka hangs" in said
            assert process.returncode in (0, 1), said
    assert hung > 0


# ---- interruptions ----


@pytest.fixture(scope="module")
def storm(tmp_path_factory):
    """Environment under which each thread of a program is interrupted again and again; and the file of the count."""
    folder = tmp_path_factory.mktemp("storm")
    library, count = folder / "storm.so", folder / "count"
    subprocess.run(["cc", "-std=c11", "-D_GNU_SOURCE", "-shared", "-fPIC", "-pthread", "-o", library,
                    ROOT / "tests/preload/storm.c"], check=True)
    return {"LD_PRELOAD": str(library), "STORM_FILE": str(count)}, count


def test_a_storm_of_signals_changes_no_byte_of_what_a_producer_publishes(corpus, storm):
    env, count = storm
    documents = texts(3000)
    (corpus.folder / "a.jsonl").write_text(lines(documents[:1000]))
    (corpus.folder / "b.jsonl.gz").write_bytes(gzip.compress(lines(documents[1000:2000]).encode()))
    (corpus.folder / "c.jsonl.zst").write_bytes(zstandard.compress(lines(documents[2000:]).encode()))
    slow = "for i in 1 2 3 4 5 6 7 8 9; do cat a.jsonl | head -50; sleep 0.05; done"
    corpus.config["domains"] = {"a": {"train": ["[abc].jsonl*"]}, "b": {"exec": slow}}
    calm = corpus.create()
    calm.produce()
    stormy = corpus.copy()
    stormy.produce(env=env)
    assert int(count.read_text()) > 200
    for domain in "ab":
        assert stormy.values(domain) == calm.values(domain)
    assert stormy.rejects() == []


def test_a_storm_of_signals_changes_no_step(riffle, fill, configure, storm):
    env, count = storm
    fill("a", "b", sequences=300)
    weights = {"a": 3, "b": 1}
    calm, stormy = configure(weights, "calm"), configure(weights, "stormy")
    riffle("mix", "-c", calm, "--until-step", 60)
    riffle("mix", "-c", stormy, "--until-step", 60, env=env)
    assert int(count.read_text()) > 50
    steps = ["--rank", 0, "--world", 1, "--from-step", 0, "--steps", 60]
    expected = riffle("read", "-c", calm, *steps).stdout
    assert riffle("read", "-c", stormy, *steps, env=env).stdout == expected
    assert "all equal" in riffle("replay", "-c", stormy, "--steps", "0..60", env=env).stdout


# ---- files that are full, or unfold ----


def test_a_file_at_its_limit_is_said_and_the_one_before_stays(riffle, fill, configure, tmp_path, tools, bootstrap, unique):
    """Learned weights: either the whole new file or the whole old one; nothing is left beside it."""
    domains = [f"domain-of-a-long-name-{i:02}" for i in range(40)]
    fill(*domains, sequences=20)
    config = configure({d: 1 for d in domains}, global_batch=40)
    riffle("mix", "-c", config, "--until-step", 3)
    report = [f"trainers {s} 0 1 " + " ".join(f"{d}:8:1:4" for d in domains) for s in range(3)]
    mix = f"{unique}-mix"
    subprocess.run([tools / "report", mix], input="\n".join(report) + "\n", text=True, check=True, timeout=60,
                   env={**os.environ, "RIFFLE_BOOTSTRAP": bootstrap})
    out = tmp_path / "learned.json"
    words = ["reweight", "-c", config, "--method", "odm", "--out", out]
    said_at_the_end(start(riffle, resource.RLIMIT_FSIZE, 512, *words), "learned.json", "File too large")
    assert not list(tmp_path.glob("learned*"))
    riffle(*words)
    whole = {p.name: p.read_bytes() for p in tmp_path.glob("learned*")}
    assert whole and json.loads(out.read_text())
    start(riffle, resource.RLIMIT_FSIZE, 512, *words).wait(timeout=60)
    assert {p.name: p.read_bytes() for p in tmp_path.glob("learned*")} == whole


@pytest.mark.parametrize("command", ["tokenize", "plan", "status", "inspect", "read", "config"])
def test_output_on_a_full_disk_is_an_error_of_every_command(riffle, fill, configure, vocab, command):
    asks = command in ("status", "inspect", "read")
    config = configure({"a": 1}, create=asks)
    if asks:
        fill("a")
        riffle("mix", "-c", config, "--until-step", 3)
    words = {
        "tokenize": ["--tokenizer", vocab / "r50k_base.tiktoken", "--pattern", "gpt2"],
        "plan": ["-c", config, "--steps", 10, "--sizes", "a=100"],
        "status": ["-c", config, "--json"],
        "inspect": ["-c", config, 1],
        "read": ["-c", config, "--rank", 0, "--world", 1, "--from-step", 0, "--steps", 2],
        "config": ["--keys"],
    }[command]
    with open("/dev/full", "w") as full:
        done = subprocess.run([riffle.path, command, *map(str, words)], stdout=full, stderr=subprocess.PIPE, text=True,
                              input='{"text": "some text"}\n', timeout=60)
    assert done.returncode == 1, done.stderr
    last = done.stderr.splitlines()[-1]
    assert last.startswith("riffle") and "No space left on device" in last, done.stderr


def test_a_gigabyte_on_one_line_and_files_that_unfold_to_one_are_rejects_in_bounded_memory(corpus):
    """Of some kilobytes of zstd, of gzip, and through a pipe; what stands around is published."""
    good = lines(["one " * 40, "two " * 40]).encode()
    big = zstandard.ZstdCompressor(level=1)
    with open(corpus.folder / "a.jsonl.zst", "wb") as out:
        with big.stream_writer(out, closefd=False) as z:
            z.write(good)
            for _ in range(1 << 10):
                z.write(b"x" * (1 << 20))
            z.write(b"\n" + good)
    with gzip.open(corpus.folder / "b.jsonl.gz", "wb", compresslevel=1) as z:
        z.write(good)
        for _ in range(64):
            z.write(b"{" * (1 << 20))
        z.write(b"\n" + good)
    one, two = (json.dumps({"text": word * 40}) for word in ("one ", "two "))
    corpus.config.update(max_document_bytes="1MB", max_rejects=0.5, domains={
        "a": {"train": ["a.jsonl.zst"]}, "b": {"train": ["b.jsonl.gz"]},
        "c": {"exec": f"echo '{one}'; head -c 100000000 /dev/zero; echo; echo '{two}'"}})
    corpus.create()
    done = subprocess.run(["/bin/sh", "-c", f'ulimit -v 1500000; exec "{corpus.riffle.path}" produce -c "{corpus.path}" --workers 1'],
                          capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    rejects = {r["domain"]: r for r in corpus.rejects()}
    assert sorted(rejects) == ["a", "b", "c"]
    for domain, r in rejects.items():
        assert "max_document_bytes" in r["reason"] and len(r["value"]) <= 4096, (domain, r["reason"])
        assert corpus.read(domain)[1]["documents"] == (4 if domain != "c" else 2)
        assert corpus.read(domain)[1]["rejects"] == 1
