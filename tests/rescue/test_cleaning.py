"""Tests for native records without secrets: the agent can still read them."""

import json
from typing import Any

import pytest

from katod.rescue.cleaning import cleaned_line, cleaned_text, cleaned_value

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
    data = b"\x89PNG" + TOKEN.encode() + b"\xff"
    assert cleaned_text(data) is data


def test_the_data_of_an_image_stays() -> None:
    """As base64, it may look like anything."""
    image = {"type": "base64", "media_type": "image/png", "data": TOKEN}
    assert cleaned_value([image, TOKEN]) == [image, GONE]
    assert cleaned_value([{"data": TOKEN}]) == [{"data": GONE}]


@pytest.mark.parametrize("text", [f"the key {TOKEN}", "nothing"])
def test_thinking_goes_with_its_signature(text: str) -> None:
    """A signature that no longer fits would be refused by the model: signed thinking that changed goes as a whole."""
    thinking = {"type": "thinking", "thinking": text, "signature": "c2ln"}
    content: list[Any] = [thinking, {"type": "text", "text": f"say {TOKEN}"}]
    left = [] if TOKEN in text else [thinking]
    assert cleaned_value({"content": content}) == {"content": [*left, {"type": "text", "text": f"say {GONE}"}]}


def test_of_anything_else_only_the_signature_goes() -> None:
    """A call has to stay for its result."""
    part = {"functionCall": {"name": "run", "args": {"command": f"echo {TOKEN}"}}, "thoughtSignature": "c2ln"}
    assert cleaned_value({"parts": [part]}) == {
        "parts": [{"functionCall": {"name": "run", "args": {"command": f"echo {GONE}"}}}]
    }
