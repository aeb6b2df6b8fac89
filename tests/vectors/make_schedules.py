"""Writes weights.tsv, schedule_*.tsv and lending.tsv: what must be drawn, by an implementation of its own.

Exact where riffle is exact: fractions and integers for quantising, deficit, lending and random; IEEE doubles
(Python's, and NumPy's sum) for greedy; 60 decimal digits for tempered weights. Nothing here is
shared with the C side. `python make_schedules.py` writes the files again (needs NumPy).
"""

import pathlib
from decimal import Decimal, getcontext
from fractions import Fraction

import numpy

HERE = pathlib.Path(__file__).resolve().parent
ONE = 2**32
MASK = 2**64 - 1
getcontext().prec = 60


# ---- XXH64, from its specification ----

PRIME = [
    0x9E3779B185EBCA87,
    0xC2B2AE3D27D4EB4F,
    0x165667B19E3779F9,
    0x85EBCA77C2B2AE63,
    0x27D4EB2F165667C5,
]


def rotate(x, n):
    return ((x << n) | (x >> (64 - n))) & MASK


def xxh64_short(data, seed):
    """XXH64 of fewer than 32 bytes."""
    assert len(data) < 32
    h = (seed + PRIME[4] + len(data)) & MASK
    while len(data) >= 8:
        lane = rotate(int.from_bytes(data[:8], "little") * PRIME[1] & MASK, 31) * PRIME[0] & MASK
        h = (rotate(h ^ lane, 27) * PRIME[0] + PRIME[3]) & MASK
        data = data[8:]
    if len(data) >= 4:
        lane = int.from_bytes(data[:4], "little") * PRIME[0] & MASK
        h = (rotate(h ^ lane, 23) * PRIME[1] + PRIME[2]) & MASK
        data = data[4:]
    for byte in data:
        h = rotate(h ^ (byte * PRIME[4] & MASK), 11) * PRIME[0] & MASK
    for shift, prime in ((33, PRIME[1]), (29, PRIME[2]), (32, 1)):
        h = (h ^ (h >> shift)) * prime & MASK
    return h


# ---- quantising ----


def shares(raw, temperature):
    """Exact shares (for a temperature other than 1: to 60 digits)."""
    raw = [Fraction(w) for w in raw]
    if temperature != 1:
        power = 1 / Decimal(temperature)
        decimals = [Decimal(w.numerator) / Decimal(w.denominator) for w in raw]
        raw = [Fraction(d**power) if d > 0 else Fraction(0) for d in decimals]
    return [w / sum(raw) for w in raw]


def quantise(raw, temperature=1, total=ONE):
    exact = [share * total for share in shares(raw, temperature)]
    out = [int(e) for e in exact]
    rest = [e - o for e, o in zip(exact, out)]
    for i, e in enumerate(exact):
        if e > 0 and out[i] == 0:
            out[i], rest[i] = 1, Fraction(0)
    while sum(out) < total:
        i = max(range(len(out)), key=lambda k: (rest[k], -k))
        out[i] += 1
        rest[i] = Fraction(-1)
    while sum(out) > total:
        out[max(range(len(out)), key=lambda k: (out[k], -k))] -= 1
    return out


# ---- schedules: each yields domains ----


def deficit(weights, draws, tokens=None, full=1):
    one = sum(weights)
    credit = [0] * len(weights)
    for k in range(draws):
        used = full if tokens is None else tokens[k % len(tokens)]
        i = max(range(len(weights)), key=lambda d: (credit[d] + weights[d] * full, -d))
        credit = [c + w * used for c, w in zip(credit, weights)]
        credit[i] -= one * used
        yield i


def greedy(raw, draws):
    weights = numpy.array(raw, dtype=numpy.float64)
    if abs(numpy.sum(weights) - 1) > 1e-9:
        weights = weights / numpy.sum(weights)
    count = [0] * len(raw)
    for k in range(draws):
        error = [float(w) * max(k, 1) - c if w > 0 else float("-inf") for w, c in zip(weights, count)]
        i = error.index(max(error))
        count[i] += 1
        yield i


def random(weights, draws, seed):
    key = xxh64_short(b"/draws", seed)
    for d in range(draws):
        point = xxh64_short(d.to_bytes(8, "little"), key) >> 32
        i = 0
        while point >= weights[i]:
            point -= weights[i]
            i += 1
        yield i


# ---- lending ----


def is_dry(droughts, domain, draw):
    """Of every `period` draws the domain has nothing in the last `dry` ones."""
    period, dry = droughts[domain]
    return period > 0 and draw % period >= period - dry


def lend(weights, draws, catch_up, droughts):
    """Yields (drawn, owed). catch_up[i]: thousandths; 0: the domain does not lend and is never dry.

    The books have one account per domain. A draw is written down as movements between accounts, and each of
    them sums to 0. The sum of the accounts therefore stays 0.
    """
    one, every = sum(weights), range(len(weights))
    account, owed, ripe = [0] * len(weights), [0] * len(weights), [0] * len(weights)

    def richest(among, income):
        return max(among, key=lambda d: (account[d] + income(d), -d))

    def draw(among, winner):
        for d in among:
            account[d] += weights[d]
        account[winner] -= sum(weights[d] for d in among)

    for k in range(draws):
        has = [d for d in every if weights[d] > 0 and not is_dry(droughts, d, k)]
        picked = richest(every, lambda d: weights[d])
        creditors = [d for d in has if owed[d] > 0 and ripe[d] >= ONE and d != picked]
        drawn = picked
        if creditors:
            drawn = creditors[0]
            draw(every, picked)  # as if `picked` were drawn, which gets no sequence:
            for d in every:
                if d != drawn:  # the others make up for its loss
                    account[d] -= weights[d]
            account[picked] += one - weights[drawn]
            owed[drawn] -= 1
            ripe[drawn] -= ONE
        elif picked not in has and catch_up[picked] > 0:
            draw(every, picked)
            drawn = richest(has, lambda d: weights[d])
            draw(has, drawn)  # a second draw of the same rule, among those that have something
            owed[picked] += 1
        else:
            draw(every, picked)
        for d in every:
            if owed[d] == 0:
                ripe[d] = 0
            elif ripe[d] < ONE and d in has:
                ripe[d] += weights[d] * (catch_up[d] - 1000) // 1000
        assert sum(account) == 0
        yield drawn, owed


