"""The page of `riffle serve` in Chromium, over real mixes; pictures are kept under $B/page."""

import json
import os
import signal
import subprocess

import pytest
from selenium.webdriver.common.keys import Keys

from cluster import running
from conftest import ROOT, wait_until

WEIGHTS = {"prose": 0.5, "code": 0.3, "forum": 0.2}


@pytest.fixture
def status(riffle):
    return lambda config: json.loads(riffle("status", "-c", config, "--json").stdout)


@pytest.fixture
def mix(riffle, fill, configure):
    """A mix of which so many steps are published, and its configuration."""
    def make(steps=40, weights=WEIGHTS, sequences=200, **keys):
        fill(*weights, sequences=sequences)
        config = configure(weights, max_lead_steps=0, **keys)
        riffle("mix", "-c", config, "--until-step", steps)
        return config
    return make


def opened(browser, address, rows):
    """The page, once it shows its domains and has drawn its charts."""
    browser.driver.get(address + "/")
    wait_until(lambda: len(browser.texts("#domainrows tr")) == rows, f"{rows} rows of domains")
    wait_until(lambda: browser.text("#r-shares"), "the chart of shares")


def test_the_page_shows_a_running_mix_and_a_change_at_its_step(browser, serve, riffle, mix, status, wait_for):
    config = mix()
    runner = riffle.popen("mix", "-c", config, "--until-step", 100000, stderr=subprocess.DEVNULL)
    address = serve(config)
    opened(browser, address, 3)
    answer = riffle("weights", "-c", config, "prose=0.2", "code=0.6", "--json").stdout
    step = json.loads(answer)["step"]
    wait_for(lambda: any(t.startswith("version 2") for t in browser.texts("#versions td:first-child")), "version 2 on the page")
    row = browser.texts("#versions tr:first-child td")
    assert row[1] == f"{step:,}"
    assert "prose 20.00" in row[5] and "(was 50.00" in row[5]
    wait_for(lambda: any(f"version 2 from step {step:,}" in t for t in browser.texts("#c-shares title")), "its mark in the chart")
    assert browser.text("#healthsays").startswith("All is well: the mix is running")
    runner.terminate()
    runner.wait()
    wait_for(lambda: status(config)["mix"]["state"] != "running", "the mixer's end")
    st = status(config)
    wait_for(lambda: browser.text("#figures [data-key=step] b") == f"{st['mix']['step_next']:,}", "the last step on the page")
    wait_for(lambda: browser.text("#healthsays") == "Nothing is wrong, and no mixer runs: the mix is stopped", "that no mixer runs")
    shown = {r[0]: r for r in ([c.strip() for c in row] for row in browser.script(
        "return [...document.querySelectorAll('#domainrows tr')].map(r => [r.dataset.key, ...[...r.children].map(c => c.textContent)])"))}
    for d in st["domains"]:
        row = shown[d["name"]]
        assert row[2] == f"{100 * d['intended']:.3f}\u202f%"
        assert row[3] == f"{100 * d['realised']:.3f}\u202f%"
        assert row[6] == f"{d['taken']:,}"
        assert row[8] == f"{d['epoch']:,}"
    browser.picture("three-light")
    browser.size(1280, dark=True)
    browser.picture("three-dark")
    assert browser.complaints() == []
    foreign = [u for u in browser.requests() if not u.startswith((address + "/", "data:"))]
    assert foreign == []


