"""The table of a run, and the comparison behind it."""

import collections


class Row:
    def __init__(self, name, first):
        self.name, self.first, self.end = name, first, None  # steps [first, end) are its own
        self.lasted = self.recovered = None
        self.note, self.problem = "", ""


def lanes_of(text):
    """(step, lane) -> the rest of the line, of `riffle read --format steps`."""
    out = {}
    for line in text.splitlines():
        step, lane, *what = line.split("\t")
        out[int(step), int(lane)] = what
    return out


def judge(row, steps, lanes, calm, audit, trainers):
    """lost, repeated, given again, equal: of the row's steps."""
    lost = repeated = differing = 0
    keys = [(s, lane) for s in range(row.first, min(row.end, steps)) for lane in range(lanes)]
    owner = {lane: t for t in trainers for s, lane in t.seen}
    for key in keys:
        given = owner[key[1]].seen.get(key) if key[1] in owner else None
        lost += given is None or key not in audit
        differing += any(x is not None and x != calm.get(key) for x in (given, audit.get(key)))
    inside = lambda pairs: sum(row.first <= s < row.end for s, _ in pairs)
    for t in trainers:
        repeated += inside(t.repeated)
        differing += inside(t.differing)
    again = sum(inside(t.again) for t in trainers)
    return lost, repeated, again, differing


def print_table(rows, steps, lanes, calm, audit, trainers):
    """True: every cell is as it must be."""
    good, sums = True, collections.Counter()
    width = max(len(r.name) for r in rows)
    print(f"\n{'fault':<{width}} {'lasted s':>9} {'recovered s':>12} {'steps':>6} {'lost':>5} {'repeated':>9} "
          f"{'again':>6}  hashes")
    for row in rows:
        lost, repeated, again, differing = judge(row, steps, lanes, calm, audit, trainers)
        ok = not (lost or repeated or differing or row.problem)
        good &= ok
        sums.update(lost=lost, repeated=repeated, again=again, differing=differing)
        seconds = [f"{x:.1f}" if x is not None else "-" for x in (row.lasted, row.recovered)]
        print(f"{row.name:<{width}} {seconds[0]:>9} {seconds[1]:>12} {min(row.end, steps) - row.first:>6} {lost:>5} "
              f"{repeated:>9} {again:>6}  {'equal' if not differing else f'{differing} differ'}"
              f"{'  ' + row.note if row.note else ''}{'  WRONG: ' + row.problem if row.problem else ''}")
    print(f"{'all':<{width}} {'':>9} {'':>12} {steps:>6} {sums['lost']:>5} {sums['repeated']:>9} {sums['again']:>6}  "
          f"{'equal' if not sums['differing'] else str(sums['differing']) + ' differ'}")
    print("\nlost, repeated, again: lanes of steps. again: given once more to a rank that resumes from the run's commits,\n"
          "after the last of them, which is the contract; the hashes of these are compared, too.")
    return good
