"""What the settings decide about recordings: which sessions, with which options, in which time zone.

A linked Git worktree stands for its repository (`repository_of`). The file `.git` of a worktree is the agent's to
write, so it is believed only if the repository, which it names, points back to it. A worktree that is gone is
recognised by its place, where tools create them inside of a repository.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from katod import __version__
from katod.command.target import check_folder, require_outside_agents
from katod.config import Settings, shown_zone
from katod.discover.roots import Root
from katod.errors import TargetRefused
from katod.formats.redact.version import RULES_VERSION
from katod.formatspec import FORMATS, MARKDOWN
from katod.model import Options, SessionKey, Tools
from katod.project.allowed import Allowed, in_effect, may_exclude
from katod.project.form import NAME, ProjectFile
from katod.record.projectglobs import is_matched
from katod.smallfile import read_small
from katod.write.safe import examine

_LARGEST: Final = 4096  # bytes of a file that has one path
_GITDIR: Final = "gitdir: "
# Folders in which tools create worktrees, below the repository: `.claude/worktrees/NAME`, `.worktrees/NAME`.
_FOLDERS: Final = frozenset({"worktrees", ".worktrees"})
_ANY_NAME: Final = "transcript"


def repository_of(directory: str) -> str:
    """Return the directory of the repository that a directory in a worktree stands for, empty if there is none.

    A folder of the worktree is the same folder of the repository, whether that is there or not.
    """
    if not os.path.isabs(directory) or "\0" in directory:
        return ""
    for path in _spellings(Path(directory)):
        with suppress(OSError):  # a folder above it is another user's, or a name is too long
            if repository := _found(path):
                return repository
    return ""


def _spellings(path: Path) -> Iterator[Path]:
    """Yield a path as it is written, unless `..` hides what is above it, and without links."""
    if ".." not in path.parts:
        yield path
    with suppress(OSError, ValueError):  # this system can have no such name
        if (real := _real(path)) != path:
            yield real


def _found(path: Path) -> str:
    for folder in (path, *path.parents):
        git = folder / ".git"
        if os.path.lexists(git):
            repository = _repository(folder, git) if git.is_file() else None  # in a repository, a folder: not opened
            return str(repository / path.relative_to(folder)) if repository else ""
        if folder.parent.name in _FOLDERS and not folder.exists():
            return _by_place(path, folder)
    return ""


def _repository(folder: Path, git: Path) -> Path | None:
    """Return the repository whose worktree a folder is, None if it is none, or the repository does not say so."""
    try:
        said = _one_line(git)
        if not said.startswith(_GITDIR):
            return None
        administration = _real(folder / said[len(_GITDIR) :])
        common = _real(administration / _one_line(administration / "commondir"))
        points_back = _real(administration / _one_line(administration / "gitdir")) == _real(folder) / ".git"
    except (OSError, ValueError):
        return None
    if administration.parent != common / "worktrees" or not points_back:
        return None
    return common.parent if common.name == ".git" else common


def _by_place(path: Path, folder: Path) -> str:
    """Return the repository in which a worktree was that is gone."""
    above = folder.parent.parent
    above = above.parent if above.name.startswith(".") else above
    return str(above / path.relative_to(folder)) if (above / ".git").is_dir() else ""


def _one_line(path: Path) -> str:
    """Return the only line of a small file of this user. Raises OSError, ValueError."""
    return read_small(path, _LARGEST, own=True).decode().removesuffix("\n")


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


class Project(NamedTuple):
    """What the files of a project decide: it is excluded by one of them, or has a directory of its own.

    `directory` is a folder and a path below it. `refused` says which chosen directory cannot
    be used, and why.
    """

    excluded_by: str = ""
    directory: tuple[Path, tuple[str, ...]] | None = None
    refused: str = ""


class KnownProjects(Protocol):
    """What is known of the projects of sessions that do not name them any more."""

    def of(self, key: SessionKey, *, looking: bool) -> str | None:
        """Return a session's project, empty if none is known; None if only that is known that it was excluded.

        `looking` reads also what is not at hand.
        """


class _NoProjects:
    """Nothing is known of any."""

    def of(self, key: SessionKey, *, looking: bool) -> str:  # noqa: ARG002 - it is the same of each
        """Return nothing."""
        return ""


_NO_PROJECT: Final = Project()
_NO_PROJECTS: Final = _NoProjects()


@dataclass(frozen=True, slots=True)
class Policy:
    """The settings that decide what is recorded and where, resolved once."""

    settings: Settings
    protected: tuple[Path, ...]  # the agents' roots and katod's state directory: never written to
    zone: str
    home: Path
    paused: str  # since when nothing is recorded at all
    allowed: Allowed | None = None  # the projects' files that count
    project: Project = _NO_PROJECT
    worktrees: Mapping[str, str] = field(default_factory=dict)  # those of the ledger: they may be gone
    projects: KnownProjects = _NO_PROJECTS  # of sessions that may not name them any more

    @classmethod
    def of(cls, settings: Settings, protected: tuple[Path, ...], paused: str = "") -> "Policy":
        """Return the policy of these settings."""
        return cls(settings, protected, shown_zone(settings.output), Path.home(), paused)

    @classmethod
    def here(
        cls,
        settings: Settings,
        roots: Iterable[Root],
        state: Path,
        paused: str = "",
        worktrees: Mapping[str, str] | None = None,
    ) -> "Policy":
        """Return the policy of these settings with the agents' roots and the state directory of this machine."""
        kept = [root.path for root in roots if not root.database]
        policy = cls.of(settings, (*kept, Path(os.path.realpath(state))), paused)
        return replace(policy, allowed=Allowed(state), worktrees={} if worktrees is None else worktrees)

    def in_project(self, cwd: str) -> "Policy":
        """Return the policy in a project: what its allowed files say, each read once, the nearest last.

        They exclude it, show less, and choose format and directory. In a worktree, those of its repository count, too.
        Raises OSError if the machine is too busy.
        """
        policy = self
        for file in self._files(cwd):
            policy = policy._as_said(file)
        return policy

    def _files(self, cwd: str) -> Iterator[ProjectFile]:
        for directory in filter(None, (self.repository(cwd), cwd)):
            yield from in_effect(directory, self.home, self.allowed) if self.allowed else ()

    def repository(self, cwd: str) -> str:
        """Return the directory of the repository that a directory in a worktree stands for, empty if there is none."""
        return repository_of(cwd) or self.worktrees.get(cwd, "")

    def _as_said(self, file: ProjectFile) -> "Policy":
        project = self.project
        if file.exclude:
            project = project._replace(excluded_by=str(file.path))
        if file.directory:
            refused = self._refused(file)
            project = project._replace(directory=None if refused else (file.folder, file.directory), refused=refused)
        return replace(self, settings=file.reduced(self.settings), project=project)

    def _refused(self, file: ProjectFile) -> str:
        """Return why transcripts cannot be written to the directory that a file chooses, empty if they can."""
        try:
            examine(file.folder, (*file.directory, _ANY_NAME))
            check_folder(file.folder, file.directory, self.protected, self.home)
        except TargetRefused as refusal:
            return refused_directory(refusal)
        return ""

    @property
    def output_directory(self) -> Path:
        """The output directory."""
        return Path(self.settings.output.directory).expanduser()

    def refused_output(self) -> str:
        """Return why no transcript is written to the output directory, empty if they are: then, each is refused."""
        try:
            require_outside_agents(self.output_directory / _ANY_NAME, self.protected)
        except TargetRefused as refusal:
            return refusal.what
        return ""

    def ends(self, cwd: str) -> bool:
        """Return whether a recording of a project has to end."""
        return bool(self.paused) or self.excludes(cwd)

    def excludes(self, cwd: str) -> bool:
        """Return whether a project is never recorded."""
        return bool(self.excluding(cwd))

    def excluding(self, cwd: str) -> str:
        """Return why a project is excluded: the configuration, or the path of its own file; empty if it is not."""
        if self._matches(self.settings.recording.exclude, cwd):
            return "the configuration"
        return self.project.excluded_by

    def auto_records(self, cwd: str) -> bool:
        """Return whether the sessions of a project are auto-recorded."""
        auto = self.settings.recording.auto
        return auto if isinstance(auto, bool) else self._matches(auto, cwd)

    def doubt_without_project(self) -> str:
        """Return why a session of an unknown project is not auto-recorded although others are; empty if it is."""
        recording, doubt = self.settings.recording, ""
        if not recording.auto:
            return ""
        if recording.exclude:
            doubt = "`recording.exclude` may exclude it"
        elif not isinstance(recording.auto, bool):
            doubt = "`recording.auto` only lists some"
        elif self.allowed is not None and may_exclude(self.allowed):
            doubt = f"a {NAME} that you allowed may exclude it"
        return doubt and f"its project is not known, and {doubt}"

    def may_auto_record(self) -> bool:
        """Return whether any session may be auto-recorded."""
        recording = self.settings.recording
        return not self.paused and bool(recording.auto or recording.subagents)

    def _matches(self, globs: tuple[str, ...], cwd: str) -> bool:
        """Return whether a directory, or what it is in its repository, is one of these or below."""
        if not cwd or not globs:
            return False
        return is_matched(filter(None, (cwd, self.repository(cwd))), globs)

    def options(self, form: str = MARKDOWN) -> Options:
        """Return the options for a new recording in a format, which keeps them."""
        content, recording = self.settings.content, self.settings.recording
        return Options(
            content.thinking, self._tools(form), content.attachments, content.redact, self.zone,
            recording.subagents, recorder=f"katod {__version__}", max_result=content.max_result,
            usage=content.usage, subagent_reports=content.subagent_reports, rules=RULES_VERSION, receipts=True,
            span_content=self.settings.otlp.content,
        )  # fmt: skip

    def _tools(self, form: str) -> Tools:
        """Return how a format shows tools."""
        tools = self.settings.content.tools
        if tools != "auto":
            return tools
        return "full" if FORMATS[form].shows_results else "summary"

    def export_options(
        self, form: str = MARKDOWN, *, thinking: bool = False, tools: Tools | None = None, redact: bool = True
    ) -> Options:
        """Return the options of an export in a format: the configured ones, unless others are given."""
        base = self.options(form)
        return replace(
            base,
            thinking=thinking or base.thinking,
            tools=tools or base.tools,
            redact=redact and base.redact,
        )


def refused_directory(refusal: TargetRefused) -> str:
    """Return why the directory that a project's file chose is not used."""
    return f"the directory that {NAME} chose was refused: {refusal.what}"
