"""Agent records that are small, and keys, for tests of signatures."""

import json
from functools import cache
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from katod.seal.keys import PrivateKey
from tests.support.records import SESSION


def a_record(**changes: Any) -> dict[str, Any]:
    """Return a record without an origin; changes are to its session, and `None` takes a field out."""
    entries = [{"type": "user", "content": "häßlich 🎈", "timestamp": "2026-02-10T22:36:00Z"}]
    session = {
        "session-id": SESSION, "session-start": "2026-02-10T22:36:00Z", "session-end": "2026-02-10T22:40:00.5+01:00",
        "agent-meta": {"model-id": "claude-fable-5", "model-provider": "anthropic", "cli-name": "claude-code"},
        "entries": entries,
    } | changes  # fmt: skip
    session = {name: value for name, value in session.items() if value is not None}
    return {"version": "3.0.0-draft", "id": "a", "session": session, "recording-agent": {"name": "katod"}}


def written(record: Any) -> bytes:
    """Return a record in the form that is signed."""
    return json.dumps(record, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


@cache
def a_key(number: int = 1) -> PrivateKey:
    """Return a key: the same one for the same number."""
    return PrivateKey(Ed25519PrivateKey.from_private_bytes(bytes([number]) * 32))
