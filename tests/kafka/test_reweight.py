"""riffle reweight on a real broker: off line and live, killed and resumed, against independent arithmetic."""

import io
import json
import math
import os
import random
import signal
import subprocess

import fastavro
import pytest

from conftest import ROOT, wait_until
from test_feedback import report, status  # noqa: F401: fixtures

CONTROL = fastavro.schema.load_schema(ROOT / "schemas/Control.avsc")


def doremi(steps, names, start=None, eta=1.0, smoothing=1e-3):
    """arXiv 2305.10429, algorithm 1, over [{domain: (loss, excess, tokens)}]; all weights, and their average."""
    n = len(names)
    weight = dict(start or {d: 1 / n for d in names})
    excess, history = dict.fromkeys(names, 0.0), []
    for losses in steps:
        for d, (_, over, tokens) in losses.items():
            if tokens:
                excess[d] = max(over / tokens, 0)
        grown = {d: weight[d] * math.exp(eta * excess[d]) for d in names}
        weight = {d: (1 - smoothing) * grown[d] / sum(grown.values()) + smoothing / n for d in names}
        history.append(weight)
    return history, {d: math.fsum(w[d] for w in history) / len(history) for d in names}


def odm(steps, names, memory=0.9, scale=1.0):
    """arXiv 2312.02406 with each domain's mean loss as the reward."""
    n, reward = len(names), dict.fromkeys(names, 0.0)
    rate = [1 / n] + [min(1 / n, math.sqrt(math.log(n) / (n * t))) for t in range(1, len(steps) + 1)]
    for t, losses in enumerate(steps, 1):
        for d, (loss, _, tokens) in losses.items():
            if tokens:
                reward[d] = memory * reward[d] + (1 - memory) * scale * loss / tokens
        grown = {d: math.exp(rate[t - 1] * reward[d]) for d in names}
        weight = {d: (1 - n * rate[t]) * grown[d] / sum(grown.values()) + rate[t] for d in names}
    return weight


def line(step, losses, rank=0, world=1, run="trainers"):
    return " ".join([f"{run} {step} {rank} {world}"] + [f"{d}:{a!r}:{b!r}:{n}" for d, (a, b, n) in losses.items()])


def synthetic(steps, names, seed):
    print("seed", seed)
    rng = random.Random(seed)
    return [{d: (rng.uniform(10, 60), rng.uniform(0, 4) * i, rng.randrange(1, 30)) for i, d in enumerate(names)}
            for _ in range(steps)]


@pytest.fixture
def reweight(riffle):
    """riffle reweight ... --json as a dict."""
    def run(config, out, *words, check=True):
        done = riffle("reweight", "-c", config, "--out", out, "--json", *words, check=check)
        return json.loads(done.stdout) if done.returncode == 0 else done
    return run


@pytest.fixture
def mixed(fill, configure, riffle):
    """A mix of code, news and web with steps 0..59 published."""
    fill("code", "news", "web")
    config = configure({"code": 1, "news": 1, "web": 2})
    riffle("mix", "-c", config, "--until-step", 60)
    return config


NAMES = ["code", "news", "web"]


def test_doremi_off_line_gives_the_average_of_its_papers_algorithm(mixed, report, reweight, riffle, tmp_path,
                                                                   write_config, package):
    steps = synthetic(60, NAMES, 1)
    # Two ranks with a part of each step: only the sums count.
    report([line(i, {d: (v[0] / 2, v[1] / 2, v[2]) for d, v in s.items()}, rank, 2)
            for i, s in enumerate(steps) for rank in (0, 1)])
    whole = [{d: (v[0], v[1], 2 * v[2]) for d, v in s.items()} for s in steps]
    history, average = doremi(whole, NAMES)
    out = tmp_path / "w.json"
    got = reweight(mixed, out, "--method", "doremi")
    assert got["steps"] == 60 and got["step_next"] == 60
    for d in NAMES:
        assert got["weights"][d] == pytest.approx(average[d], rel=1e-12)
        assert got["last"][d] == pytest.approx(history[-1][d], rel=1e-12)
    assert json.loads(out.read_text()) == got["weights"]
    tokens = sum(v[2] for v in whole[-1].values())
    assert got["all"] == {"step": 59, "loss": pytest.approx(sum(v[0] for v in whole[-1].values()) / tokens),
                          "excess": pytest.approx(sum(v[1] for v in whole[-1].values()) / tokens)}
    inside = package.riffle.DoReMi(NAMES)  # in the training process: the same bits
    for s in whole:
        inside.update(s)
    assert inside.average == got["weights"] and inside.weights == got["last"]
    # A mix takes the file as it is; plan shows the same shares.
    config = json.loads(open(mixed).read())
    config["mix"]["weights"] = str(out)
    planned = json.loads(riffle("plan", "-c", write_config(config, "learned.yml"), "--steps", 10, "--sizes",
                                "code=200,news=200,web=200", "--json").stdout)
    assert "code" in json.dumps(planned)


