"""Hostile records, sizes and texts."""

from .protection import Protection

RECORDS = "tests/faults/test_hostile_records.py"
SIZES = "tests/faults/test_sizes.py"
BOUNDS = "tests/agents/test_bounds.py"
LAWS = "tests/formats/test_markdown_laws.py"

PROTECTIONS = [
    Protection(
        "a line that is no JSON is salvaged",
        "katod/tail/decode.py",
        "        return _salvage(line)\n",
        "        raise\n",
        (
            f"{RECORDS}::test_a_broken_line_costs_one_record",
            f"{RECORDS}::test_what_is_no_character_costs_nothing",
            f"{RECORDS}::test_a_hostile_value_costs_its_record_at_most",
            "tests/golden/test_hostile.py::test_every_good_message_is_kept_once",
        ),
    ),
    Protection(
        "whatever an adapter raises costs its record",
        "katod/record/translation.py",
        "            return self._adapter.feed(record)\n        except MemoryError:\n",
        "            return self._adapter.feed(record)\n        except Exception:\n",
        (
            f"{RECORDS}::test_any_key_may_be_missing_or_of_another_kind",
            "tests/agents/test_hostile.py::test_no_shape_of_a_record_raises",
            "tests/fuzz/test_targets.py::test_nothing_that_the_fuzzer_finds_raises",
        ),
    ),
    Protection(
        "a row that is no JSON is an empty one",
        "katod/agents/opencode/database.py",
        "    except orjson.JSONDecodeError:\n        return {}\n",
        "    except ZeroDivisionError:\n        return {}\n",
        (f"{RECORDS}::test_a_row_of_a_database_may_hold_anything",),
    ),
    Protection(
        "a document that is not whole is left",
        "katod/agents/opencode/tree.py",
        "        except (ValueError, RecursionError):\n            return\n",
        "        except ZeroDivisionError:\n            return\n",
        (f"{RECORDS}::test_a_document_may_hold_anything",),
    ),
    Protection(
        "a line that is too long is never held",
        "katod/tail/reader.py",
        "        if end - start > LINE_CAP:\n",
        "        if end < start:\n",
        (f"{SIZES}::test_a_line_of_100_mb_is_passed_over",),
    ),
    Protection(
        "a line that may be held is read in one piece",
        "katod/tail/reader.py",
        "        if end - start > LINE_CAP:\n",
        "        if end - start > CHUNK:\n",
        (f"{SIZES}::test_a_line_that_may_just_be_held_is_read",),
    ),
    Protection(
        "a line waits for its newline",
        "katod/tail/reader.py",
        "        if end < 0:\n",
        "        end = self.size if end < 0 else end\n        if end < 0:\n",
        (f"{SIZES}::test_a_line_without_an_end_waits_and_costs_nothing",),
    ),
    Protection(
        "a step reads half a megabyte",
        "katod/pipeline.py",
        "STEP_BYTES: Final = 512 * 1024",
        "STEP_BYTES: Final = 512 * 1024 * 1024",
        (f"{SIZES}::test_a_million_tiny_lines_are_read_in_steps",),
    ),
    Protection(
        "a hole is no part of a line",
        "katod/tail/reader.py",
        "        start = self._after_hole(cursor.offset)\n",
        "        start = cursor.offset\n",
        (f"{SIZES}::test_a_hole_is_passed_over",),
    ),
    Protection(
        "a thousand commands of a message act",
        "katod/command/grammar.py",
        "commands == MOST_COMMANDS",
        "commands == 2 * MOST_COMMANDS",
        (f"{SIZES}::test_a_million_commands_in_one_message",),
    ),
    Protection(
        "so many open calls are remembered",
        "katod/agents/toolcalls.py",
        "_MOST_OPEN: Final = 256\n",
        "_MOST_OPEN: Final = 256_000\n",
        (f"{SIZES}::test_very_many_ids", f"{BOUNDS}::test_no_number_of_records_makes_a_state_grow"),
    ),
    Protection(
        "so many removed texts wait for a record that shows them",
        "katod/agents/claude/queue.py",
        "        out, self.removed = self.removed[:-_MOST], self.removed[-_MOST:]\n",
        "        out: list[list[str]] = []\n",
        (f"{BOUNDS}::test_texts_that_wait_in_a_queue_are_few",),
    ),
    Protection(
        "names that are counted anew say so",
        "katod/agents/claude/builder.py",
        '        if round_ := self.repeats.get("", 0):\n',
        "        if round_ := 0:\n",
        (f"{BOUNDS}::test_records_without_id_and_time_have_names_of_their_own",),
    ),
    Protection(
        "an ordinal that does not rise names its place",
        "katod/agents/codex/builder.py",
        '        return f"{ordinal}" if self._rises else f"{ordinal}+{place}"\n',
        '        return f"{ordinal}"\n',
        (f"{BOUNDS}::test_an_ordinal_that_comes_twice_hides_no_record",),
    ),
    Protection(
        "headings move below the speaker's",
        "katod/formats/mdblocks.py",
        '"#" * min(2, 6 - len(heading[1]))',
        '""',
        (
            "tests/golden/test_hostile.py::test_the_outline_is_the_conversation",
            "tests/golden/test_outline.py::test_no_message_changes_the_outline",
            "tests/golden/test_outline.py::test_what_readers_take_apart_in_another_way",
            f"{LAWS}::test_the_outline_is_that_of_plain_words",
            f"{LAWS}::test_no_message_poses_as_a_part_of_the_transcript",
            f"{LAWS}::test_no_other_text_poses_as_a_part_of_the_transcript",
        ),
    ),
    Protection(
        "only katod speaks as katod",
        "katod/formats/mdblocks.py",
        "        if not self._containers and _POSING.match(rest):\n",
        "        if False:\n",
        (f"{LAWS}::test_no_message_poses_as_a_mark_of_katod",),
    ),
    Protection(
        "an element that acts is shown",
        "katod/formats/mdhtml.py",
        "            return name not in _ACTIVE\n",
        "            return True\n",
        (
            "tests/golden/test_hostile.py::test_no_html_is_live_that_could_act",
            "tests/golden/test_outline.py::test_no_message_acts",
        ),
    ),
    Protection(
        "control characters are removed",
        "katod/formats/mdtext.py",
        '    return _CONTROLS.sub("", text)\n',
        "    return text\n",
        ("tests/golden/test_hostile.py::test_no_control_character_is_left",),
    ),
    Protection(
        "a fence outgrows what it holds",
        "katod/formats/mdtext.py",
        '    ticks = "`" * max(3, _longest(text) + 1)\n',
        '    ticks = "```"\n',
        (f"{LAWS}::test_no_fence_ends_early",),
    ),
]
