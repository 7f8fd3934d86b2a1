"""`katod allow`: what it says, what it remembers, and what it refuses."""

import json
import os

import pytest

from katod.project.allowed import STORE
from katod.project.form import NAME
from tests.support.records import Claude

TEXT = """\
[output]
directory = "docs/chats"
[recording]
auto = true
"""
STAYS = (
    "Running recordings are not affected. If the file changes, you have to allow it again; until then, only "
    "the exclusions that you allowed stay in effect."
)


@pytest.fixture
def shop(world, monkeypatch):
    """Return a project with a file, which is the current directory."""
    folder = world.home / "shop"
    (folder / "src").mkdir(parents=True)
    (folder / NAME).write_text(TEXT)
    monkeypatch.chdir(folder)
    return folder


def stored(world):
    return json.loads((world.state / STORE).read_bytes())


def test_it_says_what_changes_and_what_is_refused(world, shop):
    """File, changes in words, refusals with their lines; path and hash are remembered."""
    assert world.cli("allow").splitlines() == [
        f"{shop / NAME} is allowed. In new recordings of sessions in {shop}:",
        "  transcripts are written to docs/chats/, inside the project",
        "refused:",
        "  line 4: `recording.auto` can only be set in your own configuration",
        STAYS,
    ]
    assert list(stored(world)) == [str(shop / NAME)]


@pytest.mark.parametrize("where", [["{}"], ["{}/src"], ["src"], ["./src/../src"]])
def test_the_file_is_looked_for_in_a_directory_and_above(world, shop, where):
    """As for the sessions in it."""
    assert f"{shop / NAME} is allowed" in world.cli("allow", *(path.format(shop) for path in where))


def test_a_directory_that_cannot_be_used_is_refused_at_once(world, shop):
    """A link is found before anything is recorded."""
    (shop / "docs").symlink_to("/tmp")
    assert f"the directory that {NAME} chose was refused: docs is a symbolic link" in world.cli("allow")


def test_without_a_file_there_is_nothing_to_allow(world, shop):
    """Nor in the home directory, which is no project."""
    (shop / NAME).unlink()
    (world.home / NAME).write_text(TEXT)
    for where in (".", str(world.home), str(world.home / "gone"), "/"):
        assert world.cli("allow", where, code=1) == ""
        assert f"nothing to allow: there is no {NAME} in " in world.said
    assert not (world.state / STORE).exists()


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda path: path.symlink_to("/etc/passwd"), "it is a symbolic link"),
        (os.mkfifo, "it is not a regular file"),
        (lambda path: path.write_bytes(b"#" * 70_000), "it is larger than 65536 bytes"),
        (lambda path: path.write_bytes(b"[output\x00"), "not valid TOML"),
        (lambda path: path.write_bytes(b"a=" + b"[" * 9_000), "nested too deeply"),
    ],
    ids=["link", "FIFO", "large", "NUL", "deep"],
)
def test_what_cannot_count_is_not_allowed(world, shop, make, reason):
    """The reason names the file, and nothing is remembered."""
    (shop / NAME).unlink()
    make(shop / NAME)
    assert world.cli("allow", code=1) == ""
    assert str(shop / NAME) in world.said
    assert reason in world.said
    assert not (world.state / STORE).exists()


def test_hostile_names_are_cleaned(world, shop, monkeypatch):
    """Neither a key nor the name of a directory reaches the terminal as it is."""
    folder = shop / "evil\n\x1b[31m\u202e"
    folder.mkdir()
    (folder / NAME).write_text('"\\u001b[2Jx\\ny" = 1\n[output]\ndirectory = "\\u001b[2J"\n')
    monkeypatch.chdir(folder)
    shown = world.cli("allow") + world.cli("allow", "--list") + world.cli("allow", "--remove")
    assert len(shown.splitlines()) == 8
    assert not [sign for sign in "\x1b\u202e\r" if sign in shown]


def test_what_is_allowed_is_listed_and_taken_back(world, shop):
    """With what each changes, or why it does not; a file that is gone can be taken back, too."""
    assert world.cli("allow", "--list") == f"no {NAME} is allowed\n"
    world.cli("allow")
    assert (
        world.cli("allow", "--list") == f"{shop / NAME}: transcripts are written to docs/chats/, inside the project\n"
    )
    (shop / NAME).write_text("x = 1")
    assert "it has changed since you allowed it" in world.cli("allow", "--list")
    (shop / NAME).unlink()
    assert world.cli("allow", "--list") == f"{shop / NAME}: it no longer exists\n"
    assert world.cli("allow", "--remove", "src") == f"{shop / NAME} is no longer allowed\n"
    assert stored(world) == {}
    assert world.cli("allow", "--remove", code=1) == ""
    assert "nothing to remove" in world.said


def test_a_damaged_list_is_said_everywhere_and_kept(world, shop):
    """Nothing is allowed on top of it."""
    world.cli("allow")
    (world.state / STORE).write_text("{")
    for command in (["allow"], ["allow", "--list"], ["allow", "--remove"]):
        world.cli(*command, code=1)
        assert (
            "the list of allowed files cannot be read, so no project's file has an effect: it is damaged" in world.said
        )
    assert (world.state / STORE).read_text() == "{"
    world.once()
    assert "the list of allowed files cannot be read" in world.cli("status")
    assert "→ move it away, then run `katod allow` in each project again" in world.cli("status")
    world.cli("config", "show")
    assert "the list of allowed files cannot be read" in world.said


def test_listing_and_removing_do_not_go_together(world):
    """That is a mistake in the call."""
    world.cli("allow", "--list", "--remove", code=2)


def test_a_project_that_is_recorded_is_mentioned_once(world, shop):
    """One line for its file while that does not count, until it is allowed or cleared, and again when it changes."""
    for number in (1, 2):
        make = Claude(world, f"{number:08x}-8a53-4c3e-9b5e-0a1d5f8f2c11", cwd=str(shop / "src"))
        make.append(make.user(f"::start n{number}\nhello"))
    assert world.status()["projects"] == []
    world.once()
    [row] = world.status()["projects"]
    assert (row["path"], row["problem"]) == (str(shop / NAME), "it is not allowed, and has no effect")
    assert f"→ read it, then run `katod allow {shop}`" in world.cli("status")
    world.cli("status", "--clear")
    assert world.status()["projects"] == []
    world.cli("allow")
    assert world.status()["projects"] == []
    (shop / NAME).write_text(f"{TEXT}\n")
    [row] = world.status()["projects"]
    assert row["problem"].startswith("it has changed since you allowed it")


def test_the_configuration_is_shown_with_what_the_project_changes(world, shop):
    """On standard error: what is printed can still be saved as a configuration."""
    shown = world.cli("config", "show")
    assert shown == world.config.read_text()
    assert f"{shop / NAME}: it is not allowed, and has no effect (read it, then run `katod allow {shop}`)" in world.said
    world.cli("allow")
    world.cli("config", "show")
    assert world.said == f"{shop / NAME}: transcripts are written to docs/chats/, inside the project\n"
    (shop / NAME).unlink()
    (shop / "src").rmdir()
    shop.rmdir()
    assert world.cli("config", "show") == world.config.read_text()
