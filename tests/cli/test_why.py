"""`katod why`: which prompt is behind a line, of recorded ranges and, if asked, of all sessions."""

import os
import re
import shlex
import socket
import sqlite3
import subprocess
from contextlib import closing

import orjson
import pytest

from katod.serve.address import announced
from katod.store.ledger import LEDGER_NAME
from tests.formats.schemas import schema
from tests.support.records import MAKERS, OTHER, Claude, CodexFlat, Cursor, says, user
from tests.support.records.edits import NEW, OLD, edit_by
from tests.support.world import World

_GIT = ("git", "-c", "user.name=me", "-c", "user.email=me@localhost", "-c", "commit.gpgsign=false")


def git(folder, *arguments, time="2020-01-01T00:00:00Z"):
    """Run git in a folder, at a time."""
    when = {"GIT_AUTHOR_DATE": time, "GIT_COMMITTER_DATE": time}
    subprocess.run([*_GIT, *arguments], cwd=folder, env=os.environ | when, check=True, capture_output=True)


@pytest.fixture
def project(world):
    """Return the folder of a repository with a note in it."""
    (world.project / "note.txt").write_text(f"{OLD}\n")
    git(world.project, "init", "-q", "-b", "main")
    git(world.project, "add", ".")
    git(world.project, "commit", "-qm", "a note")
    return world.project


def runs(world, what, *options):
    """Return what is known of a file, as JSON."""
    return [orjson.loads(line) for line in world.cli("why", str(what), "--json", *options).splitlines()]


def edited(maker, *, prompt="please edit it"):
    """Have the agent edit the note when it is asked to."""
    maker.say(user(prompt), says("I will edit it."))
    edit = edit_by(maker, "call-1")
    maker.put(*edit.call, *edit.made)


@pytest.mark.parametrize(
    "make", [maker for maker in MAKERS if maker not in (Cursor, CodexFlat)], ids=lambda m: m.__name__
)
def test_a_recorded_edit_says_who_wrote_its_lines(world: World, project, make):
    """In the form of every agent that records times: with the prompt, and without the session file, too."""
    maker = make(world)
    maker.say(user("::start notes\nhello"), says("hi"))
    edited(maker)
    world.once()
    (project / "note.txt").write_text(f"{NEW}\n")
    [found] = runs(world, project / "note.txt")
    assert (found["status"], found["agent"], found["first"], found["last"]) == ("exact", maker.agent, 1, 1)
    assert found["prompt"]["text"] in ("please edit it", "Edit it.")  # a call has its own in VS Code
    maker.path.unlink()
    [after] = runs(world, project / "note.txt")
    assert (after["status"], after["call"]) == ("exact", found["call"])


def test_an_edit_that_is_not_recorded_is_unknown_unless_all_is_asked_for(world: World, project):
    """And then nothing of it is kept."""
    maker = Claude(world)
    edited(maker)
    world.once()
    (project / "note.txt").write_text(f"{NEW}\n")
    assert [found["status"] for found in runs(world, project / "note.txt")] == ["unknown"]
    [found] = runs(world, project / "note.txt", "--all")
    assert (found["status"], found["prompt"]["text"]) == ("exact", "please edit it")
    assert not [path for path in world.state.iterdir() if path.is_file() and b"please edit" in path.read_bytes()]


def test_a_prompt_before_the_recording_is_not_shown(world: World, project):
    """What is outside of a recorded range is nobody's business, even if the edit that it led to is inside."""
    maker = Claude(world)
    edit = edit_by(maker, "call-1")
    maker.say(user("a secret plan"), says("ok"), user("::start notes"), says("yes"))
    maker.put(*edit.call, *edit.made)
    world.once()
    (project / "note.txt").write_text(f"{NEW}\n")
    [found] = runs(world, project / "note.txt")
    assert found["status"] == "exact"
    assert "prompt" not in found
    assert "secret plan" not in world.cli("why", str(project / "note.txt"))


def test_a_copy_does_not_name_the_session_or_stand_for_it(world: World, project, monkeypatch):
    """What `::keep` wrote before the recording has a name of its own, and not the edit."""
    maker = Claude(world)
    maker.say(user("hello"), says("hi"), user("::keep kept\nhello again"), says("hi"), user("::start notes"))
    edited(maker)
    world.once()
    maker.path.unlink()
    world.once()
    (project / "note.txt").write_text(f"{NEW}\n")
    assert [found["title"] for found in runs(world, project / "note.txt")] == ["notes"]
    monkeypatch.setattr("katod.cli.why.terminal_width", lambda: 80)
    assert "katod show 2" in world.cli("why", f"{project}/note.txt:1")


