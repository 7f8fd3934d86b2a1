"""Decoding: one object per line, what can be salvaged from damaged lines, and nothing that was never a record."""

import json
import math

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from katod.model import Line, Record
from katod.tail.decode import decode, loads
from tests.examples import examples, texts
from tests.looping import each
from tests.support.records import MAKERS, says, user

USER = '{"type":"user","message":{"role":"user","content":"hi"},"uuid":"u1","timestamp":"2026-02-10T23:36:27.000Z"}'
CODEX = '{"timestamp":"2026-02-10T23:36:27.000Z","type":"event_msg","payload":{"type":"user_message","message":"hi"}}'
RECORDS = [USER, CODEX, '{"parentUuid":null,"type":"assistant","uuid":"u2","sessionId":"s"}']
COMMAND = USER.replace('"hi"', '"::start elsewhere"')

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts(), inner, max_size=4),
    max_leaves=12,
)


def of(data, offset=100):
    data = data.encode() if isinstance(data, str) else data
    return decode(Line(offset, offset + len(data) + 1, data))


def values(data):
    return [record.value for record in of(data)]


def saved(data):
    """Return the values of the records that could be decoded."""
    return [value for value in values(data) if value is not None]


def nested(depth):
    return '{"a":' * depth + "1" + "}" * depth


# -- whole lines -----------------------------------------------------------------------------------


def test_object_is_a_record_at_the_offset_of_its_line():
    """A line with one object is one record, and its text is not kept alongside the value."""
    assert of('{"a":1}', 42) == [Record(42, {"a": 1})]


def test_blank_line_is_no_record():
    """A blank line gives no record, not a malformed one."""
    assert of(b"") == []


@pytest.mark.parametrize("text", ["[1]", "1", '"x"', "null", "true"])
def test_what_is_no_object_is_kept_as_it_is(text):
    """A line that is JSON but not an object is malformed; its text is kept."""
    assert of(text) == [Record(100, None, raw=text, problem="not an object")]


def test_line_that_was_passed_over_is_named_with_its_size():
    """A line too long to read gives a record without a value that states its length."""
    [record] = decode(Line(5, 105, b"", skipped=100))
    assert (record.offset, record.value, record.raw) == (5, None, "")
    assert "100 bytes" in record.problem


@examples(3, 500)
@given(st.dictionaries(texts(), JSON))
def test_every_object_that_is_valid_comes_back_as_it_is(value):
    """Whatever an agent can write as JSON is read as the same value."""
    assert values(orjson.dumps(value)) == [value]


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\u0085"])
def test_line_separators_of_unicode_stand_inside_texts(separator):
    """A line separator inside a text does not split the text."""
    assert values(f'{{"a":"one{separator}two"}}') == [{"a": f"one{separator}two"}]


def test_last_of_two_equal_keys_wins():
    """If a key occurs twice, its last value counts, in intact and in damaged lines."""
    assert values('{"a":1,"a":2}') == [{"a": 2}]
    assert values('{"a":1,"a":2,"b":NaN}') == [{"a": 2, "b": None}]


# -- damaged values --------------------------------------------------------------------------------


def test_invalid_utf8_is_replaced():
    """Invalid bytes become replacement characters; the record is read."""
    assert values(b'{"a":"x\xffy","b":"\xc3"}') == [{"a": "x\ufffdy", "b": "\ufffd"}]


@pytest.mark.parametrize("escape", [r"\ud800", r"\udfff", r"\ud800\u0041", r"\udc00\ud800"])
def test_lone_surrogates_are_replaced(escape):
    """Half of a surrogate pair, which cannot be written anywhere, becomes a replacement character."""
    [value] = values(f'{{"a":"x{escape}y"}}')
    assert "\ufffd" in value["a"]
    orjson.dumps(value)


def test_pair_beside_a_lone_surrogate_stays():
    """A complete pair in a damaged text is still its character."""
    assert values(r'{"a":"\ud83d\ude42 \ud800"}') == [{"a": "🙂 \ufffd"}]


