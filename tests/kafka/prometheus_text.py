"""The text format of Prometheus, read strictly, and what docs/METRICS.md and promtool say of each metric."""

import json
import re
import subprocess
import urllib.request

from conftest import ROOT, wait_until

SAMPLE = re.compile(r'([a-z_]+?)(_bucket|_sum|_count)?(?:\{((?:[a-z]+="(?:[^"\\\n]|\\["\\n])*",?)*)\})? (\S+)')
LABEL = re.compile(r'([a-z]+)="((?:[^"\\]|\\.)*)"')


def table():
    """{name: (kind, labels, programs)} of the page."""
    rows = re.findall(r"^\| `(riffle_\w+)` \| (\w+) \|([^|]*)\| ([^|]+) \|", (ROOT / "docs/METRICS.md").read_text(), re.M)
    return {name: (kind, set(re.findall(r"`(\w+)`", labels)), programs.split(", ")) for name, kind, labels, programs in rows}


def parse(text):
    """{name: {labels as a sorted tuple: value}}; the buckets of a histogram are NAME_bucket, with le."""
    names, kinds, name = {}, {}, None
    for line in text.splitlines():
        if line.startswith("# HELP "):
            name = line.split()[2]
            assert name not in names, f"{name} comes twice"
            names[name] = None
        elif line.startswith("# TYPE "):
            assert line.split()[2] == name
            kinds[name] = line.split()[3]
        else:
            whole, suffix, labels, value = re.fullmatch(SAMPLE, line).groups(default="")
            if kinds.get(name) == "histogram":
                assert whole == name and suffix, line
            else:
                whole, suffix = whole + suffix, ""
            assert whole == name, line
            key = tuple(sorted((k, v.replace('\\"', '"').replace("\\n", "\n").replace("\\\\", "\\"))
                               for k, v in LABEL.findall(labels)))
            samples = names[name] = names[name] or {}
            samples = samples if not suffix else names.setdefault(name + suffix, {})
            assert key not in samples, line
            samples[key] = float(value)
    assert set(kinds) == {n for n in names if not (n.rpartition("_")[0] in kinds and kinds[n.rpartition("_")[0]] == "histogram")}
    return {n: s for n, s in names.items() if s}, kinds


def check(text, program):
    """Every metric of the text is one that the page gives to this program, with its kind and its labels."""
    page = table()
    found, kinds = parse(text)
    assert kinds
    for name, kind in kinds.items():
        assert name in page, f"{name} is not in docs/METRICS.md"
        assert kind == page[name][0] and program in page[name][2], name
    for name, samples in found.items():
        base = name if name in kinds else name.rpartition("_")[0]
        for labels in samples:
            assert {k for k, _ in labels} - {"le"} <= page[base][1], name
    return found


def promtool_finds_nothing(text):
    """Conventions of names, units and help texts, as Prometheus' own tool sees them (Debian's prometheus)."""
    done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and done.stdout + done.stderr == "", done.stdout + done.stderr


def fetch(url, **headers):
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=30) as answer:
        assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
        return answer.read().decode()


def url_of(path):
    """Where a command with --metrics and --log json listens, by its stderr in the file."""
    found = []

    def there():
        lines = path.read_text().splitlines()
        found[:] = [o["fields"]["url"] for o in map(json.loads, filter(None, lines))
                    if o["module"] == "metrics" and "url" in o.get("fields", {})]
        return found
    wait_until(there, f"a listener in {path}")
    return found[0]


def value(found, name, **labels):
    return found.get(name, {}).get(tuple(sorted(labels.items())))
