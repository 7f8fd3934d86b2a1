"""One source, a session file or a session in a database: how far it was read, and what this process knows of it."""

import os
from collections.abc import Iterable

from katod.agents import AGENTS
from katod.agents.spec import AgentSpec
from katod.model import START, Anchor, Cursor, Identity, Line, NearMiss, Partial, Stat, within_calendar
from katod.store.rows import SourceRow
from katod.tail.reader import Batch, SourceFile


class Source:
    """A source at run time: the only writer of its row, and of how far it was read ahead of it.

    Found by a sweep, it gets a baseline when it is first opened. Up to its cursor it was scanned for commands; up to
    `translated`, which is behind the cursor until its session is recorded, it was translated. A rewritten file starts
    over. After a failed step, everything returns to the ledger's row.
    """

    __slots__ = ("_has_left", "_near_misses", "_partial", "_read", "_resume_at", "_scanned", "_unusable", "row")

    def __init__(self, row: SourceRow) -> None:
        self.row = row
        self._unusable = False  # whether only a change of its content can make it readable
        self._partial: Partial | None = None  # a line still being written
        self._scanned: Batch | None = None  # what the scan read, from the line of a command on; that line is decoded
        self._resume_at: Cursor | None = None  # where a restart has to resume while text is held back
        self._read: tuple[int, int] | None = None  # time of change (ns) and size when it was last read to its end
        self._near_misses: tuple[NearMiss, ...] = ()  # not stored yet
        self._has_left = False  # whether it is a document with something that was not translated

    # -- its row --------------------------------------------------------------------------------------

    @property
    def id(self) -> int:
        """Its number in the ledger."""
        return self.row.id

    @property
    def session(self) -> int:
        """The number of its session in the ledger."""
        return self.row.session

    @property
    def path(self) -> str:
        """Where it is: a file, or a database and the session in it."""
        return self.row.path

    @property
    def identity(self) -> Identity:
        """Which session it belongs to, and which of its files it is."""
        return self.row.identity

    @property
    def spec(self) -> AgentSpec:
        """The agent that writes it."""
        return AGENTS[self.row.identity.key.agent]

    @property
    def seen(self) -> Stat:
        """Its stat when a sweep last saw it."""
        return self.row.seen

    @property
    def gone(self) -> bool:
        """Whether it was missing at the last sweep."""
        return self.row.gone

    @property
    def problem(self) -> str:
        """Why it cannot be read; empty if it can."""
        return self.row.problem

    @property
    def history(self) -> int:
        """Its size in bytes when it was first seen."""
        return self.row.history

    @property
    def baseline(self) -> int | None:
        """The offset before which commands are ignored; None until it is first opened."""
        return self.row.baseline

    @property
    def after_ns(self) -> int:
        """Commands typed before this time are history; 0 if all are new."""
        return self.row.after_ns

    @property
    def cursor(self) -> Cursor:
        """How far it was read."""
        return self.row.cursor

    @property
    def translated(self) -> int:
        """How far the translation has progressed; from here to the cursor, the bytes were only scanned."""
        return self.row.translated

    @property
    def stored(self) -> SourceRow:
        """What the ledger is to have of it. While text is held back without a state, that is where to resume from."""
        if self._resume_at is not None and self.row.state is None:
            return self.row._replace(cursor=self._resume_at)
        return self.row

    # -- what a sweep finds -----------------------------------------------------------------------------

    def is_as(self, seen: Stat) -> bool:
        """Return whether its file is as the last sweep saw it."""
        return self.row.seen == seen and not self.row.gone

    def was_seen(self, seen: Stat) -> bool:
        """Take a stat of its file; return whether it changed, or came back."""
        if self.is_as(seen):
            return False
        self.row = self.row._replace(seen=seen, gone=False)
        return True

    def vanished(self) -> None:
        """Note that its file is missing."""
        self.row = self.row._replace(gone=True)

    def moved_to(self, path: str) -> None:
        """Note that its file has another path."""
        self.row = self.row._replace(path=path)

    def set_problem(self, problem: str) -> bool:
        """Set why it cannot be read (empty: it can); return whether that is new."""
        if self.row.problem == problem:
            return False
        self.row = self.row._replace(problem=problem)
        return True

    # -- where its history ends -------------------------------------------------------------------------

    def set_baseline(self, offset: int, anchor: Anchor) -> None:
        """Ignore the commands before an offset, and begin to read there."""
        self.row = self.row._replace(baseline=offset, cursor=Cursor(offset, anchor))

    def expect(self, size: int, now_ns: int) -> None:
        """Take for history what its file will have when it appears: so many bytes, all typed before this time."""
        self.row = self.row._replace(
            history=size, baseline=None, cursor=START, translated=0, state=None, after_ns=now_ns, gone=True
        )
        self._scanned = self._read = self._partial = None

    def ignore_typed_before(self, time_ns: int) -> None:
        """Ignore the commands that were typed before a time."""
        self.row = self.row._replace(after_ns=max(self.row.after_ns, time_ns))

    # -- reading ----------------------------------------------------------------------------------------

    def next_batch(self, file: SourceFile, budget: int) -> Batch:
        """Return the new complete lines of its open file: about `budget` bytes at most."""
        scanned, self._scanned = self._scanned, None
        if scanned is not None and scanned.start == self.row.cursor.offset:
            return scanned.in_file_of(file.size)
        begin, self._has_left = START if self._has_left else self.row.cursor, False
        batch = file.read(begin, budget, self._partial)
        self._partial = batch.partial
        return batch

    def has_left(self) -> None:
        """Note that something of a document was not translated: the next step reads it from its beginning."""
        self._has_left = True

    def verified(self, mtime_ns: int) -> None:
        """Note that the bytes before the cursor are those that were read, in a file with this modification time."""
        if self.row.read_ns != mtime_ns:
            self.row = self.row._replace(read_ns=mtime_ns)

    def scanned_to(self, cursor: Cursor) -> None:
        """Move the cursor after bytes that were only scanned."""
        self.row = self.row._replace(cursor=cursor)

    def stop_before(self, line: Line, file: SourceFile, batch: Batch) -> None:
        """Move the cursor before the line of a command, which is read next; it is not read or decoded again."""
        self.scanned_to(Cursor(line.offset, file.anchor(line.offset)))
        self._scanned = None if file.is_document else batch.from_line(line)

    def translated_to(self, cursor: Cursor) -> None:
        """Move the cursor after bytes that were translated."""
        self.row = self.row._replace(cursor=cursor, translated=cursor.offset)

    def hold(self, before: Cursor, *, pending: bool) -> None:
        """Note whether text is held back since the cursor was here: a restart resumes there."""
        self._resume_at = (self._resume_at or before) if pending else None

    def backfilled_to(self, offset: int) -> None:
        """Note how far a backfill has translated it."""
        self.row = self.row._replace(translated=offset)

    def stepped(self, before: tuple[int, int] | None) -> None:
        """Note whether a step read it to its end, with the status of its file before that; None if not."""
        self._read = before

    def set_usable(self, *, usable: bool) -> None:
        """Note whether a retry may read it, or only a change of its content can help."""
        self._unusable = not usable

    @property
    def unusable(self) -> bool:
        """Whether only a change of its content can make it readable."""
        return self._unusable

    def status(self) -> tuple[int, int] | None:
        """Return when (ns) its file changed and its size, None where that says nothing."""
        try:
            status = os.stat(self.row.path)
        except OSError:
            return None
        return within_calendar(status.st_mtime_ns), status.st_size

    @property
    def is_read(self) -> bool:
        """Whether the last step of this process read it to its end."""
        return self._read is not None

    def may_have_more(self) -> bool:
        """Return whether it may have something to read: it was not read to its end, or its file changed since."""
        return self._read is None or self._read != self.status()

    @property
    def is_finished(self) -> bool:
        """Whether all of its present content was read, as far as its last stat and this process's last step tell."""
        if self.row.gone or not self.row.seen.size:
            return True
        offset = self.row.cursor.offset
        return offset > 0 and (offset >= self.row.seen.size or self._read is not None)

    def is_at_its_end(self) -> bool:
        """Return whether it can be read, and was, up to the last byte of its file: no line of it is unfinished."""
        if self.row.problem or self.row.gone:
            return False
        if self.spec.is_container(self.row.path.partition("#")[0]):
            return True
        status = self.status()
        return status is not None and self.row.cursor.offset >= status[1]

    # -- its translation --------------------------------------------------------------------------------

    def keep_state(self, state: dict[str, object] | None, version: int | None) -> None:
        """Set the state of its adapter that is stored with the step, and the adapter's version."""
        self.row = self.row._replace(state=state, version=version)

    def restore_state(self, state: dict[str, object] | None, translated: int) -> None:
        """Begin to translate with a state from the ledger (None: from the beginning)."""
        self.row = self.row._replace(state=state, translated=translated)

    def forget_translation(self) -> None:
        """Drop the adapter's state, once the source is no longer translated."""
        self.restore_state(None, 0)

    # -- starting over ----------------------------------------------------------------------------------

    def read_again(self) -> None:
        """Read it from its beginning once more; what is known is recognised by its ids."""
        self.scanned_to(START)

    def was_rewritten(self) -> None:
        """Forget what was read of other content."""
        self.row = self.row._replace(baseline=0, translated=0, state=None)
        self._scanned = self._read = self._partial = self._resume_at = None

    def rewind(self, row: SourceRow) -> None:
        """Return to what the ledger has, after a failed step, whose near misses will be found again."""
        self.row = self.row._replace(
            cursor=row.cursor, baseline=row.baseline, state=row.state, version=row.version, translated=row.translated,
            read_ns=row.read_ns,
        )  # fmt: skip
        self._partial = self._scanned = self._resume_at = self._read = None
        self._near_misses, self._has_left = (), False

    # -- near misses ------------------------------------------------------------------------------------

    @property
    def near_misses(self) -> tuple[NearMiss, ...]:
        """Lines that looked like commands but were not, and are not stored yet."""
        return self._near_misses

    def add_near_misses(self, misses: Iterable[NearMiss]) -> None:
        """Add lines that are to be stored."""
        self._near_misses += tuple(misses)

    def take_near_misses(self) -> tuple[NearMiss, ...]:
        """Return the lines that are to be stored, once."""
        taken, self._near_misses = self._near_misses, ()
        return taken
