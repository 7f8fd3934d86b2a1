"""Which files a session changed, and how, as its calls say. Pure."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from katod import events as ev
from katod.agents.fields import dict_of
from katod.agents.toolcalls import first_text
from katod.agents.tooltable import tool
from katod.events import Event
from katod.formats.stream.bridge import event_uuid
from katod.formats.text.markup import NOTHING, Markup, escape, fill, join
from katod.formats.text.when import When
from katod.formats.transcript.calls import diff, edit_size
from katod.formats.transcript.html import coloured_code
from katod.formats.transcript.toolview import View
from katod.metadata import Replay
from katod.serve.page.frame import framed, name_of
from katod.serve.page.reader import reachable
from katod.serve.page.sessionlist import ListRow

_HEADS: Final = {"*** Update File: ": "", "*** Add File: ": "added", "*** Delete File: ": "deleted"}
_MOST: Final = 2_000_000  # characters of all changed lines; after that, only their numbers are kept
_LONGEST: Final = 60_000  # of one change


class FileEdit(NamedTuple):
    """One change of a file, by the event that made it; `lines` have their signs, and may be left out."""

    path: str
    event: str
    time: str
    added: int
    removed: int
    lines: str


class EditedFile(NamedTuple):
    """A file, and all its changes."""

    path: str
    edits: list[FileEdit]

    @property
    def added(self) -> int:
        """How many lines were added."""
        return sum(edit.added for edit in self.edits)

    @property
    def removed(self) -> int:
        """How many lines were removed."""
        return sum(edit.removed for edit in self.edits)


def files_of(events: Replay, say: Callable[[str], str]) -> Iterator[list[EditedFile] | None]:
    """Yield the files in the order of their first change, and before that None after each event.

    Only calls whose results went well changed anything. `say` makes a text fit to be shown.
    """
    edits: list[FileEdit] = []
    planned: dict[str, list[FileEdit]] = {}
    for event, metadata in events:
        if event.kind == ev.TOOL_CALL and event.payload["family"] == "edit":
            planned[event.payload["toolCallId"]] = [*edits_of(event, metadata.cwd, say)]
        elif event.kind == ev.TOOL_RESULT:
            made = planned.pop(event.payload["toolCallId"], [])
            edits += made if ev.went_well(event.payload) else []
        yield None
    yield _by_file(edits)


def edits_of(event: Event, cwd: str, say: Callable[[str], str]) -> Iterator[FileEdit]:
    """Yield the changes that one call makes."""
    payload, view = event.payload, View(say, cwd)
    known, given = tool(payload["name"]), payload.get("input")
    about = event_uuid(event.id), event.time
    if patch := known.patch_in(given):
        for path, lines in _patched(say(patch)):
            added, removed = (sum(line.startswith(sign) for line in lines) for sign in "+-")
            yield FileEdit(say(view.path(path)), *about, added, removed, say("\n".join(lines))[:_LONGEST])
        return
    path = first_text(dict_of(given), known.about)
    changed = say("\n".join(diff(payload, say)))  # a secret that is cut is none to the rules, so it is cut afterwards
    yield FileEdit(say(view.path(path)), *about, *edit_size(payload), changed[:_LONGEST])


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


def _by_file(edits: Iterable[FileEdit]) -> list[EditedFile]:
    files: dict[str, EditedFile] = {}
    left = _MOST
    for edit in edits:
        left -= len(edit.lines)
        files.setdefault(edit.path, EditedFile(edit.path, [])).edits.append(
            edit if left > 0 else edit._replace(lines="")
        )
    return list(files.values())


# -- as HTML ----------------------------------------------------------------------------------------------


def files_page(row: ListRow, files: Sequence[EditedFile], zone: str) -> Markup:
    """Return the page."""
    when = When(zone)
    content = fill(
        '<p class="quiet"><a href="/s/{}">{}</a></p>\n<h1>Files changed</h1>\n<p>{}</p>\n{}',
        escape(row.name), escape(name_of(row)), _count(files), join(_file(row, file, when) for file in files),
    )  # fmt: skip
    return framed(f"Files · {name_of(row)}", "files", content)


def _count(files: Sequence[EditedFile]) -> Markup:
    if not files:
        return fill("No file was changed.")
    size = _size(sum(file.added for file in files), sum(file.removed for file in files))
    return fill("{} {}", escape(f"{len(files):,} {'file' if len(files) == 1 else 'files'}"), size)


def _file(row: ListRow, file: EditedFile, when: When) -> Markup:
    edits = join(_edit(row, edit, when) for edit in file.edits)
    return fill(
        '<details class="file"><summary><code>{}</code> {}</summary>\n{}</details>\n',
        escape(file.path) or fill("?"), _size(file.added, file.removed), edits,
    )  # fmt: skip


def _edit(row: ListRow, edit: FileEdit, when: When) -> Markup:
    stamp = escape(when.stamp(edit.time, "")) or fill("in the conversation")
    lines = reachable(coloured_code(edit.lines, "diff")) if edit.lines else NOTHING
    return fill(
        '<p class="quiet"><a href="/s/{}#{}">{}</a></p>\n{}\n', escape(row.name), escape(edit.event), stamp, lines
    )


def _size(added: int, removed: int) -> Markup:
    return fill('<span class="size"><b class="gi">+{:,}</b> <b class="gd">−{:,}</b></span>', added, removed)  # noqa: RUF001