# Weights; catch_up in thousandths; period and length of the droughts.
LENDING = [
    ([0.5, 0.25, 0.25], [2000, 0, 0], [(8, 3), (0, 0), (0, 0)]),
    ([0.1, 0.5, 0.3, 0.1], [0, 2000, 3500, 0], [(0, 0), (20, 9), (33, 17), (0, 0)]),
    ([0.7, 0.1, 0.2], [1500, 0, 1001], [(100, 99), (0, 0), (7, 6)]),
    ([3, 0, 1e-6, 5], [0, 2000, 9000, 2000], [(0, 0), (3, 2), (999, 500), (2000, 400)]),
    ([0.3, 0.25, 0.15, 0.1, 0.1, 0.07, 0.03], [0] + [4000] * 6, [(0, 0)] + [(40 + 7 * i, 10 + 9 * i) for i in range(6)]),
    ([0.6, 0.4], [0, 1000], [(0, 0), (10, 5)]),  # a debt that is never paid back
    ([1 / (k + 1) for k in range(35)], [0] + [2000, 5000] * 17, [(0, 0)] + [(50 + i, 5 + i) for i in range(34)]),
]


# ---- files ----

ZIPF = [1 / (k + 1) for k in range(35)]
MIXES = [
    [0.5, 0.25, 0.25],
    [0.1, 0.5, 0.3, 0.1],
    [0.1, 0.2, 0.7],
    [3, 0, 1e-6, 5],
    [0.3, 0.25, 0.15, 0.1, 0.1, 0.07, 0.03],
    ZIPF,
]
TEMPERED = [(0.5, [1, 4, 9]), (2.0, [1, 4, 9]), (3.3, [0.7, 0.2, 1e-9, 0.1, 0]), (5.0, ZIPF)]
COUNTED = [(10, [0.55, 0.25, 0.20]), (7, [1, 1, 1]), (5, [1000, 1, 1, 1, 1]), (12000, [0.6, 0.4])]
SHOWN = 200


def join(values):
    return ",".join(str(v) for v in values)


def write(name, head, rows):
    lines = ["# " + line for line in head] + ["\t".join(str(cell) for cell in row) for row in rows]
    (HERE / name).write_text("\n".join(lines) + "\n")


def counts(drawn, n):
    out = [0] * n
    for i in drawn:
        out[i] += 1
    return join(out)


def drawn_rows(draw):
    """Weights, the first draws, and how often each domain is drawn in 5,000."""
    for raw in MIXES:
        drawn = list(draw(raw))
        yield join(raw), join(drawn[:SHOWN]), counts(drawn, len(raw))


def lending_rows():
    for raw, catch_up, droughts in LENDING:
        drawn, debts = [], [0] * len(raw)
        for i, owed in lend(quantise(raw), 5000, catch_up, droughts):
            drawn.append(i)
            debts = list(owed)
        yield (join(raw), join(catch_up), join(p for p, _ in droughts), join(d for _, d in droughts),
               join(drawn[:SHOWN]), counts(drawn, len(raw)), join(debts))


def main():
    made = "Made by make_schedules.py."
    rows = [(ONE, 1, join(raw), join(quantise(raw))) for raw in MIXES]
    rows += [(ONE, t, join(raw), join(quantise(raw, t))) for t, raw in TEMPERED]
    rows += [(total, 1, join(raw), join(quantise(raw, 1, total))) for total, raw in COUNTED]
    write("weights.tsv", [made + " Total, temperature, weights as written, quantised weights."], rows)
    columns = "Weights, the first 200 domains drawn, counts after 5,000 draws."
    write(
        "schedule_deficit.tsv",
        [made + " " + columns],
        drawn_rows(lambda raw: deficit(quantise(raw), 5000)),
    )
    tokens = [1 + k * 7919 % 65 for k in range(127)]
    write(
        "schedule_tokens.tsv",
        [made + " Draw k is of 1 + (k mod 127) * 7919 mod 65 tokens of 65.", columns],
        drawn_rows(lambda raw: deficit(quantise(raw), 5000, tokens, 65)),
    )
    write("schedule_greedy.tsv", [made + " " + columns], drawn_rows(lambda raw: greedy(raw, 5000)))
    write(
        "schedule_random.tsv",
        [made + " The seed is 1234. " + columns],
        drawn_rows(lambda raw: random(quantise(raw), 5000, 1234)),
    )
    write(
        "lending.tsv",
        [
            made + " A domain lends if it has catch_up, here in thousandths. It has no sequence at draw k if",
            "k mod period is at least period - dry. Weights, catch_up, period, dry, the first 200 domains drawn,",
            "counts after 5,000 draws, draws that are owed then.",
        ],
        lending_rows(),
    )


if __name__ == "__main__":
    main()
