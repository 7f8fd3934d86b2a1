"""Protections from crashes, unwritable outputs and upgrades."""

from contextlib import contextmanager

from .protection import Protection, returning

EDITORS, FOLDERS, RENAMES = (f"tests/faults/test_{name}.py::" for name in ("editors", "folders", "renames"))
DISK, NOTES, POWER = "tests/faults/test_disk.py::", "tests/faults/test_notes.py::", "tests/faults/test_power.py::"
LOST_POWER = "tests/faults/test_lostpower.py::test_whatever_the_disk_kept_every_event_stands_in_its_output_once"
UPGRADE, EXPORTS = "tests/record/test_upgrade.py::", "tests/faults/test_exports.py::"


def drop_intent(original):
    """Discard the pending intent."""

    def retry(self, output):
        output.row = output.row._replace(intent=None, bounds=())
        return original(self, output)

    return retry


def commit_at_leisure(original):
    """Leave it to the system when a commit is on disk."""

    def connect(path):
        connection = original(path)
        connection.execute("PRAGMA synchronous=OFF")
        return connection

    return connect


def take_options_of_today(original):
    """Write every output with default options."""

    def outputs(self, *session_id):
        return [row._replace(options=type(row.options)()) for row in original(self, *session_id)]

    return outputs


def take_for_written(original):
    """Treat data that could not be written as written."""

    def park(self, row, error, wait):
        self._wrote(row, (row.dev, row.ino, row.committed, row.tail))

    return park


def overlook_missing(original):
    """Treat a missing output as unchanged."""

    def detect_change(place, known, names_session):
        found = original(place, known, names_session)
        return found._replace(change="same", known=known) if found.change == "gone" else found

    return detect_change


def place_of_row(_original):
    """Save pictures where the ledger has an output."""
    return lambda _self, output: output.place


def judge_by_inode(original):
    """Take a file with another inode for edited, whatever is in it."""

    def compare_open(fd, known, names_session):
        found = original(fd, known, names_session)
        return found._replace(change="edited") if found.known.ino not in (0, known.ino) else found

    return compare_open


def note_afterwards(original):
    """Note an export when it has its name."""

    def publish(self, draft, entry, expected):
        draft.publish(self.root, entry.parts, expected)
        self.note(entry)

    return publish


def replace_anything(original):
    """Give an export its name, whatever has it now."""

    def publish(self, root, parts, expected):
        path = root.joinpath(*parts)
        status = path.stat() if path.exists() else None
        return original(self, root, parts, status and (status.st_size, status.st_mtime_ns))

    return publish


def ignore_markers(original):
    """Open any directory as a root."""

    def open_parent(root, parts, *, make, marker=""):
        return original(root, parts, make=make)

    return open_parent


def give_up_at_once(original):
    """Create a missing output again without looking for it later."""

    def miss(self, row):
        self._missed[row.id] = "gone"

    return miss


def take_any_name(original):
    """Take copies, hidden files and files with another suffix for a renamed output, too."""

    def named(within, folder, names, suffix):
        for name in names:
            yield within._replace(parts=(*folder.relative_to(within.root).parts, name))

    return named


def raise_as_it_is(original):
    """Let SQLite's errors escape from the ledger."""

    @contextmanager
    def transaction(self):
        try:
            with original(self):
                yield
        except Exception as error:  # noqa: BLE001 - a class of katod, which is not imported yet
            raise error.__cause__ or error from None

    return transaction


def prove_nothing(original):
    """Backfill a file without verifying its anchor."""

    def source(self, session, source, budget, opened):
        with source.spec.open(source.path) as file:
            return original(self, session, source, budget, (source, file))

    return source


