"""The daemon as a process: start, stop, settings, watching, and requests."""

import signal
from pathlib import Path

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tests.support.live import Live, until
from tests.support.outputs import only
from tests.support.records import SESSION, Claude, Codex
from tests.support.world import SOURCE, World

_SOON = "from katod import livesettings; livesettings.EVERY = 0.02; livesettings.STILL = 0.05; discovery.ACTIVE_EVERY = 0.05"


@pytest.mark.slow
@pytest.mark.fault("two daemons")
def test_a_second_daemon_is_refused(world: World) -> None:
    """A state directory has one daemon; a second one reports the first and exits with 1."""
    with Live(world) as first:
        done = world.katod("run", check=False)
        assert done.returncode == 1
        (line,) = done.stderr.decode().splitlines()
        assert f"another katod is running (PID {first.process.pid})" in line


@pytest.mark.slow
@pytest.mark.fault("two daemons")
def test_the_lock_is_free_at_once_after_a_kill(world: World) -> None:
    """After a kill the next daemon starts at once."""
    with Live(world) as live:
        live.kill()
        assert not live.running
    with Live(world) as live:
        assert live.stop() == 0


@pytest.mark.slow
@pytest.mark.fault("asked to stop at any moment")
def test_a_signal_ends_it_after_the_step_under_way(world: World) -> None:
    """SIGTERM and SIGINT end the daemon with exit code 0, and written intents are settled in the ledger."""
    make, source = Claude(), world.claude()
    for number in (signal.SIGTERM, signal.SIGINT):
        with Live(world) as live:
            source.append(make.user(f"::start\nwords for {number.name}"))
            live.until_written(f"words for {number.name}")
            assert live.stop(number) == 0
    assert [row.intent for row in world.outputs()] == [None]
    world.assert_live_is_batch()


def test_new_settings_hold_after_a_hang_up_and_bad_ones_do_not(world: World) -> None:
    """SIGHUP reloads the file; an invalid file is logged and changes nothing."""
    make, source = Claude(), world.claude()
    with Live(world) as live:
        world.configure(directory="~/elsewhere")
        live.hang_up()
        live.until_said("settings.reloaded")
        world.config.write_text("[output]\ndirectry = 1\n")
        live.hang_up()
        live.until_said("settings.rejected")
        source.append(make.user("::start\nhello"))
        until(lambda: list((world.home / "elsewhere").rglob("*.md")) != [], "the recording")


def test_a_changed_configuration_holds_without_being_asked_for(world: World) -> None:
    """A running katod notices it; a wrong one is said once and changes nothing."""
    make, source = Claude(), world.claude()
    with Live(world, also=_SOON) as live:
        source.append(make.user("::start notes\nhello"))
        live.until_written("hello")
        world.configure(exclude=[make.cwd])
        live.until_said("settings.reloaded")
        until(lambda: not world.outputs()[0].open, "the end of the recording")
        valid = world.config.read_bytes()
        world.config.write_text("[output]\ndirectry = 1\n")
        live.until_said("settings.rejected")
        source.append(make.user("::start\nprivate words"))
        live.until_said("command.refused")
        world.config.write_bytes(valid)
        until(lambda: live.said().count("settings.reloaded") == 2, "the valid settings")
        assert live.said().count("settings.rejected") == 1
    assert not any("private" in text for text in world.written().values())


def test_the_shell_reaches_a_running_daemon(world: World) -> None:
    """`katod capture` leaves a request that the daemon answers; a refusal exits with 1 and prints the reason."""
    make, source = Claude(), world.claude()
    source.append(make.user("one"), make.says("two"))
    with Live(world) as live:
        assert "recording to" in world.cli("capture", SESSION, "asked.md")
        assert "two" in world.written()["asked.md"]
        source.append(make.says("three"))
        live.until_written("three")
        assert "stopped" in world.cli("stop", SESSION)
        world.cli("start", SESSION, "/etc/x.md", code=1)
        status = world.status()
    assert status["daemon"]["running"]
    assert [row["command"] for row in status["refused"]] == ["start"]
    world.assert_live_is_batch()


def test_a_request_waits_until_a_daemon_or_the_shell_takes_it(world: World) -> None:
    """Without a daemon, `katod capture` takes the lock and carries out the request itself; nothing is left behind."""
    make = Claude()
    world.claude().append(make.user("one"))
    world.cli("capture", SESSION)
    assert "one" in only(world)
    assert list((world.state / "requests").iterdir()) == []


@pytest.mark.slow
def test_a_live_daemon_under_random_writing_equals_the_export(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A daemon that is killed and restarted while a session grows in odd pieces writes the same as an export."""

    @settings(max_examples=8, phases=[Phase.generate])  # shrinking would start hundreds of daemons
    @given(st.lists(st.integers(1, 900), min_size=3, max_size=30), st.integers(0, 2))
    def law(sizes: list[int], kills: int) -> None:
        world = World(tmp_path_factory.mktemp("live") / "home", monkeypatch)
        data = b"".join((SOURCE / "fixtures/demo/session.jsonl").read_bytes().splitlines(keepends=True)[:-2])
        source = world.claude()
        at = 0
        for _ in range(kills + 1):
            with Live(world) as live:
                for size in sizes:
                    source.append(data[at : at + size])
                    at += size
                live.kill()
        source.append(data[at:])
        with Live(world) as live:
            live.until_written("sessions live in `sessions.db`")
        world.once()
        assert world.assert_live_is_batch() == 1

    law()


def test_outputs_and_state_are_private(world: World) -> None:
    """Everything that katod creates is readable only by its owner."""
    make = Claude()
    world.claude().append(make.user("::start\nhello"))
    world.once()
    made = [path for base in (world.state, world.home / "katod") for path in [base, *Path(base).rglob("*")]]
    assert made
    assert [path for path in made if path.stat().st_mode & 0o077] == []


@pytest.mark.slow
def test_a_command_in_the_second_file_of_a_session_is_obeyed(world: World) -> None:
    """A session that continues in another file is recorded from the command there, without anything before it."""
    make, rollout = Codex(), "01a1f89e-eea5-7302-86e3-f8e0f7059999"
    with Live(world) as live:
        world.codex().append(make.meta(), make.user("before"))
        until(lambda: world.status()["sources"] == 1, "the first file")
        world.codex(rollout=rollout).append(make.meta(), make.user("::start\nin the second"))
        live.until_written("in the second")
    assert "before" not in only(world).partition("*Recording started")[2], "it may name the conversation, no more"
