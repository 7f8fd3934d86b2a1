"""Resolves a typed name to a path that katod may write to."""

import os
import re
import unicodedata
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from katod.errors import TargetRefused
from katod.formatspec import FORMATS, format_of, split_name, suffixes_in_chat
from katod.model import Target

_LONGEST_PART: Final = 200
_LONGEST: Final = 1000
_RESERVED: Final = frozenset({"con", "prn", "aux", "nul", *(f"{d}{n}" for d in ("com", "lpt") for n in range(1, 10))})
_TOO_WIDE: Final = "not a project, but /, your home directory, or above an agent's directory"
# Files that agents read as instructions: what a chat says must not become one.
_INSTRUCTIONS: Final = frozenset(
    {"claude.md", "claude.local.md", "agents.md", "agents.override.md", "gemini.md", "qwen.md", "skill.md",
     "copilot-instructions.md", "agent.md", "warp.md", "crush.md", "conventions.md"}
)  # fmt: skip
_INSTRUCTION_SUFFIXES: Final = (".instructions.md", ".prompt.md")
# Folders of a project in which every file is read like that: memories, commands and prompts.
_INSTRUCTION_FOLDERS: Final = frozenset({"memory-bank", "commands", "prompts"})
_FORBIDDEN: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\\$\u202a-\u202e\u2066-\u2069]")


@dataclass(frozen=True, slots=True)
class TargetScope:
    """Where outputs of one session may be created."""

    output: Path
    project: Path | None  # the session's first working directory
    project_folder: str  # its folder inside the output directory
    allowed: tuple[Path, ...]
    protected: tuple[Path, ...]  # the agents' roots and katod's state directory, which are never written to
    home: Path
    format: str
    chosen: tuple[Path, tuple[str, ...]] | None = None  # a folder and a path below it, in place of the output directory


def resolve(name: str, scope: TargetScope) -> Target:
    """Return the target that a typed name means. Raises TargetRefused with the reason."""
    name = unicodedata.normalize("NFC", name.strip()).removeprefix("@")  # agents complete file names with an @
    _check_name(name)
    root, relative = _anchor(name, scope)
    parts = tuple(relative.split("/"))
    for part in parts:
        _check_part(part)
    parts, chosen = _with_format(parts, scope.format)
    if _is_instruction(parts[-1]):
        raise TargetRefused("agents read a file of this name as instructions", hint="use another name")
    if root != scope.output:
        _check_folders(parts[:-1])
    target = Target(root, parts, chosen)
    require_outside_agents(target.path, scope.protected)
    return target


def folder_parts(name: str) -> tuple[str, ...]:
    """Return the components of a directory inside of a project. Raises TargetRefused with the reason."""
    _check_name(name)
    if name.startswith(("/", "~")):
        raise TargetRefused("it must be a path inside the project")
    parts = tuple(name.removeprefix("./").removesuffix("/").split("/"))
    for part in parts:
        _check_part(part)
    _check_folders(parts)
    return parts


def check_folder(folder: Path, parts: tuple[str, ...], protected: tuple[Path, ...], home: Path) -> None:
    """Raise TargetRefused if a folder is no project, or a path below it is in an agent's directory."""
    if _is_too_wide(folder, protected, home):
        raise TargetRefused(f"its folder is {_TOO_WIDE}")
    require_outside_agents(folder.joinpath(*parts, "x"), protected)


def generated(template: str, fields: dict[str, str], scope: TargetScope) -> Target:
    """Return the target for a session without a name: the configured template, filled in.

    In a directory that was chosen for this project, there is no folder for each project.
    """
    root, folders = scope.chosen or (scope.output, ())
    template = _without_project(template) if folders else template
    filled = template.format_map({**fields, "project": scope.project_folder})
    raw = [part for part in filled.split("/") if part]
    parts = tuple(_tame(part) for part in raw) or ("untitled",)
    name = parts[-1] + FORMATS[scope.format].suffix
    name = _harmless(name) if _is_instruction(name) else name
    target = Target(root, (*folders, *parts[:-1], name), scope.format)
    require_outside_agents(target.path, scope.protected)
    return target


def numbered(target: Target, number: int) -> Target:
    """Return the target with `-2`, `-3`, … before its suffix."""
    stem, suffix = split_name(target.parts[-1])
    return Target(target.root, (*target.parts[:-1], f"{stem}-{number}{suffix}"), target.format)


def _anchor(name: str, scope: TargetScope) -> tuple[Path, str]:
    """Return the allowed root that a name is in, and the rest of the name."""
    if name.startswith("~/"):
        name = f"{scope.home}/{name[2:]}"
    if name.startswith("/"):
        return _inside(name, scope)
    if name.startswith("./"):
        return _project(scope), name[2:]
    if "/" not in name:
        root, folders = scope.chosen or (scope.output, (scope.project_folder,))
        return root, "/".join((*folders, name))
    return _project(scope), name


