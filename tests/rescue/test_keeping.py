"""Tests for what a new copy takes over from the older one; what becomes of whole sessions is in `test_rescuer`."""

from contextlib import closing
from pathlib import Path

import pytest

from katod.model import SessionKey
from katod.rescue.copyfile import CopyWriter, SavedFile
from katod.rescue.folder import RescueFolder
from katod.rescue.keeping import KeptFile, TakenOver, keep_files
from katod.rescue.names import place_of


def test_of_a_copy_that_is_gone_nothing_is_kept(tmp_path: Path) -> None:
    """Its person may have deleted it while katod runs: the session is saved without it, and there is no second name."""
    folder, key = RescueFolder(tmp_path / "rescued"), SessionKey("claude", "mine")
    folder.make("claude", [])
    wanted = KeptFile("files/x", SavedFile("/x", "files/x", 1, 1, exact=True), is_earlier=False)
    with closing(CopyWriter(place := place_of(folder.path, key))) as writer:
        keeping = keep_files([wanted], place, writer)
        with pytest.raises(StopIteration) as done:
            next(keeping)
        assert done.value.value == TakenOver([], is_whole=False)
        folder.keep_aside(key)
    assert list(place.parent.iterdir()) == []
