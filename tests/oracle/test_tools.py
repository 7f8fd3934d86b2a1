"""The calls in real sessions whose tool has no family, counted for each agent, and why."""

from collections import Counter

import pytest

from katod import events as ev
from katod.agents import AGENTS
from katod.log import EventLog
from katod.record.export import Stretch, replay
from tests.oracle.corpus import Source, corpus_folder, corpus_sources

CORPUS = corpus_sources()
QUESTION = "is printed as a question"
SETTING = "changes the session, and nothing in the project"
# Why a tool has the family `other`. A tool that is missing here belongs into the table of tools.
REASONS = {
    "AskQuestion": QUESTION,
    "AskUserQuestion": QUESTION,
    "ask_question": QUESTION,
    "ask_user": QUESTION,
    "ask_user_question": QUESTION,
    "question": QUESTION,
    "request_user_input": QUESTION,
    "SwitchMode": SETTING,
    "rename_session": SETTING,
    "image_generation": "makes a picture, for which there is no family",
    "[trimmed for fixture]": "lost its name when the file was reduced",
}
COUNTS = {
    "claude": {"AskUserQuestion": 6, "[trimmed for fixture]": 1},
    "cline": {"ask_question": 1},
    "codex": {
        "[trimmed for fixture]": 2,
        "image_generation": 1,
    },
    "copilot": {"ask_user": 3, "rename_session": 9},
    "cursor": {"AskQuestion": 28, "SwitchMode": 45},
    "gemini": {"ask_user": 1},
    "kimi": {"AskUserQuestion": 2},
    "opencode": {"question": 1},
    "qwen": {"ask_user_question": 1},
}


def without_family(source: Source) -> Counter[str]:
    """Return how often each tool without a family is called in a session."""
    identity = AGENTS[source.agent].named(source.path)
    events = (event for event, _ in replay(identity.key, [Stretch(str(source.path), identity)], EventLog()))
    calls = (event.payload for event in events if event.kind == ev.TOOL_CALL)
    return Counter(payload["name"] for payload in calls if payload["family"] == "other")


@pytest.mark.slow
@pytest.mark.skipif(not CORPUS, reason=f"no real sessions under {corpus_folder()}")
def test_each_tool_without_a_family_has_a_reason() -> None:
    """Every call in real sessions has a family, except these few."""
    found: dict[str, Counter[str]] = {}
    for source in CORPUS:
        found.setdefault(source.agent, Counter()).update(without_family(source))
    assert {name for counts in found.values() for name in counts} <= REASONS.keys()
    assert {agent: dict(counts) for agent, counts in found.items() if counts} == COUNTS
