"""The page of `riffle serve` in Chromium, over real mixes; pictures are kept under $B/page."""

import json
import os
import re
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
        config = configure(weights, **{"max_lead_steps": 0, **keys})
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
    assert browser.text("#figures [data-key=rate] dt") == "Rate"
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


@pytest.fixture
def report(tools, bootstrap):
    """report(config, lines): the losses that runs report."""
    def run(config, lines):
        subprocess.run([tools / "report", json.loads(config.read_text())["mix"]["name"]], input="".join(line + "\n" for line in lines),
                       text=True, check=True, env={**os.environ, "RIFFLE_BOOTSTRAP": bootstrap}, capture_output=True, timeout=60)
    return run


def test_the_figures_are_those_of_status_at_one_ledger_offset(browser, serve, mix, status, tools, bootstrap, report):
    """All of them, to the last digit that is shown; and what three domains look like on a phone."""
    config = mix(steps=60, runs=["trainers", "ablation"], max_lead_steps=64,
                 phases=[{"name": "anneal", "start_step": 100, "weights": {"code": 0.6}}])
    name = json.loads(config.read_text())["mix"]["name"]
    for lane in range(8):
        subprocess.run([tools / "broker", "commit", f"{name}.trainers", f"{name}.batches", str(lane), "25", "step=25"], check=True,
                       env={**os.environ, "RIFFLE_BOOTSTRAP": bootstrap})
    report(config, [f"trainers {i} 0 1 " + " ".join(f"{d}:{3 + k + 1 / (i + 2)}:0:1" for k, d in enumerate(WEIGHTS)) for i in range(60)])
    opened(browser, serve(config), 3)
    st = status(config)
    m = st["mix"]
    assert m["runs"][0]["step"] == 25 and m["losses"][0]["steps"] > 0 and st["problems"]
    wait_until(lambda: browser.texts("#runs td:nth-child(2)")[0] == "25" and browser.find("#losses").is_displayed(), "runs and losses")
    wait_until(lambda: f"Ledger offset {m['ledger_offset']:,}." in browser.text("#foot"), "the same ledger offset")
    assert browser.text("#healthsays") == st["headline"]
    assert browser.texts("#problems li") == [f"{p['code']}: {p['text']}" for p in st["problem_list"]]
    figure = lambda key: browser.texts(f"#figures [data-key={key}] > *")
    assert figure("step") == ["Next step", f"{m['step_next']:,}", f"limit step {m['step_limit']:,}"]
    assert figure("rate")[0] == "Last rate" and figure("rate")[2].endswith(" up to the last record")
    assert figure("tokens")[2] == f"{m['draws']:,} sequences"
    assert browser.find("#figures [data-key=tokens] b").get_attribute("title") == f"{sum(d['tokens'] for d in st['domains']):,} tokens"
    assert figure("phase") == ["Next phase", "step 100", "anneal"]
    end = m["first_end"]
    assert figure("end") == ["First end of an epoch", f"~{end['steps']:,} step" + "s" * (end["steps"] != 1), f"{end['domain']}, epoch {end['epoch']}"]
    shown = lambda body: browser.script("return [...document.querySelectorAll(arguments[0] + ' tr')].map(r => [...r.children].map(c => c.textContent.trim()))", body)
    assert shown("#runs") == [
        [r["name"], f"{r['step']:,}" if r["committed"] else "none yet", f"{r['lag_steps']:,} steps",
         f"{100 * r['lag_steps'] / 64:.0f}\u202f% of 64 steps", r["state"]] for r in m["runs"]]
    signed = lambda x: f"{x:+.2f}".replace("-", "\u2212") if abs(x) >= 0.005 else "0.00"
    rows = {r[0]: r for r in shown("#domainrows")}
    assert rows.keys() == {d["name"] for d in st["domains"]}
    for d in st["domains"]:
        r = rows[d["name"]]
        assert r[1:4] == [f"{100 * d['intended']:.3f}\u202f%", f"{100 * d['realised']:.3f}\u202f%", signed(d["deviation"])]
        assert [r[5], *r[7:]] == [f"{d['taken']:,}", f"{d['epoch']:,}", f"{d['sealed_length'] - d['position']:,}", f"{d['loss']:.3f}"]
    assert sorted(browser.script("return [...document.querySelectorAll('#domainrows td:nth-child(7)')].map(c => c.title)")) == \
        sorted(f"{d['tokens']:,} tokens" for d in st["domains"])
    heads = browser.texts("#domainhead th")
    assert [h for h in heads if "sequences" in h] == ["Off, sequences", "Drawn, sequences", "Left of the epoch, sequences"]
    assert "Loss, nats a token" in heads and ", nats a token: all " in browser.text("#r-loss")
    for dark in (False, True):
        browser.size(390, dark=dark)
        wait_until(lambda: browser.texts("#k-shares span") and browser.texts("#k-loss span"), "the keys of narrow charts")
        assert browser.script("return document.documentElement.scrollWidth") <= 390
        browser.picture(f"three-phone-{'dark' if dark else 'light'}")
    assert browser.complaints() == []


def test_problems_that_are_not_kept_are_counted(browser, serve, configure, status):
    config = configure({f"d{i:02d}": 1 for i in range(80)})
    opened_at = serve(config)
    browser.driver.get(opened_at + "/")
    st = status(config)
    assert st["problems_more"] > 0
    wait_until(lambda: browser.texts("#problems li")[-1:] == [f"and {st['problems_more']} more"], "the rest of the problems")
    assert len(browser.texts("#problems li")) == len(st["problem_list"]) + 1
    assert browser.text("#healthsays").startswith(f"{len(st['problem_list']) + st['problems_more']} problems")


