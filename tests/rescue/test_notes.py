"""Tests for what is known of saving sessions from one katod to the next."""

from pathlib import Path

from katod.rescue.notes import RescueNotes


def test_days_are_counted_once_each(tmp_path: Path) -> None:
    """However often katod looks, and on from the day that a copy names if the file was lost."""
    notes = RescueNotes(tmp_path)
    notes.begin_at(40, "2026-11-28")
    assert [notes.count_day("2026-11-28"), notes.count_day("2026-11-28"), notes.count_day("2026-11-29")] == [40, 40, 41]


def test_days_that_were_counted_are_not_those_of_a_copy(tmp_path: Path) -> None:
    """It may be another machine's, which ran on more days."""
    notes = RescueNotes(tmp_path)
    notes.begin_at(0, "")
    assert notes.count_day("2026-11-28") == 1
    notes.begin_at(400, "2026-11-29")
    assert notes.count_day("2026-11-29") == 2
