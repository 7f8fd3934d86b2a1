"""`katod setup`: in a home with the folders of agents."""

import json
import os
import shutil
import stat
import sys

import click
import pytest

from katod.agents import AGENTS
from katod.setup import instructions
from katod.setup.files import Files
from tests.support.live import without_privileges
from tests.support.world import World

SETTINGS = '{\n    "theme": "dark",\n    "hooks": {"Stop": []}\n}'


class Homes:
    """The files of agents in a world."""

    def __init__(self, world):
        self.world = world
        for folder in (".claude", ".codex"):
            (world.home / folder).mkdir(exist_ok=True)
        self.settings = world.home / ".claude/settings.json"
        self.settings.write_text(SETTINGS)
        self.settings.chmod(0o640)
        self.claude = world.home / ".claude/CLAUDE.md"
        self.claude.write_text("* mine")
        self.codex = world.home / ".codex/AGENTS.md"
        self.hook = world.state / "claude/hook.sh"

    def setup(self, *arguments, code=0):
        """Return what the command prints."""
        return self.world.cli("setup", *arguments, code=code)

    def everything(self):
        """Return content, mode and target of everything in the home, except for katod's own state."""
        return {
            str(path.relative_to(self.world.home)): _kept(path)
            for path in sorted(self.world.home.rglob("*"))
            if not path.is_relative_to(self.world.state)
        }


def _kept(path):
    status = path.lstat()
    content = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else b""
    return stat.S_IFMT(status.st_mode), stat.S_IMODE(status.st_mode), content


@pytest.fixture
def homes(world):
    return Homes(world)


@pytest.fixture
def terminal(monkeypatch):
    """Return a function that lets the user answer with this word."""
    asked = []

    def answer(word):
        monkeypatch.setattr("katod.cli.setup._can_ask", lambda: True)
        monkeypatch.setattr(click, "confirm", lambda text: asked.append(text) or word)
        return asked

    return answer


def test_everything_is_added_and_removed_without_a_trace(homes):
    """Every file of the agents found here is afterwards what it was, with its mode; only those of agents are changed."""
    before = homes.everything()
    said = homes.setup("--yes")
    after = homes.everything()
    assert {name for name in after if after[name] != before.get(name)} == {
        ".claude/settings.json", ".claude/settings.json.katod-backup", ".claude/CLAUDE.md", ".codex/AGENTS.md",
    }  # fmt: skip
    assert after[".claude/settings.json.katod-backup"] == before[".claude/settings.json"]
    assert after[".claude/settings.json"][1] == 0o640
    assert f"changed {homes.settings}" in said
    assert "To undo this: katod setup --remove" in said
    homes.setup("--remove", "--yes")
    assert homes.everything() == before
    assert not homes.hook.parent.exists()
    assert homes.setup("--remove", "--yes") == "Nothing to remove.\n"


def test_folders_that_setup_made_go_with_it(homes):
    """An agent that was named may not be here: `katod doctor` would find it from then on. What is in use stays."""
    (homes.world.home / ".kimi-code").mkdir()
    before = homes.everything()
    homes.setup("--yes", "gemini", "qwen", "kimi")
    assert (homes.world.home / ".gemini").is_dir()
    homes.setup("--remove", "--yes", "gemini")
    assert not (homes.world.home / ".gemini").exists()
    assert (homes.world.home / ".qwen").is_dir()
    session = homes.world.home / ".qwen/session"
    session.write_text("")
    homes.setup("--remove", "--yes")
    session.unlink()
    assert homes.everything().keys() == before.keys() | {".qwen"}


def test_a_home_in_which_katod_never_ran_is_as_it_was(tmp_path, monkeypatch):
    """Nothing is left: neither the folder of an agent that is not here, nor that of katod's state."""
    world = World(tmp_path / "home", monkeypatch, seen_empty=False)
    state = world.home / ".local" / "state" / "katod"
    monkeypatch.setitem(world.variables, "KATOD_STATE_DIR", str(state))
    (world.home / ".claude").mkdir()
    before = sorted(world.home.rglob("*"))
    world.cli("setup", "--yes", "claude", "codex")
    assert state.is_dir()
    world.cli("setup", "--remove", "--yes")
    assert sorted(world.home.rglob("*")) == before


