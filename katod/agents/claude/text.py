"""Claude Code: which text blocks of `user` records are the person's own words (format notes, A.4)."""

import re
from typing import Any, Final, NamedTuple

# Explicit marks, from about 2.1.161 on: who sent the prompt. They decide where they are written.
PERSON_SOURCES: Final = frozenset({"typed", "queued", "suggestion_accepted", "sdk"})
PERSON_ORIGIN: Final = "human"
# Records that the client wrote under the user's name.
NOT_A_PERSON: Final = ("isSidechain", "isMeta", "isCompactSummary", "isVisibleInTranscriptOnly")

# Envelopes around text that nobody typed, and what they are.
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


class Said(NamedTuple):
    """What a text block is: the words, a subtype where they are not plain words, and the proof.

    `plain` is true for words in the person's own form; `shape` is true when the form alone proves it.
    """

    text: str
    subtype: str = ""
    plain: bool = True
    shape: bool = True


def classify(text: str) -> Said:
    """Classify a text block of a user record by its form."""
    head = text.lstrip()
    if head.startswith(_INTERRUPTION):
        return Said(text, plain=False, shape=False)  # more than the client writes there: shown, but no proof
    if not head.startswith(("<", "Caveat: ")):
        return Said(text)
    if head.startswith(("<command-name>", "<command-message>")):
        return Said(_slash_command(text), "slash-command", plain=False, shape=False)
    shell = _SHELL.match(head)
    if shell:
        return Said(f"! {shell[1].strip()}", "shell", plain=False, shape=False)
    for opening, subtype in ENVELOPES.items():
        if head.startswith(opening):
            return Said(text, subtype, plain=False, shape=False)
    return Said(text, shape=not _TAG.match(head))


def is_person(record: dict[str, Any], *, subagent: bool) -> bool | None:
    """Return whether a person sent this record; None when only the form of the text can tell."""
    if subagent or any(record.get(flag) for flag in NOT_A_PERSON) or _answers_a_call(record):
        return False
    source, origin = record.get("promptSource"), record.get("origin")
    kind = origin.get("kind") if isinstance(origin, dict) else None
    if source is None and kind is None:
        return None
    return (source is None or source in PERSON_SOURCES) and kind in (None, PERSON_ORIGIN)


def _answers_a_call(record: dict[str, Any]) -> bool:
    """Return whether a record brings a tool's result: the rest of it is not the person's either."""
    message = record.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    blocks = content if isinstance(content, list) else ()
    return "toolUseResult" in record or any(
        isinstance(block, dict) and block.get("type") == "tool_result" for block in blocks
    )


def other_sender(record: dict[str, Any]) -> str:
    """Return who sent a record that is marked as not a person's; empty where no mark says so."""
    source, origin = record.get("promptSource"), record.get("origin")
    kind = origin.get("kind") if isinstance(origin, dict) else None
    if isinstance(kind, str) and kind != PERSON_ORIGIN:
        return kind
    return source if isinstance(source, str) and source not in PERSON_SOURCES else ""


def cut_reminder(text: str) -> tuple[str, str]:
    """Split a text before a reminder that the client appended to it."""
    at = text.find(REMINDER)
    return (text, "") if at <= 0 else (text[:at].rstrip(), text[at:])


def _slash_command(text: str) -> str:
    name, args = _element(text, "command-name"), _element(text, "command-args")
    shown = f"/{name.strip().lstrip('/')}" if name is not None else ""
    return f"{shown} {(args or '').strip()}".strip()


def _element(text: str, name: str) -> str | None:
    """Return the text of the first element of a name, None where there is none."""
    inner = text.partition(f"<{name}>")[2]
    said, end, _ = inner.partition(f"</{name}>")
    return said if end else None
