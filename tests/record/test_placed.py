"""Problems of outputs, as the log has them."""

from pathlib import Path

import pytest

from katod.model import Options
from katod.record.placed import without_names
from katod.store.rows import OutputRow

ROW = OutputRow(
    0, 1, Path("/home/me/shop"), Path("/home/me/shop/notes/login-page.md"), "markdown", 1,
    Options(assets="login-page.assets"), {},
)  # fmt: skip


@pytest.mark.parametrize(
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
