"""`katod service`: with programs that note how they are called in place of systemd and launchd."""

import json
import os
import shutil
import sys
import time

import pytest

from katod import __version__
from katod.agents import AGENTS
from katod.cli import service
from katod.errors import ServiceError
from katod.service import launch, manager, running
from katod.service.launch import MARKER
from katod.service.lock import Lock

# Answers as systemctl does, from files beside it, and notes what it was asked.
SYSTEMCTL = """#!/bin/sh
here=$(dirname "$0")
echo "$@" >> "$here/asked"
case "$2" in
show-environment) [ ! -e "$here/down" ] || { echo "Failed to connect to bus" >&2; exit 1; } ;;
enable) [ ! -e "$here/refuses" ] && [ -e "$HOME/.config/systemd/user/$3" ] || { echo "Unit file $3 does not exist." >&2; exit 1; } ;;
start|restart) [ ! -e "$here/broken" ] || { echo "Job for katod.service failed." >&2; exit 1; }; touch "$here/up" ;;
stop|disable) [ ! -e "$here/refuses" ] || { echo "Unit file $3 does not exist." >&2; exit 1; }; rm -f "$here/up" ;;
show) case "$*" in *UnitPath*) echo "/etc/systemd/user $HOME/.config/systemd/user"; exit ;; esac
      if [ -e "$here/up" ]; then echo ActiveState=active; echo MainPID=42; echo StatusText=following 3 sessions
      else echo ActiveState=inactive; echo MainPID=0; echo Result=success; fi; echo UnitFileState=enabled ;;
esac
"""
LAUNCHCTL = """#!/bin/sh
here=$(dirname "$0")
echo "$@" >> "$here/asked"
case "$1" in
bootstrap) touch "$here/up" ;;
kickstart) [ -e "$here/up" ] || { echo "Could not find service" >&2; exit 113; } ;;
bootout) rm -f "$here/up" ;;
print) [ -e "$here/up" ] || exit 113; echo "	state = running"; echo "	pid = 42" ;;
esac
"""
JOURNALCTL = '#!/bin/sh\necho "the last line of the log"\n'
KATOD = f'#!/bin/sh\necho "katod, version {__version__}"\n'
LOGINCTL = "#!/bin/sh\necho no\n"


class Programs:
    """The programs on the PATH, and what systemctl or launchctl was asked."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir()
        for name, text in {
            "systemctl": SYSTEMCTL,
            "launchctl": LAUNCHCTL,
            "journalctl": JOURNALCTL,
            "loginctl": LOGINCTL,
            "katod": KATOD,
        }.items():
            self.write(name, text)

    def write(self, name, text):
        (self.folder / name).write_text(text)
        (self.folder / name).chmod(0o755)

    def asked(self):
        path = self.folder / "asked"
        return path.read_text().splitlines() if path.exists() else []

    def begun(self):
        """Return the calls that change something."""
        return [call for call in self.asked() if " show" not in call and not call.startswith("print")]


@pytest.fixture
def programs(world, monkeypatch, tmp_path):
    """Return the programs of a machine with systemd; the program that is running is the first katod on the PATH."""
    found = Programs(tmp_path / "bin")
    monkeypatch.setenv("PATH", f"{found.folder}:/usr/bin:/bin")
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setattr(service, "installed_program", lambda: str(found.folder / "katod"))
    monkeypatch.setattr(sys, "platform", "linux")
    world.unit = world.home / ".config/systemd/user/katod.service"
    return found


def test_it_is_installed_with_one_line(world, programs):
    """The unit is written, started and enabled; the output says what runs, and how it goes on after a logout."""
    said = world.cli("service", "install")
    assert programs.begun() == ["--user daemon-reload", "--user enable katod.service", "--user restart katod.service"]
    assert f"wrote {world.unit}\nkatod is running (PID 42), following 3 sessions\n" in said
    assert "loginctl enable-linger" in said
    assert f'ExecStart="{programs.folder}/katod" "--config" "{world.config}" "run"' in world.unit.read_text()


def test_installing_again_changes_nothing_but_the_unit(world, programs):
    """Each call leaves the same unit; a drop-in that is no longer wanted is removed."""
    world.cli("service", "install", "--strict")
    dropped = world.unit.parent / "katod.service.d" / "katod-strict.conf"
    assert f'ReadWritePaths="-{world.home}/katod"' in dropped.read_text()
    before = world.unit.read_bytes()
    world.cli("service", "install")
    assert (world.unit.read_bytes(), dropped.parent.exists()) == (before, False)


def test_print_changes_nothing(world, programs):
    """The unit is shown; no program is asked, and no file is written."""
    assert world.cli("service", "install", "--print").startswith("# Written by `katod service install`")
    assert (programs.asked(), world.unit.exists()) == ([], False)


def test_print_shows_each_file_that_is_written(world, programs):
    """The drop-in of `--strict` too, and both of the server."""
    for options in ((), ("--strict",), ("--strict", "--serve")):
        printed = world.cli("service", "install", "--print", *options)
        world.cli("service", "install", *options)
        files = [path.read_text() for path in world.unit.parent.rglob("*") if path.is_file()]
        assert all(text.rstrip("\n") in printed for text in files)
        assert printed.count(MARKER) == len(files)


@pytest.mark.parametrize("at", ["output", "link", "agent"])
def test_what_is_below_tmp_is_not_hidden_from_the_service(world, programs, monkeypatch, at):
    """A directory to write to, also behind a link, or one of an agent: with --strict, too."""
    monkeypatch.setattr(launch, "_TEMPORARY", (str(world.home / "temporary"),))
    folder = world.home / "temporary/mine"
    folder.mkdir(parents=True)
    (world.home / "link").symlink_to(folder)
    assert "PrivateTmp=yes" in world.cli("service", "install", "--strict", "--print")
    if at == "agent":
        monkeypatch.setenv("CODEX_HOME", str(folder))
    else:
        world.configure(directory=str(folder if at == "output" else world.home / "link"))
    assert "PrivateTmp=yes" not in world.cli("service", "install", "--strict", "--print")


def test_the_variables_of_the_agents_are_kept(world, programs, monkeypatch):
    """What is set now holds for the service: of each agent, and katod's own; and a locale with all characters."""
    monkeypatch.setenv("CODEX_HOME", "/elsewhere")
    monkeypatch.setenv("LANG", "de_DE.UTF-8")
    monkeypatch.setenv("SECRET_TOKEN", "x")
    text = world.cli("service", "install", "--print")
    kept = [line for line in text.splitlines() if line.startswith("Environment=")]
    assert kept == [
        'Environment="CODEX_HOME=/elsewhere"', f'Environment="KATOD_STATE_DIR={world.state}"', 'Environment="LANG=de_DE.UTF-8"',
    ]  # fmt: skip


