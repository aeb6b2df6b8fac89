"""riffle runs: where runs stand, and --reset, the only way to take a known position back."""

import json
import os
import re
import signal
import socket
import subprocess

import pytest

from conftest import both_forms, wait_until

LEAD = 8


@pytest.fixture
def forget(tools, bootstrap):
    """Deletes a group with its commits."""
    return lambda group: subprocess.run([tools / "broker", "forget", group], check=True, timeout=60,
                                        env={**os.environ, "RIFFLE_BOOTSTRAP": bootstrap})


class Mix:
    """A mix of two domains with its mixer in the background."""

    def __init__(self, riffle, config, unique):
        self.riffle, self.config, self.name, self.mixer = riffle, config, f"{unique}-mix", None

    def start(self):
        self.mixer = self.riffle.popen("mix", "-c", self.config, stderr=subprocess.DEVNULL)

    def stop(self):
        self.mixer.send_signal(signal.SIGTERM)
        assert self.mixer.wait(timeout=60) == 0

    def trainer(self, steps, check=True):
        """From its commits on; the lines of --format steps."""
        return self.riffle("read", "-c", self.config, "--commit-every", 1, "--steps", steps, check=check)

    def runs(self, *words, check=True):
        return self.riffle("runs", "-c", self.config, *words, check=check)

    def reset(self, run, to, *words, check=True):
        return self.runs("--reset", run, "--to", to, "--idle", 0, *words, check=check)

    def of(self, run):
        return next(r for r in json.loads(self.runs("--json").stdout) if r["name"] == run)

    def status(self):
        return json.loads(self.riffle("status", "-c", self.config, "--json").stdout)


@pytest.fixture
def mix(riffle, fill, configure, unique):
    fill("a", "b")
    m = Mix(riffle, configure({"a": 0.5, "b": 0.5}, max_lead_steps=LEAD), unique)
    m.start()
    return m


def first_step(done):
    return int(done.stdout.split("\t")[0])


@both_forms
def test_runs_says_where_each_run_stands(mix, read):
    mix.trainer(12)
    wait_until(lambda: mix.of("trainers")["step_known"] == 12, "the ledger's knowledge of step 12")
    run = mix.of("trainers")
    assert (run["step"], run["lag_steps"], run["state"], run["committed"]) == (12, LEAD, "good", True)
    assert 0 <= run["seen_ms"] < 60000
    head, line = mix.runs().stdout.splitlines()
    assert head.split() == ["RUN", "STEP", "KNOWN", "LAG", "MAY", "LAG", "SEEN", "STATE"]
    assert line.split()[:5] == ["trainers", "12", "12", "8", "8"]
    assert re.search(r" \d+\.\d s ago +good$", line)


@both_forms
def test_a_run_that_lost_its_commits_starts_again_after_a_reset_and_not_before(mix, riffle, forget):
    lines = mix.trainer(20).stdout.splitlines()
    wait_until(lambda: mix.of("trainers")["step_known"] == 20, "the ledger's knowledge of step 20")
    forget(f"{mix.name}.trainers")
    assert mix.of("trainers")["state"] == "commits lost"
    problem, = (p for p in mix.status()["problems"] if "run trainers" in p)
    assert f"riffle runs -c {mix.config} --reset trainers --to 20" in problem
    refused = mix.trainer(1, check=False)
    assert refused.returncode == 1 and f"`riffle runs -c {mix.config} --reset trainers --to 20`" in refused.stderr
    done = mix.reset("trainers", 11)
    assert "run trainers is known at step 11 from here on, where it was known at step 20 (by " in done.stdout
    again = mix.trainer(9).stdout.splitlines()
    assert again == lines[11 * 8:]  # from step 11 on, with the same hashes
    assert mix.of("trainers")["state"] == "good" and not mix.status()["problems"]
    # The mixer starts again, and the ledger with the answer in it replays.
    mix.stop()
    riffle("mix", "-c", mix.config, "--until-step", 25)
    assert riffle("replay", "-c", mix.config, "--steps", "0..25").returncode == 0


def test_a_mixer_that_cannot_start_for_lost_commits_starts_after_a_reset_that_waits_for_it(mix, forget):
    mix.trainer(10)
    wait_until(lambda: mix.of("trainers")["step_known"] == 10, "the ledger's knowledge of step 10")
    mix.stop()
    forget(f"{mix.name}.trainers")
    refused = mix.riffle("mix", "-c", mix.config, check=False)
    assert refused.returncode == 2 and " --reset trainers --to 10`" in refused.stderr
    waits = mix.reset("trainers", 4, "--id", "back", "--timeout", 1, check=False)
    assert waits.returncode == 1 and "no answer to request back" in waits.stderr
    assert (mix.of("trainers")["step"], mix.of("trainers")["step_known"]) == (4, 10)
    mix.start()
    wait_until(lambda: mix.of("trainers")["step_known"] == 4, "the answer")
    assert "was accepted before: request back" in mix.reset("trainers", 4, "--id", "back").stdout
    assert first_step(mix.trainer(1)) == 4
    # Asked with the same id once more, it finds the answer, and leaves the commits that came since.
    mix.reset("trainers", 4, "--id", "back")
    assert mix.of("trainers")["step"] == 5


