"""The output of a tool as a transcript shows it: without what a client adds for its model, and not too long. Pure."""

import re
from collections.abc import Callable
from typing import Any, Final

import orjson

from katod.agents.toolcalls import words_of_refusal
from katod.agents.tooltable import Family
from katod.formats.transcript.content import Inline, Line
from katod.formats.transcript.turn import duration

LONGEST: Final = 16_000  # characters of one result
_LONGEST_LINE: Final = 160
_NOTEWORTHY_MS: Final = 1000
_FAR_LINE: Final = 400
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
_ENDS: Final = ("</system-reminder>", "</shell_metadata>", "</bash_metadata>", "</usage>")
_LAST_LINES: Final = ("Command exited with code ", "agentId: ")
_FAR: Final = 16_384  # characters before the end that are searched for it
_WRAPPERS: Final = re.compile(r"</?(?:tool_use_error|untrusted_context|output|(?:bash-)?std(?:out|err))>\n?")
# Gemini CLI writes what a command printed between these.
_GEMINI: Final = "Output: "
_GEMINI_AFTER: Final = re.compile(
    r"(?:\n(?:Error: \(none\)|Exit Code: -?\d+|Signal: \w+|Background PIDs: [^\n]*|Process Group PGID: \d+))+\Z"
)
_PACKED: Final = ('{"output"', '{"chunk_id"')  # Codex: the output as a field of its record
_NEAR: Final = 60  # lines before the end in which an error is looked for
_ERROR: Final = re.compile(r"(?:error|fatal|[\w.]*(?:Error|Exception))(?: ?\[[^\]]{1,40}\])?: ?\S")
_TRAILER: Final = re.compile(
    r"\[rerun: \w+\]|(?:Node\.js|Bun) v\d[\w. ()]*|Background PIDs: .*|Process Group PGID: \d+|[\])}]+;?"
    r"|error: script .* exited with code \d+|(?:npm (?:ERR!|error) )?A complete log of this run .*|.*-debug-\d+\.log"
)
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
    while _may_have_end(text) and (after := _AFTER.search(text, max(0, len(text) - _FAR))):
        text = text[: after.start()].rstrip()
    return text


def _may_have_end(text: str) -> bool:
    """Return False if a text cannot end with what clients add: nearly always, and far sooner than by a search."""
    if text.endswith(_ENDS):
        return True
    last = text[text.rfind("\n") + 1 :]
    return last.startswith(_LAST_LINES) or "<shellId: " in last


