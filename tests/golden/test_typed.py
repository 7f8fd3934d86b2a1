"""Only typed commands are obeyed: tries `::start evil` in every string of every record, one at a time."""

import re
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from typing import Any, Final

import orjson
import pytest

from katod.agents import AGENTS as KNOWN
from katod.agents.base import Origin
from katod.log import EventLog
from katod.metadata import SessionMetadata
from katod.model import Line
from katod.record.translation import Translation
from tests.examples import number, some
from tests.golden.cases import Case, cases
from tests.looping import each

EVIL: Final = "::start evil"
# The fields that hold typed text: (agent, record kind, path). Commands in any other field are ignored.
TYPED_FIELDS: Final = frozenset({
    ("claude", "user", "message.content"),
    ("claude", "user", "message.content[].text"),
    ("claude", "attachment/queued_command", "attachment.prompt"),
    ("claude", "attachment/queued_command", "attachment.prompt[].text"),
    ("claude", "queue-operation/enqueue", "content"),
    ("codex", "message", "content[].text"),
    ("codex", "event_msg/user_message", "payload.message"),
    ("codex", "event_msg/item_completed/UserMessage", "payload.item.content[].text"),
})  # fmt: skip
# Text that the client writes in the person's name, whatever the record claims.
CLIENT: Final = re.compile(
    r"\s*(?:<(?:local-command-\w+|bash-\w+|command-\w+|task-notification|teammate-message|system-reminder"
    r"|user-memory-input|ide_\w+)[ >]|Caveat: The messages below|\[Request interrupted by user)"
)
TAG: Final = re.compile(r"\s*<[a-z]")  # without explicit marks, markup is not evidence of either author
INJECTED: Final = re.compile(
    r"\s*(?:<(?:environment_context|user_instructions|turn_aborted|skill|recommended_plugins|codex_delegation)>"
    r"|# AGENTS.md instructions|The following is the Codex agent history)"
)
PASTED: Final = re.compile(
    r'<pasted_content id="(\w+)">(?:(?!<pasted_content id="\1").)*</pasted_content id="\1">', re.DOTALL
)
CONTEXT: Final = ("# Context from my IDE setup:", "# Files mentioned by the user:")
REQUEST: Final = "## My request for Codex:"
PERSONS: Final = ("typed", "queued", "suggestion_accepted", "sdk")
NOT_PERSONS: Final = ("isMeta", "isCompactSummary", "isSidechain", "isVisibleInTranscriptOnly", "planContent")
AGENTS: Final = ("claude", "codex")  # for other agents see tests/agents/test_typed_leaves.py
CASES = [case for case in cases() if len(case.paths) == 1 and case.agent in AGENTS]
Path = tuple[str | int, ...]


@pytest.mark.slow
@pytest.mark.fault("text that looks like a command")
@pytest.mark.examples(1, 3)
@each("case", CASES, ids=str)
def test_only_a_typed_field_commands(case: Case) -> None:
    """A command in a string of a record is obeyed only if a person typed that string."""
    wrong = [at for at, fired, allowed in _trials(case) if fired and not allowed]
    assert wrong == []


@pytest.mark.examples(1, 3)
@each("case", some(CASES, number(30, len(CASES))), ids=str)
def test_a_typed_field_does_command(case: Case) -> None:
    """A command in a typed string is obeyed, so the test above would notice one obeyed elsewhere."""
    missed = [at for at, fired, allowed in _trials(case) if allowed and not fired and "queue-operation" not in at[1]]
    assert missed == []


@pytest.mark.slow
@pytest.mark.examples(1, 3)
def test_every_typed_field_is_tried() -> None:
    """The fixtures cover every field of the list."""
    fired = {(case.agent, at[1], at[2]) for case in CASES for at, fired, _ in _trials(case) if fired}
    assert fired == TYPED_FIELDS


_TRIED: Counter[tuple[str, str, str, bool]] = Counter()
_SEEN: dict[str, list[tuple[tuple[int, str, str], bool, bool]]] = {}


def _trials(case: Case) -> list[tuple[tuple[int, str, str], bool, bool]]:
    """Return the trials of a fixture: (line, record kind, path), whether the command was obeyed, whether it may be."""
    if str(case) not in _SEEN:
        _SEEN[str(case)] = list(_run(case))
    return _SEEN[str(case)]


def _run(case: Case) -> Iterator[tuple[tuple[int, str, str], bool, bool]]:
    lines = case.paths[0].read_bytes().split(b"\n")
    meta: dict[str, Any] = {}
    before = _Reader(case)
    for at, line in enumerate(lines):
        record = _record(line)
        if record.get("type") == "session_meta" and "id" not in meta:
            meta = dict(record["payload"])
        if at == 0:
            meta["flat"] = "instructions" in record and "type" not in record
        meta["turn"] = _deep(record, ("payload", "turn_id")) or meta.get("turn", "")
        for path in _chosen(case.agent, record):
            for changed in _with_evil(record, path):
                kind, shown = _kind(case.agent, changed), _shown(path)
                allowed = (case.agent, kind, shown) in TYPED_FIELDS and _is_typed(case, changed, path, meta)
                fired = before.copy().commands([orjson.dumps(changed), *lines[at + 1 :]])
                yield (at, kind, shown), fired, allowed
        before.commands([line])


