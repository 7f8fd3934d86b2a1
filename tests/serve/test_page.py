"""The page, in this process: what is rendered, who gets it, and what goes on live."""

import asyncio
import json
import os
import re
from contextlib import aclosing
from html.parser import HTMLParser
from pathlib import Path

import orjson
import pytest

from katod.agents import AGENTS
from katod.events import TOOL_CALL, TOOL_RESULT, USER_MESSAGE, Event, SessionRef
from katod.formats.stream.bridge import event_uuid
from katod.metadata import SessionMetadata
from katod.model import Options, SessionKey
from katod.serve.app import FOLDER
from katod.serve.page import listwatch as watch
from katod.serve.page import pages, recording, streams
from katod.serve.page import sessionlist as board
from katod.serve.page.changedfiles import EditedFile, FileEdit, _patched, files_of, files_page
from katod.serve.page.frame import moment
from katod.serve.page.listfilter import ListFilter
from katod.serve.page.listview import list_row
from katod.serve.page.reader import PageReader
from katod.serve.page.sessionlist import ListRow, SessionList
from katod.serve.page.sessionview import Beside, session_head
from katod.service import control
from katod.service.control import Request
from tests.serve.serving import BEARER, TOKEN, asks
from tests.serve.test_app import ONE as REST
from tests.serve.test_app import asked, run
from tests.support.records import SESSION, Claude, Codex, Kimi, OpenCode, calls, result, says, user

ONE = f"/s/{SESSION}"
init = PageReader.__init__
BROWSER = {"accept": "text/html,*/*"}
PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
ORIGIN = {"origin": "http://127.0.0.1:3100"}
NASTY = (
    '<script>document.title="ran"</script><img src=x onerror="document.title=\'ran\'">'
    '<katod-feed data-live="//evil.example/"></katod-feed>"><style>*{display:none}</style>'
    "[go](javascript:document.title='ran') ![pixel](https://evil.example/p.png)"
    " <iframe srcdoc='<script>1</script>'></iframe> </section></main></html>\x1b]0;ran\x07"
)
# Elements that only katod's own frame has, and how often.
FRAME = {"script": 1, "link": 3, "form": 3, "meta": 3}


class Elements(HTMLParser):
    """Collects the elements of a page."""

    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))


def talked(world):
    """Return a session with messages, thinking, a call that failed, and edits."""
    maker = world.claude()
    maker.write(maker.user("begin here"), maker.thinks("hidden thought"), maker.says("with *pleasure*"))
    maker.write(
        maker.calls("c1", "Edit", file_path="/home/me/app/a.py", old_string="old", new_string="new\nmore"),
        maker.result("c1", "done"),
        maker.calls("c2", "Edit", file_path="/home/me/app/b.py", old_string="x", new_string="y"),
        maker.result("c2", "no such text", error=True),
    )
    return maker


def test_the_list_shows_each_session_with_what_it_is(world):
    """A session is in the list with its title, agent, project and state; what is not recorded has no mark."""
    talked(world)
    [page] = asked(world, "/")
    text = page.body.decode()
    assert page.status == 200
    assert re.findall(r"<h2 [^>]*>(.*?)</h2>", text) == ["Waiting for you", "Working", "Recent"]
    assert 'name="q" value=""' in text
    row = re.search(rf'<li id="s-{SESSION}".*?</li>', text)[0]
    assert f'<a href="{ONE}">begin here</a>' in row
    assert "Claude Code · app" in row
    assert 'class="rec' not in row
    assert '<time datetime="' in row


def test_what_is_not_known_of_a_session_is_not_shown():
    """Nothing is made up: neither a star nor a project, and no recording."""
    row = str(list_row(ListRow("one"), 0.0))
    assert re.sub(r"<[^>]*>", "", row).strip() == "Untitled"
    assert 'data-group="recent" data-since="0.000" data-state=""' in row
    page = str(session_head(ListRow("one"), Beside(), 0.0))
    assert 'name="rename" value=""' in page
    assert ("unstar" in page, "unlabel" in page, "Stop recording" in page) == (False, False, False)


def test_the_list_is_chosen_from_by_its_address(world):
    """By agent, project, label, star and whether it is recorded; each choice is a link that takes it away again."""
    talked(world)
    other = world.session(2, "codex")
    other.append(other.meta(cwd="/home/me/shop"), other.user("Add a cart"))
    world.cli("star", SESSION)
    world.cli("label", SESSION, "auth")
    chosen = {
        "/": (True, True), "/?agent=Codex": (False, True), "/?project=app": (True, False), "/?label=auth": (True, False),
        "/?starred=1": (True, False), "/?recorded=1": (False, False), "/?days=7&project=shop": (False, True),
        "/?starred=x&days=x&by=x": (True, True), "/?project=none": (False, False), "/?state=waiting": (False, False),
    }  # fmt: skip
    for path, page in zip(chosen, asked(world, *chosen), strict=True):
        text = page.body.decode()
        rows = "".join(re.findall(r'<li id="s-.*?</li>', text))
        assert ("begin here" in rows, "Add a cart" in rows) == chosen[path], path
    assert b"No session matches." in asked(world, "/?project=none")[0].body
    [page] = asked(world, "/?starred=1&label=auth")
    text = page.body.decode()
    assert '<a class="chip" href="/?label=auth" aria-current="true">★ Starred' in text
    assert 'data-live="/live?label=auth&amp;starred=1"' in text
    assert '<a class="chip" href="/">Show all</a>' in text


def test_projects_of_one_name_are_told_apart(world):
    """In groups, choices and rows, by the ends of their paths; an address with the name alone finds both."""
    talked(world)
    for number, folder in enumerate(("/home/me/work/api", "/home/me/play/api", "/home/me/work/api"), 2):
        maker = world.session(number, "codex")
        maker.append(maker.meta(cwd=folder), maker.user(f"task {number}"))
        os.utime(maker.path, (1_700_000_000 + number, 1_700_000_000 + number))
    work, play = ("?project=%2Fhome%2Fme%2Fwork%2Fapi", "?project=%2Fhome%2Fme%2Fplay%2Fapi")
    fourth = f"/s/{4:08x}{SESSION[8:]}"
    pages = asked(
        world, "/?by=project", f"/{work}", f"/{play}", "/?project=api", f"/find{play}&q=task", f"{fourth}/older"
    )
    grouped, *chosen, found, older = [page.body.decode() for page in pages]
    assert re.findall(r"<h2 [^>]*>(.*?)</h2>", grouped) == ["app", "work/api", "play/api"]
    assert re.findall(r'<span class="where">(.*?)</span>', grouped)[1:] == [
        "Codex · work/api", "Codex · work/api", "Codex · play/api"
    ]  # fmt: skip
    assert f'href="/{play}&amp;by=project">play/api</a>' in grouped
    shown = [re.findall(r'<li id="s-[^"]+".*?>(task \d)<', page) for page in chosen]
    assert shown == [["task 4", "task 2"], ["task 3"], ["task 4", "task 3", "task 2"]]
    assert 'aria-current="true">work/api<' in chosen[0]
    assert re.findall(r'<h2><a href="[^"]+">(task \d)', found) == ["task 3"]
    assert "Codex · play/api" in found
    assert pages[-1].headers["location"] == f"/s/{2:08x}{SESSION[8:]}"
    assert not older


