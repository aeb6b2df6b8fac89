"""riffle status on a real broker: at every stage of a corpus and a mix, as a table and as JSON."""

import json
import os
import re
import signal
import subprocess

import pytest
import yaml

from conftest import ROOT, both_forms
from wire_proxy import FETCH, FIND_COORDINATOR, Fate, Proxy

LENGTH, BATCH, LANES, LEAD = 64, 16, 4, 64
PROBLEMS = (ROOT / "docs/OPERATIONS.md").read_text().partition("## Problems of riffle status")[2].partition("\n## ")[0]
WEIGHTS = {"books": 0.2, "code": 0.5, "web": 0.3}


@pytest.fixture
def tool(tools, bootstrap):
    def run(name, *words):
        subprocess.run([os.path.join(tools, name), *map(str, words)], check=True, timeout=60,
                       env={**os.environ, "RIFFLE_BOOTSTRAP": bootstrap})
    return run


@pytest.fixture
def fill(tool, bootstrap, unique):
    def run(*domains, sequences=300, more=()):
        tool("fill", "--bootstrap", bootstrap, "--corpus", f"{unique}c", "--domain",
             ",".join(domains), "--sequences", sequences, "--length", LENGTH, "--distinct", 20,
             *more)
    return run


@pytest.fixture
def config(unique, bootstrap, write_config, form):
    return write_config({
        "corpus": f"{unique}c",
        "tokenizer": {"file": "unused.tiktoken", "pattern": "gpt2", "eos": "<|endoftext|>"},
        "sequence_length": LENGTH,
        "split": "1,0,0",
        "domains": {d: {"train": [f"{d}.jsonl"]} for d in WEIGHTS},
        "mix": {"name": f"{unique}m", "seed": 1, "global_batch": BATCH, "lanes": LANES,
                "max_lead_steps": LEAD, "weights": WEIGHTS, "batches": form},
        "kafka": {"bootstrap.servers": bootstrap},
    })


@pytest.fixture
def status(riffle, config):
    def ask():
        return json.loads(riffle("status", "-c", config, "--json").stdout)
    return ask


@pytest.fixture
def mixed(riffle, config, fill):
    """Topics, domains, and so many steps of a mix."""
    def run(steps):
        riffle("topics", "-c", config, "--create")
        fill(*WEIGHTS)
        riffle("mix", "-c", config, "--until-step", steps)
    return run


@pytest.fixture
def commit(tool, unique, commits):
    def run(steps, run="trainers"):
        """Commits a step for each lane, as a trainer does."""
        for lane, step in enumerate(steps):
            if step is not None:
                tool("broker", "commit", f"{unique}m.{run}", f"{unique}m.{commits}", lane, step,
                     step if isinstance(step, str) else f"step={step}")
    return run


def domains(answer):
    return {d["name"]: d for d in answer["domains"]}


def test_before_anything_exists_it_says_what_to_do(status, unique):
    answer = status()
    assert answer["mix"]["state"] == "not started"
    assert answer["mix"]["step_next"] == 0
    assert answer["mix"]["rates"] is None and answer["mix"]["weights"] is None
    assert {t["exists"] for t in answer["topics"]} == {False}
    assert [d["partitions"] for d in answer["domains"]] == [0, 0, 0]
    assert "8 of 8 topics are missing" in answer["problems"][0]
    assert "riffle topics" in answer["problems"][0]


def test_empty_topics_need_a_producer(status, riffle, config):
    riffle("topics", "-c", config, "--create")
    answer = status()
    assert {t["problem"] for t in answer["topics"]} == {""}
    assert [p for p in answer["problems"] if "has no sequences yet: run `riffle produce" in p] == \
        answer["problems"][:3]


def test_a_domain_without_its_end_is_not_sealed(status, riffle, config, fill):
    riffle("topics", "-c", config, "--create")
    fill("books", "code", sequences=120)
    fill("web", sequences=70, more=["--live"])
    of = domains(status())
    assert [of[d]["sealed_length"] for d in WEIGHTS] == [120, 120, None]
    assert [of[d]["sequences"] for d in WEIGHTS] == [120, 120, 70]
    problems = status()["problems"]
    assert any(p.startswith("domain web is not sealed (0 of 1 partitions are): run `riffle produce -c "
                            f"{config} web`") for p in problems)
    assert not any("has not started" in p for p in problems)


