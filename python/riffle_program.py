"""The programs that the wheel has inside: `riffle` and `python -m riffle` are one, `riffle-kafka` is the other."""

import os
import pathlib
import shlex
import sys

INSIDE = pathlib.Path(__file__).with_name("riffle") / "bin" / "riffle"
BUILT = pathlib.Path(__file__).parents[1] / "build/riffle"  # of a checkout


def run() -> None:
    """Becomes the program, with the arguments of this process."""
    if not INSIDE.is_file():
        sys.exit(f"riffle: this installation of the package has no program inside ({INSIDE}): "
                 + (f"run {shlex.join([str(BUILT), *sys.argv[1:]])}" if BUILT.is_file() else "`make wheel` makes one that has"))
    os.execv(INSIDE, ["riffle", *sys.argv[1:]])


def run_kafka() -> None:
    """Becomes the script that starts a trial broker, with the arguments of this process."""
    try:
        os.execvp("bash", ["bash", str(INSIDE.with_name("kafka")), *sys.argv[1:]])
    except FileNotFoundError:
        sys.exit("riffle-kafka: bash is missing, and riffle-kafka is a bash script; install bash")
