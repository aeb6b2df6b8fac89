"""Metadata that name no broker, as now and then in a rolling restart: librdkafka from 2.13 on then forgets every broker and
connects to none again (its issue 5301). All that runs for long must continue."""

import pytest

from rank import lines_of
from test_serve import serve  # noqa: F401 (a fixture)
from wire_proxy import Fate, Forger, Proxy

FORGED_S, FIRST, STEPS, LEAD = 6, 12, 40, 8


@pytest.fixture
def through(bootstrap):
    proxy = Proxy(bootstrap, lambda api_key: Fate.PASS)
    yield proxy
    proxy.close()


def test_mixer_trainer_and_page_go_on_after_metadata_without_a_broker(
        riffle, fill, configure, read, package, serve, wait_for, through, unique):  # noqa: F811
    fill("a", "b")
    weights = {"a": 0.7, "b": 0.3}
    config, calm = configure(weights, max_lead_steps=LEAD, runs=["trainers"]), configure(weights, "calm")
    env = {"RIFFLE_BOOTSTRAP": through.address}
    mixer = riffle.popen("mix", "-c", config, "--until-step", STEPS, env=env)
    page = serve(config, "-X", f"bootstrap.servers={through.address}").wait()
    with package.riffle.Reader(f"{unique}-mix", through.address, step=0, timeout=90) as reader:
        seen = []

        def read_on(steps):
            for _ in range(steps):
                seen.extend(lines_of(next(reader)))
                reader.commit()
        read_on(FIRST)
        through.decide = forger = Forger(FORGED_S)
        through.disconnect()
        read_on(STEPS - FIRST)
    assert mixer.wait(timeout=60) == 0, mixer.communicate()[1]
    wait_for(lambda: page.status()["mix"]["step_next"] == STEPS, "the page showing the last step")
    assert forger.forged > 0
    riffle("mix", "-c", calm, "--until-step", STEPS)
    assert seen == read(calm, STEPS)
