"""A training as processes that are killed and resumed, and what each step's forward saw in them.

In the test (fixtures `mix` and `row` of conftest.py):

    calm, stormy = job.killed_and_resumed(tmp_path, package.env, PROGRAM, mix.name, mix.bootstrap, kill=9)
    row(version=..., model=..., calm=calm, stormy=stormy)

PROGRAM is run as `python PROGRAM WORDS...`, once undisturbed and once killed by SIGKILL in the forward of step 9, then started
again with the same words: it resumes from what the framework has saved in its folder. world=2 starts two processes with RANK,
WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT, as torchrun does; then=1 resumes with another world.

In the program, which has this file on its path:

    job.folder()                  what it saves goes here; folder().name is a name for the run
    for item in job.timed(loader) the wait for each item is measured
    job.saw(step, input_ids, ...) in the forward: tensors or arrays of which row i belongs to sequence i; a call is a micro-batch
    job.follow_rate(optimizer)    of torch; trained() then writes the rate inside its step: Run.rates(). Behind riffle's own hook
    job.trained(step, loss)       the optimiser has made its step; more words are written as they are, for Run.lines()
"""

import concurrent.futures
import functools
import json
import os
import pathlib
import signal
import socket
import statistics
import subprocess
import sys
import time

DEADLINE_S, POLL_S = 3000, 0.05
NOISE = ("Exception ignored", "riffle_close", "leaked semaphore")  # of a process that ended well: nothing of these

# ---- in the program ----

_out = None
_waited_ms = 0.0
_rate = {}


def folder():
    return pathlib.Path(os.environ["RIFFLE_JOB"])


def rank():
    return int(os.environ.get("RANK", "0"))


def _write(**line):
    global _out
    if _out is None:
        _out = open(folder() / f"rank-{rank()}.jsonl", "a")
        _out.write(json.dumps({"pid": os.getpid(), "world": int(os.environ.get("WORLD_SIZE", "1"))}) + "\n")
    _out.write(json.dumps(line) + "\n")
    _out.flush()


def _array(values):
    import numpy as np
    return np.ascontiguousarray(values.detach().cpu().numpy() if hasattr(values, "detach") else values)


def saw(step, *tensors):
    """Writes a hash of each row. In the step where the process is to be killed it waits for that."""
    import xxhash
    arrays = [_array(t) for t in tensors]
    hashed = [xxhash.xxh64(b"".join(a[i].tobytes() + a.dtype.str.encode() for a in arrays)).hexdigest()
              for i in range(len(arrays[0]))]
    _write(saw=int(step), rows=hashed)
    if int(os.environ.get("RIFFLE_JOB_KILL", "-1")) == int(step):
        _await_kill(step)


def _await_kill(step):
    """Until SIGKILL comes, or the process that would have sent it is gone."""
    parent, deadline = os.getppid(), time.monotonic() + DEADLINE_S
    while os.getppid() == parent and time.monotonic() < deadline:
        time.sleep(POLL_S)
    raise RuntimeError(f"rank {rank()} was to be killed in step {step}, and nobody did")


def trained(step, loss=None, **more):
    global _waited_ms
    _write(trained=int(step), wait_ms=_waited_ms, loss=None if loss is None else float(loss).hex(), **{**_rate, **more})
    _waited_ms = 0.0


def follow_rate(optimizer):
    optimizer.register_step_pre_hook(lambda *unused: _rate.update(rate=float(optimizer.param_groups[0]["lr"])))


def waits(call):
    """The function, whose duration is a wait for data."""
    @functools.wraps(call)
    def measured(*words):
        global _waited_ms
        began = time.monotonic()
        found = call(*words)
        _waited_ms += 1000 * (time.monotonic() - began)
        return found
    return measured


class timed:
    """An iterable whose waits are measured; all else is as of what it wraps."""

    def __init__(self, wrapped):
        self._wrapped = wrapped

    def __getattr__(self, name):
        return getattr(self._wrapped, name)

    def __iter__(self):
        take, items = waits(next), iter(self._wrapped)
        while True:
            try:
                item = take(items)
            except StopIteration:
                return
            yield item


# ---- in the test ----


