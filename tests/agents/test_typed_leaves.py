"""Only text that a user typed is obeyed: every string of every record is replaced by a command, one at a time.

The typed field is the positive control; a command anywhere else is never obeyed.
"""

import copy
import os
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, Final

import orjson
import pytest

from katod import events as ev
from katod.agents.base import Origin
from katod.log import EventLog
from katod.metadata import SessionMetadata
from katod.model import Identity, Line, SessionKey
from katod.record.translation import Translation
from tests.looping import each
from tests.support.records import MAKERS, UNKNOWN, Maker, calls, result, says, user
from tests.support.world import World

CORPUS: Final = Path(os.environ.get("KATOD_CORPUS") or Path(__file__).parents[2] / "../shared/corpus")
FIXTURES: Final = Path(__file__).parents[2] / "fixtures"
COMMAND: Final = "::start evil"
# The form that typed text has where it has one.
WRAPPED: Final = {
    "antigravity": f"<USER_REQUEST>\n{COMMAND}\n</USER_REQUEST>",
    "cline": f'<user_input mode="act">{COMMAND}</user_input>',
    "cursor": "<timestamp>Wednesday, Aug 5, 2026, 7:16 PM (UTC+5:30)</timestamp>\n"
    f"<user_query>\n{COMMAND}\n</user_query>",
}
Path_ = tuple[str | int, ...]
Record = dict[str, Any]

# Which leaves contain typed text, by agent.
TYPED: Final[dict[str, Callable[[Record, Path_], bool]]] = {
    "antigravity": lambda record, at: record.get("type") == "USER_INPUT" and at[-1] == "content",
    "claude": lambda record, at: record.get("type") == "user" and at[:2] == ("message", "content") and _is_text(at),
    "cline": lambda record, at: _in_messages(record, at).get("role") == "user" and at[-1] == "text",
    "codex": lambda record, at: ("content" in at and at[-1] == "text" and _deep(record, at[:-3]).get("type") == "UserMessage")
    or (record.get("type") == "message" and record.get("role") == "user" and at[-1] == "text")
    or (at == ("payload", "message") and record["payload"].get("type") == "user_message"),
    "copilot": lambda record, at: record.get("type") == "user.message" and at == ("data", "content"),
    "cursor": lambda record, at: record.get("role") == "user" and at[-1] == "text",
    "gemini": lambda record, at: _in_messages(record, at).get("type") == "user" and _is_text(at),
    "kimi": lambda record, at: (record.get("type") == "turn.prompt" and at[0] == "input" and at[-1] == "text")
    or (record.get("type") == "prompt.steered" and at[0] == "content" and at[-1] == "text"),
    "opencode": lambda record, at: at[-1] == "text" and _deep(record, at[:2]).get("info", {}).get("role") == "user",
    "pi": lambda record, at: at[0] == "message" and record["message"].get("role") == "user" and _is_text(at),
    "qwen": lambda record, at: record.get("type") == "user" and at[-1] in ("text", "displayText"),
    "vscode": lambda record, at: at[:1] == ("requests",) and at[2:] == ("message", "text"),
    "zot": lambda record, at: (_deep(record, at[:1]).get("role") == "user" and at[-1] == "text")
    or (record.get("type") == "user_message" and at[-1] == "text"),
}  # fmt: skip


def _is_text(at: Path_) -> bool:
    return at[-1] in ("text", "content", "displayContent")


def _deep(record: Any, at: Path_) -> Record:
    for key in at:
        record = record[key]
    return record if isinstance(record, dict) else {}


def _in_messages(record: Record, at: Path_) -> Record:
    """Return the message that contains a leaf: a record, or one in a document; those of a checkpoint do not count."""
    if at[0] == "messages":
        return _deep(record, at[:2])
    return {} if at[0] == "$set" else record


def leaves(value: Any, at: Path_ = ()) -> Iterator[Path_]:
    """Yield the paths of the strings in a record."""
    if isinstance(value, str):
        yield at
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from leaves(item, (*at, key))


