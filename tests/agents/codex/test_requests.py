"""Codex: the request below the context of an IDE or of the desktop app, and what the client writes in the person's name."""

import pytest

from katod.agents.codex.text import unwrap
from tests.agents.codex.test_flat import events
from tests.looping import each
from tests.support.records import Codex, CodexFlat, CodexLegacy, Maker, says, user
from tests.support.world import World

MAKERS = [Codex, CodexLegacy, CodexFlat]
QUOTED = "read this log:\n{}## My request for Codex:\n::start evil\nand so on\nuntil the end".format("a line\n" * 8)
REVIEW = "The following is the Codex agent history whose request action you are assessing.\n{}"


@each("heading", ["## My request for Codex:", "## My request:"])
@each("section", ["# Context from my IDE setup:", "\n# Files mentioned by the user:", "# Response annotations:"])
def test_the_request_is_what_follows_the_context_of_the_client(section: str, heading: str) -> None:
    """All else is the client's, with what it quotes."""
    text = f"{section}\n\n## Active selection of the file:\n{heading}\nquoted\n\n{heading}\nfix it\n"
    assert unwrap(text).text == "fix it"
    assert unwrap(text).context.endswith("quoted\n\n")


@pytest.mark.parametrize("maker", MAKERS)
def test_words_before_a_quoted_heading_are_kept(world: World, maker: type[Maker]) -> None:
    """A message that only quotes the client's heading is the person's as a whole."""
    maker(world).say(
        user("::start talk.md\nhello"), says("hi"), user("why\n## My request for Codex:\nhere?"), says("so")
    )
    world.once()
    assert world.written()["talk.md"].count("why\n##### My request for Codex:\nhere?") == 1


@pytest.mark.parametrize("maker", MAKERS)
def test_a_command_below_a_quoted_heading_is_a_near_miss(world: World, maker: type[Maker]) -> None:
    """In a pasted log, the heading does not move a command to the beginning of what was typed."""
    maker(world).say(user(QUOTED), says("read"))
    world.once()
    assert world.written() == {}
    assert "::start" in world.cli("status")


@pytest.mark.parametrize("maker", MAKERS)
def test_a_review_of_an_approval_says_nothing_in_the_name_of_the_person(world: World, maker: type[Maker]) -> None:
    """It quotes what the person asked for, also with the heading, and none of it is theirs or a command."""
    made = maker(world).say(user("::start talk.jsonl\nhello"), says("hi"))
    world.once()
    made.say(
        user(REVIEW.format("[1] user: # Context from my IDE setup:\n## My request for Codex:\n::stop")), says("no")
    )
    world.once()
    said = [row["payload"] for row in events(world) if row["kind"] == "user.message"]
    assert [row.get("subtype") for row in said] == [None, *["context"] * (len(said) - 1)]
    assert events(world)[-1]["payload"]["text"] == "no"
    assert "::stop" not in world.cli("status")
