"""Spikes of the loss, and PaLM's remedy: back to an earlier checkpoint, and past the batches around the spike.

PaLM (arXiv 2204.02311, section 5.1) restarted from a checkpoint about 100 steps before the spike and skipped 200 to 500
batches, which cover those before and during it; the loss then did not spike again. The same batches did no harm from
another checkpoint: so they need not be bad.

What is published stays: a trainer does not read steps again in another form, it reads on. The model goes back, the data go
forward, and the steps between the checkpoint and `resume` are not trained:

    steps      checkpoint ......... spike ......... resume
    trained    up to here, once                     from here on
    the mix    asked to keep the sequences of the last steps up to the spike out of every later draw

That request is one of `riffle skip`, with an id that names the run and the spike: the ledger holds who asked and the exact
step from which on the mix draws without them, a replay repeats it, and `riffle requests` and `riffle skip --list` show it.
"""

from __future__ import annotations

import json
import math
import subprocess
from collections import deque
from typing import Any, Deque, Dict, Iterable, List, Mapping, NamedTuple, Optional, Tuple

from . import _program
from ._arguments import seconds, whole
from .errors import UsageError
from .log import logger

__all__ = ["Spike", "Spikes", "skip_on_spike"]


class Spike(NamedTuple):
    """A spike, and what follows of it."""

    step: int  #: at which the loss was too high
    loss: float
    mean: float  #: of the losses before it
    sigma: float  #: their standard deviation
    checkpoint: Optional[int]  #: step of the checkpoint to load the model from; None: there is none
    resume: int  #: the next step that is trained
    kept_out: Tuple[int, int]  #: [first, end): the mix is asked to draw the sequences of these steps no more
    answers: Tuple[Dict[str, Any], ...] = ()  #: the mix's, on the rank that asked


