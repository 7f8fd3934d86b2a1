"""OpenCode: one document a session, `{info, messages: [{info, parts}]}`, as `opencode export` prints it (format
notes, section 2). The tail makes the same document from the database and from the older tree of JSON files.

Parts change until they settle, so a part is told when it is final and nothing behind it is told before. What is
told depends on the document alone; the pipeline passes over the ids that it knows.
"""

from collections.abc import Generator, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar, Final

from katod import events as ev
from katod.agents.protocol import SPAWNED, Immediate, Origin, attachment, dict_of, list_of, text_of
from katod.agents.tools import answer_of, call_of, question_of
from katod.events import Event
from katod.model import Record

# Parts that keep the books of a step.
LEFT_OUT: Final = frozenset({"step-start", "step-finish", "patch", "snapshot", "agent", "subtask"})
_GOING_ON: Final = ("tool-calls", "unknown", None)
_QUESTION: Final = "question"
Value = dict[str, Any]


class Turn:
    """A prompt and what answers it. A document that begins within a turn has one without its prompt."""

    __slots__ = ("answers", "prompt")

    def __init__(self, prompt: Value | None) -> None:
        self.prompt = prompt
        self.answers: list[Value] = []

    def is_over(self) -> bool:
        """Say whether nothing more will answer the prompt, by what its last answer says."""
        if not self.answers:
            return False
        last = dict_of(self.answers[-1].get("info"))
        return _has_ended(last) and (last.get("finish") not in _GOING_ON or bool(last.get("error")))


