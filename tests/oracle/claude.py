"""The oracle for Claude Code: reads one session file into four multisets."""

import hashlib
import json
import re
from pathlib import Path
from typing import Any

from tests.oracle.common import (
    NO_CONTENT,
    Record,
    Sets,
    as_dict,
    as_text,
    joined_texts,
    records,
    shell_text,
)

# A user text that begins with one of these comes from the client, not the person.
ENVELOPES = (
    "<local-command-stdout>",
    "<local-command-stderr>",
    "<local-command-caveat>",
    "<bash-stdout>",
    "<bash-stderr>",
    "<task-notification>",
    "<teammate-message",
    "<system-reminder>",
    "<user-memory-input>",
    "<ide_opened_file>",
    "<ide_selection>",
    "Caveat: The messages below",
)
# Record types that are bookkeeping; any other unknown type becomes another kind of event.
BOOKKEEPING = frozenset(
    (
        "api-request",
        "api-request-blob",
        "api-request-resumed",
        "api-request-shape",
        "atis-latch",
        "attribution-snapshot",
        "bridge-session",
        "cost-state",
        "file-history-delta",
        "file-history-snapshot",
        "frame-link",
        "last-prompt",
        "mode",
        "relocated",
        "result",
        "started",
        "tools-used",
        "worktree-state",
    )
)
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
# The tags around pasted text; a closing one repeats the id of its opening one.
_PASTE = re.compile(r'<pasted_content id="([0-9a-f]+)">(.*?)</pasted_content id="\1">', re.DOTALL)
_SAVED = re.compile(r"saved to:?\s*(.+)|(\S*tool-results[/\\]\S+)")


def read(path: Path) -> Sets:
    """Read every record of the file into one of the four multisets, or count it in `other`."""
    return _Session(path).read()


class _Session:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.sets = Sets()
        self.once: set[tuple[str, int]] = set()
        self.queue: list[str] = []
        self.used: dict[str, Record] = {}  # by message: the last of its records has the final figures

    def read(self) -> Sets:
        for _, line, row in records(self.path, self.sets.other):
            self._record(row, line)
        for text in self.queue:
            self.sets.user("", _PASTE.sub(r"\2", text))
        for message, counts in self.used.items():
            self.sets.usage(message, counts, ("input_tokens", "output_tokens"))
        return self.sets

    def _record(self, row: Record, line: bytes) -> None:
        kind = as_text(row.get("type")) or "untyped"
        ident = as_text(row.get("uuid")) or "~" + hashlib.sha256(line).hexdigest()
        self._met(row)
        if kind in ("user", "assistant"):
            self._message(kind, row, ident)
            if not row.get("isApiErrorMessage"):
                self._used(as_dict(row.get("message")))
        elif kind == "attachment":
            self._attachment(row, ident)
        elif kind == "queue-operation":
            self._queue(row)
        elif kind == "progress":
            self.sets.other[f"progress/{as_dict(row.get('data')).get('type')}"] += 1
        else:
            kind = f"system/{row.get('subtype')}" if kind == "system" else kind
            self.sets.other[kind if kind in BOOKKEEPING else f"other:{kind}"] += 1

    def _used(self, message: Record) -> None:
        """Remember what a message used so far; the client's own messages use nothing."""
        named, counts = message.get("id"), message.get("usage")
        if isinstance(named, str) and isinstance(counts, dict) and message.get("model") != "<synthetic>":
            self.used[named] = counts

    def _message(self, kind: str, row: Record, ident: str) -> None:
        """Count each block only once, identified by its record's uuid and its number."""
        content = as_dict(row.get("message")).get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if not isinstance(blocks, list) or not blocks:
            self.sets.other[f"other:{kind}/no-blocks"] += 1
            return
        for number, block in enumerate(blocks):
            if (ident, number) in self.once:
                self.sets.other[f"{kind}/repeated"] += 1
                continue
            self.once.add((ident, number))
            if kind == "user":
                self._user_block(row, as_dict(block))
            else:
                self._assistant_block(row, as_dict(block))

    def _user_block(self, row: Record, block: Record) -> None:
        kind = as_text(block.get("type"))
        if kind == "text":
            text = as_text(block.get("text"))
            if "planContent" in row:  # accepted by the person, written by the assistant
                self.sets.assistant(as_text(row.get("uuid")), as_text(row["planContent"]))
                return
            pasted = _PASTE.sub(r"\2", text)
            machine, said = ("", pasted) if pasted != text else person(row, text)
            if pasted == text and said.find("<system-reminder>") > 0:
                said = said[: said.find("<system-reminder>")].rstrip()
            if not text.strip():
                self.sets.other["user/empty-text"] += 1
            elif machine:
                self.sets.other[f"other:user/{machine}"] += 1
            else:
                self.sets.user(as_text(row.get("uuid")), said)
        elif kind == "tool_result":
            text = spilled(self.path, row, result_text(block.get("content")))
            self.sets.result(as_text(block.get("tool_use_id")), text)
        else:
            self.sets.other[f"other:user/{kind or type(block).__name__}"] += 1

    def _assistant_block(self, row: Record, block: Record) -> None:
        kind = as_text(block.get("type"))
        if kind == "text":
            self._assistant_text(row, as_text(block.get("text")))
        elif kind in ("tool_use", "server_tool_use"):
            name = as_text(block.get("name"))
            self.sets.call(as_text(block.get("id")), name, block.get("input") or {})
        elif kind == "thinking" and not as_text(block.get("thinking")):
            self.sets.other["assistant/empty-thinking"] += 1
        else:
            self.sets.other[f"other:assistant/{kind}"] += 1

    def _assistant_text(self, row: Record, text: str) -> None:
        if row.get("isApiErrorMessage"):
            self.sets.other["other:assistant/api-error"] += 1
        elif as_dict(row.get("message")).get("model") == "<synthetic>":
            self.sets.other["other:assistant/synthetic"] += 1
        elif text.strip() in NO_CONTENT:
            self.sets.other["assistant/empty-text"] += 1
        else:
            self.sets.assistant(as_text(row.get("uuid")), text)

    def _attachment(self, row: Record, ident: str) -> None:
        """Read an attachment; only a queued command can contain a person's message."""
        attachment = as_dict(row.get("attachment"))
        kind = as_text(attachment.get("type"))
        if kind != "queued_command":
            self.sets.other[f"attachment/{kind}"] += 1
            return
        text, mode = joined_texts(attachment.get("prompt")), attachment.get("commandMode")
        if (ident, 0) in self.once:
            self.sets.other["attachment/repeated"] += 1
        elif other_sender(attachment):
            self.sets.other[f"other:attachment/queued_command/{other_sender(attachment)}"] += 1
        elif text.startswith("<teammate-message"):
            self.sets.other["other:attachment/queued_command/teammate"] += 1
        elif mode == "prompt" or (not mode and not text.startswith("<")):
            self.sets.user(as_text(row.get("uuid")), text)
        else:
            self.sets.other[f"other:attachment/queued_command/{mode}"] += 1
        self.once.add((ident, 0))

    def _queue(self, row: Record) -> None:
        """Remember a person's text; those that went back to the editor are forgotten."""
        operation, text = as_text(row.get("operation")), joined_texts(row.get("content"))
        if operation == "enqueue" and typed(text):
            self.queue.append(text)
            self.sets.held()
        elif operation == "popAll":
            self.queue.clear()
        self.sets.other[f"queue-operation/{operation}"] += 1

    def _met(self, row: Record) -> None:
        """Forget a queued text that has this record of its own."""
        met = next((text for text in self.queue if repeats(row, text)), None)
        if met is not None and row.get("promptSource") != "typed":
            self.queue.remove(met)


