"""Cursor: `projects/<slug>/agent-transcripts/<session>/<session>.jsonl`.

Lines have no ids, times, models or results. Cursor sometimes regenerates the file and then drops `turn_ended` lines
from its middle. An event is therefore named by the number of its line, counting only those with a speaker, and by a
hash of its content; ends of turns that are equal are numbered.
"""

import re
from pathlib import Path
from typing import Any, Final, NamedTuple

from katod import events as ev
from katod.agents.base import Adapter, Described, EventBuilder, Origin, State, content_digest, handles
from katod.agents.fields import dict_of, dicts_of, list_of, text_of
from katod.agents.toolcalls import call_of, question_of
from katod.events import Event
from katod.model import Record, TypedText
from katod.smallfile import read_small
from katod.tail.decode import loads

_OPENING: Final = "<user_query>"
_QUERY: Final = re.compile(r"<user_query>\n?(.*?)\n?</user_query>\s*\Z", re.DOTALL)
_STAMP: Final = re.compile(r"<timestamp>([^<]*)</timestamp>\s*\Z")
# Text that the client sends to the model in the user's name.
_INJECTED: Final = re.compile(r"\s*<[a-z][a-z0-9_-]*[ >]")
_TIME: Final = re.compile(
    r"\w+, (\w{3}) (\d{1,2}), (\d{4}), (\d{1,2}):(\d\d) (AM|PM)(?: \(UTC(?:([+-])(\d{1,2})(?::(\d\d))?)?\))?"
)
_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_OWN: Final = "cursor"  # the namespace of Cursor's own tools
_TRUSTED: Final = ".workspace-trusted"
_SPEAKERS: Final = ("user", "assistant")
_TURN_ENDED: Final = "turn_ended"
_END: Final = "e"  # the part that names the end of a turn
_MOST_ENDS: Final = 16
_STATUS: Final = {"aborted": "aborted", "error": "error", "success": "done"}
_ABORTED: Final = "User aborted request"  # the error of a turn that the user ended


class CursorBuilder(EventBuilder):
    """Names events by the number of their line, counting only those with a speaker, and a hash of their content."""

    def __init__(self, origin: Origin, state: State) -> None:
        super().__init__(origin.ref)
        self.number: int = state.get("number", 0)
        self.ends: dict[str, int] = state.get("ends", {})  # equal ones since the last line with a speaker

    def _describe(self, record: Record, part: int | str, kind: str, payload: dict[str, Any], /) -> Described:
        name = f"{self.number}.{part}-{content_digest(kind, payload)}"
        if part == _END:
            name = self._numbered(f"{self.number}{_END}-{content_digest(kind, payload)}")
        fields = record.value or {}
        native = text_of(fields.get("role")) or text_of(fields.get("type"))
        return name, name, {"providerEventType": native, "offset": record.offset}, ""

    def _numbered(self, name: str) -> str:
        """Return a name that no other end of a turn after the same line has. Of very many, all are numbered."""
        known = name if name in self.ends or len(self.ends) < _MOST_ENDS else ""
        number = self.ends[known] = self.ends.get(known, -1) + 1
        return f"{name}.{number}" if number or not known else name


