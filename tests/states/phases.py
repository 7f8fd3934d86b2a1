"""The list of phases: `phases.json`, made once by `python -m tests.states.phases FOLDER`, before anything was replayed.

FOLDER holds `<client>/<scenario>/expected.jsonl`: what has to be seen in a scenario, phase after phase, written before
it was played. Beside it are its recordings (see `cases`). After a line about the file, each line is one phase: a state
(`expected_state`) that a session changes to, or something else that happens (`kind`), at or after the phase that it is
`relative_to` (`start`: the first event), at most `max_delay_ms` after it. It belongs to one session: that of another
phase (`same_session_as`), one not seen before (`new_session`), or whichever comes first. `duration_at_least_ms` is how
long the state has to hold; `invariants` are changes that must not follow, in that time or else ever.

A phase that expects the state of its anchor is about the same change: it only has more to hold.

Every phase that expects a state is listed, in each recording of its scenario. It counts, unless

* its session has no file there: it is a running process, or another session (`NO_FILE`);
* it says that a session is there before anything was done in it, which no record says (`BIRTH`);
* it says that a session waits, and the file has none of the records by which its client says so (`NOT_RECORDED`): it
  was heard from a hook, or guessed from the words of an answer;
* it says that a session works again after a wait heard from a hook (`HOOK`): in the file it never ceased to.

Phases of a state that the file can tell count whatever record tells it, also the two of a compaction (Copilot), for
which nothing but `session.compaction_start` and `_complete` is there.

Which session a phase belongs to, and when one that does not count was there, is taken from what the other program saw.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from tests.states.cases import DERIVED, RECORDED, Row, read, session_of, time_of

FILE: Final = Path(__file__).with_name("phases.json")
NO_FILE: Final = "no file"
BIRTH: Final = "birth"
NOT_RECORDED: Final = "not recorded"
HOOK: Final = "hook"
# The records that say that a session waits.
_WAITS: Final = {
    "codex": ('"name":"request_user_input"',),
    "copilot": ('"type":"permission.requested"', '"toolName":"ask_user"'),
    "claude": ('"name":"AskUserQuestion"',),
    "gemini": ('"name":"ask_user"',),
    "pi": (),
}
_BY_HOOK: Final = "permission prompt open"


class Seen(NamedTuple):
    """Where the other program saw a phase."""

    time: float  # seconds since 1970
    session: str
    reason: str = ""


def seen(phases: list[Row], events: list[Row]) -> dict[str, Seen]:
    """Return where the other program saw each phase that it saw, whatever its delay."""
    found = {"start": Seen(time_of(events[0]), "")}
    for phase in phases:
        before = found.get(phase["relative_to"])
        if before is not None:
            matching = (event for event in events if time_of(event) >= before.time and _is(event, phase, found))
            for event in matching:
                found[phase["phase"]] = Seen(time_of(event), event["session_id"], event.get("reason", ""))
                break
    return found


def _is(event: Row, phase: Row, found: dict[str, Seen]) -> bool:
    """Return whether something that happened is what a phase expects, in a session that it may be of."""
    is_state = event.get("kind") == "state_transition" and event["new_state"] == phase.get("expected_state")
    if not is_state and event.get("kind") != phase.get("kind", ""):
        return False
    session, same = event["session_id"], phase.get("same_session_as")
    if same is not None and (same not in found or found[same].session != session):
        return False
    if phase.get("new_session") and session in {one.session for one in found.values()}:
        return False
    return bool(session.startswith(phase.get("session_id_prefix", "")))


def listed(folder: Path) -> Iterator[Row]:
    """Yield a row for each recording: its file, its adapter, its session, and why each phase counts not ("": it does)."""
    for client, agent in (RECORDED | DERIVED).items():
        for path in sorted((folder / client).glob("*/*/transcript.jsonl")):
            expected, told = path.parents[1] / "expected.jsonl", path.with_name("events.jsonl")
            if expected.exists() and told.exists():
                phases, events = read(expected)[1:], read(told)
                session = session_of(path, events)
                yield {
                    "path": str(path.relative_to(folder)),
                    "agent": agent,
                    "recorded": client in RECORDED,
                    "session": session,
                    "phases": _reasons(phases, seen(phases, events), session, any(_waits(path, agent))),
                }


def _waits(path: Path, agent: str) -> Iterator[bool]:
    text = path.read_text(errors="replace").replace('": "', '":"')
    return (record in text for record in _WAITS[agent])


def _reasons(phases: list[Row], found: dict[str, Seen], session: str, waits: bool) -> dict[str, str]:
    """Return why each phase that expects a state does not count."""
    reasons: dict[str, str] = {}
    sessions = {name: one.session for name, one in found.items()}
    has_begun, is_after_hook = False, False
    for phase in phases:
        name, state = phase["phase"], phase.get("expected_state")
        same = phase.get("same_session_as", phase["relative_to"])
        where = sessions.setdefault(name, "" if phase.get("new_session") else sessions.get(same, ""))
        if state is None:
            continue
        reasons[name] = ""
        if where != session:
            reasons[name] = NO_FILE
        elif state == "ready" and not has_begun:
            reasons[name] = BIRTH
        elif state == "waiting" and not waits:
            reasons[name] = NOT_RECORDED
            is_after_hook = name in found and found[name].reason.startswith(_BY_HOOK)
        elif state == "working" and is_after_hook:
            reasons[name] = HOOK
        has_begun = has_begun or (where == session and state != "ready")
        is_after_hook = is_after_hook and (where != session or state == "waiting")
    return reasons


if __name__ == "__main__":
    rows = list(listed(Path(sys.argv[1])))
    FILE.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")
