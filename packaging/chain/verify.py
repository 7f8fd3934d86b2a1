"""Checks a recording against a published head of its chain, without katod: verify.py HEAD.json RECORDING.jsonl [KEY.pem].

With a public key, also the signature of the head, which is beside it (HEAD.sig.cbor): needs `cbor2` and `cryptography`.
"""

import hashlib
import json
import sys

EVENT = b'{"schema":"katod.event/'


def head_after(lines, events):
    """Return the head after so many events, None if there are fewer; and how many other lines are among them."""
    head, count, notes = bytes(32), 0, 0
    for line in lines:
        if count == events:
            break
        if line.startswith(EVENT):
            count, head = count + 1, hashlib.sha256(head + line.removesuffix(b"\n")).digest()
        elif line.strip():
            notes += 1
    return (head.hex() if count == events else None), notes


def check(head, lines):
    """Return what is wrong with a recording, empty if it begins with the events that were published."""
    found, _ = head_after(lines, head["events"])
    if found is None:
        return "events are missing"
    return "" if found == head["head"] else "an event was changed, removed, added or moved"


def check_signature(data, signature, pem):
    """Raise an exception unless a key signed exactly these bytes."""
    import cbor2
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    protected, _, _, value = cbor2.loads(signature).value
    load_pem_public_key(pem).verify(value, cbor2.dumps(["Signature1", protected, b"", data]))


def main(published, recording, key=""):
    """Print what is wrong, or that nothing is; return the exit code."""
    with open(published, "rb") as file:
        data = file.read()
    if key:
        with open(published.removesuffix(".json") + ".sig.cbor", "rb") as signature, open(key, "rb") as pem:
            check_signature(data, signature.read(), pem.read())
    with open(recording, "rb") as lines:
        wrong = check(json.loads(data), lines)
    print(wrong or f"the first {json.loads(data)['events']} events are as they were published")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
