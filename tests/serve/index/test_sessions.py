"""The sessions that are served."""

import asyncio
import os
from types import SimpleNamespace

import pytest
import zstandard

from katod.agents import AGENTS
from katod.agents.spec import SPAWNED, AgentSpec
from katod.config import Settings
from katod.discover.roots import find_roots
from katod.formats.stream import bridge
from katod.metadata import SessionMetadata
from katod.model import SessionKey
from katod.search.query import Query
from katod.search.run import Search
from katod.serve.index import sessions
from katod.serve.index.ledger import LedgerSessions
from katod.serve.index.sessions import IndexScope, SessionIndex
from katod.serve.protocol.rest import with_count
from tests.serve.serving import serving
from tests.support.records import SESSION, Kimi, OpenCode, calls, says, user


def index(world, monkeypatch, *, everything=False):
    """Return a shelf that looks at each call, and sweeps."""
    monkeypatch.setattr(sessions, "_LOOK_EVERY", 0.0)
    monkeypatch.setattr(sessions, "SWEEP_EVERY", 0.0)
    return SessionIndex(IndexScope(world.state, tuple(find_roots(Settings(), AGENTS)), everything), redact=True)


def test_a_file_that_is_not_served_is_identified_once(world, monkeypatch):
    """There may be tens of thousands, and a sweep every few seconds."""
    world.claude().say(user("not recorded"), says("no"))
    found, asked, identify = index(world, monkeypatch), [], AgentSpec.identify
    monkeypatch.setattr(AgentSpec, "identify", lambda self, path: asked.append(path.name) or identify(self, path))
    assert (found.all(), asked) == ({}, [f"{SESSION}.jsonl"])
    assert (found.all(), len(asked)) == ({}, 1)


def test_without_a_ledger_nothing_was_recorded(tmp_path):
    """And nothing is served but what is asked for."""
    assert SessionIndex(IndexScope(tmp_path, ()), redact=True).all() == {}


def test_a_session_is_served_from_its_recording_on_until_it_is_forgotten(world, monkeypatch):
    """Also after the recording has ended."""
    found = index(world, monkeypatch)
    maker = world.claude()
    maker.say(user("not yet"))
    world.once()
    assert found.all() == {}
    maker.say(user("::start\nbegin here"), says("with pleasure"))
    world.once()
    assert found.all()[SESSION].is_open
    maker.say(user("::stop"))
    world.once()
    assert not found.all()[SESSION].is_open
    assert found.about(found.all()[SESSION])["title"] == "not yet"
    world.cli("forget", SESSION, "--yes")
    assert found.all() == {}


def test_the_ledger_is_read_again_only_if_it_has_changed(world):
    """It is looked at each second."""
    recorded, entries = LedgerSessions(world.state), {}
    assert recorded.take(entries) == []
    assert [recorded.take(entries) for _ in range(2)][-1] is None  # reading it may leave a file beside it
    world.claude().say(user("::start\nbegin here"), says("with pleasure"))
    world.once()
    assert [entry.name for entry in recorded.take(entries)] == [SESSION] == list(entries)
    assert [recorded.take(entries) for _ in range(2)][-1] is None


@pytest.mark.parametrize("everything", [False, True], ids=["recorded", "all"])
def test_what_was_forgotten_is_not_served(world, monkeypatch, everything):
    """Nor are its sub-agents, whatever is said in it afterwards, unless it is recorded again."""
    found = index(world, monkeypatch, everything=everything)
    maker = world.claude().say(user("::start\nbegin here"), says("with pleasure"))
    folder = maker.path.with_suffix("") / "subagents"
    folder.mkdir(parents=True)
    (folder / "agent-a1b2c3d4.jsonl").write_text(maker.path.read_text().replace("::start", "do it"))
    world.once()
    assert len(found.all()) == (2 if everything else 1)
    world.cli("forget", SESSION, "--yes")
    assert found.all() == {}
    maker.say(user("go on"))
    assert found.take_up({str(maker.path)}) == set()
    assert found.all() == {}
    maker.say(user("::start\nagain"))
    world.once()
    assert SESSION in found.all()


