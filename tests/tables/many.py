"""Many small sessions of three agents, in several projects and months: with forks, failures, edits, recorded costs."""

from datetime import date, timedelta
from pathlib import Path
from typing import Any, Final

import orjson

from tests.support.records import Claude, Codex, Pi
from tests.support.records.base import calls, result, says, user

_FIRST: Final = date(2025, 11, 3)
_DAY: Final = b"2026-02-10"  # of the records of the makers
_PROJECTS: Final = 7
_WORDS: Final = ("lantern", "basket", "harbour", "orchard", "compass")
Row = dict[str, Any]


class Home:
    """Where the sessions are."""

    def __init__(self, home: Path) -> None:
        self.home = home


def fill(home: Path, sessions: int) -> list[Path]:
    """Create so many sessions, and return their files."""
    where, before, paths = Home(home), list[Row](), list[Path]()
    for number in range(sessions):
        make = (Claude, Claude, Pi, Claude, Codex)[number % 5]
        name = f"{number:08x}-8a53-4c3e-9b5e-{number:012x}"
        cwd = f"/home/me/work-{number % _PROJECTS}"
        one = make(where, name, cwd=cwd, start=number * 100)
        rows = _rows(one, number)
        if isinstance(one, Claude):
            copies = [row | {"sessionId": name, "cwd": cwd} for row in before if row["type"] == "assistant"]
            before, rows = rows, [*(copies if number % 10 == 3 else ()), *rows]
        day = (_FIRST + timedelta(days=number * 13 % 180)).isoformat().encode()
        lines = b"".join(orjson.dumps(row) + b"\n" for row in [*one.opening(), *rows])
        one.path.write_bytes(lines.replace(_DAY, day))
        paths.append(one.path)
    return paths


def _rows(one: Any, number: int) -> list[Row]:
    word, call = _WORDS[number % len(_WORDS)], f"call-{number}"
    rows = [row for said in (user(f"Where is the {word} of {number}?"), says("I look.")) for row in one.records(said)]
    if isinstance(one, Claude):
        rows += _worked(one, number, call)
    else:
        rows += [row for said in (calls(call, f"ls {word}"), result(call, "a file")) for row in one.records(said)]
    rows += one.records(says(f"The {word} is in line {number}."))
    if isinstance(one, Pi):
        for row in rows:
            if row.get("message", {}).get("usage"):
                row["message"]["usage"] |= {"cost": {"total": 0.001 * (number % 37 + 1)}}
    return rows


def _worked(one: Claude, number: int, call: str) -> list[Row]:
    """Return calls with their results: every eleventh one fails, every third one is an edit."""
    path = f"/home/me/work-{number % _PROJECTS}/src/file{number % 11}.py"
    used = {"input_tokens": 3, "cache_read_input_tokens": 900 + number, "cache_creation_input_tokens": number % 97}
    message = {"usage": used | {"output_tokens": number % 113}, "model": f"claude-{'opus' if number % 2 else 'sonnet'}"}
    if number % 3 == 0:
        given = {"file_path": path, "old_string": "one\ntwo\nthree", "new_string": "one\n2\n3\n4"}
        block = {"type": "tool_use", "id": call, "name": "Edit", "input": given}
    else:
        block = {"type": "tool_use", "id": call, "name": "Bash", "input": {"command": f"grep -n {number} {path}"}}
    return [one.says(block, message=message), one.result(call, f"result {number}", error=number % 11 == 0)]
