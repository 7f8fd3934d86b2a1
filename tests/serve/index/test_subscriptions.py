"""Changes of the list of sessions, for those that follow it: each is told once."""

from types import SimpleNamespace

from katod.model import SessionKey
from katod.serve.index.subscriptions import Subscriptions


class Index:
    """An index whose sessions are set by the test."""

    def __init__(self):
        self.entries, self.renewed = {}, 0

    def all(self):
        return dict(self.entries)

    def about(self, _entry):
        return {"projectPath": ""}

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
    assert gone["action"] == "deleted"
    assert (subscriptions.look(is_due=True), index.renewed) == ([], 2)
