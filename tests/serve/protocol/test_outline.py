"""Pages of a session that is read where they are: the same as of one that is read from its beginning each time."""

import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from katod.agents import AGENTS
from katod.config import Settings
from katod.discover.found import find_sessions
from katod.discover.roots import find_roots
from katod.serve.feed import reader
from katod.serve.index.entry import SessionContent
from katod.serve.protocol import outline
from katod.serve.protocol.outline import Outline, Outlines, Stale, Unmarked
from katod.serve.protocol.paging import asked, page
from tests import examples as profile
from tests.examples import examples, mostly
from tests.support.records import (
    MAKERS,
    Claude,
    Codex,
    OpenCode,
    Pi,
    calls,
    result,
    says,
    user,
)
from tests.support.world import MEMORY, World

SECRET = "sk-ant-api03-" + "a1B2" * 24
WHOLE = {make for make in MAKERS if make.IS_DOCUMENT}  # are read as a whole
FIXTURES = Path("fixtures")
AGENT = {"claude": ".claude/projects/-home-me-app", "codex": ".codex/sessions/2026/02/10"}
QUERIES = [
    {"order": order, "limit": limit, "denormalize": folded, "types": types}
    for order in ("asc", "desc")
    for limit in ("3", "100")
    for folded in ("true", "false")
    for types in ("", "tool_use,user")
]


EACH, TURNS = profile.number(9, 2), profile.number(3, 9)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Many marks, and little that is read at once."""
    monkeypatch.setattr(outline, "_EVERY", 3)
    monkeypatch.setattr(reader, "_READ_BYTES", 900)


def body(outlined, **query):
    return next(found for found in page(outlined, asked(query)) if found is not None)


def pages(outlined, **query):
    """Return all pages that lead to each other."""
    way = "after" if query["order"] == "asc" else "before"
    found = [body(outlined, **query)]
    while found[-1]["pagination"]["hasMore"] and len(found) < 40:  # an id that comes twice leads back
        found.append(body(outlined, **query, **{way: found[-1]["pagination"]["nextCursor"]}))
    return found


def content_of(session):
    return SessionContent(session.key, tuple((path, identity) for path, identity, _ in session.files), session.size)


def sessions():
    return list(find_sessions(find_roots(Settings(), AGENTS), {}).values())


def assert_same(known, content, queries=QUERIES[::EACH]):
    """Ask again when a file was found to be rewritten, as the server does."""
    for query in queries:
        try:
            told = pages(known, **query)
        except Stale:
            told = pages(known, **query)
        assert told == pages(Unmarked(content), **query), query


@pytest.mark.slow
@pytest.mark.parametrize("make", mostly([Claude], MAKERS), ids=lambda make: make.__name__)
def test_pages_are_the_same_wherever_reading_begins(world, make):
    """In both orders, of any length, with results in their calls and without, of some kinds; secrets are redacted."""
    maker = make(world)
    for number in range(TURNS):
        maker.say(
            user(f"{number} {SECRET}"), calls(f"c{number}", "ls"), says("meanwhile"), result(f"c{number}", SECRET)
        )
    (session,) = sessions()
    content = content_of(session)
    known = Outline(lambda: content)
    assert_same(known, content)
    assert len(known._marks) > TURNS // 3 or make in WHOLE
    assert SECRET not in str(pages(known, **QUERIES[0]))


def fixtures(agent):
    return sorted(path for path in (FIXTURES / agent).rglob("*.jsonl") if path.stat().st_size < 400_000)


@pytest.mark.slow
@pytest.mark.parametrize("path", [path for agent in AGENT for path in fixtures(agent)], ids=str)
def test_pages_of_real_sessions_are_the_same(world, path):
    """Whatever agents write."""
    target = world.home / AGENT[path.parts[1]] / path.name
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(path, target)
    for session in sessions():
        content = content_of(session)
        assert_same(Outline(lambda: content), content)  # noqa: B023 - used within the loop


def say(maker, number):
    maker.say(user(f"{number} {SECRET}"), calls(f"c{number}", "ls"), says(f"and {number}"), result(f"c{number}", "x"))


def copy(maker, number):
    """Write the last records again, as some agents do."""
    lines = Path(maker.path).read_bytes().splitlines(keepends=True)
    with Path(maker.path).open("ab") as file:
        file.writelines(lines[-number:])


def half(maker, number):
    """Leave a record unfinished; it is finished by what comes next, and is no record then."""
    with Path(maker.path).open("ab") as file:
        file.write(b'{"type": "user", "message": ' * number)


def cut(maker, number):
    lines = Path(maker.path).read_bytes().splitlines(keepends=True)
    Path(maker.path).write_bytes(b"".join(lines[: len(lines) // (number + 1)]))


def rewrite(maker, number):
    lines = Path(maker.path).read_bytes().splitlines(keepends=True)
    Path(maker.path).write_bytes(b"".join(lines[number:]))


STEPS = st.tuples(st.sampled_from([say, say, copy, half, cut, rewrite]), st.integers(1, 5))


@examples(2, 200)
@given(st.sampled_from([Claude, Codex, Pi]), st.lists(STEPS, max_size=8))
def test_pages_are_the_same_whatever_happens(make, steps):
    """A session grows between two pages, repeats itself, is cut, or rewritten."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as home, pytest.MonkeyPatch.context() as patch:
        maker = make(World(Path(home), patch, seen_empty=False))
        say(maker, 0)
        content = content_of(sessions()[0])
        known = Outline(lambda: content)
        for act, number in steps:
            act(maker, number)
            assert_same(known, content, QUERIES[:6:5])