def test_domains_are_filtered_sorted_and_picked_with_the_keyboard_alone(browser, serve, mix):
    opened(browser, serve(mix()), 3)
    reached = []
    for _ in range(40):
        browser.driver.switch_to.active_element.send_keys(Keys.TAB)
        reached.append(browser.script("const a = document.activeElement; return a.id || a.getAttribute('aria-label') || a.textContent"))
        if reached[-1] == "step":
            break
    for wanted in ("c-shares", "c-dev", "filter", "chart prose", "step"):
        assert wanted in reached, f"{wanted} is not among {reached}"
    names = lambda: browser.script("return [...document.querySelectorAll('#domainrows tr')].map(r => r.dataset.key)")
    assert names() == ["prose", "code", "forum"]
    heading = browser.find("#domainhead th[data-sort=name] button")
    heading.send_keys(Keys.ENTER)
    assert names() == ["code", "forum", "prose"]
    assert browser.find("#domainhead th[data-sort=name]").get_attribute("aria-sort") == "ascending"
    browser.find("#filter").send_keys("o")
    assert names() == ["code", "forum", "prose"]
    browser.find("#filter").send_keys("r")
    assert names() == ["forum"]
    assert browser.text("#domaincount") == "1 of 3"
    browser.find("#domainrows input").send_keys(Keys.SPACE)
    wait_until(lambda: "forum" not in browser.text("#r-shares"), "a chart without forum")
    before = browser.text("#r-shares")
    browser.find("#c-shares").send_keys(Keys.HOME)
    assert browser.text("#r-shares") != before
    assert browser.text("#r-shares").split(":")[0].split(" (")[0] == browser.text("#r-dev").split(":")[0].split(" (")[0]


def test_a_step_shows_its_documents(browser, serve, riffle, mix):
    config = mix()
    opened(browser, serve(config), 3)
    browser.find("#step").send_keys("7")
    browser.find("#lane").send_keys("2" + Keys.ENTER)
    wait_until(lambda: browser.texts("#documents tr"), "the documents")
    held = json.loads(riffle("inspect", "-c", config, 7, 2, "--json").stdout)["sequences"]
    shown = browser.script("return [...document.querySelectorAll('#documents tr')].map(r => [...r.children].map(c => c.textContent))")
    assert [r[0] for r in shown] == [s["domain"] for s in held for _ in s["documents"]]
    assert [r[4] for r in shown] == [f"{s['partition']}/{s['ordinal']}" for s in held for _ in s["documents"]]
    browser.find("#step").clear()
    browser.find("#step").send_keys("4000" + Keys.ENTER)
    wait_until(lambda: not browser.text("#stepsays").startswith("reading"), "an answer")
    assert "4000" in browser.text("#stepsays")
    assert not browser.find("#steptable").is_displayed()


def test_two_hundred_domains_on_a_desk_and_on_a_phone(browser, serve, mix):
    weights = {f"d{i:03d}-{('web', 'code', 'books', 'forum')[i % 4]}": 1 / (i + 3) for i in range(200)}
    config = mix(steps=60, weights=weights, sequences=30, global_batch=512)
    address = serve(config)
    opened(browser, address, 200)
    browser.picture("two-hundred-light")
    browser.find("#filter").send_keys("forum")
    wait_until(lambda: len(browser.texts("#domainrows tr")) == 50, "the filtered rows")
    for dark in (False, True):
        browser.size(390, dark=dark)
        wait_until(lambda: browser.texts("#k-shares span"), "the key of a narrow chart")
        assert browser.script("return document.documentElement.scrollWidth") <= 390
        browser.picture(f"two-hundred-phone-{'dark' if dark else 'light'}")
    assert browser.complaints() == []


def test_losses_have_a_chart_once_a_run_reports_them(browser, serve, mix, tools, bootstrap):
    config = mix()
    opened(browser, serve(config), 3)
    assert not browser.find("#losses").is_displayed()
    alone = browser.find("#c-dev").size["width"]
    for first, until in ((0, 20), (20, 40)):  # the mixer is past all of them, and publishes nothing more
        lines = "".join(f"trainers {i} 0 1 " + " ".join(f"{d}:3.5:0:1" for d in WEIGHTS) + "\n" for i in range(first, until))
        subprocess.run([tools / "report", json.loads(config.read_text())["mix"]["name"]], input=lines, text=True, check=True,
                       env={**os.environ, "RIFFLE_BOOTSTRAP": bootstrap}, capture_output=True, timeout=60)
        shown = f"Step {until - 1}, run trainers: all 3.5000" + "".join(f", {d} 3.5000" for d in WEIGHTS)
        wait_until(lambda: browser.text("#r-loss") == shown, f"'{shown}' below the chart of losses")
    assert browser.find("#c-dev").size["width"] < 0.6 * alone
    assert browser.script("return document.querySelector('#c-dev').viewBox.baseVal.width") == browser.find("#c-dev").size["width"]
    browser.picture("losses")
    assert browser.complaints() == []


