"""A real browser for tests: headless Chromium, if there is one."""

import json
import shutil
from contextlib import contextmanager

import pytest

from tests.support.live import until

_FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars")
_DARK = ("--blink-settings=preferredColorScheme=0", "--force-dark-mode")


@contextmanager
def browsing(server, *flags, width=1200, height=900, dark=False, script=True):
    """Yield a browser, run with these flags, too, for a server; the test is skipped where there is none."""
    selenium = pytest.importorskip("selenium", reason="needs selenium")
    del selenium
    from selenium import webdriver  # noqa: PLC0415 - not everywhere

    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not chromium or not driver:
        pytest.skip("needs Chromium and its driver")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in (*_FLAGS, *flags, f"--window-size={width},{height}", *(_DARK if dark else ())):
        options.add_argument(flag)
    if not script:
        options.add_experimental_option("prefs", {"profile.managed_default_content_settings.javascript": 2})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    program = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    try:
        if width < 500:  # a window is never that narrow
            size = {"width": width, "height": height, "deviceScaleFactor": 2, "mobile": True}
            program.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        yield Browser(program, server)
    finally:
        program.quit()


class Browser:
    """Looks at pages, and waits for what is to be on them."""

    def __init__(self, program, server):
        self.program, self.server = program, server
        self._backs = 0

    def enter(self):
        """Follow the address that `katod serve` prints."""
        self.program.get(f"{self.server.base}/#token={self.server.token}")
        until(lambda: self.all("#groups") and "token" not in self.program.current_url, "the list")
        return self

    def open(self, path):
        """Open a page."""
        self.program.get(f"{self.server.base}{path}")
        return self

    def all(self, selector):
        """Return the elements that a selector finds."""
        return self.program.find_elements("css selector", selector)

    def text(self, selector="body"):
        """Return the visible text of the first element that a selector finds."""
        return self.run("return document.querySelector(arguments[0])?.innerText ?? ''", selector)

    def sees(self, words, selector="body"):
        """Wait until a text is visible."""
        until(lambda: words in self.text(selector), f"{words!r} in {selector}")

    def run(self, script, *arguments):
        """Run a script of the test in the page."""
        return self.program.execute_script(script, *arguments)

    def back(self):
        """Go back one page: the driver runs a script again if the page it began on goes away meanwhile."""
        self._backs += 1
        self.run(
            """
            if (sessionStorage.getItem("test backs") === arguments[0]) return;
            sessionStorage.setItem("test backs", arguments[0]);
            setTimeout(() => history.back());
            """,
            str(self._backs),
        )

    def press(self, key):
        """Press a key, wherever the focus is."""
        self.program.switch_to.active_element.send_keys(key)

    def click(self, selector):
        """Click on the first element that a selector finds, as soon as there is one."""
        until(lambda: self.all(selector), selector)
        self.all(selector)[0].click()

    def elsewhere(self):
        """Return the addresses that were asked for, and are not the server's."""
        messages = [json.loads(row["message"])["message"] for row in self.program.get_log("performance")]
        asked = [row["params"]["request"]["url"] for row in messages if row["method"] == "Network.requestWillBeSent"]
        return [url for url in asked if not url.startswith((self.server.base, "data:", "blob:", "chrome:", "about:"))]

    def problems(self):
        """Return what the browser complains of, but for the page that asks for the token."""
        return [row["message"] for row in self.program.get_log("browser") if "401" not in row["message"]]
