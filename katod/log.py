"""Every log event by name. Log lines contain ids, numbers, offsets and counts, never conversation text.

Nor do they contain a path of a session or of an output, as that may have a title or the name of a project in it: a
session is named by its key, an output by the number of its recording, a folder of sessions by the agent's root.
`katod status` says which file that is.
"""

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from types import ModuleType
from typing import Any, Final

LEVELS: Final = ("debug", "info", "warning", "error")
# Writes one line: level, event name, fields.
Sink = Callable[[str, str, dict[str, Any]], None]


class EventLog:
    """Logs events of at least `level` to a sink; without one it discards them, as commands that print an answer do."""

    def __init__(self, sink: Sink | None = None, level: str = "info") -> None:
        self._sink = sink
        self._level = level

    def set_level(self, level: str) -> None:
        """Log events of at least this level from now on."""
        self._level = level

    def _emit(self, level: str, event: str, **fields: Any) -> None:
        if self._sink is None or LEVELS.index(level) < LEVELS.index(self._level):
            return
        with suppress(OSError, ValueError):  # the disk is full or the reader is gone: logging must not stop katod
            self._sink(level, event, fields)

    # -- the daemon -------------------------------------------------------------------------------

    def daemon_started(self, mode: str, sources: int) -> None:
        """The daemon is ready and follows the sources it found."""
        self._emit("info", "daemon.started", mode=mode, sources=sources)

    def daemon_stopped(self, reason: str) -> None:
        """The daemon shut down cleanly."""
        self._emit("info", "daemon.stopped", reason=reason)

    def state_lost(self, path: str, problem: str, count: int) -> None:
        """The state directory was removed under katod, which ends; `count`: how many recordings end by it."""
        self._emit("error", "state.lost", path=path, problem=problem, count=count)

    def state_moved(self, path: str, problem: str) -> None:
        """The state directory was moved or copied here from another home or machine."""
        self._emit("warning", "state.moved", path=path, problem=problem)

    def daemon_paused(self) -> None:
        """Katod was paused; all recordings have a mark that says so."""
        self._emit("info", "daemon.paused")

    def daemon_resumed(self) -> None:
        """Katod records again."""
        self._emit("info", "daemon.resumed")

    def settings_reloaded(self, path: str) -> None:
        """The configuration was reloaded and is now in effect."""
        self._emit("info", "settings.reloaded", path=path)

    def settings_rejected(self, path: str, problem: str) -> None:
        """The configuration file is invalid; the previous settings remain in effect."""
        self._emit("error", "settings.rejected", path=path, problem=problem)

    def watch_lost(self, path: str, problem: str) -> None:
        """A directory in this root (`path`) cannot be watched; the sweep still finds changes."""
        self._emit("warning", "watch.lost", path=path, problem=problem)

    def watch_missed(self, path: str) -> None:
        """A file in this root (`path`) changed without a hint; from now on, all sweeps look at all files."""
        self._emit("warning", "watch.missed", path=path)

    def statusfiles_failed(self, path: str, problem: str) -> None:
        """The files that status lines show cannot be written; recordings are not affected, and katod tries again."""
        self._emit("warning", "statusfiles.failed", path=path, problem=problem)

    def serve_failed(self, session: str, problem: str, where: str) -> None:
        """`katod serve` failed at `where` (a bug, or a problem of the machine); without `session`, for all of them."""
        self._emit("error", "serve.failed", session=session, problem=problem, where=where)

    # -- sources ----------------------------------------------------------------------------------

    def root_unreadable(self, path: str, problem: str) -> None:
        """A directory or database in a root (`path`) cannot be read; katod tries again."""
        self._emit("warning", "root.unreadable", path=path, problem=problem)

    def source_found(self, session: str, baseline: int) -> None:
        """A source was seen for the first time."""
        self._emit("debug", "source.found", session=session, baseline=baseline)

    def source_changed(self, session: str, problem: str) -> None:
        """The bytes before the cursor changed; katod resyncs with the file."""
        self._emit("warning", "source.changed", session=session, problem=problem)

    def source_unreadable(self, session: str, problem: str) -> None:
        """A source cannot be read; katod tries again."""
        self._emit("warning", "source.unreadable", session=session, problem=problem)

    def source_vanished(self, session: str) -> None:
        """A source no longer exists; its recording stays open."""
        self._emit("debug", "source.vanished", session=session)

    def record_malformed(self, session: str, offset: int, problem: str) -> None:
        """A line could not be decoded; it is kept as `provider.raw`."""
        self._emit("warning", "record.malformed", session=session, offset=offset, problem=problem)

    def record_unexpected(self, session: str, offset: int, problem: str) -> None:
        """The adapter does not know this shape of record; it is kept as `provider.raw`."""
        self._emit("warning", "record.unexpected", session=session, offset=offset, problem=problem)

    # -- commands and outputs ---------------------------------------------------------------------

    def command_applied(self, command: str, session: str) -> None:
        """A command was executed."""
        self._emit("info", "command.applied", command=command, session=session)

    def command_refused(self, command: str, session: str) -> None:
        """A command, or the name in it, was refused; `katod status` says why."""
        self._emit("warning", "command.refused", command=command, session=session)

    def recording_started(self, session: str, output: int) -> None:
        """A recording started."""
        self._emit("info", "recording.started", session=session, output=output)

    def output_named(self, output: int) -> None:
        """A recording that waited for the words that name it has its file."""
        self._emit("info", "output.named", output=output)

    def recording_ended(self, session: str, output: int) -> None:
        """A recording ended."""
        self._emit("info", "recording.ended", session=session, output=output)

    def recording_abandoned(self, session: str, output: int) -> None:
        """The user continued in a new, unrecorded session; logged once."""
        self._emit("info", "recording.abandoned", session=session, output=output)

    def output_edited(self, output: int, change: str) -> None:
        """An output was changed by another program; the change is kept."""
        self._emit("info", "output.edited", output=output, change=change)

    def output_moved(self, output: int) -> None:
        """An output was renamed or moved; its recording continues at its new path."""
        self._emit("info", "output.moved", output=output)

    def output_parked(self, output: int, problem: str, retry: float) -> None:
        """An output cannot be written; it is parked and retried."""
        self._emit("error", "output.parked", output=output, problem=problem, retry_seconds=round(retry, 1))

    def attachment_failed(self, output: int, problem: str) -> None:
        """An attachment cannot be saved, and will not be; the text that names it is written nevertheless."""
        self._emit("warning", "attachment.failed", output=output, problem=problem)

    def output_resumed(self, output: int) -> None:
        """A parked output is writable again."""
        self._emit("info", "output.resumed", output=output)

    def output_recovered(self, output: int, *, foreign: bool) -> None:
        """An open intent was completed after a crash; `foreign`: the file also contains other text."""
        self._emit("info", "output.recovered", output=output, foreign=foreign)

    def session_forgotten(self, session: str) -> None:
        """A session was forgotten; of its transcripts, those that were asked for were deleted."""
        self._emit("info", "session.forgotten", session=session)

    def notification_failed(self, problem: str) -> None:
        """A desktop notification could not be shown; said once."""
        self._emit("warning", "notification.failed", problem=problem)

    def ledger_quarantined(self, path: str, problem: str) -> None:
        """The ledger was damaged; it was renamed and a new one was created."""
        self._emit("error", "ledger.quarantined", path=path, problem=problem)

    # -- saving from deletion ---------------------------------------------------------------------

    def rescue_saved(self, session: str, files: int, size: int) -> None:
        """A session was saved from deletion: how many files, of how many bytes."""
        self._emit("info", "rescue.saved", session=session, files=files, bytes=size)

    def rescue_failed(self, session: str, problem: str) -> None:
        """A session that is going to be deleted cannot be saved now; katod tries again."""
        self._emit("error", "rescue.failed", session=session, problem=problem)

    def rescue_deleted(self, session: str, reason: str) -> None:
        """A rescued copy was deleted: it expired or is over the size limit, or `reason` is about its session."""
        self._emit("info", "rescue.deleted", session=session, reason=reason)

    # -- deliveries -------------------------------------------------------------------------------

    # `to` is the section of the settings that names the destination: "matrix" or "otlp".

    def delivery_started(self, to: str, destination: str) -> None:
        """The server accepts katod, and recordings are delivered to this destination."""
        self._emit("info", "delivery.started", to=to, destination=destination)

    def delivery_waits(self, to: str, problem: str, retry: float) -> None:
        """The server cannot be reached or takes nothing now; katod tries again, and sends all that waits."""
        self._emit("warning", "delivery.waits", to=to, problem=problem, retry_seconds=round(retry, 1))

    def delivery_resumed(self, to: str) -> None:
        """The server takes events or spans again."""
        self._emit("info", "delivery.resumed", to=to)

    def delivery_stopped(self, to: str, problem: str) -> None:
        """Nothing is delivered until the settings change, or katod is restarted."""
        self._emit("error", "delivery.stopped", to=to, problem=problem)

    def delivery_abandoned(self, to: str) -> None:
        """The settings changed while a request hung: the delivery goes on without waiting for it."""
        self._emit("warning", "delivery.abandoned", to=to)

    def delivery_refused(self, to: str, output: int, txn: str, problem: str) -> None:
        """The server refuses one event or span for good; those after it are sent."""
        self._emit("warning", "delivery.refused", to=to, output=output, txn=txn, problem=problem)

    def delivery_rejected(self, to: str, output: int, count: int, first: str, last: str) -> None:
        """The collector accepted the batch `first` to `last`, except for `count` spans that it did not identify."""
        self._emit("warning", "delivery.rejected", to=to, output=output, count=count, first=first, last=last)

    def delivery_postponed(self, to: str, output: int, problem: str, retry: float) -> None:
        """The next item of a recording cannot be read, or was rejected; the other recordings are sent meanwhile."""
        wait = round(retry, 1)
        self._emit("warning", "delivery.postponed", to=to, output=output, problem=problem, retry_seconds=wait)

    def delivery_incomplete(self, to: str, output: int, problem: str) -> None:
        """The rest of a recording cannot be sent, because its session is no longer what was recorded."""
        self._emit("warning", "delivery.incomplete", to=to, output=output, problem=problem)

    def delivery_completed(self, to: str, output: int) -> None:
        """All of a recording that has ended was delivered."""
        self._emit("info", "delivery.completed", to=to, output=output)


def stderr_sink() -> Sink:
    """Return a sink that writes to stderr: one JSON object per line, or readable lines on a terminal.

    Loads structlog, which takes longer to import than all of katod: only the daemon calls this.
    """
    structlog = _structlog()
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


def _structlog() -> Any:
    """Import structlog without asyncio and rich: it imports them for what is not used here, and they take 5 MB."""
    spared = {"asyncio": ModuleType("asyncio"), "rich": None, "rich.pretty": None, "rich.console": None}
    spared = {name: stub for name, stub in spared.items() if name not in sys.modules}
    sys.modules.update(spared)  # type: ignore[arg-type]  # None: it cannot be imported
    try:
        return import_module("structlog")
    finally:
        for name in spared:
            del sys.modules[name]


def late_stderr_sink() -> Sink:
    """Return the same sink, which loads structlog with the first line: for a process that may never write one."""
    sinks: list[Sink] = []

    def write(level: str, event: str, fields: dict[str, Any]) -> None:
        if not sinks:
            sinks.append(stderr_sink())
        sinks[0](level, event, fields)

    return write
