"""`katod verify`: what is missing, and what is only waiting."""

import json

import pytest

from katod.cli import verify
from tests.support.records import Claude, Codex, line, says, user


def test_a_parked_output_is_no_loss(world):
    """What is waiting to be written is not reported as missing: it is counted, with the reason."""
    make, source = Claude(), world.claude()
    source.append(make.user("::start n\none"))
    world.once()
    [marker] = world.out.glob(".katod-*")
    marker.unlink()
    source.append(make.says("two"))
    world.once()
    assert "are waiting to be written (" in world.cli("verify")
    marker.touch()
    world.once()
    assert "n.md: as recorded\n" in world.cli("verify")


def test_a_changed_part_fails(world):
    """Exit code 1, with the number of parts that differ."""
    world.claude().append(Claude().user("::start n\nsome words"))
    world.once()
    path = world.home / "katod" / "app" / "n.md"
    path.write_text(path.read_text().replace("some", "other"))
    assert "parts are missing or changed" in world.cli("verify", code=1)


def test_a_part_that_older_rules_redacted_is_said_to_be_one(world, monkeypatch):
    """A recording keeps the version of the rules it started with, so a difference is explained."""
    world.claude().append(Claude().user("::start n\nsome words"))
    world.once()
    path = world.home / "katod" / "app" / "n.md"
    path.write_text(path.read_text().replace("some", "other"))
    monkeypatch.setattr(verify, "RULES_VERSION", 99)
    assert "older set of rules" in world.cli("verify", code=1)


def test_what_cannot_be_checked_fails_only_if_asked(world):
    """Agents delete their sessions: that is counted, and fails with `--strict`."""
    source = world.claude()
    source.append(Claude().user("::start n\nsome words"))
    world.once()
    source.path.unlink()
    assert "can no longer be checked (session file: no longer exists)" in world.cli("verify")
    assert "1 of 1 recordings can no longer be checked" in world.said
    world.cli("verify", "--strict", code=1)
    assert "requires that every recording can be checked" in world.said


def a_recording(world, name="n", *last):
    """Record a session that has an answer, two steps that are left out, and a record that katod does not know."""
    make = Claude()
    step = line({"type": "progress", "data": {"type": "bash_progress"}, "timestamp": "2026-02-10T22:36:18.000Z"})
    world.claude().append(
        make.user(f"::start {name}\none"), make.says("two"), step, step, line({"type": "new"}), make.says("3"),
        *map(make.user, last),
    )  # fmt: skip
    world.once()


def test_what_became_of_the_records_is_in_a_second_line(world):
    """In words, of a recording in any format: all records, and by name those that are not in it."""
    a_recording(world)
    assert world.cli("verify").splitlines()[1:] == [
        "   agent's records in it: 3 of 6 translated, 2 left out (progress/bash_progress 2), 1 not understood (new 1)"
    ]


def test_json_has_the_sums(world):
    """One object for each recording, with the receipt that a recording in JSONL would end with."""
    a_recording(world)
    [row] = map(json.loads, world.cli("verify", "--json").splitlines())
    assert (row["id"], row["matches"], row["text"]) == (1, True, "as recorded")
    assert row["receipt"] == {
        "records": 6, "told": 3, "repeated": 0, "leftOut": {"progress/bash_progress": 2}, "notUnderstood": {"new": 1},
        "gaps": {},
    }  # fmt: skip


def test_json_says_what_is_missing(world):
    """And of a recording that can no longer be checked neither that, nor whether it matches."""
    a_recording(world)
    path = world.home / "katod" / "app" / "n.md"
    path.write_text(path.read_text().replace("two", "2"))
    row = json.loads(world.cli("verify", "--json", code=1))
    assert (row["matches"], row["missing"]) == (False, 1)
    world.claude().path.unlink()
    assert not {"matches", "missing", "receipt"} & json.loads(world.cli("verify", "--json")).keys()


