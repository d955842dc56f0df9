"""A headless Chromium for the tests of the two web pages."""

import shutil
import time
from contextlib import contextmanager

import pytest
from axe_core_python.selenium import Axe
from selenium import webdriver
from selenium.webdriver.common.by import By

BROWSER, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip

WIDTHS = (390, 768, 1280)

needs_browser = pytest.mark.skipif(
    not (BROWSER and DRIVER), reason="needs Chromium and its driver (Debian: chromium and chromium-driver)"
)

# All that a reader sees of a part: its text, drawings and pictures.
LOOK = """
const part = document.getElementById(arguments[0]);
const pictures = [...part.querySelectorAll("canvas")].map((canvas) => canvas.toDataURL());
const drawings = [...part.querySelectorAll("svg")].map((svg) => svg.innerHTML);
const words = [...part.querySelectorAll("td, th, p, .value, .values, .lines")].map((each) => each.textContent);
return JSON.stringify([words, drawings, pictures]);
"""


class Page:
    """A page in a browser: open a part, look at it, and use it."""

    def __init__(self, driver, home):
        self.driver, self.home = driver, home
        self.find = lambda css: driver.find_element(By.CSS_SELECTOR, css)
        self.all = lambda css: driver.find_elements(By.CSS_SELECTOR, css)
        self.run = driver.execute_script

    def open(self, address=""):
        self.driver.get("about:blank")
        self.driver.get(f"{self.home}#{address}")
        while self.run("return document.readyState") != "complete":
            time.sleep(0.03)

    def look(self, part):
        """What the part shows once it has come to rest."""
        before, seen = None, self.run(LOOK, part)
        end = time.monotonic() + 20
        while seen != before:
            assert time.monotonic() < end, f"{part} does not come to rest"
            time.sleep(0.03)
            before, seen = seen, self.run(LOOK, part)
        return seen

    def address(self, wanted=None):
        """What the address holds after the #, once it holds what is wanted; it follows after a moment."""
        end = time.monotonic() + 30
        while True:
            found = self.driver.current_url.partition("#")[2]
            if wanted is None or wanted in found or time.monotonic() > end:
                return found
            time.sleep(0.05)

    def address_becomes(self, wanted):
        """Whether the address comes to be this one."""
        end = time.monotonic() + 30
        while self.address() != wanted and time.monotonic() < end:
            time.sleep(0.05)
        return self.address() == wanted

    def complaints(self):
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def size(self, width, height=800, **more):
        settings = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", settings | more)

    def prefers(self, **features):
        values = [{"name": f"prefers-{name.replace('_', '-')}", "value": value} for name, value in features.items()]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": values})

    def accused(self, *rules):
        """What axe-core has to say against the page by some of its rules, or all: contrast, headings, tables, links."""
        only = {"runOnly": {"type": "rule", "values": list(rules)}} if rules else None
        found = Axe().run(self.driver, options=only)
        assert len(found["passes"]) >= (len(rules) or 10)
        return [(v["id"], v["nodes"][0]["html"][:200], len(v["nodes"])) for v in found["violations"]]


@contextmanager
def browse(home, folder):
    """Open the page at this address in a browser that keeps its files in ``folder``."""
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for flag in (*FLAGS, f"--user-data-dir={folder}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    driver.set_script_timeout(180)
    try:
        yield Page(driver, home)
    finally:
        driver.quit()
