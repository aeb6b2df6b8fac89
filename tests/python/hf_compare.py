"""Compares riffle with the library tokenizers over one case of hf_random, and makes a case that differs smaller."""

import contextlib
import copy
import dataclasses
import json
import os
import pathlib
import subprocess

import tokenizers

SECONDS = 60  # for one run of riffle; the texts are short


class Refused(Exception):
    """One of the two programs does not take the file. The sentence is its message."""


@contextlib.contextmanager
def silenced():
    """Hides what tokenizers prints when it panics. The exception says the same."""
    before, null = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 2)
    try:
        yield
    finally:
        os.dup2(before, 2)
        os.close(before)
        os.close(null)


def lines_of(texts):
    """Returns texts as JSON lines. Bytes are written as they are, even if they are not UTF-8."""
    raw = [t.encode() if isinstance(t, str) else t for t in texts]
    lines = json.dumps([{"text": r.decode("latin-1")} for r in raw], ensure_ascii=False, separators=("\n", ":"))
    return lines[1:-1].encode("latin-1") + b"\n"


def options_of(case):
    return ["--add-special"] * case.add_special + ["--special-as-text"] * case.special_as_text


def riffle_ids(program, file, case):
    """riffle's ids of each text. The texts that it did not get to have its exit code and message in their place."""
    try:
        done = subprocess.run([program, "tokenize", "--threads", "1", "--tokenizer", file, *options_of(case)],
                              input=lines_of(case.texts), capture_output=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return [f"no answer in {SECONDS} s"] * len(case.texts)
    error = done.stderr.decode(errors="replace")
    if done.returncode == 1 and f"tokenizer {file}: " in error:
        raise Refused(error)
    ids = [json.loads(line)["tokens"] for line in done.stdout.splitlines()]
    if done.returncode != 0 or len(ids) != len(case.texts):
        ids += [f"exit {done.returncode}: {error[-300:]}"] * (len(case.texts) - len(ids))
    return ids


def library_ids(file, case):
    """The library's ids of each text, or None for a text on which it fails itself."""
    texts = [t.decode("utf-8", "replace") for t in case.texts]
    with silenced():
        try:
            oracle = tokenizers.Tokenizer.from_file(str(file))
        except Exception as error:  # it has no class of its own
            raise Refused(f"tokenizers: {error}") from error
        oracle.encode_special_tokens = case.special_as_text

        def encode(texts):
            """None if it fails. A panic of Rust is no Exception."""
            try:
                encodings = oracle.encode_batch_fast(texts, add_special_tokens=case.add_special)
            except (KeyboardInterrupt, SystemExit):
                raise
            except BaseException:
                return None
            return [e.ids for e in encodings]

        together = encode(texts)
        return together if together is not None else [(encode([t]) or [None])[0] for t in texts]


@dataclasses.dataclass
class Result:
    differing: list  # indices of texts
    ours: list
    theirs: list

    @property
    def unknown(self):
        """How many texts the library itself does not get through."""
        return sum(t is None for t in self.theirs)


def compare(program, folder, case):
    """Runs both over the case. Raises Refused."""
    file = pathlib.Path(folder) / "tokenizer.json"
    file.write_text(json.dumps(case.content, **case.layout))
    ours = riffle_ids(program, file, case)
    theirs = library_ids(file, case)
    differing = [i for i, (o, t) in enumerate(zip(ours, theirs)) if t is not None and o != t]
    return Result(differing, ours, theirs)


# ---- a smaller case


def without_each(items, size):
    """The list without `size` items, at each place."""
    for at in range(0, len(items), size):
        yield items[:at] + items[at + size:]


def smaller_texts(case):
    text = case.texts[0]
    size = len(text)
    while size > 0:
        for shorter in without_each(text, size):
            yield dataclasses.replace(case, texts=[shorter])
        size //= 2


def smaller_contents(case):
    def changed(change):
        content = copy.deepcopy(case.content)
        change(content)
        return dataclasses.replace(case, content=content)

    content = case.content
    for key in ("normalizer", "pre_tokenizer", "post_processor"):
        if content.get(key):
            yield changed(lambda c, key=key: c.update({key: None}))
            for part, items in content[key].items():
                if isinstance(items, list) and content[key]["type"] == "Sequence":
                    for fewer in without_each(items, 1):
                        yield changed(lambda c, key=key, part=part, fewer=fewer: c[key].update({part: fewer}))
    for i, token in enumerate(content["added_tokens"]):
        yield changed(lambda c, i=i: c["added_tokens"].pop(i))
        for flag in ("single_word", "lstrip", "rstrip", "normalized", "special"):
            if token[flag]:
                yield changed(lambda c, i=i, flag=flag: c["added_tokens"][i].update({flag: False}))
    for flag in ("unk_token", "fuse_unk", "byte_fallback", "ignore_merges"):
        if content["model"].get(flag):
            yield changed(lambda c, flag=flag: c["model"].update({flag: None if flag == "unk_token" else False}))
    merges, vocab = content["model"]["merges"], list(content["model"]["vocab"].items())
    for size in (32, 8, 1):
        for fewer in without_each(merges, size) if len(merges) >= size else ():
            yield changed(lambda c, fewer=fewer: c["model"].update(merges=fewer))
        for fewer in without_each(vocab, size) if len(vocab) >= size else ():
            yield changed(lambda c, fewer=fewer: c["model"].update(vocab=dict(fewer)))
    if case.add_special:
        yield dataclasses.replace(case, add_special=False)
    if case.special_as_text:
        yield dataclasses.replace(case, special_as_text=False)


def minimize(program, folder, case, result, tries=600):
    """Returns a smaller case that still differs. Takes away one thing after the other, in at most `tries` runs."""
    case = dataclasses.replace(case, texts=[min((case.texts[i] for i in result.differing), key=len)])
    found = True
    while found:
        found = False
        for smaller in (lambda: smaller_texts(case), lambda: smaller_contents(case)):
            again = True
            while again and tries > 0:
                again = False
                for other in smaller():
                    tries -= 1
                    try:
                        differs = bool(compare(program, folder, other).differing)
                    except Refused:
                        differs = False
                    if differs:
                        case, again, found = other, True, True
                        break
                    if tries <= 0:
                        return case
        if tries <= 0:
            break
    return case