def test_each_agent_names_the_variables_that_it_reads(world, monkeypatch):
    """With any of its variables set, an agent has other roots; the service is given all of them."""
    for spec in AGENTS.values():
        before = spec.roots()
        for name in spec.variables:
            with monkeypatch.context() as now:
                now.setenv(name, "/elsewhere/opencode.db")
                assert spec.roots() != before, f"{spec.name}: {name}"


def test_what_was_installed_can_be_examined(world, programs, monkeypatch):
    """The variables of the unit, with those of the user's own drop-ins, and where the strict one lets katod write."""
    monkeypatch.setenv("CODEX_HOME", "/elsewhere")
    world.cli("service", "install")
    found = manager.manager()
    assert found.environment()["CODEX_HOME"] == "/elsewhere"
    assert found.writable() is None
    world.cli("service", "install", "--strict")
    assert set(found.writable()) >= {str(world.out), str(world.state)}
    (world.unit.parent / "katod.service.d" / "override.conf").write_text("[Service]\nEnvironment=CODEX_HOME=/mine\n")
    assert found.environment()["CODEX_HOME"] == "/mine"
    monkeypatch.setattr(sys, "platform", "darwin")
    world.cli("service", "install")
    assert manager.manager().environment()["CODEX_HOME"] == "/elsewhere"
    assert manager.manager().writable() is None


@pytest.mark.slow
def test_the_server_is_a_service_beside_the_daemon(world, programs, monkeypatch):
    """If it is asked for; its log never has the token. It is stopped, started and removed with the daemon."""
    own = world.unit.with_name("katod-serve.service")
    world.cli("service", "install")
    assert not own.exists()
    said = world.cli("service", "install", "--serve", "--strict")
    assert f"wrote {own}\n`katod serve --url` prints" in said
    assert f'ExecStart="{programs.folder}/katod" "--config" "{world.config}" "serve" "--quiet"' in own.read_text()
    assert "Type=exec" in own.read_text()
    assert "AF_INET" in own.read_text()
    assert "AF_INET" not in world.unit.read_text()
    assert f"katod serve is running: {own}" in world.cli("service", "status")
    world.cli("service", "stop")
    world.cli("service", "start")
    assert {"--user stop katod-serve.service", "--user start katod-serve.service"} <= set(programs.begun())
    assert f"removed {own}\nremoved {world.unit}" in world.cli("service", "uninstall")
    monkeypatch.setattr(sys, "platform", "darwin")
    world.cli("service", "install", "--serve")
    assert (world.home / "Library/LaunchAgents/katod-serve.plist").exists()


