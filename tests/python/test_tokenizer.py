"""The tokenizer against tiktoken and tokenizers, through `riffle tokenize`, in bulk.

Two vocabularies serve: OpenAI's, for ids; and for splits one that holds every string in question
as a token, so that each piece is one id and the ids tell where the pieces end.
"""

import base64
import collections
import gzip
import itertools
import json
import os
import pathlib
import random
import subprocess

import pytest
import tiktoken
import tokenizers
import zstandard
from hf_compare import lines_of

from conftest import draws

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

# The patterns as published with the models; tiktoken's own, newer forms give the same tokens.
CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
PATTERNS = {
    "gpt2": r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    "cl100k": CONTRACTIONS
    + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    "o200k": r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
    + CONTRACTIONS
    + r"?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
    + CONTRACTIONS
    + r"?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
}
FILES = {"gpt2": "r50k_base", "cl100k": "cl100k_base", "o200k": "o200k_base"}
FAMILIES = list(PATTERNS)
STRINGS_OF_FOUR = 30_000  # in `make test`; `make test-all` has all of them

# One of each kind that the patterns tell apart, and their neighbours in kind.
REPRESENTATIVES = [
    *"asreASE1 \n\r\t!/'",
    "\u00e9",  # a lower letter
    "\u01c5",  # a title letter
    "\u017f",  # folds to s
    "\u4e2d",  # a letter without case
    "\u0301",  # a mark
    "\u00b2",  # a number
    "\u3000",  # a space
    "\U0001f600",  # nothing of these
]

LANGUAGES = [
    "The quick brown fox can't jump; it's 3,141 miles away, isn't it? \u201cNo,\u201d he said.",
    "Der Gr\u00f6\u00dfte unter ihnen f\u00e4hrt heute \u00fcber 100 km weit, hei\u00dft es.",
    "L\u2019\u00e9t\u00e9 dernier, c\u2019\u00e9tait d\u00e9j\u00e0 fini\u00a0; o\u00f9 es-tu\u00a0?",
    "\u00bfD\u00f3nde est\u00e1 el ni\u00f1o? \u00a1Aqu\u00ed, en la monta\u00f1a!",
    "\u0412\u0441\u0435 \u0441\u0447\u0430\u0441\u0442\u043b\u0438\u0432\u044b\u0435 \u0441\u0435\u043c\u044c\u0438 \u043f\u043e\u0445\u043e\u0436\u0438 \u0434\u0440\u0443\u0433 \u043d\u0430 \u0434\u0440\u0443\u0433\u0430.",
    "\u4e2d\u6587\u7684\u6587\u672c\u6ca1\u6709\u7a7a\u683c\uff0c\u5305\u62ec123\u4e2a\u6570\u5b57\u548cEnglish\u5355\u8bcd\u3002",
    "\u65e5\u672c\u8a9e\u306e\u30c6\u30ad\u30b9\u30c8\u3067\u3059\u3002\u3000\u30ab\u30bf\u30ab\u30ca\u3082\u3042\u308b\uff01",
    "\ud55c\uad6d\uc5b4 \ubb38\uc7a5\uc740 \ub744\uc5b4\uc4f0\uae30\uac00 \uc788\ub2e4.",
    "\u0627\u0644\u0644\u063a\u0629 \u0627\u0644\u0639\u0631\u0628\u064a\u0629 \u062a\u064f\u0643\u0652\u062a\u064e\u0628 \u0661\u0662\u0663\u0664 \u0645\u0646 \u0627\u0644\u064a\u0645\u064a\u0646\u060c \u0623\u0644\u064a\u0633 \u0643\u0630\u0644\u0643\u061f",
    "\u0939\u093f\u0928\u094d\u0926\u0940 \u092e\u0947\u0902 \u0932\u093f\u0916\u093e \u0939\u0941\u0906 \u0935\u093e\u0915\u094d\u092f \u0967\u0968\u0969\u0964",
    "\u05e2\u05d1\u05e8\u05d9\u05ea \u05e2\u05dd \u05e0\u05b4\u05e7\u05bc\u05d5\u05bc\u05d3, \u0395\u03bb\u03bb\u03b7\u03bd\u03b9\u03ba\u03ac, \u0e20\u0e32\u0e29\u0e32\u0e44\u0e17\u0e22, Ti\u1ebfng Vi\u1ec7t",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467 \U0001f1e9\U0001f1ea \u2603\ufe0f e\u0301 \U0001d400\U0001d7d8 \u00bd\u2167 \u01c5 \u2028 \u0085 \ufeff",
]


