"""Published heads: what they prove of a recording, by katod and by programs that know nothing of it."""

import importlib.util
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

from katod.errors import SealError
from katod.formats.chain import ChainHead, chain_of
from katod.seal.head import PublishedHead, is_head, parse_head
from katod.store.ledger import LEDGER_NAME
from tests.support.records import OTHER, Claude, says, user
from tests.support.world import SOURCE, World

pytest.importorskip("cbor2")
CHAIN = SOURCE / "packaging" / "chain"
NODE = shutil.which("node")


def outside():
    """Return the verifier in Python that is given to others."""
    spec = importlib.util.spec_from_file_location("verify", CHAIN / "verify.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def published(world: World, monkeypatch):
    """Return a recording, its head and the public key."""
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    world.cli("seal", "--new-key")
    Claude(world).say(user("::start notes.jsonl\nhello"), says("hi"), user("more"), says("yes"))
    world.once()
    world.cli("seal", "--head", "1")
    [path] = world.home.rglob("notes.jsonl")
    [head] = path.parent.glob("notes.*.head.json")
    [key] = world.home.rglob("seal-key.pub.pem")
    return path, head, key


def test_a_head_is_signed_and_stays_true_while_the_recording_goes_on(world: World, published):
    """What came after it, and notes in the file, are named."""
    path, head, _ = published
    assert "events are as they were signed" in world.cli("seal", "--verify", str(head))
    with path.open("a") as file:
        file.write("a note of mine\n")
    Claude(world).say(user("later"))
    world.once()
    shown = world.cli("seal", "--verify", str(head))
    assert "more events, which this head does not cover" in shown
    assert "1 note in the file" in shown


def test_katod_keeps_the_head_and_finds_accidents(world: World, published):
    """Without a signature and without the session; and publishes nothing of a file that is not what it wrote."""
    path, head, _ = published
    assert "events are intact" in world.cli("verify", "--chain")
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-1]))
    assert f"has {len(lines) - 1} of {len(lines)} events" in world.cli("verify", "--chain", code=1)
    head.unlink()
    world.cli("seal", "--head", "1", code=1)
    assert "does not have the events that katod wrote" in world.said


def test_the_chain_goes_on_in_a_new_file_and_not_over_what_is_appended_again(world: World, published):
    """A recording whose file disappeared begins anew; one that lost its end has it back, and its chain."""
    path, head, _ = published
    path.unlink()
    maker = Claude(world).say(user("again"), says("and again"))
    world.once()
    [new] = [found for found in world.out.rglob("*.jsonl") if found != path] or [path]
    assert "events are intact" in world.cli("verify", "--chain")
    lines = new.read_bytes().splitlines(keepends=True)
    new.write_bytes(b"".join(lines[:-1]))
    world.cli("verify", "--append-missing", "--yes")
    maker.say(says("the end"))
    world.once()
    assert "events are intact" in world.cli("verify", "--chain")
    assert head.exists()


@pytest.mark.parametrize(("data", "said"), [
    (b"{}", "not the head"), (b"[", "not the head"), (b'{"chain":"katod.event","events":1,"hash":"md5","head":"00","session":"s"}', "not the head"),
    (b"[" * 100_000, "not the head"),
    (json.dumps(json.loads(PublishedHead("s", ChainHead()).data()), indent=1).encode(), "not in the form that is signed"),
], ids=["empty", "torn", "hash", "deep", "formatted"])  # fmt: skip
def test_what_is_no_head_is_refused(data, said):
    """In one line, whatever it is."""
    with pytest.raises(SealError, match=said):
        parse_head(data)


def test_a_head_comes_back_as_it_was():
    """And is told from an agent record."""
    head = PublishedHead("claude:s", ChainHead(3, bytes(range(32))))
    assert parse_head(head.data()) == head
    assert is_head(head.data())
    assert not is_head(b'{"id":"')


def _forged(line):
    """Yield forms in which some program takes a line for an event that was never recorded."""
    row = json.loads(line) | {"id": "forged"}
    plain = json.dumps(row, separators=(",", ":")).encode()
    yield b" " + plain
    yield json.dumps(row).encode()
    yield json.dumps(dict(reversed(row.items()))).encode()
    yield b"a note\r" + plain
    yield b"\xef\xbb\xbf" + plain
    yield plain.replace(b"katod", b"\\u006batod")


def test_a_line_that_poses_as_an_event_is_found(world: World, published):
    """By katod and both other programs, with and without a head; and no command shows it as anybody's words."""
    path, head, _ = published
    data = path.read_bytes()
    first, _, rest = data.partition(b"\n")
    for forged in _forged(first.replace(b"hello", b"FORGED")):
        path.write_bytes(first + b"\n" + forged + b"\n" + rest)
        world.cli("seal", "--verify", str(head), code=1)
        assert "looks like an event" in world.said
        assert "looks like an event" in world.cli("verify", "--chain", code=1)
        for program in _programs():
            told = subprocess.run([*program, str(head), str(path)], capture_output=True, text=True, check=False)
            assert (told.returncode, "looks like an event" in told.stdout) == (1, True), forged
        assert "FORGED" not in world.cli("search", "FORGED", code=1)
        assert "FORGED" not in world.cli("export", str(path), code=1)
    path.write_bytes(data.replace(b"\n", b"\r\n"))
    world.cli("seal", "--verify", str(head), code=1)
    assert "has a Windows line end" in world.said


