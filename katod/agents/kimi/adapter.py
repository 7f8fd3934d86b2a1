"""Kimi Code: `sessions/<project>/session_<id>/agents/<agent>/wire.jsonl`, a file for each agent of a session.

The file only grows. Since protocol 1.4 prompts and the parts of answers have records with ids of their own; before,
there are only messages as they are in the context, which may be the client's as well. A fork copies the file, and its
copies keep their ids and times. Records of the type `agent.…` repeat others.
"""

import re
from pathlib import Path
from typing import Any, Final

from katod import events as ev
from katod.agents.base import Adapter, Described, EventBuilder, Origin, State, content_digest, handles
from katod.agents.fields import dict_of, dicts_of, int_or_none, iso_time, name_of, text_of, texts_in
from katod.agents.kimi.places import medium_of, project_of
from katod.agents.kimi.questions import answers_in, asked_by
from katod.agents.toolcalls import OpenCalls, call_of, remembered
from katod.events import Event
from katod.lifecycle import COMPACTING, PERMISSION_COMPLETED, PERMISSION_REQUESTED
from katod.model import Record, TypedText

# Records that are the client's own, or repeat another one: those of these types (`_IGNORED`), and those whose types
# begin like this (`_OWN`).
_IGNORED: Final = frozenset({
    "turn.steer", "prompt.completed", "prompt.aborted", "subagent.started", "forked", "agent.switched", "context.undo",
    "full_compaction.complete", "loop/step.begin", "metadata", "turn.cancel",
})  # fmt: skip
_OWN: Final = (
    "agent.message.", "agent.turn.", "llm.", "token_counting.", "file_history.", "tools.", "runtime.", "plugin.",
    "turn.step.", "permission.record_",
)  # fmt: skip
_VERSION: Final = re.compile(r"[0-9]{1,9}")
_NEW: Final = (1, 4)  # the protocol since which prompts have records of their own
_STEPS: Final = ("step.begin", "step.end")
_LOOP: Final = "context.append_loop_event"
_PERSON: Final = ("user",)
_PLANS: Final = "plan"
_GIVEN: Final = "system_trigger"  # a sub-agent's task
_SHELL: Final = "shell_command"
# Neither is escaped, so each ends at its last closing tag.
_INPUT: Final = re.compile(r"<bash-input>\n?(.*?)\n?</bash-input>\s*", re.DOTALL)
_OUTPUT: Final = re.compile(r"<bash-stdout>(.*)</bash-stdout><bash-stderr>(.*)</bash-stderr>\s*", re.DOTALL)
_AROUND: Final = re.compile(r"<git-context>.*?</git-context>\s*", re.DOTALL)  # before a sub-agent's task
_EXIT: Final = re.compile(r"(?:\A|\n)Command failed with exit code: (-?[0-9]{1,15})\.\s*\Z")
_LEFT: Final = "Interrupted by user"
_TAIL: Final = 200
_ENDS: Final = {"completed": "done", "cancelled": "aborted"}
_COUNTS: Final = (
    ("input", "inputOther"), ("output", "output"), ("cacheRead", "inputCacheRead"),
    ("cacheWrite", "inputCacheCreation"),
)  # fmt: skip
# Parts of a prompt or a result: under which key their URL is, and what they are.
_MEDIA: Final = {
    "image_url": ("imageUrl", "image"), "video_url": ("videoUrl", "file"), "audio_url": ("audioUrl", "file"),
}  # fmt: skip
_DATA_URL: Final = re.compile(r"data:([\w.+-]+/[\w.+-]+);base64,", re.ASCII)
_STORED: Final = re.compile(r"blobref:([\w.+-]+/[\w.+-]+);([0-9a-f]{64})", re.ASCII)
Value = dict[str, Any]


