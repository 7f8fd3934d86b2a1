"""`katod export --all -f parquet`: it brings a data set up to date."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from katod import processes
from katod.agents.claude.adapter import ClaudeAdapter
from katod.archive.machine import NAME as MACHINE
from katod.archive.manifest import MANIFEST
from katod.tables import update
from tests.support.records import MAKERS, Claude, Codex
from tests.support.records.base import says, user
from tests.tables.dataset import TABLES

pytestmark = pytest.mark.slow
ONE, TWO = "00000001", "00000002"
SECRET = "ghp_" + "a1B2c3D4e5F6" * 3


def manifest(world):
    """Return the path of what katod knows of the only data set."""
    [path] = (world.state / "tables").glob(f"*/{MANIFEST}")
    return path


@pytest.fixture(params=["here", "elsewhere"])
def place(request, monkeypatch):
    """Have sessions read in this process, or in others before their turn: nobody sees a difference."""
    if request.param == "elsewhere":
        monkeypatch.setattr(update, "_MUCH", 0)
        monkeypatch.setattr(processes, "cores", lambda: 2)


@pytest.mark.usefixtures("place")
def test_each_table_has_a_file_for_each_agent_and_month(world, tables, two):
    """Private ones, below the names of their columns; what a session says is in the rows."""
    world.session(3, "codex").say(user("words 3"))
    assert tables.export() == "wrote 3"
    folders = [f"machine=local/agent={agent}/month=2026-02" for agent in ("claude", "codex")]
    assert sorted(tables.parts()) == sorted(f"{table}/{folder}/part.parquet" for table in TABLES for folder in folders)
    assert {path.stat().st_mode & 0o777 for path in tables.root.rglob("*")} == {0o600, 0o700}
    assert tables.words()[ONE] == ["words 1", "answer"]
    assert [row["name"] for row in tables.rows("calls")] == ["Bash", "Bash"]
    assert {row["session"] for row in tables.rows("sessions")} == {
        f"claude:{two[0].session}", f"claude:{two[1].session}", f"codex:{world.session(3).session}",
    }  # fmt: skip


@pytest.mark.usefixtures("place")
def test_only_what_changed_is_written(tables, two):
    """A run without news writes nothing; a session that has grown is replaced in the files of its month alone."""
    other = two[0].world.session(3, "codex").say(user("words 3"))
    tables.export()
    before = tables.stamps()
    assert tables.export() == "unchanged 3"
    assert tables.stamps() == before
    two[0].say(user("more"))
    assert tables.export() == "updated 1, unchanged 2"
    changed = {name for name, stamp in tables.stamps().items() if stamp != before[name]}
    assert {name.split("/")[0] for name in changed} >= {"sessions", "events", "messages", "calls", "edits"}
    assert all("agent=claude" in name for name in changed)
    assert tables.words() == {ONE: ["words 1", "answer", "more"], TWO: ["words 2", "answer"], "00000003": ["words 3"]}
    assert other.session


def test_nothing_is_loaded_if_nothing_is_new(world, tables, two):
    """Neither pyarrow nor a format: they take longer than all else."""
    tables.export()
    code = (
        "import sys; from katod.cli import app\n"
        "try: app(sys.argv[1:])\n"
        "except SystemExit: pass\n"
        "print(sorted(name for name in sys.modules if name.split('.')[0] == 'pyarrow' or name in\n"
        "    ('katod.tables.writer', 'katod.formats.jsonl', 'katod.formats.transcript.base', 'katod.record.export')))"
    )
    command = [sys.executable, "-c", code, "export", "--all", "-f", "parquet", "-o", str(tables.root)]
    done = subprocess.run(command, env=world.environment, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.splitlines() == ["unchanged 2", "[]"]


def test_what_katod_knows_has_no_word_of_a_session(world, tables, two):
    """Ids, paths, hashes and numbers: the words are in the data set alone, which is the person's."""
    two[0].say(user("zanzibar"), says("quagga"))
    tables.export()
    assert tables.has("zanzibar")
    for path in filter(lambda path: path.is_file(), world.state.rglob("*")):
        assert not [word for word in (b"zanzibar", b"quagga", b"words 1") if word in path.read_bytes()], path


