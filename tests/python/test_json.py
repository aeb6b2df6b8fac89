"""common/base/json_field.c against Python's json: what is accepted, and what the fields hold.

Python is made as strict as RFC 8259 is: no NaN, no Infinity. A lone surrogate becomes U+FFFD, bytes
that are no UTF-8 go through, and the text must be an object of at most 512 levels.
"""

import json
import random
import struct
import subprocess

import pytest

from conftest import draws

PATHS = ["text", "meta.source", "meta"]
FUZZ_CASES = draws(10_000)
FOREIGN = 0x10F000  # bytes that are no UTF-8 are U+10F080.. while Python has them


class Number(str):
    """What json makes of an integer here: any length, and not a string."""


def refuse(name):
    raise ValueError(name)


def reference(text):
    """What json_field must say of `text`: None for an error, else one entry a path."""
    told_apart = "".join(
        chr(FOREIGN + ord(c) - 0xDC00) if 0xDC80 <= ord(c) <= 0xDCFF else c
        for c in text.decode("utf-8", "surrogateescape")
    )
    try:
        value = json.loads(told_apart, parse_int=Number, parse_constant=refuse)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    return [follow(value, path.split(".")) for path in PATHS]


def follow(value, keys):
    for key in keys:
        if not isinstance(value, dict) or key not in value:
            return ("-", None)
        value = value[key]
    return ("s" if isinstance(value, str) and not isinstance(value, Number) else "o", value)


def to_bytes(value):
    """The UTF-8 of a Python string, with the bytes back that reference() set apart."""
    out = bytearray()
    for c in value:
        if FOREIGN + 0x80 <= ord(c) <= FOREIGN + 0xFF:
            out.append(ord(c) - FOREIGN)
        elif 0xD800 <= ord(c) <= 0xDFFF:
            out += b"\xef\xbf\xbd"
        else:
            out += c.encode()
    return bytes(out)


@pytest.fixture(scope="session")
def json_field(tools):
    """Runs tests/tools/json_field over texts; returns its lines."""

    def run(texts, paths=PATHS):
        packed = b"".join(struct.pack("<I", len(t)) + t for t in texts)
        done = subprocess.run(
            [tools / "json_field", *paths], input=packed, capture_output=True, timeout=120
        )
        assert done.returncode == 0, done.stderr.decode()
        lines = done.stdout.decode().splitlines()
        assert len(lines) == len(texts)
        return lines

    return run


def check(text, line):
    """One line of json_field against the reference."""
    wanted = reference(text)
    if wanted is None or line.startswith("error "):
        assert wanted is None and line.startswith("error "), (text, line, wanted)
        return
    for (kind, value), field in zip(wanted, line.split(" "), strict=True):
        assert field[0] == kind, (text, line, wanted)
        raw = bytes.fromhex(field[1:])
        if kind == "s":
            assert raw == to_bytes(value), (text, line, wanted)
        elif kind == "o":
            again = reference(b'{"text":' + raw + b"}")
            assert again is not None and again[0] == ("o", value), (text, line, wanted)


def in_text(*values):
    return [b'{"text":' + v + b"}" for v in values]