class OpenCode(Immediate):
    """Translates the document of one OpenCode session, whole or from some message on."""

    agent: ClassVar[str] = "opencode"
    version: ClassVar[int] = 1
    native_ids: ClassVar[bool] = True
    exact_times: ClassVar[bool] = True

    def __init__(self, origin: Origin, state: Value | None = None) -> None:
        state = state or {}
        self._ref = origin.ref._replace(parent=state.get("parent", ""))
        self._cwd: str = state.get("cwd", "")
        self._offset = 0
        self._turns: list[Turn] = []
        self._created = 0.0

    def state(self) -> Value:
        """Return the parent session and the place."""
        return {"parent": self._ref.parent, "cwd": self._cwd}

    def finish(self) -> list[Event]:
        """Return all that the document holds, final or not; what was told before is known by its id."""
        return list(self._said(complete=True))

    def feed(self, record: Record) -> list[Event]:
        """Translate a document as far as it is final."""
        value, self._offset = record.value, record.offset
        if value is None:
            return [self._event(f"@{record.offset}.{record.part}", ev.PROVIDER_RAW, _raw(record.problem, record.raw))]
        info = dict_of(value.get("info"))
        if not info or not isinstance(value.get("messages"), list):
            return [self._event(f"@{record.offset}.{record.part}", ev.PROVIDER_RAW, _raw("unknown", value))]
        self._turns = turns_of(value["messages"])
        out = [self._start(info), *self._said()]
        if revert := dict_of(info.get("revert")):
            taken_back = {"text": "Messages taken back", "subtype": "rollback"}
            out.append(self._event(f"revert-{text_of(revert.get('messageID'))}", ev.SYSTEM_MESSAGE, taken_back))
        return out

    def _start(self, info: Value) -> Event:
        parent, self._cwd = text_of(info.get("parentID")), text_of(info.get("directory"))
        self._ref = self._ref._replace(id=text_of(info.get("id")) or self._ref.id, parent=parent)
        given = {
            "cwd": self._cwd, "cliVersion": info.get("version"), "parent": parent, "origin": SPAWNED if parent else "",
        }  # fmt: skip
        payload = {name: text for name, text in given.items() if isinstance(text, str) and text}
        created = dict_of(info.get("time")).get("created")
        self._created = created if isinstance(created, int | float) else 0.0
        return self._event("start", ev.SESSION_START, payload, _iso(created))

    def _said(self, *, complete: bool = False) -> Iterator[Event]:
        """Yield the turns in the order of their prompts, up to the first thing that is not final."""
        for n, turn in enumerate(self._turns):
            closed = complete or any(later.answers for later in self._turns[n + 1 :])
            if turn.prompt is not None:
                if not list_of(turn.prompt.get("parts")) and not closed:
                    return
                yield from self._prompt(turn.prompt)
            for message in turn.answers:
                done = yield from self._answer(message, closed=closed)
                if not done:
                    return
            if not closed and not turn.is_over():
                return

    # -- prompts ------------------------------------------------------------------------------------

    def _prompt(self, message: Value) -> Iterator[Event]:
        created = dict_of(dict_of(message.get("info")).get("time")).get("created")
        time = _iso(created)
        copied = isinstance(created, int | float) and created < self._created  # a fork gives new ids, and old times
        for part in _parts(message):
            kind, native = text_of(part.get("type")), text_of(part.get("id"))
            if kind == "text":
                yield from self._typed(part, native, time, copied=copied)
            elif kind == "file":
                row, blobs = _file(part)
                event = self._event(native, ev.USER_MESSAGE, {"text": "", "attachments": [row]}, time)
                yield event._replace(blobs=blobs)
            elif kind == "compaction":
                payload = {"trigger": "auto" if part.get("auto") else "manual"}
                yield self._event(native, ev.COMPACTION, payload, time)
            elif kind not in LEFT_OUT:
                yield self._event(native, ev.PROVIDER_RAW, _raw(f"part/{kind}", part), time)

    def _typed(self, part: Value, native: str, time: str, *, copied: bool) -> Iterator[Event]:
        text = text_of(part.get("text"))
        if part.get("synthetic") or part.get("ignored"):
            subtype = "ignored" if part.get("ignored") else "context"
            yield self._event(native, ev.SYSTEM_MESSAGE, {"text": text, "subtype": subtype}, time)
        elif text.strip():
            event = self._event(native, ev.USER_MESSAGE, {"text": unquoted(text)}, time)
            yield event._replace(typed=not self._ref.parent and not copied)

    # -- answers ------------------------------------------------------------------------------------

    def _answer(self, message: Value, *, closed: bool) -> Generator[Event, None, bool]:
        """Yield what is final of one message of the assistant; returns whether all of it is."""
        info = dict_of(message.get("info"))
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
        elif kind not in LEFT_OUT:
            yield self._event(native, ev.PROVIDER_RAW, _raw(f"part/{kind}", part))
        return True

    def _words(self, native: str, kind: str, text: str, info: Value, time: str) -> Event:
        if kind == "text" and info.get("summary"):
            return self._event(native, ev.SYSTEM_MESSAGE, {"text": text, "subtype": "compact-summary"}, time)
        said = ev.ASSISTANT_MESSAGE if kind == "text" else ev.ASSISTANT_THINKING
        return self._event(native, said, {"text": text}, time, text_of(info.get("modelID")))

    def _tool(self, part: Value, native: str, model: str, *, ended: bool) -> Generator[Event, None, bool]:
        """Yield a call once its arguments are whole, its result once it has ended; an aborted one ends so."""
        state, call, name = dict_of(part.get("state")), text_of(part.get("callID")), text_of(part.get("tool"))
        status, given, times = state.get("status"), state.get("input"), dict_of(state.get("time"))
        if status == "pending":  # its arguments never came
            return ended
        payload = call_of(call, name, given, self._cwd)
        yield self._event(f"{native}:call", ev.TOOL_CALL, payload, _iso(times.get("start")), model)
        asked = _questions(name, dict_of(given), call)
        for i, question in enumerate(asked):
            yield self._event(f"{native}:q{i}", ev.DECISION_PROMPT, question, _iso(times.get("start")), model)
        if status not in ("completed", "error") and not ended:
            return False
        result = self._event(f"{native}:result", ev.TOOL_RESULT, _outcome(state, call), _iso(times.get("end")))
        row, blobs = _files(state)
        yield result._replace(payload=result.payload | row, blobs=blobs)
        for i, answer in enumerate(_answers(state, asked)):
            yield self._event(f"{native}:a{i}", ev.DECISION_RESPONSE, answer, _iso(times.get("end")))
        return True

    def _end(self, info: Value) -> Iterator[Event]:
        native, tokens = text_of(info.get("id")), dict_of(info.get("tokens"))
        time, cache = _iso(dict_of(info.get("time")).get("completed")), dict_of(tokens.get("cache"))
        counts = {
            "input": tokens.get("input"), "output": tokens.get("output"), "cacheRead": cache.get("read"),
            "cacheWrite": cache.get("write"), "reasoning": tokens.get("reasoning"),
        }  # fmt: skip
        usage: Value = {name: count for name, count in counts.items() if isinstance(count, int)}
        if any(usage.values()):
            cost = info.get("cost")
            usage |= {"costUsd": cost} if isinstance(cost, int | float) and cost else {}
            yield self._event(
                f"{native}:usage", ev.USAGE, {"scope": "message"} | usage, time, text_of(info.get("modelID"))
            )
        problem = dict_of(info.get("error"))
        if problem.get("name") == "MessageAbortedError":
            yield self._event(f"{native}:end", ev.TURN_END, {"reason": "aborted"}, time)
        elif problem:
            message = text_of(dict_of(problem.get("data")).get("message")) or "error"
            yield self._event(
                f"{native}:end", ev.ERROR, {"message": message, "code": text_of(problem.get("name"))}, time
            )

    def _event(self, native: str, kind: str, payload: Value, time: str = "", model: str = "") -> Event:
        source = {"providerEventType": kind, "providerEventId": native, "offset": self._offset}
        once = f"opencode:{self._ref.id}:{native}"
        return Event(once, kind, self._ref, payload, source, time, "recorded" if time else "", "", model, once)

    @staticmethod
    def typed_texts(value: Value) -> list[str]:
        """Return what a person typed in a document."""
        if dict_of(value.get("info")).get("parentID"):
            return []
        prompts = [turn.prompt for turn in turns_of(list_of(value.get("messages"))) if turn.prompt is not None]
        parts = [part for prompt in prompts for part in _parts(prompt) if part.get("type") == "text"]
        return [unquoted(text_of(part.get("text"))) for part in parts if not part.get("synthetic")]

    @staticmethod
    def recognises(path: Path, first: Value) -> bool:  # noqa: ARG004 - the record alone tells
        """Say whether this is the document of a session."""
        return isinstance(first.get("info"), dict) and isinstance(first.get("messages"), list)


