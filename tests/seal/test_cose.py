"""COSE_Sign1: what is written, and what is refused before any key is asked."""

import cbor2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from katod.errors import SealError
from katod.seal import cose
from katod.seal.cose import Claims, read_signature
from tests.examples import examples

CLAIMS = {1: "who", 2: "what"}
PROTECTED = {1: -8, 3: "application/json", 15: CLAIMS}
ABSENT = object()


def signature(protected=PROTECTED, unprotected=None, payload=None, value=b"\0" * 64, tag=18):
    """Return an encoded signature, with parts as they are given."""
    header = cbor2.dumps(protected) if isinstance(protected, dict) else protected
    return cbor2.dumps(cbor2.CBORTag(tag, [header, unprotected or {}, payload, value]))


def protected(**changes):
    """Return a signature with other protected headers, `l3` for label 3."""
    headers = PROTECTED | {int(name[1:]): value for name, value in changes.items()}
    return signature({label: value for label, value in headers.items() if value is not ABSENT})


def test_it_is_the_structure_of_the_standard():
    """Tag 18, protected bytes, the other header, no payload; the signed message names its context."""
    messages = []

    def signer(message):
        messages.append(message)
        return b"s" * 64

    data = cose.sign(Claims("who", "what", b"key", checkpoint=True), {7: 1}, b"payload", signer)
    sign1 = cbor2.loads(data)
    assert (sign1.tag, list(sign1.value[1:])) == (18, [{7: 1}, None, b"s" * 64])
    assert cbor2.loads(sign1.value[0]) == PROTECTED | {4: b"key", "x-katod": {"checkpoint": True}}
    assert [cbor2.loads(message) for message in messages] == [["Signature1", sign1.value[0], b"", b"payload"]]
    found = read_signature(data)
    assert found.claims == Claims("who", "what", b"key", checkpoint=True)
    assert found.signs(b"payload", lambda value, message: (value, message) == (b"s" * 64, messages[0]))


def test_what_other_tools_leave_out_or_add_is_taken():
    """A key id and a content type may be missing; what nobody signed may be anything that is signed nowhere."""
    assert read_signature(protected(l3=ABSENT)).claims == Claims("who", "what")
    assert read_signature(signature(unprotected={4: b"k", 394: [b"r"]})).unprotected == {4: b"k", 394: [b"r"]}


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (signature(tag=17), "kind that is not used"),
        (signature(tag=98), "kind that is not used"),
        (cbor2.dumps([b"", {}, None, b"\0" * 64]), "COSE_Sign1 with its tag"),
        (cbor2.dumps(cbor2.CBORTag(18, [b"", {}, None])), "COSE_Sign1 with its tag"),
        (cbor2.dumps(cbor2.CBORTag(18, {})), "COSE_Sign1 with its tag"),
        (signature(payload=b"talk"), "has to be detached"),
        (signature(payload=b""), "has to be detached"),
        (signature(value=b"\0" * 63), "not one of Ed25519"),
        (signature(value=b"\0" * 65), "not one of Ed25519"),
        (signature(value="0" * 64), "not one of Ed25519"),
        (signature(protected="text"), "not of the right kind"),
        (signature(unprotected=[1]), "not of the right kind"),
        (signature(protected=b""), "algorithm"),
        (signature(protected=b"\xa0"), "algorithm"),
        (signature(protected=b"\x80"), "not a map"),
        (signature(protected=cbor2.dumps(PROTECTED) + b"\0"), "too many"),
        (signature(protected=b"\xff"), "indefinite"),
        (signature(unprotected={1: -8}), "the header 1 twice"),
        (protected(l1=-7), "algorithm"),
        (protected(l1=ABSENT), "algorithm"),
        (signature({3: "application/json", 15: CLAIMS}, {1: -8}), "not protected"),
        (protected(l1="EdDSA"), "algorithm"),
        (protected(l2=[15]), "headers that katod does not understand"),
        (signature(unprotected={2: [15]}), "is not in the protected headers"),
        (signature(unprotected={2: []}), "is not in the protected headers"),
        (protected(l3="text/plain"), "not one of application/json"),
        (protected(l3=50), "not one of application/json"),
        (protected(l4="key"), "key id"),
        (protected(l15=ABSENT), "who signed what"),
        (protected(l15={1: "who"}), "who signed what"),
        (protected(l15={1: "who", 2: 7}), "who signed what"),
        (protected(l15=["who", "what"]), "who signed what"),
        (signature(PROTECTED | {"x-katod": {"checkpoint": False}}), "does not understand"),
        (signature(PROTECTED | {"x-katod": {"checkpoint": True, "more": 1}}), "does not understand"),
        (signature(PROTECTED | {"x-katod": {"checkpoint": 1}}), "does not understand"),
        (signature(PROTECTED | {"x-katod": 1}), "does not understand"),
        (signature(unprotected={100: b"\0" * cose.LARGEST}), "larger than"),
    ],
)
def test_what_is_no_such_signature_is_refused(data, reason):
    """Another structure, algorithm or content, a payload inside, and what is said outside of the signed part."""
    with pytest.raises(SealError, match=reason):
        read_signature(data)


@examples(4, 2_000)
@given(st.binary(max_size=200) | st.integers(0, len(signature()) - 1).flatmap(
    lambda at: st.binary(min_size=1, max_size=3).map(lambda new: signature()[:at] + new + signature()[at + 1 :])
))  # fmt: skip
def test_no_bytes_do_more_than_be_refused(data):
    """Whatever is read is a signature in parts, or an error of katod's."""
    try:
        found = read_signature(data)
    except SealError:
        return
    assert (type(found.protected), type(found.unprotected), len(found.value)) == (bytes, dict, 64)


def test_nothing_that_is_cut_off_is_read():
    """Every beginning of a signature is refused."""
    for end in range(len(signature())):
        with pytest.raises(SealError):
            read_signature(signature()[:end])
