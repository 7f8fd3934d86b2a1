"""`katod completion`: what is offered for the last word of a line, and what each shell makes of it."""

import os
import re
import resource
import shlex
import shutil
import subprocess
import sys
from contextlib import closing
from datetime import datetime
from pathlib import Path

import pytest

from katod.cli import app, parameters
from katod.cli.completion import SCRIPTS, complete
from katod.formatspec import FORMATS
from katod.log import EventLog
from katod.model import Identity, SessionKey, Stat
from katod.store.ledger import Ledger
from katod.store.rows import SourceRow
from tests.looping import each
from tests.support.records import Claude
from tests.support.world import SOURCE

ONE, TWO = "6f1c2c1e-8a53-4c3e-9b5e-0a1d5f8f2c11", "6f1c9999-8a53-4c3e-9b5e-0a1d5f8f2c11"
HOSTILE = (
    "$(touch pwned)",
    "`touch pwned`",
    "a;touch pwned",
    "a b",
    "a'b",
    'a"b',
    "a\nb",
    "a\tb",
    "*",
    "-rf",
    "\x1b[2J",
)
# Prints the candidates of a line that is begun, each on a line of its own.
ASKING = {
    "bash": (
        "COMP_LINE=$1 COMP_POINT=${#1} COMP_WORDS=($1) COMP_CWORD=$((${#COMP_WORDS[@]} - 1));"
        ' _katod_completion katod "${1##*[ =:]}" ""; printf "%s\\n" "${COMPREPLY[@]}"'
    ),
    "zsh": (
        'words=("${(@s: :)1}"); CURRENT=$#words; _files() { print file; };'
        ' _describe() { print -l -- "${(@P)3}"; }; _katod'
    ),
    "fish": 'complete -C "$argv[1]"',
}


def offered(capsysbinary, monkeypatch, line, word=None):
    """Return the candidates for the last word of a line: type, text and help."""
    monkeypatch.setenv("_KATOD_COMPLETE", line)
    if word is not None:
        monkeypatch.setenv("_KATOD_WORD", word)
    complete(app)
    shown = capsysbinary.readouterr()
    assert shown.err == b""
    return [tuple(row.split("\t")) for row in shown.out.decode().splitlines()]


@pytest.fixture
def texts(capsysbinary, monkeypatch):
    """Return a function for the texts of the candidates."""
    return lambda line, word=None: [row[1] for row in offered(capsysbinary, monkeypatch, line, word)]


@pytest.fixture
def sessions(world):
    """Return a world with two sessions of Claude Code, the first one with a sub-agent, and a newer one of Codex."""
    for age, session in enumerate((world.codex(), world.claude(ONE), world.claude(TWO))):
        session.append(session.user("hello"))
        os.utime(session.path, (1_770_000_000 - age, 1_770_000_000 - age))
    agent = world.claude(ONE)
    agent.path = agent.path.with_suffix("") / "subagents" / "agent-abc.jsonl"
    agent.append(agent.user("look"))
    return world


@each(
    ("line", "expected"),
    [
        ("katod st", ["start", "stop", "status", "star"]),
        ("katod service st", ["start", "status", "stop"]),
        ("katod handoff --b", ["--budget"]),
        ("katod export --tools ", ["none", "summary", "full"]),
        ("katod export -f ", [*FORMATS, "parquet"]),
        ("katod export --format=j", ["--format=jsonl"]),
        ("katod export -o some/pl", ["some/pl"]),
        ("katod --config a.toml 'sessions' --agent cl", ["claude", "cline"]),
        ("katod completion ", ["bash", "zsh", "fish"]),
        ("katod config path ", []),
    ],
    ids=str,
)
def test_commands_options_and_choices_are_completed(texts, line, expected):
    """A word that is begun is completed by what may stand there, in the order of the help."""
    assert sorted(texts(line)) == sorted(expected)


