"""Qwen Code: `projects/<folder>/chats/<session>.jsonl`, and `subagents/<session>/agent-<id>.jsonl` beside it.

Records have ids and form a tree; whatever is in the file was said, in the order of the file. There is one record for
each answer of the model, with all its parts. A record says since 0.20 where it comes from (`provenance`). A fork copies
records with their ids and times, and marks each (`forkedFrom`).
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from katod import events as ev
from katod.agents.base import Adapter, Described, EventBuilder, Origin, State, content_digest, handles
from katod.agents.fields import dict_of, dicts_of, digest, safe_repr, text_of, texts_in
from katod.agents.qwen.questions import answers_in, asked_by
from katod.agents.qwen.results import notified, result_of
from katod.agents.toolcalls import OpenCalls, call_of, remembered
from katod.events import Event
from katod.model import Record, TypedText

_IGNORED: Final = frozenset({
    "system/ui_telemetry", "system/file_history_snapshot", "system/attribution_snapshot",
    "system/session_artifact_snapshot", "system/session_artifact_event", "system/session_sources_snapshot",
    "system/at_command", "system/user_text_elements", "system/branch_checkpoint", "system/turn_result",
    "system/goal_turn_end", "system/goal_state", "system/omni_recall", "system/background_task_completed",
    "system/session_recording_degraded", "system/slash_command",  # what a command did has a record of its own
})  # fmt: skip
# What hooks add to a prompt, each as a part of its own.
_HOOKS: Final = ("<qwen:user-prompt-submit-context", "<qwen:session-start-context")
# How a part begins behind which the client has put what a prompt names: files, or resources of a server.
_NAMED: Final = "--- Content from "
_TYPED: Final = ("user", "user/mid_turn_user_message")
_ANSWERS: Final = ("assistant", "assistant/realtime_message")
_READ: Final = ("text", "inlineData", "fileData", "functionResponse")  # the parts of a message of the user
_PERSON: Final = "real_user"
# Who else than the user may speak as the user in a session: a chat's channel, or a timer.
_OTHERS: Final = frozenset({"channel", "scheduled_task"})
_COUNTS: Final = (
    ("input", "promptTokenCount"), ("output", "candidatesTokenCount"), ("cacheRead", "cachedContentTokenCount"),
    ("reasoning", "thoughtsTokenCount"), ("total", "totalTokenCount"),
)  # fmt: skip
_SETTINGS: Final = (("cwd", "cwd"), ("branch", "gitBranch"))
Value = dict[str, Any]


class QwenBuilder(EventBuilder):
    """Names events by the id of their record; a fork keeps the id and the time of a record."""

    def _describe(self, record: Record, part: int | str, kind: str, payload: Value, /) -> Described:
        fields = record.value or {}
        native, time = text_of(fields.get("uuid")), text_of(fields.get("timestamp"))
        source: Value = {"providerEventType": _kind_of(fields)}
        if native:
            source["providerEventId"] = native
        source |= self.ancestors.source(fields.get("parentUuid"))
        source["offset"] = record.offset
        name = native or (f"~{content_digest(kind, payload, time)}" if fields else f"@{record.offset}.{record.part}")
        return f"{name}:{part}", f"{name}:{time}:{part}", source, time


class QwenAdapter(Adapter):
    """Translates the records of one Qwen Code session, or of one of its sub-agents."""

    ignored = _IGNORED

    def __init__(self, origin: Origin, state: State | None = None) -> None:
        state = state or {}
        ref = origin.ref._replace(parent=state.get("parent", ""))
        self.new = QwenBuilder(ref, dedup_prefix="qwen:", now=state.get("now"), above=state.get("above"))
        self.new.set_spawned(spawned=state.get("spawned", False))
        self._started: bool = state.get("started", False)
        self._not_a_person: bool = state.get("other", False)  # whether somebody else than the user writes the prompts
        self._calls: OpenCalls[Value] = OpenCalls(state.get("calls"))
        self._answer: list[Any] = state.get("answer", ["", "", 0])  # the last one: id, digest, number of its parts
        self._ran: bool = state.get("ran", False)  # whether a call of the last answer was run
        # A command of a file or a skill that was typed, and the record below which the prompt is that it becomes.
        self._command: list[str] = state.get("command", ["", ""])

    def state(self) -> Value:
        """Return the settings so far, the open calls, who writes the prompts, the last answer and the last command."""
        row: Value = {"started": self._started, "now": self.new.now, "above": self.new.ancestors.state()}
        row |= {"calls": self._calls.state(), "answer": self._answer}
        more = {"parent": self.new.ref.parent, "spawned": self.new.spawned}
        more |= {"other": self._not_a_person, "ran": self._ran}
        more |= {"command": self._command} if self._command[0] else {}
        return row | {name: known for name, known in more.items() if known}

    def feed(self, record: Record) -> list[Event]:
        """Translate one record; what is below one without an event is below its parent."""
        out, fields = super().feed(record), record.value or {}
        self._note_command(fields)
        self.new.ancestors.take(fields.get("uuid"), fields.get("parentUuid"), out)
        return self._settled(record) + out if fields else out

    def feed_usage(self, record: Record) -> list[Event]:
        """Return what an answer used, and the start of the session; an answer's first part is known as in `feed`."""
        start = [] if self._started else self._settled(record)
        if _kind_of(record.value) not in _ANSWERS:
            return start
        return start + self._used(record, self._first_part(record.value))

    def name(self, record: Record) -> str:
        """Return the type of a record with its subtype."""
        return _kind_of(record.value)

    def _take_up(self, fields: Value) -> str:
        return _kind_of(fields)

    def _unhandled(self, record: Record) -> list[Event]:
        kind = _kind_of(record.value)
        return [] if kind in self.ignored else [self.new.raw(record, kind or "unknown", record.value)]

    def _settled(self, record: Record) -> list[Event]:
        """Return the start of the session for its first record, and for any other the settings that it changes."""
        fields = record.value
        if self._started or not isinstance(fields.get("cwd"), str):
            changes = [self.new.change(what, fields.get(key), record, what, first=True) for what, key in _SETTINGS]
            return [event for change in changes for event in change] if self._started else []
        self._started = True
        start = texts_in({what: fields.get(key) for what, key in (*_SETTINGS, ("cliVersion", "version"))})
        self.new.now.update({what: start.get(what, "") for what, _ in _SETTINGS})
        parent = texts_in({"parent": dict_of(fields.get("forkedFrom")).get("sessionId")})
        if parent:
            self.new.child_of(parent["parent"])
        own = self.new.own_id(fields.get("sessionId"))
        return [self.new.event(ev.SESSION_START, start | parent | own, record, "start")]

    # -- what the user and others say -----------------------------------------------------------

    def _note_command(self, fields: Value) -> None:
        """Note a command that becomes a prompt, and what the client records between the two."""
        kind, data, at = _kind_of(fields), dict_of(fields.get("systemPayload")), text_of(fields.get("uuid"))
        if kind == "system/slash_command" and data.get("sentToModel") is True:
            self._command = [at, text_of(data.get("rawCommand"))]
        elif kind.startswith("system/") and self._command[0] == fields.get("parentUuid"):
            self._command = [at, self._command[1]]
        elif kind in _TYPED:
            self._command = ["", ""]

    def _became(self, text: str, fields: Value) -> bool:
        """Return whether a prompt is what the last command became: it stands below that, and has its words."""
        words = self._command[1].split()[1:]
        return bool(words) and self._is_below_command(fields) and all(word in text for word in words)

    def _may_be_of_file(self, fields: Value) -> bool:
        """Return whether a prompt may be what the last command became: or the next one, if a hook held that up."""
        return len(self._command[1].split()) == 1 and self._is_below_command(fields)

    def _is_below_command(self, fields: Value) -> bool:
        return bool(self._command[0]) and self._command[0] == fields.get("parentUuid")

    def _said(self, fields: Value) -> tuple[str, dict[str, list[str]]]:
        """Return what was typed, and by its subtype what the client put in its place or added to it."""
        text, appended, hooks = _typed_of(fields)
        if self._became(text, fields):
            text, appended = self._command[1], [text, *appended]
        return text, {"context": ["\n".join(appended)] if appended else [], "hook-context": hooks}

    @handles(*_TYPED)
    def _user(self, record: Record) -> list[Event]:
        text, beside = self._said(record.value)
        if "subtype" not in record.value:  # a new turn: what was left open gets no result
            self._calls, self._ran = OpenCalls(), False
        files = [file for part in _parts(record.value) if (file := self._file(part))]
        out: list[Event] = []
        if text.strip() or files:
            payload = {"text": text} | ({"attachments": files} if files else {})
            typed = _is_typed(record.value) and not self._not_a_person and not self._may_be_of_file(record.value)
            out.append(self.new.event(ev.USER_MESSAGE, payload, record, typed=typed))
        for subtype, texts in beside.items():
            out += [self._system(record, one, subtype, f"{subtype[0]}{n}") for n, one in enumerate(texts)]
        return out + self.new.unread(record, dict_of(record.value.get("message")).get("parts"), "user/part", _READ)

    @handles("user/realtime_message")
    def _spoken(self, record: Record) -> list[Event]:
        return [self.new.event(ev.USER_MESSAGE, {"text": text}, record) for text in [_text(record.value)] if text]

    @handles("user/notification")
    def _notification(self, record: Record) -> list[Event]:
        ended = notified(_text(record.value))
        out = [self.new.event(ev.AGENT_END, ended, record, "a")] if ended else []
        return [self._system(record, _shown(record.value), "notification"), *out]

    @handles("user/cron", "user/goal_runtime")
    def _own_words(self, record: Record) -> list[Event]:
        return [self._system(record, _shown(record.value), text_of(record.value.get("subtype")))]

    def _file(self, part: Value) -> Value:
        if isinstance(inline := part.get("inlineData"), dict):
            media, data = text_of(inline.get("mimeType")), text_of(inline.get("data"))
            return self.new.attachment("image" if media.startswith("image/") else "file", media, data)
        if isinstance(named := part.get("fileData"), dict):
            known = texts_in({"mediaType": named.get("mimeType"), "name": named.get("fileUri")})
            return {"type": "file"} | known
        return {}

    # -- what the model says ------------------------------------------------------------------------

    @handles(*_ANSWERS)
    def _assistant(self, record: Record) -> list[Event]:
        fields, model = record.value, text_of(record.value.get("model"))
        first = self._first_part(fields)
        self._ran = self._ran and bool(self._calls.state())
        out: list[Event] = []
        for n, part in enumerate(_parts(fields), first):
            out += self._part(record, part, n, model)
        return out + self._used(record, first)

    def _used(self, record: Record, first: int) -> list[Event]:
        """Return what an answer used, given the number of its first part."""
        counts, model = dict_of(record.value.get("usageMetadata")), text_of(record.value.get("model"))
        usage = {name: counts[key] for name, key in _COUNTS if isinstance(counts.get(key), int)}
        about = {"scope": "message"} | usage
        return [self.new.event(ev.USAGE, about, record, f"u{first or ''}", model=model)] if usage else []

    def _first_part(self, fields: Value) -> int:
        """Return the number of an answer's first part: two records with one id are two parts of one answer."""
        native, now = text_of(fields.get("uuid")), digest(safe_repr(fields))
        last, before, count = self._answer
        first = count if native and native == last and now != before else 0
        self._answer = [native, now, first + len(_parts(fields))]
        return first

    def _part(self, record: Record, part: Value, n: int, model: str) -> Iterator[Event]:
        if isinstance(call := part.get("functionCall"), dict):
            yield from self._call(record, call, n, model)
        elif (text := text_of(part.get("text"))).strip():
            kind = ev.ASSISTANT_THINKING if part.get("thought") is True else ev.ASSISTANT_MESSAGE
            yield self.new.event(kind, {"text": text}, record, n, model=model)
        elif "text" not in part:
            yield self.new.raw(record, "assistant/part", part, n)

    def _call(self, record: Record, call: Value, n: int, model: str) -> Iterator[Event]:
        name, given = text_of(call.get("name")), call.get("args", {})
        payload = call_of(text_of(call.get("id")), name, given, self.new.now.get("cwd", ""))
        yield self.new.event(ev.TOOL_CALL, payload, record, n, model=model)
        asked = asked_by(name, payload["toolCallId"], dict_of(given))
        for i, question in enumerate(asked):
            yield self.new.event(ev.DECISION_PROMPT, question, record, f"{n}q{i}", model=model)
        self._calls.add(payload["toolCallId"], remembered(asked))

    @handles("tool_result")
    def _result(self, record: Record) -> list[Event]:
        out: list[Event] = []
        shown = dict_of(record.value.get("toolCallResult"))
        responses = [part["functionResponse"] for part in _parts(record.value) if "functionResponse" in part]
        files = [file for part in _parts(record.value) if (file := self._file(part))]
        for n, response in enumerate(map(dict_of, responses)):
            payload = result_of(response, shown if len(responses) == 1 else {})
            known = self._calls.close(payload["toolCallId"]) or {}
            attached = {"attachments": files} if files and n == 0 else {}
            out.append(self.new.event(ev.TOOL_RESULT, payload | attached, record, n))
            answers = answers_in(known.get("asked", []), payload, dict_of(shown.get("resultDisplay")))
            out += [self.new.event(ev.DECISION_RESPONSE, row, record, f"{n}a{i}") for i, row in enumerate(answers)]
            self._ran = self._ran or not _is_cancelled(payload)
        return out + self._left(record, out)

    def _left(self, record: Record, results: list[Event]) -> list[Event]:
        """Return the end of the turn, if all calls of the last answer were refused or interrupted."""
        is_over = bool(results) and not self._ran and not self._calls.state()
        return [self.new.event(ev.TURN_END, {"reason": "aborted"}, record, "e")] if is_over else []

    # -- what the client notes ------------------------------------------------------------------------

    @handles("system/custom_title")
    def _title(self, record: Record) -> list[Event]:
        return self.new.change("title", _payload(record).get("customTitle"), record, first=True)

    @handles("system/rewind")
    def _rewind(self, record: Record) -> list[Event]:
        return [self._system(record, "Conversation rewound", "rollback")]

    @handles("system/chat_compression")
    def _compression(self, record: Record) -> list[Event]:
        info = dict_of(_payload(record).get("info"))
        counts = (("tokensBefore", "originalTokenCount"), ("tokensAfter", "newTokenCount"))
        known = {name: info[key] for name, key in counts if isinstance(info.get(key), int)}
        return [self.new.event(ev.COMPACTION, known, record)]

    @handles("system/parent_session")
    def _parent(self, record: Record) -> list[Event]:
        if parent := text_of(_payload(record).get("parentSessionId")):
            self.new.child_of(parent, spawned=True)
        return []

    @handles("system/session_source")
    def _source(self, record: Record) -> list[Event]:
        self._not_a_person = _payload(record).get("sourceType") in _OTHERS
        return []

    @handles("system/session_model")
    def _model(self, record: Record) -> list[Event]:
        return self.new.change("model", _payload(record).get("modelId"), record)

    def _system(self, record: Record, text: str, subtype: str, part: int | str = 0) -> Event:
        return self.new.event(ev.SYSTEM_MESSAGE, {"text": text, "subtype": subtype}, record, part)

    @staticmethod
    def typed_texts(fields: Value) -> list[TypedText]:
        """Return what the user typed."""
        is_typed = _kind_of(fields) in _TYPED and _is_typed(fields)
        return [TypedText(text)] if is_typed and (text := _typed_of(fields)[0]) else []

    @staticmethod
    def recognises(path: Path, first: Value, /) -> bool:
        """Return whether a file begins with a record of Qwen Code."""
        parts = dict_of(first.get("message")).get("parts")
        known = {"uuid", "parentUuid", "sessionId", "cwd"} <= first.keys()
        return path.suffix == ".jsonl" and known and (isinstance(parts, list) or "systemPayload" in first)


