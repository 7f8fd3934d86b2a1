"""COSE_Sign1 (RFC 9052) with Ed25519 and a detached payload: as bytes and as parts. Pure.

What is strict here protects who verifies: what katod relies on must be said once, in the signed part, and whatever else
is signed is named.
"""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from katod.errors import SealError
from katod.seal.cbor import Tagged, decode, encode

LARGEST: Final = 256 * 1024
ALGORITHM, CRITICAL, CONTENT_TYPE, KEY_ID, CLAIMS, TRACE, CHECKPOINT = 1, 2, 3, 4, 15, 100, "x-katod"
_EDDSA: Final = -8
_JSON: Final = "application/json"
_ISSUER, _SUBJECT = 1, 2
_SIZE: Final = 64  # of an Ed25519 signature
Label = int | str


class Claims(NamedTuple):
    """The signed part of a signature: what it claims of itself."""

    issuer: str
    subject: str
    key: bytes | None = None  # the thumbprint of the key
    checkpoint: bool = False


class Signature(NamedTuple):
    """One signature in its parts; `protected` are the bytes of the claims, `unprotected` is signed by nobody."""

    protected: bytes
    claims: Claims
    unprotected: dict[Label, Any]
    value: bytes
    unknown: tuple[Label, ...] = ()  # signed headers and claims that katod does not know

    def signs(self, payload: bytes, verify: Callable[[bytes, bytes], bool]) -> bool:
        """Return whether it is one of this payload, given what verifies a signature of a message."""
        return verify(self.value, _message(self.protected, payload))


def sign(claims: Claims, unprotected: dict[Label, Any], payload: bytes, signer: Callable[[bytes], bytes]) -> bytes:
    """Return the encoded signature of a payload, given what signs a message."""
    protected = encode(_headers(claims))
    value = signer(_message(protected, payload))
    return encode(Tagged([protected, unprotected, None, value]))


def read_signature(data: bytes) -> Signature:
    """Return the parts of an encoded signature. Raises SealError; whether it is one of anything is not checked."""
    if len(data) > LARGEST:
        raise SealError(f"it is larger than {LARGEST} bytes")
    protected, unprotected, value = _parts(decode(data))
    headers = decode(protected) if protected else {}
    if not isinstance(headers, dict):
        raise SealError("its protected header is not a map")
    if twice := headers.keys() & unprotected.keys():
        raise SealError(f"it has the header {min(map(str, twice))} twice")
    if CRITICAL in unprotected:  # RFC 9052: what must be understood has to be signed, or else anyone can take it out
        raise SealError("its `crit` header is not in the protected headers")
    return Signature(protected, _claims(headers), unprotected, value, _unknown(headers))


def _parts(tagged: Any) -> tuple[bytes, dict[Label, Any], bytes]:
    """Return protected header, unprotected header and signature of a COSE_Sign1. Raises SealError."""
    parts = tagged.value if isinstance(tagged, Tagged) else None
    if not isinstance(parts, list) or len(parts) != 4:
        raise SealError("it is not a COSE_Sign1 with its tag")
    protected, unprotected, payload, value = parts
    if not isinstance(protected, bytes) or not isinstance(unprotected, dict):
        raise SealError("its headers are not of the right kind")
    if payload is not None:
        raise SealError("it contains what it signs: it has to be detached")
    if not isinstance(value, bytes) or len(value) != _SIZE:
        raise SealError("its signature is not one of Ed25519")
    return protected, unprotected, value


def _message(protected: bytes, payload: bytes) -> bytes:
    return encode(["Signature1", protected, b"", payload])


def _headers(claims: Claims) -> dict[Label, Any]:
    headers: dict[Label, Any] = {
        ALGORITHM: _EDDSA, CONTENT_TYPE: _JSON, CLAIMS: {_ISSUER: claims.issuer, _SUBJECT: claims.subject}
    }  # fmt: skip
    if claims.key is not None:
        headers[KEY_ID] = claims.key
    if claims.checkpoint:
        headers[CHECKPOINT] = {"checkpoint": True}
    return headers


def _claims(headers: dict[Label, Any]) -> Claims:
    """Return what a protected header claims. Raises SealError."""
    if headers.get(ALGORITHM) != _EDDSA:
        raise SealError("its algorithm is not EdDSA, or is not protected")
    if CRITICAL in headers:
        raise SealError("it needs headers that katod does not understand")
    if headers.get(CONTENT_TYPE, _JSON) != _JSON:
        raise SealError(f"it is not one of {_JSON}")
    claims = headers.get(CLAIMS)
    issuer, subject = (claims.get(_ISSUER), claims.get(_SUBJECT)) if isinstance(claims, dict) else (None, None)
    if not isinstance(issuer, str) or not isinstance(subject, str):
        raise SealError("it does not say who signed what")
    key = headers.get(KEY_ID)
    if key is not None and not isinstance(key, bytes):
        raise SealError("its key id is not of the right kind")
    return Claims(issuer, subject, key, _is_checkpoint(headers))


def _unknown(headers: dict[Label, Any]) -> tuple[Label, ...]:
    """Return the headers and claims that are signed and unknown to katod. Raises SealError for a misplaced one."""
    if TRACE in headers:
        raise SealError("its trace metadata is where it does not belong")
    claims = [f"claim {label}" for label in headers[CLAIMS] if label not in (_ISSUER, _SUBJECT)]
    known = (ALGORITHM, CONTENT_TYPE, KEY_ID, CLAIMS, CHECKPOINT)
    return (*(label for label in headers if label not in known), *claims)


def _is_checkpoint(headers: dict[Label, Any]) -> bool:
    if CHECKPOINT not in headers:
        return False
    stated = headers[CHECKPOINT]
    if not isinstance(stated, dict) or set(stated) != {"checkpoint"} or stated["checkpoint"] is not True:
        raise SealError(f"its header {CHECKPOINT} has a value that katod does not understand")
    return True
