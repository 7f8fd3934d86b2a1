"""The fields of OpenCode: sessions, messages and parts as objects, one after another."""

from typing import Any, Final

from tests.formats.native.finding import Field, Session
from tests.formats.native.sections import ADDED, BLOCKS, DROPPED, RENAMED, SAME, SPLIT

_MADE_BY: Final = "session.agent-meta.model-id, reasoning model-id, assistant model-id, tool-call model-id"
_SESSION: Final = "ses_needle"
_TOKENS: Final = {"input": 70001, "output": 70002, "reasoning": 70003, "cache": {"read": 70004, "write": 70005}}


def _at(hour: int, minute: int) -> int:
    return 1770681600000 + (hour * 60 + minute) * 60_000  # 2026-02-10


def _part(number: int, message: str, kind: str, **data: Any) -> dict[str, Any]:
    return {"id": f"prt_{number}", "sessionID": _SESSION, "messageID": message, "type": kind} | data


def _message(name: str, role: str, **data: Any) -> dict[str, Any]:
    return {"id": name, "sessionID": _SESSION, "role": role, "time": {"created": _at(22, 36)}} | data


def _records(status: str = "completed", parent: str = "msg_1") -> tuple[Any, ...]:
    times = {"start": _at(23, 41), "end": _at(23, 42)}
    spoken = {"start": _at(22, 40), "end": _at(22, 41)}
    state = {
        "status": "completed", "input": {"size": "needle-input"}, "output": "needle-output", "title": "needle-title",
        "metadata": {"truncated": False, "note": "needle-kept"}, "time": times,
    }  # fmt: skip
    ended = {"status": status, "input": {}, "output": "x", "time": {"start": _at(23, 43), "end": _at(23, 43)}}
    signed = {"openai": {"itemId": "needle-item"}}
    answer = _message(
        "msg_2", "assistant", parentID=parent, modelID="needle-model", providerID="needle-provider", cost=0.700007,
        tokens=_TOKENS, finish="needle-finish", path={"cwd": "/home/me/needle-path"}, mode="needle-way",
        agent="needle-agent", time={"created": _at(22, 37), "completed": _at(22, 59)},
    )  # fmt: skip
    return (
        {"id": "needle-project", "worktree": "/home/me/app", "vcs": "git", "sandboxes": ["/tmp/needle-sandbox"]},
        {"id": _SESSION, "directory": "/home/me/needle-cwd", "version": "needle-version", "title": "needle-named",
         "time": {"created": _at(22, 30)}},
        _message("msg_1", "user"), _part(1, "msg_1", "text", text="needle-user"),
        answer, _part(2, "msg_2", "step-start", snapshot="needle-started"),
        _part(3, "msg_2", "reasoning", text="needle-thinking", time=spoken, metadata=signed),
        _part(4, "msg_2", "text", text="needle-text", time={"start": _at(23, 40), "end": _at(23, 40)})
        | {"id": "prt_4_needle"},
        _part(5, "msg_2", "tool", callID="needle-call", tool="needle-tool", state=state),
        _part(6, "msg_2", "tool", callID="c2", tool="write", state=ended),
        _part(7, "msg_2", "patch", hash="needle-patch", files=["/home/me/needle-cwd/a.py"]),
        _part(8, "msg_2", "step-finish", reason="stop", snapshot="needle-finished", cost=0.700007, tokens=_TOKENS),
    )  # fmt: skip


def _session(*records: Any) -> Session:
    return Session("opencode", f"{_SESSION}.json", records)


SESSIONS: Final = {
    "main": _session(*_records()),
    "failed": _session(*_records("error")),
    "orphan": _session(*_records(parent="msg_1x")),
}
FIELDS: Final = {
    BLOCKS: (
        Field('type: "patch"', "needle-patch", note="the results of calls say which files were changed"),
        Field("title", "needle-named", note="made up by a model, and changes as long as the session is used"),
        Field("version", "needle-version", "session.agent-meta.cli-version"),
        Field("directory", "needle-cwd", "session.environment.working-dir"),
        Field("sandboxes", "needle-sandbox", note="of the project, not of the session"),
    ),
    SAME: (Field("id", "prt_4_needle", "assistant id"),),
    RENAMED: (
        Field("text", "needle-text", "assistant content"),
        Field("tool", "needle-tool", "tool-call name"),
        Field("callID", "needle-call", "tool-call call-id, tool-result call-id"),
        Field("state.input", "needle-input", "tool-call input"),
        Field("state.output", "needle-output", "tool-result output"),
        Field("state.status", record="tool-result is-error, tool-result status", session="failed", without="main"),
        Field("state.time.start", "2026-02-10T23:41", "tool-call timestamp"),
        Field("state.time.end", "2026-02-10T23:42", "tool-result timestamp"),
        Field("role", "needle-user", "user content", names=('role: "user"/"assistant"', "Type mapping")),
        Field("time.created", "2026-02-10T22:36", "user timestamp", printed="22:36"),
    ),
    SPLIT: (
        Field('type: "tool"', "needle-call", "tool-call call-id, tool-result call-id",
              names=("SPLIT", '"tool"', "Tool splitting")),
        Field('type: "text"', "needle-text", "assistant content", names=('"text"',)),
        Field('type: "step-start"', "needle-started", note="where a request to the model begins; a snapshot of the files",
              names=('"step-start"',)),
        Field('type: "step-finish"', "needle-finished", names=('"step-finish"',),
              note="its tokens and its cost are in the message"),
        Field('type: "reasoning"', "needle-thinking", "reasoning content", names=('"reasoning"',)),
    ),
    DROPPED: (
        Field("sessionID", _SESSION, "session.session-id"),
        Field("messageID", "msg_2", "x-katod.source.messageId, x-katod.source.providerEventId"),
        Field("state.title", "needle-title", note="what the client shows of a call"),
        Field("state.metadata", "needle-kept", note="of each tool's own form; exit codes, changed files and answers are read"),
        Field("metadata.openai", "needle-item", note="what the provider needs to be asked again"),
        Field("parentID", record="system-event config.change parent-id, reasoning parent-id, assistant parent-id,"
              " tool-call parent-id, tool-result parent-id", without="orphan"),
        Field("modelID", "needle-model", _MADE_BY),
        Field("providerID", "needle-provider", "session.agent-meta.model-provider, system-event config.change data.after"),
        Field("cost", 0.700007, "assistant token-usage.cost"),
        Field("tokens.input", 70001, "assistant token-usage.input", printed="140,003 tokens", total=210010, names=("tokens",)),
        Field("tokens.output", 70002, "assistant token-usage.output", printed="140,003 tokens", total=140005),
        Field("tokens.reasoning", 70003, "assistant token-usage.reasoning"),
        Field("tokens.cache.read", 70004, "assistant token-usage.cached"),
        Field("tokens.cache.write", 70005, "assistant token-usage.cache-write"),
        Field("finish", "needle-finish", note="known only after the text, which is recorded as soon as it is complete"),
        Field("path", "needle-path", note="the session says the directory"),
        Field("mode", "needle-way", note="which of the client's own prompts was used"),
        Field("agent", "needle-agent", note="which of the client's own prompts was used"),
    ),
    ADDED: (
        Field("the name of the program", "opencode", "session.agent-meta.cli-name", names=('cli-name: "opencode"',)),
        Field("the envelope", "3.0.0-draft", "version", names=("Record wrapper",)),
    ),
}  # fmt: skip
