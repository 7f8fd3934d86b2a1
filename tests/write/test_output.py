"""Outputs on disk: checked, appended to, completed; and what others have done to them."""

import errno
import os
import stat
from contextlib import contextmanager
from fcntl import LOCK_EX, flock
from unittest import mock

import pytest

from katod import durable
from katod.errors import OutputError, OutputReplaced
from katod.write import output
from katod.write.output import (
    ABSENT,
    FileFingerprint,
    OutputPath,
    append,
    complete,
    detect_change,
    is_output,
    make,
    owner_number,
    require_no_other,
    save_asset,
)
from tests.looping import each

OWNER = owner_number("/state/ledger.db")
EVENTS = [b"---\ntitle: x\n---\n", b"\n## User\n\nhello\n", b"\n- `Read` a.md\n"]
INTENT = b"".join(EVENTS)
BOUNDS = [len(b"".join(EVENTS[: n + 1])) for n in range(len(EVENTS))]


pytestmark = pytest.mark.usefixtures("no_descriptor_is_left")


@pytest.fixture
def place(tmp_path):
    (tmp_path / "out").mkdir()
    return OutputPath(tmp_path / "out", ("app", "auth.md"))


def append_new(place, data):
    """Create an output and append to it."""
    make(place, OWNER)
    return append(place, data)


def put(place, data):
    """Write a file as another program would."""
    place.path.parent.mkdir(parents=True, exist_ok=True)
    place.path.write_bytes(data)


def nobody(_head):
    """Say that a file names no session."""
    return False


def short_writes(monkeypatch, size):
    """Limit every write to a few bytes, as a quota or a signal would."""
    real = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: real(fd, bytes(data)[:size]))


@contextmanager
def failing_writes(monkeypatch, error, after=0):
    """Make writes fail after that many bytes."""
    real, left = os.write, [after]

    def write(fd, data):
        if not left[0]:
            raise OSError(error, os.strerror(error))
        written = real(fd, bytes(data)[: left[0]])
        left[0] -= written
        return written

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", write)
        yield


# -- appending -------------------------------------------------------------------------------------


def test_new_output_is_made_with_its_folders(place):
    """The first append creates the file and its folders, accessible to the owner only."""
    known = append_new(place, INTENT)
    status = place.path.stat()
    assert place.path.read_bytes() == INTENT
    assert (stat.S_IMODE(status.st_mode), stat.S_IMODE(place.path.parent.stat().st_mode)) == (0o600, 0o700)
    assert known[:3] == (status.st_dev, status.st_ino, len(INTENT))


def test_appends_follow_each_other(place):
    """Each append follows the one before, and its result matches the file."""
    append_new(place, b"one\n")
    known = append(place, b"two\n")
    assert place.path.read_bytes() == b"one\ntwo\n"
    assert detect_change(place, known, nobody) == ("same", known)


@pytest.mark.whole
@pytest.mark.parametrize("size", [1, 3, 16])
def test_short_writes_are_gone_on_with(place, monkeypatch, size):
    """A short write is continued until everything is written."""
    short_writes(monkeypatch, size)
    known = append_new(place, INTENT)
    assert (place.path.read_bytes(), known.size) == (INTENT, len(INTENT))


def test_write_that_takes_nothing_is_an_error(place, monkeypatch):
    """A disk that accepts no bytes and gives no error does not block katod."""
    short_writes(monkeypatch, 0)
    with pytest.raises(OutputError, match="0 bytes"):
        append_new(place, INTENT)


def test_what_was_written_is_synced_with_its_folder(place, monkeypatch):
    """The bytes of a new file and its name are synced before an append returns."""
    synced = []
    for name in ("sync", "sync_names"):
        monkeypatch.setattr(durable, name, lambda fd: synced.append(os.fstat(fd).st_ino))
    append_new(place, INTENT)
    assert place.path.stat().st_ino == synced[-1]
    assert place.path.parent.stat().st_ino in synced


