"""The daemon and its service: does it run, as what, and does the unit fit?"""

import os
from pathlib import Path

import pytest

from katod import __version__
from katod.config import config_path
from katod.doctor import daemon
from katod.doctor.daemon import examine
from katod.errors import ServiceError
from katod.service import running
from katod.service.lock import Lock
from katod.service.manager import ServiceState
from katod.service.sandbox import Sandbox

PROGRAM = "/home/me/.local/bin/katod"


class Installed:
    """A service manager with a service of katod's that fits."""

    path = Path("/home/me/.config/systemd/user/katod.service")
    network = False

    def __init__(self, now, variables):
        self.now, self.variables, self.arguments, self.directories = now, variables, [PROGRAM, "run"], None

    def state(self):
        return self.now

    def command(self):
        return self.arguments

    def environment(self):
        return self.variables

    def has_network(self):
        return self.network

    def writable(self):
        return self.directories


@pytest.fixture
def service(home, monkeypatch):
    """Return a manager; katod runs as its service."""
    now = ServiceState(installed=True, at_login=True, running=True, pid=os.getpid(), detail="following 3 sessions")
    found = Installed(now, {"KATOD_STATE_DIR": str(home.state), "LANG": "C.UTF-8"})
    monkeypatch.setattr(daemon, "manager", lambda: found)
    monkeypatch.setattr(daemon, "version_of", lambda _: __version__)
    monkeypatch.setattr(daemon, "lingers", lambda: None)
    monkeypatch.setattr(daemon, "environment_of", lambda _: None)
    monkeypatch.setattr(daemon, "sandbox", lambda _: Sandbox())
    lock = Lock.take(home.state)
    yield found
    lock.release()


def test_without_a_manager_katod_may_run_by_itself(home):
    """Running is all that counts; if it does not run, the advice is that of the machine."""
    finding = home.examined(examine)["daemon.running"]
    assert (finding.level, finding.text) == ("problem", "katod is not running (this machine has no systemd)")
    assert "katod run" in finding.advice
    lock = Lock.take(home.state)
    finding = home.examined(examine)["daemon.running"]
    lock.release()
    assert (finding.level, finding.advice) == ("ok", "")
    assert finding.data == {"running": True, "pid": os.getpid(), "service": False}


@pytest.mark.parametrize("running", [True, False])
def test_without_a_service_it_says_how_to_install_one(home, monkeypatch, running):
    """Running in a terminal is no problem."""
    monkeypatch.setattr(daemon, "manager", lambda: Installed(ServiceState(installed=False), {}))
    monkeypatch.setattr(daemon, "holder", lambda _: 42 if running else None)
    finding = home.examined(examine)["daemon.running"]
    assert finding.level == ("ok" if running else "problem")
    assert "`katod service install`" in finding.advice


def test_a_service_that_fits_is_fine(home, service, monkeypatch):
    """Nothing is to be done."""
    monkeypatch.setattr(daemon, "failure", lambda: "D-Bus is missing")
    found = home.examined(examine)
    assert {finding.level for finding in found.values()} == {"ok"}
    assert set(found) == {"daemon.running", "daemon.program", "daemon.variable", "daemon.notifications"}


def test_a_service_that_does_not_run_is_a_problem(home, service, monkeypatch):
    """What the manager says is passed on."""
    monkeypatch.setattr(daemon, "holder", lambda _: None)
    service.now = ServiceState(installed=True, at_login=True, detail="failed: exit-code")
    finding = home.examined(examine)["daemon.running"]
    assert finding.level == "problem"
    assert "(failed: exit-code)" in finding.text


@pytest.mark.parametrize("now", [ServiceState(installed=True), ServiceState(installed=True, running=True, pid=1)])
def test_another_process_is_not_the_service(home, service, now):
    """Katod in a terminal keeps the service from starting."""
    service.now = now
    assert "but not as the installed service" in home.examined(examine)["daemon.running"].text


def test_a_manager_that_refuses_is_no_failure(home, monkeypatch):
    """Its reason and hint are shown."""

    def refuse():
        raise ServiceError("systemd does not run user services here", hint="let your session start it")

    monkeypatch.setattr(daemon, "manager", refuse)
    finding = home.examined(examine)["daemon.running"]
    assert (finding.level, finding.advice) == ("problem", "let your session start it")


