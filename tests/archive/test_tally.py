"""What is said in a session, and whether it is less than before."""

import pytest

from katod import events as ev
from katod.archive import tally
from katod.archive.manifest import Entry
from katod.archive.tally import PrintedParts, TextTally, has_less
from katod.events import Event, SessionRef
from katod.formatspec import FORMATS
from katod.metadata import SessionMetadata
from katod.model import Options, SessionKey
from tests.looping import each

NATIVE, PLACED = SessionKey("claude", "6f1c2c1e"), SessionKey("codex", "6f1c2c1e")


def entry(*words, key=NATIVE, sources=()):
    """Return the entry of a session with messages that have these ids, or these texts."""
    collected = TextTally(key)
    ref = SessionRef(key.agent, key.id)
    events = [Event(f"id:{word}", ev.USER_MESSAGE, ref, {"text": word}, {}) for word in words]
    events.append(Event("noise", ev.USAGE, ref, {}, {}))
    assert [event for event, _ in collected.over((event, SessionMetadata(key)) for event in events)] == events
    return Entry((key, "markdown"), "made", list(sources), "a.md", said=collected.text)


@each(
    ("before", "now", "less"),
    [
        ("", "", False),
        ("ab", "ab", False),
        ("ab", "abc", False),
        ("ab", "acb", False),  # a second call ended before the first one
        ("ab", "ba", False),
        ("ab", "a", True),
        ("ab", "acd", True),
        ("ab", "", True),
    ],
)
def test_what_was_said_has_to_be_there_still(before, now, less):
    """In any order, and whatever else there is."""
    for key in (NATIVE, PLACED):
        assert has_less(entry(*now, key=key), entry(*before, key=key)) == less


def test_the_same_words_count_as_often_as_they_were_said():
    """Where a message is known by its text, not by an id."""
    assert has_less(entry("yes", key=PLACED), entry("yes", "yes", key=PLACED))


def test_a_message_is_known_by_its_id_if_it_has_one():
    """Then its text may change while it is written; without one, its place in the file may."""
    for key, kept in ((NATIVE, {"id": "1"}), (PLACED, {"payload": {"text": "words"}})):
        pair = []
        for number in (1, 2):
            event = Event(f"id{number}", ev.USER_MESSAGE, SessionRef(*key), {"text": f"{number}"}, {})
            pair.append(entry_of(event._replace(**kept)))
        assert not has_less(*pair)


ALL = PrintedParts()


def entry_of(*events, size=0, made="made", shown=ALL):
    """Return the entry of a session with these events, of which an export has this size."""
    key = SessionKey(*events[0].session[:3])
    collected = TextTally(key, shown)
    list(collected.over((event, SessionMetadata(key)) for event in events))
    return Entry((key, "markdown"), made, size=size, said=collected.text)


@each(
    ("kind", "payload", "shorter", "longer"),
    [
        (ev.USER_MESSAGE, {}, {"text": "words"}, {"text": "words and more"}),
        (ev.ASSISTANT_MESSAGE, {}, {"text": ""}, {"text": "words"}),
        (ev.TOOL_RESULT, {"toolCallId": "1"}, {"text": "Saved to: r1.txt"}, {"text": "x" * 70_000}),
        (ev.TOOL_CALL, {"toolCallId": "1"}, {"input": {"content": ""}}, {"input": {"content": "a\ud800b" * 9}}),
        (ev.TOOL_CALL, {"toolCallId": "1"}, {}, {"input": {"n": 10**30}}),
    ],
)
def test_what_says_less_under_the_same_id_is_less(kind, payload, shorter, longer):
    """An agent that deletes the file of a result, or clears a message, keeps the record. What grows loses nothing."""
    for key in (NATIVE, SessionKey("opencode", "6f1c2c1e")):
        event = Event("1", kind, SessionRef(*key), payload, {})
        less, more = (entry_of(event._replace(payload=payload | one)) for one in (shorter, longer))
        assert (has_less(less, more), has_less(more, less), has_less(more, more)) == (True, False, False)


def test_what_is_provisional_is_there_but_does_not_last():
    """It may have another id later, or none: then nothing is missing."""
    first, waits, said = (Event(name, ev.USER_MESSAGE, SessionRef(*NATIVE), {"text": name}, {}) for name in "abc")
    collected = TextTally(NATIVE)
    collected.provisional.add("b")
    list(collected.over((event, SessionMetadata(NATIVE)) for event in (waits, first)))
    before = Entry((NATIVE, "parquet"), said=collected.lasting)
    assert collected.text == entry_of(waits, first).said
    assert collected.lasting == entry_of(first).said
    assert not has_less(entry_of(first, said), before)
    assert has_less(entry_of(said), before)