@pytest.mark.slow
def test_records_that_were_copied_are_no_messages(world):
    """Also when a page is read from a mark after the records that were copied."""
    maker = world.session(1)
    say(maker, 1)
    say(maker, 2)
    copy(maker, 99)
    say(maker, 3)
    content = content_of(sessions()[0])
    known = Outline(lambda: content)
    assert_same(known, content)
    assert known._seen.copies


@pytest.mark.slow
def test_a_session_in_two_files_is_the_same(world):
    """What one file says comes before what the next one says, also when both grow."""
    first, second = world.codex(rollout="1" * 8), world.codex(rollout="2" * 8)
    for number in range(3):
        say(first, number)
        say(second, number + 10)
        (session,) = sessions()
        content = content_of(session)
        if not number:
            known = Outline(lambda: content)  # noqa: B023 - as it is then
        assert_same(known, content)


def test_a_file_that_grows_beside_another_one_is_read_anew(world):
    """What it says comes before what the other one says, and so may be in the middle."""
    first, second = world.codex(rollout="1" * 8), world.codex(rollout="2" * 8)
    say(first, 1)
    say(second, 2)
    content = content_of(sessions()[0])
    known = Outline(lambda: content)
    assert_same(known, content, QUERIES[:1])
    say(first, 3)
    content = content_of(sessions()[0])
    assert_same(known, content, QUERIES[:1])


def test_marks_are_as_far_from_each_other_as_was_chosen(world, monkeypatch):
    """They take memory, each that of a few messages."""
    monkeypatch.setattr(outline, "_EVERY", 10)
    maker, counts = world.session(1), []
    for number in range(12):
        say(maker, number)
        content = content_of(sessions()[0])
        if not number:
            known = Outline(lambda: content)  # noqa: B023 - as it is then
        counts.append((sum(1 for _ in known.stubs()), len(known._marks)))
    assert counts[-1][1] >= 2
    assert all(marks <= messages // 10 for messages, marks in counts)


@pytest.mark.parametrize("make", [Claude, OpenCode], ids=lambda make: make.__name__)
def test_what_has_not_changed_is_not_read_again(world, monkeypatch, make):
    """A second page of the same session begins nothing anew; a file that has grown goes on where it was."""
    maker = make(world).say(*(user(str(at)) for at in range(5)))
    content = content_of(sessions()[0])
    known, begun, begin = Outline(lambda: content), [], Outline._begin
    monkeypatch.setattr(Outline, "_begin", lambda self: begun.append(1) or begin(self))
    first = pages(known, **QUERIES[0])
    assert (pages(known, **QUERIES[0]), begun) == (first, [])
    maker.say(user("more"))
    content = content_of(sessions()[0])
    pages(known, **QUERIES[0])
    assert len(begun) == (make is OpenCode)


def test_what_is_known_is_bounded(world, monkeypatch):
    """Of more messages than there is room for, nothing is remembered; what was asked for last is."""
    monkeypatch.setattr(outline, "MOST", 30)
    for number in (1, 2, 3):
        world.session(number).say(*(user(str(at)) for at in range(20)))
    world.session(4).say(*(user(str(at)) for at in range(40)))
    known = Outlines()
    contents = {session.key.id[:8]: content_of(session) for session in sessions()}
    for name in ("00000001", "00000002", "00000003"):
        body(known.of(name, lambda: contents[name]), limit="5")  # noqa: B023 - used within the loop
    assert list(known._kept) == ["00000002", "00000003"]
    with pytest.raises(outline.TooMuch) as why:
        body(known.of("00000004", lambda: contents["00000004"]))
    known.drop("00000004", why.value)
    told = known.of("00000004", lambda: contents["00000004"])
    assert isinstance(told, Unmarked)
    assert body(told, limit="5")["pagination"]["total"] >= 40


def test_others_have_their_turn_while_messages_are_read(world, monkeypatch):
    """After so many messages, wherever reading begins; those that are wanted come in their order."""
    monkeypatch.setattr(outline, "_TURN", 4)
    monkeypatch.setattr(outline, "_EVERY", 100)
    Claude(world).say(*(user(f"number {number}") for number in range(15)))
    (session,) = sessions()
    content = content_of(session)
    known, unmarked = Outline(lambda: content), Unmarked(content)
    assert len(list(known.stubs())) == len(list(unmarked.stubs()))
    for outlined in (known, unmarked):
        found = [one and one[0] for one in outlined.fetch([2, 3, 14])]
        assert [number for number in found if number is not None] == [2, 3, 14]
        assert 2 <= found.count(None) <= 4
    assert list(unmarked.fetch([])) == list(known.fetch([])) == []


def test_messages_that_are_gone_are_not_waited_for(world):
    """A file that was cut has fewer messages than its outline says: that is out of date."""
    world.claude().say(user("one"), says("two"))
    [session] = sessions()
    with pytest.raises(Stale):
        list(Unmarked(content_of(session)).fetch([0, 99]))
