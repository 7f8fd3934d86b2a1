"""The folders to which everything was exported."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from katod.archive.folders import ASIDE, NAME, damaged_list, known_folders, remember


def test_the_folder_that_was_written_to_last_is_the_first(tmp_path):
    """Each is there once."""
    for name in ("a", "b", "a"):
        remember(tmp_path / "state", tmp_path / name)
    assert known_folders(tmp_path / "state") == [tmp_path / "a", tmp_path / "b"]


def test_exports_to_several_folders_at_once_are_all_known(tmp_path):
    """Otherwise, copies in one of them would be forgotten by nobody."""
    for number in range(20):
        state, folders = tmp_path / str(number), [tmp_path / str(name) for name in range(8)]
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda folder, state=state: remember(state, folder), folders))
        assert sorted(known_folders(state)) == folders


def test_a_damaged_list_names_what_can_be_read(tmp_path):
    """And is kept under another name by the next export: until somebody removes it, folders may be unknown."""
    assert damaged_list(tmp_path) is None
    for text in ('{"a": [', "7", '["relative", 7]', '["/a", 7]'):
        (tmp_path / NAME).write_text(text)
        assert known_folders(tmp_path) == ([Path("/a")] if "/a" in text else [])
        assert damaged_list(tmp_path) == tmp_path / NAME
    for name in ("b", "c"):
        remember(tmp_path, tmp_path / name)
        assert damaged_list(tmp_path) == tmp_path / ASIDE
    assert known_folders(tmp_path) == [tmp_path / "c", tmp_path / "b", Path("/a")]
    assert (tmp_path / ASIDE).read_text() == '["/a", 7]'
    (tmp_path / ASIDE).unlink()
    assert damaged_list(tmp_path) is None
