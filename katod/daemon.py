"""The daemon: takes the lock, opens the ledger, watches, and steps what changed, until it is told to stop."""

import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from katod import config, requests
from katod.agents import AGENTS
from katod.config import Settings
from katod.discover.roots import Root, find_roots
from katod.discover.watch import Hints, Watcher, folders_of
from katod.errors import ConfigError, KatodError, LedgerError
from katod.log import EventLog
from katod.pipeline import Pipeline
from katod.record.catalog import Catalog
from katod.record.ledger import Ledger
from katod.record.outputs import Rules
from katod.record.rows import SourceRow
from katod.service.lock import Lock
from katod.service.notify import desktop, tell_manager
from katod.service.orders import Orders

COALESCE: Final = 0.05  # seconds between two steps of one source: what comes meanwhile is one batch
HOT_EVERY: Final = 2.0
FULL_EVERY: Final = 30.0
FULL_EVERY_WHEN_QUIET: Final = 60.0
HOT_FOR: Final = 600.0
QUIET: Final = 1.0
LONGEST_PAUSE: Final = 60.0


class Daemon:
    """The composition root. One thread steps; the watcher's thread only leaves hints."""

    def __init__(
        self, settings: Settings, config_path: Path, state: Path, log: EventLog, orders: Orders | None = None
    ) -> None:
        self._config_path = config_path
        self._has_config = config_path.exists()  # a file that is gone is a mistake, not a wish for the defaults
        self._state = state
        self._log = log
        self._hints = Hints(AGENTS.values())
        self._watcher = Watcher(self._hints, log)
        self._ledger = Ledger.open(state, log)
        self._catalog = Catalog(self._ledger, log)
        self._roots = find_roots(settings, AGENTS)
        self._settings = settings
        self._pipeline = Pipeline(self._ledger, self._catalog, log, self._rules(), self._notify)
        self._due: dict[int, float] = {}
        self._stepped: dict[int, float] = {}
        self._failures: dict[int, int] = {}
        self._hot: dict[tuple[Root, str], float] = {}
        self._last_step = 0.0
        self._wall = time.time() - time.monotonic()
        self._answers: dict[Path, str] = {}  # those that could not be written yet
        self._orders = orders or Orders()
        self._orders.wake = self._hints.wake

    def run(self) -> None:
        """Follow everything until SIGTERM or SIGINT; a step under way is finished first."""
        watching = self._settings.watch.use_events and self._watcher.start()
        self._renew()
        if not self._orders.stop:
            self._begin()
            mode = "events" if watching else "sweeps only"
            self._log.daemon_started(mode, len(self._catalog.sources))
            tell_manager("READY=1", f"STATUS=following {len(self._catalog.sources)} sessions ({mode})")
        self._loop()
        tell_manager("STOPPING=1")
        self.close()
        self._log.daemon_stopped(self._orders.stop)

    def _begin(self) -> None:
        """Take up what was under way, and find what is there."""
        self._pipeline.resume()
        self._queue(self._catalog.unread())
        self._queue(self._catalog.sweep(self._roots))

    def once(self) -> None:
        """Sweep, process everything, and return."""
        self._begin()
        self._take_requests()
        while self._due or self._pipeline.follow(time.monotonic()):
            self._step_due(float("inf"))
        self.close()

    def close(self) -> None:
        """Store what is unsaved and let go of everything."""
        self._watcher.stop()
        self._pipeline.flush()
        self._ledger.close()

    # -- the loop ---------------------------------------------------------------------------------

    def _loop(self) -> None:
        now = time.monotonic()
        hot, full, swept, lost = now + HOT_EVERY, now + FULL_EVERY, 0.0, False
        while not self._orders.stop:
            now = time.monotonic()
            gap = abs(time.time() - now - self._wall) > FULL_EVERY  # the machine slept, or its clock was set
            lost |= self._take_hints()
            if self._orders.reload:
                self._reload()
            if now >= hot:
                hot = now + HOT_EVERY
                lost |= self._renew()
                self._sweep_hot(now)
                self._take_requests()
            if now >= full or gap or (lost and now - swept >= HOT_EVERY):  # folders may be touched all the time
                swept, lost, self._wall = now, False, time.time() - now
                self._queue(self._catalog.sweep(self._roots))
                full = now + (FULL_EVERY if self._hot else FULL_EVERY_WHEN_QUIET)
                tell_manager("WATCHDOG=1")
            more = self._step_due(now) | self._pipeline.follow(now)
            if now - self._last_step >= QUIET:
                self._pipeline.flush()
            if not more and not self._orders.stop:
                self._hints.wait(self._pause(min(hot, full)))

    def _pause(self, deadline: float) -> float:
        """Return how long nothing has to be done, in seconds."""
        times = [deadline, *self._due.values()]
        if (retry := self._pipeline.delivery.next_retry()) is not None:
            times.append(retry)
        if self._pipeline.unsettled:
            times.append(self._last_step + QUIET)
        return max(0.0, min(times) - time.monotonic())

    def _step_due(self, now: float) -> bool:
        """Step each source whose time has come, once; returns whether one of them has more."""
        more = False
        for source_id in [key for key, at in self._due.items() if at <= now]:
            if self._orders.stop:
                break
            if self._pipeline.step(source_id):
                more = True
            else:
                del self._due[source_id]
                self._try_again(source_id, now)
                self._stepped[source_id] = now if now != float("inf") else 0.0
            self._last_step = time.monotonic()
        return more

    def _try_again(self, source_id: int, now: float) -> None:
        """Have a source that could not be read looked at again, with growing pauses, changed or not."""
        if not self._catalog.sources[source_id].problem or now == float("inf"):
            self._failures.pop(source_id, None)
            return
        failures = self._failures[source_id] = self._failures.get(source_id, 0) + 1
        self._due[source_id] = now + min(LONGEST_PAUSE, 2.0**failures)

    def _queue(self, rows: Iterable[SourceRow]) -> None:
        now = time.monotonic()
        for row in rows:
            pause = HOT_EVERY if row.id in self._failures else COALESCE
            at = self._stepped.get(row.id, 0.0) + pause
            self._due[row.id] = min(at, self._due.get(row.id, at))
            root = self._root_of(row.path)
            if root is not None and time.time() - row.seen.mtime_ns / 1e9 < HOT_FOR:
                self._hot[root, os.path.dirname(row.path)] = now

    # -- where to look ----------------------------------------------------------------------------

    def _take_hints(self) -> bool:
        paths, overflow = self._hints.take()
        for path in paths:
            root = self._root_of(path)
            if root is not None:
                self._queue(self._catalog.hint(root, path))
            elif path.startswith(str(self._state)):
                self._take_requests()
        return overflow

    def _sweep_hot(self, now: float) -> None:
        self._hot = {place: at for place, at in self._hot.items() if now - at < HOT_FOR}
        self._queue(self._catalog.sweep_folders(list(self._hot)))

    def _renew(self) -> bool:
        folders = folders_of(self._roots)
        requests_folder = self._state / requests.FOLDER
        requests_folder.mkdir(mode=0o700, exist_ok=True)
        return self._watcher.renew([*folders, (requests_folder, False)])

    def _root_of(self, path: str) -> Root | None:
        found = [root for root in self._roots if path.startswith(f"{root.path}/")]
        return max(found, key=lambda root: len(root.path.parts), default=None)

    # -- requests, settings -----------------------------------------------------------------------

    def _take_requests(self) -> None:
        for path, request in requests.take(self._state):
            if path in self._answers:
                self._answer(path, self._answers.pop(path))
                continue
            if request is None:
                self._answer(path, "not a request")
                continue
            self._queue(self._catalog.sweep(self._roots))  # the session may be newer than the last sweep
            session = self._ledger.session_of(request.key)
            if not self._catalog.of_session(session.id):
                self._answer(path, "no such session is known")
                continue
            try:
                refusal = self._pipeline.request(session.id, request.command, request.time, f"request:{path.stem}")
            except LedgerError:
                raise
            except KatodError as error:
                refusal = str(error)
            while self._pipeline.follow(time.monotonic()):
                pass
            self._answer(path, refusal)

    def _answer(self, path: Path, refusal: str) -> None:
        """Answer a request; one that cannot be answered now stays, and is answered so later."""
        try:
            requests.answer(path, refusal)
        except OSError:
            self._answers[path] = refusal

    def _reload(self) -> None:
        self._orders.reload = False
        try:
            settings = config.load(self._config_path, required=self._has_config)
        except ConfigError as error:
            self._log.settings_rejected(str(self._config_path), str(error))
            tell_manager(f"STATUS=the new settings are bad, the old ones stay: {error}")
            return
        self._settings = settings
        self._has_config = self._config_path.exists()
        self._log.level = settings.log.level
        self._roots = find_roots(settings, AGENTS)
        self._pipeline.use(self._rules())
        self._renew()
        self._log.settings_reloaded(str(self._config_path))

    def _rules(self) -> Rules:
        kept = [root.path for root in self._roots if not root.database]
        return Rules.of(self._settings, (*kept, Path(os.path.realpath(self._state))))

    def _notify(self, title: str, text: str) -> None:
        if self._settings.recording.notify:
            desktop(title, text)


def start(settings: Settings, config_path: Path, state: Path, log: EventLog, *, once: bool) -> None:
    """Run katod in the foreground; raises AlreadyRunning, LedgerError."""
    os.umask(0o077)
    orders = None if once else Orders.heard()
    lock = Lock.take(state)
    try:
        daemon = Daemon(settings, config_path, state, log, orders)
        if once:
            daemon.once()
        else:
            daemon.run()
    finally:
        lock.release()
