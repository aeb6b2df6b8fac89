"""Our records against two other implementations of Avro: bytes, values and fingerprints."""

import json
import pathlib
import random
import subprocess
import sys

import fastavro.schema
import pytest

from conftest import draws

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import golden_values as golden

RECORDS_A_KIND = draws(40)


@pytest.fixture(scope="session")
def records(tools):
    """Runs tests/tools/records, as built; returns the lines of its stdout."""
    program = tools / "records"

    def run(command, lines=()):
        text = "".join(line + "\n" for line in lines)
        done = subprocess.run(
            [program, command], input=text, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    return run


@pytest.fixture
def rng(request):
    seed = random.SystemRandom().randrange(2**32)
    print(f"seed {seed}")
    return random.Random(seed)


def test_fingerprints_are_those_of_fastavro(records):
    # Not of the package avro: 1.12 spells a named type out each time it occurs, where the
    # specification (and Java) has the full definition once and then the name.
    ours = dict(line.split("\t") for line in records("fingerprints"))
    assert sorted(ours) == sorted(golden.NAMES)
    earlier = {name: f"{golden.fingerprints()[name]:016x}" for name in golden.EARLIER}
    for name, digits in {**ours, **earlier}.items():
        form = fastavro.schema.to_parsing_canonical_form(json.loads(golden.schema_text(name)))
        theirs = bytes.fromhex(fastavro.schema.fingerprint(form, "CRC-64-AVRO"))
        assert int(digits, 16) == int.from_bytes(theirs, "little"), name
        assert int(digits, 16) == golden.fingerprints()[name], name


@pytest.mark.parametrize("stem", golden.GOLDEN)
def test_golden_bytes_are_what_avro_writes(stem):
    assert golden.read_hex(stem) == golden.encode(*golden.GOLDEN[stem])


@pytest.mark.parametrize("stem", golden.GOLDEN)
def test_golden_bytes_have_the_values_that_avro_reads(stem):
    name, value = golden.GOLDEN[stem]
    assert golden.decode(name, golden.read_hex(stem)) == value


# ---- random values, within what riffle allows ----


def text(rng, most=12):
    return "".join(rng.choice("ab/._-\u00e9\u4e2d\U0001f600") for _ in range(rng.randrange(most)))


def count(rng):
    return rng.choice([0, 1, 63, 64, 2**31, 2**63 - 1, rng.randrange(2 ** rng.randrange(1, 64))])


def signed(rng):
    return rng.choice([-(2**63), 2**63 - 1, count(rng), -count(rng)])


def int32(rng, least=0):
    return rng.choice([least, 2**31 - 1, rng.randrange(least, 2 ** rng.randrange(8, 32))])


def eight(rng):
    return rng.randbytes(8)


def real(rng):
    return rng.choice([0.0, 1.0, -0.5, rng.random(), rng.random() * 1e300])


def some(rng, make, most=5):
    return [make() for _ in range(rng.randrange(most))]


def payload(rng):
    tokens = rng.randrange(1, 3000)
    used = rng.randrange(tokens + 1)
    sources = some(rng, lambda: text(rng), min(4, tokens))
    starts = sorted({0, *(rng.randrange(max(used, 1)) for _ in range(rng.randrange(40)))})
    edges = sorted(rng.sample(range(tokens + 1), 2 * rng.randrange(min(5, tokens // 2 + 1))))
    return {
        "count": tokens,
        "width": rng.choice([2, 3]),
        "used": used,
        "frame_hash": eight(rng),
        "sources": sources,
        "documents": [
            {
                "start": start,
                "source": rng.randrange(len(sources)),
                "document": count(rng),
                "offset": count(rng),
                "keep": rng.randbytes(rng.choice([0, 0, 0, 1, 100])),
            }
            for start in (starts if sources and used > 0 else [])
        ],
        "no_loss": [{"start": a, "end": b} for a, b in zip(edges[::2], edges[1::2])],
        "frame": rng.randbytes(rng.choice([0, 1, 63, 64, 3000])),
    }


def sequence(rng):
    return {
        "ordinal": count(rng),
        "tokenizer": eight(rng),
        "position": {
            "file": text(rng),
            "sealed": rng.choice([-1, count(rng)]),
            "packing": rng.randrange(3),
            **{
                name: count(rng)
                for name in (
                    "document",
                    "byte",
                    "line",
                    "offset",
                    "documents",
                    "rejects",
                    "record_bytes",
                    "record_bytes_max",
                    "tokens",
                    "dropped",
                    "window",
                )
            },
        },
        "payload": payload(rng),
    }


def end(rng):
    return {
        **{
            name: count(rng)
            for name in (
                "sequences",
                "tokens",
                "dropped",
                "documents",
                "rejects",
                "record_bytes",
                "record_bytes_max",
            )
        },
        "sequence_length": rng.randrange(1, 2**20 + 1),
        "packing": rng.randrange(3),
        "tokenizer": eight(rng),
        "input": {
            "names": eight(rng),
            "file": text(rng),
            **{name: count(rng) for name in ("records", "files", "byte", "line")},
        },
    }


def batch(rng):
    lanes, each, last = rng.randrange(1, 4097), rng.randrange(1, 6), rng.random() < 0.2
    indices = sorted(rng.sample(range(5000), rng.randrange(each + 1)))
    return {
        "mix": text(rng),
        "schedule": eight(rng),
        "step": count(rng),
        "lane": rng.randrange(lanes),
        "lanes": lanes,
        "global_batch": lanes * each,
        "version": count(rng),
        "phase": text(rng),
        "lr_scale": abs(real(rng)),
        "lead": count(rng),
        "tokenizer": eight(rng),
        "last": last,
        "domains": [{"index": index, "name": text(rng)} for index in indices],
        "sequences": [
            {
                "domain": int32(rng),
                "partition": int32(rng),
                "ordinal": count(rng),
                "epoch": count(rng),
                "payload": payload(rng),
            }
            for _ in range(0 if last else each)
        ],
    }


def raw_weight(rng):
    return {"domain": text(rng), "weight": real(rng)}


def change(rng):
    return {
        "id": text(rng),
        "kind": rng.choice(["WEIGHTS", "SKIP", "JOIN", "LEAVE", "RESET", "CANCEL", "UNDO"]),
        "weights": some(rng, lambda: raw_weight(rng)),
        "temperature": real(rng),
        "lr_scale": real(rng),
        "global_batch": int32(rng),
        "domain": text(rng),
        "partition": int32(rng, -1),
        "first": count(rng),
        "end": count(rng),
        "who": text(rng),
    }


def ledger_domain(rng):
    return {
        "name": text(rng),
        "index": int32(rng),
        "state": rng.choice(["ACTIVE", "DROPPED", "LEFT", "JOINING"]),
        "weight": signed(rng),
        "raw_weight": real(rng),
        "credit": signed(rng),
        "base_weight": real(rng),
        "joined": rng.random() < 0.5,
        "live": rng.random() < 0.5,
        **{
            name: count(rng)
            for name in (
                "round_weight",
                "greedy_count",
                "taken",
                "tokens",
                "epoch",
                "position",
                "owed",
                "repay",
            )
        },
        "partitions": some(
            rng,
            lambda: {
                "sequences": count(rng),
                "sealed": rng.random() < 0.5,
                "sequences_next": count(rng),
                "taken": count(rng),
            },
        ),
    }


def ledger(rng):
    where = lambda: {"domain": int32(rng), "partition": int32(rng)}
    return {
        "kind": rng.choice(["START", "STEPS", "END"]),
        "reason": rng.choice(["CONFIG", "PHASE", "REQUEST"]),
        **{name: text(rng) for name in ("mix", "reason_id", "phase")},
        "config": text(rng, 3000),
        **{name: eight(rng) for name in ("mixer", "schedule", "tokenizer", "choices", "base")},
        **{
            name: count(rng)
            for name in (
                "step_first",
                "step_next",
                "draws",
                "version",
                "version_step",
                "greedy_draws",
                "epoch_size",
                "round",
                "round_draws",
                "control_next",
            )
        },
        "lr_scale": real(rng),
        "temperature": real(rng),
        "global_batch": int32(rng),
        "domains": some(rng, lambda: ledger_domain(rng), 30),
        "pending": some(rng, lambda: {"step": count(rng), **change(rng)}),
        "skips": some(rng, lambda: {**where(), "first": count(rng), "end": count(rng)}, 40),
        "quarantined": some(
            rng, lambda: {**where(), "ordinal": count(rng), "reason": text(rng)}
        ),
        "request_ids": some(rng, lambda: text(rng), 100),
        "answers": some(
            rng,
            lambda: {
                "id": text(rng),
                "accepted": rng.random() < 0.5,
                "step": rng.choice([-1, count(rng)]),
                "text": text(rng, 200),
            },
        ),
        "runs": some(rng, lambda: {"name": text(rng), "step": count(rng)}),
    }


def control(rng):
    kind = rng.choice(["WEIGHTS", "SKIP", "JOIN", "LEAVE", "RESET", "CANCEL", "UNDO"])
    return {"at_step": rng.choice([-1, count(rng)]), **change(rng), "kind": kind, "run": text(rng), "to_step": count(rng),
            "request": text(rng)}


def feedback(rng):
    return {
        "mix": text(rng),
        "run": text(rng),
        "step": count(rng),
        "rank": int32(rng),
        "world": int32(rng, 1),
        "losses": some(
            rng,
            lambda: {
                "domain": text(rng),
                "loss_sum": real(rng),
                "excess_sum": real(rng),
                "tokens": count(rng),
            },
            100,
        ),
    }


def portion(rng):
    byte = count(rng)
    return {
        "file": text(rng),
        "whole": rng.random() < 0.5,
        "byte": byte,
        "end": rng.choice([byte, 2**63 - 1]),
        "line": count(rng),
        "hash": eight(rng),
    }


def arrivals(rng):
    return {
        "input": text(rng),
        "writer": eight(rng),
        "takes_over": rng.random() < 0.5,
        "first": count(rng),
        "portions": some(rng, lambda: portion(rng), 100),
    }


MAKERS = {
    "Sequence": sequence,
    "End": end,
    "Batch": batch,
    "Ledger": ledger,
    "Control": control,
    "Feedback": feedback,
    "Arrivals": arrivals,
}


@pytest.mark.parametrize("name", golden.NAMES)
def test_what_avro_writes_we_read_and_what_we_write_avro_reads(records, rng, name):
    values = [MAKERS[name](rng) for _ in range(RECORDS_A_KIND)]
    encoded = [golden.encode(name, value) for value in values]
    recoded = records("recode", [record.hex() for record in encoded])
    assert len(recoded) == len(values)
    for value, record, line in zip(values, encoded, recoded):
        assert not line.startswith("error"), (line, value)
        assert golden.decode(name, bytes.fromhex(line)) == value
        assert bytes.fromhex(line) == record


def without_batch(value):
    return {name: v for name, v in value.items() if name != "global_batch"}


def earlier_change(rng):
    return without_batch({**change(rng), "kind": rng.choice(["WEIGHTS", "SKIP", "JOIN", "LEAVE"])})


@pytest.mark.parametrize("schema", ["Ledger.1", "Ledger.2"])
def test_a_ledger_of_an_earlier_schema_is_read_and_written_as_the_one_of_now(records, rng, schema):
    values = [{**without_batch(ledger(rng)), "pending": some(rng, lambda: {"step": count(rng), **earlier_change(rng)})}
              for _ in range(RECORDS_A_KIND)]
    recoded = records("recode", [golden.encode(schema, value).hex() for value in values])
    now = [{**value, "global_batch": 0, "pending": [{**p, "global_batch": 0} for p in value["pending"]]} for value in values]
    assert [golden.decode("Ledger", bytes.fromhex(line)) for line in recoded] == now


@pytest.mark.parametrize("schema", ["Control.1", "Control.4"])
def test_what_an_earlier_schema_wrote_we_read_and_write_as_the_one_of_now(records, rng, schema):
    more = {"run": "", "to_step": 0, "request": ""}
    values = [{"at_step": -1, **earlier_change(rng), **(more if schema == "Control.4" else {})} for _ in range(RECORDS_A_KIND)]
    recoded = records("recode", [golden.encode(schema, value).hex() for value in values])
    assert len(recoded) == len(values)
    for value, line in zip(values, recoded):
        assert golden.decode("Control", bytes.fromhex(line)) == {**value, **more, "global_batch": 0}


@pytest.mark.parametrize("name", golden.NAMES)
def test_a_schema_that_we_do_not_know_is_named_by_its_fingerprint(records, name):
    stem = {schema: stem for stem, (schema, _) in golden.GOLDEN.items()}[name]
    record = bytearray(golden.read_hex(stem))
    record[9] ^= 0x80
    fingerprint = int.from_bytes(record[2:10], "little")
    (line,) = records("recode", [record.hex()])
    assert line.startswith(f"error: has the schema fingerprint {fingerprint:016x}")
