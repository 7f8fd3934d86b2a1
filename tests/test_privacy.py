"""Privacy: all files that katod writes, and its log, are searched for session content that must not be there."""

import os
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from katod.cli import GROUPS
from katod.store.ledger import LEDGER_NAME
from tests.delivery.delivering import Delivering
from tests.examples import mostly
from tests.support.records import MAKERS, OF_EACH_NATURE, Claude, Maker, OpenCode, calls, result, says, user
from tests.support.world import World

WORDS = "zanzibar quagga xylophone"
PIECES = tuple(word.encode() for word in WORDS.split())
TALK = (
    user(f"hello {WORDS}"),
    says(f"yes {WORDS}"),
    calls("call-1", f"make {WORDS}"),
    result("call-1", WORDS),
    says("ok"),
)
# A project can only be excluded if the agent says where it is.
EXCLUDABLE = [make for make in MAKERS if "cwd" not in make.ABSENT]


def run(world: World, **settings: Any) -> bytes:
    """Run a daemon that sweeps once and exits, with the most verbose log; return its log."""
    world.configure(level="debug", **settings)
    umask = os.umask(0o077)
    try:
        printed = world.cli("run", "--once")
    finally:
        os.umask(umask)
    return (printed + world.said).encode()


@contextmanager
def log_kept(world: World) -> Iterator[Path]:
    """Keep the ledger's WAL: SQLite removes it when the last connection is closed."""
    with closing(sqlite3.connect(world.state / LEDGER_NAME)) as reader:
        reader.execute("SELECT count(*) FROM sqlite_master").fetchone()
        yield world.state / f"{LEDGER_NAME}-wal"


def told(content: bytes) -> list[bytes]:
    """Return which of the words occur in some bytes."""
    return [piece for piece in PIECES if piece in content]


def files(folder: Path) -> list[Path]:
    """Return all files below a folder."""
    return [path for path in folder.rglob("*") if path.is_file()]


@pytest.mark.fault("sessions that are not recorded")
@pytest.mark.parametrize("make", mostly(OF_EACH_NATURE, MAKERS), ids=lambda maker: maker.__name__)
def test_an_unrecorded_session_leaves_no_word(world: World, make: type[Maker]) -> None:
    """No word of the session is in the ledger, its WAL, file names, the log or the status."""
    maker = make(world)
    log = b""
    with log_kept(world) as ahead:
        for said in TALK:
            maker.say(said)
            log += run(world)
        assert maker.agent.encode() in ahead.read_bytes()
        assert not [path for path in files(world.state) if told(path.read_bytes())]
    assert not [path for path in files(world.state) if told(str(path).encode())]
    assert not told(log)
    assert not told(world.cli("status", "--json").encode())
    assert world.written() == {}


# What is typed of each command for an unrecorded session, and its exit code; the titles and labels are other words.
COMMANDS: dict[str, tuple[tuple[str, ...], int]] = {
    "start": (("start", "--help"), 0), "stop": (("stop", "SESSION"), 0), "capture": (("capture", "--help"), 0),
    "keep": (("keep", "--help"), 0),
    "pause": (("pause", "--end"), 0), "status": (("status", "--json"), 0), "sessions": (("sessions", "--all", "--usage"), 0),
    "show": (("show", "SESSION"), 0), "open": (("open", "SESSION"), 0),
    "search": (("search", "--all", "zanzibar"), 0), "resume": (("resume", "SESSION"), 0),
    "export": (("export", "SESSION", "-o", "-"), 0), "rename": (("rename", "SESSION", "mine"), 0),
    "star": (("star", "SESSION"), 0), "label": (("label", "SESSION", "mine"), 0), "verify": (("verify",), 0),
    "handoff": (("handoff", "SESSION"), 0), "doctor": (("doctor",), 1), "run": (("run", "--once"), 0),
    "why": (("why", "--all", __file__), 0), "usage": (("usage",), 0), "rescue": (("rescue", "--json"), 0),
    "forget": (("forget", "SESSION", "--yes"), 0),
}  # fmt: skip
# Those that have nothing to do with a session, or that end only by hand; and some with tests of their own.
OTHERS = {"follow", "seal", "mcp", "serve", "service", "setup", "config", "allow", "demo", "completion"}


def test_no_command_leaves_a_word_of_an_unrecorded_session(world: World) -> None:
    """Whatever is typed for it, nothing but its own file has its words afterwards."""
    maker = Claude(world).say(*TALK)
    world.configure(level="debug", rescue=True)
    assert {name for group in GROUPS.values() for name in group} == COMMANDS.keys() | OTHERS
    for words, code in COMMANDS.values():
        world.cli(*(maker.session if word == "SESSION" else word for word in words), code=code)
        left = [path for path in files(world.home) if told(path.read_bytes()) and path != maker.path]
        assert not left, words


