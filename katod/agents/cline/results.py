"""Cline: the results of calls, each a list of answers, an answer as JSON text, or words. Pure."""

import re
from typing import Any, Final

from katod.agents.diffs import created, extend
from katod.agents.fields import dict_of, dicts_of, text_of
from katod.tail.decode import loads

_EXIT: Final = re.compile(r"\[Command exited with code (-?[0-9]{1,15})\]")
_DENIED: Final = "This tool call was rejected by the user"
_ABORTED: Final = "Command failed: Command was aborted"
_EDIT: Final = "editor"
_CREATED: Final = "File created successfully"
# A line that an edit added or removed, with its number.
_CHANGED: Final = re.compile(r"^([+-])([0-9]{1,9}): ", re.MULTILINE)
Value = dict[str, Any]


def result_of(block: Value, call: Value) -> Value:
    """Return the payload of a result, given its call."""
    answers = _answers(block.get("content"))
    text = "\n".join(filter(None, map(_words, answers))) if answers else ""
    row: Value = {"toolCallId": text_of(block.get("tool_use_id")), "text": text or text_of(block.get("content"))}
    row |= _outcome(answers, text, is_error=block.get("is_error") is True)
    if call.get("name") == _EDIT and answers:
        row |= {} if "isError" in row else _files(text_of(call["input"].get("path")), text, call["input"])
    return row


def _outcome(answers: list[Value], text: str, *, is_error: bool) -> Value:
    """Return how a call ended, if not well: it was left, refused, or failed."""
    if _ABORTED in [answer.get("error") for answer in answers]:
        return {"status": "interrupted"}
    if not is_error and all(answer.get("success") is not False for answer in answers):
        return {}
    denied: Value = {"denied": True} if text.startswith(_DENIED) else {}
    code = _EXIT.match(text) if len(answers) == 1 else None
    return {"isError": True} | denied | ({"exitCode": int(code[1])} if code else {})


def _answers(content: Any) -> list[Value]:
    """Return what each query of a call gave."""
    if isinstance(content, list):
        return dicts_of(content)
    try:
        return [answer] if (answer := dict_of(loads(text_of(content)))) else []
    except ValueError:
        return []


def pictures_in(block: Value) -> list[Value]:
    """Return the pictures that were read: blocks among those of an answer [cline 3.0.65]."""
    blocks = [one for answer in _answers(block.get("content")) for one in dicts_of(answer.get("result"))]
    return [one for one in blocks if one.get("type") == "image"]


def _words(answer: Value) -> str:
    read = "\n".join(text for one in dicts_of(answer.get("result")) if (text := text_of(one.get("text"))))
    return read or next((text for key in ("result", "text", "error") if (text := text_of(answer.get(key)))), "")


def _files(path: str, text: str, given: Value) -> Value:
    """Return which lines of its file an edit changed."""
    if text.startswith(_CREATED):
        return {"structured": {"files": [created(path, text_of(given.get("new_text")))]}}
    changed = [(sign, int(number)) for sign, number in _CHANGED.findall(text)]
    added = [number for sign, number in changed if sign == "+"]
    if not changed:
        return {}
    ranges: list[list[int]] = []
    for number in added:
        extend(ranges, number)
    row: Value = {"path": path, "change": "update", "added": len(added), "removed": len(changed) - len(added)}
    return {"structured": {"files": [row | ({"ranges": ranges} if ranges else {})]}}
