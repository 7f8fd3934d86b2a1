"""The list of cases: `cases.json`, made once by `python -m tests.states.cases FOLDER`, before anything was replayed.

FOLDER holds `<client>/<scenario>/<recording>/{transcript.jsonl, events.jsonl}`: a session file, and what a program that
watched it said, with the size that the file had. The rule by which a case is listed:

* It is a change of state (`state_transition`) of the session whose file is there: its id is in the file.
* Its client writes to the session file what the new state is (`RECORDED`), or the state follows from the last record
  (`DERIVED`). The former are those that have to be met; the latter are counted beside them.
* The file can show the new state: not one that was heard from a hook, or guessed because a text ended with a question,
  and not that a session was there before anything was in it.
* Recordings of OpenCode are left out, since they are not in its own form, and those of clients that katod cannot read.
"""

import json
import sys
from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, Final

FILE: Final = Path(__file__).with_name("cases.json")
RECORDED: Final = {"codex": "codex", "copilot": "copilot"}
DERIVED: Final = {"antigravity": "antigravity", "claudecode": "claude", "gemini-cli": "gemini", "pi": "pi"}
# Reasons, as their beginnings, that are not in the file.
_ELSEWHERE: Final = ("permission prompt open", "turn ended with question", "tool permission denied")
Row = dict[str, Any]


def read(path: Path) -> list[Row]:
    """Return the rows of a file of JSON lines."""
    return [json.loads(line) for line in path.read_text().splitlines() if line.strip()]


def time_of(event: Row) -> float:
    """Return when something happened, in seconds since 1970."""
    return datetime.fromisoformat(event["ts"]).timestamp()


def listed(folder: Path) -> Iterator[Row]:
    """Yield the cases, one row for each session: its file, its adapter, and what was said of it when, in order."""
    for client, agent in (RECORDED | DERIVED).items():
        for path in sorted((folder / client).glob("*/*/transcript.jsonl")):
            if not path.with_name("events.jsonl").exists():
                continue
            events = read(path.with_name("events.jsonl"))
            said = _said(events, session_of(path, events))
            if said:
                yield {
                    "path": str(path.relative_to(folder)),
                    "agent": agent,
                    "recorded": client in RECORDED,
                    "said": said,
                }


def session_of(path: Path, events: list[Row]) -> str:
    """Return the id of the session whose file this is: of those that are in it, the one that ended with its size.

    If none is, as a client need not write it, it is the one of all that did.
    """
    text, size = path.read_text(errors="replace"), path.stat().st_size
    sizes: dict[str, int] = defaultdict(int)
    for row in events:
        if row.get("kind") == "transcript_activity":
            sizes[row["session_id"]] = max(sizes[row["session_id"]], row.get("file_size", 0))
    there = [name for name in sizes if name[-36:] in text or name.rpartition("-")[2] in text]
    return min(there or sizes, key=lambda name: abs(sizes[name] - size), default="")


def _said(events: list[Row], session: str) -> list[Row]:
    """Return the number and the new state of each change that counts."""
    changes = [row for row in events if row.get("kind") == "state_transition" and row["session_id"] == session]
    return [
        {"seq": row["seq"], "state": row["new_state"]}
        for row in changes
        if not row.get("reason", "").startswith(_ELSEWHERE) and (row.get("prev_state") or row["new_state"] != "ready")
    ]


if __name__ == "__main__":
    rows = list(listed(Path(sys.argv[1])))
    FILE.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")
