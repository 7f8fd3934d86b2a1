"""What lines, messages and names of many forms mean: the golden file of the grammar of commands and of their names."""

from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any, Final

import orjson

from katod.command.grammar import RecordingState, decide, middle, near_miss, parse_line, parse_message
from katod.command.hint import hints
from katod.command.target import TargetScope, check_folder, folder_parts, generated, numbered, resolve
from katod.errors import TargetRefused
from katod.model import Command, Target
from tests.golden.facts import FACTS

GOLDEN: Final = FACTS / "commands.json"
_LINES: Final = (
    "::start", "::START  ", "::stop", "::stop x", "::capture", "::export a.md", "::start a b", "::start 'a b'",
    '::start "a b" +tools', "::start `a`-thinking", "::start +tools -thinking", "::start \u2013tools", "::start \u2014thinking a",
    "::start +other", "::start [a](b/c.md)", "::start [a](<b c.md>)", "::start 'a", "::start -x", "::start\ta", "::startx",
    "::start:", ":: start", " ::start", "\t::stop", "::strat", "::stat", "::stpo", "::sto", "::stopp", "::st", "::captrue",
    "::captur", "::exprot", "::exp", "::export +x", "::record", "::init", "::Record now", ":start", "::", "::start +tools x y",
    "  :: strat x", "::start ++tools", "::capture +a b", "std::cout", "::starting",
    "::keep", "::Keep 3", "::keep 3 best", "::keep best +tools", "::keep 99", "::keep 100", "::keep 0", "::keep 007", "::keep '3'", "::keep 3 5",
    "::keep a 3", "::keep 2 a b", "::keep +tools 2", "::keep '3' 4", "::kep", "::keeep", "  ::keep", "::keep +other", "::key", "::keep 3 `5`", "::exports", "::capture  'x' ", "x ::start",
)  # fmt: skip
_MESSAGES: Final = (
    "hello", "::start\nhello", "hello\n::stop", "a\n\n::start x\n\nb\n::stop\nc", "```\n::start\n```\n::stop", "~~~\n::start\n```\n~~~",
    "```x`\n::start", "````\n```\n::start\n````\n::stop", "    ```\n::start", "::start\n::start\n::stop", "\n\n::start\n\n", ":: start\n::strat",
    *("\n".join(["::start a", *(f"line {number}" for number in range(count)), "::stop", "end"]) for count in (4, 5, 6, 9)),
    "one\n::start\ntwo\n\n::stop\nthree\nfour\nfive\nsix\nseven\n::stop\n::start\nx",
)  # fmt: skip
_NAMES: Final = (
    "a", "a.md", "a.jsonl", "a.HTML", "a.txt", "a.b.md", "a.md.", "x/a", "./a", "./x/y/a.md", "../a", "x/../a", "x//a", ".a", "x/.git/a",
    "-a", "+a", "~a", "con", "x/nul.md", "com3.md", "com0", "lpt9", "aux.x.md", "@a", "@x/a.md", "~/notes/a", "~/other/a", "/a", "/p/notes/a.md",
    "/p/katod/a", "/p/work/app/a", "/p/work/a", "/p/.claude/a", "/p/work/app", "C:/a", "c:\\a", "a$b", "a\\b", "a\tb", "a\u202eb", "a" * 200,
    "a" * 196, "a" * 197, "x/" * 499 + "a", "x/" * 500 + "a", "CLAUDE.md", "agents", "x.prompt.md", "x/commands/a", "Prompts/a", "memory-bank/x",
    "/p/katod/commands/a", " a ", "a b", "é", "e\u0301", "", "x/", "skill.jsonl", "claude.local.md", "my.instructions.md", "crush", "warp",
)  # fmt: skip
_FOLDERS: Final = (
    "docs",
    "./docs/a/",
    "/docs",
    "~/docs",
    "a/../b",
    "commands",
    "a/Prompts",
    ".git",
    "",
    "a$",
    "con",
    "docs//x",
    "x" * 201,
)
_PLACES: Final = (
    ("/", ()), ("/p", ()), ("/p/work", ()), ("/p/work/app", ("x",)), ("/p/.claude", ()), ("/p/.claude/projects", ("a",)),
    ("/p/work/app", ("..", "..", ".claude")),
)  # fmt: skip
_TEMPLATES: Final = (
    "{project}/{date}-{title}",
    "{title}",
    "{agent}/{project}/{session8}",
    "{project}",
    "/{title}/",
    "a/{title}",
    "..",
)
_TITLES: Final = (
    "login",
    "CLAUDE",
    "con",
    "",
    ". - x -.",
    "a$b\\c",
    "é" * 120,
    "x/y",
    "skill",
    "nul.x",
    "agents.override",
    "a.prompt",
)


