"""riffle-source --chat: rows of messages to tokens and loss masks, by a tokenizer and a template that are made here."""

import json
import os
import pathlib
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import tokenizers
import transformers

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "python/riffle_source.py"
TEMPLATE = """{%- for m in messages -%}
<|{{ m.role }}|>{% if m.role == "assistant" %}{% generation %}{{ m.content }}<|end|>{% endgeneration %}
{%- else %}{{ m.content }}<|end|>{% endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}<|assistant|>{%- endif -%}"""
UNMARKED = TEMPLATE.replace("{% generation %}", "").replace("{% endgeneration %}", "")
ROWS = [
    {"id": 1, "messages": [{"role": "user", "content": "How are you?"}, {"role": "assistant", "content": "Well, é 漢."},
                           {"role": "user", "content": "And now?"}, {"role": "assistant", "content": "Still well."}]},
    {"id": 2, "messages": [{"role": "system", "content": "Be short."}, {"role": "user", "content": "Hi"},
                           {"role": "assistant", "content": "Hi"}]},
    {"id": 3, "messages": [{"role": "user", "content": "nobody answers"}]},
]


@pytest.fixture
def folder(tmp_path):
    """A tokenizer of bytes, and rows in a Parquet file."""
    made = tokenizers.Tokenizer(tokenizers.models.BPE(vocab={c: i for i, c in enumerate(sorted(
        tokenizers.pre_tokenizers.ByteLevel.alphabet()))}, merges=[]))
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    made.decoder = tokenizers.decoders.ByteLevel()
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=made, eos_token="<|end|>", extra_special_tokens=[
        "<|user|>", "<|assistant|>", "<|system|>"])
    fast.chat_template = TEMPLATE
    fast.save_pretrained(tmp_path / "tokenizer")
    (tmp_path / "unmarked.jinja").write_text(UNMARKED)
    pq.write_table(pa.Table.from_pylist(ROWS), tmp_path / "chat.parquet")
    return tmp_path


def source(folder, *words, resume=0):
    return subprocess.run([sys.executable, SCRIPT, folder / "chat.parquet", "--chat", folder / "tokenizer", *words],
                          capture_output=True, timeout=120, env={**os.environ, "HF_HUB_OFFLINE": "1",
                                                                 "RIFFLE_RESUME": str(resume)})


def records(folder, *words, **more):
    done = source(folder, *words, **more)
    assert done.returncode == 0 and done.stderr == b"", done.stderr.decode()
    return [json.loads(line) for line in done.stdout.splitlines()]


def targets(tokenizer, record):
    """The text of the tokens that are targets, and of the others."""
    inside = {i for first, end in record.get("no_loss", []) for i in range(first, end)}
    return ["".join(tokenizer.decode([t for i, t in enumerate(record["tokens"]) if (i in inside) == masked]))
            for masked in (False, True)]


def test_what_the_assistant_says_is_the_target(folder):
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder / "tokenizer")
    found = records(folder, "--keep", "id")
    assert [tokenizer.decode(r["tokens"]) for r in found] == [
        "".join(f"<|{m['role']}|>{m['content']}<|end|>" for m in row["messages"]) for row in ROWS]
    assert [targets(tokenizer, r)[0] for r in found] == ["Well, é 漢.<|end|>Still well.<|end|>", "Hi<|end|>", ""]
    assert targets(tokenizer, found[1])[1] == "<|system|>Be short.<|end|><|user|>Hi<|end|><|assistant|>"
    assert [r["keep"] for r in found] == [{"id": 1}, {"id": 2}, {"id": 3}]
    assert all("eos" not in r for r in found)
    assert records(folder, "--keep", "id", resume=1) == found[1:]


def test_all_is_a_target_where_asked_for_also_by_a_template_without_marks(folder):
    found = records(folder, "--loss", "all", "--chat-template", folder / "unmarked.jinja")
    assert [r["tokens"] for r in found] == [r["tokens"] for r in records(folder)]
    assert all("no_loss" not in r for r in found)


def test_a_prompt_ends_where_the_answer_begins_without_targets_and_eos(folder):
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder / "tokenizer")
    last = records(folder, "--prompt-only")[2]
    assert tokenizer.decode(last["tokens"]) == "<|user|>nobody answers<|end|><|assistant|>"
    assert last["no_loss"] == [[0, len(last["tokens"])]] and last["eos"] is False


@pytest.mark.parametrize("words, code, why", [
    (["--chat-template", "unmarked.jinja"], 1, "does not mark what the assistant says"),
    (["--chat-template", "none.jinja"], 1, "none.jinja"),
    (["--messages", "talk"], 1, "no column talk: there are id, messages"),
    (["--messages", "id"], 1, "column id is not a list of messages"),
    (["--columns", "id"], 2, "--columns cannot be given with --chat"),
])
def test_what_is_wrong_is_said(folder, words, code, why):
    done = subprocess.run([sys.executable, SCRIPT, "chat.parquet", "--chat", "tokenizer", *words], cwd=folder,
                          capture_output=True, timeout=120, env={**os.environ, "HF_HUB_OFFLINE": "1"})
    assert done.returncode == code and why in done.stderr.decode(), done.stderr.decode()