def person(row: Record, text: str) -> tuple[str, str]:
    """Return who wrote a user text: ("", the text as katod shows it), or (the kind of machine text, "")."""
    start = text.lstrip()
    if text.strip() in ("[Request interrupted by user]", "[Request interrupted by user for tool use]"):
        return "interrupted", ""
    if row.get("isCompactSummary"):
        return "compact-summary", ""
    if row.get("isMeta"):
        return "meta", ""
    if start.startswith(("<command-name>", "<command-message>")):
        return "", slash_command(start)
    if start.startswith("<bash-input>"):
        return "", shell_text(_inside("bash-input", start))
    for envelope in ENVELOPES:
        if start.startswith(envelope):
            return envelope.strip("<>").split(":")[0].lower(), ""
    return (sender, "") if (sender := other_sender(row)) else ("", text)


def other_sender(row: Record) -> str:
    """Return the sender of a prompt that is marked as not a person's."""
    kind, source = as_dict(row.get("origin")).get("kind"), row.get("promptSource")
    if kind not in (None, "human"):
        return as_text(kind)
    return "" if source in (None, "typed", "queued", "suggestion_accepted", "sdk") else as_text(source)


def slash_command(text: str) -> str:
    """Return a slash command as it was typed: name, then arguments, in whatever order they are stored."""
    name = _inside("command-name", text).strip() or _inside("command-message", text).strip()
    arguments = _inside("command-args", text).strip()
    return f"/{name.removeprefix('/')} {arguments}".rstrip()


def _inside(tag: str, text: str) -> str:
    found = re.search(f"<{tag}>(.*)</{tag}>", text, re.DOTALL)
    return found.group(1) if found else ""


def typed(text: str) -> bool:
    """Return whether a queued text was typed; task notices, as markup or JSON, were not."""
    if not text.strip() or text.lstrip().startswith(ENVELOPES):
        return False
    try:
        return "task_id" not in as_dict(json.loads(text))
    except ValueError:
        return True


def repeats(row: Record, text: str) -> bool:
    """Return whether the record is a prompt with the same text as a queued one."""
    if row.get("type") == "attachment":
        said = joined_texts(as_dict(row.get("attachment")).get("prompt"))
    elif row.get("type") == "user":
        said = joined_texts(as_dict(row.get("message")).get("content"))
    else:
        return False
    return (slash_command(said) if said.startswith("<command-") else said).split() == text.split()


def result_text(content: Any) -> str:
    """Return a result's string, or its texts and the names of the tools it refers to, one per line."""
    if not isinstance(content, list):
        return as_text(content)
    parts = []
    for block in map(as_dict, content):
        if block.get("type") == "text":
            parts.append(as_text(block.get("text")))
        elif block.get("type") == "tool_reference":
            parts.append(as_text(block.get("tool_name")))
    return "\n".join(parts)


def spilled(path: Path, row: Record, text: str) -> str:
    """Return the text of a result that was moved to a file, if the file still exists."""
    if not text.startswith("<persisted-output>"):
        return text
    named = as_text(as_dict(row.get("toolUseResult")).get("persistedOutputPath"))
    if not named:
        found = _SAVED.search(text)
        named = (found.group(1) or found.group(2)).strip() if found else ""
    name = re.split(r"[/\\]", named)[-1]
    uuid = _UUID.search(path.stem)
    for session in (path.stem, uuid.group() if uuid else path.stem):
        file = path.parent / session / "tool-results" / name
        if name and file.is_file():
            return file.read_bytes().decode("utf-8", "replace")
    return text