def test_a_recording_that_has_no_name_yet_is_one(world, monkeypatch):
    """It waits for the words that name it; until then there is no transcript, so it is served only with all others."""
    recorded, everything = index(world, monkeypatch), index(world, monkeypatch, everything=True)
    maker = world.claude()
    maker.say(user("::start"))
    world.once()
    assert recorded.all() == {}
    known = everything.all()[SESSION]
    assert not known.number
    assert everything.is_recording(known)
    maker.say(user("its name"))
    world.once()
    assert recorded.is_recording(recorded.all()[SESSION])
    maker.say(user("::stop"))
    world.once()
    assert not everything.is_recording(everything.all()[SESSION])


def test_a_session_has_its_title_as_soon_as_somebody_has_said_something(world, monkeypatch):
    """Its file may be there before; it is read again only when it has grown."""
    found = index(world, monkeypatch, everything=True)
    maker = world.claude()
    maker.write({"type": "summary", "summary": "", "leafUuid": "x"})
    assert "title" not in found.about(found.all()[SESSION])
    maker.say(user("begin here"))
    (known,) = found.all().values()
    assert found.about(known)["title"] == "begin here"


def test_a_name_beside_the_records_is_read_once_for_each_change(world, monkeypatch):
    """And is known from then on, whatever looks."""
    asked, name_beside = [], sessions.name_beside
    monkeypatch.setattr(sessions, "name_beside", lambda entry: asked.append(1) or name_beside(entry))
    maker = Kimi(world).say(user("Add a form"), says("Done."))
    found = index(world, monkeypatch, everything=True)
    [known] = found.all().values()
    assert sessions.described(known).list_title == "Add a form"
    before = len(asked)
    maker.path.parents[2].joinpath("state.json").write_text('{"title": "The login page", "isCustomTitle": true}')
    maker.say(says("More."))
    found.take_up({str(maker.path)})
    assert [sessions.described(known).list_title for _ in range(3)] == ["The login page"] * 3
    assert known.metadata.list_title == "The login page"
    assert (len(asked) - before, known.has_changed) == (1, False)


def test_titles_and_paths_are_redacted(world, monkeypatch):
    """As everything else that is sent."""
    secret = "sk-ant-api03-" + "a1B2" * 24
    world.claude().say(user(f"the key is {secret}"))
    found = index(world, monkeypatch, everything=True)
    (row,) = map(found.about, found.all().values())
    assert "the key is" in row["title"]
    assert secret not in str(row)


def test_files_that_change_belong_to_sessions(world, monkeypatch):
    """One that is new is taken up at once where everything is served; files below no root are nobody's."""
    found = index(world, monkeypatch, everything=True)
    maker = world.claude()
    assert found.all() == {}
    maker.say(user("begin here"))
    assert found.take_up({str(maker.path), "/etc/passwd", str(world.home / "x.jsonl")}) == {SESSION}
    assert [path for path, _ in found.content(SESSION).files] == [str(maker.path)]


def test_a_session_that_is_new_in_a_database_is_found_between_two_sweeps(world, monkeypatch):
    """Its database changed; no file of its own can be new."""
    one = OpenCode(world).say(user("begin here"))
    found = index(world, monkeypatch, everything=True)
    monkeypatch.setattr(sessions, "SWEEP_EVERY", 1e9)
    assert len(found.all()) == 1
    OpenCode(world, f"{one.id[:-1]}z").say(user("another one"))
    assert len(found.all()) == 2


def test_a_copy_of_a_database_in_a_folder_beside_it_has_no_sessions(world, monkeypatch):
    """Neither for a sweep nor between two."""
    one = OpenCode(world).say(user("begin here"))
    found = index(world, monkeypatch, everything=True)
    other = OpenCode(world, "eeeeeeee", database=".local/share/opencode/copies/opencode.db").say(user("a copy"))
    for every in (0.0, 1e9):
        monkeypatch.setattr(sessions, "SWEEP_EVERY", every)
        one.say(says("more"))
        assert [known.key.id for known in found.all().values()] == [one.id] != [other.id]


def test_a_session_that_is_gone_is_told_to_its_viewers(world):
    """They hear that it was deleted, and that what they have is no longer valid."""
    maker = world.claude()
    maker.say(user("::start\nbegin here"), calls("call_1", "ls"))
    world.once()

    async def work():
        async with serving(world, everything=False) as app, app.socket() as client:
            await client.start(SESSION)
            await client.say(type="subscribe_sessions")
            await client.say(type="ping")
            await client.until("pong")
            world.cli("forget", SESSION, "--yes")
            app.hub.index._looked = app.hub.index._swept = -99.0
            app.hub._changed(set())
            while not {"session_event", "cursor_invalid"} <= {row["type"] for row in client.frames}:
                await client.hear()
                app.hub._changed(set())
            return [row for row in client.frames if row["type"] == "session_event"]

    (event,) = asyncio.run(work())
    assert (event["action"], event["sessionId"], "metadata" in event) == ("deleted", SESSION, False)