def test_when_it_starts_and_stops_is_said(home, service, monkeypatch):
    """Not at login is a warning; stopping at logout is only said."""
    monkeypatch.setattr(daemon, "lingers", lambda: False)
    assert home.examined(examine)["daemon.login"].level == "ok"
    service.now = ServiceState(installed=True, running=True, pid=os.getpid())
    assert home.examined(examine)["daemon.login"].level == "warning"


@pytest.mark.parametrize(("version", "said"), [("0.0.1", "has version 0.0.1"), ("", "cannot be started")])
def test_another_program_than_this_one_is_a_problem(home, service, monkeypatch, version, said):
    """After an upgrade elsewhere, or when the environment is gone."""
    monkeypatch.setattr(daemon, "version_of", lambda _: version)
    finding = home.examined(examine)["daemon.program"]
    assert finding.level == "problem"
    assert said in finding.text
    assert finding.data == {"program": PROGRAM, "version": version, "this": __version__}
    service.arguments = []
    assert "has no command" in home.examined(examine)["daemon.program"].text


def test_a_katod_that_was_upgraded_but_not_restarted_is_a_problem(home, service, monkeypatch):
    """The program on the disk is not what runs; as a service, or alone."""
    monkeypatch.setattr(running, "__version__", "0.0.1")
    running.note(home.state)
    finding = home.examined(examine)["daemon.version"]
    assert (finding.level, finding.advice) == ("problem", "run `katod service restart`")
    assert finding.data == {"running": "0.0.1", "this": __version__}
    service.now = ServiceState(installed=False)
    assert home.examined(examine)["daemon.version"].advice == "restart it"
    monkeypatch.setattr(running, "__version__", __version__)
    running.note(home.state)
    assert "daemon.version" not in home.examined(examine)


def test_another_configuration_is_a_problem(home, service):
    """What is examined here is not what the service uses."""
    service.arguments = [PROGRAM, "--config", "/a.toml", "run"]
    assert home.examined(examine)["daemon.config"].data == {"service": "/a.toml", "here": ""}
    assert "daemon.config" not in home.examined(examine, config="/a.toml")


def test_variables_that_differ_are_problems(home, service, monkeypatch):
    """Set here only, set there only, or set to something else; locale and other variables do not matter."""
    monkeypatch.setenv("CODEX_HOME", "/here")
    monkeypatch.setenv("SECRET_TOKEN", "x")
    service.variables |= {"CODEX_HOME": "/there", "ZOT_HOME": "/z", "LANG": "de_DE.UTF-8"}
    monkeypatch.setenv("PI_CODING_AGENT_DIR", "/p")
    found = [finding for finding in examine(home.case()) if finding.check == "daemon.variable"]
    assert {finding.data["name"] for finding in found} == {"CODEX_HOME", "ZOT_HOME", "PI_CODING_AGENT_DIR"}
    assert {finding.level for finding in found} == {"problem"}
    assert "CODEX_HOME is /here here, but /there for the service" in [finding.text for finding in found]
    assert "ZOT_HOME is not set here, but /z for the service" in [finding.text for finding in found]


def test_a_variable_that_names_the_default_makes_no_difference(home, service, monkeypatch, tmp_path):
    """Nor does another spelling of the same directory; set here or there alone."""
    link = tmp_path / "link"
    link.symlink_to(home.home)
    monkeypatch.setenv("CODEX_HOME", str(home.home / ".codex"))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(home.home / ".claude"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(link / ".config") + "/")
    service.variables |= {"XDG_DATA_HOME": str(home.home / ".local" / "share"), "XDG_STATE_HOME": "~/.local/state/"}
    before = dict(os.environ)
    found = [finding for finding in examine(home.case()) if finding.check == "daemon.variable"]
    assert [finding.level for finding in found] == ["ok"], found
    assert dict(os.environ) == before
    (home.home / ".config" / "claude").mkdir(parents=True)
    found = [finding for finding in examine(home.case()) if finding.check == "daemon.variable"]
    assert [finding.data.get("name") for finding in found] == ["CLAUDE_CONFIG_DIR"]


