"""Pi: `sessions/--<cwd>--/<time>_<session>.jsonl` (format notes, section 5; `docs/session-format.md` of Pi 0.73).

A header, then entries with an id of their own that form a tree. The branches stay in the file, so what stands
there was said, in the order of the file. A fork copies entries with their ids.
"""

from pathlib import Path
from typing import Any, ClassVar, Final

from katod import events as ev
from katod.agents.protocol import Immediate, Origin, attachment, dict_of, digest, list_of, text_of
from katod.agents.tools import call_of
from katod.events import Event
from katod.model import Record

# State of extensions and bookmarks of the tree: bookkeeping.
LEFT_OUT: Final = frozenset({"custom", "label"})
_COUNTS: Final = (
    ("input", "input"), ("output", "output"), ("cacheRead", "cacheRead"), ("cacheWrite", "cacheWrite"),
)  # fmt: skip
Blobs = list[tuple[str, str, str]]


class Pi(Immediate):
    """Translates the entries of one Pi session."""

    agent: ClassVar[str] = "pi"
    version: ClassVar[int] = 1
    native_ids: ClassVar[bool] = True
    exact_times: ClassVar[bool] = True

    def __init__(self, origin: Origin, state: dict[str, Any] | None = None) -> None:
        state = state or {}
        self._ref = origin.ref._replace(parent=state.get("parent", ""))
        self._now: dict[str, str] = state.get("now", {})

    def state(self) -> dict[str, Any]:
        """Return the parent session and the settings so far."""
        return {"parent": self._ref.parent, "now": self._now}

    def feed(self, record: Record) -> list[Event]:
        """Translate one entry."""
        value = record.value
        if value is None:
            return [self._raw(record, record.problem, record.raw)]
        kind = text_of(value.get("type"))
        if kind == "message":
            message = dict_of(value.get("message"))
            said = _ROLES.get(text_of(message.get("role")))
            return said(self, message, record) if said else [self._raw(record, f"message/{message.get('role')}", value)]
        handler = _ENTRIES.get(kind)
        if handler is not None:
            return handler(self, value, record)
        return [] if kind in LEFT_OUT else [self._raw(record, kind or "unknown", value)]

    # -- entries ----------------------------------------------------------------------------------

    def _header(self, value: dict[str, Any], record: Record) -> list[Event]:
        parent = Path(text_of(value.get("parentSession"))).stem.rpartition("_")[2]
        self._ref = self._ref._replace(parent=parent)
        self._now["cwd"] = text_of(value.get("cwd"))
        given = {"cwd": self._now["cwd"], "parent": parent}
        return [self._event(ev.SESSION_START, {k: v for k, v in given.items() if v}, record, "start")]

    def _model(self, value: dict[str, Any], record: Record) -> list[Event]:
        return self._change("model", text_of(value.get("modelId")), record)

    def _effort(self, value: dict[str, Any], record: Record) -> list[Event]:
        return self._change("effort", text_of(value.get("thinkingLevel")), record)

    def _name(self, value: dict[str, Any], record: Record) -> list[Event]:
        before, after = self._now.get("title", ""), text_of(value.get("name"))
        if not after or after == before:
            return []
        self._now["title"] = after
        payload = {"what": "title"} | ({"before": before} if before else {}) | {"after": after}
        return [self._event(ev.CONFIG_CHANGE, payload, record)]

    def _compaction(self, value: dict[str, Any], record: Record) -> list[Event]:
        payload: dict[str, Any] = {}
        if isinstance(tokens := value.get("tokensBefore"), int):
            payload["tokensBefore"] = tokens
        if summary := text_of(value.get("summary")):
            payload["summary"] = summary
        return [self._event(ev.COMPACTION, payload, record)]

    def _branch(self, value: dict[str, Any], record: Record) -> list[Event]:
        return [self._system(text_of(value.get("summary")), "branch-summary", record)]

    def _custom(self, value: dict[str, Any], record: Record) -> list[Event]:
        text, _, _ = _content(value.get("content"))
        return [self._system(text, text_of(value.get("customType")) or "custom", record)]

    # -- messages ---------------------------------------------------------------------------------

    def _user(self, message: dict[str, Any], record: Record) -> list[Event]:
        text, files, blobs = _content(message.get("content"))
        payload = {"text": text} | ({"attachments": files} if files else {})
        if not text.strip() and not files:
            return []
        event = self._event(ev.USER_MESSAGE, payload, record, typed=True)
        return [event._replace(blobs=tuple(blobs))]

    def _assistant(self, message: dict[str, Any], record: Record) -> list[Event]:
        model, out = text_of(message.get("model")), []
        for n, block in enumerate(list_of(message.get("content"))):
            out += self._block(dict_of(block), str(n), model, record)
        if payload := _usage(dict_of(message.get("usage"))):
            out.append(self._event(ev.USAGE, payload, record, "u", model=model))
        stop = text_of(message.get("stopReason"))
        if stop == "aborted":
            out.append(self._event(ev.TURN_END, {"reason": "aborted"}, record, "e"))
        elif stop == "error":
            problem = {"message": text_of(message.get("errorMessage")) or "error"}
            out.append(self._event(ev.ERROR, problem, record, "e", model=model))
        return out

    def _block(self, block: dict[str, Any], n: str, model: str, record: Record) -> list[Event]:
        kind = block.get("type")
        if kind == "text":
            text = text_of(block.get("text"))
            return [self._event(ev.ASSISTANT_MESSAGE, {"text": text}, record, n, model=model)] if text.strip() else []
        if kind == "thinking":
            text = text_of(block.get("thinking"))
            return [self._event(ev.ASSISTANT_THINKING, {"text": text}, record, n, model=model)] if text.strip() else []
        if kind == "toolCall":
            return [self._call(block, n, model, record)]
        return [self._raw(record, f"assistant/{kind}", block, n)]

    def _call(self, block: dict[str, Any], n: str, model: str, record: Record) -> Event:
        name, given = text_of(block.get("name")), block.get("arguments")
        payload = call_of(text_of(block.get("id")), name, given, self._now.get("cwd", ""))
        return self._event(ev.TOOL_CALL, payload, record, n, model=model)

    def _result(self, message: dict[str, Any], record: Record) -> list[Event]:
        text, files, blobs = _content(message.get("content"))
        payload: dict[str, Any] = {"toolCallId": text_of(message.get("toolCallId")), "text": text}
        if message.get("isError") is True:
            payload["isError"] = True
        if files:
            payload["attachments"] = files
        return [self._event(ev.TOOL_RESULT, payload, record)._replace(blobs=tuple(blobs))]

    def _shell(self, message: dict[str, Any], record: Record) -> list[Event]:
        """Translate a command that the person ran in Pi's prompt: what they typed, and what it printed."""
        said = {"text": f"! {text_of(message.get('command'))}", "subtype": "shell"}
        printed = self._system(text_of(message.get("output")), "shell-output", record, "o")
        return [self._event(ev.USER_MESSAGE, said, record), printed]

    def _extension(self, message: dict[str, Any], record: Record) -> list[Event]:
        return self._custom(message, record)

    # -- what entries have in common ----------------------------------------------------------------

    def _change(self, what: str, after: str, record: Record) -> list[Event]:
        before = self._now.get(what, "")
        if not after or after == before:
            return []
        self._now[what] = after
        if not before:
            return []
        return [self._event(ev.CONFIG_CHANGE, {"what": what, "before": before, "after": after}, record)]

    def _system(self, text: str, subtype: str, record: Record, n: str = "0") -> Event:
        return self._event(ev.SYSTEM_MESSAGE, {"text": text, "subtype": subtype}, record, n)

    def _raw(self, record: Record, raw_type: str, raw: Any, n: str = "0") -> Event:
        return self._event(ev.PROVIDER_RAW, {"rawType": raw_type, "raw": raw}, record, n)

    def _event(
        self, kind: str, payload: dict[str, Any], record: Record, n: str = "0", *, model: str = "", typed: bool = False
    ) -> Event:
        value = record.value or {}
        native, time = text_of(value.get("id")), text_of(value.get("timestamp"))
        if value.get("type") != "session" and not native:  # version 1 had no ids
            native = f"~{digest(time, kind, repr(payload))}" if value else f"@{record.offset}.{record.part}"
        source: dict[str, Any] = {"providerEventType": text_of(value.get("type"))}
        if value.get("id"):
            source["providerEventId"] = native
        if parent := text_of(value.get("parentId")):
            source["parentId"] = parent
        source["offset"] = record.offset
        return Event(
            f"pi:{self._ref.id}:{native}:{n}", kind, self._ref, payload, source, time, "recorded" if time else "",
            "", model, f"pi:{native}:{time}:{n}", typed,
        )  # fmt: skip

    @staticmethod
    def typed_texts(value: dict[str, Any]) -> list[str]:
        """Return the text of a user's message."""
        message = dict_of(value.get("message"))
        person = value.get("type") == "message" and message.get("role") == "user"
        return [_content(message.get("content"))[0]] if person else []

    @staticmethod
    def recognises(path: Path, first: dict[str, Any]) -> bool:
        """Say whether a file begins with a header of Pi."""
        return path.suffix == ".jsonl" and first.get("type") == "session" and "cwd" in first and "id" in first


