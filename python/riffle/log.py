"""
Lines of libriffle in Python's logging, as logger "riffle".

Where neither that logger nor the root logger has a handler, they go to stderr, as those of the C library.
"""

from __future__ import annotations

import atexit
import logging
import os
import sys
import time

from . import _library as c

logger = logging.getLogger("riffle")
_LEVELS = (logging.ERROR, logging.WARNING, logging.INFO, logging.DEBUG)
_NAMES = ("error", "warning", "info", "debug")


@c.LogFunction
def _pass_on(_opaque: int, level: int, line: bytes) -> None:
    """Called by threads of the library, too."""
    write(level, line.decode(errors="replace"))


def write(level: int, text: str) -> None:
    """A line of the package's own, or of the library: LOG_INFO, ..."""
    if logger.hasHandlers():
        logger.log(_LEVELS[level], "%s", text)
    elif sys.stderr is not None:
        when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        sys.stderr.write(f"{when} {_NAMES[level]} {text}\n")


def start() -> None:
    """Ends with the interpreter: threads of the library outlive it."""
    c.lib.riffle_set_log(c.LOG_INFO, _pass_on, None)
    atexit.register(_stop, os.getpid())


def _stop(process: int) -> None:
    if process == os.getpid():  # in the child of a fork a thread that is not there may hold the lock of the log
        c.lib.riffle_set_log(c.LOG_INFO, c.LogFunction(), None)
