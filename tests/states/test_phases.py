"""States of recorded sessions, compared with what was expected of the scenarios before they were played."""

import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from katod.lifecycle import after
from katod.states import State
from tests.states.cases import Row, read, time_of
from tests.states.phases import FILE, Seen, seen
from tests.states.replay import FOLDER, SAYS, replayed, watched


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
    """Return the changes of state that katod sees; the lines of one event are one change, as nobody sees between them."""
    events = watched((FOLDER / row["path"]).parent, row["session"])
    state, changes = State.IDLE, [Change(time_of(events[0]), "ready")]
    for event, lines_of_events in zip(events, replayed(row, events, folder), strict=True):
        for lines in lines_of_events:
            for line in lines:
                state = after(state, line["type"])
            if SAYS[state] != changes[-1].state:
                changes.append(Change(time_of(event), SAYS[state]))
    return changes


def _compared(row: Row, changes: list[Change]) -> Iterator[Met]:
    """Yield how each phase that counts was met."""
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
    is_same = anchor.is_own and anchor.state == phase["expected_state"]
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


def _is_strict(place: int | None, anchor: At, changes: list[Change], other: Seen | None) -> bool:
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
    """One of the same state as its anchor is the same change; what the other program alone saw is passed over."""
    anchor, phase = At(1, 1.0, "working"), {"expected_state": "working"}
    assert _place(phase, anchor, WORKED) == 1
    assert _place(phase, anchor._replace(state="waiting", is_own=False), WORKED) == 3


@pytest.mark.slow
@pytest.mark.skipif(not FOLDER.is_dir(), reason=f"no recordings under {FOLDER}")
def test_states_are_those_that_the_scenarios_expect(tmp_path):
    """At least 95 % of the phases that an agent writes into its file are met, with the delays that they allow."""
    results: dict[tuple[bool, str, str], list[Met]] = defaultdict(list)
    for row in json.loads(FILE.read_text()):
        for met in _compared(row, _changes(row, tmp_path)):
            results[row["recorded"], row["agent"], met.state].append(met)
            if met.wrong or not met.is_strict:
                print("not met:" if met.wrong else "not strictly:", row["path"], met.phase, met.state, met.wrong)
    for kind, mets in sorted(results.items(), reverse=True):
        print(*kind, f"{_count(mets)} of {len(mets)}, strictly {sum(met.is_strict for met in mets)}")
    recorded = [met for kind, mets in results.items() if kind[0] for met in mets]
    assert _count(recorded) >= 0.95 * len(recorded)


def _count(mets: list[Met]) -> int:
    return sum(1 for met in mets if not met.wrong)
