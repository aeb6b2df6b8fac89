"""docs/TUTORIAL.md with its training: killed, continued, with other weights."""

import re

import tutorial


def test_the_training_of_the_tutorial_survives_a_kill_and_sees_new_weights(riffle_torch, bootstrap):
    (tutorial.ROOT / "build/tutorial/checkpoint.pt").unlink(missing_ok=True)
    out = tutorial.run(bootstrap, "torch", seconds=900)
    assert riffle_torch and re.search(r"^40$", out, re.M)  # steps, each of one loss
    shares = [int(n) for n in re.findall(r"^\d+ (\d+)$", out, re.M)]
    assert sum(shares[-15:]) < 15 * 16 / 2 < sum(shares[:5]) * 3
