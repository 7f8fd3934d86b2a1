"""Codex: `sessions/YYYY/MM/DD/rollout-<time>-<thread>[_<rollout>].jsonl`.

A file is either legacy or paginated throughout, as its first `session_meta` says. Everything is in it twice: user text
is only read from `user_message` or the `UserMessage` item, assistant text from the `response_item` (legacy) or the
item (paginated), tool calls from `response_item` in both.
"""

from pathlib import Path
from typing import Any, Final

from katod import events as ev
from katod.agents.base import Adapter, Origin, State, handles
from katod.agents.codex import flat, ignored, notes
from katod.agents.codex.builder import ITEM, CodexBuilder
from katod.agents.codex.calls import CodexCalls
from katod.agents.codex.promptitems import PromptItems
from katod.agents.codex.shell import Ran, ran_by_person
from katod.agents.codex.text import (
    CONTENT,
    agent_message,
    delegated,
    images,
    is_copied,
    is_delegated,
    is_injected,
    is_person,
    joined,
    summarised,
    typed,
    unwrap,
)
from katod.agents.codex.tools import CALLS, OUTPUTS, describe_image
from katod.agents.fields import dict_of, digest, list_of, name_of, repository_of, safe_repr, text_of, texts_in
from katod.agents.spec import SPAWNED
from katod.agents.toolcalls import OpenCalls
from katod.events import Event
from katod.model import Record, TypedText

_PHASES: Final = {"final_answer": "final", "commentary": "commentary"}
_EXECUTIONS: Final = frozenset({"commandexecution", "filechange", "mcptoolcall", "dynamictoolcall"})
_SETTINGS: Final = (("model", "model"), ("effort", "effort"), ("cwd", "cwd"), ("permissionMode", "approval_policy"))
_LATE: Final = ("effort", "permissionMode")  # first known here, because the session begins without them
_NOTES: Final = {
    "event_msg/error": notes.error,
    "event_msg/thread_rolled_back": notes.rolled_back,
    "event_msg/collab_close_end": notes.agent_ended,
    "event_msg/entered_review_mode": notes.review,
    "event_msg/exited_review_mode": notes.review,
    "event_msg/thread_goal_updated": notes.info,
    "event_msg/undo_completed": notes.info,
}
# What the client makes the model append about its memory, and does not show.
_CITATION: Final = "\n<oai-mem-citation>"
_NAMED_IMAGES: Final = ("local_image", "localimage")