def test_names_are_shown_as_text(browser, serve, mix):
    """What the page shows goes in as text: a name of a run cannot be anything else."""
    config = mix(runs=["a.b-c_d"])
    opened(browser, serve(config), 3)
    assert browser.texts("#runs td:first-child") == ["a.b-c_d"]
    assert "innerHTML" not in (ROOT / "cli/serve/page.html").read_text()


def test_the_page_says_that_the_broker_is_away_and_goes_on_when_it_is_back(browser, serve, build, riffle, tools, write_config, unique):
    with running(build / f"kafka-page-{os.getpid()}") as cluster:
        subprocess.run([tools / "fill", "--bootstrap", cluster.bootstrap, "--corpus", unique, "--domain", "a,b", "--sequences", "50",
                        "--length", "64"], check=True)
        config = write_config({
            "corpus": unique, "tokenizer": {"file": "unused.tiktoken", "pattern": "gpt2", "eos": "<|endoftext|>"}, "sequence_length": 64,
            "domains": {d: {"train": [f"unused.{d}.jsonl"]} for d in "ab"},
            "mix": {"name": f"{unique}-mix", "seed": 7, "global_batch": 16, "lanes": 4, "max_lead_steps": 0, "weights": {"a": 0.5, "b": 0.5}},
            "kafka": {"bootstrap.servers": cluster.bootstrap}})
        riffle("topics", "-c", config, "--create")
        riffle("mix", "-c", config, "--until-step", 20)
        opened(browser, serve(config), 2)
        cluster.end(1, signal.SIGKILL)
        wait_until(lambda: browser.text("#healthsays").startswith("The broker has not answered"), "what the page says of a dead broker")
        assert browser.text("#figures [data-key=step] b") == "20"
        browser.picture("broker-away")
        cluster.up()
        wait_until(lambda: "broker" not in browser.text("#healthsays"), "the end of it", 120)
        riffle("mix", "-c", config, "--until-step", 30)
        wait_until(lambda: browser.text("#figures [data-key=step] b") == "30", "the steps after it")


def test_weights_are_previewed_and_changed(browser, serve, riffle, mix, tmp_path, status):
    config = mix()
    token = tmp_path / "token"
    token.write_text("a-token-of-this-test-0123456789\n")
    token.chmod(0o600)
    runner = riffle.popen("mix", "-c", config, "--until-step", 100000, stderr=subprocess.DEVNULL)
    address = serve(config, "--allow-changes", "--token-file", token)
    browser.driver.get(f"{address}/?token={token.read_text().strip()}")
    wait_until(lambda: browser.text("#figures [data-key=step] b"), "the figures")
    assert "token" not in browser.driver.current_url
    wait_until(lambda: browser.find("#change").is_displayed(), "the form")
    for name, text in (("weights", "prose=0.1 code=0.7"), ("who", "a tester")):
        browser.find(f"#change [name={name}]").send_keys(text)
    assert not browser.find("#send").is_enabled()
    browser.find("#change button[type=submit]").click()
    wait_until(lambda: browser.text("#answer").startswith("preview: "), "the preview", 240)
    assert browser.text("#answer").startswith("preview: accepted")
    assert status(config)["mix"]["weights"]["version"] == 1
    browser.find("#send").click()
    wait_until(lambda: browser.text("#answer").startswith("sent: accepted"), "the answer", 240)
    wait_until(lambda: status(config)["mix"]["weights"]["version"] == 2, "the change")
    wait_until(lambda: "a tester" in "".join(browser.texts("#requests td")), "who asked for it")
    browser.picture("changed")
    assert browser.complaints() == []
    runner.terminate()
