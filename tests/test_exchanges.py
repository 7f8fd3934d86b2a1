"""Where exchanges begin: what is one question, what is its answer, and which of them are kept."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from katod import events as ev
from katod.events import Event, SessionRef
from katod.exchanges import Exchanges, KeptExchanges, SessionExchanges
from katod.model import LONGEST_NAME, MOST_EXCHANGES
from tests.looping import each

_KINDS = {
    "q": (ev.USER_MESSAGE, {"text": "?"}), "/": (ev.USER_MESSAGE, {"text": "/review", "subtype": "slash-command"}),
    "x": (ev.USER_MESSAGE, {"text": "context", "subtype": "context"}), "a": (ev.ASSISTANT_MESSAGE, {"text": "!"}),
    "t": (ev.TOOL_CALL, {"toolCallId": "1", "name": "Bash", "family": "execute"}), "u": (ev.USAGE, {"output": 1}),
    "c": (ev.USER_COMMAND, {"command": "stop", "options": [], "line": "::stop"}), "e": (ev.TURN_END, {"reason": "aborted"}),
}  # fmt: skip


def event(kind: str, name: str) -> Event:
    what, payload = _KINDS[kind]
    return Event(name, what, SessionRef("claude", "s"), payload, {})


def hear(known: Exchanges, talk: str, first: int = 0) -> Exchanges:
    """Take some events, whose ids are their places."""
    for place, kind in enumerate(talk, first):
        known.observe(event(kind, str(place)))
    return known


def heard(talk: str) -> Exchanges:
    return hear(Exchanges(), talk)


def kept(talk: str, count: int = 1) -> tuple[int, str, bool] | None:
    found = heard(talk).last(count)
    return (int(found.start), found.until, found.is_whole) if found else None


@each(
    ("talk", "count", "expected"),
    [
        ("", 1, None), ("a", 1, None), ("ua", 1, None), ("x", 1, None), ("xa", 1, None), ("qa", 1, (0, "", True)),
        ("qaqa", 1, (2, "", True)), ("qaqa", 2, (0, "", True)), ("qaqa", 9, (0, "", True)), ("qat", 1, (0, "", False)),
        ("qata", 1, (0, "", True)), ("q", 1, (0, "", False)), ("qaq", 1, (2, "", False)), ("qaq", 2, (0, "", False)),
        ("qqa", 1, (0, "", True)), ("qaqqta", 1, (2, "", True)), ("qauu", 1, (0, "", True)), ("qax", 1, (0, "", True)),
    ],
)  # fmt: skip
def test_an_exchange_is_a_question_with_all_up_to_its_answer(talk: str, count: int, expected: Any) -> None:
    """What is asked before the agent answers is one question; what the agent does last says whether that is whole."""
    assert kept(talk, count) == expected


@each(
    ("talk", "expected"),
    [
        ("qtqa", (0, "", True)), ("qatqa", (0, "", True)), ("qtq", (0, "", False)), ("qteqa", (3, "", True)), ("qte", (0, "", True)),
        ("qeqa", (2, "", True)), ("e", None), ("eqa", (1, "", True)),
    ],
)  # fmt: skip
def test_what_is_asked_while_the_agent_works_is_part_of_the_exchange(talk: str, expected: Any) -> None:
    """Until it says something, or its turn ends."""
    assert kept(talk) == expected


@each(
    ("talk", "expected"),
    [
        ("qa/a", (2, "", True)), ("qa/t", (2, "", False)), ("qa/", (0, "2", True)), ("/", None), ("qa/qa", (3, "", True)),
        ("qa//a", (2, "", True)), ("qt/a", (0, "", True)), ("/a", (0, "", True)), ("qa/a/", (2, "4", True)),
    ],
)  # fmt: skip
def test_a_slash_command_is_a_question_if_the_agent_answers_it(talk: str, expected: Any) -> None:
    """One that changes a setting comes after what was said before."""
    assert kept(talk) == expected


@each(
    ("talk", "expected"),
    [
        ("qac", (0, "2", True)), ("qaca", (0, "2", True)), ("qacta", (0, "2", True)), ("qacac", (0, "2", True)),
        ("qacqa", (3, "", True)), ("qtca", (0, "", True)), ("qca", (0, "", True)), ("c", None), ("cqa", (1, "", True)),
    ],
)  # fmt: skip
def test_what_is_said_to_a_command_is_part_of_no_exchange(talk: str, expected: Any) -> None:
    """The agent answers a line that is not for it; while it works on a question, it goes on with that."""
    assert kept(talk) == expected


def test_words_beside_a_command_are_not_kept_by_it() -> None:
    """They are the next question; without any before them there is nothing to keep."""
    known = heard("qa")
    known.observe(event("q", "m.0"))
    assert known.last(1, "m.1") == KeptExchanges("0", "m.0", is_whole=True)
    assert known.last(1, "n.1") == KeptExchanges("m.0", "", is_whole=False)
    alone = Exchanges()
    alone.observe(event("q", "m.0"))
    assert alone.last(1, "m.1") is None


def test_one_exchange_is_kept_by_its_question() -> None:
    """Up to the next question, or as far as it goes."""
    known = heard("qaqtaq")
    assert known.beginning_with("0") == KeptExchanges("0", "2", is_whole=True)
    assert known.beginning_with("2") == KeptExchanges("2", "5", is_whole=True)
    assert known.beginning_with("5") == KeptExchanges("5", "", is_whole=False)
    assert heard("qaqa").beginning_with("2") == KeptExchanges("2", "", is_whole=True)
    assert heard("qaqac").beginning_with("2") == KeptExchanges("2", "4", is_whole=True)
    assert (known.beginning_with("1"), known.beginning_with(""), heard("qa/").beginning_with("2")) == (None, None, None)


def test_so_many_are_known() -> None:
    """The oldest ones are forgotten, and those with ids that are too long are never known."""
    known = heard("qa" * (MOST_EXCHANGES + 1))
    assert known.last(MOST_EXCHANGES) == KeptExchanges("2", "", is_whole=True)
    assert known.beginning_with("0") is None
    known.observe(event("q", "i" * (LONGEST_NAME + 1)))
    known.observe(event("c", "i" * (LONGEST_NAME + 1)))
    assert known.last(1) == KeptExchanges("198", "", is_whole=True)


def test_what_does_not_come_again_is_gone() -> None:
    """When a source was rewritten, what is still in it is confirmed, and what follows is asked after that."""
    known = heard("qaqaqt")
    known.doubt()
    assert known.last(9) is None
    known.doubt()
    for place in ("0", "1", "2", "3"):
        known.confirm(place)
    assert known.last(9) == KeptExchanges("0", "", is_whole=True)
    hear(known, "qac", 10)
    assert known.last(2) == KeptExchanges("2", "12", is_whole=True)
    known.doubt()
    assert Exchanges(known.state()).last(1) is None
    known.confirm("10")
    assert known.last(1) == KeptExchanges("10", "", is_whole=True)
    hear(known, "c", 20)
    assert known.last(1) == KeptExchanges("10", "20", is_whole=True)


@given(st.text("q/xatuce", max_size=30), st.integers(0, 30), st.integers(1, 5))
def test_a_restart_changes_nothing(talk: str, at: int, count: int) -> None:
    """What is known goes on from its state, whatever was said before."""
    known = hear(Exchanges(heard(talk[:at]).state()), talk[at:], min(at, len(talk)))
    assert (known.state(), known.last(count)) == (heard(talk).state(), heard(talk).last(count))
    assert not heard("uaxce").state()


# -- the sources of a session -------------------------------------------------------------------------


def test_an_exchange_ends_in_the_source_in_which_it_begins() -> None:
    """Without a source, it is the one in which something was said last; sub-agents ask nothing."""
    known = SessionExchanges("")
    for place, (path, kind) in enumerate([("a", "q"), ("a", "a"), ("b", "q"), ("b", "a"), ("a", "u")]):
        known.observe(event(kind, str(place)), path)
    known.observe(event("q", "7")._replace(session=SessionRef("claude", "s", "sub")), "b")
    for again in (known, SessionExchanges("", known.state())):
        starts = [found.start for path in ("a", "b", "", "new") if (found := again.of(path).last(1))]
        assert starts == ["0", "2", "0", "0"]
    known.doubt("a")
    known.doubt("new")
    known.confirm(event("q", "0"), "b")
    known.confirm(event("q", "0"), "new")
    assert (known.of("a").last(1), SessionExchanges("").state(), SessionExchanges("").of().last(1)) == (None, {}, None)
    known.confirm(event("q", "0"), "a")
    assert known.of("a").last(1) is not None
