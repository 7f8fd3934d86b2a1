"""What the commands share: which sessions there are, and which one an argument selects."""

import os

import pytest

from katod.cli.context import Context
from katod.errors import ConfigError, SelectionError

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
    assert str(context.select(text).key) == f"claude:{ONE}"


@pytest.mark.parametrize("text", ["abc", "6f1c2/abc", "claude:6f1c2/a", f"claude:{ONE}/abc"])
def test_a_sub_agent_is_meant_by_its_own_id(context, text):
    """A sub-agent matches by its own id, alone or after that of its session."""
    assert context.select(text).key.subagent == "abc"


def test_the_latest_session_is_the_one_that_changed_last(context):
    """Sub-agents do not count, however new they are."""
    assert context.select("latest").key.id == TWO


def test_an_ambiguous_prefix_names_who_is_meant(context):
    """If a prefix matches two sessions, no session is selected and the error names both."""
    with pytest.raises(SelectionError, match="2 sessions match '6f1c'") as caught:
        context.select("6f1c")
    assert f"claude:{ONE}" in str(caught.value)
    assert f"claude:{TWO}" in str(caught.value)


def test_an_ambiguous_prefix_means_the_recorded_session_only_to_stop_it(context, monkeypatch):
    """To stop, the only recorded one of several matches is meant; to start, it has to be typed which one."""
    recorded = context.select(ONE).key
    monkeypatch.setattr(context, "_recorded", lambda: [recorded])
    assert context.select_recorded("6f1c", to_stop=True) == recorded
    with pytest.raises(SelectionError, match="2 sessions match"):
        context.select_recorded("6f1c", to_stop=False)


@pytest.mark.parametrize("text", ["nothing", "codex:6f1c2", "6f1c2/x", "opencode:"])
def test_an_unknown_session_is_an_error(context, text):
    """The error repeats what was typed and names the command that lists the sessions."""
    with pytest.raises(SelectionError, match=repr(text)) as caught:
        context.select(text)
    assert "katod sessions" in caught.value.hint


def test_without_sessions_there_is_no_latest(world):
    """The error says that there are no sessions."""
    with pytest.raises(SelectionError, match="no sessions"):
        Context(None).select("latest")


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
        Context(None).select(ONE)


def test_the_files_of_a_session_are_one_session(world):
    """Oldest change first; the session's size is that of all files, and its time that of the newest."""
    first, second = world.claude(), world.claude(folder="-else")
    for age, file in enumerate((second, first)):
        file.append("{}\n" * (age + 1))
        os.utime(file.path, (1000 - age, 1000 - age))
    found = Context(None).select("latest")
    assert [path for path, _, _ in found.files] == [str(first.path), str(second.path)]
    assert (found.size, found.changed_ns) == (9, 1000 * 10**9)


def test_a_named_configuration_has_to_exist(world, monkeypatch):
    """A file named by option or environment must exist; one that was not named need not."""
    world.config.unlink()
    with pytest.raises(ConfigError):
        _ = Context(None).settings
    monkeypatch.delenv("KATOD_CONFIG")
    with pytest.raises(ConfigError):
        _ = Context(world.config).settings
    monkeypatch.setenv("XDG_CONFIG_HOME", str(world.home / "none"))
    assert Context(None).settings is not None
