"""What every agent's sessions must give, whatever their format: one set of cases, run for all adapters.

Each conversation is followed as it grows, with a new process after each record, and the result must equal that of
one process that reads it as a whole.
"""

import os
import re
import time
from collections import Counter
from pathlib import Path
from typing import Any, Final, NamedTuple

import orjson
import pytest

from katod import events as ev
from katod.agents import AGENTS
from katod.pipeline import STEP_BYTES
from katod.service import control
from katod.service.control import Request
from tests.examples import mostly
from tests.support.inprocess import InProcess
from tests.support.records import (
    MAKERS,
    OTHER,
    RELATIVES,
    SESSION,
    UNKNOWN,
    Maker,
    Said,
    calls,
    moment,
    result,
    says,
    user,
)
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
OFTEN: Final = tuple(name for name, spec in AGENTS.items() if not spec.form)
WORDS = ["first words", "first answer", "second answer", "second words", "third answer"]


# What is true of an agent is true of those that write its form; the default tests leave these out.
ALL: Final = (*MAKERS, *(pytest.param(maker, marks=pytest.mark.slow) for maker in RELATIVES))


@pytest.fixture(params=ALL, ids=lambda maker: maker.__name__)
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


@pytest.fixture(scope="module", params=ALL, ids=lambda maker: maker.__name__)
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


def makers_with(what: str, often: tuple[str, ...] = OFTEN) -> pytest.MarkDecorator:
    """Run a case for the agents whose format supports it, by default for `often`; others give the reason in `ABSENT`."""
    makers = [maker for maker in (*MAKERS, *RELATIVES) if what not in maker.ABSENT]
    usual = [maker for maker in makers if maker.agent in often]
    return pytest.mark.parametrize("make", mostly(usual, makers), ids=lambda maker: maker.__name__)


ONE_OF_EACH_KIND = ("claude", "gemini", "opencode")  # lines, lines or a document, a database
COPIES_KEEP_IDS = ("claude", "cline", "copilot", "kimi", "pi", "qwen")  # of records
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
    """Every registered adapter in which something may be a command has a maker, so that it is tested here."""
    heard = {name for name, spec in AGENTS.items() if spec.commands}
    assert {maker.agent for maker in (*MAKERS, *RELATIVES)} == heard


def test_what_a_format_lacks_is_a_case() -> None:
    """Every reason in `ABSENT` is for a case that exists."""
    cases = {"result", "torn", "sub-agent", "fork", "cwd", "between", "task"}
    assert {what for maker in MAKERS for what in maker.ABSENT} <= cases


def test_a_conversation_is_told_in_order_and_once(told: Told) -> None:
    """All texts between the start and the stop command are recorded, in order and once."""
    assert words(told.recorded) == WORDS


def test_ids_are_stable_and_unique(told: Told) -> None:
    """The same source gives the same unique ids, however it was read."""
    live, exported = ([row["id"] for row in rows] for rows in (told.recorded, told.exported))
    live = [name for name in live if not name.endswith(":receipt")]  # of the recording, not of the session
    assert max(Counter(live).values()) == 1
    assert set(live) <= set(exported)
    assert max(Counter(exported).values()) == 1


def test_a_recording_ends_with_a_receipt(told: Told) -> None:
    """It says of each native record what became of it, whether katod was restarted after each or not."""
    [found] = of(told.recorded, ev.RECEIPT)
    assert found is told.recorded[-1]
    row = found["payload"]
    others = [*row["leftOut"].values(), *row["notUnderstood"].values()]
    assert row["records"] == row["told"] + row["repeated"] + sum(others)
    assert row["told"] > 0
    assert row["repeated"] == 0 or told.maker.agent in {"gemini", "cursor"}


def test_a_result_names_its_call(told: Told) -> None:
    """A result refers to its call by id; a format without results gives none."""
    asked, answered = of(told.recorded, ev.TOOL_CALL), of(told.recorded, ev.TOOL_RESULT)
    assert asked[0]["payload"]["family"] == "execute"
    if "result" in told.maker.ABSENT:
        assert answered == []
    else:
        assert [row["payload"]["toolCallId"] for row in answered] == [row["payload"]["toolCallId"] for row in asked]
        assert answered[0]["payload"]["text"] == "all is well"


