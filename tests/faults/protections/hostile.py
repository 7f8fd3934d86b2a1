"""Protections from hostile records, sizes and texts."""

import orjson

from .protection import Protection, given, returning

RECORDS = "tests/faults/test_hostile_records.py"
SIZES = "tests/faults/test_sizes.py"
BOUNDS = "tests/agents/test_bounds.py"
LAWS = "tests/formats/test_markdown_laws.py"
READONLY = "tests/agents/opencode/test_readonly.py"
COMPRESSED = "tests/tail/test_compressed.py"


def closed(path, limit):
    """Treat every small file as one that cannot be read now."""
    raise PermissionError(13, "Permission denied")


def end_at_the_end(original):
    """Let the end of the file terminate its last line."""

    def newline(self, offset):
        found = original(self, offset)
        return self.size if found < 0 else found

    return newline


def forget_the_round(original):
    """Do not show in names that counting started over."""

    def hashed(self, fields, kind, payload):
        name = original(self, fields, kind, payload)
        self.repeats.pop("", None)
        return name

    return hashed


def retry_everything(original):
    """Retry what only a change can help, too."""

    def done(self, source, now):
        source.set_usable(usable=True)
        original(self, source, now)

    return done


PROTECTIONS = [
    Protection(
        "what a repository's settings could run is switched off",
        "katod.gitcommand:_OFF",
        lambda original: (),
        ("tests/why/test_git.py::test_nothing_of_a_repository_runs",),
    ),
    Protection(
        "only a regular file of a plausible size is read whole",
        "katod.smallfile:read_small",
        lambda original: closed,
        (
            "tests/service/test_control.py::test_a_fifo_or_an_endless_file_is_refused",
            "tests/test_config.py::test_a_configuration_that_never_ends_is_refused",
        ),
    ),
    Protection(
        "a lock that is no regular file is refused",
        "katod.service.lock:_is_regular",
        returning(True),
        ("tests/service/test_lock.py::test_a_fifo_in_place_of_the_lock_file_is_refused",),
    ),
    Protection(
        "a database cannot run code, take long or take memory",
        "katod.agents.opencode.readonly:_restrict",
        lambda original: lambda connection: connection.set_progress_handler(lambda: True, 10_000_000),
        (
            f"{READONLY}::test_a_view_in_place_of_a_table_is_not_run",
            f"{READONLY}::test_text_of_an_implausible_size_is_given_up",
        ),
    ),
    Protection(
        "a database that took too long is remembered",
        "katod.agents.opencode.readonly:_remembered",
        given(_unusable={}),
        (f"{READONLY}::test_a_reading_that_takes_too_long_is_given_up",),
    ),
    Protection(
        "little more is decompressed than a session can contain",
        "katod.tail.reader:_limit",
        returning(2**60),
        (f"{COMPRESSED}::test_a_bomb_is_given_up_early",),
    ),
    Protection(
        "what only a change can help is not retried",
        "katod.pipeline:Schedule.done",
        retry_everything,
        ("tests/test_schedule.py::test_what_only_a_change_can_help_is_not_retried",),
    ),
    Protection(
        "a line that is not JSON is salvaged",
        "katod.tail.decode:_salvage",
        lambda original: lambda line: orjson.loads(line.data),
        (
            f"{RECORDS}::test_a_broken_line_costs_one_record",
            f"{RECORDS}::test_what_is_no_character_costs_nothing",
            f"{RECORDS}::test_a_hostile_value_costs_its_record_at_most",
            "tests/golden/test_hostile.py::test_every_good_message_is_kept_once",
        ),
    ),
    Protection(
        "an adapter's exception affects only its record",
        "katod.record.translation:Translation._adapt",
        lambda original: lambda self, record, line: self._adapter.feed(record),
        (
            f"{RECORDS}::test_any_key_may_be_missing_or_of_another_kind",
            "tests/agents/test_hostile.py::test_no_shape_of_a_record_raises",
            "tests/fuzz/test_targets.py::test_nothing_that_the_fuzzer_finds_raises",
        ),
    ),
    Protection(
        "a field that is no text counts as empty",
        "katod.agents.fields:text_of",
        lambda original: lambda value: value or "",
        ("tests/agents/test_hostile.py::test_an_event_has_what_its_kind_needs_whatever_a_record_lacks",),
    ),
    Protection(
        "a row that is not JSON counts as empty",
        "katod.agents.opencode.readonly:decoded",
        lambda original: orjson.loads,
        (
            f"{RECORDS}::test_a_row_of_a_database_may_hold_anything",
            f"{RECORDS}::test_a_row_of_an_older_database_may_hold_anything",
        ),
    ),
    Protection(
        "an incomplete document is skipped",
        "katod.tail.reader:DocumentFile.documents",
        lambda original: lambda self, data: [data] if orjson.loads(data) else [],
        (f"{RECORDS}::test_a_document_may_hold_anything",),
    ),
    Protection(
        "a line that is too long is never held in memory",
        "katod.tail.reader:SourceFile._long_line",
        given(LINE_CAP=1 << 60),
        (f"{SIZES}::test_a_line_of_100_mb_is_passed_over",),
    ),
    Protection(
        "a line below the limit is read in one piece",
        "katod.tail.reader:SourceFile._long_line",
        given(LINE_CAP=1 << 20),
        (f"{SIZES}::test_a_line_that_may_just_be_held_is_read",),
    ),
    Protection(
        "a line waits for its newline",
        "katod.tail.reader:SourceFile._newline",
        end_at_the_end,
        (f"{SIZES}::test_a_line_without_an_end_waits_and_costs_nothing",),
    ),
    Protection(
        "a step reads half a megabyte",
        "katod.pipeline:Pipeline.step",
        lambda original: lambda self, source_id, budget=0: original(self, source_id, 1 << 21),
        (f"{SIZES}::test_very_many_tiny_lines_are_read_in_steps",),
    ),
    Protection(
        "a hole is not part of a line",
        "katod.tail.reader:SourceFile._after_hole",
        lambda original: lambda self, offset: offset,
        (f"{SIZES}::test_a_hole_is_passed_over",),
    ),
    Protection(
        "active links are shown as text",
        "katod.formats.text.mdlinks:disarmed",
        lambda original: lambda line, _: line,
        (
            "tests/formats/text/test_mdlinks.py::test_a_link_that_runs_something_is_text",
            "tests/formats/text/test_mdlinks.py::test_no_message_has_an_active_link",
        ),
    ),
    Protection(
        "links of a page have a known scheme",
        "katod.formats.transcript.messages:_is_known",
        lambda original: lambda url: True,
        (
            "tests/formats/transcript/test_html.py::test_nothing_of_a_text_acts",
            "tests/formats/transcript/test_html.py::test_nothing_of_a_message_acts",
        ),
    ),
    Protection(
        "links of a page stay below their base",
        "katod.formats.text.linkbase:_walked",
        lambda original: lambda steps: steps,
        (
            "tests/formats/text/test_linkbase.py::test_what_is_not_below_the_base_stays_text",
            "tests/formats/transcript/test_html.py::test_nothing_of_a_text_acts_below_a_base",
        ),
    ),
    Protection(
        "a message runs at most a thousand commands",
        "katod.command.grammar:parse_message",
        given(MOST_COMMANDS=2_000),
        (f"{SIZES}::test_a_million_commands_in_one_message",),
    ),
    Protection(
        "the number of open calls is bounded",
        "katod.agents.toolcalls:OpenCalls.add",
        given(_MOST_OPEN=256_000),
        (f"{SIZES}::test_very_many_ids", f"{BOUNDS}::test_no_number_of_records_makes_a_state_grow"),
    ),
    Protection(
        "the number of queued texts is bounded",
        "katod.agents.claude.text:Queue._overflow",
        lambda original: lambda self: [],
        (f"{BOUNDS}::test_texts_that_wait_in_a_queue_are_few",),
    ),
    Protection(
        "names show when counting started over",
        "katod.agents.claude.builder:ClaudeBuilder._hashed",
        forget_the_round,
        (f"{BOUNDS}::test_records_without_id_and_time_have_names_of_their_own",),
    ),
    Protection(
        "an ordinal that does not increase is qualified by its offset",
        "katod.agents.codex.builder:CodexBuilder._place",
        lambda original: lambda self, record: original(self, record).partition("+")[0],
        (f"{BOUNDS}::test_an_ordinal_that_comes_twice_hides_no_record",),
    ),
    Protection(
        "headings are demoted below the speaker's",
        "katod.formats.text.mdblocks:_Blocks._moved_down",
        lambda original: lambda self, line, marks: self._inline(line),
        (
            "tests/golden/test_hostile.py::test_the_outline_is_the_conversation",
            "tests/golden/test_outline.py::test_no_message_changes_the_outline",
            "tests/golden/test_outline.py::test_what_readers_take_apart_in_another_way",
            f"{LAWS}::test_the_outline_is_that_of_plain_words",
            f"{LAWS}::test_no_message_poses_as_a_part_of_the_transcript",
        ),
    ),
    Protection(
        "text cannot pose as a mark of katod",
        "katod.formats.text.mdblocks:_Blocks._shown",
        given(poses=lambda line: False),
        (
            f"{LAWS}::test_no_message_poses_as_a_mark_of_katod",
            f"{LAWS}::test_a_transcript_in_a_conversation_changes_nothing_around_it",
        ),
    ),
    Protection(
        "others' words in emphasis are not katod's own",
        "katod.formats.transcript.markdown:_emphasised",
        lambda original: lambda line: line,
        (f"{LAWS}::test_no_name_or_note_poses_as_a_line_of_katod",),
    ),
    Protection(
        "the sign of katod's own lines is escaped in messages",
        "katod.formats.text.mdblocks:_Blocks._unsigned",
        lambda original: lambda self, line: line,
        (f"{LAWS}::test_a_transcript_in_a_conversation_changes_nothing_around_it",),
    ),
    Protection(
        "active HTML elements are escaped",
        "katod.formats.text.mdhtml:Tags._stays",
        given(_ACTIVE=frozenset()),
        (
            "tests/golden/test_hostile.py::test_no_html_is_live_that_could_act",
            "tests/golden/test_outline.py::test_no_message_acts",
        ),
    ),
    Protection(
        "control characters are removed",
        "katod.formats.text.mdtext:clean",
        lambda original: lambda text: text,
        ("tests/golden/test_hostile.py::test_no_control_character_is_left",),
    ),
    Protection(
        "a fence is longer than any in its content",
        "katod.formats.text.mdtext:_longest",
        returning(0),
        (f"{LAWS}::test_no_fence_ends_early",),
    ),
]
