"""Memory, file descriptors and processor time of the jobs, from /proc, once a second."""

import collections
import os
import pathlib
import time

TICK_S = 1 / os.sysconf("SC_CLK_TCK")
PAGE_MB = os.sysconf("SC_PAGE_SIZE") / 1e6

Sample = collections.namedtuple("Sample", "at pid rss_mb fds cpu_s")


def look(pid):
    """None: the process has ended."""
    try:
        proc = pathlib.Path(f"/proc/{pid}")
        fields = (proc / "stat").read_text().rpartition(")")[2].split()
        if fields[0] == "Z":
            return None
        return Sample(time.monotonic(), pid, int(fields[21]) * PAGE_MB, len(os.listdir(proc / "fd")),
                      (int(fields[11]) + int(fields[12])) * TICK_S)
    except (FileNotFoundError, ProcessLookupError):
        return None


class Sampler:
    """A chore of the supervisor."""

    def __init__(self, jobs):
        self.jobs, self.due = jobs, 0
        self.samples = {job.name: [] for job in jobs}

    def __call__(self):
        now = time.monotonic()
        if now < self.due:
            return
        self.due = now + 1
        for job in self.jobs:
            found = job.process and look(job.pid)
            if found:
                self.samples[job.name].append(found)

    def longest(self, name):
        """The samples of the process of this job that lived longest."""
        by_pid = collections.defaultdict(list)
        for s in self.samples[name]:
            by_pid[s.pid].append(s)
        return max(by_pid.values(), key=len, default=[])


def cpu_percent(samples):
    """Of one core, over all processes that the samples are of."""
    if len(samples) < 2:
        return 0.0
    spent = sum(max(0.0, b.cpu_s - a.cpu_s) if a.pid == b.pid else b.cpu_s for a, b in zip(samples, samples[1:]))
    return 100 * spent / (samples[-1].at - samples[0].at)


def slope_per_hour(samples, field):
    """Least squares."""
    if len(samples) < 2:
        return 0.0
    xs = [s.at - samples[0].at for s in samples]
    ys = [getattr(s, field) for s in samples]
    mx, my = sum(xs) / len(xs), sum(ys) / len(ys)
    spread = sum((x - mx) ** 2 for x in xs)
    return 3600 * sum((x - mx) * (y - my) for x, y in zip(xs, ys)) / spread if spread else 0.0


def grown(samples, field):
    """From the mean of the second fifth to that of the last: the first is warming up."""
    fifth = len(samples) // 5
    if fifth == 0:
        return 0.0
    mean = lambda part: sum(getattr(s, field) for s in part) / len(part)
    return mean(samples[-fifth:]) - mean(samples[fifth:2 * fifth])
