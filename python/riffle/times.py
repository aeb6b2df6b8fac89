"""From a time to the step at which a trainer continues that wants the data from then on."""

from __future__ import annotations

import datetime
import json
import math
from typing import Any, Mapping, Optional, Union

from . import _program
from ._arguments import text
from .errors import RiffleError, UsageError

__all__ = ["step_at_time"]

Moment = Union[float, str, datetime.datetime]


def _text(time: Moment) -> str:
    if isinstance(time, datetime.datetime):
        if time.tzinfo is None:
            raise UsageError(f"{time} has no time zone: give datetime(..., tzinfo=...)")
        return time.astimezone(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    if isinstance(time, (int, float)):
        if not math.isfinite(time):
            raise UsageError(f"time is {time!r}: must be seconds since 1970, ISO 8601 with a time zone, or a datetime")
        return f"{time:.3f}"
    text("time", str(time))
    return str(time)


def step_at_time(mix: str, time: Moment, bootstrap: Optional[str] = None, *, domain: Optional[str] = None,
                 config: Optional[str] = None, properties: Optional[Mapping[str, Any]] = None) -> int:
    """The first step that holds what a live domain got at `time` or later; where nothing of it is drawn yet, the mix's next
    step. As `riffle inspect --from-time`, which this runs (in PATH, or $RIFFLE_PROGRAM).

    Ranks that must agree let one of them ask: while the mix runs, a time that nothing is drawn from yet has another step later.

    Parameters
    ----------
    time: seconds since 1970, ISO 8601 with a time zone, or a datetime with one.
    domain: the live domain; None: the only one.
    config: the configuration file; needed where properties are secrets.
    """
    for name, value in (("mix", mix), ("domain", domain), ("config", config)):
        if value is not None:
            text(name, str(value) if name == "config" else value)
    words = ["inspect", f"--from-time={_text(time)}", "--json"] + ([f"--domain={domain}"] if domain is not None else [])
    done = _program.run(words + _program.mix_words(mix, config, properties), bootstrap)
    if done.returncode != 0:
        raise (UsageError if done.returncode == 2 else RiffleError)(
            done.stderr.strip() or f"riffle inspect ended with {done.returncode}")
    return int(json.loads(done.stdout)["step"])
