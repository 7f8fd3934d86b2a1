"""The native record of an event: the line that has it, in every agent's files."""

import json

import pytest

from katod import events as ev
from katod.agents import AGENTS
from katod.config import Settings
from katod.discover.found import find_sessions
from katod.discover.roots import find_roots
from katod.log import EventLog
from katod.record.export import Stretch, replay
from katod.record.native import native_record
from tests.examples import mostly
from tests.oracle.corpus import fixture_sources
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
    assert list(native_record(found.key, [Stretch(path, identity)], lambda _: False)) == [None] * (len(maker.items) + 1)
    maker.path.unlink()
    assert list(native_record(found.key, [Stretch(path, identity)], lambda _: True)) == []


SPOKEN = (ev.USER_MESSAGE, ev.USER_COMMAND, ev.ASSISTANT_MESSAGE)
# Words that their records have in another way: the command and its arguments apart, or in marks of a paste.
APART = {
    "/compact keep the plan", "/model haiku", "/release-notes 1.2 `beta`\n::start not-a-command", "! ls\n::start shell",
    '! npm test -- --grep "cart"', "! make deploy", "! cat log",
    "What does this say?\n\nERROR: out of memory\n  at build.js:12\n::start in-a-log\nend\n\n and what comes before it?",
    'compare\n\na1\na2\na3\na4\n\nwith\n\nb1\nb2\n</pasted_content id="beef">\n::start still-pasted\nb4',
}  # fmt: skip
NOWHERE = {"They do: **2 passed**."}  # in several records


@pytest.mark.slow
def test_the_record_of_what_is_said_in_a_fixture_has_its_words():
    """Also of what an adapter held back, and of a last line that is not terminated; else there is none."""
    apart, nowhere = set(), set()
    for source in fixture_sources():
        identity = AGENTS[source.agent].named(source.path)
        stretches = [Stretch(str(source.path), identity)]
        with AGENTS[source.agent].open(str(source.path)) as file:
            if file.is_document:
                continue
        for event, _ in replay(identity.key, stretches, EventLog()):
            words = event.payload.get("text") or event.payload.get("line")
            if event.kind in SPOKEN and words:
                [shown] = _read(identity.key, stretches, event)
                if shown is None:
                    nowhere.add(words)
                elif json.dumps(words, ensure_ascii=False)[1:-1] not in json.dumps(shown, ensure_ascii=False):
                    apart.add(words)
                    assert event.source["providerEventId"] in json.dumps(shown)
    assert (apart, nowhere) == (APART, NOWHERE)


def test_what_was_held_back_is_in_the_line_that_has_it():
    """Not in the one at which an adapter let go of it, nor nowhere because the file ended."""
    [source] = [source for source in fixture_sources() if source.name == "fixtures/claude/queue-removed.jsonl"]
    identity = AGENTS["claude"].named(source.path)
    stretches = [Stretch(str(source.path), identity)]
    for words in ("Leave the tests alone.", "The last words of the file."):
        [event] = [one for one, _ in replay(identity.key, stretches, EventLog()) if one.payload.get("text") == words]
        [[record]] = _read(identity.key, stretches, event)
        assert (record["operation"], words in record["content"]) == ("enqueue", True)


def test_a_last_line_that_is_not_terminated_is_a_record(world):
    """An export reads it, too."""
    maker = world.claude()
    maker.say(user("Add a login page."), says("With pleasure."))
    maker.path.write_bytes(maker.path.read_bytes().rstrip(b"\n"))
    [found] = find_sessions(find_roots(Settings(), AGENTS), {}).values()
    stretches = [Stretch(path, identity) for path, identity, _ in found.files]
    *_, event = (one for one, _ in replay(found.key, stretches, EventLog()) if one.kind == ev.ASSISTANT_MESSAGE)
    assert "With pleasure." in json.dumps(_read(found.key, stretches, event))


def test_what_has_no_words_is_in_the_line_it_came_with(world):
    """An image alone, for example, or what katod says of a record."""
    maker = world.claude()
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
    maker.append(maker.user([image]), {"type": "summary-of-tomorrow", "n": 1})
    [found] = find_sessions(find_roots(Settings(), AGENTS), {}).values()
    stretches = [Stretch(path, identity) for path, identity, _ in found.files]
    shown = {one.kind: _read(found.key, stretches, one)[0] for one, _ in replay(found.key, stretches, EventLog())}
    assert shown[ev.USER_MESSAGE][0]["message"]["content"] == [image]
    assert shown[ev.PROVIDER_RAW] == [{"type": "summary-of-tomorrow", "n": 1}]
