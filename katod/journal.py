"""Every log event by name. Log lines hold names, paths, offsets and counts, never what was said."""

import logging
import os
import sys
from collections import Counter
from contextlib import suppress
from typing import Any, Final

import structlog

LEVELS: Final = ("debug", "info", "warning", "error")


class Journal:
    """The log of one process, and how often each event was logged."""

    def __init__(self) -> None:
        self._log: Any = structlog.get_logger("katod")
        self.counts: Counter[str] = Counter()

    def _say(self, level: str, event: str, **fields: Any) -> None:
        self.counts[event] += 1
        with suppress(OSError, ValueError):  # the log's disk is full, its reader is gone: katod goes on without it
            getattr(self._log, level)(event, **fields)

    # -- the daemon -------------------------------------------------------------------------------

    def daemon_started(self, mode: str, sources: int) -> None:
        """The daemon is ready and follows what it found."""
        self._say("info", "daemon.started", mode=mode, sources=sources)

    def daemon_stopped(self, reason: str) -> None:
        """The daemon ends in order."""
        self._say("info", "daemon.stopped", reason=reason)

    def settings_reloaded(self, path: str) -> None:
        """New settings hold from now on."""
        self._say("info", "settings.reloaded", path=path)

    def settings_rejected(self, path: str, problem: str) -> None:
        """The settings file is bad; the old settings stay."""
        self._say("error", "settings.rejected", path=path, problem=problem)

    def watch_lost(self, path: str, problem: str) -> None:
        """The file watcher fails here; the sweep goes on finding changes."""
        self._say("warning", "watch.lost", path=path, problem=problem)

    # -- sources ----------------------------------------------------------------------------------

    def source_found(self, path: str, baseline: int) -> None:
        """A session file was seen for the first time."""
        self._say("debug", "source.found", path=path, baseline=baseline)

    def source_changed(self, path: str, problem: str) -> None:
        """The bytes before the cursor changed; the file is aligned anew."""
        self._say("warning", "source.changed", path=path, problem=problem)

    def source_unreadable(self, path: str, problem: str) -> None:
        """A session file cannot be read now."""
        self._say("warning", "source.unreadable", path=path, problem=problem)

    def source_vanished(self, path: str) -> None:
        """A session file is gone; nothing ends by that."""
        self._say("debug", "source.vanished", path=path)

    def record_malformed(self, path: str, offset: int, problem: str) -> None:
        """A line could not be decoded; it is kept as it is."""
        self._say("warning", "record.malformed", path=path, offset=offset, problem=problem)

    def record_surprising(self, path: str, offset: int, problem: str) -> None:
        """A record has a shape that its adapter does not know; it is kept as it is."""
        self._say("warning", "record.surprising", path=path, offset=offset, problem=problem)

    # -- commands and outputs ---------------------------------------------------------------------

    def command_applied(self, word: str, session: str) -> None:
        """A command did what it says."""
        self._say("info", "command.applied", word=word, session=session)

    def command_refused(self, word: str, session: str, problem: str) -> None:
        """A command was refused."""
        self._say("warning", "command.refused", word=word, session=session, problem=problem)

    def recording_began(self, session: str, output: str) -> None:
        """A range opened."""
        self._say("info", "recording.began", session=session, output=output)

    def recording_ended(self, session: str, output: str) -> None:
        """A range closed."""
        self._say("info", "recording.ended", session=session, output=output)

    def output_edited(self, output: str, change: str) -> None:
        """Someone else wrote to an output; what they wrote stays."""
        self._say("info", "output.edited", output=output, change=change)

    def output_parked(self, output: str, problem: str, retry: float) -> None:
        """An output cannot be written now."""
        self._say("error", "output.parked", output=output, problem=problem, retry_seconds=round(retry, 1))

    def asset_failed(self, path: str, problem: str) -> None:
        """An attachment could not be saved; the text that links it is written all the same."""
        self._say("warning", "asset.failed", path=path, problem=problem)

    def output_resumed(self, output: str) -> None:
        """A parked output can be written again."""
        self._say("info", "output.resumed", output=output)

    def output_recovered(self, output: str, *, foreign: bool) -> None:
        """After a crash the open intent was compared with the file and completed, among other text or not."""
        self._say("info", "output.recovered", output=output, foreign=foreign)

    def ledger_set_aside(self, path: str, problem: str) -> None:
        """The ledger was unreadable; it was renamed and a new one begun."""
        self._say("error", "ledger.set_aside", path=path, problem=problem)


def configure(level: str = "info") -> None:
    """Send log lines to stderr, one JSON object a line (on a terminal, lines for people)."""
    renderer: Any = structlog.processors.JSONRenderer()
    if sys.stderr.isatty():
        renderer = structlog.dev.ConsoleRenderer(colors=not os.environ.get("NO_COLOR"))
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(getattr(logging, level.upper())),
        logger_factory=structlog.WriteLoggerFactory(file=sys.stderr),
        cache_logger_on_first_use=False,
    )


def quiet() -> None:
    """Say nothing: for commands whose output is their answer."""
    configure("critical")