def test_what_was_appended_again_is_not_certified(world: World, published):
    """A changed event stays in the file: the chain goes on from there, and says so."""
    path, _, _ = published
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-1]).replace(b"hello", b"he11o"))
    world.cli("verify", "--append-missing", "--yes", code=1)
    assert path.read_bytes().count(lines[-1]) == 1
    assert "as they were found" in world.cli("verify", "--chain")
    for one in path.parent.glob("notes.*.head.*"):
        one.unlink()
    world.cli("seal", "--head", "1")
    assert "as they were found" in world.said


def test_events_that_wait_to_be_written_are_not_missing(world: World, published):
    """As when the disk is full: the head that katod keeps is ahead of the file, which is signed as it is."""
    path, head, _ = published
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-1]))
    with closing(sqlite3.connect(world.state / LEDGER_NAME)) as ledger, ledger:
        ledger.execute("UPDATE outputs SET intent = ?", (lines[-1],))
    shown = world.cli("verify", "--chain")
    assert "except those that wait to be written" in shown
    world.cli("seal", "--head", "1")
    [new] = [found for found in path.parent.glob("notes.*.head.json") if found != head]
    assert json.loads(new.read_bytes())["events"] == len(lines) - 1


def test_a_head_that_was_half_written_is_completed(world: World, published):
    """Whatever was there first; another head in its place is left alone."""
    _, head, _ = published
    signature = head.with_name(head.name.replace(".json", ".sig.cbor"))
    kept = head.read_bytes(), signature.read_bytes()
    for missing in (head, signature):
        missing.unlink()
        world.cli("seal", "--head", "1")
        assert (head.read_bytes(), signature.read_bytes()) == kept
    signature.write_bytes(b"another")
    world.cli("seal", "--head", "1", code=1)
    assert "a different head" in world.said
    signature.write_bytes(kept[1])
    assert "as they were signed" in world.cli("seal", "--verify", str(head.rename(head.with_name("head.json"))), "--signature", str(signature),
                                              "--recording", str(head.with_name("notes.jsonl")))  # fmt: skip


def test_the_same_head_may_be_signed_by_a_second_key(world: World, published):
    """It is not called another one; once the first signature is moved away, both of them prove it."""
    _, head, key = published
    signature = head.with_name(head.name.replace(".json", ".sig.cbor"))
    second = world.home / "second.pem"
    world.cli("seal", "--new-key", "--key", str(second))
    kept = head.read_bytes(), signature.read_bytes()
    world.cli("seal", "--head", "1", "--key", str(second), code=1)
    assert f"{signature}: this head is published already, signed by another key: urn:" in world.said
    assert (head.read_bytes(), signature.read_bytes()) == kept
    head.unlink()
    world.cli("seal", "--head", "1", "--key", str(second), code=1)
    assert "there is a signature without its head, signed by another key: urn:" in world.said
    head.write_bytes(kept[0])
    first = signature.rename(signature.with_name("first.sig.cbor"))
    world.cli("seal", "--head", "1", "--key", str(second))
    assert head.read_bytes() == kept[0]
    [public] = [one for one in world.home.rglob("*.pub.pem") if one != key]
    for options in (("--key", str(public)), ("--signature", str(first), "--key", str(key))):
        assert "are as they were signed" in world.cli("seal", "--verify", str(head), *options)


def test_options_that_say_nothing_of_a_chain_are_refused(world: World, published):
    """Rather than left out; and a transcript has none."""
    for option in ("--json", "--append-missing", "--strict", "--yes"):
        world.cli("verify", "--chain", option, code=2)
    Claude(world, session=OTHER).say(user("::start words\nhello"), says("hi"))
    world.once()
    world.cli("verify", "--chain", "2", code=1)
    assert "only recordings in JSONL" in world.said


NOTES = [
    b"my note\r\n",
    b"\r\n",
    b"a\rb\n",
    b"\0\0\n",
    b"\xef\xbb\xbfa note\n",
    b"\xff\xa0{\n",
    "x\u2028{\n".encode(),
    b"mine}\r\n",
]
BLANKS = [chr(code) for code in range(0x3001) if chr(code).isspace() and chr(code) != "\n"] + ["\ufeff"]