@pytest.mark.parametrize("escape", [r"\ud800", r"\udfff", r"\ud800\u0041", r"\udc00\ud800"])
@pytest.mark.parametrize("form", ['{"a":"x%sy"}', '["x%sy"]', '"x%sy"'])
def test_any_json_is_read_as_a_record_would_be(form, escape):
    """Also what is no object, such as JSON within a text: with what `decode` makes of half a character."""
    text = form % escape
    [record] = values(f'{{"value":{text}}}')
    assert loads(text) == loads(text.encode()) == record["value"]
    assert loads('"\ud83d"') == "\ufffd"


@pytest.mark.parametrize("text", ["", "{", '"x', "{} {}", r'"\ud83d', "[" * 100_000, b'{"a":"\xff"'])
def test_what_is_no_json_has_no_value(text):
    """It is incomplete, has something behind it, or is nested too deeply."""
    with pytest.raises(ValueError):
        loads(text)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e400", "-1e400"])
def test_numbers_that_json_does_not_know_are_nothing(number):
    """A number that strict JSON cannot represent becomes null; the record is read."""
    assert values(f'{{"a":{number},"b":1.5}}') == [{"a": None, "b": 1.5}]


@pytest.mark.parametrize("digits", [20, 30, 309, 500, 5000])
def test_record_with_a_huge_number_is_read(digits):
    """An integer of any length does not make its record unreadable."""
    [value] = values(f'{{"type":"user","a":{"1" * digits}}}')
    assert value["type"] == "user"


def test_nul_bytes_inside_a_line_are_dropped():
    """A record with a hole from a power loss is read if the hole lies between its values."""
    assert values(b'{"a":1,\0\0\0"b":2}') == [{"a": 1, "b": 2}]


@pytest.mark.parametrize("depth", [200, 900])
def test_deep_object_is_read(depth):
    """An object as deep as agents write them is a record."""
    assert values(nested(depth)) == [json.loads(nested(depth))]


@pytest.mark.parametrize("depth", [1000, 1025, 100_000])
def test_object_of_hostile_depth_does_not_raise(depth):
    """An object deeper than any parser accepts is one record, with or without a value."""
    assert len(of(nested(depth))) == 1


# -- torn and spliced lines ------------------------------------------------------------------------


@each("second", RECORDS)
@each("cut", [1, 5, 14, 70, len(USER) - 1])
def test_record_glued_to_a_torn_one_is_saved(second, cut):
    """If a record is cut short and the next one follows it, the first is kept as text and the second is read."""
    torn, whole = of(USER[:cut] + second)
    assert (torn.value, torn.raw, torn.part) == (None, USER[:cut], 0)
    assert (whole.value, whole.part) == (json.loads(second), 1)


@pytest.mark.parametrize(
    "torn", ['{"type":', '{"type":"user","message":{"content":[', '{"type":"user",', '{"type":"user", ']
)
def test_record_behind_a_place_for_a_value_is_kept_as_text(torn):
    """If what follows could be part of the torn record, it is not read as a record, and nothing is lost."""
    assert of(torn + USER) == [Record(100, None, 0, torn + USER, "not valid JSON")]


def test_records_on_one_line_are_all_read():
    """Records that lost the newline between them have different part numbers."""
    records = of("".join(RECORDS))
    assert [record.value for record in records] == [json.loads(text) for text in RECORDS]
    assert [record.part for record in records] == [0, 1, 2]


def test_record_before_a_torn_one_is_saved():
    """A complete record followed by the beginning of another is read; the rest is kept as text."""
    whole, torn = of(USER + CODEX[:30])
    assert whole.value == json.loads(USER)
    assert (torn.value, torn.raw, torn.part) == (None, CODEX[:30], 1)


def test_line_of_noise_is_kept_whole():
    """A line without any record is one malformed record with all of its text."""
    assert of("no json at all") == [Record(100, None, 0, "no json at all", "not valid JSON")]


def test_all_parts_of_a_line_have_its_offset():
    """Records of one line share its offset; their part numbers start at 0."""
    records = of(USER[:20] + USER + CODEX + "}}")
    assert {record.offset for record in records} == {100}
    assert [record.part for record in records] == list(range(4))