@pytest.mark.whole
@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS, errno.EFBIG])
def test_disk_error_names_the_output(place, monkeypatch, error):
    """A full, broken or read-only disk is an `OutputError` with the path and the reason."""
    with failing_writes(monkeypatch, error), pytest.raises(OutputError) as caught:
        append_new(place, INTENT)
    assert str(place.path) in str(caught.value)
    assert os.strerror(error) in str(caught.value)


def test_file_that_someone_made_is_not_taken(place):
    """A new output is never written to a file that has content."""
    put(place, b"a note\n")
    with pytest.raises(OutputError, match="a different file"):
        append_new(place, INTENT)
    assert place.path.read_bytes() == b"a note\n"


def test_empty_file_is_taken(place):
    """An empty file with the output's name is used as the output."""
    put(place, b"")
    known = append_new(place, INTENT)
    assert (place.path.read_bytes(), known.size) == (INTENT, len(INTENT))


def test_an_empty_file_that_another_program_has_locked_is_not_taken(place):
    """Two katods may claim it at once; where files cannot be locked, that is not noticed."""
    put(place, b"")
    with place.path.open("rb") as other:
        flock(other, LOCK_EX)
        with pytest.raises(OutputError):
            make(place, OWNER)
    with mock.patch("katod.write.output.flock", side_effect=OSError(errno.ENOLCK, "none")):
        assert make(place, OWNER).ino == place.path.stat().st_ino


def test_a_file_that_another_katod_is_about_to_write_to_is_not_taken(place):
    """Of two katods that create the same output, one gets it; after a crash it still has it, although it is empty."""
    other = owner_number("/elsewhere/ledger.db")
    known = make(place, OWNER)
    with pytest.raises(OutputError, match="a different file"):
        make(place, other)
    assert make(place, OWNER) == known
    append(place, INTENT)
    with pytest.raises(OutputError, match="a different file"):
        make(place, other)


def test_output_deleted_since_the_look_is_an_output_error(place):
    """A file deleted between check and append is an `OutputError`, so the append can be retried."""
    append_new(place, INTENT)
    place.path.unlink()
    with pytest.raises(OutputError):
        append(place, b"more\n")


def test_note_without_newline_is_not_glued_to(place):
    """After a user's note without a final newline, the append begins on a new line."""
    append_new(place, b"one\n")
    put(place, b"one\nmy note")
    append(place, b"two\n")
    assert place.path.read_bytes() == b"one\nmy note\ntwo\n"


@pytest.mark.whole
@pytest.mark.parametrize("kind", ["link", "linked folder", "hard link", "fifo", "directory"])
def test_odd_file_is_refused_as_an_output_error(place, kind, tmp_path):
    """What replaced an output is not written to, and the output can be retried later."""
    precious = tmp_path / "precious.md"
    precious.write_bytes(b"precious")
    if kind == "linked folder":
        (tmp_path / "elsewhere").mkdir()
        place.path.parent.symlink_to(tmp_path / "elsewhere")
    else:
        place.path.parent.mkdir(parents=True)
        link = {"link": place.path.symlink_to, "hard link": place.path.hardlink_to}.get(kind)
        if link:
            link(precious)
        else:
            {"fifo": os.mkfifo, "directory": os.mkdir}[kind](place.path)
    known = FileFingerprint(1, 1, 1, "x")
    acts = (
        lambda: make(place, OWNER),
        lambda: append(place, INTENT),
        lambda: complete(place, known, INTENT, BOUNDS),
    )
    for act in acts:
        with pytest.raises(OutputError):
            act()
    assert precious.read_bytes() == b"precious"
    assert not (tmp_path / "elsewhere/auth.md").exists()


# -- checking --------------------------------------------------------------------------------------


def test_output_that_was_never_made_is_the_same(place):
    """Before the first append there is nothing to compare."""
    assert detect_change(place, FileFingerprint(), nobody) == ("same", FileFingerprint())


