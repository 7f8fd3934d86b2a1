"""The native record of an event: the line that has it, in every agent's files."""

import json

import pytest

from katod.agents import AGENTS
from katod.config import Settings
from katod.discover.found import find_sessions
from katod.discover.roots import find_roots
from katod.log import EventLog
from katod.record.export import Stretch, replay
from katod.record.native import native_record
from tests.examples import mostly
from tests.support.records import MAKERS, OF_EACH_NATURE, says, user

TEXTS = ("Add a login page.", "With pleasure.", "Now a test for it.", "It passes.")


def _read(key, stretches, event):
    """Return what is yielded last for an event."""
    return list(native_record(key, stretches, lambda one: one.id == event.id))[-1:]


@pytest.mark.parametrize("maker", mostly(OF_EACH_NATURE, MAKERS), ids=lambda maker: maker.__name__)
def test_the_record_of_a_message_has_its_words(world, maker):
    """In agents that append records; a session that is one document has none of its own."""
    maker(world).say(*(user(text) if number % 2 == 0 else says(text) for number, text in enumerate(TEXTS)))
    [found] = find_sessions(find_roots(Settings(), AGENTS), {}).values()
    stretches = [Stretch(path, identity) for path, identity, _ in found.files]
    events = [event for event, _ in replay(found.key, stretches, EventLog())]
    spoken = [event for event in events if event.payload.get("text") in TEXTS]
    assert len(spoken) == len(TEXTS)
    for event in spoken:
        shown = _read(found.key, stretches, event)
        if maker.IS_DOCUMENT:
            assert shown in ([], [None])
        else:
            assert event.payload["text"] in json.dumps(shown, ensure_ascii=False)


def test_no_record_is_taken_for_that_of_something_else(world):
    """An event that is not there, and a file that is gone, have none."""
    maker = world.claude()
    maker.say(user("Add a login page."))
    [found] = find_sessions(find_roots(Settings(), AGENTS), {}).values()
    [(path, identity, _)] = found.files
    assert list(native_record(found.key, [Stretch(path, identity)], lambda _: False)) == [None] * len(maker.items)
    maker.path.unlink()
    assert list(native_record(found.key, [Stretch(path, identity)], lambda _: True)) == []
