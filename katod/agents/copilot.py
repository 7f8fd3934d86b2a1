"""Copilot CLI: `session-state/<session>/events.jsonl` (format notes, section 5).

Every record is an envelope `{type, data, id, timestamp, parentId}` and stands in the file once. What the
person typed is `content`; `transformedContent` is what the model was given.
"""

from pathlib import Path
from typing import Any, ClassVar, Final

from katod import events as ev
from katod.agents.protocol import Immediate, Origin, dict_of, digest, list_of, remember, text_of
from katod.agents.tools import call_of
from katod.events import Event
from katod.model import Record

_MOST_DIGITS: Final = 15
# Known bookkeeping: hooks, permissions beside the results that tell of them, counters, and doubles of other records.
LEFT_OUT: Final = frozenset({
    "hook.start", "hook.end", "permission.requested", "permission.completed", "external_tool.requested",
    "external_tool.completed", "session.usage_checkpoint", "session.shutdown",
})  # fmt: skip
_SETTINGS: Final = (("model", "selectedModel"), ("effort", "reasoningEffort"))
# What the client tells the model under the person's name, without a mark.
_NOTICE: Final = "<system_"
_PHASES: Final = {"final_answer": "final", "commentary": "commentary"}


class Copilot(Immediate):
    """Translates the records of one Copilot CLI session."""

    agent: ClassVar[str] = "copilot"
    version: ClassVar[int] = 1
    native_ids: ClassVar[bool] = True
    exact_times: ClassVar[bool] = True

    def __init__(self, origin: Origin, state: dict[str, Any] | None = None) -> None:
        state = state or {}
        self._ref = origin.ref
        self._turn: str = state.get("turn", "")
        self._now: dict[str, str] = state.get("now", {})
        self._calls: dict[str, int] = state.get("calls", {})

    def state(self) -> dict[str, Any]:
        """Return the present turn, the settings and the open calls."""
        return {"turn": self._turn, "now": self._now, "calls": self._calls}

    def feed(self, record: Record) -> list[Event]:
        """Translate one record."""
        value = record.value
        if value is None:
            return [self._raw(record, record.problem, record.raw)]
        kind, data = text_of(value.get("type")), value.get("data")
        handler = _HANDLERS.get(kind)
        if handler is not None and isinstance(data, dict):
            return handler(self, data, record)
        return [] if kind in LEFT_OUT else [self._raw(record, kind or "unknown", value)]

    # -- one kind of record each ------------------------------------------------------------------

    def _start(self, data: dict[str, Any], record: Record) -> list[Event]:
        place = dict_of(data.get("context"))
        given = {
            "cwd": place.get("cwd"), "branch": place.get("branch"), "commit": place.get("headCommit"),
            "cliVersion": data.get("copilotVersion"),
        }  # fmt: skip
        self._settle(data, record)
        self._now["cwd"] = text_of(place.get("cwd"))
        return [self._event(ev.SESSION_START, {k: v for k, v in given.items() if isinstance(v, str) and v}, record)]

    def _settle(self, data: dict[str, Any], record: Record) -> list[Event]:
        """Note the settings of a start or resume; those that changed are told."""
        changes = [self._change(what, text_of(data.get(key)), record) for what, key in _SETTINGS]
        return [event for change in changes for event in change]

    def _model_change(self, data: dict[str, Any], record: Record) -> list[Event]:
        return [
            *self._change("model", text_of(data.get("newModel")), record),
            *self._change("effort", text_of(data.get("reasoningEffort")), record),
        ]

    def _permissions(self, data: dict[str, Any], record: Record) -> list[Event]:
        before, after = data.get("previousAllowAllPermissionMode"), data.get("allowAllPermissionMode")
        self._now.setdefault("permissionMode", text_of(before))
        return self._change("permissionMode", text_of(after), record)

    def _user(self, data: dict[str, Any], record: Record) -> list[Event]:
        text, sender = text_of(data.get("content")), text_of(data.get("source"))
        if sender and sender != "user":
            return [self._event(ev.SYSTEM_MESSAGE, {"text": text, "subtype": sender}, record)]
        files = [_attachment(row) for row in list_of(data.get("attachments")) if isinstance(row, dict)]
        payload = {"text": text} | ({"attachments": files} if files else {})
        typed = not self._ref.subagent and not text.lstrip().startswith(_NOTICE)
        return [self._event(ev.USER_MESSAGE, payload, record, typed=typed)] if text.strip() or files else []

    def _assistant(self, data: dict[str, Any], record: Record) -> list[Event]:
        model, out = text_of(data.get("model")), []
        if thought := text_of(data.get("reasoningText")).strip():
            out.append(self._event(ev.ASSISTANT_THINKING, {"text": thought}, record, "r", model=model))
        if (text := text_of(data.get("content"))).strip():
            phase = _PHASES.get(text_of(data.get("phase")))
            payload = {"text": text, "phase": phase} if phase else {"text": text}
            out.append(self._event(ev.ASSISTANT_MESSAGE, payload, record, model=model))
        for n, row in enumerate(list_of(data.get("toolRequests"))):
            call = dict_of(row)
            out += self._call(call, text_of(call.get("name")), model, record, n)
        if isinstance(count := data.get("outputTokens"), int):
            out.append(self._event(ev.USAGE, {"scope": "message", "output": count}, record, "u", model=model))
        return out

    def _begun(self, data: dict[str, Any], record: Record) -> list[Event]:
        """Translate the start of a call that no message asked for."""
        model = text_of(data.get("model"))
        return self._call(data, text_of(data.get("toolName")), model, record)

    def _call(self, row: dict[str, Any], name: str, model: str, record: Record, n: int = 0) -> list[Event]:
        call = text_of(row.get("toolCallId"))
        if not remember(self._calls, call, 1):
            return []
        given, server = row.get("arguments"), text_of(row.get("mcpServerName"))
        payload = call_of(call, name, given, self._now.get("cwd", ""), server)
        place = digest(call) if call else f"{n}"
        return [self._event(ev.TOOL_CALL, payload, record, f"{place}c", model=model)]

    def _ended(self, data: dict[str, Any], record: Record) -> list[Event]:
        call = text_of(data.get("toolCallId"))
        self._calls.pop(call, None)
        problem, result = dict_of(data.get("error")), dict_of(data.get("result"))
        payload: dict[str, Any] = {"toolCallId": call, "text": _result_text(result) or text_of(problem.get("message"))}
        if data.get("success") is False:
            payload["isError"] = True
        if problem.get("code") == "denied":
            payload["denied"] = True
        return [self._event(ev.TOOL_RESULT, payload, record)]

    def _turn_start(self, data: dict[str, Any], record: Record) -> list[Event]:
        self._turn = text_of(data.get("interactionId")) or self._turn
        number = text_of(data.get("turnId"))
        told = number.isdecimal() and len(number) <= _MOST_DIGITS
        return [self._event(ev.TURN_START, {"number": int(number)} if told else {}, record)]

    def _turn_end(self, _: dict[str, Any], record: Record) -> list[Event]:
        return [self._event(ev.TURN_END, {"reason": "done"}, record)]

    def _system(self, data: dict[str, Any], record: Record) -> list[Event]:
        subtype = text_of(dict_of(data.get("kind")).get("type")) or text_of(data.get("role")) or "system"
        return [self._event(ev.SYSTEM_MESSAGE, {"text": text_of(data.get("content")), "subtype": subtype}, record)]

    def _skill(self, data: dict[str, Any], record: Record) -> list[Event]:
        payload = {"text": text_of(data.get("name")), "subtype": "skill", "data": data}
        return [self._event(ev.PROVIDER_INFO, payload, record)]

    def _error(self, data: dict[str, Any], record: Record) -> list[Event]:
        payload = {"message": text_of(data.get("message")) or "error"}
        if code := text_of(data.get("errorType")):
            payload["code"] = code
        return [self._event(ev.ERROR, payload, record)]

    # -- what records have in common --------------------------------------------------------------

    def _change(self, what: str, after: str, record: Record) -> list[Event]:
        before = self._now.get(what, "")
        if not after or after == before:
            return []
        self._now[what] = after
        if not before:
            return []
        payload = {"what": what, "before": before, "after": after}
        return [self._event(ev.CONFIG_CHANGE, payload, record, what)]

    def _raw(self, record: Record, raw_type: str, raw: Any) -> Event:
        return self._event(ev.PROVIDER_RAW, {"rawType": raw_type, "raw": raw}, record)

    def _event(
        self, kind: str, payload: dict[str, Any], record: Record, n: str = "0", *, model: str = "", typed: bool = False
    ) -> Event:
        value = record.value or {}
        native = text_of(value.get("id"))
        source: dict[str, Any] = {"providerEventType": text_of(value.get("type"))}
        if native:
            source["providerEventId"] = native
        if message := text_of(dict_of(value.get("data")).get("messageId")):
            source["messageId"] = message
        if parent := text_of(value.get("parentId")):
            source["parentId"] = parent
        source["offset"] = record.offset
        key = f"{native or f'@{record.offset}.{record.part}'}:{n}"
        time = text_of(value.get("timestamp"))
        return Event(
            f"copilot:{self._ref.id}:{key}", kind, self._ref, payload, source, time, "recorded" if time else "",
            self._turn, model, f"copilot:{key}", typed,
        )  # fmt: skip

    @staticmethod
    def typed_texts(value: dict[str, Any]) -> list[str]:
        """Return the text of a `user.message` that no program sent."""
        data = dict_of(value.get("data"))
        text = text_of(data.get("content"))
        person = value.get("type") == "user.message" and data.get("source") in (None, "", "user")
        return [text] if person and not text.lstrip().startswith(_NOTICE) else []

    @staticmethod
    def recognises(path: Path, first: dict[str, Any]) -> bool:
        """Say whether a file begins with an envelope of Copilot CLI."""
        return path.suffix == ".jsonl" and {"type", "data", "id", "timestamp", "parentId"} <= first.keys()


