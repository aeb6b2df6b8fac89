"""riffle mix --end-at-step: the mix ends at exactly that step for all that read it; and what it is for, another length."""

import json
import re
import signal

import pytest

from conftest import ROOT, wait_until

END, LANES = 20, 8
WEIGHTS = {"a": 0.7, "b": 0.3}


def status_of(riffle, config):
    return json.loads(riffle("status", "-c", config, "--json").stdout)["mix"]


def steps_of(lines):
    return [int(line.split("\t")[0]) for line in lines]


def test_it_takes_over_and_ends_the_mix_at_that_step_for_trainers_replay_and_status(
        riffle, fill, configure, read, package, bootstrap):
    """A trainer works, and the mixer is at most 8 steps ahead of it."""
    fill("a", "b")
    calm, config = configure(WEIGHTS, "calm"), configure(WEIGHTS, max_lead_steps=8)
    riffle("mix", "-c", calm, "--until-step", END)
    first = riffle.popen("mix", "-c", config)
    name = json.loads(config.read_text())["mix"]["name"]
    with package.riffle.Reader(name, bootstrap, 0, 1, step=0, timeout=60) as reader:
        seen = [next(reader) for _ in range(4)]
        reader.trained(3)
        wait_until(lambda: status_of(riffle, config)["step_next"] == 12, "the mixer waiting for its trainer")
        last = riffle.popen("mix", "-c", config, "--end-at-step", END)
        assert first.wait(60) == 3 and last.poll() is None
        for step in reader:
            seen.append(step)
            reader.trained(step.step)
        assert [step.step for step in seen] == list(range(END))
    assert last.wait(60) == 0
    assert f"ended before step={END}" in last.stderr.read()
    assert read(config, END + 5) == read(calm, END)
    assert status_of(riffle, config)["state"] == "ended"
    assert f"replayed steps 0..{END}" in riffle("replay", "-c", config, "--steps", f"0..{END}").stdout
    assert f"ended before step={END}" in riffle("mix", "-c", config).stderr  # nothing follows
    rest = ("read", "-c", config, "--from-step", END - 1, "--format", "none", "--steps")
    assert "ends before" not in riffle(*rest, 1).stderr
    assert f"read: the mix ends before step {END}: 1 of 5 steps were read" in riffle(*rest, 5).stderr
    assert riffle("read", "-c", config, "--from-step", END).stderr.endswith(f"read: mix {name} ended before step {END}\n")
    beyond = riffle("replay", "-c", config, "--steps", f"{END - 2}..{END + 2}", check=False)
    assert beyond.returncode == 1 and f"mix {name} has ended before step {END}: --steps {END - 2}..{END}\n" in beyond.stderr
    assert f"ended before step={END}" in riffle("mix", "-c", config, "--end-at-step", END).stderr
    done = riffle("weights", "-c", config, "a=1", check=False)
    assert done.returncode != 0 and f"ended before step {END}" in done.stderr


def test_it_is_refused_below_what_is_published_and_the_mixer_that_runs_goes_on(riffle, fill, configure, read):
    fill("a", "b")
    config = configure(WEIGHTS, max_lead_steps=30)
    running = riffle.popen("mix", "-c", config)
    wait_until(lambda: status_of(riffle, config)["step_next"] == 30, "30 steps")
    done = riffle("mix", "-c", config, "--end-at-step", 29, check=False)
    assert done.returncode == 2
    assert re.search(r"cannot end before step 29: the steps below 30 are published. .*--end-at-step 30\n", done.stderr)
    assert running.poll() is None and status_of(riffle, config)["state"] == "running"
    riffle("mix", "-c", config, "--end-at-step", 30)
    assert running.wait(60) == 3 and steps_of(read(config, 40)) == [s for s in range(30) for _ in range(LANES)]
    done = riffle("mix", "-c", config, "--end-at-step", 35, check=False)
    assert done.returncode == 2 and "ended before step 30 already" in done.stderr


def test_a_step_beyond_the_end_is_no_end(riffle, fill, configure):
    """The checkpoint of another mix would else train nothing, and say nothing."""
    fill("a", "b")
    config = configure({"a": 1, "b": 1})
    riffle("mix", "-c", config, "--end-at-step", 6)
    assert riffle("read", "-c", config, "--from-step", 6).stdout == ""
    for step in (7, 500):
        done = riffle("read", "-c", config, "--from-step", step, check=False)
        assert done.returncode == 2 and f"ended before step 6, so that no step {step} comes" in done.stderr


@pytest.mark.parametrize("words, said", [
    (["--end-at-step", 5, "--until-step", 5], "give one of --until-step, which pauses the mix, and --end-at-step"),
    (["--end-at-step", 0], "--end-at-step: out of range"),
])
def test_mistakes(riffle, write_config, words, said):
    done = riffle("mix", "-c", write_config("x"), *words, check=False)
    assert done.returncode == 2 and said in done.stderr


