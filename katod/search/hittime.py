"""When a hit was said: at a moment, or on a day of which no more is known.

A time is what a record or a transcript has for one, so it may be any text. A day is one of the zone in which days are
meant: it begins at its midnight there, and is shown without a time.
"""

from datetime import date, datetime, time, timedelta, tzinfo
from math import inf
from typing import Final

from katod.formats.text.when import When, zone_of
from katod.localzone import machine_zone

DAYS_APART: Final = 26 * 3600.0  # seconds: a day begins so much earlier in one zone than in another, at most
_LONGEST_DAY: Final = len("2026-02-10")
_NEXT: Final = timedelta(days=1)


def day_in(text: str) -> date | None:
    """Return the day that is all that a time says; None for a moment, and for what is no time."""
    if len(text) > _LONGEST_DAY:
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def as_known(text: str) -> str:
    """Return a time as it is, a day in the usual form."""
    day = day_in(text)
    return text if day is None else day.isoformat()


def moment_of(text: str, zone: str = "") -> float | None:
    """Return when a time is, in seconds since 1970, and when a day begins; None if that is not known.

    What names no zone is of this one, which is that of the machine if it is empty.
    """
    day = day_in(text)
    try:
        moment = datetime.fromisoformat(text) if day is None else datetime.combine(day, time())
        return (moment if moment.tzinfo else moment.replace(tzinfo=days_of(zone))).timestamp()
    except (ValueError, OverflowError):
        return None


def span_of(begin: str, end: str | None, zone: str = "") -> tuple[float, float]:
    """Return between which times something was said, in seconds since 1970: a day lasts until the next one.

    Without an end it was said when it began. What is not known has no limit.
    """
    first, last = moment_of(begin, zone), _end_of(begin if end is None else end, zone)
    return -inf if first is None else first, inf if last is None else last


def _end_of(text: str, zone: str) -> float | None:
    day = day_in(text)
    if day is None:
        return moment_of(text, zone)
    return moment_of((day + _NEXT).isoformat(), zone) if day < date.max else None


def days_of(zone: str) -> tzinfo:
    """Return the time zone with this name, that of the machine for an empty one."""
    return zone_of(zone or machine_zone())


def iso(text: str, when: When) -> str:
    """Return a time as programs read it, empty if it is none."""
    return as_known(text) if day_in(text) else when.iso(text)


def stamp(text: str, day: str, when: When) -> str:
    """Return a time as people read it, without the day if it is the given one."""
    known = day_in(text)
    if known is None:
        return when.stamp(text, day)
    return "" if known.isoformat() == day else known.isoformat()
