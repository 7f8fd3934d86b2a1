"""Antigravity: what is beside a transcript: its project, who started the conversation, late output of commands."""

import os
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

import orjson

from katod.agents.fields import dict_of, dicts_of, text_of
from katod.smallfile import read_small

WHOLE: Final = "transcript_full.jsonl"
CUT: Final = "transcript.jsonl"
LOGS: Final = (".system_generated", "logs")
_LARGEST: Final = 8 * 1024 * 1024
_MOST_OUTPUT: Final = 1024 * 1024
_MOST_FILES: Final = 16
_CLOCKS_DIFFER: Final = 5.0  # seconds between a prompt and its line in the history
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
    return next((unquote(urlsplit(uri).path) for uri in uris if uri.startswith("file://")), "")


def started_by(path: Path, prompt: str, time: str) -> str:
    """Return the conversation that started this one for a part of its work, empty if none did.

    Nothing in a conversation says so: the one that started it names its id, or gave this prompt to a sub-agent. It was
    written to since this one began.
    """
    if len(path.parents) < 4:
        return ""
    own, given = path.parts[-4].encode(), orjson.dumps(orjson.dumps(prompt).decode())[3:-3]
    # A few words, like "go on", may be given in one conversation and typed in another.
    tasks = (given, orjson.dumps(prompt)) if len(given) > len(own) else ()
    for other in _others(path, _seconds(time)):
        lines = _read(other).splitlines()
        calls = [line for line in lines if b'"invoke_subagent"' in line or b'"INVOKE_SUBAGENT"' in line]
        if any(words in line for line in calls for words in (own, *tasks)):
            return other.parts[-4]
    return ""


def _others(path: Path, since: float) -> Iterator[Path]:
    """Yield the transcripts of other conversations that changed since then, in this order."""
    brain = path.parents[3]
    try:
        folders = [brain / name for name in os.listdir(brain) if name != path.parts[-4]]
    except OSError:
        return
    places = [folder.joinpath(*LOGS, name) for folder in folders for name in (WHOLE, CUT)]
    changed = sorted((moment, place) for place in places if (moment := _changed(place)) >= max(since, 1.0))
    yield from (place for _, place in changed[:_MOST_FILES])


def late_output(path: Path, step: int) -> str:
    """Return what a command printed after its step was recorded, empty if nothing."""
    return _read(path.parents[1] / "tasks" / f"task-{step}.log", _MOST_OUTPUT).decode("utf-8", "replace")


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
