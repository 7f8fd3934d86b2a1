"""Whether spans can be sent to the configured collector; without one, no server is contacted."""

from collections.abc import Iterator
from contextlib import closing

from katod.destinations import OtlpSettings
from katod.doctor import deliveries
from katod.doctor.case import Case
from katod.doctor.findings import Finding, count, ok, problem, warning
from katod.errors import DeliveryError, DeliveryRefused, DeliveryStopped
from katod.otlp.client import CollectorClient


def examine(case: Case) -> Iterator[Finding]:
    """Yield whether the headers and the collector can be used, and what of the recordings it does not have."""
    settings = case.settings.otlp
    yield from deliveries.running(case, "otlp", "endpoint")
    yield from deliveries.stopped(case, "otlp", "endpoint")
    yield from deliveries.elsewhere(case, "otlp", "endpoint")
    if settings.is_on:
        yield _reached(settings)
        yield from _with_content(case)
        yield from deliveries.missing(case, "otlp", "the collector", "span")


def _with_content(case: Case) -> Iterator[Finding]:
    """Yield that recordings go on to send what is said, as the settings said when they began."""
    settings = case.settings.otlp
    if case.ledger is None or settings.content:
        return
    if outputs := case.ledger.deliveries.with_content(settings.destination):
        what = (
            f"spans of {count(len(outputs), 'recording')} contain what is said: `otlp.content` was on when they began"
        )
        yield warning("otlp.content", what, "type `::stop` and `::start` in their sessions to change that", ids=outputs)


def _reached(settings: OtlpSettings) -> Finding:
    """Return whether the collector takes a request, which has no spans."""
    data = {"endpoint": settings.endpoint}
    try:
        with closing(CollectorClient(settings)) as client:
            client.send([])
    except (DeliveryStopped, DeliveryRefused) as error:
        hint = error.hint if isinstance(error, DeliveryStopped) else "is `otlp.endpoint` that of a collector?"
        advice = hint or "fix this, then restart katod or reload its settings"
        return problem("otlp.collector", f"nothing can be sent to {settings.destination}: {error.what}", advice, **data)
    except DeliveryError as error:
        advice = "nothing is lost while `otlp.endpoint` stays the same: katod retries until it succeeds"
        return problem("otlp.collector", f"nothing can be sent now: {error.what}", advice, **data)
    said = "with what was said, as far as recordings show it" if settings.content else "without anything that was said"
    return ok("otlp.collector", f"{settings.destination} takes spans, {said}", **data)
