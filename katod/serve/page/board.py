"""All sessions as the list shows them, with what each is doing: those that wait for their person first.

For the reading thread.
"""

import os
import time
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Final, NamedTuple

from katod.agents import AGENTS
from katod.agents.toolcalls import one_line
from katod.formats.redact.redactor import redact
from katod.record.doing import doing
from katod.serve.known import Known
from katod.serve.shelf import Shelf, described
from katod.serve.stats import renew
from katod.states import Doing, State, is_over

MOST: Final = 200  # sessions of one list
_NAMED: Final = 20  # of those that a search finds by their names
_TITLE: Final = 120
_STALLED: Final = "stalled"
_DIGITS: Final = 20
Place = tuple[int, str] | tuple[()]  # in the list: when a session changed (ns), and which; empty: before all


class Row(NamedTuple):
    """One session; times in seconds since 1970."""

    name: str
    agent: str = ""
    title: str = ""
    folder: str = ""
    branch: str = ""
    state: str = ""  # empty: not known, or long over
    need: str = ""  # what it waits for, as people read it
    since: float = 0.0
    is_recorded: bool = False
    is_recording: bool = False
    halt: str = ""  # why nothing is written although it is being recorded

    @property
    def group(self) -> str:
        """The part of the list that it is in."""
        waits = {State.BLOCKED.value: "waiting", State.WORKING.value: "working", _STALLED: "working"}
        return waits.get(self.state, "recent")


class Board:
    """The list, looked at again whenever somebody asks."""

    def __init__(self, shelf: Shelf, *, redact: bool, halted: Callable[[], str] = str) -> None:
        """`halted` returns why nothing is recorded now, empty if it is."""
        self._shelf = shelf
        self._redact = redact
        self._halted = halted
        self.older = ""  # after what the next page begins, empty if there is none

    def look(self) -> list[Row]:
        """Return the latest sessions, those that changed last first. Raises LedgerError."""
        rows, self.older = self.page()
        return rows

    def page(self, older: str = "") -> tuple[list[Row], str]:
        """Return the sessions after a place in the list, and after what the next page begins. Raises LedgerError."""
        now, begin = time.time(), _place(older)
        main = [known for known in self._shelf.all().values() if not known.key.subagent]
        rows, last = list[Row](), begin
        for known in sorted(main, key=_order, reverse=True):
            if begin and _order(known) >= begin:
                continue
            if len(rows) >= MOST:
                return sorted(rows, key=lambda row: -row.since), _named(last)
            row, last = self._row(known, now), _order(known)
            if row.title or row.is_recorded or row.state:
                rows.append(row)
        return sorted(rows, key=lambda row: -row.since), ""

    def named(self, words: Iterable[str]) -> list[Row]:
        """Return the latest sessions whose title, project or agent has all words. Raises LedgerError."""
        folded = [word.casefold() for word in words]
        main = (known for known in self._shelf.all().values() if not known.key.subagent)
        found = (
            known for known in sorted(main, key=_order, reverse=True) if all(word in _called(known) for word in folded)
        )
        return [self.row(known) for known in islice(found, _NAMED)]

    def row(self, known: Known) -> Row:
        """Return one session."""
        return self._row(known, time.time())

    def children(self, known: Known) -> list[Row]:
        """Return the sessions that a session started, the first one first. Raises LedgerError."""
        mine = [
            one for one in self._shelf.all().values() if one.key.subagent and one.key._replace(subagent="") == known.key
        ]
        now = time.time()
        return sorted((self._row(one, now) for one in mine), key=lambda row: row.since)

    def _row(self, known: Known, now: float) -> Row:
        if not is_over(known.changed_ns / 1e9, now):
            renew(known)
        about, state = described(known), _doing(known, now)
        say = redact if self._redact else str
        is_recording = self._shelf.is_recording(known)
        return Row(
            known.name, AGENTS[known.key.agent].product, say(one_line(about.best_title, _TITLE)),
            say(os.path.basename(about.cwd.rstrip("/"))), say(about.start.branch),
            *_shown(state, say),
            known.changed_ns / 1e9, bool(known.number), is_recording,
            self._halted() if is_recording else "",
        )  # fmt: skip


def _called(known: Known) -> str:
    about = described(known)
    return f"{about.best_title}\n{about.cwd}\n{AGENTS[known.key.agent].product}".casefold()


def _order(known: Known) -> Place:
    return known.changed_ns, known.name


def _named(place: Place) -> str:
    return f"{place[0]}.{place[1]}" if place else ""


def _place(name: str) -> Place:
    """Return the place in the list that has this name, empty if there is no such name."""
    changed, _, session = name.partition(".")
    return (int(changed), session) if changed.isdecimal() and len(changed) < _DIGITS and session else ()


def _shown(doing: Doing | None, say: Callable[[str], str]) -> tuple[str, str]:
    """Return the state of a session, and what it waits for, as they are shown."""
    if doing is None:
        return "", ""
    need = say(doing.need.words) if doing.state is State.BLOCKED else ""
    return (_STALLED if doing.stalled else doing.state.value), need


def _doing(known: Known, now: float) -> Doing | None:
    return doing(known.files, now) if known.files else None


class Changes:
    """What has changed in a list since somebody saw it: rows by the number of the look at which they changed."""

    def __init__(self) -> None:
        self.number = 0
        self._rows: dict[str, tuple[int, Row]] = {}
        self._gone: dict[str, int] = {}

    def take(self, rows: Iterable[Row]) -> bool:
        """Take note of the list as it is now; return whether anything changed."""
        now = {row.name: row for row in rows}
        changed = [row for name, row in now.items() if name not in self._rows or self._rows[name][1] != row]
        gone = [name for name in self._rows if name not in now]
        if not changed and not gone:
            return False
        self.number += 1
        for row in changed:
            self._rows[row.name] = self.number, row
            self._gone.pop(row.name, None)
        for name in gone:
            del self._rows[name]
            self._gone[name] = self.number
        return True

    def since(self, number: int) -> tuple[list[Row], list[str]]:
        """Return the rows that changed after a look, oldest change first, and the names of those that are gone."""
        rows = sorted((row for seen, row in self._rows.values() if seen > number), key=lambda row: row.since)
        return rows, [name for name, seen in self._gone.items() if seen > number]
