"""The oracle for VS Code's Copilot Chat: reads one journal, or the single document before it, into the multisets."""

import json
from pathlib import Path
from typing import Any

from tests.oracle.common import INVALID, Record, Sets, as_dict, as_text, begin, records


def read(path: Path) -> Sets:
    """Read the requests that the file ends with into the multisets. Drafts and queued requests are no part of it."""
    sets = Sets()
    for number, request in enumerate(map(as_dict, state_of(path, sets).get("requests") or [])):
        begin(sets.other, number)
        native, text = as_text(request.get("requestId")), as_text(as_dict(request.get("message")).get("text"))
        if request.get("isSystemInitiated"):
            sets.other["other:request/of-the-client"] += 1
        else:
            sets.user(native, text)
        _answers(sets, native, request)
    return sets


def state_of(path: Path, sets: Sets) -> Record:
    """Return the state to which the lines of a journal lead: set, append after a cut, delete."""
    if path.suffix == ".json":
        try:
            return as_dict(json.loads(path.read_text("utf-8")))
        except ValueError:
            sets.other[INVALID] += 1
            return {}
    state: Any = {}
    for _, _, row in records(path, sets.other):
        kind, keys = row.get("kind"), row.get("k") or []
        if kind == 0:
            state = row.get("v")
            continue
        holder = state
        for key in keys[:-1]:
            holder = holder[key]
        if kind == 1:
            holder[keys[-1]] = row.get("v")
        elif kind == 2:
            _append(holder, keys[-1], row)
        elif kind == 3:
            holder.pop(keys[-1], None)
    return as_dict(state)


def _append(holder: Any, key: Any, row: Record) -> None:
    values = holder.setdefault(key, []) if isinstance(holder, dict) else holder[key]
    if isinstance(row.get("i"), int):
        del values[row["i"] :]
    values.extend(row.get("v") or [])


def _answers(sets: Sets, native: str, request: Record) -> None:
    """Read the rounds of an answer, which have its texts and calls; while there are none, the texts that are shown."""
    metadata = as_dict(as_dict(request.get("result")).get("metadata"))
    rounds = [as_dict(one) for one in metadata.get("toolCallRounds") or []]
    for one in rounds:
        if (text := as_text(one.get("response"))).strip():
            sets.assistant(native, text)
        for call in map(as_dict, one.get("toolCalls") or []):
            sets.call(short(call.get("id")), as_text(call.get("name")), arguments(call.get("arguments")))
    for call_id, result in as_dict(metadata.get("toolCallResults")).items():
        sets.result(short(call_id), "\n".join(map(_words, map(as_dict, as_dict(result).get("content") or []))))
    if as_dict(request.get("modelState")).get("value") in (0, 4):  # it runs: its answer is not there yet
        sets.other["other:request/running"] += 1
    elif not rounds and (text := shown(request.get("response"))).strip():
        sets.assistant(native, text)


def short(call_id: Any) -> str:
    """Return the id of a call as transcripts have it."""
    return as_text(call_id).partition("__vscode-")[0]


def arguments(value: Any) -> Any:
    """Return the arguments of a call, which are JSON text."""
    try:
        return json.loads(as_text(value)) or {}
    except ValueError:
        return as_text(value) or {}


def shown(response: Any) -> str:
    """Return the Markdown of an answer, with the names of files in it; all other parts are no text."""
    return "".join(map(_part, map(as_dict, response or [])))


def _part(part: Record) -> str:
    if "kind" not in part:
        return as_text(part.get("value"))
    if part["kind"] != "inlineReference":
        return ""
    reference = as_dict(part.get("inlineReference"))
    place = as_dict(reference.get("location")).get("uri") or reference
    name = as_text(part.get("name") or reference.get("name")) or as_text(as_dict(place).get("path")).rpartition("/")[2]
    return f"`{name}`"


def _words(content: Record) -> str:
    """Return a part of a result: text, or the texts of a tree, some of which begin a line."""
    value = content.get("value")
    return value if isinstance(value, str) else _tree(as_dict(as_dict(value).get("node"))).removeprefix("\n")


def _tree(node: Record) -> str:
    own = ("\n" if node.get("lineBreakBefore") else "") + as_text(node.get("text"))
    return own + "".join(map(_tree, map(as_dict, node.get("children") or [])))