def test_the_first_list_has_all_sessions_read(world, monkeypatch):
    """In the background; a list of one project then looks at none of those of others that are not on the page."""
    monkeypatch.setattr(board, "MOST", 1)
    talked(world)
    for number in range(3):
        maker = world.session(number + 1, "codex")
        maker.append(maker.meta(cwd="/home/me/shop"), maker.user("Add a cart"))
        os.utime(maker.path, (1_700_000_000 + number, 1_700_000_000 + number))
    looked_at = []
    describe = board.called
    monkeypatch.setattr(board, "called", lambda entry: looked_at.append(entry.name) or describe(entry))

    async def work(app):
        await app.ask("/")
        async with asyncio.timeout(20):
            while not all(entry.beginning() for entry in app.hub.index.all().values()):
                await app.hub.reading.run(lambda: None)
        await app.hub.reading.run(looked_at.clear)
        return [(await app.ask(f"/?project={name}")).body.decode() for name in ("app", "none")]

    page, none = run(world, work)
    assert re.findall(r'<li id="s-([^"]+)"', page) == [SESSION]
    assert '<li id="s-' not in none
    after = f"{3:08x}{SESSION[8:]}"  # says that the list of all goes on after its page
    assert set(looked_at) == {SESSION, after}


def test_the_list_has_names_from_the_middle_of_files(world):
    """As the shell has; they are looked for again when a file has changed."""
    maker = world.claude()
    maker.write(maker.user("commit it all"), *(maker.says("more " * 5000) for _ in range(9)))

    async def work(app):
        before = (await app.ask("/")).body.decode()
        maker.append({"type": "custom-title", "customTitle": "Login"})
        maker.say(*(says("more " * 5000) for _ in range(9)))
        app.hub._changed({str(maker.path)})
        return before, (await app.ask("/")).body.decode()

    before, after = run(world, work)
    assert "commit it all</a>" in before
    assert "Login</a>" in after
    maker.append({"type": "custom-title", "customTitle": "Sign-in"})
    [page] = asked(world, "/")
    assert "Sign-in</a>" in page.body.decode()


def test_the_list_is_grouped_by_project(world):
    """Each project is a group, the one that changed last first."""
    talked(world)
    other = world.session(2, "codex")
    other.append(other.meta(cwd="/home/me/shop"), other.user("Add a cart"))
    [page] = asked(world, "/?by=project")
    assert re.findall(r'<h2 id="h-p-[0-9a-f]+">(.*?)</h2>', page.body.decode()) == ["shop", "app"]


def test_an_open_list_is_told_of_what_was_chosen_alone(world):
    """A session that is no longer chosen is gone from it."""
    maker = talked(world)
    world.cli("star", SESSION)

    async def work(app):
        async with app.events("/live?starred=1") as starred, app.events("/live?project=shop") as others:
            first, none = await next_of(starred, "all"), await next_of(others, "all")
            maker.say(says("more"))
            app.hub._changed(set())
            more, gone = await next_of(starred, "rows"), await next_of(others, "rows")
            return first, none, more, gone

    first, none, more, gone = run(world, work)
    assert "begin here" in first[2]
    assert "begin here" not in none[2]
    assert "begin here" in more[2]["rows"][0]
    assert gone[2] == {"rows": [], "gone": [SESSION]}


def test_what_is_chosen_stays_however_many_newer_sessions_there_are(world, monkeypatch):
    """The list of all sessions ends somewhere, and what is chosen of them may be older: it is not gone."""
    monkeypatch.setattr(board, "MOST", 1)
    talked(world)
    world.cli("star", SESSION)
    newer = world.session(2)
    newer.say(user("Something else"), says("yes"))
    starred = ListFilter(starred="1")

    async def work(app):
        sessions = SessionList(app.hub.index, redact=True)
        async with app.events("/live?starred=1") as event:
            first = await next_of(event, "all")
        names = [SESSION, newer.session, "x"]
        there = [sessions.still_there(names, chosen) for chosen in (starred, ListFilter(label="x"))]
        return first, sessions.look(), there, (await app.ask("/?starred=1")).body.decode()

    first, rows, there, page = run(world, work)
    assert [row.title for row in rows] == ["Something else"]
    assert there == [{SESSION}, set()]
    assert "begin here" in first[2]
    assert "begin here" in page


def test_the_oldest_of_several_sub_agents_comes_first(world):
    """As they were started."""
    world.claude().say(user("Do it all"))
    for number in (2, 0, 1):
        maker = Claude(world, SESSION, subagent=f"a{number}").say(user(f"Do part {number}"))
        os.utime(maker.path, (1_700_000_000 + number,) * 2)

    async def work(app):
        entry = next(one for one in app.hub.index.all().values() if not one.key.subagent)
        return [row.title for _, row in SessionList(app.hub.index, redact=True).family(entry)[0]]

    assert run(world, work) == ["Do part 0", "Do part 1", "Do part 2"]


def test_a_page_of_the_list_has_two_hundred_sessions(monkeypatch):
    """As its document says; those before are on the next one."""
    entries = [((number, f"{number:08x}"), f"{number:08x}") for number in range(201, 0, -1)]
    monkeypatch.setattr(SessionList, "_newest_first", lambda _self: entries)
    monkeypatch.setattr(SessionList, "_shown", lambda _self, entry, _now, _chosen: ListRow(entry))
    rows, older = SessionList(None, redact=True).page()
    assert (len(rows), bool(older)) == (200, True)
    assert [row.name for row in SessionList(None, redact=True).page(older)[0]] == ["00000001"]


def test_a_list_that_ends_with_its_page_has_no_older_one(world, monkeypatch):
    """Also if there are more sessions, of which none is chosen."""
    talked(world)
    world.cli("star", SESSION)
    world.session(2).say(user("Something else"), says("yes"))

    async def work(app):
        sessions = SessionList(app.hub.index, redact=True)
        starred = ListFilter(starred="1")
        for most in (1, 2):
            monkeypatch.setattr(board, "MOST", most)
            yield most, bool(sessions.page()[1]), bool(sessions.page("", starred)[1])

    async def all_of(app):
        return [row async for row in work(app)]

    assert run(world, all_of) == [(1, True, False), (2, False, False)]


