"""`katod seal`: signs what has ended, verifies, makes keys, and says what that proves."""

import json
import os
import sys
import time
from types import SimpleNamespace

import pytest

from katod.cli import seal
from katod.errors import SourceError
from katod.seal.keys import make_key, read_public
from tests.examples import mostly
from tests.support.records import MAKERS, OF_EACH_NATURE, SESSION, Claude, Gemini, calls, result, says, user
from tests.support.sealing import a_record, written

PROOF = "This proves who signed the record and that nothing changed since, not that what was said is true.\n"


@pytest.fixture
def key(world, monkeypatch):
    """Return the key of this home."""
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    world.cli("seal", "--new-key")
    [path] = world.home.rglob("seal-key.pem")
    return path


@pytest.fixture
def talk(world):
    """Return the record of a session that ended two days ago."""
    return exported(world, Claude(world).say(user("hello"), says("yes")), days=2)


def exported(world, maker, *, days=0.0, name="talk"):
    """Return the record of a session whose file changed so many days ago, or just now."""
    if days:
        aged(maker, days)
    path = world.home / f"{name}.acr.json"
    world.cli("export", "latest", "-f", "agent-record", "-o", str(path))
    return path


def aged(maker, days):
    """Have the session's file changed so many days ago."""
    then = time.time() - days * 86400
    os.utime(maker.path, (then, then))


def test_a_key_is_made_once(world, key):
    """It is said where both halves are and what for; making it again is refused."""
    assert key.parent.name == "katod"
    world.cli("seal", "--new-key", "--key", str(world.home / "other"))
    shown = world.cli("seal", "--new-key", "--key", str(world.home / "third.pem"))
    assert f"wrote {world.home}/third.pem: the private key" in shown
    assert f"wrote {world.home}/third.pub.pem: the public key" in shown
    assert read_public(world.home / "third.pub.pem").urn in shown
    world.cli("seal", "--new-key", code=1)
    assert "seal-key.pem: already exists" in world.said


def test_what_was_sealed_verifies(world, key, talk):
    """The signature is beside the record, for others to read; it is said who signed what, and what that proves."""
    mine = read_public(key).urn
    signature = world.home / "talk.acr.sig.cbor"
    before = os.umask(0o027)
    assert world.cli("seal", str(talk)) == f"wrote {signature}\nsigned by {mine}\n"
    os.umask(before)
    assert world.said == ""
    assert signature.stat().st_mode & 0o777 == 0o640
    record = json.loads(talk.read_bytes())
    assert world.cli("seal", "--verify", str(talk)) == (
        f"{talk}: verified, nothing changed since it was signed\n"
        f"  signed by  {mine}\n"
        f"  session    {SESSION}\n"
        f"  agent      claude-code, model {record['session']['agent-meta']['model-id']} of anthropic\n"
        f"  began      {record['session']['session-start']}\n"
        f"  ended      unknown\n{PROOF}"
    )
    for half in (key, key.with_name("seal-key.pub.pem")):
        assert PROOF in world.cli("seal", "--verify", str(talk), "--key", str(half))


@pytest.mark.usefixtures("key")
def test_a_changed_record_does_not_verify(world, talk):
    """Exit code 1; so does the record of another session, and the same one with another key."""
    world.cli("seal", str(talk))
    signature = world.home / "talk.acr.sig.cbor"
    talk.write_bytes(talk.read_bytes().replace(b"hello", b"hallo"))
    world.cli("seal", "--verify", str(talk), code=1)
    assert f"{signature}: does not verify: it does not match this record and this key" in world.said
    other = world.home / "other.json"
    other.write_bytes(written(a_record()))
    world.cli("seal", "--verify", str(other), "--signature", str(signature), code=1)
    assert "does not verify" in world.said
    make_key(world.home / "b.pem")
    world.cli("seal", "--verify", str(talk), "--key", str(world.home / "b.pem"), code=1)
    assert "it was signed with another key" in world.said


@pytest.mark.usefixtures("key")
def test_a_signature_that_is_none_does_not_verify(world, talk):
    """Cut off, not there, a folder, or far too large: it is said which file."""
    signature = world.home / "talk.acr.sig.cbor"
    world.cli("seal", "--verify", str(talk), code=1)
    assert f"{signature}: does not verify: there is no signature" in world.said
    world.cli("seal", str(talk))
    signature.write_bytes(signature.read_bytes()[:-1])
    world.cli("seal", "--verify", str(talk), code=1)
    assert f"{signature}: does not verify: it is cut off" in world.said
    signature.write_bytes(bytes(10**6))
    world.cli("seal", "--verify", str(talk), code=1)
    assert "it is larger than" in world.said


