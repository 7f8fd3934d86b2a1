"""The storage of OpenCode before its database: a file a session, a message and a part (format notes, 2.1 and 2.5)."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import orjson

from katod.errors import SourceError

FOLDER: Final = "storage"
Row = dict[str, Any]


def sessions_of_objects(objects: Iterable[Row]) -> list[Row]:
    """Return the documents that scattered objects make up, one a session, in the order of their ids."""
    infos: dict[str, Row] = {}
    messages: dict[str, list[Row]] = {}
    parts: dict[str, list[Row]] = {}
    for row in objects:
        name = str(row.get("id", ""))
        if name.startswith("ses_"):
            infos[name] = row
        elif name.startswith("msg_"):
            messages.setdefault(str(row.get("sessionID")), []).append(row)
        elif name.startswith("prt_"):
            parts.setdefault(str(row.get("messageID")), []).append(row)
    return [
        {
            "info": infos.get(session, {"id": session}),
            "messages": [{"info": row, "parts": parts.get(str(row["id"]), [])} for row in messages.get(session, [])],
        }
        for session in sorted(infos.keys() | messages.keys())
    ]


def packed(session: Row) -> bytes:
    """Return a document as JSON; a part that is nested too deep for it is named instead."""
    try:
        return orjson.dumps(session)
    except TypeError:
        messages = [row | {"parts": [_shallow(part) for part in row["parts"]]} for row in session["messages"]]
        return orjson.dumps(
            session | {"messages": [_shallow(row) for row in messages], "info": _shallow(session["info"])}
        )


def _shallow(row: Row) -> Row:
    try:
        orjson.dumps(row)
    except TypeError:
        return {key: row[key] for key in ("id", "messageID", "role") if isinstance(row.get(key), str)} | {
            "type": "too-deep"
        }
    return row


def gathered(path: str) -> bytes:
    """Return the document of the session whose file this is, made of the messages and parts beside it."""
    session = Path(path)
    storage = next(parent for parent in session.parents if parent.name == FOLDER)
    old = session.parent.name == "info"  # before 0.6
    said = storage / "session" / "message" if old else storage / "message"
    parts = storage / "session" / "part" / session.stem if old else storage / "part"
    objects = list(_objects([session]))
    messages = list(_objects(_files(said / session.stem)))
    objects += messages
    for message in messages:
        objects += _objects(_files(parts / str(message.get("id"))))
    found = [row for row in sessions_of_objects(objects) if row["info"].get("id") == session.stem]
    return packed(found[0]) if found else b"{}"


def _files(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            return sorted(Path(entry.path) for entry in entries if entry.name.endswith(".json"))
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:  # what cannot be read now would be missing where it was said
        raise SourceError(f"cannot be read: {error.strerror}", path=folder) from error


def _objects(paths: Iterable[Path]) -> Iterator[Row]:
    """Yield the objects of files; one that is half written is left until it is whole. Raises SourceError."""
    for path in paths:
        try:
            value = orjson.loads(path.read_bytes())
        except (FileNotFoundError, IsADirectoryError, orjson.JSONDecodeError):
            continue
        except OSError as error:
            raise SourceError(f"cannot be read: {error.strerror}", path=path) from error
        if isinstance(value, dict):
            yield value