class Run:
    """What the processes of one training have written; each call starts them, and waits for their end."""

    def __init__(self, path, env):
        self.path, self.env, self.killed = pathlib.Path(path), dict(env), None
        self.path.mkdir(parents=True)

    def __call__(self, program, *words, world=1, kill=None, where=all):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        here = str(pathlib.Path(__file__).parent)
        env = {**self.env, "RIFFLE_JOB": str(self.path), "PYTHONPATH": f"{here}:{self.env.get('PYTHONPATH', '')}",
               "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1",
               "CUDA_VISIBLE_DEVICES": "", "TOKENIZERS_PARALLELISM": "false"}
        if kill is not None:
            env["RIFFLE_JOB_KILL"] = str(kill)
            self.killed = kill
        began = {r: len(self.lines(r)) for r in range(world)}
        with open(self.path / "log.txt", "a") as log:
            before = log.tell()
            processes = [subprocess.Popen(
                [sys.executable, str(program), *map(str, words)], cwd=self.path, stdout=log, stderr=log, start_new_session=True,
                env={**env, **({"RANK": str(r), "LOCAL_RANK": str(r), "WORLD_SIZE": str(world),
                                "LOCAL_WORLD_SIZE": str(world)} if world > 1 else {})}) for r in range(world)]
            try:
                self._wait(processes, began, kill, where)
            finally:
                for p in processes:
                    if p.poll() is None:
                        os.killpg(p.pid, signal.SIGKILL)
                    p.wait()
        said = (self.path / "log.txt").read_text()[before:]
        for p in processes:
            assert p.returncode == (0 if kill is None else -signal.SIGKILL), said[-6000:]
        assert kill is not None or not any(noise in said for noise in NOISE), said[-6000:]
        return self

    def _wait(self, processes, began, kill, where):
        """Until all have ended; or until all of them (where=any: one of them) are in the step where they are to be killed."""
        deadline = time.monotonic() + DEADLINE_S
        while any(p.poll() is None for p in processes):
            assert time.monotonic() < deadline, f"no end within {DEADLINE_S} s: {(self.path / 'log.txt').read_text()[-6000:]}"
            if kill is not None and where(
                    any(line.get("saw") == kill for line in self.lines(r)[start:]) for r, start in began.items()):
                return
            ended = [p.poll() for p in processes if p.poll() is not None]
            if any(code != 0 or kill is not None for code in ended):
                return
            time.sleep(POLL_S)

    def lines(self, r):
        """All that rank r has written; half a line, of a process that died, is none."""
        path = self.path / f"rank-{r}.jsonl"
        return [json.loads(line) for line in path.read_text().split("\n")[:-1]] if path.exists() else []

    @property
    def parts(self):
        """[{step: [rows of a micro-batch, ...]}] of each start, micro-batches of rank 0 first; without the step in which it was
        killed, of which it saw a part."""
        ranks = [_starts(self.lines(r)) for r in range(len(list(self.path.glob("rank-*.jsonl"))))]
        found = []
        for start in list(ranks[0]):
            steps = {}
            for r in range(start["world"]):
                for step, micros in ranks[r].pop(0)["steps"].items():
                    steps.setdefault(step, []).extend(micros)
            found.append(steps)
        for steps in found[:-1]:
            steps.pop(self.killed, None)
        return found

    @property
    def resumed(self):
        """The first step that each start but the first saw."""
        return [min(steps) for steps in self.parts[1:]]

    @property
    def steps(self):
        """step -> its rows, in the order of the lanes. A step that was seen by two starts was the same for both."""
        found = {}
        for steps in self.parts:
            for step, micros in steps.items():
                rows = [row for micro in micros for row in micro]
                assert found.setdefault(step, rows) == rows, f"step {step} differs from what the run saw of it before"
        return found

    @property
    def losses(self):
        """step -> the loss of rank 0, as hexadecimal text."""
        return {line["trained"]: line["loss"] for line in self.lines(0) if "trained" in line}

    def rates(self, r=0):
        """step -> the learning rate inside the optimiser's step of rank r."""
        return {line["trained"]: line["rate"] for line in self.lines(r) if "rate" in line}

    @property
    def wait_ms(self):
        """The median wait of a step, the first one left out."""
        waits = [line["wait_ms"] for line in self.lines(0) if "trained" in line]
        return round(statistics.median(waits[1:] or waits), 3)


