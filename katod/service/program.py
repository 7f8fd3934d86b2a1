"""What the service manager starts: the path of the program, valid after an upgrade, its environment and its version."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final, TypeVar

from katod.errors import ServiceError

T = TypeVar("T")
_NAME: Final = "katod"
# Where katod and the agents look for their directories, and what the local time is.
_VARIABLES: Final = ("KATOD_STATE_DIR", "KATOD_DATA_DIR", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "TZ")
_LOCALES: Final = ("LC_ALL", "LC_CTYPE", "LANG")
_PATIENCE: Final = 20  # seconds for a program to print its version


def installed_program() -> str:
    """Return the path of the program that is running, as it stands on the PATH if it does.

    uv and pipx put a link there, which outlives the environment that it leads to; so no link is resolved, and one
    outside of the environment comes first. Raises ServiceError if katod was not installed as a program.
    """
    own = _own()
    folders = [Path(folder) for folder in os.get_exec_path() if os.path.isabs(folder)]
    shims = [folder / _NAME for folder in folders if _is_same(folder / _NAME, own)]
    outside = [shim for shim in shims if not shim.is_relative_to(sys.prefix)]
    return str((outside or shims or [own])[0])


def _own() -> Path:
    """Return the program that was called, or that belongs to the running interpreter."""
    called = Path(os.path.abspath(sys.argv[0]))
    for path in (called, Path(sys.executable).parent / _NAME):
        if path.name == _NAME and path.is_file() and os.access(path, os.X_OK):
            return path
    hint = "in a clone, run `uv tool install '.[fast]'` or `pipx install '.[fast]'`"
    raise ServiceError("katod is not installed as a program", hint=hint)


def _is_same(path: Path, own: Path) -> bool:
    try:
        return os.path.samefile(path, own)
    except OSError:
        return False


def locations(agents: Iterable[str]) -> dict[str, str]:
    """Return the variables that are set now and say where things are: katod's own, and these of the agents."""
    return {name: os.environ[name] for name in location_names(agents) if os.environ.get(name)}


def location_names(agents: Iterable[str]) -> list[str]:
    """Return the names of these variables, set or not."""
    return list(dict.fromkeys([*_VARIABLES, *agents]))


def under(variables: Mapping[str, str], names: Iterable[str], call: Callable[[], T]) -> T:
    """Return what a call returns where the variables with these names are as given, set or not."""
    names = list(names)
    before = {name: os.environ.get(name) for name in names}
    try:
        _set({name: variables.get(name) for name in names})
        return call()
    finally:
        _set(before)


def _set(values: Mapping[str, str | None]) -> None:
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def environment_of(pid: int) -> dict[str, str] | None:
    """Return the environment that a process started with, None where that cannot be seen."""
    try:
        data = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return None
    rows = data.decode("utf-8", "surrogateescape").split("\0")
    return dict(row.partition("=")[::2] for row in rows if "=" in row)


def environment(agents: Iterable[str]) -> dict[str, str]:
    """Return the variables that are set now and that the service needs, with a locale that has all characters."""
    locale = next((value for name in _LOCALES if "utf" in (value := os.environ.get(name, "")).lower()), "C.UTF-8")
    return locations(agents) | {"LANG": locale}


def version_of(program: str) -> str:
    """Return the version of the program that the service starts, empty if it cannot be started."""
    try:
        done = subprocess.run(  # noqa: S603 - the program that katod itself wrote into its unit
            [program, "--version"], capture_output=True, timeout=_PATIENCE, check=True, stdin=subprocess.DEVNULL
        )
    except (OSError, ValueError, subprocess.SubprocessError):
        return ""
    return done.stdout.decode("utf-8", "replace").strip().rpartition(" ")[2]
