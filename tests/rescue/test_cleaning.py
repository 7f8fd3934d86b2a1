"""Tests for native records without secrets: the agent can still read them."""

import json
import re
import sys
from hashlib import blake2b
from typing import Any

import orjson
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from katod.formats.redact.redactor import finished
from katod.model import Line
from katod.rescue.cleaning import (
    Cleaning,
    cleaned_line,
    cleaned_long_line,
    cleaned_long_text,
    cleaned_text,
    cleaned_value,
)
from katod.tail.decode import decode
from tests.examples import examples

TOKEN = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
GONE = "[REDACTED:github-token]"


def test_what_has_no_secret_is_the_same_object() -> None:
    """So that a file without one stays byte for byte what it was, however it is written."""
    line = b'{"type": "user",  "text":"gr\\u00fc\\u00dfe"}\n'
    assert cleaned_line(line) is line
    assert cleaned_text(line) is line
    value = {"a": ["b", {"c": 1}]}
    assert cleaned_value(value) is value


def test_a_secret_is_replaced_in_texts_alone() -> None:
    """What names a record or signs it stays, even if it looks like a secret."""
    record = {
        "uuid": TOKEN,
        "sessionId": TOKEN,
        "message": {"content": f"use {TOKEN}", "id": TOKEN},
        "cwd": f"/x/{TOKEN}",
    }
    cleaned = json.loads(cleaned_line(json.dumps(record).encode() + b"\n"))
    assert cleaned == record | {"message": {"content": f"use {GONE}", "id": TOKEN}}
    assert cleaned_line(json.dumps(record).encode() + b"\n").endswith(b"\n")


def test_a_line_that_is_no_json_is_cleaned_as_text() -> None:
    """A torn line keeps no secret, either."""
    assert cleaned_line(f'{{"text":"{TOKEN}'.encode()) == f'{{"text":"{GONE}'.encode()


def test_bytes_that_are_no_text_stay() -> None:
    """An image is no text, whatever is in it."""
    data = b"\x89PNG\0" + TOKEN.encode() + b"\xff"
    assert cleaned_text(data) is data


@pytest.mark.parametrize(
    "codec", ["utf-8", "utf-8-sig", "latin-1", "cp1252", "koi8-r", "shift-jis", "gb18030", "utf-16"]
)
def test_a_text_keeps_no_secret_in_any_encoding(codec: str) -> None:
    """Only the secret is replaced, whatever the other bytes are, also if a character was cut at the end."""
    kind = {"koi8-r": "размер", "shift-jis": "大きさ", "gb18030": "大小"}.get(codec, "Größe")
    for end in (b"", b"\xe4"):
        data = f"{kind}\nGITHUB_TOKEN={TOKEN}\n{kind} ".encode(codec) + end
        expected = f"{kind}\nGITHUB_TOKEN={GONE}\n{kind} ".encode(codec) + end
        assert cleaned_text(data) == expected
        assert stepped(cleaned_long_text(data))[0] == expected
        harmless = f"{kind} = {kind}\n".encode(codec) + end
        assert cleaned_text(harmless) is harmless
        assert stepped(cleaned_long_text(harmless))[0] is harmless


def test_the_data_of_an_image_stays() -> None:
    """As base64, it may look like anything."""
    image = {"type": "base64", "media_type": "image/png", "data": TOKEN}
    assert cleaned_value([image, TOKEN]) == [image, GONE]
    assert cleaned_value([{"data": TOKEN}]) == [{"data": GONE}]


LOOKS_SECRET = "AKIAQYLPMN5HHHFPZAM2/" * 12  # in base64, anything may


@pytest.mark.parametrize(
    "picture",
    [
        {"type": "base64", "media_type": "image/png", "data": LOOKS_SECRET},
        {"type": "base64", "data": LOOKS_SECRET, "media_type": "application/pdf"},
        {"mimeType": "audio/wav", "data": LOOKS_SECRET},
        {"base64": LOOKS_SECRET, "type": "image/jpeg", "originalSize": 3},
        {"thoughtSignature": LOOKS_SECRET},
    ],
)
@pytest.mark.parametrize("options", [0, orjson.OPT_INDENT_2])
def test_base64_is_not_searched_and_stays_beside_a_secret(picture: dict[str, Any], options: int) -> None:
    """A picture stays as it is also in what a tool returned, and in a record of which something else is replaced."""
    for record in ({"toolUseResult": picture}, {"toolUseResult": [picture, {"text": TOKEN}]}):
        line = orjson.dumps(record, option=options) + b"\n"
        cleaned = cleaned_line(line)
        assert orjson.loads(cleaned) == orjson.loads(line.replace(TOKEN.encode(), GONE.encode()))
        assert (cleaned is line) is (TOKEN.encode() not in line)
        assert orjson.loads(stepped(cleaned_long_line(line))[0]) == orjson.loads(cleaned)


