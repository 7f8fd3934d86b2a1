"""`katod sessions`: what is listed, on a terminal and in a pipe."""

import os
import time
from datetime import datetime, timedelta

import orjson
import pytest
from rich.cells import cell_len

from katod.cli import sessionrow, sessions, usage
from katod.cli.context import Context
from katod.record import currentstate
from katod.search import since as moments
from katod.states import RUNS
from katod.usage.pricing import NoPrices
from tests.support.records import Claude, Cline, Codex, GeminiDocument, Pi, says, user


@pytest.mark.parametrize("width", [50, 80, 200])
def test_a_terminal_shows_every_column(world, monkeypatch, width):
    """However narrow it is, state, agent and session id are shown below a header: the title is cut."""
    monkeypatch.setattr(sessions, "terminal_width", lambda: width)
    world.claude().append(Claude().user("words " * 30))
    header, row = world.cli("sessions").splitlines()
    last = ["last"] if width > 50 else []
    assert header.split() == [*last, "state", "agent", "session", "project", "title"]
    assert "claude" in row
    assert "6f1c2c1e" in row
    assert row.endswith("…")
    assert cell_len(row) <= width


def test_a_session_has_the_name_that_it_has_by_now(world):
    """The person's own, wherever it was given, then the agent's; then the first words that say something."""
    make, source = Claude(), world.claude()
    named = []

    def title():
        named.append(orjson.loads(world.cli("sessions", "--json"))["title"])

    source.append(make.user("commit"), make.says("Which?"))
    title()
    source.append(make.user("- Add a login page"), make.says("With pleasure."))
    title()
    source.append({"type": "ai-title", "aiTitle": "Login page of the shop"}, make.says("Look at it."))
    title()
    source.append({"type": "custom-title", "customTitle": "Login"})
    title()
    source.append({"type": "ai-title", "aiTitle": "Something else"}, *(make.says("more " * 500) for _ in range(9)))
    source.append({"type": "custom-title", "customTitle": "Login"})
    title()
    assert named == ["app 2026-02-10", "Add a login page", "Login page of the shop", "Login", "Login"]


def test_a_name_is_found_where_only_the_middle_of_a_file_has_it(world):
    """As clients wrote it that did not repeat it; a name that a tool returned is none."""
    make, source = Claude(), world.claude()
    source.append(make.user("commit it all"), {"type": "custom-title", "customTitle": "Login"})
    source.append(*(make.says("more " * 5000) for _ in range(9)))
    source.append(make.result("c", '{"type":"custom-title","customTitle":"Wrong"}'), make.says("Done."))
    assert orjson.loads(world.cli("sessions", "--json"))["title"] == "Login"


def test_a_pipe_gets_one_line_a_session(world):
    """Fields are separated by tabs, and nothing is cut; the state is empty where it is not known."""
    source = world.claude().append(Claude().user("What is this?"))
    assert world.cli("sessions").split("\t")[1:] == ["working", "claude", "6f1c2c1e", "app", "What is this?\n"]
    os.utime(source.path, (time.time() - 2 * 86_400,) * 2)
    assert world.cli("sessions").split("\t")[1:3] == ["", "claude"]


def test_a_recorded_session_has_its_transcript(world, monkeypatch):
    """A sign says whether it is being recorded, and the path of the transcript follows, in every form of the list."""
    make = Claude()
    source = world.claude().append(make.user("::start notes\nhello"))
    world.once()
    path = world.out / "app" / "notes.md"
    assert world.cli("sessions").split("\t")[-1] == f"{path}\n"
    row = orjson.loads(world.cli("sessions", "--json"))
    assert (row["recording"], row["outputs"]) == (True, [str(path)])
    monkeypatch.setattr(sessions, "terminal_width", lambda: 80)
    assert world.cli("sessions").splitlines()[1].startswith("●")
    assert world.cli("sessions").splitlines()[2].strip() == "~/katod/app/notes.md"
    source.append(make.user("::stop"))
    world.once()
    assert world.cli("sessions").splitlines()[1].startswith("○")


