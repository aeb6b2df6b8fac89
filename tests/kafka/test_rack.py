"""A reader with `client.rack` fetches from the broker of its rack, as KIP-392 says, whoever leads the lanes."""

import pytest
from wire_proxy import proxies_of

STEPS, RACK = 120, 2


@pytest.fixture
def bootstrap(two_brokers):
    return two_brokers.bootstrap


@pytest.fixture
def proxies(bootstrap):
    made = proxies_of(bootstrap)
    yield made
    for proxy in made:
        proxy.close()


def test_a_reader_fetches_from_the_broker_of_its_rack(riffle, fill, configure, proxies):
    config = configure({"a": 0.7, "b": 0.3}, length=1024, replication=2)
    fill("a", "b", sequences=800, length=1024)
    riffle("mix", "-c", config, "--until-step", STEPS)
    through = ("-X", "bootstrap.servers=" + ",".join(proxy.address for proxy in proxies))

    def read(*words):
        """The lines, and what each broker sent for them."""
        before = [proxy.answered_bytes for proxy in proxies]
        lines = riffle("read", "-c", config, "--steps", STEPS, *through, *words).stdout
        return lines, [proxy.answered_bytes - n for proxy, n in zip(proxies, before)]
    lines, by_leader = read()
    assert min(by_leader) > max(by_leader) / 10  # lanes are led by both
    near_lines, near = read("-X", f"client.rack=rack{RACK}")
    own = near.pop(RACK - 1)
    assert near_lines == lines and own > 10 * sum(near), (by_leader, own, near)
