"""What a server of CodingBridge says, and the ids of sessions and messages."""

import json
import re
from collections import Counter
from functools import cache

import pytest
from jsonschema import Draft202012Validator, FormatChecker

from katod import events as ev
from katod.formats.stream import bridge
from katod.formats.stream.bridge import ROWS
from katod.metadata import SessionMetadata
from katod.model import Options, SessionKey
from katod.record.export import render_all
from tests.examples import some
from tests.formats.records.test_agentrecord import SESSION, TIME, call, event, says, user
from tests.formats.stream.bridging import lines, sent, wrong_in
from tests.formats.test_documents import exported
from tests.golden.cases import cases
from tests.looping import each
from tests.oracle.corpus import corpus_folder, corpus_sources

KEY = SessionKey("claude", SESSION)
TARGETS = corpus_folder() / ".."
SOURCES = corpus_sources()
SERVED = [
    bridge.connected(KEY, "", "1.0.0"),
    bridge.history(sent(user(1), says(2), call(3)), has_more=True),
    bridge.history([], has_more=False),
    bridge.reconnect_complete(3, "5f0c"),
    bridge.cursor_invalid("5f0c"),
    bridge.cursor_evicted("5f0c"),
    bridge.error("READ_ONLY", "katod only reads", recoverable=True, retryable=False, retry_after=1.5),
    bridge.error("SESSION_NOT_FOUND", "no such session", recoverable=True),
    bridge.ping(1770763000000),
    bridge.pong(1770763000000),
]


@cache
def described():
    """Return the validator of the server's own description. Skips without it."""
    path = TARGETS / "targets/schemas/codingbridge-openapi.json"
    if not path.exists():
        pytest.skip("the description of CodingBridge is not here")
    components = json.loads(path.read_text())["components"]
    root = {"$ref": "#/components/schemas/ServerMessage", "components": components}
    return Draft202012Validator(root, format_checker=FormatChecker())


def of_this_name(name):
    """Return all schemas of the description for messages with this `type`."""
    known = described().schema["components"]["schemas"].values()
    return [one for one in known if one.get("properties", {}).get("type", {}).get("enum") == [name]]


def unknown_keys(message):
    """Return the keys of a message, and of those in it, that the description does not have."""
    inner = [message["message"]] if message["type"] == "stream" else message.get("messages", [])
    known = {key for one in of_this_name(message["type"]) for key in one["properties"]}
    return sorted(message.keys() - known) + [key for one in inner for key in unknown_keys(one)]


def wrong_by_description(messages):
    """Return what is wrong with messages by the server's own description, which says nothing of further keys."""
    wrong = [error.message[:200] for row in messages for error in described().iter_errors(row)]
    return wrong + [key for row in messages for key in unknown_keys(row)]


def metadata(key=KEY, **known):
    return SessionMetadata(key, {"cwd": "/home/me/app", "started": TIME, "time": TIME} | known)


# -- what a server sends ----------------------------------------------------------------------------


def test_what_a_server_sends_is_valid():
    """By the schema; a null or a missing field is not."""
    created = bridge.session_event("created", KEY, bridge.about_session(KEY, metadata(), 0, str))
    deleted = bridge.session_event("deleted", KEY, bridge.about_session(KEY, metadata(), 9, str))
    assert wrong_in([*SERVED, created, deleted]) == []
    assert "metadata" in created
    assert "metadata" not in deleted
    assert wrong_in([SERVED[0] | {"model": None}]) != [] != wrong_in([{"type": "ping"}])


def test_what_a_server_sends_is_valid_by_its_own_description():
    """Where that is at hand: no field is missing, none is null, and none is unknown."""
    about = bridge.about_session(KEY, metadata(title="Logins", model="m", parent="p"), 3, str)
    assert wrong_by_description([*SERVED, bridge.session_event("updated", KEY, about)]) == []
    assert wrong_by_description([SERVED[0] | {"extra": 1}]) == ["extra"]


def test_history_has_bare_messages_and_the_oldest_id():
    """What is no message of the conversation is not part of it."""
    messages = sent(user(1), event(2, ev.TURN_END, {"reason": "aborted"}))
    assert [row["type"] for row in messages] == ["stream", "stream", "interrupted", "stream"]
    made = bridge.history(messages, has_more=False)
    assert [row["type"] for row in made["messages"]] == ["user", "state", "state"]
    assert made["cursor"] == messages[0]["id"]


