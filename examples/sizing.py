#!/usr/bin/env python3
"""How large Kafka, mixer and producers must be for a training: docs/SIZING.md has the arithmetic in words.

    examples/sizing.py --gpus 128 --parameters 8e9 --tokens 1e12

Rates are those of docs/BENCHMARKS.md, measured on two shared cores; all else is given or arithmetic.
"""

import argparse
import math

# docs/BENCHMARKS.md: lanes, each with a partition -> tokens/s of the mixer beside its broker, both on two cores.
MIXER = {8: 116e6, 64: 129e6, 256: 87e6, 1024: 52e6}
BROKER = 46e6       # tokens/s that a broker on two cores took at least, at 1,024 lanes and by default
READER = 290e6      # tokens/s of one process, Python
PRODUCER = 74e6     # bytes of text a second, one core
SEGMENT = 2**30     # segment.bytes of a topic: Kafka deletes whole ones
LEAD = 64           # max_lead_steps by default: no less, however long a step is
TEXT = 7.7e6 / 2204336  # bytes of text a token: the text of "From a file to tokens"


def number(text):
    return float(text)


def options():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--gpus", type=int, required=True)
    p.add_argument("--parameters", type=number, required=True, help="of the model; of a mixture of experts the active ones")
    p.add_argument("--tokens", type=number, required=True, help="of the whole corpus, and drawn")
    p.add_argument("--parallel", type=int, default=1, help="GPUs of one data-parallel rank: tensor x pipeline x context (1)")
    p.add_argument("--flops", type=number, default=4e14, help="that a GPU really does a second (4e14)")
    p.add_argument("--token-bytes", type=number, default=1.67,
                   help="of a token as it is stored (1.67; 1.14 where the vocabulary has at most 65,536 entries)")
    p.add_argument("--sequence", type=int, default=4096)
    p.add_argument("--batch", type=number, default=4e6, help="tokens of a step (4e6)")
    p.add_argument("--keep-hours", type=number, default=72, help="of batches, by riffle retain (72)")
    p.add_argument("--copies", type=int, default=3, help="topics.replication (3)")
    p.add_argument("--broker-disk", type=number, default=30e12, help="bytes of a broker's disk that may be used (30e12)")
    p.add_argument("--publish-hours", type=number, default=24, help="in which the corpus is to be published (24)")
    return p.parse_args()


def in_words(value, unit):
    for name, size in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= size:
            return f"{value / size:.3g} {name}{' ' if unit[0] == 't' else ''}{unit}"
    return f"{value:.3g} {unit}"


def main():
    o = options()
    ranks = o.gpus // o.parallel
    lanes = ranks
    partitions = max(p for p in range(1, 257) if lanes % p == 0)
    rate = o.gpus * o.flops / (6 * o.parameters)
    sequences = max(1, round(o.batch / o.sequence / lanes)) * lanes
    step_s = sequences * o.sequence / rate
    stored = o.token_bytes * rate
    domains = o.tokens * o.token_bytes * o.copies
    batches = min(o.tokens, rate * 3600 * o.keep_hours) * o.token_bytes * o.copies
    published = o.tokens / (3600 * o.publish_hours)
    by_training = math.ceil((o.copies + 2) * rate / BROKER)  # batches are written o.copies times and read; domains are read
    by_publishing = math.ceil(o.copies * published / BROKER)
    by_disk = math.ceil((domains + batches) / o.broker_disk)
    brokers = max(by_training, by_publishing, by_disk, o.copies)
    text = o.tokens * TEXT
    mixer = MIXER[min(p for p in MIXER if p >= partitions)]
    rows = [
        ("training", f"{in_words(rate, 'tokens/s')}, {in_words(rate / ranks, 'tokens/s')} a rank, a step of {sequences:,} sequences every "
                     f"{step_s:.3g} s, {o.tokens / rate / 86400:.3g} days"),
        ("lanes, partitions", f"{lanes:,} lanes for {ranks:,} ranks, mix.partitions {partitions}"),
        ("mixer", f"{100 * rate / mixer:.2g} % of one on two cores with its broker ({in_words(mixer, 'tokens/s')})"),
        ("a rank reads", f"{100 * rate / ranks / READER:.2g} % of one process ({in_words(READER, 'tokens/s')})"),
        ("disk, domains", f"{in_words(domains, 'B')} ({o.copies} copies)"),
        ("disk, batches", f"{in_words(batches, 'B')} ({o.keep_hours:g} hours, {o.keep_hours * 3600 / step_s:,.0f} steps, {o.copies} copies)"),
        ("", f"and up to {in_words(partitions * SEGMENT * o.copies, 'B')} in segments that are not full, which stay"),
        ("brokers", f"{brokers}: {by_disk} by disk (of {in_words(o.broker_disk, 'B')}), {by_training} by the training's rate, "
                    f"{by_publishing} to publish in {o.publish_hours:g} hours, {o.copies} for the copies"),
        ("disk of a broker", in_words((domains + batches + partitions * SEGMENT * o.copies) / brokers, "B")),
        ("network", f"into the brokers {in_words(stored * o.copies, 'B/s')}, mixer in and out {in_words(stored, 'B/s')} each, "
                    f"trainers together {in_words(stored, 'B/s')}"),
        ("publishing", f"{in_words(text, 'B')} of text, {text / PRODUCER / 3600:,.0f} core hours; "
                       f"cores to publish in {o.publish_hours:g} hours: {math.ceil(text / PRODUCER / 3600 / o.publish_hours)}"),
        ("", f"{in_words(published, 'tokens/s')}, into the brokers {in_words(published * o.token_bytes * o.copies, 'B/s')}"),
        ("run.yml", f"sequence_length: {o.sequence}, topics: {{replication: {o.copies}, min_insync_replicas: {max(1, o.copies - 1)}}},"),
        ("", f"mix: {{global_batch: {sequences}, lanes: {lanes}, partitions: {partitions}, "
             f"max_lead_steps: {math.ceil(max(60 / step_s, LEAD))}}}"),
    ]
    for name, words in rows:
        print(f"{name:<18} {words}")


if __name__ == "__main__":
    main()
