"""The description of an agent, known without reading a session: where it keeps sessions, and how they are opened."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from enum import Enum
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from katod.agents.answers import ANSWERS, Answers
from katod.agents.guard import guarded, guarded_iterator, opened, or_else
from katod.errors import AgentFailed, failure_of
from katod.lifecycle import Lifecycle
from katod.metadata import SessionStart
from katod.model import UUID, Identity, SessionKey, Stat
from katod.states import Report

if TYPE_CHECKING:
    from katod.agents.base import Adapter
    from katod.tail.reader import SourceFile

# The origin of a session that an agent started for a part of its work.
SPAWNED: Final = "subagent"


LATER: Final[list[str]] = []  # the names of the functions that `later` returned


@cache
def load(name: str) -> Any:
    """Return what a module of katod defines, such as `agents.claude.running.reported`; the module is loaded for it."""
    module, _, attribute = name.rpartition(".")
    return getattr(import_module(f"katod.{module}"), attribute)


def later(name: str, *bound: Any) -> Callable[..., Any]:
    """Return a function of katod's, its first arguments bound, whose module is loaded by the first call.

    Every command imports all agents, and few of them read a session.
    """

    def call(*args: Any) -> Any:
        return load(name)(*bound, *args)

    call.__qualname__ = name
    LATER.append(name)
    return call


_OPEN_SOURCE: Final = later("tail.reader.open_source")


class Nature(Enum):
    """How the records of an agent are identified, and so what is known about them after their file was rewritten."""

    NATIVE_IDS = "each record has an id of its own, which it keeps when it is written again"
    POSITIONS = "a record is known only by its place in an append-only file; each message has a time"
    UNTIMED = "a record is known only by its place, and has no time"

    @property
    def has_native_ids(self) -> bool:
        """Whether event ids come from the records, so that a record read again is recognised by its id."""
        return self is Nature.NATIVE_IDS

    @property
    def has_times(self) -> bool:
        """Whether each message says when it was typed, so that new ones can be distinguished from old ones."""
        return self is not Nature.UNTIMED


class Container(NamedTuple):
    """Files in a root that contain many sessions each. The source of a session in one is `<file>#<session>`."""

    suffix: str
    companions: tuple[str, ...]  # suffixes of the files beside it, whose changes are changes of it
    sessions: Callable[[str], Iterator[tuple[str, Stat]]]  # what a sweep finds in one; raises SourceError
    # Those of them that may contain text like all of these patterns (SQL's LIKE, `\\` escapes); raises SourceError.
    holding: Callable[[str, Sequence[str]], set[str]]

    @property
    def suffixes(self) -> tuple[str, ...]:
        """The suffixes of all its files."""
        return (self.suffix, *self.companions)


class Retention(NamedTuple):
    """Which of its own sessions an agent deletes, as its settings say, and where that is changed."""

    days: float | None = None  # how long after its last change a session is deleted; None: never for its age
    most: int | None = None  # how many sessions of one folder are kept, the latest ones; None: all
    file: str = ""  # the settings file
    key: str = ""  # the setting in it that decides
    is_default: bool = False  # the settings do not say, so it is what the agent does by itself
    note: str = ""  # what else is known about it
    by_events: bool = False  # the last change is what the session says, not the time of its file
    ages_beside: bool = False  # files beside a session are deleted at their own age, also while the session stays
    pairs: bool = False  # the next start may delete a session that has two files of its own
    problem: str = ""  # why it is not known


class Instructions(NamedTuple):
    """The user's own instructions for an agent, in all projects: it reads the first of these files that exists."""

    path: Path  # the one to create if there is none
    before: tuple[Path, ...] = ()  # read instead of it
    after: tuple[Path, ...] = ()  # read if it does not exist

    @property
    def all(self) -> tuple[Path, ...]:
        """All files, in the order in which the agent looks for them."""
        return (*self.before, self.path, *self.after)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class AgentSpec:
    """One agent: where it keeps its sessions, how its sources are opened, and which adapter reads them.

    Nothing outside `katod.agents` depends on a particular agent: whatever differs between agents is a field here.
    """

    name: str  # in the configuration, in event ids and in the ledger
    label: str  # the speaker in a transcript
    product: str
    program: str = ""  # what records for other systems call it, if not like the product
    adapter_name: str  # its class in this package, such as `claude.adapter.ClaudeAdapter`: loaded when it is needed
    nature: Nature
    roots: Callable[[], list[Path]]  # the agent's directories, from environment variables or defaults
    variables: tuple[str, ...]  # these environment variables
    folders: tuple[str, ...]  # subfolders of a root that contain sessions, at any depth; `*` stands for any name
    suffixes: tuple[str, ...]
    identity_of: Callable[[Path], Identity | None]  # what the path of a file with such a suffix says
    open: Callable[[str], AbstractContextManager["SourceFile"]] = _OPEN_SOURCE
    # The same for a reader of its usage, which needs nothing that was said: that may be left out.
    open_usage: Callable[[str], AbstractContextManager["SourceFile"]] | None = None
    short_id: Callable[[str], str] = str  # the part of an id that distinguishes sessions
    separate_subagents: bool = True  # sub-agents have session files of their own
    form: str = ""  # the agent whose records it writes, if not its own
    commands: bool = True  # its prompts may command katod: not where a chat's channel or a timer speaks as the user
    marks_pastes: bool = False  # its records say which part of a message was pasted
    # Its records always tell what was typed from the prompt that it becomes: where that names a command or a skill.
    marks_expansions: bool = False
    names_parents: bool = False  # they are sessions of their own, whose first record names the one that started it
    folders_of_session: int = 0  # how many folders a session has of its own, one in the other, around its file
    cuts_ids: bool = False  # a path contains only the beginning of the session's id
    container: Container | None = None
    stat_of: Callable[[str, Stat], Stat] = lambda _path, own: own  # what a sweep compares, given the file's own stat
    changes_elsewhere: bool = False  # whether that may differ although neither the file nor its folder changed
    spills: bytes = b""  # what a line contains if a part of its text is in another file
    repeats_calls: bool = False  # a call may be recorded twice, and only the records before it tell which
    renames: bytes = b""  # what a line contains that names its session, where that may be in the middle of a file
    # How a session is called, as the agent says beside its records, given a source of the session and its id; empty if
    # it does not, or only repeats the first words.
    name_beside: Callable[[Path, str], str] = lambda _path, _session: ""
    # What the agent says of a session at this moment, beside its records: given a source of the session, its id, and
    # what is known of its start.
    reported: Callable[[Path, str, SessionStart], Report | None] = lambda _path, _session, _start: None
    # Whether a client that may work at a session runs, given the same; None if unknown. It is asked only of
    # a session that is at work by its records, and says nothing for a while.
    runs: Callable[[Path, str, SessionStart], bool | None] = lambda _path, _session, _start: None
    reports: str = ""  # the subfolder of a root whose files change whenever it says something else
    retention: Callable[[Path], Retention] = lambda _root: Retention()  # what it deletes in a root
    beside: Callable[[str], list[str]] = lambda _path: []  # the folders that belong to a session, given its file
    # The end of a session's file that the agent is given back, given the time: its retention may go by what that says.
    put_back: Callable[[Path, str], bytes] = lambda _path, _now: b""
    instructions: Callable[[], Instructions] | None = None  # None: it has no such file, or none that katod knows
    resume: Callable[[str, str], tuple[str, ...]] | None = None  # what goes on with a session, given its id and path
    answers: Answers = ANSWERS
    settings: Callable[[], Path] | None = None  # its JSON settings, if they have hooks and a status line as in `setup/`

    @property
    def adapter(self) -> type["Adapter"]:
        """The class that translates its records. Raises AgentFailed if it cannot be loaded."""
        try:
            adapter: type[Adapter] = load(f"agents.{self.adapter_name}")
        except Exception as error:
            raise AgentFailed(f"the reader of {self.product} cannot be loaded: {failure_of(error)}") from error
        return adapter

    def lifecycle(self, subagent: str = "", kept: Mapping[str, Any] | None = None) -> Lifecycle:
        """Return the lifecycle of a session, or of a sub-agent of one, from its beginning or from a stored state."""
        return Lifecycle(subagent, kept, usage_ends=self.answers.usage_is_last)

    def guarded(self) -> "AgentSpec":
        """Return the same agent, whose functions fail like katod's own: see `guard.py`."""
        container = self.container
        if container is not None:
            found = guarded_iterator(container.sessions)
            container = container._replace(sessions=found, holding=guarded(container.holding))
        return replace(
            self,
            roots=or_else(list, self.roots, self.name),
            identity_of=or_else(lambda _path: None, self.identity_of, self.name),
            stat_of=or_else(lambda _path, own: own, self.stat_of, self.name),
            open=opened(self.open),
            open_usage=self.open_usage and opened(self.open_usage),
            container=container,
            short_id=or_else(str, self.short_id, self.name),
            name_beside=or_else(lambda _path, _session: "", self.name_beside, self.name),
            reported=or_else(lambda _path, _session, _start: None, self.reported, self.name),
            runs=or_else(lambda _path, _session, _start: None, self.runs, self.name),
            retention=guarded(self.retention),
            beside=or_else(lambda _path: [], self.beside, self.name),
            put_back=guarded(self.put_back),
            instructions=self.instructions and guarded(self.instructions),
            resume=self.resume and guarded(self.resume),
            settings=self.settings and guarded(self.settings),
        )

    def is_container(self, path: str) -> bool:
        """Return whether a path is that of a container."""
        return self.container is not None and path.endswith(self.container.suffix)

    def is_contained(self, path: str) -> bool:
        """Return whether a path names a session in a container."""
        return self.container is not None and f"{self.container.suffix}#" in path

    def identify(self, path: Path) -> Identity | None:
        """Return the identity of a session file, None for any other file. The file is not opened."""
        name = path.name
        return self.identity_of(path) if name.endswith(self.suffixes) or self.is_contained(name) else None

    def named(self, path: Path) -> Identity:
        """Return an identity for a file that the user named, wherever it is."""
        return self.identify(path) or Identity(SessionKey(self.name, session_id(path.stem)))

    def whole_id(self, known: str, recorded: str) -> str:
        """Return the id of a session of which a path is `known` to have only a part, if its records have another."""
        return recorded if self.cuts_ids and recorded else known

    def matches_id(self, known: str, typed: str) -> bool:
        """Return whether typed text begins an id, or what distinguishes it, or is a whole id that a path cuts."""
        is_part = known.startswith(typed) or self.short_id(known).startswith(typed)
        return is_part or (self.cuts_ids and typed.startswith(known))


def session_id(stem: str) -> str:
    """Return the first UUID in a file name without suffix, or all of the name if there is none."""
    match = UUID.search(stem)
    return match[0] if match else stem


def uuids(stem: str) -> list[str]:
    """Return all UUIDs in a file name."""
    return UUID.findall(stem)


def from_environment(variable: str) -> Path | None:
    """Return the directory that an environment variable names, None if it is unset or empty."""
    value = os.environ.get(variable)
    return Path(value).expanduser() if value else None
