"""What is sent of a recording: the lines of the format `matrix`, with the server's ids in place of katod's. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import orjson

from katod.formats.matrix.lines import REFERENCE

_RELATION: Final = "m.relates_to"
_REPLY: Final = "m.in_reply_to"


class Large(NamedTuple):
    """Content of an event that is uploaded; its address goes beside the last key of `at`."""

    sha256: str
    media_type: str
    data: str
    is_text: bool
    at: tuple[str | int, ...]


class RoomEvent(NamedTuple):
    """One event to be sent; `state_key` is None unless it is a state event."""

    txn: str
    type: str
    content: dict[str, Any]
    state_key: str | None
    large: tuple[Large, ...]

    @property
    def references(self) -> list[str]:
        """The transactions of the events that it relates to."""
        relation = self.content.get(_RELATION, {})
        ids = (relation.get("event_id", ""), relation.get(_REPLY, {}).get("event_id", ""))
        return [one.removeprefix(REFERENCE) for one in ids if one.startswith(REFERENCE)]


def lines_of(text: str) -> Iterator[RoomEvent]:
    """Yield the lines of a text in the format `matrix`."""
    for row in filter(None, text.split("\n")):
        yield _line(orjson.loads(row))


def _line(row: dict[str, Any]) -> RoomEvent:
    return RoomEvent(
        row["txn_id"], row["type"], row["content"], row.get("state_key"), tuple(map(_large, row.get("large", ())))
    )


def _large(row: dict[str, Any]) -> Large:
    is_text = "text" in row
    return Large(row["sha256"], row["media_type"], row["text" if is_text else "base64"], is_text, tuple(row["at"]))


def sendable(line: RoomEvent, sent: Mapping[str, str], uploaded: Mapping[str, str]) -> dict[str, Any]:
    """Return the content of a line as the server takes it.

    `sent` has the server's ids by transaction, `uploaded` the addresses by hash. What the server refused has none: an
    event that relates to such an event is sent without that relation.
    """
    content = dict(line.content)
    if relation := _related(content.pop(_RELATION, {}), sent):
        content[_RELATION] = relation
    for large in line.large:
        if address := uploaded.get(large.sha256):
            content = _with_address(content, large.at[:-1], address)
    return content


def _related(relation: dict[str, Any], sent: Mapping[str, str]) -> dict[str, Any]:
    root, reply = _real(relation.get("event_id", ""), sent), _real(relation.get(_REPLY, {}).get("event_id", ""), sent)
    kept = {name: value for name, value in relation.items() if name not in ("event_id", _REPLY, "is_falling_back")}
    if not root:
        return {_REPLY: {"event_id": reply}} if reply else {}
    if not reply:
        return kept | {"event_id": root}
    falls_back = {"is_falling_back": relation["is_falling_back"]} if "is_falling_back" in relation else {}
    return kept | {"event_id": root} | falls_back | {_REPLY: {"event_id": reply}}


def _real(event: str, sent: Mapping[str, str]) -> str:
    return sent.get(event.removeprefix(REFERENCE), "") if event.startswith(REFERENCE) else event


def _with_address(content: Any, at: tuple[str | int, ...], address: str) -> Any:
    """Return a copy of a content with an address in the object that a path leads to."""
    if not at:
        return content | {"mxc_uri": address}
    copy = content.copy()
    copy[at[0]] = _with_address(content[at[0]], at[1:], address)
    return copy
