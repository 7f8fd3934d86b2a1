"""The files of a session while it goes on."""

import time

import pytest

from katod.agents import AGENTS
from katod.config import Settings
from katod.discover import live
from katod.discover.found import find_sessions
from katod.discover.live import SessionWatch, signature
from katod.discover.roots import find_roots
from katod.log import EventLog
from tests.support.records import OF_EACH_NATURE, Claude, user


def found(maker):
    """Return the session as a sweep finds it."""
    sessions = find_sessions(find_roots(Settings(), AGENTS), {})
    return next(one for key, one in sessions.items() if key.agent == maker.agent)


@pytest.fixture
def watch(world):
    """Return the watch of a session with one file; the watcher's threads end with the test."""
    world.claude().append(Claude().user("one"))
    key = found(Claude(world)).key
    made = SessionWatch(key, find_roots(Settings(), AGENTS), EventLog(), watch=True)
    yield made
    made.close()


@pytest.mark.parametrize("make", OF_EACH_NATURE, ids=lambda make: make.__name__)
def test_a_signature_changes_with_the_session(world, make):
    """And only then; without the file, there is none."""
    maker = make(world).say(user("one"))
    [(path, identity, _)] = found(maker).files
    before = signature(path, identity)
    assert before is not None
    assert signature(path, identity) == before
    maker.say(user("two"))
    assert signature(path, identity) != before
    assert signature(path.replace("katod", "x").replace(".json", "x.json").replace(".db", "x.db"), identity) is None


def test_a_hint_ends_the_wait_and_names_new_files(world, watch, monkeypatch):
    """Long before the next look; a file of another session is not taken up."""
    monkeypatch.setattr(live, "LOOK_EVERY", 60.0)
    [(path, _)] = watch.files()
    began = time.monotonic()
    world.claude().append(Claude(start=5).user("two"))
    watch.wait()
    other = world.session(3)
    other.append(Claude(session=other.session).user("other"))
    world.claude().path.with_name(f"{'a' * 8}-copy.jsonl").touch()
    watch.wait()
    assert time.monotonic() - began < 30
    assert [path for path, _ in watch.files()] == [path]


def test_without_hints_it_is_looked_every_second(world, monkeypatch):
    """And for other files of the session now and then."""
    monkeypatch.setattr(live, "LOOK_EVERY", 0.1)
    monkeypatch.setattr(live, "SWEEP_EVERY", 0.0)
    world.claude().append(Claude().user("one"))
    watch = SessionWatch(found(Claude(world)).key, find_roots(Settings(), AGENTS), EventLog(), watch=False)
    watch.wait()
    assert len(watch.files()) == 1
    world.claude(folder="-elsewhere").append(Claude(start=3).user("two"))
    assert len(watch.files()) == 2
    watch.close()
