"""Tests for what is known of saving sessions from one katod to the next."""

from pathlib import Path

from katod.rescue.notes import RescueNotes


def test_days_are_counted_once_each(tmp_path: Path) -> None:
    """However often katod looks, and on from a later day that a copy names: the file may be lost, or an older one."""
    notes = RescueNotes(tmp_path)
    assert [notes.count_day("2026-11-28"), notes.count_day("2026-11-28"), notes.count_day("2026-11-29")] == [1, 1, 2]
    notes.begin_at(40, "2026-11-29")
    assert [notes.count_day("2026-11-29"), notes.count_day("2026-11-30")] == [40, 41]
    notes.begin_at(40, "2026-11-29")
    assert notes.count_day("2026-11-30") == 41
