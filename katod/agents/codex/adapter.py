"""Codex: `sessions/YYYY/MM/DD/rollout-<time>-<thread>[_<rollout>].jsonl` (format notes, part B).

A file is wholly legacy or wholly paginated; its first `session_meta` says which. Everything stands in
it twice: user text comes only from `user_message` or the `UserMessage` item, assistant text from the
`response_item` (legacy) or the item (paginated), tool calls from `response_item` in both.
"""

from pathlib import Path
from typing import Any, ClassVar, Final

from katod import events as ev
from katod.agents.codex import left_out, notes
from katod.agents.codex.text import images, is_copied, is_injected, is_person, joined, unwrap
from katod.agents.codex.tools import (
    CALLS,
    OUTPUTS,
    QUESTION_TOOL,
    call_id,
    call_payload,
    describe_image,
    finding,
    judged,
    output_payload,
    prompts,
    responses,
)
from katod.agents.protocol import SPAWNED, Immediate, Origin, dict_of, digest, list_of, remember, spelled, text_of
from katod.events import Event
from katod.model import LONGEST_NAME, Record

_MOST_REMEMBERED: Final = 16_384  # characters of the answers offered by one call, until it is answered
_PHASES: Final = {"final_answer": "final", "commentary": "commentary"}
_EXECUTIONS: Final = frozenset({"commandexecution", "filechange", "mcptoolcall", "dynamictoolcall"})
_SETTINGS: Final = (("model", "model"), ("effort", "effort"), ("cwd", "cwd"))


