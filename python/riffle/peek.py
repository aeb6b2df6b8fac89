"""python -m riffle.peek: the text of a step in the terminal, documents coloured by domain.

    python -m riffle.peek -c run.yml 1200
    python -m riffle.peek -c run.yml 1200 --rank 3 --world 8 --width 0 | less

What it shows is what `riffle inspect --text` says, which it runs: that command has the tokenizer of the configuration, needs no
package, and derives steps that were deleted. On a terminal each domain has its colour; where NO_COLOR is set
(https://no-color.org), TERM is "dumb", or the output is no terminal, there is none. Ends with the exit code of riffle.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, TextIO

from riffle_source import shown

from . import _program
from .errors import UsageError

_COLOURS = (36, 33, 35, 32, 34, 31, 96, 93, 95, 92, 94, 91)  # of the terminal's own palette: legible on its background
_TEXT = 400  # characters of a document, unless --width says otherwise
_ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"


def colours_of(out: TextIO, environ: Mapping[str, str]) -> bool:
    """Whether `out` gets colours."""
    return out.isatty() and not environ.get("NO_COLOR") and environ.get("TERM", "dumb") not in ("", "dumb")


def is_mine(lane: int, rank: int, world: int, lanes: int) -> bool:
    """Whether a rank reads a lane."""
    return lane * world // lanes == rank


def lines_of(step: Dict[str, Any], sequences: Sequence[Dict[str, Any]], colours: bool, width: int) -> Iterator[str]:
    """The lines that show a step; `width` characters of each document, 0: all."""
    counts: Dict[str, int] = {}
    for s in sequences:
        counts[s["domain"]] = counts.get(s["domain"], 0) + 1
    names = {name: _COLOURS[i % len(_COLOURS)] for i, name in enumerate(sorted(counts))}

    def paint(text: str, domain: str, bold: bool = False) -> str:
        return f"\x1b[{'1;' if bold else ''}{names[domain]}m{text}\x1b[0m" if colours else text

    phase = f", phase {step['phase']}" if step["phase"] else ""
    shares = "  ".join(paint(f"{name} {counts[name]}", name, True) for name in sorted(counts))
    yield f"step {step['step']} of {step['mix']}, version {step['version']}{phase}: {len(sequences)} sequences   {shares}"
    for s in sequences:
        place = f"{s['domain']}/{s['partition']} {s['ordinal']}"
        yield ""
        yield paint(f"lane {s['lane']} slot {s['slot']}   {place}   epoch {s['epoch']}", s["domain"], True)
        for d in s["documents"]:
            line = f":{'' if d['line_exact'] else '~'}{d['line']}" if d["line"] else ""
            more = f", from token {d['offset']}" if d["offset"] else ""
            yield shown(f"  {d['source']}{line}   {d['tokens']} tokens{more}")
            text = shown(d["text"], keep="\n\t")
            if width and len(text) > width:
                text = text[:width] + _ELLIPSIS
            for part in text.split("\n"):
                yield paint("  | " + part, s["domain"])


def _arguments(argv: Optional[List[str]]) -> argparse.Namespace:
    p = argparse.ArgumentParser(prog="python -m riffle.peek", formatter_class=argparse.RawDescriptionHelpFormatter,
                                description="shows the text of a step, documents coloured by domain",
                                epilog="example:\n  python -m riffle.peek -c run.yml 1200 --rank 0 --world 8")
    p.add_argument("step", type=int, help="number of the step")
    p.add_argument("-c", "--config", default=os.environ.get("RIFFLE_CONFIG"),
                   help="the configuration, which names the tokenizer (default: the file that RIFFLE_CONFIG names)")
    p.add_argument("--mix", help="name of the mix (default: that of the configuration)")
    p.add_argument("--rank", type=int, help="only what this rank reads; with --world (default: all lanes)")
    p.add_argument("--world", type=int, help="ranks of the training run")
    p.add_argument("--width", type=int, default=_TEXT, metavar="N",
                   help=f"characters of each document; 0: all (default: {_TEXT})")
    p.add_argument("--json", action="store_true", help="what `riffle inspect --text --json` prints, as it is")
    a = p.parse_args(argv)
    if a.config is None:
        p.error("which configuration? give -c FILE: it names the tokenizer")
    if (a.rank is None) != (a.world is None) or a.rank is not None and not 0 <= a.rank < a.world:
        p.error("--rank and --world go together, and the rank is below the world")
    if a.step < 0 or a.width < 0:
        p.error("STEP and --width are 0 or more")
    return a


def main(argv: Optional[List[str]] = None) -> int:
    a = _arguments(argv)
    words = ["inspect", "-c", a.config, str(a.step), "--text", "--json"] + (["--mix", a.mix] if a.mix else [])
    try:
        done = _program.run(words)
    except (UsageError, OSError) as why:
        print(f"riffle.peek: {why}", file=sys.stderr)
        return 2
    sys.stderr.write(done.stderr)
    if done.returncode != 0:
        return done.returncode
    if a.json:
        sys.stdout.write(done.stdout)
        return 0
    step = json.loads(done.stdout)
    sequences = step["sequences"]
    if a.rank is not None:
        lanes = 1 + max(s["lane"] for s in sequences)
        if a.world > lanes:
            print(f"riffle.peek: --world {a.world}: mix {step['mix']} has {lanes} lanes", file=sys.stderr)
            return 2
        sequences = [s for s in sequences if is_mine(s["lane"], a.rank, a.world, lanes)]
    for line in lines_of(step, sequences, colours_of(sys.stdout, os.environ), a.width):
        print(line)
    return 0


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `| head` ends it
    sys.exit(main())
