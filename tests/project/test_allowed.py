"""Which projects' files count: where they are looked for, what they have to be, and what was allowed."""

import errno
import json
import os
import threading
from hashlib import sha256
from pathlib import Path

import pytest

from katod.errors import ConfigError
from katod.project import allowed as module
from katod.project.allowed import STORE, Allowance, Allowed, in_effect, look, look_around, nearest, places, read_project
from katod.project.form import LARGEST, NAME, ProjectFile

TEXT = b"[recording]\nexclude = true\n"


class Home:
    """A home with a project in it, and a state directory."""

    def __init__(self, home):
        self.home, self.project = home, home / "shop"
        self.inside = self.project / "src"
        self.inside.mkdir(parents=True)
        self.path = self.project / NAME
        self.allowed = Allowed(home / "state")

    def put(self, data=TEXT, path=None):
        (path or self.path).write_bytes(data)
        return path or self.path

    def allow(self, path=None):
        self.allowed.allow(path or self.path, (path or self.path).read_bytes())

    def effect(self, directory=None):
        return in_effect(str(directory or self.inside), self.home, self.allowed)

    def look(self):
        return look(self.path, self.allowed.read())


@pytest.fixture
def home(tmp_path):
    return Home(tmp_path / "home")


# -- where -------------------------------------------------------------------------------------------


def test_it_is_looked_for_from_the_directory_up_to_below_home(home):
    """Nearest first; the home directory itself has the person's own configuration."""
    assert places(str(home.inside), home.home) == [home.inside / NAME, home.project / NAME]
    assert places(str(home.home), home.home) == []
    assert places("/", home.home) == []
    assert places("/srv/app", home.home) == [Path("/srv/app") / NAME, Path("/srv") / NAME]


@pytest.mark.parametrize("directory", ["", "shop", "\0", "/a\0b"])
def test_what_is_no_directory_has_no_file(home, directory):
    """An agent may write anything as its working directory."""
    assert places(directory, home.home) == []


def test_a_project_is_the_same_by_any_name(home):
    """A link to it leads to its file, and a link inside of it out of it."""
    (home.home / "link").symlink_to(home.project)
    (home.project / "out").symlink_to("/srv")
    assert places(str(home.home / "link" / "src"), home.home) == places(str(home.inside), home.home)
    assert places(str(home.project / "out"), home.home) == [Path("/srv") / NAME]


def test_the_nearest_file_is_the_one_to_allow(home):
    """Whatever it is: a link that leads nowhere, too."""
    assert nearest(str(home.inside), home.home) is None
    home.put()
    assert nearest(str(home.inside), home.home) == home.path
    (home.inside / NAME).symlink_to("nowhere")
    assert nearest(str(home.inside), home.home) == home.inside / NAME


# -- what it has to be -------------------------------------------------------------------------------


def _too_large(path):
    path.write_bytes(b"#" * (LARGEST + 1))


def _linked(path):
    (path.parent / "real").write_bytes(TEXT)
    os.link(path.parent / "real", path)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda path: path.symlink_to("/etc/passwd"), "it is a symbolic link"),
        (lambda path: path.symlink_to("nowhere"), "it is a symbolic link"),
        (lambda path: path.symlink_to("/dev/zero"), "it is a symbolic link"),
        (_linked, "it has more than one hard link"),
        (os.mkfifo, "it is not a regular file"),
        (os.mkdir, "it is not a regular file"),
        (_too_large, f"it is larger than {LARGEST} bytes"),
    ],
    ids=["link", "broken link", "link to a device", "hard link", "FIFO", "directory", "too large"],
)
def test_only_a_small_regular_file_of_this_user_can_count(home, make, reason):
    """Nothing of anything else counts, nothing waits for it, and the reason is said."""
    make(home.path)
    with pytest.raises(ConfigError, match=reason):
        read_project(home.path)
    found = look(home.path, {str(home.path): Allowance("x")})
    assert (found.problem, found.digest, found.file) == (f"it has no effect: {reason}", "", None)
    assert f"`katod allow {home.project}`" in found.advice


def test_the_file_of_another_user_cannot_count(home, monkeypatch):
    """As in a directory that everybody may write to."""
    home.put()
    monkeypatch.setattr("os.getuid", lambda: os.geteuid() + 1)
    with pytest.raises(ConfigError, match="belongs to another user"):
        read_project(home.path)