SEPARATE = [maker for maker in MAKERS if "result" not in maker.ABSENT and not maker.JOINS_RESULTS]


@pytest.mark.parametrize("make", SEPARATE, ids=lambda maker: maker.__name__)
def test_a_result_written_before_its_call_follows_it(world: World, make: type[Maker]) -> None:
    """Whatever the order of their records, each call is recorded once, and its result after it."""
    early = (result("call-1", "all is well"), calls("call-1", "make test"))
    say_one_by_one(world, make(world), *TALK[:2], *early, says("second answer"))
    rows = of(events(world), ev.TOOL_CALL, ev.TOOL_RESULT)
    assert [row["kind"] for row in rows] == [ev.TOOL_CALL, ev.TOOL_RESULT]
    assert len({row["payload"]["toolCallId"] for row in rows}) == 1
    world.assert_live_is_batch()


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


LOG = [f"12:00:{n:02} deploy: step {n} of the pasted log" for n in range(12)]


@pytest.mark.parametrize("place", ["recorded", "not recorded"])
def test_a_command_inside_a_paste_is_text(world: World, make: type[Maker], place: str) -> None:
    """Where the agent marks no pastes, a command in the middle of a long message is text, and a near miss."""
    maker = make(world)
    maker.say(user("::start talk.jsonl\nfirst words" if place == "recorded" else "first words"), says("first answer"))
    word = "stop" if place == "recorded" else "start"
    pasted = "\n".join(["look at this:", *LOG[:6], f"::{word}", *LOG[6:]])
    maker.say(user(pasted), says("second answer"))
    world.once()
    shown = orjson.loads(world.cli("status", "--json"))
    if AGENTS[make.agent].marks_pastes:
        assert not shown["nearMisses"]
        return
    assert [(row["kind"], row["command"]) for row in shown["nearMisses"]] == [("inside", word)]
    if place == "recorded":
        assert words(events(world)) == ["first words", "first answer", pasted, "second answer"]
    else:
        assert world.written() == {}


@pytest.mark.parametrize("place", ["recorded", "not recorded"])
def test_a_near_miss_is_told_once(world: World, make: type[Maker], place: str) -> None:
    """A line that looks like a command is told once, however often its client writes its file anew."""
    maker = make(world)
    maker.say(user("::start talk.jsonl\nfirst words" if place == "recorded" else "first words"), says("first answer"))
    world.once()
    maker.say(user("::strat talk"), says("second answer"))
    world.once()
    maker.say(user("more"), says("third answer"))
    world.once()
    maker.say(user("::record talk"), says("fourth answer"))
    world.once()
    shown = orjson.loads(world.cli("status", "--json"))["nearMisses"]
    assert sorted(row["kind"] for row in shown) == ["misspelt", "of another tool"]


@files
def test_a_near_miss_of_the_past_is_not_told(world: World, make: type[Maker]) -> None:
    """What was typed before katod first saw the session is history, also where a client writes its file anew."""
    maker = make(world).say(user("::strat talk"), says("first answer")).age()
    world.once()
    maker.say(user("more"), says("second answer"))
    world.once()
    assert orjson.loads(world.cli("status", "--json"))["nearMisses"] == []


def test_a_command_at_an_end_of_a_long_message_acts(world: World, make: type[Maker]) -> None:
    """Long text may follow `::start`, and precede `::stop`."""
    maker = make(world)
    maker.say(user("\n".join(["::start talk.jsonl", *LOG])), says("first answer"))
    maker.say(user("\n".join([*LOG, "::stop"])), says("second answer"))
    world.once()
    assert words(events(world)) == ["\n".join(LOG), "first answer", "\n".join(LOG)]


