"""The footer of a turn."""

import json

from katod.formats.transcript.turn import TurnTally, duration
from tests.formats.conversation import MINUS
from tests.looping import each


def busy():
    turn = TurnTally()
    turn.pass_time(1_000.0)
    turn.add("tools", 3)
    turn.edit("a.py", 40, 2)
    turn.edit("a.py", 2, 16)
    turn.edit("b.py", 1, 0)
    turn.add("commits")
    turn.pass_time(1_260.0)
    return turn


def test_footer_says_what_a_turn_did():
    """Tools, files with their lines, commits and the duration, each only if there is something to say."""
    assert busy().footer() == f"3 tools · 2 files (+43 {MINUS}18) · 1 commit · 4 min"
    one = TurnTally()
    one.add("tools")
    assert one.footer() == "1 tool"


def test_turn_without_tools_has_no_footer():
    """A turn in which the agent only talked has no footer."""
    turn = TurnTally()
    turn.pass_time(1.0)
    turn.pass_time(900.0)
    turn.add("tokens", 5)
    assert turn.footer() == ""


def test_tokens_are_the_last_part():
    """The tokens of a turn are written with separators."""
    turn = TurnTally()
    turn.add("tools")
    turn.add("tokens", 1_234_567)
    assert turn.footer() == "1 tool · 1,234,567 tokens"


def test_time_that_goes_back_does_not_count():
    """A record that is older than the one before it makes no turn shorter; an unknown time is no time."""
    turn = TurnTally()
    turn.add("tools")
    for seconds in (100.0, 0.0, 160.0, 90.0):
        turn.pass_time(seconds)
    assert turn.footer() == "1 tool · 1 min"


def test_footer_counts_many_files_without_their_names():
    """Of very many files, only the number is remembered."""
    turn = TurnTally()
    turn.add("tools")
    for number in range(800):
        turn.edit(f"{number}.py", 1, 0)
    assert "800 files" in turn.footer()
    assert len(turn.state()["edited"]) == 500


def test_files_of_a_turn_have_their_lines():
    """Edits of one file are added up."""
    assert busy().files == (("a.py", 42, 18), ("b.py", 1, 0))


def test_turn_goes_on_from_its_state():
    """A turn that was stored as JSON has the same footer."""
    turn = busy()
    assert TurnTally(json.loads(json.dumps(turn.state()))).footer() == turn.footer()
    assert TurnTally().state() == {}


@each(
    ("seconds", "shown"),
    [(0.4, ""), (1, "1 s"), (59.9, "59 s"), (60, "1 min"), (3_599, "59 min"), (3_600, "1 h"), (7_500, "2 h 5 min")],
)
def test_duration_has_one_unit_or_two(seconds, shown):
    """Less than a second is nothing; hours have minutes."""
    assert duration(seconds) == shown


@each(
    ("tokens", "cost", "used"),
    [(0, 0.0, ""), (1_200, 0.0, "1,200 tokens"), (0, 0.004, "$0.0040"), (1, 1.5, "1 tokens · $1.50")],
)
def test_what_was_used_goes_on_in_the_next_turn(tokens: int, cost: float, used: str) -> None:
    """And outlives a restart; costs below a cent have more digits."""
    turn = TurnTally()
    turn.use(tokens, cost)
    for _ in range(2):
        turn = TurnTally(json.loads(json.dumps(turn.following().state())))
        assert turn.used == used
    assert turn.footer() == ""
