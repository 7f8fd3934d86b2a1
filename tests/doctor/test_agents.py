"""Agents: what is found of each, what is not understood, and what is going to be deleted."""

import os
import shutil
import time

import orjson
import pytest

from katod.doctor import agents
from katod.doctor.agents import examine
from katod.model import SessionKey
from katod.rescue import notes
from katod.rescue.recorded import RecordedSessions
from katod.service.lock import Lock
from katod.smallfile import write_small
from katod.store.ledger import Ledger
from tests.doctor.conftest import DAY
from tests.support.parts import memory_ledger
from tests.support.records import Antigravity, Claude, Codex, Gemini, says, user


def test_an_agent_is_found_with_its_version_and_sessions(home):
    """The version is that of the latest session; sub-agents are not counted."""
    home.aged(1, 5, "codex")
    source = home.session(2, "codex")
    source.append(Codex(session=source.session).meta(cli_version="0.169.0"), Codex().user("hello"))
    child = home.session(3, "claude")
    child.path = child.path.with_suffix("") / "subagents" / "agent-abc.jsonl"
    child.append(child.user("look"))
    found = [finding for finding in examine(home.case()) if finding.check == "agents.found"]
    assert [finding.text for finding in found] == [
        f"Claude Code: no sessions yet in {home.home}/.claude",
        f"Codex 0.169.0: 2 sessions in {home.home}/.codex",
    ]
    assert found[1].data == {
        "agent": "codex", "path": f"{home.home}/.codex", "version": "0.169.0", "sessions": 2,
    }  # fmt: skip


def test_the_folder_around_another_agents_folder_is_no_agent(home):
    """Antigravity has its folder in that of Gemini CLI, which need not be there."""
    Antigravity(home).say(user("hello"))
    assert "agents.found" in home.examined(examine)
    found = [finding.data["agent"] for finding in examine(home.case()) if finding.check == "agents.found"]
    assert found == ["antigravity"]
    (home.home / ".gemini/tmp").mkdir()
    assert "gemini" in [finding.data.get("agent") for finding in examine(home.case())]


def test_what_is_no_version_is_not_shown(home):
    """Text in place of a version is not printed; an adapter that fails costs only the version."""
    source = home.session(1, "codex")
    source.append(Codex(session=source.session).meta(cli_version="my secret words"), Codex().user("hello"))
    assert home.examined(examine)["agents.found"].text.startswith("Codex: 1 session")


def test_an_adapter_that_fails_costs_only_the_version(home, monkeypatch):
    """The sessions are counted nevertheless."""

    def fail(*_, **__):
        raise ValueError("broken")

    home.aged(1, 0)
    monkeypatch.setattr(agents, "replay", fail)
    assert home.examined(examine)["agents.found"].text.startswith("Claude Code: 1 session")


def test_no_agent_is_a_warning(home):
    """On a machine without agents there is nothing to record."""
    assert [finding.check for finding in examine(home.case())] == ["agents.none"]


def test_agents_that_are_not_supported_are_named(home):
    """So that nobody waits for a recording."""
    (home.home / ".factory/sessions").mkdir(parents=True)
    (home.home / ".local/share/amp").mkdir(parents=True)
    finding = home.examined(examine)["agents.others"]
    assert (finding.text, finding.data) == ("also here, not supported: Amp, Droid", {"agents": ["Amp", "Droid"]})


def test_sessions_in_a_place_where_katod_does_not_look_are_named(home):
    """A root of the configuration may be a folder too deep, or one of another agent's sessions."""
    folder = home.home / "mine"
    source = home.session(1, "codex")
    source.append(*source.opening(), source.user("hello"))
    (folder / "deep").mkdir(parents=True)
    (folder / "deep/notes.jsonl").write_text('{"note": 1}\n')
    source.path.rename(folder / "deep" / source.path.name)
    home.config.write_text(f'[agents.claude]\nroots = ["{folder}"]\n')
    finding = home.examined(examine)["agents.place"]
    assert "is a session of Codex, in a place where katod does not look" in finding.text
    assert finding.advice == "set `agents.codex.roots` to the folder with `sessions/` or `archived_sessions/` in it"
    (folder / "deep" / source.path.name).unlink()
    assert "agents.place" not in home.examined(examine)


def test_an_agent_that_is_switched_off_is_named(home):
    """Its sessions are not looked at."""
    home.aged(1, 0)
    home.config.write_text("[agents.claude]\nenabled = false\n")
    assert "`agents.claude.enabled`" in home.examined(examine)["agents.off"].text


