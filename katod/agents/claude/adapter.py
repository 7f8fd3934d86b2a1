"""Claude Code: `projects/<slug>/<session>.jsonl` and its sub-agents.

There is one record per content block and several per message. Most `user` records do not come from the user.
Whatever is in the file was said, in the order of the file. `parentUuid` says only that a person went back: two prompts
have the same one then.
"""

from pathlib import Path
from typing import Any, Final

from katod import events as ev
from katod.agents.base import Adapter, Branches, Origin, State, handles, rewound
from katod.agents.claude import queued, system, tasks, teammates
from katod.agents.claude.builder import ClaudeBuilder, Waiting, belongs_to_usage, noted_usage
from katod.agents.claude.contextnotes import context_note
from katod.agents.claude.ignored import ATTACHMENTS, RECORDS
from katod.agents.claude.text import (
    INTERRUPTED,
    PLAN,
    REMINDER_END,
    Item,
    Queue,
    TextClass,
    classify,
    cut_reminder,
    is_person,
    other_sender,
    summary_line,
    texts_of,
    unwrap,
)
from katod.agents.claude.tools import Tools
from katod.agents.fields import dict_of, list_of, text_of
from katod.agents.toolcalls import OpenCalls
from katod.events import Event
from katod.model import Record, TypedText

_CALLS: Final = ("tool_use", "server_tool_use", "mcp_tool_use")
_SETTINGS: Final = {
    "custom-title": ("title", "customTitle"), "ai-title": ("title", "aiTitle"), "agent-name": ("title", "agentName"),
    "permission-mode": ("permissionMode", "permissionMode"),
}  # fmt: skip
_CHANGES: Final = (("cwd", "cwd"), ("branch", "gitBranch"), ("permissionMode", "permissionMode"))
_SETTLED: Final = (*_CHANGES, ("effort", "effort"))
_START: Final = (("cwd", "cwd"), ("branch", "gitBranch"), ("cliVersion", "version"), ("origin", "entrypoint"))
_WITH_KIND: Final = frozenset({"progress", "attachment", "system", "queue-operation"})
# Settings that the record in which the session begins may lack: their first value is a change then.
_LATE: Final = frozenset({"permissionMode", "effort"})


