"""stress_calls: calls of the Python package in random order from many threads, with closes, forks and ends of the program in
the middle of them. None of this may end a process by a signal, hang, or raise what is no error of riffle.

    stress_calls.py --mix M --corpus C --domain D --bootstrap HOST:PORT [--seconds 6] [--seed N] [--threads 8]
    stress_calls.py ... --round SEED        one process of it

Each round is a process of its own, because it also tests how a process ends. A round follows from its seed, but for the order
in which its threads run. $RIFFLE_STRESS_UNDER names a sanitizer, whose report is a failure (scripts/stress-python). Exit 1 if a
round has failed; its seed is printed.
"""

import argparse
import faulthandler
import gc
import os
import random
import signal
import subprocess
import sys
import threading
import time
import traceback

ROUND_S = (0.3, 2.0)  # that the threads work
LATE_S = 120  # a round that takes longer hangs; a sanitizer makes it slow
CHILD_S = 20
SANITIZED = os.environ.get("RIFFLE_STRESS_UNDER", "")
# The allocators of gcc 12's sanitizers are not made for forks: a child hangs in free() if a thread of the parent had a lock of theirs.
# Under ThreadSanitizer nearly every child does; under AddressSanitizer few do, which are not counted. Runs without a tool see hangs.
FORKS = not SANITIZED.endswith("tsan")
KINDS = ("reader", "committing", "sequences", "progress", "reporter")
ENDS = ("return", "return", "exit", "raise", "interrupt", "close")


class Shared:
    """The objects that all threads of a round use. A closed one is replaced by the next thread that wants one."""

    def __init__(self, a, riffle):
        self.a, self.riffle = a, riffle
        self.there = {}
        self.steps, self.states = [], []
        self.done = 0  # calls without an error
        self.failed = False

    def get(self, kind, rng):
        found = self.there.get(kind)
        if found is None:
            found = self.there[kind] = self._open(kind, rng)
        return found

    def _open(self, kind, rng):
        a, r = self.a, self.riffle
        if kind == "reader":
            return r.Reader(a.mix, a.bootstrap, step=rng.choice([0, 5, 10**6]), timeout=0.2, run="stress")
        if kind == "committing":
            return r.Reader(a.mix, a.bootstrap, step=0, commit_every=2, timeout=0.2, run="stress-commits")
        if kind == "sequences":
            return r.Sequences(a.mix, a.bootstrap, steps=10**6, timeout=0.2, run="stress-index")
        if kind == "progress":
            return r.Progress(a.mix, a.bootstrap, run="stress-progress")
        return r.Reporter(a.mix, a.bootstrap, run="stress-reports")

    def close(self, kind):
        found = self.there.pop(kind, None)
        if found is not None:
            found.close()


# ---- what a thread may do ----


def take(s, rng):
    s.steps.append(s.get(rng.choice(["reader", "committing"]), rng).next(rng.choice([0, 0.05, 5])))
    del s.steps[:-8]


def take_into(s, rng):
    import numpy as np
    s.get("reader", rng).next_into(np.empty(1 << 16, np.uint32), 0.05)


def look(s, rng):
    reader = s.get(rng.choice(["reader", "committing"]), rng)
    rng.choice([lambda: reader.info, lambda: reader.position, lambda: reader.place, lambda: reader.committed, reader.metrics,
                lambda: len(reader.info), s.riffle.metrics])()


def look_at_a_step(s, rng):
    step = rng.choice(s.steps or [None])
    if step is not None:
        rng.choice([lambda: step.tokens.sum(), step.targets, lambda: step.domains, lambda: step.round,
                    lambda: step.spans(0)])()


def commit(s, rng):
    reader = s.get(rng.choice(["reader", "committing"]), rng)
    rng.choice([lambda: reader.commit(wait=False), lambda: reader.commit(timeout=1), lambda: reader.flush(0.05)])()


def train(s, rng):
    s.get("reader", rng).trained()


def report(s, rng):
    losses = {"a": (1.0, 0.0, 5)}
    rng.choice([lambda: s.get("reader", rng).report(0, losses), lambda: s.get("reporter", rng).report(0, losses),
                lambda: s.get("reporter", rng).flush(0.05)])()


def progress(s, rng):
    found = s.get("progress", rng)
    rng.choice([lambda: found.trained(s.get("reader", rng).place, {"a": (1.0, 0.0, 5)}), lambda: found.flush(0.05),
                lambda: found.committed, lambda: found.known])()


def seek(s, rng):
    reader = s.get("reader", rng)
    rng.choice([lambda: reader.seek(rng.choice([0, 3, 10, 10**6])), lambda: save(s, rng), lambda: load(s, rng)])()


def save(s, rng):
    """States of the reader and of sequences, whose threads may ask the ledger at once."""
    found = s.get(rng.choice(["reader", "committing", "sequences"]), rng)
    s.states.append(rng.choice([found.state_dict, lambda: found.state_dict(step=rng.choice([0, 3, 10, 10**6]))])())
    del s.states[:-8]


def load(s, rng):
    state = rng.choice(s.states or [None])
    if state is not None:
        found = s.get(rng.choice(["reader", "sequences"]), rng)
        found.load_state_dict({**state, "run": found.run, **rng.choice([{}, {}, {"schedule": 1}, {"step": -1}])})


def index(s, rng):
    sequences = s.get("sequences", rng)
    rng.choice([lambda: sequences[rng.randrange(200)], lambda: sequences[10**7], lambda: len(sequences)])()


def hold_out(s, rng):
    found = s.riffle.Validation(s.a.corpus, s.a.domain, s.a.bootstrap, batch=16, timeout=1)
    for n, _ in enumerate(found):
        if n == 2:
            break  # its handle ends with the generator, in whichever thread


