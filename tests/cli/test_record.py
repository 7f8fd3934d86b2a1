"""`katod start`, `stop`, `capture` and `keep`: the commands of the chat, from the shell."""

import shutil
from pathlib import Path

import pytest

from katod.service.control import Inbox
from tests.support.records import Claude
from tests.support.world import World

_DONE = ("recording to ", "stopped recording to ", "kept in ")


def test_without_a_daemon_the_person_is_told_so(world):
    """The new recording is named, with a note that it does not continue by itself."""
    world.claude().append(Claude().user("hello"))
    assert "recording to" in world.cli("start", "latest", "notes")
    assert "katod is not running" in world.said


def test_a_refusal_is_the_answer(world):
    """A name outside the allowed folders is refused with the reason, exit code 1."""
    world.claude().append(Claude().user("hello"))
    world.cli("start", "latest", "/etc/x.md", code=1)
    assert "outside" in world.said


def test_a_session_that_is_not_recorded_cannot_be_stopped(world):
    """The second stop says so, instead of naming the previous file."""
    world.claude().append(Claude().user("::start notes\nhello"))
    world.once()
    assert "stopped recording to" in world.cli("stop", "latest")
    assert "is not being recorded" in world.cli("stop", "latest")


def test_a_ledger_that_is_set_aside_is_named(world):
    """The answer says that a damaged ledger was quarantined and that earlier recordings have ended."""
    world.claude().append(Claude().user("::start notes\nhello"))
    world.once()
    ledger = world.state / "ledger.db"
    ledger.write_bytes(b"no database at all" * 1000)
    world.cli("start", "latest", "again")
    assert f"{ledger}.damaged-1" in world.said


def test_a_recording_can_be_stopped_after_its_session_file_is_gone(world):
    """Agents delete sessions: the id that `katod status` shows still stops the recording."""
    session = world.claude().append(Claude().user("::start notes\nhello"))
    world.once()
    session.path.unlink()
    [recording] = world.status()["recordings"]
    assert "stopped recording to" in world.cli("stop", recording["session"])
    assert not world.status()["recordings"]
    world.cli("stop", recording["session"], code=1)
    assert "no longer exist" in world.said


def test_a_file_of_the_project_that_does_not_count_is_said(world):
    """A transcript is written where the person did not expect it if they forgot to allow the file."""
    (world.project / ".katod.toml").write_text("[output]\nformat = 'jsonl'\n")
    world.claude().append(Claude(cwd=str(world.project)).user("hello"))
    world.once()
    world.cli("start", "latest", "notes")
    assert f"{world.project}/.katod.toml: it is not allowed" in world.said
    world.cli("stop", "latest")
    assert "katod.toml" not in world.said
    world.cli("allow", str(world.project))
    world.cli("start", "latest", "notes")
    assert "katod.toml" not in world.said


def test_what_is_kept_is_named(world):
    """As many exchanges as were asked for, in a file that is named by the first of them; nothing is recorded."""
    make = Claude()
    said = (make.user("A login page"), make.says("done"), make.user("Now a test"), make.says("it passes"))
    world.claude().append(*said)
    last, both, mine, spaced = (
        world.cli("keep", "latest", *words).strip() for words in ((), ("2",), ("mine.jsonl",), ("1", "a b"))
    )
    assert spaced.endswith("/a b.md")
    assert "continue recording" not in world.said
    assert [path.partition("10-")[2].rpartition("-")[0] for path in (last, both)] == ["now-a-test", "a-login-page"]
    for said_of, words in ((last, ["it passes"]), (both, ["done", "it passes"]), (mine, ["it passes"])):
        text = Path(said_of.removeprefix("kept in ")).read_text()
        assert [word for word in ("done", "it passes") if word in text] == words
    for words in (("latest", "100"), ("latest", "0"), ("latest", "a", "b"), ("latest", "a", "2"), ("2",)):
        world.cli("keep", *words, code=2)
    assert "katod keep latest 2" in world.said
    assert not world.status()["recordings"]
    assert all(row["copy"] for row in world.status()["ended"])
    shown = world.cli("status")
    assert ("written by ::keep and ::export" in shown, "\nended" in shown) == (True, False)


def test_a_name_after_the_session_is_that_of_the_file(world):
    """As for the other commands: with a number before it, or without."""
    world.claude().append(Claude().user("A question"), Claude().says("done"))
    world.cli("keep", "mine", code=1)
    assert world.cli("keep", "latest", "mine").strip().endswith("mine.md")


def test_nothing_can_be_kept_of_a_session_without_a_question(world):
    """It is refused with the reason, exit code 1."""
    world.claude().append(Claude().says("Welcome"))
    world.cli("keep", "latest", code=1)
    assert "nothing was asked before it in this session" in world.said


def _lose_disk(world: World) -> None:
    next(world.out.glob(".katod-*")).unlink()


def _delete_project(world: World) -> None:
    shutil.rmtree(world.project)


@pytest.mark.whole
@pytest.mark.parametrize(
    ("spoil", "folder"), [(_lose_disk, ""), (_delete_project, "docs/"), (None, ""), (None, "docs/")]
)
def test_a_file_is_named_as_written_only_if_it_is_there(world, spoil, folder):
    """What is parked is said to be, with the reason: on a disk that is gone, and in a deleted project."""
    session = world.claude().append(Claude(cwd=str(world.project)).user("A question"), Claude().says("done"))
    world.cli("keep", "latest")  # the output directory is made
    if spoil is not None:
        spoil(world)
    commands = [
        (word, "latest", *words, f"{folder}{word}") for word, *words in (("start",), ("capture",), ("keep", "1"))
    ]
    for command in (*commands, ("stop", session.path.stem)):
        said = world.cli(*command).splitlines()[0]
        named = [Path(said.removeprefix(done)) for done in _DONE if said.startswith(done)]
        assert [path.is_file() for path in named] == ([True] if spoil is None else []), said
        assert ("is not written: " in said) == (spoil is not None), said
    assert len(world.status()["parked"]) >= (0 if spoil is None else 3)


def test_a_file_that_was_deleted_is_not_named_as_written(world, monkeypatch):
    """Even if katod has not noticed it yet."""
    world.claude().append(Claude(cwd=str(world.project)).user("A question"), Claude().says("done"))
    world.once()
    world.cli("start", "latest", "notes")
    path = world.outputs()[0].path
    path.unlink()
    monkeypatch.setattr("katod.daemon.run_daemon", lambda *_, **__: _answer(Inbox(world.state)))
    assert world.cli("start", "latest").splitlines()[0] == f"{path} is not written: see `katod status`"


def _answer(inbox: Inbox) -> None:
    """Answer all requests without a look at the files, as a daemon may that is about to find out."""
    for request, _ in inbox.poll():
        inbox.answer(request, "")


def test_a_deleted_project_is_told_from_a_disk(world):
    """The person is told how to go on in either case."""
    world.claude().append(Claude(cwd=str(world.project)).user("A question"), Claude().says("done"))
    world.once()
    shutil.rmtree(world.project)
    world.cli("start", "latest", "docs/a")
    [parked] = world.status()["parked"]
    assert f"is the disk mounted? If the directory was deleted: mkdir -p {world.project}" in parked["problem"]
    world.project.mkdir()
    assert "recording to" in world.cli("start", "latest", "docs/a")
