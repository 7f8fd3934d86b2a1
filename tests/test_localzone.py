"""The zone of this machine: by the name of a link, by the content of a copy, by a rule in `TZ`."""

import os
import shutil
from pathlib import Path

import pytest

from katod import localzone
from katod.config import local_zone
from katod.localzone import machine_zone
from tests.looping import each

BERLIN = localzone._in_database("Europe/Berlin")
TOKYO = localzone._in_database("Asia/Tokyo")


@pytest.fixture
def copied(monkeypatch, tmp_path):
    """Return a function that puts a copy of a zone in place of /etc/localtime, and a note beside it."""

    def put(data, noted=""):
        monkeypatch.delenv("TZ", raising=False)
        monkeypatch.setattr(localzone, "LOCALTIME", tmp_path / "localtime")
        monkeypatch.setattr(localzone, "TIMEZONE", tmp_path / "timezone")
        (tmp_path / "localtime").write_bytes(data)
        (tmp_path / "timezone").write_text(f"{noted}\n")

    return put


@pytest.mark.parametrize(
    ("variable", "link", "zone"),
    [
        ("Asia/Tokyo", "/usr/share/zoneinfo/Europe/Berlin", "Asia/Tokyo"),
        (":Asia/Tokyo", "", "Asia/Tokyo"),
        ("", "/usr/share/zoneinfo/Europe/Berlin", "Europe/Berlin"),
        ("Mars/Olympus", "/usr/share/zoneinfo/Europe/Berlin", "Europe/Berlin"),
        ("", "/var/db/timezone/zoneinfo/America/St_Johns", "America/St_Johns"),
        ("", "/usr/share/zoneinfo/Mars/Olympus", "UTC"),
        ("", "/no/such/localtime", "UTC"),
        ("", "/usr/share/zoneinfo/posix/Asia/Tokyo", "Asia/Tokyo"),
    ],
)
def test_machines_zone_is_found_by_name(monkeypatch, variable, link, zone):
    """The zone is the one named by TZ or the system's link, otherwise UTC."""
    monkeypatch.setattr(localzone, "LOCALTIME", Path("/no/such/localtime"))
    monkeypatch.setenv("TZ", variable)
    monkeypatch.setattr(os.path, "realpath", lambda _: link)
    assert local_zone() == zone


@each(
    ("rule", "zone"),
    [
        ("CET-1CEST", "CET"),
        (":CET-1CEST,M3.5.0,M10.5.0/3", "CET"),
        ("GMT0BST,M3.5.0/1,M10.5.0", "Europe/London"),
        ("NZST-12NZDT", "Pacific/Auckland"),
        ("UTC+3", "Etc/GMT+3"),
        ("<+03>-03:00", "Etc/GMT-3"),
        ("JST-9", "Etc/GMT-9"),
        ("IST-5:30", "Asia/Kolkata"),
        ("IST-05:30", "Asia/Kolkata"),
        ("NZST-12NZDT-13,M9.5.0/02:00,M4.1.0/3", "Pacific/Auckland"),
        ("BRAVO+5ALPHA,M3.2.0/2,M11.1.0/2", "America/Toronto"),
        ("UTC0", "UTC"),
        ("EST+5EDT", "America/Toronto"),
        ("EST05EDT", "America/Toronto"),
        ("PST8PDT7", "America/Vancouver"),
        ("MET-1METDST", "MET"),
        ("CET-1CEST-2", "CET"),
        ("CLT4CLST3", "Atlantic/Bermuda"),
        ("XYZ-1XYS", "Europe/Andorra"),
        ("XYZ-1XYS,M1.1.0,M2.1.0", ""),
        ("XYZ-5:17", ""),
        ("XYZ-77", ""),
    ],
)
def test_a_rule_is_a_zone_whose_clocks_go_by_it(rule, zone):
    """`TZ` may be a rule as POSIX has it, which has no name: another zone has it, or it is not known."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", rule)
        assert machine_zone() == zone
        assert local_zone() == (zone or "UTC")


@each(
    ("rule", "zone"),
    [
        ("MEZ-1MESZ", "Europe/Berlin"),
        ("CET-1CEST,M3.5.0/2,M10.5.0/3", "Europe/Berlin"),
        ("CET-01:00CEST-02:00", "Europe/Berlin"),
        ("EST5EDT,M3.2.0/2,M11.1.0/2", "America/Toronto"),
        ("MEZ-1MESZ,M3.1.0,M10.5.0/3", ""),
    ],
)
def test_a_rule_that_the_machines_zone_has_is_that_zone(rule, zone):
    """However it is spelled; what it leaves out, it does not contradict."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", rule)
        patch.setattr(localzone, "LOCALTIME", Path("/usr/share/zoneinfo/Europe/Berlin"))
        assert machine_zone() == zone


def test_a_file_in_the_database_is_its_zone(monkeypatch, tmp_path):
    """`TZ` may be a path: of the database, of a link into it, or of a copy."""
    place = tmp_path / "zoneinfo" / "Asia" / "Tokyo"
    place.parent.mkdir(parents=True)
    place.write_bytes(TOKYO)
    (tmp_path / "link").symlink_to(place)
    shutil.copy(place, tmp_path / "copy")
    for path in (place, tmp_path / "link", tmp_path / "copy"):
        for spelled in (str(path), f":{path}"):
            monkeypatch.setenv("TZ", spelled)
            assert machine_zone() == "Asia/Tokyo", spelled


def test_a_copy_is_recognised_by_its_content(copied):
    """In a container, /etc/localtime is a file, and what is noted beside it may be of the image."""
    for noted in ("", "Etc/UTC", "Mars/Olympus", "Asia/Tokyo"):
        copied(BERLIN, noted)
        assert machine_zone() == "Europe/Berlin", noted
    copied(localzone._in_database("Etc/GMT-3"))
    assert machine_zone() == "Etc/GMT-3"
    copied(localzone._in_database("UTC"))
    assert machine_zone() == "UTC"


def test_what_is_noted_decides_between_equal_zones(copied):
    """Several names may have the same clocks: then it is the one that the person chose."""
    same = localzone._in_database("Asia/Calcutta")
    copied(same, "Asia/Calcutta")
    assert machine_zone() == "Asia/Calcutta"
    copied(same)
    assert machine_zone() == "Asia/Kolkata"


def test_a_copy_of_another_edition_is_a_zone_with_the_same_rule(copied):
    """A file that only tells the present has less than the database, but the same times now."""
    short = b"TZif2" + bytes(15) + bytes(16) + (1).to_bytes(4) + (4).to_bytes(4)
    block = bytes(6) + b"CET\0"
    copied(short + block + short + block + b"\nCET-1CEST,M3.5.0,M10.5.0/3\n")
    assert localzone._rule_of(localzone._in_database(machine_zone())) == b"CET-1CEST,M3.5.0,M10.5.0/3"


@each("data", [b"", b"TZif", b"Central European Time\n", BERLIN[:-10], BERLIN[:200] + b"\nCET-1\n"])
def test_a_copy_that_is_no_zone_is_not_known(data, tmp_path):
    """Times are in UTC then, and it can be said."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("TZ", raising=False)
        patch.setattr(localzone, "LOCALTIME", tmp_path / "localtime")
        (tmp_path / "localtime").write_bytes(data)
        assert (machine_zone(), local_zone()) == ("", "UTC")


def test_a_file_that_cannot_be_read_is_not_known(monkeypatch, tmp_path):
    """A directory in its place is no zone."""
    monkeypatch.setenv("TZ", str(tmp_path))
    assert machine_zone() == ""