def test_ids_are_completed_newest_first(sessions, texts):
    """A session is offered by its id, without its sub-agents; the latest one by that word as well."""
    newest = texts("katod start ")
    assert (newest[0], newest[2:]) == ("latest", [ONE, TWO])
    assert texts("katod handoff 6f1c9") == ["6f1c9", TWO]
    assert texts("katod export claude:6f1c2") == ["claude:6f1c2", f"claude:{ONE}"]
    assert texts("katod capture codex:6f1c") == []


def test_bash_gets_what_follows_the_last_colon(sessions, texts):
    """Bash begins a word after a colon or an equals sign, and replaces only that word."""
    assert texts("katod start claude:6f1c2", "6f1c2") == [ONE]
    assert texts("katod start claude:", "")[0] == ONE
    assert texts("katod export --format=j", "j") == ["jsonl"]


def test_an_id_is_explained_by_agent_project_and_time(world, capsysbinary, monkeypatch):
    """The project is shown where the ledger knows it: of a session that is recorded."""
    recorded, other = world.claude(ONE), world.claude(TWO)
    recorded.append(recorded.user("::start\nhello"))
    other.append(other.user("hello"))
    world.once()
    day = rf"{datetime.now():%Y-%m}-\d\d \d\d:\d\d"  # noqa: DTZ005 - local time, as it is shown
    told = {row[1]: row[2] for row in offered(capsysbinary, monkeypatch, "katod start 6f1c")}
    assert re.fullmatch(f"claude, app, {day}", told[ONE])
    assert re.fullmatch(f"claude, {day}", told[TWO])


def test_recordings_are_completed_by_their_numbers(world, capsysbinary, monkeypatch):
    """Newest first, with the name of the file; to stop, only sessions that are being recorded are offered."""
    for session, words in ((ONE, "::start one\nhello"), (TWO, "::start two\nhello")):
        claude = world.claude(session)
        claude.append(claude.user(words))
    world.once()
    world.cli("stop", TWO)
    expected = [("plain", "2", "two.md, ended"), ("plain", "1", "one.md, recording")]
    assert offered(capsysbinary, monkeypatch, "katod verify ") == expected
    assert offered(capsysbinary, monkeypatch, "katod export --recording ") == expected
    assert offered(capsysbinary, monkeypatch, "katod verify 1") == expected[1:]
    assert offered(capsysbinary, monkeypatch, "katod show 1") == [expected[1], ("file", "1", "")]
    assert offered(capsysbinary, monkeypatch, "katod stop ") == [("plain", ONE, "claude, one.md")]


def test_no_session_file_is_opened(sessions, texts):
    """Ids are read from the names of files; the folders are listed, and nothing in them is opened."""
    opened, is_watching = [], [True]
    database = sessions.home / ".local/share/opencode/storage/session/opencode.db"
    database.parent.mkdir(parents=True)
    database.touch()

    def watch(event, arguments):
        if is_watching and event in ("open", "sqlite3.connect"):
            opened.append(str(arguments[0]))

    sys.addaudithook(watch)  # for the rest of this process: no hook can be removed
    assert texts("katod handoff 6f1c") == ["6f1c", ONE, TWO]
    is_watching.clear()
    assert str(sessions.config) in opened
    roots = tuple(f"{sessions.home}/{name}/" for name in (".claude", ".codex", ".local"))
    assert [path for path in opened if path.removeprefix("file://").startswith(roots)] == []


def test_sessions_in_a_database_are_known_from_the_ledger(world, texts):
    """The database is not opened: sessions that katod has seen in it are offered, unless they are gone."""
    folder = world.home / ".local/share/opencode"
    folder.mkdir(parents=True)
    (folder / "opencode.db").write_text("not a database")
    add_source(world, f"{folder}/opencode.db#ses_one", "ses_one")
    add_source(world, f"{folder}/opencode.db#ses_two", "ses_two", gone=True)
    add_source(world, "/elsewhere/opencode.db#ses_six", "ses_six")
    assert texts("katod start ses") == ["ses_one"]


