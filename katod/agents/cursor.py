"""Cursor: `projects/<slug>/agent-transcripts/<session>/<session>.jsonl` (format notes, section 3).

Lines without ids, times, models or results. Cursor regenerates the file at times and then drops `turn_ended`
lines from its middle, so an event is named by the number of its line among those that somebody said, and by
a hash of its words.
"""

import re
from pathlib import Path
from typing import Any, ClassVar, Final, NamedTuple

import orjson

from katod import events as ev
from katod.agents.protocol import Immediate, Origin, dict_of, digest, list_of, text_of
from katod.agents.tools import call_of, question_of
from katod.events import Event
from katod.model import Record

_OPENING: Final = "<user_query>"
_QUERY: Final = re.compile(r"<user_query>\n?(.*?)\n?</user_query>\s*\Z", re.DOTALL)
_STAMP: Final = re.compile(r"<timestamp>([^<]*)</timestamp>\s*\Z")
# Text that the client puts before the model under the user's name.
_INJECTED: Final = re.compile(r"\s*<[a-z][a-z0-9_-]*[ >]")
_TIME: Final = re.compile(
    r"\w+, (\w{3}) (\d{1,2}), (\d{4}), (\d{1,2}):(\d\d) (AM|PM)(?: \(UTC(?:([+-])(\d{1,2})(?::(\d\d))?)?\))?"
)
_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_OWN: Final = "cursor"  # the namespace of Cursor's own tools
_TRUSTED: Final = ".workspace-trusted"
_STATUS: Final = {"aborted": "aborted", "error": "error", "success": "done"}


class Cursor(Immediate):
    """Translates the lines of one Cursor transcript."""

    agent: ClassVar[str] = "cursor"
    version: ClassVar[int] = 1
    native_ids: ClassVar[bool] = False
    exact_times: ClassVar[bool] = False

    def __init__(self, origin: Origin, state: dict[str, Any] | None = None) -> None:
        state = state or {}
        self._ref = origin.ref
        self._path = origin.path
        self._number: int = state.get("number", 0)
        self._cwd: str = state.get("cwd", "")

    def state(self) -> dict[str, Any]:
        """Return how many lines were said so far, and where."""
        return {"number": self._number, "cwd": self._cwd}

    def feed(self, record: Record) -> list[Event]:
        """Translate one line."""
        value = record.value
        if value is None:
            return [self._event(ev.PROVIDER_RAW, {"rawType": record.problem, "raw": record.raw}, record)]
        role = value.get("role")
        if role in ("user", "assistant"):
            out = self._start(record) if not self._number else []
            blocks = list_of(dict_of(value.get("message")).get("content"))
            out += self._user(blocks, record) if role == "user" else self._assistant(blocks, record)
            self._number += 1
            return out
        if value.get("type") == "turn_ended":
            return self._ended(value, record)
        return [
            self._event(ev.PROVIDER_RAW, {"rawType": text_of(value.get("type")) or "unknown", "raw": value}, record)
        ]

    def _start(self, record: Record) -> list[Event]:
        """Say where the conversation takes place, if a file of Cursor's beside it tells."""
        self._cwd = _workspace(self._path)
        return [self._event(ev.SESSION_START, {"cwd": self._cwd}, record, "start")] if self._cwd else []

    def _user(self, blocks: list[Any], record: Record) -> list[Event]:
        out: list[Event] = []
        for n, block in enumerate(blocks):
            row = dict_of(block)
            if row.get("type") != "text":
                out.append(self._raw(f"user/{row.get('type')}", row, record, n))
                continue
            said = unwrap(text_of(row.get("text")))
            if said.context:
                place = f"{n}c" if said.wrapped else n
                out.append(self._event(ev.SYSTEM_MESSAGE, {"text": said.context, "subtype": "context"}, record, place))
            if said.words.strip():
                typed = said.wrapped and not self._ref.subagent
                event = self._event(ev.USER_MESSAGE, {"text": said.words}, record, n, typed=typed)
                out.append(event._replace(time=said.time, time_source="recorded" if said.time else ""))
        return out

    def _assistant(self, blocks: list[Any], record: Record) -> list[Event]:
        out: list[Event] = []
        for n, block in enumerate(blocks):
            row = dict_of(block)
            kind = row.get("type")
            if kind == "text":
                if (text := text_of(row.get("text"))).strip():
                    out.append(self._event(ev.ASSISTANT_MESSAGE, {"text": text}, record, n))
            elif kind == "thinking":
                out.append(self._event(ev.ASSISTANT_THINKING, {"text": text_of(row.get("thinking"))}, record, n))
            elif kind == "tool_use":
                out += self._call(row, record, n)
            else:
                out.append(self._raw(f"assistant/{kind}", row, record, n))
        return out

    def _call(self, row: dict[str, Any], record: Record, n: int) -> list[Event]:
        """Translate a call. It has no id and its result stands nowhere; its place names it."""
        name, given, server = text_of(row.get("name")), row.get("input"), ""
        if name == "CallDynamicTool":
            inner = dict_of(given)
            server = text_of(inner.get("namespace")).removeprefix(_OWN)
            name, given = text_of(inner.get("toolName")) or name, dict_of(inner.get("arguments"))
        call = f"{self._number}.{n}"
        out = [self._event(ev.TOOL_CALL, call_of(call, name, given, self._cwd, server), record, n)]
        prompts = _prompts(name, dict_of(given), call)
        return out + [self._event(ev.DECISION_PROMPT, prompt, record, f"{n}q{i}") for i, prompt in enumerate(prompts)]

    def _ended(self, value: dict[str, Any], record: Record) -> list[Event]:
        """Translate the end of a turn; a regenerated file has lost most of them, so it counts as no line."""
        status = text_of(value.get("status"))
        payload = {"reason": _STATUS.get(status, status or "done")}
        return [self._event(ev.TURN_END, payload, record, "e")]

    def _raw(self, raw_type: str, row: dict[str, Any], record: Record, n: int) -> Event:
        return self._event(ev.PROVIDER_RAW, {"rawType": raw_type, "raw": row}, record, n)

    def _event(
        self, kind: str, payload: dict[str, Any], record: Record, n: int | str = 0, *, typed: bool = False
    ) -> Event:
        value = record.value or {}
        place = f"{self._number}.{n}" if n != "e" else f"{self._number}e"
        native = f"{place}-{digest(kind, repr(payload))}"
        source = {
            "providerEventType": text_of(value.get("role")) or text_of(value.get("type")),
            "offset": record.offset,
        }
        return Event(
            f"cursor:{self._ref.id}:{native}", kind, self._ref, payload, source,
            dedup_key=f"cursor:{self._ref.id}:{native}", typed=typed,
        )  # fmt: skip

    @staticmethod
    def typed_texts(value: dict[str, Any]) -> list[str]:
        """Return the words of a user's line, taken out of their wrapper."""
        if value.get("role") != "user":
            return []
        blocks = list_of(dict_of(value.get("message")).get("content"))
        texts = [unwrap(text_of(block.get("text"))) for block in blocks if isinstance(block, dict)]
        return [said.words for said in texts if said.wrapped]

    @staticmethod
    def recognises(path: Path, first: dict[str, Any]) -> bool:
        """Say whether a file begins with a line of Cursor."""
        return path.suffix == ".jsonl" and first.get("role") in ("user", "assistant") and "message" in first


