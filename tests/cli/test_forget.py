"""`katod forget`: what it shows, what it asks, and what becomes of transcripts."""

import os
import shutil

import click
import pytest

from katod.agents import AGENTS
from katod.archive.folder import DRAFT, opened
from katod.archive.folders import ASIDE, NAME, remember
from katod.archive.manifest import MANIFEST
from katod.cli import forget
from katod.cli.context import Context
from katod.config import rescue_path
from katod.model import SessionKey
from katod.rescue.names import place_of
from tests.support.records import MAKERS, OTHER, SESSION, Claude, Codex, CodexFlat, says, user

PICTURE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}


@pytest.fixture
def maker(world):
    """Return a recorded session with a picture."""
    maker = Claude(world)
    text = {"type": "text", "text": "::start notes\nlook"}
    maker.put(maker.user([text, PICTURE])).say(says("yes"))
    world.once()
    return maker


@pytest.mark.usefixtures("maker")
def test_a_damaged_list_that_is_set_aside_is_named(world):
    """Although the copies in its folder stay."""
    folder = world.home / "all"
    world.cli("export", "--all", "-o", str(folder))
    with (folder / MANIFEST).open("a") as file:
        file.write("damaged\n")
    world.cli("forget", "1", "--yes")
    assert world.said.startswith(f"katod: {folder}: the list of exports was damaged and was renamed to .katod-export.")


@pytest.mark.usefixtures("maker")
def test_without_a_terminal_it_has_to_be_sure(world):
    """What would be dropped is shown; without --yes, and nobody to ask, nothing is."""
    shown = world.cli("forget", "1", code=1)
    assert f"katod forgets claude:{SESSION}" in shown
    assert "notes.md stays" in shown
    assert "confirmation needs a terminal" in world.said
    assert len(world.outputs()) == 1


@pytest.mark.usefixtures("maker")
def test_what_is_forgotten_is_named_as_lists_name_it(world):
    """And so is what its person said of it, which is forgotten, too."""
    assert "star and labels that you gave it" not in world.cli("forget", "1", code=1)
    world.cli("rename", "1", "The login page")
    shown = world.cli("forget", "1", code=1)
    assert f"katod forgets claude:{SESSION} (The login page · " in shown
    assert "  and the title, star and labels that you gave it" in shown


@pytest.mark.usefixtures("maker")
def test_transcripts_stay_unless_they_are_asked_for(world):
    """They are named; with --outputs, the file and the folder with its attachments are deleted."""
    assert len(world.files()) == 2
    world.cli("forget", SESSION[:8], "--yes")
    assert len(world.files()) == 2
    assert world.outputs() == []


@pytest.mark.parametrize("text", ["1", "notes", SESSION, f"claude:{SESSION[:6]}"])
def test_transcripts_are_deleted_on_request(world, maker, text):
    """The session is selected as everywhere, also by the file of its recording; an edited transcript goes, too."""
    [path] = [path for path in world.files() if path.suffix == ".md"]
    path.write_text(path.read_text() + "mine\n")
    shown = world.cli("forget", str(path) if text == "notes" else text, "--outputs", "--yes")
    assert f"recording 1 (ends now): {path} is deleted" in shown
    assert not path.parent.exists()
    assert path.parent.parent.exists()
    assert world.outputs() == []


def test_a_transcript_that_was_moved_is_deleted_where_it_is(world, maker):
    """Below the output directory, if it is the same file: a copy of it is the person's."""
    maker.say(user("::start\nhello"), says("hi"), user("::stop"))
    world.process()
    [row] = world.outputs()
    moved = row.path.parents[1] / "sorted" / "mine.md"
    moved.parent.mkdir()
    row.path.rename(moved)
    copy = moved.with_name("copy.md")
    copy.write_bytes(moved.read_bytes())
    assert f"{moved} is deleted" in world.cli("forget", maker.session[:8], "--yes", "--outputs")
    assert [path.name for path in moved.parent.iterdir()] == ["copy.md"]


MISSING = "is no longer there: if you moved it, delete it yourself"


