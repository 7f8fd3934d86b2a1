"""The daemon: takes the lock, opens the ledger, watches, and steps changed sources until a signal stops it."""

import os
import time
from pathlib import Path
from typing import Final

from katod import config
from katod.agents import AGENTS
from katod.config import Settings
from katod.discover.catalog import Catalog
from katod.discover.discovery import Discovery
from katod.discover.roots import Root, find_roots
from katod.errors import ConfigError, KatodError, LedgerError
from katod.log import EventLog
from katod.pipeline import Pipeline
from katod.record.policy import Policy
from katod.schedule import NOW, Schedule
from katod.service import desktop
from katod.service.control import Inbox, Request
from katod.service.lock import Lock
from katod.service.sd_notify import sd_notify
from katod.service.signals import Signals
from katod.store.ledger import Ledger

QUIET: Final = 1.0  # seconds without a step before unsaved state is stored
_LOOKS: Final = 3  # for outputs that are missing, in a single run


class LiveSettings:
    """The settings in effect, and the file they are reloaded from."""

    def __init__(self, settings: Settings, path: Path, state: Path) -> None:
        self.now = settings
        self.path = path
        self._state = state
        self._required = path.exists()  # if a file that existed is gone, that is a mistake, not a wish for the defaults

    def reload(self) -> None:
        """Reload the file. Raises ConfigError; the old settings then remain in effect."""
        self.now = config.load(self.path, required=self._required)
        self._required = self.path.exists()

    def roots(self) -> list[Root]:
        """Return the agents' roots."""
        return find_roots(self.now, AGENTS)

    def policy(self, roots: list[Root]) -> Policy:
        """Return the part of the settings that decides about recordings."""
        kept = [root.path for root in roots if not root.database]
        return Policy.of(self.now, (*kept, Path(os.path.realpath(self._state))))


