"""Whether katod can work with its state directory: nothing else helps before it can."""

from collections.abc import Iterator

from katod.doctor.case import Case
from katod.doctor.findings import Finding, problem
from katod.store.statefolder import trouble_with


def examine(case: Case) -> Iterator[Finding]:
    """Yield what keeps katod from using the state directory, in place of what comes of it."""
    if (trouble := trouble_with(case.state)) is not None:
        what = f"katod cannot work with its state directory: {trouble.path}: {trouble.what}"
        yield problem("daemon.state", what, trouble.hint, path=str(trouble.path))
