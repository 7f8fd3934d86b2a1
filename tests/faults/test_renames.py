"""Names that change hands: no file gets, or loses, the words of a session that is not its own."""

import shutil
import subprocess
from itertools import permutations

import pytest

from katod.record import delivery
from tests.support.inprocess import InProcess

NAMES = ("chat.md", "talk.md", "notes.md")
NOTES = "# My own notes\n\nNothing of katod is in them.\n"


class Folder:
    """Two recorded sessions, and a file of their person beside the transcripts."""

    def __init__(self, world, monkeypatch):
        monkeypatch.setattr(delivery, "_FIRST_RETRY", 0.01)  # what the tests wait for
        self.world, self.sessions = world, [world.session(1), world.session(2)]
        for session, name in zip(self.sessions, NAMES, strict=False):
            session.append(session.user(f"::start {name}\nfirst of {name}"), session.says(f"mark-{name}-1."))
        world.once()
        self.path = world.outputs()[0].path.parent
        (self.path / NAMES[2]).write_text(NOTES)

    def rename(self, names):
        """Give each file the name at its place in `names`, all at once."""
        for name in NAMES:
            (self.path / name).rename(self.path / f"{name}.moving")
        for name, new in zip(NAMES, names, strict=True):
            (self.path / f"{name}.moving").rename(self.path / new)
        return {name: self.path / new for name, new in zip(NAMES, names, strict=True)}

    def go_on(self):
        """Speak in both sessions, and let katod write it, and look for what it misses."""
        for session, name in zip(self.sessions, NAMES, strict=False):
            session.append(session.says(f"mark-{name}-2."))
        katod = InProcess(self.world)
        for _ in range(6):
            katod.turn(later=1000)
        katod.stop()

    def words_of(self, path):
        """Return whose words a file has."""
        text = path.read_text()
        return {name for name in NAMES[:2] if f"mark-{name}" in text}


@pytest.fixture
def folder(world, monkeypatch):
    return Folder(world, monkeypatch)


@pytest.mark.fault("names of transcripts and other files exchanged")
@pytest.mark.parametrize("names", [*permutations(NAMES)], ids="-".join)
def test_no_file_gets_words_of_another_session_whatever_the_names(folder, names):
    """A transcript is followed to its new name; one that has the name of another recording waits, and says so."""
    now = folder.rename(names)
    folder.go_on()
    assert now["notes.md"].read_text() == NOTES
    problems = folder.world.parked().values()
    for name in NAMES[:2]:
        assert folder.words_of(now[name]) == {name}
        is_whole = f"mark-{name}-2." in now[name].read_text()
        assert is_whole != any("another recording" in problem for problem in problems)
    assert len(folder.world.files()) == 3  # nothing was written anew elsewhere


@pytest.mark.fault("names of transcripts and other files exchanged")
@pytest.mark.parametrize("names", [*permutations(NAMES)], ids="-".join)
def test_what_is_forgotten_is_the_transcript_whatever_its_name(folder, names):
    """And nothing else: neither notes of its person, nor the transcript of another session."""
    now = folder.rename(names)
    folder.world.cli("forget", "claude:00000001", "--outputs", "--yes")
    assert [name for name in NAMES if now[name].exists()] == [*NAMES[1:]]


@pytest.mark.fault("names of transcripts and other files exchanged")
def test_a_transcript_whose_name_another_file_took_waits(folder):
    """If it is nowhere else, it goes on once that file is moved away: nothing is lost, and nothing is written twice."""
    path, other = folder.path / "chat.md", folder.path / "other.md"
    other.write_text(NOTES)  # while the transcript is there, whose inode it must not get
    (folder.path / "talk.md").touch()
    other.replace(path)
    folder.go_on()
    assert path.read_text() == NOTES
    assert "a different file" in folder.world.parked()["chat.md"]
    path.rename(folder.path / "mine.md")
    folder.go_on()
    assert folder.world.parked() == {}
    assert folder.words_of(path) == {"chat.md"}
    assert path.read_text().count("mark-chat.md-2.") == 2  # as it was said twice


def test_a_transcript_that_is_emptied_anew_is_begun_again(folder):
    """Nobody waits for an empty file, which has nothing of anybody."""
    path = folder.path / "chat.md"
    path.rename(folder.path / "keeps the inode.txt")
    path.touch()
    folder.go_on()
    assert folder.world.parked() == {}
    assert folder.words_of(path) == {"chat.md"}


def test_a_recording_may_have_the_name_that_an_ended_one_had(folder):
    """That one will not be followed: its file is gone, and nothing waits for it."""
    [session, _] = folder.sessions
    session.append(session.user("::stop\nthank you"))
    folder.world.once()
    (folder.path / "chat.md").unlink()
    (folder.path / "talk.md").rename(folder.path / "chat.md")
    folder.go_on()
    assert folder.world.parked() == {}
    assert any("mark-talk.md-2." in path.read_text() for path in folder.path.glob("*.md"))


