"""The list of sessions, with the state of each.

For the reading thread.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from operator import itemgetter
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from katod.agents import AGENTS
from katod.agents.toolcalls import one_line
from katod.formats.redact.redactor import redact
from katod.paths import short_paths
from katod.record.currentstate import current_state
from katod.search.query import Query
from katod.serve.index.entry import SessionEntry
from katod.serve.index.sessions import SessionIndex, called, described
from katod.states import Activity, State, is_over

MOST: Final = 200  # sessions of one list
_NAMED: Final = 5  # of those that a search finds by their names
_TITLE: Final = 120
_STALLED: Final = "stalled"
_WAITING: Final = "waiting"
_DIGITS: Final = 20
ListPosition = tuple[int, str] | tuple[()]  # in the list: when a session changed (ns), and which; empty: before all


class ListRow(NamedTuple):
    """One session; times in seconds since 1970."""

    name: str
    agent: str = ""
    title: str = ""
    folder: str = ""  # the end of the project's path, as far back as another one in the list has the same
    branch: str = ""
    state: str = ""  # empty: not known, or long over
    need: str = ""  # what it waits for, as people read it
    since: float = 0.0
    is_recorded: bool = False
    is_recording: bool = False
    halt: str = ""  # why nothing is written although it is being recorded
    is_starred: bool = False
    labels: tuple[str, ...] = ()
    own: str = ""  # the title, if the user gave it
    project: str = ""  # its path, as it is shown

    @property
    def group(self) -> str:
        """The part of the list that it is in."""
        waits = {State.BLOCKED.value: _WAITING, State.WORKING.value: "working", _STALLED: "working"}
        return waits.get(self.state, "recent")


class Chosen(Protocol):
    """What is chosen of the list."""

    def may_have(self, row: ListRow, now: float) -> bool:
        """Return whether a session may be shown, by what is known of it without reading it."""

    def has(self, row: ListRow, now: float) -> bool:
        """Return whether a session is shown."""


class SessionList:
    """The list, made again at each call."""

    def __init__(self, index: SessionIndex, *, redact: bool, halted: Callable[[], str] = str) -> None:
        """`halted` returns why nothing is recorded now, empty if it is."""
        self._index = index
        self._redact = redact
        self._halted = halted
        self.older = ""  # after what the next page begins, empty if there is none
        self._projects = frozenset[str]()  # of the latest sessions

    def look(self) -> list[ListRow]:
        """Return the latest sessions, those that changed last first. Raises LedgerError."""
        rows, self.older = self.page()
        self._projects = frozenset(row.project for row in rows)
        return rows

    def page(self, older: str = "", chosen: Chosen | None = None) -> tuple[list[ListRow], str]:
        """Return the `chosen` sessions after a place in the list, and after what the next page begins.

        Raises LedgerError.
        """
        now, begin = time.time(), _place(older)
        rows, last = list[ListRow](), begin
        for place, entry in self._newest_first():
            if begin and place >= begin:
                continue
            if (row := self._shown(entry, now, chosen)) is None:
                continue
            if len(rows) >= MOST:
                return self._latest_first(rows), _named(last)
            rows.append(row)
            last = place
        return self._latest_first(rows), ""

    def _latest_first(self, rows: Iterable[ListRow]) -> list[ListRow]:
        return sorted(self._with_folders(rows), key=lambda row: -row.since)

    def _with_folders(self, rows: Iterable[ListRow]) -> list[ListRow]:
        """Return the same rows, with as much of each project's path as tells it from others, here or in the list."""
        rows = list(rows)
        folders = _folders(self._projects.union(row.project for row in rows))
        return [row._replace(folder=folders[row.project]) for row in rows]

    def _newest_first(self) -> list[tuple[ListPosition, SessionEntry]]:
        """Return all sessions but sub-agents, each with its place in the list. Raises LedgerError."""
        every = self._index.all().items()
        main = [((entry.changed_ns, name), entry) for name, entry in every if not entry.key.subagent]
        return sorted(main, key=itemgetter(0), reverse=True)

    def _shown(self, entry: SessionEntry, now: float, chosen: Chosen | None) -> ListRow | None:
        """Return a session if it is shown; one that is not, by what is known of it, is not even read."""
        if chosen and not chosen.may_have(self._outline(entry), now):
            return None
        row = self._row(entry, now)
        is_any = row.title or row.is_recorded or row.state
        # What an agent started is listed with what started it.
        is_own = row.group == _WAITING or self._index.main_of(entry) is entry
        return row if is_any and is_own and (chosen is None or chosen.has(row, now)) else None

    def _outline(self, entry: SessionEntry) -> ListRow:
        """Return what is known of a session without reading it, for thousands at a time: all but its name."""
        said, project = self._index.said(entry), _shown_path(entry.beginning().get("cwd", ""), is_redacted=self._redact)
        return ListRow(
            "", AGENTS[entry.key.agent].product, project=project, since=entry.changed_ns / 1e9,
            is_recorded=bool(entry.number), is_starred=said.starred, labels=said.labels, own=said.title,
        )  # fmt: skip

    def still_there(self, names: Iterable[str], chosen: Chosen) -> set[str]:
        """Return those of these sessions that are there and chosen, wherever in the list. Raises LedgerError."""
        now, entries = time.time(), self._index.all()
        return {name for name in names if name in entries and self._shown(entries[name], now, chosen) is not None}

    def named(self, query: Query, chosen: Chosen) -> Iterator[list[ListRow] | None]:
        """Yield None for each session, and at last the latest `chosen` ones with a query in what they are called.

        That is title, labels, project and agent. Raises LedgerError.
        """
        now, rows = time.time(), list[ListRow]()
        for _, entry in self._newest_first():
            if query.matches(self._called(entry)) and (row := self._shown(entry, now, chosen)) is not None:
                rows.append(row)
            if len(rows) == _NAMED:
                break
            yield None
        yield self._with_folders(rows)

    def is_chosen(self, entry: SessionEntry, chosen: Chosen) -> bool:
        """Return whether a session is one of the chosen, or a sub-agent of one. Raises LedgerError."""
        return self._shown(self._index.main_of(entry), time.time(), chosen) is not None

    def row(self, entry: SessionEntry) -> ListRow:
        """Return one session."""
        return self._with_folders([self._row(entry, time.time())])[0]

    def family(self, entry: SessionEntry) -> tuple[list[tuple[int, ListRow]], int]:
        """Return the sessions that a session's agent started, and those of these, each with its depth below the first.

        Of several, the oldest one comes first; of very many, the first ones are returned, and how many more there are.
        Raises LedgerError.
        """
        now, started, found = time.time(), self._index.started(entry.key.agent), list[tuple[int, SessionEntry]]()
        waiting = [(1, one) for one in _last_first(started.pop(entry.name, ()))]
        while waiting:
            depth, one = waiting.pop()
            if one is not entry:
                found.append((depth, one))
                waiting += [(depth + 1, below) for below in _last_first(started.pop(one.name, ()))]
        return [(depth, self._row(one, now)) for depth, one in found[:MOST]], max(0, len(found) - MOST)

    def beside(self, entry: SessionEntry, *, is_older: bool) -> Iterator[SessionEntry | None]:
        """Yield None for each session that is looked at, and last the one of the same project that is next in the list.

        Raises LedgerError.
        """
        now, here, begin = time.time(), described(entry).cwd, (entry.changed_ns, entry.name)
        newest_first = self._newest_first()
        beyond = newest_first if is_older else newest_first[::-1]
        for place, one in beyond:
            if place < begin if is_older else place > begin:
                yield None
                if described(one).cwd == here and self._shown(one, now, None) is not None:
                    yield one
                    return

    def read_all(self) -> Iterator[SessionEntry]:
        """Yield each session after its beginning was read, the newest first: what is chosen by it is then known.

        Raises LedgerError.
        """
        for _, entry in self._newest_first():
            if entry.paths:
                described(entry)
                yield entry

    def _row(self, entry: SessionEntry, now: float) -> ListRow:
        if not is_over(entry.changed_ns / 1e9, now):
            entry.refresh()
        about, state = called(entry), _doing(entry, now)
        say = redact if self._redact else str
        row, is_recording, (doing, need) = self._outline(entry), self._index.is_recording(entry), _shown(state, say)
        return row._replace(
            name=entry.name, title=say(one_line(row.own or about.list_title, _TITLE)),
            project=_shown_path(about.cwd, is_redacted=self._redact), branch=say(about.start.branch),
            state=doing, need=need, is_recording=is_recording, halt=self._halted() if is_recording else "",
        )  # fmt: skip

    def _called(self, entry: SessionEntry) -> str:
        about, said = described(entry), self._index.said(entry)
        labels = "".join(f" #{label}" for label in said.labels)
        return f"{said.title or about.list_title}{labels}\n{about.cwd}\n{AGENTS[entry.key.agent].product}"


