"""The daemon's part: looks when sessions are due, saves them between everything else, and lets go of copies."""

import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Final, NamedTuple

from katod.agents.spec import Retention
from katod.discover.catalog import Catalog
from katod.discover.roots import Root
from katod.errors import KatodError, LedgerError, RescueError, failure_of, hint_for
from katod.log import EventLog
from katod.model import SessionKey
from katod.record.policy import Policy
from katod.rescue.copyfile import About, locked
from katod.rescue.folder import RescueFolder
from katod.rescue.names import place_of
from katod.rescue.notes import CopyState, RescueNotes
from katod.rescue.plan import Family, RescueLook, due_time, families, is_deleted_by_agent, to_save
from katod.rescue.recorded import RecordedSessions
from katod.rescue.restoring import remove_drafts
from katod.rescue.saving import NativeFile, SavingSlices, SavingTerms, Subject, save
from katod.store.ledger import Ledger

EVERY: Final = 3600.0  # seconds between two looks,
PATIENCE: Final = 600.0  # seconds for which a session is missing before its copy goes, too
_SOONEST: Final = 5.0  # and at least, however many sessions begin
_GAP: Final = 60.0  # seconds that the clock jumps if the machine slept, or its clock was set
_SLICE: Final = 0.02  # seconds of work at a time


class _SavingJob(NamedTuple):
    subject: Subject
    slices: SavingSlices


@dataclass(slots=True)
class _RescueClock:
    """When it is time to look: at first, every hour, when there is a new source, and after the machine slept."""

    next: float = 0.0
    last: float = -_SOONEST
    sources: int = -1
    wall: float = 0.0  # seconds by which the machine's clock was ahead of the monotonic one
    excludes_at: float = 0.0  # when copies of excluded projects go, at the soonest

    def is_due(self, now: float, wall: float, sources: int) -> bool:
        """Return whether to look now; if so, the next look is in an hour."""
        has_news = sources != self.sources and now >= self.last + _SOONEST
        due = now >= self.next or has_news or abs(wall - now - self.wall) > _GAP
        if due:
            self.next, self.last, self.sources, self.wall = now + EVERY, now, sources, wall - now
        return due


@dataclass(slots=True)
class _RescueWork:
    """The look that goes on, what is being saved, and what was left out as it is: an excluded project's."""

    plan: Iterator[Subject | None] | None = None
    job: _SavingJob | None = None
    declined: dict[SessionKey, tuple[NativeFile, ...]] = field(default_factory=dict)
    tidied: str = ""  # the day on which drafts were looked for

    def drop(self) -> None:
        """Forget all of it; what is half saved is removed."""
        if self.job is not None:
            self.job.slices.close()
        self.plan = self.job = None
        self.declined.clear()


