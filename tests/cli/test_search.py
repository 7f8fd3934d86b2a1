"""`katod search`: what is printed, and which options choose what."""

import os
import re
import shlex
import shutil
from datetime import datetime, timedelta

import orjson
import pytest

from katod.cli import search
from katod.search import since as moments
from tests.search.edits import ADDED, ADDITIONS, HEADS
from tests.support.records import Claude, Codex, user

TOKEN = "ghp_" + "a1B2c3D4e5F6" * 3


@pytest.fixture
def talked(world):
    """Return a world with a recorded session, and one that is not recorded."""
    make = Claude()
    world.claude().append(make.user("::start basket\nWhere is the basket kept?"), make.says("In cart.ts."))
    world.once()
    other = world.session(2, "codex")
    other.append(Codex().meta(), Codex().user("The basket of the other shop"))
    return world


def test_transcripts_are_searched(talked):
    """In a pipe, a hit is one line: time, session, speaker, words, and what opens it."""
    time, session, speaker, words, opens = talked.cli("search", "BASKET", "kept").strip().split("\t")
    assert time.startswith("2026-")
    assert (session, speaker) == ("claude:6f1c2c1e-8a53-4c3e-9b5e-0a1d5f8f2c11", "You")
    assert (words, opens) == ("Where is the basket kept?", "katod show 1 --find 'basket kept'")


def test_sessions_that_are_not_recorded_are_searched_on_demand(talked):
    """`--all` reads the agents' own files, and what is in a transcript is shown once."""
    assert len(talked.cli("search", "basket").splitlines()) == 1
    found = [line.split("\t")[1:] for line in talked.cli("search", "--all", "basket").splitlines()]
    assert sorted((session.partition(":")[0], opens) for session, _, _, opens in found) == [
        ("claude", "katod show 1 --find basket"),
        ("codex", "katod show 00000002 --find basket"),
    ]


MARKED = (
    "tag <b>x</b> {}",
    "List<String> {}",
    "`a<b>` {}",
    "a & b &lt; c {}",
    "a &amp;lt; b {}",
    "```\n<div>{}</div>\n```",
    "*auk* & the <b>{}</b>.",
    "see:\n\n- a *list*\n- of {}",
    "add a <details> tag, {}",
)


@pytest.mark.parametrize("text", MARKED)
def test_a_message_with_markup_is_shown_once(world, text):
    """A transcript escapes what reads like HTML in a prompt, and shows what an agent wrote as it is."""
    make = world.claude()
    make.append(make.user("::start basket"), make.user(text.format("walrus")), make.says(text.format("heron")))
    world.once()
    for word, speaker in (("walrus", "You"), ("heron", "Claude")):
        rows = [orjson.loads(row) for row in world.cli("search", "--all", "--json", word).splitlines()]
        assert [(row["speaker"], "path" in row) for row in rows] == [(speaker, True)]


@pytest.mark.parametrize(
    "other", ["use <i>x</i> walrus", "use x walrus", "use `x` <br> walrus", "use &lt;u&gt;x walrus"]
)
def test_a_message_that_differs_in_markup_alone_is_another_one(world, other):
    """What was said in the minute before a recording is shown, however like a message of the transcript it is."""
    make = world.claude()
    make.append(make.user(other), make.user("::start basket"), make.user("use <b>x</b> walrus"))
    world.once()
    rows = [orjson.loads(row) for row in world.cli("search", "--all", "--json", "walrus").splitlines()]
    assert sorted("path" in row for row in rows) == [False, True]
    assert len({row["snippet"] for row in rows}) == 2


@pytest.mark.slow
def test_nothing_found_is_a_failure_that_says_where_else_to_look(talked):
    """As with grep, the exit code tells."""
    talked.cli("search", "needle", code=1)
    assert "nothing found" in talked.said
    assert b"`--all` searches" in talked.katod("search", "needle", check=False).stderr
    assert b"--all" not in talked.katod("search", "--all", "needle", check=False).stderr
    talked.cli("search", " ", code=2)


