"""Agent records of whole sessions: who is whose parent, and which model made what."""

import json

import pytest

from katod import events as ev
from katod.log import EventLog
from katod.model import Options
from katod.record.export import Stretch, render_all, replay
from tests.examples import some
from tests.golden.cases import KNOWN
from tests.looping import each
from tests.oracle.corpus import corpus_folder, corpus_sources, fixture_sources

SOURCES = corpus_sources()
MADE = {ev.ASSISTANT_MESSAGE, ev.ASSISTANT_THINKING, ev.TOOL_CALL}


def exported(source):
    """Return the events of a session, and its record; None for a file without events."""
    identity = KNOWN[source.agent].named(source.path.absolute())
    stretches = [Stretch(str(source.path.absolute()), identity)]
    events = [event for event, _ in replay(identity.key, stretches, EventLog())]
    text = "".join(render_all(replay(identity.key, stretches, EventLog()), "agent-record", Options()))
    return events, json.loads(text) if text else None


def tree(path):
    """Return the parents of the records in a file of lines, by their ids, as the agent wrote them.

    Claude Code wrote some records before their parents: these are not known by then.
    """
    found = {}
    for line in path.read_bytes().splitlines() if path.suffix == ".jsonl" else ():
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if isinstance(row, dict):
            name = row.get("uuid") or row.get("id")
            found |= {name: row.get("parentUuid") or row.get("parentId")} if isinstance(name, str) else {}
    places = {name: number for number, name in enumerate(found)}
    return {name: above for name, above in found.items() if places.get(above, 0) <= places[name]}


def nearest(name, parents, known):
    """Return the nearest of a record's ancestors, itself included, that is known; empty if none is."""
    passed = set()
    while name and name not in known and name not in passed:
        passed.add(name)
        name = parents.get(name)
    return name if name in known else ""


def assert_tree(source):
    """Assert that every parent is an entry that comes before, and of the nearest ancestor that has any."""
    _, record = exported(source)
    if record is None:
        return
    parents, known, earlier = tree(source.path), {}, set()
    for entry in record["session"]["entries"]:
        origin, parent = entry["x-katod"]["source"], entry.get("parent-id", "")
        assert not parent or parent in earlier, f"{parent} is no entry before {entry['id']}"
        native = origin.get("providerEventId", "")
        above = parents.get(native) if parents else origin.get("parentId", "")
        expected = nearest(above, parents, known) if above != native else ""
        assert not expected or parent in known[expected], f"{entry['id']} is below {expected}, not {parent}"
        for name in (native, origin.get("messageId", "")):
            known.setdefault(name, set()).add(entry["id"])
        known.pop("", None)
        earlier.add(entry["id"])


def assert_models(source):
    """Assert that every answer, thought and call names the model that its event names."""
    events, record = exported(source)
    if record is None:
        return
    models = {event.id: event.model for event in events if event.kind in MADE and event.model}
    found = {entry["x-katod"]["event"]: entry.get("model-id") for entry in record["session"]["entries"]}
    assert {name: found[name] for name in models} == models


FEW = [source for source in fixture_sources() if source.agent in ("claude", "copilot", "pi", "opencode")][::4]


@pytest.mark.slow
@each("source", FEW, ids=lambda source: source.name)
def test_a_fixture_is_a_tree_of_entries(source):
    """Every parent is there before its children, also where the agent's own parent is no entry."""
    assert_tree(source)
    assert_models(source)


@pytest.mark.slow
@pytest.mark.skipif(not SOURCES, reason=f"there are no real sessions in {corpus_folder()}")
@each("source", [*fixture_sources(), *some(SOURCES, 90)], ids=lambda source: source.name)
def test_a_real_session_is_a_tree_of_entries(source):
    """All fixtures, and all real sessions."""
    assert_tree(source)
    assert_models(source)
