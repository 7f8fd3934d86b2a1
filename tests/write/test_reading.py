"""Opening outputs for reading: only the file that katod wrote, and only where its path really leads."""

import os

import pytest

from katod.errors import OutputUnreadable
from katod.write.output import FileFingerprint, OutputPath, append, make, owner_number
from katod.write.reading import open_output, open_plain

pytestmark = pytest.mark.usefixtures("no_descriptor_is_left")

OURS = b"words that katod wrote\n" * 100


@pytest.fixture
def place(tmp_path):
    """Return the place of an output that was written."""
    found = OutputPath(tmp_path, ("docs", "t.md"))
    make(found, owner_number("a ledger"))
    return found


@pytest.fixture
def known(place):
    """Return what the ledger knows of it."""
    return append(place, OURS)


def read(place, known, names_session=lambda _: False):
    with open_output(place, known, names_session) as file:
        return file.read()


def refused(place, known):
    with pytest.raises(OutputUnreadable) as raised:
        read(place, known)
    return raised.value


def save(path, content):
    """Save a new file over another one, as editors do."""
    new = path.with_name("new")
    new.write_bytes(content)
    new.rename(path)


def test_what_katod_wrote_is_read_with_what_was_changed_in_it(place, known):
    """As long as it is the same file, whatever is in it now, and whether or not it may be written."""
    place.path.write_bytes(b"quite another text")
    place.path.chmod(0o400)
    assert read(place, known) == b"quite another text"


def test_a_new_file_with_what_katod_wrote_last_is_read(place, known):
    """Wherever that is in it now."""
    save(place.path, b"a heading\n" + OURS + b"my note\n")
    assert read(place, known).endswith(b"my note\n")


def test_any_other_new_file_has_to_name_the_session(place, known):
    """The caller knows how its beginning does so; the same few last words are not enough."""
    save(place.path, b"other words\n" + OURS[-64:])
    assert refused(place, known).what == "is not the transcript that katod wrote"
    assert read(place, known, lambda head: head.startswith(b"other")).startswith(b"other words")


def test_what_is_not_there_says_so(place, known):
    """Callers tell it from a file that is refused."""
    place.path.unlink()
    assert refused(place, known).is_gone
    place.path.parent.rmdir()
    assert refused(place, known).is_gone


def test_nothing_was_written_of_an_output_that_is_not_made_yet(place):
    """So no file can be it."""
    save(place.path, b"words\n")
    assert not refused(place, FileFingerprint()).is_gone


def test_links_and_second_names_are_refused(place, known, tmp_path):
    """In every part of the path below the root, and for files that no ledger knows, too; the root may be a link."""
    (tmp_path / "link").symlink_to(tmp_path)
    assert read(place._replace(root=tmp_path / "link"), known) == OURS
    for parts, reason in {("link", "docs", "t.md"): "link is a symbolic link", ("docs",): "regular file"}.items():
        with pytest.raises(OutputUnreadable, match=reason):
            open_plain(place._replace(parts=parts))
    os.link(place.path, tmp_path / "second")
    assert "more than one hard link" in refused(place, known).what
    with pytest.raises(OutputUnreadable, match="more than one hard link"):
        open_plain(place)


def test_a_pipe_is_refused_without_waiting(place, known):
    """Nobody writes to it."""
    place.path.unlink()
    os.mkfifo(place.path)
    assert "is not a regular file" in refused(place, known).what


def test_a_folder_that_is_gone_is_not_made_to_look_into_it(place):
    """Neither for an output nor for another file: the disk may not be mounted."""
    place.path.unlink()
    place.path.parent.rmdir()
    with pytest.raises(OutputUnreadable, match="no longer exists"):
        open_plain(place)
    assert refused(place, FileFingerprint()).is_gone
    assert not place.path.parent.exists()
