"""Random tokenizer.json files, each with texts that are likely to find a difference in it.

A case is made from its seed alone, so the seed repeats it. The files are small, but unlike trained ones in everything
that a file may say: merges in any order, ids with gaps, missing characters, added tokens with any flags, several
normalizers and pre-tokenizers. The texts are made of the same few characters and tokens as the file.
"""

import dataclasses
import random

import hf_files as hf

BYTE_TOKENS = [f"<0x{b:02X}>" for b in range(256)]
LETTERS = [*"abcstdreSTALI", "\u00e9", "\u01c5", "\u017f", "\u02b0", "\u4e2d", "\u6587", "\u0905", "\ud55c",
           "\U00010400"]
MARKS = ["\u0301", "\u0323", "\u0345", "\u3099", "\u093c", "\u0488", "\u20dd", "\u1ab0"]
# What NFC composes, reorders or decomposes.
COMPOSED = ["\u0958", "\u212b", "\u1e69", "\u01d5", "\u1100", "\u1161", "\u11a8", "\uac00", "\u0344", "\u0f73", "\u2adc"]
DIGITS = [*"0123", "\u00b2", "\u0663", "\u2167", "\u00bd", "\U0001d7d8", "\u4e00", "\u3007"]
SPACES = [" ", " ", " ", "\n", "\t", "\r", "\r\n", "\u00a0", "\u3000", "\u2028", "\u0085", "\x0b", "\u200b", "\u180e"]
OTHERS = [*"!'/.<>[]_-\"\\", "\u201c", "\U0001f600", "\u200d", "\ufeff", "\ufffd", "\x7f", "\x1c", "\U0010ffff"]
POOLS = [LETTERS, LETTERS, MARKS, COMPOSED, DIGITS, SPACES, SPACES, OTHERS, [hf.MARK]]
# Where neighbors share their first bytes: Latin, Greek, Cyrillic, Hebrew, Arabic, Devanagari, Thai, Georgian, kana, CJK,
# Hangul, emoji.
BLOCKS = [0xE0, 0x3B1, 0x430, 0x5D0, 0x627, 0x915, 0xE01, 0x10D0, 0x3042, 0x4E00, 0xAC00, 0x1F600]
CONTRACTIONS = ["'s", "'T", "'re", "'ll", "'\u017f", "don't", "I'LL"]
# Bytes that are not UTF-8, or only the first part of a character.
INVALID = [b"\xff", b"\xc3", b"\xe2\x96", b"\xf0\x9f\x98", b"\x80", b"\xed\xa0\x80", b"\xc0\xaf", b"\xf5"]


@dataclasses.dataclass
class Case:
    content: dict  # the file
    layout: dict  # how json.dumps() writes it
    texts: list  # of bytes, which may not be UTF-8
    add_special: bool
    special_as_text: bool


