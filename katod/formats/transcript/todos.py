"""The agent's list of things to do: all of it once, then what changed. Pure."""

from typing import Any, Final

from katod.agents.fields import dict_of, dicts_of, text_of
from katod.agents.tooltable import ToolEntry
from katod.formats.transcript.content import Inline, Line

_TEXTS: Final = ("content", "step", "description", "title", "text", "task")
_DONE: Final = ("completed", "done", "complete")
_MOST: Final = 200
_LONGEST: Final = 80
Item = tuple[str, bool]


def items_of(given: Any, known: ToolEntry) -> list[Item]:
    """Return the items of a call: text, whether it is done."""
    rows = next((dicts_of(dict_of(given)[key]) for key in known.items if key in dict_of(given)), [])
    found = ((next((text_of(row[key]) for key in _TEXTS if text_of(row.get(key))), ""), row) for row in rows[:_MOST])
    return [(text, text_of(row.get("status")).lower() in _DONE) for text, row in found if text]


def changes(before: list[Item] | None, now: list[Item]) -> Line:
    """Return what to show of a list after another one: what was done and added; all of it if there was none."""
    if before is None:
        shown = " · ".join(f"☑ {_cut(text)}" if done else _cut(text) for text, done in now)
        return (Inline("text", f"{len(now)} item{'s' if len(now) != 1 else ''}: {shown}"),) if now else ()
    parts = [*_done(before, now), *_added(before, now)]
    return (Inline("text", " ".join(parts)),) if parts else ()


def _done(before: list[Item], now: list[Item]) -> list[str]:
    was = dict(before)
    return [f"☑ {_cut(text)}" for text, done in now if done and not was.get(text)]


def _added(before: list[Item], now: list[Item]) -> list[str]:
    was = dict(before)
    return [f"☐ {_cut(text)}" for text, done in now if not done and text not in was]


def _cut(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1].rstrip()}…"