def test_a_search_chooses_by_agent_project_and_time(talked):
    """Each option leaves out what does not match it."""
    chosen = {
        ("--agent", "claude"): ["claude"],
        ("--agent", "codex"): ["codex"],
        ("--project", "ome/me/APP"): ["claude", "codex"],
        ("--project", "elsewhere"): [],
        ("--since", "2026-02-01"): ["claude", "codex"],
        ("--since", "2039-01-01"): [],
        ("--limit", "1"): ["codex"],
        ("--word",): ["claude", "codex"],
        ("--said",): ["claude", "codex"],
        ("--best",): ["claude", "codex"],
        ("--in", "1"): ["claude"],
        ("--in", "00000002"): ["codex"],
    }
    for options, agents in chosen.items():
        shown = talked.cli("search", "--all", "basket", *options, code=0 if agents else 1)
        assert sorted(line.split("\t")[1].partition(":")[0] for line in shown.splitlines()) == agents or (
            options == ("--limit", "1") and len(shown.splitlines()) == 1
        ), options
    assert "--limit 0" in talked.katod("search", "--all", "basket", "--limit", "1").stderr.decode()


@pytest.mark.parametrize(
    ("until", "shown"),
    [
        ("yesterday", True),
        ("today", True),
        ("2h", True),
        ("25h", False),
        ("2d", False),
        ("2026-02-09", False),
        ("2026-02-10", True),
        ("2026-02-10T12:00:00", False),
    ],
)
def test_a_search_ends_at_a_moment(talked, monkeypatch, until, shown):
    """`--until` takes what `--since` takes, in the local time zone; a day is searched to its end."""
    last = datetime.fromisoformat(orjson.loads(talked.cli("search", "kept", "--json"))["time"]).astimezone()
    monkeypatch.setattr(moments, "_now", lambda: last + timedelta(days=1))
    talked.cli("search", "kept", "--until", until, code=0 if shown else 1)


def test_days_are_those_of_the_times_that_are_shown(world):
    """By the setting for transcripts, in a transcript and in a session, also where the machine has another zone."""
    world.configure(time_zone="Asia/Tokyo")
    world.variables["TZ"] = "America/Los_Angeles"
    make = world.claude()
    for day, hour in ((9, 14), (9, 16), (10, 1), (10, 16)):  # 14 is the last hour in UTC of a day in Tokyo
        make.append({**make.user(f"basket {day}.{hour}"), "timestamp": f"2026-02-{day:02}T{hour}:30:00.000Z"})
    world.cli("export", "6f1c2c1e", "-o", str(world.out / "a.md"))
    for options in ([], ["--all"]):
        rows = [orjson.loads(row) for row in world.cli("search", *options, "--json", "basket").splitlines()]
        for day in {row["time"][:10] for row in rows}:
            found = world.cli("search", *options, "--json", "--since", day, "--until", day, "basket").splitlines()
            assert [orjson.loads(row) for row in found] == [row for row in rows if row["time"][:10] == day]
    assert {row["time"][-6:] for row in rows} == {"+09:00"}
    assert len({row["time"][:10] for row in rows}) == 3


def test_a_day_without_a_time_is_that_of_no_zone(world):
    """What the transcript of an agent without times says of a day holds in every zone."""
    world.configure(time_zone="America/New_York")
    world.variables["TZ"] = "Europe/Berlin"
    front = '---\ntitle: "x"\ndate: 2026-08-05\nagent: cursor\nsession: "plain"\ntags: [katod, cursor]\n---\n\n# x\n\n'
    head = "Cursor · 2026-08-05 15:46 (Europe/Berlin)\n\n## You · wombat\n\n### Cursor\n\nThe lemur.\n"
    world.out.mkdir()
    (world.out / "a.md").write_text(front + head)
    [row] = world.cli("search", "--json", "--since", "2026-08-05", "--until", "2026-08-05", "lemur").splitlines()
    assert orjson.loads(row)["time"] == "2026-08-05"