@pytest.mark.fault("sessions that are not recorded")
@pytest.mark.parametrize("make", mostly(OF_EACH_NATURE, EXCLUDABLE), ids=lambda maker: maker.__name__)
def test_commands_that_come_to_nothing_leave_no_word(world: World, make: type[Maker]) -> None:
    """A refused command and a near miss are stored without what was typed."""
    maker = make(world).say(user("hello"), says("yes"))
    run(world, exclude=["/"])
    maker.say(
        user(f"::start please {WORDS}"), says("ok"), user(f"::start /etc/{PIECES[0].decode()}.md\n{WORDS}"), says("ok")
    )
    log = run(world, exclude=["/"])
    maker.say(says("more"))
    log += run(world, exclude=["/"])
    assert not told(log)
    assert not told(world.cli("status", "--json").encode())
    assert not [path for path in files(world.state) if told(path.read_bytes())]


@pytest.mark.parametrize("make", mostly(OF_EACH_NATURE, MAKERS), ids=lambda maker: maker.__name__)
def test_no_log_holds_a_word_of_a_recorded_session(world: World, make: type[Maker]) -> None:
    """No word of a recorded session is in the log, even if the output is edited and the source rewritten."""
    maker = make(world).say(user("::start notes\nhello"), says("yes"))
    log = run(world)
    for said in TALK:
        maker.say(said)
        log += run(world)
    [path] = (world.home / "katod").rglob("notes.md")
    path.write_text(path.read_text() + "mine\n")
    maker.rewrite()
    maker.say(says(WORDS), user("::stop"), says("ok"))
    log += run(world)
    assert not told(log)
    assert told(path.read_bytes())


@pytest.mark.fault("sessions that are not recorded")
def test_what_cannot_be_read_of_a_database_leaves_no_word(world: World) -> None:
    """SQLite's message for a row that is not valid text contains the text, and must not be logged or stored."""
    maker = OpenCode(world)
    maker.say(user(f"hello {WORDS}"), says("yes"))
    maker.run(("UPDATE part SET data = CAST(CAST(data AS BLOB) || x'ff' AS TEXT)", ()))
    log = run(world)
    assert not told(log)
    assert not told(world.cli("status", "--json").encode())
    assert not [path for path in files(world.state) if told(path.read_bytes())]


def test_no_connection_is_opened_unless_one_is_configured(world: World) -> None:
    """Whatever is recorded and asked for: with no room in the configuration, or with part of what it takes."""
    connected, is_watching = [], [True]

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if is_watching and event in ("socket.connect", "socket.getaddrinfo"):
            connected.append(arguments)

    sys.addaudithook(watch)  # for the rest of this process: no hook can be removed
    token = world.home / "token"
    token.touch(0o600)
    token.write_text("word")
    for settings in ({}, {"homeserver": "http://127.0.0.1:9", "matrix.token_file": str(token)}, {"otlp.content": True}):
        run(world, **settings)
        katod = Delivering(world)
        Claude(world).say(user("::start\nhello"), says("yes"), user("::stop"))
        katod.deliver()
        katod.stop()
        world.cli("status")
        world.cli("doctor", code=1)
    is_watching.clear()
    assert [address for *_, address in connected if isinstance(address, tuple)] == []
    assert world.written() != {}


@pytest.mark.parametrize("command", ["::start", "::start login", "::capture", "::export login.html"])
def test_a_project_is_not_read(world: World, command: str) -> None:
    """Katod knows a project by its path: without a transcript in it, nothing there is opened or listed."""
    project = world.home / "Documents/shop"
    (project / ".git").mkdir(parents=True)
    (project / "notes.md").write_text("notes")
    touched, is_watching = [], [True]

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if is_watching and event in ("open", "os.listdir", "os.scandir", "sqlite3.connect"):
            touched.append(str(arguments[0]))

    sys.addaudithook(watch)  # for the rest of this process: no hook can be removed
    session = Claude(world, cwd=str(project))
    session.append(session.user(f"{command}\nhello"), session.says("yes"))
    world.once()
    session.append(session.user("::stop\nbye"))
    world.once()
    world.cli("sessions")
    is_watching.clear()
    assert [path for path in world.files() if "login" in path.name or "hello" in path.name]
    assert str(session.path) in touched
    assert [path for path in touched if path.startswith(str(project.parent))] == []
