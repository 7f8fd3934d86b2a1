"""What files begin with that katod wrote."""

import pytest

from katod.events import USER_MESSAGE, Event, SessionRef
from katod.formats.heads import is_printed
from katod.formats.registry import FORMATS, open_format
from katod.metadata import SessionMetadata
from katod.model import Options, SessionKey

KEY = SessionKey("claude", "6f1c2c1e", "a1b2")


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("title", ["", "words", 'a\n---\n"b"', "x" * 400])
def test_each_format_is_recognised_by_itself_only(form, title):
    """Whatever the title is; a file of a person, or of another format, is none of it."""
    metadata = SessionMetadata(KEY, {"title": title, "cwd": "/home/me/app", "branch": "main", "model": "m"})
    printer = open_format(form, Options())
    event = Event("1", USER_MESSAGE, SessionRef("claude", "6f1c2c1e"), {"text": "words"}, {})
    text = (printer.head(metadata, "2026-02-10T22:36:18.000Z") + printer.event(event, metadata)).encode()
    assert [name for name in FORMATS if is_printed(name, text)] == [form]
    assert not any(is_printed(form, other) for other in (b"", b"my notes", b"---\ntitle: mine\n---\n", b"\n" + text))
