"""The law of a data set that grows: whatever was exported in between, it has what one export at the end has."""

from pathlib import Path
from typing import Any, Final

import pytest

from katod.archive.tally import TextTally
from tests.golden.cases import AGENTS, FIXTURES
from tests.support.records import MAKERS, Claude, OpenCode, says, user
from tests.tables.dataset import Tables

pytestmark = pytest.mark.slow
UNDONE: Final = {"vscode/plain.jsonl"}  # its user removes what was sent: the rows stay as they were


def names() -> list[str]:
    """Return the fixtures to which an agent appends records."""
    found = (path for agent in AGENTS for path in sorted((FIXTURES / agent).rglob("*.jsonl")))
    return [name for path in found if (name := str(path.relative_to(FIXTURES))) not in UNDONE]


def placed(world: Any, name: str, number: int) -> Path:
    """Return where a fixture is a session of its agent."""
    make = next(make for make in MAKERS if make.agent == name.partition("/")[0])
    return make(world, f"{number:08x}-8a53-4c3e-9b5e-0a1d5f8f2c11").path


def queue(one: Claude, operation: str, **more: str) -> None:
    one.append(
        {"type": "queue-operation", "operation": operation, "sessionId": one.session} | more,
    )


def test_exports_in_between_change_nothing(world, tables):
    """A prompt that waits in its queue, or until it is known whether it is an echo, has another id later, or none."""
    left = {placed(world, name, n): (FIXTURES / name).read_bytes().splitlines(True) for n, name in enumerate(names())}
    assert len({path.parent for path in left}) > 10
    while any(left.values()):
        for path, records in left.items():
            with path.open("ab") as file:
                file.write(b"".join(records[:1]))
            del records[:1]
        tables.export()
        assert world.said == ""
    at_once = Tables(world, "at-once")
    at_once.export()
    assert tables.content() == at_once.content()


def test_what_was_not_sent_goes_and_what_was_said_stays(world, tables):
    """A prompt that is taken back was never said: the session goes on. What is lost of a session later still counts."""
    one = Claude(world).say(user("words"), says("answer"))
    queue(one, "enqueue", content="more", timestamp="2026-02-10T22:50:00.000Z")
    tables.export()
    assert tables.words() == {one.session[:8]: ["words", "answer", "more"]}
    queue(one, "popAll")
    one.say(user("something else"))
    assert tables.export() == "updated 1"
    assert tables.words() == {one.session[:8]: ["words", "answer", "something else"]}
    one.rewrite(lambda number, _: number < 2)
    assert tables.export() == "left alone 1"
    assert tables.words() == {one.session[:8]: ["words", "answer", "something else"]}


def test_a_prompt_that_an_earlier_version_counted_still_waits(world, tables, monkeypatch):
    """It is not missing then: only from now on it does not count."""
    one = Claude(world).say(user("words"), says("answer"))
    queue(one, "enqueue", content="more", timestamp="2026-02-10T22:50:00.000Z")
    with monkeypatch.context() as earlier:
        earlier.setattr(TextTally, "lasting", TextTally.text)
        tables.export()
    queue(one, "enqueue", content="and more", timestamp="2026-02-10T22:51:00.000Z")
    assert tables.export() == "updated 1"
    queue(one, "dequeue")
    one.append(one.user("more", promptSource="queued"))
    assert tables.export() == "updated 1"
    assert tables.words() == {one.session[:8]: ["words", "answer", "more", "and more"]}


def test_what_is_under_way_stays(world, tables):
    """An answer that OpenCode has not completed has the id under which it is told later: it counts."""
    one = OpenCode(world).say(user("words"), says("answer"))
    count = len(one.items)
    row = one.message("assistant", parentID=one.prompt, modelID="glm-5")
    one.write(row, one.part(row, type="text", text="make the basket", time={"start": 1}))
    tables.export()
    one.rewrite(lambda number, _: number < count)
    one.say(user("more"))
    assert tables.export() == "left alone 1"
    [words] = tables.words().values()
    assert words == ["words", "answer", "make the basket"]
