"""Which folders a sweep passes over, and that it misses nothing by that."""

import os
import shutil
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from katod.agents import AGENTS
from katod.discover import folders as module
from katod.discover.folders import COLD_AFTER_NS, Folders
from katod.discover.roots import Root, sweep
from tests.examples import examples
from tests.support.parts import next_tick

LONG_AGO = (time.time_ns() - 2 * COLD_AFTER_NS) / 1e9
NAMES = ["a", "b", "c"]


class Settled:
    """A clock by which everything on the disk happened a moment ago."""

    @staticmethod
    def time_ns() -> int:
        """Return a time by which no change is recent."""
        return time.time_ns() + 10**10


class Tree:
    """The sessions of an agent, and what its sweeps know of the folders."""

    def __init__(self, path: Path) -> None:
        self.root, self.folders = Root(AGENTS["claude"], path), Folders()
        self.top = path / "projects"
        self.top.mkdir(parents=True)
        self.problems: dict[str, str] = {}

    def write(self, name: str, *, is_old: bool = True) -> Path:
        """Create a session in a project, or append to it."""
        path = self.top / name / f"{name}.jsonl"
        path.parent.mkdir(exist_ok=True)
        with path.open("a") as file:
            file.write("{}\n")
        if is_old:
            os.utime(path, (LONG_AGO, LONG_AGO))
        next_tick(self.top.parent)
        return path

    def sweep(self, *, deep: bool = False) -> tuple[set[str], int, bool]:
        """Return which sessions are there by a sweep, how many it read, and whether any may have come or gone."""
        look = self.folders.look(deep=deep, there=self.root.is_there)
        found = {path for path, _ in sweep(self.root, self.problems, look)}
        passed = {str(path) for path in self.top.rglob("*.jsonl") if look.has_passed(str(path))}
        return {Path(path).name for path in found | passed}, len(found), look.has_changed


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tree:
    """An agent's folder, which nobody changed just now."""
    monkeypatch.setattr(module, "time", Settled)
    return Tree(tmp_path / ".claude")


def test_a_folder_in_which_nothing_changed_for_a_day_is_read_once(tree: Tree) -> None:
    """The sweep knows it by the folder's time of change; a deep sweep reads it nevertheless."""
    tree.write("a"), tree.write("b", is_old=False)
    both = {"a.jsonl", "b.jsonl"}
    assert tree.sweep() == (both, 2, True)
    assert tree.sweep() == (both, 1, False)
    assert tree.sweep(deep=True) == (both, 2, True)


def test_what_appears_or_goes_in_a_cold_folder_is_noticed(tree: Tree) -> None:
    """A session that is created, renamed or deleted there, or in a new folder below it."""
    path = tree.write("a")
    tree.sweep()
    path.rename(path.with_name("z.jsonl"))
    assert tree.sweep() == ({"z.jsonl"}, 1, True)
    next_tick(tree.top.parent)
    (path.parent / "deep").mkdir()
    (path.parent / "deep" / "y.jsonl").write_text("{}\n")
    assert tree.sweep() == ({"y.jsonl", "z.jsonl"}, 2, True)
    next_tick(tree.top.parent)
    path.with_name("z.jsonl").unlink()
    assert tree.sweep() == ({"y.jsonl"}, 1, True)
    shutil.rmtree(path.parent)
    assert tree.sweep() == (set(), 0, True)


def test_a_folder_that_was_replaced_is_read(tree: Tree) -> None:
    """By another one with the same name."""
    path = tree.write("a")
    other = tree.write("b").parent
    tree.sweep()
    path.parent.rename(tree.top.parent / "aside")
    other.rename(path.parent)
    assert tree.sweep() == ({"b.jsonl"}, 1, True)


