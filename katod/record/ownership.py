"""Whose session a file is of, as its format says it at the beginning or the end. Pure.

What is between is conversation, and may have any id in it: only these places count.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

import orjson

from katod.agents import AGENTS
from katod.model import SessionKey
from katod.text import clean

Place = Callable[[SessionKey, bytes, bytes], bool]  # is it named there? Given the first and the last bytes of a file

_FRONT: Final = re.compile(rb"\A(?:\xef\xbb\xbf)?---\r?\n((?:[^\r\n]+\r?\n)*?)---\r?\n")
_LINE: Final = rb"[^\r\n]+\r?\n"
_FIELDS: Final = rb"(?:(?!---\r?\n)%b)*?" % _LINE
_BEGIN: Final = re.compile(
    rb'^(?:---\r?\n%bagent: %b%bsession: |\{"schema":"katod\.)' % (_FIELDS, _LINE, _FIELDS), re.MULTILINE
)
_MOST_ABOVE: Final = 4096  # bytes
_FIELD: Final = re.compile(rb"""^(session|subagent|parent): *["']?(.*?)["']?\r?$""", re.MULTILINE)
_STRING: Final = rb'"(?:[^"\\]|\\.)*"'
_BEFORE: Final = rb'\{"schema":%b,"id":%b,"kind":%b,"session":' % ((_STRING,) * 3)
_EVENT: Final = re.compile(_BEFORE + rb"(\{[^{}]*\})")
_TRAJECTORY: Final = re.compile(rb'\{"schema_version":%b,"session_id":(%b),"trajectory_id":(%b)' % ((_STRING,) * 3))
_STREAM_BEGIN: Final = b'{"type":"session_event"'  # not of agents that do not record when a session begins
_DAMAGED: Final = (orjson.JSONDecodeError, KeyError, TypeError, AttributeError, IndexError)
_RECORD_END: Final = b'"x-katod":'  # what katod adds to a record is its last member


def names_its_session(form: str, head: bytes) -> bool:
    """Return whether a file of a format says whose session it is of, where that can be seen."""
    return form in _PLACES and (form != "stream" or head.startswith(_STREAM_BEGIN))


def is_of(form: str, key: SessionKey, head: bytes, tail: bytes = b"") -> bool:
    """Return whether a file says that it is of this session, and no other: given its first and its last bytes."""
    try:
        return form in _PLACES and _PLACES[form](key, head, tail)
    except _DAMAGED:
        return False


def below_notes(head: bytes) -> bytes:
    """Return the first bytes of a file from where katod's begin, below what a person wrote at the top of it.

    Those may have JSON and front matter of their own in them: katod's names an agent and a session.

    That is for a file that is known by its name already: of any other one, the first lines must say whose it is.
    """
    begin = _BEGIN.search(head, 0, _MOST_ABOVE)
    return head[begin.start() :] if begin else head


def parent_in(form: str, head: bytes) -> str:
    """Return the id of the session that a copy says its own was started or continued from; empty if it says none.

    That is in transcripts, events, and events for rooms, given their first bytes.
    """
    try:
        parent = _PARENTS[form](head) if form in _PARENTS else ""
    except _DAMAGED:
        return ""
    return parent if isinstance(parent, str) else ""


def is_in_front_matter(key: SessionKey, head: bytes, _tail: bytes = b"") -> bool:
    """Return whether the front matter of a file names this session."""
    found = _front_matter(head)
    return _is_named(key, found.get("session", ""), found.get("subagent", ""))


def _front_matter(head: bytes) -> dict[str, str]:
    front = _FRONT.match(head)
    fields = _FIELD.findall(front[1]) if front else []
    return {name.decode(): value.decode("utf-8", "replace") for name, value in fields}


def _in_event(key: SessionKey, head: bytes, _tail: bytes) -> bool:
    event = _EVENT.match(head)  # a long one may not be there as a whole
    session = orjson.loads(event[1]) if event else _first_row(head)["session"]
    return _is_named(key, session["id"], session.get("subagent", ""))


def _in_lifecycle(key: SessionKey, head: bytes, _tail: bytes) -> bool:
    row = _first_row(head)
    return _is_named(key, row["id"], row.get("subagent", ""))


def _in_stream(key: SessionKey, head: bytes, _tail: bytes) -> bool:
    from katod.formats.stream.bridge import session_uuid  # noqa: PLC0415 - few commands read such a file

    row = _first_row(head)
    whole = _whole(key, row["metadata"]["parentSessionId"] if key.subagent else row["sessionId"])
    return bool(row["sessionId"] == session_uuid(whole))


def _in_matrix(key: SessionKey, head: bytes, _tail: bytes) -> bool:
    content = _first_row(head)["content"]
    if key.subagent:
        return _is_named(key, content["katod_session"]["parent"], content["session_id"])
    return _is_named(key, content["session_id"], "")


def _in_span(key: SessionKey, head: bytes, _tail: bytes) -> bool:
    from katod.formats.otlp.names import OI_SESSION, SUBAGENT  # noqa: PLC0415 - likewise
    from katod.formats.otlp.spans import id_of  # noqa: PLC0415

    span = _first_row(head)["resourceSpans"][0]["scopeSpans"][0]["spans"][0]
    found = {row["key"]: row["value"].get("stringValue") for row in span["attributes"]}
    subagent = id_of(key.subagent) if key.subagent else None
    return (found[OI_SESSION], found.get(SUBAGENT)) == (id_of(_whole(key, found[OI_SESSION]).id), subagent)


def _in_record(key: SessionKey, _head: bytes, tail: bytes) -> bool:
    row = orjson.loads(tail.rstrip().rpartition(_RECORD_END)[2].removesuffix(b"}"))
    return _is_named(key, row["session"], row.get("subagent", ""))


def _in_trajectory(key: SessionKey, head: bytes, _tail: bytes) -> bool:
    found = _TRAJECTORY.match(head)
    return found is not None and orjson.loads(found[2]) == str(_whole(key, orjson.loads(found[1])))


def _first_row(head: bytes) -> Any:
    return orjson.loads(head.partition(b"\n")[0])


def _whole(key: SessionKey, session: str) -> SessionKey:
    """Return a key with the whole id of its session, given the one in a file: a path may have only its first part."""
    is_cut = AGENTS[key.agent].cuts_ids and session.partition("-")[0] == key.id
    return key._replace(id=session) if is_cut else key


def _is_named(key: SessionKey, session: str, subagent: str) -> bool:
    """Return whether these are the ids of a session, with or without what is not shown of them."""
    whole = _whole(key, session)
    return (session, subagent) in ((whole.id, key.subagent), (_shown(whole.id), _shown(key.subagent)))


def _shown(name: str) -> str:
    return " ".join(clean(name).split())


# A page, a vCon and an Agent Trace say it nowhere, or in the middle.
_PLACES: Final[Mapping[str, Place]] = {
    "markdown": is_in_front_matter, "jsonl": _in_event, "lifecycle": _in_lifecycle, "stream": _in_stream,
    "matrix": _in_matrix, "otlp": _in_span, "agent-record": _in_record, "atif": _in_trajectory,
    "atif-1.8": _in_trajectory,
}  # fmt: skip
_PARENTS: Final[Mapping[str, Callable[[bytes], Any]]] = {
    "markdown": lambda head: _front_matter(head).get("parent", ""),
    "jsonl": lambda head: _first_row(head)["payload"]["parent"],
    "matrix": lambda head: _first_row(head)["content"]["katod_session"]["parent"],
}