class Codex(Immediate):
    """Translates the records of one Codex rollout."""

    agent: ClassVar[str] = "codex"
    version: ClassVar[int] = 3
    native_ids: ClassVar[bool] = False
    exact_times: ClassVar[bool] = True

    def __init__(self, origin: Origin, state: dict[str, Any] | None = None) -> None:
        state = state or {}
        key = origin.identity.key
        self._ref = origin.ref
        self._rollout = origin.identity.rollout or key.id
        self._prefix = f"codex:{key.id}:{self._rollout}@"
        self._meta: dict[str, Any] | None = state.get("meta")
        self._turn: str = state.get("turn", "")
        self.now: dict[str, str] = state.get("now", {})
        self._calls: dict[str, Any] = state.get("calls", {})
        self._totals: Any = state.get("totals")  # as they came, or what the state held of them
        self._counted: bool = state.get("counted", False)
        self._last: int = state.get("last", -1)  # the highest ordinal so far
        self._at, self._rises = "", True
        self._paginated = False
        if self._meta:
            self._ref = self._ref._replace(parent=self._meta["parent"])
            self._paginated = self._meta["paginated"]

    def state(self) -> dict[str, Any]:
        """Return the thread's identity, its present turn and settings, open calls and the usage so far."""
        totals = self._totals if isinstance(self._totals, str | None) else digest(spelled(self._totals))
        return {
            "meta": self._meta, "turn": self._turn, "now": self.now, "calls": self._calls,
            "totals": totals, "counted": self._counted, "last": self._last,
        }  # fmt: skip

    def feed(self, record: Record) -> list[Event]:
        """Translate one record."""
        value = record.value
        if value is None:
            return [self._raw(record, record.problem, record.raw, {})]
        kind, payload = value.get("type"), value.get("payload")
        row = payload if isinstance(payload, dict) else {}
        handler = _HANDLERS.get(kind) if isinstance(kind, str) else None
        if handler is not None and row:
            return handler(self, row, value, record)
        if kind in left_out.RECORDS:
            return []
        return [self._raw(record, text_of(kind) or "unknown", value, value)]

    # -- one kind of record each ------------------------------------------------------------------

    def _session_meta(self, row: dict[str, Any], value: dict[str, Any], record: Record) -> list[Event]:
        if self._meta is not None:
            self._meta["fork"] |= text_of(row.get("id")) not in ("", self._meta["id"])
            return []
        parent = text_of(row.get("parent_thread_id")) or text_of(row.get("forked_from_id"))
        self._meta = {
            "id": text_of(row.get("id")) or self._ref.id,
            "paginated": row.get("history_mode") == "paginated",
            "person": is_person(row),
            "fork": bool(row.get("forked_from_id")),
            "parent": parent,
        }
        self._ref = self._ref._replace(parent=parent)
        self._paginated = self._meta["paginated"]
        git = dict_of(row.get("git"))
        spawned = isinstance(row.get("source"), dict) or row.get("thread_source") == "subagent"
        start = {
            "cwd": row.get("cwd"), "branch": git.get("branch"), "commit": git.get("commit_hash"),
            "cliVersion": row.get("cli_version"), "parent": parent,
            "origin": SPAWNED if spawned else row.get("originator"),
        }  # fmt: skip
        self.now["cwd"] = text_of(row.get("cwd"))
        payload = {k: v for k, v in start.items() if isinstance(v, str) and v}
        return [self.event(ev.SESSION_START, payload, value, record, "session_meta", 0)]

    def _turn_context(self, row: dict[str, Any], value: dict[str, Any], record: Record) -> list[Event]:
        self._turn = text_of(row.get("turn_id")) or self._turn
        out: list[Event] = []
        for n, (what, key) in enumerate(_SETTINGS):
            after, before = row.get(key), self.now.get(what)
            if not isinstance(after, str) or after == before:
                continue
            self.now[what] = after
            if before:
                payload = {"what": what, "before": before, "after": after}
                out.append(self.event(ev.CONFIG_CHANGE, payload, value, record, "turn_context", n))
        return out

    def _compacted(self, row: dict[str, Any], value: dict[str, Any], record: Record) -> list[Event]:
        summary = text_of(row.get("message"))
        payload = {"summary": summary} if summary else {}
        return [self.event(ev.COMPACTION, payload, value, record, "compacted", 0)]

    def _usage_record(self, row: dict[str, Any], value: dict[str, Any], record: Record) -> list[Event]:
        self._counted = True
        return [self._usage(dict_of(row.get("usage")), {}, value, record, "token_usage_record")]

    def _event_msg(self, row: dict[str, Any], value: dict[str, Any], record: Record) -> list[Event]:
        kind = text_of(row.get("type"))
        handler = _EVENTS.get(kind)
        if handler is not None:
            return handler(self, row, value, record)
        if kind.endswith("_end") and kind not in left_out.EVENTS:
            return self._execution(row, value, record)
        if kind in left_out.EVENTS or kind in (
            "view_image_tool_call",
            "dynamic_tool_call_request",
            "dynamic_tool_call_response",
        ):
            return []
        return [self._raw(record, f"event_msg/{kind}", row, value)]

    def _response_item(self, row: dict[str, Any], value: dict[str, Any], record: Record) -> list[Event]:
        kind = text_of(row.get("type"))
        if kind == "message":
            return self._message(row, value, record)
        if kind == "reasoning":
            text = "\n\n".join(joined([block]) for block in list_of(row.get("summary")))
            return [] if self._paginated else self._thinking(text, value, record, "response_item/reasoning")
        if kind in CALLS:
            return self._call(row, value, record)
        if kind in OUTPUTS:
            return self._output(row, value, record)
        if kind == "agent_message":
            payload = {"text": joined(row.get("content")), "subtype": "agent-message"}
            return [self.event(ev.PROVIDER_INFO, payload, value, record, f"response_item/{kind}", 0)]
        if kind in left_out.RESPONSES:
            return []
        return [self._raw(record, f"response_item/{kind}", row, value)]

    # -- who said what ----------------------------------------------------------------------------

    def _user_message(self, row: dict[str, Any], value: dict[str, Any], record: Record) -> list[Event]:
        kind = row.get("kind")
        shown = [("image", text_of(url)) for url in list_of(row.get("images"))]
        shown += [("local_image", text_of(path)) for path in list_of(row.get("local_images"))]
        context = kind in ("environment_context", "user_instructions")
        if self._paginated:
            return []
        return self._user(text_of(row.get("message")), shown, value, record, "event_msg/user_message", context)

    def _user(
        self, text: str, shown: list[tuple[str, str]], value: dict[str, Any], record: Record, kind: str,
        context: bool = False,
    ) -> list[Event]:  # fmt: skip
        if context:
            payload = {"text": text, "subtype": "context"}
            return [self.event(ev.SYSTEM_MESSAGE, payload, value, record, kind, 0)]
        words = unwrap(text)
        out: list[Event] = []
        if words.context:
            payload = {"text": words.context, "subtype": "ide-context"}
            out.append(self.event(ev.SYSTEM_MESSAGE, payload, value, record, kind, "0c"))
        injected = is_injected(text)
        said: dict[str, Any] = {"text": words.text} | ({"subtype": "context"} if injected else {})
        blobs: list[tuple[str, str, str]] = []
        for image_kind, where in shown:
            row, blob = describe_image(image_kind, where)
            said.setdefault("attachments", []).append(row)
            blobs += blob
        event = self.event(ev.USER_MESSAGE, said, value, record, kind, 0)
        return [*out, event._replace(typed=self._typed() and not injected, blobs=tuple(blobs))]

    def _typed(self) -> bool:
        meta = self._meta or {}
        if not meta.get("person"):
            return False
        copied = meta["fork"] and not meta["paginated"] and is_copied(self._turn, meta["id"])
        return not copied

    def _message(self, row: dict[str, Any], value: dict[str, Any], record: Record) -> list[Event]:
        if row.get("role") != "assistant" or self._paginated:
            return []
        return self._said(joined(row.get("content")), row, value, record, "response_item/message")

    def _said(self, text: str, row: dict[str, Any], value: dict[str, Any], record: Record, kind: str) -> list[Event]:
        if not text.strip():
            return []
        phase = _PHASES.get(text_of(row.get("phase")))
        payload = {"text": text, "phase": phase} if phase else {"text": text}
        return [self.event(ev.ASSISTANT_MESSAGE, payload, value, record, kind, 0, said=True)]

    def _thinking(self, text: str, value: dict[str, Any], record: Record, kind: str) -> list[Event]:
        if not text.strip():
            return []
        return [self.event(ev.ASSISTANT_THINKING, {"text": text}, value, record, kind, 0, said=True)]

    def _item(self, row: dict[str, Any], value: dict[str, Any], record: Record) -> list[Event]:
        item = dict_of(row.get("item"))
        name = text_of(item.get("type"))
        kind, lower = f"event_msg/item_completed/{name}", name.lower()
        if lower in ("usermessage", "agentmessage", "reasoning") and not self._paginated:
            return []
        if lower == "usermessage":
            return self._user(joined(item.get("content")), images(item.get("content")), value, record, kind)
        if lower == "agentmessage":
            return self._said(joined(item.get("content")), item, value, record, kind)
        if lower == "reasoning":
            text = "\n\n".join(str(t) for t in list_of(item.get("summary_text")))
            return self._thinking(text, value, record, kind)
        if lower == "plan":
            decision = f"{text_of(item.get('id'))}:plan"
            plan = {"decisionId": decision, "decisionKey": "plan", "prompt": text_of(item.get("text")), "options": []}
            return [self.event(ev.DECISION_PROMPT, plan, value, record, kind, 0, said=True)]
        if lower in ("enteredreviewmode", "exitedreviewmode"):
            return notes.review(self, {"type": name} | item, value, record)
        if lower in _EXECUTIONS:
            return self._execution(item, value, record)
        return [] if lower in left_out.ITEMS else [self._raw(record, kind, item, value)]

    # -- tools ------------------------------------------------------------------------------------

    def _call(self, row: dict[str, Any], value: dict[str, Any], record: Record) -> list[Event]:
        payload = call_payload(row, self.now.get("cwd", ""))
        kind = f"response_item/{row['type']}"
        out = [self.event(ev.TOOL_CALL, payload, value, record, kind, 0, said=True)]
        call = payload["toolCallId"]
        known: dict[str, Any] = {"name": payload["name"][:LONGEST_NAME]}
        if payload["name"] == QUESTION_TOOL:
            rows = prompts(call, payload["input"])
            labels = {q["decisionId"]: [option["label"] for option in q["options"]] for q in rows}
            if len(spelled(labels)) <= _MOST_REMEMBERED:
                known["labels"] = labels
            out += [
                self.event(ev.DECISION_PROMPT, q, value, record, kind, f"0q{i}", said=True) for i, q in enumerate(rows)
            ]
        self._calls.pop(call, None)
        remember(self._calls, call, known)
        return out

    def _output(self, row: dict[str, Any], value: dict[str, Any], record: Record) -> list[Event]:
        payload, blobs = output_payload(row)
        kind, call = f"response_item/{row['type']}", payload["toolCallId"]
        known = self._calls.pop(call, {})
        result = judged(payload | known.get("found", {}))
        event = self.event(ev.TOOL_RESULT, result, value, record, kind, 0)
        out = [event._replace(blobs=blobs) if blobs else event]
        if known.get("name") == QUESTION_TOOL:
            rows = responses(call, payload["text"], known.get("labels", {}))
            out += [self.event(ev.DECISION_RESPONSE, a, value, record, kind, f"0a{i}") for i, a in enumerate(rows)]
        return out

    def _execution(self, row: dict[str, Any], value: dict[str, Any], record: Record) -> list[Event]:
        """Keep how a call went for its result; what comes after the result is told by itself."""
        call, found = call_id(row), finding(row)
        if call in self._calls:
            self._calls[call]["found"] = found
            return []
        if not call or not found:
            return []
        payload = {"text": f"{call} ended", "subtype": "late-result", "data": {"toolCallId": call} | found}
        return [self.event(ev.PROVIDER_INFO, payload, value, record, notes.native_type(value), 0)]

    # -- turns, usage and the rest ------------------------------------------------------------------

    def _turn_started(self, row: dict[str, Any], value: dict[str, Any], record: Record) -> list[Event]:
        self._turn = text_of(row.get("turn_id")) or self._turn
        return [self.event(ev.TURN_START, {}, value, record, notes.native_type(value), 0)]

    def _turn_ended(self, row: dict[str, Any], value: dict[str, Any], record: Record) -> list[Event]:
        payload: dict[str, Any] = {"reason": "aborted" if row["type"] == "turn_aborted" else "done"}
        if isinstance(row.get("duration_ms"), int):
            payload["durationMs"] = row["duration_ms"]
        return [self.event(ev.TURN_END, payload, value, record, notes.native_type(value), 0)]

    def _token_count(self, row: dict[str, Any], value: dict[str, Any], record: Record) -> list[Event]:
        info = dict_of(row.get("info"))
        totals = dict_of(info.get("total_token_usage"))
        known = digest(spelled(totals)) if isinstance(self._totals, str) else totals
        if not info or self._counted or known == self._totals:
            return []
        self._totals = totals
        return [self._usage(dict_of(info.get("last_token_usage")), info, value, record, "event_msg/token_count")]

    def _usage(
        self, row: dict[str, Any], info: dict[str, Any], value: dict[str, Any], record: Record, kind: str
    ) -> Event:
        return self.event(ev.USAGE, notes.counts(row, info), value, record, kind, 0, said=True)

    # -- what records have in common --------------------------------------------------------------

    def event(
        self, kind: str, payload: dict[str, Any], value: dict[str, Any], record: Record, native_type: str,
        n: int | str, *, said: bool = False,
    ) -> Event:  # fmt: skip
        """Make an event of a record; `n` is its number within the record."""
        at = self._place(value, record) if self._paginated or record.part else record.offset
        source: dict[str, Any] = {"providerEventType": native_type}
        body, turn = value.get("payload"), self._turn
        if isinstance(body, dict):
            turn = text_of(body.get("turn_id")) or turn  # what ends late belongs to the turn that it names
            native = dict_of(body.get("item")).get("id") if "item" in body else None
            native = native or body.get("id")
            if isinstance(native, str):
                source["providerEventId"] = source["messageId"] = native
        source["offset"] = record.offset
        time = value.get("timestamp")
        recorded = isinstance(time, str) and time
        return Event(
            f"{self._prefix}{at}:{n}", kind, self._ref, payload, source, recorded or "", "recorded" if recorded else "",
            turn, self.now.get("model", "") if said else "", f"codex:{self._rollout}@{at}:{n}",
        )  # fmt: skip

    def _place(self, value: dict[str, Any], record: Record) -> str:
        """Return what names a record within its rollout: its ordinal where that rises, else where it stands."""
        place = f"{record.offset}+{record.part}" if record.part else f"{record.offset}"
        ordinal = value.get("ordinal") if self._paginated else None
        if not isinstance(ordinal, int):
            return place
        if place != self._at:  # one record has many events
            self._at, self._rises = place, ordinal > self._last
            self._last = max(self._last, ordinal)
        return f"{ordinal}" if self._rises else f"{ordinal}+{place}"

    def _raw(self, record: Record, raw_type: str, raw: Any, value: dict[str, Any]) -> Event:
        payload = {"rawType": raw_type, "raw": raw}
        return self.event(ev.PROVIDER_RAW, payload, value, record, raw_type, 0)

    @staticmethod
    def typed_texts(value: dict[str, Any]) -> list[str]:
        """Return the text of a `user_message` or a `UserMessage` item."""
        row = dict_of(value.get("payload"))
        if row.get("type") == "user_message":
            return [unwrap(text_of(row.get("message"))).text]
        item = dict_of(row.get("item"))
        return [unwrap(joined(item.get("content"))).text] if text_of(item.get("type")).lower() == "usermessage" else []

    @staticmethod
    def recognises(path: Path, first: dict[str, Any]) -> bool:
        """Say whether a file begins with a record of Codex."""
        return isinstance(first.get("payload"), dict) and "type" in first and path.suffix == ".jsonl"