def test_a_range_of_a_long_mix_is_drawn_step_by_step(browser, serve, mix, tools, bootstrap):
    config = mix(steps=10)
    subprocess.run([tools / "fill_ledger", "--mix", json.loads(config.read_text())["mix"]["name"], "--steps", "60000", "--each", "1",
                    "--changes", "1"], check=True, env={**os.environ, "RIFFLE_BOOTSTRAP": bootstrap}, timeout=300)
    opened(browser, serve(config), 3)
    drawn = lambda: browser.script("const p = document.querySelector('#c-shares path:not(.intended):not(.mark)'); return p ? p.getAttribute('d').split(/[ML]/).length - 2 : 0")
    for span, least in (("1000", 120), ("100", 50)):
        browser.script("const r = document.querySelector('#range'); r.value = arguments[0]; r.onchange()", span)
        def is_there():  # the chart of before, or a coarse one, may be there for a moment
            browser.find("#c-shares").send_keys(Keys.HOME)
            said = browser.text("#r-shares")
            first = re.match(r"Step ([\d,]+) ", said)
            # What was drawn before the first point is not known: it shows no mean of all steps.
            return drawn() >= least and first and int(first[1].replace(",", "")) >= 60010 - int(span) and "prose \u2013 (intended" in said
        wait_until(is_there, f"{least} points of the last {span} steps", 120)
        browser.find("#c-shares").send_keys(Keys.END)
        assert "prose \u2013" not in browser.text("#r-shares")
    browser.picture("range")


def test_lines_differ_without_their_colours(browser, serve, mix):
    opened(browser, serve(mix()), 3)
    for width in (1280, 390):
        browser.size(width)
        signs = lambda: browser.script("""
            const signs = new Map();
            for (const p of document.querySelectorAll("#c-shares path.mark")) {
                const slot = p.getAttribute("class").match(/s\\d/)[0];
                signs.set(slot, (signs.get(slot) || new Set()).add(p.getAttribute("d")));
            }
            return [...signs.values()].map(s => [...s])""")
        wait_until(lambda: bool(browser.texts("#k-shares span")) == (width < 560), "the chart of this width")
        assert len(signs()) == 3 and all(len(s) == 1 for s in signs()) and len({s[0] for s in signs()}) == 3
        if width < 560:
            key = browser.script("return [...document.querySelectorAll('#k-shares span')].map(s => [s.textContent, s.querySelector('.mark').getAttribute('d')])")
            assert [k[0] for k in key] == list(WEIGHTS) and sorted(k[1] for k in key) == sorted(s[0] for s in signs())
        else:
            assert browser.texts("#c-shares text.end") == ["prose", "code", "forum"]
    row = "#domainrows tr[data-key={}] .sign path"
    kept = browser.find(row.format("forum")).get_attribute("class")
    browser.find("#domainrows tr[data-key=prose] input").click()
    assert browser.find(row.format("forum")).get_attribute("class") == kept, "nothing changes but what was picked"


def test_text_and_edges_have_contrast(browser, serve, mix):
    """WCAG AA: 4.5 for text, 3 for the edges of what can be used."""
    opened(browser, serve(mix()), 3)
    for dark in (False, True):
        browser.size(1280, dark=dark)
        low = browser.script("""
            const style = getComputedStyle(document.documentElement), of = name => {
                const c = style.getPropertyValue("--" + name).trim().slice(1).match(/../g).map(h => parseInt(h, 16) / 255)
                    .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
                return 0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2];
            };
            const ratio = (a, b) => (Math.max(of(a), of(b)) + 0.05) / (Math.min(of(a), of(b)) + 0.05);
            const pairs = [];
            for (const on of ["page", "panel"]) for (const text of ["ink", "soft", "accent"]) pairs.push([text, on, 4.5]);
            for (const on of ["bad-page", "warn-page"]) pairs.push(["ink", on, 4.5]);
            for (const text of ["bad", "mark", "c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7"]) pairs.push([text, "panel", 4.5]);
            for (const on of ["page", "panel"]) pairs.push(["edge", on, 3]);
            return pairs.filter(([a, b, least]) => !(ratio(a, b) >= least)).map(([a, b]) => `${a} on ${b}: ${ratio(a, b).toFixed(2)}`)""")
        assert low == [], "dark" if dark else "light"


@pytest.mark.parametrize("schedule", ["deficit", "random"])
def test_the_promise_is_drawn_where_it_is_made(browser, serve, mix, schedule):
    opened(browser, serve(mix(schedule=schedule)), 3)
    assert bool(browser.texts("#c-dev .promise")) == browser.find("#promise").is_displayed() == (schedule == "deficit")
    if schedule == "deficit":
        assert "under constant weights" in browser.text("#promise") and "ln\u00a0D for D domains (here 1.1)" in browser.text("#promise")


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


def test_losses_have_a_chart_once_a_run_reports_them(browser, serve, mix, report):
    config = mix()
    opened(browser, serve(config), 3)
    assert not browser.find("#losses").is_displayed()
    alone = browser.find("#c-dev").size["width"]
    for first, until in ((0, 20), (20, 40)):  # the mixer is past all of them, and publishes nothing more
        report(config, [f"trainers {i} 0 1 " + " ".join(f"{d}:3.5:0:1" for d in WEIGHTS) for i in range(first, until)])
        shown = f"Step {until - 1}, run trainers, nats a token: all 3.5000" + "".join(f", {d} 3.5000" for d in WEIGHTS)
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
        # It goes on to say for how long, and no question but one waits for the broker.
        wait_until(lambda: int((re.search(r"for (\d+)\u202fs", browser.text("#healthsays")) or [0, 0])[1]) >= 30, "half a minute without a broker")
        browser.complaints()
        assert browser.outstanding("/api/v1/requests") <= 1
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