def test_a_copy_is_the_transcript_only_of_a_session_that_was_not_recorded(world):
    """Whatever `::keep` and `::export` write while a recording runs, and after it: the path is that of the recording."""
    make = Claude()
    source = world.claude().append(make.user("hello"), make.says("hi"), make.user("::keep before"))
    world.once()
    folder = world.out / "app"
    assert world.cli("sessions").split("\t")[-1] == f"{folder}/before.md\n"
    source.append(make.user("::start notes\nnow"), make.says("yes"), make.user("::keep k"), make.user("::export e"))
    world.once()
    for end in ((), (make.user("::stop"), make.user("::export all"))):
        source.append(*end)
        world.once()
        assert world.cli("sessions").split("\t")[-1] == f"{folder}/notes.md\n"
        assert orjson.loads(world.cli("sessions", "--json"))["outputs"] == [f"{folder}/notes.md"]
    assert len(world.files()) == 5


def test_a_session_in_which_nothing_was_said_is_left_out(world):
    """Agents leave empty sessions behind; `--all` shows them."""
    world.codex().append(Codex().meta())
    assert world.cli("sessions") == ""
    assert "codex" in world.cli("sessions", "--all")


def test_sessions_that_an_agent_started_are_left_out(world):
    """They are sub-agents, although they have an id of their own; a reviewer's is named for what it reviews."""
    main = world.codex()
    main.append(*main.opening(), main.user("Add a form"))
    reviewer = main.child()
    task = (
        "The following is the Codex agent history whose request action you are assessing.\n"
        ">>> TRANSCRIPT START\n[1] user: Add a form\n"
    )
    reviewer.append(*reviewer.opening(), reviewer.user(task))
    assert [orjson.loads(line)["title"] for line in world.cli("sessions", "--json").splitlines()] == ["Add a form"]
    rows = [orjson.loads(line) for line in world.cli("sessions", "--json", "--all").splitlines()]
    assert {row["title"]: row.get("spawned", False) for row in rows} == {
        "Add a form": False,
        "Review: Add a form": True,
    }


def test_the_time_of_a_session_is_that_of_its_last_event(world):
    """A copied or restored file has a newer time of its own, which says nothing about the conversation."""
    make = Claude()
    source = world.claude().append(make.user("one"), make.says("two"))
    os.utime(source.path, (4e9, 4e9))
    row = orjson.loads(world.cli("sessions", "--json"))
    assert row["changed"] == "2096-10-02T07:06:40.000Z"
    assert row["last"].startswith("2026-02-10T22:")


@pytest.mark.parametrize("make", [Cline, GeminiDocument], ids=lambda make: make.__name__)
def test_the_time_of_a_document_is_that_of_its_last_event(world, make, monkeypatch):
    """Its client writes it again for less; of a large one, the time of the file has to do."""
    source = make(world).say(user("one"), says("two"))
    os.utime(source.path, (4e9, 4e9))
    assert orjson.loads(world.cli("sessions", "--json"))["last"] < "2090"
    monkeypatch.setattr(sessionrow, "_LARGEST_DOCUMENT", 10)
    assert orjson.loads(world.cli("sessions", "--json"))["last"] > "2090"


def test_a_list_that_is_cut_says_so(world, monkeypatch):
    """The number of sessions that are shown, and how to see the rest, is said on stderr."""
    monkeypatch.setattr(sessions, "_MOST", 1)
    for session in ("6f1c2c1e-8a53-4c3e-9b5e-0a1d5f8f2c11", "7f1c2c1e-8a53-4c3e-9b5e-0a1d5f8f2c11"):
        world.claude(session).append(Claude(session=session).user("hello"))
    assert len(world.cli("sessions").splitlines()) == 1
    assert "only the 1 that changed last are shown" in world.said
    assert len(world.cli("sessions", "--all").splitlines()) == 2
    assert world.said == ""


@pytest.mark.parametrize(
    ("since", "shown"),
    [
        ("today", False),
        ("yesterday", True),
        ("2h", False),
        ("7d", True),
        ("7", True),
        ("1w", True),
        ("2026-02-08", False),
    ],
)
def test_sessions_since_a_moment(world, monkeypatch, since, shown):
    """`--since` takes words, ages and dates, counted from now in the local time zone."""
    make = Claude()
    source = world.claude().append(make.user("hello"))
    last = datetime.fromisoformat(orjson.loads(world.cli("sessions", "--json"))["last"])
    monkeypatch.setattr(moments, "_now", lambda: last.astimezone() + timedelta(days=1))
    os.utime(source.path, (last.timestamp(), last.timestamp()))
    if since[0] == "2" and since.endswith("8"):
        since = (last + timedelta(days=2)).date().isoformat()
    assert bool(world.cli("sessions", "--since", since)) == shown


