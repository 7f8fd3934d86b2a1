"""OpenCode: one document per session, `{info, messages: [{info, parts}]}`, as `opencode export` prints it. The same
document is made from the database and from the older tree of JSON files.

Parts change until they settle: a part becomes an event once it is final, and nothing after it does before. The events
depend on the document alone; known ids are skipped downstream.
"""

from collections import Counter
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any, ClassVar, Final

from katod import events as ev
from katod.agents.base import Adapter, Described, EventBuilder, Origin, State
from katod.agents.diffs import created, ranges_of, structured
from katod.agents.fields import (
    cost_or_none,
    dict_of,
    dicts_of,
    digest,
    int_or_none,
    iso_time,
    list_of,
    safe_repr,
    text_of,
    texts_in,
)
from katod.agents.opencode.providers import Providers
from katod.agents.opencode.turns import PromptTurn, has_ended, is_own, message_id, parts_of, turns_of, was_stopped
from katod.agents.spec import SPAWNED
from katod.agents.toolcalls import answer_of, call_of, question_of
from katod.events import Event, SessionRef
from katod.model import Record, TypedText

# Bookkeeping parts of a step.
_IGNORED: Final = frozenset({"step-start", "step-finish", "patch", "snapshot", "agent", "subtask"})
_QUESTION: Final = "question"
# How the error of a call begins that the user refused. A rule that forbids a call is no person.
_REFUSED: Final = ("The user rejected permission to use ", "The user dismissed this question")
Value = dict[str, Any]


class OpenCodeBuilder(EventBuilder):
    """Names events by the id of their message or part, which is the `part` of an event here."""

    def __init__(self, ref: SessionRef) -> None:
        super().__init__(ref)
        self._ids: Value = {}

    def take_up(self, info: Value) -> None:
        """Set the message that the next events belong to."""
        self._ids = texts_in({"messageId": info.get("id"), "parentId": info.get("parentID")})

    def _describe(self, record: Record, part: int | str, kind: str, _payload: Value, /) -> Described:
        name = part if isinstance(part, str) else f"@{record.offset}.{record.part}"
        source = {"providerEventType": kind, "providerEventId": name, **self._ids, "offset": record.offset}
        return name, name, source, ""


