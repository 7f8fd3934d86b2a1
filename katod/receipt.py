"""What became of the native records of a session: counted as they are read, summed over a range of a recording. Pure.

Each record is counted once: as translated, repeated, left out, or not understood.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from katod import events as ev
from katod.events import Event

TRANSLATED: Final = "told"
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
RecordOutcome = tuple[str, ...]  # the keys of the counts to which one record adds


def translated(events: Iterable[Event]) -> RecordOutcome:
    """Return what became of a record with these events: if katod keeps a part of it raw, it is not understood."""
    gaps: RecordOutcome = ()
    for event in events:
        if event.kind == ev.PROVIDER_RAW:
            return (_key(_NOT_UNDERSTOOD, event.payload["rawType"]),)
        if event.kind == ev.ASSISTANT_THINKING and "encrypted" in event.payload:
            gaps = (_ENCRYPTED,)
    return (TRANSLATED, *gaps)


def translated_later(event: Event) -> RecordOutcome:
    """Return what an event adds that a message of a document has later: the message is counted by its first event."""
    return (_UNKNOWN_PART,) if event.kind == ev.PROVIDER_RAW else ()


def left_out(name: str) -> RecordOutcome:
    """Return what became of a record of this name that has no event."""
    return (_key(_LEFT_OUT, name),)


def _key(group: str, name: str) -> str:
    return f"{group}/{name[:_LONGEST]}"


class _UnpassedRecord(NamedTuple):
    """A record none of whose events has passed yet, and what became of those without an event before it.

    `name` is that of its first event, or the place of the record; an echo has none.
    """

    path: str
    name: str
    became: RecordOutcome
    skipped: Counts


class RecordTally:
    """Counts the records of a session, and says how many there were up to the event that passed last.

    Records are counted as they are read; their events may pass later, and in another order. A record without an event
    counts with the next one of its source that has some. So what is said of an event is the same whenever it is asked,
    and however many records were read with it.
    """

    __slots__ = ("_before", "_here", "_sources", "_waiting")

    def __init__(self, kept: dict[str, Any] | None = None) -> None:
        """Start before the first record, or go on from `kept()`."""
        kept = kept or {}
        self._before: Counts = kept.get("before", {})  # the record of the last event
        self._here: RecordOutcome = tuple(kept.get("here", ()))  # what became of that record
        self._waiting = [
            _UnpassedRecord(path, name, tuple(keys), rest) for path, name, keys, rest in kept.get("waiting", ())
        ]
        self._sources = {path: SourceCount(self, path, row) for path, row in kept.get("sources", {}).items()}

    def kept(self) -> dict[str, Any]:
        """Return the state to resume from, as JSON, without empty fields."""
        sources = {path: source.kept() for path, source in self._sources.items()}
        row = {"before": self._before, "here": [*self._here], "waiting": [[*one] for one in self._waiting]}
        return {name: value for name, value in (row | {"sources": sources}).items() if value}

    def source(self, path: str) -> "SourceCount":
        """Return the counts of one source."""
        if path not in self._sources:
            self._sources[path] = SourceCount(self, path)
        return self._sources[path]

    def count(self, path: str, name: str, became: RecordOutcome, skipped: Counts) -> None:
        """Count the next record of a source, and what became of those before it that have no event."""
        self._waiting.append(_UnpassedRecord(path, name, became, skipped))

    def waits(self, path: str, name: str) -> bool:
        """Return whether a record was counted none of whose events has passed yet."""
        return any(one.name == name and one.path == path for one in self._waiting)

    def take_back(self, path: str) -> int:
        """Forget the records of a source whose events wait: it is read again; return how many there were."""
        taken = [one for one in self._waiting if one.path == path and one.name]
        self._waiting = [one for one in self._waiting if one not in taken]
        return sum(not one.became[0].startswith(_GAPS) for one in taken)

    def pass_event(self, event: Event, path: str) -> None:
        """Note that an event passes: all records up to its own count from now on."""
        if (number := self._number_of(event, path)) is None:
            return
        self._add(self._here)
        for one in self._waiting[:number]:
            _sum(self._before, one.skipped)
            self._add(one.became)
        _sum(self._before, self._waiting[number].skipped)
        self._here = self._waiting[number].became
        del self._waiting[: number + 1]

    def note_echo(self, event: Event, path: str) -> None:
        """Note that an event is an echo: its record repeats an earlier one."""
        if (number := self._number_of(event, path)) is not None:
            self._waiting[number] = self._waiting[number]._replace(name="", became=(_REPEATED,))

    def _number_of(self, event: Event, path: str) -> int | None:
        """Return where the record of an event waits, None if it does not: another event of it has passed."""
        if not self._waiting:
            return None
        place = place_of(event)
        for number, one in enumerate(self._waiting):
            if one.name in (place, event.id) and one.path == path:
                return number
        return None

    def _add(self, became: RecordOutcome) -> None:
        for key in became:
            _count(self._before, key, 1)

    def before(self) -> Counts:
        """Return how many records there were before that of the last event."""
        return dict(self._before)

    def up_to(self) -> Counts:
        """Return how many records there were up to that of the last event."""
        total = self.before()
        _sum(total, dict.fromkeys(self._here, 1))
        return total


def place_of(event: Event) -> str:
    """Return the place of the record of an event in its source."""
    return place_at(event.source.get("offset"))


def place_at(offset: Any) -> str:
    """Return the place of the record at an offset, which no event is called."""
    return f"@{offset}"


class SourceCount:
    """Counts the records of one source in the tally of its session, each once, however often they are read.

    A source that was rewritten, and a document at each change, is read again from its beginning. What is new then are
    records with an event that is new, and those without an event right before them.
    """

    __slots__ = ("_counted", "_due", "_is_more", "_name", "_path", "_read", "_skipped", "_tally")

    def __init__(self, tally: RecordTally | None, path: str, kept: Sequence[Any] = (0, 0, {})) -> None:
        """Start at the beginning of a source, or go on from `kept()`; without a tally, nothing is counted."""
        self._tally = tally
        self._path = path
        self._read: int = kept[0]  # records with events in this reading of the source
        self._counted: int = kept[1]  # in all
        self._skipped: Counts = dict(kept[2])  # what became of the records without an event since the last one of them
        self._due: RecordOutcome = ()  # what became of the present record, until one of its events is new
        self._name = ""
        self._is_more = False  # it is no further record

    def kept(self) -> list[Any]:
        """Return the state to resume from, as JSON."""
        return [self._read, self._counted, self._skipped]

    def begin_reading(self) -> None:
        """Note that the source is read from its beginning. Records whose events wait will be found again."""
        self._read, self._skipped = 0, {}
        if self._tally is not None:
            self._counted -= self._tally.take_back(self._path)

    def skip(self, became: RecordOutcome) -> None:
        """Count a record without an event."""
        for key in became:
            _count(self._skipped, key, 1)

    def begin(self, became: RecordOutcome, name: str = "") -> None:
        """Note the next record, whose events follow. If it has no `name`, it has that of its first one that is new."""
        self._due, self._name, self._is_more = became, name, False
        self._read += 1

    def hold(self, became: RecordOutcome, name: str) -> None:
        """Count a record whose event comes with a later one, if it was not counted before."""
        self.begin(became, name)
        if self._is_first_time:
            self.confirm(name)
        self._due = ()

    def begin_more(self, became: RecordOutcome) -> None:
        """Note that the next event, if it is new, says more of a record that was counted before."""
        self._due, self._name, self._is_more = became, "", True

    def confirm(self, event: str, *, is_past: bool = False) -> None:
        """Note that an event of the present record is new; if it `is_past`, it passed before, and only may be new."""
        name = self._name or event
        if not self._due or self._tally is None or self._tally.waits(self._path, name):
            return
        if self._is_first_time or not is_past:
            self._tally_up(self._due, name)
            self._due = ()

    def leave(self) -> None:
        """Note that the present record is still to be read, of a document that is newer than how far one reads."""
        if self._due and not self._is_more:
            self._read -= 1
        self._due = ()

    def end(self) -> None:
        """Note that the present record is over: if none of its events was new, it was counted, or is written again."""
        if self._due and self._is_first_time and not self._is_more:
            self._tally_up((_REPEATED,), "")
        elif self._due and not self._is_more:
            self._skipped = {}
        self._due = ()

    @property
    def _is_first_time(self) -> bool:
        """Whether no earlier reading of the source had as many records."""
        return self._read > self._counted

    def _tally_up(self, became: RecordOutcome, name: str) -> None:
        if self._tally is not None:
            self._tally.count(self._path, name, became, self._skipped)
        self._skipped = {}
        self._counted += not self._is_more


def _sum(total: Counts, counts: Counts) -> None:
    for key, number in counts.items():
        _count(total, key, number)


def _count(counts: Counts, key: str, number: int) -> None:
    if key not in counts and len(counts) >= _MOST:
        group, _, _ = key.partition("/")
        key = _key(group, _OTHERS) if group in (_LEFT_OUT, _NOT_UNDERSTOOD) else key
    counts[key] = counts.get(key, 0) + number


class RangeReceipts:
    """The receipts of one output: what became of the records of each of its ranges, and of all of them so far."""

    __slots__ = ("_tally", "_total", "_until", "since")

    def __init__(self, since: Counts | None = None) -> None:
        """Begin before the first range, or go on in one before which there were so many records.

        `total()` is right only for an output that is printed from its beginning.
        """
        self.since: Counts = since or {}
        self._until: Counts = {}  # how many records there were up to the end of the range before
        self._total: Counts = {}
        self._tally: RecordTally | None = None  # of the range that is open

    def begin(self, tally: RecordTally, since: Counts) -> None:
        """Begin a range before which there were so many records."""
        self._tally, self.since = tally, since

    def end(self, until: Counts) -> dict[str, Any]:
        """End the range where there were so many records; return its receipt, empty if it has none."""
        found = _between(self.since, until)
        _sum(self._total, self._further(until))
        self._tally, self.since, self._until = None, {}, until
        return receipt(found)

    def total(self) -> dict[str, Any]:
        """Return the receipt of all ranges so far, empty if they have no records."""
        total = dict(self._total)
        if self._tally is not None:
            _sum(total, self._further(self._tally.up_to()))
        return receipt(total)

    def _further(self, until: Counts) -> Counts:
        """Return the records of this range; one message may end a range and begin the next, and counts once."""
        before = {key: max(self.since.get(key, 0), self._until.get(key, 0)) for key in self.since | self._until}
        return _between(before, until)


def _between(since: Counts, until: Counts) -> Counts:
    """Return how many records there are between two places.

    If there are fewer of a kind at the second one, it was read by another version of katod, which calls them something
    else. Then nothing is said.
    """
    more = {key: until.get(key, 0) - since.get(key, 0) for key in until | since}
    return {} if min(more.values(), default=0) < 0 else {key: number for key, number in more.items() if number}


def receipt(found: Counts) -> dict[str, Any]:
    """Return the payload of a receipt, empty if there are no records."""
    groups = {name: _of_group(found, name) for name in (_LEFT_OUT, _NOT_UNDERSTOOD, _GAPS)}
    numbers = {name: found.get(name, 0) for name in (TRANSLATED, _REPEATED)}
    records = sum(numbers.values()) + sum(groups[_LEFT_OUT].values()) + sum(groups[_NOT_UNDERSTOOD].values())
    return {"records": records, **numbers, **groups} if records else {}


def _of_group(counts: Counts, group: str) -> Counts:
    """Return the counts of a group by name."""
    found = {key.removeprefix(f"{group}/"): n for key, n in counts.items() if key.startswith(f"{group}/")}
    return dict(sorted(found.items()))
