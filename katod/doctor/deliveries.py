"""What holds for every delivery: whether it is the one that is configured, and what of it is missing."""

from collections.abc import Iterator

from katod.doctor.case import Case
from katod.doctor.findings import Finding, count, problem, warning
from katod.service.lock import holder


def running(case: Case, kind: str, name: str) -> Iterator[Finding]:
    """Yield that the katod that runs has other settings than the file; `name` is what a destination is called."""
    if case.ledger is None or holder(case.state) is None:
        return
    now = case.ledger.deliveries.running(kind)
    if now != case.settings.deliveries[kind].parts:
        to = f"delivers to {now[0]}" if now else "delivers nothing"
        what = f"`[{kind}]` is not in effect: the running katod has other settings, and {to}"
        advice = "it reads a changed configuration within fifteen seconds; if it did not, restart it"
        yield warning(f"{kind}.running", what, advice, **{name: now[0] if now else ""})


def stopped(case: Case, kind: str, name: str) -> Iterator[Finding]:
    """Yield that the katod that runs delivers nothing any more, and why."""
    if case.ledger is None or holder(case.state) is None:
        return
    found = case.ledger.deliveries.summary(case.settings.deliveries[kind].destination).destination
    if found.stopped:
        what = f"katod has stopped delivering to {found.destination}: {found.problem}"
        advice = "fix this, then restart katod, or send it SIGHUP to reload its settings: it goes on where it stopped"
        yield problem(f"{kind}.stopped", what, advice, **{name: found.destination})


def elsewhere(case: Case, kind: str, name: str) -> Iterator[Finding]:
    """Yield that recordings were started for another destination, and are not sent; `name` is what one is called."""
    if case.ledger is None:
        return
    found = case.ledger.deliveries.elsewhere(kind, case.settings.deliveries[kind].destination)
    if found:
        outputs = sorted({output for waiting in found.values() for output in waiting})
        said = f"not sent: {count(len(outputs), 'recording')}, started for another {name} ({', '.join(found)})"
        advice = f"set `{kind}.{name}` to that again if the rest is to be sent"
        yield warning(f"{kind}.elsewhere", said, advice, ids=outputs)


def missing(case: Case, kind: str, who: str, what: str) -> Iterator[Finding]:
    """Yield what a destination does not have of recordings: what `who` refused, and what cannot be sent any more."""
    if case.ledger is None:
        return
    found = case.ledger.deliveries.summary(case.settings.deliveries[kind].destination)
    if found.refused:
        said = f"{who} refused {count(found.refused, what)}"
        advice = "the log names them: `delivery.refused`, `delivery.rejected`"
        yield warning(f"{kind}.refused", said, advice, **{f"{what}s": found.refused})
    for output, why in found.problems:
        said = f"recording {output} is not delivered completely: {why}"
        yield warning(f"{kind}.incomplete", said, "its transcript is complete", id=output)
