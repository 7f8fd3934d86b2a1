"""Verifies a record as `katod seal --verify` does."""

from katod.seal.cose import read_signature
from katod.seal.signing import compare, verify_bytes


def verify_record(record, signature, key):
    """Return what was verified. Raises SealError."""
    found = read_signature(signature)
    verify_bytes(record.data, found, key)
    return compare(record, found)
