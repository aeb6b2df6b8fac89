"""riffle-kafka, which is scripts/kafka in a checkout: what it refuses, what it says to install, and which folder it uses.

Nothing is started and nothing is fetched, because java and mvn are fakes. tests/kafka/test_broker.py starts brokers, and
tests/packages uses the installed command.
"""

import os
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
JAVA = """#!/bin/sh
echo 'openjdk version "{}" 2025-04-15' >&2
"""
# Puts one jar where Maven would put all of them.
MVN = """#!/bin/sh
for word; do case $word in -DoutputDirectory=*) echo "not Kafka" > "${word#*=}/kafka.jar" ;; esac; done
echo fetched >> "$HOME/calls"
"""


@pytest.fixture
def trial(tmp_path):
    """An installed riffle-kafka, with the programs of this machine except Java and Maven."""
    t = Trial(tmp_path)
    for name in ("kafka", "maven-jars"):
        shutil.copy(ROOT / "scripts" / name, t.installed / name)
    for tool in pathlib.Path("/usr/bin").iterdir():
        if tool.name not in ("java", "mvn", "kcat", "python3"):
            (t.bin / tool.name).symlink_to(tool)
    return t


class Trial:
    def __init__(self, folder):
        self.home, self.bin, self.installed = (folder / name for name in ("home", "bin", "installed"))
        for made in (self.home, self.bin, self.installed):
            made.mkdir()

    def put(self, name, text):
        (self.bin / name).write_text(text)
        (self.bin / name).chmod(0o755)

    def __call__(self, *words, script=None, code=0, **env):
        done = subprocess.run(["bash", script or self.installed / "kafka", *words], capture_output=True, text=True, timeout=120,
                              env={"PATH": str(self.bin), "HOME": str(self.home), "RIFFLE_KAFKA_JVM": "1", **env})
        assert done.returncode == code, done.stderr
        return done

    def fetches(self):
        calls = self.home / "calls"
        return len(calls.read_text().split()) if calls.exists() else 0


def test_what_is_missing_is_named_with_one_command_that_installs_all_of_it(trial):
    assert trial("up", code=1).stderr == (
        "riffle-kafka: missing to start Kafka 3.9.2: java, mvn (Java 17 or later). "
        "On Debian or Ubuntu: sudo apt-get install default-jre-headless maven\n")
    trial.put("java", JAVA.format("17.0.15"))
    assert "3.9.2: mvn (Java 17 or later). On Debian or Ubuntu: sudo apt-get install maven\n" in trial("fetch", code=1).stderr
    assert "mvn, kcat (Java" in trial("up", "--secure", "ann", code=1).stderr
    assert not any((trial.home / ".local/share/riffle/kafka").glob("*/bootstrap"))


@pytest.mark.parametrize("version, said", [("11.0.2", "Java 11"), ("1.8.0_402", "Java 8"), ("16", "Java 16"), ("", "Java of an unknown version")])
def test_a_java_before_17_is_refused(trial, version, said):
    trial.put("java", JAVA.format(version))
    assert f"is {said}, and Kafka needs 17 or later; set JAVA_HOME" in trial("up", code=1).stderr


@pytest.mark.parametrize("version", ["17", "17.0.15", "21.0.7", "25-ea"])
def test_java_17_and_later_will_do(trial, version):
    trial.put("java", JAVA.format(version))
    trial.put("mvn", MVN)
    trial("fetch", "--version", "9.9.9")


def test_without_a_network_the_message_has_what_maven_said_and_nothing_is_kept(trial):
    trial.put("java", JAVA.format("21"))
    trial.put("mvn", "#!/bin/sh\necho 'Unknown host'\nexit 1\n")
    said = trial("up", code=1).stderr
    assert "Unknown host" in said and "cannot fetch org.apache.kafka:kafka_2.13:3.9.2" in said and "is the network there?" in said
    assert not (trial.home / ".local/share/riffle/jars/kafka-3.9.2").exists()


