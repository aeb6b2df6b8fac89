"""States: the step that comes next, and what tells a mix from another one of the same name.

A state is {"mix", "run", "step", "schedule", "choices_step", "choices"}. The last three come from the mix's ledger: the
schedule hash, and the hash of all choices of the steps below choices_step, which is at or below step. A mix that was created again with
the same configuration and data has the same ones at that step. A state lacks them if no mixer had begun the mix, if the broker
did not answer when it was made, or if riffle 0.1 made it.
"""

from __future__ import annotations

import ctypes
import time
import warnings
from collections.abc import Mapping as AnyMapping
from typing import Any, Dict, Mapping, Optional, Tuple

from . import _library as c
from . import log
from ._arguments import whole
from ._handle import uninterrupted
from .errors import DataError, RiffleError, StepTimeout, UsageError, error_of

STEP_MOST = 2**62 - 1
_MARK = ("schedule", "choices_step", "choices")
_AGAIN_S = 60.0  # between two questions of a broker that did not answer
_OFTEN_S = 10.0  # between two questions if a state is saved with each step


def raw_of(state: Mapping[str, Any]) -> Optional[c.Checkpoint]:
    """A state as the library takes it; None: nothing tells its mix from others."""
    if not set(_MARK) <= set(state):
        return None
    return c.Checkpoint(step=_number(state, "step"), choices_step=_number(state, "choices_step"),
                        schedule=_number(state, "schedule", 2**64 - 1), choices=_number(state, "choices", 2**64 - 1))


def _number(state: Mapping[str, Any], name: str, most: int = STEP_MOST) -> int:
    return whole(f"the checkpoint's {name}", state[name], most=most)


def step_of_state(state: Mapping[str, Any], mix: str, run: str) -> int:
    """The step of a state, once its names are seen to be of this mix. A training that branches off has a run of its own, and
    is warned of, since it may as well be the wrong file."""
    if not isinstance(state, AnyMapping):
        raise UsageError(f"the checkpoint is {state!r}: must be what state_dict() gave")
    missing = {"mix", "run", "step"} - set(state)
    if missing:
        raise DataError(f"the checkpoint has no {', '.join(sorted(missing))}, so it is not what state_dict() gave")
    if state["mix"] != mix:
        raise DataError(f"the checkpoint is of mix {state['mix']}, this reader is of mix {mix}")
    if state["run"] != run:
        warnings.warn(f"riffle: the checkpoint is of run {state['run']}; run {run} continues from its step {state['step']}, "
                      "and commits as its own", RuntimeWarning, stacklevel=3)
    step = _number(state, "step")
    if step > 0 and raw_of(state) is None:
        warnings.warn(f"riffle: READ-CHECKPOINT-UNBOUND the checkpoint has step {step} of mix {mix}, but no hash of what the mix "
                      "had chosen, because riffle 0.1 made it or the broker did not answer then. riffle cannot tell whether the "
                      "mix was created again with another order since, so make sure that it was not. The next checkpoint has the "
                      "hash", RuntimeWarning, stacklevel=3)
    return step


def log_step(step: int, mix: str, run: str) -> None:
    log.write(c.LOG_INFO, f"riffle: run {run} of mix {mix} goes to step {step}, that of its checkpoint")


class Checkpoints:
    """Makes the states of a run, and checks the states that it loads. It can be sent to another process."""

    def __init__(self, mix: str, bootstrap: Optional[str], run: str, properties: Optional[Mapping[str, Any]],
                 open_timeout: float):
        self.mix, self.run = mix, run
        self._broker = bootstrap, properties, open_timeout
        self._known: Optional[Tuple[int, Dict[str, int]]] = None  # for which step it was asked last
        self._asks_again = self._asked = 0.0
        self.pending: Optional[Dict[str, Any]] = None  #: a loaded state that the ledger had not come to

    def state(self, step: int, often: bool = False) -> Dict[str, Any]:
        """The state from which `step` comes next. Asks the ledger; a broker that does not answer fails no checkpoint, which
        then has the hashes of an earlier step, or none. `often`: those of some seconds ago are good enough."""
        step, now, known = whole("step", step, most=STEP_MOST), time.monotonic(), self._known
        soon = often and now < self._asked + _OFTEN_S and known is not None and known[0] <= step
        if (known is None or known[0] != step) and not soon and now >= self._asks_again:
            self._asked = now
            self._ask(step)
            known = self._known  # read once: another thread may ask for another step
        mark = known[1] if known is not None and known[0] <= step else {}
        return {"mix": self.mix, "run": self.run, "step": step, **mark}

    def _ask(self, step: int) -> None:
        from .reader import ask_of_mix
        bootstrap, properties, open_timeout = self._broker
        try:
            _, *found = ask_of_mix(
                lambda options, out, error: c.lib.riffle_find_checkpoint(options, step, out, error),
                self.mix, bootstrap, properties, open_timeout, c.Checkpoint())
        except StepTimeout:
            return  # no mixer has begun the mix
        except RiffleError as why:
            self._asks_again = time.monotonic() + _AGAIN_S
            warnings.warn(f"riffle: READ-CHECKPOINT-UNBOUND the ledger of mix {self.mix} cannot be asked for the hash that "
                          f"belongs into the checkpoint of step {step}: {why}", RuntimeWarning, stacklevel=4)
            return
        self._known = step, dict(zip(_MARK, found))

    def step_of(self, state: Mapping[str, Any]) -> int:
        """The step of a state that is loaded. DataError: it is of another mix. If the ledger has not come so far, the state is
        `pending`: the reader that is opened there compares it."""
        from .reader import options_of
        step = step_of_state(state, self.mix, self.run)
        raw, error, self.pending = raw_of(state), c.ErrorText(), None
        if raw is not None:
            bootstrap, properties, open_timeout = self._broker
            options = options_of(self.mix, bootstrap, 0, 1, self.run, step, 4, properties, open_timeout)
            options.checkpoint = ctypes.pointer(raw)
            code = uninterrupted(lambda: c.lib.riffle_check_checkpoint(ctypes.byref(options), ctypes.byref(error)))
            if code == c.TIMEOUT:
                self.pending = dict(state)
            elif code != c.OK:
                raise error_of(code, error)
        log_step(step, self.mix, self.run)
        return step