def test_an_edit_that_failed_wrote_nothing(world: World, project):
    """Nor did one that the person refused, or that never ended."""
    maker = Claude(world)
    maker.say(user("::start notes\nhello"), says("hi"))
    for number, records in enumerate(edit_by(maker, "call-0").unmade.values()):
        edit = edit_by(maker, f"call-{number}")
        maker.put(*edit.call, *records)
    world.once()
    (project / "note.txt").write_text(f"{NEW}\n")
    assert [found["status"] for found in runs(world, project / "note.txt")] == ["unknown"]


def test_what_is_forgotten_explains_nothing(world: World, project):
    """`katod forget` drops the hashes of a session's edits."""
    maker = Claude(world)
    maker.say(user("::start notes\nhello"), says("hi"))
    edited(maker)
    maker.say(user("::stop"), says("ok"))
    world.once()
    (project / "note.txt").write_text(f"{NEW}\n")
    assert runs(world, project / "note.txt")[0]["status"] == "exact"
    world.cli("forget", maker.session, "--yes")
    assert runs(world, project / "note.txt")[0]["status"] == "unknown"


def test_a_fork_does_not_explain_a_line_twice(world: World, project):
    """The records of the edit are in both sessions; the first one made it."""
    for session in (world.claude(), Claude(world, OTHER)):
        session.say(user(f"::start {session.session}\nhello"), says("hi"))
        edited(session)
    world.once()
    (project / "note.txt").write_text(f"{NEW}\n")
    assert len(runs(world, project / "note.txt")) == 1


def test_people_see_the_line_with_its_prompt(world: World, project, monkeypatch):
    """On a terminal: the line itself, the title, the prompt, the answer, and the command that shows more."""
    maker = Claude(world)
    maker.say(user("::start notes\nhello"), says("hi"))
    edited(maker)
    world.once()
    (project / "note.txt").write_text(f"{NEW}\nmine\n")
    monkeypatch.setattr("katod.cli.why.terminal_width", lambda: 80)
    shown = world.cli("why", f"{project / 'note.txt'}:1")
    assert f"note.txt:1  {NEW}" in shown
    assert "prompt   please edit it" in shown
    assert "answer   I will edit it." in shown
    [command] = [line.strip() for line in shown.splitlines() if line.startswith("   katod show")]
    assert command == f"katod show claude:{maker.session[:13]} --find 'please edit it'"
    assert "please edit it" in world.cli(*shlex.split(command)[1:])
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with announced(world.state, "127.0.0.1", port):
            assert f"   http://127.0.0.1:{port}/s/{maker.session}#" in world.cli("why", str(project / "note.txt"))
    assert "unknown: " in world.cli("why", str(project / "note.txt"))
    assert world.cli("why", f"{project / 'note.txt'}:2") == ""


def test_programs_get_columns_and_what_git_blame_prints(world: World, project):
    """With tabs between columns; with `--porcelain`, as editors read it of git."""
    maker = Claude(world)
    maker.say(user("::start notes\nhello"), says("hi"))
    edited(maker)
    world.once()
    (project / "note.txt").write_text(f"{NEW}\nmine\n")
    first, second = world.cli("why", str(project / "note.txt")).splitlines()
    assert first.split("\t")[:2] == ["1", "exact"]
    assert first.endswith(f"claude:{maker.session}\tplease edit it")
    assert second.split("\t") == ["2", "unknown", "", "", ""]
    blame = world.cli("why", str(project / "note.txt"), "--porcelain").splitlines()
    heads = [line for line in blame if len(line.split(" ")[0]) == 40]
    assert [head.split(" ")[1:] for head in heads] == [["1", "1", "1"], ["2", "2", "1"]]
    assert heads[1].startswith("0" * 40)
    assert f"\t{NEW}" in blame
    assert "summary please edit it" in blame


@pytest.mark.parametrize(("name", "content", "said"), [
    ("none.txt", None, "does not exist"), ("binary.txt", b"\0\1\2", "is not a text file"), ("folder", "folder", "is not a file"),
    ("huge.txt", b"x" * (4 * 1024 * 1024 + 1), "is larger than 4 MB"),
])  # fmt: skip
def test_what_has_no_lines_is_one_line_of_reason(world: World, project, name, content, said):
    """No traceback, and nothing else is printed."""
    if content == "folder":
        (project / name).mkdir()
    elif content is not None:
        (project / name).write_bytes(content)
    world.cli("why", str(project / name), code=1)
    assert said in world.said


