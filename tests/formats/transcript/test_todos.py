"""The agent's list of things to do."""

from katod.agents.tooltable import tool
from katod.formats.transcript.todos import changes, items_of
from tests.looping import each

LIST = tool("TodoWrite")


def said(before, now):
    return " ".join(span.text for span in changes(before, now))


@each(
    "given",
    [
        {"todos": [{"content": "Test", "status": "completed"}, {"content": "Ship", "status": "pending"}]},
        {"plan": [{"step": "Test", "status": "completed"}, {"step": "Ship", "status": "in_progress"}]},
        {"todos": [{"description": "Test", "status": "done"}, {"description": "Ship"}, {"status": "pending"}, "odd"]},
    ],
)
def test_items_of_every_agent_are_known(given):
    """An item has a text and is done or not, whatever the agent calls that; one without a text is none."""
    assert items_of(given, LIST) == [("Test", True), ("Ship", False)]


@each("given", [None, "text", {}, {"todos": "x"}, {"todos": [5]}])
def test_list_of_an_unknown_form_is_empty(given):
    """Input of an unknown form has no items and raises nothing."""
    assert items_of(given, LIST) == []


def test_first_list_is_shown_whole():
    """The first list prints all its items, those that are done with a sign."""
    assert said(None, [("Test", True), ("Ship", False)]) == "2 items: ☑ Test · Ship"
    assert said(None, [("Ship", False)]) == "1 item: Ship"
    assert said(None, []) == ""


def test_later_list_shows_what_changed():
    """Of a later list, only what was done and what is new is shown; nothing if neither."""
    before = [("Test", False), ("Ship", False)]
    assert said(before, [("Test", True), ("Ship", False), ("Rest", False)]) == "☑ Test ☐ Rest"
    assert said(before, before) == ""
    assert said(before, [("Ship", False)]) == ""
    assert said([("Test", True)], [("Test", True), ("Done at once", True)]) == "☑ Done at once"


def test_long_item_is_cut():
    """An item is one short line."""
    shown = said(None, [("word " * 50 + "\nmore", False)])
    assert shown.endswith("…")
    assert "\n" not in shown
    assert len(shown) < 100
