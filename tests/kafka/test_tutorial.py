"""docs/TUTORIAL.md without PyTorch: every command of it works, and shows what the page says."""

import re

import tutorial


def test_the_tutorial_works_as_it_stands(bootstrap):
    out = tutorial.run(bootstrap, seconds=600)
    assert re.search(r"^code +\d+ +yes +0\.7 ", out, re.M) and "the mix has not started" in out
    assert len(re.findall(r"^[01]\t[0-3]\t[0-9a-f]{16}\t", out, re.M)) == 8
    assert "takes effect at step" in out
