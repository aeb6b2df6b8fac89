"""What the tests of tests/kafka have, for those that need a browser (make test-page), and Chromium itself."""

import importlib.util
import json
import pathlib
import re
import sys
import urllib.error
import urllib.request

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service

_here = pathlib.Path(__file__).parent
sys.path.insert(0, str(_here.parent / "chaos"))  # cluster.py
_spec = importlib.util.spec_from_file_location("conftest_kafka", _here.parent / "kafka" / "conftest.py")
_kafka = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_kafka)
globals().update({name: value for name, value in vars(_kafka).items() if not name.startswith("_")})


class Browser:
    """Chromium without a window. What it asked for and what it complained of is kept until forget()."""

    def __init__(self, pictures):
        options = webdriver.ChromeOptions()
        for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
                     "--disable-background-networking", "--no-first-run"):
            options.add_argument(word)
        options.binary_location = "/usr/bin/chromium"
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))
        self.pictures = pictures

    def size(self, width, height=900, dark=False):
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500})
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {
            "features": [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]})

    def script(self, text, *words):
        return self.driver.execute_script(text, *words)

    def text(self, selector):
        return self.script("const n = document.querySelector(arguments[0]); return n && n.textContent", selector)

    def texts(self, selector):
        return self.script("return [...document.querySelectorAll(arguments[0])].map(n => n.textContent)", selector)

    def find(self, selector):
        return self.driver.find_element("css selector", selector)

    def picture(self, name):
        """The whole page, as a PNG under $B/page."""
        width, height = self.script("return [innerWidth, document.documentElement.scrollHeight]")
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": min(height, 4000), "deviceScaleFactor": 1, "mobile": width < 500})
        self.script("return new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        self.driver.save_screenshot(str(self.pictures / f"{name}.png"))

    def complaints(self):
        """Errors and warnings of the console since the last call."""
        return [e["message"] for e in self.driver.get_log("browser") if e["level"] in ("SEVERE", "WARNING")]

    def requests(self):
        """The addresses that were asked for since the last call."""
        events = [json.loads(e["message"])["message"] for e in self.driver.get_log("performance")]
        return [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]


    def outstanding(self, path):
        """How many requests for a path were under way at one time at most, since the last call of requests() or this."""
        waiting, most = set(), 0
        for event in (json.loads(e["message"])["message"] for e in self.driver.get_log("performance")):
            number = event["params"].get("requestId")
            if event["method"] == "Network.requestWillBeSent" and event["params"]["request"]["url"].endswith(path):
                waiting.add(number)
            elif event["method"] in ("Network.loadingFinished", "Network.loadingFailed"):
                waiting.discard(number)
            most = max(most, len(waiting))
        return most


@pytest.fixture(scope="session")
def chromium(build):
    pictures = build / "page"
    pictures.mkdir(parents=True, exist_ok=True)
    browser = Browser(pictures)
    yield browser
    browser.driver.quit()


@pytest.fixture
def browser(chromium):
    """A blank page, light, 1,280 pixels wide."""
    chromium.driver.get("about:blank")
    chromium.size(1280)
    chromium.complaints(), chromium.requests()
    return chromium


def is_ready(address):
    try:
        return urllib.request.urlopen(f"{address}/readyz", timeout=10).status == 200
    except urllib.error.HTTPError:
        return False


@pytest.fixture
def serve(riffle):
    """serve(config, ...) -> the address of the page, without the / at its end; the broker has answered."""
    def start(config, *words):
        process = riffle.popen("serve", "-c", config, "--listen", "127.0.0.1:0", *words)
        for line in process.stderr:
            found = re.search(r"(https?://\S+?)/?\s", line)
            if found:
                wait_until(lambda: is_ready(found[1]), "an answer of the broker")
                return found[1]
        raise AssertionError(f"riffle serve said no address, exit {process.wait()}")
    return start
