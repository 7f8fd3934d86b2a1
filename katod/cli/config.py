"""`katod config`: the configuration file."""

import os
from contextlib import suppress
from importlib.resources import files
from pathlib import Path
from typing import Final

import click

from katod import config as settings_module
from katod.agents import AGENTS
from katod.cli.context import Context
from katod.cli.groups import Group
from katod.cli.layout import line
from katod.cli.layout import show as show_lines
from katod.cli.printing import say, say_as_it_is
from katod.discover.roots import find_roots
from katod.errors import ConfigError
from katod.localzone import machine_zone
from katod.project.allowed import Allowed, look, places
from katod.record.policy import Policy
from katod.smallfile import create_small, read_small

_NAME = "katod.toml"
_UNKNOWN_ZONE: Final = (
    "katod: the time zone of this machine is not known, so that all times are in UTC: set `TZ` to a name such as"
    " Europe/Berlin; for transcripts and searches alone, set `output.time_zone`"
)


@click.group(cls=Group)
def config() -> None:
    """Write, show and check the configuration."""


@config.command()
@click.pass_obj
def path(context: Context) -> None:
    """Print the path of the configuration file."""
    say_as_it_is(context.config_path)


@config.command()
@click.pass_obj
def init(context: Context) -> None:
    """Write the default configuration, with comments. Existing files are never overwritten."""
    target = context.config_path
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        create_small(target, default_config(), 0o600)
    except FileExistsError:
        raise ConfigError("already exists", path=target, hint="edit it, then run `katod config check`") from None
    say(f"wrote {target}")


@config.command()
@click.pass_obj
def show(context: Context) -> None:
    """Print the configuration file, or the defaults if there is none.

    What the project's `.katod.toml` changes, or why it has no effect, is printed on standard error.
    """
    try:
        data = read_small(context.config_path, settings_module.LARGEST)
    except FileNotFoundError:
        data = default_config()
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", path=context.config_path) from error
    click.echo(data.decode("utf-8", "replace"), nl=False)
    with suppress(OSError):  # the current directory may no longer exist
        _say_of_project(context)


def _say_of_project(context: Context) -> None:
    try:
        known = Allowed(context.state).read()
    except ConfigError as error:
        say(f"katod: {error} ({error.hint})", err=True)
        return
    for path in places(os.getcwd(), Path.home()):
        found = look(path, known)
        if found is not None:
            said = f"{found.problem} ({found.advice})" if found.problem else "; ".join(found.changes)
            show_lines([line(f"{path}: {said}")], err=True)


@config.command()
@click.pass_obj
def check(context: Context) -> None:
    """Validate the configuration and report the first error."""
    target = context.config_path
    settings = settings_module.load(target, required=context.is_named)
    if refused := Policy.here(settings, find_roots(settings, AGENTS), context.state).refused_output():
        what = f"`output.directory` cannot be written to: {refused}"
        raise ConfigError(what, path=target, hint="set it to another place")
    say(f"{target}: valid" if target.exists() else f"{target}: not found, using defaults")
    if settings.output.time_zone == "local" and not machine_zone():
        say(_UNKNOWN_ZONE, err=True)


def default_config() -> bytes:
    """Return the commented default configuration, from the wheel or from a checkout."""
    return data_file(_NAME, Path("config") / _NAME)


def data_file(packaged: str, in_checkout: Path) -> bytes:
    """Return a file that a wheel has inside the package, and a checkout beside it."""
    resource = files("katod") / "_data" / packaged
    if resource.is_file():
        return resource.read_bytes()
    return (Path(__file__).parents[2] / in_checkout).read_bytes()
