"""Gemini CLI: the result of a call, without what the client wraps around it for the model. Pure."""

import re
from typing import Any, Final

import orjson

from katod.agents.diffs import structured
from katod.agents.fields import dict_of, list_of, text_of

# Around a result since 0.61, and the last lines of a command's result.
_WRAPPED: Final = ("<untrusted_context>\n", "Output too large. Showing first ")
# The client escapes the closing tag in what it wraps, so none is content.
_WRAPPER: Final = re.compile(r"^<untrusted_context>\n(.*?)\n?^</untrusted_context>$", re.DOTALL | re.MULTILINE)
_GROUP: Final = re.compile(r"(?:\A|\n)Process Group PGID: [0-9]+\s*\Z")
_EXIT: Final = re.compile(
    r"(?:\A|\n)Exit Code: (-?[0-9]{1,15})(?:\nSignal: [^\n]*)?(?:\nBackground PIDs: [^\n]*)?\s*\Z"
)
_TAIL: Final = 1000
_DENIED: Final = "User denied execution."  # the result of a call that was refused
Value = dict[str, Any]


def result_of(call: Value, family: str) -> str:
    """Return the tool's answer to the model, or what was displayed to the user if there is nothing else."""
    texts: list[str] = []
    for part in list_of(call.get("result")):
        response = dict_of(dict_of(part).get("functionResponse")).get("response")
        row = dict_of(response)
        said = row.get("output", row.get("error", response))
        if said is not None:
            texts.append(_unwrapped(said if isinstance(said, str) else orjson.dumps(said).decode(), family))
        elif text := text_of(dict_of(part).get("text")):
            texts.append(text)
    return "\n".join(texts) or text_of(call.get("resultDisplay"))


def _unwrapped(text: str, family: str) -> str:
    """Return a result without what the client put around it: tags for the model, and a command's process group.

    A server may give several blocks, and a long result has a line of the client above it.
    """
    if text.startswith(_WRAPPED):
        text = _WRAPPER.sub(lambda block: _without_group(block[1], family), text)
    return _without_group(text, family)


def _without_group(text: str, family: str) -> str:
    group = _GROUP.search(text, max(len(text) - _TAIL, 0)) if family == "execute" else None
    return text[: group.start()] if group else text


def outcome(call: Value, asked: Value, text: str) -> Value:
    """Return the payload of a result. The client calls a command that failed a success."""
    row: Value = {"toolCallId": asked["toolCallId"], "text": text}
    status, family = text_of(call.get("status")), asked["family"]
    code = _EXIT.search(text, max(len(text) - _TAIL, 0)) if family == "execute" else None
    if code:
        row["exitCode"] = int(code[1])
    if status == "error" or row.get("exitCode"):
        row["isError"] = True
    elif status == "cancelled" and text.endswith(_DENIED):
        row |= {"isError": True, "denied": True}
    elif status not in ("", "success"):
        row["status"] = "interrupted"
    shown = dict_of(call.get("resultDisplay"))
    change = "add" if shown.get("isNewFile") is True else ""
    return row | structured(text_of(shown.get("fileDiff")), path=text_of(shown.get("filePath")), change=change)