def add_source(world, path, session, *, gone=False):
    """Add a session to the ledger, as the daemon does."""
    with closing(Ledger.open(world.state, EventLog())) as ledger, ledger.transaction():
        key = SessionKey("opencode", session)
        row = SourceRow(0, ledger.add_session(key).id, path, Identity(key), Stat(1, 1, 1, 1), gone=gone)
        ledger.add_source(row)


def spoil_configuration(world):
    world.config.write_text("[nonsense")


def lose_configuration(world):
    world.config.unlink()


def spoil_ledger(world):
    (world.state / "ledger.db").write_bytes(b"SQLite format 3\0" + b"\xff" * 4096)


def spoil_a_row(world):
    with closing(Ledger.open(world.state, EventLog())) as ledger:
        ledger.db.execute("UPDATE outputs SET options = '['")


@pytest.mark.parametrize(
    ("damage", "recordings", "sessions"),
    [
        (spoil_configuration, ["1"], []),
        (lose_configuration, ["1"], []),
        (spoil_ledger, [], [ONE]),
        (spoil_a_row, [], [ONE]),
    ],
)
def test_nothing_is_said_about_what_is_wrong(world, texts, damage, recordings, sessions):
    """What cannot be known without a valid configuration or ledger is left out, and no error is in the prompt."""
    claude = world.claude(ONE)
    claude.append(claude.user("::start one\nhello"))
    world.once()
    damage(world)
    assert (texts("katod verify "), texts("katod start 6f")) == (recordings, sessions)


def test_without_a_ledger_sessions_are_offered(world, texts):
    """Where katod never ran, there are no recordings, but there are sessions."""
    shutil.rmtree(world.state)
    world.claude(ONE).append(Claude().user("hello"))
    assert texts("katod verify ") == []
    assert texts("katod start 6f") == [ONE]


def test_names_that_a_shell_could_misread_are_not_offered(world, texts):
    """An id becomes a part of the command line: one with other characters than ids have is never inserted."""
    for name in (*HOSTILE, "plain"):
        world.claude(name).append(Claude().user("hello"))
    assert texts("katod start ") == ["latest", "plain"]
    assert texts("katod start claude:") == ["claude:plain"]
    assert texts("katod start '$(") == []


def test_help_texts_stay_on_their_line(world, capsysbinary, monkeypatch):
    """A file or a project may have any name; its help has neither tabs nor line ends nor terminal sequences."""
    monkeypatch.setattr(parameters, "_about", lambda *_: "a\tb\nc\x1b[2J\u202ed" + "x" * 500)
    world.claude(ONE).append(Claude().user("hello"))
    ((kind, text, told),) = offered(capsysbinary, monkeypatch, "katod start 6f")
    assert (kind, text, told[:10], len(told)) == ("plain", ONE, "a b c[2Jdx", 70)


def test_the_newest_fifty_of_many_are_offered(world, texts):
    """A list longer than that is of no use; a longer prefix finds the others."""
    for number in range(60):
        session = world.session(number)
        session.append(Claude().user("hello"))
        os.utime(session.path, (1_770_000_000 + number, 1_770_000_000 + number))
    assert [text[:8] for text in texts("katod start 0")] == [f"{number:08x}" for number in range(59, 9, -1)]
    assert len(texts("katod start 00000001-")) == 1


# -- the shells ---------------------------------------------------------------------------------------


def available(shell):
    """Return the path of a shell; skip the test if it is not installed."""
    return shutil.which(shell) or pytest.skip(f"{shell} is not installed")


def ask(shell, folder, line, environment):
    """Return what a shell offers for a line, with the `katod` of a folder; nothing may be shown besides."""
    script = folder / f"script.{shell}"
    defined = "compdef() {}\n" if shell == "zsh" else ""
    script.write_text(defined + SCRIPTS[shell])
    options = {"bash": ["--norc", "--noprofile"], "zsh": ["-f"], "fish": ["--no-config"]}[shell]
    code = f"source {shlex.quote(str(script))}; {ASKING[shell]}"
    arguments = [line] if shell == "fish" else [shell, line]
    path = f"{folder}:{os.environ['PATH']}"
    done = subprocess.run(
        [available(shell), *options, "-c", code, *arguments],
        env=environment | {"PATH": path, "HOME": str(folder)}, cwd=folder,
        capture_output=True, text=True, timeout=30, check=False,
    )  # fmt: skip
    assert done.stderr == ""
    return [row for row in done.stdout.splitlines() if row]