def test_nothing_is_lost_to_deletion(tables, two):
    """The rows of a session stay when its agent has deleted it, also when others of its month change."""
    tables.export()
    two[0].path.unlink()
    assert tables.export() == "unchanged 1"
    two[1].say(user("more"))
    assert tables.export() == "updated 1"
    assert tables.words() == {ONE: ["words 1", "answer"], TWO: ["words 2", "answer", "more"]}
    assert {row["session"][7:15] for row in tables.rows("usage")} == {ONE, TWO}


def test_an_answer_counts_once_even_if_the_first_session_that_had_it_is_gone(world, tables):
    """A fork that copied it is not charged for it when the agent deletes the original."""
    one, fork = Claude(world), world.session(2)
    shared = one.says("a", message={"id": "msg_0123456789abcdef_1"})
    one.append(one.user("hi"), shared)
    fork.append(
        fork.user("hi"), shared | {"sessionId": fork.session}, fork.says("b", message={"id": "msg_0123456789abcdef_2"})
    )
    tables.export()
    used = sorted((row["session"], row["answers"]) for row in tables.rows("usage"))
    assert [answers for _, answers in used] == [1, 1]
    one.path.unlink()
    fork.say(user("more"))
    tables.export()
    assert sorted((row["session"], row["answers"]) for row in tables.rows("usage")) == used


def test_the_usage_of_every_agent_is_what_katod_usage_counts(world, tables):
    """Sessions, answers and tokens, whatever an agent records of them; also with sub-agents."""
    for number, make in enumerate(MAKERS):
        one = make(world)
        one.count = 1000 * number
        one.say(user("hello there"), says("yes"), says("ok"))
        if "sub-agent" not in make.ABSENT:
            one.child().say(user("look around"), says("done"))
    tables.export()
    world.configure(**{"prices.source": "none"})
    expected = json.loads(world.cli("usage", "--by", "agent", "--json"))["rows"]
    found = {}
    for row in tables.rows("usage"):
        sums = found.setdefault(row["agent"], [set(), 0, 0])
        sums[0].add(row["session"])
        sums[1] += row["answers"]
        sums[2] += row["input"] + row["output"] + row["cache_read"] + row["cache_write"]
    assert len(found) > 5
    assert {agent: (len(sessions), *sums) for agent, (sessions, *sums) in found.items()} == {
        row["agent"]: (row["sessions"], row["answers"], row["tokens"]["total"]) for row in expected
    }


def test_what_has_less_now_stays_as_it_was(world, tables, two):
    """And the run says so, once; what else is in its month goes on."""
    tables.export()
    two[0].rewrite(lambda number, _: number < 1)
    two[1].say(user("more"))
    assert tables.export() == "updated 1, left alone 1"
    assert f"claude:{two[0].session} has less now" in world.said
    assert tables.words() == {ONE: ["words 1", "answer"], TWO: ["words 2", "answer", "more"]}
    assert tables.export() == "unchanged 2"
    assert world.said == ""


def test_what_is_shorter_now_stays_as_it_was(world, tables, two):
    """An agent may clear a message, and keep the record."""
    tables.export()
    two[0].path.write_bytes(two[0].path.read_bytes().replace(b"answer", b"[]"))
    assert tables.export() == "unchanged 1, left alone 1"
    assert f"claude:{two[0].session} has less now" in world.said
    assert tables.words()[ONE] == ["words 1", "answer"]


def test_a_session_without_a_word_is_skipped_until_there_is_one(world, tables, two):
    """As in other exports; what it used would count."""
    empty = world.session(3).append(Claude().record("file-history-snapshot"))
    assert tables.export() == "wrote 2, empty 1"
    assert tables.export() == "unchanged 2, empty 1"
    empty.say(user("words 3"))
    assert tables.export() == "wrote 1, unchanged 2"


