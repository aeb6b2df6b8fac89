"""Ranks of a training run without the training, for test_elastic.py.

    rank.py MIX BOOTSTRAP FOLDER WORLD RANK,KEY=VALUE,... [RANK,KEY=VALUE,...]...

Each rank is a process of its own. It is forked before it opens anything, so that numpy is imported only once. The exit codes
of all ranks go to stdout as a list of JSON.

A rank reads steps and writes a line a lane (as `riffle read --format steps`) to FOLDER/log.RANK-of-WORLD. Every `every` steps
it writes a checkpoint FOLDER/checkpoint.STEP.RANK-of-WORLD, its state as JSON. With `from`, a path, it begins at that
checkpoint. It commits every `commit` steps (0: never), and is killed by SIGKILL after `kill` steps were logged.
"""

import json
import os
import pathlib
import signal
import sys
import traceback

import numpy as np
import xxhash


def lines_of(step):
    """A line a lane: step, lane, XXH64 of its tokens as little-endian u32, domain:count,..."""
    for lane in np.unique(step.lane):
        mine = step.lane == lane
        names = [name for name, of in zip(step.domains, mine) if of]
        counts = ",".join(f"{name}:{names.count(name)}" for name in sorted(set(names)))
        hashed = xxhash.xxh64(step.tokens[mine].astype("<u4").tobytes()).hexdigest()
        yield f"{step.step}\t{lane}\t{hashed}\t{counts}"


def train(riffle, mix, bootstrap, folder, world, rank, *options):
    given = dict(option.split("=", 1) for option in options)
    every, commit, kill = (int(given.get(name, 0)) for name in ("every", "commit", "kill"))
    here, name = pathlib.Path(folder), f"{rank}-of-{world}"
    reader = riffle.Reader(mix, bootstrap, int(rank), int(world), step=0, timeout=60, uneven=True)
    if "from" in given:
        reader.load_state_dict(json.loads(pathlib.Path(given["from"]).read_text()))
    seen = 0
    with open(here / f"log.{name}", "w") as log:
        for step in reader:
            for line in lines_of(step):
                log.write(line + "\n")
            log.flush()
            seen += 1
            if commit and seen % commit == 0:
                reader.commit()
            if every and reader.position % every == 0:
                to = here / f"checkpoint.{reader.position}.{name}"
                part = here / f"part.{name}"
                part.write_text(json.dumps(reader.state_dict()))
                part.rename(to)
            if kill and seen == kill:
                os.kill(os.getpid(), signal.SIGKILL)


def fork(rank):
    """The pid of a process that calls rank() and ends."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            rank()
            code = 0
        except BaseException:
            traceback.print_exc()
        os._exit(code)
    return pid


def main(mix, bootstrap, folder, world, *ranks):
    import riffle  # whoever only wants lines_of() brings its own

    pids = [fork(lambda words=rank.split(","): train(riffle, mix, bootstrap, folder, world, *words)) for rank in ranks]
    print(json.dumps([os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]))


if __name__ == "__main__":
    main(*sys.argv[1:])
