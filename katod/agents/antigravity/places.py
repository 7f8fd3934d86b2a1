"""Antigravity: what is beside a transcript: its project, who started the conversation, late output of commands."""

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from katod.agents.antigravity import CUT, LOGS, WHOLE
from katod.agents.beside import folder_of_uri, object_in
from katod.agents.fields import dict_of, dicts_of, text_of
from katod.model import changed_ns
from katod.smallfile import open_regular, read_part, read_small
from katod.tail.decode import loads

_LARGEST: Final = 8 * 1024 * 1024
_MOST_OUTPUT: Final = 1024 * 1024
_MOST_FILES: Final = 16
_CLOCKS_DIFFER: Final = 5.0  # seconds between a prompt and its line in the history
_LONGEST_START: Final = 3600.0  # seconds from a call until the conversation that it starts begins: it may be asked for
_DEEPEST: Final = 8
_CALL, _RESULT = "invoke_subagent", "INVOKE_SUBAGENT"
_CALLS: Final = re.compile(rb'"(?:invoke_subagent|INVOKE_SUBAGENT)"')
_PROJECT: Final = re.compile(r"project ID: ([0-9A-Za-z-]{1,64})")


class _SubagentStart(NamedTuple):
    """A step that starts a sub-agent: its time (seconds since 1970), its calls, and what the result of one says."""

    time: float
    calls: list[dict[str, Any]]
    result: str

    @classmethod
    def of(cls, line: bytes) -> "_SubagentStart":
        row = dict_of(_parsed(line))
        calls = [call for call in dicts_of(row.get("tool_calls")) if call.get("name") == _CALL]
        result = text_of(row.get("content")) if row.get("type") == _RESULT else ""
        return cls(_seconds(text_of(row.get("created_at"))), calls, result)


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
    row = object_in(path)
    uris = (row.get("folderUri"), *(one.get("folderUri") for one in dicts_of(row.get("folders"))))
    return next(filter(None, map(folder_of_uri, uris)), "")


def started_by(path: Path, prompt: str, time: str) -> str:
    """Return the conversation that started this one for a part of its work, empty if none did.

    Nothing in a conversation says so: the one that started it names its id, or gave a sub-agent this prompt shortly
    before. It may have done so with the last step that it has until now: only conversations that did not change for an
    hour before this one began are not searched.
    """
    if len(path.parents) < 4:
        return ""
    own, began, words = path.parts[-4], _seconds(time), prompt.strip()
    for other, stat in _others(path, began - _LONGEST_START):
        if any(_starts(one, own, words, began) for one in _subagent_starts(other, stat)):
            return other.parts[-4]
    return ""


@lru_cache(maxsize=4096)  # many conversations ask the same ones, each of which has few of them
def _subagent_starts(path: Path, _stat: tuple[int, int]) -> tuple[_SubagentStart, ...]:
    """Return the steps of a transcript that start a sub-agent."""
    try:
        with open(open_regular(path), "rb") as file:
            return tuple(_SubagentStart.of(line) for line in file if _CALLS.search(line))
    except OSError:
        return ()


def _starts(start: _SubagentStart, own: str, words: str, began: float) -> bool:
    """Return whether a step names a conversation, or gave its first words shortly before it began."""
    is_near = began - _LONGEST_START <= start.time <= began + _CLOCKS_DIFFER
    return own in start.result or bool(words and is_near and _gives(start.calls, words))


def _gives(value: Any, prompt: str, depth: int = 0) -> bool:
    """Return whether a text in a value is this prompt; in a cut transcript, values are JSON once more."""
    if isinstance(value, str):
        inner = _parsed(value) if value[:1] in ('"', "[", "{") else None
        return value.strip() == prompt or (inner is not None and depth < _DEEPEST and _gives(inner, prompt, depth + 1))
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return depth < _DEEPEST and any(_gives(part, prompt, depth + 1) for part in parts)


def _parsed(data: bytes | str) -> Any:
    try:
        return loads(data)
    except ValueError:
        return None


def _others(path: Path, since: float) -> Iterator[tuple[Path, tuple[int, int]]]:
    """Yield the transcripts of other conversations that changed since then, with the time of that (ns) and the size."""
    brain = path.parents[3]
    try:
        folders = [brain / name for name in os.listdir(brain) if name != path.parts[-4]]
    except OSError:
        return
    for place in (folder.joinpath(*LOGS, name) for folder in folders for name in (WHOLE, CUT)):
        with suppress(OSError):
            stat = os.stat(place)
            if stat.st_mtime >= max(since, 1.0):
                yield place, (changed_ns(stat), stat.st_size)


def late_output(path: Path, step: int, begin: int) -> bytes:
    """Return what a command printed after its step was recorded, from an offset on: at most a part of it."""
    try:
        return read_part(path.parents[1] / "tasks" / f"task-{step}.log", begin, _MOST_OUTPUT)
    except OSError:
        return b""


def _newest(folder: Path, prefix: str) -> list[Path]:
    try:
        found = [folder / name for name in os.listdir(folder) if name.startswith(prefix)]
    except OSError:
        return []
    return sorted(found, key=_changed, reverse=True)[:_MOST_FILES]


def _changed(path: Path) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    for line in reversed(_read(path).splitlines()):
        try:
            yield dict_of(loads(line))
        except ValueError:
            continue


def _read(path: Path) -> bytes:
    try:
        return read_small(path, _LARGEST)
    except OSError:
        return b""


def _seconds(time: str) -> float:
    try:
        return datetime.fromisoformat(time).timestamp()
    except (ValueError, OverflowError):
        return 0.0
