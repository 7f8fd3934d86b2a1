"""Protections of paths, commands, secrets and privacy."""

import os
import re
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from .protection import Protection, given, returning

PROJECTS = "tests/record/test_projects.py::"
PATHS, REDACT = "tests/faults/test_paths.py::", "tests/formats/redact/test_redactor.py::"
FORGETTING, READING = "tests/faults/test_forgetting.py::", "tests/faults/test_reading.py::"


def open_by_path(place, _known, _names_session):
    """Open whatever the path of a transcript leads to."""
    return place.path.open("rb")


def open_the_same_file_alone(original):
    """Refuse what editors save."""
    return lambda place, known, names_session: original(place, known._replace(tail=""), lambda _: False)


def count_all(directory, home, _allowed):
    """Let every project's file count, allowed or not."""
    from katod.project.allowed import places  # noqa: PLC0415 - katod is imported after the hook is installed
    from katod.project.form import parse_project  # noqa: PLC0415

    return [parse_project(path.read_bytes(), path) for path in places(directory, home) if path.is_file()]


def show_all(self, settings):
    """Let a project's file choose what is shown."""
    content = replace(settings.content, thinking=not self.hides_thinking, tools=self.tools or "full")
    return replace(settings, content=content)


def claim_for_anyone(original):
    """Let every session claim any output."""

    def claim(self, session, target, *, fresh):
        row = self._ledger.output_at(target.path)
        return row if row is not None and not fresh else original(self, session, target, fresh=fresh)

    return claim


def search_all_text(original):
    """Search every event that has a text for commands, as if it was typed."""

    def feed(self, lines):
        for event in original(self, lines):
            if event.kind != "user.kato-command" and isinstance(event.payload.get("text"), str):
                yield from self._split(event._replace(typed=True))
            else:
                yield event

    return feed


def need_no_length(original):
    """Let a rule match its prefix, however short or ordinary the rest is."""

    def replace(rule, text):
        pattern = re.sub(r"\[[^]]*\]\{\d+,?\d*\}", "[A-Za-z0-9_-]+", rule.pattern)
        return original(rule._replace(pattern=pattern), text)

    return replace


def repeat_what_was_typed(original):
    """Quote the command's name in a refusal."""

    def do(self, command):
        try:
            original(self, command)
        except Exception as refusal:
            refusal.what = f"{refusal.what}: {command.name}"
            raise

    return do


def repeat_what_sqlite_says(original):
    """Include SQLite's error message, which may quote a row, when a database cannot be read."""

    @contextmanager
    def reading(path):
        try:
            with original(path) as connection:
                connection.text_factory = str
                yield connection
        except Exception as error:
            if error.__cause__ is None:
                raise
            raise type(error)(f"cannot be read: {error.__cause__}", path=path) from error

    return reading


def log_content(original):
    """Log the content of a file that was found."""

    def add(self, root, path, identity, seen):
        file = Path(path.partition("#")[0])
        self._log.source_found(file.read_text(errors="replace") if file.exists() else path, 0)
        return original(self, root, path, identity, seen)

    return add


def forget_commands(original):
    """Note none of the commands in a session that is forgotten."""
    return lambda source, file: ([], original(source, file)[1])


def know_at_once(_original):
    """Take the file of a forgotten session for a new one."""
    return lambda *_: False