@pytest.mark.parametrize("table", TABLES)
def test_a_file_that_was_deleted_is_written_again(tables, two, table):
    """With what the agents still have; a stat tells."""
    tables.export()
    before = tables.content()
    [part] = (path for name, path in tables.parts().items() if name.startswith(table))
    part.unlink()
    tables.export()
    assert tables.content() == before
    assert tables.export() == "unchanged 2"


def test_rows_of_sessions_that_are_gone_stay_in_the_files_that_are_left(tables, two):
    """Also if that of the sessions was deleted, which has to name them."""
    tables.export()
    for one in two:
        one.path.unlink()
    [part] = (path for name, path in tables.parts().items() if name.startswith("sessions"))
    part.unlink()
    tables.export()
    assert tables.rows("sessions") == []
    assert tables.words() == {ONE: ["words 1", "answer"], TWO: ["words 2", "answer"]}


def test_a_session_that_cannot_be_read_is_tried_again(world, tables, two, monkeypatch):
    """Also if its rows are lost by then; the others go on."""
    from katod.errors import SourceUnusable  # noqa: PLC0415
    from katod.tables import staging  # noqa: PLC0415 - an extra

    tables.export()
    before = tables.content()
    shutil.rmtree(tables.root)
    real = staging.replay
    with monkeypatch.context() as patched:

        def replay(key, *given, **named):
            if key.id == two[0].session:
                raise SourceUnusable("cannot be read", path=two[0].path)
            return real(key, *given, **named)

        patched.setattr(staging, "replay", replay)
        assert tables.export(code=1) == "updated 1, failed 1"
        assert f"claude:{two[0].session}: {two[0].path}: cannot be read" in world.said
    assert list(tables.words()) == [TWO]
    tables.export()
    assert tables.content() == before


def test_a_data_set_that_was_deleted_is_written_again(tables, two):
    """All of it."""
    tables.export()
    before = tables.content()
    shutil.rmtree(tables.root)
    assert tables.export() == "updated 2"
    assert tables.content() == before


@pytest.mark.parametrize("content", [b"", b"PAR1 damaged PAR1", b"mine\n"])
@pytest.mark.parametrize("table", ["sessions", "events", "usage"])
def test_a_file_that_katod_did_not_write_is_left_alone(world, tables, two, table, content):
    """Nor is a damaged one touched: one line says what to do, and the next run after that completes it."""
    tables.export()
    before = tables.content()
    [part] = (path for name, path in tables.parts().items() if name.startswith(table))
    part.write_bytes(content)
    others = {name: stamp for name, stamp in tables.stamps().items() if not name.startswith(table)}
    for _ in range(2):
        tables.export(code=1)
        assert world.said.count("is damaged, or not a file that katod wrote") == 1
        assert str(part) in world.said
        assert part.read_bytes() == content
        assert {name: stamp for name, stamp in tables.stamps().items() if name in others} == others
    part.unlink()
    tables.export()
    assert tables.content() == before


def test_a_file_of_another_program_is_left_alone(world, tables, two):
    """One of Parquet that does not say whose it is, in a place where katod has written nothing yet."""
    import pyarrow as pa  # noqa: PLC0415 - an extra
    import pyarrow.parquet as pq  # noqa: PLC0415

    path = tables.root / "calls/machine=local/agent=claude/month=2026-02/part.parquet"
    path.parent.mkdir(parents=True)
    pq.write_table(pa.table({"mine": [1]}), path)
    before = path.read_bytes()
    tables.export(code=1)
    assert "not a file that katod wrote" in world.said
    assert path.read_bytes() == before
    assert list(tables.parts().values()) == [path]


def test_links_are_not_followed(world, tables, two):
    """Neither in place of a file nor of a folder; what they lead to stays as it is."""
    tables.export()
    mine = world.home / "mine"
    mine.mkdir()
    [part] = (path for name, path in tables.parts().items() if name.startswith("events"))
    kept = mine / "part.parquet"
    part.rename(kept)
    before = kept.read_bytes()
    part.symlink_to(kept)
    two[0].say(user("more"))
    tables.export(code=1)
    assert "is a symbolic link" in world.said or "is not a regular file" in world.said
    part.unlink()
    part.parent.rmdir()
    part.parent.symlink_to(mine, target_is_directory=True)
    tables.export(code=1)
    assert "is a symbolic link" in world.said
    assert kept.read_bytes() == before
    part.parent.unlink()
    tables.export()
    assert tables.words()[ONE][-1] == "more"
    assert kept.read_bytes() == before


