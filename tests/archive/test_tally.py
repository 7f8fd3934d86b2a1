"""What is said in a session, and whether it is less than before."""

import pytest

from katod import events as ev
from katod.archive import tally
from katod.archive.manifest import Entry
from katod.archive.tally import TextTally, has_less
from katod.events import Event, SessionRef
from katod.metadata import SessionMetadata
from katod.model import SessionKey
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
            collected = TextTally(key)
            list(collected.over([(event._replace(**kept), SessionMetadata(key))]))
            pair.append(Entry((key, "markdown"), said=collected.text))
        assert not has_less(*pair)


def test_another_version_of_the_adapter_is_compared_by_sizes(monkeypatch):
    """Its ids may differ: an update of katod is not taken for a loss of every session."""
    before = entry("a", sources=[["/a", 5, 1, 1, 0]])
    monkeypatch.setattr(tally.AGENTS["claude"].adapter, "version", 99)
    sizes = {5: False, 6: False, 4: True}
    assert {size: has_less(entry("b", sources=[["/a", size, 2, 1, 0]]), before) for size in sizes} == sizes
    assert has_less(entry("b", sources=[["/b", 9, 2, 1, 0]]), before)


@pytest.mark.parametrize("damaged", ["", "1", "1:2:3", "x:!", "1:a", "\ud800:"])
def test_what_cannot_be_compared_is_not_replaced(damaged):
    """A damaged line of the list never costs an export, and never ends a run."""
    before = entry("a", sources=[["/a", 5, 1, 1, 0]])
    version = before.said.partition(":")[0]
    damaged = damaged.replace("1:a", f"{version}:a")
    assert has_less(entry("a", "b"), before._replace(said=damaged, sources=[["/a"], []]))
