"""Programs with a pipe on a real broker: a failure anywhere in the pipe leaves the domain open.

`test -e whole` is the program that fails until the test has made that file; `grep .` passes every line.
"""

import json
import signal

import pytest

from test_append import check
from test_follow import check_exactly_once, end_of, live, wait_for_all  # noqa: F401
from test_produce import corpus, encoding, lines, pack, source_of, texts, tokens  # noqa: F401

HALF = "{ cat one.jsonl && test -e whole && cat two.jsonl; } | grep ."


def halves(corpus, line=lambda text: {"text": text}):
    """The files of HALF; gives the documents of both."""
    documents = texts(60, 1), texts(50, 2)
    for name, half in zip(("one", "two"), documents):
        (corpus.folder / f"{name}.jsonl").write_text("".join(json.dumps(line(t)) + "\n" for t in half))
    return documents


@pytest.mark.parametrize("kind", ["train", "valid", "tokens"])
def test_a_domain_whose_pipe_failed_stays_open_and_the_repaired_program_completes_it(corpus, encoding, kind):
    line = (lambda text: {"tokens": encoding.encode_ordinary(text)}) if kind == "tokens" else lambda text: {"text": text}
    one, two = halves(corpus, line)
    domain, suffix, command = {"train": ({"exec": HALF}, "a", "produce"),
                               "valid": ({"train": ["one.jsonl"], "valid": {"exec": HALF}}, "a.valid", "produce"),
                               "tokens": ({"exec": HALF, "tokens": "jsonl"}, "a", "import")}[kind]
    corpus.config["domains"] = {"a": domain}
    corpus.create()
    failed = corpus.riffle(command, "-c", corpus.path, check=False)
    assert failed.returncode == 1 and "exit status 1 (grep also ends with 1" in failed.stderr, failed.stderr
    assert len(corpus.values(suffix)) > 0 and corpus.log(suffix)[1] is None
    assert corpus.riffle(command, "-c", corpus.path, check=False).returncode == 1
    assert corpus.log(suffix)[1] is None
    (corpus.folder / "whole").touch()
    corpus.riffle(command, "-c", corpus.path)
    sequences, end = corpus.read(suffix)
    assert [tokens(s) for s in sequences] == pack(one + two, encoding)[0] and end["documents"] == len(one + two)
    if kind == "train":
        assert {s for q in sequences for s in q["payload"]["sources"]} == {source_of(corpus, "a")}


def test_a_followed_pipe_that_failed_is_resumed_where_it_was(live, encoding):
    w = live.writer
    w.append("log", 40)
    live.config["domains"]["a"] = {
        "exec": "{ tail -n +$((RIFFLE_RESUME + 1)) in/log; test ! -e fails; } | { grep . || [ $? = 1 ]; }", "live": True}
    (live.folder / "fails").touch()
    failed = live.create().produce("--follow", check=False)
    assert failed.returncode == 1 and "exit status 1" in failed.stderr, failed.stderr
    check_exactly_once(live, encoding, wait_for_all(live, encoding))
    (live.folder / "fails").unlink()
    w.append("log", 40)
    process = live.start("--follow")
    check_exactly_once(live, encoding, wait_for_all(live, encoding))
    end_of(process)


@pytest.mark.parametrize("way", ["max_rejects", "restart"])
def test_a_half_published_domain_of_a_pipe_into_head_can_be_completed(corpus, encoding, way):
    """An earlier version took no notice that SIGPIPE ended the first program, and a domain is bound to its command."""
    documents = texts(100, 3)
    (corpus.folder / "a.jsonl").write_text(lines(documents))
    endless = "sh -c 'cat a.jsonl; exec yes'"
    domain = {"exec": f"{endless} | head -n 90"}
    corpus.config["domains"] = {"a": domain}
    died = corpus.create().produce(check=False, env={"RIFFLE_FAULT": "produce.after_publish:20"})
    assert died.returncode == -signal.SIGKILL
    refused = corpus.produce(check=False)
    assert refused.returncode == 1 and "exit status 141" in refused.stderr and "(PROGRAM || true) | head" in refused.stderr
    assert corpus.log("a")[1] is None
    if way == "restart":
        domain["exec"] = f"({endless} || true) | head -n 90"
        corpus.write()
        other = corpus.produce(check=False)
        assert other.returncode == 2 and f"`riffle produce -c {corpus.path} a --restart`" in other.stderr, other.stderr
        corpus.produce("a", "--restart", "--yes")
    else:
        corpus.config["max_rejects"] = 1
        corpus.write()
        corpus.produce()
    sequences, end = corpus.read("a")
    assert [tokens(s) for s in sequences] == pack(documents[:90], encoding)[0]
    assert (end["documents"], end["rejects"]) == (90, way == "max_rejects")


def test_append_completes_a_domain_that_was_closed_too_early(corpus, encoding):
    """As an earlier version closed it: the program ended with 0 after its first half."""
    one, two = halves(corpus)
    corpus.config["domains"] = {"a": {"exec": "{ cat one.jsonl; test ! -e whole || cat two.jsonl; } | grep ."}}
    corpus.create().produce()
    check(corpus, encoding, [one])
    (corpus.folder / "whole").touch()
    assert "a is complete: nothing to do" in corpus.produce().stderr
    corpus.produce("--append")
    check(corpus, encoding, [one, two])