def test_a_name_that_comes_later_is_shown(world):
    """What an agent keeps beside the records: once the session goes on, whether it is recorded or not."""
    maker = Kimi(world).say(user("Add a form"), says("Done."))

    async def work(app):
        before = (await app.ask("/")).body.decode()
        state = {"title": "The login page", "isCustomTitle": True}
        maker.path.parents[2].joinpath("state.json").write_text(json.dumps(state))
        maker.say(user("::start\nGo on"), says("Yes."))
        app.hub.index.renew()
        after = (await app.ask("/")).body.decode()
        world.once()
        app.hub.index.look_again()
        return before, after, (await app.ask("/")).body.decode()

    before, after, recorded = run(world, work)
    assert "Add a form" in before
    assert "The login page" in after
    assert "The login page" in recorded


def test_a_session_is_not_said_to_be_recorded_while_katod_does_not_run(world):
    """Its recording goes on once katod runs again; until then, nothing is written."""
    maker = world.claude()
    maker.say(user("::start\nbegin here"))
    world.once()
    text = asked(world, "/")[0].body.decode()
    assert "katod is not running" in text
    assert ">recording<" not in text


def test_a_session_is_listed_for_its_title_its_state_or_its_recording(world):
    """One that has none of them is not: nothing is known of it but its file."""
    recorded, empty, begun, titled = world.claude(), world.session(2), world.session(3), world.session(4)
    recorded.append(recorded.user("::start notes", cwd="", timestamp=""))
    world.once()
    recorded.path.unlink()
    for maker in (empty, begun):
        maker.append({"type": "summary", "summary": "", "leafUuid": "x"})
    empty.age()
    titled.say(user("begin here")).age()

    async def work(app):
        return SessionList(app.hub.index, redact=True).look()

    rows = {row.name: (row.title, row.state, row.is_recorded) for row in run(world, work)}
    assert rows == {
        recorded.session: ("", "", True), begun.session: ("", "idle", False), titled.session: ("begin here", "", False)
    }  # fmt: skip


def test_a_session_that_waits_comes_first(world):
    """A session with an open question is in the first group, and said to wait."""
    talked(world)
    waits = world.session(2)
    waits.write(waits.user("ask me"))
    asks(waits, "q1")
    text = asked(world, "/")[0].body.decode()
    assert text.index("ask me") < text.index("begin here")
    waiting = re.search(r'<section class="group" id="g-waiting".*?</section>', text, re.DOTALL)[0]
    assert "ask me" in waiting
    assert "waits for your answer" in waiting


def test_a_conversation_is_a_page_without_a_script(world):
    """All that was said is in the page itself, tools and thinking collapsed, each message with a link to it."""
    talked(world)
    page = asked(world, ONE)[0].body.decode()
    assert "<em>pleasure</em>" in page
    assert re.search(r'<section class="e thought".*?<details>.*?hidden thought', page, re.DOTALL)
    assert re.search(r"<details>\s*<summary><b>Edit</b>", page)
    anchors = re.findall(r'<a class="at" href="#([0-9a-f-]{36})"', page)
    assert len(anchors) == 2
    assert all(f'id="{name}"' in page for name in anchors)


def test_nothing_that_was_said_runs_or_poses_as_the_page(world):
    """Hostile text adds no element that runs, loads, or belongs to katod's frame, on any page."""
    maker = world.claude()
    maker.write(
        maker.user(NASTY), maker.says(NASTY), maker.thinks(NASTY), maker.runs("c", NASTY), maker.result("c", NASTY)
    )
    edit = maker.calls("d", "Write", file_path=f"/home/me/app/{NASTY}", content=NASTY)
    maker.write(edit, maker.result("d", "ok"))
    for page in asked(world, "/", ONE, f"{ONE}/files", "/usage", "/find?q=evil", "/find?q=%3Cscript%3E"):
        elements = Elements(page.body.decode()).found
        counted = {tag: sum(found == tag for found, _ in elements) for tag in FRAME}
        assert counted["script"] == 1
        assert counted["link"] == FRAME["link"]
        assert not {"style", "iframe", "img", "object", "embed", "base"} & {tag for tag, _ in elements}
        names = [name for _, attributes in elements for name in attributes]
        assert not [name for name in names if name.startswith("on") or name == "style"]
        links = [attributes.get("href") or attributes.get("src") or "" for _, attributes in elements]
        assert not [link for link in links if link.startswith(("javascript:", "//"))]
        assert all(attributes.get("data-live", "/").startswith("/") for _, attributes in elements)
        assert "\x1b" not in page.body.decode()


def test_secrets_are_on_no_page(world):
    """What looks like a secret is redacted in the list, the conversation, the files, and what a search finds."""
    secret = "ghp_" + "a1B2c3D4e5" * 4
    maker = world.claude()
    maker.write(maker.user(f"take {secret} please"), maker.says(f"I keep {secret}"))
    maker.write(
        maker.calls("d", "Write", file_path="/home/me/app/a", content=f"x = '{secret}'"), maker.result("d", "ok")
    )
    pages = asked(world, "/", ONE, f"{ONE}/files", f"{ONE}/markdown", "/usage", "/find?q=take")
    assert all(page.status == 200 for page in pages)
    assert not [page.body for page in pages if secret.encode() in page.body]


def test_pages_need_nothing_inline_and_nothing_from_elsewhere(world):
    """The policy allows no inline script or style; the one script and the styles are katod's own, and small."""
    talked(world)
    for page in asked(world, "/", ONE, f"{ONE}/files", "/usage", "/find", "/login"):
        policy = page.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        for tag, attributes in Elements(page.body.decode()).found:
            assert "style" not in attributes
            if tag in ("script", "link"):
                assert (attributes.get("src") or attributes.get("href")).startswith("/static/")
    assert (FOLDER / "page.js").stat().st_size < 22_000
    assert not re.findall(r"https?://", (FOLDER / "page.css").read_text() + (FOLDER / "page.js").read_text())


