"""What a tool call is about, in one line and in full."""

from katod.agents.toolcalls import family
from katod.agents.tooltable import is_silent
from katod.formats.transcript.toolview import LONGEST, View, command_of, unwrapped
from tests.formats.conversation import MINUS, call_line
from tests.looping import each

CWD = "/home/me/shop"


def call(name="Bash", given=None, **arguments):
    return {"toolCallId": "t1", "name": name, "family": family(name), "input": arguments if given is None else given}


def hide(text):
    return text.replace("hunter2", "***")


def body(payload):
    shown = View(hide, CWD).body(payload)
    return shown.language, shown.text


# -- one line ----------------------------------------------------------------------------------------


def test_a_hostile_commit_takes_linear_time():
    """A search for its message that goes back at each `<<` would not finish."""
    assert "git commit" in call_line(call("Bash", command="git commit <<a " * 20_000))


@each(
    ("payload", "line"),
    [
        (call("Read", file_path="/home/me/shop/src/a.ts"), "**Read** `src/a.ts`"),
        (call("Read", file_path="/home/me/notes.md"), "**Read** `~/notes.md`"),
        (call("Read", file_path="/etc/hosts"), "**Read** `/etc/hosts`"),
        (call("LS", path="/home/me/shop"), "**LS** `.`"),
        (call("LS", path="/home/me/shop/src"), "**LS** `src`"),
        (call("LS", path="/home/me"), "**LS** `~`"),
        (call("Read", file_path="/home/me/shopping/a"), "**Read** `~/shopping/a`"),
        (call("Grep", pattern="a|b", path="/home/me/shop/src"), "**Grep** `a|b` in `src`"),
        (call("Grep", pattern="a|b", path="/home/me/shop"), "**Grep** `a|b`"),
        (call("Glob", path="src"), "**Glob** `src`"),
        (call("Bash", command="npm test", description="Run the tests"), "**Bash** `npm test` · *Run the tests*"),
        (call("Bash", description="Wait"), "**Bash** *Wait*"),
        (call("Bash", command="cat <<E\na\nb\nE"), "**Bash** `cat <<E` … +3 lines"),
        (call("Bash", command="a \\\n  b"), "**Bash** `a b`"),
        (call("Bash", command="a \\\n  b \\\nc\nd"), "**Bash** `a b c` … +1 line"),
        (call("Bash", command="# why\nset -e\nx='1 2'\nmake test $x"), "**Bash** `make test $x` … +3 lines"),
        (call("Bash", command="x=$(make)\ny=1"), "**Bash** `x=$(make)` … +1 line"),
        (call("Bash", command="x=1"), "**Bash** `x=1`"),
        (call("Read", file_path=f"/{'d' * 200}/name.ts"), f"**Read** `/{'d' * 89}…{'d' * 61}/name.ts`"),
        (call("Bash", command="echo `x`"), "**Bash** `` echo `x` ``"),
        (call("shell", command=["bash", "-lc", "make test"]), "**shell** `make test`"),
        (call("shell", command=["ls", "my dir"]), "**shell** `ls 'my dir'`"),
        (call("exec_command", cmd='bash -lc "make test"'), "**exec_command** `make test`"),
        (call("exec", given="const a = 1;\ntext(a)"), "**exec** `const a = 1;` … +1 line"),
        (call("Agent", description="Look *here*"), "**Agent** *Look \\*here\\**"),
        (call("WebFetch", url="https://x.org/a_b"), "**WebFetch** `https://x.org/a_b`"),
        (call("teleport", to="moon", speed=9, why=["x"]), "**teleport** to: `moon` speed: `9`"),
        (call("teleport", fast=True, safe=False, to="Moon"), "**teleport** fast: `true` safe: `false` to: `Moon`"),
        (call("teleport", given={}), "**teleport**"),
        (call("Read", file_path="a", offset=150, limit=100), "**Read** `a` lines 150–249"),  # noqa: RUF001
        (call("Read", file_path="a", limit=50), "**Read** `a` lines 1–50"),  # noqa: RUF001
        (call("Bash", command="git commit -m \"$(cat <<'EOF'\nAdd *sign-in*\n\nWith cookies.\nEOF\n)\""),
         "**Bash** `git commit -m \"$(cat <<'EOF'` … +5 lines · *Add \\*sign-in\\**"),
        (call("Read"), "**Read**"),
        (call("Edit", file_path="a", old_string="x", new_string="y\nz"), f"**Edit** `a` (+2 {MINUS}1)"),
        (call("Write", file_path="/home/me/shop/a", content="x\ny\n"), f"**Write** `a` (+2 {MINUS}0)"),
        (call("Edit", file_path="a", old_string="x", new_string="x"), "**Edit** `a`"),
    ],
)  # fmt: skip
def test_line_says_what_a_call_is_about(payload, line):
    """Commands, paths and patterns are code, paths are relative to the project or the home, descriptions are notes."""
    assert call_line(payload, CWD) == line


