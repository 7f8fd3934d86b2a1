"""Which projects are excluded from exports, also those of sessions that do not name them any more."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cached_property

from katod.archive.excludedonce import NAME, forgotten_excluded, note_excluded, projects_excluded
from katod.archive.manifest import Manifest
from katod.archive.marks import own_lists
from katod.archive.parts import real_path
from katod.archive.update import Result
from katod.cli.context import Context
from katod.cli.printing import say
from katod.errors import KatodError
from katod.model import SessionKey
from katod.record.policy import Policy


def policy_of(context: Context) -> Policy:
    """Return the policy for exports of everything, which knows what is known of projects that agents may lose."""
    with context.reading() as ledger:
        worktrees = ledger.projects.worktrees if ledger else {}
        projects = {str(row.key): row.cwd for row in ledger.sessions() if row.cwd} if ledger else {}
    policy = Policy.here(context.settings, context.roots(), context.state, worktrees=worktrees)
    return replace(policy, projects=_RememberedProjects(context, projects | projects_excluded(context.state)))


class _RememberedProjects:
    """What the ledger, the notes of excluded sessions, and at last the lists of exports know of projects."""

    def __init__(self, context: Context, noted: Mapping[str, str]) -> None:
        self._context = context
        self._noted = noted
        self._forgotten = forgotten_excluded(context.state)

    def of(self, key: SessionKey, *, looking: bool) -> str | None:
        """Return a session's project, empty if none is known; None if it was forgotten while it was excluded."""
        if noted := self._noted.get(str(key)):
            return noted
        if self._forgotten.has(key):
            return None
        return self._listed.get(key, "") if looking else ""

    @cached_property
    def _listed(self) -> dict[SessionKey, str]:
        """The projects of sessions in all lists of this machine, as that says which was written to last."""
        found: dict[SessionKey, str] = {}
        for _, data in own_lists(map(real_path, self._context.settings.archive.folders), self._context.state):
            for entry in Manifest.read(data).entries.values():
                if entry.cwd:
                    found.setdefault(entry.slot[0], entry.cwd)
        return found


def excluded_among(context: Context, keys: Iterable[SessionKey]) -> list[SessionKey]:
    """Return the sessions whose project is excluded, as katod or their records say."""
    from katod.record.beginning import read_beginning  # noqa: PLC0415 - exports without news do not need it

    policy, there = policy_of(context), context.found()
    excluded = []
    for key in keys:
        with suppress(KatodError, OSError):
            known = policy.projects.of(key, looking=True)
            said = read_beginning(there[key])[0].cwd if key in there else ""
            if any(name and policy.in_project(name).excludes(name) for name in (known, said)):
                excluded.append(key)
    return excluded


def remember_excluded(context: Context, result: Result) -> None:
    """Note the projects of sessions that were excluded: their agents may lose them, and then they seem to have none."""
    try:
        note_excluded(context.state, result.excluded)
    except OSError as error:
        what = "an excluded session whose agent loses its project may be exported later"
        say(f"katod: {context.state / NAME}: cannot be written: {error.strerror}, so {what}", err=True)
