"""zot: `sessions/<16 digits>/<time>-<8>.jsonl` (format notes, section 4), and a captured stream of `zot --json`.

Rows have no ids: their place names them. A stream tells each call up to three times, as a start, in the message
and by itself; the message counts, and what it does not hold is taken from where it stands.
"""

from pathlib import Path
from typing import Any, ClassVar, Final

import orjson

from katod import events as ev
from katod.agents.protocol import Immediate, Origin, attachment, dict_of, list_of, remember, text_of
from katod.agents.tools import call_of
from katod.events import Event
from katod.model import LONGEST_NAME, Record

# What a stream says while a message is under way, and answers to its own requests.
LEFT_OUT: Final = frozenset({
    "response", "user_prompt_submit", "tool_use_end", "tool_progress", "done", "pre_compact",
})  # fmt: skip
_STREAM: Final = frozenset({"response", "user_prompt_submit", "user_message", "turn_start", "assistant_start"})
_COUNTS: Final = (
    ("input", "input"), ("output", "output"), ("cacheRead", "cache_read"), ("cacheWrite", "cache_write"),
    ("reasoning", "reasoning"), ("costUsd", "cost_usd"),
)  # fmt: skip
_MOST_TEXT: Final = 1_000_000
_MOST_BEGUN: Final = 16  # calls under way at once
_REASONS: Final = {"aborted": "aborted", "error": "error"}
Value = dict[str, Any]


class _Stream:
    """A text that comes in bits, up to a bound; joined when it is asked for."""

    def __init__(self, text: str = "") -> None:
        self._bits, self._size = [text], len(text)

    def add(self, more: str) -> None:
        """Add a bit."""
        if self._size < _MOST_TEXT:
            self._bits.append(more)
            self._size += len(more)

    def text(self) -> str:
        """Return what came so far."""
        self._bits = ["".join(self._bits)]
        return self._bits[0]


