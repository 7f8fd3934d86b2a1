"""What became of the native records of a session: counted as they are read, summed over a range of a recording. Pure.

A record is told, left out, or not understood, whatever else it is; so the sums of these are all records.
"""

from collections.abc import Iterable
from typing import Any, Final

from katod import events as ev
from katod.events import Event

TOLD: Final = "told"
_LEFT_OUT: Final = "leftOut"
_NOT_UNDERSTOOD: Final = "notUnderstood"
_GAPS: Final = "gaps"
_NAMED: Final = (_LEFT_OUT, _NOT_UNDERSTOOD, _GAPS)
_MOST: Final = 128  # names of one source; what has another one is counted together
_LONGEST: Final = 80  # characters of a name: it is the agent's, or of whoever wrote its file
_OTHERS: Final = "…"
Counts = dict[str, int]  # by what became of a record, and its name if it was not told: `leftOut/progress`
Became = tuple[str, ...]  # the keys of the counts to which one record adds


def told(events: Iterable[Event]) -> Became:
    """Return what became of a record with these events: if katod keeps a part of it raw, it is not understood."""
    gaps: Became = ()
    for event in events:
        if event.kind == ev.PROVIDER_RAW:
            return (_key(_NOT_UNDERSTOOD, event.payload["rawType"]),)
        if event.kind == ev.ASSISTANT_THINKING and "encrypted" in event.payload:
            gaps = (_key(_GAPS, "encryptedThinking"),)
    return (TOLD, *gaps)


def left_out(name: str) -> Became:
    """Return what became of a record of this name that has no event."""
    return (_key(_LEFT_OUT, name),)


def _key(group: str, name: str) -> str:
    return f"{group}/{name[:_LONGEST]}"


class RecordTally:
    """Counts the records of a session, source by source, and says how many there were up to the last event.

    A record that has no event counts from the next event on: so what is said of an event is the same whenever it is
    asked, and however many records were read with it.
    """

    __slots__ = ("_before", "_here", "_last", "_since")

    def __init__(self, kept: dict[str, Any] | None = None) -> None:
        """Start before the first record, or go on from `kept()`."""
        kept = kept or {}
        self._before: dict[str, Counts] = kept.get("before", {})  # the record of the last event, by source
        self._since: dict[str, Counts] = kept.get("since", {})  # that record, but for the last one read
        # The record of the last event, and the last one read, if that is a later one: source, what became of it.
        self._here: tuple[str, Became] | None = _read(kept.get("here"))
        self._last: tuple[str, Became] | None = _read(kept.get("last"))

    def kept(self) -> dict[str, Any]:
        """Return the state to resume from, as JSON."""
        row: dict[str, Any] = {"before": self._before, "since": self._since}
        row |= {name: [one[0], [*one[1]]] for name, one in (("here", self._here), ("last", self._last)) if one}
        return {name: value for name, value in row.items() if value}

    def begin(self, source: str) -> None:
        """Forget the records of a source: it is read from its beginning."""
        for counts in (self._before, self._since):
            counts.pop(source, None)
        self._here, self._last = (None if one and one[0] == source else one for one in (self._here, self._last))

    def count(self, source: str, became: Became) -> None:
        """Count the next record of a source."""
        if self._last:
            _add(self._since, *self._last)
        self._last = source, became

    def pass_event(self) -> None:
        """Note that an event passes, which is of the last record."""
        if self._last is None:
            return
        if self._here:
            _add(self._before, *self._here)
        for source, counts in self._since.items():
            _sum(self._before.setdefault(source, {}), counts)
        self._since, self._here, self._last = {}, self._last, None

    def before(self) -> Counts:
        """Return how many records there were before that of the last event."""
        total: Counts = {}
        for counts in self._before.values():
            _sum(total, counts)
        return total

    def up_to(self) -> Counts:
        """Return how many records there were up to that of the last event."""
        total = self.before()
        _sum(total, dict.fromkeys(self._here[1] if self._here else (), 1))
        return total


def _read(row: Any) -> tuple[str, Became] | None:
    return (row[0], tuple(row[1])) if row else None


def _add(sources: dict[str, Counts], source: str, became: Became) -> None:
    counts = sources.setdefault(source, {})
    for key in became:
        _count(counts, key, 1)


def _sum(total: Counts, counts: Counts) -> None:
    for key, number in counts.items():
        _count(total, key, number)


def _count(counts: Counts, key: str, number: int) -> None:
    if key not in counts and len(counts) >= _MOST:
        key = _key(key.partition("/")[0], _OTHERS)
    counts[key] = counts.get(key, 0) + number


def receipt(since: Counts, until: Counts) -> dict[str, Any]:
    """Return the payload of a receipt for the records counted between two places; empty if there are none.

    If there are fewer of any at the second place, the agent wrote its file again in between: those that the file has
    now, up to there, are counted, and `rewritten` says so.
    """
    is_rewritten = any(until.get(key, 0) < number for key, number in since.items())
    found = until if is_rewritten else {key: n - since.get(key, 0) for key, n in until.items()}
    groups: dict[str, Counts] = {name: {} for name in _NAMED}
    for key, number in sorted(found.items()):
        group, _, name = key.partition("/")
        if name and number:
            groups[group][name] = number
    records = found.get(TOLD, 0) + sum(sum(groups[name].values()) for name in (_LEFT_OUT, _NOT_UNDERSTOOD))
    if not records:
        return {}
    row: dict[str, Any] = {"records": records, "told": found.get(TOLD, 0), **groups}
    return row | ({"rewritten": True} if is_rewritten else {})
