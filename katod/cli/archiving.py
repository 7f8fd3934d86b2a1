"""What `katod export --all` does: it brings a folder up to date. Loads no format until something has to be written."""

import os
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import click

from katod.archive.commit import ArchiveRepository, Commit
from katod.archive.folder import ExportFolder, opened, require_allowed
from katod.archive.folders import NAME as FOLDERS
from katod.archive.folders import remember
from katod.archive.machine import Machine, this_machine
from katod.archive.manifest import INDEX
from katod.archive.marks import holding, noted, unmark
from katod.archive.parts import real_path
from katod.archive.plan import Outcome, Task
from katod.archive.update import Result, bring_up_to_date
from katod.cli.context import Context
from katod.cli.excluding import policy_of, remember_excluded
from katod.cli.formatchoice import TABLES, require_page
from katod.cli.printing import say
from katod.cli.unmarking import say_aside, unmark_elsewhere
from katod.config import with_home
from katod.errors import GitError, KatodError
from katod.formatspec import MARKDOWN
from katod.tables.address import S3

_ORDER: Final[tuple[Outcome, ...]] = ("wrote", "updated", "unchanged", "empty", "excluded", "left alone", "failed")
_DONE: Final[tuple[Outcome, ...]] = ("wrote", "updated")  # what a commit is named after
_LEFT: Final = "left alone, because you changed them (move or delete a file to have it written again):"


def export_everything(
    context: Context,
    *,
    format_name: str | None,
    output: str,
    base: str,
    commit: bool,
    thinking: bool,
    tools: Any,
    redact: bool,
) -> None:
    """Bring the folder `output` up to date. Raises UsageError for options that are for one session, and KatodError."""
    if output == "-":
        raise click.UsageError("--all needs a directory: add -o DIRECTORY")
    if output.startswith(S3):
        raise click.UsageError(f"only tables are written to a bucket: add -f {TABLES}")
    policy = policy_of(context)
    form = format_name or MARKDOWN
    require_page(form, base)
    options = replace(policy.export_options(form, thinking=thinking, tools=tools, redact=redact), base=base)
    context.claim_state()
    machine, root = _place(context, Path(os.path.realpath(with_home(output))))
    require_allowed(root, policy.output_directory, policy.protected)
    repository = ArchiveRepository(root) if commit else None
    with opened(root, machine) as folder:
        _remember(context, root)
        say_aside(folder)
        outputs = context.outputs()
        marking = noted(outputs, folder.manifest, form)
        sessions = context.found(with_words=True, outputs=marking).values()
        unmark(folder, holding(outputs.all), policy)
        earlier = unmark_elsewhere(context, policy, outputs, folder, commit=commit)
        result = bring_up_to_date(folder, sessions, policy, form, options, progress)
        committed = _committed(repository, folder, result) if repository else None
    remember_excluded(context, result)
    for path, problem in context.problems.items():
        say(f"katod: {path}: {problem}", err=True)
    _print(result, root)
    for name, made in earlier:
        _print_commit(made, f" of {name}")
    _print_commit(committed)
    _require_complete(result, len(sessions))


def _remember(context: Context, root: Path) -> None:
    """Note where copies are, before there is one: it may be the last thing that this run does."""
    try:
        remember(context.state, root)
    except OSError as error:
        what = f"so `katod forget` will not know of the copies in {root}"
        say(f"katod: {context.state / FOLDERS}: cannot be written: {error.strerror}, {what}", err=True)


def _place(context: Context, output: Path) -> tuple[Machine, Path]:
    """Return which machine's part of a directory is written, and where; nobody's if it is not a shared one."""
    archive = context.settings.archive
    is_shared = output in map(real_path, archive.folders)
    machine = this_machine(archive.machine if is_shared else "", context.state)
    return machine, output / machine.folder


def _require_complete(result: Result, count: int) -> None:
    """Raise KatodError unless all sessions and the index were written."""
    if result.counts["failed"]:
        raise KatodError(f"{result.counts['failed']} of {count} sessions could not be exported")
    if result.failures:
        raise KatodError("the index could not be written")


def _print_commit(committed: Commit | GitError | None, whose: str = "") -> None:
    """Say what was committed, and of which part. Raises GitError if nothing was although it should have been."""
    if isinstance(committed, GitError):
        raise committed
    if committed is not None:
        files = "1 file" if committed.files == 1 else f"{committed.files:,} files"
        say(f"committed {files}{whose} to {committed.branch}: {committed.name}")
        if committed.ignored:
            say(f"not committed, because the repository ignores them: {committed.ignored:,}")


def _committed(repository: ArchiveRepository, folder: ExportFolder, result: Result) -> Commit | GitError | None:
    """Return the commit of what was exported, None if nothing has changed, or why there is none."""
    done = ", ".join(f"{outcome} {result.counts[outcome]:,}" for outcome in _DONE if result.counts[outcome])
    try:
        return repository.commit(
            folder.manifest, ": ".join(filter(None, ("katod", folder.manifest.machine.name, done or "update")))
        )
    except GitError as error:
        return error


def _counted(result: Result) -> str:
    counted = (f"{outcome} {result.counts[outcome]:,}" for outcome in _ORDER if result.counts[outcome])
    return ", ".join(counted) or "no sessions found"


def _print(result: Result, root: Path) -> None:
    for line in (*result.notes, *result.failures):
        say(f"katod: {line}", err=True)
    say(_counted(result))
    if result.index in ("wrote", "updated", "removed"):
        say(f"{result.index} the index, {root / INDEX}")
    if result.left:
        say(_LEFT)
    for name in result.left:
        say(f"  {root / name}")


def progress(tasks: list[Task]) -> Iterable[Task]:
    """Yield the tasks, with a bar on a terminal."""
    if not sys.stderr.isatty():
        return tasks
    from rich.console import Console  # noqa: PLC0415 - only needed on a terminal
    from rich.progress import track  # noqa: PLC0415

    return track(tasks, "exporting", console=Console(stderr=True))
