"""Auto-recording, over real sessions: every session in which the agent speaks is recorded."""

import json
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from itertools import count
from typing import Any, Final

import pytest

from katod.agents import AGENTS
from katod.log import EventLog
from katod.store.ledger import Ledger
from tests.agents.test_snapshots import in_storage
from tests.oracle.corpus import READERS, Source, corpus_folder, corpus_sources
from tests.support.world import World

_UUID: Final = "00000000-0000-4000-8000-{:012d}"


def _claude(source: Source, number: int) -> str:
    stem = source.path.stem if source.path.stem.startswith("agent-") else _UUID.format(number)
    return f".claude/projects/p{number}/{stem}.jsonl"


def _opencode(source: Source, _number: int) -> str:
    return f".local/share/opencode/storage/session/app/{json.loads(source.path.read_bytes())['info']['id']}.json"


def _at(pattern: str) -> Callable[[Source, int], str]:
    return lambda source, number: pattern.format(id=_UUID.format(number), n=number, suffix=source.path.suffix)


MORE: Final = (
    ("claude", "newest/claude", "**/projects/*/*.jsonl"),
    ("claude", "irrlicht/claudecode", "**/transcript.jsonl"),
    ("codex", "irrlicht/codex", "**/transcript.jsonl"),
)
# Where each agent keeps its sessions. No project is known to those of Gemini CLI and Cursor: no file names it.
PLACES: Final[dict[str, Callable[[Source, int], str]]] = {
    "antigravity": _at(".gemini/antigravity-cli/brain/{id}/.system_generated/logs/transcript.jsonl"),
    "claude": _claude,
    "cline": _at(".cline/data/sessions/{n}_x/{n}_x.messages.json"),
    "kimi": _at(".kimi-code/sessions/wd_p/session_{id}/agents/main/wire.jsonl"),
    "qwen": _at(".qwen/projects/p/chats/{id}.jsonl"),
    "vscode": _at(".config/Code/User/workspaceStorage/p/chatSessions/{id}{suffix}"),
    "codex": _at(".codex/sessions/2026/01/01/rollout-2026-01-01T00-00-00-{id}.jsonl"),
    "copilot": _at(".copilot/session-state/{id}/events.jsonl"),
    "cursor": _at(".cursor/projects/p{n}/agent-transcripts/{id}/{id}.jsonl"),
    "gemini": _at(".gemini/tmp/p{n}/chats/session-2026-01-01T00-00-{n:08x}{suffix}"),
    "opencode": _opencode,
    "pi": _at(".pi/agent/sessions/--p--/2026-01-01T00-00-00-000Z_{id}.jsonl"),
    "zot": _at(".local/state/zot/sessions/p/20260101-000000-{id}.jsonl"),
}


def real_sessions(agent: str) -> list[Source]:
    """Return the real sessions of an agent."""
    folder = corpus_folder()
    paths = [path for one, under, files in MORE if one == agent for path in sorted((folder / under).glob(files))]
    more = [Source(agent, path.relative_to(folder).as_posix(), path) for path in paths]
    return [source for source in corpus_sources() if source.agent == agent] + more


def _is_document_of_one(source: Source) -> bool:
    if source.agent != "opencode":
        return True
    try:
        return "info" in json.loads(source.path.read_bytes())
    except ValueError:
        return False


def placed(world: World, agent: str) -> dict[str, Source]:
    """Copy the real sessions of an agent to where it would keep them; return them by their new paths."""
    found, number = {}, count(1)
    for source in real_sessions(agent):
        real = AGENTS[agent].identify(source.path)
        if not _is_document_of_one(source) or (real is not None and real.key.subagent):
            continue
        path = world.home / PLACES[agent](source, next(number))
        identity = AGENTS[agent].identify(path)
        if identity is not None and not identity.key.subagent and not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(
                in_storage(path, source.path.read_bytes()) if agent == "opencode" else source.path.read_bytes()
            )
            found[str(path)] = source
    return found


def is_spawned(source: Source) -> bool:
    """Return whether a file says that an agent started the session: a sub-agent, a reviewer, a guardian."""
    first = next(_rows(source), {})
    inner = first.get("payload") or first.get("info") or first
    begun_by = (inner.get("kind"), inner.get("thread_source"))
    return "subagent" in begun_by or isinstance(inner.get("source"), dict) or "parentID" in inner


def _rows(source: Source) -> Iterator[dict[str, Any]]:
    for data in [source.path.read_bytes()] if source.path.suffix == ".json" else source.path.read_bytes().splitlines():
        with suppress(ValueError):
            if isinstance(row := json.loads(data), dict):
                yield row


@pytest.mark.slow
@pytest.mark.parametrize("agent", sorted(READERS))
def test_every_real_session_in_which_the_agent_speaks_is_recorded(world: World, agent: str) -> None:
    """With `recording.auto`, only sub-agents and sessions with a `::stop` before all else have no recording."""
    world.config.write_text("[recording]\nauto = true\nnotify = false\n")
    sources = placed(world, agent)
    if not sources:
        pytest.skip("there are no real sessions of this agent: see KATOD_CORPUS")
    world.once()
    with closing(Ledger.open(world.state, EventLog())) as ledger:
        rows = [(sources[row.path], ledger.session(row.session)) for row in ledger.sources()]
        unrecorded = [source for source, row in rows if not ledger.outputs(row.id) and row.auto != "off"]
    speaking = [source for source in unrecorded if source.read().assistants and not is_spawned(source)]
    assert [source.name for source in speaking] == []
