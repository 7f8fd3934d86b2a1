"""OpenCode: one document per session, `{info, messages: [{info, parts}]}`, as `opencode export` prints it. The same
document is made from the database and from the older tree of JSON files.

Parts change until they settle: a part becomes an event once it is final, and nothing after it does before. The events
depend on the document alone; known ids are skipped downstream.
"""

from collections.abc import Callable, Generator, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar, Final

from katod import events as ev
from katod.agents.base import SPAWNED, Adapter, Described, EventBuilder, Origin, State
from katod.agents.diffs import created, ranges_of, structured
from katod.agents.fields import dict_of, dicts_of, int_or_none, list_of, text_of, texts_in
from katod.agents.opencode.providers import Providers
from katod.agents.toolcalls import answer_of, call_of, question_of
from katod.events import Event, SessionRef
from katod.model import Record, Typed

# Bookkeeping parts of a step.
_IGNORED: Final = frozenset({"step-start", "step-finish", "patch", "snapshot", "agent", "subtask"})
_UNFINISHED: Final = ("tool-calls", "unknown", None)
_QUESTION: Final = "question"
Value = dict[str, Any]


class Turn:
    """A prompt and its answers. In a document that begins within a turn, the first turn has no prompt.

    In OpenCode 2 the messages are in order, and each is `alone`: a prompt is stored when its turn comes.
    """

    __slots__ = ("alone", "answers", "prompt")

    def __init__(self, prompt: Value | None, *, alone: bool = False) -> None:
        self.prompt = prompt
        self.answers: list[Value] = []
        self.alone = alone

    def is_over(self) -> bool:
        """Return whether nothing more will answer the prompt, judged by the last answer."""
        if not self.answers:
            return self.alone
        last = dict_of(self.answers[-1].get("info"))
        if self.alone:
            return _has_ended(last)
        return _has_ended(last) and (last.get("finish") not in _UNFINISHED or bool(last.get("error")))


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

    def __init__(self, origin: Origin, state: State | None = None) -> None:
        state = state or {}
        self.new = OpenCodeBuilder(origin.ref._replace(parent=state.get("parent", "")))
        self._cwd: str = state.get("cwd", "")
        self._providers = Providers(state.get("providers"))
        self._document = Record(0, None)
        self._turns: list[Turn] = []
        self._created = 0.0

    def state(self) -> Value:
        """Return the parent session, the working directory and where the provider changed."""
        return {"parent": self.new.ref.parent, "cwd": self._cwd, "providers": self._providers.state()}

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
        out = [self._start(info), *self._said()]
        self.new.take_up({})
        if revert := dict_of(info.get("revert")):
            reverted = {"text": "Messages taken back", "subtype": "rollback"}
            out.append(self._event(f"revert-{text_of(revert.get('messageID'))}", ev.SYSTEM_MESSAGE, reverted))
        return out

    def _start(self, info: Value) -> Event:
        parent, self._cwd = text_of(info.get("parentID")), text_of(info.get("directory"))
        self.new.rename(text_of(info.get("id")) or self.new.ref.id)
        self.new.ref = self.new.ref._replace(parent=parent)
        payload = texts_in({
            "cwd": self._cwd, "cliVersion": info.get("version"), "parent": parent, "origin": SPAWNED if parent else "",
        })  # fmt: skip
        created = dict_of(info.get("time")).get("created")
        self._created = created if isinstance(created, int | float) else 0.0
        return self._event("start", ev.SESSION_START, payload, _iso(created))

    def _said(self, *, complete: bool = False) -> Iterator[Event]:
        """Yield the turns in the order of their prompts, up to the first part that is not final."""
        for n, turn in enumerate(self._turns):
            closed = complete or any(later.answers for later in self._turns[n + 1 :])
            done = yield from self._turn(turn, closed=closed)
            if not done:
                return

    def _turn(self, turn: Turn, *, closed: bool) -> Generator[Event, None, bool]:
        """Yield what is final in one turn; return whether all of it is."""
        if turn.prompt is not None:
            if not list_of(turn.prompt.get("parts")) and not closed:
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
        time = _iso(created)
        copied = isinstance(created, int | float) and created < self._created  # a fork has new ids, but old times
        for part in _parts(message):
            kind, native = text_of(part.get("type")), text_of(part.get("id"))
            if kind == "text":
                yield from self._typed(part, native, time, copied=copied)
            elif kind == "file":
                payload: Value = {"text": "", "attachments": [self._file(part)]}
                yield self._event(native, ev.USER_MESSAGE, payload, time)
            elif kind in self._NOTES:
                yield from self._NOTES[kind](self, part, native, time)
            elif kind not in _IGNORED:
                yield self._raw(native, part, time)

    def _compaction(self, part: Value, native: str, time: str) -> Iterator[Event]:
        trigger = {"trigger": "auto" if part.get("auto") else "manual"}
        summary = texts_in({"summary": part.get("summary")})
        yield self._event(native, ev.COMPACTION, summary or trigger, time)

    def _switched(self, part: Value, native: str, time: str) -> Iterator[Event]:
        if model := text_of(dict_of(part.get("model")).get("id")):
            yield self._event(native, ev.CONFIG_CHANGE, {"what": "model", "after": model}, time)

    def _shell(self, part: Value, native: str, time: str) -> Iterator[Event]:
        """Yield a command that the person ran, and its output."""
        said = {"text": f"! {text_of(part.get('command'))}", "subtype": "shell"}
        yield self._event(native, ev.USER_MESSAGE, said, time)
        if printed := text_of(part.get("output")):
            shown = {"text": printed, "subtype": "shell-output"}
            yield self._event(f"{native}:output", ev.SYSTEM_MESSAGE, shown, time)

    # Parts that are neither text nor a file; all but the first are of OpenCode 2.
    _NOTES: ClassVar[dict[str, Callable[["OpenCodeAdapter", Value, str, str], Iterator[Event]]]] = {
        "compaction": _compaction, "model-switched": _switched, "shell": _shell,
    }  # fmt: skip

    def _typed(self, part: Value, native: str, time: str, *, copied: bool) -> Iterator[Event]:
        text = text_of(part.get("text"))
        if part.get("synthetic") or part.get("ignored"):
            subtype = "ignored" if part.get("ignored") else "context"
            yield self._event(native, ev.SYSTEM_MESSAGE, {"text": text, "subtype": subtype}, time)
        elif text.strip():
            typed = not self.new.ref.parent and not copied
            yield self._event(native, ev.USER_MESSAGE, {"text": unquoted(text)}, time, typed=typed)

    # -- answers ------------------------------------------------------------------------------------

    def _answer(self, message: Value, *, closed: bool) -> Generator[Event, None, bool]:
        """Yield what is final in one message of the assistant; return whether all of it is."""
        info = dict_of(message.get("info"))
        self.new.take_up(info)
        if change := self._providers.change(info):
            time = _iso(dict_of(info.get("time")).get("created"))
            yield self._event(f"{text_of(info.get('id'))}:provider", ev.CONFIG_CHANGE, change, time)
        ended = closed or _has_ended(info)
        for part in _parts(message):
            done = yield from self._part(part, info, ended=ended)
            if not done:
                return False
        if ended:
            yield from self._end(info)
        return ended

    def _part(self, part: Value, info: Value, *, ended: bool) -> Generator[Event, None, bool]:
        kind, native, model = text_of(part.get("type")), text_of(part.get("id")), text_of(info.get("modelID"))
        if kind in ("text", "reasoning"):
            times = dict_of(part.get("time"))
            if not ended and "end" not in times:
                return False
            if (text := text_of(part.get("text"))).strip():
                time = _iso(times.get("start")) or _iso(dict_of(info.get("time")).get("created"))
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
        start, end = _iso(times.get("start")), _iso(times.get("end"))
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
            yield self._event(f"{native}:s", ev.AGENT_END, {"subagent": subagent, "status": text_of(status)}, end)
        return True

    def _end(self, info: Value) -> Iterator[Event]:
        native, time = text_of(info.get("id")), _iso(dict_of(info.get("time")).get("completed"))
        usage = _counts(dict_of(info.get("tokens")))
        if any(usage.values()):
            cost = info.get("cost")
            usage |= {"costUsd": cost} if isinstance(cost, int | float) and cost else {}
            model = text_of(info.get("modelID"))
            yield self._event(f"{native}:usage", ev.USAGE, {"scope": "message"} | usage, time, model)
        problem = dict_of(info.get("error"))
        if problem.get("name") == "MessageAbortedError":
            yield self._event(f"{native}:end", ev.TURN_END, {"reason": "aborted"}, time)
        elif problem:
            message = text_of(dict_of(problem.get("data")).get("message")) or "error"
            payload = {"message": message, "code": text_of(problem.get("name"))}
            yield self._event(f"{native}:end", ev.ERROR, payload, time)

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
    def typed_texts(fields: Value) -> list[Typed]:
        """Return what a person typed in a document."""
        if dict_of(fields.get("info")).get("parentID"):
            return []
        prompts = [turn.prompt for turn in turns_of(list_of(fields.get("messages"))) if turn.prompt is not None]
        parts = [part for prompt in prompts for part in _parts(prompt) if part.get("type") == "text"]
        return [Typed(unquoted(text_of(part.get("text")))) for part in parts if not part.get("synthetic")]

    @staticmethod
    def recognises(_path: Path, first: Value, /) -> bool:
        """Return whether this is the document of a session."""
        return isinstance(first.get("info"), dict) and isinstance(first.get("messages"), list)


