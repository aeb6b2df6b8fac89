"""README.md: its training loop trains the steps of its mix."""

import re
import shlex
import sys

import readme

LOOP = """
def train(inputs, labels):
    assert inputs.shape == labels.shape == (64, 2048)
    print("trained", flush=True)
"""


def test_the_training_loop_of_the_readme_trains(riffle_torch, package, tmp_path, vocab, unique, bootstrap):
    readme.prepare(tmp_path, vocab, unique, bootstrap)
    loop = readme.renamed(readme.block("python"), pretrain=unique).replace("localhost:9092", bootstrap)
    (tmp_path / "train.py").write_text(LOOP + loop + "    if item[\"step\"] == 70:\n        break\n")
    out = readme.run(tmp_path, f"{shlex.quote(sys.executable)} train.py", **package.env)
    assert riffle_torch and out.count("trained\n") == 71  # more than the lead of 64: the mixer saw commits
    assert re.search(r"takes effect at step (\d+)", out)
