"""Whose session a file is of, as it says itself."""

import pytest

from katod.events import SESSION_START, USER_MESSAGE, Event, SessionRef
from katod.formatspec import FORMATS
from katod.metadata import SessionMetadata
from katod.model import Options, SessionKey
from katod.record.export import render_all
from katod.record.ownership import below_notes, is_of, names_its_session, parent_in

ONE, OTHER = "6f1c2c1e-8a53-4c3e-9b5e-0a1d5f8f2c11", "00000002-8a53-4c3e-9b5e-0a1d5f8f2c11"
MAIN, SUBAGENT = SessionKey("claude", ONE), SessionKey("claude", ONE, "a1b2")
SAYING = [name for name in FORMATS if name not in ("html", "vcon", "agent-trace")]


def printed(form, key, words="words", start=True):
    """Return an export of a session."""
    metadata = SessionMetadata(key, {"title": words, "cwd": "/home/me/app", "model": "m"})
    begun = Event("0", SESSION_START, SessionRef(*key, OTHER), {"cwd": "/home/me/app", "parent": OTHER}, {})
    if start:
        metadata.observe(begun)
    said = Event("1", USER_MESSAGE, SessionRef(*key), {"text": words}, {})
    events = [(begun, metadata), (said, metadata)] if start else [(said, metadata)]
    return "".join(render_all(events, form, Options())).encode()


@pytest.mark.whole
@pytest.mark.parametrize("form", SAYING)
@pytest.mark.parametrize("key", [MAIN, SUBAGENT])
def test_an_export_says_whose_it_is(form, key):
    """Of a session and of a sub-agent; of no other one, even if it goes on from that or mentions it."""
    text = printed(form, key, f"session: {OTHER}")
    assert names_its_session(form, text)
    assert is_of(form, key, text, text[-1000:])
    others = (
        MAIN,
        SUBAGENT,
        SessionKey("claude", OTHER),
        SessionKey("claude", OTHER, "a1b2"),
        MAIN._replace(id="6f1c"),
    )
    assert not any(is_of(form, other, text, text[-1000:]) for other in others if other != key)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b"---\nsession\n---\n", b'{"resourceSpans":[]}', b"\xff\n"])
def test_another_file_is_of_no_session(form, damage):
    """Whatever it has in those places."""
    assert not is_of(form, MAIN, damage, damage)


def test_a_path_may_have_only_the_first_part_of_an_id():
    """Which is the key of the session then; a shorter part is not."""
    whole, cut = SessionKey("gemini", ONE), SessionKey("gemini", ONE[:8])
    text = printed("markdown", whole)
    assert is_of("markdown", cut, text)
    assert not is_of("markdown", cut._replace(id=""), text)
    assert not is_of("markdown", cut._replace(id="6f1c"), text)


def test_an_event_that_is_longer_than_what_is_read_names_its_session():
    """Of an agent that does not record when a session begins, the first event may be a long message."""
    head = printed("jsonl", MAIN, "x" * 100_000, start=False)[:65_536]
    assert is_of("jsonl", MAIN, head)
    assert not is_of("jsonl", SUBAGENT, head)


def test_messages_without_a_beginning_do_not_say_it():
    """As of an agent that does not record when a session begins."""
    assert not names_its_session("stream", printed("stream", MAIN, start=False))


@pytest.mark.parametrize("form", ["markdown", "jsonl", "matrix"])
def test_some_formats_say_from_which_session_it_was_started(form):
    """And nothing else in them does."""
    assert parent_in(form, printed(form, MAIN)) == OTHER
    assert parent_in(form, printed(form, MAIN, f'parent: "{OTHER}"', start=False)) == ""
    assert parent_in(form, b'{"payload":{"parent":1}}\n') == parent_in(form, b"{") == parent_in("html", b"") == ""


NOTES = (
    b"My title\n\n", b"My title\n---\n", b"My title\r\n---\r\n\r\n", b"---\n---\n", b"- a list\n- {}\n" * 100,
    b'```json\n{"model": "opus"}\n```\n', b'{"a":1}\n', b"---\nsession: monday with Eve\n---\n", b"---\nagent: me\n---\n\n",
)  # fmt: skip


@pytest.mark.whole
@pytest.mark.parametrize("form", ["markdown", "jsonl"])
@pytest.mark.parametrize("notes", NOTES)
def test_notes_at_the_top_do_not_hide_whose_a_transcript_is(form, notes):
    """The first lines of katod's say it, whatever sessions are named further down."""
    text = printed(form, MAIN, f"session: {OTHER}")
    assert below_notes(notes + text) == text
    assert not is_of(form, MAIN._replace(id=OTHER), below_notes(notes + text))


def test_only_notes_of_a_few_pages_are_looked_behind():
    """What begins further down is conversation, or another file within this one."""
    text = b"a note\n" * 1000 + printed("markdown", MAIN)
    assert below_notes(text) == text
    assert below_notes(b"") == b""
