"""Gemini CLI: `tmp/<project>/chats/session-<time>-<8>.jsonl`, before 0.39 one JSON document (format notes, section 1).

Records are upserts: a message comes again when its tools have ended, and all of them come again, changed, in
checkpoints. The first sight of an id counts; tool calls have ids of their own. The pipeline passes over ids it knows.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar, Final

import orjson

from katod import events as ev
from katod.agents.protocol import Immediate, Origin, attachment, dict_of, digest, list_of, text_of
from katod.agents.tools import answer_of, call_of, question_of
from katod.events import Event
from katod.model import Record

CONTEXTS: Final = {"<session_context>": "context", "<hook_context>": "hook-context"}
_APPENDED: Final = re.compile(r"--- Content from referenced files ---|<hook_context>")
_HOOK: Final = re.compile(r"\s*<hook_context>.*?</hook_context>\s*", re.DOTALL)
_CANCELLED: Final = "Request cancelled."
_COUNTS: Final = (("input", "input"), ("output", "output"), ("cacheRead", "cached"), ("reasoning", "thoughts"))
_REMEMBERED: Final = 64
_ENDED: Final = ("success", "error", "cancelled")
Value = dict[str, Any]


class Gemini(Immediate):
    """Translates the records of one Gemini CLI session file."""

    agent: ClassVar[str] = "gemini"
    version: ClassVar[int] = 1
    native_ids: ClassVar[bool] = True
    exact_times: ClassVar[bool] = True

    def __init__(self, origin: Origin, state: Value | None = None) -> None:
        state = state or {}
        self._path = origin.path
        self._subagent = origin.identity.key.subagent
        self._ref = origin.ref._replace(id=state.get("session") or origin.identity.key.id)
        self._started: bool = state.get("started", False)
        self._own: bool = state.get("own", False)
        self._title: str = state.get("title", "")
        self._cwd: str = state.get("cwd", "")
        self._ids: list[str] = state.get("ids", [])
        self._blobs: list[tuple[str, str, str]] = []

    def state(self) -> Value:
        """Return the session's id, title and place, the latest message ids, and whether anything was said."""
        return {
            "session": self._ref.id, "started": self._started, "own": self._own, "title": self._title,
            "cwd": self._cwd, "ids": self._ids,
        }  # fmt: skip

    def feed(self, record: Record) -> list[Event]:
        """Translate one record, or a whole document."""
        value = record.value
        if value is None:
            return [self._raw(record, record.problem, record.raw)]
        if isinstance(value.get("$set"), dict):
            return self._set(value["$set"], record)
        if "$rewindTo" in value:
            return [self._event(ev.SYSTEM_MESSAGE, {"text": "Conversation rewound", "subtype": "rewind"}, record)]
        if "sessionId" in value and "id" not in value:
            return self._header(value, record)
        if "id" in value and "type" in value:
            self._own = True
            return self._message(value, record, typed=True)
        return [self._raw(record, text_of(value.get("type")) or "unknown", value)]

    # -- one kind of record each ------------------------------------------------------------------

    def _header(self, value: Value, record: Record) -> list[Event]:
        """Begin the session at its first header; a document holds its messages as well."""
        out: list[Event] = []
        if not self._started:
            self._started = True
            self._ref = self._ref._replace(id=text_of(value.get("sessionId")) or self._ref.id)
            self._cwd = self._project()
            start = {"cwd": self._cwd} if self._cwd else {}
            out.append(self._event(ev.SESSION_START, start, record, "start", time=text_of(value.get("startTime"))))
        for message in list_of(value.get("messages")):
            if isinstance(message, dict):
                out += self._message(message, record, typed=value.get("kind") != "subagent")
        if summary := text_of(value.get("summary")):
            out += self._titled(summary, record)
        return out

    def _project(self) -> str:
        """Return the project's path, which stands in a file of its own: the folder's name does not tell it."""
        chats = next((parent for parent in self._path.parents if parent.name == "chats"), None)
        if chats is None:
            return ""
        try:
            with open(chats.parent / ".project_root", "rb") as file:
                return file.read(4096).decode().strip()
        except (OSError, ValueError):
            return ""

    def _set(self, patch: Value, record: Record) -> list[Event]:
        """Translate a patch of the session. A checkpoint repeats what was said: it counts only where nothing was."""
        out = self._titled(text_of(patch["summary"]), record) if text_of(patch.get("summary")) else []
        messages = [message for message in list_of(patch.get("messages")) if isinstance(message, dict)]
        if not messages:
            return out
        if not self._own:
            for message in messages:
                out += self._message(message, record, typed=False)
        elif not {text_of(message.get("id")) for message in messages if not _is_context(message)} & set(self._ids):
            out.append(self._event(ev.COMPACTION, {}, record))
        return out

    def _titled(self, title: str, record: Record) -> list[Event]:
        if title == self._title:
            return []
        before, self._title = self._title, title
        payload = {"what": "title"} | ({"before": before} if before else {}) | {"after": title}
        return [self._event(ev.CONFIG_CHANGE, payload, record, f"title-{digest(title)}")]

    def _message(self, value: Value, record: Record, *, typed: bool) -> list[Event]:
        native, kind = text_of(value.get("id")), value.get("type")
        if native and native not in self._ids:
            self._ids = [*self._ids[1 - _REMEMBERED :], native]
        if kind == "gemini":
            return list(self._said(value, record))
        if kind == "user":
            return self._user(value, record, typed=typed and not self._subagent)
        if kind in ("info", "warning"):
            return self._notice(value, record, str(kind))
        if kind == "error":
            return [self._of(value, ev.ERROR, {"message": _text(value.get("content")) or "error"}, record)]
        return [self._of(value, ev.PROVIDER_RAW, {"rawType": text_of(kind) or "unknown", "raw": value}, record)]

    def _notice(self, value: Value, record: Record, kind: str) -> list[Event]:
        text = _text(value.get("content"))
        if not text.strip():
            return []
        if text == _CANCELLED:
            return [self._of(value, ev.TURN_END, {"reason": "aborted"}, record)]
        return [self._of(value, ev.SYSTEM_MESSAGE, {"text": text, "subtype": kind}, record)]

    def _user(self, value: Value, record: Record, *, typed: bool) -> list[Event]:
        content = value.get("content")
        parts = [part for part in list_of(content) if isinstance(part, dict)]
        if parts and all("functionResponse" in part for part in parts):
            return []  # the echo of results that stand with their calls
        shown = value.get("displayContent")
        text = _text(content if shown is None else shown)
        text, appended = (text, "") if shown is not None else _cut(text)
        subtype = next((name for opening, name in CONTEXTS.items() if text.lstrip().startswith(opening)), "")
        if subtype:
            return [self._of(value, ev.SYSTEM_MESSAGE, {"text": text, "subtype": subtype}, record)]
        files = [file for part in parts for file in self._file(part)]
        if not text.strip() and not files:
            return []
        payload = {"text": text} | ({"attachments": files} if files else {})
        blobs, self._blobs = tuple(self._blobs), []
        out = [self._of(value, ev.USER_MESSAGE, payload, record)._replace(typed=typed, blobs=blobs)]
        if appended:
            out.append(self._of(value, ev.SYSTEM_MESSAGE, {"text": appended, "subtype": "context"}, record, "c"))
        return out

    def _file(self, part: Value) -> list[Value]:
        if isinstance(inline := part.get("inlineData"), dict):
            media, data = text_of(inline.get("mimeType")), text_of(inline.get("data"))
            row = attachment("image" if media.startswith("image/") else "file", media, data)
            self._blobs.append((row["sha256"], media, data))
            return [row]
        if isinstance(named := part.get("fileData"), dict):
            name, media = text_of(named.get("fileUri")), text_of(named.get("mimeType"))
            return [{"type": "file"} | ({"mediaType": media} if media else {}) | ({"name": name} if name else {})]
        return []

    def _said(self, value: Value, record: Record) -> Iterator[Event]:
        """Yield what one message of the agent holds; calls that come later have ids of their own."""
        for n, thought in enumerate(list_of(value.get("thoughts"))):
            yield from self._thought(value, dict_of(thought), record, n)
        text = _text([part for part in list_of(value.get("content")) if not dict_of(part).get("thought")])
        text = text_of(value.get("content")) or text
        if text.strip():
            yield self._of(value, ev.ASSISTANT_MESSAGE, {"text": text}, record, "text")
        counts = dict_of(value.get("tokens"))
        usage = {name: counts[key] for name, key in _COUNTS if isinstance(counts.get(key), int)}
        if usage:
            yield self._of(value, ev.USAGE, {"scope": "message"} | usage, record, "usage")
        for n, call in enumerate(list_of(value.get("toolCalls"))):
            yield from self._call(value, dict_of(call), record, n)

    def _thought(self, value: Value, thought: Value, record: Record, n: int) -> Iterator[Event]:
        subject, text = text_of(thought.get("subject")), text_of(thought.get("description"))
        if subject or text:
            payload = {"text": text or subject} | ({"subject": subject} if subject and text else {})
            yield self._of(
                value, ev.ASSISTANT_THINKING, payload, record, f"t{n}", time=text_of(thought.get("timestamp"))
            )

    def _call(self, value: Value, call: Value, record: Record, n: int) -> Iterator[Event]:
        """Yield a call, its questions, its result and their answers: they are written together, when it has ended."""
        name, given = text_of(call.get("name")), call.get("args")
        call_id = text_of(call.get("id")) or f"{text_of(value.get('id'))}.{n}"
        yield self._of(value, ev.TOOL_CALL, call_of(call_id, name, given, self._cwd), record, f"{call_id}c")
        questions = list_of(dict_of(given).get("questions")) if name == "ask_user" else []
        asked = [_question(dict_of(question), f"{call_id}:{i}") for i, question in enumerate(questions)]
        for i, question in enumerate(asked):
            yield self._of(value, ev.DECISION_PROMPT, question, record, f"{call_id}q{i}")
        if call.get("status") not in _ENDED and "result" not in call:
            return
        ended, text = text_of(call.get("timestamp")), _result(call)
        yield self._of(value, ev.TOOL_RESULT, _outcome(call, call_id, text), record, f"{call_id}r", time=ended)
        for i, answer in _answers(text, asked):
            yield self._of(value, ev.DECISION_RESPONSE, answer, record, f"{call_id}a{i}", time=ended)

    # -- what records have in common --------------------------------------------------------------

    def _raw(self, record: Record, raw_type: str, raw: Any) -> Event:
        return self._event(ev.PROVIDER_RAW, {"rawType": raw_type, "raw": raw}, record)

    def _of(self, value: Value, kind: str, payload: Value, record: Record, n: str = "0", *, time: str = "") -> Event:
        """Make an event of a message; what the message has no id for is named by its words."""
        native = text_of(value.get("id")) or f"~{digest(text_of(value.get('timestamp')), kind, repr(payload))}"
        source = {"providerEventType": text_of(value.get("type")), "providerEventId": native, "messageId": native}
        return self._made(
            kind, payload, source | {"offset": record.offset}, f"{native}:{n}",
            time=time or text_of(value.get("timestamp")), model=text_of(value.get("model")),
        )  # fmt: skip

    def _event(self, kind: str, payload: Value, record: Record, n: str = "0", *, time: str = "") -> Event:
        """Make an event of a record that is no message."""
        native = n if n == "start" or n.startswith("title-") else f"@{record.offset}.{record.part}:{n}"
        return self._made(kind, payload, {"providerEventType": kind, "offset": record.offset}, native, time=time)

    def _made(self, kind: str, payload: Value, source: Value, native: str, *, time: str, model: str = "") -> Event:
        return Event(
            f"gemini:{self._ref.id}:{native}", kind, self._ref, payload, source, time, "recorded" if time else "",
            "", model, f"gemini:{self._ref.id}:{native}",
        )  # fmt: skip

    @staticmethod
    def typed_texts(value: Value) -> list[str]:
        """Return what a person typed of a message, or of a document's messages; never of a checkpoint."""
        if "sessionId" in value and "id" not in value:
            return [text for m in list_of(value.get("messages")) for text in Gemini.typed_texts(dict_of(m))]
        if value.get("type") != "user":
            return []
        shown = value.get("displayContent")
        return [_cut(_text(value.get("content")))[0] if shown is None else _text(shown)]

    @staticmethod
    def recognises(path: Path, first: Value) -> bool:  # noqa: ARG004 - the record alone tells
        """Say whether a file begins with a header, or is a document, of Gemini CLI."""
        return "sessionId" in first and ("projectHash" in first or "messages" in first)


