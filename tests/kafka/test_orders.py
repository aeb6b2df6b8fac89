"""The orders of a domain's sequences, `shuffle: block`, `full` and `none`, on a real broker: what a trainer reads, replays, files that change."""

import collections
import itertools
import json
import re

PARTS = 16


def drawn(lines):
    """(domain, partition, epoch, ordinal) in the order in which a trainer gets them."""
    return [(d["domain"], d["partition"], d["epoch"], d["ordinal"]) for d in map(json.loads, lines)]


def turns(lengths):
    """Partitions give one sequence each in turn, as long as they have some."""
    return [(p, o) for o in range(max(lengths)) for p, n in enumerate(lengths) if o < n]


def chi_squared(ordinals):
    """Of where sequences come: chi-squared with 15 * 15 degrees of freedom for a random order: 225, standard deviation 21."""
    n = len(ordinals)
    cells = collections.Counter((o * PARTS // n, t * PARTS // n) for t, o in enumerate(ordinals))
    expected = n / PARTS ** 2
    return sum((cells[c] - expected) ** 2 / expected for c in itertools.product(range(PARTS), repeat=2))


def test_none_is_the_order_of_the_input_in_every_epoch(riffle, fill, configure, read):
    fill("a", sequences=50)
    config = configure({"a": 1}, shuffle="none", permute=False)
    riffle("mix", "-c", config, "--until-step", 10)
    riffle("mix", "-c", config, "--until-step", 20)  # and behind a resume
    got = drawn(read(config, 20, form="jsonl"))
    assert got == [("a", 0, t // 50, t % 50) for t in range(320)]
    riffle("replay", "-c", config, "--steps", "0..20")


def test_partitions_take_turns_where_nothing_is_shuffled(riffle, fill, configure, read):
    fill("a", sequences=50, partitions=3)
    fill("b", sequences=700)
    config = configure({"a": 1, "b": 1}, domains={"a": {"shuffle": "none", "partitions": 3}}, permute=False)
    riffle("mix", "-c", config, "--until-step", 60)
    got = [d for d in drawn(read(config, 60, form="jsonl")) if d[0] == "a"]
    lengths = [1 + max(o for _, p, _, o in got if p == k) for k in range(3)]
    want = [("a", p, epoch, o) for epoch in range(10) for p, o in turns(lengths)]
    assert len(got) == 480 and got == want[:480]
    riffle("replay", "-c", config, "--steps", "0..60")


def test_full_passes_a_chi_squared_test_of_positions(riffle, fill, configure, read):
    """Through `riffle read`, an epoch of 4,096 sequences; `block`, whose batches are a block or two, does not."""
    fill("a", sequences=4096)
    statistic = {}
    for shuffle in ("full", "block"):
        config = configure({"a": 1}, shuffle, shuffle=shuffle, global_batch=64)
        riffle("mix", "-c", config, "--until-step", 64)
        ordinals = [o for _, _, _, o in drawn(read(config, 64, form="jsonl"))]
        assert sorted(ordinals) == list(range(4096))
        statistic[shuffle] = chi_squared(ordinals)
        riffle("replay", "-c", config, "--steps", "0..64")
    assert 225 - 4 * 21.2 < statistic["full"] < 225 + 4 * 21.2
    assert statistic["block"] > 10 * 225


def test_a_domain_that_memory_does_not_hold_is_read_one_by_one_with_equal_bytes(riffle, fill, configure, read):
    fill("a", "b", sequences=3000)
    weights = {"a": 2, "b": 1}
    plenty = configure(weights, "plenty", shuffle="full")
    held = riffle("mix", "-c", plenty, "--until-step", 40).stderr
    assert "MIX-FULL-READS" not in held
    assert re.search(r"domain=a shuffle=full sequences=3000 held_bytes=\d+ reads=6$", held, re.M)
    least = configure(weights, "least", shuffle="full", memory="1MB", transaction_bytes=1)
    refused = riffle("mix", "-c", least, "--until-step", 1, check=False)
    assert refused.returncode == 2
    allow = re.search(r"allow (\d+) MB", refused.stderr)[1]
    least = configure(weights, "least", shuffle="full", memory=f"{allow}MB", transaction_bytes=1, create=False)
    single = riffle("mix", "-c", least, "--until-step", 40).stderr
    told = re.search(r"MIX-FULL-READS domain=b shuffle=full: a read for each of its 3000 sequences, 500 times as many as with "
                     r"shuffle: block; mix\.memory of (\d+) MB would hold it", single)
    assert told
    assert read(plenty, 40) == read(least, 40)
    riffle("replay", "-c", least, "--steps", "0..40")
    # And the figure is right: with it one of both is held.
    more = configure(weights, "more", shuffle="full", memory=f"{told[1]}MB", transaction_bytes=1)
    assert riffle("mix", "-c", more, "--until-step", 1).stderr.count("MIX-FULL-READS") == 1


def test_an_order_cannot_change_once_something_was_drawn(riffle, fill, configure, read):
    fill("a", "b", "c", sequences=300)
    own = {"b": {"shuffle": "none"}}
    config = configure({"a": 1, "b": 1}, domains=own, permute=False)
    riffle("mix", "-c", config, "--until-step", 10)

    def refused(weights, said, **keys):
        path = configure(weights, create=False, permute=False, **keys)
        for words in ([], ["--accept-config", "--yes"]):
            done = riffle("mix", "-c", path, "--until-step", 20, *words, check=False)
            assert done.returncode == 2, done.stderr
        assert said in done.stderr

    refused({"a": 1, "b": 1}, "domain b: shuffle decides the order of its sequences, and cannot change once some were drawn; "
            "give it shuffle: none")
    refused({"a": 1, "b": 1}, "give it shuffle: block", domains={"a": {"shuffle": "full"}, **own})
    refused({"a": 1}, "give it shuffle: none in the file, with weight 0 where it is to leave the mix")
    refused({"a": 1, "b": 1}, 'mix.shuffle: "block" in the ledger, "full" in the file', shuffle="full", domains=own)
    # A domain that comes has the order that it is given.
    more = configure({"a": 1, "b": 1, "c": 1}, domains={"c": {"shuffle": "none"}, **own}, permute=False)
    riffle("mix", "-c", more, "--until-step", 40, "--accept-config", "--yes")
    got = drawn(read(more, 40, form="jsonl"))
    for name in ("b", "c"):
        assert [o for d, _, _, o in got if d == name] == list(range(sum(d == name for d, _, _, _ in got)))
    riffle("replay", "-c", more, "--steps", "0..40")
