"""zot: `sessions/<16 digits>/<time>-<8>.jsonl`, and a captured stream of `zot --json`.

Rows have no ids and are named by their place. A stream contains each call up to three times: as a start, in the
message and on its own. The message counts; what it lacks is taken from the other rows.
"""

from pathlib import Path
from typing import Any, Final

from katod import events as ev
from katod.agents.base import Adapter, EventBuilder, Origin, State, handles
from katod.agents.fields import (
    attachment,
    cost_or_none,
    dict_of,
    dicts_of,
    digest,
    int_or_none,
    list_of,
    safe_repr,
    text_of,
    texts_in,
)
from katod.agents.toolcalls import OpenCalls, call_of
from katod.events import Event
from katod.lifecycle import STEP
from katod.model import LONGEST_NAME, Record, TypedText
from katod.tail.decode import loads

# Rows of a stream while a message is in progress, and responses to its own requests.
_IGNORED: Final = frozenset({
    "response", "user_prompt_submit", "tool_use_end", "tool_progress", "done", "pre_compact",
})  # fmt: skip
_CONTENT: Final = ("text", "mime_type")  # the blocks of a message of the user, and of a result
_STREAM: Final = frozenset({"response", "user_prompt_submit", "user_message", "turn_start", "assistant_start"})
# What each row of a stream says of the session: a lifecycle line of this type.
_STEPS: Final = {
    "user_message": "message_update", "text_delta": "message_update", "turn_start": "turn_start",
    "turn_end": "turn_end", "assistant_start": "message_start", "assistant_message": "message_end",
    "tool_use_start": "tool_execution_start", "tool_use_args": "tool_execution_update",
    "tool_use_end": "tool_execution_update", "tool_progress": "tool_execution_update",
    "tool_result": "tool_execution_end", "error": "error", "done": "agent_end",
}  # fmt: skip
_ABOUT: Final = (("toolCallId", "id"), ("toolName", "name"), ("stop", "stop"), ("message", "message"))
_COUNTS: Final = (
    ("input", "input"), ("output", "output"), ("cacheRead", "cache_read"), ("cacheWrite", "cache_write"),
    ("reasoning", "reasoning"),
)  # fmt: skip
_KEPT: Final = (("model", "model"), ("cwd", "cwd"), ("modelProvider", "provider"))
_MOST_TEXT: Final = 1_000_000
_MOST_BEGUN: Final = 16  # calls in progress at once
_REASONS: Final = {"aborted": "aborted", "error": "error"}
Value = dict[str, Any]


class _PiecedText:
    """A text that arrives in pieces, up to a limit; joined on demand."""

    def __init__(self, text: str = "") -> None:
        self._bits, self._size = [text], len(text)

    def add(self, more: str) -> None:
        """Add a piece."""
        if self._size < _MOST_TEXT:
            self._bits.append(more)
            self._size += len(more)

    def text(self) -> str:
        """Return the text so far."""
        self._bits = ["".join(self._bits)]
        return self._bits[0]


