"""What SESSION and RECORDING mean on the command line."""

import os
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from katod.cli import picker, selection
from katod.cli.context import Context
from katod.cli.selection import (
    matching_keys,
    only_recording,
    outputs_of,
    select,
    select_known,
    select_recorded,
    select_recordings,
)
from katod.errors import NoSuchSession, NothingHere, SelectionError
from katod.model import SessionKey
from tests.looping import each
from tests.support.records import OTHER, Claude, Codex

ONE, TWO = "6f1c2c1e-8a53-4c3e-9b5e-0a1d5f8f2c11", "6f1c9999-8a53-4c3e-9b5e-0a1d5f8f2c11"


@pytest.fixture
def context(world):
    """Return a context with two sessions of Claude Code, the first one with a sub-agent, and one of Codex."""
    for age, session in enumerate((world.claude(TWO), world.claude(ONE), world.codex())):
        session.append(session.user("hello"))
        os.utime(session.path, (1_000_000 - age, 1_000_000 - age))
    agent = world.claude(ONE)
    agent.path = agent.path.with_suffix("") / "subagents" / "agent-abc.jsonl"
    agent.append(agent.user("look"))
    return Context(None)


@pytest.mark.parametrize("text", [ONE, "6f1c2", "claude:6f1c2", f"claude:{ONE}"])
def test_a_session_is_meant_by_its_id_or_a_prefix(context, text):
    """A session matches by its id or a prefix, with or without the agent name; its sub-agents do not match."""
    assert str(select(context, text).key) == f"claude:{ONE}"


@pytest.mark.parametrize("text", ["abc", "6f1c2/abc", "claude:6f1c2/a", f"claude:{ONE}/abc"])
def test_a_sub_agent_is_meant_by_its_own_id(context, text):
    """A sub-agent matches by its own id, alone or after that of its session."""
    assert select(context, text).key.subagent == "abc"


def test_the_latest_session_is_the_one_that_changed_last(context):
    """Sub-agents do not count, however new they are."""
    assert select(context, "latest").key.id == TWO


def test_an_ambiguous_prefix_names_who_is_meant(context):
    """If a prefix matches two sessions, no session is selected and the error names both."""
    with pytest.raises(SelectionError, match="2 sessions match '6f1c'") as caught:
        select(context, "6f1c")
    assert f"claude:{ONE}" in str(caught.value)
    assert f"claude:{TWO}" in str(caught.value)


def test_an_ambiguous_prefix_means_the_recorded_session_only_to_stop_it(context, monkeypatch):
    """To stop, the only recorded one of several matches is meant; to start, it has to be typed which one."""
    recorded = select(context, ONE).key
    monkeypatch.setattr(selection, "recorded_sessions", lambda _context: [recorded])
    assert select_recorded(context, "6f1c", to_stop=True) == recorded
    with pytest.raises(SelectionError, match="2 sessions match"):
        select_recorded(context, "6f1c", to_stop=False)


@pytest.mark.parametrize("text", ["nothing", "codex:6f1c2", "6f1c2/x", "/home/me/6f1c2"])
def test_an_unknown_session_is_an_error(context, text):
    """The error repeats what was typed and names the command that lists the sessions."""
    with pytest.raises(SelectionError, match=repr(text)) as caught:
        select(context, text)
    assert "katod sessions" in caught.value.hint


EMPTY = ["codex:", "claude:", "claude:/", "claude:/abc", f"{ONE}/", f"claude:{ONE}/", "6f1c2/"]


@pytest.mark.whole
@pytest.mark.parametrize("text", EMPTY)
def test_an_empty_id_names_no_session(context, world, text):
    """Not even the only one of its agent, or the only sub-agent of a session: a variable may not be set."""
    world.once()
    for selecting in (select, select_known, partial(select_recorded, to_stop=True), select_recordings):
        with pytest.raises(SelectionError, match="lacks an id") as caught:
            selecting(context, text)
        assert "is a variable empty?" in caught.value.hint
    assert matching_keys(context.found(), text) == []


@each("command", ["stop", "show", "export", "forget", "verify", "start", "resume", "export --recording"])
def test_an_empty_argument_is_none_that_was_left_out(world, command):
    """`katod stop "$ID"` without an ID does not stop the only recording."""
    world.claude(ONE).append(Claude().user("::start chat\nhello"))
    world.once()
    world.cli(*command.split(), "", code=2)
    assert "it is empty: is a variable not set?" in world.said
    assert [row.open for row in world.outputs()] == [True]


_IDS = st.text("ab-1:", min_size=1, max_size=4)
_KEYS = st.builds(SessionKey, st.sampled_from(["claude", "codex"]), _IDS, st.just("") | _IDS)