def test_sealed_domains_and_no_mix_yet(status, riffle, config, fill):
    riffle("topics", "-c", config, "--create")
    fill(*WEIGHTS)
    answer = status()
    assert any(p.startswith("the mix has not started: `riffle mix") for p in answer["problems"])
    for name, d in domains(answer).items():
        assert d["intended"] == pytest.approx(WEIGHTS[name], abs=1e-9)
        assert d["target"] is None and d["deviation"] is None
        assert d["realised"] == 0 and d["mixed"] is False and d["mixer_commit"] is None


@both_forms
def test_a_mix_shows_steps_shares_and_positions(status, config, mixed, form):
    mixed(40)  # 640 draws: code (500) and its epoch of 300 sequences wrap once
    answer = status()
    mix = answer["mix"]
    assert (mix["state"], mix["step_next"], mix["draws"]) == ("stopped", 40, 40 * BATCH)
    assert mix["step_kept"] == (0 if form == "copied" else None) and mix["step_limit"] == LEAD
    assert mix["weights"]["version"] == 1 and mix["weights"]["reason"] == "config"
    assert mix["age_ms"] >= 0
    of = domains(answer)
    assert sum(d["taken"] for d in of.values()) == 40 * BATCH
    for name, d in of.items():
        assert abs(d["taken"] - WEIGHTS[name] * 40 * BATCH) < 2
        assert d["realised"] == pytest.approx(d["taken"] / (40 * BATCH))
        assert d["taken"] == d["epoch"] * 300 + d["position"]
        assert d["mixer_commit"] == d["position"]
    assert of["code"]["epoch"] == 1
    assert answer["problems"] == []  # its trainers may come: the mixer does not wait for them yet


def test_realised_shares_stand_beside_the_target_of_all_versions(status, riffle, write_config, config, fill, unique):
    """Steps 0..19 by 0.2 0.5 0.3, then 20 steps by 0.8 0.1 0.1: the target is the mean of both, not what is in force."""
    changed = yaml.safe_load(open(config))
    changed["mix"]["phases"] = [{"name": "late", "start_step": 20, "weights": {"books": 0.8, "code": 0.1, "web": 0.1}}]
    config = write_config(changed, "phases.yml")
    riffle("topics", "-c", config, "--create")
    fill(*WEIGHTS)
    answer = lambda: json.loads(riffle("status", "-c", config, "--json").stdout)
    late_phase = {"name": "late", "step": 20, "seconds": None}
    assert answer()["mix"]["next_phase"] == late_phase
    riffle("mix", "-c", config, "--until-step", 20)
    assert answer()["mix"]["next_phase"] == late_phase
    assert "; phase late at step 20\n" in riffle("status", "-c", config).stdout
    riffle("mix", "-c", config, "--until-step", 40)
    of = domains(answer())
    assert answer()["mix"]["next_phase"] is None
    for name, late in (("books", 0.8), ("code", 0.1), ("web", 0.1)):
        d = of[name]
        target = (WEIGHTS[name] + late) * 20 * BATCH
        assert d["intended"] == pytest.approx(late, abs=1e-6)
        assert d["target"] == pytest.approx(target / (40 * BATCH), abs=1e-6)
        assert d["deviation"] == pytest.approx(d["taken"] - target, abs=1e-3) and abs(d["deviation"]) < 2
        assert abs(d["realised"] - d["intended"]) > 0.04
    table = riffle("status", "-c", config).stdout
    books = next(line for line in table.splitlines() if line.startswith("books")).split()
    assert "TARGET" in table and books[4] == "80.000000%" and books[5] == "50.000000%"


def test_a_domain_that_left_is_not_said_to_have_no_topic(riffle, write_config, config, mixed):
    mixed(2)
    with open(config) as file:
        shorter = yaml.safe_load(file)
    gone = sorted(shorter["domains"])[-1]
    del shorter["domains"][gone], shorter["mix"]["weights"][gone]
    path = write_config(shorter, "shorter.yml")
    refused = riffle("mix", "-c", path, "--until-step", 4, check=False).stderr
    assert f"domain {gone}: in the mix, and not in the file: it leaves; --accept-config puts the file in force" in refused
    assert "catch_up" not in refused, "keys that nobody wrote"
    riffle("mix", "-c", path, "--until-step", 4, "--accept-config", "--yes")
    row, = [line.split() for line in riffle("status", "-c", path).stdout.splitlines() if line.startswith(f"{gone} ")]
    assert row[1:3] == ["-", "-"] and row[-1] == "left"


