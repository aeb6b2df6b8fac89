"""examples/train.py, short: killed and resumed, the same losses bit for bit; a skipped step differs."""

import json
import os
import pathlib
import subprocess
import sys

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = (ROOT / os.environ.get("B", "build")).resolve()


def test_a_killed_training_has_the_losses_of_an_undisturbed_one_bit_for_bit(bootstrap, tmp_path):
    done = subprocess.run([sys.executable, ROOT / "examples/train.py", "--steps", "60", "--out", tmp_path], text=True,
                          capture_output=True, timeout=900, env={**os.environ, "RIFFLE_BOOTSTRAP": bootstrap, "B": str(BUILD)})
    assert done.returncode == 0, done.stdout + done.stderr
    assert "are the same doubles" in done.stdout and "WRONG" not in done.stdout
    assert (tmp_path / "train.png").stat().st_size > 10000
    for domain in ("code", "headers", "manual", "prose"):
        line = next(line for line in (tmp_path / "status.txt").read_text().splitlines() if line.startswith(domain + " "))
        assert 1 < float(line.split()[-1]) < 9  # riffle status shows its loss


def test_a_chat_set_is_trained_on_what_the_assistant_says_alone(bootstrap, tmp_path):
    """From rows of messages and a template to the loss, and what was a target is in the run's own log."""
    done = subprocess.run([sys.executable, ROOT / "examples/train.py", "--chat", "--steps", "60", "--out", tmp_path,
                           "--tensorboard", tmp_path / "events"], text=True, capture_output=True, timeout=900,
                          env={**os.environ, "RIFFLE_BOOTSTRAP": bootstrap, "B": str(BUILD), "HF_HUB_OFFLINE": "1"})
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [json.loads(line)["messages"] for line in (tmp_path / "chats.jsonl").read_text().splitlines()]
    said = {"".join(f"{m['content']}<|end|>" for m in row if m["role"] == "assistant") for row in rows}
    curve = [json.loads(line) for line in (tmp_path / "trainers/curve.jsonl").read_text().splitlines()]
    assert [e["step"] for e in curve] == list(range(60))

    def is_said(text):
        """A sequence is of whole chats: its targets are their answers, one behind the other."""
        return text == "" or any(text.startswith(s) and is_said(text[len(s):]) for s in said)
    assert all(text and is_said(text) for e in curve for text in e["targets"])
    losses = [float.fromhex(e["loss"]) for e in curve]
    assert sum(losses[-5:]) < 0.6 * sum(losses[:5])
    tokens = sum(len(t.replace("<|end|>", "E")) for e in curve for t in e["targets"])
    assert sum(e["domains"]["chats"][1] for e in curve) == 60 * 16 and tokens > 60 * 16 * 4
    assert f"the targets of the first sequence, of several chats: {curve[0]['targets'][0]}" in done.stdout
    events = EventAccumulator(str(tmp_path / "events/trainers")).Reload()
    for name, values in (("loss/chats", losses), ("loss/all", losses), ("share/chats", [1.0] * 60), ("lr_scale", [1.0] * 60)):
        found = events.Scalars(name)
        assert [e.step for e in found] == list(range(60)) and [e.value for e in found] == pytest.approx(values, rel=1e-5)


def test_a_writer_of_wandb_has_the_values_of_each_step(package, wait_for, tmp_path, monkeypatch):
    """Its own files, written without a server, by a process of its own that may end after finish()."""
    assert package.riffle
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_DIR", str(tmp_path))
    monkeypatch.syspath_prepend(ROOT / "examples")
    import writers
    log = writers.Wandb("riffle", name="test")
    item = {"step": 3, "domains": ["b", "a", "b", "b"], "lr_scale": 0.5}
    values = writers.values_of(item, {"a": (10.0, 0.0, 5), "b": (3.0, 0.0, 15)})
    assert values == {"lr_scale": 0.5, "share/a": 0.25, "share/b": 0.75, "loss/a": 2.0, "loss/b": 0.2, "loss/all": 0.65}
    log.write(3, values)
    log.close()
    [written] = tmp_path.glob("wandb/offline-run-*/*.wandb")
    wanted = [*map(str.encode, values), b"0.65"]
    wait_for(lambda: all(text in written.read_bytes() for text in wanted), f"{values} in {written}")
