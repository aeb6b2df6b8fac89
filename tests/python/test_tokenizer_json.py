"""tokenizer.json against its own library, PyPI's tokenizers, through `riffle tokenize`, in bulk."""

import copy
import functools
import itertools
import json
import os
import pathlib
import random
import subprocess
import unicodedata

import hf_files as hf
import pytest
import tokenizers
from hf_compare import lines_of
from test_tokenizer import LANGUAGES, REPRESENTATIVES, drawing, encoding, ids_in, real_text, representatives

from conftest import draws

# How many `make test` draws. `make test-all` has 100,000 of the first and all of the others.
RANDOM_TEXTS = 8_000
ENTRIES = 15_000
STRINGS_OF_FOUR = 10_000
FILES = {"gpt2": "r50k_base", "cl100k": "cl100k_base", "o200k": "o200k_base"}
SCALARS = [chr(s) for s in range(0x110000) if not 0xD800 <= s < 0xE000]
# Without the planes where nothing is, but their first characters.
ASSIGNED = [c for c in SCALARS if c < "\U00032000" or "\U000e0000" <= c < "\U000e0200"
            or ord(c) % 0x10000 < 16]
BYTE_TOKENS = [f"<0x{b:02X}>" for b in range(256)]


class Pair:
    """The same file in riffle and in tokenizers."""

    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        self.numbers = itertools.count()
        self.oracle_of = functools.cache(lambda path: tokenizers.Tokenizer.from_file(str(path)))

    def write(self, content):
        path = self.folder / f"t{next(self.numbers)}.json"
        path.write_text(json.dumps(content, ensure_ascii=False))
        return path

    def run(self, path, *arguments, data=b"", check=True):
        done = subprocess.run(
            [self.program, "tokenize", "--tokenizer", path, *map(str, arguments)],
            input=data, capture_output=True, timeout=600,
        )
        if check and done.returncode != 0:
            raise AssertionError(done.stderr.decode())
        return done

    def ids(self, path, texts, *more):
        ids = ids_in(self.run(path, *more, data=lines_of(texts)).stdout)
        assert len(ids) == len(texts)
        return ids

    def decoded(self, path, ids):
        data = "\n".join(json.dumps({"tokens": one}) for one in ids).encode() + b"\n"
        lines = self.run(path, "--decode", data=data).stdout.splitlines()
        return [json.loads(line)["text"] for line in lines]

    def same(self, content, texts, special=False, as_text=False):
        """All ids are those of tokenizers; gives path, oracle and ids. The oracle of a path is kept for the next call."""
        if isinstance(content, pathlib.Path):
            path, oracle = content, self.oracle_of(content)
        else:
            path = self.write(content)
            oracle = tokenizers.Tokenizer.from_file(str(path))
        oracle.encode_special_tokens = as_text
        options = ["--add-special"] * special + ["--special-as-text"] * as_text
        ours = self.ids(path, texts, *options)
        encodings = oracle.encode_batch_fast(texts, add_special_tokens=special)
        for text, ids, encoding in zip(texts, ours, encodings):
            assert ids == encoding.ids, (text, [oracle.id_to_token(i) for i in encoding.ids])
        return path, oracle, ours


@pytest.fixture(scope="module")
def pair(build, tmp_path_factory):
    program = os.environ.get("RIFFLE_BIN", str(build / "riffle"))
    return Pair(program, tmp_path_factory.mktemp("tokenizer_json"))


@pytest.fixture(scope="module")
def learned():
    """Text to learn from: many languages, and code."""
    code = sorted(pathlib.Path(os.__file__).parent.glob("*.py"))[:5]
    return LANGUAGES * 8 + [path.read_text() for path in code]


@pytest.fixture(scope="module")
def known(vocab):
    """known(family) -> path of OpenAI's vocabulary as a tokenizer.json, and its ranks."""

    @functools.cache
    def open_one(family):
        path = vocab / f"{FILES[family]}.tiktoken"
        return hf.write_file_of_ranks(path, family), hf.read_ranks(path)

    return open_one


def content_of(path, **changes):
    """Returns what the file has, with other values for some keys."""
    return json.loads(path.read_text()) | changes


