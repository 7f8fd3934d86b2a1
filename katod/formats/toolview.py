"""How a tool call and its result look: one line, or two collapsible blocks. Pure."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

import orjson

from katod.agents.toolcalls import one_line, words_of_refusal
from katod.agents.tooltable import ASKING, tool
from katod.formats.mdtext import code, fenced, html, inline

LONGEST: Final = 20_000
LINE: Final = 120
_NOTEWORTHY_MS: Final = 50
Clean = Callable[[str], str]


def label(payload: dict[str, Any], redact: Clean) -> str:
    """Return the label of a call, used on its own line and wherever it is mentioned again."""
    shown = _name(payload["name"])
    if description := payload.get("description"):
        shown += f" {inline(_short(redact(description)))}"
    if change := edit_size(payload):
        shown += f" ({change})"
    return shown


@lru_cache(maxsize=64)
def _name(name: str) -> str:
    return code(name[:LINE] or "tool")


def summary(payload: dict[str, Any], redact: Clean) -> str:
    """Return the label for the summary of a collapsible block."""
    shown = f"<code>{html(payload['name'][:LINE] or 'tool')}</code>"
    if description := payload.get("description"):
        shown += f" {html(_short(redact(description)))}"
    if change := edit_size(payload):
        shown += f" ({change})"
    return shown


def failure(payload: dict[str, Any], redact: Clean) -> str:
    """Return what went wrong in a result, empty if nothing did."""
    if payload.get("denied"):
        said = " ".join(redact(words_of_refusal(payload["text"])).split())  # all of it: a person's words
        return f"declined: {inline(said)}" if said else "declined"
    if not payload.get("isError"):
        return "interrupted" if payload.get("status") == "interrupted" else ""
    if (exit_code := payload.get("exitCode")) is not None:
        return f"failed: exit code {exit_code}"
    said = one_line(redact(payload["text"]).replace("<tool_use_error>", "").replace("</tool_use_error>", ""), LINE)
    return f"failed: {inline(said)}" if said else "failed"


def call_block(payload: dict[str, Any], redact: Clean) -> str:
    """Return a call as a collapsible block."""
    return details(summary(payload, redact), _body(payload, redact))


def result_block(payload: dict[str, Any], name: str, redact: Clean) -> str:
    """Return a result as a collapsible block named after its call."""
    notes = [f"result: {name}"]
    if (exit_code := payload.get("exitCode")) is not None:
        notes.append(f"exit {exit_code}")
    elif payload.get("denied"):
        notes.append("declined")
    elif payload.get("isError"):
        notes.append("failed")
    elif payload.get("status") == "launched":
        return details(" · ".join([*notes, "in the background"]), "(the answer comes later)")
    if (duration := payload.get("durationMs", 0)) >= _NOTEWORTHY_MS:
        notes.append(_seconds(duration))
    return _shown(" · ".join(notes), payload["text"], redact)


def report_block(payload: dict[str, Any], redact: Clean) -> str:
    """Return the answer of a sub-agent that worked in the background as a collapsible block."""
    notes = ["answer of the sub-agent", *([html(_short(payload["status"]))] if payload.get("status") else [])]
    return _shown(" · ".join(notes), payload["result"], redact)


def _shown(title: str, text: str, redact: Clean) -> str:
    text = cut(redact(text))
    return details(title, fenced(text, "text") if text.strip() else "(no text)")


def details(title: str, content: str) -> str:
    """Return a collapsible block."""
    return f"<details>\n<summary>{title}</summary>\n\n{content}\n\n</details>"


def cut(text: str) -> str:
    """Return a text; a long one is cut, and its size noted."""
    if len(text) <= LONGEST:
        return text
    return f"{text[:LONGEST]}\n… {len(text):,} characters in all"


def is_decision(name: str) -> bool:
    """Return whether a call is printed as questions and answers."""
    return name.lower() in ASKING


def edit_size(payload: dict[str, Any]) -> str:
    """Return how many lines an edit added and removed, empty for anything else."""
    if payload["family"] != "edit":
        return ""
    known, given = tool(payload["name"]), payload.get("input")
    if patch := known.patch_in(given):
        removed, added = (f"\n{patch}".count(f"\n{sign}") for sign in "-+")
    else:
        changes = [_changed(*change) for change in known.changes(given)]
        removed = sum(len(before) for before, _ in changes)
        added = sum(len(after) for _, after in changes)
    return f"+{added} −{removed}" if added or removed else ""  # noqa: RUF001 - the minus sign is meant


def diff(payload: dict[str, Any]) -> list[str]:
    """Return the changed lines of an edit: removed ones first, each with its sign."""
    known, given = tool(payload["name"]), payload.get("input")
    if patch := known.patch_in(given):
        return [line for line in patch.split("\n") if line.startswith(("+", "-", "@@"))]
    lines: list[str] = []
    for change in known.changes(given):
        before, after = _changed(*change)
        lines += [f"-{line}" for line in before] + [f"+{line}" for line in after]
    return lines


def _changed(old: str, new: str) -> tuple[list[str], list[str]]:
    """Return the lines that an edit removes and those that it adds, without unchanged lines at both ends."""
    before, after = old.splitlines(), new.splitlines()
    first = _same(before, after)
    before, after = before[first:], after[first:]
    last = _same(before[::-1], after[::-1])
    return before[: len(before) - last], after[: len(after) - last]


def _same(one: list[str], other: list[str]) -> int:
    """Count the equal lines at the beginning of both."""
    return next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _body(payload: dict[str, Any], redact: Clean) -> str:
    given = payload.get("input")
    if payload["family"] == "edit" and (lines := diff(payload)):
        return fenced(cut(redact("\n".join(lines))), "diff")
    if payload["family"] == "execute":
        command = given if isinstance(given, str) else _command(given)
        if command:
            return fenced(cut(redact(command)), "bash")
    if isinstance(given, str):
        return fenced(cut(redact(given)), "text")
    return fenced(cut(redact(_pretty(given))), "json")


def _command(given: Any) -> str:
    row = given if isinstance(given, dict) else {}
    value = row.get("command", row.get("cmd"))
    if isinstance(value, list):
        return " ".join(str(part) for part in value)
    return value if isinstance(value, str) else ""


def _pretty(given: Any) -> str:
    try:
        return orjson.dumps(given, option=orjson.OPT_INDENT_2).decode()
    except TypeError:
        return "nested too deep to be shown"


def _short(text: str) -> str:
    """Return a text, cut if it is too long for a line; the caller makes it one line."""
    return text if len(text) <= LINE else one_line(" ".join(text.split()), LINE)


def _seconds(milliseconds: float) -> str:
    return f"{milliseconds / 1000:.1f} s"
