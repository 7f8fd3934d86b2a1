"""Tests for what a new copy takes over from the older one; what becomes of whole sessions is in `test_rescuer`."""

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from katod.formats.redact.redactor import finished
from katod.model import SessionKey
from katod.rescue.copyfile import About, CopyWriter, SavedFile
from katod.rescue.folder import RescueFolder
from katod.rescue.keeping import KeptFile, Move, TakenOver, keep_files, moved_folders
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


def found_moves(
    folder: Path, before: bytes, *after: bytes, name: str = "x.jsonl", gone: bool = True, root: bool = False
) -> dict[str, str]:
    """Return the folders that were renamed, given a session's file in a copy and those of its name in the new one.

    The old folder is `gone`, and the new ones are in another `root`, or not.
    """
    key = SessionKey("claude", "mine")
    place = place_of(folder, key)
    place.parent.mkdir(parents=True, exist_ok=True)
    with closing(CopyWriter(place)) as older:
        with older.member(f"files/old/{name}") as file:
            file.write(before)
        older.finish(About(key, "", "", 0, "", "", ()))
    with closing(CopyWriter(place.with_suffix(".new"))) as writer:
        for number, data in enumerate(after):
            with writer.member(f"files/{number}/{name}") as file:
                file.write(data)
        moves = [
            Move("/old", f"/{at}", f"files/old/{name}", f"files/{at}/{name}", gone, root) for at in range(len(after))
        ]
        moved: dict[str, str] = finished(moved_folders(moves, place, writer))
        return moved


def lines(*records: Any) -> bytes:
    """Return a file of records."""
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


TITLE = {"type": "custom-title", "customTitle": "mine"}
FIRST, SECOND, OTHER = ({"uuid": name, "text": f"{name} \ud83d"} for name in ("first", "second", "other"))


@pytest.mark.parametrize(
    ("after", "moved"),
    [
        ([lines(TITLE, FIRST, SECOND, OTHER)], "/0"),
        ([lines(TITLE, FIRST)], "/0"),
        ([lines({"type": "mode"}, FIRST, OTHER)], "/0"),
        ([lines(TITLE, FIRST, OTHER), lines(TITLE, FIRST, SECOND, OTHER)], "/1"),
        ([lines(TITLE, OTHER)], ""),
        ([lines(TITLE, SECOND)], ""),
        ([lines(TITLE)], ""),
        ([b""], ""),
        ([b'[1]\n"x"\n{"uuid":5,"id":""}\n' + b"[" * 100_000], ""),
    ],
    ids=["all", "cut", "anew", "all before some", "another", "not its beginning", "no id", "nothing", "no records"],
)
def test_a_folder_was_renamed_if_the_file_in_it_begins_as_it_did(
    tmp_path: Path, after: list[bytes], moved: str
) -> None:
    """With all that was saved, or else with the same record: not with what any file of its session may have."""
    assert found_moves(tmp_path, lines(TITLE, FIRST, SECOND), *after).get("/old", "") == moved


@pytest.mark.parametrize("kind", ["lines", "document"])
@pytest.mark.parametrize(("gone", "root"), [(True, False), (True, True), (False, False), (False, True)])
def test_a_file_that_went_on_elsewhere_by_itself_was_not_moved(
    tmp_path: Path, kind: str, *, gone: bool, root: bool
) -> None:
    """If each file has records that the other one lacks, both are needed, unless a folder within a root is gone.

    While the old folder is there, one that lacks something may be an older copy: only one that has all was moved.
    """

    def is_moved(before: list[str], after: list[str]) -> bool:
        """Return whether a file with records of these names, none of which is alike, was moved."""
        rows = [[{"id": name, "said": number} for name in names] for number, names in enumerate((before, after))]
        data = [lines(*row) if kind == "lines" else json.dumps({"messages": row}).encode() for row in rows]
        name = "x.jsonl" if kind == "lines" else "x.json"
        return bool(found_moves(tmp_path, *data, name=name, gone=gone, root=root))

    assert is_moved(["a", "b"], ["a", "b", "c"]) is (gone or not root)
    assert is_moved(["a", "b"], ["a"]) is gone
    assert is_moved(["a", "b"], ["a", "c"]) is (gone and not root)
    assert found_moves(tmp_path, lines(FIRST), lines(FIRST, SECOND), gone=gone, root=root) == {"/old": "/0"}


@pytest.mark.parametrize(("first", "moved"), [("m1", "/0"), ("m2", "")])
def test_a_document_is_known_by_its_first_message(tmp_path: Path, first: str, moved: str) -> None:
    """Whatever else was written anew, and however it is written."""
    before = {"sessionId": "mine", "lastUpdated": "1", "messages": ["?", {"id": "m1"}]}
    after = {"sessionId": "mine", "lastUpdated": "2", "messages": [{"id": first}, {"id": "m1"}, {"id": "m3"}]}
    old, new = json.dumps(before).encode(), json.dumps(after, indent=2).encode()
    assert found_moves(tmp_path, old, new, name="x.json").get("/old", "") == moved
    assert not found_moves(tmp_path, b'{"messages":5}', new, name="x.json")