def _starts(lines):
    found = []
    for line in lines:
        if "pid" in line:
            found.append({"world": line["world"], "steps": {}})
        elif "saw" in line:
            found[-1]["steps"].setdefault(line["saw"], []).append(line["rows"])
    return found


def killed_and_resumed(path, env, program, *words, kill, world=1, then=None, losses=True, where=all):
    """(undisturbed run, killed and resumed run), which saw the same, bit for bit; each step's loss is the same double,
    where `losses` and the world stays. `then`: the world that resumes. where=any: they are killed as soon as one rank is in
    the step, for a pipeline, whose later stages wait for the first."""
    calm, stormy = Run(path / "calm", env), Run(path / "stormy", env)
    with concurrent.futures.ThreadPoolExecutor() as beside:
        whole = beside.submit(calm, program, *words, world=world)
        stormy(program, *words, world=world, kill=kill, where=where)
        stormy(program, *words, world=then or world)
        whole.result()
    expected, found = calm.steps, stormy.steps
    assert sorted(expected) == list(range(len(expected))), sorted(expected)
    assert sorted(found) == sorted(expected), sorted(found)
    assert {s for s in expected if found[s] != expected[s]} == set()
    assert 0 < stormy.resumed[-1] <= kill, "it did not resume from a checkpoint"
    if then in (None, world):
        last, whole = stormy.parts[-1], calm.parts[0]
        assert {s for s in last if last[s] != whole[s]} == set()  # also cut into the same micro-batches
        if losses:
            assert stormy.losses == calm.losses
    return calm, stormy


def source(name):
    """Folder of a framework that is in no package index, a clone of its repository: $CLONES/NAME; None: it is not there."""
    folder = pathlib.Path(os.environ.get("CLONES", ""), name)
    return folder if "CLONES" in os.environ and folder.is_dir() else None


def version_of(folder):
    """The tag of a framework's source, or its commit."""
    for words in (["describe", "--tags", "--exact-match"], ["log", "-1", "--format=main of %cd (%h)", "--date=format:%B %Y"]):
        done = subprocess.run(["git", "-C", str(folder), *words], capture_output=True, text=True)
        if done.returncode == 0:
            return done.stdout.strip()
    return "source"


def killed_before_a_checkpoint(path, env, program, *words, kill):
    """A training that is killed before its first checkpoint and started again begins at step 0: what it committed before is no
    place to continue a new model from."""
    run = Run(path, env)(program, *words, kill=kill)
    assert [line["trained"] for line in run.lines(0) if "trained" in line] == list(range(kill))
    run(program, *words)
    assert sorted(run.parts[-1]) == sorted(run.steps) == list(range(len(run.steps))), "steps were left out"
    assert len(run.steps) > kill


# ---- the table ----

NAMES = {"composer": "Composer", "deepspeed": "DeepSpeed", "grain": "Grain", "kempnerforge": "KempnerForge", "levanter": "Levanter",
         "lightning": "Lightning", "megatron": "Megatron-core", "nanotron": "Nanotron", "olmo_core": "OLMo-core", "trl": "TRL"}
COLUMNS = ("framework", "version", "model", "ranks", "steps", "killed at", "resumed at", "equal", "wait ms/step", "not run here")


def write_row(build, framework, name, cells):
    """A row of the table; a framework may have several, by name."""
    path = pathlib.Path(build) / "frameworks" / framework / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(cells) + "\n")


def table(build, frameworks):
    """The rows of these frameworks as a table of Markdown."""
    rows = [json.loads(path.read_text()) for framework in frameworks
            for path in sorted((pathlib.Path(build) / "frameworks" / framework).glob("*.json"))]
    lines = [COLUMNS, ["---"] * len(COLUMNS)] + [[str(row.get(c, "")) for c in COLUMNS] for row in rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def write_not_run(build, framework, why):
    write_row(build, framework, "not run", {"framework": NAMES.get(framework, framework), "not run here": why})


if __name__ == "__main__":
    if sys.argv[2] == "--not-run":
        write_not_run(sys.argv[1], *sys.argv[3:])
    else:
        print(table(sys.argv[1], sys.argv[2:]))