def test_sessions_until_a_moment(world):
    """A day is included, a moment is not; both ends may be given."""
    make = Claude()
    world.claude().append(make.user("hello"))
    day = orjson.loads(world.cli("sessions", "--json"))["last"][:10]
    before = (datetime.fromisoformat(day) - timedelta(days=1)).date().isoformat()
    for options, shown in (((day,), 1), ((before,), 0), ((day, "--since", day), 1)):
        assert len(world.cli("sessions", "--until", *options).splitlines()) == shown


def test_as_many_sessions_as_are_wanted(world):
    """The latest ones; what is left out is said, and can be had."""
    for number in (1, 2, 3):
        world.session(number).say(user(f"words {number}"))
    most = {
        (): 3,
        ("--limit", "2"): 2,
        ("--limit", "0"): 3,
        ("--all", "--limit", "1"): 1,
        ("--json", "--limit", "1"): 1,
    }
    for options, count in most.items():
        printed = world.cli("sessions", *options)
        assert len([row for row in printed.splitlines() if "words" in row]) == count
        assert ("that changed last" in world.said) == (count < 3 and "--json" not in options)


def test_each_id_selects_its_session(world):
    """Ids that begin alike, as those of Codex do that begin within a minute, are shown as far as they differ."""
    first, second = "01a1f89e-eea5-7302-86e3-f8e0f705330a", "01a1f89e-eea6-7302-86e3-f8e0f705330b"
    for thread in (first, second):
        world.codex(thread).append(Codex(session=thread).meta(), Codex(session=thread).user(f"words of {thread}"))
    shown = [line.split("\t")[3] for line in world.cli("sessions").splitlines()]
    assert sorted(shown) == ["01a1f89e-eea5", "01a1f89e-eea6"]
    for short in shown:
        assert f"words of {short}" in world.cli("export", short)


def test_an_id_that_could_be_a_number_selects_its_session(world):
    """Seven digits are the number of a recording: its agent tells it apart."""
    make = Claude(world, "1234567")
    make.append(make.user("words of digits"))
    [shown] = [line.split("\t")[3] for line in world.cli("sessions").splitlines()]
    assert "words of digits" in world.cli("show", shown)


def test_a_wrong_date_is_wrong_usage(world):
    """The error says what `--since` takes."""
    world.cli("sessions", "--since", "someday", code=2)
    assert "expected today, yesterday, an age" in world.said


def test_a_description_leaves_out_what_is_not_known(world):
    """An unknown field is left out of the JSON."""
    world.claude().append(Claude().user("x"))
    assert '"subagent"' not in world.cli("sessions", "--json")


def test_a_folder_that_cannot_be_read_is_told(world, monkeypatch):
    """A list that is empty for lack of permission says so."""
    monkeypatch.setattr(
        Context, "found", lambda self, **_: self.problems.update({"/closed": "Permission denied"}) or {}
    )
    world.cli("sessions")
    assert "/closed: Permission denied" in world.said


def test_without_sessions_it_says_so(world):
    """An empty list is explained on stderr, so that a pipe gets nothing."""
    assert world.cli("sessions") == ""
    assert "no sessions found" in world.said


def test_the_state_of_a_session_is_known_for_a_day(world, monkeypatch):
    """On a terminal, with `--json`, and in a pipe."""
    monkeypatch.setattr(sessions, "terminal_width", lambda: 100)
    source = world.claude().append(Claude().user("Look."), Claude().runs("t1", "make"))
    assert "working" in world.cli("sessions")
    [row] = map(orjson.loads, world.cli("sessions", "--json").splitlines())
    assert (row["state"], "stalled" in row) == ("working", False)
    moment = time.time() - 5 * 3600
    os.utime(source.path, (moment, moment))
    assert "idle?" in world.cli("sessions")
    monkeypatch.setattr(currentstate, "heard", lambda *_: RUNS)
    assert "stalled" in world.cli("sessions")
    os.utime(source.path, (moment - 86_400, moment - 86_400))
    assert not any(word in world.cli("sessions") for word in ("working", "stalled"))
    assert "state" not in orjson.loads(world.cli("sessions", "--json"))
    monkeypatch.setattr(sessions, "terminal_width", lambda: None)
    os.utime(source.path)
    assert "working" in world.cli("sessions")


