"""Sessions in a tree of files."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.support.outputs import counts
from tests.support.world import World


def write(path: Path, value: dict[str, Any]) -> None:
    """Write one of OpenCode's files in place."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))


@pytest.mark.parametrize("old", [False, True], ids=["0.6 to 1.1", "before 0.6"])
def test_a_tree_of_files_is_followed(world: World, old: bool) -> None:
    """A part that is filled in later is recorded then, even if the session's own file did not change."""
    data = world.home / ".local/share/opencode"
    storage = data / ("project/app/storage/session" if old else "storage")
    session = storage / ("info" if old else "session/p1") / "ses_1.json"
    parts = storage / ("part/ses_1" if old else "part")
    times = {"created": 4_000_000_000_000}
    info = {"id": "ses_1", "directory": "/home/me/app", "version": "1.1.65", "time": times}
    write(storage / "message/ses_1/msg_1.json", {"id": "msg_1", "sessionID": "ses_1", "role": "user", "time": times})
    prompt = {"id": "prt_1", "messageID": "msg_1", "type": "text", "text": "::start talk.md\nhello"}
    write(parts / "msg_1/prt_1.json", prompt)
    answer = {"id": "msg_2", "sessionID": "ses_1", "role": "assistant", "parentID": "msg_1", "time": times}
    write(storage / "message/ses_1/msg_2.json", answer)
    text = {"id": "prt_2", "messageID": "msg_2", "type": "text", "text": "", "time": {"start": 1}}
    write(parts / "msg_2/prt_2.json", text)
    write(session, info)
    world.once()
    assert counts(world.written()["talk.md"], "hello", "first answer") == [1, 0]
    write(parts / "msg_2/prt_2.json", text | {"text": "first answer", "time": {"start": 1, "end": 2}})
    if old:
        write(session, info | {"title": "t"})
    os.utime(parts / "msg_2/prt_2.json")
    world.once()
    assert counts(world.written()["talk.md"], "hello", "first answer") == [1, 1]