def test_a_wrong_end_is_wrong_usage(talked):
    """The error names the option."""
    talked.cli("search", "kept", "--until", "someday", code=2)
    assert "--until" in talked.said


def test_several_agents_and_projects_may_be_chosen(talked):
    """A session has to match one of each kind."""
    for options, agents in (
        (["--agent", "claude", "--agent", "codex"], ["claude", "codex"]),
        (["--agent", "gemini", "--agent", "codex"], ["codex"]),
        (["--project", "elsewhere", "--project", "ME/app"], ["claude", "codex"]),
        (["--project", "elsewhere", "--project", "nowhere"], []),
        (["--agent", "codex", "--project", "elsewhere"], []),
    ):
        shown = talked.cli("search", "--all", "basket", *options, code=0 if agents else 1)
        assert sorted(line.split("\t")[1].partition(":")[0] for line in shown.splitlines()) == agents, options


def test_sessions_in_a_state_may_be_chosen(world):
    """By what they are doing now, also for their transcripts; the state of a session of another day is not known."""
    done, working, old = world.claude(), world.session(2), world.session(3)
    done.append(done.user("::start basket\nWhere is the basket kept?"), done.says("In the basket."))
    working.append(working.user("a basket"), working.runs("c1", "ls"))
    old.append(old.user("a basket"), old.says("The basket."))
    world.once()
    os.utime(old.path, (0, 0))
    for options, ids in (
        (["--state", "working"], {"00000002"}),
        (["--state", "done", "--state", "blocked"], {"6f1c2c1e"}),
        (["--state", "done", "--agent", "codex"], set()),
        ([], {"00000002", "6f1c2c1e", "00000003"}),
    ):
        shown = world.cli("search", "--all", "basket", *options, code=0 if ids else 1)
        assert {line.split("\t")[1].removeprefix("claude:")[:8] for line in shown.splitlines()} == ids
    assert "katod show 1 " in world.cli("search", "basket", "--state", "done")
    assert "katod show 1 " in world.cli("search", "basket", "--state", "done", "--in", "1")
    world.cli("search", "basket", "--state", "working", code=1)


def test_one_of_two_words_is_enough(talked):
    """`OR` is between them; the command that is shown finds what was found."""
    for words, agents in (("kept OR other", ["claude", "codex"]), ("basket kept OR absent", ["claude"]), ("or", [])):
        shown = talked.cli("search", "--all", *words.split(), code=0 if agents else 1)
        assert sorted(line.split("\t")[1].partition(":")[0] for line in shown.splitlines()) == agents
    command = talked.cli("search", "basket", "absent thing", "OR", "kept").strip().split("\t")[-1]
    assert command == """katod show 1 --find 'basket "absent thing" OR kept'"""
    assert "basket kept" in talked.cli(*shlex.split(command)[1:])


def test_a_terminal_gets_a_block_for_each_session(talked, monkeypatch):
    """Title, project and agent, how to open it, and hits that fit the terminal."""
    monkeypatch.setattr(search, "terminal_width", lambda: 80)
    talked.variables["TZ"] = "Europe/Berlin"
    assert [line.rstrip() for line in talked.cli("search", "basket").splitlines()] == [
        "basket · app · claude · 2026-02-10",
        "   katod show 1 --find basket",
        "   23:37 You Where is the basket kept?",
        "",
    ]