def test_what_is_known_of_a_session_does_not_depend_on_who_read_it(world, monkeypatch):
    """Counted messages stay until a file changes."""
    maker = world.claude()
    maker.say(user("begin here"), says("with pleasure"))
    found = index(world, monkeypatch, everything=True)
    known = found.all()[SESSION]
    assert found.about(known)["messageCount"] == 0
    first = next(row for row in with_count(found, known) if row)
    assert first["messageCount"] >= 2
    maker.say(user("more"))
    found.take_up({str(maker.path)})
    assert next(row for row in with_count(found, known) if row)["messageCount"] > first["messageCount"]
    assert isinstance(known.metadata, SessionMetadata)


def state_of(index):
    return {name: (known.files, known.number, known.is_open) for name, known in index.all().items()}


@pytest.mark.slow
@pytest.mark.parametrize("everything", [True, False])
def test_what_was_looked_at_before_makes_no_difference(world, monkeypatch, everything):
    """Sessions begin, grow, are recorded, forgotten and deleted: a shelf knows what a new one finds."""
    known = index(world, monkeypatch, everything=everything)
    first, second, third = world.session(1), world.session(2, "codex"), world.session(3)
    steps = (
        lambda: first.say(user("one")),
        lambda: second.say(user("::start\ntwo")),
        world.once,
        lambda: third.say(user("three"), says("more")),
        lambda: first.say(user("::start\nmore of one")),
        world.once,
        lambda: second.say(user("::stop")),
        world.once,
        lambda: world.cli("forget", "00000001", "--yes"),
        third.path.unlink,
        lambda: first.say(user("::start\nonce more")),
        world.once,
    )
    for step in steps:
        step()
        known.all()  # a session that is no longer recorded is found by the next sweep
        assert state_of(known) == state_of(index(world, monkeypatch, everything=everything))


@pytest.mark.whole
@pytest.mark.parametrize("everything", [True, False])
def test_a_ledger_that_is_replaced_leaves_no_session_out(world, monkeypatch, everything):
    """Removed, created again, restored from a copy: at once, all is known that a new index finds, without a sweep."""
    first, second, third = world.session(1), world.session(2, "codex"), world.session(3)
    first.say(user("::start\none"))
    second.say(user("two"))
    world.once()
    known, copy = index(world, monkeypatch, everything=everything), world.home / "copy"
    known.all()
    monkeypatch.setattr(sessions, "SWEEP_EVERY", 1e9)

    def copied(begin, end):
        """Have the ledger of one folder in another one, with nothing else."""
        for folder in (begin, end):
            folder.mkdir(exist_ok=True)
        for path in end.glob("ledger*"):
            path.unlink()
        for path in begin.glob("ledger*"):
            (end / path.name).write_bytes(path.read_bytes())

    def forgotten():
        world.cli("forget", "00000002", "--yes")
        world.once()

    steps = (
        lambda: copied(world.state, copy),
        lambda: copied(world.home / "nothing", world.state),
        world.once,
        lambda: copied(copy, world.state),
        lambda: (third.say(user("::start\nthree")), known.take_up({str(third.path)})),
        world.once,
        forgotten,
        lambda: copied(copy, world.state),
        lambda: copied(world.home / "nothing", world.state),
    )
    for number, step in enumerate(steps):
        step()
        with monkeypatch.context() as patch:
            patch.setattr(sessions, "SWEEP_EVERY", 1e9)
            found = state_of(known)
        assert found == state_of(index(world, monkeypatch, everything=everything)), number


def _moved(path, folder):
    folder.mkdir(parents=True, exist_ok=True)
    return path.rename(folder / path.name)


def _compressed(path):
    packed = path.with_name(f"{path.name}.zst")
    packed.write_bytes(zstandard.compress(path.read_bytes()))
    return packed


