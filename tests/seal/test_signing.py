"""Signatures of records: what verifies, and that nothing else does."""

import cbor2
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from katod.errors import SealError
from katod.seal import cose
from katod.seal.cose import Claims
from katod.seal.record import parse_record
from katod.seal.signing import sign_record
from tests.seal.verifying import verify_record
from tests.support.records import OTHER, SESSION
from tests.support.sealing import a_key, a_record, written

RECORD = parse_record(written(a_record()))
KEY = a_key()
URN = KEY.public.urn


def signed(record=RECORD, *, checkpoint=False):
    """Return the signature of a record."""
    return sign_record(record, KEY, checkpoint=checkpoint)


def other(claims, unprotected=None, record=RECORD, key=KEY):
    """Return a signature that another tool may have made."""
    return cose.sign(claims, unprotected or {}, record.data, key.sign)


def verifies(data, record=RECORD, key=KEY):
    """Return what is verified, None if the signature is refused."""
    try:
        return verify_record(record, data, key.public)
    except SealError:
        return None


@pytest.mark.parametrize("checkpoint", [False, True])
def test_a_record_and_its_signature_verify(checkpoint):
    """The issuer is the recorder, named by its key, the subject the session; nothing in it is left unchecked."""
    found = verify_record(RECORD, signed(checkpoint=checkpoint), KEY.public)
    assert found.claims == Claims(URN, SESSION, KEY.public.thumbprint, checkpoint)
    assert found.unsigned == ()


def test_anyone_can_verify_with_a_few_lines():
    """The two libraries alone suffice, with the bytes of the record's file."""
    protected, unprotected, payload, signature = cbor2.loads(signed()).value
    message = cbor2.dumps(["Signature1", protected, b"", RECORD.data])
    Ed25519PublicKey.from_public_bytes(KEY.public.raw).verify(signature, message)
    assert payload is None
    assert unprotected == {100: RECORD.trace(checkpoint=False)}
    assert cbor2.loads(protected) == {
        1: -8, 3: "application/json", 4: KEY.public.thumbprint, 15: {1: URN, 2: SESSION}
    }  # fmt: skip


def test_a_checkpoint_says_so_and_has_no_end():
    """It is in the signed part; the metadata has no time of an end."""
    protected, unprotected, *_ = cbor2.loads(signed(checkpoint=True)).value
    assert cbor2.loads(protected)["x-katod"] == {"checkpoint": True}
    assert "timestamp-end" not in unprotected[100]


def test_a_record_without_times_has_no_metadata():
    """They would need the time of a beginning, and none is invented."""
    record = parse_record(written(a_record(**{"session-start": None, "session-end": None})))
    assert cbor2.loads(signed(record)).value[1] == {}
    assert verifies(signed(record), record)


@pytest.mark.slow
def test_every_changed_byte_of_a_record_is_noticed():
    """With any bit of any byte flipped, it is no record any more, or not the one that was signed."""
    data, signature = RECORD.data, signed()
    for at in range(len(data)):
        for bit in range(8) if at % 16 == 0 else [at % 8]:
            changed = data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1 :]
            with pytest.raises(SealError):
                verify_record(parse_record(changed), signature, KEY.public)


@pytest.mark.slow
@pytest.mark.parametrize("bits", [(0, 4), pytest.param(range(8), marks=pytest.mark.slow)])
def test_every_changed_byte_of_a_signature_is_noticed(bits):
    """It does not verify; only headers that nobody signs may get another label, and then they are named."""
    data, survived = signed(), {}
    label = data.index(b"\xa1\x18\x64") + 1  # that of the trace metadata: two bytes
    for at in range(len(data)):
        for bit in bits:
            changed = data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1 :]
            if found := verifies(changed):
                survived[at, bit] = found.unsigned
    assert {at for at, _ in survived} <= {label, label + 1}
    assert survived
    assert all(unsigned and unsigned != (100,) for unsigned in survived.values())


def test_nothing_but_the_whole_signature_verifies():
    """One that is cut off, or has something after its end, is refused."""
    data = signed()
    assert [end for end in range(len(data)) if verifies(data[:end])] == []
    assert verifies(data + b"\0") is None
    assert verifies(data + data) is None


def test_a_signature_is_one_of_one_record():
    """Two sessions, or two records of one session, cannot swap their signatures."""
    changed = a_record(entries=[])
    for record in (changed, a_record(**{"session-id": OTHER})):
        second = parse_record(written(record))
        assert verifies(signed(second), second)
        assert (verifies(signed(), second), verifies(signed(second))) == (None, None)


def test_a_signature_is_one_of_one_key():
    """Another key is named as the reason, also if the claims lie about which key it was."""
    with pytest.raises(SealError, match="it was signed with another key"):
        verify_record(RECORD, signed(), a_key(2).public)
    lying = Claims(URN, SESSION, KEY.public.thumbprint)
    with pytest.raises(SealError, match="does not match this record and this key"):
        verify_record(RECORD, other(lying, key=a_key(2)), KEY.public)
    with pytest.raises(SealError, match="it was signed with another key"):
        verify_record(RECORD, other(Claims(a_key(2).public.urn, SESSION)), KEY.public)


def test_signatures_of_other_tools_verify():
    """An issuer that is no key is shown as it is claimed; what else is in the unsigned header is named."""
    found = verify_record(RECORD, other(Claims("anthropic", SESSION), {394: [b"receipt"], "x": 1}), KEY.public)
    assert (found.claims.issuer, found.unsigned) == ("anthropic", ("x", 394))


def test_a_signature_that_names_another_session_is_refused():
    """Although its bytes verify: what it says of them is not so."""
    with pytest.raises(SealError, match="names another session"):
        verify_record(RECORD, other(Claims(URN, OTHER)), KEY.public)


TRACE = RECORD.trace(checkpoint=False)


@pytest.mark.parametrize(
    "trace",
    [
        7,
        {},
        *({name: value for name, value in TRACE.items() if name != left} for left in list(TRACE)[:4]),
        *(TRACE | {name: "2"} for name in TRACE),
        TRACE | {"timestamp-start": 1},
        TRACE | {"more": 1},
    ],
)
def test_metadata_that_nobody_signed_has_to_be_that_of_the_record(trace):
    """Each value is compared, those that are required must be there, and there is no other."""
    with pytest.raises(SealError, match="trace metadata"):
        verify_record(RECORD, other(Claims(URN, SESSION), {100: trace}), KEY.public)


def test_metadata_may_have_less():
    """The end and the hash are optional, and so is all of it; an end that is not the record's is not one."""
    some = {name: TRACE[name] for name in list(TRACE)[:4]}
    assert verifies(other(Claims(URN, SESSION), {100: some}))
    assert verifies(other(Claims(URN, SESSION)))
    open_end = parse_record(written(a_record(**{"session-end": None})))
    assert verifies(other(Claims(URN, SESSION), {100: some | {"timestamp-end": 1}}, open_end), open_end) is None


def test_one_is_not_true():
    """Times are compared with their type."""
    record = parse_record(written(a_record(**{"session-start": 1})))
    trace = record.trace(checkpoint=False)
    assert verifies(other(Claims(URN, SESSION), {100: trace}, record), record)
    assert verifies(other(Claims(URN, SESSION), {100: trace | {"timestamp-start": True}}, record), record) is None