def random_texts(count):
    rng = drawing()
    words = ["the", " of", "don't", "I'LL", "  ", "\n\n", "http://", "ing", "X", "\u00a0", "'S",
             "<s>", "</s>", hf.MARK, "12", "e\u0301\u0323", "\u1100\u1161\u11a8", "\u0958", "\u212b"]
    pool = REPRESENTATIVES * 3 + words * 3 + [c for text in LANGUAGES for c in text]
    pool += [chr(rng.choice([rng.randrange(0x20, 0x2FFF), rng.randrange(0x10000, 0x1FFFF)]))
             for _ in range(300)]
    texts = []
    for _ in range(count):
        few = rng.choices(pool, k=rng.randrange(2, 9))
        texts.append("".join(rng.choices(few, k=rng.randrange(1, 24))))
    return texts


def real():
    """Real text of many languages and of code, in parts that tokenizers gets through in time."""
    texts = [t if isinstance(t, str) else t.decode("utf-8", "replace") for t in real_text()]
    return [t[:1_000] for t in texts]


# ---------------------------------------------------------------- OpenAI's vocabularies


def compare_random(pair, known, family, count):
    path, ranks = known(family)
    texts = random_texts(count)
    _, _, ours = pair.same(path, texts)
    oracle = encoding(family, ranks)
    for text, ids in zip(texts[::10], ours[::10]):
        assert ids == oracle.encode_ordinary(text), text


@pytest.mark.parametrize("family", FILES)
def test_random_strings_have_the_ids_of_tokenizers_and_tiktoken(pair, known, family):
    compare_random(pair, known, family, RANDOM_TEXTS)


@pytest.mark.long("tests/python/test_tokenizer_json.py::test_random_strings_have_the_ids_of_tokenizers_and_tiktoken")
def test_many_more_random_strings_have_the_ids_of_tokenizers_and_tiktoken(pair, known):
    for family in FILES:
        compare_random(pair, known, family, 100_000)


def compare_entries(pair, known, family, count):
    """Compares `count` random entries. None means all of them."""
    path, ranks = known(family)
    rng = drawing()
    tokens = rng.sample(list(ranks), count or len(ranks))
    texts = [t.decode("utf-8", "replace") for t in tokens]
    texts += [b"".join(rng.choices(tokens, k=9)).decode("utf-8", "replace") for _ in range(draws(2_000))]
    pair.same(path, texts + real())


@pytest.mark.parametrize("family", FILES)
def test_entries_of_the_vocabulary_and_real_text(pair, known, family):
    compare_entries(pair, known, family, ENTRIES)


@pytest.mark.long("tests/python/test_tokenizer_json.py::test_entries_of_the_vocabulary_and_real_text")
def test_every_entry_of_the_vocabularies_and_real_text(pair, known):
    for family in FILES:
        compare_entries(pair, known, family, None)


def test_qwen2_is_cl100k_with_single_digits_and_nfc(pair, known):
    path, _ = known("cl100k")
    content = content_of(path, pre_tokenizer=hf.family_splitter("qwen2"), normalizer={"type": "NFC"},
                         added_tokens=[hf.added("<|endoftext|>", special=True), hf.added("<|im_start|>", special=True)])
    texts = random_texts(draws(RANDOM_TEXTS)) + real()
    pair.same(content, texts + ["<|im_start|>user\n12<|endoftext|>"])


def test_merges_as_strings_are_merges_as_pairs(pair, known):
    path, _ = known("gpt2")
    texts = random_texts(2_000)
    content = content_of(path)
    content["model"]["merges"] = [" ".join(merge) for merge in content["model"]["merges"]]
    old = pair.write(content)
    assert json.loads(old.read_text())["model"]["merges"][0] == "\u0120 t"
    assert pair.ids(old, texts) == pair.ids(path, texts)


# ---------------------------------------------------------------- splits

SPLITS = {
    "cl100k": hf.family_splitter("cl100k"),
    "qwen2": hf.family_splitter("qwen2"),
    "o200k": hf.family_splitter("o200k"),
    "gpt2": hf.byte_level(),
    "gpt2 as Split, inverted": hf.sequence(
        "pretokenizers", hf.split("gpt2", "Removed", True), hf.byte_level(False)),
    "Digits": hf.sequence("pretokenizers", {"type": "Digits", "individual_digits": True},
                          hf.byte_level()),
    "runs of digits, a space": hf.sequence(
        "pretokenizers", {"type": "Digits", "individual_digits": False}, hf.byte_level(True, True)),
    "Split, then ByteLevel's own": hf.sequence("pretokenizers", hf.split("qwen2"), hf.byte_level()),
    "one piece": hf.byte_level(False),
    "one piece with a space": hf.byte_level(False, True),
}


