"""What an agent is doing, in the words of CodingBridge, as far as its events say. Pure."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final

from katod import events as ev
from katod.model import LONGEST_NAME

THINKING: Final = "thinking"
EXECUTING: Final = "executing"
ASKING: Final = "waiting_input"
BLOCKED: Final = "waiting_permission"
IDLE: Final = "idle"
PERMISSION: Final = "permission-"  # how the subtypes of `provider.info` about permissions begin
_REQUESTED: Final = "permission-requested"
_MOST: Final = 256
# The models' words for an answer after which nothing follows.
_ENDS: Final = frozenset({"end_turn", "stop", "stop_sequence"})
# Text in the person's name that the model does not answer, or not for certain.
_UNANSWERED: Final = frozenset({"shell", "slash-command", "context"})
Fields = dict[str, Any]


class Activity:
    """Derives the state from what was called, asked and requested, and is not answered yet.

    A call without a result is a tool that runs. Nobody waits for a permission unless the agent notes a request.
    """

    def __init__(self, state: Fields | None = None) -> None:
        state = state or {}
        self._said: list[str] = state.get("said", [])
        self._names: dict[str, str] = state.get("names", {})  # of tools, by call
        self._open: list[str] = state.get("open", [])
        self._asked: list[str] = state.get("asked", [])
        self._requests: dict[str, str] = state.get("requests", {})  # for permissions: which call
        self._goes_on: bool = state.get("goes_on", False)  # the model has not answered the last result yet
        self._idle: bool = state.get("idle", False)

    def state(self) -> Fields:
        """Return what has to be remembered, as JSON."""
        row = {
            "said": self._said, "names": self._names, "open": self._open, "asked": self._asked,
            "requests": self._requests, "goes_on": self._goes_on, "idle": self._idle,
        }  # fmt: skip
        return {name: value for name, value in row.items() if value}

    def called(self, call: str) -> str:
        """Return the name of the tool of an open call, empty if it is unknown."""
        return self._names.get(call, "")

    def after(self, kind: str, payload: Fields) -> list[str]:
        """Return the state after an event, with the tool that runs; empty if it is the same as before or unknown."""
        step = self._STEPS.get(kind)
        if step is None or not step(self, payload) or (now := self._now()) == self._said:
            return []
        self._said = now
        return now

    def _now(self) -> list[str]:
        if self._idle:
            return [IDLE]
        if self._requests:
            return [BLOCKED]
        if self._asked:
            return [ASKING]
        return [EXECUTING, self._names[self._open[-1]]] if self._open else [THINKING]

    # -- one step for each kind: whether it says anything of the state -------------------------------

    def _settle(self, *, idle: bool) -> bool:
        """Forget what was open: nobody waits for it any more."""
        self._open, self._asked, self._requests = [], [], {}
        self._goes_on, self._idle = False, idle
        return True

    def _typed(self, payload: Fields) -> bool:
        return payload.get("subtype") not in _UNANSWERED and self._settle(idle=False)

    def _begin(self, _: Fields) -> bool:
        self._idle = False
        return True

    def _speak(self, payload: Fields) -> bool:
        self._goes_on = False
        self._idle = payload.get("stopReason") in _ENDS and not self._open
        return True

    def _call(self, payload: Fields) -> bool:
        call = payload["toolCallId"]
        self._idle = self._goes_on = False
        if 0 < len(call) <= LONGEST_NAME:
            self._forget(call)
            self._names[call] = payload["name"][:LONGEST_NAME] or "tool"
            self._open.append(call)
        if len(self._names) > _MOST:
            self._forget(next(iter(self._names)))
        return True

    def _result(self, payload: Fields) -> bool:
        call = payload["toolCallId"]
        late = self._idle and call not in self._open
        self._forget(call)
        self._asked = [asked for asked in self._asked if not asked.startswith(f"{call}:")]
        self._requests = {request: of for request, of in self._requests.items() if of != call}
        if not late:
            self._goes_on, self._idle = True, False
        return not late

    def _forget(self, call: str) -> None:
        self._names.pop(call, None)
        self._open = [other for other in self._open if other != call]

    def _ask(self, payload: Fields) -> bool:
        self._asked = [*self._asked, payload["decisionId"]][-_MOST:]
        return self._begin(payload)

    def _answer(self, payload: Fields) -> bool:
        before = len(self._asked)
        self._asked = [asked for asked in self._asked if asked != payload["decisionId"]]
        return len(self._asked) < before

    def _end(self, payload: Fields) -> bool:
        """End the turn, unless its last result waits for an answer: some agents end one with each round of calls."""
        if payload.get("reason") == "done" and self._goes_on:
            return False
        return self._settle(idle=True)

    def _finish(self, _: Fields) -> bool:
        return self._settle(idle=True)

    def _ask_permission(self, payload: Fields) -> bool:
        """Take up what an agent notes of a permission: that it asks the person for one, or that it was answered."""
        subtype, data = payload.get("subtype") or "", payload.get("data")
        if not subtype.startswith(PERMISSION) or not isinstance(data, dict):
            return False
        request, call = str(data.get("requestId", "")), str(data.get("toolCallId", ""))
        self._requests.pop(request, None)
        if subtype == _REQUESTED:
            self._requests = dict([*self._requests.items(), (request, call)][-_MOST:])
        return self._begin(payload)

    _STEPS: ClassVar[Mapping[str, Callable[["Activity", Fields], bool]]] = {
        ev.USER_MESSAGE: _typed,
        ev.USER_COMMAND: _typed,
        ev.DECISION_RESPONSE: _answer,
        ev.ASSISTANT_MESSAGE: _speak,
        ev.ASSISTANT_THINKING: _begin,
        ev.TOOL_CALL: _call,
        ev.TOOL_RESULT: _result,
        ev.DECISION_PROMPT: _ask,
        ev.PROVIDER_INFO: _ask_permission,
        ev.TURN_START: _begin,
        ev.TURN_END: _end,
        ev.SESSION_END: _finish,
    }
