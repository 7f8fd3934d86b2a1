"""The settings of a running katod, and when their file is read again."""

import os
from pathlib import Path

import pytest

from katod import livesettings
from katod.config import load
from katod.errors import ConfigError
from katod.livesettings import EVERY, STILL, STILL_CUT, LiveSettings, SettledFile
from tests.support.world import World


class Looks:
    """Looks at a file, one after another."""

    def __init__(self, path: Path) -> None:
        self.file = SettledFile(path)
        self.now = 0.0

    def next(self, seconds: float = EVERY) -> list[float]:
        """Look for so many seconds; return after how many of them the file had changed."""
        begun, found = self.now, []
        while self.now < begun + seconds:
            self.now += EVERY
            found += [self.now - begun] if self.file.has_changed(self.now) else []
        return found


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "katod.toml"


@pytest.mark.parametrize("is_there", [True, False])
def test_a_file_is_read_again_once_after_the_start(path: Path, is_there: bool) -> None:
    """It may have changed since katod read it."""
    if is_there:
        path.write_text("a")
    assert Looks(path).next(100) == [EVERY + STILL]


def test_a_file_is_read_once_it_does_not_change_any_more(path: Path) -> None:
    """An editor may empty it before it writes it, or delete it before it writes another one."""
    path.write_text("exclude")
    looks = Looks(path)
    looks.next(100)
    found = []
    for content in ("", "excl", None, "other"):
        if content is None:
            path.unlink()
        else:
            path.write_text(content)
        found += looks.next(STILL)
    assert (found, looks.next(STILL)) == ([], [EVERY])


@pytest.mark.parametrize("left", ["", "excl", "exclude = ["])
def test_a_file_that_lost_its_end_has_to_be_so_for_longer(path: Path, left: str) -> None:
    """What writes it may have been held up, or the disk be full. Who took the last lines out means it."""
    path.write_text("exclude = ['secret']")
    looks = Looks(path)
    looks.next(100)
    path.write_text(left)
    assert looks.next(STILL_CUT) == []
    path.write_text("exclude = ['secret', 'other']")
    assert looks.next(STILL_CUT) == [EVERY + STILL]
    path.write_text("exclude = ['secret'")
    assert looks.next(2 * STILL_CUT) == [EVERY + STILL_CUT]


def test_a_file_that_was_replaced_by_one_of_the_same_size_and_time_is_read(path: Path) -> None:
    """As what a backup or a tool for dotfiles puts there, also through a link."""
    real, other = path.with_name("a"), path.with_name("b")
    real.write_text("1")
    path.symlink_to(real)
    looks = Looks(path)
    looks.next(100)
    other.write_text("2")
    os.utime(other, ns=(real.stat().st_atime_ns, real.stat().st_mtime_ns))
    other.replace(real)
    assert looks.next(100) == [EVERY + STILL]


def test_looks_are_never_closer_together_than_they_have_to_be(path: Path) -> None:
    """However often the loop turns: a pause of an editor is longer than a turn."""
    file = SettledFile(path)
    assert not file.has_changed(1.0)
    path.write_text("x")
    assert not file.has_changed(1.0 + EVERY / 2)
    assert not file.has_changed(1.0 + EVERY)
    assert not file.has_changed(EVERY + STILL)
    assert file.has_changed(1.0 + EVERY + STILL)


def test_only_what_makes_a_difference_is_news(world: World) -> None:
    """Neither a comment, nor a file that is as wrong as before; but one that is right again is."""
    world.configure()
    live, valid = LiveSettings(load(world.config), world.config, world.state), world.config.read_bytes()
    found = []
    for content in (valid, b"# mine\n" + valid, b"x = 1\n", b"x = 1\n", valid, valid + b"[log]\nlevel = 'debug'\n"):
        world.config.write_bytes(content)
        found.append((live.reload(), live.problem is None))
    assert found == [(False, True), (False, True), (True, False), (False, False), (True, True), (True, True)]
    assert live.now.log.level == "debug"
    world.config.unlink()
    assert (live.reload(), live.now.log.level) == (True, "debug")


def test_a_file_that_cannot_be_read_now_is_read_later(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """As when katod has no more descriptors: the file does not change by that."""
    world.configure()
    live, now = LiveSettings(load(world.config), world.config, world.state), 0.0

    def fail(path: Path, **_: bool) -> None:
        raise ConfigError("cannot be read", path=path) from OSError()

    def looked() -> bool:
        nonlocal now
        now += STILL
        return live.has_changed(now)

    assert [looked(), looked()] == [False, True]
    with monkeypatch.context() as patch:
        patch.setattr(livesettings.config, "load", fail)
        assert [live.reload(), looked(), live.reload()] == [True, True, False]
    assert [looked(), live.reload(), looked()] == [True, True, False]
