"""What agents, editors, log rotation and backups do to session files: nothing is lost or written twice.

Each case runs against a katod that keeps running, and against one that is restarted before each look.
"""

import os

import pytest

from tests.support.inprocess import InProcess
from tests.support.reading import lines
from tests.support.records import OTHER, Claude, line

WEEKS = 21 * 24 * 3600
NAMES = ("one", "two", "three", "four", "five")
GAP = "A part of the conversation is missing here"


@pytest.fixture(params=["running", "restarted"])
def look(world, request):
    """Return a function that makes katod look at everything."""
    if request.param == "restarted":
        yield world.once
        return
    katod = InProcess(world)
    yield katod.turn
    katod.stop()


@pytest.fixture
def session(world, look):
    """A session with three messages, all recorded."""
    made = Session(world)
    made.source.append(*made.records[:3])
    look()
    return made


class Session:
    """A Claude Code session of five records."""

    def __init__(self, world):
        make = Claude()
        self.source = world.claude()
        first = line(make.user("::start notes\none"))
        self.records = [first, *(line(make.says(name)) for name in NAMES[1:])]

    @property
    def path(self):
        return self.source.path

    @property
    def content(self):
        return self.path.read_bytes()


def said(world):
    """Return the messages in the output, in order."""
    [text] = world.written().values()
    return [line for line in lines(text) if line in NAMES]


def replace(path, content):
    """Replace the file by renaming another one over it, as editors and clients do."""
    fresh = path.with_suffix(".fresh")
    fresh.write_bytes(content)
    fresh.rename(path)


@pytest.mark.fault("source truncated")
@pytest.mark.parametrize("kept", [0, 1, 2])
def test_a_truncated_source_goes_on_with_what_is_new(world, look, session, kept):
    """Removed messages stay in the output, kept ones are not written again, new ones are recorded."""
    session.path.write_bytes(b"".join(session.records[:kept]))
    look()
    session.source.append(*session.records[3:])
    look()
    assert said(world) == list(NAMES)


@pytest.mark.fault("source truncated")
def test_a_source_truncated_within_a_record_goes_on(world, look, session):
    """A truncated record is read once the next write completes it."""
    cut = len(session.content) - 20
    os.truncate(session.path, cut)
    look()
    session.source.append(b"".join(session.records[:4])[cut:])
    look()
    assert said(world) == ["one", "two", "three", "four"]


@pytest.mark.fault("source truncated and grown")
@pytest.mark.parametrize("more", [0, 1, 200])
def test_a_source_truncated_and_grown_between_two_looks_is_read_anew(world, look, session, more):
    """Truncation is detected at the same size or a larger one, because the anchor no longer matches."""
    size = session.path.stat().st_size
    new = session.records[3] + session.records[4]
    filler = line({"type": "mode", "x": "y" * max(0, size - len(new) + more - len(line({"type": "mode", "x": ""})))})
    session.path.write_bytes(filler + new)
    assert session.path.stat().st_size >= size
    look()
    assert said(world) == list(NAMES)


@pytest.mark.fault("source replaced")
@pytest.mark.parametrize("kept", [slice(0, 3), slice(2, 3), slice(3, 3)], ids=["all", "the last", "nothing"])
def test_a_source_replaced_by_rename_goes_on(world, look, session, kept):
    """Whatever the new file keeps of the old one, its new records are recorded once."""
    replace(session.path, b"".join((*session.records[kept], *session.records[3:])))
    look()
    assert said(world) == list(NAMES)


@pytest.mark.fault("source copied and truncated")
@pytest.mark.parametrize("hole", [False, True], ids=["appending", "writing on at its own offset"])
def test_a_source_that_was_rotated_goes_on(world, look, session, hole):
    """After `copytruncate` nothing is missed, even if the agent leaves a hole of NUL bytes before its next record."""
    session.path.with_suffix(".1").write_bytes(session.content)
    offset = session.path.stat().st_size if hole else 0
    os.truncate(session.path, 0)
    for record in session.records[3:]:
        with session.path.open("r+b") as file:
            file.seek(offset)
            offset += file.write(record)
        look()
    assert said(world) == list(NAMES)