FAMILIES = ["cl100k", "qwen2", "o200k", "gpt2"]


def compare_strings(pair, names, fours):
    """Compares representatives(fours), with a vocabulary in which each is a token."""
    texts = representatives(fours)
    vocab = {hf.ALPHABET[b]: b for b in range(256)}
    for text in texts:
        vocab.setdefault(hf.show(text.encode()), len(vocab))
    for text in texts:
        if len(text) < 4:
            vocab.setdefault(hf.show(b" " + text.encode()), len(vocab))
    for name in names:
        pair.same(hf.file_of(vocab, [], SPLITS[name], ignore_merges=True), texts)


@pytest.mark.parametrize("name", SPLITS)
def test_strings_of_representatives_split_as_in_tokenizers(pair, name):
    compare_strings(pair, [name], STRINGS_OF_FOUR if name in FAMILIES else 0)


@pytest.mark.long("tests/python/test_tokenizer_json.py::test_strings_of_representatives_split_as_in_tokenizers")
def test_all_strings_of_four_representatives_split_as_in_tokenizers(pair):
    compare_strings(pair, FAMILIES, None)


METASPACE = {
    f"{scheme}, {'cut' if cut else 'whole'}": {
        "type": "Metaspace", "replacement": hf.MARK, "prepend_scheme": scheme, "split": cut}
    for scheme in ("always", "first", "never") for cut in (True, False)
}


@pytest.mark.parametrize("name", METASPACE)
def test_metaspace_cuts_as_in_tokenizers(pair, name):
    parts = ["a", "b", " ", "  ", hf.MARK, "<t>", "<n>", "\n"]
    texts = ["".join(s) for n in range(1, 5) for s in itertools.product(parts, repeat=n)]
    vocab = {c: i for i, c in enumerate(["<unk>", "a", "b", " ", hf.MARK, "\n", hf.MARK + "a"])}
    for n in (2, 3, 4):
        for s in itertools.product(["a", "b", hf.MARK], repeat=n):
            vocab.setdefault("".join(s), len(vocab))
    tokens = [hf.added("<t>"), hf.added("<n>", normalized=True)]
    content = hf.file_of(vocab, [], METASPACE[name], added_tokens=tokens, ignore_merges=True,
                         unk_token="<unk>")
    pair.same(content, texts)
    content["normalizer"] = hf.sequence(
        "normalizers", {"type": "Prepend", "prepend": "ab"},
        {"type": "Replace", "pattern": {"String": "ba"}, "content": " bb"})
    content["added_tokens"].append(hf.added("b", normalized=True))
    pair.same(content, texts)


# ---------------------------------------------------------------- Unicode


def test_every_scalar_is_normalised_as_in_tokenizers(pair):
    content = hf.file_of({hf.ALPHABET[b]: b for b in range(256)}, [], hf.byte_level(False),
                         normalizer={"type": "NFC"})
    marks = [c for c in ASSIGNED if unicodedata.combining(c)]
    texts = ["".join(SCALARS[i : i + 256]) for i in range(0, len(SCALARS), 256)]
    texts += ["".join(f"a{c}{m}b" for c in SCALARS[i : i + 256])
              for m in "\u0301\u0345\u3099" for i in range(0, 0x3100, 256)]
    texts += ["".join(f"a\u0345{c}\u0334\u0301" for c in marks)]
    texts += [unicodedata.normalize("NFD", c) for c in ASSIGNED
              if unicodedata.decomposition(c) or "\uac00" <= c < "\uac80"]
    rng = random.Random(9)
    pool = marks + list("aeiouAO\u1100\u1161\u11a8\u09c7\u09be\u0b47\u0bc6\u0f71\u0f72 x")
    texts += ["".join(rng.choices(pool, k=rng.randrange(1, 12))) for _ in range(draws(10_000))]
    pair.same(content, texts)


def test_every_scalar_is_a_digit_or_none_as_in_tokenizers(pair):
    vocab = {hf.ALPHABET[b]: b for b in range(256)}
    merges, pre = [], {"type": "Digits", "individual_digits": True}
    for b in range(0x80, 0x100):  # tokens over the places where a digit is cut off
        for t in ("a" + hf.ALPHABET[b], hf.ALPHABET[b] + "a"):
            vocab[t] = len(vocab)
            merges.append(list(t))
    content = hf.file_of(vocab, merges, hf.sequence("pretokenizers", pre, hf.byte_level(False)))
    pair.same(content, ["a".join(SCALARS[i : i + 256]) for i in range(0, len(SCALARS), 256)])