def test_a_receipt_in_words_names_the_most_frequent_kinds():
    """What is zero is not said, and gaps are explained."""
    row = {
        "records": 1234,
        "told": 1000,
        "repeated": 4,
        "leftOut": {},
        "notUnderstood": {},
        "gaps": {"encryptedThinking": 7},
    }
    row["leftOut"] = {f"kind {n:02}": 1 + (n == 5) for n in range(12)}
    said = verify.receipt_in_words(row)
    assert said.startswith(
        "agent's records in it: 1,000 of 1,234 translated, 4 written again, 13 left out (kind 05 2, kind 00 1, "
    )
    assert said.endswith(" 2 other kinds); of these 7 with encrypted thinking")
    del row["leftOut"]["kind 00"]
    row["gaps"] = {"partsNotUnderstood": 1, "missingParent": 1}
    said = verify.receipt_in_words(row)
    assert said.endswith(
        " 1 other kind); of these 1 with parts not understood, 1 with a parent that is not in the file"
    )


def test_a_receipt_in_words_is_one_line_without_secrets(world):
    """An agent, or whoever wrote its file, may call a record anything."""
    make, token = Claude(), "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
    step = line({"type": "progress", "data": {"type": f"{token}\n1  /x.md: as recorded"}})
    world.claude().append(make.user("::start n\none"), step, make.says("two"))
    world.once()
    said = world.cli("verify")
    assert len(said.splitlines()) == 2
    assert "[REDACTED:github-token] 1 /x.md" in said
    assert token not in said + world.cli("verify", "--json")


def test_a_receipt_that_differs_is_no_loss(world):
    """The agent wrote less about what it did, or a newer katod calls that something else: the conversation is whole."""
    a_recording(world, "n.jsonl", "::stop")
    path = world.home / "katod" / "app" / "n.jsonl"
    path.write_text(path.read_text().replace('"progress/bash_progress":2', '"progress/bash_progress":3'))
    assert "all 8 parts found; the agent's records were counted differently" in world.cli("verify")
    whole = path.read_text()
    path.write_text(whole[: whole.rindex("\n", 0, -1) + 1])
    assert "counted differently" in world.cli("verify", "--append-missing", "--yes")
    assert path.read_text().count("recording.receipt") == 0


def a_record_more(lines):
    """The agent writes a title before everything."""
    return [line({"type": "summary", "summary": "A title", "leafUuid": "x"}), *lines]


def a_withdrawn_answer(lines):
    """The agent drops a record."""
    return [lines[0], *lines[2:]]


def a_shorter_record(lines):
    """The agent leaves out the words of a record that keeps its id."""
    return [lines[0], lines[1].replace(b"two", b"[cleared]"), *lines[2:]]


@pytest.mark.parametrize("rewrite", [a_record_more, a_withdrawn_answer, a_shorter_record])
def test_a_session_that_its_agent_wrote_again_is_no_loss_in_jsonl(world, rewrite):
    """Where records are in it now is not compared; an event that the recording has is not appended a second time."""
    a_recording(world, "n.jsonl", "five")
    path, source = world.home / "katod" / "app" / "n.jsonl", world.claude().path
    source.write_bytes(b"".join(rewrite(source.read_bytes().splitlines(keepends=True))))
    world.once()
    whole = path.read_bytes()
    assert "parts are intact, but the session has changed since" in world.cli("verify")
    world.cli("verify", "--append-missing", "--yes")
    assert path.read_bytes() == whole
    assert "events are intact" in world.cli("verify", "--chain")


def test_a_session_without_ids_that_was_written_again_is_no_loss_in_jsonl(world):
    """Events that are named after where their records are have other names then, and are the same."""
    make = Codex(world).say(user("hello"), says("hi"), user("::capture n.jsonl\nagain"), says("bye"))
    world.once()
    [path] = world.files()
    whole, source = path.read_bytes(), make.path.read_bytes()
    make.path.write_bytes(source.replace(b'"hi"', b'"[cleared]"'))
    world.once()
    shown = world.cli("verify", code=1)
    assert "1 of 6 parts are missing or changed" in shown
    world.cli("verify", "--append-missing", "--yes")
    assert path.read_bytes().startswith(whole)
    assert path.read_bytes()[len(whole) :].count(b"\n") == 1


