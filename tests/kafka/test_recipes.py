"""examples/kubernetes, examples/slurm and docker-compose.yml: what they start is run, with paths and addresses of this machine. The
command lines of examples/systemd are parsed; no unit is started, since systemd does not run where tests do."""

import json
import os
import pathlib
import re
import shlex
import subprocess
import urllib.request

import pytest
import yaml

import compose
from conftest import ROOT, wait_until

FOLDER = ROOT / "examples/kubernetes"
MANIFESTS = [m for name in ("secret", "produce", "mix", "serve") for m in yaml.safe_load_all((FOLDER / f"{name}.yml").read_text())]
BY_NAME = {(m["kind"], m["metadata"]["name"]): m for m in MANIFESTS}


def container(kind, name):
    return BY_NAME[kind, name]["spec"]["template"]["spec"]["containers"][0]


@pytest.fixture
def place(tmp_path, unique, bootstrap, vocab):
    """place(text) -> text with this test's folders and names; the configuration, texts and secrets are there."""
    for folder in ("data", "config", "secrets"):
        (tmp_path / folder).mkdir()
    for path, where in (("/etc/riffle", "config"), ("/data", "data"), ("/run/secrets/riffle", "secrets")):
        assert any(m["mountPath"] == path for m in container("Job", "riffle-produce")["volumeMounts"]), path

    def placed(text):
        for path, where in (("/etc/riffle", "config"), ("/data", "data"), ("/run/secrets/riffle", "secrets")):
            text = text.replace(path, str(tmp_path / where))
        return text
    config = placed((FOLDER / "run.yml").read_text()).replace("pretrain", unique)
    config = re.sub(r"^topics: .*\n", "", config, flags=re.M).replace("sequence_length: 2048", "sequence_length: 64")
    (tmp_path / "config/run.yml").write_text(config)
    (tmp_path / "data/r50k_base.tiktoken").symlink_to(vocab / "r50k_base.tiktoken")
    for domain in ("code", "prose"):
        for part in range(2):
            (tmp_path / "data" / f"{domain}.{part}.jsonl").write_text("".join(
                json.dumps({"text": f"{domain} {part} {n} " + "words of a text " * 40}) + "\n" for n in range(60)))
    for name, value in BY_NAME["Secret", "riffle"]["stringData"].items():
        (tmp_path / "secrets" / name).write_text(value + "\n")
    placed.env = {"RIFFLE_BOOTSTRAP": bootstrap, "CONFIG": str(tmp_path / "config/run.yml")}
    placed.config = tmp_path / "config/run.yml"
    return placed


def words_of(place, found, **more):
    words = [place(word) for word in found["args"]]
    for old, new in more.values():
        words = [word.replace(old, new) for word in words]
    return words


def sealed(riffle, place):
    domains = json.loads(riffle("status", "-c", place.config, "--json", env=place.env, check=False).stdout)["domains"]
    return all(d["partitions_sealed"] == d["partitions"] == 4 for d in domains)


def test_kubernetes_publishes_mixes_serves_and_hands_over(riffle, place, tmp_path):
    job = BY_NAME["Job", "riffle-produce"]["spec"]
    ends = [rule["onExitCodes"]["values"] for rule in job["podFailurePolicy"]["rules"]]
    # All of it is applied at once: what comes before the topics fails, and is started again.
    for early in (container("Job", "riffle-produce"), container("Deployment", "riffle-mix")):
        done = riffle(*words_of(place, early, port=(":9640", ":0"), host=("0.0.0.0", "127.0.0.1")), check=False,
                      env={**place.env, "JOB_COMPLETION_INDEX": "0"})
        assert "topics are missing, the first: " in done.stderr
        assert done.returncode == 1 and not any(1 in values for values in ends)
    riffle(*words_of(place, container("Job", "riffle-topics")), env=place.env)
    for index in range(job["completions"]):
        riffle(*words_of(place, container("Job", "riffle-produce")), env={**place.env, "JOB_COMPLETION_INDEX": str(index)})
    assert sealed(riffle, place)

    any_port = {"port": (":9640", ":0"), "host": ("0.0.0.0", "127.0.0.1")}
    mixers = [riffle.popen(*words_of(place, container("Deployment", "riffle-mix"), **any_port), env=place.env)
              for _ in range(BY_NAME["Deployment", "riffle-mix"]["spec"]["replicas"])]

    def status():
        return json.loads(riffle("status", "-c", place.config, "--json", env=place.env, check=False).stdout)["mix"]
    wait_until(lambda: sorted(m["standby"] for m in status()["mixers"] or []) == [False, True], "an active mixer and a standby", 120)
    serve, log = container("Deployment", "riffle-serve"), tmp_path / "serve.log"
    with open(log, "w") as stderr:
        riffle.popen(*words_of(place, serve, port=(":8640", ":0"), host=("0.0.0.0", "127.0.0.1")), env=place.env, stderr=stderr)
    wait_until(lambda: re.search(r"http://127\.0\.0\.1:(\d+)/", log.read_text()), "its address", 120)
    port = re.search(r"http://127\.0\.0\.1:(\d+)/", log.read_text())[1]
    for probe in ("livenessProbe", "readinessProbe"):
        wait_until(lambda: answers(port, serve[probe]["httpGet"]["path"]), f"an answer to the {probe}", 120)
    for mixer in mixers:
        mixer.terminate()
        assert mixer.wait(timeout=120) == 0
    assert len(riffle("read", "-c", place.config, "--steps", 2, "--timeout", 60, env=place.env).stdout.splitlines()) == 16


