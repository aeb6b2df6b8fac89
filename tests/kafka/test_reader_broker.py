"""A reader and its broker: one that is killed and comes back; how much is fetched ahead of a reader."""

import os
import re
import subprocess
import sys
import time

import numpy as np
import pytest
from one_kill import one_kill
from rank import lines_of

LANES, LENGTH = 8, 2048
STEPS, FEW = 600, 250  # 39 and 16 MB of tokens, of which a reader may have 8 MiB and two steps ahead
AHEAD = {"ahead_bytes": 1}


def fill(tools, bootstrap, mix, steps=STEPS, lanes=LANES, length=LENGTH):
    """Fills a batch topic; the lines of its steps."""
    words = ["--mix", mix, "--lanes", lanes, "--steps", steps, "--length", length, "--steps-per-transaction", 20]
    done = subprocess.run([tools / "fill_batches", *map(str, words), "--end", "--print"],
                          env={**os.environ, "RIFFLE_BOOTSTRAP": bootstrap}, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@one_kill()
def test_a_reader_outlives_its_broker_and_goes_on_where_it_stood(s):
    mix, errors = f"{s.unique}-read", s.package.riffle
    expected = fill(s.tools, s.bootstrap, mix, FEW)
    with errors.Reader(mix, s.bootstrap, step=0, timeout=120, **AHEAD) as reader:
        seen = [line for _ in range(20) for line in lines_of(next(reader))]
        yield
        with pytest.raises(errors.StepTimeout) as said:
            while True:  # what was fetched is given, then the wait says why
                seen += lines_of(reader.next(timeout=5))
        stood = reader.position
        assert stood == len(seen) // LANES < FEW
        assert re.match(f"step {stood} of mix {mix} did not come within [5-9] s: the broker does not answer: ", str(said.value))
        with pytest.raises((errors.StepTimeout, errors.BrokerError)):
            reader.commit(timeout=0.5)
        yield
        seen += [line for step in reader for line in lines_of(step)]
        assert seen == expected
        try:
            reader.commit()
        except errors.BrokerError as why:  # of the earlier one, which says so
            assert str(why).startswith(f"committing step {stood}: ")
            reader.commit()
        assert reader.committed == FEW


def test_a_reader_that_is_faster_than_what_is_fetched_ahead_does_not_wait_for_the_second(tools, bootstrap, unique, package):
    fill(tools, bootstrap, unique, lanes=1, length=LANES * LENGTH)
    with package.riffle.Reader(unique, bootstrap, step=0, dtype=np.uint16, timeout=60, **AHEAD) as reader:
        next(reader)
        waits = []
        for _ in range(STEPS - 1):
            began = time.monotonic()
            next(reader)
            waits.append(time.monotonic() - began)
        assert reader.next(5) is None
    # 8 MiB ahead of 39 MB of one lane: ten to thirty such waits, were librdkafka's threads not woken. A busy machine makes one or two.
    assert sum(w > 0.6 for w in waits) <= 4, sorted(waits)[-8:]


def test_what_is_fetched_ahead_is_bounded_by_ahead_bytes(tools, bootstrap, unique, package):
    """A reader that stalls for a second has no more of the mix in memory than it may."""
    fill(tools, bootstrap, unique)
    program = (
        "import sys, time, riffle\n"
        "def anon():\n"
        "    return next(int(l.split()[1]) for l in open('/proc/self/status') if l.startswith('RssAnon')) / 1024\n"
        "mix, bootstrap = sys.argv[1:]\n"
        "with riffle.Reader(mix, bootstrap, step=0, timeout=60, ahead_bytes=1) as r:\n"
        "    next(r)\n"
        "    before = anon()\n"
        "    time.sleep(2)\n"
        "    print(anon() - before, anon())\n")
    done = subprocess.run([sys.executable, "-c", program, unique, bootstrap], env=package.env, capture_output=True, text=True,
                          timeout=120)
    assert done.returncode == 0, done.stderr
    grown, _ = map(float, done.stdout.split())
    assert grown < 8 + 2 * LANES * 0.25 + 4, done.stdout  # its share, a fetch too many in flight, what is decoded
