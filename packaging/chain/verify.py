"""Checks a recording against a published head of its chain: verify.py HEAD.json RECORDING.jsonl [KEY.pem].

katod is not needed. With a public key, also the signature of the head is checked, which is beside it (HEAD.sig.cbor):
that needs `cbor2` and `cryptography`.
"""

import hashlib
import json
import re
import sys
from collections.abc import Iterable
from typing import Any

EVENT, NAME = b'{"schema":"katod.event/', b"katod.event/"
OPENED = re.compile(r"[\s\ufeff]*\{")  # behind all that some program passes over


def check(head: dict[str, Any], lines: Iterable[bytes]) -> tuple[str, int]:
    """Return what is wrong with a recording, empty if it begins with the events that were published, and the notes."""
    if (head.get("chain"), head.get("hash")) != ("katod.event", "sha-256"):
        return "this is not the head of a chain", 0
    found, count, notes = bytes(32), 0, 0
    for line in lines:
        if count == head["events"]:
            break
        if line.startswith(EVENT) and not line.endswith(b"\r\n"):
            count, found = count + 1, hashlib.sha256(found + line.removesuffix(b"\n")).digest()
        elif NAME in line or OPENED.match(line.decode("utf-8", "replace")):
            return "a line looks like an event, and is none", notes
        else:
            notes += bool(line.strip())
    if count != head["events"]:
        return "events are missing", notes
    return "" if found.hex() == head["head"] else "an event was changed, removed, added or moved", notes


def is_signed(data: bytes, signature: bytes, pem: bytes) -> bool:
    """Return whether a key signed exactly these bytes."""
    import cbor2
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    try:
        protected, _, _, value = cbor2.loads(signature).value
        load_pem_public_key(pem).verify(value, cbor2.dumps(["Signature1", protected, b"", data]))
    except (InvalidSignature, cbor2.CBORDecodeError, AttributeError, TypeError, ValueError):
        return False
    return True


def read(path: str) -> bytes:
    """Return what is in a file."""
    with open(path, "rb") as file:
        return file.read()


def main(published: str, recording: str, key: str | None = None) -> int:
    """Print what is wrong, or that nothing is; return the exit code."""
    data = read(published)
    if key is not None and not is_signed(data, read(published.removesuffix(".json") + ".sig.cbor"), read(key)):
        print("the head is not signed with this key")
        return 1
    with open(recording, "rb") as lines:
        wrong, notes = check(json.loads(data), lines)
    print(wrong or f"the first {json.loads(data)['events']} events are as they were published")
    print(f"notes among them: {notes}")
    print(f"the signature of the head: {'not checked, as no key is given' if key is None else 'made with this key'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    try:
        sys.exit(main(*sys.argv[1:]))
    except (OSError, ValueError, TypeError, KeyError) as error:
        sys.exit(f"cannot be checked: {error}")
