"""Sub-agents: what started them and what came of them, each said once. Pure."""

from typing import Any, Final

from katod.formats.matrix.calls import MatrixCalls, Row, answered, duration
from katod.formats.matrix.lines import Draft, Wait, transaction_of
from katod.formats.matrix.session import EventContext
from katod.formats.matrix.shown import shows
from katod.formats.matrix.values import Content
from katod.model import LONGEST_NAME

_MOST: Final = 256
_LAUNCHED: Final = "launched"
_TOKENS: Final = ("input_tokens", "output_tokens")
_STATUS: Final = {
    "completed": "success", "complete": "success", "success": "success", "done": "success", "ok": "success",
    "failed": "failure", "failure": "failure", "error": "failure", "errored": "failure",
    "timeout": "timeout", "timed_out": "timeout",
    "interrupted": "interrupted", "aborted": "interrupted", "cancelled": "interrupted", "killed": "interrupted",
    "stopped": "interrupted", "shutdown": "interrupted",
}  # fmt: skip


class Agents:
    """The sub-agents that work, by id: the transaction of the line that started each."""

    def __init__(self, state: dict[str, Any] | None = None) -> None:
        state = state or {}
        self._working: dict[str, str] = state.get("working", {})
        self._launched: list[str] = state.get("launched", [])  # the record and the spawn of the last launch
        self._used: dict[str, Content] = state.get("used", {})  # the tokens of those that speak in the session's file

    def state(self) -> dict[str, Any]:
        """Return the state to resume from, as JSON."""
        row: dict[str, Any] = {"working": self._working, "launched": self._launched, "used": self._used}
        return {name: value for name, value in row.items() if value}

    def use(self, child: str, counts: Content) -> None:
        """Count the tokens of one answer of a sub-agent."""
        before = self._used.pop(child, {})
        known: Content = {
            name: before.get(name, 0) + counts.get(name, 0) for name in _TOKENS if name in {**before, **counts}
        }
        if known and len(child) <= LONGEST_NAME:
            self._used[child] = known
            if len(self._used) > _MOST:
                del self._used[next(iter(self._used))]

    def result(self, context: EventContext, call: Row, requests: dict[str, str]) -> list[Draft]:
        """Return the result of a call that started a sub-agent; its id may follow."""
        launches = bool(call.get("launches")) or context.payload.get("status") == _LAUNCHED
        if launches or context.payload.get("denied"):
            self._launched = [record_of(context), call["txn"]] if launches else []
            return answered(context, call, requests)
        self._working.pop(call.get("child", ""), None)
        status = call.get("status") or ("failure" if context.payload.get("isError") else "")
        about = (
            _about(context, call.get("child", ""), status)
            | duration(context, call.get("time"))
            | {"result": context.text("text")}
            | self._used.pop(call.get("child", ""), {})
        )
        about["katod_tool_use_id"] = context.text("toolCallId")
        waits: tuple[Wait, str] | None = None if "child" in call else ("agent", record_of(context))
        return [Draft("agent.result", about, reply=call["txn"], at=("result",), waits=waits)]

    def started(self, context: EventContext, calls: MatrixCalls) -> list[Draft]:
        """Return the start of a sub-agent, unless it is that of a call, which was said."""
        child = context.text("subagent")
        if self._bound(context, child, calls):
            return []
        self._remember(child, transaction_of(context.event) if shows(context, "agent.spawn") else "")
        about = {"parent_session_id": context.session_id, "child_session_id": child}
        about |= {name: context.text(name) for name in ("task", "model") if context.text(name)}
        return [Draft("agent.spawn", about, at=("task",))]

    def ended(self, context: EventContext, calls: MatrixCalls) -> list[Draft]:
        """Return the end of a sub-agent, unless the result of its call will say it."""
        child = context.text("subagent")
        open_call = next((row for row in calls.rows.values() if row.get("child") == child), None)
        if open_call is not None and not open_call.get("launches"):
            open_call["status"] = context.text("status")
            return []
        about = _about(context, child, context.text("status"))
        said = context.text("result")
        about |= ({"result": said} if said else {}) | self._used.pop(child, {})
        return [Draft("agent.result", about, reply=self._working.pop(child, ""), at=("result",))]

    def _bound(self, context: EventContext, child: str, calls: MatrixCalls) -> bool:
        """Return whether a sub-agent is that of an open call, or of one that was just launched."""
        if self._launched and self._launched[0] == record_of(context):
            self._remember(child, self._launched[1])
            self._launched = []
            return True
        spawning = calls.spawning()
        own = calls.get(child)
        call = own if own in spawning else spawning[0] if len(spawning) == 1 else None
        if call is None or len(child) > LONGEST_NAME:
            return False
        call["child"] = child
        self._remember(child, call["txn"])
        return True

    def _remember(self, child: str, txn: str) -> None:
        if 0 < len(child) <= LONGEST_NAME:
            self._working[child] = txn
            if len(self._working) > _MOST:
                del self._working[next(iter(self._working))]


def record_of(context: EventContext) -> str:
    """Return the identity of an event's record."""
    source = context.event.source
    return f"{source.get('providerEventId', '')}@{source.get('offset', '')}"


def finished(context: EventContext) -> Content:
    """Return what the end of a sub-agent adds to the result of its call, which is in the same record."""
    return _about(context, context.text("subagent"), context.text("status"))


def _about(context: EventContext, child: str, status: str) -> Content:
    known = _STATUS.get(status.lower(), "")
    about = {
        "parent_session_id": context.session_id, "child_session_id": child, "status": known,
        "katod_status": status if status and not known else "",
    }  # fmt: skip
    return {name: text for name, text in about.items() if text}