class OpenCodeAdapter(Adapter):
    """Translates the document of one OpenCode session, complete or from some message on."""

    new: OpenCodeBuilder
    finish_keeps_ids = True

    def __init__(self, origin: Origin, state: State | None = None) -> None:
        state = state or {}
        self.new = OpenCodeBuilder(origin.ref._replace(parent=state.get("parent", "")))
        self._cwd: str = state.get("cwd", "")
        self._providers = Providers(state.get("providers"))
        self._document = Record(0, None)
        self._turns: list[PromptTurn] = []
        self._created = 0.0

    def state(self) -> Value:
        """Return the parent session, the working directory and where the provider changed."""
        return {"parent": self.new.ref.parent, "cwd": self._cwd, "providers": self._providers.state()}

    def feed_usage(self, record: Record) -> list[Event]:
        """Return the start of a session and what its answers used, final or not."""
        self._document, info, messages = record, dict_of(record.value.get("info")), record.value.get("messages")
        if not info or not isinstance(messages, list):
            return []
        answers = [dict_of(message.get("info")) for turn in turns_of(messages) for message in turn.answers]
        return [self._start(info), *(event for answer in answers for event in self._used(answer))]

    def finish(self) -> list[Event]:
        """Return everything in the document, final or not; known ids are skipped downstream."""
        return list(self._said(complete=True))

    def _unhandled(self, record: Record) -> list[Event]:
        """Translate a document as far as it is final."""
        self._document, fields = record, record.value
        self.new.take_up({})
        info = dict_of(fields.get("info"))
        if not info or not isinstance(fields.get("messages"), list):
            return [self.new.raw(record, "unknown", record.value)]
        self._turns = turns_of(fields["messages"])
        out = [self._start(info), *self._repeated(fields["messages"])]
        said = list(self._said())
        self._note_messages(record, said)
        out += said
        self.new.take_up({})
        if revert := dict_of(info.get("revert")):
            reverted = {"text": "Messages taken back", "subtype": "revert"}
            out.append(self._event(f"revert-{text_of(revert.get('messageID'))}", ev.SYSTEM_MESSAGE, reverted))
        return out

    def name(self, record: Record) -> str:
        """Return whose message it is."""
        return text_of(dict_of(record.value.get("info")).get("role"))

    def _note_messages(self, record: Record, said: list[Event]) -> None:
        """Note the messages up to the last one that has events: what follows it may not be final."""
        events: dict[str, list[Event]] = {}
        for event in said:
            events.setdefault(event.source.get("messageId", ""), []).append(event)
        messages = [message for turn in self._turns for message in turn.messages()]
        while messages and message_id(messages[-1]) not in events:
            messages.pop()
        for message in messages:
            self._note_part(record._replace(value=message), events.pop(message_id(message), ()))

    def _start(self, info: Value) -> Event:
        parent, self._cwd = text_of(info.get("parentID")), text_of(info.get("directory"))
        self.new.rename(text_of(info.get("id")) or self.new.ref.id)
        self.new.child_of(parent, spawned=bool(parent))
        payload = texts_in({
            "cwd": self._cwd, "cliVersion": info.get("version"), "parent": parent, "origin": SPAWNED if parent else "",
        })  # fmt: skip
        created = dict_of(info.get("time")).get("created")
        self._created = created if isinstance(created, int | float) else 0.0
        return self._event("start", ev.SESSION_START, payload, iso_time(created))

    def _repeated(self, messages: list[Any]) -> Iterator[Event]:
        """Yield a note if ids repeat, as in an export whose ids were replaced: an id is said once."""
        rows = dicts_of(messages)
        prompts = Counter(message_id(row) for row in rows if dict_of(row.get("info")).get("role") == "user")
        parts = Counter(text_of(part.get("id")) for row in rows for part in dicts_of(row.get("parts")))
        if count := prompts.total() - len(prompts) + parts.total() - len(parts):
            text = f"Left out: {count} messages and parts with the id of an earlier one"
            yield self._event("repeated", ev.SYSTEM_MESSAGE, {"text": text, "subtype": "incomplete"})

    def _said(self, *, complete: bool = False) -> Iterator[Event]:
        """Yield the turns in the order of their prompts, up to the first part that is not final."""
        for n, turn in enumerate(self._turns):
            closed = complete or any(later.answers for later in self._turns[n + 1 :])
            done = yield from self._turn(turn, closed=closed)
            if not done:
                return

    def _turn(self, turn: PromptTurn, *, closed: bool) -> Generator[Event, None, bool]:
        """Yield what is final in one turn; return whether all of it is."""
        if turn.is_shell:
            return (yield from self._ran(turn, closed=closed))
        if turn.prompt is not None:
            if not turn.is_whole() and not closed:
                return False
            yield from self._prompt(turn.prompt)
        for message in turn.answers:
            done = yield from self._answer(message, closed=closed)
            if not done:
                return False
        return closed or turn.is_over()

    # -- prompts ------------------------------------------------------------------------------------

    def _prompt(self, message: Value) -> Iterator[Event]:
        info = dict_of(message.get("info"))
        self.new.take_up(info)
        created = dict_of(info.get("time")).get("created")
        time = iso_time(created)
        copied = isinstance(created, int | float) and created < self._created  # a fork has new ids, but old times
        parts = parts_of(message)
        files = [part for part in parts if part.get("type") == "file"]
        holder = next(filter(is_own, parts), files[0] if files else None)
        for part in parts:
            attached = [self._file(file) for file in files] if part is holder else []
            yield from self._prompted(part, time, attached, copied=copied)

    def _prompted(self, part: Value, time: str, attached: list[Value], *, copied: bool) -> Iterator[Event]:
        """Yield one part of a prompt; the files of a message are those of its first words."""
        kind, native = text_of(part.get("type")), text_of(part.get("id"))
        if kind == "text":
            yield from self._typed(part, native, time, attached, copied=copied)
        elif kind in self._NOTES:
            yield from self._NOTES[kind](self, part, native, time)
        elif attached:
            yield self._event(native, ev.USER_MESSAGE, {"text": "", "attachments": attached}, time)
        elif kind not in _IGNORED and kind != "file":
            yield self._raw(native, part, time)

    def _ran(self, turn: PromptTurn, *, closed: bool) -> Generator[Event, None, bool]:
        """Yield the commands that the user ran, with what they printed; return whether all have ended."""
        ended = closed
        for message in turn.answers:
            info = dict_of(message.get("info"))
            self.new.take_up(info)
            ended = closed or has_ended(info)
            for part in parts_of(message):
                if part.get("type") == "tool":
                    yield from self._command(part, ended=ended)
        return ended

    def _command(self, part: Value, *, ended: bool) -> Iterator[Event]:
        state, native = dict_of(part.get("state")), text_of(part.get("id"))
        times = dict_of(state.get("time"))
        command = text_of(dict_of(state.get("input")).get("command"))
        if not command and not ended:
            return  # its arguments are still to come
        said = {"text": f"! {command}", "subtype": "shell"}
        yield self._event(f"{native}:call", ev.USER_MESSAGE, said, iso_time(times.get("start")))
        printed = text_of(state.get("output")) or text_of(state.get("error"))
        if ended and printed.strip():
            shown = {"text": printed, "subtype": "shell-output"}
            yield self._event(f"{native}:result", ev.SYSTEM_MESSAGE, shown, iso_time(times.get("end")))

    def _compaction(self, part: Value, native: str, time: str) -> Iterator[Event]:
        trigger = {"trigger": "auto" if part.get("auto") else "manual"}
        summary = texts_in({"summary": part.get("summary")})
        yield self._event(native, ev.COMPACTION, summary or trigger, time)

    def _switched(self, part: Value, native: str, time: str) -> Iterator[Event]:
        if model := text_of(dict_of(part.get("model")).get("id")):
            yield self._event(native, ev.CONFIG_CHANGE, {"what": "model", "after": model}, time)

    def _shell(self, part: Value, native: str, time: str) -> Iterator[Event]:
        """Yield a command that the user ran, and its output."""
        said = {"text": f"! {text_of(part.get('command'))}", "subtype": "shell"}
        yield self._event(native, ev.USER_MESSAGE, said, time)
        if printed := text_of(part.get("output")):
            shown = {"text": printed, "subtype": "shell-output"}
            yield self._event(f"{native}:output", ev.SYSTEM_MESSAGE, shown, time)

    # Parts that are neither text nor a file; all but the first are of OpenCode 2.
    _NOTES: ClassVar[dict[str, Callable[["OpenCodeAdapter", Value, str, str], Iterator[Event]]]] = {
        "compaction": _compaction, "model-switched": _switched, "shell": _shell,
    }  # fmt: skip

    def _typed(self, part: Value, native: str, time: str, attached: list[Value], *, copied: bool) -> Iterator[Event]:
        text = text_of(part.get("text"))
        if part.get("synthetic") or part.get("ignored"):
            subtype = "ignored" if part.get("ignored") else "context"
            yield self._event(native, ev.SYSTEM_MESSAGE, {"text": text, "subtype": subtype}, time)
        elif text.strip():
            typed = not self.new.ref.parent and not copied
            said: Value = {"text": unquoted(text)} | ({"attachments": attached} if attached else {})
            yield self._event(native, ev.USER_MESSAGE, said, time, typed=typed)

    # -- answers ------------------------------------------------------------------------------------

    def _answer(self, message: Value, *, closed: bool) -> Generator[Event, None, bool]:
        """Yield what is final in one message of the assistant; return whether all of it is."""
        info = dict_of(message.get("info"))
        self.new.take_up(info)
        if change := self._providers.change(info):
            time = iso_time(dict_of(info.get("time")).get("created"))
            yield self._event(f"{text_of(info.get('id'))}:provider", ev.CONFIG_CHANGE, change, time)
        ended = closed or has_ended(info)
        for part in parts_of(message):
            done = yield from self._part(part, info, ended=ended)
            if not done:
                return False
        if ended:
            yield from self._end(info, stopped=was_stopped(message))
        return ended

    def _part(self, part: Value, info: Value, *, ended: bool) -> Generator[Event, None, bool]:
        kind, native, model = text_of(part.get("type")), text_of(part.get("id")), text_of(info.get("modelID"))
        if kind in ("text", "reasoning"):
            times = dict_of(part.get("time"))
            if not ended and "end" not in times:
                return False
            if (text := text_of(part.get("text"))).strip():
                time = iso_time(times.get("start")) or iso_time(dict_of(info.get("time")).get("created"))
                yield self._words(native, kind, text, info, time)
            return True
        if kind == "tool":
            return (yield from self._tool(part, native, model, ended=ended))
        if kind == "retry":
            problem = dict_of(dict_of(part.get("error")).get("data")).get("message")
            yield self._event(native, ev.ERROR, {"message": text_of(problem) or "error", "retry": {}})
        elif kind not in _IGNORED:
            yield self._raw(native, part)
        return True

    def _words(self, native: str, kind: str, text: str, info: Value, time: str) -> Event:
        if kind == "text" and info.get("summary"):
            return self._event(native, ev.SYSTEM_MESSAGE, {"text": text, "subtype": "compact-summary"}, time)
        said = ev.ASSISTANT_MESSAGE if kind == "text" else ev.ASSISTANT_THINKING
        return self._event(native, said, {"text": text}, time, text_of(info.get("modelID")))

    def _tool(self, part: Value, native: str, model: str, *, ended: bool) -> Generator[Event, None, bool]:
        """Yield a call once its arguments are complete, its result once it has ended, even if it was aborted."""
        state, call, name = dict_of(part.get("state")), text_of(part.get("callID")), text_of(part.get("tool"))
        status, given, times = state.get("status"), state.get("input"), dict_of(state.get("time"))
        if status == "pending":  # its arguments never arrived
            return ended
        start, end = iso_time(times.get("start")), iso_time(times.get("end"))
        yield self._event(f"{native}:call", ev.TOOL_CALL, call_of(call, name, given, self._cwd), start, model)
        asked = _questions(name, dict_of(given), call)
        for i, question in enumerate(asked):
            yield self._event(f"{native}:q{i}", ev.DECISION_PROMPT, question, start, model)
        if status not in ("completed", "error") and not ended:
            return False
        payload = _outcome(state, call)
        if files := [self._file(row) for row in dicts_of(state.get("attachments"))]:
            payload["attachments"] = files
        yield self._event(f"{native}:result", ev.TOOL_RESULT, payload, end)
        for i, answer in enumerate(_answers(state, asked)):
            yield self._event(f"{native}:a{i}", ev.DECISION_RESPONSE, answer, end)
        if subagent := text_of(dict_of(state.get("metadata")).get("sessionId")):
            row = {"subagent": subagent, "status": text_of(status)}
            event = self._event(f"{native}:s", ev.AGENT_END, row, end)
            # Of the record of its result, so that both are known to say the same end.
            yield event._replace(source=event.source | {"providerEventId": f"{native}:result"})
        return True

    def _end(self, info: Value, *, stopped: bool) -> Iterator[Event]:
        yield from self._used(info)
        native, time = text_of(info.get("id")), iso_time(dict_of(info.get("time")).get("completed"))
        problem = dict_of(info.get("error"))
        if problem.get("name") == "MessageAbortedError" or (stopped and not problem):
            yield self._event(f"{native}:end", ev.TURN_END, {"reason": "aborted"}, time)
        elif problem:
            data = dict_of(problem.get("data"))
            payload: Value = {"message": text_of(data.get("message")) or "error", "code": text_of(problem.get("name"))}
            if isinstance(status := data.get("statusCode"), int):
                payload["httpStatus"] = status
            yield self._event(f"{native}:end", ev.ERROR, payload, time)

    def _used(self, info: Value) -> list[Event]:
        usage = _counts(dict_of(info.get("tokens")))
        if not any(usage.values()):
            return []
        cost, model = cost_or_none(info.get("cost")), text_of(info.get("modelID"))
        time = iso_time(dict_of(info.get("time")).get("completed"))
        usage |= {"costUsd": cost} if cost else {}
        event = self._event(f"{text_of(info.get('id'))}:usage", ev.USAGE, {"scope": "message"} | usage, time, model)
        # A fork copies messages under new ids, with their times.
        return [event._replace(dedup_key=f"{event.session.agent}:~{digest(time, model, safe_repr(usage))}")]

    # -- shared helpers -----------------------------------------------------------------------------

    def _file(self, part: Value) -> Value:
        media, name, url = (text_of(part.get(key)) for key in ("mime", "filename", "url"))
        kind = "image" if media.startswith("image/") else "file"
        if url.startswith("data:"):
            return self.new.attachment(kind, media, url.partition(",")[2], name)
        return {"type": kind} | ({"mediaType": media} if media else {}) | ({"name": name} if name else {})

    def _raw(self, native: str, part: Value, time: str = "") -> Event:
        payload = {"rawType": f"part/{text_of(part.get('type'))}", "raw": part}
        return self._event(native, ev.PROVIDER_RAW, payload, time)

    def _event(
        self, native: str, kind: str, payload: Value, time: str = "", model: str = "", *, typed: bool = False
    ) -> Event:
        return self.new.event(kind, payload, self._document, native, time=time, model=model, typed=typed)

    @staticmethod
    def typed_texts(fields: Value) -> list[TypedText]:
        """Return the typed texts of a document."""
        if dict_of(fields.get("info")).get("parentID"):
            return []
        prompts = [turn.prompt for turn in turns_of(list_of(fields.get("messages"))) if turn.prompt is not None]
        parts = [part for prompt in prompts for part in parts_of(prompt) if part.get("type") == "text"]
        return [TypedText(unquoted(text_of(part.get("text")))) for part in parts if not part.get("synthetic")]

    @staticmethod
    def recognises(_path: Path, first: Value, /) -> bool:
        """Return whether this is the document of a session."""
        return isinstance(first.get("info"), dict) and isinstance(first.get("messages"), list)