def test_an_agent_that_cannot_be_looked_into_does_not_stop_the_others(homes):
    """Its folder is of somebody else, as after `sudo`: it is named, and the others are changed."""
    for folder in (".gemini", ".cline", ".config/Code"):
        (homes.world.home / folder / "x").mkdir(parents=True)
        (homes.world.home / folder).chmod(0)
    try:
        done = homes.world.katod("setup", "--yes", check=False, prefix=without_privileges())
        report = homes.world.katod("doctor", check=False, prefix=without_privileges()).stdout.decode()
    finally:
        for folder in (".gemini", ".cline", ".config/Code"):
            (homes.world.home / folder).chmod(0o700)
    assert done.returncode == 1
    assert f"not changed: {homes.world.home}/.gemini/" in done.stderr.decode()
    assert "::keep" in homes.claude.read_text()
    assert "::keep" in homes.codex.read_text()
    for folder in (".gemini", ".cline", ".config/Code"):
        assert f"{homes.world.home / folder}/" in report
    assert "Antigravity" not in report


def test_nothing_that_agents_run_is_put_where_others_can_write(homes):
    """As `katod run` refuses it: whoever can write to the directory could put another file in the place of the hook."""
    homes.world.state.mkdir(parents=True, exist_ok=True)
    (homes.world.state / "of others").touch()
    homes.world.state.chmod(0o777)
    before = homes.everything()
    homes.setup("--yes", code=1)
    assert "the state directory can be written to by others" in homes.world.said
    assert homes.everything() == before
    homes.world.state.chmod(0o700)
    homes.setup("--yes")
    homes.world.state.chmod(0o777)
    assert homes.setup("--yes", code=1) == "", "not that everything is in place: the hook could be another by now"
    assert "the state directory can be written to by others" in homes.world.said
    homes.setup("--remove", "--yes")  # what was put there before can always be removed


def test_a_second_setup_changes_nothing(homes):
    """It says that everything is in place."""
    homes.setup("--yes")
    before = homes.everything()
    assert homes.setup("--yes") == "Nothing to add: everything is in place.\n"
    assert homes.everything() == before


def test_the_changes_are_shown_and_made_on_consent(homes, terminal):
    """Without a yes nothing is changed; the answer is no unless the user says otherwise."""
    before = homes.everything()
    asked = terminal(False)
    said = homes.setup()
    assert asked == ["Add this?"]
    assert homes.everything() == before
    for line in (
        "change " + str(homes.claude),
        "   * mine",
        f"  +{instructions.LINES.splitlines()[0]}",
        '  +    "statusLine": {',
    ):
        assert line in said
    assert f"create {homes.hook} (a script of" in said
    terminal(True)
    homes.setup()
    assert homes.everything() != before
    homes.setup("--remove")
    assert asked[-1] == "Remove this?"
    assert homes.everything() == before


def test_without_a_terminal_nothing_is_changed(homes):
    """There is nobody to ask: the changes are printed, and --yes is named."""
    before = homes.everything()
    homes.world.cli("setup", code=1)
    assert "confirmation needs a terminal" in homes.world.said
    assert homes.everything() == before


def test_print_shows_all_of_it(homes):
    """The scripts, too; nothing is changed, not even with --yes."""
    before = homes.everything()
    said = homes.setup("--print", "--yes")
    assert "  +case $id in" in said
    assert f"{sys.executable} -P -E -m katod.setup.hook" in said
    assert homes.everything() == before
    assert not homes.hook.exists()


def test_only_the_named_agents_are_changed(homes):
    """An agent that was never used here is set up if it is named."""
    homes.setup("gemini", "codex", "--yes")
    assert instructions.LINES in (homes.world.home / ".gemini/GEMINI.md").read_text()
    assert instructions.LINES in homes.codex.read_text()
    assert homes.settings.read_text() == SETTINGS
    homes.setup("gemini", "--remove", "--yes")
    assert not (homes.world.home / ".gemini/GEMINI.md").exists()
    assert homes.codex.exists()


def test_an_agent_without_a_known_file_is_explained(homes):
    """The user is told the lines."""
    said = homes.setup("cursor")
    assert "Cursor has no instruction file that katod knows: add these lines yourself\n  Lines in user" in said


def test_where_there_is_no_agent_it_says_so(homes):
    """Without an agent nothing can be done."""
    for name in (".claude", ".codex"):
        shutil.rmtree(homes.world.home / name)
    homes.setup(code=1)
    assert "no agent was found" in homes.world.said


def test_a_status_line_of_the_user_is_not_replaced(homes):
    """It stays, and the line that would show katod's in it is printed."""
    homes.settings.write_text('{"statusLine": {"type": "command", "command": "mine"}}')
    said = homes.setup("claude", "--yes")
    assert "has a status line, which is kept" in said
    assert "printf '%s' \"$input\" | " in said
    assert json.loads(homes.settings.read_text())["statusLine"]["command"] == "mine"