def test_a_browser_without_the_token_is_asked_for_it(world):
    """A page becomes the form for the token, which leads back to it; never to another server."""
    talked(world)

    async def work(app):
        refused = await app.ask(ONE, headers=BROWSER)
        right = await app.ask("/login", "POST", ORIGIN, f"token={TOKEN}&to={ONE}".encode())
        away = await app.ask("/login", "POST", ORIGIN, f"token={TOKEN}&to=//evil.example/".encode())
        wrong = await app.ask("/login", "POST", ORIGIN, b"token=x")
        cookie = right.headers["set-cookie"].partition(";")[0]
        return refused, right, away, wrong, await app.ask(ONE, headers={"cookie": cookie} | BROWSER)

    refused, right, away, wrong, let_in = run(world, work)
    assert (refused.status, wrong.status, right.status, let_in.status) == (401, 401, 303, 200)
    assert f'name="to" value="{ONE}"'.encode() in refused.body
    assert b"begin here" not in refused.body
    assert (right.headers["location"], away.headers["location"]) == (ONE, "/")
    assert TOKEN.encode() not in let_in.body


def test_files_are_shown_with_what_was_added_and_removed(world):
    """An edit counts with its lines; one that failed does not."""
    talked(world)
    page = asked(world, f"{ONE}/files")[0].body.decode()
    assert "<code>a.py</code>" in page
    assert "1 file " in page
    assert "+2" in page
    assert "−1" in page  # noqa: RUF001
    assert "b.py" not in page


def test_links_to_what_is_not_printed_lead_to_what_comes_next(world):
    """A search finds results that are printed with others, and text that is not printed: each has a place."""
    maker = talked(world)
    maker.say(calls("a", "first"), calls("b", "second"), result("a", "the needle"), result("b", "the other"))
    found, page = asked(world, "/find?q=needle", ONE)
    link = re.search(rf'href="{ONE}#([0-9a-f-]{{36}})"', found.body.decode())[1]
    assert f'id="{link}"' in page.body.decode()


def test_a_message_can_be_copied_as_it_was_written(world):
    """One message is returned as its own Markdown, the conversation as a transcript."""
    talked(world)
    page = asked(world, ONE)[0].body.decode()
    name = re.findall(r'<a class="at" href="#([0-9a-f-]{36})"', page)[1]
    one, whole, none = asked(world, f"{ONE}/markdown?only={name}", f"{ONE}/markdown", f"{ONE}/markdown?only=x")
    assert one.body == b"with *pleasure*\n"
    assert b"with *pleasure*" in whole.body
    assert none.status == 404
    assert {found.headers["content-type"] for found in (one, whole)} == {"text/markdown; charset=utf-8"}


def test_pictures_are_named_where_nothing_is_beside_a_text(world):
    """In Markdown that is copied or downloaded, as in an export to standard output; a page has the pictures in it."""
    maker = world.claude()
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PICTURE}}
    maker.write(maker.user([{"type": "text", "text": "look at this"}, picture]))
    page = asked(world, ONE)[0].body.decode()
    name = re.search(r'<a class="at" href="#([0-9a-f-]{36})"', page)[1]
    [label] = re.findall(r".*image: image/png.*", world.cli("export", SESSION))
    paths = ("markdown", "download/markdown", "download/pr", f"markdown?only={name}")
    texts = [answer.body.decode() for answer in asked(world, *(f"{ONE}/{path}" for path in paths), f"{REST}/export")]
    assert [label in text for text in texts] == [True, True, True, False, True]
    assert not [text for text in texts if "](" in text]
    pages = [page, asked(world, f"{ONE}/download/html")[0].body.decode()]
    assert all(f'src="data:image/png;base64,{PICTURE}"' in text for text in pages)


def test_a_message_has_the_record_that_it_was_made_of(world):
    """As text, with its secrets redacted; nothing else has one."""
    maker = world.claude()
    maker.write(maker.user("take ghp_16C7e42F292c6912E7710c838347Ae178B4a"))
    page = asked(world, ONE)[0].body.decode()
    name = re.search(r'<a class="at" href="#([0-9a-f-]{36})"', page)[1]
    one, none, unnamed, other = asked(
        world, f"{ONE}/record?only={name}", f"{ONE}/record?only=x", f"{ONE}/record", f"/s/x/record?only={name}"
    )
    assert one.headers["content-type"] == "text/plain; charset=utf-8"
    assert json.loads(one.body)["message"]["content"] == "take [REDACTED:github-token]"
    assert [page.status for page in (none, unnamed, other)] == [404, 404, 404]


def test_what_is_not_there_is_not_served(world):
    """Neither a session by a path, nor a transcript of another one, nor a session that is not recorded."""
    talked(world)
    paths = ("/s/x", "/s/..%2f..%2fetc", f"{ONE}/transcripts/1", "/static/..%2fapp.py", f"{ONE}/nothing")
    assert {page.status for page in asked(world, *paths)} == {404}
    assert asked(world, ONE, everything=False)[0].status == 404


def test_a_session_can_be_kept_as_a_file(world):
    """In the forms that people share, under its title, with what its person says of it; it is never shown as a page."""
    talked(world)
    world.cli("rename", SESSION, "The login page")
    world.cli("label", SESSION, "auth")
    paths = [f"{ONE}/download/{form}" for form in ("markdown", "html", "pr", "x")]
    markdown, html, pr, wrong = asked(world, *paths)
    assert 'tags: [katod, claude-code, "auth"]' in markdown.body.decode()
    assert "<h1>The login page</h1>" in html.body.decode()
    assert pr.body.decode().startswith("<details>")
    assert wrong.status == 404
    for page, suffix in ((markdown, "md"), (html, "html"), (pr, "md")):
        assert page.headers["content-type"] == "application/octet-stream"
        assert page.headers["content-disposition"] == f"attachment; filename*=UTF-8''the-login-page.{suffix}"


def test_a_recording_is_asked_for_by_post_alone(world):
    """GET changes nothing, another page may not ask, and without katod running the page says how to start it."""
    talked(world)

    async def work(app):
        got = await app.ask(f"{ONE}/recording")
        other = await app.ask(f"{ONE}/recording", "POST", {"cookie": "x", "origin": "http://evil.example"}, b"do=start")
        wrong = await app.ask(f"{ONE}/recording", "POST", BEARER | ORIGIN, b"do=forget")
        return got, other, wrong, await app.ask(f"{ONE}/recording", "POST", BEARER | ORIGIN, b"do=start")

    got, other, wrong, asked_for = run(world, work)
    assert (got.status, other.status, wrong.status, asked_for.status) == (405, 403, 404, 409)
    assert b"katod is not running" in asked_for.body
    assert not list(world.state.glob("requests/*"))