@pytest.mark.parametrize("everything", [True, False])
def test_a_file_that_was_moved_compressed_or_deleted_makes_no_difference(world, monkeypatch, everything):
    """Recorded or not, an index that runs has the files that a new one finds, and a search finds all that is in them."""
    known = index(world, monkeypatch, everything=everything)
    claude, codex = world.session(1), world.session(2, "codex")
    claude.say(user("::start\na needle"))
    codex.say(user("::start\na needle"))
    world.once()
    other, archive = claude.path.parents[1] / "-home-me-other", world.home / ".codex/archived_sessions"
    steps = (
        lambda: _moved(claude.path, other),
        lambda: _moved(other / claude.path.name, claude.path.parent),  # and back
        lambda: _moved(codex.path, archive),
        lambda: _compressed(archive / codex.path.name),  # both are there for a moment
        (archive / codex.path.name).unlink,
        lambda: claude.say(user("more")),
        lambda: (other / claude.path.name).write_bytes(claude.path.read_bytes()),  # a copy
        claude.path.unlink,
    )
    known.all()
    for step in steps:
        step()
        fresh = index(world, monkeypatch, everything=everything)
        found, expected = state_of(known), state_of(fresh)
        assert {name: (sorted(files), *rest) for name, (files, *rest) in found.items()} == {
            name: (sorted(files), *rest) for name, (files, *rest) in expected.items()
        }
        search = Search(Query(["needle"]))
        assert [match.total for match in search.run(known.all().values())] == [1, 1]
        assert search.problems == {}


def test_what_is_said_in_brief_is_a_part_of_the_whole(world, monkeypatch):
    """For sessions that are recorded, those that are not, sub-agents, and one whose file is gone."""
    secret = "sk-ant-api03-" + "a1B2" * 24
    gone = world.session(1)
    gone.cwd = f"/home/{secret}"
    gone.say(user("::start\none"))
    world.session(2, "codex").say(user("two"))
    world.once()
    child = world.claude().path.parent / "00000001-8a53-4c3e-9b5e-0a1d5f8f2c11" / "subagents" / "agent-a1.jsonl"
    child.parent.mkdir(parents=True)
    child.write_bytes(gone.path.read_bytes())
    gone.path.unlink()
    found = index(world, monkeypatch, everything=True)
    briefs, latest = list(found.briefs()), list(found.latest())
    assert len(briefs) == 3
    for brief, late, known in zip(briefs, latest, found.all().values(), strict=True):
        whole = found.about(known)
        assert brief.items() <= whole.items()
        assert {"id", "projectPath", "source", "lastActivityAt"} <= brief.keys()
        assert ("parentSessionId" in brief) is ("parentSessionId" in whole)
        assert (late["id"], late["lastActivityAt"]) == (whole["id"], whole["lastActivityAt"])
        assert secret not in str(brief)


def test_the_newest_session_of_a_project_is_no_sub_agent(world, monkeypatch):
    """A sub-agent is a part of a session; a project that has no session has no newest one."""
    found = index(world, monkeypatch, everything=True)
    older, newer = world.session(1).say(user("one")), world.session(2).say(user("two"))
    folder = newer.path.with_suffix("") / "subagents"
    folder.mkdir(parents=True)
    sub_agent = folder / "agent-a1b2c3d4.jsonl"
    sub_agent.write_text(newer.path.read_text())
    for seconds, path in enumerate((older.path, newer.path, sub_agent)):
        os.utime(path, (1_770_000_000 + seconds,) * 2)
    assert len(found.all()) == 3
    newest = found.newest("/home/me/app")
    assert (newest.name, newest.key.subagent) == (newer.session, "")
    assert found.about(newest)["lastActivityAt"] == "2026-02-02T02:40:01.000Z"
    assert found.newest("/home/me/other") is None


@pytest.mark.whole
@pytest.mark.parametrize(("began", "is_started"), [
    ({}, False), ({"origin": SPAWNED}, False), ({"parent": "p"}, False), ({"origin": SPAWNED, "parent": "p"}, True),
])  # fmt: skip
def test_a_session_has_a_starter_if_it_names_one(began, is_started):
    """Only an agent that starts sessions for a part of its work says so; a fork names a session, too."""
    entry = SimpleNamespace(key=SessionKey("opencode", "s"), beginning=lambda: began)
    assert sessions.starter_of(entry) == (bridge.session_uuid(SessionKey("opencode", "p")) if is_started else "")
