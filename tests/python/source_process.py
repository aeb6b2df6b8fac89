"""Runs riffle-source in a fork of a process that has imported its libraries: a new Python takes a second to do that."""

import multiprocessing
import multiprocessing.forkserver
import os
import pathlib
import subprocess
import sys
import tempfile

CONTEXT = multiprocessing.get_context("forkserver")
SECONDS = 120


def start():
    """Starts the process that is forked, in the environment and with the sys.path of this one."""
    CONTEXT.set_forkserver_preload(["source_process", "riffle_source", "fsspec", "pyarrow.parquet", "pyarrow.ipc", "datasets"])
    multiprocessing.forkserver.ensure_running()


def program(words, folder, cwd, environment):
    """Does what a Python with this script does, and writes its output to files in the folder."""
    for fd, name, flags in ((0, os.devnull, os.O_RDONLY), (1, f"{folder}/out", os.O_WRONLY | os.O_CREAT),
                            (2, f"{folder}/err", os.O_WRONLY | os.O_CREAT)):
        os.dup2(os.open(name, flags), fd)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv[1:] = words
    import riffle_source

    riffle_source.run()


def run(words, cwd, environment):
    """Returns the exit code and the output, in bytes, of the process."""
    with tempfile.TemporaryDirectory() as folder:
        process = CONTEXT.Process(target=program, args=(words, folder, cwd or os.getcwd(), environment))
        process.start()
        process.join(SECONDS)
        if process.exitcode is None:
            process.kill()
            raise subprocess.TimeoutExpired(words, SECONDS)
        out, err = (pathlib.Path(folder, name).read_bytes() for name in ("out", "err"))
        return subprocess.CompletedProcess(words, process.exitcode, out, err)
