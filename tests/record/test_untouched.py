"""Which transcripts are as katod wrote them."""

import pytest

from katod.record import untouched as module
from katod.record.untouched import untouched
from katod.store.ledger import Ledger
from tests.support.inprocess import InProcess
from tests.support.records.base import says, user


@pytest.fixture
def other(world):
    """Return the transcript of a recording that has ended."""
    world.session(2).say(user("::start other\nhello"), says("hi"), user("::stop"))
    world.once()
    [row] = world.outputs()
    return row.path


@pytest.fixture
def running(world):
    """Return a katod that has just written the second answer of a recording: the ledger says so with the next step."""
    talk = world.claude().say(user("::start notes\nhello"), says("hi"))
    run = InProcess(world)
    run.say = lambda words: (talk.say(user(words), says("I see.")), run.turn())
    yield run
    run.stop()


def names(world):
    ledger = Ledger.read(world.state)
    try:
        return [row.path.name for _, row in untouched(ledger).whole]
    finally:
        ledger.close()


def test_what_is_being_recorded_is_untouched(world, running):
    """From its first words on, and after each later one, although what was written is still open in the ledger."""
    [row] = world.outputs()
    assert (row.made, row.intent is None) == (False, False)
    assert names(world) == ["notes.md"]
    running.say("more")
    [row] = world.outputs()
    assert (row.made, row.intent is None) == (True, False)
    assert names(world) == ["notes.md"]


@pytest.mark.whole
@pytest.mark.parametrize("change", ["added", "taken out", "replaced", "deleted"])
def test_what_its_person_changes_meanwhile_is_not(world, running, change):
    """Whatever waits to be written to it."""
    running.say("more")
    [path] = [row.path for row in world.outputs()]
    text = path.read_bytes()
    path.rename(path.with_name("older"))
    if change == "added":
        path.with_name("older").rename(path)
        path.write_bytes(text + b"my words\n")
    elif change == "taken out":
        path.with_name("older").rename(path)
        path.write_bytes(text.replace(b"hi", b"", 1))
    elif change == "replaced":
        path.write_bytes(text)
    else:
        path.with_name("older").unlink()
    assert names(world) == []


def test_what_is_written_while_one_looks_is_untouched(world, other, running, monkeypatch):
    """The row is read again then, twice if necessary; that of another transcript, which was changed, is read once."""
    other.write_bytes(b"my words\n")
    looks, original = [], module.located

    def located(rows):
        looks.append([row.path.name for row in rows])
        if len(looks) < 3:
            running.say("more")
        return original(rows)

    monkeypatch.setattr(module, "located", located)
    assert names(world) == ["notes.md"]
    assert looks[:3] == [["other.md", "notes.md"], ["notes.md"], ["notes.md"]]