def test_two_machines_of_one_name_do_not_write_to_each_other(world, tables, two):
    """The second one is told; nothing of the first one changes."""
    world.configure(**{"archive.machine": "laptop"})
    tables.export()
    before = tables.stamps()
    (world.state / MACHINE).unlink()
    shutil.rmtree(world.state / "tables")
    two[0].say(user("more"))
    tables.export(code=1)
    assert "belongs to another machine that is also called laptop" in world.said
    assert tables.stamps() == before
    world.configure(**{"archive.machine": "desktop"})
    assert tables.export() == "wrote 2"
    assert {row["machine"] for row in tables.rows("sessions")} == {"laptop", "desktop"}


def test_a_session_without_a_real_time_has_no_month(world, tables):
    """Its client had no clock; no engine reads `month=1-01`."""
    one = Claude(world)
    one.append(one.user("hi", timestamp="0001-01-01T00:00:00Z"), one.says("yes"))
    tables.export()
    assert {row["month"] for row in tables.rows("sessions")} == {"unknown"}


def test_a_secret_in_a_directory_is_in_no_file(world, tables):
    """Of a project, and of the relative path of a file in it."""
    codex = Codex(world, cwd=f"/home/me/{SECRET}")
    patch = "*** Begin Patch\n*** Update File: src/a.py\n@@\n-x\n+y\n*** End Patch"
    codex.say(user("hello"))
    call = {"type": "custom_tool_call", "name": "apply_patch", "call_id": "c1", "input": patch}
    codex.put(codex.record("response_item", call))
    codex.put(codex.record("response_item", {"type": "custom_tool_call_output", "call_id": "c1", "output": "ok"}))
    tables.export()
    [edit] = tables.rows("edits")
    assert edit["path"].endswith("/src/a.py")
    assert tables.has(SECRET) == []


def test_a_machine_that_gets_another_name_takes_its_rows_along(world, tables, two):
    """Also those of sessions that are gone; nothing is there twice."""
    tables.export()
    two[0].path.unlink()
    world.configure(**{"archive.machine": "laptop"})
    tables.export()
    assert {row["machine"] for row in tables.rows("sessions")} == {"laptop"}
    assert tables.words() == {ONE: ["words 1", "answer"], TWO: ["words 2", "answer"]}
    assert not list(tables.root.glob("*/machine=local"))
    assert tables.export() == "unchanged 1"


def test_what_katod_knew_may_be_lost(world, tables, two):
    """What is in the files of sessions that no longer exist is kept, and nothing is there twice."""
    tables.export()
    before = tables.content()
    two[0].path.unlink()
    shutil.rmtree(world.state / "tables")
    assert tables.export() == "updated 1"
    assert tables.content() == before
    assert tables.export() == "unchanged 1"


def test_what_katod_knew_may_be_damaged(world, tables, two):
    """It is read as far as it goes, and completed from the files."""
    tables.export()
    before = tables.content()
    path = manifest(world)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(line if number % 2 else line[:20] + b"\n" for number, line in enumerate(lines)))
    two[0].path.unlink()
    tables.export()
    assert "was lost or damaged" in world.said
    assert tables.content() == before
    assert tables.export() == "unchanged 1"


def test_a_session_that_began_in_another_month_than_was_thought_moves(world, tables):
    """Its rows are in one partition, also if what katod knew of it was lost in between."""
    late = Claude(world)
    late.append(late.user("words") | {"timestamp": "2026-03-05T10:00:00.000Z"})
    tables.export()
    for before, month, lost in (("2026-03", "2026-04", False), ("2026-04", "2026-05", True)):
        assert [row["month"] for row in tables.rows("sessions")] == [before]
        late.path.write_bytes(late.path.read_bytes().replace(before.encode(), month.encode()))
        if lost:
            shutil.rmtree(world.state / "tables")
        assert tables.export() == "updated 1"
        assert [row["month"] for row in tables.rows("sessions")] == [month]
        assert len(tables.parts()) == len(TABLES)