def test_more_hits_of_one_session_are_counted(world, monkeypatch):
    """Three are shown, the newest first."""
    make = Claude()
    world.claude().append(*(make.user(f"basket {number}") for number in range(5)))
    monkeypatch.setattr(search, "terminal_width", lambda: 60)
    shown = world.cli("search", "--all", "basket").splitlines()
    assert [line.split()[-1] for line in shown[2:5]] == ["4", "3", "2"]
    assert shown[5].strip() == "… and 2 more: `katod search --in 6f1c2c1e …` shows all"
    shown = world.cli("search", "--in", "6f1c2c1e", "basket").splitlines()
    assert [line.split()[-1] for line in shown[2:7]] == ["4", "3", "2", "1", "0"]


def test_what_was_said_is_shown_before_what_tools_did(world, monkeypatch):
    """Results are long and many; what a person or an agent said about it tells more. `--newest` keeps to the time."""
    make = Claude()
    asked, said, ran = make.user("Which basket?"), make.says("The basket is red."), make.runs("c1", "cat basket")
    results = [make.result("c1", f"basket {number}") for number in range(5)]
    world.claude().append(asked, said, ran, *results)
    monkeypatch.setattr(search, "terminal_width", lambda: 60)
    for options, expected in (([], ["The", "Which", "▸"]), (["--newest"], ["▸", "The", "Which"])):
        shown = world.cli("search", "--all", "basket", *options).splitlines()
        assert [line.split()[2] for line in shown[2:5]] == expected
        assert shown[5].strip().startswith("… and 5 more")


@pytest.fixture
def mentioned(world):
    """Return a world in which a basket was said in an old session, and is in a result of a new one."""
    old, new = world.session(1), world.session(2)
    old.append({**old.user("The basket"), "timestamp": "2026-01-01T10:00:00.000Z"})
    records = [new.user("go"), new.runs("c1", "ls"), new.result("c1", "basket")]
    new.append(*({**record, "timestamp": "2026-01-02T10:00:00.000Z"} for record in records))
    return world


def test_sessions_in_which_it_was_said_come_first_on_a_terminal(mentioned, monkeypatch):
    """In a pipe and with `--newest`, the newest comes first; a session that is not shown is one by the same order."""
    monkeypatch.setattr(search, "terminal_width", lambda: 80)
    opened = [
        [
            line.split()[2]
            for line in mentioned.cli("search", "--all", "basket", *options).splitlines()
            if " show " in line
        ]
        for options in ([], ["--newest"], ["--limit", "1"])
    ]
    assert opened == [["00000001", "00000002"], ["00000002", "00000001"], ["00000001"]]
    assert "only the first session is shown; `--newest` shows the latest first" in mentioned.said.replace("\n", " ")
    monkeypatch.setattr(search, "terminal_width", lambda: None)
    piped = [line.split("\t")[1] for line in mentioned.cli("search", "--all", "basket").splitlines()]
    assert [session.partition(":")[2][7] for session in piped] == ["2", "1"]
    mentioned.cli("search", "basket", "--best", "--newest", code=2)
    assert "exclude each other" in mentioned.said


def test_a_session_is_one_entry_on_a_terminal(world, monkeypatch):
    """What is in its transcript and what is only in its file are counted together, and shown by one command."""
    session = world.claude()
    session.append(session.user("::start basket\nWhere is the basket kept?"), session.user("::stop"))
    session.append(session.user("a basket after"), session.user("a basket at last"))
    world.once()
    assert len(world.cli("search", "--all", "basket").splitlines()) == 3
    monkeypatch.setattr(search, "terminal_width", lambda: 80)
    shown = [line.strip() for line in world.cli("search", "--all", "basket").splitlines()]
    assert [line for line in shown if " show " in line] == ["katod show 6f1c2c1e --find basket"]
    assert shown[4:] == ["… and 1 more: `katod search --in 6f1c2c1e …` shows all", ""]
    shown = world.cli("search", "--in", "6f1c2c1e", "basket")
    assert all(words in shown for words in ("a basket after", "a basket at last", "Where is the basket kept?"))


