"""Runs of tool lines: the first ones print as they come, what follows as one fold."""

import json

from hypothesis import given
from hypothesis import strategies as st

from katod.formats.transcript.calls import ToolRun
from katod.formats.transcript.content import Fold, Inline, ToolLine
from tests.examples import examples
from tests.support.records import calls, result, says, user
from tests.support.world import World

FAILED = (Inline("text", "failed"),)


def line(number: int, outcome: tuple[Inline, ...] = ()) -> ToolLine:
    return ToolLine("Read", (Inline("code", f"{number}.py"),), outcome)


def run(*tools: str) -> tuple[ToolRun, list[object]]:
    """Return a run of these calls, and what of it was printed at once."""
    it = ToolRun()
    return it, [piece for n, tool in enumerate(tools) for piece in it.add(str(n), tool, line(n))]


def test_eight_lines_print_as_they_come() -> None:
    """Nothing waits then."""
    it, printed = run(*["Read"] * 8)
    assert printed == [line(n) for n in range(8)]
    assert it.flush() == []


def test_what_follows_is_one_fold_that_says_what_is_in_it() -> None:
    """The most frequent first, in the words of each family of tools."""
    it, printed = run(*["Read"] * 10, "Bash", *["Grep"] * 2, "mcp__a__b")
    assert len(printed) == 8
    [fold] = it.flush()
    about = (Inline("text", "2 reads, 2 searches, 1 command, 1 other call"),)
    assert fold == Fold("6 more", about, (), tuple(line(n) for n in range(8, 14)))
    assert it.add("x", "Read", line(0)) == [line(0)], "a new run begins"


def test_a_few_lines_are_not_worth_a_fold() -> None:
    """They are printed as they are."""
    it, _ = run(*["Read"] * 11)
    assert it.flush() == [line(8), line(9), line(10)]


def test_what_tells_something_stays_in_the_open() -> None:
    """Below the fold, with its outcome: a failure, a commit."""
    it, _ = run(*["Read"] * 13)
    assert it.answer("9", FAILED, tells=True)
    assert it.answer("10", (Inline("text", "2 s"),), tells=False)
    assert not it.answer("1", FAILED, tells=True), "its line was printed"
    fold, below = it.flush()
    assert isinstance(fold, Fold)
    assert fold.name == "4 more"
    assert line(10, (Inline("text", "2 s"),)) in fold.parts
    assert below == line(9, FAILED)


def test_too_much_does_not_wait() -> None:
    """After 64 KB, a fold prints; what comes after it waits again."""
    it, _ = run(*["Read"] * 8)
    long = ToolLine("Read", (Inline("code", "x" * 9000),))
    printed = [piece for n in range(20) for piece in it.add(str(n), "Read", long)]
    assert [type(piece) for piece in printed] == [Fold, Fold]
    assert len(it.flush()) == 1


def test_a_very_long_run_costs_little() -> None:
    """However many calls follow each other: what waits is bounded, in rows and in the ids of its calls."""
    it = ToolRun()
    sizes = []
    for n in range(5000):
        it.add(str(n), "Read", line(n))
        if n % 100 == 0:
            sizes.append(len(json.dumps(it.state())))
    assert max(sizes) < 150_000
    for n in range(20):
        it.add(f"{n}{'x' * 100_000}", "Read", line(n))
    assert len(json.dumps(it.state())) < 150_000


@examples(20, 500)
@given(st.lists(st.tuples(st.sampled_from(["Read", "Bash"]), st.booleans()), max_size=40))
def test_a_restart_changes_nothing(called: list[tuple[str, bool]]) -> None:
    """Every line is printed once, in whatever pieces; with a restart after each step, it is the same."""

    def lines(*, restarts: bool) -> list[object]:
        it, printed = ToolRun(), list[object]()
        for n, (tool, tells) in enumerate(called):
            printed += it.add(str(n), tool, line(n))
            it.answer(str(n), FAILED, tells=tells)
            it = ToolRun(json.loads(json.dumps(it.state()))) if restarts else it
        return [*printed, *it.flush()]

    whole = lines(restarts=False)
    assert lines(restarts=True) == whole
    flat = [one for piece in whole for one in (piece.parts if isinstance(piece, Fold) else [piece])]
    assert sorted(piece.about[0].text for piece in flat) == sorted(f"{n}.py" for n in range(len(called)))


def test_a_call_that_was_shown_does_not_count_again(world: World) -> None:
    """What came of it late is in the open, with its line: it is none of those that are folded."""
    maker = world.claude()
    maker.write(maker.user("::start notes\nLook"), *(maker.runs(f"c{n}", f"make {n}") for n in range(14)))
    maker.write(*(maker.result(f"c{n}", "Exit code 2\nno rule", error=True) for n in range(3))).say(says("Done."))
    world.once()
    text = world.written()["notes.md"]
    assert "<b>6 more</b> 6 commands" in text
    assert text.count("`make 1`") == 2
    world.assert_live_is_batch()


def test_a_long_run_is_folded_in_a_recording(world: World) -> None:
    """Whatever is said ends it; a failed call is below the fold; live equals the export."""
    maker = world.claude().say(user("::start notes\nLook"))
    for n in range(30):  # the tenth is on the next day
        maker.say(calls(f"c{n}", f"make {n}"), result(f"c{n}", "ok"))
        if n % 3 == 0:
            world.once()
    failed = maker.result("c99", "Exit code 2\nno rule", error=True)
    maker.write(maker.runs("c99", "make x"), failed).say(says("Done."))
    world.once()
    text = world.written()["notes.md"]
    assert "<summary>▸ <b>11 more</b> 11 commands</summary>\n\n- ▸ **Bash** `make 19`\n- ▸ **Bash** `make 20`\n" in text
    assert "- ▸ **Bash** `make 10`\n\n### Claude" in text
    assert "- ▸ **Bash** `make x` – failed, exit 2: `no rule`\n\nDone." in text  # noqa: RUF001 - a dash
    world.assert_live_is_batch()
