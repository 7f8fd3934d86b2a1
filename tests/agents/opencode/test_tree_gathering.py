"""OpenCode's file tree: sessions are assembled from scattered objects."""

import errno
import json

import pytest

from katod.agents import AGENTS
from katod.agents.opencode import tree as tree_module
from katod.agents.opencode.tree import TreeSession, gathered, packed, sessions_of_objects
from katod.errors import SourceError
from katod.model import Cursor

SESSION, OTHER = {"id": "ses_1", "directory": "/a"}, {"id": "ses_2"}
MESSAGES = [{"id": "msg_1", "sessionID": "ses_1"}, {"id": "msg_2", "sessionID": "ses_1"}]
PARTS = [{"id": "prt_1", "messageID": "msg_1"}, {"id": "prt_2", "messageID": "msg_2"}]
WHOLE = {
    "info": SESSION,
    "messages": [{"info": MESSAGES[0], "parts": [PARTS[0]]}, {"info": MESSAGES[1], "parts": [PARTS[1]]}],
}


@pytest.fixture(params=["storage", "storage before 0.6"])
def tree(request, tmp_path):
    """Return the file of a session in a tree of either layout; its messages and parts are in the same tree."""
    old = request.param != "storage"
    storage = tmp_path / "storage"
    session = storage / ("session/info" if old else "session/p") / "ses_1.json"
    messages = storage / ("session/message" if old else "message") / "ses_1"
    parts = storage / ("session/part/ses_1" if old else "part")
    write(session, SESSION)
    for row in MESSAGES:
        write(messages / f"{row['id']}.json", row)
    for row in PARTS:
        write(parts / row["messageID"] / f"{row['id']}.json", row)
    return session


def write(path, row):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(row if isinstance(row, str) else json.dumps(row))


def test_objects_belong_to_the_session_that_they_name():
    """In any order, parts are attached to their messages and messages to their sessions by id."""
    assert sessions_of_objects([*PARTS, OTHER, *MESSAGES, SESSION]) == [WHOLE, {"info": OTHER, "messages": []}]


def test_messages_of_an_unknown_session_make_one():
    """If the session's own object is missing, only its id is known."""
    [session] = sessions_of_objects(MESSAGES[:1])
    assert session == {"info": {"id": "ses_1"}, "messages": [{"info": MESSAGES[0], "parts": []}]}


def test_a_session_is_gathered_from_its_files(tree):
    """Messages and parts are ordered by their file names."""
    assert json.loads(gathered(str(tree))) == WHOLE


def test_an_opened_session_file_is_the_gathered_document(tree):
    """Its size is that of the gathered document, not of the session's own file."""
    with AGENTS["opencode"].open(str(tree)) as file:
        assert (type(file), file.size) == (TreeSession, len(gathered(str(tree))))


@pytest.mark.whole
@pytest.mark.parametrize("content", ["", "{", "[]", "null"])
def test_a_half_written_part_is_left_out(tree, content):
    """A part that is not a complete JSON object is left out, and nothing else is."""
    part = next(tree.parents[2].rglob("prt_2.json"))
    part.write_text(content)
    messages = [WHOLE["messages"][0], WHOLE["messages"][1] | {"parts": []}]
    assert json.loads(gathered(str(tree))) == WHOLE | {"messages": messages}


def test_without_its_messages_a_session_is_empty(tmp_path):
    """Missing message folders give an empty session; an incomplete session file gives an empty object."""
    path = tmp_path / "storage" / "session" / "p" / "ses_1.json"
    write(path, SESSION)
    assert json.loads(gathered(str(path))) == {"info": SESSION, "messages": []}
    write(path, "{")
    assert gathered(str(path)) == b"{}"


def test_a_session_of_many_files_is_not_read_without_one_of_them(tree, monkeypatch):
    """If one file cannot be read, the whole session waits: otherwise the content of that file would be skipped."""
    read = tree_module.read_small

    def read_small(path, limit):
        if path.name == "prt_1.json":
            raise OSError(errno.EMFILE, "Too many open files")
        return read(path, limit)

    with monkeypatch.context() as full:
        full.setattr(tree_module, "read_small", read_small)
        with pytest.raises(SourceError, match="Too many open files"):
            gathered(str(tree))
    assert json.loads(gathered(str(tree))) == WHOLE


def test_a_part_that_is_nested_too_deep_is_named():
    """A part nested too deeply is replaced by a marker that keeps its ids; all other parts are unchanged."""
    deep = []
    for _ in range(2000):
        deep = [deep]
    session = {"info": SESSION, "messages": [{"info": MESSAGES[0], "parts": [PARTS[0], PARTS[0] | {"x": deep}]}]}
    [message] = json.loads(packed(session))["messages"]
    assert message == {"info": MESSAGES[0], "parts": [PARTS[0], PARTS[0] | {"type": "too-deep"}]}


def test_half_a_character_in_a_part_hides_none():
    """What was cut has one: it becomes a question mark, and all else stays."""
    part = PARTS[0] | {"text": "cut \ud83d"}
    session = {"info": SESSION, "messages": [{"info": MESSAGES[0], "parts": [part, PARTS[0]]}]}
    [message] = json.loads(packed(session))["messages"]
    assert message == {"info": MESSAGES[0], "parts": [part | {"text": "cut \ufffd"}, PARTS[0]]}


def test_objects_one_after_the_other_are_the_sessions_that_they_make_up(tmp_path):
    """Messages and parts stored as separate objects are assembled; an incomplete object at the end is left out."""
    path = tmp_path / "s.json"
    rows = [{"id": "ses_1"}, {"id": "msg_1", "sessionID": "ses_1"}, {"id": "prt_1", "messageID": "msg_1"}]
    path.write_text("\n".join(json.dumps(row, indent=1) for row in rows) + '\n{"id": "prt_2", "mess')
    with AGENTS["opencode"].open(str(path)) as file:
        [session] = [json.loads(line.data) for line in file.read(Cursor(), 0).lines]
    assert session == {"info": rows[0], "messages": [{"info": rows[1], "parts": [rows[2]]}]}
