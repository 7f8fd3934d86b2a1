"""Tests for sessions that are saved from deletion, from the sweep to the files."""

import errno
import io
import json
import os
import re
import shutil
import time
import zipfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from katod import durable
from katod.errors import SourceError
from katod.rescue import copyfile, keeping, plan, rescuer, saving
from katod.rescue.copyfile import About, members, pieces, read_about
from katod.rescue.names import place_of
from katod.rescue.rescuer import Rescuer
from tests.support.inprocess import InProcess
from tests.support.records import OTHER, Claude, Gemini, GeminiDocument, Maker, says, user
from tests.support.world import CUT, World

DAY = 86_400
TOKEN = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
AGENTS = pytest.mark.parametrize("make", [Claude, Gemini], ids=lambda maker: maker.__name__)


@pytest.fixture(autouse=True)
def _asked_for(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Turn saving on."""
    world.configure(rescue=True)
    monkeypatch.setattr(rescuer, "PATIENCE", 0.0)


def rescued(world: World) -> Path:
    """Return the folder of what was saved."""
    return world.home / ".local" / "share" / "katod" / "rescued"


def saved(world: World) -> dict[str, About]:
    """Return what was saved, by session."""
    return {str(about.key): about for about in map(read_about, sorted(rescued(world).glob("*/*.zip")))}


def age(path: Path, days: float) -> None:
    """Make a file so many days old."""
    then = time.time() - days * DAY
    os.utime(path, (then, then))


def told(maker: Maker, days: float, *texts: str) -> Maker:
    """Say something in a session that then is so many days old."""
    maker.say(*(said for text in texts or ("hello",) for said in (user(text), says(f"about {text}"))))
    age(maker.path, days)
    return maker


def content(world: World, about: About) -> dict[str, bytes]:
    """Return the files of a copy, by their old paths."""
    place = place_of(rescued(world), about.key)
    with members(place) as (_, archive):
        return {file.path: b"".join(pieces(archive, file.name)) for file in about.files}


def say_of(place: Path, new: Path, **changed: Any) -> None:
    """Write an archive again, as another one or in its place, whose `about.json` says something else, or nothing (None)."""
    with zipfile.ZipFile(place) as archive:
        found = {name: archive.read(name) for name in archive.namelist()}
    row = json.loads(found[copyfile.ABOUT]) | changed
    found[copyfile.ABOUT] = json.dumps({name: value for name, value in row.items() if value is not None}).encode()
    with zipfile.ZipFile(new, "w") as archive:
        for name, data in found.items():
            archive.writestr(name, data)


@AGENTS
def test_a_session_is_saved_within_two_days_of_its_deletion(world: World, make: type[Maker]) -> None:
    """With a transcript, for its owner alone; younger ones are not."""
    old, young = told(make(world), 28.5, "old words"), told(make(world, OTHER), 27.5)
    world.process()
    [about] = saved(world).values()
    assert about.files[0].path == str(old.path)
    assert content(world, about) == {str(old.path): old.path.read_bytes()}
    assert about.is_exact
    transcript = place_of(rescued(world), about.key).with_suffix(".md").read_text()
    assert "old words" in transcript
    assert "*Rescued from deletion " in transcript
    assert young.path.exists()
    modes = {path.stat().st_mode & 0o777 for path in rescued(world).rglob("*")} | {
        rescued(world).stat().st_mode & 0o777
    }
    assert modes == {0o700, 0o600}


@AGENTS
def test_nothing_is_saved_unless_it_was_asked_for(world: World, make: type[Maker]) -> None:
    """And while katod is paused, nothing either."""
    world.configure()
    told(make(world), 40)
    world.process()
    world.configure(rescue=True)
    world.cli("pause")
    world.process()
    assert not rescued(world).exists()
    world.cli("pause", "--end")
    world.process()
    assert len(saved(world)) == 1


def test_what_was_recorded_is_not_saved(world: World) -> None:
    """What was only exported or kept, or recorded in part, is, and so is what has no transcript any more."""
    said = {"recorded": "::capture notes", "kept": "::keep", "part": "::start part", "lost": "::capture lost"}
    makers = {name: Claude(world, f"{name}-{OTHER[len(name) + 1 :]}") for name in said}
    for name, command in said.items():
        makers[name].say(user("words"), says("answer"), user(command), says("done"))
    world.process()
    for path in world.out.rglob("lost.md"):
        path.unlink()
    for maker in makers.values():
        age(maker.path, 40)
    world.configure(rescue=True)
    world.process()
    assert sorted(saved(world)) == sorted(f"claude:{makers[name].session}" for name in ("kept", "part", "lost"))


@pytest.mark.parametrize("beside", ["a sub-agent", "a result"])
def test_what_is_recorded_nowhere_is_saved_with_its_session(world: World, beside: str) -> None:
    """Although all of the session itself is recorded. What only describes a recorded sub-agent is no reason."""
    maker = Claude(world, OTHER).say(user("hello"), says("yes"), user("::capture notes"))
    told(child := Claude(world, OTHER, subagent="a1b2c3"), 3, "the task")
    child.path.with_suffix(".meta.json").write_text('{"description": "the task"}')
    world.process()
    if beside == "a sub-agent":
        path = told(Claude(world, OTHER, subagent="d4e5f6"), 3, "another task").path
    else:
        path = maker.path.with_suffix("") / "tool-results" / "r1.txt"
        path.parent.mkdir(parents=True)
        path.write_text("long result")
    world.cli("capture", f"claude:{OTHER}/a1b2c3")
    age(maker.path, 40)
    away = path.rename(world.home / "away")
    world.process()
    assert not saved(world)
    away.rename(path)
    world.process()
    [about] = saved(world).values()
    assert content(world, about)[str(path)] == path.read_bytes()


@pytest.mark.parametrize("form", ["lifecycle", "otlp"])
def test_what_is_recorded_without_words_is_saved(world: World, form: str) -> None:
    """A file that has nothing of what was said saves no session."""
    maker = Claude(world).say(user("hello"), says("yes"))
    world.configure(rescue=True, auto=True, format=form)
    world.process()
    age(maker.path, 40)
    world.process()
    assert len(saved(world)) == len(world.files()) == 1


def test_an_older_copy_of_a_transcript_saves_no_session(world: World) -> None:
    """What was recorded since is in no file any more."""
    world.configure(rescue=True, auto=True)
    maker = Claude(world).say(user("hello"), says("yes"))
    world.process()
    [transcript] = world.files()
    older = transcript.read_bytes()
    maker.say(*(said for n in range(40) for said in (user(f"question {n}"), says(f"answer {n}"))))
    world.process()
    transcript.write_bytes(older)
    age(maker.path, 40)
    world.process()
    assert len(saved(world)) == 1


def test_a_sub_agent_that_is_deleted_beside_a_living_session_is_saved(world: World) -> None:
    """Its agent goes by the time of each file."""
    maker = told(Claude(world), 1)
    child = told(Claude(world, subagent="a1b2c3"), 29, "the task")
    world.process()
    [about] = saved(world).values()
    assert content(world, about)[str(child.path)] == child.path.read_bytes()
    child.path.unlink()
    told(maker, 40, "more")
    world.process()
    [about] = saved(world).values()
    assert b"the task" in content(world, about)[str(child.path)]


def test_days_are_counted_on_from_those_of_the_copies(world: World) -> None:
    """If the state directory is lost, a new copy is no older than those that are there: they give way to it."""
    told(Claude(world, OTHER), 40)
    path = world.state / "rescue.json"
    world.process()
    path.write_text(json.dumps(json.loads(path.read_text()) | {"days": 40}))
    shutil.rmtree(rescued(world))
    rescued(world).mkdir(mode=0o700)
    world.process()
    assert [about.day for about in saved(world).values()] == [40]
    path.unlink()
    told(Claude(world), 40)
    world.process()
    world.process()
    assert {about.day for about in saved(world).values()} == {40}
    assert json.loads(path.read_text())["days"] == 40


@pytest.mark.parametrize("days", [400, -400], ids=["more", "less"])
def test_copies_of_another_machine_make_no_other_old(world: World, days: int) -> None:
    """After a move to a new machine, those of both stay, on however many days each ran."""
    maker = told(Claude(world), 40)
    world.process()
    [about] = saved(world).values()
    maker.path.unlink()
    world.process()
    other = about.key._replace(id=OTHER)
    place = place_of(rescued(world), about.key)
    say_of(place, place_of(rescued(world), other), key=list(other), day=about.day + days)
    told(Claude(world, f"{OTHER[:-1]}0"), 1)
    for _ in range(2):
        world.process()
    assert sorted(saved(world)) == sorted([str(about.key), str(other)])


def test_an_excluded_project_is_never_saved(world: World) -> None:
    """Nor one that may be excluded, as its directory is unknown; that is said."""
    told(Claude(world, cwd="/home/me/secret"), 40)
    told(Gemini(world), 40)
    world.configure(rescue=True, exclude=["/home/me/secret"])
    world.process()
    assert "claude" not in "".join(saved(world))
    assert not [path for path in rescued(world).rglob("*") if "claude" in str(path) and path.is_file()]


@AGENTS
def test_secrets_are_replaced_unless_that_is_turned_off(world: World, make: type[Maker]) -> None:
    """With `rescue_redact = false` it is byte for byte what the agent had."""
    maker = told(make(world), 40, f"use {TOKEN}")
    world.process()
    [about] = saved(world).values()
    assert not about.is_exact
    assert TOKEN.encode() not in b"".join(path.read_bytes() for path in rescued(world).rglob("*.md"))
    [cleaned] = content(world, about).values()
    assert TOKEN.encode() not in cleaned
    assert len(cleaned.splitlines()) == len(maker.path.read_bytes().splitlines())
    world.cli("forget", str(about.key), "--yes")
    world.configure(rescue=True, rescue_redact=False)
    world.process()


@pytest.mark.parametrize("depth", [300, 1000, 3000])
def test_a_record_that_is_nested_deeply_is_saved_without_its_secret(world: World, depth: int) -> None:
    """Such as a tree that a tool was given."""
    maker = Claude(world).say(user("show me the tree"), says("yes"))
    maker.append(maker.calls("c1", "Show", tree="DEEP"))
    deep = f'{"[" * depth}"say {TOKEN}"{"]" * depth}'
    maker.path.write_text(maker.path.read_text().replace('"DEEP"', deep))
    told(maker, 40)
    world.process()
    [about] = saved(world).values()
    [cleaned] = content(world, about).values()
    assert f'{"[" * depth}"say [REDACTED:github-token]"{"]" * depth}'.encode() in cleaned
    assert TOKEN.encode() not in cleaned


def test_what_is_beside_a_session_is_saved_with_it(world: World) -> None:
    """Sub-agents, results in files of their own and images; links are not followed."""
    maker = told(Claude(world), 40)
    child = told(Claude(world, subagent="a1b2c3"), 3)
    folder = maker.path.with_suffix("")
    (folder / "tool-results").mkdir(parents=True)
    (folder / "tool-results" / "r1.txt").write_text("long result")
    (folder / "tool-results" / "i.png").write_bytes(b"\x89PNG\xff")
    (folder / "tool-results" / "link.txt").symlink_to("/etc/passwd")
    world.process()
    [about] = saved(world).values()
    found = content(world, about)
    assert found[str(child.path)] == child.path.read_bytes()
    assert {Path(path).name for path in found} == {maker.path.name, child.path.name, "r1.txt", "i.png"}
    assert found[str(folder / "tool-results" / "i.png")] == b"\x89PNG\xff"


def test_a_result_that_is_deleted_beside_a_living_session_is_saved(world: World) -> None:
    """And stays in the copy when the session itself is saved, by which time it is gone."""
    maker = told(Claude(world), 1)
    result = maker.path.with_suffix("") / "tool-results" / "r1.txt"
    result.parent.mkdir(parents=True)
    result.write_text("long result")
    age(result, 29)
    world.process()
    assert str(result) in content(world, saved(world)[f"claude:{maker.session}"])
    result.unlink()
    age(maker.path, 40)
    world.process()
    told(maker, 40, "more")
    world.process()
    found = content(world, saved(world)[f"claude:{maker.session}"])
    assert found[str(result)] == b"long result"
    assert b"more" in found[str(maker.path)]


@pytest.mark.fault("session deleted by its agent")
@AGENTS
def test_what_the_agent_deletes_stays_saved(world: World, make: type[Maker]) -> None:
    """However often katod looks afterwards, and whatever the agent's settings are by then."""
    told(make(world, OTHER), 1)
    maker = told(make(world), 40)
    world.process()
    maker.path.unlink()
    settings = world.home / (".claude" if make is Claude else ".gemini") / "settings.json"
    settings.write_text(json.dumps({"cleanupPeriodDays": 365, "general": {"sessionRetention": {"maxAge": "365d"}}}))
    world.process()
    world.process()
    assert len(saved(world)) == 1


@pytest.mark.fault("saved session deleted by its person")
@AGENTS
def test_what_a_person_deletes_goes_with_its_copy(world: World, make: type[Maker]) -> None:
    """Its agent would still have kept it."""
    told(make(world, OTHER), 1)
    maker = told(make(world), 29)
    world.process()
    assert len(saved(world)) == 1
    maker.path.unlink()
    world.process()
    assert len(saved(world)) == 1, "it may be back in a moment"
    world.process()
    assert not [path for path in rescued(world).rglob("*") if path.is_file()]


def test_a_session_that_went_on_is_kept_by_its_agent_again(world: World) -> None:
    """So its person deletes it, if it goes before the agent would do that."""
    told(Claude(world, OTHER), 1)
    maker = told(Claude(world), 40)
    world.process()
    age(maker.path, 2)
    world.process()
    maker.path.unlink()
    world.process()
    world.process()
    assert not saved(world)


@AGENTS
def test_a_wrong_clock_deletes_nothing(world: World, make: type[Maker], monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither one that was set back after the agent's deletion, nor one that is years ahead."""
    told(make(world, OTHER), 1)
    maker = told(make(world), 40)
    world.process()
    maker.path.unlink()
    for years in (-5, 2, -5, 0):
        with monkeypatch.context() as patch:
            clock = time.time_ns
            patch.setattr(time, "time_ns", lambda years=years, clock=clock: clock() + years * 365 * DAY * 10**9)
            world.process()
            world.process()
    assert f"{maker.agent}:{maker.path.stem[-8:] if make is Gemini else maker.session}" in saved(world)


def test_what_its_person_asks_for_meanwhile_deletes_nothing(world: World) -> None:
    """A request that is carried out without a daemon does not look."""
    told(Claude(world, OTHER), 1)
    maker = told(Claude(world), 29)
    world.process()
    maker.path.unlink()
    for _ in range(3):
        world.cli("star", OTHER)
    assert len(saved(world)) == 1


def test_a_copy_goes_when_its_project_is_excluded(world: World) -> None:
    """Also if its agent has deleted the session since."""
    told(Claude(world, OTHER), 1)
    maker = told(Claude(world), 40)
    world.process()
    maker.path.unlink()
    world.configure(rescue=True, exclude=["/home/me/*"])
    world.process()
    assert not saved(world)


@pytest.mark.parametrize("how", ["off", "paused"])
@pytest.mark.parametrize("reason", ["excluded", "deleted by its person", "too old"])
def test_copies_go_although_nothing_is_saved(world: World, how: str, reason: str) -> None:
    """Saving was turned off, or katod is paused: that is no reason to keep what has to go."""
    told(Claude(world, OTHER), 1)
    maker = told(Claude(world), 29)
    world.process()
    excluded = ["/home/me/*"] if reason == "excluded" else []
    world.configure(rescue=how == "paused", exclude=excluded)
    if how == "paused":
        world.cli("pause")
    if reason == "deleted by its person":
        maker.path.unlink()
    elif reason == "too old":
        path = world.state / "rescue.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | {"days": 400}))
        [place] = rescued(world).glob("*/*.zip")
        say_of(place, place, saved="2025-01-01T00:00:00+00:00")
    told(Claude(world, f"{OTHER[:-1]}0"), 40)
    world.process()
    world.process()
    assert not saved(world)
    assert not world.status()["problems"]


def test_a_session_that_enters_an_excluded_project_is_not_saved(world: World) -> None:
    """However late its records, or those of a sub-agent, name it."""
    for maker in (Claude(world), Claude(world, OTHER, subagent="a1b2c3")):
        maker.say(*(said for n in range(60) for said in (user(f"words {n}"), says("yes"))))
        maker.cwd = "/home/me/secret"
        told(maker, 40, "in secret")
    told(Claude(world, OTHER), 40)
    world.configure(rescue=True, exclude=["*/secret"])
    world.process()
    assert not saved(world)
    assert not [path for path in rescued(world).rglob("*") if path.is_file()]


def with_result(maker: Maker, line: str) -> None:
    """Put what a tool returned beside a session."""
    beside = maker.path.with_suffix("") / "tool-results" / "toolu_1.txt"
    beside.parent.mkdir(parents=True)
    beside.write_text(f"processes\n{line}\nend\n")
    age(beside, 40)


@pytest.mark.parametrize(
    "line",
    [
        '2026-01-01 INFO start {"name": "api", "cwd": "/home/me/secret"}', '  {"cwd": "/home/me/secret"},',
        '     1\t{"type":"user","cwd":"/home/me/secret"}', 'x.jsonl:{"cwd":"/home/me/secret"}',
    ],
)  # fmt: skip
def test_what_a_tool_returned_enters_no_project(world: World, line: str) -> None:
    """A log, or records that were listed: only a line that is an object as a whole may be a record of the agent."""
    world.configure(rescue=True, exclude=["/home/me/secret"])
    maker = told(Claude(world), 40, "what runs here?")
    with_result(maker, line)
    world.process()
    assert saved(world)


@pytest.mark.whole
@pytest.mark.parametrize("named", ["by a log", "by a line as a whole", "by a call", "by what was returned"])
def test_a_copy_stays_when_a_directory_is_excluded_that_tools_named(world: World, named: str) -> None:
    """The session never worked there, and its agent has deleted it: this may be all that is left of it."""
    told(Claude(world, OTHER), 1)
    maker = Claude(world).say(user("what runs here?"))
    there = {"port": 80, "cwd": "/home/me/secret"}
    if named == "by a call":
        maker.append(maker.calls("c1", "Run", **there))
    elif named == "by what was returned":
        maker.append(maker.result("c1", "done", toolUseResult=there))
    else:
        with_result(maker, json.dumps(there) if named == "by a line as a whole" else f"INFO start {json.dumps(there)}")
    told(maker, 40)
    world.process()
    [about] = saved(world).values()
    assert about.projects == ("/home/me/app",)
    maker.path.unlink()
    world.process()
    world.configure(rescue=True, exclude=["/home/me/secret"])
    world.process()
    assert saved(world) == {str(about.key): about}


def test_an_older_copy_stays_when_a_directory_is_excluded_that_it_only_names(world: World) -> None:
    """Its list may have what tools named. What it says of the project itself counts."""
    told(Claude(world, OTHER), 1)
    maker = told(Claude(world), 40)
    world.process()
    [place] = rescued(world).glob("*/*.zip")
    say_of(place, place, worked_in=None, projects=["/home/me/app", "/home/me/secret"])
    maker.path.unlink()
    world.process()
    world.configure(rescue=True, exclude=["/home/me/secret"])
    world.process()
    assert len(saved(world)) == 1
    world.configure(rescue=True, exclude=["/home/me/app"])
    world.process()
    assert not saved(world)


def test_a_copy_goes_when_the_project_of_a_sub_agent_is_excluded(world: World) -> None:
    """Its records are those of the session."""
    maker = Claude(world, subagent="a1b2c3")
    maker.cwd = "/home/me/between"
    told(maker, 40, "the task")
    told(Claude(world), 40)
    world.process()
    assert len(saved(world)) == 1
    world.configure(rescue=True, exclude=["/home/me/between"])
    world.process()
    assert not saved(world)


def test_a_changed_file_deletes_no_copy_at_once(world: World) -> None:
    """Whoever is still writing `exclude` may mean less than stands there now. With `SIGHUP`, it is meant."""
    told(Claude(world), 40)
    world.process()
    katod = InProcess(world)
    world.configure(rescue=True, exclude=["/home/me"])
    for is_asked in (False, True):
        katod._reload(is_asked=is_asked)
        katod._chores.rescue_all(lambda: False)
        assert bool(saved(world)) != is_asked
    katod.stop()


@pytest.mark.parametrize("cwd", ["/home/me/secret", "/home/me/secret/(half)"])
def test_half_a_character_in_the_record_that_enters_an_excluded_project_saves_no_session(
    world: World, cwd: str
) -> None:
    """Nor does one in the name of the directory, or a record that was torn before it on the same line."""
    maker = Claude(world).say(user("words"), says("yes"))
    maker.cwd = cwd
    maker.say(user("the plan (half)"))
    maker.cwd = "/home/me/app"
    told(maker, 40, "back again")
    whole = maker.path.read_bytes()
    world.configure(rescue=True, exclude=["/home/me/secret"])
    for data in (whole.replace(b"(half)", b"\\ud83d"), whole.replace(b'\n{"', b'\n{"torn": "{"')):
        maker.path.write_bytes(data)
        age(maker.path, 40)
        world.process()
        assert not saved(world)


def test_a_linked_folder_beside_a_session_is_not_followed(world: World) -> None:
    """What it leads to is not the agent's."""
    maker = told(Claude(world), 40)
    (world.home / "elsewhere").mkdir()
    (world.home / "elsewhere" / "diary.txt").write_text("mine")
    maker.path.with_suffix("").symlink_to(world.home / "elsewhere")
    world.process()
    [about] = saved(world).values()
    assert [file.path for file in about.files] == [str(maker.path)]


def test_gemini_goes_by_what_a_session_says_of_its_last_change(world: World) -> None:
    """So a session is due by that, and its copy stays when it is gone, although its file is younger."""
    told(Gemini(world, OTHER), 1)
    maker = Gemini(world)
    maker.say(user("hello"), says("yes"))
    then = datetime.now(UTC) - timedelta(days=31)
    old = re.sub(rb'("timestamp":")[^"]+', rb"\g<1>" + then.isoformat().encode(), maker.path.read_bytes())
    maker.path.write_bytes(old)
    age(maker.path, 28.5)
    world.process()
    maker.path.unlink()
    world.process()
    world.process()
    assert len(saved(world)) == 1


def test_a_root_without_any_session_says_nothing_of_deletions(world: World) -> None:
    """It may be on a disk that is not mounted."""
    maker = told(Claude(world), 29)
    world.process()
    maker.path.rename(world.home / "elsewhere")
    world.process()
    assert len(saved(world)) == 1


@pytest.mark.parametrize("ledger", ["kept", "lost"])
def test_forgetting_a_session_deletes_its_copy(world: World, ledger: str) -> None:
    """Also of a session that its agent has deleted, by the id that `katod rescue` shows, and if only that is left."""
    maker = told(Claude(world), 40)
    world.process()
    maker.path.unlink()
    world.process()
    for path in world.state.glob("ledger*") if ledger == "lost" else ():
        path.unlink()
    assert "deletes its rescued copy" in world.cli("forget", maker.session, "--yes")
    assert not [path for path in rescued(world).rglob("*") if path.is_file()]


def test_what_cannot_be_saved_is_said_and_tried_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The others are saved meanwhile; nothing half is left."""
    told(Claude(world, OTHER), 40)
    maker = told(Claude(world), 40)
    write = copyfile.CopyWriter.write_transcript

    def full(self: copyfile.CopyWriter, pieces: Any) -> None:
        if maker.session in str(vars(self)):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write(self, pieces)

    with monkeypatch.context() as patch:
        patch.setattr(copyfile.CopyWriter, "write_transcript", full)
        world.process()
    [row] = world.status()["problems"]
    assert row["path"] == f"claude:{maker.session}"
    assert row["problem"].startswith("not saved from deletion: ")
    assert list(saved(world)) == [f"claude:{OTHER}"]
    assert not list(rescued(world).rglob("*.part"))
    world.process()
    assert not world.status()["problems"]
    assert len(saved(world)) == 2


@pytest.mark.fault("sessions that are not recorded")
def test_a_session_that_katod_cannot_read_is_saved_as_it_is(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its transcript says so; where projects are excluded, it is not known whether it may be."""
    maker = told(Claude(world), 40)
    monkeypatch.setattr(saving, "replay", unreadable)
    world.configure(rescue=True, exclude=["/home/me/secret"])
    world.process()
    [row] = world.status()["problems"]
    assert row["problem"] == "not saved from deletion: its project is not known, and projects are excluded"
    world.configure(rescue=True)
    world.process()
    [about] = saved(world).values()
    assert content(world, about) == {str(maker.path): maker.path.read_bytes()}
    assert "cannot be read" in place_of(rescued(world), about.key).with_suffix(".md").read_text()
    assert not world.status()["problems"]


def unreadable(*_: Any, **__: Any) -> Iterator[Any]:
    """Read a session that cannot be read."""
    raise SourceError("unreadable")
    yield


def test_settings_that_cannot_be_read_are_said(world: World) -> None:
    """What is deleted is not known then, and a copy stays whatever becomes of its session."""
    maker = told(Claude(world), 29)
    told(Claude(world, OTHER), 1)
    world.process()
    (world.home / ".claude" / "settings.json").write_text("{")
    maker.path.unlink()
    world.process()
    [row] = world.status()["problems"]
    assert row["path"] == "claude"
    assert len(saved(world)) == 1


def test_what_an_interrupted_katod_left_is_removed(world: World) -> None:
    """Also if its session is no longer due; a person's own files stay."""
    told(Claude(world), 40)
    world.process()
    [place] = rescued(world).glob("*/*.zip")
    for name in ("x.zip.part", "x.md.part", "notes.md"):
        (place.parent / name).write_text("half, or a person's")
    world.process()
    assert {path.name for path in place.parent.iterdir()} == {place.name, place.with_suffix(".md").name, "notes.md"}


def test_saving_is_done_in_slices(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that no recording waits for it: each step is a small part of a session."""
    told(Claude(world), 40, *(f"words {number} " * 50 for number in range(300)))
    steps: list[bool] = []
    step = Rescuer._step
    monkeypatch.setattr(Rescuer, "_step", lambda self: steps.append(True) or step(self))
    world.process()
    assert len(saved(world)) == 1
    assert len(steps) > 300


def test_a_damaged_copy_is_said_and_made_again(world: World) -> None:
    """As long as the agent still has the session; what may be left in the damaged one is kept until it is forgotten."""
    told(Claude(world), 40)
    world.process()
    [place] = rescued(world).glob("*/*.zip")
    whole = place.read_bytes()
    for number, damaged in enumerate((whole[:-40], whole[:50])):
        place.write_bytes(damaged)
        world.process()
        [about] = saved(world).values()
        assert about.is_exact
        assert not world.status()["problems"]
        assert place.with_name(f"{place.name}.damaged{number or ''}").read_bytes() == damaged
    world.cli("forget", str(about.key), "--yes")
    world.process()
    assert [path for path in rescued(world).glob("*/*") if "damaged" in path.name] == []


@pytest.mark.parametrize("removed", ["", "1"])
def test_forgetting_leaves_no_damaged_copy(world: World, removed: str) -> None:
    """Also if its person removed some of them."""
    maker = told(Claude(world), 40)
    world.process()
    [place] = rescued(world).glob("*/*.zip")
    whole = place.read_bytes()
    for _ in range(3):
        place.write_bytes(whole[:-40])
        world.process()
    place.with_name(f"{place.name}.damaged{removed}").unlink()
    mine = place.with_name(f"{place.name}.damaged-mine")
    mine.write_text("a person's own")
    world.cli("forget", f"claude:{maker.session}", "--yes")
    assert list(place.parent.iterdir()) == [mine]


def test_a_forgotten_session_is_no_problem_any_more(world: World) -> None:
    """Although its copy was one: its id is in no file of katod's state, and `status` is silent."""
    told(Claude(world, OTHER), 1)
    maker = told(Claude(world), 40)
    world.process()
    [place] = rescued(world).glob("*/*.zip")
    place.write_bytes(place.read_bytes()[:50])
    maker.path.unlink()
    world.process()
    assert [row["path"] for row in world.status()["problems"]] == [str(place)]
    world.cli("forget", f"claude:{maker.session}", "--yes")
    assert not world.status()["problems"]
    assert maker.session not in (world.state / "rescue.json").read_text()


def test_a_copy_that_cannot_be_read_now_is_not_replaced(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be whole: it is read again with the next look."""
    maker = told(Claude(world), 40)
    world.process()
    [place] = rescued(world).glob("*/*.zip")
    whole = place.read_bytes()
    maker.say(user("more"))
    age(maker.path, 39)

    def fails(_: Path) -> About:
        raise OSError(errno.EMFILE, "Too many open files")

    with monkeypatch.context() as patch:
        patch.setattr("katod.rescue.folder.read_about", fails)
        world.process()
    assert place.read_bytes() == whole
    world.process()
    assert place.read_bytes() != whole
    assert [path.name for path in place.parent.glob("*damaged*")] == []


def test_a_crash_while_a_copy_is_deleted_leaves_no_words_of_it(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever of its files was deleted last."""
    told(Claude(world), 40, "private words")
    world.process()
    [place] = rescued(world).glob("*/*.zip")
    remove = durable.remove

    def stops(path: Path, missing_ok: bool = False) -> None:
        remove(path, missing_ok=missing_ok)
        if path == place:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(durable, "remove", stops)
        with pytest.raises(KeyboardInterrupt):
            copyfile.delete(place)
    rescuer.RescueFolder(rescued(world), owned=True).all()
    assert list(place.parent.iterdir()) == []


def test_a_file_that_grows_while_it_is_saved_is_saved_later(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """If it is still due by then; until then nothing half is there."""
    maker = told(Claude(world), 40)
    rendered = saving._rendered

    def growing(*arguments: Any) -> Iterator[str]:
        yield from rendered(*arguments)
        maker.say(user("more"))
        age(maker.path, 39)

    with monkeypatch.context() as patch:
        patch.setattr(saving, "_rendered", growing)
        world.process()
    assert not saved(world)
    [row] = world.status()["problems"]
    assert "it changed while it was saved" in row["problem"]
    world.process()
    assert not world.status()["problems"]
    [about] = saved(world).values()
    assert b"more" in content(world, about)[str(maker.path)]


def test_the_empty_place_of_a_disk_is_left_empty(world: World) -> None:
    """What was saved is on it: it is said that it is gone, and all goes on once it is back."""
    told(Claude(world, OTHER), 40)
    world.process()
    rescued(world).rename(world.home / "unmounted")
    told(Claude(world), 40)
    world.process()
    assert not rescued(world).exists()
    assert {row["problem"] for row in world.status()["problems"]} == {
        f"not saved from deletion: {rescued(world)}: is gone with all that was saved: is its disk mounted?"
    }
    (world.home / "unmounted").rename(rescued(world))
    world.process()
    assert len(saved(world)) == 2
    assert not world.status()["problems"]


def test_what_is_due_is_found_without_opening_a_session(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """By times and names alone, however many there are."""
    for number in range(20):
        told(Claude(world, f"{number:08x}{OTHER[8:]}"), 20)
    world.process()
    opened: list[str] = []
    open_file = os.open

    def noted(path: Any, *arguments: Any, **named: Any) -> int:
        opened.append(str(path))
        return open_file(path, *arguments, **named)

    monkeypatch.setattr(os, "open", noted)
    world.process()
    assert not saved(world)
    assert not [path for path in opened if path.endswith(".jsonl")]


@pytest.mark.parametrize("bound", ["LARGEST", "MOST_FILES"])
def test_a_session_that_is_too_much_is_named(world: World, monkeypatch: pytest.MonkeyPatch, bound: str) -> None:
    """It would drive out all others, or take long; they are saved."""
    maker = told(Claude(world), 40)
    told(Claude(world, OTHER), 40)
    (maker.path.with_suffix("") / "tool-results").mkdir(parents=True)
    for name in ("a.txt", "b.txt", "c.txt"):
        (maker.path.with_suffix("") / "tool-results" / name).write_text("x" * 5000)
    for module in (saving, plan):
        monkeypatch.setattr(module, bound, 10_000 if bound == "LARGEST" else 2, raising=False)
    world.process()
    [row] = world.status()["problems"]
    assert (row["path"], "it has more than" in row["problem"]) == (f"claude:{maker.session}", True)
    assert list(saved(world)) == [f"claude:{OTHER}"]


def test_saving_is_not_done_in_a_directory_of_transcripts(world: World) -> None:
    """What is saved is never shared with them."""
    told(Claude(world), 40)
    world.configure(rescue=True, directory="~/.local/share")
    world.process()
    [row] = world.status()["problems"]
    assert "is in or below" in row["problem"]
    assert not list(rescued(world).rglob("*.zip"))


def ends(*_: Any) -> None:
    """End the process in the middle of its work."""
    os._exit(CUT)


def ends_after_saving() -> None:
    """End the process when a copy has its name, and nothing else knows of it."""
    finish = copyfile.CopyWriter.finish

    def finish_and_end(self: copyfile.CopyWriter, about: About) -> None:
        finish(self, about)
        ends()

    vars(copyfile)["CopyWriter"].finish = finish_and_end


class EndsAtRename:
    """The durable calls of a katod that ends when it is about to give a file its name."""

    rename = staticmethod(ends)

    def __getattr__(self, name: str) -> Any:
        return getattr(durable, name)


CUTS: dict[str, Callable[[], None]] = {
    "before the transcript": lambda: setattr(copyfile.CopyWriter, "write_transcript", ends),
    "before it has a name": lambda: setattr(copyfile, "durable", EndsAtRename()),
    "when it is saved": ends_after_saving,
}


@pytest.mark.fault("killed while a session is saved")
@pytest.mark.parametrize("when", CUTS)
def test_a_session_is_saved_whole_or_not_at_all(world: World, when: str) -> None:
    """If katod ends in between, the next one saves it, and nothing half is left."""
    told(Claude(world), 40)
    assert world.once_until(CUTS[when])
    for about in saved(world).values():
        assert content(world, about)
    world.process()
    assert len(saved(world)) == 1
    assert not list(rescued(world).rglob("*.part"))


@pytest.mark.parametrize("ended", ["stopped", "emptied"])
def test_a_session_that_was_recorded_in_part_is_saved(world: World, ended: str) -> None:
    """From its beginning on, but not to its end; or its transcript has no words any more."""
    maker = Claude(world).say(user("words"), says("answer"), user("::capture notes"), says("done"))
    world.process()
    if ended == "stopped":
        maker.say(user("::stop"), says("stopped"), user("not recorded"), says("neither"))
        world.process()
    else:
        next(iter(world.out.rglob("notes.md"))).write_bytes(b"")
    age(maker.path, 40)
    world.process()
    assert len(saved(world)) == 1


def test_a_session_in_two_roots_is_saved_from_both(world: World) -> None:
    """A client whose folder was moved has it twice; each file goes back to its place."""
    here = told(Claude(world), 40, "short")
    there = world.home / ".config" / "claude" / here.path.relative_to(world.home / ".claude")
    there.parent.mkdir(parents=True)
    there.write_bytes(here.path.read_bytes() * 2)
    age(there, 39)
    expected = {str(path): path.read_bytes() for path in (here.path, there)}
    world.process()
    world.process()
    [about] = saved(world).values()
    assert content(world, about) == expected
    assert len({file.name for file in about.files}) == 2


def test_a_name_that_is_no_utf_8_is_saved_too(world: World) -> None:
    """File systems have such names."""
    maker = told(Claude(world), 40)
    beside = maker.path.with_suffix("") / "tool-results" / os.fsdecode(b"bad\xff.txt")
    beside.parent.mkdir(parents=True)
    beside.write_text("a result")
    world.process()
    [about] = saved(world).values()
    assert content(world, about)[str(beside)] == b"a result"


def test_a_tool_that_is_asked_to_work_in_an_excluded_project_excludes_no_session(world: World) -> None:
    """Its argument is no record of where the session is."""
    maker = Claude(world).say(user("go"), says("yes"))
    maker.append(maker.calls("c1", "Run", cwd="/home/me/secret"), maker.result("c1", "done"))
    age(maker.path, 40)
    world.configure(rescue=True, exclude=["/home/me/secret"])
    world.process()
    assert len(saved(world)) == 1


def test_a_copy_goes_when_a_project_is_excluded_that_its_session_passed_through(world: World) -> None:
    """Not only the one in which it began."""
    maker = Claude(world).say(user("one"), says("yes"))
    maker.cwd = "/home/me/between"
    maker.say(user("two"), says("yes"))
    maker.cwd = "/home/me/app"
    told(maker, 40, "three")
    world.process()
    assert len(saved(world)) == 1
    world.configure(rescue=True, exclude=["/home/me/between"])
    world.process()
    assert not saved(world)


def test_what_a_person_deletes_before_its_time_takes_its_copy_with_it(world: World) -> None:
    """Also if it was saved only because the agent was about to delete a result beside it."""
    told(Claude(world, OTHER), 1)
    maker = told(Claude(world), 3)
    result = maker.path.with_suffix("") / "tool-results" / "r1.txt"
    result.parent.mkdir(parents=True)
    result.write_text("long result")
    age(result, 29.5)
    world.process()
    assert len(saved(world)) == 1
    result.unlink()
    maker.path.unlink()
    world.process()
    world.process()
    assert not saved(world)


def test_the_transcript_has_no_secrets_although_exports_have(world: World) -> None:
    """`rescue_redact` is about all that is saved."""
    told(Claude(world), 40, f"use {TOKEN}")
    world.configure(rescue=True, redact=False)
    world.process()
    [about] = saved(world).values()
    assert TOKEN not in place_of(rescued(world), about.key).with_suffix(".md").read_text()


def test_notes_of_another_version_keep_nothing_from_starting(world: World) -> None:
    """What is not understood in them is left out."""
    told(Claude(world), 40)
    world.process()
    path = world.state / "rescue.json"
    path.write_text(json.dumps({"copies": {"claude:x": [0, ""], "claude:y": 5}, "days": "x"}))
    world.process()
    assert len(saved(world)) == 1


def earlier(world: World, about: About) -> dict[str, bytes]:
    """Return what the files of a copy had before they were cut, by their paths and how often that was."""
    with members(place_of(rescued(world), about.key)) as (_, archive):
        return {file.name: b"".join(pieces(archive, file.name)) for file in about.earlier}


def test_a_session_that_is_cut_loses_nothing_that_was_saved(world: World) -> None:
    """What it had stays in the archive, and is never put back; also if it is cut again, or goes on."""
    maker, child = told(Claude(world), 29, "one", "two", "three"), told(Claude(world, subagent="a1b2c3"), 29, "task")
    versions = [maker.path.read_bytes()]
    task = child.path.read_bytes()
    for number, lines in enumerate((4, 2)):
        world.process()
        maker.path.write_bytes(b"".join(versions[0].splitlines(keepends=True)[:lines]))
        versions.append(maker.path.read_bytes())
        child.path.write_bytes(task[: task.index(b"\n") + 1])
        age(maker.path, 28.9 - number / 10)
    world.process()
    told(maker, 28.7, "four")
    world.process()
    [about] = saved(world).values()
    assert content(world, about) == {str(path): path.read_bytes() for path in (maker.path, child.path)}
    assert earlier(world, about) == {f"earlier/1{maker.path}": versions[0], f"earlier/1{child.path}": task}
    [row] = json.loads(world.cli("rescue", "--json"))
    assert (row["files"], row["earlier"]) == ([*content(world, about)], [*earlier(world, about)])
    maker.path.write_bytes(b"")
    child.path.unlink()
    world.process()
    maker.path.unlink()
    world.cli("rescue", "--restore", maker.session)
    assert b"four" in maker.path.read_bytes()
    assert sorted(path.name for path in maker.path.parent.rglob("*.jsonl")) == sorted(
        path.name for path in (maker.path, child.path)
    )
    world.cli("forget", f"claude:{maker.session}/a1b2c3", "--yes")
    [about] = saved(world).values()
    assert list(earlier(world, about)) == [f"earlier/1{maker.path}"]


def versions_of(maker: Maker, *texts: str) -> Iterator[bytes]:
    """Write a session anew with each of the texts, a little later each time."""
    begin = maker.path.read_bytes()
    for number, text in enumerate(texts):
        maker.path.write_bytes(begin)
        told(maker, 29 - (number + 1) / 10, text)
        yield maker.path.read_bytes()


def test_what_is_in_no_other_version_is_kept_of_each(world: World) -> None:
    """However often a session is written anew: only what begins another version is in the copy once."""
    maker = told(Claude(world), 29)
    found = []
    for version in versions_of(maker, "a" * 900, "b" * 600, "c" * 300):
        found.append(version)
        world.process()
    for lines in (3, 2):
        maker.path.write_bytes(b"".join(found[0].splitlines(keepends=True)[:lines]))
        age(maker.path, 28.5 - lines / 100)
        world.process()
    [about] = saved(world).values()
    assert sorted(earlier(world, about).values(), key=len) == sorted(found, key=len)


@pytest.mark.parametrize("bound", ["LARGEST", "MOST_FILES"])
def test_what_a_session_had_before_is_bounded(world: World, monkeypatch: pytest.MonkeyPatch, bound: str) -> None:
    """Or one that is written anew again and again would drive out all others: what has most stays, and it is saved."""
    maker = told(Claude(world), 29)
    found = []
    for version in versions_of(maker, "a" * 900, "b" * 600, "c" * 300, "d"):
        found.append(version)
        monkeypatch.setattr(keeping, bound, len(found[0]) + 100 if bound == "LARGEST" else 1)
        world.process()
    [about] = saved(world).values()
    assert list(earlier(world, about).values()) == found[:1]
    assert content(world, about) == {str(maker.path): found[-1]}


@AGENTS
def test_what_was_put_back_without_its_secrets_is_not_saved_twice(world: World, make: type[Maker]) -> None:
    """It is shorter than what was saved, and lacks nothing of the copy. If it is cut then, that is kept."""
    told(make(world, OTHER), 1)
    maker = told(make(world), 40, *(f"use {number} {TOKEN} " * 30 for number in range(9)))
    size = maker.path.stat().st_size
    world.process()
    [about] = saved(world).values()
    [before] = content(world, about).values()
    maker.path.unlink()
    world.cli("rescue", "--restore", str(about.key))
    for _ in range(2):
        assert maker.path.stat().st_size < size
        age(maker.path, 40)
        world.process()
        [about] = saved(world).values()
        assert content(world, about) == {str(maker.path): maker.path.read_bytes()}
        assert not about.earlier
        told(maker, 39, "more")
    maker.path.write_bytes(before[: before.rindex(b"\n", 0, -1) + 1])
    age(maker.path, 38)
    world.process()
    [about] = saved(world).values()
    assert [data.startswith(before) for data in earlier(world, about).values()] == [True]


def damage(place: Path, *numbers: int) -> None:
    """Damage files in an archive, by their numbers; its list of files and `about.json` stay whole."""
    data = bytearray(place.read_bytes())
    with members(place) as (_, archive):
        for file in (archive.infolist()[number] for number in numbers):
            data[file.header_offset + 50 + len(file.filename) + file.compress_size // 2] ^= 0xFF
    place.write_bytes(data)


def test_a_session_whose_copy_is_damaged_in_part_is_saved_all_the_same(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With all that is still whole. The damaged one stays beside it, once: also if the new one cannot be finished."""
    maker = told(Claude(world), 40, "one", "two")
    result = maker.path.with_suffix("") / "tool-results" / "r1.txt"
    result.parent.mkdir(parents=True)
    result.write_text("long result")
    world.process()
    result.unlink()
    [place] = rescued(world).glob("*/*.zip")
    damage(place, 0)
    damaged = place.read_bytes()
    maker.path.write_bytes(maker.path.read_bytes().splitlines(keepends=True)[0])
    told(maker, 39, "new words")

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(copyfile.CopyWriter, "finish", full)
        for _ in range(2):
            world.process()
    assert place.read_bytes() == damaged
    world.process()
    assert not world.status()["problems"]
    [about] = saved(world).values()
    assert content(world, about) == {str(maker.path): maker.path.read_bytes(), str(result): b"long result"}
    assert not about.earlier
    with zipfile.ZipFile(place) as archive:
        assert archive.testzip() is None
    assert [path.read_bytes() for path in place.parent.glob("*.damaged*")] == [damaged]
    world.cli("forget", f"claude:{maker.session}", "--yes")
    assert not list(place.parent.iterdir())


def test_what_was_cut_is_still_of_its_project(world: World) -> None:
    """The copy goes when that is excluded, although the session has no word of it any more."""
    maker = told(Claude(world), 29, "one")
    begin = maker.path.read_bytes()
    maker.cwd = "/home/me/between"
    told(maker, 29, "two")
    world.process()
    maker.path.write_bytes(begin)
    age(maker.path, 28.9)
    world.process()
    [about] = saved(world).values()
    assert len(about.earlier) == 1
    world.configure(rescue=True, exclude=["/home/me/between"])
    world.process()
    assert b"two" not in b"".join(earlier(world, about).values() if saved(world) else [])
    assert not saved(world)


@pytest.mark.parametrize("goes_on", [False, True], ids=["as it is", "and goes on"])
@AGENTS
def test_a_session_whose_project_was_renamed_is_saved_once(world: World, make: type[Maker], *, goes_on: bool) -> None:
    """With all that is beside it, also what its agent has deleted there by then: it is put back into the new folder."""
    maker = told(make(world), 29)
    folder = maker.path.parent
    if make is Claude:
        beside = maker.path.with_suffix("") / "tool-results"
    else:
        beside = folder.parent / "tool-outputs" / f"session-{maker.path.stem[-8:]}-0000"
    beside.mkdir(parents=True)
    for name in ("r1.txt", "r2.txt"):
        (beside / name).write_text(name)
    world.process()
    (beside / "r2.txt").unlink()
    project = folder if make is Claude else folder.parent
    moved = project.rename(project.with_name("-home-me-shop"))
    maker.path = moved / maker.path.relative_to(project)
    results = {moved / (beside / name).relative_to(project): name.encode() for name in ("r1.txt", "r2.txt")}
    if goes_on:
        told(maker, 28.9, "more")
    world.process()
    [about] = saved(world).values()
    expected = {str(path): data for path, data in results.items()} | {str(maker.path): maker.path.read_bytes()}
    assert content(world, about) == expected
    assert earlier(world, about) == {}
    shutil.rmtree(moved)
    world.cli("rescue", "--restore", str(about.key))
    assert {path: path.read_bytes() for path in results} == results
    assert not project.exists()


def test_a_session_in_two_roots_of_which_one_is_moved_is_saved_from_both(world: World) -> None:
    """What stays where it was is not taken to have moved with the other."""
    here = told(Claude(world), 29, "short")
    there = world.home / ".config" / "claude" / here.path.relative_to(world.home / ".claude")
    there = there.parent.with_name("-home-me-other") / here.path.name
    result = there.with_suffix("") / "tool-results" / "r1.txt"
    result.parent.mkdir(parents=True)
    result.write_text("long result")
    there.write_bytes(here.path.read_bytes() * 2)
    age(there, 29)
    world.process()
    project = here.path.parent
    moved = project.rename(project.with_name("-home-me-other")) / here.path.name
    for _ in range(2):
        world.process()
    [about] = saved(world).values()
    assert content(world, about) == {str(path): path.read_bytes() for path in (moved, there, result)}
    assert not about.earlier


def test_what_was_deleted_beside_a_session_in_two_roots_stays_of_its_root(world: World) -> None:
    """Neither was moved: both are where they were."""
    here = told(Claude(world), 29).path
    there = world.home / ".config" / "claude" / here.relative_to(world.home / ".claude")
    results = [path.with_suffix("") / "tool-results" / f"{path.parts[-4]}.txt" for path in (here, there)]
    for result in results:
        result.parent.mkdir(parents=True)
        result.write_text("long result")
    there.write_bytes(here.read_bytes())
    age(there, 29)
    world.process()
    for path, result in zip((here, there), results, strict=True):
        result.unlink()
        age(path, 28.9)
    world.process()
    [about] = saved(world).values()
    assert sorted(content(world, about)) == sorted(map(str, [here, there, *results]))


def test_what_did_not_move_with_a_session_stays_where_it_is(world: World) -> None:
    """Only its own file is in another folder now."""
    maker = told(Claude(world), 29)
    result = maker.path.with_suffix("") / "tool-results" / "r1.txt"
    result.parent.mkdir(parents=True)
    result.write_text("long result")
    world.process()
    moved = maker.path.parent.with_name("-home-me-shop") / maker.path.name
    moved.parent.mkdir()
    maker.path.rename(moved)
    age(moved, 28.9)
    world.process()
    [about] = saved(world).values()
    assert content(world, about) == {str(moved): moved.read_bytes(), str(result): b"long result"}


@pytest.mark.parametrize("where", ["another folder", "another root", "a folder that is new"])
def test_a_file_that_is_deleted_while_its_session_goes_on_elsewhere_stays_a_file(world: World, where: str) -> None:
    """With what was beside it, also under a name that the other one has: all is put back where it was."""
    old, new = told(Claude(world), 29.5, "first half"), Claude(world, start=100)
    project = old.path.parent
    if where == "another root":
        project = world.home / ".config" / "claude" / project.relative_to(world.home / ".claude")
    else:
        project = project.with_name("-home-me-other")
    new.path = project / old.path.name
    if where != "a folder that is new":
        told(new, 28.5, "second half")
    for path in filter(Path.exists, (old.path, new.path)):
        result = path.with_suffix("") / "tool-results" / "1.txt"
        result.parent.mkdir(parents=True)
        result.write_text(f"result in {path.parent}")
        age(result, 29)
    world.process()
    expected = content(world, *saved(world).values())
    assert len(expected) == (2 if where == "a folder that is new" else 4)
    shutil.rmtree(old.path.parent)
    for number in range(2):
        told(new, 28.4 - number / 10, "third part, which is longer than the others by these words" * 9)
        world.process()
    expected[str(new.path)] = new.path.read_bytes()
    [about] = saved(world).values()
    assert (content(world, about), earlier(world, about)) == (expected, {})
    shutil.rmtree(new.path.parent)
    world.cli("rescue", "--restore", old.session)
    assert all(Path(path).read_bytes().startswith(data) for path, data in expected.items())


def move_project(maker: Maker, name: str) -> Path:
    """Rename the folder of a session's project; return its old path."""
    project = maker.path.parents[0 if isinstance(maker, Claude) else 1]
    maker.path = project.rename(project.with_name(name)) / maker.path.relative_to(project)
    return project


def test_a_document_whose_project_is_renamed_again_and_again_is_put_back_once(world: World) -> None:
    """It is written anew as a whole, so that it never begins with what was saved: each older state is an earlier one."""
    maker = told(GeminiDocument(world), 28.9, "first")
    output = maker.path.parents[1] / "tool-outputs" / f"session-{maker.path.stem[-8:]}-0000" / "1.txt"
    output.parent.mkdir(parents=True)
    output.write_text("an output")
    world.process()
    states, projects = [], []
    for number, name in enumerate(("shop", "store", "mall")):
        states.append(maker.path.read_bytes())
        projects.append(move_project(maker, name))
        told(maker, 28.8 - number / 10, f"part {number}")
        world.process()
    output = projects[0].with_name("mall") / output.relative_to(projects[0])
    [about] = saved(world).values()
    assert content(world, about) == {str(maker.path): maker.path.read_bytes(), str(output): b"an output"}
    assert sorted(earlier(world, about).values(), key=len) == states
    shutil.rmtree(maker.path.parents[1])
    world.cli("rescue", "--restore", str(about.key))
    assert sorted((world.home / ".gemini").rglob("*.json")) == [maker.path]
    assert output.read_bytes() == b"an output"


@AGENTS
def test_a_session_that_is_cut_in_a_renamed_folder_is_put_back_once(world: World, make: type[Maker]) -> None:
    """What it had before stays in the archive, also if it goes on, and is not put back in the old folder."""
    maker = told(make(world), 28.9, "one", "two", "three")
    before = maker.path.read_bytes()
    world.process()
    old = move_project(maker, "-home-me-shop")
    maker.path.write_bytes(b"".join(before.splitlines(keepends=True)[:-3]))
    told(maker, 28.8, "four")
    world.process()
    [about] = saved(world).values()
    assert content(world, about) == {str(maker.path): maker.path.read_bytes()}
    assert [*earlier(world, about).values()] == [before]
    shutil.rmtree(old.with_name("-home-me-shop"))
    world.cli("rescue", "--restore", str(about.key))
    assert maker.path.exists()
    assert not old.exists()


def test_a_session_whose_folder_alone_was_moved_is_put_back_once(world: World) -> None:
    """Something else may be left in the folder of its project."""
    maker = told(GeminiDocument(world), 28.9, "one", "two")
    world.process()
    old, project = maker.path, maker.path.parents[1]
    (project / "logs.json").write_text("[]")
    moved = project.with_name("renamed")
    moved.mkdir()
    maker.path = (project / "chats").rename(moved / "chats") / old.name
    told(maker, 28.9, "three")
    world.process()
    [about] = saved(world).values()
    maker.path.unlink()
    world.cli("rescue", "--restore", str(about.key))
    assert maker.path.exists()
    assert not old.exists()


@pytest.mark.parametrize("gone", ["a file", "a folder", "a root"])
def test_a_session_that_went_on_in_each_of_two_roots_loses_nothing(world: World, gone: str) -> None:
    """A client whose folder was copied: what its agent deleted in one of them, with whatever is above it, is put back."""
    here = told(Claude(world), 28.9, "shared")
    there = Claude(world, start=100)
    there.path = world.home / ".config" / "claude" / here.path.relative_to(world.home / ".claude")
    there.path.parent.mkdir(parents=True)
    shutil.copyfile(here.path, there.path)
    told(here, 28.9, "only here")
    told(there, 20, "only there")
    expected = {str(maker.path): maker.path.read_bytes() for maker in (here, there)}
    world.process()
    above = {"a file": here.path, "a folder": here.path.parent, "a root": world.home / ".claude"}[gone]
    shutil.rmtree(above) if above.is_dir() else above.unlink()
    age(there.path, 28.9)
    world.process()
    [about] = saved(world).values()
    assert (content(world, about), earlier(world, about)) == (expected, {})
    there.path.unlink()
    world.cli("rescue", "--restore", here.session)
    assert {path: Path(path).read_bytes() for path in expected} == expected


@pytest.mark.parametrize("goes_on", [True, False], ids=["and goes on", "as it was"])
@pytest.mark.parametrize("make", [Claude, Gemini, GeminiDocument])
def test_a_session_whose_folder_was_copied_within_a_root_loses_nothing(
    world: World, make: type[Maker], *, goes_on: bool
) -> None:
    """While other sessions stay in the first folder, what the agent deletes there is put back there, whole."""
    here = told(make(world), 28.9, "shared")
    there = make(world, start=100)
    older = here.path.read_bytes()
    told(here, 28.9, "only here")
    world.process()
    expected = {str(here.path): here.path.read_bytes()}
    project = here.path.parents[0 if make is Claude else 1]
    there.path = project.with_name("copied") / here.path.relative_to(project)
    there.path.parent.mkdir(parents=True)
    there.path.write_bytes(older)
    if goes_on:
        told(there, 28.9, "only there")
    expected[str(there.path)] = there.path.read_bytes()
    age(there.path, 28.9)
    (here.path.parent / "other.txt").touch()
    here.path.unlink()
    world.process()
    [about] = saved(world).values()
    assert (content(world, about), earlier(world, about)) == (expected, {})
    there.path.unlink()
    world.cli("rescue", "--restore", here.session)
    assert {path: Path(path).read_bytes()[: len(data)] for path, data in expected.items()} == expected


@pytest.mark.parametrize("make", [Claude, Gemini, GeminiDocument])
def test_a_session_that_goes_on_in_a_new_folder_without_what_it_had_is_not_moved(
    world: World, make: type[Maker]
) -> None:
    """Its agent deleted the older folder: both files are put back, each where it was."""
    old = told(make(world), 29.5, "first half")
    world.process()
    first, folder = old.path.read_bytes(), move_project(old, "away")
    shutil.rmtree(folder.with_name("away"))
    new = make(world, start=100)
    assert new.path.is_relative_to(folder)
    told(new, 28.5, "second half")
    move_project(new, "-home-me-other")
    world.process()
    [about] = saved(world).values()
    there = folder / new.path.relative_to(folder.with_name("-home-me-other"))
    assert content(world, about) == {str(there): first, str(new.path): new.path.read_bytes()}
    assert earlier(world, about) == {}


def test_what_has_the_name_of_a_moved_file_does_not_take_its_place(world: World) -> None:
    """A result that is another one in the renamed folder is kept beside what was saved."""
    maker = told(Claude(world), 29)
    result = maker.path.with_suffix("") / "tool-results" / "1.txt"
    result.parent.mkdir(parents=True)
    result.write_text("the result that was saved")
    world.process()
    moved = maker.path.parent.rename(maker.path.parent.with_name("-home-me-shop"))
    new = moved / result.relative_to(maker.path.parent)
    new.write_text("something else")
    maker.path = moved / maker.path.name
    told(maker, 28.9, "more")
    world.process()
    [about] = saved(world).values()
    assert content(world, about) == {str(maker.path): maker.path.read_bytes(), str(new): b"something else"}
    assert earlier(world, about) == {f"earlier/1{result}": b"the result that was saved"}


def test_an_archive_that_is_encrypted_is_damaged_and_stops_no_other(world: World) -> None:
    """It is named, and the others are listed."""
    told(Claude(world), 40)
    told(Claude(world, OTHER), 40)
    world.process()
    place = min(rescued(world).glob("*/*.zip"))
    entry = re.compile(rb"(PK\x01\x02.{4})..", re.DOTALL)
    place.write_bytes(entry.sub(lambda found: found[1] + b"\x01\0", place.read_bytes()))
    assert place.stem not in world.cli("rescue")
    assert f"{place}: the saved session is damaged" in world.said


def test_nothing_is_put_back_without_a_name(world: World) -> None:
    """An empty one, such as of a variable that is not set, is not the only session."""
    maker = told(Claude(world), 40)
    world.process()
    maker.path.unlink()
    assert "no saved session matches ''" in world.katod("rescue", "--restore", "", check=False).stderr.decode()
    assert not maker.path.exists()


def test_a_line_without_an_end_is_saved_piece_by_piece(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that no file takes more memory than a part of it does; no character is cut."""
    monkeypatch.setattr(saving, "_AT_ONCE", 1000)
    monkeypatch.setattr(saving, "_WHOLE", 5000)
    maker = told(Claude(world), 40)
    beside = maker.path.with_suffix("") / "tool-results" / "r1.txt"
    beside.parent.mkdir(parents=True)
    beside.write_text("äöü€𝄞" * 3000 + f"\nuse {TOKEN}\n" + "x" * 9000)
    world.process()
    [about] = saved(world).values()
    assert content(world, about)[str(beside)].decode() == beside.read_text().replace(TOKEN, "[REDACTED:github-token]")


@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="no names of descriptors")
def test_the_folder_of_copies_is_on_disk_before_anything_is_in_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or power loss could take all that was saved, and katod would miss the folder for ever."""
    synced: list[str] = []
    sync = os.fsync

    def noted(fd: int) -> None:
        synced.append(os.readlink(f"/proc/self/fd/{fd}"))
        sync(fd)

    monkeypatch.setattr(os, "fsync", noted)
    told(Claude(world), 40)
    world.process()
    folder = rescued(world)
    wanted = [str(above) for above in (world.home, *reversed(folder.parents[:3]), folder)]
    assert [path for path in synced if path in wanted] == wanted


class FullDisk(io.FileIO):
    """A file on a disk that has no space left."""

    def write(self, _data: Any) -> int:
        """Fail as the system does."""
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("size", [100, 100_000], ids=["when it is closed", "while it is written"])
def test_a_full_disk_leaves_nothing_half_and_is_said(world: World, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """Also if what was written is only found not to fit when it is closed. An older copy stays."""
    maker = told(Claude(world), 40)
    world.process()
    before = {path: path.read_bytes() for path in rescued(world).rglob("*") if path.is_file()}
    told(maker, 40, os.urandom(size).hex())

    def created(path: Path) -> Any:
        return io.BufferedRandom(FullDisk(durable.create(path, os.O_RDWR, 0o600), "w+"))

    monkeypatch.setattr(copyfile, "_created", created)
    world.process()
    assert {path: path.read_bytes() for path in rescued(world).rglob("*") if path.is_file()} == before
    [row] = world.status()["problems"]
    assert "No space left on device (free some space on its disk)" in row["problem"]
    monkeypatch.undo()


@pytest.mark.parametrize("then", ["touched", "grown", "recorded again"])
@AGENTS
def test_a_forgotten_session_is_not_saved_again(world: World, make: type[Maker], then: str) -> None:
    """What was forgotten is in the same file, whatever is said since. `forget` says so."""
    maker, other = told(make(world), 3, "the secret plan"), told(make(world, OTHER), 40, "something else")
    world.process()
    said = world.cli("forget", f"{maker.agent}:{maker.session[:8]}", "--yes")
    assert "never rescues it again" in said
    if then != "touched":
        told(maker, 0, "::start again\nmore" if then == "recorded again" else "more")
    age(maker.path, 40)
    for _ in range(2):
        world.process()
    assert [*saved(world)] == [f"{other.agent}:{other.session[:8] if make is Gemini else other.session}"]
    assert b"secret plan" not in b"".join(path.read_bytes() for path in rescued(world).rglob("*.md"))


def test_a_forgotten_sub_agent_is_not_saved_with_its_session(world: World) -> None:
    """Neither as one of its sub-agents, nor as a file beside it, nor out of an older copy."""
    maker, child = told(Claude(world), 3), told(Claude(world, subagent="a1b2c3"), 3, "the secret plan")
    told(Claude(world, subagent="d4e5f6"), 3, "something else")
    age(maker.path, 40)
    world.process()
    [about] = saved(world).values()
    assert str(child.path) in content(world, about)
    world.cli("forget", f"claude:{maker.session}/a1b2c3", "--yes")
    told(maker, 40, "more")
    world.process()
    [about] = saved(world).values()
    assert {Path(path).name for path in content(world, about)} == {maker.path.name, "agent-d4e5f6.jsonl"}


@pytest.mark.parametrize("agent_has_it", [True, False], ids=["there", "deleted"])
def test_a_forgotten_sub_agent_leaves_the_copy_of_its_session(world: World, *, agent_has_it: bool) -> None:
    """At once, with what describes it, also after its agent has deleted the session; nothing else of the copy goes."""
    told(Claude(world, OTHER), 1)
    maker, child = told(Claude(world), 40), told(Claude(world, subagent="a1b2c3"), 3, "the secret plan")
    child.path.with_suffix(".meta.json").write_text('{"description": "the secret plan"}')
    other = told(Claude(world, subagent="d4e5f6"), 3, "something else")
    world.process()
    [before] = saved(world).values()
    wanted = {str(path): path.read_bytes() for path in (maker.path, other.path)}
    place = place_of(rescued(world), before.key)
    transcript = place.with_suffix(".md").read_bytes()
    place.with_name(f"{place.name}.damaged").write_text("what it may have is not known")
    if not agent_has_it:
        shutil.rmtree(maker.path.with_suffix(""))
        maker.path.unlink()
        world.process()
    said = world.cli("forget", f"claude:{maker.session}/a1b2c3", "--yes")
    assert "removes it from the rescued copy of its parent session" in said
    [about] = saved(world).values()
    assert content(world, about) == wanted
    assert b"secret plan" not in b"".join(path.read_bytes() for path in place.parent.iterdir())
    assert sorted(path.name for path in place.parent.iterdir()) == [place.with_suffix(".md").name, place.name]
    assert place.with_suffix(".md").read_bytes() == transcript
    assert about.saved == before.saved
    for _ in range(2):
        world.process()
    assert [*saved(world).values()] == [about]


@pytest.mark.parametrize("what", ["read_about", "copyfile.leave_out"])
def test_a_sub_agent_that_cannot_be_taken_out_now_is_not_forgotten(
    world: World, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """That is said, the copy stays as it is, and the next try does it."""
    maker, child = told(Claude(world), 40), told(Claude(world, subagent="a1b2c3"), 40, "the secret plan")
    world.process()
    before = {path: path.read_bytes() for path in rescued(world).rglob("*") if path.is_file()}

    def fails(path: Path, *_: Any) -> About:
        raise OSError(errno.EMFILE, "Too many open files", str(path))

    with monkeypatch.context() as patch:
        patch.setattr(f"katod.rescue.folder.{what}", fails)
        world.cli("forget", f"claude:{maker.session}/a1b2c3", "--yes", code=1)
    assert "Too many open files" in world.said
    assert {path: path.read_bytes() for path in rescued(world).rglob("*") if path.is_file()} == before
    world.cli("forget", f"claude:{maker.session}/a1b2c3", "--yes")
    [about] = saved(world).values()
    assert str(child.path) not in content(world, about)


def test_a_damaged_copy_goes_with_a_forgotten_sub_agent(world: World) -> None:
    """It cannot be changed, and may have what was said in it."""
    maker, _ = told(Claude(world), 40), told(Claude(world, subagent="a1b2c3"), 40, "the secret plan")
    world.process()
    [place] = rescued(world).glob("*/*.zip")
    damage(place, 0)
    world.cli("forget", f"claude:{maker.session}/a1b2c3", "--yes")
    assert not [path for path in rescued(world).rglob("*") if path.is_file()]