def test_rounds_start_from_the_last_result_and_tell_how_far_they_moved(mixed, report, reweight, riffle, tmp_path):
    steps = synthetic(30, NAMES, 2)
    report([line(i, s) for i, s in enumerate(steps)])
    first = reweight(mixed, tmp_path / "1.json", "--method", "doremi")["weights"]
    second = reweight(mixed, tmp_path / "2.json", "--method", "doremi", "--reference", tmp_path / "1.json", "--eta", 0.5)
    _, average = doremi(steps, NAMES, start=first, eta=0.5)
    assert second["weights"] == pytest.approx(average, rel=1e-12)
    table = riffle("reweight", "-c", mixed, "--method", "doremi", "--reference", tmp_path / "1.json", "--out",
                   tmp_path / "3.json", "--eta", 0.5).stdout
    moved = max(abs(average[d] - first[d]) for d in NAMES)
    assert f"moved    {moved:.6f} at most" in table and "step     29: loss " in table and " over all domains\n" in table


def test_odm_needs_losses_only(mixed, report, reweight, tmp_path, package):
    steps = synthetic(60, NAMES, 3)
    report([line(i, {d: (v[0], 0.0, v[2]) for d, v in s.items()}) for i, s in enumerate(steps)])
    got = reweight(mixed, tmp_path / "w.json", "--method", "odm", "--eta", 4)
    assert got["weights"] == pytest.approx(odm(steps, NAMES, scale=4), rel=1e-12)
    inside = package.riffle.ODM(NAMES, eta=4)
    for s in steps:
        inside.update(s)
    assert inside.weights == got["weights"]
    done = reweight(mixed, tmp_path / "d.json", "--method", "doremi", check=False)
    assert done.returncode == 1 and "no excess above 0 in any" in done.stderr and not (tmp_path / "d.json").exists()


def test_floor_and_ceiling_hold_for_each_domain(mixed, report, reweight, tmp_path):
    report([line(i, {"code": (0.0, 0.0, 1), "news": (0.0, 5.0, 1), "web": (0.0, 0.0, 1)}) for i in range(60)])
    free = reweight(mixed, tmp_path / "free.json", "--method", "doremi")["weights"]
    assert free["news"] > 0.98
    got = reweight(mixed, tmp_path / "w.json", "--method", "doremi", "--floor", "0.05,web=0.3", "--ceiling", "news=0.6")
    assert got["weights"] == pytest.approx({"code": 0.1, "news": 0.6, "web": 0.3}, abs=1e-6)
    for words, why in ((("--floor", 0.4), "sum to 1.2"), (("--floor", "moon=0.1"), "draws from no domain moon"),
                       (("--ceiling", "x"), "not a number"), (("--smoothing", 1), "--smoothing: must be at least 0 and below 1")):
        done = reweight(mixed, tmp_path / "bad.json", "--method", "doremi", *words, check=False)
        assert done.returncode == 2 and why in done.stderr


def test_what_is_no_file_is_not_replaced(mixed, report, reweight, tmp_path):
    report([line(i, {"code": (0.0, 0.0, 1), "news": (0.0, 5.0, 1), "web": (0.0, 0.0, 1)}) for i in range(60)])
    os.mkfifo(tmp_path / "pipe")
    done = reweight(mixed, tmp_path / "pipe", "--method", "doremi", check=False)
    assert done.returncode == 2 and "pipe: it is no regular file" in done.stderr
    assert [p.name for p in tmp_path.glob("pipe*")] == ["pipe"] and (tmp_path / "pipe").is_fifo()


def test_what_is_learned_in_parts_is_what_is_learned_at_once(mixed, report, reweight, tmp_path):
    lines = [line(i, s, rank, 3) for i, s in enumerate(synthetic(60, NAMES, 4)) for rank in range(3)]
    lines[40:40] = [lines[7], "garbage x", lines[100].replace("trainers", "others")]
    for end in (1, 17, 62, 62, 150, len(lines)):  # in the middle of steps, and with nothing new
        begin = locals().get("done", 0)
        report(lines[begin:end])
        done = end
        if end >= 17:
            parts = reweight(mixed, tmp_path / "parts.json", "--method", "doremi")
    once = reweight(mixed, tmp_path / "once.json", "--method", "doremi")
    assert parts == once and once["steps"] == 60
    assert once["dropped"]["reports"] == 180 and once["dropped"]["late"] + once["dropped"]["duplicate"] == 1
    assert (once["dropped"]["malformed"], once["dropped"]["other_run"]) == (1, 1)
    assert (tmp_path / "parts.json").read_bytes() == (tmp_path / "once.json").read_bytes()
    done = reweight(mixed, tmp_path / "once.json", "--method", "doremi", "--eta", 2, check=False)
    assert done.returncode == 2 and "another --eta" in done.stderr and "--anew" in done.stderr
    assert reweight(mixed, tmp_path / "once.json", "--method", "doremi", "--eta", 2, "--anew")["steps"] == 60


