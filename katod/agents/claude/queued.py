"""Claude Code: text typed while the agent worked, as an attachment record."""

from typing import Any

from katod import events as ev
from katod.agents.claude import tasks, teammates
from katod.agents.claude.builder import ClaudeBuilder
from katod.agents.claude.text import TextClass, classify, is_person, other_sender, texts_of
from katod.agents.fields import dicts_of, text_of
from katod.events import Event
from katod.model import Record


def prompt(new: ClaudeBuilder, record: Record, row: dict[str, Any], *, is_recorded: bool) -> list[Event]:
    """Translate a `queued_command`: a message if a person sent it, otherwise a system message.

    If its text is recorded already, only its images are left.
    """
    images, text = _images(new, row), text_in(row)
    said = [] if is_recorded or not text.strip() else _said(new, record, row, text)
    if not images or (said and said[0].kind == ev.SYSTEM_MESSAGE):
        return said
    return new.with_images(said, images, record)


def _said(new: ClaudeBuilder, record: Record, row: dict[str, Any], text: str) -> list[Event]:
    said = classify(text)
    if said.subtype == ev.Between.TEAMMATE:
        return teammates.messages(new, record, text, "0")
    if sender := _sender(row, said):
        answer = tasks.answer(new, record, text) if said.subtype == tasks.NOTIFICATION else []
        return [new.system(record, text, sender, "0", teammates.sender(row)), *answer]
    person = is_person(row, subagent=bool(new.main.subagent or record.value.get("isSidechain")))
    sent = row.get("commandMode") == "prompt" and (said.shape if person is None else person)
    return [new.event(ev.USER_MESSAGE, said.payload, record, typed=sent)]


def text_in(row: dict[str, Any]) -> str:
    """Return the text of a `queued_command`."""
    return "\n".join(texts_of(row.get("prompt")))


def _sender(row: dict[str, Any], said: TextClass) -> str:
    """Return what kind of text this is if no person sent it, otherwise an empty string.

    Only the mode `prompt` is a person's. Without a mode, the form of the text decides.
    """
    mode = row.get("commandMode")
    if mode not in (None, "prompt") or not said.plain or (mode is None and not said.shape):
        return said.subtype or text_of(mode) or "queued"
    return other_sender(row)


def _images(new: ClaudeBuilder, row: dict[str, Any]) -> list[dict[str, Any]]:
    return [new.image(block) for block in dicts_of(row.get("prompt")) if block.get("type") in ("image", "document")]
