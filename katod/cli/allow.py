"""`katod allow`: what a project's own `.katod.toml` may change, with the user's consent."""

from collections.abc import Iterator
from pathlib import Path

import click

from katod.cli.context import Context
from katod.cli.layout import Line, line, show
from katod.errors import ConfigError
from katod.project.allowed import Allowed, look, nearest, places, read_project
from katod.project.form import NAME, ProjectFile, parse_project

_WHERE = "a project is a directory below your home directory"
_STAYS = (
    "Running recordings are not affected. If the file changes, you have to allow it again; until then, "
    "only the exclusions that you allowed stay in effect."
)


@click.command()
@click.argument("directory", default=".", type=click.Path(file_okay=False, path_type=Path))
@click.option("--remove", is_flag=True, help="Withdraw the permission.")
@click.option("--list", "listed", is_flag=True, help="List the allowed files.")
@click.pass_obj
def allow(context: Context, directory: Path, remove: bool, listed: bool) -> None:
    """Let a project's `.katod.toml` take effect, in its present form.

    Looks for the file in DIRECTORY, by default the current one, and in its parents. Prints what the file changes in
    future recordings, and which of its settings are refused. If the file is edited later, you have to allow it again;
    until then, only the exclusions that you allowed stay in effect.
    """
    if remove and listed:
        raise click.UsageError("--remove and --list cannot be combined")
    allowed = Allowed(context.state)
    if listed:
        show(_listed(allowed))
    elif remove:
        show([line(f"{_removed(directory, allowed)} is no longer allowed")])
    else:
        show(_allowed(context, directory, allowed))


def _allowed(context: Context, directory: Path, allowed: Allowed) -> Iterator[Line]:
    """Allow the nearest file; yield what it changes. Raises ConfigError."""
    path = nearest(str(directory.absolute()), Path.home())
    if path is None:
        raise ConfigError(f"nothing to allow: there is no {NAME} in {directory.absolute()} or above", hint=_WHERE)
    try:
        data = read_project(path)
    except FileNotFoundError as error:
        raise ConfigError("no such file", path=path) from error
    file = parse_project(data, path)
    allowed.allow(path, data)
    yield line(f"{path} is allowed. In new recordings of sessions in {file.folder}:")
    yield from (line(f"  {text}") for text in file.changes())
    if refused := [*file.refused, *_refused_directory(context, file)]:
        yield line("refused:", "yellow")
        yield from (line(f"  {text}") for text in refused)
    yield line(_STAYS, "dim")


def _refused_directory(context: Context, file: ProjectFile) -> list[str]:
    from katod.record.policy import Policy  # noqa: PLC0415 - it loads the redaction rules

    policy = Policy.here(context.settings, context.roots(), context.state).in_project(str(file.folder))
    return [policy.project.refused] if policy.project.refused else []


def _removed(directory: Path, allowed: Allowed) -> Path:
    """Take back the nearest file that is allowed, and return it. Raises ConfigError."""
    paths = places(str(directory.absolute()), Path.home())
    found = next((path for path in paths if allowed.remove(path)), None)
    if found is None:
        raise ConfigError(
            f"nothing to remove: no {NAME} in {directory.absolute()} or above is allowed",
            hint="see `katod allow --list`",
        )
    return found


def _listed(allowed: Allowed) -> Iterator[Line]:
    known = allowed.read()
    for path in map(Path, sorted(known)):
        found = look(path, known)
        said = "it no longer exists" if found is None else found.problem or "; ".join(found.changes)
        yield line(f"{path}: {said}")
    if not known:
        yield line(f"no {NAME} is allowed")
