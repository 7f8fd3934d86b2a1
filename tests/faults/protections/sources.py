"""Protections from changes to session files."""

from .protection import Protection, returning

SOURCES, UPGRADE = "tests/faults/test_sources.py::", "tests/record/test_upgrade.py::"


def read_open_lines(original):
    """Treat the text after the last newline as a line."""

    def read(self, cursor, budget, partial=None):
        batch = original(self, cursor, budget, partial)
        line = None if batch.partial is None else self.rest(cursor.offset)
        if line is None:
            return batch
        after = type(cursor)(line.end, self.anchor(line.end))
        return type(batch)(b"", line.offset, after, more=False, lines=[line])

    return read


def find_all_new(_original):
    """Find every event new, also one that comes again under another id."""

    def new(self, messages, source, seen, *, refold=False):
        for event in (event for message in messages for event in message):
            seen.add(event, source)
            self.metadata.observe(event)
            yield event

    return new


def know_by_inode(original):
    """Treat a new file with a known inode as the source that had it."""

    def notice(self, root, path, seen):
        same = (source.path for source in self._by_path.values() if source.seen.ino == seen.ino)
        return original(self, root, path if path in self._by_path else next(same, path), seen)

    return notice


def pass_over_what_was_gone(original):
    """Ignore a source that reappears."""

    def notice(self, root, path, seen):
        known = self._by_path.get(path)
        return [] if known is not None and known.gone else original(self, root, path, seen)

    return notice


PROTECTIONS = [
    Protection(
        "only a newline ends a record",
        "katod.tail.reader:SourceFile.read",
        read_open_lines,
        (
            "tests/tail/test_reader.py::test_line_split_at_any_byte_waits_for_its_newline",
            f"{SOURCES}test_a_record_that_comes_byte_by_byte_is_read_once",
        ),
    ),
    Protection(
        "the anchor before the offset is verified",
        "katod.tail.reader:SourceFile.verify_anchor",
        returning(None),
        (
            f"{SOURCES}test_a_truncated_source_goes_on_with_what_is_new",
            f"{SOURCES}test_a_source_truncated_and_grown_between_two_looks_is_read_anew",
            f"{SOURCES}test_a_source_replaced_by_rename_goes_on",
            f"{SOURCES}test_a_source_that_was_rotated_goes_on",
            f"{SOURCES}test_a_source_made_anew_with_its_old_inode_is_read_anew",
        ),
    ),
    Protection(
        "recorded events are recognised by their ids and words",
        "katod.record.stream:SessionStream._new",
        find_all_new,
        (
            f"{SOURCES}test_a_source_truncated_within_a_record_goes_on",
            f"{SOURCES}test_a_backup_that_takes_the_place_of_a_session_doubles_nothing",
            f"{UPGRADE}test_an_upgrade_after_a_compaction_goes_on",
            "tests/faults/test_hostile_records.py::test_parents_in_a_circle_and_keys_that_come_twice",
        ),
    ),
    Protection(
        "a session is identified by its path, not its inode",
        "katod.discover.catalog:Catalog._notice",
        know_by_inode,
        (f"{SOURCES}test_a_session_with_the_inode_of_another_is_its_own",),
    ),
    Protection(
        "a file that reappears is read",
        "katod.discover.catalog:Catalog._notice",
        pass_over_what_was_gone,
        (f"{SOURCES}test_a_source_that_comes_back_goes_on",),
    ),
    Protection(
        "files older than the last sweep are history",
        "katod.discover.catalog:_is_older",
        returning(value=False),
        (f"{SOURCES}test_a_session_restored_after_weeks_is_history",),
    ),
    Protection(
        "a record after a torn one is searched for",
        "katod.tail.decode:_next_record",
        lambda original: lambda text, after: len(text),
        (
            f"{SOURCES}test_a_record_glued_to_a_torn_one_is_read",
            "tests/tail/test_decode.py::test_a_record_after_a_torn_one_is_read_whatever_agent_wrote_it",
        ),
    ),
]
