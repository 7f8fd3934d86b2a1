"""Defects of the closest existing system, case by case; katod has none of them."""

import json
import threading
from pathlib import Path

import orjson
import pytest

from katod.tail.reader import SourceFile
from tests.support.live import Live, until
from tests.support.outputs import counts
from tests.support.records import SESSION, Claude, CodexLegacy
from tests.support.world import World


def transcript(world: World) -> str:
    """Return the text of the only Markdown file."""
    found = [text for name, text in world.written().items() if name.endswith(".md")]
    assert len(found) == 1, found
    return found[0]


def test_the_first_reply_after_start_is_there_at_any_chunking(world: World) -> None:
    """Case 1: nothing is missing after the start command, even if each record is processed separately."""
    make, source = Claude(), world.claude()
    for record in (make.user("::start\nfirst question"), make.says("first reply"), make.says("second reply")):
        source.append(record)
        world.once()
    text = transcript(world)
    assert counts(text, "first question", "first reply", "second reply") == [1, 1, 1]


def test_after_a_restart_commands_act_and_a_capture_holds_the_history(world: World) -> None:
    """Case 2: a new process obeys the next command, and captures what was said before it started."""
    make, source = Claude(), world.claude()
    source.append(make.user("early words"), make.says("early reply"))
    world.once()
    source.append(make.user("::capture\nlate words"))
    world.once()
    text = transcript(world)
    assert text.index("early words") < text.index("early reply") < text.index("late words")


@pytest.mark.slow
def test_recording_and_commands_go_on_beyond_ten_thousand_events(world: World) -> None:
    """Case 3: the number of events in a session is not limited."""
    make, source = Claude(), world.claude()
    source.append(make.user("::start big.jsonl"), *(make.says(f"reply {n}") for n in range(10_500)))
    world.once()
    source.append(make.user("::stop"), make.says("unheard"))
    world.once()
    text = world.written()["big.jsonl"]
    assert text.count('"kind":"assistant.message"') == 10_500
    assert "unheard" not in text


def test_commands_in_old_sessions_do_not_act_at_the_first_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Case 4: what predates katod's first run is history."""
    world = World(tmp_path / "home", monkeypatch, seen_empty=False)
    make = Claude()
    source = world.claude().append(make.user("::start\nold"), make.says("old reply"))
    world.once()
    source.append(make.says("more"))
    world.once()
    assert world.written() == {}


def test_the_default_settings_work_together(world: World) -> None:
    """Case 5: without any configuration, a bare `::start` writes to the default directory."""
    world.config.write_text("")
    make = Claude()
    world.claude().append(make.user("::start\nhello"), make.says("hi"))
    world.once()
    assert [path.parent.name for path in (world.home / "katod").rglob("*.md")] == ["app"]


def test_jsonl_is_exported_and_recorded_and_exit_codes_tell_the_truth(world: World) -> None:
    """Case 6: JSONL can be exported to stdout or a file, and recorded, with exit code 0."""
    make = Claude()
    world.claude().append(make.user("::start notes.jsonl\nhello"), make.says("hi"))
    world.once()
    kinds = [orjson.loads(row)["kind"] for row in world.cli("export", SESSION, "-f", "jsonl").splitlines()]
    assert kinds.count("assistant.message") == 1
    assert '"kind":"assistant.message"' in world.written()["notes.jsonl"]
    target = world.home / "export.jsonl"
    world.cli("export", SESSION, "-o", str(target))
    assert target.read_text().splitlines()


def test_an_export_over_an_existing_file_fails_in_its_exit_code(world: World) -> None:
    """Case 6: an export to an existing file exits with 1, and the file is not changed."""
    make = Claude()
    world.claude().append(make.user("hello"))
    target = world.home / "mine.md"
    target.write_text("mine")
    world.cli("export", SESSION, "-o", str(target), code=1)
    assert target.read_text() == "mine"


