"""Copilot CLI: `session-state/<session>/events.jsonl`.

Every record is an envelope `{type, data, id, timestamp, parentId}` and is in the file once. What the person typed is
`content`; `transformedContent` is what the model received.
"""

from pathlib import Path
from typing import Any, Final

from katod import events as ev
from katod.agents.base import (
    Adapter,
    AgentSpec,
    Described,
    EventBuilder,
    Nature,
    Origin,
    State,
    from_environment,
    handles,
    session_id,
)
from katod.agents.fields import dict_of, dicts_of, digest, list_of, text_of, texts_in
from katod.agents.toolcalls import OpenCalls, call_of
from katod.events import Event
from katod.model import Identity, Record, SessionKey, Typed

_MOST_DIGITS: Final = 15
# Known bookkeeping: hooks, permissions (visible in the results), counters, and copies of other records.
_IGNORED: Final = frozenset({
    "hook.start", "hook.end", "permission.requested", "permission.completed", "external_tool.requested",
    "external_tool.completed", "session.usage_checkpoint", "session.shutdown",
})  # fmt: skip
_SETTINGS: Final = (("model", "selectedModel"), ("effort", "reasoningEffort"))
# What the client tells the model in the user's name, without a mark.
_NOTICE: Final = "<system_"
_PHASES: Final = {"final_answer": "final", "commentary": "commentary"}


class CopilotBuilder(EventBuilder):
    """Names events by the id of their record, which a fork keeps."""

    def _describe(self, record: Record, part: int | str, _kind: str, _payload: dict[str, Any], /) -> Described:
        fields = record.value or {}
        source: dict[str, Any] = {"providerEventType": text_of(fields.get("type"))}
        if native := text_of(fields.get("id")):
            source["providerEventId"] = native
        if message := text_of(dict_of(fields.get("data")).get("messageId")):
            source["messageId"] = message
        if parent := text_of(fields.get("parentId")):
            source["parentId"] = parent
        source["offset"] = record.offset
        name = f"{native or f'@{record.offset}.{record.part}'}:{part}"
        return name, name, source, text_of(fields.get("timestamp"))