def test_a_configured_directory_that_does_not_exist_is_a_warning(home):
    """It is most likely misspelt."""
    home.config.write_text('[agents.claude]\nroots = ["/nowhere/claude"]\n')
    finding = home.examined(examine)["agents.root"]
    assert (finding.level, finding.data["path"]) == ("warning", "/nowhere/claude")


def test_a_store_that_is_not_understood_is_a_problem(home):
    """Files that look like sessions but have no known name: katod is too old."""
    folder = home.home / ".codex" / "sessions" / "2027"
    folder.mkdir(parents=True)
    (folder / "thread-1.jsonl").write_text("{}\n")
    finding = home.examined(examine)["agents.strange"]
    assert finding.level == "problem"
    assert "files that look like sessions (1)" in finding.text
    assert "upgrade katod" in finding.advice


def test_a_database_that_is_not_understood_is_a_problem(home):
    """An OpenCode database without known tables."""
    folder = home.home / ".local/share/opencode"
    folder.mkdir(parents=True)
    (folder / "opencode.db").write_bytes(b"")
    assert home.examined(examine)["agents.strange"].data["path"] == str(folder / "opencode.db")


def test_folders_that_cannot_be_read_are_problems_and_the_list_is_short(home, monkeypatch):
    """Five are named with their reason, the others are counted; hostile names are quoted."""
    home.aged(1, 0)
    for number in range(6):
        (home.home / ".claude" / "projects" / f"closed '{number}\n").mkdir()
    scan = os.scandir

    def scandir(path):
        if "closed" in str(path):
            raise PermissionError(13, "Permission denied")
        return scan(path)

    monkeypatch.setattr(os, "scandir", scandir)
    monkeypatch.setattr("katod.discover.roots._has_a_name", lambda _: True)
    found = [finding for finding in examine(home.case()) if finding.check == "agents.unreadable"]
    assert len(found) == 6
    assert "Permission denied" in found[0].text
    assert "closed \\0472\\012'" in found[0].advice
    assert found[-1].data == {"agent": "claude", "places": 1}
    assert "1 session that can be read" in home.examined(examine)["agents.found"].text


# -- what is deleted ------------------------------------------------------------------------------


def test_sessions_that_are_going_to_be_deleted_are_counted(home):
    """By default Claude Code deletes what was not changed for 30 days: at its next start, within a week, or later."""
    for number, days in enumerate((40, 31, 29, 24, 10), 1):
        home.aged(number, days)
    finding = home.examined(examine)["retention.soon"]
    assert finding.level == "warning"
    assert finding.text == (
        "Claude Code deletes sessions 30 days after their last change (its default);"
        " 5 sessions not recorded as a whole, to be deleted: 2 when it next starts, 2 within 7 days"
    )
    assert "`cleanupPeriodDays` in" in finding.advice
    assert {"due": 2, "soon": 2, "unrecorded": 5, "days": 30}.items() <= finding.data.items()


def test_what_is_recorded_is_not_counted(home, monkeypatch):
    """Nothing of them is lost."""
    source = home.aged(1, 40)
    monkeypatch.setattr(RecordedSessions, "__contains__", lambda _, key: key == SessionKey("claude", source.session))
    finding = home.examined(examine)["retention.later"]
    assert (finding.level, finding.text.rpartition("; ")[2]) == ("ok", "all of each is recorded")


def test_only_a_session_that_is_recorded_as_a_whole_is_not_lost(world, home):
    """Not one that katod only knows, or of which an exchange was kept: `doctor` goes by what `rescue` saves."""
    for number, command in enumerate(("::capture notes", "::keep", "")):
        maker = Claude(world, f"0000000{number}-8a53-4c3e-9b5e-0a1d5f8f2c11")
        maker.say(user("hello"), says("yes"), user(command or "more"), says("yes"))
    world.once()
    ledger = Ledger.examine(world.state)
    kept = agents._recorded(home.case(ledger=ledger))
    assert [row.key.id[:8] for row in ledger.sessions() if row.key in kept] == ["00000000"]
    ledger.close()


