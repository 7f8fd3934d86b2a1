"""What protects katod from each fault, and which tests fail when that is taken out.

`old` is a piece of a module that stands in it once; with `new` in its place the protection is gone.
"""

from typing import NamedTuple


class Protection(NamedTuple):
    """A piece of code without which tests fail."""

    name: str
    module: str
    old: str
    new: str
    tests: tuple[str, ...]


PROTECTIONS = [
    Protection(
        "the intent is completed after a crash",
        "katod/pipeline.py",
        "            written = self.delivery.retry(row)\n",
        "            row.intent, written = None, True\n",
        ("tests/faults/test_power.py::TestLostPower", "tests/faults/test_kills.py", "tests/faults/test_syscalls.py"),
    ),
    Protection(
        "a new folder is swept at once",
        "katod/discover/watch.py",
        "                found |= self._watch(",
        "                self._watch(",
        (
            "tests/faults/test_watching.py::test_a_folder_that_is_made_later_is_watched",
            "tests/faults/test_watching.py::test_a_session_in_a_root_that_is_made_later_is_recorded",
        ),
    ),
    Protection(
        "a watch that tells no more is set again",
        "katod/discover/watch.py",
        "            if known is None or known[1] != identity or known[0] not in alive:",
        "            if known is None:",
        (
            "tests/faults/test_watching.py::test_a_folder_that_is_made_again_is_watched_again",
            "tests/faults/test_watching.py::test_a_session_in_a_root_that_is_made_again_is_recorded",
        ),
    ),
    Protection(
        "everything is swept now and then",
        "katod/daemon.py",
        "            if now >= full or overflow or gap:",
        "            if overflow or gap:",
        (
            "tests/faults/test_watching.py::test_without_events_the_sweep_finds_what_changes",
            "tests/faults/test_watching.py::test_a_watch_limit_blinds_nobody",
            "tests/faults/test_watching.py::test_without_a_watcher_the_sweep_finds_what_changes",
        ),
    ),
    Protection(
        "active folders are looked at often",
        "katod/daemon.py",
        "                self._sweep_hot(now)\n",
        "",
        ("tests/faults/test_watching.py::test_without_events_a_session_that_is_active_is_looked_at_often",),
    ),
    Protection(
        "lost events have everything swept",
        "katod/discover/watch.py",
        '        """Take one warning."""\n        self._hints.lost()\n',
        '        """Take one warning."""\n',
        ("tests/faults/test_watching.py::test_after_lost_events_everything_is_looked_at",),
    ),
    Protection(
        "what is written into a closed folder is new",
        "katod/record/catalog.py",
        '        closed = [at for place, at in self._swept.items() if place[-1] in "#/" and path.startswith(place)]\n',
        "        closed: list[int] = []\n",
        ("tests/faults/test_watching.py::test_a_folder_that_may_be_read_later_is_swept",),
    ),
    Protection(
        "a source that cannot be read is a problem",
        "katod/pipeline.py",
        '"" if isinstance(error, SourceGone) else error.what',
        '""',
        ("tests/faults/test_watching.py::test_a_source_that_may_be_read_later_is_read",),
    ),
    Protection(
        "signals are heard",
        "katod/daemon.py",
        "    orders = None if once else Orders.heard()\n",
        "    orders = None\n",
        (
            "tests/faults/test_process.py::test_told_to_stop_at_any_event_it_finishes_its_step",
            "tests/faults/test_process.py::test_told_twice_it_ends_at_once",
            "tests/test_daemon.py::test_a_signal_ends_it_after_the_step_under_way",
        ),
    ),
    Protection(
        "an old time may be that of a clock that was set",
        "katod/record/catalog.py",
        "        return time.time_ns() >= swept or not _is_by_the_clock(path)\n",
        "        return True\n",
        (
            "tests/faults/test_process.py::test_a_clock_that_is_set_while_katod_runs_hides_no_session",
            "tests/faults/test_process.py::test_a_clock_that_is_set_while_katod_is_down_hides_no_session",
        ),
    ),
    Protection(
        "an old time that somebody chose is old",
        "katod/record/catalog.py",
        "time.time_ns() >= swept or not _is_by_the_clock(path)",
        "time.time_ns() >= swept",
        ("tests/faults/test_process.py::test_a_restored_session_is_history_whatever_the_clock_says",),
    ),
    Protection(
        "a gap in time has everything swept",
        "katod/daemon.py",
        "            if now >= full or overflow or gap:",
        "            if now >= full or overflow:",
        ("tests/faults/test_process.py::test_after_a_sleep_everything_is_looked_at",),
    ),
    Protection(
        "a passing error is no refusal",
        "katod/write/safe.py",
        "    return error.errno in _PASSING\n",
        "    return False\n",
        ("tests/faults/test_process.py::test_a_run_that_may_open_little_refuses_nothing",),
    ),
    Protection(
        "a source that cannot be read is tried again",
        "katod/daemon.py",
        "        self._due[source_id] = now + min(LONGEST_PAUSE, 2.0**failures)\n",
        "",
        ("tests/faults/test_process.py::test_a_daemon_that_may_open_nothing_goes_on_when_it_may",),
    ),
    Protection(
        "a source is closed after each step",
        "katod/tail/source.py",
        "    finally:\n        os.close(fd)\n",
        "    finally:\n        pass\n",
        ("tests/faults/test_process.py::test_two_hundred_recordings_leak_nothing",),
    ),
    Protection(
        "a ledger is looked at before it is opened",
        "katod/record/ledger.py",
        "        problem = damage(path)\n",
        '        problem = ""\n',
        (
            "tests/faults/test_ledger.py::test_a_damaged_ledger_is_set_aside_and_nothing_old_counts",
            "tests/faults/test_ledger.py::test_a_blank_ledger_is_begun_anew",
        ),
    ),
    Protection(
        "a log that lost its middle is damaged",
        "katod/record/health.py",
        "    if len(commits) > 1:",
        "    if not path:",
        ("tests/faults/test_ledger.py::test_a_damaged_ledger_is_set_aside_and_nothing_old_counts[middle_of_the_log]",),
    ),
    Protection(
        "a log that is gone is damage",
        "katod/record/health.py",
        'return "its log is gone" if',
        'return "" if',
        ("tests/faults/test_ledger.py::test_a_damaged_ledger_is_set_aside_and_nothing_old_counts[the_log_missing]",),
    ),
    Protection(
        "a ledger is checked when it is opened",
        "katod/record/health.py",
        '    if result != "ok":\n',
        "    if not result:\n",
        ("tests/faults/test_ledger.py::test_no_page_of_a_ledger_can_be_lost_unnoticed",),
    ),
    Protection(
        "a text that is none is damage",
        "katod/record/health.py",
        '"sqlite_errorcode", sqlite3.SQLITE_CORRUPT',
        '"sqlite_errorcode", sqlite3.SQLITE_OK',
        ("tests/faults/test_ledger.py::test_flipped_bytes_double_nothing",),
    ),
    Protection(
        "what a damaged ledger holds stays in it",
        "katod/record/ledger.py",
        "                problem = shown(error)\n",
        "                problem = str(error)\n",
        ("tests/faults/test_ledger.py::test_what_a_damaged_ledger_holds_is_not_shown",),
    ),
    Protection(
        "what katod never looked at is history",
        "katod/record/catalog.py",
        "        if not swept:\n            return True\n",
        "        if not swept:\n            return False\n",
        ("tests/faults/test_ledger.py::test_without_its_ledger_katod_begins_anew",),
    ),
    Protection(
        "a newer ledger is refused",
        "katod/record/schema.py",
        "    if version > len(MIGRATIONS):\n",
        "    if version > 10_000:\n",
        ("tests/faults/test_ledger.py::test_a_ledger_of_a_newer_katod_is_refused",),
    ),
    Protection(
        "a link to a ledger is refused",
        "katod/record/ledger.py",
        "        refuse_link(path)\n",
        "",
        ("tests/faults/test_ledger.py::test_a_link_in_the_ledgers_place_is_refused",),
    ),
    Protection(
        "a closed ledger is opened to its owner",
        "katod/record/health.py",
        "        path.chmod(PRIVATE)\n",
        "        pass\n",
        ("tests/faults/test_ledger.py::test_a_ledger_that_may_not_be_written_is_made_private_and_goes_on",),
    ),
    Protection(
        "a file that cannot be opened now is no damage",
        "katod/record/health.py",
        "    return isinstance(error, (LedgerDamaged, UnicodeDecodeError)) or _code(error) & 0xFF in _DAMAGE\n",
        "    return True\n",
        ("tests/faults/test_process.py::test_a_run_that_may_open_little_refuses_nothing",),
    ),
    Protection(
        "a ledger that cannot be written says so",
        "katod/record/ledger.py",
        "            if isinstance(error, sqlite3.Error) and not isinstance(error, sqlite3.IntegrityError):\n",
        "            if not error:\n",
        ("tests/faults/test_ledger.py::test_a_ledger_on_a_read_only_disk_waits",),
    ),
]
