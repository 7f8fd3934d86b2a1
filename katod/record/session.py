"""One session while it is translated, and the outputs that follow it live."""

from typing import Final, cast

from katod.agents import AGENTS
from katod.discover.catalog import Catalog
from katod.discover.source import Source
from katod.errors import SourceError, TargetRefused
from katod.exchanges import Exchanges
from katod.formatspec import FORMATS
from katod.log import EventLog
from katod.metadata import SessionMetadata
from katod.model import SessionKey
from katod.record.export import reprint
from katod.record.history import exchanges_until
from katod.record.news import StateNews
from katod.record.output import Output
from katod.record.stream import TALLY, LedgerDedup, SessionStream
from katod.store.ledger import Ledger
from katod.store.rows import Auto, RefusalRow, SessionRow, SourceRow

_ATTENTION: Final = "attention"  # beside the metadata


class Changes:
    """What the current step has to store besides cursors and states."""

    def __init__(self) -> None:
        self.applied: dict[str, None] = {}  # dedup keys, in order; a message may contain very many
        self.refusals: list[tuple[str, str, str]] = []  # time, command, reason
        self.outputs: dict[int, Output] = {}

    def save(self, session: SessionRow, ledger: Ledger) -> None:
        """Store the changes, within the step's transaction."""
        ledger.add_applied(self.applied)
        for time, word, reason in self.refusals:
            ledger.add_refusal(RefusalRow(0, session.key, time, word, reason))
        for output in self.outputs.values():
            output.save(ledger)


class ActiveSession:
    """A session under translation, with all its outputs; those in `live` follow it step by step."""

    def __init__(
        self, row: SessionRow, sources: list[Source], outputs: dict[int, Output], ledger: Ledger, log: EventLog
    ) -> None:
        self.row = row
        self.sources = sources
        self.outputs = outputs
        self.live = [output for output in outputs.values() if output.open and output.row.behind is None]
        self.stream = SessionStream(row.key, LedgerDedup(row, ledger), log, row.metadata)
        self.state_news = StateNews(row.key, (row.metadata or {}).get(_ATTENTION))
        for source in sources:
            self.stream.open(source, source.row.state)
        self.backfilled = False  # whether the stream has reached the cursors of all sources
        self.changes = Changes()

    @property
    def metadata(self) -> SessionMetadata:
        """What is known about the session so far."""
        return self.stream.metadata

    @property
    def seen(self) -> LedgerDedup:
        """What its stream has seen."""
        return cast("LedgerDedup", self.stream.seen)

    @property
    def recording(self) -> Output | None:
        """The output that the session is being recorded to, whether it follows live or is catching up."""
        return next((output for output in self.outputs.values() if output.open), None)

    @property
    def present(self) -> Output | None:
        """The session's current output, recorded to or not."""
        return self.outputs.get(self.row.output) if self.row.output else None

    @property
    def is_read(self) -> bool:
        """Whether all of its sources were read to their ends."""
        return self.backfilled and all(source.is_read for source in self.sources)

    @property
    def is_wanted(self) -> bool:
        """Whether translation has to continue: the session is recorded, may be soon, or has text held back."""
        return bool(self.recording or self.row.auto == "wanted" or self.stream.is_pending)

    def add_source(self, source: Source) -> None:
        """Add a source that was found after the session was loaded."""
        if source not in self.sources:
            self.sources.append(source)
            self.backfilled = False

    def go_live(self, output: Output) -> None:
        """Let an output follow the session step by step, unless it has a stream of its own."""
        if output.row.behind is None and output not in self.live:
            self.live.append(output)

    def settle(self, output: Output) -> None:
        """Print the marks of a live output after the last event, which has already been printed."""
        if output in self.live:
            output.settle(self.metadata)

    def exchanges(self, path: str, until: str) -> Exchanges:
        """Return the exchanges before an event of a source, given its path, or before the end of the session.

        A database is read for that from its beginning: at each change, only turns that are not settled are read again,
        so that the stream cannot tell whether the others are still there. Raises TargetRefused if it cannot be read.
        """
        known = self.stream.exchanges
        source = next((one for one in self.sources if one.path == (path or known.newest_path)), self.sources[-1])
        if not source.spec.is_contained(source.path):
            return known.of(path)
        try:
            return exchanges_until(source, until)
        except SourceError as error:
            raise TargetRefused(f"its session cannot be read now: {error.what}") from error

    def leave_live(self, *, closed: bool = False) -> None:
        """Detach the outputs that have a stream of their own, and with `closed` also those that are closed.

        A closed one follows until the step is written that closed it, or in which what is missing of it is restored.
        """
        self.live = [one for one in self.live if one.row.behind is None and (one.open or not closed)]

    def join(self, output: Output) -> None:
        """Let an output that has caught up follow the session."""
        self.outputs[output.id] = output
        self.go_live(output)

    def point_at(self, output: Output) -> None:
        """Make an output the current one."""
        self.row = self.row._replace(output=output.id)

    def decide_auto(self, auto: Auto) -> None:
        """Decide whether it is auto-recorded."""
        self.row = self.row._replace(auto=auto)

    def restart(self, source: Source) -> None:
        """Translate a source from its beginning; what was scanned of any may still have to be translated."""
        self.stream.restart(source)
        self.backfilled = False

    def end_backfill(self) -> None:
        """Note that the stream has reached the cursors of all sources."""
        self.backfilled = True
        self.seen.end_backfill()

    def keep(self, output: Output) -> Output:
        """Mark an output to be stored with this step."""
        self.outputs[output.id] = self.changes.outputs[output.id] = output
        return output

    def save(self, ledger: Ledger) -> None:
        """Store the step, including its intents. If the session is not recorded, no content of it is kept."""
        keep = self.recording is not None
        for source in self.sources:
            translation = self.stream.open(source)
            source.keep_state(translation.state() if keep else None, translation.version if keep else None)
            ledger.save_source(source.stored)
        for output in self.live:
            output.stage()
            self.keep(output)
        metadata = self.stream.state() | {_ATTENTION: self.state_news.kept()} if keep else None
        cwd = self.metadata.cwd or self.row.cwd
        self.row = self.row._replace(metadata=metadata, cwd=cwd, seq=self.seen.seq)
        ledger.save_session(self.row)
        self.seen.save()
        self.changes.save(self.row, ledger)

    def saved(self) -> None:
        """Forget what the ledger now has."""
        self.seen.saved()
        self.changes = Changes()


