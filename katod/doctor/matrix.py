"""Whether recordings can be delivered to the configured room; without one, no server is contacted."""

from collections.abc import Iterator
from contextlib import closing

from katod.destinations import MatrixSettings
from katod.doctor import deliveries
from katod.doctor.case import Case
from katod.doctor.findings import Finding, ok, problem, warning
from katod.errors import DeliveryError, DeliveryStopped
from katod.matrix.client import Client

_KEYS = ("homeserver", "token_file", "room")


def examine(case: Case) -> Iterator[Finding]:
    """Yield whether the token file, the homeserver and the room can be used, and what is not complete in the room."""
    settings = case.settings.matrix
    yield from deliveries.running(case, "matrix", "room")
    yield from deliveries.stopped(case, "matrix", "room")
    yield from deliveries.elsewhere(case, "matrix", "room")
    missing = [f"`matrix.{key}`" for key in _KEYS if not getattr(settings, key)]
    if len(missing) == len(_KEYS):
        return
    if missing:
        what = f"recordings are not delivered to a room: {' and '.join(missing)} must also be set"
        yield warning("matrix.off", what, "set all three keys of the section, or none")
        return
    yield _reached(settings)
    yield from deliveries.missing(case, "matrix", "the homeserver", "event")


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
        advice = "nothing is lost while `matrix.room` stays the same: katod retries until it succeeds"
        return problem("matrix.room", f"nothing can be delivered now: {error.what}", advice, **data)
    return ok("matrix.room", f"{user} is in {settings.room}, which is not encrypted", user=user, **data)