def test_a_mix_runs_while_a_mixer_is_active(status, riffle, config, mixed, wait_for):
    mixed(10)
    assert status()["mix"]["state"] == "stopped"
    process = riffle.popen("mix", "-c", config)
    wait_for(lambda: status()["mix"]["step_next"] == LEAD, "the mixer at its lead")
    assert status()["mix"]["state"] == "running"
    assert f", running\n" in riffle("status", "-c", config).stdout
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=60) == 0
    wait_for(lambda: status()["mix"]["state"] == "stopped", "no mixer")


def test_the_codes_of_problems_are_those_of_the_documents():
    room = (ROOT / "consumer/status/status.c").read_text()
    used = set(re.findall(r'"(STATUS-[A-Z-]+)"', room))
    assert used and used == set(re.findall(r"^\| `(STATUS-[A-Z-]+)` \|", PROBLEMS, re.M))


@both_forms
def test_a_run_stands_at_its_lowest_lane(status, mixed, commit):
    mixed(40)
    commit([20, 30, 25, 22])
    run, = status()["mix"]["runs"]
    assert run["committed"] and run["bounds_lead"]
    assert (run["step"], run["lane"], run["step_ahead"], run["lag_steps"]) == (20, 0, 30, 20)
    assert status()["mix"]["step_limit"] == 20 + LEAD
    assert status()["problems"] == []


def test_a_lane_without_a_commit_is_at_step_0(status, mixed, commit):
    mixed(10)
    commit([5, None, 5, 5])
    run, = status()["mix"]["runs"]
    assert (run["committed"], run["step"], run["lane"], run["lag_steps"]) == (True, 0, 1, 10)


def test_a_commit_that_is_no_step_is_told(status, mixed, commit):
    mixed(10)
    commit([5, 5, 5, "9"])
    problem, = status()["problems"]
    assert problem.startswith("run trainers: lane 3: ")
    assert '"9"' in problem


@both_forms
def test_a_mixer_that_has_just_reached_its_lead_is_no_problem(riffle, config, mixed):
    mixed(LEAD)
    assert riffle("status", "-c", config, "--check").returncode == 0


def test_the_runs_and_the_lead_in_force_decide_where_the_mixer_waits_not_those_of_a_file_of_before(status, riffle, config, mixed,
                                                                                                   commit):
    mixed(40)
    began = config.read_text()
    fresh = json.loads(began)
    fresh["mix"]["runs"], fresh["mix"]["max_lead_steps"] = ["trainers", "eval"], 50
    config.write_text(json.dumps(fresh))
    riffle("mix", "-c", config, "--until-step", 42, "--accept-config", "--yes")
    commit([20] * LANES)
    config.write_text(began)
    answer = status()
    assert answer["mix"]["step_limit"] == 50 and answer["mix"]["max_lead_steps"] == 50
    assert {r["name"]: r["bounds_lead"] for r in answer["mix"]["runs"]} == {"trainers": True, "eval": True}
    fresh["mix"]["runs"] = ["trainers"]
    config.write_text(json.dumps(fresh))
    riffle("mix", "-c", config, "--until-step", 44, "--accept-config", "--yes")
    fresh["mix"]["runs"] = ["trainers", "eval"]
    config.write_text(json.dumps(fresh))
    assert status()["mix"]["step_limit"] == 70


def test_a_check_ends_with_1_where_there_is_a_problem(status, riffle, config, mixed, commit):
    done = riffle("status", "-c", config, "--check", check=False)
    assert done.returncode == 1 and done.stdout.startswith(riffle("status", "-c", config).stdout.splitlines()[0])
    assert re.fullmatch(r"riffle status: 1 problem: STATUS-TOPICS-MISSING .* topics are missing.*\n", done.stderr), done.stderr
    mixed(40)
    commit([20, 30, 25, 22])
    done = riffle("status", "-c", config, "--check", "--json")
    assert json.loads(done.stdout)["problems"] == [] and done.stderr == ""
    done = riffle("status", "-c", config, "--check", "--watch", check=False)
    assert done.returncode == 2 and "exclude each other" in done.stderr