def test_what_a_session_waits_for_is_said(world, monkeypatch):
    """Below it on a terminal, and in JSON."""
    monkeypatch.setattr(sessions, "terminal_width", lambda: 100)
    asked = Claude().calls("t1", "AskUserQuestion", questions=[{"question": "Which?", "options": []}])
    world.claude().append(Claude().user("Look."), asked)
    assert "waits for your answer" in world.cli("sessions")
    row = orjson.loads(world.cli("sessions", "--json"))
    assert (row["state"], row["waitsFor"], row["toolName"]) == ("blocked", "question", "AskUserQuestion")


def test_a_recording_that_waits_for_its_name_is_one(world, monkeypatch):
    """It has no file yet, and says so."""
    monkeypatch.setattr(sessions, "terminal_width", lambda: 100)
    world.claude().append(Claude().user("::start"))
    world.once()
    row = orjson.loads(world.cli("sessions", "--json", "--all"))
    assert (row["recording"], row["waiting"], row["outputs"]) == (True, True, [])
    assert "the file gets its name" in world.cli("sessions", "--all")


def answered(world, session="6f1c2c1e-8a53-4c3e-9b5e-0a1d5f8f2c11", **message):
    """Write a session with one answer of 15 tokens."""
    make = world.claude(session)
    make.append(make.user("Add a login page to this shop"), make.says("a", message=message))
    return make


@pytest.fixture
def without_prices(monkeypatch):
    """Have no prices, whatever is installed where the tests run."""
    monkeypatch.setattr(usage, "open_table", lambda _source: NoPrices())


def test_a_session_says_what_it_used_if_that_is_wanted(world, without_prices):
    """With its sub-agents, in JSON; a recorded cost, or none: a session without a price does not cost 0."""
    make = answered(world)
    helper = Claude(world, make.session, subagent="helper")
    helper.append(helper.says("b"))
    paid = Pi(world, "88888888-9d1e-4b7a-8c66-0123456789ab")
    entries = paid.records(says("c"))
    entries[0]["message"]["usage"] = {
        "input": 1000,
        "output": 7,
        "cacheRead": 20,
        "cacheWrite": 3,
        "cost": {"total": 0.5},
    }
    paid.put(*entries)
    rows = {row["agent"]: row for row in map(orjson.loads, world.cli("sessions", "--json", "--usage").splitlines())}
    assert rows["claude"]["tokens"]["total"] == 30
    assert "cost" not in rows["claude"]
    assert (rows["pi"]["tokens"]["total"], rows["pi"]["cost"]) == (1030, {"recorded": 0.5})
    plain = [orjson.loads(row) for row in world.cli("sessions", "--json").splitlines()]
    assert not [row for row in plain if {"tokens", "cost"} & row.keys()]


def test_the_list_with_usage_has_room_for_titles(world, monkeypatch, without_prices):
    """In 80 cells, too; without a price, there are the tokens."""
    answered(world)
    monkeypatch.setattr(sessions, "terminal_width", lambda: 80)
    header, row = world.cli("sessions", "--usage").splitlines()
    assert header.split()[-2:] == ["used", "title"]
    assert " 15 " in row
    assert "Add a login page" in row
    assert cell_len(row) <= 80


def test_a_pipe_has_tokens_and_cost_before_the_transcript(world, without_prices):
    """Only with --usage: otherwise the columns stay as they were."""
    answered(world)
    assert world.cli("sessions", "--usage").rstrip("\n").split("\t")[-3:] == [
        "Add a login page to this shop",
        "15",
        "unpriced",
    ]
    assert world.cli("sessions").rstrip("\n").split("\t")[-1] == "Add a login page to this shop"


def test_a_fork_used_what_is_new_in_it(world, without_prices):
    """What it copied was used in the session that it goes on from."""
    first = answered(world, id="msg_0123456789abcdef")
    other = world.claude("77777777-9d1e-4b7a-8c66-0123456789ab")
    other.append(first.path.read_bytes(), other.says("new", message={"id": "msg_fedcba9876543210"}))
    rows = [orjson.loads(row) for row in world.cli("sessions", "--json", "--usage").splitlines()]
    assert [row["tokens"]["total"] for row in rows] == [15, 15]