def test_what_is_not_there_is_not_said_to_be_deleted(world, maker):
    """A transcript and a copy that were moved to where katod does not look, or are another file by now."""
    folder = world.home / "all"
    world.cli("export", "--all", "-o", str(folder))
    [copy] = folder.glob("app/*.md")
    [transcript] = [path for path in world.files() if path.suffix == ".md"]
    copy.rename(copy.with_name("best.md"))
    transcript.with_name("mine.md").write_bytes(transcript.read_bytes() + b"mine\n")
    transcript.unlink()
    assert f"{transcript} is no longer there\n" in world.cli("forget", "1", code=1)
    shown = world.cli("forget", "1", "--outputs", "--yes")
    assert f": {transcript} {MISSING}" in shown
    assert f"the copy {copy} {MISSING}" in shown
    assert "is deleted" not in shown


def test_copies_in_folders_of_exports_go_too(world, maker):
    """With --outputs, and with what the list of the folder says of the session; those of other sessions stay."""
    Claude(world, OTHER, cwd="/home/me/other").say(user("something else"), says("yes"))
    world.once()
    folder = world.home / "all"
    world.cli("export", "--all", "-o", str(folder))
    [copy] = folder.glob("app/*.md")
    assert f"the copy {copy} stays" in world.cli("forget", "1", code=1)
    shown = world.cli("forget", "1", "--outputs", "--yes")
    assert f"the copy {copy} is deleted" in shown
    assert "katod's log, the heads that you published and all other copies stay" in shown
    assert [path.name for path in folder.iterdir() if path.is_dir()] == ["other"]
    manifest = (folder / ".katod-export.jsonl").read_text()
    assert SESSION not in manifest
    assert "/home/me/app" not in manifest
    assert OTHER in manifest


def test_a_file_that_is_no_copy_of_the_session_stays_and_is_named(world, maker):
    """Before and after: the list may name a file that was never katod's."""
    folder = world.home / "all"
    world.cli("export", "--all", "-o", str(folder))
    [copy] = folder.glob("app/*.md")
    copy.write_text("My diary.\n")
    shown = world.cli("forget", "1", "--outputs", "--yes", code=1)
    assert f"the copy {copy} stays: it is not a copy of this session that katod wrote" in shown
    assert f"not deleted: {copy}" in world.said
    assert copy.read_text() == "My diary.\n"


def test_a_copy_that_its_person_edited_is_deleted(world, maker):
    """As an edited transcript is: all that was said is still in it."""
    folder = world.home / "all"
    world.cli("export", "--all", "-o", str(folder))
    [copy] = folder.glob("app/*.md")
    copy.write_text(copy.read_text() + "mine\n")
    world.cli("forget", "1", "--outputs", "--yes")
    assert not copy.exists()


def test_a_copy_that_cannot_be_deleted_is_named(world, maker):
    """What a link leads to is not touched."""
    folder = world.home / "all"
    world.cli("export", "--all", "-o", str(folder))
    [copy] = folder.glob("app/*.md")
    mine = copy.rename(world.home / "mine.md")
    copy.symlink_to(mine)
    world.cli("forget", "1", "--outputs", "--yes", code=1)
    assert str(copy) in world.said
    assert mine.exists()


@pytest.mark.whole
@pytest.mark.parametrize("forgotten", ["forget", "killed"])
def test_copies_are_deleted_although_all_else_forgot_their_session(world, maker, monkeypatch, forgotten):
    """Its transcripts alone were to stay, or katod was killed before it came to the copies, and its agent deleted it."""
    folder = world.home / "all"
    world.cli("export", "--all", "-o", str(folder))
    maker.path.unlink()
    world.once()
    if forgotten == "forget":
        world.cli("forget", SESSION, "--yes")
    else:
        with monkeypatch.context() as killed:
            killed.setattr("katod.cli.forget.Copies.delete", _killed)
            world.cli("forget", SESSION, "--outputs", "--yes", code=1)
    shown = world.cli("forget", SESSION, "--outputs", "--yes")
    assert "the copy" in shown
    assert list(folder.rglob("*.md")) == []
    world.cli("forget", SESSION, "--outputs", "--yes", code=1)
    assert "no session matches" in world.said


def _killed(*_):
    raise KeyboardInterrupt


def test_a_daemon_that_does_not_answer_has_forgotten_nothing(world, maker, monkeypatch):
    """Nor is that said of a session which the ledger does not know, and of which there is a copy alone."""
    copies = world.home / "copies"
    world.cli("export", "--all", "-o", str(copies))
    world.cli("forget", SESSION, "--yes")
    monkeypatch.setattr("katod.cli.record.holder", lambda _: os.getpid())
    monkeypatch.setattr("katod.cli.record._PATIENCE", 0)
    shown = world.cli("forget", SESSION, "--outputs", "--yes", code=1)
    assert f"claude:{SESSION} is forgotten" not in shown + world.said
    assert "timed out waiting for the daemon" in world.said


