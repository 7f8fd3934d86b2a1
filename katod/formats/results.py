"""The output of a tool as a transcript shows it: without what a client adds for its model, and not too long. Pure."""

import re
from collections.abc import Callable
from typing import Any, Final

import orjson

from katod.agents.toolcalls import words_of_refusal
from katod.formats.content import Line, Span

LONGEST: Final = 16_000  # characters of one result
_LONGEST_LINE: Final = 160
# What clients add to the output for their model stands before or after it; the same words within it are output.
_BEFORE: Final = re.compile(
    r"Exit code \d+\n|(?:(?:Chunk ID: \w+|Wall time:? [\d.]+ seconds|Process exited with code \d+|Exit code: \d+"
    r"|Original token count: \d+|Total output lines: \d+|Script completed)\n)+(?:Output:\n)?"
)
_AFTER: Final = re.compile(
    r"(?:<(system-reminder|shell_metadata|bash_metadata)>(?:(?!</\1>).)*+</\1>"
    r"|<shellId: \w+ completed with exit code -?\d+>|^Command exited with code \d+"
    r"|^agentId: \w+ \([^\n]*\)(?:\n<usage>[^<]*</usage>)?)\Z",
    re.DOTALL | re.MULTILINE,
)
_FAR: Final = 16_384  # characters before the end that are searched for it
_WRAPPERS: Final = re.compile(r"</?(?:tool_use_error|untrusted_context|output|stdout|stderr)>\n?")
# Gemini CLI writes what a command printed between these.
_GEMINI: Final = "Output: "
_GEMINI_AFTER: Final = re.compile(
    r"(?:\n(?:Error: \(none\)|Exit Code: -?\d+|Signal: \w+|Background PIDs: [^\n]*|Process Group PGID: \d+))+\Z"
)
_PACKED: Final = ('{"output"', '{"chunk_id"')  # Codex: the output as a field of its record
_COMMITTED: Final = re.compile(r"^\[[^\]\n]{1,200} ([0-9a-f]{7,40})\] (.*)$", re.MULTILINE)
_COMMIT: Final = re.compile(r"\bgit\b[^\n;|&]*\bcommit\b")


def output_of(text: str) -> str:
    """Return a result without what the client added for its model."""
    text = _unpacked(text)
    if before := _BEFORE.match(text):
        text = text[before.end() :]
    text = _without_end(text.rstrip())
    if text.startswith("<") and text.endswith(">") and _WRAPPERS.match(text):
        text = _WRAPPERS.sub("", text)
    if text.startswith(_GEMINI) and (after := _GEMINI_AFTER.search(text, max(0, len(text) - _FAR))):
        text = text[len(_GEMINI) : after.start()]
    return text.strip("\n")


def _unpacked(text: str) -> str:
    if not text.startswith(_PACKED):
        return text
    try:
        row = orjson.loads(text)
    except orjson.JSONDecodeError:
        return text
    output = row.get("output")
    return output if isinstance(output, str) and ("metadata" in row or "chunk_id" in row) else text


def _without_end(text: str) -> str:
    while after := _AFTER.search(text, max(0, len(text) - _FAR)):
        text = text[: after.start()].rstrip()
    return text


def shortened(text: str, most_lines: int) -> str:
    """Return the head and the tail of a long text, with a line that says how much is missing; 0 lines: all of it."""
    if not most_lines:
        return text
    lines = text.split("\n")
    if len(lines) > most_lines:
        head = most_lines * 2 // 3
        tail = most_lines - head
        left = len(lines) - most_lines
        text = "\n".join([*lines[:head], f"… {left:,} lines left out …", *lines[-tail:]])
    if len(text) <= LONGEST:
        return text
    head = LONGEST * 2 // 3
    return f"{text[:head]}\n… {len(text) - LONGEST:,} characters left out …\n{text[head - LONGEST :]}"


def outcome(payload: dict[str, Any], redact: Callable[[str], str]) -> Line:
    """Return what came of a call if it failed or was refused, with its result redacted; empty if all is well."""
    if payload.get("denied"):
        said = " ".join(redact(words_of_refusal(payload["text"])).split())  # all of it: a person's words
        return (Span("text", f"declined: {said}" if said else "declined"),)
    if not payload.get("isError"):
        return (Span("text", "interrupted"),) if payload.get("status") == "interrupted" else ()
    code = payload.get("exitCode")
    failed = "failed" if code is None else f"failed, exit {code}"
    last = last_line(redact(output_of(payload["text"])))
    return (Span("text", f"{failed}:"), Span("code", last)) if last else (Span("text", failed),)


def is_commit(command: str) -> bool:
    """Return whether a command may commit."""
    return "commit" in command and _COMMIT.search(command) is not None


def commits(text: str) -> list[tuple[str, str]]:
    """Return the commits that `git` reported: hash, subject."""
    return [(match[1], match[2].strip()) for match in _COMMITTED.finditer(text)]


def last_line(text: str) -> str:
    """Return the last line of a text that is not blank, cut if it is long."""
    last = text.rstrip().rpartition("\n")[2].strip()
    return last if len(last) <= _LONGEST_LINE else f"{last[: _LONGEST_LINE - 1].rstrip()}…"