def test_a_file_outside_of_any_repository_is_known_by_its_whole_path(world: World, tmp_path):
    """There, only edits of this machine are found."""
    path = tmp_path / "elsewhere" / "plan.md"
    path.parent.mkdir()
    path.write_text("one line that says enough\n")
    maker = world.claude()
    maker.say(user("::start notes\nhello"), says("hi"))
    made = {"file_path": str(path), "content": path.read_text()}
    maker.append(maker.calls("w", "Write", **made), maker.result("w", "ok", toolUseResult={"type": "create"}))
    world.once()
    assert runs(world, path)[0]["status"] == "exact"


def test_a_call_and_its_result_may_be_read_by_two_runs(world: World, project):
    """What led to the edit is known from the first one."""
    maker = Claude(world)
    maker.say(user("::start notes\nhello"), says("hi"), user("please edit it"), says("I will edit it."))
    edit = edit_by(maker, "call-1")
    maker.put(*edit.call)
    world.once()
    (project / "note.txt").write_text(f"{NEW}\n")
    assert runs(world, project / "note.txt")[0]["status"] == "unknown"
    maker.put(*edit.made)
    world.once()
    [found] = runs(world, project / "note.txt")
    assert (found["prompt"]["text"], found["answer"]["text"]) == ("please edit it", "I will edit it.")


def test_a_recording_of_a_version_without_an_index_is_read(world: World, project):
    """From the agent's file; of another one that is gone, from the recording itself if that is JSONL."""
    maker = Claude(world)
    maker.say(user("::start notes.jsonl\nhello"), says("hi"))
    edited(maker)
    world.once()
    with closing(sqlite3.connect(world.state / LEDGER_NAME)) as ledger, ledger:
        ledger.execute("DELETE FROM edits")
        [printer] = ledger.execute("SELECT printer FROM outputs").fetchone()
        row = orjson.loads(printer)
        del row["edits"]
        ledger.execute("UPDATE outputs SET printer = ?", (orjson.dumps(row).decode(),))
    maker.say(user("more"), says("ok"))
    world.once()
    (project / "note.txt").write_text(f"{NEW}\n")
    assert runs(world, project / "note.txt")[0]["prompt"]["text"] == "please edit it"
    maker.path.unlink()
    assert runs(world, project / "note.txt")[0]["prompt"]["text"] == "please edit it"


def test_a_damaged_index_is_one_line_and_costs_its_rows(world: World, project):
    """What it no longer says is unknown."""
    maker = Claude(world)
    maker.say(user("::start notes\nhello"), says("hi"))
    edited(maker)
    world.once()
    with closing(sqlite3.connect(world.state / LEDGER_NAME)) as ledger, ledger:
        ledger.execute("UPDATE edits SET changes = x'00'")
    (project / "note.txt").write_text(f"{NEW}\n")
    assert runs(world, project / "note.txt")[0]["status"] == "unknown"
    assert "index of its edits is damaged" in world.said


@pytest.fixture
def committed(world, project, monkeypatch):
    """Return a repository in which a recorded edit was committed with other lines and a picture, and more came after."""
    maker = Claude(world)
    maker.say(user("::start notes\nhello"), says("hi"))
    edited(maker)
    world.once()
    (project / "note.txt").write_text(f"{NEW}\nby a person\n")
    (project / "picture").write_bytes(b"\0\1")
    (project / "other").mkdir()
    (project / "other" / "new.txt").write_text("by a person, too\n")
    git(project, "add", ".")
    git(project, "commit", "-qm", "edited", time="2026-11-01T00:00:00Z")
    (project / "note.txt").write_text("something else\n")
    git(project, "commit", "-qam", "more", time="2026-11-02T00:00:00Z")
    monkeypatch.chdir(project)
    return project


