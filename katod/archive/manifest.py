"""The manifest of an export folder: which file was made from which session, and from which of its bytes. Pure.

It is a file of lines that only grows while katod exports: the last line about a session counts. So it is complete
after a kill at any moment, except for a last line without its newline. Power loss may leave NUL bytes in place of lines
that were not synced, with the end of one, or whole ones, behind them: what was lost was not needed yet.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, get_args

import orjson

from katod.archive.machine import Machine
from katod.errors import KatodError
from katod.model import SessionKey, Tools
from katod.text import is_plain_name

MANIFEST: Final = ".katod-export.jsonl"
INDEX: Final = "index.html"  # of the pages in a folder: no export has this name
VERSION: Final = 1
_HEADER: Final = "katodExport"
BEGIN: Final = b'{"katodExport":'
# What an entry consists of, in the order of its fields. There may be ten thousand of them: this is the fast way.
_TYPES: Final = (str, str, str, str, str, list, str, int, int, str, str, str, str)
_SAFE: Final = re.compile(r"[^./\x00-\x1f\x7f][^/\x00-\x1f\x7f]*(?:/[^./\x00-\x1f\x7f][^/\x00-\x1f\x7f]*)*")
# The files of a session as they were when it was read: path, size, mtime (ns), and two numbers that a copy changes.
Sources = list[list[str | int]]
# Which line of the list counts: a session may be there once for each format.
Slot = tuple[SessionKey, str]
INDEX_SLOT: Final[Slot] = (SessionKey("", ""), "html")  # of the index, which is of no session


class RecordedParts(NamedTuple):
    """The parts of a session that its person had recorded, and what recordings of them show at least.

    `parts` has the ids of the first and the last event of each, `of` the names of the recordings that have them: it
    holds as long as all of their transcripts do.
    """

    parts: tuple[tuple[str, str], ...] = ()
    tools: Tools = "full"
    thinking: bool = True
    of: tuple[str, ...] = ()


class Entry(NamedTuple):
    """What was made of one session in one format. Without a name, nothing was: nothing is said in it.

    `before` is the hash of the file that was about to be replaced: after a kill, one of the two is there. `edited`
    means that a person changed the file: size and time are then those of the changed file, the hash is katod's.
    `cwd` is known of a session that was read, even if nothing was made of it because its project is excluded.
    `recorded` says which parts of it a person had recorded: of nothing else, programs for other agents learn. It holds
    for the file of this hash alone. `earlier` has the names and hashes of older files of the session in this format,
    which have more than was left of it: only to be forgotten with it. So is `parent`, the id of the session whose agent
    started this one, if it has an id of its own.
    """

    slot: Slot
    made: str = ""  # a short hash of options and versions
    sources: Sources | tuple[()] = ()
    name: str = ""  # below the folder
    size: int = 0
    mtime_ns: int = 0
    digest: str = ""
    said: str = ""  # what is said in it, as in `archive.tally`
    before: str = ""
    cwd: str = ""
    edited: bool = False
    recorded: RecordedParts = RecordedParts()
    earlier: tuple[tuple[str, str], ...] = ()
    parent: str = ""

    @property
    def names(self) -> list[str]:
        """The names of all its files."""
        return [name for name in (self.name, *(name for name, _ in self.earlier)) if name]

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts of its name."""
        return tuple(self.name.split("/"))

    @property
    def said_length(self) -> int:
        """What is greater the more messages and calls are in it, whichever version of katod noted them."""
        _, _, noted = self.said.partition(":")
        return len(noted.partition(":")[0])


@dataclass(slots=True)
class Manifest:
    """The machine that wrote it, the entries, the folders of projects by their paths, the number of damaged lines."""

    machine: Machine = Machine()  # noqa: RUF009 - never changed
    entries: dict[Slot, Entry] = field(default_factory=dict)
    projects: dict[str, str] = field(default_factory=dict)
    damaged: int = 0
    size: int = 0  # of its complete lines, in bytes

    @classmethod
    def read(cls, data: bytes) -> "Manifest":
        """Return the manifest in the content of its file. Raises KatodError if it is of a later version."""
        lines, _, _ = data.rpartition(b"\n")
        manifest = cls(size=len(lines) + 1 if lines else 0)
        rows = lines.split(b"\n") if lines else []
        if not lines and not _may_begin(data):
            manifest.damaged = 1
        for number, line in enumerate(rows):
            try:
                there = line[line.rfind(b"\0") + 1 :]  # behind what was lost
                manifest._take(orjson.loads(there), is_first=number == 0 and there == line)
            except (ValueError, TypeError, KeyError):
                manifest.damaged += there == line or (number == 0 and not _may_begin(line))
        return manifest

    def lines(self) -> Iterator[bytes]:
        """Yield its lines, of which each counts."""
        yield header(self.machine)
        yield from (project_line(path, folder) for path, folder in self.projects.items())
        yield from map(entry_line, self.entries.values())

    def names(self) -> set[str]:
        """Return the names of all files."""
        return {name for entry in self.entries.values() for name in entry.names}

    def claim(self, machine: Machine) -> bool:
        """Make it the manifest of a machine; return whether it was nobody's. Raises KatodError if it is another's."""
        found = self.machine
        if found.id and found.id != machine.id:
            hint = "choose another directory, or the one that this is in, if it is one of `archive.folders`"
            raise KatodError(f"is the part of the machine {found.name}", hint=hint)
        self.machine = machine
        return found != machine

    def _take(self, row: dict[str, Any], *, is_first: bool) -> None:
        """Take up a line. Raises ValueError, TypeError or KeyError for one that katod did not write."""
        if is_first:
            if _of_type(row[_HEADER], int) > VERSION:
                raise KatodError("was written by a later version of katod", hint="use that version, or another folder")
            self.machine = _machine(row)
        elif "project" in row:
            self.projects[_of_type(row["project"], str)] = _safe_name(row["folder"])
        else:
            entry = _entry(row)
            self.entries[entry.slot] = entry


