"""What every adapter offers, and the small tools that they share."""

from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, ClassVar, Final, Protocol, TypeVar

from katod.events import Event, SessionRef
from katod.model import LONGEST_NAME, Identity, Record

# The origin of a session that an agent began for a part of its work.
SPAWNED: Final = "subagent"
_LONGEST_TIME: Final = 10**15  # seconds
_MOST_CALLS: Final = 256
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Origin:
    """Which source an adapter reads: what its path tells, and the path for files kept beside it."""

    identity: Identity
    path: Path

    @property
    def ref(self) -> SessionRef:
        """The session as events name it."""
        key = self.identity.key
        return SessionRef(key.agent, key.id, key.subagent)


class Adapter(Protocol):
    """Turns the records of one source into events, one by one.

    The events are the same whether the records come in one go or across a hundred restarts: all that
    is remembered between records is in `state()`, which is small and plain JSON.
    """

    agent: ClassVar[str]
    version: ClassVar[int]  # rises when the same records would give other events
    exact_times: ClassVar[bool]  # each message says when it was typed, so that the new can be told from the old
    native_ids: ClassVar[bool]  # ids come from the records, so a record that is written again is known by its id

    def __init__(self, origin: Origin, state: dict[str, Any] | None = None) -> None:
        """Begin at the start of the source, or where `state()` left off."""

    def feed(self, record: Record) -> list[Event]:
        """Return the events that this record gives, in their order."""

    def state(self) -> dict[str, Any]:
        """Return what has to be remembered, as JSON."""

    def holding(self) -> bool:
        """Say whether text is held back until a later record decides about it."""

    def finish(self) -> list[Event]:
        """Return what is held back, for a source that is known to be complete."""

    @staticmethod
    def typed_texts(value: dict[str, Any]) -> list[str]:
        """Return the texts of one record that a person may have typed, judged by the record alone."""

    @staticmethod
    def recognises(path: Path, first: dict[str, Any]) -> bool:
        """Say whether a file that begins with this record is a session of this agent."""


class Immediate:
    """For adapters that tell each record at once."""

    def holding(self) -> bool:
        """Nothing is ever held back."""
        return False

    def finish(self) -> list[Event]:
        """Nothing is held back."""
        return []


def fingerprint(event: Event) -> str:
    """Return what an event without a native id is known by when its file was rewritten: its kind and words."""
    payload = event.payload
    words = payload.get("text") or payload.get("toolCallId") or payload.get("line")
    return f"{event.kind}\0{words if isinstance(words, str) else spelled(payload)}"


def spelled(value: Any) -> str:
    """Return a value spelled out; for one that is nested deeper than Python goes, words that say so."""
    try:
        return repr(value)
    except RecursionError:
        return "nested too deep"


def remember(calls: dict[str, T], call: str, known: T) -> bool:
    """Remember an open call, and forget the oldest of too many; returns False where it is open already.

    One without an id is never remembered, nor one whose id is too long to be one.
    """
    if call in calls:
        return False
    if not 0 < len(call) <= LONGEST_NAME:
        return True
    calls[call] = known
    if len(calls) > _MOST_CALLS:
        del calls[next(iter(calls))]
    return True


def digest(*parts: str) -> str:
    """Return a short stable name for what has no native id."""
    return blake2b("\0".join(parts).encode("utf-8", "replace"), digest_size=8).hexdigest()


def text_of(value: Any) -> str:
    """Return the value if it is a string, else an empty one."""
    return value if isinstance(value, str) else ""


def dict_of(value: Any) -> dict[str, Any]:
    """Return the value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def list_of(value: Any) -> list[Any]:
    """Return the value if it is an array, else an empty one."""
    return value if isinstance(value, list) else []


def whole(value: Any) -> int | None:
    """Return the value if it is a whole number that JSON can hold (64 bits), else None."""
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63 else None


def milliseconds(seconds: Any) -> int | None:
    """Return seconds in milliseconds; None where they are no number, or one that cannot be meant."""
    meant = isinstance(seconds, int | float) and 0 <= seconds < _LONGEST_TIME
    return round(seconds * 1000) if meant else None


def decoded(data: str) -> bytes:
    """Return what base64 data holds; what is no base64 is kept as it is written."""
    import base64  # noqa: PLC0415 - images are rare

    try:
        return base64.b64decode(data, validate=False)
    except ValueError:
        return data.encode("utf-8", "replace")


def attachment(kind: str, media_type: str, data: str, name: str = "") -> dict[str, Any]:
    """Describe base64 data as an attachment: its decoded size in bytes and its SHA-256, never the data."""
    from hashlib import sha256  # noqa: PLC0415 - images are rare

    content = decoded(data)
    row: dict[str, Any] = {"type": kind}
    if media_type:
        row["mediaType"] = media_type
    if name:
        row["name"] = name
    return row | {"bytes": len(content), "sha256": sha256(content).hexdigest()}
