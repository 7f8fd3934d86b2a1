"""Takes marks away that do not hold any more, in all folders to which this machine has exported."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from katod.archive.commit import ArchiveRepository
from katod.archive.folder import ExportFolder, opened
from katod.archive.marks import Holds, has_marks, holding, own_folders, unmark
from katod.archive.parts import real_path
from katod.archive.update import line_of
from katod.cli.context import Context
from katod.cli.printing import say
from katod.errors import AlreadyRunning, KatodError
from katod.model import SessionKey
from katod.record.policy import Policy
from katod.store.rows import OutputRow

_WHAT: Final = "it may say that something was recorded that you took back since"


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
    for root, is_committed in list(_others(context, present, commit=commit)):
        outputs = context.outputs() if outputs is None else outputs
        try:
            _unmark(root, holding(outputs), policy, commit=is_committed)
        except AlreadyRunning:
            continue  # it does the same
        except (KatodError, OSError) as error:
            say(f"katod: {root}: {line_of(error)}: {_WHAT}", err=True)


def _others(context: Context, present: ExportFolder | None, *, commit: bool) -> Iterator[tuple[Path, bool]]:
    """Yield the folders that may have such marks, and whether what changed there is to be committed."""
    parts = present.root.parent if present is not None and present.manifest.machine.id and commit else None
    for root in own_folders(map(real_path, context.settings.archive.folders), context.state):
        is_present = present is not None and root == present.root
        if not is_present and (root.parent == parts or has_marks(root)):
            yield root, root.parent == parts


def _unmark(root: Path, holds: Holds, policy: Policy, *, commit: bool) -> None:
    """Take marks away in a folder. Raises KatodError or OSError."""
    with opened(root) as folder:
        unmark(folder, holds, policy)
        folder.compact()
        if commit:
            ArchiveRepository(root).commit(folder.manifest, f"katod: {folder.manifest.machine.name}: update")
