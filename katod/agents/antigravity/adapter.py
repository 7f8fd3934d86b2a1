"""Antigravity: `brain/<conversation>/.system_generated/logs/transcript_full.jsonl`, one line for each step.

Calls and results have no ids: a result belongs to the oldest open call of its kind. Times are whole seconds. The cut
form of a transcript has each argument of a call as JSON once more.
"""

import re
from pathlib import Path
from typing import Any, Final

from katod import events as ev
from katod.agents.antigravity import CUT
from katod.agents.antigravity.places import late_output, project_of, started_by
from katod.agents.base import Adapter, Described, EventBuilder, Origin, State, content_digest
from katod.agents.diffs import structured
from katod.agents.fields import dicts_of, int_or_none, text_of, texts_in
from katod.agents.spec import SPAWNED
from katod.agents.toolcalls import call_of
from katod.events import Event
from katod.model import Record, TypedText
from katod.tail.decode import loads

_PROMPT: Final = ("USER_EXPLICIT", "USER_INPUT")
_ANSWER: Final = ("MODEL", "PLANNER_RESPONSE")
# The tools whose results have a type of their own; those of all others are GENERIC.
_TOOLS: Final = {
    "RUN_COMMAND": ("run_command",), "VIEW_FILE": ("view_file",), "LIST_DIRECTORY": ("list_dir",),
    "GREP_SEARCH": ("grep_search",), "SEARCH_WEB": ("search_web",), "READ_URL_CONTENT": ("read_url_content",),
    "CODE_ACTION": ("write_to_file", "replace_file_content", "multi_replace_file_content"),
    "GENERATE_IMAGE": ("generate_image",), "ASK_QUESTION": ("ask_question",), "INVOKE_SUBAGENT": ("invoke_subagent",),
    "GENERIC": (),
}  # fmt: skip
# What only the model sees: a checkpoint quotes old prompts.
_IGNORED: Final = frozenset({"EPHEMERAL_MESSAGE", "CONVERSATION_HISTORY", "CHECKPOINT"})
_OPENING, _CLOSING = "<USER_REQUEST>\n", "\n</USER_REQUEST>"
_MODEL: Final = re.compile(r"`Model Selection` from (.{1,200}?) to (.{1,200}?)\. No need to comment")
_TIMES: Final = re.compile(r"\A(?:(?:Created|Completed) At: [^\n]*\n)+")
# What the client says around the output of a command. Only the first line of each part is indented.
_RAN: Final = re.compile(
    r"\s*The command (?:completed successfully\.|failed with exit code: (?P<code>-?[0-9]{1,15}))(?P<printed>.*)",
    re.DOTALL,
)
_LABEL: Final = re.compile(r"^\t+(?:Output|Stdout|Stderr):(?:\n\t*|\Z)", re.MULTILINE)
_DIFF: Final = re.compile(r"\[diff_block_start\]\n(.*?)\n?\[diff_block_end\]", re.DOTALL)
_CHILD: Final = re.compile(r'"conversationId":\s*"([0-9A-Za-z-]{1,64})"')
_MESSAGE: Final = re.compile(r"<SYSTEM_MESSAGE>\n(.*?)\n</SYSTEM_MESSAGE>", re.DOTALL)
_MOST_OPEN: Final = 64
Value = dict[str, Any]


class AntigravityBuilder(EventBuilder):
    """Names events by the number and the time of their step."""

    def _describe(self, record: Record, part: int | str, kind: str, payload: Value, /) -> Described:
        fields = record.value or {}
        step, time = int_or_none(fields.get("step_index")), text_of(fields.get("created_at"))
        source: Value = {"providerEventType": text_of(fields.get("type"))}
        name = f"@{record.offset}.{record.part}" if not fields else f"~{content_digest(kind, payload, time)}"
        if step is not None:
            name = f"{step}@{time}"
            source |= {"providerEventId": str(step), "messageId": name}
        source["offset"] = record.offset
        return f"{name}:{part}", f"{name}:{part}", source, time