def _attachment(row: dict[str, Any]) -> dict[str, Any]:
    name = text_of(row.get("displayName")) or text_of(row.get("path"))
    return {"type": text_of(row.get("type")) or "file"} | ({"name": name} if name else {})


def _result_text(result: dict[str, Any]) -> str:
    content = result.get("content")
    if isinstance(content, str):
        return content
    return "\n".join(text_of(dict_of(block).get("text")) for block in list_of(content))


_HANDLERS: Final = {
    "session.start": Copilot._start,  # noqa: SLF001 - the table belongs to the class
    "session.resume": Copilot._settle,  # noqa: SLF001
    "session.model_change": Copilot._model_change,  # noqa: SLF001
    "session.permissions_changed": Copilot._permissions,  # noqa: SLF001
    "session.error": Copilot._error,  # noqa: SLF001
    "user.message": Copilot._user,  # noqa: SLF001
    "assistant.message": Copilot._assistant,  # noqa: SLF001
    "assistant.turn_start": Copilot._turn_start,  # noqa: SLF001
    "assistant.turn_end": Copilot._turn_end,  # noqa: SLF001
    "tool.execution_start": Copilot._begun,  # noqa: SLF001
    "tool.execution_complete": Copilot._ended,  # noqa: SLF001
    "system.message": Copilot._system,  # noqa: SLF001
    "system.notification": Copilot._system,  # noqa: SLF001
    "skill.invoked": Copilot._skill,  # noqa: SLF001
}