def test_an_event_that_was_changed_in_jsonl_is_named_and_not_appended(world):
    """It is there under its id; one that is not there is appended, once."""
    a_recording(world, "n.jsonl", "five")
    path = world.home / "katod" / "app" / "n.jsonl"
    *lines, last = path.read_text().replace('"text":"two"', '"text":"2"').splitlines(keepends=True)
    path.write_text("".join(lines))
    assert "2 of 8 parts are missing or changed" in world.cli("verify", code=1)
    for _ in range(2):
        said = world.cli("verify", "--append-missing", "--yes", code=1)
        assert path.read_text() == "".join([*lines, last])
    assert "nothing to append" in said
    assert "1 of 8 parts are missing or changed" in said


def test_a_note_in_jsonl_is_an_edit(world):
    """And not a change of the session."""
    a_recording(world, "n.jsonl")
    path = world.home / "katod" / "app" / "n.jsonl"
    path.write_text(f"{path.read_text()}a note of mine\n")
    assert "parts found, in a file that was edited" in world.cli("verify")


EDITS = {
    "a tag": lambda text: text.replace("tags: [", "tags: [mine, "),
    "no front matter": lambda text: text.split("---\n", 2)[2].lstrip(),
    "other line ends": lambda text: text.replace("\n", "\r\n"),
    "a byte order mark": lambda text: f"\ufeff{text}",
    "an empty file": lambda _: "",
    "a lost answer": lambda text: text.replace("\n3\n", "\n"),
}


@pytest.mark.parametrize(("how", "lost"), [*zip(EDITS, (0, 0, 0, 0, 4, 1), strict=True)])
def test_what_is_missing_is_appended_once(world, how, lost):
    """The second time, nothing is: the recording is as good as it was, and `katod status` has nothing to recommend."""
    a_recording(world)
    path = world.home / "katod" / "app" / "n.md"
    path.write_text(EDITS[how](path.read_text()), newline="")
    edited = path.read_bytes()
    row = json.loads(world.cli("verify", "--json", code=int(lost > 0)))
    assert (row["matches"], row.get("missing", 0)) == (lost == 0, lost)
    for _ in range(2):
        world.cli("verify", "--append-missing", "--yes")
        assert path.read_text().count("Missing from this file and added again") == (1 if lost else 0)
    assert path.read_bytes().startswith(edited)
    assert bool(lost) == (path.read_bytes() != edited)
    assert world.status()["missing"] == []


def test_a_recording_goes_on_below_what_was_appended(world):
    """What follows is found there, and so is what is appended later."""
    make, source = Claude(), world.claude()
    source.append(make.user("::start n\none"), make.says("two"))
    world.once()
    path = world.home / "katod" / "app" / "n.md"
    for words in ("three", "ok", "ok"):
        path.write_text(path.read_text().replace("\ntwo\n", "\n2\n").replace("\nok\n", "\n"))
        world.cli("verify", "--append-missing", "--yes")
        make.count += 20
        source.append(make.says(words), make.user("five"))
        world.once()
        assert "parts found" in world.cli("verify")
        whole = path.read_bytes()
        world.cli("verify", "--append-missing", "--yes")
        assert path.read_bytes() == whole


def test_what_katod_writes_below_a_note_is_not_missing(world):
    """It has a heading there instead of the time that has passed."""
    make, source = Claude(), world.claude()
    source.append(make.user("::start n\none"), make.says("two"))
    world.once()
    path = world.home / "katod" / "app" / "n.md"
    path.write_text(f"{path.read_text()}\nA note of mine\n")
    make.count += 20
    source.append(make.says("three"), make.says("four"))
    world.once()
    assert "changed by hand" in path.read_text()
    assert "all 5 parts found" in world.cli("verify")
