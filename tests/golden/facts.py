"""What no export shows: the facts of each agent, and what is known of each record and event beside its JSON form."""

import hashlib
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any, Final

import orjson
import pytest

from katod.agents import AGENTS
from katod.agents.others import OTHERS
from katod.agents.spec import AgentSpec
from katod.model import Identity
from tests.golden.again import written_again
from tests.golden.cases import FIXTURES, Case, cases

FACTS: Final = FIXTURES / "facts"
HOME: Final = "/home/me"
_LONG: Final = 40  # records
_NEXT: Final = ",\n"
PLATFORMS: Final = ("linux", "darwin")
_COMPUTED: Final = ("open", "roots", "identity_of", "short_id", "instructions", "resume", "settings")
_ID: Final = "019f7ec0-ea80-7185-8fb2-90f9875760a2"
_OTHER: Final = "6d4c1f0e-2b7d-4c88-9e10-aa0000000001"
# Paths of sessions and of sub-agents as the agents write them, and others that are like one.
PATHS: Final = (
    f"brain/{_ID}/.system_generated/logs/transcript_full.jsonl",
    f"brain/{_ID}/.system_generated/logs/transcript.jsonl",
    f"brain/{_ID}/.system_generated/transcript.jsonl",
    f"projects/-p/{_ID}.jsonl",
    f"projects/-p/{_ID}.bak.jsonl",
    "projects/-p/notes.jsonl",
    "projects/-p/agent-a1.jsonl",
    f"projects/-p/{_ID}/subagents/agent-a1.jsonl",
    f"projects/-p/{_ID}/subagents/x/agent-a1.jsonl",
    f"projects/-p/{_ID}/subagents/other.jsonl",
    "sessions/1770_ab/1770_ab.messages.json",
    "sessions/1770_ab/agent_c.messages.json",
    "sessions/1770_ab/other.messages.json",
    f"sessions/2026/rollout-2026-01-15T20-51-00-{_ID}.jsonl",
    f"sessions/2026/rollout-2026-01-15T20-51-00-{_ID}_{_OTHER}.jsonl.zst",
    "sessions/2026/rollout-own.jsonl.zst",
    f"sessions/2026/{_ID}.jsonl",
    f"session-state/{_ID}/events.jsonl",
    f"history-session-state/{_ID}.jsonl",
    f"projects/p/agent-transcripts/{_ID}/{_ID}.jsonl",
    f"projects/p/agent-transcripts/{_ID}/{_OTHER}.jsonl",
    f"projects/p/agent-transcripts/{_ID}/subagents/{_OTHER}.jsonl",
    f"projects/p/agent-transcripts/{_ID}.jsonl",
    "tmp/p/chats/session-2026-01-15T20-51-019f7ec0.jsonl",
    "tmp/p/chats/session-2026-01-15T20-51-019f7ec0.json",
    "tmp/p/chats/other.json",
    f"tmp/p/chats/{_ID}/look-1.jsonl",
    f"tmp/p/chats/{_ID}/look-1.json",
    f"tmp/p/subagents/{_ID}/agent-a1.jsonl",
    f"tmp/p/subagents/{_ID}/a1.jsonl",
    "sessions/p/session_ab/agents/main/wire.jsonl",
    "sessions/p/session_ab/agents/helper/wire.jsonl",
    "sessions/p/session_ab/other/main/wire.jsonl",
    "agents/main/wire.jsonl",
    "opencode.db#ses_1",
    "opencode.db#1",
    "storage/session/p/ses_1.json",
    "storage/message/p/ses_1.json",
    f"sessions/--p--/2026-01-15T20-51-00_{_ID}.jsonl",
    f"User/workspaceStorage/a/chatSessions/{_ID}.json",
    f"User/globalStorage/emptyWindowChatSessions/{_ID}.jsonl",
    f"User/workspaceStorage/a/{_ID}.jsonl",
    "sessions/0123456789abcdef/20260115-01234567.jsonl",
    "sessions/0123/20260115-01234567.jsonl",
)


def texts() -> dict[Path, bytes]:
    """Return what the golden files of agents and of fixtures contain."""
    known = {"agents": agents(), "others": {"folders": dict(OTHERS)}, "records": records()}
    return {FACTS / f"{name}.json": _json(facts) for name, facts in known.items()}


def agents() -> dict[str, Any]:
    """Return the facts of every agent, its functions as what they answer."""
    with pytest.MonkeyPatch.context() as patch:
        for variable in {name for spec in AGENTS.values() for name in (*spec.variables, "XDG_CONFIG_HOME")}:
            patch.delenv(variable, raising=False)
        patch.setenv("HOME", HOME)
        return {name: _of_agent(spec) for name, spec in AGENTS.items()}


