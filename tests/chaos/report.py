"""The table of a run, and the comparison behind it."""


class Row:
    def __init__(self, name, first):
        self.name, self.first, self.end = name, first, None  # steps [first, end) are its own
        self.lasted, self.recovered = None, []  # seconds; of the mix with copies, and of that without
        self.compared = None  # steps without copies that were compared behind it
        self.note, self.problem = "", ""

    def seconds(self):
        return " and ".join(f"{s:.1f}" for s in self.recovered) or "-"


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


def print_table(rows, lanes, calm, mixes):
    """mixes: (pipeline, steps, what is in its batch topic or derived) of the mix with copies, to which the rows belong, and of
    others; each gets a line of its own behind them. True: every cell is as it must be."""
    good = True
    p, steps, audit = mixes[0]
    width = max(len(name) for name in [r.name for r in rows] + [f"all, {q.name}" for q, _, _ in mixes])
    print(f"\n{'fault':<{width}} {'lasted s':>9} {'recovered s':>12} {'steps':>6} {'lost':>5} {'repeated':>9} "
          f"{'again':>6} {'hashes':>9} {'derived: s':>11} {'equal steps':>12}")

    def line(row, steps, audit, trainers):
        lost, repeated, again, differing = judge(row, steps, lanes, calm, audit, trainers)
        times = [f"{x:.1f}" for x in row.recovered] + ["", ""]
        print(f"{row.name:<{width}} {'' if row.lasted is None else f'{row.lasted:.1f}':>9} {times[0]:>12} "
              f"{min(row.end, steps) - row.first:>6} {lost:>5} {repeated:>9} {again:>6} "
              f"{f'{differing} differ' if differing else 'equal':>9} {times[1]:>11} "
              f"{'' if row.compared is None else row.compared:>12}"
              f"{'  ' + row.note if row.note else ''}{'  WRONG: ' + row.problem if row.problem else ''}")
        return not (lost or repeated or differing or row.problem)

    for row in rows:
        good &= line(row, steps, audit, p.trainers)
    for q, n, lines in mixes:
        row = Row(f"all, {q.name}", 0)
        row.end = n
        good &= line(row, n, lines, q.trainers)
    print("\nlost, repeated, again: lanes of steps. again: given once more to a rank that resumes from the run's commits,\n"
          "after the last of them, which is the contract; the hashes of these are compared, too. derived: when the mix without\n"
          "copies had recovered, and its steps that were the same at the trainers of both behind the fault.")
    return good