@pytest.mark.parametrize("maker", [Claude, Codex, OpenCode])
def test_what_an_agent_started_is_below_its_session(world, maker):
    """Not in the list, however the agent keeps it; a search with choices finds it, and it links to what started it."""
    main = maker(world)
    main.say(user("Do it all"))
    child = main.child()
    child.say(user("Do a part"), says("a rare word"))

    async def work(app):
        listed = (await app.ask("/")).body.decode()
        [session] = re.findall(r'<li id="s-([^"]+)"', listed)
        page = (await app.ask(f"/s/{session}")).body.decode()
        below = re.search(r'<details class="family"><summary>1 sub-agent</summary><ul><li><a href="([^"]+)"', page)[1]
        part = (await app.ask(below)).body.decode()
        product = AGENTS[maker.agent].product.replace(" ", "+")
        return session, part, (await app.ask(f"/find?q=rare&agent={product}")).body.decode()

    session, part, found = run(world, work)
    assert f'A sub-agent of <a href="/s/{session}">this session</a>' in part
    assert "<mark>rare</mark>" in found


def test_a_session_opened_first_knows_what_its_agent_started(world):
    """Also where only the records of the others say so."""
    main = Codex(world)
    main.say(user("Do it all"))
    main.child().say(user("Do a part"))
    [page] = asked(world, f"/s/{main.session}")
    assert "1 sub-agent</summary>" in page.body.decode()


def test_a_session_waits_for_all_others_only_if_they_name_what_started_them(world, monkeypatch):
    """Sub-agents of others are files of theirs: such a page comes at once."""
    many, read = 64 * 200, []
    monkeypatch.setattr(SessionList, "read_all", lambda _: (read.append(number) for number in range(many)))
    monkeypatch.setattr(pages, "_FOR_FAMILY", 60.0)
    world.claude().say(user("Do it all"))
    main = Codex(world).say(user("Do it all"))

    async def work(app):
        return [(await app.ask(path), len(read)) for path in (ONE, f"/s/{main.session}")]

    (at_once, few), (later, most) = run(world, work)
    assert (at_once.status, later.status) == (200, 200)
    assert few < most == many


def test_sessions_that_started_each_other_are_in_the_list(world):
    """As damaged files have it: none is above the other, and none is lost."""
    one = Codex(world)
    other = one.child()
    one.parent = other.session
    for maker in (one, other):
        maker.say(user("Do it all"))
    [page] = asked(world, "/?agent=Codex")
    names = re.findall(r'<li id="s-([^"]+)"', page.body.decode())
    assert sorted(names) == sorted([one.session, other.session])
    assert "1 sub-agent</summary>" in asked(world, f"/s/{one.session}")[0].body.decode()


def test_very_many_sub_agents_are_counted(world, monkeypatch):
    """The first ones are listed, and how many more there are is said."""
    monkeypatch.setattr(board, "MOST", 2)
    world.claude().say(user("Do it all"))
    for number in range(5):
        Claude(world, SESSION, subagent=f"a{number}").say(user(f"Do part {number}"))
    [page] = asked(world, ONE)
    family = re.search(r'<details class="family">.*?</details>', page.body.decode())[0]
    assert "<summary>5 sub-agents</summary>" in family
    assert family.count("<li>") == 2
    assert "and 3 more" in family


def test_what_sub_agents_started_is_below_them():
    """Also where several start several, and whatever is deep is closed again."""

    def tree(*names):
        rows = [(depth, ListRow(name, title=name)) for depth, name in names]
        page = str(session_head(ListRow("main"), Beside(family=rows), 0.0))
        return re.sub(
            r"<a[^>]*>|</a>|<span[^>]*></span>| ", "", re.search(r'family">.*</summary>(.*)</details>', page)[1]
        )

    whole = tree((1, "a"), (2, "b"), (3, "c"), (2, "d"), (1, "e"))
    assert whole == "<ul><li>a<ul><li>b<ul><li>c</li></ul></li><li>d</li></ul></li><li>e</li></ul>"
    assert tree((1, "a"), (2, "b"), (3, "c")) == "<ul><li>a<ul><li>b<ul><li>c</li></ul></li></ul></li></ul>"


def test_the_sessions_beside_one_are_those_of_its_project(world):
    """The one that changed before it, and the one after it; the last one says that there is no more."""
    for number, cwd in enumerate(("/home/me/app", "/home/me/shop", "/home/me/app")):
        maker = world.session(number, "codex")
        maker.append(maker.meta(cwd=cwd), maker.user(f"Task {number}"))
        os.utime(maker.path, (1_700_000_000 + number, 1_700_000_000 + number))
    [page] = asked(world, "/")
    first, _, last = reversed(re.findall(r'<li id="s-([^"]+)"', page.body.decode()))
    older, newer, none, gone = asked(world, f"/s/{last}/older", f"/s/{first}/newer", f"/s/{first}/older", "/s/x/older")
    assert (older.status, older.headers["location"]) == (303, f"/s/{first}")
    assert (newer.status, newer.headers["location"]) == (303, f"/s/{last}")
    assert none.status == 200
    assert b"There is no older session of this project." in none.body
    assert gone.status == 404


def test_what_a_person_says_of_a_session_is_shown_and_asked_for(world):
    """As text, on the list and on its page, whose fields ask katod to keep more."""
    talked(world)
    world.cli("rename", SESSION, "The <b>login</b> page")
    world.cli("star", SESSION)
    world.cli("label", SESSION, "auth")

    async def work(app):
        rows, page = (await app.ask("/")).body.decode(), (await app.ask(ONE)).body.decode()
        found = (await app.ask("/find?q=%23auth")).body.decode()
        wrong = await app.ask(f"{ONE}/own", "POST", BEARER | ORIGIN, b"forget=1")
        other = await app.ask(f"{ONE}/own", "POST", {"cookie": "x", "origin": "http://evil.example"}, b"star=1")
        return rows, page, found, wrong, other, await app.ask(f"{ONE}/own", "POST", BEARER | ORIGIN, b"rename=")

    rows, page, found, wrong, other, asked_for = run(world, work)
    for shown in (rows, page, found):
        assert "The &lt;b&gt;login&lt;/b&gt; page" in shown
        assert 'aria-label="Starred"' in shown
        assert "#auth" in shown
    assert '<button name="unlabel" value="auth"' in page
    assert (wrong.status, other.status, asked_for.status) == (404, 403, 409)


def test_a_transcript_with_secrets_in_it_is_not_shown(world):
    """What was written without redaction is for its owner's editor; with it, the transcript is shown as it is."""
    key = "sk-ant-api03-" + "a1B2" * 24
    for redact in (False, True):
        world.configure(redact=redact)
        world.session(int(redact) + 1).say(user(f"::start\nthe key is {key}"))
        world.once()
    pages = [f"/s/{world.session(number).session}/transcripts/{number}" for number in (1, 2)]
    secret, redacted = asked(world, *pages)
    assert (secret.status, redacted.status) == (403, 200)
    assert b"the key is" not in secret.body
    assert b"the key is [REDACTED" in redacted.body
    assert redacted.headers["content-type"] == "text/plain; charset=utf-8"  # whatever is in it is no page of ours