def records() -> dict[str, Any]:
    """Return for every fixture what is known of its records and events beside the JSON form."""
    return {str(case): _of_records(case) | _of_events(case) | _again(case) for case in cases()}


def _of_agent(spec: AgentSpec) -> dict[str, Any]:
    plain = {name: getattr(spec, name) for name in AgentSpec.__slots__ if name not in _COMPUTED}
    identified = {path: _named(found) for path in PATHS if (found := spec.identify(Path(HOME, path)))}
    return {name: _shown(value) for name, value in plain.items()} | {
        "roots": _roots(spec),
        "identity_of": identified,
        "named": _named(spec.named(Path(f"/x/{_ID}_copy.jsonl"))),
        "short_id": [spec.short_id(session) for session in (_ID, "ses_1", "session_1", "a-b-c", "1770_ab_cd")],
        "instructions": spec.instructions and [str(path) for path in spec.instructions().all],
        "resume": spec.resume and spec.resume("SESSION", "PATH"),
        "settings": spec.settings and str(spec.settings()),
        "version": spec.adapter.version,
        "records": sorted(spec.adapter.handlers),
        "bookkeeping": sorted(spec.adapter.ignored),
    }


def _roots(spec: AgentSpec) -> dict[str, list[str]]:
    """Return the roots on each platform, and with each variable."""
    found = {}
    for platform in PLATFORMS:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("sys.platform", platform)
            found[platform] = [str(path) for path in spec.roots()]
    for variable in spec.variables:
        for value in ("/elsewhere/x", "~/x.db"):
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv(variable, value)
                found[f"{variable}={value}"] = [str(path) for path in spec.roots()]
    return found


def _shown(value: Any) -> Any:
    """Return a value that JSON has; a function is its name, where it is one of a module that is loaded later."""
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {name: _shown(part) for name, part in value._asdict().items()}
    if isinstance(value, tuple):
        return [_shown(part) for part in value]
    if isinstance(value, bytes):
        return value.decode()
    if callable(value):
        own = getattr(value, "__wrapped__", value)
        return "" if "<lambda>" in own.__qualname__ else own.__qualname__
    return value


def _named(identity: Identity) -> str:
    return " ".join([*identity.key, *map(str, identity[1:])]).rstrip()


def _of_records(case: Case) -> dict[str, list[Any]]:
    """Return the typed texts of each record."""
    adapter = AGENTS[case.agent].adapter
    typed = [[number, *text] for number, fields in enumerate(_objects(case)) for text in adapter.typed_texts(fields)]
    return {"typed": typed}


def _objects(case: Case) -> Iterator[dict[str, Any]]:
    for path in case.paths:
        data = path.read_bytes()
        yield from map(_object, data.split(b"\n") if path.suffix == ".jsonl" else [data])


def _object(line: bytes) -> dict[str, Any]:
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError:
        return {}
    return value if isinstance(value, dict) else {}


def _of_events(case: Case) -> dict[str, Any]:
    """Return which events are typed, the texts below commands, the attached data, and a digest of all dedup keys."""
    events = [event for event, _ in case.events()]
    return {
        "typed events": [event.id for event in events if event.typed],
        "words": [event.words for event in events if event.words],
        "blobs": [[name, media, len(data)] for event in events for name, media, data in event.blobs],
        "dedup keys": digest_of([event.dedup_key for event in events]),
    }


def _again(case: Case) -> dict[str, Any]:
    """Return how many events there are if the records are written again, in each way, and a digest of them."""
    rows = [fields for fields in _objects(case) if fields]
    if len(case.paths) > 1 or case.paths[0].suffix == ".json" or len(rows) > _LONG:
        return {}
    return {"written again": [f"{len(names)} {digest_of(names)}" for names in written_again(case.agent, rows)]}


def digest_of(value: Any) -> str:
    """Return a short name of a value that JSON has."""
    return hashlib.sha256(orjson.dumps(value)).hexdigest()[:16]


def _json(value: dict[str, Any]) -> bytes:
    """Return JSON with a line for each field of each part."""
    parts = (f'"{name}": {{\n{_lines(fields)}\n}}' for name, fields in value.items())
    return f"{{\n{_NEXT.join(parts)}\n}}\n".encode()


def _lines(fields: dict[str, Any]) -> str:
    return _NEXT.join(f'  "{name}": {orjson.dumps(fact).decode()}' for name, fact in fields.items() if fact)
