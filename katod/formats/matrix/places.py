"""The directories of a session as they are sent to a room, where absolute paths would reveal the user. Pure."""

import re
from typing import Final

from katod.formats.records.changes import relative
from katod.model import Options

_HOME: Final = re.compile(r"/(?:home|Users)/[^/]+(?=/|\Z)|/root(?=/|\Z)|[A-Za-z]:[\\/]Users[\\/][^\\/]+(?=[\\/]|\Z)")


def below_home(path: str) -> str:
    """Return a path with `~` for the home directory that it is in, any other path as it is."""
    return _HOME.sub("~", path, count=1).replace("\\", "/") if _HOME.match(path) else path


def directory(path: str, options: Options, cwd: str = "") -> str:
    """Return a directory: as it is with all of the tools; else relative to another one, below `~`, or its name."""
    if options.tools == "full":
        return path
    own = path.rstrip("/\\")
    if cwd and own == cwd.rstrip("/\\"):
        return "."
    inside = relative(path, cwd) if cwd else path
    if inside != path:
        return inside
    shown = below_home(path)
    return shown if shown != path else re.split(r"[\\/]", own)[-1] or path
