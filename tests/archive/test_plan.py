"""What is to do for a session: a table."""

from katod.archive.manifest import Entry
from katod.archive.plan import FileLook, Task, decide
from katod.discover.found import FoundSession
from katod.model import SessionKey
from tests.looping import each

KEY = SessionKey("claude", "6f1c2c1e")
OLD, NEW, OTHER = ["/a", 1, 1, 1, 0], ["/a", 2, 2, 1, 0], ["/b", 1, 1, 1, 0]
ENTRY = Entry((KEY, "markdown"), "made", [OLD], "a.md", 5, 4, "hash", before="before")


@each(
    ("sources", "made", "state", "step"),
    [
        ([OLD], "made", "same", "keep"),
        ([NEW], "made", "same", "replace"),
        ([OLD, OTHER], "made", "same", "replace"),
        ([OTHER], "made", "same", "replace"),  # its agent moved it
        ([OLD], "other options", "same", "replace"),
        ([OLD], "made", "gone", "write"),
        ([NEW], "made", "gone", "write"),
        ([OLD], "made", "older", "replace"),
        ([NEW], "made", "older", "replace"),
        ([OLD], "made", "edited", "leave"),
        ([NEW], "other options", "edited", "leave"),
    ],
)
def test_a_session_of_which_a_file_was_made(sources, made, state, step):
    """What changed decides, except that an edited file is left alone."""
    assert decide(ENTRY, sources, made, state) == step


@each(
    ("sources", "state", "step"),
    [
        ([OLD], "same", "keep"),
        ([NEW], "same", "replace"),
        ([OLD], "older", "replace"),
        ([OLD], "gone", "write"),
        ([OLD], "edited", "leave"),
    ],
)
def test_a_session_of_which_a_part_is_gone(sources, state, step):
    """As long as nothing else happens, it is not even read: its file has more than is left."""
    assert decide(ENTRY._replace(sources=[OLD, OTHER]), sources, "other options", state) == step


def test_what_is_replaced():
    """A task knows the name that the file keeps, and the hash of what is there."""
    task = Task(FoundSession(KEY), ENTRY.slot, [NEW], "made", "replace", ENTRY, FileLook("same", None))
    assert (task.name, task.present) == ("a.md", "hash")
    assert task._replace(look=FileLook("older", None)).present == "before"
    assert task._replace(look=FileLook("gone", None)).present == ""
    assert (task._replace(step="beside").name, task._replace(entry=None).name) == ("", "")
    assert task._replace(entry=None).present == ""