def test_line_of_a_patch_names_its_files():
    """A patch names up to four files, and how many more there are; all count as changed."""
    patch = "\n".join(f"*** Update File: {CWD}/f{number}\n+x" for number in range(6))
    payload = call("apply_patch", given=patch)
    assert call_line(payload, CWD) == f"**apply_patch** `f0` `f1` `f2` `f3` and 2 more (+6 {MINUS}0)"
    assert View(str, CWD).files(payload) == [f"f{number}" for number in range(6)]


@each("payload, files", [(call("Edit", file_path="/home/me/a"), ["~/a"]), (call("Edit"), [""])])
def test_edit_changes_one_file(payload, files):
    """An edit without a patch changes the file that it names."""
    assert View(str, CWD).files(payload) == files


def test_line_is_one_line_without_markup():
    """The input of a tool stays on its line and is copied as it was; secrets are replaced."""
    assert call_line(call("mcp__x`y", command="*a* <b> hunter2\n# b"), redact=hide) == (
        r"**mcp\_\_x\`y** `*a* <b> ***` … +1 line"
    )


def test_long_line_is_cut_after_redaction():
    """A long command is cut; a secret at the cut is replaced as a whole."""
    command = "x" * (LONGEST - 4) + "hunter2"
    assert "hun" not in call_line(call(command=command), redact=hide)
    assert len(call_line(call(command="x" * 500))) < LONGEST + 20


@each(
    ("cwd", "path", "shown"),
    [
        *((f"{home}/shop", f"{home}/a", "~/a") for home in ("/Users/me", "/root")),
        ("/srv/shop", "/home/me/a", "/home/me/a"),
        ("", "/home/me/a", "/home/me/a"),
        ("/home/me/shop/", "/home/me/shop/a", "a"),
        ("/home/me/shop", "", ""),
        ("", "", ""),
    ],
)
def test_home_is_that_of_the_working_directory(cwd, path, shown):
    """The home is taken from the session's working directory, not from the machine that prints."""
    assert View(str, cwd).path(path) == shown


@each(
    ("command", "inner"),
    [
        ('bash -lc "make test"', "make test"),
        ("/bin/zsh -lc 'a && b'", "a && b"),
        ("sh -c 'x' y", "sh -c 'x' y"),
        ("bash -lc 'open", "bash -lc 'open"),
        ("bash script.sh", "bash script.sh"),
        ("  ls  ", "ls"),
    ],
)
def test_shell_around_a_command_is_left_out(command, inner):
    """A command that only starts a shell with one command is that command; anything else is unchanged."""
    assert unwrapped(command) == inner


@each("given", [None, 5, [], {}, {"command": 5}, {"command": ["a", 5]}])
def test_input_of_an_unknown_form_has_no_command(given):
    """Input that has no command raises nothing."""
    assert command_of(given) == ""
    assert call_line(call("Bash", given=given) | {"input": given}) == "**Bash**"


@each("name", ["ToolSearch", "TaskList", "AskUserQuestion", "request_user_input"])
def test_bookkeeping_is_quiet(name):
    """The client's own tools, and those that become questions, print nothing."""
    assert is_silent(name, "claude")
    assert not is_silent("Bash", "claude")


# -- in full -----------------------------------------------------------------------------------------


@each(
    ("payload", "shown"),
    [
        (call(command="npm test\nnpm run x"), ("bash", "npm test\nnpm run x")),
        (call("shell", command=["bash", "-lc", "make"]), ("bash", "make")),
        (call("exec", given="ls -l"), ("bash", "ls -l")),
        (call("Bash", timeout=5), ("json", '{\n  "timeout": 5\n}')),
        (call("Edit", old_string="a\nb", new_string="a\nc"), ("diff", "-b\n+c")),
        (call("apply_patch", given="*** Begin Patch\n+x\n"), ("diff", "*** Begin Patch\n+x")),
        (call("Write", content="a\nb"), ("diff", "+a\n+b")),
        (call("Read", file_path="a"), ("json", '{\n  "file_path": "a"\n}')),
        (call("teleport", given="1+1"), ("text", "1+1")),
        (call(command="echo hunter2"), ("bash", "echo ***")),
        (call("Edit", new_string="hunter2"), ("diff", "+***")),
    ],
)  # fmt: skip
def test_body_shows_the_call_in_its_language(payload, shown):
    """Edits are diffs, commands are shell, anything else is its input; secrets are replaced in all."""
    assert body(payload) == shown


def test_input_nested_too_deep_is_named():
    """An input that cannot be written as JSON raises nothing, and its block says why."""
    deep = {}
    for _ in range(2000):
        deep = {"a": deep}
    assert "too deep" in body(call("X", given=deep))[1]
