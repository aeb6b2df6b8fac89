"""docs/TUTORIAL.md with its training: killed, continued, with other weights."""

import re

import tutorial


def test_the_training_of_the_tutorial_survives_a_kill_and_sees_new_weights(riffle_torch, bootstrap):
    out = tutorial.run(bootstrap, "torch", seconds=900)
    assert riffle_torch and re.search(r"^40$", out, re.M)  # steps, each of one loss
    shown = {int(step): int(code) for step, code in re.findall(r"^(\d+) (\d+)$", out, re.M)}
    assert list(shown) == list(range(40, 80))
    changed = int(re.search(r"^accepted.*takes effect at step (\d+)", out, re.M | re.S)[1])
    assert 40 <= changed < 80
    assert {shown[step] for step in range(40, changed)} <= {11, 12}  # 0.7 of 16 sequences, then 0.3
    assert {shown[step] for step in range(changed, 80)} <= {4, 5}
