"""What becomes of session files."""

from .protection import Protection

SOURCES, UPGRADE = "tests/faults/test_sources.py::", "tests/record/test_upgrade.py::"

PROTECTIONS = [
    Protection(
        "only a newline ends a record",
        "katod/tail/reader.py",
        "            partial = Partial(start, start + len(data)) if data else None\n",
        "            end = start + len(data)\n            lines = [Line(start, end, data)] if data else []\n"
        '            return Batch(b"", start, Cursor(end, self.anchor(end)), more=False, lines=lines)\n',
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
            "tests/faults/test_hostile_records.py::test_parents_in_a_circle_and_keys_that_come_twice",
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
        "        history = seen.size if self._was_there(root.spec, path, seen, swept) else 0\n",
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
]
