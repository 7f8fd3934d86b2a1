"""Tests for the question of `katod setup` whether sessions are saved from deletion."""

import tomllib
from collections.abc import Callable

import click
import pytest

from tests.support.world import World

Answer = Callable[[bool], list[str]]


@pytest.fixture
def answer(world: World, monkeypatch: pytest.MonkeyPatch) -> Answer:
    """Return a function that lets the person answer every question with a word, and collects the questions."""
    (world.home / ".claude").mkdir(exist_ok=True)
    world.cli("setup", "--yes")
    asked: list[str] = []

    def answer(word: bool) -> list[str]:
        monkeypatch.setattr("katod.cli.saving._can_ask", lambda: True)
        monkeypatch.setattr(click, "confirm", lambda text: asked.append(text) or word)
        return asked

    return answer


@pytest.mark.parametrize("word", [True, False])
def test_it_is_asked_once_and_the_answer_is_kept(world: World, answer: Answer, word: bool) -> None:
    """In the configuration, where all else stays."""
    asked, before = answer(word), world.config.read_text()
    said = world.cli("setup")
    [question] = asked
    assert "before Claude Code deletes them" in question
    assert f"recording.rescue = {str(word).lower()}" in said
    assert tomllib.loads(world.config.read_text()) == tomllib.loads(before) | {"recording": {"rescue": word}}
    world.cli("setup")
    assert len(asked) == 1


def test_it_is_not_asked_where_it_would_disturb(world: World, answer: Answer) -> None:
    """With --yes, --print or --remove, and without an agent that deletes sessions."""
    asked = answer(True)
    for option in ("--yes", "--print", "--remove"):
        world.cli("setup", option, *(["--yes"] if option == "--remove" else []))
    (world.home / ".claude" / "settings.json").write_text('{"cleanupPeriodDays": "forever"}')
    world.cli("setup", "claude", "--yes")
    world.cli("setup")
    assert asked == []


def test_it_is_asked_once_also_where_the_answer_cannot_be_written(world: World, answer: Answer) -> None:
    """The configuration may be a link, or written with dotted keys: nobody is asked again, and no command fails."""
    asked = answer(False)
    for text in ('output.time_zone = "UTC"\nrecording.auto = false\n', ""):
        world.config.write_text(text)
        (world.state / "asked-rescue").unlink(missing_ok=True)
        if not text:
            target = world.config.rename(world.home / "dotfile.toml")
            world.config.symlink_to(target)
        asked.clear()
        for _ in range(2):
            world.cli("setup")
        assert len(asked) == 1
        assert world.config.read_text() == text


def test_a_link_is_nothing_to_say_where_nothing_is_asked(world: World, answer: Answer) -> None:
    """Sessions are saved already."""
    asked = answer(True)
    target = world.home / "dotfile.toml"
    target.write_text("[recording]\nrescue = true\n")
    world.config.unlink()
    world.config.symlink_to(target)
    world.cli("setup")
    assert asked == []


def test_a_configuration_that_cannot_be_changed_safely_is_left_alone(world: World, answer: Answer) -> None:
    """Its person is told what to write."""
    answer(True)
    text = 'recording.auto = false\n[output]\ntime_zone = "UTC"\n'
    world.config.write_text(text)
    world.cli("setup", code=1)
    assert "cannot be changed safely" in world.said
    world.cli("setup")
    assert world.config.read_text() == text