@pytest.mark.parametrize("flag", ["single_word", "lstrip", "rstrip"])
def test_every_scalar_beside_an_added_token(pair, flag):
    content = hf.file_of({hf.ALPHABET[b]: b for b in range(256)}, [], hf.byte_level(False),
                         added_tokens=[hf.added("<t>", **{flag: True})])
    some = ASSIGNED if flag == "single_word" else ASSIGNED[:0x3100] + ASSIGNED[0x3100::50]
    pair.same(content, ["".join(f"{c}<t>{c}!" for c in some[i : i + 64])
                        for i in range(0, len(some), 64)])


# ---------------------------------------------------------------- added tokens

FLAGS = ["single_word", "lstrip", "rstrip", "normalized", "special"]
NORMALIZERS = {
    "none": None,
    "NFC": {"type": "NFC"},
    "Llama-2": hf.sequence(
        "normalizers", {"type": "Prepend", "prepend": hf.MARK},
        {"type": "Replace", "pattern": {"String": " "}, "content": hf.MARK}),
}


@pytest.mark.parametrize("normalizer", NORMALIZERS)
@pytest.mark.parametrize("as_text", [False, True])
def test_grid_of_added_tokens(pair, normalizer, as_text):
    around = ["", " ", "  ", "a", "_", "\u00e9", "\n", "<t>", "e\u0301", "!", "\u3000", " \t"]
    pre = None if normalizer == "Llama-2" else hf.byte_level()
    vocab = {hf.ALPHABET[b]: b for b in range(256)}
    if pre is None:
        vocab = {c: i for i, c in enumerate(["<unk>", *BYTE_TOKENS, hf.MARK, "a", "<", "t", ">"])}
    for values in itertools.product([False, True], repeat=5):
        flags = dict(zip(FLAGS, values))
        tokens = [hf.added("<t>", **flags), hf.added("e\u0301", normalized=True),
                  hf.added("<t>a", normalized=True), hf.added("  ", normalized=True)]
        content = hf.file_of(vocab, [], pre, NORMALIZERS[normalizer], tokens,
                             byte_fallback=pre is None)
        texts = [f"{x}{a}<t>{b}{y}" for a in around for b in around for x in ("", "x") for y in ("", "y")]
        pair.same(content, texts, as_text=as_text)


def test_the_longest_added_token_wins_and_hides_what_begins_in_it(pair):
    vocab = {hf.ALPHABET[b]: b for b in range(256)}
    contents = ["<a", "<a>", "a><", "<a><b>", " ", "   ", "\n\n", "\u4e2d", "\u4e2d\u6587", ">"]
    parts = ["<a", ">", "<", "b", "a>", " ", "\n", "\u4e2d", "\u6587", "<a><b"]
    texts = ["".join(s) for n in range(1, 6) for s in itertools.product(parts, repeat=n)
             if n < 5 or "<a" in s[:2]]
    for flags in ({}, {"single_word": True}, {"lstrip": True}, {"rstrip": True}):
        tokens = [hf.added(c, **(flags if i % 3 == 1 else {})) for i, c in enumerate(contents)]
        tokens[3]["special"] = True
        content = hf.file_of(vocab, [], hf.byte_level(), added_tokens=tokens)
        pair.same(content, texts[::3], as_text=flags == {})


def test_ids_of_added_tokens_are_those_tokenizers_gives(pair):
    vocab = {hf.ALPHABET[b]: b for b in range(256)}
    vocab["<in>"] = 700  # holes before it
    tokens = [hf.added("<x>", id=5), hf.added("<in>", id=6), hf.added("<y>", id=900), hf.added("")]
    path, oracle, _ = pair.same(
        hf.file_of(vocab, [], hf.byte_level(), added_tokens=tokens), ["a<y><in><x>b"])
    assert oracle.token_to_id("<y>") == 258
    assert pair.decoded(path, [[97, 258, 700, 257, 98]]) == ["a<y><in><x>b"]