def install(folder, body):
    """Put a program `katod` into a folder."""
    program = folder / "katod"
    program.write_text(f"#!/bin/sh\n{body}\n")
    program.chmod(0o755)


@pytest.mark.parametrize("shell", SCRIPTS)
def test_a_script_offers_what_katod_answers(tmp_path, shell):
    """The shell gives katod the line as it is typed, shows the answer in its order, and nothing of its errors."""
    (tmp_path / "a,b").touch()
    install(
        tmp_path,
        'printf %s "$_KATOD_COMPLETE" > line; echo broken >&2; touch run\n'
        r"printf 'plain\tbb\tone, two\nplain\taa\t\nplain\t*\t\nplain\tx:y\ta:b\n'",
    )
    found = ask(shell, tmp_path, "katod export ", {})
    assert [row.replace("\\:", ":") for row in found] == {
        "bash": ["bb", "aa", "*", "x:y"],
        "zsh": ["bb:one, two", "aa", "*", "x:y:a:b"],
        "fish": ["bb\tone, two", "aa", "*", "x:y\ta:b"],
    }[shell]
    assert (tmp_path / "line").read_text() == "katod export "


@pytest.mark.parametrize("shell", SCRIPTS)
def test_a_script_is_silent_without_katod(tmp_path, shell):
    """A katod that fails, or is not there at all, leaves the line as it is."""
    install(tmp_path, "echo Traceback >&2; exit 1")
    assert ask(shell, tmp_path, "katod export ", {}) == []
    (tmp_path / "katod").unlink()
    assert ask(shell, tmp_path, "katod export ", {}) == []


@pytest.mark.slow
@pytest.mark.parametrize("shell", SCRIPTS)
def test_each_shell_completes_an_id_and_runs_nothing(world, shell):
    """The real program behind the real shell: an id is completed, and no name of a file is carried out."""
    for name in (*HOSTILE, ONE):
        world.claude(name).append(Claude().user("hello"))
    install(world.home, f'exec {shlex.quote(sys.executable)} -m katod "$@"')
    for line, expected in (("katod start 6f", [ONE]), ("katod start ", ["latest", ONE])):
        rows = ask(shell, world.home, line, world.environment)
        assert [re.split("[\t:]", row)[0] for row in rows] == expected
    assert ask(shell, world.home, "katod start '$(touch pwned)", world.environment) == []
    assert list(Path(world.home).rglob("pwned")) == []


@pytest.mark.slow
def test_ten_thousand_sessions_are_completed_at_once(tmp_path):
    """A whole process takes at most ten times the CPU of one that imports click: what is not named is not loaded."""
    folder = tmp_path / ".claude/projects/-home-me-app"
    folder.mkdir(parents=True)
    for number in range(10_000):
        (folder / f"{number:08x}-8a53-4c3e-9b5e-0a1d5f8f2c11.jsonl").touch()
    cache = {"PYTHONPYCACHEPREFIX": str(tmp_path / "cache"), "PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    environment = cache | {"_KATOD_COMPLETE": "katod export 0000", "PYTHONPATH": str(SOURCE)}

    def taken(*arguments):
        before = children_seconds()
        done = subprocess.run([sys.executable, *arguments], env=environment, capture_output=True, check=True)
        return children_seconds() - before, done.stdout

    rounds = [(taken("-m", "katod"), taken("-c", "import click, sqlite3, json, dataclasses")) for _ in range(4)]
    assert all(shown.count(b"claude") == 50 for (_, shown), _ in rounds)
    whole, least = (min(seconds for seconds, _ in column) for column in zip(*rounds[1:], strict=True))  # 0 compiles
    assert whole <= 10 * least


def children_seconds():
    """Return the CPU time of all child processes so far."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