class Daemon:
    """The composition root. One thread runs all steps; the watcher's thread only adds hints."""

    def __init__(
        self, settings: Settings, config_path: Path, state: Path, log: EventLog, signals: Signals | None = None
    ) -> None:
        self._settings = LiveSettings(settings, config_path, state)
        self._log = log
        self._inbox = Inbox(state)
        self._ledger = Ledger.open(state, log)
        roots = self._settings.roots()
        self._discovery = Discovery(Catalog(self._ledger, log), roots, self._inbox.make(), log)
        policy = self._settings.policy(roots)
        self._pipeline = Pipeline(self._ledger, self._discovery.catalog, log, policy, self._notify)
        self._schedule = Schedule()
        self._signals = signals or Signals()
        self._signals.wake = self._discovery.hints.wake

    def run(self) -> None:
        """Follow all sources until SIGTERM or SIGINT; a step in progress is completed first."""
        watching = self._discovery.start(watch=self._settings.now.watch.use_events)
        if not self._signals.stop:
            self._begin()
            mode, sources = "events" if watching else "sweeps only", len(self._discovery.catalog.sources)
            self._log.daemon_started(mode, sources)
            sd_notify("READY=1", f"STATUS=following {sources} sessions ({mode})")
        self._loop()
        sd_notify("STOPPING=1")
        self.close()
        self._log.daemon_stopped(self._signals.stop)

    def _begin(self) -> None:
        """Resume what was in progress, and find all sources."""
        self._pipeline.resume()
        self._schedule.queue(self._discovery.catalog.unread())
        self._schedule.queue(self._discovery.sweep())

    def once(self) -> None:
        """Sweep, process everything, and return; an output that is missing is looked for after a moment."""
        self._begin()
        self._take_requests()
        self.process()
        for _ in range(_LOOKS):
            if (look := self._pipeline.delivery.next_look()) is None:
                break
            time.sleep(max(0.0, look - time.monotonic()))
            self.process()
        self.close()

    def process(self) -> None:
        """Step all waiting sources until nothing is left to do."""
        while self._schedule or self._pipeline.follow(time.monotonic()):
            self._step_due(NOW)

    def close(self) -> None:
        """Store unsaved state and release everything."""
        self._pipeline.flush()
        self.release()

    def release(self) -> None:
        """Release everything; what was not stored is lost, as after a crash."""
        self._discovery.stop()
        self._ledger.close()

    # -- the loop ---------------------------------------------------------------------------------

    def _loop(self) -> None:
        stepped = 0.0
        while not self._signals.stop:
            now = time.monotonic()
            if self._signals.reload:
                self._reload()
            self._look(now)
            if due := self._schedule.due(now):
                stepped = now
            more = (self._step_due(now) if due else False) | self._pipeline.follow(now)
            if now - stepped >= QUIET:
                self._pipeline.flush()
            if not more and not self._signals.stop:
                self._discovery.hints.wait(self._pause(stepped))

    def _look(self, now: float) -> None:
        """Queue what changed, and handle requests."""
        hinted, requested = self._discovery.hinted()
        self._schedule.queue(hinted)
        self._schedule.queue(self._pipeline.take_failed())
        active = self._discovery.active(now)
        if active is not None:
            self._schedule.queue(active)
        if requested or active is not None:
            self._take_requests()
        everything = self._discovery.everything(now)
        if everything is not None:
            self._schedule.queue(everything)
            sd_notify("WATCHDOG=1")

    def _pause(self, stepped: float) -> float:
        """Return the seconds until something has to be done."""
        times = [self._discovery.deadline(), self._schedule.deadline()]
        if (retry := self._pipeline.delivery.next_retry()) is not None:
            times.append(retry)
        if self._pipeline.unsettled:
            times.append(stepped + QUIET)
        return max(0.0, min(times) - time.monotonic())

    def _step_due(self, now: float) -> bool:
        """Step each source that is due, once; return whether one of them has more to read."""
        more = False
        for source in self._schedule.due(now):
            if self._signals.stop:
                break
            if self._pipeline.step(source.id):
                more = True
            else:
                self._schedule.done(source, now)
        return more

    # -- requests, settings -----------------------------------------------------------------------

    def _take_requests(self) -> None:
        for path, request in self._inbox.poll():
            self._schedule.queue(self._discovery.sweep())  # the session may be newer than the last sweep
            self._inbox.answer(path, self._carry_out(request, f"request:{path.stem}"))

    def _carry_out(self, request: Request, dedup_key: str) -> str:
        """Carry out a request; return why it was refused, or an empty string."""
        session = self._ledger.find_session(request.key)
        if session is None or not self._discovery.catalog.of_session(session.id):
            return "no session matches"
        command = request.command
        try:
            if command is None:
                refusal = self._pipeline.restore(session.id, int(request.name))
            else:
                refusal = self._pipeline.request(session.id, command, request.time, dedup_key)
        except LedgerError:
            raise
        except KatodError as error:
            refusal = str(error)
        while self._pipeline.follow(time.monotonic()):
            pass
        return refusal

    def _reload(self) -> None:
        self._signals.reload = False
        path = str(self._settings.path)
        try:
            self._settings.reload()
        except ConfigError as error:
            self._log.settings_rejected(path, str(error))
            sd_notify(f"STATUS=invalid configuration, keeping the old settings: {error}")
            return
        self._log.level = self._settings.now.log.level
        roots = self._settings.roots()
        self._pipeline.use(self._settings.policy(roots))
        self._discovery.use(roots)
        self._log.settings_reloaded(path)

    def _notify(self, title: str, text: str) -> None:
        if self._settings.now.recording.notify:
            desktop.notify(title, text)


def run_daemon(settings: Settings, config_path: Path, state: Path, log: EventLog, signals: Signals | None) -> None:
    """Run katod in the foreground until a signal stops it; without signals, process what is new and return.

    Raises AlreadyRunning, LedgerError.
    """
    os.umask(0o077)
    lock = Lock.take(state)
    try:
        daemon = Daemon(settings, config_path, state, log, signals)
        try:
            if signals is None:
                daemon.once()
            else:
                daemon.run()
        finally:
            daemon.release()
    finally:
        lock.release()