@given(st.lists(_KEYS, unique=True, min_size=1), st.data())
def test_a_whole_id_names_that_session_and_no_other(keys, data):
    """Never a sub-agent of it, nor one whose id begins with it, whatever else there is; for a sub-agent alike."""
    key = data.draw(st.sampled_from(keys))
    assert matching_keys(keys, str(key)) == [key]
    assert key.subagent or key in matching_keys(keys, key.id)
    for found in matching_keys([one for one in keys if one != key], str(SessionKey(key.agent, key.id))):
        assert not found.subagent or found.subagent.startswith(key.id)


@pytest.fixture
def gone(context, world):
    """Return the context, with the ledger of a katod that saw the first session before its agent deleted it."""
    world.once()
    world.claude(ONE).path.unlink()
    world.once()
    return context


@pytest.mark.whole
@pytest.mark.parametrize("text", [ONE, f"claude:{ONE}", "6f1c2"])
def test_a_session_that_is_gone_is_not_its_sub_agent(gone, text):
    """What needs its files says that they no longer exist; what needs none means it, although its sub-agent is there."""
    assert select_known(gone, text) == SessionKey("claude", ONE)
    with pytest.raises(NoSuchSession, match=f"the files of claude:{ONE} no longer exist"):
        select(gone, text)


@pytest.mark.whole
@pytest.mark.parametrize("selecting", [select, select_known])
@pytest.mark.parametrize("text", ["6f1c", "claude:6f1c", TWO[:8]])
def test_a_prefix_that_a_gone_session_shares_means_the_one_that_is_there(gone, selecting, text):
    """Lists show such a prefix of it, and nothing of the other."""
    found = selecting(gone, text)
    assert getattr(found, "key", found) == SessionKey("claude", TWO)


def test_a_whole_id_of_a_gone_session_is_no_prefix(world):
    """Of another one that is there and whose id begins with it."""
    for name in ("mine", "mine-2"):
        world.claude(name).append(Claude(session=name).user("hello"))
    world.once()
    world.claude("mine").path.unlink()
    world.once()
    assert select_known(Context(None), "mine").id == "mine"
    assert select_known(Context(None), "min").id == "mine-2"


def test_what_a_shared_prefix_has_forgotten_is_shown(gone, world):
    """Which of both it is; the other one is still known."""
    assert f"katod forgets claude:{TWO}" in world.cli("forget", "6f1c", "--yes")
    assert select_known(gone, ONE) == SessionKey("claude", ONE)


def test_a_shared_prefix_stops_the_one_that_is_recorded(gone, monkeypatch):
    """Although its files are gone, and those of another one that begins alike are there; a whole id is that session."""
    monkeypatch.setattr(selection, "recorded_sessions", lambda _context: [SessionKey("claude", ONE)])
    assert select_recorded(gone, "6f1c", to_stop=True).id == ONE
    assert select_recorded(gone, "6f1c", to_stop=False).id == TWO
    assert select_recorded(gone, TWO, to_stop=True).id == TWO


def test_several_that_are_gone_are_as_ambiguous_as_several_that_are_there(gone, world):
    """The error names both."""
    world.claude(TWO).path.unlink()
    world.once()
    with pytest.raises(SelectionError, match="2 sessions match '6f1c'"):
        select_known(Context(None), "6f1c")


def test_what_only_a_list_knows_of_is_meant_last(gone):
    """A list may come from elsewhere, and have sessions of any name: none of them takes the word of another one."""
    listed = [SessionKey("claude", text) for text in ("6f1c2", "6f1c9", "6f1d")]
    meant = [select_known(gone, text, listed).id for text in ("6f1c2", "6f1c9", "6f1d")]
    assert meant == [ONE, TWO, "6f1d"]


def test_what_changes_a_session_that_is_gone_changes_it_alone(gone, world):
    """Its title, its star, its labels, and in the end all that is forgotten of it."""
    for command in (("rename", ONE, "Mine"), ("star", ONE), ("label", ONE, "mine")):
        assert f"claude:{ONE} " in world.cli(*command)
    shown = world.cli("forget", ONE, "--yes")
    assert f"katod forgets claude:{ONE}\n" in shown
    assert "and its sub-agent" in shown


def test_a_session_of_which_only_a_sub_agent_is_known_is_not_guessed(context, world):
    """The error says how the sub-agent is named."""
    world.claude(ONE).path.unlink()
    with pytest.raises(NoSuchSession, match="no session matches") as caught:
        select(context, ONE)
    assert f"claude:{ONE}/abc" in caught.value.hint


