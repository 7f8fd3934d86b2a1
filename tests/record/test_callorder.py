"""Each result follows its call, whatever the order of their records; one without a call is not kept for long."""

import json

import pytest

from katod import events as ev
from katod.events import Event, SessionRef
from katod.model import LONGEST_NAME
from katod.record.echo import Passed
from katod.record.translation import CallOrder
from tests.looping import each

REF = SessionRef("claude", "s")


def event(kind: str, call: str = "", *, typed: bool = False) -> Event:
    """Return an event, of a call if there is one."""
    payload = {"toolCallId": call, "text": "words of the session"} if call else {"text": kind}
    return Event(f"{kind}:{call}", kind, REF, payload, {}, typed=typed)


def taken(order: CallOrder, *record: Event, offset: int = 0) -> list[str]:
    """Return the ids of what passes, given the events of one record."""
    here = (Passed(one._replace(source={"offset": offset}), "a.jsonl") for one in record)
    return [passed.event.id for one in here for passed in order.take(one)]


def call(name: str) -> Event:
    return event(ev.TOOL_CALL, name)


def result(name: str) -> Event:
    return event(ev.TOOL_RESULT, name)


SAID = event(ev.ASSISTANT_MESSAGE)


def ordered(*records: list[Event]) -> list[list[str]]:
    """Return the ids of what passes after each record, with a restart after each, and of what passes at the end."""
    order, out = CallOrder(), []
    for number, record in enumerate(records):
        out.append(taken(order, *record, offset=number))
        order = CallOrder(json.loads(json.dumps(order.kept())))
    return [*out, [one.event.id for one in order.settle()]]


LONGEST = "c" * LONGEST_NAME
CALL, RESULT, OTHER = call("c1").id, result("c1").id, SAID.id


@each(
    ("records", "passed"),
    [
        pytest.param([[call("c1")], [result("c1")]], [[CALL], [RESULT], []], id="as usual"),
        pytest.param([[result("c1")], [call("c1")]], [[], [CALL, RESULT], []], id="before"),
        pytest.param([[result("c1")], [SAID], [call("c1")]], [[], [OTHER], [CALL, RESULT], []], id="a text between"),
        pytest.param([[result("c1"), call("c1"), SAID]], [[CALL, RESULT, OTHER], []], id="in one record"),
        pytest.param([[call("c1")], [result("c1")], [result("c1")]], [[CALL], [RESULT], [RESULT], []], id="two results"),
        pytest.param([[result("c1")]], [[], [RESULT]], id="no call at all"),
        pytest.param([[result("c1")], [call("c1")], [result("c1")]], [[], [CALL, RESULT], [RESULT], []], id="before and after"),
        pytest.param([[result(LONGEST)]], [[], [result(LONGEST).id]], id="a long id"),
        pytest.param([[call(LONGEST)], [result(LONGEST)]], [[call(LONGEST).id], [result(LONGEST).id], []], id="a long id, as usual"),
        pytest.param([[result(f"{LONGEST}c")]], [[result(f"{LONGEST}c").id], []], id="an id that is too long"),
        pytest.param([[event(ev.TOOL_RESULT, "")._replace(payload={"toolCallId": ""})]], [["assistant.tool.result:"], []], id="no id"),
    ],
)  # fmt: skip
def test_a_result_follows_its_call(records: list[list[Event]], passed: list[list[str]]) -> None:
    """A result passes at once if its call is known, otherwise right after the call."""
    assert ordered(*records) == passed


def test_what_a_result_answers_stays_with_it() -> None:
    """What the record of a result answers stays with it; that of another record is passed on."""
    answered = event(ev.DECISION_RESPONSE)
    passed = ordered([result("c1"), answered], [answered], [call("c1"), SAID])
    assert passed == [[], [answered.id], [CALL, RESULT, answered.id, OTHER], []]


@each(
    "end",
    [event(ev.USER_MESSAGE, typed=True), event(ev.USER_COMMAND), event(ev.TURN_END)],
    ids=["prompt", "command", "turn end"],
)
def test_a_result_without_a_call_waits_until_its_turn_is_over(end: Event) -> None:
    """What the person says next shows that no call will come; so does the end of the turn."""
    assert ordered([result("c1")], [event(ev.USER_MESSAGE)], [end]) == [
        [],
        [ev.USER_MESSAGE + ":"],
        [RESULT, end.id],
        [],
    ]


