"""Files of a project of which a client may have made a prompt: commands, prompt templates, workflows, skills.

Many clients record the prompt that such a file becomes as if its person had typed it. So a command of a message that
also stands in such a file, below or above a line that is in the message, too, is not obeyed.
"""

import os
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import orjson

from katod.agents import AGENTS
from katod.events import Event
from katod.smallfile import read_small
from katod.text import clean

# Folders of prompts, in any folder of a client in a project, such as `.opencode/command` or `.clinerules/workflows`.
_FOLDERS: Final = ("command", "commands", "prompts", "workflows", "skill", "skills")
_SUFFIXES: Final = (".md", ".mdc", ".mdx", ".txt", ".prompt", ".toml", ".json", ".jsonc", ".yaml", ".yml")
_SETTINGS: Final = ("opencode.json", "opencode.jsonc")  # they may have prompts, too
_PLACEHOLDER: Final = re.compile(r"\$ARGUMENTS|\$\d+|\$@|\$\{[^{}\n]*\}|\{\{[^{}\n]*\}\}|!`[^`\n]*`|[@!]\{[^{}\n]*\}")
_STRING: Final = re.compile(r'"(?:[^"\\]|\\.)*"')
_WORD: Final = re.compile(r"\w")
_ENTRIES: Final = 20_000  # of folders,
_BYTES: Final = 64 * 1024 * 1024  # and of files, that are looked at for one command
_TOO_MANY: Final = "it cannot be told from a prompt file, as the project has too many of them: give the command alone"


class _TooMany(Exception):
    """There is more than is looked at."""


def why_not_typed(command: Event, project: str) -> str:
    """Return why a command does not count as typed, empty if it does, given the folder of its session.

    A command that is all of its message always does. The project is only looked into if the records do not tell.
    """
    is_told = AGENTS[command.session.agent].marks_expansions or not command.beside.strip()
    if is_told or not os.path.isabs(project):
        return ""
    said = {line.strip() for line in command.beside.split("\n")}
    try:
        found = next(
            (path for path, text in _Prompts().of(project) if _became(text, command.payload["line"], said)), ""
        )
    except _TooMany:
        return _TOO_MANY
    except (OSError, ValueError):
        return ""  # there is no such folder
    if not found:
        return ""
    name = os.fsencode(os.path.relpath(found, project)).decode("utf-8", "replace")
    return f"it was not typed: the client made this prompt of {clean(name)}"


class _Prompts:
    """The files of prompts of one project, as far as they are looked at."""

    def __init__(self) -> None:
        self._entries, self._bytes = _ENTRIES, _BYTES
        self._seen: set[tuple[int, int]] = set()  # folders: links may lead back

    def of(self, project: str) -> Iterator[tuple[str, str]]:
        """Yield path and text of each prompt, from the session's folder up to that of its repository. Raises _TooMany.

        A person's own folder is left out. Raises OSError and ValueError if there is no such folder.
        """
        own = os.path.realpath(Path.home())
        for root in map(str, (Path(project), *Path(project).parents)):
            if os.path.realpath(root) == own:
                return
            for path in self._in(root):
                yield from ((path, text) for text in _texts(path, self._read(path)))
            if os.path.lexists(os.path.join(root, ".git")):
                return

    def _in(self, root: str) -> Iterator[str]:
        hidden = [path for path, _ in self._listed(root) if os.path.basename(path).startswith(".")]
        yield from (os.path.join(folder, name) for folder in (root, *hidden) for name in _SETTINGS)
        for folder in hidden:
            for name in _FOLDERS:
                yield from self._below(os.path.join(folder, name))

    def _below(self, folder: str) -> Iterator[str]:
        waiting = [folder]
        while waiting:
            for path, is_folder in self._listed(waiting.pop()):
                if is_folder:
                    waiting.append(path)
                elif path.endswith(_SUFFIXES):
                    yield path

    def _listed(self, folder: str) -> list[tuple[str, bool]]:
        """Return the paths in a folder, and which are folders; nothing if it was listed before, or cannot be."""
        try:
            status = os.stat(folder)
            if (status.st_dev, status.st_ino) in self._seen:
                return []
            self._seen.add((status.st_dev, status.st_ino))
            with os.scandir(folder) as entries:
                found = [(entry.path, _is_folder(entry)) for entry in entries]
        except OSError:
            return []  # most are not there
        self._entries -= len(found)
        if self._entries < 0:
            raise _TooMany
        return sorted(found)

    def _read(self, path: str) -> str:
        try:
            data = read_small(Path(path), _BYTES)
        except OSError:
            return ""
        self._bytes -= len(data)
        if self._bytes < 0:
            raise _TooMany
        return data.decode("utf-8-sig", "replace")


def _is_folder(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False  # a link that leads to itself


def _texts(path: str, text: str) -> list[str]:
    """Return the texts of a file that may be prompts: in settings, each string is one."""
    if "::" not in text and "\\u003" not in text.lower():
        return []
    try:
        if path.endswith(".toml"):
            return list(_strings(tomllib.loads(text)))
        if path.endswith((".json", ".jsonc")):
            return [orjson.loads(written[0]) for written in _STRING.finditer(text)]
    except ValueError:
        return [text]
    return [text]


def _strings(value: Any) -> Iterator[str]:
    """Yield the strings in a value of TOML."""
    if isinstance(value, str):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _strings(inner)


def _became(text: str, line: str, said: set[str]) -> bool:
    """Return whether a message with a command in a line, and other lines that were `said`, was made of a text."""
    lines = list(filter(None, map(str.strip, text.split("\n"))))
    for at, written in enumerate(lines):
        if _is_made_of(written, line.strip(), is_last=at == len(lines) - 1):
            above, below = next(_fixed(lines[:at][::-1]), None), next(_fixed(lines[at + 1 :]), None)
            if above in said or below in said:
                return True
    return False


def _fixed(lines: list[str]) -> Iterator[str]:
    """Yield the lines that are in a prompt as they are in its file, but commands and those without a word."""
    return (
        line for line in lines if not line.startswith("::") and _WORD.search(line) and not _PLACEHOLDER.search(line)
    )


def _is_made_of(written: str, line: str, *, is_last: bool) -> bool:
    """Return whether a command was made of a written line: with words for placeholders, or none, or behind the last."""
    parts = _PLACEHOLDER.split(written)
    if not "".join(parts).lstrip().startswith("::"):
        return False
    is_open, at = is_last or not parts[-1].strip(), 0
    for part in filter(None, map(str.strip, parts)):
        at = line.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return is_open or at == len(line)
