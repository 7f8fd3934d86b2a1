"""Protections of the watcher, the process and the ledger."""

import os
import time
from contextlib import contextmanager
from types import SimpleNamespace

from .protection import Protection, returning

PROCESS, WATCHING, LEDGER = (f"tests/faults/test_{name}.py::" for name in ("process", "watching", "ledger"))
STATE = "tests/faults/test_state.py::"
DAMAGED = f"{LEDGER}test_a_damaged_ledger_is_set_aside_and_nothing_old_counts"
NEVER = float("inf")


def watch_unknown_folders(original):
    """Treat a folder that was watched once as watched for as long as it exists."""

    def renew(self, folders):
        known = {folder: watch for folder, watch in self._watches.items() if folder.exists()}
        self._watches = {}
        found = original(self, [folder for folder in folders if folder[0] not in known])
        self._watches = known | self._watches
        return found

    return renew


def end_katod_for_a_failure(_original):
    """Let nothing contain the failure of one session."""

    def isolated(_self, _session_id, act):
        try:
            return act()
        except Exception as error:
            raise SystemExit from error

    return isolated


def sweep_for_reasons_alone(original):
    """Do not sweep just because time has passed."""

    def is_full_due(self, now):
        self.full_at = NEVER
        return original(self, now)

    return is_full_due


def trust_the_clock(original):
    """Assume that the wall clock is right."""

    def is_full_due(self, now):
        self._wall = time.time() - now
        return original(self, now)

    return is_full_due


def leave_open(original):
    """Leak a descriptor in each step."""

    @contextmanager
    def open_source(path):
        with original(path) as file:
            os.dup(file.fd)
            yield file

    return open_source


def need_no_log(original):
    """Accept a ledger whose write-ahead log is missing."""

    def problem_of(status, path):
        return original(status, path) if path.with_name(f"{path.name}-wal").exists() else ""

    return problem_of


def forget_the_row(original):
    """A failed catch-up goes on with a row of its own."""

    def failed(self, output_id, error):
        row = self._followers.pop(output_id).output.row
        stored = next(stored for stored in self._ledger.outputs(row.session) if stored.id == output_id)
        self.add(stored)
        self._delivery.park(stored, SimpleNamespace(what="failed"))

    return failed