# One list for each part of RFC 8259, valid and invalid mixed: Python says which is which.
NUMBERS = in_text(
    *b"0 -0 1 -1 10 01 -01 00 1. .1 -.1 1.0 1.e1 1e1 1E1 1e+1 1e-1 1e 1e+ 1E- 1e1.5 0e0 0.0e-0".split(),
    *b"+1 ++1 - -- 1-1 0x1 1a 1_0 1,0 Infinity -Infinity NaN nan inf 1e400 -1e-400 0.1.2 -e1 e1".split(),
    b"1" * 5000, b"-" + b"9" * 400, b"0." + b"3" * 400, b"1e99999", b" 1 ", b"1 2", b"\xef\xbc\x91",
)  # fmt: skip
WORDS = in_text(
    *b"true false null True FALSE tru truee nul nulll t f n fals undefined 'a' a".split(),
    b"true false", b"tr ue", b"", b" ", b"\x00", b"true\x00",
)  # fmt: skip
STRINGS = in_text(
    b'""', b'"a"', b'"a', b'a"', b'"', b'"""', b'"\\""', b'"\\"', b'"\\\\"', b'"\\\\\\"', b'"\\/"',
    b'"\\b\\f\\n\\r\\t"', b'"\\a"', b'"\\0"', b'"\\x41"', b'"\\\'"', b'"\\N"', b'"\\\n"', b'"\\ "',
    b'"\\u0041"', b'"\\U0041"', b'"\\u004"', b'"\\u004g"', b'"\\u00 41"', b'"\\u+041"', b'"\\u"',
    b'"\\u0000"', b'"\\uFFFF"', b'"\\ufffe"', b'"\\uD83D\\uDE00"', b'"\\ud83d\\ude00"',
    b'"\\ud83d"', b'"\\ude00"', b'"\\ude00\\ud83d"', b'"\\ud83d\\ud83d\\ude00"', b'"\\ud83dx"',
    b'"\\ud83d\\n"', b'"\\ud83d\\u0041"', b'"\\ud83d\\ue000"', b'"\\ud83d\\u"', b'"\\ud83d\\ude0"', b'"\\ud83d\\"',
    b'"\\ud83d\\ude00\\ude00"', b'"\\udbff\\udfff"', b'"\\ud800\\udc00"', b'"\\ud7ff\\ue000"',
    *[b'"a' + bytes([c]) + b'b"' for c in range(0x20)], b'"\x7f"', b'"\xc2\x80"', b'"\xe2\x80\xa8"',
    *[b'"' + b"x" * n + bytes([c]) + b"y" * m + b'"' for n in range(9) for m in (0, 9) for c in b'\n\x1f "\\\xff'],
    b'"\xff"', b'"\xc3"', b'"\xed\xa0\x80"', b'"\xf4\x90\x80\x80"', b'"\xc0\x80"', b'"\xef\xbb\xbf"',
    b'"' + "é漢😀".encode() * 50 + b'"', b'"a" "b"', b"'a'", b'"a\\', b'"' + b"\\n" * 1000 + b'"',
)  # fmt: skip
STRUCTURES = [
    b"", b" ", b"\n", b"{}", b"[]", b"{} ", b" {}", b"\t\r\n {\t\r\n }\t\r\n ", b"{}\x0c", b"\x0b{}", b"\xa0{}",
    b"\xc2\xa0{}", b"\xef\xbb\xbf{}", b"{}\x00", b"{}}", b"{", b"}", b"{{}}", b"{[]}", b"{]", b"[}", b"{}{}", b"{},",
    b'{"text"}', b'{"text":}', b'{:1}', b'{,}', b'{"a":1,}', b'{,"a":1}', b'{"a":1,,"b":2}', b'{"a":1 "b":2}',
    b'{"a" "b"}', b'{"a"::1}', b'{"a":1:2}', b'{a:1}', b'{1:1}', b'{null:1}', b"{'a':1}", b'{"a":1;"b":2}',
    b'{"a":/**/1}', b'{"a":1}//', b'{"a":1}#', b'[1,2]', b'"a"', b'1', b'true', b'null',
    b'{"text":[1,]}', b'{"text":[,1]}', b'{"text":[1 2]}', b'{"text":[1,,2]}', b'{"text":[}', b'{"text":[]}',
    b'{"text":[[[[]]],{}]}', b'{"text":[{"a":[{}]}]}', b'{"text":{"a":]}}', b'{"text":[1}', b'{"text":{1]}',
    b'{"text":"a","text":"b"}', b'{"text":"a","text":1}', b'{"text":1,"text":"a"}', b'{"":1,"":2}',
    b'{"meta":{"source":"a"},"meta":{}}', b'{"meta":{},"meta":{"source":"a"}}', b'{"meta":{"source":"a"},"meta":1}',
    b'{"meta":{"source":"a","source":{"source":1}}}', b'{"meta":{"meta":{"source":1}}}', b'{"meta":[{"source":1}]}',
    b'{"t\\u0065xt":"a"}', b'{"text":"a","t\\u0065xt":"b"}', b'{"\\ud83dtext":1}', b'{"text\\u0000":1}', b'{"TEXT":1}',
    b'{"meta.source":"a"}', b'{"meta":{"source\\n":1}}', b'{"te\nxt":1}', b'{"\xff":1,"text":"\xff"}',
    *[b'{"text":' + b"[" * n + b"]" * n + b"}" for n in (1, 10, 511)],
    *[b'{"text":' * n + b"1" + b"}" * n for n in (1, 10, 512)],
    *[b'{"meta":' + b'{"source":' * n + b'"x"' + b"}" * n + b"}" for n in (1, 2, 511)],
]  # fmt: skip


