"""What every agent's sessions must give, whatever their format: one set of cases, run for all adapters.

Each conversation is followed as it grows, with a new process after each record, and the result must equal that of
one process that reads it as a whole.
"""

from collections import Counter
from typing import Any, NamedTuple

import orjson
import pytest

from katod import events as ev
from katod.agents import AGENTS
from tests.examples import mostly
from tests.support.records import MAKERS, OTHER, SESSION, UNKNOWN, Maker, Said, calls, result, says, user
from tests.support.world import World

TALK = (
    user("::start talk.jsonl\nfirst words"),
    says("first answer"),
    calls("call-1", "make test"),
    result("call-1", "all is well"),
    UNKNOWN,
    says("second answer"),
    user("second words"),
    says("third answer"),
    user("::stop"),
)
WORDS = ["first words", "first answer", "second answer", "second words", "third answer"]


@pytest.fixture(params=MAKERS, ids=lambda maker: maker.__name__)
def make(request: pytest.FixtureRequest) -> type[Maker]:
    """Return each agent's maker in turn."""
    maker: type[Maker] = request.param
    return maker


def say_at_once(world: World, maker: Maker, *things: Said) -> None:
    """Write everything that is said, and process it together."""
    maker.say(*things)
    world.once()


def say_one_by_one(world: World, maker: Maker, *things: Said) -> None:
    """Write everything that is said, with a new process for each record."""
    for said in things:
        for record in maker.records(said):
            maker.put(record)
            world.once()


class Told(NamedTuple):
    """The result of a conversation: the events of its recording and of an export, and the session's maker."""

    maker: Maker
    recorded: list[dict[str, Any]]
    exported: list[dict[str, Any]]


@pytest.fixture(scope="module", params=MAKERS, ids=lambda maker: maker.__name__)
def teller(request: pytest.FixtureRequest) -> type[Maker]:
    """Return each agent's maker in turn, for tests that share one conversation."""
    maker: type[Maker] = request.param
    return maker


_WAYS = [
    pytest.param(say_at_once, id="at once"),
    pytest.param(say_one_by_one, id="restarted after each", marks=pytest.mark.slow),
]


@pytest.fixture(scope="module", params=_WAYS)
def told(request: pytest.FixtureRequest, teller: type[Maker], tmp_path_factory: pytest.TempPathFactory) -> Told:
    """Return the conversation, recorded and exported once for all tests that read it."""
    with pytest.MonkeyPatch.context() as patch:
        world = World(tmp_path_factory.mktemp("told") / "home", patch)
        maker = teller(world)
        request.param(world, maker, *TALK)
        world.assert_live_is_batch()
        exported = world.cli("export", "latest", "-f", "jsonl").splitlines()
        return Told(maker, events(world), [orjson.loads(row) for row in exported])


def makers_with(what: str, often: tuple[str, ...] = tuple(AGENTS)) -> pytest.MarkDecorator:
    """Run a case for the agents whose format supports it, by default for `often`; others give the reason in `ABSENT`."""
    makers = [maker for maker in MAKERS if what not in maker.ABSENT]
    usual = [maker for maker in makers if maker.agent in often]
    return pytest.mark.parametrize("make", mostly(usual, makers), ids=lambda maker: maker.__name__)


ONE_OF_EACH_KIND = ("claude", "gemini", "opencode")  # lines, lines or a document, a database
files = makers_with("files", ONE_OF_EACH_KIND)  # for what happens to the files, whatever is in them


def events(world: World, name: str = "talk.jsonl") -> list[dict[str, Any]]:
    """Return the events of an output."""
    return [orjson.loads(row) for row in world.written()[name].splitlines()]


def of(rows: list[dict[str, Any]], *kinds: str) -> list[dict[str, Any]]:
    """Return the events of the given kinds."""
    return [row for row in rows if row["kind"] in kinds]


