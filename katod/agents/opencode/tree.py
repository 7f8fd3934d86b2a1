"""Sessions of OpenCode before its database: one file per session, message and part."""

import json
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import orjson

from katod.errors import SourceError
from katod.model import Stat, changed_ns
from katod.smallfile import read_small
from katod.tail.decode import loads, value_of
from katod.tail.reader import LINE_CAP, DocumentFile, SourceFile

_STORAGE: Final = "storage"
_BLANK: Final = re.compile(r"\s+")
Row = dict[str, Any]


class SessionDocument(DocumentFile):
    """A document of a session, or its objects written one after another to a single file."""

    def documents(self, data: bytes) -> list[bytes]:
        """Return the document in a file, or the documents that its objects make up."""
        return super().documents(data) or [
            packed(session) for session in sessions_of_objects(_objects_in(data.decode("utf-8", "replace")))
        ]


class TreeSession(DocumentFile):
    """One session in a tree of files, assembled when it is opened."""

    def __init__(self, file: SourceFile) -> None:
        self.path, self.mtime_ns = file.path, file.mtime_ns
        self._data = gathered(file.path)
        self.size = len(self._data)

    def _pread(self, size: int, offset: int) -> bytes:
        return self._data[offset : offset + size]


def is_session(path: str) -> bool:
    """Return whether a path is that of a session's own file in such a tree."""
    return os.path.basename(path).startswith("ses_") and f"/{_STORAGE}/session/" in path


def changed(path: str, own: Stat) -> Stat:
    """Return a session file's stat, adjusted by the times and the number of the files of its latest message.

    The session file itself seldom changes when a message or a part does.
    """
    session = Path(path)
    storage = next((parent for parent in session.parents if parent.name == _STORAGE), None)
    if storage is None or session.parent.name == "info":
        return own
    messages = _times(storage / "message" / session.stem)
    latest = max(messages, default="")
    parts = _times(storage / "part" / latest.removesuffix(".json")) if latest else {}
    newest = max([own.mtime_ns, messages.get(latest, 0), *parts.values()])
    return own._replace(mtime_ns=newest, size=own.size + len(messages) + len(parts))


def sessions_of_objects(objects: Iterable[Row]) -> list[Row]:
    """Return the documents that scattered objects make up, one per session, in the order of their ids."""
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
    """Return a document as JSON; parts that are nested too deeply for it are replaced by a note."""
    with suppress(TypeError):
        return orjson.dumps(session)
    with suppress(TypeError, ValueError, RecursionError):
        return orjson.dumps(loads(json.dumps(session)))  # some text has half a character
    messages = [row | {"parts": [_shallow(part) for part in row["parts"]]} for row in session["messages"]]
    return orjson.dumps(session | {"messages": [_shallow(row) for row in messages], "info": _shallow(session["info"])})


def _shallow(row: Row) -> Row:
    try:
        orjson.dumps(row)
    except TypeError:
        return {key: row[key] for key in ("id", "messageID", "role") if isinstance(row.get(key), str)} | {
            "type": "too-deep"
        }
    return row


def gathered(path: str) -> bytes:
    """Return the document of the session in this file, assembled with the messages and parts beside it."""
    session = Path(path)
    storage = next(parent for parent in session.parents if parent.name == _STORAGE)
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
    except OSError as error:  # what cannot be read now would be missing from its place later
        raise SourceError(f"cannot be read: {error.strerror}", path=folder) from error


def _objects(paths: Iterable[Path]) -> Iterator[Row]:
    """Yield the objects in files; a half-written file is skipped until it is complete. Raises SourceError."""
    for path in paths:
        try:
            value = value_of(read_small(path, LINE_CAP))
        except (FileNotFoundError, IsADirectoryError):
            continue
        except OSError as error:
            raise SourceError(f"cannot be read: {error.strerror}", path=path) from error
        if isinstance(value, dict):
            yield value


def _objects_in(text: str) -> Iterator[Row]:
    """Yield the objects in a text, up to the first incomplete one."""
    decoder, at = json.JSONDecoder(), 0
    while at < len(text):
        try:
            value, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            return
        if isinstance(value, dict):
            yield value
        if blank := _BLANK.match(text, at):
            at = blank.end()


def _times(folder: Path) -> dict[str, int]:
    try:
        with os.scandir(folder) as entries:
            return {entry.name: changed_ns(entry.stat(follow_symlinks=False)) for entry in entries}
    except OSError:
        return {}
