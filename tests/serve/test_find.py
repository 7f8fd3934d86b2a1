"""The search of the page, in this process: what is found, in which order, and what leads where."""

import re

import pytest

from katod.formats.stream.bridge import session_uuid
from katod.model import SessionKey
from katod.serve.page.findview import problem_lines
from katod.serve.page.frame import find_in
from katod.serve.page.search import SessionSearch
from katod.serve.page.searchquery import SearchQuery
from tests.serve.test_app import asked, run
from tests.serve.test_page import ONE, talked
from tests.support.records import SESSION, Claude, calls, result, says, user


def test_a_search_leads_to_the_message(world):
    """A result is a link to the message, which is in the page; words in quotes stand together."""
    talked(world)
    found, page, none = asked(world, "/find?q=pleasure", ONE, "/find?q=%22pleasure+with%22")
    link = re.search(rf'href="{ONE}#([0-9a-f-]{{36}})"', found.body.decode())[1]
    assert f'id="{link}"' in page.body.decode()
    assert b"<mark>pleasure</mark>" in found.body
    assert b"Nothing found" in none.body


def test_a_search_finds_names_and_all_hits_of_a_session(world):
    """Sessions are found by their titles and projects, too; what is not shown of a session has a page of its own."""
    maker = talked(world)
    maker.say(*(says(f"gladly {number}") for number in range(9)))
    named, found = asked(world, "/find?q=app", "/find?q=gladly")
    assert f'<a href="{ONE}">begin here</a>'.encode() in named.body
    more = re.search(r'href="(/find\?[^"]*in=[^"]*)">6 more<', found.body.decode())[1].replace("&amp;", "&")
    (every,) = asked(world, more)
    assert every.body.count(b"<mark>gladly</mark>") == 9
    assert b"9 hits for gladly" in every.body


def test_one_of_two_words_is_enough_with_or_between_them(world):
    """And both are marked; without it, both have to be in one message."""
    talked(world)
    both, one = asked(world, "/find?q=pleasure+nowhere", "/find?q=pleasure+OR+nowhere")
    assert b"Nothing found for pleasure nowhere" in both.body
    assert b"1 session with pleasure OR nowhere" in one.body
    assert b"<mark>pleasure</mark>" in one.body


def test_only_chosen_sessions_are_searched(world):
    """By the same choices as the list; each is a link to the same search with it, or without it."""
    talked(world)
    other = world.session(2, "codex")
    other.append(other.meta(cwd="/home/me/shop"), other.user("with pleasure, too"))
    world.cli("star", SESSION)
    chosen = {
        "": (True, True), "&agent=Codex": (False, True), "&project=app": (True, False), "&starred=1": (True, False),
        "&recorded=1": (False, False), "&days=7&project=shop": (False, True), "&by=project": (True, True),
    }  # fmt: skip
    for more, page in zip(chosen, asked(world, *(f"/find?q=pleasure{more}" for more in chosen)), strict=True):
        text = page.body.decode().partition("<h1>")[2]
        assert (f'<h2><a href="{ONE}">' in text, "too</a>" in text) == chosen[more], more
    [page] = asked(world, "/find?q=pleasure&starred=1&recorded=1&order=best")
    text = page.body.decode()
    assert "Nothing found for pleasure in these sessions" in text
    assert '<a class="chip" href="/find?q=pleasure&amp;order=best&amp;recorded=1" aria-current="true">★ Starred' in text
    assert '<a class="chip" href="/find?q=pleasure&amp;order=best">Show all</a>' in text


def test_sub_agents_are_searched_with_their_session(world):
    """What is chosen of a session holds for those that it started."""
    talked(world)
    Claude(world, SESSION, subagent="abc").say(user("look around"), says("a rare word"))
    found, none = asked(world, "/find?q=rare&agent=Claude+Code", "/find?q=rare&agent=Codex")
    assert b"<mark>rare</mark>" in found.body
    assert b"Nothing found" in none.body


def test_what_was_said_comes_before_what_tools_did(world):
    """Unless the newest, or the best, come first: each order is a link."""
    said, tools = world.session(1, "claude"), world.session(2, "claude")
    said.say(says("a needle"))
    tools.say(calls("a", "look"), result("a", "the needle"))
    names = {}
    for order in ("", "&order=newest", "&order=best", "&order=other"):
        [page] = asked(world, f"/find?q=needle{order}")
        names[order] = re.findall(r'<h2><a href="/s/(0000000\d)', page.body.decode())
        assert page.body.count(b'aria-current="true"') == 1
        assert b'href="/find?q=needle&amp;order=newest"' in page.body
    assert names[""] == names["&order=other"] == ["00000001", "00000002"]
    assert names["&order=newest"] == ["00000002", "00000001"]