@pytest.mark.whole
@pytest.mark.parametrize("data", [INTENT + b"note\n", b"note\n" + INTENT, b"x\n" + INTENT[-64:]])
def test_edited_output_is_adopted(place, data):
    """A longer, shorter or changed file is adopted with its current content."""
    known = append_new(place, INTENT)
    put(place, data)
    seen = detect_change(place, known, nobody)
    assert (seen.change, seen.known.size) == ("edited", len(data))
    assert detect_change(place, seen.known, nobody).change == "same"


@pytest.mark.whole
@pytest.mark.parametrize("data", [EVENTS[0] + EVENTS[1], INTENT[:-3], INTENT.replace(b"a.md", b"b.md"), b"x\n", b""])
def test_an_output_without_what_was_written_last_is_reverted(place, data):
    """A file that lacks its last bytes, as an older copy that an editor saved does, is told from other edits."""
    known = append_new(place, INTENT)
    put(place, data)
    seen = detect_change(place, known, nobody)
    assert (seen.change, seen.known.size) == ("reverted", len(data))
    assert detect_change(place, seen.known, nobody).change == "same"


def test_another_file_with_the_same_bytes_is_the_same(place):
    """So is what a backup, a synchronisation or `git stash` puts back; it is adopted."""
    known = append_new(place, INTENT)
    place.path.rename(place.path.with_name("old"))
    put(place, INTENT)
    seen = detect_change(place, known, nobody)
    assert (seen.change, seen.known) == ("same", known._replace(ino=place.path.stat().st_ino))


@pytest.mark.parametrize(
    ("data", "names_session", "change"),
    [
        (INTENT + b"note\n", nobody, "edited"),
        (INTENT.replace(b"\n", b"\r\n"), nobody, "reverted"),
        (b"older\n", lambda head: head == b"older\n", "reverted"),
        (b"my own notes\n", nobody, "replaced"),
        (b"", nobody, "gone"),
    ],
)
def test_another_file_is_the_output_by_its_words_or_its_session(place, data, names_session, change):
    """An editor saves a new file; any other file that has the name is somebody else's."""
    known = append_new(place, INTENT)
    place.path.rename(place.path.with_name("old"))
    put(place, data)
    seen = detect_change(place, known, names_session)
    assert (seen.change, seen.known == FileFingerprint()) == (change, change in ABSENT)


def test_only_a_file_with_words_has_the_name_of_an_output(place):
    """One that is missing or empty is no other file."""
    require_no_other(place)
    put(place, b"")
    require_no_other(place)
    put(place, b"my own notes\n")
    with pytest.raises(OutputError, match="a different file"):
        require_no_other(place)


@pytest.mark.whole
@pytest.mark.parametrize("lost", ["file", "folder"])
def test_lost_output_is_gone(place, lost):
    """If the file or its folder is missing, the output is gone and its known state is reset."""
    known = append_new(place, INTENT)
    path = {"file": place.path, "folder": place.path.parent}[lost]
    path.rename(place.root / "moved")
    assert detect_change(place, known, nobody) == ("gone", FileFingerprint())


def test_an_output_on_a_device_of_another_number_is_the_same(place):
    """The number of a device may change with a restart and says nothing by itself."""
    known = append_new(place, INTENT)._replace(dev=1)
    assert detect_change(place, known, nobody).change == "same"


# -- files that are replaced, roots that are missing ---------------------------------------------------


def test_a_file_that_is_linked_to_in_its_place_is_replaced(place, monkeypatch):
    """It was moved, and there is a link to it in its place, which katod does not follow."""
    append_new(place, b"before\n")
    sync, moved = durable.sync, place.path.with_name("moved")

    def late(fd):
        sync(fd)
        place.path.rename(moved)
        place.path.symlink_to(moved)

    monkeypatch.setattr(durable, "sync", late)
    with pytest.raises(OutputReplaced):
        append(place, INTENT)


