"""The daemon: takes the lock, opens the ledger, watches, and steps changed sources until a signal stops it."""

import os
import time
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Final

from katod.agents.guard import take_failures
from katod.agents.reports import heard, reported
from katod.chores import Chores
from katod.config import Settings
from katod.discover.catalog import Catalog
from katod.discover.discovery import Discovery
from katod.discover.roots import Root
from katod.errors import KatodError, LedgerError, StateLost, safe_message
from katod.livesettings import LiveSettings
from katod.log import EventLog
from katod.model import PersonalWord, SessionKey
from katod.pipeline import NOW, Pipeline, Schedule
from katod.preload import preload
from katod.record.family import family
from katod.record.forget import Remains, delete_transcripts, make_tombstones
from katod.record.news import News, Tell, tell_nobody
from katod.record.personal import said_of
from katod.record.policy import Policy
from katod.record.session import ActiveSession
from katod.service import home, interrupted, recordingfiles, running
from katod.service.control import WITH_OUTPUTS, Request
from katod.service.desktop import Desktop
from katod.service.interrupted import Interrupted
from katod.service.lock import Lock
from katod.service.openstate import OpenState
from katod.service.recordingfiles import RecordingFiles
from katod.service.sd_notify import sd_notify, watchdog_interval
from katod.service.signals import Signals
from katod.shellrequests import ShellRequests
from katod.store.integrity import DatabaseError, containing, delete_quarantined, quarantined
from katod.store.ledger import LEDGER_NAME, Ledger
from katod.store.rows import UNNAMED, SessionRow
from katod.store.usagecache import forget_usage

QUIET: Final = 1.0  # seconds without a step before unsaved state is stored
_ELSEWHERE: Final = "did it start with other variables of the agents?"
_LOOKS: Final = 3  # for outputs that are missing, in a single run