class Rescuer:
    """Saves what agents are about to delete, if the settings ask for it; without that, it only lets go of copies."""

    def __init__(self, ledger: Ledger, catalog: Catalog, folder: Path, state: Path, log: EventLog) -> None:
        self._ledger = ledger
        self._catalog = catalog
        self._notes = RescueNotes(state)
        self._folder = RescueFolder(folder, owned=True, was_made=self._notes.was_made)
        self._log = log
        self._clock = _RescueClock()
        self._work = _RescueWork()
        self._policy: Policy | None = None
        self._roots: tuple[Root, ...] = ()

    def use(self, policy: Policy, roots: Sequence[Root], *, is_asked: bool = True) -> None:
        """Go by these settings from now on.

        Unless that `is_asked` for, copies of excluded projects go with a later look: their person may still be writing.
        """
        self._work.drop()
        self._clock = _RescueClock(excludes_at=0.0 if is_asked else time.monotonic() + EVERY)
        self._policy, self._roots = policy, tuple(roots)
        if not self._is_on:
            self._notes.clear_all()
            self._notes.store()

    @property
    def _is_on(self) -> bool:
        policy = self._policy
        return policy is not None and policy.settings.recording.rescue and not policy.paused

    @property
    def _looks(self) -> bool:
        """Whether there may be anything to do: copies go also while nothing is saved."""
        return self._is_on or (self._policy is not None and self._folder.path.is_dir())

    def deadline(self) -> float | None:
        """Return when (monotonic) to look next, None if nothing is saved, nor was."""
        return self._clock.next if self._looks else None

    def look(self, now: float, now_ns: int) -> None:
        """Begin to look for what is due, if it is time to; `advance` goes on with it."""
        if self._looks and self._clock.is_due(now, now_ns / 1e9, len(self._catalog.sources)):
            self._work.plan = self._look(now_ns)

    def _look(self, now_ns: int) -> Iterator[Subject | None]:
        """Yield what is to be saved, step by step; let go of what its person deleted, and of what is too old.

        While nothing is saved, copies go all the same: what its person deleted or excluded must not stay.
        """
        failed: dict[str, str] = {}
        due: set[str] = set()
        self._folder.look_again()
        recorded = RecordedSessions(self._ledger.sessions(), self._ledger.outputs())
        sources = list(self._catalog.sources.values())
        for root in self._roots:
            retention = self._retention(root, failed)
            if not retention.file or not root.is_there:
                continue
            found = families(root, sources)
            self._let_go(root, retention, found, now_ns)
            look = RescueLook(root, retention, now_ns, self._ledger.tombstones.covers, recorded)
            for subject in to_save(look, found, self._folder.all()) if self._is_on else ():
                if subject is not None and self._work.declined.get(subject.key) != subject.files:
                    due.add(str(subject.key))
                    yield subject
                yield None
        yield from self._remove_drafts(due_time(0.0, now_ns)[:10])
        self._prune(now_ns)
        looked = failed | {str(path): what for path, what in self._folder.problems.items()}
        self._notes.set_looked(looked if self._is_on else {}, due)
        self._notes.store()

    def _remove_drafts(self, today: str) -> Iterator[None]:
        """Remove what katod, killed while it put a session back, left in an agent's folder: once a day."""
        if self._work.tidied == today:
            return
        self._work.tidied = today
        for about in list(self._folder.all().values()):
            with suppress(OSError, RescueError), locked(place_of(self._folder.path, about.key)):
                remove_drafts(about, self._roots)
            yield None

    def _retention(self, root: Root, failed: dict[str, str]) -> Retention:
        """Return what is deleted in a root; nothing if that is not known, which `failed` then says."""
        try:
            retention = root.spec.retention(root.path)
        except KatodError as error:
            failed[root.agent] = error.what
            return Retention()
        if retention.problem:
            failed[root.agent] = retention.problem
        return retention

    def _let_go(self, root: Root, retention: Retention, found: dict[SessionKey, Family], now_ns: int) -> None:
        """Delete the copies of sessions that were deleted while their agent would still have kept them.

        What the agent deleted is decided once, when it is missing for the first time. Where a root has no session at
        all, that is no sign that somebody deleted each, nor is a clock that was set back.
        """
        now = due_time(0.0, now_ns)
        for about in list(self._folder.all().values()) if found else ():
            state = self._notes.of(about.key)
            if (family := found.get(about.key)) is not None:
                changed_ns = family.deletable.changed_ns
                changed_ns = 0 if changed_ns == about.changed_ns else changed_ns
                self._notes.set(about.key, state._replace(changed_ns=changed_ns, missing=""))
            elif not state.kept and now >= about.saved and _is_missing(about, root):
                by_agent = is_deleted_by_agent(about, state.changed_ns, retention, found, now_ns)
                self._note_missing(about, state, now, by_agent=by_agent)

    def _note_missing(self, about: About, state: CopyState, now: str, *, by_agent: bool) -> None:
        if by_agent:
            self._notes.set(about.key, state._replace(kept=True, missing=""))
        elif state.missing and _seconds_between(state.missing, now) >= PATIENCE:
            self._delete(about.key, "deleted in the agent")
        else:
            self._notes.set(about.key, state._replace(missing=state.missing or now))
            self._clock.next = min(self._clock.next, time.monotonic() + PATIENCE)

    def _prune(self, now_ns: int) -> None:
        """Delete copies that expired or are over the size limit, and those of projects that are excluded by now."""
        policy = self._policy if time.monotonic() >= self._clock.excludes_at else None
        projects = {name for about in self._folder.all().values() for name in about.projects}
        excluded = {one for one in projects if policy is not None and policy.in_project(one).excludes(one)}
        for about in [about for about in self._folder.all().values() if not excluded.isdisjoint(about.projects)]:
            self._delete(about.key, "its project is excluded")
        now = due_time(0.0, now_ns)
        self._notes.begin_at(*self._folder.last_day)
        for key in self._folder.beyond_bounds(self._notes.count_day(now[:10]), now):
            self._delete(key, "expired, or over the size limit")

    def _delete(self, key: SessionKey, reason: str) -> None:
        with suppress(OSError):  # it is tried again with the next look
            self._delete_copy(key)
            self._notes.set(key, CopyState())
            self._log.rescue_deleted(str(key), reason)

    def _delete_copy(self, key: SessionKey) -> bool:
        """Delete a copy; return whether there was one. Raises OSError."""
        if (about := self._folder.all().get(key)) is not None:
            remove_drafts(about, self._roots)
        return self._folder.delete(key)

    def _leave_out(self, key: SessionKey) -> bool:
        """Take a sub-agent out of the copy of its session; return whether it was in it. Raises OSError."""
        if (about := self._folder.all().get(key._replace(subagent=""))) is not None:
            remove_drafts(about, self._roots)
        return self._folder.leave_out(key)

    def expect(self, key: SessionKey) -> None:
        """Keep the copy of a session that is being put back, whatever becomes of that."""
        self._notes.set(key, self._notes.of(key)._replace(kept=True))
        self._notes.store()
        self._work.tidied = ""

    def forget(self, keys: Collection[SessionKey]) -> None:
        """Delete the copies of these sessions, and what those of others have of these sub-agents. Raises OSError."""
        self._work.drop()
        for key in sorted(keys, key=lambda key: key.subagent):  # what is deleted as a whole is not written again
            if self._leave_out(key) if key.subagent else self._delete_copy(key):
                self._log.rescue_deleted(str(key), "forgotten")
            self._notes.clear(str(place_of(self._folder.path, key._replace(subagent=""))))
        self._notes.forget(keys)
        self._notes.store()

    def advance(self) -> bool:
        """Go on for a moment; return whether there is more to do now. Raises LedgerError."""
        until = time.monotonic() + _SLICE
        while time.monotonic() < until:
            if not self._step():
                return False
        return True

    def _step(self) -> bool:
        """Do a little; return whether there is more. Whatever is wrong with one session costs no other."""
        work = self._work
        try:
            if work.job is not None:
                self._go_on(work.job)
            elif work.plan is None or self._policy is None:
                return False
            elif (subject := next(work.plan)) is not None:
                work.job = self._begin(subject, self._policy)
        except StopIteration:
            work.plan = None
        except LedgerError:
            raise
        except Exception as error:  # noqa: BLE001 - it is named, and the next look is in an hour
            self._failed(self._folder.path, error)
            work.plan = None
        return True

    def _go_on(self, job: _SavingJob) -> None:
        try:
            next(job.slices)
        except StopIteration as done:
            self._work.job = None
            self._saved(job.subject, done.value)
        except Exception as error:  # noqa: BLE001 - see above
            self._work.job = None
            self._failed(job.subject.key, error)

    def _begin(self, subject: Subject, policy: Policy) -> _SavingJob:
        now = due_time(0.0, time.time_ns())
        self._notes.begin_at(*self._folder.last_day)
        day = self._notes.count_day(now[:10])
        terms = SavingTerms(policy, now, day, policy.settings.recording.rescue_redact)
        return _SavingJob(subject, save(subject, self._folder, terms, self._log))

    def _saved(self, subject: Subject, about: About | None) -> None:
        self._notes.clear(str(subject.key), str(place_of(self._folder.path, subject.key)))
        self._notes.store()
        if about is None:
            self._work.declined[subject.key] = subject.files
        else:
            self._notes.set(subject.key, CopyState())
            self._notes.note_made()
            self._notes.store()
            self._log.rescue_saved(str(subject.key), len(about.files), about.size)

    def _failed(self, what: SessionKey | Path, error: Exception) -> None:
        problem = _reason(error, self._folder.path)
        self._log.rescue_failed(str(what), problem)
        self._notes.add(str(what), problem)
        self._notes.store()

    def close(self) -> None:
        """Remove what is half saved."""
        self._work.drop()


def _reason(error: Exception, folder: Path) -> str:
    if isinstance(error, KatodError):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        what = f"{error.filename or folder}: {error.strerror}"
        return f"{what} ({hint})" if (hint := hint_for(error)) else what
    return failure_of(error)


def _seconds_between(earlier: str, later: str) -> float:
    return (datetime.fromisoformat(later) - datetime.fromisoformat(earlier)).total_seconds()


def _is_missing(about: About, root: Root) -> bool:
    """Return whether a saved session was in a root and is no longer there."""
    own = about.own_files
    is_of_root = about.key.agent == root.agent and any(file.path.startswith(root.prefix) for file in own)
    return is_of_root and all(_is_gone(file.path) for file in own)


def _is_gone(path: str) -> bool:
    """Return whether nothing has this path; not if that cannot be told."""
    try:
        Path(path).lstat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False
