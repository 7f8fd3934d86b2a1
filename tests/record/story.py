"""What becomes of recordings in a long story: katod's log, its outputs and its status after each step."""

import re
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import orjson
import pytest

from katod import __version__
from katod.log import EventLog
from tests.golden.facts import FACTS, digest_of
from tests.support import world as worlds
from tests.support.records import OTHER, Claude, Codex, GeminiDocument, OpenCode, calls, result, says, user
from tests.support.world import World

GOLDEN: Final = FACTS / "story.json"
# A command of the shell begins or ends a recording now; what katod says of that is masked.
_NOW: Final = re.compile(
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)?|\b\d\d:\d\d\b|\d{4}-\d\d-\d\d|(?<=\.katod-)[0-9a-f]{16}|\b1[78]\d{8}(?:\.\d+)?\b"
)
_FORK: Final = "88888888-9d1e-4b7a-8c66-0123456789ab"
_SKIPPED: Final = ("version", "pid", "since", "milliseconds")
Step = Callable[[], object]


class Story:
    """A world with sessions of several agents, and what is done in it."""

    def __init__(self, home: Path, patch: pytest.MonkeyPatch) -> None:
        self.log: list[list[Any]] = []
        self.rows: list[dict[str, Any]] = []
        self._before: dict[str, Any] = {}
        patch.setattr(worlds, "EventLog", lambda: EventLog(self._note, "debug"))
        self.world = World(home, patch)
        self.claude = self.world.claude()
        self.codex = self.world.codex()
        self.gemini = GeminiDocument(self.world)
        self.tree = OpenCode(self.world)

    def _note(self, level: str, event: str, fields: dict[str, Any]) -> None:
        self.log.append([level, event, {name: value for name, value in fields.items() if name not in _SKIPPED}])

    def step(self, name: str, *acts: Step) -> None:
        """Do something, have katod see it, and note what came of it."""
        self.log.clear()
        for act in acts:
            act()
        self.world.once()
        now = self._files() | self._outputs() | self._status()
        changed = {key: value for key, value in now.items() if self._before.get(key) != value}
        gone = [key for key in self._before if key not in now]
        self._before = now
        found = {"step": name, "log": sorted(self.log, key=orjson.dumps), "now": changed, "gone": gone}
        text = orjson.dumps(found, default=str).decode().replace(str(self.world.home), "HOME")
        self.rows.append(orjson.loads(_NOW.sub("DATE", text)))

    def _files(self) -> dict[str, Any]:
        home = self.world.home
        files = [
            path for path in sorted(home.rglob("*")) if path.is_file() and path.suffix in (".md", ".jsonl", ".html")
        ]
        own = [path for path in files if not any(part.startswith(".") for part in path.relative_to(home).parts)]
        return {str(path.relative_to(home)): self._text(path) for path in own}

    def _text(self, path: Path) -> str:
        text = path.read_text(errors="replace").replace(str(self.world.home), "HOME").replace(__version__, "VERSION")
        return f"{len(text.splitlines())} {digest_of(_NOW.sub('', text))}"

    def _outputs(self) -> dict[str, Any]:
        return {f"recording {row.id}":
            [str(row.path), row.open, row.paused, row.made, row.problem, row.attempts, row.redactions,
             row.reverted, row.restored, row.successor, row.committed > 0, row.intent is not None, len(row.ranges)] for row in self.world.outputs()}  # fmt: skip

    def _status(self) -> dict[str, Any]:
        status = self.world.status()
        told = (
            "parked",
            "refused",
            "nearMisses",
            "recordings",
            "blocked",
            "ended",
            "interrupted",
            "missing",
            "problems",
            "projects",
        )
        return {f"status: {name}": [_timeless(row) for row in status[name]] for name in told if status.get(name)}

    def out(self, name: str) -> Path:
        """Return the path of a recording."""
        return self.world.out / "app" / name


