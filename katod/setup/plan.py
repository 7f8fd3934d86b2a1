"""What `katod setup` would change, worked out from the files as they are; nothing is written here."""

import os
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Final, NamedTuple, ParamSpec

from katod.agents.spec import AgentSpec
from katod.errors import SetupError
from katod.service.recordingfiles import LEFT
from katod.setup import instructions, scripts, settings
from katod.setup.files import Change, Files, FoundFile
from katod.setup.settings import Commands

BACKUP: Final = ".katod-backup"
_MOST_BACKUPS: Final = 9
_SCRIPT_MODE: Final = 0o700
_ALONE: Final = "{} has no instruction file that katod knows: add these lines yourself\n{}"
_OWN: Final = "{} has a status line, which is kept. To include katod's, add this line to its script:\n  {}"
P = ParamSpec("P")
_DISABLED: Final = "{} has `disableAllHooks`: the agent will run neither the hook nor the status line"


class Places(NamedTuple):
    """Where katod's own files are, and how the hook calls katod."""

    state: Path
    recordings: Path  # the files that the daemon keeps for status lines
    hook: Sequence[str]

    def script(self, spec: AgentSpec, name: str) -> Path:
        """Return the path of a script for an agent."""
        return Path(os.path.abspath(self.state)) / spec.name / name

    def commands(self, spec: AgentSpec) -> Commands:
        """Return the lines for an agent's settings."""
        status_line = self.script(spec, scripts.STATUS_LINE)
        return Commands(scripts.call(self.script(spec, scripts.HOOK)), scripts.call(status_line))


class SetupPlan:
    """The changes, in the order in which they are made, and what has to be said beside them.

    Each part is made as a whole or not at all: one whose files cannot be changed does not stop the others.
    """

    def __init__(self, places: Places, files: Files) -> None:
        self.parts: list[list[Change]] = []
        self.notes: list[str] = []
        self.refused: list[SetupError] = []  # why there is nothing of a part
        self._places = places
        self._files = files

    @property
    def changes(self) -> list[Change]:
        """All changes."""
        return list(chain.from_iterable(self.parts))

    def add(self, specs: Iterable[AgentSpec]) -> None:
        """Plan to add everything to these agents."""
        for spec in specs:
            if spec.settings is not None:
                self._part(self._add_settings, spec, spec.settings())
            self._part(self._add_instructions, spec)

    def remove(self, specs: Iterable[AgentSpec], others: Iterable[AgentSpec] = ()) -> None:
        """Plan to take out what was added to these agents, but not to the others."""
        kept = {spec.instructions().path for spec in others if spec.instructions}
        for spec in specs:
            if spec.settings is not None:
                self._part(self._remove_settings, spec, spec.settings())
                self._part(self._remove_scripts, spec)
            for path in spec.instructions().all if spec.instructions else ():
                if path not in kept:
                    self._part(self._remove_instructions, path)

    def _part(self, plan: Callable[P, None], *args: P.args, **kwargs: P.kwargs) -> None:
        """Plan one part, or nothing of it."""
        notes = len(self.notes)
        self.parts.append([])
        try:
            plan(*args, **kwargs)
        except SetupError as error:
            self.refused.append(error)
            self.parts.pop()
            del self.notes[notes:]

    def _remove_scripts(self, spec: AgentSpec) -> None:
        for name in (scripts.HOOK, scripts.STATUS_LINE):
            self._change(self._places.script(spec, name), None, note="the script")

    def _remove_instructions(self, path: Path) -> None:
        found = self._read(path, instructions.removed)
        if found is not None:
            self._change(path, instructions.removed(found.data))

    def _read(self, path: Path, remove: Callable[[bytes], bytes | None]) -> FoundFile | None:
        """Return a file from which something may have to be removed.

        A link to a file without it is none: the user has it for reasons of their own. Raises SetupError.
        """
        try:
            return self._files.read(path)
        except SetupError:
            led = Files(follow=True).read(path)
            if led is None or remove(led.data) == led.data:
                return None
            raise

    def _add_instructions(self, spec: AgentSpec) -> None:
        if spec.instructions is None:
            self.notes.append(_ALONE.format(spec.product, _indented(instructions.LINES)))
            return
        own = spec.instructions()
        found = {path: file for path in own.all if (file := self._files.read(path)) is not None and file.data}
        path = next(iter(found), own.path)
        present = found.get(path) or self._files.read(path)
        if present is not None and not _is_text(present.data):
            raise SetupError("it is not UTF-8 text", path=path)
        self._change(path, instructions.added(present.data if present else None))

    def _add_settings(self, spec: AgentSpec, path: Path) -> None:
        commands, places = self._places.commands(spec), self._places
        found = self._files.read(path)
        try:
            result = settings.added(found.data if found else None, commands)
        except SetupError as error:
            raise SetupError(error.what, path=path, hint=error.hint) from error
        hook = scripts.hook(places.hook, places.state, places.recordings / LEFT, spec.name)
        status_line = scripts.status_line(places.recordings, spec.name)
        self._change(places.script(spec, scripts.HOOK), hook.encode(), note=_script(hook))
        self._change(places.script(spec, scripts.STATUS_LINE), status_line.encode(), note=_script(status_line))
        if found is not None and result.data != found.data:
            self.parts[-1].append(Change(self._free(path), None, found.data, found.mode, "a backup", found.group))
        self._change(path, result.data)
        if result.own_status_line:
            self.notes.append(_OWN.format(path, f"""printf '%s' "$input" | ({commands.status_line})"""))
        if result.disabled:
            self.notes.append(_DISABLED.format(path))

    def _remove_settings(self, spec: AgentSpec, path: Path) -> None:
        commands = self._places.commands(spec)
        found = self._read(path, lambda data: settings.removed(data, (), commands))
        if found is None:
            return
        backups = {place: file.data for place in _backups(path) if (file := self._files.read(place)) is not None}
        try:
            data = settings.removed(found.data, list(backups.values()), commands)
        except SetupError as error:
            raise SetupError(error.what, path=path, hint=error.hint) from error
        self._change(path, data)
        if data == found.data:
            return
        for place, backup in backups.items():
            if backup == data:
                self._change(place, None, note="the backup, now identical to the file")
            else:
                self.notes.append(f"{place} is kept: {path.name} has changed since")

    def _free(self, path: Path) -> Path:
        """Return the path for a backup: none is overwritten. Raises SetupError if there are too many."""
        for place in _backups(path):
            if self._files.read(place) is None:
                return place
        raise SetupError(f"there are {_MOST_BACKUPS} backups of it", path=path, hint="remove those you do not need")

    def _change(self, path: Path, after: bytes | None, *, note: str = "") -> None:
        """Plan what is to become of a file, unless it is so already."""
        found = self._files.read(path)
        before = found.data if found else None
        planned = any(change.path == path for change in self.changes)  # one file may serve two agents
        if before != after and not planned:
            mode = _SCRIPT_MODE if path.suffix == ".sh" else Change._field_defaults["mode"]
            self.parts[-1].append(Change(path, before, after, mode, note))


def _backups(path: Path) -> list[Path]:
    """Return where backups of a file may be, the first one first."""
    first = path.name + BACKUP
    return [path.with_name(first if n == 1 else f"{first}-{n}") for n in range(1, _MOST_BACKUPS + 1)]


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _indented(text: str) -> str:
    return "".join(f"  {line}\n" for line in text.splitlines()).rstrip("\n")


def _script(text: str) -> str:
    return f"a script of {text.count(chr(10))} lines, which --print shows"
