"""Files of a project that a client may have turned into a prompt: commands, prompt templates, workflows, skills.

Many clients record the prompt that such a file becomes as if the user had typed it. So a command of a message that
also stands in such a file, below or above a line that is in the message, too, is not obeyed.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from katod.agents import AGENTS
from katod.events import Event
from katod.smallfile import read_small
from katod.text import clean

# Folders of prompts, in any folder of a client in a project, such as `.opencode/command` or `.clinerules/workflows`.
_FOLDERS: Final = ("command", "commands", "prompts", "workflows", "skill", "skills")
_SUFFIXES: Final = (".md", ".mdc", ".mdx", ".txt", ".prompt", ".toml", ".json", ".jsonc", ".yaml", ".yml")
_SETTINGS: Final = ("opencode.json", "opencode.jsonc")  # they may have prompts, too
_PLACEHOLDER: Final = re.compile(r"\$ARGUMENTS|\$\d+|\$@|\$\{[^{}\n]*\}|\{\{[^{}\n]*\}\}|!`[^`\n]*`|[@!]\{[^{}\n]*\}")
# What stands for something else in settings, and where a string begins or ends in them.
_ESCAPED: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))|\"|'''", re.DOTALL)
_ESCAPES: Final = {"n": "\n", "r": "\n", "t": "\t"}
_WORD: Final = re.compile(r"\w")
_LARGEST: Final = 4 * 1024 * 1024  # bytes: no model takes a longer prompt
_ENTRIES: Final = 20_000  # of folders of prompts,
_BYTES: Final = 64 * 1024 * 1024  # and of files, that are looked at for one command
_TOO_MANY: Final = (
    "katod cannot rule out that it came from a prompt file (the project has too many): send the command in a message of"
    " its own"
)


class _TooMany(Exception):
    """There is more than is looked at."""


def why_not_typed(command: Event, project: str) -> str:
    """Return why a command does not count as typed, empty if it does, given the folder of its session.

    A command that is all of its message always does. The project is only looked into if the records do not tell.
    """
    is_told = AGENTS[command.session.agent].marks_expansions or not command.beside.strip()
    if is_told or not os.path.isabs(project):
        return ""
    said = set(filter(None, map(str.strip, command.beside.split("\n"))))
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
            yield from ((path, text) for path in self._in(root) if "::" in (text := _text(path, self._read(path))))
            if os.path.lexists(os.path.join(root, ".git")):
                return

    def _in(self, root: str) -> Iterator[str]:
        hidden = [path for path, is_folder in self._listed(root, ".") if is_folder]
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

    def _listed(self, folder: str, begins: str = "") -> list[tuple[str, bool]]:
        """Return the paths in a folder whose names begin so, and which are folders.

        Nothing if it was listed before, or cannot be.
        """
        try:
            status = os.stat(folder)
            if (status.st_dev, status.st_ino) in self._seen:
                return []
            self._seen.add((status.st_dev, status.st_ino))
            with os.scandir(folder) as entries:
                found = [(entry.path, _is_folder(entry)) for entry in entries if entry.name.startswith(begins)]
        except OSError:
            return []  # most are not there
        self._entries -= len(found)
        if self._entries < 0:
            raise _TooMany
        return sorted(found)

    def _read(self, path: str) -> str:
        try:
            data = read_small(Path(path), _LARGEST)
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


def _text(path: str, text: str) -> str:
    """Return the text of a file as its prompts have it: in settings, they are strings."""
    return _ESCAPED.sub(_meant, text) if path.endswith((".toml", ".json", ".jsonc")) else text


def _meant(found: re.Match[str]) -> str:
    code, char = found.groups()
    if code:
        return chr(int(code, 16))
    return _ESCAPES.get(char, char) if char else "\n"


def _became(text: str, line: str, said: set[str]) -> bool:
    """Return whether a message with a command in a line, and other lines that were `said`, was made of a text.

    The line above the command in the text, or the one below, is in the message: the next one that is there as it is.
    """
    lines = list(filter(None, map(str.strip, text.split("\n"))))
    above, is_below = "", False
    for number, written in enumerate(lines, 1):
        if _is_made_of(written, line.strip(), is_last=number == len(lines)):
            if above in said:
                return True
            is_below = True
        elif _is_fixed(written):
            if is_below and written in said:
                return True
            above, is_below = written, False
    return False


def _is_fixed(line: str) -> bool:
    """Return whether a line says something, and is in a prompt as it is in its file."""
    return bool(_WORD.search(line)) and not line.startswith("::") and not _PLACEHOLDER.search(line)


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