def test_base64_that_is_no_picture_is_searched() -> None:
    """Nothing beside it says that it is one."""
    found = cleaned_line(orjson.dumps({"input": {"data": LOOKS_SECRET, "type": "image/png "}}))
    assert b"[REDACTED:" in found


@pytest.mark.parametrize("written", ["w", r"\u0077"])
def test_a_record_that_contains_what_stands_for_something_loses_nothing(written: str) -> None:
    """However it is written: it is not taken for the base64, or the long text, of this record."""
    for mark in ("0" * 16, blake2b(b"another", digest_size=8).hexdigest()):
        texts = [f"what is sealed of {mark}, number {number}" for number in (0, 7)]
        texts += [f"a long text of {mark}, number {number}" for number in (0, 7)]
        record = {"texts": texts, "text": TOKEN, "more": "x " * 200_000, "type": "image/png", "data": LOOKS_SECRET}
        line = orjson.dumps(record).replace(b"what", written.encode() + b"hat")
        expected = record | {"text": GONE}
        assert orjson.loads(cleaned_line(line)) == expected
        assert orjson.loads(stepped(cleaned_long_line(line))[0]) == expected


@pytest.mark.parametrize("text", [f"the key {TOKEN}", "nothing", "words " * 60_000 + TOKEN, "words " * 60_000])
@pytest.mark.parametrize("beside", ["say", f"say {TOKEN}"])
def test_thinking_goes_with_its_signature(text: str, beside: str) -> None:
    """A signature that no longer fits would be refused by the model: signed thinking that changed goes as a whole.

    However long it is, and whether or not a secret is elsewhere, too.
    """
    thinking = {"type": "thinking", "thinking": text, "signature": "c2ln"}
    content: list[Any] = [thinking, {"type": "text", "text": beside}]
    left = [] if TOKEN in text else [thinking]
    expected = {"content": [*left, {"type": "text", "text": beside.replace(TOKEN, GONE)}]}
    assert cleaned_value({"content": content}) == expected
    assert orjson.loads(finished(cleaned_long_line(orjson.dumps({"content": content})))) == expected


def test_of_anything_else_only_the_signature_goes() -> None:
    """A call has to stay for its result."""
    part = {"functionCall": {"name": "run", "args": {"command": f"echo {TOKEN}"}}, "thoughtSignature": "c2ln"}
    assert cleaned_value({"parts": [part]}) == {
        "parts": [{"functionCall": {"name": "run", "args": {"command": f"echo {GONE}"}}}]
    }


def test_what_tools_are_given_and_return_is_text_whatever_its_name() -> None:
    """A secret there may be called `id` or `model`."""
    call = {"type": "tool_use", "id": TOKEN, "input": {"id": TOKEN, "deep": [{"model": TOKEN}]}}
    cleaned = cleaned_value({"content": [call], "toolUseResult": {"version": TOKEN}})
    assert cleaned == {
        "content": [call | {"input": {"id": GONE, "deep": [{"model": GONE}]}}],
        "toolUseResult": {"version": GONE},
    }
    for name in ("mcpMeta", "attachment", "resultDisplay", "data", "anything"):
        assert cleaned_value({name: {"id": TOKEN, "deep": {"session_id": TOKEN}}}) == {
            name: {"id": GONE, "deep": {"session_id": GONE}}
        }
    assert cleaned_value({"mimeType": "text/plain", "data": TOKEN}) == {"mimeType": "text/plain", "data": GONE}


def test_a_line_with_a_byte_that_is_no_text_keeps_no_secret() -> None:
    """Nor does it lose the byte."""
    assert cleaned_line(b'{"text":"\xff ' + TOKEN.encode() + b'"}') == b'{"text":"\xff ' + GONE.encode() + b'"}'