def test_an_added_token_is_dropped_where_another_one_took_its_white_space(pair):
    vocab = {hf.ALPHABET[b]: b for b in range(256)}
    tokens = [hf.added("<u>", rstrip=True), hf.added("\n", lstrip=True), hf.added("\t", lstrip=True, rstrip=True)]
    content = hf.file_of(vocab, [], hf.byte_level(), added_tokens=tokens)
    _, _, ours = pair.same(content, ["a<u>\nb", "\t\t", "<u>  \n", "a\t \t\n<u>\t b"])
    assert ours[:2] == [[97, 256, 98], [258]]


def test_of_two_added_tokens_with_one_id_the_later_one_counts(pair):
    vocab = {"a": 0, "b": 1, "<in>": 4, "<also>": 9}
    for contents in (["<in>", "<x>"], ["<x>", "<in>"]):
        for normalized in itertools.product([False, True], repeat=2):
            tokens = [hf.added("<also>"), *(hf.added(c, normalized=n) for c, n in zip(contents, normalized))]
            content = hf.file_of(vocab, [], added_tokens=tokens)
            path, oracle, ours = pair.same(content, ["a<in>b<x>", "<x><in><also>"])
            assert oracle.token_to_id("<x>") == 4
            assert pair.decoded(path, [[4]]) == [contents[1]]


def test_neox_has_runs_of_spaces_as_added_tokens(pair, known):
    path, _ = known("gpt2")
    spaces = [hf.added(" " * n, normalized=True) for n in range(24, 1, -1)]
    content = content_of(path, normalizer={"type": "NFC"}, added_tokens=spaces + [
        hf.added("<|endoftext|>", special=True), hf.added("|||EMAIL_ADDRESS|||", normalized=True)])
    texts = random_texts(5_000) + [" " * n + "x" + " " * (60 - n) for n in range(60)]
    pair.same(content, texts + real()[::4])


# ---------------------------------------------------------------- models


@pytest.fixture(scope="module")
def sentencepiece(learned):
    """A file like Llama-2's: marks for spaces, bytes for what is no token."""
    content = hf.trained(learned, METASPACE["always, cut"], size=3000, unk_token="<unk>",
                         special=["<unk>", "<s>", "</s>", *BYTE_TOKENS], fuse_unk=True,
                         byte_fallback=True)
    content["pre_tokenizer"] = None  # which made learning fast
    content["normalizer"] = NORMALIZERS["Llama-2"]
    content["added_tokens"] = [t for t in content["added_tokens"] if t["content"] not in BYTE_TOKENS]
    content["decoder"] = hf.sequence(
        "decoders", {"type": "Replace", "pattern": {"String": hf.MARK}, "content": " "},
        {"type": "ByteFallback"}, {"type": "Fuse"},
        {"type": "Strip", "content": " ", "start": 1, "stop": 0})
    return content


def models_of(learned, sentencepiece):
    full = hf.full_alphabet()
    nfc = {"type": "NFC"}
    yield "byte-level", hf.trained(learned, hf.byte_level(), alphabet=full)
    yield "bytes missing", hf.trained(learned[:2], hf.byte_level())
    yield "bytes missing, unknown", hf.trained(
        learned[:2], hf.byte_level(), unk_token="<unk>", special=["<unk>"])
    yield "bytes missing, fused", hf.trained(
        learned[:2], hf.byte_level(), unk_token="<unk>", special=["<unk>"], fuse_unk=True)
    yield "space in front", hf.trained(learned, hf.byte_level(True, True), nfc, alphabet=full)
    yield "digits", hf.trained(learned, SPLITS["Digits"], alphabet=full)
    for family in ("cl100k", "qwen2", "o200k"):
        yield family, hf.trained(learned, hf.family_splitter(family), nfc, alphabet=full)
    ignoring = hf.trained(learned, hf.family_splitter("cl100k"), size=2000, alphabet=full)
    ignoring["model"]["ignore_merges"] = True
    del ignoring["model"]["merges"][::3]  # so that tokens are there that no merge gives
    yield "ignore_merges", ignoring
    following = copy.deepcopy(ignoring)
    following["model"]["ignore_merges"] = False
    yield "tokens that no merge gives", following
    twice = copy.deepcopy(following)
    twice["model"]["merges"] += twice["model"]["merges"][:100]  # of equal pairs the last counts
    yield "merges twice", twice
    words = [word for text in LANGUAGES for word in text.split(" ")]
    yield "characters", hf.trained(words, None, size=1000)
    yield "characters, unknown", hf.trained(
        words[:30], None, size=3000, unk_token="<unk>", special=["<unk>"])
    for name, step in METASPACE.items():
        content = hf.trained(LANGUAGES, METASPACE["always, cut"], size=3000, unk_token="<unk>",
                             special=["<unk>"], fuse_unk=True)
        content["pre_tokenizer"] = step
        yield f"metaspace {name}", content
    yield "sentencepiece", sentencepiece
    some = copy.deepcopy(sentencepiece)
    for name in BYTE_TOKENS[0x80:0xC0]:
        some["model"]["vocab"][name + "?"] = some["model"]["vocab"].pop(name)
    yield "sentencepiece, some bytes", some


