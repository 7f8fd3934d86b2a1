"""Agent records as a signature needs them: exactly the bytes that are signed, and what they say of the session.

The signed bytes are those of the file. Tools that verify a record may read it and write it again before they compare,
so a file is accepted only in the one form in which that changes nothing.
"""

import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, NamedTuple

from katod.errors import SealError
from katod.formats.records.agentrecord import canonical
from katod.formats.records.recordentries import EXTRA
from katod.formats.rows import timestamp
from katod.model import SessionKey
from katod.smallfile import read_small

LARGEST: Final = 256 * 1024 * 1024
TRACE_FORMAT: Final = "ietf-vac-v3.0"
_AGAIN: Final = "export it again with `katod export SESSION -f agent-record -o FILE`"
_FORM: Final = (
    f"it was edited or formatted since: {_AGAIN}; records of other tools must be JSON with sorted keys, without spaces"
    " or a newline at the end, in UTF-8 without escapes"
)

Time = str | int  # RFC 3339, or milliseconds since 1970


class RecordOrigin(NamedTuple):
    """The session that katod made a record of, and the last event in it."""

    key: SessionKey
    last: str


class SignedRecord(NamedTuple):
    """One agent record: its bytes, and what they say of its session. Unknown names are empty, unknown times None."""

    data: bytes
    session: str
    provider: str
    model: str
    agent: str
    start: Time | None
    end: Time | None
    origin: RecordOrigin | None

    def trace(self, *, checkpoint: bool) -> dict[str, Any]:
        """Return the trace metadata of a signature; empty if the record has no beginning, which they would need."""
        if self.start is None:
            return {}
        ended = {} if checkpoint or self.end is None else {"timestamp-end": self.end}
        return {
            "session-id": self.session, "agent-vendor": self.provider, "trace-format": TRACE_FORMAT,
            "timestamp-start": self.start, "content-hash": sha256(self.data).hexdigest(), "content-hash-alg": "sha-256",
        } | ended  # fmt: skip


def read_record(path: Path, check: Callable[[bytes], None] = lambda _: None) -> SignedRecord:
    """Read a record and check its form and the fields that it has to have. Raises SealError.

    `check` is given the bytes before they are parsed: a record may come from anyone.
    """
    try:
        data = read_small(path, LARGEST)
    except OSError as error:
        raise SealError(f"cannot be read: {error.strerror}", path=path) from error
    check(data)
    try:
        return parse_record(data)
    except SealError as error:
        raise SealError(error.what, path=path, hint=error.hint) from error


def parse_record(data: bytes) -> SignedRecord:
    """Return the record in these bytes. Raises SealError."""
    try:
        value = json.loads(data.decode(), object_pairs_hook=_object, parse_constant=_constant)
        is_canonical = canonical(value).encode() == data
    except RecursionError:
        raise SealError("is not an agent record: it is nested too deeply") from None
    except ValueError as error:  # not UTF-8, not JSON, an unpaired surrogate, or a number with thousands of digits
        raise SealError("is not an agent record: it is not valid JSON in UTF-8", hint=_AGAIN) from error
    record = _Fields("the record", value).record(data)
    if not is_canonical:
        raise SealError("is not in the form that is signed", hint=_FORM)
    return record


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise SealError("is not an agent record: an object in it has the same key twice", hint=_AGAIN)
    return value


def _constant(name: str) -> Any:
    raise SealError(f"is not an agent record: {name} is not a number in JSON", hint=_AGAIN)


class _Fields:
    """The fields of one object in a record."""

    def __init__(self, name: str, value: Any) -> None:
        if not isinstance(value, dict):
            raise SealError(f"is not an agent record: {name} is not an object")
        self._name = name
        self._value = value

    def record(self, data: bytes) -> SignedRecord:
        """Return the record of which these are the fields. Raises SealError."""
        self.text("version")
        self.text("id")
        session = self.below("session")
        agent = session.below("agent-meta")
        session.entries()
        return SignedRecord(
            data=data,
            session=session.text("session-id"),
            provider=agent.text("model-provider"),
            model=agent.text("model-id"),
            agent=agent.text("cli-name", ""),
            start=session.time("session-start"),
            end=session.time("session-end"),
            origin=self.below(EXTRA).origin() if EXTRA in self._value else None,
        )

    def below(self, key: str) -> "_Fields":
        """Return the object with this key."""
        return _Fields(f"`{key}`", self._value.get(key))

    def text(self, key: str, default: str | None = None) -> str:
        """Return a text, or the default if there is one and no such key."""
        value = self._value.get(key, default)
        if not isinstance(value, str):
            raise self._wrong(key, "text")
        return value

    def time(self, key: str) -> Time | None:
        """Return a time, None if no such key file."""
        if key not in self._value:
            return None
        value = self._value[key]
        is_count = type(value) is int and value >= 0
        if is_count or (isinstance(value, str) and timestamp(value)):
            return value  # type: ignore[no-any-return]
        raise self._wrong(key, "a time of RFC 3339 or a number of milliseconds")

    def entries(self) -> None:
        """Check that there is a list of entries."""
        if not isinstance(self._value.get("entries"), list):
            raise self._wrong("entries", "a list")

    def origin(self) -> RecordOrigin:
        """Return the origin that katod noted."""
        key = SessionKey(self.text("agent"), self.text("session"), self.text("subagent", ""))
        return RecordOrigin(key, self.text("last"))

    def _wrong(self, key: str, kind: str) -> SealError:
        missing = "missing" if key not in self._value else f"not {kind}"
        return SealError(f"is not an agent record: `{key}` of {self._name} is {missing}", hint=_AGAIN)
