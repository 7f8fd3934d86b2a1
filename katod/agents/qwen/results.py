"""Qwen Code: the results of calls, and what notifications say of sub-agents. Pure."""

import re
from html import unescape
from typing import Any, Final

import orjson

from katod.agents.diffs import structured
from katod.agents.fields import dict_of, int_or_none, text_of, texts_in

_DENIED: Final = "User did not allow tool call"
_CANCELLED: Final = "cancelled"
_TASK: Final = {"subagent": "task-id", "status": "status", "result": "result"}
_NAME: Final = re.compile(r'<summary>Agent "([^"<]{1,200})"')
Value = dict[str, Any]


def result_of(response: Value, shown: Value) -> Value:
    """Return the payload of a result: of a shell's what it printed, of any other what the model received."""
    display, given = dict_of(shown.get("resultDisplay")), response.get("response")
    is_shell = display.get("type") == "shell_result"
    text = _printed(display) if is_shell else _received(given)
    row: Value = {"toolCallId": text_of(response.get("id")), "text": text}
    if is_shell and (code := int_or_none(display.get("exitCode"))) is not None:
        row["exitCode"] = code
    row |= _outcome(text_of(shown.get("status")), dict_of(given), _received(given), row.get("exitCode"))
    change = "add" if display.get("originalContent") in ("", None) and "newContent" in display else ""
    return row | structured(text_of(display.get("fileDiff")), path=text_of(display.get("filePath")), change=change)


def notified(text: str) -> Value:
    """Return the payload of the end of the sub-agent that a notification is about, empty if it is about none."""
    if not text.startswith("<task-notification>"):
        return {}
    found = {name: _element(text, tag) for name, tag in _TASK.items()}
    named = _NAME.search(text)
    return texts_in(found | {"speaker": unescape(named[1]) if named else ""}) if found["subagent"] else {}


def _element(text: str, tag: str) -> str:
    """Return what is in an element: the result may contain anything, so it ends with the last closing tag."""
    _, opened, rest = text.partition(f"<{tag}>")
    inside, closed, _ = rest.rpartition(f"</{tag}>") if tag == "result" else rest.partition(f"</{tag}>")
    return inside if opened and closed else ""


def _printed(display: Value) -> str:
    return text_of(display.get("output")) or text_of(display.get("error"))


def _received(given: Any) -> str:
    said = dict_of(given).get("output", dict_of(given).get("error", given))
    return said if isinstance(said, str) else "" if said is None else orjson.dumps(said).decode()


def _outcome(status: str, given: Value, text: str, code: int | None) -> Value:
    if status == _CANCELLED and text.endswith(_DENIED):
        return {"isError": True, "denied": True}
    if status == _CANCELLED:
        return {"status": "interrupted"}
    return {"isError": True} if status == "error" or code or ("error" in given and "output" not in given) else {}
