"""Copilot CLI: `session-state/<session>/events.jsonl`.

Every record is an envelope `{type, data, id, timestamp, parentId, agentId?}` and is in the file once. What the user
typed is `content`; `transformedContent` is what the model received. The records of sub-agents are in the same file;
`agentId` names them.
"""

import re
from pathlib import Path
from typing import Any, Final

from katod import events as ev
from katod.agents.base import Adapter, Described, EventBuilder, Origin, State, handles
from katod.agents.copilot.fields import attachment_of, location_of
from katod.agents.copilot.questions import answer_in, asked_by, chosen, remembered, response_to
from katod.agents.copilot.states import COMPLETE, goes_on
from katod.agents.diffs import structured
from katod.agents.fields import (
    dict_of,
    dicts_of,
    digest,
    int_or_none,
    list_of,
    text_of,
    texts_in,
)
from katod.agents.toolcalls import OpenCalls, call_of
from katod.events import Event, SessionRef
from katod.lifecycle import COMPACTING, PERMISSION_COMPLETED, PERMISSION_REQUESTED
from katod.model import LONGEST_NAME, Record, TypedText

_MOST_DIGITS: Final = 15
# Known bookkeeping: hooks, counters, the client's instructions for the model, what it sends for a compaction
# (`model.*`), and copies of other records.
_IGNORED: Final = frozenset({
    "hook.start", "hook.end", "external_tool.requested", "external_tool.completed", "session.usage_checkpoint",
    "session.mode_notice_delivered", "subagent.configured", "system.message",
})  # fmt: skip
_MODEL: Final = "model."
_SETTINGS: Final = (("model", "selectedModel"), ("effort", "reasoningEffort"))
_COUNTS: Final = (
    ("input", "inputTokens"), ("output", "outputTokens"), ("cacheRead", "cacheReadTokens"),
    ("cacheWrite", "cacheWriteTokens"), ("reasoning", "reasoningTokens"),
)  # fmt: skip
# What the client tells the model in the user's name, without a mark.
_NOTICE: Final = "<system_"
_REFUSALS: Final = ("denied", "rejected")  # the errors of a call, and of a plan, that the user refused
_DENIED: Final = "denied-"  # how a decision begins that denies a call
_BY_PERSON: Final = "denied-interactively-by-user"  # any other is that of a rule
_CANCELLED: Final = "cancelled"  # the user left the prompt without an answer
# The last line of a command's result; before 1.0.102 the exit code is nowhere else.
_EXIT: Final = re.compile(r"<shellId: [^<>\n]{1,200} completed with exit code (-?[0-9]{1,15})>\s*\Z")
_TAIL: Final = 300
_AGENT: Final = "agent-"  # how the source of what an agent says begins
_PHASES: Final = {"final_answer": "final", "commentary": "commentary"}


class CopilotBuilder(EventBuilder):
    """Names events by the id of their record, which a fork keeps. `main` is the session, `ref` whose record this is."""

    def __init__(self, ref: SessionRef, state: State) -> None:
        super().__init__(ref, dedup_prefix="copilot:", now=state.get("now"), above=state.get("above"))
        self.main = ref
        self.turn = state.get("turn", "")
        self.mode = state.get("mode", "")  # of the last prompt

    def take_up(self, fields: dict[str, Any]) -> None:
        """Prepare for a record."""
        self.ref = self.main._replace(subagent=_subagent(fields) or self.main.subagent)

    def prompted(self, mode: str) -> None:
        """Note the mode of a prompt; what a sub-agent is given has none."""
        self.mode = mode[:LONGEST_NAME] if self.is_main else self.mode

    @property
    def is_main(self) -> bool:
        """Return whether the record is the session's own."""
        return self.ref == self.main

    def _describe(self, record: Record, part: int | str, _kind: str, _payload: dict[str, Any], /) -> Described:
        fields = record.value or {}
        source: dict[str, Any] = {"providerEventType": text_of(fields.get("type"))}
        if native := text_of(fields.get("id")):
            source["providerEventId"] = native
        data = dict_of(fields.get("data"))
        if message := text_of(data.get("messageId")):
            source["messageId"] = message
            if request := text_of(data.get("requestId")):
                source["requestId"] = request
        source |= self.ancestors.source(fields.get("parentId"))
        source["offset"] = record.offset
        name = f"{native or f'@{record.offset}.{record.part}'}:{part}"
        return name, name, source, text_of(fields.get("timestamp"))


