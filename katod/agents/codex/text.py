"""Codex: which texts a person typed."""

from typing import Any, Final, NamedTuple
from uuid import UUID

from katod.agents.fields import dict_of, dicts_of, list_of, text_of
from katod.model import Typed

# IDEs and the desktop app put context before the request.
REQUEST: Final = "## My request for Codex:"
# Beginnings of texts that the client sends in the user's name.
INJECTED: Final = (
    "<environment_context>",
    "<user_instructions>",
    "# AGENTS.md instructions",
    "<turn_aborted>",
    "<skill>",
    "<recommended_plugins>",
    "The following is the Codex agent history",
)


# What another thread's agent hands over, with `<source_thread_id>` and `<input>`.
_DELEGATED: Final = "<codex_delegation>"


class Words(NamedTuple):
    """What the person typed, and the context before it."""

    text: str
    context: str = ""


def unwrap(text: str) -> Words:
    """Cut off the context: what follows the last request heading was typed. What was delegated stays whole."""
    if is_delegated(text):
        return Words(text)
    at = f"\n{text}".rfind(f"\n{REQUEST}")
    if at < 0:
        return Words(text)
    return Words(text[at + len(REQUEST) :].strip("\n"), text[:at])


def is_injected(text: str) -> bool:
    """Return whether the client wrote this text."""
    return text.lstrip().startswith(INJECTED)


def is_delegated(text: str) -> bool:
    """Return whether another thread's agent wrote this text."""
    return text.lstrip().startswith(_DELEGATED)


def typed(text: str) -> Typed:
    """Return what may be typed of a user's message."""
    words = unwrap(text).text
    return Typed.by_agent(words) if is_delegated(words) else Typed(words)


def is_person(meta: dict[str, Any]) -> bool:
    """Return whether a person talks in this thread: sub-agent and internal threads only quote people.

    `thread_source` is `user` for people and absent in app-server, desktop and older rollouts;
    `source` is an object for sub-agents and internal threads.
    """
    return meta.get("thread_source") in (None, "user") and not isinstance(meta.get("source"), dict)


def is_copied(turn: str, thread: str) -> bool:
    """Return whether a turn is older than its thread: a legacy fork copies the turns of its parent.

    Turn and thread ids are UUIDs of version 7, which begin with their creation time. Without such ids, a turn counts as
    copied.
    """
    try:
        born, made = UUID(turn), UUID(thread)
    except ValueError:
        return True
    return (born.int >> 80) < (made.int >> 80)


def joined(blocks: Any) -> str:
    """Join the texts of a content list, whatever the types of its blocks."""
    return "\n".join(row["text"] for row in dicts_of(blocks) if isinstance(row.get("text"), str))


def images(blocks: Any) -> list[tuple[str, str]]:
    """Return the images in a content list, as (kind, URL or path)."""
    found: list[tuple[str, str]] = []
    for block in list_of(blocks):
        row = dict_of(block)
        kind = text_of(row.get("type")).lower()
        where = row.get("image_url") or row.get("url") or row.get("path") or row.get("name")
        if kind in ("image", "input_image", "local_image", "localimage", "skill", "mention"):
            found.append((kind.removeprefix("input_"), text_of(dict_of(where).get("url")) or text_of(where)))
    return found