@pytest.mark.fault("inode reused")
def test_a_session_with_the_inode_of_another_is_its_own(world, look, session):
    """A deleted session and a new one with the same inode are recorded separately."""
    inode = session.path.stat().st_ino
    session.path.unlink()
    other = session.path.with_name(f"{OTHER}.jsonl")
    if not has_inode(other, inode):
        pytest.skip("this file system does not use an inode again")
    make = Claude(session=OTHER)
    world.claude(OTHER).append(make.user("::start other\nfour"), make.says("five"))
    look()
    written = world.written()
    assert [name for name, text in written.items() if "five" in text] == ["other.md"]
    assert "three" in written["notes.md"]
    assert "three" not in written["other.md"]


@pytest.mark.fault("inode reused")
def test_a_source_made_anew_with_its_old_inode_is_read_anew(world, look, session):
    """A recreated file with the same name and inode is read from its beginning."""
    inode, size = session.path.stat().st_ino, session.path.stat().st_size
    session.path.unlink()
    if not has_inode(session.path, inode):
        pytest.skip("this file system does not use an inode again")
    session.source.append(*session.records[3:], {"type": "mode", "x": "y" * size})
    look()
    assert said(world) == list(NAMES)


def has_inode(path, inode):
    """Create a file with this inode; return whether the file system reused it."""
    for number in range(50):
        path.touch()
        if path.stat().st_ino == inode:
            return True
        path.rename(path.with_suffix(f".{number}"))
    return False


@pytest.mark.fault("source deleted and restored")
@pytest.mark.parametrize("grown", [False, True], ids=["as it was", "grown"])
def test_a_source_that_comes_back_goes_on(world, look, session, grown):
    """The recording stays open while its source is gone; nothing is written twice when it comes back."""
    content = session.content
    session.path.unlink()
    look()
    session.path.write_bytes(content + (session.records[3] if grown else b""))
    look()
    session.source.append(*session.records[4 if grown else 3 :])
    look()
    assert said(world) == list(NAMES)
    assert GAP not in world.written()["notes.md"]


@pytest.mark.fault("old session restored")
def test_a_session_restored_after_weeks_is_history(world, look):
    """A file restored with its old mtime is history: its commands are ignored, and later messages are not recorded."""
    session = Session(world)
    session.source.append(*session.records)
    then = session.path.stat().st_mtime - WEEKS
    os.utime(session.path, (then, then))
    look()
    session.source.append(Claude(start=9).says("more"))
    look()
    assert world.written() == {}


@pytest.mark.fault("old session restored")
def test_a_backup_that_takes_the_place_of_a_session_doubles_nothing(world, look, session):
    """After a session file is replaced by an older backup, only new messages are recorded."""
    replace(session.path, b"".join(session.records[:2]))
    look()
    session.source.append(Claude(start=20).says("four"))
    look()
    assert said(world) == ["one", "two", "three", "four"]


@pytest.mark.fault("torn record, another appended to it")
@pytest.mark.parametrize("part", [1, 45, -2])
def test_a_record_glued_to_a_torn_one_is_read(world, look, session, part):
    """After an agent died in the middle of a record, a complete record appended to the torn one is read."""
    session.source.append(session.records[3][:part])
    look()
    session.source.append(session.records[4])
    look()
    assert said(world) == ["one", "two", "three", "five"]


@pytest.mark.fault("incomplete line")
@pytest.mark.parametrize("looks", [b"{\n", pytest.param(b'{}":\n', marks=pytest.mark.slow)], ids=["few", "many"])
def test_a_record_that_comes_byte_by_byte_is_read_once(world, look, session, looks):
    """A record written byte by byte is not read before its newline."""
    for byte in session.records[3]:
        session.source.append(bytes([byte]))
        if byte in looks:
            look()
    assert said(world) == ["one", "two", "three", "four"]
