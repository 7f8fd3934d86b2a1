"""The same against a real homeserver: Synapse on loopback, in a virtual environment of its own.

`KATOD_SYNAPSE` names a Python that has Synapse, so that it is not installed for the run.
"""

import json
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from katod.agents import AGENTS
from katod.log import EventLog
from katod.model import Options
from katod.record.export import Stretch, render_all, replay
from tests.examples import some
from tests.matrix.delivering import bare, expected
from tests.matrix.synapse import Synapse, installed
from tests.oracle.corpus import Source, corpus_folder, corpus_sources
from tests.oracle.sample import sample
from tests.support.live import Live, until
from tests.support.records import Claude, calls, line, result, says, user
from tests.support.world import World

pytestmark = pytest.mark.slow

PATIENCE = 120.0
LIVES, TURNS = 9, 6
MOST_LINES = 40  # of one real session
REFERENCE = re.compile(r"\$katod:([0-9a-f-]{36})")


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a Python that has Synapse."""
    return installed(tmp_path_factory.mktemp("synapse") / "venv")


@pytest.fixture
def started(python: Path, tmp_path: Path) -> Iterator[Callable[..., Synapse]]:
    """Return a function that starts a homeserver, which is killed after the test."""
    running: list[Synapse] = []

    def start(**options: Any) -> Synapse:
        folder = tmp_path / f"synapse-{len(running)}"
        folder.mkdir()
        running.append(Synapse(python, folder, **options))
        return running[-1]

    yield start
    for server in running:
        server.kill()


def deliver_to(server: Synapse, world: World, room: str, **settings: Any) -> None:
    """Let katod in a world deliver to a room."""
    token = world.home / "token"
    token.write_text(server.token)
    token.chmod(0o600)
    world.configure(homeserver=server.url, **{"matrix.token_file": str(token)}, room=room, **settings)


def turn(number: int) -> tuple[Any, ...]:
    """Return one turn of a conversation."""
    call = f"call-{number}"
    return (
        user(f"question {number}"),
        says(f"look {number}"),
        calls(call, "make"),
        result(call, "made"),
        says(f"a {number}"),
    )


def assert_arrived(server: Synapse, room: str, world: World) -> int:
    """Assert that a room has the recordings complete, in order, each event once, in threads; return how many events."""
    wanted = [(line.type, bare(line.content)) for line in expected(world)]
    events = server.events(room)
    assert [(event["type"], bare(event["content"])) for event in events] == wanted
    roots = [event["event_id"] for event in events if event["type"].endswith(".session.start")]
    threaded = set().union(*(server.thread(room, root) for root in roots))
    related = {e["event_id"] for e in events if e["content"].get("m.relates_to", {}).get("rel_type") == "m.thread"}
    assert threaded == related
    others = {event["type"].rpartition(".claude.")[2] for event in events if event["event_id"] not in related}
    assert others <= {"session.start", "session.active"}
    return len(events)


def until_sent(server: Synapse, room: str, world: World) -> None:
    """Wait until a room has as many events as the recordings; on a slow machine, as long as there are more of them."""
    wanted = len(expected(world))
    while (there := len(server.events(room))) < wanted:
        until(lambda there=there: len(server.events(room)) > there, f"event {there + 1} of {wanted}", PATIENCE, 0.5)


def test_a_live_recording_arrives_through_restarts_of_both_sides(world: World, started: Callable[..., Synapse]) -> None:
    """Both katod and the homeserver are killed, again and again, while an agent writes: each event is there once."""
    server = started()
    room = server.room()
    deliver_to(server, world, room)
    maker = Claude(world).say(user("before"), says("nothing"), user("::start notes\nhello"), says("yes"))
    for life in range(LIVES):
        with Live(world) as live:
            for number in range(TURNS):
                maker.say(*turn(life * TURNS + number))
                time.sleep(0.05)  # as an agent writes, not for anything to happen
            if life % 3 == 2:
                server.kill()
                maker.say(*turn(LIVES * TURNS + life))
                server.start()
            live.kill()
    maker.say(user("::stop\nafter"), says("no"))
    with Live(world):
        until_sent(server, room, world)
        until(lambda: world.status()["delivery"]["unfinished"] == [], "the end", PATIENCE)
    assert assert_arrived(server, room, world) > LIVES * TURNS * 4
    assert "after" not in {event["content"].get("text") for event in server.events(room)}


def test_a_rate_limit_is_obeyed_and_loses_nothing(world: World, started: Callable[..., Synapse]) -> None:
    """With the default limits of a homeserver, events arrive as fast as it takes them, each once."""
    server = started(limited=True)
    room = server.room()
    deliver_to(server, world, room)
    maker = Claude(world).say(user("::start notes\nhello"), says("yes"))
    with Live(world) as live:
        maker.say(*turn(0))
        live.until_said('"delivery.waits"')
        until_sent(server, room, world)
        found = live.said()
    assert "limits how many events it takes" in found
    assert found.count('"delivery.waits"') < 4
    assert assert_arrived(server, room, world) > 10


def test_an_outage_loses_nothing(world: World, started: Callable[..., Synapse]) -> None:
    """What is recorded while the homeserver is away arrives when it is back; the transcript does not wait for it."""
    server = started()
    room = server.room()
    deliver_to(server, world, room)
    maker = Claude(world).say(user("::start notes\nhello"), says("yes"))
    with Live(world) as live:
        until_sent(server, room, world)
        server.kill()
        for number in range(20):
            maker.say(*turn(number))
        live.until_written("question 19")
        live.until_said('"delivery.waits"')
        server.start()
        until_sent(server, room, world)
    assert_arrived(server, room, world)


def test_large_content_is_uploaded_and_can_be_downloaded(world: World, started: Callable[..., Synapse]) -> None:
    """An answer that does not fit into an event is on the server, and hostile text arrives as it is."""
    server = started()
    room = server.room()
    deliver_to(server, world, room)
    large, odd = "long words \U0001f600 " * 9_000, "nul \0 half HALF \x1b[31m \u202e"
    maker = Claude(world)
    maker.append(line(maker.user(f"::start notes\n{odd}")).replace(b"HALF", rb"\ud800"))
    maker.say(says(large), user("and"), says("yes"), user("::stop"))
    with Live(world):
        until(lambda: world.status()["delivery"].get("sent"), "events")
        until_sent(server, room, world)
    assert_arrived(server, room, world)
    addresses = [event["content"]["mxc_uri"] for event in server.events(room) if "mxc_uri" in event["content"]]
    assert [server.download(address).decode() for address in addresses] == [large]


def test_an_encrypted_room_is_refused(world: World, started: Callable[..., Synapse]) -> None:
    """The homeserver would take the events; katod sends none, and says why."""
    server = started()
    room = server.room(encrypted=True)
    deliver_to(server, world, room)
    Claude(world).say(user("::start notes\nhello"), says("yes"))
    with Live(world) as live:
        live.until_said('"delivery.stopped"')
        until(lambda: "the room is encrypted" in world.status()["delivery"].get("problem", ""), "the problem in status")
        assert "the room is encrypted" in world.cli("doctor", code=1)
        live.until_written("hello")
    assert server.events(room) == []


def lines_of(source: Source) -> list[dict[str, Any]]:
    """Return the first lines of a real session, with all that can be shown."""
    identity = AGENTS[source.agent].named(source.path)
    events = replay(identity.key, [Stretch(str(source.path), identity)], EventLog())
    text = "".join(render_all(events, "matrix", Options(tools="full", thinking=True)))
    return [json.loads(line) for line in text.splitlines()[:MOST_LINES]]


def send(server: Synapse, room: str, lines: list[dict[str, Any]]) -> int:
    """Send lines as any client does, with the server's ids for references; return how many events there are then."""
    sent: dict[str, str] = {}
    for row in lines:
        text = REFERENCE.sub(lambda found: sent[found[1]], json.dumps(row["content"]))
        kind = f"state/{row['type']}/" if "state_key" in row else f"send/{row['type']}/{row['txn_id']}"
        found = server.ask("PUT", f"/rooms/{quote(room)}/{kind}", json.loads(text))
        sent[row["txn_id"]] = found["event_id"]
    return len(set(sent.values()))


@pytest.mark.skipif(not corpus_sources(), reason=f"there are no real sessions in {corpus_folder()}")
def test_real_sessions_of_every_agent_are_taken(started: Callable[..., Synapse]) -> None:
    """Some of each: the server takes every event, and each refers to an earlier one. Equal states are one event."""
    server, sessions, chosen = started(), 0, some(sample(), 18)
    room = server.room()
    for source in chosen:
        if lines := lines_of(source):
            assert send(server, room, lines) >= sum("state_key" not in row for row in lines), source.name
            sessions += 1
    assert sessions >= len(chosen) * 3 // 4
