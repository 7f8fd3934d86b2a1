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


DISK, NOTES, POWER = "tests/faults/test_disk.py::", "tests/faults/test_notes.py::", "tests/faults/test_power.py::"
SOURCES, PATHS = "tests/faults/test_sources.py::", "tests/faults/test_paths.py::"
UPGRADE, REDACT = "tests/record/test_upgrade.py::", "tests/formats/test_redact.py::"

PROTECTIONS = [
    # -- crashes and outputs ---------------------------------------------------------------------------
    Protection(
        "the intent is completed after a crash",
        "katod/pipeline.py",
        "            written = self.delivery.retry(row)\n",
        "            row.intent, written = None, True\n",
        (
            "tests/faults/test_kills.py",
            "tests/faults/test_syscalls.py",
            "tests/faults/test_world.py::TestHappenings",
            f"{POWER}TestLostPower",
            f"{NOTES}test_a_note_behind_what_a_kill_left",
            f"{NOTES}test_a_note_behind_a_whole_recording",
            f"{NOTES}test_a_note_between_any_two_lines_of_what_a_kill_left",
            f"{NOTES}test_a_note_far_above_the_same_words_that_were_said_before",
        ),
    ),
    Protection(
        "NUL bytes of lost power are told from text",
        "katod/write/recover.py",
        "        if _is_hole(behind, intent, same):\n",
        "        if False:\n",
        (f"{POWER}TestLostPower", f"{POWER}test_a_hole_before_bytes_that_arrived"),
    ),
    Protection(
        "the options of a recording are frozen",
        "katod/record/columns.py",
        "        Options(**orjson.loads(row[6])), ",
        "        Options(), ",
        ("tests/faults/test_settings.py::test_a_recording_keeps_its_settings",),
    ),
    Protection(
        "an output that cannot be written is parked",
        "katod/record/delivery.py",
        """            known = append(_place(row), row.intent)
        except OutputError as error:
            self._park(row, error)
            return False
""",
        """            known = append(_place(row), row.intent)
        except OutputError as error:
            self._wrote(row, _known(row))
            return False
""",
        (
            f"{DISK}test_an_output_that_is_something_else_waits",
            f"{DISK}test_the_daemon_takes_up_an_output_by_itself_when_it_can_be_written_again",
            f"{DISK}test_an_output_on_a_disk_that_takes_nothing_waits",
            f"{DISK}test_a_file_that_may_not_grow_any_more_waits",
            f"{DISK}test_an_output_that_goes_between_a_look_and_the_append_goes_on_in_a_new_file",
        ),
    ),
    Protection(
        "an output that is gone is begun anew",
        "katod/write/output.py",
        '        return Look("gone", Known())\n',
        '        return Look("same", known)\n',
        (f"{DISK}test_an_output_whose_folder_is_removed_goes_on_in_a_new_file",),
    ),
    Protection(
        "a ledger that cannot be written is told in one line",
        "katod/record/ledger.py",
        "            if isinstance(error, sqlite3.Error) and not isinstance(error, sqlite3.IntegrityError):\n",
        "            if False:\n",
        (f"{DISK}test_a_full_disk_of_the_ledger_ends_the_daemon_and_nothing_else",),
    ),
    # -- upgrades --------------------------------------------------------------------------------------
    Protection(
        "a state of another version is made anew",
        "katod/record/upgrade.py",
        "    if row.version == version:\n",
        "    if row.version:\n",
        (
            f"{UPGRADE}test_the_state_of_another_version_is_not_trusted",
            f"{UPGRADE}test_an_ended_recording_that_begins_again_is_of_the_present_version",
        ),
    ),
    Protection(
        "a format's state is found again by printing anew",
        "katod/record/upgrade.py",
        """    return state["format"] if same else {}\n""",
        "    return {}\n",
        (f"{UPGRADE}test_a_recording_goes_on_after_an_upgrade",),
    ),
    Protection(
        "a file is proven before it counts as history",
        "katod/record/attach.py",
        "                    file.prove(source.cursor)\n",
        "                    pass\n",
        (f"{UPGRADE}test_a_file_rewritten_before_an_upgrade_is_no_history",),
    ),
    # -- sources ---------------------------------------------------------------------------------------
    Protection(
        "only a newline ends a record",
        "katod/tail/reader.py",
        "            partial = Partial(start, start + len(data)) if data else None\n",
        '            return self._batch(data + b"\\n", start)\n',
        (
            "tests/tail/test_reader.py::test_line_split_at_any_byte_waits_for_its_newline",
            f"{SOURCES}test_a_record_that_comes_byte_by_byte_is_read_once",
        ),
    ),
    Protection(
        "what stands before the offset is proven",
        "katod/tail/reader.py",
        "        if cursor.offset > self.size:\n",
        "        return\n        if cursor.offset > self.size:\n",
        (
            f"{SOURCES}test_a_truncated_source_goes_on_with_what_is_new",
            f"{SOURCES}test_a_source_truncated_and_grown_between_two_looks_is_read_anew",
            f"{SOURCES}test_a_source_replaced_by_rename_goes_on",
            f"{SOURCES}test_a_source_that_was_rotated_goes_on",
            f"{SOURCES}test_a_source_made_anew_with_its_old_inode_is_read_anew",
        ),
    ),
    Protection(
        "what was recorded is known by its ids",
        "katod/record/conversation.py",
        "            if hashed in self._fresh or self._ledger.place(self.row.id, hashed) is not None:\n",
        "            if False:\n",
        (
            f"{SOURCES}test_a_source_truncated_within_a_record_goes_on",
            f"{SOURCES}test_a_backup_that_takes_the_place_of_a_session_doubles_nothing",
            f"{UPGRADE}test_an_upgrade_after_a_compaction_goes_on",
        ),
    ),
    Protection(
        "a session is known by its name, not by its inode",
        "katod/record/catalog.py",
        "        row = self._paths.get(path)\n        if row is None:\n            identity",
        "        row = next((row for row in self._paths.values() if row.seen.ino == seen.ino), None)\n"
        "        if row is None:\n            identity",
        (f"{SOURCES}test_a_session_with_the_inode_of_another_is_its_own",),
    ),
    Protection(
        "a file that is there again is looked at",
        "katod/record/catalog.py",
        "        if row.seen == seen and not row.gone:\n",
        "        if row.seen == seen or row.gone:\n",
        (f"{SOURCES}test_a_source_that_comes_back_goes_on",),
    ),
    Protection(
        "what is older than the last sweep is history",
        "katod/record/catalog.py",
        "        history = seen.size if swept is None or seen.mtime_ns < swept else 0\n",
        "        history = 0\n",
        (f"{SOURCES}test_a_session_restored_after_weeks_is_history",),
    ),
    Protection(
        "a record behind a torn one is looked for",
        "katod/tail/decode.py",
        "            end = _next_record(text, at)\n",
        "            end = len(text)\n",
        (f"{SOURCES}test_a_record_glued_to_a_torn_one_is_read",),
    ),
    # -- paths -----------------------------------------------------------------------------------------
    Protection(
        "no link is followed",
        "katod/write/safe.py",
        "_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC\n",
        "_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC\n",
        (
            f"{PATHS}test_what_stands_at_the_path_already_is_left_alone",
            f"{PATHS}test_a_part_of_the_path_that_is_swapped_before_any_call_leads_nowhere",
            f"{PATHS}test_a_path_that_is_swapped_all_the_time_leads_nowhere",
        ),
    ),
    Protection(
        "each part of a name is looked at",
        "katod/command/target.py",
        "    for part in parts:\n        _check_part(part)\n",
        "",
        (f"{PATHS}test_a_name_that_steps_out_is_refused",),
    ),
    Protection(
        "an output has one session",
        "katod/record/outputs.py",
        "        if row is not None and row.session != session.id:\n",
        "        if False:\n",
        (f"{PATHS}test_the_output_of_another_session_is_refused",),
    ),
    # -- commands --------------------------------------------------------------------------------------
    Protection(
        "only what is typed is searched for commands",
        "katod/record/translation.py",
        """                    if event.kind == ev.USER_MESSAGE:
                        yield from self._split(event)
""",
        """                    if event.payload.get("text"):
                        yield from self._split(event._replace(typed=True))
""",
        (
            "tests/agents/test_typed_leaves.py::test_only_a_typed_leaf_commands",
            "tests/golden/test_typed.py::test_only_a_typed_field_commands",
        ),
    ),
    # -- secrets and privacy ---------------------------------------------------------------------------
    Protection(
        "a marker calls its rule",
        "katod/formats/redact.py",
        "            if re.search(rule.marker, long_runs, re.ASCII):\n",
        "            if False:\n",
        (f"{REDACT}test_each_kind_goes_from_prose_and_shell",),
    ),
    Protection(
        "a value behind a telling name is taken",
        "katod/formats/redact.py",
        "                yield start, start + len(value), ASSIGNED.name\n",
        "                pass\n",
        (f"{REDACT}test_random_values_after_telling_names",),
    ),
    Protection(
        "a value that a person would read is no secret",
        "katod/formats/redact.py",
        "    value = value[:256]\n",
        "    return True\n",
        (f"{REDACT}test_code_and_examples_after_telling_names_stay",),
    ),
    Protection(
        "a prefix alone is no secret",
        "katod/formats/redact.py",
        'r"hf_[A-Za-z0-9]{30,}"',
        'r"hf_[a-z_]{30,}"',
        (
            f"{REDACT}test_ordinary_text_is_the_same_object",
            "tests/formats/test_rules.py::test_a_rule_meets_what_it_names_and_nothing_like_it",
        ),
    ),
    Protection(
        "a refusal does not repeat what was typed",
        "katod/record/desk.py",
        """            reason = f"{refusal.what}{f' ({refusal.hint})' if refusal.hint else ''}"\n""",
        """            reason = f"{refusal.what}: {command.name}"\n""",
        ("tests/test_privacy.py::test_commands_that_come_to_nothing_leave_no_word",),
    ),
    Protection(
        "the log names files, not what stands in them",
        "katod/record/catalog.py",
        "        self._journal.source_found(path, history)\n",
        '        self._journal.source_found(open(path.partition("#")[0], errors="replace").read(), history)\n',
        ("tests/test_privacy.py::test_an_unrecorded_session_leaves_no_word",),
    ),
    # -- one bad session -------------------------------------------------------------------------------
    Protection(
        "one session that fails stops no other",
        "katod/pipeline.py",
        "        except Exception as error:  # noqa: BLE001 - whatever it is, it is shown and tried again\n",
        "        except ZeroDivisionError as error:\n",
        (
            "tests/test_containment.py::test_a_failed_step_is_taken_up_again",
            "tests/test_containment.py::test_a_session_that_keeps_failing_stays_visible",
        ),
    ),
    # -- the process -----------------------------------------------------------------------------------
    Protection(
        "the lock is asked for",
        "katod/service/lock.py",
        "        if not _locked(fd):\n",
        "        if False:\n",
        ("tests/test_daemon.py::test_a_second_daemon_is_refused",),
    ),
    Protection(
        "the lock ends with its process",
        "katod/service/lock.py",
        "            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)\n",
        "            if os.pread(fd, 1, 0):\n                raise OSError\n",
        ("tests/test_daemon.py::test_the_lock_is_free_at_once_after_a_kill",),
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