@pytest.mark.parametrize("beside", ["a sub-agent", "a result"])
def test_what_is_beside_a_recorded_session_is_lost_with_it(world, home, beside):
    """So the session is counted, until its agent has deleted that, or its person had it forgotten."""
    maker = Claude(world).say(user("hello"), says("yes"), user("::capture"))
    child = Claude(world, subagent="a1b2c3")
    if beside == "a sub-agent":
        child.say(user("task"), says("done"))
        child.path.with_suffix(".meta.json").write_text('{"description": "task"}')
    else:
        (maker.path.with_suffix("") / "tool-results").mkdir(parents=True)
        (maker.path.with_suffix("") / "tool-results" / "r1.txt").write_text("long result")
    world.once()
    os.utime(maker.path, (time.time() - 40 * DAY,) * 2)

    def said():
        ledger = Ledger.examine(world.state)
        [finding] = [one for one in examine(home.case(ledger=ledger)) if one.check.startswith("retention.")]
        ledger.close()
        return finding.text.rpartition("; ")[2]

    assert said().startswith("1 session not recorded as a whole")
    if beside == "a sub-agent":
        world.cli("forget", f"claude:{maker.session}/a1b2c3", "--yes")
    else:
        shutil.rmtree(maker.path.with_suffix(""))
    assert said() == "all of each is recorded"


def test_a_forgotten_session_is_not_counted(world, home):
    """Its person does not want to keep it, and katod does not save it."""
    for number in (1, 2):
        maker = Claude(world, f"0000000{number}-8a53-4c3e-9b5e-0a1d5f8f2c11").say(user("hello"), says("yes"))
        os.utime(maker.path, (time.time() - 40 * DAY,) * 2)
    world.once()
    world.cli("forget", "00000001", "--yes")
    ledger = Ledger.examine(world.state)
    case = home.case(ledger=ledger)
    [finding] = [one for one in examine(case) if one.check == "retention.soon"]
    ledger.close()
    assert finding.data["unrecorded"] == 1


def test_nothing_soon_is_no_warning(home):
    """The first deletion is named, in days or hours."""
    home.aged(1, 10)
    assert (
        "1 session not recorded as a whole, to be deleted in 19 days or later"
        in home.examined(examine)["retention.later"].text
    )


def test_settings_of_the_agent_decide(home):
    """A longer time is no warning, and is not called a default."""
    home.aged(1, 40)
    settings = home.home / ".claude" / "settings.json"
    settings.write_bytes(orjson.dumps({"cleanupPeriodDays": 99999}))
    text = home.examined(examine)["retention.later"].text
    assert text.startswith("Claude Code deletes sessions 99999 days after their last change; ")
    settings.write_text("{")
    assert home.examined(examine)["retention.unknown"].level == "warning"


def test_sessions_beyond_a_number_are_deleted(home):
    """Gemini CLI may keep only the latest of each project; its next start is one of them."""
    now = time.time()
    for number in range(3):
        source = Gemini(home, f"{number:08x}-8a53-4c3e-9b5e-0a1d5f8f2c11")
        source.append(*source.opening())
        os.utime(source.path, (now - number * DAY, now - number * DAY))
    settings = home.home / ".gemini" / "settings.json"
    settings.write_bytes(orjson.dumps({"general": {"sessionRetention": {"maxCount": 2}}}))
    finding = home.examined(examine)["retention.soon"]
    assert "or beyond the latest 2 of a project; a resumed session may be deleted earlier; 3 sessions" in finding.text
    assert finding.data["due"] == 2
    home.config.write_text("[recording]\nrescue = true\n")
    assert home.examined(examine)["retention.unsaved"].text.endswith("not saved now: katod is not running")
    lock = Lock.take(home.state)
    assert "katod saves them two days before that" in home.examined(examine)["retention.saved"].text
    write_small(home.state / notes.NAME, b'{"problems": {"gemini:x": "the disk is full"}}')
    assert home.examined(examine)["retention.unsaved"].text.endswith("not saved now: the disk is full")
    lock.release()
    settings.write_bytes(orjson.dumps({"general": {"sessionRetention": {"enabled": False}}}))
    assert home.examined(examine)["retention.off"].text.startswith("Gemini CLI deletes nothing")


def test_agents_that_delete_nothing_share_a_line(home):
    """As far as it is known."""
    home.aged(1, 40, "codex")
    assert home.examined(examine)["retention.none"].data == {"agents": ["Codex"]}


@pytest.mark.parametrize(("days", "said"), [(0.01, "1 hour"), (0.5, "12 hours"), (1.9, "1 day"), (30, "30 days")])
def test_a_span_is_said_in_days_or_hours(days, said):
    """Rounded down: it is never later than said."""
    assert agents._span(days) == said


def test_an_empty_ledger_records_nothing(home):
    """Without outputs no session is kept."""
    assert SessionKey("claude", "x") not in agents._recorded(home.case(ledger=memory_ledger()))