class UserRecords:
    """Translates what the user said, what the client said for them, and the results of tools."""

    def __init__(self, new: ClaudeBuilder, tools: Tools, prompts: dict[str, str] | None) -> None:
        self._new = new
        self._tools = tools
        self._branches = Branches(prompts)
        self._person: bool | None = None  # whether a person sent the record being translated

    def state(self) -> dict[str, str]:
        """Return where prompts were sent."""
        return self._branches.state()

    def translate(self, record: Record) -> list[Event]:
        """Translate one record, with a note in front of a prompt before which the user went back."""
        out, fields = self._translated(record), record.value
        is_prompt = any(event.kind == ev.USER_MESSAGE and "subtype" not in event.payload for event in out)
        if not is_prompt or fields.get("isSidechain"):
            return out
        goes_back = self._branches.goes_back(fields.get("uuid"), fields.get("parentUuid"))
        return [self._new.event(ev.SYSTEM_MESSAGE, rewound(), record, "back"), *out] if goes_back else out

    def _translated(self, record: Record) -> list[Event]:
        self._person = is_person(record.value, subagent=bool(self._new.main.subagent))
        content = dict_of(record.value.get("message")).get("content")
        if text_of(record.value.get(PLAN)).strip():
            return self._plan(record, record.value[PLAN], "\n".join(texts_of(content)))
        if isinstance(content, str):
            return self._text(record, content, 0)
        if not isinstance(content, list):
            return [self._new.raw(record, "user", record.value)]
        out: list[Event] = []
        images: list[dict[str, Any]] = []
        for n, block in enumerate(content):
            block_type = block.get("type") if isinstance(block, dict) else None
            if block_type == "text":
                out += self._text(record, text_of(block.get("text")), n)
            elif block_type == "tool_result":
                out += self._tools.results(record, block, n)
            elif block_type in ("image", "document"):
                images.append(self._new.image(block))
            else:
                out.append(self._new.raw(record, f"user/{block_type}", block, n))
        return self._new.with_images(out, images, record) if images else out

    def queued(self, offset: int, text: str, time: str) -> list[Event]:
        """Translate a text from the queue that has no record of its own."""
        self._person = False if self._new.main.subagent else None
        return self._text(Record(offset, {"type": "queue-operation", "timestamp": time}), text, 0)

    def _plan(self, record: Record, plan: str, sent: str) -> list[Event]:
        """Return an accepted plan as what it is, the assistant's; the client's words around it are the client's."""
        before, _, after = sent.partition(plan)
        out = [self._new.event(ev.ASSISTANT_MESSAGE, {"text": plan, "phase": "plan"}, record)]
        around = "\n\n".join(part.strip() for part in (before, after) if part.strip())
        return [*out, self._new.system(record, around, "plan", 1)] if around else out

    def _text(self, record: Record, text: str, n: int) -> list[Event]:
        if text.strip() in INTERRUPTED:
            return [self._new.event(ev.TURN_END, {"reason": "aborted"}, record, n)]
        if not text.strip():
            return []
        said = classify(text)
        if said.subtype == ev.Between.TEAMMATE:
            return teammates.messages(self._new, record, text, n)
        if subtype := _not_typed(record.value, said):
            return self._not_typed(record, text, subtype, n)
        words, reminder = cut_reminder(said.text) if said.plain and not said.pasted else (said.text, "")
        out = [self._said(record, said._replace(text=words), n)]
        if reminder.rstrip().endswith(REMINDER_END):
            out.append(self._new.system(record, reminder, "reminder", f"{n}r"))
        elif reminder:  # a person may write about reminders: shown, but not known to be typed
            out.append(self._said(record, said._replace(text=reminder, plain=False), f"{n}r"))
        return out

    def _not_typed(self, record: Record, text: str, subtype: str, n: int) -> list[Event]:
        if subtype == ev.Between.SUMMARY:
            about = {"summary": line} if (line := summary_line(text)) else {}
            return [self._new.event(ev.SYSTEM_MESSAGE, {"text": text, "subtype": subtype} | about, record, n)]
        answers = tasks.answer(self._new, record, text) if subtype == tasks.NOTIFICATION else []
        return [self._new.system(record, text, subtype, n, teammates.sender(record.value)), *answers]

    def _said(self, record: Record, said: TextClass, n: int | str) -> Event:
        typed = said.plain and (said.shape if self._person is None else self._person)
        return self._new.event(ev.USER_MESSAGE, said.payload, record, n, typed=typed)


def _not_typed(fields: dict[str, Any], said: TextClass) -> str:
    """Return the kind of a text that the client or another agent wrote, empty for a person's."""
    if fields.get("isCompactSummary"):
        return ev.Between.SUMMARY
    if fields.get("isMeta"):
        return "meta"
    if said.subtype and said.subtype not in ("slash-command", "shell"):
        return said.subtype
    return other_sender(fields)