@pytest.mark.usefixtures("maker")
def test_pages_of_sessions_that_were_opened_go(world, monkeypatch):
    """What `katod open --web` leaves for the browser has the words of a session, too."""
    pages = world.home / "run"
    pages.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(pages))
    monkeypatch.setenv("BROWSER", "true")
    world.cli("open", SESSION, "--web")
    assert list(pages.iterdir())
    world.cli("forget", SESSION, "--yes")
    assert list(pages.iterdir()) == []


def test_copies_of_sub_agents_are_found_by_their_session(world, maker):
    """Also if the copy of the session itself is gone already."""
    maker.child().say(user("work"), says("done"))
    world.once()
    folder = world.home / "all"
    world.cli("export", "--all", "-o", str(folder))
    child = next(folder.rglob("agent-*.md"))
    for path in (maker.path, maker.child().path):
        path.unlink()
    world.once()
    world.cli("forget", SESSION, "--yes")
    with opened(folder) as exports:
        exports.drop([exports.manifest.entries[SessionKey("claude", SESSION), "markdown"]])
        exports.compact()
    world.cli("forget", SESSION, "--outputs", "--yes")
    assert not child.exists()


# The oldest form of Codex says nothing of who started a thread.
NAMING = [make for make in MAKERS if AGENTS[make.agent].names_parents and make is not CodexFlat]


def exported(world, root):
    """Export everything, and return the session that a person began."""
    world.once()
    world.cli("export", "--all", "-o", str(root))
    with opened(root) as folder:
        entries = list(folder.manifest.entries.values())
    [main] = [entry.slot[0] for entry in entries if not entry.parent]
    assert [entry.parent for entry in entries if entry.parent] == [main.id]
    return main


@pytest.mark.whole
@pytest.mark.parametrize("make", NAMING)
def test_copies_of_sub_agents_with_ids_of_their_own_go_with_their_session(world, make):
    """Their own records say who started them."""
    maker = make(world).say(user("one"), says("two"))
    maker.child().say(user("look"), says("looked"))
    root = world.home / "all"
    world.cli("forget", str(exported(world, root)), "--outputs", "--yes")
    assert list(root.rglob("*.md")) == []


@pytest.mark.whole
@pytest.mark.parametrize("gone", ["child", "both", "forgotten"])
def test_a_sub_agent_that_only_a_list_knows_of_goes_with_its_session(world, gone):
    """Its copy, and all that the ledger has of it: its agent deleted it, or its session alone was forgotten."""
    maker = Codex(world).say(user("one"), says("two"))
    child = maker.child().say(user("look"), says("looked"))
    root = world.home / "all"
    main = exported(world, root)
    for one in (child, maker) if gone == "both" else (child,):
        one.path.unlink()
    world.once()
    if gone == "forgotten":
        world.cli("forget", str(main), "--yes")
    shown = world.cli("forget", str(main), "--outputs", "--yes")
    assert f"and its sub-agent codex:{child.session}" in shown
    assert list(root.rglob("*.md")) == []
    for path in (world.state / "ledger.db", root / MANIFEST):
        assert child.session.encode() not in path.read_bytes()


@pytest.mark.whole
@pytest.mark.parametrize("gone", [False, True])
def test_a_list_cannot_have_another_session_forgotten(world, gone):
    """It may come from elsewhere: what a session says itself, or what was recorded of it, decides who started it."""
    one = Codex(world).say(user("one"), says("two"))
    other = Codex(world, OTHER).say(user("::start\nother"), says("two"))
    root = world.home / "all"
    world.once()
    world.cli("export", "--all", "-o", str(root))
    with opened(root) as folder:
        folder.note(folder.manifest.entries[SessionKey("codex", OTHER), "markdown"]._replace(parent=one.session))
    if gone:
        other.path.unlink()
        world.once()
    shown = world.cli("forget", f"codex:{one.session}", "--outputs", "--yes")
    assert OTHER not in shown
    assert [row.path.exists() for row in world.outputs()] == [True]
    assert len(list(root.rglob("*.md"))) == 1