class Spikes:
    """Says which losses are spikes, and which steps are passed over because of one.

    The rule is that of OLMo-core's SkipStepOptimizer, for losses that rise: a loss above mean + sigmas * standard
    deviation of the last `window` losses, once there is half a window of them (at least 20); or one that is not finite.
    Every rank that is given the same losses, the means over all ranks, comes to the same answer.

    Parameters
    ----------
    window, sigmas: of the rule; 128 and 6 as there.
    back: a checkpoint is at least so many steps before the spike.
    ahead: so many steps behind the spike are passed over as well: with `back`, 200 or more, as in PaLM.
    keep_out: the mix is asked to keep the sequences of so many steps, up to the spike's, out of later draws; 0: of none.
        The ledger keeps 4,096 ranges of ordinals; each step has up to its global batch of them.
    """

    def __init__(self, *, window: int = 128, sigmas: float = 6.0, back: int = 100, ahead: int = 100, keep_out: int = 2):
        for name, value, least in (("window", window, 2), ("back", back, 0), ("ahead", ahead, 0), ("keep_out", keep_out, 0)):
            whole(name, value, least)
        if not 0 < sigmas < math.inf:
            raise UsageError(f"sigmas is {sigmas}: must be above 0, and finite")
        self.window, self.sigmas, self.back, self.ahead, self.keep_out = window, float(sigmas), back, ahead, keep_out
        self._losses: Deque[Tuple[int, float]] = deque(maxlen=window)
        self.resume = 0  #: steps below it are passed over
        self.spikes: List[Spike] = []  #: so far, in this process

    def passes(self, step: int) -> bool:
        """Whether a step is passed over: not to be trained, because of a spike before it."""
        return step < self.resume

    def add(self, step: int, loss: float, checkpoints: Iterable[int] = ()) -> Optional[Spike]:
        """Takes the loss of a step. A Spike, if it is one: from then on steps below its `resume` are passed over, and the
        losses of the steps that the model has lost are forgotten. `checkpoints`: the steps of those that can be loaded."""
        loss = float(loss)
        if self._losses and step <= self._losses[-1][0]:
            raise UsageError(f"the loss of step {step} comes after that of step {self._losses[-1][0]}")
        known = [before for _, before in self._losses]
        mean = math.fsum(known) / len(known) if known else math.nan
        sigma = math.sqrt(math.fsum((x - mean) ** 2 for x in known) / (len(known) - 1)) if len(known) > 1 else math.nan
        enough = len(known) >= min(self.window, max(20, self.window // 2))
        if math.isfinite(loss) and not (enough and loss - mean > self.sigmas * sigma):
            self._losses.append((step, loss))
            return None
        known_steps = sorted(int(c) for c in checkpoints if c <= step)
        early = [c for c in known_steps if c <= step - self.back]
        checkpoint = early[-1] if early else known_steps[0] if known_steps else None
        self.resume = step + 1 + self.ahead
        while checkpoint is not None and self._losses and self._losses[-1][0] >= checkpoint:
            self._losses.pop()
        found = Spike(step, loss, mean, sigma, checkpoint, self.resume, (max(0, step + 1 - self.keep_out), step + 1))
        self.spikes.append(found)
        return found

    def state_dict(self) -> Dict[str, Any]:
        """For the checkpoint, beside the reader's state."""
        return {"resume": self.resume, "losses": [list(pair) for pair in self._losses]}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes on from a checkpoint. (Not from the one that a spike leads back to: it knows nothing of it.)"""
        self.resume = int(state["resume"])
        self._losses = deque(((int(step), float(loss)) for step, loss in state["losses"]), maxlen=self.window)


def skip_on_spike(reader: Any, loss: float, spikes: Optional[Spikes] = None, *, step: Optional[int] = None,
                  checkpoints: Iterable[int] = (), config: Optional[str] = None, timeout: Optional[float] = None) -> Optional[Spike]:
    """PaLM's remedy, in the loop that trains. None where the loss is no spike.

    Else every rank gets the same Spike: it loads model and optimiser from `spike.checkpoint`, but neither the reader's
    state nor `spikes`, saves a checkpoint at once, and reads on; `spikes.passes(step)` says which steps it does not train.
    Rank 0 asks the mix to keep the sequences around the spike out of later draws, by the program riffle (in PATH, or
    $RIFFLE_PROGRAM). A request that fails or is refused is warned of, and changes nothing else.

    Parameters
    ----------
    reader: a Reader or a riffle.torch.Dataset.
    loss: of the step, the mean over all ranks: each must give the same number.
    spikes: the rule, one for the whole run; None: `reader.spikes`, with the usual numbers.
    step: its number; None: the step that the Reader gave last. A data set must have it.
    checkpoints: steps of the checkpoints that can be loaded, each the "step" of the reader's state in it.
    config: the configuration file, for the program; needed where properties of the reader are secrets.
    timeout: seconds to wait for the mix's answer; None: 30 where a mixer runs, 0 where none does.
    """
    spikes, timeout = reader.spikes if spikes is None else spikes, seconds("timeout", timeout)
    if step is None:
        if not hasattr(reader, "position"):
            raise UsageError("skip_on_spike(): a data set may have read ahead of training: give step=, the number of the step "
                             "that was trained")
        step = reader.position - 1
    spike = spikes.add(step, loss, checkpoints)
    if spike is None:
        return None
    logger.warning(
        "spike: run=%s step=%d loss=%.6g mean=%.6g sigma=%.6g: back to checkpoint=%s, steps to resume=%d are not trained",
        reader.run, step, loss, spike.mean, spike.sigma, spike.checkpoint, spike.resume)
    if reader.rank == 0 and spike.kept_out[0] < spike.kept_out[1]:
        spike = spike._replace(answers=_ask(reader, spike, config, timeout))
        spikes.spikes[-1] = spike
    return spike


def _ask(reader: Any, spike: Spike, config: Optional[str], timeout: Optional[float]) -> Tuple[Dict[str, Any], ...]:
    first, end = spike.kept_out
    words = ["skip", "--steps", f"{first}..{end}", "--id", f"spike-{reader.run}-{spike.step}", "--json"]
    if timeout is not None:
        words += ["--timeout", str(max(1, int(timeout)))]
    try:
        done = _program.run(words + _program.mix_words(reader.mix, config, reader.properties), reader.bootstrap,
                            (timeout or 30) + 60)
    except (UsageError, OSError, subprocess.TimeoutExpired) as why:
        logger.warning("spike: the mix was not asked to keep out steps=%d..%d: %s", first, end, why)
        return ()
    if done.returncode != 0:
        logger.warning("spike: the mix does not keep out steps=%d..%d (exit %d): %s", first, end, done.returncode,
                       done.stderr.strip())
    return tuple(json.loads(line) for line in done.stdout.splitlines() if line.startswith("{"))