class AssistantRecords:
    """Translates what the assistant said and did, and what the client said in its place."""

    def __init__(self, new: ClaudeBuilder, tools: Tools) -> None:
        self._new = new
        self._tools = tools

    def translate(self, record: Record, message: dict[str, Any], model: str, *, synthetic: bool) -> list[Event]:
        """Translate one record: a message or a block of one."""
        content = message.get("content")
        if isinstance(content, str):
            content = [{"type": "text", "text": content}]
        out: list[Event] = []
        for n, block in enumerate(list_of(content)):
            if not isinstance(block, dict):
                out.append(self._new.raw(record, "assistant/block", block, n))
            elif block.get("type") == "text":
                out += self._text(record, text_of(block.get("text")), n, model, synthetic=synthetic)
            else:
                out += self._block(record, block, n, model)
        return out

    def _text(self, record: Record, text: str, n: int, model: str, *, synthetic: bool) -> list[Event]:
        if not text.strip() or text == "(no content)":
            return []
        if synthetic:
            return [system.synthetic(self._new, record, text, n)]
        stop = dict_of(record.value.get("message")).get("stop_reason")
        payload = {"text": text, "stopReason": stop} if isinstance(stop, str) else {"text": text}
        return [self._new.event(ev.ASSISTANT_MESSAGE, payload, record, n, model=model)]

    def _block(self, record: Record, block: dict[str, Any], n: int, model: str) -> list[Event]:
        kind = block.get("type")
        if kind in _CALLS:
            return self._tools.call(record, block, n, model)
        if kind == "thinking":
            text = text_of(block.get("thinking"))
            if text.strip():
                return [self._thinking(record, {"text": text}, n, model)]
            # The signature of a thought without text is the thought, encrypted.
            return self._sealed(record, block["signature"], n, model) if block.get("signature") else []
        if kind == "redacted_thinking":
            return self._sealed(record, block.get("data"), n, model)
        if isinstance(kind, str) and kind.endswith("_tool_result"):
            return self._tools.results(record, block, n)
        if kind == "fallback":
            before, after = (text_of(dict_of(block.get(side)).get("model")) for side in ("from", "to"))
            return [self._new.event(ev.CONFIG_CHANGE, {"what": "model", "before": before, "after": after}, record, n)]
        return [self._new.raw(record, f"assistant/{kind}", block, n)]

    def _sealed(self, record: Record, sealed: Any, n: int, model: str) -> list[Event]:
        return [self._thinking(record, {"text": "", "encrypted": text_of(sealed) or True}, n, model)]

    def _thinking(self, record: Record, payload: dict[str, Any], n: int, model: str) -> Event:
        return self._new.event(ev.ASSISTANT_THINKING, payload, record, n, model=model)


