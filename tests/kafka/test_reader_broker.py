"""A reader and its broker: one that is killed and comes back; how much is fetched ahead of a reader.

The broker that is killed is the test's own; the run's shared one is left alone.
"""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from rank import lines_of

from test_broker import cluster, wait_gone  # noqa: F401 (a fixture)

LANES, STEPS, LENGTH = 8, 600, 2048  # 39 MB of tokens, of which a reader may have 8 MiB and two steps ahead
AHEAD = {"ahead_bytes": 1}


def fill(tools, bootstrap, mix):
    """Fills a batch topic; the lines of its steps."""
    words = ["--mix", mix, "--lanes", LANES, "--steps", STEPS, "--length", LENGTH, "--steps-per-transaction", 20]
    done = subprocess.run([tools / "fill_batches", *map(str, words), "--end", "--print"],
                          env={**os.environ, "RIFFLE_BOOTSTRAP": bootstrap}, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_reader_outlives_its_broker_and_goes_on_where_it_stood(cluster, tools, unique, package):  # noqa: F811
    bootstrap = cluster("up").stdout.strip()
    expected = fill(tools, bootstrap, unique)
    with package.riffle.Reader(unique, bootstrap, step=0, timeout=120, **AHEAD) as reader:
        seen = [line for _ in range(20) for line in lines_of(next(reader))]
        pid = cluster.pid()
        os.kill(pid, signal.SIGKILL)
        wait_gone(pid)
        with pytest.raises(package.riffle.StepTimeout) as said:
            while True:  # what was fetched is given, then the wait says why
                seen += lines_of(reader.next(timeout=5))
        stood = reader.position
        assert stood == len(seen) // LANES < STEPS
        assert str(said.value).startswith(f"step {stood} of mix {unique} does not come: the broker does not answer: ")
        with pytest.raises((package.riffle.StepTimeout, package.riffle.BrokerError)):
            reader.commit(timeout=0.5)
        assert cluster("up").stdout.strip() == bootstrap
        seen += [line for step in reader for line in lines_of(step)]
        assert seen == expected
        try:
            reader.commit()
        except package.riffle.BrokerError as why:  # of the earlier one, which says so
            assert str(why).startswith(f"committing step {stood}: ")
            reader.commit()
        assert reader.committed == STEPS


@pytest.mark.alone
def test_a_reader_that_is_faster_than_what_is_fetched_ahead_does_not_wait_for_the_second(tools, bootstrap, unique, package):
    fill(tools, bootstrap, unique)
    with package.riffle.Reader(unique, bootstrap, step=0, dtype=np.uint16, timeout=60, **AHEAD) as reader:
        next(reader)
        waits = []
        for _ in range(STEPS - 1):
            began = time.monotonic()
            next(reader)
            waits.append(time.monotonic() - began)
        assert reader.next(5) is None
    # 8 MiB ahead of 39 MB: four such waits, were librdkafka's threads not woken.
    assert sum(w > 0.6 for w in waits) <= 1, sorted(waits)[-5:]


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
