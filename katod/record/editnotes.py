"""The edits within the ranges of an output, for `katod why`: hashes, stored with the step that has the edits."""

from collections.abc import Iterator
from typing import Any, Final

from katod import events as ev
from katod.edits.edits import edits_of, ends_of
from katod.edits.lines import LineHasher
from katod.edits.packed import pack_changes, pack_places
from katod.edits.tracker import EditingCall, EditTracker, EndedCall
from katod.events import Event
from katod.metadata import SessionMetadata
from katod.model import SessionKey
from katod.paths import name_of
from katod.store.ledger import Ledger, id_hash
from katod.store.rows import EditRow, OutputRow

_KINDS: Final = frozenset({ev.USER_MESSAGE, ev.ASSISTANT_MESSAGE, ev.TOOL_CALL, ev.TOOL_RESULT})
EDITS: Final = "edits"  # beside the state of the printer


def has_index(row: OutputRow) -> bool:
    """Return whether all edits of an output are in the index; an output that an older version began has none there."""
    return row.printer is None or EDITS in row.printer


class EditNotes:
    """What the current step of an output says of edits."""

    __slots__ = ("_is_whole", "_noted", "_row", "_tracker")

    def __init__(self, row: OutputRow) -> None:
        self._row = row
        self._is_whole = has_index(row)
        self._tracker = EditTracker((row.printer or {}).get(EDITS))
        self._noted: list[EditingCall | EndedCall] = []

    def state(self) -> dict[str, Any]:
        """Return the state to resume from, as JSON: ids of events and calls."""
        return {EDITS: self._tracker.state()} if self._is_whole else {}

    def take(self, event: Event, metadata: SessionMetadata) -> None:
        """Take the next event within a range."""
        if self._is_whole and event.kind in _KINDS:
            noted = self._tracker.take(event, metadata.cwd, metadata.time)
            self._noted += [noted] if noted is not None else []

    def leave(self) -> None:
        """Leave the range, with what was asked for in it."""
        self._tracker.leave()

    def save(self, ledger: Ledger) -> None:
        """Store the edits of the step, within its transaction."""
        noted, self._noted = self._noted, []
        hasher = LineHasher(ledger.edits.hashes.number) if noted else None
        for one in noted:
            if isinstance(one, EndedCall):
                ledger.edits.end(self._row.session, id_hash(one.event), went_well=one.went_well)
            elif hasher is not None:
                ledger.edits.add(_rows(one, self._row, hasher))


def _rows(call: EditingCall, output: OutputRow, hasher: LineHasher) -> Iterator[EditRow]:
    key = SessionKey(*output.head["key"])
    for number, (path, edit) in enumerate(edits_of(call, key, hasher)):
        places = [hasher.number(end) for end in ends_of(path)]
        cause, changes = edit.cause, pack_changes(edit.changes)
        yield EditRow(
            output.session, id_hash(call.event.id), number, hasher.number(name_of(path)), False,
            cause.call, cause.prompt, cause.answer, cause.time, cause.model, pack_places(places), changes,
        )  # fmt: skip
