"""The JSON form of events: the contract of `.jsonl` outputs."""

from copy import deepcopy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from katod import events as ev
from katod.events import SCHEMA, Event, SessionRef, from_json, seconds, to_json
from tests.examples import examples, texts
from tests.looping import each

WORDS = texts(max_size=8)
JSON = st.recursive(
    st.booleans() | st.integers() | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=6,
)
OBJECTS = st.dictionaries(WORDS, JSON, max_size=4)
NAMES = texts(min_size=1, max_size=8)
SESSIONS = st.builds(SessionRef, NAMES, NAMES, WORDS, WORDS)
TIMES = st.just(("", "")) | st.tuples(st.just("2026-02-10T23:36:27.000Z"), st.sampled_from(["recorded", "derived"]))


@st.composite
def events(draw):
    time, time_source = draw(TIMES)
    kind = draw(st.sampled_from(ev.KINDS))
    payload = draw(OBJECTS) | {name: draw(WORDS) for name in ev.REQUIRED.get(kind, ())}
    return Event(
        draw(WORDS), kind, draw(SESSIONS), payload, draw(OBJECTS),
        time, time_source, draw(WORDS), draw(WORDS),
    )  # fmt: skip


def values(value):
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [value, *(v for one in inner for v in values(one))]


def test_event_has_the_form_of_the_contract():
    """Fields, their names and their order are those documented in katod/formats/docs/jsonl.md."""
    event = Event(
        "claude:s:1:0", ev.TOOL_CALL, SessionRef("claude", "s", "a1", "p"), {"name": "Read"}, {"offset": 12},
        "2026-02-10T23:36:27.000Z", "derived", "t1", "opus",
    )  # fmt: skip
    assert list(to_json(event).items()) == [
        ("schema", "katod.event/1"),
        ("id", "claude:s:1:0"),
        ("kind", "assistant.tool.call"),
        ("session", {"agent": "claude", "id": "s", "subagent": "a1", "parent": "p"}),
        ("time", "2026-02-10T23:36:27.000Z"),
        ("timeSource", "derived"),
        ("turn", "t1"),
        ("model", "opus"),
        ("source", {"offset": 12}),
        ("payload", {"name": "Read"}),
    ]


def test_what_is_absent_stays_absent():
    """An event without time and model has no such fields."""
    row = to_json(Event("id", ev.USER_MESSAGE, SessionRef("codex", "s"), {"text": ""}, {}))
    assert row == {
        "schema": SCHEMA, "id": "id", "kind": "user.message", "session": {"agent": "codex", "id": "s"},
        "source": {}, "payload": {"text": ""},
    }  # fmt: skip


def test_what_is_katods_own_stays_inside():
    """Whether text was typed, the dedup key and the bytes of pictures are not part of the contract."""
    event = Event(
        "id", ev.USER_MESSAGE, SessionRef("codex", "s"), {}, {}, dedup_key="o", typed=True, blobs=(("a", "b", "c"),)
    )
    assert to_json(event).keys() == {"schema", "id", "kind", "session", "source", "payload"}


@examples(3, 500)
@given(events())
def test_event_is_read_back_as_it_was(event):
    """Reading an event's JSON gives the same event."""
    assert from_json(to_json(event)) == event


@examples(3, 500)
@given(events())
def test_there_are_no_nulls(event):
    """Whatever an event contains, no field of it is null."""
    assert None not in values(to_json(event))


@examples(3, 500)
@given(events())
def test_reading_takes_copies(event):
    """An event that was read does not share its payload with the row it came from."""
    row = to_json(event)
    before = deepcopy(row)
    read = from_json(row)
    read.payload["key"] = read.source["key"] = object()
    assert row == before


GOOD = to_json(Event("id", ev.USER_MESSAGE, SessionRef("codex", "s"), {"text": "x"}, {}))


@pytest.mark.parametrize("field", ["id", "kind", "session", "payload"])
def test_row_without_a_field_is_no_event(field):
    """A row without a field that every event has is refused."""
    with pytest.raises(KeyError):
        from_json({name: value for name, value in GOOD.items() if name != field})


@each("field", ["session", "payload", "source"])
@each("value", [None, 5, "x", ["ab"], [["a", 1]], True])
def test_row_with_an_odd_field_is_no_event(field, value):
    """A row with a field that is not an object is refused as documented: KeyError or TypeError."""
    with pytest.raises((KeyError, TypeError)):
        from_json(GOOD | {field: value})


@each("kind", ev.REQUIRED)
@each("value", [None, 5, ["ab"], {}])
def test_an_event_without_its_texts_is_none(kind, value):
    """Each text that a kind cannot be printed without has to be there, and has to be a text."""
    whole = GOOD | {"kind": kind, "payload": dict.fromkeys(ev.REQUIRED[kind], "x")}
    assert from_json(whole).kind == kind
    for name in ev.REQUIRED[kind]:
        with pytest.raises((KeyError, TypeError)):
            from_json(whole | {"payload": whole["payload"] | {name: value}})
        with pytest.raises((KeyError, TypeError)):
            from_json(whole | {"payload": {key: one for key, one in whole["payload"].items() if key != name}})


@each("field", ["id", "time", "timeSource", "turn", "model"])
def test_a_row_with_a_field_that_is_no_text_is_no_event(field):
    """They are printed as they are."""
    with pytest.raises(TypeError):
        from_json(GOOD | {field: 5})


def test_every_kind_has_its_own_name():
    """No two kinds are equal, and each constant of the module is listed."""
    named = [
        value for name, value in vars(ev).items() if name.isupper() and isinstance(value, str) and name != "SCHEMA"
    ]
    assert sorted(named) == sorted(ev.KINDS)
    assert len(set(ev.KINDS)) == len(ev.KINDS)


def test_a_time_that_is_none_is_not_known():
    """Whatever stands in its place."""
    assert seconds("2026-02-10T22:36:40Z") == 1_770_763_000.0
    assert [seconds(time) for time in ("", "soon", "0001-01-01T00:00:00+23:59")] == [0.0, 0.0, 0.0]
