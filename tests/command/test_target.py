"""From a typed name to a path: where an output may be, and everything that is refused."""

import unicodedata
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from katod.command.target import TargetScope, check_folder, generated, numbered, resolve
from katod.errors import TargetRefused
from katod.model import Target
from tests.examples import texts
from tests.looping import each

FIELDS = {
    "date": "2026-02-10",
    "title": "add-auth",
    "session8": "6f1c2c1e",
    "session": "6f1c2c1e-8a53",
    "agent": "claude",
}
ROOT = Path("/nowhere/home")
TEMPLATE = "{project}/{date}-{title}-{session8}"


@pytest.fixture
def scope(tmp_path):
    home = tmp_path / "home"
    for folder in ("katod", "work/app", "notes", ".claude/projects/p"):
        (home / folder).mkdir(parents=True)
    return TargetScope(
        output=home / "katod",
        project=home / "work/app",
        project_folder="app",
        allowed=(home / "notes",),
        protected=(home / ".claude", home / ".codex"),
        home=home,
        format="markdown",
    )


def refused(name, scope):
    with pytest.raises(TargetRefused) as caught:
        resolve(name, scope)
    return caught.value.what


# -- what names resolve to -------------------------------------------------------------------------


def test_bare_name_lies_in_the_project_folder_of_the_output_directory(scope):
    """A name without a slash is a file in the project's folder."""
    assert resolve("auth", scope) == Target(scope.output, ("app", "auth.md"), "markdown")


def test_path_with_a_slash_is_relative_to_the_project(scope):
    """A name with a slash is in the session's own project directory."""
    assert resolve("docs/auth", scope) == Target(scope.project, ("docs", "auth.md"), "markdown")


@each("form", ["{home}/notes/a/b.md", "~/notes/a/b.md"])
def test_absolute_path_lies_in_an_allowed_root(scope, form):
    """An absolute path, or one from the home directory, is accepted if the configuration allows its root."""
    assert resolve(form.format(home=scope.home), scope) == Target(scope.home / "notes", ("a", "b.md"), "markdown")


@each(("folder", "root"), [("katod/x", "katod"), ("work/app/docs", "work/app")])
def test_absolute_path_lies_in_the_output_directory_or_the_project(scope, folder, root):
    """The output directory and the project are roots without being listed."""
    target = resolve(f"{scope.home}/{folder}/a.md", scope)
    assert (target.root, target.path) == (scope.home / root, scope.home / folder / "a.md")


def test_absolute_path_may_name_a_root_by_its_real_path(scope, tmp_path):
    """A root reached through a link is also recognised by its real path."""
    (tmp_path / "link").symlink_to(scope.home / "notes")
    linked = replace(scope, allowed=(tmp_path / "link",))
    assert resolve(f"{scope.home}/notes/a.md", linked).root == tmp_path / "link"
    assert resolve(f"{tmp_path}/link/a.md", linked).root == tmp_path / "link"


@each(
    ("name", "file", "form"),
    [
        ("auth", "auth.md", "markdown"),
        ("auth.md", "auth.md", "markdown"),
        ("auth.jsonl", "auth.jsonl", "jsonl"),
        ("Auth.MD", "Auth.MD", "markdown"),
        ("a.b.md", "a.b.md", "markdown"),
        ("my notes.md", "my notes.md", "markdown"),
        ("  auth  ", "auth.md", "markdown"),
        ("日本語", "日本語.md", "markdown"),
    ],
)
def test_suffix_chooses_the_format(scope, name, file, form):
    """A known suffix, in any case, chooses the format; without one it is the configured format."""
    target = resolve(name, scope)
    assert (target.parts[-1], target.format) == (file, form)


def test_configured_format_gives_the_suffix(scope):
    """If JSONL is configured, a name without a suffix becomes a JSONL file."""
    target = resolve("auth", replace(scope, format="jsonl"))
    assert (target.parts[-1], target.format) == ("auth.jsonl", "jsonl")


def test_name_is_composed(scope):
    """Two ways of writing the same letters are one name."""
    assert resolve(unicodedata.normalize("NFD", "übung"), scope) == resolve("übung", scope)


# -- what is refused -------------------------------------------------------------------------------


@each("suffix", ["txt", "pdf", "py", "2", "", "md~", "md.bak"])
def test_unknown_suffix_is_refused(scope, suffix):
    """A suffix that is not that of a format is refused, and the known ones are named."""
    assert "jsonl" in refused(f"auth.{suffix}", scope)


