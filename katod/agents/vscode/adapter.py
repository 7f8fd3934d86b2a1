"""VS Code: the requests of one chat. The texts and calls of an answer are there when its request is over.

What the model is sent in place of a prompt (`renderedUserMessage`) is not shown. While a request runs, its answer has
only what the editor shows, with artefacts of edits, so it waits.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

from katod import events as ev
from katod.agents.base import Adapter, Described, EventBuilder, Origin, State, content_digest
from katod.agents.beside import folder_of_uri, object_in
from katod.agents.fields import dict_of, dicts_of, digest, int_or_none, iso_time, text_of, texts_in
from katod.agents.toolcalls import call_of
from katod.agents.vscode.journal import WITHDRAWN
from katod.agents.vscode.parts import arguments, call_id, result_text, shown, strange, thoughts
from katod.events import Event
from katod.model import Record, TypedText

_RUNNING: Final = (0, 4)  # states of a request: it runs, or waits for the user; all others are ends
_ENDS: Final = {1: "done", 2: "aborted", 3: "error"}
_IMPLICIT: Final = "vscode.implicit"  # what the editor attaches by itself
Value = dict[str, Any]


class ChatBuilder(EventBuilder):
    """Names the events of a request by its id."""

    def _describe(self, record: Record, part: int | str, kind: str, payload: Value, /) -> Described:
        fields = record.value or {}
        native, time = text_of(fields.get("requestId")), iso_time(fields.get("timestamp"))
        source: Value = {"providerEventType": "request" if native else "chat"}
        if native:
            source |= {"providerEventId": native, "messageId": native}
        source["offset"] = record.offset
        name = native or (part if isinstance(part, str) else f"~{content_digest(kind, payload, time)}")
        return f"{name}:{part}", f"{name}:{part}", source, time


class ChatAdapter(Adapter):
    """Translates the document of one chat."""

    def __init__(self, origin: Origin, state: State | None = None) -> None:
        state = state or {}
        self.new = ChatBuilder(origin.ref, dedup_prefix="vscode:", now=state.get("now"))
        self._path = origin.path

    def state(self) -> Value:
        """Return the settings so far: a document is always read from its beginning."""
        return {"now": self.new.now}

    def name(self, _record: Record) -> str:
        """Return what the parts of a chat are."""
        return "request"

    def _unhandled(self, record: Record) -> list[Event]:
        chat = record.value
        if not isinstance(chat.get("requests"), list):
            return super()._unhandled(record)
        cwd = _folder_of(self._path)
        self.new.now["cwd"] = cwd
        start = texts_in({"cwd": cwd}) | self.new.own_id(chat.get("sessionId"))
        out = [self.new.event(ev.SESSION_START, start, record, "start", time=iso_time(chat.get("creationDate")))]
        requests, withdrawn = dicts_of(chat["requests"]), dicts_of(chat.get(WITHDRAWN))
        out += self._withdrawn(record, withdrawn, "")
        for n, request in enumerate(requests):
            translate = partial(self._request, is_last=n == len(requests) - 1)
            out += self._translate_part(record._replace(value=request), translate)
            out += self._withdrawn(record, withdrawn, text_of(request.get("requestId")))
        return out

    def _withdrawn(self, record: Record, rows: list[Value], after: str) -> Iterator[Event]:
        """Yield a note for each time that the requests after this one were taken back."""
        for row in rows:
            if row.get("after") == after:
                note = {"text": "Conversation rewound", "subtype": "rollback"}
                yield self.new.event(ev.SYSTEM_MESSAGE, note, record, f"rollback-{text_of(row.get('requestId'))}")

    # -- requests -------------------------------------------------------------------------------------

    def _request(self, record: Record, *, is_last: bool) -> Iterator[Event]:
        request = record.value
        text = text_of(dict_of(request.get("message")).get("text"))
        if _is_typed(request):
            files = _attached(request)
            if text.strip() or files:
                payload = {"text": text} | ({"attachments": files} if files else {})
                yield self.new.event(ev.USER_MESSAGE, payload, record, 0, typed=True)
        else:
            yield self.new.event(ev.SYSTEM_MESSAGE, {"text": text, "subtype": "notification"}, record, 0)
        if _is_over(request, is_last=is_last):
            yield from self._answer(record)

    def _answer(self, record: Record) -> Iterator[Event]:
        request, result = record.value, dict_of(record.value.get("result"))
        metadata, model = dict_of(result.get("metadata")), text_of(request.get("modelId")).rpartition("/")[2]
        ended = iso_time(dict_of(request.get("modelState")).get("completedAt")) or iso_time(request.get("timestamp"))
        for n, thought in enumerate(thoughts(request.get("response"))):
            yield self.new.event(ev.ASSISTANT_THINKING, {"text": thought}, record, f"t{n}", time=ended, model=model)
        rounds = dicts_of(metadata.get("toolCallRounds"))
        results = {call_id(name): row for name, row in dict_of(metadata.get("toolCallResults")).items()}
        for n, one in enumerate(rounds):
            yield from self._round(record, one, f"r{n}", results, model, iso_time(one.get("timestamp")) or ended)
        if not rounds and (text := shown(request.get("response"))).strip():
            yield self.new.event(ev.ASSISTANT_MESSAGE, {"text": text}, record, "r0", time=ended, model=model)
        for n, part in enumerate(strange(request.get("response"))):
            yield self.new.event(
                ev.PROVIDER_RAW, {"rawType": f"response/{part['kind']}", "raw": part}, record, f"x{n}", time=ended
            )
        if counts := _counts(result, metadata):
            yield self.new.event(ev.USAGE, {"scope": "message"} | counts, record, "u", time=ended, model=model)
        yield from self._end(record, result, ended)

    def _round(
        self, record: Record, one: Value, part: str, results: Value, model: str, time: str
    ) -> Iterator[Event]:  # fmt: skip
        """Yield the text of a round, its calls, and their results."""
        if (text := text_of(one.get("response"))).strip():
            yield self.new.event(ev.ASSISTANT_MESSAGE, {"text": text}, record, part, time=time, model=model)
        calls = [(call_id(call.get("id")), call) for call in dicts_of(one.get("toolCalls"))]
        for call, row in calls:
            payload = call_of(call, text_of(row.get("name")), arguments(row.get("arguments")), self.new.now["cwd"])
            yield self.new.event(ev.TOOL_CALL, payload, record, f"{part}-{digest(call)}c", time=time, model=model)
        for call, _ in calls:
            if call in results:
                said = {"toolCallId": call, "text": result_text(results[call])}
                yield self.new.event(ev.TOOL_RESULT, said, record, f"{part}-{digest(call)}r", time=time)

    def _end(self, record: Record, result: Value, time: str) -> Iterator[Event]:
        value = dict_of(record.value.get("modelState")).get("value", 2 if record.value.get("isCanceled") is True else 1)
        if problem := text_of(dict_of(result.get("errorDetails")).get("message")):
            yield self.new.event(ev.ERROR, {"message": problem}, record, "p", time=time)
        reason = _ENDS.get(value, "error") if isinstance(value, int) else "error"
        yield self.new.event(ev.TURN_END, {"reason": reason}, record, "e", time=time)

    @staticmethod
    def typed_texts(fields: Value) -> list[TypedText]:
        """Return the texts of all requests that the user sent."""
        requests = [request for request in dicts_of(fields.get("requests")) if _is_typed(request)]
        texts = [text_of(dict_of(request.get("message")).get("text")) for request in requests]
        return [TypedText(text) for text in texts if text]

    @staticmethod
    def recognises(_path: Path, first: Value, /) -> bool:
        """Return whether a document is a chat."""
        return isinstance(first.get("requests"), list) and "sessionId" in first


def _is_typed(request: Value) -> bool:
    """Return whether the user sent a request: the client itself sends one when a command in a terminal ends."""
    return not request.get("isSystemInitiated")


def _is_over(request: Value, *, is_last: bool) -> bool:
    """Return whether all of an answer is there. Before there were states, its result says so, or what follows."""
    state = dict_of(request.get("modelState"))
    return state["value"] not in _RUNNING if "value" in state else not is_last or "result" in request


def _counts(result: Value, metadata: Value) -> Value:
    used = dict_of(result.get("usage"))
    given = (
        ("input", metadata.get("promptTokens", used.get("promptTokens"))),
        ("output", metadata.get("outputTokens", used.get("completionTokens"))),
    )
    return {name: count for name, count in given if int_or_none(count) is not None}


def _attached(request: Value) -> list[Value]:
    """Return the files and pictures that the user attached, by name."""
    rows = dicts_of(dict_of(request.get("variableData")).get("variables"))
    own = [
        row for row in rows if not text_of(row.get("id")).startswith(_IMPLICIT) and row.get("kind") in ("file", "image")
    ]
    return [{"type": row["kind"]} | texts_in({"name": row.get("name")}) for row in own]


def _folder_of(path: Path) -> str:
    """Return the folder of the workspace that a chat belongs to, as `workspace.json` above it says; empty if none."""
    if path.parent.name != "chatSessions":
        return ""
    row = object_in(path.parents[1] / "workspace.json")
    folder, workspace = folder_of_uri(row.get("folder")), folder_of_uri(row.get("workspace"))
    return folder or (str(Path(workspace).parent) if workspace else "")
