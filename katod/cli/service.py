"""`katod service`: katod in the background, started when the user logs in."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Final

import click

from katod import __version__
from katod.agents import AGENTS
from katod.cli.context import Context
from katod.cli.groups import Group
from katod.cli.printing import say, say_as_it_is
from katod.cli.serve import require_extra
from katod.config import written_directories
from katod.discover.roots import find_roots
from katod.errors import ServiceError
from katod.service.launch import SERVER, Launch
from katod.service.lock import holder
from katod.service.manager import Manager, ServiceState, lingers, manager
from katod.service.program import environment, installed_program, version_of
from katod.service.running import running_version

_NOT_RUNNING: Final = 1  # exit code


@click.group(cls=Group)
def service() -> None:
    """Run katod in the background, whenever you are logged in."""


@service.command()
@click.option("--print", "only_print", is_flag=True, help="Print the files without writing them.")
@click.option("--strict", is_flag=True, help="Let katod write only to its own directories (systemd).")
@click.option("--serve", "with_server", is_flag=True, help="Also keep `katod serve` running.")
@click.pass_obj
def install(context: Context, only_print: bool, strict: bool, with_server: bool) -> None:
    """Start katod now and at every login. Run this again after changing an agent's environment variables."""
    settings = context.settings  # an invalid configuration fails here, where the user sees it
    launch = _launch(context)
    found = manager()
    server = replace(launch, network=True, serves=True)
    writable = written_directories(settings, context.state) if strict else None
    of_server = [str(context.state)] if strict else None
    if only_print:
        texts = [*found.texts(launch, writable), *(manager(SERVER).texts(server, of_server) if with_server else ())]
        say_as_it_is("\n\n".join(text.rstrip("\n") for text in texts))
        return
    _check_possible(context, found, with_server=with_server)
    for path in writable or ():
        Path(path).mkdir(mode=0o700, parents=True, exist_ok=True)  # what is missing cannot be made writable
    found.install(launch, writable)
    say_as_it_is(f"wrote {found.path}")
    _say_state(found.state())
    if with_server:
        _install_server(server, of_server)
    if lingers() is False:
        say("It stops when you log out. To keep it running: loginctl enable-linger")


def _launch(context: Context) -> Launch:
    """Return how the service starts katod as it is called and configured now."""
    settings, named, program = context.settings, _named_config(context), installed_program()
    read: list[str | Path] = [program, context.config_path, *(root.path for root in find_roots(settings, AGENTS))]
    needed = [*read, *written_directories(settings, context.state), *map(os.path.expanduser, settings.archive.folders)]
    needs = tuple(os.path.realpath(path) for path in needed)
    kept = environment(_variables())
    for name, value in {"the path of katod": program, "the path of the configuration": named, **kept}.items():
        if not value.isprintable() and value != value.encode("utf-8", "replace").decode():
            raise ServiceError(f"{name} is not UTF-8, as it has to be for the service manager", hint="change its name")
    return Launch(program, named, kept, settings.delivers, needs=needs)


def _install_server(launch: Launch, writable: list[str] | None) -> None:
    """Keep `katod serve` running, too."""
    found = manager(SERVER)
    found.install(launch, writable)
    say_as_it_is(f"wrote {found.path}")
    say("`katod serve --url` prints the address of your sessions, including the token")


@service.command()
@click.pass_obj
def uninstall(context: Context) -> None:
    """Stop katod and remove the service. Transcripts and state stay."""
    found = manager()
    removed = [one.path for one in (manager(SERVER), found) if one.uninstall()]
    if not removed:
        say("katod is not installed as a service")
        return
    for path in removed:
        say_as_it_is(f"removed {path}")
    say_as_it_is(f"Your transcripts stay, and so does the state in {context.state}")


@service.command()
def start() -> None:
    """Start katod."""
    for found in [_installed(), *_server()]:
        found.start()
    _say_state(manager().state())


@service.command()
def stop() -> None:
    """Stop katod until the next login. Anything said meanwhile is recorded at the next start."""
    for found in [_installed(), *_server()]:
        found.stop()
    say("katod is stopped until you log in again, or run `katod service start`")


@service.command()
def restart() -> None:
    """Restart katod after its current step."""
    for found in [_installed(), *_server()]:
        found.restart()
    _say_state(manager().state())


@service.command()
@click.pass_obj
def status(context: Context) -> None:
    """Show whether the service is running, and its version. The exit code is 1 if it is not."""
    found = manager()
    now = found.state()
    _say_state(now)
    command = found.command() if now.installed else []
    if command:
        say(f"  {found.path}: {' '.join(command)}")
        _compare(version_of(command[0]), running_version(context.state, now.pid))
    for server in _server():
        say(f"katod serve is {'running' if server.state().running else 'not running'}: {server.path}")
    if not now.running:
        sys.exit(_NOT_RUNNING)


@service.command()
@click.option("-f", "--follow", is_flag=True, help="Print new lines until Ctrl-C.")
@click.option(
    "-n", "--lines", default=50, show_default=True, type=click.IntRange(1), help="How many of the last lines to print."
)
def logs(follow: bool, lines: int) -> None:
    """Print the log of the service."""
    command = _installed().logs(lines, follow=follow)
    try:
        sys.exit(subprocess.run(command, check=False).returncode)  # noqa: S603 - a fixed program
    except FileNotFoundError as error:
        raise ServiceError(f"{command[0]} is not installed") from error
    except KeyboardInterrupt:
        return


def _installed() -> Manager:
    found = manager()
    if not found.path.exists():
        raise ServiceError("katod is not installed as a service", hint="run `katod service install`")
    return found


def _server() -> list[Manager]:
    """Return the service of `katod serve`, if it is installed."""
    return [found] if (found := manager(SERVER)).path.exists() else []


def _say_state(now: ServiceState) -> None:
    if now.running:
        detail = f", {now.detail}" if now.detail else ""
        say(f"katod is running (PID {now.pid}){detail}{'' if now.at_login else '; it does not start when you log in'}")
    elif now.installed:
        say(f"katod is not running ({now.detail or 'stopped'}): run `katod service logs` to see why")
    else:
        say("katod is not installed as a service: run `katod service install`")


def _check_possible(context: Context, found: Manager, *, with_server: bool) -> None:
    """Raise ServiceError or ServeError if there can be no service, or katod runs already, but not as the service."""
    if with_server:
        require_extra()
    found.check_reachable()
    pid = holder(context.state)
    if pid is not None and not (found.path.exists() and found.state().running):
        raise ServiceError(f"katod is running in a terminal (PID {pid})", hint="stop it with Ctrl-C first")


def _named_config(context: Context) -> str:
    """Return the configuration that was named for this call, empty for the one that katod finds by itself."""
    return os.path.abspath(context.config_path) if context.is_named else ""


def _variables() -> list[str]:
    """Return the environment variables that agents read."""
    return [name for spec in AGENTS.values() for name in spec.variables]


def _compare(version: str, running: str) -> None:
    """Compare the versions of the program and of the process, which is empty if it is not known, with this one."""
    if not version:
        say("  this program cannot be started: run `katod service install` again")
    elif version != __version__:
        say(f"  the service has version {version}, this is {__version__}: run `katod service install` again")
    elif running not in ("", version):
        say(f"  version {running} is running, {version} is installed: run `katod service restart`")
