"""Lines of the format, and what is sent of them."""

import orjson

from katod.matrix.lines import lines_of, sendable

ROOT, REPLY = "11111111-1111-5111-8111-111111111111", "22222222-2222-5222-8222-222222222222"
RELATION = {
    "rel_type": "m.thread", "event_id": f"$katod:{ROOT}", "is_falling_back": False,
    "m.in_reply_to": {"event_id": f"$katod:{REPLY}"},
}  # fmt: skip


def a_line(**more):
    """Return a line with this content and these keys."""
    content = {"text": "hello", "m.relates_to": RELATION} | more.pop("content", {})
    row = {"txn_id": "t", "type": "x.prompt", "content": content} | more
    [line] = lines_of(orjson.dumps(row).decode() + "\n")
    return line


def test_references_become_the_ids_of_the_server():
    """Both that to the thread and that to what is answered."""
    line = a_line()
    assert line.references == [ROOT, REPLY]
    assert line.state_key is None
    sent = sendable(line, {ROOT: "$root", REPLY: "$reply"}, {})
    assert sent == {
        "text": "hello",
        "m.relates_to": {
            "rel_type": "m.thread", "event_id": "$root", "is_falling_back": False,
            "m.in_reply_to": {"event_id": "$reply"},
        },
    }  # fmt: skip
    assert line.content["m.relates_to"] == RELATION  # it may be sent again


def test_what_the_server_refused_is_not_referred_to():
    """Without the answered event, the event is in its thread alone; without the thread's, it is an answer alone."""
    assert sendable(a_line(), {ROOT: "$root", REPLY: ""}, {})["m.relates_to"] == {
        "rel_type": "m.thread", "event_id": "$root",
    }  # fmt: skip
    assert sendable(a_line(), {ROOT: "", REPLY: "$reply"}, {})["m.relates_to"] == {
        "m.in_reply_to": {"event_id": "$reply"}
    }
    assert sendable(a_line(), {}, {}) == {"text": "hello"}


def test_the_address_of_an_upload_is_beside_what_was_uploaded():
    """At the path of the text, also in objects and lists, and not at all if the upload was refused."""
    large = [
        {"sha256": "a", "media_type": "text/plain", "text": "long", "at": ["text"]},
        {"sha256": "b", "media_type": "image/png", "base64": "aGk=", "at": ["images", 0, "data"]},
        {"sha256": "c", "media_type": "text/plain", "text": "no", "at": ["input", "text"]},
    ]
    line = a_line(content={"images": [{"n": 1}], "input": {"text": "n"}}, large=large)
    sent = sendable(line, {}, {"a": "mxc://h/a", "b": "mxc://h/b", "c": ""})
    assert sent == {
        "text": "hello", "mxc_uri": "mxc://h/a", "images": [{"n": 1, "mxc_uri": "mxc://h/b"}], "input": {"text": "n"},
    }  # fmt: skip
    assert [(one.is_text, one.data) for one in line.large] == [(True, "long"), (False, "aGk="), (True, "no")]


def test_a_state_event_has_a_key_that_may_be_empty():
    """An event without one is no state."""
    assert a_line(state_key="").state_key == ""
    assert list(lines_of("")) == []
