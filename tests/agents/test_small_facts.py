"""Fields that few records have: what each agent's mean, in the event that they end in."""

import os
from pathlib import Path
from typing import Any, Final

from katod import events as ev
from katod.agents import AGENTS
from katod.agents.claude.places import SPILLED
from katod.model import Identity, SessionKey
from tests.looping import each
from tests.support.records import Claude, Qwen
from tests.support.translated import Row, payloads, translated

PNG: Final = {"mimeType": "image/png", "data": "AAAA"}


def _gemini(*parts: Row) -> list[Row]:
    return [{"id": "m1", "timestamp": "2026-01-02T03:04:05.000Z", "type": "user", "content": list(parts)}]


def _qwen(*parts: Row) -> list[Row]:
    return [Qwen().record("user", "real_user", message={"role": "user", "parts": list(parts)})]


def _timed_out() -> list[Row]:
    make = Claude()
    return [make.runs("c1", "make"), make.result("c1", "ok", toolUseResult={"timedOutAfterMs": 5})]


def _opencode(*parts: Row) -> list[Row]:
    time = {"created": 1, "completed": 2}
    asked = {"info": {"id": "msg_1", "role": "user"}, "parts": [{"id": "prt_1", "type": "text", "text": "Do it."}]}
    answer = {"id": "msg_2", "role": "assistant", "parentID": "msg_1", "time": time}
    return [{"info": {"id": "ses_1"}, "messages": [asked, {"info": answer, "parts": list(parts)}]}]


def _tool(**state: Any) -> Row:
    return {"id": "prt_2", "type": "tool", "tool": "bash", "callID": "c1", "state": {"status": "completed"} | state}


def _vscode(**fields: Any) -> list[Row]:
    request = {"requestId": "r", "timestamp": 1770763000000, "message": {"text": "go"}, "response": [{"value": "hi"}]}
    head = {"version": 3, "sessionId": "s", "creationDate": 1770763000000}
    return [head | {"requests": [request | {"modelState": {"value": 1}} | fields]}]


def _thought() -> list[Row]:
    return [{"role": "assistant", "message": {"content": [{"type": "thinking", "thinking": "Hm."}]}}]


FILE: Final = {"type": "file", "mediaType": "application/pdf"}
FACTS: Final[list[tuple[str, list[Row], str, Row]]] = [
    ("claude", _timed_out(), ev.TOOL_RESULT, {"status": "timeout"}),
    ("cursor", _thought(), ev.ASSISTANT_THINKING, {"text": "Hm."}),
    (
        "gemini", _gemini({"text": "Look."}, {"fileData": {"fileUri": "a.pdf", "mimeType": "application/pdf"}}),
        ev.USER_MESSAGE, {"attachments": [FILE | {"name": "a.pdf"}]},
    ),
    (
        "qwen", _qwen({"text": "Look."}, {"fileData": {"fileUri": "a.pdf", "mimeType": "application/pdf"}}),
        ev.USER_MESSAGE, {"attachments": [FILE | {"name": "a.pdf"}]},
    ),
    (
        "opencode", _opencode(_tool(output="x", metadata={"exit": 3}, time={"start": 5, "end": 12})),
        ev.TOOL_RESULT, {"exitCode": 3, "isError": True, "durationMs": 7},
    ),
    (
        "vscode", _vscode(result={"usage": {"promptTokens": 3, "completionTokens": 5}}),
        ev.USAGE, {"input": 3, "output": 5},
    ),
]  # fmt: skip


@each(("agent", "rows", "kind", "fields"), FACTS)
def test_a_field_is_in_the_event(agent: str, rows: list[Row], kind: str, fields: Row) -> None:
    """Whatever else the payload says."""
    [payload] = payloads(translated(agent, *rows), kind)
    assert {name: payload.get(name) for name in fields} == fields


@each("part", ["step-start", "step-finish", "patch", "snapshot", "agent", "subtask"])
def test_bookkeeping_of_opencode_is_left_out(part: str) -> None:
    """And no unknown part either."""
    events = translated("opencode", *_opencode({"id": "prt_2", "type": part}))
    assert not payloads(events, ev.PROVIDER_RAW)


def test_an_empty_text_of_zot_is_nothing() -> None:
    """Neither an answer nor an unknown block."""
    rows = {"type": "message", "message": {"role": "assistant", "content": [{"text": " "}, {"new": 1}]}}
    events = translated("zot", rows)
    assert not payloads(events, ev.ASSISTANT_MESSAGE)
    assert len(payloads(events, ev.PROVIDER_RAW)) == 1


@each(
    ("agent", "name", "session"),
    [("codex", "rollout-own.jsonl", "rollout-own"), ("codex", "rollout-a.jsonl.zst", "rollout-a")],
)
def test_a_file_without_an_id_is_known_by_its_name(agent: str, name: str, session: str) -> None:
    """Without what it ends with."""
    assert AGENTS[agent].identity_of(Path("/p") / name) == Identity(SessionKey(agent, session))


@each("named", ["C:\\Users\\me\\p\\tool-results\\c1.txt", "/home/me/p/tool-results/c1.txt"])
def test_a_long_result_of_claude_is_read_from_its_file(tmp_path: Path, named: str) -> None:
    """Wherever it was when it was written, and on whichever system."""
    kept = tmp_path / "s/tool-results/c1.txt"
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text("all of it")
    make = Claude()
    rows = make.runs("c1", "make"), make.result("c1", f"{SPILLED} …", toolUseResult={"persistedOutputPath": named})
    open_files = os.listdir("/dev/fd")
    [payload] = payloads(translated("claude", *rows, path=tmp_path / "s.jsonl"), ev.TOOL_RESULT)
    assert payload["text"] == "all of it"
    assert os.listdir("/dev/fd") == open_files


def test_an_agent_that_names_nothing_beside_its_records_says_nothing() -> None:
    """Most agents name their sessions in the records, or not at all."""
    assert AGENTS["zot"].name_beside(Path("x"), "y") == ""
