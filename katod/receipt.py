"""What became of the native records of a session: counted as they are read, summed over a range of a recording. Pure.

Each record is counted once: as told, repeated, left out, or not understood.
"""

from collections.abc import Iterable
from typing import Any, Final

from katod import events as ev
from katod.events import Event

TOLD: Final = "told"
_REPEATED: Final = "repeated"
_LEFT_OUT: Final = "leftOut"
_NOT_UNDERSTOOD: Final = "notUnderstood"
_GAPS: Final = "gaps"
_ENCRYPTED: Final = f"{_GAPS}/encryptedThinking"
_UNKNOWN_PART: Final = f"{_GAPS}/partsNotUnderstood"
MISSING_PARENT: Final = f"{_GAPS}/missingParent"
_MOST: Final = 128  # names of what a session has; what has another one is counted together
_LONGEST: Final = 80  # characters of a name: it is the agent's, or of whoever wrote its file
_OTHERS: Final = "…"
Counts = dict[str, int]  # by what became of a record, and its name if it has one: `leftOut/progress`
Became = tuple[str, ...]  # the keys of the counts to which one record adds


def told(events: Iterable[Event]) -> Became:
    """Return what became of a record with these events: if katod keeps a part of it raw, it is not understood."""
    gaps: Became = ()
    for event in events:
        if event.kind == ev.PROVIDER_RAW:
            return (_key(_NOT_UNDERSTOOD, event.payload["rawType"]),)
        if event.kind == ev.ASSISTANT_THINKING and "encrypted" in event.payload:
            gaps = (_ENCRYPTED,)
    return (TOLD, *gaps)


def told_later(event: Event) -> Became:
    """Return what an event adds that a message of a document has later: the message is counted by its first event."""
    return (_UNKNOWN_PART,) if event.kind == ev.PROVIDER_RAW else ()


def left_out(name: str) -> Became:
    """Return what became of a record of this name that has no event."""
    return (_key(_LEFT_OUT, name),)


def _key(group: str, name: str) -> str:
    return f"{group}/{name[:_LONGEST]}"


class RecordTally:
    """Counts the records of a session, and says how many there were up to the last event.

    A record that has no event counts from the next event on: so what is said of an event is the same whenever it is
    asked, and however many records were read with it.
    """

    __slots__ = ("_before", "_echoed", "_here", "_last", "_since")

    def __init__(self, kept: dict[str, Any] | None = None) -> None:
        """Start before the first record, or go on from `kept()`."""
        kept = kept or {}
        self._before: Counts = kept.get("before", {})  # the record of the last event
        self._since: Counts = kept.get("since", {})  # that record, but for the last one read
        # What became of the record of the last event, and of the last one read, if that is a later one.
        self._here: Became = tuple(kept.get("here", ()))
        self._last: Became = tuple(kept.get("last", ()))
        self._echoed: list[Any] = kept.get("echoed", [])  # the last record that was an echo

    def kept(self) -> dict[str, Any]:
        """Return the state to resume from, as JSON, without empty fields."""
        row = {"before": self._before, "since": self._since, "here": [*self._here], "last": [*self._last]}
        return {name: value for name, value in (row | {"echoed": self._echoed}).items() if value}

    def count(self, became: Became) -> None:
        """Count the next record."""
        for key in self._last:
            _count(self._since, key, 1)
        self._last = became

    def pass_event(self) -> None:
        """Note that an event passes, which is of the last record."""
        if not self._last:
            return
        for key in self._here:
            _count(self._before, key, 1)
        _sum(self._before, self._since)
        self._since, self._here, self._last = {}, self._last, ()

    def note_echo(self, event: Event, source: str) -> None:
        """Note that an event is an echo: its record, which was counted as told, repeats an earlier one."""
        record = [source, event.source.get("offset"), event.source.get("messageId")]
        if record != self._echoed and event.kind != ev.PROVIDER_RAW:
            self._echoed = record
            _count(self._since, TOLD, -1)
            _count(self._since, _REPEATED, 1)

    def before(self) -> Counts:
        """Return how many records there were before that of the last event."""
        return dict(self._before)

    def up_to(self) -> Counts:
        """Return how many records there were up to that of the last event."""
        total = self.before()
        _sum(total, dict.fromkeys(self._here, 1))
        return total