def shortened(text: str, most_lines: int) -> str:
    """Return the head and the tail of a long text, with a line that says how much is missing; 0 lines: all of it."""
    if not most_lines:
        return text
    lines = text.split("\n")
    if len(lines) > most_lines:
        first = most_lines * 2 // 3
        left = len(lines) - most_lines
        text = "\n".join([*lines[:first], f"… {left:,} lines left out …", *lines[first - most_lines :]])
    if len(text) <= LONGEST:
        return text
    head, tail = _whole_lines(text[: LONGEST * 2 // 3]), _whole_lines(text[-LONGEST // 3 :][::-1])[::-1]
    return f"{head}\n… {len(text) - len(head) - len(tail):,} characters left out …\n{tail}"


def _whole_lines(text: str) -> str:
    """Return a text up to the end of a line, if one ends near its end."""
    end = text.rfind("\n", len(text) - _FAR_LINE)
    return text[:end] if end > 0 else text


def outcome(payload: dict[str, Any], redact: Callable[[str], str], *, ran: bool) -> Line:
    """Return the outcome of a call if it failed or was refused, with its result redacted; empty if all is well.

    `ran`: the call was a command, whose output ends with what went wrong; other tools say it first.
    """
    if payload.get("denied"):
        said = " ".join(redact(words_of_refusal(payload["text"])).split())  # all of it: a person's words
        return (Inline("text", f"declined: {said}" if said else "declined"),)
    if not payload.get("isError"):
        return (Inline("text", "interrupted"),) if payload.get("status") == "interrupted" else ()
    return _failure(payload.get("exitCode"), redact(output_of(payload["text"])), ran=ran)


def _failure(code: int | None, said: str, *, ran: bool) -> Line:
    """Return how a call failed and why; a command that says nothing, as a search without a hit, has no why."""
    if ran and code is not None and not said.strip():
        return (Inline("text", f"no output, exit {code}"),)
    failed = "failed" if code is None else f"failed, exit {code}"
    why = reason(said) if ran else _cut(_first_said(said))
    return (Inline("text", f"{failed}:"), Inline("code", why)) if why else (Inline("text", failed),)


def _first_said(text: str) -> str:
    """Return the first line of a text, with the next one if it announces that."""
    lines = [line for row in text.split("\n", 20) if (line := row.strip())]
    return " ".join(lines[: 2 if lines and lines[0].endswith(":") else 1])


def is_commit(command: str) -> bool:
    """Return whether a command may commit."""
    return "commit" in command and _COMMIT.search(command) is not None


def commits(text: str) -> list[tuple[str, str]]:
    """Return the commits that `git` reported: hash, subject."""
    return [(match[1], match[2].strip()) for match in _COMMITTED.finditer(text)]


def reason(text: str) -> str:
    """Return the line of a failed command's output that says most: the last error, or else the last line, cut if long.

    What runtimes and clients add below it says nothing.
    """
    lines = [
        line for row in text.rstrip()[-_FAR:].split("\n") if (line := row.strip()) and not _TRAILER.fullmatch(line)
    ]
    errors = (line for line in reversed(lines[-_NEAR:]) if _ERROR.match(line))
    return _cut(next(errors, lines[-1] if lines else ""))


def _cut(line: str) -> str:
    return line if len(line) <= _LONGEST_LINE else f"{line[: _LONGEST_LINE - 1].rstrip()}…"


def took(payload: dict[str, Any], family: Family) -> Line:
    """Return how long a sub-agent took, nothing for other calls."""
    milliseconds = payload.get("durationMs", 0)
    if family != "agent" or milliseconds < _NOTEWORTHY_MS or payload.get("status") == "launched":
        return ()
    return (Inline("text", f"done in {duration(milliseconds / 1000)}"),)


def notes_about(payload: dict[str, Any], shown: str) -> tuple[str, ...]:
    """Return what the title of a call's block says about its result."""
    if payload.get("status") == "launched":
        return ("in the background",)
    notes = [ended] if (ended := _ended(payload)) else []
    if shown.strip():
        notes.append(count_lines(shown))
    milliseconds = payload.get("durationMs", 0)
    if milliseconds >= _NOTEWORTHY_MS:
        notes.append(f"{milliseconds / 1000:.1f} s" if milliseconds < 60_000 else duration(milliseconds / 1000))
    return tuple(notes)


def _ended(payload: dict[str, Any]) -> str:
    """Return how a call ended, empty if all is well."""
    code = payload.get("exitCode")
    if payload.get("denied"):
        return "declined"
    if code is not None and (code or payload.get("isError")):
        return f"exit {code}"
    if payload.get("isError"):
        return "failed"
    return "interrupted" if payload.get("status") == "interrupted" else ""


def count_lines(text: str) -> str:
    """Return `14 lines`."""
    count = text.count("\n") + 1
    return f"{count:,} line{'s' if count > 1 else ''}"


def compacted(payload: dict[str, Any]) -> str:
    """Return the line about a compaction: how long the context was, and is, as far as the agent says."""
    before, after = payload.get("tokensBefore"), payload.get("tokensAfter")
    sizes = [f"{size:,}" for size in (before, after) if isinstance(size, int)]
    if isinstance(before, int) and not isinstance(after, int):
        return f"Context compacted from {before:,} tokens"
    return f"Context compacted: {' → '.join(sizes)} tokens" if sizes else "Context compacted"


def committed(made: list[tuple[str, str]], redact: Callable[[str], str]) -> Line:
    """Return the outcome that names commits: hash and subject of each."""
    spans: list[Inline] = []
    for number, subject in made:
        spans += [Inline("text", "committed"), Inline("code", number), Inline("text", redact(subject))]
    return tuple(spans)
