"""Whether recordings can be delivered to the configured room; without one, no server is contacted."""

from collections.abc import Iterator
from contextlib import closing

from katod.config import MatrixSettings
from katod.doctor.case import Case
from katod.doctor.findings import Finding, count, ok, problem, warning
from katod.errors import DeliveryError, DeliveryStopped
from katod.matrix.client import Client
from katod.service.lock import holder

_KEYS = ("homeserver", "token_file", "room")


def examine(case: Case) -> Iterator[Finding]:
    """Yield whether the token file, the homeserver and the room can be used, and what is not complete in the room."""
    settings = case.settings.matrix
    yield from _running(case)
    missing = [f"`matrix.{key}`" for key in _KEYS if not getattr(settings, key)]
    if len(missing) == len(_KEYS):
        return
    if missing:
        what = f"recordings are not delivered to a room: {' and '.join(missing)} must also be set"
        yield warning("matrix.off", what, "set all three keys of the section, or none")
        return
    yield _reached(settings)
    yield from _of_ledger(case)


def _reached(settings: MatrixSettings) -> Finding:
    data = {"homeserver": settings.homeserver, "room": settings.room}
    try:
        with closing(Client(settings)) as client:
            user = client.user()
            client.check_room()
    except DeliveryStopped as error:
        advice = error.hint or "fix this, then restart katod or reload its settings"
        return problem("matrix.room", f"nothing can be delivered to {settings.room}: {error.what}", advice, **data)
    except DeliveryError as error:
        advice = "nothing is lost: katod retries until it succeeds"
        return problem("matrix.room", f"nothing can be delivered now: {error.what}", advice, **data)
    return ok("matrix.room", f"{user} is in {settings.room}, which is not encrypted", user=user, **data)


def _running(case: Case) -> Iterator[Finding]:
    """Yield that the katod that runs has other settings than the file."""
    if case.ledger is None or holder(case.state) is None:
        return
    now = case.ledger.deliveries.running()
    if (now or ()) != case.settings.matrix.parts:
        to = f"delivers to {now.room}" if now is not None else "delivers nothing"
        what = f"`[matrix]` is not in effect: katod started with other settings, and {to}"
        advice = "restart katod, or send it SIGHUP to reload the configuration"
        yield warning("matrix.running", what, advice, room=now.room if now is not None else "")


def _of_ledger(case: Case) -> Iterator[Finding]:
    """Yield what the room does not have of recordings."""
    if case.ledger is None:
        return
    found = case.ledger.deliveries.summary(case.settings.matrix.room)
    if found.refused:
        what = f"the homeserver refused {count(found.refused, 'event')}"
        yield warning("matrix.refused", what, "the log names them: `delivery.refused`", events=found.refused)
    for output, why in found.problems:
        what = f"recording {output} is not complete in the room: {why}"
        yield warning("matrix.incomplete", what, "its transcript is", id=output)
