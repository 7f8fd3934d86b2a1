"""The list of exports: what is written to it is what is read from it, whatever else is in it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from katod.archive.manifest import Entry, Manifest, entry_line, header, project_line
from katod.errors import KatodError
from katod.model import SessionKey
from tests.examples import examples, texts
from tests.looping import each

KEY = SessionKey("claude", "6f1c2c1e", "")
ENTRY = Entry((KEY, "markdown"), "made", [["/a.jsonl", 9, 8, 7, 6]], "app/a.md", 5, 4, "hash", "1:c2FpZA==")


def written(*lines):
    """Return the content of a list with these lines."""
    return header() + b"".join(lines)


SOURCES = st.lists(st.tuples(texts(), st.integers(0, 2**63), st.integers(-(2**63), 2**63 - 1)).map(list), max_size=3)
SLOTS = st.tuples(st.tuples(texts(), texts(), texts()).map(SessionKey._make), texts())
EMPTY = st.tuples(SLOTS, texts(), SOURCES)
FILE = st.tuples(st.sampled_from(("a.md", "app/ä b.md")), st.integers(0, 2**63), st.integers(0, 2**63), texts())


@pytest.mark.slow
@given(st.lists(EMPTY.map(lambda one: Entry(*one)) | st.tuples(EMPTY, FILE).map(lambda two: Entry(*two[0], *two[1]))))
@examples(3, 500)
def test_what_is_written_is_read(entries):
    """The last line about a session counts; nothing of it is lost."""
    manifest = Manifest.read(written(*map(entry_line, entries)))
    assert (manifest.entries, manifest.damaged) == ({entry.slot: entry for entry in entries}, 0)
    again = Manifest.read(b"".join(manifest.lines()))
    assert again.entries == manifest.entries


@each(
    "entry",
    [
        ENTRY,
        ENTRY._replace(before="b"),
        ENTRY._replace(cwd="/home/me/app"),
        Entry((KEY, "html"), cwd="/home/me/app", sources=[]),
        ENTRY._replace(edited=True),
        ENTRY._replace(parent="6f1c2c1d"),
        ENTRY._replace(earlier=(("app/a.md", "older"), ("app/a-2.md", "hash"))),
        Entry((KEY, "html"), "m", []),
    ],
)
def test_every_kind_of_line_is_read(entry):
    """Those of files, of files about to be replaced, of edited ones, of older ones, and of empty sessions."""
    assert Manifest.read(written(entry_line(entry))).entries == {entry.slot: entry}


def test_the_names_of_older_files_are_taken():
    """No other export gets one: it would be deleted with this session."""
    assert Manifest.read(written(entry_line(ENTRY._replace(earlier=(("b.md", "x"),))))).names() == {"app/a.md", "b.md"}


def test_folders_of_projects_are_kept():
    """By the path of the project."""
    manifest = Manifest.read(written(project_line("/srv/app", "app-1a2b")))
    assert manifest.projects == {"/srv/app": "app-1a2b"}
    assert b"".join(manifest.lines()) == written(project_line("/srv/app", "app-1a2b"))


def test_an_incomplete_last_line_does_not_count():
    """However much of it was written before a kill; it is no damage."""
    data = written(entry_line(ENTRY), entry_line(ENTRY._replace(digest="new")))
    for end in range(len(data)):
        manifest = Manifest.read(data[:end])
        assert manifest.damaged == 0
        assert manifest.size == data[:end].rfind(b"\n") + 1
        assert list(manifest.entries.values()) in ([], [ENTRY])
    assert Manifest.read(data).entries[ENTRY.slot].digest == "new"


@each(
    "line",
    [
        b"", b"{", b"[]", b"7", b'"text"', b"null", b"{}", b'{"session":7}', b'{"session":["a","b"]}',
        entry_line(ENTRY).replace(b'"size":5', b'"size":"5"').strip(),
        entry_line(ENTRY).replace(b'"size":5', b'"size":5e99').strip(),
        *(entry_line(ENTRY).replace(b"app/a.md", name).strip()
          for name in (b"", b"/etc/passwd", b"../a.md", b"app/../../a.md", b"app//a.md", b".hidden", b"app/.git/a", b"a\\u0000")),
        *(entry_line(ENTRY._replace(earlier=one)).strip()
          for one in ((("../a.md", "hash"),), (("app/.a", "hash"),), (("a.md", 7),), (("a.md",),), 7)),
        entry_line(ENTRY._replace(parent=7)).strip(),
        project_line("/srv", "..").strip(), project_line("/srv", "/etc").strip(),
    ],
)  # fmt: skip
def test_a_damaged_line_is_counted_and_left_out(line):
    """So is one whose file would be outside of the folder, or hidden; all others count."""
    manifest = Manifest.read(written(line + b"\n", entry_line(ENTRY._replace(slot=(KEY, "html")))))
    assert manifest.damaged == 1
    assert [slot[1] for slot in manifest.entries] == ["html"]
    assert manifest.projects == {}


@each("begun", [0, 5, len(header()), len(header()) + 9])
@each("behind", [b"", entry_line(ENTRY)])
def test_lines_that_power_loss_replaced_are_no_damage(begun, behind):
    """They were not synced, so nothing is lost with them; a line behind them counts."""
    whole = written(entry_line(ENTRY._replace(slot=(KEY, "html"))))
    manifest = Manifest.read(whole[:begun] + bytes(len(whole) - begun) + behind)
    assert (manifest.damaged, [*manifest.entries.values()]) == (0, [ENTRY] if behind else [])


@each("begun", [0, 5, len(header()), len(header()) + 9])
@each("end", [b"", b"\n"])
def test_what_power_loss_left_between_others_is_no_damage(begun, end):
    """Of two lines that were not synced, the disk kept the beginning of the first and a part of the second."""
    line = entry_line(ENTRY)
    manifest = Manifest.read(written()[:begun] + line[: max(begun - len(header()), 0)] + bytes(300) + line[3:40] + end)
    assert (manifest.damaged, [*manifest.entries.values()]) == (0, [])


@each("kept", [1, 2, 40, 150])
def test_a_line_of_which_power_loss_left_the_end_is_no_damage(kept):
    """The disk kept the later part of what was not synced."""
    lost = entry_line(ENTRY._replace(slot=(KEY, "html")))
    manifest = Manifest.read(written(entry_line(ENTRY)) + bytes(len(lost) - kept) + lost[-kept:])
    assert (manifest.damaged, [*manifest.entries.values()]) == (0, [ENTRY])


@each("data", [b"my notes", b"my notes\n", b'{"a":1}\n', b"\xff\n", b"\n", b"my\0notes", b"my\0notes\n"])
def test_another_file_is_damage(data):
    """It is not katod's, and must not be taken for an empty list."""
    assert Manifest.read(data).damaged


def test_a_later_version_is_refused():
    """Nothing of it is read."""
    with pytest.raises(KatodError):
        Manifest.read(b'{"katodExport":2}\n')


def test_how_much_is_said_is_told_whether_lengths_were_noted_or_not():
    """Machines that share a folder may have different versions of katod."""
    slot = SessionKey("claude", "6f1c2c1e"), "jsonl"
    longer, shorter, old = (
        Entry(slot, said=said) for said in ("1:aaaaaaaaaaaa:aaaa", "1:aaaaaa==:aaaaaaaaa", "1:aaaaaaaaaaaa")
    )
    assert longer.said_length == old.said_length > shorter.said_length > Entry(slot).said_length