# -- live ---------------------------------------------------------------------------------------------


async def next_of(event, kind):
    """Return the next event of a kind."""
    while (found := await asyncio.wait_for(event(), 10))[0] != kind:
        pass
    return found


def test_a_conversation_goes_on_exactly_where_a_page_is(world):
    """A page that comes back is sent all that it has not, once, in order; one that names nothing gets all."""
    maker = talked(world)

    async def work(app):
        async with app.events(f"{ONE}/live") as event:
            first = [await next_of(event, "message") for _ in range(2)]
            maker.say(says("a third one"))
            while "a third one" not in (last := await next_of(event, "message"))[2]:
                first.append(last)
        async with app.events(f"{ONE}/live?after={first[0][1]}", BEARER | {"last-event-id": first[-1][1]}) as event:
            again = await next_of(event, "message")
        async with app.events(f"{ONE}/live?after=nothing") as event:
            lost = await next_of(event, "lost")
        return first, last, again, lost

    first, last, again, _lost = run(world, work)
    assert again == last
    page = asked(world, ONE)[0].body.decode()
    shown = re.findall(r'<section class="[^"]*" id="([^"]*)"', page)
    assert shown == [name for _, name, _ in [*first, last]]
    assert "".join(html for _, _, html in [*first, last]) in page


def test_a_call_is_shown_while_it_runs(world):
    """What waits for its result is sent apart, and gone when it is part of the conversation."""
    maker = talked(world)

    async def work(app):
        async with app.events(f"{ONE}/live") as event:
            await next_of(event, "held")
            maker.write(maker.runs("c9", "sleep 100"))
            while "sleep 100" not in (held := await next_of(event, "held"))[2]:
                pass
            maker.write(maker.result("c9", "slept"))
            while "slept" not in (await next_of(event, "message"))[2]:
                pass
            while await next_of(event, "held") == held:
                pass
        return held

    assert "<footer" not in run(world, work)[2]


def test_the_stream_of_a_session_that_is_forgotten_ends(world):
    """Whatever is written to the file then is not even read."""
    maker = talked(world)
    world.once()

    async def work(app):
        sessions = SessionList(app.hub.index, redact=True)
        make_reader = lambda content: PageReader(content, Options())  # noqa: E731 - one object for the hub
        served = streams.Streams(app.hub, sessions, make_reader, lambda _key: ())
        entry, sent = await app.hub.find(SESSION), []
        async with aclosing(served.of_session(entry, "")) as pieces, asyncio.timeout(20):
            async for piece in pieces:
                sent.append(piece)
                if piece.startswith("event: about") and len([one for one in sent if "event: about" in one]) == 1:
                    world.cli("forget", SESSION, "--yes")
                    world.once()
                    app.hub.index.look_again()  # as in the next second
                    assert await app.hub.find(SESSION) is None
                    maker.write({"type": "custom-title", "customTitle": "written later", "sessionId": SESSION})
                    maker.write(maker.user("said later"))
        return "".join(sent)

    sent = run(world, work)
    assert "event: about" in sent
    assert "later" not in sent


def test_a_page_of_two_files_that_grow_in_turns_is_sent_each_message_once(world):
    """Also by another server: what a page names says of each file how far it was sent."""
    one, two = world.claude(), world.claude()
    two.path = world.home / ".claude/projects/-home-me-other" / one.path.name
    two.count = 100
    one.write(one.user("A one"))
    two.write(two.user("B one"))

    async def follow(app, last, *said):
        """Return what a page is sent after what it names, for each thing that is said meanwhile; and what it names."""
        found = []
        async with app.events(f"{ONE}/live?after={last}") as event:
            for maker, text in said:
                if maker is not None:
                    maker.write(maker.user(text))
                _, last, html = await next_of(event, "message")
                found.append(re.search(r"[AB] \w+", html)[0])
        return found, last

    async def first(app):
        last = re.search(r'data-last="([^"]*)"', (await app.ask(ONE)).body.decode())[1]
        return await follow(app, last, (one, "A two"), (two, "B two"))

    found, last = run(world, first)
    assert found == ["A two", "B two"]
    one.write(one.user("A three"))
    found, last = run(world, lambda app: follow(app, last, (None, ""), (two, "B three")))
    assert found == ["A three", "B three"]


def test_the_list_goes_on_exactly_where_a_page_is(world):
    """A page that has seen the list is sent only what changed since; one of another process gets the whole list."""
    talked(world)
    other = world.session(2).say(user("another one"))

    async def work(app):
        async with app.events("/live?after=0123.4") as event:
            _, first, whole = await next_of(event, "all")
            other.say(says("yes"))
            rows = await next_of(event, "rows")
        async with app.events("/live", BEARER | {"last-event-id": first}) as event:
            again = await next_of(event, "rows")
        async with app.events("/live", BEARER | {"last-event-id": "0123.4"}) as event:
            return whole, rows, again, (await next_of(event, "all"))[2]

    whole, rows, again, unknown = run(world, work)
    assert "begin here" in whole
    for told in (rows, again):
        assert "another one" in "".join(told[2]["rows"])
        assert "begin here" not in "".join(told[2]["rows"])
    assert "begin here" in unknown
    assert "another one" in unknown


def test_files_of_a_patch_are_counted_apart():
    """A patch of several files gives each of them its own lines."""
    patch = "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n+z\n*** Add File: b.md\n+hello\n*** End Patch"
    payload = {"toolCallId": "c", "name": "apply_patch", "family": "edit", "input": patch}
    key = SessionKey("codex", "t")
    event = Event("codex:t:1", TOOL_CALL, SessionRef("codex", "t"), payload, {})
    result = event._replace(kind=TOOL_RESULT, payload={"toolCallId": "c", "text": "ok"})
    *_, files = files_of([(event, SessionMetadata(key)), (result, SessionMetadata(key))], str)
    assert [(file.path, file.added, file.removed) for file in files] == [("a.py", 2, 1), ("b.md", 1, 0)]


def test_an_edit_without_a_time_leads_to_its_place_all_the_same():
    """Some agents record no times; a patch without files has its lines, and one without lines its file."""
    edits = [FileEdit("a.py", "e1", "", 1, 0, "+x"), FileEdit("a.py", "e2", "2026-02-10T10:00:00Z", 1, 0, "")]
    page = str(files_page(ListRow("main"), [EditedFile("a.py", edits)], "UTC"))
    assert re.findall(r'<a href="/s/main#(\w+)">([^<]+)</a>', page) == [
        ("e1", "in the conversation"),
        ("e2", "2026-02-10 10:00"),
    ]
    assert list(_patched("*** Update File: b.py")) == [("b.py", [])]
    assert list(_patched("@@\n+x")) == [("", ["@@", "+x"])]
    assert list(_patched("nothing")) == []