def ids_in(output):
    """Returns the ids in each line of `riffle tokenize`."""
    return [line["tokens"] for line in json.loads(b"[" + b",".join(output.splitlines()) + b"]")]


class Tokenize:
    """Runs `riffle tokenize` over many documents at once."""

    def __init__(self, program, folder):
        self.program, self.folder = program, folder

    def run(self, *arguments, data=b"", check=True):
        done = subprocess.run(
            [self.program, "tokenize", *map(str, arguments)],
            input=data,
            capture_output=True,
            timeout=600,
        )
        if check and done.returncode != 0:
            raise AssertionError(done.stderr.decode())
        return done

    def ids(self, vocabulary, pattern, documents, *more):
        done = self.run("--tokenizer", vocabulary, "--pattern", pattern, *more, data=lines_of(documents))
        ids = ids_in(done.stdout)
        assert len(ids) == len(documents)
        return ids

    def vocabulary(self, tokens):
        """Writes a .tiktoken file of all bytes and then `tokens`; gives path and ranks."""
        ranks = {bytes([b]): b for b in range(256)}
        for token in tokens:
            ranks.setdefault(token, len(ranks))
        path = self.folder / f"v{len(list(self.folder.iterdir()))}.tiktoken"
        path.write_bytes(
            b"".join(base64.b64encode(t) + b" %d\n" % r for t, r in ranks.items())
        )
        return path, ranks


@pytest.fixture(scope="module")
def tokenize(build, tmp_path_factory):
    program = os.environ.get("RIFFLE_BIN", str(build / "riffle"))
    return Tokenize(program, tmp_path_factory.mktemp("tokenizer"))


@pytest.fixture(scope="module")
def known(vocab):
    """known(family) -> path of OpenAI's file, tiktoken's encoding of it."""
    made = {}

    def open_one(family):
        if family not in made:
            path = vocab / f"{FILES[family]}.tiktoken"
            ranks = {}
            for line in path.read_bytes().splitlines():
                token, rank = line.split()
                ranks[base64.b64decode(token)] = int(rank)
            made[family] = path, encoding(family, ranks)
        return made[family]

    return open_one


def encoding(family, ranks):
    return tiktoken.Encoding(
        family, pat_str=PATTERNS[family], mergeable_ranks=ranks, special_tokens={}
    )


def compare(documents, ours, oracle):
    """All ids equal, or the first document where they are not."""
    texts = [d if isinstance(d, str) else d.decode("utf-8", "replace") for d in documents]
    for text, ids, expected in zip(texts, ours, map(oracle.encode_ordinary, texts)):
        assert ids == expected, (text, [oracle.decode([i]) for i in expected])


def drawing():
    """Random numbers. pytest shows their seed if the test fails."""
    seed = random.randrange(1 << 32)
    print("seed", seed)
    return random.Random(seed)


def representatives(fours):
    """All strings of up to three representatives, and `fours` random ones of four. None means all of four."""
    strings = ["".join(s) for n in range(1, 4) for s in itertools.product(REPRESENTATIVES, repeat=n)]
    if fours is None:
        return strings + ["".join(s) for s in itertools.product(REPRESENTATIVES, repeat=4)]
    rng = drawing()
    return strings + ["".join(rng.choices(REPRESENTATIVES, k=4)) for _ in range(fours)]


@pytest.fixture(scope="module")
def strings(tokenize):
    """The documents of representatives(), with a vocabulary where each is a token: its path and ranks."""
    return with_vocabulary(tokenize, STRINGS_OF_FOUR)


def with_vocabulary(tokenize, fours):
    documents = representatives(fours)
    return documents, *tokenize.vocabulary([d.encode() for d in documents])


@pytest.mark.parametrize("family", FAMILIES)
def test_strings_of_representatives_split_as_tiktoken_splits(tokenize, strings, family):
    documents, path, ranks = strings
    compare(documents, tokenize.ids(path, family, documents), encoding(family, ranks))


@pytest.mark.long("tests/python/test_tokenizer.py::test_strings_of_representatives_split_as_tiktoken_splits")
def test_all_strings_of_four_representatives_split_as_tiktoken_splits(tokenize):
    documents, path, ranks = with_vocabulary(tokenize, None)
    for family in FAMILIES:
        compare(documents, tokenize.ids(path, family, documents), encoding(family, ranks))