class ZotAdapter(Adapter):
    """Translates the rows of one zot session, or of one captured stream."""

    ignored = _IGNORED

    def __init__(self, origin: Origin, state: State | None = None) -> None:
        state = state or {}
        ref = origin.ref._replace(parent=state.get("parent", ""))
        self.new = EventBuilder(ref, now=state.get("now"))
        self._messages: int = state.get("messages", 0)
        self._copied: int = state.get("copied", 0)
        self._totals: Value = state.get("totals", {})
        self._calls: OpenCalls[int] = OpenCalls(state.get("calls"))
        self._deltas = _PiecedText(state.get("deltas", ""))
        begun = state.get("begun", {})
        self._begun: dict[str, tuple[str, _PiecedText]] = {
            call: (name, _PiecedText(text)) for call, (name, text) in begun.items()
        }

    def state(self) -> Value:
        """Return the settings, the number of messages, the usage so far, open calls and unfinished text."""
        return {
            "parent": self.new.ref.parent, "now": self.new.now, "messages": self._messages, "copied": self._copied,
            "totals": self._totals, "calls": self._calls.state(), "deltas": self._deltas.text(),
            "begun": {call: [name, stream.text()] for call, (name, stream) in self._begun.items()},
        }  # fmt: skip

    def feed(self, record: Record) -> list[Event]:
        """Return the events of this record, after the step that it is, if it is a row of a stream."""
        step = _STEPS.get(text_of((record.value or {}).get("type")))
        return [self._step(record, step), *super().feed(record)] if step else super().feed(record)

    def _step(self, record: Record, step: str) -> Event:
        """Return a step. What was said is left out: a secret may be in two pieces, and so would not be recognised."""
        fields = record.value
        data: Value = {"type": step} | texts_in({name: fields.get(key) for name, key in _ABOUT})
        if isinstance(failed := fields.get("is_error"), bool):
            data["isError"] = failed
        return self.new.event(ev.PROVIDER_INFO, {"text": "", "subtype": STEP, "data": data}, record, "l")

    # -- the rows of a file -------------------------------------------------------------------------

    @handles("meta")
    def _meta(self, record: Record) -> list[Event]:
        """Translate the start of the session; any later row of this kind is a change."""
        meta = dict_of(record.value.get("meta"))
        if "started" in self.new.now:
            provider = self.new.change("modelProvider", meta.get("provider"), record, "p", first=True)
            return [*self.new.change("model", meta.get("model"), record, first=True), *provider]
        parent = text_of(meta.get("parent"))
        self.new.child_of(parent)
        kept = {name: text_of(meta.get(key)) for name, key in _KEPT}
        self.new.now.clear()
        self.new.now.update({"started": "1"} | kept)
        copied = meta.get("fork_point")
        self._copied = copied if isinstance(copied, int) and parent else 0
        start = texts_in({
            "cwd": meta.get("cwd"), "cliVersion": meta.get("version"), "title": meta.get("title"),
            "modelProvider": meta.get("provider"), "parent": parent,
        }) | self.new.own_id(meta.get("id"))  # fmt: skip
        return [self.new.event(ev.SESSION_START, start, record, time=text_of(meta.get("started")))]

    @handles("message")
    def _message(self, record: Record) -> list[Event]:
        message = dict_of(record.value.get("message"))
        self._messages += 1
        role, blocks = message.get("role"), list_of(message.get("content"))
        time = text_of(message.get("time"))
        if role == "user":
            typed = not message.get("meta") and self._messages > self._copied
            return self._user(record, blocks, time, typed=typed, sender=dict_of(message.get("meta")))
        if role in ("assistant", "tool"):
            return self._blocks(record, blocks, time)
        return [self.new.raw(record, f"message/{role}", record.value)]

    @handles("rename")
    def _rename(self, record: Record) -> list[Event]:
        return self.new.change("title", record.value.get("title"), record, first=True)

    @handles("compaction", "post_compact")
    def _compaction(self, record: Record) -> list[Event]:
        return [self.new.event(ev.COMPACTION, {}, record)]

    @handles("usage")
    def _usage(self, record: Record) -> list[Event]:
        """Translate usage; totals over the session become the increase since the last ones."""
        fields = record.value
        row, totals = fields.get("usage"), dict_of(fields.get("cumulative"))
        counts = _counts(row if isinstance(row, dict) else fields)
        if totals:
            before, self._totals = self._totals, _counts(totals)
            counts = {name: count - before.get(name, 0) for name, count in self._totals.items()}
        counts = {name: count for name, count in counts.items() if count >= 0}
        if not any(counts.values()):
            return []
        event = self.new.event(ev.USAGE, {"scope": "message"} | counts, record, model=self._model())
        # A fork begins with copies of rows, which have no ids: after as many messages, the same row is a copy.
        return [event._replace(dedup_key=f"zot:~{digest(str(self._messages), safe_repr(fields))}")]

    # -- the rows of a stream -----------------------------------------------------------------------

    @handles("user_message")
    def _streamed_user(self, record: Record) -> list[Event]:
        fields = record.value
        return self._user(record, list_of(fields.get("content")), text_of(fields.get("time")), typed=True)

    @handles("assistant_message")
    def _streamed_assistant(self, record: Record) -> list[Event]:
        blocks, time = list_of(record.value.get("content")), text_of(record.value.get("time"))
        said = any(text_of(block.get("text")).strip() for block in dicts_of(blocks))
        out = [] if said else self._unfinished(record)
        self._deltas = _PiecedText()
        return out + self._blocks(record, blocks, time)

    @handles("tool_use_start")
    def _call_start(self, record: Record) -> list[Event]:
        call, name = text_of(record.value.get("id")), text_of(record.value.get("name"))
        if len(call) <= LONGEST_NAME:
            self._begun[call] = (name[:LONGEST_NAME], _PiecedText())
        if len(self._begun) > _MOST_BEGUN:
            del self._begun[next(iter(self._begun))]
        return []

    @handles("tool_use_args")
    def _call_delta(self, record: Record) -> list[Event]:
        begun = self._begun.get(text_of(record.value.get("id")))
        if begun:
            begun[1].add(text_of(record.value.get("delta")))
        return []

    @handles("assistant_start")
    def _assistant_start(self, record: Record) -> list[Event]:
        return self._unfinished(record)

    @handles("text_delta")
    def _delta(self, record: Record) -> list[Event]:
        self._deltas.add(text_of(record.value.get("delta")))
        return []

    @handles("tool_call")
    def _streamed_call(self, record: Record) -> list[Event]:
        return self._call(record, record.value, record.value.get("args"), 0)

    @handles("tool_result")
    def _streamed_result(self, record: Record) -> list[Event]:
        call = text_of(record.value.get("id"))
        return [*self._untold(record, call), self._result(record, record.value, call, 0)]

    @handles("turn_start")
    def _turn_start(self, record: Record) -> list[Event]:
        number = record.value.get("step")
        return [self.new.event(ev.TURN_START, {"number": number} if isinstance(number, int) else {}, record)]

    @handles("turn_end")
    def _turn_end(self, record: Record) -> list[Event]:
        out = self._unfinished(record)
        reason = _REASONS.get(text_of(record.value.get("stop")), "done")
        return [*out, self.new.event(ev.TURN_END, {"reason": reason}, record)]

    @handles("error")
    def _error(self, record: Record) -> list[Event]:
        return [self.new.event(ev.ERROR, {"message": text_of(record.value.get("message")) or "error"}, record)]

    def _unfinished(self, record: Record) -> list[Event]:
        """Return a text that no message repeated."""
        text, self._deltas = self._deltas.text(), _PiecedText()
        return [self.new.event(ev.ASSISTANT_MESSAGE, {"text": text}, record, "d")] if text.strip() else []

    def _untold(self, record: Record, call: str) -> list[Event]:
        """Translate a call that was in no message, from what was streamed of it."""
        if call not in self._begun or call in self._calls:
            return []
        name, stream = self._begun[call]
        streamed = stream.text()
        try:
            given = loads(streamed or "{}")
        except ValueError:
            given = streamed
        return self._call(record, {"id": call, "name": name}, given, "c")

    # -- shared by files and streams ----------------------------------------------------------------

    def _user(
        self, record: Record, blocks: list[Any], time: str, *, typed: bool, sender: Value | None = None
    ) -> list[Event]:
        """Translate a message of the user, or of another agent, which is marked."""
        text, files = _text(blocks), self._images(blocks)
        unread = self.new.unread(record, blocks, "user/block", _CONTENT)
        if not text.strip() and not files:
            return unread
        payload = {"text": text} | ({"attachments": files} if files else {})
        if sender:
            payload |= {"subtype": ev.Between.PEER} | texts_in({"speaker": sender.get("source")})
        return [self.new.event(ev.USER_MESSAGE, payload, record, time=time, typed=typed), *unread]

    def _blocks(self, record: Record, blocks: list[Any], time: str) -> list[Event]:
        return [event for n, block in enumerate(blocks) for event in self._block(record, dict_of(block), n, time)]

    def _block(self, record: Record, block: Value, n: int, time: str) -> list[Event]:
        """Translate one block. Blocks in a file have no type and are recognised by their keys, in this order."""
        if {"reasoning_id", "summary", "encrypted_content"} & block.keys():
            payload = _thought(block)
            return [self.new.event(ev.ASSISTANT_THINKING, payload, record, n, time=time, model=self._model())]
        if "name" in block and "id" in block:
            return self._call(record, block, block.get("arguments", block.get("args")), n, time)
        if "call_id" in block:
            unread = self.new.unread(record, block.get("content"), "result/block", _CONTENT, f"{n}.")
            return [self._result(record, block, text_of(block["call_id"]), n, time), *unread]
        if "mime_type" in block:
            payload = {"text": "", "attachments": self._images([block])}
            return [self.new.event(ev.ASSISTANT_MESSAGE, payload, record, n, time=time)]
        if (text := text_of(block.get("text"))).strip():
            return [self.new.event(ev.ASSISTANT_MESSAGE, {"text": text}, record, n, time=time, model=self._model())]
        return [] if "text" in block else [self.new.raw(record, "message/block", block, n)]

    def _call(self, record: Record, row: Value, given: Any, n: int | str, time: str = "") -> list[Event]:
        call, name = text_of(row.get("id")), text_of(row.get("name"))
        if not self._calls.add(call, 1):
            return []
        payload = call_of(call, name, given, self.new.now.get("cwd", ""), text_of(row.get("server")))
        return [self.new.event(ev.TOOL_CALL, payload, record, n, time=time, model=self._model())]

    def _result(self, record: Record, row: Value, call: str, n: int, time: str = "") -> Event:
        """Translate a result. The call is forgotten, because some providers reuse its id."""
        self._calls.close(call)
        self._begun.pop(call, None)
        blocks = list_of(row.get("content"))
        payload: Value = {"toolCallId": call, "text": _text(blocks)}
        if row.get("is_error") is True:
            payload["isError"] = True
        if files := self._images(blocks):
            payload["attachments"] = files
        return self.new.event(ev.TOOL_RESULT, payload, record, n, time=time)

    def _images(self, blocks: list[Any]) -> list[Value]:
        return [self._image(row) for row in dicts_of(blocks) if "mime_type" in row]

    def _image(self, row: Value) -> Value:
        media, data = text_of(row.get("mime_type")), text_of(row.get("data"))
        return self.new.attachment("image", media, data) if data else attachment("image", media, data)

    def _model(self) -> str:
        return self.new.now.get("model", "")

    @staticmethod
    def typed_texts(fields: Value) -> list[TypedText]:
        """Return the text of a user's message without a mark of another sender."""
        message = dict_of(fields.get("message")) if fields.get("type") == "message" else fields
        person = message.get("role") == "user" and not message.get("meta")
        if person or fields.get("type") == "user_message":
            return [TypedText(_text(list_of(message.get("content"))))]
        return []

    @staticmethod
    def recognises(_path: Path, first: Value, /) -> bool:
        """Return whether a file begins with the meta row of zot, or with a row of its stream."""
        kind = first.get("type")
        return isinstance(first.get("meta"), dict) if kind == "meta" else kind in _STREAM and "payload" not in first


def _text(blocks: list[Any]) -> str:
    rows = [row for row in dicts_of(blocks) if "mime_type" not in row]
    return "\n".join(row["text"] for row in rows if isinstance(row.get("text"), str))


def _thought(block: Value) -> Value:
    """Return the payload of a reasoning block; without a summary, there was one that is kept encrypted."""
    text, sealed = _summary(block.get("summary")), text_of(block.get("encrypted_content"))
    return {"text": text} | ({"encrypted": sealed or True} if sealed or not text else {})


def _summary(summary: Any) -> str:
    if isinstance(summary, str):
        return summary
    return "\n\n".join(text_of(part) or text_of(dict_of(part).get("text")) for part in list_of(summary)).strip()


def _counts(row: Value) -> dict[str, float]:
    counts: dict[str, float] = {name: row[key] for name, key in _COUNTS if int_or_none(row.get(key)) is not None}
    cost = cost_or_none(row.get("cost_usd"))
    return counts if cost is None else counts | {"costUsd": cost}
