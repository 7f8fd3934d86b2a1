"""The rows of a session, made of its events."""

import json
from collections import defaultdict

import pytest

from katod.cli.context import Context
from katod.log import EventLog
from katod.metadata import SessionMetadata, SessionNames, SessionStart
from katod.record.export import Stretch, replay
from katod.tables.rows import SessionRows, milliseconds
from katod.tables.schema import CALLS, EDITS, EVENTS, MESSAGES, OF_EVENTS, SESSIONS
from tests.support.records import MAKERS, Claude, Codex
from tests.support.records.base import calls, result, says, user

TOKEN = "ghp_" + "a1B2c3D4e5F6" * 3


def _is_of(session, maker):
    return any(path.partition("#")[0] == str(maker.path) for path, *_ in session.files)


def rows_of(maker, *, hide=True):
    """Return the rows of a session by their tables, and the month in which it began."""
    found = Context(None).found().values()
    [session] = [one for one in found if one.key.subagent == maker.subagent and _is_of(one, maker)]
    made, metadata = SessionRows(session.key, hide=hide), None
    rows = defaultdict(list)
    for event, metadata in replay(session.key, [Stretch(path, name) for path, name, _ in session.files], EventLog()):
        for table, row in made.take(event, metadata):
            rows[table].append(row)
    for table, row in made.finish(metadata):
        rows[table].append(row)
    return rows, made.month


@pytest.mark.whole
@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
def test_each_agent_gives_rows_of_the_columns_that_there_are(world, make):
    """Each column that a row has is in the schema; numbers count up, and the session sums them up."""
    maker = make(world).say(user("hello there"), says("yes"), calls("call-1", "make"))
    if "result" not in make.ABSENT:
        maker.say(result("call-1", "done"))
    maker.say(says("ok"))
    rows, _ = rows_of(maker)
    for table, found in rows.items():
        assert {name for row in found for name in row} - {"time", "id", "number"} <= {*table.names}
    [session] = rows[SESSIONS]
    assert [row["number"] for row in rows[EVENTS]] == list(range(session["events"]))
    assert (len(rows[MESSAGES]), len(rows[CALLS])) == (session["messages"], session["calls"])
    assert "hello there" in [row["text"] for row in rows[MESSAGES] if row["role"] == "user"]
    assert {row["session"] for table in OF_EVENTS for row in rows[table]} == {session["session"]}


def test_events_are_the_lines_of_jsonl(world):
    """The same payload, with secrets redacted in the same way."""
    maker = Claude(world).say(user(f"use {TOKEN}"), says("yes"))
    for hide, options in ((True, ()), (False, ("--no-redact",))):
        lines = list(map(json.loads, world.cli("export", maker.session, "-f", "jsonl", *options).splitlines()))
        rows, _ = rows_of(maker, hide=hide)
        assert [(row["id"], row["kind"], json.loads(row["payload"])) for row in rows[EVENTS]] == [
            (line["id"], line["kind"], line["payload"]) for line in lines
        ]
        assert [milliseconds(line.get("time", "")) for line in lines] == [row["time"] for row in rows[EVENTS]]
        assert (TOKEN in repr(rows[MESSAGES])) is not hide


def test_the_month_is_that_of_the_first_message(world):
    """Not of what a client notes before it; a session without times has none."""
    maker = Claude(world)
    maker.append(
        maker.record("file-history-snapshot", timestamp="2025-12-31T23:59:59.999Z"),
        maker.user("hi", timestamp="2026-01-31T23:30:00-02:00"),
    )
    rows, month = rows_of(maker)
    assert month == "2026-02"
    assert rows[SESSIONS][0]["started"] == milliseconds("2026-02-01T01:30:00Z")
    other = Claude(world, "00000002-8a53-4c3e-9b5e-0a1d5f8f2c11")
    other.append(other.user("hi", timestamp="when"))
    for written in ("9999-12-31T23:59:59-23:59", "0001-01-01T00:00:00+14:00"):  # the calendar ends in between
        far = Claude(world, "00000003-8a53-4c3e-9b5e-0a1d5f8f2c11")
        far.path.write_text(json.dumps(far.user("hello") | {"timestamp": written}))
        rows, month = rows_of(far)
        assert (month, rows[SESSIONS][0]["started"]) == ("unknown", None)
    rows, month = rows_of(other)
    assert (month, rows[SESSIONS][0]["started"], rows[MESSAGES][0]["time"]) == ("unknown", None, None)


def test_a_sub_agent_names_its_session(world):
    """As the key that the others have."""
    maker = Claude(world).say(user("hi"))
    child = maker.child().say(user("look around"))
    rows, _ = rows_of(child)
    [session] = rows[SESSIONS]
    assert (session["session"], session["subagent"]) == (f"claude:{maker.session}/abc", "abc")
    assert session["parent"] == f"claude:{maker.session}"
    assert rows_of(maker)[0][SESSIONS][0]["parent"] is None


@pytest.mark.parametrize(
    ("time", "found"),
    [
        ("1970-01-01T00:00:01.5Z", 1500),
        ("1969-12-31T23:59:59Z", -1000),
        ("2026-02-10T22:36:18.123456+01:00", 1770759378123),
        ("", None),
        ("2026-02-10", None),
        ("2026-02-30T00:00:00Z", None),
        ("2026-06-30T23:59:60Z", None),
        ("0000-01-01T00:00:00Z", None),
    ],
)
def test_a_time_is_read_or_left_out(time, found):
    """Nothing is invented."""
    assert milliseconds(time) == found


@pytest.mark.parametrize("name", [*SessionStart._fields, "title", "named", "own", "model"])
def test_no_secret_of_what_is_known_of_a_session_is_in_its_rows(world, name):
    """In whichever text it is; the path of a file is relative to the session's directory."""
    assert {"title", "named", "own"} <= {*SessionNames._fields}
    maker = Codex(world).say(user("hello"), says("ok"))
    patch = "*** Begin Patch\n*** Update File: src/a.py\n@@\n-x\n+y\n*** End Patch"
    call = {"type": "custom_tool_call", "name": "apply_patch", "call_id": "c1", "input": patch}
    maker.put(maker.record("response_item", call))
    [session] = Context(None).found().values()
    key = session.key
    metadata = SessionMetadata(key, {"cwd": "/home/me", name: f"/home/me/{TOKEN}"})
    made = SessionRows(key, hide=True)
    stretches = [Stretch(path, whose) for path, whose, _ in session.files]
    rows = [row for event, _ in replay(key, stretches, EventLog()) for row in made.take(event, metadata)]
    rows += made.finish(metadata)
    [path] = [row["path"] for table, row in rows if table is EDITS]
    assert path.endswith("/src/a.py")
    assert TOKEN not in repr(rows)