@each("name", ["talk.stream.jsonl", "talk.matrix.jsonl"])
def test_the_suffix_of_a_format_for_the_shell_is_refused(scope, name):
    """It is no name with another suffix: nobody would find a stream in what is called JSONL."""
    assert ".html, .jsonl, .md" in refused(name, scope)


@each(
    "name",
    [
        "CLAUDE.md",
        "docs/agents.md",
        "./Gemini",
        "skill",
        "copilot-instructions.md",
        "AGENT",
        "WARP.md",
        "docs/Crush.md",
        "CONVENTIONS.md",
        "python.instructions.md",
        "x/review.prompt.md",
        "memory-bank/progress",
        "./commands/fix.md",
        "docs/prompts/deep/a.md",
    ],
)
def test_names_that_agents_obey_are_refused(scope, name):
    """What a chat says must not become instructions, in whatever case the name is written."""
    assert "instructions" in refused(name, scope)


def test_a_generated_name_is_none_that_agents_obey(scope):
    """A title may be anything."""
    assert generated("{title}", {"title": "Claude"}, scope).parts == ("session-Claude.md",)
    assert generated("{title}", {"title": "my.prompt"}, scope).parts == ("session-my-prompt.md",)


def test_a_project_may_be_called_like_a_folder_that_agents_obey(scope):
    """In katod's own directory no agent looks for instructions."""
    other = replace(scope, project_folder="prompts")
    assert resolve("auth", other).parts == ("prompts", "auth.md")


@each("name", [".git/hooks/x", "docs/.hidden/a.md", ".auth.md", ".md", ".", "..", "..."])
def test_hidden_component_is_refused(scope, name):
    """No part of a path may begin with a dot, whatever follows it."""
    refused(name, scope)


@each("name", ["../a.md", "docs/../../a.md", "docs/./a.md", "docs//a.md", "docs/", "docs/..", ""])
def test_path_that_steps_up_or_is_empty_is_refused(scope, name):
    """Parts that are empty, `.` or `..` are refused, even if they would lead to an allowed place."""
    refused(name, scope)


@each("root", ["~", "{home}"])
@each("way", ["/notes/../x.md", "/notes/a/../../x.md", "/notes//x.md", "/notes/.ssh/x.md", "/notes/", "/notes"])
def test_absolute_path_is_checked_part_by_part(scope, root, way):
    """Below an allowed root, the same parts are refused as in any name."""
    refused(f"{root.format(home=scope.home)}{way}", scope)


@each(
    "name",
    ["/etc/passwd.md", "/x.md", "//x.md", "{home}/x.md", "~/x.md", "~/other/x.md", "{home}/notes2/x.md", "~/", "/"],
)
def test_path_outside_the_roots_is_refused(scope, name):
    """Only the output directory, the project and the listed roots are written to."""
    assert "outside" in refused(name.format(home=scope.home), scope)


@each("name", ["~", "~bob/x.md", "~bob"])
def test_home_of_another_user_is_refused(scope, name):
    """A tilde followed by a slash means the user's own home directory, and nothing else."""
    refused(name, scope)


@each("odd", ["\0", "\n", "\r", "\t", "\x1b", "\x7f", "\x85", "\x9b", "\\", "$"])
def test_control_characters_and_shell_signs_are_refused(scope, odd):
    """A name contains no control character, backslash or dollar sign."""
    refused(f"a{odd}b", scope)
    refused(f"docs/a{odd}b/c.md", scope)


@each("odd", ["\u202a", "\u202e", "\u2066", "\u2069"])
def test_characters_that_turn_text_around_are_refused(scope, odd):
    """Direction controls are refused: with them, a name could be displayed as a different one."""
    refused(f"a{odd}dm.", scope)


@each("name", ["c:/x.md", "z:\\x.md"])
def test_drive_letters_are_refused(scope, name):
    """A Windows path is not a valid name."""
    refused(name, scope)


@each("name", ["con", "CON.md", "nul.txt.md", "aux", "prn.md", "com1", "LPT9.md", "docs/con/a.md", "con/a.md"])
def test_reserved_names_are_refused(scope, name):
    """A name that some systems reserve for devices is refused: it would be unreadable there."""
    refused(name, scope)


@each("name", ["-rf", "-a.md", "docs/-x/a.md", "--help"])
def test_parts_that_look_like_options_are_refused(scope, name):
    """A part that begins with a hyphen is refused: other programs would take it for an option."""
    refused(name, scope)


