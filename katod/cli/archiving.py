"""What `katod export --all` does: it brings a folder up to date. Loads no format until something has to be written."""

import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import click

from katod.archive.folder import opened, require_allowed
from katod.archive.folders import remember
from katod.archive.machine import this_machine
from katod.archive.manifest import INDEX
from katod.archive.plan import Outcome, Task
from katod.archive.update import Result, bring_up_to_date
from katod.cli.context import Context
from katod.cli.formatchoice import TABLES, require_page
from katod.cli.printing import say
from katod.config import with_home
from katod.errors import KatodError
from katod.formatspec import MARKDOWN
from katod.record.policy import Policy
from katod.tables.address import S3

_ORDER: Final[tuple[Outcome, ...]] = ("wrote", "updated", "unchanged", "empty", "excluded", "left alone", "failed")
_LEFT: Final = "left alone, because you changed them (move or delete a file to have it written again):"


def export_everything(
    context: Context,
    *,
    format_name: str | None,
    output: str,
    base: str,
    thinking: bool,
    tools: Any,
    redact: bool,
) -> None:
    """Bring the folder `output` up to date. Raises UsageError for options that are for one session, and KatodError."""
    if output == "-":
        raise click.UsageError("--all needs a directory: add -o DIRECTORY")
    if output.startswith(S3):
        raise click.UsageError(f"only tables are written to a bucket: add -f {TABLES}")
    with context.reading() as ledger:
        known = ledger.projects.worktrees if ledger else {}
    policy = Policy.here(context.settings, context.roots(), context.state, worktrees=known)
    form = format_name or MARKDOWN
    require_page(form, base)
    options = replace(policy.export_options(form, thinking=thinking, tools=tools, redact=redact), base=base)
    machine = this_machine(context.settings.archive.machine, context.state)
    root = Path(os.path.realpath(with_home(output))) / machine.name
    require_allowed(root, policy.output_directory, policy.protected)
    with opened(root, machine) as folder:
        if folder.aside:
            say(
                f"katod: {root}: the list of exports was damaged and was renamed to {folder.aside}; no files were lost",
                err=True,
            )
        sessions = context.found(with_words=True).values()
        result = bring_up_to_date(folder, sessions, policy, form, options, progress)
    with suppress(OSError):  # it is only needed to forget
        remember(context.state, root)
    for path, problem in context.problems.items():
        say(f"katod: {path}: {problem}", err=True)
    _print(result, root)
    if result.counts["failed"]:
        raise KatodError(f"{result.counts['failed']} of {len(sessions)} sessions could not be exported")
    if result.failures:
        raise KatodError("the index could not be written")


def _print(result: Result, root: Path) -> None:
    for line in (*result.notes, *result.failures):
        say(f"katod: {line}", err=True)
    counted = (f"{outcome} {result.counts[outcome]:,}" for outcome in _ORDER if result.counts[outcome])
    say(", ".join(counted) or "no sessions found")
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
