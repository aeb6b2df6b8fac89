"""Processes that are started again when they end, as a supervisor of services does; and who does it."""

import os
import pathlib
import signal
import subprocess
import threading
import time

RESTART_S = 0.3


class Job:
    """One command line, run again whenever it ends, until stop().

    The log of each run is NAME.N.log in the folder. `wants_restart` may be replaced: it is asked with
    the exit code.
    """

    def __init__(self, name, words, folder, prefix=(), env=None):
        self.name, self.words, self.folder = name, [*prefix, *map(str, words)], pathlib.Path(folder)
        self.env = {**os.environ, **(env or {})}
        self.process, self.log = None, None
        self.runs, self.ends, self.held = 0, [], True
        self.next_env = {}  # of the next run only
        self.lock = threading.Lock()

    def more_words(self):
        """Of this run; called before each start."""
        return []

    def output(self):
        """A file for stdout, or None."""
        return None

    def start(self):
        with self.lock:
            self.held = False
            self._start()

    def _start(self):
        self.runs += 1
        self.log = self.folder / f"{self.name}.{self.runs}.log"
        words, out = self.words + [str(w) for w in self.more_words()], self.output()
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(words, stdout=out or subprocess.DEVNULL, stderr=log,
                                            stdin=subprocess.DEVNULL, env={**self.env, **self.next_env})
        self.next_env = {}
        if out:
            out.close()

    def tick(self):
        """Starts again what has ended."""
        with self.lock:
            if self.held or self.process.poll() is None:
                return
            now = time.monotonic()
            if not self.ends or self.ends[-1][0] != self.runs:
                self.ends.append((self.runs, self.process.returncode, now))
            if now - self.ends[-1][2] >= RESTART_S:
                self._start()

    @property
    def pid(self):
        return self.process.pid

    def signal(self, how):
        self.process.send_signal(how)

    def stop(self, seconds=30):
        """A clean end, without another start. Returns the exit code."""
        with self.lock:
            self.held = True
            if self.process is None:
                return None
            if self.process.poll() is None:
                self.process.send_signal(signal.SIGCONT)
                self.process.terminate()
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return f"did not end within {seconds} s of SIGTERM"

    def text(self, run=None):
        """The log of a run, by default the last one."""
        path = self.log if run is None else self.folder / f"{self.name}.{run}.log"
        return path.read_text(errors="replace") if path and path.exists() else ""


class Supervisor(threading.Thread):
    """Looks after jobs, and does what else is to be done all the time, every 50 ms."""

    def __init__(self):
        super().__init__(daemon=True)
        self.jobs, self.chores, self.over, self.failure = [], [], False, None

    def run(self):
        while not self.over:
            try:
                for job in list(self.jobs):
                    job.tick()
                for chore in list(self.chores):
                    chore()
            except Exception as e:  # told by whoever waits
                self.failure = e
                return
            time.sleep(0.05)

    def wait_for(self, condition, what, seconds):
        """Polls; returns the seconds it took."""
        began = time.monotonic()
        while not condition():
            if self.failure:
                raise self.failure
            if time.monotonic() - began > seconds:
                raise TimeoutError(f"{what} did not happen within {seconds} s")
            time.sleep(0.05)
        return time.monotonic() - began

    def end(self):
        self.over = True
        if self.is_alive():
            self.join()
        for job in self.jobs:
            if job.process and job.process.poll() is None:
                job.process.kill()
                job.process.wait()