def test_without_sessions_there_is_no_latest(world):
    """The error says that there are no sessions."""
    with pytest.raises(SelectionError, match="no sessions"):
        select(Context(None), "latest")


def test_a_folder_that_cannot_be_read_is_told_with_the_unknown_session(world, monkeypatch):
    """The session may well exist, so the message says why it was not found."""
    world.claude().append("")
    closed = world.home / ".claude" / "projects"
    scan = os.scandir

    def scandir(path):
        if str(path) == str(closed):
            raise PermissionError(13, "Permission denied")
        return scan(path)

    monkeypatch.setattr(os, "scandir", scandir)
    with pytest.raises(SelectionError, match=f"{closed}: Permission denied"):
        select(Context(None), ONE)


# -- recordings -----------------------------------------------------------------------------------


@pytest.fixture
def recorded(world, monkeypatch):
    """Return a context with one recording, and a later session of another project that is not recorded."""
    world.claude(ONE).append(Claude(session=ONE, cwd=str(world.project)).user("::start notes\nhello"))
    world.once()
    other = world.codex().append(Codex().meta(cwd=str(world.home / "shop")), Codex().user("words"))
    os.utime(other.path, (4e9, 4e9))
    monkeypatch.chdir(world.home)
    return Context(None)


@pytest.mark.parametrize("text", ["1", "{out}/app/notes.md", "katod/app/notes.md", ONE, "claude:6f1c2", ""])
def test_a_recording_selects_its_session(recorded, world, text):
    """By number, by its file, by its session, or, as it is the only one, without anything."""
    text = text.format(out=world.out)
    assert select(recorded, text).key.id == ONE
    assert select_recorded(recorded, text, to_stop=True).id == ONE
    assert [row.id for row in select_recordings(recorded, text)] == [1]


def test_a_number_of_eight_digits_is_an_id(world):
    """Short numbers are recordings, also those that are gone: another session must not be forgotten in their place."""
    name = "12345678-8a53-4c3e-9b5e-0a1d5f8f2c11"
    world.claude(name).append(Claude(session=name).user("hello"))
    assert select(Context(None), "12345678").key.id == name
    for text in ("1", "1234567"):
        with pytest.raises(SelectionError, match=f"there is no recording {text}"):
            select(Context(None), text)


def test_the_latest_session_is_that_of_the_directory(recorded, world, monkeypatch):
    """Of the project that one stands in, or of the one around it; elsewhere, of all."""
    assert select(recorded, "latest").key.agent == "codex"
    monkeypatch.chdir(world.project)
    assert select(recorded, "latest").key.id == ONE
    inside = world.project / "src"
    inside.mkdir()
    monkeypatch.chdir(inside)
    assert select(recorded, "latest").key.id == ONE


def test_the_recordings_of_the_latest_session_are_meant_by_latest(recorded, world, monkeypatch):
    """As in every command; if it has none, no other session is checked in its place."""
    monkeypatch.chdir(world.project)
    assert [row.id for row in select_recordings(recorded, "latest")] == [1]
    assert world.cli("verify", "latest").startswith("1  ")
    monkeypatch.chdir(world.home)
    with pytest.raises(SelectionError, match="there is no recording codex:"):
        select_recordings(recorded, "latest")


@pytest.fixture
def nowhere(tmp_path, monkeypatch):
    """Stand in a directory that no longer exists, such as a worktree that was removed."""
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()


def test_a_directory_that_is_gone_has_no_session(recorded, nowhere):
    """The latest session is that of all, nothing is started without a name, and the only recording is the one to stop."""
    assert select(recorded, "latest").key.agent == "codex"
    assert select(recorded, ONE).key.id == ONE
    assert [row.id for row in select_recordings(recorded, ONE)] == [1]
    assert select_recorded(recorded, "", to_stop=True).id == ONE
    with pytest.raises(NothingHere):
        select_recorded(recorded, "", to_stop=False)


def test_a_bare_start_is_for_the_directory(recorded, world, monkeypatch):
    """Its latest session is recorded; where there is none, nothing is guessed."""
    monkeypatch.chdir(world.project)
    assert select_recorded(recorded, "", to_stop=False).id == ONE
    monkeypatch.chdir(world.home)
    with pytest.raises(SelectionError, match="no session in this directory"):
        select_recorded(recorded, "", to_stop=False)


def test_a_bare_stop_of_several_is_that_of_the_directory(recorded, world, monkeypatch):
    """If that is not recorded, the error says how many run."""
    world.claude(TWO, folder="-else").append(Claude(session=TWO, cwd="/else").user("::start more\nhello"))
    world.once()
    with pytest.raises(SelectionError, match="2 recordings are running"):
        select_recorded(recorded, "", to_stop=True)
    monkeypatch.chdir(world.project)
    assert select_recorded(recorded, "", to_stop=True).id == ONE