def text() -> bytes:
    """Return what the golden file contains."""
    facts = {
        "lines": {line: [_shown(parse_line(line)), _shown(near_miss(line)), *hints(line)] for line in _LINES},
        "messages": [_message(message) for message in _MESSAGES],
        "pasted": [_pasted(message, origin) for message in _MESSAGES[:5] for origin in ("pasted", "delegated")],
        "many": [len(parse_message(text).commands) for text in ("::stop\n" * 1001, "::stop\n" * 999)],
        "near misses": len(parse_message(":: start\n" * 20).near_misses),
        "names": {name[:60]: _tried(lambda name=name: resolve(name, _scope())) for name in _NAMES},
        "without a project": [_tried(lambda name=name: resolve(name, _scope(project=None))) for name in _NAMES[:12]],
        "too wide": [_tried(lambda at=at: resolve("x/a", _scope(project=Path(at)))) for at in ("/", "/p", "a", "/p/.codex")],
        "in a chosen folder": [_tried(lambda name=name: resolve(name, _chosen())) for name in ("a", "x/a", "b.jsonl")],
        "folders": {name[:20]: _tried(lambda name=name: folder_parts(name)) for name in _FOLDERS},
        "places": [_tried(lambda at=at: check_folder(Path(at[0]), at[1], _scope().protected, Path("/p"))) for at in _PLACES],
        "generated": [_generated(template, title) for template, title in product(_TEMPLATES, _TITLES)],
        "numbered": [numbered(Target(Path("/p"), (name,), "markdown"), 2).parts for name in ("a.md", "a.b.jsonl", "a")],
        "decisions": [_decided(word, named, state) for word, named, state in product(_WORDS, ("", "/a"), _STATES)],
    }  # fmt: skip
    return orjson.dumps(facts, option=orjson.OPT_INDENT_2, default=str) + b"\n"


_WORDS: Final = ("start", "stop", "capture", "export")
_STATES: Final = (
    RecordingState(),
    RecordingState("/a", "/a"),
    RecordingState("", "/a"),
    RecordingState("/b", "/b"),
    RecordingState("/a", "/b"),
)


def _scope(**others: Any) -> TargetScope:
    home = Path("/p")
    known: dict[str, Any] = {
        "output": home / "katod", "project": home / "work/app", "project_folder": "app", "allowed": (home / "notes",),
        "protected": (home / ".claude", home / ".codex"), "home": home, "format": "markdown",
    }  # fmt: skip
    return TargetScope(**(known | others))


def _chosen() -> TargetScope:
    return _scope(chosen=(Path("/p/work/app"), ("docs", "talks")))


def _tried(act: Callable[[], Any]) -> Any:
    """Return what comes of something, or why it is refused."""
    try:
        return _shown(act())
    except TargetRefused as refusal:
        return f"refused: {refusal.what} ({refusal.hint})"


def _shown(value: Any) -> Any:
    """Return a value in short."""
    if isinstance(value, Target):
        return f"{value.root} {'/'.join(value.parts)} {value.format}"[:300]
    return [str(part) for part in value] if isinstance(value, tuple) else value and str(value)


def _message(text: str) -> list[Any]:
    found = [parse_message(text, marks_pastes=marked) for marked in (True, False)]
    return [text[:80], *([_pieces(one), _near(one)] for one in found), [middle(text).start, middle(text).stop]]


def _pasted(text: str, origin: Any) -> list[Any]:
    found = parse_message(text, ((0, 4), (len(text) // 2, len(text))), origin)
    return [text, origin, _pieces(found), _near(found)]


def _pieces(parsed: Any) -> list[str]:
    return [f"{piece.text[:60]} {piece.command} {piece.pasted}" for piece in parsed.pieces]


def _near(parsed: Any) -> list[str]:
    return [str(miss) for miss in parsed.near_misses]


def _generated(template: str, title: str) -> Any:
    fields = {
        "date": "2026-02-10",
        "title": title,
        "session8": "6f1c2c1e",
        "session": "6f1c2c1e-8a53",
        "agent": "claude",
    }
    plain, chosen = (generated(template, fields, scope) for scope in (_scope(), _chosen()))
    return [_shown(plain), "/".join(chosen.parts)[:40]]


def _decided(word: Any, named: str, state: RecordingState) -> str:
    return f"{word} {named} {tuple(state)}: {tuple(decide(Command(word, named), state, named))}"
