"""Claude Code: messages of other agents, several of which may be in one record."""

import re
from html import unescape
from typing import Any, Final

from katod import events as ev
from katod.agents.claude.builder import ClaudeBuilder
from katod.agents.claude.tasks import NOTIFICATION
from katod.agents.claude.text import PERSON_ORIGIN
from katod.agents.fields import dict_of, text_of
from katod.events import Event
from katod.model import Record
from katod.tail.decode import loads

_NOT_AGENTS: Final = (PERSON_ORIGIN, NOTIFICATION)
_CLOSING: Final = "</teammate-message>"
# The next one follows the end of the one before; anywhere else it is content.
_OPENING: Final = re.compile(
    rf'(?:\A|{_CLOSING})\s*<teammate-message((?:\s{{1,9}}[a-z_]{{1,40}}="[^"]{{0,2000}}"){{0,20}})\s{{0,9}}>'
)
_ATTRIBUTE: Final = re.compile(r'([a-z_]{1,40})="([^"]{0,2000})"')


def messages(new: ClaudeBuilder, record: Record, text: str, part: int | str) -> list[Event]:
    """Return the messages in a text of these envelopes, each with its sender; what has no known form is one, too."""
    found = list(_OPENING.finditer(text))
    unknown = text[: found[0].start()] if found else text
    payloads = [{"text": unknown, "subtype": ev.Between.TEAMMATE}] if unknown.strip() or not found else []
    ends = [match.start() for match in found[1:]]
    for match, end in zip(found, [*ends, len(text)], strict=False):
        said = text[match.end() : end].rstrip().removesuffix(_CLOSING).strip("\n")
        payloads.append({"text": said, "subtype": ev.Between.TEAMMATE} | _about(match[1], said))
    names = [f"{part}t{n}" if n else part for n in range(len(payloads))]
    return [new.event(ev.SYSTEM_MESSAGE, payload, record, name) for payload, name in zip(payloads, names, strict=True)]


def sender(fields: dict[str, Any]) -> str:
    """Return the agent that a record names as its sender, empty if it names none."""
    origin = dict_of(fields.get("origin"))
    return "" if origin.get("kind") in _NOT_AGENTS else text_of(origin.get("from"))


def _about(attributes: str, said: str) -> dict[str, str]:
    """Return sender and summary; a message of the client's protocol is called by its type."""
    known = {name: unescape(value) for name, value in _ATTRIBUTE.findall(attributes)}
    about = {"speaker": known.get("teammate_id", ""), "summary": known.get("summary", "") or _protocol(said)}
    return {name: value for name, value in about.items() if value}


def _protocol(said: str) -> str:
    if not said.lstrip().startswith("{"):
        return ""
    try:
        return text_of(dict_of(loads(said)).get("type")).replace("_", " ")
    except ValueError:
        return ""