@pytest.mark.parametrize("long", [False, True])
@pytest.mark.parametrize(
    "odd", [rb"\ud83d", rb"\uDE00", rb"\ude00\ud83d", b"\xff", rb"\\\udcff \ud83d\ude00 \ud83d"], ids=repr
)
def test_what_strict_json_has_no_place_for_keeps_no_signature_and_stays(odd: bytes, *, long: bool) -> None:
    """Half a character, or a byte that is no text: signed thinking that changed goes as it does without that."""
    thinking = {"type": "thinking", "thinking": f"the key {TOKEN}", "signature": "c2ln" * 100}
    part = {"thoughtSignature": "c2ln", "text": f"ODD {TOKEN}" + " words" * (60_000 if long else 1)}
    content: list[Any] = [thinking, {"type": "text", "text": "ODD"}, part]
    line = orjson.dumps({"ODD": 1, "id": f"{TOKEN} ODD", "content": content}).replace(b"ODD", odd) + b"\n"
    left = [content[1], {"text": part["text"].replace(TOKEN, GONE)}]
    cleaned = finished(cleaned_long_line(line)) if long else cleaned_line(line)
    there = orjson.dumps({"ODD": 1, "id": f"{TOKEN} ODD", "content": left}) + b"\n"
    assert decode(Line(0, 0, cleaned)) == decode(Line(0, 0, there.replace(b"ODD", odd)))
    assert json.loads(cleaned.decode("utf-8", "replace"))["id"].startswith(TOKEN)
    halves = [name.lower() for name in re.findall(rb"\\u[0-9a-fA-F]{4}|\xff", odd)]
    assert all(name in cleaned or b"\xf0\x9f\x98\x80" in cleaned for name in halves)


ESCAPES = st.lists(st.sampled_from([r"\\", r"\ud83d", r"\uDE00", r"\"", r"\n", r"\u0041", "ud83d", "x"]), max_size=12)


@examples(20, 1_000)
@given(ESCAPES)
@example([r"\\", r"\ud83d", r"\uDE00"])
@example([r"\\", "ud83d", r"\uDE00", r"\ud83d", r"\ud83d", r"\uDE00"])
def test_half_a_character_stays_whatever_is_around_it(parts: list[str]) -> None:
    """A backslash that is escaped begins none, and one that has its other half is none."""
    line = json.dumps({"text": f"ODD {TOKEN}"}).replace("ODD", "".join(parts))
    assert json.loads(cleaned_line(line.encode())) == json.loads(line.replace(TOKEN, GONE))


def test_other_escapes_cost_no_more_because_of_half_a_character() -> None:
    """Or a long line with one, in which nothing else can be done meanwhile, would block the daemon for seconds."""

    def calls(half: bytes) -> int:
        """Return how many functions are called for a line with many escapes."""
        line = b'{"text":"%b%b%b"}' % (half, rb"\n\"\\\ud83d\ude00 " * 1000, TOKEN.encode())
        found: list[str] = []
        sys.setprofile(lambda _, event, __: found.append(event))
        try:
            cleaned = cleaned_line(line)
        finally:
            sys.setprofile(None)
        assert GONE.encode() in cleaned
        return found.count("call")

    assert calls(rb"\ud83d") < calls(b"") + 100


SHAPES = st.lists(st.sampled_from(['{"a":%s}', "[%s]", '["b",%s]', '{"id":"1","a":%s,"z":2}']), min_size=1, max_size=4)


@examples(20, 500)
@given(
    SHAPES, st.integers(0, 1_100), st.sampled_from(["", r"\ud83d", r"\ude00 \ud83d", "ü"]), st.booleans(),
    st.booleans(), st.booleans(),
)  # fmt: skip
@example(['{"a":%s}'], 255, "", True, True, False)
@example(["[%s]"], 255, r"\ud83d", True, True, True)
@example(['{"a":%s}'], 1_015, "", True, True, False)
@example(['{"a":%s}'], 1_015, r"\ud83d", True, True, True)
@example(['{"a":%s}'], 5_000, "", True, False, False)
def test_a_record_is_cleaned_however_deeply_it_is_nested(
    shapes: list[str], depth: int, odd: str, has_secret: bool, is_signed: bool, is_long: bool
) -> None:
    """One that can be read keeps no secret and no signature of what changed, and nothing else of it changes."""
    text = f"say {TOKEN if has_secret else 'nothing'} {odd}" + " words" * (60_000 if is_long else 1)
    deep = f'"{text}"'
    for level in range(depth):
        deep = shapes[level % len(shapes)].replace("%s", deep)
    signed = '{"type":"thinking","thinking":"DEEP","signature":"c2ln"},' if is_signed else ""
    line = f'{{"content":[{signed}{{"text":"x"}}],"input":{deep}}}\n'.replace("DEEP", text).encode()
    cleaned = finished(cleaned_long_line(line)) if is_long else cleaned_line(line)
    is_read = decode(Line(0, 0, line.rstrip()))[0].value is not None
    expected = line.replace(TOKEN.encode(), GONE.encode())
    if has_secret and signed and is_read:
        expected = expected.replace(signed.replace("DEEP", text).replace(TOKEN, GONE).encode(), b"")
    assert cleaned == expected or (not is_read and TOKEN.encode() not in cleaned)
    assert (cleaned is line) is not has_secret


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(0, 9) | st.sampled_from(["", "words", TOKEN]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "input", TOKEN]), inner, max_size=3)
    ),
)