# -- what was allowed --------------------------------------------------------------------------------


def test_a_file_counts_once_it_is_allowed(home):
    """Not before, and no longer when that is taken back."""
    home.put()
    assert home.effect() == []
    assert home.look().problem == "it is not allowed, and has no effect"
    home.allow()
    [file] = home.effect()
    assert (file.path, file.exclude) == (home.path, True)
    assert home.look().problem == ""
    assert home.allowed.remove(home.path)
    assert not home.allowed.remove(home.path)
    assert home.effect() == []


def test_of_a_file_that_changed_only_what_it_left_out_counts(home):
    """Until it is allowed again, or has the content that was allowed: what it says now is not looked at."""
    data = (
        b"[recording]\nexclude = true\n[content]\nthinking = false\ntools = 'summary'\n[output]\ndirectory = 'docs'\n"
    )
    home.put(data)
    home.allow()
    home.put(b"[content]\ntools = 'none'\n")
    [file] = home.effect()
    assert file == ProjectFile(home.path, exclude=True, hides_thinking=True, tools="summary")
    assert home.look().problem == "it has changed since you allowed it; only what it excluded stays excluded"
    assert home.look().advice == f"read it, then run `katod allow {home.project}`"
    home.put(data)
    assert (home.effect()[0].directory, home.look().problem) == (("docs",), "")


@pytest.mark.parametrize(
    ("spoil", "problem"),
    [
        (Path.unlink, "it no longer exists"),
        (lambda path: path.write_bytes(b"["), "it has changed since you allowed it"),
        (lambda path: os.link(path, path.with_name("other")), "it has no effect: it has more than one hard link"),
        (lambda path: path.write_bytes(b"#" * (LARGEST + 1)), f"it has no effect: it is larger than {LARGEST} bytes"),
    ],
    ids=["gone", "no TOML", "linked", "large"],
)
def test_nothing_that_is_done_to_a_file_ends_its_exclusion(home, spoil, problem):
    """Whoever can write to the project could do it, an agent for example; the person takes it back."""
    home.put()
    home.allow()
    spoil(home.path)
    assert [file.exclude for file in home.effect()] == [True]
    assert home.look().problem == f"{problem}; only what it excluded stays excluded"
    [found] = look_around([], home.home, home.allowed.read())
    assert f"run `katod allow {'--remove ' if problem.endswith('exists') else ''}{home.project}`" in found.advice
    home.allowed.remove(home.path)
    assert home.effect() == []


def test_a_file_that_left_nothing_out_counts_for_nothing_once_it_changed(home):
    """Format and directory have to be allowed as they are; of one that is gone, nothing is said."""
    home.put(b"[output]\ndirectory = 'docs'\n")
    home.allow()
    home.put(b"[output]\ndirectory = 'other'\n")
    assert home.effect() == []
    assert home.look().problem == "it has changed since you allowed it, and has no effect"
    home.path.unlink()
    assert (home.effect(), home.look()) == ([], None)


def test_a_file_moved_elsewhere_is_another_one(home):
    """What was allowed is this content at this path."""
    home.put()
    home.allow()
    other = home.home / "other"
    home.project.rename(other)
    assert home.effect(other / "src") == []


def test_what_was_compared_is_what_counts(home, monkeypatch):
    """The file is read once: what is put in its place afterwards is not parsed."""
    home.put()
    home.allow()
    read, reads = module.read_small, []

    def replaced(path, limit, **options):
        data = read(path, limit, **options)
        if path == home.path:
            reads.append(path)
            home.put(b'[output]\ndirectory = "evil"\n')
        return data

    monkeypatch.setattr(module, "read_small", replaced)
    [file] = home.effect()
    assert (file.exclude, file.directory, len(reads)) == (True, (), 1)
    assert home.effect()[0].directory == ()


def test_a_file_that_is_not_allowed_is_not_opened_and_hides_none(home, monkeypatch):
    """A nearer one that is not allowed does not switch off the allowed one above it."""
    home.put()
    home.allow()
    os.mkfifo(home.inside / NAME)
    opened = []
    monkeypatch.setattr(module, "read_project", lambda path: opened.append(path) or TEXT)
    assert [file.path for file in home.effect()] == [home.path]
    assert opened == [home.path]


