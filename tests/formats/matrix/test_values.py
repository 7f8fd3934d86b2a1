"""What a Matrix homeserver takes, and how a large text is made to fit."""

import json

from hypothesis import given
from hypothesis import strategies as st

from katod.formats.matrix.values import LARGEST, canonical, clean, fitted, given_input, integer, money
from tests.looping import each

DEEP = {"a": 1}
for _ in range(60):
    DEEP = {"a": DEEP}


def test_canonical_json_is_sorted_and_has_no_spaces():
    """Nothing is escaped that need not be."""
    assert canonical({"b": "é\n", "a": [1, True]}) == '{"a":[1,true],"b":"é\\n"}'.encode()


@each(("text", "cleaned"), [("a\0b", "ab"), ("\ud83dx", "\ufffdx"), ("🙂\x01", "🙂\x01"), ("plain", "plain")])
def test_texts_have_no_nul_and_no_half_characters(text, cleaned):
    """Servers refuse them, or fail."""
    assert clean(text) == cleaned


@each(
    ("value", "known"),
    [(2**53 - 1, True), (2**53, False), (-(2**53), False), (True, False), (1.0, False), ("1", False)],
)
def test_integers_are_those_of_canonical_json(value, known):
    """Beyond them, another number might arrive."""
    assert integer(value) == (value if known else None)


@each(("amount", "shown"), [
    (0.5, "0.500000"), (2, "2.000000"), (0.00000123, "0.00000123"), (0, "0.000000"), (-1, ""), (True, ""), ("1", ""),
    (float("inf"), ""), (float("nan"), ""),
])  # fmt: skip
def test_money_is_a_decimal_string(amount, shown):
    """With six decimals, and more if they are there."""
    assert money(amount) == shown


@each(("value", "name"), [
    ({"a": "x" * 19_000}, "input"), ({"a": "x" * 21_000}, "input_json"), (DEEP, "input_json"), ({"a": 0.1}, "input_json"),
    ({"a": [{"b": 2**53}]}, "input_json"), (7, "input_json"), ({}, "input"),
])  # fmt: skip
def test_an_input_is_an_object_if_it_can_be_sent_as_it_is(value, name):
    """Otherwise it is one string of JSON."""
    content, at = given_input(value)
    assert list(content) == [name]
    assert content[name] == value if name == "input" else json.loads(content[name]) == value
    assert at == (() if name == "input" else ("input_json",))


def test_no_input_is_no_field():
    """An absent input is not an empty one."""
    assert given_input(None) == ({}, ())


def test_the_head_of_a_large_text_stays():
    """With size and hash beside it; the whole text is to be uploaded."""
    text = "zeile\n" * 20_000
    content = {"output": {"text": text}, "tool": "Bash"}
    [large] = fitted(content, ("output", "text"))
    assert (large["text"], large["size_bytes"], large["at"]) == (text, 120_000, ["output", "text"])
    assert text.startswith(content["output"]["text"])
    assert len(content["output"]["text"]) > 10_000
    assert "katod_cut" not in content


SIZES = st.sampled_from([0, 10, 3_000, 50_000, 100_000])
CHARACTERS = st.sampled_from(["x", "\x01", "é", "🙂", '"'])


@given(st.tuples(SIZES, SIZES, SIZES), CHARACTERS, st.booleans())
def test_every_content_fits_in_the_end(sizes, character, is_long):
    """Whichever of its texts are long; what is clipped without an upload is said."""
    long, other, items = (character * size for size in sizes)
    content = {"text": long, "name": other, "list": [items[:2_000]] * 100, "number": 1}
    before = dict(content)
    large = fitted(content, ("text",) if is_long else ())
    assert len(canonical(content)) <= LARGEST - 1_000
    assert [row["text"] for row in large] in ([], [long])
    clipped = content["name"] != before["name"] or content["list"] != before["list"]
    assert not clipped or content["katod_cut"] is True