class ActiveSessions:
    """The sessions being translated, loaded from the ledger and dropped again."""

    def __init__(self, ledger: Ledger, catalog: Catalog, log: EventLog) -> None:
        self._ledger = ledger
        self._catalog = catalog
        self._log = log
        self._active: dict[int, ActiveSession] = {}
        self.failed: set[int] = set()  # sessions whose last step raised: they are loaded from the ledger again
        self._failed_between: set[int] = set()  # those that failed outside of a step, and have to be stepped

    def get(self, session_id: int) -> ActiveSession | None:
        """Return an active session, None if it is not active."""
        return self._active.get(session_id)

    def all(self) -> list[ActiveSession]:
        """Return every active session."""
        return list(self._active.values())

    def load(self, session_id: int, following: dict[int, Output]) -> ActiveSession:
        """Activate a session from the ledger's state, or from its beginning.

        `following` are the outputs that are catching up: they are in use, so they are shared.
        """
        self.failed.discard(session_id)
        row = self._ledger.session(session_id)
        sources = self._catalog.of_session(session_id)
        if not self._restore(row, sources):
            row = row._replace(metadata=None)
        outputs = {row.id: following.get(row.id) or Output(row) for row in self._ledger.outputs(session_id)}
        reprinted = [
            output for output in outputs.values() if self._reprint(output, row.key, [source.row for source in sources])
        ]
        session = self._active[session_id] = ActiveSession(row, sources, outputs, self._ledger, self._log)
        for output in reprinted:
            session.keep(output)
        return session

    def _restore(self, row: SessionRow, sources: list[Source]) -> bool:
        """Restore the states of the sources from the ledger; return whether they can be used together."""
        version = AGENTS[row.key.agent].adapter.version
        stored = self._ledger.sources_of(row.id)
        usable = (
            row.metadata is not None
            and TALLY in row.metadata
            and all(
                kept.version == version and kept.translated == source.cursor.offset == kept.cursor.offset
                for source, kept in zip(sources, stored, strict=True)
            )
        )
        for source, kept in zip(sources, stored, strict=True):
            source.restore_state(*(kept.state, kept.translated) if usable else (None, 0))
        return usable

    def _reprint(self, output: Output, key: SessionKey, sources: list[SourceRow]) -> bool:
        """After an upgrade that prints other text, recompute the state of an output's format; return whether it was."""
        version = FORMATS[output.row.format].version
        if output.row.version == version:
            return False
        output.upgrade(version, reprint(output.row, key, sources, self._log))
        return True

    def step_soon(self, session_id: int) -> None:
        """Note that a session failed outside of a step: a step of its sources is the retry."""
        self._failed_between.add(session_id)

    def take_failed_between(self) -> set[int]:
        """Return the sessions that failed outside of a step, once."""
        failed, self._failed_between = self._failed_between, set()
        return failed

    def release(self, session: ActiveSession) -> None:
        """Stop translating a session that is no longer recorded."""
        if not session.is_wanted:
            self._active.pop(session.row.id, None)
            for source in session.sources:
                source.forget_translation()

    def forget(self, session_id: int) -> None:
        """Forget a session that the ledger no longer has."""
        self._active.pop(session_id, None)
        self.failed.discard(session_id)
        self._failed_between.discard(session_id)

    def drop(self, session_id: int) -> ActiveSession | None:
        """Drop an active session whose step failed; its sources return to the ledger's state."""
        session = self._active.pop(session_id, None)
        if session is not None:
            for row in self._ledger.sources_of(session_id):
                self._catalog.sources[row.id].rewind(row)
        return session
