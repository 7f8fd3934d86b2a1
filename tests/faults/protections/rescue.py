"""Protections of what is saved from deletion."""

from .protection import Protection, returning

RESCUE = "tests/rescue/test_rescuer.py::test_"

PROTECTIONS = [
    Protection(
        "a copy has its name when it is complete",
        "katod.rescue.copyfile:_part_of",
        lambda _original: lambda path: path,
        (f"{RESCUE}a_session_is_saved_whole_or_not_at_all",),
    ),
    Protection(
        "agents' deletions are told from their people's",
        "katod.rescue.plan:is_deleted_by_agent",
        returning(False),
        (f"{RESCUE}what_the_agent_deletes_stays_saved",),
    ),
    Protection(
        "a person's deletion is one",
        "katod.rescue.plan:is_deleted_by_agent",
        returning(True),
        (f"{RESCUE}what_a_person_deletes_goes_with_its_copy",),
    ),
    Protection(
        "excluded projects are left out",
        "katod.rescue.saving:_SeenProjects.is_left_out",
        returning(False),
        (f"{RESCUE}a_session_that_katod_cannot_read_is_saved_as_it_is",),
    ),
    Protection(
        "what a killed restore left is removed",
        "katod.rescue.restoring:remove_drafts",
        returning(None),
        ("tests/rescue/test_restoring.py::test_an_interrupted_restore_leaves_no_text",),
    ),
]