@each("name", ["x" * 201, "é" * 101, "日" * 67, "docs/" + "x" * 201 + "/a.md", "/".join(["x" * 150] * 8)])
def test_long_names_are_refused(scope, name):
    """A part of more than 200 bytes, or a very long path, is refused."""
    assert "too long" in refused(name, scope)


def test_path_of_1000_bytes_is_taken(scope):
    """The longest path is taken, one byte more is refused."""
    longest = "/".join(["x" * 200, *["y" * 199] * 4])
    assert len(longest) == 1000
    assert str(resolve(longest, scope).path).endswith(f"/{longest}.md")
    assert "too long" in refused(f"x{longest[1:]}y", scope)


def test_name_of_200_bytes_is_taken(scope):
    """A part of the maximum length is accepted."""
    assert resolve("x" * 200, scope).parts[-1] == "x" * 200 + ".md"


@each("project", [None, "relative/app", "/", "home", "around an agent", "an agent"])
def test_path_is_refused_where_the_session_has_no_good_project(scope, project):
    """A relative path needs a project that is not the root, the home directory or a parent of an agent's folder."""
    there = {"home": scope.home, "around an agent": scope.home / "x", "an agent": scope.home / ".claude"}
    moved = replace(scope, protected=(scope.home / "x/.claude", scope.home / ".claude"))
    path = there.get(project) or (project and Path(project))
    refused("docs/auth.md", replace(moved, project=path))
    assert resolve("auth", replace(moved, project=path)).root == scope.output


def test_project_that_is_a_link_to_the_home_directory_is_refused(scope, tmp_path):
    """A link does not turn the home directory into a project."""
    (tmp_path / "link").symlink_to(scope.home)
    refused("docs/auth.md", replace(scope, project=tmp_path / "link"))


def test_home_as_project_is_no_root_for_absolute_paths(scope):
    """A session that was started in the home directory makes nothing in it accessible."""
    assert "outside" in refused(f"{scope.home}/x/a.md", replace(scope, project=scope.home))


@pytest.mark.whole
@pytest.mark.parametrize("name", ["auth", "sub/auth.md", "{home}/notes/auth.md"])
def test_folders_of_agents_are_refused(scope, name):
    """Nothing is ever written where an agent keeps its sessions."""
    inside = scope.home / ".claude/projects"
    (scope.home / "notes").rmdir()
    (scope.home / "notes").symlink_to(inside)
    moved = replace(scope, output=inside, project=inside / "p")
    assert "agent" in refused(name.format(home=scope.home), moved)


def test_link_into_a_folder_of_an_agent_is_refused(scope):
    """A link inside an allowed root does not lead to an agent's sessions."""
    (scope.output / "app").symlink_to(scope.home / ".claude")
    assert "agent" in refused("auth", scope)


def test_file_that_is_a_link_into_a_folder_of_an_agent_is_refused(scope):
    """A link in the place of the file itself is detected, too."""
    (scope.output / "app").mkdir()
    (scope.output / "app/auth.md").symlink_to(scope.home / ".claude/projects/p/x.md")
    assert "agent" in refused("auth", scope)


# -- generated names -------------------------------------------------------------------------------


def test_generated_name_fills_the_template(scope):
    """Without a name, the template determines where the output is; its suffix is that of the format."""
    assert generated(TEMPLATE, FIELDS, scope).path == scope.output / "app/2026-02-10-add-auth-6f1c2c1e.md"
    other = generated("{agent}/{session}", FIELDS, replace(scope, format="jsonl"))
    assert (other.parts, other.format) == (("claude", "6f1c2c1e-8a53.jsonl"), "jsonl")


@each("sign", ["x", "é", "字"])
def test_a_long_part_of_a_generated_name_is_cut_as_late_as_possible(scope, sign):
    """In bytes, between two characters."""
    (part,) = generated(sign * 400, FIELDS, scope).parts
    most = 200 - 20  # bytes, without the suffix
    assert most - len(sign.encode()) < len(part.removesuffix(".md").encode()) <= most


@each(
    ("template", "parts"),
    [
        ("{title}", ("add-auth.md",)),
        ("/{title}/", ("add-auth.md",)),
        ("../../{title}", ("untitled", "untitled", "add-auth.md")),
        (".hidden/{title}", ("hidden", "add-auth.md")),
        ("-x/{title}", ("x", "add-auth.md")),
        ("con/{title}", ("untitled-con", "add-auth.md")),
        ("", ("untitled.md",)),
        ("a\nb$c\\d", ("abcd.md",)),
    ],
)
def test_odd_template_gives_a_good_name(scope, template, parts):
    """Whatever the template says, the output is in the output directory under a plain name."""
    assert generated(template, FIELDS, scope).parts == parts


