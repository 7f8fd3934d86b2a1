"""The oracle for Qwen Code: reads one chat, or the file of a sub-agent, into the multisets."""

from pathlib import Path

from tests.oracle.common import Record, Sets, as_dict, as_text, records

# Records of the client about itself, or with less than another record has.
BOOKKEEPING = frozenset(
    (
        "system/ui_telemetry",
        "system/file_history_snapshot",
        "system/attribution_snapshot",
        "system/session_artifact_snapshot",
    )
)
HOOKS = ("<qwen:user-prompt-submit-context", "<qwen:session-start-context")


def read(path: Path) -> Sets:
    """Read every record of the file, on whichever branch, into one of the multisets, or count it in `other`."""
    sets = Sets()
    for _, _, row in records(path, sets.other):
        kind = "/".join(filter(None, (as_text(row.get("type")), as_text(row.get("subtype")))))
        parts = [as_dict(part) for part in as_dict(row.get("message")).get("parts") or []]
        _record(sets, kind or "untyped", row, parts)
    return sets


def _record(sets: Sets, kind: str, row: Record, parts: list[Record]) -> None:
    if kind in ("user", "user/mid_turn_user_message"):
        _user(sets, row, parts)
    elif kind == "assistant":
        _answer(sets, row, parts)
    elif kind == "tool_result":
        for part in parts:
            _result(sets, as_dict(part.get("functionResponse")), as_dict(row.get("toolCallResult")))
    else:
        sets.other[kind if kind in BOOKKEEPING else f"other:{kind}"] += 1


def _user(sets: Sets, row: Record, parts: list[Record]) -> None:
    """Read a user record: what was typed stands in `displayText`, if hooks or expansions changed the parts."""
    typed = as_text(as_dict(row.get("systemPayload")).get("displayText"))
    texts = [as_text(part.get("text")) for part in parts if not as_text(part.get("text")).startswith(HOOKS)]
    sets.user(as_text(row.get("uuid")), typed or "\n".join(filter(None, texts)))


def _answer(sets: Sets, row: Record, parts: list[Record]) -> None:
    native = as_text(row.get("uuid"))
    for part in parts:
        text, call = as_text(part.get("text")), as_dict(part.get("functionCall"))
        if call:
            sets.call(as_text(call.get("id")), as_text(call.get("name")), call.get("args") or {})
        elif not text.strip():
            sets.other["assistant/empty-part"] += 1
        elif part.get("thought"):
            sets.other["other:assistant/thinking"] += 1
        else:
            sets.assistant(native, text)
    if counts := as_dict(row.get("usageMetadata")):
        sets.usage(native, counts, ("promptTokenCount", "candidatesTokenCount"))


def _result(sets: Sets, response: Record, told: Record) -> None:
    """Read a result: of a shell what it printed, of any other tool what the model received."""
    display, given = as_dict(told.get("resultDisplay")), as_dict(response.get("response"))
    text = display.get("output") if display.get("type") == "shell_result" else given.get("output", given.get("error"))
    sets.result(as_text(response.get("id")), as_text(text))
