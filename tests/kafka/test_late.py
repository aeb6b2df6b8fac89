"""What a killed producer had on its way lands among the records of the next one, which may have read another input."""

import os
import signal
import subprocess

import pytest

from conftest import wait_until
from test_produce import corpus, encoding, lines, pack, texts, tokens, which  # noqa: F401
from wire_proxy import PRODUCE, Fate, Proxy


def append(corpus, tools, values):
    subprocess.run([tools / "topic", "append", f"{corpus.name}.a"], input="".join(f"0\t\t{v.hex()}\n" for v in values), text=True,
                   check=True, timeout=60, env={**os.environ, "RIFFLE_BOOTSTRAP": corpus.bootstrap})


class Late:
    """Holds back what the first producer publishes. It lands in front of the n-th request of the second."""

    def __init__(self, bootstrap):
        self.proxy = Proxy(bootstrap, self)
        self.first, self.before = True, None

    def __call__(self, api_key):
        if api_key != PRODUCE:
            return Fate.PASS
        if self.first:
            return Fate.HOLD
        self.before -= 1
        if self.before == 0:
            self.proxy.release()
        return Fate.PASS


@pytest.fixture
def late(corpus, bootstrap):
    """late(documents, before): a producer of `documents` is killed with its first request on its way."""
    made = Late(bootstrap)
    corpus.config["domains"] = {"a": {"train": ["*.jsonl"]}}

    def kill(documents, before):
        (corpus.folder / "m.jsonl").write_text(lines(documents))
        corpus.create()
        corpus.config["kafka"] = {"bootstrap.servers": made.proxy.address}
        corpus.write()
        killed = corpus.start()
        wait_until(lambda: made.proxy.held, "the first request")
        killed.kill()
        killed.wait(timeout=60)
        made.first, made.before = False, before

    yield kill
    made.proxy.close()


@pytest.mark.parametrize("before", [1, 2])
def test_late_records_of_the_same_input_are_duplicates(corpus, encoding, late, before):
    documents = texts(2000)
    late(documents, before)
    done = corpus.produce()
    assert "PRODUCE-RETRY" in done.stderr
    sequences, end = corpus.read("a")
    assert [tokens(s) for s in sequences] == pack(documents, encoding)[0]
    assert end["documents"] == 2000


@pytest.mark.parametrize("before", [1, 2])
def test_late_records_of_another_input_fail_the_run_and_all_that_follow(corpus, encoding, late, before):
    documents = texts(2000)
    late(documents, before)
    (corpus.folder / "b.jsonl").write_text(lines(texts(500, 2)))
    for _ in range(2):
        done = corpus.produce(check=False)
        assert done.returncode == 1, done.stderr
        assert "both hold sequence 0, and they differ" in done.stderr
        assert " a --restart`" in done.stderr
        assert all(which(v) == "Sequence" for v in corpus.values("a"))
    corpus.produce("a", "--restart", "--yes")
    sequences, _ = corpus.read("a")
    assert [tokens(s) for s in sequences] == pack(texts(500, 2) + documents, encoding)[0]


def test_a_killed_producer_that_was_further_is_compared_with_the_input(corpus, encoding, tools):
    """Both made the first sequences, of file a. The killed one had read file c next, the second one reads file b."""
    parts = {"a": texts(40, 2), "b": texts(200, 3), "c": texts(200, 4)}
    corpus.config["domains"] = {"a": {"train": ["*.jsonl"]}}
    for name in ("a", "c"):
        (corpus.folder / f"{name}.jsonl").write_text(lines(parts[name]))
    killed = corpus.copy()
    killed.produce()
    (corpus.folder / "b.jsonl").write_text(lines(parts["b"]))
    both = len(pack(parts["a"], encoding)[0])
    values = killed.values("a")[:both + 50]
    corpus.create()
    append(corpus, tools, values[:-1])
    header = subprocess.run(["kcat", "-C", "-q", "-e", "-b", killed.bootstrap, "-t", f"{killed.name}.a", "-o", str(both + 49), "-c1",
                             "-f", "%h"], check=True, capture_output=True, text=True, timeout=60).stdout
    assert header.startswith("riffle.input_files=2 ")
    (corpus.folder / "value").write_bytes(values[-1])
    subprocess.run(["kcat", "-P", "-b", corpus.bootstrap, "-t", f"{corpus.name}.a", "-p", "0", "-H", header, corpus.folder / "value"],
                   check=True, timeout=60)
    append(corpus, tools, values[:both])
    refused = corpus.produce(check=False)
    assert refused.returncode == 2 and "1 of the files that sort before c.jsonl are new" in refused.stderr, refused.stderr
    (corpus.folder / "b.jsonl").unlink()
    corpus.produce()
    sequences, end = corpus.read("a")
    assert [tokens(s) for s in sequences] == pack(parts["a"] + parts["c"], encoding)[0]
    assert end["documents"] == 240


def test_late_records_of_an_order_whose_files_are_gone_fail_the_run(corpus, bootstrap, tools):
    """The producer was killed before anything was visible. Its files are gone, so that the next one begins another order."""
    corpus.config["domains"] = {"a": {"train": ["*.jsonl"], "live": True}}
    (corpus.folder / "m.jsonl").write_text(lines(texts(200)))
    killed = corpus.create().produce(check=False, env={"RIFFLE_FAULT": "produce.before_publish"})
    assert killed.returncode == -signal.SIGKILL and corpus.values("a") == []
    other = corpus.copy()
    other.produce()
    on_their_way = other.values("a")[:20]
    (corpus.folder / "m.jsonl").unlink()
    (corpus.folder / "n.jsonl").write_text(lines(texts(200, 2)))
    seen = []

    def decide(api_key):
        seen.extend([api_key] * (api_key == PRODUCE))
        if api_key == PRODUCE and len(seen) == 3:  # the two before it took the input over, and wrote the order
            append(corpus, tools, on_their_way)
        return Fate.PASS

    proxy = Proxy(bootstrap, decide)
    corpus.config["kafka"] = {"bootstrap.servers": proxy.address}
    corpus.write()
    try:
        done = corpus.produce(check=False)
    finally:
        proxy.close()
    assert "a starts over: nothing was published" in done.stderr and "PRODUCE-RETRY" in done.stderr, done.stderr
    assert done.returncode == 1 and "both hold sequence 0, and they differ" in done.stderr, done.stderr
