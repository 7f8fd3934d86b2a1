"""The time zone of this machine, by its name in the zone database: times in transcripts are frozen by it.

Most machines have a link to a file of the database. Where a container or a small system has a copy, or `TZ` is a rule
as in POSIX (`CET-1CEST`), the zone is looked for that has the same rule now, and differs least in the past. A rule that
does not say when summer time is has that of the zone, where the system would take that of the United States.
"""

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from io import BytesIO
from operator import ne
from pathlib import Path
from struct import Struct
from typing import Final, NamedTuple

LOCALTIME: Final = Path("/etc/localtime")
TIMEZONE: Final = Path("/etc/timezone")  # on Debian, Alpine and others; it may be older than the other one
_UTC: Final = dict.fromkeys(("Etc/UTC", "Etc/UCT", "Etc/Universal", "Etc/Zulu", "UCT", "Universal", "Zulu"), "UTC")
_LARGEST: Final = 64 * 1024  # bytes of a file of the database; the largest one has 4 KB
_DATABASE: Final = re.compile(r".*/zoneinfo[^/]*/(?:posix/)?(.+)")
_ABBREVIATION: Final = r"(?:[A-Za-z]{3,}|<[A-Za-z0-9+-]{3,}>)"
_TIME: Final = r"[+-]?[0-9]{1,3}(?::[0-9]{2}){0,2}"
_POSIX: Final = re.compile(
    rf"({_ABBREVIATION})({_TIME})(?:({_ABBREVIATION})({_TIME})?((?:,[JM]?[0-9.]+(?:/{_TIME})?){{2}})?)?"
)
# When summer time begins and ends in a rule that does not say so, for the system: as in the United States.
_ASSUMED: Final = (("M3.2.0", 7200), ("M11.1.0", 7200))
_CHANGED_AT: Final = "2"  # o'clock, if a rule does not say so
_HEAD: Final = Struct(">20x6I")
_RULE: Final = re.compile(rb"\n([!-~]+)\n")
_YEARS: Final = range(1970, 2036)  # in which copies are compared
_DAYS: Final = 12  # between two times that are compared


def machine_zone() -> str:
    """Return the IANA name of the machine's time zone, `UTC` if none is set; empty if the one set is unknown."""
    given = os.environ.get("TZ", "").removeprefix(":")
    if named := zone_called(given):
        return named
    if given.startswith("/"):
        return _zone_at(Path(given))
    own = _zone_at(LOCALTIME)
    return _by_rule(given, own) if _POSIX.fullmatch(given) else own


def zone_called(name: str) -> str:
    """Return the name of a zone as katod writes it, empty if there is none; zones are loaded only for other ones."""
    name = _UTC.get(name, name)
    return name if name == "UTC" or (name and is_zone(name)) else ""


def is_zone(name: str) -> bool:
    """Return whether the database has a zone of this name."""
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError  # noqa: PLC0415 - few name a zone

    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True


def _zone_at(path: Path) -> str:
    """Return the zone of a file: by its place in the database, or else by its content. UTC without a file."""
    try:
        for place in (str(path), os.path.realpath(path)):
            if (found := _DATABASE.fullmatch(place)) and (named := zone_called(found[1])):
                return named
        with path.open("rb") as file:
            data = file.read(_LARGEST)
    except FileNotFoundError:
        return "UTC"
    except OSError:
        return ""
    return _like(data, _noted())


def _noted() -> str:
    """Return the zone that the system notes beside its copy, empty if there is none."""
    try:
        return zone_called(TIMEZONE.read_text("ascii").strip())
    except (OSError, ValueError):
        return ""


@cache
def _like(data: bytes, noted: str) -> str:
    """Return the zone that is most like a copy of a file: the one that is noted, if no other one is more like it."""
    rule = _rule_of(data)
    wanted = _offsets(data) if rule else []
    same = [(name, known) for name, known in _known(noted) if _rule_of(known) == rule] if wanted else []

    def difference(one: tuple[str, bytes]) -> tuple[bool, int]:
        return one[1] != data, sum(map(ne, wanted, _offsets(one[1])))

    return min(same, key=difference, default=("", b""))[0]


