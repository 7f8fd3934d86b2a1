"""Files of a project that a client may have put into a prompt: commands, prompt templates, workflows, skills.

Some clients record the prompt that such a file becomes as if its person had typed it. So a command that stands in one
of them, with other words of the file around it, is not obeyed.
"""

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path
from typing import Final

from katod.agents import AGENTS
from katod.events import Event
from katod.smallfile import read_small
from katod.text import clean

# Folders of prompts, in any folder of a client in a project, such as `.opencode/command` or `.clinerules/workflows`.
_FOLDERS: Final = ("command", "commands", "prompts", "workflows", "skill", "skills")
_SETTINGS: Final = ("opencode.json", "opencode.jsonc")  # they may have commands, too
_ABOVE: Final = 8  # folders above a project in which clients look
_FILES: Final = 500
_DEEP: Final = 4
_LARGEST: Final = 64 * 1024
_PLACEHOLDER: Final = re.compile(r"\$ARGUMENTS|\$[0-9@]|\$?\{\{?[^{}\n]*\}?\}|!`[^`\n]*`")
_SAYS: Final = 8  # characters that a line of a file has at least if it tells that a prompt was made of it


def why_not_typed(command: Event, project: str) -> str:
    """Return why a command does not count as typed, empty if it does, given the folder of its session."""
    if AGENTS[command.session.agent].marks_expansions or not command.beside.strip() or not os.path.isabs(project):
        return ""
    files = islice(chain.from_iterable(map(_prompt_files, _roots(Path(project)))), _FILES)
    made = (path for path in files if _became(_lines(path), command.payload["line"], command.beside))
    found = next(made, None)
    if found is None:
        return ""
    return f"it was not typed: the client made this prompt of {clean(os.path.relpath(found, project))}"


def _roots(project: Path) -> Iterator[Path]:
    """Yield the folder of a project, and those above it up to that of its repository; not the person's own."""
    for folder in islice((project, *project.parents), _ABOVE):
        if folder == Path.home():
            return
        yield folder
        if (folder / ".git").exists():
            return


def _prompt_files(root: Path) -> Iterator[Path]:
    with suppress(OSError):
        hidden = [root / name for name in os.listdir(root) if name.startswith(".")]
        for folder in (root, *hidden):
            yield from (folder / name for name in _SETTINGS)
        for folder in hidden:
            yield from chain.from_iterable(_below(folder / name, _DEEP) for name in _FOLDERS)


def _below(folder: Path, deep: int) -> Iterator[Path]:
    try:
        with os.scandir(folder) as found:
            entries = sorted(found, key=lambda entry: entry.name)
    except OSError:
        return  # most are not there
    for entry in entries:
        if not entry.is_dir():
            yield Path(entry.path)
        elif deep:
            yield from _below(Path(entry.path), deep - 1)


def _lines(path: Path) -> list[str]:
    """Return the lines of a file of prompts without blanks around them, empty ones left out; none if it is none."""
    try:
        text = read_small(path, _LARGEST).decode("utf-8", "replace")
    except OSError:
        return []
    if path.name in _SETTINGS:  # a prompt is a string there
        text = re.sub(r'(?<!\\)"', "\n", text).replace(r"\n", "\n").replace(r"\"", '"')
    return [line for written in text.splitlines() if (line := written.strip())]


def _became(lines: list[str], line: str, message: str) -> bool:
    """Return whether a prompt with a command in a line was made of these lines: others of them are in it, too."""
    if not any(written.startswith("::") and _is_made_of(written, line, lines[-1]) for written in lines):
        return False
    told = (part.strip() for written in lines if not written.startswith("::") for part in _PLACEHOLDER.split(written))
    return any(len(part) >= _SAYS and part in message for part in told)


def _is_made_of(written: str, line: str, last: str) -> bool:
    """Return whether a line was made of a written one: with words for its placeholders, or behind the last line."""
    pattern = ".*".join(re.escape(part) for part in _PLACEHOLDER.split(written))
    return re.fullmatch(pattern + (".*" if written == last else ""), line.strip()) is not None
