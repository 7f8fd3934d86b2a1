"""What a path tells of a session, by agent."""

from pathlib import Path

from katod.config import AGENTS
from katod.discover.identity import SUFFIXES, identify, named
from tests.looping import each

UUID = "3f0a4c52-9d1e-4b7a-8c66-0123456789ab"
OTHER = "77777777-9d1e-4b7a-8c66-0123456789ab"


@each(
    ("agent", "path", "key"),
    [
        ("claude", f"projects/-a/{UUID}.jsonl", (UUID, "")),
        ("claude", f"projects/-a/{UUID}/subagents/agent-x.jsonl", (UUID, "x")),
        ("claude", "projects/-a/agent-x.jsonl", ("agent-x", "x")),
        ("codex", f"sessions/2026/02/10/rollout-2026-02-10T22-36-00-{UUID}.jsonl", (UUID, "")),
        ("codex", f"archived_sessions/rollout-2026-02-10T22-36-00-{UUID}.jsonl.zst", (UUID, "")),
        ("gemini", "tmp/app/chats/session-2026-02-10T22-36-3f0a4c52.jsonl", ("3f0a4c52", "")),
        ("gemini", f"tmp/{'0' * 64}/chats/session-2026-02-10T22-36-3f0a4c52.json", ("3f0a4c52", "")),
        ("gemini", f"tmp/app/chats/{UUID}/look.jsonl", ("3f0a4c52", "look")),
        ("opencode", "opencode.db#ses_1", ("ses_1", "")),
        ("opencode", "a#b/opencode-dev.db#ses_1", ("ses_1", "")),
        ("opencode", "storage/session/p1/ses_1.json", ("ses_1", "")),
        ("cursor", f"projects/a/agent-transcripts/{UUID}/{UUID}.jsonl", (UUID, "")),
        ("cursor", f"projects/a/agent-transcripts/{UUID}.jsonl", (UUID, "")),
        ("cursor", f"projects/a/agent-transcripts/{UUID}/subagents/{OTHER}.jsonl", (UUID, OTHER)),
        ("zot", "sessions/0123456789abcdef/20260210-223600-3f0a4c52.jsonl", ("20260210-223600-3f0a4c52", "")),
        ("copilot", f"session-state/{UUID}/events.jsonl", (UUID, "")),
        ("copilot", f"session-state/{UUID}.jsonl", (UUID, "")),
        ("pi", f"sessions/--home-me-my.app--/2026-02-10T22-36-00-000Z_{UUID}.jsonl", (UUID, "")),
    ],
)
def test_a_session_file_tells_its_session(agent: str, path: str, key: tuple[str, str]) -> None:
    """Agent, session and sub-agent, without a look into the file."""
    found = identify(agent, Path("/home/me") / path)
    assert found is not None
    assert found.key == (agent, *key)


@each(
    ("agent", "path"),
    [
        ("claude", "projects/-a/notes.md"),
        ("codex", "history.jsonl"),
        ("gemini", "tmp/app/logs.json"),
        ("gemini", "tmp/app/chats/session-2026-02-10T22-36-3f0a4c52.jsonl.unreadable-17"),
        ("gemini", "tmp/app/chats/session-2026-02-10T22-36-3f0a4c52.jsonl.tmp-17"),
        ("gemini", "tmp/app/checkpoint-x.json"),
        ("opencode", "opencode.db"),
        ("opencode", "opencode.db#msg_1"),
        ("opencode", "storage/session_diff/ses_1.json"),
        ("opencode", "storage/message/ses_1/msg_1.json"),
        ("cursor", "projects/a/terminals/1.jsonl"),
        ("zot", "sessions/20260210.jsonl"),
        ("pi", "sessions/--a--/x.txt"),
    ],
)
def test_any_other_file_is_none(agent: str, path: str) -> None:
    """What an agent keeps beside its sessions, and other programs in the same folder, are left alone."""
    assert identify(agent, Path("/home/me") / path) is None


@each("agent", AGENTS)
def test_a_file_that_was_named_has_an_identity(agent: str) -> None:
    """Wherever it lies: its name is the session."""
    assert named(agent, Path(f"/tmp/whatever{SUFFIXES[agent][0]}")).key.agent == agent