def _content(content: Any) -> tuple[str, list[dict[str, Any]], Blobs]:
    """Return the text of a content, a description of its images, and their data."""
    if isinstance(content, str):
        return content, [], []
    texts: list[str] = []
    files: list[dict[str, Any]] = []
    blobs: Blobs = []
    for block in list_of(content):
        row = dict_of(block)
        if row.get("type") == "text":
            texts.append(text_of(row.get("text")))
        elif row.get("type") == "image":
            media, data = text_of(row.get("mimeType")), text_of(row.get("data"))
            files.append(attachment("image", media, data))
            blobs.append((files[-1]["sha256"], media, data))
    return "\n".join(texts), files, blobs


def _usage(usage: dict[str, Any]) -> dict[str, Any]:
    counts: dict[str, Any] = {name: usage[key] for name, key in _COUNTS if isinstance(usage.get(key), int)}
    cost = dict_of(usage.get("cost")).get("total")
    if isinstance(cost, int | float) and cost:
        counts["costUsd"] = cost
    return {"scope": "message"} | counts if counts else {}


_ENTRIES: Final = {
    "session": Pi._header,  # noqa: SLF001 - the tables belong to the class
    "model_change": Pi._model,  # noqa: SLF001
    "thinking_level_change": Pi._effort,  # noqa: SLF001
    "session_info": Pi._name,  # noqa: SLF001
    "compaction": Pi._compaction,  # noqa: SLF001
    "branch_summary": Pi._branch,  # noqa: SLF001
    "custom_message": Pi._custom,  # noqa: SLF001
}
_ROLES: Final = {
    "user": Pi._user,  # noqa: SLF001
    "assistant": Pi._assistant,  # noqa: SLF001
    "toolResult": Pi._result,  # noqa: SLF001
    "bashExecution": Pi._shell,  # noqa: SLF001
    "custom": Pi._extension,  # noqa: SLF001
    "hookMessage": Pi._extension,  # noqa: SLF001
}