def replaced(record: Record, at: Path_, text: str) -> Record:
    """Return the record with another string in one place."""
    changed = copy.deepcopy(record)
    here: Any = changed
    for key in at[:-1]:
        here = here[key]
    here[at[-1]] = text
    return changed


def fires(agent: str, records: list[Record]) -> bool:
    """Return whether a command is recognised in these records."""
    identity = Identity(SessionKey(agent, "s"))
    translation = Translation(Origin(identity, Path("/nowhere/s.jsonl")), SessionMetadata(identity.key), EventLog())
    lines = [Line(n * 100, n * 100 + 100, orjson.dumps(record)) for n, record in enumerate(records)]
    return any(event.kind == ev.USER_COMMAND for event in chain.from_iterable(translation.feed(lines)))


def tried(agent: str, records: list[Record], tried_records: list[int]) -> tuple[int, list[str]]:
    """Replace every leaf of some records in turn; return how many were recognised, and which wrongly."""
    wrong, fired = [], 0
    for n in tried_records:
        for at in leaves(records[n]):
            text = WRAPPED.get(agent, COMMAND)
            found = fires(agent, [*records[:n], replaced(records[n], at, text), *records[n + 1 :]])
            fired += found
            if found and not TYPED[agent](records[n], at):
                wrong.append(f"{records[n].get('type', '')} {at} fired")
    return fired, wrong


@pytest.mark.fault("text that looks like a command")
@pytest.mark.parametrize("make", MAKERS, ids=lambda maker: maker.__name__)
def test_only_a_typed_leaf_commands(world: World, make: type[Maker]) -> None:
    """In a session with a record of each kind, only typed text is recognised as a command."""
    maker = make(world)
    maker.say(user("hello"), says("hi"), calls("call-1", "make"), result("call-1", "done"), UNKNOWN, says("bye"))
    maker.put(*maker.wrapped("wrapped"))
    records = maker.document() or maker.items
    fired, wrong = tried(make.agent, records, list(range(len(records))))
    assert not wrong
    assert fired


def samples(folder: Path) -> list[list[Record]]:
    """Return a record of every kind, each after the first one of its file; documents unchanged."""
    found: dict[str, list[Record]] = {}
    for path in sorted(folder.rglob("*")):
        if path.suffix == ".json" and path.stat().st_size < 40_000 and path.parent.name in (folder.name, "real"):
            found[path.name] = [orjson.loads(_bytes(path))]
        if path.suffix == ".jsonl" and path.name != "event-table.jsonl" and path.stat().st_size < 3_000_000:
            rows = list(_rows(path))
            for row in rows:
                found.setdefault(_kind(row), [rows[0], row])
    return list(found.values())


def _bytes(path: Path) -> bytes:
    """Return the file without the commands in it."""
    return path.read_bytes().replace(b"::", b"--")


def _rows(path: Path) -> Iterator[Record]:
    for line in _bytes(path).splitlines():
        try:
            row = orjson.loads(line)
        except orjson.JSONDecodeError:
            return
        if isinstance(row, dict):
            yield row


def _kind(row: Record) -> str:
    inner = row.get("payload") or row.get("data") or row.get("message") or {}
    keys = sorted(row) if "type" not in row and "role" not in row else []
    return f"{row.get('type')} {row.get('role')} {inner.get('type') if isinstance(inner, dict) else ''} {keys}"


@pytest.mark.slow
@pytest.mark.parametrize(
    "place", [FIXTURES, pytest.param(CORPUS, marks=pytest.mark.slow)], ids=["fixtures", "real sessions"]
)
@each("agent", ("copilot", "cursor", "gemini", "opencode", "pi", "zot"))
def test_only_a_typed_leaf_of_every_kind_commands(place: Path, agent: str) -> None:
    """In records of every kind, only typed text is recognised; agents without samples are not checked."""
    folder = place / agent
    total, wrong = 0, []
    for records in samples(folder):
        fired, found = tried(agent, records, [len(records) - 1])
        total += fired
        wrong += found
    assert not wrong
    assert total or not folder.is_dir()
