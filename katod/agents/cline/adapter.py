"""Cline: `<session>/<session>.messages.json`, a document that is rewritten as a whole; old messages never change.

What was typed stands in an element, unescaped, so that it may contain the closing tag. The line ends of a paste are
carriage returns.
"""

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

from katod import events as ev
from katod.agents.base import Adapter, Described, EventBuilder, Origin, State, content_digest
from katod.agents.cline.manifest import compacted_after, manifest
from katod.agents.cline.results import pictures_in, result_of
from katod.agents.fields import cost_or_none, dict_of, dicts_of, int_or_none, iso_time, list_of, text_of, texts_in
from katod.agents.toolcalls import answer_of, call_of, question_of
from katod.events import Event
from katod.model import Record, TypedText

_TYPED: Final = re.compile(r'<user_input mode="[^"]*">(.*)</user_input>\s*', re.DOTALL)
_RETURNS: Final = re.compile(r"\r\n?")
_QUESTION: Final = "ask_question"
_LEAD: Final = "lead"
_COUNTS: Final = (
    ("input", "inputTokens"), ("output", "outputTokens"), ("cacheRead", "cacheReadTokens"),
    ("cacheWrite", "cacheWriteTokens"),
)  # fmt: skip
Value = dict[str, Any]


class ClineBuilder(EventBuilder):
    """Names the events of a message by its id, or by its content if it has none."""

    def _describe(self, record: Record, part: int | str, kind: str, payload: Value, /) -> Described:
        fields = record.value or {}
        native, time = text_of(fields.get("id")), iso_time(fields.get("ts"))
        source: Value = {"providerEventType": text_of(fields.get("role")) or "document"}
        if native:
            source |= {"providerEventId": native, "messageId": native}
        source["offset"] = record.offset
        name = native or (f"~{content_digest(kind, payload, time)}" if "role" in fields else f"@{record.offset}")
        return f"{name}:{part}", f"{name}:{time}:{part}", source, time