def test_nothing_to_learn_from_is_an_error_that_says_why(mixed, report, reweight, riffle, tmp_path, unique):
    done = reweight(mixed, tmp_path / "w.json", "--method", "odm", check=False)
    assert done.returncode == 1
    assert (f"topic {unique}-mix.feedback: run trainers has reported nothing: give losses to reader.trained(). 0 reports are of other runs, "
            "0 are malformed\n") in done.stderr
    report([line(3, {"code": (1.0, 1.0, 1)}, run=run) for run in ("others", "trainer", "others")])
    done = reweight(mixed, tmp_path / "w.json", "--method", "odm", check=False)
    assert "3 reports are of other runs, 0 are malformed (did you mean trainer?); other runs are others, trainer\n" in done.stderr
    report([line(60, {"code": (1.0, 1.0, 1)})])
    done = reweight(mixed, tmp_path / "w.json", "--method", "odm", check=False)
    assert "no step was reported by all ranks of run trainers: 0 reports were of it, 3 of other runs, 1 of steps" in done.stderr
    live = riffle.popen("reweight", "-c", mixed, "--method", "odm", "--live", "--out", tmp_path / "live.json")
    wait_until(lambda: "learned_steps=0" in live.stderr.readline(), "it follows")
    live.send_signal(signal.SIGTERM)
    assert live.wait(60) == 0 and "nothing was learned: topic" in live.stderr.read()
    for words, why in (([], "--method is needed"), (["--method", "odm", "--offline", "--live"], "not both"),
                       (["--method", "odm", "--every", 3], "of --live"), (["--method", "doremi", "--memory", 0.1], "--memory")):
        done = reweight(mixed, tmp_path / "w.json", *words, check=False)
        assert done.returncode == 2 and why in done.stderr
    (tmp_path / "w.json.state").write_text("{}")
    report([line(3, {"code": (1.0, 1.0, 1)})])
    done = reweight(mixed, tmp_path / "w.json", "--method", "odm", check=False)
    assert done.returncode == 2 and "w.json.state is of another mix" in done.stderr


# ---- live ----

NEED = {"code": 0.1, "news": 0.3, "web": 0.6}


class Trainer:
    """Reads a block of steps, and reports excesses that fall as a domain's share grows: need / share."""

    def __init__(self, riffle, config, report):
        self.riffle, self.config, self.report, self.step = riffle, config, report, 0

    def shares(self):
        shown = json.loads(self.riffle("weights", "-c", self.config, "--json").stdout)
        weights = {d["name"]: d["weight"] for d in shown["domains"]}
        return {d: w / sum(weights.values()) for d, w in weights.items()}, shown["version"]

    def block(self, n):
        self.riffle("read", "-c", self.config, "--steps", n, "--commit-every", n, "--format", "none", "--timeout", 60)
        share, _ = self.shares()
        lines = [line(self.step + i, {d: (1.0, 10 * min(NEED[d] / share[d], 10), 10) for d in NEED}) for i in range(n)]
        self.report(lines)
        self.step += n


def requests(bootstrap, topic):
    done = subprocess.run(["kcat", "-C", "-q", "-e", "-b", bootstrap, "-t", topic, "-o", "beginning", "-f", "%S\n%s"],
                          capture_output=True, timeout=60, check=True).stdout
    out = []
    while done:
        size, done = done.split(b"\n", 1)
        out.append(fastavro.schemaless_reader(io.BytesIO(done[10:int(size)]), CONTROL))
        done = done[int(size):]
    return out


def learned_when_asked(out):
    """Steps that had been learned when the state was saved, which follows every answer."""
    state = out.parent / (out.name + ".state")
    return json.loads(state.read_text())["steps"] if state.exists() else 0


