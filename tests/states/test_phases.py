"""States of recorded sessions, compared with what was expected of the scenarios before they were played.

They are the states that katod shows: also those that it comes to because nothing is recorded for a while, or because
the client has ended.
"""

import json
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from katod.agents import AGENTS
from katod.lifecycle import after
from katod.states import (
    DOUBT_AFTER,
    DOUBT_IN_CALL_AFTER,
    GONE,
    QUIET_AFTER,
    RUNS,
    SILENT_AFTER,
    State,
    judged,
)
from tests.states.cases import Row, read, time_of
from tests.states.phases import FILE, LEFT_OUT, NEVER, NOT_ITS_OWN, UNSHOWN, seen
from tests.states.phases import Seen as Other
from tests.states.replay import FOLDER, SAYS, key_of, read_again, watched

# Agents whose files say least: a turn is over when nothing was recorded for a while, and then a prompt may come first.
SAY_LEAST: Final = ("antigravity", "gemini")
# How many have to be met: of all phases (of those agents fewer), and of those that the file can show.
ALL, ALL_OF_THOSE, SHOWN = 0.95, 0.8, 0.98
# How many phases of an agent may be left out, or be such that its file cannot show them.
MOST, MOST_OF_THOSE = 0.1, 0.25
_SIGNS: Final = frozenset({"codex", "copilot", "gemini", "pi"})  # whose clients are missed when they end
_MOMENTS: Final = (QUIET_AFTER, SILENT_AFTER, DOUBT_AFTER, DOUBT_IN_CALL_AFTER)
_LONGEST: Final = 24 * 3600.0


class Change(NamedTuple):
    """A change of state, as the other program calls it."""

    time: float
    state: str


class At(NamedTuple):
    """Where a phase was met: the place of its change (of the last one before, if none is its own), and its time."""

    place: int
    time: float
    state: str
    is_own: bool = True


class Met(NamedTuple):
    """Whether a phase was met: as expected (""), or what was wrong; and whether strictly so.

    Strictly, its change is the next one after the change that it counts from, and no later than the other program saw.
    """

    phase: str
    state: str
    wrong: str
    is_strict: bool


def _changes(row: Row, folder: Path) -> list[Change]:
    """Return the changes of state that katod shows; the lines of one event are one change, as nobody sees between them.

    Before its first prompt, a session is idle, if its file is there.
    """
    events = watched((FOLDER / row["path"]).parent, row["session"])
    key = key_of(row, events)
    lifecycle, changes = AGENTS[key.agent].lifecycle(key.subagent), [Change(time_of(events[0]), "ready")]
    ends = [time_of(event) for event in events if event["kind"] == "process_exited"]
    ended = ends[-1] if ends and row["agent"] in _SIGNS else None
    state, last, runs = State.IDLE, 0.0, row["agent"] in _SIGNS
    times = [*map(time_of, events), time_of(events[-1]) + _LONGEST]
    looks = zip(events, pairwise(times), read_again(row, events, folder, lifecycle), strict=True)
    for event, (time, following), lines_of_events in looks:
        last = time if "file_size" in event else last
        for lines in lines_of_events:
            for line in lines:
                state = after(state, line["type"])
            _change(changes, time, state)
        for moment in _moments(time, following, last, ended):
            report = None if not runs or moment - last < SILENT_AFTER else GONE if _is_past(ended, moment) else RUNS
            _change(changes, moment, judged(lifecycle.seen, report, last, moment).state)
    return changes


def _change(changes: list[Change], moment: float, state: State) -> None:
    if SAYS[state] != changes[-1].state:
        changes.append(Change(moment, SAYS[state]))


def _is_past(ended: float | None, moment: float) -> bool:
    return ended is not None and ended <= moment


def _moments(time: float, following: float, last: float, ended: float | None) -> list[float]:
    """Return when the state may change until something else happens: now, and as time passes."""
    later = [last + quiet for quiet in _MOMENTS] + ([ended] if ended is not None else [])
    return [time, *sorted(moment for moment in later if time < moment < following)]


def _compared(row: Row, changes: list[Change]) -> Iterator[Met]:
    """Yield how each phase that counts was met; whoever is left out holds no other up."""
    folder = (FOLDER / row["path"]).parent
    phases, events = read(folder.parent / "expected.jsonl")[1:], read(folder / "events.jsonl")
    others = seen(phases, events)
    at = {"start": At(-1, others["start"].time, "", is_own=False)}
    for phase in phases:
        name, anchor, other = phase["phase"], at[phase["relative_to"]], others.get(phase["phase"])
        place = None
        if row["phases"].get(name) == "":
            place = _place(phase, anchor, changes)
            wrong = "never" if place is None else _wrong(phase, anchor, changes, place)
            yield Met(name, phase["expected_state"], wrong, not wrong and _is_strict(place, anchor, changes, other))
        if place is None:
            time = anchor.time if other is None else other.time
            at[name] = At(anchor.place, time, phase.get("expected_state", anchor.state), is_own=False)
        else:
            at[name] = At(place, changes[place].time, phase["expected_state"])


def _place(phase: Row, anchor: At, changes: list[Change]) -> int | None:
    """Return the place of the first change that a phase may be: that of its anchor if it expects the same state."""
    now = changes[anchor.place].state if anchor.place >= 0 else ""
    is_same = phase["expected_state"] == (anchor.state if anchor.is_own else now)
    later = range(anchor.place + (not is_same), len(changes))
    return next((n for n in later if changes[n].state == phase["expected_state"]), None)


