"""docs/SIZING.md shows what examples/sizing.py prints, and its rates are those of docs/BENCHMARKS.md."""

import importlib.util
import re
import shlex
import subprocess

import pytest

from conftest import ROOT

PAGE = (ROOT / "docs/SIZING.md").read_text()
SHOWN = re.findall(r"^```console\n\$ python3 (.*)\n((?:.*\n)*?)```$", PAGE, re.M)
_spec = importlib.util.spec_from_file_location("sizing", ROOT / "examples/sizing.py")
sizing = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(sizing)


@pytest.mark.parametrize("command, shown", SHOWN, ids=[command for command, _ in SHOWN])
def test_the_page_shows_what_the_script_prints(command, shown):
    done = subprocess.run(["python3", *shlex.split(command)], cwd=ROOT, check=True, capture_output=True, text=True)
    assert done.stdout == shown


def test_rates_are_those_of_the_benchmarks():
    text = (ROOT / "docs/BENCHMARKS.md").read_text()
    own = {int(lanes.replace(",", "")): float(rate) for lanes, same, rate in
           re.findall(r"^\| ([\d,]+) \| ([\d,]+) \| (\d+) \| 1\.00 \|", text, re.M) if lanes == same}
    default = {int(lanes.replace(",", "")): float(rate) for lanes, rate in
               re.findall(r"^\| ([\d,]+) \| \d+ MB \| (\d+) \|", text, re.M)}
    assert sizing.MIXER == {8: default[8] * 1e6, **{lanes: rate * 1e6 for lanes, rate in own.items()}}
    assert sizing.BROKER == default[1024] * 1e6
    assert sizing.READER == float(re.search(r"^\| riffle, Python \| (\d+)", text, re.M)[1]) * 1e6
    assert sizing.PRODUCER == float(re.search(r"^\| riffle \| ([\d.]+) \| [\d.]+ \| 0", text, re.M)[1]) * 1e6
    megabytes, tokens = re.search(r"with ([\d.]+) MB of text", text)[1], re.search(r"ids, each as often \(([\d,]+)", text)[1]
    assert sizing.TEXT == pytest.approx(float(megabytes) * 1e6 / int(tokens.replace(",", "")))
