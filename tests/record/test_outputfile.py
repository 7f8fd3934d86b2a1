"""Where outputs are: what was done to them, and their problems as the log has them."""

import shutil
from pathlib import Path

import pytest

from katod.model import Options
from katod.record.output import Output
from katod.record.outputfile import compared, integrity, is_reverted, output_path, without_names
from katod.store.rows import UNMARKED, OutputRow
from katod.write.output import append, make, owner_number
from tests.looping import each

ROW = OutputRow(
    0, 1, Path("/home/me/shop"), Path("/home/me/shop/notes/login-page.md"), "markdown", 1,
    Options(assets="login-page.assets"), {},
)  # fmt: skip


@each(
    ("problem", "shown"),
    [
        ("cannot be written: No space left on device", "cannot be written: No space left on device"),
        ("login-page.md is not a regular file", "… is not a regular file"),
        ("login-page.assets is a symbolic link", "… is a symbolic link"),
        ("notes is not a directory", "… is not a directory"),
        ("the directory /home/me/shop does not exist", "the directory … does not exist"),
        ("/home/me/shop/notes/login-page.md: keynotes.md", "…: keynotes.md"),
    ],
)
def test_names_are_left_out(problem, shown):
    """Paths, and the names of files and directories in them, may have a title in them; other words stay."""
    assert without_names(problem, ROW) == shown


@pytest.fixture
def written(tmp_path):
    """Return an output to which something was written twice."""
    return written_to(tmp_path)


def written_to(folder, marker=""):
    if marker:
        (folder / marker).touch()
    output = Output(ROW._replace(root=folder, path=folder / "login-page.md", marker=marker))
    for words in (b"## User\n\nfirst\n", b"\n## User\n\nthen\n"):
        output.adopt(append(output.place, words) if output.row.ino else _begun(output.row, words))
    return output.row


def _begun(row, words):
    make(output_path(row), owner_number("/state/ledger.db"))
    return append(output_path(row), words)


def test_an_older_copy_is_told_from_other_edits(written):
    """An output that lacks what was written last is reverted; one that was left alone, or has more, is not."""
    whole = written.path.read_bytes()
    assert not is_reverted(written)
    written.path.write_bytes(whole + b"my own words\n")
    assert not is_reverted(written)
    written.path.write_bytes(whole.partition(b"\n## User\n\nthen")[0])
    assert is_reverted(written)


def test_an_output_that_was_saved_anew_is_not_as_it_was_written(written):
    """Only its end is compared: something may have been taken out of it, by as many other characters."""
    assert integrity(written) == "whole"
    text = written.path.read_bytes()
    written.path.rename(written.path.with_name("older"))
    written.path.write_bytes(text)
    assert integrity(written) == "changed"


def test_an_output_that_cannot_be_opened_is_not_said_to_be_reverted(written):
    """What is in its place now may be anything: that is another problem, which is shown as such."""
    written.path.unlink()
    assert not is_reverted(written)
    written.path.mkdir()
    assert not is_reverted(written)


def test_an_output_in_an_unmarked_folder_needs_no_marker(written):
    """An output may be in a folder in which katod leaves no file of its own: it is found there all the same."""
    assert output_path(written._replace(marker=UNMARKED)).marker == ""
    assert output_path(written._replace(marker=".katod-1")).marker == ".katod-1"


@each(
    ("following", "intent", "expected"),
    [
        (b"\n## User\n\nmore\n", b"\n## User\n\nmore\n", True),
        (b"\n## Us", b"\n## User\n\nmore\n", True),
        (b"", b"\n## User\n\nmore\n", True),
        (b"\n## User\n\nmore\nmine\n", b"\n## User\n\nmore\n", False),
        (b"mine\n", b"\n## User\n\nmore\n", False),
        (b"\n\n## User\n\nmore\n", b"\n## User\n\nmore\n", False),
        (b"mine\n", None, False),
    ],
)
def test_what_katod_is_writing_may_be_in_an_output(tmp_path_factory, following, intent, expected):
    """All of it or a part, and no more: its row says that it is written a little later."""
    row = written_to(tmp_path_factory.mktemp("out"))
    row.path.write_bytes(row.path.read_bytes() + following)
    assert (integrity(row._replace(intent=intent)) == "whole") == expected


def test_katod_may_have_ended_a_line_of_others_first(tmp_path):
    """In an output that ends within a line, which its person wrote and katod has seen."""
    output = Output(written_to(tmp_path))
    output.row.path.write_bytes(output.row.path.read_bytes() + b"mine")
    output.adopt_change(compared(output.row))
    row = output.row._replace(intent=b"## User\n\nmore\n")
    append(output_path(row), row.intent)
    assert row.path.read_bytes().endswith(b"mine\n## User\n\nmore\n")
    assert integrity(row) == "whole"
    assert integrity(row._replace(intent=b"other\n")) == "changed"


@each(
    ("change", "marker", "expected"),
    [
        ("deleted", "", "changed"),
        ("linked", "", "changed"),
        ("a directory", "", "changed"),
        ("a file above", "", "changed"),
        ("without marker", ".katod-0123456789abcdef", "unknown"),
        ("without root", ".katod-0123456789abcdef", "unknown"),
        ("without root", "", "changed"),
        ("without its disk", "", "unknown"),
    ],
)
def test_a_disk_that_is_away_says_nothing(tmp_path_factory, change, marker, expected):
    """The output directory may be on one; a project that is gone was deleted, if it was on the disk that is there."""
    root = tmp_path_factory.mktemp("out") / "root"
    root.mkdir()
    row = written_to(root, marker)
    if change in ("deleted", "linked", "a directory"):
        row.path.unlink()
    if change == "linked":
        row.path.symlink_to(root.parent)
    elif change == "a directory":
        row.path.mkdir()
    elif change == "without marker":
        row.path.unlink()
        (root / marker).unlink()
    elif change != "deleted":
        shutil.rmtree(root)
    if change == "a file above":
        root.write_bytes(b"")
    elif change == "without its disk":
        row = row._replace(dev=row.dev + 1)
    assert integrity(row) == expected
