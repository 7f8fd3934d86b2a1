"""What every agent consists of: its description, the adapter for its format, and the builder of its events."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final, TypeVar

from katod import events as ev
from katod.agents.fields import attachment, digest, safe_repr, text_of, texts_in
from katod.agents.guard import guarded
from katod.events import Event, SessionRef
from katod.model import UUID, Identity, Record, TypedText

_MOST_ANCESTORS: Final = 16  # what is below a record nearly always follows soon
_MOST_PROMPTS: Final = 64  # behind which a person may go back
_SHORT: Final = 8  # digits of a hash of an id
State = Mapping[str, Any]
# Of an adapter.
_GUARDED: Final = {
    "__init__", "feed", "feed_usage", "state", "has_pending", "finish", "typed_texts", "recognises", "name", "holds",
    "lacks_parent", "usage_state",
}  # fmt: skip
UNEXPECTED: Final = "unexpected shape"  # the raw type of a record, or a part of one, that broke its translation
_DERIVED: Final = ("family", "description")
Described = tuple[str, str, dict[str, Any], str]  # what `EventBuilder._describe` returns
Handler = Callable[[Any, Record], list[Event]]
H = TypeVar("H", bound=Handler)
Parts = list[tuple[Record, list[Event]]] | tuple[()]  # of a document, each with its events


# -- events ---------------------------------------------------------------------------------------


class Ancestors:
    """The nearest ancestor with an event of each record without one; of too many, the oldest are forgotten."""

    def __init__(self, state: dict[str, str] | None = None) -> None:
        self._above: dict[str, str] = dict(state or {})

    def state(self) -> dict[str, str]:
        """Return the state to resume from, as JSON."""
        return self._above

    def take(self, name: Any, parent: Any, events: Iterable[Event]) -> None:
        """Take up a record with its events."""
        if not isinstance(name, str) or not name:
            return
        if any(event.source.get("providerEventId") == name for event in events):
            return
        self._above[name] = self._above.get(parent, parent) if isinstance(parent, str) else ""
        if len(self._above) > _MOST_ANCESTORS:
            del self._above[next(iter(self._above))]

    def knows(self, name: str) -> bool:
        """Return whether a record is one of the last without an event."""
        return name in self._above

    def source(self, parent: Any) -> dict[str, str]:
        """Return what the source of an event says of its parent, and of its nearest ancestor if that is another."""
        if not isinstance(parent, str) or not parent:
            return {}
        above = self._above.get(parent, "")
        return {"parentId": parent} | ({"ancestorId": above} if above else {})


class Branches:
    """Where a conversation that is a tree of records goes on from an earlier place than its last.

    It is known which prompt was the first behind each record; of too many, the oldest are forgotten.
    """

    __slots__ = ("_prompts",)

    def __init__(self, kept: dict[str, str] | None = None) -> None:
        """Start with none, or go on from `state()`."""
        self._prompts: dict[str, str] = dict(kept or {})

    def state(self) -> dict[str, str]:
        """Return the state to resume from, as JSON: hashes of ids."""
        return dict(self._prompts)

    def goes_back(self, prompt: Any, parent: Any) -> bool:
        """Take the id of a prompt, and that of the record it follows; return whether another prompt followed that.

        A prompt that follows no record begins a conversation.
        """
        if not text_of(prompt) or not text_of(parent):
            return False
        own = digest(prompt)[:_SHORT]
        first = self._prompts.setdefault(digest(parent)[:_SHORT], own)
        if len(self._prompts) > _MOST_PROMPTS:
            del self._prompts[next(iter(self._prompts))]
        return first != own


def rewound() -> dict[str, str]:
    """Return the payload of a note that the user went back."""
    return {"text": "Conversation rewound", "subtype": "rollback"}


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
            self.turn, model, f"{self._dedup_prefix}{dedup_name}", typed, blobs, "", "",
        )  # fmt: skip
        return tuple.__new__(Event, fields)  # nearly all events are built here, and `Event(…)` takes twice as long

    def raw(self, record: Record, raw_type: str, raw: Any, part: int | str = 0) -> Event:
        """Return an event that keeps content of unknown shape unchanged."""
        return self.event(ev.PROVIDER_RAW, {"rawType": raw_type, "raw": raw}, record, part)

    def unread(self, record: Record, parts: Any, raw_type: str, known: Collection[str], under: str = "") -> list[Event]:
        """Return the parts of a message that have none of the known keys, nor their type among these, each kept raw."""
        rows = [
            (n, part) for n, part in enumerate(parts if isinstance(parts, list) else ()) if not _is_read(part, known)
        ]
        return [self.raw(record, raw_type, part, f"?{under}{n}") for n, part in rows]

    def step(self, record: Record, subtype: str, about: dict[str, Any]) -> Event:
        """Return a step of what the agent is doing, such as a permission that is asked for; see `lifecycle.py`."""
        said = {"text": subtype.replace("-", " "), "subtype": subtype, "data": texts_in(about)}
        return self.event(ev.PROVIDER_INFO, said, record)

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
        is_named = bool(self.ref.subagent) or UUID.fullmatch(self.ref.id) is not None
        return {"id": given} if isinstance(given, str) and given not in ("", self.ref.id) and not is_named else {}

    def attachment(self, kind: str, media_type: str, data: str, name: str = "") -> dict[str, Any]:
        """Describe base64 data, and keep it for the next event with this attachment."""
        row = attachment(kind, media_type, data, name)
        self._pending[row["sha256"]] = (media_type, data)
        return row

    def attach(self, event: Event, rows: list[dict[str, Any]]) -> Event:
        """Return an event with attachments and their data added."""
        return event._replace(payload=event.payload | {"attachments": rows}, blobs=self._take(rows))

    def with_images(self, out: list[Event], images: list[dict[str, Any]], record: Record) -> list[Event]:
        """Attach images to the record's first message, or to a new one without text."""
        at = next((i for i, event in enumerate(out) if event.kind == ev.USER_MESSAGE), None)
        if at is None:
            out.append(self.event(ev.USER_MESSAGE, {"text": ""}, record, "i"))
            at = len(out) - 1
        out[at] = self.attach(out[at], images)
        return out

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
    finish_keeps_ids: ClassVar[bool] = False  # whether later records say what `finish` returns under the same ids
    handlers: ClassVar[dict[str, Handler]] = {}
    ignored: ClassVar[frozenset[str]] = frozenset()  # kinds that are no part of the conversation
    new: EventBuilder
    parts: Parts = ()  # of the document that was fed last

    def __init_subclass__(cls) -> None:
        """Build the table of the methods marked by `handles`, and guard what is called from outside."""
        super().__init_subclass__()
        marked = [(method, getattr(method, "handles", ())) for method in vars(cls).values()]
        cls.handlers = cls.handlers | {kind: method for method, kinds in marked for kind in kinds}
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
        self.parts = ()
        kind = self._take_up(value or {})
        if value is None:
            return [self.new.raw(record, record.problem, record.raw)]
        handler = self.handlers.get(kind)
        return self._unhandled(record) if handler is None else handler(self, record)

    def _translate_part(self, record: Record, translate: Callable[[Record], Iterable[Event]]) -> list[Event]:
        """Return the events of a part of a document. If its translation breaks, it is kept raw, and costs no other."""
        try:
            return self._note_part(record, translate(record))
        except Exception:  # noqa: BLE001 - whatever it is, the stream logs it by its raw type
            return self._note_part(record, [self.new.raw(record, UNEXPECTED, record.value)])

    def _note_part(self, record: Record, events: Iterable[Event]) -> list[Event]:
        """Return the events of a part of a document, which counts as a record of its own."""
        told = list(events)
        if not isinstance(self.parts, list):
            self.parts = []
        self.parts.append((record, told))
        return told

    def name(self, record: Record) -> str:
        """Return what a record is, in its agent's words: how it is counted if it has no event."""
        return text_of((record.value or {}).get("type"))

    def lacks_parent(self, _record: Record) -> bool:
        """Return whether the record in which the session starts, fed last, goes on from one that is not in the file."""
        return False

    def holds(self, _record: Record) -> bool:
        """Return whether the record that was fed last has no event only because its text waits for a later one."""
        return False

    def state(self) -> dict[str, Any]:
        """Return the state to resume from, as JSON."""
        raise NotImplementedError

    def has_pending(self) -> bool:
        """Return whether text is held back until a later record decides about it."""
        return False

    def feed_usage(self, record: Record) -> list[Event]:
        """Return at least the events of a decoded record that say what was used, and how the session starts.

        A source is fed either like this, or in full: an adapter may pass over all else that it remembers.
        """
        return self.feed(record)

    def usage_state(self) -> dict[str, Any]:
        """Return the part of `state()` that `feed_usage` needs: numbers, times and names of models."""
        return {}

    def finish(self) -> list[Event]:
        """Return the pending events, for a source that is known to be complete."""
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


def _is_read(part: Any, known: Collection[str]) -> bool:
    return isinstance(part, dict) and not (part.keys().isdisjoint(known) and text_of(part.get("type")) not in known)


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
    """Return the fingerprint of an event without a native id, for use after its file was rewritten: kind and text."""
    payload = event.payload
    words = payload.get("text") or payload.get("toolCallId") or payload.get("line")
    return f"{event.kind}\0{words if isinstance(words, str) else safe_repr(payload)}"