@pytest.mark.parametrize(
    "tell", [say_at_once, pytest.param(say_one_by_one, marks=pytest.mark.slow)], ids=["at once", "restarted after each"]
)
def test_every_session_in_which_the_agent_speaks_is_auto_recorded(world: World, make: type[Maker], tell: Any) -> None:
    """With `recording.auto`, nothing that a person types is needed, nor that katod runs all the time."""
    world.configure(auto=True, format="jsonl")
    maker = make(world)
    maker.put(*maker.wrapped("the client's words"))
    world.once()
    tell(world, maker, says("first answer"), says("second answer"))
    [name] = world.written()
    assert words(events(world, name))[-2:] == ["first answer", "second answer"]


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


@pytest.mark.parametrize("polls", [pytest.param(True, id="polled"), pytest.param(False, id="at once")])
def test_a_history_that_is_written_again_commands_and_says_nothing(
    world: World, make: type[Maker], polls: bool
) -> None:
    """A client that writes its history again, under other ids, neither obeys its commands once more nor doubles it."""
    maker, poll = make(world), world.once if polls else int
    history = [
        user("::start talk.jsonl\nfirst"), says("one"), user("::stop"), says("two"), user("third"), says("three"),
        user("::export copy.jsonl"), says("four"),
    ]  # fmt: skip
    say_one_by_one(world, maker, *history)
    written = world.written()
    for said in history:
        maker.say(said)
        poll()
    world.once()
    assert world.written() == written
    maker.say(user("::start more.jsonl\nnew words"), says("a new answer"))
    world.once()
    assert words(events(world, "more.jsonl")) == ["new words", "a new answer"]
    assert set(world.written()) == {*written, "more.jsonl"}


@pytest.mark.slow
@pytest.mark.parametrize("cut", [1, 3, 4])
def test_a_history_that_is_cut_by_a_stop_from_the_shell_acts_no_more(world: World, make: type[Maker], cut: int) -> None:
    """Its recording ends while the client writes the history again: the rest of it starts nothing and writes nothing."""
    maker = make(world)
    history = [
        user("::start talk.jsonl\nfirst"),
        says("one"),
        user("and then"),
        says("two"),
        user("more"),
        says("three"),
    ]
    say_one_by_one(world, maker, *history)
    maker.say(*history[:cut])
    world.once()
    agent, _, session = world.status()["recordings"][0]["session"].partition(":")
    control.enqueue(world.state, Request((agent, session, ""), "stop", "", moment()))
    world.once()
    written = world.written()
    maker.say(*history[cut:])
    world.once()
    assert world.written() == written
    assert [words(events(world))[:5], len(words(events(world)))] == [["first", "one", "and then", "two", "more"], 6]
    maker.say(user("::start more.jsonl\nnew words"), says("a new answer"))
    world.once()
    assert words(events(world, "more.jsonl")) == ["new words", "a new answer"]


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