def test_what_is_beside_the_words_may_become_shorter():
    """Such as the state of a call."""
    event = Event("1", ev.TOOL_RESULT, SessionRef(*NATIVE), {"toolCallId": "1", "text": "words"}, {})
    pair = [entry_of(event._replace(payload=event.payload | {"status": one})) for one in ("done", "in progress")]
    assert not has_less(*pair)


def test_a_picture_that_is_gone_is_less():
    """A message that keeps its words may have lost what was in it."""
    event = Event(
        "1", ev.USER_MESSAGE, SessionRef(*NATIVE), {"text": "words"}, {}, blobs=(("hash", "image/png", "iVBO"),)
    )
    assert has_less(entry_of(event._replace(blobs=())), entry_of(event))


def test_a_list_without_lengths_is_compared_by_the_size_of_the_export():
    """An earlier version of katod wrote it. Another one of the format, or other options, may give a smaller file."""
    event = Event("1", ev.USER_MESSAGE, SessionRef(*NATIVE), {"text": "words"}, {})
    before = entry_of(event, size=9)
    before = before._replace(said=before.said.rpartition(":")[0])
    assert has_less(entry_of(event, size=8), before)
    assert not has_less(entry_of(event, size=9), before)
    assert not has_less(entry_of(event, size=8, made="otherwise"), before)
    result = Event("2", ev.TOOL_RESULT, SessionRef(*NATIVE), {"toolCallId": "1", "text": ""}, {})
    assert not has_less(entry_of(event, result, size=8), before)  # what came since made it shorter


SHORTENED = {
    "result": Event("1", ev.TOOL_RESULT, SessionRef(*NATIVE), {"toolCallId": "1", "text": "masked"}, {}),
    "failure": Event("1", ev.TOOL_RESULT, SessionRef(*NATIVE), {"toolCallId": "1", "text": "x", "isError": True}, {}),
    "input": Event("1", ev.TOOL_CALL, SessionRef(*NATIVE), {"toolCallId": "1", "input": "masked"}, {}),
    "words": Event("1", ev.USER_MESSAGE, SessionRef(*NATIVE), {"text": "masked"}, {}),
}


@each(
    ("form", "tools", "content", "lost"),
    [
        ("markdown", "none", False, "words"),
        ("markdown", "summary", False, "words failure input"),
        ("markdown", "full", False, "words failure input result"),
        ("html", "summary", False, "words failure input"),
        ("html", "full", False, "words failure input result"),
        ("matrix", "summary", False, "words failure input"),
        ("otlp", "full", False, ""),
        ("otlp", "full", True, "words failure input result"),
        ("lifecycle", "full", True, "input"),
        ("agent-trace", "full", True, "input"),
        *[
            (form, "none", False, "words failure input result")
            for form in FORMATS
            if not FORMATS[form].heeds_tools and FORMATS[form].has_words
        ],
    ],
)
def test_what_is_not_printed_may_become_shorter(form, tools, content, lost):
    """Agents shorten results while a session goes on: the export is replaced unless it had more of them."""
    shown = PrintedParts.by(form, Options(tools=tools, span_content=content))
    for what, event in SHORTENED.items():
        field = "input" if what == "input" else "text"
        longer = event._replace(payload=event.payload | {field: "all of it, at length"})
        now, before = (entry_of(one, shown=shown) for one in (event, longer))
        assert (what, has_less(now, before)) == (what, what in lost.split())


def test_other_options_are_no_loss():
    """What they print of tools is what was asked for, in either order."""
    event = SHORTENED["result"]
    summary, full = (entry_of(event, shown=PrintedParts(tools=tools)) for tools in ("summary", "full"))
    assert not has_less(summary, full)
    assert not has_less(full, summary)


def test_another_version_of_the_adapter_is_compared_by_sizes(monkeypatch):
    """Its ids may differ: an update of katod is not taken for a loss of every session."""
    before = entry("a", sources=[["/a", 5, 1, 1, 0]])
    monkeypatch.setattr(tally.AGENTS["claude"].adapter, "version", 99)
    sizes = {5: False, 6: False, 4: True}
    assert {size: has_less(entry("b", sources=[["/a", size, 2, 1, 0]]), before) for size in sizes} == sizes
    assert has_less(entry("b", sources=[["/b", 9, 2, 1, 0]]), before)


@pytest.mark.parametrize(
    "damaged", ["", "1", "1:2:3", "x:!", "1:a", "\ud800:", "1:aaaaaa==:aaaa:", "1:aaaaaa==:aaaaaaaa"]
)
def test_what_cannot_be_compared_is_not_replaced(damaged):
    """A damaged line of the list never costs an export, and never ends a run."""
    before = entry("a", sources=[["/a", 5, 1, 1, 0]])
    version = before.said.partition(":")[0]
    damaged = damaged.replace("1:a", f"{version}:a")
    assert has_less(entry("a", "b"), before._replace(said=damaged, sources=[["/a"], []]))
