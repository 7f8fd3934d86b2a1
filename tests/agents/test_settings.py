"""Settings files of agents."""

import os

import pytest

from katod.agents.settings import read_settings


def test_settings_are_read_with_comments(tmp_path):
    """Those on lines of their own; an empty or missing file has no settings."""
    path = tmp_path / "settings.json"
    assert read_settings(path) == {}
    path.write_text("")
    assert read_settings(path) == {}
    path.write_text('// mine\n{\n  // why\n  "url": "https://example.org"\n}\n')
    assert read_settings(path) == {"url": "https://example.org"}


def test_half_a_character_hides_no_other_setting(tmp_path):
    """Agents read it, and go by what the others say: such as when they delete a session."""
    path = tmp_path / "settings.json"
    path.write_text(r'{"name": "\ud83d", "cleanupPeriodDays": 7}')
    assert read_settings(path)["cleanupPeriodDays"] == 7


@pytest.mark.whole
@pytest.mark.parametrize("text", ["{", "[]", "1"])
def test_anything_else_is_an_error(tmp_path, text):
    """It is not taken for settings."""
    (tmp_path / "settings.json").write_text(text)
    with pytest.raises(ValueError):
        read_settings(tmp_path / "settings.json")


def test_what_is_no_file_is_not_waited_for(tmp_path):
    """A FIFO would never answer."""
    os.mkfifo(tmp_path / "settings.json")
    with pytest.raises(OSError, match="not a regular file"):
        read_settings(tmp_path / "settings.json")