def unquoted(text: str) -> str:
    """Return a prompt without the quotes that `opencode run "a b"` stores around an argument with blanks.

    Quotes inside it are escaped with a backslash; nothing else is escaped.
    """
    inner = text.strip("\n")
    said = inner[1:-1]
    quoted = len(inner) > 2 and inner[0] == inner[-1] == '"' and '"' not in said.replace('\\"', "")
    return said.replace('\\"', '"') if quoted and any(map(str.isspace, said)) else text


def _outcome(state: Value, call: str) -> Value:
    status, times, kept = state.get("status"), dict_of(state.get("time")), dict_of(state.get("metadata"))
    text = text_of(state.get("output")) or text_of(state.get("error")) or text_of(kept.get("output"))
    row: Value = {"toolCallId": call, "text": text}
    if status == "error":
        row["isError"] = True
        if text.startswith(_REFUSED):
            row["denied"] = True
    elif status != "completed":
        row["status"] = "interrupted"
    if isinstance(code := kept.get("exit"), int):
        row["exitCode"] = code
        if code:
            row["isError"] = True
    start, end = times.get("start"), times.get("end")
    if isinstance(start, int) and isinstance(end, int):
        row["durationMs"] = end - start
    return row | _files(kept, dict_of(state.get("input")))


def _files(kept: Value, given: Value) -> Value:
    """Return which files an edit changed: by their counts, the diff of all of them, or the content of a new one."""
    path, content = text_of(kept.get("filepath")), given.get("content")
    if path and kept.get("exists") is False and isinstance(content, str):
        return {"structured": {"files": [created(path, content)]}}
    file = dict_of(kept.get("filediff"))
    added, removed = (int_or_none(file.get(key)) for key in ("additions", "deletions"))
    if added is None or removed is None:
        return structured(text_of(kept.get("diff")))
    row = {"path": text_of(file.get("file")), "change": "update", "added": added, "removed": removed}
    return {"structured": {"files": [row | ranges_of(text_of(file.get("patch")))]}}