def _cut(text: str) -> tuple[str, str]:
    """Return a prompt without what the client put around it, files that it names and what hooks add; and that."""
    before = _HOOK.match(text)
    start = before.end() if before else 0
    behind = _APPENDED.search(text, start)
    said = text[start : behind.start()].rstrip() if behind else text[start:]
    end = start + len(said)
    return (said, f"{text[:start]}{text[end:]}".strip()) if said.strip() else (text, "")


def _is_context(message: Value) -> bool:
    """Say whether a message is the client's preamble: it has the same id in every session, and in every checkpoint."""
    return _text(message.get("content")).lstrip().startswith(tuple(CONTEXTS))


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    rows = [dict_of(part) for part in (content if isinstance(content, list) else [content])]
    return "\n".join(text_of(row.get("text")) for row in rows if isinstance(row.get("text"), str))


def _result(call: Value) -> str:
    """Return what a tool answered the model, else what the person was shown."""
    texts: list[str] = []
    for part in list_of(call.get("result")):
        response = dict_of(dict_of(part).get("functionResponse")).get("response")
        row = dict_of(response)
        said = row.get("output", row.get("error", response))
        if said is not None:
            texts.append(said if isinstance(said, str) else orjson.dumps(said).decode())
        elif text := text_of(dict_of(part).get("text")):
            texts.append(text)
    return "\n".join(texts) or text_of(call.get("resultDisplay"))


def _outcome(call: Value, call_id: str, text: str) -> Value:
    row: Value = {"toolCallId": call_id, "text": text}
    status = text_of(call.get("status"))
    if status == "error":
        row["isError"] = True
    elif status == "cancelled":
        row["status"] = "interrupted"
    return row


def _question(question: Value, decision: str) -> Value:
    header, prompt = text_of(question.get("header")), text_of(question.get("question"))
    several = bool(question.get("multiSelect"))
    return question_of(decision, header, prompt, question.get("options"), several=several)


def _answers(text: str, asked: list[Value]) -> Iterator[tuple[int, Value]]:
    """Yield the answers of a dialog, `{"answers": {number: text}}`, each with the number of its question."""
    if not asked:
        return
    try:
        answers = dict_of(dict_of(orjson.loads(text)).get("answers"))
    except orjson.JSONDecodeError:
        return
    for i, question in enumerate(asked):
        answer = answers.get(str(i))
        if answer is None:
            continue
        yield i, answer_of(question, [str(part) for part in answer] if isinstance(answer, list) else [str(answer)])