def test_a_named_configuration_is_the_services(world, programs):
    """`--config` is written into the unit."""
    other = world.home / "other.toml"
    other.write_text("")
    assert f'"--config" "{other}" "run"' in world.cli("--config", str(other), "service", "install", "--print")


def test_a_file_of_somebody_else_is_left_alone(world, programs):
    """A unit without katod's line is neither replaced nor removed, and a link is not followed."""
    world.unit.parent.mkdir(parents=True)
    world.unit.write_text("[Service]\n")
    for command in ("install", "uninstall"):
        world.cli("service", command, code=1)
        assert "not written by katod" in world.said
    world.unit.unlink()
    other = world.home / "other"
    other.write_text("x")
    world.unit.symlink_to(other)
    world.cli("service", "install", code=1)
    assert other.read_text() == "x"


def test_a_wrong_configuration_is_told_at_once(world, programs):
    """It is not left to a log to say so."""
    world.config.write_text("[outptu]\n")
    world.cli("--config", str(world.config), "service", "install", code=1)
    assert "unknown" in world.said
    assert programs.asked() == []


def test_a_katod_in_a_terminal_comes_first(world, programs):
    """Only one katod can run: the other has to be stopped by whoever started it."""
    lock = Lock.take(world.state)
    world.cli("service", "install", code=1)
    lock.release()
    assert f"running in a terminal (PID {os.getpid()})" in world.said
    assert not world.unit.exists()


def test_one_that_does_not_start_says_why(world, programs):
    """The last line of the log is the reason."""
    (programs.folder / "broken").touch()
    world.cli("service", "install", code=1)
    assert world.said == "katod did not start: the last line of the log"


def test_it_is_removed_without_a_trace(world, programs):
    """The unit is stopped, disabled and removed; transcripts and state stay, and the output says where."""
    world.cli("service", "install", "--strict")
    before = len(programs.begun())
    said = world.cli("service", "uninstall")
    assert programs.begun()[before:] == ["--user disable --now katod.service", "--user daemon-reload"]
    assert list(world.unit.parent.iterdir()) == []
    assert str(world.state) in said
    assert "not installed" in world.cli("service", "uninstall")


def test_it_is_installed_where_the_manager_looks(world, programs, monkeypatch):
    """A shell may have another XDG_CONFIG_HOME: the unit is where systemd sees it, and no other one is left."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(world.home / "conf"))
    unseen = world.home / "conf/systemd/user/katod.service"
    unseen.parent.mkdir(parents=True)
    unseen.write_text(f"# {MARKER}\n")
    assert f"wrote {world.unit}" in world.cli("service", "install", "--strict")
    assert "XDG_CONFIG_HOME=" in world.unit.read_text()
    assert not unseen.exists()
    assert "PID 42" in world.cli("service", "status")
    world.cli("service", "uninstall")
    assert list(world.unit.parent.iterdir()) == []


def test_one_directory_of_two_names_has_one_unit(world, programs, monkeypatch):
    """Such as of a person who keeps ~/.config elsewhere: what was written is not removed as another one."""
    (world.home / "dotfiles").mkdir()
    shutil.rmtree(world.home / ".config", ignore_errors=True)
    (world.home / ".config").symlink_to(world.home / "dotfiles")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(world.home / "dotfiles"))
    for _ in range(2):
        world.cli("service", "install")
        assert world.unit.exists()
    world.cli("service", "uninstall")
    assert not world.unit.exists()


def test_one_that_cannot_be_enabled_leaves_no_file(world, programs):
    """It would be taken for an installed service."""
    (programs.folder / "refuses").touch()
    world.cli("service", "install", "--strict", code=1)
    assert "does not exist" in world.said
    assert list(world.unit.parent.iterdir()) == []


def test_it_is_removed_even_if_it_cannot_be_disabled(world, programs):
    """A katod that still runs then is an error; the file is removed with both."""
    for is_up in (False, True):
        world.cli("service", "install")
        (programs.folder / "refuses").touch()
        if not is_up:
            (programs.folder / "up").unlink()
        world.cli("service", "uninstall", code=int(is_up))
        assert ("still running" in world.said) is is_up
        assert not world.unit.exists()
        (programs.folder / "refuses").unlink()


def test_a_manager_that_does_not_answer_is_left_soon(world, programs, monkeypatch):
    """A question has a few seconds; what it is to do may take longer."""
    monkeypatch.setattr(manager, "_PATIENCE_FOR_ANSWERS", 0.1)
    programs.write("systemctl", "#!/bin/sh\nexec sleep 60\n")
    programs.write("loginctl", "#!/bin/sh\nexec sleep 60\n")
    begun = time.monotonic()
    world.cli("service", "status", code=1)
    assert "systemd does not run user services here" in world.said
    assert manager.lingers() is None
    assert time.monotonic() - begun < 5


def test_a_process_id_that_is_none_is_unknown(world, programs):
    """Whatever the manager says in its place."""
    world.cli("service", "install")
    programs.write("systemctl", SYSTEMCTL.replace("MainPID=42", "MainPID=²"))
    assert "katod is running (PID 0)" in world.cli("service", "status")


def test_a_variable_that_is_not_utf_8_is_named(world, programs, monkeypatch):
    """A unit cannot have it."""
    monkeypatch.setenv("CODEX_HOME", "/elsewhere/\udcff")
    world.cli("service", "install", code=1)
    assert "CODEX_HOME is not UTF-8" in world.said


def test_it_is_started_stopped_and_restarted(world, programs):
    """Each command says how things are then."""
    world.cli("service", "start", code=1)
    assert "not installed as a service" in world.said
    world.cli("service", "install")
    assert "is stopped" in world.cli("service", "stop")
    assert "not running (inactive: success)" in world.cli("service", "status", code=1)
    assert "PID 42" in world.cli("service", "start")
    assert "PID 42" in world.cli("service", "restart")


def test_status_compares_the_versions(world, programs):
    """The unit's own program is asked: after an upgrade it may be another one, or gone."""
    world.cli("service", "install")
    said = world.cli("service", "status")
    assert f"{world.unit}: {programs.folder}/katod --config {world.config} run" in said
    assert "install` again" not in said
    programs.write("katod", '#!/bin/sh\necho "katod, version 0.0.1"\n')
    assert "the service has version 0.0.1" in world.cli("service", "status")
    (programs.folder / "katod").unlink()
    assert "cannot be started" in world.cli("service", "status")