PROTECTIONS = [
    Protection(
        "an unchanged file of a forgotten session is passed over",
        "katod.discover.catalog:Catalog._is_as_forgotten",
        know_at_once,
        (f"{FORGETTING}test_nothing_of_a_session_that_is_only_known_is_left",),
    ),
    Protection(
        "what was typed before a session was forgotten is history",
        "katod.discover.catalog:_passed_over",
        lambda _original: lambda _spec, row, _forgotten_ns: row,
        (f"{FORGETTING}test_old_commands_that_katod_never_saw_do_not_act",),
    ),
    Protection(
        "the commands of a forgotten session count as carried out",
        "katod.record.history:_typed",
        forget_commands,
        (f"{FORGETTING}test_old_commands_do_not_act_in_a_document_that_changes",),
    ),
    Protection(
        "the ledger is rewritten after a session was forgotten",
        "katod.store.integrity:erase",
        returning(True),
        (f"{FORGETTING}test_a_reader_of_the_ledger_delays_only_the_end",),
    ),
    Protection(
        "symbolic links are not followed",
        "katod.write.safe:_step",
        given(_DIRECTORY=os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC),
        (
            f"{PATHS}test_what_stands_at_the_path_already_is_left_alone",
            f"{PATHS}test_a_part_of_the_path_that_is_swapped_before_any_call_leads_nowhere",
            f"{PATHS}test_a_path_that_is_swapped_all_the_time_leads_nowhere",
        ),
    ),
    Protection(
        "each part of a name is checked",
        "katod.command.target:_check_part",
        returning(None),
        (f"{PATHS}test_a_name_that_steps_out_is_refused",),
    ),
    Protection(
        "only a project's file that was allowed counts",
        "katod.project.allowed:in_effect",
        lambda original: count_all,
        (f"{PROJECTS}test_a_file_that_is_not_allowed_changes_nothing",),
    ),
    Protection(
        "a project's file counts with the content that was allowed",
        "katod.project.allowed:_digest",
        returning("same"),
        (f"{PROJECTS}test_a_file_that_changed_chooses_nothing_until_it_is_allowed_again",),
    ),
    Protection(
        "a project may only show less",
        "katod.project.form:ProjectFile.reduced",
        lambda original: show_all,
        ("tests/project/test_form.py::test_whatever_it_says_no_more_is_shown_than_configured",),
    ),
    Protection(
        "a directory that a project chooses is checked",
        "katod.record.policy:Policy._refused",
        returning(""),
        (f"{PROJECTS}test_a_directory_that_cannot_be_used_costs_nothing",),
    ),
    Protection(
        "an output belongs to one session",
        "katod.record.naming:OutputNaming.claim",
        claim_for_anyone,
        (f"{PATHS}test_the_output_of_another_session_is_refused",),
    ),
    Protection(
        "records of a sub-agent in the session's own file are told apart",
        "katod.agents.copilot.adapter:_subagent",
        returning(""),
        (
            "tests/agents/copilot/test_adapter.py::test_what_a_sub_agent_says_is_not_the_sessions",
            "tests/agents/copilot/test_adapter.py::test_a_recording_shows_the_sub_agents_call_and_none_of_its_words",
        ),
    ),
    Protection(
        "the client's report of a command after '!' is not typed text",
        "katod.agents.gemini.adapter:GeminiMessages._user",
        given(_SHELL=re.compile("(?!)")),
        ("tests/agents/gemini/test_adapter.py::test_a_command_that_the_person_ran_is_not_typed_text",),
    ),
    Protection(
        "a header says that nobody typed in a sub-agent's file",
        "katod.agents.gemini.adapter:GeminiAdapter._rename",
        lambda original: lambda self, session, *, person: original(self, session, person=True),
        ("tests/agents/gemini/test_adapter.py::test_a_sub_agents_file_elsewhere_was_typed_by_nobody",),
    ),
    Protection(
        "only typed text is searched for commands",
        "katod.record.translation:Translation.feed",
        search_all_text,
        (
            "tests/agents/test_typed_leaves.py::test_only_a_typed_leaf_commands",
            "tests/golden/test_typed.py::test_only_a_typed_field_commands",
            "tests/golden/test_hostile.py::test_nobody_but_a_person_commands",
        ),
    ),
    Protection(
        "a rule's marker triggers it",
        "katod.formats.redact.engine:_shaped",
        lambda original: lambda text, numbers: text,
        (
            f"{REDACT}test_each_kind_goes_from_prose_and_shell",
            "tests/formats/redact/test_recall.py::test_one_secret_of_each_kind_is_found",
        ),
    ),
    Protection(
        "a password in a command is redacted",
        "katod.formats.redact.forms:formed_secrets",
        returning(()),
        (f"{REDACT}test_passwords_in_commands_and_files",),
    ),
    Protection(
        "a variable or a name is not a password",
        "katod.formats.redact.names:_is_literal",
        returning(value=True),
        (f"{REDACT}test_commands_and_code_without_passwords_stay",),
    ),
    Protection(
        "a value after a sensitive name is redacted",
        "katod.formats.redact.names:_judged",
        returning(None),
        (f"{REDACT}test_random_values_after_telling_names",),
    ),
    Protection(
        "a readable value is not a secret",
        "katod.formats.redact.names:is_secret",
        returning(value=True),
        (f"{REDACT}test_code_and_examples_after_telling_names_stay",),
    ),
    Protection(
        "a prefix alone is not a secret",
        "katod.formats.redact.engine:_replace",
        need_no_length,
        (
            f"{REDACT}test_ordinary_text_is_the_same_object",
            "tests/formats/redact/test_rules.py::test_a_rule_meets_what_it_names_and_nothing_like_it",
        ),
    ),
    Protection(
        "invisible characters do not hide a secret",
        "katod.formats.redact.engine:_unveiled",
        lambda original: lambda text, done: done,
        (f"{REDACT}test_nothing_that_is_not_seen_hides_a_secret",),
    ),
    Protection(
        "a title is redacted before it is stored",
        "katod.record.translation:set_title",
        given(redact=lambda text: text),
        ("tests/faults/test_secrets.py::test_no_secret_reaches_a_file_of_katod",),
    ),
    Protection(
        "a refusal does not quote typed text",
        "katod.record.controller:_Act.do",
        repeat_what_was_typed,
        ("tests/test_privacy.py::test_commands_that_come_to_nothing_leave_no_word",),
    ),
    Protection(
        "SQLite's error messages are not shown",
        "katod.agents.opencode.readonly:reading",
        repeat_what_sqlite_says,
        ("tests/test_privacy.py::test_what_cannot_be_read_of_a_database_leaves_no_word",),
    ),
    Protection(
        "the log contains ids, not file content",
        "katod.discover.catalog:Catalog._add",
        log_content,
        ("tests/test_privacy.py::test_an_unrecorded_session_leaves_no_word",),
    ),
    Protection(
        "only what katod wrote is shown as a transcript",
        "katod.write.reading:open_output",
        lambda _original: open_by_path,
        (
            f"{READING}test_another_file_is_never_shown_as_the_transcript",
            f"{READING}test_no_export_is_made_of_another_file",
        ),
    ),
    Protection(
        "a transcript that an editor saved is still the transcript",
        "katod.write.reading:open_output",
        open_the_same_file_alone,
        (f"{READING}test_what_a_person_did_to_a_transcript_is_shown",),
    ),
]
