"""Codex: which texts were typed."""

import re
from typing import Any, Final, NamedTuple
from uuid import UUID

from katod import events as ev
from katod.agents.fields import dict_of, dicts_of, list_of, text_of
from katod.model import TypedText

# IDEs and the desktop app put context before the request: sections, of which the first one begins the message, and a
# heading above the request. Newer apps leave out the name.
_SECTIONS: Final = (
    "# Context from my IDE setup:", "# Files mentioned by the user:", "# Files pasted by the user:", "# Chrome tabs:",
    "# Response annotations:", "# Browser comments:", "# In app browser:", "## Referenced chats with Codex:",
)  # fmt: skip
_REQUEST: Final = re.compile(r"^## My request(?: for Codex)?:", re.MULTILINE)
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
_INPUT: Final = ("<input>", "</input>")
# The lines before the words of a message between agents.
_HEAD: Final = re.compile(r"Message Type: (\w{1,40})\n(?:[A-Z][\w ]{0,40}: [^\n]{0,400}\n){0,8}Payload:\n?")
_NEW_TASK: Final = "NEW_TASK"
_NAME: Final = re.compile(r"^Task name: ([^\n]{1,400})$", re.MULTILINE)


_ABOVE_SUMMARY: Final = re.compile(r"\AAnother language model started to solve this problem [^\n]*:\n")


class Words(NamedTuple):
    """What the user typed, and the context before it."""

    text: str
    context: str = ""


def unwrap(text: str) -> Words:
    """Cut off the client's context: what follows the last request heading was typed.

    The heading only counts in a message that begins with such context: elsewhere it is a quotation. It is the last
    one, as the client has it, too: the context may quote a file that has one.
    """
    headings = list(_REQUEST.finditer(text)) if text.lstrip().startswith(_SECTIONS) else []
    if not headings:
        return Words(text)
    return Words(text[headings[-1].end() :].strip("\n"), text[: headings[-1].start()])


def is_injected(text: str) -> bool:
    """Return whether the client wrote this text."""
    return text.lstrip().startswith(INJECTED)


def is_delegated(text: str) -> bool:
    """Return whether another thread's agent wrote this text."""
    return text.lstrip().startswith(_DELEGATED)


def delegated(text: str) -> str:
    """Return the task in an envelope of another thread's agent."""
    opening, closing = _INPUT
    inner, found, _ = text.partition(opening)[2].rpartition(closing)
    return inner if found and inner.strip() else text


def agent_message(text: str) -> dict[str, str]:
    """Return the payload of a message between agents, without its head unless the rest is encrypted."""
    head = _HEAD.match(text)
    payload = {"text": text, "subtype": ev.Between.TASK if head and head[1] == _NEW_TASK else ev.Between.PEER}
    if head and text[head.end() :].strip():
        return payload | {"text": text[head.end() :]}
    return payload | ({"summary": name[1]} if head and (name := _NAME.search(head[0])) else {})


def typed(text: str) -> list[TypedText]:
    """Return the part of a user's message that may be typed, without anything the client wrote."""
    words = unwrap(text).text
    if is_injected(words):
        return []
    return [TypedText.by_agent(words) if is_delegated(words) else TypedText(words)]


def summarised(text: str) -> str:
    """Return the summary of a compaction without what the client tells the next model above it."""
    return _ABOVE_SUMMARY.sub("", text)


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


_NAMED: Final = ("image", "input_image", "local_image", "localimage", "skill", "mention")
# The keys and types of parts of a message that are understood; case varies in those that name something.
CONTENT: Final = frozenset({"text", *_NAMED, "Image", "LocalImage", "localImage", "Skill", "Mention"})


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
        if kind in _NAMED:
            found.append((kind.removeprefix("input_"), text_of(dict_of(where).get("url")) or text_of(where)))
    return found
