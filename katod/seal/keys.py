"""The keys that sign and verify: Ed25519, in PEM files, made and read."""

from base64 import urlsafe_b64encode
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, NamedTuple

from katod import durable
from katod.errors import SealError, with_extra
from katod.seal.cbor import encode
from katod.smallfile import create_small, read_small

THUMBPRINT_URN: Final = "urn:ietf:params:oauth:ckt:"
_LARGEST: Final = 64 * 1024
_PRIVATE, _PUBLIC, _FOLDER = 0o600, 0o644, 0o700
_OKP, _ED25519 = 1, 6
_MAKE: Final = "make one with `katod seal --new-key`, or name another with --key"


def require_extra() -> None:
    """Raise SealError if the libraries that signatures need are not installed."""
    try:
        import cbor2  # noqa: F401, PLC0415 - an extra
        import cryptography  # noqa: F401, PLC0415
    except ImportError:
        problem = "signatures need cbor2 and cryptography, which are not installed"
        raise SealError(problem, hint=with_extra("seal")) from None


class PublicKey(NamedTuple):
    """The public half of a key: 32 bytes."""

    raw: bytes

    @property
    def thumbprint(self) -> bytes:
        """The hash that names the key (RFC 9679)."""
        return sha256(encode({1: _OKP, -1: _ED25519, -2: self.raw})).digest()

    @property
    def urn(self) -> str:
        """The same as a name."""
        return f"{THUMBPRINT_URN}sha-256:{urlsafe_b64encode(self.thumbprint).rstrip(b'=').decode()}"

    def verify(self, signature: bytes, message: bytes) -> bool:
        """Return whether a signature is one of this message by this key."""
        from cryptography.exceptions import InvalidSignature  # noqa: PLC0415 - an extra
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey  # noqa: PLC0415

        try:
            Ed25519PublicKey.from_public_bytes(self.raw).verify(signature, message)
        except InvalidSignature:
            return False
        return True


class PrivateKey:
    """A whole key. It is never printed."""

    def __init__(self, key: Any) -> None:
        self._key = key

    @property
    def public(self) -> PublicKey:
        """Its public half."""
        return PublicKey(self._key.public_key().public_bytes_raw())

    def sign(self, message: bytes) -> bytes:
        """Return the signature of a message."""
        signature: bytes = self._key.sign(message)
        return signature


def public_path(path: Path) -> Path:
    """Return where the public half of a key is: `seal-key.pub.pem` beside `seal-key.pem`."""
    return path.parent / f"{path.name.removesuffix('.pem')}.pub.pem"


def make_key(path: Path) -> PublicKey:
    """Make a key: the private half, for its owner alone, and the public one beside it. Raises SealError.

    Neither file is ever overwritten: with the private half, the signer's name would be lost.
    """
    from cryptography.hazmat.primitives import serialization as ser  # noqa: PLC0415 - an extra
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415

    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(ser.Encoding.PEM, ser.PrivateFormat.PKCS8, ser.NoEncryption())
    public = key.public_key().public_bytes(ser.Encoding.PEM, ser.PublicFormat.SubjectPublicKeyInfo)
    try:
        durable.make_folders(path.parent, _FOLDER)
    except OSError as error:
        raise SealError(f"the directory cannot be made: {error.strerror}", path=path.parent) from error
    _create(path, private, _PRIVATE)
    try:
        _create(public_path(path), public, _PUBLIC)
    except BaseException:
        durable.remove(path)  # just made, and never used
        raise
    durable.sync_names(path.parent)
    return PrivateKey(key).public


def _create(path: Path, data: bytes, mode: int) -> None:
    try:
        create_small(path, data, mode)
    except FileExistsError:
        hint = "use it, or name another file with --key: a lost key cannot be recreated"
        raise SealError("already exists", path=path, hint=hint) from None


def read_private(path: Path) -> PrivateKey:
    """Read the key that signs; nobody but its owner may have access to its file. Raises SealError."""
    try:
        data = read_small(path, _LARGEST, private=True)
    except FileNotFoundError:
        raise SealError("no such key file", path=path, hint=_MAKE) from None
    except PermissionError as error:
        is_public = path.name.endswith(".pub.pem")
        hint = "this is a public key; the private one signs" if is_public else f"chmod 600 {path}"
        raise SealError(f"is not used: {error.strerror}", path=path, hint=hint) from error
    except OSError as error:
        raise SealError(f"cannot be read: {error.strerror}", path=path) from error
    return _private(data, path)


def read_public(path: Path) -> PublicKey:
    """Read the key that verifies: the public half, or the private one, which contains it. Raises SealError."""
    try:
        data = read_small(path, _LARGEST)
    except FileNotFoundError:
        raise SealError("no such key file", path=path, hint="name the signer's public key with --key") from None
    except OSError as error:
        raise SealError(f"cannot be read: {error.strerror}", path=path) from error
    return _private(data, path).public if b"PRIVATE KEY-----" in data else _public(data, path)


def _private(data: bytes, path: Path) -> PrivateKey:
    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415 - an extra
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415
    from cryptography.hazmat.primitives.serialization import load_pem_private_key  # noqa: PLC0415

    try:
        key = load_pem_private_key(data, None)
    except TypeError:
        raise SealError("has a passphrase, which katod cannot ask for", path=path, hint=_MAKE) from None
    except (ValueError, UnsupportedAlgorithm) as error:
        raise SealError("is not a private key in PEM format", path=path, hint=_MAKE) from error
    if not isinstance(key, Ed25519PrivateKey):
        raise SealError("is not an Ed25519 key", path=path, hint=_MAKE)
    return PrivateKey(key)


def _public(data: bytes, path: Path) -> PublicKey:
    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415 - an extra
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey  # noqa: PLC0415
    from cryptography.hazmat.primitives.serialization import load_pem_public_key  # noqa: PLC0415

    try:
        key = load_pem_public_key(data)
    except (ValueError, UnsupportedAlgorithm) as error:
        raise SealError("is not a public key in PEM format", path=path) from error
    if not isinstance(key, Ed25519PublicKey):
        raise SealError("is not an Ed25519 key", path=path)
    return PublicKey(key.public_bytes_raw())
