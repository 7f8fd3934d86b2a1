"""Every page is accessible by WCAG 2.1 AA, as far as axe-core can tell: on a desktop and a phone, light and dark."""

from importlib import resources

import pytest

from tests.serve.browser import browsing
from tests.serve.pictures import sessions
from tests.serve.serving import Served
from tests.support.live import Live

pytestmark = pytest.mark.slow
axe = pytest.importorskip("axe_core_python", reason="needs axe-core-python")
AXE = resources.files(axe).joinpath("axe.min.js").read_text()
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]
CHECK = """
    const done = arguments[arguments.length - 1];
    axe.run(document, {runOnly: arguments[0]}).then((found) => done(found.violations.map((one) =>
        `${one.id}: ${one.nodes.map((node) => node.html.slice(0, 120)).slice(0, 3).join(' | ')}`)));
"""


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1200, 390])
def test_no_page_has_a_barrier(world, width, dark):
    """Neither as it is loaded, nor with what can be opened on it."""
    sessions(world)
    session = "00000004-8a53-4c3e-9b5e-0a1d5f8f2c11"
    demo = "6f1c2c1e-8a53-4c3e-9b5e-0a1d5f8f2c11"
    with Live(world), Served(world) as server:
        world.cli("star", session)
        world.cli("label", session, "design")
        with browsing(server, width=width, dark=dark) as browser:
            browser.enter()
            pages = {
                "/": "#filters summary", "/?label=design&by=project": "", f"/s/{session}": "#more>summary",
                f"/s/{demo}": "", f"/s/{demo}/files": "", "/find?q=session": "#filters summary",
                "/find?q=nowhere&state=waiting": "", f"/find?in={demo}&q=session": "",
                "/usage": "", "/usage?since=30d": "",
            }  # fmt: skip
            for path, opened in pages.items():
                browser.open(path)
                if opened:
                    browser.click(opened)
                browser.run(AXE)
                assert browser.program.execute_async_script(CHECK, RULES) == [], path
