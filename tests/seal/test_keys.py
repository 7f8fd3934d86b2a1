"""Keys: who can read them, what they are called, and which are refused."""

import os
from hashlib import sha256

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, x25519
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption as Encrypted
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from katod.errors import SealError
from katod.seal.keys import make_key, public_path, read_private, read_public
from tests.support.sealing import a_key

PEM = Encoding.PEM


def pem(key, encryption=None):
    """Return a private key in a PEM file."""
    return key.private_bytes(PEM, PrivateFormat.PKCS8, encryption or NoEncryption())


@pytest.fixture
def path(tmp_path):
    """Return the path of a key that was made while files were open to all."""
    path, before = tmp_path / "made" / "key.pem", os.umask(0)
    make_key(path)
    os.umask(before)
    return path


def test_a_key_is_for_its_owner_alone(path):
    """The private half and its folder are private whatever the umask is; the public half may be read by all."""
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert path.with_name("key.pub.pem").stat().st_mode & 0o777 == 0o644
    assert path.read_bytes().startswith(b"-----BEGIN PRIVATE KEY-----")
    assert public_path(path).read_bytes().startswith(b"-----BEGIN PUBLIC KEY-----")


def test_both_halves_are_one_key(path):
    """What the private one signs, the public one verifies, and nothing else; either file gives the public half."""
    private, public = read_private(path), read_public(public_path(path))
    assert public == private.public == read_public(path)
    signature = private.sign(b"talk")
    assert public.verify(signature, b"talk")
    assert not public.verify(signature, b"tale")
    assert not a_key().public.verify(signature, b"talk")


def test_a_key_is_named_by_its_thumbprint():
    """It is the hash of the public COSE key in its shortest form, and nothing of the private half."""
    public = a_key().public
    cose_key = bytes.fromhex("a3010120062158 20") + public.raw
    assert public.thumbprint == sha256(cose_key).digest()
    assert public.urn == "urn:ietf:params:oauth:ckt:sha-256:3S-04YteHOMMRjOqpfaB2nnDsymYzFqiGxFJw3Ixpqw"


def test_every_key_is_another_one(tmp_path):
    """Two keys that are made have different names."""
    assert make_key(tmp_path / "a.pem") != make_key(tmp_path / "b")
    assert sorted(os.listdir(tmp_path)) == ["a.pem", "a.pub.pem", "b", "b.pub.pem"]


@pytest.mark.parametrize("half", ["key.pem", "key.pub.pem"])
@pytest.mark.parametrize("link", [False, True])
def test_a_key_is_never_overwritten(tmp_path, half, link):
    """Neither half, nor what a link leads to, or would; and no half is left without the other."""
    there = tmp_path / half
    if link:
        there.symlink_to(tmp_path / "elsewhere")
    else:
        there.write_text("mine")
    with pytest.raises(SealError, match="already exists"):
        make_key(tmp_path / "key.pem")
    assert os.listdir(tmp_path) == [half]
    assert link or there.read_text() == "mine"


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o601])
def test_a_key_that_others_have_access_to_is_not_used(path, mode):
    """It is said what to type; to verify, it will do."""
    path.chmod(mode)
    with pytest.raises(SealError, match=f"others have access to it .mode 0{mode:o}") as error:
        read_private(path)
    assert error.value.hint == f"chmod 600 {path}"
    assert read_public(path)


def test_a_link_to_a_key_is_followed(tmp_path, path):
    """The file that it leads to has to be private; keys may be kept on a disk of their own."""
    link = tmp_path / "link.pem"
    link.symlink_to(path)
    assert read_private(link).public == read_private(path).public
    path.chmod(0o644)
    with pytest.raises(SealError, match="others have access"):
        read_private(link)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "not a private key in PEM"),
        (b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", "not a private key in PEM"),
        (pem(Ed25519PrivateKey.generate(), Encrypted(b"secret")), "has a passphrase"),
        (pem(x25519.X25519PrivateKey.generate()), "not an Ed25519 key"),
        (pem(ec.generate_private_key(ec.SECP256R1())), "not an Ed25519 key"),
        (b"x" * 100_000, "larger than"),
    ],
)
def test_what_is_no_key_to_sign_with_is_refused(tmp_path, data, reason):
    """Also one with a passphrase, and one of another kind."""
    path = tmp_path / "key.pem"
    path.write_bytes(data)
    path.chmod(0o600)
    with pytest.raises(SealError, match=reason) as error:
        read_private(path)
    assert error.value.path == path


def test_what_is_no_key_to_verify_with_is_refused(tmp_path):
    """Something else, one of another kind, a folder, and nothing."""
    path = tmp_path / "key.pub.pem"
    for data, reason in (
        (b"mine", "not a public key in PEM"),
        (x25519.X25519PrivateKey.generate().public_key().public_bytes(PEM, PublicFormat.SubjectPublicKeyInfo), "not an Ed25"),
    ):  # fmt: skip
        path.write_bytes(data)
        with pytest.raises(SealError, match=reason):
            read_public(path)
    with pytest.raises(SealError, match="not a regular file"):
        read_public(tmp_path)
    with pytest.raises(SealError, match="no such key"):
        read_public(tmp_path / "none")
    with pytest.raises(SealError, match="no such key") as error:
        read_private(tmp_path / "none")
    assert "katod seal --new-key" in error.value.hint