def turns_of(messages: list[Any]) -> list[Turn]:
    """Group messages by the prompt that they answer: prompts typed while the agent works stand among its answers."""
    rows = sorted((row for row in messages if isinstance(row, dict)), key=_id)
    turns: dict[str, Turn] = {}
    for row in rows:
        info = dict_of(row.get("info"))
        if info.get("role") == "user":
            turns[_id(row)] = Turn(row)
        else:
            parent = text_of(info.get("parentID"))
            turns.setdefault(parent, Turn(None)).answers.append(row)
    return [turns[key] for key in sorted(turns)]


def unquoted(text: str) -> str:
    """Return a prompt without the quotes that `opencode run "a b"` stores around an argument with blanks.

    Those within it have a backslash before them; nothing else is escaped.
    """
    inner = text.strip("\n")
    said = inner[1:-1]
    quoted = len(inner) > 2 and inner[0] == inner[-1] == '"' and '"' not in said.replace('\\"', "")
    return said.replace('\\"', '"') if quoted and any(map(str.isspace, said)) else text


def _id(row: Value) -> str:
    return text_of(dict_of(row.get("info")).get("id"))


def _parts(message: Value) -> list[Value]:
    rows = [part for part in list_of(message.get("parts")) if isinstance(part, dict)]
    return sorted(rows, key=lambda part: text_of(part.get("id")))


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


def _raw(raw_type: str, raw: Any) -> Value:
    return {"rawType": raw_type, "raw": raw}


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
    return row


def _file(part: Value) -> tuple[Value, tuple[tuple[str, str, str], ...]]:
    media, name, url = (text_of(part.get(key)) for key in ("mime", "filename", "url"))
    kind = "image" if media.startswith("image/") else "file"
    if url.startswith("data:"):
        data = url.partition(",")[2]
        row = attachment(kind, media, data, name)
        return row, ((row["sha256"], media, data),)
    return {"type": kind} | ({"mediaType": media} if media else {}) | ({"name": name} if name else {}), ()


def _files(state: Value) -> tuple[Value, tuple[tuple[str, str, str], ...]]:
    found = [_file(row) for row in list_of(state.get("attachments")) if isinstance(row, dict)]
    rows = {"attachments": [row for row, _ in found]} if found else {}
    return rows, tuple(blob for _, blobs in found for blob in blobs)


def _questions(name: str, given: Value, call: str) -> list[Value]:
    rows = [dict_of(row) for row in list_of(given.get("questions"))] if name == _QUESTION else []
    return [_question(row, f"{call}:{i}") for i, row in enumerate(rows)]


def _question(row: Value, decision: str) -> Value:
    header, prompt = text_of(row.get("header")), text_of(row.get("question"))
    return question_of(decision, header, prompt, row.get("options"), several=bool(row.get("multiple")))


def _answers(state: Value, asked: list[Value]) -> Iterator[Value]:
    """Yield the answers: a list of labels, or of the person's own words, for each question."""
    answers = list_of(dict_of(state.get("metadata")).get("answers"))
    for question, answer in zip(asked, answers, strict=False):
        yield answer_of(question, [str(part) for part in answer] if isinstance(answer, list) else [str(answer)])
