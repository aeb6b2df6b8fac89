"""examples/alerts.yml and examples/grafana.json name metrics and labels that docs/METRICS.md has; promtool plays the alerts."""

import json
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PAGE = {name: (kind, set(re.findall(r"`(\w+)`", labels))) for name, kind, labels in
        re.findall(r"^\| `(riffle_\w+)` \| (\w+) \|([^|]*)\|", (ROOT / "docs/METRICS.md").read_text(), re.M)}
BESIDE = {"le", "job", "instance"}  # of histograms, and Prometheus' own


def expressions_of_alerts():
    text = (ROOT / "examples/alerts.yml").read_text()
    return [" ".join(e.split()) for e in re.findall(r"expr: (?:>-\n)?(.*?)\n +(?:for|labels):", text, re.S)]


def walk(value):
    if isinstance(value, dict):
        yield value
        for one in value.values():
            yield from walk(one)
    elif isinstance(value, list):
        for one in value:
            yield from walk(one)


def dashboard():
    return json.loads((ROOT / "examples/grafana.json").read_text())


def expressions_of_dashboard():
    return [o["expr"] for o in walk(dashboard()) if "expr" in o] + ["riffle_up"]


@pytest.mark.parametrize("expressions", [expressions_of_alerts, expressions_of_dashboard])
def test_every_metric_is_one_of_the_page_with_labels_that_it_has(expressions):
    found = expressions()
    assert len(found) >= 12
    for text in found:
        names = re.findall(r"\b(riffle_\w+)", text)
        assert names or re.search(r"\bup\{", text), text
        had = set()
        for name in names:
            base = re.sub(r"_(bucket|sum|count)$", "", name) if name not in PAGE else name
            assert base in PAGE, f"{name} is not in docs/METRICS.md"
            assert (base != name) == (PAGE[base][0] == "histogram"), name
            had |= PAGE[base][1]
        labels = set(re.findall(r"(\w+) *(?:=~?|!=|!~) *\"", text))
        labels |= {word for group in re.findall(r"(?:by|on) *\(([\w, ]+)\)", text) for word in group.split(", ")}
        assert labels <= had | BESIDE, text
        for call, name in re.findall(r"(rate|increase|delta|deriv|changes)\((riffle_\w+)", text):
            counts = name.endswith(("_total", "_bucket", "_sum", "_count"))
            assert counts == (call in ("rate", "increase")), text


def test_a_legend_names_labels_that_its_metric_has():
    for o in walk(dashboard()):
        if "legendFormat" in o:
            had = set().union(*(PAGE[re.sub(r"_bucket$", "", n)][1] for n in re.findall(r"\b(riffle_\w+)", o["expr"])))
            assert set(re.findall(r"{{(\w+)}}", o["legendFormat"])) <= had | BESIDE, o


def test_panels_do_not_overlap_and_have_units():
    panels = [p for p in dashboard()["panels"] if p["type"] != "row"]
    assert len({p["id"] for p in dashboard()["panels"]}) == len(dashboard()["panels"])
    for p in panels:
        assert p["fieldConfig"]["defaults"]["unit"] and p["title"]
    cells = [(x, y) for p in dashboard()["panels"] for g in (p["gridPos"],)
             for x in range(g["x"], g["x"] + g["w"]) for y in range(g["y"], g["y"] + g["h"])]
    assert len(cells) == len(set(cells)) and max(x for x, _ in cells) == 23


def test_every_alert_has_its_place_in_the_page_for_operators():
    """And every metric that alerts on is explained there by the alert's name."""
    page = (ROOT / "docs/OPERATIONS.md").read_text()
    places = {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in re.findall(r"^#+ (.*)$", page, re.M)}
    text = (ROOT / "examples/alerts.yml").read_text()
    alerts, runbooks = re.findall(r"alert: (\w+)", text), re.findall(r"runbook: docs/OPERATIONS\.md#(\S+)", text)
    assert len(alerts) == len(runbooks) >= 12
    assert set(runbooks) <= places
    for alert in alerts:
        assert f"`{alert}`" in page, alert


ALERTS, PLAYED = ROOT / "examples/alerts.yml", ROOT / "tests/metrics/alerts.test.yml"


@pytest.mark.parametrize("words", [("check", "rules", ALERTS), ("test", "rules", PLAYED)])
def test_the_alert_rules_are_right_and_fire_where_they_must(words):
    done = subprocess.run(["promtool", *words], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and "SUCCESS" in done.stdout, done.stdout + done.stderr


def test_each_alert_is_played():
    alerts = re.findall(r"alert: (\w+)", ALERTS.read_text())
    fired = [part.partition("\n")[0].strip() for part in PLAYED.read_text().split("alertname: ")[1:]
             if "exp_alerts" in part.partition("eval_time")[0]]
    assert set(fired) == set(alerts)
