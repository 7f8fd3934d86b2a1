"""When a search begins and ends, as people type it: `today`, an age, a date."""

import re
from datetime import UTC, date, datetime, time, timedelta
from math import inf
from typing import Final

from katod.errors import SelectionError

_WORDS: Final = {"today": timedelta(0), "yesterday": timedelta(1)}
_AGE: Final = re.compile(r"(\d{1,5})([hdw]?)")
_UNITS: Final = {"h": "hours", "d": "days", "w": "weeks", "": "days"}
_EXPECTED: Final = "expected today, yesterday, an age like 2h or 7d, or a date like 2026-02-01"


def _now() -> datetime:
    return datetime.now().astimezone()


def since_seconds(text: str | None) -> float:
    """Return the time that is meant, in seconds since 1970; 0 for none. Raises SelectionError for other words."""
    if text is None:
        return 0.0
    now = _now()
    if text in _WORDS:
        return (now.replace(hour=0, minute=0, second=0, microsecond=0) - _WORDS[text]).timestamp()
    if age := _AGE.fullmatch(text):
        return (now - timedelta(**{_UNITS[age[2]]: int(age[1])})).timestamp()
    try:
        return datetime.fromisoformat(text).astimezone().timestamp()
    except (ValueError, OverflowError):
        raise SelectionError(_EXPECTED) from None


def until_seconds(text: str | None) -> float:
    """Return the end of what is meant, in seconds since 1970: of a day, the next midnight; infinity for none.

    Raises SelectionError for other words.
    """
    if text is None:
        return inf
    begin = since_seconds(text)
    if not _is_day(text):
        return begin
    day = datetime.fromtimestamp(begin, UTC).astimezone().date()
    try:
        return datetime.combine(day + timedelta(days=1), time()).astimezone().timestamp()
    except (ValueError, OverflowError):  # the last day that there is
        return inf


def _is_day(text: str) -> bool:
    """Return whether a day is meant, and no moment of it."""
    if text in _WORDS:
        return True
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True
