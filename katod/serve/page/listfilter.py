"""Which sessions of the list a page shows, as its address says. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple
from urllib.parse import urlencode

from katod.agents import AGENTS
from katod.serve.page.sessionlist import ListRow
from katod.states import is_over

DAYS: Final = {"1": "Last day", "7": "Last week", "30": "Last month"}
STATES: Final = {"waiting": "Waiting for you", "working": "Working"}
BY_PROJECT: Final = "project"
_DAY: Final = 86400.0  # seconds
_LONGEST: Final = 200  # characters of a value in an address


class ListFilter(NamedTuple):
    """What is chosen; an empty field restricts nothing. `by` is what the list is grouped by, empty for states."""

    agent: str = ""  # the product; an address may also have the name that katod's settings use
    project: str = ""  # its folder's name
    label: str = ""
    days: str = ""  # in which a session has changed
    starred: str = ""  # "1" for those with a star
    recorded: str = ""  # "1" for those that were recorded
    state: str = ""  # the group of the list: "waiting" for the person, or "working"
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
        return f"{path}?{urlencode(chosen)}" if chosen else path

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
        return self.may_have(row, now) and self.project in ("", row.folder) and self.state in ("", row.group)

    def _is_said(self, row: ListRow) -> bool:
        return (not self.starred or row.is_starred) and (not self.label or self.label in row.labels)

    def _may_be_of(self, row: ListRow) -> bool:
        return not self.project or row.folder in ("", self.project)

    def _may_be_in_state(self, row: ListRow, now: float) -> bool:
        return not self.state or not is_over(row.since, now)


class ListChoices(NamedTuple):
    """What there is to choose from in the latest sessions, the most recent first."""

    agents: Sequence[str]
    projects: Sequence[str]
    labels: Sequence[str]

    @classmethod
    def of(cls, rows: Sequence[ListRow]) -> "ListChoices":
        """Return what these sessions have."""
        labels = (label for row in rows for label in row.labels)
        return cls(_each(row.agent for row in rows), _each(row.folder for row in rows), _each(labels))


def _each(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(filter(None, names)))
