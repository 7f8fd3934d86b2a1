"""Gemini CLI: `tmp/<project>/chats/session-<time>-<8>.jsonl`, before 0.39 a single document.

Records are upserts: a message is written again when its tools have ended, and checkpoints repeat all of them, with
changes. The first occurrence of an id counts; tool calls have ids of their own. Known ids are skipped downstream.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from katod import events as ev
from katod.agents.base import Adapter, Described, EventBuilder, Origin, State, content_digest
from katod.agents.fields import dict_of, dicts_of, digest, list_of, text_of, texts_in
from katod.agents.gemini.results import outcome, result_of
from katod.agents.spec import SPAWNED
from katod.agents.toolcalls import answer_of, call_of, questions_of
from katod.events import Event, SessionRef
from katod.model import Record, TypedText
from katod.smallfile import read_small
from katod.tail.decode import loads

_SESSION: Final = "<session_context>"
CONTEXTS: Final = {_SESSION: "context", "<hook_context>": "hook-context", "<state_snapshot>": ev.Between.SUMMARY}
_UNDERSTOOD: Final = "Got it. Thanks for the additional context!"  # what the client lets the model say to its summary
_APPENDED: Final = re.compile(r"--- Content from referenced files ---|<hook_context>")
# Before a prompt; the context of the session only where the client writes its history again.
_BEFORE: Final = re.compile(r"\s*<(hook|session)_context>.*?</\1_context>\s*", re.DOTALL)
_QUESTIONS: Final = "ask_user"
_CANCELLED: Final = "Request cancelled."
# A command that the user ran with `!`, as the client tells the model.
_SHELL: Final = re.compile(
    r"I ran the following shell command:\n```sh\n(.*?)\n```\n\nThis produced the following result:\n```\n(.*)\n```\s*",
    re.DOTALL,
)
_COUNTS: Final = (
    ("input", "input"), ("output", "output"), ("cacheRead", "cached"), ("reasoning", "thoughts"), ("total", "total"),
)  # fmt: skip
_REMEMBERED: Final = 64
_CONTENT: Final = ("text", "inlineData", "fileData", "functionResponse")  # the parts of a message of the user
_TOUCHED: Final = "lastUpdated"
_ENDED: Final = ("success", "error", "cancelled")
# What the client tells the model when the user leaves the mode for plans by a key; it is recorded as a prompt.
_LEFT_PLANS: Final = re.compile(r"User has manually exited Plan Mode\. Switching to [^\n]{1,200}\.\s*")
Value = dict[str, Any]


class GeminiBuilder(EventBuilder):
    """Names the events of records that are not messages, by what is unique in a session or by their place."""

    def _describe(self, record: Record, part: int | str, kind: str, _payload: Value, /) -> Described:
        name = part if isinstance(part, str) else f"@{record.offset}.{record.part}:{part}"
        return name, name, {"providerEventType": kind, "offset": record.offset}, ""


class MessageBuilder(EventBuilder):
    """Names the events of a message by its id, or by its content if it has none."""

    def _describe(self, record: Record, part: int | str, kind: str, payload: Value, /) -> Described:
        fields = record.value
        time = text_of(fields.get("timestamp"))
        native = text_of(fields.get("id")) or f"~{content_digest(kind, payload, time)}"
        kind = text_of(fields.get("type"))
        source = {
            "providerEventType": kind, "providerEventId": native, "messageId": native, "offset": record.offset
        }  # fmt: skip
        name = f"{native}:{part}"
        return name, name, source, time


class GeminiMessages:
    """Translates messages: each is a record of its own, or part of a document or checkpoint."""

    def __init__(self, ref: SessionRef, cwd: str) -> None:
        self.new = MessageBuilder(ref)
        self.cwd = cwd
        self.person = True  # whether a person is at the other end

    def translate(self, record: Record, *, typed: bool) -> list[Event]:
        """Translate one message."""
        fields = record.value
        kind = text_of(fields.get("type"))
        if kind == "gemini":
            return list(self._said(record))
        if kind == "user":
            return self._user(record, typed=typed and self.person and not self.new.ref.subagent)
        if kind in ("info", "warning"):
            return self._notice(record, kind)
        if kind == "error":
            return [self._event(ev.ERROR, {"message": _text(fields.get("content")) or "error"}, record)]
        return [self._event(ev.PROVIDER_RAW, {"rawType": kind or "unknown", "raw": record.value}, record)]

    def _notice(self, record: Record, kind: str) -> list[Event]:
        text = _text(record.value.get("content"))
        if not text.strip():
            return []
        if text == _CANCELLED:
            return [self._event(ev.TURN_END, {"reason": "aborted"}, record)]
        return [self._event(ev.SYSTEM_MESSAGE, {"text": text, "subtype": kind}, record)]

    def _user(self, record: Record, *, typed: bool) -> list[Event]:
        parts = dicts_of(record.value.get("content"))
        if _is_echo(parts):
            return []
        text, appended = _typed_of(record.value)
        if ran := _SHELL.fullmatch(text):
            return self._shell(record, *ran.groups())
        if subtype := "context" if _LEFT_PLANS.fullmatch(text) else _context(text):
            return [self._event(ev.SYSTEM_MESSAGE, {"text": text, "subtype": subtype}, record)]
        out = self._words(record, text, parts, typed=typed)
        if out and appended:
            out.append(self._event(ev.SYSTEM_MESSAGE, {"text": appended, "subtype": "context"}, record, "c"))
        return out + self.new.unread(record, record.value.get("content"), "user/content", _CONTENT)

    def _words(self, record: Record, text: str, parts: list[Value], *, typed: bool) -> list[Event]:
        files = [file for part in parts if (file := self._file(part))]
        payload = {"text": text} | ({"attachments": files} if files else {})
        return [self._event(ev.USER_MESSAGE, payload, record, typed=typed)] if text.strip() or files else []

    def _shell(self, record: Record, command: str, printed: str) -> list[Event]:
        said = {"text": f"! {command}", "subtype": "shell"}
        output = {"text": printed, "subtype": "shell-output"}
        return [self._event(ev.USER_MESSAGE, said, record), self._event(ev.SYSTEM_MESSAGE, output, record, "o")]

    def _file(self, part: Value) -> Value:
        if isinstance(inline := part.get("inlineData"), dict):
            media, data = text_of(inline.get("mimeType")), text_of(inline.get("data"))
            return self.new.attachment("image" if media.startswith("image/") else "file", media, data)
        if isinstance(named := part.get("fileData"), dict):
            name, media = text_of(named.get("fileUri")), text_of(named.get("mimeType"))
            return {"type": "file"} | ({"mediaType": media} if media else {}) | ({"name": name} if name else {})
        return {}

    def _said(self, record: Record) -> Iterator[Event]:
        """Yield the content of one message of the agent; calls added later have ids of their own."""
        fields = record.value
        for n, thought in enumerate(list_of(fields.get("thoughts"))):
            yield from self._thought(record, dict_of(thought), n)
        if (text := _answer_of(fields.get("content"))).strip():
            yield self._event(ev.ASSISTANT_MESSAGE, {"text": text}, record, "text")
        yield from self.used(record)
        for n, call in enumerate(list_of(fields.get("toolCalls"))):
            yield from self._call(record, dict_of(call), n)

    def used(self, record: Record) -> list[Event]:
        """Return what one message of the agent used."""
        counts = dict_of(record.value.get("tokens"))
        usage = {name: counts[key] for name, key in _COUNTS if isinstance(counts.get(key), int)}
        return [self._event(ev.USAGE, {"scope": "message"} | usage, record, "usage")] if usage else []

    def _thought(self, record: Record, thought: Value, n: int) -> Iterator[Event]:
        subject, text = text_of(thought.get("subject")), text_of(thought.get("description"))
        if subject or text:
            payload = {"text": text or subject} | ({"subject": subject} if subject and text else {})
            yield self._event(ev.ASSISTANT_THINKING, payload, record, f"t{n}", time=text_of(thought.get("timestamp")))

    def _call(self, record: Record, call: Value, n: int) -> Iterator[Event]:
        """Yield a call, its questions, its result and the answers: all are written together when the call has ended."""
        name, given = text_of(call.get("name")), call.get("args")
        call_id = text_of(call.get("id")) or f"{text_of(record.value.get('id'))}.{n}"
        payload = call_of(call_id, name, given, self.cwd)
        yield self._event(ev.TOOL_CALL, payload, record, f"{call_id}c")
        asked = questions_of(call_id, dict_of(given)) if name == _QUESTIONS else []
        for i, question in enumerate(asked):
            yield self._event(ev.DECISION_PROMPT, question, record, f"{call_id}q{i}")
        if call.get("status") not in _ENDED and "result" not in call:
            return
        ended, text = text_of(call.get("timestamp")), result_of(call, payload["family"])
        yield self._event(ev.TOOL_RESULT, outcome(call, payload, text), record, f"{call_id}r", time=ended)
        for i, answer in _answers(text, asked):
            yield self._event(ev.DECISION_RESPONSE, answer, record, f"{call_id}a{i}", time=ended)
        if subagent := text_of(call.get("agentId")):
            status = text_of(dict_of(call.get("resultDisplay")).get("state")) or text_of(call.get("status"))
            row = {"subagent": subagent, "status": status}
            yield self._event(ev.AGENT_END, row, record, f"{call_id}s", time=ended)

    def _event(
        self, kind: str, payload: Value, record: Record, part: int | str = 0, *, time: str = "", typed: bool = False
    ) -> Event:
        model = text_of(record.value.get("model"))
        return self.new.event(kind, payload, record, part, time=time or None, model=model, typed=typed)


class GeminiAdapter(Adapter):
    """Translates the records of one Gemini CLI session file, or the document in it."""

    def __init__(self, origin: Origin, state: State | None = None) -> None:
        state = state or {}
        self.new = GeminiBuilder(origin.ref, now={"title": state.get("title", "")})
        self._messages = GeminiMessages(origin.ref, state.get("cwd", ""))
        self._path = origin.path
        self._session: str = state.get("session", "")
        self._own: bool = state.get("own", False)
        self._rewound: bool = state.get("rewound", False)
        self._ids: list[str] = state.get("ids", [])
        # Whether the latest message may still get calls, or the interruption that waits for one: offset, part, value.
        self._left: bool | list[Any] = state.get("left", False)
        if self._session:
            self._rename(self._session, person=state.get("person", True))

    def state(self) -> Value:
        """Return the session's id, title and directory, the latest message ids, and what the next record follows."""
        return {
            "session": self._session, "own": self._own, "rewound": self._rewound,
            "person": self._messages.person, "title": self.new.now.get("title", ""), "cwd": self._messages.cwd,
            "ids": self._ids, "left": self._left,
        }  # fmt: skip

    def feed_usage(self, record: Record) -> list[Event]:
        """Return what the messages of a record used, and the start of the session: nearly all of a file is results."""
        fields = record.value
        if isinstance(patch := fields.get("$set"), dict):
            return self._used(record, [] if self._own else dicts_of(patch.get("messages")))
        if "sessionId" in fields and "id" not in fields:
            return self._start(record) + self._used(record, dicts_of(fields.get("messages")))
        if "id" not in fields or "type" not in fields:
            return []
        self._own = True
        return self._used(record, [fields])

    def _used(self, record: Record, messages: list[Value]) -> list[Event]:
        used = (self._messages.used(record._replace(value=row)) for row in messages if row.get("type") == "gemini")
        return [event for events in used for event in events]

    def name(self, record: Record) -> str:
        """Return what a record is by its keys: only messages have a type."""
        fields = record.value
        if isinstance(patch := fields.get("$set"), dict):
            return "$set/" + ("+".join(sorted(patch.keys() - {_TOUCHED})) or _TOUCHED)
        return super().name(record) or ("header" if "sessionId" in fields else "")

    def holds(self, record: Record) -> bool:
        """Return whether this is the interruption that is held back."""
        return isinstance(self._left, list) and self._left[:2] == [record.offset, record.part]

    def has_pending(self) -> bool:
        """Return whether an interruption waits for the call that it interrupted."""
        return isinstance(self._left, list)

    def finish(self) -> list[Event]:
        """Return the interruption that is held back."""
        return self._interrupted()

    def _rename(self, session: str, *, person: bool) -> None:
        """Use the id that the header names. A sub-agent's file is in a folder with the name of its session."""
        self._session, self._messages.person = session, person
        self._messages.new.set_spawned(spawned=not person)
        owner = self._path.parent.name if self.new.ref.subagent else ""
        for builder in (self.new, self._messages.new):
            builder.rename(session, owner)

    def _unhandled(self, record: Record) -> list[Event]:
        """Translate a record by its keys: only messages have a type."""
        fields = record.value
        if isinstance(fields.get("$set"), dict):
            return self._set(record, fields["$set"])
        if "$rewindTo" in fields:
            return [*self._interrupted(), *self._rewind(record)]
        if "sessionId" in fields and "id" not in fields:
            return [*self._interrupted(), *self._header(record)]
        if "id" in fields and "type" in fields:
            is_again = self._own and _context(_text(fields.get("content"))) == CONTEXTS[_SESSION]
            self._own, self._rewound = True, False
            return self._ordered(record, self._message(record, typed=not is_again))
        return super()._unhandled(record)

    def _ordered(self, record: Record, out: list[Event]) -> list[Event]:
        """Return the events of a message, and an interruption after the call that it interrupted.

        The client records first that the user left a call, and then the call.
        """
        kind, calls = text_of(record.value.get("type")), list_of(record.value.get("toolCalls"))
        if self._left is True and [event.kind for event in out] == [ev.TURN_END]:
            self._left = [record.offset, record.part, record.value]
            return []
        ended, self._left = self._interrupted(), kind == "gemini" and not calls
        return [*out, *ended] if calls else [*ended, *out]

    def _interrupted(self) -> list[Event]:
        held, self._left = self._left, False
        if isinstance(held, bool):
            return []
        offset, part, value = held
        return self._messages.translate(Record(offset, value, part), typed=False)

    def _rewind(self, record: Record) -> list[Event]:
        """Note that messages were taken back: the one named, and all after it. A shortened history follows."""
        self._rewound = True
        note = {"text": "Conversation rewound", "subtype": "rollback"}
        target = text_of(record.value["$rewindTo"])
        return [self.new.event(ev.SYSTEM_MESSAGE, note, record, f"rewind-{target}" if target else 0)]

    def _header(self, record: Record) -> list[Event]:
        """Translate a header: the first one starts the session, and in a document it also contains the messages."""
        out, fields = self._start(record), record.value
        for message in dicts_of(fields.get("messages")):
            inner = record._replace(value=message)
            out += self._note_part(inner, self._message(inner, typed=True))
        return out + self._titled(record, text_of(fields.get("summary")))

    def _start(self, record: Record) -> list[Event]:
        if self._session:
            return []
        spawned = record.value.get("kind") == SPAWNED
        self._rename(text_of(record.value.get("sessionId")) or self.new.ref.id, person=not spawned)
        cwd = self._messages.cwd = _project(self._path)
        start = texts_in({"cwd": cwd, "origin": SPAWNED if spawned and not self.new.ref.subagent else ""})
        time = text_of(record.value.get("startTime"))
        return [self.new.event(ev.SESSION_START, start, record, "start", time=time)]

    def _set(self, record: Record, patch: Value) -> list[Event]:
        """Translate a patch of the session. A checkpoint repeats messages and counts only if there were none before."""
        out = self._titled(record, text_of(patch.get("summary")))
        messages = dicts_of(patch.get("messages"))
        if not messages:
            return out
        if not self._own:
            for message in messages:
                out += self._message(record._replace(value=message), typed=False)
        else:
            ids = [text_of(message.get("id")) for message in messages if not _is_context(message)]
            if ids and not self._rewound and not set(ids) & set(self._ids):
                out.append(self.new.event(ev.COMPACTION, _summary(messages), record))
            self._remember(ids)
        self._rewound = False
        return out

    def _titled(self, record: Record, title: str) -> list[Event]:
        return self.new.change("title", title, record, f"title-{digest(title)}", first=True)

    def _message(self, record: Record, *, typed: bool) -> list[Event]:
        self._remember([text_of(record.value.get("id"))])
        return self._messages.translate(record, typed=typed)

    def _remember(self, ids: list[str]) -> None:
        known = set(self._ids)
        new = [native for native in ids[-_REMEMBERED:] if native and native not in known]
        self._ids = [*self._ids, *new][-_REMEMBERED:]

    @staticmethod
    def typed_texts(fields: Value) -> list[TypedText]:
        """Return the typed text of a message, or of a document's messages; never of a checkpoint."""
        if "sessionId" in fields and "id" not in fields:
            return [typed for m in list_of(fields.get("messages")) for typed in GeminiAdapter.typed_texts(dict_of(m))]
        text = _typed_of(fields)[0] if fields.get("type") == "user" else ""
        return [TypedText(text)] if text and not (_SHELL.fullmatch(text) or _LEFT_PLANS.fullmatch(text)) else []

    @staticmethod
    def recognises(_path: Path, first: Value, /) -> bool:
        """Return whether a file begins with a header, or is a document, of Gemini CLI."""
        return "sessionId" in first and ("projectHash" in first or "messages" in first)