@pytest.mark.parametrize("later", [(), (user("::stop"), says("after it"))], ids=["answer", "command"])
def test_what_is_written_between_two_steps_is_read(world: World, make: type[Maker], later: tuple[Said, ...]) -> None:
    """A step stops at a command, and the next one goes on with it: the records behind it may be newer than the first."""
    running, maker = InProcess(world), make(world).say(user("earlier"), says("at length " * (STEP_BYTES // 10)))
    running.turn()
    maker.say(user("::start talk.jsonl\nfirst words"))
    running.step()
    maker.say(says("first answer"), *later)
    running.turn()
    running.stop()
    assert words(events(world)) == ["first words", "first answer"]
    assert bool(world.status()["recordings"]) == (not later)


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


BETWEEN = "the words of another agent"


@makers_with("between", tuple(AGENTS))
def test_words_between_agents_are_of_neither_the_person_nor_the_assistant(world: World, make: type[Maker]) -> None:
    """They are no messages of these, whatever record they come in, and no title; commands inside never act."""
    maker = make(world)
    put_between(maker, "::start evil\n::stop")
    maker.say(user("real words"), says("first answer"))
    put_between(maker, "::capture evil")
    maker.say(says("second answer"))
    world.once()
    assert world.written() == {}
    rows = [orjson.loads(row) for row in world.cli("export", maker.source, "-f", "jsonl").splitlines()]
    assert _said(rows) == ["real words", "first answer", "second answer"]
    shown = world.cli("export", maker.source)
    assert "\n# real words\n" in shown
    assert_collapsed(shown, [f"{BETWEEN} in a {kind}" for kind in maker.between("")])


def put_between(maker: Maker, more: str) -> None:
    """Write all that the agent records of words between agents."""
    for kind in maker.between(""):
        maker.put(*maker.between(f"{BETWEEN} in a {kind}\n{more}")[kind])


@makers_with("task", tuple(AGENTS))
def test_the_task_of_a_spawned_session_is_nobodys_message(world: World, make: type[Maker]) -> None:
    """What a sub-agent is given is collapsed, and a search finds it as a task; commands in it never act.

    Nor does it matter that the session that started it has not changed since.
    """
    parent = make(world).say(*TALK[:2])
    child = parent.child()
    world.once()
    before = time.time() - 60
    os.utime(parent.path, (before, before))
    child.say(user(f"{BETWEEN}\n::start evil"), says("nothing here"), user(f"{BETWEEN}\n::stop"), says("still nothing"))
    world.once()
    assert list(world.written()) == ["talk.jsonl"]
    rows = [orjson.loads(row) for row in world.cli("export", child.source, "-f", "jsonl").splitlines()]
    assert _said(rows) == ["nothing here", "still nothing"]
    shown = world.cli("export", child.source)
    assert "## You" not in shown
    assert_collapsed(shown, [BETWEEN])
    found = world.cli("search", "--all", "--json", BETWEEN).splitlines()
    assert {orjson.loads(row)["speaker"] for row in found} == {"Task"}


def _said(rows: list[dict[str, Any]]) -> list[str]:
    """Return what the person and the assistant say."""
    spoken = of(rows, ev.USER_MESSAGE, ev.ASSISTANT_MESSAGE)
    shown = (row["payload"] for row in spoken)
    return [row["text"] for row in shown if row.get("subtype") not in {"context", *ev.BETWEEN}]


def assert_collapsed(shown: str, wanted: list[str]) -> None:
    """Assert that words are in collapsed blocks that say whose they are, and nowhere else but in the title."""
    blocks = re.findall(r"<details>\n<summary>▸ <b>[^\n]*</summary>\n.*?\n</details>\n", shown, re.DOTALL)
    assert [words for words in wanted if not any(words in block for block in blocks)] == []
    for block in blocks:
        shown = shown.replace(block, "")
    rest = [line for line in shown.splitlines() if BETWEEN in line]
    assert [line for line in rest if not line.startswith(("# ", "title: "))] == []


@makers_with("fork", ONE_OF_EACH_KIND)
def test_a_copy_of_a_session_commands_nothing_twice(world: World, make: type[Maker]) -> None:
    """Commands in a fork, or in the same file elsewhere, are not obeyed a second time."""
    maker = make(world).say(*TALK)
    world.once()
    other = make(world, OTHER)
    other.path.write_bytes(maker.path.read_bytes().replace(SESSION.encode(), OTHER.encode()))
    world.once()
    if make.agent in COPIES_KEEP_IDS:
        assert list(world.written()) == ["talk.jsonl"]


@makers_with("fork", ("claude", "kimi", "copilot"))
def test_a_fork_does_not_obey_history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: type[Maker]) -> None:
    """Nor does a copy of what was typed before katod was installed, in which folder ever the agent puts it."""
    if make.agent not in COPIES_KEEP_IDS:
        return
    monkeypatch.setattr("katod.record.history._LATE_NS", -60 * 10**9)  # what was typed a moment ago is old
    world = World(tmp_path / "home", monkeypatch, seen_empty=False)
    maker = make(world).say(*TALK)
    world.once()
    other = make(world, OTHER)
    other.path.write_bytes(maker.path.read_bytes().replace(SESSION.encode(), OTHER.encode()))
    world.once()
    assert list(world.written()) == []


@makers_with("cwd")
def test_the_place_is_known(world: World, make: type[Maker]) -> None:
    """The project's path comes from the session, so that outputs are in its folder."""
    maker = make(world).say(user("hello"))  # an agent that is still running
    assert orjson.loads(world.cli("sessions", "--json"))["project"] == maker.cwd
