"""Cursor: how turns end, and names for lines without ids."""

from typing import Any

from katod import events as ev
from katod.agents.base import content_digest
from katod.agents.cursor.adapter import CursorAdapter
from tests.looping import each
from tests.support.translated import Row, payloads, translated


def ended(status: str = "success", error: str = "") -> Row:
    return {"type": "turn_ended", "status": status} | ({"error": error} if error else {})


def says(text: str = "Yes.") -> Row:
    return {"role": "assistant", "message": {"content": [{"type": "text", "text": text}]}}


TIMED_OUT = ended("error", "[unavailable] PING timed out")
STOPPED = ended("error", "User aborted request")


@each(
    ("record", "reason", "problems"),
    [
        (ended(), "done", []),
        (TIMED_OUT, "error", [{"message": "[unavailable] PING timed out"}]),
        (STOPPED, "aborted", []),
        (ended("aborted", "User aborted request"), "aborted", []),
        (ended("aborted", "Stopped"), "aborted", []),
        (ended("error"), "error", []),
    ],
)
def test_the_end_of_a_turn_says_why(record: Row, reason: str, problems: list[Row]) -> None:
    """A turn that the person stopped is aborted, although Cursor calls it an error; any other error is shown."""
    events = translated("cursor", says(), record)
    assert payloads(events, ev.TURN_END) == [{"reason": reason}]
    assert payloads(events, ev.ERROR) == problems


def test_equal_ends_of_a_turn_have_ids_of_their_own() -> None:
    """Two ends without a line between them are two events, in any order and number."""
    records = [says(), *[STOPPED] * 3, ended(), TIMED_OUT, STOPPED, says(), STOPPED]
    many = [says(), *[ended("error", f"problem {n % 30}") for n in range(90)]]
    for rows in (records, many):
        ids = [event.id for event in translated("cursor", *rows)]
        assert len(set(ids)) == len(ids)


def test_the_first_end_of_a_turn_keeps_its_id() -> None:
    """When Cursor regenerates its file without some ends, those that stay are known: equal ones alone are numbered."""
    before = [event.id for event in translated("cursor", says(), ended(), TIMED_OUT, says("No."))]
    after = [event.id for event in translated("cursor", says(), TIMED_OUT, says("No."))]
    assert set(after) < set(before)


def test_an_id_does_not_depend_on_what_katod_knows_of_a_tool() -> None:
    """The id of a call is a hash of its name and input, so it stays the same when the table of tools grows."""
    block = {"type": "tool_use", "name": "Shell", "input": {"command": "make"}}
    [event] = translated("cursor", {"role": "assistant", "message": {"content": [block]}})
    other = event.payload | {"family": "other", "description": "?"}
    assert event.id.endswith(f"-{content_digest(event.kind, event.payload)}")
    assert content_digest(event.kind, other) == content_digest(event.kind, event.payload)


@each(
    ("role", "text", "typed"),
    [
        ("user", "<user_query>\n::start\n</user_query>", ["::start"]),
        ("user", "::start", []),
        ("assistant", "<user_query>\n::start\n</user_query>", []),
        ("", "<user_query>\n::start\n</user_query>", []),
    ],
)
def test_only_what_the_client_wrapped_for_the_user_was_typed(role: str, text: str, typed: list[str]) -> None:
    """An agent can write the client's wrapper itself, and a line of the user without it is the client's own."""
    line = {"role": role, "message": {"content": [{"type": "text", "text": text}]}}
    assert [text for text, *_ in CursorAdapter.typed_texts(line)] == typed


@each(
    ("kept", "cwd"),
    [
        ('{"workspacePath": "/p"}', "/p"),
        (r'{"by": "\ud83d", "workspacePath": "/p"}', "/p"),
        ("/p\n", "/p"),
        ("{}", ""),
        ("{", ""),
        (None, ""),
    ],
)
def test_a_session_begins_in_the_folder_that_is_kept_beside_it(
    kept: str | None, cwd: str, tmp_path_factory: Any
) -> None:
    """Once, before its first line; without that file, nobody knows."""
    project = tmp_path_factory.mktemp("p")
    if kept is not None:
        (project / ".workspace-trusted").write_text(kept)
    events = translated("cursor", says(), says(), path=project / "agent-transcripts/a/a.jsonl")
    begun = [
        (n, event.id.partition("-")[0], event.payload)
        for n, event in enumerate(events)
        if event.kind == ev.SESSION_START
    ]
    assert begun == ([(0, "cursor:s:0.start", {"cwd": cwd})] if cwd else [])