def test_one_session_can_be_searched(world):
    """Its page has a field for that, and so has what was found in it; another session is not searched."""
    talked(world)
    other = world.session(2, "claude")
    other.say(says("pleasure as well"))
    page, found, none, nowhere = asked(
        world, ONE, f"/find?in={SESSION}&q=pleasure", f"/find?in={SESSION}", "/find?in=x&q=pleasure"
    )
    assert str(find_in(SESSION)) in page.body.decode()
    assert str(find_in(SESSION, "pleasure")) in found.body.decode()
    assert found.body.count(b"<mark>pleasure</mark>") == 1
    assert b"<h1>Search in one session</h1>" in none.body
    assert nowhere.status == 404


def test_a_search_shows_so_many_sessions(world, monkeypatch):
    """The newest of all that are found."""
    monkeypatch.setattr("katod.serve.page.search.MOST_FOUND", 1)
    talked(world)
    other = world.session(2, "codex")
    other.append(other.meta(cwd="/home/me/shop"), other.user("with pleasure, too"))
    [page] = asked(world, "/find?q=pleasure")
    assert page.body.decode().count("<h2><a href=") == 1


@pytest.mark.parametrize("recorded", [False, True])
def test_what_the_page_of_a_session_shows_is_found_after_its_file_was_moved(world, recorded):
    """As an agent does that archives it: before the next sweep and after it, on the page and over REST."""
    maker = world.session(2, "codex").say(user("::start\na needle" if recorded else "a needle"))
    if recorded:
        world.once()
    archive = world.home / ".codex/archived_sessions"
    archive.mkdir()

    async def work(app):
        [name] = app.hub.index.all()
        await app.ask("/find?q=needle")
        maker.path.rename(archive / maker.path.name)
        app.hub.index.take_up({str(archive / maker.path.name)})
        seen = [await _found(app, name)]
        app.hub.index._looked = app.hub.index._swept = -99.0
        return [*seen, await _found(app, name)]

    assert run(world, work) == [(True, True, True, 1)] * 2


async def _found(app, name):
    """Return whether the page of a session, the search, and that in the session have the word, and the hits of REST."""
    pages = [(await app.ask(path)).body for path in (f"/s/{name}", "/find?q=needle", f"/find?q=needle&in={name}")]
    marked = [b"<mark>needle</mark>" in page for page in pages[1:]]
    return b"a needle" in pages[0], *marked, (await app.ask("/search?q=needle")).json["total"]


def test_a_search_says_what_it_could_not_read(world):
    """On the page, in one session, and over REST, without secrets; what was found elsewhere is shown all the same."""
    secret = "sk-ant-api03-" + "a1B2" * 24
    talked(world)
    broken = world.session(2, "codex")
    path = broken.path.with_name(f"{broken.path.name}.zst")
    path = path.parent / secret / path.name
    path.parent.mkdir()
    path.write_bytes(b"not compressed")
    name = SessionKey("codex", broken.session)
    found, within, rest = asked(
        world, "/find?q=pleasure", f"/find?q=pleasure&in={session_uuid(name)}", "/search?q=pleasure"
    )
    for page in (found, within):
        assert b'<p class="failed">' in page.body
        assert path.name.encode() in page.body
    assert b"<mark>pleasure</mark>" in found.body
    assert rest.json["total"] == 1
    [problem] = rest.json["problems"]
    assert path.name in problem
    for answer in (found, within, rest):
        assert secret.encode() not in answer.body
    path.unlink()
    assert "problems" not in asked(world, "/search?q=pleasure")[0].json


def test_so_many_problems_are_shown():
    """The first ones, and how many there are more."""
    lines = str(problem_lines([f"file {number}" for number in range(7)]))
    assert (lines.count("file"), lines.count("and 2 more")) == (5, 1)


def test_what_is_forgotten_is_not_kept_for_searches(world):
    """Not even in memory: the next search drops it from the index."""
    maker = world.claude().say(user("::start\nbegin here"), says("with pleasure"))
    world.once()
    maker.age()

    async def work(app):
        finder, sizes = SessionSearch(app.hub), []
        for _ in range(2):
            await finder.find(SearchQuery.of({"q": "pleasure"}), lambda _: True)
            await finder._indexing
            sizes.append(len(finder._trigrams._sessions))  # what is in it cannot be asked for
            world.cli("forget", SESSION, "--yes")
            app.hub.index.look_again()
        return sizes

    assert run(world, work) == [1, 0]
