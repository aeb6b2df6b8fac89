"""A rank of a training run: `riffle read` with a restart, and a record of every step that it was given."""

import signal

from job import Job


class Trainer(Job):
    """Half of the ranks keep a checkpoint: what they have printed is theirs, and they begin behind it.
    The others begin where the run's commits are, and may be given again what came after the last one.

    seen: (step, lane) -> what was printed of it. again: lanes of steps that were given once more after
    the last commit, which is allowed. repeated: those that were given although a commit or the checkpoint
    was behind them. differing: those that were not the same the second time.
    """

    def __init__(self, rank, world, lanes, words, folder, prefix, env, checkpoint):
        super().__init__(f"trainer{rank}", words, folder, prefix, env)
        self.rank, self.lanes, self.checkpoint = rank, lanes // world, checkpoint
        self.path = self.folder / f"trainer{rank}.tsv"
        self.path.write_text("")
        self.seen, self.again, self.repeated, self.differing, self.gaps = {}, [], [], [], []
        self.step, self.floor, self.place = -1, 0, 0  # last whole step; of commits; bytes read
        self.committed = lambda: 0

    def output(self):
        """What was being written when the process died is no whole step: it is not counted as given."""
        self.read()
        with open(self.path, "r+b") as f:
            f.truncate(self.place)
        return open(self.path, "ab")

    def more_words(self):
        self.read()
        self.floor = self.step + 1 if self.checkpoint else max(self.floor, self.committed())
        return ["--from-step", self.step + 1] if self.checkpoint or self.runs == 1 else []

    def read(self):
        """Takes in the whole steps printed since; only called with the lock, or after the end."""
        with open(self.path, "rb") as f:
            f.seek(self.place)
            lines = f.read().split(b"\n")[:-1]
        for at in range(0, len(lines) - self.lanes + 1, self.lanes):
            step = lines[at:at + self.lanes]
            if not self.take([line.decode().split("\t") for line in step]):
                break
            self.place += sum(len(line) + 1 for line in step)

    def take(self, lines):
        step = int(lines[0][0])
        if any(int(line[0]) != step for line in lines):
            raise RuntimeError(f"{self.name} printed lines of two steps as one: {lines}")
        if step > self.step + 1:
            self.gaps.append(step)
        for _, lane, *what in lines:
            key = step, int(lane)
            if key not in self.seen:
                self.seen[key] = what
                continue
            (self.again if step >= self.floor else self.repeated).append(key)
            if self.seen[key] != what:
                self.differing.append(key)
        self.step = step
        return True

    def tick(self):
        super().tick()
        with self.lock:
            self.read()

    def kill(self):
        self.signal(signal.SIGKILL)
