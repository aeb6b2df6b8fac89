"""What can go wrong, as exceptions; each one's text is a sentence that says what was attempted and why not."""

from __future__ import annotations

from . import _library as c


class RiffleError(Exception):
    """Base of all errors of this package."""


class UsageError(RiffleError, ValueError):
    """The arguments are wrong, do not fit the mix, or the reader is used in a process that did not open it."""


class BrokerError(RiffleError, ConnectionError):
    """Kafka could not be reached, or refused."""


class DataError(RiffleError):
    """A record, a hash, the order of steps (a gap, a duplicate) or the identity of the mix is wrong."""


class ExpiredError(RiffleError, LookupError):
    """The step is below the earliest that is retained; the text names that one."""


class LostError(RiffleError, LookupError):
    """The run's commits are gone, and the mix's ledger knows that it had some."""


class StepTimeout(RiffleError, TimeoutError):
    """The step did not come in time; the text says what is waited for. The position is as it was."""


_KINDS = {c.ERROR_USAGE: UsageError, c.ERROR_BROKER: BrokerError, c.ERROR_DATA: DataError,
          c.ERROR_EXPIRED: ExpiredError, c.ERROR_LOST: LostError, c.TIMEOUT: StepTimeout}


def error_of(code: int, error: c.ErrorText) -> Exception:
    """The exception of a code."""
    text = error.text.decode("utf-8", "replace")
    if code == c.ERROR_MEMORY:
        return MemoryError(text)
    return _KINDS.get(code, RiffleError)(text)
