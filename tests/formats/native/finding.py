"""Reads sessions as an export does, and finds where a value of theirs went in each format."""

import json
from collections import Counter
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

from katod.agents import AGENTS
from katod.formats.records.recordentries import EXTRA
from katod.formatspec import FORMATS, SHORT_FORMATS, FormatSpec
from katod.log import EventLog
from katod.model import Options
from katod.record.export import Stretch, render_all, replay
from tests.support.records import line

EVENT: Final = "jsonl"
RECORD: Final = "agent-record"
TRANSCRIPT: Final = "markdown"
# The transcripts that are searched, in this order, and how a table says in which one a value is.
_TRANSCRIPTS: Final = {
    "shown": Options(),
    "`+tools`": Options(tools="full"),
    "`+thinking`": Options(thinking=True),
    "`content.usage`": Options(usage=True),
}
_ENTRIES: Final = "session.entries"
_FREE: Final = ("input", "raw", "arguments")  # below these, names are the agent's own
# What every event and every entry has, of whatever kind; and what contains it although it is said elsewhere.
_COMMON: Final = ("schema", "session", "turn", "model", "source")
_COMMON_EXTRA: Final = ("subagent", "turn", "source", "event", "usage")
_DERIVED: Final = ("description", "source.providerEventType")  # of an event
_REPEATED: Final = (f"{EXTRA}.event", f"{EXTRA}.usage", f"{EXTRA}.last")  # of a record
_NAMES: Final = ("id", *_REPEATED)  # depend on what is before them in the file
_START: Final = "system-event session.start"  # what it says is also said of the session as a whole


class Session(NamedTuple):
    """A native session: the agent, its file, the records in it, and small files beside it."""

    agent: str
    path: str
    records: tuple[Any, ...]
    beside: tuple[tuple[str, str], ...] = ()


class Field(NamedTuple):
    """A field of an agent, and a value of it by which it is found again."""

    path: str
    needle: Any = None
    record: str = ""  # where it is to be in the agent record, as `Leaf.place` names places
    note: str = ""  # if it is nowhere, the reason
    names: tuple[str, ...] = ()  # of the rows that this is, in the documents that list them, if not the path
    session: str = "main"
    without: str = ""  # a session without the field; where that differs, the field went
    printed: str = ""  # how a transcript shows the value
    total: int = 0  # the sum in which a document has the value


class Leaf(NamedTuple):
    """A value in a document: in what, the path there, and the value."""

    owner: str
    path: str
    value: Any

    @property
    def place(self) -> str:
        """What a table says: the owner, such as a kind of events or a type of entries, and the path in it."""
        return f"{self.owner} {self.path}".strip()

    def holds(self, needle: Any) -> bool:
        """Return whether this is the value that is searched, or contains it."""
        if needle is None:
            return False
        if isinstance(needle, str) and self.path != "id":  # ids of katod's own contain those that they are made of
            return isinstance(self.value, str) and needle in self.value
        return type(self.value) is type(needle) and bool(self.value == needle)


class Made(NamedTuple):
    """A session in every format: what is in the documents by their names, and the text of the transcripts."""

    leaves: dict[str, list[Leaf]]
    texts: dict[str, str]


def documents() -> list[FormatSpec]:
    """Return the formats with a column of their own: JSON of all that happened, no second version or wrapper of one."""
    own = set(SHORT_FORMATS.values()) - {"vcon", "agent-trace"}
    return [spec for spec in FORMATS.values() if spec.name in own and (spec.is_document or spec.name == EVENT)]


@cache
def made(module: str, name: str) -> Made:
    """Return a session of a module in every format."""
    session: Session = import_module(f"tests.formats.native.{module}").SESSIONS[name]
    with TemporaryDirectory() as folder:
        path = _written(session, Path(folder))
        identity = AGENTS[session.agent].named(path)

        def rendered(name: str, options: Options) -> str:
            events = replay(identity.key, [Stretch(str(path), identity)], EventLog())
            return "".join(render_all(events, name, options))

        leaves = {spec.name: list(_leaves(spec.name, rendered(spec.name, Options()))) for spec in documents()}
        return Made(leaves, {label: rendered(TRANSCRIPT, options) for label, options in _TRANSCRIPTS.items()})


def _written(session: Session, folder: Path) -> Path:
    path = folder / session.path
    for name, content in session.beside:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(map(line, session.records)))
    return path


def _leaves(name: str, text: str) -> Iterator[Leaf]:
    if name != EVENT:
        yield from _walk(json.loads(text), "", "")
        return
    for row in map(json.loads, text.rstrip("\n").split("\n")):
        payload = row.pop("payload")
        kind = row.pop("kind")
        yield Leaf(kind, "", kind)
        for key, value in row.items():
            yield from _walk(value, "" if key in _COMMON else kind, key)
        yield from _walk(payload, kind, "")


def _walk(value: Any, owner: str, path: str) -> Iterator[Leaf]:
    """Yield the leaves of a value. The entries of a record own what is in them, by their types."""
    is_free = path.rpartition(".")[2] in _FREE
    if isinstance(value, dict) and value:
        for key, part in value.items():
            is_common = path == EXTRA and key in _COMMON_EXTRA
            yield from _walk(part, "" if is_common else owner, path if is_free else f"{path}.{key}".lstrip("."))
    elif isinstance(value, list) and value:
        for part in value:
            if path == _ENTRIES:
                yield from _walk(part, " ".join(filter(None, (part["type"], part.get("event-type")))), "")
            else:
                yield from _walk(part, owner, path if is_free else f"{path}[]")
    elif not path.endswith("offset"):  # where in the file, which no agent says
        yield Leaf(owner, path, value)


def found(module: str, field: Field, name: str) -> list[str]:
    """Return the places of a field in a format, each once, in the order in which they come."""
    leaves = made(module, field.session).leaves[name]
    if field.without:
        leaves = _more(leaves, made(module, field.without).leaves[name])
    else:
        leaves = [leaf for leaf in leaves if leaf.holds(field.needle) or leaf.holds(field.total or None)]
    return list(dict.fromkeys(leaf.place for leaf in _foremost(leaves, name)))


def _more(leaves: list[Leaf], others: list[Leaf]) -> list[Leaf]:
    """Return the leaves that others lack."""
    spare = Counter(map(repr, others))
    spare.subtract(map(repr, leaves))
    return [leaf for leaf in leaves if spare[repr(leaf)] < 0 and leaf.path not in _NAMES]


def _foremost(leaves: list[Leaf], name: str) -> list[Leaf]:
    """Return the places that say it best: the others only repeat it."""
    for is_better in (
        lambda leaf: name != EVENT or leaf.path not in _DERIVED,
        lambda leaf: leaf.path not in _REPEATED,
        lambda leaf: EXTRA not in leaf.path.split("."),
        lambda leaf: leaf.owner != _START,
    ):
        leaves = list(filter(is_better, leaves)) or leaves
    return leaves


def shown(module: str, field: Field) -> str:
    """Return how a transcript has to be made so that it shows a field; empty if none does."""
    here = made(module, field.session).texts
    if field.without:
        there = made(module, field.without).texts
        return next((label for label in here if here[label] != there[label]), "")
    printed = field.printed or str(field.needle)
    return next((label for label, text in here.items() if printed in text), "")