@pytest.mark.usefixtures("key")
def test_a_signature_is_never_overwritten(world, talk):
    """It is said what to do instead; nor is anything that a link leads to."""
    world.cli("seal", str(talk))
    signature = world.home / "talk.acr.sig.cbor"
    before = signature.read_bytes()
    world.cli("seal", str(talk), code=1)
    assert "a signature already exists" in world.said
    assert signature.read_bytes() == before
    link = world.home / "link.sig.cbor"
    link.symlink_to(world.home / "elsewhere")
    world.cli("seal", str(talk), "--signature", str(link), code=1)
    assert not (world.home / "elsewhere").exists()
    second = str(world.home / "second.sig.cbor")
    world.cli("seal", str(talk), "--signature", second)
    assert PROOF in world.cli("seal", "--verify", str(talk), "--signature", second)


@pytest.mark.usefixtures("key")
def test_a_session_that_may_go_on_is_refused(world):
    """Its file has just changed, or a tool call is open; nothing is written, and a checkpoint is offered."""
    maker = Claude(world).say(user("hello"), says("yes"))
    talk = exported(world, maker)
    world.cli("seal", str(talk), code=1)
    assert f"{talk}: the session may still go on: its files changed within the last 15 minutes" in world.said
    maker.say(calls("c", "make"))
    talk = exported(world, maker, days=0.5, name="b")
    world.cli("seal", str(talk), code=1)
    assert "a tool call in it has no result yet, and its files changed within the last day" in world.said
    maker.say(result("c", "done"))
    talk = exported(world, maker, days=0.5, name="c")
    world.cli("seal", str(talk), code=1)
    assert "its last message has no answer, and its files changed within the last day" in world.said
    maker.say(says("made"))
    talk = exported(world, maker, days=0.5, name="d")
    world.cli("seal", str(talk))
    assert [path.name for path in world.home.glob("*.sig.cbor")] == ["d.acr.sig.cbor"]


@pytest.mark.usefixtures("key")
def test_a_session_that_has_gone_on_is_refused(world):
    """However long ago that was: the record is not of all of it. As a checkpoint it may be sealed, and is one."""
    maker = Claude(world).say(user("hello"), says("yes"))
    talk = exported(world, maker, days=9)
    maker.say(says("one word more"))
    aged(maker, 8)
    world.cli("seal", str(talk), code=1)
    assert "the session has gone on since this was exported" in world.said
    assert "the signature of a checkpoint" in world.cli("seal", str(talk), "--checkpoint")
    assert "a checkpoint: the session was expected to go on" in world.cli("seal", "--verify", str(talk))


@pytest.mark.usefixtures("key")
@pytest.mark.parametrize("make", mostly(OF_EACH_NATURE, MAKERS), ids=lambda maker: maker.__name__)
def test_whether_a_session_grows_is_told_of_every_agent(world, monkeypatch, make):
    """Unchanged, its last event is that of the record; with one message more, it is another one."""
    maker = make(world).say(user("hello"), says("yes"))
    talk = exported(world, maker)
    then = time.time() + 2 * 86400
    monkeypatch.setattr(seal, "time", SimpleNamespace(time=lambda: then))
    world.cli("seal", str(talk))
    assert world.said == ""
    maker.say(says("one word more"))
    world.cli("seal", str(talk), "--signature", str(world.home / "b"), code=1)
    assert "the session has gone on since this was exported" in world.said


@pytest.mark.usefixtures("key")
def test_a_session_is_known_by_its_whole_id(world):
    """The name of a Gemini session's file has eight digits of it; another session that shares them is another one."""
    maker = Gemini(world).say(user("hello"), says("yes"))
    talk = exported(world, maker)
    maker.path.unlink()
    Gemini(world, f"{SESSION[:8]}-0000-4000-8000-000000000000").say(user("hello"), says("yes"))
    world.cli("seal", str(talk))
    assert f"gemini:{SESSION} was not found on this machine" in world.said


