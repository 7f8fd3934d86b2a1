"""How findings are shown: to people, and as data."""

import re
from pathlib import Path

from katod import doctor
from katod.doctor.examine import _ALL
from katod.doctor.findings import AREAS, ASCII_MARKS, MARKS, count, in_order, lines, ok, problem, summary, warning

FOUND = [
    ok("ledger.intact", "all is well", path="/x"),
    warning("output.private", "others read it", "chmod"),
    problem("output.marker", "gone", "mount it"),
]


def test_findings_are_grouped_and_marked():
    """Each area has a heading, each finding a mark that is no colour, and an indented line with what to do."""
    assert list(lines(in_order(FOUND), MARKS)) == [
        "output:", "  ! others read it", "      → chmod", "  ✗ gone", "      → mount it", "ledger:", "  ✓ all is well",
    ]  # fmt: skip


def test_marks_have_a_form_in_ascii():
    """They differ there, too."""
    assert all(mark.isascii() for mark in ASCII_MARKS.values())
    assert len(set(ASCII_MARKS.values())) == len(MARKS)


def test_a_finding_is_one_line():
    """A path with line breaks cannot pose as another finding."""
    [_, line] = lines([ok("output.writable", "/a\n  ✓ all is well\u2028/b")], MARKS)
    assert line == "  ✓ /a   ✓ all is well /b"


def test_data_leaves_out_what_is_not_known_and_what_is_no_text():
    """None is left out, and bytes of a path that are no UTF-8 are replaced: the JSON is always valid."""
    row = ok("agents.found", "\udcff", path="/\udcff", version=None, sessions=0).row()
    assert row == {
        "area": "agents", "check": "agents.found", "level": "ok", "text": "?", "path": "/?", "sessions": 0,
    }  # fmt: skip


def test_the_summary_counts():
    """The last line says how much there is to do."""
    assert summary(FOUND) == "1 problem, 1 warning"
    assert summary([]) == "0 problems, 0 warnings"
    assert [count(1, "directory"), count(2, "directory"), count(2, "day")] == ["1 directory", "2 directories", "2 days"]


def test_each_check_is_of_an_area():
    """A finding whose area is not in the order would end `katod doctor` in a traceback."""
    sources = (path.read_text() for path in Path(doctor.__file__).parent.glob("*.py"))
    found = [
        area for source in sources for area in re.findall(r'(?:ok|warning|problem|skipped)\(\s*f?"(\w+)\.', source)
    ]
    assert len(found) > 50
    assert set(found) <= set(AREAS)


def test_each_area_is_examined():
    """An examination that yields findings of an area without a place in the order fails here."""
    assert set(_ALL) <= set(AREAS)