@pytest.mark.parametrize("unknown", [None, "?", hf.MARK, hf.MARK * 2])
@pytest.mark.parametrize("fallback", [[], BYTE_TOKENS[:0x80], BYTE_TOKENS])
def test_marks_merge_over_a_character_that_is_dropped(pair, unknown, fallback):
    tokens = ["a", "b", hf.MARK, "ab", hf.MARK * 2, hf.MARK + "a", "?", *fallback]
    content = hf.file_of({t: i for i, t in enumerate(tokens)},
                         [["a", "b"], [hf.MARK, hf.MARK], [hf.MARK, "a"]], normalizer=NORMALIZERS["Llama-2"],
                         unk_token=unknown, byte_fallback=True)
    parts = ["a", "b", " ", "x", "\u00e9", hf.MARK]
    texts = ["".join(s) for n in range(1, 6) for s in itertools.product(parts, repeat=n)]
    _, _, ours = pair.same(content, texts)
    if unknown is None and not fallback:
        assert ours[texts.index(" x ")] == [4, 2] and ours[texts.index("axb")] == [2, 3]


def test_small_models_of_every_kind(pair, learned, sentencepiece):
    texts = random_texts(draws(700)) + LANGUAGES + [t[:2000] for t in learned[-4:]] + ["", " ", "  a  "]
    for name, content in models_of(learned, sentencepiece):
        print(name)
        pair.same(content, texts)


def test_random_strings_of_a_sentencepiece_model(pair, sentencepiece):
    texts = random_texts(draws(RANDOM_TEXTS)) + real()
    pair.same(sentencepiece, texts)


def test_sentences_come_back_from_their_ids(pair, learned, sentencepiece):
    path, oracle, ours = pair.same(sentencepiece, LANGUAGES)
    assert pair.decoded(path, ours) == LANGUAGES
    path, oracle, ours = pair.same(hf.trained(
        learned, METASPACE["always, cut"], size=3000), ["Hello, the quick fox", "it's"])
    content = json.loads(path.read_text())
    content["decoder"] = METASPACE["always, cut"]
    assert pair.decoded(pair.write(content), ours) == ["Hello, the quick fox", "it's"]
    path, _, ours = pair.same(hf.trained(learned, hf.byte_level(), alphabet=hf.full_alphabet()), LANGUAGES)
    assert pair.decoded(path, ours) == LANGUAGES


def test_bos_and_eos_are_put_around_where_that_is_asked_for(pair, sentencepiece):
    content = copy.deepcopy(sentencepiece)
    special = {name: {"id": name, "ids": [i], "tokens": [name]} for i, name in [(1, "<s>"), (2, "</s>")]}
    piece = {"<s>": {"SpecialToken": {"id": "<s>", "type_id": 0}},
             "</s>": {"SpecialToken": {"id": "</s>", "type_id": 0}},
             "A": {"Sequence": {"id": "A", "type_id": 0}}, "B": {"Sequence": {"id": "B", "type_id": 1}}}
    texts = ["", "a", "<s>a</s>"]
    for single in (["<s>", "A"], ["<s>", "<s>", "A", "</s>"], ["A", "</s>"], ["A"]):
        template = {"type": "TemplateProcessing", "single": [piece[p] for p in single],
                    "pair": [piece["A"], piece["B"]], "special_tokens": special}
        for processor in (template, hf.sequence("processors", hf.byte_level(), template)):
            content["post_processor"] = processor
            pair.same(content, texts, special=True)
            pair.same(content, texts, special=False)


# ---------------------------------------------------------------- time


