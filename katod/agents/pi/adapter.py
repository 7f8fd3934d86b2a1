"""Pi: `sessions/--<cwd>--/<time>_<session>.jsonl`.

A header is followed by entries with ids, which form a tree. Abandoned branches stay in the file: everything in it was
said, in the order of the file. A fork copies entries with their ids.
"""

import re
from pathlib import Path
from typing import Any, Final

from katod import events as ev
from katod.agents.base import (
    Adapter,
    Branches,
    Described,
    EventBuilder,
    Origin,
    State,
    content_digest,
    handles,
    rewound,
)
from katod.agents.diffs import structured
from katod.agents.fields import cost_or_none, dict_of, dicts_of, int_or_none, list_of, text_of, texts_in
from katod.agents.toolcalls import call_of
from katod.events import Event
from katod.model import Record, TypedText

# Bookkeeping: state of extensions, bookmarks of the tree, what the model no longer reads, and the system prompt.
_IGNORED: Final = frozenset({"context_edit", "custom", "label", "message/system"})
# How `/skill:NAME` is sent: the instructions, and what the user typed behind the name. The instructions end with the
# last such tag, as nothing in them is typed. In the same way, the files that `pi @FILE` names stand before the prompt.
_SKILL: Final = re.compile(r'<skill name="([^\n]+)" location="[^\n]*">\n(.*)\n</skill>(.*)', re.DOTALL)
_FILES: Final = re.compile(r'(<file name="[^\n]*">.*</file>)(.*)', re.DOTALL)
_CONTENT: Final = ("text", "image")  # the blocks of a message of the user, and of a result
_SHELL: Final = "bash"
# The last line of the result of a command that failed.
_EXIT: Final = re.compile(r"(?:\A|\n)Command exited with code (-?[0-9]{1,15})\s*\Z")
_TAIL: Final = 200
# How it says that the user stopped it: while the model answers; in a call, for which it says "error".
_STOPPED: Final = ("This operation was aborted", "Operation aborted", "Request was aborted.")
_STOPPED_CALL: Final = ("Command aborted", "Operation aborted")
_SEALED: Final = '"encrypted_content":"'
_COUNTS: Final = (
    ("input", "input"), ("output", "output"), ("cacheRead", "cacheRead"), ("cacheWrite", "cacheWrite"),
    ("reasoning", "reasoning"), ("total", "totalTokens"),
)  # fmt: skip


class PiBuilder(EventBuilder):
    """Names events by the id of their entry; a fork keeps the id and the time of the entry."""

    def _describe(self, record: Record, part: int | str, kind: str, payload: dict[str, Any], /) -> Described:
        fields = record.value or {}
        native, time = text_of(fields.get("id")), text_of(fields.get("timestamp"))
        if fields.get("type") != "session" and not native:  # version 1 had no ids
            native = f"~{content_digest(kind, payload, time)}" if fields else f"@{record.offset}.{record.part}"
        source: dict[str, Any] = {"providerEventType": text_of(fields.get("type"))}
        if fields.get("id"):
            source["providerEventId"] = native
        source |= self.ancestors.source(fields.get("parentId"))
        if response := text_of(dict_of(fields.get("message")).get("responseId")):
            source["requestId"] = response
        source["offset"] = record.offset
        return f"{native}:{part}", f"{native}:{time}:{part}", source, time