def _timeless(row: Any) -> Any:
    """Return a row of the status without what depends on how long this takes."""
    return (
        {name: value for name, value in row.items() if name not in ("state", "need", "changed")}
        if isinstance(row, dict)
        else row
    )


def text() -> bytes:
    """Return what the golden file contains: a line for each step."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        _skip_waits(patch)
        story = Story(Path(folder) / "home", patch)
        for tell in (_commands, _files, _sources, _settings, _sessions):
            tell(story)
        return b"[\n" + b",\n".join(map(orjson.dumps, story.rows)) + b"\n]\n"


def _skip_waits(patch: pytest.MonkeyPatch) -> None:
    """Let the clock go on in place of waiting."""
    monotonic, waited = time.monotonic, [0.0]
    patch.setattr("time.sleep", lambda seconds: waited.append(waited.pop() + seconds))
    patch.setattr("time.monotonic", lambda: monotonic() + waited[0])


def _commands(story: Story) -> None:
    """What a person types."""
    claude = story.claude
    say: Any = lambda *things: lambda: claude.say(*things)  # noqa: E731
    story.step("a session begins", say(user("first words"), says("first answer")))
    story.step("it is recorded", say(user("::start auth\nsecond words"), says("second answer")))
    story.step("a call", say(calls("c1", "make test"), result("c1", "all is well"), says("third answer")))
    story.step("near misses", say(user(":: start x"), user("::strat x"), user("::start"), user("::stop now please")))
    story.step("refused names", say(user("::start ../evil"), user("::start a.pdf"), user("::start CLAUDE.md")))
    story.step(
        "more than once", say(user("::start auth"), user("::start other +tools +thinking"), says("fourth answer"))
    )
    story.step("what was said", say(user("::capture captured"), user("::export exported.jsonl"), says("fifth answer")))
    story.step("it ends", say(user("::stop"), says("sixth answer"), user("::stop")))
    story.step("again", say(user("::start auth.md\nthird words"), says("seventh answer"), calls("c9", "ls")))
    story.step("secrets", say(user("my key is sk-ant-api03-" + "a1B2" * 23 + "AA"), says("do not tell it")))


def _files(story: Story) -> None:
    """What a person does with the files."""
    claude, auth = story.claude, story.out("auth.md")
    more: Any = lambda text: lambda: claude.say(user(text), says(f"answer to {text}"))  # noqa: E731

    def appended() -> None:
        auth.write_text(f"{auth.read_text()}my own note\n")

    def edited() -> None:
        auth.write_text(auth.read_text().replace("second words", "SECOND WORDS, of mine"))

    def cut() -> None:
        auth.write_text(auth.read_text()[:200])

    story.step("a note at the end", appended, more("one"))
    story.step("an edit further up", edited, more("two"))
    story.step("an older copy", cut, more("three"))
    story.step("it is moved", lambda: auth.rename(auth.with_name("moved.md")), more("four"))
    story.step("it is removed", lambda: story.out("moved.md").unlink(), more("five"))
    story.step("and once more", more("six"))
    moved = story.out("moved.md")
    story.step("a folder is in its place", moved.unlink, moved.mkdir, more("seven"))
    story.step("it can be written again", moved.rmdir, more("eight"))
    story.step("a link is in its place", moved.unlink, lambda: moved.symlink_to("other.md"), more("a link"))
    story.step("and that is gone", moved.unlink, more("no link"))
    story.step("the directory is away", lambda: story.world.out.rename(story.world.home / "away"), more("nine"))
    codex = story.codex
    story.step("and still", more("while away"), lambda: codex.say(user("::start here\nhello"), says("well")))
    story.step(
        "commands meanwhile", lambda: claude.say(user("::stop"), user("::start while-away\nwords"), says("answer"))
    )
    story.step(
        "a source is rewritten meanwhile", lambda: claude.rewrite(lambda number, _: number % 7 != 5), more("again")
    )
    story.step("by the shell meanwhile", lambda: story.world.cli("capture", codex.session, "whole"), more("and again"))
    story.step("paused meanwhile", lambda: story.world.cli("pause"), more("unheard"))
    story.step("not paused meanwhile", lambda: story.world.cli("pause", "--end"), more("heard"))
    story.step("it is back", lambda: shutil.rmtree(story.world.out, ignore_errors=True),
               lambda: (story.world.home / "away").rename(story.world.out), more("ten"))  # fmt: skip


def _sources(story: Story) -> None:
    """What agents do with their files."""
    codex, gemini, tree, claude = story.codex, story.gemini, story.tree, story.claude
    story.step(
        "threads begin",
        lambda: [one.say(user("::start\nabout the shop"), says("well")) for one in (codex, gemini, tree)],
    )
    story.step("they go on", lambda: [one.say(user("more of it"), says("much more")) for one in (codex, gemini, tree)])
    story.step(
        "a source is shorter",
        lambda: codex.path.write_bytes(b"\n".join(codex.path.read_bytes().split(b"\n")[:4]) + b"\n"),
    )
    story.step("it is written again", lambda: codex.say(user("and again"), says("yes")))
    story.step("records are left out", lambda: claude.rewrite(lambda number, _: number % 5 != 3))
    story.step("records come twice", lambda: claude.append(*claude.path.read_bytes().splitlines(keepends=True)[-4:]))
    story.step("a torn line", lambda: claude.append(b'{"type":"user","message":{"ro'))
    story.step(
        "its rest",
        lambda: claude.append(b'le":"user","content":"torn"},"uuid":"u1"}\n'),
        lambda: claude.say(says("whole")),
    )
    story.step("a source is gone", gemini.path.unlink)


def _settings(story: Story) -> None:
    """What the settings and commands of the shell change."""
    world, claude, codex = story.world, story.claude, story.codex
    more: Any = lambda text: lambda: [one.say(user(text), says(f"answer to {text}")) for one in (claude, codex)]  # noqa: E731
    story.step("paused", lambda: world.cli("pause"), more("while paused"))
    story.step("a command while paused", more("::start never"))
    story.step("not paused", lambda: world.cli("pause", "--end"), more("recorded again"))
    story.step("by the shell", lambda: world.cli("stop", claude.session), lambda: world.cli("start", claude.session, "shell"),
               lambda: world.cli("capture", codex.session, "taken.jsonl"), more("by the shell"))  # fmt: skip
    story.step("words of a person", lambda: world.cli("rename", claude.session, "Mine"), lambda: world.cli("star", claude.session),
               lambda: world.cli("label", claude.session, "one", "two"))  # fmt: skip
    story.step("more content", lambda: world.configure(thinking=True, tools="full"), lambda: claude.say(user("::stop"), user("::start full")),
               lambda: claude.say(calls("c2", "ls"), result("c2", "a b")))  # fmt: skip
    story.step("excluded", lambda: world.configure(exclude=["/home/me/app"]), more("of no concern"))
    story.step("auto-recorded", lambda: world.configure(auto=True), more("of concern"))
    story.step(
        "another directory",
        lambda: world.configure(auto=True, directory=str(world.home / "elsewhere")),
        more("elsewhere"),
    )


def _sessions(story: Story) -> None:
    """Other sessions: a new one in place of another, one of a sub-agent, one that is forgotten."""
    world = story.world
    new = Claude(world, OTHER)
    story.step("a new session", lambda: new.say(user("something else"), says("all right")))
    story.step("a sub-agent", lambda: Claude(world, subagent="abc").say(user("look"), says("nothing")))
    story.step("a fork", lambda: Codex(world, _FORK).say(user("::start\nforked"), says("well")))
    story.step("forgotten", lambda: world.cli("forget", new.session, "--yes"))
    story.step("nothing", lambda: None)