class SourceCount:
    """Counts the records of one source in the tally of its session: each when the first of its events is new, once.

    A source that is read `again`, and a document, have records that were counted before, and what stands between these
    was counted with them.
    """

    __slots__ = ("_again", "_due", "_skipped", "_tally")

    def __init__(self, tally: RecordTally | None, *, again: bool) -> None:
        self._tally = tally
        self._again = again
        self._due: Became = ()  # what became of the present record, until one of its events is new
        self._skipped: list[Became] = []  # records without an event, until a later record is new

    def begin_document(self) -> None:
        """Note that a document is read from its beginning."""
        self._skipped = []

    def skip(self, became: Became, *, again: bool = False) -> None:
        """Count a record without an event."""
        if self._again or again:
            self._skipped.append(became)
        elif self._tally is not None:
            self._tally.count(became)

    def begin(self, became: Became, *, again: bool = False) -> None:
        """Note the next record, whose events follow; `again` if it is a part of a document."""
        self._due, self._again = became, self._again or again

    def confirm(self) -> None:
        """Count the present record: one of its events is new."""
        if not self._due or self._tally is None:
            return
        for became in (*self._skipped, self._due):
            self._tally.count(became)
        self._due, self._skipped, self._again = (), [], False

    def end(self, *, is_whole: bool = False) -> None:
        """Note that the present record is over: unless one of its events was new, it was written again.

        A record that may be a `whole` document says so at each change.
        """
        if self._due and self._again:
            self._skipped = []
        elif self._due and not is_whole and self._tally is not None:
            self._tally.count((_REPEATED,))
        self._due = ()


def _sum(total: Counts, counts: Counts) -> None:
    for key, number in counts.items():
        _count(total, key, number)


def _count(counts: Counts, key: str, number: int) -> None:
    if key not in counts and len(counts) >= _MOST:
        group, _, name = key.partition("/")
        key = _key(group, _OTHERS) if name else key
    counts[key] = counts.get(key, 0) + number


class RangeReceipts:
    """The receipts of one output: what became of the records of each of its ranges, and of all of them so far."""

    __slots__ = ("_tally", "_total", "since")

    def __init__(self, since: Counts | None = None) -> None:
        """Begin before the first range, or go on in one before which there were so many records."""
        self.since: Counts = since or {}
        self._total: Counts = {}
        self._tally: RecordTally | None = None  # of the range that is open

    def begin(self, tally: RecordTally, since: Counts) -> None:
        """Begin a range before which there were so many records."""
        self._tally, self.since = tally, since

    def end(self, until: Counts) -> dict[str, Any]:
        """End the range where there were so many records; return its receipt, empty if it has none."""
        found = _between(self.since, until)
        _sum(self._total, found)
        self._tally, self.since = None, {}
        return receipt(found)

    def total(self) -> dict[str, Any]:
        """Return the receipt of all ranges so far, empty if they have no records."""
        total = dict(self._total)
        if self._tally is not None:
            _sum(total, _between(self.since, self._tally.up_to()))
        return receipt(total)


def _between(since: Counts, until: Counts) -> Counts:
    """Return how many records there are between two places.

    None is negative: a version of katod that understands more may have read the second one.
    """
    return {key: more for key, number in until.items() if (more := number - since.get(key, 0)) > 0}


def receipt(found: Counts) -> dict[str, Any]:
    """Return the payload of a receipt, empty if there are no records."""
    groups = {name: _of_group(found, name) for name in (_LEFT_OUT, _NOT_UNDERSTOOD, _GAPS)}
    numbers = {name: found.get(name, 0) for name in (TOLD, _REPEATED)}
    records = sum(numbers.values()) + sum(groups[_LEFT_OUT].values()) + sum(groups[_NOT_UNDERSTOOD].values())
    return {"records": records, **numbers, **groups} if records else {}


def _of_group(counts: Counts, group: str) -> Counts:
    """Return the counts of a group by name."""
    found = {key.removeprefix(f"{group}/"): n for key, n in counts.items() if key.startswith(f"{group}/")}
    return dict(sorted(found.items()))
