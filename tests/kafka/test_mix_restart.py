"""riffle mix while its broker is away: the broker is killed in the middle of a mix and comes back."""

import json
import signal

from one_kill import one_kill

from conftest import wait_until

TRIES = 10  # of a question to a broker that is busy, or has only just come back
STEPS = 300  # that are compared


@one_kill(at_work=True)
def test_a_mixer_outlives_its_broker_and_the_steps_are_those_of_a_calm_mix(s):
    s.fill("a", "b", corpus=f"{s.unique}-restart")
    weights = {"a": 0.7, "b": 0.3}
    calm, hit = (s.configure(weights, name, corpus=f"{s.unique}-restart") for name in ("undisturbed", "hit"))
    mixer = s.riffle.popen("mix", "-c", hit, "--until-step", 1000000)

    def position():
        for _ in range(TRIES):
            done = s.riffle("status", "-c", hit, "--json", check=False)
            if done.returncode == 0:
                break
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["mix"]["step_next"]

    wait_until(lambda: position() > 0, "the first step")
    yield
    yield
    before = position()
    wait_until(lambda: position() > before, "a step after the broker came back", seconds=90)
    mixer.send_signal(signal.SIGTERM)
    assert mixer.wait(timeout=60) == 0
    steps = min(position(), STEPS)
    assert steps > before or before >= STEPS
    s.riffle("mix", "-c", calm, "--until-step", steps)
    assert s.read(calm, steps) == s.read(hit, steps)