def _last_first(entries: Iterable[SessionEntry]) -> list[SessionEntry]:
    return sorted(entries, key=lambda one: (one.changed_ns, one.name), reverse=True)


@lru_cache(maxsize=1024)  # there are many sessions, but few projects
def _shown_path(cwd: str, *, is_redacted: bool) -> str:
    """Return the path of a project, as it is shown."""
    path = cwd.rstrip("/")
    return redact(path) if is_redacted else path


@lru_cache(maxsize=16)
def _folders(projects: frozenset[str]) -> Mapping[str, str]:
    """Return what tells each of some projects from the others: the end of its path."""
    paths = sorted(projects)
    return dict(zip(paths, short_paths(paths, str(Path.home())), strict=True))


def _named(place: ListPosition) -> str:
    return f"{place[0]}.{place[1]}" if place else ""


def _place(name: str) -> ListPosition:
    """Return the place in the list that has this name, empty if there is no such name."""
    changed, _, session = name.partition(".")
    return (int(changed), session) if changed.isdecimal() and len(changed) < _DIGITS and session else ()


def _shown(doing: Activity | None, say: Callable[[str], str]) -> tuple[str, str]:
    """Return the state of a session, and what it waits for, as they are shown."""
    if doing is None:
        return "", ""
    need = say(doing.need.words) if doing.state is State.BLOCKED else doing.word if doing.is_quiet else ""
    return (_STALLED if doing.stalled else doing.state.value), need


def _doing(entry: SessionEntry, now: float) -> Activity | None:
    return current_state(entry.files, now) if entry.files else None