@pytest.mark.whole
@pytest.mark.parametrize("act", ["append", "complete"])
def test_a_file_that_is_replaced_before_the_sync_ends_is_noticed(place, monkeypatch, act):
    """The bytes went to a file that no longer has the name, so the append is not done."""
    known = append_new(place, b"before\n")
    sync = durable.sync

    def late(fd):
        sync(fd)
        fresh = place.path.with_name("fresh")
        fresh.write_bytes(b"before\nmy note\n")
        fresh.replace(place.path)

    monkeypatch.setattr(durable, "sync", late)
    with pytest.raises(OutputReplaced):
        append(place, INTENT) if act == "append" else complete(place, known, INTENT, BOUNDS)
    monkeypatch.undo()
    complete(place, known, INTENT, BOUNDS)
    assert place.path.read_bytes() == b"before\nmy note\n" + INTENT


def test_nothing_is_created_where_a_root_was(place):
    """A missing root is neither created nor taken for a deleted output; the error says which directory it is."""
    known = append_new(place, INTENT)
    place.root.rename(place.root.parent / "moved")
    for act in (
        lambda: detect_change(place, known, nobody),
        lambda: make(place, OWNER),
        lambda: append(place, b"x"),
        lambda: complete(place, known, b"x", [1]),
    ):
        with pytest.raises(OutputError, match=f"the directory {place.root} does not exist"):
            act()
    assert not place.root.exists()


def test_look_changes_nothing(place):
    """Checking an output changes neither its bytes nor its times."""
    known = append_new(place, INTENT)
    before = place.path.stat()
    detect_change(place, known, nobody)
    assert place.path.stat().st_mtime_ns == before.st_mtime_ns


# -- completing ------------------------------------------------------------------------------------


@pytest.mark.whole
@pytest.mark.parametrize("cut", range(0, len(INTENT) + 1, 3))
def test_first_intent_is_completed(place, cut):
    """A first intent that a crash left unwritten, or written in part, is completed and written once."""
    known = make(place, OWNER)
    put(place, INTENT[:cut])
    known, _ = complete(place, known, INTENT, BOUNDS)
    assert (place.path.read_bytes(), known.size) == (INTENT, len(INTENT))


@pytest.mark.parametrize("cut", range(3, len(EVENTS[0])))
@pytest.mark.parametrize("before", [b"", b"my note\n"])
def test_first_intent_is_completed_in_a_file_that_was_edited_meanwhile(place, before, cut):
    """Even if the file was edited since, and little of the intent is in it, the file is known to be katod's."""
    known = make(place, OWNER)
    put(place, before + INTENT[:cut])
    known, foreign = complete(place, known, INTENT, BOUNDS)
    assert (place.path.read_bytes(), foreign) == (before + INTENT, bool(before))


@pytest.mark.parametrize("cut", range(0, len(INTENT) + 1, 3))
def test_later_intent_is_completed(place, cut):
    """An intent that a crash left in part is completed after the existing content."""
    known = append_new(place, b"before\n")
    put(place, b"before\n" + INTENT[:cut])
    known, _ = complete(place, known, INTENT, BOUNDS)
    assert place.path.read_bytes() == b"before\n" + INTENT
    assert detect_change(place, known, nobody).change == "same"


@each("cut", [None, *range(0, len(INTENT) + 1, 3)])
def test_an_intent_is_completed_below_a_line_that_someone_left_open(tmp_path, cut):
    """Wherever a crash cut it, or the line break before it."""
    place = OutputPath(tmp_path, (f"{cut}.md",))
    append_new(place, b"before\n")
    put(place, b"before\nmy note")
    known = detect_change(place, FileFingerprint(ino=1), lambda _: True).known
    put(place, b"before\nmy note" + (b"" if cut is None else b"\n" + INTENT[:cut]))
    complete(place, known, INTENT, BOUNDS)
    assert place.path.read_bytes() == b"before\nmy note\n" + INTENT


def test_completing_twice_adds_nothing(place):
    """A complete intent is not changed, whatever is known of the file."""
    known = append_new(place, b"before\n")
    for _ in range(3):
        complete(place, known, INTENT, BOUNDS)
    assert place.path.read_bytes() == b"before\n" + INTENT