@pytest.mark.parametrize("family", FAMILIES)
def test_strings_of_three_representatives_split_as_tokenizers_splits(tokenize, strings, family):
    documents, path, ranks = strings
    documents = [d for d in documents if len(d) <= 3]
    split = tokenizers.pre_tokenizers.Split(tokenizers.Regex(PATTERNS[family]), "isolated")
    for document, ids in zip(documents, tokenize.ids(path, family, documents)):
        pieces = [piece for piece, _ in split.pre_tokenize_str(document)]
        assert ids == [ranks[piece.encode()] for piece in pieces], document


def has_neighbors_like_it(scalar):
    """Whether it is in the middle of many characters of its class: ideographs, Hangul, private use, what is unassigned."""
    return (any(first <= scalar <= last for first, last in [(0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xAC00, 0xD7A3), (0xE000, 0xF8FF)])
            or scalar >= 0x20000 and not 0xE0000 <= scalar < 0xE0200 and scalar % 0x10000 < 0xFFF0)


@pytest.fixture(scope="module")
def scalars(tokenize):
    """Documents of all characters, with a vocabulary for them: its path and ranks. Its tokens across the places where a
    character touches another tell whether a piece ends there."""
    around = [b"a", b"A", b"1", b"!", b" ", b"\n"]
    tokens = [a + bytes([b]) for a in around for b in range(256)]
    tokens += [bytes([b]) + a for a in around for b in range(256)]
    tokens += [bytes([a, b]) for a in range(0x80, 0xC0) for b in range(0xE0, 0xF5)]
    path, ranks = tokenize.vocabulary(tokens)
    scalars = [chr(s) for s in range(0x110000) if not 0xD800 <= s < 0xE000]
    assert len(scalars) == 1112064
    some, others = [], []
    for c in scalars:
        (others if has_neighbors_like_it(ord(c)) else some).append(c)
    documents = ["".join(f"a{c}A{c}1!!{c}! {c}Aa\n" for c in some[at : at + 512]) for at in range(0, len(some), 512)]
    documents += ["".join(f"a{''.join(others[i : i + 16])}\n" for i in range(at, min(at + 4096, len(others)), 16))
                  for at in range(0, len(others), 4096)]
    return documents, path, ranks


@pytest.mark.parametrize("family", FAMILIES)
def test_every_scalar_has_the_class_it_has_for_tiktoken(tokenize, scalars, family):
    documents, path, ranks = scalars
    compare(documents, tokenize.ids(path, family, documents), encoding(family, ranks))


@pytest.mark.parametrize("family", FAMILIES)
def test_random_strings_have_the_ids_of_tiktoken(tokenize, known, family):
    rng = drawing()
    path, oracle = known(family)
    words = ["the", " of", "don't", "I'LL", "  ", "\n\n", "http://", "ing", "X", "\u00a0", "'S"]
    pool = REPRESENTATIVES * 3 + words * 3 + [c for text in LANGUAGES for c in text]
    pool += [chr(rng.choice([rng.randrange(0x20, 0x2FFF), rng.randrange(0x10000, 0x1FFFF)]))
             for _ in range(300)]
    documents = []
    for _ in range(draws(10_000)):
        few = rng.choices(pool, k=rng.randrange(2, 9))
        documents.append("".join(rng.choices(few, k=rng.randrange(1, 24))))
    compare(documents, tokenize.ids(path, family, documents), oracle)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_entry_of_the_vocabulary(tokenize, known, family):
    path, oracle = known(family)
    rng = random.Random(5)
    tokens = [oracle.decode_single_token_bytes(i) for i in range(oracle.max_token_value + 1)]
    documents = tokens + [b"".join(rng.choices(tokens, k=9)) for _ in range(draws(5_000))]
    compare(documents, tokenize.ids(path, family, documents), oracle)


@pytest.mark.parametrize("family", FAMILIES)
def test_invalid_utf8_is_read_as_python_reads_it(tokenize, known, family):
    path, oracle = known(family)
    rng = random.Random(6)
    heads = [0x41, 0x20, 0x80, 0xBF, 0xC0, 0xC2, 0xDF, 0xE0, 0xE1, 0xED, 0xEF, 0xF0, 0xF3, 0xF4, 0xF5, 0xFF]
    tails = [0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC2]
    documents = [bytes([a, b, c]) for a in heads for b in tails + [0x41] for c in tails]
    documents += [rng.randbytes(rng.randrange(100)) for _ in range(draws(5_000))]
    compare(documents, tokenize.ids(path, family, documents), oracle)


PROGRAMS = {".c": "C", ".h": "C", ".py": "Python", ".pm": "Perl", ".rs": "Rust", "": "Bash"}