class CopilotAdapter(Adapter):
    """Translates the records of one Copilot CLI session."""

    ignored = _IGNORED
    new: CopilotBuilder

    def __init__(self, origin: Origin, state: State | None = None) -> None:
        state = state or {}
        self.new = CopilotBuilder(origin.ref, state)
        self._calls: OpenCalls[dict[str, Any]] = OpenCalls(state.get("calls"))
        # What the client noted of requests to the model whose messages follow, by the id of the request.
        self._requests: OpenCalls[dict[str, Any]] = OpenCalls(state.get("requests"))

    def state(self) -> dict[str, Any]:
        """Return the current turn, the settings, the open calls and the usage of messages to come."""
        more = {"requests": self._requests.state(), "mode": self.new.mode}
        row = {"turn": self.new.turn, "now": self.new.now, "calls": self._calls.state()}
        row |= {"above": self.new.ancestors.state()}
        return row | {name: known for name, known in more.items() if known}

    def feed(self, record: Record) -> list[Event]:
        """Translate one record; what is below one without an event is below its parent."""
        out, fields = super().feed(record), record.value or {}
        self.new.ancestors.take(fields.get("id"), fields.get("parentId"), out)
        return out

    def _take_up(self, fields: dict[str, Any]) -> str:
        self.new.take_up(fields)
        return text_of(fields.get("type")) if isinstance(fields.get("data"), dict) else ""

    def _unhandled(self, record: Record) -> list[Event]:
        return [] if text_of(record.value.get("type")).startswith(_MODEL) else super()._unhandled(record)

    # -- one method per kind of record --------------------------------------------------------------

    @handles("session.start")
    def _start(self, record: Record) -> list[Event]:
        data = record.value["data"]
        place = location_of(dict_of(data.get("context")))
        given = place | {"cliVersion": data.get("copilotVersion"), "effort": data.get("reasoningEffort")}
        self._settle(record)
        self.new.now.update(place | {"cwd": place.get("cwd", "")})
        start = texts_in(given) | self.new.own_id(data.get("sessionId"))
        return [self.new.event(ev.SESSION_START, start, record)]

    @handles("session.resume")
    def _settle(self, record: Record) -> list[Event]:
        """Update the settings from a start or resume; each change is an event."""
        data = record.value["data"]
        changes = [
            self.new.change(what, data.get(key), record, what, first=what == "effort") for what, key in _SETTINGS
        ]
        place = location_of(dict_of(data.get("context"))) if record.value["type"] == "session.resume" else {}
        changes += [self.new.change(what, after, record, what, first=True) for what, after in place.items()]
        return [event for change in changes for event in change]

    @handles("session.model_change", "session.auto_mode_resolved")
    def _model_change(self, record: Record) -> list[Event]:
        """Translate another model: one that the user chose or, for `auto`, the client; not that of a sub-agent."""
        if not self.new.is_main:
            return []
        data = record.value["data"]
        return [
            *self.new.change("model", data.get("newModel") or data.get("chosenModel"), record, "model"),
            *self.new.change("effort", data.get("reasoningEffort"), record, "effort", first=True),
        ]

    @handles("session.mode_changed")
    def _mode(self, record: Record) -> list[Event]:
        modes = {"before": record.value["data"].get("previousMode"), "after": record.value["data"].get("newMode")}
        changed = {"what": "permissionMode"} | texts_in(modes)
        return [self.new.event(ev.CONFIG_CHANGE, changed, record, "mode")] if "after" in changed else []

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
            subtype = self._between() if sender.startswith(_AGENT) else sender
            return [self.new.event(ev.SYSTEM_MESSAGE, {"text": text, "subtype": subtype}, record)]
        self.new.prompted(text_of(data.get("agentMode")))
        files = [attachment_of(row) for row in dicts_of(data.get("attachments"))]
        payload = {"text": text} | ({"attachments": files} if files else {})
        typed = self.new.is_main and not self.new.main.subagent and not text.lstrip().startswith(_NOTICE)
        return [self.new.event(ev.USER_MESSAGE, payload, record, typed=typed)] if text.strip() or files else []

    def _between(self) -> str:
        """Return what another agent's words are: a sub-agent is given its task."""
        return ev.Between.PEER if self.new.is_main else ev.Between.TASK

    @handles("assistant.message")
    def _assistant(self, record: Record) -> list[Event]:
        data = record.value["data"]
        model, out = text_of(data.get("model")), []
        noted = self._requests.close(text_of(data.get("apiCallId"))) or {}
        if thought := _thought(data):
            out.append(self.new.event(ev.ASSISTANT_THINKING, thought, record, "r", model=model))
        if (text := text_of(data.get("content"))).strip():
            more = {"phase": _PHASES.get(text_of(data.get("phase"))), "stopReason": noted.get("stop")}
            out.append(self.new.event(ev.ASSISTANT_MESSAGE, {"text": text} | texts_in(more), record, model=model))
        for n, row in enumerate(list_of(data.get("toolRequests"))):
            call = dict_of(row)
            out += self._call(record, call, text_of(call.get("name")), model, n)
        usage = noted.get("usage") or _counts({"outputTokens": data.get("outputTokens")})
        if usage:
            out.append(self.new.event(ev.USAGE, {"scope": "message"} | usage, record, "u", model=model))
        return out

    @handles("session.usage_record")
    def _requested(self, record: Record) -> list[Event]:
        """Remember the usage of a request until its message, which follows; the provider is a setting."""
        row = dict_of(record.value["data"].get("usage"))
        stop = text_of(row.get("finishReason"))[:LONGEST_NAME]
        self._requests.replace(text_of(row.get("apiCallId")), {"usage": _counts(row), "stop": stop})
        provider = row.get("modelProvider") if self.new.is_main else None
        return self.new.change("modelProvider", provider, record, first=True)

    @handles("session.shutdown")
    def _shutdown(self, record: Record) -> list[Event]:
        """Translate the usage of the whole session so far, over all models."""
        models = dicts_of(list(dict_of(record.value["data"].get("modelMetrics")).values()))
        rows = [_counts(dict_of(row.get("usage"))) for row in models]
        counts = {name: [row[name] for row in rows if name in row] for name, _ in _COUNTS}
        sums = {name: sum(found) for name, found in counts.items() if found}
        usage = {name: count for name, count in sums.items() if int_or_none(count) is not None}
        return [self.new.event(ev.USAGE, {"scope": "session"} | usage, record, "u")] if any(rows) else []

    @handles("tool.execution_start")
    def _begun(self, record: Record) -> list[Event]:
        """Translate the start of a call that was in no message."""
        data = record.value["data"]
        model = text_of(data.get("model"))
        return self._call(record, data, text_of(data.get("toolName")), model)

    def _call(self, record: Record, row: dict[str, Any], name: str, model: str, n: int = 0) -> list[Event]:
        """Translate a call and the questions that it asks; what its result needs to know about them is remembered."""
        call, given = text_of(row.get("toolCallId")), row.get("arguments")
        payload = call_of(call, name, given, self.new.now.get("cwd", ""), text_of(row.get("mcpServerName")))
        asked = asked_by(name, call, dict_of(given))
        if not self._calls.add(call, {"family": payload["family"]} | remembered(asked)):
            return []
        place = digest(call) if call else f"{n}"
        out = [self.new.event(ev.TOOL_CALL, payload, record, f"{place}c", model=model)]
        for i, question in enumerate(asked):
            out.append(self.new.event(ev.DECISION_PROMPT, question, record, f"{place}q{i}", model=model))
        return out

    @handles("human_response.recorded")
    def _answered(self, record: Record) -> list[Event]:
        """Translate the values that the user chose in the form of a question, or what they chose for a plan."""
        data = record.value["data"]
        call = text_of(data.get("toolCallId"))
        known, said = self._calls.get(call) or {}, chosen(call, dict_of(data.get("response")))
        asked = [question for question in known.get("asked", ()) if question["decisionId"] in said]
        if not asked:
            return [self.new.raw(record, "human_response.recorded", record.value)]
        answers = [answer for row in asked for answer in response_to(row, said[row["decisionId"]])]
        known["asked"] = [] if answers else known["asked"]
        return [self.new.event(ev.DECISION_RESPONSE, answer, record, f"a{i}") for i, answer in enumerate(answers)]

    @handles("tool.execution_complete")
    def _ended(self, record: Record) -> list[Event]:
        data = record.value["data"]
        call = text_of(data.get("toolCallId"))
        known = self._calls.close(call) or {}
        if known.get("cancelled"):
            return []
        text = _result_text(data)
        if data.get("isUserRequested") is True:
            return [self.new.event(ev.SYSTEM_MESSAGE, {"text": text, "subtype": "shell-output"}, record)]
        payload = {"toolCallId": call, "text": text} | _outcome(data, text, known.get("family", ""))
        if dict_of(data.get("error")).get("code") in _REFUSALS and not known.get("ruled"):
            payload["denied"] = True
        answers = answer_in(known.get("asked", []), text)
        return [
            self.new.event(ev.TOOL_RESULT, payload, record),
            *(self.new.event(ev.DECISION_RESPONSE, answer, record, "a0") for answer in answers),
        ]

    @handles("tool.user_requested")
    def _shell(self, record: Record) -> list[Event]:
        """Translate a command that the user ran with `!`; its output follows as a result."""
        said = {"text": f"! {text_of(dict_of(record.value['data'].get('arguments')).get('command'))}"}
        return [self.new.event(ev.USER_MESSAGE, said | {"subtype": "shell"}, record)]

    # -- sub-agents, turns and what the client says -------------------------------------------------

    @handles("subagent.started", "subagent.completed", "subagent.failed")
    def _subagent(self, record: Record) -> list[Event]:
        """Translate the start and the end of a sub-agent, which belong to the session."""
        data, subagent = record.value["data"], self.new.ref.subagent or text_of(record.value["data"].get("toolCallId"))
        self.new.take_up({})  # its own
        status = text_of(record.value["type"]).removeprefix("subagent.")
        if status == "started":
            about = texts_in({"task": data.get("agentDisplayName"), "model": data.get("model")})
            return [self.new.event(ev.AGENT_START, {"subagent": subagent} | about, record)]
        result = texts_in({"result": data.get("error")})
        return [self.new.event(ev.AGENT_END, {"subagent": subagent, "status": status} | result, record)]

    @handles("abort")
    def _aborted(self, record: Record) -> list[Event]:
        return [self.new.event(ev.TURN_END, {"reason": "aborted"}, record)]

    @handles("session.compaction_start")
    def _compacting(self, record: Record) -> list[Event]:
        return [self.new.step(record, COMPACTING, {})]

    @handles("session.compaction_complete")
    def _compacted(self, record: Record) -> list[Event]:
        data = record.value["data"]
        if data.get("success") is False:
            return [self.new.event(ev.ERROR, {"message": text_of(data.get("error")) or "compaction failed"}, record)]
        sizes = {"tokensBefore": data.get("preCompactionTokens"), "tokensAfter": data.get("postCompactionTokens")}
        payload: dict[str, Any] = texts_in({"trigger": data.get("trigger"), "summary": data.get("summaryContent")})
        payload |= {name: size for name, size in sizes.items() if int_or_none(size) is not None}
        return [self.new.event(ev.COMPACTION, payload, record)]

    @handles("session.info", "session.warning")
    def _info(self, record: Record) -> list[Event]:
        data = record.value["data"]
        kind = text_of(data.get("infoType")) or text_of(data.get("warningType"))
        text = text_of(data.get("message")) or ("Conversation rewound" if kind == "rewind" else kind)
        subtype = "rollback" if kind == "rewind" else kind or "info"
        return [self.new.event(ev.SYSTEM_MESSAGE, {"text": text, "subtype": subtype}, record)]

    @handles("assistant.turn_start")
    def _turn_start(self, record: Record) -> list[Event]:
        data = record.value["data"]
        if self.new.is_main:
            self.new.turn = text_of(data.get("interactionId")) or self.new.turn
        number = text_of(data.get("turnId"))
        counted = number.isdecimal() and len(number) <= _MOST_DIGITS
        return [self.new.event(ev.TURN_START, {"number": int(number)} if counted else {}, record)]

    @handles("assistant.turn_end")
    def _turn_end(self, record: Record) -> list[Event]:
        return [self.new.event(ev.TURN_END, {"reason": "done"} | goes_on(self.new.mode), record)]

    @handles("session.task_complete")
    def _completed(self, record: Record) -> list[Event]:
        if self.new.is_main and record.value["data"].get("success") is not False:
            self.new.mode = COMPLETE
        return []

    @handles("permission.requested")
    def _asked(self, record: Record) -> list[Event]:
        """Note that the user is asked, which they may not be if the client decides by itself at once."""
        data = record.value["data"]
        asked = dict_of(data.get("permissionRequest"))
        about = {"requestId": data.get("requestId"), "toolCallId": asked.get("toolCallId"), "kind": asked.get("kind")}
        about |= {"intention": asked.get("intention")}
        return [self.new.step(record, PERMISSION_REQUESTED, about)]

    @handles("permission.completed")
    def _decided(self, record: Record) -> list[Event]:
        data = record.value["data"]
        about = {"requestId": data.get("requestId"), "toolCallId": data.get("toolCallId")}
        decision = dict_of(data.get("result"))
        kind, known = text_of(decision.get("kind")), self._calls.get(text_of(data.get("toolCallId")))
        if known is not None and kind.startswith(_DENIED) and kind != _BY_PERSON:
            known["ruled"] = True
        decided = {"kind": decision.get("kind"), "note": decision.get("feedback")}
        noted = self.new.step(record, PERMISSION_COMPLETED, about | decided)
        return [noted, *self._cancelled(record, text_of(data.get("toolCallId")), decision)]

    def _cancelled(self, record: Record, call: str, decision: dict[str, Any]) -> list[Event]:
        """Translate a call whose permission was neither given nor denied: no record of its end follows."""
        known = self._calls.get(call)
        if decision.get("kind") != _CANCELLED or known is None or known.get("cancelled"):
            return []
        known["cancelled"] = True
        refused = {"toolCallId": call, "text": text_of(decision.get("reason")), "isError": True, "denied": True}
        return [self.new.event(ev.TOOL_RESULT, refused, record, "r")]

    @handles("system.notification")
    def _system(self, record: Record) -> list[Event]:
        data = record.value["data"]
        subtype = text_of(dict_of(data.get("kind")).get("type")) or "system"
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
    def typed_texts(fields: dict[str, Any]) -> list[TypedText]:
        """Return the text of a `user.message` that no program sent, and no agent to another."""
        data = dict_of(fields.get("data"))
        text = text_of(data.get("content"))
        person = fields.get("type") == "user.message" and data.get("source") in (None, "", "user")
        person = person and not _subagent(fields)
        return [TypedText(text)] if person and not text.lstrip().startswith(_NOTICE) else []

    @staticmethod
    def recognises(path: Path, first: dict[str, Any], /) -> bool:
        """Return whether a file begins with an envelope of Copilot CLI."""
        return path.suffix == ".jsonl" and {"type", "data", "id", "timestamp", "parentId"} <= first.keys()


