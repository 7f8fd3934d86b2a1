"""What is chosen of the list, as an address says it."""

from urllib.parse import parse_qsl

from katod.serve.page.listfilter import ListChoices, ListFilter
from katod.serve.page.sessionlist import ListRow
from tests.looping import each

ROW = ListRow(
    "one", "Codex", "Add auth", "shop", since=1000.0, is_recorded=True, is_starred=True, labels=("auth",),
    project="/home/me/shop",
)  # fmt: skip


@each(
    "query",
    ["", "?agent=Codex&label=auth", "?project=a+%26+b&days=7&starred=1&recorded=1&state=working&by=project"],
)
def test_an_address_says_what_is_chosen(query: str) -> None:
    """And what it says is what was chosen; what else it says comes first."""
    chosen = ListFilter.of(dict(parse_qsl(query.removeprefix("?"))))
    assert chosen.address("/") == f"/{query}"
    assert chosen.address("/find", q="a b", order="") == f"/find?q=a+b{query.replace('?', '&')}"


def test_an_agent_is_known_by_its_product_and_by_its_name() -> None:
    """As a page and the shell call it."""
    assert ListFilter.of({"agent": "claude"}) == ListFilter.of({"agent": "Claude Code"})


def test_what_is_not_known_chooses_nothing() -> None:
    """A page that is asked for by a wrong address is the whole list."""
    assert ListFilter.of({"days": "5", "starred": "yes", "by": "x", "state": "x", "other": "1"}).is_empty
    assert ListFilter.of({"by": "project"}).is_empty


@each(
    ("chosen", "has"),
    [
        ({}, True), ({"agent": "Codex"}, True), ({"agent": "Pi"}, False), ({"project": "shop"}, True),
        ({"project": "app"}, False), ({"project": "/home/me/shop"}, True), ({"project": "/srv/shop"}, False), ({"label": "auth"}, True), ({"label": "x"}, False), ({"starred": "1"}, True),
        ({"recorded": "1"}, True), ({"days": "1"}, True), ({"agent": "Codex", "label": "x"}, False),
    ],
)  # fmt: skip
def test_a_session_is_shown_that_has_all_of_it(chosen: dict[str, str], has: bool) -> None:
    """At most as old as the days say."""
    assert ListFilter(**chosen).has(ROW, 1000.0 + 86400) is has
    assert not ListFilter(**chosen | {"days": "1"}).has(ROW, 1001.0 + 86400)
    assert not ListFilter(starred="1").has(ROW._replace(is_starred=False), 1000.0)
    assert not ListFilter(recorded="1").has(ROW._replace(is_recorded=False), 1000.0)


def test_a_session_has_one_state() -> None:
    """What it did long ago is over, and is not looked up."""
    waiting = ROW._replace(state="blocked")
    assert ListFilter(state="waiting").has(waiting, 1001.0)
    assert not ListFilter(state="working").has(waiting, 1001.0)
    assert ListFilter(state="working").has(ROW._replace(state="stalled"), 1001.0)
    assert not ListFilter(state="waiting").may_have(waiting, 1000.0 + 30 * 86400)


def test_what_can_be_chosen_is_what_there_is() -> None:
    """Each once, the most recent first."""
    rows = [ROW, ROW._replace(folder="app", project="/home/me/app", agent="Pi", labels=("b", "auth")), ROW]
    projects = [("/home/me/shop", "shop"), ("/home/me/app", "app")]
    assert ListChoices.of(rows) == (["Codex", "Pi"], projects, ["auth", "b"])