def test_status_says_that_a_restart_is_due(world, programs, monkeypatch):
    """The process is older than the program: it was upgraded since."""
    world.cli("service", "install")
    world.state.mkdir(exist_ok=True)
    row = {"pid": 42, "version": "0.0.1"}
    (world.state / running.NAME).write_text(json.dumps(row))
    said = world.cli("service", "status")
    assert f"version 0.0.1 is running, {__version__} is installed: run `katod service restart`" in said
    (world.state / running.NAME).write_text(json.dumps(row | {"pid": 43}))
    assert "restart" not in world.cli("service", "status")


def test_without_systemd_it_says_what_to_do(world, programs, monkeypatch):
    """No bus, as in a container; a machine without systemd; and Windows' Linux, where it can be switched on."""
    (programs.folder / "down").touch()
    world.cli("service", "install", code=1)
    assert "systemd does not run user services here" in world.said
    assert not world.unit.exists()
    monkeypatch.setenv("PATH", "/nowhere")
    world.cli("service", "status", code=1)
    assert "this machine has no systemd" in world.said
    monkeypatch.setattr(manager, "_read", lambda path: b"Linux version 5.15-microsoft-standard-WSL2")
    with pytest.raises(ServiceError) as raised:
        manager.manager()
    assert "/etc/wsl.conf" in raised.value.hint


@pytest.mark.parametrize("place", ["container", "other", "WSL"])
def test_the_advice_without_systemd_starts_what_records(monkeypatch, place):
    """The server of the page records nothing, so `katod serve` is no advice for a daemon that does not run."""
    monkeypatch.setattr(manager, "_read", lambda _: b"Linux version 5.15-microsoft" if place == "WSL" else b"Linux")
    monkeypatch.setattr(manager.Path, "exists", lambda path: place == "container" and path.name == ".dockerenv")
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(ServiceError) as raised:
        manager.manager()
    assert "katod serve" not in raised.value.hint
    assert ("`katod run`" in raised.value.hint) is (place != "WSL")


def test_launchd_is_told_by_a_property_list(world, programs, monkeypatch):
    """On macOS the agent is loaded, asked, restarted and unloaded."""
    monkeypatch.setattr(sys, "platform", "darwin")
    path = world.home / "Library/LaunchAgents/katod.plist"
    assert f"wrote {path}\nkatod is running (PID 42)\n" in world.cli("service", "install")
    user = f"gui/{os.getuid()}"
    assert programs.begun() == [f"bootout {user}/katod", f"enable {user}/katod", f"bootstrap {user} {path}"]
    assert "PID 42" in world.cli("service", "restart")
    world.cli("service", "stop")
    assert "not running (not loaded)" in world.cli("service", "status", code=1)
    assert "PID 42" in world.cli("service", "restart")
    world.cli("service", "stop")
    assert "PID 42" in world.cli("service", "start")
    world.cli("service", "install", "--strict", code=1)
    assert "cannot restrict" in world.said
    world.cli("service", "uninstall")
    assert not path.exists()