PROTECTIONS = [
    Protection(
        "a failing session does not stop the others",
        "katod.pipeline:Pipeline._isolated",
        end_katod_for_a_failure,
        (
            "tests/test_containment.py::test_a_failed_step_is_taken_up_again",
            "tests/test_containment.py::test_a_session_that_keeps_failing_stays_visible",
            "tests/test_containment.py::test_a_failing_older_file_makes_the_newer_one_wait",
            "tests/test_containment.py::test_a_session_that_a_request_loads_after_a_failure_goes_on",
        ),
    ),
    Protection(
        "a session that failed is loaded again",
        "katod.pipeline:Pipeline._reload",
        lambda original: lambda self, session_id: self._sessions.failed.discard(session_id),
        (
            "tests/test_containment.py::test_a_file_found_after_a_failure_is_recorded",
            "tests/test_containment.py::test_a_failed_step_is_taken_up_again",
        ),
    ),
    Protection(
        "a recording of an excluded project is ended when it is loaded",
        "katod.pipeline:Pipeline._end_unwanted",
        returning(None),
        ("tests/test_containment.py::test_a_project_that_is_excluded_after_a_failure_is_recorded_no_more",),
    ),
    Protection(
        "a failed catch-up keeps the row that its session has",
        "katod.record.catchup:CatchUp._failed",
        forget_the_row,
        ("tests/test_containment.py::test_a_stop_holds_for_an_output_whose_catch_up_failed",),
    ),
    Protection(
        "the sources of a session that failed between two steps are stepped",
        "katod.pipeline:Pipeline.take_failed",
        returning([]),
        ("tests/test_containment.py::test_a_session_that_fails_between_two_steps_is_stepped_again",),
    ),
    Protection(
        "the lock is acquired",
        "katod.service.lock:_locked",
        returning(value=True),
        ("tests/test_daemon.py::test_a_second_daemon_is_refused",),
    ),
    Protection(
        "the lock ends with its process",
        "katod.service.lock:_locked",
        lambda original: lambda fd: not os.pread(fd, 1, 0) and original(fd),
        ("tests/test_daemon.py::test_the_lock_is_free_at_once_after_a_kill",),
    ),
    Protection(
        "a new folder is swept at once",
        "katod.discover.watch:Watcher.renew",
        lambda original: lambda self, folders: original(self, folders) and False,
        (
            f"{WATCHING}test_a_folder_that_is_made_later_is_watched",
            f"{WATCHING}test_a_session_in_a_root_that_is_made_later_is_recorded",
        ),
    ),
    Protection(
        "a dead watch is set again",
        "katod.discover.watch:Watcher.renew",
        watch_unknown_folders,
        (
            f"{WATCHING}test_a_folder_that_is_made_again_is_watched_again",
            f"{WATCHING}test_a_session_in_a_root_that_is_made_again_is_recorded",
        ),
    ),
    Protection(
        "everything is swept periodically",
        "katod.discover.discovery:_Clock.is_full_due",
        sweep_for_reasons_alone,
        (
            f"{WATCHING}test_without_events_the_sweep_finds_what_changes",
            f"{WATCHING}test_a_watch_limit_blinds_nobody",
            f"{WATCHING}test_without_a_watcher_the_sweep_finds_what_changes",
        ),
    ),
    Protection(
        "active folders are swept often",
        "katod.discover.catalog:Catalog.sweep_folders",
        lambda original: lambda self, folders: [],
        (f"{WATCHING}test_without_events_a_session_that_is_active_is_looked_at_often",),
    ),
    Protection(
        "lost events cause a full sweep",
        "katod.discover.watch:_Losses.emit",
        returning(None),
        (f"{WATCHING}test_after_lost_events_everything_is_looked_at",),
    ),
    Protection(
        "files written into an unreadable folder are new",
        "katod.discover.catalog:Coverage.at",
        lambda original: lambda self, root, path: self._times.get(str(root.path), 0),
        (f"{WATCHING}test_a_folder_that_may_be_read_later_is_swept",),
    ),
    Protection(
        "a source that cannot be read is a problem",
        "katod.discover.catalog:Catalog.note_problem",
        returning(None),
        (f"{WATCHING}test_a_source_that_may_be_read_later_is_read",),
    ),
    Protection(
        "signals are handled",
        "katod.service.signals:Signals.install",
        lambda original: lambda cls: cls(),
        (
            f"{PROCESS}test_told_to_stop_at_any_event_it_finishes_its_step",
            f"{PROCESS}test_told_twice_it_ends_at_once",
            "tests/test_daemon.py::test_a_signal_ends_it_after_the_step_under_way",
            "tests/cli/test_run.py::test_a_hang_up_during_the_start_does_not_end_it",
        ),
    ),
    Protection(
        "an old mtime may result from a clock change",
        "katod.discover.catalog:_is_by_the_clock",
        returning(value=False),
        (
            f"{PROCESS}test_a_clock_that_is_set_while_katod_runs_hides_no_session",
            f"{PROCESS}test_a_clock_that_is_set_while_katod_is_down_hides_no_session",
        ),
    ),
    Protection(
        "an old mtime that was set explicitly is old",
        "katod.discover.catalog:_is_by_the_clock",
        returning(value=True),
        (f"{PROCESS}test_a_restored_session_is_history_whatever_the_clock_says",),
    ),
    Protection(
        "a gap in time causes a full sweep",
        "katod.discover.discovery:_Clock.is_full_due",
        trust_the_clock,
        (f"{PROCESS}test_after_a_sleep_everything_is_looked_at",),
    ),
    Protection(
        "a transient error does not refuse a command",
        "katod.write.safe:is_transient",
        returning(value=False),
        (f"{PROCESS}test_a_run_that_may_open_little_refuses_nothing",),
    ),
    Protection(
        "an unreadable source is retried",
        "katod.pipeline:Schedule.done",
        lambda original: lambda self, source, now: original(self, source, NEVER),
        (f"{PROCESS}test_a_daemon_that_may_open_nothing_goes_on_when_it_may",),
    ),
    Protection(
        "a source is closed after each step",
        "katod.tail.reader:open_source",
        leave_open,
        (f"{PROCESS}test_two_hundred_recordings_leak_nothing",),
    ),
    Protection(
        "the ledger's files are checked before opening",
        "katod.store.integrity:check_files",
        returning(None),
        (DAMAGED, f"{LEDGER}test_a_blank_ledger_is_begun_anew"),
    ),
    Protection(
        "a log with a damaged middle is damage",
        "katod.store.integrity:_frames",
        returning(()),
        (f"{DAMAGED}[middle_of_the_log]",),
    ),
    Protection(
        "a missing log is damage",
        "katod.store.integrity:_problem_of",
        need_no_log,
        (f"{DAMAGED}[the_log_missing]",),
    ),
    Protection(
        "the ledger is checked when opened",
        "katod.store.integrity:check_database",
        returning(None),
        (f"{LEDGER}test_no_page_of_a_ledger_can_be_lost_unnoticed",),
    ),
    Protection(
        "damage is distinguished from a temporary error",
        "katod.store.integrity:is_damage",
        returning(value=False),
        (f"{LEDGER}test_flipped_bytes_double_nothing",),
    ),
    Protection(
        "invalid UTF-8 in a text is damage",
        "katod.store.integrity:_code",
        lambda original: lambda error: original(error) if hasattr(error, "sqlite_errorcode") else 0,
        (f"{DAMAGED}[no_text]",),
    ),
    Protection(
        "errors do not show the content of a damaged ledger",
        "katod.store.integrity:safe_database_message",
        lambda original: str,
        (f"{LEDGER}test_what_a_damaged_ledger_holds_is_not_shown",),
    ),
    Protection(
        "files that predate the first sweep are history",
        "katod.discover.catalog:_is_older",
        lambda original: lambda spec, path, seen, swept: swept > 0 and original(spec, path, seen, swept),
        (f"{LEDGER}test_without_its_ledger_katod_begins_anew",),
    ),
    Protection(
        "a newer ledger is refused",
        "katod.store.integrity:refuse_newer",
        returning(None),
        (f"{LEDGER}test_a_ledger_of_a_newer_katod_is_refused",),
    ),
    Protection(
        "a link to a ledger is refused",
        "katod.store.integrity:refuse_link",
        returning(None),
        (f"{LEDGER}test_a_link_in_the_ledgers_place_is_refused",),
    ),
    Protection(
        "the owner's access to the ledger is restored",
        "katod.store.integrity:make_private",
        returning(None),
        (f"{LEDGER}test_a_ledger_that_may_not_be_written_is_made_private_and_goes_on",),
    ),
    Protection(
        "a file that temporarily cannot be opened is not damage",
        "katod.store.integrity:is_damage",
        returning(value=True),
        (f"{PROCESS}test_a_run_that_may_open_little_refuses_nothing",),
    ),
    Protection(
        "katod looks whether its state directory is still there",
        "katod.service.openstate:OpenState.lost",
        returning([]),
        (
            f"{STATE}test_katod_ends_when_its_state_is_no_longer_there",
            f"{STATE}test_a_second_katod_that_started_meanwhile_is_not_disturbed",
        ),
    ),
    Protection(
        "what ended with the state directory is noted",
        "katod.service.interrupted:leave",
        returning(None),
        (
            f"{STATE}test_the_note_stays_until_it_was_seen",
            f"{STATE}test_a_step_that_fails_without_the_state_ends_in_the_same_way",
        ),
    ),
]