def words(rows: list[dict[str, Any]]) -> list[str]:
    """Return the texts of user and assistant, in order, without what the client sends before them."""
    said = (row["payload"] for row in of(rows, ev.USER_MESSAGE, ev.ASSISTANT_MESSAGE))
    return [payload["text"] for payload in said if payload.get("subtype") != "context"]


def test_every_adapter_has_a_maker() -> None:
    """Every registered adapter has a maker, so that it is tested here."""
    assert {maker.agent for maker in MAKERS} == set(AGENTS)


def test_what_a_format_lacks_is_a_case() -> None:
    """Every reason in `ABSENT` is for a case that exists."""
    cases = {"result", "torn", "sub-agent", "fork", "cwd"}
    assert {what for maker in MAKERS for what in maker.ABSENT} <= cases


def test_a_conversation_is_told_in_order_and_once(told: Told) -> None:
    """All texts between the start and the stop command are recorded, in order and once."""
    assert words(told.recorded) == WORDS


def test_ids_are_stable_and_unique(told: Told) -> None:
    """The same source gives the same unique ids, however it was read."""
    live, exported = ([row["id"] for row in rows] for rows in (told.recorded, told.exported))
    assert max(Counter(live).values()) == 1
    assert set(live) <= set(exported)
    assert max(Counter(exported).values()) == 1


def test_a_result_names_its_call(told: Told) -> None:
    """A result refers to its call by id; a format without results gives none."""
    asked, answered = of(told.recorded, ev.TOOL_CALL), of(told.recorded, ev.TOOL_RESULT)
    assert asked[0]["payload"]["family"] == "execute"
    if "result" in told.maker.ABSENT:
        assert answered == []
    else:
        assert [row["payload"]["toolCallId"] for row in answered] == [row["payload"]["toolCallId"] for row in asked]
        assert answered[0]["payload"]["text"] == "all is well"


def test_an_unknown_record_is_kept(told: Told) -> None:
    """A record that katod does not understand is kept in the JSONL unchanged."""
    kept = of(told.recorded, ev.PROVIDER_RAW)
    assert [UNKNOWN.text in str(row["payload"]["raw"]) for row in kept] == [True]


def test_usage_is_told_once_a_message(told: Told) -> None:
    """Usage is recorded once per message, however often the agent writes it."""
    counts = Counter(row["source"].get("messageId", row["id"]) for row in of(told.recorded, ev.USAGE))
    assert all(count == 1 for count in counts.values())


def test_no_time_is_invented(told: Told) -> None:
    """Each time comes from the source; a record without a time gives an event without one."""
    for row in told.recorded:
        if "time" in row and told.maker.agent != "cursor":  # Cursor writes its times as prose, to the minute
            assert told.maker.tells(row["time"])
        assert ("time" in row) == ("timeSource" in row)


def test_what_the_client_says_for_the_person_never_commands(world: World, make: type[Maker]) -> None:
    """A command in text that the client, the assistant or a tool wrote is text."""
    maker = make(world)
    maker.put(*maker.wrapped("::start evil"))
    maker.say(says("::start evil"), calls("call-1", "::start evil"), result("call-1", "::start evil"), says("done"))
    world.once()
    assert world.written() == {}
    maker.say(user("::start good"))
    world.once()
    assert list(world.written()) == ["good.md"]


@files
def test_history_never_commands(world: World, make: type[Maker]) -> None:
    """Commands that predate katod are ignored; a later `::capture` includes everything said before."""
    maker = make(world).say(user("::start early"), says("long ago")).age()
    world.once()
    assert world.written() == {}
    maker.say(user("::capture whole.jsonl"), says("today"))
    world.once()
    assert list(world.written()) == ["whole.jsonl"]
    assert words(events(world, "whole.jsonl")) == ["long ago", "today"]


