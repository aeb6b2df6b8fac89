"""Arguments of callers: what a ctypes field would cut, wrap or refuse without a name is a UsageError that names it."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping
from typing import Any, Dict, Optional

from .errors import UsageError

MOST = 2**63 - 1
_SECONDS_MOST = 2**31 // 1000  # of what libriffle takes as milliseconds in an int


def text(name: str, value: Any) -> bytes:
    """A text as UTF-8. C ends it at the first NUL, so a name with one would be another name."""
    if not isinstance(value, str):
        raise UsageError(f"{name} is {value!r}: must be text")
    if "\0" in value:
        raise UsageError(f"{name} is {value!r}: must not contain a NUL character")
    try:
        return value.encode()
    except UnicodeEncodeError:
        raise UsageError(f"{name} is {value!r}: must not contain half of a surrogate pair") from None


def mapping(name: str, value: Any) -> Dict[Any, Any]:
    """A copy of a dict; None is an empty one."""
    if value is not None and not isinstance(value, Mapping):
        raise UsageError(f"{name} is a {type(value).__name__}: must be a dict")
    return dict(value or {})


def whole(name: str, value: Any, least: int = 0, most: int = MOST) -> int:
    """A whole number, such as an int, a numpy integer, or a tensor of one."""
    try:
        number = operator.index(value)
    except (TypeError, ValueError):
        hint = ". Pass its .step" if hasattr(value, "step") else ""
        raise UsageError(f"{name} is {value!r}: must be a whole number{hint}") from None
    if not least <= number <= most:
        raise UsageError(f"{name} is {number}: must be " + (
            f"at least {least}" if number < least else f"at most {most}"))
    return number


def seconds(name: str, value: Any) -> Optional[float]:
    """A wait in seconds; None, as infinity, waits forever."""
    if value is None:
        return None
    number = _number(name, value)
    if math.isnan(number) or number < 0:
        raise UsageError(f"{name} is {value!r}: must be 0 seconds or more, or None to wait forever")
    return None if math.isinf(number) else number


def milliseconds(name: str, value: Any) -> int:
    """A wait that has an end, for C; at least 1."""
    number = _number(name, value)
    if not 0 <= number <= _SECONDS_MOST:
        raise UsageError(f"{name} is {value!r}: must be from 0 to {_SECONDS_MOST:,} seconds")
    return max(1, int(number * 1000))


def _number(name: str, value: Any) -> float:
    try:
        if not isinstance(value, (str, bytes)):
            return float(value)
    except (TypeError, ValueError, OverflowError):
        pass
    raise UsageError(f"{name} is {value!r}: must be a number of seconds")
