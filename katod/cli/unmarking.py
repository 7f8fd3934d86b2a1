"""Takes marks away that do not hold any more, in all folders to which this machine has exported."""

from functools import cache
from pathlib import Path
from typing import Final

from katod.archive.commit import ArchiveRepository
from katod.archive.folder import ExportFolder, opened
from katod.archive.marks import Holds, has_untrue_marks, holding, own_lists, unmark
from katod.archive.parts import real_path
from katod.archive.update import line_of
from katod.cli.context import Context
from katod.cli.printing import say
from katod.errors import AlreadyRunning, KatodError
from katod.model import SessionKey
from katod.record.policy import Policy
from katod.store.rows import OutputRow

_WHAT: Final = "it may still mark parts that you have since removed as recorded"


def unmark_elsewhere(
    context: Context,
    policy: Policy,
    outputs: list[tuple[SessionKey, OutputRow]] | None = None,
    present: ExportFolder | None = None,
    *,
    commit: bool = False,
) -> None:
    """Take marks away in all folders but the present one: they may not be exported to any more.

    `outputs` are the transcripts that are as katod wrote them, if they are known. With `commit`, what changed in
    earlier parts of this machine, beside the present one, is committed as well. What fails is said.
    """
    holds = cache(lambda: holding(context.outputs() if outputs is None else outputs))
    shared, here = map(real_path, context.settings.archive.folders), present.root if present is not None else None
    parts = _committed_parts(present) if commit else None
    for root, data in own_lists(shared, context.state, here):
        is_committed = root.parent == parts
        try:
            if is_committed or has_untrue_marks(data, holds, policy):
                _unmark(root, holds(), policy, commit=is_committed)
        except AlreadyRunning:
            continue  # it does the same
        except (KatodError, OSError) as error:
            say(f"katod: {root}: {line_of(error)}: {_WHAT}", err=True)


def _committed_parts(present: ExportFolder | None) -> Path | None:
    """Return the shared folder in which earlier parts of this machine are committed as well."""
    return present.root.parent if present is not None and present.manifest.machine.id else None


def _unmark(root: Path, holds: Holds, policy: Policy, *, commit: bool) -> None:
    """Take marks away in a folder. Raises KatodError or OSError."""
    with opened(root) as folder:
        unmark(folder, holds, policy)
        folder.compact()
        if commit:
            ArchiveRepository(root).commit(folder.manifest, f"katod: {folder.manifest.machine.name}: update")
