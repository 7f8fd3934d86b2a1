"""A conversation that somebody watches in a browser while it is held: with the real client, server and browser."""

from contextlib import contextmanager

from tests.serve.browser import browsing
from tests.serve.serving import Served
from tests.support.live import until

from .scenario import talk

IDS = "return [...document.querySelectorAll('#log>.e')].map((one) => one.id)"


@contextmanager
def watched(play):
    """A person who has said hello at a terminal, a browser that shows the conversation, and the daemon."""
    with (
        play.katod("markdown", sessions="all") as katod,
        Served(katod.world) as server,
        browsing(server) as browser,
        talk(play) as person,
    ):
        browser.enter()
        person.open()
        person.ask("hello")
        browser.sees("hello", "#g-recent")
        browser.click(".row a")
        browser.sees(play.last_answer(), "#log")
        browser.sees("done", "#about")
        yield person, browser, katod
        person.leave()
        assert not browser.elsewhere()
        assert not browser.problems()


def watch(play):
    """Each answer is seen when it is given, with what the client is doing; the page starts and stops a recording."""
    with watched(play) as (person, browser, katod):
        press(browser, "start")
        browser.sees("recording", "#about .rec.on")
        person.ask("look into it (tool)")
        browser.sees(play.last_answer(), "#log")
        heard = person.heard()
        person.begin("a long one (slow)")
        browser.sees("working", "#about")
        play.release()
        person.answered(heard + 1)
        browser.sees(play.last_answer(), "#log")
        browser.sees("done", "#about")
        katod.until_written(play.last_answer())
        press(browser, "stop")
        until(lambda: not browser.all(".rec.on"), "the end of the recording")
        person.ask("said after it")
        browser.sees(play.last_answer(), "#log")
        written = "".join(katod.world.written().values())
        assert "look into it" in written
        assert "said after it" not in written
        shown = browser.run(IDS)
        assert len(set(shown)) == len(shown)
        browser.program.refresh()
        browser.sees(play.last_answer(), "#log")
        assert browser.run(IDS) == shown


def press(browser, word):
    """Press one of the buttons of a recording."""
    browser.click("#more>summary")
    browser.click(f"button[value={word}]")
