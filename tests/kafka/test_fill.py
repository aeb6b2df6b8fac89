"""What tests/tools/fill writes is what a producer would have written."""

import pathlib
import secrets
import subprocess
import sys

import pytest
import xxhash
import zstandard

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "python"))
import golden_values as golden

LENGTH, SEQUENCES, PARTITIONS, VOCABULARY, DISTINCT = 64, 301, 2, 70000, 40
EOS = VOCABULARY - 1


def read_partition(bootstrap, topic, partition):
    """All records of a partition, by kcat."""
    done = subprocess.run(
        ["kcat", "-C", "-q", "-e", "-b", bootstrap, "-t", topic, "-p", str(partition)]
        + ["-o", "beginning", "-f", "%o %S\n%s"],
        capture_output=True,
        timeout=60,
        check=True,
    )
    rest, records = done.stdout, []
    while rest:
        head, rest = rest.split(b"\n", 1)
        offset, size = map(int, head.split())
        assert offset == len(records)
        records.append(rest[:size])
        rest = rest[size:]
    return records


def tokens_of(payload):
    packed = zstandard.ZstdDecompressor().decompress(payload["frame"])
    width = payload["width"]
    assert len(packed) == payload["count"] * width
    return [
        int.from_bytes(packed[i : i + width], "little") for i in range(0, len(packed), width)
    ]


@pytest.fixture(scope="module")
def filled(bootstrap, tools):
    """Topic -> partitions -> decoded records."""
    corpus = "t" + secrets.token_hex(5)
    subprocess.run(
        [tools / "fill", "--bootstrap", bootstrap, "--corpus", corpus, "--domain", "a,b"]
        + ["--sequences", str(SEQUENCES), "--length", str(LENGTH)]
        + ["--partitions", str(PARTITIONS), "--vocabulary", str(VOCABULARY)]
        + ["--distinct", str(DISTINCT), "--tokenizer-fingerprint", "00ff00ff00ff00ff"],
        check=True,
        timeout=60,
    )
    return {
        domain: [read_partition(bootstrap, f"{corpus}.{domain}", k) for k in range(PARTITIONS)]
        for domain in "ab"
    }


@pytest.mark.parametrize("domain", ["a", "b"])
@pytest.mark.parametrize("partition", range(PARTITIONS))
def test_a_partition_is_one_stream_of_documents_cut_with_one_token_of_overlap(
    filled, domain, partition
):
    *sequences, end = filled[domain][partition]
    stream, document, offset = [], 0, 0
    where = []  # for every token of the stream: (document, index in it)
    values = [golden.decode("Sequence", record) for record in sequences]
    for value in values:
        tokens = tokens_of(value["payload"])
        assert len(tokens) == LENGTH + 1
        if stream:
            assert tokens[0] == stream[-1]
        for token in tokens[1 if stream else 0 :]:
            where.append((document, offset))
            stream.append(token)
            document, offset = (document + 1, 0) if token == EOS else (document, offset + 1)
    assert len(values) == SEQUENCES // PARTITIONS + (partition < SEQUENCES % PARTITIONS)
    for ordinal, value in enumerate(values):
        first = ordinal * LENGTH
        payload = value["payload"]
        assert value["ordinal"] == ordinal
        assert payload["used"] == payload["count"] == LENGTH + 1 and payload["width"] == 3
        assert xxhash.xxh64(payload["frame"]).intdigest().to_bytes(8, "little") == (
            payload["frame_hash"]
        )
        spans = [
            (span["start"], (span["document"], span["offset"])) for span in payload["documents"]
        ]
        assert spans == [
            (i, where[first + i])
            for i in range(LENGTH + 1)
            if i == 0 or where[first + i][0] != where[first + i - 1][0]
        ]
        for span in payload["documents"]:
            file = f"{domain}/{partition}/{span['document'] // 1000:06d}.jsonl"
            assert payload["sources"][span["source"]] == file
        at = value["position"]
        assert (at["document"], at["offset"]) == where[first + LENGTH]
        assert at["documents"] == at["document"] + 1
        assert at["line"] == at["document"] % 1000 + 1
    last = golden.decode("End", end)
    assert last["sequences"] == len(values)
    assert last["tokens"] == len(stream)
    assert last["documents"] == where[-1][0] + 1
    assert last["record_bytes"] == sum(map(len, sequences))
    assert last["record_bytes_max"] == max(map(len, sequences))
    assert last["sequence_length"] == LENGTH
    assert last["tokenizer"] == golden.hash_bytes(0x00FF00FF00FF00FF)


def test_partitions_and_domains_differ(filled):
    frames = {
        golden.decode("Sequence", filled[domain][k][0])["payload"]["frame"]
        for domain in "ab"
        for k in range(PARTITIONS)
    }
    assert len(frames) == 2 * PARTITIONS


def test_a_topic_that_holds_records_is_refused(filled, bootstrap, tools, unique):
    fill = [tools / "fill", "--bootstrap", bootstrap, "--corpus", unique, "--domain", "a"]
    fill += ["--sequences", "1", "--length", "8"]
    subprocess.run(fill, check=True, timeout=60)
    again = subprocess.run(fill, capture_output=True, text=True, timeout=60)
    assert again.returncode == 1
    assert "holds records" in again.stderr
