"""Whether katod runs, whether it is a service, and whether that service is the one that was meant."""

import os
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Final

from katod import __version__
from katod.agents import AGENTS
from katod.config import config_path, data_path, local_zone, seal_key_path, state_path, written_directories
from katod.doctor import state
from katod.doctor.case import Case
from katod.doctor.findings import Finding, ok, problem, warning
from katod.errors import ServiceError
from katod.service import home
from katod.service.desktop import failure
from katod.service.lock import holder
from katod.service.manager import Manager, ServiceState, lingers, manager
from katod.service.pause import UNREADABLE, paused_since
from katod.service.program import environment_of, location_names, locations, under, version_of
from katod.service.running import running_version
from katod.service.sandbox import Sandbox, sandbox
from katod.store.statefolder import trouble_with

_AGAIN: Final = "run `katod service install` again"
# Where katod has its own directories, by the variables that name them; agents have others.
_NAMES_DIRECTORY: Final[dict[str, tuple[Callable[[], Path], ...]]] = {
    "KATOD_STATE_DIR": (state_path,), "XDG_STATE_HOME": (state_path,),
    "KATOD_DATA_DIR": (data_path,), "XDG_DATA_HOME": (data_path,),
    "XDG_CONFIG_HOME": (config_path, seal_key_path),
}  # fmt: skip
_FIRST: Final = "first, repair the state directory; then "
_INSTALL: Final = "run `katod service install`"
_CHANGE: Final = "to start it at login, stop it, then run `katod service install`"


def examine(case: Case) -> Iterator[Finding]:
    """Yield what is found about the daemon, and about the service if one is installed."""
    yield from state.examine(case)
    pid = holder(case.state)
    if case.settings.recording.notify and (reason := failure()):
        yield _silent(reason, wanted=case.settings.recording.notify is True)
    if moved := home.moved(case.state):
        yield warning("daemon.home", f"{case.state}: {moved}", home.ADVICE)
    trouble = trouble_with(case.state)
    if (since := paused_since(case.state)) and (trouble is None or since != UNREADABLE):
        yield warning("daemon.paused", "katod is paused: it records nothing", "run `katod pause --end`")
    first = "" if trouble is None else _FIRST
    try:
        found = manager()
        now = found.state()
    except ServiceError as error:
        yield _alone(pid, str(error), f"{first}{error.hint}", "")
        yield from _old(case, pid, "restart it")
        yield from _own_variables(pid)
        return
    if not now.installed:
        yield _alone(pid, "", f"{first}{_INSTALL}", _CHANGE)
        yield from _old(case, pid, "restart it")
        yield from _own_variables(pid)
        return
    yield _running(pid, now, first)
    yield from _old(case, pid, "run `katod service restart`")
    yield from _service(case, found, now)


def _silent(reason: str, *, wanted: bool) -> Finding:
    """Return what it means that no desktop takes notifications: only a warning if it was asked for."""
    if wanted:
        what = f"desktop notifications cannot be shown: {reason}"
        return warning("daemon.notifications", what, "start a notification server, or set `recording.notify` to false")
    return ok("daemon.notifications", f"news is in `katod status`, not in desktop notifications ({reason})")


def _alone(pid: int | None, why: str, start: str, change: str) -> Finding:
    """Return whether katod runs without being a service: why it is none, how to start it, and how to make it one."""
    reason = f" ({why})" if why else ""
    if pid is None:
        return problem("daemon.running", f"katod is not running{reason}", start, running=False, service=False)
    what = f"katod is running (PID {pid or '?'}), not as a service{reason}"
    return ok("daemon.running", what, change, running=True, pid=pid, service=False)


def _running(pid: int | None, now: ServiceState, first: str) -> Finding:
    if pid is None:
        what = f"katod is installed as a service, but is not running ({now.detail or 'stopped'})"
        advice = f"{first}run `katod service start`; `katod service logs` shows why it stopped"
        return problem("daemon.running", what, advice, running=False, service=True)
    if not now.running or (pid and now.pid and pid != now.pid):
        what = f"katod is running (PID {pid or '?'}), but not as the installed service"
        advice = f"end that process, then run `katod service start` (the service: {now.detail or 'stopped'})"
        return problem("daemon.running", what, advice, running=True, pid=pid, service=False)
    return ok(
        "daemon.running", f"katod is running as a service (PID {pid or '?'})", running=True, pid=pid, service=True
    )


def _old(case: Case, pid: int | None, advice: str) -> Iterator[Finding]:
    """Yield that the katod that runs is not the one that is installed: it was upgraded since."""
    version = running_version(case.state, pid)
    if version and version != __version__:
        what = f"the running katod has version {version}, this is {__version__}"
        yield problem("daemon.version", what, advice, running=version, this=__version__)


# -- the service that is installed ----------------------------------------------------------------


def _service(case: Case, found: Manager, now: ServiceState) -> Iterator[Finding]:
    if not now.at_login:
        advice = "run `katod service install` again, unless this is intended"
        yield warning("daemon.login", "the service does not start when you log in", advice)
    elif lingers() is False:
        advice = "to keep it running: loginctl enable-linger"
        yield ok(
            "daemon.login", "the service starts when you log in, and stops when you log out", advice, lingers=False
        )
    of_unit = found.environment()
    kept = (environment_of(now.pid) if now.pid else None) or of_unit
    yield from _program(found)
    yield from _configuration(case, found, kept)
    yield from _variables(kept, of_manager=set(kept) - set(of_unit))
    yield from _restrictions(case, found.writable(), now.pid)
    if case.settings.delivers and not found.has_network():
        what = "the unit does not allow network connections, which delivering recordings needs"
        yield problem("daemon.network", what, _AGAIN)


