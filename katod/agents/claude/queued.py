"""Claude Code: a text that was typed while the agent worked, as an attachment of its own (format notes, A.5)."""

from typing import TYPE_CHECKING, Any

from katod import events as ev
from katod.agents.claude.text import classify, is_person, other_sender
from katod.agents.protocol import list_of, text_of
from katod.events import Event
from katod.model import Record

if TYPE_CHECKING:
    from katod.agents.claude.adapter import Claude


def prompt(claude: "Claude", value: dict[str, Any], record: Record, row: dict[str, Any]) -> list[Event]:
    """Translate a `queued_command`: a message where a person sent it, else what the client says by itself."""
    text, images = _content(claude, row)
    mode = row.get("commandMode")
    if not text.strip() and not images:
        return []
    said = classify(text)
    if mode not in (None, "prompt") or not said.plain or (mode is None and not said.shape):
        return [claude.system(value, record, text, said.subtype or text_of(mode) or "queued", "0")]
    if sender := other_sender(row):
        return [claude.system(value, record, text, sender, "0")]
    person = is_person(row, subagent=claude.subagent or bool(value.get("isSidechain")))
    typed = mode == "prompt" and (said.shape if person is None else person)
    out = [claude.event(ev.USER_MESSAGE, {"text": text}, value, record, "0", typed=typed)]
    return claude.with_images(out, images, value, record) if images else out


def _content(claude: "Claude", row: dict[str, Any]) -> tuple[str, list[dict[str, Any]]]:
    prompt = row.get("prompt")
    if isinstance(prompt, str):
        return prompt, []
    blocks = [block for block in list_of(prompt) if isinstance(block, dict)]
    texts = [text_of(block.get("text")) for block in blocks if block.get("type") == "text"]
    return "\n".join(texts), [claude.image(b) for b in blocks if b.get("type") in ("image", "document")]
