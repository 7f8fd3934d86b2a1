"""Which files a session changed, and how, as its calls say. Pure."""

from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

from katod import events as ev
from katod.agents.fields import dict_of
from katod.agents.tooltable import tool
from katod.events import Event
from katod.formats.edits import diff, edit_size
from katod.formats.stream.bridge import event_uuid
from katod.formats.toolview import View, first_text
from katod.metadata import Replay

_HEADS: Final = {"*** Update File: ": "", "*** Add File: ": "added", "*** Delete File: ": "deleted"}
_MOST: Final = 2_000_000  # characters of all changed lines; after that, only their numbers are kept
_LONGEST: Final = 60_000  # of one change


class Edit(NamedTuple):
    """One change of a file, by the event that made it; `lines` have their signs, and may be left out."""

    path: str
    event: str
    time: str
    added: int
    removed: int
    lines: str
    call: str = ""


class File(NamedTuple):
    """A file, and all its changes."""

    path: str
    edits: list[Edit]

    @property
    def added(self) -> int:
        """How many lines were added."""
        return sum(edit.added for edit in self.edits)

    @property
    def removed(self) -> int:
        """How many lines were removed."""
        return sum(edit.removed for edit in self.edits)


def files_of(events: Replay, say: Callable[[str], str]) -> Iterator[list[File] | None]:
    """Yield the files in the order of their first change, and before that None after each event.

    Calls that failed changed nothing. `say` makes a text fit to be shown.
    """
    edits: list[Edit] = []
    failed: set[str] = set()
    for event, metadata in events:
        if event.kind == ev.TOOL_CALL and event.payload["family"] == "edit":
            edits += edits_of(event, metadata.cwd, say)
        elif event.kind == ev.TOOL_RESULT and event.payload.get("isError"):
            failed.add(event.payload["toolCallId"])
        yield None
    yield _by_file(edit for edit in edits if edit.call not in failed)


def edits_of(event: Event, cwd: str, say: Callable[[str], str]) -> Iterator[Edit]:
    """Yield the changes that one call makes."""
    payload, view = event.payload, View(say, cwd)
    known, given = tool(payload["name"]), payload.get("input")
    about = event_uuid(event.id), event.time
    call = payload["toolCallId"]
    if patch := known.patch_in(given):
        for path, lines in _patched(say(patch)):
            added, removed = (sum(line.startswith(sign) for line in lines) for sign in "+-")
            yield Edit(say(view.path(path)), *about, added, removed, say("\n".join(lines))[:_LONGEST], call)
        return
    path = first_text(dict_of(given), known.about)
    changed = say("\n".join(diff(payload, say)))  # a secret that is cut is none to the rules, so it is cut afterwards
    yield Edit(say(view.path(path)), *about, *edit_size(payload), changed[:_LONGEST], call)


def _patched(patch: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the files of a patch, each with its changed lines."""
    path, lines = "", list[str]()
    for line in patch.split("\n"):
        head = next((head for head in _HEADS if line.startswith(head)), "")
        if head:
            if path:
                yield path, lines
            path, lines = line[len(head) :].strip(), []
        elif line.startswith(("+", "-", "@@")):
            lines.append(line)
    if path or lines:
        yield path, lines


def _by_file(edits: Iterable[Edit]) -> list[File]:
    files: dict[str, File] = {}
    left = _MOST
    for edit in edits:
        left -= len(edit.lines)
        files.setdefault(edit.path, File(edit.path, [])).edits.append(edit if left > 0 else edit._replace(lines=""))
    return list(files.values())