def test_two_processes_that_train_one_rank_at_one_pace_name_each_other(mix, riffle, tmp_path):
    """Their steps are the same: only who commits tells them apart."""
    logs = [tmp_path / "one.log", tmp_path / "two.log"]
    trainers = []
    for log in logs:
        with log.open("w") as said:
            trainers.append(riffle.popen("read", "-c", mix.config, "--commit-every", 1, "--format", "none", stderr=said))
    for log, other in zip(logs, reversed(trainers)):
        said = (f"READ-RUN-TWICE run trainers of mix {mix.name}: another process commits the same lanes, "
                f"{socket.gethostname()}/{other.pid} (host/process). Its last commit is step ")
        wait_until(lambda: said in log.read_text() and all(t.poll() is None for t in trainers), said)


def test_lanes_that_no_rank_reads_are_named_by_reader_mixer_runs_and_status(riffle, fill, configure, unique, tmp_path):
    """Rank 1 of a world of 2 was never started; rank 0 was started twice by mistake."""
    fill("a", "b")
    config = configure({"a": 0.5, "b": 0.5}, max_lead_steps=LEAD, lanes=4)
    logs = [tmp_path / f"{name}.log" for name in ("mixer", "one", "two")]
    rank = ("read", "-c", config, "--rank", 0, "--world", 2, "--commit-every", 1, "--format", "none")
    for log, words in zip(logs, (("mix", "-c", config), rank, rank)):
        with log.open("w") as said:
            riffle.popen(*words, stderr=said)
    apart = f"lanes 0 and 1 up to step {LEAD}, and nothing on lanes 2 and 3"
    asks = f"has committed {apart}: is the rank that reads them running?"
    for log, said in ((logs[1], f"READ-WAITING .* waits for run trainers, which {asks}"), (logs[0], f"MIX-LEAD .*Run trainers {asks}")):
        wait_until(lambda: re.search(said, log.read_text()), said)
    line = riffle("runs", "-c", config).stdout.splitlines()[1]
    assert line.split()[:5] == ["trainers", "0", "0", str(LEAD), str(LEAD)] and line.endswith(f"  part of its lanes: {apart}")
    run, = json.loads(riffle("runs", "-c", config, "--json").stdout)
    assert run["state"] == "part of its lanes"
    wait_until(lambda: f"run trainers, which {asks}" in riffle("status", "-c", config).stdout, "a problem of status")
    for log in logs[1:]:  # they wait at one step, and commit it again and again
        wait_until(lambda: f"READ-RUN-TWICE run trainers of mix {unique}-mix: another process" in log.read_text(), "the other one")


@both_forms
def test_a_run_that_went_back_is_said_and_a_reset_makes_it_its_position(mix, forget):
    mix.trainer(20)
    wait_until(lambda: mix.of("trainers")["step_known"] == 20, "the ledger's knowledge of step 20")
    mix.riffle("read", "-c", mix.config, "--from-step", 5, "--steps", 1, "--commit-every", 1, "--format", "none")
    assert mix.of("trainers")["state"] == "went back"
    again = mix.riffle("read", "-c", mix.config, "--from-step", 5, "--steps", 1, "--commit-every", 1, "--format", "none")
    assert "READ-RUN-BACK run trainers of mix" in again.stderr and "has committed step 6" in again.stderr
    problem, = (p for p in mix.status()["problems"] if "run trainers" in p)
    assert "run trainers went back to step 6, and the ledger knows it at step 20" in problem
    assert f"riffle runs -c {mix.config} --reset trainers --to 6" in problem
    mix.reset("trainers", 6)
    assert mix.of("trainers")["state"] == "good" and not mix.status()["problems"]
    # A later record, and a mixer that takes over, know the new position and not the old one.
    mix.riffle("weights", "-c", mix.config, "a=0.4")
    mix.stop()
    mix.start()
    wait_until(lambda: mix.of("trainers")["step_known"] == 6, "the new mixer's record")
    forget(f"{mix.name}.trainers")
    assert "was at step 6, as the ledger says" in mix.trainer(1, check=False).stderr