@pytest.mark.parametrize(
    "texts", [NUMBERS, WORDS, STRINGS, STRUCTURES], ids=["numbers", "words", "strings", "structures"]
)
def test_every_edge_of_rfc_8259_is_as_in_python(json_field, texts):
    assert len(texts) > 10
    for text, line in zip(texts, json_field(texts), strict=True):
        check(text, line)


def test_more_than_512_levels_are_refused_and_python_takes_them(json_field):
    texts = [b'{"text":' + b"[" * 512 + b"]" * 512 + b"}", b'{"text":' * 513 + b"1" + b"}" * 513]
    for text, line in zip(texts, json_field(texts), strict=True):
        assert reference(text) is not None
        assert line.startswith("error invalid JSON at byte ") and "nested" in line


def random_string(rng):
    parts = [
        "text", "meta", "source", "a" * rng.randrange(20), "\n", '"', "\\", "\t", "\x1f", "é", "漢", "😀", "\ud83d",
        "\ude00", "/", "\x7f", "\u2028", "\x00",
    ]  # fmt: skip
    return "".join(rng.choice(parts) for _ in range(rng.randrange(5)))


def random_value(rng, depth=0):
    kind = rng.randrange(10 if depth < 4 else 6)
    if kind < 3:
        return random_string(rng)
    if kind < 6:
        return rng.choice([0, -1, 1.5, 1e30, True, False, None, 12345678901234567890])
    if kind < 8:
        return [random_value(rng, depth + 1) for _ in range(rng.randrange(4))]
    keys = ["text", "meta", "source", random_string(rng)]
    return {rng.choice(keys): random_value(rng, depth + 1) for _ in range(rng.randrange(5))}


def random_text(rng):
    value = {"text": random_value(rng), "meta": random_value(rng), random_string(rng): random_value(rng)}
    items = list(value.items())
    rng.shuffle(items)
    text = json.dumps(
        dict(items),
        ensure_ascii=rng.random() < 0.5,
        indent=rng.choice([None, None, 1]),
        separators=rng.choice([None, (",", ":"), (" ,\t", " :\r\n")]),
    )
    return text.encode("utf-8", "surrogatepass")


def mutate(rng, text):
    """Changes a few bytes, most of them to what means something in JSON."""
    out = bytearray(text)
    for _ in range(rng.choice([0, 1, 1, 2, 4])):
        at = rng.randrange(len(out) + 1)
        kind = rng.randrange(5)
        some = rng.choice(b'{}[]:,"\\ \n\t0123456789-+.eEtfnu/\x00\x1f\xff\xc3\xa9')
        if kind == 0:
            out[at : at + 1] = bytes([some])
        elif kind == 1:
            out[at:at] = bytes([some])
        elif kind == 2:
            del out[at : at + rng.choice([1, 1, 1, 5])]
        elif kind == 3:
            start = rng.randrange(len(out) + 1)
            out[at:at] = out[start : start + rng.randrange(12)]
        else:
            del out[at:]
    return bytes(out)


def test_random_texts_and_their_mutations_are_as_in_python(json_field):
    seed = random.SystemRandom().randrange(2**32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    texts = [mutate(rng, random_text(rng)) for _ in range(FUZZ_CASES)]
    lines = json_field(texts)
    for text, line in zip(texts, lines, strict=True):
        check(text, line)
    refused = sum(line.startswith("error ") for line in lines)
    assert FUZZ_CASES / 10 < refused < FUZZ_CASES * 9 / 10  # both sides are tried
