"""Whatever became of an edit, a file is changed only if a result says so: for each agent, in each format."""

import re
from pathlib import Path
from typing import Any, Final

import orjson
import pytest

from katod import events as ev
from katod.events import Event
from katod.formats.transcript.brief import brief
from katod.formats.transcript.pullrequest import pull_request
from katod.formats.transcript.turns import gathered
from katod.formatspec import FORMATS
from katod.metadata import SessionMetadata
from katod.model import Options, SessionKey
from katod.record.export import read_katod
from katod.serve.page.changedfiles import files_of
from tests.agents.test_compliance import makers_with
from tests.support.records import Maker, says, user
from tests.support.records.edits import PATH, edit_by
from tests.support.rendering import rendered
from tests.support.world import World

MADE: Final = "made"
answered = makers_with("result")
# What each format of machines writes only of a file that was changed.
CHANGED: Final = {
    "jsonl": '"files":[', "matrix": '.file.change"', "agent-record": '"file-attribution"',
    "vcon": '"agent_file_change"', "atif": '"files":[', "atif-1.8": '"files":[',
}  # fmt: skip


def exported(world: World, maker: Maker, *records: Any) -> list[Event]:
    """Return the events of a session in which an edit ended like this, after which the agent said something."""
    maker.say(user("Edit the note")).put(*records).say(says("That is all."), user("thanks"), says("bye"))
    world.once()
    lines = world.cli("export", "latest", "-f", "jsonl").encode().splitlines(keepends=True)
    return [event for event, _ in read_katod(lines, Path("edit.jsonl"))]


def replayed(events: list[Event]) -> list[tuple[Event, SessionMetadata]]:
    """Return the events, each with what is known of the session by then."""
    metadata = SessionMetadata(SessionKey(events[0].session.agent, events[0].session.id))
    return [(event, metadata) for event in metadata.observed(events)]


def named_by(events: list[Event]) -> set[str]:
    """Return the forms that say that a file was changed."""
    texts = {name: rendered(name, events) for name in FORMATS}
    found = {name for name, sign in CHANGED.items() if sign in texts[name]}
    found |= {name for name in ("markdown", "html") if "1 file (" in texts[name]}
    messages = [orjson.loads(row).get("message", {}) for row in texts["stream"].splitlines()]
    found |= {"stream"} if any(message.get("success") for message in messages) else set()
    conversation = gathered(replayed(events), Options(recorder="katod"))
    assert conversation is not None
    found |= {"brief"} if "# Files changed" in brief(conversation, 20_000) else set()
    found |= {"pull request"} if "1 file (" in pull_request(conversation) else set()
    *_, files = files_of(replayed(events), str)
    return found | ({"page"} if files else set())


@answered
def test_an_edit_that_was_made_is_counted(world: World, make: type[Maker]) -> None:
    """A file that was changed is named by every form that names changed files; its call is about its path in the project."""
    maker = make(world)
    maker.say(user("hello"))
    edit = edit_by(maker, "e1")
    every = {"markdown", "html", "stream", "matrix", "brief", "pull request", "page"}
    events = exported(world, maker, *edit.call, *edit.made)
    assert named_by(events) >= every
    assert [event.payload["description"] for event in events if event.kind == ev.TOOL_CALL] == [PATH.rpartition("/")[2]]


@pytest.mark.slow
@answered
def test_an_edit_that_was_not_made_changes_no_file(world: World, make: type[Maker]) -> None:
    """An edit that failed, was declined, cancelled or never answered changes no file in any format."""
    ends = edit_by(make(world, "ffffffff-1111-4222-8333-444444444444").say(user("hello")), "e1").unmade
    for number, name in enumerate(ends):
        maker = make(world, f"{number:08d}-1111-4222-8333-444444444444").say(user("hello"))
        edit = edit_by(maker, "e1")
        events = exported(world, maker, *edit.call, *edit.unmade[name])
        assert named_by(events) == set(), name
        came = [event.payload for event in events if event.kind == ev.TOOL_RESULT]
        assert not any(map(ev.went_well, came)), name
        assert name == "missing" or len(came) == 1, name
        told = rendered("markdown", events, Options(recorder="katod"))
        assert name == "missing" or re.search(r"- (?:failed|declined|interrupted)", told), name
