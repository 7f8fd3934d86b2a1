"""Draws the pictures of `katod/serve/README.md`: the page on a desktop and on a phone. Needs Chromium and its driver.

Run it after a change to how the page looks: `python -m tests.serve.pictures`.
"""

import os
import shutil
import tempfile
import time
from pathlib import Path

from tests.serve.browser import browsing
from tests.serve.serving import Served
from tests.support.live import Live, until
from tests.support.records import calls, says, user
from tests.support.world import World

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "packaging" / "readme"
DEMO = ROOT / "fixtures" / "demo" / "session.jsonl"
SESSION = "6f1c2c1e-8a53-4c3e-9b5e-0a1d5f8f2c11"


def sessions(world):
    """Write sessions that wait, work, are done, and are recorded."""
    asks = world.session(1)
    asks.cwd = "/home/me/shop"
    asks.write(asks.user("Move the cart to the new checkout"), asks.says("Two ways are possible."))
    options = [{"label": "At once", "description": ""}, {"label": "Page by page", "description": ""}]
    question = {"question": "How?", "header": "How", "options": options, "multiSelect": False}
    asks.write(asks.calls("q", "AskUserQuestion", questions=[question]))
    works = world.session(2, "codex")
    works.cwd = "/home/me/notes"
    works.say(user("Find out why the index is rebuilt at every start"), says("I'll look at what is read first."))
    works.say(calls("c", "rg -n rebuild src"))
    tests = world.session(3)
    tests.cwd = "/home/me/notes"
    tests.write(tests.user("::start\nRun the tests, and fix what fails"), tests.runs("c", "pytest -q"))
    done = world.session(4)
    done.cwd = "/home/me/site"
    done.write(
        done.user("Give the site a dark theme"), done.says("It has one now.", message={"stop_reason": "end_turn"})
    )
    demo = world.home / f".claude/projects/-home-me-shop/{SESSION}.jsonl"
    demo.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(DEMO, demo)
    world.once()
    for number, maker in enumerate((asks, works, tests, done)):
        os.utime(maker.path, (time.time() - 60 * (1 + 7 * number),) * 2)


def draw():
    """Write each picture."""
    with tempfile.TemporaryDirectory() as home:
        world = World(Path(home))
        world.configure(sessions="all")
        sessions(world)
        with Live(world), Served(world) as server:
            for name, options in {
                "": {"width": 1100, "height": 760},
                "-phone": {"width": 390, "height": 760, "dark": True},
            }.items():
                with browsing(server, **options) as browser:
                    browser.enter()
                    until(lambda: browser.all("#g-waiting .row"), "the list")
                    browser.program.save_screenshot(str(FOLDER / f"serve-list{name}.png"))
                    browser.open(f"/s/{SESSION}")
                    until(lambda: browser.all("katod-feed"), "the conversation")
                    browser.run("document.querySelector('#m2').scrollIntoView()")
                    time.sleep(0.5)
                    browser.program.save_screenshot(str(FOLDER / f"serve-session{name}.png"))


if __name__ == "__main__":
    draw()
