"""Where exports are: by the template of recordings, below the folder, never in the output directory."""

from collections.abc import Callable
from typing import Final

from katod.archive.folder import ExportFolder, is_inside
from katod.archive.manifest import INDEX
from katod.command.target import TargetScope, generated, numbered
from katod.errors import TargetRefused
from katod.metadata import SessionMetadata
from katod.model import SessionKey, Target
from katod.paths import name_of
from katod.record.naming import beside, name_fields, target_of_subagent
from katod.record.policy import Policy
from katod.text import distinct, slug

_MOST_NUMBERS: Final = 1000


class ExportNaming:
    """Finds names for new exports of one format."""

    def __init__(self, folder: ExportFolder, policy: Policy, form: str) -> None:
        self._folder = folder
        self._policy = policy
        self._form = form
        self._taken = folder.manifest.names() | {INDEX}

    def target(self, metadata: SessionMetadata) -> Target:
        """Return the first name that is no other export's; a file may have it. Raises TargetRefused."""
        return self._first(self._wanted(metadata), lambda _: True)

    def free(self, metadata: SessionMetadata) -> Target:
        """Return the first name that no file has. Raises TargetRefused."""
        return self._first(self._wanted(metadata), lambda name: self._folder.stamp(name) is None)

    def take(self, target: Target) -> None:
        """Note that an export has this name now."""
        self._taken.add(target.name)

    def _first(self, wanted: Target, is_free: Callable[[str], bool]) -> Target:
        for number in range(1, _MOST_NUMBERS):
            target = wanted if number == 1 else numbered(wanted, number)
            if target.name not in self._taken and is_free(target.name):
                return target
        raise TargetRefused("no unused file name found", path=wanted.path)

    def _wanted(self, metadata: SessionMetadata) -> Target:
        """Return the name that a session would have alone: a sub-agent's is beside its parent's."""
        key = metadata.key
        parent = self._folder.manifest.entries.get((SessionKey(key.agent, key.id), self._form))
        if key.subagent and parent is not None and parent.name:
            at = Target(self._folder.root, parent.parts, self._form)
            options = beside(at, self._policy.options(self._form))
            return self._outside(target_of_subagent(at, options.subagents_folder, key.subagent))
        fields = name_fields(metadata, self._policy.zone)
        scope = self._scope(self._project_folder(metadata.cwd))
        return self._outside(generated(self._policy.settings.output.filename, fields, scope))

    def _scope(self, project_folder: str) -> TargetScope:
        return TargetScope(
            self._folder.root, None, project_folder, (), self._policy.protected, self._policy.home, self._form
        )

    def _outside(self, target: Target) -> Target:
        """Return a target. Raises TargetRefused if it is in the output directory, where recordings are."""
        if is_inside(target.path, self._policy.output_directory):
            raise TargetRefused(
                "the path is inside the output directory", path=target.path, hint="export to another folder"
            )
        return target

    def _project_folder(self, cwd: str) -> str:
        """Return the folder of a project: its base name, with a hash if it is another project's or has the outputs."""
        if not cwd:
            return "no-project"
        cwd = self._policy.repository(cwd) or cwd
        projects = self._folder.manifest.projects
        if cwd in projects:
            return projects[cwd]
        name = slug(name_of(cwd)) or "project"
        outputs = self._policy.output_directory.resolve()
        if name in projects.values() or is_inside(outputs, self._folder.root / name):
            name = distinct(name, cwd)
        self._folder.add_project(cwd, name)
        return name