@pytest.mark.parametrize("point", ["mix.before_begin:2", "mix.after_flush:2", "mix.after_offsets:2", "mix.after_commit:2"])
def test_killed_around_the_end_the_same_command_ends_it_once(riffle, fill, configure, read, point):
    """The second transaction of the run holds the last step and the end."""
    fill("a", "b")
    config = configure(WEIGHTS, transaction_bytes=10**6, transaction_ms=30000)
    riffle("mix", "-c", config, "--until-step", END - 1)
    died = riffle("mix", "-c", config, "--end-at-step", END, env={"RIFFLE_FAULT": point}, check=False)
    assert died.returncode == -signal.SIGKILL, died.stderr
    riffle("mix", "-c", config, "--end-at-step", END)
    assert steps_of(read(config, END + 5)) == [s for s in range(END) for _ in range(LANES)]
    assert status_of(riffle, config)["state"] == "ended"


def test_a_standby_that_is_to_end_it_does_so_in_its_turn(riffle, fill, configure, read):
    fill("a", "b")
    config = configure(WEIGHTS, max_lead_steps=10)
    first = riffle.popen("mix", "-c", config)
    wait_until(lambda: status_of(riffle, config)["step_next"] == 10, "10 steps")
    standby = riffle.popen("mix", "-c", config, "--standby", "--end-at-step", 10)
    wait_until(lambda: len(status_of(riffle, config)["mixers"]) == 2, "the standby")
    first.send_signal(signal.SIGTERM)
    assert first.wait(60) == 0 and standby.wait(60) == 0
    assert steps_of(read(config, 20)) == [s for s in range(10) for _ in range(LANES)]


def test_another_sequence_length_is_a_second_corpus_and_a_second_mix(riffle, tmp_path, write_config, bootstrap, unique, vocab,
                                                                     package):
    """The guide's recipe, on a real text: 64 tokens a sequence to step 12, then 256, the same tokens in a step."""
    words = (ROOT / "docs/GUIDE.md").read_text().split()
    for name, k in (("code", 3), ("prose", 5)):
        lines = (json.dumps({"text": " ".join(words[i * k % 500:][:200 + i])}) + "\n" for i in range(150))
        (tmp_path / f"{name}.jsonl").write_text("".join(lines))
    config = write_config({
        "corpus": unique, "tokenizer": {"file": str(vocab / "cl100k_base.tiktoken"), "pattern": "cl100k"},
        "sequence_length": 64, "domains": {d: {"train": [f"{d}.jsonl"]} for d in ("code", "prose")},
        "mix": {"name": f"{unique}-short", "seed": 7, "global_batch": 16, "lanes": 4, "max_lead_steps": 4,
                "weights": {"code": 0.3, "prose": 0.7}},
        "kafka": {"bootstrap.servers": bootstrap}})
    long = write_config({**json.loads(config.read_text()), "corpus": f"{unique}-long", "sequence_length": 256,
                         "mix": {**json.loads(config.read_text())["mix"], "name": f"{unique}-long", "global_batch": 4}}, "long.yml")
    for path in (config, long):
        riffle("topics", "-c", path, "--create")
        riffle("produce", "-c", path)
    plans = [json.loads(riffle("plan", "-c", path, "--steps", 12, "--json").stdout) for path in (config, long)]
    assert [p["draws"] for p in plans] == [12 * 16, 12 * 4]
    assert len({sum(d["tokens"] for d in p["domains"]) for p in plans}) == 1  # as many tokens in as many steps
    mixers = [riffle.popen("mix", "-c", config), riffle.popen("mix", "-c", long)]

    def train(name, first, ends=None):
        """Steps of the run are counted on; returns [(step of the run, shape)]."""
        with package.riffle.Reader(name, bootstrap, 0, 1, step=0, timeout=60) as reader:
            for step in reader:
                reader.trained(step.step)
                yield first + step.step, step.tokens.shape
                if first + step.step == ends:
                    return

    seen = []
    for step in train(f"{unique}-short", 0):
        seen.append(step)
        if step[0] == 5:  # the mixer is before step 10
            mixers.append(riffle.popen("mix", "-c", config, "--end-at-step", 12))
            assert mixers[0].wait(60) == 3
    seen += train(f"{unique}-long", len(seen), 19)
    assert [s for s, _ in seen] == list(range(20))
    assert [shape for _, shape in seen] == [(16, 65)] * 12 + [(4, 257)] * 8
    assert mixers[2].wait(60) == 0
    mixers[1].send_signal(signal.SIGTERM)
    assert mixers[1].wait(60) == 0