class Zot(Immediate):
    """Translates the rows of one zot session, or of one captured stream."""

    agent: ClassVar[str] = "zot"
    version: ClassVar[int] = 1
    native_ids: ClassVar[bool] = False
    exact_times: ClassVar[bool] = True

    def __init__(self, origin: Origin, state: Value | None = None) -> None:
        state = state or {}
        self._ref = origin.ref._replace(parent=state.get("parent", ""))
        self._now: dict[str, str] = state.get("now", {})
        self._messages: int = state.get("messages", 0)
        self._copied: int = state.get("copied", 0)
        self._totals: Value = state.get("totals", {})
        self._calls: dict[str, int] = state.get("calls", {})
        self._deltas = _Stream(state.get("deltas", ""))
        begun = state.get("begun", {})
        self._begun: dict[str, tuple[str, _Stream]] = {
            call: (name, _Stream(text)) for call, (name, text) in begun.items()
        }

    def state(self) -> Value:
        """Return the settings, how many messages came, the usage so far, open calls and an unfinished text."""
        return {
            "parent": self._ref.parent, "now": self._now, "messages": self._messages, "copied": self._copied,
            "totals": self._totals, "calls": self._calls, "deltas": self._deltas.text(),
            "begun": {call: [name, stream.text()] for call, (name, stream) in self._begun.items()},
        }  # fmt: skip

    def feed(self, record: Record) -> list[Event]:
        """Translate one row."""
        value = record.value
        if value is None:
            return [self._raw(record, record.problem, record.raw)]
        kind = text_of(value.get("type"))
        handler = _HANDLERS.get(kind)
        if handler is not None:
            return handler(self, value, record)
        return [] if kind in LEFT_OUT else [self._raw(record, kind or "unknown", value)]

    # -- the rows of a file -------------------------------------------------------------------------

    def _meta(self, value: Value, record: Record) -> list[Event]:
        """Begin the session; every later row of this kind tells a change."""
        meta = dict_of(value.get("meta"))
        if "started" in self._now:
            return self._change("model", text_of(meta.get("model")), record)
        parent = text_of(meta.get("parent"))
        self._ref = self._ref._replace(parent=parent)
        self._now = {"started": "1", "model": text_of(meta.get("model")), "cwd": text_of(meta.get("cwd"))}
        copied = meta.get("fork_point")
        self._copied = copied if isinstance(copied, int) and parent else 0
        given = {
            "cwd": meta.get("cwd"),
            "cliVersion": meta.get("version"),
            "title": meta.get("title"),
            "parent": parent,
        }
        start = {name: text for name, text in given.items() if isinstance(text, str) and text}
        return [self._event(ev.SESSION_START, start, record, time=text_of(meta.get("started")))]

    def _message(self, value: Value, record: Record) -> list[Event]:
        message = dict_of(value.get("message"))
        self._messages += 1
        role, blocks = message.get("role"), list_of(message.get("content"))
        time = text_of(message.get("time"))
        if role == "user":
            typed = not message.get("meta") and self._messages > self._copied
            return self._user(blocks, record, time, typed=typed)
        if role in ("assistant", "tool"):
            return [event for n, block in enumerate(blocks) for event in self._block(dict_of(block), record, n, time)]
        return [self._raw(record, f"message/{role}", value)]

    def _rename(self, value: Value, record: Record) -> list[Event]:
        return self._change("title", text_of(value.get("title")), record)

    def _compaction(self, _: Value, record: Record) -> list[Event]:
        return [self._event(ev.COMPACTION, {}, record)]

    def _usage(self, value: Value, record: Record) -> list[Event]:
        """Translate usage; totals over the session are told as what was added."""
        row, totals = value.get("usage"), dict_of(value.get("cumulative"))
        counts = _counts(row if isinstance(row, dict) else value)
        if totals:
            before, self._totals = self._totals, _counts(totals)
            counts = {name: count - before.get(name, 0) for name, count in self._totals.items()}
        counts = {name: count for name, count in counts.items() if count >= 0}
        payload = {"scope": "message"} | counts
        return (
            [self._event(ev.USAGE, payload, record, model=self._now.get("model", ""))] if any(counts.values()) else []
        )

    # -- the rows of a stream -----------------------------------------------------------------------

    def _streamed_user(self, value: Value, record: Record) -> list[Event]:
        return self._user(list_of(value.get("content")), record, text_of(value.get("time")), typed=True)

    def _streamed_assistant(self, value: Value, record: Record) -> list[Event]:
        blocks, time = [dict_of(block) for block in list_of(value.get("content"))], text_of(value.get("time"))
        out = [] if any(text_of(block.get("text")).strip() for block in blocks) else self._unfinished(record)
        self._deltas = _Stream()
        return out + [event for n, block in enumerate(blocks) for event in self._block(block, record, n, time)]

    def _call_start(self, value: Value, _: Record) -> list[Event]:
        call, name = text_of(value.get("id")), text_of(value.get("name"))
        if len(call) <= LONGEST_NAME:
            self._begun[call] = (name[:LONGEST_NAME], _Stream())
        if len(self._begun) > _MOST_BEGUN:
            del self._begun[next(iter(self._begun))]
        return []

    def _call_delta(self, value: Value, _: Record) -> list[Event]:
        begun = self._begun.get(text_of(value.get("id")))
        if begun:
            begun[1].add(text_of(value.get("delta")))
        return []

    def _untold(self, call: str, record: Record) -> list[Event]:
        """Tell a call that no message told, by what was streamed of it."""
        if call not in self._begun or call in self._calls:
            return []
        name, stream = self._begun[call]
        streamed = stream.text()
        try:
            given = orjson.loads(streamed or "{}")
        except orjson.JSONDecodeError:
            given = streamed
        return self._call({"id": call, "name": name}, given, record, "c")

    def _assistant_start(self, _: Value, record: Record) -> list[Event]:
        return self._unfinished(record)

    def _delta(self, value: Value, _: Record) -> list[Event]:
        self._deltas.add(text_of(value.get("delta")))
        return []

    def _streamed_call(self, value: Value, record: Record) -> list[Event]:
        return self._call(value, value.get("args"), record, 0)

    def _streamed_result(self, value: Value, record: Record) -> list[Event]:
        call = text_of(value.get("id"))
        return [*self._untold(call, record), self._result(value, call, record, 0)]

    def _turn_start(self, value: Value, record: Record) -> list[Event]:
        number = value.get("step")
        return [self._event(ev.TURN_START, {"number": number} if isinstance(number, int) else {}, record)]

    def _turn_end(self, value: Value, record: Record) -> list[Event]:
        out = self._unfinished(record)
        reason = _REASONS.get(text_of(value.get("stop")), "done")
        return [*out, self._event(ev.TURN_END, {"reason": reason}, record)]

    def _unfinished(self, record: Record) -> list[Event]:
        """Release a text that no message repeated."""
        text, self._deltas = self._deltas.text(), _Stream()
        return [self._event(ev.ASSISTANT_MESSAGE, {"text": text}, record, "d")] if text.strip() else []

    def _error(self, value: Value, record: Record) -> list[Event]:
        return [self._event(ev.ERROR, {"message": text_of(value.get("message")) or "error"}, record)]

    # -- what both have in common -------------------------------------------------------------------

    def _user(self, blocks: list[Any], record: Record, time: str, *, typed: bool) -> list[Event]:
        text, files, blobs = _content(blocks)
        payload = {"text": text} | ({"attachments": files} if files else {})
        event = self._event(ev.USER_MESSAGE, payload, record, time=time)
        return [event._replace(typed=typed, blobs=blobs)] if text.strip() or files else []

    def _block(self, block: Value, record: Record, n: int, time: str) -> list[Event]:
        """Translate one block. Those of a file have no type: their keys tell, in this order."""
        model = self._now.get("model", "")
        if {"reasoning_id", "summary", "encrypted_content"} & block.keys():
            text = _summary(block.get("summary"))
            payload: Value = {"text": text} if text else {"text": "", "encrypted": True}
            return [self._event(ev.ASSISTANT_THINKING, payload, record, n, time=time, model=model)]
        if "name" in block and "id" in block:
            return self._call(block, block.get("arguments", block.get("args")), record, n, time)
        if "call_id" in block:
            return [self._result(block, text_of(block["call_id"]), record, n, time)]
        if "mime_type" in block:
            files, blobs = _content([block])[1:]
            event = self._event(ev.ASSISTANT_MESSAGE, {"text": "", "attachments": files}, record, n, time=time)
            return [event._replace(blobs=blobs)]
        if (text := text_of(block.get("text"))).strip():
            return [self._event(ev.ASSISTANT_MESSAGE, {"text": text}, record, n, time=time, model=model)]
        return [] if "text" in block else [self._raw(record, "message/block", block, n)]

    def _call(self, row: Value, given: Any, record: Record, n: int | str, time: str = "") -> list[Event]:
        call, name = text_of(row.get("id")), text_of(row.get("name"))
        if not remember(self._calls, call, 1):
            return []
        payload = call_of(call, name, given, self._now.get("cwd", ""), text_of(row.get("server")))
        return [self._event(ev.TOOL_CALL, payload, record, n, time=time, model=self._now.get("model", ""))]

    def _result(self, row: Value, call: str, record: Record, n: int, time: str = "") -> Event:
        """Translate a result; some providers use a call's id again, so it is forgotten here."""
        self._calls.pop(call, None)
        self._begun.pop(call, None)
        text, files, blobs = _content(list_of(row.get("content")))
        payload: Value = {"toolCallId": call, "text": text}
        if row.get("is_error") is True:
            payload["isError"] = True
        if files:
            payload["attachments"] = files
        return self._event(ev.TOOL_RESULT, payload, record, n, time=time)._replace(blobs=blobs)

    def _change(self, what: str, after: str, record: Record) -> list[Event]:
        before = self._now.get(what, "")
        if not after or after == before:
            return []
        self._now[what] = after
        payload = {"what": what} | ({"before": before} if before else {}) | {"after": after}
        return [self._event(ev.CONFIG_CHANGE, payload, record)]

    def _raw(self, record: Record, raw_type: str, raw: Any, n: int = 0) -> Event:
        return self._event(ev.PROVIDER_RAW, {"rawType": raw_type, "raw": raw}, record, n)

    def _event(
        self, kind: str, payload: Value, record: Record, n: int | str = 0, *, time: str = "", model: str = ""
    ) -> Event:
        native = f"@{record.offset}{f'+{record.part}' if record.part else ''}:{n}"
        source = {"providerEventType": text_of((record.value or {}).get("type")), "offset": record.offset}
        once = f"zot:{self._ref.id}:{native}"
        return Event(once, kind, self._ref, payload, source, time, "recorded" if time else "", "", model, once)

    @staticmethod
    def typed_texts(value: Value) -> list[str]:
        """Return the text of a user's message that carries no mark of another sender."""
        message = dict_of(value.get("message")) if value.get("type") == "message" else value
        person = message.get("role") == "user" and not message.get("meta")
        if person or value.get("type") == "user_message":
            return [_content(list_of(message.get("content")))[0]]
        return []

    @staticmethod
    def recognises(path: Path, first: Value) -> bool:  # noqa: ARG004 - the record alone tells
        """Say whether a file begins with the meta row of zot, or with a row of its stream."""
        kind = first.get("type")
        return isinstance(first.get("meta"), dict) if kind == "meta" else kind in _STREAM and "payload" not in first