def test_a_result_without_a_call_waits_for_a_few_records() -> None:
    """A session whose calls are lost still shows their results."""
    passed = ordered([result("c1")], *([SAID] for _ in range(20)))
    assert [number for number, record in enumerate(passed) if RESULT in record] == [9]
    again = ordered([result("c1")], *([SAID] for _ in range(9)), [result("c2")], *([SAID] for _ in range(20)))
    assert [number for number, record in enumerate(again) if result("c2").id in record] == [19]


def test_each_result_is_waited_for_anew() -> None:
    """However many results came before their calls earlier."""
    records = [record for n in range(20) for record in ([result(f"c{n}")], [SAID], [call(f"c{n}")])]
    assert ordered(*records)[2::3] == [[call(f"c{n}").id, result(f"c{n}").id] for n in range(20)]


def test_of_two_results_each_waits_for_its_own_call() -> None:
    """The time that one waited is not forgotten when the other one's call comes."""
    passed = ordered([result("c1"), result("c2")], *([SAID] for _ in range(8)), [call("c2")], [SAID])
    assert passed[9:] == [[call("c2").id, result("c2").id, RESULT], [OTHER], []]


def test_what_comes_before_a_result_that_waits_is_not_below_it() -> None:
    """Its ancestor is the nearest event that does not wait; if there is none, it has none."""
    order = CallOrder()
    for record, source in (
        (result("c1"), {"providerEventId": "r1", "parentId": "p"}),
        (result("c2"), {"providerEventId": "r2", "parentId": "r1", "offset": 1}),
        (result("c3"), {"providerEventId": "r3", "offset": 2}),
    ):
        assert order.take(Passed(record._replace(source=source), "a.jsonl")) == []
    for above, ancestor in (("r2", "p"), ("r3", None), ("other", None)):
        [passed] = order.take(Passed(SAID._replace(source={"parentId": above, "offset": 3}), "a.jsonl"))
        assert passed.event.source == {"parentId": above, "offset": 3} | ({"ancestorId": ancestor} if ancestor else {})
    below = SAID._replace(source={"parentId": "x", "ancestorId": "r3", "offset": 4})
    [passed] = order.take(Passed(below, "a.jsonl"))
    assert passed.event.source == {"parentId": "x", "offset": 4}


def test_what_is_remembered_is_bounded() -> None:
    """Calls without results, and implausibly long ids, do not fill the state."""
    order = CallOrder()
    for number in range(1000):
        assert len(taken(order, call(f"c{number}"), call(f"{number}" + "x" * 5000))) == 2
        assert len(taken(order, call(f"r{number}"), result(f"r{number}"))) == 2
    assert len(json.dumps(order.kept())) < 5000
    assert taken(order, result("c1")) == []


def test_a_result_that_is_written_again_while_it_waits_is_one() -> None:
    """Its record may be repeated, or its source read from its beginning once more."""
    order = CallOrder()
    assert taken(order, result("c1")) == taken(order, result("c1"), offset=1) == []
    order.restart("a.jsonl")
    assert not order.has_pending("a.jsonl")
    assert taken(order, result("c1"), call("c1")) == [CALL, RESULT]


def test_only_what_waits_of_the_source_comes_again() -> None:
    """What waits of another source goes on waiting."""
    order = CallOrder()
    for name, path in (("c1", "a.jsonl"), ("c2", "b.jsonl")):
        assert order.take(Passed(result(name), path)) == []
    order.restart("a.jsonl")
    assert [order.has_pending(path) for path in ("a.jsonl", "b.jsonl")] == [False, True]
    order.know(call("c1"))
    order.know(call("c2"))
    assert taken(order, result("c1"), call("c2")) == [RESULT, call("c2").id, result("c2").id]


def test_a_call_is_open_until_its_result() -> None:
    """Of all others, the latest are remembered."""
    order = CallOrder()
    assert taken(order, call("c1"), call("c2"), result("c1")) == [CALL, call("c2").id, RESULT]
    assert order.kept() == {"open": ["c2"], "ended": ["c1"]}


def test_a_call_that_passed_before_is_known() -> None:
    """Its result does not wait, though this stream was not there when it passed."""
    order = CallOrder()
    order.know(call("c1"))
    assert taken(order, result("c1")) == [RESULT]