def test_the_process_of_the_service_says_what_it_has(home, service, monkeypatch):
    """Its manager may give it variables that no unit has."""
    has = {"KATOD_STATE_DIR": str(home.state), "CODEX_HOME": "/alt"}
    monkeypatch.setattr(daemon, "environment_of", lambda _: has)
    found = home.examined(examine)["daemon.variable"]
    assert (found.level, found.data["name"], found.data["service"]) == ("problem", "CODEX_HOME", "/alt")
    assert "unset-environment CODEX_HOME" in found.advice
    monkeypatch.setenv("CODEX_HOME", "/alt")
    assert home.examined(examine)["daemon.variable"].level == "ok"
    has["KATOD_CONFIG"] = "/other.toml"
    assert home.examined(examine)["daemon.config"].data["service"] == "/other.toml"


def test_a_named_configuration_may_be_the_default_one(home, service, monkeypatch):
    """It is the same file."""
    monkeypatch.delenv("KATOD_CONFIG", raising=False)
    default = str(config_path())
    assert "daemon.config" not in home.examined(examine, config=default)
    service.arguments = [PROGRAM, "--config", default, "run"]
    assert "daemon.config" not in home.examined(examine)


def test_whether_restrictions_take_effect_is_said(home, service, monkeypatch):
    """As far as it can be seen; those of `--strict` only if they are installed."""
    for seen, levels in (
        (Sandbox(hardened=True, confined=True), ("ok", None)),
        (Sandbox(hardened=False, confined=False), ("warning", None)),
    ):
        monkeypatch.setattr(daemon, "sandbox", lambda _, seen=seen: seen)
        found = home.examined(examine)
        assert (found["daemon.restricted"].level, found.get("daemon.strict")) == levels
    service.directories = ["/"]
    assert home.examined(examine)["daemon.strict"].level == "problem"
    monkeypatch.setattr(daemon, "sandbox", lambda _: Sandbox(hardened=True, confined=True))
    assert home.examined(examine)["daemon.strict"].level == "ok"


def test_a_strict_unit_has_to_name_every_directory(home, service):
    """The output directory was changed after it was installed."""
    service.directories = [str(home.state), str(home.out)[:-1]]
    finding = home.examined(examine)["daemon.writable"]
    assert (finding.level, finding.data["path"]) == ("problem", str(home.out))
    service.directories = [str(home.home)]
    assert "daemon.writable" not in home.examined(examine)


def test_a_katod_that_looks_elsewhere_is_a_problem(home, monkeypatch):
    """It was started with other variables than this shell has: sessions that are listed here are not followed."""
    lock = Lock.take(home.state)
    monkeypatch.setattr(daemon, "environment_of", lambda _: {"KATOD_STATE_DIR": str(home.state)})
    assert home.examined(examine)["daemon.variable"].level == "ok"
    monkeypatch.setenv("CODEX_HOME", "/else")
    finding = home.examined(examine)["daemon.variable"]
    assert (finding.level, finding.data["name"]) == ("problem", "CODEX_HOME")
    assert "not set for the running katod" in finding.text
    lock.release()


def test_a_unit_that_forbids_connections_is_a_problem(home, service):
    """It was installed before recordings were to be delivered: to a room, or to a collector."""
    assert "daemon.network" not in home.examined(examine)
    room = {"homeserver": "https://example.org", "matrix.token_file": "/token", "room": "!r:example.org"}
    for settings in (room, {"otlp.endpoint": "https://example.org"}):
        service.network = False
        home.configure(**settings)
        assert home.examined(examine)["daemon.network"].level == "problem"
        service.network = True
        assert "daemon.network" not in home.examined(examine)


@pytest.mark.parametrize(("notify", "level"), [("true", "warning"), ('"auto"', "ok"), ("false", None)])
def test_a_desktop_that_is_missing_is_a_warning_where_one_is_wanted(home, monkeypatch, notify, level):
    """With "auto", none may be there, and it is only said."""
    monkeypatch.setattr(daemon, "failure", lambda: "D-Bus is missing")
    home.config.write_text(f"[recording]\nnotify = {notify}\n")
    found = home.examined(examine).get("daemon.notifications")
    assert (found and found.level) == level
    assert found is None or "D-Bus is missing" in found.text
