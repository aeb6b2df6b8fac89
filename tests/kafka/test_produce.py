"""riffle produce on a real broker: what it publishes, from every format, after every kind of end.

The sequences are compared with those of tiktoken and a naive packing; the records are decoded by
fastavro and zstandard. S is small, so that little text makes many sequences.
"""

import gzip
import io
import json
import random
import re
import secrets
import signal
import subprocess
import sys
import time

import fastavro
import pyarrow
import pyarrow.parquet
import pytest
import tiktoken
import tiktoken.load
import xxhash
import zstandard
from tiktoken_ext import openai_public

from conftest import ROOT, Riffle, wait_until

LENGTH = 32
EOS = 50256
HEADERS = ["stage", "domain", "file", "line", "byte", "count", "reason"]


def schema(name):
    parsed = json.loads((ROOT / "schemas" / f"{name}.avsc").read_text())
    form = fastavro.schema.to_parsing_canonical_form(parsed)
    crc = bytes.fromhex(fastavro.schema.fingerprint(form, "CRC-64-AVRO"))
    return fastavro.parse_schema(parsed), crc


SCHEMAS = {crc: (name, parsed) for name in ("Sequence", "End") for parsed, crc in [schema(name)]}


def which(value):
    assert value[:2] == b"\xc3\x01"
    return SCHEMAS[value[2:10]][0]


def decode(value):
    return fastavro.schemaless_reader(io.BytesIO(value[10:]), SCHEMAS[value[2:10]][1])


def ordinal(value):
    """The first field of a Sequence: a zigzag varint behind the ten bytes of the envelope."""
    number = shift = 0
    for byte in value[10:]:
        number |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return number >> 1
    raise AssertionError("a number without an end")


def source_of(corpus, domain):
    """What records name a program by."""
    d = corpus.config["domains"][domain]
    return f"exec:{d.get('exec_name', domain)}#{xxhash.xxh64_hexdigest(d['exec'])}"


def tokens(sequence):
    p = sequence["payload"]
    assert p["frame_hash"] == xxhash.xxh64(p["frame"]).intdigest().to_bytes(8, "little")
    plain = zstandard.ZstdDecompressor().decompress(p["frame"], max_output_size=p["count"] * p["width"])
    width = p["width"]
    assert len(plain) == p["count"] * width
    return [int.from_bytes(plain[i:i + width], "little") for i in range(0, len(plain), width)]


def values(bootstrap, topic, partition=0):
    """Every record of a partition as it is, by kcat."""
    out = subprocess.run(
        ["kcat", "-C", "-q", "-e", "-b", bootstrap, "-t", topic, "-p", str(partition), "-o", "beginning",
         "-X", "fetch.wait.max.ms=10", "-f", "%S\n%s"], check=True, capture_output=True, timeout=60).stdout
    found, at = [], 0
    while at < len(out):
        end = out.index(b"\n", at)
        n = int(out[at:end])
        found.append(out[end + 1:end + 1 + n])
        at = end + 1 + n
    return found


def log_end(bootstrap, topic, partition=0):
    """The offset behind the last record: cheap enough to be asked for beside a producer that lives for a second."""
    said = subprocess.run(["kcat", "-Q", "-b", bootstrap, "-t", f"{topic}:{partition}:-1"], check=True,
                          capture_output=True, text=True, timeout=60).stdout
    return int(said.split()[-1])


def first_seen(found):
    """What a reader keeps: of equal ordinals the first, which are all equal; then the End."""
    kept, end = [], None
    for value in found:
        if which(value) == "End":
            assert end is None or end == value, "two Ends that differ"
            end = value
        elif ordinal(value) < len(kept):
            assert kept[ordinal(value)] == value, f"ordinal {ordinal(value)} twice, and not equal"
        else:
            assert ordinal(value) == len(kept), f"ordinal {ordinal(value)} stands after {len(kept) - 1}"
            kept.append(value)
    return kept, end


class Corpus:
    """A folder of inputs, a configuration, and the topics made from them."""

    def __init__(self, folder, bootstrap, vocab):
        self.folder, self.bootstrap = folder, bootstrap
        self.name = "t" + secrets.token_hex(5)
        self.names = [self.name]  # and those of its copies
        self.config = {
            "corpus": self.name,
            "tokenizer": {"file": str(vocab / "r50k_base.tiktoken"), "pattern": "gpt2", "eos": "<|endoftext|>"},
            "sequence_length": LENGTH,
            "split": "1,0,0",
            "domains": {},
            "kafka": {"bootstrap.servers": bootstrap},
        }
        self.riffle = Riffle()
        self.path = folder / f"{self.name}.yml"

    def copy(self):
        """The same inputs and keys under another name."""
        other = object.__new__(Corpus)
        other.__dict__.update(self.__dict__)
        other.name = "t" + secrets.token_hex(5)
        other.names.append(other.name)
        other.config = {**self.config, "corpus": other.name}
        other.path = self.folder / f"{other.name}.yml"
        return other.create()

    def write(self):
        self.path.write_text(json.dumps(self.config, indent=1))

    def create(self):
        self.write()
        self.riffle("topics", "-c", self.path, "--create")
        return self

    def produce(self, *words, **more):
        return self.riffle("produce", "-c", self.path, *words, **more)

    def start(self, *words, **more):
        return self.riffle.popen("produce", "-c", self.path, *words, **more)

    def finish(self, **more):
        """
        Runs it to its end after a kill. What the killed one had sent can still land behind the
        place where the next one began: that is seen, and it resumes.
        """
        return self.produce(**more)

    def values(self, suffix, partition=0):
        return values(self.bootstrap, f"{self.name}.{suffix}", partition)

    def log(self, suffix, partition=0):
        """The sequences and the End of a partition, as bytes."""
        return first_seen(self.values(suffix, partition))

    def read(self, suffix, partition=0):
        """The same, decoded."""
        kept, end = self.log(suffix, partition)
        assert end is not None, f"{suffix} has no End"
        return [decode(v) for v in kept], decode(end)

    def rejects(self):
        """The headers of every reject, by name, with the value under "value"."""
        out = subprocess.run(
            ["kcat", "-C", "-q", "-e", "-b", self.bootstrap, "-t", f"{self.name}.rejects", "-o", "beginning",
             "-X", "fetch.wait.max.ms=10", "-f", "%S\n%s%h\x01"], check=True, capture_output=True, timeout=60).stdout
        pattern = ",".join(rf"riffle\.error\.{name}=(.*)" for name in HEADERS)
        found, at = [], 0
        while at < len(out):
            end = out.index(b"\n", at)
            n, start = int(out[at:end]), end + 1
            at = out.index(b"\x01", start + max(n, 0))
            headers = re.fullmatch(pattern, out[start + max(n, 0):at].decode(), re.S)
            assert headers, out[start:at]
            found.append({**dict(zip(HEADERS, headers.groups())), "value": out[start:start + max(n, 0)]})
            at += 1
        return found


