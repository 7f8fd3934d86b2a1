"""Claude Code: `user` records, most of which do not come from the user."""

from typing import Any

from katod import events as ev
from katod.agents.claude import tasks, teammates
from katod.agents.claude.builder import ClaudeBuilder
from katod.agents.claude.text import (
    INTERRUPTED,
    PLAN,
    REMINDER_END,
    TextClass,
    classify,
    cut_reminder,
    is_person,
    other_sender,
    summary_line,
    texts_of,
)
from katod.agents.claude.tools import Tools
from katod.agents.fields import dict_of, text_of
from katod.events import Event
from katod.model import Record


class UserRecords:
    """Translates what the person said, what the client said for them, and the results of tools."""

    def __init__(self, new: ClaudeBuilder, tools: Tools) -> None:
        self._new = new
        self._tools = tools
        self._person: bool | None = None  # whether a person sent the record being translated

    def translate(self, record: Record) -> list[Event]:
        """Translate one record."""
        self._person = is_person(record.value, subagent=bool(self._new.main.subagent))
        content = dict_of(record.value.get("message")).get("content")
        if text_of(record.value.get(PLAN)).strip():
            return self._plan(record, record.value[PLAN], "\n".join(texts_of(content)))
        if isinstance(content, str):
            return self._text(record, content, 0)
        if not isinstance(content, list):
            return [self._new.raw(record, "user", record.value)]
        out: list[Event] = []
        images: list[dict[str, Any]] = []
        for n, block in enumerate(content):
            block_type = block.get("type") if isinstance(block, dict) else None
            if block_type == "text":
                out += self._text(record, text_of(block.get("text")), n)
            elif block_type == "tool_result":
                out += self._tools.results(record, block, n)
            elif block_type in ("image", "document"):
                images.append(self._new.image(block))
            else:
                out.append(self._new.raw(record, f"user/{block_type}", block, n))
        return self._new.with_images(out, images, record) if images else out

    def queued(self, offset: int, text: str, time: str) -> list[Event]:
        """Translate a text from the queue that has no record of its own."""
        self._person = False if self._new.main.subagent else None
        return self._text(Record(offset, {"type": "queue-operation", "timestamp": time}), text, 0)

    def _plan(self, record: Record, plan: str, sent: str) -> list[Event]:
        """Return an accepted plan as what it is, the assistant's; the client's words around it are the client's."""
        before, _, after = sent.partition(plan)
        out = [self._new.event(ev.ASSISTANT_MESSAGE, {"text": plan, "phase": "plan"}, record)]
        around = "\n\n".join(part.strip() for part in (before, after) if part.strip())
        return [*out, self._new.system(record, around, "plan", 1)] if around else out

    def _text(self, record: Record, text: str, n: int) -> list[Event]:
        if text.strip() in INTERRUPTED:
            return [self._new.event(ev.TURN_END, {"reason": "aborted"}, record, n)]
        if not text.strip():
            return []
        said = classify(text)
        if said.subtype == ev.Between.TEAMMATE:
            return teammates.messages(self._new, record, text, n)
        if subtype := _not_typed(record.value, said):
            return self._not_typed(record, text, subtype, n)
        words, reminder = cut_reminder(said.text) if said.plain and not said.pasted else (said.text, "")
        out = [self._said(record, said._replace(text=words), n)]
        if reminder.rstrip().endswith(REMINDER_END):
            out.append(self._new.system(record, reminder, "reminder", f"{n}r"))
        elif reminder:  # a person may write about reminders: shown, but not known to be typed
            out.append(self._said(record, said._replace(text=reminder, plain=False), f"{n}r"))
        return out

    def _not_typed(self, record: Record, text: str, subtype: str, n: int) -> list[Event]:
        if subtype == ev.Between.SUMMARY:
            about = {"summary": line} if (line := summary_line(text)) else {}
            return [self._new.event(ev.SYSTEM_MESSAGE, {"text": text, "subtype": subtype} | about, record, n)]
        answers = tasks.answer(self._new, record, text) if subtype == tasks.NOTIFICATION else []
        return [self._new.system(record, text, subtype, n, teammates.sender(record.value)), *answers]

    def _said(self, record: Record, said: TextClass, n: int | str) -> Event:
        typed = said.plain and (said.shape if self._person is None else self._person)
        return self._new.event(ev.USER_MESSAGE, said.payload, record, n, typed=typed)


def _not_typed(fields: dict[str, Any], said: TextClass) -> str:
    """Return the kind of a text that the client or another agent wrote, empty for a person's."""
    if fields.get("isCompactSummary"):
        return ev.Between.SUMMARY
    if fields.get("isMeta"):
        return "meta"
    if said.subtype and said.subtype not in ("slash-command", "shell"):
        return said.subtype
    return other_sender(fields)
