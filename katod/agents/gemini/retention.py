"""What Gemini CLI deletes when it starts in a project: that project's sessions, by `general.sessionRetention`."""

import re
import sys
from pathlib import Path
from typing import Any, Final

from katod.agents.fields import dict_of, text_of
from katod.agents.settings import read_settings
from katod.agents.spec import Retention

_KEY: Final = "general.sessionRetention"
_DEFAULTS: Final = {"enabled": True, "maxAge": "30d"}
_PERIOD: Final = re.compile(r"([0-9]{1,6})([hdwm])")
_DAYS: Final = {"h": 1 / 24, "d": 1, "w": 7, "m": 30}
_LEAST_DAYS: Final = 1.0
_SHORT: Final = 8  # digits of its id in the name of a session's file
# A resumed session leaves a second file without messages: with retention on, the next start deletes both.
_RESUMED: Final = "a resumed session may be deleted earlier"


def retention(root: Path) -> Retention:
    """Return the retention of a root. The machine's settings come before the user's own."""
    own = root / "settings.json"
    found: dict[str, Any] = {}
    for path in (own, managed()):
        try:
            settings = read_settings(path)
        except (OSError, ValueError):
            return Retention(file=str(path), key=_KEY, problem=f"{path} cannot be read")
        found |= dict_of(dict_of(settings.get("general")).get("sessionRetention"))
    return _of(_DEFAULTS | found, str(own), is_default=not found)


def managed() -> Path:
    """Return the path of the settings for the whole machine."""
    if sys.platform == "darwin":
        return Path("/Library/Application Support/GeminiCli/settings.json")
    return Path("/etc/gemini-cli/settings.json")


def beside(path: str) -> list[str]:
    """Return the folders of a session: that of its sub-agents, and that of its tools' outputs, named after its id."""
    chats, begin = Path(path).parent, Path(path).stem[-_SHORT:]
    outputs = chats.parent / "tool-outputs"
    return [str(found) for found in (*chats.glob(f"{begin}-*/"), *outputs.glob(f"session-{begin}-*/"))]


def put_back(path: Path, now: str) -> bytes:
    """Return a record that says when the session was last updated: that decides, not the time of the file.

    Older clients wrote one document, to which nothing can be appended.
    """
    return b'{"$set":{"lastUpdated":"%s"}}\n' % now.encode() if path.suffix == ".jsonl" else b""


def _of(settings: dict[str, Any], file: str, *, is_default: bool) -> Retention:
    """Return what these settings mean; with one that is not valid, nothing is deleted."""
    days, most = _days(settings.get("maxAge")), settings.get("maxCount")
    if not settings["enabled"] or not _is_valid(settings, days) or (days is None and most is None):
        return Retention(file=file, key=_KEY)
    return Retention(days, most, file, _KEY, is_default, _RESUMED, by_events=True, pairs=True)


def _is_valid(settings: dict[str, Any], days: float | None) -> bool:
    most = settings.get("maxCount")
    if most is not None and (not isinstance(most, int) or most < 1):
        return False
    if days is None:
        return not settings.get("maxAge")
    return days >= (_days(settings.get("minRetention")) or _LEAST_DAYS)


def _days(period: Any) -> float | None:
    match = _PERIOD.fullmatch(text_of(period))
    return int(match[1]) * _DAYS[match[2]] or None if match else None
