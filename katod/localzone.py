"""The time zone of this machine, by its name in the zone database: times in transcripts are frozen by it.

Most machines have a link to a file of the database. Where a container or a small system has a copy, or `TZ` is a rule
as in POSIX (`CET-1CEST`), the zone is looked for that has the same rule now, and differs least in the past.
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
from typing import Final

LOCALTIME: Final = Path("/etc/localtime")
TIMEZONE: Final = Path("/etc/timezone")  # on Debian, Alpine and others; it may be older than the other one
_UTC: Final = dict.fromkeys(("Etc/UTC", "Etc/UCT", "Etc/Universal", "Etc/Zulu", "UCT", "Universal", "Zulu"), "UTC")
_LARGEST: Final = 64 * 1024  # bytes of a file of the database; the largest one has 4 KB
_DATABASE: Final = re.compile(r".*/zoneinfo[^/]*/(?:posix/)?(.+)")
_ABBREVIATION: Final = r"(?:[A-Za-z]{3,}|<[A-Za-z0-9+-]{3,}>)"
_POSIX: Final = re.compile(rf"({_ABBREVIATION})([+-]?)([0-9]{{1,2}})((?::[0-9]{{2}}){{0,2}})({_ABBREVIATION}.*)?")
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
    if _POSIX.fullmatch(given):
        return _by_rule(given)
    return _zone_at(LOCALTIME)


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


@cache
def _by_rule(rule: str) -> str:
    """Return a zone with a rule as POSIX has it: of a fixed offset, or one in which the clocks change by it."""
    found = _POSIX.fullmatch(rule)
    assert found is not None  # it was looked at before
    abbreviation, sign, hours, minutes, summer = found.groups()
    if not summer and not minutes.strip(":0"):
        return zone_called(f"Etc/GMT{sign or '+'}{int(hours)}" if int(hours) else "UTC")
    spelled = rule.encode()
    rules = ((name, _rule_of(known)) for name, known in _known(zone_called(abbreviation)))
    return next((name for name, known in rules if spelled in (known, known.partition(b",")[0])), "")


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