def test_generated_name_in_a_folder_of_an_agent_is_refused(scope):
    """An output directory inside an agent's folder is not written to."""
    with pytest.raises(TargetRefused, match="agent"):
        generated(TEMPLATE, FIELDS, replace(scope, output=scope.home / ".claude/x"))


def test_links_that_lead_to_each_other_are_no_failure(scope):
    """Whether a path is in an agent's folder can be said of them, too; they are refused when the file is opened."""
    (scope.project / "loop").symlink_to("loop")
    assert resolve("loop/auth", scope).parts == ("loop", "auth.md")
    check_folder(scope.project, ("loop",), scope.protected, scope.home)


def test_a_directory_chosen_for_the_project_takes_the_place_of_the_output_directory(scope):
    """Bare and generated names are in it, without the folder of each project; a path stays relative to the session's."""
    folder = scope.home / "work"
    chosen = replace(scope, chosen=(folder, ("docs", "chats")))
    assert resolve("auth", chosen) == Target(folder, ("docs", "chats", "auth.md"), "markdown")
    assert resolve("x/auth", chosen) == Target(scope.project, ("x", "auth.md"), "markdown")
    for template, parts in (
        (TEMPLATE, 3),
        ("{project}", 3),
        ("{agent}/{project}/{title}", 4),
        ("{project}-{title}", 3),
    ):
        target = generated(template, FIELDS, chosen)
        assert (target.root, target.parts[:2], len(target.parts)) == (folder, ("docs", "chats"), parts)


@each(
    ("folder", "parts", "reason"),
    [
        ("work/app", ("docs",), ""),
        ("", ("docs",), "not a project"),
        ("work", ("docs",), ""),
        ("notes", ("link",), "agent's directory"),
    ],
)
def test_a_directory_may_be_chosen_in_a_project_only(scope, folder, parts, reason):
    """Not in the home directory, nor above or in that of an agent."""
    if not (scope.home / "notes/link").is_symlink():
        (scope.home / "notes/link").symlink_to(scope.home / ".claude")
    with pytest.raises(TargetRefused, match=reason) if reason else nullcontext():
        check_folder(scope.home / folder, parts, scope.protected, scope.home)


@given(texts(max_size=300), st.sampled_from([TEMPLATE, "{title}", "{title}/{title}", "a{title}b"]))
def test_any_title_gives_a_name_that_could_have_been_typed(title, template):
    """A generated name obeys the rules for typed ones, whatever its title is."""
    folder = TargetScope(ROOT, None, "app", (), (), ROOT, "markdown")
    target = generated(template, {**FIELDS, "title": title.replace("/", "")}, folder)
    assert resolve(f"{ROOT}/{'/'.join(target.parts)}", folder).parts == tuple(
        unicodedata.normalize("NFC", part) for part in target.parts
    )


@each(("name", "second"), [("auth.md", "auth-2.md"), ("a.b.jsonl", "a.b-2.jsonl")])
def test_number_stands_before_the_suffix(scope, name, second):
    """A name that is taken gets a number, and is otherwise unchanged."""
    target = resolve(name, scope)
    assert numbered(target, 2) == replace(target, parts=("app", second))


# -- a property ------------------------------------------------------------------------------------

PARTS = st.sampled_from(["a", "..", ".", "", ".x", "~", "-x", "con", "a.md", "x\0y", " ", "b.jsonl"]) | texts(
    max_size=4
)


@given(st.sampled_from(["", "/", "~/", str(ROOT) + "/", str(ROOT) + "/app/"]), st.lists(PARTS, max_size=5))
def test_what_is_not_refused_lies_inside_a_root(before, parts):
    """Any text is either refused or names a file below an allowed root, without hidden parts."""
    scope = TargetScope(ROOT / "out", ROOT / "app", "app", (ROOT / "notes",), (ROOT / ".claude",), ROOT, "markdown")
    try:
        target = resolve(before + "/".join(parts), scope)
    except TargetRefused:
        return
    assert target.root in (scope.output, scope.project, *scope.allowed)
    assert not any(part in ("", ".", "..") or part.startswith(".") or "/" in part for part in target.parts)
    assert target.path.suffix.lower() in (".md", ".jsonl")
