"""Which sessions Gemini CLI deletes, as its settings say."""

import orjson
import pytest

from katod.agents.gemini import retention as module
from katod.agents.gemini.retention import retention


@pytest.fixture
def root(tmp_path, monkeypatch):
    """Return a root; the settings of the machine are a file in it, which does not exist."""
    monkeypatch.setattr(module, "managed", lambda: tmp_path / "machine.json")
    return tmp_path


def settings(root, name="settings.json", **retention):
    """Write settings."""
    (root / name).write_bytes(orjson.dumps({"general": {"sessionRetention": retention}}))


def test_without_settings_it_is_30_days(root):
    """And resumed sessions may be deleted earlier."""
    found = retention(root)
    assert (found.days, found.most, found.is_default, bool(found.note)) == (30, None, True, True)


@pytest.mark.whole
@pytest.mark.parametrize(
    ("given", "days", "most"),
    [
        ({"maxAge": "12w"}, 84, None),
        ({"maxAge": "48h"}, 2, None),
        ({"maxAge": "2m", "maxCount": 50}, 60, 50),
        ({"maxAge": "", "maxCount": 50}, None, 50),
        ({"maxAge": "12h", "minRetention": "6h"}, 0.5, None),
        # With settings that are not valid, it deletes nothing.
        ({"enabled": False}, None, None),
        ({"maxAge": "0d"}, None, None),
        ({"maxAge": "soon"}, None, None),
        ({"maxAge": 30}, None, None),
        ({"maxAge": "12h"}, None, None),
        ({"maxCount": 0}, None, None),
        ({"maxCount": "x"}, None, None),
        ({"maxAge": ""}, None, None),
    ],
)
def test_the_settings_decide(root, given, days, most):
    """Age and number, each as the agent reads it."""
    settings(root, **given)
    found = retention(root)
    assert (found.days, found.most, found.is_default) == (days, most, False)
    assert (found.file, found.key) == (str(root / "settings.json"), module._KEY)


def test_the_machine_decides_first(root):
    """Key by key."""
    settings(root, maxAge="7d", maxCount=9)
    settings(root, "machine.json", maxAge="90d")
    assert (retention(root).days, retention(root).most) == (90, 9)


def test_a_file_that_cannot_be_read_is_named(root):
    """Nothing is said about days."""
    (root / "settings.json").write_text("{")
    assert "settings.json cannot be read" in retention(root).problem


def test_the_settings_of_the_machine_are_where_the_system_has_them(monkeypatch):
    """Each system has its own place."""
    for platform, path in (("linux", "/etc/gemini-cli"), ("darwin", "/Library/Application Support/GeminiCli")):
        monkeypatch.setattr(module.sys, "platform", platform)
        assert str(module.managed()) == f"{path}/settings.json"