@pytest.mark.slow
def test_a_root_that_appears_later_is_watched(world: World) -> None:
    """Case 7: an agent that is installed while katod runs is followed from its first command on."""
    make = Claude()
    with Live(world) as live:
        world.claude().append(make.user("::start\nhello"), make.says("hi"))
        live.until_written("hi\n")


@pytest.mark.slow
def test_an_append_costs_new_bytes_only(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Case 8: one more line does not make katod read the session or its output again."""
    make, source = Claude(), world.claude()
    source.append(make.user("::start\nhello"), *(make.says("word " * 2000) for _ in range(300)))
    world.once()
    read: list[int] = []
    pread = SourceFile._pread

    def counted(self: SourceFile, size: int, offset: int) -> bytes:
        data = pread(self, size, offset)
        read.append(len(data))
        return data

    monkeypatch.setattr(SourceFile, "_pread", counted)
    source.append(make.says("one more line"))
    world.process()
    assert "one more line" in transcript(world)
    assert sum(read) < 20_000 < source.path.stat().st_size


def test_codex_says_each_thing_once_in_its_own_time_and_model(world: World) -> None:
    """Case 9: no doubled final message, recorded times, the current model, long first lines, all kinds of tools."""
    make = CodexLegacy()
    source = world.codex()
    source.append(make.meta(base_instructions={"text": "x" * 50_000}))
    source.append(make.record("turn_context", {"model": "gpt-5", "cwd": "/home/me/app"}))
    source.append(make.user("::start all.jsonl\nhello"))
    world.once()
    source.append(make.record("event_msg", {"type": "agent_message", "message": "the answer"}), make.says("the answer"))
    world.once()
    source.append(make.record("event_msg", {"type": "task_complete", "last_agent_message": "the answer"}))
    patch = "*** Begin Patch\n*** Update File: a.py\n+x\n*** End Patch"
    source.append(
        make.record(
            "response_item", {"type": "custom_tool_call", "call_id": "c1", "name": "apply_patch", "input": patch}
        )
    )
    source.append(
        make.record("response_item", {"type": "web_search_call", "action": {"type": "search", "query": "weather"}})
    )
    source.append(make.record("turn_context", {"model": "gpt-6", "cwd": "/home/me/app"}), make.says("later"))
    world.once()
    rows = [json.loads(row) for row in world.written()["all.jsonl"].splitlines()]
    said = [(row["payload"]["text"], row["model"]) for row in rows if row["kind"] == "assistant.message"]
    assert said == [("the answer", "gpt-5"), ("later", "gpt-6")]
    assert [row["payload"]["name"] for row in rows if row["kind"] == "assistant.tool.call"] == [
        "apply_patch",
        "web_search",
    ]
    assert all(row["time"].startswith("2026-02-10T22:36") for row in rows)


def test_a_result_that_comes_late_is_shown(world: World) -> None:
    """Case 10: a failed result that arrives in a later batch, after other text, names its call."""
    make, source = Claude(), world.claude()
    source.append(make.user("::start\ngo"), make.calls("t1", "Bash", command="make"), make.says("meanwhile"))
    world.once()
    source.append(make.result("t1", "Exit code 2\nno rule", error=True))
    world.once()
    assert "- ▸ **Bash** `make` \N{EN DASH} failed, exit 2: `no rule`" in transcript(world)


def test_captures_keep_the_recorded_times(world: World) -> None:
    """Case 11: a later capture has the times when things were said, not when it was made."""
    make, source = Claude(), world.claude()
    source.append(make.user("hello"), make.says("hi"))
    world.once()
    source.append(make.user("::capture"))
    world.once()
    text = transcript(world)
    assert "· 2026-02-10 23:37 (Europe/Berlin)\n" in text
    assert "## You · 23:37 · hello" in text


@pytest.mark.parametrize("word", ["capture", "export", "start"])
def test_an_existing_file_is_never_written_to(world: World, word: str) -> None:
    """Case 12: a name taken by a file of the user is refused, and the file is not changed."""
    mine = world.home / "katod" / "app" / "mine.md"
    mine.parent.mkdir(parents=True)
    mine.write_text("my own words\n")
    make = Claude()
    world.claude().append(make.user("hello"), make.user(f"::{word} mine.md"), make.says("more"))
    world.once()
    assert mine.read_text() == "my own words\n"
    assert "already exists" in world.cli("status")


@pytest.mark.slow
def test_a_session_that_is_written_all_the_time_is_followed_meanwhile(world: World) -> None:
    """Case 13: continuous writing does not delay processing until a pause."""
    make, source = Claude(), world.claude()
    source.append(make.user("::start\nhello"))
    done = threading.Event()

    def write() -> None:
        number = 0
        while not done.wait(0.004):
            number += 1
            source.append(make.says(f"reply {number}"))

    with Live(world) as live:
        writer = threading.Thread(target=write)
        writer.start()
        try:
            live.until_written("reply 40\n")
        finally:
            done.set()
            writer.join()


def test_unknown_words_quotations_and_summaries_do_not_matter(world: World) -> None:
    """Case 14: an unknown `::word` is text; commands in indented code, meta messages and summaries are ignored."""
    make, source = Claude(), world.claude()
    source.append(make.user("use std::vector\n::whatever this is\n::start\nand Ruby::Module"))
    source.append(make.user("    ::stop\n```\n::stop\n```"), make.user("::stop", isMeta=True))
    source.append(
        make.user("The user typed:\n::stop", isCompactSummary=True), make.says("::stop"), make.says("still here")
    )
    world.once()
    text = transcript(world)
    assert "still here" in text
    assert "Recording stopped" not in text


def test_fences_keep_their_blank_lines_and_hold_their_content(world: World) -> None:
    """Case 15: code keeps its blank lines, tool output stays in its block, and a speaker has one heading."""
    make, source = Claude(), world.claude()
    code = "```py\na = 1\n\n\nb = 2\n```"
    source.append(make.user("::start +tools\nshow me"), make.says(code))
    world.once()
    source.append(make.calls("t1", "Bash", command="cat x"), make.result("t1", "```\n## You · 23:00\n```"))
    world.once()
    source.append(make.says("done"))
    world.once()
    text = transcript(world)
    assert code in text
    assert "````text\n```\n## You · 23:00\n```\n````" in text
    assert text.count("### Claude") == 1


@pytest.mark.slow
def test_broken_control_files_stop_nothing(world: World) -> None:
    """Case 16: a damaged ledger is quarantined and reported; a broken request is answered; katod continues."""
    make, source = Claude(), world.claude()
    source.append(make.user("hello"))
    world.once()
    (world.state / "ledger.db").write_bytes(b"not a database" * 100)
    for name in ("ledger.db-wal", "ledger.db-shm"):
        (world.state / name).unlink(missing_ok=True)
    (world.state / "requests").mkdir(exist_ok=True)
    (world.state / "requests" / "odd.request").write_text("{")
    with Live(world) as live:
        assert (world.state / "ledger.db.damaged-1").exists()
        source.append(make.user("::start\nagain"), make.says("here"))
        live.until_written("here")
        until((world.state / "requests" / "odd.answer").exists, "the answer")
        assert "katod is running" in world.cli("status")
        live.stop()
        assert "katod is not running" in world.cli("status")


def test_a_refused_command_shows_where_the_person_looks(world: World) -> None:
    """Case 17: a refusal is in `katod status`, with the command and the reason, and the recording continues."""
    make = Claude()
    world.claude().append(
        make.user("::start\nhello"), make.user("::start ../../etc/passwd\ngo on"), make.says("going on")
    )
    world.once()
    refused = json.loads(world.cli("status", "--json"))["refused"]
    assert [row["command"] for row in refused] == ["start"]
    assert "`..`" in refused[0]["reason"]
    assert [counts(text, "hello", "going on") for _, text in sorted(world.written().items())] == [[0, 1], [1, 0]]
