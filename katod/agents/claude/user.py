"""Claude Code: `user` records, most of which are not the user (format notes, A.4)."""

from typing import TYPE_CHECKING, Any

from katod import events as ev
from katod.agents.claude import tools
from katod.agents.claude.text import (
    INTERRUPTED,
    REMINDER_END,
    Said,
    classify,
    cut_reminder,
    is_person,
    other_sender,
)
from katod.agents.protocol import dict_of, text_of
from katod.events import Event
from katod.model import Record

if TYPE_CHECKING:
    from katod.agents.claude.adapter import Claude


def translate(claude: "Claude", value: dict[str, Any], record: Record) -> list[Event]:
    """Translate one record: what the person said, what the client said for them, and results of tools."""
    content = dict_of(value.get("message")).get("content")
    if isinstance(content, str):
        return _text(claude, value, record, content, "0")
    if not isinstance(content, list):
        return [claude.raw(record, "user", value)]
    out: list[Event] = []
    images: list[dict[str, Any]] = []
    claude.take_blobs()
    for n, block in enumerate(content):
        block_type = block.get("type") if isinstance(block, dict) else None
        if block_type == "text":
            out += _text(claude, value, record, text_of(block.get("text")), str(n))
        elif block_type == "tool_result":
            out += tools.results(claude, value, record, block, n)
        elif block_type in ("image", "document"):
            images.append(claude.image(block))
        else:
            out.append(claude.raw(record, f"user/{block_type}", block, f"{n}", value))
    return claude.with_images(out, images, value, record) if images else out


def _text(claude: "Claude", value: dict[str, Any], record: Record, text: str, n: str) -> list[Event]:
    if text.strip() in INTERRUPTED:
        return [claude.event(ev.TURN_END, {"reason": "aborted"}, value, record, n)]
    if not text.strip():
        return []
    if value.get("isCompactSummary"):
        return [claude.system(value, record, text, "compact-summary", n)]
    if value.get("isMeta"):
        return [claude.system(value, record, text, "meta", n)]
    said = classify(text)
    if said.subtype and said.subtype not in ("slash-command", "shell"):
        return [claude.system(value, record, text, said.subtype, n)]
    if sender := other_sender(value):
        return [claude.system(value, record, text, sender, n)]
    words, reminder = cut_reminder(said.text) if said.plain else (said.text, "")
    out = [_said(claude, value, record, words, said, n)]
    if reminder.rstrip().endswith(REMINDER_END):
        out.append(claude.system(value, record, reminder, "reminder", f"{n}r"))
    elif reminder:  # a person may write of reminders; shown, but nobody is proven to have typed it
        out.append(_said(claude, value, record, reminder, said._replace(plain=False), f"{n}r"))
    return out


def _said(claude: "Claude", value: dict[str, Any], record: Record, text: str, said: Said, n: str) -> Event:
    person = is_person(value, subagent=claude.subagent)
    typed = said.plain and (said.shape if person is None else person)
    payload = {"text": text, "subtype": said.subtype} if said.subtype else {"text": text}
    return claude.event(ev.USER_MESSAGE, payload, value, record, n, typed=typed)