@examples(20, 500)
@given(VALUES)
@example({TOKEN: None})
@example([{"env": {TOKEN: None, "a": None}}])
def test_no_secret_stays_wherever_it_is_in_a_record(value: Any) -> None:
    """Also as the name of a member, whatever its value is."""
    line = orjson.dumps({"type": "assistant", "given": value}) + b"\n"
    for done in (cleaned_line(line), finished(cleaned_long_line(line))):
        assert TOKEN.encode() not in done
        assert (done is line) == (TOKEN.encode() not in line)


@pytest.mark.parametrize("taken", ["\U0010d83d", "\U0010e0ff"])
def test_a_character_that_would_stand_for_half_a_one_stays(taken: str) -> None:
    """However it is written: the half one is then a question mark."""
    for written in (taken.encode(), json.dumps(taken)[1:-1].encode()):
        cleaned = cleaned_line(b'{"text":"\\ud83d %b %b"}' % (written, TOKEN.encode()))
        assert json.loads(cleaned) == {"text": f"\ufffd {taken} {GONE}"}


def test_half_a_character_changes_nothing_where_no_secret_is() -> None:
    """Even if it looks as if there were one: the line stays byte for byte what it was."""
    line = b'{"text":  "\\ud83d password = x", "id": "%b"}' % TOKEN.encode()
    assert cleaned_line(line) is line
    assert finished(cleaned_long_line(line)) is line


def stepped(cleaning: Cleaning) -> tuple[bytes, int]:
    """Return the result of a cleaning, and its steps."""
    steps = 0
    while True:
        try:
            next(cleaning)
        except StopIteration as done:
            return done.value, steps
        steps += 1


def test_long_lines_and_texts_are_cleaned_in_steps() -> None:
    """With the same result as short ones, where no secret is cut."""
    text = "".join(f"line {number} of a long text\n" for number in range(20_000))
    secret = text[: len(text) // 2] + f"use {TOKEN}\n" + text[len(text) // 2 :]
    record = {"uuid": TOKEN, "message": {"content": [{"type": "text", "text": secret}, {"type": "text", "text": text}]}}
    line = json.dumps(record).encode() + b"\n"
    done, steps = stepped(cleaned_long_line(line))
    assert json.loads(done) == json.loads(line.replace(f"use {TOKEN}".encode(), f"use {GONE}".encode()))
    assert steps > 10
    done, steps = stepped(cleaned_long_text(secret.encode()))
    assert done == secret.replace(TOKEN, GONE).encode()
    assert steps > 5


def test_a_long_line_without_a_secret_is_the_same_object() -> None:
    """Even if it looks as if it had one."""
    line = json.dumps({"text": "password = x\n" * 30_000, "data": "x" * 400_000}).encode()
    for data in (line, b"x" * 400_000, b"\xff" + line):
        assert stepped(cleaned_long_text(data))[0] is data
    assert stepped(cleaned_long_line(line))[0] is line
    torn = line[:-5]
    assert stepped(cleaned_long_line(torn))[0] is torn


def test_a_record_of_very_many_values_is_cleaned_in_steps() -> None:
    """However small each of them is."""
    record = {"messages": [{"id": str(number), "text": "words"} for number in range(5000)], "text": TOKEN}
    done, steps = stepped(cleaned_long_line(orjson.dumps(record)))
    assert orjson.loads(done) == record | {"text": GONE}
    assert steps > 100
