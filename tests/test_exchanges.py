"""Where exchanges begin: what is one question, what is its answer, and which of them are kept."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from katod import events as ev
from katod.events import Event, SessionRef
from katod.exchanges import Exchanges, KeptExchanges
from katod.model import MOST_EXCHANGES
from tests.looping import each

_KINDS = {
    "q": (ev.USER_MESSAGE, {"text": "?"}), "/": (ev.USER_MESSAGE, {"text": "/review", "subtype": "slash-command"}),
    "c": (ev.USER_MESSAGE, {"text": "context", "subtype": "context"}), "a": (ev.ASSISTANT_MESSAGE, {"text": "!"}),
    "t": (ev.TOOL_CALL, {"toolCallId": "1", "name": "Bash", "family": "execute"}), "u": (ev.USAGE, {"output": 1}),
}  # fmt: skip


def event(kind: str, name: str) -> Event:
    what, payload = _KINDS[kind]
    found: dict[str, Any] = {"id": name, "kind": what, "session": SessionRef("claude", "s"), "payload": payload}
    return Event(**found, source={}, dedup_key=name)


def heard(talk: str) -> Exchanges:
    """Return what is known after some events, whose ids are their places."""
    known = Exchanges()
    for place, kind in enumerate(talk):
        known.observe(event(kind, str(place)))
    return known


def kept(talk: str, count: int = 1) -> tuple[int, bool] | None:
    found = heard(talk).last(count)
    return (int(found.start), found.is_whole) if found else None


@each(
    ("talk", "count", "expected"),
    [
        ("", 1, None), ("a", 1, None), ("ua", 1, None), ("qa", 1, (0, True)), ("qaqa", 1, (2, True)), ("qaqa", 2, (0, True)),
        ("qaqa", 9, (0, True)), ("qtqa", 1, (2, True)), ("qat", 1, (0, False)), ("qata", 1, (0, True)), ("q", 1, (0, False)),
        ("qaq", 1, (2, False)), ("qaq", 2, (0, False)), ("qqa", 1, (0, True)), ("qaqqta", 1, (2, True)), ("qauu", 1, (0, True)),
        ("qac", 1, (0, True)), ("ca", 1, None),
    ],
)  # fmt: skip
def test_an_exchange_is_a_question_with_all_up_to_its_answer(talk: str, count: int, expected: Any) -> None:
    """What is asked before the agent answers is one question; what the agent does last says whether that is whole."""
    assert kept(talk, count) == expected


@each(
    ("talk", "expected"),
    [
        ("qa/a", (2, True)),
        ("qa/", (0, True)),
        ("/", None),
        ("qa/qa", (3, True)),
        ("qaq/a", (2, True)),
        ("/a", (0, True)),
    ],
)
def test_a_slash_command_is_a_question_if_the_agent_answers_it(talk: str, expected: Any) -> None:
    """One that changes a setting is a part of what was said before."""
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
    assert heard("qaqat").beginning_with("2") == KeptExchanges("2", "", is_whole=False)
    assert (known.beginning_with("1"), known.beginning_with(""), heard("qa/").beginning_with("2")) == (None, None, None)


def test_so_many_are_known() -> None:
    """The oldest ones are forgotten."""
    known = heard("qa" * (MOST_EXCHANGES + 1))
    assert known.last(MOST_EXCHANGES) == KeptExchanges("2", "", is_whole=True)
    assert known.beginning_with("0") is None


@given(st.text("q/catu", max_size=30), st.integers(0, 30), st.integers(1, 5))
def test_a_restart_changes_nothing(talk: str, at: int, count: int) -> None:
    """What is known goes on from its state, whatever was said before."""
    known = Exchanges(heard(talk[:at]).state())
    for place, kind in enumerate(talk[at:], min(at, len(talk))):
        known.observe(event(kind, str(place)))
    assert (known.state(), known.last(count)) == (heard(talk).state(), heard(talk).last(count))
    assert not heard("uac").state()