def _may_begin(data: bytes) -> bool:
    """Return whether a manifest begins with this, as far as it was not lost: with all or a part of its first line.

    So a file that begins with NUL bytes is one, whatever is behind them: no other program has a file of this name.
    """
    there = data.partition(b"\0")[0]
    return there.startswith(BEGIN) or BEGIN.startswith(there)


def header(machine: Machine = Machine()) -> bytes:  # noqa: B008 - never changed
    """Return the first line; the machine is in it if it has a name."""
    whose = {"machine": machine.name, "id": machine.id} if machine.id else {}
    return orjson.dumps({_HEADER: VERSION} | whose) + b"\n"


def project_line(path: str, folder: str) -> bytes:
    """Return the line about the folder of a project."""
    return orjson.dumps({"project": path, "folder": folder}) + b"\n"


def entry_line(entry: Entry) -> bytes:
    """Return the line about a session."""
    (agent, session, subagent), form = entry.slot
    row: dict[str, Any] = {"session": [agent, session, subagent], "format": form}
    row |= {"made": entry.made, "sources": entry.sources}
    if entry.name:
        row |= {
            "file": entry.name,
            "size": entry.size,
            "mtime": entry.mtime_ns,
            "hash": entry.digest,
            "said": entry.said,
        }
    recorded = entry.recorded._asdict() if entry.recorded.parts else {}
    more = {"before": entry.before, "cwd": entry.cwd, "edited": entry.edited, "recorded": recorded}
    more |= {"earlier": entry.earlier, "parent": entry.parent}
    row |= {name: value for name, value in more.items() if value}
    return orjson.dumps(row) + b"\n"


def _machine(row: dict[str, Any]) -> Machine:
    if "machine" not in row:
        return Machine()
    machine = Machine(_of_type(row["machine"], str), _of_type(row["id"], str))
    if not is_plain_name(machine.name):
        raise ValueError
    return machine


def _entry(row: dict[str, Any]) -> Entry:
    key = SessionKey._make(row["session"])
    file = (row["file"], row["size"], row["mtime"], row["hash"], row["said"]) if "file" in row else ("", 0, 0, "", "")
    values = (row["made"], row["sources"], *file, row.get("before", ""), row.get("cwd", ""))
    if tuple(map(type, (*key, row["format"], *values))) != _TYPES:
        raise TypeError
    if "file" in row:
        _safe_name(file[0])
    recorded, earlier = _recorded(row.get("recorded")), _earlier(row.get("earlier", []))
    parent = _of_type(row.get("parent", ""), str)
    return Entry._make(((key, row["format"]), *values, "edited" in row, recorded, earlier, parent))


def _recorded(row: dict[str, Any] | None) -> RecordedParts:
    if row is None:
        return RecordedParts()
    parts = tuple((_of_type(first, str), _of_type(last, str)) for first, last in row["parts"])
    tools = row["tools"]
    if tools not in get_args(Tools):
        raise ValueError
    names = tuple(_of_type(name, str) for name in _of_type(row.get("of", []), list))
    return RecordedParts(parts, tools, _of_type(row["thinking"], bool), names)


def _earlier(rows: list[list[str]]) -> tuple[tuple[str, str], ...]:
    return tuple((_safe_name(name), _of_type(digest, str)) for name, digest in _of_type(rows, list))


def _of_type(value: Any, kind: type) -> Any:
    if type(value) is not kind:
        raise TypeError
    return value


def _safe_name(name: Any) -> str:
    """Return a name below the folder. Raises ValueError for one that leads elsewhere, or to a hidden file."""
    text: str = _of_type(name, str)
    if not _SAFE.fullmatch(text):
        raise ValueError
    return text