def test_without_recordings_there_is_nothing_to_stop(world):
    """The error says so, and so does one for a recording that does not exist."""
    with pytest.raises(SelectionError, match="nothing is being recorded"):
        select_recorded(Context(None), "", to_stop=True)
    with pytest.raises(SelectionError, match="there is no recording 1"):
        select_recordings(Context(None), "1")


def test_a_recording_whose_session_is_gone_says_so(recorded, world):
    """It can be stopped, but not exported from the session."""
    for path in (world.home / ".claude").rglob("*.jsonl"):
        path.unlink()
    with pytest.raises(SelectionError, match="no longer exist"):
        select(recorded, "1")
    assert select_recorded(recorded, "1", to_stop=True).id == ONE


def test_a_bare_stop_leaves_the_recording_of_another_directory(recorded, world, monkeypatch):
    """Even the only one, where this directory has a session of its own; and one that has ended is not stopped again."""
    monkeypatch.chdir(world.home)
    here = world.claude(TWO, folder="-here")
    here.append(Claude(session=TWO, cwd=str(world.home)).user("hello"))
    with pytest.raises(SelectionError, match="one recording is running, but none of this directory"):
        select_recorded(recorded, "", to_stop=True)
    world.cli("stop", "1")
    with pytest.raises(SelectionError, match="recording 1 has ended"):
        select_recorded(recorded, "1", to_stop=True)


def test_a_name_in_place_of_a_session_is_explained(recorded, world):
    """A person who thinks of `::start mine` learns what to type."""
    assert b"katod start latest mine" in world.katod("start", "mine", check=False).stderr


# -- on a terminal -----------------------------------------------------------------------------------


@pytest.fixture
def asked(monkeypatch):
    """Return what the person was asked: the sessions and the marked one. They choose the last."""
    questions = []

    def pick(_context, sessions, marked):
        questions.append(([one.key.agent for one in sessions], marked and marked.key.agent))
        return sessions[-1]

    monkeypatch.setattr(selection, "is_terminal", lambda: True)
    monkeypatch.setattr(picker, "pick", pick)
    return questions


def test_a_person_is_asked_which_session(context, asked, world, monkeypatch):
    """Among all, newest first, without sub-agents; this directory's latest one is marked."""
    assert select(context, "").key.agent == "codex"
    monkeypatch.chdir(world.home)
    here = world.claude(OTHER)
    here.append(Claude(session=OTHER, cwd=str(world.home)).user("here"))
    os.utime(here.path, (10, 10))
    assert select(context, "").key.id == OTHER
    assert asked == [(["claude", "claude", "codex"], None), (["claude", "claude", "codex", "claude"], "claude")]


def test_sessions_to_choose_from_are_called_as_their_person_says(context, world, monkeypatch):
    """The picker takes the title from what is said of each."""
    world.cli("rename", ONE, "The login page")
    titles = []
    monkeypatch.setattr(selection, "is_terminal", lambda: True)
    monkeypatch.setattr(picker, "pick", lambda _, found, __: titles.extend(one.said.title for one in found) or found[0])
    select(context, "")
    assert sorted(filter(None, titles)) == ["The login page"]


def test_nobody_is_asked_for_what_is_clear(recorded, asked, world, monkeypatch):
    """The only recording is meant, `latest`, and to start, this directory's latest session."""
    assert select(recorded, "").key.id == ONE
    assert select(recorded, "latest").key.agent == "codex"
    monkeypatch.chdir(world.project)
    assert select_recorded(recorded, "", to_stop=False).id == ONE
    assert asked == []
    monkeypatch.chdir("/")
    assert select_recorded(recorded, "", to_stop=False).id == ONE
    assert asked == [(["codex", "claude"], None)]


def test_without_any_session_there_is_nothing_to_ask(world, asked):
    """The error says that there is none here."""
    with pytest.raises(NothingHere, match="no session in this directory"):
        select(Context(None), "")
    assert asked == []


def test_a_file_of_a_recording_is_found_for_its_session(recorded, world):
    """And the only recording that runs, as long as there is one."""
    key = select(recorded, "1").key
    assert [row.id for row in outputs_of(recorded, key)] == [1]
    assert only_recording(recorded).id == 1
    world.cli("stop", "1")
    assert only_recording(recorded) is None
    (world.out / "app" / "notes.md").unlink()
    assert outputs_of(recorded, key) == []
