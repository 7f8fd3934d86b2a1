"""The formats by name."""

import pytest

from katod.config import parse_settings
from katod.events import USER_MESSAGE, Event, SessionRef
from katod.formatspec import FORMATS, SHORT_FORMATS, format_of, recorded_formats, split_name, suffixes_in_chat
from katod.metadata import SessionMetadata
from katod.model import Options, SessionKey
from katod.record.export import render_all

KEY = SessionKey("claude", "6f1c2c1e", "a1b2")


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("title", ["", "words", 'a\n---\n"b"', "x" * 400])
def test_each_format_is_recognised_by_itself_only(form, title):
    """Whatever the title is; a file of a person, or of a format with another suffix, is none of it."""
    metadata = SessionMetadata(KEY, {"title": title, "cwd": "/home/me/app", "branch": "main", "model": "m"})
    event = Event("1", USER_MESSAGE, SessionRef(*KEY), {"text": title or "words"}, {})
    text = "".join(render_all([(event, metadata)], form, Options())).encode()
    alike = [name for name, spec in FORMATS.items() if spec.suffix == FORMATS[form].suffix]
    assert [name for name, spec in FORMATS.items() if spec.is_printed(text)] == alike
    others = (b"", b"my notes", b"---\ntitle: mine\n---\n", b"\n" + text)
    assert not any(FORMATS[form].is_printed(other) for other in others)


@pytest.mark.parametrize("name", FORMATS)
def test_the_suffix_of_a_file_name_chooses_its_format(name):
    """In any case of letters; what comes before the suffix is the name."""
    spec = FORMATS[name]
    assert format_of(f"talk{spec.suffix}").suffix == spec.suffix
    assert format_of(f"TALK{spec.suffix.upper()}").suffix == spec.suffix
    assert split_name(f"my.talk{spec.suffix}") == ("my.talk", spec.suffix)
    assert FORMATS[SHORT_FORMATS[spec.short]].suffix == spec.suffix


def test_the_longest_suffix_chooses():
    """A stream, or events for a room, are no JSONL, although their names end like one."""
    names = "talk.jsonl", "talk.stream.jsonl", "stream.jsonl", "talk.matrix.jsonl"
    assert [format_of(name).name for name in names] == ["jsonl", "stream", "jsonl", "matrix"]


def test_a_name_that_is_only_a_suffix_or_has_another_one_is_of_no_format():
    """The stem of such a name ends where its last extension begins."""
    assert format_of(".md") is format_of("talk") is format_of("talk.json") is None
    assert split_name("talk.v2.json") == ("talk.v2", ".json")
    assert split_name(".md") == (".md", "")


def test_the_longest_suffix_of_a_name_counts():
    """A file of lifecycle lines is no JSONL."""
    assert format_of("talk.lifecycle.jsonl").name == "lifecycle"
    assert split_name("talk.lifecycle.jsonl") == ("talk", ".lifecycle.jsonl")


def test_the_chat_knows_three_suffixes():
    """All other formats are for the shell."""
    assert suffixes_in_chat() == [".md", ".jsonl", ".html"]


def test_recordings_are_written_in_formats_that_can_be_appended_to(tmp_path):
    """The configuration takes exactly those."""
    assert recorded_formats()[:2] == ["markdown", "jsonl"]
    assert not any(FORMATS[name].has_end or FORMATS[name].is_document for name in recorded_formats())
    for name in recorded_formats():
        assert parse_settings(f'[output]\nformat = "{name}"'.encode(), tmp_path).output.format == name