@pytest.mark.whole
@pytest.mark.parametrize("kept", ["renamed", "starred", "labelled", "saved", "no copy says it"])
def test_a_list_cannot_have_what_is_kept_of_another_session_forgotten(world, kept):
    """Neither what its person says of it, nor what was saved from deletion; a copy that names nobody is no proof."""
    maker = Codex(world).say(user("one"), says("two"))
    child = maker.child().say(user("look"), says("looked"))
    root = world.home / "all"
    main = exported(world, root)
    [copy] = [path for path in root.rglob("*.md") if f'session: "{child.session}"' in path.read_text()]
    for chosen, command in (("renamed", ("rename", "Mine")), ("starred", ("star",)), ("labelled", ("label", "mine"))):
        if kept == chosen:
            world.cli(command[0], child.session, *command[1:])
    if kept == "saved":
        place = place_of(rescue_path(), SessionKey("codex", child.session))
        place.parent.mkdir(parents=True)
        place.touch()
    if kept == "no copy says it":
        copy.write_text(copy.read_text().replace(f'parent: "{maker.session}"\n', ""))
    child.path.unlink()
    world.once()
    assert child.session not in world.cli("forget", str(main), "--outputs", "--yes")
    assert list(root.rglob("*.md")) == [copy]


def test_a_folder_to_which_an_export_is_writing_is_named(world, maker):
    """It may write a copy there that no list names yet; the second time, all of it goes."""
    folder = world.home / "all"
    with opened(folder):
        remember(world.state, folder)
        world.cli("forget", SESSION, "--outputs", "--yes", code=1)
    assert f"its copies stay for now in {folder}, where another `katod export --all` is writing" in world.said
    world.cli("export", "--all", "-o", str(folder))
    world.cli("forget", SESSION, "--outputs", "--yes")
    assert list(folder.rglob("*.md")) == []


def test_copies_in_a_folder_that_is_new_since_katod_looked_go_too(world, maker, monkeypatch):
    """An export to it may begin while katod asks whether to go on."""
    folder = world.home / "all"
    real = forget._ask

    def asked(*arguments):
        world.katod("export", "--all", "-o", str(folder))
        assert list(folder.rglob("*.md"))
        return real(*arguments)

    monkeypatch.setattr(forget, "_ask", asked)
    world.cli("forget", SESSION, "--outputs", "--yes")
    assert list(folder.rglob("*.md")) == []


def test_a_folder_of_which_the_list_was_damaged_is_named(world, maker):
    """Copies in it may be known to nobody; what is left of the list says no more of the session."""
    folder = world.home / "all"
    world.cli("export", "--all", "-o", str(folder))
    with (folder / MANIFEST).open("a") as file:
        file.write("damaged\n")
    maker.say(user("more"))
    world.cli("export", "--all", "-o", str(folder))
    shown = world.cli("forget", "1", "--outputs", "--yes")
    assert f"copies may be left in {folder}: its list was damaged, and may not name all of them" in shown
    assert not [path for path in folder.iterdir() if SESSION in path.read_text()]


def test_an_unfinished_export_is_deleted(world, maker):
    """Which may be of the session."""
    folder = world.home / "all"
    world.cli("export", "--all", "-o", str(folder))
    (folder / DRAFT).write_text("half of it")
    assert f"the unfinished export {folder / DRAFT} stays" in world.cli("forget", "1", code=1)
    assert f"the unfinished export {folder / DRAFT} is deleted" in world.cli("forget", "1", "--outputs", "--yes")
    assert not (folder / DRAFT).exists()


def test_a_folder_of_exports_that_is_gone_is_no_obstacle(world, maker):
    """Its copies stay, wherever they are now, which is said."""
    folder = world.home / "all"
    world.cli("export", "--all", "-o", str(folder))
    shutil.rmtree(folder)
    said = world.cli("forget", "1", code=1)
    assert "the copy" not in said
    assert f"copies in {folder} stay" in said
    assert not folder.exists()


def test_a_damaged_list_of_the_folders_is_named(world, maker):
    """Copies stay in those that it named: the session is forgotten, but the command fails, also after an export."""
    folder = world.home / "all"
    world.cli("export", "--all", "-o", str(folder))
    damaged, aside = world.state / NAME, world.state / ASIDE
    damaged.write_text('{"a": [')
    said = world.cli("forget", str(maker.session), "--outputs", "--yes", code=1)
    assert f"copies may be left elsewhere: {damaged}, which lists where" in said
    assert f"{damaged}, which said to which directories you exported, is damaged" in world.said
    assert list(folder.rglob("*.md"))
    world.cli("export", "--all", "-o", str(folder))
    world.cli("forget", str(maker.session), "--outputs", "--yes", code=1)
    assert str(aside) in world.said
    assert not list(folder.rglob("*.md"))
    aside.unlink()
    world.cli("export", "--all", "-o", str(folder))
    world.cli("forget", str(maker.session), "--outputs", "--yes")


