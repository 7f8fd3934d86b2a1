"""Which projects are excluded from exports, also those of sessions that do not name them any more."""

from dataclasses import replace

from katod.archive.excludedonce import NAME, note_excluded, projects_excluded
from katod.archive.update import Result
from katod.cli.context import Context
from katod.cli.printing import say
from katod.record.policy import Policy


def policy_of(context: Context) -> Policy:
    """Return the policy for exports of everything, which knows what is known of projects that agents may lose."""
    with context.reading() as ledger:
        worktrees = ledger.projects.worktrees if ledger else {}
        projects = {str(row.key): row.cwd for row in ledger.sessions() if row.cwd} if ledger else {}
    policy = Policy.here(context.settings, context.roots(), context.state, worktrees=worktrees)
    return replace(policy, projects=projects | projects_excluded(context.state))


def remember_excluded(context: Context, result: Result) -> None:
    """Note the projects of sessions that were excluded: their agents may lose them, and then they seem to have none."""
    try:
        note_excluded(context.state, result.excluded)
    except OSError as error:
        what = "an excluded session whose agent loses its project may be exported later"
        say(f"katod: {context.state / NAME}: cannot be written: {error.strerror}, so {what}", err=True)