def test_nul_tail_of_power_loss_is_replaced(place):
    """NUL bytes in place of the intent are cut off, and the intent is written."""
    known = append_new(place, b"before\n")
    put(place, b"before\n" + INTENT[:10] + b"\0" * 200)
    complete(place, known, INTENT, BOUNDS)
    assert place.path.read_bytes() == b"before\n" + INTENT


def test_note_behind_a_torn_batch_stays(place):
    """A user's note after a torn intent stays, and the missing events follow it."""
    known = append_new(place, b"before\n")
    put(place, b"before\n" + EVENTS[0] + b"my note")
    complete(place, known, INTENT, BOUNDS)
    assert place.path.read_bytes() == b"before\n" + EVENTS[0] + b"my note\n" + EVENTS[1] + EVENTS[2]


def test_file_edited_before_its_end_is_completed_at_its_end(place):
    """If earlier content was edited, the intent is completed once, at the end of the file."""
    known = append_new(place, b"before, as katod wrote it\n")
    put(place, b"changed by hand\n" + INTENT[:30])
    complete(place, known, INTENT, BOUNDS)
    assert place.path.read_bytes() == b"changed by hand\n" + INTENT


def test_short_intent_is_found_behind_an_edit_close_before_it(place):
    """A written intent is found between an edit within the last kilobyte and a note, and is not written twice."""
    known = append_new(place, INTENT + b"\n%s\n" % (b"words. " * 40))
    short = b"\nyes.\n"
    edited = place.path.read_bytes().replace(b"hello", b"hello, with a word of mine")
    put(place, edited + short + b"a note\n")
    complete(place, known, short, [len(short)])
    assert place.path.read_bytes() == edited + short + b"a note\n"


def test_short_intent_is_found_behind_a_line_that_someone_left_open(place):
    """The intent follows an unterminated line; a line inserted at the top and a note after it do not hide it."""
    append_new(place, INTENT + b"\n%s\n" % (b"words. " * 40))
    with place.path.open("ab") as file:
        file.write(b"half a note")
    known = detect_change(place, FileFingerprint(ino=1), lambda _: True).known
    short = b"\nyes.\n"
    append(place, short)
    edited = b"---\nmine: 1\n" + place.path.read_bytes().removeprefix(b"---\n") + b"a note\n"
    put(place, edited)
    complete(place, known, short, [len(short)])
    assert place.path.read_bytes() == edited


def test_a_torn_intent_is_completed_behind_an_open_line_that_someone_went_on_with(place):
    """And behind an edit at the top; what is torn has a note at its end, and is written again, but not what is whole."""
    append_new(place, INTENT + b"\n%s\n" % (b"words. " * 40))
    with place.path.open("ab") as file:
        file.write(b"half a note")
    known = detect_change(place, FileFingerprint(ino=1), lambda _: True).known
    whole, torn = b"\nyes.\n", b"\nand no.\n"
    edited = b"---\nmine: 1\n" + place.path.read_bytes().removeprefix(b"---\n")
    put(place, edited + b" and more of it\n" + whole + b"\nand a note\n")
    complete(place, known, whole + torn, [len(whole), len(whole + torn)])
    assert place.path.read_bytes() == edited + b" and more of it\n" + whole + b"\nand a note\n" + torn


@each("intent", [INTENT, b"\nyes.\n", b"yes.\n", b"\n\nyes.\n"])
def test_an_append_after_an_open_line_is_completed_wherever_it_was_torn(tmp_path, intent):
    """With the line end that it began with, and all blank lines; also if NUL bytes are in place of what is missing."""
    bounds = [end for end in BOUNDS if end < len(intent)] + [len(intent)]
    for size in range(len(intent) + 2):
        place = OutputPath(tmp_path, (f"{len(intent)}-{size}.md",))
        append_new(place, b"---\nx\n---\n\nhello\n")
        with place.path.open("ab") as file:
            file.write(b"half a note")
        known = detect_change(place, FileFingerprint(ino=1), lambda _: True).known
        before = place.path.read_bytes()
        append(place, intent)
        whole = place.path.read_bytes()
        assert whole == before + b"\n" + intent
        for lost in (0, len(intent) + 1 - size):
            put(place, whole[: len(before) + size] + bytes(lost))
            complete(place, known, intent, bounds)
            assert place.path.read_bytes() == whole, (size, lost)


