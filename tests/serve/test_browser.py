"""The page in a real browser: it grows, is found again, searches, records, and needs no script and nobody else."""

import os
import time

import pytest

from tests.serve.browser import browsing
from tests.serve.serving import Served, all_messages, asks
from tests.serve.test_page import NASTY
from tests.support.live import Live, until
from tests.support.records import OTHER, Claude, calls, result, says, user

pytestmark = pytest.mark.slow
# The parts of the bars that something else covers.
FITS = "return document.readyState === 'complete' && document.documentElement.scrollWidth <= arguments[0]"
COVERED = """
    return [...document.querySelectorAll('#top *, #bar :is(.title, .state, .rec, .switch, summary)')].filter((one) => {
        const box = one.getBoundingClientRect();
        if (!box.width || one.closest('.menu')) return false;
        const hit = document.elementFromPoint(box.right - 3, (box.top + box.bottom) / 2);
        return hit && !one.contains(hit) && !hit.contains(one);
    }).map((one) => one.outerHTML.slice(0, 80))
"""
# Whether the button that leads to the end lies over the open menu.
UNDER_BUTTON = """
    const box = document.getElementById('new').getBoundingClientRect();
    return document.elementFromPoint((box.left + box.right) / 2, (box.top + box.bottom) / 2).id === 'new';
"""
# On how many lines each head of a table is.
LINES = """
    return [...document.querySelectorAll('th')].map((one) => {
        const range = document.createRange();
        range.selectNodeContents(one);
        return new Set([...range.getClientRects()].map((box) => box.top)).size;
    });
"""
CLOSED = "return document.querySelector('katod-feed').stream.source.readyState === 2"
PAGE = "return document.title + document.body.textContent"
LATENCY = 0.15  # seconds, the median from an append to what a person sees


@pytest.fixture
def everything(world):
    world.configure(sessions="all")
    return world


def begun(world, number=1, agent="claude"):
    maker = world.session(number, agent)
    maker.say(user(f"begin {number}"), says("with pleasure"))
    return maker


@pytest.mark.parametrize("agent", ["claude", "codex"])
def test_a_conversation_grows(everything, agent):
    """What is appended is seen soon, once, in order, also after a reload; nobody else is asked for anything."""
    maker = begun(everything, agent=agent)
    with Served(everything) as server, browsing(server) as browser:
        browser.enter().click(".row a")
        browser.sees("with pleasure")
        browser.run("""
            window.seen = {};
            new MutationObserver((all) => all.forEach((one) => one.addedNodes.forEach((node) => {
              const found = /number (\\d+)/.exec(node.textContent);
              if (found) window.seen[found[1]] ??= Date.now() / 1000;
            }))).observe(document.getElementById('log'), {childList: true});
        """)
        waits = []
        for number in range(20):
            began = time.time()
            maker.say(says(f"number {number}"))
            until(lambda: browser.run("return window.seen[arguments[0]]", str(number)), f"number {number}")  # noqa: B023
            waits.append(browser.run("return window.seen[arguments[0]]", str(number)) - began)
        assert sorted(waits)[10] <= LATENCY, waits
        shown = browser.run("return [...document.querySelectorAll('#log>.e')].map((one) => one.id)")
        browser.program.refresh()
        browser.sees("number 19")
        assert browser.run("return [...document.querySelectorAll('#log>.e')].map((one) => one.id)") == shown
        assert not browser.elsewhere()
        assert not browser.problems()


def test_a_page_sticks_to_the_end_or_says_how_much_is_new(everything):
    """At the end it stays there; above it, it stays where it is, and counts."""
    maker = begun(everything)
    for number in range(30):
        maker.say(user(f"question {number}"), says("word " * 200))
    maker.say(user("go on"))
    left = "return document.documentElement.scrollHeight - innerHeight - scrollY"
    with Served(everything) as server, browsing(server) as browser:
        browser.enter().click(".row a")
        browser.sees("go on", "#log")
        until(lambda: browser.run(left) < 5, "the end")
        maker.say(says("more " * 300))
        browser.sees("more more", "#log")
        until(lambda: browser.run(left) < 5, "the end")
        browser.run("scrollTo(0, 0)")
        until(lambda: browser.run("return !document.querySelector('katod-feed').sticks"), "the scroll")
        maker.say(says("and more"), says("and again"))
        browser.sees("2 new", "#new")
        assert browser.run("return scrollY") < 5
        browser.click("#new")
        until(lambda: browser.run(left) < 5, "the end")