def _wrong(phase: Row, anchor: At, changes: list[Change], place: int) -> str:
    """Return what a phase expects of its change that is not so."""
    change, following = changes[place], changes[place + 1 :]
    delay, most = 1000 * (change.time - anchor.time), phase.get("max_delay_ms")
    if most is not None and delay > most:
        return f"after {delay:.0f} ms"
    lasts = phase.get("duration_at_least_ms")
    within = [one for one in following if lasts is None or 1000 * (one.time - change.time) < lasts]
    if lasts is not None and within:
        return f"for {1000 * (within[0].time - change.time):.0f} ms"
    states = {one.state for one in within}
    forbidden = [text.split()[3] for text in phase.get("invariants", []) if text.startswith("no state_transition to ")]
    return next((f"then {state}" for state in forbidden if state in states), "")


def _is_strict(place: int | None, anchor: At, changes: list[Change], other: Other | None) -> bool:
    assert place is not None
    is_next = not anchor.is_own or place <= anchor.place + 1
    return is_next and (other is None or changes[place].time <= other.time)


WORKED = [Change(0.0, "ready"), Change(1.0, "working"), Change(3.0, "ready"), Change(3.5, "working")]


@pytest.mark.parametrize(
    ("phase", "place", "wrong"),
    [
        ({"expected_state": "working", "max_delay_ms": 1000}, 1, ""),
        ({"expected_state": "working", "max_delay_ms": 900}, 1, "after 1000 ms"),
        ({"expected_state": "working", "duration_at_least_ms": 2000}, 1, ""),
        ({"expected_state": "working", "duration_at_least_ms": 2100}, 1, "for 2000 ms"),
        ({"expected_state": "working", "invariants": ["no state_transition to ready"]}, 1, "then ready"),
        ({"expected_state": "working", "invariants": ["no state_transition to waiting"]}, 1, ""),
        ({"expected_state": "waiting"}, None, ""),
    ],
)
def test_a_phase_is_met_by_a_change_that_keeps_what_it_expects(phase, place, wrong):
    """The first one to its state, in time, for as long as it has to hold, and without what must not follow."""
    start = At(-1, 0.0, "", is_own=False)
    assert _place(phase, start, WORKED) == place
    assert place is None or _wrong(phase, start, WORKED, place) == wrong


def test_a_phase_of_another_state_is_a_later_change():
    """One of the same state as its anchor is the same change, also if what is between them is left out."""
    anchor, phase = At(1, 1.0, "working"), {"expected_state": "working"}
    assert _place(phase, anchor, WORKED) == 1
    assert _place(phase, anchor._replace(state="waiting", is_own=False), WORKED) == 1
    assert _place({"expected_state": "ready"}, anchor._replace(state="waiting", is_own=False), WORKED) == 2


class Result(NamedTuple):
    """The phases of one agent: how those were met that its files can show, and why the others do not count."""

    mets: list[Met]
    others: list[str]

    @property
    def met(self) -> int:
        """How many were met."""
        return sum(1 for met in self.mets if not met.wrong)

    @property
    def all(self) -> int:
        """How many there are in the recorded sessions, whether or not their files can show them."""
        return len(self.mets) + self.count(UNSHOWN)

    def count(self, reasons: tuple[str, ...]) -> int:
        """Return how many do not count for one of these reasons."""
        return sum(1 for why in self.others if why in reasons)

    def __str__(self) -> str:
        out, away = self.count(LEFT_OUT), self.count(NOT_ITS_OWN)
        return f"{self.met} of all {self.all}, of {len(self.mets)} that the file can show; left out {out}, elsewhere {away}"


@pytest.mark.slow
@pytest.mark.skipif(not FOLDER.is_dir(), reason=f"no recordings under {FOLDER}")
def test_states_are_those_that_the_scenarios_expect(tmp_path):
    """All phases, those that the file can show, and few are left out; `-s` lists what is not met, and what is left out."""
    results: dict[str, Result] = defaultdict(lambda: Result([], []))
    for row in json.loads(FILE.read_text()):
        result = results[row["agent"]]
        for name, why in row["phases"].items():
            if why:
                result.others.append(why)
                print(f"{why}:", row["path"], name)
        for met in _compared(row, _changes(row, tmp_path)):
            result.mets.append(met)
            if met.wrong or not met.is_strict:
                print("not met:" if met.wrong else "not strictly:", row["path"], met.phase, met.state, met.wrong)
    for agent, result in sorted(results.items()):
        print(f"{agent}: {result}")
    _assert_bars(results)


def _assert_bars(results: dict[str, Result]) -> None:
    for agent in SAY_LEAST:
        assert results[agent].met >= ALL_OF_THOSE * results[agent].all
    rest = [one for agent, one in results.items() if agent not in SAY_LEAST]
    assert sum(one.met for one in rest) >= ALL * sum(one.all for one in rest)
    assert sum(one.met for one in results.values()) >= SHOWN * sum(len(one.mets) for one in results.values())
    for agent, one in results.items():
        left, most = one.count(LEFT_OUT + UNSHOWN), MOST_OF_THOSE if agent in SAY_LEAST else MOST
        assert left <= most * (one.all + one.count(LEFT_OUT)), agent


@pytest.mark.skipif(not FOLDER.is_dir(), reason=f"no recordings under {FOLDER}")
def test_what_never_happened_was_not_seen_either():
    """By the program that made the recording."""
    for row in json.loads(FILE.read_text()):
        folder = (FOLDER / row["path"]).parent
        if NEVER in row["phases"].values():
            found = seen(read(folder.parent / "expected.jsonl")[1:], read(folder / "events.jsonl"))
            assert not [name for name, why in row["phases"].items() if why == NEVER and name in found]
