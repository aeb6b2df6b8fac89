"""Losses that trainers report, on a real broker: what riffle status makes of them."""

import json
import os
import subprocess

import pytest


@pytest.fixture
def report(tools, bootstrap, unique):
    """report(["trainers 0 0 1 code:10:2:4", ...]) writes reports to the mix's feedback topic."""
    def run(lines, name="mix"):
        subprocess.run([tools / "report", f"{unique}-{name}"], input="".join(line + "\n" for line in lines), text=True,
                       check=True, timeout=60, env={**os.environ, "RIFFLE_BOOTSTRAP": bootstrap})
    return run


@pytest.fixture
def status(riffle):
    return lambda config: json.loads(riffle("status", "-c", config, "--json").stdout)


def losses_of(status, run="trainers"):
    return next(r for r in status["mix"]["losses"] if r["run"] == run)


def test_status_shows_the_mean_loss_of_complete_steps_for_each_domain(fill, configure, riffle, report, status):
    fill("code", "idle", "web")
    config = configure({"code": 1, "idle": 0, "web": 3})
    assert status(config)["mix"]["losses"] == []  # the mix has not started
    riffle("mix", "-c", config, "--until-step", 20)
    before = status(config)
    assert losses_of(before)["steps"] == 0 and losses_of(before)["step_last"] is None
    assert all(d["loss"] is None for d in before["domains"])
    assert "LOSS" not in riffle("status", "-c", config).stdout
    report([f"trainers {step} {rank} 2 code:{step + rank}:1:10 web:60:0:20" for step in range(5) for rank in (1, 0)])
    report(["trainers 5 0 2 code:1000:0:1"])  # rank 1 has not reported it yet
    after = losses_of(status(config))
    assert (after["steps"], after["step_first"], after["step_last"], after["world"]) == (5, 0, 4, 2)
    assert after["domains"]["code"] == {"loss": pytest.approx(0.25), "excess": pytest.approx(0.1), "tokens": 100}
    assert after["domains"]["web"] == {"loss": pytest.approx(3), "excess": 0, "tokens": 200}
    assert "idle" not in after["domains"] and after["configured"]
    assert after["all"] == {"loss": pytest.approx(625 / 300), "excess": pytest.approx(10 / 300), "tokens": 300}
    assert losses_of(before)["all"] is None
    assert {d["name"]: d["loss"] for d in status(config)["domains"]} == {
        "code": pytest.approx(0.25), "web": pytest.approx(3), "idle": None}
    table = riffle("status", "-c", config).stdout
    assert "losses   run trainers, mean of 5 steps, 0 to 4, in nats a token: 2.0833 over all domains\n" in table
    assert [line.split()[-1] for line in table.splitlines() if line.split()[:1] in (["code"], ["idle"], ["web"])] == [
        "0.2500", "-", "3.0000"]


def test_reports_that_cannot_be_used_are_dropped_counted_and_told(fill, configure, riffle, report, status):
    fill("code", "web")
    config = configure({"code": 1, "web": 1})
    riffle("mix", "-c", config, "--until-step", 10)
    report(["trainers 3 0 1 code:nan:0:4 web:8:0:4 news:1:0:1",
            "trainers 3 0 1 code:4:0:4",           # again, and the step is done with
            "trainers 4 0 2 code:4:0:4", "trainers 4 0 2 code:400:0:4", "trainers 4 1 2 code:4:0:4",
            "trainers 10 0 1 code:4:0:4",          # the mix has published 0 to 9
            "trainers 9 0 1 code:inf:0:4",
            "others 5 0 1 code:99:0:1",
            "garbage what is this?"])
    state = status(config)
    seen = losses_of(state)
    assert seen["dropped"] == {"duplicate": 1, "late": 1, "unknown_step": 1, "unknown_domain": 1, "not_a_number": 2,
                               "malformed": 1}
    assert seen["steps"] == 3 and seen["domains"] == {"code": {"loss": 1, "excess": 0, "tokens": 8},
                                                      "web": {"loss": 2, "excess": 0, "tokens": 4}}
    assert any("run trainers reported 2 losses lately that are no finite numbers" in p for p in state["problems"])
    assert any("1 losses lately of steps that the mix has not published" in p for p in state["problems"])
    assert any("1 losses lately of domains that the mix does not have" in p and p.endswith("has no domain news; it has code, web")
               for p in state["problems"])