def test_a_session_is_described_as_far_as_it_is_known():
    """Who made it, when, and which session it comes from; texts are made fit to be shown."""
    about = bridge.about_session(KEY, metadata(title="secret", model="m"), 7, lambda text: text.replace("secret", "…"))
    assert about == {
        "id": SESSION, "projectPath": "/home/me/app", "source": "user", "lastActivityAt": TIME, "messageCount": 7,
        "createdAt": TIME, "title": "…", "model": "m",
    }  # fmt: skip
    sub = bridge.about_session(KEY._replace(subagent="a1"), metadata(started="", time="yesterday"), 0, str)
    assert (sub["source"], sub["parentSessionId"]) == ("agent", SESSION)
    assert (sub["lastActivityAt"], "createdAt" in sub) == (bridge.UNDATED, False)


# -- ids and times ----------------------------------------------------------------------------------


def test_the_id_of_a_session_is_its_own_if_that_is_a_uuid():
    """All others are derived, never the same for two sessions, and lead back to their session."""
    keys = [
        KEY, KEY._replace(subagent="a1"), SessionKey("opencode", "ses_1"), SessionKey("zot", "ses_1"),
        SessionKey("codex", "6F1C2C1E-8A53-4C3E-9B5E-0A1D5F8F2C12"), SessionKey("cursor", SESSION[:-1]),
    ]  # fmt: skip
    assert bridge.session_uuid(KEY) == SESSION
    back = bridge.keys_by_uuid(keys)
    assert len(back) == len(keys)
    for key in keys:
        assert back[bridge.folded(bridge.session_uuid(key).upper())] == key
        assert bridge.session_uuid(key) == bridge.session_uuid(SessionKey(*key))
        assert wrong_in([bridge.connected(key, "m", "1")]) == []


def test_a_viewer_may_name_a_message_in_capitals_or_by_the_call_that_runs():
    """Ids that are no UUIDs are compared as they are."""
    spoken, _, called, _ = sent(user(1), call(2))
    assert bridge.cursors_of(spoken) == (bridge.folded(spoken["id"].upper()),)
    assert bridge.cursors_of(called) == (called["id"], "t1")
    assert bridge.folded("toolu_ABC") == "toolu_ABC"


@each(
    "time",
    ["yesterday", "2026-02-30T00:00:00Z", "2026-02-10T24:00:01Z", "2026-02-10 22:36:18", "2026-02-10T22:36:18", ""],
)
def test_only_a_time_of_the_calendar_with_its_zone_is_a_time(time):
    """Of RFC 3339; any other is none."""
    assert bridge.moment(time) == ""
    assert bridge.moment("2026-02-10T22:36:18.123456+01:00")


# -- what of it there is ----------------------------------------------------------------------------


def rows_sent_by(sender):
    return {row.message for row in ROWS if row.sender == sender}


@cache
def stream_of(case):
    """Return the messages of a fixture."""
    return lines("".join(render_all(case.events(), "stream", Options())))


def of_fixtures():
    """Return how often each message occurs in the streams of all fixtures."""
    return Counter(row.get("message", row)["type"] for case in cases() for row in stream_of(case))


@pytest.mark.slow
def test_every_row_of_the_table_is_true():
    """What the format sends occurs in the streams of fixtures, what a server sends is made, and nothing else occurs."""
    assert set(of_fixtures()) == rows_sent_by("format")
    assert {row["type"] for row in SERVED} == rows_sent_by("server")
    nobody = rows_sent_by("nobody") - {"", "error"}  # an error for a viewer that is replaced
    assert nobody == {"permission", "question", "progress", "queued", "queue_cleared"}
    assert all(row.why for row in ROWS)


def test_the_table_has_every_event_of_the_viewers():
    """As they are listed by the viewer's authors, where that list is at hand."""
    seed = TARGETS / "seeds/stream-event-mapping.md"
    if not seed.exists():
        pytest.skip("the list of events is not here")
    assert re.findall(r"^\| `\.(\w+)`", seed.read_text(), re.MULTILINE) == [row.event for row in ROWS]


# -- fixtures and real sessions ---------------------------------------------------------------------


@pytest.mark.slow
@each("case", cases()[::6], ids=str)
def test_fixtures_give_valid_messages(case):
    """By the schema, which allows no further keys; each id occurs once."""
    assert wrong_in(stream_of(case)) == []


@pytest.mark.slow
@each("case", cases(), ids=str)
def test_every_fixture_gives_valid_messages(case):
    """All that are left out by default, too."""
    assert wrong_in(stream_of(case)) == []


@pytest.mark.slow
@pytest.mark.skipif(not SOURCES, reason="there is no corpus of real sessions")
@each("source", some(SOURCES, 50), ids=lambda source: source.name)
def test_real_sessions_give_valid_messages(source):
    """By the schema, and by the server's own description without further keys; each id occurs once."""
    messages = lines(exported(source, "stream"))
    assert wrong_in(messages) == []
    assert wrong_by_description(messages) == []