COMMENTED = '{\n  // why\n  "theme": "dark"\n}'


def test_settings_that_are_not_json_are_left_out_and_named(homes):
    """They are not touched; everything else is added, also for the same agent, and the command fails."""
    homes.settings.write_text(COMMENTED)
    homes.setup("--yes", code=1)
    assert f"not changed: {homes.settings}: it is not valid JSON (line 2, column 3)" in homes.world.said
    assert homes.settings.read_text() == COMMENTED
    assert not homes.hook.exists()
    assert "katod setup: begin" in homes.claude.read_text()
    assert "katod setup: begin" in homes.codex.read_text()


def test_settings_that_are_no_longer_json_do_not_stop_a_removal(homes):
    """If the lines are still in them, they are named; everything else is taken out."""
    before = homes.everything()
    homes.setup("--yes")
    homes.settings.write_text("// mine\n" + homes.settings.read_text())
    homes.setup("--remove", "--yes", code=1)
    assert f"not changed: {homes.settings}: it is not valid JSON" in homes.world.said
    assert (homes.claude.read_text(), homes.codex.exists(), homes.hook.exists()) == ("* mine", False, False)
    homes.settings.write_text(COMMENTED)
    assert homes.setup("--remove", "--yes") == "Nothing to remove.\n"
    assert before.keys() <= homes.everything().keys()


@pytest.mark.parametrize("text", ["", "\n", "\ufeff" + SETTINGS, "\ufeff"])
def test_settings_that_are_empty_or_marked_are_as_they_were_afterwards(homes, text):
    """An empty file is one without settings; the mark that some editors write before a text is kept."""
    homes.settings.write_text(text)
    before = homes.everything()
    homes.setup("--yes")
    changed = homes.settings.read_text()
    assert changed.startswith("\ufeff") == text.startswith("\ufeff")
    assert "UserPromptSubmit" in json.loads(changed.removeprefix("\ufeff"))["hooks"]
    homes.setup("--remove", "--yes")
    assert homes.everything() == before


def test_a_link_is_followed_only_if_asked(homes):
    """Without --follow-links nothing is changed; with it, its target is, and is restored."""
    kept = homes.world.home / "dotfiles.json"
    homes.settings.rename(kept)
    homes.settings.symlink_to(kept)
    before = homes.everything()
    homes.setup("--yes", code=1)
    assert "settings.json is a symbolic link" in homes.world.said
    assert kept.read_text() == SETTINGS
    homes.setup("--remove", "--yes")
    assert homes.everything() == before
    homes.setup("--yes", "--follow-links")
    assert homes.settings.is_symlink()
    assert "UserPromptSubmit" in kept.read_text()
    homes.setup("--remove", "--yes", "--follow-links")
    assert homes.everything() == before


def test_an_older_backup_is_kept(homes):
    """A backup is never overwritten: the next one has a number; the one that the file equals again is removed."""
    old = homes.settings.with_name("settings.json.katod-backup")
    old.write_text("an older one")
    homes.setup("--yes")
    assert homes.settings.with_name("settings.json.katod-backup-2").read_text() == SETTINGS
    homes.setup("--remove", "--yes")
    assert homes.settings.read_text() == SETTINGS
    assert [path.name for path in homes.settings.parent.glob("*katod*")] == [old.name]
    for n in range(2, 10):
        old.with_name(f"{old.name}-{n}").write_text("")
    homes.setup("--yes", code=1)
    assert "9 backups" in homes.world.said


def test_settings_changed_since_lose_only_what_was_added(homes):
    """What the user changed stays, and so does the backup."""
    homes.setup("--yes")
    tree = json.loads(homes.settings.read_text())
    homes.settings.write_text(json.dumps(tree | {"theme": "light"}))
    said = homes.setup("--remove", "--yes")
    assert json.loads(homes.settings.read_text()) == {"theme": "light", "hooks": {"Stop": []}}
    assert "settings.json.katod-backup is kept: settings.json has changed since" in said


def test_a_failure_in_the_middle_says_what_is_left(homes, monkeypatch):
    """What was changed is printed, and what was not is named."""
    change = Files.change

    def changed(self, what):
        if what.path == homes.claude:
            homes.claude.write_text("written meanwhile")
        change(self, what)

    monkeypatch.setattr(Files, "change", changed)
    homes.setup("--yes", code=1)
    assert f"{homes.claude}: it was changed in the meantime; not changed: {homes.claude}\n" in homes.world.said
    assert homes.claude.read_text() == "written meanwhile"
    assert "katod setup: begin" in homes.codex.read_text()


