"""What `katod export --all -f parquet` does: it brings a data set up to date. Loads neither formats nor pyarrow."""

import os
from pathlib import Path
from typing import Final

import click

from katod.archive.folder import require_allowed
from katod.archive.machine import this_machine
from katod.archive.plan import Outcome
from katod.archive.update import Result
from katod.cli.archiving import progress
from katod.cli.context import Context
from katod.cli.excluding import policy_of, remember_excluded
from katod.cli.printing import say
from katod.cli.unmarking import unmark_elsewhere
from katod.config import local_zone, with_home
from katod.errors import KatodError
from katod.record.policy import Policy
from katod.tables.address import LOCAL, S3, BucketAddress, bucket_address
from katod.tables.dataset import opened_set
from katod.tables.forgetting import DAMAGED_REQUEST
from katod.tables.update import TablesRun, bring_up_to_date

_ORDER: Final[tuple[Outcome, ...]] = ("wrote", "updated", "unchanged", "empty", "excluded", "left alone", "failed")


def export_tables(context: Context, *, output: str, redact: bool) -> None:
    """Bring the data set `output` up to date: a directory or a bucket. Raises KatodError."""
    policy = policy_of(context)
    where = _where(output, policy)
    context.claim_state()
    machine = this_machine(context.settings.archive.machine or LOCAL, context.state)
    run = TablesRun(policy, policy.export_options(redact=redact), local_zone(), context.state)
    with opened_set(context.state, str(where), machine) as data:
        if data.is_damaged:
            say(f"katod: {where}: katod's list of it was lost or damaged, and is rebuilt from its files", err=True)
        for request in data.damaged_requests:
            say(f"katod: {request}: {DAMAGED_REQUEST}", err=True)
        sessions = context.found(with_words=True).values()
        unmark_elsewhere(context, policy)
        result = bring_up_to_date(data, where, sessions, run, progress)
    remember_excluded(context, result)
    for path, problem in context.problems.items():
        say(f"katod: {path}: {problem}", err=True)
    _print(result)
    if result.failures:
        raise KatodError("not everything could be exported", path=str(where))


def _where(output: str, policy: Policy) -> Path | BucketAddress:
    """Return where the data set is. Raises UsageError, TablesError or TargetRefused."""
    if output == "-":
        raise click.UsageError("--all needs a place: add -o DIRECTORY or -o s3://BUCKET/PREFIX")
    if output.startswith(S3):
        return bucket_address(output)
    root = Path(os.path.realpath(with_home(output)))
    require_allowed(root, policy.output_directory, policy.protected)
    return root


def _print(result: Result) -> None:
    for line in (*result.notes, *result.failures):
        say(f"katod: {line}", err=True)
    counted = (f"{outcome} {result.counts[outcome]:,}" for outcome in _ORDER if result.counts[outcome])
    say(", ".join(counted) or "no sessions found")