def answers(port, path):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
            return answer.status == 200
    except OSError:
        return False


def test_what_kustomize_applies_leaves_the_secret_of_the_user_alone():
    kustomization = yaml.safe_load((FOLDER / "kustomization.yml").read_text())
    applied = [m for name in kustomization["resources"] for m in yaml.safe_load_all((FOLDER / name).read_text())]
    assert {f.name for f in FOLDER.glob("*.yml")} == {*kustomization["resources"], "secret.yml", "run.yml", "kustomization.yml"}
    assert "Secret" not in {m["kind"] for m in applied}
    used = {volume["secret"]["secretName"] for m in applied if "template" in m["spec"]
            for volume in m["spec"]["template"]["spec"]["volumes"] if "secret" in volume}
    assert used == {BY_NAME["Secret", "riffle"]["metadata"]["name"]}  # whose form is secret.yml


def test_slurm_publishes_a_partition_a_task(riffle, place, build, tmp_path):
    """A stand-in for srun, which is not on this machine: it runs its words with the cores that it is told, as that of Slurm 22.05 does."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/srun").write_text('#!/bin/sh\nexec taskset -c 0-$((SRUN_CPUS_PER_TASK - 1)) "$@"\n')
    (tmp_path / "bin/srun").chmod(0o755)
    riffle("topics", "-c", place.config, "--create", env=place.env)
    script = ROOT / "examples/slurm/produce.sbatch"
    first, last = map(int, re.search(r"^#SBATCH --array=(\d+)-(\d+)$", script.read_text(), re.M).groups())
    env = {k: v for k, v in os.environ.items() if not k.startswith("SLURM")}
    env = {**env, **place.env, "SLURM_CPUS_PER_TASK": "2", "PATH": f"{tmp_path}/bin:{build}:{env['PATH']}"}
    for task in range(first, last + 1):
        done = subprocess.run(["bash", script], env={**env, "SLURM_ARRAY_TASK_ID": str(task)}, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
    assert sealed(riffle, place)


def test_systemd_starts_what_the_program_takes(riffle, place):
    """Each option of a unit's command line, those of its variable included; `systemd-analyze verify` is in make check."""
    for unit in sorted((ROOT / "examples/systemd").glob("*.service")):
        text = unit.read_text()
        name, value = re.search(r"^# A file with the line (\w+)=(.*\d) ", text, re.M).groups()
        assert f"\nEnvironment={name}=\nEnvironmentFile=-/etc/riffle/%i.{unit.name[7:-9]}.env\n" in text  # where it is optional
        line = re.search(r"^ExecStart=/usr/bin/riffle (.*)$", text, re.M)[1].replace("%i", "run")
        assert line.endswith(f" ${name} $SASL"), unit
        password = re.search(r'^LoadCredential=kafka:.*\nEnvironment="SASL=(.*)"$', text, re.M)[1].replace("%d", "/run/credentials")
        command, *words = [place(word) for word in shlex.split(line.replace(f"${name}", value).replace("$SASL", password))]
        known = riffle(command, "--help").stdout
        assert all(word in known for word in words if word.startswith("-")), unit
        assert pathlib.Path(words[words.index("-c") + 1]).exists(), unit


def test_compose_runs_the_pipeline_to_the_end_of_the_mix(riffle, tmp_path, unique, bootstrap, vocab):
    """The commands, conditions and healthchecks of docker-compose.yml; tests/packages does it inside of the image."""
    compose.data(tmp_path / "data", unique, vocab)
    settings = {**compose.COMPOSE["x-riffle"]["environment"], "RIFFLE_BOOTSTRAP": bootstrap}
    env = {**os.environ, **{name: value.replace("/data", str(tmp_path / "data")) for name, value in settings.items()}}
    env["PATH"] = f"{pathlib.Path(riffle.path).parent}:{env['PATH']}"
    logs = {name: open(tmp_path / f"{name}.log", "w+") for name in compose.SERVICES}

    def start(name, words):
        return riffle.popen(*(word.replace("/data", str(tmp_path / "data")) for word in words), env=env, stderr=logs[name])

    def ask(name, words):
        return subprocess.run(words, env=env, capture_output=True, timeout=60).returncode == 0

    pipeline = compose.Pipeline(start, ask)
    try:
        order, healthy = pipeline.play()
        assert order[0] == "topics" and order.index("mix") < order.index("trainer")
        assert {"mix", "page"} <= healthy
        assert ask("trainer", compose.HEALTH)
        state = json.loads(riffle("status", "--json", env=env).stdout)
        assert state["mix"]["state"] == "ended" and state["mix"]["step_next"] > 64
        assert {d["name"] for d in state["domains"]} == {words[1] for s in compose.SERVICES.values()
                                                         if (words := s["command"])[0] == "produce"}
    except BaseException:
        for name, log in logs.items():
            log.seek(0)
            print(f"== {name}", log.read()[-1500:], sep="\n")
        raise
    finally:
        for log in logs.values():
            log.close()
    pipeline.running["page"].terminate()
    assert pipeline.running["page"].wait(timeout=60) == 0