READ = """
    if (document.readyState !== 'complete' || !document.querySelector('katod-feed')?.stream) return null;
    const bar = document.getElementById('bar').getBoundingClientRect().bottom;
    const one = document.getElementById(arguments[0])
        ?? [...document.querySelectorAll('#log>.e')].find((one) => one.getBoundingClientRect().bottom > bar);
    return [one.id, one.getBoundingClientRect().top];
"""


def _place(browser, name=None):
    """Return where a message is in the window, by default the one at its top, once it stays there."""
    found = [None, None]

    def stays():
        found.append(browser.run(READ, name))
        return found[-1] and found[-1] == found[-2] == found[-3]

    until(stays, "a place", poll=0.1)
    return found[-1]


def _is_at(browser, place):
    """Return whether a message comes to where it was, however long the browser takes for that, and stays there."""
    name, top = place[0], pytest.approx(place[1], abs=2)
    until(lambda: (found := browser.run(READ, name)) and found[1] == top, "the place")
    return _place(browser, name)[1] == top


def _long(maker):
    """Write a session whose messages have many heights."""
    for number in range(60):
        maker.say(
            user(f"question {number}"),
            says("word " * 40 * (number % 7) + "\n\n```\n" + "code\n" * (number % 11) + "```"),
        )
        maker.say(calls(f"c{number}", "ls"), result(f"c{number}", "a\n" * 30))
    maker.say(says("paragraph\n\n" * 100), user("done?"), says("done"))


@pytest.mark.parametrize("is_working", [False, True], ids=["done", "working"])
def test_a_reader_is_led_back_to_the_place(everything, is_working):
    """After a reload, the list and back, another page and back, and a form of the menu, however high what is above."""
    maker = begun(everything)
    _long(maker)
    if is_working:
        maker.say(user("go on"))
    path = f"/s/{maker.session}"
    with Live(everything), Served(everything) as server, browsing(server) as browser:
        browser.enter()
        for part in (0, 0.1, 0.4, 0.6, 0.85):
            browser.open(path)
            _place(browser)
            browser.run("scrollTo(0, arguments[0] * document.documentElement.scrollHeight)", part)
            place = _place(browser)
            browser.program.refresh()
            assert _is_at(browser, place), part
            browser.click("#home")
            until(lambda: browser.all("#groups"), "the list")
            browser.back()
            assert _is_at(browser, place), part
            browser.open(f"{path}/files")
            browser.back()
            assert _is_at(browser, place), part
            maker.say(says("and more"))
            browser.click("#more>summary")
            browser.click("button[name=star], button[name=unstar]")
            until(lambda: not browser.all("#more[open]"), "the answer")
            assert _is_at(browser, place), part


def test_a_link_to_a_message_counts_for_those_who_come_by_it(everything):
    """Whoever went on from there is led back to where they were; a new visit begins where the link leads."""
    maker = begun(everything)
    _long(maker)
    with Served(everything) as server, browsing(server) as browser:
        names = [row["id"] for row in all_messages(server, maker.session) if row["message"]["type"] == "user"]
        browser.enter().open(f"/s/{maker.session}#{names[40]}")
        linked = _place(browser)
        assert 0 < browser.run("return document.querySelector(':target').getBoundingClientRect().top") < 300
        browser.program.refresh()
        assert _is_at(browser, linked)
        browser.press("g")
        browser.run("scrollTo(0, 1500)")
        place = _place(browser)
        browser.program.refresh()
        assert _is_at(browser, place)
        browser.open("/")
        browser.open(f"/s/{maker.session}#{names[40]}")
        assert _is_at(browser, linked)
        browser.open("/")
        browser.open(f"/s/{maker.session}")
        assert _place(browser)[0] not in (linked[0], place[0])


def test_a_page_that_follows_the_end_goes_on_at_the_end(everything):
    """After a reload, too, and whatever was said meanwhile; so does one of a session that has ended."""
    maker = begun(everything)
    _long(maker)
    left = "return document.documentElement.scrollHeight - innerHeight - scrollY"
    with Served(everything) as server, browsing(server) as browser:
        browser.enter().open(f"/s/{maker.session}")
        browser.press("G")
        until(lambda: browser.run(left) < 5, "the end")
        browser.open("/")
        maker.say(says("meanwhile " * 900))
        browser.back()
        browser.sees("meanwhile", "#log")
        _place(browser)
        assert browser.run(left) < 5