@pytest.fixture
def corpus(tmp_path, bootstrap, vocab, dropped):
    made = Corpus(tmp_path, bootstrap, vocab)
    yield made
    made.riffle.close()
    for name in made.names:
        dropped(name)


def encoding_of(vocab):
    ranks = tiktoken.load.load_tiktoken_bpe(str(vocab / "r50k_base.tiktoken"))
    return tiktoken.Encoding("r50k", pat_str=openai_public.r50k_pat_str, mergeable_ranks=ranks,
                             special_tokens={"<|endoftext|>": EOS})


@pytest.fixture(scope="module")
def encoding(vocab):
    return encoding_of(vocab)


def texts(n, seed=1):
    """Documents of 1 to some hundred tokens, with what tokenizers stumble over. test_no_target.py has empty ones."""
    r = random.Random(seed)
    words = ["the", "Wolf's", "  ", "été", "数据", "🙂", "\n\n", "1234", "x=", "don't", "\t", "_a_", "<|endoftext|>", "Ω",
             "\u00a0", "straße", "}}", "e\u0301"]
    return ["".join(r.choice(words) + r.choice([" ", "", "\n"]) for _ in range(r.choice([0, 1, 5, 20, 120]))) or "x"
            for _ in range(n)]


def pack(documents, encoding, length=LENGTH, eos=EOS):
    """(sequences, spans of each as (start, document, offset), tokens left over), naively."""
    stream, where = [], []
    for i, text in enumerate(documents):
        for k, token in enumerate(encoding.encode_ordinary(text) + [eos]):
            stream.append(token)
            where.append((i, k))
    n = max(0, (len(stream) - 1) // length)
    spans = [[(k - j * length, *where[k]) for k in range(j * length, j * length + length + 1)
              if k == j * length or where[k][0] != where[k - 1][0]] for j in range(n)]
    dropped = len(stream) - (n * length + 1 if n else 0)
    return [stream[j * length:j * length + length + 1] for j in range(n)], spans, dropped


def lines(documents, **more):
    return "".join(json.dumps({"text": t, **more}, ensure_ascii=i % 2 == 0) + "\n" for i, t in enumerate(documents))


def parts(documents, n):
    size = -(-len(documents) // n)
    return [documents[i * size:(i + 1) * size] for i in range(n)]


def test_every_format_gives_the_sequences_of_tiktoken_and_a_naive_packing(corpus, encoding):
    documents = [t for t in texts(240) if t]  # an empty .txt file is no document
    folder = corpus.folder
    whole = lines(documents).encode()
    four = [lines(p).encode() for p in parts(documents, 4)]
    (folder / "plain.jsonl").write_bytes(whole)
    (folder / "plain.json").write_bytes(whole.replace(b"\n", b"\r\n"))
    (folder / "many.jsonl.gz").write_bytes(b"".join(gzip.compress(p) for p in (whole[:5000], whole[5000:5001], whole[5001:])))
    frames = [zstandard.ZstdCompressor().compress(p) for p in (whole[:7000], whole[7000:])]
    (folder / "many.json.zst").write_bytes(b"".join(frames))
    for i, part in enumerate(four):
        (folder / f"part.{i + 1}.jsonl").write_bytes(part)
        (folder / f"glob-{i}.jsonl.gz").write_bytes(gzip.compress(part))
    for i, text in enumerate(documents):
        (folder / f"doc{i:04}.txt").write_bytes(text.encode())
        (folder / f"zdoc{i:04}.txt.gz").write_bytes(gzip.compress(text.encode()))
    formats = {
        "jsonl": ["plain.jsonl"], "json": ["plain.json"], "gz": ["many.jsonl.gz"], "zst": ["many.json.zst"],
        "brace": ["part.{1..4}.jsonl"], "glob": ["glob-*.jsonl.gz"], "txt": ["doc*.txt"], "txtgz": ["zdoc*.txt.gz"],
    }
    corpus.config["domains"] = {name: {"train": patterns} for name, patterns in formats.items()}
    corpus.config["domains"]["exec"] = {"exec": "cat part.1.jsonl part.2.jsonl part.3.jsonl; cat part.4.jsonl"}
    said = corpus.create().produce().stderr

    expected, spans, dropped = pack(documents, encoding)
    assert len(expected) > 200
    for name in corpus.config["domains"]:
        sequences, end = corpus.read(name)
        assert [tokens(s) for s in sequences] == expected, name
        assert [[(d["start"], d["document"], d["offset"]) for d in s["payload"]["documents"]] for s in sequences] == spans, name
        assert all(s["payload"]["width"] == 2 and s["payload"]["used"] == LENGTH + 1 for s in sequences)
        assert (end["sequences"], end["tokens"], end["dropped"], end["documents"], end["rejects"]) == (
            len(expected), len(expected) * LENGTH + 1, dropped, len(documents), 0), name
        counted = f"sequences={len(expected)} tokens={len(expected) * LENGTH} "
        assert f"topic={corpus.name}.{name} partition=0 {counted}" in said, name
        sizes = [len(v) for v in corpus.log(name)[0]]
        assert (end["record_bytes"], end["record_bytes_max"]) == (sum(sizes), max(sizes))
    assert {s for q in corpus.read("txt")[0] for s in q["payload"]["sources"]} == {f"doc{i:04}.txt" for i in range(len(documents))}
    assert corpus.read("exec")[0][0]["payload"]["sources"] == [source_of(corpus, "exec")]


def test_cl100k_has_tokens_of_three_bytes(corpus, vocab):
    documents = texts(60)
    cl100k = tiktoken.Encoding(
        "cl100k", pat_str=CL100K,
        mergeable_ranks=tiktoken.load.load_tiktoken_bpe(str(vocab / "cl100k_base.tiktoken")),
        special_tokens={"<|endoftext|>": 100257})
    (corpus.folder / "a.jsonl").write_text(lines(documents))
    corpus.config["tokenizer"] = {"file": str(vocab / "cl100k_base.tiktoken"), "pattern": "cl100k", "eos": "<|endoftext|>"}
    corpus.config["domains"] = {"a": {"train": ["a.jsonl"], "text": "text"}}
    corpus.create().produce()
    sequences, _ = corpus.read("a")
    assert [tokens(s) for s in sequences] == pack(documents, cl100k, eos=100257)[0]
    assert {s["payload"]["width"] for s in sequences} == {3}


CL100K = (r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|"""
          r"""\s+(?!\S)|\s""")


def set_of(text, shares):
    place = xxhash.xxh64(text.encode()).intdigest() * sum(shares) >> 64
    return 0 if place < shares[0] else 1 if place < shares[0] + shares[1] else 2


def test_split_sends_each_document_to_the_set_of_its_hash(corpus, encoding):
    documents = texts(400)
    (corpus.folder / "a.jsonl").write_text(lines(documents))
    corpus.config["split"] = "7,2,1"
    corpus.config["domains"] = {"a": {"train": ["a.jsonl"]}}
    corpus.create().produce()
    for k, suffix in enumerate(("a", "a.valid", "a.test")):
        mine = [t for t in documents if set_of(t, (7, 2, 1)) == k]
        sequences, end = corpus.read(suffix)
        assert [tokens(s) for s in sequences] == pack(mine, encoding)[0] and len(sequences) > 10
        assert end["documents"] == len(mine)


def test_valid_files_go_to_the_valid_set_and_nothing_of_train_does(corpus, encoding):
    train, valid = texts(100, 2), texts(50, 3)
    (corpus.folder / "train.jsonl").write_text(lines(train))
    (corpus.folder / "held.jsonl").write_text(lines(valid))
    corpus.config["split"] = "1,1,1"
    corpus.config["domains"] = {"a": {"train": ["train.jsonl"], "valid": ["held.jsonl"]}}
    corpus.create().produce()
    assert [tokens(s) for s in corpus.read("a")[0]] == pack(train, encoding)[0]
    assert [tokens(s) for s in corpus.read("a.valid")[0]] == pack(valid, encoding)[0]


def test_where_deals_one_input_out_and_counts_what_is_nobodys(corpus, encoding):
    documents = texts(300)
    kinds = ["wiki", "code", "blog"]
    (corpus.folder / "all.jsonl").write_text("".join(
        json.dumps({"body": {"text": t}, "meta": {"source": kinds[i % 3]}}) + "\n" for i, t in enumerate(documents)))
    (corpus.folder / "held.jsonl").write_text("".join(
        json.dumps({"body": {"text": t}, "meta": {"source": "code"}}) + "\n" for t in texts(40, 9)))
    shared = {"train": ["all.jsonl"], "text": "body.text"}
    corpus.config["split"] = "3,1,0"
    corpus.config["domains"] = {
        "wiki": {**shared, "where": {"field": "meta.source", "equals": "wiki"}},
        "code": {**shared, "where": {"field": "meta.source", "equals": "code"}, "valid": ["held.jsonl"]},
    }
    done = corpus.create().produce()
    assert "PRODUCE-UNMATCHED" in done.stderr and " 100 records" in done.stderr
    wiki, code = documents[0::3], documents[1::3]
    for suffix, mine in (("wiki", [t for t in wiki if set_of(t, (3, 1, 0)) == 0]),
                         ("wiki.valid", [t for t in wiki if set_of(t, (3, 1, 0)) == 1]),
                         ("code", code), ("code.valid", texts(40, 9))):
        sequences, end = corpus.read(suffix)
        assert [tokens(s) for s in sequences] == pack(mine, encoding)[0], suffix
        assert end["documents"] == len(mine)

    one = corpus.copy()
    one.produce("code")
    assert one.values("wiki") == [] and one.log("code") == corpus.log("code")
    one.produce()
    for suffix in ("wiki", "wiki.valid", "code", "code.valid"):
        assert one.log(suffix) == corpus.log(suffix), suffix


def test_the_number_of_workers_changes_no_byte(corpus):
    (corpus.folder / "a.jsonl").write_text(lines(texts(20000)) + "broken\n" + lines(texts(500, 5)))
    corpus.config["split"] = "8,1,1"
    corpus.config["domains"] = {"a": {"train": ["a.jsonl"]}}
    corpus.create().produce("--workers", 1)
    other = corpus.copy()
    other.produce("--workers", 4)
    for suffix in ("a", "a.valid", "a.test"):
        assert corpus.log(suffix) == other.log(suffix)
        assert len(corpus.log(suffix)[0]) > 1000


def test_lanes_take_every_nth_file_and_may_run_by_themselves(corpus, encoding):
    documents = parts(texts(200), 5)
    for i, part in enumerate(documents):
        (corpus.folder / f"{i}.jsonl").write_text(lines(part))
    corpus.config["domains"] = {"a": {"train": ["{0..4}.jsonl"], "partitions": 3}}
    corpus.create().produce()
    for lane, mine in enumerate((documents[0] + documents[3], documents[1] + documents[4], documents[2])):
        sequences, end = corpus.read("a", lane)
        assert [tokens(s) for s in sequences] == pack(mine, encoding)[0]
        assert end["documents"] == len(mine)

    other = corpus.copy()
    other.produce("--lane", "1/3")  # the option's name of before
    assert other.values("a", 0) == other.values("a", 2) == []
    other.produce("--partition", "0/3")
    other.produce("--partition", "2/3")
    for lane in range(3):
        assert other.log("a", lane) == corpus.log("a", lane)
    for name in ("--lane", "--partition"):
        refused = other.produce(name, "0/2", check=False)
        assert refused.returncode == 2 and f"{name} 0/2: domain a has partitions: 3" in refused.stderr


def test_a_task_of_an_array_produces_the_partition_of_its_number(corpus):
    """As Kubernetes and Slurm number their tasks; a domain with fewer partitions is complete without the later ones."""
    for i in "012b":
        (corpus.folder / f"{i}.jsonl").write_text(lines(texts(4, ord(i))))
    corpus.config["domains"] = {"a": {"train": ["{0..2}.jsonl"], "partitions": 3}, "b": {"train": ["b.jsonl"]}}
    corpus.create().produce()
    other = corpus.copy()
    for number, variable in enumerate(("JOB_COMPLETION_INDEX", "SLURM_ARRAY_TASK_ID", "JOB_COMPLETION_INDEX")):
        auto = ("--partition", "auto") if number == 0 else ()  # it is the same without the option
        done = other.produce(*auto, env={variable: str(number), "SLURM_ARRAY_TASK_COUNT": "3"})
        assert f"{variable} is {number}: of each domain that has it, partition {number}" in done.stderr
        assert other.log("a", number) == corpus.log("a", number) and other.log("b") == corpus.log("b")
        assert all(other.values("a", later) == [] for later in range(number + 1, 3))
    for value, why in (
            ("3", "JOB_COMPLETION_INDEX is 3, and the domains have 3 partitions at most, from 0: give the array 3 tasks"),
            ("x", "JOB_COMPLETION_INDEX is not the number of a partition: x")):
        refused = other.produce("--partition", "auto", check=False, env={"JOB_COMPLETION_INDEX": value})
        assert refused.returncode == 2 and why in refused.stderr
    refused = other.produce("--partition", "auto", check=False)
    assert refused.returncode == 2 and "this is no task of an array" in refused.stderr
    few = {"SLURM_ARRAY_TASK_ID": "0", "SLURM_ARRAY_TASK_COUNT": "2"}
    refused = other.produce(check=False, env=few)
    assert refused.returncode == 2 and "SLURM_ARRAY_TASK_COUNT is 2, and a domain has 3 partitions" in refused.stderr
    assert "of each domain that has it, partition 0" in other.produce("--partition", "auto", env=few).stderr  # one task again
    assert "SLURM" not in other.produce("b", env={**few, "SLURM_ARRAY_TASK_ID": "7"}).stderr  # it is in one partition: nothing to share


def test_an_empty_lane_gives_an_end_of_0(corpus):
    """Of a domain in several partitions one may well have no file, or too little text for a sequence."""
    (corpus.folder / "one.jsonl").write_text(lines(["few words"]))
    corpus.config["split"] = "1,1,1"
    corpus.config["domains"] = {"lanes": {"train": ["one.jsonl"], "partitions": 2}}
    corpus.create().produce()
    zero = {"sequences": 0, "tokens": 0, "dropped": 0, "documents": 0, "rejects": 0, "record_bytes": 0, "record_bytes_max": 0}
    for suffix, lane in (("lanes", 1), ("lanes.valid", 1), ("lanes.test", 1)):
        sequences, end = corpus.read(suffix, lane)
        assert sequences == [] and {**end, **zero} == end and end["sequence_length"] == LENGTH
    few = [corpus.read(f"lanes{s}", 0)[1] for s in ("", ".valid", ".test")]
    assert sorted((e["sequences"], e["dropped"], e["documents"]) for e in few) == [(0, 0, 0), (0, 0, 0), (0, 3, 1)]


# ---- after every kind of end ----


@pytest.fixture(scope="module")
def calm(tmp_path_factory, bootstrap, vocab):
    """A corpus that was produced undisturbed: lanes, sets, rejects, compressed and plain files, a program."""
    made = Corpus(tmp_path_factory.mktemp("calm"), bootstrap, vocab)
    mixed = lines(texts(150, 4)) + "no json\n" + lines(texts(150, 6)) + '{"text": 1}\n' + lines(texts(100, 7))
    (made.folder / "a.0.jsonl").write_text(mixed)
    (made.folder / "a.1.jsonl").write_text(lines(texts(300, 8)))
    (made.folder / "b.0.jsonl.gz").write_bytes(gzip.compress(mixed.encode()[:9000]) + gzip.compress(mixed.encode()[9000:]))
    (made.folder / "b.1.jsonl.zst").write_bytes(zstandard.ZstdCompressor().compress(mixed.encode()))
    made.config["split"] = "6,3,1"
    made.config["domains"] = {
        "a": {"train": ["a.*.jsonl"], "partitions": 2},
        "b": {"train": ["b.*"]},
        "c": {"exec": "cat a.0.jsonl a.1.jsonl"},
    }
    made.create().produce()
    made.logs = logs(made)
    assert all(end is not None and kept for kept, end in made.logs.values())
    return made


def logs(corpus):
    """What a reader sees of every partition."""
    return {(domain, lane, part): corpus.log(domain + part, lane)
            for domain, d in corpus.config["domains"].items() for lane in range(d.get("partitions", 1))
            for part in ("", ".valid", ".test")}


@pytest.mark.parametrize("point", [
    "produce.before_publish:1", "produce.before_publish:400", "produce.after_publish:1", "produce.after_publish:17",
    "produce.after_publish:333", "produce.before_end:1", "produce.before_end:3", "produce.after_end:1", "produce.after_end:2"])
def test_kill_9_at_a_fault_point_leaves_the_undisturbed_log(calm, point):
    stormy = calm.copy()
    died = stormy.produce(check=False, env={"RIFFLE_FAULT": point})
    assert died.returncode == -signal.SIGKILL
    assert f"fault: {point.split(':')[0]} reached" in died.stderr
    stormy.finish()
    assert logs(stormy) == calm.logs


def test_kill_9_again_and_again_leaves_the_undisturbed_log(calm):
    """Every run gets a little further: the resume of a resume."""
    stormy = calm.copy()
    for passes in (40, 7, 60, 25, 90, 3):
        assert stormy.produce(check=False, env={"RIFFLE_FAULT": f"produce.after_publish:{passes}"}).returncode in (
            -signal.SIGKILL, 1)
        wait_settled(stormy)
    stormy.finish()
    assert logs(stormy) == calm.logs


def wait_settled(corpus):
    """Sequences sent by a process that was killed have landed."""
    before = None
    while before != (before := [len(corpus.values("a", lane)) for lane in range(2)]):
        pass


@pytest.mark.long("tests/kafka/test_produce.py::test_kill_9_again_and_again_leaves_the_undisturbed_log")
def test_kill_9_at_random_times_leaves_the_undisturbed_log(tmp_path, bootstrap, vocab):
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    r = random.Random(seed)
    one = Corpus(tmp_path, bootstrap, vocab)
    with zstandard.open(tmp_path / "big.jsonl.zst", "wt") as out:
        out.write(lines(texts(40000, 11)))
    one.config["split"] = "9,1,0"
    one.config["domains"] = {"a": {"train": ["big.jsonl.zst"]}}
    one.create()
    began = time.monotonic()
    one.produce()
    took = time.monotonic() - began
    two = one.copy()
    kills, stood = 0, set()
    while kills < 5:
        process = two.start()
        if not stood:  # how long the first record takes depends on librdkafka; this kill comes behind it
            wait_until(lambda: log_end(bootstrap, f"{two.name}.a") or process.poll() is not None, "a first record")
        try:
            process.communicate(timeout=r.uniform(0.05, 0.5) * took * bool(stood))
            break  # it was quicker: nothing is left to kill
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            kills += 1
            stood.add(len(two.values("a")))
    assert any(0 < n < len(one.values("a")) for n in stood), f"seed {seed}: no kill in the middle: {stood}"
    two.finish()
    for suffix in ("a", "a.valid"):
        assert two.log(suffix) == one.log(suffix), f"seed {seed}"
    one.riffle.close()
    two.riffle.close()


def stalling(corpus, documents):
    """A domain `a` of a program that prints half of the documents, waits for a file `go`, then prints the rest."""
    half = len(documents) // 2
    (corpus.folder / "1.jsonl").write_text(lines(documents[:half]))
    (corpus.folder / "2.jsonl").write_text(lines(documents[half:]))
    corpus.config["domains"] = {"a": {"exec": "cat 1.jsonl; until test -e go; do sleep 0.05; done; cat 2.jsonl"}}


def test_sigterm_ends_with_0_and_a_rerun_completes(corpus, encoding):
    documents = texts(310)
    stalling(corpus, documents)
    process = corpus.create().start()
    half = len(pack(documents[:155], encoding)[0])
    assert half % 16 != 0  # the last frame job is not full
    wait_until(lambda: len(corpus.values("a")) == half, "what the program has printed")
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0 and "stopped after" in err
    assert corpus.log("a")[1] is None
    (corpus.folder / "go").touch()
    corpus.produce()
    sequences, end = corpus.read("a")
    assert [tokens(s) for s in sequences] == pack(documents, encoding)[0]
    assert end["documents"] == 310
    assert len(corpus.values("a")) == len(sequences) + 1


def half_way(corpus, encoding, prefix=()):
    """A domain `a`, half of which is published by a producer that waits for its program. Gives it and the documents."""
    documents = texts(310)
    stalling(corpus, documents)
    words = [*prefix, corpus.riffle.path, "produce", "-c", corpus.create().path]
    first = subprocess.Popen([str(w) for w in words], stderr=subprocess.PIPE, text=True)
    corpus.riffle.running.append(first)
    first.stdout = None
    half = len(pack(documents[:155], encoding)[0])
    wait_until(lambda: len(corpus.values("a")) == half, "the first half")
    return first, documents


def is_whole(corpus, documents, encoding):
    sequences, end = corpus.read("a")
    assert [tokens(s) for s in sequences] == pack(documents, encoding)[0]
    assert end["documents"] == 310
    return len(sequences)


def said(process, words):
    """The line of its log that has these words; what came before is passed over."""
    for line in process.stderr:
        if words in line:
            return line
    raise AssertionError(f"exit {process.wait()} without {words!r}")


def test_a_second_producer_waits_until_the_first_has_ended(corpus, encoding):
    first, documents = half_way(corpus, encoding)
    second = corpus.start()
    assert f"process {first.pid} on " in said(second, "PRODUCE-TURN a: another producer writes it")
    (corpus.folder / "go").touch()
    assert first.wait(timeout=60) == 0
    assert "a is complete: nothing to do" in second.communicate(timeout=60)[1]
    assert second.returncode == 0
    assert len(corpus.values("a")) == is_whole(corpus, documents, encoding) + 1


def test_producers_of_different_partitions_do_not_wait_for_each_other(corpus, encoding):
    documents = parts(texts(60), 2)
    for i, part in enumerate(documents):
        (corpus.folder / f"{i}.jsonl").write_text(lines(part))
    corpus.config["domains"] = {"a": {"train": ["{0..1}.jsonl"], "partitions": 2, "live": True}}
    first = corpus.create().start("--partition", "0/2", "--follow")
    wait_until(lambda: corpus.values("a", 0), "sequences of the first, which follows its file")
    second = corpus.start("--partition", "1/2")
    _, err = second.communicate(timeout=60)
    assert second.returncode == 0 and first.poll() is None and "PRODUCE-TURN" not in err
    published = [tokens(decode(v)) for v in corpus.log("a", 1)[0]]
    assert published in [pack(part, encoding)[0] for part in documents]  # names decide which file a partition has


def test_a_producer_that_waits_for_another_ends_with_sigterm(corpus, encoding):
    first, documents = half_way(corpus, encoding)
    second = corpus.start()
    said(second, "PRODUCE-TURN")
    second.send_signal(signal.SIGTERM)
    assert "produce: a stopped while waiting for its turn\n" in second.communicate(timeout=60)[1]
    assert second.returncode == 0
    (corpus.folder / "go").touch()
    assert first.wait(timeout=60) == 0
    is_whole(corpus, documents, encoding)


def test_a_producer_that_waits_resumes_when_the_first_is_killed(corpus, encoding):
    first, documents = half_way(corpus, encoding)
    second = corpus.start()
    said(second, "PRODUCE-TURN")
    first.kill()
    (corpus.folder / "go").touch()
    _, err = second.communicate(timeout=60)
    assert second.returncode == 0, err
    is_whole(corpus, documents, encoding)


def test_a_producer_after_one_that_was_killed_on_this_machine_does_not_wait(corpus, encoding):
    """Also before the dead one is reaped: as under a supervisor that is slow."""
    first, documents = half_way(corpus, encoding)
    (corpus.folder / "go").touch()
    first.kill()
    again = corpus.produce()
    assert "PRODUCE-TURN" not in again.stderr
    is_whole(corpus, documents, encoding)


def test_a_producer_after_one_that_was_killed_elsewhere_waits_for_its_session(corpus, encoding):
    """Elsewhere: in a space of pids of its own, as in another container or on another machine."""
    first, documents = half_way(corpus, encoding, ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child"])
    (corpus.folder / "go").touch()
    first.kill()
    first.wait(timeout=60)
    again = corpus.produce()
    assert "PRODUCE-TURN a: another producer writes it: process 1 on " in again.stderr
    is_whole(corpus, documents, encoding)


def test_a_producer_that_was_stopped_past_its_session_ends_with_3_and_the_other_completes(corpus, encoding):
    first, documents = half_way(corpus, encoding)
    second = corpus.start()
    said(second, "PRODUCE-TURN")
    first.send_signal(signal.SIGSTOP)
    said(second, "resumes at document")
    first.send_signal(signal.SIGCONT)
    assert f"another producer has taken over: process {second.pid} on " in first.communicate(timeout=60)[1]
    assert first.returncode == 3
    (corpus.folder / "go").touch()
    _, err = second.communicate(timeout=60)
    assert second.returncode == 0, err
    is_whole(corpus, documents, encoding)


def test_a_live_domain_gets_no_end_and_goes_on_when_its_data_have_grown(corpus, encoding):
    documents = texts(300)
    (corpus.folder / "a.jsonl").write_text(lines(documents[:200]))
    corpus.config["domains"] = {"a": {"train": ["a.jsonl"], "live": True}}
    assert "no End" in corpus.create().produce().stderr
    kept, end = corpus.log("a")
    assert end is None and [tokens(decode(v)) for v in kept] == pack(documents[:200], encoding)[0]
    with open(corpus.folder / "a.jsonl", "a") as out:
        out.write(lines(documents[200:]))
    corpus.produce()
    kept, end = corpus.log("a")
    assert end is None and [tokens(decode(v)) for v in kept] == pack(documents, encoding)[0]


def test_a_rerun_after_completion_says_so_and_changes_nothing(calm):
    before = {k: calm.values(k[0] + k[2], k[1]) for k in calm.logs}
    done = calm.produce()
    assert done.stderr.count("is complete: nothing to do") == 4
    assert before == {k: calm.values(k[0] + k[2], k[1]) for k in calm.logs}


@pytest.fixture
def interrupted(corpus):
    """A corpus of one plain and one compressed domain, killed in the middle of each."""
    documents = [*texts(400, 3), "the 1234 " * 40]  # the log ends in the last one
    (corpus.folder / "a.jsonl").write_text(lines(documents))
    (corpus.folder / "b.jsonl.gz").write_bytes(gzip.compress(lines(documents).encode()))
    corpus.documents = documents
    corpus.config["domains"] = {"a": {"train": ["a.jsonl"]}, "b": {"train": ["b.jsonl.gz"]}}
    corpus.create()
    for domain in ("a", "b"):
        died = corpus.produce(domain, check=False, env={"RIFFLE_FAULT": "produce.before_end"})
        assert died.returncode == -signal.SIGKILL
        assert len(corpus.values(domain)) > 100
    return corpus


def rewrite(corpus, change):
    changed = change(lines(corpus.documents))
    (corpus.folder / "a.jsonl").write_text(changed)
    (corpus.folder / "b.jsonl.gz").write_bytes(gzip.compress(changed.encode()))


def last_line(text, change):
    """The last documents, where the log ends, with one word changed; no byte moves."""
    head, tail = text[:-4000], text[-4000:]
    return head + change(tail)


@pytest.mark.parametrize("name, change", [
    ("a line that moved", lambda t: '{"text": "new"}\n' + t),
    ("another text of equal length", lambda t: last_line(t, lambda s: s.replace("the", "teh").replace("1234", "1243"))),
    ("a shorter file", lambda t: t[:len(t) // 2]),
    ("an empty file", lambda t: ""),
])
def test_an_input_that_has_changed_is_refused(interrupted, name, change):
    before = [interrupted.values(d) for d in ("a", "b")]
    rewrite(interrupted, change)
    for domain in ("a", "b"):
        refused = interrupted.produce(domain, check=False)
        assert refused.returncode == 1, refused.stderr
        assert re.search(r"has changed since|data it began with|where the last run ended|cannot be resumed", refused.stderr), refused.stderr
    assert before == [interrupted.values(d) for d in ("a", "b")]


def test_no_set_is_closed_where_the_data_of_another_have_changed(corpus):
    documents = texts(400, 3)
    (corpus.folder / "a.jsonl").write_text(lines(documents))
    corpus.config["split"] = "1,1,0"
    corpus.config["domains"] = {"a": {"train": ["a.jsonl"]}}
    corpus.create().produce(check=False, env={"RIFFLE_FAULT": "produce.before_end"})
    before = [corpus.values(s) for s in ("a", "a.valid")]
    (corpus.folder / "a.jsonl").write_text(lines(documents[:max(decode(v[-1])["position"]["document"] for v in before)]))
    refused = corpus.produce(check=False)
    assert refused.returncode == 1 and "has changed since" in refused.stderr
    assert all(corpus.log(s)[1] is None for s in ("a", "a.valid"))
    (corpus.folder / "a.jsonl").write_text(lines(documents))
    corpus.finish()
    assert sum(corpus.read(s)[1]["documents"] for s in ("a", "a.valid")) == 400


def test_an_input_that_is_gone_is_refused(interrupted):
    (interrupted.folder / "a.jsonl").rename(interrupted.folder / "z.jsonl")
    interrupted.config["domains"]["a"]["train"] = ["z.jsonl"]
    interrupted.write()
    refused = interrupted.produce("a", check=False)
    assert refused.returncode == 2 and "file a.jsonl: the last run ended there" in refused.stderr


def test_files_in_front_of_where_a_killed_run_was_must_be_those_of_then(corpus):
    documents = texts(400, 3)
    for name, part in (("b1", documents[:100]), ("b2", documents[100:300])):
        (corpus.folder / f"{name}.jsonl").write_text(lines(part))
    corpus.config["domains"] = {"a": {"train": ["*.jsonl"]}}
    corpus.create().produce(check=False, env={"RIFFLE_FAULT": "produce.before_end"})
    before = corpus.values("a")
    assert decode(before[-1])["position"]["file"] == "b2.jsonl"

    (corpus.folder / "a.jsonl").write_text(lines(documents[300:]))
    refused = corpus.produce(check=False)
    assert refused.returncode == 2 and "1 of the files that sort before b2.jsonl are new" in refused.stderr, refused.stderr
    assert " a --restart`" in refused.stderr
    (corpus.folder / "a.jsonl").unlink()
    (corpus.folder / "b1.jsonl").rename(corpus.folder / "c1.jsonl")
    refused = corpus.produce(check=False)
    assert refused.returncode == 2 and "were removed or renamed" in refused.stderr, refused.stderr
    assert before == corpus.values("a")

    (corpus.folder / "c1.jsonl").rename(corpus.folder / "b1.jsonl")
    (corpus.folder / "d.jsonl").write_text(lines(documents[300:]))
    corpus.finish()
    assert corpus.read("a")[1]["documents"] == 400


def test_another_tokenizer_or_length_on_a_rerun_is_refused(interrupted, vocab):
    interrupted.config["sequence_length"] = LENGTH + 1
    interrupted.write()
    refused = interrupted.produce(check=False)
    assert refused.returncode == 2
    assert f"begun with sequence_length {LENGTH}, the configuration has {LENGTH + 1}" in refused.stderr
    interrupted.config["sequence_length"] = LENGTH
    interrupted.config["tokenizer"] = {"file": str(vocab / "cl100k_base.tiktoken"), "pattern": "cl100k", "eos": "<|endoftext|>"}
    interrupted.write()
    refused = interrupted.produce(check=False)
    assert refused.returncode == 2 and "begun with tokenizer" in refused.stderr


# ---- bad input ----


def test_every_kind_of_reject_is_kept_with_its_place_and_reason(corpus, encoding):
    good = lines(["one " * 50, "two " * 50]).encode()
    long = json.dumps({"text": "x" * 5000}).encode() + b"\n"
    inputs = {
        "json": ("f.jsonl", good + b'{"text": "cut\n' + good, "invalid JSON|ends|string", 3, len(good)),
        "field": ("f.jsonl", good + b'{"txt": "no"}\n' + good, "no field `text`", 3, len(good)),
        "kind": ("f.jsonl", good + b'{"text": ["no"]}\n' + good, "field `text` is not a string", 3, len(good)),
        "utf": ("f.jsonl", good + b'{"text": "a\xff"}\n' + good, "invalid UTF-8", 3, len(good)),
        "long": ("f.jsonl", good + long + good, "max_document_bytes", 3, len(good)),
        "gz": ("f.jsonl.gz", gzip.compress(good * 2)[:-12], "middle of a member", None, None),
        "txt": ("f.txt", b"a\xfe", "invalid UTF-8", 1, 0),
    }
    corpus.config.update(utf8="strict", max_document_bytes=4096, max_rejects=1, domains={})
    for domain, (name, content, *_) in inputs.items():
        (corpus.folder / domain).mkdir()
        (corpus.folder / domain / name).write_bytes(content)
        (corpus.folder / domain / "g.txt").write_text("three " * 50)
        corpus.config["domains"][domain] = {"train": [f"{domain}/{name}", f"{domain}/g.txt"]}
    failing = "cat json/f.jsonl | head -2; exit 3"
    corpus.config["domains"]["exec"] = {"exec": failing}
    done = corpus.create().produce()
    rejects = {r["domain"]: r for r in corpus.rejects()}
    assert len(corpus.rejects()) == len(rejects) == len(inputs) + 1
    for domain, (name, content, reason, line, byte) in inputs.items():
        r = rejects[domain]
        assert r["file"] == f"{domain}/{name}" and r["count"] == "1" and r["stage"] == "produce"
        assert re.search(reason, r["reason"]), (domain, r)
        assert line is None or (r["line"], r["byte"]) == (str(line), str(byte)), (domain, r)
        assert f"PRODUCE-REJECT file={domain}/{name}" in done.stderr
    assert rejects["field"]["value"] == b'{"txt": "no"}'
    assert rejects["utf"]["value"] == b'{"text": "a\xff"}'
    assert rejects["exec"]["file"] == source_of(corpus, "exec") and "exit status 3" in rejects["exec"]["reason"]
    for domain in ("json", "field", "kind", "utf", "long"):
        _, end = corpus.read(domain)
        assert (end["documents"], end["rejects"]) == (5, 1), domain
    assert [corpus.read(d)[1]["rejects"] for d in ("gz", "txt", "exec")] == [1, 1, 1]
    assert "` lists it with file, line and reason" in done.stderr

    listed = [json.loads(x) for x in corpus.riffle("rejects", "-c", corpus.path, "--json").stdout.splitlines()]
    counts = listed.pop()
    assert {r["domain"]: str(r["line"]) for r in listed} == {d: r["line"] for d, r in rejects.items()}
    assert [r["begins"] for r in listed if r["domain"] == "utf"] == ['{"text": "a\ufffd"}']
    assert counts["records"] == len(rejects) and [d["records"] for d in counts["domains"]] == [1] * len(rejects)
    one = corpus.riffle("rejects", "-c", corpus.path, "--domain", "field").stdout
    assert one == ('field\tfield/f.jsonl:3\tno field `text`\t{"txt": "no"}\n1 record\nfield: 1 no field `text`\n')
    some = corpus.riffle("rejects", "-c", corpus.path, "--reason", "invalid UTF-8", "--count").stdout
    assert some.startswith("2 records\n") and "\nutf: 1 " in some and "\ntxt: 1 " in some


def test_a_record_that_several_runs_reject_is_listed_once(corpus):
    (corpus.folder / "a.jsonl").write_text("bad\nbad\n" + lines(["good " * 9]))
    corpus.config["domains"] = {"a": {"train": ["a.jsonl"]}}
    corpus.create()
    for _ in range(3):
        assert corpus.produce(check=False).returncode == 1
    assert sorted(r["line"] for r in corpus.rejects()) == ["1"] * 3 + ["2"] * 3
    counted = corpus.riffle("rejects", "-c", corpus.path).stdout.splitlines()
    assert [x.split("\t")[1] for x in counted[:-2]] == ["a.jsonl:1", "a.jsonl:2"]
    assert counted[-2] == "2 records" and counted[-1].startswith("a: 2 ")
    (corpus.folder / "a.jsonl").write_text("bud\nbad\n" + lines(["good " * 9]))
    corpus.produce(check=False)
    counted = corpus.riffle("rejects", "-c", corpus.path, "--json").stdout.splitlines()
    assert [json.loads(x)["begins"] for x in counted[:-1]] == ["bad", "bad", "bud"]


def test_rejects_are_counted_on(corpus):
    (corpus.folder / "a.jsonl").write_text(("bad\n" + lines(["good " * 9])) * 9)
    corpus.config["max_rejects"] = 0.5
    corpus.config["domains"] = {"a": {"train": ["a.jsonl"]}}
    corpus.create().produce()
    rejects = corpus.rejects()
    assert [(r["count"], r["line"]) for r in rejects] == [(str(i + 1), str(2 * i + 1)) for i in range(9)]
    assert corpus.read("a")[1]["rejects"] == 9


def test_a_reject_is_in_the_log_before_a_sequence_that_counts_it(corpus):
    """Else a crash between the two would lose it: the resume begins behind it."""
    documents = texts(20000, 5)
    (corpus.folder / "a.jsonl").write_text("".join(
        lines([t]) + ("bad\n" if i % 1000 == 7 else "") for i, t in enumerate(documents)))
    corpus.config["domains"] = {"a": {"train": ["a.jsonl"]}}
    corpus.config["kafka"]["linger.ms"] = 20000  # only full batches go out by themselves: a reject makes none
    corpus.create().produce(check=False, env={"RIFFLE_FAULT": "produce.after_publish:7000"})
    counted = decode(corpus.log("a")[0][-1])["position"]["rejects"]
    assert counted > 1
    assert [r["count"] for r in corpus.rejects()][:counted] == [str(i + 1) for i in range(counted)]
    corpus.finish()
    assert {r["line"] for r in corpus.rejects()} == {str(9 + i * 1001) for i in range(20)}
    assert corpus.read("a")[1]["rejects"] == 20


def test_on_reject_stop_ends_with_1_and_names_file_and_line(corpus):
    (corpus.folder / "a.jsonl").write_text(lines(["one"]) + "bad\n")
    corpus.config.update(on_reject="stop", domains={"a": {"train": ["a.jsonl"]}})
    done = corpus.create().produce(check=False)
    assert done.returncode == 1 and "a.jsonl:2: " in done.stderr.splitlines()[-1]
    assert corpus.rejects() == [] and corpus.log("a") == ([], None)
    (corpus.folder / "a.jsonl").write_text(lines(["one", "mended " * 40]))
    corpus.produce()
    assert corpus.read("a")[1]["documents"] == 2


# ---- what is wrong is said in one sentence ----


def one_sentence(done, code, *words):
    said = [line for line in done.stderr.splitlines() if "KAFKA-WAIT" not in line]  # while it waits for a broker
    assert done.returncode == code and done.stdout == "", done.stderr
    assert len(said) == 1 and all(w in said[0] for w in words), done.stderr


def test_what_is_wrong_is_said_in_one_sentence(corpus, vocab):
    (corpus.folder / "a.jsonl").write_text(lines(["one"]))
    corpus.config["domains"] = {"a": {"train": ["a.jsonl"]}}
    corpus.write()
    one_sentence(corpus.produce(check=False), 1, f"{corpus.name}.a", "riffle topics", "--create")
    corpus.create()
    one_sentence(corpus.produce("b", check=False), 2, "no domain b")
    one_sentence(corpus.produce("--lane", "3/2", check=False), 2, "--lane: not a lane")
    one_sentence(corpus.produce("--partition", "3/2", check=False), 2, "--partition: not a partition")
    corpus.config["domains"]["a"]["partitions"] = 2
    corpus.write()
    one_sentence(corpus.produce(check=False), 2, f"{corpus.name}.a", "1 partition", "2")
    corpus.config["domains"]["a"] = {"train": ["none*.jsonl"]}
    corpus.write()
    one_sentence(corpus.produce(check=False), 2, "none*.jsonl")
    corpus.config["domains"]["a"] = {"train": ["a.jsonl"]}
    corpus.config["tokenizer"]["file"] = str(vocab / "none.tiktoken")
    corpus.write()
    missing = corpus.produce(check=False)
    assert missing.returncode in (1, 2) and "none.tiktoken" in missing.stderr


@pytest.mark.parametrize("after, why", [(20, "no record 39 starts at byte"), (60, "does not have there any more")])
def test_a_domain_of_0_1_that_is_half_published_names_what_riffle_source_leaves_out(corpus, after, why):
    """The folder gets its name between the runs, as if 0.1 had read it by the name that it has now."""
    (corpus.folder / "riffle-source").symlink_to(ROOT / "python/riffle_source.py")
    (corpus.folder / "out/temporary").mkdir(parents=True)
    for name in ("out/temporary/a.jsonl", "out/z.jsonl"):
        (corpus.folder / name).write_text(lines([f"{name[4]} {i:02} " + "word " * 40 for i in range(20)]))
    corpus.config["domains"] = {"a": {"exec": f"{sys.executable} riffle-source out; test -e whole"}}
    assert "the domain is not closed" in corpus.create().produce(check=False).stderr
    (corpus.folder / "out/temporary").rename(corpus.folder / "out/_temporary")
    (corpus.folder / "out/z.jsonl").write_text(lines([f"z {i:02} " + "word " * 40 for i in range(after)]))
    (corpus.folder / "whole").touch()
    done = corpus.produce(check=False)
    assert done.returncode == 1 and why in done.stderr, done.stderr
    assert "left out 1 file, such as file://" in done.stderr and "out/_temporary/a.jsonl" in done.stderr
    assert "riffle-source has changed since riffle 0.1: it leaves out files and folders whose names" in done.stderr, done.stderr
    (corpus.folder / "out/z.jsonl").write_text("")
    (corpus.folder / "whole").unlink()
    done = corpus.produce(check=False)
    assert "the program ended with exit status 1, before record 39, where the last run ended" in done.stderr, done.stderr
    assert "riffle-source has changed" not in done.stderr


@pytest.mark.parametrize("utf8", ["replace", "strict"])
def test_riffle_source_gives_the_sequences_and_rejects_of_the_file(corpus, utf8):
    """Of bytes that are not UTF-8, in JSON lines and in a binary column, and of half a pair of surrogates."""
    rows = [b"good \xc3\xa9", b"caf\xe9 caf\xe9", b"\xed\xa0\xbd\xed\xb1\x8d"] * 20
    whole = b"".join(b'{"text":"' + row + b'"}\n' for row in rows)
    (corpus.folder / "a.jsonl").write_bytes(whole + rb'{"text":"\ud83d \udcff"}' + b"\n")
    (corpus.folder / "b.jsonl").write_bytes(whole)
    pyarrow.parquet.write_table(pyarrow.table({"text": rows}), corpus.folder / "b.parquet")
    source = f"{sys.executable} {ROOT}/python/riffle_source.py"
    corpus.config.update(utf8=utf8, max_rejects=1, domains={
        "a": {"train": ["a.jsonl"]}, "b": {"train": ["b.jsonl"]},
        "sa": {"exec": f"{source} a.jsonl"}, "sb": {"exec": f"{source} b.parquet"}})
    done = corpus.create().produce()
    for domain in "ab":
        assert [tokens(s) for s in corpus.read(domain)[0]] == [tokens(s) for s in corpus.read("s" + domain)[0]]
        assert (f"PRODUCE-ENCODING {domain}: 40 of {60 + (domain == 'a')} documents are" in done.stderr) == (utf8 == "replace")
        assert (f"PRODUCE-ENCODING s{domain}: 40 of {60 + (domain == 'a')} documents are" in done.stderr) == (utf8 == "replace"), done.stderr
    found = {d: [(r["line"], r["reason"], r["value"]) for r in corpus.rejects() if r["domain"] == d]
             for d in ("a", "b", "sa", "sb")}
    assert found["sa"] == found["a"] and found["sb"] == found["b"]
    assert len(found["a"]) == len(found["b"]) == (40 if utf8 == "strict" else 0)


def test_what_domains_from_leaves_out_is_named_for_the_domains_that_are_produced(corpus):
    for domain in ("a", "b"):
        (corpus.folder / "data" / domain).mkdir(parents=True)
        for name in ("a.jsonl", "b.ndjson"):
            (corpus.folder / "data" / domain / name).write_text(lines(["words " * 60]))
    corpus.config.update(domains_from="data", domains={"c": {"exec": "cat data/a/a.jsonl"}})
    corpus.create()
    for words, named in ((["a"], "a"), (["c"], ""), ([], "ab")):
        said = corpus.produce(*words).stderr
        assert re.findall(r"CONFIG-LEFT-OUT domain=(\w) path=\S+/data/\w/b.ndjson is not read", said) == list(named), said
    assert corpus.read("a")[1]["documents"] == 1


def test_an_unreachable_broker_is_said_in_one_sentence(corpus):
    (corpus.folder / "a.jsonl").write_text(lines(["one"]))
    corpus.config["domains"] = {"a": {"train": ["a.jsonl"]}}
    corpus.config["kafka"]["bootstrap.servers"] = "127.0.0.1:1"
    corpus.write()
    one_sentence(corpus.produce(check=False), 1, "127.0.0.1:1")
