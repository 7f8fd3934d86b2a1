"""`katod open`: which file is opened, and in what."""

import pytest

from tests.support.records import SESSION, Claude


@pytest.fixture
def opened(world, monkeypatch):
    """Return the list of what was opened: the program's variable, the name, and the text."""
    found = world.home / "opened"
    for name in ("VISUAL", "BROWSER"):
        script = world.home / name
        script.write_text(f'#!/bin/sh\necho "{name} $1" >> {found}\ncat "$1" >> {found}\n')
        script.chmod(0o700)
        monkeypatch.setenv(name, str(script))
    (world.home / "run").mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(world.home / "run"))
    make, source = Claude(), world.claude()
    source.append(make.user("private before"), make.user("::start notes\nrecorded words"), make.says("an answer"))
    world.once()

    def take():
        text = found.read_text() if found.exists() else ""
        found.unlink(missing_ok=True)
        return text

    return take


@pytest.mark.parametrize("what", [[], ["1"], [SESSION]])
def test_a_transcript_itself_is_opened(world, opened, what):
    """It is the person's own file: what they change there stays. No temporary file is made."""
    world.cli("open", *what)
    assert opened().startswith(f"VISUAL {world.out}/app/notes.md\n---\n")
    assert list((world.home / "run").iterdir()) == []


def test_a_copy_is_not_opened_instead_of_the_recording(world, opened):
    """Nor is an ended recording instead of the one that was resumed; a copy is opened by its number."""
    make = Claude(start=9)
    world.claude().append(make.user("::start other\nx"), make.user("::start notes\ny"), make.user("::keep kept\nz"))
    world.once()
    world.cli("open", SESSION)
    assert opened().startswith(f"VISUAL {world.out}/app/notes.md\n")
    world.cli("open", "3")
    assert opened().startswith(f"VISUAL {world.out}/app/kept.md\n")


def test_a_copy_is_not_opened_instead_of_a_recording_that_was_deleted(world, opened):
    """The session is opened, as if it had no transcript."""
    world.claude().append(Claude(start=9).user("::keep kept\nz"))
    world.once()
    world.cli("stop", "1")
    (world.out / "app" / "notes.md").unlink()
    world.cli("open", SESSION)
    assert opened().startswith(f"VISUAL {world.home}/run/katod-open-")


def test_a_session_without_a_transcript_is_a_temporary_file(world, opened):
    """So is a transcript with other content."""
    world.codex().append(world.codex().meta(), world.codex().user("other words"))
    world.cli("open", "codex:01")
    assert opened().startswith(f"VISUAL {world.home}/run/katod-open-")
    world.cli("open", "1", "--tools", "full")
    shown = opened()
    assert "/notes.md\n" in shown
    assert "private" not in shown


def test_in_the_browser_it_is_a_page(world, opened):
    """Of what was recorded, or of the session."""
    world.cli("open", "--web", "1")
    shown = opened()
    assert shown.startswith(f"BROWSER {world.home}/run/katod-open-")
    assert "notes.html\n<!DOCTYPE html>" in shown
    assert [words in shown for words in ("recorded words", "private before")] == [True, False]


def test_a_page_that_was_exported_is_opened_itself(world, opened):
    """In the browser, whether or not that was asked for."""
    world.claude().append(Claude(start=9).user("::export page.html"))
    world.once()
    [page] = [row for row in world.outputs() if row.format == "html"]
    world.cli("open", str(page.id))
    assert opened().startswith(f"BROWSER {page.path}\n<!DOCTYPE html>")