class CursorAdapter(Adapter):
    """Translates the lines of one Cursor transcript."""

    new: CursorBuilder

    def __init__(self, origin: Origin, state: State | None = None) -> None:
        state = state or {}
        self.new = CursorBuilder(origin, state)
        self._path = origin.path
        self._cwd: str = state.get("cwd", "")

    def state(self) -> dict[str, Any]:
        """Return the number of lines with a speaker so far, the ends of turns since the last, and the directory."""
        return {"number": self.new.number, "ends": self.new.ends, "cwd": self._cwd}

    def name(self, record: Record) -> str:
        """Return whose line it is, or its type."""
        return text_of(record.value.get("role")) or super().name(record)

    def _take_up(self, fields: dict[str, Any]) -> str:
        role = text_of(fields.get("role"))
        if role in _SPEAKERS:
            return role
        return _TURN_ENDED if fields.get("type") == _TURN_ENDED else ""

    @handles(*_SPEAKERS)
    def _line(self, record: Record) -> list[Event]:
        role = record.value.get("role")
        blocks = list_of(dict_of(record.value.get("message")).get("content"))
        out = self._start(record) if not self.new.number else []
        for n, block in enumerate(blocks):
            row = dict_of(block)
            out += self._user(record, row, n) if role == "user" else self._assistant(record, row, n)
        self.new.number += 1
        self.new.ends = {}
        return out

    def _start(self, record: Record) -> list[Event]:
        """Return the start of the session with its working directory, if a file beside it has that."""
        self._cwd = _workspace(self._path)
        return [self.new.event(ev.SESSION_START, {"cwd": self._cwd}, record, "start")] if self._cwd else []

    def _user(self, record: Record, row: dict[str, Any], n: int) -> list[Event]:
        if row.get("type") != "text":
            return [self.new.raw(record, f"user/{row.get('type')}", row, n)]
        said, out = unwrap(text_of(row.get("text"))), []
        if said.context:
            context = {"text": said.context, "subtype": "context"}
            out.append(self.new.event(ev.SYSTEM_MESSAGE, context, record, f"{n}c" if said.wrapped else n))
        if said.words.strip():
            typed = said.wrapped and not self.new.ref.subagent
            words = {"text": said.words}
            out.append(self.new.event(ev.USER_MESSAGE, words, record, n, time=said.time, typed=typed))
        return out

    def _assistant(self, record: Record, row: dict[str, Any], n: int) -> list[Event]:
        kind = row.get("type")
        if kind == "text":
            text = text_of(row.get("text"))
            return [self.new.event(ev.ASSISTANT_MESSAGE, {"text": text}, record, n)] if text.strip() else []
        if kind == "thinking":
            return [self.new.event(ev.ASSISTANT_THINKING, {"text": text_of(row.get("thinking"))}, record, n)]
        if kind == "tool_use":
            return self._call(record, row, n)
        return [self.new.raw(record, f"assistant/{kind}", row, n)]

    def _call(self, record: Record, row: dict[str, Any], n: int) -> list[Event]:
        """Translate a call. It has no id and its result is not recorded, so it is named by its place."""
        name, given, server = text_of(row.get("name")), row.get("input"), ""
        if name == "CallDynamicTool":
            inner = dict_of(given)
            server = text_of(inner.get("namespace")).removeprefix(_OWN)
            name, given = text_of(inner.get("toolName")) or name, dict_of(inner.get("arguments"))
        call = f"{self.new.number}.{n}"
        out = [self.new.event(ev.TOOL_CALL, call_of(call, name, given, self._cwd, server), record, n)]
        prompts = _prompts(name, dict_of(given), call)
        return out + [self.new.event(ev.DECISION_PROMPT, q, record, f"{n}q{i}") for i, q in enumerate(prompts)]

    @handles(_TURN_ENDED)
    def _ended(self, record: Record) -> list[Event]:
        """Translate the end of a turn; it does not count as a line, as regenerated files have lost most of them."""
        status, problem = text_of(record.value.get("status")), text_of(record.value.get("error"))
        reason = "aborted" if problem == _ABORTED else _STATUS.get(status, status or "done")
        out = [self.new.event(ev.TURN_END, {"reason": reason}, record, _END)]
        if problem and reason != "aborted":
            out.append(self.new.event(ev.ERROR, {"message": problem}, record, _END))
        return out

    @staticmethod
    def typed_texts(fields: dict[str, Any]) -> list[TypedText]:
        """Return the text of a user's line without its wrapper."""
        if fields.get("role") != "user":
            return []
        blocks = dicts_of(dict_of(fields.get("message")).get("content"))
        texts = [unwrap(text_of(block.get("text"))) for block in blocks]
        return [TypedText(said.words) for said in texts if said.wrapped]

    @staticmethod
    def recognises(path: Path, first: dict[str, Any], /) -> bool:
        """Return whether a file begins with a line of Cursor."""
        return path.suffix == ".jsonl" and first.get("role") in _SPEAKERS and "message" in first


class CursorText(NamedTuple):
    """A user's text, the context the client put before it, and its time; `wrapped` is evidence of a person."""

    words: str
    context: str = ""
    time: str = ""
    wrapped: bool = False


def unwrap(text: str) -> CursorText:
    """Return the text a person typed, without its wrapper. The last wrapper counts: text before it may quote others."""
    at = text.rfind(_OPENING)
    match = _QUERY.match(text, at) if at >= 0 else None
    if match is None:
        return CursorText("", text) if _INJECTED.match(text) else CursorText(text)
    stamp = _STAMP.search(text, 0, at)
    context = text[: stamp.start() if stamp else at]
    return CursorText(match[1], context.strip(), _iso(stamp[1]) if stamp else "", wrapped=True)


def _iso(written: str) -> str:
    """Return `Wednesday, Aug 5, 2026, 7:16 PM (UTC+5:30)` as ISO 8601, an empty string for any other form."""
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
        data = read_small(project / _TRUSTED, 4096)
        text = loads(data)["workspacePath"] if data[:1] == b"{" else data.decode().strip()
    except (OSError, ValueError, KeyError):
        return ""
    return text if isinstance(text, str) and text.startswith("/") else ""


def _prompts(name: str, given: dict[str, Any], call: str) -> list[dict[str, Any]]:
    """Return the questions of a call; answers are not recorded."""
    if name == "CreatePlan":
        plan = text_of(given.get("plan")) or text_of(given.get("overview"))
        return [{"decisionId": f"{call}:plan", "decisionKey": "plan", "prompt": plan, "options": []}]
    if name != "AskQuestion":
        return []
    return [_question(row, f"{call}:{i}") for i, row in enumerate(dicts_of(given.get("questions")))]


def _question(row: dict[str, Any], decision: str) -> dict[str, Any]:
    key, prompt = text_of(row.get("id")), text_of(row.get("prompt"))
    return question_of(decision, key, prompt, row.get("options"), several=bool(row.get("allow_multiple")))
