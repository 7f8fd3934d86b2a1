"""Which programs run, as a folder like /proc says: what they are called, where they work, and what they have open."""

import os
from pathlib import Path

import pytest

from katod.agents import processes
from katod.agents.processes import Process, can_be_seen, client_in_folder, client_with_file, has_open, runs_in
from katod.metadata import SessionStart
from tests.looping import each

GEMINI = frozenset({"gemini.js"})
CODEX = frozenset({"codex"})
OTHER = frozenset({"other"})


class Proc:
    """A folder like /proc."""

    def __init__(self, place: Path) -> None:
        self.place = place
        (place / "self").mkdir(parents=True)
        self.map("         0          0 4294967295\n")

    def map(self, text: str) -> None:
        (self.place / "self/uid_map").write_text(text)

    def runs(self, number: str, program: str, folder: Path, *arguments: str, comm: str = "x", opened: str = "") -> None:
        """Add a program; one that has a file `opened` has it as its descriptor 3."""
        own = self.place / number
        (own / "fd").mkdir(parents=True)
        (own / "comm").write_text(f"{comm}\n")
        (own / "exe").symlink_to(f"/usr/bin/{program}")
        (own / "cwd").symlink_to(folder)
        (own / "cmdline").write_text("\0".join([program, *arguments]) + "\0")
        if opened:
            (own / "fd/3").symlink_to(opened)


@pytest.fixture
def proc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Proc:
    """Return what katod takes for /proc; each look at it is new."""
    numbers = iter(range(10**9, 10**9 + 10**6))
    monkeypatch.setattr(processes, "_look", lambda: next(numbers))
    monkeypatch.setattr(processes, "PROC", tmp_path / "proc")
    return Proc(tmp_path / "proc")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a folder in which programs work."""
    (tmp_path / "app").mkdir()
    return tmp_path / "app"


def test_a_program_is_called_what_it_is_and_what_it_calls_itself(proc: Proc, project: Path) -> None:
    """An interpreter is called what it executes, or what that calls itself; options before it are none of it."""
    proc.runs("1", "codex (deleted)", project, comm="main")
    proc.runs("2", "node", project, "--no-warnings", "", "/usr/lib/gemini.js", "-r", "x.js")
    proc.runs("3", "bun", project)
    proc.runs("4", "python3", project, "tool.py", comm="tool")
    (proc.place / "5").mkdir()  # it has just ended
    (proc.place / "sys").mkdir()
    proc.runs(str(os.getpid()), "codex", project)
    folder = str(project)
    assert sorted(processes._processes()) == [
        Process("1", frozenset({"codex", "main"}), folder),
        Process("2", frozenset({"node", "gemini.js"}), folder),
        Process("3", frozenset({"bun"}), folder),
        Process("4", frozenset({"python3", "tool"}), folder),
    ]


@each(
    ("folder", "names", "expected"),
    [("app", GEMINI, True), ("link", GEMINI, True), ("app", OTHER, False), ("elsewhere", GEMINI, False), ("", GEMINI, None),
     ("unnamed", OTHER, None)],
)  # fmt: skip
def test_a_client_works_in_a_folder(
    folder: str, names: frozenset[str], expected: bool | None, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Also if a link names it. An interpreter of which nothing is known may be one, so that is unknown."""
    place = tmp_path_factory.mktemp("place")
    (place / "app").mkdir()
    (place / "link").symlink_to(place / "app")
    (place / "unnamed").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        numbers = iter(range(2 * 10**9, 2 * 10**9 + 100))
        patch.setattr(processes, "_look", lambda: next(numbers) + id(place) * 100)
        patch.setattr(processes, "PROC", place / "proc")
        proc = Proc(place / "proc")
        proc.runs("1", "node", place / "app", "/usr/lib/gemini.js")
        proc.runs("2", "node", place / "unnamed")
        asked = str(place / folder) if folder else ""
        assert runs_in(asked, names) is expected
        assert client_in_folder(names, Path("/x"), "s", SessionStart(cwd=asked)) is expected
        proc.map("0 1000 1\n")
        assert runs_in(asked, names) is None


def test_a_client_has_a_file_open(proc: Proc, project: Path) -> None:
    """A file of this name that is another one does not count; one that something else has open is unknown."""
    own, other = project / "a.jsonl", project / "b/a.jsonl"
    other.parent.mkdir()
    for file in (own, other):
        file.write_text("x")
    proc.runs("1", "codex", project, opened=str(own))
    proc.runs("2", "tail", project, opened=str(other))
    assert has_open(str(own), CODEX) is True
    assert client_with_file(CODEX, own, "s", SessionStart()) is True
    assert has_open(str(own), CODEX, str(project)) is True
    assert has_open(str(own), CODEX, "/elsewhere") is None
    assert has_open(str(own), OTHER) is None
    assert has_open(str(other), CODEX) is None
    (project / "c.jsonl").write_text("x")
    assert has_open(str(project / "c.jsonl"), CODEX) is False
    assert has_open(str(project / "missing.jsonl"), CODEX) is None
    proc.map("0 1000 1\n")
    assert has_open(str(own), CODEX) is None


def test_a_client_of_another_user_may_be_any(proc: Proc, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only its name is known, which may be that of an interpreter: whether it works somewhere is unknown then."""
    proc.runs("1", "codex", project, comm="node")
    readlink = os.readlink

    def refused(path: str | Path) -> str:
        if str(path).endswith("/exe"):
            raise PermissionError
        return readlink(path)

    monkeypatch.setattr(os, "readlink", refused)
    assert processes._processes() == (Process("1", frozenset({"node"}), ""),)
    assert runs_in(str(project), OTHER) is None
    (proc.place / "1/comm").write_text("codex\n")
    assert runs_in(str(project), CODEX) is None
    assert runs_in(str(project), OTHER) is False
    (project / "a.jsonl").write_text("x")
    assert has_open(str(project / "a.jsonl"), CODEX) is None
    assert has_open(str(project / "a.jsonl"), OTHER) is False


def test_without_such_a_folder_nothing_is_known(proc: Proc) -> None:
    """As on other systems."""
    assert can_be_seen()
    (proc.place / "self/uid_map").unlink()
    assert not can_be_seen()


def test_a_look_counts_for_two_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    """So many sessions cost one look."""
    looks = []
    for now in (10.0, 11.9, 12.0, 13.9, 14.0):
        monkeypatch.setattr("time.monotonic", lambda now=now: now)
        looks.append(processes._look())
    assert looks == [5, 5, 6, 6, 7]
