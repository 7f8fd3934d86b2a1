"""What Claude Code deletes when it starts: session files that were not changed for `cleanupPeriodDays`."""

import sys
from pathlib import Path
from typing import Any, Final

from katod.agents.settings import read_settings
from katod.agents.spec import Retention

_KEY: Final = "cleanupPeriodDays"
_DEFAULT: Final = 30
_ZERO: Final = f"`{_KEY}` is 0: newer versions refuse that, older ones delete every session"


def retention(root: Path) -> Retention:
    """Return the retention of a root. An administrator's settings come before the user's own."""
    own = root / "settings.json"
    for path in (managed(), own):
        try:
            settings = read_settings(path)
        except (OSError, ValueError):
            return Retention(file=str(path), key=_KEY, problem=f"{path} cannot be read")
        if _KEY in settings:
            return _of(settings[_KEY], str(path))
    return Retention(days=_DEFAULT, file=str(own), key=_KEY, is_default=True, ages_beside=True)


def managed() -> Path:
    """Return the path of the settings of an administrator."""
    if sys.platform == "darwin":
        return Path("/Library/Application Support/ClaudeCode/managed-settings.json")
    return Path("/etc/claude-code/managed-settings.json")


def _of(days: Any, file: str) -> Retention:
    if not isinstance(days, int | float) or isinstance(days, bool) or days < 0:
        return Retention(file=file, key=_KEY, problem=f"`{_KEY}` in {file} is not a number of days")
    if days == 0:
        return Retention(file=file, key=_KEY, problem=f"{_ZERO} ({file})")
    return Retention(days=days, file=file, key=_KEY, ages_beside=True)
