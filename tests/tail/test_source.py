"""A source is opened as lines or as a document."""

import os

import pytest

from katod.errors import SourceError, SourceGone
from katod.tail.reader import DocumentFile, SourceFile, open_source


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("s.jsonl", '{"a":1}\n', SourceFile),
        ("s.json", '{"a":1}', DocumentFile),
        ("s.jsonl", '{\n "a": 1\n}', DocumentFile),
        ("s.jsonl", '{\r\n "a": 1\r\n}', DocumentFile),
    ],
)
def test_a_file_is_opened_by_its_name_and_its_first_bytes(tmp_path, name, content, kind):
    """An indented object is a document, whatever its file name is."""
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode())
    with open_source(str(path)) as file:
        assert type(file) is kind


def test_a_missing_source_is_gone(tmp_path):
    """Agents delete their files, so there is a separate error for that."""
    with pytest.raises(SourceGone), open_source(str(tmp_path / "gone.jsonl")):
        pass


def a_folder(path):
    path.mkdir()


def a_link(path):
    path.with_suffix(".target").write_text("{}\n")
    path.symlink_to(path.with_suffix(".target"))


def a_fifo(path):
    os.mkfifo(path)


@pytest.mark.parametrize("make", [a_folder, a_link, a_fifo], ids=lambda make: make.__name__)
def test_what_is_no_regular_file_is_refused(tmp_path, make):
    """Links are not followed, and opening a FIFO does not block."""
    path = tmp_path / "s.jsonl"
    make(path)
    with pytest.raises(SourceError) as caught, open_source(str(path)):
        pass
    assert not isinstance(caught.value, SourceGone)
    assert caught.value.path == str(path)


def test_the_descriptor_is_closed_after_the_step(tmp_path):
    """The descriptor is closed even if the step fails."""
    path = tmp_path / "s.jsonl"
    path.write_text("{}\n")
    descriptors = []

    def step():
        with open_source(str(path)) as file:
            descriptors.append(file.fd)
            raise KeyError

    with pytest.raises(KeyError):
        step()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptors[0])
