"""Makes tokenizer.json files for the tests: trained ones, written ones, OpenAI's vocabularies as such."""

import base64
import functools
import hashlib
import json
import os
import pathlib

import tokenizers
from tokenizers import models, pre_tokenizers, trainers

CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
SPACES = r"\s*[\r\n]+|\s+(?!\S)|\s+"
HEADS, BODY = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
# As the files of models write them.
PATTERNS = {
    "gpt2": r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    "cl100k": CONTRACTIONS
    + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|" + SPACES,
    "qwen2": CONTRACTIONS
    + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|" + SPACES,
    "o200k": rf"[^\r\n\p{{L}}\p{{N}}]?{HEADS}*{BODY}+{CONTRACTIONS}?"
    + rf"|[^\r\n\p{{L}}\p{{N}}]?{HEADS}+{BODY}*{CONTRACTIONS}?"
    + r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|" + SPACES,
}
MARK = "\u2581"


def alphabet():
    """byte -> the character that shows it."""
    shown = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    table = {b: chr(b) for b in shown}
    for b in range(256):
        if b not in table:
            table[b] = chr(0x100 + len(table) - len(shown))
    return table


ALPHABET = alphabet()


def show(token):
    return token.decode("latin-1").translate(ALPHABET)


def byte_level(use_regex=True, add_prefix_space=False):
    return {"type": "ByteLevel", "add_prefix_space": add_prefix_space, "trim_offsets": True,
            "use_regex": use_regex}


def split(family, behavior="Isolated", invert=False):
    return {"type": "Split", "pattern": {"Regex": PATTERNS[family]}, "behavior": behavior,
            "invert": invert}


def sequence(key, *parts):
    return {"type": "Sequence", key: list(parts)}


def family_splitter(family):
    if family == "gpt2":
        return byte_level()
    return sequence("pretokenizers", split(family), byte_level(use_regex=False))


def added(content, **flags):
    token = {"id": 0, "content": content, "single_word": False, "lstrip": False, "rstrip": False,
             "normalized": False, "special": False}
    return {**token, **flags}


def file_of(vocab, merges, pre_tokenizer=None, normalizer=None, added_tokens=(), **model):
    flags = {"dropout": None, "unk_token": None, "continuing_subword_prefix": None,
             "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False,
             "ignore_merges": False, **model}
    return {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": list(added_tokens),
        "normalizer": normalizer, "pre_tokenizer": pre_tokenizer, "post_processor": None,
        "decoder": None, "model": {"type": "BPE", **flags, "vocab": vocab, "merges": merges},
    }


class Ranks(dict):
    """token -> rank, of a .tiktoken file."""

    @functools.cached_property
    def merges(self):
        """The two parts of each token that has more than one byte, by rank."""
        return [merge_of(t, self) for t in sorted(self, key=self.get) if len(t) > 1]


def read_ranks(path):
    ranks = Ranks()
    for line in path.read_bytes().splitlines():
        token, rank = line.split()
        ranks[base64.b64decode(token)] = int(rank)
    return ranks


def merge_of(token, ranks):
    """The two tokens that merge to this one last, by the ranks below its own."""
    none, of = 1 << 30, ranks.get
    parts = [token[i : i + 1] for i in range(len(token))]
    pairs = [of(token[i : i + 2], none) for i in range(len(token) - 1)]  # the rank of each pair of neighbors
    while len(parts) > 2:
        best = min(pairs)
        assert best < ranks[token], token
        i = pairs.index(best)
        parts[i : i + 2] = [parts[i] + parts[i + 1]]
        del pairs[i]
        if i > 0:
            pairs[i - 1] = of(parts[i - 1] + parts[i], none)
        if i < len(pairs):
            pairs[i] = of(parts[i] + parts[i + 1], none)
    return parts


def write_file_of_ranks(path, family):
    """Writes a .tiktoken vocabulary as a tokenizer.json next to it, if that is not there yet: its merges take seconds. Returns
    its path, whose name has a hash of the vocabulary and of this module."""
    made_of = hashlib.sha256(path.read_bytes() + pathlib.Path(__file__).read_bytes()).hexdigest()
    made = path.with_suffix(f".{made_of[:16]}.json")
    if not made.exists():
        for earlier in path.parent.glob(f"{path.stem}.*.json"):
            earlier.unlink(missing_ok=True)
        unfinished = made.with_suffix(f".{os.getpid()}")
        unfinished.write_text(json.dumps(file_of_ranks(read_ranks(path), family), ensure_ascii=False))
        unfinished.rename(made)
    return made


def file_of_ranks(ranks, family, pairs=True, **more):
    """A .tiktoken vocabulary as a byte-level tokenizer.json."""
    merges = [[show(left), show(right)] for left, right in ranks.merges]
    if not pairs:
        merges = [" ".join(m) for m in merges]
    more.setdefault("pre_tokenizer", family_splitter(family))
    return file_of({show(t): ranks[t] for t in sorted(ranks, key=ranks.get)}, merges, **more)


def trained(texts, pre_tokenizer=None, normalizer=None, size=700, special=(), alphabet=(), **model):
    """What tokenizers learns from texts, as the dict of its file."""
    shell = tokenizers.Tokenizer.from_str(json.dumps(file_of(
        {}, [], pre_tokenizer=pre_tokenizer, normalizer=normalizer)))
    shell.model = models.BPE(**model)
    trainer = trainers.BpeTrainer(vocab_size=size, special_tokens=list(special),
                                  initial_alphabet=list(alphabet), show_progress=False)
    shell.train_from_iterator(texts, trainer)
    return json.loads(shell.to_str())


def full_alphabet():
    return pre_tokenizers.ByteLevel.alphabet()
