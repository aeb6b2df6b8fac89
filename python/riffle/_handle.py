"""The handles of libriffle that this process has open: who may use one, and how it ends."""

from __future__ import annotations

import atexit
import os
import threading
import time
from typing import Any, Callable, Dict, List, Optional

from . import _library as c
from . import log
from .errors import UsageError

_CLOSE_S = 60.0  # that close() waits for a call in another thread: longer than a request to a broker
_END_S = 5.0  # that the end of the program waits for all such calls
_open: Dict[int, "Handle"] = {}
_ending = False


class Handle:
    """A handle of libriffle, which is freed once no call is in it.

        with handle as raw:             one thread at a time; another one gets a UsageError
        with handle.shared() as raw:    any number of threads, for functions that allow it

    The thread that is in a call may begin another one in it, because a signal handler runs in the middle of a call, between
    two calls of the library. It may also close the handle, which then ends as the first call leaves.
    """

    def __init__(self, what: str, raw: int, ends: Callable[[int], None], closed: str):
        """`closed` is what a call after the end is told."""
        self._what, self._ends, self._process, self._says_closed = what, ends, os.getpid(), closed
        self._raw: Optional[int] = raw
        self._state = threading.RLock()  # of all below
        self._left = threading.Condition(self._state)  # it has ended
        self._calls: List[int] = []  # threads that are in a call, each once per call
        self._owner, self._depth = 0, 0  # the thread in `with handle`, and in how many
        self._closing, self._ended = False, False
        _open[id(self)] = self
        if _ending:
            self.close()
            raise self._closed()

    def __enter__(self) -> int:
        return self._enter(True)

    def __exit__(self, *unused: object) -> None:
        self._leave(True)

    def shared(self) -> "_Shared":
        return _Shared(self)

    def check(self) -> None:
        """Raises if this process may not begin a call, or if one that waits in slices must end."""
        if self._process != os.getpid():
            raise UsageError(
                f"this {self._what} was opened by process {self._process} and is used by process {os.getpid()}: its "
                "connections and threads do not survive a fork; open one in the process that reads")
        if self._closing:
            raise self._closed()

    def _closed(self) -> BaseException:
        if _ending and threading.current_thread() is not threading.main_thread():
            return SystemExit()  # ends a daemon thread without a traceback, as the end of the interpreter does
        return UsageError(self._says_closed)

    def _enter(self, alone: bool) -> int:
        self.check()  # before the lock, which in the child of a fork a thread of the parent may have held
        me = threading.get_ident()
        with self._state:
            self.check()
            if alone and self._owner not in (0, me):
                raise UsageError(f"another thread's call on this {self._what} is in progress, and it takes one call at a time: "
                                 f"wait for that call, or open one {self._what} per thread")
            if alone:
                self._owner, self._depth = me, self._depth + 1
            self._calls.append(me)
            assert self._raw is not None
            return self._raw

    def _leave(self, alone: bool) -> None:
        with self._state:
            self._calls.remove(threading.get_ident())
            if alone:
                self._depth -= 1
                if self._depth == 0:
                    self._owner = 0
            raw = self._take() if self._closing else None
        if raw is not None:
            self._end(raw)

    def _take(self) -> Optional[int]:
        """The handle, to be ended by whoever takes it, unless a call is in it."""
        if self._calls:
            return None
        raw, self._raw = self._raw, None
        return raw

    def _end(self, raw: int) -> None:
        try:
            self._ends(raw)
        finally:
            _open.pop(id(self), None)
            with self._state:
                self._ended = True
                self._left.notify_all()

    def stop(self) -> None:
        """From now on no call begins, and one that waits in slices returns."""
        if self._process == os.getpid():
            with self._state:
                self._closing = True

    def close(self, timeout: float = _CLOSE_S) -> None:
        """Ends it, once the calls in progress have returned: waits for them, `timeout` seconds at most, and else leaves it to
        the last of them. In the child of a fork: nothing."""
        if self._process != os.getpid():
            return
        with self._state:
            self._closing = True
            raw = self._take()
            mine = threading.get_ident() in self._calls
        if raw is not None:
            self._end(raw)
        elif not mine:
            with self._state:
                ended = self._left.wait_for(lambda: self._ended, timeout)
            if not ended and not _ending:
                log.write(c.LOG_WARNING, f"riffle: a call of another thread has not returned for {timeout:.0f} s: this "
                                         f"{self._what} is closed when it does")


class _Shared:
    """`with` for a call that does not keep others out."""

    __slots__ = ("_handle",)

    def __init__(self, handle: Handle):
        self._handle = handle

    def __enter__(self) -> int:
        return self._handle._enter(False)

    def __exit__(self, *unused: object) -> None:
        self._handle._leave(False)


def _end_all() -> None:
    """Before the interpreter ends: the threads of the program that are in a call return, and each handle is ended. A handle
    whose call does not return in time stays as it is, and the end of the process ends it."""
    global _ending
    _ending = True
    until, handles = time.monotonic() + _END_S, list(reversed(list(_open.values())))
    for handle in handles:
        handle.stop()
    for handle in handles:
        handle.close(max(0.0, until - time.monotonic()))


def _forget_all() -> None:
    """In the child of a fork: the handles are the parent's."""
    _open.clear()


def start() -> None:
    atexit.register(_end_all)
    os.register_at_fork(after_in_child=_forget_all)


def uninterrupted(call: Callable[[], int], late: Callable[[], None] = lambda: None) -> int:
    """Runs a call that may wait, in a thread, so that KeyboardInterrupt comes through; then `late` runs when it ends."""
    result: list = []
    failed: List[BaseException] = []
    state = {"left": False}
    lock = threading.Lock()

    def run() -> None:
        try:
            code: Any = call()
        except BaseException as why:
            failed.append(why)
            return
        with lock:
            result.append(code)
            if state["left"]:
                late()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        while thread.is_alive():
            thread.join(_SLICE_S)
    except BaseException:
        with lock:
            state["left"] = True
            if result:
                late()
        raise
    if failed:
        raise failed[0]
    return result[0]


_SLICE_S = 0.1  # a wait returns to Python so often, for signals and for close()


def wait_for(call: Callable[[int], int], handle: Handle, timeout: Optional[float]) -> int:
    """Repeats call(timeout_ms) in slices until it returns something other than TIMEOUT, or time is up."""
    deadline = None if timeout is None else time.monotonic() + timeout
    while True:
        handle.check()
        left = _SLICE_S if deadline is None else min(max(0.0, deadline - time.monotonic()), _SLICE_S)
        code = call(int(left * 1000))
        if code != c.TIMEOUT or deadline is not None and time.monotonic() >= deadline:
            return code