def test_without_a_mix_only_the_corpus_is_shown(riffle, config, fill, write_config):
    text = json.loads(config.read_text())
    del text["mix"]
    alone = write_config(text, "alone.yml")
    riffle("topics", "-c", alone, "--create")
    fill(*WEIGHTS, sequences=50)
    answer = json.loads(riffle("status", "-c", alone, "--json").stdout)
    assert answer["mix"] is None
    assert answer["problems"] == []
    assert {d["sealed_length"] for d in answer["domains"]} == {50}
    assert "mix " not in riffle("status", "-c", alone).stdout


def test_the_table_shows_the_same(riffle, config, mixed, commit, unique):
    mixed(40)
    commit([20, 20, 20, 20])
    done = riffle("status", "-c", config)
    lines = done.stdout.splitlines()
    assert f"mix      {unique}m, stopped" in lines
    assert "next     step 40, limit step 84" in lines
    assert any(line.split() == ["trainers", "20", "20", "64"] for line in lines)
    row, = [line.split() for line in lines if line.startswith("code ")]
    assert row[:4] == ["code", "300", "yes", "0.5"]
    assert row[4:8] == ["50.000000%"] * 3 + ["+0.00"] and row[8:] == ["320", "1", "20"]
    assert done.stderr == ""


def test_watching_shows_changes_until_it_is_told_to_stop(riffle, config, mixed, commit):
    mixed(10)
    process = riffle.popen("status", "-c", config, "--watch", "--json")
    assert json.loads(process.stdout.readline())["mix"]["runs"][0]["step"] == 0
    commit([7] * LANES)
    for line in process.stdout:  # ends by the test's own deadline where nothing changes
        if json.loads(line)["mix"]["runs"][0]["step"] == 7:
            break
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == 0


def test_coordinators_that_are_found_late_end_nothing(riffle, config, bootstrap, mixed, commit):
    # librdkafka 2.0.2 ends a process whose admin request was not answered in its time, and then is.
    mixed(10)
    commit([5, 5, 5, 5])
    proxy = Proxy(bootstrap, lambda key: Fate.LATE if key == FIND_COORDINATOR else Fate.PASS)
    try:
        done = riffle("status", "-c", config, "--json", "-X", f"bootstrap.servers={proxy.address}")
    finally:
        proxy.close()
    mix = json.loads(done.stdout)["mix"]
    assert [r["step"] for r in mix["runs"]] == [5]
    assert mix["mixers"] == []


def test_what_a_broker_does_not_return_in_time_is_a_problem(riffle, config, bootstrap, unique, fill):
    """A follower that lags behind, or a broker that is overloaded, does not return the last records of one domain."""
    riffle("topics", "-c", config, "--create")
    fill(*WEIGHTS)
    proxy = Proxy(bootstrap, lambda key: Fate.LOSE_ANSWER if key == FETCH and f"{unique}c.books".encode() in proxy.request
                  else Fate.PASS)
    try:
        # It connects again after each lost answer. Without this pause it would do so all the time.
        done = riffle("status", "-c", config, "--json", "--check", "-X", f"bootstrap.servers={proxy.address}",
                      "-X", "reconnect.backoff.ms=1000", check=False)
    finally:
        proxy.close()
    assert done.returncode == 1 and "STATUS-INCOMPLETE" in done.stderr, done.stderr
    late = [p["text"] for p in json.loads(done.stdout)["problem_list"] if p["code"] == "STATUS-INCOMPLETE"]
    assert any(re.match("domain books: the broker has not returned the last record of 1 of 1 partitions within 15 s", p) for p in late)
    assert any(p.startswith("the broker has not returned the recipes of the domains within 15 s") for p in late)
    assert not any("domain books is not sealed" in p for p in json.loads(done.stdout)["problems"])
    assert "STATUS-INCOMPLETE" in PROBLEMS


def test_no_broker_is_one_sentence(riffle, config):
    done = riffle("status", "-c", config, "-X", "bootstrap.servers=127.0.0.1:1", check=False)
    assert done.returncode == 1
    waits, fails = done.stderr.splitlines()
    assert "KAFKA-WAIT no broker has answered yet at 127.0.0.1:1 (bootstrap.servers)" in waits
    assert "no broker answers at 127.0.0.1:1" in fails


def test_version_with_verbose_names_the_cluster(riffle, bootstrap):
    last = riffle("--version", "--verbose", env={"RIFFLE_BOOTSTRAP": bootstrap}).stdout.splitlines()[-1]
    assert re.fullmatch(rf"broker {re.escape(bootstrap)}: 1 in the cluster, controller 1, cluster id [\w-]+ "
                        r"\(brokers do not report their version\)", last)