class PiAdapter(Adapter):
    """Translates the entries of one Pi session."""

    ignored = _IGNORED

    def __init__(self, origin: Origin, state: State | None = None) -> None:
        state = state or {}
        ref = origin.ref._replace(parent=state.get("parent", ""))
        self.new = PiBuilder(ref, dedup_prefix=f"{ref.agent}:", now=state.get("now"), above=state.get("above"))
        self._branches = Branches(state.get("prompts"))

    def state(self) -> dict[str, Any]:
        """Return the parent session, the settings so far, and where prompts were sent."""
        row = {"parent": self.new.ref.parent, "now": self.new.now, "above": self.new.ancestors.state()}
        return row | ({"prompts": prompts} if (prompts := self._branches.state()) else {})

    def feed(self, record: Record) -> list[Event]:
        """Translate one entry; what is below one without an event is below its parent."""
        out, fields = super().feed(record), record.value or {}
        self.new.ancestors.take(fields.get("id"), fields.get("parentId"), out)
        return out

    def name(self, record: Record) -> str:
        """Return the type of an entry, and of a message whose it is."""
        return self._take_up(record.value)

    def _take_up(self, fields: dict[str, Any]) -> str:
        kind = text_of(fields.get("type"))
        return f"message/{text_of(dict_of(fields.get('message')).get('role'))}" if kind == "message" else kind

    def _unhandled(self, record: Record) -> list[Event]:
        if record.value.get("type") != "message":
            return super()._unhandled(record)
        kind = f"message/{dict_of(record.value.get('message')).get('role')}"
        return [] if kind in self.ignored else [self.new.raw(record, kind, record.value)]

    # -- entries ----------------------------------------------------------------------------------

    @handles("session")
    def _header(self, record: Record) -> list[Event]:
        fields = record.value
        parent = Path(text_of(fields.get("parentSession"))).stem.rpartition("_")[2]
        self.new.child_of(parent)
        cwd, own = text_of(fields.get("cwd")), self.new.own_id(fields.get("id"))
        self.new.now["cwd"] = cwd
        return [self.new.event(ev.SESSION_START, texts_in({"cwd": cwd, "parent": parent}) | own, record, "start")]

    @handles("model_change")
    def _model(self, record: Record) -> list[Event]:
        fields = record.value
        return [*self.new.change("model", fields.get("modelId"), record), *self._provider(record, fields)]

    @handles("thinking_level_change")
    def _effort(self, record: Record) -> list[Event]:
        return self.new.change("effort", record.value.get("thinkingLevel"), record, first=True)

    @handles("session_info")
    def _title(self, record: Record) -> list[Event]:
        return self.new.change("title", record.value.get("name"), record, first=True)

    @handles("compaction")
    def _compaction(self, record: Record) -> list[Event]:
        payload: dict[str, Any] = {}
        if isinstance(tokens := record.value.get("tokensBefore"), int):
            payload["tokensBefore"] = tokens
        if summary := text_of(record.value.get("summary")):
            payload["summary"] = summary
        return [self.new.event(ev.COMPACTION, payload, record), *self._used(record, record.value)]

    @handles("branch_summary")
    def _branch(self, record: Record) -> list[Event]:
        summary = self._system(record, text_of(record.value.get("summary")), "branch-summary")
        return [summary, *self._used(record, record.value)]

    @handles("usage")
    def _used_apart(self, record: Record) -> list[Event]:
        """Translate what was used beside the answers, as by a request that keeps the provider's cache."""
        return self._used(record, record.value)

    @handles("custom_message")
    def _custom(self, record: Record) -> list[Event]:
        return self._extension(record, record.value)

    # -- messages ---------------------------------------------------------------------------------

    @handles("message/user")
    def _user(self, record: Record) -> list[Event]:
        content = dict_of(record.value.get("message")).get("content")
        text, beside = _typed(_text(content))
        files = self._images(content)
        payload = {"text": text} | ({"attachments": files} if files else {})
        out = [self.new.event(ev.USER_MESSAGE, payload, record, typed=True)] if text.strip() or files else []
        if out and self._branches.goes_back(record.value.get("id"), record.value.get("parentId")):
            out.insert(0, self.new.event(ev.SYSTEM_MESSAGE, rewound(), record, "back"))
        out += [self._system(record, added, subtype, "s") for subtype, added in beside.items()]
        return out + self.new.unread(record, content, "user/content", _CONTENT)

    @handles("message/assistant")
    def _assistant(self, record: Record) -> list[Event]:
        message = dict_of(record.value.get("message"))
        model, out = text_of(message.get("model")), self._provider(record, message)
        stop = text_of(message.get("stopReason"))
        for n, block in enumerate(list_of(message.get("content"))):
            out += self._block(record, dict_of(block), n, model, stop)
        out += self._used(record, message)
        if stop == "aborted" or (stop == "error" and message.get("errorMessage") in _STOPPED):
            out.append(self.new.event(ev.TURN_END, {"reason": "aborted"}, record, "e"))
        elif stop == "error":
            problem = {"message": text_of(message.get("errorMessage")) or "error"}
            out.append(self.new.event(ev.ERROR, problem, record, "e", model=model))
        return out

    def _block(self, record: Record, block: dict[str, Any], n: int, model: str, stop: str) -> list[Event]:
        kind = block.get("type")
        if kind == "text":
            text = text_of(block.get("text"))
            payload = {"text": text} | ({"stopReason": stop} if stop else {})
            return [self.new.event(ev.ASSISTANT_MESSAGE, payload, record, n, model=model)] if text.strip() else []
        if kind == "thinking":
            thought = _thought(block)
            return [self.new.event(ev.ASSISTANT_THINKING, thought, record, n, model=model)] if thought else []
        if kind == "toolCall":
            name, given = text_of(block.get("name")), block.get("arguments")
            payload = call_of(text_of(block.get("id")), name, given, self.new.now.get("cwd", ""))
            return [self.new.event(ev.TOOL_CALL, payload, record, n, model=model)]
        return [self.new.raw(record, f"assistant/{kind}", block, n)]

    @handles("message/toolResult")
    def _result(self, record: Record) -> list[Event]:
        message = dict_of(record.value.get("message"))
        content = message.get("content")
        payload: dict[str, Any] = {"toolCallId": text_of(message.get("toolCallId")), "text": _text(content)}
        payload |= _outcome(message, payload["text"])
        if files := self._images(content):
            payload["attachments"] = files
        out = [self.new.event(ev.TOOL_RESULT, payload, record), *self._used(record, message)]
        return out + self.new.unread(record, content, "result", _CONTENT)

    @handles("message/bashExecution")
    def _shell(self, record: Record) -> list[Event]:
        """Translate a command that the user ran in Pi's prompt: what they typed, and its output."""
        message = dict_of(record.value.get("message"))
        said = {"text": f"! {text_of(message.get('command'))}", "subtype": "shell"}
        printed = self._system(record, text_of(message.get("output")), "shell-output", "o")
        return [self.new.event(ev.USER_MESSAGE, said, record), printed]

    @handles("message/custom", "message/hookMessage")
    def _extension_message(self, record: Record) -> list[Event]:
        return self._extension(record, dict_of(record.value.get("message")))

    # -- shared by entries --------------------------------------------------------------------------

    def _provider(self, record: Record, row: dict[str, Any]) -> list[Event]:
        return self.new.change("modelProvider", row.get("provider"), record, "p", first=True)

    def _used(self, record: Record, row: dict[str, Any]) -> list[Event]:
        """Return what was used for an answer or a summary, or by a tool that asked a model, which only answers name."""
        payload = _usage(dict_of(row.get("usage")))
        return [self.new.event(ev.USAGE, payload, record, "u", model=text_of(row.get("model")))] if payload else []

    def _extension(self, record: Record, row: dict[str, Any]) -> list[Event]:
        return [self._system(record, _text(row.get("content")), text_of(row.get("customType")) or "custom")]

    def _system(self, record: Record, text: str, subtype: str, part: int | str = 0) -> Event:
        return self.new.event(ev.SYSTEM_MESSAGE, {"text": text, "subtype": subtype}, record, part)

    def _images(self, content: Any) -> list[dict[str, Any]]:
        rows = [row for row in dicts_of(content) if row.get("type") == "image"]
        return [self.new.attachment("image", text_of(row.get("mimeType")), text_of(row.get("data"))) for row in rows]

    @staticmethod
    def typed_texts(fields: dict[str, Any]) -> list[TypedText]:
        """Return the text of a user's message, without the instructions of a skill."""
        message = dict_of(fields.get("message"))
        person = fields.get("type") == "message" and message.get("role") == "user"
        return [TypedText(_typed(_text(message.get("content")))[0])] if person else []

    @staticmethod
    def recognises(path: Path, first: dict[str, Any], /) -> bool:
        """Return whether a file begins with a header of Pi."""
        return path.suffix == ".jsonl" and first.get("type") == "session" and "cwd" in first and "id" in first


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(text_of(row.get("text")) for row in dicts_of(content) if row.get("type") == "text")


