"""Lines of the format `matrix`: one line of JSON for each part of an event. Pure."""

from typing import Any, Final, Literal, NamedTuple
from uuid import NAMESPACE_URL, uuid5

import orjson

from katod.events import Event
from katod.formats.matrix.names import LONGEST_TYPE, PREFIX, ROWS, STATES, UNTHREADED
from katod.formats.matrix.values import Content, Path, cleaned, fitted, integer
from katod.formats.text.when import When

# What every reference to another line begins with: delivery replaces it by the server's id of that event.
REFERENCE: Final = "$katod:"
_UTC: Final = When("UTC")


Wait = Literal["usage", "summary", "agent"]


class Picture(NamedTuple):
    """Data that a line carries for delivery: beside which place in the content its address belongs, and what it is."""

    at: Path
    sha256: str
    media_type: str
    base64: str
    size: int


class Draft(NamedTuple):
    """What is said of an event: a name of the protocol, and the content without what all contents have.

    `part` tells apart what is said of one event, `reply` is the transaction of the line that it answers, `at` the place
    of the text that may be long. `derived`: it follows by a rule from what is recorded, and is not recorded itself.
    `waits` says what the next event may add to it, and by what it is recognised.
    """

    name: str
    content: Content
    part: str = ""
    reply: str = ""
    at: Path = ()
    derived: bool = False
    pictures: tuple[Picture, ...] = ()
    waits: tuple[Wait, str] | None = None


class ProtocolEvent(NamedTuple):
    """One event of the protocol, as large as it is."""

    txn: str
    name: str
    content: Content
    at: Path = ()
    pictures: tuple[Picture, ...] = ()


def transaction(name: str) -> str:
    """Return the transaction that a name determines: the same on every machine."""
    return str(uuid5(NAMESPACE_URL, "katod:" + name.encode("utf-8", "replace").decode()))


def transaction_of(event: Event, part: str = "") -> str:
    """Return the transaction of what is said of an event."""
    return transaction(f"{event.id}#{part}" if part else event.id)


def milliseconds(time: str) -> int | None:
    """Return a recorded time as Unix milliseconds, None if it cannot be parsed."""
    seconds = _UTC.seconds(time) if time else 0.0
    return integer(round(seconds * 1000)) if seconds > 0 else None


def timestamp_of(event: Event) -> Content:
    """Return the field `timestamp`, empty without a recorded time."""
    time = milliseconds(event.time) if event.time_source != "derived" else None
    return {"timestamp": time} if time is not None else {}


def source_of(event: Event) -> Content:
    """Return where an event comes from: katod's id, the agent's own, the kind and place of the record, its time."""
    source = event.source
    known = {
        "event": event.id, "uuid": source.get("providerEventId"), "kind": source.get("providerEventType"),
        "offset": integer(source.get("offset")), "time": timestamp_of(event).get("timestamp"),
    }  # fmt: skip
    return {name: value for name, value in known.items() if isinstance(value, str | int) and value != ""}


def line_of(draft: Draft, event: Event, root: str) -> ProtocolEvent:
    """Return the line of a draft, with its place in the thread of the session whose start is `root`."""
    relates: Content = {}
    if draft.name not in UNTHREADED:
        relates = {"rel_type": "m.thread", "event_id": REFERENCE + root}
        if draft.reply:
            relates |= {"is_falling_back": False, "m.in_reply_to": {"event_id": REFERENCE + draft.reply}}
    content = cleaned(draft.content) | ({"katod_derived": True} if draft.derived else {})
    content["katod_source"] = cleaned(source_of(event))
    if relates:
        content["m.relates_to"] = relates
    txn = root if draft.name == "session.start" else transaction_of(event, draft.part)
    return ProtocolEvent(txn, draft.name, content, draft.at, draft.pictures)


def checked_prefix(prefix: str) -> str:
    """Return a prefix for the types of events. Raises ValueError if a type would be too long for a server."""
    longest = max(len(f"{prefix}.{row.name}".encode()) for row in ROWS)
    if longest > LONGEST_TYPE:
        raise ValueError(f"event types may have {LONGEST_TYPE} bytes, not {longest}")
    return prefix


def printed(line: ProtocolEvent, prefix: str = PREFIX) -> str:
    """Return a line of the output: what does not fit into the event, or is no text, is beside it in `large`."""
    row: dict[str, Any] = {"txn_id": line.txn, "type": f"{prefix}.{line.name}"}
    if line.name in STATES:
        row["state_key"] = ""
    large = fitted(line.content, line.at)
    row["content"] = line.content
    large += [
        {"sha256": p.sha256, "media_type": p.media_type, "size_bytes": p.size, "base64": p.base64, "at": list(p.at)}
        for p in line.pictures
    ]
    return orjson.dumps(row | ({"large": large} if large else {})).decode() + "\n"