def test_the_command_that_is_shown_shows_what_was_found(world):
    """Also a phrase with quotes, and what only a tool returned."""
    make = Claude()
    ran, returned = make.runs("c1", "cat x"), make.result("c1", "a 'red' basket \"here\"")
    world.claude().append(make.user("go"), ran, returned, make.says("done"))
    for words in (("'red' basket",), ('"here"',), ("red", "a 'red'")):
        command = world.cli("search", "--all", *words).strip().split("\t")[-1]
        assert "basket" in world.cli(*shlex.split(command)[1:])


@pytest.mark.parametrize("format_name", ["session", "jsonl"])
def test_the_command_has_the_options_that_show_what_was_found(world, format_name):
    """Thoughts and results are not in every view, of a session or of a recording; a block has those of all its hits."""
    world.configure(format="markdown" if format_name == "session" else "jsonl")
    make = Claude()
    begin = "::start here\ngo" if format_name == "jsonl" else "go"
    thought, ran, returned = make.thinks("a flamingo"), make.runs("c1", "cat ibis"), make.result("c1", "a toucan")
    world.claude().append(make.user(begin), thought, ran, returned, make.says("a heron"))
    world.once()
    options = ["--all"] if format_name == "session" else []
    needed = {"flamingo": "--thinking", "ibis": "", "toucan": "--tools full", "heron": ""}
    for word, needs in needed.items():
        command = world.cli("search", *options, word).strip().split("\t")[-1]
        assert command.partition(f" --find {word}")[2].strip() == needs
        assert word in world.cli(*shlex.split(command)[1:])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "terminal_width", lambda: 80)
        words = ("flamingo", "OR", "toucan", "OR", "heron")
        [command] = [line for line in world.cli("search", *options, *words).splitlines() if "--find" in line]
    shown = world.cli(*shlex.split(command)[1:])
    assert all(word in shown for word in words[::2])


def test_what_no_transcript_shows_is_not_looked_for_in_one(world):
    """The model read it, as context before the prompt; the command shows the session."""
    make = Codex()
    context = make.user("<environment_context>\n<cwd>/home/me/basket</cwd>\n</environment_context>")
    world.session(2, "codex").append(make.meta(), context, make.user("go"))
    *_, speaker, _, command = world.cli("search", "--all", "basket", "environment").strip().split("\t")
    assert (speaker, "--find" in command) == ("Codex ▸ context", False)
    assert "go" in world.cli(*shlex.split(command)[1:])


def test_a_call_is_looked_for_whatever_its_tool_is_called(world):
    """Also if that is how a search calls what only the model read."""
    make = Claude()
    world.claude().append(make.user("look it up"), make.calls("t1", "context", query="pangolin"), make.says("done"))
    *_, speaker, _, command = world.cli("search", "--all", "pangolin").strip().split("\t")
    assert (speaker, command.partition(" --find ")[2]) == ("Claude ▸ context", "pangolin")
    assert "pangolin" in world.cli(*shlex.split(command)[1:])


def test_json_has_one_object_a_hit(talked):
    """With everything that the table shows, and nothing empty."""
    row = orjson.loads(talked.cli("search", "--json", "kept"))
    assert row == {
        "agent": "claude",
        "session": "claude:6f1c2c1e-8a53-4c3e-9b5e-0a1d5f8f2c11",
        "title": "basket",
        "project": "/home/me/app",
        "open": "katod show 1 --find kept",
        "path": str(talked.out / "app" / "basket.md"),
        "speaker": "You",
        "time": row["time"],
        "snippet": "Where is the basket kept?",
    }


def test_secrets_and_escapes_are_not_printed(world):
    """What was said comes from anywhere."""
    world.claude().append(Claude().user(f"basket {TOKEN} \x1b]52;c;aGk=\x07 done"))
    shown = world.cli("search", "--all", "basket")
    assert TOKEN not in shown
    assert "\x1b" not in shown
    assert "done" in shown


