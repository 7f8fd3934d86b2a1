"""One output while katod works on it: its row, what is printed to it in a step, and how its file was last found.

planned ─▶ held ─▶ live ─▶ closed     held: the text waits for the words that name the file
                   │  ▲               live: it follows its session, step by step
           parked  ▼  │ caught up     behind: it has a stream of its own
                 behind
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, Final, Literal

from katod import events as ev
from katod.events import Event
from katod.formats.chain import ChainHead
from katod.formats.eventlines import is_event
from katod.formats.redact.redactor import REDACTED
from katod.formats.transcript.pictures import linked
from katod.formatspec import FORMATS, open_format
from katod.metadata import SessionMetadata
from katod.model import MarkKind, Range
from katod.record.editnotes import EditNotes
from katod.record.outputfile import last_fingerprint, output_path
from katod.record.pictures import links_in, picture_file
from katod.record.ranges import RangePrinter, head_metadata
from katod.store.ledger import Ledger
from katod.store.rows import OutputRow
from katod.write.output import Comparison, FileFingerprint, OutputPath

CHAIN: Final = "chain"  # beside the state of the printer
_PICTURES: Final = "pictures"  # beside it, too
_CHAINED: Final = FORMATS["jsonl"].name
_MOST_HELD: Final = 64 * 1024  # characters


class Output:
    """The only writer of an output's row. Outputs are compared by identity: there is one object for each row in use."""

    __slots__ = ("_assets", "_chain", "_chunks", "_edits", "_missing", "_printer", "row")

    def __init__(self, row: OutputRow) -> None:
        self.row = row
        self._printer: RangePrinter | None = None
        self._chunks: list[bytes] = []  # the text of the current step, event by event
        self._assets: list[tuple[str, str]] = []  # unsaved pictures that the text links to: media type, data
        self._missing: Literal["", "once", "gone"] = ""  # how its file was last found
        self._edits = EditNotes(row)
        self._chain = chain_kept(row)

    def save(self, ledger: Ledger) -> None:
        """Store it, with what the step says of edits, within a transaction."""
        self.row = ledger.save_output(self.row)
        self._edits.save(ledger)

    def restore(self, row: OutputRow) -> None:
        """Return to what the ledger has, after a failed step."""
        self.row, self._printer, self._chunks, self._assets, self._missing = row, None, [], [], ""
        self._edits = EditNotes(row)
        self._chain = chain_kept(row)

    def _set(self, **columns: Any) -> None:
        self.row = self.row._replace(**columns)

    @property
    def id(self) -> int:
        """Its number in the ledger."""
        return self.row.id

    @property
    def open(self) -> bool:
        """Whether its session is being recorded to it."""
        return self.row.open

    # -- ranges -----------------------------------------------------------------------------------------

    def begin(self, begun: Range, since: str) -> None:
        """Open a range, or add one that is closed; `since` is when."""
        self.add_range(begun)
        self._set(head=self.row.head | {"since": since})

    def add_range(self, begun: Range) -> None:
        """Add a range."""
        self._set_ranges(*self.row.ranges, begun)

    def end(self, at: str, time: str, mark: MarkKind) -> None:
        """Close the open range after an event."""
        *others, ended = self.row.ranges
        # "?": after an event that is no longer known
        self._set_ranges(*others, ended._replace(end=at or "?", end_time=time, end_mark=mark))

    def _set_ranges(self, *ranges: Range) -> None:
        self._set(ranges=ranges)
        if self._printer is not None:
            self._printer.follow(ranges)

    # -- held: the name of the file waits for words -----------------------------------------------------

    def hold(self, time: str) -> None:
        """Hold the text of a new output until words name its file. It began at a time, or with its first event."""
        self._set(held={"time": time, "text": ""})

    @property
    def waits(self) -> bool:
        """Whether the file is not made yet, because the words that name it are still to be typed."""
        return self.row.held is not None

    @property
    def holds_too_much(self) -> bool:
        """Whether so much text waits for a name that it should wait no longer."""
        return self.row.held is not None and len(self.row.held["text"]) > _MOST_HELD

    def release(self, naming: Callable[[OutputRow], OutputRow] = lambda row: row) -> None:
        """Print what waited for a name, below the head of the row that `naming` returns."""
        held = self.row.held
        if held is not None:
            state = self.printer.state()
            self.row = naming(self.row._replace(held=None))
            self._printer = RangePrinter.of(self.row, state)
            self.add(_head(self.row, held["time"]) + held["text"] if self.printer.headed else held["text"])

    # -- printing ---------------------------------------------------------------------------------------

    @property
    def printer(self) -> RangePrinter:
        """What prints it, as its row left it."""
        if self._printer is None:
            self._printer = RangePrinter.of(self.row, self.row.printer)
        return self._printer

    def take(self, event: Event, metadata: SessionMetadata) -> None:
        """Print one event; words of the user in it say that they did not leave the session."""
        if event.kind == ev.USER_MESSAGE and event.typed and self.row.successor:
            self._set(successor="")
        before = self.printer.headed
        is_within = self.printer.has(event)
        text = self.printer.take(event, metadata)
        self._note_edits(event if is_within else None, metadata)
        if self.row.held is not None and not (before or self.row.held["time"]) and self.printer.headed:
            self.hold(event.time)
        self.add(text)
        if event.blobs:
            self._keep_pictures(event, text)

    def _keep_pictures(self, event: Event, text: str) -> None:
        if self.row.options.attachments == "save" and not FORMATS[self.row.format].carries_pictures:
            self._assets += linked(event, text)

    def settle(self, metadata: SessionMetadata) -> None:
        """Print the marks of ranges that end or begin after the last event, which has already been printed."""
        self.add(self.printer.settle(metadata.last, metadata))
        self._note_edits(None, metadata)

    def _note_edits(self, event: Event | None, metadata: SessionMetadata) -> None:
        """Note what an event within a range says of edits; what was asked for in a range is forgotten behind it."""
        if event is not None:
            self._edits.take(event, metadata)
        if not self.printer.active:
            self._edits.leave()

    def interrupt(self, kind: MarkKind) -> None:
        """Print a mark before the next text: the file contains other text, or a part is missing.

        It is in the row from now on: a crash before the next text must not lose it.
        """
        self.printer.interrupt(kind)
        self.keep_printer()

    def add(self, text: str) -> None:
        """Add text to the current step, or to what waits for a name: that has no head, as the title is to come."""
        held = self.row.held
        if held is not None:
            before = held["text"]
            added = before + text if before else text.removeprefix(_head(self.row, held["time"]))
            self._set(held=held | {"text": added})
        elif text:
            if found := text.count(REDACTED):
                self._set(redactions=self.row.redactions + found)
            self._chunks.append(text.encode("utf-8", "replace"))
            self._chain = self._chain and self._chain.after(self._chunks[-1])

    def restore_missing(self, texts: Iterable[str], events: int, content: bytes) -> None:
        """Print again what is missing of its file, given its content; the secrets in it were counted before.

        It waits for the pictures that it links to, which may be missing, too.
        """
        redactions, texts = self.row.redactions, list(texts)
        if names := links_in(texts):
            self._set(printer=(self.row.printer or {}) | {_PICTURES: sorted(names)})
        if texts:
            self._chain_anew(content, is_checked=False)
        for text in [self.printer.restored(), *texts] if texts else ():
            self.add(text)
        self._set(redactions=redactions, restored=self.row.restored + events, reverted=False)

    @property
    def assets(self) -> list[tuple[str, str]]:
        """The pictures that its text links to, and that are still to be saved: media type, base64."""
        return list(self._assets)

    @property
    def lost_assets(self) -> frozenset[str]:
        """The file names of those that are only in its session any more, as an earlier process could not save them."""
        return frozenset() if self._assets else frozenset((self.row.printer or {}).get(_PICTURES, ()))

    def saved_asset(self) -> None:
        """Note that the first of the pictures that are to be saved was."""
        del self._assets[0]

    def saved_assets(self) -> None:
        """Note that no picture is left to save, so that the text may be written."""
        self._assets = []
        if _PICTURES in (self.row.printer or {}):
            self._set(printer={name: value for name, value in (self.row.printer or {}).items() if name != _PICTURES})

    def stage(self) -> None:
        """Make the text printed in this step the open intent of the row.

        It waits for the pictures that could not be saved yet: the row has their names, as they stay in the session.
        """
        if self.row.intent is not None:
            raise RuntimeError("an intent that is not written yet would be lost")
        bounds, total = [], 0
        for chunk in self._chunks:
            total += len(chunk)
            bounds.append(total)
        self._set(printer=self._printed(), intent=b"".join(self._chunks) or None, bounds=tuple(bounds))
        self._chunks = []

    def keep_printer(self) -> None:
        """Note in the row how far it was printed."""
        self._set(printer=self._printed())

    def _printed(self) -> dict[str, Any]:
        chain = {CHAIN: self._chain.row()} if self._chain else {}
        names = [picture_file(*asset)[0] for asset in self._assets] or (self.row.printer or {}).get(_PICTURES)
        return self.printer.state() | self._edits.state() | chain | ({_PICTURES: names} if names else {})

    def upgrade(self, version: int, state: dict[str, Any]) -> None:
        """Go on with the state that another version of its format has after the same events."""
        self._set(version=version, printer=(self.row.printer or {}) | {"format": state})
        self._printer = None

    # -- its file ---------------------------------------------------------------------------------------

    @property
    def place(self) -> OutputPath:
        """Where its file is."""
        return output_path(self.row)

    @property
    def known(self) -> FileFingerprint:
        """Its file as katod left it."""
        return last_fingerprint(self.row)

    @property
    def missing(self) -> Literal["", "once", "gone"]:
        """How its file was last found: missing once, so that it is looked for after a moment, or nowhere."""
        return self._missing

    def note_missing(self, how: Literal["", "once", "gone"]) -> None:
        """Note how its file was found."""
        self._missing = how

    def note_edited(self) -> None:
        """Note that its file contains text of others: a mark says so before the next text.

        An intent can be completed by any version of katod, so its printer is not needed for that.
        """
        if self._printer is None:
            self._set(printer=(self.row.printer or {}) | {"edited": True})
        else:
            self.interrupt("edited")

    def adopt(self, known: FileFingerprint) -> None:
        """Take its file as it is now for as katod left it."""
        self._set(dev=known.dev, ino=known.ino, committed=known.size, tail=known.tail)

    def adopt_change(self, seen: Comparison) -> None:
        """Take a file that others changed for as katod left it."""
        self.adopt(seen.known)
        self.note_reverted(seen)
        if seen.change == "gone":
            self._chain_anew(b"".join(self._chunks))
        if self.row.made != (seen.change != "gone"):
            self._set(made=seen.change != "gone")

    def _chain_anew(self, text: bytes, *, is_checked: bool = True) -> None:
        """Begin the chain again with the text of a file: katod's own, or if it is not checked, as it was found."""
        if self._chain:
            chain = ChainHead().after(text)
            self._chain = chain if is_checked else chain._replace(unchecked=chain.events)
            self._set(printer=(self.row.printer or {}) | {CHAIN: self._chain.row()})

    def note_reverted(self, seen: Comparison) -> None:
        """Note if an older copy was saved over its file."""
        if seen.change == "reverted":
            self._set(reverted=True)

    def set_marker(self, marker: str) -> None:
        """Set the name of the file that marks its root."""
        if self.row.marker != marker:
            self._set(marker=marker)

    def moved_to(self, place: OutputPath) -> None:
        """Note that its file was moved."""
        self._set(root=place.root, path=place.path, marker=place.marker)

    def continue_in_new_file(self, head: bytes) -> None:
        """Begin a new file in place of one that disappeared: the open intent follows a head."""
        if self.row.intent is not None and head:
            bounds = (len(head), *(len(head) + end for end in self.row.bounds))
            self._set(intent=head + self.row.intent, bounds=bounds)
        self._chain_anew(self.row.intent or b"")
        self.adopt(FileFingerprint())

    def wrote(self, known: FileFingerprint) -> None:
        """Note that the open intent is in its file, which katod left like this."""
        self._set(
            dev=known.dev, ino=known.ino, committed=known.size, tail=known.tail,
            made=True, intent=None, bounds=(), problem="", attempts=0,
        )  # fmt: skip

    # -- parked, behind ---------------------------------------------------------------------------------

    def park(self, problem: str) -> None:
        """Note why it cannot be written, once more."""
        self._set(problem=problem, attempts=self.row.attempts + 1)

    def clear_problem(self) -> None:
        """Note that it can be written."""
        if self.row.problem or self.row.attempts:
            self._set(problem="", attempts=0)

    def fall_behind(self, position: dict[str, Any]) -> None:
        """Have a stream of its own from now on, or move it; an empty position is the beginning of the session."""
        self._set(behind=position)

    def rejoin(self) -> None:
        """Follow its session again, or end there."""
        self._set(behind=None)

    def set_successor(self, session: str) -> None:
        """Note in which session the user went on."""
        self._set(successor=session)


def chain_kept(row: OutputRow) -> ChainHead | None:
    """Return the head of the chain over what was written to an output, None if that was begun without a chain."""
    state = row.printer or {}
    if CHAIN not in state:
        return ChainHead() if row.format == _CHAINED and not state else None
    with suppress(ValueError, KeyError, TypeError):  # else the ledger was changed by others
        return ChainHead.of_row(state[CHAIN])
    return None


def missing_events(row: OutputRow, found: ChainHead) -> bytes:
    """Return the events that an output's file, with this head, still lacks because they wait to be written."""
    kept = chain_kept(row)
    count = kept.events - found.events if kept is not None else 0
    waiting = list(filter(is_event, (row.intent or b"").splitlines(keepends=True)))
    return b"".join(waiting[-count:]) if 0 < count <= len(waiting) else b""


def _head(row: OutputRow, time: str) -> str:
    """Return the head of an output's file."""
    return open_format(row.format, row.options).head(head_metadata(row), time)
