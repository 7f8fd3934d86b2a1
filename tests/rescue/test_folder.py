"""Tests for the bounds of what is saved."""

from datetime import datetime, timedelta
from pathlib import Path

from pytest import MonkeyPatch  # noqa: PT013 - the class, for an annotation

from katod.model import SessionKey
from katod.rescue import folder as rescue_folder
from katod.rescue.copyfile import About, CopyWriter
from katod.rescue.folder import RescueFolder
from katod.rescue.names import place_of

TODAY = 1000
NOW = "2026-11-30T10:00:00+00:00"


def _before(days: int) -> str:
    return (datetime.fromisoformat(NOW) - timedelta(days=days)).isoformat()


def save(folder: RescueFolder, name: str, days: int, size: int = 100, saved: str = "") -> SessionKey:
    """Save an empty session, so many days of katod ago, whose archive has about so many bytes."""
    key = SessionKey("claude", name)
    folder.make("claude", [])
    writer = CopyWriter(place_of(folder.path, key))
    with writer.member("files/x") as member:
        member.write(bytes(range(256)) * (size // 256))
    writer.write_transcript(["text"])
    about = About(key, saved or _before(days), "", TODAY - days, "", "", ())
    writer.finish(about)
    folder.note(about)
    return key


def test_a_copy_is_kept_for_a_year(tmp_path: Path) -> None:
    """Of days on which katod ran; then it goes, however small it is."""
    folder = RescueFolder(tmp_path / "rescued")
    old, young = save(folder, "old", 365), save(folder, "young", 364)
    assert folder.beyond_bounds(TODAY, NOW) == [old]
    assert RescueFolder(folder.path).beyond_bounds(TODAY, NOW) == [old]
    assert folder.beyond_bounds(TODAY - 1, NOW) == []
    assert folder.delete(old)
    assert not folder.delete(old)
    assert list(RescueFolder(folder.path).all()) == [young]


def test_the_oldest_give_way_to_newer_ones(tmp_path: Path, monkeypatch: MonkeyPatch) -> None:
    """As many as have to."""
    folder = RescueFolder(tmp_path / "rescued")
    keys = [save(folder, f"s{days}", days) for days in (3, 2, 1)]
    sizes = [folder.size_of(key) for key in keys]
    monkeypatch.setattr(rescue_folder, "MOST_BYTES", sum(sizes))
    assert folder.beyond_bounds(TODAY, NOW) == []
    monkeypatch.setattr(rescue_folder, "MOST_BYTES", sum(sizes) - 1)
    assert folder.beyond_bounds(TODAY, NOW) == keys[:1]
    monkeypatch.setattr(rescue_folder, "MOST_BYTES", sizes[2])
    assert folder.beyond_bounds(TODAY, NOW) == keys[:2]


def test_what_was_saved_within_a_year_is_not_too_old(tmp_path: Path) -> None:
    """Whatever day its copy names: it may be another machine's. Nor is what a wrong clock takes for old."""
    folder = RescueFolder(tmp_path / "rescued")
    save(folder, "few", 900, saved=_before(364))
    save(folder, "clock", 1, saved=_before(2000))
    ahead = save(folder, "ahead", 365, saved=_before(-2000))
    assert folder.beyond_bounds(TODAY, NOW) == [ahead], "a time that is still to come says nothing"


def test_copies_of_another_machine_give_way_by_their_time(tmp_path: Path, monkeypatch: MonkeyPatch) -> None:
    """Its days are other ones: a copy that was made now is not the oldest because of them."""
    folder = RescueFolder(tmp_path / "rescued")
    save(folder, "mine", 990, saved=_before(0))
    other = save(folder, "other", 0, saved=_before(100))
    monkeypatch.setattr(rescue_folder, "MOST_BYTES", folder.size_of(other))
    assert folder.beyond_bounds(TODAY, NOW) == [other]


def test_an_id_that_is_no_safe_name_becomes_a_hash(tmp_path: Path) -> None:
    """So that no id leads out of the folder."""
    for name in ("../../x", "a/b", "", "x" * 200, ".hidden", "ü"):
        place = place_of(tmp_path, SessionKey("claude", name))
        assert place.parent == tmp_path / "claude"
        assert place.stem.isalnum()
    assert place_of(tmp_path, SessionKey("claude", "6f1c-2a_b")).name == "6f1c-2a_b.zip"


def test_a_copy_under_another_name_is_not_taken_for_one(tmp_path: Path) -> None:
    """It may have been put there by hand."""
    folder = RescueFolder(tmp_path / "rescued")
    key = save(folder, "mine", 1)
    place_of(folder.path, key).rename(folder.path / "claude" / "other.zip")
    assert RescueFolder(folder.path).all() == {}


def test_an_archive_of_an_unknown_agent_is_left_alone(tmp_path: Path) -> None:
    """It may be a newer katod's."""
    folder = RescueFolder(tmp_path / "rescued")
    key = SessionKey("nobody", "mine")
    folder.make("nobody", [])
    writer = CopyWriter(place_of(folder.path, key))
    writer.write_transcript(["text"])
    writer.finish(About(key, "", "", 1, "", "", ()))
    assert RescueFolder(folder.path, owned=True).all() == {}
    assert place_of(folder.path, key).exists()
