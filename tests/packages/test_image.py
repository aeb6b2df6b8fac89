"""The image of Dockerfile: what is in it, who it runs as, and the whole pipeline of docker-compose.yml inside of it."""

import json
import os
import re
import signal
import subprocess
import time

import pytest

import compose
from container import ENV, Image, programs
from machine import ROOT, run

VERSION = (ROOT / "VERSION").read_text().strip()


@pytest.fixture(scope="session")
def image():
    made = Image()
    yield made
    made.close()


def seconds_of(image, *words):
    best = 1e9
    for _ in range(3):
        begun = time.monotonic()
        image.run(*words)
        best = min(best, time.monotonic() - begun)
    return best


def test_it_says_what_it_is_and_is_small(image, capsys):
    settings = image.settings
    assert settings["Entrypoint"] == ["riffle"] and image.name == f"riffle:{VERSION}"
    assert settings["Labels"]["org.opencontainers.image.version"] == VERSION
    assert settings["Healthcheck"]["Test"] == ["CMD", *compose.HEALTH]
    assert image.run("riffle", "--version").startswith(f"riffle {VERSION}\nlibrdkafka {run(ROOT / 'scripts/librdkafka', '--version')[:-1]},")
    more = image.bytes - image.base_bytes
    start, nothing = seconds_of(image, "riffle", "--version"), seconds_of(image, "true")
    with capsys.disabled():
        print(f"\nimage: {image.size}, {image.bytes / 1e6:.1f} MB of files, {more / 1e6:.1f} MB of them beside the base; "
              f"riffle --version in it {start:.2f} s, true {nothing:.2f} s")
    assert more < 30e6
    assert start < nothing + 2


def test_it_runs_as_nobody_who_may_change_it_and_has_all_licences(image):
    out = image.run("bash", "-euc", """
id -u; id -g
for tool in gcc cc make npm python3 git; do ! command -v $tool || echo "there: $tool"; done
find / -xdev -writable -not -path '/proc/*' \\( -type f -o -type d \\) -not -path /tmp -not -path /var/tmp -not -path /run/lock 2>/dev/null || true
echo --
grep -l 'Permission is hereby granted' /usr/share/doc/riffle/copyright
grep -c LICENSE /usr/share/doc/riffle/librdkafka.txt
ldd /usr/bin/riffle | sed -n 's/.* => \\([^ ]*\\) .*/\\1/p' | while read -r lib; do
	lib=$(dpkg -S "$lib" 2>/dev/null || dpkg -S "/usr$lib")
	[ -s "/usr/share/doc/${lib%%:*}/copyright" ] || echo "no licence: $lib"
done
ldd /usr/bin/riffle | grep -c 'not found' || true
""").splitlines()
    assert out[:2] == ["10001", "10001"]
    assert [line for line in out[2:out.index("--")] if line not in ("/data", "/dev/shm", "/dev/mqueue")] == []
    assert out[out.index("--") + 1] == "/usr/share/doc/riffle/copyright"
    assert int(out[out.index("--") + 2]) > 3 and out[out.index("--") + 3:] == ["0"]


def test_the_pipeline_of_compose_runs_in_it(image, bootstrap, tmp_path, capsys):
    """Each service as a process of its own in the container, which has the network of this machine."""
    unique, folder = f"image-{os.getpid()}", tmp_path / "data"
    for above in (tmp_path, *tmp_path.parents[:2]):
        above.chmod(0o755)
    compose.data(folder, unique, ROOT / "build/vocab")
    common = compose.COMPOSE["x-riffle"]
    assert common["volumes"] == ["${RIFFLE_DATA:-./data}:/data:ro"]
    settings = [f"{name}={value}" for name, value in {**common["environment"], "RIFFLE_BOOTSTRAP": bootstrap}.items()]
    more = {"settings": settings, "volumes": [f"{folder}:/data:ro"]}
    logs = {name: open(tmp_path / f"{name}.log", "w+") for name in compose.SERVICES}
    entry = image.settings["Entrypoint"]

    def start(name, words):
        return image.popen([*entry, *words], logs[name], **more)

    def ask(name, words):
        return subprocess.run(image.words(words, **more), env=ENV, capture_output=True, timeout=120).returncode == 0

    begun = time.monotonic()
    pipeline = compose.Pipeline(start, ask)
    try:
        order, healthy = pipeline.play(480)
        with capsys.disabled():
            print(f"\nimage: the pipeline of docker-compose.yml in {time.monotonic() - begun:.1f} s: {', '.join(order)}")
        assert healthy >= {"page"}
        assert ask("trainer", image.settings["Healthcheck"]["Test"][1:])
        state = json.loads(image.run(*entry, "status", "--json", **more))
        assert state["mix"]["state"] == "ended" and state["mix"]["step_next"] > 64
        replayed = image.run(*entry, "replay", "--steps", "0..10", **more)
        assert re.search("all equal", replayed), replayed
        (page,) = programs(pipeline.running["page"])
        os.kill(page, signal.SIGTERM)
        assert pipeline.running["page"].wait(timeout=60) == 0
    finally:
        for name, process in pipeline.running.items():
            if process.poll() is None:
                for pid in programs(process):
                    os.kill(pid, signal.SIGKILL)
                process.wait(timeout=60)
            logs[name].seek(0)
            print(f"== {name}\n{logs[name].read()[-1500:]}")
            logs[name].close()
        image.run(*entry, "topics", "--delete", "--yes", **more)