PROTECTIONS = [
    Protection(
        "an export is noted before it has its name",
        "katod.archive.folder:ExportFolder.publish",
        note_afterwards,
        (
            f"{EXPORTS}test_a_kill_beside_a_rename_leaves_nothing_torn",
            f"{EXPORTS}test_a_kill_at_any_call_leaves_nothing_torn",
        ),
    ),
    Protection(
        "git's index agrees with a commit before the branch moves",
        "katod.archive.commit:ArchiveRepository._update_index",
        returning(None),
        ("tests/archive/test_commit.py::test_a_commit_of_the_person_takes_no_killed_one_back",),
    ),
    Protection(
        "only what katod wrote is replaced by an export",
        "katod.write.whole:UnfinishedFile.publish",
        replace_anything,
        (
            f"{EXPORTS}test_a_change_between_the_look_and_the_rename_stays",
            f"{EXPORTS}test_a_file_that_appears_meanwhile_stays",
        ),
    ),
    Protection(
        "the intent is completed after a crash",
        "katod.record.delivery:Delivery.retry",
        drop_intent,
        (
            "tests/faults/test_kills.py",
            "tests/faults/test_syscalls.py",
            "tests/faults/test_world.py::TestHappenings::runTest",
            "tests/simulation/test_simulation.py::test_whatever_happens_no_promise_is_broken",
            "tests/simulation/test_simulation.py::test_whatever_happens_in_many_plans_no_promise_is_broken",
            f"{POWER}TestLostPower::runTest",
            f"{POWER}test_power_is_lost_in_every_window",
            f"{NOTES}test_a_note_behind_what_a_kill_left",
            f"{NOTES}test_a_note_behind_a_whole_recording",
            f"{NOTES}test_a_note_between_any_two_lines_of_what_a_kill_left",
            f"{NOTES}test_a_note_far_above_the_same_words_that_were_said_before",
        ),
    ),
    Protection(
        "NUL bytes left by a power loss are distinguished from text",
        "katod.write.recover:_hole",
        returning(value=None),
        (f"{POWER}test_power_is_lost_in_every_window", f"{POWER}test_a_hole_before_bytes_that_arrived", LOST_POWER),
    ),
    Protection(
        "an append is on disk before the ledger says that it is written",
        "katod.durable:sync",
        returning(value=None),
        (LOST_POWER,),
    ),
    Protection(
        "a commit is on disk before anything follows from it",
        "katod.store.integrity:connect",
        commit_at_leisure,
        (LOST_POWER,),
    ),
    Protection(
        "the options of a recording are frozen",
        "katod.store.ledger:Ledger.outputs",
        take_options_of_today,
        ("tests/faults/test_settings.py::test_a_recording_keeps_its_settings",),
    ),
    Protection(
        "an output that cannot be written is parked",
        "katod.record.delivery:Delivery._park",
        take_for_written,
        (
            f"{DISK}test_an_output_that_is_something_else_waits",
            f"{DISK}test_the_daemon_takes_up_an_output_by_itself_when_it_can_be_written_again",
            f"{DISK}test_an_output_on_a_disk_that_takes_nothing_waits",
            f"{DISK}test_a_file_that_may_not_grow_any_more_waits",
            f"{DISK}test_an_output_that_goes_between_a_look_and_the_append_goes_on_in_a_new_file",
            f"{FOLDERS}test_the_pauses_grow_and_the_daemon_takes_up_the_output_by_itself",
            f"{FOLDERS}test_a_daemon_waits_for_the_disk",
        ),
    ),
    Protection(
        "a missing output is recreated",
        "katod.write.output:detect_change",
        overlook_missing,
        (f"{DISK}test_an_output_whose_folder_is_removed_goes_on_in_a_new_file",),
    ),
    Protection(
        "a missing output directory is not a deleted output",
        "katod.write.root:require_root",
        returning(None),
        (
            f"{FOLDERS}test_nothing_is_written_where_the_output_directory_was",
            f"{FOLDERS}test_a_recording_waits_for_a_directory_that_the_settings_no_longer_name",
            f"{FOLDERS}test_a_directory_is_started_over_as_status_says",
            f"{FOLDERS}test_a_project_directory_is_never_created",
            f"{FOLDERS}test_an_empty_directory_on_another_device_is_not_taken_for_a_project",
            f"{FOLDERS}test_a_disk_that_is_unmounted_and_mounted_again",
        ),
    ),
    Protection(
        "an output directory without its marker is not written to",
        "katod.write.safe:open_parent",
        ignore_markers,
        (f"{FOLDERS}test_nothing_is_written_where_the_output_directory_was",),
    ),
    Protection(
        "markers of output directories are kept when what was recorded there is forgotten",
        "katod.store.collections:Markers.keep",
        returning(None),
        (f"{FOLDERS}test_the_marker_counts_although_all_that_was_recorded_there_is_forgotten",),
    ),
    Protection(
        "an output's name is checked after an append",
        "katod.write.output:_require_name",
        returning(None),
        (
            f"{EDITORS}test_what_went_to_a_replaced_file_is_written_to_the_new_one",
            f"{EDITORS}test_a_file_that_was_removed_during_an_append_and_saved_after_it_is_completed",
        ),
    ),
    Protection(
        "a file that says nothing of a session is not its output",
        "katod.write.output:is_output",
        returning(value=True),
        (f"{EDITORS}test_first_lines_that_were_cut_short_and_saved_as_a_new_file_are_left_alone",),
    ),
    Protection(
        "lines at the top of a transcript do not hide whose it is",
        "katod.record.ownership:below_notes",
        lambda _original: lambda head: head,
        (f"{EDITORS}test_a_recording_goes_on_below_a_title_of_yours_whatever_else_you_change",),
    ),
    Protection(
        "a missing output is waited for",
        "katod.record.delivery:Delivery._miss",
        give_up_at_once,
        (
            f"{EDITORS}test_a_file_that_was_removed_during_an_append_and_saved_after_it_is_completed",
            f"{EDITORS}test_a_file_that_is_missing_while_an_editor_saves_it_is_waited_for",
        ),
    ),
    Protection(
        "a renamed output is found",
        "katod.write.moved:find_moved",
        returning(None),
        (
            f"{EDITORS}test_a_renamed_output_is_followed",
            f"{EDITORS}test_a_running_daemon_follows_a_renamed_output",
            f"{EDITORS}test_an_output_that_was_renamed_and_edited_is_followed",
            f"{EDITORS}test_a_batch_is_not_in_two_files_after_a_kill_and_a_rename",
            f"{EDITORS}test_a_renamed_output_of_an_ended_recording_is_followed",
            f"{EDITORS}test_an_output_directory_that_was_moved_is_followed",
        ),
    ),
    Protection(
        "a different file with the name of an output is left alone",
        "katod.write.output:is_output",
        returning(True),
        (
            f"{RENAMES}test_no_file_gets_words_of_another_session_whatever_the_names",
            f"{RENAMES}test_what_is_forgotten_is_the_transcript_whatever_its_name",
            f"{RENAMES}test_a_transcript_whose_name_another_file_took_waits",
        ),
    ),
    Protection(
        "a moved output is found by all that reads it",
        "katod.write.moved:MovedFiles.find",
        returning(None),
        (
            f"{RENAMES}test_all_that_reads_a_transcript_finds_it_where_it_was_moved",
            f"{RENAMES}test_what_is_forgotten_is_the_transcript_whatever_its_name",
            f"{RENAMES}test_pictures_are_forgotten_with_a_transcript_that_was_moved",
        ),
    ),
    Protection(
        "pictures are saved where an output was moved",
        "katod.record.delivery:Delivery._place_now",
        place_of_row,
        (f"{RENAMES}test_the_first_picture_after_a_move_is_beside_the_transcript",),
    ),
    Protection(
        "the same bytes are no edit",
        "katod.write.output:_compare_open",
        judge_by_inode,
        (f"{RENAMES}test_the_same_bytes_in_another_file_are_no_edit",),
    ),
    Protection(
        "all missing outputs are looked for after a moment",
        "katod.record.delivery:Delivery.next_look",
        returning(None),
        (f"{EDITORS}test_all_renamed_outputs_are_followed_at_once_after_many_crashes",),
    ),
    Protection(
        "copies and hidden files are not followed",
        "katod.write.moved:_named",
        take_any_name,
        (f"{EDITORS}test_what_is_no_renamed_output_is_not_written_to",),
    ),
    Protection(
        "an output directory that was given up is left",
        "katod.record.naming:OutputNaming.is_abandoned",
        returning(value=False),
        (f"{EDITORS}test_a_directory_that_was_given_up_is_left_at_the_next_start",),
    ),
    Protection(
        "an older copy is recognised",
        "katod.write.output:_is_reverted",
        returning(value=False),
        (f"{EDITORS}test_an_older_copy_is_noticed_and_completed_once",),
    ),
    Protection(
        "what is missing is appended",
        "katod.record.output:Output.restore_missing",
        returning(None),
        (
            f"{EDITORS}test_missing_events_are_appended_with_a_heading_and_only_when_asked",
            f"{EDITORS}test_a_running_daemon_appends_what_is_missing",
            f"{EDITORS}test_what_is_missing_of_a_recording_that_ended_is_appended_too",
        ),
    ),
    Protection(
        "an empty file belongs to the katod that claimed it first",
        "katod.write.output:_is_claimed",
        returning(value=False),
        (
            f"{FOLDERS}test_an_output_that_another_katod_created_is_not_taken",
            f"{FOLDERS}test_two_katods_that_create_an_output_at_once",
        ),
    ),
    Protection(
        "an unwritable ledger is reported in one line",
        "katod.store.ledger:Ledger.transaction",
        raise_as_it_is,
        (
            f"{DISK}test_a_full_disk_of_the_ledger_ends_the_daemon_and_nothing_else",
            "tests/faults/test_ledger.py::test_a_ledger_on_a_read_only_disk_waits",
        ),
    ),
    Protection(
        "format state of another version is rebuilt",
        "katod.record.session:ActiveSessions._reprint",
        returning(None),
        (
            f"{UPGRADE}test_the_state_of_another_version_is_not_trusted",
            f"{UPGRADE}test_an_ended_recording_that_begins_again_is_of_the_present_version",
        ),
    ),
    Protection(
        "format state is rebuilt by replay",
        "katod.record.export:reprint",
        returning({}),
        (f"{UPGRADE}test_a_recording_goes_on_after_an_upgrade",),
    ),
    Protection(
        "a file's anchor is verified before backfill",
        "katod.record.resync:Backfill._source",
        prove_nothing,
        (f"{UPGRADE}test_a_file_rewritten_before_an_upgrade_is_no_history",),
    ),
]
