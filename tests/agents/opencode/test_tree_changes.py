"""OpenCode's file tree: a change to a message or a part changes the session's stat."""

import json
import os

import pytest

from katod.agents.opencode.tree import changed
from katod.model import Stat

OWN = Stat(10, 1_000, 1, 2)


@pytest.fixture
def tree(tmp_path):
    """Return a tree with a session and two messages with one part each; all files are older than the session's."""
    for name in (
        "session/p/ses_1",
        "message/ses_1/msg_1",
        "message/ses_1/msg_2",
        "part/msg_1/prt_1",
        "part/msg_2/prt_2",
    ):
        path = tmp_path / "storage" / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({}))
        os.utime(path, ns=(500, 500))
    return tmp_path / "storage"


def stat_of(tree):
    return changed(str(tree / "session/p/ses_1.json"), OWN)


def test_the_session_file_alone_is_its_own_stat(tmp_path):
    """Outside such a tree, and in the layout before 0.6, the stat is that of the session file."""
    assert changed(str(tmp_path / "ses_1.json"), OWN) == OWN
    assert changed(str(tmp_path / "storage/session/info/ses_1.json"), OWN) == OWN


@pytest.mark.whole
@pytest.mark.parametrize("name", ["message/ses_1/msg_2.json", "part/msg_2/prt_2.json"])
def test_the_latest_message_and_its_parts_tell_the_time(tree, name):
    """The session's time is that of its newest message or part; those older than its own file do not count."""
    assert stat_of(tree).mtime_ns == OWN.mtime_ns
    os.utime(tree / name, ns=(5_000, 5_000))
    assert stat_of(tree).mtime_ns == 5_000


@pytest.mark.whole
@pytest.mark.parametrize("name", ["message/ses_1/msg_0.json", "part/msg_2/prt_0.json"])
def test_one_more_file_changes_the_size(tree, name):
    """A new file changes the size even if the times are equal: an agent may write within one clock tick."""
    before = stat_of(tree)
    (tree / name).write_text("{}")
    os.utime(tree / name, ns=(500, 500))
    assert stat_of(tree).size == before.size + 1


def test_what_identifies_the_file_stays(tree):
    """Device and inode are those of the session's own file."""
    assert stat_of(tree)[2:] == OWN[2:]