def test_a_commit_has_sessions_behind_it(world: World, committed, monkeypatch):
    """Which of its lines each wrote: of all files, a folder or one; a picture has no lines."""
    found = [orjson.loads(line) for line in world.cli("why", "--commit", "HEAD~1", "--json").splitlines()]
    assert [(row["file"], row["first"], row["last"], row["status"]) for row in found] == [
        ("note.txt", 1, 1, "exact"), ("note.txt", 2, 2, "unknown"), ("other/new.txt", 1, 1, "unknown"),
    ]  # fmt: skip
    assert world.cli("why", "--commit", "HEAD~1").splitlines()[1] == "note.txt:2\tunknown\t\t\t"
    monkeypatch.setattr("katod.cli.why.terminal_width", lambda: 80)
    shown = world.cli("why", "--commit", "HEAD~1")
    assert shown.startswith("1 of 3 added lines were written by edits of sessions\n")
    assert re.search(r"claude:6f1c2c1e-\w{4}  notes", shown)
    assert world.cli("why", "note.txt", "--commit", "HEAD~1").startswith("note.txt:1  an edited note")
    assert world.cli("why", "other", "--commit", "HEAD~1") == world.cli("why", "--commit", "HEAD") == ""
    trace = orjson.loads(world.cli("why", "--commit", "HEAD~1", "--agent-trace"))
    assert [error.message for error in schema("agent-trace").iter_errors(trace)] == []
    assert [one["contributor"]["type"] for one in trace["files"][0]["conversations"]] == ["ai", "unknown"]
    assert (len(trace["vcs"]["revision"]), trace["timestamp"]) == (40, "2026-11-01T00:00:00Z")


def test_a_deleted_file_is_shown_as_it_was(world: World, committed):
    """As the last commit had it that did."""
    git(committed, "rm", "-q", "note.txt")
    git(committed, "commit", "-qm", "gone", time="2026-11-03T00:00:00Z")
    [found] = runs(world, "note.txt")
    assert (found["file"], found["status"]) == ("note.txt", "unknown")
    assert "was deleted; this is how" in world.said


def test_many_lines_are_a_table_of_prompts(world: World, project, monkeypatch):
    """Lines of one prompt that follow each other are one row, and it is said how many lines there are."""
    maker = Claude(world)
    maker.say(user("::start notes\nhello"), says("hi"), user("two parts, please"))
    path = str(project / "long.txt")
    first, second = ("\n".join(f"the {name} line with number {n}" for n in range(20)) for name in ("first", "second"))
    maker.put(maker.calls("a", "Write", file_path=path, content=first), maker.result("a", "ok"))
    maker.put(
        maker.calls("b", "Edit", file_path=path, old_string=first, new_string=f"{first}\n{second}"),
        maker.result("b", "ok"),
    )
    world.once()
    (project / "long.txt").write_text(f"{first}\n{second}\nmine and mine alone\n")
    monkeypatch.setattr("katod.cli.why.terminal_width", lambda: 80)
    lines = world.cli("why", path).splitlines()
    assert lines[0] == "40 of 41 lines were written by edits of sessions"
    assert lines[2].startswith("1-40 ")
    assert lines[2].endswith("two parts, please")
    assert lines[3].split() == ["41", "unknown"]


def test_a_commit_without_the_file_is_refused(world: World, committed, tmp_path, monkeypatch):
    """So are an unknown commit, a folder without a repository, and a call that asks for nothing."""
    for asked, said in (
        (("other.txt", "--commit", "HEAD"), "HEAD adds no lines to other.txt"), (("--commit", "nothing"), "no commit is called 'nothing'"),
    ):  # fmt: skip
        world.cli("why", *asked, code=1)
        assert said in world.said
    monkeypatch.chdir(tmp_path)
    world.cli("why", "--commit", "HEAD", code=1)
    assert "is not in a git repository" in world.said
    for asked in ((), ("note.txt", "--json", "--porcelain")):
        world.cli("why", *asked, code=2)


def test_a_name_that_is_no_text_is_shown_as_one(world: World, project):
    """Names of files are bytes; JSON and a terminal want characters."""
    name = os.fsdecode(b"n\xff\n.txt")
    (project / name).write_text(f"{OLD}\n")
    git(project, "add", ".")
    git(project, "commit", "-qm", "named")
    assert runs(world, project / name)[0]["file"] == "n?\n.txt"
    assert 'filename "n?\\n.txt"' in world.cli("why", str(project / name), "--porcelain").splitlines()
    assert orjson.loads(world.cli("why", str(project / name), "--agent-trace"))["files"][0]["path"] == "n?\n.txt"


