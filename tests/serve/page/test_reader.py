"""A session as a page has it: which of its events a page can name."""

import re

import pytest

from katod.agents import AGENTS
from katod.config import Settings
from katod.discover.found import find_sessions
from katod.discover.roots import find_roots
from katod.model import Options
from katod.record.follow import Follower
from katod.serve.feed import tail
from katod.serve.feed.position import Position
from katod.serve.feed.reader import MessageReader
from katod.serve.index.entry import SessionContent
from katod.serve.page.reader import PageReader
from tests.serve.steps import items, outcome
from tests.serve.test_app import run
from tests.serve.test_page import ONE, next_of
from tests.support.records import says, user


def page(world):
    """Return the only session of a world, at its beginning."""
    [session] = find_sessions(find_roots(Settings(), AGENTS), {}).values()
    content = SessionContent(session.key, tuple((path, identity) for path, identity, _ in session.files), session.size)
    return PageReader(lambda: content, Options())


def test_a_page_names_the_events_that_it_has(world):
    """Each id that was sent is found again in the files, wherever the page is by then; no other one is."""
    world.claude().say(user("one"), says("two"), says("three"))
    one = page(world)
    sent = list(one.whole())
    assert len(sent) == 3
    assert [outcome(one.located([piece.id])).ids for piece in sent] == [(piece.id,) for piece in sent]
    assert (outcome(one.located(["nothing"])), outcome(one.located([""]))) == (None, None)


def test_the_ids_of_a_page_are_those_of_the_files_that_are_left(world):
    """One that was deleted takes nothing else with it."""
    world.claude().say(user("one"), says("two"))
    one = page(world)
    assert {piece.id for piece in one.whole()} <= set(one.ids())
    content = one.content()
    [(path, identity)] = content.files
    for files in ([("/gone", identity), (path, identity)], [(path, identity), ("/gone", identity)]):
        less = PageReader(lambda files=files: content._replace(files=tuple(files)), Options())
        assert list(less.ids()) == list(one.ids())
    assert list(PageReader(lambda: content._replace(files=(("/gone", identity),)), Options()).ids()) == []


def test_a_message_of_another_day_has_its_date(world):
    """Those of the day on which the conversation began have their time alone."""
    maker = world.claude()
    days = ("2026-02-10T10:00", "2026-02-10T11:00", "2026-02-11T10:00", "2026-02-11T11:00")
    maker.write(*(maker.user(f"at {day}", timestamp=f"{day}:00.000Z") for day in days))
    headings = [re.sub("<[^>]*>", " ", piece.text.partition("at 2026")[0]) for piece in page(world).whole()]
    assert [("2026-02-11" in heading, "2026" in heading) for heading in headings] == [
        (False, False), (False, False), (True, True), (False, False),
    ]  # fmt: skip


def test_a_link_that_leads_nowhere_is_no_link(world):
    """A file of the project is not served; places on the page and in the web are links."""
    world.claude().say(says("[file](src/a.py) and [page](https://example.org)"))
    [piece] = page(world).whole()
    assert re.search(r'<a( rel="noreferrer")?>file</a>', piece.text)
    assert 'href="https://example.org"' in piece.text
    assert "src/a.py" not in piece.text


def test_what_comes_after_an_event_is_read_again(world):
    """All of it after no event, nothing after one that is not there."""
    world.claude().say(user("one"), says("two"), says("three"))
    one = page(world)
    sent = list(one.whole())
    positions = [Position().after(piece) for piece in sent]
    assert [list(items(one.between(position, positions[-1]))) for position in positions] == [sent[1:], sent[2:], []]
    nothing = Position().after(sent[0]._replace(names=("nothing",)))
    assert (list(items(one.between(Position(), positions[-1]))), list(items(one.between(nothing, positions[-1])))) == (
        sent,
        [],
    )


def test_a_page_goes_on_from_what_is_no_longer_kept(world, monkeypatch):
    """A page that comes back after many more events is sent each of them once, read from the files."""
    monkeypatch.setattr(tail, "MOST", 2)
    world.claude().say(*(says(f"number {number}") for number in range(6)))

    async def work(app):
        async with app.events(f"{ONE}/live") as event:
            sent = [await next_of(event, "message") for _ in range(6)]
        async with app.events(f"{ONE}/live?after={sent[1][1]}") as event:
            return sent, [await next_of(event, "message") for _ in range(4)]

    sent, again = run(world, work)
    assert again == sent[2:]


def test_what_was_read_before_a_failure_is_sent(world, monkeypatch):
    """It is not read again, so it must not be lost; a failure of which nothing came before it is said."""
    world.claude().say(user("one"), says("two"))
    one, advance = page(world), Follower.advance

    def fail(self, *given):
        yield from advance(self, *given) if failing > 1 else ()
        raise OSError("gone")

    monkeypatch.setattr(Follower, "advance", fail)
    failing = 2
    batch = one.sent()
    assert (len(batch.sent), batch.more) == (2, True)
    failing = 1
    with pytest.raises(OSError, match="gone"):
        one.sent()


def test_messages_that_were_read_before_a_failure_are_sent(world, monkeypatch):
    """The same for programs: what came before it is sent, and a failure of which nothing came before is said."""
    world.claude().say(user("one"), says("two"))
    one, advance = MessageReader(page(world).content), MessageReader._advance

    def fail(self, content, found):
        if failing > 1:
            advance(self, content, found)
        raise OSError("gone")

    monkeypatch.setattr(MessageReader, "_advance", fail)
    failing = 2
    batch = one.read()
    assert (len(batch.shown) > 0, batch.more) == (True, True)
    failing = 1
    with pytest.raises(OSError, match="gone"):
        one.read()