@pytest.mark.parametrize("whose", ["notes", "another session"])
def test_an_inode_that_is_used_again_has_nothing_forgotten(folder, whose):
    """What is deleted is judged by what is in it, and what is left of the session is named by its file."""
    path, world = folder.path / "chat.md", folder.world
    for session in folder.sessions:
        session.append(session.user("::stop\nthank you"))
    world.once()
    text = {"notes": NOTES, "another session": (folder.path / "talk.md").read_text()}[whose]
    path.write_text(text)  # in place, as when a new file gets the inode of one that was deleted
    said = world.cli("forget", "claude:00000001", "--outputs", "--yes")
    assert path.read_text() == text
    assert "is no longer there" in said


def test_a_file_means_the_recording_that_it_is_of(folder):
    """Not the one that had its name before."""
    for session in folder.sessions:
        session.append(session.user("::stop\nthank you"))
    folder.world.once()
    (folder.path / "chat.md").unlink()
    (folder.path / "talk.md").rename(folder.path / "chat.md")
    assert "mark-talk.md-1." in folder.world.cli("show", str(folder.path / "chat.md"))
    folder.world.cli("forget", str(folder.path / "chat.md"), "--outputs", "--yes")
    assert not (folder.path / "chat.md").exists()
    assert folder.world.cli("show", "claude:00000001")


def copied(path):
    """Put the same bytes back, as a backup does."""
    shutil.copy2(path, path.with_name("copy~"))
    path.with_name("copy~").replace(path)


def committed(path):
    """Put the same bytes back, as git does."""
    run = ["git", "-c", "user.name=x", "-c", "user.email=x@localhost", "-C", path.parent]
    for words in (
        ["init", "-q"],
        ["add", "."],
        ["commit", "-qm", "x"],
        ["rm", "-q", path.name],
        ["reset", "-q", "--hard"],
    ):
        subprocess.run([*run, *words], check=True)


@pytest.mark.fault("output put back with the same bytes")
@pytest.mark.parametrize("put_back", [copied, committed])
def test_the_same_bytes_in_another_file_are_no_edit(folder, put_back):
    """The transcript stays what its export is, without a mark."""
    put_back(folder.path / "chat.md")
    folder.go_on()
    row = folder.world.outputs()[0]
    assert row.path.read_bytes() == folder.world.export(row)


@pytest.mark.fault("output moved after its recording ended")
def test_all_that_reads_a_transcript_finds_it_where_it_was_moved(folder):
    """Also once its recording has ended, when nothing is written to it any more."""
    world = folder.world
    for session in folder.sessions:
        session.append(session.user("::stop\nthank you"))
    world.once()
    moved = folder.path / "done" / "renamed.md"
    moved.parent.mkdir()
    (folder.path / "chat.md").rename(moved)
    world.cli("verify", "--strict")
    for words in (("show", "1"), ("show", str(moved)), ("search", "mark-chat.md-1")):
        assert "mark-chat.md-1." in world.cli(*words)
    for words in (("status", "--json"), ("sessions", "--json"), ("verify", "--json")):
        said = world.cli(*words)
        assert str(moved) in said
        assert str(folder.path / "chat.md") not in said


PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def with_picture(session, words):
    """Return a prompt with a picture."""
    source = {"type": "base64", "media_type": "image/png", "data": PICTURE}
    return session.user([{"type": "text", "text": words}, {"type": "image", "source": source}])


@pytest.mark.fault("output moved after its recording ended")
def test_the_first_picture_after_a_move_is_beside_the_transcript(folder):
    """Its text finds it there."""
    [session, _] = folder.sessions
    session.append(session.user("::stop\nthank you"))
    folder.world.once()
    (folder.path / "done").mkdir()
    (folder.path / "chat.md").rename(folder.path / "done" / "chat.md")
    session.append(session.user("::start\nagain"), with_picture(session, "look"))
    folder.go_on()
    assert len([*(folder.path / "done" / "chat.assets").iterdir()]) == 1
    assert not (folder.path / "chat.assets").exists()


@pytest.mark.fault("output moved after its recording ended")
@pytest.mark.parametrize("moves_pictures", [True, False])
def test_pictures_are_forgotten_with_a_transcript_that_was_moved(folder, moves_pictures):
    """Whether they were moved with it or not."""
    [session, _] = folder.sessions
    session.append(with_picture(session, "look"))
    folder.world.once()
    assert (folder.path / "chat.assets").exists()
    (folder.path / "done").mkdir()
    (folder.path / "chat.md").rename(folder.path / "done" / "chat.md")
    if moves_pictures:
        (folder.path / "chat.assets").rename(folder.path / "done" / "chat.assets")
    folder.world.cli("forget", "claude:00000001", "--outputs", "--yes")
    assert sorted(path.name for path in folder.path.rglob("*") if path.is_file()) == ["notes.md", "talk.md"]