def test_a_session_that_never_changed_has_no_time():
    """And nothing stands in its place."""
    assert moment(0.0, 5.0) == "<time></time>"


@pytest.mark.parametrize(("said", "status"), [("", 303), ("it is recorded already", 409), (None, 409)])
def test_what_is_asked_of_katod_is_answered_as_it_answers(world, monkeypatch, said, status):
    """The session is shown again, or why it was not done; katod may also not answer in time."""
    talked(world)
    answers = [None, None, said]
    monkeypatch.setattr(pages, "_POLL", 0.0)
    monkeypatch.setattr(pages, "_PATIENCE", 30.0 if said is not None else 0.0)
    monkeypatch.setattr(recording, "request", lambda *_given: Path("answer"))
    monkeypatch.setattr(recording, "answer", lambda _path: answers.pop(0))

    async def work(app):
        for path, body in (("recording", b"do=start"), ("own", b"star=1")):
            answers[:] = [None, None, said]
            yield await app.ask(f"{ONE}/{path}", "POST", BEARER | ORIGIN, body), list(answers)

    async def all_of(app):
        return [row async for row in work(app)]

    for answer, left in run(world, all_of):
        assert answer.status == status
        assert answer.headers.get("location") == (ONE if status == 303 else None)
        assert (said or ("did not answer in time" if said is None else "")).encode() in answer.body
        assert (left == []) is (said is not None)


def test_an_exchange_is_kept_by_its_question(world, monkeypatch):
    """Katod is asked for it by the id of its event, and the answer leads to the file; other events are refused."""
    maker = talked(world)
    asked_for = []

    def request(_state, key, word, _words, question):
        asked_for.append((word, question))
        return answer_of(world, key, word, question)

    monkeypatch.setattr(recording, "request", request)
    rows = [orjson.loads(row) for row in world.cli("export", maker.source, "-f", "jsonl").splitlines()]
    question = next(row["id"] for row in rows if row["kind"] == USER_MESSAGE)

    async def work(app):
        bodies = (f"question={event_uuid(question)}", f"question={event_uuid('x')}", "question=", "other=1")
        return [await app.ask(f"{ONE}/keep", "POST", BEARER | ORIGIN, body.encode()) for body in bodies]

    kept, strange, *wrong = run(world, work)
    assert (kept.status, asked_for) == (303, [("keep", question)])
    assert kept.headers["location"] == f"{ONE}/transcripts/1"
    assert (strange.status, b"is no longer in the agent" in strange.body) == (409, True)
    assert [answer.status for answer in wrong] == [404, 404]
    [text] = world.written().values()
    assert "Recording" not in text


def test_a_message_is_kept_with_its_exchange():
    """Also the second one before an answer, or a slash command that is answered; one that is not comes after it."""
    kinds = {"q": (USER_MESSAGE, {}), "/": (USER_MESSAGE, {"subtype": "slash-command"}), "a": ("assistant.message", {})}
    metadata = SessionMetadata(SessionKey("claude", "s"))
    talk = [
        (Event(str(place), kinds[kind][0], SessionRef("claude", "s"), {"text": "x"} | kinds[kind][1], {}), metadata)
        for place, kind in enumerate("aqqa/q/a/")
    ]
    found = [list(pages._question_of(talk, event_uuid(str(place))))[-1] for place in range(len(talk))]
    assert found == ["", "1", "1", "1", "1", "5", "5", "5", "5"]
    assert list(pages._question_of(talk, event_uuid("x")))[-1] == ""


def answer_of(world, key, word, question):
    """Have a request carried out as katod does that runs, and return where its answer is."""
    place = control.enqueue(
        world.state, Request((key.agent, key.id, key.subagent), word, "", "2026-02-10T12:00:00Z", question=question)
    )
    world.once()
    return place


def test_a_native_record_is_shown_as_people_read_it():
    """Indented, without its secrets unless they are shown, and not at all if it is nested too deep."""
    secret = "sk-ant-api03-" + "Ab3dE5gH7jK9mN1p" * 5
    assert pages._indented([{"a": 1}], redacted=True) == b'{\n  "a": 1\n}\n'
    assert pages._indented([{"a": 1}, 2], redacted=True) == b'[\n  {\n    "a": 1\n  },\n  2\n]\n'
    assert secret.encode() not in pages._indented([{"a": secret}], redacted=True)
    assert secret.encode() in pages._indented([{"a": secret}], redacted=False)
    deep: list[object] = []
    for _ in range(2000):
        deep = [deep]
    assert pages._indented([deep], redacted=False) == b"This record is nested too deep to be shown.\n"