class KimiBuilder(EventBuilder):
    """Names events by the id of a prompt, a part or a call, and others by what they say and when."""

    def _describe(self, record: Record, part: int | str, kind: str, payload: Value, /) -> Described:
        fields = record.value or {}
        event, time = dict_of(fields.get("event")), iso_time(fields.get("time"))
        native = _native(fields, event)
        name = native or (f"~{content_digest(kind, payload, time)}" if fields else f"@{record.offset}.{record.part}")
        source: Value = {"providerEventType": text_of(event.get("type")) or text_of(fields.get("type"))}
        if native:
            source["providerEventId"] = native
        if step := text_of(event.get("stepUuid")) or (text_of(event.get("uuid")) if "usage" in event else ""):
            source["messageId"] = step
        source["offset"] = record.offset
        return f"{name}:{part}", f"{name}:{time}:{part}", source, time


class KimiAdapter(Adapter):
    """Translates the records of one agent of a Kimi Code session."""

    ignored = _IGNORED

    def __init__(self, origin: Origin, state: State | None = None) -> None:
        state = state or {}
        self.new = KimiBuilder(origin.ref, dedup_prefix="kimi:", now=state.get("now"))
        self._path = origin.path
        self._started: bool = state.get("started", False)
        self._old: bool = state.get("old", False)  # whether the protocol is older than the records of prompts
        self._stepped: bool = state.get("stepped", False)  # whether steps end with their usage
        self._model: str = state.get("model", "")
        self._unplanned: str = state.get("unplanned", "")  # the permission mode before that for plans
        self._calls: OpenCalls[Value] = OpenCalls(state.get("calls"))

    def state(self) -> Value:
        """Return the settings so far, the protocol, the model, and what results need to know of their calls."""
        return {
            "started": self._started, "old": self._old, "stepped": self._stepped, "model": self._model,
            "unplanned": self._unplanned, "now": self.new.now, "calls": self._calls.state(),
        }  # fmt: skip

    def name(self, record: Record) -> str:
        """Return the type of a record, or that of the event in it."""
        return self._take_up(record.value)

    def _take_up(self, fields: Value) -> str:
        kind = name_of(fields.get("type"))
        if kind != _LOOP:
            return kind
        self._stepped = self._stepped or dict_of(fields.get("event")).get("type") in _STEPS
        return f"loop/{name_of(dict_of(fields.get('event')).get('type'))}"

    def _unhandled(self, record: Record) -> list[Event]:
        kind = self._take_up(record.value)
        if kind == "llm.request":
            return self._request(record)
        if kind in self.ignored or kind.startswith(_OWN):
            return []
        return [self.new.raw(record, kind or "unknown", record.value)]

    # -- settings -----------------------------------------------------------------------------------

    @handles("metadata")
    def _metadata(self, record: Record) -> list[Event]:
        numbers = _VERSION.findall(text_of(record.value.get("protocol_version")))
        self._old = bool(numbers) and tuple(map(int, numbers)) < _NEW
        return []

    @handles("profile.bind", "config.update")
    def _settings(self, record: Record) -> list[Event]:
        fields = record.value
        cwd = fields.get("cwd", dict_of(fields.get("environmentDisclosure")).get("cwd"))
        if not self._started and not isinstance(cwd, str):
            cwd = project_of(self._path) or None
        effort = fields.get("thinkingEffort")
        if self._started or not isinstance(cwd, str):
            known = (("cwd", cwd), ("model", fields.get("modelAlias")), ("effort", effort))
            changes = [self.new.change(what, after, record, what, first=what != "model") for what, after in known]
            return [event for change in changes for event in change]
        self._started = True
        start = texts_in({"cwd": cwd, "effort": effort})
        self.new.now.update(start | texts_in({"model": fields.get("modelAlias")}))
        return [self.new.event(ev.SESSION_START, start, record, "start")]

    @handles("permission.set_mode")
    def _mode(self, record: Record) -> list[Event]:
        return self.new.change("permissionMode", record.value.get("mode"), record, first=True)

    @handles("plan_mode.enter", "plan_mode.exit", "plan_mode.cancel")
    def _plan_mode(self, record: Record) -> list[Event]:
        """Translate the mode for plans, after which the one before it is on again."""
        before = self.new.now.get("permissionMode", "")
        if record.value["type"] == "plan_mode.enter":
            self._unplanned = self._unplanned if before == _PLANS else before
            return self.new.change("permissionMode", _PLANS, record, first=True)
        after = self._unplanned
        return self.new.change("permissionMode", after, record, emptied=not after) if before == _PLANS else []

    def _request(self, record: Record) -> list[Event]:
        """Translate nothing: the parts of an answer do not name its model, the request for it does."""
        if record.value.get("kind", "loop") == "loop":
            self._model = text_of(record.value.get("model")) or self._model
        return []

    # -- prompts ------------------------------------------------------------------------------------

    @handles("turn.prompt")
    def _prompt(self, record: Record) -> list[Event]:
        fields = record.value
        origin, text = _origin(fields), _text(fields.get("input"))
        if origin not in (*_PERSON, _GIVEN):
            return [self._system(record, text, "notification")]
        around = _AROUND.match(text) if origin == _GIVEN else None
        if around is None:
            return self._said(record, fields.get("input"), typed=origin in _PERSON)
        task = self._said(record, text[around.end() :], typed=False)
        return [self._system(record, around[0].strip(), "context", "c"), *task]

    @handles("prompt.steered")
    def _steered(self, record: Record) -> list[Event]:
        return self._said(record, record.value.get("content"), typed=_is_persons(record.value))

    @handles("context.append_message")
    def _message(self, record: Record) -> list[Event]:
        """Translate a message of the context, if its protocol has no other record of it."""
        message = dict_of(record.value.get("message"))
        if _origin(message) == _SHELL:
            return self._shell(record, _text(message.get("content")))
        if not self._old:
            return []
        if message.get("role") == "user" and _origin(message) in ("", *_PERSON):
            return self._said(record, message.get("content"), typed=False)
        if message.get("role") == "assistant":
            text = _text(message.get("content"))
            return [self.new.event(ev.ASSISTANT_MESSAGE, {"text": text}, record)] if text.strip() else []
        return [self.new.raw(record, "context.append_message", record.value)]

    def _shell(self, record: Record, text: str) -> list[Event]:
        """Translate a command that the user ran with `!`, or its output."""
        if command := _INPUT.fullmatch(text):
            return [self.new.event(ev.USER_MESSAGE, {"text": f"! {command[1]}", "subtype": "shell"}, record)]
        parts = found.groups() if (found := _OUTPUT.fullmatch(text)) else (text,)
        printed = "\n".join(filter(None, (part.rstrip("\n") for part in parts)))
        return [self._system(record, printed, "shell-output")]

    def _said(self, record: Record, content: Any, *, typed: bool) -> list[Event]:
        text, files = _text(content), [file for row in dicts_of(content) if (file := self._file(row))]
        payload = {"text": text} | ({"attachments": files} if files else {})
        out = [self.new.event(ev.USER_MESSAGE, payload, record, typed=typed)] if text.strip() or files else []
        return out + self.new.unread(record, content, "content", ("text", *_MEDIA))

    def _file(self, row: Value) -> Value:
        key, kind = _MEDIA.get(text_of(row.get("type")), ("", ""))
        if not kind:
            return {}
        url = text_of(dict_of(row.get(key)).get("url"))
        if inline := _DATA_URL.match(url):
            return self.new.attachment(kind, inline[1], url[inline.end() :])
        if stored := _STORED.fullmatch(url):
            data = medium_of(self._path, stored[2])
            return self.new.attachment(kind, stored[1], data) if data else {"type": kind, "mediaType": stored[1]}
        return {"type": kind}

    # -- answers --------------------------------------------------------------------------------------

    @handles("loop/content.part")
    def _part(self, record: Record) -> list[Event]:
        part = dict_of(record.value["event"].get("part"))
        if text := text_of(part.get("text")):
            said = [self.new.event(ev.ASSISTANT_MESSAGE, {"text": text}, record, model=self._model)]
            return said if text.strip() else []
        if text := text_of(part.get("think")):
            return [self.new.event(ev.ASSISTANT_THINKING, {"text": text}, record, model=self._model)]
        return [] if {"text", "think"} & part.keys() else [self.new.raw(record, "content.part", record.value)]

    @handles("loop/tool.call")
    def _call(self, record: Record) -> list[Event]:
        event = record.value["event"]
        name, given = text_of(event.get("name")), event.get("args", {})
        payload = call_of(text_of(event.get("toolCallId")), name, given, self.new.now.get("cwd", ""))
        out = [self.new.event(ev.TOOL_CALL, payload, record, model=self._model)]
        asked = asked_by(event, payload["toolCallId"])
        for i, question in enumerate(asked):
            out.append(self.new.event(ev.DECISION_PROMPT, question, record, f"q{i}", model=self._model))
        known = self._calls.close(payload["toolCallId"]) or {}
        self._calls.add(payload["toolCallId"], known | {"family": payload["family"]} | remembered(asked))
        return out

    @handles("loop/tool.result")
    def _result(self, record: Record) -> list[Event]:
        event = record.value["event"]
        call, result = text_of(event.get("toolCallId")), dict_of(event.get("result"))
        known, output = self._calls.close(call) or {}, result.get("output", result.get("error"))
        payload: Value = {"toolCallId": call, "text": _text(output)}
        payload |= _outcome(result, payload["text"], known)
        if files := [file for row in dicts_of(output) if (file := self._file(row))]:
            payload["attachments"] = files
        out = [self.new.event(ev.TOOL_RESULT, payload, record, "r")]
        answers = answers_in(known.get("asked", []), payload)
        return out + [self.new.event(ev.DECISION_RESPONSE, row, record, f"a{i}") for i, row in enumerate(answers)]

    @handles("loop/step.end")
    def _step(self, record: Record) -> list[Event]:
        return self._usage(record, dict_of(record.value["event"].get("usage")))

    @handles("usage.record")
    def _counted(self, record: Record) -> list[Event]:
        """Translate what an answer used, unless the end of its step says it, too."""
        return [] if self._stepped else self._usage(record, dict_of(record.value.get("usage")))

    def _usage(self, record: Record, row: Value) -> list[Event]:
        counts = {name: row[key] for name, key in _COUNTS if int_or_none(row.get(key)) is not None}
        payload = {"scope": "message"} | counts
        return [self.new.event(ev.USAGE, payload, record, "u", model=self._model)] if counts else []

    # -- what the client notes --------------------------------------------------------------------------

    @handles("interaction.request")
    def _asked(self, record: Record) -> list[Event]:
        """Note that the user is asked for a permission. A question is in its call."""
        fields = record.value
        request, call = dict_of(fields.get("request")), text_of(fields.get("toolCallId"))
        if fields.get("kind") != "approval":
            return []
        self._calls.replace(f"?{text_of(fields.get('id'))}", {"call": call})
        about = {"requestId": fields.get("id"), "toolCallId": call, "kind": request.get("toolName")}
        return [self.new.step(record, PERMISSION_REQUESTED, about | {"intention": request.get("action")})]

    @handles("interaction.resolved")
    def _resolved(self, record: Record) -> list[Event]:
        """Note a decision. Its call may be recorded only then."""
        known = self._calls.close(f"?{text_of(record.value.get('id'))}")
        if known is None:
            return []
        response = dict_of(record.value.get("response"))
        if response.get("decision") == "rejected":
            self._calls.replace(known["call"], (self._calls.get(known["call"]) or {}) | {"denied": True})
        about = {"requestId": record.value.get("id"), "toolCallId": known["call"], "kind": response.get("decision")}
        return [self.new.step(record, PERMISSION_COMPLETED, about | {"note": response.get("feedback")})]

    @handles("turn.ended")
    def _ended(self, record: Record) -> list[Event]:
        payload: Value = {"reason": _ENDS.get(text_of(record.value.get("reason")), "error")}
        if (duration := int_or_none(record.value.get("durationMs"))) is not None:
            payload["durationMs"] = duration
        return [self.new.event(ev.TURN_END, payload, record)]

    @handles("subagent.spawned")
    def _spawned(self, record: Record) -> list[Event]:
        about = texts_in({"task": record.value.get("description"), "model": record.value.get("model")})
        payload = {"subagent": text_of(record.value.get("subagentId"))} | about
        return [self.new.event(ev.AGENT_START, payload, record)]

    @handles("subagent.completed", "subagent.failed")
    def _finished(self, record: Record) -> list[Event]:
        status = record.value["type"].removeprefix("subagent.")  # what it found is the result of its call
        payload = {"subagent": text_of(record.value.get("subagentId")), "status": status}
        return [self.new.event(ev.AGENT_END, payload, record)]

    @handles("context.undone")
    def _undone(self, record: Record) -> list[Event]:
        return [self._system(record, "Conversation rewound", "rollback")]

    @handles("full_compaction.begin")
    def _compacting(self, record: Record) -> list[Event]:
        return [self.new.step(record, COMPACTING, {})]

    @handles("context.apply_compaction")
    def _compacted(self, record: Record) -> list[Event]:
        counts = {name: int_or_none(record.value.get(name)) for name in ("tokensBefore", "tokensAfter")}
        payload: Value = {name: count for name, count in counts.items() if count is not None}
        return [self.new.event(ev.COMPACTION, payload | texts_in({"summary": record.value.get("summary")}), record)]

    def _system(self, record: Record, text: str, subtype: str, part: int | str = 0) -> Event:
        return self.new.event(ev.SYSTEM_MESSAGE, {"text": text, "subtype": subtype}, record, part)

    @staticmethod
    def typed_texts(fields: Value) -> list[TypedText]:
        """Return the text of a prompt of the user, also of one that was sent while the agent worked."""
        kind = fields.get("type")
        is_prompt = kind == "turn.prompt" and _origin(fields) in _PERSON
        is_steered = kind == "prompt.steered" and _is_persons(fields)
        content = fields.get("input") if is_prompt else fields.get("content") if is_steered else None
        return [TypedText(text)] if (text := _text(content)) else []

    @staticmethod
    def recognises(path: Path, first: Value, /) -> bool:
        """Return whether a file begins with the protocol's version."""
        return path.suffix == ".jsonl" and first.get("type") == "metadata" and "protocol_version" in first


def _native(fields: Value, event: Value) -> str:
    names = (event.get("uuid"), event.get("parentUuid"), fields.get("promptId"), fields.get("messageId"))
    return next((name for name in names if isinstance(name, str) and name), "")


def _origin(fields: Value) -> str:
    return text_of(dict_of(fields.get("origin")).get("kind"))


def _is_persons(fields: Value) -> bool:
    """Return whether the user sent what was sent while the agent worked: its record has no origin (seen in 2.1.0)."""
    return _origin(fields) in ("", *_PERSON)


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(text_of(row.get("text")) for row in dicts_of(content) if row.get("type") == "text")


def _outcome(result: Value, text: str, known: Value) -> Value:
    row: Value = {}
    if (duration := int_or_none(result.get("durationMs"))) is not None:
        row["durationMs"] = duration
    if known.get("denied"):
        return row | {"isError": True, "denied": True}
    if result.get("isError") is not True and "error" not in result:
        return row
    if text.endswith(_LEFT):
        return row | {"status": "interrupted"}
    code = _EXIT.search(text, max(len(text) - _TAIL, 0)) if known.get("family") == "execute" else None
    return row | {"isError": True} | ({"exitCode": int(code[1])} if code else {})