def _kind_of(fields: Value) -> str:
    """Return the type of a record, with its subtype if it has one."""
    kind, subtype = fields.get("type"), fields.get("subtype")
    if isinstance(kind, dict | list) or isinstance(subtype, dict | list):
        raise TypeError("a type is an object or an array")
    return f"{text_of(kind)}/{subtype}" if subtype and isinstance(subtype, str) else text_of(kind)


def _is_cancelled(result: Value) -> bool:
    return result.get("denied") is True or result.get("status") == "interrupted"


def _payload(record: Record) -> Value:
    return dict_of(record.value.get("systemPayload"))


def _parts(fields: Value) -> list[Value]:
    return dicts_of(dict_of(fields.get("message")).get("parts"))


def _text(fields: Value) -> str:
    return "\n".join(text for part in _parts(fields) if (text := text_of(part.get("text"))))


def _shown(fields: Value) -> str:
    """Return what the client showed of a message in place of its text."""
    return text_of(dict_of(fields.get("systemPayload")).get("displayText")) or _text(fields)


def _typed_of(fields: Value) -> tuple[str, list[str], list[str]]:
    """Return what was typed, which the client keeps apart if the parts have more, and what it and hooks added to it.

    It adds the files that a prompt names, in parts of their own.
    """
    texts = [text for part in _parts(fields) if (text := text_of(part.get("text")))]
    hooks = [text for text in texts if text.startswith(_HOOKS)]
    texts = [text for text in texts if text not in hooks]
    end = next((n for n, text in enumerate(texts) if n and text.lstrip().startswith(_NAMED)), len(texts))
    shown = text_of(dict_of(fields.get("systemPayload")).get("displayText"))
    return shown or "\n".join(texts[:end]), texts[end:], hooks


def _is_typed(fields: Value) -> bool:
    """Return whether a prompt was typed in this session: not copied by a fork, and not that of a sub-agent."""
    is_copied = "forkedFrom" in fields or fields.get("isSidechain") is True
    has_results = any("functionResponse" in part for part in _parts(fields))
    return fields.get("provenance", _PERSON) == _PERSON and not is_copied and not has_results
