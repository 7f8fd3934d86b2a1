"""Times as a transcript shows them, in the time zone that was fixed when the recording started."""

import re
from datetime import UTC, datetime, tzinfo
from functools import cached_property, lru_cache
from typing import Final

# All times of one minute like this are on one day. For other strings that is not certain: something else may begin
# like a time, and 19th-century zones had offsets in seconds.
_MINUTE: Final = re.compile("(?:199|20[0-9])[0-9]-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}")
_FIRST, _LAST = (datetime(*day, tzinfo=UTC).timestamp() for day in ((1, 1, 3), (9999, 12, 29)))  # in any zone
_SECOND: Final = re.compile(r":[0-5][0-9](?:\.[0-9]{3})?Z")


class When:
    """Formats recorded times; a time that cannot be parsed is shown as nothing."""

    def __init__(self, zone: str) -> None:
        self._name = zone
        self._minute = self._day = self._epoch_minute = ""
        self._epoch = 0.0
        self._last = ("", 0.0)

    @cached_property
    def _zone(self) -> tzinfo:
        return zone_of(self._name)

    def iso(self, time: str) -> str:
        """Return `2026-02-10T23:36:18+01:00`."""
        local = _parse(time, self._zone)
        return local.isoformat(timespec="seconds") if local else ""

    def day(self, time: str) -> str:
        """Return `2026-02-10`."""
        minute, plain = time[:16], _SECOND.fullmatch(time, 16)
        if not plain or minute != self._minute:  # most events are in the same minute as the previous one
            local = _parse(time, self._zone)
            self._minute = minute if plain and _MINUTE.fullmatch(minute) else ""
            self._day = local.date().isoformat() if local else ""
        return self._day

    def seconds(self, time: str) -> float:
        """Return the seconds since the epoch, 0 for a time that cannot be parsed."""
        if time != self._last[0]:  # the events of one record have the same time
            self._last = time, self._seconds(time)
        return self._last[1]

    def _seconds(self, time: str) -> float:
        minute, plain = time[:16], _SECOND.fullmatch(time, 16)
        if plain and minute == self._epoch_minute:  # as most events are
            return round(self._epoch + float(time[17:-1]), 3)
        local = _parse(time, self._zone)
        seconds = round(local.timestamp(), 3) if local else 0.0  # the same, however it was calculated
        if plain and _MINUTE.fullmatch(minute):
            self._epoch_minute, self._epoch = minute, seconds - float(time[17:-1])
        return seconds

    def stamp(self, time: str, day: str) -> str:
        """Return `23:36`, preceded by the date if it is not the given day."""
        local = _parse(time, self._zone)
        if not local:
            return ""
        clock = local.strftime("%H:%M")
        return clock if local.date().isoformat() == day else f"{local.date().isoformat()} {clock}"


def zone_of(name: str) -> tzinfo:
    """Return the time zone with this name, UTC if there is none."""
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError  # noqa: PLC0415 - commands that print no time need none

    try:
        return ZoneInfo(name or "UTC")
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return ZoneInfo("UTC")


def utc(seconds: float, precision: str = "milliseconds") -> str:
    """Return a time in seconds since 1970 in UTC, `2026-02-10T22:36:40.000Z`; one beyond the calendar at its edge."""
    moment = datetime.fromtimestamp(min(max(seconds, _FIRST), _LAST), UTC)
    return moment.isoformat(timespec=precision).replace("+00:00", "Z")


def ago(seconds: float) -> str:
    """Return how long ago something was, in its largest unit."""
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= length:
            return f"{int(seconds // length)} {unit} ago"
    return "just now"


@lru_cache(maxsize=512)
def _parse(time: str, zone: tzinfo) -> datetime | None:
    try:
        parsed = datetime.fromisoformat(time)
    except ValueError:
        return None
    try:
        return parsed.astimezone(zone) if parsed.tzinfo else parsed.replace(tzinfo=zone)
    except OverflowError:
        return None  # the edge of the calendar
