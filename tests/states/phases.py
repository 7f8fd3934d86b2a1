"""The list of phases: `phases.json`, made once by `python -m tests.states.phases FOLDER`, before anything was replayed.

FOLDER holds `<client>/<scenario>/expected.jsonl`: what has to be seen in a scenario, phase after phase, written before
it was played. Beside it are its recordings (see `cases`). After a line about the file, each line is one phase: a state
(`expected_state`) that a session changes to, or something else that happens (`kind`), at or after the phase that it is
`relative_to` (`start`: the first event), at most `max_delay_ms` after it. It belongs to one session: that of another
phase (`same_session_as`), one not seen before (`new_session`), or whichever comes first. `duration_at_least_ms` is how
long the state has to hold; `invariants` are changes that must not follow, in that time or else ever.

A phase that expects the state of its anchor is about the same change: it only has more to hold.

Every phase that expects a state is listed, in each recording of its scenario. It is one of the recorded session, unless
it is one of something that has no file there, a process that has just been started (`PROCESS`) or another session
(`OTHER`), or never happened, as the recording was given up before: then the other program did not see it either
(`NEVER`). Those after the start that are of whichever comes first are of the recorded session: katod reads files, and knows
of no process without one.

Of the phases of the recorded session, the file cannot show some (`UNSHOWN`):

* it says that a session waits, and the file has none of the records by which its client says so: it was heard from a
  hook (`HOOK`), or guessed from the words of an answer (`WORDS`); and it says that it works again after such a wait: in
  the file it never ceased to (`NO_WAIT`);
* it needs the end of a turn that the client does not record, and the next prompt comes before that is assumed (`DOUBT`).

Others are left out (`LEFT_OUT`):

* what the notes of its scenario call an artefact: a turn that a client goes on with by itself is done in between
  (`GOES_ON`); or what is one: a turn that is written at once works twice, two prompts were sent as one, the start of a
  client is work (`ARTEFACT`);
* the recording was given up within the turn, which the other program took for its end (`CUT`).

Which session a phase belongs to, and when one that does not count was there, is taken from what the other program saw.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from tests.states.cases import DERIVED, RECORDED, Row, read, session_of, time_of

FILE: Final = Path(__file__).with_name("phases.json")
PROCESS: Final = "a process without a file"
OTHER: Final = "another session"
HOOK: Final = "heard from a hook"
WORDS: Final = "guessed from words"
NO_WAIT: Final = "after a wait that is not recorded"
NEVER: Final = "never happened"
DOUBT: Final = "the next prompt came within the doubt"
GOES_ON: Final = "the client goes on by itself"
ARTEFACT: Final = "an artefact of the other program"
CUT: Final = "the file ends within the turn"
UNSHOWN: Final = (HOOK, WORDS, NO_WAIT, DOUBT)  # what the file cannot show
LEFT_OUT: Final = (GOES_ON, ARTEFACT, CUT)  # what need not be seen
NOT_ITS_OWN: Final = (PROCESS, OTHER, NEVER)  # of the session in the recording
# By the beginning of a recording's path: phases that are left out because of what is said in the recording, or its notes.
_KNOWN: Final = {
    "antigravity/1-3_long-idle-live-session/": dict.fromkeys(["warmup_turn_start", "idle_window"], DOUBT),
    "antigravity/2-5_synchronous-slash-command/": dict.fromkeys(["slash_window"], DOUBT),
    "antigravity/2-6_long-agentic-session-stress/": dict.fromkeys(["turn2_start", "turn3_start", "turn4_start"], DOUBT),
    "antigravity/5-3_model-switch-midsession/": dict.fromkeys(["t2_start"], DOUBT),
    "antigravity/5-8_task-estimate-marker/": dict.fromkeys(["t2_start", "t3_start", "t4_start", "t5_start"], DOUBT),
    "claudecode/2-20_user-esc-interrupt/2026-05-18": dict.fromkeys(["interrupt_to_ready"], NEVER),
    "claudecode/2-6_long-agentic-session-stress/2026-05-18": dict.fromkeys(
        ["t1_end", "t2_start", "t2_end", "t3_start", "t3_end", "t4_start", "t4_end"], NEVER
    ),
    "claudecode/2-7_autonomous-loop/2026-05-18-22-47-11": dict.fromkeys(
        ["iter2_turn_start", "iter2_turn_end", "loop_terminated"], NEVER
    ),
    "claudecode/5-3_model-switch-midsession/2026-05-18": dict.fromkeys(["t2_start", "t2_end"], NEVER),
    "copilot/2-8_autonomous-loop-iteration-limit/": dict.fromkeys(
        ["iter1_end", "cont1_end", "cont2_end", "cont3_end"], GOES_ON
    ),
    "pi/2-5_synchronous-slash-command/": dict.fromkeys(["turn_start2"], ARTEFACT),
    "pi/2-15_shell-escape-command/": dict.fromkeys(["turn_start2"], ARTEFACT),
    "gemini-cli/1-3_long-idle-live-session/": dict.fromkeys(["idle_window"], DOUBT),
    "gemini-cli/1-6_checkpoint-rewind/": dict.fromkeys(["turn_working"], ARTEFACT),
    "gemini-cli/2-7_autonomous-loop/": dict.fromkeys(["iter2_start", "iter3_start"], DOUBT),
    "gemini-cli/2-15_shell-escape-command/2026-06-12": dict.fromkeys(["final_turn_start"], ARTEFACT),
    "gemini-cli/2-15_shell-escape-command/2026-06-13": dict.fromkeys(["final_turn_start"], DOUBT),
    "gemini-cli/2-16_oversized-transcript-line/": dict.fromkeys(["turn_end"], CUT),
    "gemini-cli/5-3_model-switch-midsession/": dict.fromkeys(["t2_start"], DOUBT),
}  # fmt: skip
# The records that say that a session waits.
_WAITS: Final = {
    "antigravity": ('"type":"ASK_QUESTION"',),
    "codex": ('"name":"request_user_input"', '"item":{"type":"Plan"'),
    "copilot": ('"type":"permission.requested"', '"toolName":"ask_user"'),
    "claude": ('"name":"AskUserQuestion"',),
    "gemini": ('"name":"ask_user"',),
    "pi": (),
}
_PROCESS: Final = "proc-"
_BY_HOOK: Final = "permission prompt open"


class Seen(NamedTuple):
    """Where the other program saw a phase."""

    time: float  # seconds since 1970
    session: str
    reason: str = ""


def seen(phases: list[Row], events: list[Row]) -> dict[str, Seen]:
    """Return where the other program saw each phase that it saw, whatever its delay."""
    found = {"start": Seen(time_of(events[0]), "")}
    processes = _of_processes(phases)
    for phase in phases:
        before = found.get(phase["relative_to"])
        if before is not None:
            matching = (
                event for event in events if time_of(event) >= before.time and _is(event, phase, found, processes)
            )
            for event in matching:
                found[phase["phase"]] = Seen(time_of(event), event["session_id"], event.get("reason", ""))
                break
    return found


def _of_processes(phases: list[Row]) -> set[str]:
    """Return the phases that may be of a process: that something is there at the start, and that it lasts."""
    states = [phase for phase in phases if "expected_state" in phase]
    found = {phase["phase"] for phase in states if phase.get("session_id_prefix") == _PROCESS}
    for n, phase in enumerate(states):
        is_same = n == 0 or phase["relative_to"] in found
        if is_same and phase["expected_state"] == "ready" and "new_session" not in phase:
            found.add(phase["phase"])
    return found


def _is(event: Row, phase: Row, found: dict[str, Seen], processes: set[str]) -> bool:
    """Return whether something that happened is what a phase expects, in a session that it may be of."""
    is_state = event.get("kind") == "state_transition" and event["new_state"] == phase.get("expected_state")
    if not is_state and event.get("kind") != phase.get("kind", ""):
        return False
    session, same = event["session_id"], phase.get("same_session_as")
    if is_state and session.startswith(_PROCESS) and phase["phase"] not in processes:
        return False
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
                session, place = session_of(path, events), str(path.relative_to(folder))
                reasons = _reasons(phases, seen(phases, events), session, any(_waits(path, agent)))
                yield {"path": place, "agent": agent, "session": session, "phases": reasons | _known(place)}


def _known(place: str) -> dict[str, str]:
    return {name: why for start, row in _KNOWN.items() if place.startswith(start) for name, why in row.items()}


def _waits(path: Path, agent: str) -> Iterator[bool]:
    text = path.read_text(errors="replace").replace('": "', '":"')
    return (record in text for record in _WAITS[agent])


def _reasons(phases: list[Row], found: dict[str, Seen], session: str, waits: bool) -> dict[str, str]:
    """Return why each phase that expects a state does not count."""
    reasons: dict[str, str] = {}
    sessions = {name: one.session for name, one in found.items()}
    is_without_wait = False
    for phase in phases:
        name, state = phase["phase"], phase.get("expected_state")
        same = phase.get("same_session_as", phase["relative_to"])
        where = sessions.setdefault(name, "" if phase.get("new_session") else sessions.get(same, ""))
        if state is None:
            continue
        reasons[name] = ""
        if where.startswith(_PROCESS):
            reasons[name] = PROCESS
        elif where not in ("", session) or (where == "" and any(row == OTHER for row in reasons.values())):
            reasons[name] = OTHER
        elif state == "waiting" and not waits:
            is_without_wait = True
            reasons[name] = HOOK if name in found and found[name].reason.startswith(_BY_HOOK) else WORDS
        elif state == "working" and is_without_wait and HOOK in reasons.values():
            reasons[name] = NO_WAIT
        is_without_wait = is_without_wait and state == "waiting"
    return reasons


if __name__ == "__main__":
    rows = list(listed(Path(sys.argv[1])))
    FILE.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")
