"""Antigravity: what is beside a transcript: its project, who started the conversation, late output of commands."""

import os
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

import orjson

from katod.agents.fields import dict_of, dicts_of, text_of
from katod.smallfile import open_regular, read_small

WHOLE: Final = "transcript_full.jsonl"
CUT: Final = "transcript.jsonl"
LOGS: Final = (".system_generated", "logs")
_LARGEST: Final = 8 * 1024 * 1024
_MOST_OUTPUT: Final = 1024 * 1024
_MOST_FILES: Final = 16
_CLOCKS_DIFFER: Final = 5.0  # seconds between a prompt and its line in the history
UNKNOWN: Final = "unknown"  # in the place of the conversation that started another one
_MOST_SEARCHED: Final = 512 * 1024 * 1024  # bytes of other transcripts
_LONGEST_START: Final = 3600.0  # seconds from a call until the conversation that it starts begins: it may be asked for
_DEEPEST: Final = 8
_CALL, _RESULT = "invoke_subagent", "INVOKE_SUBAGENT"
_CALLS: Final = re.compile(rb'"(?:invoke_subagent|INVOKE_SUBAGENT)"')
_PROJECT: Final = re.compile(r"project ID: ([0-9A-Za-z-]{1,64})")


def project_of(path: Path, prompt: str, time: str) -> str:
    """Return the folder that a conversation is about, given its transcript and its first prompt; empty if unknown."""
    if len(path.parents) < 5:
        return ""
    root, conversation = path.parents[4], path.parts[-4]
    return _in_history(root, conversation, prompt, _seconds(time)) or _in_logs(root, conversation)


def _in_history(root: Path, conversation: str, prompt: str, at: float) -> str:
    """Return the folder in the history of prompts; the line of a conversation's first one may lack its id."""
    first = ""
    for row in _rows(root / "history.jsonl"):
        if row.get("conversationId") == conversation and text_of(row.get("workspace")):
            return text_of(row["workspace"])
        moment = row.get("timestamp")
        is_near = isinstance(moment, int | float) and abs(moment / 1000 - at) <= _CLOCKS_DIFFER
        if is_near and not row.get("conversationId") and prompt and row.get("display") == prompt:
            first = text_of(row.get("workspace"))
    return first


def _in_logs(root: Path, conversation: str) -> str:
    """Return the folder of the project that a client's log names behind the conversation."""
    for log in _newest(root / "log", "cli-"):
        text = _read(log).decode("utf-8", "replace")
        _, found, after = text.partition(f"Created conversation {conversation}")
        if found and (named := _PROJECT.search(after) or _PROJECT.search(text)):
            return _folder(root.parent / "config" / "projects" / f"{named[1]}.json")
    return ""


def _folder(path: Path) -> str:
    try:
        row = dict_of(orjson.loads(_read(path)))
    except ValueError:
        return ""
    uris = [text_of(row.get("folderUri")), *(text_of(one.get("folderUri")) for one in dicts_of(row.get("folders")))]
    return next((unquote(uri.removeprefix("file://")) for uri in uris if uri.startswith("file:///")), "")


def started_by(path: Path, prompt: str, time: str) -> str:
    """Return the conversation that started this one for a part of its work, empty if none did.

    Nothing in a conversation says so: the one that started it names its id, or gave a sub-agent this prompt shortly
    before. Only conversations that changed since this one began are searched. If there is more to search than can be,
    it counts as started by UNKNOWN.
    """
    if len(path.parents) < 4:
        return ""
    own, began, left = path.parts[-4], _seconds(time), _MOST_SEARCHED
    for other in _others(path, began):
        left -= _size(other)
        if left < 0:
            return UNKNOWN
        if any(_starts(row, own, prompt, began) for row in _delegations(other)):
            return other.parts[-4]
    return ""


def _delegations(path: Path) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield the steps of a transcript that start a sub-agent, each with its line."""
    try:
        with path.open("rb") as file:
            for line in file:
                if _CALLS.search(line):
                    yield dict_of(_parsed(line)), line.decode("utf-8", "replace")
    except OSError:
        return


def _starts(delegation: tuple[dict[str, Any], str], own: str, prompt: str, began: float) -> bool:
    """Return whether a step names a conversation, or is a call that gave its prompt shortly before it began."""
    row, line = delegation
    is_call = any(call.get("name") == _CALL for call in dicts_of(row.get("tool_calls")))
    if not is_call:
        return row.get("type") == _RESULT and own in line
    at = _seconds(text_of(row.get("created_at")))
    return (
        bool(prompt.strip()) and began - _LONGEST_START <= at <= began + _CLOCKS_DIFFER and _gives(row, prompt.strip())
    )


def _gives(value: Any, prompt: str, depth: int = 0) -> bool:
    """Return whether a text in a value is this prompt; in a cut transcript, values are JSON once more."""
    if isinstance(value, str):
        inner = _parsed(value) if value[:1] in ('"', "[", "{") else None
        return value.strip() == prompt or (inner is not None and depth < _DEEPEST and _gives(inner, prompt, depth + 1))
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return depth < _DEEPEST and any(_gives(part, prompt, depth + 1) for part in parts)


def _parsed(data: bytes | str) -> Any:
    try:
        return orjson.loads(data)
    except ValueError:
        return None


def _others(path: Path, since: float) -> Iterator[Path]:
    """Yield the transcripts of other conversations that changed since then, in the order of their changes."""
    brain = path.parents[3]
    try:
        folders = [brain / name for name in os.listdir(brain) if name != path.parts[-4]]
    except OSError:
        return
    places = [folder.joinpath(*LOGS, name) for folder in folders for name in (WHOLE, CUT)]
    changed = sorted((moment, place) for place in places if (moment := _changed(place)) >= max(since, 1.0))
    yield from (place for _, place in changed)


def late_output(path: Path, step: int, begin: int) -> bytes:
    """Return what a command printed after its step was recorded, from an offset on: at most a part of it."""
    try:
        fd = open_regular(path.parents[1] / "tasks" / f"task-{step}.log")
    except OSError:
        return b""
    try:
        return os.pread(fd, _MOST_OUTPUT, begin)
    except OSError:
        return b""
    finally:
        os.close(fd)


def _newest(folder: Path, prefix: str) -> list[Path]:
    try:
        found = [folder / name for name in os.listdir(folder) if name.startswith(prefix)]
    except OSError:
        return []
    return sorted(found, key=_changed, reverse=True)[:_MOST_FILES]


def _size(path: Path) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def _changed(path: Path) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    for line in reversed(_read(path).splitlines()):
        try:
            yield dict_of(orjson.loads(line))
        except ValueError:
            continue


def _read(path: Path, largest: int = _LARGEST) -> bytes:
    try:
        return read_small(path, largest)
    except OSError:
        return b""


def _seconds(time: str) -> float:
    try:
        return datetime.fromisoformat(time).timestamp()
    except ValueError:
        return 0.0
