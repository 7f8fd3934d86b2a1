"""Crashes, outputs that cannot be written, upgrades."""

from .protection import Protection

DISK, NOTES, POWER = "tests/faults/test_disk.py::", "tests/faults/test_notes.py::", "tests/faults/test_power.py::"
UPGRADE = "tests/record/test_upgrade.py::"

PROTECTIONS = [
    Protection(
        "the intent is completed after a crash",
        "katod/pipeline.py",
        "            written = self.delivery.retry(row)\n",
        "            row.intent, written = None, True\n",
        (
            "tests/faults/test_kills.py",
            "tests/faults/test_syscalls.py",
            "tests/faults/test_world.py::TestHappenings::runTest",
            f"{POWER}TestLostPower::runTest",
            f"{POWER}test_power_is_lost_in_every_window",
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
        (f"{POWER}test_power_is_lost_in_every_window", f"{POWER}test_a_hole_before_bytes_that_arrived"),
    ),
    Protection(
        "the options of a recording are frozen",
        "katod/record/columns.py",
        "        _options(orjson.loads(row[6])), ",
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
]
