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


@pytest.mark.parametrize("add_special", [False, True])
def test_a_domain_has_the_ids_of_its_tokenizer_json(tmp_path, bootstrap, vocab, add_special):
    file = tmp_path / "tokenizer.json"
    vocabulary = {hf.ALPHABET[b]: b for b in range(256)} | {"ab": 256, "ll": 257}
    content = hf.file_of(
        vocabulary, [["l", "l"]], hf.family_splitter("cl100k"), {"type": "NFC"},
        [hf.added(t, special=True) for t in ("<s>", "</s>", "<eod>")])
    content["post_processor"] = {
        "type": "TemplateProcessing",
        "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [],
        "special_tokens": {"<s>": {"id": "<s>", "ids": [258], "tokens": ["<s>"]}},
    }
    file.write_text(json.dumps(content))
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
