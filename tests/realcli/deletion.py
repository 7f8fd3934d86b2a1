"""Sessions that a client deletes at its start because they are old, with katod there to save them before that."""

import json
import os
import re
import uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from unittest import mock

from katod.rescue import rescuer
from katod.rescue.copyfile import members, pieces, read_about
from katod.rescue.names import place_of
from tests.support.live import until
from tests.support.world import World

MANY = 200
DAYS_OLD, DAYS_DUE = 31, 29  # of those that the client deletes, and of one that it would still keep
COMMAND = "::start old.jsonl\n\nthe words of old"
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


class OldSessions:
    """Copies of a session that the client wrote, under other ids, as old as they are to be."""

    def __init__(self, play):
        self.client = play.client
        self.client.begin(COMMAND)
        (self.first,) = self._files()
        self.text = self.first.read_text()
        self.id = self._id()

    def _files(self):
        return [path for path in self.client.files.rglob("*.jsonl") if "old.jsonl" in path.read_text()]

    def _id(self):
        return next(json.loads(row)["sessionId"] for row in self.text.splitlines() if "sessionId" in json.loads(row))

    def add(self, days, project=None):
        """Add a session; return its path."""
        new = str(uuid.uuid4())
        text = self.text.replace(self.id, new)
        then = datetime.now(UTC) - timedelta(days=days)
        text = re.sub(r'("(?:lastUpdated|startTime)":")[^"]+', rf"\g<1>{then:%Y-%m-%dT%H:%M:%S.000Z}", text)
        folder = self.first.parent
        if project is not None:
            text = text.replace(str(self.client.project), project)
            folder = folder.with_name(f"{folder.name}-other")
            folder.mkdir(exist_ok=True)
        name = self.first.name.replace(self.id, new).replace(self.id[:8], new[:8])
        path = folder / name
        path.write_text(text)
        os.utime(path, (then.timestamp(), then.timestamp()))
        self.client.left = self.client.kept()
        return path


def hold_while_old_ones_are_deleted(play, resume):
    """Let the client delete old sessions; assert that each is saved, and that one of them goes on once it is put back.

    `resume` returns the arguments with which the client goes on with the session of a file.
    """
    old = OldSessions(play)
    content = {path: path.read_bytes() for path in (old.add(DAYS_OLD) for _ in range(MANY))}
    deleted_by_hand = old.add(DAYS_DUE)
    excluded = [old.add(DAYS_OLD, "/home/me/secret") for _ in range(3)] if play.client.agent == "claude" else []
    world = World(play.client.home, seen_empty=False)
    world.variables |= play.client.environment
    world.configure(rescue=True, exclude=["/home/me/secret"], directory="~/out")
    world.process()
    assert copies(world).keys() == {*content, deleted_by_hand}
    deleted_by_hand.unlink()
    with mock.patch.object(rescuer, "PATIENCE", 0.0):  # it might be back in a moment
        world.process()
        world.process()
    play.client.left = play.client.kept()
    begin_slowly(play, content)
    world.process()
    assert copies(world) == content
    kept = world.home / ".local/share/katod"
    assert not [path for path in kept.rglob("*") if path.is_file() and b"/home/me/secret" in path.read_bytes()]
    assert not [path for path in excluded if path in copies(world)]
    assert_goes_on(play, world, next(iter(content)), resume)


def begin_slowly(play, doomed):
    """Have the client work until it has deleted what it deletes: it begins with that a few seconds after its start."""
    with ThreadPoolExecutor(1) as pool:
        turn = pool.submit(play.client.begin, "a new conversation (slow)")
        try:
            until(lambda: not any(path.exists() for path in doomed), "the end of the old sessions", 60.0)
        finally:
            play.release()
        turn.result()


def copies(world):
    """Return the files of all saved sessions, by their old paths."""
    found = {}
    for place in (world.home / ".local/share/katod/rescued").glob("*/*.zip"):
        about = read_about(place)
        with members(place_of(place.parents[1], about.key)) as (_, archive):
            found |= {type(world.home)(file.path): b"".join(pieces(archive, file.name)) for file in about.files}
    return found


def assert_goes_on(play, world, path, resume):
    """Put a session back, and go on with it: the model is told what was said, and no old command acts."""
    key = next(str(about.key) for about in map(read_about, (world.home / ".local/share/katod/rescued").glob("*/*.zip"))
               if about.files[0].path == str(path))  # fmt: skip
    world.cli("rescue", "--restore", key)
    world.process()
    play.client.left = play.client.kept()
    play.client.run(*resume(path), "-p", "what was it about")
    assert "the words of old" in play.request()
    world.process()
    assert not world.outputs()
    assert path.exists()