class _Clocks(NamedTuple):
    """What a rule says: seconds to add to the local time for UTC, in summer, and when that begins and ends."""

    standard: int
    summer: int | None
    changes: tuple[tuple[str, int], ...]

    @classmethod
    def of(cls, rule: str) -> "_Clocks | None":
        """Return what a rule says however it is spelled, None if it is none."""
        if (found := _POSIX.fullmatch(rule)) is None:
            return None
        _, offset, name, summer, changes = found.groups()
        standard = _seconds(offset)
        if not name:
            return cls(standard, None, ())
        days = (change.partition("/")[::2] for change in (changes or "").split(",")[1:])
        parts = tuple((day, _seconds(time or _CHANGED_AT)) for day, time in days)
        return cls(standard, _seconds(summer) if summer else standard - 3600, parts)

    @property
    def is_whole(self) -> bool:
        """Whether it is a fixed offset of whole hours, which has a name."""
        return self.summer is None and not self.standard % 3600

    def fits(self, other: "_Clocks | None") -> bool:
        """Return whether another rule has the same offsets, and changes when this one does, if this one says when."""
        return other is not None and other._replace(changes=self.changes and other.changes) == self


def _seconds(time: str) -> int:
    hours, minutes, seconds = (*map(int, time.lstrip("+-").split(":")), 0, 0)[:3]
    return (hours * 3600 + minutes * 60 + seconds) * (-1 if time.startswith("-") else 1)


def _by_rule(rule: str, own: str) -> str:
    """Return a zone with a rule as POSIX has it: of a fixed offset, the machine's own, or another one."""
    wanted = _Clocks.of(rule)
    if wanted is None:
        return ""
    if wanted.is_whole:
        return zone_called(f"Etc/GMT{wanted.standard // 3600:+}" if wanted.standard else "UTC")
    return own if own and wanted.fits(_Clocks.of(_rule_in(own))) else _with(rule, wanted)


@cache
def _with(rule: str, wanted: _Clocks) -> str:
    """Return the zone with a rule, one in which it has these abbreviations first: they tell countries."""
    rules = [(name, _rule_of(known).decode()) for name, known in _known(zone_called(rule[:3]))]
    if same := next((name for name, known in rules if rule in (known, known.partition(",")[0])), ""):
        return same
    clocks = [(name, _Clocks.of(known)) for name, known in rules]
    dated = wanted._replace(changes=wanted.changes or _ASSUMED)
    like = next((name for name, known in clocks if known == dated), "")
    return like or next((name for name, known in clocks if wanted.fits(known)), "")


def _rule_in(zone: str) -> str:
    return _rule_of(_in_database(zone)).decode()


def _offsets(data: bytes) -> list[int]:
    """Return the offsets of a zone file over the years, in seconds; nothing if it is none."""
    from zoneinfo import ZoneInfo  # noqa: PLC0415 - only for a copy

    try:
        zone = ZoneInfo.from_file(BytesIO(data))
    except Exception:  # noqa: BLE001 - whatever is wrong with it
        return []
    first, last = (int(datetime(year, 1, 1, tzinfo=UTC).timestamp()) for year in (_YEARS[0], _YEARS[-1]))
    times = (datetime.fromtimestamp(time, zone).utcoffset() for time in range(first, last, _DAYS * 86_400))
    return [int(offset.total_seconds()) for offset in times if offset is not None]


def _rule_of(data: bytes) -> bytes:
    """Return the rule at the end of a zone file, by which its clocks go from now on; empty if there is none.

    It is looked for where the form of the file has it: Python reads one that has been cut off without end.
    """
    at = 0
    for size in (4, 8):  # all is there twice: in the form of the first version, and in that of the second
        head = data[at : at + _HEAD.size]
        if len(head) < _HEAD.size or not head.startswith(b"TZif"):
            return b""
        utc, standard, leaps, times, kinds, letters = _HEAD.unpack(head)
        at += _HEAD.size + times * (size + 1) + kinds * 6 + letters + leaps * (size + 4) + standard + utc
    found = _RULE.fullmatch(data, at)
    return found[1] if found else b""


def _known(first: str) -> Iterator[tuple[str, bytes]]:
    """Yield zones with their files: the first one that is named, the one of each region, and those of fixed offsets."""
    rows = (row.split("\t") for row in _in_database("zone1970.tab").decode().splitlines() if not row.startswith("#"))
    fixed = (f"Etc/GMT{hours:+}" for hours in range(-14, 13) if hours)
    names = [first, *(row[2] for row in rows if row[2:]), "UTC", *fixed]
    yield from ((name, _in_database(name)) for name in names if name)


def _in_database(name: str) -> bytes:
    """Return a file of the zone database: that of the system, or that of the package; empty if neither has it."""
    from importlib.resources import files  # noqa: PLC0415 - only for a copy or a rule
    from zoneinfo import TZPATH  # noqa: PLC0415

    for place in (*map(Path, TZPATH), files("tzdata") / "zoneinfo"):
        with suppress(OSError):
            return place.joinpath(name).read_bytes()
    return b""
