"""Which sessions of the list a page shows, as its address says. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple, TypeVar
from urllib.parse import urlencode

from katod.agents import AGENTS
from katod.paths import name_of
from katod.serve.page.sessionlist import ListRow
from katod.states import is_over

T = TypeVar("T")
DAYS: Final = {"1": "Last day", "7": "Last week", "30": "Last month"}
STATES: Final = {"waiting": "Waiting for you", "working": "Working"}
BY_PROJECT: Final = "project"
_DAY: Final = 86400.0  # seconds
_LONGEST: Final = 4096  # characters of a value in an address


class ListFilter(NamedTuple):
    """What is chosen; an empty field restricts nothing. `by` is what the list is grouped by, empty for states."""

    agent: str = ""  # the product; an address may also have the name that katod's settings use
    project: str = ""  # its path; an address may also have the name of its folder
    label: str = ""
    days: str = ""  # in which a session has changed
    starred: str = ""  # "1" for those with a star
    recorded: str = ""  # "1" for those that were recorded
    state: str = ""  # the group of the list: "waiting" for the user, or "working"
    by: str = ""

    @classmethod
    def of(cls, parameters: Mapping[str, str]) -> "ListFilter":
        """Return what the parameters of an address choose; what is not known there is left out."""
        given = {name: parameters.get(name, "")[:_LONGEST] for name in cls._fields}
        given["agent"] = AGENTS[given["agent"]].product if given["agent"] in AGENTS else given["agent"]
        known = {"days": DAYS, "starred": {"1"}, "recorded": {"1"}, "state": STATES, "by": {BY_PROJECT}}
        return cls(**{name: value for name, value in given.items() if name not in known or value in known[name]})

    def address(self, path: str, **more: str) -> str:
        """Return an address with what is chosen, and with more parameters before that."""
        chosen = {name: value for name, value in (more | self._asdict()).items() if value}
        return f"{path}?{urlencode(chosen, errors='replace')}" if chosen else path

    @property
    def is_empty(self) -> bool:
        """Whether all sessions are shown."""
        return not any(self._replace(by=""))

    def may_have(self, row: ListRow, now: float) -> bool:
        """Return whether a session may be shown, by what is known of it without reading it."""
        is_new = not self.days or now - row.since <= int(self.days) * _DAY
        is_of = self.agent in ("", row.agent) and (not self.recorded or row.is_recorded) and self._may_be_of(row)
        return is_new and is_of and self._is_said(row) and self._may_be_in_state(row, now)

    def has(self, row: ListRow, now: float) -> bool:
        """Return whether a session is shown."""
        return self.may_have(row, now) and self._is_of(row) and self.state in ("", row.group)

    def _is_said(self, row: ListRow) -> bool:
        return (not self.starred or row.is_starred) and (not self.label or self.label in row.labels)

    def _may_be_of(self, row: ListRow) -> bool:
        return not row.project or self._is_of(row)

    def _is_of(self, row: ListRow) -> bool:
        return self.project in ("", row.project) or self.project == name_of(row.project)

    def _may_be_in_state(self, row: ListRow, now: float) -> bool:
        return not self.state or not is_over(row.since, now)


class ListChoices(NamedTuple):
    """What there is to choose from in the latest sessions, the most recent first."""

    agents: Sequence[str]
    projects: Sequence[tuple[str, str]]  # the path of each, and what it is called
    labels: Sequence[str]

    @classmethod
    def of(cls, rows: Sequence[ListRow]) -> "ListChoices":
        """Return what these sessions have."""
        projects = ((row.project, row.folder) for row in rows if row.project)
        labels = (label for row in rows for label in row.labels)
        return cls(_each(row.agent for row in rows), _each(projects), _each(labels))


def _each(found: Iterable[T]) -> list[T]:
    return list(dict.fromkeys(filter(None, found)))