def test_a_path_with_a_line_break_is_one_line(homes, monkeypatch):
    """A directory cannot pose as a line of the preview."""
    named = homes.world.home / "a\nremove everything"
    named.mkdir()
    monkeypatch.setenv("CODEX_HOME", str(named))
    said = homes.world.cli("setup", "codex", "--print")
    assert "\nremove everything" not in said
    assert "a\\nremove everything/AGENTS.md'" in said


@pytest.mark.parametrize(
    ("agent", "given", "there", "path"),
    [
        ("claude", {}, (), ".claude/CLAUDE.md"),
        ("claude", {"CLAUDE_CONFIG_DIR": "other"}, (), "other/CLAUDE.md"),
        ("codex", {}, (), ".codex/AGENTS.md"),
        ("codex", {}, (".codex/AGENTS.md", ".codex/AGENTS.override.md"), ".codex/AGENTS.override.md"),
        ("copilot", {}, (), ".copilot/copilot-instructions.md"),
        ("gemini", {"GEMINI_CLI_HOME": "other"}, (), "other/.gemini/GEMINI.md"),
        ("opencode", {}, (), ".config/opencode/AGENTS.md"),
        ("opencode", {"XDG_CONFIG_HOME": "other"}, (), "other/opencode/AGENTS.md"),
        ("opencode", {}, (".claude/CLAUDE.md",), ".claude/CLAUDE.md"),
        ("opencode", {}, (".claude/CLAUDE.md", ".config/opencode/AGENTS.md"), ".config/opencode/AGENTS.md"),
        ("pi", {}, (), ".pi/agent/AGENTS.md"),
        ("pi", {}, (".pi/agent/CLAUDE.md",), ".pi/agent/CLAUDE.md"),
        ("zot", {"ZOT_HOME": "other"}, (), "other/AGENTS.md"),
    ],
)
def test_each_agent_gets_the_lines_in_the_file_that_it_reads(world, monkeypatch, agent, given, there, path):
    """A new file does not hide the one that the agent has read until now, and all are cleared by --remove."""
    for name in given:
        monkeypatch.setenv(name, str(world.home / given[name]))
    for name in there:
        (world.home / name).parent.mkdir(parents=True, exist_ok=True)
        (world.home / name).write_text("mine\n")
    world.cli("setup", agent, "--yes")
    assert instructions.LINES in (world.home / path).read_text()
    world.cli("setup", "--yes", "--remove")
    assert [name for name in there if (world.home / name).read_text() != "mine\n"] == []
    assert (world.home / path).exists() == (path in there)


def test_agents_that_share_a_file_get_the_lines_once(homes):
    """OpenCode reads Claude Code's instructions as long as it has none of its own."""
    homes.setup("opencode", "claude", "--yes")
    assert homes.claude.read_text().count(instructions.LINES) == 1
    assert not (homes.world.home / ".config/opencode").exists()


def test_lines_that_another_agent_reads_stay(homes):
    """Removed from OpenCode, the lines stay in the instructions of Claude Code, which it also reads."""
    homes.setup("claude", "--yes")
    assert homes.setup("opencode", "--remove", "--yes") == "Nothing to remove.\n"
    assert instructions.LINES in homes.claude.read_text()


def test_links_that_setup_did_not_follow_are_no_obstacle_to_remove(homes):
    """A link to a file without the lines is left alone; one to a file with them is named."""
    kept = homes.world.home / "dotfiles.md"
    kept.write_text("mine")
    homes.codex.symlink_to(kept)
    homes.setup("claude", "--yes")
    homes.setup("--remove", "--yes")
    assert homes.settings.read_text() == SETTINGS
    homes.setup("codex", "--yes", "--follow-links")
    homes.setup("--remove", "--yes", code=1)
    assert "AGENTS.md is a symbolic link" in homes.world.said
    homes.setup("--remove", "--yes", "--follow-links")
    assert kept.read_text() == "mine"


def test_every_agent_has_instructions_or_is_known_to_have_none():
    """An agent that is added needs a decision."""
    own = [name for name, spec in AGENTS.items() if not spec.form]
    assert [name for name in own if AGENTS[name].instructions is None] == ["antigravity", "vscode", "cline", "cursor"]