def _project(path: Path) -> str:
    """Return the project's path from a file of its own: the folder's name does not contain it."""
    chats = next((parent for parent in path.parents if parent.name == "chats"), None)
    if chats is None:
        return ""
    try:
        return read_small(chats.parent / ".project_root", 4096).decode().strip()
    except (OSError, ValueError):
        return ""


def _typed_of(fields: Value) -> tuple[str, str]:
    """Return the typed text of a prompt, and what the client put around it."""
    shown = fields.get("displayContent")
    return _cut(_text(fields.get("content"))) if shown is None else (_text(shown), "")


def _is_echo(parts: list[Value]) -> bool:
    """Return whether a message repeats results for the model, which come with their calls."""
    return bool(parts) and all("functionResponse" in part for part in parts)


def _answer_of(content: Any) -> str:
    """Return the agent's text, without any thoughts in it."""
    return text_of(content) or _text([part for part in list_of(content) if not dict_of(part).get("thought")])


def _cut(text: str) -> tuple[str, str]:
    """Return a prompt without the client's additions (referenced files, output of hooks), and those additions."""
    before = _BEFORE.match(text)
    start = before.end() if before else 0
    behind = _APPENDED.search(text, start)
    said = text[start : behind.start()].rstrip() if behind else text[start:]
    end = start + len(said)
    return (said, f"{text[:start]}{text[end:]}".strip()) if said.strip() else (text, "")