class CopilotAdapter(Adapter):
    """Translates the records of one Copilot CLI session."""

    ignored = _IGNORED

    def __init__(self, origin: Origin, state: State | None = None) -> None:
        state = state or {}
        self.new = CopilotBuilder(origin.ref, dedup_prefix="copilot:", now=state.get("now"))
        self.new.turn = state.get("turn", "")
        self._calls: OpenCalls[int] = OpenCalls(state.get("calls"))

    def state(self) -> dict[str, Any]:
        """Return the current turn, the settings and the open calls."""
        return {"turn": self.new.turn, "now": self.new.now, "calls": self._calls.state()}

    def _take_up(self, fields: dict[str, Any]) -> str:
        return text_of(fields.get("type")) if isinstance(fields.get("data"), dict) else ""

    # -- one method per kind of record --------------------------------------------------------------

    @handles("session.start")
    def _start(self, record: Record) -> list[Event]:
        data = record.value["data"]
        place = dict_of(data.get("context"))
        given = {
            "cwd": place.get("cwd"), "branch": place.get("branch"), "commit": place.get("headCommit"),
            "cliVersion": data.get("copilotVersion"),
        }  # fmt: skip
        self._settle(record)
        self.new.now["cwd"] = text_of(place.get("cwd"))
        return [self.new.event(ev.SESSION_START, texts_in(given), record)]

    @handles("session.resume")
    def _settle(self, record: Record) -> list[Event]:
        """Update the settings from a start or resume; each change is an event."""
        data = record.value["data"]
        changes = [self.new.change(what, data.get(key), record, what) for what, key in _SETTINGS]
        return [event for change in changes for event in change]

    @handles("session.model_change")
    def _model_change(self, record: Record) -> list[Event]:
        data = record.value["data"]
        return [
            *self.new.change("model", data.get("newModel"), record, "model"),
            *self.new.change("effort", data.get("reasoningEffort"), record, "effort"),
        ]

    @handles("session.permissions_changed")
    def _permissions(self, record: Record) -> list[Event]:
        data = record.value["data"]
        before, after = data.get("previousAllowAllPermissionMode"), data.get("allowAllPermissionMode")
        self.new.now.setdefault("permissionMode", text_of(before))
        return self.new.change("permissionMode", after, record, "permissionMode")

    @handles("user.message")
    def _user(self, record: Record) -> list[Event]:
        data = record.value["data"]
        text, sender = text_of(data.get("content")), text_of(data.get("source"))
        if sender and sender != "user":
            return [self.new.event(ev.SYSTEM_MESSAGE, {"text": text, "subtype": sender}, record)]
        files = [_attachment(row) for row in dicts_of(data.get("attachments"))]
        payload = {"text": text} | ({"attachments": files} if files else {})
        typed = not self.new.ref.subagent and not text.lstrip().startswith(_NOTICE)
        return [self.new.event(ev.USER_MESSAGE, payload, record, typed=typed)] if text.strip() or files else []

    @handles("assistant.message")
    def _assistant(self, record: Record) -> list[Event]:
        data = record.value["data"]
        model, out = text_of(data.get("model")), []
        if thought := text_of(data.get("reasoningText")).strip():
            out.append(self.new.event(ev.ASSISTANT_THINKING, {"text": thought}, record, "r", model=model))
        if (text := text_of(data.get("content"))).strip():
            phase = _PHASES.get(text_of(data.get("phase")))
            payload = {"text": text, "phase": phase} if phase else {"text": text}
            out.append(self.new.event(ev.ASSISTANT_MESSAGE, payload, record, model=model))
        for n, row in enumerate(list_of(data.get("toolRequests"))):
            call = dict_of(row)
            out += self._call(record, call, text_of(call.get("name")), model, n)
        if isinstance(count := data.get("outputTokens"), int):
            out.append(self.new.event(ev.USAGE, {"scope": "message", "output": count}, record, "u", model=model))
        return out

    @handles("tool.execution_start")
    def _begun(self, record: Record) -> list[Event]:
        """Translate the start of a call that was in no message."""
        data = record.value["data"]
        model = text_of(data.get("model"))
        return self._call(record, data, text_of(data.get("toolName")), model)

    def _call(self, record: Record, row: dict[str, Any], name: str, model: str, n: int = 0) -> list[Event]:
        call = text_of(row.get("toolCallId"))
        if not self._calls.add(call, 1):
            return []
        given, server = row.get("arguments"), text_of(row.get("mcpServerName"))
        payload = call_of(call, name, given, self.new.now.get("cwd", ""), server)
        place = digest(call) if call else f"{n}"
        return [self.new.event(ev.TOOL_CALL, payload, record, f"{place}c", model=model)]

    @handles("tool.execution_complete")
    def _ended(self, record: Record) -> list[Event]:
        data = record.value["data"]
        call = text_of(data.get("toolCallId"))
        self._calls.close(call)
        problem, result = dict_of(data.get("error")), dict_of(data.get("result"))
        payload: dict[str, Any] = {"toolCallId": call, "text": _result_text(result) or text_of(problem.get("message"))}
        if data.get("success") is False:
            payload["isError"] = True
        if problem.get("code") == "denied":
            payload["denied"] = True
        return [self.new.event(ev.TOOL_RESULT, payload, record)]

    @handles("assistant.turn_start")
    def _turn_start(self, record: Record) -> list[Event]:
        data = record.value["data"]
        self.new.turn = text_of(data.get("interactionId")) or self.new.turn
        number = text_of(data.get("turnId"))
        counted = number.isdecimal() and len(number) <= _MOST_DIGITS
        return [self.new.event(ev.TURN_START, {"number": int(number)} if counted else {}, record)]

    @handles("assistant.turn_end")
    def _turn_end(self, record: Record) -> list[Event]:
        return [self.new.event(ev.TURN_END, {"reason": "done"}, record)]

    @handles("system.message", "system.notification")
    def _system(self, record: Record) -> list[Event]:
        data = record.value["data"]
        subtype = text_of(dict_of(data.get("kind")).get("type")) or text_of(data.get("role")) or "system"
        return [self.new.event(ev.SYSTEM_MESSAGE, {"text": text_of(data.get("content")), "subtype": subtype}, record)]

    @handles("skill.invoked")
    def _skill(self, record: Record) -> list[Event]:
        data = record.value["data"]
        payload = {"text": text_of(data.get("name")), "subtype": "skill", "data": data}
        return [self.new.event(ev.PROVIDER_INFO, payload, record)]

    @handles("session.error")
    def _error(self, record: Record) -> list[Event]:
        data = record.value["data"]
        payload = {"message": text_of(data.get("message")) or "error"}
        if code := text_of(data.get("errorType")):
            payload["code"] = code
        return [self.new.event(ev.ERROR, payload, record)]

    @staticmethod
    def typed_texts(fields: dict[str, Any]) -> list[Typed]:
        """Return the text of a `user.message` that no program sent."""
        data = dict_of(fields.get("data"))
        text = text_of(data.get("content"))
        person = fields.get("type") == "user.message" and data.get("source") in (None, "", "user")
        return [Typed(text)] if person and not text.lstrip().startswith(_NOTICE) else []

    @staticmethod
    def recognises(path: Path, first: dict[str, Any], /) -> bool:
        """Return whether a file begins with an envelope of Copilot CLI."""
        return path.suffix == ".jsonl" and {"type", "data", "id", "timestamp", "parentId"} <= first.keys()


def _attachment(row: dict[str, Any]) -> dict[str, Any]:
    name = text_of(row.get("displayName")) or text_of(row.get("path"))
    return {"type": text_of(row.get("type")) or "file"} | ({"name": name} if name else {})


def _result_text(result: dict[str, Any]) -> str:
    content = result.get("content")
    if isinstance(content, str):
        return content
    return "\n".join(text_of(dict_of(block).get("text")) for block in list_of(content))


def _roots() -> list[Path]:
    return [from_environment("COPILOT_HOME") or Path.home() / ".copilot"]


def _identity(path: Path) -> Identity | None:
    """Return the identity of `<id>/events.jsonl`, formerly `<id>.jsonl`."""
    stem = path.parent.name if path.name == "events.jsonl" else path.stem
    return Identity(SessionKey("copilot", session_id(stem)))


SPEC: Final = AgentSpec(
    name="copilot",
    label="Copilot",
    product="Copilot CLI",
    adapter=CopilotAdapter,
    nature=Nature.NATIVE_IDS,
    roots=_roots,
    folders=("session-state", "history-session-state"),
    suffixes=(".jsonl",),
    identity_of=_identity,
)
