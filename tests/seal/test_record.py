"""Records as signatures need them: one form, and the fields that are read."""

import json
from hashlib import sha256

import pytest

from katod.errors import SealError
from katod.model import SessionKey
from katod.seal import record as record_module
from katod.seal.record import parse_record, read_record
from tests.support.records import SESSION
from tests.support.sealing import a_record, written

ORIGIN = {"agent": "claude", "session": SESSION, "last": "claude:x:9", "events": 9}


def broken(**changes):
    """Return a record with other fields at its top; None takes one out."""
    return {name: value for name, value in (a_record() | changes).items() if value is not None}


def test_a_record_is_read_as_what_it_says():
    """Names and times are those of the record; the bytes are kept as they are."""
    data = written(a_record() | {"x-katod": ORIGIN | {"subagent": "s"}})
    record = parse_record(data)
    assert record.data == data
    assert (record.session, record.provider, record.model) == (SESSION, "anthropic", "claude-fable-5")
    assert (record.agent, record.start, record.end) == (
        "claude-code", "2026-02-10T22:36:00Z", "2026-02-10T22:40:00.5+01:00",
    )  # fmt: skip
    assert record.origin == (SessionKey("claude", SESSION, "s"), "claude:x:9")
    assert parse_record(written(a_record())).origin is None


@pytest.mark.parametrize(
    "data",
    [
        json.dumps(a_record(), sort_keys=True, indent=2).encode(),
        json.dumps(a_record(), sort_keys=True, separators=(",", ":")).encode(),  # escapes
        json.dumps(dict(reversed(a_record().items())), separators=(",", ":"), ensure_ascii=False).encode(),
        written(a_record()) + b"\n",
        written(a_record()).replace(b'"3.0.0-draft"', b'"\\u0033.0.0-draft"'),
        written(a_record() | {"x": 10**12}).replace(b"1000000000000", b"1E12"),
    ],
)
def test_a_record_in_another_form_is_refused_with_what_to_do(data):
    """Indented, escaped, in another order, with a newline at the end, spelled otherwise: verifiers would disagree."""
    with pytest.raises(SealError, match="not in the form that is signed") as error:
        parse_record(data)
    assert "katod export SESSION -f agent-record" in error.value.hint


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "not valid JSON"),
        (b"\xef\xbb\xbf{}", "not valid JSON"),
        ("{}".encode("utf-16"), "not valid JSON"),
        (b'{"id":"\xff"}', "not valid JSON"),
        (b'{"id":"\\ud800"}', "not valid JSON"),
        (b"9" * 10_000, "not valid JSON"),
        (b"[" * 100_000, "nested too deeply"),
        (b"[]", "the record is not an object"),
        (b'{"a":1,"a":1}', "same key twice"),
        (b'{"a":NaN}', "NaN is not a number"),
        (b'{"a":-Infinity}', "-Infinity is not a number"),
        (written(broken(version=None)), "`version` of the record is missing"),
        (written(broken(id=7)), "`id` of the record is not text"),
        (written(broken(session=None)), "`session` is not an object"),
        (written(a_record(**{"session-id": None})), "`session-id` of `session` is missing"),
        (written(a_record(**{"agent-meta": {"model-id": "x"}})), "`model-provider` of `agent-meta` is missing"),
        (written(a_record(**{"agent-meta": {"model-provider": "x"}})), "`model-id` of `agent-meta` is missing"),
        (written(a_record(entries={})), "`entries` of `session` is not a list"),
        (written(broken(**{"x-katod": {"agent": "claude"}})), "`session` of `x-katod` is missing"),
    ],
)
def test_what_is_no_record_is_refused(data, reason):
    """It is said what is wrong, and with which field."""
    with pytest.raises(SealError, match=reason):
        parse_record(data)


@pytest.mark.parametrize(
    ("time", "is_one"),
    [
        ("2026-02-10T22:36:60.123+05:30", True), (0, True), (1770763000000, True),
        ("2026-02-10 22:36:00Z", False), ("2026-02-10T22:36:00", False), ("2026-02-10T22:36:00Z and more", False),
        ("2026-02-10T22:36:00Z\n", False), ("2026-13-10T22:36:00Z", False), (-1, False), (1.5, False), (True, False),
        ("٢026-02-10T22:36:00Z", False),
    ],
)  # fmt: skip
def test_a_time_is_one_of_the_schema(time, is_one):
    """A time goes into the signature's metadata: it has to be of RFC 3339 with a zone, or milliseconds."""
    data = written(a_record(**{"session-start": time}))
    if is_one:
        assert parse_record(data).start == time
    else:
        with pytest.raises(SealError, match="`session-start`"):
            parse_record(data)


def test_trace_metadata_says_what_the_record_says():
    """It has the hash of the bytes; a checkpoint has no end, and without a beginning there is none at all."""
    record = parse_record(written(a_record()))
    trace = record.trace(checkpoint=False)
    assert trace == {
        "session-id": SESSION, "agent-vendor": "anthropic", "trace-format": "ietf-vac-v3.0",
        "timestamp-start": "2026-02-10T22:36:00Z", "timestamp-end": "2026-02-10T22:40:00.5+01:00",
        "content-hash": sha256(record.data).hexdigest(), "content-hash-alg": "sha-256",
    }  # fmt: skip
    assert record.trace(checkpoint=True) == {name: trace[name] for name in trace if name != "timestamp-end"}
    assert parse_record(written(a_record(**{"session-start": None}))).trace(checkpoint=False) == {}


def test_a_file_is_read_whole_or_not_at_all(tmp_path, monkeypatch):
    """The error names the file: one that is not there, is no regular file, or is too large."""
    path = tmp_path / "talk.acr.json"
    with pytest.raises(SealError, match=r"talk\.acr\.json: cannot be read: No such file"):
        read_record(path)
    path.write_bytes(written(a_record()))
    assert read_record(path).session == SESSION
    monkeypatch.setattr(record_module, "LARGEST", 10)
    with pytest.raises(SealError, match="larger than 10 bytes"):
        read_record(path)
    path.unlink()
    path.mkdir()
    with pytest.raises(SealError, match="not a regular file"):
        read_record(path)