def test_jars_with_another_checksum_are_refused_and_not_kept(trial):
    trial.put("java", JAVA.format("21"))
    trial.put("mvn", MVN)
    for _ in range(2):
        said = trial("up", code=1).stderr
        assert "are not the expected ones: their SHA-256 is " in said and "rm -r ~/.m2/repository" in said
        assert not (trial.home / ".local/share/riffle/jars/kafka-3.9.2").exists()
    assert trial.fetches() == 2


def test_jars_that_changed_after_they_were_fetched_are_fetched_again(trial):
    trial.put("java", JAVA.format("21"))
    trial.put("mvn", MVN)
    kept = trial.home / ".local/share/riffle/jars/kafka-3.9.2"
    kept.mkdir(parents=True)
    (kept / ".jars").write_text("org.apache.kafka:kafka_2.13:3.9.2 org.slf4j:slf4j-reload4j:1.7.36\n")
    (kept / "kafka.jar").write_text("changed")
    assert "are not the expected ones" in trial("fetch", code=1).stderr
    assert trial.fetches() == 1


def test_jars_are_read_again_only_if_one_of_them_has_changed(tmp_path):
    """Their sums take a third of a second."""
    jars, counter = tmp_path / "jars", tmp_path / "sha256sum"
    jars.mkdir()
    (jars / ".jars").write_text("a:b:1\n")
    for name in ("one.jar", "two.jar"):
        (jars / name).write_text(name)
    made = subprocess.run("sha256sum -- *.jar | sha256sum | cut -d ' ' -f 1", shell=True, cwd=jars, stdout=subprocess.PIPE, text=True)
    counter.write_text(f"#!/bin/sh\necho >> {tmp_path}/calls\nexec {shutil.which('sha256sum')} \"$@\"\n")
    counter.chmod(0o755)
    (tmp_path / "mvn").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "mvn").chmod(0o755)

    def check():
        """Whether it takes the jars for the right ones, and whether it has read them."""
        (tmp_path / "calls").write_text("")
        done = subprocess.run([ROOT / "scripts/maven-jars", "--sha256", made.stdout.strip(), jars, "a:b:1"], capture_output=True,
                              env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"})
        return done.returncode == 0, (tmp_path / "calls").read_text() != ""

    assert [check(), check()] == [(True, True), (True, False)]
    (jars / "two.jar").rename(tmp_path / "two.jar")
    assert check() == (False, True)
    (tmp_path / "two.jar").rename(jars / "two.jar")
    assert [check(), check()] == [(True, True), (True, False)]
    os.utime(jars / "one.jar")
    assert [check(), check()] == [(True, True), (True, False)]
    (jars / "one.jar").write_text("ONE.jar")
    os.utime(jars / "one.jar", (0, 0))  # also if its times say otherwise
    assert check() == (False, True)


@pytest.mark.parametrize("env, data", [({}, "home/.local/share"), ({"XDG_DATA_HOME": "{}/data"}, "data")])
def test_it_keeps_its_files_in_the_users_data_folder(trial, tmp_path, env, data):
    trial.put("java", JAVA.format("21"))
    trial.put("mvn", MVN)
    env = {name: value.format(tmp_path) for name, value in env.items()}
    for _ in range(2):  # the second time it has them
        trial("fetch", "--version", "9.9.9", **env)
    assert trial.fetches() == 1
    assert (tmp_path / data / "riffle/jars/kafka-9.9.9/kafka.jar").exists()
    assert sorted(os.listdir(trial.installed)) == ["kafka", "maven-jars"]


def test_help_has_the_name_that_one_types(trial):
    assert trial("--help").stdout.startswith("riffle-kafka up|stop|down|status|logs|fetch ")
    assert trial("--help", script=ROOT / "scripts/kafka").stdout.startswith("kafka up|stop|")
    assert trial("sideways", code=2).stderr.startswith("riffle-kafka up|")
    assert trial("status", code=1).stderr == "riffle-kafka: Kafka 3.9.2 is not running\n"