def _thought(data: dict[str, Any]) -> dict[str, Any]:
    """Return the payload of a message's thinking, which may be there only encrypted; empty if there is none."""
    text = text_of(data.get("reasoningText")).strip()
    encrypted = text_of(data.get("encryptedContent")) or text_of(data.get("reasoningOpaque"))
    return {"text": text} | ({"encrypted": encrypted} if encrypted else {}) if text or encrypted else {}


def _counts(row: dict[str, Any]) -> dict[str, int]:
    counts = {name: int_or_none(row.get(key)) for name, key in _COUNTS}
    return {name: count for name, count in counts.items() if count is not None}


def _subagent(fields: dict[str, Any]) -> str:
    """Return the sub-agent whose record this is, empty if it is the session's own."""
    return text_of(fields.get("agentId")) or text_of(dict_of(fields.get("data")).get("parentToolCallId"))


def _result_text(data: dict[str, Any]) -> str:
    content = dict_of(data.get("result")).get("content")
    text = content if isinstance(content, str) else "\n".join(text_of(row.get("text")) for row in dicts_of(content))
    return text or text_of(dict_of(data.get("error")).get("message"))


def _outcome(data: dict[str, Any], text: str, family: str) -> dict[str, Any]:
    """Return how a call ended. A command that failed is still a success for the client."""
    row: dict[str, Any] = {}
    code = int_or_none(dict_of(data.get("shellExecution")).get("exitCode"))
    if code is None and family == "execute" and (match := _EXIT.search(text, max(len(text) - _TAIL, 0))):
        code = int(match[1])
    if code is not None:
        row["exitCode"] = code
    if data.get("success") is False or code:
        row["isError"] = True
    return row | _files(data) if family == "edit" else row


def _files(data: dict[str, Any]) -> dict[str, Any]:
    """Return which files an edit changed. Paths in its diff are absolute, without the first slash."""
    row = structured(text_of(dict_of(data.get("result")).get("detailedContent")))
    for file in dict_of(row.get("structured")).get("files", ()):
        file["path"] = f"/{file['path']}"
    return row
