"""Claude Code: the settings of a session, and the usage of the whole of it."""

from typing import Any

from katod import events as ev
from katod.agents.claude.adapter import ClaudeAdapter
from tests.looping import each
from tests.support.records import Claude
from tests.support.translated import Row, payloads, translated


def mode(name: Any) -> Row:
    return {"type": "permission-mode", "permissionMode": name, "sessionId": "s"}


def changes(*records: Row) -> list[tuple[Any, ...]]:
    """Return what changed in these records, from what to what."""
    rows = payloads(translated("claude", *records), ev.CONFIG_CHANGE)
    return [(row["what"], row.get("before"), row["after"]) for row in rows]


def test_the_session_begins_in_its_permission_mode() -> None:
    """The mode of the first record, or one that was noted before it, is part of the beginning and no change."""
    make = Claude()
    for records in ([make.user("hi", permissionMode="plan")], [mode("plan"), make.user("hi")]):
        [start] = payloads(translated("claude", *records), ev.SESSION_START)
        assert start["permissionMode"] == "plan"
        assert changes(*records) == []


def test_a_mode_that_is_first_known_later_is_a_change() -> None:
    """The first one has no `before`; the same one again is no change."""
    make = Claude()
    records = make.user("one"), make.user("two", permissionMode="plan"), mode("plan"), mode("acceptEdits")
    assert changes(*records) == [("permissionMode", None, "plan"), ("permissionMode", "plan", "acceptEdits")]


def test_the_effort_of_an_answer_is_a_setting() -> None:
    """It changes where an answer of the session itself names another one; a sub-agent's is its own."""
    make = Claude()
    side = make.says("in the side", effort="low", isSidechain=True, agentId="a1")
    records = (
        make.user("hi"),
        make.says("a", effort="high"),
        make.says("b", effort="high"),
        side,
        make.says("c", effort="max"),
    )
    assert changes(*records) == [("effort", None, "high"), ("effort", "high", "max")]
    assert changes(make.user("hi"), *(make.says("a", effort=value) for value in (["high"], None, 7, ""))) == []


def cost(**more: Any) -> Row:
    model = {
        "inputTokens": 110, "outputTokens": 20, "cacheReadInputTokens": 40, "cacheCreationInputTokens": 7,
        "thinkingTokens": 5, "costUSD": 0.5,
    }  # fmt: skip
    return {"type": "cost-state", "sessionId": "s", "totalCostUSD": 0.75, "modelUsage": {"a": model, "b": model}} | more


def test_the_usage_of_the_session_is_the_sum_over_its_models() -> None:
    """The client repeats it: only what differs from the last one is an event. A cost that is incomplete is left out."""
    once = {"scope": "session", "input": 220, "output": 40, "cacheRead": 80, "cacheWrite": 14, "reasoning": 10}
    records = Claude().user("hi"), cost(), cost(), cost(hasUnknownModelCost=True), cost(modelUsage={})
    found = payloads(translated("claude", *records), ev.USAGE)
    assert found == [once | {"costUsd": 0.75, "costs": {"a": 0.5, "b": 0.5}}, once]


def test_the_usage_of_the_session_follows_that_of_the_answer_before_it() -> None:
    """What an answer used is known with the next record: a sum that another client writes meanwhile waits for it."""
    make = Claude()
    open_answer = make.says("a", message={"stop_reason": None})
    assert payloads(translated("claude", make.user("hi"), open_answer, cost()), ev.USAGE) == []
    found = payloads(translated("claude", make.user("hi"), open_answer, cost(), make.user("next")), ev.USAGE)
    assert [row["scope"] for row in found] == ["message", "session"]


@each("own", [-1, 2**53, 10**400, 1e300, True, "5"])
def test_a_cost_that_cannot_be_one_is_left_out(own: Any) -> None:
    """That of one model leaves those of others as they are; without that of the session, there is none."""
    models = {"a": {"inputTokens": 1, "costUSD": own}, "b": {"inputTokens": 1, "costUSD": 0.5}}
    for found, expected in ((cost(modelUsage=models), {"b": 0.5}), (cost(modelUsage=models, totalCostUSD=own), None)):
        [payload] = payloads(translated("claude", Claude().user("hi"), found), ev.USAGE)
        assert payload.get("costs") == expected


@each("more", [{"modelUsage": []}, {"modelUsage": {"a": 7}}, {"modelUsage": None}])
def test_a_cost_of_another_shape_is_no_usage(more: Row) -> None:
    """Values of other types read as absent."""
    assert payloads(translated("claude", Claude().user("hi"), cost(**more)), ev.USAGE) == []


def test_sums_of_the_session_stay_within_what_json_holds() -> None:
    """A sum beyond 64 bits is left out, as is what no model has a count of."""
    row = {"inputTokens": 2**62, "outputTokens": 1, "cacheReadInputTokens": "many"}
    [found] = payloads(translated("claude", cost(modelUsage={"a": row, "b": row}, totalCostUSD="x")), ev.USAGE)
    assert found == {"scope": "session", "output": 2}


def test_beside_a_result_nothing_is_typed() -> None:
    """Whatever else is in the record, and whatever it says of itself."""
    make = Claude()
    blocks = [{"type": "tool_result", "tool_use_id": "c1", "content": "x"}, {"type": "text", "text": "::start evil"}]
    record = make.typed("") | {"message": {"role": "user", "content": blocks}}
    assert [event.typed for event in translated("claude", record) if event.kind == ev.USER_MESSAGE] in ([], [False])
    assert ClaudeAdapter.typed_texts(record) == []


def test_the_persons_name_for_a_session_stays() -> None:
    """The client goes on writing its own title beside it."""
    custom, own = {"type": "custom-title", "customTitle": "Login"}, {"type": "ai-title", "aiTitle": "A page"}
    later = own | {"aiTitle": "Another page"}
    changes = payloads(translated("claude", own, custom, own, later, custom), ev.CONFIG_CHANGE)
    assert [row["after"] for row in changes] == ["A page", "Login"]


def notes(*records: Row) -> list[str]:
    """Return what was said, and the notes that the person went back."""
    events = translated("claude", *records)
    return [event.payload["text"] for event in events if event.kind in (ev.USER_MESSAGE, ev.SYSTEM_MESSAGE)]


def test_a_prompt_before_which_the_person_went_back_is_marked() -> None:
    """It follows the same record as another one. What was said in between stays."""
    make = Claude()
    first = make.user("one", uuid="a")
    more = make.user("two", uuid="b", parentUuid="a"), make.user("three", uuid="c", parentUuid="b")
    back = make.user("other two", uuid="d", parentUuid="a"), make.user("other three", uuid="e", parentUuid="d")
    assert notes(first, *more, *back) == ["one", "two", "three", "Conversation rewound", "other two", "other three"]


@each(
    "again",
    [
        {"uuid": "b"},
        {"uuid": "d", "isSidechain": True, "agentId": "x"},
        {"uuid": "d", "isMeta": True},
        {"uuid": "d", "message": {"role": "user", "content": "<command-name>/status</command-name>"}},
    ],
)
def test_what_else_follows_the_same_record_goes_nowhere(again: Row) -> None:
    """The record that is written again, a sub-agent's task, the client's words, and commands of clients up to 1.0.43."""
    make = Claude()
    said = make.user("one", uuid="a"), make.user("two", uuid="b", parentUuid="a")
    assert "Conversation rewound" not in notes(*said, make.user("two", parentUuid="a") | again)
