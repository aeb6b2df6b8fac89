"""The program riffle, which some functions of this package run: what it does is then the same from either."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from typing import Any, List, Mapping, Optional, Sequence

from riffle_program import BUILT, INSIDE

from ._arguments import text
from .errors import UsageError

_SECRET = re.compile(r"password|secret|\.key|\.pem|jaas|token", re.IGNORECASE)


def program() -> str:
    """Its path: $RIFFLE_PROGRAM, else the one inside the package, else the first of PATH."""
    given = os.environ.get("RIFFLE_PROGRAM")
    found = str(INSIDE) if given is None and INSIDE.is_file() else shutil.which(given or "riffle")
    if found is None:
        raise UsageError(f"{given} (RIFFLE_PROGRAM) is no program" if given else
                         "the program riffle is neither in the package nor in PATH: "
                         + (f"{BUILT} is there: set RIFFLE_PROGRAM={BUILT}" if BUILT.is_file() else
                            "`make install` puts it there, or RIFFLE_PROGRAM names it"))
    return found


def mix_words(mix: str, config: Optional[str], properties: Optional[Mapping[str, Any]] = None) -> List[str]:
    """Options that name mix and broker's properties. Without a configuration the properties stand on the command line, which other
    users of the machine can see: UsageError where one of them looks like a secret."""
    if config is not None:
        return ["-c", str(config), "--mix", mix]
    secret = [name for name in properties or {} if _SECRET.search(name)]
    if secret:
        raise UsageError(f"property {secret[0]} would show in the list of processes: give the configuration (config=), "
                         "whose kafka section has it")
    words = ["--mix", mix]
    for name, value in (properties or {}).items():
        words += ["-X", f"{name}={value}"]
    return words


def run(words: Sequence[str], bootstrap: Optional[str] = None, timeout: Optional[float] = None,
        ) -> "subprocess.CompletedProcess[str]":
    """Runs `riffle WORDS...` with this broker, both outputs as text; the caller judges its exit code."""
    for word in words:
        text("a word for the program riffle", word)
    env = dict(os.environ, RIFFLE_BOOTSTRAP=bootstrap) if bootstrap is not None else None
    return subprocess.run([program(), *words], env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=timeout)