def test_excluded_projects_are_never_in_it(world, tables, two):
    """If one is excluded later, its rows go with the next run: no word of it stays in any file."""
    kept = world.session(3)
    kept.cwd = "/home/me/other"
    kept.say(user("words 3"))
    child = Claude(world, two[0].session, subagent="a1b2")
    child.cwd = "/home/me/elsewhere"
    child.say(user("zanzibar look around"))
    two[0].say(user("zanzibar"))
    tables.export()
    assert len(tables.has("zanzibar")) == 3  # sessions (a title), events, messages
    two[1].path.unlink()
    world.configure(exclude=["/home/me/app"])
    assert tables.export() == "unchanged 1, excluded 2"
    assert tables.words() == {"00000003": ["words 3"]}
    assert tables.has("zanzibar") == []
    assert {row["project"] for row in tables.rows("usage")} <= {"/home/me/other"}
    assert tables.export() == "unchanged 1, excluded 2"
    world.configure(exclude=[])
    assert tables.export() == "wrote 2, unchanged 1"
    assert tables.words()[ONE][:3] == ["words 1", "answer", "zanzibar"]


def test_the_files_of_an_empty_month_are_removed(world, tables, two):
    """With the folders around them; the directory of the data set stays."""
    tables.export()
    world.configure(exclude=["/"])
    tables.export()
    assert tables.parts() == {}
    assert [path for path in tables.root.rglob("*") if path.is_dir()] == []
    assert tables.export() == "excluded 2"


def test_secrets_are_redacted_unless_they_are_wanted(world, tables):
    """As in JSONL; other options write all sessions again."""
    token = "ghp_" + "a1B2c3D4e5F6" * 3
    Claude(world).say(user(f"use {token}"))
    tables.export()
    assert tables.has(token) == []
    assert len(tables.has("[REDACTED:github-token]")) == 3
    assert tables.export("--no-redact") == "updated 1"
    assert len(tables.has(token)) == 2  # a title never has one


def test_another_version_of_a_reader_writes_everything_again(tables, two, monkeypatch):
    """What it reads may be more."""
    tables.export()
    monkeypatch.setattr(ClaudeAdapter, "version", 99)
    assert tables.export() == "updated 2"


def test_two_runs_at_once(world, tables, two):
    """The second one is told, and changes nothing."""
    from katod.archive.machine import Machine  # noqa: PLC0415
    from katod.tables.dataset import opened_set  # noqa: PLC0415

    with opened_set(world.state, str(tables.root), Machine("local", "a" * 32)):
        tables.export(code=1)
    assert world.said.splitlines()[-1].endswith(f"{tables.root}: another katod is writing this data set")
    assert not tables.root.exists()


def test_a_full_disk_ends_the_run_and_loses_nothing(world, tables, two, monkeypatch):
    """One line says so; the next run completes it."""
    import errno  # noqa: PLC0415

    from katod.write.whole import UnfinishedFile  # noqa: PLC0415

    tables.export()
    before = tables.stamps()
    two[0].say(user("more"))
    with monkeypatch.context() as patched:

        def full(*_):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        patched.setattr(UnfinishedFile, "complete", full)
        tables.export(code=1)
    assert "No space left on device" in world.said
    assert len(world.said.splitlines()) == 1
    assert tables.stamps() == before
    assert tables.export() == "updated 2"  # all of a month that was being written
    assert tables.words()[ONE][-1] == "more"


def test_a_title_of_its_person_is_the_title(world, tables, two):
    """Given later, it is written with the next run."""
    tables.export()
    world.once()
    world.cli("rename", two[0].session, "My own title")
    assert tables.export() == "updated 1, unchanged 1"
    assert "My own title" in {row["title"] for row in tables.rows("sessions")}