def test_a_learner_names_a_domain_that_the_mix_does_not_have(fill, configure, riffle, report, tmp_path):
    fill("code", "web")
    config = configure({"code": 1, "web": 1})
    riffle("mix", "-c", config, "--until-step", 10)
    words = ["reweight", "-c", config, "--method", "odm", "--out", tmp_path / "w.json"]
    report(["trainers 0 0 1 code:8:0:4 web:8:0:4"])
    assert "REWEIGHT-DOMAIN" not in riffle(*words).stderr
    report(["trainers 1 0 1 code:8:0:4 wev:8:0:4", "trainers 2 0 1 cods:8:0:4"])
    said = riffle(*words).stderr
    assert said.count("REWEIGHT-DOMAIN") == 1
    assert "-mix has no domain wev (did you mean web?); it has code, web" in said


def test_status_reads_the_last_reports_only(fill, configure, riffle, report, status):
    fill("code", "web", sequences=20000, length=64)
    config = configure({"code": 1, "web": 1})
    riffle("mix", "-c", config, "--until-step", 1000)
    report([f"trainers {step} 0 1 code:{1000 if step < 488 else 2}:0:1" for step in range(1000)])
    seen = losses_of(status(config))
    assert (seen["steps"], seen["step_first"], seen["step_last"]) == (512, 488, 999)
    assert seen["domains"]["code"]["loss"] == pytest.approx(2)


def test_losses_of_several_runs_stand_apart(fill, configure, riffle, report, status):
    fill("code", "web")
    config = configure({"code": 1, "web": 1}, runs=["trainers", "small"])
    riffle("mix", "-c", config, "--until-step", 10)
    report(["small 0 0 1 code:5:0:1", "trainers 0 0 2 code:1:0:1", "trainers 0 1 2 code:3:0:1"])
    state = status(config)
    assert losses_of(state)["domains"]["code"]["loss"] == 2 and losses_of(state, "small")["domains"]["code"]["loss"] == 5


def test_a_run_that_only_reports_is_shown_beside_those_of_mix_runs(fill, configure, riffle, report, status):
    """A model beside the training, which commits nothing and limits no lead."""
    fill("code", "web")
    config = configure({"code": 1, "web": 1})
    riffle("mix", "-c", config, "--until-step", 10)
    report(["beside 5 0 1 code:99:0:1 web:3:0:1", "trainers 0 0 1 code:1:0:1", "no/name 1 0 1 code:1:0:1", "beside 10 0 1 code:1:0:1"])
    state = status(config)
    assert [(r["run"], r["configured"], r["steps"]) for r in state["mix"]["losses"]] == [("trainers", True, 1), ("beside", False, 1)]
    assert losses_of(state, "beside")["all"] == {"loss": 51, "excess": 0, "tokens": 2}
    assert any("run beside reported 1 losses lately of steps that the mix has not published" in p for p in state["problems"])
    assert [r["name"] for r in state["mix"]["runs"]] == ["trainers"]
    table = riffle("status", "-c", config).stdout
    assert "losses   run beside (not in mix.runs), mean of 1 steps, 5 to 5, in nats a token: 51.0000 over all domains" in table
    assert next(line for line in table.splitlines() if line.startswith("code ")).split()[-1] == "1.0000"
    report([f"more{i} 1 0 1 code:{i}:0:1" for i in range(20)])
    assert [r["run"] for r in status(config)["mix"]["losses"]] == ["trainers", "beside"] + [f"more{i}" for i in range(6)]
