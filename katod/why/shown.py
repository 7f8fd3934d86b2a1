"""Attributed lines for programs: JSON, and what `git blame --porcelain` prints. Pure."""

from collections.abc import Iterable, Iterator
from hashlib import sha256
from json import dumps
from typing import Any, Final
from urllib.parse import quote

from katod.edits.edits import Cause
from katod.events import seconds
from katod.formats.records.agenttrace import contributor, lines_range, trace_record
from katod.formats.stream.bridge import event_uuid, session_uuid
from katod.metadata import first_words
from katod.why.blame import Run
from katod.why.explain import Explained
from katod.why.rows import LineOrigin

UNKNOWN: Final = "unknown"
_NOTHING: Final = "0" * 40  # as git names what is not committed
_SUMMARY: Final = 100  # characters


def run_row(file: str, run: Run, explained: Explained | None) -> dict[str, Any]:
    """Return a run of lines as one JSON object; texts are given without secrets."""
    row: dict[str, Any] = {"file": file, "first": run.first, "last": run.last, "status": UNKNOWN}
    if run.origin is None or explained is None:
        return row
    cause = run.origin.cause
    words = {"prompt": (cause.prompt, explained.prompt), "answer": (cause.answer, explained.answer)}
    shared = {"machine": explained.machine} if explained.machine else {}
    return row | {
        "status": run.origin.status, "agent": cause.session.agent, "session": str(cause.session),
        "title": explained.title, "time": cause.time, "call": cause.call, "page": page_of(cause, explained),
    } | shared | {name: {"event": event, "text": text} for name, (event, text) in words.items() if event}  # fmt: skip


def page_of(cause: Cause, explained: Explained) -> str:
    """Return where the page of `katod serve` shows the prompt behind an edit, or without one the call."""
    place = f"machines/{quote(explained.machine, safe='')}" if explained.machine else "s"
    return f"/{place}/{session_uuid(cause.session)}#{event_uuid(cause.prompt or cause.call)}"


def porcelain(file: str, lines: list[str], found: Iterable[tuple[Run, Explained | None]]) -> Iterator[str]:
    """Yield the lines that `git blame --porcelain` would print, with calls in place of commits.

    The name of a call is a hash of its event's id. What is known of it is printed with its first line.
    """
    known: set[str] = set()
    for run, explained in found:
        name = call_name(run.origin)
        for number in range(run.first, run.last + 1):
            count = f" {run.last - run.first + 1}" if number == run.first else ""
            yield f"{name} {number} {number}{count}"
            if name not in known:
                known.add(name)
                yield from _about(file, run.origin, explained)
            yield f"\t{lines[number - 1]}"


def trace(
    files: Iterable[tuple[str, list[str], list[Run]]], revision: str, version: str, time: str = ""
) -> dict[str, Any]:
    """Return the Agent Trace record of files: name, lines and runs of each. Who wrote unknown lines is unknown.

    Its time is the one given, or if there is none, that of the latest edit.
    """
    rows, times = [], [""]
    for name, lines, runs in files:
        times += [run.origin.cause.time for run in runs if run.origin]
        rows.append({"path": name, "conversations": [_conversation(lines, run) for run in runs]})
    name = sha256(repr((revision, rows)).encode()).hexdigest()
    return trace_record(f"lines:{name}", time or max(times), {"name": "katod", "version": version}, rows, revision)


def _conversation(lines: list[str], run: Run) -> dict[str, Any]:
    digest = sha256("\n".join(lines[run.first - 1 : run.last]).encode("utf-8", "replace")).hexdigest()
    who = contributor(run.origin.cause.model) if run.origin else {"type": "unknown"}
    return {"contributor": who, "ranges": [lines_range(run.first, run.last, digest)]}


def call_name(origin: LineOrigin | None) -> str:
    """Return 40 hexadecimal digits for the call that wrote a line, zeros for none."""
    return sha256(origin.cause.call.encode()).hexdigest()[:40] if origin else _NOTHING


def _quoted(name: str) -> str:
    """Return the name of a file as git writes it: one with a line break, or a quote, as a string."""
    return dumps(name, ensure_ascii=False) if any(sign in name for sign in '\n\t"\\') else name


def _about(file: str, origin: LineOrigin | None, explained: Explained | None) -> Iterator[str]:
    agent, session, time, summary = "Not recorded", "", "", "Written by no recorded edit"
    if origin is not None and explained is not None:
        agent, session, time = origin.cause.session.agent, str(origin.cause.session), origin.cause.time
        summary = first_words(explained.prompt, _SUMMARY) or explained.title or session
    for who in ("author", "committer"):
        yield f"{who} {agent}"
        yield f"{who}-mail <{session}>"
        yield f"{who}-time {int(seconds(time))}"
        yield f"{who}-tz +0000"
    yield f"summary {' '.join(summary.split())}"
    yield f"filename {_quoted(file)}"