class ClaudeAdapter(Adapter):
    """Translates the records of one Claude Code session file."""

    new: ClaudeBuilder

    def __init__(self, origin: Origin, state: State | None = None) -> None:
        state = state or {}
        self.new = ClaudeBuilder(origin.ref, state)
        self._started: bool = state.get("started", False)
        self._settled: tuple[Any, ...] = ()  # the settings of the previous record: comparing them is cheap
        self._usage = Waiting(*state["usage"]) if "usage" in state else None
        self._queue = Queue(state.get("queue"))
        self._calls: OpenCalls[dict[str, Any]] = OpenCalls(state.get("calls"))
        tools = Tools(self.new, self._calls, origin)
        self._users = UserRecords(self.new, tools, state.get("prompts"))
        self._assistants = AssistantRecords(self.new, tools)

    def state(self) -> dict[str, Any]:
        """Return the settings so far, open calls, pending usage, repeated names and queued texts not yet decided."""
        row: dict[str, Any] = {"started": self._started, "now": self.new.now, "calls": self._calls.state()}
        if self._usage:
            row["usage"] = self._usage.state()
        if self.new.repeats:
            row["repeats"] = self.new.repeats
        if above := self.new.ancestors.state():
            row["above"] = above
        if prompts := self._users.state():
            row["prompts"] = prompts
        return row | ({"queue": queue} if (queue := self._queue.state()) else {}) | self.usage_state()

    def name(self, record: Record) -> str:
        """Return the type of a record, with that of what is in it."""
        fields = record.value
        kind = super().name(record)
        inner = (
            dict_of(fields.get("data")).get("type"), dict_of(fields.get("attachment")).get("type"),
            fields.get("subtype"), fields.get("operation"),
        ) if kind in _WITH_KIND else ()  # fmt: skip
        return "/".join([kind, *filter(None, map(text_of, inner))])

    def lacks_parent(self, record: Record) -> bool:
        """Return whether the first record has a parent, which is none of those without an event before it."""
        parent = record.value.get("parentUuid")
        return isinstance(parent, str) and bool(parent) and not self.new.ancestors.knows(parent)

    def holds(self, record: Record) -> bool:
        """Return whether a record queued a text of the user, who may have left it or take it back."""
        return record.value.get("operation") == "enqueue" and self._queue.holds_latest()

    def has_pending(self) -> bool:
        """Return whether a queued text is waiting for a later record to decide about it."""
        return self._queue.has_pending()

    def feed(self, record: Record) -> list[Event]:
        """Translate one record, after the usage before it if the record does not belong to that."""
        fields = record.value
        if fields is None:
            self.new.take_up({})
            return super().feed(record)
        out = self._emit_usage() if self._usage and not belongs_to_usage(self._usage, fields, self._calls) else []
        self.new.take_up(fields)
        handler = self.handlers.get(fields.get("type"))  # TypeError if it is an object: malformed
        if handler is not None:
            out += handler(self, record)
        elif fields.get("type") not in RECORDS:
            out.append(self.new.raw(record, text_of(fields.get("type")) or "unknown", fields))
        self.new.ancestors.take(fields.get("uuid"), fields.get("parentUuid"), out)
        return out

    def feed_usage(self, record: Record) -> list[Event]:
        """Translate a record without what was said in it."""
        fields, message = record.value, record.value.get("message")
        if isinstance(message, dict):
            fields = fields | {"message": message | {"content": []}}
        return self.feed(record._replace(value=fields))

    def usage_state(self) -> dict[str, Any]:
        """Return the sums of the session, by the start that they were counted from."""
        return {"whole": whole} if (whole := self.new.whole.state()) else {}

    def finish(self) -> list[Event]:
        """Return the pending usage and texts, which no further record will decide."""
        self.new.take_up({})
        return self._told(self._queue.finish(), 0) + self._emit_usage()

    # -- one method per kind of record --------------------------------------------------------------

    @handles("user")
    def _user(self, record: Record) -> list[Event]:
        source = record.value.get("promptSource")
        out = self._told(self._queue.empty(), record.offset) if source == "typed" else []
        out += self._envelope(record)
        words = _prompt(record.value) if source != "typed" and self._queue.has_texts() else ""
        was_recorded = bool(words) and self._queue.meet(words, "dequeue", queued=source == "queued")
        return out if was_recorded else out + self._users.translate(record)

    @handles("assistant")
    def _assistant(self, record: Record) -> list[Event]:
        out, fields = self._answered(record) + self._envelope(record), record.value
        if "effort" in fields and not (fields.get("isSidechain") and not self.new.main.subagent):
            out += self._change("effort", fields["effort"], record)
        message = dict_of(fields.get("message"))
        synthetic = message.get("model") == "<synthetic>" or bool(fields.get("isApiErrorMessage"))
        model = "" if synthetic else text_of(message.get("model"))
        out += self._assistants.translate(record, message, model, synthetic=synthetic)
        if not synthetic:
            self._usage = noted_usage(fields, message, model) or self._usage
            if message.get("stop_reason") is not None:
                out += self._emit_usage()
        return out

    @handles("system")
    def _system(self, record: Record) -> list[Event]:
        return self._envelope(record) + system.translate(self.new, record)

    @handles("attachment")
    def _attachment(self, record: Record) -> list[Event]:
        out, row = self._envelope(record), dict_of(record.value.get("attachment"))
        kind = row.get("type")
        if kind == "queued_command":
            was_recorded = self._queue.meet(queued.text_in(row), "remove", queued=True)
            return out + queued.prompt(self.new, record, row, is_recorded=was_recorded)
        if kind not in ATTACHMENTS:
            return [*out, self.new.raw(record, f"attachment/{kind}", row)]
        return out + context_note(self.new, record, row)

    @handles("queue-operation")
    def _queue_operation(self, record: Record) -> list[Event]:
        return self._told(self._queue.operate(record.value), record.offset)

    @handles(*_SETTINGS)
    def _setting(self, record: Record) -> list[Event]:
        what, key = _SETTINGS[record.value["type"]]
        after = text_of(record.value.get(key))
        if what == "title" and after:
            kept = f"title/{key}"  # the client repeats each of its titles indefinitely
            if self.new.now.get(kept) == after:
                return []
            self.new.now[kept] = after
            if key == "aiTitle" and "title/customTitle" in self.new.now:
                return []  # the user's name stays
        self._settled = ()
        return self._change(what, after, record)

    @handles("cost-state")
    def _cost(self, record: Record) -> list[Event]:
        """Translate the usage of the whole session, which the client repeats, behind that of an answer before it."""
        self.new.whole.take(record)
        return [] if self._usage else self._emit_whole()

    @handles("pr-link", "tag")
    def _info(self, record: Record) -> list[Event]:
        fields = record.value
        text = text_of(fields.get("prUrl")) or text_of(fields.get("tag"))
        data = {k: v for k, v in fields.items() if k not in ("type", "sessionId", "timestamp")}
        return [self.new.event(ev.PROVIDER_INFO, {"text": text, "subtype": fields["type"], "data": data}, record)]

    # -- shared by records ---------------------------------------------------------------------------

    def _envelope(self, record: Record) -> list[Event]:
        """Return the start of the session for its first record, and changed settings later."""
        fields = record.value
        if fields.get("isSidechain") and not self.new.main.subagent:
            return []
        if not self._started and "cwd" in fields:
            self._started = True
            return [self._start(record)]
        settings = (fields.get("cwd"), fields.get("gitBranch"), fields.get("permissionMode"))
        if settings == self._settled:
            return []
        self._settled = settings
        changes = [self._change(what, after, record) for (what, _), after in zip(_CHANGES, settings, strict=True)]
        return [event for change in changes for event in change]

    def _start(self, record: Record) -> Event:
        fields = record.value
        for what, key in _SETTLED:
            if isinstance(fields.get(key), str):
                self.new.now[what] = fields[key]
        payload = {name: fields[key] for name, key in _START if isinstance(fields.get(key), str) and fields[key]}
        known = {what: mode for what in _LATE if (mode := self.new.now.get(what))}
        payload |= self.new.own_id(fields.get("sessionId"))
        return self.new.event(ev.SESSION_START, payload | known, record, "start")

    def _change(self, what: str, after: Any, record: Record) -> list[Event]:
        """Return a change of a title always, of another setting if it was known before, even as empty, or is late."""
        first = what == "title" or what in self.new.now or (self._started and what in _LATE)
        return self.new.change(what, after, record, what, first=first)

    # -- decided by a later record --------------------------------------------------------------------

    def _emit_usage(self) -> list[Event]:
        waiting, self._usage = self._usage, None
        return [self.new.usage(waiting), *self._emit_whole()] if waiting else []

    def _emit_whole(self) -> list[Event]:
        if (whole := self.new.whole.give()) is None:
            return []
        record, payload = whole
        return [self.new.event(ev.USAGE, payload, record, "u")]

    def _answered(self, record: Record) -> list[Event]:
        """Return the texts that left the queue before this record without one of their own."""
        if record.value.get("isSidechain") and not self.new.main.subagent:
            return []
        return self._told(self._queue.decide(text_of(record.value.get("timestamp"))), record.offset)

    def _told(self, items: list[Item], offset: int) -> list[Event]:
        return [event for item in items for event in self._users.queued(offset, item.text, item.time)]

    @staticmethod
    def typed_texts(fields: dict[str, Any]) -> list[TypedText]:
        """Return the texts of a user record, a queued command or a queued text."""
        kind = fields.get("type")
        if kind == "queue-operation":
            return list(map(unwrap, texts_of(fields.get("content"))))
        if kind == "attachment":
            return list(map(unwrap, texts_of(dict_of(fields.get("attachment")).get("prompt"))))
        if kind != "user" or is_person(fields, subagent=False) is False:
            return []
        return list(map(unwrap, texts_of(dict_of(fields.get("message")).get("content"))))

    @staticmethod
    def recognises(path: Path, first: dict[str, Any], /) -> bool:
        """Return whether a file begins with a record of Claude Code."""
        if "payload" in first:
            return False
        return "sessionId" in first or (first.get("type") in RECORDS and path.suffix == ".jsonl")


def _prompt(fields: dict[str, Any]) -> str:
    """Return the text of a prompt, empty for another kind of `user` record."""
    if "toolUseResult" in fields or fields.get("isMeta"):
        return ""
    return "\n".join(texts_of(dict_of(fields.get("message")).get("content")))
