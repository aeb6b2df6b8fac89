"""The values behind tests/vectors/*.hex, as the Avro library for Python takes them.

The unit tests of the C side hold the same values (tests/unit/common/record/test_sequence.c and its neighbours)
and compare both directions with the same files. `python golden_values.py` writes the files again.
"""

import io
import pathlib

import avro.io
import avro.schema

ROOT = pathlib.Path(__file__).resolve().parents[2]
VECTORS = ROOT / "tests" / "vectors"

NAMES = ["Sequence", "End", "Batch", "Ledger", "Control", "Feedback", "Arrivals"]
EARLIER = ["Control.1", "Control.2", "Control.3", "Control.4", "Ledger.1", "Ledger.2"]  # schemas/earlier


def schema_text(name):
    return (ROOT / "schemas" / ("earlier" if name in EARLIER else "") / f"{name}.avsc").read_text()


def fingerprints():
    """Name -> CRC-64-AVRO, as Avro for Java computed it."""
    lines = (VECTORS / "fingerprints.tsv").read_text().splitlines()
    rows = [line.split("\t") for line in lines if not line.startswith("#")]
    return {name: int(digits, 16) for name, digits in rows}


def envelope(name):
    return b"\xc3\x01" + fingerprints()[name].to_bytes(8, "little")


def encode(name, value):
    out = io.BytesIO()
    schema = avro.schema.parse(schema_text(name))
    avro.io.DatumWriter(schema).write(value, avro.io.BinaryEncoder(out))
    return envelope(name) + out.getvalue()


def decode(name, record):
    if record[:10] != envelope(name):
        raise ValueError(f"not a {name}: starts with {record[:10].hex()}")
    body = io.BytesIO(record[10:])
    schema = avro.schema.parse(schema_text(name))
    value = avro.io.DatumReader(schema).read(avro.io.BinaryDecoder(body))
    if body.read(1):
        raise ValueError(f"{name}: trailing bytes")
    return value


def hash_bytes(number):
    return number.to_bytes(8, "little")


PAYLOAD = {
    "count": 9,
    "width": 2,
    "used": 8,
    "frame_hash": hash_bytes(0x0123456789ABCDEF),
    "sources": ["data/a.jsonl", "b.txt"],
    "documents": [
        {"start": 0, "source": 0, "document": 41, "offset": 130, "keep": b""},
        {"start": 3, "source": 0, "document": 42, "offset": 0, "keep": b"{}"},
        {"start": 7, "source": 1, "document": 2**40, "offset": 0, "keep": b""},
    ],
    "no_loss": [{"start": 1, "end": 2}, {"start": 8, "end": 9}],
    "frame": bytes(range(200, 220)),
}

PLAIN_PAYLOAD = {
    "count": 1,
    "width": 3,
    "used": 0,
    "frame_hash": hash_bytes(0),
    "sources": [],
    "documents": [],
    "no_loss": [],
    "frame": b"",
}

SEQUENCE = {
    "ordinal": 300,
    "tokenizer": hash_bytes(0xFEDCBA9876543210),
    "position": {
        "document": 2**40,
        "file": "b.txt",
        "byte": 2**63 - 1,
        "line": 1,
        "offset": 0,
        "documents": 43,
        "rejects": 5,
        "record_bytes": 39000,
        "record_bytes_max": 170,
        "tokens": 2400,
        "dropped": 3,
        "sealed": -1,
        "packing": 2,
        "window": 70,
    },
    "payload": PAYLOAD,
}

END = {
    "sequences": 301,
    "tokens": 2408,
    "dropped": 7,
    "documents": 43,
    "rejects": 5,
    "sequence_length": 8,
    "tokenizer": hash_bytes(0xFEDCBA9876543210),
    "record_bytes": 40000,
    "record_bytes_max": 170,
    "packing": 1,
    "input": {
        "records": 50,
        "files": 2,
        "names": hash_bytes(0x0F1E2D3C4B5A6978),
        "file": "b.txt",
        "byte": 2**40,
        "line": 7,
    },
}

BATCH = {
    "mix": "pretrain",
    "schedule": hash_bytes(0x1122334455667788),
    "step": 100000,
    "lane": 3,
    "lanes": 4,
    "global_batch": 8,
    "version": 2,
    "phase": "anneal",
    "lr_scale": 0.25,
    "lead": 64,
    "tokenizer": hash_bytes(0xFEDCBA9876543210),
    "last": False,
    "domains": [{"index": 0, "name": "code"}, {"index": 200, "name": "web"}],
    "sequences": [
        {"domain": 200, "partition": 1, "ordinal": 300, "epoch": 0, "payload": PAYLOAD},
        {"domain": 0, "partition": 0, "ordinal": 2**40, "epoch": 3, "payload": PLAIN_PAYLOAD},
    ],
}

BATCH_LAST = dict(BATCH, step=100001, phase="", lr_scale=1.0, last=True, domains=[], sequences=[])

