"""The fields of Cursor: a role and a message, and nothing else."""

from typing import Any, Final

from tests.formats.native.finding import Field, Session
from tests.formats.native.sections import ADDED, BLOCKS, RECORDS, RENAMED, SPLIT
from tests.support.records import SESSION

_PROJECT: Final = "projects/home-me-app"


def _says(role: str, *blocks: Any) -> dict[str, Any]:
    return {"role": role, "message": {"content": list(blocks)}}


def _text(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


_STAMP: Final = "<timestamp>Tuesday, Feb 10, 2026, 11:41 PM (UTC+0)</timestamp>\n"
_CALL: Final = {"type": "tool_use", "name": "needle-tool", "input": {"size": "needle-input"}}
_RECORDS: Final = (
    _says("user", _text(f"needle-context\n{_STAMP}<user_query>\nneedle-user\n</user_query>")),
    _says("assistant", {"type": "thinking", "thinking": "needle-thinking"}, _text("needle-text"), _CALL),
    {"type": "turn_ended", "status": "error", "error": "needle-error"},
    _says("user", _text("<user_query>\nagain\n</user_query>")), _says("assistant", _text("Done.")),
)  # fmt: skip
_UNTIMED: Final = (_says("user", _text("<user_query>\nhello\n</user_query>")), _says("assistant", _text("hi")))


def _session(*records: Any) -> Session:
    path = f"{_PROJECT}/agent-transcripts/{SESSION}/{SESSION}.jsonl"
    return Session("cursor", path, records, ((f"{_PROJECT}/.workspace-trusted", "/home/me/needle-cwd"),))


SESSIONS: Final = {"main": _session(*_RECORDS), "untimed": _session(*_UNTIMED)}
FIELDS: Final = {
    RECORDS: (
        Field('type: "turn_ended"', "needle-error", "system-event error data.message"),
    ),
    BLOCKS: (
        Field('message.content[].type: "text"', "needle-text", "assistant content"),
        Field('message.content[].type: "thinking"', "needle-thinking", "reasoning content"),
        Field('message.content[].type: "tool_use"', "needle-tool", "tool-call name"),
        Field("message.content[].tool_use.input", "needle-input", "tool-call input"),
    ),
    RENAMED: (
        Field('role: "user"', "needle-user", "user content"),
        Field("message.content", "needle-text", "assistant content"),
    ),
    SPLIT: (
        Field("<user_query>", "needle-user", "user content"),
        Field("<timestamp>", "2026-02-10T23:41:00", "user timestamp, session.session-start", printed="23:41"),
        Field("text around <user_query>", "needle-context", "system-event system.message data.text"),
    ),
    ADDED: (
        Field("the session, from the name of the file", SESSION, "session.session-id", names=("session-id",)),
        Field("the directory, from a file beside it", "needle-cwd", "session.environment.working-dir"),
        Field("the model", "unknown", "session.agent-meta.model-id, session.agent-meta.model-provider",
              names=("model-id", "model-provider")),
        Field("the name of the program", "cursor", "session.agent-meta.cli-name", names=('cli-name: "cursor"',)),
        Field("times", "20", session="untimed", note="a line without a time has none", names=("All timestamps absent",)),
        Field("the envelope", "3.0.0-draft", "version", names=("Record wrapper",)),
    ),
}  # fmt: skip
