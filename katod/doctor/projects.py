"""Projects: whether those that the settings name are there, whose files count, and what is refused in them."""

from collections.abc import Iterator
from itertools import islice
from typing import Final

from katod.doctor.case import Case
from katod.doctor.findings import Finding, count, ok, problem, warning
from katod.errors import ConfigError
from katod.project.allowed import Allowed, CheckedFile, look_around
from katod.record.policy import Policy
from katod.record.projectglobs import missing_folder
from katod.shell import pasted
from katod.store.statefolder import trouble_with

_CHECK: Final = "configuration.project"
_GLOB: Final = "configuration.glob"
_MOST: Final = 20  # files that are listed


def examine(case: Case) -> Iterator[Finding]:
    """Yield what is found about the projects that the settings name, and the file of each one that katod knows."""
    yield from _nowhere(case)
    policy = case.policy()
    sessions = case.ledger.sessions() if case.ledger is not None else []
    try:
        known = Allowed(case.state).read()
    except ConfigError as error:
        if trouble_with(case.state) is None:  # otherwise, that is what has to be mended
            yield problem(_CHECK, f"{error.path}: {error.what}", error.hint, path=str(error.path))
        return
    found = iter(look_around({row.cwd for row in sessions if row.cwd}, policy.home, known))
    for one in islice(found, _MOST):
        yield from [_differs(one)] if one.problem else _of_file(one, policy)
    if more := sum(1 for _ in found):
        yield warning(_CHECK, f"and {count(more, 'other project file')}", "`katod allow --list` shows those allowed")


def _nowhere(case: Case) -> Iterator[Finding]:
    """Yield the globs of projects that lead to no directory: a misspelt one excludes nothing."""
    recording = case.settings.recording
    auto = () if isinstance(recording.auto, bool) else recording.auto
    for key, globs in {"recording.exclude": recording.exclude, "recording.auto": auto}.items():
        for glob, folder in ((glob, missing_folder(glob)) for glob in globs):
            if folder:
                what = f"`{key}` has {glob}, but there is no directory {folder}"
                yield warning(_GLOB, what, "correct it, unless the directory is still to come", key=key, path=folder)


def _differs(found: CheckedFile) -> Finding:
    return warning(_CHECK, f"{found.path}: {found.problem}", found.advice, path=str(found.path))


def _of_file(found: CheckedFile, policy: Policy) -> Iterator[Finding]:
    path, folder = str(found.path), str(found.path.parent)
    yield ok(_CHECK, f"{path} is allowed: {'; '.join(found.changes)}", path=path)
    refused = list(filter(None, (policy.in_project(folder).project.refused, *found.refused)))
    if refused:
        more = f", and {len(refused) - 1} more" if len(refused) > 1 else ""
        advice = f"its other settings are in effect; `katod allow {pasted(folder)}` lists those that are not"
        yield warning(_CHECK, f"{path}: {refused[0]}{more}", advice, path=path)
