"""When a search begins and ends, as people type it: `today`, an age, a date, a month.

Days are those of the zone in which times are shown: without a name, that of the machine. The system may have other
ones: for a rule without dates, as in `TZ=CET-1CEST`, it takes those of the United States.
"""

import re
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from math import inf
from typing import Final

from katod.errors import SelectionError
from katod.search.hittime import days_of

_WORDS: Final = {"today": timedelta(0), "yesterday": timedelta(1)}
_AGE: Final = re.compile(r"(\d{1,5})([hdw]?)")
_MONTH: Final = re.compile(r"(\d{4})-(\d\d)")
_UNITS: Final = {"h": "hours", "d": "days", "w": "weeks", "": "days"}
_EXPECTED: Final = "expected today, yesterday, an age like 2h or 7d, a date like 2026-02-01, or a month like 2026-02"


def _now() -> datetime:
    return datetime.now(UTC)


def since_seconds(text: str | None, zone: str = "") -> float:
    """Return the time that is meant in a time zone, in seconds since 1970; minus infinity for none.

    Raises SelectionError for other words.
    """
    if text is None:
        return -inf
    days = days_of(zone)
    now = _now().astimezone(days)
    if text in _WORDS:
        return _midnight(now.date() - _WORDS[text], days)
    if age := _AGE.fullmatch(text):
        return now.timestamp() - timedelta(**{_UNITS[age[2]]: int(age[1])}).total_seconds()
    try:
        meant = datetime.fromisoformat(f"{text}-01" if _MONTH.fullmatch(text) else text)
        return (meant if meant.tzinfo else meant.replace(tzinfo=days)).astimezone(UTC).timestamp()
    except (ValueError, OverflowError):
        raise SelectionError(_EXPECTED) from None


def until_seconds(text: str | None, zone: str = "") -> float:
    """Return the end of what is meant, in seconds since 1970: of a day or month, a midnight; infinity for none.

    Raises SelectionError for other words.
    """
    if text is None:
        return inf
    begin, is_month = since_seconds(text, zone), _MONTH.fullmatch(text) is not None
    if not is_month and not _is_day(text):
        return begin
    days = days_of(zone)
    day = datetime.fromtimestamp(begin, days).date()
    try:
        after = (day + timedelta(days=31)).replace(day=1) if is_month else day + timedelta(days=1)
        return _midnight(after, days)
    except (ValueError, OverflowError):  # the last day that there is
        return inf


def last_second(text: str) -> float:
    """Return the last second of a day or a month, in seconds since 1970; of anything else, when it begins.

    Raises SelectionError for other words.
    """
    begin, end = since_seconds(text), until_seconds(text)
    return begin if end in (begin, inf) else end - 1


def day_number(seconds: float) -> int:
    """Return the day here of a time in seconds since 1970, as `date.toordinal` counts them."""
    return datetime.fromtimestamp(seconds, days_of("")).toordinal()


def _midnight(day: date, days: tzinfo) -> float:
    """Return when a day begins; where clocks change, days are not of one length, and zones have two offsets."""
    return datetime.combine(day, time(), days).timestamp()


def _is_day(text: str) -> bool:
    """Return whether a day is meant, and no moment of it."""
    if text in _WORDS:
        return True
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True