class CodexAdapter(Adapter):
    """Translates the records of one Codex rollout."""

    ignored = ignored.RECORDS
    new: CodexBuilder

    def __init__(self, origin: Origin, state: State | None = None) -> None:
        state = state or {}
        self.new = CodexBuilder(origin, state)
        self._meta: dict[str, Any] | None = state.get("meta")
        self._turn: str = state.get("turn", "")
        self._open: OpenCalls[dict[str, Any]] = OpenCalls(state.get("calls"))
        self._calls = CodexCalls(self.new, self._open)
        self._totals: Any = state.get("totals")  # as received, or the hash in the state
        self._counted: bool = state.get("counted", False)
        self._prompt_items = PromptItems(state.get("unsaid"))
        if self._meta:
            self._take_up_thread(self._meta)

    def _take_up_thread(self, meta: dict[str, Any]) -> None:
        self.new.in_thread(meta["parent"], paginated=meta["paginated"], spawned=meta.get("spawned", False))

    def state(self) -> dict[str, Any]:
        """Return the thread's identity, the current turn and settings, open calls and the usage so far."""
        held = {"unsaid": items} if (items := self._prompt_items.state()) else {}
        totals = self._totals if isinstance(self._totals, str | None) else digest(safe_repr(self._totals))
        return {
            "meta": self._meta, "turn": self._turn, "now": self.new.now, "calls": self._open.state(),
            "totals": totals, "counted": self._counted, "last": self.new.last,
        } | held  # fmt: skip

    def has_pending(self) -> bool:
        """Return whether a prompt, or images of the message that follows, are held back."""
        return bool(self._prompt_items.pictures) or self._prompt_items.is_held

    def name(self, record: Record) -> str:
        """Return the type of a record with that of its payload, and of a message whose it is."""
        payload = dict_of(record.value.get("payload", record.value))
        role = payload.get("role") if payload.get("type") == "message" else ""
        return "/".join(filter(None, (self.new.native_type, text_of(role)))) or name_of(record.value.get("type"))

    def holds(self, record: Record) -> bool:
        """Return whether this is the prompt that is held back."""
        return self._prompt_items.is_at(record)

    def finish(self) -> list[Event]:
        """Return the prompt that is held back."""
        return self._release(self._prompt_items.give())

    def feed(self, record: Record) -> list[Event]:
        """Translate one record, after the prompt that this record shows to have no other one."""
        return [*self._release(self._prompt_items.due(record.value or {})), *super().feed(record)]

    def _release(self, held: tuple[Record, str] | None) -> list[Event]:
        if held is None:
            return []
        record, text = held
        self.new.take_up(record.value, "")
        return self._user(record, text, [("image", data) for data in self._prompt_items.pictures], known=False)

    def _is_flat(self, row: dict[str, Any]) -> bool:
        """Return whether this is a bare record of a flat rollout that has a handler."""
        if "payload" in row:
            return False
        if self._meta is None:
            return flat.is_head(row)
        known = "record_type" in row or f"response_item/{text_of(row.get('type'))}" in self.handlers
        return known and bool(self._meta.get("flat"))

    def _take_up(self, fields: dict[str, Any]) -> str:
        return self.new.take_up(fields, self._turn)

    def _unhandled(self, record: Record) -> list[Event]:
        if self._is_flat(record.value):
            return self.feed(record._replace(value=flat.enveloped(record.value)))
        kind, row = self.new.native_type, dict_of(record.value.get("payload"))
        if kind in self.ignored:
            return []
        if kind == name_of(record.value.get("type")):
            return [self.new.raw(record, kind or "unknown", record.value)]
        if kind.startswith("event_msg/") and kind.endswith("_end"):
            return self._calls.execution(record, row)
        return [self.new.raw(record, kind, row)]

    # -- the thread and its settings --------------------------------------------------------------

    @handles("session_meta")
    def _session_meta(self, record: Record) -> list[Event]:
        row = record.value["payload"]
        if self._meta is not None:
            self._meta["fork"] |= text_of(row.get("id")) not in ("", self._meta["id"])
            return []
        parent = _parent(row)
        self._meta = {
            "id": text_of(row.get("id")) or self.new.ref.id,
            "paginated": row.get("history_mode") == "paginated",
            "person": is_person(row),
            "fork": bool(row.get("forked_from_id")),
            "parent": parent,
        } | {name: True for name, is_so in (("flat", row.get("flat")), ("spawned", _is_spawned(row))) if is_so}
        self._take_up_thread(self._meta)
        self.new.now["cwd"] = text_of(row.get("cwd"))
        start = self.new.event(ev.SESSION_START, _start(row, parent) | self.new.own_id(row.get("id")), record)
        return [start, *notes.rewound(self.new, record, row)]

    @handles("turn_context")
    def _turn_context(self, record: Record) -> list[Event]:
        row = record.value["payload"]
        self._turn = self.new.turn
        out: list[Event] = []
        for n, (what, key) in enumerate(_SETTINGS):
            out += self.new.change(what, row.get(key), record, n, first=what in _LATE, emptied=True)
        sandbox = dict_of(row.get("sandbox_policy"))
        return out + self.new.change("sandbox", sandbox.get("type", sandbox.get("mode")), record, "s", first=True)

    @handles("event_msg/thread_name_updated")
    def _renamed(self, record: Record) -> list[Event]:
        return self.new.change("title", record.value["payload"].get("thread_name"), record, first=True)

    @handles("event_msg/task_started", "event_msg/turn_started")
    def _turn_started(self, record: Record) -> list[Event]:
        self._turn = self.new.turn
        return [self.new.event(ev.TURN_START, {}, record)]

    @handles("event_msg/task_complete", "event_msg/turn_complete", "event_msg/turn_aborted")
    def _turn_ended(self, record: Record) -> list[Event]:
        row = record.value["payload"]
        failed = notes.failure(dict_of(row.get("error")))
        reason = "aborted" if row["type"] == "turn_aborted" else "error" if failed else "done"
        payload: dict[str, Any] = {"reason": reason}
        if isinstance(row.get("duration_ms"), int):
            payload["durationMs"] = row["duration_ms"]
        errors = [self.new.event(ev.ERROR, failed, record, "e")] if failed else []
        return [*errors, self.new.event(ev.TURN_END, payload, record)]

    @handles("compacted")
    def _compacted(self, record: Record) -> list[Event]:
        summary = summarised(text_of(record.value["payload"].get("message")))
        return [self.new.event(ev.COMPACTION, {"summary": summary} if summary else {}, record)]

    @handles("token_usage_record")
    def _usage_record(self, record: Record) -> list[Event]:
        self._counted = True
        row = record.value["payload"]
        response = texts_in({"requestId": row.get("response_id")})
        event = self._usage(record, dict_of(row.get("usage")), {}, *response.values())
        return [event._replace(source=event.source | response | {"offset": record.offset})]

    @handles("event_msg/token_count")
    def _token_count(self, record: Record) -> list[Event]:
        info = dict_of(record.value["payload"].get("info"))
        totals = dict_of(info.get("total_token_usage"))
        known = digest(safe_repr(totals)) if isinstance(self._totals, str) else totals
        if not info or self._counted or known == self._totals:
            return []
        self._totals = totals
        return [self._usage(record, dict_of(info.get("last_token_usage")), info, safe_repr(totals))]

    def _usage(self, record: Record, row: dict[str, Any], info: dict[str, Any], *known_by: str) -> Event:
        """Return the usage of a response. In what a fork copied, only the content of the record is the same."""
        event = self.new.event(ev.USAGE, notes.counts(row, info), record, model=self._model())
        return event._replace(dedup_key=self.new.copied(*known_by)) if known_by else event

    @handles(*_NOTES)
    def _note(self, record: Record) -> list[Event]:
        return [_NOTES[self.new.native_type](self.new, record, record.value["payload"])]

    @handles("event_msg/collab_agent_spawn_end")
    def _spawned(self, record: Record) -> list[Event]:
        return notes.agent_started(self.new, record, record.value["payload"])

    # -- messages --------------------------------------------------------------------------------

    @handles("event_msg/user_message")
    def _user_message(self, record: Record) -> list[Event]:
        if self.new.paginated:
            return []
        row = record.value["payload"]
        text = text_of(row.get("message"))
        if row.get("kind") in ("environment_context", "user_instructions"):
            return [self.new.event(ev.SYSTEM_MESSAGE, {"text": text, "subtype": "context"}, record)]
        shown = [("image", text_of(url)) for url in list_of(row.get("images"))]
        shown += [("local_image", text_of(path)) for path in list_of(row.get("local_images"))]
        return self._user(record, text, shown)

    def _user(self, record: Record, text: str, shown: list[tuple[str, str]], *, known: bool = True) -> list[Event]:
        """Translate a prompt; only of one that is `known` to be a person's can it be said that it was typed."""
        words = unwrap(text)
        injected = ev.Between.DELEGATED if is_delegated(words.text) else "context" if is_injected(words.text) else ""
        out: list[Event] = []
        if words.context:
            context = {"text": words.context, "subtype": "ide-context"}
            out.append(self.new.event(ev.SYSTEM_MESSAGE, context, record, "0c"))
        text = delegated(words.text) if injected == ev.Between.DELEGATED else words.text
        said: dict[str, Any] = {"text": text} | ({"subtype": injected} if injected else {})
        if shown:
            said["attachments"] = [self._shown(kind, where) for kind, where in shown]
        self._prompt_items.keep_pictures(())
        out.append(self.new.event(ev.USER_MESSAGE, said, record, typed=known and self._typed() and not injected))
        return out

    def _shown(self, kind: str, where: str) -> dict[str, Any]:
        """Describe an image; of one that the message only names, the model was sent the data just before."""
        if kind in _NAMED_IMAGES and self._prompt_items.pictures:
            return describe_image(kind, self._prompt_items.pictures.pop(0), self.new, where)
        return describe_image(kind, where, self.new)

    def _typed(self) -> bool:
        meta = self._meta or {}
        if not meta.get("person"):
            return False
        copied = meta["fork"] and not meta["paginated"] and is_copied(self._turn, meta["id"])
        return not copied

    @handles("response_item/message")
    def _message(self, record: Record) -> list[Event]:
        row = record.value["payload"]
        content = row.get("content")
        unread = self.new.unread(record, content, "message/content", CONTENT)
        if row.get("role") == "user" and (self._meta or {}).get("flat"):
            return self._flat_user(record, joined(content), images(content)) + unread
        if row.get("role") == "user":
            return self._sent(record, joined(content), row) + unread
        if row.get("role") != "assistant" or self.new.paginated:
            return []
        return self._said(record, joined(content), row) + unread

    def _sent(self, record: Record, text: str, row: dict[str, Any]) -> list[Event]:
        """Translate what the model is sent in the user's name, most of which events say, or the client wrote."""
        if ran := ran_by_person(text):
            return self._shell(record, ran)
        earlier = self._release(self._prompt_items.displaced(text))
        self._prompt_items.keep_pictures(where for _, where in images(row.get("content")) if where.startswith("data:"))
        self._prompt_items.hold(record, text, self.new.turn)
        return earlier

    def _shell(self, record: Record, ran: Ran) -> list[Event]:
        """Translate a command that the user ran with `!`, and what it printed."""
        out = [self.new.event(ev.USER_MESSAGE, {"text": f"! {ran.command}", "subtype": "shell"}, record)]
        if ran.output:
            printed = {"text": ran.output, "subtype": "shell-output"}
            out.append(self.new.event(ev.SYSTEM_MESSAGE, printed, record, "o"))
        return out

    def _said(self, record: Record, text: str, row: dict[str, Any]) -> list[Event]:
        if not text.strip():
            return []
        self._prompt_items.keep_pictures(())
        text, _, cited = text.partition(_CITATION)
        text = text.rstrip() if cited else text
        phase = _PHASES.get(text_of(row.get("phase")))
        payload = {"text": text, "phase": phase} if phase else {"text": text}
        said = self.new.event(ev.ASSISTANT_MESSAGE, payload, record, model=self._model())
        if not cited:
            return [said]
        cites = {"text": f"{_CITATION}{cited}", "subtype": "memory-citation"}
        return [said, self.new.event(ev.PROVIDER_INFO, cites, record, "c")]

    def _flat_user(self, record: Record, text: str, shown: list[tuple[str, str]]) -> list[Event]:
        """Translate a message of a flat rollout; the first one that names the directory completes the start."""
        out = self._user(record, text, shown)
        if not self.new.now.get("cwd") and (cwd := flat.directory(text)):
            self.new.now["cwd"] = cwd
            out.append(self.new.event(ev.SESSION_START, {"cwd": cwd}, record, "0s"))
        return out

    @handles("response_item/reasoning")
    def _reasoning(self, record: Record) -> list[Event]:
        row = record.value["payload"]
        summary, encrypted = list_of(row.get("summary")), text_of(row.get("encrypted_content"))
        if self.new.paginated and summary:
            return []  # the item has it
        return self._thinking(record, [joined([block]) for block in summary], encrypted=encrypted)

    def _thinking(self, record: Record, texts: list[str], *, encrypted: str = "") -> list[Event]:
        text = "\n\n".join(texts)
        if not text.strip() and not encrypted:
            return []
        payload = {"text": text, "encrypted": encrypted} if encrypted else {"text": text}
        return [self.new.event(ev.ASSISTANT_THINKING, payload, record, model=self._model())]

    @handles("response_item/agent_message")
    def _agent_message(self, record: Record) -> list[Event]:
        """Translate what another agent sends, or is sent; of an encrypted message, only the head is there."""
        row = record.value["payload"]
        payload = agent_message(joined(row.get("content"))) | texts_in({"speaker": row.get("author")})
        return [self.new.event(ev.SYSTEM_MESSAGE, payload, record)]

    def _model(self) -> str:
        return self.new.now.get("model", "")

    # -- items of the paginated form --------------------------------------------------------------

    @handles(ITEM)
    def _item(self, record: Record) -> list[Event]:
        item = dict_of(record.value["payload"].get("item"))
        name = text_of(item.get("type"))
        lower = name.lower()
        if lower in ("usermessage", "agentmessage", "reasoning"):
            return self._words(record, item, lower) if self.new.paginated else []
        if lower == "plan":
            decision, prompt = f"{text_of(item.get('id'))}:plan", text_of(item.get("text"))
            plan = {"decisionId": decision, "decisionKey": "plan", "prompt": prompt, "options": []}
            return [self.new.event(ev.DECISION_PROMPT, plan, record, model=self._model())]
        if lower in ("enteredreviewmode", "exitedreviewmode"):
            return [notes.review(self.new, record, {"type": name} | item)]
        if lower in _EXECUTIONS:
            return self._calls.execution(record, item)
        return [] if lower in ignored.ITEMS else [self.new.raw(record, self.new.native_type, item)]

    def _words(self, record: Record, item: dict[str, Any], kind: str) -> list[Event]:
        content = item.get("content")
        unread = self.new.unread(record, content, "item/content", CONTENT)
        if kind == "usermessage":
            return self._user(record, joined(content), images(content)) + unread
        if kind == "agentmessage":
            return self._said(record, joined(content), item) + unread
        return self._thinking(record, [str(text) for text in list_of(item.get("summary_text"))])

    # -- tools ------------------------------------------------------------------------------------

    @handles(*(f"response_item/{kind}" for kind in CALLS))
    def _call(self, record: Record) -> list[Event]:
        return self._calls.call(record, record.value["payload"])

    @handles(*(f"response_item/{kind}" for kind in OUTPUTS))
    def _output(self, record: Record) -> list[Event]:
        return self._calls.output(record, record.value["payload"])

    @staticmethod
    def typed_texts(fields: dict[str, Any]) -> list[TypedText]:
        """Return the text of a `user_message`, of a `UserMessage` item, or of a user's message in a flat rollout."""
        row = dict_of(fields.get("payload"))
        if "payload" not in fields and fields.get("type") == "message" and fields.get("role") == "user":
            return typed(joined(fields.get("content")))
        if row.get("type") == "user_message":
            return typed(text_of(row.get("message")))
        item = dict_of(row.get("item"))
        said = text_of(item.get("type")).lower() == "usermessage"
        return typed(joined(item.get("content"))) if said else []

    @staticmethod
    def recognises(path: Path, first: dict[str, Any], /) -> bool:
        """Return whether a file begins with a record of Codex."""
        enveloped = isinstance(first.get("payload"), dict) and "type" in first
        return (enveloped or flat.is_head(first)) and path.suffix == ".jsonl"


def _is_spawned(row: dict[str, Any]) -> bool:
    return isinstance(row.get("source"), dict) or row.get("thread_source") == SPAWNED


def _parent(row: dict[str, Any]) -> str:
    """Return the id of the thread that started one, or from which it was forked; some clients name it in `source`."""
    spawn = dict_of(dict_of(dict_of(row.get("source")).get("subagent")).get("thread_spawn"))
    named = (row.get("parent_thread_id"), spawn.get("parent_thread_id"), row.get("forked_from_id"))
    return next(filter(None, map(text_of, named)), "")


def _start(row: dict[str, Any], parent: str) -> dict[str, str]:
    git = dict_of(row.get("git"))
    return texts_in({
        "cwd": row.get("cwd"), "branch": git.get("branch"), "commit": git.get("commit_hash"),
        "repository": repository_of(git.get("repository_url")), "cliVersion": row.get("cli_version"),
        "modelProvider": row.get("model_provider"), "parent": parent,
        "origin": SPAWNED if _is_spawned(row) else row.get("originator"),
    })  # fmt: skip