_HANDLERS: Final = {
    "session_meta": Codex._session_meta,  # noqa: SLF001 - the tables belong to the class
    "turn_context": Codex._turn_context,  # noqa: SLF001
    "compacted": Codex._compacted,  # noqa: SLF001
    "token_usage_record": Codex._usage_record,  # noqa: SLF001
    "event_msg": Codex._event_msg,  # noqa: SLF001
    "response_item": Codex._response_item,  # noqa: SLF001
}
_EVENTS: Final = {
    "user_message": Codex._user_message,  # noqa: SLF001
    "item_completed": Codex._item,  # noqa: SLF001
    "task_started": Codex._turn_started,  # noqa: SLF001
    "turn_started": Codex._turn_started,  # noqa: SLF001
    "task_complete": Codex._turn_ended,  # noqa: SLF001
    "turn_complete": Codex._turn_ended,  # noqa: SLF001
    "turn_aborted": Codex._turn_ended,  # noqa: SLF001
    "token_count": Codex._token_count,  # noqa: SLF001
    "error": notes.error,
    "thread_rolled_back": notes.rolled_back,
    "thread_name_updated": notes.renamed,
    "collab_agent_spawn_end": notes.agent_started,
    "collab_close_end": notes.agent_ended,
    "entered_review_mode": notes.review,
    "exited_review_mode": notes.review,
    "thread_goal_updated": notes.info,
    "undo_completed": notes.info,
}