def turns_of(messages: list[Any]) -> list[Turn]:
    """Group messages by the prompt that they answer: prompts typed while the agent works are among its answers."""
    rows = sorted(dicts_of(messages), key=_id)
    if any("seq" in dict_of(row.get("info")) for row in rows):
        return [_alone(row) for row in dicts_of(messages)]
    turns: dict[str, Turn] = {}
    for row in rows:
        info = dict_of(row.get("info"))
        if info.get("role") == "user":
            turns[_id(row)] = Turn(row)
        else:
            parent = text_of(info.get("parentID"))
            turns.setdefault(parent, Turn(None)).answers.append(row)
    return [turns[key] for key in sorted(turns)]


def _alone(row: Value) -> Turn:
    is_prompt = dict_of(row.get("info")).get("role") == "user"
    turn = Turn(row if is_prompt else None, alone=True)
    turn.answers += [] if is_prompt else [row]
    return turn


def unquoted(text: str) -> str:
    """Return a prompt without the quotes that `opencode run "a b"` stores around an argument with blanks.

    Quotes inside it are escaped with a backslash; nothing else is escaped.
    """
    inner = text.strip("\n")
    said = inner[1:-1]
    quoted = len(inner) > 2 and inner[0] == inner[-1] == '"' and '"' not in said.replace('\\"', "")
    return said.replace('\\"', '"') if quoted and any(map(str.isspace, said)) else text


