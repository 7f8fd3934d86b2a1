"""Codex: pictures of the person, whose data is in the record for the model, just before that of the message."""

import base64

from katod import events as ev
from tests.looping import each
from tests.support.records import Codex, CodexLegacy
from tests.support.translated import translated

DATA = base64.b64encode(b"picture").decode()
URL = f"data:image/png;base64,{DATA}"


def sent(make, *urls):
    """Return the message for the model: pictures, then words."""
    content = [{"type": "input_image", "image_url": url} for url in urls] + [{"type": "input_text", "text": "look"}]
    return make.record("response_item", {"type": "message", "role": "user", "content": content})


def typed(make, *paths):
    """Return the message of the person, which names the pictures."""
    if isinstance(make, CodexLegacy):
        return make.record("event_msg", {"type": "user_message", "message": "look", "local_images": [*paths]})
    content = [{"type": "local_image", "path": path} for path in paths] + [{"type": "text", "text": "look"}]
    return make.record(
        "event_msg", {"type": "item_completed", "item": {"type": "UserMessage", "id": "u", "content": content}}
    )


@each("form", [Codex, CodexLegacy])
def test_a_picture_comes_with_the_message_that_names_it(form):
    """It has its name from the message and its data from the record before, across a restart between them."""
    make = form()
    [said] = [
        one
        for one in translated("codex", make.meta(), sent(make, URL), typed(make, "/me/pic.png"))
        if one.kind == ev.USER_MESSAGE
    ]
    assert [(row["name"], row["mediaType"]) for row in said.payload["attachments"]] == [("/me/pic.png", "image/png")]
    assert [(media, data) for _, media, data in said.blobs] == [("image/png", DATA)]


def test_a_picture_is_not_taken_for_that_of_a_later_message():
    """Data is shown with the words that it was sent with when the agent answers, and is forgotten then."""
    make = Codex()
    records = [make.meta(), sent(make, URL), make.says("well"), typed(make, "/me/other.png")]
    [alone, said] = [one for one in translated("codex", *records) if one.kind == ev.USER_MESSAGE]
    assert [(media, data) for _, media, data in alone.blobs] == [("image/png", DATA)]
    assert [row["type"] for row in alone.payload["attachments"]] == ["image"]
    assert said.payload["attachments"] == [{"type": "image", "name": "/me/other.png"}]
    assert said.blobs == ()
