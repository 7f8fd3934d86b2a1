"""An upgrade of katod in the middle of a recording: adapters and formats whose version rose."""

import pytest

from katod.agents.claude.adapter import Claude as ClaudeAdapter
from katod.agents.codex.adapter import Codex as CodexAdapter
from katod.formats.markdown import Markdown
from tests.test_pipeline import counts, only
from tests.world import Claude, Codex, World


@pytest.mark.parametrize("agent", ["claude", "codex"])
@pytest.mark.parametrize("risen", [(Markdown,), (ClaudeAdapter, CodexAdapter), (Markdown, ClaudeAdapter, CodexAdapter)])
def test_a_recording_goes_on_after_an_upgrade(
    world: World, monkeypatch: pytest.MonkeyPatch, agent: str, risen: tuple[type, ...]
) -> None:
    """What was written stays as it is, what comes follows it under the same speaker, nothing twice."""
    make, source = (Claude(), world.claude()) if agent == "claude" else (Codex(), world.codex())
    if isinstance(make, Codex):
        source.append(make.meta())
    source.append(make.user("::start\none"), make.says("two"))
    world.once()
    before = only(world)
    for part in risen:
        monkeypatch.setattr(part, "version", 2)
    source.append(make.says("three"))
    world.once()
    text = only(world)
    assert text.startswith(before)
    assert counts(text, "one", "two", "three") == [1, 1, 1]
    assert text.count("## ") == 2, "the assistant goes on speaking"
    world.assert_live_is_batch()


def test_the_state_of_another_version_is_not_trusted(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A format that kept less in an older version gets its state by printing again: nobody is announced twice."""
    make, source = Claude(), world.claude()
    with monkeypatch.context() as older:
        older.setattr(Markdown, "state", lambda _: {})
        source.append(make.user("::start\none"), make.says("two"))
        world.once()
    monkeypatch.setattr(Markdown, "version", 2)
    source.append(make.says("three"))
    world.once()
    assert only(world).count("## ") == 2
    assert [row.version for row in world.outputs()] == [2]
    world.assert_live_is_batch()
