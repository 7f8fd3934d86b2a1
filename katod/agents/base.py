"""What every agent consists of: its description, the adapter for its format, and the builder of its events."""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any, ClassVar, Final, NamedTuple, TypeVar

from katod import events as ev
from katod.agents.ancestors import Ancestors
from katod.agents.answers import ANSWERS, Answers
from katod.agents.fields import attachment, digest, safe_repr, text_of
from katod.agents.guard import guarded, guarded_iterator, opened, or_else
from katod.events import Event, SessionRef
from katod.metadata import SessionStart
from katod.model import Identity, Record, SessionKey, Stat, TypedText
from katod.states import Report
from katod.tail.reader import SourceFile
from katod.tail.source import open_source

# The origin of a session that an agent started for a part of its work.
SPAWNED: Final = "subagent"
_UUID: Final = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")
State = Mapping[str, Any]
_GUARDED: Final = {"__init__", "feed", "state", "has_pending", "finish", "typed_texts", "recognises"}  # of an adapter
_DERIVED: Final = ("family", "description")
Described = tuple[str, str, dict[str, Any], str]  # what `EventBuilder._describe` returns
Handler = Callable[[Any, Record], list[Event]]
H = TypeVar("H", bound=Handler)


# -- one agent ------------------------------------------------------------------------------------


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
    adapter: type["Adapter"]
    nature: Nature
    roots: Callable[[], list[Path]]  # the agent's directories, from environment variables or defaults
    variables: tuple[str, ...]  # these environment variables
    folders: tuple[str, ...]  # subfolders of a root that contain sessions, at any depth
    suffixes: tuple[str, ...]
    identity_of: Callable[[Path], Identity | None]  # what the path of a file with such a suffix says
    open: Callable[[str], AbstractContextManager[SourceFile]] = open_source
    short_id: Callable[[str], str] = str  # the part of an id that distinguishes sessions
    separate_subagents: bool = True  # sub-agents have session files of their own
    marks_pastes: bool = False  # its records say which part of a message was pasted
    names_parents: bool = False  # they are sessions of their own, whose first record names the one that started it
    cuts_ids: bool = False  # a path contains only the beginning of the session's id
    container: Container | None = None
    stat_of: Callable[[str, Stat], Stat] = lambda _path, own: own  # what a sweep compares, given the file's own stat
    spills: bytes = b""  # what a line contains if a part of its text is in another file
    # What the agent says of a session at this moment, beside its records: given a source of the session, its id, and
    # what is known of its start.
    reported: Callable[[Path, str, SessionStart], Report | None] = lambda _path, _session, _start: None
    # Whether a client that may work at a session runs, given the same; None if that cannot be told. It is asked only of
    # a session that is at work by its records, and says nothing for a while.
    runs: Callable[[Path, str, SessionStart], bool | None] = lambda _path, _session, _start: None
    reports: str = ""  # the subfolder of a root whose files change whenever it says something else
    retention: Callable[[Path], Retention] = lambda _root: Retention()  # what it deletes in a root
    instructions: Callable[[], Instructions] | None = None  # None: it has no such file, or none that katod knows
    resume: Callable[[str, str], tuple[str, ...]] | None = None  # what goes on with a session, given its id and path
    answers: Answers = ANSWERS
    settings: Callable[[], Path] | None = None  # its JSON settings, if they have hooks and a status line as in `setup/`

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
            container=container,
            short_id=or_else(str, self.short_id, self.name),
            reported=or_else(lambda _path, _session, _start: None, self.reported, self.name),
            runs=or_else(lambda _path, _session, _start: None, self.runs, self.name),
            retention=guarded(self.retention),
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
        """Return whether typed text is the beginning of an id, or an id of which only the beginning is known."""
        return known.startswith(typed) or (self.cuts_ids and typed.startswith(known))


def session_id(stem: str) -> str:
    """Return the first UUID in a file name without suffix, or all of the name if there is none."""
    match = _UUID.search(stem)
    return match[0] if match else stem


def uuids(stem: str) -> list[str]:
    """Return all UUIDs in a file name."""
    return _UUID.findall(stem)


def from_environment(variable: str) -> Path | None:
    """Return the directory that an environment variable names, None if it is unset or empty."""
    value = os.environ.get(variable)
    return Path(value).expanduser() if value else None


# -- events ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Origin:
    """The source that an adapter reads: what its path says, and the path for files kept beside it."""

    identity: Identity
    path: Path

    @property
    def ref(self) -> SessionRef:
        """The session, in the form used by events."""
        key = self.identity.key
        return SessionRef(key.agent, key.id, key.subagent)