LEDGER = {
    "kind": "STEPS",
    "mix": "pretrain",
    "mixer": hash_bytes(0xA1A2A3A4A5A6A7A8),
    "schedule": hash_bytes(0x1122334455667788),
    "config": '{"fixed": {}, "changeable": {}}',
    "tokenizer": hash_bytes(0xFEDCBA9876543210),
    "step_first": 96,
    "step_next": 100,
    "draws": 6400,
    "choices": hash_bytes(0x5566),
    "version": 2,
    "version_step": 50,
    "reason": "REQUEST",
    "reason_id": "r-1",
    "phase": "warm",
    "lr_scale": 0.5,
    "temperature": 2.0,
    "greedy_draws": 11,
    "base": hash_bytes(0x0102030405060708),
    "epoch_size": 1000,
    "round": 12,
    "round_draws": 13,
    "domains": [
        {
            "name": "code",
            "index": 0,
            "state": "ACTIVE",
            "weight": 2**32 - 1,
            "round_weight": 77,
            "raw_weight": 0.3,
            "base_weight": 0.25,
            "joined": False,
            "live": True,
            "credit": -(2**32),
            "greedy_count": 1,
            "taken": 3000,
            "tokens": 24000,
            "epoch": 9,
            "position": 14,
            "owed": 3,
            "repay": 2**32 - 1,
            "partitions": [
                {"sequences": 301, "sealed": True, "sequences_next": 302, "taken": 7},
                {"sequences": 12, "sealed": False, "sequences_next": 12, "taken": 8},
            ],
        },
        {
            "name": "web",
            "index": 5,
            "state": "LEFT",
            "weight": -(2**63),
            "round_weight": 0,
            "raw_weight": 0.7,
            "base_weight": 0.75,
            "joined": True,
            "live": False,
            "credit": 2**32,
            "greedy_count": 0,
            "taken": 3400,
            "tokens": 27200,
            "epoch": 0,
            "position": 3400,
            "owed": 2,
            "repay": 0,
            "partitions": [],
        },
    ],
    "pending": [
        {
            "id": "r-2",
            "step": 164,
            "kind": "LEAVE",
            "weights": [{"domain": "code", "weight": 0.25}],
            "temperature": 1.5,
            "lr_scale": 0.125,
            "domain": "web",
            "partition": 2,
            "first": 17,
            "end": 19,
            "who": "user@host",
        }
    ],
    "skips": [{"domain": 5, "partition": 1, "first": 10, "end": 20}],
    "quarantined": [{"domain": 0, "partition": 0, "ordinal": 77, "reason": "bad hash"}],
    "control_next": 4,
    "request_ids": ["r-1", "r-2"],
    "answers": [
        {"id": "r-2", "accepted": True, "step": 164, "text": "web leaves"},
        {"id": "r-3", "accepted": False, "step": -1, "text": "no such domain: \u00e9"},
    ],
    "runs": [{"name": "trainers", "step": 36}],
}

CONTROL = {
    "id": "r-9",
    "kind": "SKIP",
    "at_step": -1,
    "weights": [{"domain": "code", "weight": 0.25}, {"domain": "web", "weight": 0.75}],
    "temperature": 1.5,
    "lr_scale": 0.5,
    "domain": "web",
    "partition": 1,
    "first": 100,
    "end": 200,
    "who": "user@host",
}

RESET = {
    "id": "r-10",
    "kind": "RESET",
    "at_step": -1,
    "weights": [],
    "temperature": 0.0,
    "lr_scale": 0.0,
    "domain": "",
    "partition": -1,
    "first": 0,
    "end": 0,
    "who": "user@host",
    "run": "trainers",
    "to_step": 12000,
}

CANCEL = {
    **RESET,
    "id": "r-11",
    "kind": "CANCEL",
    "run": "",
    "to_step": 0,
    "request": "r-9",
}

UNDO = {**CONTROL, "id": "r-12", "kind": "UNDO", "weights": [], "temperature": 0.0, "lr_scale": 0.0, "run": "", "to_step": 0,
        "request": ""}

LEDGER_UNDO = {**LEDGER, "pending": [{**LEDGER["pending"][0], "kind": "UNDO"}]}

CONTROL_BATCH = {**UNDO, "id": "r-13", "kind": "WEIGHTS", "domain": "", "partition": -1, "first": 0, "end": 0, "global_batch": 256}

LEDGER_BATCH = {**LEDGER_UNDO, "global_batch": 64, "pending": [{**LEDGER_UNDO["pending"][0], "global_batch": 128}]}

FEEDBACK = {
    "mix": "pretrain",
    "run": "trainers",
    "step": 99,
    "rank": 1,
    "world": 2,
    "losses": [
        {"domain": "code", "loss_sum": 12.5, "excess_sum": 0.5, "tokens": 16},
        {"domain": "web", "loss_sum": 25.0, "excess_sum": 0.0, "tokens": 8},
    ],
}

ARRIVALS = {
    "input": "news.valid/1/4",
    "writer": hash_bytes(0xA1A2A3A4A5A6A7A8),
    "takes_over": True,
    "first": 300,
    "portions": [
        {"file": "a.jsonl", "whole": False, "byte": 2**40, "end": 2**40 + 70, "line": 9, "hash": hash_bytes(0x0123)},
        {"file": "\u00e9/b.txt.gz", "whole": True, "byte": 0, "end": 0, "line": 1, "hash": hash_bytes(2**64 - 1)},
    ],
}

# File name without .hex -> (schema, value).
GOLDEN = {
    "sequence": ("Sequence", SEQUENCE),
    "end": ("End", END),
    "batch": ("Batch", BATCH),
    "batch_last": ("Batch", BATCH_LAST),
    "ledger": ("Ledger.1", LEDGER),
    "ledger_undo": ("Ledger.2", LEDGER_UNDO),
    "ledger_batch": ("Ledger", LEDGER_BATCH),
    "control": ("Control.1", CONTROL),
    "control_reset": ("Control.2", RESET),
    "control_cancel": ("Control.3", CANCEL),
    "control_undo": ("Control.4", UNDO),
    "control_batch": ("Control", CONTROL_BATCH),
    "feedback": ("Feedback", FEEDBACK),
    "arrivals": ("Arrivals", ARRIVALS),
}


def read_hex(stem):
    return bytes.fromhex((VECTORS / f"{stem}.hex").read_text())


def write_all():
    for stem, (name, value) in GOLDEN.items():
        digits = encode(name, value).hex()
        lines = [digits[i : i + 96] for i in range(0, len(digits), 96)]
        (VECTORS / f"{stem}.hex").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    write_all()
