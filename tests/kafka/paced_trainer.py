"""A trainer whose pace a test sets: a rank with commits that goes no faster than its output is taken, by a pipe of a page."""

import fcntl
import json
import os
import subprocess


class Trainer:
    """`taken`: what was read of it, lines of --format steps, or of jsonl as objects."""

    def __init__(self, riffle, config, rank, world, steps, commit_every, form):
        here, there = os.pipe()
        fcntl.fcntl(here, fcntl.F_SETPIPE_SZ, 4096)
        self.process = riffle.popen("read", "-c", config, "--rank", rank, "--world", world, "--steps", steps,
                                    "--commit-every", commit_every, "--format", form, "--timeout", 60, stdout=there,
                                    stderr=subprocess.DEVNULL)
        os.close(there)
        self.out, self.taken = os.fdopen(here), []
        self.value = json.loads if form == "jsonl" else lambda line: line.rstrip("\n")
        self.step = (lambda o: o["step"]) if form == "jsonl" else lambda line: int(line.split("\t")[0])

    def read_until(self, step):
        while not self.taken or self.step(self.taken[-1]) < step:
            self.taken.append(self.value(self.out.readline()))

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.taken += [self.value(line) for line in self.out if line.endswith("\n")]
        self.out.close()

    def end(self):
        self.taken += map(self.value, self.out)
        self.out.close()
        assert self.process.wait(timeout=60) == 0
