"""Requests from the shell that concern one session: each is carried out at the end of what the session has.

A typed command has its place among the events; a request has none. So the session is read to its end first, and what
the request begins or ends has all events before it on one side.
"""

from collections.abc import Callable
from functools import partial
from typing import Final

from katod.discover.catalog import Catalog
from katod.errors import OutputError
from katod.log import EventLog
from katod.model import Command
from katod.pipeline import Pipeline
from katod.record.restore import Missing
from katod.record.session import ActiveSession
from katod.store.ledger import Ledger

_UNREAD: Final = "katod could not read this session: see `katod status`"
_NOT_AT_END: Final = "the output is not at the end of its session: see `katod status`"


class ShellRequests:
    """Starts, stops and completes recordings for the shell, and ends pauses."""

    def __init__(self, ledger: Ledger, catalog: Catalog, log: EventLog, pipeline: Pipeline) -> None:
        self._ledger = ledger
        self._catalog = catalog
        self._log = log
        self._pipeline = pipeline
        self._paused: dict[int, str] = {}  # sessions whose recordings go on once they are read to the end: since when
        self._read: set[int] = set()  # those that were read to their end since then

    # -- commands ---------------------------------------------------------------------------------------

    def command(self, session_id: int, command: Command, time: str, dedup_key: str) -> str:
        """Carry out a command once, at the end of the session; return why it was refused, or an empty string."""
        return self._at_end(session_id, lambda: self._carry_out(session_id, command, time, dedup_key))

    def restore(self, session_id: int, output_id: int) -> str:
        """Append to an output what is missing of it; return why that is not possible, or an empty string."""
        return self._at_end(session_id, partial(self._restore, session_id, output_id))

    def _at_end(self, session_id: int, act: Callable[[], str]) -> str:
        """Read a session to its end, and do something with it; return why that failed, or what `act` returns."""
        for source in self._catalog.of_session(session_id):
            while self._pipeline.step(source.id):
                pass
        if self._pipeline.has_failed(session_id):
            return _UNREAD
        refusal = self._pipeline.between_steps(session_id, act)
        return _UNREAD if refusal is None else refusal

    def _carry_out(self, session_id: int, command: Command, time: str, dedup_key: str) -> str:
        load = self._pipeline.load if command.word == "stop" else self._pipeline.load_all
        session = load(session_id)
        if self._ledger.is_applied(dedup_key):  # and the process ended before the answer was written
            return self._ledger.refusal(session.row.key, command.word, time)
        answer: list[str] = []

        def act(session: ActiveSession) -> None:
            session.changes.applied[dedup_key] = None
            last = session.metadata.last
            answer.append(self._pipeline.controller.carry_out(session, command, last, time=time))

        self._pipeline.between_events(session, act)
        return answer[0]

    def _restore(self, session_id: int, output_id: int) -> str:
        session = self._pipeline.load(session_id)
        output = session.outputs.get(output_id)
        if output is None or output.row.behind is not None or output.row.intent is not None:
            return _NOT_AT_END
        session.go_live(output)

        def act(session: ActiveSession) -> None:
            sources = [source.row for source in session.sources]
            found = Missing(output.row, session.row.key, sources, self._log)
            if output in session.live:  # otherwise its file is missing: it waits for that
                output.restore_missing(found.texts(), len(found.absent), found.content)

        try:
            self._pipeline.between_events(session, act)
        except OutputError as error:
            return f"the output {error.what}"
        return ""

    # -- the end of a pause -----------------------------------------------------------------------------

    def pass_over(self, now_ns: int) -> None:
        """Take for history the commands in what cannot be read yet that were typed before this time."""
        for source in self._catalog.sources.values():
            if not source.is_at_its_end():
                source.ignore_typed_before(now_ns)
                self._catalog.changed(source)

    def end_pause(self, time: str) -> None:
        """Go on with the recordings that ended because katod was paused, once their sessions are read to the end."""
        self._paused = {row.session: time for row in self._ledger.outputs() if row.paused}
        self._read.clear()
        for session_id in list(self._paused):
            self.go_on(session_id)

    def go_on(self, session_id: int) -> None:
        """Go on with the recording of a session if that waits for its end, and all of it was read."""
        if session_id not in self._paused:
            return
        is_read = all(source.is_at_its_end() for source in self._catalog.of_session(session_id))
        if not is_read and session_id not in self._read:
            return  # a step that reads the rest is followed by another try
        self._read.add(session_id)  # if katod fails now, the next try comes before more is read
        time = self._paused[session_id]

        def act() -> None:
            session = self._pipeline.load_all(session_id)
            self._pipeline.between_events(session, lambda session: self._pipeline.controller.resume(session, time))
            self._paused.pop(session_id, None)

        self._pipeline.between_steps(session_id, act)

    def forget(self, session_id: int) -> None:
        """Forget a session that the ledger no longer has."""
        self._paused.pop(session_id, None)