class _Reader:
    """A translation that can be copied in its current state."""

    def __init__(self, case: Case, state: dict[str, Any] | None = None) -> None:
        self.case = case
        identity = KNOWN[case.agent].named(case.paths[0])
        origin = Origin(identity, case.paths[0])
        self.translation = Translation(origin, SessionMetadata(identity.key), EventLog(), state)

    def copy(self) -> "_Reader":
        return _Reader(self.case, _copied(self.translation.state()))

    def commands(self, lines: list[bytes]) -> bool:
        """Read these lines; return whether they produced the evil command."""
        messages = [*self.translation.feed([Line(0, len(line), line) for line in lines]), *self._rest(lines)]
        events = list(chain.from_iterable(messages))
        return any(e.kind == "user.kato-command" and e.payload["line"].strip() == EVIL for e in events)

    def _rest(self, lines: list[bytes]) -> list[Any]:
        return self.translation.finish() if len(lines) > 1 else []


def _copied(value: Any) -> Any:
    """Return a copy of a JSON value; orjson is fast enough to do this for each trial."""
    return orjson.loads(orjson.dumps(value))


def _record(line: bytes) -> dict[str, Any]:
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError:
        return {}
    return value if isinstance(value, dict) else {}


def _strings(value: Any, path: Path = ()) -> Iterator[Path]:
    """Yield every path of a value that leads to a string."""
    if isinstance(value, str):
        yield path
    elif isinstance(value, dict):
        for key, part in value.items():
            yield from _strings(part, (*path, key))
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield from _strings(part, (*path, index))


def _chosen(agent: str, record: dict[str, Any]) -> Iterator[Path]:
    """Yield the strings to try: all with `-m slow`, by default each field of a record kind a few times."""
    for path in _strings(record):
        field = agent, _kind(agent, record), _shown(path), bool(INJECTED.match(_at(record, path)))
        _TRIED[field] += 1
        if _TRIED[field] <= number(3, sys.maxsize):
            yield path


def _with_evil(record: dict[str, Any], path: Path) -> Iterator[dict[str, Any]]:
    """Yield copies of the record with the command line after, before and instead of the string."""
    old = _at(record, path)
    every = (f"{old}\n{EVIL}", f"{EVIL}\n{old}", EVIL)
    first = len(path) + len(old)  # by default one of them, chosen deterministically
    for new in (every[(first + n) % len(every)] for n in range(min(number(1, len(every)), len(every)))):
        changed = _copied(record)
        holder = _at(changed, path[:-1])
        holder[path[-1]] = new
        yield changed


def _at(value: Any, path: Path) -> Any:
    for key in path:
        value = value[key]
    return value


def _shown(path: Path) -> str:
    return "".join("[]" if isinstance(key, int) else f".{key}" for key in path).removeprefix(".")


def _kind(agent: str, record: dict[str, Any]) -> str:
    kind = record.get("type")
    if agent == "claude":
        below = {"attachment": ("attachment", "type"), "queue-operation": ("operation",)}.get(str(kind), ())
    else:
        below = ("payload", "type")
    parts = [kind, _deep(record, below) if below else None]
    if parts[1] == "item_completed":
        parts.append(_deep(record, ("payload", "item", "type")))
    return "/".join(part for part in parts if isinstance(part, str))


def _deep(value: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _is_typed(case: Case, record: dict[str, Any], path: Path, meta: dict[str, Any]) -> bool:
    text = PASTED.sub("", _at(record, path))
    if EVIL not in text:
        return False
    if case.agent == "codex":
        return _codex_typed(record, text, meta)
    if case.paths[0].name.startswith("agent-") or any(record.get(flag) for flag in NOT_PERSONS):
        return False
    if CLIENT.match(text) or (path[-1] == "text" and _at(record, path[:-1]).get("type") != "text"):
        return False
    if record["type"] == "queue-operation":
        return not text.lstrip().startswith("<") and "task_id" not in _record(text.encode())
    if record["type"] == "attachment":
        row = record["attachment"]
        kind = _deep(row, ("origin", "kind"))
        return row.get("commandMode") == "prompt" and kind in (None, "human")
    source, kind = record.get("promptSource"), _deep(record, ("origin", "kind"))
    if source is None and kind is None and TAG.match(text):
        return False
    reminded = 0 < text.find("<system-reminder>") < text.find(EVIL)
    return source in (None, *PERSONS) and kind in (None, "human") and not reminded


def _codex_typed(record: dict[str, Any], text: str, meta: dict[str, Any]) -> bool:
    if "payload" not in record:
        return meta["flat"] and record.get("role") == "user" and not INJECTED.match(text)
    paginated = meta.get("history_mode") == "paginated"
    if paginated != ("item" in record["payload"]) or isinstance(meta.get("source"), dict):
        return False
    if meta.get("thread_source") not in (None, "user") or INJECTED.match(text):
        return False
    if record["payload"].get("kind") in ("environment_context", "user_instructions"):
        return False
    copied = "forked_from_id" in meta and not paginated and meta["turn"][:13] < meta["id"][:13]
    said = text.rpartition(REQUEST)[2] if text.startswith(CONTEXT) else text
    return EVIL in said and not copied