def test_a_search_leaves_nothing_behind(talked):
    """Of sessions that are not recorded, no word is on the disk afterwards, and no file has changed."""

    def files():
        outside = [path for path in talked.home.rglob("*") if path.is_file() and talked.state not in path.parents]
        below = [(path, path.stat()) for path in outside]
        return {path: (status.st_size, status.st_mtime_ns) for path, status in below}

    before = files()
    talked.cli("search", "--all", "other shop")
    assert files() == before
    kept = [path for path in talked.home.rglob("*") if path.is_file() and ".codex" not in path.parts]
    assert not any(b"other shop" in path.read_bytes() for path in kept)


def test_a_transcript_that_the_ledger_does_not_know_is_searched(talked):
    """Transcripts outlive the ledger: those in the output directory are found by their files."""
    for path in talked.state.rglob("ledger*"):
        os.unlink(path)
    path = talked.out / "app" / "basket.md"
    assert talked.cli("search", "kept").strip().endswith(f"\tkatod show {path} --find kept")


def test_the_name_that_a_list_shows_is_found(world):
    """Given by the person in the agent, or by the agent; it is nobody's words."""
    maker = world.claude()
    maker.say(user("commit it all"))
    maker.append({"type": "custom-title", "customTitle": "fix-pid-collision"})
    assert "fix-pid-collision" in world.cli("sessions")
    assert "Claude ▸ title" in world.cli("search", "--all", "pid-collision")
    world.cli("search", "--all", "--said", "pid-collision", code=1)


def test_an_own_title_is_found_in_one_session_and_without_its_file(talked):
    """A person's title is searched with `--in`, too, and in sessions whose files the agent has deleted."""
    talked.cli("rename", "6f1c2c1e", "Zanzibar plan")
    talked.cli("label", "6f1c2c1e", "spices")
    for where in ("6f1c2c1e", "1"):
        assert "\tTitle\tZanzibar plan #spices\t" in talked.cli("search", "--in", where, "zanzibar")
    talked.cli("search", "--in", "00000002", "zanzibar", code=1)
    talked.claude().path.unlink()
    [row] = talked.cli("search", "--json", "zanzibar").splitlines()
    told = orjson.loads(row)
    assert (told["title"], told["project"], told["open"]) == ("Zanzibar plan", "/home/me/app", "katod show 1")
    assert len(talked.cli("search", "--all", "basket").splitlines()) == 2


def test_a_page_belongs_to_its_session(world):
    """The ledger knows whose it is, so that it is found with its session, and no event of it twice."""
    make = Claude()
    world.claude().append(make.user("A needle"), make.says("Here."), make.user("::export page.html"))
    world.once()
    [path] = world.files()
    assert path.suffix == ".html"
    for arguments in (["needle"], ["--all", "needle"]):
        [row] = world.cli("search", "--json", *arguments).splitlines()
        assert orjson.loads(row)["session"] == "claude:6f1c2c1e-8a53-4c3e-9b5e-0a1d5f8f2c11"


OWN = {
    "front.md": "---\ntags: [zebra]\naliases: [Release plan]\n---\n\n# Plan\n", "rule.md": "---\n\na zebra\n\n---\n\nb\n",
    "own.jsonl": '{"a": "a zebra"}\n', "bom.md": "\ufeff---\ntags: zebra\n---\n", "crlf.md": "a\r\n\r\n## x\r\nzebra\r\n",
    "fake.md": '---\nagent: claude-code\nsession: "x"\n---\n\n# zebra\n', "sections.md": "# a\n\n## zebra\n\n### Claude · 10:00\n",
}  # fmt: skip


@pytest.mark.parametrize("name", OWN)
def test_the_command_finds_what_was_found_in_a_file_of_ones_own(world, name):
    """Its front matter, too, and in any form that is searched."""
    world.out.mkdir(parents=True, exist_ok=True)
    (world.out / name).write_bytes(OWN[name].encode())
    *_, speaker, _, command = world.cli("search", "zebra").strip().split("\t")
    assert (speaker, command) == ("Note", f"katod show {world.out / name} --find zebra")
    assert "zebra" in world.cli(*shlex.split(command)[1:])


