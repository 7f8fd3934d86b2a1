"""The folder of exports on the disk."""

import errno
import os

import pytest

from katod import durable
from katod.archive import folder as folders
from katod.archive.folder import is_inside, opened, require_allowed
from katod.archive.manifest import MANIFEST, Entry, Manifest
from katod.errors import AlreadyRunning, OutputError, TargetRefused
from katod.model import SessionKey

SLOT = (SessionKey("claude", "6f1c2c1e"), "markdown")

pytestmark = pytest.mark.usefixtures("no_descriptor_is_left")


def publish(folder, name, data, *, slot=SLOT, expected=None):
    """Write an export."""
    with folder.draft() as draft:
        draft.write(data)
        stamp = draft.complete()
        folder.publish(draft, Entry(slot, "made", [], name, *stamp, draft.digest), expected)


def test_nothing_is_written_without_need(tmp_path):
    """To open a folder creates it, and its list; nothing else changes, and an empty list is left empty."""
    for _ in range(2):
        with opened(tmp_path / "new" / "all") as folder:
            folder.compact()
        assert [path.name for path in (tmp_path / "new" / "all").iterdir()] == [MANIFEST]
        assert (tmp_path / "new" / "all" / MANIFEST).read_bytes() == b""


def test_what_was_noted_is_known_after_a_kill(tmp_path):
    """Each line counts as soon as it is written, and after the list was rewritten."""
    with opened(tmp_path) as folder:
        publish(folder, "a.md", b"one")
        killed = Manifest.read((tmp_path / MANIFEST).read_bytes())
        assert killed.entries == folder.manifest.entries
        publish(folder, "a.md", b"two", expected=folder.stamp("a.md"))
        folder.compact()
        folder.note(Entry((SLOT[0], "html")))
    lines = (tmp_path / MANIFEST).read_bytes().splitlines()
    assert len(lines) == 3
    with opened(tmp_path) as folder:
        assert [folder.look(entry).state for entry in folder.manifest.entries.values() if entry.name] == ["same"]


@pytest.mark.parametrize("replaces", [False, True])
def test_an_entry_is_on_the_disk_before_its_file_has_the_name(tmp_path, monkeypatch, replaces):
    """Whichever of both a power cut leaves, the file is known."""
    calls = []

    def note(name):
        real = getattr(durable, name)

        def call(*arguments, **named):
            is_list = name == "sync" and os.path.samestat(os.fstat(arguments[0]), (tmp_path / MANIFEST).stat())
            calls.append((name, is_list, (tmp_path / MANIFEST).read_bytes()))
            return real(*arguments, **named)

        monkeypatch.setattr(durable, name, call)

    with opened(tmp_path) as folder:
        if replaces:
            publish(folder, "a.md", b"one")
        for name in ("sync", "link", "rename"):
            note(name)
        publish(folder, "a.md", b"two", expected=folder.stamp("a.md"))
        monkeypatch.undo()
    named = next(place for place, call in enumerate(calls) if call[0] != "sync")
    name, is_list, content = calls[named - 1]
    assert (name, is_list) == ("sync", True)
    assert content == (tmp_path / MANIFEST).read_bytes()


def test_the_lock_survives_the_rewriting_of_the_list(tmp_path):
    """A second run waits for nothing and changes nothing, before and after it."""
    with opened(tmp_path) as folder:
        publish(folder, "a.md", b"one")
        for _ in range(2):
            with pytest.raises(AlreadyRunning), opened(tmp_path):
                pass
            folder.compact()
    with opened(tmp_path):
        pass


def test_a_failure_behind_the_rewriting_of_the_list_leaves_no_lock(tmp_path, monkeypatch):
    """The list has its name, and only what is left of the draft cannot be removed: the next run begins."""
    real = durable.remove
    with opened(tmp_path) as folder:
        publish(folder, "one.md", b"words")
        before = (tmp_path / MANIFEST).stat().st_ino

    def remove(name, **given):
        if (tmp_path / MANIFEST).stat().st_ino != before:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        real(name, **given)

    def rewrite():
        with opened(tmp_path) as folder:
            folder.drop([folder.manifest.entries[SLOT]])
            monkeypatch.setattr(durable, "remove", remove)
            folder.compact()

    with pytest.raises(OSError, match=os.strerror(errno.EIO)):
        rewrite()
    monkeypatch.undo()
    with opened(tmp_path) as folder:
        assert SLOT not in folder.manifest.entries


