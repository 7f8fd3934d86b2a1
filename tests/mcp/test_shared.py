"""Other agents read what other machines recorded, and nothing else of what they share."""

import os

import pytest

from katod.archive.manifest import MANIFEST
from katod.mcp.recordings import Library
from katod.mcp.tools import list_sessions, read_session, search_sessions
from tests.mcp.test_tools import error, everything
from tests.support.machines import Machine
from tests.support.records import SESSION, Codex, calls, result, says, user

TOKEN = "ghp_" + "a1B2c3D4e5F6" * 3
ID = f"claude:{SESSION}"


@pytest.fixture
def laptop(tmp_path):
    """Return a machine with a session of which the end is recorded, and one that is not recorded."""
    laptop = Machine("laptop", tmp_path)
    make = laptop.claude()
    make.say(user("Not yet: the lantern"), user(f"::start basket\nWhere is the basket? {TOKEN}"), says("In cart.ts."))
    laptop.session(2, "codex").append(Codex().meta(), Codex().user("The basket of the other shop"))
    laptop.once()
    laptop.share()
    return laptop


@pytest.fixture
def library(tmp_path, laptop):
    desktop = Machine("desktop", tmp_path)
    return Library(desktop.state, (str(laptop.shared),))


def test_only_what_was_recorded_there_is_given(library):
    """With the machine's name and without a number; what was said before the recording can be neither found nor read."""
    [row] = list_sessions(library).facts["sessions"]
    assert (row["session"], row["machine"], row["recording"], row["being_recorded"]) == (ID, "laptop", 0, False)
    [found] = search_sessions(library, query="basket").facts["found"]
    assert (found["session"], found["machine"]) == (ID, "laptop")
    assert search_sessions(library, query="lantern").facts["found"] == []
    read = read_session(library, session=ID)
    assert "In cart.ts." in read.text
    assert "is_end" in read.facts
    assert "lantern" not in everything(read)
    assert "no recorded session" in error(read_session, library, session="00000002")


def test_secrets_of_other_machines_are_removed(library, laptop):
    """Also those that were exported with them."""
    laptop.cli("export", "--all", "-f", "jsonl", "--no-redact", "-o", str(laptop.shared))
    for answer in (list_sessions(library), search_sessions(library, query="basket"), read_session(library, session=ID)):
        assert TOKEN not in everything(answer)
    assert search_sessions(library, query="ghp_a1B2c3").facts["found"] == []


def test_a_recording_that_is_here_is_given_once(library, laptop):
    """Of this machine, if it has one of the session; its own part is not read."""
    own = Library(laptop.state, library.folders)
    [row] = list_sessions(own).facts["sessions"]
    assert "machine" not in row
    assert row["recording"] == 1


def test_what_cannot_be_read_is_said_when_it_is(library, laptop):
    """In words that name no path; the others are given."""
    [path] = [path for path in laptop.part.rglob("*.jsonl") if path.name[0] != "." and b"lantern" in path.read_bytes()]
    path.unlink()
    [row] = list_sessions(library).facts["sessions"]
    assert row["title"] == ID
    said = error(read_session, library, session=ID)
    assert "no longer exists" in said
    assert search_sessions(library, query="basket").facts["not_searched_elsewhere"] == [ID]


def test_a_recording_shows_what_it_shows_on_its_own_machine(tmp_path):
    """Without tools, neither calls nor their results can be read or found."""
    laptop, desktop = Machine("laptop", tmp_path), Machine("desktop", tmp_path)
    make = laptop.claude()
    make.say(user("::start -tools\nrun it"), calls("c1", "make quagga"), result("c1", "zanzibar"), says("Done."))
    laptop.once()
    laptop.share()
    library = Library(desktop.state, (str(laptop.shared),))
    read = read_session(library, session=ID, recording=0).text
    assert "Done." in read
    assert not any(word in read for word in ("quagga", "zanzibar"))
    for word in ("quagga", "zanzibar"):
        assert search_sessions(library, query=word).facts["found"] == []
    assert search_sessions(library, query="Done").facts["found"]


def test_of_transcripts_nothing_is_given(tmp_path):
    """Which parts of a text were recorded, nobody knows."""
    laptop, desktop = Machine("laptop", tmp_path), Machine("desktop", tmp_path)
    laptop.configure(auto=True)
    laptop.claude().say(user("the lantern"), says("It is blue."))
    laptop.once()
    laptop.share("markdown")
    library = Library(desktop.state, (str(laptop.shared),))
    assert list_sessions(library).facts["sessions"] == []


def test_a_list_of_a_later_katod_may_have_formats_that_are_not_known(library, laptop):
    """The rest of it is read."""
    path = laptop.part / MANIFEST
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines, lines[-1].replace(b'"format":"jsonl"', b'"format":"from-the-future"')]))
    assert search_sessions(library, query="basket").facts["found"]


def test_a_session_is_as_old_as_on_its_own_machine(library, laptop):
    """However lately it was exported."""
    os.utime(laptop.claude().path, (1_600_000_000, 1_600_000_000))
    laptop.share()
    [row] = list_sessions(library).facts["sessions"]
    assert row["changed"].startswith("2020-09-13")
    assert list_sessions(library, since="today").facts["sessions"] == []