def _project(scope: TargetScope) -> Path:
    project = scope.project
    if project is None or not project.is_absolute():
        raise TargetRefused("the session has no project directory", hint="use a name without a slash")
    if _is_too_wide(project, scope.protected, scope.home):
        raise TargetRefused(f"the session's directory is {_TOO_WIDE}", hint="use a name without a slash")
    return project


def _is_too_wide(folder: Path, protected: tuple[Path, ...], home: Path) -> bool:
    """Return whether a directory is too wide to be a project."""
    real = _real(folder)
    return real in (Path("/"), _real(home)) or any(_is_within(agent, real) for agent in protected)


def _inside(name: str, scope: TargetScope) -> tuple[Path, str]:
    roots = [scope.output, *scope.allowed]
    with suppress(TargetRefused):  # without a project, the roots are the other two; the refusal below lists them all
        roots.append(_project(scope))
    for root in roots:
        for form in (root, root.resolve()):
            prefix = f"{form}/"
            if name.startswith(prefix):
                return root, name[len(prefix) :]
    raise TargetRefused(
        "the path is outside the output directory, the project and the allowed roots",
        hint="add its directory to `output.allowed_roots`",
    )


def _check_name(name: str) -> None:
    if _FORBIDDEN.search(name):
        raise TargetRefused("the name contains a control character, a backslash or a $", hint="use a plain name")
    if len(name.encode()) > _LONGEST:
        raise TargetRefused("the name is too long", hint=f"use at most {_LONGEST} bytes")
    if re.match(r"[A-Za-z]:[/\\]", name):
        raise TargetRefused("drive letters are not supported", hint="use a plain name")


def _check_part(part: str) -> None:
    if part in ("", ".", ".."):
        raise TargetRefused("the path contains an empty component, `.` or `..`", hint="write it without them")
    if part.startswith("."):
        raise TargetRefused(
            "katod does not write to hidden files or directories", hint="use a name without a leading dot"
        )
    if part.startswith(("-", "+", "~")) or part.split(".", maxsplit=1)[0].lower() in _RESERVED:
        raise TargetRefused(
            "invalid file name",
            hint="do not start it with -, + or ~, and avoid reserved names such as con",
        )
    if len(part.encode()) > _LONGEST_PART:
        raise TargetRefused("the name is too long", hint=f"use at most {_LONGEST_PART} bytes")


def _is_instruction(name: str) -> bool:
    folded = name.casefold()
    return folded in _INSTRUCTIONS or folded.endswith(_INSTRUCTION_SUFFIXES)


def _check_folders(parts: tuple[str, ...]) -> None:
    if not _INSTRUCTION_FOLDERS.isdisjoint(map(str.casefold, parts)):
        raise TargetRefused("agents read the files of this folder as instructions", hint="use another folder")


def _harmless(name: str) -> str:
    """Return another name for a file that agents would read as instructions."""
    stem, suffix = split_name(name)
    return f"session-{stem.replace('.', '-')}{suffix}"


def _with_format(parts: tuple[str, ...], default: str) -> tuple[tuple[str, ...], str]:
    name = parts[-1]
    if "." not in name:
        return (*parts[:-1], name + FORMATS[default].suffix), default
    chosen = format_of(name)
    if chosen is None or not chosen.in_chat:
        known = ", ".join(sorted(suffixes_in_chat()))
        raise TargetRefused(
            f"unknown file extension (known: {known})", hint="without one, the configured format is used"
        )
    return parts, chosen.name


def require_outside_agents(path: Path, protected: tuple[Path, ...]) -> None:
    """Raise TargetRefused for a path in an agent's directory or katod's state directory."""
    real = _real(path)
    if any(real.is_relative_to(_real(folder)) for folder in protected):
        raise TargetRefused(
            "the path is in an agent's directory or katod's state directory", hint="use another directory"
        )


def _is_within(path: Path, folder: Path) -> bool:
    return _real(path).is_relative_to(_real(folder))


def _real(path: Path) -> Path:
    """Return a path without links; unlike `resolve`, also for links that lead to each other."""
    return Path(os.path.realpath(path))


def _without_project(template: str) -> str:
    """Return a template without the folder of each project."""
    *folders, name = template.split("/")
    return "/".join([*(folder for folder in folders if folder != "{project}"), name])


def _tame(part: str) -> str:
    part = _FORBIDDEN.sub("", part).strip(". -~+")
    while len(part.encode()) > _LONGEST_PART - 20:
        part = part[:-1]
    return part if part and part.split(".")[0].lower() not in _RESERVED else f"untitled{'-' + part if part else ''}"