def test_a_mistyped_run_is_warned_of_listed_and_forgotten(mix, riffle):
    mix.trainer(8)
    wait_until(lambda: mix.of("trainers")["step_known"] == 8, "the ledger's knowledge of step 8")
    assert "READ-RUN-UNKNOWN" not in mix.trainer(1).stderr
    typo = riffle("read", "-c", mix.config, "--run", "trainer", "--commit-every", 1, "--steps", 3)
    assert "READ-RUN-UNKNOWN run trainer is not in mix.runs (trainers)" in typo.stderr
    assert mix.of("trainer")["step"] == 3 and mix.runs().stdout.count("\n") == 3
    refused = riffle("retain", "-c", mix.config, "--from-step", 5, check=False)
    assert refused.returncode == 1 and " --forget trainer`" in refused.stderr
    assert "--forget deletes its commits" in mix.reset("trainer", 5, check=False).stderr
    kept = mix.runs("--forget", "trainers", check=False)
    assert kept.returncode == 1 and "mix.runs names run trainers" in kept.stderr and mix.of("trainers")["step"] == 9
    mix.runs("--forget", "trainer")
    assert "trainer " not in mix.runs().stdout
    riffle("retain", "-c", mix.config, "--from-step", 5)


@both_forms
def test_a_broker_and_the_name_of_a_mix_are_enough(mix, riffle, configure, bootstrap, unique):
    """Of a trainer that was given no configuration: READ-RUN-UNKNOWN names a command that it can copy."""
    alone = "-X", f"bootstrap.servers={bootstrap}"
    mix.trainer(8)
    wait_until(lambda: mix.of("trainers")["step_known"] == 8, "the ledger's knowledge of step 8")
    typo = riffle("read", "--mix", mix.name, "--run", "sd", "--commit-every", 1, "--steps", 3, *alone)
    assert f"`riffle runs --mix {mix.name} --forget sd` deletes the commits" in typo.stderr
    runs = json.loads(riffle("runs", "--mix", mix.name, "--json", *alone).stdout)
    assert [(r["name"], r["step"], r["bounds_lead"], r["state"]) for r in runs] == [("trainers", 8, True, "good"), ("sd", 3, False, "good")]
    kept = riffle("runs", "--mix", mix.name, "--forget", "trainers", *alone, check=False)
    assert kept.returncode == 1 and "mix.runs names run trainers" in kept.stderr
    riffle("runs", "--mix", mix.name, "--forget", "sd", *alone)
    assert [r["name"] for r in json.loads(mix.runs("--json").stdout)] == ["trainers"]
    riffle("runs", "--mix", mix.name, "--reset", "trainers", "--to", 5, "--idle", 0, *alone)
    assert mix.of("trainers")["step_known"] == 5
    none = riffle("runs", "--mix", f"{unique}-none", *alone, check=False)
    assert none.returncode == 2 and f"did you mean {mix.name}?" in none.stderr
    configure({"a": 0.5, "b": 0.5}, name="fresh")
    fresh = riffle("runs", "--mix", f"{unique}-fresh", *alone, check=False)
    assert fresh.returncode == 2 and f"no mixer has written to mix {unique}-fresh yet" in fresh.stderr and "add -c FILE" in fresh.stderr


@pytest.mark.parametrize("run, to, said", [
    ("nobody", 3, "has no run nobody; it has "),
    ("trainers", 1000, "step 1000 is not published: mix {mix} is at step 28"),
    ("trainers", 3, "step 3 of mix {mix} is not kept any more: the earliest retained step is 5"),
])
def test_a_reset_that_cannot_be_is_refused_and_changes_nothing(mix, run, to, said):
    mix.trainer(20)
    wait_until(lambda: mix.status()["mix"]["step_next"] == 28, "the lead")
    mix.riffle("retain", "-c", mix.config, "--from-step", 5)
    before = mix.of("trainers")["step"], mix.of("trainers")["step_known"]
    refused = mix.reset(run, to, check=False)
    assert refused.returncode == (2 if run == "nobody" else 1) and said.format(mix=mix.name) in refused.stderr
    assert (mix.of("trainers")["step"], mix.of("trainers")["step_known"]) == before


def test_an_active_run_is_not_reset(mix):
    mix.trainer(20)
    wait_until(lambda: mix.of("trainers")["step_known"] == 20, "the ledger's knowledge of step 20")
    refused = mix.runs("--reset", "trainers", "--to", 5, check=False)  # seen less than a minute ago
    assert refused.returncode == 1 and "run trainers is active: the ledger saw it advance" in refused.stderr
    trainer = mix.riffle.popen("read", "-c", mix.config, "--commit-every", 1, "--format", "none")
    wait_until(lambda: mix.of("trainers")["step"] > 20, "a commit of the trainer")
    refused = mix.reset("trainers", 5, check=False)
    assert refused.returncode == 1
    assert "run trainers is active: it has just committed step" in refused.stderr or "are its trainers running?" in refused.stderr
    trainer.kill()
    trainer.wait()
    assert mix.of("trainers")["step"] > 20