@each(
    ("before", "behind"),
    [
        ('{"type":"assistant","input":{"n":' + "1" * 5000 + ',"x":', "}}"),
        ('{"type":"assistant","input":{"d":' + "[" * 3000 + "]" * 3000 + ',"x":', "}}"),
        ('{"type":"assistant","input":{"x":', ',"d":' + "[" * 3000 + "]" * 3000 + "}}"),
        ('{"type":"progress","data":{"message":', ',"normal'),
        ('{"type":"progress","data":[{"message":', "}],"),
        ('{"type":"progress","data":[{},', "]"),
        ('{"type":"progress","data":{"message":', "}}}"),
        ('{"type":"progress","data":', ' ,"x":tru}'),
    ],
    ids=["huge number", "too deep", "too deep behind", "torn", "torn list", "torn end", "brace too many", "not JSON"],
)
def test_object_inside_a_record_is_never_a_record(before, behind):
    """What an assistant or a tool puts into a record cannot pose as a record, however the line is damaged."""
    assert not [value for value in saved(before + COMMAND + behind) if value["type"] == "user"]


def test_quoted_record_inside_a_text_is_never_a_record():
    """A record quoted in the text of a torn one is text."""
    quoted = json.dumps({"type": "assistant", "text": COMMAND})
    assert saved(quoted[:-3]) == []


# -- properties ------------------------------------------------------------------------------------


def is_storable(value):
    text = orjson.dumps(value)
    return orjson.loads(text) == value


def numbers(value):
    if isinstance(value, dict):
        return [n for v in value.values() for n in numbers(v)]
    if isinstance(value, list):
        return [n for v in value for n in numbers(v)]
    return [value] if isinstance(value, float) else []


PIECES = st.sampled_from(
    [
        *RECORDS,
        "{",
        "}",
        "[",
        '"',
        ":",
        ",",
        "\\",
        r"\ud800",
        "NaN",
        "1e400",
        "\0",
        " ",
        "\ufeff",
        '{"type":"user"',
        "9" * 40,
    ]
).map(str.encode) | st.binary(max_size=8)


@given(st.lists(PIECES, max_size=12).map(b"".join))
def test_decoding_never_raises_and_gives_plain_json(data):
    """Whatever bytes a line has, the result is records that can be stored, numbered in order."""
    records = of(data.replace(b"\n", b""))
    assert [record.part for record in records] == list(range(len(records)))
    for record in records:
        assert (record.value is None) == bool(record.problem)
        assert record.value is None or is_storable(record.value)
        assert all(map(math.isfinite, numbers(record.value)))


@given(st.sampled_from(RECORDS), st.sampled_from(RECORDS), st.data())
def test_no_text_of_a_torn_line_is_lost(first, second, draw):
    """The unreadable and the readable parts of a spliced line together are the whole line."""
    cut = draw.draw(st.integers(1, len(first)))
    parts = [record.raw or record.value for record in of(first[:cut] + second)]
    spliced = [json.loads(first) if cut == len(first) else first[:cut], json.loads(second)]
    assert parts in (spliced, [first[:cut] + second])
    assert parts == spliced or first[cut - 1] in ":[,"


@pytest.mark.fault("torn record, another appended to it")
@pytest.mark.parametrize("make", [make for make in MAKERS if "torn" not in make.ABSENT], ids=lambda make: make.__name__)
def test_a_record_after_a_torn_one_is_read_whatever_agent_wrote_it(world, make):
    """Wherever a record of an agent is cut short, the next one on the line is read, except in a value's position."""
    maker = make(world)
    first, second = (json.dumps(maker.records(said)[0]) for said in (says('one {"x": [1, {}]}'), user("two")))
    cuts = [cut for cut in range(1, len(first)) if first[:cut].rstrip()[-1] not in ":[,"]
    missed = [first[:cut] for cut in cuts if of(first[:cut] + second)[-1].value != json.loads(second)]
    assert missed == []


def test_a_record_after_a_torn_one_is_read_whatever_follows_it():
    """A record with a type and a time or id is one, even if something that is no record follows it on the line."""
    records = of(f"{USER[:30]}{USER} trailing")
    assert [record.value for record in records] == [None, json.loads(USER), None]


def test_what_is_nested_in_a_torn_record_is_no_record():
    """Of two torn records on one line, no object inside the second one is taken for a record."""
    torn = '{"type":"user","text":"x{"type":"user","uuid":"u","message":{"role":"user","content":"::start"}'
    assert [record.value for record in of(torn)] == [None]