def seconds(pair, path, text):
    """CPU seconds of tokenising; the start of the program is the same for all."""
    source = pair.folder / "time.txt"
    source.write_text(text)
    before = os.times()
    pair.run(path, "--count", "--threads", 1, source)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def test_one_long_piece_takes_no_longer_than_ten_times_prose(pair, learned, sentencepiece, known):
    size = 1 << 19
    prose = (" ".join(LANGUAGES + learned[-3:]) * 40)[:size]
    for path in (known("cl100k")[0], pair.write(sentencepiece)):
        start = seconds(pair, path, "")
        usual = max(seconds(pair, path, prose) - start, 0.02)
        for one in ("x", " ", "\u4e2d", "\n", "\u0301", hf.MARK, "ab", "\u1100"):
            text = (one * size)[: size // len(one[:1].encode())]
            assert seconds(pair, path, text) - start < 10 * usual, (path, one)


def test_a_table_is_built_in_under_300_ms(pair, known):
    for family in FILES:
        assert any(seconds(pair, known(family)[0], "") < 0.3 for _ in range(3)), family


# ---------------------------------------------------------------- refusals


def changed(path, value):
    """A change of a small file: sets what the dotted path leads to, or takes it away with None."""

    def change(content):
        *way, last = path.split(".")
        for key in way:
            content = content[int(key) if key.isdigit() else key]
        if value is Ellipsis:
            del content[last]
        else:
            content[int(last) if last.isdigit() else last] = value

    return change


TEMPLATE = {"type": "TemplateProcessing", "single": [{"Sequence": {"id": "B", "type_id": 0}}],
            "pair": [], "special_tokens": {}}


@pytest.mark.parametrize(
    "path, value, sentence",
    [
        ("truncation", {"max_length": 5}, 'truncation is {"max_length":5}: documents would be cut'),
        ("padding", {"x": 1}, 'padding is {"x":1}: documents would be padded'),
        ("version", "2.0", 'version is "2.0": only "1.0" is known'),
        ("extra", 1, "extra is 1: riffle does not know this key"),
        ("model.extra", [1], "model.extra is [1]: riffle does not know this key"),
        ("model.type", "Unigram", 'model.type is "Unigram": only "BPE" is known'),
        ("model.dropout", 0.1, "model.dropout is 0.1"),
        ("model.continuing_subword_prefix", "##", 'model.continuing_subword_prefix is "##"'),
        ("model.end_of_word_suffix", "</w>", 'model.end_of_word_suffix is "</w>"'),
        ("model.fuse_unk", 1, "model.fuse_unk is 1: true or false is wanted"),
        ("model.merges", [["a", "zz"]], 'model.merges[0]: "zz" is not in model.vocab'),
        ("model.merges", [["a", "c"]], 'model.merges[0]: "ac" is not in model.vocab'),
        ("model.merges", ["a b", "a  b"], 'model.merges[1] is "a  b": two tokens'),
        ("model.merges", ["a b", ["a", "b"]], "model.merges: byte 8: a text is wanted"),
        ("model.merges", [["a", "b", "c"]], "model.merges: byte 12: a pair is wanted"),
        ("model.merges", ..., "model.merges is missing"),
        ("model.vocab", ..., "model.vocab is missing"),
        ("model.vocab.a", -1, "model.vocab: byte 904: an id from 0 to 2097151 is wanted"),
        ("model.vocab.a", 2097152, "an id from 0 to 2097151 is wanted"),
        ("model.vocab.a", 98, "model.vocab: id 98 is given to two tokens"),
        ("model", ..., "model is missing"),
        ("normalizer", {"type": "Lowercase"}, 'normalizer is {"type":"Lowercase"}: riffle has'),
        ("normalizer", {"type": "NFKC"}, 'normalizer is {"type":"NFKC"}'),
        ("normalizer", hf.sequence("normalizers", {"type": "NFC"}, {"type": "Strip"}),
         'normalizer.normalizers[1] is {"type":"Strip"}'),
        ("normalizer", {"type": "Replace", "pattern": {"Regex": " +"}, "content": " "},
         'normalizer.pattern is {"Regex":" +"}: only {"String": ...} is taken here'),
        ("normalizer", {"type": "Replace", "pattern": {"String": ""}, "content": " "}, "is empty"),
        ("normalizer", {"type": "Prepend", "prepend": ""}, "an empty text makes tokenizers repeat characters"),
        ("normalizer", {"type": "Prepend", "prepend": "x" * 257}, "at most 256 bytes are taken"),
        ("pre_tokenizer", {"type": "Whitespace"}, 'pre_tokenizer is {"type":"Whitespace"}: riffle has'),
        ("pre_tokenizer", {**hf.split("gpt2"), "pattern": {"Regex": "\\w+"}},
         'pre_tokenizer.pattern is {"Regex":"\\\\w+"}: riffle splits by'),
        ("pre_tokenizer", {**hf.split("gpt2"), "pattern": {"String": "a"}},
         'pre_tokenizer.pattern is {"String":"a"}'),
        ("pre_tokenizer", hf.split("gpt2", "Removed"), 'pre_tokenizer.behavior is "Removed"'),
        ("pre_tokenizer", hf.split("gpt2", "MergedWithNext"), 'behavior is "MergedWithNext"'),
        ("pre_tokenizer", hf.sequence("pretokenizers", hf.byte_level(), hf.split("gpt2")),
         "pre_tokenizer.pretokenizers[1] is {"),
        ("pre_tokenizer", {"type": "Digits", "individual_digits": "no"}, "individual_digits is"),
        ("pre_tokenizer", {"type": "Metaspace", "replacement": "ab", "prepend_scheme": "first"},
         'replacement is "ab": one character is wanted'),
        ("pre_tokenizer", {"type": "Metaspace", "replacement": "a", "prepend_scheme": "last"},
         'prepend_scheme is "last": always, first or never is wanted'),
        ("pre_tokenizer", {"type": "Metaspace", "replacement": "a", "add_prefix_space": False},
         "add_prefix_space is false: prepend_scheme says something else"),
        ("post_processor", {"type": "BertProcessing"}, "post_processor is {"),
        ("post_processor", TEMPLATE, "post_processor.single[0] is {"),
        ("decoder", {"type": "WordPiece"}, 'decoder is {"type":"WordPiece"}'),
        ("added_tokens", {}, "added_tokens is {}: an array is wanted"),
        ("added_tokens", [{"id": 1, "content": "x"}],
         "added_tokens[0].single_word is missing: true or false is wanted"),
        ("added_tokens", [hf.added("x"), hf.added("x")], "this content is there twice"),
        ("added_tokens", [hf.added("x" * 1025)], "at most 1024 bytes are taken"),
    ],
)
def test_what_is_not_known_is_refused_by_name(pair, path, value, sentence):
    vocab = {hf.ALPHABET[b]: b for b in range(256)} | {"ab": 256}
    content = hf.file_of(vocab, [["a", "b"]], hf.byte_level(False))
    changed(path, value)(content)
    file = pair.write(content)
    done = pair.run(file, check=False)
    assert done.returncode == 1, done.stderr
    assert f"tokenizer {file}: " in done.stderr.decode()
    assert sentence in done.stderr.decode()


def test_an_empty_unknown_token_is_refused_where_it_would_be_used(pair):
    content = hf.file_of({hf.ALPHABET[b]: b for b in range(256)}, [], hf.byte_level(), unk_token="")
    pair.same(content, ["abc\u00e9"])
    del content["model"]["vocab"]["a"]
    done = pair.run(pair.write(content), check=False)
    assert done.returncode == 1 and 'model.unk_token is "": riffle does not take an empty text' in done.stderr.decode()


def test_a_file_that_is_no_json_is_refused_by_byte(pair):
    whole = json.dumps(hf.file_of({"a": 0}, []))
    for text, why in [
        (whole[:-1], "the text ends too early"),
        (whole + "x", "there is something behind the object"),
        (whole.replace('"padding"', '"truncation"'), "a key stands there twice"),
        (whole.replace('{"a": 0}', '{"a": 0, "a": 1}'), "one token has the ids 0 and 1"),
        (whole.replace('{"a": 0}', "{}"), "model.vocab has no tokens"),
    ]:
        path = pair.folder / "broken.json"
        path.write_text(text)
        done = pair.run(path, check=False)
        assert done.returncode == 1 and why in done.stderr.decode(), done.stderr
    path.write_bytes(whole.encode() + b"\xff")
    assert "is not UTF-8" in pair.run(path, check=False).stderr.decode()
    done = pair.run(pair.write(json.loads(whole)), "--pattern", "gpt2", check=False)
    assert done.returncode == 2 and "says its pattern itself" in done.stderr.decode()