def test_live_doremi_moves_the_mix_to_the_known_answer_and_survives_kill_9(fill, configure, riffle, report, reweight,
                                                                           tmp_path, bootstrap, unique):
    fill(*NEED, sequences=2000)
    config = configure({"code": 8, "news": 1, "web": 1}, max_lead_steps=16)
    out = tmp_path / "live.json"
    words = ["reweight", "-c", config, "--method", "doremi", "--live", "--eta", 0.015, "--smoothing", 1e-6, "--every", 20,
             "--interval", 0, "--floor", 0.02, "--until-step", 280, "--out", out]
    mixer = riffle.popen("mix", "-c", config)
    trainer = Trainer(riffle, config, report)
    trainer.block(20)
    learner = riffle.popen(*words)
    try:
        for i in range(1, 14):
            # The answer is in; the step at which it takes effect is a lead away.
            wait_until(lambda: learned_when_asked(out) >= 20 * i or learner.poll() is not None, f"request {i}")
            assert learner.poll() is None, learner.stderr.read()
            if i == 5:
                learner.kill()
                learner.wait()
                trainer.block(20)
                learner = riffle.popen(*words)
                continue
            trainer.block(20)
        assert learner.wait(60) == 0
    finally:
        for p in (learner, mixer):
            if p.poll() is None:
                p.send_signal(signal.SIGTERM)
                p.wait(60)
    share, version = trainer.shares()
    for d in NEED:
        assert share[d] == pytest.approx(NEED[d], abs=0.02)
    asked = requests(bootstrap, f"{unique}-mix.control")
    ids = [r["id"] for r in asked]
    assert len(set(ids)) == len(ids) and 12 <= len(ids) <= 14 and version in (len(ids), len(ids) + 1)
    steps = [int(i.rsplit("-", 1)[1]) for i in ids]
    assert all(b - a >= 20 for a, b in zip(steps, steps[1:]))
    for r in asked:  # the sum of the weights stays, so that domains that are not learned would keep their share
        weights = [w["weight"] for w in r["weights"]]
        assert sum(weights) == pytest.approx(10) and min(weights) >= 0.2 - 1e-9
    # The topic holds all that was learned: off line it gives the same bits.
    again = reweight(config, tmp_path / "again.json", "--method", "doremi", "--eta", 0.015, "--smoothing", 1e-6, "--floor", 0.02)
    assert again["steps"] == 280 and (tmp_path / "again.json").read_bytes() == out.read_bytes()


def test_live_ends_with_the_mix(fill, configure, riffle, report, tmp_path):
    fill("code", "news", sequences=160)
    config = configure({"code": 1, "news": 1}, domains={"code": {"on_end": "stop"}, "news": {"on_end": "stop"}})
    learner = None
    riffle("mix", "-c", config)
    try:
        learner = riffle.popen("reweight", "-c", config, "--method", "odm", "--live", "--out", tmp_path / "w.json")
        last = json.loads(riffle("status", "-c", config, "--json").stdout)["mix"]
        assert last["state"] == "ended"
        report([line(i, {"code": (2.0, 0.0, 1), "news": (1.0, 0.0, 1)}) for i in range(last["step_next"])])
        assert learner.wait(60) == 0
        weights = json.loads((tmp_path / "w.json").read_text())
        assert weights["code"] > weights["news"]
    finally:
        if learner.poll() is None:
            learner.kill()


def test_live_waits_for_a_mix_that_has_not_started(fill, configure, riffle, report, tmp_path):
    fill("code", "news", sequences=160)
    config = configure({"code": 1, "news": 1}, domains={"code": {"on_end": "stop"}, "news": {"on_end": "stop"}})
    words = ["reweight", "-c", config, "--method", "odm", "--out", tmp_path / "w.json"]
    done = riffle(*words, check=False)
    assert done.returncode == 1 and "has not started" in done.stderr
    stopped, learner = riffle.popen(*words, "--live"), riffle.popen(*words, "--live")
    for process in (stopped, learner):
        wait_until(lambda: "has not started: `riffle mix" in process.stderr.readline(), "saying that it waits")
    stopped.send_signal(signal.SIGTERM)
    assert stopped.wait(60) == 0 and "has not started" not in stopped.stderr.read()
    riffle("mix", "-c", config)
    last = json.loads(riffle("status", "-c", config, "--json").stdout)["mix"]
    report([line(i, {"code": (2.0, 0.0, 1), "news": (1.0, 0.0, 1)}) for i in range(last["step_next"])])
    assert learner.wait(60) == 0, learner.stderr.read()
    assert json.loads((tmp_path / "w.json").read_text())["code"] > 0.5


def test_live_does_not_wait_for_an_answer_where_no_mixer_runs(mixed, report, riffle, tmp_path):
    """The request stays, and the next mixer answers it."""
    report([line(i, s) for i, s in enumerate(synthetic(60, NAMES, 7))])
    done = riffle("reweight", "-c", mixed, "--method", "doremi", "--live", "--every", 20, "--interval", 0, "--until-step", 60,
                  "--out", tmp_path / "w.json")
    assert "-60 is open: no mixer runs" in done.stderr and "no answer to request" not in done.stderr
    riffle("mix", "-c", mixed, "--until-step", 70)
    shown = json.loads(riffle("weights", "-c", mixed, "--json").stdout)
    weights = {d["name"]: d["weight"] for d in shown["domains"]}
    history, _ = doremi(synthetic(60, NAMES, 7), NAMES)
    assert weights == pytest.approx({d: 4 * w for d, w in history[-1].items()}, rel=1e-6)