def _counts(tokens: Value) -> Value:
    cache = dict_of(tokens.get("cache"))
    counts = {
        "input": tokens.get("input"), "output": tokens.get("output"), "cacheRead": cache.get("read"),
        "cacheWrite": cache.get("write"), "reasoning": tokens.get("reasoning"), "total": tokens.get("total"),
    }  # fmt: skip
    return {name: count for name, count in counts.items() if int_or_none(count) is not None}


def _questions(name: str, given: Value, call: str) -> list[Value]:
    rows = [dict_of(row) for row in list_of(given.get("questions"))] if name == _QUESTION else []
    return [_question(row, f"{call}:{i}") for i, row in enumerate(rows)]


def _question(row: Value, decision: str) -> Value:
    header, prompt = text_of(row.get("header")), text_of(row.get("question"))
    return question_of(decision, header, prompt, row.get("options"), several=bool(row.get("multiple")))


def _answers(state: Value, asked: list[Value]) -> Iterator[Value]:
    """Yield the answers: for each question, a list of labels or of the user's own texts."""
    answers = list_of(dict_of(state.get("metadata")).get("answers"))
    for question, answer in zip(asked, answers, strict=False):
        yield answer_of(question, [str(part) for part in answer] if isinstance(answer, list) else [str(answer)])
