"""`katod status`: what went wrong is visible."""

import orjson

from katod.cli import status
from katod.cli.context import Context
from tests.support.records import Claude, Codex


def test_a_bad_configuration_hides_nothing(world):
    """The status is shown nevertheless; the reason follows, and the exit code is 1."""
    world.claude().append(Claude().user("::start notes\none"))
    world.once()
    world.config.write_text("[output]\ndirectroy = '/x'\n")
    assert "notes.md" in world.cli("status", code=1)
    assert "unknown key `output.directroy`" in world.said


def test_a_folder_that_cannot_be_read_is_named(world, monkeypatch):
    """An unreadable agent's folder is a problem like an unreadable file."""
    monkeypatch.setattr(Context, "found", lambda self: self.problems.update({"/closed": "Permission denied"}))
    assert orjson.loads(world.cli("status", "--json"))["problems"] == [
        {"path": "/closed", "problem": "Permission denied"}
    ]


def test_more_ended_recordings_than_are_shown_are_counted(world, monkeypatch):
    """The list on a terminal is short, and says so."""
    monkeypatch.setattr(status, "_LAST", 1)
    make, source = Claude(), world.claude()
    for name in "abc":
        source.append(make.user(f"::start {name}\none\n::stop"))
    world.once()
    assert "and 2 earlier (--json lists them all)" in world.cli("status")


def test_secrets_that_were_replaced_are_counted(world):
    """For each recording, live and across restarts; a recording without any says nothing."""
    make, source = Claude(), world.claude()
    key = "sk-ant-api03-" + "aB3dE5gH7jK9" * 4
    source.append(make.user("::start notes\nhello"), make.user(f"my key is {key}"), make.says("thanks"))
    world.once()
    source.append(make.says(f"you said {key} and {key[:-4]}0000"), make.user("::stop"))
    world.once()
    [row] = orjson.loads(world.cli("status", "--json"))["ended"]
    assert row["redactions"] == 3
    assert "(3 secrets redacted)" in world.cli("status")
    source.append(make.user("::start clean\nhello"))
    world.once()
    assert "clean.md (" not in world.cli("status")


def test_a_store_without_a_session_that_katod_knows_is_a_problem(world):
    """A new version of an agent that names its files differently does not fail in silence."""
    folder = world.home / ".codex" / "sessions" / "2026"
    folder.mkdir(parents=True)
    (folder / "thread-1.jsonl").write_text("{}\n")
    [problem] = world.status()["problems"]
    assert problem["path"] == str(world.home / ".codex")
    assert problem["problem"].startswith("has files that look like sessions (1)")
    world.codex().append(Codex().meta())
    assert world.status()["problems"] == []
