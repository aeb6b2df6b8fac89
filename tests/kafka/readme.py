"""The configuration, the commands and the training loop of README.md, as the page has them, with names and data of a test."""

import gzip
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = (ROOT / os.environ.get("B", "build")).resolve()
_TEXT = (ROOT / "README.md").read_text()


def block(kind):
    """The first block of a kind."""
    return re.search(rf"^```{kind}\n(.*?)^```$", _TEXT, re.M | re.S)[1]


def renamed(text, **names):
    """With other names in place of the page's, each of which the text has once."""
    for old, new in names.items():
        assert len(re.findall(rf"\b{old}\b", text)) == 1, f"README.md: {old} in {text}"
        text = re.sub(rf"\b{old}\b", new, text)
    return text


def prepare(folder, vocab, unique, bootstrap):
    """Writes run.yml of the page, and the files that it names."""
    text = renamed(block("yaml"), demo=unique, pretrain=unique)
    assert text.count("localhost:9092") == 1
    (folder / "run.yml").write_text(text.replace("localhost:9092", bootstrap))
    shutil.copy(vocab / "cl100k_base.tiktoken", folder)
    lines = "".join(json.dumps({"text": f"{n} " + "a page of words, " * 200}) + "\n" for n in range(400))
    for name in ("code", "web"):
        (folder / name).mkdir()
    (folder / "code/1.jsonl").write_text(lines)
    subprocess.run(["zstd", "-q", "--rm", folder / "code/1.jsonl"], check=True)
    (folder / "web/1.jsonl.gz").write_bytes(gzip.compress(lines.encode()))


def run(folder, then, **env):
    """Runs the commands of the page and, while the mixer runs, the shell command `then`; -> what they printed."""
    topics, produce, mix, weights = (line.removeprefix("$ ").partition(" #")[0].strip() for line in block("console").splitlines())
    assert mix.endswith("&")
    script = f"{topics}\n{produce}\n{mix.replace('&', '2> mix.log &')}\n{then}\n{weights} --timeout 120\nkill $!\n"
    shell = subprocess.Popen(["bash", "-euo", "pipefail", "-c", script], cwd=folder, text=True, start_new_session=True,
                             env={**os.environ, **env, "PATH": f"{BUILD}:{os.environ['PATH']}"},
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        out, errors = shell.communicate(timeout=300)
    finally:
        try:
            os.killpg(shell.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    assert shell.returncode == 0, out + errors
    return out