class EventBuilder:
    """Builds the events of one source: it knows the session, how events are named, and what all events share.

    An agent overrides `_describe`. `now` has the session's settings so far, for `change`. In what a sub-agent is sent,
    or a session that another agent `spawned`, nothing is typed: it is a task.
    """

    def __init__(
        self, ref: SessionRef, *, prefix: str = "", dedup_prefix: str = "", now: Any = None, above: Any = None
    ) -> None:
        self.ref = ref
        self.ancestors = Ancestors(above)
        self.turn = ""
        self.spawned = False
        self.now: dict[str, str] = now or {}
        self._prefix = prefix or f"{ref.agent}:{ref.id}:"
        # Agents that copy records into other files keep the ids of the records. The session is left out here, so that
        # the copy of a command is recognised as one.
        self._dedup_prefix = dedup_prefix or self._prefix
        self._pending: dict[str, tuple[str, str]] = {}

    def child_of(self, parent: str, *, spawned: bool = False) -> None:
        """Name the session that this one goes on from, or that `spawned` it: then nothing in it is typed."""
        self.ref, self.spawned = self.ref._replace(parent=parent), spawned

    def set_spawned(self, *, spawned: bool) -> None:
        """Note whether another agent started the session."""
        self.spawned = spawned

    def event(
        self, kind: str, payload: dict[str, Any], record: Record, part: int | str = 0, *,
        time: str | None = None, model: str = "", typed: bool = False,
    ) -> Event:  # fmt: skip
        """Return an event of a record; `part` is its number within the record, with a letter if it is derived.

        The time is that of the record unless another is given.
        """
        name, dedup_name, source, own_time = self._describe(record, part, kind, payload)
        if kind == ev.TOOL_RESULT and "structured" in payload and not ev.went_well(payload):
            payload = _without_files(payload)
        if kind == ev.USER_MESSAGE and (self.spawned or self.ref.subagent):
            payload, typed = payload | {"subtype": payload.get("subtype", ev.Between.TASK)}, False
        blobs = self._take(payload["attachments"]) if self._pending and "attachments" in payload else ()
        fields = (
            f"{self._prefix}{name}", kind, self.ref, payload, source, own_time if time is None else time, "",
            self.turn, model, f"{self._dedup_prefix}{dedup_name}", typed, blobs, "",
        )  # fmt: skip
        return tuple.__new__(Event, fields)  # nearly all events are built here, and `Event(…)` takes twice as long

    def raw(self, record: Record, raw_type: str, raw: Any, part: int | str = 0) -> Event:
        """Return an event that keeps content of unknown shape unchanged."""
        return self.event(ev.PROVIDER_RAW, {"rawType": raw_type, "raw": raw}, record, part)

    def change(
        self, what: str, after: Any, record: Record, part: int | str = 0, *, first: bool = False, emptied: bool = False
    ) -> list[Event]:
        """Remember a setting and return its change; return none if the value is the same or not text.

        The first value is only a change with `first`, an empty one only with `emptied`.
        """
        before = self.now.get(what, "")
        if not isinstance(after, str) or after == before or not (after or emptied):
            return []
        self.now[what] = after
        if not before and not first:
            return []
        payload = {"what": what, "before": before, "after": after} if before else {"what": what, "after": after}
        return [self.event(ev.CONFIG_CHANGE, payload, record, part)]

    def rename(self, session: str, owner: str = "") -> None:
        """Use the session's own id from now on, if the path contained only a part of it or nothing.

        Events of a sub-agent are named by its id, and belong to the session that owns it.
        """
        self.ref = self.ref._replace(id=owner or session)
        self._prefix = self._dedup_prefix = f"{self.ref.agent}:{session}:"

    def own_id(self, given: Any) -> dict[str, str]:
        """Return the id that a session gives itself, as a field of its start, if the name of its file has none."""
        is_named = bool(self.ref.subagent) or _UUID.fullmatch(self.ref.id) is not None
        return {"id": given} if isinstance(given, str) and given not in ("", self.ref.id) and not is_named else {}

    def attachment(self, kind: str, media_type: str, data: str, name: str = "") -> dict[str, Any]:
        """Describe base64 data, and keep it for the next event with this attachment."""
        row = attachment(kind, media_type, data, name)
        self._pending[row["sha256"]] = (media_type, data)
        return row

    def attach(self, event: Event, rows: list[dict[str, Any]]) -> Event:
        """Return an event with attachments and their data added."""
        return event._replace(payload=event.payload | {"attachments": rows}, blobs=self._take(rows))

    def _take(self, rows: list[dict[str, Any]]) -> tuple[tuple[str, str, str], ...]:
        names = [name for row in rows if (name := row.get("sha256")) in self._pending]
        blobs = tuple((name, *self._pending[name]) for name in names)
        self._pending.clear()
        return blobs

    def _describe(self, record: Record, part: int | str, _kind: str, _payload: dict[str, Any], /) -> Described:
        """Return the name in the id, the name in the dedup key (both follow a prefix), the `source` and the time."""
        name = f"@{record.offset}{f'+{record.part}' if record.part else ''}:{part}"
        return name, name, {"providerEventType": text_of((record.value or {}).get("type")), "offset": record.offset}, ""