def test_the_list_shows_who_waits(everything):
    """A session that begins to wait comes first while the list is open, and leaves when it works again."""
    maker, other = everything.session(1), begun(everything, 2)
    maker.write(maker.user("ask me"), maker.says("soon"))
    other.say(user("go on"))
    with Served(everything) as server, browsing(server) as browser:
        browser.enter()
        browser.sees("ask me", "#g-recent")
        browser.sees("begin 2", "#g-working")
        asks(maker, "q1")
        browser.sees("ask me", "#g-waiting")
        browser.sees("waits for your answer", "#g-waiting")
        assert browser.program.title.startswith("(1)")
        maker.write(maker.result("q1", "a"), maker.runs("c", "make"))
        browser.sees("ask me", "#g-working")
        until(lambda: not browser.program.title.startswith("("), "the title")


def _ask_for_news(browser):
    """Open the list, and ask to be told who waits; what would be shown on the desktop is kept in the page."""
    browser.program.execute_cdp_cmd("Browser.grantPermissions", {"permissions": ["notifications"]})
    browser.enter()
    browser.run("""
        window.told = [];
        const Real = window.Notification;
        window.Notification = class { constructor(title, { body }) { window.told.push([title, body]); } };
        window.Notification.permission = Real.permission;
        window.Notification.requestPermission = () => Real.requestPermission();
    """)
    browser.click("#news")
    until(lambda: browser.all("#news[aria-pressed=true]"), "the permission")


def _told(browser):
    return [title for title, _ in browser.run("return window.told")]


def _hide(browser, is_hidden):
    """Have a page believe that nobody sees it, or that somebody does: no tab is hidden, without a window."""
    browser.run(f"Object.defineProperty(document, 'hidden', {{get: () => {is_hidden}, configurable: true}})")
    browser.run("document.dispatchEvent(new Event('visibilitychange'))")


def test_a_page_that_is_not_seen_tells_who_waits(everything):
    """Whoever asked for it is told by the desktop when a session begins to wait, while the list is in another tab."""
    maker = begun(everything)
    maker.say(user("go on"))
    with Served(everything) as server, browsing(server) as browser:
        _ask_for_news(browser)
        _hide(browser, "true")
        asks(maker, "q1")
        until(lambda: browser.run("return window.told"), "the notification")
        assert browser.run("return window.told") == [["begin 1", "Waits for your answer"]]


