"""Claude Code: how a call ended, sub-agents, and compactions."""

import os
from pathlib import Path
from typing import Any

from katod import events as ev
from katod.agents.claude.places import SPILLED
from tests.looping import each
from tests.support.records import Claude
from tests.support.translated import payloads, translated


@each(
    ("extra", "outcome"),
    [
        ({"durationMs": 876}, {"durationMs": 876}),
        ({"totalDurationMs": 48595}, {"durationMs": 48595}),
        ({"durationSeconds": 5.8173929169999905}, {"durationMs": 5817}),
        ({"shellId": "b1", "status": "completed", "exitCode": 3}, {"exitCode": 3}),
        ({"shellId": "b1", "status": "running", "exitCode": None}, {}),
        ({"durationMs": ["x"], "durationSeconds": "5", "exitCode": True}, {}),
    ],
)
def test_a_result_has_the_clients_own_measurements(extra: Any, outcome: Any) -> None:
    """Duration and exit code are those that the client notes beside the result."""
    make = Claude()
    events = translated("claude", make.runs("c1", "make"), make.result("c1", "ok", toolUseResult=extra))
    [payload] = payloads(events, ev.TOOL_RESULT)
    assert payload == {"toolCallId": "c1", "text": "ok"} | outcome


def test_a_sub_agent_in_the_background_has_the_model_that_it_runs_on() -> None:
    """The client resolves the model when it starts the sub-agent."""
    extra = {"agentId": "a1", "status": "async_launched", "description": "Look", "resolvedModel": "claude-haiku-4-5"}
    make = Claude()
    for more, told in ((extra, {"model": "claude-haiku-4-5"}), (extra | {"resolvedModel": ["x"]}, {})):
        events = translated("claude", make.calls("c1", "Agent"), make.result("c1", "Launched.", toolUseResult=more))
        assert payloads(events, ev.AGENT_START) == [{"subagent": "a1", "task": "Look"} | told]


def test_a_compaction_has_its_sizes() -> None:
    """Values of other types read as absent."""
    make, told = Claude(), {"trigger": "manual", "preTokens": 190, "postTokens": 52}
    for row, payload in (
        (told, {"trigger": "manual", "tokensBefore": 190, "tokensAfter": 52}),
        ({"trigger": ["manual"], "preTokens": "190", "postTokens": None}, {}),
    ):
        record = make.record("system", subtype="compact_boundary", content="Compacted", compactMetadata=row)
        assert payloads(translated("claude", record), ev.COMPACTION) == [payload]


def test_a_question_is_known_by_its_header() -> None:
    """And by its own words if it has none; several answers may be chosen only where the client says so."""
    options = [
        {"label": "Red", "description": "warm"},
        {"label": "Blue", "description": 5},
        {"description": "no label"},
    ]
    questions = [
        {"question": "Which colour?", "header": "Colour", "options": options, "multiSelect": True},
        {"question": "Which size?", "options": "none", "multiSelect": False},
        {"question": "Which name?", "header": ""},
    ]
    events = translated("claude", Claude().calls("c1", "AskUserQuestion", questions=questions))
    colour, size, name = payloads(events, ev.DECISION_PROMPT)
    assert colour == {
        "decisionId": "c1:0", "decisionKey": "Colour", "prompt": "Which colour?", "multiSelect": True,
        "options": [{"label": "Red", "description": "warm"}, {"label": "Blue"}],
    }  # fmt: skip
    assert size == {"decisionId": "c1:1", "decisionKey": "Which size?", "prompt": "Which size?", "options": []}
    assert name == {"decisionId": "c1:2", "decisionKey": "Which name?", "prompt": "Which name?", "options": []}


@each(
    ("answer", "chosen"),
    [
        ("Red", {"selections": ["Red"]}),
        ("Red, dark", {"selections": ["Red, dark"]}),
        ("Red, dark, Blue", {"selections": ["Red, dark", "Blue"]}),
        ("Blue, Red", {"selections": ["Blue", "Red"]}),
        ("Blue, Green", {"selections": [], "freeText": "Blue, Green"}),
        (["Red", 3], {"selections": ["Red", "3"]}),
    ],
)
def test_an_answer_is_the_labels_it_consists_of(answer: Any, chosen: Any) -> None:
    """A label may contain the comma that joins labels: the longest one counts. Any other answer is in one's own words."""
    options = [{"label": label} for label in ("Red", "Red, dark", "Blue")]
    asked = Claude().calls("c1", "AskUserQuestion", questions=[{"question": "Which?", "options": options}])
    told = Claude().result("c1", "ok", toolUseResult={"answers": {"Which?": answer}})
    [payload] = payloads(translated("claude", asked, told), ev.DECISION_RESPONSE)
    assert {name: payload[name] for name in ("selections", "freeText") if name in payload} == chosen


@each("named", ["", "/p/tool-results/..", "/p/tool-results/.hidden", "/p/tool-results/gone", "folder", "pipe", "link"])
def test_a_result_that_is_not_in_its_folder_is_what_the_record_has(named: str, tmp_path: Path) -> None:
    """No other file is read in its place, and none is waited for."""
    folder = tmp_path / "s/tool-results"
    if not folder.exists():
        (folder / "folder").mkdir(parents=True)
        (folder / ".hidden").write_text("secret")
        (folder / "link").symlink_to(folder / ".hidden")
        os.mkfifo(folder / "pipe")
    make, text = Claude(), f"{SPILLED} …"
    rows = make.runs("c1", "make"), make.result("c1", text, toolUseResult={"persistedOutputPath": named})
    [payload] = payloads(translated("claude", *rows, path=tmp_path / "s.jsonl"), ev.TOOL_RESULT)
    assert payload["text"] == text


@each(
    ("asked", "answered", "found"),
    [
        (["A?", "B?"], [], ["c1:1"]),
        (["A?", "B?"], ["B?"], ["c1:1"]),
        ([], ["A?", "B?"], ["c1:1"]),
        ([], [], ["c1:0"]),
        (["A?", "C?"], [], ["c1:0"]),
    ],
)
def test_an_answer_has_the_number_of_its_question(asked: list[str], answered: list[str], found: list[str]) -> None:
    """As the call has them, or else the result; that of an unknown question is its place among the answers."""
    questions = [{"question": text, "options": []} for text in asked]
    call = Claude().calls("c1", "AskUserQuestion", **({"questions": questions} if questions else {}))
    extra = {"answers": {"B?": "yes"}} | ({"questions": [{"question": text} for text in answered]} if answered else {})
    events = translated("claude", call, Claude().result("c1", "ok", toolUseResult=extra))
    assert [row["decisionId"] for row in payloads(events, ev.DECISION_RESPONSE)] == found
