"""Tests for which sessions lose nothing when their agents delete them."""

import pytest

from katod.formatspec import recorded_formats
from katod.rescue.recorded import RecordedSessions
from katod.store.ledger import Ledger
from tests.support.records import Claude, says, user
from tests.support.world import World


def whole(world: World) -> list[str]:
    """Return the sessions that are recorded as a whole."""
    ledger = Ledger.examine(world.state)
    assert ledger is not None
    try:
        recorded = RecordedSessions(ledger.sessions(), ledger.outputs())
        return sorted(row.key.id for row in ledger.sessions() if row.key in recorded)
    finally:
        ledger.close()


@pytest.mark.whole
@pytest.mark.parametrize(
    ("commands", "is_whole"),
    [
        (("::capture",), True), (("::capture a", "::keep"), True), (("::keep",), False), (("::keep 9",), False),
        (("::export",), False), (("::start",), False), (("::capture", "::stop"), False), ((), False),
    ],
)  # fmt: skip
def test_only_a_recording_from_the_beginning_on_that_goes_on_has_all(
    world: World, commands: tuple[str, ...], is_whole: bool
) -> None:
    """Not what was kept or exported, which is a copy, nor a part."""
    maker = Claude(world).say(user("hello"), says("yes"))
    for command in commands:
        maker.say(user(command), says("yes"))
    world.once()
    assert whole(world) == ([maker.session] if is_whole else [])


@pytest.mark.parametrize("seen", [False, True], ids=["since", "seen by katod"])
@pytest.mark.parametrize("how", ["deleted", "emptied", "replaced", "an older copy"])
def test_a_transcript_that_is_gone_has_nothing(world: World, how: str, *, seen: bool) -> None:
    """What its person deleted, emptied or replaced is not recorded any more, nor what an older copy of it lacks."""
    maker = Claude(world).say(user("hello"), says("yes"), user("::capture"))
    world.once()
    [path] = world.files()
    older = path.read_text()
    maker.say(*(said for n in range(40) for said in (user(f"question {n}"), says(f"answer {n}"))))
    world.once()
    assert whole(world) == [maker.session]
    if how == "deleted":
        path.unlink()
    else:
        path.write_text({"emptied": "", "replaced": "mine\n" * 500, "an older copy": older}[how])
    if seen and how == "an older copy":
        maker.say(user("more"), says("yes"))
        world.once()
    assert whole(world) == []


def test_a_transcript_from_which_its_person_cut_most_has_not_all(world: World) -> None:
    """Although it ends as katod left it."""
    maker = Claude(world).say(user("hello"), says("yes"), user("::capture"))
    maker.say(*(said for n in range(40) for said in (user(f"question {n}"), says(f"answer {n}"))))
    world.once()
    [path] = world.files()
    path.write_bytes(path.read_bytes()[-1500:])
    assert whole(world) == []


@pytest.mark.parametrize("lines", [0, 1], ids=["all of it", "nothing else"])
def test_what_is_noted_to_be_an_older_copy_has_nothing_until_it_is_verified(world: World, lines: int) -> None:
    """Although katod wrote to it since, so that it ends as katod left it."""
    maker = Claude(world).say(user("::capture notes.md"), says("words " * 600))
    world.once()
    [path] = world.files()
    older = path.read_bytes()
    maker.say(user("question"), says("answer " * 600))
    world.once()
    newer = path.read_bytes()
    path.write_bytes(older)
    maker.say(user("later"), says("fine"))
    world.once()
    assert whole(world) == []
    if not lines:
        path.write_bytes(newer + path.read_bytes()[len(older) :])
    world.cli("verify", "--append-missing", "--yes")
    assert whole(world) == [maker.session]


def test_what_its_person_adds_takes_nothing_away(world: World) -> None:
    """An edited transcript still has all of a session."""
    maker = Claude(world).say(user("hello"), says("yes"), user("::capture"))
    world.once()
    [path] = world.files()
    path.write_text(path.read_text().replace("hello", "hello, world") + "\nmy note\n")
    assert whole(world) == [maker.session]


@pytest.mark.whole
@pytest.mark.parametrize("form", recorded_formats())
def test_a_format_without_words_records_nothing_of_what_is_said(world: World, form: str) -> None:
    """What the others say is in their files."""
    world.configure(auto=True, format=form)
    maker = Claude(world).say(user("quagga"), says("xylophone"))
    world.process()
    text = b"".join(path.read_bytes() for path in world.files())
    assert (b"quagga" in text, b"xylophone" in text) == ((maker.session in whole(world)),) * 2
    assert bool(whole(world)) == (form not in ("lifecycle", "otlp"))