def test_katod_and_both_programs_agree_what_a_note_is(world: World, published):
    """However its line ends: it changes nothing; but what opens like an event, behind any blank, is none of the person."""
    path, head, _ = published
    first, *rest = path.read_bytes().splitlines(keepends=True)
    verify, row = outside(), json.loads(head.read_bytes())
    cases = dict.fromkeys(NOTES, False) | {f"{blank}{{note\n".encode(): True for blank in BLANKS}
    told = _told_by_node(head, [b"".join([first, note, *rest]) for note in cases]) if NODE else [*cases.values()]
    for (note, is_strange), by_node in zip(cases.items(), told, strict=True):
        lines = [first, note, *rest]
        strange, wrong = chain_of(lines).strange, verify.check(row, lines)[0]
        assert (bool(strange), bool(wrong), by_node) == (is_strange,) * 3, note
    path.write_bytes(b"".join([first, *NOTES, *rest]))
    assert "events are intact" in world.cli("verify", "--chain")
    assert "events are as they were signed" in world.cli("seal", "--verify", str(head))


def _programs():
    return [[sys.executable, str(CHAIN / "verify.py")]] + ([[NODE, str(CHAIN / "verify.mjs")]] if NODE else [])


def test_programs_of_others_say_what_they_did_not_check(published, tmp_path):
    """Also by another name, and with a key or a signature that is none."""
    path, head, key = published
    for program in _programs():
        (tmp_path / "link").unlink(missing_ok=True)
        (tmp_path / "link").symlink_to(program[1])
        for name in (program[1], str(tmp_path / "link")):
            told = subprocess.run([program[0], name, str(head), str(path)], capture_output=True, text=True, check=True)
            assert "not checked" in told.stdout
        for wrong in (path, tmp_path / "nowhere"):
            told = subprocess.run(
                [*program, str(head), str(path), str(wrong)], capture_output=True, text=True, check=False
            )
            assert (told.returncode, "Traceback" in told.stderr) == (1, False)
        told = subprocess.run([*program, str(key), str(path)], capture_output=True, text=True, check=False)
        assert (told.returncode, "Traceback" in told.stderr) == (1, False)


def test_others_verify_without_katod(published):
    """In Python and in JavaScript, with the signature; a changed file and another key are found."""
    path, head, key = published
    programs = _programs()
    for program in programs:
        clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        told = subprocess.run(
            [*program, str(head), str(path), str(key)], capture_output=True, text=True, env=clean, check=True
        )
        assert "events are as they were published" in told.stdout
    changed = path.read_bytes().replace(b"more", b"less")
    path.write_bytes(changed)
    for program in programs:
        told = subprocess.run([*program, str(head), str(path)], capture_output=True, text=True, check=False)
        assert (told.returncode, told.stdout.splitlines()[0]) == (1, "an event was changed, removed, added or moved")


def mutations(lines, random, count):
    """Yield recordings with one change each: a byte, a deletion, two events in another order, a truncation."""
    for number in range(count):
        new, at = list(lines), random.randrange(len(lines))
        match number % 4:
            case 0:
                line = bytearray(new[at])
                place = random.randrange(len(line) - 1)
                line[place] ^= 1 << random.randrange(8)
                new[at] = bytes(line)
            case 1:
                del new[at]
            case 2:
                other = random.randrange(len(lines))
                new[at], new[other] = new[other], new[at]
            case 3:
                rest = b"".join(new)
                yield rest[: random.randrange(len(rest) - 1)]
                continue
        if new != lines:
            yield b"".join(new)


@pytest.mark.parametrize("count", [2_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_every_change_is_found(published, count):
    """Against a published head: by katod, and by both programs that know nothing of it."""
    path, head_path, _ = published
    data = path.read_bytes()
    lines, head = data.splitlines(keepends=True), parse_head(head_path.read_bytes())
    made = list(mutations(lines, Random(7), count))
    verify, row = outside(), json.loads(head.data())
    assert head.check(lines).wanted == head.chain
    for number, changed in enumerate(made):
        split = changed.splitlines(keepends=True)
        assert chain_of(split, head.chain.events).wanted != head.chain, number
        assert verify.check(row, split)[0], number
    if NODE:
        assert all(_told_by_node(head_path, made))


def _told_by_node(head: Path, made: list[bytes]) -> list[bool]:
    """Return for each recording whether the verifier in JavaScript finds something wrong with it."""
    cases = head.with_name("cases")
    with cases.open("wb") as file:
        for one in made:
            file.write(len(one).to_bytes(4, "big") + one)
    program = (
        f"import {{ check }} from {json.dumps((CHAIN / 'verify.mjs').as_uri())};\n"
        "import { readFileSync } from 'node:fs';\n"
        f"const head = JSON.parse(readFileSync({json.dumps(str(head))}));\n"
        f"const data = readFileSync({json.dumps(str(cases))});\nconst told = [];\n"
        "for (let at = 0; at < data.length; ) { const size = data.readUInt32BE(at); at += 4;\n"
        "  told.push(check(head, data.subarray(at, at + size)) !== ''); at += size; }\n"
        "console.log(JSON.stringify(told));\n"
    )
    script = head.with_name("all.mjs")
    script.write_text(program)
    told = subprocess.run([NODE, str(script)], capture_output=True, text=True, check=True)
    return json.loads(told.stdout)