def test_several_files_count_the_nearest_last(home):
    """So that the nearest has the last word on what only one can choose."""
    outer, inner = home.put(), home.put(b"", home.inside / NAME)
    home.allow(outer)
    home.allow(inner)
    assert [file.path for file in home.effect()] == [outer, inner]


def test_all_that_matters_is_shown(home):
    """The files of some directories, and every file that was allowed."""
    other = home.home / "other"
    other.mkdir()
    home.allow(home.put(TEXT, other / NAME))
    (other / NAME).unlink()
    home.put(b"y")
    found = look_around([str(home.inside), str(home.project)], home.home, home.allowed.read())
    assert [(one.path, bool(one.digest)) for one in found] == [(other / NAME, False), (home.path, True)]
    assert found[0].problem.startswith("it no longer exists")


# -- the store ---------------------------------------------------------------------------------------


def test_the_store_is_private_and_small(home):
    """It holds path and hash, and what is left out."""
    home.put()
    home.allow()
    store = home.home / "state" / STORE
    assert store.stat().st_mode & 0o777 == 0o600
    assert store.parent.stat().st_mode & 0o777 == 0o700
    assert json.loads(store.read_bytes()) == {
        str(home.path): {"digest": sha256(TEXT).hexdigest(), "exclude": True, "hides_thinking": False, "tools": None}
    }
    assert os.listdir(store.parent) == [STORE]


DAMAGED = [
    b"", b"{", b"[]", b'"x"', b'{"x": 1}', b'{"x": "y"}', b'{"x": {}}', b'{"x": {"digest": 1}}', b"[" * 100_000, b"\xff",
    b'{"x": {"digest": "y", "more": 1}}', b'{"x": {"digest": "y", "tools": "all"}}',
]  # fmt: skip


@pytest.mark.parametrize("content", DAMAGED)
def test_a_damaged_store_allows_nothing_and_is_kept(home, content):
    """It is not overwritten: what else was allowed would be lost without a word."""
    home.put()
    home.allow()
    home.allowed.path.write_bytes(content)
    assert home.effect() == []
    for act in (home.allow, home.allowed.read, lambda: home.allowed.remove(home.path)):
        with pytest.raises(
            ConfigError,
            match="the list of allowed files cannot be read, so no project's file has an effect: it is damaged",
        ):
            act()
    assert home.allowed.path.read_bytes() == content


def test_a_link_in_place_of_the_store_allows_nothing(home):
    """Only what katod wrote there counts."""
    home.put()
    home.allow()
    store = home.allowed.path
    store.rename(home.home / "elsewhere")
    store.symlink_to(home.home / "elsewhere")
    assert home.effect() == []
    with pytest.raises(ConfigError, match="it is a symbolic link"):
        home.allow()


def test_another_name_of_the_store_changes_nothing(home):
    """A backup that makes hard links."""
    home.put()
    home.allow()
    os.link(home.allowed.path, home.home / "backup")
    assert len(home.effect()) == 1
    home.allow(home.put(path=home.inside / NAME))
    assert len(home.effect()) == 2


def test_a_path_of_any_bytes_can_be_allowed(home):
    """A directory's name need not be UTF-8."""
    folder = Path(os.fsdecode(bytes(home.home) + b"/\xff\n\x1b[31m"))
    folder.mkdir()
    home.allow(home.put(path=folder / NAME))
    assert len(home.effect(folder)) == 1


def test_writers_wait_for_each_other(home):
    """Of many at a time, none is lost."""
    home.put()
    paths = [home.project / str(number) for number in range(8)]
    threads = [threading.Thread(target=home.allowed.allow, args=(path, TEXT)) for path in paths]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(home.allowed.read()) == sorted(map(str, paths))


@pytest.mark.parametrize("which", [STORE, NAME])
def test_a_busy_machine_does_not_switch_a_file_off(home, monkeypatch, which):
    """What excludes a project must not stop counting because no file can be opened for a moment."""
    home.put()
    home.allow()
    read = module.read_small

    def busy(path, limit, **options):
        if path.name == which:
            raise OSError(errno.EMFILE, "Too many open files")
        return read(path, limit, **options)

    monkeypatch.setattr(module, "read_small", busy)
    with pytest.raises(OSError, match="Too many"):
        home.effect()
