"""Claude Code: text typed while the agent worked, as an attachment record."""

from typing import Any

from katod import events as ev
from katod.agents.claude.builder import ClaudeBuilder
from katod.agents.claude.text import Said, classify, is_person, other_sender
from katod.agents.fields import dicts_of, text_of
from katod.events import Event
from katod.model import Record


def prompt(new: ClaudeBuilder, record: Record, row: dict[str, Any]) -> list[Event]:
    """Translate a `queued_command`: a message if a person sent it, otherwise a system message."""
    text, images = _content(new, row)
    if not text.strip() and not images:
        return []
    said = classify(text)
    if sender := _sender(row, said):
        return [new.system(record, text, sender, "0")]
    person = is_person(row, subagent=bool(new.main.subagent or record.value.get("isSidechain")))
    typed = row.get("commandMode") == "prompt" and (said.shape if person is None else person)
    out = [new.event(ev.USER_MESSAGE, {"text": text}, record, typed=typed)]
    return new.with_images(out, images, record) if images else out


def _sender(row: dict[str, Any], said: Said) -> str:
    """Return what kind of text this is if no person sent it, otherwise an empty string.

    Only the mode `prompt` is a person's. Without a mode, the form of the text decides.
    """
    mode = row.get("commandMode")
    if mode not in (None, "prompt") or not said.plain or (mode is None and not said.shape):
        return said.subtype or text_of(mode) or "queued"
    return other_sender(row)


def _content(new: ClaudeBuilder, row: dict[str, Any]) -> tuple[str, list[dict[str, Any]]]:
    prompt = row.get("prompt")
    if isinstance(prompt, str):
        return prompt, []
    blocks = dicts_of(prompt)
    texts = [text_of(block.get("text")) for block in blocks if block.get("type") == "text"]
    return "\n".join(texts), [new.image(block) for block in blocks if block.get("type") in ("image", "document")]
