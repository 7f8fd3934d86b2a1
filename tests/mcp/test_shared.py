"""Other agents read what other machines recorded, and nothing else of what they share."""

import pytest

from katod.mcp.recordings import Library
from katod.mcp.tools import list_sessions, read_session, search_sessions
from tests.mcp.test_tools import error, everything
from tests.support.machines import Machine
from tests.support.records import SESSION, Codex, says, user

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
    assert search_sessions(library, query="basket").facts["not_searched"] == [0]


def test_a_transcript_of_a_session_that_was_recorded_as_a_whole_is_given_as_text(tmp_path):
    """Without its secrets; where there are no events, it is called like its file."""
    laptop, desktop = Machine("laptop", tmp_path), Machine("desktop", tmp_path)
    laptop.configure(auto=True)
    laptop.claude().say(user(f"the lantern {TOKEN}"), says("It is blue."))
    laptop.once()
    laptop.cli("export", "--all", "--no-redact", "-o", str(laptop.shared))
    library = Library(desktop.state, (str(laptop.shared),))
    read = read_session(library, session=ID)
    assert "It is blue." in read.text
    assert TOKEN not in everything(read)
    assert "the-lantern" in list_sessions(library).facts["sessions"][0]["title"]