def _summary(messages: list[Value]) -> Value:
    """Return the summary with which a shortened history begins, as far as its answer shows that it is one."""
    texts = [_text(message.get("content")) for message in messages[:3]]
    at = next((n for n, text in enumerate(texts) if text.startswith(_UNDERSTOOD)), 0)
    return {"summary": texts[at - 1]} if at else {}


def _is_context(message: Value) -> bool:
    """Return whether a message is the client's preamble, which has the same id in every session and checkpoint."""
    return bool(_context(_text(message.get("content"))))


def _context(text: str) -> str:
    """Return which kind of context from the client a text is, empty for any other text."""
    return next((name for opening, name in CONTEXTS.items() if text.lstrip().startswith(opening)), "")


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    rows = [dict_of(part) for part in (content if isinstance(content, list) else [content])]
    return "\n".join(text_of(row.get("text")) for row in rows if isinstance(row.get("text"), str))


def _answers(text: str, asked: list[Value]) -> Iterator[tuple[int, Value]]:
    """Yield the answers of a dialog, `{"answers": {number: text}}`, each with the number of its question."""
    if not asked:
        return
    try:
        answers = dict_of(dict_of(loads(text)).get("answers"))
    except ValueError:
        return
    for i, question in enumerate(asked):
        answer = answers.get(str(i))
        if answer is None:
            continue
        yield i, answer_of(question, [str(part) for part in answer] if isinstance(answer, list) else [str(answer)])