class Daemon:
    """The composition root. One thread runs all steps; the watcher's thread only adds hints."""

    def __init__(
        self,
        settings: Settings,
        config_path: Path,
        state: Path,
        log: EventLog,
        signals: Signals | None = None,
        tell: Tell = tell_nobody,
    ) -> None:
        self._settings = LiveSettings(settings, config_path, state)
        self._log = log
        self._ledger = Ledger.open(state, log)
        if moved := home.note(state):
            log.state_moved(str(state), moved)
        roots, catalog, watchdog = self._settings.roots(), Catalog(self._ledger, log), watchdog_interval()
        self._discovery = Discovery(catalog, roots, self._settings.inbox.make(), log, full_every=watchdog)
        policy = self._settings.policy(roots, self._ledger.projects.worktrees)
        if signals is not None:  # katod goes on running
            tell = _on_desktop(tell, self._settings, log)
        self._pipeline = Pipeline(self._ledger, catalog, log, policy, tell)
        self._requests = ShellRequests(self._ledger, catalog, log, self._pipeline)
        self._schedule = Schedule()
        self._signals = signals or Signals()
        self._signals.on_arrival(self._discovery.hints.wake)
        self._chores = Chores(self._ledger, catalog, state, log, self._discovery.hints.wake)
        self._chores.rescuer.use(policy, roots)

    def run(self, held: OpenState) -> None:
        """Follow all sources until SIGTERM or SIGINT; a step in progress is completed first.

        Raises StateLost as soon as the state directory is no longer the one that katod has open. What is there by then
        may be another katod's, and is left alone.
        """
        watching = self._discovery.start(watch=self._settings.now.watch.use_events)
        if not self._signals.stop:
            self._begin()
            self._chores.use(self._settings.policy(self._settings.roots(), self._ledger.projects.worktrees))
            running.note(self._settings.state)
            mode, sources = "events" if watching else "sweeps only", len(self._discovery.catalog.sources)
            self._log.daemon_started(mode, sources)
            sd_notify("READY=1", f"STATUS=following {sources} sessions ({mode})")
        shown = RecordingFiles(self._settings.state, self._log)
        try:
            self._loop(shown, held)
            held.require()
        except (StateLost, LedgerError, OSError) as error:
            if (lost := held.error()) is None:
                raise
            self._leave_note(lost, held)
            raise lost from error
        finally:
            if not held.lost():
                shown.clear()
        sd_notify("STOPPING=1")
        self.close()
        self._log.daemon_stopped(self._signals.stop)

    def _leave_note(self, error: StateLost, held: OpenState) -> None:
        """Tell the log, and the next `katod status`, which recordings end: none, if the ledger is still there."""
        ended = [] if held.has_ledger else self._recorded()
        self._log.state_lost(str(error.path), error.what, len(ended))
        try:
            interrupted.leave(self._settings.state, ended)
        except OSError as problem:
            self._log.state_lost(str(error.path), f"no note can be left: {safe_message(problem)}", len(ended))

    def _recorded(self) -> list[Interrupted]:
        """Return the recordings that run or are paused, as far as the ledger can still be read."""
        now = _now()
        with suppress(LedgerError, DatabaseError):
            rows = [row for row in self._ledger.outputs() if row.open or row.paused]
            return [
                Interrupted(
                    now,
                    row.id,
                    str(self._ledger.session(row.session).key),
                    "" if row.held is not None else str(row.path),
                )
                for row in rows
            ]
        return []

    def _begin(self) -> None:
        """Resume what was in progress, and find all sources."""
        self._settings.inbox.clean()
        self._pipeline.resume()
        if not self._settings.paused:  # some may not have been read to their end when the pause ended
            self._requests.end_pause(_now())
        self._schedule.queue(self._discovery.catalog.unread())
        self._schedule.queue(self._discovery.sweep())

    def once(self, *, for_request: bool = False) -> None:
        """Sweep, process everything, and return; an output that is missing is looked for after a moment.

        The one run that carries out a person's request does no chores.
        """
        self._begin()
        self._take_requests()
        self.process()
        for _ in range(_LOOKS):
            if (look := self._pipeline.delivery.next_look()) is None:
                break
            time.sleep(max(0.0, look - time.monotonic()))
            self.process()
        if not for_request:
            self._chores.rescue_all(lambda: bool(self._signals.stop))
        self.close()

    def process(self) -> None:
        """Step all waiting sources until nothing is left to do, or a signal stops katod."""
        while not self._signals.stop and (self._schedule or self._pipeline.follow(time.monotonic())):
            self._step_due(NOW)

    def close(self) -> None:
        """Store unsaved state and release everything."""
        self._pipeline.flush()
        self._chores.close()
        self.release()

    def release(self) -> None:
        """Release everything; what was not stored is lost, as after a crash."""
        self._discovery.stop()
        self._ledger.close()

    # -- the loop ---------------------------------------------------------------------------------

    def _loop(self, shown: RecordingFiles, held: OpenState) -> None:
        stepped = 0.0
        while not self._signals.stop:
            held.require()  # before each step, not only with each sweep: another katod may have the same sessions
            now = time.monotonic()
            if (is_asked := self._signals.take_reload()) or self._settings.has_changed(now):
                self._reload(is_asked=is_asked)
            self._look(now)
            if due := self._schedule.due(now):
                stepped = now
            more = (self._step_due(now) if due else False) | self._pipeline.follow(now)
            more |= self._chores.advance(now)
            shown.show([(one.row.key, output.row) for one in self._pipeline.recorded() if (output := one.recording)])
            self.tell_states()
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

    def tell_states(self) -> None:
        """Tell of recorded sessions that wait for the user, or are done after a while."""
        heard = self._discovery.heard()
        for session in self._pipeline.recorded():
            if session.is_read:
                has_news = session.row.key.agent in heard
                self._pipeline.between_steps(session.row.id, partial(self._tell_state, session, has_news=has_news))
        self._discovery.catalog.note_failures(take_failures())

    def _tell_state(self, session: ActiveSession, *, has_news: bool) -> None:
        about = (session.sources[-1].path, session.row.key, session.metadata.start)
        if has_news:
            session.state_news.hear(reported(*about))
        if (doing := session.state_news.news(time.time(), partial(heard, *about))) and (output := session.recording):
            self._pipeline.delivery.tell(News.of_state(doing, output.row))

    def _pause(self, stepped: float) -> float:
        """Return the seconds until something has to be done."""
        times = [self._discovery.deadline(), self._schedule.deadline()]
        if (retry := self._pipeline.delivery.next_retry()) is not None:
            times.append(retry)
        times += self._chores.deadlines()
        if self._pipeline.unsettled:
            times.append(stepped + QUIET)
        return max(0.0, min(times) - time.monotonic())

    def _step_due(self, now: float) -> bool:
        """Step each source that is due, once; return whether one of them has more to read."""
        more = False
        for source in self._schedule.due(now):
            if self._signals.stop:
                break
            self._requests.go_on(source.session)
            if self._pipeline.step(source.id):
                more = True
            else:
                self._schedule.done(source, now)
                self._requests.go_on(source.session)
        return more

    # -- requests, settings -----------------------------------------------------------------------

    def _take_requests(self) -> None:
        for path, request in self._settings.inbox.poll():
            if request.command is not None and request.command.word != "stop":
                self._ledger.tombstones.reopen(request.key)
            self._schedule.queue(self._discovery.sweep())  # the session may be newer than the last sweep
            answer = self._carry_out(request, f"request:{path.stem}")
            if answer is not None:
                self._settings.inbox.answer(path, answer)

    def _carry_out(self, request: Request, dedup_key: str) -> str | None:
        """Carry out a request; return why it was refused, or an empty string; None leaves it to the next start."""
        try:
            if request.word == "pause":
                return self._pause_recording(request.time)
            if request.word == "resume":
                return self._resume_recording(request.time)
            if request.word == "forget":
                return self._forget(request, dedup_key)
            if request.word == "expect":
                return self._expect(request)
            if (saying := request.saying) is not None:
                return self._keep_words(request, saying)
        except OSError as error:
            return f"{error.filename}: {error.strerror}"
        return self._carry_out_in_session(request, dedup_key)

    def _expect(self, request: Request) -> str:
        """Take for history what a file will have that is about to appear; return why it cannot be, or nothing."""
        size, _, path = request.name.partition(":")
        session = self._ledger.find_session(request.key)
        if session is not None and session.id in self._ledger.busy_sessions():
            return f"{request.key} is still being recorded: `katod stop {request.key.id}` ends that"
        self._chores.rescuer.expect(request.key)
        expected = size.isdecimal() and self._discovery.catalog.expect(self._discovery.roots, path, int(size))
        return "" if expected else f"{path} is not a session file that katod can wait for"

    def _keep_words(self, request: Request, word: PersonalWord) -> str:
        """Keep what the user says of a session, whether it is followed or not."""
        with self._ledger.transaction():
            self._ledger.personal.save(said_of(self._ledger.personal.of(request.key), word, request.name))
        return ""

    def _carry_out_in_session(self, request: Request, dedup_key: str) -> str:
        session = self._ledger.find_session(request.key)
        if session is None or not self._discovery.catalog.of_session(session.id):
            return f"the running katod does not follow {request.key}: {_ELSEWHERE}"
        command = request.command
        try:
            if command is None:
                refusal = self._requests.restore(session.id, int(request.name))
            else:
                refusal = self._requests.command(session.id, command, request.time, dedup_key)
        except LedgerError:
            raise
        except KatodError as error:
            refusal = str(error)
        while self._pipeline.follow(time.monotonic()):
            pass
        return refusal

    def _forget(self, request: Request, dedup_key: str) -> str | None:
        """Forget a session; None if that is to be repeated, because a program still reads what was deleted.

        What was said so far is written first. If katod ends before the sessions are deleted from the ledger, all of it
        is repeated after the next start; afterwards, only what remains of them in files is deleted once more.
        Raises OSError.
        """
        sessions = family(request.key, self._ledger)
        self._end_recordings(sessions, request, dedup_key)
        remains = Remains.of(sessions, self._ledger)
        if request.name == WITH_OUTPUTS:
            delete_transcripts(remains)
        keys = {request.key, *(row.key for row in sessions)}
        self._clean_state(keys, remains)
        self._ledger.forget_words(keys)
        self._chores.look()  # what was sent is forgotten with the rest
        if sessions:
            self._schedule.forget(make_tombstones(remains, self._ledger, self._discovery.catalog))
            self._pipeline.forget(sessions)
            for row in sessions:
                self._requests.forget(row.id)
            self._chores.look(at_once=True)
            self._log.session_forgotten(str(request.key))
        try:
            forget_usage(self._settings.state, keys)  # a `katod usage` that began before may have stored it again
            return "" if self._ledger.erase() else None
        except OSError as error:
            return f"it is forgotten, but {error.filename}: {error.strerror}; run this again"
        except LedgerError as error:
            return f"it is forgotten, but {error.what}; run this again"

    def _end_recordings(self, sessions: list[SessionRow], request: Request, dedup_key: str) -> None:
        """Write what was said so far in these sessions, as far as that is possible, and end their recordings."""
        recorded = {row.session for row in Remains.of(sessions, self._ledger).outputs if row.open or row.paused}
        for row in sessions:
            if row.id in recorded:
                stop = Request(row.key, "stop", "", request.time)
                self._carry_out_in_session(stop, f"{dedup_key}:{row.key}")
        self._pipeline.flush()

    def _clean_state(self, keys: set[SessionKey], remains: Remains) -> None:
        """Delete what other files in the state directory have of sessions. Raises OSError."""
        recordingfiles.remove(self._settings.state, keys)
        self._chores.rescuer.forget(keys)
        forget_usage(self._settings.state, keys)
        interrupted.forget(self._settings.state, keys)
        self._settings.inbox.clean()
        words = [*remains.words, *(key.id.encode("utf-8", "replace") for key in keys)]
        for path in containing(quarantined(self._settings.state, LEDGER_NAME), words):
            delete_quarantined(path)

    def _pause_recording(self, time: str) -> str | None:
        """End all recordings with a mark, after what was said so far. Raises OSError if that cannot be noted."""
        if not self._settings.paused:
            self.process()
            if self._signals.stop:
                return None
            self._settings.pause(time)
            self._apply(self._settings.roots())
            self._log.daemon_paused()
        return ""

    def _resume_recording(self, moment: str) -> str | None:
        """Pass over what was said since the pause, and go on with the recordings that it ended. Raises OSError."""
        if self._settings.paused:
            self.process()
            if self._signals.stop:
                return None
            self._requests.pass_over(time.time_ns())
            self._pipeline.flush()  # before the pause ends: a crash in between must not forget what is passed over
            self._settings.resume()
            self._apply(self._settings.roots())
            self._requests.end_pause(moment)
            self._log.daemon_resumed()
        return ""

    def _apply(self, roots: list[Root], *, is_asked: bool = True) -> Policy:
        """Let the settings, or a pause, take effect; return what they decide."""
        policy = self._settings.policy(roots, self._ledger.projects.worktrees)
        self._pipeline.use(policy)
        self._chores.rescuer.use(policy, roots, is_asked=is_asked)
        return policy

    def _reload(self, *, is_asked: bool = True) -> None:
        """Read the configuration again. Unless that `is_asked` for, nothing is done if it says the same as before."""
        if not self._settings.reload() and not is_asked:
            return
        path = str(self._settings.path)
        if (error := self._settings.problem) is not None:
            self._log.settings_rejected(path, str(error))
            sd_notify(f"STATUS=invalid configuration, keeping the old settings: {safe_message(error)}")
            return
        self._log.set_level(self._settings.now.log.level)
        roots = self._settings.roots()
        self._chores.use(self._apply(roots, is_asked=is_asked))
        self._discovery.use(roots)
        self._log.settings_reloaded(path)
        sd_notify(f"STATUS=following {len(self._discovery.catalog.sources)} sessions")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _on_desktop(tell: Tell, settings: LiveSettings, log: EventLog) -> Tell:
    """Return a function that tells news to the desktop, too, where the settings ask for it.

    The desktop is shown the project, the name of the file, and why something was refused; nothing that was said.
    """
    desktop = Desktop(log.notification_failed)

    def tell_both(news: News) -> None:
        tell(news)
        text = ", ".join(filter(None, (news.project, news.path.name if news.path else "", news.what)))
        desktop.show(settings.now.recording.notify, news.headline, text or UNNAMED)

    return tell_both


def run_daemon(
    settings: Settings,
    config_path: Path,
    state: Path,
    log: EventLog,
    signals: Signals | None,
    tell: Tell = tell_nobody,
    *,
    for_request: bool = False,
) -> None:
    """Run katod in the foreground until a signal stops it; without signals, process what is new and return.

    Raises AlreadyRunning, LedgerError, StateLost.
    """
    os.umask(0o077)
    lock = Lock.take(state)
    if signals is not None:
        preload()
    try:
        daemon = Daemon(settings, config_path, state, log, signals, tell)
        try:
            if signals is None:
                daemon.once(for_request=for_request)
            else:
                daemon.run(OpenState(state, lock))
        finally:
            daemon.release()
    finally:
        lock.release()
