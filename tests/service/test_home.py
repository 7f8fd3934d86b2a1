"""A state directory that was moved or copied is noticed, and said."""

import json

import pytest

from katod.service import home


@pytest.fixture
def other(world):
    """Return a world whose state says that it is of another home."""
    world.once()
    path = world.state / home.NAME
    path.write_text(json.dumps(json.loads(path.read_text()) | {"home": "/home/before"}))
    return world


def problems(world):
    return [row["problem"] for row in world.status()["problems"]]


def test_the_state_of_this_home_is_no_news(world):
    """It is noted once, privately; nothing is said."""
    world.once()
    assert (world.state / home.NAME).stat().st_mode & 0o777 == 0o600
    assert problems(world) == []


@pytest.mark.slow
def test_a_copied_home_is_said_until_it_is_accepted(other):
    """In status and doctor, and in the log at each start."""
    other.once()
    [problem] = problems(other)
    assert problem.startswith(
        "it was moved or copied here from /home/before, and katod continues to use the files there"
    )
    assert "moved or copied here from /home/before" in other.cli("doctor", code=1)
    other.cli("status", "--clear")
    assert problems(other) == []


def test_another_machine_is_said(other, monkeypatch):
    """By a hash of its id, where there is one."""
    machine = other.home / "machine-id"
    monkeypatch.setattr(home, "_MACHINE", machine)
    machine.write_text("one\n")
    home.accept(other.state)
    assert problems(other) == []
    machine.write_text("two\n")
    assert problems(other)[0].startswith("it was moved or copied here from another machine")
    assert "one" not in (other.state / home.NAME).read_text()
    machine.unlink()
    assert problems(other) == []


@pytest.mark.parametrize("text", ["", "[]", "{}", "[" * 5000, '{"home": 1}'])
def test_a_damaged_note_says_nothing(world, text):
    """Nobody can be told anything by it."""
    world.once()
    (world.state / home.NAME).write_text(text)
    assert problems(world) == []


def test_another_way_to_the_same_home_is_no_news(world):
    """Some systems have a link in it."""
    world.once()
    link = world.home.parent / "link"
    link.symlink_to(world.home)
    (world.state / home.NAME).write_text(json.dumps({"home": str(link), "machine": ""}))
    assert problems(world) == []