def test_messages_and_commands_are_copied(everything):
    """A message is copied as the Markdown that was written, the session as a whole, and the command to go on."""
    maker = begun(everything)
    maker.say(says("*so* be it"))
    with Served(everything) as server, browsing(server) as browser:
        allowed = {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"], "origin": server.base}
        browser.program.execute_cdp_cmd("Browser.grantPermissions", allowed)
        browser.enter().open(f"/s/{maker.session}")
        browser.sees("be it", "#log")
        browser.run("document.querySelector('#log>.e:last-child .at').focus()")
        browser.click("#log>.e:last-child .acts button")
        _until_copied(browser, lambda copied: copied == "*so* be it")
        browser.click("#more>summary")
        browser.click("katod-copy[data-from] button")
        _until_copied(browser, lambda copied: "*so* be it" in copied and "begin 1" in copied)
        browser.click("katod-copy:not([data-from]) button")
        _until_copied(browser, lambda copied: copied.endswith(f"claude --resume {maker.session}"))


def _until_copied(browser, is_it):
    read = "navigator.clipboard.readText().then(arguments[0])"
    until(lambda: is_it(browser.program.execute_async_script(read)), "the copy")


def test_a_page_says_that_nobody_answers_and_goes_on(everything):
    """While the server is away, the page says so; once it is back, what was said in between is there once."""
    maker = begun(everything)
    with Served(everything) as server, browsing(server) as browser:
        browser.enter().open(f"/s/{maker.session}")
        browser.sees("with pleasure")
        server.kill()
        until(lambda: "not connected" in browser.text("#away"), "the sign")
        maker.say(says("meanwhile"))
        server.start()
        browser.sees("meanwhile")
        until(lambda: not browser.text("#away"), "the end of it")
        assert browser.text("#log").count("meanwhile") == 1


def test_who_waits_is_told_after_a_restart_too(everything):
    """A session that began to wait while the server was away is told once it is back; what waited before is not."""
    maker, other = begun(everything), begun(everything, 2)
    asks(other, "q0")
    with Served(everything) as server, browsing(server) as browser:
        _ask_for_news(browser)
        browser.run("document.hasFocus = () => false")
        asks(begun(everything, 3), "q3")
        until(lambda: _told(browser) == ["begin 3"], "the notification")
        server.kill()
        asks(maker, "q1")
        server.start()
        until(lambda: _told(browser) == ["begin 3", "begin 1"], "the other one")


def test_pages_that_nobody_sees_take_no_connection(everything):
    """Tabs that were opened in the background open no stream, so that the page in front always gets an answer."""
    maker = begun(everything)
    hide = """
        Object.defineProperty(document, 'hidden', {get: () => true});
        window.opened = 0;
        window.EventSource = class extends EventSource { constructor(...given) { super(...given); window.opened++; } };
    """
    with Served(everything) as server, browsing(server) as browser:
        browser.enter()
        browser.program.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": hide})
        browser.open(f"/s/{maker.session}")
        browser.sees("with pleasure")
        until(lambda: browser.run("return Boolean(customElements.get('katod-feed'))"), "the script")
        assert browser.run("return window.opened") == 0


@pytest.mark.parametrize("happens", ["seen", "hidden", "away"])
def test_nothing_of_a_forgotten_session_stays_on_its_page(everything, happens):
    """Neither its title nor its menu, also where its tab was not seen, or the server was away, when it was forgotten."""
    everything.configure()
    maker = begun(everything)
    maker.say(user("::start\nfor the record"))
    everything.once()
    with Served(everything) as server, browsing(server) as browser:
        browser.enter().open(f"/s/{maker.session}#m1")
        browser.sees("for the record")
        if happens == "hidden":
            _hide(browser, "true")
            until(lambda: browser.run(CLOSED), "the end of the stream")
        elif happens == "away":
            server.kill()
            until(lambda: "not connected" in browser.text("#away"), "the sign")
        everything.cli("forget", maker.session, "--yes")
        if happens == "hidden":
            _hide(browser, "false")
        elif happens == "away":
            server.start()
        browser.sees("There is no such session here.")
        assert not browser.all("#bar, #log, nav")
        assert not [words for words in ("begin 1", "record", "not connected") if words in browser.run(PAGE)]


def test_keys_keep_the_focus_where_somebody_reads(everything):
    """Keys work after a click on a switch, the next message has the focus, and Escape leads back from the menu."""
    maker = begun(everything)
    maker.say(user("more"), says("[the file](src/a.py) and [a page](https://example.org)"))
    with Served(everything) as server, browsing(server) as browser:
        browser.enter().open(f"/s/{maker.session}")
        browser.sees("more", "#log")
        browser.click("#thinking")
        browser.run("scrollTo(0, 0)")
        browser.press("j")
        until(lambda: browser.run("return document.activeElement.matches('#log>.e.here')"), "the focus")
        browser.click("#more>summary")
        browser.press("\ue00c")
        until(lambda: browser.run("return document.activeElement.matches('#more>summary')"), "the focus")
        assert not browser.all("#more[open]")
        assert [link.get_attribute("href") for link in browser.all("#log .e:last-child p a")] == [
            None, "https://example.org/"
        ]  # fmt: skip


def test_what_happens_is_told_to_those_who_do_not_see_it(everything):
    """Messages, states and connections are in live regions; a first prompt makes the list of prompts appear."""
    maker = everything.session(1)
    maker.say(says("unasked"))
    with Served(everything) as server, browsing(server) as browser:
        browser.enter().open(f"/s/{maker.session}")
        browser.sees("unasked", "#log[role=log]")
        assert browser.all("nav[hidden]")
        maker.say(user("the first prompt"))
        browser.sees("the first prompt", "nav")
        asks(maker, "q1")
        until(
            lambda: "waits for your answer" in browser.run("return document.getElementById('told').textContent"), "it"
        )


def test_links_lead_to_messages(everything):
    """A link to a message opens there and marks it; a search leads to it; keys go from one message to the next."""
    maker = begun(everything)
    for number in range(40):
        maker.say(user(f"question {number}"), says("word " * 100))
    with Served(everything) as server, browsing(server) as browser:
        browser.enter().open("/find?q=%22question+12%22")
        browser.click(".result li a")
        until(
            lambda: browser.run("return document.querySelector('.e:target')?.innerText.includes('question 12')"), "it"
        )
        until(
            lambda: 0 <= browser.run("return document.querySelector('.e:target').getBoundingClientRect().top") < 400,
            "it",
        )
        browser.press("j")
        until(lambda: browser.all(".e.here"), "the next message")
        browser.press("?")
        until(lambda: browser.all("#keys[open]"), "the keys")
        browser.click("#keys button")
        browser.press("/")
        assert browser.run("return document.activeElement.name") == "q"


def test_keys_lead_through_prompts_sessions_and_searches(everything):
    """From prompt to prompt, over answers; to the session of the project that came before; to a search in this one."""
    older, maker = everything.session(2), everything.session(1)
    older.say(user("an older task"), says("done"))
    os.utime(older.path, (1_700_000_000, 1_700_000_000))
    for number in range(12):
        maker.say(user(f"question {number}"), says("word " * 400), says("rare" if number == 7 else "more " * 400))
    here = "return document.querySelector('.e.here')?.innerText ?? ''"
    with Served(everything) as server, browsing(server) as browser:
        browser.enter().open(f"/s/{maker.session}")
        browser.sees("question 0", "#log")
        for key, words in (
            ("n", "question 0"),
            ("n", "question 1"),
            ("p", "question 0"),
            ("j", "word"),
            ("n", "question 1"),
        ):
            browser.press(key)
            until(lambda words=words: words in browser.run(here), words)
        browser.press("f")
        until(lambda: browser.run("return document.activeElement.matches('#more [name=q]')"), "the field")
        browser.press("rare\n")
        browser.sees("1 hit for rare", "h1")
        browser.click(".result li a")
        browser.sees("rare", ".e:target")
        browser.press("[")
        browser.sees("an older task", "h1")
        browser.press("]")
        browser.sees("question 0", "h1")
        browser.press("]")
        browser.sees("There is no newer session of this project.")


def test_a_link_stays_at_its_message(everything):
    """Near the end of a long session, too, while it goes on, and after the token was asked for; until somebody scrolls."""
    maker = begun(everything)
    for number in range(60):
        maker.say(user(f"question {number}"), says("word " * 100 + "\n\n```\n" + "code\n" * 20 + "```"))
    maker.say(user("go on"))
    top = "return document.querySelector(':target')?.getBoundingClientRect().top"
    with Served(everything) as server, browsing(server) as browser:
        names = [row["id"] for row in all_messages(server, maker.session) if row["message"]["type"] == "user"]
        browser.open(f"/s/{maker.session}#{names[-3]}")
        browser.all("#token")[0].send_keys(f"{server.base}/#token={server.token}")
        browser.click("#door button")
        until(lambda: 0 <= (browser.run(top) or -1) < 300, "the message")
        maker.say(says("more " * 100))
        browser.sees("1 new", "#new")
        assert 0 <= browser.run(top) < 300
        browser.click("#new")
        until(lambda: browser.run(top) < 0, "the end")


def test_recordings_are_started_and_stopped(everything):
    """The buttons start and stop a recording; the list says so, and what was written can be read."""
    maker = begun(everything)
    with Live(everything), Served(everything) as server, browsing(server) as browser:
        browser.enter().click(".row a")
        browser.sees("not recorded", "#about")
        browser.click("#more>summary")
        browser.click("button[value=capture]")
        until(lambda: "recording" in browser.text("#about") and "not" not in browser.text("#about"), "the recording")
        maker.say(user("for the record"))
        until(lambda: "for the record" in "".join(everything.written().values()), "the transcript")
        browser.click("#more>summary")
        browser.click(".menu a[href*=transcripts]")
        browser.sees("for the record")
        browser.program.back()
        browser.click("#more>summary")
        browser.click("button[value=stop]")
        browser.sees("recorded", "#about")
        until(lambda: not browser.all(".rec.on"), "the end of the recording")


def test_an_exchange_is_kept(everything):
    """The button beside a question leads to the file with its answer; answers have none, and nothing is recorded."""
    maker = begun(everything)
    maker.say(user("another question"), says("another answer"))
    with Live(everything), Served(everything) as server, browsing(server) as browser:
        browser.enter().open(f"/s/{maker.session}")
        browser.sees("another answer", "#log")
        browser.run("document.querySelector('#log>.e .person').closest('.e').querySelector('.at').focus()")
        browser.click("#log .acts form button")
        browser.sees("with pleasure", "pre")
        [text] = everything.written().values()
        assert ("begin 1" in text, "another" in text) == (True, False)
        browser.program.back()
        browser.sees("another answer", "#log")
        browser.run("document.querySelector('#log>.e:last-child .at').focus()")
        assert browser.run("return document.querySelectorAll('#log>.e:last-child .acts form').length") == 0
        assert not browser.all(".rec.on")


def test_a_session_is_named_starred_labelled_and_chosen_by_that(everything):
    """In its menu; the list shows it at once, and what is chosen there stays chosen while the list changes."""
    maker, other = begun(everything), begun(everything, 2)
    with Live(everything), Served(everything) as server, browsing(server) as browser, browsing(server) as second:
        second.enter()
        browser.enter().open(f"/s/{maker.session}")
        for name, words in (("rename", "The login page"), ("label", "auth later")):
            browser.click("#more>summary")
            field = browser.all(f"input[name={name}]")[0]
            field.clear()
            field.send_keys(words + "\n")
            until(lambda: not browser.all("#more[open]"), "the answer")
        browser.sees("The login page", "#about")
        browser.click("#more>summary")
        browser.click("button[name=star]")
        until(lambda: browser.all("#about .star"), "the star")
        second.sees("The login page")
        second.sees("#auth #later")
        second.open("/")
        second.click("#filters summary")
        second.click("#filters a[href*=auth]")
        until(lambda: len(second.all(".row")) == 1, "what was chosen")
        before = second.all(".row")[0].get_attribute("data-since")
        other.say(says("more"))
        maker.say(says("more"))
        until(lambda: second.run("return document.querySelector('.row').dataset.since") != before, "the change")
        assert [row.get_attribute("id") for row in second.all(".row")] == [f"s-{maker.session}"]
        browser.click("#more>summary")
        browser.click("button[name=unlabel][value=auth]")
        until(lambda: not second.all(".row"), "nothing to choose")
        assert not browser.problems()


def test_everything_can_be_read_without_a_script(everything):
    """The token is given by a form; list, conversation, files and search are links and forms."""
    maker = begun(everything)
    maker.say(calls("c", "make it"), result("c", "made"))
    with Served(everything) as server, browsing(server, script=False) as browser:
        browser.open(f"/s/{maker.session}")
        browser.all("#token")[0].send_keys(server.token)
        browser.click("#door button")
        assert browser.all("#log .e")
        assert "with pleasure" in browser.all("#log")[0].text
        browser.click("#more>summary")
        browser.click(".menu a[href$=files]")
        assert "Files changed" in browser.all("main")[0].text
        browser.all("input[name=q]")[0].send_keys("pleasure")
        browser.all("#find")[0].submit()
        browser.click(".result li a")
        assert browser.all(".e:target")


def test_what_is_typed_in_a_list_stays_when_a_project_begins(everything):
    """The group of the new project appears at its place, and a search that is being typed goes on."""
    begun(everything)
    other = Claude(everything, OTHER, cwd="/home/me/shop", folder="-home-me-shop")
    with Served(everything) as server, browsing(server) as browser:
        browser.enter().open("/?by=project")
        browser.sees("begin 1")
        browser.press("/")
        browser.press("half")
        other.say(user("sell it"))
        browser.sees("sell it", ".group[aria-labelledby]")
        browser.press(" a word")
        assert browser.run("return document.querySelector('#find input').value") == "half a word"
        assert [group.text for group in browser.all(".group h2")] == ["shop", "app"]
        other.say(says("sold"))
        assert not browser.problems()


def test_what_is_typed_in_a_menu_stays_when_the_session_changes(everything):
    """A name or a label that is half typed, with the place in it; a field that is not touched has what is new."""
    maker = begun(everything)
    value = "return document.querySelector(`[name=${arguments[0]}]`).value"
    with Live(everything), Served(everything) as server, browsing(server) as browser:
        browser.enter().open(f"/s/{maker.session}")
        browser.sees("with pleasure")
        browser.click("#more>summary")
        browser.all("[name=label]")[0].send_keys("half a wd", *2 * ["\ue012"])
        everything.cli("rename", maker.session, "Another title")
        until(lambda: browser.run(value, "rename") == "Another title", "the title")
        browser.press("or")
        browser.all("[name=rename]")[0].send_keys(" of mine")
        everything.cli("star", maker.session)
        until(lambda: browser.all("[name=unstar]"), "the star")
        assert (browser.run(value, "label"), browser.run(value, "rename")) == ("half a orwd", "Another title of mine")
        browser.press("\n")
        browser.sees("Another title of mine", "h1")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_a_phone_shows_all_of_it(everything, dark):
    """Nothing is wider than the screen; text has the contrast of its colours, dark and light."""
    maker = begun(everything)
    maker.say(user("x" * 300), says(f"`{'y' * 400}`\n\n| a | b |\n|--:|---|\n| {'c' * 60} | {'d' * 60} |"))
    maker.say(calls("c", "z" * 500), result("c", "w" * 500))
    asks(maker, "q1")
    with Served(everything) as server, browsing(server, width=390, height=844, dark=dark) as browser:
        browser.enter()
        for path in ("/", f"/s/{maker.session}", f"/s/{maker.session}/files", "/find?q=begin"):
            browser.open(path)
            until(lambda: browser.run(FITS, 390), f"all of {path} on the screen")  # it may load itself again, once
            assert not browser.run(COVERED), path
            assert _contrast(browser, "body") >= 7
            for selector in (".where", ".state", "time", ".rec"):
                if browser.text(selector):
                    assert _contrast(browser, selector) >= 4.5, (path, selector)
        maker.say(says("word " * 2000))
        browser.open(f"/s/{maker.session}")
        browser.sees("word word", "#log")
        browser.run("scrollTo(0, 0)")
        browser.click("#more>summary")
        until(lambda: browser.all("#new:not([hidden])"), "the button that leads to the end")
        assert not browser.run(UNDER_BUTTON)
        luminance = _luminance(browser.run("return getComputedStyle(document.body).backgroundColor"))
        assert (luminance < 0.1) is dark


def test_a_wide_table_is_scrolled_and_no_word_of_it_is_cut(everything):
    """On a phone, on the page and in an export; a word that is wider than the screen is scrolled, too."""
    maker = begun(everything)
    heads = ("Endpoint", "Description", "Implemented", "Authentication", "z" * 60)
    row = "| `/api/users/login` | Signs somebody in | yes | none | x |"
    maker.say(says(f"| {' | '.join(heads)} |\n|{'---|' * 5}\n{row}"))
    exported = everything.home / "export.html"
    everything.cli("export", maker.session, "-f", "html", "-o", exported)
    with Served(everything) as server, browsing(server, width=390, height=844) as browser:
        browser.enter()
        for address in (f"{server.base}/s/{maker.session}", exported.as_uri()):
            browser.program.get(address)
            browser.sees("Endpoint")
            until(lambda: browser.run(FITS, 390), "all of it on the screen")
            assert browser.run(LINES) == [1] * 5
            assert browser.run("const one = document.querySelector('table'); return one.scrollWidth > one.clientWidth")
        browser.open(f"/s/{maker.session}").sees("Endpoint")
        assert browser.all("#log table[tabindex='0']")


def test_no_script_of_a_message_runs(everything):
    """Hostile text is text, in the page as it is opened and as it goes on; nobody is asked for anything."""
    maker = begun(everything)
    maker.say(user(NASTY), says(NASTY), calls("c", NASTY), result("c", NASTY))
    with Served(everything) as server, browsing(server) as browser:
        browser.enter().open(f"/s/{maker.session}")
        browser.sees("begin")
        maker.say(user(NASTY), says(NASTY), says("at last"))
        browser.sees("at last")
        assert browser.program.title != "ran"
        assert len(browser.all("katod-feed")) == 1
        assert not browser.all("#log script, #log style, #log img, #log iframe, #log [onerror]")
        assert not browser.elsewhere()


def _contrast(browser, selector):
    """Return the contrast of an element's text with the page, as WCAG has it."""
    colours = browser.run(
        "const one = document.querySelector(arguments[0]);"
        "return [getComputedStyle(one).color, getComputedStyle(document.body).backgroundColor]",
        selector,
    )
    low, high = sorted(map(_luminance, colours))
    return (high + 0.05) / (low + 0.05)


def _luminance(colour):
    parts = [float(part) / 255 for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