def _content(blocks: list[Any]) -> tuple[str, list[Value], tuple[tuple[str, str, str], ...]]:
    """Return the text of blocks, a description of their images, and the images' data."""
    texts: list[str] = []
    files: list[Value] = []
    blobs: list[tuple[str, str, str]] = []
    for block in blocks:
        row = dict_of(block)
        if "mime_type" in row:
            media, data = text_of(row.get("mime_type")), text_of(row.get("data"))
            files.append(attachment("image", media, data))
            blobs += [(files[-1]["sha256"], media, data)] if data else []
        elif isinstance(row.get("text"), str):
            texts.append(row["text"])
    return "\n".join(texts), files, tuple(blobs)


def _summary(summary: Any) -> str:
    if isinstance(summary, str):
        return summary
    return "\n\n".join(text_of(part) or text_of(dict_of(part).get("text")) for part in list_of(summary)).strip()


def _counts(row: Value) -> dict[str, float]:
    return {name: row[key] for name, key in _COUNTS if isinstance(row.get(key), int | float)}


_HANDLERS: Final = {
    "meta": Zot._meta,  # noqa: SLF001 - the table belongs to the class
    "message": Zot._message,  # noqa: SLF001
    "rename": Zot._rename,  # noqa: SLF001
    "compaction": Zot._compaction,  # noqa: SLF001
    "post_compact": Zot._compaction,  # noqa: SLF001
    "usage": Zot._usage,  # noqa: SLF001
    "user_message": Zot._streamed_user,  # noqa: SLF001
    "assistant_start": Zot._assistant_start,  # noqa: SLF001
    "assistant_message": Zot._streamed_assistant,  # noqa: SLF001
    "text_delta": Zot._delta,  # noqa: SLF001
    "tool_use_start": Zot._call_start,  # noqa: SLF001
    "tool_use_args": Zot._call_delta,  # noqa: SLF001
    "tool_call": Zot._streamed_call,  # noqa: SLF001
    "tool_result": Zot._streamed_result,  # noqa: SLF001
    "turn_start": Zot._turn_start,  # noqa: SLF001
    "turn_end": Zot._turn_end,  # noqa: SLF001
    "error": Zot._error,  # noqa: SLF001
}
