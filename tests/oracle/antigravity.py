"""The oracle for Antigravity: reads one transcript, whole or cut (`transcript.jsonl`), into the multisets."""

import json
import re
from pathlib import Path
from typing import Any

from tests.oracle.common import Record, Sets, as_dict, as_text, records

RESULTS = frozenset(
    (
        "RUN_COMMAND", "VIEW_FILE", "LIST_DIRECTORY", "GREP_SEARCH", "CODE_ACTION", "SEARCH_WEB", "READ_URL_CONTENT",
        "GENERATE_IMAGE", "ASK_QUESTION", "GENERIC", "INVOKE_SUBAGENT",
    )
)  # fmt: skip
LEFT_OUT = frozenset(("EPHEMERAL_MESSAGE", "CONVERSATION_HISTORY", "CHECKPOINT"))
_REQUEST = re.compile(r"<USER_REQUEST>\n(.*)\n</USER_REQUEST>", re.DOTALL)
_TIMES = re.compile(r"\A(?:(?:Created|Completed) At: [^\n]*\n)+")


def read(path: Path) -> Sets:
    """Read every step of the file into the multisets, or count it in `other`. Calls and results have no ids."""
    sets = Sets()
    is_cut = path.name == "transcript.jsonl"
    for _, _, row in records(path, sets.other):
        source, kind, text = (as_text(row.get(key)) for key in ("source", "type", "content"))
        native = str(row.get("step_index", ""))
        if (source, kind) == ("USER_EXPLICIT", "USER_INPUT"):
            sets.user(native, typed(text))
        elif (source, kind) == ("MODEL", "PLANNER_RESPONSE"):
            _answer(sets, native, row, is_cut=is_cut)
        elif source == "MODEL" and kind in RESULTS:
            said = _TIMES.sub("", text)
            sets.result("", printed(said) if kind == "RUN_COMMAND" else said)
        else:
            sets.other[kind if kind in LEFT_OUT else f"other:{source}/{kind}"] += 1
    return sets


def printed(content: str) -> str:
    """Return what a command printed, without what the client says around it."""
    first, *lines = content.strip("\n").split("\n")
    if not first.strip().startswith(("The command completed", "The command failed")):
        return content
    labels = ("Output:", "Stdout:", "Stderr:")
    kept = [line.lstrip("\t") for line in lines if line.strip() not in labels]
    return "\n".join(line for line in kept if line)


def typed(content: str) -> str:
    """Return what the person typed, without what the client wraps around it and adds behind it."""
    found = _REQUEST.search(content.partition("\n<ADDITIONAL_METADATA>")[0])
    return found[1] if found else content


def _answer(sets: Sets, native: str, row: Record, *, is_cut: bool) -> None:
    if (text := as_text(row.get("content"))).strip():
        sets.assistant(native, text)
    if as_text(row.get("thinking")).strip():
        sets.other["other:assistant/thinking"] += 1
    for call in map(as_dict, row.get("tool_calls") or []):
        given = as_dict(call.get("args"))
        sets.call(
            "", as_text(call.get("name")), {key: decoded(value) for key, value in given.items()} if is_cut else given
        )


def decoded(value: Any) -> Any:
    """Return an argument of the cut form, in which each one is JSON once more, unless it was cut in the middle."""
    try:
        return json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return value
