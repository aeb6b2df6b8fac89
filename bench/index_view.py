"""What the index view of a mix costs beside reading it by step: index_view.py MIX BOOTSTRAP STEPS [ROUNDS].

Prints a table of sequences a second, the best of ROUNDS, and milliseconds a jump. Steps are read once before, so that the
broker has them in memory. Run it with PYTHONPATH=python and RIFFLE_LIBRARY=build/libriffle.so.0.
"""

import random
import sys
import time

import riffle
import riffle.torch
from torch.utils.data import DataLoader

mix, bootstrap, steps = sys.argv[1], sys.argv[2], int(sys.argv[3])
rounds = int(sys.argv[4]) if len(sys.argv) > 4 else 3
B = riffle.find_extent(mix, bootstrap).global_batch
FIELDS = ["input_ids", "labels", "position_ids", "document_ids"]


def reader():
    with riffle.Reader(mix, bootstrap, step=0) as r:
        for _ in range(steps):
            next(r).tokens.sum(dtype="u8")


def sequences():
    s = riffle.Sequences(mix, bootstrap, steps=steps)
    for i in range(steps * B):
        step, row = s[i]
        step.tokens[row].sum(dtype="u8")
    s.close()


def iterable(workers):
    def run():
        d = riffle.torch.Dataset(mix, bootstrap, step=0, fields=FIELDS)
        items = iter(DataLoader(d, batch_size=None, num_workers=workers))
        for _ in range(steps):
            next(items)["input_ids"].sum()
    return run


def indexed(workers):
    def run():
        d = riffle.torch.MapDataset(mix, bootstrap, steps=steps, fields=FIELDS)
        for item in DataLoader(d, batch_size=B, num_workers=workers):
            item["input_ids"].sum()
        d.close()
    return run


def jumps():
    s = riffle.Sequences(mix, bootstrap, steps=steps, keep=1)
    s[0]
    order = random.Random(1).sample(range(steps), min(50, steps))
    began = time.monotonic()
    for step in order:
        s[step * B]
    s.close()
    return 1000 * (time.monotonic() - began) / len(order)


print("| what | sequences/s | of the same by step |\n|---|---|---|")
reader()
for name, run, base in (
        ("riffle.Reader", reader, None), ("riffle.Sequences, in order", sequences, "riffle.Reader"),
        ("riffle.torch.Dataset, 0 workers", iterable(0), None),
        ("riffle.torch.MapDataset, 0 workers", indexed(0), "riffle.torch.Dataset, 0 workers"),
        ("riffle.torch.Dataset, 1 worker", iterable(1), None),
        ("riffle.torch.MapDataset, 1 worker", indexed(1), "riffle.torch.Dataset, 1 worker")):
    best = 0.0
    for _ in range(rounds):
        began = time.monotonic()
        run()
        best = max(best, steps * B / (time.monotonic() - began))
    rates = dict(globals().get("rates", {}), **{name: best})
    print(f"| {name} | {best:,.0f} | {f'{best / rates[base]:.2f}' if base else ''} |", flush=True)
print(f"\na jump: {jumps():.1f} ms")
