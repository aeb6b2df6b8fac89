"""`make demo-page`, as it runs scripts/demo: from a fresh tree to the page on the demo's mix."""

import json
import os
import re
import signal
import socket
import subprocess
import urllib.error
import urllib.request

import pytest

from conftest import ROOT, wait_until


class Demo:
    def __init__(self, build, bootstrap, log):
        self.log = log
        env = {**os.environ, "B": str(build), "RIFFLE_BOOTSTRAP": bootstrap}
        with log.open("w") as to:  # a group of its own, as a terminal gives it one
            self.process = subprocess.Popen([ROOT / "scripts/demo", "--page"], stdout=to, stderr=to, env=env, start_new_session=True)

    def said(self):
        return self.log.read_text()

    def address(self):
        wait_until(lambda: "the page is at " in self.said() or self.process.poll() is not None, "the address", seconds=300)
        assert self.process.poll() is None, self.said()
        return re.search(r"^demo: the page is at (http://127\.0\.0\.1:\d+/)$", self.said(), re.M)[1]

    def children(self):
        """{command of riffle: pid}"""
        pids = subprocess.run(["ps", "--ppid", str(self.process.pid), "-o", "pid=,args="], capture_output=True, text=True).stdout
        return {words.split()[1]: int(pid) for pid, words in (line.split(None, 1) for line in pids.splitlines())}

    def close(self):
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(timeout=120)


@pytest.fixture
def demo(build, bootstrap, tmp_path):
    started = Demo(build, bootstrap, tmp_path / "demo.log")
    yield started
    started.close()


@pytest.fixture
def taken():
    """Port 8640 is another program's, if not by this test then by itself."""
    with socket.socket() as s:
        try:
            s.bind(("127.0.0.1", 8640))
            s.listen()
        except OSError:
            pass
        yield


def test_the_page_of_the_demo_is_where_it_says_until_ctrl_c(taken, demo):
    address = demo.address()
    assert not address.endswith(":8640/")

    def step():
        try:
            with urllib.request.urlopen(address + "api/v1/status", timeout=30) as answer:
                return json.load(answer)["mix"]["step_next"]
        except urllib.error.HTTPError:  # it has not asked the broker yet
            return 0
    wait_until(lambda: step() > 0, "steps")
    with urllib.request.urlopen(address, timeout=30) as answer:
        assert answer.headers["Content-Type"].startswith("text/html") and b"<title>" in answer.read()
    os.killpg(demo.process.pid, signal.SIGINT)
    assert demo.process.wait(timeout=120) == 0, demo.said()
    assert demo.said().endswith("demo: ending\n"), demo.said()
    with pytest.raises(OSError):
        urllib.request.urlopen(address, timeout=30)


@pytest.mark.parametrize("command, name", [("mix", "mix"), ("read", "rank[01]")])
def test_what_ends_under_the_page_ends_the_demo_with_its_name_and_log(demo, command, name):
    demo.address()
    os.kill(demo.children()[command], signal.SIGKILL)
    assert demo.process.wait(timeout=120) == 1
    assert re.search(rf"^demo: `{name}` ended with -9, see \S+\.{name}\.log", demo.said(), re.M) and "Traceback" not in demo.said(), demo.said()