@makers_with("torn", ONE_OF_EACH_KIND)
def test_a_torn_record_waits_for_its_end(world: World, make: type[Maker]) -> None:
    """An incomplete record gives nothing; once complete, it is recorded once."""
    maker = make(world).say(user("::start talk.jsonl\nfirst words"))
    world.once()
    before = maker.path.read_bytes()
    maker.put(maker.records(says("first answer"))[0])
    whole = maker.path.read_bytes()
    for cut in (len(before) + 1, (len(before) + len(whole)) // 2, len(whole) - 1):
        maker.path.write_bytes(whole[:cut])
        world.once()
        assert "first answer" not in words(events(world))
    maker.path.write_bytes(whole)
    world.once()
    assert words(events(world)) == ["first words", "first answer"]


@files
@pytest.mark.parametrize(
    "tell", [say_at_once, pytest.param(say_one_by_one, marks=pytest.mark.slow)], ids=["at once", "restarted after each"]
)
def test_a_rewritten_file_doubles_nothing(world: World, make: type[Maker], tell: Any) -> None:
    """Nothing is recorded twice when a new file has the same records, and more after them."""
    maker = make(world)
    tell(world, maker, *TALK[:6])
    maker.rewrite()
    world.once()
    tell(world, maker, *TALK[6:])
    assert words(events(world)) == WORDS


@files
def test_a_shortened_file_takes_nothing_back(world: World, make: type[Maker]) -> None:
    """When the agent drops its oldest records, the recorded text stays, and new text follows it."""
    maker = make(world).say(*TALK[:4])
    world.once()
    maker.rewrite(lambda n, record: (n == 0 and "startTime" in record) or n > 1 or _opens(record))
    world.once()
    maker.say(says("second answer"))
    world.once()
    assert words(events(world)) == ["first words", "first answer", "second answer"]


def _opens(record: dict[str, Any]) -> bool:
    """Return whether a record is the header of its file, without which nothing can be read."""
    named = record.get("type") in ("session_meta", "session.start", "session", "meta")
    return named or not record.keys().isdisjoint(("startTime", "instructions"))


@files
def test_a_vanished_source_ends_nothing(world: World, make: type[Maker]) -> None:
    """While a source is gone, its output stays; when the source is back, the recording resumes where it was."""
    maker = make(world).say(*TALK[:2])
    world.once()
    content = maker.path.read_bytes()
    maker.path.unlink()
    world.once()
    maker.path.write_bytes(content)
    maker.say(says("second answer"))
    world.once()
    assert words(events(world)) == ["first words", "first answer", "second answer"]


@makers_with("sub-agent")
def test_a_sub_agent_is_a_session_of_its_own(world: World, make: type[Maker]) -> None:
    """A sub-agent's text is not in its parent's recording, and commands in it are ignored."""
    make(world).say(*TALK[:2])
    make(world, subagent="abc").say(user("::start evil\nlook around"), says("nothing here"))
    world.once()
    assert words(events(world)) == ["first words", "first answer"]
    assert list(world.written()) == ["talk.jsonl"]
    listed = [orjson.loads(row) for row in world.cli("sessions", "--all", "--json").splitlines()]
    assert {row.get("subagent", "") for row in listed} == {"", "abc"}


@makers_with("fork", ONE_OF_EACH_KIND)
def test_a_copy_of_a_session_commands_nothing_twice(world: World, make: type[Maker]) -> None:
    """Commands in a fork, or in the same file elsewhere, are not obeyed a second time."""
    maker = make(world).say(*TALK)
    world.once()
    other = make(world, OTHER)
    other.path.write_bytes(maker.path.read_bytes().replace(SESSION.encode(), OTHER.encode()))
    world.once()
    if make.agent in ("claude", "copilot", "pi"):  # records keep their ids when they are copied
        assert list(world.written()) == ["talk.jsonl"]


@makers_with("cwd")
def test_the_place_is_known(world: World, make: type[Maker]) -> None:
    """The project's path comes from the session, so that outputs are in its folder."""
    maker = make(world).say(user("hello"))  # an agent that is still running
    assert orjson.loads(world.cli("sessions", "--json"))["project"] == maker.cwd