class AntigravityAdapter(Adapter):
    """Translates the steps of one conversation."""

    def __init__(self, origin: Origin, state: State | None = None) -> None:
        state = state or {}
        ref = origin.ref._replace(parent=state.get("parent", ""))
        self.new = AntigravityBuilder(ref, now=state.get("now"))
        self.new.set_spawned(spawned=state.get("spawned", False))
        self._path = origin.path
        self._started: bool = state.get("started", False)
        self._open: list[list[str]] = state.get("open", [])  # calls without a result: id, name
        self._early: list[list[str]] = state.get("early", [])  # results that came before their call: id, kind
        self._running: list[list[int]] = state.get("running", [])  # commands that were not over: step, bytes printed

    def state(self) -> Value:
        """Return the settings so far, the open calls, the commands that run on, and who started the conversation."""
        return {
            "parent": self.new.ref.parent, "spawned": self.new.spawned, "now": self.new.now, "started": self._started,
            "open": self._open, "early": self._early, "running": self._running,
        }  # fmt: skip

    def _unhandled(self, record: Record) -> list[Event]:
        """Translate a step by where it comes from and what it is."""
        fields = record.value
        source, kind = text_of(fields.get("source")), text_of(fields.get("type"))
        if kind in _IGNORED:
            return []
        out = self._start(record) if not self._started and "step_index" in fields else []
        if (source, kind) == _PROMPT:
            self._open, self._early = [], []  # whatever was left then gets no result
            return [*out, *self._late(record), *self._prompt(record)]
        if (source, kind) == _ANSWER:
            return out + self._answer(record)
        if source == "MODEL" and kind in _TOOLS:
            return out + self._result(record, kind)
        return out + self._other(record, source, kind)

    def _start(self, record: Record) -> list[Event]:
        prompt = _typed_of(text_of(record.value.get("content")))
        time = text_of(record.value.get("created_at"))
        cwd = project_of(self._path, prompt, time)
        if parent := started_by(self._path, prompt, time):
            self.new.child_of(parent, spawned=True)
        self.new.now["cwd"] = cwd
        start = texts_in({"cwd": cwd, "parent": parent, "origin": SPAWNED if parent else ""})
        self._started = True
        return [self.new.event(ev.SESSION_START, start, record, "start")]

    # -- prompts --------------------------------------------------------------------------------------

    def _prompt(self, record: Record) -> list[Event]:
        content = text_of(record.value.get("content"))
        is_wrapped = _end_of(content) >= 0  # if not, the client wrote it in a way that is not known
        text = _typed_of(content) if is_wrapped else content
        out = [self.new.event(ev.USER_MESSAGE, {"text": text}, record, typed=is_wrapped)] if text.strip() else []
        changed = _MODEL.search(_around(content))
        return (self.new.change("model", changed[2], record, "m") if changed else []) + out

    # -- answers --------------------------------------------------------------------------------------

    def _answer(self, record: Record) -> list[Event]:
        fields, model = record.value, self.new.now.get("model", "")
        thought, said = text_of(fields.get("thinking")).strip("\n"), text_of(fields.get("content"))
        parts = ((ev.ASSISTANT_THINKING, thought, "t"), (ev.ASSISTANT_MESSAGE, said, "a"))
        out = [
            self.new.event(kind, {"text": text}, record, part, model=model)
            for kind, text, part in parts
            if text.strip()
        ]
        for n, call in enumerate(dicts_of(fields.get("tool_calls"))):
            name, given = text_of(call.get("name")), self._given(call.get("args", {}))
            call_id = self._opened(name, f"{fields.get('step_index')}.{n}")
            out.append(self.new.event(ev.TOOL_CALL, call_of(call_id, name, given, self._cwd()), record, n, model=model))
        return out

    def _opened(self, name: str, call_id: str) -> str:
        """Return the id of a call: that of its result, if this came before it."""
        early = next((result for result in self._early if _fits(result[1], name)), None)
        if early is None:
            self._open = [*self._open, [call_id, name]][-_MOST_OPEN:]
            return call_id
        self._early = [result for result in self._early if result is not early]
        return early[0]

    def _cwd(self) -> str:
        return self.new.now.get("cwd", "")

    def _given(self, given: Any) -> Any:
        """Return the arguments of a call; in a cut transcript each is JSON once more, unless it was cut inside."""
        if self._path.name != CUT or not isinstance(given, dict):
            return given
        return {name: _decoded(value) for name, value in given.items()}

    def _result(self, record: Record, kind: str) -> list[Event]:
        content = text_of(record.value.get("content"))
        text, call_id = _TIMES.sub("", content), self._call_of(kind, f"{record.value.get('step_index')}.r")
        payload: Value = {"toolCallId": call_id, "text": text}
        if record.value.get("status") == "RUNNING":
            payload["status"] = "launched"
            step = int_or_none(record.value.get("step_index"))
            self._running = [*self._running, *([[step, 0]] if step is not None else [])][-_MOST_OPEN:]
        elif record.value.get("status") == "ERROR":
            payload["isError"] = True
        elif ran := _RAN.fullmatch(text) if kind == "RUN_COMMAND" else None:
            payload |= _outcome(ran)
        elif changed := _DIFF.search(text):
            payload |= structured(changed[1])
        out = [self.new.event(ev.TOOL_RESULT, payload, record, "r")]
        children = _CHILD.findall(text) if kind == "INVOKE_SUBAGENT" else []
        return out + [self.new.event(ev.AGENT_START, {"subagent": one}, record, f"s{one}") for one in children]

    def _call_of(self, kind: str, otherwise: str) -> str:
        """Return the oldest open call with such results, and close it; without one, its call is still to come."""
        found = next((call for call in self._open if _fits(kind, call[1])), None)
        if found is None:
            self._early = [*self._early, [otherwise, kind]][-_MOST_OPEN:]
            return otherwise
        self._open = [call for call in self._open if call is not found]
        return found[0]

    # -- the client -----------------------------------------------------------------------------------

    def _other(self, record: Record, source: str, kind: str) -> list[Event]:
        if source == "SYSTEM" and kind in ("ERROR_MESSAGE", "SYSTEM_MESSAGE"):
            return [*self._late(record), self._noted(record, kind)]
        return [self.new.raw(record, f"{source}/{kind}" if source else "unknown", record.value)]

    def _noted(self, record: Record, kind: str) -> Event:
        text = text_of(record.value.get("content"))
        if kind == "ERROR_MESSAGE":
            return self.new.event(ev.ERROR, {"message": text.removeprefix("Error: ") or "error"}, record)
        inner = _MESSAGE.search(text)
        return self._system(record, inner[1] if inner else text, "notification")

    def _late(self, record: Record) -> list[Event]:
        """Return what commands printed since: it is only in files of their own."""
        printed = [(step, begin, late_output(self._path, step, begin)) for step, begin in self._running]
        self._running = [[step, begin + len(output)] for step, begin, output in printed]
        return [
            self._system(record, output.decode("utf-8", "replace"), "shell-output", f"late{step}.{begin}")
            for step, begin, output in printed
            if output
        ]

    def _system(self, record: Record, text: str, subtype: str, part: int | str = 0) -> Event:
        return self.new.event(ev.SYSTEM_MESSAGE, {"text": text, "subtype": subtype}, record, part)

    @staticmethod
    def typed_texts(fields: Value) -> list[TypedText]:
        """Return the text of a prompt, without what the client puts around it."""
        is_prompt = (fields.get("source"), fields.get("type")) == _PROMPT
        return [TypedText(text)] if is_prompt and (text := _typed_of(text_of(fields.get("content")))) else []

    @staticmethod
    def recognises(path: Path, first: Value, /) -> bool:
        """Return whether a file begins with a step."""
        return path.suffix == ".jsonl" and {"step_index", "source", "type"} <= first.keys()


def _outcome(ran: re.Match[str]) -> Value:
    """Return what a command printed, and how it ended."""
    said: Value = {"text": _LABEL.sub("", ran["printed"]).strip("\n\t")}
    return said | ({"isError": True, "exitCode": int(ran["code"])} if ran["code"] else {})


def _fits(kind: str, name: str) -> bool:
    """Return whether the results of a tool are of this kind."""
    names = _TOOLS[kind]
    return name in names if names else not any(name in known for known in _TOOLS.values())


def _end_of(content: str) -> int:
    """Return where a prompt ends: at its last closing tag before what the client adds, -1 if it has none."""
    end = content.rfind(f"{_CLOSING}\n<ADDITIONAL_METADATA>") if content.startswith(_OPENING) else -1
    return end if end >= 0 or not content.startswith(_OPENING) else content.rfind(_CLOSING)


def _typed_of(content: str) -> str:
    return content[len(_OPENING) : max(_end_of(content), 0)]


def _around(content: str) -> str:
    """Return what the client adds to a prompt."""
    return content[max(_end_of(content), 0) :]


def _decoded(value: Any) -> Any:
    try:
        return loads(value) if isinstance(value, str) else value
    except ValueError:
        return value
