"""Paths, commands, secrets, privacy."""

from .protection import Protection

PATHS, REDACT = "tests/faults/test_paths.py::", "tests/formats/test_redact.py::"

PROTECTIONS = [
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
            "tests/golden/test_hostile.py::test_nobody_but_a_person_commands",
        ),
    ),
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
        "what is redacted is what is seen",
        "katod/formats/redact.py",
        "    return _unveiled(text, done) if veiled else done\n",
        "    return done\n",
        (f"{REDACT}test_nothing_that_is_not_seen_hides_a_secret",),
    ),
    Protection(
        "a title is redacted before it is kept",
        "katod/record/translation.py",
        "        metadata.name(clean(redact(words)), event)\n",
        "        metadata.name(clean(words), event)\n",
        ("tests/faults/test_secrets.py::test_no_secret_reaches_a_file_of_katod",),
    ),
    Protection(
        "a refusal does not repeat what was typed",
        "katod/record/desk.py",
        """            reason = f"{refusal.what}{f' ({refusal.hint})' if refusal.hint else ''}"\n""",
        """            reason = f"{refusal.what}: {command.name}"\n""",
        ("tests/test_privacy.py::test_commands_that_come_to_nothing_leave_no_word",),
    ),
    Protection(
        "what SQLite says of a row is not repeated",
        "katod/agents/opencode/readonly.py",
        """        connection.text_factory = lambda data: data.decode("utf-8", "replace")
        yield connection
    except sqlite3.Error as error:  # its message may quote a row
        name = getattr(error, "sqlite_errorname", type(error).__name__)
        raise SourceError(f"cannot be read: {name}", path=path) from error
""",
        """        yield connection
    except sqlite3.Error as error:
        raise SourceError(f"cannot be read: {error}", path=path) from error
""",
        ("tests/test_privacy.py::test_what_cannot_be_read_of_a_database_leaves_no_word",),
    ),
    Protection(
        "the log names files, not what stands in them",
        "katod/record/catalog.py",
        "        self._log.source_found(path, history)\n",
        '        self._log.source_found(open(path.partition("#")[0], errors="replace").read(), history)\n',
        ("tests/test_privacy.py::test_an_unrecorded_session_leaves_no_word",),
    ),
]