# -- adapters -------------------------------------------------------------------------------------


def handles(*kinds: str) -> Callable[[H], H]:
    """Register a method of an adapter as the handler of these kinds of records."""

    def enter(method: H) -> H:
        method.__dict__["handles"] = kinds
        return method

    return enter


class Adapter:
    """Turns the records of one source into events, one by one.

    The events are the same whether the records arrive in one go or across a hundred restarts: everything remembered
    between records is in `state()`, which is small and plain JSON.
    """

    version: ClassVar[int] = 1  # rises when the same records would give different events
    handlers: ClassVar[dict[str, Handler]] = {}
    ignored: ClassVar[frozenset[str]] = frozenset()  # kinds that are no part of the conversation
    new: EventBuilder

    def __init_subclass__(cls) -> None:
        """Build the table of the methods marked by `handles`, and guard what is called from outside."""
        super().__init_subclass__()
        marked = [(method, getattr(method, "handles", ())) for method in vars(cls).values()]
        cls.handlers = {kind: method for method, kinds in marked for kind in kinds}
        for name in _GUARDED & vars(cls).keys():
            own = vars(cls)[name]
            is_static = isinstance(own, staticmethod)
            setattr(cls, name, staticmethod(guarded(own.__func__)) if is_static else guarded(own))

    def __init__(self, origin: Origin, state: State | None = None) -> None:
        """Start at the beginning of the source, or continue from `state()`."""
        raise NotImplementedError

    @guarded
    def feed(self, record: Record) -> list[Event]:
        """Return the events of this record, in order."""
        value = record.value
        kind = self._take_up(value or {})
        if value is None:
            return [self.new.raw(record, record.problem, record.raw)]
        handler = self.handlers.get(kind)
        return self._unhandled(record) if handler is None else handler(self, record)

    def state(self) -> dict[str, Any]:
        """Return what has to be remembered, as JSON."""
        raise NotImplementedError

    def has_pending(self) -> bool:
        """Return whether text is held back until a later record decides about it."""
        return False

    def finish(self) -> list[Event]:
        """Return what is held back, for a source that is known to be complete."""
        return []

    @staticmethod
    def typed_texts(fields: dict[str, Any]) -> list[TypedText]:
        """Return the texts of one record that a person may have typed, judged by the record alone."""
        raise NotImplementedError

    @staticmethod
    def recognises(path: Path, first: dict[str, Any], /) -> bool:
        """Return whether a file with this record among its first ones is a session of this agent."""
        raise NotImplementedError

    def _take_up(self, fields: dict[str, Any]) -> str:
        """Prepare for a record, which may be empty; return its key in the table of handlers."""
        kind = fields.get("type")
        return kind if isinstance(kind, str) else ""

    def _unhandled(self, record: Record) -> list[Event]:
        """Translate a record without a handler: it is kept raw unless it is known to be bookkeeping."""
        kind = text_of(record.value.get("type"))
        return [] if kind in self.ignored else [self.new.raw(record, kind or "unknown", record.value)]


def _without_files(result: dict[str, Any]) -> dict[str, Any]:
    """Return a result without the files that its call was going to change: some agents record them beforehand."""
    structured = {name: value for name, value in result["structured"].items() if name != "files"}
    kept = {name: value for name, value in result.items() if name != "structured"}
    return kept | ({"structured": structured} if structured else {})


def content_digest(kind: str, payload: dict[str, Any], *more: str) -> str:
    """Return a short stable name for an event of a record without an id.

    What katod derives from a call's name and arguments is left out: it may be derived better one day.
    """
    return digest(kind, safe_repr({key: value for key, value in payload.items() if key not in _DERIVED}), *more)


def fingerprint(event: Event) -> str:
    """Return what identifies an event without a native id after its file was rewritten: its kind and text."""
    payload = event.payload
    words = payload.get("text") or payload.get("toolCallId") or payload.get("line")
    return f"{event.kind}\0{words if isinstance(words, str) else safe_repr(payload)}"