@each(("short", "times"), [(b"\nyes.\n", 1), (b"yes.\n", 1), (b"{}\n", 1), (b"\nyes.\n", 3), (b"yes.\n", 2)])
def test_short_intent_is_found_behind_edits_all_around_it(tmp_path, short, times):
    """A written intent is found between an inserted line and a note, and is not written twice.

    So it is if there are several lines like the one before it.
    """
    place = OutputPath(tmp_path, (f"{len(short)}-{times}.md",))
    known = append_new(place, INTENT + b"\n%s\nthe last line\n" % (b"words. " * 40) * times)
    head, _, tail = place.path.read_bytes().rpartition(b"the last")
    edited = b"".join((head, b"a word of mine\nthe last", tail))
    put(place, edited + short + b"a note\n")
    complete(place, known, short, [len(short)])
    assert place.path.read_bytes() == edited + short + b"a note\n"


def test_output_known_to_an_older_katod_is_the_same(place):
    """A state stored before there was a second hash is still compared."""
    known = append_new(place, INTENT)
    assert detect_change(place, known._replace(tail=known.tail.partition(".")[0]), nobody).change == "same"


@pytest.mark.whole
@pytest.mark.parametrize("data", [b"- my list\n", b"---\ntags: [mine]\n---\nmy note\n", b"a note\n"])
def test_file_that_someone_made_is_never_made_an_output(place, data):
    """A file with content that is not in the ledger belongs to someone else, and is not changed."""
    put(place, data)
    with pytest.raises(OutputError, match="a different file"):
        make(place, OWNER)
    assert place.path.read_bytes() == data


def test_lost_output_is_not_completed(place):
    """If the file is gone, the intent is not written until the new file has a mark that says so."""
    known = append_new(place, b"before\n")
    place.path.unlink()
    with pytest.raises(OutputError, match="no longer exists"):
        complete(place, known, INTENT, BOUNDS)


@pytest.mark.whole
@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO])
def test_disk_error_while_completing_is_an_output_error(place, monkeypatch, error):
    """A disk error during a retry is the same `OutputError` as the first time."""
    known = append_new(place, b"before\n")
    with failing_writes(monkeypatch, error), pytest.raises(OutputError) as caught:
        complete(place, known, INTENT, BOUNDS)
    assert os.strerror(error) in str(caught.value)


@pytest.mark.whole
@pytest.mark.parametrize("after", range(0, len(INTENT), 5))
def test_full_disk_loses_and_doubles_nothing(place, monkeypatch, after):
    """If an append fails half-way, a retry completes it, and every byte is written exactly once."""
    known = append_new(place, b"before\n")
    with failing_writes(monkeypatch, errno.ENOSPC, after), pytest.raises(OutputError):
        append(place, INTENT)
    complete(place, known, INTENT, BOUNDS)
    assert place.path.read_bytes() == b"before\n" + INTENT


# -- attachments -----------------------------------------------------------------------------------


def test_asset_is_saved_beside_its_output_once(place):
    """An attachment is in a folder next to the output; an existing one is not written again."""
    append_new(place, INTENT)
    for _ in range(2):
        save_asset(place, "auth.assets", "ab.png", b"png")
    saved = place.path.parent / "auth.assets/ab.png"
    assert (saved.read_bytes(), stat.S_IMODE(saved.stat().st_mode)) == (b"png", 0o600)


