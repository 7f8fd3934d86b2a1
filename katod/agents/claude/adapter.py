"""Claude Code: `projects/<slug>/<session>.jsonl` and its sub-agents (format notes, part A).

One record a content block, several records a message; most `user` records are not the user. Never
follows `parentUuid`: what stands in the file was said, in the order of the file.
"""

from pathlib import Path
from typing import Any, ClassVar, Final

from katod import events as ev
from katod.agents.claude import queued, system, tools, usage, user
from katod.agents.claude.left_out import ATTACHMENTS, RECORDS
from katod.agents.claude.queue import Queue
from katod.agents.claude.text import is_person
from katod.agents.protocol import Origin, attachment, dict_of, digest, list_of, remember, spelled, text_of
from katod.events import Event
from katod.model import LONGEST_NAME, Record

_SETTINGS: Final = {
    "custom-title": ("title", "customTitle"), "ai-title": ("title", "aiTitle"), "agent-name": ("title", "agentName"),
    "permission-mode": ("permissionMode", "permissionMode"),
}  # fmt: skip
_CHANGES: Final = (("cwd", "cwd"), ("branch", "gitBranch"), ("permissionMode", "permissionMode"))
_MOST_NAMES: Final = 512


class Claude:
    """Translates the records of one Claude Code session file."""

    agent: ClassVar[str] = "claude"
    version: ClassVar[int] = 2
    native_ids: ClassVar[bool] = True
    exact_times: ClassVar[bool] = True

    def __init__(self, origin: Origin, state: dict[str, Any] | None = None) -> None:
        state = state or {}
        self.origin = origin
        self._ref = origin.ref
        self._prefix = f"claude:{origin.identity.key.id}:"
        self.subagent = bool(origin.identity.key.subagent)
        self._started: bool = state.get("started", False)
        self.now: dict[str, str] = state.get("now", {})
        self._calls: dict[str, dict[str, Any]] = state.get("calls", {})
        self._usage = usage.Waiting(*state["usage"]) if "usage" in state else None
        self._settled: tuple[Any, ...] = ()
        self._queue = Queue(state.get("queue"))
        self._repeats: dict[str, int] = state.get("repeats", {})
        self._blobs: list[tuple[str, str, str]] = []

    def state(self) -> dict[str, Any]:
        """Return the session's settings so far, open calls, usage, repeated names and queued texts not yet decided."""
        row: dict[str, Any] = {"started": self._started, "now": self.now, "calls": self._calls}
        if self._usage:
            row["usage"] = self._usage.state()
        if self._repeats:
            row["repeats"] = self._repeats
        return row | ({"queue": queue} if (queue := self._queue.state()) else {})

    def holding(self) -> bool:
        """Say whether a queued text waits for its decision."""
        return bool(self._queue.waiting or self._queue.removed)

    def feed(self, record: Record) -> list[Event]:
        """Translate one record."""
        value = record.value
        if value is None:
            return [self.raw(record, record.problem, record.raw)]
        kind = value.get("type")
        out: list[Event] = []
        if self._queue.removed and kind != "queue-operation" and kind not in RECORDS:
            out += self._release(value, record.offset)
        if self._usage and not usage.belongs(self._usage, value, self._calls):
            out.append(self._emit_usage())
        if kind in ("user", "assistant", "system", "attachment"):
            out += self._envelope(value, record.offset)
        handler = _HANDLERS.get(kind) if isinstance(kind, str) else None
        if handler is not None:
            out += handler(self, value, record)
        elif kind not in RECORDS:
            out.append(self.raw(record, text_of(kind) or "unknown", value))
        return out

    def finish(self) -> list[Event]:
        """Release the usage and the texts that waited for one more record."""
        out = self._release({}, 0) if self._queue.removed else []
        return out + ([self._emit_usage()] if self._usage else [])

    # -- one kind of record each ------------------------------------------------------------------

    def _assistant(self, value: dict[str, Any], record: Record) -> list[Event]:
        message = dict_of(value.get("message"))
        synthetic = message.get("model") == "<synthetic>" or value.get("isApiErrorMessage")
        model = "" if synthetic else text_of(message.get("model"))
        content = message.get("content")
        if isinstance(content, str):
            content = [{"type": "text", "text": content}]
        out: list[Event] = []
        for n, block in enumerate(list_of(content)):
            if isinstance(block, dict):
                out += self._block(value, record, block, n, model, bool(synthetic))
            else:
                out.append(self.raw(record, "assistant/block", block, str(n), value))
        if not synthetic:
            self._usage = usage.noted(value, message, model) or self._usage
            if message.get("stop_reason") is not None and self._usage:
                out.append(self._emit_usage())
        return out

    def _block(
        self, value: dict[str, Any], record: Record, block: dict[str, Any], n: int, model: str, synthetic: bool
    ) -> list[Event]:
        kind = block.get("type")
        if kind == "text":
            text = text_of(block.get("text"))
            if not text.strip() or text == "(no content)":
                return []
            if synthetic:
                return [system.synthetic(self, value, record, text, n)]
            stop = dict_of(value.get("message")).get("stop_reason")
            payload = {"text": text, "stopReason": stop} if isinstance(stop, str) else {"text": text}
            return [self.event(ev.ASSISTANT_MESSAGE, payload, value, record, n, model=model)]
        if kind == "thinking":
            text = text_of(block.get("thinking"))
            return (
                [self.event(ev.ASSISTANT_THINKING, {"text": text}, value, record, n, model=model)]
                if text.strip()
                else []
            )
        if kind == "redacted_thinking":
            return [self.event(ev.ASSISTANT_THINKING, {"text": "", "encrypted": True}, value, record, n, model=model)]
        if kind in ("tool_use", "server_tool_use", "mcp_tool_use"):
            return tools.call(self, value, record, block, n, model)
        if isinstance(kind, str) and kind.endswith("_tool_result"):
            return tools.results(self, value, record, block, n)
        if kind == "fallback":
            return self._fallback(value, record, block, n)
        return [self.raw(record, f"assistant/{kind}", block, str(n), value)]

    def _fallback(self, value: dict[str, Any], record: Record, block: dict[str, Any], n: int) -> list[Event]:
        before, after = (text_of(dict_of(block.get(side)).get("model")) for side in ("from", "to"))
        payload = {"what": "model", "before": before, "after": after}
        return [self.event(ev.CONFIG_CHANGE, payload, value, record, n)]

    def _attachment(self, value: dict[str, Any], record: Record) -> list[Event]:
        row = dict_of(value.get("attachment"))
        if row.get("type") == "queued_command":
            return queued.prompt(self, value, record, row)
        known = row.get("type") in ATTACHMENTS
        return [] if known else [self.raw(record, f"attachment/{row.get('type')}", row, "0", value)]

    def _queue_operation(self, value: dict[str, Any], record: Record) -> list[Event]:
        self._queue.operate(value)
        return self._texts_of(self._queue.overflow(), record.offset)

    def _setting(self, value: dict[str, Any], record: Record) -> list[Event]:
        what, key = _SETTINGS[value["type"]]
        after = text_of(value.get(key))
        if what == "title" and after:
            kept = f"title/{key}"  # the client repeats each of its titles for ever
            if self.now.get(kept) == after:
                return []
            self.now[kept] = after
        return self._change(what, after, value, record.offset) if after else []

    def _info(self, value: dict[str, Any], record: Record) -> list[Event]:
        kind = value["type"]
        text = text_of(value.get("prUrl")) or text_of(value.get("tag"))
        data = {k: v for k, v in value.items() if k not in ("type", "sessionId", "timestamp")}
        payload = {"text": text, "subtype": kind, "data": data}
        return [self.event(ev.PROVIDER_INFO, payload, value, record, "0")]

    # -- what records have in common --------------------------------------------------------------

    def event(
        self,
        kind: str,
        payload: dict[str, Any],
        value: dict[str, Any],
        record: Record,
        n: int | str,
        *,
        model: str = "",
        typed: bool = False,
    ) -> Event:
        """Make the event of one block of a record; `n` is the block's number, with a letter where it is derived."""
        uuid = value.get("uuid")
        source: dict[str, Any] = {"providerEventType": value.get("type")}
        if isinstance(uuid, str) and uuid:
            native = source["providerEventId"] = uuid
        else:
            native = self._name(value, kind, payload)
        message = value.get("message")
        if isinstance(message, dict) and isinstance(message.get("id"), str):
            source["messageId"] = message["id"]
        if isinstance(request := value.get("requestId"), str):
            source["requestId"] = request
        if isinstance(parent := value.get("parentUuid"), str):
            source["parentId"] = parent
        source["offset"] = record.offset
        time, ref = value.get("timestamp"), self._ref
        if value.get("isSidechain") and not self.subagent:
            ref = ref._replace(subagent=text_of(value.get("agentId")) or "sidechain")
        turn = value.get("promptId")
        return Event(
            f"{self._prefix}{native}:{n}", kind, ref, payload, source,
            time if isinstance(time, str) else "", "recorded" if time else "",
            turn if isinstance(turn, str) else "", model, f"claude:{native}:{n}", typed,
        )  # fmt: skip

    def _name(self, value: dict[str, Any], kind: str, payload: dict[str, Any]) -> str:
        """Return a name for what has no id: a hash of it, and a number where not even a time tells two of it apart."""
        time = value.get("timestamp")
        name = f"~{digest(str(time), kind, spelled(payload))}"
        if time:
            return name
        if len(self._repeats) >= _MOST_NAMES and name not in self._repeats:
            self._repeats = {"": self._repeats.get("", 0) + 1}  # they are counted anew, and the names say so
        number = self._repeats[name] = self._repeats.get(name, 0) + 1
        if round_ := self._repeats.get("", 0):
            return f"{name}.{number}.{round_}"
        return f"{name}.{number}" if number > 1 else name

    def image(self, block: dict[str, Any]) -> dict[str, Any]:
        """Describe an image or document block, and keep its data for outputs that save attachments."""
        origin = dict_of(block.get("source"))
        data, media = text_of(origin.get("data")), text_of(origin.get("media_type"))
        row = attachment(text_of(block.get("type")), media, data, text_of(block.get("title")))
        if data:
            self._blobs.append((row["sha256"], media, data))
        return row

    def open_call(self, call_id: str, message_id: str) -> dict[str, Any]:
        """Remember a call until its result comes; returns what is remembered, to be added to."""
        remembered: dict[str, Any] = {"message": message_id[:LONGEST_NAME]}
        self._calls.pop(call_id, None)
        remember(self._calls, call_id, remembered)
        return remembered

    def close_call(self, call_id: str) -> dict[str, Any]:
        """Forget an open call and return what was remembered of it; usage still counts it as its own."""
        return self._calls.pop(call_id, {})

    def take_blobs(self) -> tuple[tuple[str, str, str], ...]:
        """Return the data of the images described since the last call."""
        blobs, self._blobs = tuple(self._blobs), []
        return blobs

    def with_images(
        self, out: list[Event], images: list[dict[str, Any]], value: dict[str, Any], record: Record
    ) -> list[Event]:
        """Hang the images on the record's first message, or on one without words."""
        at = next((i for i, event in enumerate(out) if event.kind == ev.USER_MESSAGE), None)
        if at is None:
            out.append(self.event(ev.USER_MESSAGE, {"text": ""}, value, record, "i"))
            at = len(out) - 1
        payload = out[at].payload | {"attachments": images}
        out[at] = out[at]._replace(payload=payload, blobs=self.take_blobs())
        return out

    def system(self, value: dict[str, Any], record: Record, text: str, subtype: str, n: str) -> Event:
        """Make a message that the client said by itself."""
        return self.event(ev.SYSTEM_MESSAGE, {"text": text, "subtype": subtype}, value, record, n)

    def raw(self, record: Record, raw_type: str, raw: Any, n: str = "0", value: dict[str, Any] | None = None) -> Event:
        """Keep what is not understood as it is."""
        payload = {"rawType": raw_type, "raw": raw}
        return self.event(
            ev.PROVIDER_RAW, payload, value or record.value or {"uuid": f"@{record.offset}.{record.part}"}, record, n
        )

    def _envelope(self, value: dict[str, Any], offset: int) -> list[Event]:
        """Emit the start of the session once, later what changed of its settings."""
        if value.get("isSidechain") and not self.subagent:
            return []
        if not self._started and "cwd" in value:
            self._started = True
            return [self._start(value, offset)]
        settings = (value.get("cwd"), value.get("gitBranch"), value.get("permissionMode"))
        if settings == self._settled:
            return []
        out: list[Event] = []
        for (what, _), after in zip(_CHANGES, settings, strict=True):
            if after:
                out += self._change(what, after, value, offset)
        self._settled = settings
        return out

    def _start(self, value: dict[str, Any], offset: int) -> Event:
        names = (("cwd", "cwd"), ("branch", "gitBranch"), ("cliVersion", "version"), ("origin", "entrypoint"))
        payload = {name: value[key] for name, key in names if isinstance(value.get(key), str) and value[key]}
        for what, key in _CHANGES:
            if isinstance(value.get(key), str):
                self.now[what] = value[key]
        return self.event(ev.SESSION_START, payload, value, Record(offset, value), "start")

    def _change(self, what: str, after: Any, value: dict[str, Any], offset: int) -> list[Event]:
        before = self.now.get(what)
        if not isinstance(after, str) or after == before:
            return []
        self.now[what] = after
        self._settled = ()
        payload = {"what": what, "before": before, "after": after} if before else {"what": what, "after": after}
        if before is None and what != "title":
            return []
        return [self.event(ev.CONFIG_CHANGE, payload, value, Record(offset, value), what)]

    # -- decided by the record that comes next ------------------------------------------------------

    def _emit_usage(self) -> Event:
        waiting, self._usage = self._usage, None
        assert waiting is not None
        return usage.event(waiting, self._ref, self._prefix)

    def _release(self, value: dict[str, Any], offset: int) -> list[Event]:
        """Emit texts that were taken from the queue and, as the next record shows, stand nowhere else."""
        return self._texts_of(self._queue.decide(_text_of_record(value)), offset)

    def _texts_of(self, released: list[list[str]], offset: int) -> list[Event]:
        row = {"type": "queue-operation"}
        return [
            self.event(
                ev.USER_MESSAGE, {"text": text}, row | {"timestamp": time}, Record(offset, None), "0",
                typed=not self.subagent,
            )
            for text, time in released
        ]  # fmt: skip

    @staticmethod
    def typed_texts(value: dict[str, Any]) -> list[str]:
        """Return the texts of a user record, a queued command or a queued text."""
        kind = value.get("type")
        if kind == "queue-operation":
            return [text_of(value.get("content"))]
        if kind == "attachment":
            prompt = dict_of(value.get("attachment")).get("prompt")
            return [prompt] if isinstance(prompt, str) else _texts(prompt)
        if kind != "user" or is_person(value, subagent=False) is False:
            return []
        content = dict_of(value.get("message")).get("content")
        return [content] if isinstance(content, str) else _texts(content)

    @staticmethod
    def recognises(path: Path, first: dict[str, Any]) -> bool:
        """Say whether a file begins with a record of Claude Code."""
        return ("sessionId" in first and "payload" not in first) or (
            first.get("type") in RECORDS and "payload" not in first and path.suffix == ".jsonl"
        )


def _texts(blocks: Any) -> list[str]:
    rows = [block for block in list_of(blocks) if isinstance(block, dict)]
    return [text_of(row.get("text")) for row in rows if row.get("type") == "text"]


def _text_of_record(value: dict[str, Any]) -> str:
    """Return the text of a record that may show a queued text, empty for all others."""
    return "\n".join(Claude.typed_texts(value)) if value.get("type") in ("user", "attachment") else ""


_HANDLERS: Final = {
    "user": user.translate,
    "assistant": Claude._assistant,  # noqa: SLF001 - the table belongs to the class
    "system": system.translate,
    "attachment": Claude._attachment,  # noqa: SLF001
    "queue-operation": Claude._queue_operation,  # noqa: SLF001
    "custom-title": Claude._setting,  # noqa: SLF001
    "ai-title": Claude._setting,  # noqa: SLF001
    "agent-name": Claude._setting,  # noqa: SLF001
    "permission-mode": Claude._setting,  # noqa: SLF001
    "pr-link": Claude._info,  # noqa: SLF001
    "tag": Claude._info,  # noqa: SLF001
}