def test_what_may_not_be_deleted_is_named(world, maker):
    """A transcript that a link took the place of stays, and so does what the link leads to; the rest is forgotten."""
    [path] = [path for path in world.files() if path.suffix == ".md"]
    mine = path.rename(world.home / "mine.md")
    path.symlink_to(mine)
    shown = world.cli("forget", "1", "--outputs", "--yes", code=1)
    assert f"{path} stays: notes.md is not a regular file" in shown
    assert str(path) in world.said
    assert mine.exists()
    assert world.outputs() == []


def test_attachments_that_another_recording_has_stay(world, maker):
    """A Markdown and a JSONL transcript of one name share the folder of their attachments."""
    other = Claude(world, OTHER)
    text = {"type": "text", "text": "::start notes.jsonl\nlook"}
    other.put(other.user([text, PICTURE])).say(says("yes"))
    world.once()
    world.cli("forget", "1", "--outputs", "--yes")
    assert [path.name for path in world.files() if path.parent.name != "notes.assets"] == ["notes.jsonl"]
    assert len(world.files()) == 2


def test_a_session_that_katod_has_not_seen_is_buried(world):
    """What was typed in it before never acts, although katod did not run meanwhile."""
    maker = Claude(world).say(user("::start\nhello"), says("yes"))
    world.cli("forget", SESSION[:8], "--yes")
    maker.say(says("more"))
    world.once()
    assert world.files() == []
    world.cli("forget", SESSION[:8], "--yes")


@pytest.mark.parametrize("what", ["whole", "a sub-agent"])
def test_of_an_excluded_session_it_is_not_said_that_it_is_exported_again(world, what):
    """Nor of what it started: it stays excluded."""
    again = "`katod export --all` writes the session again"
    maker = Claude(world, cwd="/home/me/secret").say(user("secret words"), says("answer"))
    Claude(world, SESSION, subagent="a1b2", cwd="/home/me/elsewhere").say(user("look around"), says("yes"))
    key = f"claude:{SESSION}" if what == "whole" else f"claude:{SESSION}/a1b2"
    assert again in world.cli("forget", key, "--yes")
    world.configure(exclude=[maker.cwd])
    world.cli("export", "--all", "-o", str(world.home / "all"))
    shown = world.cli("forget", key, "--yes")
    assert "all other copies stay\n" in shown
    assert again not in shown
    assert world.cli("export", "--all", "-o", str(world.home / "all")) == "excluded 2\n"


def test_a_session_that_its_agent_deleted_is_found(world, maker):
    """By its id, too; once it is forgotten, it is unknown."""
    maker.path.unlink()
    world.once()
    world.cli("forget", SESSION[:8], "--yes")
    world.cli("forget", SESSION[:8], "--yes", code=1)
    assert "no session matches" in world.said


def test_settings_that_are_wrong_change_nothing(world, maker):
    """The request would stay."""
    world.config.write_text("[output]\nno = 1\n")
    world.cli("forget", "1", "--yes", code=1)
    assert os.listdir(world.state / "requests") == []


@pytest.mark.parametrize("agreed", [False, True])
@pytest.mark.usefixtures("maker")
def test_a_person_is_asked(world, monkeypatch, agreed):
    """Anything but yes changes nothing."""
    monkeypatch.setattr("katod.cli.forget._can_ask", lambda: True)
    monkeypatch.setattr(click, "confirm", lambda _: agreed)
    assert ("Nothing was changed." in world.cli("forget", "1")) is not agreed
    assert len(world.outputs()) == (0 if agreed else 1)


def test_a_person_chooses_what_is_forgotten_and_nobody_else_does(world, maker, monkeypatch):
    """Without SESSION, it is never the only one that is recorded: on a terminal one chooses, elsewhere it is missing."""
    other = Claude(world, OTHER)
    other.say(user("another"))
    world.once()
    world.cli("forget", "--yes", code=2)
    chosen = {found.key.id: found for found in Context(None).found().values()}
    monkeypatch.setattr("katod.cli.selection.is_terminal", lambda: True)
    monkeypatch.setattr("katod.cli.picker.pick", lambda *_: chosen[OTHER])
    world.cli("forget", "--yes")
    assert [row.path.name for row in world.outputs()] == ["notes.md"]
    assert maker.path.exists()