def close(s, rng):
    s.close(rng.choice(KINDS))


def forget(s, rng):
    s.there.pop(rng.choice(KINDS), None)  # the last thread that has it ends it


def collect(s, rng):
    gc.collect()


def wrong(s, rng):
    reader = s.get("reader", rng)
    rng.choice([lambda: reader.next(float("nan")), lambda: reader.load_state_dict({"mix": s.a.mix, "run": "a", "step": -1}),
                lambda: reader.seek(-1), lambda: reader.report(0, {"a\0b": (1, 0, 1)}),
                lambda: s.riffle.Reader("a\0b", s.a.bootstrap), lambda: reader.flush(-1)])()


def fork(s, rng):
    """The child calls what it has inherited, and ends in some way."""
    code = rng.choice(["return", "_exit"])
    objects = list(s.there.values())
    child = os.fork()
    if child == 0:
        try:
            for found in objects:
                for name in ("next", "commit", "flush", "metrics", "close"):
                    if hasattr(found, name) and not (isinstance(found, s.riffle.Sequences) and name != "close"):
                        try:
                            getattr(found, name)()
                        except s.riffle.RiffleError:
                            pass
        except BaseException:
            traceback.print_exc()
            os._exit(7)
        if code == "return":
            sys.exit(0)
        os._exit(0)
    until = time.monotonic() + CHILD_S
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            break
        if time.monotonic() > until:
            os.kill(child, signal.SIGABRT)  # faulthandler shows where it hangs
            os.waitpid(child, 0)
            status = 0 if SANITIZED else "hangs"
            break
        time.sleep(0.01)
    if status != 0:
        raise AssertionError(f"a child of a fork ended with {status}")


ACTIONS = ((take, 30), (take_into, 5), (look, 15), (look_at_a_step, 10), (commit, 8), (train, 8), (report, 8), (progress, 8),
           (seek, 8), (index, 8), (hold_out, 2), (close, 5), (forget, 2), (collect, 1), (wrong, 3))


def work(s, seed, ends):
    rng = random.Random(seed)
    actions, weights = zip(*ACTIONS)
    while not ends.is_set():
        try:
            rng.choices(actions, weights)[0](s, rng)
            s.done += 1
        except (s.riffle.RiffleError, IndexError, StopIteration):
            pass
        except Exception:
            traceback.print_exc()
            s.failed = True
            return


def run_round(a):
    faulthandler.enable()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    import riffle
    rng = random.Random(a.round)
    s, ends = Shared(a, riffle), threading.Event()
    for i in range(a.threads):
        threading.Thread(target=work, args=(s, a.round * 1000 + i, ends), daemon=True).start()
    until = time.monotonic() + rng.uniform(*ROUND_S) * (4 if SANITIZED else 1)
    while time.monotonic() < until and not s.failed:
        time.sleep(rng.uniform(0, 0.3))
        if FORKS and rng.random() < 0.4:
            fork(s, rng)
    end = rng.choice(ENDS)
    if s.failed:
        os._exit(3)
    print(s.done, end, flush=True)
    if end == "exit":
        sys.exit(0)
    if end == "interrupt":
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(60)
    if end == "raise":
        with riffle.Reader(a.mix, a.bootstrap, step=10**6) as reader:
            threading.Thread(target=reader.next, daemon=True).start()
            raise RuntimeError("the program's own error")
    if end == "close":
        for kind in KINDS * 2:
            threading.Thread(target=s.close, args=(kind,), daemon=True).start()


EXPECTED = {"return": 0, "exit": 0, "close": 0, "raise": 1, "interrupt": -signal.SIGINT}


def check_round(words, seed):
    """What is wrong with a round ("": nothing is), and how many of its calls had no error."""
    command = under() + [sys.executable, "-X", "faulthandler", __file__, *words, "--round", str(seed)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        out, err = process.communicate(timeout=LATE_S)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGABRT)
        out, err = process.communicate()
        return f"it hangs\n{out}{err}", 0
    done, end = out.split() if out else (0, "")
    if process.returncode != EXPECTED.get(end) or (end == "raise" and "the program's own error" not in err):
        return f"it ended by '{end}' with {process.returncode}\n{err}", 0
    return f"a report\n{err}" if "Sanitizer" in err or "runtime error:" in err else "", int(done)


def under():
    return SANITIZED.split()


def main():
    p = argparse.ArgumentParser()
    for name in ("mix", "corpus", "domain", "bootstrap"):
        p.add_argument("--" + name, required=True)
    p.add_argument("--seconds", type=float, default=6)
    p.add_argument("--seed", type=int, default=None)
    p.add_argument("--threads", type=int, default=8)
    p.add_argument("--round", type=int)
    a = p.parse_args()
    if a.round is not None:
        run_round(a)
        return 0
    seed = random.SystemRandom().randrange(10**6) if a.seed is None else a.seed
    print(f"stress_calls: seed {seed}{'' if FORKS else ', without forks'}", flush=True)
    words = [f"--{name}={getattr(a, name)}" for name in ("mix", "corpus", "domain", "bootstrap", "threads")]
    until, rounds, failed, calls = time.monotonic() + a.seconds, 0, 0, 0
    while time.monotonic() < until:
        wrong, done = check_round(words, seed + rounds)
        rounds += 1
        calls += done
        if wrong:
            failed += 1
            print(f"stress_calls: round {seed + rounds - 1}: {wrong}", flush=True)
    print(f"stress_calls: {rounds} rounds, {calls} calls without an error, {failed} failed", flush=True)
    return 1 if failed or calls == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