def real_text():
    """At most draws(15) files of each kind of this project in C, Python, Bash and Rust, Python's and Perl's libraries as they are
    installed, system headers, and sentences in ten languages and more."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True)
    ours = collections.defaultdict(list)
    for name in listed.stdout.splitlines():
        ours[pathlib.Path(name).suffix].append(ROOT / name)
    rng = drawing()
    paths = [path for same in ours.values() for path in rng.sample(same, min(len(same), draws(15)))]
    paths += sorted(pathlib.Path(os.__file__).parent.glob("*.py"))[:draws(10)]
    paths += sorted(pathlib.Path("/usr/include").glob("*.h"))[:draws(10)]
    paths += sorted(pathlib.Path("/usr").glob("lib/*/perl-base/**/*.pm"))[:draws(10)]
    paths = [path for path in paths if path.is_file()]
    assert len({PROGRAMS[path.suffix] for path in paths if path.suffix in PROGRAMS}) >= 5 and len(LANGUAGES) >= 10
    documents = [path.read_bytes() for path in paths]
    assert len(documents) > 100
    for _ in range(draws(50)):
        documents.append("\n".join(rng.choices(LANGUAGES, k=20)))
    return documents


@pytest.mark.parametrize("family", FAMILIES)
def test_real_text_of_many_languages(tokenize, known, family):
    path, oracle = known(family)
    documents = real_text()
    compare(documents, tokenize.ids(path, family, documents), oracle)


@pytest.mark.parametrize("family", FAMILIES)
def test_long_pieces(tokenize, known, family):
    path, oracle = known(family)
    n = 100_000
    documents = ["x" * n, " " * n, "\u4e2d" * n, "ab" * n, "\n" * n, " \n" * n, "'" * n, "1" * n]
    documents += ["x" * k for k in range(1, 200)] + [" " * k + "x" for k in range(1, 200)]
    compare(documents, tokenize.ids(path, family, documents), oracle)


def test_decode_is_the_inverse(tokenize, known):
    path, _ = known("cl100k")
    texts = LANGUAGES + ["", 'quotes " \\ \t\r\n\x01\x1f\x7f', "a" * 1000]
    there = tokenize.run("--tokenizer", path, "--pattern", "cl100k", data=lines_of(texts))
    back = tokenize.run("--tokenizer", path, "--pattern", "cl100k", "--decode", data=there.stdout)
    assert [json.loads(line) for line in back.stdout.splitlines()] == [{"text": t} for t in texts]
    half = tokenize.run(
        "--tokenizer", path, "--pattern", "cl100k", "--decode", data=b'{"tokens": [ 160, 1 ,100257]}'
    )
    assert json.loads(half.stdout) == {"text": '\ufffd"<|endoftext|>'}


@pytest.mark.parametrize(
    "line, why",
    [
        (b'{"tokens": [1, -1]}', "tokens[1] is not an id"),
        (b'{"tokens": [1.0]}', "tokens[0] is not an id"),
        (b'{"tokens": [1e0]}', "tokens[0] is not an id"),
        (b'{"tokens": ["1"]}', "tokens[0] is not an id"),
        (b'{"tokens": [[1]]}', "tokens[0] is not an id"),
        (b'{"tokens": [100256]}', "id 100256 is not in the tokenizer"),
        (b'{"tokens": [99999999999999999999999]}', "tokens[0] is not an id"),
        (b'{"tokens": "1"}', "field `tokens` is not a list of ids"),
        (b'{"text": "1"}', "no field `tokens`"),
    ],
)
def test_decoding_says_what_is_wrong(tokenize, known, line, why):
    path, _ = known("cl100k")
    done = tokenize.run(
        "--tokenizer", path, "--pattern", "cl100k", "--decode", data=line, check=False
    )
    assert done.returncode == 1
    assert f"standard input: line 1: {why}" in done.stderr.decode()


def test_order_does_not_depend_on_threads(tokenize, known, tmp_path):
    path, _ = known("gpt2")
    documents = [f"{i} " * (i % 700) for i in range(4_000)]  # 20 chunks and more
    lines = lines_of(documents)
    (tmp_path / "a.jsonl").write_bytes(lines)
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(lines, 1))
    (tmp_path / "a.jsonl.zst").write_bytes(zstandard.compress(lines, 1))
    outputs = [
        tokenize.run("--tokenizer", path, "--pattern", "gpt2", "--threads", threads, tmp_path / name)
        for threads, name in [(1, "a.jsonl"), (2, "a.jsonl.gz"), (7, "a.jsonl.zst")]
    ]
    assert outputs[0].stdout == outputs[1].stdout == outputs[2].stdout
    assert len(outputs[0].stdout.splitlines()) == len(documents)
    tokens = sum(len(json.loads(line)["tokens"]) for line in outputs[0].stdout.splitlines())
    count = tokenize.run("--tokenizer", path, "--pattern", "gpt2", "--count", tmp_path / "a.jsonl")
    size = sum(map(len, documents))
    assert count.stdout.startswith(
        f"documents={len(documents)} bytes={size} tokens={tokens} seconds=".encode()
    )


def test_a_pattern_that_is_not_that_of_the_file_is_warned_of(tokenize, known):
    path, _ = known("gpt2")
    said = {p: tokenize.run("--tokenizer", path, "--pattern", p, data=lines_of(["a b"])).stderr.decode() for p in ("gpt2", "cl100k")}
    assert said["gpt2"] == ""
    assert "TOKENIZE-PATTERN" in said["cl100k"]
    assert "has 50256 ranks, which go with --pattern gpt2" in said["cl100k"], said


def test_a_bad_line_ends_it_after_the_lines_before(tokenize, known):
    path, _ = known("gpt2")
    good = b'{"doc": {"text": "a"}}\n'
    for bad, why in [
        (b'{"doc": {"text": "a"', "invalid JSON"),
        (b'{"doc": {}}', "there is no field `doc.text`"),
        (b'{"doc": {"text": 1}}', "the field `doc.text` is not a string"),
        (b"hello", "invalid JSON at byte 0: a value is missing; a line must be a JSON object; plain text is taken from a .txt file\n"),
        (b'["a"]', "; a line must be a JSON object; plain text is taken from a .txt file\n"),
    ]:
        done = tokenize.run(
            "--tokenizer", path, "--pattern", "gpt2", "--text", "doc.text", "--threads", 2,
            data=good * 3 + b"\n" + bad + b"\n" + good, check=False,
        )
        assert done.returncode == 1
        assert done.stdout == b'{"tokens":[64]}\n' * 3
        assert "standard input: line 5: " in done.stderr.decode() and why in done.stderr.decode()


def test_a_folder_or_another_file_in_place_of_a_tokenizer_is_named(tokenize, tmp_path):
    for name in ("b.tiktoken", "a.tiktoken", "config.json"):
        (tmp_path / name).write_text("{}")
    rows = tmp_path / "rows.jsonl"

    def said(file, *more):
        done = tokenize.run("--tokenizer", str(file), *more, check=False)
        return done.returncode, done.stderr.decode()
    assert said(tmp_path) == (2, f"riffle tokenize: tokenizer {tmp_path}: is a folder. Give the file in it: {tmp_path}/a.tiktoken or "
                                 f"{tmp_path}/b.tiktoken\n")
    rows.write_text('{"text": "a"}\n{"text": "b"}\n')
    assert said(rows, "--pattern", "gpt2")[1].endswith("behind the object; is it a tokenizer.json? Name the "
                                                       "tokenizer.json or the .tiktoken file of your model\n")
    rows.write_text('{"text": "a"}\n')
    assert "is neither a .tiktoken file nor a tokenizer.json" in said(rows, "--pattern", "gpt2")[1]


@pytest.mark.parametrize(
    "arguments, code, why",
    [
        ([], 2, "give --tokenizer FILE"),
        (["--tokenizer", "/nowhere", "--pattern", "gpt2"], 1, "/nowhere: cannot be opened"),
        (["--tokenizer", "/usr"], 2, "/usr: is a folder, and has neither a tokenizer.json nor a .tiktoken file"),
        (["--tokenizer", "{r50k}"], 2, "name one of: gpt2, cl100k, o200k"),
        (["--tokenizer", "{r50k}", "--pattern", "gpt3"], 2, 'unknown pattern "gpt3"'),
        (["--tokenizer", "{r50k}", "--pattern", "gpt2", "/nowhere.jsonl"], 1, "/nowhere.jsonl"),
        (["--tokenizer", "{r50k}", "--pattern", "gpt2", "--threads", "0"], 2, "--threads"),
    ],
)
def test_wrong_arguments_get_a_sentence(tokenize, known, arguments, code, why):
    path, _ = known("gpt2")
    done = tokenize.run(*[a.replace("{r50k}", str(path)) for a in arguments], check=False)
    assert (done.returncode, done.stdout) == (code, b"")
    assert why in done.stderr.decode()