def test_what_is_said_in_one_range_does_not_explain_the_next(world: World, project):
    """Between them, something else may have been asked for that is nobody's business."""
    maker = Claude(world)
    edit = edit_by(maker, "call-1")
    maker.say(user("::start notes\nfirst"), says("ok"), user("::stop"), says("stopped"), user("a secret"), says("yes"))
    world.once()
    maker.say(user("::start"), says("going on"))
    maker.put(*edit.call, *edit.made)
    world.once()
    (project / "note.txt").write_text(f"{NEW}\n")
    [found] = runs(world, project / "note.txt")
    assert (found["status"], "prompt" in found) == ("exact", False)


def write_by(maker, path, content):
    """Have the agent write a file as a whole."""
    maker.append(maker.calls("w", "Write", file_path=str(path), content=content), maker.result("w", "ok"))


def test_what_was_written_beside_a_file_explains_nothing_of_it(world: World, project, tmp_path):
    """In a folder called like the repository, in another work tree, or in a folder of its name that is gone."""
    text = f"{OLD}\nand a line of which everybody would know where it comes from\n"
    (project / "note.txt").write_text(text)
    git(project, "commit", "-qam", "by hand")
    git(project, "worktree", "add", "-q", str(tmp_path / "tree"))
    gone = tmp_path / "gone" / project.name
    for number, (cwd, path) in enumerate(
        {project: project / project.name, tmp_path / "tree": tmp_path / "tree", gone: gone}.items()
    ):
        maker = Claude(world, f"6f1c2c1e-0000-4000-8000-00000000000{number}", cwd=str(cwd))
        maker.say(user(f"::start n{number}\nhello"), says("hi"))
        write_by(maker, path / "note.txt", text + "and more of its own, which is here nowhere\n" * 2)
    world.once()
    for options in ((), ("--all",)):
        assert [row["status"] for row in runs(world, project / "note.txt", *options)] == ["unknown"]


def test_a_new_file_of_the_old_name_of_a_renamed_one_is_another_one(world: World, project):
    """What is written into it does not touch the renamed one."""
    maker = Claude(world)
    maker.say(user("::start notes\nhello"), says("hi"))
    edited(maker)
    (project / "note.txt").write_text(f"{NEW}\n")
    git(project, "commit", "-qam", "edited", time="2026-11-01T00:00:00Z")
    git(project, "mv", "note.txt", "moved.txt")
    git(project, "commit", "-qm", "moved", time="2026-11-01T00:00:00Z")
    world.once()
    assert [row["status"] for row in runs(world, project / "moved.txt")] == ["exact"]
    later = Claude(world, OTHER, start=500_000)
    later.say(user("::start others\nhello"), says("hi"))
    write_by(later, project / "note.txt", "another note, of which nothing is in the first one\n")
    world.once()
    [found] = runs(world, project / "moved.txt")
    assert (found["status"], found["session"]) == ("exact", f"claude:{maker.session}")


def test_a_trace_without_a_commit_and_without_edits_has_the_time_at_which_it_was_made(world: World, project):
    """Not that of the beginning of all clocks."""
    made = orjson.loads(world.cli("why", str(project / "note.txt"), "--agent-trace"))
    assert made["timestamp"] > "2026"


def test_a_file_may_end_with_blank_lines(world: World, project):
    """Each of its lines is asked about; that a line says nothing is said."""
    for text in ("a line\n\n", "\n", f"{NEW}\n\n\n"):
        (project / "note.txt").write_text(text)
        assert runs(world, project / "note.txt")[-1]["last"] == text.count("\n")


def test_prompts_of_two_sessions_are_two_rows(world: World, project, monkeypatch):
    """However alike they are: neither a table nor `as above` joins them."""
    monkeypatch.setattr("katod.cli.why._DETAILED", 1)
    first, second = Claude(world), Claude(world, session=OTHER)
    (project / "note.txt").write_text("".join(f"line {number} as it was\n" for number in range(4)))
    git(project, "commit", "-qam", "lines")
    for number, maker in enumerate((first, second)):
        maker.say(user(f"::start notes{number}\nhello"), says("hi"), user("continue"))
        texts = {"old_string": f"line {number} as it was", "new_string": f"line {number} as it is now"}
        maker.put(
            maker.calls(f"c{number}", "Edit", file_path=str(project / "note.txt"), **texts),
            maker.result(f"c{number}", "ok"),
        )
    world.once()
    (project / "note.txt").write_text("line 0 as it is now\nline 1 as it is now\nline 2 as it was\nline 3 as it was\n")
    found = runs(world, project / "note.txt")
    assert [row["status"] for row in found] == ["exact", "exact", "unknown"]
    assert world.cli("why", str(project / "note.txt")).count("continue") == 2
