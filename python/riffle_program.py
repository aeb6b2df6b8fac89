"""The program riffle that the wheel has inside: `riffle` and `python -m riffle` are it."""

import os
import pathlib
import sys

INSIDE = pathlib.Path(__file__).with_name("riffle") / "bin" / "riffle"


def run() -> None:
    """Becomes the program, with the arguments of this process."""
    if not INSIDE.is_file():
        sys.exit(f"riffle: this installation of the package has no program inside ({INSIDE}): `make wheel` makes one that has")
    os.execv(INSIDE, ["riffle", *sys.argv[1:]])