class ClineAdapter(Adapter):
    """Translates the document of one Cline session, or of one of its sub-agents."""

    def __init__(self, origin: Origin, state: State | None = None) -> None:
        state = state or {}
        self.new = ClineBuilder(origin.ref, dedup_prefix="cline:", now=state.get("now"))
        self._path = origin.path
        self._calls: dict[str, Value] = {}  # of the document that is being read

    def state(self) -> Value:
        """Return the settings so far: a document is always read from its beginning."""
        return {"now": self.new.now}

    def name(self, record: Record) -> str:
        """Return whose message it is."""
        return text_of(record.value.get("role"))

    def _unhandled(self, record: Record) -> list[Event]:
        document = record.value
        if not isinstance(document.get("messages"), list):
            return super()._unhandled(record)
        self._calls = {}
        kept = manifest(self._path)
        cwd = text_of(kept.get("cwd")) or text_of(kept.get("workspace_root"))
        self.new.now["cwd"] = cwd
        branch = dict_of(dict_of(kept.get("metadata")).get("git")).get("branch")
        version = dict_of(document.get("origin")).get("version")
        start = texts_in({"cwd": cwd, "branch": branch, "cliVersion": version}) | self.new.own_id(
            document.get("sessionId")
        )
        time = text_of(kept.get("started_at")) or _first_time(document)
        out = [self.new.event(ev.SESSION_START, start, record, "start", time=time)]
        last, when = compacted_after(self._path)
        for message in dicts_of(document["messages"]):
            inner = record._replace(value=message)
            out += self._translate_part(inner, partial(self._message, typed=_has_person(document)))
            if last and message.get("id") == last:
                out.append(self.new.event(ev.COMPACTION, {}, inner, "compaction", time=when))
        return out

    def _message(self, record: Record, *, typed: bool) -> list[Event]:
        fields, model = record.value, text_of(dict_of(record.value.get("modelInfo")).get("id"))
        out: list[Event] = []
        files: list[Value] = []
        for n, block in enumerate(_blocks(fields)):
            kind = f"{text_of(fields.get('role'))}/{text_of(block.get('type'))}"
            if kind == "user/image":
                files.append(self._image(block))
            elif kind == "user/file":  # a prompt names it
                files.append({"type": "file"} | texts_in({"name": block.get("path")}))
                read = {"text": text_of(block.get("content")), "subtype": "context"}
                out.append(self.new.event(ev.SYSTEM_MESSAGE, read, record, n))
            else:
                out += self._block(record, kind, block, n, model, typed=typed)
        out = self.new.with_images(out, files, record) if files else out
        counts = dict_of(fields.get("metrics"))
        usage: Value = {name: counts[key] for name, key in _COUNTS if int_or_none(counts.get(key)) is not None}
        if cost := cost_or_none(counts.get("cost")):
            usage["costUsd"] = cost
        return (
            [*out, self.new.event(ev.USAGE, {"scope": "message"} | usage, record, "u", model=model)] if usage else out
        )

    def _block(
        self, record: Record, kind: str, block: Value, n: int, model: str, *, typed: bool
    ) -> Iterator[Event]:  # fmt: skip
        text = text_of(block.get("text"))
        if kind == "user/text":
            yield from self._said(record, text, n, typed=typed)
        elif kind == "user/tool_result":
            yield from self._result(record, block, n)
        elif kind == "assistant/text":
            if text.strip():
                yield self.new.event(ev.ASSISTANT_MESSAGE, {"text": text}, record, n, model=model)
        elif kind == "assistant/thinking":
            thought = {"text": text_of(block.get("thinking"))}
            yield self.new.event(ev.ASSISTANT_THINKING, thought, record, n, model=model)
        elif kind == "assistant/tool_use":
            yield from self._call(record, block, n, model)
        else:
            yield self.new.raw(record, kind, block, n)

    def _said(self, record: Record, text: str, n: int, *, typed: bool) -> Iterator[Event]:
        """Yield a prompt. Text without the element around it is the client's, or the task of a sub-agent."""
        words = _typed_of(text)
        if words is None and typed:
            yield self.new.event(ev.SYSTEM_MESSAGE, {"text": text, "subtype": "context"}, record, n)
        elif (words or text).strip():
            said = _RETURNS.sub("\n", text if words is None else words)
            yield self.new.event(ev.USER_MESSAGE, {"text": said}, record, n, typed=typed)

    def _image(self, block: Value) -> Value:
        source = dict_of(block.get("source")) or block
        media = text_of(source.get("media_type")) or text_of(source.get("mediaType"))
        return self.new.attachment("image", media, text_of(source.get("data")))

    def _call(self, record: Record, block: Value, n: int, model: str) -> Iterator[Event]:
        name, given = text_of(block.get("name")), block.get("input", {})
        payload = call_of(text_of(block.get("id")), name, given, self.new.now.get("cwd", ""))
        known: Value = {"name": name, "input": dict_of(given)}
        self._calls[payload["toolCallId"]] = known
        yield self.new.event(ev.TOOL_CALL, payload, record, n, model=model)
        if name == _QUESTION:
            options = [{"label": one} for one in list_of(dict_of(given).get("options")) if isinstance(one, str)]
            prompt = text_of(dict_of(given).get("question"))
            known["asked"] = question_of(f"{payload['toolCallId']}:0", "", prompt, options, several=False)
            yield self.new.event(ev.DECISION_PROMPT, known["asked"], record, f"{n}q", model=model)

    def _result(self, record: Record, block: Value, n: int) -> Iterator[Event]:
        known = self._calls.get(text_of(block.get("tool_use_id")), {})
        payload = result_of(block, known)
        if shown := [self._image(picture) for picture in pictures_in(block)]:
            payload["attachments"] = shown
        yield self.new.event(ev.TOOL_RESULT, payload, record, n)
        if "asked" in known and ev.went_well(payload):
            yield self.new.event(ev.DECISION_RESPONSE, answer_of(known["asked"], [payload["text"]]), record, f"{n}a")

    @staticmethod
    def typed_texts(fields: Value) -> list[TypedText]:
        """Return what was typed in all messages of a document."""
        if not _has_person(fields):
            return []
        prompts = [message for message in dicts_of(fields.get("messages")) if message.get("role") == "user"]
        texts = [text_of(row.get("text")) for prompt in prompts for row in _blocks(prompt) if row.get("type") == "text"]
        return [TypedText(_RETURNS.sub("\n", words)) for text in texts if (words := _typed_of(text)) is not None]

    @staticmethod
    def recognises(path: Path, first: Value, /) -> bool:
        """Return whether a file is a document of Cline."""
        return path.suffix == ".json" and {"agent", "sessionId", "messages", "version"} <= first.keys()


def _has_person(document: Value) -> bool:
    """Return whether a person writes the prompts of a document; one of before 3.0.65 does not say so."""
    mode = dict_of(document.get("origin")).get("mode", "user")
    return bool(mode == "user" and document.get("agent", _LEAD) == _LEAD)


def _typed_of(text: str) -> str | None:
    """Return what was typed, up to the last closing tag; None for text without the element."""
    found = _TYPED.fullmatch(text)
    return found[1] if found else None


def _blocks(message: Value) -> list[Value]:
    content = message.get("content")
    return [{"type": "text", "text": content}] if isinstance(content, str) else dicts_of(content)


def _first_time(document: Value) -> str:
    return next((iso_time(message.get("ts")) for message in dicts_of(document["messages"])), "")
