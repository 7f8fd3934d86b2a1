"""Every log event by name. Log lines hold names, paths, offsets and counts, never what was said."""

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

LEVELS: Final = ("debug", "info", "warning", "error")
# Writes one line: level, event name, fields.
Sink = Callable[[str, str, dict[str, Any]], None]


class EventLog:
    """Logs events of at least `level` to a sink. Without a sink it discards them: for commands that print an answer."""

    def __init__(self, sink: Sink | None = None, level: str = "info") -> None:
        self._sink = sink
        self.level = level

    def _emit(self, level: str, event: str, **fields: Any) -> None:
        if self._sink is None or LEVELS.index(level) < LEVELS.index(self.level):
            return
        with suppress(OSError, ValueError):  # the log's disk is full or its reader is gone: katod goes on without it
            self._sink(level, event, fields)

    # -- the daemon -------------------------------------------------------------------------------

    def daemon_started(self, mode: str, sources: int) -> None:
        """The daemon is ready and follows what it found."""
        self._emit("info", "daemon.started", mode=mode, sources=sources)

    def daemon_stopped(self, reason: str) -> None:
        """The daemon ends in order."""
        self._emit("info", "daemon.stopped", reason=reason)

    def settings_reloaded(self, path: str) -> None:
        """New settings hold from now on."""
        self._emit("info", "settings.reloaded", path=path)

    def settings_rejected(self, path: str, problem: str) -> None:
        """The settings file is bad; the old settings stay."""
        self._emit("error", "settings.rejected", path=path, problem=problem)

    def watch_lost(self, path: str, problem: str) -> None:
        """The file watcher fails here; the sweep goes on finding changes."""
        self._emit("warning", "watch.lost", path=path, problem=problem)

    # -- sources ----------------------------------------------------------------------------------

    def source_found(self, path: str, baseline: int) -> None:
        """A session file was seen for the first time."""
        self._emit("debug", "source.found", path=path, baseline=baseline)

    def source_changed(self, path: str, problem: str) -> None:
        """The bytes before the cursor changed; the file is aligned anew."""
        self._emit("warning", "source.changed", path=path, problem=problem)

    def source_unreadable(self, path: str, problem: str) -> None:
        """A session file cannot be read now."""
        self._emit("warning", "source.unreadable", path=path, problem=problem)

    def source_vanished(self, path: str) -> None:
        """A session file is gone; nothing ends by that."""
        self._emit("debug", "source.vanished", path=path)

    def record_malformed(self, path: str, offset: int, problem: str) -> None:
        """A line could not be decoded; it is kept as it is."""
        self._emit("warning", "record.malformed", path=path, offset=offset, problem=problem)

    def record_surprising(self, path: str, offset: int, problem: str) -> None:
        """A record has a shape that its adapter does not know; it is kept as it is."""
        self._emit("warning", "record.surprising", path=path, offset=offset, problem=problem)

    # -- commands and outputs ---------------------------------------------------------------------

    def command_applied(self, word: str, session: str) -> None:
        """A command did what it says."""
        self._emit("info", "command.applied", word=word, session=session)

    def command_refused(self, word: str, session: str, problem: str) -> None:
        """A command was refused."""
        self._emit("warning", "command.refused", word=word, session=session, problem=problem)

    def recording_began(self, session: str, output: str) -> None:
        """A range opened."""
        self._emit("info", "recording.began", session=session, output=output)

    def recording_ended(self, session: str, output: str) -> None:
        """A range closed."""
        self._emit("info", "recording.ended", session=session, output=output)

    def output_edited(self, output: str, change: str) -> None:
        """Someone else wrote to an output; what they wrote stays."""
        self._emit("info", "output.edited", output=output, change=change)

    def output_parked(self, output: str, problem: str, retry: float) -> None:
        """An output cannot be written now."""
        self._emit("error", "output.parked", output=output, problem=problem, retry_seconds=round(retry, 1))

    def asset_failed(self, path: str, problem: str) -> None:
        """An attachment could not be saved; the text that links it is written all the same."""
        self._emit("warning", "asset.failed", path=path, problem=problem)

    def output_resumed(self, output: str) -> None:
        """A parked output can be written again."""
        self._emit("info", "output.resumed", output=output)

    def output_recovered(self, output: str, *, foreign: bool) -> None:
        """After a crash the open intent was compared with the file and completed, among other text or not."""
        self._emit("info", "output.recovered", output=output, foreign=foreign)

    def ledger_set_aside(self, path: str, problem: str) -> None:
        """The ledger was unreadable; it was renamed and a new one begun."""
        self._emit("error", "ledger.set_aside", path=path, problem=problem)


def stderr_sink() -> Sink:
    """Return a sink that writes to stderr: one JSON object a line, on a terminal lines for people.

    Loads structlog, which costs more than all of katod: only the daemon calls this.
    """
    import structlog  # noqa: PLC0415 - see above

    renderer: Any = structlog.processors.JSONRenderer()
    if sys.stderr.isatty():
        renderer = structlog.dev.ConsoleRenderer(colors=not os.environ.get("NO_COLOR"))
    stamp = structlog.processors.TimeStamper(fmt="iso", utc=True)
    logger = structlog.wrap_logger(
        structlog.WriteLogger(sys.stderr),
        processors=[structlog.processors.add_log_level, stamp, renderer],
        wrapper_class=structlog.BoundLogger,
    )

    def write(level: str, event: str, fields: dict[str, Any]) -> None:
        getattr(logger, level)(event, **fields)

    return write