def test_a_folder_is_known_by_more_than_its_time(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another one in its place may have changed in the same moment."""
    tree.write("a")
    inode = 1
    monkeypatch.setattr(module, "_stamp", lambda folder: (1, inode, 0))
    assert [tree.sweep()[1], tree.sweep()[1]] == [1, 0]
    inode = 2
    assert tree.sweep()[1] == 1


def test_a_folder_that_is_a_link_is_known_by_what_it_leads_to(tree: Tree) -> None:
    """An agent's folder may be on another disk; the link itself never changes."""
    real = tree.top.rename(tree.top.parent / "elsewhere")
    tree.top.symlink_to(real)
    tree.write("a"), tree.sweep()
    tree.write("b")
    assert tree.sweep()[0] == {"a.jsonl", "b.jsonl"}
    assert tree.sweep()[1] == 0


def test_a_folder_that_comes_back_is_read_with_all_below_it(tree: Tree) -> None:
    """They did not change themselves: their files were gone, too."""
    deep = tree.write("a").parent / "deep"
    deep.mkdir()
    (deep / "y.jsonl").touch()
    os.utime(deep / "y.jsonl", (LONG_AGO, LONG_AGO))
    next_tick(tree.top.parent)
    tree.sweep()
    aside = deep.parent.rename(tree.top.parent / "aside")
    assert tree.sweep()[:2] == (set(), 0)
    next_tick(tree.top.parent)
    aside.rename(deep.parent)
    assert tree.sweep()[:2] == ({"a.jsonl", "y.jsonl"}, 2)
    shutil.rmtree(deep.parent)
    tree.sweep()
    assert list(tree.folders._read) == [str(tree.top)], "nothing is remembered of what is gone"


def test_a_file_that_changed_warms_its_folder(tree: Tree) -> None:
    """Hints tell of the first change; of the next one, they need not."""
    path = tree.write("a")
    tree.sweep()
    tree.folders.forget(str(path.parent))
    tree.write("a", is_old=False)
    assert [tree.sweep()[1], tree.sweep()[1]] == [1, 1]


def test_a_root_that_is_gone_or_back_may_have_changed_everywhere(tree: Tree) -> None:
    """Nothing in it is asked for when it is not there."""
    tree.write("a"), tree.sweep()
    tree.top.parent.rename(tree.top.parent.with_name("aside"))
    assert tree.sweep() == (set(), 0, True)
    assert tree.sweep() == (set(), 0, False)
    tree.top.parent.with_name("aside").rename(tree.top.parent)
    assert tree.sweep() == ({"a.jsonl"}, 1, True)


def test_a_folder_with_a_problem_is_read_each_time(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be one of its files, or of the file system."""
    tree.write("a")
    with monkeypatch.context() as patch:
        patch.setattr("katod.discover.roots.os.access", lambda *_: False)
        assert tree.sweep()[1] == 0
    assert (len(tree.problems), tree.sweep()[1]) == (1, 1)


def test_a_folder_that_changed_just_now_is_read_again(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another entry created in the same tick of the clock of file times would not change the folder's time."""
    monkeypatch.setattr(module, "time", time)
    tree.write("a")
    assert tree.sweep()[1] == 1
    assert tree.sweep()[1] == 1


CHANGES = st.lists(st.tuples(st.sampled_from(["write", "fresh", "delete", "empty", "swap"]), st.sampled_from(NAMES)))


@examples(30, 1000)
@given(changes=CHANGES)
def test_a_sweep_that_passes_over_folders_finds_what_a_deep_one_finds(tmp_path_factory, changes) -> None:  # type: ignore[no-untyped-def]
    """Whatever came and went: the same sessions are there, and what cannot have changed is all that is not read."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "time", Settled)
        tree = Tree(tmp_path_factory.mktemp("tree") / ".claude")
        tree.sweep()
        for change, name in changes:
            _change(tree, change, name)
            next_tick(tree.top.parent)
            before = {path.name for path in tree.top.rglob("*.jsonl")}
            assert tree.sweep()[0] == before


def _change(tree: Tree, change: str, name: str) -> None:
    folder = tree.top / name
    if change in ("write", "fresh"):
        tree.write(name, is_old=change == "write")
    elif change == "delete":
        (folder / f"{name}.jsonl").unlink(missing_ok=True)
    elif folder.exists():
        shutil.rmtree(folder) if change == "empty" else folder.rename(tree.top / f"{name}-{time.time_ns()}")
