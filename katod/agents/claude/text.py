"""Claude Code: which text blocks of `user` records a person typed."""

import re
from typing import Any, Final, NamedTuple

from katod import events as ev
from katod.agents.claude.pasted import unwrap
from katod.agents.fields import dicts_of, text_of
from katod.model import Span, TypedText

# Explicit marks of who sent the prompt, from about 2.1.161 on. If present, they decide.
PERSON_SOURCES: Final = frozenset({"typed", "queued", "suggestion_accepted", "sdk"})
PERSON_ORIGIN: Final = "human"
_PEER: Final = "peer"
# The plan that a person accepted, in the record with which the client starts to carry it out.
PLAN: Final = "planContent"
# Marks of records that the client wrote in the user's name.
NOT_A_PERSON: Final = ("isSidechain", "isMeta", "isCompactSummary", "isVisibleInTranscriptOnly", PLAN)

# Envelopes around text that nobody typed, and their kind.
ENVELOPES: Final = {
    "<local-command-stdout>": "local-command-output",
    "<local-command-stderr>": "local-command-output",
    "<local-command-caveat>": "caveat",
    "Caveat: The messages below": "caveat",
    "<bash-stdout>": "shell-output",
    "<bash-stderr>": "shell-output",
    "<task-notification>": "task-notification",
    "<teammate-message": "teammate-message",
    "<system-reminder>": "reminder",
    "<user-memory-input>": "memory",
    "<ide_opened_file>": "ide-context",
    "<ide_selection>": "ide-context",
}
INTERRUPTED: Final = ("[Request interrupted by user]", "[Request interrupted by user for tool use]")
_INTERRUPTION: Final = "[Request interrupted by user"
REMINDER: Final = "<system-reminder>"
REMINDER_END: Final = "</system-reminder>"
_TAG: Final = re.compile(r"<[a-z][a-z0-9_-]*[ >]")
_SHELL: Final = re.compile(r"<bash-input>(.*?)</bash-input>", re.DOTALL)


_ABOVE_SUMMARY: Final = ("This session is being continued", "<")
_SUMMARY_HEAD: Final = 4000  # characters


class TextClass(NamedTuple):
    """The classification of a text block: the text, its subtype if it is not plain text, and what its form shows.

    `plain` is true for text in the form that people type; `shape` is true if the form alone is sufficient evidence.
    `pasted` are the parts of the text that the client marks as pasted; the marks themselves are not in the text.
    """

    text: str
    subtype: str = ""
    plain: bool = True
    shape: bool = True
    pasted: tuple[Span, ...] = ()

    @property
    def payload(self) -> dict[str, Any]:
        """The payload of the message that this is."""
        payload: dict[str, Any] = {"text": self.text}
        if self.subtype:
            payload["subtype"] = self.subtype
        if self.pasted:
            payload["pasted"] = list(map(list, self.pasted))
        return payload


def classify(text: str) -> TextClass:
    """Classify a text block of a user record by its form."""
    if (typed := unwrap(text)).pasted:
        return TextClass(typed.text, shape=classify(_outside(typed)).shape, pasted=typed.pasted)
    head = text.lstrip()
    if head.startswith(_INTERRUPTION):
        return TextClass(text, plain=False, shape=False)  # longer than the client's text: shown, but not as typed
    if not head.startswith(("<", "Caveat: ")):
        return TextClass(text)
    if head.startswith(("<command-name>", "<command-message>")):
        return TextClass(_slash_command(text), "slash-command", plain=False, shape=False)
    shell = _SHELL.match(head)
    if shell:
        return TextClass(f"! {shell[1].strip()}", "shell", plain=False, shape=False)
    for opening, subtype in ENVELOPES.items():
        if head.startswith(opening):
            return TextClass(text, subtype, plain=False, shape=False)
    return TextClass(text, shape=not _TAG.match(head))


def _outside(typed: TypedText) -> str:
    """Return what of a text is not pasted."""
    bounds = [0, *(at for span in typed.pasted for at in span), len(typed.text)]
    return "".join(typed.text[begin:end] for begin, end in zip(bounds[::2], bounds[1::2], strict=True))


def is_person(record: dict[str, Any], *, subagent: bool) -> bool | None:
    """Return whether a person sent this record, None if only the form of the text can tell."""
    if subagent or any(record.get(flag) for flag in NOT_A_PERSON) or _answers_a_call(record):
        return False
    source, origin = record.get("promptSource"), record.get("origin")
    kind = origin.get("kind") if isinstance(origin, dict) else None
    if source is None and kind is None:
        return None
    return (source is None or source in PERSON_SOURCES) and kind in (None, PERSON_ORIGIN)


def _answers_a_call(record: dict[str, Any]) -> bool:
    """Return whether a record contains a tool's result: nothing else in it is the person's either."""
    message = record.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    blocks = content if isinstance(content, list) else ()
    return "toolUseResult" in record or any(
        isinstance(block, dict) and block.get("type") == "tool_result" for block in blocks
    )


def other_sender(record: dict[str, Any]) -> str:
    """Return who sent a record that is marked as not a person's, empty if it is not marked."""
    source, origin = record.get("promptSource"), record.get("origin")
    kind = origin.get("kind") if isinstance(origin, dict) else None
    if isinstance(kind, str) and kind != PERSON_ORIGIN:
        return ev.Between.PEER if kind == _PEER else kind
    return source if isinstance(source, str) and source not in PERSON_SOURCES else ""


def cut_reminder(text: str) -> tuple[str, str]:
    """Split off a reminder that the client appended to a text."""
    at = text.find(REMINDER)
    return (text, "") if at <= 0 else (text[:at].rstrip(), text[at:])


def texts_of(content: Any) -> list[str]:
    """Return the texts of a message's content, which is a string or a list of blocks."""
    if isinstance(content, str):
        return [content]
    return [text_of(row.get("text")) for row in dicts_of(content) if row.get("type") == "text"]


def _slash_command(text: str) -> str:
    name, args = _element(text, "command-name"), _element(text, "command-args")
    shown = f"/{name.strip().lstrip('/')}" if name is not None else ""
    return f"{shown} {(args or '').strip()}".strip()


def _element(text: str, name: str) -> str | None:
    """Return the text of the first element with this name, None if there is none."""
    inner = text.partition(f"<{name}>")[2]
    said, end, _ = inner.partition(f"</{name}>")
    return said if end else None


def summary_line(text: str) -> str:
    """Return the first line of a compaction's summary that is about the conversation, empty if there is none.

    The client's own lines, and the headings of the form that it asks for, are not.
    """
    lines = (line.strip() for line in text[:_SUMMARY_HEAD].split("\n"))
    about = (line for line in lines if line and not line.startswith(_ABOVE_SUMMARY) and not line.endswith(":"))
    return next(about, "")
