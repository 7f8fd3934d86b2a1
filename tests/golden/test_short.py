"""The short sessions: what their records give, also to a sub-agent, after a restart, and with one of their fields changed."""

import orjson
import pytest

from katod.agents import AGENTS
from tests.golden.cases import FIXTURES
from tests.golden.short import SHORT, Session, golden, sessions, texts


@pytest.mark.breaks
def test_short_sessions_give_their_golden_facts() -> None:
    """Every event with all that belongs to it, the texts that may be typed, and what usage needs of a record."""
    wrong = [
        f"{path.name}, line {number}: {was[:300]!r} became {now[:300]!r}"
        for path, text in texts().items()
        for number, (now, was) in enumerate(zip(text.splitlines(), path.read_bytes().splitlines(), strict=True), 1)
        if now != was
    ]
    assert wrong == [], "if meant: python -m tests.golden.update"


def test_every_agent_has_short_sessions() -> None:
    """Those of a form of its own, each with a golden line for each session; the fixtures' README tells of them."""
    assert {path.stem for path in SHORT.iterdir()} == {name for name, spec in AGENTS.items() if not spec.form}
    assert all(orjson.loads(line)["events"] is not None for line in golden("pi").read_bytes().splitlines())
    assert "`short/<agent>.jsonl`" in (FIXTURES / "README.md").read_text()


def test_a_session_says_which_one_it_is() -> None:
    """A failure names the agent, and the line of its file."""
    assert str(sessions()[0]) == str(Session("antigravity", 1, [])) == "antigravity, line 1"