def _program(found: Manager) -> Iterator[Finding]:
    """Yield whether the program of the service can be started, and is of this version."""
    command = found.command()
    if not command:
        yield problem("daemon.program", f"{found.path} has no command", _AGAIN, path=str(found.path))
        return
    version = version_of(command[0])
    data = {"program": command[0], "version": version, "this": __version__}
    if not version:
        yield problem("daemon.program", f"the service's program {command[0]} cannot be started", _AGAIN, **data)
    elif version != __version__:
        what = f"the service has version {version}, this is {__version__}"
        yield problem("daemon.program", what, f"{_AGAIN}; after an upgrade, `katod service restart`", **data)
    else:
        yield ok("daemon.program", f"the service starts this version ({version})", **data)


def _configuration(case: Case, found: Manager, kept: dict[str, str]) -> Iterator[Finding]:
    """Yield whether the service has another configuration than this command; a default one follows the variables."""
    command = found.command()
    named = command[command.index("--config") + 1] if "--config" in command[:-1] else kept.get("KATOD_CONFIG", "")
    theirs = named or under(kept, ["XDG_CONFIG_HOME", "KATOD_CONFIG"], config_path)
    if (named or case.config) and os.path.realpath(theirs) != os.path.realpath(case.config or config_path()):
        what = (
            f"the service uses {named or 'the default configuration'}, this command {case.config or 'the default one'}"
        )
        advice = "set KATOD_CONFIG or `--config` to the same file in both, and run `katod service install` again"
        yield problem("daemon.config", what, advice, service=named, here=case.config)


def _own_variables(pid: int | None) -> Iterator[Finding]:
    """Yield what `_variables` does for a katod that runs without being a service, where that can be seen."""
    kept = environment_of(pid) if pid else None
    if kept is not None:
        yield from _variables(kept, "the running katod", "restart it")


def _variables(
    kept: dict[str, str], whose: str = "the service", again: str = _AGAIN, of_manager: Collection[str] = ()
) -> Iterator[Finding]:
    """Yield the variables that say where things are, and lead elsewhere for katod than in this shell."""
    agents = _agents_variables()
    here, names = locations(agents), location_names(agents)
    differing = [name for name in names if here.get(name, "") != kept.get(name, "") and _leads_elsewhere(name, kept)]
    for name in differing:
        ours, theirs = here.get(name, ""), kept.get(name, "")
        what = f"{name} is {ours or 'not set'} here, but {theirs or 'not set'} for {whose}"
        advice = f"{again} in a shell where it is set correctly"
        if not ours and name in of_manager:
            advice = f"set it here, too, or run `systemctl --user unset-environment {name}` and `katod service restart`"
        yield problem("daemon.variable", what, advice, name=name, here=ours, service=theirs)
    if not differing:
        yield ok("daemon.variable", f"{whose} has the environment variables of this shell")


def _agents_variables() -> list[str]:
    return [name for spec in AGENTS.values() for name in spec.variables]


def _leads_elsewhere(name: str, kept: dict[str, str]) -> bool:
    """Return whether a variable, which is not the same for katod, makes a difference: it may name the default."""
    agents = _agents_variables()
    if name == "TZ":
        return local_zone() != under(kept, [name], local_zone)
    if name not in (*_NAMES_DIRECTORY, *agents):
        return True
    ours, theirs = _places(name), under(kept, location_names(agents), lambda: _places(name))
    differing = ours ^ theirs
    return any(map(os.path.lexists, differing)) if ours & theirs else bool(differing)


def _places(name: str) -> set[str]:
    """Return the real paths that a variable has a part in: katod's own, and the roots of agents."""
    roots = [root for spec in AGENTS.values() if name in spec.variables for root in spec.roots()]
    return {os.path.realpath(path) for path in [*roots, *(place() for place in _NAMES_DIRECTORY.get(name, ()))]}


def _restrictions(case: Case, writable: list[str] | None, pid: int) -> Iterator[Finding]:
    """Yield whether the restrictions of the unit take effect, and whether they leave katod what it has to write."""
    seen = sandbox(pid) if pid else Sandbox()
    if seen.hardened is not None:
        yield _hardened(takes_effect=seen.hardened)
    if writable is None:
        return
    if seen.confined is not None:
        yield _strict(takes_effect=seen.confined)
    for path in map(Path, written_directories(case.settings, case.state)):
        if not any(path.is_relative_to(above) for above in writable):
            what = f"the unit (--strict) does not let katod write to {path}"
            yield problem("daemon.writable", what, "run `katod service install --strict` again", path=str(path))


def _hardened(*, takes_effect: bool) -> Finding:
    if takes_effect:
        return ok(
            "daemon.restricted", "the restrictions of the unit are in effect: no new privileges, filtered system calls"
        )
    advice = "see `systemctl --user status katod`; katod still checks every path that it writes to"
    return warning("daemon.restricted", "the restrictions of the unit are not in effect", advice)


def _strict(*, takes_effect: bool) -> Finding:
    if takes_effect:
        return ok("daemon.strict", "--strict is in effect: the service can write only to its own directories")
    advice = (
        "this system does not support namespaces for user services; katod still checks every path that it writes to"
    )
    return problem("daemon.strict", "--strict is not in effect: the service can write wherever you can", advice)