def test_every_session_is_on_one_of_the_pages_of_the_list(world, monkeypatch):
    """Links lead from the latest sessions to the oldest one, each once, also if they changed at the same time."""
    monkeypatch.setattr(board, "MOST", 3)
    for number in range(1, 9):
        maker = world.session(number).say(user(f"number {number}"))
        os.utime(maker.path, (1_770_000_000 + number // 4,) * 2)
    found, way = [], "/"
    while way:
        [page] = asked(world, way)
        text = page.body.decode()
        found.append(re.findall(r'<li id="s-(\w+)', text))
        way = next(iter(re.findall(r'href="(/[?]older=[^"]+)" rel="next"', text)), "")
        assert ("data-live" in text) is (len(found) == 1)
    assert list(map(len, found)) == [3, 3, 2]
    assert sorted(name for names in found for name in names) == [f"{number:08x}" for number in range(1, 9)]
    assert asked(world, "/?older=%3Cnothing")[0].status == 200


def test_a_page_is_read_once_for_itself_and_its_stream(world, monkeypatch):
    """The stream goes on from where the page was read, and sends what it has not."""
    maker, begun = talked(world), []
    monkeypatch.setattr(PageReader, "__init__", lambda self, *given, **more: begun.append(init(self, *given, **more)))

    async def work(app):
        page = (await app.ask(ONE)).body.decode()
        last = re.findall(r'data-last="([^"]*)"', page)[-1]
        async with app.events(f"{ONE}/live?after={last}") as event:
            await next_of(event, "about")
            maker.say(says("a third one"))
            return await next_of(event, "message")

    assert "a third one" in run(world, work)[2]
    assert len(begun) == 1


def test_a_page_that_is_open_stays_so_if_another_one_is_loaded(world):
    """Nothing that it has was removed."""
    maker = talked(world)

    async def work(app):
        async with app.events(f"{ONE}/live") as event:
            await next_of(event, "held")
            assert (await app.ask(ONE)).status == 200
            maker.say(says("a third one"))
            app.hub._changed(set())
            kinds = [(await asyncio.wait_for(event(), 10))[0]]
            while kinds[-1] not in ("message", "lost"):
                kinds.append((await asyncio.wait_for(event(), 10))[0])
            return kinds[-1]

    assert run(world, work) == "message"


def test_a_session_in_which_nothing_was_said_is_a_page(world):
    """It stays as it is, and is sent what is said later."""
    maker = world.claude()
    maker.write({"type": "summary", "summary": "Nothing", "leafUuid": "x"})

    async def work(app):
        async with app.events(f"{ONE}/live") as event:
            first = [await next_of(event, "about")]
            maker.say(says("the first words"))
            app.hub._changed(set())
            while first[-1][0] != "message":
                first.append(await asyncio.wait_for(event(), 10))
            return first

    *before, said = run(world, work)
    assert "the first words" in said[2]
    assert {kind for kind, _, _ in before} <= {"about", "held"}


def test_a_session_without_its_files_leads_to_what_was_written_of_it(world):
    """Its page says that they are gone, whatever was read of them before; pages that are open are loaded again."""
    maker = world.claude()
    maker.say(user("::start\nrecord this"), says("done that"))
    world.once()

    async def work(app):
        async with app.events(f"{ONE}/live") as event:
            await next_of(event, "held")
            maker.path.unlink()
            page = (await app.ask(ONE)).body.decode()
            await next_of(event, "lost")
        async with app.events(f"{ONE}/live") as event:
            return (
                page,
                await app.ask(re.search(r'href="([^"]*/transcripts/\d+)"', page)[1]),
                await next_of(event, "held"),
            )

    page, transcript, _ = run(world, work, everything=False)
    assert "The files of this session no longer exist. What katod wrote of it is left: " in page
    assert b"done that" in transcript.body


@pytest.mark.parametrize("is_open", [True, False], ids=["another page is open", "nobody looks"])
def test_what_was_removed_is_not_sent_again(world, is_open):
    """A page that is loaded after a session was cut has what is left; one that was open before is loaded again."""
    maker = world.claude().say(user("one"), says("two"))
    size = maker.path.stat().st_size
    maker.say(user("three"), says("four"))

    async def work(app):
        async with app.events(f"{ONE}/live") as event:
            await next_of(event, "held")
            os.truncate(maker.path, size)
            if is_open:
                app.hub._changed(set())
                await next_of(event, "lost")
        page = (await app.ask(ONE)).body.decode()
        last = re.search(r'data-last="([^"]*)"', page)[1]
        async with app.events(f"{ONE}/live?after={last}") as event:
            maker.say(says("five"))
            app.hub._changed(set())
            return page, (await next_of(event, "message"))[2]

    page, said = run(world, work)
    assert ["two" in page, "three" in page, "five" in said] == [True, False, True]


def test_rows_of_sessions_that_are_gone_are_taken_from_the_list(world):
    """Pages that are open are told which."""
    maker = talked(world)

    async def work(app):
        async with app.events("/live") as event:
            await next_of(event, "all")
            maker.path.unlink()
            app.hub.index._looked = app.hub.index._swept = -99.0
            return (await next_of(event, "rows"))[2]

    assert run(world, work) == {"rows": [], "gone": [SESSION]}


def test_streams_tell_that_they_are_alive_and_nothing_else_twice(world, monkeypatch):
    """A beat comes now and then; what a session is doing is sent once, although it is looked at again and again."""
    talked(world)
    monkeypatch.setattr(streams, "_BEAT_EVERY", 0.02)
    monkeypatch.setattr(watch, "_EVERY", 0.01)
    monkeypatch.setattr(watch, "_PAUSE", 0.0)
    looks, real = [], SessionList.look
    monkeypatch.setattr(SessionList, "look", lambda board: (looks.append(1), real(board))[1])

    async def work(app):
        async with app.events(f"{ONE}/live") as event:
            found = [await next_of(event, "about")]
            before = len(looks)
            while len(looks) < before + 3 or found[-1][0] != "beat":
                found.append(await asyncio.wait_for(event(), 10))
        async with app.events("/live") as event:
            return [kind for kind, _, _ in found], await next_of(event, "beat")

    kinds, beat = run(world, work)
    assert kinds.count("about") == 1
    assert beat == ("beat", "", {})


def test_the_list_is_looked_at_while_somebody_looks(world, monkeypatch):
    """If one page is closed, others hear of changes; after the last one, katod has nothing to do."""
    monkeypatch.setattr(watch, "_EVERY", 0.01)
    monkeypatch.setattr(watch, "_PAUSE", 0.0)
    talked(world)
    looks, real = [], SessionList.look
    monkeypatch.setattr(SessionList, "look", lambda rows: (looks.append(1), real(rows))[1])

    async def work(app):
        async with app.events("/live") as one:
            await next_of(one, "all")
            async with app.events("/live") as other:
                await next_of(other, "all")
            world.session(2).say(user("a new one"))
            app.hub.index._looked = app.hub.index._swept = -99.0
            rows = await next_of(one, "rows")
        await app.hub.reading.run(lambda: None)
        before = len(looks)
        await asyncio.sleep(0.1)  # that nothing is done cannot be awaited
        return rows, len(looks) - before

    rows, more = run(world, work)
    assert "a new one" in "".join(rows[2]["rows"])
    assert more == 0


def test_there_is_a_limit_to_pages_that_are_open(world, monkeypatch):
    """Beyond it, a browser is told to come back; one that leaves makes room."""
    talked(world)
    monkeypatch.setattr(streams, "_MOST", 1)

    async def work(app):
        async with app.events("/live") as event:
            await next_of(event, "all")
            refused = await app.ask(f"{ONE}/live")
        async with app.events(f"{ONE}/live") as event:
            await next_of(event, "message")
        return refused

    refused = run(world, work)
    assert (refused.status, refused.headers["retry-after"]) == (503, "5")


def test_of_what_there_is_at_once_the_first_source_comes_first():
    """Whatever was ready first: so a page is never sent what was open after the message that ended it."""

    async def work():
        gates = {name: asyncio.Event() for name in "abc"}

        async def source(name):
            await gates[name].wait()
            yield name
            await asyncio.Event().wait()

        async with aclosing(streams.merged(*map(source, "abc"))) as pieces:
            for name in "cba":
                gates[name].set()
            return [await anext(pieces) for _ in "abc"]

    assert asyncio.run(work()) == ["a", "b", "c"]
