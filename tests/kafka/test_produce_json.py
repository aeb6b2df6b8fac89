"""riffle produce with a tokenizer.json: the tokens on the topic are those of tokenizers."""

import json
import sys

import pytest
import tokenizers
from test_produce import LENGTH, Corpus, decode, first_seen, tokens, values

from conftest import ROOT

sys.path.insert(0, str(ROOT / "tests" / "python"))
import hf_files as hf  # noqa: E402

TEXTS = ["Hello <s>world</s> 12  34", "", "it's <eod> caf\u00e9 e\u0301", "x" * 300]


def template(*single):
    """A post_processor: special tokens, and A where the text is. <s> is 258, </s> 259, <eod> 260."""
    specials = {t: {"id": t, "ids": [258 + i], "tokens": [t]} for i, t in enumerate(("<s>", "</s>", "<eod>"))}
    return {"type": "TemplateProcessing", "pair": [], "special_tokens": specials,
            "single": [{"Sequence" if t == "A" else "SpecialToken": {"id": t, "type_id": 0}} for t in single]}


def tokenizer_file(path, post_processor):
    vocabulary = {hf.ALPHABET[b]: b for b in range(256)} | {"ab": 256, "ll": 257}
    content = hf.file_of(
        vocabulary, [["l", "l"]], hf.family_splitter("cl100k"), {"type": "NFC"},
        [hf.added(t, special=True) for t in ("<s>", "</s>", "<eod>")])
    content["post_processor"] = post_processor
    path.write_text(json.dumps(content))
    return content


@pytest.mark.parametrize("single, keys, domain, says", [
    (["<s>", "A", "</s>"], {}, {}, "ends"),
    (["</s>", "A", "</s>"], {}, {}, "ends"),
    (["A", "<s>", "</s>"], {}, {"packing": "none"}, "ends"),
    (["</s>", "<s>", "A"], {}, {}, "begins"),
    (["</s>", "A"], {}, {"packing": "none"}, None),
    (["<s>", "A"], {}, {}, None),
    (["A", "</s>", "<s>"], {}, {}, None),
    (["<s>", "A", "</s>"], {"eos": "<eod>"}, {}, None),
    (["<s>", "A", "</s>"], {"add_special": False}, {}, None),
    (["<s>", "A", "</s>"], {}, {"tokens": "jsonl"}, None),
])
def test_two_eos_in_a_row_are_warned_of(tmp_path, bootstrap, vocab, single, keys, domain, says):
    corpus = Corpus(tmp_path, bootstrap, vocab)
    tokenizer_file(tmp_path / "tokenizer.json", template(*single))
    (tmp_path / "a.jsonl").write_text(('{"tokens": [72]}\n' if "tokens" in domain else '{"text": "Hello"}\n') * 2 * LENGTH)
    corpus.config["tokenizer"] = {"file": "tokenizer.json", "eos": "</s>", "add_special": True, **keys}
    corpus.config["domains"] = {"a": {"train": "a.jsonl", **domain}}
    corpus.create()
    warning = says and (f"TOKENIZER-EOS-TWICE {corpus.path}: tokenizer.add_special {says} each document with </s>, and riffle adds "
                        "tokenizer.eos, </s>, after each document, so there are two in a row. Take the token out of the post_processor of "
                        "tokenizer.json, or set add_special: false\n")
    for words in (["config", "--check"], ["import" if "tokens" in domain else "produce"]):
        said = corpus.riffle(*words, "-c", corpus.path).stderr
        assert warning in said if says else "TOKENIZER-EOS-TWICE" not in said, said
    kept, _ = first_seen(values(bootstrap, f"{corpus.name}.a"))
    found = [i for value in kept for i in tokens(decode(value))]
    assert ([259, 259] in [found[i:i + 2] for i in range(20)]) == (says is not None or domain.get("packing") == "none")


@pytest.mark.parametrize("add_special", [False, True])
def test_a_domain_has_the_ids_of_its_tokenizer_json(tmp_path, bootstrap, vocab, add_special):
    content = tokenizer_file(tmp_path / "tokenizer.json", template("<s>", "A"))
    content["post_processor"]["pair"] = [{"Sequence": {"id": i, "type_id": 0}} for i in "AB"]
    oracle = tokenizers.Tokenizer.from_str(json.dumps(content))
    expected = []
    for text in filter(None, TEXTS):  # the empty one is left out, even if a BOS is added to it
        ids = oracle.encode(text, add_special_tokens=add_special).ids
        expected += ids + [oracle.token_to_id("<eod>")]

    corpus = Corpus(tmp_path, bootstrap, vocab)
    corpus.config["tokenizer"] = {"file": "tokenizer.json", "eos": "<eod>", "add_special": add_special}
    source = tmp_path / "in.jsonl"
    source.write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXTS))
    corpus.config["domains"]["a"] = {"train": str(source)}
    corpus.create()
    corpus.produce("a")
    kept, _ = first_seen(values(bootstrap, f"{corpus.name}.a"))
    found = []
    for value in kept:
        sequence = tokens(decode(value))
        assert len(sequence) == LENGTH + 1
        found += sequence if not found else sequence[1:]
    assert found[: len(expected)] == expected[: len(found)]
    assert len(found) > len(expected) - LENGTH


def test_special_tokens_around_prompt_and_response_are_no_tokens_of_the_document(tmp_path, bootstrap, vocab):
    """The tokenizer has no token for "?" and drops it. Each of the two texts gets a BOS."""
    content = hf.file_of({"a": 0}, [], added_tokens=[hf.added(t, special=True) for t in ("<s>", "</s>")])
    specials = {"<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]}}
    content["post_processor"] = {**template("<s>", "A"), "special_tokens": specials}
    (tmp_path / "tokenizer.json").write_text(json.dumps(content))
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"q": q, "a": a}) + "\n" for q, a in (("?", ""), ("", "?"), ("?", "a"))))
    corpus = Corpus(tmp_path, bootstrap, vocab)
    corpus.config["tokenizer"] = {"file": "tokenizer.json", "eos": "</s>", "add_special": True}
    corpus.config["domains"] = {"a": {"train": "a.jsonl", "packing": "none", "prompt": "q", "response": "a"}}
    corpus.create().produce()
    assert {int(r["line"]) for r in corpus.rejects()} == {1, 2}
