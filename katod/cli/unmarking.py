"""Takes marks away that do not hold any more, in all folders to which this machine has exported."""

from functools import cache
from pathlib import Path
from typing import Final

from katod.archive.commit import ArchiveRepository, Commit
from katod.archive.drop import left_in
from katod.archive.folder import ExportFolder, opened
from katod.archive.marks import Holds, has_untrue_marks, holding, own_lists, unmark
from katod.archive.parts import real_path
from katod.archive.takenback import TakenBack
from katod.archive.update import line_of
from katod.cli.context import Context
from katod.cli.printing import say
from katod.errors import AlreadyRunning, GitError, KatodError
from katod.record.policy import Policy
from katod.record.untouched import UntouchedOutputs

_WHAT: Final = "it may still mark parts that you have since removed as recorded"


def unmark_elsewhere(
    context: Context,
    policy: Policy,
    outputs: UntouchedOutputs | None = None,
    present: ExportFolder | None = None,
    *,
    commit: bool = False,
) -> list[tuple[str, Commit]]:
    """Take marks away in all folders but the present one: they may not be exported to any more.

    `outputs` are the transcripts that nobody has changed, if they are known. With `commit`, what was taken back in
    earlier parts of this machine, beside the present one, is committed as well, of what was committed before; return
    these commits with the names of the parts. What fails is said.
    """
    holds = cache(lambda: holding((context.outputs() if outputs is None else outputs).all))
    shared, here = map(real_path, context.settings.archive.folders), present.root if present is not None else None
    parts = _committed_parts(present) if commit else None
    commits = list[tuple[str, Commit]]()
    for root, data in own_lists(shared, context.state, here):
        try:
            repository = _repository(root, parts)
            if repository is not None or has_untrue_marks(data, holds, policy):
                commits += _unmark(root, holds(), policy, repository)
        except AlreadyRunning:
            continue  # it does the same
        except (KatodError, OSError) as error:
            _say_failed(root, error)
    return commits


def say_aside(folder: ExportFolder) -> None:
    """Say that the list of a folder was damaged, if it was."""
    if folder.aside:
        what = f"the list of exports was damaged and was renamed to {folder.aside}; no files were lost"
        say(f"katod: {folder.root}: {what}", err=True)


def _committed_parts(present: ExportFolder | None) -> Path | None:
    """Return the shared folder in which earlier parts of this machine are committed as well."""
    return present.root.parent if present is not None and present.manifest.machine.id else None


def _repository(root: Path, parts: Path | None) -> ArchiveRepository | None:
    """Return the repository of an earlier part, None if there is none."""
    if root.parent != parts:
        return None
    try:
        return ArchiveRepository(root)
    except GitError as error:
        _say_failed(root, error)
        return None


def _say_failed(root: Path, error: KatodError | OSError) -> None:
    say(f"katod: {root}: {line_of(error)}: {_WHAT}", err=True)


def _unmark(root: Path, holds: Holds, policy: Policy, repository: ArchiveRepository | None) -> list[tuple[str, Commit]]:
    """Take marks away in a folder; return the commit of that, if there is one. Raises KatodError or OSError."""
    with opened(root) as folder:
        say_aside(folder)
        unmark(folder, holds, policy)
        folder.compact()
        made = _committed(repository, folder, holds, policy) if repository is not None else None
        return [(root.name, made)] if made is not None else []


def _committed(repository: ArchiveRepository, folder: ExportFolder, holds: Holds, policy: Policy) -> Commit | None:
    """Return the commit of what was taken back since the last one, None if nothing was. Raises GitError."""
    if (committed := repository.committed_list()) is None:
        return None  # then nothing of this part is
    listed = folder.manifest
    taken = TakenBack.of(committed, listed, left_in(folder), holds, policy)
    return repository.commit_taken_back(taken, f"katod: {listed.machine.name}: update") if taken is not None else None