def _typed(text: str) -> tuple[str, dict[str, str]]:
    """Return what the user typed, and by its subtype what the client put before it."""
    if not text.startswith("<"):
        return text, {}
    if found := _SKILL.fullmatch(text):
        return f"/skill:{found[1]} {found[3].lstrip()}".rstrip(), {"skill": found[2]}
    if found := _FILES.fullmatch(text):
        return found[2].strip("\n"), {"context": found[1]}
    return text, {}


def _outcome(message: dict[str, Any], text: str) -> dict[str, Any]:
    """Return how a call ended, and which files an edit changed."""
    files = structured(text_of(dict_of(message.get("details")).get("patch")))
    if message.get("isError") is not True:
        return files
    if text.endswith(_STOPPED_CALL):
        return {"status": "interrupted"} | files
    code = _EXIT.search(text, max(len(text) - _TAIL, 0)) if message.get("toolName") == _SHELL else None
    return {"isError": True} | ({"exitCode": int(code[1])} if code else {}) | files


def _thought(block: dict[str, Any]) -> dict[str, Any]:
    """Return the payload of a thought, which some providers keep encrypted in its signature; empty if it is empty."""
    text = text_of(block.get("thinking"))
    signature = text_of(block.get("thinkingSignature"))
    sealed = {"encrypted": signature} if _SEALED in signature else {}
    if not text.strip():
        return {"text": ""} | sealed if sealed else {}
    return {"text": text} | sealed


def _usage(usage: dict[str, Any]) -> dict[str, Any]:
    counts: dict[str, Any] = {name: usage[key] for name, key in _COUNTS if int_or_none(usage.get(key)) is not None}
    if cost := cost_or_none(dict_of(usage.get("cost")).get("total")):
        counts["costUsd"] = cost
    return {"scope": "message"} | counts if counts else {}