@pytest.mark.usefixtures("key")
def test_what_cannot_be_checked_is_sealed_and_said(world, talk, monkeypatch):
    """The session is not on this machine, or the record is another tool's."""
    (world.home / f".claude/projects/-home-me-app/{SESSION}.jsonl").unlink()
    world.cli("seal", str(talk))
    assert f"claude:{SESSION} was not found on this machine: whether it is still growing was not checked" in world.said
    other = world.home / "other.json"
    other.write_bytes(written(a_record()))
    monkeypatch.chdir(world.home)
    assert "wrote other.sig.cbor" in world.cli("seal", "other.json")
    assert "not known to have been written by katod" in world.said


@pytest.mark.usefixtures("key")
def test_a_session_that_cannot_be_read_is_refused(world, talk, monkeypatch):
    """Nobody can tell whether it grows; a checkpoint can be sealed."""

    def replay(*_):
        raise SourceError("cannot be read: Permission denied", path="/a")

    monkeypatch.setattr(seal, "replay", replay)
    world.cli("seal", str(talk), code=1)
    assert "cannot determine whether its session is still growing: /a: cannot be read: Permission denied" in world.said
    world.cli("seal", str(talk), "--checkpoint")


@pytest.mark.usefixtures("key")
def test_a_record_in_another_form_is_refused(world, talk):
    """An editor formatted it: it is said what to do, for signing and verifying."""
    world.cli("seal", str(talk))
    talk.write_text(json.dumps(json.loads(talk.read_bytes()), indent=2))
    world.cli("seal", str(talk), "--signature", str(world.home / "b"), code=1)
    assert "is not in the form that is signed" in world.said
    world.cli("seal", str(talk), "--verify", code=1)
    assert "it does not match this record" in world.said


def test_without_a_key_it_is_said_how_to_make_one(world, talk, monkeypatch):
    """To verify, the signer's is needed."""
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    world.cli("seal", str(talk), code=1)
    assert "no such key file" in world.said
    world.cli("seal", "--verify", str(talk), code=1)
    assert "seal-key.pub.pem: no such key file" in world.said


def test_a_key_that_others_can_read_is_not_used(world, key, talk):
    """Nothing is signed with it."""
    key.chmod(0o644)
    world.cli("seal", str(talk), code=1)
    assert f"{key}: is not used: others have access to it (mode 0644)" in world.said
    assert list(world.home.glob("*.sig.cbor")) == []


@pytest.mark.parametrize("library", ["cbor2", "cryptography"])
@pytest.mark.parametrize("arguments", [("talk.json",), ("--verify", "talk.json"), ("--new-key",)])
def test_without_the_extra_it_is_said_how_to_install_it(world, monkeypatch, library, arguments):
    """Signatures need two libraries that katod can do without."""
    monkeypatch.setitem(sys.modules, library, None)
    world.cli("seal", *arguments, code=1)
    assert "signatures need cbor2 and cryptography, which are not installed" in world.said


@pytest.mark.parametrize(
    "arguments",
    [
        (), ("--verify",), ("--new-key", "x.json"), ("--new-key", "--verify"), ("--new-key", "--checkpoint"),
        ("--new-key", "--signature", "x"), ("--verify", "--checkpoint", "x.json"), (".",), ("x.json", "--key", "/"),
    ],
)  # fmt: skip
def test_options_that_exclude_each_other(world, arguments):
    """They are wrong usage."""
    world.cli("seal", *arguments, code=2)


@pytest.mark.usefixtures("key")
def test_a_file_without_a_name_is_none(world):
    """It is one line, as everything that goes wrong."""
    for arguments in (("",), ("--verify", ""), ("--new-key", "--key", "")):
        world.cli("seal", *arguments, code=1)
        assert "Traceback" not in world.said


@pytest.mark.usefixtures("key")
def test_what_a_stranger_signed_cannot_affect_the_terminal(world):
    """Names in a record come from anyone."""
    record = world.home / "evil.json"
    record.write_bytes(written(a_record(**{"session-id": "\x1b[2J\x9b2J\n  signed by  somebody"})))
    world.cli("seal", str(record))
    shown = world.cli("seal", "--verify", str(record))
    assert not {"\x1b", "\x9b"} & set(shown)
    assert [line.split()[:2] for line in shown.splitlines()].count(["signed", "by"]) == 1