@pytest.mark.parametrize("way", [*sorted(HEADS), *sorted(ADDITIONS)])
def test_the_command_finds_what_was_found_in_an_edited_recording(talked, way):
    """Wherever a person wrote into it, and whatever became of its head; times and speakers stay."""
    [path] = talked.files()
    path.write_text((HEADS | ADDITIONS)[way](path.read_text()))
    for words, who in (
        (["basket", "kept"], "You"),
        (["cart.ts"], "Claude"),
        *([(ADDED.split(), "")] * (way in ADDITIONS)),
    ):
        time, session, speaker, _, command = talked.cli("search", *words).strip("\n").split("\t")
        assert session.startswith("claude:6f1c2c1e")
        assert (not who) or (speaker == who and time.startswith("2026-02-10T23:3"))
        shown = talked.cli(*shlex.split(command)[1:])
        assert all(word in shown for word in words)


def test_the_command_shows_a_recording_in_jsonl_with_lines_of_ones_own(world):
    """A line of a person's is found, and shown by no view; the events around it are, below a note at the top, too."""
    world.configure(format="jsonl")
    make = Claude()
    world.claude().append(make.user("::start here\nthe ibis"), make.says("a heron"))
    world.once()
    [path] = world.files()
    path.write_text(f"my zebra\n{path.read_text()}my lemur\n")
    for where in ("known", "unknown"):
        for word in ("zebra", "lemur"):
            *_, speaker, words, command = world.cli("search", word).strip().split("\t")
            assert (speaker, words, "--find" in command) == ("Note", f"my {word}", False)
            assert "the ibis" in world.cli(*shlex.split(command)[1:])
        *_, speaker, _, command = world.cli("search", "heron").strip().split("\t")
        assert (speaker, "--find heron" in command) == ("Claude", True)
        shown = world.cli(*shlex.split(command)[1:])
        assert "a heron" in shown
        assert "katod.event" not in shown
        if where == "known":
            path.rename(path.with_name("other.jsonl"))
            shutil.rmtree(world.state)


@pytest.mark.parametrize("edited", [lambda text: f"\ufeff{text}", lambda text: text.replace("\n", "\r\n")])
def test_the_command_shows_a_recording_in_jsonl_that_an_editor_saved(world, edited):
    """With a byte order mark, or other line ends."""
    world.configure(format="jsonl")
    make = Claude()
    world.claude().append(make.user("::start here\nthe ibis"), make.says("a heron"))
    world.once()
    [path] = world.files()
    path.write_bytes(edited(path.read_text()).encode())
    *_, speaker, _, command = world.cli("search", "heron").strip().split("\t")
    assert (speaker, "--find heron" in command) == ("Claude", True)
    assert "a heron" in world.cli(*shlex.split(command)[1:])


def test_all_matches_of_a_file_of_ones_own_are_shown(talked, monkeypatch):
    """A block shows some, and says which command shows all: those of no other file."""
    for name in ("notes.md", "more.md"):
        (talked.out / name).write_text("".join(f"## Zebra {number}\n\nThe basket.\n\n" for number in range(5)))
    with monkeypatch.context() as patch:
        patch.setattr(search, "terminal_width", lambda: 100)
        lines = [line for line in talked.cli("search", "zebra").splitlines() if "--in" in line]
    commands = [re.search("`katod (search .*) …`", line)[1] for line in lines]
    assert sorted(map(shlex.split, commands)) == [
        ["search", "--in", str(talked.out / name)] for name in ("more.md", "notes.md")
    ]
    for command in commands:
        found = talked.cli(*shlex.split(command), "zebra").splitlines()
        assert len(found) == 5
        assert all(shlex.split(command)[-1] in line for line in found)