def test_a_list_that_was_replaced_before_it_was_locked_is_opened_again(tmp_path, monkeypatch):
    """What is locked is the list that has the name."""
    with opened(tmp_path) as folder:
        publish(folder, "a.md", b"one")
    real, times = folders._open_manifest, []

    def slow(root, fd):
        found = real(root, fd)
        times.append(found)
        if len(times) == 1:
            copy = root / "copy"
            copy.write_bytes((root / MANIFEST).read_bytes())
            copy.rename(root / MANIFEST)
        return found

    monkeypatch.setattr(folders, "_open_manifest", slow)
    with opened(tmp_path) as folder:
        assert os.path.samestat(os.fstat(folder._manifest_fd), (tmp_path / MANIFEST).stat())
    assert len(times) == 2


def test_without_locks_it_works(tmp_path, monkeypatch):
    """Some file systems have none."""

    def none(fd, how):
        raise OSError(errno.ENOLCK, "no locks")

    monkeypatch.setattr(folders.fcntl, "flock", none)
    with opened(tmp_path) as folder:
        publish(folder, "a.md", b"one")
        folder.compact()
    assert (tmp_path / "a.md").read_bytes() == b"one"


def test_a_line_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    """If the disk is full in the middle of it, the list ends with the line before."""
    with opened(tmp_path) as folder:
        folder.note(Entry(SLOT))
        before = (tmp_path / MANIFEST).read_bytes()
        real = os.pwrite
        monkeypatch.setattr(os, "pwrite", lambda fd, data, at: real(fd, data[:9], at))
        with pytest.raises(OSError, match="No space left"):
            folder.note(Entry((SLOT[0], "html")))
        assert (tmp_path / MANIFEST).read_bytes() == before


def test_an_export_that_cannot_have_its_name_is_taken_back(tmp_path, monkeypatch):
    """What was noted before counts again; if the name was given nevertheless, the file is known."""
    with opened(tmp_path) as folder:
        publish(folder, "a.md", b"one")
        expected, real = folder.stamp("a.md"), os.rename

        def late(*arguments, **named):
            real(*arguments, **named)
            raise OSError(errno.EIO, "late")

        monkeypatch.setattr(os, "rename", late)
        with pytest.raises(OSError, match="late"):
            publish(folder, "a.md", b"two", expected=expected)
        monkeypatch.undo()
        assert folder.look(folder.manifest.entries[SLOT]).state == "older"
        (tmp_path / "a.md").write_bytes(b"one")
        assert folder.look(folder.manifest.entries[SLOT]).state == "same"


@pytest.mark.whole
@pytest.mark.parametrize("known", [[], ["a.md"]])
def test_an_export_that_may_have_another_name_is_known(tmp_path, monkeypatch, known):
    """Beside an older one, or as the first one: it is forgotten with the session."""

    def late(*_, **__):
        raise OSError(errno.EIO, "late")

    with opened(tmp_path) as folder:
        for name in known:
            publish(folder, name, b"one")
        monkeypatch.setattr(durable, "sync_names", late)
        with pytest.raises(OSError, match="late"):
            publish(folder, "b.md", b"two")
        assert folder.manifest.entries[SLOT].names == [*known, "b.md"]
    assert [*known, "b.md"] == sorted(path.name for path in tmp_path.glob("*.md"))


def test_a_list_that_is_no_file_is_refused(tmp_path):
    """One line says so; the same holds for a draft."""
    (tmp_path / MANIFEST).mkdir()
    with pytest.raises(OutputError), opened(tmp_path):
        pass
    (tmp_path / MANIFEST).rmdir()
    (tmp_path / ".katod-export.tmp").mkdir()
    with pytest.raises(OutputError), opened(tmp_path):
        pass


def test_a_folder_may_be_named_in_many_ways(tmp_path):
    """Links and `..` are followed, and so is another name of the same directory."""
    out, link = tmp_path / "out", tmp_path / "link"
    out.mkdir()
    link.symlink_to(out)
    for path in (out, out / "a" / "b", link, link / "new", tmp_path / "x" / ".." / "out"):
        assert is_inside(path, out)
        with pytest.raises(TargetRefused):
            require_allowed(path, out, ())
        with pytest.raises(TargetRefused):
            require_allowed(path, tmp_path / "none", (tmp_path / "other", out))
    for path in (tmp_path, tmp_path / "outer", tmp_path / "out2"):
        require_allowed(path, out, (out,))


def test_a_folder_may_have_two_names_that_are_no_links(tmp_path, monkeypatch):
    """As on a disk that ignores case, or where a directory is mounted twice."""
    out, other = tmp_path / "out", tmp_path / "OUT"
    out.mkdir()
    other.mkdir(exist_ok=True)
    assert not is_inside(tmp_path / "none", out)
    monkeypatch.setattr(type(out), "samefile", lambda self, there: str(self).lower() == str(there).lower())
    for path in (other, other / "new", other / "a" / "b"):
        assert is_inside(path, out)
    assert not is_inside(tmp_path, out)
