"""JSONL: every event in full, one per line."""

import json

import orjson
from hypothesis import given
from hypothesis import strategies as st

from katod import events as ev
from katod.events import REQUIRED, Event, SessionRef, from_json, to_json
from katod.formats.jsonl import Jsonl
from katod.metadata import SessionMetadata
from katod.model import Mark, Options, SessionKey
from tests.examples import texts
from tests.looping import each

FACTS = SessionMetadata(SessionKey("claude", "s"))
SECRET = "gh" + "p_" + "a1B2c3D4e5" * 4


def event(payload, kind=ev.USER_MESSAGE, **more):
    return Event("claude:s:1", kind, SessionRef("claude", "s"), payload, {"offset": 12}, **more)


def lines(*events, redact=True):
    shown = Jsonl(Options(redact=redact))
    return "".join(shown.event(one, FACTS) for one in events)


def test_event_is_one_line_of_json():
    """An event is its JSON form followed by one newline, whatever its text contains."""
    one = event({"text": "a\nb\u2028c\x1b[31m"}, time="2026-02-10T23:36:27.000Z", time_source="recorded")
    assert json.loads(lines(one)) == to_json(one)
    assert lines(one).count("\n") == 1


def test_there_are_no_heads_and_no_marks():
    """Everything in a JSONL output is an event."""
    shown = Jsonl(Options())
    assert (shown.head(FACTS, "2026-02-10T23:36:27.000Z"), shown.mark(Mark("started"))) == ("", "")


@each("kind", ev.KINDS)
def test_every_kind_prints(kind):
    """Every kind is written, including those that a transcript does not show."""
    assert json.loads(lines(event({"text": "x"}, kind)))["kind"] == kind


def test_sub_agents_events_print():
    """A sub-agent's event is written with its own session fields."""
    one = event({"text": "x"})._replace(session=SessionRef("claude", "s", "a1"))
    assert json.loads(lines(one))["session"] == {"agent": "claude", "id": "s", "subagent": "a1"}


def test_secrets_are_redacted_in_payloads_unless_switched_off():
    """A secret in a text or in a tool's input does not reach the file by default."""
    one = event({"text": f"token {SECRET}", "input": {"deep": [f"{SECRET}"]}})
    assert SECRET not in lines(one)
    assert lines(one).count("[REDACTED:github-token]") == 2
    assert lines(one, redact=False).count(SECRET) == 2


def test_redaction_leaves_the_event_as_it_was():
    """Redaction does not change the event, so other outputs still get the original payload."""
    payload = {"text": SECRET}
    lines(event(payload))
    assert payload == {"text": SECRET}


def test_payload_nested_too_deep_is_named():
    """A payload that cannot be written as JSON is replaced by a raw event that says so; the ids stay."""
    deep = {}
    for _ in range(2000):
        deep = {"a": deep}
    row = json.loads(lines(event({"input": deep}, ev.TOOL_CALL)))
    assert (row["kind"], row["id"]) == (ev.PROVIDER_RAW, "claude:s:1")
    assert row["payload"]["rawType"] == ev.TOOL_CALL
    assert "deep" in row["payload"]["raw"]


def test_there_is_no_state():
    """Each line depends only on its event, so there is no state."""
    shown = Jsonl(Options())
    shown.event(event({"text": "x"}), FACTS)
    assert shown.state() == {}


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts(), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(texts(), JSON, max_size=4), st.sampled_from(ev.KINDS))
def test_what_was_written_can_be_read_as_events(payload, kind):
    """An output can be read back: each line gives the event that it was written from."""
    one = event(payload | dict.fromkeys(REQUIRED.get(kind, ()), "text"), kind)
    assert from_json(orjson.loads(lines(one, redact=False))) == one
