"""Signs records and verifies signatures, given the key: what a signature says of a record is decided here. Pure."""

from typing import Any, NamedTuple

from katod.errors import SealError
from katod.seal import cose
from katod.seal.cose import TRACE, Claims, Label, Signature
from katod.seal.keys import THUMBPRINT_URN, PrivateKey, PublicKey
from katod.seal.record import SignedRecord


class Verified(NamedTuple):
    """What is known of a signature that was verified; `unknown` are signed headers and claims that katod does
    not know, `unsigned` are headers that anyone may have added.
    """

    claims: Claims
    unknown: tuple[Label, ...]
    unsigned: tuple[Label, ...]


def sign_record(record: SignedRecord, key: PrivateKey, *, checkpoint: bool) -> bytes:
    """Return the signature of a record. Its issuer is the recorder, named by the key: not the vendor of the model."""
    claims = Claims(key.public.urn, record.session, key.public.thumbprint, checkpoint)
    trace = record.trace(checkpoint=checkpoint)
    return cose.sign(claims, {TRACE: trace} if trace else {}, record.data, key.sign)


def verify_bytes(data: bytes, found: Signature, key: PublicKey) -> None:
    """Check that a key made this signature of exactly these bytes. Raises SealError."""
    claims = found.claims
    if claims.key not in (None, key.thumbprint) or _names_another(claims.issuer, key):
        raise SealError("it was signed with another key", hint="name the signer's public key with --key")
    if not found.signs(data, key.verify):
        hint = "the record may only have been formatted: ask for the file as it was signed"
        raise SealError(
            "it does not match this record and this key: one of them was changed, or is the wrong one", hint=hint
        )


def compare(record: SignedRecord, found: Signature) -> Verified:
    """Return what is known of a verified signature. Raises SealError if it says else of its record than that does."""
    claims = found.claims
    if claims.subject != record.session:
        raise SealError("it names another session than the record")
    if TRACE in found.unprotected:
        _compare(found.unprotected[TRACE], record.trace(checkpoint=claims.checkpoint))
    return Verified(claims, found.unknown, tuple(label for label in found.unprotected if label != TRACE))


def _names_another(issuer: str, key: PublicKey) -> bool:
    return issuer.startswith(THUMBPRINT_URN) and issuer != key.urn


def _compare(trace: Any, expected: dict[str, Any]) -> None:
    """Raise SealError unless trace metadata, which nobody signed, says of the record what the record says."""
    required = {"session-id", "agent-vendor", "trace-format", "timestamp-start"}
    if not isinstance(trace, dict) or not required <= trace.keys():
        raise SealError("its trace metadata is incomplete: it was changed since")
    for name, value in trace.items():
        if type(value) is not type(expected.get(name)) or value != expected[name]:
            raise SealError(f"{name!r} in its trace metadata is not that of the record: it was changed since")
