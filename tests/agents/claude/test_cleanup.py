"""Which sessions Claude Code deletes, as its settings say."""

import pytest

from katod.agents.claude import cleanup as module
from katod.agents.claude.cleanup import retention


@pytest.fixture
def root(tmp_path, monkeypatch):
    """Return a root; the settings of an administrator are a file beside it, which does not exist."""
    monkeypatch.setattr(module, "managed", lambda: tmp_path / "managed.json")
    (tmp_path / ".claude").mkdir()
    return tmp_path / ".claude"


def test_without_settings_it_is_30_days(root):
    """It is a default, and the file that changes it is named."""
    found = retention(root)
    assert (found.days, found.is_default, found.file) == (30, True, str(root / "settings.json"))
    (root / "settings.json").write_text('{"theme": "dark"}')
    assert retention(root) == found


def test_the_settings_decide(root):
    """A number of days, whole or not."""
    (root / "settings.json").write_text('{"cleanupPeriodDays": 7.5}')
    assert (retention(root).days, retention(root).is_default) == (7.5, False)


def test_an_administrator_decides_first(root):
    """The user's own setting has no effect then."""
    (root / "settings.json").write_text('{"cleanupPeriodDays": 7}')
    managed = root.parent / "managed.json"
    managed.write_text("{}")
    assert retention(root).days == 7
    managed.write_text('{"cleanupPeriodDays": 3650}')
    assert (retention(root).days, retention(root).file) == (3650, str(managed))


@pytest.mark.whole
@pytest.mark.parametrize("text", ["{", "[]", '{"cleanupPeriodDays": "x"}', '{"cleanupPeriodDays": true}',
                                  '{"cleanupPeriodDays": -1}', '{"cleanupPeriodDays": 0}'])  # fmt: skip
def test_what_is_not_valid_is_not_guessed(root, text):
    """Nothing is said about days; the reason names the file."""
    (root / "settings.json").write_text(text)
    found = retention(root)
    assert found.days is None
    assert str(root / "settings.json") in found.problem


def test_the_administrators_file_is_that_of_the_system(monkeypatch):
    """Each system has its own place."""
    for platform, path in (("linux", "/etc/claude-code/"), ("darwin", "/Library/Application Support/ClaudeCode/")):
        monkeypatch.setattr(module.sys, "platform", platform)
        assert str(module.managed()) == f"{path}managed-settings.json"