def _id(row: Value) -> str:
    return text_of(dict_of(row.get("info")).get("id"))


def _parts(message: Value) -> list[Value]:
    return sorted(dicts_of(message.get("parts")), key=lambda part: text_of(part.get("id")))


def _has_ended(info: Value) -> bool:
    return "completed" in dict_of(info.get("time")) or bool(info.get("error"))


def _iso(milliseconds: Any) -> str:
    if not isinstance(milliseconds, int | float):
        return ""
    try:
        moment = datetime.fromtimestamp(milliseconds / 1000, UTC)
    except (OverflowError, OSError, ValueError):
        return ""
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _outcome(state: Value, call: str) -> Value:
    status, times, kept = state.get("status"), dict_of(state.get("time")), dict_of(state.get("metadata"))
    text = text_of(state.get("output")) or text_of(state.get("error")) or text_of(kept.get("output"))
    row: Value = {"toolCallId": call, "text": text}
    if status == "error":
        row["isError"] = True
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
    return {name: count for name, count in counts.items() if isinstance(count, int)}


def _questions(name: str, given: Value, call: str) -> list[Value]:
    rows = [dict_of(row) for row in list_of(given.get("questions"))] if name == _QUESTION else []
    return [_question(row, f"{call}:{i}") for i, row in enumerate(rows)]


def _question(row: Value, decision: str) -> Value:
    header, prompt = text_of(row.get("header")), text_of(row.get("question"))
    return question_of(decision, header, prompt, row.get("options"), several=bool(row.get("multiple")))


def _answers(state: Value, asked: list[Value]) -> Iterator[Value]:
    """Yield the answers: for each question, a list of labels or of the person's own texts."""
    answers = list_of(dict_of(state.get("metadata")).get("answers"))
    for question, answer in zip(asked, answers, strict=False):
        yield answer_of(question, [str(part) for part in answer] if isinstance(answer, list) else [str(answer)])