class Said(NamedTuple):
    """A user's text: its words, what the client put before them, when they were typed; `wrapped` proves a person."""

    words: str
    context: str = ""
    time: str = ""
    wrapped: bool = False


def unwrap(text: str) -> Said:
    """Take the words that a person typed out of their wrapper, the last one: what stands before may quote others."""
    at = text.rfind(_OPENING)
    match = _QUERY.match(text, at) if at >= 0 else None
    if match is None:
        return Said("", text) if _INJECTED.match(text) else Said(text)
    stamp = _STAMP.search(text, 0, at)
    context = text[: stamp.start() if stamp else at]
    return Said(match[1], context.strip(), _iso(stamp[1]) if stamp else "", wrapped=True)


def _iso(written: str) -> str:
    """Return `Wednesday, Aug 5, 2026, 7:16 PM (UTC+5:30)` as ISO 8601; empty for any other form."""
    match = _TIME.fullmatch(written.strip())
    if not match or match[1] not in _MONTHS:
        return ""
    month, day, year, hour, minute, half, sign, ahead, more = match.groups()
    clock = int(hour) % 12 + (12 if half == "PM" else 0)
    zone = f"{sign}{int(ahead):02}:{more or '00'}" if sign else "+00:00" if "(UTC)" in written else ""
    return f"{year}-{_MONTHS.index(month) + 1:02}-{int(day):02}T{clock:02}:{minute}:00{zone}"


def _workspace(path: Path) -> str:
    """Return the project's path, which Cursor keeps beside the transcripts once the project is trusted."""
    parents = path.parts
    if "agent-transcripts" not in parents:
        return ""
    project = Path(*parents[: parents.index("agent-transcripts")])
    try:
        with open(project / _TRUSTED, "rb") as file:
            data = file.read(4096)
        text = orjson.loads(data)["workspacePath"] if data[:1] == b"{" else data.decode().strip()
    except (OSError, ValueError, KeyError):
        return ""
    return text if isinstance(text, str) and text.startswith("/") else ""


def _prompts(name: str, given: dict[str, Any], call: str) -> list[dict[str, Any]]:
    """Return the questions of a call; what was answered stands nowhere."""
    if name == "CreatePlan":
        plan = text_of(given.get("plan")) or text_of(given.get("overview"))
        return [{"decisionId": f"{call}:plan", "decisionKey": "plan", "prompt": plan, "options": []}]
    if name != "AskQuestion":
        return []
    rows = [row for row in list_of(given.get("questions")) if isinstance(row, dict)]
    return [_question(row, f"{call}:{i}") for i, row in enumerate(rows)]


def _question(row: dict[str, Any], decision: str) -> dict[str, Any]:
    key, prompt = text_of(row.get("id")), text_of(row.get("prompt"))
    return question_of(decision, key, prompt, row.get("options"), several=bool(row.get("allow_multiple")))
