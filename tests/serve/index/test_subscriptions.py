"""Changes of the list of sessions, for those that follow it: each is told once."""

import asyncio
from types import SimpleNamespace

from katod.model import SessionKey
from katod.serve.index.subscriptions import Subscription, Subscriptions
from katod.store.rows import PersonalRow


class Index:
    """An index whose sessions are set by the test."""

    def __init__(self):
        self.entries, self.renewed, self.title = {}, 0, ""

    def all(self):
        return dict(self.entries)

    def about(self, _entry):
        return {"projectPath": ""}

    def said(self, entry):
        return PersonalRow(entry.key, self.title)

    def project_of(self, entry):
        return f"/home/{entry.key.id}"

    def renew(self):
        self.renewed += 1

    def has(self, name, stats):
        self.entries[name] = SimpleNamespace(key=SessionKey("claude", name), stats=stats)


def test_a_change_is_told_once():
    """New, changed and gone; nothing is told again, and what was there before somebody followed is not told at all."""
    index = Index()
    index.has("a", b"1")
    subscriptions = Subscriptions(index)
    subscriptions.begin()
    assert subscriptions.look(is_due=False) == []
    index.has("a", b"2")
    index.has("b", b"1")
    assert len(subscriptions.look(is_due=False)) == 2
    assert subscriptions.look(is_due=False) == []
    del index.entries["a"]
    [gone] = subscriptions.look(is_due=True)
    assert (gone["action"], gone["projectPath"]) == ("deleted", "/home/a")
    assert (subscriptions.look(is_due=True), index.renewed) == ([], 2)


def test_a_title_of_its_person_is_a_change():
    """Although the files of the session are as they were."""
    index = Index()
    index.has("a", b"1")
    subscriptions = Subscriptions(index)
    subscriptions.begin()
    index.title = "Another title"
    assert [row["action"] for row in subscriptions.look(is_due=False)] == ["updated"]
    assert subscriptions.look(is_due=False) == []


def test_nothing_is_read_of_a_session_that_is_gone():
    """It may have been forgotten: where it was is known, or it is not said."""
    index = Index()
    index.has("a", b"1")
    subscriptions = Subscriptions(index)
    subscriptions.begin()
    del index.entries["a"]
    index.about = None  # reads the file
    [gone] = subscriptions.look(is_due=False)
    assert gone["action"] == "deleted"
    assert "metadata" not in gone


def test_those_who_follow_get_the_latest_of_each_session():
    """One that is new stays new until it was taken; who left gets nothing more."""
    index = Index()
    subscriptions = Subscriptions(index)
    one, other = subscriptions.subscribe(), subscriptions.subscribe()
    subscriptions.leave(other)
    index.has("a", b"1")
    subscriptions.publish(subscriptions.look(is_due=False))
    index.has("a", b"2")
    subscriptions.publish(subscriptions.look(is_due=False))
    [row] = asyncio.run(one.take())
    assert row["action"] == "created"
    index.has("a", b"3")
    subscriptions.publish(subscriptions.look(is_due=False))
    assert [row["action"] for row in asyncio.run(one.take())] == ["updated"]
    assert other._pending == {}
    subscriptions.leave(one)
    assert not subscriptions.has_subscribers


def test_a_session_that_is_gone_was_not_created():
    """Although it was new a moment ago."""
    one = Subscription()
    one.add([{"sessionId": "a", "action": "created"}, {"sessionId": "a", "action": "deleted"}])
    assert asyncio.run(one.take()) == [{"sessionId": "a", "action": "deleted"}]