class Maker:
    """Makes one case from its random numbers."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        some = [self.rng.choice(self.rng.choice(POOLS)) for _ in range(self.rng.randrange(3, 14))]
        if self.chance(0.3):
            block = self.rng.choice(BLOCKS)
            some += [chr(block + self.rng.randrange(24)) for _ in range(6)]
        self.characters = [*some, " ", hf.MARK] if self.chance(0.7) else some

    def chance(self, p):
        return self.rng.random() < p

    def one(self, *choices):
        return self.rng.choice(choices)

    def words(self, most):
        """A short text of the file's characters."""
        return "".join(self.rng.choices(self.characters, k=self.rng.randrange(1, most + 1)))

    # ---- the model

    def byte_vocabulary(self):
        """Byte-level: what each byte is written as, perhaps without some of them; and texts to merge."""
        shown = list(hf.ALPHABET.values())
        if self.chance(0.25):
            missing = {hf.ALPHABET[b] for c in self.rng.choices(self.characters, k=2) for b in c.encode()}
            shown = [c for c in shown if c not in missing or self.chance(0.5)]
        if self.chance(0.1):
            shown = self.rng.sample(shown, 100)
        bases = [hf.ALPHABET[b] for c in self.characters for b in c.encode()]
        return shown, [c for c in bases if c in set(shown)] or shown[:5]

    def character_vocabulary(self):
        """The file's characters, perhaps without some of them, and byte tokens to fall back to; and texts to merge."""
        shown = list(dict.fromkeys(c for text in self.characters for c in text))
        bases = [c for c in shown if self.chance(0.8)] or shown[:1]
        fallback = self.one([], [], BYTE_TOKENS, [t for t in BYTE_TOKENS if self.chance(0.7)])
        return bases + fallback, bases + fallback[0xE0:0xE3] * self.chance(0.2)

    def merges(self, tokens, bases):
        """Adds what merges give to the tokens. The parts of a merge may come from any other one, or a later one."""
        pairs, parts = [], list(bases)
        marks_first = self.chance(0.5)
        for _ in range(self.one(0, 3, 10, 30, 60, 200)):
            left, right = self.rng.choice(parts[-12:] if self.chance(0.4) else parts), self.rng.choice(parts)
            if len(left + right) > 40 or (marks_first and hf.MARK in (left + right).lstrip(hf.MARK)):
                continue
            pairs.append([left, right])
            if left + right not in tokens:
                tokens.append(left + right)
            parts.append(left + right)
        if pairs and self.chance(0.15):
            pairs += self.rng.choices(pairs, k=2)  # the same ones again
        if self.chance(0.4):
            self.rng.shuffle(pairs)
        return pairs

    def learned(self, byte_level):
        """What the library's trainer makes of words of the file's characters."""
        words = [self.words(6) for _ in range(self.one(5, 20, 60))]
        texts = ["".join(self.rng.choices(words, k=8)) for _ in range(40)]
        content = hf.trained(texts, hf.byte_level(False) if byte_level else None, size=self.one(300, 400, 600),
                             alphabet=hf.full_alphabet() if byte_level else [])
        return list(content["model"]["vocab"]), content["model"]["merges"]

    def model(self, byte_level):
        tokens, bases = self.byte_vocabulary() if byte_level else self.character_vocabulary()
        unknown = self.one(None, None, "<unk>", "<unk>", hf.MARK, hf.MARK * 2, bases[0], self.one("<unk>", ""))
        if self.chance(0.1):
            tokens, pairs = self.learned(byte_level)
        else:
            pairs = self.merges(tokens, bases + ([unknown] if unknown and self.chance(0.1) else []))
        tokens += [self.show(self.words(5), byte_level) for _ in range(self.one(0, 0, 5))]  # that no merge gives
        tokens += ["<unk>"] if self.chance(0.5) else []
        tokens += [unknown] if unknown is not None and self.chance(0.97) else []
        tokens += [""] if self.chance(0.03) else []
        tokens = list(dict.fromkeys(tokens))
        if self.chance(0.3):
            self.rng.shuffle(tokens)
        ids = range(len(tokens))
        if self.chance(0.2):
            ids = sorted(self.rng.sample(range(len(tokens) + 20), len(tokens)))
        known = set(tokens)
        pairs = [p for p in pairs if all(t in known for t in (*p, "".join(p)))]
        merges = pairs
        if self.chance(0.3) and not any(" " in t for p in pairs for t in p):
            merges = [" ".join(p) for p in pairs]
        flags = {
            "unk_token": unknown, "fuse_unk": self.chance(0.5),
            "byte_fallback": self.chance(0.1 if byte_level else 0.5),
            "ignore_merges": self.chance(0.25), "dropout": self.one(None, None, None, 0.0),
            "continuing_subword_prefix": self.one(None, None, ""), "end_of_word_suffix": self.one(None, None, ""),
        }
        return dict(zip(tokens, ids)), merges, flags

    @staticmethod
    def show(text, byte_level):
        return hf.show(text.encode()) if byte_level else text

    # ---- what surrounds it

    def replace(self):
        pattern = self.one(" ", "  ", hf.MARK, "\n", self.words(1), self.words(2), self.words(3))
        content = self.one("", " ", hf.MARK, "  ", self.words(2), pattern + " ", hf.MARK + pattern)
        return {"type": "Replace", "pattern": {"String": pattern}, "content": content}

    def normalizer(self, depth=0):
        kind = self.one("none", "NFC", "Prepend", "Replace", "Llama-2", "Sequence", "Sequence")
        if kind == "none":
            return None
        if kind == "NFC":
            return {"type": "NFC"}
        if kind == "Prepend":
            return {"type": "Prepend", "prepend": self.one(hf.MARK, " ", self.words(2))}
        if kind == "Replace":
            return self.replace()
        if kind == "Llama-2" or depth == 2:
            return hf.sequence("normalizers", {"type": "Prepend", "prepend": hf.MARK},
                               {"type": "Replace", "pattern": {"String": " "}, "content": hf.MARK})
        parts = [self.normalizer(depth + 1) for _ in range(self.rng.randrange(1, 4))]
        return hf.sequence("normalizers", *[p for p in parts if p])

    def metaspace(self):
        step = {"type": "Metaspace", "replacement": self.one(hf.MARK, hf.MARK, hf.MARK, "_", " ", self.words(1)[0])}
        if self.chance(0.8):
            step["prepend_scheme"] = self.one("always", "first", "never")
        if self.chance(0.8):
            step["split"] = self.chance(0.5)
        if self.chance(0.2):
            step["add_prefix_space"] = self.one(True, None, step.get("prepend_scheme") != "never")
        return step

    def pre_tokenizer_step(self):
        kind = self.one("Split", "Digits", "Metaspace", "Metaspace")
        if kind == "Split":
            family = self.one(*hf.PATTERNS)
            return hf.split(family, *self.one(("Removed", True), ("Isolated", True), ("Isolated",), ("Isolated",)))
        if kind == "Digits":
            return {"type": "Digits", "individual_digits": self.chance(0.5)}
        return self.metaspace()

    def pre_tokenizer(self, byte_level):
        steps = [self.pre_tokenizer_step() for _ in range(self.one(0, 0, 1, 1, 2, 3))]
        if byte_level:
            steps.append(hf.byte_level(self.chance(0.4), self.chance(0.3)))
            if steps[-1]["use_regex"] and self.chance(0.2):
                del steps[-1]["use_regex"]
        if not steps:
            return self.one(None, None, None, hf.sequence("pretokenizers"))
        if len(steps) == 1 and self.chance(0.6):
            return steps[0]
        if len(steps) > 2 and self.chance(0.2):
            steps[:2] = [hf.sequence("pretokenizers", *steps[:2])]
        return hf.sequence("pretokenizers", *steps)

    def added_tokens(self, vocab):
        spaces = [" ", "  ", "\n", "\t", "\n\n", " \t", "\u00a0"]
        found = {}
        if self.chance(0.05):  # as GPT-NeoX
            found = {" " * n: hf.added(" " * n, normalized=self.chance(0.5)) for n in range(24, 1, -1)}
        for _ in range(self.one(0, 1, 2, 4, 8)):
            content = self.one("<s>", "</s>", "<|x|>", "[M]", "a", "<", self.rng.choice(spaces),
                               self.rng.choice(spaces), self.words(1), self.words(2), self.words(4), self.rng.choice(list(vocab)))
            if found and self.chance(0.2):
                content = self.rng.choice(list(found)) + self.words(1)
            flags = {f: self.chance(p) for f, p in (("single_word", 0.25), ("lstrip", 0.35), ("rstrip", 0.35),
                                                    ("normalized", 0.4), ("special", 0.4))}
            found[content] = hf.added(content, id=self.rng.randrange(len(vocab) + 20), **flags)
        return list(found.values())

    def post_processor(self, vocab):
        names = self.rng.choices(list(vocab), k=2)
        special = {n: {"id": n, "ids": [vocab[n]] * self.one(0, 1, 1, 2), "tokens": [n]} for n in names}
        for one in special.values():
            one["tokens"] *= len(one["ids"])
        around = [[{"SpecialToken": {"id": self.rng.choice(names), "type_id": 0}} for _ in range(self.one(0, 1, 2))]
                  for _ in range(2)]
        a, b = ({"Sequence": {"id": i, "type_id": 0}} for i in "AB")
        template = {"type": "TemplateProcessing", "single": [*around[0], a, *around[1]], "pair": [a, b],
                    "special_tokens": special}
        return self.one(None, template, hf.byte_level(), hf.sequence("processors", hf.byte_level(), template))

    def content(self):
        byte_level = self.chance(0.45)
        vocab, merges, flags = self.model(byte_level)
        normalizer = self.normalizer() if self.chance(0.6) else None
        content = hf.file_of(vocab, merges, self.pre_tokenizer(byte_level), normalizer, self.added_tokens(vocab),
                             **flags)
        content["post_processor"] = self.post_processor(vocab)
        for key in ("type", "dropout", "unk_token", "fuse_unk", "byte_fallback", "ignore_merges"):
            if content["model"][key] in (None, False) and self.chance(0.05):
                del content["model"][key]
        for key in ("version", "truncation", "padding", "normalizer", "post_processor", "decoder"):
            if content[key] in (None, "1.0") and self.chance(0.05):
                del content[key]
        if self.chance(0.2):
            content["model"] = self.shuffled(content["model"])
            content = self.shuffled(content)
        return content, byte_level

    def shuffled(self, members):
        return dict(self.rng.sample(list(members.items()), len(members)))

    # ---- texts

    def pieces(self, content, byte_level):
        """What texts are made of."""
        bytes_of = {c: bytes([b]) for b, c in hf.ALPHABET.items()}
        tokens = [t for t in content["model"]["vocab"] if len(t) > 1] or ["a"]
        tokens = self.rng.choices(tokens, k=8)
        if byte_level:
            tokens = [b"".join(bytes_of.get(c, c.encode()) for c in t) for t in tokens]
            tokens = [t.decode("utf-8", "ignore") for t in tokens]
        added = [t["content"] for t in content["added_tokens"]]
        pieces = self.characters * 3 + tokens + added * 2 + [a + " " for a in added] + ["\n" + a for a in added]
        pieces += [self.rng.choice(self.rng.choice(POOLS)) for _ in range(4)] + self.rng.choices(CONTRACTIONS, k=2)
        return pieces + [" ", "  ", "\n", "?", hf.MARK, "x", "\x00"]

    def text(self, pieces):
        few = self.rng.choices(pieces, k=self.rng.randrange(2, 9))
        count = self.one(1, 2, 3, 5, 8, 12, 24, self.one(60, 60, 130, 400, 1300))
        if self.chance(0.03):
            few = few[:1]  # one long run
        text = "".join(self.rng.choices(few, k=count)).encode()
        if self.chance(0.08):
            at = self.rng.randrange(len(text) + 1)
            text = text[:at] + self.rng.choice(INVALID) + text[at:]
        return text

    def case(self, texts):
        content, byte_level = self.content()
        pieces = self.pieces(content, byte_level)
        made = [self.text(pieces) for _ in range(texts)]
        layout = {"ensure_ascii": self.chance(0.3), "indent": self.one(None, None, 2)}
        return Case(content, layout, [b"", *made], self.chance(0.4), self.chance(0.25))


def case_of(seed, texts=60):
    return Maker(seed).case(texts)