def test_asset_cut_short_is_saved_whole(place):
    """An attachment that a crash left incomplete is replaced when it is saved again."""
    save_asset(place, "auth.assets", "ab.png", b"png")
    (place.path.parent / "auth.assets/ab.png").write_bytes(b"p")
    save_asset(place, "auth.assets", "ab.png", b"png")
    assert (place.path.parent / "auth.assets/ab.png").read_bytes() == b"png"


@pytest.mark.parametrize("changed", [b"PNG", b"p!", b"png and more", b"longer than it was"])
def test_asset_that_a_person_changed_stays_as_it_is(place, changed):
    """Also one that was made smaller: only what an attachment begins with is completed."""
    save_asset(place, "auth.assets", "ab.png", b"png as it was")
    (place.path.parent / "auth.assets/ab.png").write_bytes(changed)
    save_asset(place, "auth.assets", "ab.png", b"png as it was")
    assert (place.path.parent / "auth.assets/ab.png").read_bytes() == changed


def test_asset_that_cannot_be_saved_is_an_output_error(place, tmp_path):
    """A link in place of the attachments' folder is not followed."""
    place.path.parent.mkdir(parents=True)
    (place.path.parent / "auth.assets").symlink_to(tmp_path)
    with pytest.raises(OutputError):
        save_asset(place, "auth.assets", "ab.png", b"png")
    assert not (tmp_path / "ab.png").exists()


def test_output_in_a_folder_named_like_attachments_is_refused_like_any(tmp_path):
    """An existing file is an `OutputError`, whatever the output's folder is called."""
    place = OutputPath(tmp_path, ("my.assets", "auth.md"))
    put(place, b"a note\n")
    with pytest.raises(OutputError, match="a different file"):
        append_new(place, INTENT)


def test_only_the_end_of_a_long_file_is_looked_at(place, monkeypatch):
    """What was written last is found there, wherever it is by now; further up it counts as missing."""
    known = append_new(place, INTENT)
    monkeypatch.setattr(output, "_LOOK_AROUND", len(INTENT) + 10)
    for before, after, change in ((100, 0, "edited"), (1000, 9, "edited"), (1, 200, "reverted")):
        put(place, b"x" * before + b"\n" + INTENT + b"y" * after)
        assert detect_change(place, known, nobody).change == change


def test_what_was_written_last_is_looked_for_where_it_was(place, monkeypatch):
    """However much follows it, also on its last line; an output in which nothing was written yet lacks nothing."""
    monkeypatch.setattr(output, "_LOOK_AROUND", 100)
    empty = make(place, OWNER)
    put(place, b"a note\n")
    assert detect_change(place, empty, nobody).change == "edited"
    for text in (INTENT, INTENT.rstrip()):
        put(place, b"")
        known = append_new(place, text)
        for after in (b"y", b"y" * 200):
            put(place, text + after)
            assert detect_change(place, known, nobody).change == "edited"


def test_an_output_is_known_by_its_end_however_much_is_cut_off_before(place):
    """A kilobyte of it is enough, and so are its last 64 bytes, but no fewer."""
    known = append_new(place, b"words. " * 400 + b"\n" + INTENT)
    text = place.path.read_bytes()
    for kept, change in ((1024, "edited"), (64, "edited"), (63, "reverted")):
        put(place, text[-kept:])
        assert detect_change(place, known, nobody).change == change


def test_an_output_without_a_byte_is_known_by_its_inode_alone(place):
    """Any file ends like nothing."""
    known = make(place, OWNER)
    for ino, is_it in ((known.ino, True), (known.ino + 1, False)):
        put(place, b"a note\n\n")
        with place.path.open("rb") as file:
            assert is_output(file.fileno(), known._replace(ino=ino), nobody) is is_it


def test_a_directory_that_goes_while_an_output_is_made_is_named(place, monkeypatch):
    """The root is there: it is not taken for a disk that is not mounted."""
    monkeypatch.setattr(output, "open_file", mock.Mock(side_effect=FileNotFoundError))
    with pytest.raises(OutputError, match="its directory no longer exists") as caught:
        make(place, OWNER)
    assert caught.value.path == place.path
